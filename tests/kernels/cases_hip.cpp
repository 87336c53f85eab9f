// HIP device code.
#include <algorithm>
#include <bit>

#include "case_util.h"
#include "cases.h"

namespace wavejit::kernels {
namespace {

constexpr const char* kInHip = "written in HIP";

}  // namespace

KernelCase make_hip_wave_ops(Size size) {
  const uint32_t n = size == Size::kTest ? 256 : 65536;
  const int32_t count = static_cast<int32_t>(n) - 10;  // the last lanes of the last wave have no input
  KernelCase c{.name = "hip_wave_ops", .object = "hip_wave_ops", .language = Language::kHip};
  c.opencl_exclusion = kInHip;
  std::vector<int32_t> in(n);
  Random random(80);
  for (int32_t& v : in) v = static_cast<int32_t>(random.below(1000)) - 20;
  c.buffers = {make_buffer("in", in), filled_buffer("out", size_t{n} * 8, 0),
               filled_buffer("ballots", n / 64, uint64_t{0})};
  c.launches = {{.kernel = "hip_wave_ops",
                 .global = {n, 1, 1},
                 .local = {128, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), scalar_arg(count)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    std::vector<int32_t> want(size_t{n} * 8);
    std::vector<uint64_t> ballots(n / 64);
    for (uint32_t wave = 0; wave < n / 64; ++wave) {
      int32_t v[64], sum = 0, scan = 0;
      int thirds = 0, votes = 2;
      for (uint32_t l = 0; l < 64; ++l) {
        uint32_t i = wave * 64 + l;
        v[l] = static_cast<int32_t>(i) < count ? in[i] : 0;
        sum += v[l];
        ballots[wave] |= uint64_t{(v[l] & 1) != 0} << l;
        thirds += v[l] % 3 == 0;
        if (v[l] > 900) votes |= 1;
        if (v[l] < 0) votes &= ~2;
      }
      for (uint32_t l = 0; l < 64; ++l) {
        scan += v[l];
        int32_t* r = &want[(size_t{wave} * 64 + l) * 8];
        r[0] = sum;
        r[1] = scan;
        r[2] = v[(l * 5 + 3) & 63];
        r[3] = v[l + 7 < 64 ? l + 7 : l];
        r[4] = v[(l & 48) + 2];
        r[5] = std::popcount(ballots[wave] & ((uint64_t{1} << l) - 1));
        r[6] = v[l] % 3 == 0 ? thirds : 0;
        r[7] = votes;
      }
    }
    return equal(buffers[1], want, why) && equal(buffers[2], ballots, why);
  };
  c.unit = "Mitems";
  c.work = 1e-6 * n;
  return c;
}

KernelCase make_hip_dynamic_shared(Size size) {
  const uint32_t rows = size == Size::kTest ? 3 : 256;
  const int32_t columns = size == Size::kTest ? 77 : 777;
  KernelCase c{.name = "hip_dynamic_shared", .object = "hip_dynamic_shared", .language = Language::kHip};
  c.opencl_exclusion = kInHip;
  const size_t n = rows * static_cast<size_t>(columns);
  c.buffers = {make_buffer("in", random_floats(n, -8, 8, 81)), filled_buffer("out", n, -1.0f)};
  c.launches = {{.kernel = "hip_dynamic_shared",
                 .global = {rows * 128, 1, 1},
                 .local = {128, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), scalar_arg(columns)},
                 .dynamic_lds = static_cast<uint32_t>(columns) * 4}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    std::vector<double> want;
    for (uint32_t r = 0; r < rows; ++r) {
      auto row = buffers[0].as<float>().subspan(r * static_cast<size_t>(columns), static_cast<size_t>(columns));
      double largest = static_cast<double>(*std::max_element(row.begin(), row.end())), total = 0;
      for (float v : row) total += std::exp(static_cast<double>(v) - largest);
      for (float v : row) want.push_back(std::exp(static_cast<double>(v) - largest) / total);
    }
    return close<float>(buffers[1], want, [&](size_t i) { return want[i] * 2e-6; }, why);
  };
  c.unit = "Mitems";
  c.work = 1e-6 * static_cast<double>(n);
  return c;
}

KernelCase make_hip_virtual(Size size) {
  const uint32_t n = size == Size::kTest ? 252 : 16384;
  KernelCase c{.name = "hip_virtual", .object = "hip_virtual", .language = Language::kHip};
  c.opencl_exclusion = kInHip;
  std::vector<int32_t> in = random_integers<int32_t>(n, 82, 0x3ff);
  c.buffers = {make_buffer("in", in), filled_buffer("areas", n, -1.0f), filled_buffer("kinds", n, -1),
               filled_buffer("sums", n, -1)};
  c.launches = {
      {.kernel = "hip_virtual",
       .global = {round_up(n, 64), 1, 1},
       .local = {64, 1, 1},
       .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), buffer_arg(3), scalar_arg(static_cast<int32_t>(n))}}};
  c.check = [n, in](std::span<const Buffer> buffers, std::string* why) {
    std::vector<float> areas(n);
    std::vector<int32_t> kinds(n), sums(n);
    for (uint32_t i = 0; i < n; ++i) {
      int32_t v = in[i];
      if (v % 3 == 0) {
        areas[i] = static_cast<float>(v) * 0.5f * (static_cast<float>(v) * 0.5f);
        kinds[i] = 1;
      } else if (v % 3 == 1) {
        areas[i] = 0.5f * static_cast<float>(v) * static_cast<float>(v & 7);
        kinds[i] = 0;
      } else {
        int steps = v & 15;
        areas[i] = static_cast<float>(steps * (steps + 1) / 2) * 0.25f;
        kinds[i] = steps > 4 ? 3 : 2;
      }
      if ((v & 1) != 0) {
        sums[i] = 6 * v + static_cast<int32_t>(i);
        continue;
      }
      // Shared or global memory: the four neighbours, which hold the same values; beyond n only shared memory has
      // zeros.
      for (uint32_t k = i & ~3u; k < (i & ~3u) + 4; ++k) sums[i] += k < n ? in[k] : 0;
    }
    return equal(buffers[1], areas, why) && equal(buffers[2], kinds, why) && equal(buffers[3], sums, why);
  };
  c.unit = "Mitems";
  c.work = 1e-6 * n;
  return c;
}

KernelCase make_hip_globals(Size size) {
  const uint32_t n = size == Size::kTest ? 200 : 65536;
  KernelCase c{.name = "hip_globals", .object = "hip_globals", .language = Language::kHip};
  c.opencl_exclusion = kInHip;
  c.buffers = {make_buffer("in", random_floats(n, -4, 4, 83)), filled_buffer("out", n, -99.0f),
               make_buffer("count", std::vector<uint32_t>{77, 0, 0})};
  c.launches = {{.kernel = "hip_globals",
                 .global = {round_up(n, 64), 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), scalar_arg(static_cast<int32_t>(n))}},
                {.kernel = "hip_globals_read", .args = {buffer_arg(2)}}};
  c.check = [n](std::span<const Buffer> buffers, std::string* why) {
    const double table[8] = {3, 1, 4, 1, 5, 9, 2, 6}, weights[4] = {0.5, 0.25, -1.0, 2.0};
    std::vector<double> want(n);
    for (uint32_t i = 0; i < n; ++i)
      want[i] = static_cast<double>(buffers[0].as<float>()[i]) * weights[i & 3] + table[i & 7] + table[7 - i % 5];
    if (!close<float>(buffers[1], want, [](size_t) { return 2e-6; }, why)) return false;
    auto counts = buffers[2].as<uint32_t>();
    // The device counter lives as long as the loaded code object, so a second run counts on.
    if (counts[0] == 0 || counts[0] % n != 0)
      return fail(why, fmt::format("counter = {}, not a multiple of {}", counts[0], n));
    if (counts[1] != n - 1) return fail(why, fmt::format("maximum = {}, expected {}", counts[1], n - 1));
    float sum = buffers[2].as<float>()[2];
    if (sum != 0.5f * static_cast<float>(n)) return fail(why, fmt::format("float sum = {}, expected {}", sum, 0.5 * n));
    return true;
  };
  c.unit = "Mitems";
  c.work = 1e-6 * n;
  return c;
}

}  // namespace wavejit::kernels
