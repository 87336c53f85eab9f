// 64-bit recombination: pairs of 32-bit operations whose results are packed become one 64-bit operation.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/dominators.h"
#include "ir/passes/passes.h"
#include "ir/passes/rewriter.h"
#include "ir/signature.h"

namespace wavejit::ir::passes {
namespace {

constexpr unsigned kMaxPartDepth = 6;

Type wide(Type half) {
  return half == kV32 ? kV64 : kI64;
}

// Instructions that go right behind others, put in place in one walk at the end.
class Placement {
 public:
  explicit Placement(Function& function) : function_(function) {}

  Inst* create_after(Inst* anchor, Rule rule, Op op, Type type, std::vector<Inst*> operands) {
    Inst* inst = function_.create(op, type, std::move(operands));
    inst->parent = anchor->parent;
    inst->guest_pc = anchor->guest_pc;
    after_[anchor].push_back(inst);
    anchor_of_[inst] = anchor;
    created_.emplace_back(inst, rule);
    return inst;
  }
  // The placed instruction this one comes behind: itself unless it is not in its block yet.
  [[nodiscard]] Inst* anchor(Inst* inst) const {
    const auto it = anchor_of_.find(inst);
    return it == anchor_of_.end() ? inst : it->second;
  }
  [[nodiscard]] bool pending() const { return !after_.empty(); }
  [[nodiscard]] size_t created() const { return created_.size(); }
  // Counts what has become part of the function, which attempts that led nowhere have not.
  void count_used() const {
    std::unordered_set<const Inst*> dead;
    for (auto it = created_.rbegin(); it != created_.rend(); ++it) {
      const auto& [inst, rule] = *it;
      const bool used =
          std::any_of(inst->users.begin(), inst->users.end(), [&](const Inst* user) { return !dead.contains(user); });
      if (used) function_.count(rule);
      if (!used) dead.insert(inst);
    }
  }

  void flush() {
    if (!pending()) return;
    std::vector<Inst*> list;
    for (const auto& block : function_.blocks) {
      list.clear();
      std::vector<Inst*> behind_phis;
      for (Inst* inst : block->insts) {
        if (inst->op != Op::phi && !behind_phis.empty()) {
          list.insert(list.end(), behind_phis.begin(), behind_phis.end());
          behind_phis.clear();
        }
        list.push_back(inst);
        if (const auto it = after_.find(inst); it != after_.end()) {
          std::vector<Inst*>& target = inst->op == Op::phi ? behind_phis : list;
          target.insert(target.end(), it->second.begin(), it->second.end());
        }
      }
      block->insts = list;
    }
    after_.clear();
    anchor_of_.clear();
  }

 private:
  Function& function_;
  std::unordered_map<Inst*, std::vector<Inst*>> after_;
  std::unordered_map<Inst*, Inst*> anchor_of_;
  std::vector<std::pair<Inst*, Rule>> created_;
};

class Recombiner {
 public:
  explicit Recombiner(Function& function) : function_(function), dominators_(function), placement_(function) {
    order_.assign(function.num_values(), 0);
    uint32_t position = 0;
    for (const Block* block : dominators_.order()) {
      for (const Inst* inst : block->insts) order_[inst->id] = ++position;
    }
  }

  // Whether run() has left halves of sums of 64 bits because other sums of it are too many.
  [[nodiscard]] bool is_cut_short() const { return is_cut_short_; }

  bool run() {
    std::vector<Inst*> packs, stores;
    for (const Block* block : dominators_.order()) {
      for (Inst* inst : block->insts) {
        if (inst->op == Op::pack64) packs.push_back(inst);
        if (inst->op == Op::store && inst->mem.bytes == 4 && inst->mem.count >= 2) stores.push_back(inst);
      }
    }
    bool changed = false;
    for (Inst* pack : packs) {
      if (pack->parent == nullptr || pack->users.empty()) continue;
      Inst* lo = pack->operands[0];
      Inst* hi = pack->operands[1];
      Inst* whole = combine(lo, hi, kMaxPartDepth);
      if (whole == nullptr || whole == pack) continue;
      function_.replace_all_uses(pack, whole);
      function_.count(Rule::pack_replaced);
      use_halves_of(whole, lo, hi);
      changed = true;
    }
    for (Inst* store : stores) changed |= combine_stored(*store);
    placement_.count_used();
    placement_.flush();
    // Also what attempts have left behind.
    return function_.sweep() != placement_.created() || changed;
  }

 private:
  using Pair = std::pair<Inst*, Inst*>;
  struct PairHash {
    size_t operator()(const Pair& pair) const { return pair.first->id * 0x9e3779b97f4a7c15ull ^ pair.second->id; }
  };

  // Sums that are stored half by half, without a pack anywhere.
  bool combine_stored(const Inst& store) {
    bool changed = false;
    for (size_t i = store.operands.size() - store.mem.count; i + 1 < store.operands.size(); ++i) {
      Inst* lo = store.operands[i];
      Inst* hi = store.operands[i + 1];
      if (lo->op != Op::add || hi->op != Op::addc) continue;
      const Inst* carry = hi->operands[2];
      if (carry->op != Op::addc_carry) continue;
      // Only where the addends are 64-bit values already, or sums in turn.
      const Inst *a = carry->operands[0], *b = carry->operands[1];
      const Inst *x = hi->operands[0], *y = hi->operands[1];
      if (std::max(natural(a, x) + natural(b, y), natural(a, y) + natural(b, x)) < 3) continue;
      Inst* whole = combine(lo, hi, kMaxPartDepth);
      if (whole == nullptr) continue;
      if (!use_halves_of(whole, lo, hi)) continue;
      function_.count(Rule::stored_sum);
      changed = true;
    }
    return changed;
  }

  // Position of an instruction, placed ones counting as their anchor; both must be on one path of the dominator tree.
  [[nodiscard]] uint32_t position(Inst* inst) const {
    Inst* anchor = placement_.anchor(inst);
    return anchor->id < order_.size() ? order_[anchor->id] : 0;
  }
  // Whichever is computed last. One dominates the other, as both reach a common user.
  [[nodiscard]] Inst* later(Inst* a, Inst* b) const { return placement_.anchor(position(a) >= position(b) ? a : b); }

  Inst* create(Inst* anchor, Rule rule, Op op, Type type, std::vector<Inst*> operands) {
    return placement_.create_after(anchor, rule, op, type, std::move(operands));
  }
  Inst* constant(Inst* anchor, Rule rule, Type type, uint64_t bits) {
    Inst* inst = create(anchor, rule, Op::const_, type, {});
    inst->imm = truncate_to(type, bits);
    return inst;
  }

  // The 64-bit value with these halves if it can be had without packing; placed behind the later of the two. Null
  // otherwise.
  Inst* combine(Inst* lo, Inst* hi, unsigned depth) {
    if (const auto it = known_.find({lo, hi}); it != known_.end()) return it->second;
    Inst* result = combine_uncached(lo, hi, depth);
    // A failure for want of depth says nothing about other queries.
    if (result != nullptr || depth == kMaxPartDepth) known_.emplace(Pair{lo, hi}, result);
    return result;
  }

  // The same, packing if need be.
  Inst* combine_or_pack(Inst* anchor, Inst* lo, Inst* hi, unsigned depth) {
    if (Inst* whole = combine(lo, hi, depth)) return whole;
    Inst* inst = create(anchor, Rule::pair_packed, Op::pack64, wide(lo->type), {lo, hi});
    return inst;
  }

  Inst* combine_uncached(Inst* lo, Inst* hi, unsigned depth) {
    if (lo->op == Op::lo32 && hi->op == Op::hi32 && lo->operands[0] == hi->operands[0]) return lo->operands[0];
    Inst* anchor = later(lo, hi);
    const Type type = wide(lo->type);
    if (lo->is_const() && hi->is_const())
      return constant(anchor, Rule::pair_of_constants, type, lo->imm | hi->imm << 32);
    if (hi->is_const(0)) return create(anchor, Rule::pair_with_zero, Op::zext64, type, {lo});
    if (hi->op == Op::ashr && hi->operands[0] == lo && hi->operands[1]->is_const(31))
      return create(anchor, Rule::pair_with_sign, Op::sext64, type, {lo});
    if (lo->op == Op::splat && hi->op == Op::splat) return splat_pair(anchor, lo->operands[0], hi->operands[0], depth);
    if (lo->op == Op::splat && hi->is_const()) return splat_pair(anchor, lo->operands[0], nullptr, depth, hi->imm);
    if (lo->op == Op::get_sgpr && hi->op == Op::get_sgpr) return read_pair(lo, hi);
    if (depth == 0) {
      is_cut_short_ |= lo->op == Op::add && hi->op == Op::addc;
      return nullptr;
    }
    if (Inst* product = long_product(anchor, lo, hi, depth - 1)) return product;
    if (lo->op == Op::add && hi->op == Op::addc) return add_pair(anchor, lo, hi, depth - 1);
    if ((lo->op == Op::sub || lo->op == Op::add) && hi->op == Op::subb) return subtract_pair(anchor, lo, hi, depth - 1);
    if (lo->op == Op::mul && (hi->op == Op::mulhi_u || hi->op == Op::mulhi_s)) return multiply_pair(anchor, lo, hi);
    if (lo->op == hi->op) return same_operation(anchor, lo, hi, depth - 1);
    return half_of_shift(anchor, lo, hi);
  }

  Inst* splat_pair(Inst* anchor, Inst* lo, Inst* hi, unsigned depth, uint64_t high_bits = 0) {
    if (hi == nullptr) hi = constant(anchor, Rule::pair_of_splats, kI32, high_bits);
    Inst* scalar = depth == 0 ? nullptr : combine(lo, hi, depth - 1);
    if (scalar == nullptr) scalar = create(anchor, Rule::pair_packed, Op::pack64, kI64, {lo, hi});
    return create(anchor, Rule::pair_of_splats, Op::splat64, kV64, {scalar});
  }

  // Two reads of neighbouring scalar registers with no write of registers between them.
  Inst* read_pair(Inst* lo, Inst* hi) {
    if (hi->imm != lo->imm + 1 || lo->parent != hi->parent) return nullptr;
    const uint32_t first = std::min(position(lo), position(hi));
    const uint32_t last = std::max(position(lo), position(hi));
    for (const Inst* inst : lo->parent->insts) {
      if (inst->id >= order_.size() || order_[inst->id] <= first) continue;
      if (order_[inst->id] >= last) break;
      const bool writes = inst->op == Op::set_sgpr || inst->op == Op::set_sgpr64 || inst->op == Op::set_mask;
      if (writes) return nullptr;
    }
    Inst* whole = create(later(lo, hi), Rule::pair_of_reads, Op::get_sgpr64, kI64, {});
    whole->imm = lo->imm;
    return whole;
  }

  static bool no_carry(const Inst* carry) { return carry->is_const(0); }

  // Whether sum = a + b, seen through constants that were added up.
  static bool is_sum(const Inst* sum, const Inst* a, const Inst* b) {
    const auto split = [](const Inst* x) -> std::pair<const Inst*, uint64_t> {
      if (x->op == Op::add && x->operands[1]->is_const()) return {x->operands[0], x->operands[1]->imm};
      return {x, 0};
    };
    if (sum->op != Op::add) return false;
    const auto same = [&](const Inst* x, const Inst* y) { return sum->operands[0] == x && sum->operands[1] == y; };
    if (same(a, b) || same(b, a)) return true;
    if (!b->is_const()) return false;
    const auto [base, constant] = split(sum);
    const auto [base_of_a, constant_of_a] = split(a);
    return base == base_of_a && static_cast<uint32_t>(constant) == static_cast<uint32_t>(constant_of_a + b->imm);
  }

  // lo = a0 + b0, hi = a1 + b1 + carry(a0 + b0)
  Inst* add_pair(Inst* anchor, Inst* lo, Inst* hi, unsigned depth) {
    Inst* carry = hi->operands[2];
    if (carry->op == Op::addc_carry && no_carry(carry->operands[2]) &&
        is_sum(lo, carry->operands[0], carry->operands[1])) {
      return add_halves(anchor, carry->operands[0], carry->operands[1], hi, depth);
    }
    // The carry as unsigned compare: a + b < a.
    const bool less =
        carry->op == Op::icmp && carry->attr == static_cast<uint32_t>(ICmp::ult) && carry->operands[0] == lo;
    const bool of_addend = less && (carry->operands[1] == lo->operands[0] || carry->operands[1] == lo->operands[1]);
    return of_addend ? add_halves(anchor, lo->operands[0], lo->operands[1], hi, depth) : nullptr;
  }
  Inst* add_halves(Inst* anchor, Inst* a0, Inst* b0, Inst* hi, unsigned depth) {
    // Which high half belongs to which low half is free; the choice that packs better wins.
    Inst* a1 = hi->operands[0];
    Inst* b1 = hi->operands[1];
    const auto score = [&](Inst* x0, Inst* x1, Inst* y0, Inst* y1) { return natural(x0, x1) + natural(y0, y1); };
    if (score(a0, b1, b0, a1) > score(a0, a1, b0, b1)) std::swap(a1, b1);
    return create(anchor, Rule::pair_of_sums, Op::add, wide(hi->type),
                  {combine_or_pack(anchor, a0, a1, depth), combine_or_pack(anchor, b0, b1, depth)});
  }
  // lo = a0 - b0, hi = a1 - b1 - borrow(a0 - b0); a constant b0 has become an addition, and the borrow a compare.
  Inst* subtract_pair(Inst* anchor, Inst* lo, Inst* hi, unsigned depth) {
    Inst* borrow = hi->operands[2];
    const bool subtraction = borrow->op == Op::subb_borrow && no_carry(borrow->operands[2]);
    const bool compare = borrow->op == Op::icmp && borrow->attr == static_cast<uint32_t>(ICmp::ult);
    if (!subtraction && !compare) return nullptr;
    Inst* a0 = borrow->operands[0];
    Inst* b0 = borrow->operands[1];
    bool matches = lo->op == Op::sub && lo->operands[0] == a0 && lo->operands[1] == b0;
    if (b0->is_const()) {
      Inst negated;
      negated.op = Op::const_;
      negated.imm = static_cast<uint32_t>(0 - b0->imm);
      matches = matches || is_sum(lo, a0, &negated);
    }
    if (!matches) return nullptr;
    return create(
        anchor, Rule::pair_of_differences, Op::sub, wide(lo->type),
        {combine_or_pack(anchor, a0, hi->operands[0], depth), combine_or_pack(anchor, b0, hi->operands[1], depth)});
  }
  // How well two halves go together, without building anything.
  static int natural(const Inst* lo, const Inst* hi) {
    if (lo->op == Op::lo32 && hi->op == Op::hi32) return lo->operands[0] == hi->operands[0] ? 3 : 0;
    if (lo->is_const() && hi->is_const()) return 3;
    if (lo->op == Op::splat && hi->op == Op::splat) return 3;
    if (hi->is_const(0)) return 2;
    if (hi->op == Op::ashr && hi->operands[0] == lo) return 3;
    if (lo->op == hi->op || (lo->op == Op::add && hi->op == Op::addc)) return 1;
    return 0;
  }

  Inst* multiply_pair(Inst* anchor, Inst* lo, Inst* hi) {
    const bool same = lo->operands[0] == hi->operands[0] && lo->operands[1] == hi->operands[1];
    const bool swapped = lo->operands[0] == hi->operands[1] && lo->operands[1] == hi->operands[0];
    if (!same && !swapped) return nullptr;
    return create(anchor, Rule::pair_of_products, hi->op == Op::mulhi_u ? Op::mul_wide_u : Op::mul_wide_s,
                  wide(lo->type), {lo->operands[0], lo->operands[1]});
  }

  static bool same(const Inst* a, const Inst* b) {
    return a == b || (a->is_const() && b->is_const() && a->type == b->type && a->imm == b->imm);
  }
  static bool is_low_half(const Inst* low, const Inst* whole) {
    if (low->op == Op::lo32 && low->operands[0] == whole) return true;
    if (low->is_const() && whole->is_const()) return low->imm == (whole->imm & UINT32_MAX);
    const bool made = whole->op == Op::pack64 || whole->op == Op::zext64 || whole->op == Op::sext64;
    return made && same(whole->operands[0], low);
  }

  // A sum of 32-bit products and of the upper half of the product of the lower halves; and what is added to that product.
  struct LongProduct {
    Inst* product = nullptr;     // the wide product of a and b, or the upper half of it alone
    Inst* whole = nullptr;       // the product, or its sum with `addend`; null: there is only the upper half
    Inst* addend = nullptr;      // may be null
    std::vector<Inst*> crosses;  // products of an upper and a lower half
  };
  static bool add_terms(Inst* term, LongProduct& found, unsigned depth) {
    if (term->op == Op::add && depth != 0)
      return add_terms(term->operands[0], found, depth - 1) && add_terms(term->operands[1], found, depth - 1);
    if (term->op == Op::mul) {
      found.crosses.push_back(term);
      return true;
    }
    if (found.product != nullptr) return false;
    if (term->op == Op::mulhi_u) {
      found.product = term;
      return true;
    }
    if (term->op != Op::hi32) return false;
    Inst* whole = found.whole = term->operands[0];
    if (whole->op == Op::mul_wide_u) {
      found.product = whole;
    } else if (whole->op == Op::add) {
      const unsigned of = whole->operands[0]->op == Op::mul_wide_u ? 0 : 1;
      found.product = whole->operands[of];
      found.addend = whole->operands[1 - of];
    }
    return found.product != nullptr && found.product->op == Op::mul_wide_u;
  }
  static bool is_product(const Inst* value, const Inst* a, const Inst* b) {
    return value->op == Op::mul && ((same(value->operands[0], a) && same(value->operands[1], b)) ||
                                    (same(value->operands[0], b) && same(value->operands[1], a)));
  }

  // lo = low half of a * b + k, hi = high half of that + c * b + a * d: (a and c) * (b and d) + k.
  Inst* long_product(Inst* anchor, Inst* lo, Inst* hi, unsigned depth) {
    LongProduct found;
    if (hi->op != Op::add || !add_terms(hi, found, 2) || found.product == nullptr) return nullptr;
    Inst *const a = found.product->operands[0], *const b = found.product->operands[1];
    Inst *of_a = nullptr, *of_b = nullptr;  // upper halves
    for (const Inst* cross : found.crosses) {
      Inst *x = cross->operands[0], *y = cross->operands[1];
      if (of_a == nullptr && same(y, b)) {
        of_a = x;
      } else if (of_a == nullptr && same(x, b)) {
        of_a = y;
      } else if (of_b == nullptr && same(y, a)) {
        of_b = x;
      } else if (of_b == nullptr && same(x, a)) {
        of_b = y;
      } else {
        return nullptr;
      }
    }
    if (of_a == nullptr && of_b == nullptr) return nullptr;
    const auto is_low_product = [&](const Inst* value) {
      return is_product(value, a, b) || (value->op == Op::lo32 && value->operands[0] == found.product);
    };
    bool low = lo->op == Op::lo32 && lo->operands[0] == found.whole;
    if (found.addend == nullptr) {
      low = low || is_low_product(lo);
    } else if (lo->op == Op::add) {
      low = low || (is_low_product(lo->operands[0]) && is_low_half(lo->operands[1], found.addend)) ||
            (is_low_product(lo->operands[1]) && is_low_half(lo->operands[0], found.addend));
    }
    if (!low) return nullptr;
    const Type type = wide(lo->type);
    const auto factor = [&](Inst* lower, Inst* upper) {
      if (upper != nullptr) return combine_or_pack(anchor, lower, upper, depth);
      if (lower->is_const()) return constant(anchor, Rule::long_product, type, lower->imm);
      return create(anchor, Rule::long_product, Op::zext64, type, {lower});
    };
    Inst* product = create(anchor, Rule::long_product, Op::mul, type, {factor(a, of_a), factor(b, of_b)});
    if (found.addend == nullptr) return product;
    return create(anchor, Rule::long_product, Op::add, type, {product, found.addend});
  }

  Inst* same_operation(Inst* anchor, Inst* lo, Inst* hi, unsigned depth) {
    switch (lo->op) {
      case Op::not_: {
        Inst* whole = combine(lo->operands[0], hi->operands[0], depth);
        return whole == nullptr ? nullptr : create(anchor, Rule::pair_of_bitwise, Op::not_, whole->type, {whole});
      }
      case Op::and_:
      case Op::or_:
      case Op::xor_:
      case Op::andn: {
        Inst* b0 = hi->operands[0];
        Inst* b1 = hi->operands[1];
        const bool commutes = lo->op != Op::andn;
        if (commutes && natural(lo->operands[0], b1) + natural(lo->operands[1], b0) >
                            natural(lo->operands[0], b0) + natural(lo->operands[1], b1)) {
          std::swap(b0, b1);
        }
        // With one pack left it is as many instructions as before, and the result is whole.
        Inst* x = combine(lo->operands[0], b0, depth);
        Inst* y = combine(lo->operands[1], b1, depth);
        if (x == nullptr && y == nullptr) return nullptr;
        if (x == nullptr) x = create(anchor, Rule::pair_packed, Op::pack64, wide(lo->type), {lo->operands[0], b0});
        if (y == nullptr) y = create(anchor, Rule::pair_packed, Op::pack64, wide(lo->type), {lo->operands[1], b1});
        return create(anchor, Rule::pair_of_bitwise, lo->op, x->type, {x, y});
      }
      case Op::select: {
        if (lo->operands[0] != hi->operands[0]) return nullptr;
        Inst* x = combine(lo->operands[1], hi->operands[1], depth);
        Inst* y = combine(lo->operands[2], hi->operands[2], depth);
        if (x == nullptr && y == nullptr) return nullptr;
        if (x == nullptr)
          x = create(anchor, Rule::pair_packed, Op::pack64, wide(lo->type), {lo->operands[1], hi->operands[1]});
        if (y == nullptr)
          y = create(anchor, Rule::pair_packed, Op::pack64, wide(lo->type), {lo->operands[2], hi->operands[2]});
        return create(anchor, Rule::pair_of_selects, Op::select, x->type, {lo->operands[0], x, y});
      }
      default:
        return nullptr;
    }
  }

  // (lo << c, alignbit(hi, lo, 32 - c)) is a 64-bit shift left, and so on.
  Inst* half_of_shift(Inst* anchor, Inst* lo, Inst* hi) {
    const Type type = wide(lo->type);
    if (lo->op == Op::shl && hi->op == Op::alignbit && lo->operands[1]->is_const() && hi->operands[2]->is_const()) {
      const uint64_t amount = lo->operands[1]->imm % 32;
      if (amount == 0 || hi->operands[2]->imm % 32 != 32 - amount || hi->operands[1] != lo->operands[0]) return nullptr;
      Inst* whole = combine_or_pack(anchor, lo->operands[0], hi->operands[0], 1);
      return create(anchor, Rule::pair_of_left_shifts, Op::shl, type,
                    {whole, constant(anchor, Rule::pair_of_left_shifts, type, amount)});
    }
    if (lo->op == Op::alignbit && (hi->op == Op::lshr || hi->op == Op::ashr) && lo->operands[2]->is_const() &&
        hi->operands[1]->is_const()) {
      const uint64_t amount = hi->operands[1]->imm % 32;
      if (amount == 0 || lo->operands[2]->imm % 32 != amount || lo->operands[0] != hi->operands[0]) return nullptr;
      Inst* whole = combine_or_pack(anchor, lo->operands[1], hi->operands[0], 1);
      return create(anchor, Rule::pair_of_right_shifts, hi->op, type,
                    {whole, constant(anchor, Rule::pair_of_right_shifts, type, amount)});
    }
    return nullptr;
  }

  // Who used the halves behind the new value now takes its halves, so that later packs and phis see that they belong
  // together.
  bool use_halves_of(Inst* whole, Inst* lo, Inst* hi) {
    if (whole->op == Op::zext64 || whole->op == Op::sext64 || whole->op == Op::splat64 || whole->is_const())
      return false;
    if (lo->op == Op::lo32 || lo->is_const() || hi->is_const()) return false;
    Inst* anchor = placement_.anchor(whole);
    if (anchor->id >= order_.size()) return false;
    bool changed = false;
    for (Inst* half : {lo, hi}) {
      Inst* part = nullptr;
      const std::vector<Inst*> users = half->users;
      for (Inst* user : users) {
        if (user == whole || user->parent == nullptr || user->id >= order_.size() || !behind(anchor, user, half))
          continue;
        if (part == nullptr)
          part = create(anchor, Rule::halves_from_whole, half == lo ? Op::lo32 : Op::hi32, half->type, {whole});
        for (unsigned i = 0; i < user->operands.size(); ++i) {
          if (user->operands[i] == half && operand_behind(anchor, user, i)) {
            function_.set_operand(user, i, part);
            changed = true;
          }
        }
      }
    }
    return changed;
  }
  bool behind(Inst* anchor, Inst* user, Inst* half) const {
    for (unsigned i = 0; i < user->operands.size(); ++i) {
      if (user->operands[i] == half && operand_behind(anchor, user, i)) return true;
    }
    return false;
  }
  // Whether a value placed behind the anchor is available to that operand.
  bool operand_behind(Inst* anchor, Inst* user, unsigned index) const {
    if (user->op == Op::phi) return dominators_.dominates(anchor->parent, user->parent->predecessors[index]);
    if (user->parent != anchor->parent) return dominators_.dominates(anchor->parent, user->parent);
    return anchor->op == Op::phi ? user->op != Op::phi : order_[user->id] > order_[anchor->id];
  }

  Function& function_;
  Dominators dominators_;
  Placement placement_;
  std::vector<uint32_t> order_;
  std::unordered_map<Pair, Inst*, PairHash> known_;
  bool is_cut_short_ = false;
};

}  // namespace

PassResult recombine(Function& function, const PassContext&) {
  bool changed = drop_unreachable(function);
  // Where a chain of sums is longer than one run looks, the next one goes on.
  constexpr unsigned kMostRuns = 16;
  for (unsigned run = 0; run < kMostRuns; ++run) {
    Recombiner recombiner(function);
    changed |= recombiner.run();
    if (!recombiner.is_cut_short()) break;
  }
  return {.changed = changed};
}

}  // namespace wavejit::ir::passes
