#include "backend-x86/lower/memory/memory_address.h"

#include <vector>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/lane_address_code.h"
#include "backend-x86/lower/memory/memory.h"
#include "backend-x86/lower/memory/memory_access.h"
#include "backend-x86/lower/memory/prefetch.h"
#include "backend-x86/lower/rolled_segment.h"
#include "backend-x86/lower/segment_values.h"
#include "backend-x86/lower/vector/building_blocks.h"

namespace wavejit::backend {

using ir::AddressForm;
using ir::ICmp;
using ir::Space;
using x86::CondCode;

namespace {

// The lane shape, if known-strides is on.
ir::LaneShape known_shape(const MemoryAccess& access, const Inst* value) {
  return access.ctx.on(Optimisation::known_strides) ? access.ctx.shapes.of(value) : ir::LaneShape{};
}

// base + zero-extended offset that all lanes of the chunk share; computed once in a segment. Null base: the LDS.
Gp uniform_pointer(MemoryAccess& access, const Inst* base, const Inst* offset) {
  const unsigned chunk = access.ctx.is_uniform(offset) ? 0 : access.chunk;
  const auto [entry, inserted] = access.ctx.reused->uniform_pointers.try_emplace({base, offset, chunk});
  Gp& pointer = entry->second;
  if (!inserted && access.ctx.on(Optimisation::segment_reuse)) return pointer;
  pointer = access.cc.new_gp64();
  if (offset->is_const()) {
    access.cc.mov(pointer.r32(), static_cast<uint32_t>(offset->imm));
  } else if (offset->op == Op::splat && !access.ctx.classes.is_shared(offset->operands[0])) {
    access.cc.emit(I::kIdMov, pointer.r32(), access.ctx.gp_operand(offset->operands[0]));
  } else {
    access.isa.low32(pointer, access.ctx.v32(offset, access.chunk));
  }
  if (base != nullptr) {
    access.cc.add(pointer, access.ctx.gp(base));
  } else {
    access.cc.add(pointer, access.ctx.wave_field(offsetof(WaveState, lds_base), 8));
  }
  return pointer;
}

// The address of the chunk's first lane is a number.
void prepare_served(MemoryAccess& access) {
  access.served = true;
  // In front of all branches, as other chunks use them, too.
  stream_distance(access.ctx, access.inst);
  advance_distance(access.ctx, access.inst);
  const Inst* value = lane_operand(access.inst);
  const LaneAddress& fact = access.ctx.lane_addresses.of(value);
  std::vector<const Inst*> clamps, extensions;
  for (const Inst* guard : fact.guards) (is_clamp(guard->op) ? clamps : extensions).push_back(guard);
  const int64_t advance = fact.wave ? fact.stride * access.first_lane() : 0;
  if (access.mem.form == AddressForm::vector64) {
    access.first_data = 2;
    access.base = lane_base(access.ctx, value, access.chunk, fact.wave).as<Gp>();
  } else {
    const Inst* base = access.mem.form == AddressForm::base_offset ? access.inst.operands[1] : nullptr;
    access.first_data = base != nullptr ? 3 : 2;
    if (fact.stride != 0 && access.ctx.shapes.extended(value, false).group < (fact.wave ? kWaveSize : access.isa.lanes))
      extensions.push_back(value);
    const auto [entry, inserted] =
        access.ctx.reused->uniform_pointers.try_emplace({base, value, fact.wave ? 0 : access.chunk});
    if (inserted || !access.ctx.on(Optimisation::segment_reuse)) {
      entry->second = access.cc.new_gp64();
      access.cc.mov(entry->second.r32(), lane_base(access.ctx, value, access.chunk, fact.wave).as<Gp>());
      if (base != nullptr) {
        access.cc.add(entry->second, access.ctx.gp(base));
      } else {
        access.cc.add(entry->second, access.ctx.wave_field(offsetof(WaveState, lds_base), 8));
      }
    }
    access.base = entry->second;
  }
  access.known_stride = fact.stride;
  access.kind = fact.stride == 0 ? AddressKind::uniform : AddressKind::strided;
  add_immediate(access, access.mem.imm + advance);
  // The cold path may need a mask, which is to be there before the branches to it.
  const bool guarded = !clamps.empty() || !extensions.empty();
  if (guarded && !access.active.mask.isValid()) make_mask(access);
  if (!clamps.empty()) {
    const Gp failed = clamp_test(access.ctx, clamps, access.chunk);
    access.cc.test(failed, failed);
    to_slow_if(access, CondCode::kS);
  }
  for (const Inst* guard : extensions) to_slow_if(access, test_guard(access.ctx, guard, access.chunk));
}

// Byte b of a lane is at base + (b / 4) * 256 + lane * 4 + b % 4.
void prepare_scratch(MemoryAccess& access) {
  access.scratch_swizzled = true;
  access.lane_stride = 4;
  access.element_stride = access.mem.bytes == 4 ? 256 : access.mem.bytes;
  access.base = access.ctx.gp(access.inst.operands[1]);
  const bool has_offset = access.mem.form == AddressForm::scratch_off;
  access.first_data = has_offset ? 3 : 2;
  const bool constant = !has_offset || access.inst.operands[2]->is_const();
  if (constant) {
    const int64_t byte = access.mem.imm + (has_offset ? static_cast<int64_t>(access.inst.operands[2]->imm) : 0);
    if (access.mem.bytes == 4 && access.mem.count <= 16 && byte % 4 == 0 && byte >= 0 && byte < (1 << 22)) {
      access.kind = AddressKind::uniform;
      access.disp = byte / 4 * 256 + int64_t{access.first_lane()} * 4;
      return;
    }
    access.scratch_byte = access.isa.const32(static_cast<uint32_t>(byte));
  } else {
    access.scratch_byte = access.ctx.v32(access.inst.operands[2], access.chunk);
    if (access.mem.imm != 0)
      access.scratch_byte =
          access.isa.make(I::kIdVpaddd, access.scratch_byte, access.isa.c32(static_cast<uint32_t>(access.mem.imm)));
  }
  access.kind = AddressKind::indexed;
  access.index = {swizzle_scratch(access.ctx, access.scratch_byte, access.first_lane())};
  if (access.mem.bytes == 4) {
    const Vec misaligned = access.isa.and_(access.scratch_byte, access.isa.c32(3));
    MaskReg bad = access.isa.mask();
    access.isa.cmp32(bad, ICmp::ne, misaligned, access.isa.const32(0), access.active.get());
    exclude_lanes(access, bad);
  }
}

}  // namespace

void prepare_address(MemoryAccess& access) {
  const auto operand = [&](unsigned i) { return access.inst.operands[i]; };
  access.active.full = fixed_lanes(access) == access.lane_bits();
  if (first_lanes(access) == 0 || !access.ctx.lane_addresses.serves(access.inst)) make_mask(access);
  access.slow_label = access.cc.new_label();
  access.join = access.cc.new_label();
  if (access.ctx.rolled != nullptr) {
    access.first_data = 2;
    const auto [pointer, offset] = rolled_pointer(access.ctx, access.inst);
    access.base = pointer;
    access.known_stride = chunk_stride(access.ctx, access.inst);
    access.kind = *access.known_stride == 0 ? AddressKind::uniform : AddressKind::strided;
    return add_immediate(access, access.mem.imm + offset);
  }
  if (access.ctx.lane_addresses.serves(access.inst)) return prepare_served(access);
  advance_distance(access.ctx, access.inst);  // in front of all branches, as other chunks use it, too
  auto immediate = static_cast<uint64_t>(access.mem.imm);
  const auto use_offset = [&](const Inst* base, const Inst* offset) {
    const ir::LaneShape shape = known_shape(access, offset);
    if (shape.stride == 0 && shape.group >= access.isa.lanes) {
      access.kind = AddressKind::uniform;
      access.base = uniform_pointer(access, base, offset);
      return;
    }
    access.kind = AddressKind::indexed;
    if (shape.group >= access.isa.lanes) {
      access.known_stride = shape.stride;
      access.known_wrap_free = access.ctx.shapes.extended(offset, false).group >= access.isa.lanes;
    }
    if (base != nullptr) {
      access.base = access.ctx.gp(base);
    } else {
      access.base = access.cc.new_gp64();
      access.cc.mov(access.base, access.ctx.wave_field(offsetof(WaveState, lds_base), 8));
    }
    access.index = {access.ctx.v32(offset, access.chunk)};
  };
  switch (access.mem.form) {
    case AddressForm::base_only:
      access.base = access.ctx.gp(operand(1));
      access.first_data = 2;
      break;
    case AddressForm::base_offset:
      access.first_data = 3;
      use_offset(operand(1), operand(2));
      break;
    case AddressForm::vector64:
      if (const IndexedAddress* indexed = access.ctx.indexed_addresses.of(access.inst)) {
        access.first_data = 2;
        access.kind = AddressKind::indexed;
        access.base = access.ctx.gp(indexed->base);
        access.index = {access.ctx.v32(indexed->index, access.chunk), indexed->is_signed, indexed->shift};
        immediate += static_cast<uint64_t>(indexed->disp);
        break;
      }
      access.kind = AddressKind::address64;
      access.address = access.ctx.v64(operand(1), access.chunk);
      if (const ir::LaneShape shape = known_shape(access, operand(1)); shape.group >= access.isa.lanes) {
        access.known_stride = shape.stride;
        if (shape.stride == 0 && access.mem.space != Space::flat) {
          access.kind = AddressKind::uniform;
          access.base = access.cc.new_gp64();
          access.isa.low64(access.base, access.address.part[0]);
        }
      }
      access.first_data = 2;
      break;
    case AddressForm::lds_offset:
      // Lanes beyond the end of the LDS are not in the mask; the memory behind it is not accessible.
      access.first_data = 2;
      use_offset(nullptr, operand(1));
      break;
    case AddressForm::scratch_off:
    case AddressForm::scratch_base:
      prepare_scratch(access);
      return;
  }
  add_immediate(access, static_cast<int64_t>(immediate));
}

// For the cold path: the addresses as a vector.
void unserve(MemoryAccess& access) {
  const Inst* value = lane_operand(access.inst);
  if (access.mem.form == AddressForm::vector64) {
    access.kind = AddressKind::address64;
    access.address = lane_vector64(access.ctx, value, access.chunk);
  } else {
    access.kind = AddressKind::indexed;
    access.index = {lane_vector32(access.ctx, value, access.chunk)};
    if (access.mem.form == AddressForm::base_offset) {
      access.base = access.ctx.gp(access.inst.operands[1]);
    } else {
      access.base = access.cc.new_gp64();
      access.cc.mov(access.base, access.ctx.wave_field(offsetof(WaveState, lds_base), 8));
    }
  }
  add_immediate(access, access.mem.imm);
}

namespace {

// Active lanes are inside of the LDS. A lane that is off may have an offset from which the others' are reached by wrapping around:
// as a signed number it is as far from the LDS as they say.
void extend_lds_offset(MemoryAccess& access, const Gp& offset) {
  if (!access.known_wrap_free) access.cc.movsxd(offset, offset.r32());
}

}  // namespace

Gp find_contiguous(MemoryAccess& access) {
  Gp pointer = access.cc.new_gp64();
  if (access.kind == AddressKind::indexed) {
    const Vec& index = access.index.index;
    const uint32_t step = access.lane_stride >> access.index.shift;
    access.isa.low32(pointer, index);
    if (access.is_lds_offset()) {
      extend_lds_offset(access, pointer);
    } else if (!access.known_wrap_free) {
      // Extended indices must not wrap inside the chunk.
      const uint32_t end = access.index.is_signed ? 0x80000000u : 0;
      access.cc.cmp(pointer.r32(), static_cast<int32_t>(end - access.isa.lanes * step));
      to_slow_if(access, access.index.is_signed ? CondCode::kG : CondCode::kA);
    }
    if (access.known_stride != access.lane_stride) {
      Vec first = access.isa.vec();
      access.cc.emit(I::kIdVpbroadcastd, first, index.xmm());
      const Vec relative = access.isa.make(I::kIdVpsubd, index, first);
      MaskReg differs = access.isa.mask();
      access.isa.cmp32(differs, ICmp::ne, relative, access.isa.lane_table(0, step), access.active.get());
      exclude_lanes(access, differs);
    }
    index_to_pointer(access, pointer);
  } else {
    access.isa.low64(pointer, access.address.part[0]);
    if (access.known_stride == access.lane_stride) {
      if (access.mem.space == Space::flat) check_aperture(access, pointer);
      return pointer;
    }
    Vec first = access.isa.vec();
    access.cc.emit(I::kIdVpbroadcastq, first, access.address.part[0].xmm());
    Mask64 halves;
    for (unsigned i = 0; i < 2; ++i) {
      const Vec relative = access.isa.make(I::kIdVpsubq, access.address.part[i], first);
      halves.part[i] = access.isa.cmp64_half(ICmp::ne, relative, access.isa.lane_table64(i, access.lane_stride));
    }
    MaskReg differs = access.isa.mask();
    access.isa.join(differs, halves);
    if (!access.active.full) differs = both(access.ctx, differs, access.active.mask);
    exclude_lanes(access, differs);
  }
  if (!access.excluded.full) to_slow_if(access, access.isa.test_any({&access.excluded.mask, 1}));
  if (access.mem.space == Space::flat) check_aperture(access, pointer);
  return pointer;
}

Gp strided_pointer(MemoryAccess& access) {
  if (access.mem.space == Space::flat) check_aperture(access, access.base);
  return access.base;
}

void index_to_pointer(MemoryAccess& access, const Gp& index) {
  if (access.index.is_signed) access.cc.movsxd(index, index.r32());
  if (access.index.shift == 0) {
    access.cc.add(index, access.base);
  } else {
    access.cc.lea(index, x86::ptr(access.base, index, access.index.shift));
  }
}

Gp first_lane_pointer(MemoryAccess& access) {
  if (access.kind == AddressKind::strided) return strided_pointer(access);
  Gp pointer = access.cc.new_gp64();
  if (access.kind == AddressKind::indexed) {
    access.isa.low32(pointer, access.index.index);
    if (access.is_lds_offset()) {
      extend_lds_offset(access, pointer);
    } else if (!access.known_wrap_free) {
      // The index must not wrap on the way to the last lane.
      const auto last = static_cast<int32_t>(*access.known_stride * (access.isa.lanes - 1));
      access.cc.cmp(pointer.r32(), last > 0 ? ~last : -last);
      to_slow_if(access, last > 0 ? CondCode::kA : CondCode::kB);
    }
    index_to_pointer(access, pointer);
  } else {
    access.isa.low64(pointer, access.address.part[0]);
  }
  if (access.mem.space == Space::flat) check_aperture(access, pointer);
  return pointer;
}

void check_aperture(MemoryAccess& access, const Gp& pointer) {
  static_assert(kPrivateApertureHi == 2 * kSharedApertureHi);
  // Upper halves from one aperture to the other; the cold path looks closer.
  Gp high = access.cc.new_gp64();
  if (access.disp != 0) {
    access.cc.lea(high, x86::ptr(pointer, static_cast<int32_t>(access.disp)));
  } else {
    access.cc.mov(high, pointer);
  }
  access.cc.shr(high, 32);
  access.cc.sub(high.r32(), kSharedApertureHi);
  access.cc.cmp(high.r32(), kPrivateApertureHi - kSharedApertureHi);
  to_slow_if(access, CondCode::kBE);
}

}  // namespace wavejit::backend
