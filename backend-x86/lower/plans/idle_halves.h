// Lanes that nobody asks for, by halves of chunks (idle_halves.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/function.h"

namespace wavejit::backend {

struct Lowering;

struct IdleHalves {
  static constexpr uint16_t kAll = 0xffff;
  explicit IdleHalves(size_t values) : wanted(values, kAll) {}

  // By instruction id: two bits for each chunk, for the lanes of VectorIsa::lane_of64.
  std::vector<uint16_t> wanted;

  [[nodiscard]] bool is_wanted_whole(const ir::Inst* inst) const { return wanted[inst->id] == kAll; }
  [[nodiscard]] unsigned wanted_in(const ir::Inst& inst, unsigned chunk) const {
    return wanted[inst.id] >> 2 * chunk & 3;
  }
  [[nodiscard]] bool is_half_wanted(const ir::Inst& inst, unsigned chunk) const {
    const unsigned halves = wanted_in(inst, chunk);
    return halves == 1 || halves == 2;
  }
};

[[nodiscard]] IdleHalves plan_idle_halves(const Lowering& ctx);

}  // namespace wavejit::backend
