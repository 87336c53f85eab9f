// Environment variables that switch something on or off, or hold a whole number. Wrong values are said on stderr, and count as
// not set.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace wavejit {

[[nodiscard]] inline std::string_view environment_text(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// nullopt: the text is neither.
[[nodiscard]] inline std::optional<bool> on_or_off(std::string_view text) {
  for (const std::string_view on : {"1", "on", "yes", "true"})
    if (text == on) return true;
  for (const std::string_view off : {"0", "off", "no", "false"})
    if (text == off) return false;
  return std::nullopt;
}

[[nodiscard]] inline bool environment_switch(const char* name, bool otherwise) {
  const std::string_view text = environment_text(name);
  if (text.empty()) return otherwise;
  if (const std::optional<bool> value = on_or_off(text)) return *value;
  std::fprintf(stderr, "wavejit: %s: '%s' is neither 'on' nor 'off'.\n", name, text.data());
  return otherwise;
}

[[nodiscard]] inline uint64_t environment_number(const char* name, uint64_t otherwise, uint64_t largest = UINT64_MAX) {
  const std::string_view text = environment_text(name);
  if (text.empty()) return otherwise;
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && parsed == end && value <= largest) return value;
  std::fprintf(stderr, "wavejit: %s: '%s' is not a whole number of at most %llu.\n", name, text.data(),
               static_cast<unsigned long long>(largest));
  return otherwise;
}

}  // namespace wavejit
