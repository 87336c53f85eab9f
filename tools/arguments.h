// Kernel arguments as given on the command line or in a launch file.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wavejit::tools {

enum class Scalar : uint8_t { i8, u8, i16, u16, i32, u32, i64, u64, f16, f32, f64 };
[[nodiscard]] std::optional<Scalar> parse_scalar_type(std::string_view name);
[[nodiscard]] std::string_view to_string(Scalar type);
[[nodiscard]] size_t size_of(Scalar type);

// Little-endian bytes of a number written in `text`; throws InputError when it is not one or does not fit.
[[nodiscard]] std::vector<uint8_t> parse_scalar(Scalar type, const std::string& text);
// The element at `bytes` as text.
[[nodiscard]] std::string print_scalar(Scalar type, const uint8_t* bytes);

// `count` elements: "zeros"; "iota" (0, 1, 2, ... converted to the type); "random:SEED" (integers over the full range,
// floats uniform in [0, 1); the same for the same seed everywhere). Throws InputError for anything else.
[[nodiscard]] std::vector<uint8_t> generate(Scalar type, uint64_t count, const std::string& fill);

struct Argument {
  enum class Kind : uint8_t { value, buffer, local, null };
  Kind kind = Kind::value;
  std::string name;            // label; checked against the kernel where it can be
  std::vector<uint8_t> bytes;  // value, or initial contents of the buffer
  uint32_t lds_bytes = 0;
  Scalar type = Scalar::u8;       // element type of a buffer, for printing
  std::optional<uint64_t> print;  // elements to print after the launch
  std::string save;               // file to write the buffer to after the launch
};

// Syntax of --arg, see kArgHelp. Files are relative to the working directory.
[[nodiscard]] Argument parse_argument(const std::string& text);
extern const char kArgHelp[];

// One element of "args" in a launch file; `directory` is what its paths are relative to.
[[nodiscard]] Argument parse_argument(const nlohmann::json& json, const std::string& directory);

// JSON as text. Bytes of names and messages that are not UTF-8 become U+FFFD.
template <typename Json>
[[nodiscard]] std::string to_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// `path`, relative to `directory` unless absolute.
[[nodiscard]] std::string resolve(const std::string& directory, const std::string& path);

}  // namespace wavejit::tools
