// Boards in JSON, for devices that the table does not have: WAVEJIT_BOARD=FILE, `wavejit exec --board FILE`.
//
// A file holds one object or an array of objects, one for each device. "processor" is required; what an object does not
// mention is as in the table's row of that processor. Members are named as those of Board; `wavejit boards gfx906
// --json` prints an object with all of them. Integers may be strings in hexadecimal ("0x66af"); xnack and sramecc are
// "unsupported", "off" or "on".
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "runtime/hsa/board.h"

namespace wavejit::hsa {

enum class BoardFileProblem : uint8_t {
  unreadable,   // no such file, or it cannot be read
  not_json,     // syntax
  wrong_shape,  // neither an object nor an array of at least one object
  missing_processor,
  unknown_processor,  // not in the table
  unknown_field,
  wrong_type,
  out_of_range,
  unsupported_feature,  // xnack or sramecc where the processor has none, or has one always
};

struct BoardFileError {
  BoardFileProblem problem = BoardFileProblem::unreadable;
  std::string field;    // empty if it is none's
  std::string message;  // a complete sentence
};

[[nodiscard]] tl::expected<std::vector<Board>, BoardFileError> parse_boards(std::string_view json);
[[nodiscard]] tl::expected<std::vector<Board>, BoardFileError> read_boards(const std::string& path);
[[nodiscard]] std::string to_json(const Board& board);  // indented, without a final newline

}  // namespace wavejit::hsa
