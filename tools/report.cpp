#include "tools/report.h"

#include <fmt/format.h>

#include <map>
#include <vector>

namespace wavejit::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Summary {
  std::map<std::string, uint64_t> by_unit;
  uint64_t instructions = 0, exact = 0, bounded = 0, decided = 0;
  [[nodiscard]] uint64_t& of(wavejit_fidelity fidelity) {
    if (fidelity == WAVEJIT_FIDELITY_BOUNDED) return bounded;
    return fidelity == WAVEJIT_FIDELITY_DECIDED ? decided : exact;
  }
};

Summary summarise(const Report& report, const LaunchStats& launch) {
  Summary sum;
  for (size_t i = 0; i < report.size(); ++i) {
    const Report::Entry entry = report[i];
    sum.instructions += entry.count;
    sum.by_unit[entry.instruction.unit] += entry.count;
    sum.of(fidelity_on(entry.instruction, launch)) += entry.count;
  }
  return sum;
}

}  // namespace

wavejit_fidelity fidelity_on(const wavejit_instruction_info& instruction, const LaunchStats& launch) {
  if (launch.engine == WAVEJIT_ENGINE_INTERP) return instruction.interpreter;
  return launch.isa == WAVEJIT_ISA_AVX512 ? instruction.avx512 : instruction.avx2;
}

std::string describe_fidelity(const wavejit_instruction_info& instruction, wavejit_fidelity fidelity) {
  if (fidelity != WAVEJIT_FIDELITY_BOUNDED) return wavejit_fidelity_string(fidelity);
  if (instruction.max_ulp != 0) return fmt::format("{:g} ulp", instruction.max_ulp);
  return fmt::format("{:g}", instruction.max_absolute);
}

Json report_json(const Report& report, const LaunchStats& launch) {
  const Summary sum = summarise(report, launch);
  Json json;
  json["instructions"] = sum.instructions;
  json["all_exact"] = sum.exact == sum.instructions;
  json["exact"] = sum.exact;
  json["bounded"] = sum.bounded;
  json["decided"] = sum.decided;
  for (const auto& [unit, count] : sum.by_unit) json["units"][unit] = count;
  json["executed"] = Json::array();
  for (size_t i = 0; i < report.size(); ++i) {
    const auto [instruction, count] = report[i];
    const wavejit_fidelity fidelity = fidelity_on(instruction, launch);
    Json row{{"name", instruction.name},
             {"unit", instruction.unit},
             {"count", count},
             {"fidelity", wavejit_fidelity_string(fidelity)}};
    if (fidelity == WAVEJIT_FIDELITY_BOUNDED) {
      if (instruction.max_ulp != 0) row["max_ulp"] = instruction.max_ulp;
      if (instruction.max_absolute != 0) row["max_absolute"] = instruction.max_absolute;
    }
    json["executed"].push_back(row);
  }
  return json;
}

void print_report(const Report& report, const LaunchStats& launch) {
  const Summary sum = summarise(report, launch);
  fmt::print("executed: {} instructions of waves, {} different ones; {}\n", sum.instructions, report.size(),
             sum.exact == sum.instructions
                 ? std::string("all exact")
                 : fmt::format("{} exact, {} within an error bound, {} where documents leave the last bits open",
                               sum.exact, sum.bounded, sum.decided));
  for (const auto& [unit, count] : sum.by_unit)
    fmt::print("  {:<14} {:>14}  {:5.1f} %\n", unit, count,
               100 * static_cast<double>(count) / static_cast<double>(sum.instructions));
  for (size_t i = 0; i < report.size(); ++i) {
    const auto [instruction, count] = report[i];
    const wavejit_fidelity fidelity = fidelity_on(instruction, launch);
    if (fidelity == WAVEJIT_FIDELITY_EXACT) continue;
    if (fidelity == WAVEJIT_FIDELITY_DECIDED) {
      fmt::print("decided: {} x{}, documents leave open: {}\n", instruction.name, count, instruction.decision);
      continue;
    }
    fmt::print("approximate: {} x{}, error at most {} (hardware: {})\n", instruction.name, count,
               describe_fidelity(instruction, fidelity), instruction.hardware);
  }
}

}  // namespace wavejit::tools
