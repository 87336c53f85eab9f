// MRG32k3a's engines.
#include "engine_source.h"
#include "engines.h"

namespace wavejit::rocrand {
namespace {

using Vector = Mrg32k3a::Vector;
constexpr uint64_t kM1 = Mrg32k3a::kM1, kM2 = Mrg32k3a::kM2;

using Matrix = std::array<Vector, 3>;

constexpr Matrix kStep1 = {{{0, 1, 0}, {0, 0, 1}, {kM1 - 810728, 1403580, 0}}};
constexpr Matrix kStep2 = {{{0, 1, 0}, {0, 0, 1}, {kM2 - 1370589, 0, 527612}}};

Vector image_of(const Matrix& a, const Vector& v, uint64_t m) {
  Vector out{};
  for (size_t row = 0; row < 3; ++row) {
    // Each product is below 2^64.
    out[row] = (a[row][0] * v[0] % m + a[row][1] * v[1] % m + a[row][2] * v[2] % m) % m;
  }
  return out;
}

// The distance between engines: rocRAND's documentation says 2^67, its tables are those of 2^76, as L'Ecuyer proposes.
Matrix steps_2_to_the_76(Matrix a, uint64_t m) {
  for (int i = 0; i < 76; ++i) {
    const Matrix once = a;
    for (size_t column = 0; column < 3; ++column) {
      const Vector image = image_of(once, {once[0][column], once[1][column], once[2][column]}, m);
      for (size_t row = 0; row < 3; ++row) a[row][column] = image[row];
    }
  }
  return a;
}

}  // namespace

std::unique_ptr<Source> make_mrg32k3a(uint64_t seed, uint64_t offset) {
  if (seed == 0) seed = 12345;
  const uint64_t x = static_cast<uint32_t>(seed) ^ 0x55555555u;
  const uint64_t y = static_cast<uint32_t>(seed >> 32) ^ 0xAAAAAAAAu;
  const auto times_seed = [seed](uint64_t i, uint64_t m) { return i % m * (seed % m) % m; };
  Mrg32k3a engine{{times_seed(x, kM1), times_seed(y, kM1), times_seed(x, kM1)},
                  {times_seed(y, kM2), times_seed(x, kM2), times_seed(y, kM2)}};
  const Matrix jump1 = steps_2_to_the_76(kStep1, kM1), jump2 = steps_2_to_the_76(kStep2, kM2);
  std::vector<Mrg32k3a> engines;
  engines.reserve(kEngines);
  for (size_t e = 0; e < kEngines; ++e) {
    engines.push_back(engine);
    engine = {image_of(jump1, engine.s1, kM1), image_of(jump2, engine.s2, kM2)};
  }
  return std::make_unique<EngineSource<Mrg32k3a>>(std::move(engines), offset);
}

}  // namespace wavejit::rocrand
