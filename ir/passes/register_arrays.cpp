// Arrays that a compiler keeps in registers: an element is read by comparing the index with each number, and written likewise.
//
//   x = i == 3 ? a3 : i == 2 ? a2 : i == 1 ? a1 : a0          a3' = i == 3 ? v : a3, a2' = i == 2 ? v : a2, ...
//
// In the copies of loops for one lane (lane-loops) such an array goes into a row of the frame, where a read and a write are one
// access. Each value that is an element is in one slot of the row. That is right where the slot has the value in question
// whenever it is read, which is proven along all ways from the loop's head: the slot is what the last write on each of them
// has left, and phis merge what is in the slot already.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/dominators.h"
#include "ir/analysis/known_bits.h"
#include "ir/passes/frame_rows.h"
#include "ir/passes/passes.h"

namespace wavejit::ir::passes {
namespace {

constexpr uint32_t kUnused = kWaveSize - 1;  // the slot that indices beyond the array write to
constexpr size_t kLeastLinks = 3, kLeastSelects = 16;

// A choice by `index == key`.
struct Choice {
  Inst* index = nullptr;
  uint32_t key = 0;
  Inst* equal = nullptr;
  Inst* otherwise = nullptr;
};

std::optional<Choice> choice_of(const Inst* inst) {
  if (inst->op != Op::select || inst->type != kI32) return std::nullopt;
  const Inst* condition = inst->operands[0];
  if (condition->op != Op::icmp || condition->operands[0]->type != kI32 || !condition->operands[1]->is_const())
    return std::nullopt;
  const auto predicate = static_cast<ICmp>(condition->attr);
  if (predicate != ICmp::eq && predicate != ICmp::ne) return std::nullopt;
  Choice choice{.index = condition->operands[0],
                .key = static_cast<uint32_t>(condition->operands[1]->imm),
                .equal = inst->operands[1],
                .otherwise = inst->operands[2]};
  if (predicate == ICmp::ne) std::swap(choice.equal, choice.otherwise);
  return choice;
}

// A read: choices by one index, each of which has the next one as its other case.
struct Read {
  std::vector<Inst*> selects;  // the innermost first
  Inst* index = nullptr;
  std::map<uint32_t, Inst*> elements;
  Inst* otherwise = nullptr;
  size_t array = 0;
};

// Writes of one value by one index: selects of one block.
struct Write {
  Inst* index = nullptr;
  Inst* value = nullptr;
  size_t array = 0;
  std::map<uint32_t, Inst*> elements;  // the selects
};

struct Slot {
  size_t array = 0;
  uint32_t key = 0;
};

// What is in the slots of an array; null: not known.
using State = std::vector<const Inst*>;

class RegisterArrays {
 public:
  explicit RegisterArrays(Function& function) : function_(function), dominators_(function) {}

  // Moves one array to the frame, after which what is known of others has to be found out anew.
  bool run() {
    find_reads();
    if (reads_.empty()) return false;
    find_elements();
    find_writes();
    for (size_t array = 0; array < arrays_.size(); ++array)
      if (root(array) == array && !bad_.contains(array) && move_to_frame(array)) return true;
    return false;
  }

 private:
  // ---------------------------------------------------------------- what arrays there are

  void find_reads() {
    std::unordered_set<const Inst*> inner;
    for (const Block* block : dominators_.order()) {
      for (auto inst = block->insts.rbegin(); inst != block->insts.rend(); ++inst) {
        if (inner.contains(*inst)) continue;
        Read read;
        for (Inst* link = *inst; link != nullptr;) {
          const auto choice = choice_of(link);
          const bool more = choice && link->parent == block && (read.selects.empty() || link->users.size() == 1) &&
                            (read.index == nullptr || choice->index == read.index) && choice->key < kUnused &&
                            !read.elements.contains(choice->key);
          if (!more) break;
          read.selects.push_back(link);
          read.index = choice->index;
          read.elements.emplace(choice->key, choice->equal);
          read.otherwise = link = choice->otherwise;
        }
        if (read.selects.size() < kLeastLinks) continue;
        // Writes of a value have it in all cases.
        inner.insert(read.selects.begin(), read.selects.end());
        std::ranges::reverse(read.selects);
        read.array = arrays_.size();
        arrays_.push_back(read.array);
        reads_.push_back(std::move(read));
      }
    }
    in_reads_ = std::move(inner);
  }

  [[nodiscard]] size_t root(size_t array) const {
    while (arrays_[array] != array) array = arrays_[array];
    return array;
  }
  void unite(size_t a, size_t b) {
    a = root(a);
    b = root(b);
    if (a == b) return;
    arrays_[b] = a;
    if (bad_.contains(b)) bad_.insert(a);
  }
  [[nodiscard]] const Slot* slot_of(const Inst* value) const {
    const auto it = slots_.find(value);
    return it == slots_.end() ? nullptr : &it->second;
  }
  [[nodiscard]] bool is_phi(const Inst* value) const { return value->op == Op::phi && value->type == kI32; }
  // A select that leaves the element as it was, or has another value if the index is its number.
  [[nodiscard]] std::optional<Choice> write_of(const Inst* value, uint32_t key) const {
    if (in_reads_.contains(value)) return std::nullopt;
    const auto choice = choice_of(value);
    return choice && choice->key == key ? choice : std::nullopt;
  }
  // Values that are elements of their own making. Others come into a slot where a phi takes them.
  [[nodiscard]] bool is_element(const Inst* value, uint32_t key) const {
    return is_phi(value) || write_of(value, key).has_value();
  }

  void add(Inst* value, size_t array, uint32_t key) {
    if (!is_element(value, key)) return;
    const auto [it, inserted] = slots_.try_emplace(value, Slot{array, key});
    if (inserted) {
      work_.push_back(value);
      return;
    }
    unite(it->second.array, array);
    if (it->second.key != key) bad_.insert(root(array));
  }

  void follow() {
    while (!work_.empty()) {
      Inst* value = work_.back();
      work_.pop_back();
      const Slot slot = slots_.at(value);
      if (value->op == Op::phi) {
        for (Inst* operand : value->operands) add(operand, slot.array, slot.key);
      } else {
        add(write_of(value, slot.key)->otherwise, slot.array, slot.key);
      }
    }
  }

  void find_elements() {
    for (const Read& read : reads_)
      for (const auto& [key, value] : read.elements) add(value, read.array, key);
    follow();
    for (Read& read : reads_) {
      // The case that is left: the number of the element is what is missing.
      uint32_t key = 0;
      while (read.elements.contains(key)) ++key;
      if (const Slot* slot = slot_of(read.otherwise)) key = slot->key;
      if (key >= kUnused) bad_.insert(root(read.array));
      // Of an element that a link names, too, it may be another value.
      if (!read.elements.emplace(key, read.otherwise).second && read.elements.at(key) != read.otherwise)
        bad_.insert(root(read.array));
      otherwise_[&read] = key;
      add(read.otherwise, read.array, key);
      follow();
    }
    for (const size_t array : std::vector<size_t>(bad_.begin(), bad_.end())) bad_.insert(root(array));
  }

  void find_writes() {
    for (const Block* block : dominators_.order()) {
      std::map<std::tuple<size_t, uint32_t, uint32_t>, Write*> found;
      for (Inst* inst : block->insts) {
        const Slot* slot = inst->op == Op::select ? slot_of(inst) : nullptr;
        if (slot == nullptr) continue;
        const auto choice = write_of(inst, slot->key);
        const size_t array = root(slot->array);
        Write*& write = found[{array, choice->index->id, choice->equal->id}];
        if (write == nullptr || write->elements.contains(slot->key)) {
          writes_.push_back(std::make_unique<Write>(
              Write{.index = choice->index, .value = choice->equal, .array = array, .elements = {}}));
          write = writes_.back().get();
          first_writes_[inst] = write;
        }
        write->elements.emplace(slot->key, inst);
      }
    }
  }

  // ---------------------------------------------------------------- one array

  // A value that has to be stored at the end of a block, wherever control goes from there.
  struct Store {
    Block* block;
    uint32_t key;
    Inst* value;
  };

  bool move_to_frame(size_t array) {
    members_.clear();
    stores_.clear();
    uses_.clear();
    array_ = array;
    size_t selects = 0;
    for (const auto& [value, slot] : slots_)
      if (root(slot.array) == array) members_.emplace(value, slot.key);
    for (const Read& read : reads_)
      if (root(read.array) == array) selects += read.selects.size();
    for (const auto& write : writes_)
      if (write->array == array) selects += write->elements.size();
    if (selects < kLeastSelects || !find_header() || !find_stores() || !can_be_indexed()) return false;
    if (!slots_are_right()) return false;
    rewrite();
    function_.count(Rule::array_in_frame);
    return true;
  }

  [[nodiscard]] bool is_member(const Inst* value) const { return members_.contains(value); }

  // The block that all elements are behind: a loop's header.
  bool find_header() {
    header_ = nullptr;
    for (const auto& [value, key] : members_)
      if (header_ == nullptr || dominators_.number(value->parent) < dominators_.number(header_))
        header_ = value->parent;
    if (header_ == nullptr) return false;
    const auto inside = [&](const Inst* inst) { return dominators_.dominates(header_, inst->parent); };
    if (!std::ranges::all_of(members_, [&](const auto& member) { return inside(member.first); })) return false;
    return std::ranges::all_of(reads_,
                               [&](const Read& read) { return root(read.array) != array_ || inside(read.selects[0]); });
  }

  // What comes into slots from elsewhere: operands of phis, and elements that nothing writes in the loop.
  bool find_stores() {
    for (const auto& [value, key] : members_) {
      if (value->op != Op::phi) continue;
      for (size_t i = 0; i < value->operands.size(); ++i) {
        if (is_member(value->operands[i])) continue;
        stores_.push_back({value->parent->predecessors[i], key, value->operands[i]});
      }
    }
    for (const Read& read : reads_) {
      if (root(read.array) != array_) continue;
      for (const auto& element : read.elements) {
        const uint32_t key = element.first;
        Inst* const value = element.second;
        if (is_member(value)) continue;
        for (Block* from : header_->predecessors) {
          if (dominators_.dominates(header_, from)) continue;
          const bool known =
              std::ranges::any_of(stores_, [&](const Store& store) { return store.block == from && store.key == key; });
          if (!known) stores_.push_back({from, key, value});
        }
      }
    }
    std::ranges::sort(stores_, {}, [&](const Store& store) {
      return std::tuple{dominators_.number(store.block), store.key, store.value->id};
    });
    return std::ranges::all_of(
        stores_, [&](const Store& store) { return dominators_.dominates(store.value->parent, store.block); });
  }

  // The numbers of the elements that an access knows follow each other. A write may leave out what the array does not have.
  bool can_be_indexed() {
    std::unordered_set<uint32_t> keys;
    for (const auto& [value, key] : members_) keys.insert(key);
    for (const Read& read : reads_) {
      if (root(read.array) != array_) continue;
      const auto& elements = read.elements;
      if (elements.rbegin()->first - elements.begin()->first + 1 != elements.size() || is_member(read.index))
        return false;
      for (const auto& [key, value] : elements) keys.insert(key);
    }
    return std::ranges::all_of(writes_, [&](const auto& write) {
      if (write->array != array_) return true;
      if (is_member(write->index)) return false;
      for (uint32_t key = lowest(*write); key <= highest(*write); ++key)
        if (keys.contains(key) && !write->elements.contains(key)) return false;
      return true;
    });
  }
  static uint32_t lowest(const Write& write) { return write.elements.begin()->first; }
  static uint32_t highest(const Write& write) { return write.elements.rbegin()->first; }

  // ---------------------------------------------------------------- what is in the slots

  bool slots_are_right() {
    reads_at_.clear();
    for (const Read& read : reads_)
      if (root(read.array) == array_) reads_at_[read.selects[0]] = &read;
    behind_.clear();
    for (bool changed = true; changed;) {
      changed = false;
      for (Block* block : dominators_.order()) {
        if (!leads_to_slots(block)) continue;
        State state = at_beginning(block);
        (void)go_through(block, state, false);
        const auto [it, inserted] = behind_.try_emplace(block, state);
        if (inserted || it->second != state) {
          it->second = std::move(state);
          changed = true;
        }
      }
    }
    return std::ranges::all_of(dominators_.order(), [&](Block* block) {
      if (!dominators_.dominates(header_, block)) return true;
      State state = at_beginning(block);
      return phis_find_theirs(block) && go_through(block, state, true);
    });
  }
  [[nodiscard]] bool leads_to_slots(const Block* block) const {
    return dominators_.dominates(header_, block) ||
           std::ranges::find(header_->predecessors, block) != header_->predecessors.end();
  }

  // Phis are taken at their word; phis_find_theirs() looks at what they merge.
  [[nodiscard]] State at_beginning(const Block* block) const {
    State state(kWaveSize, nullptr);
    if (!dominators_.dominates(header_, block)) return state;
    bool first = true;
    for (const Block* from : block->predecessors) {
      const auto it = behind_.find(from);
      if (it == behind_.end()) continue;  // not known yet
      for (size_t k = 0; k < state.size(); ++k) state[k] = first || state[k] == it->second[k] ? it->second[k] : nullptr;
      first = false;
    }
    for (const Inst* inst : block->insts) {
      if (inst->op != Op::phi) break;
      if (const auto it = members_.find(inst); it != members_.end()) state[it->second] = inst;
    }
    return state;
  }

  // `checked`: all that is read has to be in its slot.
  bool go_through(Block* block, State& state, bool checked) {
    for (Inst* inst : block->insts) {
      if (inst->op == Op::phi) continue;
      if (const auto it = reads_at_.find(inst); it != reads_at_.end() && checked) {
        for (const auto& [key, value] : it->second->elements)
          if (state[key] != value) return false;
      }
      if (const auto it = first_writes_.find(inst); it != first_writes_.end() && it->second->array == array_) {
        const Write& write = *it->second;
        if (checked && is_member(write.value) && state[members_.at(write.value)] != write.value) return false;
        for (const auto& [key, select] : write.elements) {
          if (checked && state[key] != write_of(select, key)->otherwise) return false;
          state[key] = select;
        }
      }
      if (checked && !uses_find_theirs(inst, state)) return false;
    }
    // The terminator is the last to look at slots.
    for (const Store& store : stores_)
      if (store.block == block) state[store.key] = store.value;
    if (!checked) return true;
    for (const Block* next : block->successors) {
      for (const Inst* phi : next->insts) {
        if (phi->op != Op::phi) break;
        for (size_t i = 0; i < phi->operands.size(); ++i) {
          if (next->predecessors[i] != block || !is_member(phi->operands[i])) continue;
          const uint32_t key = members_.at(phi->operands[i]);
          const auto own = members_.find(phi);
          if (own != members_.end() && own->second == key) continue;
          if (state[key] != phi->operands[i]) return false;
          uses_.push_back({const_cast<Inst*>(phi), static_cast<unsigned>(i)});
        }
      }
    }
    return true;
  }

  struct Use {
    Inst* user;
    unsigned operand;
  };
  // Uses of elements other than by reads, writes, and phis of the same slot.
  bool uses_find_theirs(Inst* inst, const State& state) {
    if (in_reads_.contains(inst) && is_of_array(inst)) return true;
    if (is_member(inst)) return true;
    for (unsigned i = 0; i < inst->operands.size(); ++i) {
      const auto it = members_.find(inst->operands[i]);
      if (it == members_.end()) continue;
      if (state[it->second] != inst->operands[i]) return false;
      uses_.push_back({inst, i});
    }
    return true;
  }
  [[nodiscard]] bool is_of_array(const Inst* select) const {
    return std::ranges::any_of(reads_, [&](const Read& read) {
      return root(read.array) == array_ && std::ranges::find(read.selects, select) != read.selects.end();
    });
  }

  bool phis_find_theirs(const Block* block) const {
    for (const Inst* phi : block->insts) {
      if (phi->op != Op::phi) break;
      const auto it = members_.find(phi);
      if (it == members_.end()) continue;
      for (size_t i = 0; i < phi->operands.size(); ++i) {
        const auto from = behind_.find(block->predecessors[i]);
        if (from == behind_.end() || from->second[it->second] != phi->operands[i]) return false;
      }
    }
    return true;
  }

  // ---------------------------------------------------------------- code

  Inst* make(Op op, Type type, std::vector<Inst*> operands, uint64_t imm, uint32_t attr, Inst* before) {
    Inst* inst = function_.create(op, type, std::move(operands));
    inst->imm = imm;
    inst->attr = attr;
    inst->guest_pc = before->guest_pc;
    function_.insert_before(before, inst);
    return inst;
  }
  Inst* number(uint64_t value, Inst* before) { return make(Op::const_, kI32, {}, value, 0, before); }

  // The index if it is the number of an element, else `other`.
  Inst* bounded(Inst* index, uint32_t lowest, size_t count, uint32_t other, Inst* before) {
    if (lowest == 0 && unsigned_maximum(index) < count) return index;
    Inst* offset = index;
    if (lowest != 0) offset = make(Op::sub, kI32, {index, number(lowest, before)}, 0, 0, before);
    Inst* inside = make(Op::icmp, kI1, {offset, number(count, before)}, 0, static_cast<uint32_t>(ICmp::ult), before);
    return make(Op::select, kI32, {inside, index, number(other, before)}, 0, 0, before);
  }

  void rewrite() {
    const uint64_t row = free_frame_row(function_);
    const auto get = [&](Inst* index, Inst* before) { return make(Op::get_lane, kI32, {index}, row, 0, before); };
    const auto get_element = [&](Inst* element, Inst* before) {
      return get(number(members_.at(element), before), before);
    };
    for (const Use& use : uses_) {
      Inst* before = use.user->op == Op::phi ? use.user->parent->predecessors[use.operand]->terminator() : use.user;
      function_.set_operand(use.user, use.operand, get_element(use.user->operands[use.operand], before));
    }
    for (const auto& write : writes_) {
      if (write->array != array_) continue;
      Inst* before = first_of(*write);
      Inst* value = is_member(write->value) ? get_element(write->value, before) : write->value;
      const uint32_t least = lowest(*write);
      Inst* index = bounded(write->index, least, highest(*write) - least + 1, kUnused, before);
      make(Op::set_lane, kNone, {index, value}, row, 0, before);
    }
    for (const Store& store : stores_) {
      Inst* before = store.block->terminator();
      make(Op::set_lane, kNone, {number(store.key, before), store.value}, row, 0, before);
    }
    // What is read may be an index, or what is written.
    std::unordered_map<Inst*, Inst*> replaced;
    for (const Read& read : reads_) {
      if (root(read.array) != array_) continue;
      Inst* before = read.selects[0];
      const auto known = replaced.find(read.index);
      Inst* index = bounded(known != replaced.end() ? known->second : read.index, read.elements.begin()->first,
                            read.elements.size(), otherwise_.at(&read), before);
      Inst* value = get(index, before);
      function_.replace_all_uses(read.selects.back(), value);
      replaced[read.selects.back()] = value;
    }
    // Nobody looks at the elements any more but other elements.
    Inst* nothing = number(0, header_->terminator());
    for (const auto& [value, key] : members_) {
      Inst* member = const_cast<Inst*>(value);
      for (unsigned i = 0; i < member->operands.size(); ++i)
        if (member->operands[i]->type == kI32) function_.set_operand(member, i, nothing);
    }
    function_.sweep();
  }
  [[nodiscard]] Inst* first_of(const Write& write) const {
    for (const auto& [key, select] : write.elements)
      if (const auto it = first_writes_.find(select); it != first_writes_.end() && it->second == &write) return select;
    return write.elements.begin()->second;
  }

  Function& function_;
  Dominators dominators_;
  std::vector<Read> reads_;
  std::vector<std::unique_ptr<Write>> writes_;
  std::vector<size_t> arrays_;      // by number: one that it is united with
  std::unordered_set<size_t> bad_;  // arrays that are none
  std::unordered_set<const Inst*> in_reads_;
  std::unordered_map<const Inst*, Slot> slots_;  // of elements
  std::unordered_map<const Read*, uint32_t> otherwise_;
  std::unordered_map<const Inst*, Write*> first_writes_;
  std::vector<Inst*> work_;
  // Of the array that is looked at.
  size_t array_ = 0;
  Block* header_ = nullptr;
  std::unordered_map<const Inst*, uint32_t> members_;  // with the numbers of their slots
  std::vector<Store> stores_;
  std::vector<Use> uses_;
  std::unordered_map<const Inst*, const Read*> reads_at_;  // by their first select
  std::unordered_map<const Block*, State> behind_;
};

}  // namespace

PassResult register_arrays(Function& function, const PassContext& context) {
  const bool dropped = drop_unreachable(function);
  bool moved = false;
  while (RegisterArrays(function).run()) moved = true;
  // Accesses by one index have its bounds in common.
  if (moved) (void)gvn(function, context);
  return {.changed = moved || dropped};
}

}  // namespace wavejit::ir::passes
