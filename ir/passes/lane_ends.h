// Tests that hold for all lanes of a wave, as tests of its lowest and its highest number.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/analysis/lane_shape.h"
#include "ir/analysis/lane_table.h"
#include "ir/function.h"

namespace wavejit::ir::passes {

// Of numbers that are one number of the wave and a constant for each lane, such as the coordinates of work-items.
class LaneEnds {
 public:
  // Makes an instruction: operation, type, operands, attribute, immediate.
  using Make = std::function<Inst*(Op, Type, std::vector<Inst*>, uint32_t, uint64_t)>;

  // `function` must outlive this object. Values that it gets later may be asked for, too.
  explicit LaneEnds(const Function& function);

  // i1 values that together say that the mask has all 64 lanes. They may fail where it has: no wrap-around between the ends is
  // asked for. False, and no condition, if the ends of what it compares are not known.
  bool all_lanes(Inst* mask, const Make& make, std::vector<Inst*>& conditions);
  // The same of: -limit <= value < limit, where 0 < limit < 2^29.
  bool all_small(Inst* value, int64_t limit, const Make& make, std::vector<Inst*>& conditions);
  // The same of value * factor, without any wrap-around; `factor` is an i32.
  bool all_small(Inst* value, Inst* factor, int64_t limit, const Make& make, std::vector<Inst*>& conditions);

 private:
  // i32, mod 2^32. The numbers of all lanes are low, low + 1, ... or high, of which there are kMaxSpread at most.
  struct Ends {
    Inst* low = nullptr;
    Inst* high = nullptr;
  };
  static constexpr int64_t kMaxSpread = int64_t{1} << 26;

  // Sets *spread to the difference.
  std::optional<Ends> ends(Inst* value, const Make& make, int64_t* spread);

  const size_t known_;  // values that the tables speak of
  const LaneShapes shapes_;
  LaneTables tables_;
};

}  // namespace wavejit::ir::passes
