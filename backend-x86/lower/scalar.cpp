// Scalar arithmetic on general-purpose registers.
#include <algorithm>
#include <optional>

#include "backend-x86/lower/emitter.h"

namespace wavejit::backend {

using asmjit::imm;

namespace {

// A bound that is as large keeps wild values from reaching further, and is hardly ever reached.
constexpr uint64_t kWild = 1 << 20;

// A field of a 32-bit number at a known place.
struct KnownField {
  unsigned offset, width;
};
std::optional<KnownField> known_field(const ir::Inst& inst) {
  const ir::Inst *offset = inst.operands[1], *width = inst.operands[2];
  if (inst.type != ir::kI32 || !offset->is_const() || !width->is_const()) return std::nullopt;
  return KnownField{.offset = static_cast<unsigned>(offset->imm & 31), .width = static_cast<unsigned>(width->imm & 31)};
}

}  // namespace

bool Emitter::emit_scalar_arithmetic(const Inst& inst) {
  const unsigned bits = inst.type == ir::kI64 ? 64 : 32;
  const auto operand = [&](unsigned i) { return inst.operands[i]; };
  const auto fresh = [&] { return new_gp(bits); };
  const auto copy_of = [&](const Inst* value) {
    Gp t = fresh();
    cc_.emit(I::kIdMov, t, gp_operand(value));
    return t;
  };
  const auto done = [&](const Gp& result) {
    cc_.mov(dst_gp(inst), result);
    return true;
  };
  // result = a op b in two-address form; the destination may be one of the sources.
  const auto binary = [&](InstId id, const Inst* a, const Inst* b, bool commutes) {
    const Gp d = dst_gp(inst);
    if (commutes && a->is_const()) std::swap(a, b);
    const Operand y = gp_operand(b);
    if (y.isReg() && y.id() == d.id() && (a->is_const() || gp(a).id() != d.id())) {
      if (commutes) {
        cc_.emit(id, d, gp_operand(a));
        return true;
      }
      Gp t = copy_of(a);
      cc_.emit(id, t, y);
      cc_.mov(d, t);
      return true;
    }
    const Operand x = gp_operand(a);
    if (!x.isReg() || x.id() != d.id()) cc_.emit(I::kIdMov, d, x);
    cc_.emit(id, d, y);
    return true;
  };
  // Moves the value into the result's register, which no other operand is in.
  const auto moved = [&](const Inst* value) {
    const Gp d = dst_gp(inst);
    const Operand x = gp_operand(value);
    if (!x.isReg() || x.id() != d.id()) cc_.emit(I::kIdMov, d, x);
    return d;
  };
  const auto setcc = [&](x86::CondCode condition) {
    Gp t = cc_.new_gp8();  // a wider one would count as read, too
    cc_.emit(x86::Inst::setccFromCond(condition), t);
    cc_.movzx(dst_gp(inst), t);
    return true;
  };
  // CF = carry-in (an i1).
  const auto set_carry = [&](const Inst* carry) {
    Gp t = cc_.new_gp32();
    cc_.emit(I::kIdMov, t, gp_operand(carry));
    cc_.add(t, -1);
  };
  // The second operand, if it stands in this relation to the first.
  const auto min_max = [&](x86::CondCode take_b) {
    const Inst *a = operand(0), *b = operand(1);
    if (a->is_const()) std::swap(a, b);
    if (!b->is_const() && gp(b).id() == dst_gp(inst).id()) std::swap(a, b);
    const Gp d = moved(a);
    if (take_b == x86::CondCode::kA && b->is_const() && b->imm >= kWild && b->imm <= INT32_MAX) {
      const Label wild = cc_.new_label(), join = cc_.new_label();
      cc_.cmp(d, b->imm);
      cc_.ja(wild);
      cc_.bind(join);
      cold([&, d, b] {
        cc_.bind(wild);
        cc_.mov(d, b->imm);
        cc_.jmp(join);
      });
      return true;
    }
    const Gp other = gp(b);
    if (take_b == x86::CondCode::kA) {  // with one flag, cmov is one operation of the host
      cc_.cmp(other, d);
      cc_.cmovb(d, other);
    } else {
      cc_.cmp(d, other);
      cc_.emit(x86::Inst::cmovccFromCond(take_b), d, other);
    }
    return true;
  };
  const auto or_minus_one = [&](InstId id) {  // tzcnt, lzcnt: CF when the source is zero
    Gp t = fresh(), minus_one = fresh();
    cc_.mov(minus_one, -1);
    cc_.emit(id, t, gp(operand(0)));
    cc_.emit(x86::Inst::cmovccFromCond(x86::CondCode::kC), t, minus_one);
    return done(t);
  };
  // Field operands modulo the width, in 32-bit registers wide enough for bzhi and shifts.
  const auto modulo = [&](const Inst* value) {
    Gp t = fresh();
    if (value->is_const()) {
      cc_.mov(t, value->imm & (bits - 1));
    } else {
      cc_.emit(I::kIdMov, t, gp_operand(value));
      cc_.and_(t, bits - 1);
    }
    return t;
  };

  switch (inst.op) {
    case Op::add:
      if (const Operand b = gp_operand(operand(1));
          !operand(0)->is_const() && gp(operand(0)).id() != dst_gp(inst).id()) {
        const Gp a = gp(operand(0)), d = dst_gp(inst);
        if (b.isImm()) {
          cc_.lea(d, bits == 64 ? x86::ptr(a, static_cast<int32_t>(b.as<asmjit::Imm>().value()))
                                : x86::ptr(a.r64(), static_cast<int32_t>(b.as<asmjit::Imm>().value())));
        } else {
          cc_.lea(d, x86::ptr(a.r64(), b.as<Gp>().r64()));
        }
        return true;
      }
      return binary(I::kIdAdd, operand(0), operand(1), true);
    case Op::sub:
      if (operand(0)->is_const(0)) {
        cc_.neg(moved(operand(1)));
        return true;
      }
      return binary(I::kIdSub, operand(0), operand(1), false);
    case Op::and_:
      if (const Inst* mask = operand(1); mask->is_const() && (mask->imm == 0xff || mask->imm == 0xffff)) {
        const Gp a = gp(operand(0)), d = dst_gp(inst);
        if (a.id() != d.id()) {
          cc_.movzx(d.r32(), mask->imm == 0xff ? Gp(a.r8()) : Gp(a.r16()));
          return true;
        }
      }
      return binary(I::kIdAnd, operand(0), operand(1), true);
    case Op::or_:
      return binary(I::kIdOr, operand(0), operand(1), true);
    case Op::xor_:
      return binary(I::kIdXor, operand(0), operand(1), true);
    case Op::mul:
      for (const unsigned i : {0u, 1u}) {
        if (!operand(i)->is_const()) continue;
        const Operand factor = gp_operand(operand(i));
        if (!factor.isImm()) continue;
        const Gp a = gp(operand(1 - i));
        cc_.emit(I::kIdImul, dst_gp(inst), a, factor);
        return true;
      }
      return binary(I::kIdImul, operand(0), operand(1), true);
    case Op::andn: {
      const Gp b = gp(operand(1)), a = gp(operand(0));
      cc_.andn(dst_gp(inst), b, a);
      return true;
    }
    case Op::not_: {
      const Gp d = moved(operand(0));
      if (inst.type == ir::kI1) {
        cc_.xor_(d, 1);
      } else {
        cc_.not_(d);
      }
      return true;
    }
    case Op::addc:
    case Op::subb: {
      const InstId id = inst.op == Op::addc ? I::kIdAdd : I::kIdSub;
      Gp t = copy_of(operand(0));
      Operand carry = gp_operand(operand(2));
      if (bits == 64 && carry.isReg()) {
        const Gp wide = cc_.new_gp64();
        cc_.emit(I::kIdMov, wide.r32(), carry);
        carry = wide;
      }
      if (!operand(1)->is_const(0)) cc_.emit(id, t, gp_operand(operand(1)));
      cc_.emit(id, t, carry);
      return done(t);
    }
    case Op::addc_carry:
    case Op::subb_borrow: {
      const unsigned width = operand(0)->type == ir::kI64 ? 64 : 32;
      Gp t = new_gp(width);
      cc_.emit(I::kIdMov, t, gp_operand(operand(0)));
      const Operand b = gp_operand(operand(1));
      set_carry(operand(2));
      cc_.emit(inst.op == Op::addc_carry ? I::kIdAdc : I::kIdSbb, t, b);
      return setcc(x86::CondCode::kC);
    }
    case Op::mulhi_u:
    case Op::mulhi_s:
    case Op::mul_wide_u:
    case Op::mul_wide_s: {
      const bool is_signed = inst.op == Op::mulhi_s || inst.op == Op::mul_wide_s;
      Gp a = cc_.new_gp64(), b = cc_.new_gp64();
      if (is_signed) {
        cc_.movsxd(a, gp(operand(0)));
        cc_.movsxd(b, gp(operand(1)));
      } else {
        cc_.mov(a.r32(), gp(operand(0)));
        if (!operand(1)->is_const() || operand(1)->imm > INT32_MAX) cc_.mov(b.r32(), gp(operand(1)));
      }
      if (!is_signed && operand(1)->is_const() && operand(1)->imm <= INT32_MAX) {
        cc_.imul(a, a, static_cast<int32_t>(operand(1)->imm));
      } else {
        cc_.imul(a, b);
      }
      if (inst.type == ir::kI64) return done(a);
      cc_.shr(a, 32);
      return done(a.r32());
    }
    case Op::shl:
    case Op::lshr:
    case Op::ashr: {
      if (operand(1)->is_const()) {
        const InstId id = inst.op == Op::shl ? I::kIdShl : inst.op == Op::lshr ? I::kIdShr : I::kIdSar;
        cc_.emit(id, moved(operand(0)), imm(operand(1)->imm & (bits - 1)));
        return true;
      }
      const InstId id = inst.op == Op::shl ? I::kIdShlx : inst.op == Op::lshr ? I::kIdShrx : I::kIdSarx;
      const Gp a = gp(operand(0)), count = gp(operand(1));
      cc_.emit(id, dst_gp(inst), a, count);
      return true;
    }
    case Op::smin:
      return min_max(x86::CondCode::kG);
    case Op::smax:
      return min_max(x86::CondCode::kL);
    case Op::umin:
      return min_max(x86::CondCode::kA);
    case Op::umax:
      return min_max(x86::CondCode::kB);
    case Op::sabs: {
      Gp t = copy_of(operand(0)), negated = copy_of(operand(0));
      cc_.neg(negated);
      cc_.emit(x86::Inst::cmovccFromCond(x86::CondCode::kNS), t, negated);
      return done(t);
    }
    case Op::popcount: {
      Gp t = fresh();
      cc_.popcnt(t, gp(operand(0)));
      return done(t);
    }
    case Op::ctz:
      return or_minus_one(I::kIdTzcnt);
    case Op::clz:
      return or_minus_one(I::kIdLzcnt);
    case Op::bitrev: {
      Gp t = copy_of(operand(0)), u = fresh(), m = fresh();
      static constexpr uint64_t kMasks[3] = {0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f};
      for (unsigned i = 0; i < 3; ++i) {
        if (bits == 64) {
          cc_.mov(m, kMasks[i]);
        } else {
          cc_.mov(m, static_cast<uint32_t>(kMasks[i]));
        }
        cc_.mov(u, t);
        cc_.shr(u, 1u << i);
        cc_.and_(u, m);
        cc_.and_(t, m);
        cc_.shl(t, 1u << i);
        cc_.or_(t, u);
      }
      cc_.bswap(t);
      return done(t);
    }
    case Op::bfe_u: {
      if (const auto field = known_field(inst)) {
        const Gp d = moved(operand(0));
        if (field->offset != 0) cc_.shr(d, field->offset);
        if (field->offset + field->width < bits) cc_.and_(d, (1u << field->width) - 1);
        return true;
      }
      Gp t = fresh();
      const Gp width = modulo(operand(2));
      cc_.shrx(t, gp(operand(0)), modulo(operand(1)));
      cc_.bzhi(t, t, width);
      return done(t);
    }
    case Op::bfe_s: {
      if (const auto field = known_field(inst); field && field->width != 0) {
        const Gp d = moved(operand(0));
        const unsigned above = bits - std::min(field->offset + field->width, bits);
        if (above != 0) cc_.shl(d, above);
        cc_.sar(d, above == 0 ? field->offset : bits - field->width);
        return true;
      }
      Gp t = fresh(), zero = fresh();
      const Gp width = modulo(operand(2));
      cc_.sarx(t, gp(operand(0)), modulo(operand(1)));
      Gp up = fresh();
      cc_.mov(up, width);
      cc_.neg(up);  // width of the register minus width of the field, modulo the former
      cc_.shlx(t, t, up);
      cc_.sarx(t, t, up);
      cc_.xor_(zero.r32(), zero.r32());
      cc_.test(width, width);
      cc_.emit(x86::Inst::cmovccFromCond(x86::CondCode::kE), t, zero);
      return done(t);
    }
    case Op::bfi: {
      Gp t = copy_of(operand(1));
      const Operand c = gp_operand(operand(2));
      cc_.emit(I::kIdXor, t, c);
      cc_.emit(I::kIdAnd, t, gp_operand(operand(0)));
      cc_.emit(I::kIdXor, t, c);
      return done(t);
    }
    case Op::alignbit: {
      if (operand(0) == operand(1) && operand(2)->is_const() && !operand(0)->is_const()) {
        const Gp a = gp(operand(0));
        cc_.rorx(dst_gp(inst), a, operand(2)->imm & 31);
        return true;
      }
      Gp t = cc_.new_gp64(), low = cc_.new_gp64(), count = cc_.new_gp64();
      cc_.emit(I::kIdMov, t.r32(), gp_operand(operand(0)));
      cc_.shl(t, 32);
      cc_.emit(I::kIdMov, low.r32(), gp_operand(operand(1)));
      cc_.or_(t, low);
      if (operand(2)->is_const()) {
        cc_.shr(t, operand(2)->imm & 31);
      } else {
        cc_.emit(I::kIdMov, count.r32(), gp_operand(operand(2)));
        cc_.and_(count.r32(), 31);
        cc_.shrx(t, t, count);
      }
      return done(t.r32());
    }
    case Op::perm: {
      Vec v[3];
      for (unsigned i = 0; i < 3; ++i) {
        v[i] = isa_->vec();
        isa_->splat32(v[i], gp(operand(i)));
      }
      const Vec r = perm32(v[0], v[1], v[2]);
      isa_->low32(dst_gp(inst), r);
      return true;
    }
    case Op::icmp: {
      const Gp a = gp(operand(0)), d = dst_gp(inst);
      const Operand b = gp_operand(operand(1));
      const x86::CondCode condition = scalar_condition(static_cast<ir::ICmp>(inst.attr));
      const bool is_read = d.id() == a.id() || (b.isReg() && d.id() == b.id());
      if (!is_read) cc_.mov(d, 0);
      if (b.isImm() && b.as<asmjit::Imm>().value() == 0) {
        if (!flags_are_of(a, a)) cc_.test(a, a);
      } else {
        cc_.emit(I::kIdCmp, a, b);
      }
      if (is_read) return setcc(condition);
      cc_.emit(x86::Inst::setccFromCond(condition), d.r8());
      return true;
    }
    case Op::select: {
      const Inst *if_true = operand(1), *if_false = operand(2);
      const Gp d = dst_gp(inst);
      const auto is_here = [&](const Inst* value) {
        return !value->is_const() && value->op != Op::undef && gp(value).id() == d.id();
      };
      // What moves under the condition is in a register; the other value is in the result's before.
      const bool swapped = is_here(if_true) || (if_true->is_const() && !is_here(if_false));
      if (swapped) std::swap(if_true, if_false);
      const Gp source = gp(if_true);
      const Operand before = gp_operand(if_false);
      const x86::CondCode condition = emit_condition(operand(0));
      if (!is_here(if_false)) cc_.emit(I::kIdMov, d, before);
      cc_.emit(x86::Inst::cmovccFromCond(swapped ? x86::negateCond(condition) : condition), d, source);
      return true;
    }
    case Op::pack64: {
      Gp t = cc_.new_gp64();
      cc_.emit(I::kIdMov, t.r32(), gp_operand(operand(1)));
      cc_.shl(t, 32);
      if (!operand(0)->is_const(0)) cc_.lea(t, x86::ptr(t, as_index(operand(0))));
      return done(t);
    }
    case Op::lo32:
      cc_.mov(dst_gp(inst), gp(operand(0)).r32());
      return true;
    case Op::hi32: {
      Gp t = cc_.new_gp64();
      cc_.mov(t, gp(operand(0)));
      cc_.shr(t, 32);
      return done(t.r32());
    }
    case Op::zext64:
      cc_.emit(I::kIdMov, dst_gp(inst).r32(), gp(operand(0)));
      return true;
    case Op::sext64:
      cc_.movsxd(dst_gp(inst), gp(operand(0)));
      return true;
    case Op::zext_i1:
      cc_.emit(I::kIdMov, dst_gp(inst), gp(operand(0)));
      return true;
    case Op::extract:
      cc_.emit(I::kIdMov, dst_gp(inst), reg(operand(0), static_cast<unsigned>(inst.imm), 0, 0));
      return true;
    case Op::tuple:
      for (unsigned i = 0; i < inst.operands.size(); ++i) cc_.emit(I::kIdMov, dst_gp(inst, i), gp_operand(operand(i)));
      return true;
    default:
      break;
  }
  return false;
}

}  // namespace wavejit::backend
