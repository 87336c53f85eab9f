// TexelRows and TexelPlane give the same bits as internal/semantics, which defines what texels are and where.
#include "backend-x86/helpers/texel_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <vector>

namespace wavejit::backend {
namespace {

using format::Layout;
using format::Number;
using TexelRandom = std::mt19937_64;

constexpr Number kNumbers[] = {Number::unorm, Number::snorm, Number::uscaled, Number::sscaled,
                               Number::uint,  Number::sint,  Number::float_,  Number::srgb};

template <typename F>
void for_each_format(F&& function) {
  for (unsigned data = 1; data < 20; ++data) {
    const Layout layout = format::image_layout_of(data);
    for (const Number number : kNumbers)
      if (format::is_valid(layout, number)) function(layout, number);
  }
}

uint64_t random_lanes(TexelRandom& random) {
  switch (random() % 4) {
    case 0:
      return ~uint64_t{0};
    case 1:
      return random() & uint64_t{0xff00ff} << random() % 64;
    default:
      return random();
  }
}

// Addresses of 64 texels in `memory`: one behind the other, anywhere, or both by groups of eight.
std::vector<uint64_t> random_addresses(TexelRandom& random, const std::vector<uint8_t>& memory, unsigned bytes) {
  std::vector<uint64_t> addresses(kWaveSize);
  const uint64_t base = (reinterpret_cast<uint64_t>(memory.data()) + 255) & ~uint64_t{255};
  const uint64_t texels = (memory.size() - 256) / bytes;
  const bool some = random() % 2 != 0;
  for (unsigned first = 0; first < kWaveSize; first += 8) {
    const bool in_order = some ? random() % 2 != 0 : first != 0 && addresses[7] == addresses[6] + bytes;
    const uint64_t begin = random() % (texels - 8);
    for (unsigned l = 0; l < 8; ++l) {
      const uint64_t texel = in_order || (!some && first == 0 && random() % 64 != 0) ? begin + l : random() % texels;
      addresses[first + l] = base + texel * bytes;
    }
  }
  return addresses;
}

void check_load(const Layout& layout, Number number, const std::vector<uint64_t>& addresses, uint64_t lanes,
                unsigned needed) {
  alignas(32) Rows rows;
  TexelRows(layout, number).load(addresses.data(), lanes, needed, rows);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    uint32_t texel[4] = {};
    if ((lanes >> l & 1) != 0) format::read_element(reinterpret_cast<const void*>(addresses[l]), layout, number, texel);
    for (unsigned i = 0; i < layout.components; ++i)
      if ((needed >> i & 1) != 0) {
        ASSERT_EQ(rows[i][l], texel[i]) << "component " << i << " of " << +layout.bits[i] << " bits, number "
                                        << static_cast<unsigned>(number) << ", lane " << l;
      }
  }
}

TEST(TexelRows, LoadAsOneElementIsRead) {
  if (__builtin_cpu_supports("avx2") == 0) GTEST_SKIP() << "no AVX2 here";
  TexelRandom random(1);
  std::vector<uint8_t> memory(20'000);
  for_each_format([&](const Layout& layout, Number number) {
    for (unsigned round = 0; round < 100; ++round) {
      for (size_t i = 0; i < memory.size(); i += 8) {
        const uint64_t bits = random() % 8 == 0 ? random() & random() & random() : random();
        std::memcpy(&memory[i], &bits, 8);
      }
      ASSERT_NO_FATAL_FAILURE(check_load(layout, number, random_addresses(random, memory, layout.bytes),
                                         random_lanes(random), random() % 2 != 0 ? 15 : random() % 16));
    }
  });
}

// Every value of each component of up to 16 bits, beside random ones.
TEST(TexelRows, LoadEveryValue) {
  if (__builtin_cpu_supports("avx2") == 0) GTEST_SKIP() << "no AVX2 here";
  TexelRandom random(4);
  std::vector<uint64_t> addresses(kWaveSize);
  for_each_format([&](const Layout& layout, Number number) {
    if (layout.bytes > 8) return;
    for (unsigned i = 0; i < layout.components && layout.bits[i] <= 16; ++i) {
      const unsigned bits = layout.bits[i], count = 1u << bits;
      for (unsigned first = 0; first < count; first += kWaveSize) {
        uint64_t texels[kWaveSize];
        for (unsigned l = 0; l < kWaveSize; ++l) {
          const uint64_t mask = uint64_t{count - 1} << layout.shift[i];
          texels[l] = (random() & ~mask) | (uint64_t{first + l} << layout.shift[i] & mask);
          addresses[l] = reinterpret_cast<uint64_t>(&texels[l]);
        }
        ASSERT_NO_FATAL_FAILURE(check_load(layout, number, addresses, ~uint64_t{0}, 1u << i));
      }
    }
  });
}

uint32_t random_register(TexelRandom& random) {
  const auto value = static_cast<float>(static_cast<int32_t>(random())) * 0x1p-31f;
  switch (random() % 8) {
    case 0:
      return static_cast<uint32_t>(random());
    case 1:  // near a middle between two values
      return std::bit_cast<uint32_t>((static_cast<float>(random() % 256) + 0.5f) / 255 *
                                     (random() % 2 != 0 ? 1.0f : -1.0f));
    case 2:
      return std::bit_cast<uint32_t>(value * static_cast<float>(1u << random() % 18));
    case 3:  // small halves
      return std::bit_cast<uint32_t>(value * 0x1p-14f);
    case 4:
      return random() % 2 != 0 ? 0xff800000 : 0x7fc12345;
    default:
      return std::bit_cast<uint32_t>(value * 1.1f);
  }
}

// Leaves ones where the next function's variables will be.
[[gnu::noinline]] void spoil_stack() {
  volatile uint8_t bytes[8192];
  for (volatile uint8_t& byte : bytes) byte = 0xff;
}

TEST(TexelRows, StoreAsOneElementIsWritten) {
  if (__builtin_cpu_supports("avx2") == 0) GTEST_SKIP() << "no AVX2 here";
  TexelRandom random(2);
  for_each_format([&](const Layout& layout, Number number) {
    for (unsigned round = 0; round < 100; ++round) {
      std::vector<uint8_t> memory(20'000, 0xa5);
      const std::vector<uint64_t> addresses = random_addresses(random, memory, layout.bytes);
      const uint64_t lanes = random_lanes(random);
      uint32_t values[4][kWaveSize];
      for (auto& row : values)
        for (uint32_t& value : row) value = random_register(random);
      const unsigned given = random() % 2 != 0 ? 15 : random() % 16;
      const uint32_t* rows[4];
      for (unsigned i = 0; i < 4; ++i) rows[i] = (given >> i & 1) != 0 ? values[i] : nullptr;
      const TexelRows texels(layout, number);
      spoil_stack();
      texels.store(addresses.data(), lanes, rows);
      const std::vector<uint8_t> got = memory;
      std::fill(memory.begin(), memory.end(), uint8_t{0xa5});
      for (unsigned l = 0; l < kWaveSize; ++l) {
        if ((lanes >> l & 1) == 0) continue;
        uint32_t components[4];
        for (unsigned i = 0; i < 4; ++i) components[i] = rows[i] != nullptr ? rows[i][l] : 0;
        format::write_element(reinterpret_cast<void*>(addresses[l]), layout, number, components, 4);
      }
      ASSERT_EQ(got, memory) << +layout.bytes << " bytes, number " << static_cast<unsigned>(number);
    }
  });
}

TEST(TexelPlane, HasTheAddressesOfTheDescription) {
  if (__builtin_cpu_supports("avx2") == 0) GTEST_SKIP() << "no AVX2 here";
  TexelRandom random(3);
  unsigned planes = 0;
  for (unsigned round = 0; round < 5'000; ++round) {
    const bool gfx9 = round % 2 != 0;
    const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
    const uint32_t width = 1 + below(16384), height = 1 + below(16384), pitch = width + below(300);
    const uint32_t last_level = below(3), data = below(20);
    const uint32_t words[8] = {static_cast<uint32_t>(random()),
                               below(256) | data << 20 | (data == 4 || data == 14 ? 7u : 0u) << 26,
                               (width - 1) | (height - 1) << 14,
                               below(last_level + 1) << 12 | last_level << 16 | (gfx9 ? 0u : 8u) << 20 |
                                   (random() % 4 == 0 ? 8 + below(6) : 9u) << 28,
                               (pitch - 1) << 13 | below(4),
                               0,
                               0,
                               0};
    const image::Image image(words, gfx9);
    if (image.problem != nullptr) continue;
    const std::optional<TexelPlane> plane = TexelPlane::of(image);
    EXPECT_EQ(plane.has_value(), image.type == image::Type::d2);
    if (!plane) continue;
    ++planes;
    uint32_t x[kWaveSize], y[kWaveSize];
    for (unsigned l = 0; l < kWaveSize; ++l) {
      x[l] = random() % 8 == 0 ? static_cast<uint32_t>(random()) : below(width + 2);
      y[l] = random() % 8 == 0 ? static_cast<uint32_t>(random()) : below(height + 2);
    }
    const uint64_t lanes = random_lanes(random);
    uint64_t got[kWaveSize];
    const uint64_t inside = plane->addresses(x, y, lanes, got);
    for (unsigned l = 0; l < kWaveSize; ++l) {
      const auto expected = (lanes >> l & 1) != 0 ? image.address(x[l], y[l], 0, 0) : std::nullopt;
      ASSERT_EQ(got[l], expected.value_or(0));
      ASSERT_EQ(inside >> l & 1, expected ? 1u : 0u);
    }
  }
  EXPECT_GT(planes, 1'000u);
}

}  // namespace
}  // namespace wavejit::backend
