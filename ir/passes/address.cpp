// Address recovery: 64-bit lane addresses that are a uniform base plus a 32-bit lane offset get that form; constants
// move into the instruction; uniform addresses become scalar ones. Indices that are halves of 64-bit sums become 32-bit
// sums.
#include <algorithm>

#include "ir/analysis/known_bits.h"
#include "ir/passes/passes.h"
#include "ir/passes/rewriter.h"

namespace wavejit::ir::passes {
namespace {

constexpr unsigned kMaxAddressDepth = 10;
constexpr size_t kMaxParts = 8;
constexpr uint64_t kMaxOffset = 0xffffffff;

// The sum of all members is the address (mod 2^64).
struct Parts {
  std::vector<std::pair<Inst*, unsigned>> bases;    // i64 << shift
  std::vector<std::pair<Inst*, unsigned>> offsets;  // zext(v32) << shift, below 2^32
  std::vector<Inst*> signed_offsets;                // sext(v32)
  std::vector<std::pair<Inst*, unsigned>> rest;     // v64 << shift
  uint64_t imm = 0;
};

class Splitter {
 public:
  explicit Splitter(Rewriter& rewriter) : r_(rewriter) {}

  // Takes apart (address << shift).
  void split(Inst* address, unsigned shift, unsigned depth) {
    const auto& operands = address->operands;
    if (address->is_const()) {
      parts.imm += address->imm << shift;
      return;
    }
    if (depth == 0) return others(address, shift);
    switch (address->op) {
      case Op::splat64:
        return split_scalar(operands[0], shift, depth - 1);
      case Op::add:
        split(operands[0], shift, depth - 1);
        split(operands[1], shift, depth - 1);
        return;
      case Op::or_:
        // Without common bits it is a sum.
        if ((possible_bits(operands[0]) & possible_bits(operands[1])) == 0) {
          split(operands[0], shift, depth - 1);
          split(operands[1], shift, depth - 1);
          return;
        }
        break;
      case Op::shl:
        if (operands[1]->is_const() && shift + operands[1]->imm % 64 < 32) {
          return split(operands[0], shift + static_cast<unsigned>(operands[1]->imm % 64), depth - 1);
        }
        break;
      case Op::zext64:
        return split_offset(address, operands[0], shift, depth - 1);
      case Op::sext64:
        if (shift == 0) {
          parts.signed_offsets.push_back(operands[0]);
          return;
        }
        break;
      case Op::mul_wide_u:
        if (unsigned_maximum(address) <= kMaxOffset >> shift) {
          parts.offsets.emplace_back(r_.make(Op::mul, {operands[0], operands[1]}), shift);
          return;
        }
        break;
      default:
        break;
    }
    others(address, shift);
  }

  Parts parts;

 private:
  void others(Inst* address, unsigned shift) { parts.rest.emplace_back(address, shift); }

  void split_scalar(Inst* base, unsigned shift, unsigned depth) {
    if (base->is_const()) {
      parts.imm += base->imm << shift;
    } else if (depth > 0 && base->op == Op::add && base->operands[1]->is_const()) {
      parts.imm += base->operands[1]->imm << shift;
      split_scalar(base->operands[0], shift, depth - 1);
    } else {
      parts.bases.emplace_back(base, shift);
    }
  }

  // zext(offset) << shift, where `whole` is zext(offset).
  void split_offset(Inst* whole, Inst* offset, unsigned shift, unsigned depth) {
    if (offset->op == Op::splat) {
      parts.bases.emplace_back(r_.make(Op::zext64, {offset->operands[0]}), shift);
      return;
    }
    if (depth > 0 && offset->op == Op::add) {
      // Only a sum that does not wrap may be taken apart.
      Inst* a = offset->operands[0];
      Inst* b = offset->operands[1];
      if ((b->is_const() || b->op == Op::splat) && unsigned_maximum(a) + unsigned_maximum(b) <= kMaxOffset) {
        if (b->is_const()) {
          parts.imm += b->imm << shift;
        } else {
          parts.bases.emplace_back(r_.make(Op::zext64, {b->operands[0]}), shift);
        }
        if (a->is_const() || a->op == Op::splat || a->op == Op::add) return split_offset(nullptr, a, shift, depth - 1);
        return offset_or_rest(nullptr, a, shift);
      }
    }
    offset_or_rest(whole, offset, shift);
  }
  void offset_or_rest(Inst* whole, Inst* offset, unsigned shift) {
    if (offset->is_const()) {
      parts.imm += offset->imm << shift;
    } else if (unsigned_maximum(offset) <= kMaxOffset >> shift) {
      parts.offsets.emplace_back(offset, shift);
    } else {
      others(whole != nullptr ? whole : r_.make(Op::zext64, {offset}), shift);
    }
  }

  Rewriter& r_;
};

bool fits_imm(uint64_t imm) {
  return static_cast<int64_t>(imm) == static_cast<int32_t>(imm);
}

class Recovery {
 public:
  explicit Recovery(Rewriter& rewriter) : r_(rewriter), function_(rewriter.function()) {}

  void visit(Inst* inst) {
    if (inst->op == Op::load_scalar) return fold_scalar(inst);
    if (inst->op != Op::load && inst->op != Op::store && inst->op != Op::atomic) return;
    switch (inst->mem.form) {
      case AddressForm::vector64:
        // Flat addresses may be apertures, which a sum of parts does not show.
        if (inst->mem.space == Space::global) recover(inst);
        break;
      case AddressForm::base_offset:
      case AddressForm::base_only:
        simplify_global(inst);
        break;
      case AddressForm::lds_offset:
        fold_offset(inst, 1);
        break;
      case AddressForm::scratch_off:
        fold_offset(inst, 2);
        if (inst->operands[2]->is_const(0))
          set_address(Rule::scratch_offset_dropped, inst, AddressForm::scratch_base, {inst->operands[1]});
        break;
      case AddressForm::scratch_base:
        break;
    }
  }

 private:
  // New address operands between mask and data.
  void set_address(Rule rule, Inst* inst, AddressForm form, std::vector<Inst*> address) {
    const unsigned old_count =
        inst->mem.form == AddressForm::base_offset || inst->mem.form == AddressForm::scratch_off ? 2 : 1;
    std::vector<Inst*> operands{inst->operands[0]};
    operands.insert(operands.end(), address.begin(), address.end());
    operands.insert(operands.end(), inst->operands.begin() + 1 + old_count, inst->operands.end());
    // Replaced wholesale: take this instruction off its old operands first.
    for (Inst* operand : inst->operands) {
      const auto it = std::find(operand->users.rbegin(), operand->users.rend(), inst);
      *it = operand->users.back();
      operand->users.pop_back();
    }
    inst->operands = std::move(operands);
    for (Inst* operand : inst->operands) operand->users.push_back(inst);
    inst->mem.form = form;
    r_.note_change(rule);
  }

  Inst* shifted(Inst* value, unsigned shift) {
    return shift == 0 ? value : r_.make(Op::shl, {value, r_.constant(value->type, shift)});
  }

  void recover(Inst* inst) {
    Inst* address = inst->operands[1];
    Splitter splitter(r_);
    splitter.split(address, 0, kMaxAddressDepth);
    Parts& parts = splitter.parts;
    if (parts.bases.size() + parts.offsets.size() + parts.signed_offsets.size() + parts.rest.size() > kMaxParts) return;
    uint64_t imm = static_cast<uint64_t>(inst->mem.imm) + parts.imm;

    // Several offsets are one if their sum stays below 2^32.
    uint64_t bound = 0;
    for (const auto& [offset, shift] : parts.offsets) bound += unsigned_maximum(offset) << shift;
    const bool lane_part = !parts.rest.empty() || bound > kMaxOffset || parts.signed_offsets.size() > 1 ||
                           (!parts.signed_offsets.empty() && !parts.offsets.empty());
    if (lane_part) {
      // The constant still goes into the instruction.
      if (parts.imm != 0 && fits_imm(imm)) rebuild_vector(inst, parts, imm);
      return;
    }
    Inst* offset = nullptr;
    for (const auto& [part, shift] : parts.offsets) {
      Inst* term = shifted(part, shift);
      offset = offset == nullptr ? term : r_.make(Op::add, {offset, term});
    }
    if (!parts.signed_offsets.empty()) {
      // sext(x) = zext(x + 2^31) - 2^31
      offset = r_.make(Op::add, {parts.signed_offsets[0], r_.constant(kV32, 0x80000000)});
      imm -= 0x80000000;
    }
    Inst* base = sum_of_bases(parts, imm);
    inst->mem.imm = static_cast<int64_t>(imm);
    if (offset == nullptr) {
      set_address(Rule::base_alone, inst, AddressForm::base_only, {base});
    } else {
      const Rule rule = parts.signed_offsets.empty() ? Rule::base_and_offset : Rule::signed_offset;
      set_address(rule, inst, AddressForm::base_offset, {base, offset});
    }
  }

  // What does not fit an immediate is added to the base, and taken from `imm`.
  Inst* sum_of_bases(const Parts& parts, uint64_t& imm) {
    Inst* base = nullptr;
    for (const auto& [part, shift] : parts.bases) {
      Inst* term = shifted(part, shift);
      base = base == nullptr ? term : r_.make(Op::add, {base, term});
    }
    if (base == nullptr) {
      base = r_.constant(kI64, fits_imm(imm) ? 0 : imm);
      if (!fits_imm(imm)) imm = 0;
    } else if (!fits_imm(imm)) {
      base = r_.make(Op::add, {base, r_.constant(kI64, imm)});
      imm = 0;
    }
    return base;
  }

  void rebuild_vector(Inst* inst, const Parts& parts, uint64_t imm) {
    Inst* sum = nullptr;
    const auto add = [&](Inst* term) { sum = sum == nullptr ? term : r_.make(Op::add, {sum, term}); };
    for (const auto& [part, shift] : parts.offsets) add(shifted(r_.make(Op::zext64, {part}), shift));
    for (Inst* part : parts.signed_offsets) add(r_.make(Op::sext64, {part}));
    for (const auto& [part, shift] : parts.rest) add(shifted(part, shift));
    uint64_t none = 0;
    if (!parts.bases.empty()) add(r_.make(Op::splat64, {sum_of_bases(parts, none)}));
    inst->mem.imm = static_cast<int64_t>(imm);
    set_address(Rule::vector_constant, inst, AddressForm::vector64, {sum});
  }

  void simplify_global(Inst* inst) {
    Inst* base = inst->operands[1];
    if (base->op == Op::add && base->operands[1]->is_const()) {
      const uint64_t imm = static_cast<uint64_t>(inst->mem.imm) + base->operands[1]->imm;
      if (fits_imm(imm)) {
        inst->mem.imm = static_cast<int64_t>(imm);
        function_.set_operand(inst, 1, base->operands[0]);
        r_.note_change(Rule::base_constant);
      }
    }
    if (inst->mem.form != AddressForm::base_offset) return;
    fold_offset(inst, 2);
    Inst* offset = inst->operands[2];
    if (offset->is_const(0)) {
      set_address(Rule::offset_dropped, inst, AddressForm::base_only, {inst->operands[1]});
    } else if (offset->op == Op::splat) {
      Inst* uniform = r_.make(Op::add, {inst->operands[1], r_.make(Op::zext64, {offset->operands[0]})});
      set_address(Rule::offset_uniform, inst, AddressForm::base_only, {uniform});
    }
  }

  // A constant in the offset goes into the immediate if the sum cannot wrap.
  void fold_offset(Inst* inst, unsigned index) {
    Inst* offset = inst->operands[index];
    uint64_t constant = 0;
    Inst* rest = nullptr;
    if (offset->is_const() && offset->imm != 0) {
      constant = offset->imm;
      rest = r_.constant(kV32, 0);
    } else if (offset->op == Op::add && offset->operands[1]->is_const() &&
               unsigned_maximum(offset->operands[0]) + offset->operands[1]->imm <= kMaxOffset) {
      constant = offset->operands[1]->imm;
      rest = offset->operands[0];
    } else if (offset->op == Op::or_ && offset->operands[1]->is_const() &&
               (possible_bits(offset->operands[0]) & offset->operands[1]->imm) == 0) {
      constant = offset->operands[1]->imm;
      rest = offset->operands[0];
    }
    if (rest == nullptr || !fits_imm(static_cast<uint64_t>(inst->mem.imm) + constant)) return;
    inst->mem.imm += static_cast<int64_t>(constant);
    function_.set_operand(inst, index, rest);
    r_.note_change(Rule::offset_constant);
  }

  void fold_scalar(Inst* inst) {
    Inst* base = inst->operands[0];
    if (base->op == Op::add && base->operands[1]->is_const() && fits_imm(inst->imm + base->operands[1]->imm)) {
      inst->imm += base->operands[1]->imm;
      function_.set_operand(inst, 0, base->operands[0]);
      r_.note_change(Rule::scalar_base_constant);
    }
    if (inst->operands.size() == 2 && inst->operands[1]->is_const() && fits_imm(inst->imm + inst->operands[1]->imm)) {
      inst->imm += inst->operands[1]->imm;
      Inst* old = inst->operands[1];
      old->users.erase(std::find(old->users.begin(), old->users.end(), inst));
      inst->operands.pop_back();
      r_.note_change(Rule::scalar_offset_constant);
    }
  }

  Rewriter& r_;
  Function& function_;
};

// The low half of a 64-bit vector without the 64-bit arithmetic, where all that goes into it has a low half already: an
// index that is the sum of such halves says more about its lanes than half of a sum whose upper half is unknown.
Inst* low_half(Rewriter& r, Inst* value, unsigned depth) {
  const auto both = [&]() -> Inst* {
    Inst* a = low_half(r, value->operands[0], depth - 1);
    Inst* b = a != nullptr ? low_half(r, value->operands[1], depth - 1) : nullptr;
    return b != nullptr ? r.make(value->op, {a, b}) : nullptr;
  };
  switch (value->op) {
    case Op::const_:
      return r.constant(kV32, value->imm);
    case Op::pack64:
    case Op::zext64:
    case Op::sext64:
      return value->operands[0];
    case Op::splat64:
      return r.make(Op::splat, {r.make(Op::lo32, {value->operands[0]})});
    case Op::mul_wide_u:
    case Op::mul_wide_s:
      return r.make(Op::mul, {value->operands[0], value->operands[1]});
    case Op::add:
    case Op::sub:
      return depth > 0 ? both() : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace

PassResult address(Function& function, const PassContext&) {
  Rewriter rewriter(function);
  Recovery recovery(rewriter);
  const bool touched = rewriter.run([&](Inst* inst) -> Replacement {
    recovery.visit(inst);
    if (inst->op != Op::lo32 || inst->type != kV32) return nullptr;
    const bool sum = inst->operands[0]->op == Op::add || inst->operands[0]->op == Op::sub;
    if (!sum) return nullptr;
    return {Rule::index_of_halves, low_half(rewriter, inst->operands[0], 2)};
  });
  return {.changed = touched ? rewriter.clean() : rewriter.changed()};
}

}  // namespace wavejit::ir::passes
