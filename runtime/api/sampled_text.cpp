#include "runtime/api/sampled_text.h"

#include <fmt/format.h>

#include <memory>
#include <set>

#include "frontend/isa/info.h"
#include "ir/profile.h"
#include "runtime/api/profile_summary.h"
#include "runtime/translate/switches.h"

namespace wavejit::runtime {
namespace {

// Of groups of four neighbouring lanes, as translations choose by them.
std::string describe_access(const InstructionSample& at) {
  const ir::LaneSample& lanes = at.lanes;
  if (lanes.groups == 0) return {};
  std::string text = fmt::format("side by side {:.0f} %, one place {:.0f} %, disorder {:.0f} %",
                                 100 * part(lanes.consecutive, lanes.groups), 100 * part(lanes.same, lanes.groups),
                                 100 * part(lanes.groups - lanes.consecutive - lanes.same, lanes.groups));
  if (at.strided != 0)
    text += fmt::format(", stride {} B in {:.0f} % of the accesses", at.stride, 100 * part(at.strided, at.accesses));
  return text;
}

// Of a branch back: waves come to it once for each trip, and go on behind it at the loop's end.
std::string describe_trips(const isa::Instruction& inst, const InstructionSample& at) {
  const auto target = isa::branch_target(inst);
  if (!target || *target > inst.pc || isa::info(inst.opcode).control_flow != isa::ControlFlow::cond_branch) return {};
  const uint64_t ends = at.lanes.executed - at.taken;
  if (ends == 0) return "a loop of which no end was sampled";
  return fmt::format("a loop of {:.1f} trips", part(at.lanes.executed, ends));
}

}  // namespace

Expected<std::string> sampled_text(const Module& module, const codeobject::Kernel& kernel, const SampledCode& samples,
                                   const DumpOptions& options) {
  DumpOptions without = options, with = options;
  without.profile = nullptr;
  with.profile = std::make_shared<const ir::Profile>(profile_of(samples));
  const bool chooses = is_on(options.disabled_passes, kProfiles);
  const Expected<std::set<uint64_t>> always = copied_loops(module, kernel, without);
  if (!always) return tl::unexpected<Error>(always.error());
  const Expected<std::set<uint64_t>> copied = copied_loops(module, kernel, with);
  if (!copied) return tl::unexpected<Error>(copied.error());
  const std::set<uint64_t> starts = block_starts(module, kernel);
  const auto annotate = [&](const isa::Instruction& inst) {
    Annotation note{.above = {}, .before = fmt::format("{:21}", ""), .behind = {}};
    const auto found = samples.find(inst.pc);
    if (starts.contains(inst.pc)) {
      note.above = fmt::format("{:21}  ; block", "");
      if (found == samples.end())
        note.above += ": not sampled";
      else
        note.above += fmt::format(": {} executions, {:.1f} lanes", found->second.lanes.executed,
                                  ir::active_lanes(found->second.lanes));
      if (copied->contains(inst.pc) && !always->contains(inst.pc))
        note.above += "; chosen: a copy of the loop for one lane after the other";
      note.above += '\n';
    }
    if (found == samples.end()) return note;
    const InstructionSample& at = found->second;
    note.before = fmt::format("{:14} {:6.1f}", at.lanes.executed, ir::active_lanes(at.lanes));
    for (const std::string& what : {describe_access(at), describe_trips(inst, at)})
      if (!what.empty()) note.behind += "  ; " + what;
    if (chooses && ir::is_scattered(at.lanes)) note.behind += "  ; chosen: no search for order";
    return note;
  };
  Expected<std::string> listing = dump_gcn(module, kernel, annotate);
  if (!listing) return listing;
  return fmt::format("{:>14} {:>6}\n", "waves", "lanes") + *listing;
}

}  // namespace wavejit::runtime
