// Features of the language and of dispatch: calls, stacks, traps, local arguments, work-item functions.
#include <algorithm>
#include <bit>

#include "case_util.h"
#include "cases.h"

namespace wavejit::kernels {
namespace {

uint32_t binomial(uint32_t n, uint32_t k) {
  return k == 0 || k >= n ? 1 : binomial(n - 1, k - 1) + binomial(n - 1, k);
}

uint32_t ackermann(uint32_t m, uint32_t n) {
  if (m == 0) return n + 1;
  return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

uint32_t odd_depth(uint32_t n, uint32_t salt);
uint32_t even_depth(uint32_t n, uint32_t salt) {
  const uint32_t frame[4] = {n, salt, n ^ salt, n + salt};
  return n == 0 ? salt : odd_depth(n - 1, frame[salt & 3] * 3 + 1) + frame[n & 3];
}
uint32_t odd_depth(uint32_t n, uint32_t salt) {
  return n == 0 ? salt ^ 0x55u : even_depth(n - 1, salt + n) ^ (salt << 1);
}

KernelCase make_assert_trap(Size size, bool fires) {
  const uint32_t n = size == Size::kTest ? 256 : 65536;
  std::vector<int32_t> in = random_integers<int32_t>(n, 70, 0xff);
  if (fires) in[n / 2 + 37] = 1000;
  KernelCase c{.name = fires ? "assert_trap_fires" : "assert_trap_passes", .object = "assert_trap"};
  c.opencl_exclusion = "a trap ends the process";
  c.buffers = {make_buffer("in", in), filled_buffer("out", n, -1)};
  c.launches = {{.kernel = "assert_trap",
                 .global = {n, 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), scalar_arg(int32_t{255})}}};
  c.expect_trap = fires;
  c.check = [in, fires, n](std::span<const Buffer> buffers, std::string* why) {
    auto got = buffers[1].as<int32_t>();
    for (uint32_t i = 0; i < n; ++i) {
      // Other work-items of a launch that trapped may or may not have got to their store.
      bool right = got[i] == in[i] * 2 || (fires && got[i] == -1);
      if (fires && in[i] > 255) right = got[i] == -1;
      if (!right) return fail(why, fmt::format("out[{}] = {}", i, got[i]));
    }
    return true;
  };
  c.unit = "Mitems";
  c.work = 1e-6 * n;
  return c;
}

}  // namespace

KernelCase make_recursion(Size size) {
  const uint32_t n = size == Size::kTest ? 64 : 4096, depth = size == Size::kTest ? 6 : 12;
  KernelCase c{.name = "recursion", .object = "recursion"};
  c.opencl_exclusion = "recursion";
  c.buffers = {filled_buffer("out", size_t{n} * 3, 0u)};
  c.launches = {
      {.kernel = "recursion", .global = {n, 1, 1}, .local = {64, 1, 1}, .args = {buffer_arg(0), scalar_arg(depth)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    std::vector<uint32_t> want;
    for (uint32_t i = 0; i < n; ++i) {
      want.push_back(binomial(i % (depth + 1), (i / 3) % 5));
      want.push_back(ackermann(i % 3, (i >> 2) % 4));
      want.push_back(even_depth(i % (depth + 3), i * 2654435761u));
    }
    return equal(buffers[0], want, why);
  };
  c.unit = "Mitems";
  c.work = 1e-6 * n;
  return c;
}

KernelCase make_function_pointers(Size size) {
  const uint32_t n = size == Size::kTest ? 100 : 8192, steps = size == Size::kTest ? 6 : 16;
  KernelCase c{.name = "function_pointers", .object = "function_pointers"};
  c.opencl_exclusion = "function pointers";
  c.buffers = {make_buffer("program", random_integers<uint32_t>(n, 71)),
               make_buffer("in", random_integers<uint32_t>(n, 72)), filled_buffer("out", n, 0u)};
  c.launches = {{.kernel = "function_pointers",
                 .global = {round_up(n, 64), 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), scalar_arg(steps), scalar_arg(n)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    std::vector<uint32_t> want(n);
    for (uint32_t i = 0; i < n; ++i) {
      uint32_t a = buffers[1].as<uint32_t>()[i], word = buffers[0].as<uint32_t>()[i];
      for (uint32_t s = 0; s < steps; ++s, word = std::rotr(word, 2)) {
        uint32_t b = i + s;
        switch (word & 3) {
          case 0:
            a += b;
            break;
          case 1:
            a = (a ^ (b << 5)) * 0x9e3779b1u;
            break;
          case 2:
            a = static_cast<uint32_t>((uint64_t{a} * (b | 0x80000001u)) >> 32);
            break;
          default: {
            uint32_t r = 1;
            for (uint32_t k = 0; k < (b & 7); ++k) r = r * a + k;
            a = r;
          }
        }
      }
      want[i] = a;
    }
    return equal(buffers[2], want, why);
  };
  c.unit = "Mcalls";
  c.work = 1e-6 * n * steps;
  return c;
}

KernelCase make_private_array(Size size) {
  constexpr uint32_t kCount = 24;
  const uint32_t n = size == Size::kTest ? 64 : 16384;
  KernelCase c{.name = "private_array", .object = "private_array"};
  c.buffers = {make_buffer("in", random_integers<int32_t>(size_t{n} * kCount, 73)), filled_buffer("medians", n, 0),
               filled_buffer("checksums", n, 0)};
  c.launches = {{.kernel = "private_array",
                 .global = {n, 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2)}}};
  c.check = [n](std::span<const Buffer> buffers, std::string* why) {
    std::vector<int32_t> medians(n), checksums(n);
    for (uint32_t i = 0; i < n; ++i) {
      auto in = buffers[0].as<int32_t>().subspan(size_t{i} * kCount, kCount);
      std::vector<int32_t> sorted(in.begin(), in.end());
      std::sort(sorted.begin(), sorted.end());
      uint32_t counters[16] = {}, checksum = 0;
      for (int32_t v : in) ++counters[static_cast<uint32_t>(v) & 15];
      for (uint32_t k = 0; k < 16; ++k) checksum = checksum * 31 + counters[(k * 7 + i) & 15];
      for (uint32_t k = 0; k < kCount; ++k) checksum = checksum * 17 + static_cast<uint32_t>(sorted[(k + i) % kCount]);
      medians[i] = sorted[kCount / 2];
      checksums[i] = static_cast<int32_t>(checksum);
    }
    return equal(buffers[1], medians, why) && equal(buffers[2], checksums, why);
  };
  c.unit = "Mitems";
  c.work = 1e-6 * n;
  return c;
}

KernelCase make_assert_trap_passes(Size size) {
  return make_assert_trap(size, false);
}
KernelCase make_assert_trap_fires(Size size) {
  return make_assert_trap(size, true);
}

KernelCase make_dynamic_lds(Size size) {
  const uint32_t group = 160, groups = size == Size::kTest ? 3 : 1024, n = group * groups;
  KernelCase c{.name = "dynamic_lds", .object = "dynamic_lds"};
  c.buffers = {make_buffer("in", random_integers<int32_t>(n, 74)), filled_buffer("out", n, 0)};
  c.launches = {{.kernel = "dynamic_lds",
                 .global = {n, 1, 1},
                 .local = {group, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), local_arg(group * 4), local_arg(group / 16 * 8)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    std::vector<int32_t> want(n);
    for (uint32_t g = 0; g < groups; ++g) {
      auto block = buffers[0].as<uint32_t>().subspan(size_t{g} * group, group);
      for (uint32_t l = 0; l < group; ++l) {
        uint32_t from = group - 1 - l;
        uint64_t sum = 0;
        for (uint32_t i = 0; i < 16; ++i) sum += uint64_t{block[from / 16 * 16 + i]} << (i & 3);
        want[g * group + l] = static_cast<int32_t>(block[from] ^ static_cast<uint32_t>(sum >> 3));
      }
    }
    return equal(buffers[1], want, why);
  };
  c.unit = "Mitems";
  c.work = 1e-6 * n;
  return c;
}

KernelCase make_grid3d(Size size) {
  const std::array<uint32_t, 3> local = {8, 3, 5};
  const std::array<uint32_t, 3> groups =
      size == Size::kTest ? std::array<uint32_t, 3>{2, 3, 2} : std::array<uint32_t, 3>{12, 16, 10};
  const std::array<uint32_t, 3> global = {groups[0] * local[0], groups[1] * local[1], groups[2] * local[2]};
  const size_t n = size_t{global[0]} * global[1] * global[2];
  KernelCase c{.name = "grid3d", .object = "grid3d"};
  c.buffers = {filled_buffer("out", n * 16, 0xabcdu)};
  c.launches = {{.kernel = "grid3d", .global = global, .local = local, .args = {buffer_arg(0)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    auto pack = [](uint32_t x, uint32_t y, uint32_t z) { return x | (y << 10) | (z << 20); };
    std::vector<uint32_t> want(n * 16, 0xabcdu);
    uint32_t index = 0;
    for (uint32_t z = 0; z < global[2]; ++z) {
      for (uint32_t y = 0; y < global[1]; ++y) {
        for (uint32_t x = 0; x < global[0]; ++x, ++index) {
          uint32_t* r = &want[size_t{index} * 16];
          r[0] = pack(x, y, z);
          r[1] = pack(x % local[0], y % local[1], z % local[2]);
          r[2] = pack(x / local[0], y / local[1], z / local[2]);
          r[3] = pack(local[0], local[1], local[2]);
          r[4] = pack(groups[0], groups[1], groups[2]);
          r[5] = pack(global[0], global[1], global[2]);
          r[6] = 0;
          r[7] = 3;
          r[8] = index;
        }
      }
    }
    return equal(buffers[0], want, why);
  };
  c.unit = "Mitems";
  c.work = 1e-6 * static_cast<double>(n);
  return c;
}

KernelCase make_partial_groups(Size size) {
  const std::array<uint32_t, 3> local = {16, 4, 2};
  const std::array<uint32_t, 3> global =
      size == Size::kTest ? std::array<uint32_t, 3>{37, 11, 3} : std::array<uint32_t, 3>{333, 101, 7};
  const std::array<uint32_t, 3> groups = {(global[0] + 15) / 16, (global[1] + 3) / 4, (global[2] + 1) / 2};
  const size_t n = size_t{global[0]} * global[1] * global[2];
  KernelCase c{.name = "partial_groups", .object = "partial_groups"};
  c.opencl_exclusion = "work-groups of unequal size (OpenCL 2.0)";
  c.buffers = {filled_buffer("out", n * 2, 0u),
               filled_buffer("group_counts", size_t{groups[0]} * groups[1] * groups[2], 0u)};
  c.launches = {{.kernel = "partial_groups", .global = global, .local = local, .args = {buffer_arg(0), buffer_arg(1)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    auto extent = [&](uint32_t group, int dim) { return std::min(local[dim], global[dim] - group * local[dim]); };
    std::vector<uint32_t> want, counts;
    for (uint32_t z = 0; z < global[2]; ++z) {
      for (uint32_t y = 0; y < global[1]; ++y) {
        for (uint32_t x = 0; x < global[0]; ++x) {
          uint32_t sx = extent(x / local[0], 0), sy = extent(y / local[1], 1), sz = extent(z / local[2], 2);
          want.push_back(sx * sy * sz);
          want.push_back(sx | (sy << 8) | (sz << 16) | (local[0] << 24));
        }
      }
    }
    for (uint32_t gz = 0; gz < groups[2]; ++gz)
      for (uint32_t gy = 0; gy < groups[1]; ++gy)
        for (uint32_t gx = 0; gx < groups[0]; ++gx) counts.push_back(extent(gx, 0) * extent(gy, 1) * extent(gz, 2));
    return equal(buffers[0], want, why) && equal(buffers[1], counts, why);
  };
  c.unit = "Mitems";
  c.work = 1e-6 * static_cast<double>(n);
  return c;
}

}  // namespace wavejit::kernels
