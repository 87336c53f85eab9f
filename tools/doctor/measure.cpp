#include "tools/doctor/measure.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "backend-x86/compiler.h"

namespace wavejit::tools::doctor {
namespace {

using backend::MeasuredAccess;

// How much slower a choice must be than the other one to be called wrong: single runs differ by less.
constexpr double kClearly = 1.25;

std::string name_of(const MeasuredAccess& access) {
  return fmt::format("{} of {} lanes", access.name, access.lanes);
}

const char* choice_of(const MeasuredAccess& access) {
  return access.by_instruction ? "instruction" : "lane by lane";
}

std::string cycles(double value) {
  return value == 0 ? "-" : fmt::format("{:.1f}", value);
}

}  // namespace

std::optional<Measurements> measure(Findings& findings) {
  if (!backend::host_supports(backend::Tier::avx2)) {
    findings.push_back(note("times.cpu", "Nothing is measured: translated code needs AVX2."));
    return std::nullopt;
  }
  Expected<Measurements> measured = backend::measure_host();
  if (!measured) {
    findings.push_back(note("times.cpu", measured.error().message));
    return std::nullopt;
  }
  const backend::Host& host = backend::host();
  findings.push_back(fine("times.cpu", fmt::format("Code is translated for '{}'{}{}.", host.row->name,
                                                   host.named ? ", as WAVEJIT_HOST says" : "",
                                                   host.sampling ? ", with slow gathers (CVE-2022-40982)" : "")));
  for (const MeasuredAccess& access : measured->accesses) {
    if (!access.measured) continue;
    const auto& [instruction, single] = *access.measured;
    const double chosen = access.by_instruction ? instruction : single;
    const double other = access.by_instruction ? single : instruction;
    if (chosen > kClearly * other)
      findings.push_back(note("times.cpu",
                              fmt::format("{}: the {} takes {:.1f} cycles, the other way {:.1f}.", name_of(access),
                                          choice_of(access), chosen, other),
                              "Please report the CPU's model: its row of backend-x86/host_table.def should change."));
  }
  return std::move(*measured);
}

std::string as_text(const Measurements& measured) {
  std::string text =
      fmt::format("\nCycles of {:.3f} ns; table: {}\n{:28}{:>12}{:>9}{:>15}{:>10}  choice\n", measured.cycle_ns,
                  backend::host().row->source, "", "instruction", "(table)", "lane by lane", "(assumed)");
  for (const MeasuredAccess& access : measured.accesses)
    text +=
        fmt::format("{:28}{:>12}{:>9}{:>15}{:>10.1f}  {}\n", name_of(access),
                    access.measured ? cycles(access.measured->instruction) : "not there", cycles(access.table),
                    access.measured ? cycles(access.measured->single) : "not there", access.assumed, choice_of(access));
  return text;
}

nlohmann::ordered_json as_json(const Measurements& measured) {
  const backend::Host& host = backend::host();
  nlohmann::ordered_json out = {{"row", host.row->name},
                                {"source", host.row->source},
                                {"slow_gathers", host.sampling},
                                {"cycle_ns", measured.cycle_ns},
                                {"accesses", nlohmann::ordered_json::array()}};
  for (const MeasuredAccess& access : measured.accesses) {
    nlohmann::ordered_json one = {{"instruction", access.name}, {"lanes", access.lanes}};
    if (access.measured) {
      one["cycles"] = access.measured->instruction;
      one["lane_by_lane_cycles"] = access.measured->single;
    }
    if (access.table != 0) one["table_cycles"] = access.table;
    one["assumed_lane_by_lane_cycles"] = access.assumed;
    one["choice"] = choice_of(access);
    out["accesses"].push_back(std::move(one));
  }
  return out;
}

}  // namespace wavejit::tools::doctor
