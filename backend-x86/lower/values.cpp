// Where IR values live: virtual registers per chunk, constants rematerialised at their uses.
#include "backend-x86/lower/values.h"

#include <algorithm>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/plans/idle_halves.h"
#include "backend-x86/lower/plans/invariance.h"
#include "backend-x86/lower/plans/row_homes.h"
#include "backend-x86/lower/plans/wide_accesses.h"
#include "backend-x86/lower/rolled_segment.h"
#include "backend-x86/lower/row_homes.h"
#include "ir/matrix.h"

namespace wavejit::backend {

using ir::TypeKind;

namespace {

Storage& storage(Lowering& ctx, const Inst* inst) {
  if (ctx.rolled != nullptr && ctx.rolled->local.contains(inst->id)) {
    Storage& s = ctx.rolled->values[inst->id];
    if (s.regs.empty()) {
      s.invariant = true;  // one chunk at a time
      s.regs.resize(inst->type.count * ctx.parts(inst));
    }
    return s;
  }
  const bool local = ctx.pass != nullptr && (ctx.pass->local[inst->id] || ctx.pass->region->contains(inst->parent));
  Storage& s = local ? ctx.pass->values[inst->id] : ctx.values[inst->id];
  if (!s.regs.empty()) return s;
  s.invariant = inst->type.is_scalar() || ctx.invariant[inst->id];
  s.regs.resize(inst->type.count * ctx.parts(inst) * (s.invariant ? 1 : ctx.chunks));
  return s;
}

x86::Reg new_register(Lowering& ctx, const Inst* inst) {
  if (ctx.lane_addresses.is_scalar(inst)) return ctx.new_gp(inst->type.bits());
  switch (inst->type.kind) {
    case TypeKind::i1:
    case TypeKind::i32:
      return ctx.cc.new_gp32();
    case TypeKind::i64:
      return ctx.cc.new_gp64();
    case TypeKind::mask:
      return ctx.isa->mask();
    case TypeKind::v32:
    case TypeKind::v64:
      return ctx.isa->vec();
    case TypeKind::none:
      break;
  }
  WAVEJIT_CHECK(false, "a value without a type");
  return {};
}

}  // namespace

// `extract` has no registers of its own unless it shares those of a phi: it names an element of the tuple.
Place Lowering::resolve(const Inst* inst) const {
  if (inst->op == Op::extract && !classes.is_shared(inst)) {
    const Inst* tuple = inst->operands[0];
    if (!tuple->type.is_tuple()) return resolve(tuple);
    return {tuple, static_cast<unsigned>(inst->imm)};
  }
  return {classes.representative(inst), 0};
}

bool Lowering::is_invariant(const Inst* inst) const {
  return backend::is_invariant(*this, invariant, inst);
}

x86::Reg Lowering::reg(const Inst* inst, unsigned element, unsigned chunk, unsigned part) {
  Storage& s = storage(*this, inst);
  const unsigned index = (element * (s.invariant ? 1 : chunks) + (s.invariant ? 0 : chunk)) * parts(inst) + part;
  WAVEJIT_CHECK(index < s.regs.size(), "%{} has no register {}", inst->id, index);
  if (!s.regs[index].isValid()) s.regs[index] = new_register(*this, inst);
  return s.regs[index];
}

void Lowering::take_over(const Inst& inst, const Inst* operand, unsigned chunk) {
  if (!on(Optimisation::accumulators)) return;
  if (operand->users.size() != 1 || operand->parent != inst.parent || operand->op == Op::lane_id) return;
  if (operand->is_const() || operand->op == Op::undef || operand->op == Op::phi || resolve(operand).inst != operand)
    return;
  if (classes.is_shared(operand) || classes.is_shared(&inst) || is_fused(operand) || is_fused(&inst)) return;
  // A load that makes two values may be emitted again for the other one.
  if (operand->op == Op::pack64 && wide->absorbed[operand->id]) return;
  const Storage &from = storage(*this, operand), &to = storage(*this, &inst);
  if (from.invariant != to.invariant || from.regs.size() != to.regs.size()) return;
  const unsigned index = (from.invariant ? 0 : chunk) * parts(&inst);
  if (parts(&inst) == 2 && from.regs[index] == from.regs[index + 1]) return;  // alike64()
  for (unsigned part = 0; part < parts(&inst); ++part) {
    if (to.regs[index + part].isValid() || !from.regs[index + part].isValid()) return;
  }
  Storage& mine = storage(*this, &inst);
  for (unsigned part = 0; part < parts(&inst); ++part) mine.regs[index + part] = from.regs[index + part];
}

Vec Lowering::v32(const Inst* inst, unsigned chunk) {
  if (inst->is_const()) return isa->const32(static_cast<uint32_t>(inst->imm));
  if (inst->op == Op::undef) return isa->const32(0);
  if (inst->op == Op::lane_id) {
    Vec d = isa->vec();
    isa->mov(d, isa->lane_table(chunk * isa->lanes, 1));
    return d;
  }
  const Place place = resolve(inst);
  if (const RowHome* home = row_home(*this, place.inst)) {
    Vec d = isa->vec();
    isa->load(d, place_of(*this, *home, chunk, 0), nullptr);
    return d;
  }
  return reg(place.inst, place.element, chunk, 0).as<Vec>();
}

Operand Lowering::v32_operand(const Inst* inst, unsigned chunk) {
  if (inst->is_const() && inst->imm != 0) return isa->c32(static_cast<uint32_t>(inst->imm));
  if (inst->op == Op::lane_id) return isa->lane_table(chunk * isa->lanes, 1);
  if (!inst->is_const())
    if (const RowHome* home = row_home(*this, resolve(inst).inst)) return place_of(*this, *home, chunk, 0);
  return v32(inst, chunk);
}

Operand Lowering::v32_full(const Inst* inst, unsigned chunk) {
  if (inst->is_const() && inst->imm != 0) return isa->full32(static_cast<uint32_t>(inst->imm));
  if (inst->op == Op::lane_id) return isa->lane_table(chunk * isa->lanes, 1);
  return v32(inst, chunk);
}

Vec64 Lowering::v64(const Inst* inst, unsigned chunk) {
  if (inst->is_const() || inst->op == Op::undef) {
    const Vec d = isa->const64(inst->is_const() ? inst->imm : 0);
    return {d, d};
  }
  const Place place = resolve(inst);
  if (const RowHome* home = row_home(*this, place.inst)) {
    const Vec64 d = isa->vec64();
    if (home->halves) {
      load_halves(*this, *home, chunk, d);
      return d;
    }
    for (unsigned part = 0; part < 2; ++part) isa->load(d.part[part], place_of(*this, *home, chunk, part), nullptr);
    return d;
  }
  return {reg(place.inst, place.element, chunk, 0).as<Vec>(), reg(place.inst, place.element, chunk, 1).as<Vec>()};
}

Operand Lowering::v64_operand(const Inst* inst, unsigned chunk, unsigned part) {
  if (inst->is_const() && inst->imm != 0) return isa->c64(inst->imm);
  return v64(inst, chunk).part[part];
}

MaskReg Lowering::mask(const Inst* inst, unsigned chunk) {
  if (inst->is_const() || inst->op == Op::undef) {
    MaskReg d = isa->mask();
    isa->set_mask_const(d, inst->is_const() ? static_cast<uint32_t>(inst->imm >> (chunk * isa->lanes)) : 0);
    return d;
  }
  const Place place = resolve(inst);
  return reg(place.inst, place.element, chunk, 0);
}

const MaskReg* Lowering::mask_or_full(const Inst* inst, unsigned chunk, MaskReg& holder) {
  if (is_full(inst)) return nullptr;
  holder = mask(inst, chunk);
  return &holder;
}

Gp Lowering::gp(const Inst* inst) {
  if (inst->is_const() || inst->op == Op::undef) {
    const uint64_t bits = inst->is_const() ? inst->imm : 0;
    if (inst->type == ir::kI64) {
      Gp d = cc.new_gp64();
      if (bits == 0) {
        cc.xor_(d.r32(), d.r32());
      } else if (bits >> 32 == 0) {
        cc.mov(d.r32(), static_cast<uint32_t>(bits));
      } else {
        cc.mov(d, bits);
      }
      return d;
    }
    Gp d = cc.new_gp32();
    cc.mov(d, static_cast<uint32_t>(bits));
    return d;
  }
  const Place place = resolve(inst);
  return reg(place.inst, place.element, 0, 0).as<Gp>();
}

Operand Lowering::gp_operand(const Inst* inst) {
  if (inst->is_const()) {
    if (inst->type != ir::kI64) return asmjit::imm(static_cast<int32_t>(inst->imm));
    const auto value = static_cast<int64_t>(inst->imm);
    if (value == static_cast<int32_t>(value)) return asmjit::imm(value);
  }
  return gp(inst);
}

Vec Lowering::dst(const Inst& inst, unsigned chunk, unsigned element) {
  return reg(classes.representative(&inst), element, chunk, 0).as<Vec>();
}

Vec64 Lowering::dst64(const Inst& inst, unsigned chunk) {
  const Inst* own = classes.representative(&inst);
  return {reg(own, 0, chunk, 0).as<Vec>(), reg(own, 0, chunk, 1).as<Vec>()};
}

// For a value that all lanes of the chunk share: one register for both parts, unless they have registers already.
Vec64 Lowering::alike64(const Inst& inst, unsigned chunk) {
  if (!classes.is_shared(&inst)) {
    Storage& s = storage(*this, &inst);
    x86::Reg* const parts = &s.regs[(s.invariant ? 0 : chunk) * 2];
    if (!parts[0].isValid() && !parts[1].isValid()) parts[0] = parts[1] = new_register(*this, &inst);
  }
  return dst64(inst, chunk);
}

WantedParts Lowering::wanted_parts(const Inst& inst, unsigned chunk) {
  if (!idle->is_half_wanted(inst, chunk)) return {dst64(inst, chunk), 0, 2};
  const unsigned wanted = idle->wanted_in(inst, chunk);
  const Vec64 to = alike64(inst, chunk);
  WAVEJIT_CHECK(to.part[0].id() == to.part[1].id(), "%{} has registers already", inst.id);
  return {to, wanted - 1, wanted};
}

MaskReg Lowering::dst_mask(const Inst& inst, unsigned chunk) {
  return reg(classes.representative(&inst), 0, chunk, 0);
}

Gp Lowering::dst_gp(const Inst& inst, unsigned element) {
  return reg(classes.representative(&inst), element, 0, 0).as<Gp>();
}

Mem Lowering::row(unsigned vgpr, unsigned chunk) const {
  Mem m =
      wave_field(offsetof(WaveState, vgpr) + vgpr * sizeof(uint32_t[kWaveSize]) + chunk * isa->bytes(), isa->bytes());
  if (rolled != nullptr) m.setIndex(rolled->offset);
  return m;
}

Mem Lowering::stack_row(unsigned bytes) {
  return cc.new_variable(bytes, 64);
}

Gp Lowering::address_of(const Mem& slot) {
  Gp d = cc.new_gp64();
  cc.lea(d, slot);
  return d;
}

}  // namespace wavejit::backend
