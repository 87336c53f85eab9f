// What is computed once in a segment, for all instructions that want it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "backend-x86/lower/host_code.h"
#include "ir/function.h"

namespace wavejit::backend {

struct SegmentValues {
  // Addresses that the lanes of a chunk share: (base or null, offset, chunk; 0 if all chunks share the address) ->
  // pointer.
  std::map<std::tuple<const ir::Inst*, const ir::Inst*, unsigned>, Gp> uniform_pointers;
  // Results of clamp_test(), by clamps and chunk.
  std::map<std::pair<std::vector<const ir::Inst*>, unsigned>, Gp> clamp_tests;
  // Results of odd_division(), by its operands.
  std::map<std::tuple<const ir::Inst*, const ir::Inst*, unsigned>, std::optional<MaskReg>> odd_divisions;
  // Lanes in which a float is zero, denormal, infinite or NaN, by the value and chunk.
  std::map<std::pair<const ir::Inst*, unsigned>, MaskReg> odd_floats;
  // Distances of prefetches, by the members of Stream and of Advance.
  std::map<std::tuple<const ir::Inst*, unsigned, bool>, Gp> stream_distances;
  std::map<std::tuple<int64_t, const ir::Inst*, int>, Gp> advance_distances;
};

}  // namespace wavejit::backend
