// CPU features that the tiers use, and which CPU it is.
#pragma once

#include <span>
#include <string_view>

#include "backend-x86/compiler.h"

namespace wavejit::backend {

struct HostFeature {
  std::string_view name;  // as in /proc/cpuinfo
  Tier tier = Tier::avx2;
  bool required = true;  // false: the tier also runs without it
  bool (*present)() = nullptr;
};

[[nodiscard]] std::span<const HostFeature> host_features();
[[nodiscard]] HostCpu host_cpu();

}  // namespace wavejit::backend
