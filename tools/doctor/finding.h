// What `wavejit doctor` found out, and the checks that it is made of.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/doctor/system_view.h"

namespace wavejit::tools::doctor {

enum class Level : uint8_t {
  ok,
  note,     // works, but slower or without a part of wavejit
  problem,  // the command ends with code 1
};

struct Finding {
  std::string check;  // "cpu.tier": stable, for JSON
  Level level = Level::ok;
  std::string text;    // a complete sentence
  std::string remedy;  // the same; empty if none is needed
};
using Findings = std::vector<Finding>;

inline Finding fine(std::string check, std::string text) {
  return {std::move(check), Level::ok, std::move(text), {}};
}
inline Finding note(std::string check, std::string text, std::string remedy = {}) {
  return {std::move(check), Level::note, std::move(text), std::move(remedy)};
}
inline Finding problem(std::string check, std::string text, std::string remedy) {
  return {std::move(check), Level::problem, std::move(text), std::move(remedy)};
}

// Each looks at one area. None changes anything but for files that it removes again.
[[nodiscard]] Findings check_cpu(const SystemView& system);
[[nodiscard]] Findings check_limits(const SystemView& system);
[[nodiscard]] Findings check_container(const SystemView& system);
[[nodiscard]] Findings check_cache();
[[nodiscard]] Findings check_devices(const SystemView& system);
[[nodiscard]] Findings check_rocm(const SystemView& system);
// HIP runtimes of the system, as programs name them: ".../libamdhip64.so.5".
[[nodiscard]] std::vector<std::filesystem::path> hip_libraries(const SystemView& system);
// Runs kernels on every engine, the HSA library and the HIP runtime of the system, in processes of their own that end
// after ten seconds at most.
[[nodiscard]] Findings check_by_running(const SystemView& system);

}  // namespace wavejit::tools::doctor
