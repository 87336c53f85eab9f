#include "ir/analysis/lane_table.h"

#include <algorithm>
#include <bit>

namespace wavejit::ir {
namespace {

uint64_t ones(unsigned bits) {
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

}  // namespace

bool LaneTable::is_union() const {
  return std::all_of(step.begin(), step.end(), [&](uint64_t s) { return s <= ones(zeros); });
}

LaneTables::LaneTables(const Function& function, const LaneShapes& shapes)
    : shapes_(shapes), tables_(function.num_values()), visited_(function.num_values()) {}

const LaneTable* LaneTables::of(const Inst* inst) {
  if (!visited_[inst->id]) {
    // A cycle passes through a phi, about which nothing is said but what its shape says.
    visited_[inst->id] = 1;
    tables_[inst->id] = derive(*inst);
  }
  return tables_[inst->id].get();
}

LaneTables::Entry LaneTables::derive(const Inst& inst) {
  if (inst.type != kV32 && inst.type != kV64) return nullptr;
  const unsigned bits = inst.type.bits();
  Entry table;
  if (inst.is_const()) {
    table = std::make_unique<LaneTable>();
    table->step.fill(inst.imm);
    table->zeros = bits;
  } else if (const LaneShape shape = shapes_.of(&inst); shape.group == 64) {
    table = std::make_unique<LaneTable>();
    for (unsigned l = 0; l < 64; ++l) table->step[l] = static_cast<uint64_t>(shape.stride) * l;
    table->zeros = trailing_zeros(shapes_.bits().of(&inst, 64).possible);
  } else {
    table = combine(inst);
  }
  if (!table) return nullptr;
  for (uint64_t& step : table->step) step &= ones(bits);
  table->zeros = std::min(table->zeros, bits);
  return table;
}

LaneTables::Entry LaneTables::combine(const Inst& inst) {
  const auto operand = [&](unsigned i) { return of(inst.operands[i]); };
  const unsigned bits = inst.type.bits();
  const auto result = [&](unsigned zeros, auto&& step) {
    Entry table = std::make_unique<LaneTable>();
    table->zeros = zeros;
    for (unsigned l = 0; l < 64; ++l) table->step[l] = step(l);
    return table;
  };
  // Of u and the steps apart, which have no bits in common.
  const auto bitwise = [&](const LaneTable* a, auto&& of_u, auto&& of_step) -> Entry {
    if (a == nullptr || !a->is_union()) return nullptr;
    return result(of_u(a->zeros), [&](unsigned l) { return of_step(a->step[l]); });
  };
  const auto masked = [&](const LaneTable* a, uint64_t mask) {
    // The bits of u that are left begin at the first one of the mask above its zeros.
    const auto zeros = [&](unsigned z) {
      const uint64_t left = mask & ~ones(z) & ones(bits);
      return left == 0 ? bits : static_cast<unsigned>(std::countr_zero(left));
    };
    return bitwise(a, zeros, [&](uint64_t s) { return s & mask; });
  };
  const auto shifted = [&](const LaneTable* a, unsigned by) {
    return bitwise(
        a, [&](unsigned z) { return z == bits ? bits
                                    : z >= by ? z - by
                                              : 0; }, [&](uint64_t s) { return s >> by; });
  };
  switch (inst.op) {
    case Op::add:
    case Op::sub: {
      const LaneTable *a = operand(0), *b = operand(1);
      if (a == nullptr || b == nullptr) return nullptr;
      const bool minus = inst.op == Op::sub;
      return result(std::min(a->zeros, b->zeros),
                    [&](unsigned l) { return minus ? a->step[l] - b->step[l] : a->step[l] + b->step[l]; });
    }
    case Op::shl: {
      const LaneTable* a = operand(0);
      if (a == nullptr || !inst.operands[1]->is_const()) return nullptr;
      const auto by = static_cast<unsigned>(inst.operands[1]->imm % bits);
      return result(a->zeros + by, [&](unsigned l) { return a->step[l] << by; });
    }
    case Op::mul:
      for (unsigned i = 0; i < 2; ++i) {
        const Inst* factor = inst.operands[1 - i];
        if (!factor->is_const()) continue;
        const LaneTable* a = operand(i);
        if (a == nullptr) return nullptr;
        const unsigned by = factor->imm == 0 ? bits : static_cast<unsigned>(std::countr_zero(factor->imm));
        return result(a->zeros + by, [&](unsigned l) { return a->step[l] * factor->imm; });
      }
      return nullptr;
    case Op::lshr:
      if (!inst.operands[1]->is_const()) return nullptr;
      // Where u has set bits below, they are lost, as they are in the sum.
      return shifted(operand(0), static_cast<unsigned>(inst.operands[1]->imm % bits));
    case Op::bfe_u: {
      if (!inst.operands[1]->is_const() || !inst.operands[2]->is_const()) return nullptr;
      const LaneTable* a = operand(0);
      const auto by = static_cast<unsigned>(inst.operands[1]->imm % bits);
      const uint64_t mask = ones(static_cast<unsigned>(inst.operands[2]->imm % bits));
      return bitwise(
          a, [&](unsigned z) { return z == bits ? bits
                                      : z >= by ? ((mask & ~ones(z - by)) == 0 ? bits : z - by)
                                                : 0; },
          [&](uint64_t s) { return s >> by & mask; });
    }
    case Op::and_:
      for (unsigned i = 0; i < 2; ++i) {
        if (inst.operands[1 - i]->is_const()) return masked(operand(i), inst.operands[1 - i]->imm);
      }
      return nullptr;
    case Op::andn:
      return inst.operands[1]->is_const() ? masked(operand(0), ~inst.operands[1]->imm) : nullptr;
    case Op::or_:
    case Op::xor_: {
      const LaneTable *a = operand(0), *b = operand(1);
      if (a == nullptr || b == nullptr) return nullptr;
      // The steps of both are below the lowest bit of either u.
      const unsigned zeros = std::min(a->zeros, b->zeros);
      Entry table = result(
          zeros, [&](unsigned l) { return inst.op == Op::or_ ? a->step[l] | b->step[l] : a->step[l] ^ b->step[l]; });
      const auto fits = [&](uint64_t s) { return s <= ones(zeros); };
      const bool fit =
          std::all_of(a->step.begin(), a->step.end(), fits) && std::all_of(b->step.begin(), b->step.end(), fits);
      return fit ? std::move(table) : nullptr;
    }
    case Op::select: {
      // Of vectors that depend on the lane's number only.
      if (!inst.operands[0]->is_const()) return nullptr;
      const LaneTable *a = operand(1), *b = operand(2);
      if (a == nullptr || b == nullptr || a->zeros != bits || b->zeros != bits) return nullptr;
      return result(bits, [&](unsigned l) { return (inst.operands[0]->imm >> l & 1) != 0 ? a->step[l] : b->step[l]; });
    }
    case Op::zext64: {
      const LaneTable* a = operand(0);
      if (a == nullptr || !a->is_union()) return nullptr;
      return result(a->zeros == 32 ? 64 : a->zeros, [&](unsigned l) { return a->step[l]; });
    }
    case Op::lo32: {
      const LaneTable* a = operand(0);
      if (a == nullptr) return nullptr;
      return result(a->zeros, [&](unsigned l) { return a->step[l]; });
    }
    default:
      return nullptr;
  }
}

}  // namespace wavejit::ir
