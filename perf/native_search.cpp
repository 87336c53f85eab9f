// Compiled as native.cpp is.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "native_divergent.h"

namespace wavejit::perf {
namespace {

using kernels::KernelCase;

uint32_t count_queens(uint32_t all, uint32_t columns, uint32_t left, uint32_t right) {
  if (columns == all) return 1;
  uint32_t count = 0;
  for (uint32_t open = all & ~(columns | left | right); open != 0; open &= open - 1) {
    const uint32_t queen = open & (0 - open);
    count += count_queens(all, columns | queen, (left | queen) << 1, (right | queen) >> 1);
  }
  return count;
}

struct BvhBox {
  std::array<float, 3> low;
  uint32_t first;
  std::array<float, 3> high;
  uint32_t count;
};

struct BvhRay {
  std::array<float, 3> origin;
  float limit;
  std::array<float, 3> direction;
  float unused;
};

constexpr float kBvhFarAway = 1.0e30f;

// Where the ray enters the box; kBvhFarAway if it does not, or not before `limit`.
float enter_box(const BvhBox& box, const std::array<float, 3>& origin, const std::array<float, 3>& inverse,
                float limit) {
  float enter = 0, leave = limit;
  for (size_t axis = 0; axis < 3; ++axis) {
    const float a = (box.low[axis] - origin[axis]) * inverse[axis];
    const float b = (box.high[axis] - origin[axis]) * inverse[axis];
    enter = std::max(enter, std::min(a, b));
    leave = std::min(leave, std::max(a, b));
  }
  return enter <= leave ? enter : kBvhFarAway;
}

}  // namespace

void nqueens(const KernelCase& c, Buffers& buffers) {
  uint32_t* counts = buffers[0].as<uint32_t>().data();
  const uint32_t queens = scalar<uint32_t>(c, 1), prefix_rows = scalar<uint32_t>(c, 2), items = scalar<uint32_t>(c, 3);
  for (uint32_t i = 0; i < items; ++i) {
    uint32_t columns = 0, left = 0, right = 0, prefix = i;
    bool attacked = false;
    for (uint32_t row = 0; row < prefix_rows && !attacked; ++row, prefix /= queens) {
      const uint32_t queen = 1u << (prefix % queens);
      attacked = (queen & (columns | left | right)) != 0;
      columns |= queen;
      left = (left | queen) << 1;
      right = (right | queen) >> 1;
    }
    counts[i] = attacked ? 0 : count_queens((1u << queens) - 1, columns, left, right);
  }
}

void tree_lookup(const KernelCase& c, Buffers& buffers) {
  struct Node {
    int32_t key, left, right, value;
  };
  const Node* nodes = buffers[0].as<Node>().data();
  const int32_t* keys = buffers[1].as<int32_t>().data();
  int32_t* values = buffers[2].as<int32_t>().data();
  uint32_t* steps = buffers[3].as<uint32_t>().data();
  const int32_t root = scalar<int32_t>(c, 4);
  const uint32_t n = scalar<uint32_t>(c, 5);
  for (uint32_t i = 0; i < n; ++i) {
    const int32_t key = keys[i];
    uint32_t visited = 0;
    int32_t value = -1;
    for (int32_t at = root; at >= 0;) {
      const Node& node = nodes[at];
      ++visited;
      if (key == node.key) {
        value = node.value;
        break;
      }
      at = key < node.key ? node.left : node.right;
    }
    values[i] = value;
    steps[i] = visited;
  }
}

void hash_lookup(const KernelCase& c, Buffers& buffers) {
  struct Entry {
    uint32_t key, value;
    int32_t next;
  };
  const int32_t* buckets = buffers[0].as<int32_t>().data();
  const Entry* entries = buffers[1].as<Entry>().data();
  const uint32_t* keys = buffers[2].as<uint32_t>().data();
  uint32_t* values = buffers[3].as<uint32_t>().data();
  const uint32_t bits = scalar<uint32_t>(c, 4), missing = scalar<uint32_t>(c, 5), n = scalar<uint32_t>(c, 6);
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t key = keys[i];
    int32_t e = buckets[(key * 2654435761u) >> (32 - bits)];
    while (e >= 0 && entries[e].key != key) e = entries[e].next;
    values[i] = e >= 0 ? entries[e].value : missing;
  }
}

void string_match(const KernelCase& c, Buffers& buffers) {
  constexpr uint32_t kStride = 16;
  const uint8_t* text = buffers[0].bytes.data();
  const uint32_t* line_start = buffers[1].as<uint32_t>().data();
  const uint32_t* lengths = buffers[4].as<uint32_t>().data();
  int32_t* first = buffers[5].as<int32_t>().data();
  uint32_t* matches = buffers[6].as<uint32_t>().data();
  const uint32_t pattern_count = scalar<uint32_t>(c, 7), lines = scalar<uint32_t>(c, 8);
  for (uint32_t i = 0; i < lines; ++i) {
    const uint32_t begin = line_start[i], end = line_start[i + 1];
    int32_t where = -1;
    uint32_t found = 0;
    for (uint32_t p = 0; p < pattern_count; ++p) {
      const uint8_t* pattern = &buffers[2].bytes[p * kStride];
      const uint8_t* failure = &buffers[3].bytes[p * kStride];
      const uint32_t length = lengths[p];
      uint32_t state = 0;
      for (uint32_t position = begin; position < end; ++position) {
        const uint8_t letter = text[position];
        while (state > 0 && pattern[state] != letter) state = failure[state - 1];
        if (pattern[state] == letter) ++state;
        if (state != length) continue;
        const auto start = static_cast<int32_t>(position + 1 - length - begin);
        if (where < 0 || start < where) where = start;
        ++found;
        state = failure[state - 1];
      }
    }
    first[i] = where;
    matches[i] = found;
  }
}

void union_find(const KernelCase& c, Buffers& buffers) {
  const uint32_t* edges = buffers[0].as<uint32_t>().data();
  uint32_t* parent = buffers[1].as<uint32_t>().data();
  uint32_t* label = buffers[2].as<uint32_t>().data();
  const uint32_t edge_count = scalar<uint32_t>(c, 2);
  const size_t nodes = buffers[1].as<uint32_t>().size();
  auto find_root = [parent](uint32_t node) {
    while (parent[node] != node) node = parent[node] = parent[parent[node]];
    return node;
  };
  for (uint32_t e = 0; e < edge_count; ++e) {
    const uint32_t a = find_root(edges[2 * e]), b = find_root(edges[2 * e + 1]);
    parent[std::max(a, b)] = std::min(a, b);
  }
  for (size_t i = 0; i < nodes; ++i) label[i] = find_root(static_cast<uint32_t>(i));
}

void bvh_trace(const KernelCase& c, Buffers& buffers) {
  using Sphere = std::array<float, 4>;
  const BvhBox* nodes = buffers[0].as<BvhBox>().data();
  const Sphere* spheres = buffers[1].as<Sphere>().data();
  const BvhRay* rays = buffers[2].as<BvhRay>().data();
  int32_t* hit_id = buffers[3].as<int32_t>().data();
  float* hit_distance = buffers[4].as<float>().data();
  const uint32_t n = scalar<uint32_t>(c, 5);
  for (uint32_t i = 0; i < n; ++i) {
    const auto& origin = rays[i].origin;
    const auto& direction = rays[i].direction;
    const std::array<float, 3> inverse = {1 / direction[0], 1 / direction[1], 1 / direction[2]};
    float best = rays[i].limit;
    int32_t hit = -1;
    uint32_t stack[32], depth = 0, index = 0;
    while (true) {
      const BvhBox& node = nodes[index];
      if (node.count == 0) {
        uint32_t near_child = node.first, far_child = node.first + 1;
        float near_enter = enter_box(nodes[near_child], origin, inverse, best);
        float far_enter = enter_box(nodes[far_child], origin, inverse, best);
        if (far_enter < near_enter) {
          std::swap(near_enter, far_enter);
          std::swap(near_child, far_child);
        }
        if (near_enter < kBvhFarAway) {
          if (far_enter < kBvhFarAway) stack[depth++] = far_child;
          index = near_child;
          continue;
        }
      } else {
        for (uint32_t s = node.first; s < node.first + node.count; ++s) {
          const float x = spheres[s][0] - origin[0], y = spheres[s][1] - origin[1], z = spheres[s][2] - origin[2];
          const float along = x * direction[0] + y * direction[1] + z * direction[2];
          const float px = x - along * direction[0], py = y - along * direction[1], pz = z - along * direction[2];
          const float disc = spheres[s][3] * spheres[s][3] - (px * px + py * py + pz * pz);
          if (disc <= 0) continue;
          const float half_chord = std::sqrt(disc);
          float t = along - half_chord;
          if (t < 0) t = along + half_chord;
          if (t >= 0 && t < best) {
            best = t;
            hit = static_cast<int32_t>(s);
          }
        }
      }
      if (depth == 0) break;
      index = stack[--depth];
    }
    hit_id[i] = hit;
    hit_distance[i] = best;
  }
}

void lds_tile(const KernelCase& c, Buffers& buffers) {
  constexpr int kGroupX = 32, kGroupY = 6;
  const float* in = buffers[0].as<float>().data();
  float* out = buffers[1].as<float>().data();
  const int width = scalar<int>(c, 2), height = scalar<int>(c, 3), sweeps = scalar<int>(c, 4);
  for (int top = 0; top < height; top += kGroupY) {
    for (int left = 0; left < width; left += kGroupX) {
      const int rows = std::min(kGroupY, height - top), columns = std::min(kGroupX, width - left);
      float tile[2][kGroupY + 2][kGroupX + 2];
      for (int y = 0; y < rows + 2; ++y) {
        const float* line = in + static_cast<ptrdiff_t>(std::clamp(top + y - 1, 0, height - 1)) * width;
        tile[0][y][0] = line[std::max(left - 1, 0)];
        for (int x = 0; x < columns; ++x) tile[0][y][x + 1] = line[left + x];
        tile[0][y][columns + 1] = line[std::min(left + columns, width - 1)];
      }
      std::memcpy(tile[1], tile[0], sizeof tile[0]);
      for (int s = 0; s < sweeps; ++s) {
        const auto& now = tile[s % 2];
        auto& next = tile[1 - s % 2];
        for (int y = 1; y <= rows; ++y)
          for (int x = 1; x <= columns; ++x)
            next[y][x] = 0.5f * now[y][x] + 0.125f * (now[y][x - 1] + now[y][x + 1] + now[y - 1][x] + now[y + 1][x]);
      }
      for (int y = 0; y < rows; ++y)
        std::copy_n(&tile[sweeps % 2][y + 1][1], columns, out + static_cast<ptrdiff_t>(top + y) * width + left);
    }
  }
}

}  // namespace wavejit::perf
