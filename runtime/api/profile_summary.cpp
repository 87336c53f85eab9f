#include "runtime/api/profile_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "frontend/isa/info.h"

namespace wavejit::runtime {
namespace {

using interp::InstructionProfile;
using Share = std::pair<std::string, uint64_t>;

constexpr size_t kMostLines = 5;

// "vector 51.7 %, scalar 17.4 %": the largest first, at most `most`, none of 0.
std::string shares(std::vector<Share> parts, uint64_t all, size_t most = SIZE_MAX) {
  std::stable_sort(parts.begin(), parts.end(), [](const Share& a, const Share& b) { return a.second > b.second; });
  std::string text;
  for (size_t i = 0; i < std::min(parts.size(), most) && parts[i].second != 0; ++i)
    text += fmt::format("{}{} {:.1f} %", i == 0 ? "" : ", ", parts[i].first, 100 * part(parts[i].second, all));
  return text;
}

}  // namespace

double part(uint64_t of, uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(of) / static_cast<double>(all);
}

void ProfileSummary::add(const isa::Instruction& inst, const InstructionProfile& at, std::string_view line) {
  by_unit_[static_cast<unsigned>(isa::unit_of(inst.opcode))] += at.executed;
  if (isa::is_vector(inst.opcode)) {
    vector_ += at.executed;
    vector_lanes_ += at.lanes;
  }
  sum_.add(at);
  executed_.push_back({.pc = inst.pc, .count = at.executed});
  const isa::ControlFlow flow = isa::info(inst.opcode).control_flow;
  const bool is_branch = flow == isa::ControlFlow::branch || flow == isa::ControlFlow::cond_branch;
  if (const auto to = isa::branch_target(inst); to && is_branch && *to <= inst.pc && at.taken != 0)
    loops_.push_back({.first = *to, .last = inst.pc, .back = at.taken});
  if (const auto found = lines_.find(line); found != lines_.end())
    found->second += at.executed;
  else if (!line.empty())
    lines_.emplace(line, at.executed);
}

uint64_t ProfileSummary::instructions() const {
  return std::accumulate(by_unit_.begin(), by_unit_.end(), elsewhere_);
}

std::optional<ProfileSummary::Loop> ProfileSummary::hottest_loop() const {
  std::optional<Loop> hottest;
  for (Loop loop : loops_) {
    const auto is_inside = [&](const Loop& other) {
      return other.first >= loop.first && other.last <= loop.last && other.last - other.first < loop.last - loop.first;
    };
    if (std::any_of(loops_.begin(), loops_.end(), is_inside)) continue;
    for (const Executed& at : executed_)
      if (at.pc >= loop.first && at.pc <= loop.last) loop.instructions += at.count;
    if (!hottest || loop.instructions > hottest->instructions) hottest = loop;
  }
  return hottest;
}

std::string ProfileSummary::text() const {
  const uint64_t all = instructions();
  std::string text = fmt::format("executed: {} instructions of waves", all);
  std::vector<Share> units;
  units.reserve(isa::kNumUnits + 1);
  for (unsigned i = 0; i < isa::kNumUnits; ++i)
    units.emplace_back(isa::to_string(static_cast<isa::Unit>(i)), by_unit_[i]);
  units.emplace_back("code of other modules", elsewhere_);
  const auto add = [&](std::string_view what, const std::string& its) { text += fmt::format("\n  {}: {}", what, its); };
  if (all != 0) add("kinds", shares(std::move(units), all));
  if (vector_ != 0)
    add("active lanes", fmt::format("{:.1f} of 64 in vector instructions", part(vector_lanes_, vector_)));
  if (const auto& memory = sum_.memory; memory.count != 0) {
    const uint64_t scattered = memory.count - memory.consecutive - memory.same - memory.strided;
    add("memory accesses by lane",
        fmt::format("{}, {:.1f} lines of 64 B each; {}", memory.count, part(memory.lines, memory.count),
                    shares({{"consecutive", memory.consecutive},
                            {"one place", memory.same},
                            {"strided", memory.strided},
                            {"scattered", scattered}},
                           memory.count)));
  }
  if (const auto& lds = sum_.lds; lds.count != 0)
    add("LDS accesses by lane", fmt::format("{}, {:.2f} times the cycles that they take without bank conflicts",
                                            lds.count, part(lds.cycles, lds.least)));
  if (const auto loop = hottest_loop())
    add("hottest loop", fmt::format("{:08x} to {:08x}, {:.1f} % of the instructions; its branch goes back {} times",
                                    loop->first - load_bias_, loop->last - load_bias_,
                                    100 * part(loop->instructions, all), loop->back));
  if (!lines_.empty()) add("hottest lines", shares({lines_.begin(), lines_.end()}, all, kMostLines));
  return text + "\n";
}

}  // namespace wavejit::runtime
