// Kernels that store their initial registers, on every target and engine, through the whole stack.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "internal/wave_state.h"
#include "test_kernels.h"

namespace wavejit::test {
namespace {

constexpr unsigned kSlots = 32;  // dwords stored per work-item

// Stores `registers` (scalar or vector operands) of every work-item at out + slot * 128, slot taken from an atomic
// counter. The record's place is the work-item's, so its contents must identify it.
KernelSource recorder(const std::vector<std::string>& registers, const std::string& directives, unsigned kernarg_sgpr) {
  KernelSource k;
  // v[20..] free; ids v0..v2 and user SGPRs are kept. s[40:41] out, s[42:43] counter.
  k.body = fmt::format(R"(
  s_mov_b32 s50, exec_lo
  s_mov_b32 s51, exec_hi
  s_load_dwordx4 s[40:43], s[{0}:{1}], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v20, s42
  v_mov_b32_e32 v21, s43
  v_mov_b32_e32 v22, 1
  flat_atomic_add v23, v[20:21], v22 glc
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_lshlrev_b32_e32 v23, 7, v23
  v_mov_b32_e32 v24, s41
  v_mov_b32_e32 v25, 0
  add_co v26, s40, v23
  addc v27, v24, v25
)",
                       kernarg_sgpr, kernarg_sgpr + 1);
  for (size_t i = 0; i < registers.size(); ++i) {
    k.body += fmt::format(
        "  v_mov_b32_e32 v28, {}\n  store v[26:27], v28\n  add_co v26, 4, v26\n  addc v27, v27, v25\n", registers[i]);
  }
  k.directives = directives;
  k.args = {{"out"}, {"counter"}};
  return k;
}

struct StateCase {
  std::string target;
  TestEngine engine;
};

class InitialState : public testing::TestWithParam<StateCase> {};

std::vector<StateCase> state_cases() {
  std::vector<StateCase> all;
  for (const char* target : kTargets)
    for (const TestEngine& engine : engines_and_auto()) all.push_back({target, engine});
  return all;
}

TEST_P(InitialState, WorkGroupAndWorkItemIdsOfPartialGroups) {
  const auto& [target, engine] = GetParam();
  const bool packed = target == "gfx90a";
  std::vector<std::string> registers = {"s2", "s3", "s4", "v0"};
  if (!packed) registers.insert(registers.end(), {"v1", "v2"});
  const Module module =
      load(target, {recorder(registers,
                             "  .amdhsa_system_sgpr_workgroup_id_x 1\n  .amdhsa_system_sgpr_workgroup_id_y 1\n"
                             "  .amdhsa_system_sgpr_workgroup_id_z 1\n  .amdhsa_system_vgpr_workitem_id 2\n",
                             0)});
  Kernel kernel = module.kernel("k");
  // 3-D, partial in every dimension, groups of 100 work-items: two waves, the second partial.
  const uint32_t grid[3] = {23, 11, 3}, local[3] = {10, 5, 2};
  const unsigned items = grid[0] * grid[1] * grid[2];
  Buffer<uint32_t> out(items * kSlots), counter(1);
  kernel.set_args(out, counter);
  LaunchOptions options = launch_options(engine, 0, 0, 2);
  for (unsigned i = 0; i < 3; ++i) {
    options.global[i] = grid[i];
    options.local[i] = local[i];
  }
  const LaunchStats stats = kernel.launch(options);
  EXPECT_EQ(stats.workgroups, 3u * 3 * 2);
  EXPECT_EQ(stats.work_items, items);
  ASSERT_EQ(counter[0], items);
  std::vector<unsigned> seen(items);
  for (unsigned i = 0; i < items; ++i) {
    const uint32_t* r = out.data() + i * kSlots;
    uint32_t id[3] = {r[3], packed ? 0 : r[4], packed ? 0 : r[5]};
    if (packed)
      for (unsigned d = 0; d < 3; ++d) id[d] = r[3] >> (10 * d) & 0x3ff;
    uint32_t global[3];
    for (unsigned d = 0; d < 3; ++d) {
      ASSERT_LT(id[d], local[d]);
      global[d] = r[d] * local[d] + id[d];
      ASSERT_LT(global[d], grid[d]);
    }
    ++seen[(global[2] * grid[1] + global[1]) * grid[0] + global[0]];
  }
  for (unsigned i = 0; i < items; ++i) ASSERT_EQ(seen[i], 1u) << i;
}

// The JIT specialises the start of a kernel on the work-group size: one module, many sizes, complete and partial
// groups, ids read at once and behind a barrier.
TEST_P(InitialState, IdsOfManyWorkGroupSizes) {
  const auto& [target, engine] = GetParam();
  const bool packed = target == "gfx90a";
  std::vector<std::string> registers = {"s2", "s3", "s4", "v0"};
  if (!packed) registers.insert(registers.end(), {"v1", "v2"});
  const std::string directives =
      "  .amdhsa_system_sgpr_workgroup_id_x 1\n  .amdhsa_system_sgpr_workgroup_id_y 1\n"
      "  .amdhsa_system_sgpr_workgroup_id_z 1\n  .amdhsa_system_vgpr_workitem_id 2\n";
  KernelSource at_once = recorder(registers, directives, 0);
  KernelSource later = at_once;
  at_once.name = "at_once";
  later.name = "later";
  later.body = "  s_barrier\n" + later.body;
  const Module module = load(target, {at_once, later});
  const std::array<uint32_t, 3> sizes[] = {{64, 1, 1}, {256, 1, 1}, {100, 1, 1}, {16, 16, 1}, {8, 8, 4},
                                           {10, 5, 2}, {192, 2, 1}, {1, 64, 1},  {20, 20, 1}, {4, 1, 16}};
  for (const char* name : {"at_once", "later"})
    for (const auto& local : sizes)
      for (const uint32_t extra : {0u, 1u}) {  // one more work-item than complete groups have
        SCOPED_TRACE(fmt::format("{} {}x{}x{} + {}", name, local[0], local[1], local[2], extra));
        Kernel kernel = module.kernel(name);
        const uint32_t grid[3] = {local[0] * 2 + extra, local[1], local[2]};
        const unsigned items = grid[0] * grid[1] * grid[2];
        Buffer<uint32_t> out(items * kSlots), counter(1);
        kernel.set_args(out, counter);
        LaunchOptions options = launch_options(engine, 0, 0, 1);
        for (unsigned i = 0; i < 3; ++i) {
          options.global[i] = grid[i];
          options.local[i] = local[i];
        }
        (void)kernel.launch(options);
        ASSERT_EQ(counter[0], items);
        std::vector<bool> seen(items);
        for (unsigned i = 0; i < items; ++i) {
          const uint32_t* r = out.data() + i * kSlots;
          uint32_t id[3] = {r[3], packed ? 0 : r[4], packed ? 0 : r[5]};
          if (packed)
            for (unsigned d = 0; d < 3; ++d) id[d] = r[3] >> (10 * d) & 0x3ff;
          uint32_t global[3];
          for (unsigned d = 0; d < 3; ++d) {
            global[d] = r[d] * local[d] + id[d];
            ASSERT_LT(id[d], local[d]) << i;
            ASSERT_LT(global[d], grid[d]) << i;
          }
          seen[(global[2] * grid[1] + global[1]) * grid[0] + global[0]] = true;
        }
        EXPECT_EQ(std::count(seen.begin(), seen.end(), true), items);
      }
}

TEST_P(InitialState, UserSgprs) {
  const auto& [target, engine] = GetParam();
  std::vector<std::string> registers;
  for (unsigned i = 0; i < 20; ++i) registers.push_back(fmt::format("s{}", i));
  registers.insert(registers.end(), {"s50", "s51"});
  // 4 + 2 + 2 + 2 + 2 + 2 + 1 user SGPRs, then work-group id x, info, wave offset.
  const Module module =
      load(target, {[&] {
             KernelSource k =
                 recorder(registers,
                          "  .amdhsa_user_sgpr_private_segment_buffer 1\n  .amdhsa_user_sgpr_dispatch_ptr 1\n"
                          "  .amdhsa_user_sgpr_queue_ptr 1\n  .amdhsa_user_sgpr_dispatch_id 1\n"
                          "  .amdhsa_user_sgpr_flat_scratch_init 1\n  .amdhsa_user_sgpr_private_segment_size 1\n"
                          "  .amdhsa_system_sgpr_workgroup_id_x 1\n  .amdhsa_system_sgpr_workgroup_info 1\n"
                          "  .amdhsa_system_sgpr_private_segment_wavefront_offset 1\n",
                          8);
             k.scratch = 64;
             return k;
           }()});
  Kernel kernel = module.kernel("k");
  Buffer<uint32_t> out(100 * kSlots), counter(1);
  kernel.set_args(out, counter);
  (void)kernel.launch(launch_options(engine, 100, 100));
  ASSERT_EQ(counter[0], 100u);
  unsigned second_wave = 0;
  for (unsigned i = 0; i < 100; ++i) {
    const uint32_t* r = out.data() + i * kSlots;
    const uint64_t exec = r[20] | uint64_t{r[21]} << 32;
    const bool second = exec != ~uint64_t{0};
    second_wave += second;
    if (second) {
      ASSERT_EQ(exec, (uint64_t{1} << 36) - 1);
    }
    ASSERT_NE(r[1] & 1u << 31, 0u) << "swizzle";
    ASSERT_NE(r[4] | r[5], 0u);
    ASSERT_NE(r[6] | r[7], 0u);
    ASSERT_EQ(r[14], 64u) << "private segment size";
    ASSERT_EQ(r[15], 0u) << "work-group id";
    ASSERT_EQ(r[16] & 0x3f, 2u) << "waves in the group";
    ASSERT_EQ(r[16] >> 31, second ? 0u : 1u) << "first wave";
    ASSERT_EQ(r[17] != 0, second) << "wave offset";
    if (!is_gfx8(target)) {
      ASSERT_EQ(r[12], r[0]) << "flat scratch starts at the buffer's base";
    } else {
      ASSERT_EQ(r[13], 64u) << "bytes per lane";
    }
  }
  EXPECT_EQ(second_wave, 36u);
}

TEST_P(InitialState, PacketAndQueueAreReadable) {
  const auto& [target, engine] = GetParam();
  KernelSource k = recorder({"s30", "s31", "s32", "s33", "s34"},
                            "  .amdhsa_user_sgpr_dispatch_ptr 1\n  .amdhsa_user_sgpr_queue_ptr 1\n", 4);
  k.body = R"(
  s_load_dword s30, s[0:1], 0x4
  s_load_dword s31, s[0:1], 0xc
  s_load_dword s32, s[0:1], 0x10
  s_load_dword s33, s[2:3], 0x40
  s_load_dword s34, s[2:3], 0x44
  s_waitcnt lgkmcnt(0)
)" + k.body;
  const Module module = load(target, {k});
  Kernel kernel = module.kernel("k");
  Buffer<uint32_t> out(64 * 5 * kSlots), counter(1);
  kernel.set_args(out, counter);
  LaunchOptions options = launch_options(engine, 64, 32);
  options.global[1] = 5;
  options.local[1] = 5;
  (void)kernel.launch(options);
  ASSERT_EQ(counter[0], 64u * 5);
  EXPECT_EQ(out[0], 32u | 5u << 16);
  EXPECT_EQ(out[1], 64u);
  EXPECT_EQ(out[2], 5u);
  EXPECT_EQ(out[3], kSharedApertureHi);
  EXPECT_EQ(out[4], kPrivateApertureHi);
}

TEST_P(InitialState, ModeComesFromTheDescriptor) {
  const auto& [target, engine] = GetParam();
  std::string body = "  s_getreg_b32 s30, hwreg(HW_REG_MODE)\n";
  KernelSource k = recorder({"s30"},
                            "  .amdhsa_float_round_mode_32 1\n  .amdhsa_float_round_mode_16_64 2\n"
                            "  .amdhsa_float_denorm_mode_32 0\n  .amdhsa_float_denorm_mode_16_64 3\n"
                            "  .amdhsa_dx10_clamp 1\n  .amdhsa_ieee_mode 0\n",
                            0);
  k.body = body + k.body;
  const Module module = load(target, {k});
  Kernel kernel = module.kernel("k");
  Buffer<uint32_t> out(kSlots), counter(1);
  kernel.set_args(out, counter);
  (void)kernel.launch(launch_options(engine, 1, 1));
  EXPECT_EQ(out[0] & 0x3ff, 1u | 2u << 2 | 0u << 4 | 3u << 6 | 1u << 8);
}

// GPR_ALLOC in the units of the processor, and STATUS.IN_TG in work-groups of more than one wave only.
TEST_P(InitialState, RegisterSizesAndWorkGroupMembership) {
  const auto& [target, engine] = GetParam();
  const std::string body =
      "  s_getreg_b32 s30, hwreg(HW_REG_GPR_ALLOC)\n  s_getreg_b32 s31, hwreg(HW_REG_STATUS, 11, 1)\n";
  KernelSource k = recorder({"s30", "s31"}, "", 0);
  k.body = body + k.body;
  const Module module = load(target, {k});
  const uint32_t vgpr_unit = target == "gfx90a" ? 8 : 4;
  for (const uint32_t items : {64u, 65u}) {
    Kernel kernel = module.kernel("k");
    Buffer<uint32_t> out(kSlots * items), counter(1);
    kernel.set_args(out, counter);
    (void)kernel.launch(launch_options(engine, items, items));
    for (uint32_t i = 0; i < items; ++i) {
      // 64 VGPRs; 96 SGPRs with VCC, FLAT_SCRATCH and XNACK_MASK behind them: seven times 16.
      EXPECT_EQ(out[i * kSlots], (64 / vgpr_unit - 1) << 8 | 6u << 24);
      EXPECT_EQ(out[i * kSlots + 1], items > 64 ? 1u : 0u);
    }
  }
}

TEST_P(InitialState, ScratchIsPrivateToTheWorkItem) {
  const auto& [target, engine] = GetParam();
  // Each work-item writes its own number to scratch through the buffer, and reads it back after a barrier.
  KernelSource k;
  k.name = "k";
  k.body = R"(
  s_load_dwordx2 s[40:41], s[4:5], 0x0
  v_mov_b32_e32 v10, v0
  v_mov_b32_e32 v11, 0
  buffer_store_dword v10, off, s[0:3], s7 offset:8
  s_waitcnt vmcnt(0)
  s_barrier
  buffer_load_dword v12, off, s[0:3], s7 offset:8
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_lshlrev_b32_e32 v13, 2, v0
  v_mov_b32_e32 v14, s41
  add_co v16, s40, v13
  addc v17, v14, v11
  store v[16:17], v12
)";
  k.directives =
      "  .amdhsa_user_sgpr_private_segment_buffer 1\n  .amdhsa_system_sgpr_workgroup_id_x 1\n"
      "  .amdhsa_system_sgpr_private_segment_wavefront_offset 1\n";
  k.scratch = 16;
  k.args = {{"out"}};
  const Module module = load(target, {k});
  Kernel kernel = module.kernel("k");
  Buffer<uint32_t> out(1024);
  kernel.set_args(out);
  (void)kernel.launch(launch_options(engine, 1024, 1024));
  for (unsigned i = 0; i < 1024; ++i) ASSERT_EQ(out[i], i);
}

INSTANTIATE_TEST_SUITE_P(All, InitialState, testing::ValuesIn(state_cases()),
                         [](const testing::TestParamInfo<StateCase>& info) {
                           return info.param.target + "_" + info.param.engine.name;
                         });

}  // namespace
}  // namespace wavejit::test
