// What a launch has executed and how faithful that is (`wavejit run --report`), and words for fidelity.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "wavejit/wavejit.hpp"

namespace wavejit::tools {

// The fidelity of the engine that ran.
[[nodiscard]] wavejit_fidelity fidelity_on(const wavejit_instruction_info& instruction, const LaunchStats& launch);
// "exact", "unsupported", "0.5 ulp", "1.5e-07".
[[nodiscard]] std::string describe_fidelity(const wavejit_instruction_info& instruction, wavejit_fidelity fidelity);

[[nodiscard]] nlohmann::ordered_json report_json(const Report& report, const LaunchStats& launch);
void print_report(const Report& report, const LaunchStats& launch);

}  // namespace wavejit::tools
