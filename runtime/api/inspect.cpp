#include "runtime/api/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <set>

#include "frontend/interp/interpreter.h"
#include "frontend/isa/decoder.h"
#include "frontend/isa/info.h"
#include "frontend/lift/lifter.h"
#include "ir/pass.h"
#include "ir/rules.h"
#include "ir/text.h"
#include "runtime/kernel/symbols.h"
#include "runtime/memory/fault.h"
#include "runtime/translate/lane_choice.h"
#include "runtime/translate/names.h"
#include "runtime/translate/specialisation.h"
#include "runtime/translate/switches.h"

namespace wavejit::runtime {
namespace {

using codeobject::Kernel;

// Instructions of the kernel in address order: those that are reachable by direct control flow from its entry and from
// other addresses in its code segment.
struct Listing {
  std::map<uint64_t, isa::Instruction> instructions;
  std::map<uint64_t, isa::Instruction> illegal;  // only `words` and `size` mean something
  std::set<uint64_t> targets;
};

Listing walk(const Module& module, const Kernel& kernel, std::span<const uint64_t> reached = {}) {
  Listing listing;
  const uint64_t entry = kernel.descriptor.entry;
  const std::span<const uint8_t> region = code_region(module.object(), entry);
  if (region.empty()) return listing;
  const auto base = reinterpret_cast<uint64_t>(region.data());
  std::vector<uint64_t> work(reached.begin(), reached.end());
  work.push_back(entry);
  while (!work.empty()) {
    uint64_t pc = work.back();
    work.pop_back();
    for (;;) {
      if (pc < base || pc >= base + region.size() || listing.instructions.contains(pc) || listing.illegal.contains(pc))
        break;
      isa::Instruction inst;
      if (isa::decode(module.target(), region.subspan(pc - base), pc, inst) != isa::DecodeStatus::ok) {
        inst.pc = pc;
        listing.illegal.emplace(pc, inst);
        break;
      }
      listing.instructions.emplace(pc, inst);
      const isa::ControlFlow flow = isa::info(inst.opcode).control_flow;
      if (const auto to = isa::branch_target(inst)) {
        listing.targets.insert(*to);
        work.push_back(*to);
      }
      if (flow == isa::ControlFlow::branch || flow == isa::ControlFlow::jump || flow == isa::ControlFlow::end) break;
      pc = inst.next_pc();
    }
  }
  return listing;
}

std::string encoding(const isa::Instruction& inst) {
  std::string text;
  for (unsigned i = 0; i < inst.size / 4u && i < inst.words.size(); ++i)
    text += fmt::format("{}{:08x}", i ? " " : "", inst.words[i]);
  return text;
}

lift::LiftOptions lift_options(const Module& module, const Kernel& kernel, const DumpOptions& dump) {
  const std::span<const uint8_t> region = code_region(module.object(), kernel.descriptor.entry);
  lift::LiftOptions options;
  options.target = module.target();
  options.ecc_off = module.object().target().ecc_off();
  options.name = kernel.name;
  options.entry_pc = kernel.descriptor.entry;
  options.code = region;
  options.code_base = reinterpret_cast<uint64_t>(region.data());
  options.mode = kernel.descriptor.mode;
  const auto on = [&](std::string_view name) { return is_on(dump.disabled_passes, name); };
  const auto& workgroup = dump.workgroup;
  options.exec_full = on(kFullExec);
  Specialisation specialisation{.kernel = &kernel};
  if (workgroup[0] != 0 && on(kDispatchShape))
    specialisation =
        specialisation_of(kernel, {.grid = workgroup, .workgroup = workgroup}, kernel.descriptor.group_segment_size, 0);
  if (!on(kLdsSize)) specialisation.lds_size.reset();
  if (const uint32_t items = workgroup[0] * workgroup[1] * workgroup[2];
      specialisation.workgroup && items < kWaveSize && on(kFullExec) && on(kLastWaves)) {
    specialisation.last_wave = true;
    options.exec_full = false;
    options.exec_at_entries = last_wave_exec(workgroup);
  }
  specialise(options, specialisation, module.target());
  if (dump.moved_at != 0) options.moved_pc = dump.moved_at;
  if (on(kProfiles)) options.profile = dump.profile;
  options.resident_rows = on(kResidentRows);
  if (!on(kScratchDescriptors)) {
    options.scratch_srd_sgpr = -1;
    options.scratch_srd_behind_calls = false;
  }
  return options;
}

ir::PassContext pass_context(const lift::LiftOptions& lifting, const DumpOptions& options) {
  ir::PassContext context;
  context.one_wave = lifting.shape && lifting.shape->has_one_wave();
  context.poll_all_loops = !handles_signals();
  context.all_lane_loops = lane_choice() == LaneChoice::always;
  context.disabled = options.disabled_passes;
  return context;
}

// Checks what the user chose.
Expected<void> check(const Kernel& kernel, const DumpOptions& options) {
  const auto& size = options.workgroup;
  if (size[0] == 0 && size[1] == 0 && size[2] == 0) {
    if (options.moved_at == 0) return {};
    return make_error(ErrorCode::kInvalidArgument,
                      "The code for waves from the interpreter is specialised: it needs a work-group size.");
  }
  return check_shape(kernel, {.grid = size, .workgroup = size});
}

Expected<void> check_pass(const std::string& pass) {
  std::vector<std::string_view> known;
  for (const ir::Pass& p : ir::pipeline()) known.push_back(p.name);
  if (std::find(known.begin(), known.end(), pass) != known.end()) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    fmt::format("There is no IR pass '{}'.{}", pass, did_you_mean(pass, known)));
}

tl::unexpected<Error> with_kernel(Error error, const Kernel& kernel) {
  if (error.kernel.empty()) error.kernel = kernel.name;
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace

namespace {

// The kernel's own code in full, so that what only a call or jump through a register reaches is there too.
Listing whole_listing(const Module& module, const Kernel& kernel, std::span<const uint64_t> reached) {
  const uint64_t entry = kernel.descriptor.entry;
  const std::span<const uint8_t> region = code_region(module.object(), entry);
  const auto base = reinterpret_cast<uint64_t>(region.data());
  Listing listing = walk(module, kernel, reached);
  const uint64_t end = std::min<uint64_t>(entry + kernel.code_size, base + region.size());
  for (uint64_t pc = entry; pc < end;) {
    isa::Instruction inst;
    if (isa::decode(module.target(), region.subspan(pc - base), pc, inst) != isa::DecodeStatus::ok) {
      inst.pc = pc;
      inst.size = 4;
      inst.words[0] = 0;
      std::memcpy(&inst.words[0], region.data() + (pc - base), std::min<size_t>(4, end - pc));
      listing.illegal.emplace(pc, inst);
      pc += 4;
      continue;
    }
    if (const isa::Operand* target = inst.find(isa::Slot::target))
      listing.targets.insert(inst.next_pc() + target->value);
    listing.instructions.emplace(pc, inst);
    pc += inst.size;
  }
  return listing;
}

}  // namespace

Expected<std::string> dump_gcn(const Module& module, const Kernel& kernel,
                               const std::function<Annotation(const isa::Instruction&)>& annotate,
                               std::span<const uint64_t> reached) {
  if (code_region(module.object(), kernel.descriptor.entry).empty())
    return make_error(ErrorCode::kBadCodeObject,
                      fmt::format("The entry of kernel '{}' is outside of the code.", kernel.name));
  const Listing listing = whole_listing(module, kernel, reached);
  std::map<uint64_t, unsigned> labels;
  for (const uint64_t target : listing.targets) labels.emplace(target, static_cast<unsigned>(labels.size()));
  std::map<uint64_t, std::string> lines;
  for (const auto& [pc, inst] : listing.instructions) {
    std::string text = isa::disassemble(inst);
    if (const isa::Operand* target = inst.find(isa::Slot::target))
      text += fmt::format("  ; -> L{}", labels.at(inst.next_pc() + target->value));
    lines.emplace(pc, std::move(text));
  }
  for (const auto& [pc, inst] : listing.illegal) lines.emplace(pc, "; not an instruction");
  std::string out = fmt::format("{}: ; {}, {} bytes\n", kernel.name, module.target_id(), kernel.code_size);
  for (const auto& [pc, text] : lines) {
    if (const auto label = labels.find(pc); label != labels.end()) out += fmt::format("L{}:\n", label->second);
    const auto it = listing.instructions.find(pc);
    const isa::Instruction& inst = it != listing.instructions.end() ? it->second : listing.illegal.at(pc);
    const Annotation note = annotate ? annotate(inst) : Annotation();
    out += fmt::format("{}{}  {:08x}  {:<26}  {}{}\n", note.above, note.before, pc - module.object().load_bias(),
                       encoding(inst), text, note.behind);
  }
  return out;
}

Expected<std::string> dump_ir(const Module& module, const Kernel& kernel, std::string_view stage,
                              const DumpOptions& options) {
  if (Expected<void> ok = check(kernel, options); !ok) return tl::unexpected<Error>(ok.error());
  const lift::LiftOptions lifting = lift_options(module, kernel, options);
  ir::PassContext context = pass_context(lifting, options);
  std::string out;
  if (!stage.empty()) {
    const size_t colon = stage.find(':');
    const std::string_view when = stage.substr(0, colon);
    if (colon == std::string_view::npos || (when != "before" && when != "after"))
      return make_error(ErrorCode::kInvalidArgument,
                        fmt::format("'{}' is not a stage; write before:<pass> or after:<pass>.", stage));
    const std::string pass(stage.substr(colon + 1));
    if (pass != "all")
      if (Expected<void> ok = check_pass(pass); !ok) return tl::unexpected<Error>(ok.error());
    context.dump.emplace_back(stage);
    context.dump_sink = [&out](std::string_view title, const ir::Function& function) {
      out += fmt::format("; {}\n{}\n", title, ir::print(function));
    };
  }
  Expected<lift::LiftResult> lifted = lift::lift(lifting);
  if (!lifted) return with_kernel(std::move(lifted.error()), kernel);
  ir::optimise(*lifted->function, context);
  if (stage.empty()) out = ir::print(*lifted->function);
  return out;
}

Expected<std::string> dump_pass_stats(const Module& module, const Kernel& kernel, const DumpOptions& options) {
  if (Expected<void> ok = check(kernel, options); !ok) return tl::unexpected<Error>(ok.error());
  const lift::LiftOptions lifting = lift_options(module, kernel, options);
  Expected<lift::LiftResult> lifted = lift::lift(lifting);
  if (!lifted) return with_kernel(std::move(lifted.error()), kernel);
  ir::PassContext context = pass_context(lifting, options);
  struct Runs {
    unsigned changed = 0, unchanged = 0, skipped = 0;
  };
  std::map<std::string_view, Runs> runs;
  context.finished = [&](std::string_view pass, ir::PassOutcome outcome) {
    Runs& of_pass = runs[pass];
    if (outcome == ir::PassOutcome::changed) ++of_pass.changed;
    if (outcome == ir::PassOutcome::unchanged) ++of_pass.unchanged;
    if (outcome == ir::PassOutcome::skipped) ++of_pass.skipped;
  };
  // Loops by address, as --gcn prints them.
  const auto address = [&](uint64_t pc) { return pc - module.object().load_bias(); };
  std::map<uint64_t, std::string> loops;
  context.loop_remark = [&](const ir::LoopRemark& remark) {
    std::string text = "in lockstep, or one lane after the other if that is faster";
    if (!remark.obstacle.empty()) text = fmt::format("in lockstep: {}", remark.obstacle);
    if (remark.at != nullptr && remark.at->guest_pc != 0)
      text += fmt::format(" at {:08x}", address(remark.at->guest_pc));
    loops[address(remark.header->guest_pc)] = std::move(text);
  };
  ir::optimise(*lifted->function, context);
  std::string out =
      fmt::format("; {}\n{:<18}{:>9}{:>11}{:>9}\n", kernel.name, "pass", "changed", "unchanged", "skipped");
  std::set<std::string_view> listed;
  for (const ir::Pass& pass : ir::pipeline()) {
    if (!runs.contains(pass.name) || !listed.insert(pass.name).second) continue;
    const Runs& of_pass = runs[pass.name];
    out += fmt::format("{:<18}{:>9}{:>11}{:>9}\n", pass.name, of_pass.changed, of_pass.unchanged, of_pass.skipped);
  }
  out += fmt::format("\n{:<18}{:<28}{:>6}  {}\n", "pass", "rule", "count", "meaning");
  for (size_t i = 0; i < ir::rules().size(); ++i) {
    const ir::RuleInfo& rule = ir::rules()[i];
    const uint32_t count = lifted->function->rule_counts[i];
    if (count != 0) out += fmt::format("{:<18}{:<28}{:>6}  {}\n", rule.pass, rule.name, count, rule.meaning);
  }
  if (!loops.empty()) out += fmt::format("\n{:<10}executed (pass lane-loops)\n", "loop at");
  for (const auto& [pc, text] : loops) out += fmt::format("{:08x}  {}\n", pc, text);
  return out;
}

Expected<std::set<uint64_t>> copied_loops(const Module& module, const Kernel& kernel, const DumpOptions& options) {
  if (Expected<void> ok = check(kernel, options); !ok) return tl::unexpected<Error>(ok.error());
  const lift::LiftOptions lifting = lift_options(module, kernel, options);
  Expected<lift::LiftResult> lifted = lift::lift(lifting);
  if (!lifted) return with_kernel(std::move(lifted.error()), kernel);
  std::set<uint64_t> copied;
  ir::PassContext context = pass_context(lifting, options);
  context.loop_remark = [&](const ir::LoopRemark& remark) {
    if (remark.obstacle.empty()) copied.insert(remark.header->guest_pc);
  };
  ir::optimise(*lifted->function, context);
  return copied;
}

std::set<uint64_t> block_starts(const Module& module, const Kernel& kernel) {
  const Listing listing = walk(module, kernel);
  std::set<uint64_t> starts = listing.targets;
  starts.insert(kernel.descriptor.entry);
  for (const auto& [pc, inst] : listing.instructions)
    if (isa::info(inst.opcode).control_flow != isa::ControlFlow::none) starts.insert(inst.next_pc());
  return starts;
}

namespace {
using CompiledKernel = Expected<std::shared_ptr<const backend::CompiledCode>>;

CompiledKernel compile(const Module& module, const Kernel& kernel, backend::Tier tier, const DumpOptions& options,
                       backend::ListingKind listing) {
  if (Expected<void> ok = check(kernel, options); !ok) return tl::unexpected<Error>(ok.error());
  const lift::LiftOptions lifting = lift_options(module, kernel, options);
  Expected<lift::LiftResult> lifted = lift::lift(lifting);
  if (!lifted) return with_kernel(std::move(lifted.error()), kernel);
  ir::optimise(*lifted->function, pass_context(lifting, options));
  CompiledKernel code = backend::compile(
      *lifted->function,
      {.tier = tier, .listing = listing, .optimisations = backend_optimisations(options.disabled_passes)});
  if (!code) return with_kernel(std::move(code.error()), kernel);
  return code;
}
}  // namespace

Expected<std::string> dump_lir(const Module& module, const Kernel& kernel, backend::Tier tier,
                               const DumpOptions& options) {
  const CompiledKernel code = compile(module, kernel, tier, options, backend::ListingKind::lir);
  if (!code) return tl::unexpected<Error>(code.error());
  return fmt::format("; {} for {}, for the code at {:#x}\n{}", kernel.name, backend::to_string(tier),
                     kernel.descriptor.entry, (*code)->listing());
}

Expected<std::string> dump_x86(const Module& module, const Kernel& kernel, backend::Tier tier,
                               const DumpOptions& options) {
  const CompiledKernel code = compile(module, kernel, tier, options, backend::ListingKind::x86);
  if (!code) return tl::unexpected<Error>(code.error());
  return fmt::format("; {} for {}: {} instructions, {} bytes, for the code at {:#x}\n{}", kernel.name,
                     backend::to_string(tier), (*code)->host_instructions(), (*code)->code().size(),
                     kernel.descriptor.entry, (*code)->listing());
}

Coverage coverage(const Module& module, const Kernel& kernel, backend::Tier tier) {
  Coverage result;
  const Listing listing = walk(module, kernel);
  std::map<std::pair<std::string, std::string>, CoverageIssue> issues;
  const auto note = [&](const char* stage, const std::string& what, std::string detail, uint64_t pc) {
    CoverageIssue& issue = issues[{stage, what}];
    if (issue.count++ == 0) issue = {.stage = stage, .what = what, .detail = std::move(detail), .pc = pc, .count = 1};
  };
  result.instructions = listing.instructions.size() + listing.illegal.size();
  for (const auto& [pc, inst] : listing.illegal) {
    ++result.illegal;
    note("decode", "illegal", encoding(inst), pc);
  }
  for (const auto& [pc, inst] : listing.instructions) {
    const std::string name(isa::opcode_name(inst.opcode));
    if (!interp::Interpreter::supports(inst.opcode)) {
      ++result.interp_unsupported;
      note("interp", name, isa::describe(inst), pc);
    }
    if (!lift::supports(static_cast<uint16_t>(inst.opcode))) {
      ++result.lift_unsupported;
      note("lift", name, isa::describe(inst), pc);
    }
  }
  const auto start = std::chrono::steady_clock::now();
  std::vector<lift::Unsupported> unsupported;
  Expected<lift::LiftResult> lifted = lift::lift(lift_options(module, kernel, {}), &unsupported);
  if (!lifted) {
    note("lift", lifted.error().message, lifted.error().message, lifted.error().pc.value_or(kernel.descriptor.entry));
    ++result.lift_unsupported;
  } else {
    // A supported opcode may still be refused in a particular form (modifiers, addressing).
    for (const lift::Unsupported& u : unsupported) {
      const auto it = listing.instructions.find(u.pc);
      if (it != listing.instructions.end() && !lift::supports(static_cast<uint16_t>(it->second.opcode))) continue;
      ++result.lift_unsupported;
      note("lift", u.what.substr(0, u.what.find(' ')), u.what, u.pc);
    }
    ir::optimise(*lifted->function);
    auto code = backend::compile(*lifted->function, {.tier = tier});
    if (!code) {
      note("compile", code.error().message, code.error().message, code.error().pc.value_or(kernel.descriptor.entry));
    } else {
      result.compiled = unsupported.empty();
      result.host_instructions = (*code)->host_instructions();
      result.host_bytes = (*code)->code().size();
    }
  }
  result.translate_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  for (auto& [key, issue] : issues) result.issues.push_back(std::move(issue));
  return result;
}

Expected<TranslationProfile> profile_translation(const Module& module, const Kernel& kernel, backend::Tier tier,
                                                 const DumpOptions& options, bool with_hash) {
  if (Expected<void> ok = check(kernel, options); !ok) return tl::unexpected<Error>(ok.error());
  TranslationProfile profile;
  profile.gcn_instructions = walk(module, kernel).instructions.size();
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
  };
  const uint64_t start = now();
  uint64_t last = start;
  const auto finished = [&](std::string_view name) {
    const uint64_t time = now();
    auto it = std::find_if(profile.stages.begin(), profile.stages.end(), [&](const auto& s) { return s.name == name; });
    if (it == profile.stages.end()) it = profile.stages.insert(it, {.name = std::string(name), .ns = 0});
    it->ns += time - last;
    last = now();
  };
  {
    const lift::LiftOptions lifting = lift_options(module, kernel, options);
    ir::PassContext context = pass_context(lifting, options);
    context.finished = [&](std::string_view pass, ir::PassOutcome) { finished("pass " + std::string(pass)); };
    Expected<lift::LiftResult> lifted = lift::lift(lifting);
    if (!lifted) return with_kernel(std::move(lifted.error()), kernel);
    finished("lift");
    ir::optimise(*lifted->function, context);
    auto code = backend::compile(
        *lifted->function,
        {.tier = tier, .optimisations = backend_optimisations(options.disabled_passes), .finished = finished});
    if (!code) return with_kernel(std::move(code.error()), kernel);
    profile.host_instructions = (*code)->host_instructions();
    profile.host_bytes = (*code)->code().size();
  }
  finished("free");
  profile.total_ns = last - start;
  if (with_hash) {
    Expected<std::string> listing = dump_x86(module, kernel, tier, options);
    if (!listing) return tl::unexpected<Error>(listing.error());
    profile.code_hash = std::hash<std::string>{}(*listing);
  }
  return profile;
}

}  // namespace wavejit::runtime
