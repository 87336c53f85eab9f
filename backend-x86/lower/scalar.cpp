#include "backend-x86/lower/scalar.h"

#include <algorithm>
#include <optional>

#include "backend-x86/lower/control.h"
#include "backend-x86/lower/scalar_values.h"
#include "backend-x86/lower/vector/building_blocks.h"

namespace wavejit::backend {

using asmjit::imm;

namespace {

// A bound that is as large keeps wild values from reaching further, and is hardly ever reached.
constexpr uint64_t kWild = 1 << 20;

// A field of a 32-bit number at a known place.
struct KnownField {
  unsigned offset, width;
};
std::optional<KnownField> known_field(const Inst& inst) {
  const Inst *offset = inst.operands[1], *width = inst.operands[2];
  if (inst.type != ir::kI32 || !offset->is_const() || !width->is_const()) return std::nullopt;
  return KnownField{.offset = static_cast<unsigned>(offset->imm & 31), .width = static_cast<unsigned>(width->imm & 31)};
}

}  // namespace

bool emit_scalar_arithmetic(Lowering& ctx, const Inst& inst) {
  const unsigned bits = inst.type == ir::kI64 ? 64 : 32;
  const auto operand = [&](unsigned i) { return inst.operands[i]; };
  const auto fresh = [&] { return ctx.new_gp(bits); };
  const auto copy_of = [&](const Inst* value) {
    Gp t = fresh();
    ctx.cc.emit(I::kIdMov, t, ctx.gp_operand(value));
    return t;
  };
  const auto done = [&](const Gp& result) {
    ctx.cc.mov(ctx.dst_gp(inst), result);
    return true;
  };
  // result = a op b in two-address form; the destination may be one of the sources.
  const auto binary = [&](InstId id, const Inst* a, const Inst* b, bool commutes) {
    const Gp d = ctx.dst_gp(inst);
    if (commutes && a->is_const()) std::swap(a, b);
    const Operand y = ctx.gp_operand(b);
    if (y.isReg() && y.id() == d.id() && (a->is_const() || ctx.gp(a).id() != d.id())) {
      if (commutes) {
        ctx.cc.emit(id, d, ctx.gp_operand(a));
        return true;
      }
      Gp t = copy_of(a);
      ctx.cc.emit(id, t, y);
      ctx.cc.mov(d, t);
      return true;
    }
    const Operand x = ctx.gp_operand(a);
    if (!x.isReg() || x.id() != d.id()) ctx.cc.emit(I::kIdMov, d, x);
    ctx.cc.emit(id, d, y);
    return true;
  };
  // Moves the value into the result's register, which no other operand is in.
  const auto moved = [&](const Inst* value) {
    const Gp d = ctx.dst_gp(inst);
    const Operand x = ctx.gp_operand(value);
    if (!x.isReg() || x.id() != d.id()) ctx.cc.emit(I::kIdMov, d, x);
    return d;
  };
  const auto setcc = [&](x86::CondCode condition) {
    Gp t = ctx.cc.new_gp8();  // a wider one would count as read, too
    ctx.cc.emit(x86::Inst::setccFromCond(condition), t);
    ctx.cc.movzx(ctx.dst_gp(inst), t);
    return true;
  };
  // CF = carry-in (an i1).
  const auto set_carry = [&](const Inst* carry) {
    Gp t = ctx.cc.new_gp32();
    ctx.cc.emit(I::kIdMov, t, ctx.gp_operand(carry));
    ctx.cc.add(t, -1);
  };
  // The second operand, if it stands in this relation to the first.
  const auto min_max = [&](x86::CondCode take_b) {
    const Inst *a = operand(0), *b = operand(1);
    if (a->is_const()) std::swap(a, b);
    if (!b->is_const() && ctx.gp(b).id() == ctx.dst_gp(inst).id()) std::swap(a, b);
    const Gp d = moved(a);
    if (take_b == x86::CondCode::kA && b->is_const() && b->imm >= kWild && b->imm <= INT32_MAX) {
      const Label wild = ctx.cc.new_label(), join = ctx.cc.new_label();
      ctx.cc.cmp(d, b->imm);
      ctx.cc.ja(wild);
      ctx.cc.bind(join);
      ctx.cold([&, d, b] {
        ctx.cc.bind(wild);
        ctx.cc.mov(d, b->imm);
        ctx.cc.jmp(join);
      });
      return true;
    }
    const Gp other = ctx.gp(b);
    if (take_b == x86::CondCode::kA) {  // with one flag, cmov is one operation of the host
      ctx.cc.cmp(other, d);
      ctx.cc.cmovb(d, other);
    } else {
      ctx.cc.cmp(d, other);
      ctx.cc.emit(x86::Inst::cmovccFromCond(take_b), d, other);
    }
    return true;
  };
  const auto or_minus_one = [&](InstId id) {  // tzcnt, lzcnt: CF when the source is zero
    Gp t = fresh(), minus_one = fresh();
    ctx.cc.mov(minus_one, -1);
    ctx.cc.emit(id, t, ctx.gp(operand(0)));
    ctx.cc.emit(x86::Inst::cmovccFromCond(x86::CondCode::kC), t, minus_one);
    return done(t);
  };
  // Field operands modulo the width, in 32-bit registers wide enough for bzhi and shifts.
  const auto modulo = [&](const Inst* value) {
    Gp t = fresh();
    if (value->is_const()) {
      ctx.cc.mov(t, value->imm & (bits - 1));
    } else {
      ctx.cc.emit(I::kIdMov, t, ctx.gp_operand(value));
      ctx.cc.and_(t, bits - 1);
    }
    return t;
  };

  switch (inst.op) {
    case Op::add:
      if (const Operand b = ctx.gp_operand(operand(1));
          !operand(0)->is_const() && ctx.gp(operand(0)).id() != ctx.dst_gp(inst).id()) {
        const Gp a = ctx.gp(operand(0)), d = ctx.dst_gp(inst);
        if (b.isImm()) {
          ctx.cc.lea(d, bits == 64 ? x86::ptr(a, static_cast<int32_t>(b.as<asmjit::Imm>().value()))
                                   : x86::ptr(a.r64(), static_cast<int32_t>(b.as<asmjit::Imm>().value())));
        } else {
          ctx.cc.lea(d, x86::ptr(a.r64(), b.as<Gp>().r64()));
        }
        return true;
      }
      return binary(I::kIdAdd, operand(0), operand(1), true);
    case Op::sub:
      if (operand(0)->is_const(0)) {
        ctx.cc.neg(moved(operand(1)));
        return true;
      }
      return binary(I::kIdSub, operand(0), operand(1), false);
    case Op::and_:
      if (const Inst* mask = operand(1); mask->is_const() && (mask->imm == 0xff || mask->imm == 0xffff)) {
        const Gp a = ctx.gp(operand(0)), d = ctx.dst_gp(inst);
        if (a.id() != d.id()) {
          ctx.cc.movzx(d.r32(), mask->imm == 0xff ? Gp(a.r8()) : Gp(a.r16()));
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
        const Operand factor = ctx.gp_operand(operand(i));
        if (!factor.isImm()) continue;
        const Gp a = ctx.gp(operand(1 - i));
        ctx.cc.emit(I::kIdImul, ctx.dst_gp(inst), a, factor);
        return true;
      }
      return binary(I::kIdImul, operand(0), operand(1), true);
    case Op::andn: {
      const Gp b = ctx.gp(operand(1)), a = ctx.gp(operand(0));
      ctx.cc.andn(ctx.dst_gp(inst), b, a);
      return true;
    }
    case Op::not_: {
      const Gp d = moved(operand(0));
      if (inst.type == ir::kI1) {
        ctx.cc.xor_(d, 1);
      } else {
        ctx.cc.not_(d);
      }
      return true;
    }
    case Op::addc:
    case Op::subb: {
      const InstId id = inst.op == Op::addc ? I::kIdAdd : I::kIdSub;
      Gp t = copy_of(operand(0));
      Operand carry = ctx.gp_operand(operand(2));
      if (bits == 64 && carry.isReg()) {
        const Gp wide = ctx.cc.new_gp64();
        ctx.cc.emit(I::kIdMov, wide.r32(), carry);
        carry = wide;
      }
      if (!operand(1)->is_const(0)) ctx.cc.emit(id, t, ctx.gp_operand(operand(1)));
      ctx.cc.emit(id, t, carry);
      return done(t);
    }
    case Op::addc_carry:
    case Op::subb_borrow: {
      const unsigned width = operand(0)->type == ir::kI64 ? 64 : 32;
      Gp t = ctx.new_gp(width);
      ctx.cc.emit(I::kIdMov, t, ctx.gp_operand(operand(0)));
      const Operand b = ctx.gp_operand(operand(1));
      set_carry(operand(2));
      ctx.cc.emit(inst.op == Op::addc_carry ? I::kIdAdc : I::kIdSbb, t, b);
      return setcc(x86::CondCode::kC);
    }
    case Op::mulhi_u:
    case Op::mulhi_s:
    case Op::mul_wide_u:
    case Op::mul_wide_s: {
      const bool is_signed = inst.op == Op::mulhi_s || inst.op == Op::mul_wide_s;
      Gp a = ctx.cc.new_gp64(), b = ctx.cc.new_gp64();
      if (is_signed) {
        ctx.cc.movsxd(a, ctx.gp(operand(0)));
        ctx.cc.movsxd(b, ctx.gp(operand(1)));
      } else {
        ctx.cc.mov(a.r32(), ctx.gp(operand(0)));
        if (!operand(1)->is_const() || operand(1)->imm > INT32_MAX) ctx.cc.mov(b.r32(), ctx.gp(operand(1)));
      }
      if (!is_signed && operand(1)->is_const() && operand(1)->imm <= INT32_MAX) {
        ctx.cc.imul(a, a, static_cast<int32_t>(operand(1)->imm));
      } else {
        ctx.cc.imul(a, b);
      }
      if (inst.type == ir::kI64) return done(a);
      ctx.cc.shr(a, 32);
      return done(a.r32());
    }
    case Op::shl:
    case Op::lshr:
    case Op::ashr: {
      if (operand(1)->is_const()) {
        const InstId id = inst.op == Op::shl ? I::kIdShl : inst.op == Op::lshr ? I::kIdShr : I::kIdSar;
        ctx.cc.emit(id, moved(operand(0)), imm(operand(1)->imm & (bits - 1)));
        return true;
      }
      const InstId id = inst.op == Op::shl ? I::kIdShlx : inst.op == Op::lshr ? I::kIdShrx : I::kIdSarx;
      const Gp a = ctx.gp(operand(0)), count = ctx.gp(operand(1));
      ctx.cc.emit(id, ctx.dst_gp(inst), a, count);
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
      ctx.cc.neg(negated);
      ctx.cc.emit(x86::Inst::cmovccFromCond(x86::CondCode::kNS), t, negated);
      return done(t);
    }
    case Op::popcount: {
      Gp t = fresh();
      ctx.cc.popcnt(t, ctx.gp(operand(0)));
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
          ctx.cc.mov(m, kMasks[i]);
        } else {
          ctx.cc.mov(m, static_cast<uint32_t>(kMasks[i]));
        }
        ctx.cc.mov(u, t);
        ctx.cc.shr(u, 1u << i);
        ctx.cc.and_(u, m);
        ctx.cc.and_(t, m);
        ctx.cc.shl(t, 1u << i);
        ctx.cc.or_(t, u);
      }
      ctx.cc.bswap(t);
      return done(t);
    }
    case Op::bfe_u: {
      if (const auto field = known_field(inst)) {
        const Gp d = moved(operand(0));
        if (field->offset != 0) ctx.cc.shr(d, field->offset);
        if (field->offset + field->width < bits) ctx.cc.and_(d, (1u << field->width) - 1);
        return true;
      }
      Gp t = fresh();
      const Gp width = modulo(operand(2));
      ctx.cc.shrx(t, ctx.gp(operand(0)), modulo(operand(1)));
      ctx.cc.bzhi(t, t, width);
      return done(t);
    }
    case Op::bfe_s: {
      if (const auto field = known_field(inst); field && field->width != 0) {
        const Gp d = moved(operand(0));
        const unsigned above = bits - std::min(field->offset + field->width, bits);
        if (above != 0) ctx.cc.shl(d, above);
        ctx.cc.sar(d, above == 0 ? field->offset : bits - field->width);
        return true;
      }
      Gp t = fresh(), zero = fresh();
      const Gp width = modulo(operand(2));
      ctx.cc.sarx(t, ctx.gp(operand(0)), modulo(operand(1)));
      Gp up = fresh();
      ctx.cc.mov(up, width);
      ctx.cc.neg(up);  // width of the register minus width of the field, modulo the former
      ctx.cc.shlx(t, t, up);
      ctx.cc.sarx(t, t, up);
      ctx.cc.xor_(zero.r32(), zero.r32());
      ctx.cc.test(width, width);
      ctx.cc.emit(x86::Inst::cmovccFromCond(x86::CondCode::kE), t, zero);
      return done(t);
    }
    case Op::bfi: {
      Gp t = copy_of(operand(1));
      const Operand c = ctx.gp_operand(operand(2));
      ctx.cc.emit(I::kIdXor, t, c);
      ctx.cc.emit(I::kIdAnd, t, ctx.gp_operand(operand(0)));
      ctx.cc.emit(I::kIdXor, t, c);
      return done(t);
    }
    case Op::alignbit: {
      if (operand(0) == operand(1) && operand(2)->is_const() && !operand(0)->is_const()) {
        const Gp a = ctx.gp(operand(0));
        ctx.cc.rorx(ctx.dst_gp(inst), a, operand(2)->imm & 31);
        return true;
      }
      Gp t = ctx.cc.new_gp64(), low = ctx.cc.new_gp64(), count = ctx.cc.new_gp64();
      ctx.cc.emit(I::kIdMov, t.r32(), ctx.gp_operand(operand(0)));
      ctx.cc.shl(t, 32);
      ctx.cc.emit(I::kIdMov, low.r32(), ctx.gp_operand(operand(1)));
      ctx.cc.or_(t, low);
      if (operand(2)->is_const()) {
        ctx.cc.shr(t, operand(2)->imm & 31);
      } else {
        ctx.cc.emit(I::kIdMov, count.r32(), ctx.gp_operand(operand(2)));
        ctx.cc.and_(count.r32(), 31);
        ctx.cc.shrx(t, t, count);
      }
      return done(t.r32());
    }
    case Op::perm: {
      Vec v[3];
      for (unsigned i = 0; i < 3; ++i) {
        v[i] = ctx.isa->vec();
        ctx.isa->splat32(v[i], ctx.gp(operand(i)));
      }
      const Vec r = perm32(ctx, v[0], v[1], v[2]);
      ctx.isa->low32(ctx.dst_gp(inst), r);
      return true;
    }
    case Op::icmp: {
      const Gp a = ctx.gp(operand(0)), d = ctx.dst_gp(inst);
      const Operand b = ctx.gp_operand(operand(1));
      const x86::CondCode condition = scalar_condition(static_cast<ir::ICmp>(inst.attr));
      const bool is_read = d.id() == a.id() || (b.isReg() && d.id() == b.id());
      if (!is_read) ctx.cc.mov(d, 0);
      if (b.isImm() && b.as<asmjit::Imm>().value() == 0) {
        if (!flags_are_of(ctx, a, a)) ctx.cc.test(a, a);
      } else {
        ctx.cc.emit(I::kIdCmp, a, b);
      }
      if (is_read) return setcc(condition);
      ctx.cc.emit(x86::Inst::setccFromCond(condition), d.r8());
      return true;
    }
    case Op::select: {
      const Inst *if_true = operand(1), *if_false = operand(2);
      const Gp d = ctx.dst_gp(inst);
      const auto is_here = [&](const Inst* value) {
        return !value->is_const() && value->op != Op::undef && ctx.gp(value).id() == d.id();
      };
      // What moves under the condition is in a register; the other value is in the result's before.
      const bool swapped = is_here(if_true) || (if_true->is_const() && !is_here(if_false));
      if (swapped) std::swap(if_true, if_false);
      const Gp source = ctx.gp(if_true);
      const Operand before = ctx.gp_operand(if_false);
      const x86::CondCode condition = emit_condition(ctx, operand(0));
      if (!is_here(if_false)) ctx.cc.emit(I::kIdMov, d, before);
      ctx.cc.emit(x86::Inst::cmovccFromCond(swapped ? x86::negateCond(condition) : condition), d, source);
      return true;
    }
    case Op::pack64: {
      Gp t = ctx.cc.new_gp64();
      ctx.cc.emit(I::kIdMov, t.r32(), ctx.gp_operand(operand(1)));
      ctx.cc.shl(t, 32);
      if (!operand(0)->is_const(0)) ctx.cc.lea(t, x86::ptr(t, as_index(ctx, operand(0))));
      return done(t);
    }
    case Op::lo32:
      ctx.cc.mov(ctx.dst_gp(inst), ctx.gp(operand(0)).r32());
      return true;
    case Op::hi32: {
      Gp t = ctx.cc.new_gp64();
      ctx.cc.mov(t, ctx.gp(operand(0)));
      ctx.cc.shr(t, 32);
      return done(t.r32());
    }
    case Op::zext64:
      ctx.cc.emit(I::kIdMov, ctx.dst_gp(inst).r32(), ctx.gp(operand(0)));
      return true;
    case Op::sext64:
      ctx.cc.movsxd(ctx.dst_gp(inst), ctx.gp(operand(0)));
      return true;
    case Op::zext_i1:
      ctx.cc.emit(I::kIdMov, ctx.dst_gp(inst), ctx.gp(operand(0)));
      return true;
    case Op::extract:
      ctx.cc.emit(I::kIdMov, ctx.dst_gp(inst), ctx.reg(operand(0), static_cast<unsigned>(inst.imm), 0, 0));
      return true;
    case Op::tuple:
      for (unsigned i = 0; i < inst.operands.size(); ++i)
        ctx.cc.emit(I::kIdMov, ctx.dst_gp(inst, i), ctx.gp_operand(operand(i)));
      return true;
    default:
      break;
  }
  return false;
}

}  // namespace wavejit::backend
