// Copies and fills in one, two and three dimensions, at odd sizes, offsets and pitches, in all directions.
#include <vector>

#include "check.h"

using Bytes = std::vector<unsigned char>;

Bytes noise(size_t n, unsigned seed) {
  Bytes bytes(n);
  for (auto& b : bytes) b = static_cast<unsigned char>((seed = seed * 1103515245 + 12345) >> 16);
  return bytes;
}
Bytes fetch(const void* device, size_t n) {
  Bytes bytes(n);
  HIP(hipMemcpy(bytes.data(), device, n, hipMemcpyDeviceToHost));
  return bytes;
}

void linear() {
  for (const size_t n : {1, 3, 63, 64, 65, 4095, 4097, 262143, 300001}) {
    char *a, *b;
    HIP(hipMalloc(&a, n + 7));
    HIP(hipMalloc(&b, n + 7));
    const Bytes data = noise(n, static_cast<unsigned>(n));
    HIP(hipMemset(a, 0x5a, n + 7));
    HIP(hipMemcpyHtoD(a + 5, const_cast<unsigned char*>(data.data()), n));
    HIP(hipMemcpy(b + 1, a + 5, n, hipMemcpyDeviceToDevice));
    Bytes back(n);
    HIP(hipMemcpyDtoH(back.data(), b + 1, n));
    CHECK(back == data);
    const Bytes whole = fetch(a, n + 7);
    CHECK(whole[4] == 0x5a && whole[n + 5] == 0x5a);
    HIP(hipMemcpyAsync(b, data.data(), n, hipMemcpyDefault, nullptr));
    HIP(hipMemcpyAsync(back.data(), b, n, hipMemcpyDefault, nullptr));
    HIP(hipStreamSynchronize(nullptr));
    CHECK(back == data);
    HIP(hipMemcpyWithStream(back.data(), a + 5, n, hipMemcpyDeviceToHost, nullptr));
    CHECK(back == data);
    HIP(hipFree(a));
    HIP(hipFree(b));
  }
}

// Fills of `width`-byte values: what is around them stays. (Those that do not get to the next multiple of 8 bytes from
// their start are wrong in HIP 5.2 itself: FillBufferInfo::PackInfo subtracts more than there is.)
void fills() {
  const size_t bytes = 40000;
  char* memory;
  HIP(hipMalloc(&memory, bytes));
  const auto check = [&](size_t first, size_t count, size_t width, unsigned value, auto&& fill) {
    if (count * width < (8 - first % 8) % 8) return;
    HIP(hipMemset(memory, 0x11, bytes));
    fill(memory + first);
    HIP(hipDeviceSynchronize());
    const Bytes all = fetch(memory, bytes);
    for (size_t i = 0; i < bytes; ++i) {
      const bool in = i >= first && i < first + count * width;
      CHECK(all[i] == (in ? static_cast<unsigned char>(value >> 8 * ((i - first) % width)) : 0x11));
    }
  };
  for (const size_t n : {1, 2, 3, 15, 16, 17, 255, 1000, 4099, 9001})
    for (const size_t first : {0, 4, 8, 1024}) {
      check(first + 3, n, 1, 0xa7, [&](char* p) { HIP(hipMemsetD8(p, 0xa7, n)); });
      check(first + 1, n, 1, 0xc3, [&](char* p) { HIP(hipMemsetAsync(p, 0xc3, n, nullptr)); });
      check(first + 2, n, 2, 0xbeef, [&](char* p) { HIP(hipMemsetD16(p, 0xbeef, n)); });
      check(first, n, 2, 0x1234, [&](char* p) { HIP(hipMemsetD16Async(p, 0x1234, n, nullptr)); });
      check(first, n, 4, 0x89abcdef, [&](char* p) { HIP(hipMemsetD32(p, static_cast<int>(0x89abcdef), n)); });
      check(first + 4, n, 4, 0x01020304, [&](char* p) { HIP(hipMemsetD32Async(p, 0x01020304, n, nullptr)); });
    }
  HIP(hipFree(memory));
}

struct Box {
  size_t width, height, depth;
};

void two_dimensions() {
  for (const Box box : {Box{1, 1, 1}, Box{17, 5, 1}, Box{64, 9, 1}, Box{333, 21, 1}, Box{1027, 300, 1}}) {
    char* pitched;
    size_t pitch;
    HIP(hipMallocPitch(reinterpret_cast<void**>(&pitched), &pitch, box.width + 3, box.height + 2));
    const size_t host_pitch = box.width + 13, from_pitch = box.width + 1, all = pitch * (box.height + 2);
    const Bytes data = noise(host_pitch * box.height, 9);
    HIP(hipMemset(pitched, 0x77, all));
    HIP(hipMemcpy2D(pitched + pitch + 3, pitch, data.data(), host_pitch, box.width, box.height, hipMemcpyHostToDevice));
    const Bytes device = fetch(pitched, all);
    for (size_t y = 0; y < box.height + 2; ++y)
      for (size_t x = 0; x < pitch; ++x) {
        const bool in = y >= 1 && y <= box.height && x >= 3 && x < box.width + 3;
        CHECK(device[y * pitch + x] == (in ? data[(y - 1) * host_pitch + x - 3] : 0x77));
      }
    char* dense;
    HIP(hipMalloc(&dense, from_pitch * box.height));
    HIP(hipMemset2D(dense, from_pitch, 0x21, box.width, box.height));
    Bytes filled = fetch(dense, from_pitch * box.height - 1);
    for (size_t y = 0; y < box.height; ++y)
      CHECK(filled[y * from_pitch] == 0x21 && filled[y * from_pitch + box.width - 1] == 0x21);
    HIP(hipMemcpy2DAsync(dense, from_pitch, pitched + pitch + 3, pitch, box.width, box.height, hipMemcpyDeviceToDevice,
                         nullptr));
    Bytes back(host_pitch * box.height, 0x33);
    HIP(hipMemcpy2D(back.data(), host_pitch, dense, from_pitch, box.width, box.height, hipMemcpyDefault));
    for (size_t i = 0; i < back.size(); ++i) CHECK(back[i] == (i % host_pitch < box.width ? data[i] : 0x33));
    CHECK(hipMemcpy2D(dense, box.width - 1, pitched, pitch, box.width, box.height, hipMemcpyDeviceToDevice) ==
          hipErrorInvalidPitchValue);
    HIP(hipFree(dense));
    HIP(hipFree(pitched));
  }
}

void three_dimensions() {
  for (const Box box : {Box{5, 3, 2}, Box{61, 7, 5}, Box{257, 33, 12}}) {
    hipPitchedPtr memory;
    HIP(hipMalloc3D(&memory, make_hipExtent(box.width + 2, box.height + 2, box.depth + 2)));
    const size_t slice = memory.pitch * (box.height + 2), all = slice * (box.depth + 2);
    CHECK(memory.pitch >= box.width + 2);
    HIP(hipMemset3D(memory, 0x44, make_hipExtent(memory.pitch, box.height + 2, box.depth + 2)));
    Bytes data = noise(box.width * box.height * box.depth, 3), back(data.size());
    hipMemcpy3DParms in = {};
    in.srcPtr = make_hipPitchedPtr(data.data(), box.width, box.width, box.height);
    in.dstPtr = memory;
    in.dstPtr.ysize = box.height + 2;
    in.dstPos = make_hipPos(1, 2, 1);
    in.extent = make_hipExtent(box.width, box.height, box.depth);
    in.kind = hipMemcpyHostToDevice;
    HIP(hipMemcpy3D(&in));
    const Bytes device = fetch(memory.ptr, all);
    for (size_t i = 0; i < all; ++i) {
      const size_t x = i % memory.pitch, y = i / memory.pitch % (box.height + 2), z = i / slice;
      const bool inside = x >= 1 && x <= box.width && y >= 2 && y < box.height + 2 && z >= 1 && z <= box.depth;
      CHECK(device[i] == (inside ? data[((z - 1) * box.height + y - 2) * box.width + x - 1] : 0x44));
    }
    hipMemcpy3DParms out = {};
    out.srcPtr = in.dstPtr;
    out.srcPos = in.dstPos;
    out.dstPtr = make_hipPitchedPtr(back.data(), box.width, box.width, box.height);
    out.extent = in.extent;
    out.kind = hipMemcpyDeviceToHost;
    HIP(hipMemcpy3DAsync(&out, nullptr));
    HIP(hipStreamSynchronize(nullptr));
    CHECK(back == data);
    HIP(hipFree(memory.ptr));
  }
}

int main() {
  linear();
  fills();
  two_dimensions();
  three_dimensions();
}
