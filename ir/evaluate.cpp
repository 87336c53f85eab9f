// What pure operations compute, written from the meanings in ops.def.
#include <bit>

#include "ir/float_constants.h"
#include "ir/fold.h"
#include "ir/signature.h"

namespace wavejit::ir {
namespace {

int64_t sign_extend(uint64_t value, unsigned bits) {
  const unsigned shift = 64 - bits;
  return static_cast<int64_t>(value << shift) >> shift;
}

uint64_t reverse_bits(uint64_t value, unsigned bits) {
  uint64_t result = 0;
  for (unsigned i = 0; i < bits; ++i) {
    if (value >> i & 1) result |= uint64_t{1} << (bits - 1 - i);
  }
  return result;
}

uint64_t bfe_u(uint64_t a, uint64_t offset, uint64_t width, unsigned bits) {
  const unsigned w = static_cast<unsigned>(width % bits);
  return (a >> (offset % bits)) & ((uint64_t{1} << w) - 1);
}

uint64_t bfe_s(uint64_t a, uint64_t offset, uint64_t width, unsigned bits) {
  const unsigned w = static_cast<unsigned>(width % bits);
  if (w == 0) return 0;
  const auto shifted = static_cast<uint64_t>(sign_extend(a, bits) >> (offset % bits));
  return static_cast<uint64_t>(sign_extend(shifted, w));
}

// v_perm_b32 (Vega ISA manual, "V_PERM_B32"): the 64-bit source has a in its high and b in its low half.
uint32_t perm_byte(uint64_t source, unsigned selector) {
  if (selector >= 13) return 0xff;
  if (selector == 12) return 0;
  if (selector >= 8) {  // signs of bytes 1, 3, 5, 7
    const unsigned byte = 2 * (selector - 8) + 1;
    return (source >> (8 * byte + 7) & 1) != 0 ? 0xff : 0;
  }
  return static_cast<uint32_t>(source >> (8 * selector)) & 0xff;
}

uint64_t perm(uint64_t a, uint64_t b, uint64_t selectors) {
  const uint64_t source = a << 32 | b;
  uint64_t result = 0;
  for (unsigned i = 0; i < 4; ++i) result |= uint64_t{perm_byte(source, selectors >> (8 * i) & 0xff)} << (8 * i);
  return result;
}

bool compare(ICmp predicate, uint64_t a, uint64_t b, unsigned bits) {
  const int64_t sa = sign_extend(a, bits);
  const int64_t sb = sign_extend(b, bits);
  switch (predicate) {
    case ICmp::eq:
      return a == b;
    case ICmp::ne:
      return a != b;
    case ICmp::ult:
      return a < b;
    case ICmp::ule:
      return a <= b;
    case ICmp::ugt:
      return a > b;
    case ICmp::uge:
      return a >= b;
    case ICmp::slt:
      return sa < sb;
    case ICmp::sle:
      return sa <= sb;
    case ICmp::sgt:
      return sa > sb;
    case ICmp::sge:
      return sa >= sb;
  }
  return false;
}

uint64_t packed(Op op, uint64_t a, uint64_t b) {
  uint64_t result = 0;
  for (unsigned half = 0; half < 2; ++half) {
    const auto x = static_cast<uint16_t>(a >> (16 * half));
    const auto y = static_cast<uint16_t>(b >> (16 * half));
    const auto sx = static_cast<int16_t>(x);
    const auto sy = static_cast<int16_t>(y);
    uint32_t value = 0;
    switch (op) {
      case Op::pk_add:
        value = uint32_t{x} + y;
        break;
      case Op::pk_sub:
        value = uint32_t{x} - y;
        break;
      case Op::pk_mul:
        value = uint32_t{x} * y;
        break;
      case Op::pk_shl:
        value = uint32_t{x} << (y & 15);
        break;
      case Op::pk_lshr:
        value = uint32_t{x} >> (y & 15);
        break;
      case Op::pk_ashr:
        value = static_cast<uint32_t>(sx >> (y & 15));
        break;
      case Op::pk_smin:
        value = static_cast<uint32_t>(sx < sy ? sx : sy);
        break;
      case Op::pk_smax:
        value = static_cast<uint32_t>(sx > sy ? sx : sy);
        break;
      case Op::pk_umin:
        value = x < y ? x : y;
        break;
      default:
        value = x > y ? x : y;
        break;  // pk_umax
    }
    result |= uint64_t{value & 0xffff} << (16 * half);
  }
  return result;
}

}  // namespace

std::optional<uint64_t> evaluate(const Inst& inst, std::span<const uint64_t> args) {
  const unsigned bits = inst.type.bits();
  const auto a = [&] { return args[0]; };
  const auto b = [&] { return args[1]; };
  const auto c = [&] { return args[2]; };
  const auto sa = [&] { return sign_extend(args[0], bits); };
  const auto sb = [&] { return sign_extend(args[1], bits); };
  // Conditions of carries and compares belong to operands, whose width is not the result's.
  const unsigned operand_bits = inst.operands.empty() ? 0 : inst.operands[0]->type.bits();
  const uint64_t operand_mask = operand_bits == 64 ? ~uint64_t{0} : (uint64_t{1} << operand_bits) - 1;
  const auto result = [&](uint64_t value) { return truncate_to(inst.type, value); };

  switch (inst.op) {
    case Op::const_:
      return inst.imm;
    case Op::splat:
    case Op::splat64:
    case Op::mask_to_i64:
    case Op::i64_to_mask:
    case Op::zext64:
    case Op::zext_i1:
      return result(a());
    case Op::splat_mask:
      return a() != 0 ? ~uint64_t{0} : 0;
    case Op::pack64:
      return a() | b() << 32;
    case Op::lo32:
      return result(a());
    case Op::hi32:
      return a() >> 32;
    case Op::sext64:
      return static_cast<uint64_t>(sign_extend(a(), 32));
    case Op::mask_any:
      return a() != 0;
    case Op::mask_all:
      return a() == ~uint64_t{0};
    case Op::add:
      return result(a() + b());
    case Op::sub:
      return result(a() - b());
    case Op::mul:
      return result(a() * b());
    case Op::addc:
      return result(a() + b() + (c() & 1));
    case Op::subb:
      return result(a() - b() - (c() & 1));
    case Op::addc_carry: {
      const uint64_t sum = (a() + b()) & operand_mask;
      return sum < a() || (sum == operand_mask && (c() & 1) != 0);
    }
    case Op::subb_borrow:
      return a() < b() || (a() == b() && (c() & 1) != 0);
    case Op::mulhi_u:
      return result(a() * b() >> 32);
    case Op::mulhi_s:
      return result(static_cast<uint64_t>(sa() * sb()) >> 32);
    case Op::mul_wide_u:
      return a() * b();
    case Op::mul_wide_s:
      return static_cast<uint64_t>(sign_extend(a(), 32) * sign_extend(b(), 32));
    case Op::udiv64:
      if (b() != 0) return a() / b();
      return a() - (a() >> 32) + ((a() & 0xffffffff) != 0 ? 1 : 2);
    case Op::and_:
      return a() & b();
    case Op::or_:
      return a() | b();
    case Op::xor_:
      return a() ^ b();
    case Op::andn:
      return a() & ~b();
    case Op::not_:
      return result(~a());
    case Op::shl:
      return result(a() << (b() % bits));
    case Op::lshr:
      return a() >> (b() % bits);
    case Op::ashr:
      return result(static_cast<uint64_t>(sa() >> (b() % bits)));
    case Op::smin:
      return sa() < sb() ? a() : b();
    case Op::smax:
      return sa() > sb() ? a() : b();
    case Op::umin:
      return a() < b() ? a() : b();
    case Op::umax:
      return a() > b() ? a() : b();
    case Op::sabs:
      return sa() < 0 ? result(0 - a()) : a();
    case Op::popcount:
      return static_cast<uint64_t>(std::popcount(a()));
    case Op::ctz:
      return a() == 0 ? result(~uint64_t{0}) : static_cast<uint64_t>(std::countr_zero(a()));
    case Op::clz:
      return a() == 0 ? result(~uint64_t{0}) : static_cast<uint64_t>(std::countl_zero(a())) - (64 - bits);
    case Op::bitrev:
      return reverse_bits(a(), bits);
    case Op::bfe_u:
      return bfe_u(a(), b(), c(), bits);
    case Op::bfe_s:
      return result(bfe_s(a(), b(), c(), bits));
    case Op::bfi:
      return (a() & b()) | (~a() & c());
    case Op::alignbit:
      return result((a() << 32 | b()) >> (c() % 32));
    case Op::perm:
      return perm(a(), b(), c());
    case Op::icmp:
      return compare(static_cast<ICmp>(inst.attr), a(), b(), operand_bits);
    case Op::select:
      return (a() & 1) != 0 ? b() : c();
    case Op::pk_add:
    case Op::pk_sub:
    case Op::pk_mul:
    case Op::pk_shl:
    case Op::pk_lshr:
    case Op::pk_ashr:
    case Op::pk_smin:
    case Op::pk_smax:
    case Op::pk_umin:
    case Op::pk_umax:
      return packed(inst.op, a(), b());
    default:
      return evaluate_f32(inst, args);
  }
}

std::optional<uint64_t> fold_to_constant(const Inst& inst) {
  if (inst.op == Op::phi || inst.op == Op::const_ || inst.operands.empty() || inst.operands.size() > 4)
    return std::nullopt;
  if (inst.type.is_tuple() || !is_pure(inst.op)) return std::nullopt;
  uint64_t values[4] = {};
  for (size_t i = 0; i < inst.operands.size(); ++i) {
    const Inst* operand = inst.operands[i];
    if (!operand->is_const()) return std::nullopt;
    values[i] = operand->imm;
    // Lanes must agree for the result to be a splat: masks as per-lane conditions fold only when all bits are equal.
    if (operand->type == kMask && inst.type.is_vector() && values[i] != 0 && values[i] != ~uint64_t{0})
      return std::nullopt;
  }
  if (inst.op == Op::mbcnt) return values[0] == 0 ? std::optional<uint64_t>(0) : std::nullopt;
  if (inst.op == Op::readlane || inst.op == Op::readfirstlane) return values[0];
  if (inst.type == kMask && (inst.op == Op::addc_carry || inst.op == Op::subb_borrow) && values[2] != 0 &&
      values[2] != ~uint64_t{0}) {
    return std::nullopt;
  }
  std::optional<uint64_t> value = evaluate(inst, {values, inst.operands.size()});
  // A comparison of splats gives the same bit in every lane.
  const bool per_lane = inst.op == Op::icmp || inst.op == Op::addc_carry || inst.op == Op::subb_borrow;
  if (value && inst.type == kMask && per_lane) value = *value != 0 ? ~uint64_t{0} : 0;
  return value;
}

}  // namespace wavejit::ir
