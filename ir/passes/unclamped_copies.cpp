// Copies of blocks for the waves that have all lanes on and no index at its bounds.
//
// Image filters clamp the index of each neighbour to the edges of the image. Inside of it no clamp does anything; then
// the addresses are sums of a few common numbers and constants, which go into the instructions, and all lanes are
// active. One test in front of the block asks for that: each index between its bounds, and numbers small enough that
// 32-bit sums of them do not wrap, so that what is extended to 64 bits may be taken apart. Where lanes differ by constants,
// two lanes are looked at (LaneEnds).
#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <tuple>
#include <unordered_map>

#include "ir/clone.h"
#include "ir/passes/lane_ends.h"
#include "ir/passes/passes.h"

namespace wavejit::ir::passes {
namespace {

// Accesses with clamped indices that make a copy worth its code.
constexpr unsigned kMinAccesses = 3;
// Numbers are tested to be within +-kFar, constants are checked to be within +-kNear: sums of kMaxWeight of the former
// and one of the latter stay in 32 bits.
constexpr int64_t kFar = int64_t{1} << 27;
constexpr int64_t kNear = int64_t{1} << 26;
constexpr int64_t kMaxWeight = 15;
constexpr unsigned kMaxIndexDepth = 24;
constexpr size_t kMaxIndexTerms = 8;
constexpr size_t kMaxUnclamped = 2000;

// v * s, either may be left out: a v32 in each lane, an i32 of all lanes.
struct Number {
  Inst* v = nullptr;
  Inst* s = nullptr;
  bool operator<(const Number& other) const { return key() < other.key(); }
  bool operator==(const Number& other) const { return key() == other.key(); }

 private:
  [[nodiscard]] std::pair<uint64_t, uint64_t> key() const {
    return {v != nullptr ? v->id + uint64_t{1} : 0, s != nullptr ? s->id + uint64_t{1} : 0};
  }
};

// The sum of all terms and the constant.
struct Linear {
  std::map<Number, int64_t> terms;
  int64_t constant = 0;
  std::vector<Inst*> clamps;  // that must not do anything for the sum to be the value

  [[nodiscard]] bool uniform() const {
    return std::all_of(terms.begin(), terms.end(), [](const auto& term) { return term.first.v == nullptr; });
  }
  void add(const Number& number, int64_t factor) {
    int64_t& sum = terms[number];
    sum += factor;
    if (sum == 0) terms.erase(number);
  }
  void add(const Linear& other, int64_t factor) {
    for (const auto& [number, times] : other.terms) add(number, times * factor);
    constant += other.constant * factor;
    for (Inst* clamp : other.clamps)
      if (std::find(clamps.begin(), clamps.end(), clamp) == clamps.end()) clamps.push_back(clamp);
  }
  // Whether its value is exact if the numbers are within their bounds.
  [[nodiscard]] bool bounded() const {
    int64_t weight = 0;
    for (const auto& term : terms) weight += std::abs(term.second);
    return weight <= kMaxWeight && std::abs(constant) <= kNear && terms.size() <= kMaxIndexTerms;
  }
};

// A global address: bases, 64-bit sums of extended numbers.
struct Address {
  std::vector<std::pair<Inst*, unsigned>> bases;  // i64 << shift
  Linear index;                                   // factors and constant in bytes
};

class BlockCopier {
 public:
  BlockCopier(Function& function, Block* block) : function_(function), block_(block) {}

  bool run() {
    if (!eligible()) return false;
    for (Inst* inst : block_->insts) {
      if (writes_ || (!is_pure(inst->op) && op_info(inst->op).effect != Effect::reads)) writes_ = true;
      if (!writes_) before_writes_.emplace(inst, true);
    }
    unsigned clamped = 0;
    for (Inst* inst : block_->insts) {
      if ((inst->op != Op::load && inst->op != Op::store) || inst->mem.form != AddressForm::vector64 ||
          inst->mem.space != Space::global)
        continue;
      std::optional<Address> address = split(inst->operands[1], kMaxIndexDepth);
      if (!address || address->index.uniform()) continue;
      const int64_t imm = inst->mem.imm + address->index.constant;
      if (imm != static_cast<int32_t>(imm)) continue;
      if (mask_ == nullptr) mask_ = inst->operands[0];
      if (!address->index.clamps.empty()) ++clamped;
      accesses_.emplace(inst, std::move(*address));
    }
    if (clamped < kMinAccesses || !movable(mask_, kMaxIndexDepth) || !collect()) return false;
    function_.count(Rule::block_copied);
    ends_.emplace(function_);
    copy();
    return true;
  }

 private:
  // Values of the block are not read elsewhere but by phis right behind it, which get one more operand.
  [[nodiscard]] bool eligible() const {
    if (block_->insts.size() > kMaxUnclamped || block_->insts.front()->op == Op::phi) return false;
    if (std::none_of(block_->insts.begin(), block_->insts.end(), [](const Inst* inst) { return is_clamp(inst); }))
      return false;
    const auto& next = block_->successors;
    if (std::find(next.begin(), next.end(), block_) != next.end() || (next.size() == 2 && next[0] == next[1]))
      return false;
    for (const Inst* inst : block_->insts) {
      for (const Inst* user : inst->users) {
        if (user->parent == block_) continue;
        if (user->op != Op::phi || std::find(next.begin(), next.end(), user->parent) == next.end()) return false;
        for (size_t i = 0; i < user->operands.size(); ++i)
          if (user->operands[i] == inst && user->parent->predecessors[i] != block_) return false;
      }
    }
    return true;
  }

  static bool is_clamp(const Inst* inst) {
    return (inst->op == Op::smin || inst->op == Op::smax) && inst->type == kV32;
  }

  // Whether the value can be had in front of the block.
  bool movable(const Inst* inst, unsigned depth) const {
    if (inst->parent != block_) return true;
    if (depth == 0 || inst->op == Op::phi) return false;
    if (!is_pure(inst->op) && !before_writes_.contains(inst)) return false;
    // Lane-wise loads stay where they are.
    if (inst->op == Op::load) return false;
    return std::all_of(inst->operands.begin(), inst->operands.end(),
                       [&](const Inst* operand) { return movable(operand, depth - 1); });
  }

  std::optional<Linear> number(Inst* v, Inst* s) {
    if ((v != nullptr && !movable(v, kMaxIndexDepth)) || (s != nullptr && !movable(s, kMaxIndexDepth)))
      return std::nullopt;
    Linear result;
    result.add(Number{v, s}, 1);
    return result;
  }

  // A v32 or i32 as a sum.
  const std::optional<Linear>& linear(Inst* value, unsigned depth) {
    const auto it = linear_.find(value);
    if (it != linear_.end()) return it->second;
    std::optional<Linear> result = depth > 0 ? derive(value, depth - 1) : std::nullopt;
    if (result && !result->bounded()) result.reset();
    if (!result && value->type.is_vector())
      result = number(value, nullptr);
    else if (!result)
      result = number(nullptr, value);
    return linear_[value] = std::move(result);
  }

  std::optional<Linear> derive(Inst* value, unsigned depth) {
    if (value->is_const()) {
      Linear result;
      result.constant = static_cast<int32_t>(value->imm);
      return result;
    }
    if (value->op == Op::splat) return linear(value->operands[0], depth);
    if (value->parent != block_) return std::nullopt;
    const auto& operands = value->operands;
    switch (value->op) {
      case Op::add:
      case Op::sub: {
        std::optional<Linear> a = linear(operands[0], depth);
        const std::optional<Linear>& b = linear(operands[1], depth);
        if (!a || !b) return std::nullopt;
        a->add(*b, value->op == Op::add ? 1 : -1);
        return a;
      }
      case Op::shl: {
        if (!operands[1]->is_const() || operands[1]->imm > 3) return std::nullopt;
        const std::optional<Linear>& a = linear(operands[0], depth);
        if (!a) return std::nullopt;
        Linear result;
        result.add(*a, int64_t{1} << operands[1]->imm);
        return result;
      }
      case Op::mul:
        return value->type == kV32 ? product(operands[0], operands[1], depth) : std::nullopt;
      case Op::smin:
      case Op::smax:
        return value->type == kV32 ? clamp(value, depth) : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  // A number of all lanes times a sum, each of whose terms has no such factor yet.
  std::optional<Linear> product(Inst* a, Inst* b, unsigned depth) {
    if (a->op != Op::splat) std::swap(a, b);
    if (a->op != Op::splat) return std::nullopt;
    const std::optional<Linear>& sum = linear(b, depth);
    if (!sum) return std::nullopt;
    Inst* factor = a->operands[0];
    Linear result;
    for (const auto& [term, times] : sum->terms) {
      if (term.s != nullptr) return std::nullopt;
      const std::optional<Linear> part = number(term.v, factor);
      if (!part) return std::nullopt;
      result.add(*part, times);
    }
    if (sum->constant != 0) {
      const std::optional<Linear>& part = linear(factor, depth);
      if (!part) return std::nullopt;
      result.add(*part, sum->constant);
    }
    result.clamps = sum->clamps;
    return result;
  }

  // What is clamped, if the other operand is the same for all lanes. That the clamp does nothing means that what is in
  // excess_ is not negative.
  std::optional<Linear> clamp(Inst* inst, unsigned depth) {
    const std::optional<Linear> a = linear(inst->operands[0], depth);
    const std::optional<Linear>& b = linear(inst->operands[1], depth);
    if (!a || !b || a->uniform() == b->uniform()) return std::nullopt;
    const Linear& index = a->uniform() ? *b : *a;
    const Linear& bound = a->uniform() ? *a : *b;
    const int64_t sign = inst->op == Op::smax ? 1 : -1;
    Linear excess;
    excess.add(index, sign);
    excess.add(bound, -sign);
    if (!excess.bounded()) return std::nullopt;
    Linear result = index;
    result.clamps = excess.clamps;
    result.clamps.push_back(inst);
    excess_[inst] = std::move(excess);
    kept_[inst] = inst->operands[a->uniform() ? 1 : 0];
    return result;
  }

  std::optional<Address> split(Inst* value, unsigned depth) {
    if (depth == 0) return std::nullopt;
    Address result;
    if (value->is_const()) {
      result.index.constant = static_cast<int64_t>(value->imm);
      if (std::abs(result.index.constant) > kNear) return std::nullopt;
      return result;
    }
    switch (value->op) {
      case Op::splat64:
        result.bases.emplace_back(value->operands[0], 0);
        return result;
      case Op::sext64: {
        if (value->parent != block_) return std::nullopt;
        const std::optional<Linear>& index = linear(value->operands[0], kMaxIndexDepth);
        if (!index) return std::nullopt;
        result.index = *index;
        return result;
      }
      case Op::shl: {
        if (!value->operands[1]->is_const() || value->operands[1]->imm > 4) return std::nullopt;
        const auto shift = static_cast<unsigned>(value->operands[1]->imm);
        std::optional<Address> inner = split(value->operands[0], depth - 1);
        if (!inner) return std::nullopt;
        for (auto& base : inner->bases) base.second += shift;
        result.bases = std::move(inner->bases);
        result.index.add(inner->index, int64_t{1} << shift);
        return result;
      }
      case Op::add: {
        std::optional<Address> a = split(value->operands[0], depth - 1);
        const std::optional<Address> b = a ? split(value->operands[1], depth - 1) : std::nullopt;
        if (!b) return std::nullopt;
        a->bases.insert(a->bases.end(), b->bases.begin(), b->bases.end());
        a->index.add(b->index, 1);
        return a;
      }
      default:
        return std::nullopt;
    }
  }

  // What has to hold: sums that must not be negative, the least constant of each; numbers that must be small.
  bool collect() {
    const auto note = [&](const Linear& sum) {
      for (const auto& term : sum.terms) numbers_.emplace(term.first, true);
    };
    for (const auto& access : accesses_) {
      note(access.second.index);
      for (Inst* clamp : access.second.index.clamps) {
        if (!resolved_.emplace(clamp, true).second) continue;
        const Linear& excess = excess_.at(clamp);
        note(excess);
        if (excess.terms.empty() && excess.constant < 0) return false;
        const auto [it, is_new] = conditions_.emplace(excess.terms, excess.constant);
        if (!is_new) it->second = std::min(it->second, excess.constant);
      }
    }
    return true;
  }

  // ---------------------------------------------------------------- code

  Inst* make(Block* block, Op op, Type type, std::vector<Inst*> operands, uint32_t attr = 0, uint64_t imm = 0) {
    std::vector<uint32_t> ids{block->id, static_cast<uint32_t>(op),  static_cast<uint32_t>(type.kind),
                              attr,      static_cast<uint32_t>(imm), static_cast<uint32_t>(imm >> 32)};
    for (const Inst* operand : operands) ids.push_back(operand->id);
    Inst*& made = made_[ids];
    if (made != nullptr) return made;
    made = function_.create(op, type, std::move(operands));
    made->attr = attr;
    made->imm = imm;
    made->guest_pc = guest_pc_;
    function_.append(block, made);
    return made;
  }
  Inst* constant(Block* block, Type type, int64_t value) {
    const bool narrow = type.kind == TypeKind::i32 || type.kind == TypeKind::v32;
    return make(block, Op::const_, type, {}, 0, narrow ? static_cast<uint32_t>(value) : static_cast<uint64_t>(value));
  }
  // In braces, so that what makes them does so in this order with every compiler.
  struct Compared {
    Inst *a, *b;
  };
  Inst* icmp(ICmp predicate, Type type, Compared values) {
    return make(test_, Op::icmp, type, {values.a, values.b}, static_cast<uint32_t>(predicate));
  }
  // Made in the block, unless it has been made before: in the test for the copy, too.
  Inst* value_of(Block* block, const Number& number) {
    if (number.v == nullptr) return number.s;
    if (number.s == nullptr) return number.v;
    Inst*& product = products_[number];
    if (product == nullptr) product = make(block, Op::mul, kV32, {number.v, make(block, Op::splat, kV32, {number.s})});
    return product;
  }
  Inst* scaled(Block* block, Inst* value, int64_t factor) {
    if (factor == 1) return value;
    if (factor > 0 && (factor & (factor - 1)) == 0)
      return make(block, Op::shl, value->type,
                  {value, constant(block, value->type, __builtin_ctzll(static_cast<uint64_t>(factor)))});
    return make(block, Op::mul, value->type, {value, constant(block, value->type, factor)});
  }
  // The sum of those terms that are (not) the same for all lanes, without the constant; null if there are none.
  Inst* sum(const std::map<Number, int64_t>& terms, bool uniform, int64_t sign) {
    Inst* total = nullptr;
    for (const auto& [number, times] : terms) {
      if ((number.v == nullptr) != uniform) continue;
      Inst* term = scaled(test_, value_of(test_, number), times * sign);
      total = total == nullptr ? term : make(test_, Op::add, total->type, {total, term});
    }
    return total;
  }
  Inst* plus(Inst* value, int64_t addend) {
    return addend == 0 ? value : make(test_, Op::add, value->type, {value, constant(test_, value->type, addend)});
  }

  void require(Inst* condition) {
    if (condition->type != kMask) {
      once_ = once_ == nullptr ? condition : make(test_, Op::and_, kI1, {once_, condition});
    } else if (condition->op == Op::and_) {
      for (Inst* part : condition->operands) require(part);
    } else if (!by_ends([&](auto& parts) { return ends_->all_lanes(condition, test_maker(), parts); })) {
      lanes_ = lanes_ == nullptr ? condition : make(test_, Op::and_, kMask, {lanes_, condition});
    }
  }
  // value + kFar, unsigned, is below 2 * kFar
  void require_small(const Number& number) {
    if (number.v != nullptr && by_ends([&](auto& parts) {
          return number.s != nullptr ? ends_->all_small(number.v, number.s, kFar, test_maker(), parts)
                                     : ends_->all_small(number.v, kFar, test_maker(), parts);
        }))
      return;
    Inst* const value = value_of(test_, number);
    require(icmp(ICmp::ult, value->type.is_vector() ? kMask : kI1,
                 {plus(value, kFar), constant(test_, value->type, 2 * kFar)}));
  }
  // Whether find(conditions) has found conditions, which are then required.
  template <typename Find>
  bool by_ends(Find&& find) {
    std::vector<Inst*> conditions;
    if (!find(conditions)) return false;
    for (Inst* condition : conditions) require(condition);
    return true;
  }
  LaneEnds::Make test_maker() {
    return [this](Op op, Type type, std::vector<Inst*> operands, uint32_t attr, uint64_t imm) {
      return make(test_, op, type, std::move(operands), attr, imm);
    };
  }

  // Makes the test, in front of the copy.
  Inst* condition() {
    if (!mask_->is_const(~uint64_t{0})) require(mask_);
    // Numbers between a constant and a bound of all lanes take one comparison, and are small if the bounds are.
    std::map<Number, std::pair<std::optional<int64_t>, Inst*>> between;  // lowest, highest
    for (const auto& [terms, least] : conditions_) {
      if (terms.empty()) continue;
      const auto vectors =
          std::count_if(terms.begin(), terms.end(), [](const auto& t) { return t.first.v != nullptr; });
      const auto first = std::find_if(terms.begin(), terms.end(), [](const auto& t) { return t.first.v != nullptr; });
      if (vectors == 1 && terms.size() == 1 && first->second == 1) {
        between[first->first].first = -least;
      } else if (vectors == 1 && terms.size() > 1 && first->second == -1) {
        auto& highest = between[first->first].second;
        Inst* bound = plus(sum(terms, true, 1), least);
        if (highest == nullptr)
          highest = bound;
        else
          require(icmp(ICmp::sle, kMask, {value_of(test_, first->first), make(test_, Op::splat, kV32, {bound})}));
      } else if (vectors == 0) {
        require(icmp(ICmp::sge, kI1, {plus(sum(terms, true, 1), least), constant(test_, kI32, 0)}));
      } else {
        Inst* bound = sum(terms, true, -1);
        bound = bound == nullptr ? constant(test_, kI32, -least) : plus(bound, -least);
        require(icmp(ICmp::sge, kMask, {sum(terms, false, 1), make(test_, Op::splat, kV32, {bound})}));
      }
    }
    for (const auto& [number, bounds] : between) {
      const auto& [lowest, highest] = bounds;
      Inst* value = value_of(test_, number);
      if (lowest && highest != nullptr) {
        numbers_.erase(number);
        require(icmp(ICmp::sge, kI1, {highest, constant(test_, kI32, *lowest)}));
        require(icmp(ICmp::slt, kI1, {highest, constant(test_, kI32, kFar)}));
        require(
            icmp(ICmp::ule, kMask, {plus(value, -*lowest), make(test_, Op::splat, kV32, {plus(highest, -*lowest)})}));
      } else if (lowest) {
        require(icmp(ICmp::sge, kMask, {value, constant(test_, kV32, *lowest)}));
      } else {
        require(icmp(ICmp::sle, kMask, {value, make(test_, Op::splat, kV32, {highest})}));
      }
    }
    for (const auto& number : numbers_) require_small(number.first);
    if (lanes_ != nullptr) require(make(test_, Op::mask_all, kI1, {lanes_}));
    return once_;
  }

  // The access's address as a sum of what all accesses of a row share and what changes from row to row; a constant
  // goes into the instruction.
  void place(Inst* access, const Address& address) {
    Inst* lanes = nullptr;
    Inst* base = nullptr;
    const auto add = [&](Inst*& total, Inst* term) {
      total = total == nullptr ? term : make(copy_, Op::add, total->type, {total, term});
    };
    for (const auto& [value, shift] : address.bases) add(base, scaled(copy_, mapped(value), int64_t{1} << shift));
    for (const auto& [number, times] : address.index.terms) {
      Inst* value = value_of(copy_, number);
      const Type wide = number.v != nullptr ? kV64 : kI64;
      Inst* term = scaled(copy_, make(copy_, Op::sext64, wide, {value}), times);
      add(number.v != nullptr ? lanes : base, term);
    }
    if (base != nullptr) lanes = make(copy_, Op::add, kV64, {lanes, make(copy_, Op::splat64, kV64, {base})});
    access->mem.imm += address.index.constant;
    access->operands[1] = lanes;
  }

  [[nodiscard]] Inst* mapped(Inst* value) const {
    const auto it = map_.find(value);
    return it != map_.end() ? it->second : value;
  }

  // Moves the value and what it comes from to the test.
  void move(Inst* inst) {
    if (inst->parent != block_) return;
    for (Inst* operand : inst->operands) move(operand);
    inst->parent = test_;
    test_->insts.push_back(inst);
  }

  void copy() {
    guest_pc_ = block_->insts.front()->guest_pc;
    test_ = function_.add_block(block_->guest_pc);
    copy_ = function_.add_block(block_->guest_pc);
    // In the layout the test and the copy go in front of the block.
    auto& blocks = function_.blocks;
    const auto at =
        std::find_if(blocks.begin(), blocks.end(), [&](const auto& owned) { return owned.get() == block_; });
    std::rotate(at, blocks.end() - 2, blocks.end());
    for (Entry& entry : function_.entries)
      if (entry.block == block_) entry.block = test_;
    for (Block* predecessor : block_->predecessors)
      std::replace(predecessor->successors.begin(), predecessor->successors.end(), block_, test_);
    test_->predecessors = std::move(block_->predecessors);
    block_->predecessors.clear();

    move(mask_);
    for (const auto& number : numbers_) {
      if (number.first.v != nullptr) move(number.first.v);
      if (number.first.s != nullptr) move(number.first.s);
    }
    std::erase_if(block_->insts, [&](const Inst* inst) { return inst->parent != block_; });
    Inst* const holds = condition();
    WAVEJIT_CHECK(holds != nullptr, "a copy that nothing asks for");
    function_.append(test_, function_.create(Op::cond_br, kNone, {holds}));
    Function::connect(test_, copy_);
    Function::connect(test_, block_);
    fill();
    if (lanes_ == nullptr) test_first();
  }

  // Where no lane is looked at, the test goes in front of the branch around the block for no lanes, whose mask then only
  // waves at the edges compute.
  void test_first() {
    if (test_->predecessors.size() != 1) return;
    Block* const before = test_->predecessors[0];
    Inst* const branch = before->terminator();
    if (branch->op != Op::cond_br || before->successors[0] != test_ || before->successors[1] == test_ ||
        branch->operands[0]->op != Op::mask_any || branch->operands[0]->operands[0] != mask_ ||
        std::ranges::any_of(function_.entries, [&](const Entry& entry) { return entry.block == test_; }))
      return;
    const std::span<Inst* const> test(test_->insts.begin(), test_->insts.end() - 1);
    if (!std::ranges::all_of(test, [](const Inst* inst) { return is_pure(inst->op); })) return;
    Block* const others = before->successors[1];
    Inst* const holds = test_->terminator();
    // The test to the block before, and what waves at the edges need to the block that the test was in.
    before->insts.pop_back();
    for (Inst* inst : test) {
      inst->parent = before;
      before->insts.push_back(inst);
    }
    holds->parent = before;
    before->insts.push_back(holds);
    branch->parent = test_;
    test_->insts = {branch};
    std::vector<Inst*> late;
    for (auto it = before->insts.rbegin(); it != before->insts.rend(); ++it) {
      Inst* const inst = *it;
      if (inst == holds || inst->op == Op::phi || !is_pure(inst->op) || inst->users.empty() ||
          !std::ranges::all_of(inst->users, [&](const Inst* user) {
            return user->op != Op::phi && (user->parent == test_ || user->parent == block_);
          }))
        continue;
      inst->parent = test_;
      late.push_back(inst);
    }
    std::erase_if(before->insts, [&](const Inst* inst) { return inst->parent != before; });
    test_->insts.insert(test_->insts.begin(), late.rbegin(), late.rend());
    before->successors = {copy_, test_};
    test_->successors = {block_, others};
    std::ranges::replace(copy_->predecessors, test_, before);
    std::ranges::replace(others->predecessors, before, test_);
    test_->predecessors = {before};
  }

  void fill() {
    map_[mask_] = constant(copy_, kMask, -1);
    for (Inst* inst : block_->insts) {
      if (resolved_.contains(inst)) {
        map_[inst] = mapped(kept_.at(inst));
        continue;
      }
      guest_pc_ = inst->guest_pc;
      std::vector<Inst*> operands;
      operands.reserve(inst->operands.size());
      for (Inst* operand : inst->operands) operands.push_back(mapped(operand));
      const auto access = accesses_.find(inst);
      Inst* copy = nullptr;
      if (access != accesses_.end()) {
        Inst model = *inst;
        model.operands = operands;
        place(&model, access->second);
        copy = clone(function_, *inst, model.operands);
        copy->mem = model.mem;
      } else {
        copy = clone(function_, *inst, std::move(operands));
      }
      function_.append(copy_, copy);
      map_[inst] = copy;
    }
    for (Block* successor : block_->successors) {
      for (Inst* phi : successor->insts) {
        if (phi->op != Op::phi) break;
        const auto edge =
            static_cast<size_t>(std::find(successor->predecessors.begin(), successor->predecessors.end(), block_) -
                                successor->predecessors.begin());
        Inst* value = mapped(phi->operands[edge]);
        phi->operands.push_back(value);
        value->users.push_back(phi);
      }
      Function::connect(copy_, successor);
    }
  }

  Function& function_;
  Block* const block_;
  bool writes_ = false;
  std::unordered_map<const Inst*, bool> before_writes_;
  std::unordered_map<const Inst*, std::optional<Linear>> linear_;
  std::unordered_map<const Inst*, Linear> excess_;
  std::unordered_map<const Inst*, Inst*> kept_;
  std::unordered_map<const Inst*, Address> accesses_;
  std::unordered_map<const Inst*, bool> resolved_;
  std::map<std::map<Number, int64_t>, int64_t> conditions_;
  std::map<Number, bool> numbers_;
  Inst* mask_ = nullptr;
  std::optional<LaneEnds> ends_;

  Block* test_ = nullptr;
  Block* copy_ = nullptr;
  uint64_t guest_pc_ = 0;
  Inst* lanes_ = nullptr;
  Inst* once_ = nullptr;
  std::map<std::vector<uint32_t>, Inst*> made_;
  std::map<Number, Inst*> products_;
  std::unordered_map<const Inst*, Inst*> map_;
};

}  // namespace

PassResult unclamped_copies(Function& function, const PassContext&) {
  std::vector<Block*> blocks;
  blocks.reserve(function.blocks.size());
  for (const auto& block : function.blocks) blocks.push_back(block.get());
  bool changed = false;
  for (Block* block : blocks) changed |= BlockCopier(function, block).run();
  if (changed) function.sweep();
  return {.changed = changed};
}

}  // namespace wavejit::ir::passes
