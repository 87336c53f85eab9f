// C++ on the device: virtual functions on objects built in device memory, templates, and generic pointers that may point
// to global, shared or private memory.
#include <hip/hip_runtime.h>

struct Shape {
  __device__ virtual float area() const = 0;
  __device__ virtual int kind() const { return 0; }
};
struct Square : Shape {
  float side;
  __device__ explicit Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
  __device__ int kind() const override { return 1; }
};
struct Triangle : Shape {
  float base, height;
  __device__ Triangle(float b, float h) : base(b), height(h) {}
  __device__ float area() const override { return 0.5f * base * height; }
};
struct Steps : Shape {
  int count;
  __device__ explicit Steps(int n) : count(n) {}
  __device__ float area() const override {
    float total = 0.0f;
    for (int i = 1; i <= count; ++i) total += (float)i * 0.25f;
    return total;
  }
  __device__ int kind() const override { return count > 4 ? 3 : 2; }
};

union Storage {
  __device__ Storage() {}
  Square square;
  Triangle triangle;
  Steps steps;
};

template <typename T>
__device__ __attribute__((noinline)) T sum_of(const T* values, int n) {
  T total = 0;
  for (int i = 0; i < n; ++i) total += values[i];
  return total;
}

extern "C" __global__ void hip_virtual(const int* in, float* areas, int* kinds, int* sums, int n) {
  __shared__ int shared_values[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = i < n ? in[i] : 0;
  shared_values[threadIdx.x & 63] = v;
  __syncthreads();
  int private_values[4] = {v, v * 2, v * 3, i};
  if (i >= n) return;

  Storage storage;
  Shape* shape;
  if (v % 3 == 0)
    shape = new (&storage.square) Square((float)v * 0.5f);
  else if (v % 3 == 1)
    shape = new (&storage.triangle) Triangle((float)v, (float)(v & 7));
  else
    shape = new (&storage.steps) Steps(v & 15);
  areas[i] = shape->area();
  kinds[i] = shape->kind();

  // One call site, three address spaces.
  const int* source = v & 1 ? private_values : (v & 2 ? shared_values + (threadIdx.x & 60) : in + (i & ~3));
  sums[i] = sum_of(source, 4);
}
