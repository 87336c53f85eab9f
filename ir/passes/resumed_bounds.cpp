// Addresses in the LDS that come back from a barrier in a vector register: what bits they can have is known where they are
// computed, in front of the barrier, but not behind it, where they are read from the wave state. An `and` with these bits,
// which changes nothing, says it. So it shows that what is stored into one half of the LDS is not what is loaded from the
// other.
//
// For what can be computed again at little cost there is resumed_values.cpp, which runs before.
#include <algorithm>
#include <bitset>
#include <unordered_map>
#include <vector>

#include "ir/analysis/dominators.h"
#include "ir/analysis/known_bits.h"
#include "ir/analysis/resumptions.h"
#include "ir/passes/passes.h"

namespace wavejit::ir::passes {
namespace {

constexpr size_t kMaxBoundWork = 1u << 20;            // entries times blocks
constexpr uint64_t kLargestAddress = (1u << 28) - 1;  // of one that says anything, in bytes

using Rows = std::bitset<kNumVgprs + kNumAgprs>;

// The fixpoint over registers that depend on their own earlier values, such as addresses that alternate between two halves of
// the LDS, gives up after so many rounds.
constexpr unsigned kMaxBoundRounds = 4;

// Whether the value, or the sum of it and a constant, is where the LDS is accessed: itself, or through a few phis.
bool is_lds_address(const Inst* value, unsigned steps = 3) {
  return std::any_of(value->users.begin(), value->users.end(), [&](const Inst* user) {
    if (user->op == Op::load || user->op == Op::store)
      return user->mem.form == AddressForm::lds_offset && user->operands[1] == value;
    return (user->op == Op::phi || (user->op == Op::add && user->operands[1]->is_const())) && steps > 0 &&
           is_lds_address(user, steps - 1);
  });
}

// Whether one lane of the value is part of such an address, as resumed_values.cpp makes it: its upper bits, plus an expression.
bool has_number_of_address(const Inst* value) {
  const auto any_user = [](const Inst* inst, const auto& accepts) {
    return std::any_of(inst->users.begin(), inst->users.end(), accepts);
  };
  const auto is_sum = [](const Inst* sum) { return sum->op == Op::add && is_lds_address(sum); };
  const auto is_splat = [&](const Inst* splat) {
    return splat->op == Op::splat && (is_lds_address(splat) || any_user(splat, is_sum));
  };
  return any_user(value, [&](const Inst* lane) {
    return lane->op == Op::readlane &&
           any_user(lane, [&](const Inst* number) { return number->op == Op::and_ && any_user(number, is_splat); });
  });
}

class ResumedBounds {
 public:
  explicit ResumedBounds(Function& function) : function_(function) {}

  bool run() {
    if (!collect()) return false;
    solve();
    return mark();
  }

 private:
  struct Site {  // an entry
    Block* block = nullptr;
    bool resumed_only = false;
    std::vector<Inst*> addresses;                     // get_vgpr
    std::vector<const Inst*> reads;                   // of rows that are addresses here or elsewhere
    std::unordered_map<uint64_t, uint64_t> possible;  // by row of an address: bits that its lanes can have
  };
  struct Exit {
    size_t resumes_at = 0;
    std::unordered_map<uint64_t, const Inst*> written;  // by row of an address
    std::vector<size_t> origins;                        // entries that lead here
  };

  bool collect() {
    if (function_.entries.size() * function_.blocks.size() > kMaxBoundWork) return false;
    std::unordered_map<uint64_t, size_t> entry_at;
    for (const Entry& entry : function_.entries) {
      if (!entry_at.emplace(entry.guest_pc, sites_.size()).second) return false;
      Site& site = sites_.emplace_back(Site{.block = entry.block, .resumed_only = entry.resumed_only});
      for (Inst* inst : entry.block->insts) {
        if (inst->op != Op::get_vgpr || !entry.resumed_only) continue;
        if (!is_lds_address(inst) && !has_number_of_address(inst)) continue;
        site.addresses.push_back(inst);
        rows_.set(inst->imm);
      }
    }
    if (rows_.none()) return false;
    for (Site& site : sites_)
      for (const Inst* inst : site.block->insts)
        if (inst->op == Op::get_vgpr && site.resumed_only && rows_.test(inst->imm)) site.reads.push_back(inst);
    const auto all_origins = origins_of_exits(function_);
    for (const auto& block : function_.blocks) {
      if (!block->successors.empty()) continue;
      const std::optional<uint64_t> pc = resumption_pc(*block);
      const auto entry = pc ? entry_at.find(*pc) : entry_at.end();
      if (entry == entry_at.end()) continue;
      const auto origins = all_origins.find(block.get());
      if (origins == all_origins.end()) continue;  // unreachable
      Exit& exit = exits_.emplace_back(Exit{.resumes_at = entry->second, .written = {}, .origins = origins->second});
      for (const Inst* inst : block->insts)
        if (inst->op == Op::set_vgpr && rows_.test(inst->imm)) exit.written[inst->imm] = inst->operands[0];
    }
    return true;
  }

  void solve() {
    const Dominators dominators(function_);
    find_possible(KnownBits(function_, dominators));
    const auto all_bounded = [&] {
      return std::all_of(sites_.begin(), sites_.end(), [&](Site& site) {
        return std::all_of(site.addresses.begin(), site.addresses.end(),
                           [&](const Inst* read) { return site.possible[read->imm] <= kLargestAddress; });
      });
    };
    if (all_bounded()) return;
    // Of registers whose values depend on what they held before: the bits they can have, found by starting from none.
    const std::vector<Site> without_assumptions = sites_;
    for (Site& site : sites_)
      for (auto& [row, possible] : site.possible)
        if (possible > kLargestAddress) possible = 0;
    for (unsigned round = 0; round < kMaxBoundRounds; ++round) {
      std::unordered_map<const Inst*, uint64_t> assumed;
      for (Site& site : sites_)
        for (const Inst* read : site.reads) assumed[read] = site.possible[read->imm];
      if (!find_possible(KnownBits(function_, dominators, assumed))) return;
    }
    sites_ = without_assumptions;
  }

  // Adds the bits that the exits write to what is possible at entries, and the way round loops of barriers, too. Returns
  // whether there are more now.
  bool find_possible(const KnownBits& bits) {
    const auto possible_in = [&](size_t site, uint64_t row) -> uint64_t {
      return sites_[site].resumed_only ? sites_[site].possible[row] : UINT32_MAX;
    };
    bool any = false;
    for (bool changed = true; changed;) {
      changed = false;
      for (const Exit& exit : exits_) {
        for (uint64_t row = 0; row < rows_.size(); ++row) {
          if (!rows_.test(row)) continue;
          uint64_t possible = 0;
          if (const auto written = exit.written.find(row); written != exit.written.end()) {
            possible = bits.of(written->second).possible;
          } else {
            for (const size_t origin : exit.origins) possible |= possible_in(origin, row);
          }
          uint64_t& all = sites_[exit.resumes_at].possible[row];
          changed |= (possible & ~all) != 0;
          all |= possible;
        }
      }
      any |= changed;
    }
    return any;
  }

  bool mark() {
    bool changed = false;
    for (Site& site : sites_) {
      for (Inst* read : site.addresses) {
        const uint64_t possible = site.possible[read->imm];
        if (possible > kLargestAddress) continue;
        const auto make = [&](Op op, const std::vector<Inst*>& operands, uint64_t imm) {
          Inst* inst = function_.create(op, kV32, operands);
          inst->imm = imm;
          inst->guest_pc = read->guest_pc;
          inst->parent = site.block;
          return inst;
        };
        Inst* mask = make(Op::const_, {}, possible);
        Inst* bounded = make(Op::and_, {mask, mask}, 0);
        function_.replace_all_uses(read, bounded);
        function_.set_operand(bounded, 0, read);
        auto& insts = site.block->insts;
        const std::vector<Inst*> made = {mask, bounded};
        insts.insert(std::find(insts.begin(), insts.end(), read) + 1, made.begin(), made.end());
        function_.count(Rule::address_bounded);
        changed = true;
      }
    }
    return changed;
  }

  Function& function_;
  Rows rows_;  // that hold addresses where some entry reads them
  std::vector<Site> sites_;
  std::vector<Exit> exits_;
};

}  // namespace

PassResult resumed_bounds(Function& function, const PassContext&) {
  const bool dropped = drop_unreachable(function);
  return {.changed = ResumedBounds(function).run() || dropped};
}

}  // namespace wavejit::ir::passes
