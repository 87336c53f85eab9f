// `wavejit doctor --measure`: the table of CPUs that the backend decides by, next to this CPU's times.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "backend-x86/host_measure.h"
#include "tools/doctor/finding.h"

namespace wavejit::tools::doctor {

using Measurements = backend::HostMeasurement;

// Adds findings: which row of the table the CPU has, and which of its choices turn out to be wrong. Nothing: code cannot be
// executed, which is a finding too.
[[nodiscard]] std::optional<Measurements> measure(Findings& findings);

[[nodiscard]] std::string as_text(const Measurements& measured);
[[nodiscard]] nlohmann::ordered_json as_json(const Measurements& measured);

}  // namespace wavejit::tools::doctor
