// Function pointers, virtual functions and recursion on the device.
#include "check.h"

struct Shape {
  __device__ virtual float area() const = 0;
};
struct Square : Shape {
  float side;
  __device__ explicit Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};
struct Rectangle : Shape {
  float a, b;
  __device__ Rectangle(float x, float y) : a(x), b(y) {}
  __device__ float area() const override { return a * b; }
};

__device__ __noinline__ int twice(int x) {
  return 2 * x;
}
__device__ __noinline__ int square(int x) {
  return x * x;
}
__device__ __noinline__ unsigned fibonacci(unsigned n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
using Function = int (*)(int);
__device__ Function functions[2] = {twice, square};

__global__ void call(float* areas, int* values, unsigned* numbers) {
  const int i = threadIdx.x;
  Square square(static_cast<float>(i));
  Rectangle rectangle(static_cast<float>(i), 2);
  Shape* const shapes[2] = {&square, &rectangle};
  areas[i] = shapes[i % 2]->area();
  values[i] = functions[i / 2 % 2](i);
  numbers[i] = fibonacci(static_cast<unsigned>(i % 12));
}

int main() {
  float* areas;
  int* values;
  unsigned* numbers;
  HIP(hipHostMalloc(&areas, 64 * sizeof(float)));
  HIP(hipHostMalloc(&values, 64 * sizeof(int)));
  HIP(hipHostMalloc(&numbers, 64 * sizeof(unsigned)));
  call<<<1, 64>>>(areas, values, numbers);
  HIP(hipDeviceSynchronize());
  const unsigned expected[12] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
  for (int i = 0; i < 64; ++i) {
    CHECK(areas[i] == static_cast<float>(i % 2 == 0 ? i * i : 2 * i));
    CHECK(values[i] == (i / 2 % 2 == 0 ? 2 * i : i * i));
    CHECK(numbers[i] == expected[i % 12]);
  }
}
