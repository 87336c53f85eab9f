// The driver's files as they are generated.
#include "runtime/hsa/kfd/driver_tree.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "runtime/hsa/devices.h"

namespace wavejit::hsa {
namespace {

namespace fs = std::filesystem;

const TreeEntry* find(const std::vector<TreeEntry>& tree, const std::string& path) {
  const auto it = std::ranges::find(tree, path, &TreeEntry::path);
  return it == tree.end() ? nullptr : &*it;
}

TEST(DriverTree, DescribesTheBoards) {
  const auto tree = driver_tree(*boards_of_list("gfx906,gfx942"), {.cpus = 3, .memory_bytes = 5 << 20});
  const auto content = [&](const std::string& path) {
    const TreeEntry* entry = find(tree, path);
    EXPECT_NE(entry, nullptr) << path;
    return entry ? entry->content : std::string();
  };
  const std::string nodes = "/sys/class/kfd/kfd/topology/nodes/";
  EXPECT_NE(content(nodes + "0/properties").find("cpu_cores_count 3\nsimd_count 0\n"), std::string::npos);
  const std::string mi300 = content(nodes + "2/properties");
  for (const char* line :
       {"\nsimd_count 1216\n", "\nmax_waves_per_simd 8\n", "\narray_count 32\n", "\ncu_per_simd_array 10\n",
        "\ngfx_target_version 90402\n", "\ndevice_id 29857\n", "\nnum_xcc 8\n", "\nmax_engine_clk_fcompute 2100\n",
        "\nlocation_id 512\n", "\nio_links_count 1\n", "\np2p_links_count 1\n", "\ncaches_count 3\n",
        "\nlds_size_in_kb 64\n"})
    EXPECT_NE(mi300.find(line), std::string::npos) << line << mi300;
  EXPECT_NE(content(nodes + "1/mem_banks/0/properties").find("size_in_bytes 17179869184\n"), std::string::npos);
  EXPECT_NE(content(nodes + "2/caches/2/properties").find("level 3\nsize 262144\n"), std::string::npos);
  EXPECT_NE(content(nodes + "1/io_links/0/properties").find("node_from 1\nnode_to 0\n"), std::string::npos);
  EXPECT_NE(content(nodes + "2/p2p_links/0/properties").find("node_from 2\nnode_to 1\n"), std::string::npos);
  EXPECT_EQ(content(nodes + "1/name"), "vega20\n");
  EXPECT_EQ(content("/dev/dri/renderD129"), "/dev/null");
  EXPECT_EQ(content("/sys/class/hwmon/hwmon1"), "../../devices/wavejit/0000:02:00.0/hwmon/hwmon1");
  EXPECT_EQ(content("/sys/devices/wavejit/0000:02:00.0/hwmon/hwmon1/name"), "amdgpu\n");
  EXPECT_EQ(content("/sys/devices/wavejit/0000:02:00.0/hwmon/hwmon1/device"), "../../../0000:02:00.0");
  EXPECT_NE(content("/sys/devices/wavejit/0000:01:00.0/vbios_version"), "");
  EXPECT_EQ(content("/sys/devices/wavejit/0000:01:00.0/pp_dpm_sclk"), "0: 1801Mhz *\n");
  const std::string config = content("/sys/devices/wavejit/0000:01:00.0/config");
  ASSERT_EQ(config.size(), 64u);
  EXPECT_EQ(config.substr(0, 4), "\x02\x10\xaf\x66");
}

// What the host has stays visible under its own name.
TEST(DriverTree, KeepsTheHostsDevices) {
  const HostFacts host{.dri_devices = {"card0", "renderD128"},
                       .drm_devices = {"card0", "renderD128", "version"},
                       .monitors = {"hwmon0"},
                       .pci_devices = {"0000:00:1f.0", "0000:01:00.0"}};
  const auto tree = driver_tree(*boards_of_list("gfx906"), host);
  EXPECT_EQ(find(tree, "/dev/dri/card0")->content, "/dev/dri/card0");
  EXPECT_EQ(find(tree, "/dev/dri/card1")->content, "/dev/null");
  EXPECT_EQ(find(tree, "/sys/class/drm/version")->content, "/sys/class/drm/version");
  EXPECT_EQ(find(tree, "/dev/dri/version"), nullptr);
  EXPECT_EQ(find(tree, "/sys/class/drm/renderD129")->content, "../../devices/wavejit/0000:01:00.0/drm/renderD129");
  EXPECT_EQ(find(tree, "/sys/class/hwmon/hwmon0")->content, "/sys/class/hwmon/hwmon0");
  EXPECT_EQ(find(tree, "/sys/class/hwmon/hwmon1")->content, "../../devices/wavejit/0000:01:00.0/hwmon/hwmon1");
  EXPECT_EQ(find(tree, "/sys/bus/pci/devices/0000:01:00.0")->content, "/sys/bus/pci/devices/0000:01:00.0");
  EXPECT_NE(find(tree, "/sys/class/kfd/kfd/topology/nodes/1/properties")->content.find("drm_render_minor 129\n"),
            std::string::npos);
}

class WrittenTree : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/wavejit-tree-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    parent_ = name;
  }
  void TearDown() override { fs::remove_all(parent_); }
  fs::path parent_;
};

TEST_F(WrittenTree, IsWrittenOnce) {
  const std::vector<TreeEntry> a = {{"/x/y", TreeEntry::Kind::file, "1"}, {"/x/z", TreeEntry::Kind::link, "y"}};
  std::vector<TreeEntry> b = a;
  b[0].content = "2";
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { (void)write_tree(parent_ / "below", a); });
  for (std::thread& t : threads) t.join();
  const fs::path first = write_tree(parent_ / "below", a), second = write_tree(parent_ / "below", b);
  EXPECT_NE(first, second);
  EXPECT_EQ(std::distance(fs::directory_iterator(parent_ / "below"), {}), 2);
  std::string text;
  std::ifstream(first / "x/z") >> text;
  EXPECT_EQ(text, "1");
}

TEST_F(WrittenTree, ForeignDirectoriesAreRefused) {
  const std::vector<TreeEntry> tree = {{"/x", TreeEntry::Kind::file, ""}};
  const fs::path path = write_tree(parent_, tree);
  fs::rename(path, parent_ / "elsewhere");
  fs::create_directory_symlink(parent_ / "elsewhere", path);
  EXPECT_THROW((void)write_tree(parent_, tree), fs::filesystem_error);
  EXPECT_THROW((void)write_tree("/proc/none", tree), fs::filesystem_error);
}

}  // namespace
}  // namespace wavejit::hsa
