// The optimisations of all stages that can be switched off by name: IR passes, optimisations of the backend, and
// specialisations of the runtime. Results do not depend on them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend-x86/optimisations.h"
#include "internal/error.h"

namespace wavejit::runtime {

struct Switch {
  std::string_view name;  // with a terminating zero, as is `meaning`
  std::string_view meaning;
};
// Each once: passes in the order of their first run, then backend, then runtime.
[[nodiscard]] std::span<const Switch> switches();

// Switches of the runtime itself.
inline constexpr std::string_view kDispatchShape = "dispatch-shape";
inline constexpr std::string_view kLdsSize = "lds-size";
inline constexpr std::string_view kFullExec = "full-exec";
inline constexpr std::string_view kLastWaves = "last-waves";
inline constexpr std::string_view kRunThrough = "run-through";
inline constexpr std::string_view kScratchDescriptors = "scratch-descriptors";
inline constexpr std::string_view kProfiles = "profiles";
inline constexpr std::string_view kResidentRows = "resident-rows";  // of the lifter and the IR pass
inline constexpr std::string_view kMovedEntry = "moved-entry";      // of the runtime and the IR pass

// The names in canonical form: sorted, each once, "all" replaced by every name. Equal lists mean equal code. Errors:
// kInvalidArgument naming the first that is none, with the nearest name.
[[nodiscard]] Expected<std::vector<std::string>> check_switches(std::vector<std::string> names);

// `disabled`: of check_switches().
[[nodiscard]] bool is_on(const std::vector<std::string>& disabled, std::string_view name);
[[nodiscard]] backend::OptimisationSet backend_optimisations(const std::vector<std::string>& disabled);

}  // namespace wavejit::runtime
