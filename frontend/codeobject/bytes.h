// Bounds-checked little-endian access to untrusted bytes, and the error every malformed byte ends in.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "internal/error.h"

namespace wavejit::codeobject {

template <typename... Args>
[[nodiscard]] tl::unexpected<Error> bad(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(ErrorCode::kBadCodeObject, fmt::format(format, std::forward<Args>(args)...));
}

// Passes the error of one Expected on as that of another.
template <typename T>
[[nodiscard]] tl::unexpected<Error> forward_error(tl::expected<T, Error>&& result) {
  return tl::make_unexpected(std::move(result).error());
}

// Code objects inside bundles have no alignment, so every access copies.
class ByteView {
 public:
  ByteView() = default;
  ByteView(std::span<const uint8_t> bytes) : bytes_(bytes) {}  // NOLINT: a view converts like a span does

  [[nodiscard]] uint64_t size() const { return bytes_.size(); }
  [[nodiscard]] const uint8_t* data() const { return bytes_.data(); }
  [[nodiscard]] std::span<const uint8_t> span() const { return bytes_; }

  [[nodiscard]] bool contains(uint64_t offset, uint64_t size) const {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }
  [[nodiscard]] std::optional<ByteView> slice(uint64_t offset, uint64_t size) const {
    if (!contains(offset, size)) return std::nullopt;
    return ByteView(bytes_.subspan(offset, size));
  }
  template <typename T>
  [[nodiscard]] std::optional<T> get(uint64_t offset) const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (!contains(offset, sizeof(T))) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  // The NUL-terminated string at `offset`; nothing if the terminator is missing or the string is longer than `limit`.
  // The limit matters where many headers may name one long string.
  [[nodiscard]] std::optional<std::string_view> c_string(uint64_t offset, uint64_t limit) const {
    if (offset >= bytes_.size()) return std::nullopt;
    const auto* begin = reinterpret_cast<const char*>(bytes_.data() + offset);
    const auto* end = static_cast<const char*>(std::memchr(begin, 0, std::min(bytes_.size() - offset, limit + 1)));
    if (end == nullptr) return std::nullopt;
    return std::string_view(begin, static_cast<size_t>(end - begin));
  }
  [[nodiscard]] bool starts_with(std::string_view magic) const {
    return bytes_.size() >= magic.size() && std::memcmp(bytes_.data(), magic.data(), magic.size()) == 0;
  }

 private:
  std::span<const uint8_t> bytes_;
};

// Makes bytes from a file fit to appear in a message: control and non-ASCII bytes are escaped, long text is cut.
[[nodiscard]] std::string printable(std::string_view text, size_t limit = 160);

}  // namespace wavejit::codeobject
