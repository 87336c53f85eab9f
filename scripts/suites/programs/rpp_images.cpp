// Three operations of RPP on a batch of images on the device, compared with the host's.
// The headers declare the device's functions only with these.
#define GPU_SUPPORT 1
#define HIP_COMPILE 1
#define RPP_BACKEND_HIP 1
#include <hip/hip_runtime_api.h>
#include <rpp/rpp.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

constexpr int kImages = 2, kWidth = 96, kHeight = 64, kPixels = kWidth * kHeight, kBytes = kImages * kPixels;
// Filters read before the first pixel.
constexpr int kOffset = 64;

template <typename T>
static T* allocate(size_t count, bool host) {
  void* p = nullptr;
  const hipError_t error = host ? hipHostMalloc(&p, count * sizeof(T), 0) : hipMalloc(&p, count * sizeof(T));
  if (error == hipSuccess) return static_cast<T*>(p);
  std::printf("%s\n", hipGetErrorString(error));
  std::exit(1);
}

int main(int, char** arguments) {
  std::vector<unsigned char> image(kBytes), result(kBytes);
  for (int i = 0; i < kBytes; ++i) image[i] = static_cast<unsigned char>((i * 37 + i / 91) % 120);
  auto* source = allocate<unsigned char>(kOffset + kBytes, false);
  auto* target = allocate<unsigned char>(kOffset + kBytes, false);
  (void)hipMemcpy(source + kOffset, image.data(), kBytes, hipMemcpyHostToDevice);
  (void)hipMemset(target, 0, kOffset + kBytes);

  RpptDesc shape{};
  shape.numDims = 4;
  shape.offsetInBytes = kOffset;
  shape.dataType = RpptDataType::U8;
  shape.n = kImages, shape.c = 1, shape.h = kHeight, shape.w = kWidth;
  shape.strides.nStride = kPixels, shape.strides.cStride = kPixels, shape.strides.hStride = kWidth,
  shape.strides.wStride = 1;
  shape.layout = RpptLayout::NCHW;
  auto* regions = allocate<RpptROI>(kImages, true);
  for (int n = 0; n < kImages; ++n) regions[n].xywhROI = {{0, 0}, kWidth, kHeight};
  hipStream_t stream = nullptr;
  (void)hipStreamCreate(&stream);
  rppHandle_t handle{};
  if (rppCreate(&handle, kImages, 0, stream, RppBackend::RPP_HIP_BACKEND) != 0) return std::printf("rppCreate\n"), 1;

  const auto at = [&](int n, int y, int x) { return static_cast<int>(image[n * kPixels + y * kWidth + x]); };
  const std::string operation = arguments[1];
  RppStatus status = RPP_ERROR;
  std::function<int(int, int, int)> wanted;
  int border = 0, tolerance = 0;
  if (operation == "brightness") {
    auto* alpha = allocate<float>(kImages, true);
    auto* beta = allocate<float>(kImages, true);
    for (int n = 0; n < kImages; ++n) alpha[n] = 2, beta[n] = 10.0f * (n + 1);
    status = rppt_brightness_gpu(source, &shape, target, &shape, alpha, beta, regions, RpptRoiType::XYWH, handle);
    wanted = [&](int n, int y, int x) { return std::min(255, 2 * at(n, y, x) + 10 * (n + 1)); };
  } else if (operation == "flip") {
    auto* horizontal = allocate<unsigned>(kImages, true);
    auto* vertical = allocate<unsigned>(kImages, true);
    for (int n = 0; n < kImages; ++n) horizontal[n] = n == 0, vertical[n] = 1;
    status = rppt_flip_gpu(source, &shape, target, &shape, horizontal, vertical, regions, RpptRoiType::XYWH, handle);
    wanted = [&](int n, int y, int x) { return at(n, kHeight - 1 - y, n == 0 ? kWidth - 1 - x : x); };
  } else {
    status = rppt_box_filter_gpu(source, &shape, target, &shape, 3, RpptImageBorderType::REPLICATE, regions,
                                 RpptRoiType::XYWH, handle);
    border = tolerance = 1;  // RPP may round either way
    wanted = [&](int n, int y, int x) {
      int sum = 0;
      for (int i = 0; i < 9; ++i) sum += at(n, y - 1 + i / 3, x - 1 + i % 3);
      return (2 * sum + 9) / 18;
    };
  }
  const hipError_t end = hipDeviceSynchronize();
  (void)hipMemcpy(result.data(), target + kOffset, kBytes, hipMemcpyDeviceToHost);
  if (status != RPP_SUCCESS || end != hipSuccess)
    return std::printf("status %d, %s\n", status, hipGetErrorString(end)), 1;
  for (int n = 0; n < kImages; ++n)
    for (int y = border; y < kHeight - border; ++y)
      for (int x = border; x < kWidth - border; ++x) {
        const int got = result[n * kPixels + y * kWidth + x];
        if (std::abs(got - wanted(n, y, x)) <= tolerance) continue;
        return std::printf("image %d at %d, %d: %d, not %d\n", n, y, x, got, wanted(n, y, x)), 1;
      }
  std::printf("%s is right\n", operation.c_str());
  return 0;
}
