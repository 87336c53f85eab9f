#include "lane_loop_runs.h"

#include <algorithm>

#include "ir/pass.h"

namespace wavejit::ir::test {

std::vector<std::string> registers(const Function& function, uint64_t seed, MemoryModel model) {
  const auto result = interpret(function, 0, seed, uint64_t{1} << 24, model);
  if (!result) return {"error: " + result.error().message};
  std::vector<std::string> events = result->events;
  std::erase_if(events, [](const std::string& event) { return event.starts_with("load"); });
  return events;
}

bool copies_lane_loops(Function& function) {
  const auto passes = pipeline();
  PassContext context;
  context.all_lane_loops = true;
  if (!std::ranges::find(passes, "lane-loops", &Pass::name)->run(function, context).changed) return false;
  for (const char* name : {"stream-checks", "threaded-branches"})
    (void)std::ranges::find(passes, name, &Pass::name)->run(function, context);
  return true;
}

}  // namespace wavejit::ir::test
