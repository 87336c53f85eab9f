// What the text forms of IR and LIR have in common: words, numbers and quoted names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wavejit::ir {

// What is left of a line. Functions that do not find what they look for leave it as it is. White space between what they
// take does not matter.
class TextLine {
 public:
  explicit TextLine(std::string_view text) : text_(text) { skip_space(); }

  [[nodiscard]] bool at_end() const { return text_.empty(); }
  [[nodiscard]] bool at(char c) const { return text_.starts_with(c); }
  bool accept(std::string_view symbol);
  bool accept(char symbol) { return accept(std::string_view(&symbol, 1)); }
  // Letters, digits, underscores and dots; empty if there are none.
  std::string_view word();
  bool accept_word(std::string_view wanted);
  // Decimal or 0x, maybe negative.
  std::optional<uint64_t> number();
  // A decimal number right behind a letter, below the limit: "b12", "%12".
  std::optional<uint32_t> id(char prefix, uint32_t limit);
  // What quoted() below has made.
  std::optional<std::string> quoted();
  // The text up to the symbol, which is taken too.
  std::optional<std::string_view> up_to(char symbol);
  // All behind "; ".
  std::optional<std::string_view> comment();

 private:
  std::string_view take(size_t length);
  void skip_space();

  std::string_view text_;
};

// With backslashes in front of quotation marks and backslashes, and control characters as \xNN; and back.
[[nodiscard]] std::string escaped(std::string_view text);
[[nodiscard]] std::string unescaped(std::string_view text);
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace wavejit::ir
