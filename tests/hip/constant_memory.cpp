// Constant memory: whole symbols, parts of them, asynchronous copies, between launches of the same kernel.
#include <cstring>
#include <vector>

#include "check.h"

struct Stage {
  double scale;
  int offset;
  char name[20];
};
__constant__ Stage stages[4] = {{1.5, 1, "first"}, {2, 2, "second"}};
__constant__ int primes[6] = {2, 3, 5, 7, 11, 13};
__constant__ float weights[16384 / sizeof(float)];

// Uniform and divergent reads of constants.
__global__ void apply(double* out, int* letters) {
  const int i = threadIdx.x;
  double value = i;
  for (int s = 0; s < 4; ++s) value = value * stages[s].scale + stages[s].offset;
  out[i] = value + primes[i % 6] + weights[i * 16];
  letters[i] = stages[i % 4].name[i % 3];
}

int main() {
  Stage host[4] = {{1.5, 1, "first"}, {2, 2, "second"}};
  std::vector<float> host_weights(4096);
  int host_primes[6] = {2, 3, 5, 7, 11, 13};
  double* out;
  int* letters;
  HIP(hipHostMalloc(&out, 256 * sizeof *out));
  HIP(hipHostMalloc(&letters, 256 * sizeof *letters));
  const auto check = [&] {
    HIP(hipDeviceSynchronize());
    for (int i = 0; i < 256; ++i) {
      double value = i;
      for (const Stage& s : host) value = value * s.scale + s.offset;
      CHECK(out[i] == value + host_primes[i % 6] + host_weights[i * 16]);
      CHECK(letters[i] == host[i % 4].name[i % 3]);
    }
  };
  apply<<<1, 256>>>(out, letters);  // as they were compiled
  check();

  for (int i = 0; i < 4096; ++i) host_weights[i] = static_cast<float>(i % 100);
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(weights), host_weights.data(), 4096 * sizeof(float)));
  host[2] = {3, 30, "third"};
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(stages), &host[2], sizeof(Stage), 2 * sizeof(Stage)));
  apply<<<1, 256>>>(out, letters);
  check();

  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  for (int round = 0; round < 5; ++round) {
    host[3] = {0.5 + round, -round, "last"};
    host_primes[5] = 100 + round;
    HIP(hipMemcpyToSymbolAsync(HIP_SYMBOL(stages), &host[3], sizeof(Stage), 3 * sizeof(Stage), hipMemcpyHostToDevice,
                               stream));
    HIP(hipMemcpyToSymbolAsync(HIP_SYMBOL(primes), &host_primes[5], sizeof(int), 5 * sizeof(int), hipMemcpyHostToDevice,
                               stream));
    apply<<<1, 256, 0, stream>>>(out, letters);
    check();
  }
  Stage back[4];
  HIP(hipMemcpyFromSymbol(back, HIP_SYMBOL(stages), sizeof back));
  CHECK(std::memcmp(back, host, sizeof back) == 0);
  int two[2];
  HIP(hipMemcpyFromSymbol(two, HIP_SYMBOL(primes), sizeof two, 4 * sizeof(int)));
  CHECK(two[0] == 11 && two[1] == 104);
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(primes), host_primes, sizeof host_primes, 4) != hipSuccess);  // too much
}
