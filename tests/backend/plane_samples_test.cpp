// PlaneSamples gives the same bits as image::Sample, which defines what a sample is. Payloads of NaNs may differ.
#include "backend-x86/helpers/plane_samples.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace wavejit::backend {
namespace {

using image::Image;
using Random = std::mt19937;

// Formats and numbers of which some are quick, some go the general way, and some cannot be sampled so.
struct Format {
  uint32_t data, number;
};
constexpr Format kFormats[] = {{4, 7}, {11, 7}, {14, 7}, {13, 7}, {1, 0}, {3, 0}, {10, 0}, {10, 9}, {10, 1},
                               {2, 0}, {5, 7},  {12, 7}, {12, 0}, {9, 0}, {6, 7}, {10, 4}, {4, 5},  {16, 0}};

struct Case {
  uint32_t image[8] = {}, sampler[4] = {};
  std::vector<uint8_t> memory;

  explicit Case(Random& random, bool gfx9) {
    const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
    const Format format = kFormats[below(std::size(kFormats))];
    const uint32_t width = 1 + below(40), height = 1 + below(40), pitch = width + below(3) * 8;
    memory.resize(size_t{pitch} * height * 16 + 512);
    // Floats of all kinds, numbers above all.
    for (size_t i = 0; i + 4 <= memory.size(); i += 4) {
      const float value = static_cast<float>(static_cast<int32_t>(random())) * 0x1p-20f;
      uint32_t bits = random() % 16 == 0 ? static_cast<uint32_t>(random()) : std::bit_cast<uint32_t>(value);
      std::memcpy(&memory[i], &bits, 4);
    }
    const uint64_t base = (reinterpret_cast<uint64_t>(memory.data()) + 255) & ~uint64_t{255};
    image[0] = static_cast<uint32_t>(base >> 8);
    image[1] = static_cast<uint32_t>(base >> 40 & 0xff) | format.data << 20 | format.number << 26;
    image[2] = (width - 1) | (height - 1) << 14;
    image[3] = (gfx9 ? 0u : 8u) << 20 | 9u << 28;
    for (unsigned i = 0; i < 4; ++i) image[3] |= (random() % 8 == 0 ? below(2) : 4 + below(4)) << (3 * i);
    image[4] = (pitch - 1) << 13;
    for (unsigned i = 0; i < 3; ++i) sampler[0] |= below(8) << (3 * i);
    sampler[0] |= below(2) << 15 | below(2) << 27;
    sampler[1] = below(2) * below(4096) | 0xfffu << 12;
    const uint32_t linear = below(2);
    sampler[2] = linear << 20 | (random() % 8 == 0 ? below(2) : linear) << 22 | below(4) << 26;
    sampler[3] = below(3) << 30;
  }
};

float coordinate(Random& random, bool normalized, uint32_t size) {
  const auto number = static_cast<float>(static_cast<int32_t>(random()));
  switch (random() % 12) {
    case 0:
      return number * 0x1p-8f;
    case 1:
      return std::bit_cast<float>(static_cast<uint32_t>(random()));
    case 2:
      return random() % 2 != 0 ? std::numeric_limits<float>::quiet_NaN() : -std::numeric_limits<float>::infinity();
    case 3:  // between two texels, and at the edges
      return static_cast<float>(static_cast<int>(random() % (4 * size + 1)) - static_cast<int>(size)) * 0.5f /
             (normalized ? static_cast<float>(size) : 1);
    case 4: {  // where positions in 1/256 of a texel are rounded up or down
      const float middle = (static_cast<float>(random() % (512 * size)) - 128 * static_cast<float>(size)) * 0x1p-9f;
      const float at = middle / (normalized ? static_cast<float>(size) : 1);
      return random() % 3 == 0 ? at : std::nextafter(at, random() % 2 != 0 ? 1e6f : -1e6f);
    }
    default:
      return number * 0x1p-31f * (normalized ? 3 : 3 * static_cast<float>(size));
  }
}

TEST(PlaneSamples, AreThoseOfTheDescription) {
  if (__builtin_cpu_supports("avx2") == 0) GTEST_SKIP() << "no AVX2 here";
  Random random(20261127);
  uint64_t quick = 0, outside = 0, general = 0;
  for (unsigned round = 0; round < 6'000; ++round) {
    const bool gfx9 = round % 2 != 0;
    const Case c(random, gfx9);
    const Image image(c.image, gfx9);
    const image::Sampler sampler(c.sampler);
    image::Fields fields;
    fields.gfx9 = gfx9;
    fields.lod_zero = random() % 2 != 0;
    fields.lod = !fields.lod_zero && random() % 2 != 0;
    fields.unnormalized = random() % 4 == 0;
    if (random() % 16 == 0) fields.offset = true;
    if (random() % 16 == 0) fields.compare = true;
    if (image::sampling_problem(image, sampler, fields) != nullptr) continue;
    const std::optional<PlaneSamples> plane = PlaneSamples::of(image, sampler, fields);
    if (!plane) {
      ++general;
      continue;
    }
    EXPECT_FALSE(fields.offset || fields.compare);
    const bool normalized = !fields.unnormalized && !sampler.unnormalized;
    constexpr unsigned kLanes = kWaveSize;
    float x[kLanes], y[kLanes], lod[kLanes];
    for (unsigned i = 0; i < kLanes; ++i) {
      x[i] = coordinate(random, normalized, image.width);
      y[i] = coordinate(random, normalized, image.height);
      lod[i] = static_cast<float>(static_cast<int>(random() % 9) - 4);
    }
    uint64_t active = ~uint64_t{0};
    if (random() % 4 != 0) active = uint64_t{random()} << 32 | random();
    if (random() % 4 == 0) active &= uint64_t{0xff00ff} << random() % 64;
    const TexelSources sources = texel_sources(image);
    const unsigned needed = needed_components(sources, 15);
    alignas(32) Rows got;
    uint64_t accessing = 0;
    const uint64_t done = plane->sample(x, y, active, needed, accessing, got);
    // The last lane, or the first one of a group that is read at once.
    const uint64_t lowest = accessing & (0 - accessing), last = std::bit_floor(done);
    const unsigned group = last == 0 ? 0 : std::countr_zero(last) / 8 * 8;
    EXPECT_TRUE(lowest == last || (lowest == uint64_t{1} << group && (done >> group & 255) == 255));
    EXPECT_EQ(done & ~active, 0u);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if ((active >> lane & 1) == 0) continue;
      if ((done >> lane & 1) == 0) {
        ++outside;
        EXPECT_GE(std::max(sampler.clamp[0], sampler.clamp[1]), 4u);
        continue;
      }
      const auto reg = [&](unsigned i) {
        return std::bit_cast<uint32_t>(i == 0 ? x[lane] : i == 1 ? y[lane] : lod[lane]);
      };
      const image::Addresses<decltype(reg)> addresses{reg, false};
      uint32_t expected[4];
      image::Sample<decltype(reg)>(image, sampler, fields, addresses).sample(expected);
      ++quick;
      const auto is_nan = [](uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; };
      for (unsigned i = 0; i < 4; ++i) {
        const TexelSource& source = sources[i];
        const uint32_t value = source.is_constant ? source.constant : got[source.component][lane];
        // Which payload the sum of two NaNs has depends on the compiler.
        if (is_nan(value) && is_nan(expected[i])) continue;
        ASSERT_EQ(value, expected[i]) << "component " << i << " at " << x[lane] << ", " << y[lane] << " of "
                                      << image.width << " x " << image.height << ", clamp " << sampler.clamp[0] << ' '
                                      << sampler.clamp[1] << ", round " << round;
      }
    }
  }
  EXPECT_GT(quick, 50'000u);
  EXPECT_GT(outside, 2'000u);
  EXPECT_GT(general, 500u);
}

}  // namespace
}  // namespace wavejit::backend
