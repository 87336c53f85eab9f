// Memory faults, traps and other bad endings: typed errors with kernel, PC, lane and address, and life after them.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "test_kernels.h"

namespace wavejit::test {
namespace {

// out[i] = i for the work-items of one-dimensional groups of 64.
KernelSource portable_store(std::string_view target, const std::string& name = "store_index") {
  return {.name = name,
          .body = fmt::format(R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_lshl_b32 s6, s2, 6
  v_add_u32_e32 v1, {}s6, v0
  v_lshlrev_b32_e32 v2, 2, v1
  v_mov_b32_e32 v3, 0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, s5
  add_co v6, s4, v2
  addc v7, v4, v3
  store v[6:7], v1
)",
                              is_gfx8(target) ? "vcc, " : ""),
          .directives = "  .amdhsa_system_sgpr_workgroup_id_x 1\n",
          .args = {{"out"}}};
}

KernelSource load_kernel(const std::string& name = "load_index") {
  return {.name = name,
          .body = std::string(kOwnAddress) + R"(  flat_load_dword v8, v[6:7]
  s_waitcnt vmcnt(0) lgkmcnt(0)
  store v[6:7], v8
)",
          .args = {{"buffer"}}};
}

struct FaultCase {
  std::string target;
  TestEngine engine;
};

class Faults : public testing::TestWithParam<FaultCase> {};

std::vector<FaultCase> fault_cases() {
  std::vector<FaultCase> all;
  for (const char* target : {"gfx803", "gfx906", "gfx90a"})
    for (const TestEngine& engine : engines_and_auto()) all.push_back({target, engine});
  return all;
}

void expect_works(const Module& module, const TestEngine& engine) {
  Kernel kernel = module.kernel("store_index");
  Buffer<uint32_t> out(256);
  kernel.set_args(out);
  (void)kernel.launch(launch_options(engine, 256, 64, 2));
  for (unsigned i = 0; i < 256; ++i) ASSERT_EQ(out[i], i);
}

TEST_P(Faults, StorePastTheEndOfABuffer) {
  const auto& [target, engine] = GetParam();
  const Module module = load(target, {portable_store(target)});
  Kernel kernel = module.kernel("store_index");
  Buffer<uint32_t> out(48);  // 192 bytes: lanes 48 and up of the first wave are outside
  ASSERT_EQ(wavejit_memory_register(out.data(), out.bytes(), "numbers"), WAVEJIT_OK);
  kernel.set_args(out);
  try {
    (void)kernel.launch(launch_options(engine, 64, 64));
    FAIL() << "the fault went unnoticed";
  } catch (const Exception& e) {
    EXPECT_EQ(e.status(), WAVEJIT_GUEST_FAULT) << e.what();
    EXPECT_EQ(e.kernel(), "store_index");
    ASSERT_TRUE(e.lane());
    EXPECT_EQ(*e.lane(), 48u) << e.what();
    ASSERT_TRUE(e.address());
    EXPECT_EQ(*e.address(), reinterpret_cast<uint64_t>(out.data()) + 192);
    ASSERT_TRUE(e.pc());
    EXPECT_GT(*e.pc(), kernel.info().entry);
    EXPECT_LT(*e.pc(), kernel.info().entry + kernel.info().code_size);
    const std::string message = e.what();
    EXPECT_NE(message.find("wrote"), std::string::npos) << message;
    EXPECT_NE(message.find("0 bytes past the end of buffer 'numbers'"), std::string::npos) << message;
    EXPECT_NE(message.find("store_index+0x"), std::string::npos) << message;
  }
  expect_works(module, engine);
}

// Atomics need alignment; a lane whose address is not a multiple of the size faults, alone or with all others.
TEST_P(Faults, MisalignedAtomics) {
  const auto& [target, engine] = GetParam();
  struct Atomic {
    std::string_view name, code;  // v[6:7]: address of the work-item, v[10:11]: of the buffer + 2
    uint32_t lane;
    uint64_t offset;  // of the fault
  };
  static constexpr Atomic kAtomics[] = {
      {"each lane", "flat_atomic_add v[6:7], v0", 5, 22},
      {"with result", "flat_atomic_add v8, v[6:7], v0 glc", 5, 22},
      {"8 bytes", "flat_atomic_add_x2 v[12:13], v[0:1]", 1, 4},
      {"8 bytes with result", "flat_atomic_smax_x2 v[8:9], v[12:13], v[0:1] glc", 1, 4},
      {"one address", "flat_atomic_umax v[10:11], v0", 0, 2},
      {"one address with result", "flat_atomic_add v8, v[10:11], v14 glc", 0, 2},
      {"compare and swap", "flat_atomic_cmpswap v8, v[6:7], v[0:1] glc", 5, 22},
  };
  for (const Atomic& atomic : kAtomics) {
    KernelSource k{.name = "misaligned", .body = kOwnAddress, .args = {{"buffer"}}};
    // Lane 5 is two bytes off in v[6:7]; v[12:13] are the same addresses without that, so not multiples of 8.
    k.body += fmt::format(R"(
  v_mov_b32_e32 v12, v6
  v_mov_b32_e32 v13, v7
  v_mov_b32_e32 v10, s4
  v_mov_b32_e32 v11, s5
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v14, 3
  v_mov_b32_e32 v16, 2
  v_mov_b32_e32 v17, 0
  add_co v10, 2, v10
  v_cmp_eq_u32_e32 vcc, 5, v0
  v_cndmask_b32_e32 v16, v17, v16, vcc
  v_or_b32_e32 v6, v6, v16
  {}
  s_waitcnt vmcnt(0) lgkmcnt(0)
)",
                          atomic.code);
    const Module module = load(target, {k, portable_store(target)});
    Kernel kernel = module.kernel("misaligned");
    Buffer<uint32_t> out(1024);
    kernel.set_args(out);
    try {
      (void)kernel.launch(launch_options(engine, 64, 64));
      FAIL() << atomic.name << ": the fault went unnoticed";
    } catch (const Exception& e) {
      const std::string message = std::string(atomic.name) + ": " + e.what();
      EXPECT_EQ(e.status(), WAVEJIT_GUEST_FAULT) << message;
      EXPECT_EQ(e.lane().value_or(99), atomic.lane) << message;
      EXPECT_EQ(e.address().value_or(0), reinterpret_cast<uint64_t>(out.data()) + atomic.offset) << message;
      EXPECT_NE(message.find("needs alignment"), std::string::npos) << message;
      EXPECT_NE(message.find("misaligned+0x"), std::string::npos) << message;
    }
    expect_works(module, engine);
  }
}

TEST_P(Faults, LoadFromUnmappedMemory) {
  const auto& [target, engine] = GetParam();
  const Module module = load(target, {load_kernel(), portable_store(target)});
  Kernel kernel = module.kernel("load_index");
  void* hole = mmap(nullptr, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(hole, MAP_FAILED);
  kernel.set_arg_pointer(0, hole);
  for (int round = 0; round < 20; ++round) {
    try {
      (void)kernel.launch(launch_options(engine, 1024, 64, 2));
      FAIL() << "the fault went unnoticed";
    } catch (const Exception& e) {
      ASSERT_EQ(e.status(), WAVEJIT_GUEST_FAULT) << e.what();
      ASSERT_TRUE(e.lane());
      EXPECT_EQ(*e.lane(), 0u) << e.what();
      EXPECT_EQ(e.address(), reinterpret_cast<uint64_t>(hole));
      EXPECT_NE(std::string(e.what()).find("read"), std::string::npos) << e.what();
    }
  }
  munmap(hole, 1 << 16);
  expect_works(module, engine);
}

// Bytes that several instructions load, on both sides of the end of what is there: the instruction, lane and address
// are those of the first byte that is not.
TEST_P(Faults, NeighbouringBytes) {
  const auto& [target, engine] = GetParam();
  if (is_gfx8(target)) GTEST_SKIP() << "GFX8 has no global_load";
  constexpr unsigned kBytes = 8, kPage = 4096;
  std::string loads, sum;
  for (unsigned k = 0; k < kBytes; ++k) {
    loads += fmt::format("  global_load_ubyte v{}, v[6:7], off offset:{}\n", 10 + k, k);
    sum += fmt::format("  v_xor_b32_e32 v9, v9, v{}\n", 10 + k);
  }
  const std::string start = R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v9, 0
  s_waitcnt lgkmcnt(0)
  global_load_dword v4, v2, s[6:7]
  s_waitcnt vmcnt(0)
  v_mov_b32_e32 v7, s5
  add_co v6, s4, v4
  addc v7, 0, v7
)";
  const Module module =
      load(target, {{.name = "bytes",
                     .body = start + loads + "  s_waitcnt vmcnt(0)\n" + sum + "  global_store_dword v2, v9, s[6:7]\n",
                     .args = {{"buffer"}, {"places"}}},
                    portable_store(target)});
  void* memory = mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(static_cast<uint8_t*>(memory) + kPage, kPage, PROT_NONE), 0);
  uint64_t first_pc = 0;
  for (unsigned there = 0; there <= kBytes; ++there) {  // bytes of lane 37
    SCOPED_TRACE(there);
    Kernel kernel = module.kernel("bytes");
    Buffer<uint32_t> places(64);
    for (unsigned l = 0; l < 64; ++l) places[l] = l * 29 % 64 * 8;
    places[37] = kPage - there;
    kernel.set_arg_pointer(0, memory);
    kernel.set_arg_pointer(1, places.data());
    try {
      (void)kernel.launch(launch_options(engine, 64, 64));
      EXPECT_EQ(there, kBytes) << "the fault went unnoticed";
    } catch (const Exception& e) {
      ASSERT_EQ(e.status(), WAVEJIT_GUEST_FAULT) << e.what();
      EXPECT_EQ(e.lane(), 37u) << e.what();
      EXPECT_EQ(e.address(), reinterpret_cast<uint64_t>(memory) + kPage) << e.what();
      ASSERT_TRUE(e.pc());
      if (there == 0) first_pc = *e.pc();
      EXPECT_EQ(*e.pc() - first_pc, 8 * there) << e.what();  // bytes of code a load
    }
  }
  munmap(memory, 2 * kPage);
  expect_works(module, engine);
}

// An image that is larger than its memory: rows from 16 on are not there. Lanes 37 and 50 access those.
TEST_P(Faults, TexelsOfAnImage) {
  const auto& [target, engine] = GetParam();
  const std::string begin = R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_load_dwordx8 s[8:15], s[4:5], 0x0
  s_load_dwordx4 s[16:19], s[6:7], 0x0
  lane v2
  v_mov_b32_e32 v3, 3
  v_mov_b32_e32 v5, 17
  v_mov_b32_e32 v6, 16
  v_cmp_eq_u32_e32 vcc, 37, v2
  v_cndmask_b32_e32 v3, v3, v5, vcc
  v_cmp_eq_u32_e32 vcc, 50, v2
  v_cndmask_b32_e32 v3, v3, v6, vcc
  s_waitcnt lgkmcnt(0)
)";
  const std::string sample = std::string(target == "gfx90a" ? "image_sample" : "image_sample_lz") +
                             " v[8:11], v[2:3], s[8:15], s[16:19] dmask:0xf\n";
  const std::string floats = R"(
  v_cvt_f32_u32_e32 v2, v2
  v_cvt_f32_u32_e32 v3, v3
  v_add_f32_e32 v2, 0x3f400000, v2
  v_add_f32_e32 v3, 0x3f400000, v3
)";
  struct {
    const char* name;
    std::string access;
    bool linear, write;
  } const accesses[] = {{"load", "image_load v[8:11], v[2:3], s[8:15] dmask:0xf unorm\n", false, false},
                        {"store", "image_store v[8:11], v[2:3], s[8:15] dmask:0xf unorm\n", false, true},
                        {"nearest", floats + sample, false, false},
                        {"linear", floats + sample, true, false}};
  std::vector<KernelSource> sources;
  for (const auto& access : accesses)
    sources.push_back({.name = access.name, .body = begin + access.access, .args = {{"image"}, {"sampler"}}});
  const Module module = load(target, sources);
  // Format and number: bytes, floats of 32 and of 16 bits.
  for (const auto& [data, number, bytes] : {std::array{10u, 0u, 4u}, {4u, 7u, 4u}, {14u, 7u, 16u}, {12u, 7u, 8u}}) {
    Buffer<uint8_t> texels(size_t{16} * 64 * bytes);
    const auto base = reinterpret_cast<uint64_t>(texels.data());
    ASSERT_EQ(base % 256, 0u);
    Buffer<uint32_t> image(8), sampler(4);
    const uint32_t words[8] = {static_cast<uint32_t>(base >> 8),
                               static_cast<uint32_t>(base >> 40 & 0xff) | data << 20 | number << 26, 63 | 31 << 14,
                               4 | 5 << 3 | 6 << 6 | 7 << 9 | (is_gfx8(target) ? 8u : 0u) << 20 | 9u << 28, 63 << 13};
    std::copy_n(words, 8, image.data());
    sampler[0] = 2 | 2 << 3 | 2 << 6 | 1u << 15;
    sampler[1] = 0xfff000;
    for (const auto& access : accesses) {
      sampler[2] = access.linear ? 1u << 20 | 1u << 22 : 0;
      Kernel kernel = module.kernel(access.name);
      kernel.set_args(image, sampler);
      try {
        (void)kernel.launch(launch_options(engine, 64, 64));
        ADD_FAILURE() << "no fault: " << access.name;
      } catch (const Exception& e) {
        EXPECT_EQ(e.status(), WAVEJIT_GUEST_FAULT) << e.what();
        EXPECT_EQ(e.lane().value_or(99), 37u) << access.name << ": " << e.what();
        EXPECT_EQ(e.address().value_or(0), base + (17u * 64 + 37) * bytes) << access.name << ": " << e.what();
      }
    }
  }
}

TEST_P(Faults, NullAndNonCanonicalPointers) {
  const auto& [target, engine] = GetParam();
  const Module module = load(target, {load_kernel(), portable_store(target)});
  Kernel kernel = module.kernel("load_index");
  for (const uint64_t address : {uint64_t{0}, uint64_t{0x0123456789abcde0}, ~uint64_t{0} - 255}) {
    SCOPED_TRACE(address);
    kernel.set_arg(0, &address, sizeof address);
    try {
      (void)kernel.launch(launch_options(engine, 64, 64));
      FAIL() << "the fault went unnoticed";
    } catch (const Exception& e) {
      ASSERT_EQ(e.status(), WAVEJIT_GUEST_FAULT) << e.what();
      ASSERT_TRUE(e.lane()) << e.what();
      EXPECT_EQ(*e.lane(), 0u) << e.what();
      EXPECT_EQ(e.address(), address) << e.what();
    }
  }
  expect_works(module, engine);
}

// A lane's address may lie beyond those that the host can have, where others read memory. The processor does not say
// which address it was.
TEST_P(Faults, NonCanonicalInOneLane) {
  if (kAddressSanitizer) GTEST_SKIP() << "AddressSanitizer reads the shadow of the address first, which is not mapped";
  const auto& [target, engine] = GetParam();
  const KernelSource k{.name = "far_lane",
                       .body = R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_mov_b32_e32 v9, 0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v10, s6
  v_cmp_eq_u32_e32 vcc, 37, v0
  v_cndmask_b32_e32 v9, v9, v10, vcc
  s_mov_b32 s6, -1
  s_mov_b32 s7, 0x24fac
  buffer_load_format_x v8, v9, s[4:7], 0 offen
  s_waitcnt vmcnt(0)
)",
                       .args = {{"buffer"}, {"distance"}}};
  constexpr uint64_t kEnd = uint64_t{1} << 47;
  void* memory = MAP_FAILED;
  for (uint64_t distance = uint64_t{1} << 30; distance >> 32 == 0 && memory == MAP_FAILED; distance += 1 << 30)
    memory = mmap(reinterpret_cast<void*>(kEnd - distance), 4096, PROT_READ,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no memory at the end of the address space";
  const Module module = load(target, {k, portable_store(target)});
  Kernel kernel = module.kernel("far_lane");
  const uint64_t arguments[] = {reinterpret_cast<uint64_t>(memory), kEnd - reinterpret_cast<uint64_t>(memory)};
  for (unsigned i = 0; i < 2; ++i) kernel.set_arg(i, &arguments[i], sizeof arguments[i]);
  try {
    (void)kernel.launch(launch_options(engine, 64, 64));
    FAIL() << "the fault went unnoticed";
  } catch (const Exception& e) {
    ASSERT_EQ(e.status(), WAVEJIT_GUEST_FAULT) << e.what();
    EXPECT_EQ(e.lane(), 37u) << e.what();
    EXPECT_EQ(e.address(), kEnd) << e.what();
  }
  munmap(memory, 4096);
  expect_works(module, engine);
}

TEST_P(Faults, ScalarLoad) {
  const auto& [target, engine] = GetParam();
  KernelSource k{.name = "scalar",
                 .body = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_load_dword s6, s[4:5], 0x10
  s_waitcnt lgkmcnt(0)
)",
                 .args = {{"p"}}};
  const Module module = load(target, {k, portable_store(target)});
  Kernel kernel = module.kernel("scalar");
  kernel.set_arg_pointer(0, nullptr);
  try {
    (void)kernel.launch(launch_options(engine, 64, 64));
    FAIL() << "the fault went unnoticed";
  } catch (const Exception& e) {
    ASSERT_EQ(e.status(), WAVEJIT_GUEST_FAULT) << e.what();
    EXPECT_FALSE(e.lane()) << e.what();
    EXPECT_EQ(e.address(), 0x10u);
    EXPECT_EQ(e.pc(), kernel.info().entry + 12);
  }
  const uint64_t far = 0x0123456789abcde0;
  kernel.set_arg(0, &far, sizeof far);
  try {
    (void)kernel.launch(launch_options(engine, 64, 64));
    FAIL() << "the fault went unnoticed";
  } catch (const Exception& e) {
    ASSERT_EQ(e.status(), WAVEJIT_GUEST_FAULT) << e.what();
    EXPECT_FALSE(e.lane()) << e.what();
    if (engine.engine == WAVEJIT_ENGINE_JIT) {
      EXPECT_EQ(e.address(), far + 0x10) << e.what();
    }
  }
  expect_works(module, engine);
}

TEST_P(Faults, OnlyOneLane) {
  const auto& [target, engine] = GetParam();
  KernelSource k = load_kernel("one_lane");
  // Lane 37 alone.
  k.body.insert(0, "  s_mov_b32 exec_lo, 0\n  s_mov_b32 exec_hi, 0x20\n");
  const Module module = load(target, {k, portable_store(target)});
  Kernel kernel = module.kernel("one_lane");
  const uint64_t address = 0x1000;
  kernel.set_arg(0, &address, sizeof address);
  try {
    (void)kernel.launch(launch_options(engine, 64, 64));
    FAIL() << "the fault went unnoticed";
  } catch (const Exception& e) {
    ASSERT_EQ(e.status(), WAVEJIT_GUEST_FAULT) << e.what();
    EXPECT_EQ(e.lane(), 37u) << e.what();
    EXPECT_EQ(e.address(), 0x1000u + 37 * 4);
  }
  expect_works(module, engine);
}

TEST_P(Faults, Traps) {
  const auto& [target, engine] = GetParam();
  KernelSource abort{.name = "aborts", .body = "  s_nop 0\n  s_trap 2\n", .args = {}};
  KernelSource debug = portable_store(target);
  debug.body.insert(0, "  s_trap 3\n");
  const Module module = load(target, {abort, debug});
  Kernel kernel = module.kernel("aborts");
  try {
    (void)kernel.launch(launch_options(engine, 64, 64));
    FAIL() << "the trap went unnoticed";
  } catch (const Exception& e) {
    EXPECT_EQ(e.status(), WAVEJIT_GUEST_TRAP) << e.what();
    EXPECT_EQ(e.kernel(), "aborts");
    EXPECT_EQ(e.pc(), kernel.info().entry + 4);
  }
  expect_works(module, engine);  // with its trap 3
}

TEST_P(Faults, UnsupportedAndIllegalInstructions) {
  const auto& [target, engine] = GetParam();
  KernelSource graphics{.name = "graphics", .body = "  s_nop 0\n  exp mrt0 v0, v0, v0, v0 done vm\n", .args = {}};
  if (target == "gfx90a") graphics.body = "  s_nop 0\n  s_sendmsg sendmsg(MSG_GS, GS_OP_CUT, 0)\n";
  KernelSource garbage{.name = "garbage", .body = "  s_nop 0\n  .long 0xffffffff\n", .args = {}};
  const Module module = load(target, {graphics, garbage, portable_store(target)});
  for (const char* name : {"graphics", "garbage"}) {
    Kernel kernel = module.kernel(name);
    try {
      (void)kernel.launch(launch_options(engine, 64, 64));
      FAIL() << name << " ran";
    } catch (const Exception& e) {
      EXPECT_EQ(e.status(), name[1] == 'r' ? WAVEJIT_UNSUPPORTED : WAVEJIT_ILLEGAL_INSTRUCTION) << e.what();
      EXPECT_EQ(e.kernel(), name);
      EXPECT_EQ(e.pc(), kernel.info().entry + 4) << e.what();
      const std::string message = e.what();
      if (name[1] == 'r') {
        EXPECT_NE(message.find(target == "gfx90a" ? "s_sendmsg" : "exp"), std::string::npos) << message;
        EXPECT_NE(message.find("0x"), std::string::npos) << message;
      }
    }
  }
  expect_works(module, engine);
}

TEST_P(Faults, ManyThreadsFaultAtOnce) {
  const auto& [target, engine] = GetParam();
  const Module module = load(target, {load_kernel(), portable_store(target)});
  const TestEngine chosen = engine;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Kernel faulty = module.kernel("load_index");
      Kernel good = module.kernel("store_index");
      Buffer<uint32_t> out(4096);
      good.set_args(out);
      faulty.set_arg_pointer(0, reinterpret_cast<void*>(0x1000 + 0x1000 * t));
      for (int round = 0; round < 10; ++round) {
        try {
          (void)faulty.launch(launch_options(chosen, 4096, 64, 3));
          ++wrong;
        } catch (const Exception& e) {
          if (e.status() != WAVEJIT_GUEST_FAULT || e.address() != 0x1000u + 0x1000 * t) ++wrong;
        }
        try {
          (void)good.launch(launch_options(chosen, 4096, 64, 3));
          for (unsigned i = 0; i < 4096; ++i) wrong += out[i] != i;
        } catch (const Exception&) {
          ++wrong;
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// The watchdog repeats its signal every few milliseconds and real-time signals queue: a thread that the host did not
// run for a while finds many at once. Nested handlers would overflow the alternate stack, which ends the process.
TEST_P(Faults, QueuedInterruptionsDoNotNest) {
  const auto& [target, engine] = GetParam();
  const Module module = load(target, {load_kernel(), portable_store(target)});
  Kernel faulty = module.kernel("load_index");
  faulty.set_arg_pointer(0, reinterpret_cast<void*>(0x3000));
  expect_works(module, engine);  // the thread has its alternate stack now
  const int interruption = SIGRTMIN + 7;
  sigset_t blocked, before, after;
  sigemptyset(&blocked);
  sigaddset(&blocked, interruption);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &blocked, &before), 0);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 500; ++i) ASSERT_EQ(syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), interruption), 0);
    try {
      (void)faulty.launch(launch_options(engine, 256, 64));
      ADD_FAILURE() << "the fault went unnoticed";
    } catch (const Exception& e) {
      EXPECT_EQ(e.status(), WAVEJIT_GUEST_FAULT) << e.what();
      EXPECT_EQ(e.address(), 0x3000u) << e.what();
    }
    sigpending(&after);
    EXPECT_EQ(sigismember(&after, interruption), 0) << "the launch lets them in";
  }
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&after, interruption), 1) << "the caller's mask is restored";
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  expect_works(module, engine);
}

// The same while guest code faults on several threads: interruptions arrive before, in and after the handler.
TEST_P(Faults, InterruptionsWhileThreadsFault) {
  const auto& [target, engine] = GetParam();
  const Module module = load(target, {load_kernel()});
  const TestEngine chosen = engine;
  constexpr unsigned kThreads = 3;
  std::atomic<pid_t> ids[kThreads] = {};
  std::atomic<int> wrong{0};
  std::atomic<unsigned> running{kThreads};
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      Kernel faulty = module.kernel("load_index");
      faulty.set_arg_pointer(0, reinterpret_cast<void*>(0x1000 + 0x1000 * t));
      for (int round = 0; round < 50; ++round) {
        try {
          (void)faulty.launch(launch_options(chosen, 1024, 64));
          ++wrong;
        } catch (const Exception& e) {
          wrong += e.status() != WAVEJIT_GUEST_FAULT || e.address() != 0x1000u + 0x1000 * t;
        }
        ids[t] = static_cast<pid_t>(syscall(SYS_gettid));  // from here on the handlers are installed
      }
      --running;
      while (!done) std::this_thread::yield();  // the id stays this thread's while signals are sent to it
    });
  // With pauses: clone() begins again as long as a signal is pending, so that a thread that always has one starts no other.
  while (running != 0) {
    for (const std::atomic<pid_t>& id : ids)
      if (const pid_t thread = id; thread != 0) syscall(SYS_tgkill, getpid(), thread, SIGRTMIN + 7);
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Faults, testing::ValuesIn(fault_cases()),
                         [](const testing::TestParamInfo<FaultCase>& info) {
                           return info.param.target + "_" + info.param.engine.name;
                         });

// An address that the compiler does not see through.
volatile int* unmapped() {
  volatile uintptr_t address = 0x10;
  return reinterpret_cast<volatile int*>(address);
}

sigjmp_buf g_landing;
void on_segv(int) {
  siglongjmp(g_landing, 1);
}

// The application's own handler, installed before the first launch, still gets the application's own faults.
TEST(ForeignFaults, GoToTheHandlerThatWasThereBefore) {
  EXPECT_EXIT(
      {
        struct sigaction action{};
        action.sa_handler = on_segv;
        sigaction(SIGSEGV, &action, nullptr);
        const Module module = load("gfx906", {portable_store("gfx906")});
        expect_works(module, engines().front());
        if (sigsetjmp(g_landing, 1) == 0) {
          *unmapped() = 1;
          _exit(3);
        }
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ForeignFaults, EndTheProcessAsWithoutWavejit) {
  if (kAddressSanitizer || kThreadSanitizer)
    GTEST_SKIP() << "the sanitizer's handler is the previous one and ends the process its own way";
  EXPECT_EXIT(
      {
        const Module module = load("gfx906", {portable_store("gfx906")});
        expect_works(module, engines().front());
        signal(SIGABRT, SIG_DFL);
        *unmapped() = 1;
      },
      testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace wavejit::test
