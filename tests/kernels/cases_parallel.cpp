// Work-items that cooperate: local memory, barriers, atomics, spinning.
#include <algorithm>
#include <numeric>

#include "case_util.h"
#include "cases.h"

namespace wavejit::kernels {

KernelCase make_histogram(Size size) {
  const uint32_t n = size == Size::kTest ? 3000 : 1u << 20;
  KernelCase c{.name = "histogram", .object = "histogram"};
  std::vector<uint32_t> words = random_integers<uint32_t>(n, 40);
  for (size_t i = 0; i < words.size(); i += 3) words[i] &= 0x0f0f0f0f;  // uneven, so that lanes collide
  c.buffers = {make_buffer("words", words), filled_buffer("bins", 256, 0u)};
  c.launches = {{.kernel = "histogram",
                 .global = {size == Size::kTest ? 512u : 16384u, 1, 1},
                 .local = {256, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), scalar_arg(n)}}};
  c.check = [](std::span<const Buffer> buffers, std::string* why) {
    std::vector<uint32_t> want(256);
    for (uint8_t byte : buffers[0].bytes) ++want[byte];
    return equal(buffers[1], want, why);
  };
  c.unit = "GB";
  c.work = 4e-9 * n;
  return c;
}

KernelCase make_reduction(Size size) {
  const uint32_t n = size == Size::kTest ? 3001 : (1u << 21) + 77;
  const uint32_t groups = size == Size::kTest ? 3 : 128;
  // Small multiples of 1/8, so that every order of summation gives the same exact result.
  Random random(41);
  std::vector<float> values(n), others = random_floats(n, -1000, 1000, 42);
  for (float& v : values) v = static_cast<float>(static_cast<int>(random.below(17)) - 8) / 8.0f;
  KernelCase c{.name = "reduction", .object = "reduction"};
  c.buffers = {make_buffer("in_sum", values),
               make_buffer("in_max", others),
               filled_buffer("partial_sum", groups, 0.0f),
               filled_buffer("partial_max", groups, 0.0f),
               filled_buffer("sum", 1, 0.0f),
               filled_buffer("max", 1, 0.0f)};
  c.launches = {{.kernel = "reduction",
                 .global = {groups * 256, 1, 1},
                 .local = {256, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), buffer_arg(3), scalar_arg(n)}},
                {.kernel = "reduction",
                 .global = {256, 1, 1},
                 .local = {256, 1, 1},
                 .args = {buffer_arg(2), buffer_arg(3), buffer_arg(4), buffer_arg(5), scalar_arg(groups)}}};
  c.check = [](std::span<const Buffer> buffers, std::string* why) {
    float sum = 0, largest = -std::numeric_limits<float>::infinity();
    for (float v : buffers[0].as<float>()) sum += v;
    for (float v : buffers[1].as<float>()) largest = std::max(largest, v);
    return equal(buffers[4], std::vector<float>{sum}, why) && equal(buffers[5], std::vector<float>{largest}, why);
  };
  c.unit = "GB";
  c.work = 8e-9 * n;
  return c;
}

KernelCase make_scan(Size size) {
  const uint32_t n = size == Size::kTest ? 1700 : 512 * 512;
  const uint32_t blocks = (n + 511) / 512;
  KernelCase c{.name = "scan", .object = "scan"};
  c.buffers = {make_buffer("in", random_integers<uint32_t>(n, 43)), filled_buffer("out", n, 7u),
               filled_buffer("totals", blocks, 7u), filled_buffer("offsets", blocks, 7u),
               filled_buffer("total", 1, 7u)};
  c.launches = {{.kernel = "scan_blocks",
                 .global = {blocks * 256, 1, 1},
                 .local = {256, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), scalar_arg(n)}},
                {.kernel = "scan_blocks",
                 .global = {256, 1, 1},
                 .local = {256, 1, 1},
                 .args = {buffer_arg(2), buffer_arg(3), buffer_arg(4), scalar_arg(blocks)}},
                {.kernel = "scan_add",
                 .global = {round_up(n, 256), 1, 1},
                 .local = {256, 1, 1},
                 .args = {buffer_arg(1), buffer_arg(3), scalar_arg(n)}}};
  c.check = [n](std::span<const Buffer> buffers, std::string* why) {
    auto in = buffers[0].as<uint32_t>();
    std::vector<uint32_t> want(n);
    std::exclusive_scan(in.begin(), in.end(), want.begin(), 0u);
    return equal(buffers[1], want, why) && equal(buffers[4], std::vector<uint32_t>{want[n - 1] + in[n - 1]}, why);
  };
  c.unit = "Mkeys";
  c.work = 1e-6 * n;
  return c;
}

KernelCase make_lookback_scan(Size size) {
  const uint32_t blocks = size == Size::kTest ? 9 : 4096, n = blocks * 128;
  KernelCase c{.name = "lookback_scan", .object = "lookback_scan"};
  c.buffers = {make_buffer("in", random_integers<uint32_t>(n, 44, 0xff)), filled_buffer("out", n, 7u),
               filled_buffer("state", blocks, 0u), filled_buffer("ticket", 1, 0u)};
  c.launches = {{.kernel = "lookback_scan",
                 .global = {n, 1, 1},
                 .local = {128, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), buffer_arg(3)}}};
  c.check = [n, blocks](std::span<const Buffer> buffers, std::string* why) {
    auto in = buffers[0].as<uint32_t>();
    std::vector<uint32_t> want(n);
    std::inclusive_scan(in.begin(), in.end(), want.begin());
    return equal(buffers[1], want, why) && equal(buffers[3], std::vector<uint32_t>{blocks}, why);
  };
  c.unit = "Mkeys";
  c.work = 1e-6 * n;
  return c;
}

KernelCase make_bitonic_sort(Size size) {
  const uint32_t blocks = size == Size::kTest ? 2 : 512, n = blocks * 512;
  KernelCase c{.name = "bitonic_sort", .object = "bitonic_sort"};
  std::vector<uint32_t> keys = random_integers<uint32_t>(n, 45), values(n);
  std::iota(values.begin(), values.end(), 0u);
  c.buffers = {make_buffer("keys", keys), make_buffer("values", values)};
  c.launches = {{.kernel = "bitonic_sort",
                 .global = {n / 2, 1, 1},
                 .local = {256, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1)}}};
  c.check = [blocks, keys, n](std::span<const Buffer> buffers, std::string* why) {
    std::vector<uint32_t> want = keys;
    for (uint32_t b = 0; b < blocks; ++b) std::sort(want.begin() + b * 512, want.begin() + (b + 1) * 512);
    if (!equal(buffers[0], want, why)) return false;
    // The values are where their keys went: a permutation within the block, since equal keys may be in any order.
    auto values = buffers[1].as<uint32_t>();
    std::vector<bool> seen(n);
    for (uint32_t i = 0; i < n; ++i) {
      uint32_t v = values[i];
      if (v >= n || v / 512 != i / 512 || seen[v] || keys[v] != want[i])
        return fail(why, fmt::format("values[{}] = {} does not belong to key {:#x}", i, v, want[i]));
      seen[v] = true;
    }
    return true;
  };
  c.unit = "Mkeys";
  c.work = 1e-6 * n;
  return c;
}

KernelCase make_bfs(Size size) {
  const uint32_t nodes = size == Size::kTest ? 400 : 60000, degree = size == Size::kTest ? 3 : 8;
  Random random(46);
  std::vector<uint32_t> start(nodes + 1), neighbours;
  for (uint32_t node = 0; node < nodes; ++node) {
    start[node] = static_cast<uint32_t>(neighbours.size());
    uint32_t edges = random.below(2 * degree);
    for (uint32_t e = 0; e < edges; ++e) neighbours.push_back(random.below(nodes));
  }
  start[nodes] = static_cast<uint32_t>(neighbours.size());

  // The reference: a sequential queue.
  std::vector<int32_t> distance(nodes, -1);
  std::vector<uint32_t> queue = {0}, level_sizes;
  distance[0] = 0;
  for (size_t head = 0; head < queue.size(); ++head) {
    uint32_t node = queue[head];
    level_sizes.resize(static_cast<size_t>(distance[node]) + 1);
    ++level_sizes[static_cast<size_t>(distance[node])];
    for (uint32_t e = start[node]; e < start[node + 1]; ++e) {
      if (distance[neighbours[e]] != -1) continue;
      distance[neighbours[e]] = distance[node] + 1;
      queue.push_back(neighbours[e]);
    }
  }
  const uint32_t levels = static_cast<uint32_t>(level_sizes.size());

  std::vector<int32_t> initial(nodes, -1);
  initial[0] = 0;
  std::vector<uint32_t> sizes(levels + 1, 0);
  sizes[0] = 1;
  KernelCase c{.name = "bfs", .object = "bfs"};
  c.buffers = {make_buffer("row_start", start),    make_buffer("neighbours", neighbours),
               make_buffer("distance", initial),   filled_buffer("queue0", nodes, 0u),
               filled_buffer("queue1", nodes, 0u), make_buffer("queue_sizes", sizes)};
  for (uint32_t level = 0; level < levels; ++level) {
    c.launches.push_back({.kernel = "bfs_level",
                          .global = {round_up(level_sizes[level], 64), 1, 1},
                          .local = {64, 1, 1},
                          .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), buffer_arg(3 + level % 2),
                                   buffer_arg(4 - level % 2), buffer_arg(5), scalar_arg(level)}});
  }
  std::vector<uint32_t> final_sizes = level_sizes;
  final_sizes.push_back(0);
  c.check = [distance, final_sizes](std::span<const Buffer> buffers, std::string* why) {
    return equal(buffers[2], distance, why) && equal(buffers[5], final_sizes, why);
  };
  c.unit = "Medges";
  c.work = 1e-6 * static_cast<double>(neighbours.size());
  return c;
}

KernelCase make_atomics64(Size size) {
  const uint32_t n = size == Size::kTest ? 512 : 65536;
  std::vector<uint64_t> in = random_integers<uint64_t>(n, 47);
  std::vector<uint64_t> cells = {5, 1, ~uint64_t{0}, 0, ~uint64_t{0}, 0, 0x1111, 100, 0, 0, 0};
  KernelCase c{.name = "atomics64", .object = "atomics64"};
  c.buffers = {make_buffer("in", in), make_buffer("cells", cells), filled_buffer("tickets", n, uint64_t{0})};
  c.launches = {{.kernel = "atomics64",
                 .global = {n, 1, 1},
                 .local = {128, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2)}}};
  c.check = [n, in, cells](std::span<const Buffer> buffers, std::string* why) {
    std::vector<uint64_t> want = cells;
    for (uint32_t i = 0; i < n; ++i) {
      uint64_t v = in[i];
      want[0] += v;
      want[1] -= v;
      want[2] = std::min(want[2], v);
      want[3] = std::max(want[3], v);
      want[4] &= v | 0xff000000ff00u;
      want[5] |= v & 0x1000000010000001u;
      want[6] ^= v;
      want[7] += 1;
      if ((i & 7) == 3) want[8] += v >> 32;
      want[9] = static_cast<uint64_t>(std::min(static_cast<int64_t>(want[9]), static_cast<int64_t>(v)));
      want[10] = static_cast<uint64_t>(std::max(static_cast<int64_t>(want[10]), static_cast<int64_t>(v)));
    }
    if (!equal(buffers[1], want, why)) return false;
    auto got = buffers[2].as<uint64_t>();
    std::vector<uint64_t> tickets(got.begin(), got.end());
    std::sort(tickets.begin(), tickets.end());
    for (uint32_t i = 0; i < n; ++i)
      if (tickets[i] != 100 + i) return fail(why, fmt::format("ticket {} was not given out exactly once", 100 + i));
    return true;
  };
  c.unit = "Matomics";
  c.work = 1e-6 * 11.125 * n;
  return c;
}

}  // namespace wavejit::kernels
