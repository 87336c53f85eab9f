// The C API and its C++ wrapper: loading, enumerating, arguments, launches, variables, errors, dumps.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "test_kernels.h"

namespace wavejit::test {
namespace {

std::string fixture(const char* name) {
  return std::string(WAVEJIT_FIXTURES "/") + name;
}

std::vector<uint8_t> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

wavejit_status status_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Exception& e) {
    EXPECT_FALSE(std::string(e.what()).empty());
    return e.status();
  }
  return WAVEJIT_OK;
}

TEST(Api, Versions) {
  EXPECT_EQ(wavejit_version(), static_cast<uint32_t>(WAVEJIT_VERSION));
  EXPECT_STREQ(wavejit_version_string(),
               fmt::format("{}.{}.{}", WAVEJIT_VERSION_MAJOR, WAVEJIT_VERSION_MINOR, WAVEJIT_VERSION_PATCH).c_str());
  EXPECT_GE(wavejit_default_threads(), 1u);
  EXPECT_NE(std::string(wavejit_host_cpu()), "");
}

TEST(Api, InstructionTable) {
  std::map<std::string, wavejit_instruction_info> table;
  wavejit_instruction_info info{};
  for (size_t i = 0; i < wavejit_instruction_count(); ++i) {
    info.size = sizeof info;
    ASSERT_EQ(wavejit_instruction_get_info(i, &info), WAVEJIT_OK);
    EXPECT_EQ(info.interpreter == WAVEJIT_FIDELITY_BOUNDED, info.hardware != nullptr) << info.name;
    EXPECT_EQ(info.hardware != nullptr, info.max_ulp != 0 || info.max_absolute != 0) << info.name;
    EXPECT_EQ(info.interpreter == WAVEJIT_FIDELITY_DECIDED, info.decision != nullptr) << info.name;
    EXPECT_TRUE(table.emplace(info.name, info).second) << info.name;
    if (table.size() == 1) continue;
    if (std::string(info.name) == "v_dot2c_f32_f16") {
      EXPECT_EQ(wavejit_instruction_available(i, "gfx908"), 1);
      EXPECT_EQ(wavejit_instruction_available(i, "gfx900"), 0);
      EXPECT_EQ(wavejit_instruction_available(i, "gfx9"), 0);
    }
  }
  EXPECT_EQ(wavejit_instruction_get_info(wavejit_instruction_count(), &info), WAVEJIT_NOT_FOUND);
  EXPECT_EQ(table.at("v_add_f32").avx2, WAVEJIT_FIDELITY_EXACT);
  EXPECT_STREQ(table.at("v_add_f32").unit, "vector");
  EXPECT_STREQ(table.at("s_load_dword").unit, "scalar memory");
  EXPECT_EQ(table.at("v_exp_f32").avx512, WAVEJIT_FIDELITY_BOUNDED);
  EXPECT_EQ(table.at("v_mfma_f32_32x32x1f32").avx2, WAVEJIT_FIDELITY_DECIDED);
  EXPECT_EQ(table.at("v_mfma_i32_32x32x4i8").avx2, WAVEJIT_FIDELITY_EXACT);
  EXPECT_EQ(table.at("v_interp_p1_f32").interpreter, WAVEJIT_FIDELITY_UNSUPPORTED);
  EXPECT_STREQ(table.at("v_interp_p1_f32").unit, "graphics");
  std::set<std::string> targets;
  for (size_t i = 0; const char* name = wavejit_target_name(i); ++i) EXPECT_TRUE(targets.insert(name).second);
  for (const char* name : {"gfx803", "gfx900", "gfx906", "gfx908", "gfx90a"}) EXPECT_TRUE(targets.contains(name));
}

TEST(Api, EnumeratesKernelsAndArguments) {
  for (const char* name :
       {"v2_gfx803.co", "v2_gfx906.co", "v3_gfx900.co", "v4_gfx908.co", "v5_gfx90a.co", "v6_gfx9_generic.co"}) {
    SCOPED_TRACE(name);
    const Module module = Module::load_file(fixture(name));
    EXPECT_EQ(module.object_version(), static_cast<uint32_t>(name[1] - '0'));
    EXPECT_EQ(module.kernel_names(), (std::vector<std::string>{"vector_add", "all_arguments"}));
    const Kernel kernel = module.kernel("all_arguments");
    const wavejit_kernel_info info = kernel.info();
    EXPECT_STREQ(info.name, "all_arguments");
    ASSERT_EQ(info.arg_count, 8u);
    EXPECT_GT(info.hidden_arg_count, 0u);
    EXPECT_EQ(kernel.arg(0).kind, WAVEJIT_ARG_VALUE);
    EXPECT_EQ(kernel.arg(0).bytes, 1u);
    EXPECT_EQ(kernel.arg(1).kind, WAVEJIT_ARG_POINTER);
    EXPECT_STREQ(kernel.arg(1).type_name, "int*");
    EXPECT_STREQ(kernel.arg(1).address_space, "global");
    EXPECT_EQ(kernel.arg(1).offset, 8u);
    EXPECT_EQ(kernel.arg(2).kind, WAVEJIT_ARG_LOCAL);
    EXPECT_EQ(kernel.arg(3).bytes, 16u);
    EXPECT_EQ(kernel.arg(5).kind, WAVEJIT_ARG_OTHER);
    EXPECT_EQ(kernel.arg(7).kind, WAVEJIT_ARG_POINTER);
    EXPECT_EQ(kernel.arg(8).kind, WAVEJIT_ARG_HIDDEN);
    EXPECT_EQ(status_of([&] { (void)kernel.arg(8 + info.hidden_arg_count); }), WAVEJIT_INVALID_ARGUMENT);
    EXPECT_EQ(module.kernel("vector_add").info().required_workgroup_size[0], 64u);
    EXPECT_EQ(module.kernel("vector_add").info().lds_size, 256u);
  }
}

TEST(Api, Containers) {
  for (const char* name : {"bundle.hipfb", "bundle_v1.ccob", "bundle_v2.ccob", "bundle_v3.ccob"}) {
    SCOPED_TRACE(name);
    const Container container = Container::open(fixture(name));
    ASSERT_EQ(container.size(), 3u);
    EXPECT_STREQ(container.entry(0).target, "gfx803");
    EXPECT_STREQ(container.entry(1).target, "gfx908:sramecc+:xnack-");
    EXPECT_EQ(container.load(2).target(), "gfx90a");
    EXPECT_EQ(Module::load_file(fixture(name), "gfx908").target(), "gfx908:sramecc+:xnack-");
    EXPECT_EQ(Module::load_file(fixture(name), "gfx908:sramecc+:xnack-").target(), "gfx908:sramecc+:xnack-");
    EXPECT_EQ(Module::load_file(fixture(name), "gfx90a:xnack+").target(), "gfx90a");
    EXPECT_EQ(Module::load_file(fixture(name), "amdgcn-amd-amdhsa--gfx803").target(), "gfx803");
    EXPECT_EQ(Module::load_file(fixture(name)).target(), "gfx803");
    EXPECT_EQ(status_of([&] { (void)Module::load_file(fixture(name), "gfx908:xnack+"); }), WAVEJIT_TARGET_MISMATCH);
    EXPECT_EQ(status_of([&] { (void)Module::load_file(fixture(name), "gfx906"); }), WAVEJIT_TARGET_MISMATCH);
    EXPECT_EQ(status_of([&] { (void)Module::load_file(fixture(name), "", "no_such_kernel"); }), WAVEJIT_NOT_FOUND);
    EXPECT_EQ(status_of([&] { (void)container.entry(3); }), WAVEJIT_NOT_FOUND);
    const std::vector<uint8_t> bytes = read(fixture(name));
    EXPECT_EQ(Container::parse(bytes.data(), bytes.size()).size(), 3u);
  }
}

TEST(Api, HostBinaryWithKernels) {
  const Container container = Container::open(fixture("libhost.so"));
  ASSERT_EQ(container.size(), 2u);
  EXPECT_STREQ(container.entry(0).target, "gfx906");
  EXPECT_EQ(Module::load_file(fixture("libhost.so"), "gfx90a").target(), "gfx90a:xnack-");
  EXPECT_EQ(Module::load_file(fixture("libhost.so"), "gfx90a:xnack-").target(), "gfx90a:xnack-");
  EXPECT_EQ(status_of([] { (void)Module::load_file(fixture("libhost.so"), "gfx90a:xnack+"); }),
            WAVEJIT_TARGET_MISMATCH);
}

TEST(Api, BadFiles) {
  EXPECT_EQ(status_of([] { (void)Module::load_file("/nonexistent/x.co"); }), WAVEJIT_NOT_FOUND);
  EXPECT_NE(status_of([] { (void)Module::load_file("/"); }), WAVEJIT_OK);
  EXPECT_EQ(status_of([] { (void)Module::load_memory("", 0); }), WAVEJIT_BAD_CODE_OBJECT);
  EXPECT_EQ(status_of([] { (void)Module::load_memory("hello, world", 12); }), WAVEJIT_BAD_CODE_OBJECT);
  EXPECT_EQ(status_of([] { (void)Module::load_file(fixture("v4_gfx908.co"), "gfx1234"); }), WAVEJIT_TARGET_MISMATCH);
  try {
    (void)Module::load_file(fixture("relocatable.o"));
    FAIL();
  } catch (const Exception& e) {
    EXPECT_EQ(e.status(), WAVEJIT_BAD_CODE_OBJECT);
    EXPECT_NE(std::string(e.what()).find("link"), std::string::npos) << e.what();
  }
  // Every truncation is an error or a working module, never a crash.
  const std::vector<uint8_t> bytes = read(fixture("v4_gfx908.co"));
  for (size_t size = 0; size < bytes.size(); size += 61) {
    const std::vector<uint8_t> part(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_NE(status_of([&] { (void)Module::load_memory(part.data(), part.size()); }), WAVEJIT_OK) << size;
  }
}

TEST(Api, MissingKernelSuggestsTheNearest) {
  const Module module = Module::load_file(fixture("v4_gfx908.co"));
  try {
    (void)module.kernel("vectr_add");
    FAIL();
  } catch (const Exception& e) {
    EXPECT_EQ(e.status(), WAVEJIT_NOT_FOUND);
    EXPECT_NE(std::string(e.what()).find("vector_add"), std::string::npos) << e.what();
  }
  EXPECT_EQ(status_of([&] { (void)module.kernel("vector_add.kd"); }), WAVEJIT_OK);
  EXPECT_EQ(status_of([&] { (void)module.kernel(2); }), WAVEJIT_NOT_FOUND);
  EXPECT_EQ(wavejit_module_kernel_name(module.handle(), 2), nullptr);
}

class Launches : public testing::TestWithParam<TestEngine> {};

TEST_P(Launches, EveryObjectVersion) {
  constexpr int kItems = 200;  // the last group is partial
  for (const char* name :
       {"v2_gfx803.co", "v2_gfx906.co", "v3_gfx900.co", "v4_gfx908.co", "v5_gfx90a.co", "v6_gfx9_generic.co"}) {
    SCOPED_TRACE(name);
    const Module module = Module::load_file(fixture(name));
    Kernel kernel = module.kernel("vector_add");
    Buffer<float> a(256), b(256), out(256);
    for (int i = 0; i < 256; ++i) {
      a[i] = static_cast<float>(i);
      b[i] = static_cast<float>(3 * i);
      out[i] = -1;
    }
    kernel.set_args(a, b, out, kItems);
    const LaunchStats stats = kernel.launch(launch_options(GetParam(), 256, 0));
    EXPECT_EQ(stats.workgroups, 4u) << "the required size is the default";
    EXPECT_EQ(stats.engine, GetParam().engine);
    EXPECT_EQ(stats.isa, GetParam().isa);
    EXPECT_EQ(stats.threads, 1u);
    EXPECT_EQ(stats.work_items, 256u);
    if (stats.engine == WAVEJIT_ENGINE_INTERP) {
      EXPECT_GT(stats.guest_instructions, 4u * 20);
      EXPECT_EQ(stats.translate_ns, 0u);
    } else {
      EXPECT_GT(stats.translate_ns, 0u);
      EXPECT_GT(stats.host_instructions, 0u);
      EXPECT_GT(stats.translations, 0u);
      // The second launch finds the translation.
      EXPECT_EQ(kernel.launch(launch_options(GetParam(), 256, 0)).translate_ns, 0u);
      // Code that counts is other code.
      EXPECT_EQ(stats.guest_instructions, 0u);
      LaunchOptions counting = launch_options(GetParam(), 256, 0);
      counting.count_instructions = 1;
      const LaunchStats counted = kernel.launch(counting);
      EXPECT_GT(counted.translate_ns, 0u);
      EXPECT_EQ(kernel.launch(launch_options(GetParam(), 256, 0)).guest_instructions, 0u);
      EXPECT_EQ(kernel.launch(counting).translate_ns, 0u);
      LaunchOptions interpreted = counting;
      interpreted.engine = WAVEJIT_ENGINE_INTERP;
      EXPECT_EQ(counted.guest_instructions, kernel.launch(interpreted).guest_instructions);
    }
    for (int i = 0; i < 256; ++i) ASSERT_EQ(out[i], i < kItems ? a[i ^ 1] + b[i] + 0.5f : -1) << i;
  }
}

// What the report says adds up to what is counted, is the same on every engine, and leaves the results alone.
TEST_P(Launches, ReportsWhatIsExecuted) {
  const Module module = Module::load_file(fixture("v4_gfx908.co"));
  Kernel kernel = module.kernel("vector_add");
  constexpr int kItems = 200;
  Buffer<float> a(256), b(256), out(256);
  for (int i = 0; i < 256; ++i) {
    a[i] = static_cast<float>(i);
    b[i] = 2;
  }
  kernel.set_args(a, b, out, kItems);
  LaunchStats stats;
  const auto launched = [&](LaunchOptions options, const Report& report) {
    options.report = report.handle();
    stats = kernel.launch(options);
    EXPECT_EQ(stats.cached_translations, 0u);
    std::map<std::string, uint64_t> counts;
    for (size_t i = 0; i < report.size(); ++i) counts[report[i].instruction.name] = report[i].count;
    return counts;
  };
  const Report report, interpreted;
  LaunchOptions interpreter = launch_options(GetParam(), 256, 64);
  interpreter.engine = WAVEJIT_ENGINE_INTERP;
  const auto expected = launched(interpreter, interpreted);
  const auto counts = launched(launch_options(GetParam(), 256, 64), report);
  EXPECT_EQ(counts, expected);
  for (int i = 0; i < kItems; ++i) ASSERT_EQ(out[i], a[i ^ 1] + b[i] + 0.5f) << i;
  uint64_t sum = 0;
  for (const auto& [name, count] : counts) sum += count;
  EXPECT_EQ(sum, kernel.launch(interpreter).guest_instructions);
  EXPECT_EQ(counts.at("s_endpgm"), 4u);
  EXPECT_GE(report[0].count, report[report.size() - 1].count);
  // Another launch adds to it, with the same code.
  EXPECT_EQ(launched(launch_options(GetParam(), 256, 64), report).at("s_endpgm"), 8u);
  EXPECT_EQ(stats.translations, 0u);
  EXPECT_EQ(status_of([&] { (void)report[report.size()]; }), WAVEJIT_NOT_FOUND);
}

TEST_P(Launches, KernargAsAWhole) {
  const Module module = Module::load_file(fixture("v4_gfx908.co"));
  Kernel kernel = module.kernel("vector_add");
  Buffer<float> a(64), b(64), out(64);
  struct {
    const float *a, *b;
    float* out;
    int n;
  } args{a.data(), b.data(), out.data(), 3};
  EXPECT_EQ(status_of([&] { kernel.set_kernarg(&args, 20); }), WAVEJIT_INVALID_ARGUMENT);
  EXPECT_EQ(status_of([&] { kernel.set_kernarg(&args, 32); }), WAVEJIT_INVALID_ARGUMENT);
  kernel.set_kernarg(&args, 28);
  (void)kernel.launch(launch_options(GetParam(), 64, 64));
  EXPECT_EQ(out[0], 3.5f);
  EXPECT_EQ(out[3], 0.0f);
  // A kernel known only by its descriptor takes nothing else.
  const Module bare = Module::load_file(fixture("asm_only_gfx90a.co"));
  Kernel unknown = bare.kernel(std::size_t{0});
  EXPECT_EQ(status_of([&] { unknown.set_arg_pointer(0, nullptr); }), WAVEJIT_INVALID_ARGUMENT);
}

TEST_P(Launches, WrongArgumentsAndSizes) {
  const Module module = Module::load_file(fixture("v4_gfx908.co"));
  Kernel kernel = module.kernel("vector_add");
  Buffer<float> a(64);
  const int n = 64;
  const auto launch = [&](uint32_t global, uint32_t local) {
    return status_of([&] { (void)kernel.launch(launch_options(GetParam(), global, local)); });
  };
  EXPECT_EQ(launch(64, 64), WAVEJIT_INVALID_ARGUMENT) << "nothing is set";
  EXPECT_EQ(status_of([&] { kernel.set_arg(3, &n, 8); }), WAVEJIT_INVALID_ARGUMENT);
  EXPECT_EQ(status_of([&] { kernel.set_arg(4, &n, 4); }), WAVEJIT_INVALID_ARGUMENT);
  EXPECT_EQ(status_of([&] { kernel.set_arg_pointer(3, nullptr); }), WAVEJIT_INVALID_ARGUMENT);
  EXPECT_EQ(status_of([&] { kernel.set_arg_local(0, 4); }), WAVEJIT_INVALID_ARGUMENT);
  kernel.set_args(a, a, a, n);
  EXPECT_EQ(launch(0, 64), WAVEJIT_INVALID_ARGUMENT);
  LaunchOptions huge = launch_options(GetParam(), 0xffffffff, 64);
  huge.global[1] = huge.global[2] = 0xffffffff;
  EXPECT_EQ(status_of([&] { (void)kernel.launch(huge); }), WAVEJIT_INVALID_ARGUMENT) << "work-groups beyond counting";
  EXPECT_EQ(launch(64, 32), WAVEJIT_INVALID_ARGUMENT) << "required work-group size";
  EXPECT_EQ(launch(64, 2048), WAVEJIT_INVALID_ARGUMENT);
  LaunchOptions options = launch_options(GetParam(), 64, 64);
  options.dynamic_lds = 65536;
  EXPECT_EQ(status_of([&] { (void)kernel.launch(options); }), WAVEJIT_INVALID_ARGUMENT);
  options = launch_options(GetParam(), 64, 64);
  options.engine = static_cast<wavejit_engine>(77);
  EXPECT_EQ(status_of([&] { (void)kernel.launch(options); }), WAVEJIT_INVALID_ARGUMENT);
  options = launch_options(GetParam(), 64, 64);
  options.disabled_passes = "no-such-pass";
  EXPECT_EQ(status_of([&] { (void)kernel.launch(options); }), WAVEJIT_INVALID_ARGUMENT);
  options = launch_options(GetParam(), 64, 64);
  options.engine = WAVEJIT_ENGINE_AUTO;
  options.isa = static_cast<wavejit_isa>(77);
  EXPECT_EQ(status_of([&] { (void)kernel.launch(options); }), WAVEJIT_INVALID_ARGUMENT);
  EXPECT_EQ(wavejit_kernel_set_arg(kernel.handle(), 3, nullptr, 4), WAVEJIT_INVALID_ARGUMENT);
  EXPECT_EQ(wavejit_memory_register(a.data(), SIZE_MAX, "beyond"), WAVEJIT_INVALID_ARGUMENT);
  EXPECT_EQ(launch(64, 64), WAVEJIT_OK);

  Kernel images = module.kernel("all_arguments");
  const char small = 0;
  images.set_arg(0, &small, 1);
  EXPECT_EQ(status_of([&] { images.set_arg(2, &n, 4); }), WAVEJIT_INVALID_ARGUMENT) << "a local pointer takes a size";
  images.set_arg_local(2, 16);
  EXPECT_NE(status_of([&] { (void)images.launch(launch_options(GetParam(), 64, 64)); }), WAVEJIT_OK);
}

TEST_P(Launches, DynamicLdsPlacement) {
  // Stores the local pointers it gets: LDS offsets behind the static part, aligned, not overlapping.
  KernelSource k{.name = "k",
                 .body = R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v1, s6
  v_mov_b32_e32 v2, s7
  v_mov_b32_e32 v4, s4
  v_mov_b32_e32 v5, s5
  flat_store_dwordx2 v[4:5], v[1:2]
)",
                 .args = {{"out"},
                          {"l0", 4, "dynamic_shared_pointer, .pointee_align: 4"},
                          {"l1", 4, "dynamic_shared_pointer, .pointee_align: 64"}},
                 .lds = 100};
  const Module module = load("gfx906", {k});
  Kernel kernel = module.kernel("k");
  Buffer<uint32_t> out(2);
  kernel.set_args(out, Local{20}, Local{40});
  (void)kernel.launch(launch_options(GetParam(), 64, 64));
  EXPECT_EQ(out[0], 112u);
  EXPECT_EQ(out[1], 192u);
  kernel.set_arg_local(1, 70000);
  EXPECT_EQ(status_of([&] { (void)kernel.launch(launch_options(GetParam(), 64, 64)); }), WAVEJIT_INVALID_ARGUMENT);
}

INSTANTIATE_TEST_SUITE_P(All, Launches, testing::ValuesIn(engines()),
                         [](const testing::TestParamInfo<TestEngine>& info) { return std::string(info.param.name); });

TEST(Api, Variables) {
  const Module module = Module::load_file(fixture("v4_gfx908.co"));
  EXPECT_EQ(module.variable("counter").bytes, 4u);
  EXPECT_EQ(module.read_variable<int>("counter"), 5);
  module.write_variable("counter", 9);
  EXPECT_EQ(module.read_variable<int>("counter"), 9);
  EXPECT_EQ(module.read_variable<float>("weights", 8), 2.5f);
  EXPECT_EQ(module.read_variable<uint64_t>("counter_pointer"), module.variable("counter").address);
  // A constant is writable, as on a GPU: hosts copy to __constant__ variables.
  module.write_variable("weights", 1.0f);
  EXPECT_EQ(module.read_variable<float>("weights"), 1.0f);
  EXPECT_EQ(status_of([&] { (void)module.read_variable<double>("counter"); }), WAVEJIT_INVALID_ARGUMENT);
  EXPECT_EQ(status_of([&] { (void)module.read_variable<int>("counter", ~uint64_t{0}); }), WAVEJIT_INVALID_ARGUMENT);
  EXPECT_EQ(status_of([&] { (void)module.variable("countr"); }), WAVEJIT_NOT_FOUND);
  // Another load of the same object has its own variables.
  EXPECT_EQ(Module::load_file(fixture("v4_gfx908.co")).read_variable<int>("counter"), 5);
}

TEST(Api, ErrorsBelongToTheirThread) {
  EXPECT_EQ(wavejit_module_load_file("/nonexistent", nullptr, nullptr), WAVEJIT_INVALID_ARGUMENT);
  const std::string mine = wavejit_error_message(wavejit_last_error());
  std::thread([&] {
    EXPECT_EQ(wavejit_last_error(), nullptr);
    wavejit_module* module = nullptr;
    EXPECT_EQ(wavejit_module_load_file("/nonexistent", nullptr, &module), WAVEJIT_NOT_FOUND);
    EXPECT_EQ(module, nullptr);
    EXPECT_EQ(wavejit_error_status(wavejit_last_error()), WAVEJIT_NOT_FOUND);
  }).join();
  EXPECT_EQ(mine, wavejit_error_message(wavejit_last_error()));
  wavejit_error* copy = wavejit_error_clone(wavejit_last_error());
  EXPECT_EQ(wavejit_error_status(copy), WAVEJIT_INVALID_ARGUMENT);
  EXPECT_EQ(mine, wavejit_error_message(copy));
  uint64_t pc = 0;
  EXPECT_EQ(wavejit_error_pc(copy, &pc), 0);
  wavejit_error_destroy(copy);
}

TEST(Api, NullHandles) {
  wavejit_kernel_info info{};
  info.size = sizeof info;
  EXPECT_EQ(wavejit_kernel_get_info(nullptr, &info), WAVEJIT_INVALID_ARGUMENT);
  EXPECT_EQ(wavejit_launch(nullptr, nullptr, nullptr), WAVEJIT_INVALID_ARGUMENT);
  EXPECT_EQ(wavejit_module_kernel_count(nullptr), 0u);
  EXPECT_EQ(wavejit_kernel_set_arg(nullptr, 0, nullptr, 0), WAVEJIT_INVALID_ARGUMENT);
  wavejit_kernel_destroy(nullptr);
  wavejit_module_destroy(nullptr);
  wavejit_container_destroy(nullptr);
  wavejit_error_destroy(nullptr);
  wavejit_buffer_free(nullptr);
}

// A caller built against a shorter version of a struct gets what its version has, and nothing is written behind it.
TEST(Api, StructsOfOlderCallers) {
  const Module module = Module::load_file(fixture("v4_gfx908.co"));
  struct {
    wavejit_kernel_info info;
    uint32_t behind;
  } old{};
  old.info.size = offsetof(wavejit_kernel_info, kernarg_size);
  old.info.kernarg_size = 0xdeadbeef;
  ASSERT_EQ(wavejit_kernel_get_info(module.kernel("vector_add").handle(), &old.info), WAVEJIT_OK);
  EXPECT_EQ(old.info.size, offsetof(wavejit_kernel_info, kernarg_size));
  EXPECT_EQ(old.info.arg_count, 4u);
  EXPECT_EQ(old.info.kernarg_size, 0xdeadbeef);
  old.info.size = 0;
  EXPECT_EQ(wavejit_kernel_get_info(module.kernel("vector_add").handle(), &old.info), WAVEJIT_INVALID_ARGUMENT);
}

TEST(Api, HandlesMayBeDestroyedInAnyOrder) {
  wavejit_module* module = nullptr;
  wavejit_kernel* kernel = nullptr;
  wavejit_container* container = nullptr;
  ASSERT_EQ(wavejit_container_open(fixture("bundle.hipfb").c_str(), &container), WAVEJIT_OK);
  ASSERT_EQ(wavejit_module_load_entry(container, 0, &module), WAVEJIT_OK);
  wavejit_container_destroy(container);
  ASSERT_EQ(wavejit_kernel_create_at(module, 0, &kernel), WAVEJIT_OK);
  wavejit_module_destroy(module);
  wavejit_kernel_info info{};
  info.size = sizeof info;
  EXPECT_EQ(wavejit_kernel_get_info(kernel, &info), WAVEJIT_OK);
  EXPECT_NE(std::string(info.name), "");
  wavejit_kernel_destroy(kernel);
}

TEST(Api, OptimisationsHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (size_t i = 0; const char* name = wavejit_optimisation_name(i); ++i) {
    EXPECT_TRUE(names.insert(name).second) << name << " is listed twice";
    ASSERT_NE(wavejit_optimisation_meaning(i), nullptr);
    EXPECT_NE(std::string(wavejit_optimisation_meaning(i)), "");
  }
  for (size_t i = 0; const char* pass = wavejit_pass_name(i); ++i) EXPECT_TRUE(names.contains(pass)) << pass;
  for (const char* name : {"segments", "lane-addresses", "dispatch-shape"}) EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_EQ(wavejit_optimisation_meaning(names.size()), nullptr);
}

TEST(Api, Dumps) {
  const Module module = Module::load_file(fixture("v4_gfx908.co"));
  const Kernel kernel = module.kernel("vector_add");
  const std::string gcn = kernel.dump(WAVEJIT_DUMP_GCN);
  EXPECT_NE(gcn.find("c0060082 00000000"), std::string::npos) << gcn;
  EXPECT_NE(gcn.find("s_load_dwordx2 s[2:3], s[4:5], 0x0"), std::string::npos) << gcn;
  EXPECT_NE(gcn.find("-> L0"), std::string::npos) << gcn;
  EXPECT_NE(gcn.find("\nL0:\n"), std::string::npos) << gcn;
  EXPECT_NE(gcn.find("s_endpgm"), std::string::npos);
  ASSERT_NE(wavejit_pass_name(0), nullptr);
  const std::string first = wavejit_pass_name(0);
  const std::string before = kernel.dump(WAVEJIT_DUMP_IR, ("before:" + first).c_str());
  const std::string after = kernel.dump(WAVEJIT_DUMP_IR);
  EXPECT_FALSE(before.empty());
  EXPECT_FALSE(after.empty());
  EXPECT_NE(before, after);
  EXPECT_EQ(status_of([&] { (void)kernel.dump(WAVEJIT_DUMP_IR, "before:nothing"); }), WAVEJIT_INVALID_ARGUMENT);
  EXPECT_EQ(status_of([&] { (void)kernel.dump(WAVEJIT_DUMP_IR, "nonsense"); }), WAVEJIT_INVALID_ARGUMENT);
  for (const wavejit_isa isa : {WAVEJIT_ISA_AVX2, WAVEJIT_ISA_AVX512}) {
    if (!wavejit_isa_supported(isa)) continue;
    const std::string lir = kernel.dump(WAVEJIT_DUMP_LIR, nullptr, isa);
    EXPECT_NE(lir.find("result v"), std::string::npos) << lir;
    EXPECT_NE(lir.find(isa == WAVEJIT_ISA_AVX2 ? ":ymm" : ":zmm"), std::string::npos) << lir;
    const std::string x86 = kernel.dump(WAVEJIT_DUMP_X86, nullptr, isa);
    EXPECT_NE(x86.find("ret"), std::string::npos) << x86;
    EXPECT_NE(x86.find(isa == WAVEJIT_ISA_AVX2 ? "ymm" : "zmm"), std::string::npos) << x86;
  }
}

// What the compiler says that a kernel uses; its descriptor has multiples.
TEST(Api, RegistersThatAKernelUses) {
  const wavejit_kernel_info info = Module::load_file(fixture("v4_gfx908.co")).kernel("vector_add").info();
  EXPECT_EQ(info.sgpr_count, 9u);
  EXPECT_EQ(info.vgpr_count, 6u);
}

// The kernel's size cuts an instruction in two. The dump shows the bytes inside of the kernel, and none behind it.
TEST(Api, DumpsEndWithTheKernel) {
  const Module module = load("gfx906", {{.name = "cut", .body = "  s_endpgm\n  .long 0xffff1234\n", .args = {}},
                                        {.name = "other", .body = "  .size cut, 6\n", .args = {}}});
  const std::string gcn = module.kernel("cut").dump(WAVEJIT_DUMP_GCN);
  EXPECT_NE(gcn.find(", 6 bytes\n"), std::string::npos) << gcn;
  EXPECT_NE(gcn.find("  00001234  "), std::string::npos) << gcn;
  EXPECT_EQ(gcn.find("ffff1234"), std::string::npos) << gcn;
}

TEST(Api, DumpsForAWorkGroup) {
  const Module module = Module::load_file(fixture("v4_gfx908.co"));
  const Kernel kernel = module.kernel("vector_add");
  const auto status = [&](uint32_t x, uint32_t y, uint32_t z) {
    wavejit_dump_options options{};
    options.size = sizeof options;
    options.kind = WAVEJIT_DUMP_IR;
    options.local[0] = x, options.local[1] = y, options.local[2] = z;
    return wavejit_kernel_dump(kernel.handle(), &options, [](void*, const char*, size_t) {}, nullptr);
  };
  EXPECT_EQ(status(0, 0, 0), WAVEJIT_OK);
  EXPECT_EQ(status(64, 0, 0), WAVEJIT_OK);
  EXPECT_EQ(status(0, 1, 0), WAVEJIT_INVALID_ARGUMENT);
  EXPECT_EQ(status(0, 0, 1), WAVEJIT_INVALID_ARGUMENT);
}

TEST(Api, Coverage) {
  const Module module = Module::load_file(fixture("v4_gfx908.co"));
  const wavejit_coverage coverage = module.kernel("vector_add").coverage();
  EXPECT_GT(coverage.instructions, 20u);
  EXPECT_EQ(coverage.illegal, 0u);
  EXPECT_EQ(coverage.interp_unsupported, 0u);
  EXPECT_EQ(coverage.lift_unsupported, 0u);
  EXPECT_EQ(coverage.compiled, 1u);
  EXPECT_EQ(coverage.issue_count, 0u);
  const Module graphics =
      load("gfx906",
           {{.name = "k", .body = "  exp mrt0 v0, v0, v0, v0 done vm\n  v_nop\n  .long 0xffffffff\n", .args = {}}});
  const wavejit_coverage bad = graphics.kernel("k").coverage();
  EXPECT_EQ(bad.instructions, 3u);
  EXPECT_EQ(bad.illegal, 1u);
  EXPECT_EQ(bad.interp_unsupported, 1u);
  EXPECT_GE(bad.lift_unsupported, 1u);
  EXPECT_EQ(bad.compiled, 0u);
  ASSERT_GE(bad.issue_count, 3u);
}

TEST(Api, BuffersEndAtAGuardPage) {
  Buffer<uint8_t> buffer(1000);
  for (const uint8_t byte : buffer) ASSERT_EQ(byte, 0);
  const auto end = reinterpret_cast<uint64_t>(buffer.data()) + 1024;
  EXPECT_EQ(end % 4096, 0u);
  EXPECT_EQ(reinterpret_cast<uint64_t>(buffer.data()) % 64, 0u);
  void* pointer = nullptr;
  EXPECT_EQ(wavejit_buffer_alloc(SIZE_MAX, &pointer), WAVEJIT_OUT_OF_MEMORY);
  EXPECT_EQ(pointer, nullptr);
  Buffer<int> empty(0);
  EXPECT_NE(empty.data(), nullptr);
}

// From 2 MiB on they begin in the first page of a huge page.
TEST(Api, LargeBuffersBeginAtAHugePage) {
  constexpr uint64_t kHugePage = 2 << 20, kPage = 4096;
  for (const size_t bytes : {size_t{kHugePage}, size_t{3 * kHugePage + kPage}, size_t{5 * kHugePage + 100}}) {
    Buffer<uint8_t> first(bytes), second(bytes);
    for (Buffer<uint8_t>* buffer : {&first, &second}) {
      const auto begin = reinterpret_cast<uint64_t>(buffer->data());
      EXPECT_LT(begin % kHugePage, kPage);
      EXPECT_EQ((begin + bytes + 63) / 64 * 64 % kPage, 0u);
      std::fill(buffer->begin(), buffer->end(), uint8_t{1});
    }
  }
}

}  // namespace
}  // namespace wavejit::test
