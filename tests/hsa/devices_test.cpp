// The variables that select and change devices: as functions, and as a program sees them.
#include "runtime/hsa/devices.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace wavejit::hsa {
namespace {

using codeobject::FeatureSetting;

TEST(VisibleDevices, AsRocrParsesThem) {
  const std::vector<std::string> uuids = {"GPU-0000000077610000", "GPU-0000000077610001", "GPU-XX",
                                          "GPU-00000000abcdef03"};
  using Indices = std::vector<uint32_t>;
  const auto visible = [&](std::string_view value) { return visible_devices(value, uuids); };
  EXPECT_EQ(visible(""), Indices{});
  EXPECT_EQ(visible("0"), (Indices{0}));
  EXPECT_EQ(visible("2,0"), (Indices{2, 0}));
  EXPECT_EQ(visible(" 1 , 3"), (Indices{1, 3}));
  EXPECT_EQ(visible("0x1,0"), (Indices{1, 0}));
  EXPECT_EQ(visible("GPU-0000000077610001,0"), (Indices{1, 0}));
  EXPECT_EQ(visible("gpu-00000000abc"), (Indices{3}));
  // The list ends with the first entry that is none: unknown, ambiguous, repeated, too long or too short.
  EXPECT_EQ(visible("0,4,1"), (Indices{0}));
  EXPECT_EQ(visible("0,-1,1"), (Indices{0}));
  EXPECT_EQ(visible("0,x,1"), (Indices{0}));
  EXPECT_EQ(visible("0,,1"), (Indices{0}));
  EXPECT_EQ(visible("0,1,0,2"), (Indices{0, 1}));
  EXPECT_EQ(visible("1,GPU-0000000077610001,2"), (Indices{1}));
  EXPECT_EQ(visible("GPU-00000000776"), Indices{});
  EXPECT_EQ(visible("GPU-"), Indices{});
  EXPECT_EQ(visible("GPU-XX"), Indices{});
  EXPECT_EQ(visible("GPU-00000000776100010"), Indices{});
}

TEST(SelectDevices, Xnack) {
  const auto settings = [](std::string_view list, const char* xnack) {
    std::vector<FeatureSetting> result;
    const auto devices = select_devices(*boards_of_list(list), {.hsa_xnack = xnack});
    for (const Device& d : devices.value()) result.push_back(d.target_id.xnack);
    return result;
  };
  using enum FeatureSetting;
  using Settings = std::vector<FeatureSetting>;
  EXPECT_EQ(settings("gfx90a,gfx803", nullptr), (Settings{off, unsupported}));
  EXPECT_EQ(settings("gfx90a,gfx803", "1"), (Settings{on, unsupported}));
  EXPECT_EQ(settings("gfx90a", "0"), (Settings{off}));
  EXPECT_EQ(settings("gfx90a", "yes"), (Settings{off}));
  EXPECT_EQ(settings("gfx902", nullptr), (Settings{on}));
  EXPECT_EQ(settings("gfx902", "0"), (Settings{off}));
  EXPECT_EQ(settings("gfx902,gfx906", nullptr), (Settings{off, off}));
}

// What a program prints that has been started with these variables and these code objects.
std::string agents(const std::string& variables, const std::string& arguments = {}) {
  const std::string line =
      fmt::format("env -u ROCR_VISIBLE_DEVICES -u HSA_XNACK -u HSA_OVERRIDE_GFX_VERSION {} '{}' {} 2>/dev/null",
                  variables, WAVEJIT_HSA_AGENTS_CHILD, arguments);
  std::FILE* output = popen(line.c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer{};
  while (const size_t got = std::fread(buffer.data(), 1, buffer.size(), output)) text.append(buffer.data(), got);
  pclose(output);
  return text;
}

const std::string k906 = "1 GPU-0000000077610000 amdgcn-amd-amdhsa--gfx906:sramecc-:xnack- 0x66af 60 64\n";

TEST(Devices, OfBoards) {
  EXPECT_EQ(agents(""), k906);
  EXPECT_EQ(agents("WAVEJIT_TARGET=gfx942,gfx803"),
            "1 GPU-0000000077610000 amdgcn-amd-amdhsa--gfx942:sramecc+:xnack- 0x74a1 304 64\nno images\n"
            "2 GPU-XX amdgcn-amd-amdhsa--gfx803 0x67df 36 64\n");
  const std::string path = testing::TempDir() + "/wavejit-devices-board.json";
  std::FILE* file = std::fopen(path.c_str(), "w");
  std::fputs(R"({"processor": "gfx906", "chip_id": "0x66a1", "compute_units": 30, "lds_kib": 32})", file);
  std::fclose(file);
  EXPECT_EQ(agents("WAVEJIT_BOARD=" + path),
            "1 GPU-0000000077610000 amdgcn-amd-amdhsa--gfx906:sramecc-:xnack- 0x66a1 30 32\n");
  std::remove(path.c_str());
  EXPECT_NE(agents("WAVEJIT_BOARD=" + path).find("hsa_init 0x1008"), std::string::npos);
}

TEST(Devices, Visible) {
  const std::string second = "2 GPU-0000000077610001 amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack- 0x740f 104 64\n";
  const std::string two = "WAVEJIT_TARGET=gfx906,gfx90a ROCR_VISIBLE_DEVICES=";
  EXPECT_EQ(agents(two + "1"), second);
  EXPECT_EQ(agents(two + "1,0"), second + k906);
  EXPECT_EQ(agents(two + "GPU-0000000077610001"), second);
  EXPECT_EQ(agents(two), "");
}

TEST(Devices, FineGrainedMemory) {
  EXPECT_EQ(agents("HSA_FORCE_FINE_GRAIN_PCIE=1"), k906 + "pools 0xe\n");
  EXPECT_EQ(agents("HSA_FORCE_FINE_GRAIN_PCIE=0"), k906);
}

TEST(Devices, OverriddenVersion) {
  EXPECT_EQ(agents("WAVEJIT_TARGET=gfx90c HSA_OVERRIDE_GFX_VERSION=9.0.0"),
            "1 GPU-XX amdgcn-amd-amdhsa--gfx900:xnack- 0x1636 8 64\n");
  // One device's own variable comes first.
  EXPECT_EQ(agents("WAVEJIT_TARGET=gfx803,gfx908 HSA_OVERRIDE_GFX_VERSION=9.0.6 HSA_OVERRIDE_GFX_VERSION_2=9.0.10"),
            "1 GPU-XX amdgcn-amd-amdhsa--gfx906:sramecc-:xnack- 0x67df 36 64\n"
            "2 GPU-0000000077610001 amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack- 0x738c 120 64\n");
  for (const char* bad : {"9.0", "9.0.6.1", "gfx906", "9.0.7", "10.3.0"})
    EXPECT_NE(agents(fmt::format("HSA_OVERRIDE_GFX_VERSION={}", bad)).find("hsa_init 0x1008"), std::string::npos)
        << bad;
}

TEST(Devices, XnackAndCodeObjects) {
  const std::string on = WAVEJIT_HSA_TEST_FOLDER "/xnack_on.co", off = WAVEJIT_HSA_TEST_FOLDER "/xnack_off.co";
  const std::string objects = fmt::format("'{}' '{}'", on, off);
  const std::string without = agents("", objects), with = agents("HSA_XNACK=1", objects);
  EXPECT_EQ(without.substr(0, k906.size()), k906);
  // The one that does not fit is refused, after a message.
  EXPECT_NE(without.find("load 0\n"), std::string::npos) << without;
  EXPECT_GT(without.find("load 0\n"), without.find("load 0x")) << without;
  EXPECT_NE(with.find("gfx906:sramecc-:xnack+ "), std::string::npos) << with;
  EXPECT_NE(with.find("\nsvm\n"), std::string::npos) << with;
  EXPECT_LT(with.find("load 0\n"), with.find("load 0x")) << with;
  EXPECT_NE(with.find("load 0x"), std::string::npos) << with;
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Devices, SavedCode) {
  namespace fs = std::filesystem;
  const fs::path object = WAVEJIT_HSA_TEST_FOLDER "/xnack_off.co";
  const fs::path folder = fs::path(testing::TempDir()) / fmt::format("wavejit-saved-{}", getpid()) / "code";
  // Loaded twice, and again by another process, it is one file.
  for (int i = 0; i < 2; ++i)
    EXPECT_NE(
        agents(fmt::format("WAVEJIT_SAVE_CODE='{}'", folder.string()), fmt::format("'{0}' '{0}'", object.string()))
            .find("load 0\nload 0\n"),
        std::string::npos);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].extension(), ".co");
  EXPECT_EQ(files[0].filename().string().substr(0, 14), "gfx906_xnack--");
  EXPECT_EQ(content(files[0]), content(object));
  // What cannot be saved is loaded all the same.
  EXPECT_NE(agents("WAVEJIT_SAVE_CODE=/dev/null/code", fmt::format("'{}'", object.string())).find("load 0\n"),
            std::string::npos);
  fs::remove_all(folder.parent_path());
}

}  // namespace
}  // namespace wavejit::hsa
