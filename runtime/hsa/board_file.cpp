#include "runtime/hsa/board_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <variant>

namespace wavejit::hsa {
namespace {

using codeobject::FeatureSetting;
using Json = nlohmann::ordered_json;

struct Field {
  const char* name;
  std::variant<std::string Board::*, uint32_t Board::*, bool Board::*, FeatureSetting Board::*> member;
  uint32_t least = 0, most = 0;  // integers; text: length
};

constexpr uint32_t kAny = UINT32_MAX;

constexpr auto kFields = std::to_array<Field>({
    {"name", &Board::name, 1, 63},  // hsa_agent_get_info() gives 64 bytes
    {"asic", &Board::asic, 1, 63},
    {"family_id", &Board::family_id, 0, 255},
    {"chip_id", &Board::chip_id, 1, 0xffff},
    {"pci_revision", &Board::pci_revision, 0, 0xff},
    {"revision", &Board::revision, 0, 15},  // 4 bits in the driver's file
    {"compute_units", &Board::compute_units, 1, 4096},
    {"simds_per_cu", &Board::simds_per_cu, 1, 4},
    {"waves_per_simd", &Board::waves_per_simd, 1, 16},
    {"shader_engines", &Board::shader_engines, 1, 256},
    {"arrays_per_engine", &Board::arrays_per_engine, 1, 16},
    {"xccs", &Board::xccs, 1, 8},
    {"clock_mhz", &Board::clock_mhz, 1, 100'000},
    {"memory_clock_mhz", &Board::memory_clock_mhz, 1, 100'000},
    {"memory_bus_bits", &Board::memory_bus_bits, 8, 65'536},
    {"memory_mib", &Board::memory_mib, 0, kAny},
    {"l1_kib", &Board::l1_kib, 1, 4 << 20},
    {"l2_kib", &Board::l2_kib, 0, 4 << 20},
    {"l3_kib", &Board::l3_kib, 0, 4 << 20},
    {"cache_line_bytes", &Board::cache_line_bytes, 16, 1024},
    {"lds_kib", &Board::lds_kib, 1, 64},  // the engine has no more
    {"xnack", &Board::xnack},
    {"sramecc", &Board::sramecc},
    {"apu", &Board::apu},
    {"unique_id", &Board::unique_id},
});

constexpr std::array kFeatureNames = {std::pair{FeatureSetting::unsupported, "unsupported"},
                                      std::pair{FeatureSetting::off, "off"}, std::pair{FeatureSetting::on, "on"}};

using Result = tl::expected<void, BoardFileError>;

tl::unexpected<BoardFileError> fail(BoardFileProblem problem, std::string field, std::string message) {
  return tl::make_unexpected(BoardFileError{problem, std::move(field), std::move(message)});
}

Result wrong_type(const Field& field, const char* wanted) {
  return fail(BoardFileProblem::wrong_type, field.name, fmt::format("\"{}\" is not {}.", field.name, wanted));
}

Result read(const Json& json, const Field& field, std::string& out) {
  if (!json.is_string()) return wrong_type(field, "a string");
  out = json.get<std::string>();
  if (out.size() < field.least || out.size() > field.most)
    return fail(
        BoardFileProblem::out_of_range, field.name,
        fmt::format("\"{}\" has {} bytes; {} to {} are possible.", field.name, out.size(), field.least, field.most));
  return {};
}

Result read(const Json& json, const Field& field, uint32_t& out) {
  const auto outside = [&](const std::string& value) {
    return fail(BoardFileProblem::out_of_range, field.name,
                fmt::format("\"{}\" is {}; {} to {} are possible.", field.name, value, field.least, field.most));
  };
  uint64_t value = 0;
  if (json.is_number_unsigned()) {
    value = json.get<uint64_t>();
  } else if (json.is_number_integer()) {
    return outside(json.dump());  // negative
  } else if (json.is_string() && json.get_ref<const std::string&>().starts_with("0x")) {
    const std::string& text = json.get_ref<const std::string&>();
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + 2, end, value, 16);
    if (error == std::errc::result_out_of_range) return outside(text);
    if (error != std::errc{} || stop != end) return wrong_type(field, "an integer");
  } else {
    return wrong_type(field, "an integer");
  }
  if (value < field.least || value > field.most) return outside(std::to_string(value));
  out = static_cast<uint32_t>(value);
  return {};
}

Result read(const Json& json, const Field& field, bool& out) {
  if (!json.is_boolean()) return wrong_type(field, "true or false");
  out = json.get<bool>();
  return {};
}

// `out` has what the processor's row says: whether the feature is supported does not change.
Result read(const Json& json, const Field& field, FeatureSetting& out) {
  const auto name = std::ranges::find_if(kFeatureNames, [&](const auto& n) { return json == n.second; });
  if (name == kFeatureNames.end()) return wrong_type(field, R"("unsupported", "off" or "on")");
  if ((name->first == FeatureSetting::unsupported) != (out == FeatureSetting::unsupported))
    return fail(BoardFileProblem::unsupported_feature, field.name,
                fmt::format("\"{}\" cannot be {}: this processor {}.", field.name, json.dump(),
                            out == FeatureSetting::unsupported ? "does not have it" : "has it"));
  out = name->first;
  return {};
}

tl::expected<Board, BoardFileError> parse_board(const Json& json) {
  const auto processor = json.find("processor");
  if (processor == json.end())
    return fail(BoardFileProblem::missing_processor, "processor", "A board has no \"processor\".");
  if (!processor->is_string()) return fail(BoardFileProblem::wrong_type, "processor", "\"processor\" is not a string.");
  const std::string& name = processor->get_ref<const std::string&>();
  const Board* row = find_board(name);
  if (!row)
    return fail(BoardFileProblem::unknown_processor, "processor",
                fmt::format("\"processor\": \"{}\" is not one of {}.", name, board_names()));
  Board board = *row;
  for (const auto& [key, value] : json.items()) {
    if (key == "processor") continue;
    const auto field = std::ranges::find_if(kFields, [&k = key](const Field& f) { return k == f.name; });
    if (field == kFields.end())
      return fail(BoardFileProblem::unknown_field, key, fmt::format("A board has no \"{}\".", key));
    const Result result =
        std::visit([&v = value, &field, &board](auto member) { return read(v, *field, board.*member); }, field->member);
    if (!result) return tl::make_unexpected(result.error());
  }
  return board;
}

}  // namespace

tl::expected<std::vector<Board>, BoardFileError> parse_boards(std::string_view text) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& e) {
    return fail(BoardFileProblem::not_json, {}, fmt::format("It is not JSON: {}.", e.what()));
  }
  if (json.is_object()) json = Json::array({json});
  if (!json.is_array() || json.empty() || !std::ranges::all_of(json, [](const Json& j) { return j.is_object(); }))
    return fail(BoardFileProblem::wrong_shape, {}, "It is neither an object nor an array of objects.");
  std::vector<Board> boards;
  for (const Json& object : json) {
    tl::expected<Board, BoardFileError> board = parse_board(object);
    if (!board) return tl::make_unexpected(board.error());
    boards.push_back(std::move(*board));
  }
  return boards;
}

tl::expected<std::vector<Board>, BoardFileError> read_boards(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  tl::expected<std::vector<Board>, BoardFileError> boards =
      file.is_open() && !file.bad()
          ? parse_boards(text)
          : fail(BoardFileProblem::unreadable, {}, fmt::format("It cannot be read: {}.", std::strerror(errno)));
  if (!boards) boards.error().message = fmt::format("{}: {}", path, boards.error().message);
  return boards;
}

std::string to_json(const Board& board) {
  Json json;
  json["processor"] = board.processor;
  const auto value = [](const auto& v) -> Json {
    if constexpr (std::is_same_v<std::decay_t<decltype(v)>, FeatureSetting>)
      return std::ranges::find(kFeatureNames, v, [](const auto& n) { return n.first; })->second;
    else
      return v;
  };
  for (const Field& field : kFields)
    json[field.name] = std::visit([&](auto member) { return value(board.*member); }, field.member);
  return json.dump(2);
}

}  // namespace wavejit::hsa
