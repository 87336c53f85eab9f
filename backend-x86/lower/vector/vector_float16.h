// f16 in the low words of 32-bit lanes, or in both words.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_set>
#include <utility>

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

// Pairs of f16 of instructions emitted in a row, by value and chunk (0 if it has one register for all): as f32; as words of two
// registers; and the values of which there is nothing else.
struct SharedHalves {
  std::map<std::pair<const Inst*, unsigned>, std::array<Vec, 2>> singles, words;
  std::unordered_set<const Inst*> only_added_to;
};

bool emit_float16(Lowering& ctx, const Inst& inst, unsigned chunk);
// In front of instructions that are emitted in a row, for each chunk. A sum that only another one of them adds to is kept as its
// words.
void begin_shared_halves(Lowering& ctx, std::span<const Inst* const> insts);

Vec to_f32(Lowering& ctx, const Vec& half, uint32_t env);  // f16 in the low words -> f32, input denormals as env says
Vec to_f16(Lowering& ctx, const Vec& single, uint32_t env);

}  // namespace wavejit::backend
