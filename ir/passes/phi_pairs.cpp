// Phis of register halves that belong together become one 64-bit phi, and 64-bit numbers that are masks at heart become
// phis of masks. Both start from the assumption that everything that could be changed is, so that loops do not stand in
// their own way.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/dominators.h"
#include "ir/matrix.h"
#include "ir/passes/passes.h"
#include "ir/passes/phi_editor.h"
#include "ir/signature.h"

namespace wavejit::ir::passes {
namespace {

constexpr unsigned kMaxPairDepth = 5;

class Pairing {
 public:
  explicit Pairing(Function& function) : function_(function), dominators_(function) {}

  bool run() {
    for (const Block* block : dominators_.order()) {
      for (Inst* inst : block->insts) {
        if (inst->op == Op::pack64) propose(inst->operands[0], inst->operands[1]);
        if (is_matrix_op(inst->op) && inst->type == kV64) propose_halves(*inst);
      }
    }
    if (pairs_.empty()) return false;
    for (size_t i = 0; i < pairs_.size(); ++i) close_over(i);  // grows the list
    for (bool changed = true; changed;) {
      changed = false;
      for (Pair& pair : pairs_) {
        if (pair.viable && !viable(pair)) {
          pair.viable = false;
          changed = true;
        }
      }
    }
    return materialise();
  }

 private:
  struct Pair {
    Inst* lo;
    Inst* hi;
    bool viable = true;
    Inst* whole = nullptr;
  };

  // Each half belongs to at most one pair.
  void propose(Inst* lo, Inst* hi) {
    if (lo->op != Op::phi || hi->op != Op::phi || lo->parent != hi->parent || lo == hi) return;
    if (index_.contains(lo) || index_.contains(hi)) return;
    index_[lo] = index_[hi] = pairs_.size();
    pairs_.push_back({lo, hi});
  }
  // Of a matrix product, phis behind a loop: in the loop nothing else may want the halves.
  void propose_halves(const Inst& value) {
    for (Inst* lo : value.users) {
      if (lo->op != Op::lo32) continue;
      for (Inst* hi : value.users) {
        if (hi->op != Op::hi32) continue;
        for (Inst* phi : lo->users) {
          if (phi->op != Op::phi) continue;
          const size_t at = std::find(phi->operands.begin(), phi->operands.end(), lo) - phi->operands.begin();
          for (Inst* other : hi->users) {
            if (other->op == Op::phi && other->parent == phi->parent && other->operands[at] == hi) propose(phi, other);
          }
        }
      }
    }
  }
  void close_over(size_t index) {
    for (size_t i = 0; i < pairs_[index].lo->operands.size(); ++i) {
      propose_within(pairs_[index].lo->operands[i], pairs_[index].hi->operands[i], kMaxPairDepth);
    }
  }
  void propose_within(Inst* lo, Inst* hi, unsigned depth) {
    propose(lo, hi);
    if (depth == 0) return;
    if (lo->op == Op::select && hi->op == Op::select && lo->operands[0] == hi->operands[0]) {
      propose_within(lo->operands[1], hi->operands[1], depth - 1);
      propose_within(lo->operands[2], hi->operands[2], depth - 1);
    } else if ((lo->op == Op::add && hi->op == Op::addc) || (lo->op == Op::sub && hi->op == Op::subb) ||
               (lo->op == hi->op && bitwise(lo->op))) {
      propose_within(lo->operands[0], hi->operands[0], depth - 1);
      if (lo->operands.size() > 1) propose_within(lo->operands[1], hi->operands[1], depth - 1);
    }
  }
  static bool bitwise(Op op) {
    return op == Op::and_ || op == Op::or_ || op == Op::xor_ || op == Op::andn || op == Op::not_;
  }

  const Pair* find(const Inst* lo, const Inst* hi) const {
    const auto it = index_.find(lo);
    if (it == index_.end()) return nullptr;
    const Pair& pair = pairs_[it->second];
    return pair.lo == lo && pair.hi == hi && pair.viable ? &pair : nullptr;
  }

  // Whether the two exist, or can be computed, as one 64-bit value.
  bool whole(const Inst* lo, const Inst* hi, unsigned depth) const {
    if (lo->op == Op::lo32 && hi->op == Op::hi32 && lo->operands[0] == hi->operands[0]) return true;
    if (lo->is_const() && hi->is_const()) return true;
    if (hi->is_const(0) || (hi->op == Op::ashr && hi->operands[0] == lo)) return true;
    if (lo->op == Op::splat && (hi->op == Op::splat || hi->is_const())) return true;
    if (find(lo, hi) != nullptr) return true;
    if (depth == 0) return false;
    const auto operands = [&](unsigned i) { return whole(lo->operands[i], hi->operands[i], depth - 1); };
    if (lo->op == Op::select && hi->op == Op::select && lo->operands[0] == hi->operands[0])
      return operands(1) && operands(2);
    if (lo->op == Op::add && hi->op == Op::addc) return operands(0) || operands(1);
    if (lo->op == Op::sub && hi->op == Op::subb) return operands(0) || operands(1);
    if (lo->op == hi->op && bitwise(lo->op)) return operands(0) && (lo->operands.size() == 1 || operands(1));
    if (lo->op == Op::mul && (hi->op == Op::mulhi_u || hi->op == Op::mulhi_s)) return true;
    return false;
  }

  // Values that come around a loop must be whole already; elsewhere packing is paid once.
  bool viable(const Pair& pair) const {
    const Block* block = pair.lo->parent;
    bool some = false;
    for (size_t i = 0; i < pair.lo->operands.size(); ++i) {
      const bool good = whole(pair.lo->operands[i], pair.hi->operands[i], kMaxPairDepth);
      const bool around = dominators_.dominates(block, block->predecessors[i]);
      if (around && !good) return false;
      some |= good;
    }
    return some;
  }

  Inst* whole_at_end(PhiEditor& editor, Block* block, Inst* lo, Inst* hi) {
    if (const Pair* pair = find(lo, hi)) return pair->whole;
    if (lo->op == Op::lo32 && hi->op == Op::hi32 && lo->operands[0] == hi->operands[0]) return lo->operands[0];
    const Type type = lo->type == kV32 ? kV64 : kI64;
    if (lo->is_const() && hi->is_const()) return editor.at_end(block, Op::const_, type, {}, lo->imm | hi->imm << 32);
    return editor.at_end(block, Op::pack64, type, {lo, hi});
  }

  bool materialise() {
    PhiEditor editor(function_);
    bool some = false;
    for (Pair& pair : pairs_) {
      if (!pair.viable) continue;
      function_.count(Rule::phi_pair);
      pair.whole = editor.new_phi(pair.lo->parent, pair.lo->type == kV32 ? kV64 : kI64);
      some = true;
    }
    if (!some) return false;
    for (Pair& pair : pairs_) {
      if (!pair.viable) continue;
      for (size_t i = 0; i < pair.lo->operands.size(); ++i) {
        Block* from = pair.lo->parent->predecessors[i];
        editor.add_operand(pair.whole, whole_at_end(editor, from, pair.lo->operands[i], pair.hi->operands[i]));
      }
    }
    for (Pair& pair : pairs_) {
      if (!pair.viable) continue;
      Block* block = pair.lo->parent;
      function_.replace_all_uses(pair.lo, editor.behind_phis(block, Op::lo32, pair.lo->type, {pair.whole}));
      function_.replace_all_uses(pair.hi, editor.behind_phis(block, Op::hi32, pair.hi->type, {pair.whole}));
    }
    editor.flush();
    return true;
  }

  Function& function_;
  Dominators dominators_;
  std::vector<Pair> pairs_;
  std::unordered_map<const Inst*, size_t> index_;
};

// i64 phis of masks.
class MaskPhis {
 public:
  explicit MaskPhis(Function& function) : function_(function), dominators_(function) {}

  bool run() {
    for (const Block* block : dominators_.order()) {
      for (Inst* inst : block->insts) {
        if (inst->op != Op::phi) break;
        if (inst->type == kI64) candidates_.emplace(inst, nullptr);
      }
    }
    for (bool changed = true; changed;) {
      changed = std::erase_if(candidates_, [&](const auto& item) { return !viable(item.first); }) > 0;
    }
    // Without a mask anywhere among what flows in there is nothing to gain; constants and phis alone stay numbers.
    std::unordered_set<Inst*> useful;
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [phi, unused] : candidates_) {
        if (useful.contains(phi)) continue;
        const bool gains = std::any_of(phi->operands.begin(), phi->operands.end(), [&](Inst* operand) {
          return operand->op == Op::mask_to_i64 || useful.contains(operand);
        });
        if (gains) changed |= useful.insert(phi).second;
      }
    }
    std::erase_if(candidates_, [&](const auto& item) { return !useful.contains(item.first); });
    return materialise();
  }

 private:
  bool viable(const Inst* phi) const {
    const bool wanted = std::any_of(phi->users.begin(), phi->users.end(), [&](Inst* user) {
      return user->op == Op::i64_to_mask || candidates_.contains(user);
    });
    if (!wanted) return false;
    for (size_t i = 0; i < phi->operands.size(); ++i) {
      Inst* operand = phi->operands[i];
      const bool good = operand->op == Op::mask_to_i64 || operand->is_const() || candidates_.contains(operand);
      if (!good && dominators_.dominates(phi->parent, phi->parent->predecessors[i])) return false;
    }
    return true;
  }

  bool materialise() {
    if (candidates_.empty()) return false;
    PhiEditor editor(function_);
    // By position, so that the result does not depend on addresses.
    std::vector<Inst*> list;
    for (const Block* block : dominators_.order()) {
      for (Inst* inst : block->insts) {
        if (inst->op == Op::phi && candidates_.contains(inst)) list.push_back(inst);
      }
    }
    for (Inst* phi : list) {
      function_.count(Rule::mask_phi);
      candidates_[phi] = editor.new_phi(phi->parent, kMask);
    }
    for (Inst* phi : list) {
      for (size_t i = 0; i < phi->operands.size(); ++i) {
        Inst* operand = phi->operands[i];
        Block* from = phi->parent->predecessors[i];
        Inst* mask = nullptr;
        if (const auto it = candidates_.find(operand); it != candidates_.end()) {
          mask = it->second;
        } else if (operand->op == Op::mask_to_i64) {
          mask = operand->operands[0];
        } else if (operand->is_const()) {
          mask = editor.at_end(from, Op::const_, kMask, {}, operand->imm);
        } else {
          mask = editor.at_end(from, Op::i64_to_mask, kMask, {operand});
        }
        editor.add_operand(candidates_[phi], mask);
      }
    }
    for (Inst* phi : list) {
      function_.replace_all_uses(phi, editor.behind_phis(phi->parent, Op::mask_to_i64, kI64, {candidates_[phi]}));
    }
    editor.flush();
    return true;
  }

  Function& function_;
  Dominators dominators_;
  std::unordered_map<Inst*, Inst*> candidates_;
};

}  // namespace

PassResult phi_pairs(Function& function, const PassContext&) {
  const bool dropped = drop_unreachable(function);
  const bool pairs = Pairing(function).run();
  if (pairs) function.sweep();
  const bool masks = MaskPhis(function).run();
  if (masks) function.sweep();
  return {.changed = pairs || masks || dropped};
}

}  // namespace wavejit::ir::passes
