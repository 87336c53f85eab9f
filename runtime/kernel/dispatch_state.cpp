#include "runtime/kernel/dispatch_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "internal/semantics/exceptions.h"

namespace wavejit::runtime {
namespace {

using codeobject::ArgKind;
using codeobject::Kernel;
using codeobject::KernelArg;

uint32_t scratch_size(const codeobject::KernelDescriptor& descriptor) {
  uint32_t bytes = descriptor.private_segment_size;
  if (descriptor.uses_dynamic_stack) bytes += kDynamicStackBytes;
  return (bytes + 15) / 16 * 16;
}

// GPR_ALLOC: VGPR_SIZE 13:8 and SGPR_SIZE 27:24, both less 1 in units of the hardware's allocation (GCN3 ISA manual,
// "GPR_ALLOC"; Linux' context save, cwsr_trap_handler_gfx8.asm and _gfx9.asm, computes the sizes to save from them).
// The bases are 0: the host has no register file to share between waves.
uint32_t gpr_alloc(isa::Target target, const codeobject::KernelDescriptor& descriptor) {
  const isa::Family family = isa::family_of(target);
  const uint32_t vgpr_unit = family >= isa::Family::gfx90a ? 8 : 4;
  const uint32_t sgpr_unit = family >= isa::Family::gfx8 ? 16 : 8;
  return (descriptor.vgpr_count - 1) / vgpr_unit << 8 | (descriptor.sgpr_count - 1) / sgpr_unit << 24;
}

}  // namespace

Expected<void> check_shape(const Kernel& kernel, const Shape& shape, ShapeLimits limits) {
  const auto bad = [&](std::string message) {
    Error error{.code = ErrorCode::kInvalidArgument, .message = std::move(message), .kernel = kernel.name};
    return tl::unexpected<Error>(std::move(error));
  };
  static constexpr const char* kDims = "xyz";
  uint64_t flat = 1;
  for (unsigned i = 0; i < 3; ++i) {
    if (shape.grid[i] == 0) return bad(fmt::format("The global size in {} is 0.", kDims[i]));
    if (shape.workgroup[i] == 0) return bad(fmt::format("The work-group size in {} is 0.", kDims[i]));
    if (shape.workgroup[i] > 1024)
      return bad(
          fmt::format("The work-group size {} in {} is more than 1024 work-items.", shape.workgroup[i], kDims[i]));
    flat *= shape.workgroup[i];
  }
  const auto& size = shape.workgroup;
  // 32 bits a dimension are what an AQL packet holds; the counters of a launch have 64 for all of them.
  if (static_cast<double>(shape.groups(0)) * shape.groups(1) * shape.groups(2) > 0x1p53)
    return bad(
        fmt::format("A grid of {}x{}x{} has more than 2^53 work-groups.", shape.grid[0], shape.grid[1], shape.grid[2]));
  if (flat > 1024)
    return bad(
        fmt::format("A work-group of {}x{}x{} has {} work-items; the limit is 1024.", size[0], size[1], size[2], flat));
  if (limits == ShapeLimits::hardware) return {};
  const auto& required = kernel.required_workgroup_size;
  if (required[0] && required != size)
    return bad(fmt::format("Kernel '{}' requires a work-group size of {}x{}x{}, not {}x{}x{}.", kernel.name,
                           required[0], required[1], required[2], size[0], size[1], size[2]));
  if (kernel.max_flat_workgroup_size && flat > kernel.max_flat_workgroup_size)
    return bad(fmt::format("Kernel '{}' was compiled for at most {} work-items per work-group, not {}.", kernel.name,
                           kernel.max_flat_workgroup_size, flat));
  return {};
}

void fill_hidden_args(const Kernel& kernel, const Shape& shape, uint32_t dynamic_lds, uint64_t queue,
                      uint32_t first_hidden_byte, std::span<uint8_t> kernarg) {
  for (const KernelArg& arg : kernel.args) {
    if (!codeobject::is_hidden(arg.kind) || arg.offset < first_hidden_byte) continue;
    uint64_t value = 0;
    const auto dim = [&](ArgKind x) { return static_cast<unsigned>(arg.kind) - static_cast<unsigned>(x); };
    switch (arg.kind) {
      case ArgKind::hidden_global_offset_x:
      case ArgKind::hidden_global_offset_y:
      case ArgKind::hidden_global_offset_z:
        value = shape.global_offset[dim(ArgKind::hidden_global_offset_x)];
        break;
      case ArgKind::hidden_block_count_x:
      case ArgKind::hidden_block_count_y:
      case ArgKind::hidden_block_count_z: {  // complete work-groups only
        const unsigned d = dim(ArgKind::hidden_block_count_x);
        value = shape.grid[d] / shape.workgroup[d];
        break;
      }
      case ArgKind::hidden_group_size_x:
      case ArgKind::hidden_group_size_y:
      case ArgKind::hidden_group_size_z:
        value = shape.workgroup[dim(ArgKind::hidden_group_size_x)];
        break;
      case ArgKind::hidden_remainder_x:
      case ArgKind::hidden_remainder_y:
      case ArgKind::hidden_remainder_z: {
        const unsigned d = dim(ArgKind::hidden_remainder_x);
        value = shape.grid[d] % shape.workgroup[d];
        break;
      }
      case ArgKind::hidden_grid_dims:
        value = shape.dimensions();
        break;
      case ArgKind::hidden_dynamic_lds_size:
        value = dynamic_lds;
        break;
      case ArgKind::hidden_private_base:
        value = kPrivateApertureHi;
        break;
      case ArgKind::hidden_shared_base:
        value = kSharedApertureHi;
        break;
      case ArgKind::hidden_queue_ptr:
        value = queue;
        break;
      default:  // buffers of host services (printf, hostcall, heap, device enqueue): absent
        break;
    }
    if (arg.offset >= kernarg.size()) continue;
    const size_t bytes = std::min<size_t>({arg.size, sizeof value, kernarg.size() - arg.offset});
    std::memcpy(kernarg.data() + arg.offset, &value, bytes);
  }
}

AmdQueue& DispatchState::queue() {
  static AmdQueue queue = [] {
    AmdQueue q;
    q.group_segment_aperture_base_hi = kSharedApertureHi;
    q.private_segment_aperture_base_hi = kPrivateApertureHi;
    return q;
  }();
  return queue;
}

DispatchState::DispatchState(isa::Target target, const Kernel& kernel, const Shape& shape, uint32_t lds_bytes,
                             uint64_t kernarg, uint64_t kernel_object, bool records_exceptions,
                             const DispatchPacket* packet, uint64_t queue_address)
    : target_(target),
      packed_ids_(has_packed_ids(target)),
      architected_flat_scratch_(isa::family_of(target) == isa::Family::gfx940),
      descriptor_(kernel.descriptor),
      mode_(kernel.descriptor.mode | (records_exceptions ? exceptions::kRecords : 0)),
      shape_(shape),
      groups_{shape.groups(0), shape.groups(1), shape.groups(2)},
      lds_bytes_(lds_bytes),
      scratch_bytes_per_lane_(scratch_size(kernel.descriptor)),
      layout_(sgpr_layout(kernel.descriptor)) {
  static std::atomic<uint64_t> next_dispatch_id{0};
  if (packet) {
    packet_ = *packet;
  } else {
    packet_.setup = static_cast<uint16_t>(shape.dimensions());
    for (unsigned i = 0; i < 3; ++i) {
      packet_.workgroup_size[i] = static_cast<uint16_t>(shape.workgroup[i]);
      packet_.grid_size[i] = shape.grid[i];
    }
    packet_.private_segment_size = scratch_bytes_per_lane_;
    packet_.group_segment_size = lds_bytes;
    packet_.kernel_object = kernel_object;
    packet_.kernarg_address = kernarg;
  }

  const auto put = [&](int at, unsigned dwords, uint64_t value) {
    if (at >= 0 && at + dwords <= sreg::kFlatScratchLo) std::memcpy(&sgprs_[at], &value, dwords * 4);
  };
  put(layout_.dispatch_ptr, 2, reinterpret_cast<uint64_t>(&packet_));
  put(layout_.queue_ptr, 2, queue_address ? queue_address : reinterpret_cast<uint64_t>(&queue()));
  put(layout_.kernarg_ptr, 2, kernarg);
  put(layout_.dispatch_id, 2, next_dispatch_id.fetch_add(1, std::memory_order_relaxed));
  put(layout_.private_segment_size, 1, scratch_bytes_per_lane_);
  for (unsigned i = 0; i < layout_.kernarg_preload_count; ++i) {
    uint32_t dword;
    std::memcpy(&dword, reinterpret_cast<const void*>(kernarg + 4 * (layout_.kernarg_preload_offset + i)),
                sizeof dword);
    put(layout_.kernarg_preload + static_cast<int>(i), 1, dword);
  }
  for (unsigned i = 0; i < 3; ++i) put(layout_.group_count[i], 1, shape.groups(i));

  // M0: compilers set it in the prolog where they need it (GFX8 for LDS); all ones lifts every LDS clamp.
  sgprs_[sreg::kM0] = 0xffffffff;
}

// The size that goes with the id.
void DispatchState::complete(Group& group) const {
  group.complete = true;
  for (unsigned i = 0; i < 3; ++i) {
    group.size[i] = std::min(shape_.workgroup[i], shape_.grid[i] - group.id[i] * shape_.workgroup[i]);
    group.complete &= group.size[i] == shape_.workgroup[i];
  }
}

DispatchState::Group DispatchState::group(uint64_t index) const {
  Group group;
  for (unsigned i = 0; i < 3; ++i) {
    group.id[i] = static_cast<uint32_t>(index % groups_[i]);
    index /= groups_[i];
  }
  complete(group);
  return group;
}

void DispatchState::advance(Group& group) const {
  for (unsigned i = 0; i < 3; ++i) {
    if (++group.id[i] < groups_[i]) break;
    group.id[i] = 0;
  }
  complete(group);
}

DispatchState::WaveTemplate DispatchState::make_template(Arena& arena, std::span<uint8_t> gds,
                                                         const volatile uint32_t* stop_flag) const {
  WaveTemplate common;
  init_template(arena.wave(0), arena, gds, stop_flag);
  std::memcpy(common.bytes.data(), &arena.wave(0), common.bytes.size());
  return common;
}

void DispatchState::init_common(WaveState& wave, const WaveTemplate& common, uint32_t lines) {
  static_assert(sizeof common.bytes % 64 == 0 && alignof(WaveState) == 64);
  auto* to = reinterpret_cast<std::byte*>(&wave);
  for (; lines != 0; lines &= lines - 1) {
    const size_t at = size_t{64} * std::countr_zero(lines);
    std::memcpy(to + at, common.bytes.data() + at, 64);
  }
}

unsigned DispatchState::init_group(Arena& arena, const WaveTemplate& common, uint32_t lines, const Group& group,
                                   bool write_ids) const {
  const auto& size = group.size;
  const unsigned waves = (size[0] * size[1] * size[2] + kWaveSize - 1) / kWaveSize;
  for (unsigned i = 0; i < waves; ++i) {
    init_common(arena.wave(i), common, lines);
    init_wave(arena.wave(i), arena, group, i, waves);
    if (write_ids) this->write_ids(arena.wave(i), group, i);
  }
  return waves;
}

// DATA_FORMAT stays 0: with ADD_TID_ENABLE it holds stride bits 17:14 (LLVM SIInstrInfo::getScratchRsrcWords23).
uint64_t DispatchState::scratch_words23(const Arena& arena) const {
  const uint32_t dst_sel = 4 | 5 << 3 | 6 << 6 | 7 << 9;
  const uint32_t element_size = isa::family_of(target_) <= isa::Family::gfx8 ? 1u << 19 : 0;
  const uint32_t word3 = dst_sel | 4u << 12 | element_size | 3u << 21 | 1u << 23;
  // Of the launch's waves: an arena may have room for those of an earlier launch, and all arenas' words are the same.
  const uint64_t bytes = arena.scratch_stride() * shape_.max_waves();
  return std::min<uint64_t>(bytes, 0xffffffff) | uint64_t{word3} << 32;
}

// All in front of the vector registers that does not depend on the work-group and the wave.
void DispatchState::init_template(WaveState& wave, Arena& arena, std::span<uint8_t> gds,
                                  const volatile uint32_t* stop_flag) const {
  std::memcpy(wave.sgpr, sgprs_.data(), sizeof wave.sgpr);
  if (layout_.private_segment_buffer >= 0) {
    // Swizzled buffer of 4-byte elements over 64 lanes; the fields ROCm's runtime sets (base, SWIZZLE_ENABLE,
    // NUM_RECORDS, DST_SEL xyzw, NUM_FORMAT uint, ELEMENT_SIZE 4 (GFX8), INDEX_STRIDE 64, ADD_TID_ENABLE).
    uint32_t* srd = &wave.sgpr[layout_.private_segment_buffer];
    srd[0] = static_cast<uint32_t>(arena.scratch_base());
    srd[1] = static_cast<uint32_t>(arena.scratch_base() >> 32 & 0xffff) | 1u << 31;
    const uint64_t words23 = scratch_words23(arena);
    std::memcpy(srd + 2, &words23, sizeof words23);
  }
  if (layout_.flat_scratch_init >= 0) {
    if (isa::family_of(target_) <= isa::Family::gfx8) {
      // Low: byte offset of the dispatch's scratch from SH_HIDDEN_PRIVATE_BASE_VIMID (taken as 0 here); high: bytes per
      // lane.
      wave.sgpr[layout_.flat_scratch_init] = static_cast<uint32_t>(arena.scratch_base());
      wave.sgpr[layout_.flat_scratch_init + 1] = scratch_bytes_per_lane_;
    } else {
      wave.set_sgpr64(layout_.flat_scratch_init, arena.scratch_base());
    }
  }
  wave.pc = descriptor_.entry;
  wave.scc = 0;
  wave.vccz = 1;
  wave.mode = mode_;
  wave.trapsts = 0;
  wave.gpr_alloc = gpr_alloc(target_, descriptor_);
  wave.lds_base = arena.lds_base();
  wave.lds_size = arena.lds_size();
  wave.gds_base = reinterpret_cast<uint64_t>(gds.data());
  wave.gds_size = static_cast<uint32_t>(gds.size());
  wave.scratch_bytes_per_lane = scratch_bytes_per_lane_;
  wave.stop_flag = stop_flag;
  wave.exit_reason = ExitReason::kEnd;
  wave.trap_id = 0;
  wave.fault_address = 0;
  wave.fault_lane = kWaveSize;
  wave.fault_write = 0;
  wave.fault_misaligned = 0;
  wave.streamed_items = 0;
  wave.polls_left = kFewPolls;
  wave.parked_waves = reinterpret_cast<uint64_t>(arena.parked_waves().data());
  wave.instructions = 0;
  std::memset(wave.engine_private, 0, sizeof wave.engine_private);
}

void DispatchState::init_wave(WaveState& wave, const Arena& arena, const Group& group, unsigned index,
                              unsigned count) const {
  const uint64_t wave_offset = index * arena.scratch_stride();
  for (unsigned i = 0; i < 3; ++i) {
    if (layout_.group_id[i] >= 0) wave.sgpr[layout_.group_id[i]] = group.id[i];
    wave.workgroup_id[i] = group.id[i];
  }
  if (layout_.group_info >= 0) wave.sgpr[layout_.group_info] = (index == 0 ? 1u << 31 : 0) | count;
  if (layout_.wave_offset >= 0) wave.sgpr[layout_.wave_offset] = static_cast<uint32_t>(wave_offset);
  wave.hw_id = index;
  wave.status = count > 1 ? status::kInTg : 0;
  wave.wave_in_group = index;
  wave.scratch_base = arena.scratch_base() + wave_offset;
  if (architected_flat_scratch_) wave.set_sgpr64(sreg::kFlatScratchLo, wave.scratch_base);
  const uint32_t items = group.size[0] * group.size[1] * group.size[2];
  const uint32_t lanes = std::min(items - index * kWaveSize, kWaveSize);
  wave.set_exec(lanes == kWaveSize ? ~uint64_t{0} : (uint64_t{1} << lanes) - 1);
}

// Work-item ids: x fastest. Lanes beyond the work-group hold ids too, they are just inactive; the last dimension in use
// counts on there.
void DispatchState::write_ids(WaveState& wave, const Group& group, unsigned index) const {
  const auto& size = group.size;
  constexpr uint32_t kEndless = UINT32_MAX;
  const uint32_t end_x = size[1] == 1 && size[2] == 1 ? kEndless : size[0];
  const uint32_t end_y = size[2] == 1 ? kEndless : size[1];
  const uint32_t first = index * kWaveSize;
  uint32_t x = first % end_x;
  uint32_t y = first / end_x % end_y;
  uint32_t z = first / end_x / end_y;
  const unsigned dims = descriptor_.enable_vgpr_workitem_id;
  for (unsigned lane = 0; lane < kWaveSize; ++lane) {
    if (packed_ids_) {
      wave.vgpr[0][lane] = x | (dims >= 1 ? y << 10 : 0) | (dims >= 2 ? z << 20 : 0);
    } else {
      wave.vgpr[0][lane] = x;
      if (dims >= 1) wave.vgpr[1][lane] = y;
      if (dims >= 2) wave.vgpr[2][lane] = z;
    }
    if (++x == end_x) {
      x = 0;
      if (++y == end_y) {
        y = 0;
        ++z;
      }
    }
  }
}

}  // namespace wavejit::runtime
