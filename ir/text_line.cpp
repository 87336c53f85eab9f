#include "ir/text_line.h"

#include <fmt/format.h>

#include <charconv>

namespace wavejit::ir {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

}  // namespace

bool TextLine::accept(std::string_view symbol) {
  if (!text_.starts_with(symbol)) return false;
  take(symbol.size());
  return true;
}

std::string_view TextLine::word() {
  size_t length = 0;
  while (length < text_.size() && is_word(text_[length])) ++length;
  return take(length);
}

bool TextLine::accept_word(std::string_view wanted) {
  const std::string_view before = text_;
  if (word() == wanted) return true;
  text_ = before;
  return false;
}

std::optional<uint64_t> TextLine::number() {
  const std::string_view before = text_;
  const bool negative = accept('-');
  const bool hex = text_.starts_with("0x");
  const std::string_view digits = hex ? text_.substr(2) : text_;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (error != std::errc()) {
    text_ = before;
    return std::nullopt;
  }
  take(static_cast<size_t>(end - text_.data()));
  return negative ? 0 - value : value;
}

std::optional<uint32_t> TextLine::id(char prefix, uint32_t limit) {
  const std::string_view before = text_;
  if (text_.size() > 1 && text_.front() == prefix && text_[1] >= '0' && text_[1] <= '9') {
    text_.remove_prefix(1);
    const std::optional<uint64_t> value = number();
    if (value && *value < limit) return static_cast<uint32_t>(*value);
  }
  text_ = before;
  return std::nullopt;
}

std::optional<std::string> TextLine::quoted() {
  if (!text_.starts_with('"')) return std::nullopt;
  size_t end = 1;
  while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
  if (end >= text_.size()) return std::nullopt;
  std::string result = unescaped(text_.substr(1, end - 1));
  take(end + 1);
  return result;
}

std::optional<std::string_view> TextLine::up_to(char symbol) {
  const size_t length = text_.find(symbol);
  if (length == std::string_view::npos) return std::nullopt;
  const std::string_view result = text_.substr(0, length);
  take(length + 1);
  return result;
}

std::optional<std::string_view> TextLine::comment() {
  if (!text_.starts_with(';')) return std::nullopt;
  const std::string_view result = text_.substr(text_.starts_with("; ") ? 2 : 1);
  text_ = {};
  return result;
}

std::string_view TextLine::take(size_t length) {
  const std::string_view result = text_.substr(0, length);
  text_.remove_prefix(length);
  skip_space();
  return result;
}

void TextLine::skip_space() {
  const size_t start = text_.find_first_not_of(" \t\r");
  text_ = start == std::string_view::npos ? std::string_view() : text_.substr(start);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    const char* const digits = text.data() + i + 2;
    if (text[i + 1] == 'x' && i + 3 < text.size() && std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      out += static_cast<char>(value);
      i += 3;
    } else {
      out += text[++i];
    }
  }
  return out;
}

std::string quoted(std::string_view text) {
  return '"' + escaped(text) + '"';
}

}  // namespace wavejit::ir
