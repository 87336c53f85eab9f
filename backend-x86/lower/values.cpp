// Where IR values live: virtual registers per chunk, constants rematerialised at their uses.
#include <algorithm>

#include "backend-x86/lower/emitter.h"
#include "ir/matrix.h"

namespace wavejit::backend {

using ir::TypeKind;

// `extract` has no registers of its own unless it shares those of a phi: it names an element of the tuple.
Emitter::Place Emitter::resolve(const Inst* inst) const {
  if (inst->op == Op::extract && !classes_.is_shared(inst)) {
    const Inst* tuple = inst->operands[0];
    if (!tuple->type.is_tuple()) return resolve(tuple);
    return {tuple, static_cast<unsigned>(inst->imm)};
  }
  return {classes_.representative(inst), 0};
}

bool Emitter::is_invariant(const Inst* inst) const {
  if (inst->is_const() || inst->op == Op::undef || inst->type.is_scalar()) {
    return inst->type != ir::kMask || inst->imm == 0 || inst->imm == ~uint64_t{0};
  }
  return invariant_[resolve(inst).inst->id];
}

// Values for which one register serves all chunks: those that all lanes share, and lane-wise operations of such values
// (which may still differ by lane within a chunk, as lane & 7 does).
void Emitter::decide_invariance(const ir::Block& block) {
  const bool share = on(Optimisation::uniform_values);
  // Results of loads stay in registers through the segment when there is one for all chunks; beyond a few it is cheaper
  // to load them again in every chunk.
  unsigned loaded = 0;
  const auto uniform_load = [&](const Inst& inst) {
    if (inst.op != Op::load || (inst.mem.space != ir::Space::global && inst.mem.space != ir::Space::lds)) return false;
    return std::all_of(inst.operands.begin(), inst.operands.end(), [&](const Inst* o) {
      return is_uniform(o) || (is_invariant(o) && !lane_addresses_.is_scalar(o));
    });
  };
  for (const Inst* inst : block.insts) {
    if (uniform_load(*inst)) loaded += inst->type.count;
  }
  const bool few_loads = loaded <= isa_->lanes / 2;
  for (const Inst* inst : block.insts) {
    if (inst->type.is_scalar() || inst->type.kind == TypeKind::none || inst->op == Op::lane_id) continue;
    if (lane_addresses_.is_scalar(inst)) {
      invariant_[inst->id] = lane_addresses_.of(inst).wave;
      continue;
    }
    if (!share) continue;
    if (inst->op == Op::phi) {
      invariant_[inst->id] = is_uniform(inst);
      continue;
    }
    if (classes_.is_shared(inst)) continue;  // the phi's registers decide
    if (inst->op == Op::load) {
      invariant_[inst->id] = few_loads && uniform_load(*inst);
      continue;
    }
    // Cross-lane operations and conversions from numbers look at the chunk, unless all lanes come out the same.
    if (!ir::is_pure(inst->op)) continue;
    const bool lane_wise = shape(*inst) == Shape::chunk && inst->op != Op::i64_to_mask && !ir::is_matrix_op(inst->op);
    if (!lane_wise) continue;
    invariant_[inst->id] = is_uniform(inst) || std::all_of(inst->operands.begin(), inst->operands.end(),
                                                           [&](const Inst* o) { return is_invariant(o); });
  }
}

Emitter::Storage& Emitter::storage(const Inst* inst) {
  if (rolled_ != nullptr && rolled_->local.contains(inst->id)) {
    Storage& s = rolled_->values[inst->id];
    if (s.regs.empty()) {
      s.invariant = true;  // one chunk at a time
      s.regs.resize(inst->type.count * parts(inst));
    }
    return s;
  }
  const bool local = pass_ != nullptr && (pass_->local[inst->id] || pass_->region->contains(inst->parent));
  Storage& s = local ? pass_->values[inst->id] : values_[inst->id];
  if (!s.regs.empty()) return s;
  s.invariant = inst->type.is_scalar() || invariant_[inst->id];
  s.regs.resize(inst->type.count * parts(inst) * (s.invariant ? 1 : chunks_));
  return s;
}

x86::Reg Emitter::new_register(const Inst* inst) {
  if (lane_addresses_.is_scalar(inst)) return new_gp(inst->type.bits());
  switch (inst->type.kind) {
    case TypeKind::i1:
    case TypeKind::i32:
      return cc_.new_gp32();
    case TypeKind::i64:
      return cc_.new_gp64();
    case TypeKind::mask:
      return isa_->mask();
    case TypeKind::v32:
    case TypeKind::v64:
      return isa_->vec();
    case TypeKind::none:
      break;
  }
  WAVEJIT_CHECK(false, "a value without a type");
  return {};
}

x86::Reg Emitter::reg(const Inst* inst, unsigned element, unsigned chunk, unsigned part) {
  Storage& s = storage(inst);
  const unsigned index = (element * (s.invariant ? 1 : chunks_) + (s.invariant ? 0 : chunk)) * parts(inst) + part;
  WAVEJIT_CHECK(index < s.regs.size(), "%{} has no register {}", inst->id, index);
  if (!s.regs[index].isValid()) s.regs[index] = new_register(inst);
  return s.regs[index];
}

void Emitter::take_over(const Inst& inst, const Inst* operand, unsigned chunk) {
  if (!on(Optimisation::accumulators)) return;
  if (operand->users.size() != 1 || operand->parent != inst.parent || operand->op == Op::lane_id) return;
  if (operand->is_const() || operand->op == Op::undef || operand->op == Op::phi || resolve(operand).inst != operand)
    return;
  if (classes_.is_shared(operand) || classes_.is_shared(&inst) || is_fused(operand) || is_fused(&inst)) return;
  // A load that makes two values may be emitted again for the other one.
  if (operand->op == Op::pack64 && with_access_[operand->id]) return;
  const Storage &from = storage(operand), &to = storage(&inst);
  if (from.invariant != to.invariant || from.regs.size() != to.regs.size()) return;
  const unsigned index = (from.invariant ? 0 : chunk) * parts(&inst);
  if (parts(&inst) == 2 && from.regs[index] == from.regs[index + 1]) return;  // alike64()
  for (unsigned part = 0; part < parts(&inst); ++part) {
    if (to.regs[index + part].isValid() || !from.regs[index + part].isValid()) return;
  }
  Storage& mine = storage(&inst);
  for (unsigned part = 0; part < parts(&inst); ++part) mine.regs[index + part] = from.regs[index + part];
}

Vec Emitter::v32(const Inst* inst, unsigned chunk) {
  if (inst->is_const()) return isa_->const32(static_cast<uint32_t>(inst->imm));
  if (inst->op == Op::undef) return isa_->const32(0);
  if (inst->op == Op::lane_id) {
    Vec d = isa_->vec();
    isa_->mov(d, isa_->lane_table(chunk * isa_->lanes, 1));
    return d;
  }
  const Place place = resolve(inst);
  if (const RowHome* home = row_home(place.inst)) {
    Vec d = isa_->vec();
    isa_->load(d, place_of(*home, chunk, 0), nullptr);
    return d;
  }
  return reg(place.inst, place.element, chunk, 0).as<Vec>();
}

Operand Emitter::v32_operand(const Inst* inst, unsigned chunk) {
  if (inst->is_const() && inst->imm != 0) return isa_->c32(static_cast<uint32_t>(inst->imm));
  if (inst->op == Op::lane_id) return isa_->lane_table(chunk * isa_->lanes, 1);
  if (!inst->is_const())
    if (const RowHome* home = row_home(resolve(inst).inst)) return place_of(*home, chunk, 0);
  return v32(inst, chunk);
}

Operand Emitter::v32_full(const Inst* inst, unsigned chunk) {
  if (inst->is_const() && inst->imm != 0) return isa_->full32(static_cast<uint32_t>(inst->imm));
  if (inst->op == Op::lane_id) return isa_->lane_table(chunk * isa_->lanes, 1);
  return v32(inst, chunk);
}

Vec64 Emitter::v64(const Inst* inst, unsigned chunk) {
  if (inst->is_const() || inst->op == Op::undef) {
    const Vec d = isa_->const64(inst->is_const() ? inst->imm : 0);
    return {d, d};
  }
  const Place place = resolve(inst);
  if (const RowHome* home = row_home(place.inst)) {
    const Vec64 d = isa_->vec64();
    if (home->halves) {
      load_halves(*home, chunk, d);
      return d;
    }
    for (unsigned part = 0; part < 2; ++part) isa_->load(d.part[part], place_of(*home, chunk, part), nullptr);
    return d;
  }
  return {reg(place.inst, place.element, chunk, 0).as<Vec>(), reg(place.inst, place.element, chunk, 1).as<Vec>()};
}

Operand Emitter::v64_operand(const Inst* inst, unsigned chunk, unsigned part) {
  if (inst->is_const() && inst->imm != 0) return isa_->c64(inst->imm);
  return v64(inst, chunk).part[part];
}

MaskReg Emitter::mask(const Inst* inst, unsigned chunk) {
  if (inst->is_const() || inst->op == Op::undef) {
    MaskReg d = isa_->mask();
    isa_->set_mask_const(d, inst->is_const() ? static_cast<uint32_t>(inst->imm >> (chunk * isa_->lanes)) : 0);
    return d;
  }
  const Place place = resolve(inst);
  return reg(place.inst, place.element, chunk, 0);
}

const MaskReg* Emitter::mask_or_full(const Inst* inst, unsigned chunk, MaskReg& holder) {
  if (is_full(inst)) return nullptr;
  holder = mask(inst, chunk);
  return &holder;
}

Gp Emitter::gp(const Inst* inst) {
  if (inst->is_const() || inst->op == Op::undef) {
    const uint64_t bits = inst->is_const() ? inst->imm : 0;
    if (inst->type == ir::kI64) {
      Gp d = cc_.new_gp64();
      if (bits == 0) {
        cc_.xor_(d.r32(), d.r32());
      } else if (bits >> 32 == 0) {
        cc_.mov(d.r32(), static_cast<uint32_t>(bits));
      } else {
        cc_.mov(d, bits);
      }
      return d;
    }
    Gp d = cc_.new_gp32();
    cc_.mov(d, static_cast<uint32_t>(bits));
    return d;
  }
  const Place place = resolve(inst);
  return reg(place.inst, place.element, 0, 0).as<Gp>();
}

// A phi is such a number if all that it may be are. A copy between registers of 32 bits may be no instruction; the ops
// below end with an instruction of 32 bits.
bool Emitter::is_zero_extended(const Inst* value) {
  constexpr size_t kMostValues = 32;
  const auto is_written_whole = [](const Inst& inst) {
    switch (inst.op) {
      case Op::add:
      case Op::addc:
      case Op::sub:
      case Op::subb:
      case Op::bfi:
      case Op::and_:
      case Op::or_:
      case Op::xor_:
      case Op::andn:
      case Op::mul:
      case Op::not_:
      case Op::select:
      case Op::smin:
      case Op::smax:
      case Op::umin:
      case Op::umax:
      case Op::popcount:
      case Op::bfe_u:
      case Op::get_sgpr:
      case Op::get_lane:
        return true;
      case Op::shl:
      case Op::lshr:
      case Op::ashr:
        return !inst.operands[1]->is_const() || (inst.operands[1]->imm & 31) != 0;
      case Op::load_lane:
        return inst.mem.count == 1;
      default:
        return inst.is_const();
    }
  };
  if (extensions_.empty()) extensions_.resize(function_.num_values());
  std::vector<const Inst*> seen;
  const auto all_are = [&](const auto& self, const Inst* inst) -> bool {
    Extension& known = extensions_[inst->id];
    if (known == Extension::zero || known == Extension::assumed) return true;
    if (known == Extension::none || inst->type != ir::kI32 || seen.size() == kMostValues) return false;
    known = Extension::assumed;
    seen.push_back(inst);
    if (inst->op != Op::phi) return is_written_whole(*inst);
    return std::all_of(inst->operands.begin(), inst->operands.end(),
                       [&](const Inst* operand) { return self(self, operand); });
  };
  const bool all = all_are(all_are, value);
  // If one is not, only that is known of the value itself.
  for (const Inst* inst : seen) extensions_[inst->id] = all ? Extension::zero : Extension::unknown;
  if (!all) extensions_[value->id] = Extension::none;
  return all;
}

// A 64-bit register with the number, as part of an address. For code that is always executed with its block.
Gp Emitter::as_index(const Inst* value) {
  if (const auto known = indices_.find(value); known != indices_.end()) return known->second;
  const Gp number = gp(value);
  if (is_zero_extended(value)) return number.r64();
  const Gp index = cc_.new_gp64();
  cc_.mov(index.r32(), number.r32());
  if (!value->is_const() && !classes_.is_shared(value)) indices_.emplace(value, index);
  return index;
}

Operand Emitter::gp_operand(const Inst* inst) {
  if (inst->is_const()) {
    if (inst->type != ir::kI64) return asmjit::imm(static_cast<int32_t>(inst->imm));
    const auto value = static_cast<int64_t>(inst->imm);
    if (value == static_cast<int32_t>(value)) return asmjit::imm(value);
  }
  return gp(inst);
}

Vec Emitter::dst(const Inst& inst, unsigned chunk, unsigned element) {
  return reg(classes_.representative(&inst), element, chunk, 0).as<Vec>();
}

Vec64 Emitter::dst64(const Inst& inst, unsigned chunk) {
  const Inst* own = classes_.representative(&inst);
  return {reg(own, 0, chunk, 0).as<Vec>(), reg(own, 0, chunk, 1).as<Vec>()};
}

// For a value that all lanes of the chunk share: one register for both parts, unless they have registers already.
Vec64 Emitter::alike64(const Inst& inst, unsigned chunk) {
  if (!classes_.is_shared(&inst)) {
    Storage& s = storage(&inst);
    x86::Reg* const parts = &s.regs[(s.invariant ? 0 : chunk) * 2];
    if (!parts[0].isValid() && !parts[1].isValid()) parts[0] = parts[1] = new_register(&inst);
  }
  return dst64(inst, chunk);
}

MaskReg Emitter::dst_mask(const Inst& inst, unsigned chunk) {
  return reg(classes_.representative(&inst), 0, chunk, 0);
}

Gp Emitter::dst_gp(const Inst& inst, unsigned element) {
  return reg(classes_.representative(&inst), element, 0, 0).as<Gp>();
}

Mem Emitter::row(unsigned vgpr, unsigned chunk) const {
  Mem m =
      wave_field(offsetof(WaveState, vgpr) + vgpr * sizeof(uint32_t[kWaveSize]) + chunk * isa_->bytes(), isa_->bytes());
  if (rolled_ != nullptr) m.setIndex(rolled_->offset);
  return m;
}

Mem Emitter::stack_row(unsigned bytes) {
  return cc_.new_variable(bytes, 64);
}

}  // namespace wavejit::backend
