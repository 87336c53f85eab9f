// XORWOW's engines. The distance of 2^67 numbers between them is a power of the step's matrix over GF(2), computed here
// by squaring it.
#include "engine_source.h"
#include "engines.h"

namespace wavejit::rocrand {
namespace {

using Bits = Xorwow::Bits;

// A linear map of the 160 bits: the images of each bit.
using Map = std::array<Bits, 160>;

Bits image_of(const Map& map, const Bits& x) {
  Bits sum{};
  for (size_t bit = 0; bit < map.size(); ++bit) {
    if ((x[bit / 32] >> bit % 32 & 1) == 0) continue;
    for (size_t word = 0; word < sum.size(); ++word) sum[word] ^= map[bit][word];
  }
  return sum;
}

Map steps_2_to_the_67() {
  Map map{};
  for (size_t bit = 0; bit < map.size(); ++bit) {
    map[bit][bit / 32] = uint32_t{1} << bit % 32;
    Xorwow::step(map[bit]);
  }
  for (int i = 0; i < 67; ++i) {
    const Map once = map;
    for (Bits& image : map) image = image_of(once, image);
  }
  return map;
}

}  // namespace

std::unique_ptr<Source> make_xorwow(uint64_t seed, uint64_t offset) {
  const uint32_t t0 = 1228688033u * (static_cast<uint32_t>(seed) ^ 0x2c7f967fu);
  const uint32_t t1 = 2073658381u * (static_cast<uint32_t>(seed >> 32) ^ 0xa03697cbu);
  // 2^67 steps leave d as it is.
  Xorwow engine{{123456789u + t0, 362436069u ^ t0, 521288629u + t1, 88675123u ^ t1, 5783321u + t0}, 6615241u + t1 + t0};
  const Map jump = steps_2_to_the_67();
  std::vector<Xorwow> engines;
  engines.reserve(kEngines);
  for (size_t e = 0; e < kEngines; ++e) {
    engines.push_back(engine);
    engine.x = image_of(jump, engine.x);
  }
  return std::make_unique<EngineSource<Xorwow>>(std::move(engines), offset);
}

}  // namespace wavejit::rocrand
