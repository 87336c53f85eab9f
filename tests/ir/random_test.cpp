// Random functions do the same before and after each pass and the whole pipeline.
#include <gtest/gtest.h>

#include <cstdlib>

#include "ir/interpret.h"
#include "ir/pass.h"
#include "ir/text.h"
#include "random_function.h"

namespace wavejit::ir {
namespace {

// More functions: WAVEJIT_IR_SEEDS=first:count.
std::pair<uint64_t, uint64_t> seeds() {
  const char* text = std::getenv("WAVEJIT_IR_SEEDS");
  if (text == nullptr) return {1, 300};
  char* rest = nullptr;
  const uint64_t first = std::strtoull(text, &rest, 0);
  return {first, *rest == ':' ? std::strtoull(rest + 1, nullptr, 0) : 1};
}

std::vector<std::string> observe(const Function& function, uint64_t seed) {
  std::vector<std::string> all;
  for (unsigned entry = 0; entry < function.entries.size(); ++entry) {
    const auto result = interpret(function, entry, seed);
    if (!result) return {"error: " + result.error().message};
    all.insert(all.end(), result->events.begin(), result->events.end());
  }
  return all;
}

TEST(IrRandom, GeneratorRoundTripsAndRuns) {
  const auto [first, count] = seeds();
  size_t events = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const auto function = test::random_function(seed, 20 + seed % 100);
    ASSERT_EQ(verify(*function), "") << "seed " << seed;
    const std::string text = print(*function);
    auto parsed = parse(text);
    ASSERT_TRUE(parsed.has_value()) << "seed " << seed << ": " << parsed.error().message;
    ASSERT_EQ(print(**parsed), text) << "seed " << seed;
    ASSERT_EQ(verify(**parsed), "") << "seed " << seed;
    const auto seen = observe(*function, seed);
    ASSERT_FALSE(seen[0].starts_with("error")) << "seed " << seed << ": " << seen[0];
    events += seen.size();
  }
  EXPECT_GT(events, 10 * count);
}

TEST(IrRandom, EachPassKeepsTheMeaning) {
  const auto [first, count] = seeds();
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const auto function = test::random_function(seed, 20 + seed % 150);
    const auto expected = observe(*function, seed);
    PassContext context;
    for (const Pass& pass : pipeline()) {
      const std::string before = print(*function);
      const bool changed = pass.run(*function, context).changed;
      ASSERT_EQ(changed, print(*function) != before) << "seed " << seed << " pass " << pass.name << "\n" << before;
      ASSERT_EQ(verify(*function), "") << "seed " << seed << " pass " << pass.name << "\n" << before;
      const auto actual = observe(*function, seed);
      if (actual == expected) continue;
      for (size_t i = 0; i < std::min(actual.size(), expected.size()); ++i)
        ASSERT_EQ(actual[i], expected[i]) << "seed " << seed << " pass " << pass.name << " event " << i;
      FAIL() << "seed " << seed << " pass " << pass.name << "\nbefore:\n" << before << "after:\n" << print(*function);
    }
  }
}

// With `verify` the pipeline runs what it would leave out, and checks that it changes nothing.
TEST(IrRandom, PassesLeftOutWouldChangeNothing) {
  const auto [first, count] = seeds();
  size_t skipped = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const auto all = test::random_function(seed, 20 + seed % 150);
    const auto some = test::random_function(seed, 20 + seed % 150);
    optimise(*all, {.verify = true});
    PassContext context;
    context.finished = [&](std::string_view, PassOutcome outcome) { skipped += outcome == PassOutcome::skipped; };
    optimise(*some, context);
    all->renumber();
    some->renumber();
    ASSERT_EQ(print(*all), print(*some)) << "seed " << seed;
  }
  EXPECT_GT(skipped, count);
}

}  // namespace
}  // namespace wavejit::ir
