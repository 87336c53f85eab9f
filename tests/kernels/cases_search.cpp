// Kernels that search: lanes follow pointers, backtrack, or look for what they find at different times.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "case_util.h"
#include "cases.h"

namespace wavejit::kernels {
namespace {

// The solutions with columns[0, row) given, by trying every square; counts the queens that are placed.
uint32_t count_solutions(std::vector<int>& columns, int row, uint64_t* placed) {
  const int queens = static_cast<int>(columns.size());
  if (row == queens) return 1;
  uint32_t solutions = 0;
  for (int column = 0; column < queens; ++column) {
    bool attacked = false;
    for (int other = 0; other < row; ++other) {
      const int distance = columns[static_cast<size_t>(other)] - column;
      attacked |= distance == 0 || std::abs(distance) == row - other;
    }
    if (attacked) continue;
    ++*placed;
    columns[static_cast<size_t>(row)] = column;
    solutions += count_solutions(columns, row + 1, placed);
  }
  return solutions;
}

using BvhSphere = std::array<float, 4>;  // centre and radius

struct BvhNode {
  std::array<float, 3> low;
  uint32_t first;
  std::array<float, 3> high;
  uint32_t count;
};

// Makes nodes[index] the root of a hierarchy of spheres[first, first + count), which are put in order: halves along the
// longest side, up to four spheres in a leaf.
void build_bvh(std::vector<BvhNode>& nodes, size_t index, std::span<BvhSphere> spheres, uint32_t first,
               uint32_t count) {
  constexpr float kMargin = 1e-3f;  // for the rounding in the intersection of ray and box
  BvhNode box{.low = {1e30f, 1e30f, 1e30f}, .first = first, .high = {-1e30f, -1e30f, -1e30f}, .count = count};
  for (const BvhSphere& sphere : spheres.subspan(first, count)) {
    for (size_t axis = 0; axis < 3; ++axis) {
      box.low[axis] = std::min(box.low[axis], sphere[axis] - sphere[3] - kMargin);
      box.high[axis] = std::max(box.high[axis], sphere[axis] + sphere[3] + kMargin);
    }
  }
  if (count > 4) {
    size_t longest = 0;
    for (size_t axis = 1; axis < 3; ++axis)
      if (box.high[axis] - box.low[axis] > box.high[longest] - box.low[longest]) longest = axis;
    auto part = spheres.subspan(first, count);
    std::nth_element(part.begin(), part.begin() + count / 2, part.end(),
                     [longest](const BvhSphere& a, const BvhSphere& b) { return a[longest] < b[longest]; });
    const size_t child = nodes.size();
    nodes.resize(child + 2);
    build_bvh(nodes, child, spheres, first, count / 2);
    build_bvh(nodes, child + 1, spheres, first + count / 2, count - count / 2);
    box.first = static_cast<uint32_t>(child);
    box.count = 0;
  }
  nodes[index] = box;
}

}  // namespace

KernelCase make_nqueens(Size size) {
  const uint32_t queens = size == Size::kTest ? 7 : 11, prefix_rows = 3, items = queens * queens * queens;
  uint64_t placed = 0;
  std::vector<uint32_t> want(items, 0);
  for (uint32_t i = 0; i < items; ++i) {
    std::vector<int> columns(queens);
    uint32_t prefix = i;
    bool attacked = false;
    for (uint32_t row = 0; row < prefix_rows; ++row, prefix /= queens) {
      columns[row] = static_cast<int>(prefix % queens);
      for (uint32_t other = 0; other < row; ++other) {
        const int distance = std::abs(columns[other] - columns[row]);
        attacked |= distance == 0 || distance == static_cast<int>(row - other);
      }
    }
    if (!attacked) want[i] = count_solutions(columns, static_cast<int>(prefix_rows), &placed);
  }
  KernelCase c{.name = "nqueens", .object = "nqueens"};
  c.buffers = {filled_buffer("counts", items, ~0u)};
  c.launches = {{.kernel = "nqueens",
                 .global = {round_up(items, 64), 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), scalar_arg(queens), scalar_arg(prefix_rows), scalar_arg(items)}}};
  c.check = [want](std::span<const Buffer> buffers, std::string* why) { return equal(buffers[0], want, why); };
  c.unit = "Mqueens";
  c.work = 1e-6 * static_cast<double>(placed);
  return c;
}

KernelCase make_tree_lookup(Size size) {
  struct Node {
    int32_t key, left, right, value;
  };
  // A node of the reference: a new key's node hangs below the deeper one of its neighbours in order.
  struct Known {
    int32_t value;
    uint32_t depth;
  };
  const uint32_t count = size == Size::kTest ? 90 : 20000, n = size == Size::kTest ? 150 : 50000;
  Random random(60);
  std::map<int32_t, Known> known;
  auto neighbour_depth = [&known](int32_t key) {
    auto above = known.lower_bound(key);
    uint32_t depth = above != known.end() ? above->second.depth : 0;
    return above != known.begin() ? std::max(depth, std::prev(above)->second.depth) : depth;
  };
  std::vector<Node> nodes;
  while (nodes.size() < count) {
    const auto key = static_cast<int32_t>(random.below(8 * count)) - static_cast<int32_t>(4 * count);
    if (known.contains(key)) continue;
    const Node node{.key = key, .left = -1, .right = -1, .value = static_cast<int32_t>(random.below(1u << 30))};
    const uint32_t depth = neighbour_depth(key) + 1;
    known[key] = {.value = node.value, .depth = depth};
    const auto index = static_cast<int32_t>(nodes.size());
    nodes.push_back(node);
    if (index == 0) continue;
    for (int32_t at = 0; at != index;) {
      Node& parent = nodes[static_cast<size_t>(at)];
      int32_t& child = key < parent.key ? parent.left : parent.right;
      if (child < 0) child = index;
      at = child;
    }
  }
  std::vector<int32_t> keys(n), values(n);
  std::vector<uint32_t> steps(n);
  uint64_t visited = 0;
  for (uint32_t i = 0; i < n; ++i) {
    keys[i] = random.below(2) == 0 ? nodes[random.below(count)].key
                                   : static_cast<int32_t>(random.below(8 * count)) - static_cast<int32_t>(4 * count);
    auto found = known.find(keys[i]);
    values[i] = found != known.end() ? found->second.value : -1;
    steps[i] = found != known.end() ? found->second.depth : neighbour_depth(keys[i]);
    visited += steps[i];
  }
  KernelCase c{.name = "tree_lookup", .object = "tree_lookup"};
  c.buffers = {make_buffer("nodes", nodes), make_buffer("keys", keys), filled_buffer("values", n, 0),
               filled_buffer("steps", n, 0u)};
  c.launches = {
      {.kernel = "tree_lookup",
       .global = {round_up(n, 64), 1, 1},
       .local = {64, 1, 1},
       .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), buffer_arg(3), scalar_arg(int32_t{0}), scalar_arg(n)}}};
  c.check = [values, steps](std::span<const Buffer> buffers, std::string* why) {
    return equal(buffers[2], values, why) && equal(buffers[3], steps, why);
  };
  c.unit = "Msteps";
  c.work = 1e-6 * static_cast<double>(visited);
  return c;
}

KernelCase make_hash_lookup(Size size) {
  struct Entry {
    uint32_t key, value;
    int32_t next;
  };
  const uint32_t bits = size == Size::kTest ? 5 : 14, count = 3u << (bits - 1);
  const uint32_t n = size == Size::kTest ? 150 : 100000, missing = ~0u;
  Random random(61);
  auto bucket_of = [bits](uint32_t key) { return (key * 2654435761u) >> (32 - bits); };
  // A quarter of the keys crowds a sixteenth of the buckets.
  auto draw = [&] {
    auto key = static_cast<uint32_t>(random.next());
    if (random.below(4) == 0) {
      while (bucket_of(key) >= 1u << (bits - 4)) key = static_cast<uint32_t>(random.next());
    }
    return key;
  };
  std::vector<int32_t> buckets(size_t{1} << bits, -1);
  std::vector<Entry> entries;
  std::unordered_map<uint32_t, uint32_t> known;
  while (entries.size() < count) {
    const uint32_t key = draw(), value = random.below(1u << 30);
    if (!known.emplace(key, value).second) continue;
    int32_t& bucket = buckets[bucket_of(key)];
    entries.push_back({.key = key, .value = value, .next = bucket});
    bucket = static_cast<int32_t>(entries.size() - 1);
  }
  // Half of the keys is there, some far more often than others.
  std::vector<uint32_t> keys(n), want(n);
  for (uint32_t i = 0; i < n; ++i) {
    const double rank = random.uniform(0, 1);
    keys[i] = random.below(2) == 0 ? draw() : entries[static_cast<size_t>(rank * rank * rank * count)].key;
    auto found = known.find(keys[i]);
    want[i] = found != known.end() ? found->second : missing;
  }
  KernelCase c{.name = "hash_lookup", .object = "hash_lookup"};
  c.buffers = {make_buffer("buckets", buckets), make_buffer("entries", entries), make_buffer("keys", keys),
               filled_buffer("values", n, 0u)};
  c.launches = {{.kernel = "hash_lookup",
                 .global = {round_up(n, 64), 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), buffer_arg(3), scalar_arg(bits),
                          scalar_arg(missing), scalar_arg(n)}}};
  c.check = [want](std::span<const Buffer> buffers, std::string* why) { return equal(buffers[3], want, why); };
  c.unit = "Mkeys";
  c.work = 1e-6 * n;
  return c;
}

KernelCase make_string_match(Size size) {
  constexpr uint32_t kStride = 16;
  constexpr std::array<std::string_view, 6> kPatterns = {"GATTACA", "TATAAA",   "AAAA",
                                                         "CCGCCGC", "ACACACAC", "ACGACGTACGACGA"};
  const uint32_t lines = size == Size::kTest ? 90 : 4000, longest = size == Size::kTest ? 40 : 240;
  Random random(62);
  // Most lines are short. Letters tend to repeat, and patterns are strewn in, so that partial matches are common.
  std::string text;
  std::vector<uint32_t> start = {0};
  for (uint32_t line = 0; line < lines; ++line) {
    const double u = random.uniform(0, 1);
    const size_t end = text.size() + static_cast<size_t>(u * u * longest);
    while (text.size() < end) {
      if (random.below(24) == 0) {
        const std::string_view pattern = kPatterns[random.below(kPatterns.size())];
        text += pattern.substr(0, 1 + random.below(static_cast<uint32_t>(pattern.size())));
      } else {
        text += !text.empty() && random.below(4) == 0 ? text.back() : "ACGT"[random.below(4)];
      }
    }
    text.resize(end);
    start.push_back(static_cast<uint32_t>(end));
  }
  std::vector<uint8_t> patterns(kPatterns.size() * kStride, 0), failure(kPatterns.size() * kStride, 0);
  std::vector<uint32_t> lengths;
  for (size_t p = 0; p < kPatterns.size(); ++p) {
    const std::string_view pattern = kPatterns[p];
    std::copy(pattern.begin(), pattern.end(), &patterns[p * kStride]);
    lengths.push_back(static_cast<uint32_t>(pattern.size()));
    // For each prefix, the length of its longest proper prefix that is also its suffix; tries all lengths.
    for (size_t prefix = 1; prefix <= pattern.size(); ++prefix) {
      for (size_t border = 0; border < prefix; ++border) {
        if (pattern.substr(0, border) == pattern.substr(prefix - border, border))
          failure[p * kStride + prefix - 1] = static_cast<uint8_t>(border);
      }
    }
  }
  KernelCase c{.name = "string_match", .object = "string_match"};
  c.buffers = {make_buffer("text", std::vector<char>(text.begin(), text.end())),
               make_buffer("line_start", start),
               make_buffer("patterns", patterns),
               make_buffer("failure", failure),
               make_buffer("pattern_length", lengths),
               filled_buffer("first", lines, 0),
               filled_buffer("matches", lines, ~0u)};
  c.launches = {{.kernel = "string_match",
                 .global = {round_up(lines, 64), 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), buffer_arg(3), buffer_arg(4), buffer_arg(5),
                          buffer_arg(6), scalar_arg(uint32_t{kPatterns.size()}), scalar_arg(lines)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    std::vector<int32_t> first(lines, -1);
    std::vector<uint32_t> matches(lines, 0);
    for (uint32_t i = 0; i < lines; ++i) {
      const std::string_view line = std::string_view(text).substr(start[i], start[i + 1] - start[i]);
      for (std::string_view pattern : kPatterns) {
        for (size_t at = line.find(pattern); at != std::string_view::npos; at = line.find(pattern, at + 1)) {
          if (first[i] < 0 || static_cast<int32_t>(at) < first[i]) first[i] = static_cast<int32_t>(at);
          ++matches[i];
        }
      }
    }
    return equal(buffers[5], first, why) && equal(buffers[6], matches, why);
  };
  c.unit = "MB";
  c.work = 1e-6 * static_cast<double>(text.size() * kPatterns.size());
  return c;
}

KernelCase make_union_find(Size size) {
  const uint32_t nodes = size == Size::kTest ? 150 : 150000, edge_count = size == Size::kTest ? 120 : 120000;
  Random random(63);
  std::vector<std::array<uint32_t, 2>> edges(edge_count);
  std::vector<std::vector<uint32_t>> neighbours(nodes);
  for (auto& [a, b] : edges) {
    a = random.below(nodes);
    b = random.below(nodes);
    neighbours[a].push_back(b);
    neighbours[b].push_back(a);
  }
  std::vector<uint32_t> parent(nodes);
  std::iota(parent.begin(), parent.end(), 0u);
  KernelCase c{.name = "union_find", .object = "union_find"};
  c.buffers = {make_buffer("edges", edges), make_buffer("parent", parent), filled_buffer("label", nodes, ~0u)};
  c.launches = {{.kernel = "union_find_hook",
                 .global = {round_up(edge_count, 64), 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), scalar_arg(edge_count)}},
                {.kernel = "union_find_flatten",
                 .global = {round_up(nodes, 64), 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(1), buffer_arg(2), scalar_arg(nodes)}}};
  c.check = [nodes, neighbours](std::span<const Buffer> buffers, std::string* why) {
    std::vector<uint32_t> want(nodes, ~0u), open;  // depth first from the smallest node that has no label
    for (uint32_t first = 0; first < nodes; ++first) {
      if (want[first] != ~0u) continue;
      want[first] = first;
      open = {first};
      while (!open.empty()) {
        const uint32_t node = open.back();
        open.pop_back();
        for (uint32_t other : neighbours[node]) {
          if (want[other] != ~0u) continue;
          want[other] = first;
          open.push_back(other);
        }
      }
    }
    return equal(buffers[2], want, why);
  };
  c.unit = "Medges";
  c.work = 1e-6 * edge_count;
  return c;
}

KernelCase make_bvh_trace(Size size) {
  struct Ray {
    std::array<float, 3> origin;
    float limit;
    std::array<float, 3> direction;
    float unused;
  };
  const uint32_t sphere_count = size == Size::kTest ? 40 : 3000, n = size == Size::kTest ? 100 : 10000;
  Random random(64);
  std::vector<BvhSphere> spheres(sphere_count);
  const double shrink = size == Size::kTest ? 4 : 1;  // as many hits of fewer spheres
  for (BvhSphere& sphere : spheres) {
    for (size_t axis = 0; axis < 3; ++axis) sphere[axis] = static_cast<float>(random.uniform(-20, 20) / shrink);
    sphere[3] = static_cast<float>(random.uniform(0.2, 0.9));
  }
  std::vector<BvhNode> nodes(1);
  build_bvh(nodes, 0, spheres, 0, sphere_count);
  // Half of the rays come from a camera, pixel by pixel, and half from anywhere into any direction, many of them short.
  std::vector<Ray> rays(n);
  const uint32_t width = 100;
  for (uint32_t i = 0; i < n; ++i) {
    Ray& ray = rays[i];
    std::array<double, 3> direction;
    double square = 0;
    if (i < n / 2) {
      ray.origin = {0, 0, static_cast<float>(-40 / shrink)};
      ray.limit = 1000;
      direction = {(i % width + 0.5) / width - 0.5, (i / width + 0.5) / (n / 2.0 / width) - 0.5, 1};
      for (double v : direction) square += v * v;
    } else {
      for (float& v : ray.origin) v = static_cast<float>(random.uniform(-20, 20) / shrink);
      ray.limit = random.below(2) == 0 ? 1000 : 5;
      do {
        square = 0;
        for (double& v : direction) {
          v = random.uniform(-1, 1);
          square += v * v;
        }
      } while (square > 1 || square < 0.01);
    }
    for (size_t axis = 0; axis < 3; ++axis)
      ray.direction[axis] = static_cast<float>(direction[axis] / std::sqrt(square));
    ray.unused = 0;
  }
  KernelCase c{.name = "bvh_trace", .object = "bvh_trace"};
  c.buffers = {make_buffer("nodes", nodes), make_buffer("spheres", spheres), make_buffer("rays", rays),
               filled_buffer("hit_id", n, -2), filled_buffer("hit_distance", n, -1.0f)};
  c.launches = {{.kernel = "bvh_trace",
                 .global = {round_up(n, 64), 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), buffer_arg(3), buffer_arg(4), scalar_arg(n)}}};
  // Every sphere for every ray, in double precision. What rounding decides may go either way: which of two spheres is
  // the nearer one, whether a ray grazes one, starts on it or ends at it.
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    constexpr double kGrazing = 1e-4, kBound = 1e-3;
    for (uint32_t i = 0; i < n; ++i) {
      const Ray& ray = rays[i];
      const int32_t id = buffers[3].as<int32_t>()[i];
      const double distance = static_cast<double>(buffers[4].as<float>()[i]), limit = static_cast<double>(ray.limit);
      if (id < -1 || id >= static_cast<int32_t>(sphere_count))
        return fail(why, fmt::format("hit_id[{}] = {}: no such sphere", i, id));
      double nearest = limit;  // of the hits beyond doubt
      bool possible = id == -1 && distance == limit;
      for (uint32_t s = 0; s < sphere_count; ++s) {
        double along = 0, square = 0;
        for (size_t axis = 0; axis < 3; ++axis)
          along += (static_cast<double>(spheres[s][axis]) - static_cast<double>(ray.origin[axis])) *
                   static_cast<double>(ray.direction[axis]);
        for (size_t axis = 0; axis < 3; ++axis) {
          const double off = static_cast<double>(spheres[s][axis]) - static_cast<double>(ray.origin[axis]) -
                             along * static_cast<double>(ray.direction[axis]);
          square += off * off;
        }
        const double radius = static_cast<double>(spheres[s][3]), disc = radius * radius - square;
        if (disc < -kGrazing) continue;
        const double half_chord = std::sqrt(std::max(disc, 0.0));
        const double enter = along - half_chord, leave = along + half_chord;
        if (disc > kGrazing && enter > kBound) nearest = std::min(nearest, enter);
        if (disc > kGrazing && enter < -kBound && leave > kBound) nearest = std::min(nearest, leave);
        if (static_cast<int32_t>(s) != id) continue;
        const double bound = disc > kGrazing ? kBound : 2 * std::sqrt(kGrazing) + kBound;
        possible = std::abs(distance - enter) <= bound || (enter <= kBound && std::abs(distance - leave) <= bound);
      }
      if (!possible || distance < 0 || distance > limit || distance > nearest + kBound)
        return fail(why, fmt::format("ray {} hits sphere {} at {:.9g}; the nearest hit is at {:.9g}", i, id, distance,
                                     nearest));
    }
    return true;
  };
  c.unit = "Mrays";
  c.work = 1e-6 * n;
  return c;
}

KernelCase make_lds_tile(Size size) {
  constexpr int kGroupX = 32, kGroupY = 6;
  const int width = size == Size::kTest ? 45 : 1000, height = size == Size::kTest ? 9 : 500;
  const int sweeps = size == Size::kTest ? 2 : 8;
  const auto groups_x = (width + kGroupX - 1) / kGroupX, groups_y = (height + kGroupY - 1) / kGroupY;
  const size_t cells = static_cast<size_t>(width) * static_cast<size_t>(height);
  KernelCase c{.name = "lds_tile", .object = "lds_tile"};
  c.buffers = {make_buffer("in", random_floats(cells, 0, 1, 65)), filled_buffer("out", cells, -1.0f)};
  c.launches = {{.kernel = "lds_tile",
                 .global = {static_cast<uint32_t>(groups_x * kGroupX), static_cast<uint32_t>(groups_y * kGroupY), 1},
                 .local = {kGroupX, kGroupY, 1},
                 .args = {buffer_arg(0), buffer_arg(1), scalar_arg(width), scalar_arg(height), scalar_arg(sweeps)}}};
  // Tile by tile, in double precision; a sweep halves the error of the one before and adds its own rounding.
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    auto in = buffers[0].as<float>();
    std::vector<double> want(cells);
    for (int top = 0; top < height; top += kGroupY) {
      for (int left = 0; left < width; left += kGroupX) {
        const int bottom = std::min(top + kGroupY, height), right = std::min(left + kGroupX, width);
        double now[kGroupY + 2][kGroupX + 2];
        for (int y = 0; y < kGroupY + 2; ++y) {
          for (int x = 0; x < kGroupX + 2; ++x) {
            const int from_y = std::clamp(top + y - 1, 0, height - 1), from_x = std::clamp(left + x - 1, 0, width - 1);
            now[y][x] = static_cast<double>(in[static_cast<size_t>(from_y * width + from_x)]);
          }
        }
        for (int s = 0; s < sweeps; ++s) {
          double next[kGroupY + 2][kGroupX + 2];
          for (int y = 1; y <= bottom - top; ++y)
            for (int x = 1; x <= right - left; ++x)
              next[y][x] = 0.5 * now[y][x] + 0.125 * (now[y][x - 1] + now[y][x + 1] + now[y - 1][x] + now[y + 1][x]);
          for (int y = 1; y <= bottom - top; ++y)
            for (int x = 1; x <= right - left; ++x) now[y][x] = next[y][x];
        }
        for (int y = top; y < bottom; ++y)
          for (int x = left; x < right; ++x) want[static_cast<size_t>(y * width + x)] = now[y - top + 1][x - left + 1];
      }
    }
    return close<float>(buffers[1], want, [sweeps](size_t) { return 2e-7 * sweeps; }, why);
  };
  c.unit = "Mcells";
  c.work = 1e-6 * static_cast<double>(cells) * sweeps;
  return c;
}

}  // namespace wavejit::kernels
