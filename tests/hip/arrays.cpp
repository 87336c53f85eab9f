// Arrays, the opaque kind: one, two and three dimensions, parts of them, from and to linear memory.
#include <vector>

#include "check.h"

int main() {
  const size_t width = 37, height = 19, depth = 6;
  std::vector<float> image(width * height * depth), back(image.size());
  for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i);
  const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  const size_t row = width * sizeof(float);

  hipArray* flat;
  HIP(hipMallocArray(&flat, &format, width, height));
  HIP(hipMemcpy2DToArray(flat, 0, 0, image.data(), row, row, height, hipMemcpyHostToDevice));
  HIP(hipMemcpy2DFromArray(back.data(), row, flat, 0, 0, row, height, hipMemcpyDeviceToHost));
  for (size_t i = 0; i < width * height; ++i) CHECK(back[i] == image[i]);
  // A window of 5 by 4 elements at (7, 3).
  const float window[20] = {-1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15, -16, -17, -18, -19, -20};
  HIP(hipMemcpy2DToArray(flat, 7 * sizeof(float), 3, window, 5 * sizeof(float), 5 * sizeof(float), 4,
                         hipMemcpyHostToDevice));
  HIP(hipMemcpy2DFromArray(back.data(), row, flat, 0, 0, row, height, hipMemcpyDeviceToHost));
  for (size_t y = 0; y < height; ++y)
    for (size_t x = 0; x < width; ++x) {
      const bool in = x >= 7 && x < 12 && y >= 3 && y < 7;
      CHECK(back[y * width + x] == (in ? window[(y - 3) * 5 + x - 7] : image[y * width + x]));
    }
  float part[6];
  HIP(hipMemcpy2DFromArray(part, 3 * sizeof(float), flat, 8 * sizeof(float), 4, 3 * sizeof(float), 2,
                           hipMemcpyDeviceToHost));
  CHECK(part[0] == -7 && part[2] == -9 && part[3] == -12 && part[5] == -14);
  HIP(hipFreeArray(flat));

  hipArray* volume;
  HIP(hipMalloc3DArray(&volume, &format, make_hipExtent(width, height, depth), hipArrayDefault));
  hipMemcpy3DParms in = {};
  in.srcPtr = make_hipPitchedPtr(image.data(), row, width, height);
  in.dstArray = volume;
  in.extent = make_hipExtent(width, height, depth);
  in.kind = hipMemcpyHostToDevice;
  HIP(hipMemcpy3D(&in));
  // Slices 2 to 4, to linear memory of the device, without gaps: HIP 5.2 leaves none whatever the pitch.
  float* linear;
  HIP(hipMalloc(&linear, row * height * 3));
  hipMemcpy3DParms across = {};
  across.srcArray = volume;
  across.srcPos = make_hipPos(0, 0, 2);
  across.dstPtr = make_hipPitchedPtr(linear, row, width, height);
  across.extent = make_hipExtent(width, height, 3);
  across.kind = hipMemcpyDeviceToDevice;
  HIP(hipMemcpy3D(&across));
  HIP(hipMemcpy(back.data(), linear, row * height * 3, hipMemcpyDeviceToHost));
  for (size_t i = 0; i < width * height * 3; ++i) CHECK(back[i] == image[i + 2 * width * height]);
  hipMemcpy3DParms out = {};
  out.srcArray = volume;
  out.dstPtr = make_hipPitchedPtr(back.data(), row, width, height);
  out.extent = in.extent;
  out.kind = hipMemcpyDeviceToHost;
  HIP(hipMemcpy3D(&out));
  CHECK(back == image);
  HIP(hipFree(linear));
  HIP(hipFreeArray(volume));

  const hipChannelFormatDesc pairs = hipCreateChannelDesc<short2>();
  HIP(hipMallocArray(&flat, &pairs, 500, 0));
  std::vector<short> line(1000), line_back(1000);
  for (size_t i = 0; i < line.size(); ++i) line[i] = static_cast<short>(i * 31);
  HIP(hipMemcpyToArray(flat, 0, 0, line.data(), 2000, hipMemcpyHostToDevice));
  HIP(hipMemcpyFromArray(line_back.data(), flat, 0, 0, 2000, hipMemcpyDeviceToHost));
  CHECK(line_back == line);
  HIP(hipFreeArray(flat));
}
