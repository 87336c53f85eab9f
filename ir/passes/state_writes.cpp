// Moves writes of registers to the paths that change them, if other paths to the same exit leave them unchanged.
//
// A unit that calls is left at every call and entered again after it. Lifting writes all registers that some path to an
// exit has changed. If such a path joins one that comes from a call, the registers that only the former has changed are
// read and written again with the same contents at every call. This pass moves the writes to the edges into the merge
// point. A value that is then known to be in the wave state need not be in a register: its phis become reads, and reads
// move down to their uses.
//
// The contents of the state at exits (other than the wave's end) do not change. A write never moves into a cycle. It is
// executed at most once between entry and exit per edge that leads out of or around cycles.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/dominators.h"
#include "ir/passes/edges.h"
#include "ir/passes/passes.h"

namespace wavejit::ir::passes {
namespace {

// Registers as 32-bit variables: scalar ones by their index, then SCC, VCCZ and the rows.
constexpr unsigned kScc = 128, kVccz = 129, kRow = 130, kNumVariables = kRow + kNumVgprs + kNumAgprs;
constexpr size_t kMaxWriteWork = 1u << 20;  // variables times blocks

struct Access {
  bool is_write = false;
  unsigned first = 0, count = 0;  // variables; none: not an access
};

Access access_of(const Inst* inst) {
  const auto index = static_cast<unsigned>(inst->imm);
  switch (inst->op) {
    case Op::get_sgpr:
      return {false, index, 1};
    case Op::set_sgpr:
      return {true, index, 1};
    case Op::get_sgpr64:
    case Op::get_mask:
      return {false, index, 2};
    case Op::set_sgpr64:
    case Op::set_mask:
      return {true, index, 2};
    case Op::get_scc:
      return {false, kScc, 1};
    case Op::set_scc:
      return {true, kScc, 1};
    case Op::get_vccz:
      return {false, kVccz, 1};
    case Op::set_vccz:
      return {true, kVccz, 1};
    case Op::get_vgpr:
      return {false, kRow + index, 1};
    case Op::set_vgpr:
      return {true, kRow + index, 1};
    default:
      return {};
  }
}

enum class Part : uint8_t { whole, low, high };

// The contents of a variable: a value or half of one. What the state holds at an entry is one read of it there.
struct Piece {
  const Inst* inst = nullptr;
  Part part = Part::whole;
  bool operator==(const Piece&) const = default;
  explicit operator bool() const { return inst != nullptr; }
};

bool is_read_of(const Piece& piece, const Block* block, unsigned variable) {
  if (!piece || piece.inst->parent != block) return false;
  const Access access = access_of(piece.inst);
  return access.count != 0 && access.first + (piece.part == Part::high) == variable;
}

// What the code wants a variable to hold at a place: nothing in particular, one thing, or several.
struct Wanted {
  Piece piece;
  bool conflict = false;
  bool operator==(const Wanted&) const = default;
};

class StateWrites {
 public:
  explicit StateWrites(Function& function)
      : function_(function), dominators_(function), known_blocks_(function.num_block_ids()) {}

  bool run() {
    if (!collect()) return false;
    find_cycles();
    for (unsigned v = 0; v < kNumVariables; ++v)
      if (candidates_.contains(v)) solve(v);
    if (!stores_.empty() || !clean_exits_.empty()) {
      make_stores();
      drop_writes();
      reload();
    }
    sink_reads();
    return changed_;
  }

 private:
  struct Store {
    unsigned variable;
    Piece piece;
  };

  [[nodiscard]] size_t number(const Block* block) const { return static_cast<size_t>(dominators_.number(block)); }
  [[nodiscard]] bool in_cycle(const Block* block) const { return cyclic_[number(block)]; }

  // Registers must be read at entries and written at exits, as lifting leaves it.
  bool collect() {
    std::unordered_set<const Block*> entries;
    for (const Entry& entry : function_.entries) entries.insert(entry.block);
    bool any = false;
    for (const auto& owned : function_.blocks) {
      const Block* block = owned.get();
      bool writes = false;
      for (const Inst* inst : block->insts) {
        const Access access = access_of(inst);
        if (access.count == 0) continue;
        if (access.is_write ? !block->successors.empty() : writes || !entries.contains(block)) return false;
        writes |= access.is_write;
        any |= access.is_write;
        for (unsigned i = 0; i < access.count; ++i) {
          const Part part = access.count == 1 ? Part::whole : i == 0 ? Part::low : Part::high;
          if (access.is_write)
            candidates_.insert(access.first + i);
          else
            reads_.try_emplace({block, access.first + i}, Piece{inst, part});
        }
      }
    }
    is_entry_.assign(dominators_.order().size(), false);
    for (const Block* entry : entries) is_entry_[number(entry)] = true;
    return any && candidates_.size() * function_.blocks.size() <= kMaxWriteWork;
  }

  // Strongly connected components (Tarjan), iteratively.
  void find_cycles() {
    const auto& order = dominators_.order();
    const size_t count = order.size();
    component_.assign(count, 0);
    cyclic_.assign(count, false);
    std::vector<unsigned> index(count, 0), low(count, 0);
    std::vector<bool> on_stack(count);
    std::vector<size_t> stack;
    std::vector<std::pair<size_t, size_t>> walk;
    unsigned next_index = 1, next_component = 0;
    for (size_t root = 0; root < count; ++root) {
      if (index[root] != 0) continue;
      walk.emplace_back(root, 0);
      while (!walk.empty()) {
        const size_t node = walk.back().first;
        if (walk.back().second == 0) {
          index[node] = low[node] = next_index++;
          stack.push_back(node);
          on_stack[node] = true;
        }
        const auto& successors = order[node]->successors;
        if (walk.back().second < successors.size()) {
          const size_t next = number(successors[walk.back().second++]);
          if (next == node) cyclic_[node] = true;
          if (index[next] == 0)
            walk.emplace_back(next, 0);
          else if (on_stack[next])
            low[node] = std::min(low[node], index[next]);
          continue;
        }
        walk.pop_back();
        if (!walk.empty()) low[walk.back().first] = std::min(low[walk.back().first], low[node]);
        if (low[node] != index[node]) continue;
        const bool several = stack.back() != node;
        for (size_t member = count; member != node;) {
          member = stack.back();
          stack.pop_back();
          on_stack[member] = false;
          component_[member] = next_component;
          if (several) cyclic_[member] = true;
        }
        ++next_component;
      }
    }
  }

  [[nodiscard]] Piece piece_of(const Inst* inst, Part part) const {
    for (;;) {
      if (inst->op == Op::lo32 || inst->op == Op::hi32) {
        part = inst->op == Op::lo32 ? Part::low : Part::high;
        inst = inst->operands[0];
      } else if (inst->op == Op::pack64) {
        inst = inst->operands[part == Part::high];
        part = Part::whole;
      } else if (inst->op == Op::mask_to_i64) {
        inst = inst->operands[0];
      } else {
        break;
      }
    }
    const Access access = access_of(inst);
    if (access.count == 0) return {inst, part};
    return reads_.at({inst->parent, access.first + (part == Part::high)});
  }

  // --- one variable ---
  [[nodiscard]] Wanted wanted_on_edge(const Block* to, unsigned index) const {
    const Wanted& at_end = wanted_[number(to)];
    if (at_end.conflict || !at_end.piece || at_end.piece.inst->parent != to) return at_end;
    const Inst* inst = at_end.piece.inst;
    if (inst->op != Op::phi) return {};
    return {.piece = piece_of(inst->operands[index], at_end.piece.part)};
  }

  // Whether the value is made in the block, so that it cannot be in the state before.
  [[nodiscard]] bool made_in(const Block* block, const Piece& piece) const {
    return piece.inst && piece.inst->parent == block && piece.inst->op != Op::phi;
  }

  void find_wanted(unsigned variable) {
    const auto& order = dominators_.order();
    wanted_.assign(order.size(), {});
    unset_.assign(order.size(), false);
    for (size_t i = 0; i < order.size(); ++i) {
      const Block* block = order[i];
      if (!block->successors.empty()) continue;
      for (const Inst* inst : block->insts) {
        const Access access = access_of(inst);
        if (!access.is_write || variable < access.first || variable >= access.first + access.count) continue;
        const Part part = access.count == 1 ? Part::whole : variable == access.first ? Part::low : Part::high;
        wanted_[i] = {.piece = piece_of(inst->operands[0], part), .conflict = static_cast<bool>(wanted_[i].piece)};
      }
      const Inst* last = block->terminator();
      const bool ends = last->op == Op::exit && static_cast<ExitReason>(last->attr) == ExitReason::kEnd;
      unset_[i] = !ends && !wanted_[i].piece;
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = order.size(); i-- > 0;) {
        const Block* block = order[i];
        for (unsigned s = 0; s < block->successors.size(); ++s) {
          const Block* next = block->successors[s];
          if (unset_[number(next)] && !unset_[i]) unset_[i] = changed = true;
          const Wanted there = wanted_on_edge(next, edge_index(block, s));
          Wanted now = wanted_[i];
          if (there.conflict || (now.piece && there.piece && now.piece != there.piece))
            now.conflict = true;
          else if (!now.piece)
            now.piece = there.piece;
          if (now == wanted_[i]) continue;
          wanted_[i] = now;
          changed = true;
        }
      }
    }
  }

  // Edges of one block to the same block are listed in order.
  [[nodiscard]] static unsigned edge_index(const Block* from, unsigned successor) {
    const Block* to = from->successors[successor];
    unsigned skip = 0;
    for (unsigned i = 0; i < successor; ++i) skip += from->successors[i] == to;
    for (unsigned index = 0; index < to->predecessors.size(); ++index)
      if (to->predecessors[index] == from && skip-- == 0) return index;
    WAVEJIT_CHECK(false, "edge {} -> {} is not in the predecessor list", from->id, to->id);
    return 0;
  }

  // Whether the state holds what is wanted at the end of the edge, if `holds` says so of the ends of blocks.
  [[nodiscard]] bool kept_by_edge(const Block* to, unsigned index, const std::vector<bool>& holds) const {
    const size_t from = number(to->predecessors[index]);
    const Wanted there = wanted_on_edge(to, index);
    return !there.conflict && there.piece && !wanted_[from].conflict && wanted_[from].piece == there.piece &&
           holds[from];
  }
  [[nodiscard]] bool may_store(const Block* to, unsigned index) const {
    const size_t from = number(to->predecessors[index]), here = number(to);
    const bool in_one_cycle = component_[from] == component_[here] && cyclic_[here];
    const Wanted there = wanted_on_edge(to, index);
    return to->predecessors.size() > 1 && !in_one_cycle && !unset_[here] && !there.conflict && there.piece;
  }

  void solve(unsigned variable) {
    find_wanted(variable);
    const auto& order = dominators_.order();
    const size_t count = order.size();
    const auto through = [&](size_t i) {
      const Piece& piece = wanted_[i].piece;
      if (!piece || wanted_[i].conflict) return false;
      return is_entry_[i] ? is_read_of(piece, order[i], variable) : !made_in(order[i], piece);
    };
    // Blocks at whose end the state may hold what is wanted without any new write.
    std::vector<bool> may(count);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < count; ++i) {
        if (may[i] || !through(i)) continue;
        bool now = is_entry_[i];
        for (unsigned k = 0; k < order[i]->predecessors.size() && !is_entry_[i]; ++k)
          now |= kept_by_edge(order[i], k, may);
        if (now) may[i] = changed = true;
      }
    }
    if (std::find(may.begin(), may.end(), true) == may.end()) return;
    // Blocks at whose end it does, if the edges that need it are given writes.
    std::vector<bool> holds(count);
    for (size_t i = 0; i < count; ++i) holds[i] = through(i);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < count; ++i) {
        if (!holds[i] || is_entry_[i]) continue;
        const Block* block = order[i];
        bool all = true, some = false;
        for (unsigned k = 0; k < block->predecessors.size(); ++k) {
          some |= kept_by_edge(block, k, may);
          all &= kept_by_edge(block, k, holds) || may_store(block, k);
        }
        if (all && some) continue;
        holds[i] = false;
        changed = true;
      }
    }
    // Those from which an exit is reached that need not write any more.
    std::vector<bool> useful(count);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = count; i-- > 0;) {
        if (useful[i] || !holds[i]) continue;
        bool now = order[i]->successors.empty();
        for (unsigned s = 0; s < order[i]->successors.size(); ++s) {
          const Block* next = order[i]->successors[s];
          now |= useful[number(next)] && kept_by_edge(next, edge_index(order[i], s), holds);
        }
        if (now) useful[i] = changed = true;
      }
    }
    for (size_t i = 0; i < count; ++i) {
      if (!useful[i]) continue;
      const Block* block = order[i];
      if (block->successors.empty()) clean_exits_[block].insert(variable);
      if (is_entry_[i]) continue;
      const Piece& piece = wanted_[i].piece;
      if (piece.inst && piece.inst->parent == block) held_phis_[block].push_back({variable, piece});
      for (unsigned k = 0; k < block->predecessors.size(); ++k)
        if (!kept_by_edge(block, k, holds)) stores_[{i, k}].push_back({variable, wanted_on_edge(block, k).piece});
    }
  }

  // --- rewriting ---
  void note(Rule rule) {
    function_.count(rule);
    changed_ = true;
  }
  Inst* append_before_end(Block* block, Op op, Type type, std::vector<Inst*> operands, uint64_t imm) {
    Inst* inst = function_.create(op, type, std::move(operands));
    inst->imm = imm;
    inst->guest_pc = block->guest_pc;
    inst->parent = block;
    block->insts.insert(block->insts.end() - 1, inst);
    return inst;
  }

  void write(Block* block, std::vector<Store> stores) {
    std::sort(stores.begin(), stores.end(), [](const Store& a, const Store& b) { return a.variable < b.variable; });
    for (size_t i = 0; i < stores.size(); ++i) {
      const auto& [variable, piece] = stores[i];
      auto* value = const_cast<Inst*>(piece.inst);
      if (piece.part == Part::low && variable < kScc && variable % 2 == 0 && i + 1 < stores.size() &&
          stores[i + 1].variable == variable + 1 && stores[i + 1].piece == Piece{.inst = value, .part = Part::high}) {
        append_before_end(block, value->type == kMask ? Op::set_mask : Op::set_sgpr64, kNone, {value}, variable);
        ++i;
        continue;
      }
      if (piece.part != Part::whole) {
        if (value->type == kMask) value = append_before_end(block, Op::mask_to_i64, kI64, {value}, 0);
        value = append_before_end(block, piece.part == Part::low ? Op::lo32 : Op::hi32,
                                  value->type.is_vector() ? kV32 : kI32, {value}, 0);
      }
      if (variable == kScc || variable == kVccz)
        append_before_end(block, variable == kScc ? Op::set_scc : Op::set_vccz, kNone, {value}, 0);
      else if (variable >= kRow)
        append_before_end(block, Op::set_vgpr, kNone, {value}, variable - kRow);
      else
        append_before_end(block, Op::set_sgpr, kNone, {value}, variable);
    }
  }

  void make_stores() {
    for (const auto& [edge, stores] : stores_) {
      Block* to = dominators_.order()[edge.first];
      const unsigned index = edge.second;
      write(block_on_edge(function_, to, index, EdgePlace::in_front_of_block), stores);
      note(Rule::write_on_edge);
    }
  }

  void drop_writes() {
    for (const auto& [exit, variables] : clean_exits_) {
      auto* block = const_cast<Block*>(exit);
      std::erase_if(block->insts, [&, &clean = variables](Inst* inst) {
        const Access access = access_of(inst);
        if (!access.is_write) return false;
        for (unsigned i = 0; i < access.count; ++i)
          if (!clean.contains(access.first + i)) return false;
        function_.unlink(inst);
        note(Rule::exit_write_dropped);
        return true;
      });
    }
  }

  // Phis whose value is in the state anyway are read from there.
  void reload() {
    for (const auto& owned : function_.blocks) {
      Block* block = owned.get();
      const auto it = held_phis_.find(block);
      if (it == held_phis_.end() || in_cycle(block)) continue;
      std::vector<Inst*> made;
      const auto read = [&](Op op, Type type, unsigned index) {
        Inst* inst = function_.create(op, type);
        inst->imm = index;
        inst->guest_pc = block->guest_pc;
        inst->parent = block;
        made.push_back(inst);
        return inst;
      };
      const auto read_variable = [&](unsigned variable) {
        return variable == kScc    ? read(Op::get_scc, kI1, 0)
               : variable == kVccz ? read(Op::get_vccz, kI1, 0)
               : variable >= kRow  ? read(Op::get_vgpr, kV32, variable - kRow)
                                   : read(Op::get_sgpr, kI32, variable);
      };
      const auto where = [&](const Inst* phi, Part part) {
        for (const Store& held : it->second)
          if (held.piece.inst == phi && held.piece.part == part) return held.variable;
        return kNumVariables;
      };
      std::vector<Inst*> phis;
      for (Inst* inst : block->insts)
        if (inst->op == Op::phi && !inst->users.empty()) phis.push_back(inst);
      for (Inst* phi : phis) {
        Inst* value = nullptr;
        if (const unsigned whole = where(phi, Part::whole); whole != kNumVariables) {
          value = read_variable(whole);
        } else {
          const unsigned low = where(phi, Part::low), high = where(phi, Part::high);
          if (low == kNumVariables || high == kNumVariables) continue;
          if (phi->type.is_vector()) {
            Inst* half = read_variable(low);
            value = function_.create(Op::pack64, phi->type, {half, read_variable(high)});
            value->guest_pc = block->guest_pc;
            value->parent = block;
            made.push_back(value);
          } else if (high == low + 1) {
            value = read(phi->type == kMask ? Op::get_mask : Op::get_sgpr64, phi->type, low);
          } else {
            continue;
          }
        }
        function_.replace_all_uses(phi, value);
        note(Rule::phi_reloaded);
      }
      const auto behind_phis =
          std::find_if(block->insts.begin(), block->insts.end(), [](const Inst* inst) { return inst->op != Op::phi; });
      block->insts.insert(behind_phis, made.begin(), made.end());
    }
    if (function_.sweep() != 0) changed_ = true;
  }

  // --- reads ---
  void sink_reads() {
    const Dominators dominators(function_);  // edges may have got blocks
    for (Block* block : dominators.order()) {
      std::vector<Inst*> reads;
      for (Inst* inst : block->insts)
        if (access_of(inst).count != 0 && !access_of(inst).is_write && !inst->users.empty()) reads.push_back(inst);
      for (Inst* read : reads) {
        Block* target = place_for(dominators, read);
        if (target == block || !unwritten_between(block, target, read)) continue;
        std::erase(block->insts, read);
        const auto behind_phis = std::find_if(target->insts.begin(), target->insts.end(),
                                              [](const Inst* inst) { return inst->op != Op::phi; });
        target->insts.insert(behind_phis, read);
        read->parent = target;
        note(Rule::read_sunk);
      }
    }
  }

  // The block furthest down that all uses are behind and that is executed no more often than the read is now.
  [[nodiscard]] Block* place_for(const Dominators& dominators, const Inst* read) const {
    Block* target = nullptr;
    const auto add = [&](Block* block) {
      if (target == nullptr) target = block;
      while (!dominators.dominates(target, block)) target = dominators.immediate(target);
    };
    for (const Inst* user : read->users) {
      if (user->op != Op::phi) {
        add(user->parent);
        continue;
      }
      for (size_t i = 0; i < user->operands.size(); ++i)
        if (user->operands[i] == read) add(user->parent->predecessors[i]);
    }
    // New blocks are on edges that are not part of a cycle.
    const auto cyclic = [&](const Block* block) { return block->id < known_blocks_ && in_cycle(block); };
    while (target != read->parent && cyclic(target)) target = dominators.immediate(target);
    return target;
  }

  [[nodiscard]] static bool writes(const Block* block, const Access& read) {
    return std::any_of(block->insts.begin(), block->insts.end(), [&](const Inst* inst) {
      const Access access = access_of(inst);
      return access.is_write && access.first < read.first + read.count && read.first < access.first + access.count;
    });
  }

  // Returns true if no path from the one block to the start of the other writes the register. The one dominates the
  // other.
  [[nodiscard]] static bool unwritten_between(const Block* from, const Block* to, const Inst* read) {
    const Access access = access_of(read);
    std::unordered_set<const Block*> seen{to};
    std::vector<const Block*> work{to};
    while (!work.empty()) {
      const Block* block = work.back();
      work.pop_back();
      for (const Block* predecessor : block->predecessors) {
        if (writes(predecessor, access)) return false;
        if (predecessor != from && seen.insert(predecessor).second) work.push_back(predecessor);
      }
    }
    return true;
  }

  Function& function_;
  Dominators dominators_;
  const uint32_t known_blocks_;
  bool changed_ = false;
  std::unordered_set<unsigned> candidates_;                   // written variables
  std::map<std::pair<const Block*, unsigned>, Piece> reads_;  // at entries: the first of each variable
  std::vector<bool> is_entry_, cyclic_;
  std::vector<unsigned> component_;
  // Of the variable at hand, by position in order(): at the ends of blocks.
  std::vector<Wanted> wanted_;
  std::vector<bool> unset_;  // an exit that does not write it can be reached
  // Results.
  std::map<std::pair<size_t, unsigned>, std::vector<Store>> stores_;  // by edge: position of its end, predecessor
  std::unordered_map<const Block*, std::unordered_set<unsigned>> clean_exits_;
  std::unordered_map<const Block*, std::vector<Store>> held_phis_;
};

}  // namespace

namespace {

// Masks that are a constant or one bit for all lanes are written as numbers: at once, not chunk by chunk.
bool write_as_numbers(Function& function) {
  bool changed = false;
  for (const auto& block : function.blocks) {
    std::vector<Inst*> list;
    for (Inst* inst : block->insts) {
      const Inst* mask = inst->op == Op::set_mask ? inst->operands[0] : nullptr;
      if (mask == nullptr || !(mask->is_const() || mask->op == Op::splat_mask)) {
        list.push_back(inst);
        continue;
      }
      const auto add = [&](Op op, Type type, std::vector<Inst*> operands, uint64_t imm) {
        Inst* made = function.create(op, type, std::move(operands));
        made->imm = imm;
        made->guest_pc = inst->guest_pc;
        made->parent = block.get();
        list.push_back(made);
        return made;
      };
      Inst* number = add(Op::const_, kI64, {}, mask->is_const() ? mask->imm : ~uint64_t{0});
      if (!mask->is_const())
        number = add(Op::select, kI64, {mask->operands[0], number, add(Op::const_, kI64, {}, 0)}, 0);
      add(Op::set_sgpr64, kNone, {number}, inst->imm);
      function.unlink(inst);
      function.count(Rule::mask_as_number);
      changed = true;
    }
    block->insts = std::move(list);
  }
  return changed;
}

}  // namespace

PassResult state_writes(Function& function, const PassContext&) {
  const bool dropped = drop_unreachable(function);
  bool changed = StateWrites(function).run();
  changed |= write_as_numbers(function);
  if (changed) function.sweep();
  return {.changed = changed || dropped};
}

}  // namespace wavejit::ir::passes
