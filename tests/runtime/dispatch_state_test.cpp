// Initial wave state as built by DispatchState, without any engine.
#include "runtime/kernel/dispatch_state.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace wavejit::runtime {
namespace {

codeobject::Kernel everything_enabled() {
  codeobject::Kernel kernel;
  kernel.name = "k";
  kernel.max_flat_workgroup_size = 1024;
  codeobject::KernelDescriptor& d = kernel.descriptor;
  d.private_segment_size = 20;
  d.entry = 0x1000;
  d.mode = 0x2f0;
  d.enable_private_segment_buffer = d.enable_dispatch_ptr = d.enable_queue_ptr = d.enable_kernarg_segment_ptr =
      d.enable_dispatch_id = d.enable_flat_scratch_init = d.enable_private_segment_size = true;
  d.user_sgpr_count = 15;
  d.enable_workgroup_id_x = d.enable_workgroup_id_y = d.enable_workgroup_id_z = d.enable_workgroup_info =
      d.enable_private_segment_wave_offset = true;
  d.enable_vgpr_workitem_id = 2;
  return kernel;
}

struct Group {
  Arena arena;
  unsigned waves = 0;
};

std::unique_ptr<Group> start(isa::Target target, const codeobject::Kernel& kernel, const Shape& shape, uint64_t index,
                             std::unique_ptr<DispatchState>& state, uint32_t lds = 1000) {
  state = std::make_unique<DispatchState>(target, kernel, shape, lds, 0xabcd00, 0x77);
  auto group = std::make_unique<Group>();
  EXPECT_TRUE(group->arena.prepare(shape.max_waves(), lds, state->scratch_bytes_per_lane()).has_value());
  static const uint32_t stop = 0;
  group->waves = state->init_group(group->arena, state->make_template(group->arena, {}, &stop),
                                   DispatchState::kAllLines, state->group(index));
  return group;
}

TEST(DispatchState, UserAndSystemSgprsInOrder) {
  const codeobject::Kernel kernel = everything_enabled();
  Shape shape{.grid = {200, 6, 4}, .workgroup = {100, 2, 2}};
  for (const isa::Target target :
       {isa::Target::gfx803, isa::Target::gfx906, isa::Target::gfx90a, isa::Target::gfx942}) {
    SCOPED_TRACE(isa::to_string(target));
    std::unique_ptr<DispatchState> state;
    // Groups: 2 x 3 x 2; number 9 is (1, 1, 1).
    const auto group = start(target, kernel, shape, 9, state);
    ASSERT_EQ(group->waves, 7u);  // 400 work-items
    for (unsigned w = 0; w < group->waves; ++w) {
      SCOPED_TRACE(w);
      WaveState& wave = group->arena.wave(w);
      // Private segment buffer: V# of a 64-lane swizzled buffer at the scratch of the group.
      EXPECT_EQ(wave.sgpr64(0) & 0xffffffffffff, group->arena.scratch_base());
      EXPECT_EQ(wave.sgpr[1] >> 31, 1u) << "SWIZZLE_ENABLE";
      EXPECT_EQ(wave.sgpr[2], group->arena.scratch_bytes());
      EXPECT_EQ(wave.sgpr[3] >> 23 & 1, 1u) << "ADD_TID_ENABLE";
      EXPECT_EQ(wave.sgpr[3] >> 21 & 3, 3u) << "INDEX_STRIDE 64";
      const auto* packet = reinterpret_cast<const DispatchPacket*>(wave.sgpr64(4));
      EXPECT_EQ(packet->grid_size[0], 200u);
      EXPECT_EQ(packet->grid_size[2], 4u);
      EXPECT_EQ(packet->workgroup_size[0], 100u);
      EXPECT_EQ(packet->setup, 3u);
      EXPECT_EQ(packet->kernarg_address, 0xabcd00u);
      EXPECT_EQ(packet->group_segment_size, 1000u);
      const auto* queue = reinterpret_cast<const AmdQueue*>(wave.sgpr64(6));
      EXPECT_EQ(queue->group_segment_aperture_base_hi, kSharedApertureHi);
      EXPECT_EQ(queue->private_segment_aperture_base_hi, kPrivateApertureHi);
      EXPECT_EQ(wave.sgpr64(8), 0xabcd00u);
      if (target == isa::Target::gfx803)
        EXPECT_EQ(wave.sgpr[13], 32u) << "bytes per lane, rounded up to 16";
      else
        EXPECT_EQ(wave.sgpr64(12), group->arena.scratch_base());
      EXPECT_EQ(wave.sgpr[14], 32u);
      EXPECT_EQ(wave.sgpr[15], 1u);
      EXPECT_EQ(wave.sgpr[16], 1u);
      EXPECT_EQ(wave.sgpr[17], 1u);
      EXPECT_EQ(wave.sgpr[18], 7u | (w == 0 ? 1u << 31 : 0));
      // Base plus offset is this wave's part.
      EXPECT_EQ(group->arena.scratch_base() + wave.sgpr[19], wave.scratch_base);
      EXPECT_EQ(wave.scratch_base, group->arena.scratch_base() + w * group->arena.scratch_stride());
      if (target == isa::Target::gfx942) {
        EXPECT_EQ(wave.sgpr64(sreg::kFlatScratchLo), wave.scratch_base) << "architected flat scratch";
      }
      EXPECT_EQ(wave.pc, 0x1000u);
      EXPECT_EQ(wave.mode, 0x2f0u);
      EXPECT_EQ(wave.lds_size, 1024u);
      EXPECT_EQ(wave.sgpr[sreg::kM0], 0xffffffffu);
      EXPECT_EQ(wave.exec(), w == 6 ? 0xffffu : ~uint64_t{0});
    }
  }
}

TEST(DispatchState, DisabledRegistersTakeNoRoom) {
  codeobject::Kernel kernel;
  kernel.descriptor.enable_kernarg_segment_ptr = true;
  kernel.descriptor.user_sgpr_count = 2;
  kernel.descriptor.enable_workgroup_id_y = true;
  Shape shape{.grid = {64, 3, 1}, .workgroup = {64, 1, 1}};
  std::unique_ptr<DispatchState> state;
  const auto group = start(isa::Target::gfx906, kernel, shape, 2, state, 0);
  const WaveState& wave = group->arena.wave(0);
  EXPECT_EQ(wave.sgpr64(0), 0xabcd00u);
  EXPECT_EQ(wave.sgpr[2], 2u);
  EXPECT_EQ(wave.sgpr[3], 0u);
  EXPECT_EQ(wave.scratch_bytes_per_lane, 0u);
}

TEST(DispatchState, WaveOffsetMayBeTheFirstRegister) {
  codeobject::Kernel kernel;
  kernel.descriptor.private_segment_size = 20;
  kernel.descriptor.enable_private_segment_wave_offset = true;
  Shape shape{.grid = {128, 1, 1}, .workgroup = {128, 1, 1}};
  std::unique_ptr<DispatchState> state;
  const auto group = start(isa::Target::gfx906, kernel, shape, 0, state, 0);
  ASSERT_EQ(group->waves, 2u);
  EXPECT_NE(group->arena.scratch_stride(), 0u);
  EXPECT_EQ(group->arena.wave(1).sgpr[0], group->arena.scratch_stride());
}

TEST(DispatchState, WorkItemIdsFollowThePartialGroupsOwnSize) {
  codeobject::Kernel kernel = everything_enabled();
  // The last group has 3 x 2 x 1 work-items of 8 x 4 x 2.
  Shape shape{.grid = {11, 6, 3}, .workgroup = {8, 4, 2}};
  ASSERT_EQ(shape.total_groups(), 8u);
  for (const isa::Target target :
       {isa::Target::gfx803, isa::Target::gfx908, isa::Target::gfx90a, isa::Target::gfx942}) {
    SCOPED_TRACE(isa::to_string(target));
    std::unique_ptr<DispatchState> state;
    const auto group = start(target, kernel, shape, 7, state);
    ASSERT_EQ(group->waves, 1u);
    const WaveState& wave = group->arena.wave(0);
    EXPECT_EQ(wave.exec(), 0x3fu);
    for (unsigned lane = 0; lane < 6; ++lane) {
      const unsigned x = lane % 3, y = lane / 3;
      if (target >= isa::Target::gfx90a) {
        EXPECT_EQ(wave.vgpr[0][lane], x | y << 10);
      } else {
        EXPECT_EQ(wave.vgpr[0][lane], x);
        EXPECT_EQ(wave.vgpr[1][lane], y);
        EXPECT_EQ(wave.vgpr[2][lane], 0u);
      }
    }
    // A complete group: 64 work-items, z in the upper half.
    const auto full = start(target, kernel, shape, 0, state);
    ASSERT_EQ(full->waves, 1u);
    EXPECT_EQ(full->arena.wave(0).exec(), ~uint64_t{0});
    if (target >= isa::Target::gfx90a)
      EXPECT_EQ(full->arena.wave(0).vgpr[0][63], 7u | 3u << 10 | 1u << 20);
    else
      EXPECT_EQ(full->arena.wave(0).vgpr[2][63], 1u);
  }
}

TEST(DispatchState, HiddenArguments) {
  codeobject::Kernel kernel;
  using codeobject::ArgKind;
  const auto add = [&](ArgKind kind, uint32_t offset, uint32_t size) {
    codeobject::KernelArg arg;
    arg.kind = kind;
    arg.offset = offset;
    arg.size = size;
    kernel.args.push_back(arg);
  };
  add(ArgKind::by_value, 0, 8);
  add(ArgKind::hidden_block_count_x, 8, 4);
  add(ArgKind::hidden_block_count_y, 12, 4);
  add(ArgKind::hidden_group_size_x, 16, 2);
  add(ArgKind::hidden_group_size_y, 18, 2);
  add(ArgKind::hidden_remainder_x, 20, 2);
  add(ArgKind::hidden_remainder_y, 22, 2);
  add(ArgKind::hidden_global_offset_y, 24, 8);
  add(ArgKind::hidden_grid_dims, 32, 2);
  add(ArgKind::hidden_dynamic_lds_size, 36, 4);
  add(ArgKind::hidden_private_base, 40, 4);
  add(ArgKind::hidden_shared_base, 44, 4);
  add(ArgKind::hidden_queue_ptr, 48, 8);
  add(ArgKind::hidden_hostcall_buffer, 56, 8);
  Shape shape{.grid = {100, 7, 1}, .workgroup = {32, 7, 1}, .global_offset = {0, 5, 0}};
  std::vector<uint8_t> segment(60, 0xee);  // cut short: the last argument does not fit
  fill_hidden_args(kernel, shape, 512, 0x1122334455667788, 0, segment);
  const auto at = [&](size_t offset, size_t size) {
    uint64_t value = 0;
    std::memcpy(&value, segment.data() + offset, size);
    return value;
  };
  EXPECT_EQ(at(0, 8), 0xeeeeeeeeeeeeeeeeu) << "explicit arguments stay";
  EXPECT_EQ(at(8, 4), 3u);
  EXPECT_EQ(at(12, 4), 1u);
  EXPECT_EQ(at(16, 2), 32u);
  EXPECT_EQ(at(18, 2), 7u);
  EXPECT_EQ(at(20, 2), 4u);
  EXPECT_EQ(at(22, 2), 0u);
  EXPECT_EQ(at(24, 8), 5u);
  EXPECT_EQ(at(32, 2), 2u);
  EXPECT_EQ(at(36, 4), 512u);
  EXPECT_EQ(at(40, 4), kPrivateApertureHi);
  EXPECT_EQ(at(44, 4), kSharedApertureHi);
  EXPECT_EQ(at(48, 8), 0x1122334455667788u);
  EXPECT_EQ(at(56, 4), 0u);
  // What the caller has given is left alone.
  segment.assign(64, 0xee);
  fill_hidden_args(kernel, shape, 512, 0, 16, segment);
  EXPECT_EQ(at(8, 4), 0xeeeeeeeeu);
  EXPECT_EQ(at(16, 2), 32u);
}

TEST(DispatchState, ImpossibleShapes) {
  codeobject::Kernel kernel;
  kernel.name = "k";
  kernel.max_flat_workgroup_size = 256;
  const auto code = [&](Shape shape) {
    const Expected<void> ok = check_shape(kernel, shape);
    return ok ? ErrorCode::kOk : ok.error().code;
  };
  EXPECT_EQ(code({.grid = {1, 1, 1}, .workgroup = {256, 1, 1}}), ErrorCode::kOk);
  EXPECT_EQ(code({.grid = {0, 1, 1}, .workgroup = {1, 1, 1}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.grid = {1, 1, 1}, .workgroup = {1, 0, 1}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.grid = {1, 1, 1}, .workgroup = {257, 1, 1}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.grid = {1, 1, 1}, .workgroup = {0xffffffff, 0xffffffff, 0xffffffff}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.grid = {0xffffffff, 1, 1}, .workgroup = {64, 1, 1}}), ErrorCode::kOk);
  EXPECT_EQ(code({.grid = {0xffffffff, 0xffffffff, 0xffffffff}, .workgroup = {1, 1, 1}}), ErrorCode::kInvalidArgument);
  kernel.required_workgroup_size = {8, 8, 1};
  EXPECT_EQ(code({.grid = {64, 64, 1}, .workgroup = {64, 1, 1}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.grid = {64, 64, 1}, .workgroup = {8, 8, 1}}), ErrorCode::kOk);
}

// The largest grids: counting work-groups must not wrap.
TEST(DispatchState, LargestGrid) {
  const Shape shape{.grid = {0xffffffff, 0xffffffff, 1}, .workgroup = {64, 4, 1}};
  EXPECT_EQ(shape.groups(0), 0x4000000u);
  EXPECT_EQ(shape.groups(1), 0x40000000u);
  EXPECT_EQ(shape.total_groups(), uint64_t{1} << 56);
  EXPECT_TRUE(shape.has_partial_groups());
  const DispatchState state(isa::Target::gfx906, everything_enabled(), shape, 0, 0, 0);
  const DispatchState::Group last = state.group(shape.total_groups() - 1);
  EXPECT_EQ(last.id, (std::array<uint32_t, 3>{0x3ffffff, 0x3fffffff, 0}));
  EXPECT_EQ(last.size, (std::array<uint32_t, 3>{63, 3, 1}));
  EXPECT_FALSE(last.complete);
}

TEST(DispatchState, WorkGroupsOneAfterTheOther) {
  const codeobject::Kernel kernel = everything_enabled();
  const Shape shape{.grid = {10, 1, 7}, .workgroup = {4, 1, 2}};
  const DispatchState state(isa::Target::gfx906, kernel, shape, 0, 0, 0);
  DispatchState::Group group = state.group(0);
  for (uint64_t i = 0; i < shape.total_groups(); ++i, state.advance(group)) {
    SCOPED_TRACE(i);
    const DispatchState::Group same = state.group(i);
    EXPECT_EQ(group.id, same.id);
    EXPECT_EQ(group.size, same.size);
    EXPECT_EQ(group.complete, same.complete);
  }
}

TEST(DispatchState, OnlyChangedLinesAreSetUpAgain) {
  const codeobject::Kernel kernel = everything_enabled();
  const Shape shape{.grid = {128, 1, 1}, .workgroup = {64, 1, 1}};
  std::unique_ptr<DispatchState> state;
  const auto group = start(isa::Target::gfx906, kernel, shape, 0, state);
  const uint32_t stop = 0;
  const DispatchState::WaveTemplate common = state->make_template(group->arena, {}, &stop);
  WaveState& wave = group->arena.wave(0);
  const uint32_t s2 = wave.sgpr[2], m0 = wave.sgpr[sreg::kM0];
  wave.sgpr[2] = ~s2;
  wave.sgpr[50] = 1234;
  wave.sgpr[sreg::kM0] = 0;
  wave.scc = 1;
  const uint32_t lines = 1u << 0 | 1u << sreg::kM0 / 16 | 1u << offsetof(WaveState, scc) / 64;
  EXPECT_EQ(state->init_group(group->arena, common, lines, state->group(1)), 1u);
  EXPECT_EQ(wave.sgpr[2], s2);
  EXPECT_EQ(wave.sgpr[50], 1234u) << "not among the lines";
  EXPECT_EQ(wave.sgpr[sreg::kM0], m0);
  EXPECT_EQ(wave.scc, 0u);
  EXPECT_EQ(wave.workgroup_id[0], 1u);
  EXPECT_EQ(wave.exec(), ~uint64_t{0});
}

}  // namespace
}  // namespace wavejit::runtime
