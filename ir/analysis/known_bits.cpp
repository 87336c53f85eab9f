#include "ir/analysis/known_bits.h"

#include <algorithm>
#include <bit>

namespace wavejit::ir {
namespace {

uint64_t width_mask(Type type) {
  const unsigned bits = type.kind == TypeKind::mask ? 64 : type.bits();
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

// All bits up to the highest one of a bound.
uint64_t fill(uint64_t bound) {
  return bound == 0 ? 0 : ~uint64_t{0} >> std::countl_zero(bound);
}

}  // namespace

uint64_t unsigned_maximum(const Inst* inst, unsigned depth) {
  const uint64_t all = width_mask(inst->type);
  if (inst->is_const()) return inst->imm;
  if (depth == 0) return all;
  const auto maximum = [&](unsigned i) { return unsigned_maximum(inst->operands[i], depth - 1); };
  uint64_t bound = all;
  switch (inst->op) {
    case Op::lane_id:
    case Op::mbcnt:
      return 63;
    case Op::zext64:
    case Op::splat:
    case Op::splat64:
      return maximum(0);
    case Op::zext_i1:
      return 1;
    case Op::add: {
      const uint64_t a = maximum(0);
      const uint64_t b = maximum(1);
      if (a <= all - b) bound = a + b;  // no wrap
      break;
    }
    case Op::mul: {
      const uint64_t a = maximum(0);
      const uint64_t b = maximum(1);
      if (a == 0 || b <= all / a) bound = a * b;
      break;
    }
    case Op::mul_wide_u:
      return maximum(0) * maximum(1);
    case Op::umin:
      bound = std::min(maximum(0), maximum(1));
      break;
    case Op::umax:
      bound = std::max(maximum(0), maximum(1));
      break;
    case Op::popcount:
      return inst->type.bits();
    case Op::lshr:
      if (inst->operands[1]->is_const()) bound = maximum(0) >> (inst->operands[1]->imm % inst->type.bits());
      break;
    case Op::select:
      bound = std::max(maximum(1), maximum(2));
      break;
    default:
      break;
  }
  return std::min(bound, possible_bits(inst, depth));
}

uint64_t possible_bits(const Inst* inst, unsigned depth) {
  const uint64_t all = width_mask(inst->type);
  if (inst->is_const()) return inst->imm;
  if (depth == 0) return all;
  const auto bits = [&](unsigned i) { return possible_bits(inst->operands[i], depth - 1); };
  const auto shift = [&] { return inst->operands[1]->imm % inst->type.bits(); };
  const bool const_shift = inst->operands.size() > 1 && inst->operands[1]->is_const();
  switch (inst->op) {
    case Op::lane_id:
    case Op::mbcnt:
      return 63;
    case Op::zext64:
    case Op::zext_i1:
    case Op::splat:
    case Op::splat64:
      return bits(0);
    case Op::sext64: {
      const uint64_t low = bits(0);
      return (low >> 31 & 1) != 0 ? low | 0xffffffff00000000 : low;
    }
    case Op::lo32:
      return bits(0) & 0xffffffff;
    case Op::hi32:
      return bits(0) >> 32;
    case Op::pack64:
      return bits(0) | bits(1) << 32;
    case Op::and_:
      return bits(0) & bits(1);
    case Op::andn:
      return inst->operands[1]->is_const() ? bits(0) & ~inst->operands[1]->imm : bits(0);
    case Op::or_:
    case Op::xor_:
      return bits(0) | bits(1);
    case Op::select:
      return bits(1) | bits(2);
    case Op::shl:
      return const_shift ? (bits(0) << shift()) & all : all;
    case Op::lshr:
      return const_shift ? bits(0) >> shift() : fill(bits(0));
    case Op::ashr: {
      const uint64_t value = bits(0);
      const bool negative = (value >> (inst->type.bits() - 1) & 1) != 0;
      return negative ? all : const_shift ? value >> shift() : fill(value);
    }
    case Op::bfe_u:
      if (inst->operands[2]->is_const()) return (uint64_t{1} << (inst->operands[2]->imm % inst->type.bits())) - 1;
      return all;
    case Op::add:
    case Op::mul:
    case Op::mul_wide_u: {
      // Trailing zeros survive; the leading ones follow from the bound.
      const uint64_t a = bits(0);
      const uint64_t b = bits(1);
      uint64_t bound = all;
      if (inst->op == Op::add) {
        if (a <= all - b) bound = a + b;
      } else if (a == 0 || b <= all / a) {
        bound = a * b;
      }
      const unsigned zeros_a = a == 0 ? 64 : static_cast<unsigned>(std::countr_zero(a));
      const unsigned zeros_b = b == 0 ? 64 : static_cast<unsigned>(std::countr_zero(b));
      const unsigned zeros = inst->op == Op::add ? std::min(zeros_a, zeros_b) : std::min(zeros_a + zeros_b, 64u);
      return zeros >= 64 ? 0 : fill(bound) & (~uint64_t{0} << zeros);
    }
    case Op::umin:
      return fill(std::min(bits(0), bits(1)));
    case Op::umax:
      return fill(std::max(bits(0), bits(1)));
    case Op::popcount:
      return 127;
    case Op::load: {
      const bool narrow = inst->mem.bytes < 4 && !inst->mem.sign_extend;
      return narrow ? (uint64_t{1} << (8 * inst->mem.bytes)) - 1 : all;
    }
    case Op::extract: {
      const Inst* from = inst->operands[0];
      const bool narrow = from->op == Op::load && from->mem.bytes < 4 && !from->mem.sign_extend;
      return narrow ? (uint64_t{1} << (8 * from->mem.bytes)) - 1 : all;
    }
    default:
      return all;
  }
}

}  // namespace wavejit::ir
