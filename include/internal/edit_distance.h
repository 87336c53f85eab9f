// How far names are from each other, for "did you mean" in messages.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>
#include <vector>

namespace wavejit {

// Levenshtein distance of the first 96 characters, upper and lower case being the same.
[[nodiscard]] inline size_t edit_distance(std::string_view a, std::string_view b) {
  constexpr size_t kCompared = 96;
  a = a.substr(0, kCompared);
  b = b.substr(0, kCompared);
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace wavejit
