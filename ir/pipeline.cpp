// The list of passes and the driver that runs them.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ir/pass.h"
#include "ir/passes/passes.h"
#include "ir/text.h"

namespace wavejit::ir {
namespace {

// The passes of passes.def as values.
#define PASS(function, name, meaning) constexpr Pass function{name, meaning, passes::function};
namespace rows {
#include "ir/passes/passes.def"
}
#undef PASS

constexpr Pass kPipeline[] = {
    rows::peephole,
    rows::cfg,
    rows::gvn,
    rows::mask_algebra,
    rows::flatten,
    rows::demanded_lanes,
    rows::peephole,
    rows::uniform_phis,
    rows::recombine,
    rows::phi_pairs,
    rows::peephole,
    rows::gvn,
    rows::long_divisions,
    rows::recombine,
    rows::phi_pairs,
    rows::resumed_values,
    rows::resumed_bounds,
    rows::moved_entry,
    rows::peephole,
    rows::branch_facts,
    rows::mask_algebra,
    rows::demanded_lanes,
    rows::peephole,
    rows::flatten,
    rows::peephole,
    rows::mask_terms,
    rows::address,
    rows::uniform_stores,
    rows::loop_bounds,
    rows::peephole,
    rows::cfg,
    rows::gvn,
    rows::polls,
    rows::full_loops,
    rows::peephole,
    rows::unclamped_copies,
    rows::merge_accesses,
    rows::merge_bytes,
    rows::lane_loops,
    rows::stream_checks,
    rows::branch_facts,
    rows::threaded_branches,
    rows::peephole,
    rows::register_arrays,
    rows::lane_rows,
    rows::lane_row_loops,
    rows::lane_numbers,
    rows::state_writes,
    rows::stepped_addresses,
    rows::licm,
    rows::resident_rows,
    rows::matrix_order,
    rows::joined_sums,
    rows::lane_reads,
    rows::dce,
};

bool listed(const std::vector<std::string>& list, std::string_view when, std::string_view pass) {
  return std::any_of(list.begin(), list.end(), [&](const std::string& item) {
    return item.starts_with(when) && (item.substr(when.size()) == pass || item.substr(when.size()) == "all");
  });
}

void mix(uint64_t& hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  hash ^= hash >> 29;
}

// All that a pass can see of a function, to the order of users.
uint64_t fingerprint(const Function& function) {
  uint64_t hash = function.entries.size();
  for (const Entry& entry : function.entries)
    for (const uint64_t value :
         {entry.guest_pc, uint64_t{entry.block->id}, uint64_t{entry.resumed_only}, uint64_t{entry.moved}, entry.exec})
      mix(hash, value);
  for (const auto& block : function.blocks) {
    for (const uint64_t value : {uint64_t{block->id}, block->guest_pc, uint64_t{block->insts.size()}}) mix(hash, value);
    for (const auto* list : {&block->successors, &block->predecessors})
      for (const Block* other : *list) mix(hash, other->id);
    for (const Inst* inst : block->insts) {
      const MemAttr& mem = inst->mem;
      for (const uint64_t value :
           {uint64_t{inst->id}, static_cast<uint64_t>(inst->op), static_cast<uint64_t>(inst->type.kind),
            uint64_t{inst->type.count}, uint64_t{inst->attr}, inst->imm, inst->imm2, inst->guest_pc,
            static_cast<uint64_t>(mem.space), static_cast<uint64_t>(mem.form), uint64_t{mem.bytes}, uint64_t{mem.count},
            uint64_t{mem.wraps}, static_cast<uint64_t>(mem.imm)})
        mix(hash, value);
      for (const auto* list : {&inst->operands, &inst->users}) {
        mix(hash, list->size());
        for (const Inst* other : *list) mix(hash, other->id);
      }
    }
  }
  return hash;
}

// Which passes would change nothing if they ran now.
class Settled {
 public:
  [[nodiscard]] bool has(const Pass& pass) const {
    const auto it = at_.find(pass.run);
    return it != at_.end() && it->second == version_;
  }
  void note(const Pass& pass, PassResult result) {
    if (result.changed) ++version_;
    if (!result.changed || result.settled) at_[pass.run] = version_;
  }

 private:
  unsigned version_ = 0;  // of the function
  std::unordered_map<PassResult (*)(Function&, const PassContext&), unsigned> at_;
};

// Checks what each pass leaves and says of it.
class Checker {
 public:
  explicit Checker(const Function& function) : function_(function) {
    verify_now("before the passes");
    before_ = fingerprint(function);
  }

  // settled: the pass has said that it would change nothing now.
  void check(const Pass& pass, PassResult result, bool settled) {
    if (result.changed) verify_now(fmt::format("after pass {}", pass.name));
    const uint64_t after = fingerprint(function_);
    WAVEJIT_CHECK(result.changed || after == before_, "pass {} does not say what it changes", pass.name);
    WAVEJIT_CHECK(!settled || !result.changed, "pass {} changes more when it runs again", pass.name);
    before_ = after;
  }

 private:
  void verify_now(std::string_view when) const {
    const std::string problem = verify(function_);
    WAVEJIT_CHECK(problem.empty(), "{}: {}", when, problem);
  }

  const Function& function_;
  uint64_t before_ = 0;  // what the last pass left
};

}  // namespace

std::span<const Pass> pipeline() {
  return kPipeline;
}

void optimise(Function& function, const PassContext& context) {
  const auto dump = [&](std::string_view when, const Pass& pass) {
    if (context.dump_sink && listed(context.dump, when, pass.name)) {
      context.dump_sink(std::string(when) + std::string(pass.name), function);
    }
  };
  Settled settled;
  std::optional<Checker> checker;
  if (context.verify) checker.emplace(function);
  for (const Pass& pass : pipeline()) {
    if (listed(context.disabled, "", pass.name)) continue;
    dump("before:", pass);
    const bool skip = settled.has(pass);
    PassResult result;
    if (checker || !skip) {
      result = pass.run(function, context);
      if (checker) checker->check(pass, result, skip);
      settled.note(pass, result);
    }
    if (context.finished) {
      const PassOutcome ran = result.changed ? PassOutcome::changed : PassOutcome::unchanged;
      context.finished(pass.name, skip ? PassOutcome::skipped : ran);
    }
    dump("after:", pass);
  }
}

}  // namespace wavejit::ir
