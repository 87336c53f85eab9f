// The CPU, and which tier of the JIT it can run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "backend-x86/host_features.h"
#include "tools/doctor/finding.h"
#include "wavejit/wavejit.hpp"

namespace wavejit::tools::doctor {
namespace {

// "key : value" of the first CPU.
std::string cpuinfo(const SystemView& system, std::string_view key) {
  for (const std::string& line : system.lines("/proc/cpuinfo")) {
    if (!line.starts_with(key)) continue;
    const size_t value = line.find(": ");
    if (value != std::string::npos && line.find_first_not_of(" \t", key.size()) == line.find(':'))
      return line.substr(value + 2);
  }
  return {};
}

}  // namespace

Findings check_cpu(const SystemView& system) {
  const std::string model = system.is_own() ? wavejit_host_cpu() : cpuinfo(system, "model name");
  const std::vector<std::string> flags = split(cpuinfo(system, "flags"), ' ');
  const auto present = [&](const backend::HostFeature& feature) {
    return system.is_own() ? feature.present() : std::ranges::find(flags, feature.name) != flags.end();
  };
  std::vector<std::string_view> missing_avx2, missing_avx512, missing_optional;
  for (const backend::HostFeature& feature : backend::host_features()) {
    if (present(feature)) continue;
    auto& list = !feature.required                     ? missing_optional
                 : feature.tier == backend::Tier::avx2 ? missing_avx2
                                                       : missing_avx512;
    list.push_back(feature.name);
  }
  if (!missing_avx2.empty())
    return {problem(
        "cpu.tier",
        fmt::format("{}: only the interpreter runs, as the JIT misses {}.", model, fmt::join(missing_avx2, ", ")),
        "Use a CPU of 2013 or later; in a virtual machine, give it the host's CPU model (QEMU: -cpu host).")};
  Findings findings;
  if (missing_avx512.empty()) {
    findings.push_back(fine("cpu.tier", fmt::format("{}: the best tier is AVX-512.", model)));
  } else {
    findings.push_back(
        note("cpu.tier",
             fmt::format("{}: the best tier is AVX2; AVX-512 misses {}.", model, fmt::join(missing_avx512, ", ")),
             "Kernels run right; a CPU with AVX-512 runs them up to twice as fast."));
  }
  if (missing_avx512.empty() && !missing_optional.empty())
    findings.push_back(note("cpu.optional", fmt::format("Without {} dot products of integers take more instructions.",
                                                        fmt::join(missing_optional, ", "))));
  return findings;
}

}  // namespace wavejit::tools::doctor
