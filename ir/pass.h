// The optimisation pipeline. A pass is one function in its own file under ir/passes/, with a row in passes.def;
// pipeline.cpp lists the runs.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/function.h"

namespace wavejit::ir {

struct PassResult {
  bool changed = false;  // false: the function is what it was, to the order of users
  bool settled = false;  // running the pass once more right away would change nothing
};

// What running a row of the pipeline came to; skipped: it is known that it would have changed nothing.
enum class PassOutcome : uint8_t { changed, unchanged, skipped };

// Whether a loop has a copy for one lane after the other. Valid during the call that gets it.
struct LoopRemark {
  const Block* header = nullptr;
  std::string_view obstacle;  // what stands against a copy; empty: there is one
  const Inst* at = nullptr;   // where; null: the loop as a whole
};

struct PassContext {
  bool verify = false;                // verify what each pass has changed (debug builds and tests)
  bool one_wave = false;              // each work-group has one wave
  bool poll_all_loops = false;        // polls in all loops, not only in those that may wait: nothing else can stop one
  bool all_lane_loops = false;        // copies of all loops that lane-loops may copy, whether they may be faster or not
  std::vector<std::string> disabled;  // passes switched off by name
  std::vector<std::string> dump;      // "before:<pass>" / "after:<pass>" / "before:all" ...
  std::function<void(std::string_view title, const Function&)> dump_sink;
  std::function<void(std::string_view pass, PassOutcome)> finished;  // after each pass, for profiles
  std::function<void(const LoopRemark&)> loop_remark;                // for each loop that lane-loops has looked at
};

struct Pass {
  std::string_view name;
  std::string_view meaning;
  PassResult (*run)(Function&, const PassContext&);
};

[[nodiscard]] std::span<const Pass> pipeline();  // in order; a pass may be listed more than once
// Runs the pipeline, but for passes that would change nothing because nothing has changed since they last ran. With
// context.verify these run as well, and are held to it; a violation is an always-on CHECK failure naming the pass.
void optimise(Function& function, const PassContext& context = {});

}  // namespace wavejit::ir
