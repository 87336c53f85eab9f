// Loads where groups of lanes read consecutive bytes and the groups lie anywhere: rows of a matrix of which every four or
// eight lanes take one. Each group is loaded as it is, without a look at its single lanes.
#include <algorithm>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory.h"
#include "backend-x86/lower/memory/memory_access.h"
#include "backend-x86/lower/vector/building_blocks.h"

namespace wavejit::backend {

using asmjit::imm;
using ir::ICmp;

namespace {

constexpr unsigned kGroupLanes = 4, kHalfLanes = 8;

// Whether the value may well grow by a constant within groups of eight lanes, from a number that each group has for
// itself: it is a sum with such a term, and whatever the other terms are.
bool seems_to_have_groups(const ir::LaneShapes& shapes, const ir::Inst* value, std::vector<const ir::Inst*>& seen) {
  constexpr size_t kMost = 24;
  if (seen.size() == kMost || std::find(seen.begin(), seen.end(), value) != seen.end()) return false;
  seen.push_back(value);
  const auto any_of = [&](size_t first, size_t end) {
    return std::any_of(value->operands.begin() + static_cast<ptrdiff_t>(first),
                       value->operands.begin() + static_cast<ptrdiff_t>(end),
                       [&](const ir::Inst* operand) { return seems_to_have_groups(shapes, operand, seen); });
  };
  const ir::LaneShape shape = shapes.of(value);
  if (shape.known()) return shape.group == kHalfLanes && shape.stride != 0;
  switch (value->op) {
    case ir::Op::add:
    case ir::Op::phi:
      return any_of(0, value->operands.size());
    case ir::Op::sub:
    case ir::Op::shl:
    case ir::Op::sext64:
    case ir::Op::zext64:
      return any_of(0, 1);
    case ir::Op::select:
      return any_of(1, 3);
    default:
      return false;
  }
}

}  // namespace

// Two or four dwords a lane, in the cold path, before the lanes are taken one by one.
void MemoryAccess::load_if_in_groups() {
  const bool plain_index = kind_ == Kind::indexed && !index_.is_signed && index_.shift == 0;
  if (!ctx_.on(Optimisation::interleaved) || !load_ || !plain_index || scratch_swizzled_ || needs_whole_pairs() ||
      mem_.bytes != 4 || (mem_.count != 2 && mem_.count != 4) || !isa_.can_interleave(mem_.count))
    return;
  // Flat addresses may be in an aperture, and overlapping lanes have their elements' vectors one by one.
  if (mem_.space == ir::Space::flat || lane_stride_ != 4u * mem_.count) return;
  const Label differ = cc_.new_label();
  if (!active_.full) cc_.j(x86::negateCond(isa_.test_all({&active_.mask, 1})), differ);
  const unsigned group_bytes = kGroupLanes * lane_stride_;
  const Vec first = isa_.make(I::kIdVpshufd, index_.index, imm(0));
  const Vec relative = isa_.make(I::kIdVpsubd, index_.index, first);
  uint8_t consecutive[16] = {};
  for (unsigned l = 0; l < kGroupLanes; ++l) consecutive[4 * l] = static_cast<uint8_t>(l * lane_stride_);
  MaskReg differs = isa_.mask();
  isa_.cmp32(differs, ICmp::ne, relative, isa_.full_bytes(consecutive), nullptr);
  cc_.j(isa_.test_any({&differs, 1}), differ);
  // Indices are extended, and must not wrap inside of a group.
  MaskReg wraps = isa_.mask();
  isa_.cmp32(wraps, ICmp::ugt, first, isa_.const32(~group_bytes), nullptr);
  cc_.j(isa_.test_any({&wraps, 1}), differ);

  const Operand ahead = next_group();
  std::array<Vec, 4> memory;  // as many as there are dwords a lane
  for (unsigned i = 0; i < mem_.count; ++i) memory[i] = isa_.vec();
  for (unsigned g = 0; g < isa_.lanes / kGroupLanes; ++g) {
    const Gp pointer = cc_.new_gp64();
    isa_.low32(pointer, g == 0 ? index_.index : isa_.group(index_.index, g));
    index_to_pointer(pointer);
    const auto disp = static_cast<int32_t>(disp_);
    if (ahead.isImm()) prefetch(x86::ptr(pointer, disp + ahead.as<asmjit::Imm>().valueAs<int32_t>()));
    if (ahead.isReg()) prefetch(x86::ptr(pointer, ahead.as<Gp>(), 0, disp));
    // Registers hold a part of a group, or several groups.
    for (unsigned byte = 0; byte < group_bytes; byte += isa_.bytes()) {
      const unsigned place = g * group_bytes + byte;
      const Vec& to = memory[place / isa_.bytes()];
      FaultRange part = range(true, place / lane_stride_);
      part.lanes = static_cast<uint8_t>(std::min(group_bytes, isa_.bytes()) / lane_stride_);
      part.lane_elements = static_cast<uint8_t>(mem_.count);
      ctx_.faults.mark(part);
      const auto at = [&](unsigned size) { return x86::ptr(pointer, disp + static_cast<int32_t>(byte), size); };
      if (group_bytes >= isa_.bytes()) {
        isa_.load(to, at(isa_.bytes()), nullptr);
      } else if (place % isa_.bytes() == 0) {
        cc_.emit(isa_.f.load, to.ymm(), at(32));
      } else {
        cc_.emit(I::kIdVinserti64x4, to, to, at(32), imm(1));
      }
    }
  }
  take_apart(std::span(memory).first(mem_.count));
  cc_.jmp(join_);
  cc_.bind(differ);
}

// Whether the two halves of an AVX-512 chunk may be consecutive, each from an address of its own, as where every eight lanes
// take a row of a sparse matrix.
bool MemoryAccess::may_be_in_halves() const {
  const bool suits = load_ && mem_.bytes == 4 && lane_stride_ == 4 * mem_.count &&
                     (mem_.count == 1 || (mem_.count == 2 && wide_.any()));
  if (!suits || isa_.lanes != 2 * kHalfLanes || !ctx_.on(Optimisation::contiguous) || scratch_swizzled_ ||
      mem_.space == ir::Space::flat || needs_whole_pairs() || (kind_ != Kind::indexed && kind_ != Kind::address64))
    return false;
  std::vector<const ir::Inst*> seen;
  const ir::Inst* address = lane_operand(inst_);
  return address != nullptr && seems_to_have_groups(ctx_.shapes, address, seen);
}

// In the cold path, before the lanes are taken one by one.
void MemoryAccess::load_if_in_halves() {
  const Label differ = cc_.new_label();
  const Vec64 address = kind_ == Kind::indexed ? host_addresses(ctx_, base_, index_) : address_;
  Mask64 halves;
  std::array<Gp, 2> pointers;
  for (unsigned i = 0; i < 2; ++i) {
    const Vec first = isa_.vec();
    cc_.emit(I::kIdVpbroadcastq, first, address.part[i].xmm());
    const Vec relative = isa_.make(I::kIdVpsubq, address.part[i], first);
    halves.part[i] = isa_.cmp64_half(ICmp::ne, relative, isa_.lane_table64(0, lane_stride_));
    pointers[i] = cc_.new_gp64();
    isa_.low64(pointers[i], address.part[i]);
  }
  MaskReg differs = isa_.mask();
  isa_.join(differs, halves);
  if (!active_.full) differs = both(ctx_, differs, active_.mask);
  cc_.j(isa_.test_any({&differs, 1}), differ);

  const auto disp = static_cast<int32_t>(disp_);
  FaultRange part = range(true);
  if (mem_.count == 2) {
    const Vec64 value = ctx_.dst64(*wide_.pairs[0], chunk_);
    const Mask64 lanes = active_.full ? Mask64() : isa_.split(active_.mask);
    part.lanes = kHalfLanes;
    for (unsigned i = 0; i < 2; ++i) {
      ctx_.faults.mark(part);
      isa_.load64(value.part[i], x86::ptr(pointers[i], disp), active_.full ? nullptr : &lanes.part[i]);
      part.first_lane += kHalfLanes;
    }
  } else {
    // As two whole chunks, of which each has one half.
    std::array<Vec, 2> parts;
    for (unsigned i = 0; i < 2; ++i) {
      MaskReg lanes = isa_.mask();
      isa_.set_mask_const(lanes, 0xffu << (i * kHalfLanes));
      if (!active_.full) lanes = both(ctx_, lanes, active_.mask);
      parts[i] = isa_.vec();
      // The displacement may be the least one already: 2^31 is taken off for indices that are signed.
      if (i > 0) cc_.sub(pointers[i], imm(kHalfLanes * lane_stride_));
      ctx_.faults.mark(part);
      isa_.load(parts[i], x86::ptr(pointers[i], disp), &lanes);
    }
    cc_.emit(I::kIdVpord, result(0), parts[0], parts[1]);
  }
  cc_.jmp(join_);
  cc_.bind(differ);
}

}  // namespace wavejit::backend
