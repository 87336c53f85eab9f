#include "runtime/api/profile_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "frontend/isa/decoder.h"
#include "frontend/isa/info.h"
#include "runtime/api/inspect.h"

namespace wavejit::runtime {
namespace {

using interp::InstructionProfile;

double part(uint64_t of, uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(of) / static_cast<double>(all);
}

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
  if (lds.cycles == lds.halves) return "LDS without bank conflicts";
  return fmt::format("LDS banks {:.1f} cycles for each 32 lanes", part(lds.cycles, lds.halves));
}

}  // namespace

std::vector<std::pair<uint64_t, InstructionProfile>> profile_of(const Module& module, const codeobject::Kernel& kernel,
                                                                const interp::Profile& profile) {
  std::vector<std::pair<uint64_t, InstructionProfile>> rows;
  for (const uint64_t pc : instructions_of(module, kernel))
    if (const auto at = profile.find(pc); at != profile.end())
      rows.emplace_back(pc - module.object().load_bias(), at->second);
  return rows;
}

Expected<std::string> profile_text(const Module& module, const codeobject::Kernel& kernel,
                                   const interp::Profile& profile) {
  std::optional<std::string> line;  // of the source, that was printed last
  const auto annotate = [&](const isa::Instruction& inst) {
    Annotation note{.above = {}, .before = fmt::format("{:21}", ""), .behind = {}};
    if (std::optional<std::string> its = module.object().source_line(inst.pc); its && its != line) {
      note.above = fmt::format("{:21}  ; {}\n", "", *its);
      line = std::move(its);
    }
    const auto found = profile.find(inst.pc);
    if (found == profile.end()) return note;
    const InstructionProfile& at = found->second;
    note.before = fmt::format("{:14} {:6.1f}", at.executed, part(at.lanes, at.executed));
    for (const std::string& what : {describe_branch(inst, at), describe_memory(at.memory), describe_lds(at.lds)})
      if (!what.empty()) note.behind += "  ; " + what;
    return note;
  };
  Expected<std::string> listing = dump_gcn(module, kernel, annotate);
  if (!listing) return listing;
  return fmt::format("{:>14} {:>6}\n", "waves", "lanes") + *listing;
}

}  // namespace wavejit::runtime
