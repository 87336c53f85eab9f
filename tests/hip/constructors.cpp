// HIP in constructors and destructors of global objects, and objects of the device that are initialised.

#include "check.h"

struct Vector {
  float x, y, z;
  __host__ __device__ constexpr Vector(float a, float b, float c) : x(a), y(b), z(c) {}
  __host__ __device__ constexpr float dot(const Vector& v) const { return x * v.x + y * v.y + z * v.z; }
};
struct Table {
  int squares[32] = {};
  constexpr Table() {
    for (int i = 0; i < 32; ++i) squares[i] = i * i;
  }
};
__device__ constexpr Table table;
__device__ Vector axes[3] = {{1, 0, 0}, {0, 2, 0}, {0, 0, 3}};
__device__ Vector* current = &axes[1];  // an address of the device
__device__ const char text[] = "text on the device";
__device__ const char* const words[] = {"zero", "one", "two"};

__global__ void use(float* out, char* letters) {
  const int i = threadIdx.x;
  const Vector v(static_cast<float>(i), 10, 100);
  out[i] = axes[i % 3].dot(v) + current->y * 1000 + static_cast<float>(table.squares[i % 32]);
  letters[i] = i < 32 ? text[i % (sizeof text - 1)] : words[i % 3][i / 3 % 3];
}

// Memory and streams before main begins and after it has ended. (Kernels are registered after the constructors of their
// file's objects have run, and no longer when these are destroyed.)
struct Global {
  float* out;
  char* letters;
  hipStream_t stream;
  Global() {
    HIP(hipHostMalloc(&out, 64 * sizeof(float)));
    HIP(hipMalloc(&letters, 64));
    HIP(hipStreamCreate(&stream));
    HIP(hipMemsetAsync(letters, 'x', 64, stream));
    HIP(hipMemcpyAsync(out, letters, 64, hipMemcpyDeviceToHost, stream));
    HIP(hipStreamSynchronize(stream));
  }
  ~Global() {
    char copy[64] = {};
    const bool copied = hipMemcpy(copy, letters, 64, hipMemcpyDeviceToHost) == hipSuccess && copy[0] == 't';
    const bool gone =
        hipStreamDestroy(stream) == hipSuccess && hipFree(letters) == hipSuccess && hipHostFree(out) == hipSuccess;
    if (copied && gone) return;
    std::printf("not so: HIP works in destructors of global objects\n");
    std::fflush(stdout);
    _Exit(1);
  }
} global;

int main() {
  CHECK(reinterpret_cast<const char*>(global.out)[63] == 'x');
  use<<<1, 64, 0, global.stream>>>(global.out, global.letters);
  HIP(hipStreamSynchronize(global.stream));
  char letters[64];
  HIP(hipMemcpy(letters, global.letters, 64, hipMemcpyDeviceToHost));
  const char* const host_words[] = {"zero", "one", "two"};
  const char host_text[] = "text on the device";
  for (int i = 0; i < 64; ++i) {
    const float axis[3] = {static_cast<float>(i), 20, 300};
    CHECK(global.out[i] == axis[i % 3] + 2000 + static_cast<float>((i % 32) * (i % 32)));
    CHECK(letters[i] == (i < 32 ? host_text[i % (sizeof host_text - 1)] : host_words[i % 3][i / 3 % 3]));
  }
}
