// The order of sums: what it may change, and what it has to leave.
#include "backend-x86/schedule/sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

namespace wavejit::backend::schedule {
namespace {

using Nodes = std::vector<Node>;

uint32_t add(Nodes& nodes, Node node) {
  nodes.push_back(std::move(node));
  return static_cast<uint32_t>(nodes.size() - 1);
}

// A matrix product: `rows` x `columns` sums, `steps` terms each, in the order that compilers write them. Returns the
// last term of each sum.
std::vector<uint32_t> product(Nodes& nodes, unsigned rows, unsigned columns, unsigned steps, unsigned registers = 1) {
  std::vector<uint32_t> sums;
  sums.reserve(rows * columns);
  for (unsigned s = 0; s < rows * columns; ++s) sums.push_back(add(nodes, {.registers = registers}));
  for (unsigned step = 0; step < steps; ++step) {
    std::vector<uint32_t> a, b;
    for (unsigned i = 0; i < rows; ++i) a.push_back(add(nodes, {.registers = registers}));
    for (unsigned j = 0; j < columns; ++j) b.push_back(add(nodes, {.registers = registers}));
    for (unsigned j = 0; j < columns; ++j) {
      for (unsigned i = 0; i < rows; ++i) {
        uint32_t& sum = sums[i * columns + j];
        sum =
            add(nodes, {.before = {a[i], b[j], sum}, .adds = true, .sum = sum, .factor = a[i], .registers = registers});
      }
    }
  }
  for (Node& node : nodes) std::sort(node.before.begin(), node.before.end());
  return sums;
}

void expect_valid(const Nodes& nodes, const std::vector<uint32_t>& order) {
  std::vector<unsigned> times(nodes.size());
  for (const uint32_t node : order) {
    ASSERT_LT(node, nodes.size());
    ASSERT_TRUE(times[node] == 0 || nodes[node].again) << "node " << node << " twice";
    for (const uint32_t before : nodes[node].before) EXPECT_NE(times[before], 0U) << before << " before " << node;
    ++times[node];
  }
  for (uint32_t node = 0; node < nodes.size(); ++node) EXPECT_NE(times[node], 0U) << "node " << node;
}

// The most sums that have begun and not ended, in registers, in an order.
unsigned sums_at_once(const Nodes& nodes, const std::vector<uint32_t>& order) {
  std::vector<bool> continued(nodes.size());
  for (const Node& node : nodes)
    if (node.sum != kNoNode) continued[node.sum] = true;
  unsigned now = 0, most = 0;
  for (const uint32_t i : order) {
    if (!nodes[i].adds) continue;
    const bool first = nodes[i].sum == kNoNode || !nodes[nodes[i].sum].adds;
    if (first) now += nodes[i].registers;
    most = std::max(most, now);
    if (!continued[i]) now -= nodes[i].registers;
  }
  return most;
}

TEST(Sums, GroupsThatFit) {
  Nodes nodes;
  product(nodes, 8, 8, 6);
  for (const unsigned registers : {16U, 32U}) {
    const std::vector<uint32_t> order = order_by_sums(nodes, registers);
    expect_valid(nodes, order);
    EXPECT_EQ(sums_at_once(nodes, order), registers == 16 ? 8U : 24U);  // whole rows of eight sums
  }
  std::vector<uint32_t> as_they_are(nodes.size());
  std::iota(as_they_are.begin(), as_they_are.end(), 0U);
  EXPECT_EQ(sums_at_once(nodes, as_they_are), 64U);
}

TEST(Sums, WideSumsTakeAsManyRegisters) {
  Nodes nodes;
  product(nodes, 4, 4, 6, 2);
  const std::vector<uint32_t> order = order_by_sums(nodes, 16);
  expect_valid(nodes, order);
  EXPECT_EQ(sums_at_once(nodes, order), 8U);  // four sums
}

TEST(Sums, NeighboursInAGroupShareAFactor) {
  Nodes nodes;
  product(nodes, 8, 4, 4);
  const std::vector<uint32_t> order = order_by_sums(nodes, 16);
  unsigned changes = 0, terms = 0, last = kNoNode;
  for (const uint32_t node : order) {
    if (!nodes[node].adds) continue;
    ++terms;
    changes += std::exchange(last, nodes[node].factor) != nodes[node].factor;
  }
  EXPECT_EQ(terms, 128U);
  EXPECT_EQ(changes, 32U);  // four steps of eight factors, each in one group
}

// The most factors that are made and not yet read for the last time.
unsigned factors_at_once(const Nodes& nodes, const std::vector<uint32_t>& order) {
  std::vector<size_t> last_read(nodes.size());
  for (size_t i = 0; i < order.size(); ++i)
    for (const uint32_t b : nodes[order[i]].before) last_read[b] = i;
  std::vector<int> ends(order.size() + 1);
  int now = 0, most = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (!nodes[order[i]].adds && last_read[order[i]] > i) {
      ++now;
      ++ends[last_read[order[i]]];
    }
    most = std::max(most, now);
    now -= ends[i];
  }
  return static_cast<unsigned>(most);
}

TEST(Sums, FactorsAreMadeForTheTermsThatReadThem) {
  Nodes nodes;
  const std::vector<uint32_t> sums = product(nodes, 8, 4, 8);
  // Cheap columns are made again in each group, so that only a row and the columns of a step are needed at a time.
  for (const uint32_t sum : sums)
    for (uint32_t term = sum; nodes[term].adds; term = nodes[term].sum)
      for (const uint32_t b : nodes[term].before)
        if (!nodes[b].adds && b != nodes[term].factor && b >= 32) nodes[b].again = true;
  const std::vector<uint32_t> order = order_by_sums(nodes, 16);
  expect_valid(nodes, order);
  EXPECT_EQ(order.size(), nodes.size() + size_t{3} * 8 * 4);  // four groups
  std::vector<bool> columns(nodes.size());
  for (uint32_t node = 0; node < nodes.size(); ++node) columns[node] = nodes[node].again;
  std::vector<uint32_t> without;
  for (const uint32_t node : order)
    if (node >= 32 && !columns[node]) without.push_back(node);
  EXPECT_LE(factors_at_once(nodes, without), 2U);
}

// Accesses that may fault stay in front of all terms, with what they need; what has to come behind a factor, as a store over
// the bytes that it is loaded from, comes behind the terms and does not pull the factors forward.
TEST(Sums, AccessesInFrontAndStoresBehind) {
  Nodes nodes;
  std::vector<uint32_t> factors;
  const std::vector<uint32_t> sums = product(nodes, 8, 8, 4);
  for (uint32_t node = 64; node < nodes.size(); ++node)
    if (!nodes[node].adds) factors.push_back(node);
  const uint32_t address = add(nodes, {.registers = 1});
  const uint32_t access = add(nodes, {.before = {address}, .early = true});
  const uint32_t store = add(nodes, {.before = factors});
  const std::vector<uint32_t> order = order_by_sums(nodes, 16);
  expect_valid(nodes, order);
  const auto place = [&](uint32_t node) { return std::find(order.begin(), order.end(), node) - order.begin(); };
  const auto first_term = std::find_if(order.begin(), order.end(), [&](uint32_t node) { return nodes[node].adds; });
  EXPECT_LT(place(access), first_term - order.begin());
  EXPECT_GT(place(store), place(sums[0]));
  EXPECT_LT(first_term - order.begin(), 70);
}

TEST(Sums, NothingChangesWhereAllFit) {
  Nodes nodes;
  product(nodes, 3, 4, 8);
  EXPECT_TRUE(order_by_sums(nodes, 16).empty());
}

TEST(Sums, NothingChangesWithFewTerms) {
  Nodes nodes;
  product(nodes, 8, 8, 2);
  EXPECT_TRUE(order_by_sums(nodes, 16).empty());
}

// What is made of a sum comes as soon as its group is done.
TEST(Sums, ResultsAreUsedBehindTheirGroup) {
  Nodes nodes;
  const std::vector<uint32_t> sums = product(nodes, 6, 4, 5);
  std::vector<uint32_t> stores;
  stores.reserve(sums.size());
  for (const uint32_t sum : sums) stores.push_back(add(nodes, {.before = {sum}}));
  const std::vector<uint32_t> order = order_by_sums(nodes, 16);
  expect_valid(nodes, order);
  const auto place = [&](uint32_t node) { return std::find(order.begin(), order.end(), node) - order.begin(); };
  EXPECT_LT(place(stores[0]), place(sums[20]));
}

// A sum that other sums are made of ends a window: nothing may overtake it.
TEST(Sums, SumsOfSums) {
  Nodes nodes;
  const std::vector<uint32_t> first = product(nodes, 6, 4, 4);
  std::vector<uint32_t> second;
  second.reserve(first.size());
  for (unsigned s = 0; s < 24; ++s) second.push_back(add(nodes, {.registers = 1}));
  for (unsigned step = 0; step < 4; ++step) {
    for (unsigned s = 0; s < 24; ++s) {
      Node node{
          .before = {first[(s + step) % 24], second[s]}, .adds = true, .sum = second[s], .factor = s, .registers = 1};
      std::sort(node.before.begin(), node.before.end());
      second[s] = add(nodes, std::move(node));
    }
  }
  expect_valid(nodes, order_by_sums(nodes, 16));
}

// A sum that begins with what another one gives waits for that one, whichever factors it shares.
TEST(Sums, SumsThatBeginWithResults) {
  Nodes nodes;
  std::vector<uint32_t> sums = product(nodes, 8, 4, 3);
  uint32_t& sum = sums.back();
  const auto first_term = std::find_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.adds; });
  const uint32_t factor = first_term->factor;  // so that the new sum is of the first group
  sum = add(nodes, {.before = {sum}, .registers = 1});
  for (unsigned step = 0; step < 3; ++step)
    sum = add(nodes, {.before = {factor, sum}, .adds = true, .sum = sum, .factor = factor, .registers = 1});
  const std::vector<uint32_t> order = order_by_sums(nodes, 16);
  EXPECT_FALSE(order.empty());
  expect_valid(nodes, order);
}

// What a factor is made of may be a chain as long as the code.
TEST(Sums, LongChainsNeedNoStack) {
  Nodes nodes;
  uint32_t last = add(nodes, {.registers = 1});
  for (unsigned i = 0; i < 300'000; ++i) last = add(nodes, {.before = {last}});
  std::vector<uint32_t> sums;
  for (unsigned s = 0; s < 32; ++s) sums.push_back(add(nodes, {.registers = 1}));
  for (unsigned step = 0; step < 4; ++step)
    for (uint32_t& sum : sums)
      sum = add(nodes, {.before = {last, sum}, .adds = true, .sum = sum, .factor = last, .registers = 1});
  expect_valid(nodes, order_by_sums(nodes, 16));
}

TEST(Sums, AnyGraph) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    Nodes nodes;
    std::vector<bool> has_reader;
    const auto count = 100 + random() % 900, sums = 8 + random() % 40;
    std::vector<uint32_t> current(sums, kNoNode);
    for (unsigned i = 0; i < count; ++i) {
      Node node{
          .registers = static_cast<unsigned>(random() % 3), .early = random() % 16 == 0, .again = random() % 8 == 0};
      for (unsigned k = random() % 4; k-- > 0 && i > 0;) node.before.push_back(random() % i);
      if (random() % 3 != 0) {
        uint32_t& sum = current[random() % sums];
        // Half of the time only nodes that are no sums are read besides.
        if (random() % 2 == 0) std::erase_if(node.before, [&](uint32_t b) { return nodes[b].adds; });
        if (sum != kNoNode) node.before.push_back(sum);
        node.adds = true;
        node.early = node.again = false;
        node.sum = sum;
        node.factor = random() % 8;
        node.registers = 1;
        sum = i;
      } else if (random() % 4 == 0) {
        current[random() % sums] = i;  // the next sum there begins with this node
      }
      std::sort(node.before.begin(), node.before.end());
      node.before.erase(std::unique(node.before.begin(), node.before.end()), node.before.end());
      nodes.push_back(std::move(node));
    }
    for (const unsigned registers : {16U, 32U}) {
      const std::vector<uint32_t> order = order_by_sums(nodes, registers);
      if (!order.empty()) expect_valid(nodes, order);
      if (HasFailure()) FAIL() << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace wavejit::backend::schedule
