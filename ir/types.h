// Types of IR values. A value is wave-wide: one scalar shared by all lanes, one bit per lane (mask), or one element per
// lane.
#pragma once

#include <cstdint>
#include <string>

namespace wavejit::ir {

enum class TypeKind : uint8_t {
  none,  // no result
  i1,    // scalar boolean (SCC, branch conditions)
  i32,   // scalar
  i64,   // scalar
  mask,  // 64 bits, bit l belongs to lane l
  v32,   // 64 lanes of 32 bits; also holds 8- and 16-bit data (in the low bits) and packed 16-bit pairs
  v64,   // 64 lanes of 64 bits
};

struct Type {
  TypeKind kind = TypeKind::none;
  uint8_t count = 1;  // > 1: a tuple (result of a multi-dword memory operation), read with `extract`

  constexpr bool operator==(const Type&) const = default;
  [[nodiscard]] constexpr bool is_vector() const { return kind == TypeKind::v32 || kind == TypeKind::v64; }
  [[nodiscard]] constexpr bool is_scalar() const {
    return kind == TypeKind::i1 || kind == TypeKind::i32 || kind == TypeKind::i64;
  }
  [[nodiscard]] constexpr bool is_mask() const { return kind == TypeKind::mask; }
  [[nodiscard]] constexpr bool is_tuple() const { return count > 1; }
  [[nodiscard]] constexpr unsigned bits() const {  // per lane or scalar
    switch (kind) {
      case TypeKind::i1:
      case TypeKind::mask:
        return 1;
      case TypeKind::i32:
      case TypeKind::v32:
        return 32;
      case TypeKind::i64:
      case TypeKind::v64:
        return 64;
      default:
        return 0;
    }
  }
};

inline constexpr Type kNone{TypeKind::none};
inline constexpr Type kI1{TypeKind::i1};
inline constexpr Type kI32{TypeKind::i32};
inline constexpr Type kI64{TypeKind::i64};
inline constexpr Type kMask{TypeKind::mask};
inline constexpr Type kV32{TypeKind::v32};
inline constexpr Type kV64{TypeKind::v64};

// What a lane has of a value of the type.
[[nodiscard]] constexpr Type lane_type(Type type) {
  switch (type.kind) {
    case TypeKind::mask:
      return kI1;
    case TypeKind::v32:
      return {TypeKind::i32, type.count};
    case TypeKind::v64:
      return {TypeKind::i64, type.count};
    default:
      return type;
  }
}

[[nodiscard]] std::string to_string(Type type);  // "v32", "v32x4"

}  // namespace wavejit::ir
