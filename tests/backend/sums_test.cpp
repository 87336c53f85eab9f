// The order of sums: what it may change, and what it has to leave.
#include "backend-x86/schedule/sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

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
  ASSERT_EQ(order.size(), nodes.size());
  std::vector<uint32_t> place(nodes.size(), kNoNode);
  for (uint32_t i = 0; i < order.size(); ++i) {
    ASSERT_LT(order[i], nodes.size());
    ASSERT_EQ(place[order[i]], kNoNode) << "node " << order[i] << " twice";
    place[order[i]] = i;
  }
  for (uint32_t node = 0; node < nodes.size(); ++node)
    for (const uint32_t before : nodes[node].before)
      EXPECT_LT(place[before], place[node]) << before << " before " << node;
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
    EXPECT_EQ(sums_at_once(nodes, order), registers == 16 ? 11U : 22U);  // of at most 12 and 24: equal groups of 64
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
  EXPECT_EQ(sums_at_once(nodes, order), 12U);  // six, six and four sums
}

TEST(Sums, NeighboursInAGroupShareAFactor) {
  Nodes nodes;
  product(nodes, 8, 4, 4);
  const std::vector<uint32_t> order = order_by_sums(nodes, 16);
  unsigned changes = 0, terms = 0;
  for (size_t i = 1; i < order.size(); ++i) {
    if (!nodes[order[i]].adds) continue;
    ++terms;
    changes += !nodes[order[i - 1]].adds || nodes[order[i]].factor != nodes[order[i - 1]].factor;
  }
  EXPECT_EQ(terms, 128U);
  EXPECT_EQ(changes, 40U);  // four steps of eight factors, two of which two groups share
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

TEST(Sums, AnyGraph) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    Nodes nodes;
    std::vector<bool> has_reader;
    const auto count = 100 + random() % 900, sums = 8 + random() % 40;
    std::vector<uint32_t> current(sums, kNoNode);
    for (unsigned i = 0; i < count; ++i) {
      Node node{.registers = static_cast<unsigned>(random() % 3)};
      for (unsigned k = random() % 4; k-- > 0 && i > 0;) node.before.push_back(random() % i);
      if (random() % 3 != 0) {
        uint32_t& sum = current[random() % sums];
        // Half of the time only nodes that are no sums are read besides.
        if (random() % 2 == 0) std::erase_if(node.before, [&](uint32_t b) { return nodes[b].adds; });
        if (sum != kNoNode) node.before.push_back(sum);
        node.adds = true;
        node.sum = sum;
        node.factor = random() % 8;
        node.registers = 1;
        sum = i;
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
