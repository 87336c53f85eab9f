#include "runtime/api/profile_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "frontend/isa/decoder.h"
#include "frontend/isa/info.h"
#include "runtime/api/inspect.h"
#include "runtime/api/profile_summary.h"
#include "runtime/kernel/symbols.h"

namespace wavejit::runtime {
namespace {

using interp::InstructionProfile;

std::string describe_branch(const isa::Instruction& inst, const InstructionProfile& at) {
  if (isa::info(inst.opcode).control_flow != isa::ControlFlow::cond_branch) return {};
  return fmt::format("taken {:.1f} %", 100 * part(at.taken, at.executed));
}

std::string describe_memory(const InstructionProfile::Accesses& memory) {
  if (memory.count == 0) return {};
  std::string text = fmt::format("{} B a lane, {:.1f} lines of 64 B", memory.bytes, part(memory.lines, memory.count));
  const auto add = [&](uint64_t count, const std::string& pattern) {
    if (count == memory.count)
      text += fmt::format(", {}", pattern);
    else if (count != 0)
      text += fmt::format(", {} {:.0f} %", pattern, 100 * part(count, memory.count));
  };
  add(memory.consecutive, "consecutive");
  add(memory.same, "one place");
  add(memory.strided, fmt::format("stride {} B", memory.stride));
  add(memory.count - memory.consecutive - memory.same - memory.strided, "scattered");
  return text;
}

std::string describe_lds(const InstructionProfile::LdsAccesses& lds) {
  if (lds.count == 0) return {};
  if (lds.cycles == lds.least) return "LDS without bank conflicts";
  return fmt::format("LDS banks {:.1f} cycles for each 32 lanes, without conflicts {:.1f}",
                     part(lds.cycles, lds.halves), part(lds.least, lds.halves));
}

}  // namespace

std::vector<std::pair<uint64_t, InstructionProfile>> profile_of(const Module& module, const interp::Profile& profile) {
  std::vector<std::pair<uint64_t, InstructionProfile>> rows;
  for (const auto& [pc, at] : profile)
    if (!code_region(module.object(), pc).empty()) rows.emplace_back(pc - module.object().load_bias(), at);
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return rows;
}

Expected<std::string> profile_text(const Module& module, const codeobject::Kernel& kernel,
                                   const interp::Profile& profile) {
  const codeobject::CodeObject& object = module.object();
  ProfileSummary summary(object.load_bias());
  std::vector<uint64_t> reached;
  for (const auto& [pc, at] : profile) {
    reached.push_back(pc);
    if (code_region(object, pc).empty()) summary.add_elsewhere(at);
  }
  std::optional<std::string> line;  // of the source, that was printed last
  const auto annotate = [&](const isa::Instruction& inst) {
    Annotation note{.above = {}, .before = fmt::format("{:21}", ""), .behind = {}};
    const auto function = object.function_at(inst.pc);
    if (function && function->address == inst.pc && inst.pc != kernel.descriptor.entry)
      note.above = fmt::format("{}:\n", demangled(function->name));
    std::optional<std::string> its = object.source_line(inst.pc);
    if (its && its != line) note.above += fmt::format("{:21}  ; {}\n", "", *its);
    const auto found = profile.find(inst.pc);
    if (found != profile.end()) summary.add(inst, found->second, its.value_or(""));
    if (its) line = std::move(its);
    if (found == profile.end()) return note;
    const InstructionProfile& at = found->second;
    note.before = fmt::format("{:14} {:6.1f}", at.executed, part(at.lanes, at.executed));
    for (const std::string& what : {describe_branch(inst, at), describe_memory(at.memory), describe_lds(at.lds)})
      if (!what.empty()) note.behind += "  ; " + what;
    return note;
  };
  Expected<std::string> listing = dump_gcn(module, kernel, annotate, reached);
  if (!listing) return listing;
  return summary.text() + fmt::format("{:>14} {:>6}\n", "waves", "lanes") + *listing;
}

}  // namespace wavejit::runtime
