// A 3D transform of SpFFT on the device, there and back, compared with its input.
#include <cmath>
#include <complex>
#include <cstdio>
#include <spfft/spfft.hpp>
#include <vector>

int main() {
  const int n = 8;
  std::vector<int> indices;
  std::vector<std::complex<double>> values;
  for (int x = 0; x < n; ++x)
    for (int y = 0; y < n; ++y)
      for (int z = 0; z < n; ++z) {
        indices.insert(indices.end(), {x, y, z});
        values.emplace_back(std::sin(x + 2 * y + 3 * z), std::cos(x * y - z));
      }
  const std::vector<std::complex<double>> before = values;
  spfft::Grid grid(n, n, n, n * n, SPFFT_PU_GPU, 1);
  spfft::Transform transform =
      grid.create_transform(SPFFT_PU_GPU, SPFFT_TRANS_C2C, n, n, n, n, n * n * n, SPFFT_INDEX_TRIPLETS, indices.data());
  transform.backward(reinterpret_cast<double*>(values.data()), SPFFT_PU_GPU);
  transform.forward(SPFFT_PU_GPU, reinterpret_cast<double*>(values.data()), SPFFT_FULL_SCALING);
  double worst = 0;
  for (size_t i = 0; i < values.size(); ++i) worst = std::max(worst, std::abs(values[i] - before[i]));
  std::printf("largest difference %g\n", worst);
  return worst < 1e-12 ? 0 : 1;
}
