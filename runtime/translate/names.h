// Suggestions for misspelt names.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wavejit::runtime {

// Levenshtein distance.
[[nodiscard]] inline size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

// " Did you mean 'x'?", or "" when nothing is close.
[[nodiscard]] inline std::string did_you_mean(std::string_view name, std::span<const std::string_view> known) {
  const auto best = std::min_element(known.begin(), known.end(), [&](std::string_view a, std::string_view b) {
    return edit_distance(name, a) < edit_distance(name, b);
  });
  if (best == known.end() || edit_distance(name, *best) > std::max<size_t>(2, name.size() / 2)) return {};
  return fmt::format(" Did you mean '{}'?", *best);
}

}  // namespace wavejit::runtime
