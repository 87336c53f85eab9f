// The address of a dword of one lane's scratch, as the copies of loops for one lane make it (LaneCopier::address_of):
// own + (umin(zext64(x), bound) << kScratchRowShift).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "ir/function.h"

namespace wavejit::ir::passes {

inline constexpr uint64_t kScratchRowShift = 6;  // of aligned bytes: a row of 256 bytes for four

struct ScratchRow {
  Inst* own = nullptr;  // i64: where the lane's scratch begins
  Inst* x = nullptr;    // i32: the byte
  Inst* bounded = nullptr;
  uint64_t bound = 0;  // below 2^32
};

[[nodiscard]] inline std::optional<ScratchRow> scratch_row(const Inst* address) {
  if (address->op != Op::add || address->type != kI64) return std::nullopt;
  const Inst* row = address->operands[1];
  if (row->op != Op::shl || !row->operands[1]->is_const(kScratchRowShift)) return std::nullopt;
  Inst* bounded = row->operands[0];
  if (bounded->op != Op::umin || !bounded->operands[1]->is_const()) return std::nullopt;
  const Inst* wide = bounded->operands[0];
  if (wide->op != Op::zext64 || wide->operands[0]->type != kI32) return std::nullopt;
  const uint64_t most = std::numeric_limits<uint32_t>::max();
  return ScratchRow{.own = address->operands[0],
                    .x = wide->operands[0],
                    .bounded = bounded,
                    .bound = std::min(bounded->operands[1]->imm, most)};
}

}  // namespace wavejit::ir::passes
