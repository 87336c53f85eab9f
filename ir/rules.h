// The rewrites that passes perform, by name: what `--pass-stats` prints.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace wavejit::ir {

enum class Rule : uint16_t {
#define RULE(pass, name, meaning) name,
#include "ir/passes/rules.def"
#undef RULE
  kCount,
};
inline constexpr unsigned kNumRules = static_cast<unsigned>(Rule::kCount);

struct RuleInfo {
  std::string_view pass;
  std::string_view name;
  std::string_view meaning;
};
[[nodiscard]] std::span<const RuleInfo> rules();  // in the order of the enumerators

}  // namespace wavejit::ir
