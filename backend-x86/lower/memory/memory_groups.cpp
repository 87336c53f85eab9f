// Loads where groups of lanes read consecutive bytes and the groups lie anywhere: rows of a matrix of which every four or
// eight lanes take one. Each group is loaded as it is, without a look at its single lanes.
#include "backend-x86/lower/memory/memory_groups.h"

#include <algorithm>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory.h"
#include "backend-x86/lower/memory/memory_access.h"
#include "backend-x86/lower/memory/memory_address.h"
#include "backend-x86/lower/memory/memory_contiguous.h"
#include "backend-x86/lower/memory/prefetch.h"
#include "backend-x86/lower/vector/building_blocks.h"

namespace wavejit::backend {

using asmjit::imm;
using ir::ICmp;

namespace {

constexpr unsigned kGroupLanes = 4, kHalfLanes = 8;

// Whether the value may well grow by a constant within groups of eight lanes, from a number that each group has for
// itself: it is a sum with such a term, and whatever the other terms are.
bool seems_to_have_groups(const ir::LaneShapes& shapes, const Inst* value, std::vector<const Inst*>& seen) {
  constexpr size_t kMost = 24;
  if (seen.size() == kMost || std::find(seen.begin(), seen.end(), value) != seen.end()) return false;
  seen.push_back(value);
  const auto any_of = [&](size_t first, size_t end) {
    return std::any_of(value->operands.begin() + static_cast<ptrdiff_t>(first),
                       value->operands.begin() + static_cast<ptrdiff_t>(end),
                       [&](const Inst* operand) { return seems_to_have_groups(shapes, operand, seen); });
  };
  const ir::LaneShape shape = shapes.of(value);
  if (shape.known()) return shape.group == kHalfLanes && shape.stride != 0;
  switch (value->op) {
    case Op::add:
    case Op::phi:
      return any_of(0, value->operands.size());
    case Op::sub:
    case Op::shl:
    case Op::sext64:
    case Op::zext64:
      return any_of(0, 1);
    case Op::select:
      return any_of(1, 3);
    default:
      return false;
  }
}

}  // namespace

// Two or four dwords a lane, in the cold path, before the lanes are taken one by one.
void load_if_in_groups(MemoryAccess& access) {
  const bool plain_index = access.kind == AddressKind::indexed && !access.index.is_signed && access.index.shift == 0;
  if (!access.ctx.on(Optimisation::interleaved) || !access.load || !plain_index || access.scratch_swizzled ||
      access.needs_whole_pairs() || access.mem.bytes != 4 || (access.mem.count != 2 && access.mem.count != 4) ||
      !access.isa.can_interleave(access.mem.count))
    return;
  // Flat addresses may be in an aperture, and overlapping lanes have their elements' vectors one by one.
  if (access.mem.space == ir::Space::flat || access.lane_stride != 4u * access.mem.count) return;
  const Label differ = access.cc.new_label();
  if (!access.active.full) access.cc.j(x86::negateCond(access.isa.test_all({&access.active.mask, 1})), differ);
  const unsigned group_bytes = kGroupLanes * access.lane_stride;
  const Vec first = access.isa.make(I::kIdVpshufd, access.index.index, imm(0));
  const Vec relative = access.isa.make(I::kIdVpsubd, access.index.index, first);
  uint8_t consecutive[16] = {};
  for (unsigned l = 0; l < kGroupLanes; ++l) consecutive[4 * l] = static_cast<uint8_t>(l * access.lane_stride);
  MaskReg differs = access.isa.mask();
  access.isa.cmp32(differs, ICmp::ne, relative, access.isa.full_bytes(consecutive), nullptr);
  access.cc.j(access.isa.test_any({&differs, 1}), differ);
  // Indices are extended, and must not wrap inside of a group.
  MaskReg wraps = access.isa.mask();
  access.isa.cmp32(wraps, ICmp::ugt, first, access.isa.const32(~group_bytes), nullptr);
  access.cc.j(access.isa.test_any({&wraps, 1}), differ);

  const Operand ahead = next_group(access);
  std::array<Vec, 4> memory;  // as many as there are dwords a lane
  for (unsigned i = 0; i < access.mem.count; ++i) memory[i] = access.isa.vec();
  for (unsigned g = 0; g < access.isa.lanes / kGroupLanes; ++g) {
    const Gp pointer = access.cc.new_gp64();
    access.isa.low32(pointer, g == 0 ? access.index.index : access.isa.group(access.index.index, g));
    index_to_pointer(access, pointer);
    const auto disp = static_cast<int32_t>(access.disp);
    if (ahead.isImm()) prefetch_line(access, x86::ptr(pointer, disp + ahead.as<asmjit::Imm>().valueAs<int32_t>()));
    if (ahead.isReg()) prefetch_line(access, x86::ptr(pointer, ahead.as<Gp>(), 0, disp));
    // Registers hold a part of a group, or several groups.
    for (unsigned byte = 0; byte < group_bytes; byte += access.isa.bytes()) {
      const unsigned place = g * group_bytes + byte;
      const Vec& to = memory[place / access.isa.bytes()];
      FaultRange part = fault_range(access, true, place / access.lane_stride);
      part.lanes = static_cast<uint8_t>(std::min(group_bytes, access.isa.bytes()) / access.lane_stride);
      part.lane_elements = static_cast<uint8_t>(access.mem.count);
      access.ctx.faults.mark(part);
      const auto at = [&](unsigned size) { return x86::ptr(pointer, disp + static_cast<int32_t>(byte), size); };
      if (group_bytes >= access.isa.bytes()) {
        access.isa.load(to, at(access.isa.bytes()), nullptr);
      } else if (place % access.isa.bytes() == 0) {
        access.cc.emit(access.isa.f.load, to.ymm(), at(32));
      } else {
        access.cc.emit(I::kIdVinserti64x4, to, to, at(32), imm(1));
      }
    }
  }
  take_apart(access, std::span(memory).first(access.mem.count));
  access.cc.jmp(access.join);
  access.cc.bind(differ);
}

// Whether the two halves of an AVX-512 chunk may be consecutive, each from an address of its own, as where every eight lanes
// take a row of a sparse matrix.
bool may_be_in_halves(const MemoryAccess& access) {
  const bool suits = access.load && access.mem.bytes == 4 && access.lane_stride == 4 * access.mem.count &&
                     (access.mem.count == 1 || (access.mem.count == 2 && access.wide.any()));
  if (!suits || access.isa.lanes != 2 * kHalfLanes || !access.ctx.on(Optimisation::contiguous) ||
      access.scratch_swizzled || access.mem.space == ir::Space::flat || access.needs_whole_pairs() ||
      (access.kind != AddressKind::indexed && access.kind != AddressKind::address64))
    return false;
  std::vector<const Inst*> seen;
  const Inst* address = lane_operand(access.inst);
  return address != nullptr && seems_to_have_groups(access.ctx.shapes, address, seen);
}

// In the cold path, before the lanes are taken one by one.
void load_if_in_halves(MemoryAccess& access) {
  const Label differ = access.cc.new_label();
  const Vec64 address =
      access.kind == AddressKind::indexed ? host_addresses(access.ctx, access.base, access.index) : access.address;
  Mask64 halves;
  std::array<Gp, 2> pointers;
  for (unsigned i = 0; i < 2; ++i) {
    const Vec first = access.isa.vec();
    access.cc.emit(I::kIdVpbroadcastq, first, address.part[i].xmm());
    const Vec relative = access.isa.make(I::kIdVpsubq, address.part[i], first);
    halves.part[i] = access.isa.cmp64_half(ICmp::ne, relative, access.isa.lane_table64(0, access.lane_stride));
    pointers[i] = access.cc.new_gp64();
    access.isa.low64(pointers[i], address.part[i]);
  }
  MaskReg differs = access.isa.mask();
  access.isa.join(differs, halves);
  if (!access.active.full) differs = both(access.ctx, differs, access.active.mask);
  access.cc.j(access.isa.test_any({&differs, 1}), differ);

  const auto disp = static_cast<int32_t>(access.disp);
  FaultRange part = fault_range(access, true);
  if (access.mem.count == 2) {
    const Vec64 value = access.ctx.dst64(*access.wide.pairs[0], access.chunk);
    const Mask64 lanes = access.active.full ? Mask64() : access.isa.split(access.active.mask);
    part.lanes = kHalfLanes;
    for (unsigned i = 0; i < 2; ++i) {
      access.ctx.faults.mark(part);
      access.isa.load64(value.part[i], x86::ptr(pointers[i], disp), access.active.full ? nullptr : &lanes.part[i]);
      part.first_lane += kHalfLanes;
    }
  } else {
    // As two whole chunks, of which each has one half.
    std::array<Vec, 2> parts;
    for (unsigned i = 0; i < 2; ++i) {
      MaskReg lanes = access.isa.mask();
      access.isa.set_mask_const(lanes, 0xffu << (i * kHalfLanes));
      if (!access.active.full) lanes = both(access.ctx, lanes, access.active.mask);
      parts[i] = access.isa.vec();
      // The displacement may be the least one already: 2^31 is taken off for indices that are signed.
      if (i > 0) access.cc.sub(pointers[i], imm(kHalfLanes * access.lane_stride));
      access.ctx.faults.mark(part);
      access.isa.load(parts[i], x86::ptr(pointers[i], disp), &lanes);
    }
    access.cc.emit(I::kIdVpord, result_of(access, 0), parts[0], parts[1]);
  }
  access.cc.jmp(access.join);
  access.cc.bind(differ);
}

}  // namespace wavejit::backend
