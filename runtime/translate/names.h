// Suggestions for misspelt names.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "internal/edit_distance.h"

namespace wavejit::runtime {

// " Did you mean 'x'?", or "" when nothing is close.
[[nodiscard]] inline std::string did_you_mean(std::string_view name, std::span<const std::string_view> known) {
  const auto best = std::min_element(known.begin(), known.end(), [&](std::string_view a, std::string_view b) {
    return edit_distance(name, a) < edit_distance(name, b);
  });
  if (best == known.end() || edit_distance(name, *best) > std::max<size_t>(2, name.size() / 2)) return {};
  return fmt::format(" Did you mean '{}'?", *best);
}

}  // namespace wavejit::runtime
