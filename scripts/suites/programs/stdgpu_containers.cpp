// A vector of stdgpu on the device, filled by a kernel of rocThrust, and summed up.
#include <stdgpu/iterator.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>

#include <cstdio>
#include <stdgpu/vector.cuh>

struct PushOdd {
  stdgpu::vector<int> out;
  STDGPU_DEVICE_ONLY void operator()(int i) {
    if (i % 2 == 1) out.push_back(i);
  }
};

int main() {
  const stdgpu::index_t n = 1000;
  stdgpu::vector<int> odd = stdgpu::vector<int>::createDeviceObject(n);
  thrust::for_each(thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(n), PushOdd{odd});
  const auto range = odd.device_range();
  const int sum = thrust::reduce(range.begin(), range.end());
  const bool right = odd.size() == n / 2 && sum == 250000;
  std::printf("%d numbers, sum %d\n", static_cast<int>(odd.size()), sum);
  stdgpu::vector<int>::destroyDeviceObject(odd);
  return right ? 0 : 1;
}
