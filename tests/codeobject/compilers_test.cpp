// Objects that the installed compilers make, compared with what LLVM's own tools say about them.
#include <yaml-cpp/yaml.h>

#include <cstdio>
#include <map>
#include <sstream>

#include "support.h"

namespace wavejit::codeobject::test {
namespace {

// Output of a command; `ok` says whether it succeeded.
std::string run(const std::string& command, bool& ok) {
  std::string out;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) {
    ok = false;
    return out;
  }
  char buffer[4096];
  while (const size_t size = fread(buffer, 1, sizeof(buffer), pipe)) out.append(buffer, size);
  ok = pclose(pipe) == 0;
  return out;
}
bool have(const std::string& tool) {
  bool ok = false;
  run("command -v " + tool, ok);
  return ok;
}

struct Build {
  int compiler, version;
  std::string target;
};

// Compiles and links a source of tests/fixtures/src; returns the path.
std::string compile(const Build& build, const std::string& source, const std::string& extra) {
  static int serial = 0;
  const std::string base =
      testing::TempDir() + "wavejit_co_" + std::to_string(getpid()) + "_" + std::to_string(serial++);
  const std::string version = std::to_string(build.compiler);
  const char* language =
      source.ends_with(".cl") ? " -x cl -cl-std=CL2.0 -nogpulib -Xclang -finclude-default-header -Wno-everything" : "";
  std::string command = "clang-" + version + language + " -target amdgcn-amd-amdhsa -mcpu=" + build.target +
                        " -mcode-object-version=" + std::to_string(build.version) + " " + extra + " -c " +
                        fixture_path("src/" + source) + " -o " + base + ".o";
  command += " && ld.lld-" + version + " -shared " + base + ".o -o " + base + ".co && rm " + base + ".o";
  bool ok = false;
  const std::string output = run(command, ok);
  EXPECT_TRUE(ok) << command << "\n" << output;
  return base + ".co";
}

// Kernel descriptors as llvm-objdump prints them: kernel name -> directive (without ".amdhsa_") -> value.
std::map<std::string, std::map<std::string, uint64_t>> objdump_descriptors(const std::string& path) {
  bool ok = false;
  const std::string text = run("llvm-objdump-19 -D -j .rodata " + path, ok);
  EXPECT_TRUE(ok) << text;
  std::map<std::string, std::map<std::string, uint64_t>> out;
  std::string kernel;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string directive, value;
    words >> directive >> value;
    if (directive == ".amdhsa_kernel") kernel = value;
    if (directive == ".end_amdhsa_kernel") kernel.clear();
    if (kernel.empty() || !directive.starts_with(".amdhsa_") || directive == ".amdhsa_kernel") continue;
    out[kernel][directive.substr(8)] = std::stoull(value);
  }
  return out;
}

void compare_descriptor(const Kernel& kernel, const std::map<std::string, uint64_t>& oracle, const TargetId& target) {
  const KernelDescriptor& d = kernel.descriptor;
  const auto check = [&](const char* name, uint64_t value) {
    const auto it = oracle.find(name);
    if (it != oracle.end()) {
      EXPECT_EQ(value, it->second) << name;
    }
    return it != oracle.end();
  };
  EXPECT_TRUE(check("group_segment_fixed_size", d.group_segment_size));
  EXPECT_TRUE(check("private_segment_fixed_size", d.private_segment_size));
  EXPECT_TRUE(check("kernarg_size", d.kernarg_size));
  EXPECT_TRUE(check("next_free_vgpr", d.vgpr_count));
  EXPECT_EQ(check("accum_offset", d.accum_offset), target.processor == "gfx90a" || target.processor == "gfx942");
  // objdump counts SGPRs in 8s; from GFX9 on the hardware allocates 16s.
  const auto sgprs = oracle.find("next_free_sgpr");
  ASSERT_NE(sgprs, oracle.end());
  const uint64_t granule = target.processor.starts_with("gfx9") ? 16 : 8;
  EXPECT_EQ(d.sgpr_count, (sgprs->second + granule - 1) / granule * granule);
  EXPECT_TRUE(check("float_round_mode_32", d.mode & 3));
  EXPECT_TRUE(check("float_round_mode_16_64", d.mode >> 2 & 3));
  EXPECT_TRUE(check("float_denorm_mode_32", d.mode >> 4 & 3));
  EXPECT_TRUE(check("float_denorm_mode_16_64", d.mode >> 6 & 3));
  EXPECT_TRUE(check("dx10_clamp", d.mode >> 8 & 1));
  EXPECT_TRUE(check("ieee_mode", d.mode >> 9 & 1));
  check("fp16_overflow", d.mode >> 23 & 1);
  EXPECT_TRUE(check("exception_fp_ieee_invalid_op", d.mode >> 12 & 1));
  EXPECT_TRUE(check("exception_fp_ieee_div_zero", d.mode >> 14 & 1));
  EXPECT_TRUE(check("exception_int_div_zero", d.mode >> 18 & 1));
  check("system_sgpr_private_segment_wavefront_offset", d.enable_private_segment_wave_offset);
  check("enable_private_segment", d.enable_private_segment_wave_offset);
  EXPECT_TRUE(check("system_sgpr_workgroup_id_x", d.enable_workgroup_id_x));
  EXPECT_TRUE(check("system_sgpr_workgroup_id_y", d.enable_workgroup_id_y));
  EXPECT_TRUE(check("system_sgpr_workgroup_id_z", d.enable_workgroup_id_z));
  EXPECT_TRUE(check("system_sgpr_workgroup_info", d.enable_workgroup_info));
  EXPECT_TRUE(check("system_vgpr_workitem_id", d.enable_vgpr_workitem_id));
  check("user_sgpr_private_segment_buffer", d.enable_private_segment_buffer);
  EXPECT_TRUE(check("user_sgpr_dispatch_ptr", d.enable_dispatch_ptr));
  EXPECT_TRUE(check("user_sgpr_queue_ptr", d.enable_queue_ptr));
  EXPECT_TRUE(check("user_sgpr_kernarg_segment_ptr", d.enable_kernarg_segment_ptr));
  EXPECT_TRUE(check("user_sgpr_dispatch_id", d.enable_dispatch_id));
  check("user_sgpr_flat_scratch_init", d.enable_flat_scratch_init);
  EXPECT_TRUE(check("user_sgpr_private_segment_size", d.enable_private_segment_size));
  check("uses_dynamic_stack", d.uses_dynamic_stack);
}

// The metadata that llvm-readelf prints, as YAML.
YAML::Node readelf_metadata(const std::string& path) {
  bool ok = false;
  const std::string text = run("llvm-readelf-19 --notes " + path, ok);
  EXPECT_TRUE(ok) << text;
  const size_t begin = text.find("---\n"), end = text.rfind("...");
  EXPECT_TRUE(begin != std::string::npos && end != std::string::npos) << text;
  return YAML::Load(text.substr(begin, end - begin));
}

void compare_metadata(const CodeObject& object, const YAML::Node& root) {
  const YAML::Node kernels = root["amdhsa.kernels"];
  ASSERT_EQ(object.kernel_names().size(), kernels.size());
  for (const auto& expected : kernels) {
    const auto found = object.find_kernel(expected[".symbol"].as<std::string>());
    ASSERT_TRUE(found.has_value());
    const Kernel& kernel = **found;
    EXPECT_EQ(kernel.name, expected[".name"].as<std::string>());
    EXPECT_EQ(kernel.used_vgpr_count, expected[".vgpr_count"].as<uint32_t>());
    EXPECT_EQ(kernel.used_sgpr_count, expected[".sgpr_count"].as<uint32_t>());
    if (expected[".agpr_count"]) {
      EXPECT_EQ(kernel.used_agpr_count, expected[".agpr_count"].as<uint32_t>());
    }
    EXPECT_EQ(kernel.max_flat_workgroup_size, expected[".max_flat_workgroup_size"].as<uint32_t>());
    EXPECT_EQ(kernel.descriptor.kernarg_size, expected[".kernarg_segment_size"].as<uint32_t>());
    EXPECT_EQ(kernel.sgpr_spill_count, expected[".sgpr_spill_count"].as<uint32_t>());
    EXPECT_EQ(kernel.vgpr_spill_count, expected[".vgpr_spill_count"].as<uint32_t>());
    const YAML::Node args = expected[".args"];
    ASSERT_EQ(kernel.args.size(), args.size());
    for (size_t i = 0; i < args.size(); ++i) {
      EXPECT_EQ(kernel.args[i].offset, args[i][".offset"].as<uint32_t>()) << i;
      EXPECT_EQ(kernel.args[i].size, args[i][".size"].as<uint32_t>()) << i;
      EXPECT_EQ(to_string(kernel.args[i].kind), args[i][".value_kind"].as<std::string>()) << i;
    }
  }
}

class Compilers : public testing::TestWithParam<int> {};

TEST_P(Compilers, EveryTargetAndVersion) {
  const int compiler = GetParam();
  const std::string suffix = std::to_string(compiler);
  for (const std::string& tool :
       {"clang-" + suffix, "ld.lld-" + suffix, std::string("llvm-readelf-19"), std::string("llvm-objdump-19")}) {
    if (!have(tool)) GTEST_SKIP() << tool << " is not installed";
  }
  std::vector<int> versions = {2, 3, 4};
  if (compiler == 15 || compiler == 17) versions.push_back(5);
  if (compiler == 19) versions = {4, 5, 6};
  std::vector<std::string> processors = {"gfx803", "gfx900", "gfx906", "gfx908", "gfx90a"};
  if (compiler == 19) processors.emplace_back("gfx942");
  for (const int version : versions) {
    for (const std::string& processor : processors) {
      if (version == 2 && (processor == "gfx908" || processor == "gfx90a")) continue;  // V2 ends with gfx906
      const char* level = version % 2 == 0 ? "-O0" : "-O3";
      SCOPED_TRACE("clang-" + suffix + " V" + std::to_string(version) + " " + processor + " " + level);
      const std::string path = compile({compiler, version, processor}, "kernels.cl", level);
      const auto object = CodeObject::load(read_file(path));
      ASSERT_TRUE(object.has_value()) << object.error().message;
      EXPECT_EQ((*object)->version(), static_cast<unsigned>(version));
      EXPECT_EQ((*object)->target().processor, processor);
      EXPECT_EQ((*object)->kernel_names().size(), 2u);
      EXPECT_EQ(load_at<uint64_t>((*(*object)->find_variable("counter_pointer"))->address),
                (*(*object)->find_variable("counter"))->address);
      if (version > 2) {  // the LLVM 19 tools print neither V2 headers nor V2 metadata in this form
        compare_metadata(**object, readelf_metadata(path));
        auto descriptors = objdump_descriptors(path);
        for (const size_t i : {0u, 1u}) {
          const Kernel& kernel = kernel_at(**object, i);
          SCOPED_TRACE(kernel.name);
          ASSERT_TRUE(descriptors.contains(kernel.name));
          compare_descriptor(kernel, descriptors[kernel.name], (*object)->target());
        }
      }
      std::remove(path.c_str());
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Installed, Compilers, testing::Values(14, 15, 17, 19),
                         [](const auto& param) { return "clang" + std::to_string(param.param); });

TEST(CompilersMore, DescriptorOfHandWrittenKernel) {
  if (!have("llvm-objdump-19")) GTEST_SKIP() << "llvm-objdump-19 is not installed";
  const auto object = load_fixture("asm_only_gfx90a.co");
  ASSERT_NE(object, nullptr);
  auto descriptors = objdump_descriptors(fixture_path("asm_only_gfx90a.co"));
  compare_descriptor(kernel_at(*object, 0), descriptors["bare"], object->target());
}

TEST(CompilersMore, TargetIdsOfEachVersion) {
  const std::tuple<int, const char*, const char*> rows[] = {
      {3, "gfx908:sramecc+:xnack-", "gfx908:sramecc+:xnack-"},
      {3, "gfx900:xnack+", "gfx900:xnack+"},
      {3, "gfx900:xnack-", "gfx900:xnack-"},
      {2, "gfx900:xnack-", "gfx900:xnack-"},
      {2, "gfx900:xnack+", "gfx900:xnack+"},
      {2, "gfx801", "gfx801:xnack+"},
      {4, "gfx90a:sramecc-:xnack+", "gfx90a:sramecc-:xnack+"},
      {5, "gfx90a:xnack-", "gfx90a:xnack-"},
      {5, "gfx1030", "gfx1030"},
      {4, "gfx700", "gfx700"},
  };
  for (const auto& [version, target, expected] : rows) {
    SCOPED_TRACE(testing::Message() << "V" << version << " " << target);
    const std::string path = compile({WAVEJIT_LLVM, version, target}, "kernels.cl", "-O1");
    const auto object = CodeObject::load(read_file(path));
    ASSERT_TRUE(object.has_value()) << object.error().message;
    EXPECT_EQ((*object)->target().to_string(), expected);
    std::remove(path.c_str());
  }
}

TEST(CompilersMore, GotEntriesAreFilled) {
  // Preemptible symbols are reached through the GOT, which R_AMDGPU_ABS64 fills.
  const std::string path = compile({WAVEJIT_LLVM, 4, "gfx906"}, "got.s", "");
  const auto object = CodeObject::load(read_file(path));
  ASSERT_TRUE(object.has_value()) << object.error().message;
  bool ok = false;
  const std::string relocations = run("llvm-readelf-19 -rW " + path, ok);
  EXPECT_NE(relocations.find("R_AMDGPU_ABS64"), std::string::npos) << relocations;
  const auto shared = (*object)->find_variable("shared_value"), pointer = (*object)->find_variable("pointer");
  ASSERT_TRUE(shared && pointer);
  EXPECT_EQ(load_at<uint64_t>((*pointer)->address), (*shared)->address + 4);
  // s_getpc_b64 s[0:1]; s_add_u32 s0, s0, LO; s_addc_u32 s1, s1, HI forms the address of the GOT entry.
  const uint64_t entry = kernel_at(**object, 0).descriptor.entry;
  const uint64_t offset = load_at<uint32_t>(entry + 8) | uint64_t{load_at<uint32_t>(entry + 16)} << 32;
  EXPECT_EQ(load_at<uint64_t>(entry + 4 + offset), (*shared)->address);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace wavejit::codeobject::test
