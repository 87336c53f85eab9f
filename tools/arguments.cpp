#include "tools/arguments.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>

#include "tools/command.h"

namespace wavejit::tools {
namespace {

constexpr std::array<std::string_view, 11> kNames = {"i8",  "u8",  "i16", "u16", "i32", "u32",
                                                     "i64", "u64", "f16", "f32", "f64"};
constexpr std::array<size_t, 11> kSizes = {1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8};
constexpr uint64_t kMaxBuffer = uint64_t{1} << 40;

// Round to nearest even, via the exponent and a 10-bit mantissa.
uint16_t half_from_double(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | 0x7e00;
  value = std::fabs(value);
  if (value >= 65520.0) return sign | 0x7c00;
  int exponent = 0;
  if (value != 0) std::frexp(value, &exponent);
  const int unit = std::max(exponent - 11, -24);  // exponent of the last mantissa bit
  const double steps = std::nearbyint(std::ldexp(value, -unit));
  const double rounded = std::ldexp(steps, unit);
  if (rounded < std::ldexp(1.0, -14))
    return static_cast<uint16_t>(sign | static_cast<unsigned>(std::ldexp(rounded, 24)));
  const int e = std::ilogb(rounded);
  const auto mantissa = static_cast<unsigned>(std::ldexp(rounded, 10 - e)) & 0x3ff;
  return static_cast<uint16_t>(sign | static_cast<unsigned>(e + 15) << 10 | mantissa);
}

double double_from_half(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const double mantissa = half & 0x3ff;
  double value;
  if (exponent == 31)
    value = mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else
    value = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25);
  return half & 0x8000 ? -value : value;
}

template <typename T>
std::vector<uint8_t> bytes_of(T value) {
  std::vector<uint8_t> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <typename T>
T load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <typename T>
std::vector<uint8_t> integer(Scalar type, const std::string& text) {
  std::string_view digits = text;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
  if (hex) digits.remove_prefix(2);
  uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, hex ? 16 : 10);
  if (digits.empty() || error == std::errc::invalid_argument || end != digits.data() + digits.size())
    throw InputError(fmt::format("'{}' is not a number of type {}.", text, to_string(type)));
  const auto limit = static_cast<uint64_t>(std::numeric_limits<T>::max());
  const bool fits =
      error == std::errc() && (negative ? std::is_signed_v<T> && magnitude <= limit + 1 : magnitude <= limit);
  // Bit patterns in hexadecimal may set the sign bit of a signed type.
  const bool pattern =
      hex && !negative && error == std::errc() && magnitude <= std::numeric_limits<std::make_unsigned_t<T>>::max();
  if (!fits && !pattern) throw InputError(fmt::format("{} does not fit into type {}.", text, to_string(type)));
  return bytes_of(static_cast<T>(negative ? -magnitude : magnitude));
}

uint64_t parse_count(const std::string& text, const char* what) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    throw InputError(fmt::format("'{}' is not a valid {}.", text, what));
  return value;
}

uint32_t parse_lds(uint64_t bytes) {
  if (bytes > 64 * 1024)
    throw InputError(fmt::format("{} bytes of LDS are more than the 65536 a work-group can have.", bytes));
  return static_cast<uint32_t>(bytes);
}

std::vector<uint8_t> parse_hex(const std::string& text) {
  std::vector<uint8_t> bytes;
  if (text.size() % 2) throw InputError("A raw value needs an even number of hexadecimal digits.");
  for (size_t i = 0; i < text.size(); i += 2) {
    uint8_t byte = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
    if (error != std::errc() || end != text.data() + i + 2)
      throw InputError(fmt::format("'{}' is not a string of hexadecimal digits.", text));
    bytes.push_back(byte);
  }
  return bytes;
}

// splitmix64: one 64-bit output per element, so that the sequence does not depend on the element type.
uint64_t next_random(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

std::vector<uint8_t> from_double(Scalar type, double value) {
  switch (type) {
    case Scalar::f16:
      return bytes_of(half_from_double(value));
    case Scalar::f32:
      return bytes_of(static_cast<float>(value));
    default:
      return bytes_of(value);
  }
}

bool is_float(Scalar type) {
  return type >= Scalar::f16;
}

}  // namespace

std::optional<Scalar> parse_scalar_type(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Scalar>(i);
  return std::nullopt;
}
std::string_view to_string(Scalar type) {
  return kNames[static_cast<size_t>(type)];
}
size_t size_of(Scalar type) {
  return kSizes[static_cast<size_t>(type)];
}

std::vector<uint8_t> parse_scalar(Scalar type, const std::string& text) {
  switch (type) {
    case Scalar::i8:
      return integer<int8_t>(type, text);
    case Scalar::u8:
      return integer<uint8_t>(type, text);
    case Scalar::i16:
      return integer<int16_t>(type, text);
    case Scalar::u16:
      return integer<uint16_t>(type, text);
    case Scalar::i32:
      return integer<int32_t>(type, text);
    case Scalar::u32:
      return integer<uint32_t>(type, text);
    case Scalar::i64:
      return integer<int64_t>(type, text);
    case Scalar::u64:
      return integer<uint64_t>(type, text);
    default:
      break;
  }
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end) throw InputError(fmt::format("'{}' is not a number of type {}.", text, to_string(type)));
  return from_double(type, value);
}

std::string print_scalar(Scalar type, const uint8_t* bytes) {
  switch (type) {
    case Scalar::i8:
      return fmt::format("{}", static_cast<int>(load<int8_t>(bytes)));
    case Scalar::u8:
      return fmt::format("{}", static_cast<unsigned>(*bytes));
    case Scalar::i16:
      return fmt::format("{}", load<int16_t>(bytes));
    case Scalar::u16:
      return fmt::format("{}", load<uint16_t>(bytes));
    case Scalar::i32:
      return fmt::format("{}", load<int32_t>(bytes));
    case Scalar::u32:
      return fmt::format("{}", load<uint32_t>(bytes));
    case Scalar::i64:
      return fmt::format("{}", load<int64_t>(bytes));
    case Scalar::u64:
      return fmt::format("{}", load<uint64_t>(bytes));
    case Scalar::f16:
      return fmt::format("{:g}", double_from_half(load<uint16_t>(bytes)));
    case Scalar::f32:
      return fmt::format("{}", load<float>(bytes));
    case Scalar::f64:
      return fmt::format("{}", load<double>(bytes));
  }
  return {};
}

std::vector<uint8_t> generate(Scalar type, uint64_t count, const std::string& fill) {
  const size_t size = size_of(type);
  if (count > kMaxBuffer / size) throw InputError(fmt::format("A buffer of {} elements is too large.", count));
  take_memory(count * size);
  std::vector<uint8_t> bytes(count * size);
  if (fill == "zeros") return bytes;
  if (fill == "iota") {
    for (uint64_t i = 0; i < count; ++i) {
      const std::vector<uint8_t> element = is_float(type) ? from_double(type, static_cast<double>(i)) : bytes_of(i);
      std::memcpy(bytes.data() + i * size, element.data(), size);
    }
    return bytes;
  }
  if (fill.starts_with("random:")) {
    uint64_t state = parse_count(fill.substr(7), "seed");
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t bits = next_random(state);
      // 10 bits for f16, 24 for f32, 53 for f64: exact, below 1.
      const int precision = type == Scalar::f16 ? 10 : type == Scalar::f32 ? 24 : 53;
      const std::vector<uint8_t> element =
          is_float(type) ? from_double(type, std::ldexp(static_cast<double>(bits >> (64 - precision)), -precision))
                         : bytes_of(bits);
      std::memcpy(bytes.data() + i * size, element.data(), size);
    }
    return bytes;
  }
  throw InputError(fmt::format("'{}' is not a way to fill a buffer; use zeros, iota or random:SEED.", fill));
}

std::string resolve(const std::string& directory, const std::string& path) {
  return (std::filesystem::path(directory) / path).string();
}

const char kArgHelp[] =
    "Kernel argument, in order; repeat for each:\n"
    "  TYPE=NUMBER           scalar; TYPE is i8 u8 i16 u16 i32 u32 i64 u64 f16 f32 f64\n"
    "  TYPE[COUNT]=FILL      buffer; FILL is zeros, iota or random:SEED\n"
    "  TYPE[]=file:PATH      buffer with the contents of a file\n"
    "      ...,print[:N]     and print (the first N of) its elements afterwards\n"
    "      ...,save:PATH     and write it to a file afterwards\n"
    "  lds=BYTES             local memory behind a local pointer\n"
    "  raw=HEX               bytes of a struct passed by value\n"
    "  null                  null pointer";

Argument parse_argument(const std::string& text) {
  Argument argument;
  const auto bad = [&](const std::string& why) -> InputError {
    return InputError(fmt::format("--arg {}: {}", text, why));
  };
  if (text == "null") {
    argument.kind = Argument::Kind::null;
    return argument;
  }
  const size_t equals = text.find('=');
  if (equals == std::string::npos) throw bad("expected TYPE=VALUE, TYPE[COUNT]=FILL, lds=BYTES, raw=HEX or null.");
  std::string left = text.substr(0, equals);
  std::string right = text.substr(equals + 1);
  if (left == "lds") {
    argument.kind = Argument::Kind::local;
    argument.lds_bytes = parse_lds(parse_count(right, "size"));
    return argument;
  }
  if (left == "raw") {
    argument.bytes = parse_hex(right);
    return argument;
  }
  const size_t bracket = left.find('[');
  const auto type = parse_scalar_type(left.substr(0, bracket));
  if (!type) throw bad(fmt::format("'{}' is not a type.", left.substr(0, bracket)));
  argument.type = *type;
  if (bracket == std::string::npos) {
    argument.bytes = parse_scalar(*type, right);
    return argument;
  }
  argument.kind = Argument::Kind::buffer;
  if (!left.ends_with(']')) throw bad("expected ']' after the count.");
  const std::string count_text = left.substr(bracket + 1, left.size() - bracket - 2);
  std::vector<std::string> parts;
  for (size_t at = 0; at <= right.size();) {
    const size_t comma = std::min(right.find(',', at), right.size());
    parts.push_back(right.substr(at, comma - at));
    at = comma + 1;
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    if (parts[i] == "print")
      argument.print = UINT64_MAX;
    else if (parts[i].starts_with("print:"))
      argument.print = parse_count(parts[i].substr(6), "count");
    else if (parts[i].starts_with("save:") && parts[i].size() > 5)
      argument.save = parts[i].substr(5);
    else
      throw bad(fmt::format("'{}' is neither print, print:N nor save:PATH.", parts[i]));
  }
  if (parts[0].starts_with("file:")) {
    argument.bytes = read_file(parts[0].substr(5));
    if (!count_text.empty()) {
      const uint64_t want = parse_count(count_text, "count");
      if (want > kMaxBuffer / size_of(*type) || want * size_of(*type) != argument.bytes.size())
        throw bad(fmt::format("the file has {} bytes.", argument.bytes.size()));
    }
  } else {
    argument.bytes = generate(*type, parse_count(count_text, "count"), parts[0]);
  }
  return argument;
}

Argument parse_argument(const nlohmann::json& json, const std::string& directory) {
  if (!json.is_object()) throw InputError(fmt::format("An argument must be an object, not {}.", to_text(json)));
  Argument argument;
  bool has_value = false;
  const auto once = [&] {
    if (has_value) throw InputError(fmt::format("Argument {} has more than one value.", to_text(json)));
    has_value = true;
  };
  const auto count_of = [&](const nlohmann::json& value, const char* what) {
    if (!value.is_number_unsigned())
      throw InputError(fmt::format("Argument {}: {} must be a number of bytes or elements.", to_text(json), what));
    return value.get<uint64_t>();
  };
  std::optional<uint64_t> count;
  uint64_t filled_bytes = 0;
  std::string fill = "zeros";
  for (const auto& [key, value] : json.items()) {
    if (key == "name") {
      argument.name = value.get<std::string>();
    } else if (key == "file") {
      once();
      argument.kind = Argument::Kind::buffer;
      argument.bytes = read_file(resolve(directory, value.get<std::string>()));
    } else if (key == "bytes") {
      once();
      argument.kind = Argument::Kind::buffer;
      const uint64_t bytes = count_of(value, "bytes");
      if (bytes > kMaxBuffer) throw InputError(fmt::format("A buffer of {} bytes is too large.", bytes));
      if (!json.contains("fill")) take_memory(bytes);  // else generate() does
      argument.bytes.resize(json.contains("fill") ? 0 : bytes);
      filled_bytes = bytes;
    } else if (key == "lds") {
      once();
      argument.kind = Argument::Kind::local;
      argument.lds_bytes = parse_lds(count_of(value, "lds"));
    } else if (key == "raw") {
      once();
      argument.bytes = parse_hex(value.get<std::string>());
    } else if (key == "null") {
      once();
      argument.kind = Argument::Kind::null;
    } else if (key == "count") {
      once();
      count = count_of(value, "count");
    } else if (key == "type") {
      const auto type = parse_scalar_type(value.get<std::string>());
      if (!type) throw InputError(fmt::format("Argument {}: {} is not a type.", to_text(json), to_text(value)));
      argument.type = *type;
    } else if (key == "fill") {
      fill = value.get<std::string>();
    } else if (key == "print") {
      argument.print = value.is_boolean() ? (value.get<bool>() ? std::optional<uint64_t>(UINT64_MAX) : std::nullopt)
                                          : std::optional<uint64_t>(count_of(value, "print"));
    } else if (const auto type = parse_scalar_type(key)) {
      once();
      argument.type = *type;
      argument.bytes = parse_scalar(*type, value.is_string() ? value.get<std::string>() : to_text(value));
    } else {
      throw InputError(fmt::format("Argument {}: unknown key '{}'.", to_text(json), key));
    }
  }
  if (!has_value) throw InputError(fmt::format("Argument {} has no value.", to_text(json)));
  if (count) {
    argument.kind = Argument::Kind::buffer;
    argument.bytes = generate(argument.type, *count, fill);
  } else if (json.contains("fill")) {
    if (!json.contains("bytes"))
      throw InputError(fmt::format("Argument {}: fill goes with count or bytes.", to_text(json)));
    if (filled_bytes % size_of(argument.type) != 0)
      throw InputError(
          fmt::format("Argument {}: {} bytes are no whole number of elements.", to_text(json), filled_bytes));
    argument.bytes = generate(argument.type, filled_bytes / size_of(argument.type), fill);
  }
  return argument;
}

}  // namespace wavejit::tools
