// HIP's virtual memory and memory pools: for HIP 6.4 and later, in their roots (scripts/suites.sh ci). Runs on every device.
#include <unistd.h>

#include <vector>

#include "check.h"

__global__ void fill(int* data, size_t n, int value) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i < n) data[i] = value + static_cast<int>(i);
}
__global__ void add(const int* a, const int* b, int* out, size_t n) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}

static unsigned groups(size_t n) {
  return static_cast<unsigned>((n + 255) / 256);
}

static hipMemAllocationProp properties_of(int device, hipMemAllocationHandleType handle = hipMemHandleTypeNone) {
  hipMemAllocationProp p{};
  p.type = hipMemAllocationTypePinned;
  p.location.type = hipMemLocationTypeDevice;
  p.location.id = device;
  p.requestedHandleType = handle;
  return p;
}

static void allow(void* address, size_t bytes, int device, hipMemAccessFlags flags = hipMemAccessFlagsProtReadWrite) {
  hipMemAccessDesc access{};
  access.location.type = hipMemLocationTypeDevice;
  access.location.id = device;
  access.flags = flags;
  HIP(hipMemSetAccess(address, bytes, &access, 1));
}

static char* reserve(size_t bytes) {
  void* address = nullptr;
  HIP(hipMemAddressReserve(&address, bytes, 0, nullptr, 0));
  CHECK(address != nullptr);
  return static_cast<char*>(address);
}

static void check_filled(const int* device_data, size_t n, int value) {
  std::vector<int> host(n);
  HIP(hipMemcpy(host.data(), device_data, n * sizeof(int), hipMemcpyDeviceToHost));
  for (size_t i = 0; i < n; ++i) CHECK(host[i] == value + static_cast<int>(i));
}

static size_t granularity(int device) {
  const hipMemAllocationProp p = properties_of(device);
  size_t minimum = 0, recommended = 0;
  HIP(hipMemGetAllocationGranularity(&minimum, &p, hipMemAllocationGranularityMinimum));
  HIP(hipMemGetAllocationGranularity(&recommended, &p, hipMemAllocationGranularityRecommended));
  CHECK(minimum != 0 && recommended % minimum == 0);
  return recommended;
}

// A segment that grows piece by piece at the same address, as PyTorch's expandable ones do, and gives pieces in the middle back.
static void expandable(int device) {
  const size_t piece = granularity(device), pieces = 6;
  const hipMemAllocationProp p = properties_of(device);
  char* const base = reserve(piece * pieces);
  std::vector<hipMemGenericAllocationHandle_t> handles(pieces);
  const size_t ints = piece / sizeof(int);
  for (size_t i = 0; i < pieces; ++i) {
    HIP(hipMemCreate(&handles[i], piece, &p, 0));
    HIP(hipMemMap(base + i * piece, piece, 0, handles[i], 0));
    allow(base + i * piece, piece, device);
    auto* const data = reinterpret_cast<int*>(base);
    fill<<<groups((i + 1) * ints), 256>>>(data, (i + 1) * ints, static_cast<int>(i));
    HIP(hipDeviceSynchronize());
    check_filled(data, (i + 1) * ints, static_cast<int>(i));
  }
  // The middle is replaced; the rest is as it was.
  const auto give_back = [&](size_t i) {
    HIP(hipMemUnmap(base + i * piece, piece));
    HIP(hipMemRelease(handles[i]));
  };
  for (const size_t i : {2, 3}) give_back(i);
  hipMemGenericAllocationHandle_t wide{};
  HIP(hipMemCreate(&wide, 2 * piece, &p, 0));
  HIP(hipMemMap(base + 2 * piece, 2 * piece, 0, wide, 0));
#if HIP_VERSION_MAJOR < 7
  allow(base + 2 * piece, 2 * piece, device);
#else
  // hipMemSetAccess of HIP 7.2 wants the size to be the sum of the first mappings of the reservation, in the order of their
  // objects' addresses: the whole range always passes, a part of mappings that differ in size only by chance.
  allow(base, piece * pieces, device);
#endif
  auto* const middle = reinterpret_cast<int*>(base + 2 * piece);
  fill<<<groups(2 * ints), 256>>>(middle, 2 * ints, 1000);
  HIP(hipDeviceSynchronize());
  check_filled(middle, 2 * ints, 1000);
  check_filled(reinterpret_cast<int*>(base), 2 * ints, static_cast<int>(pieces - 1));
  unsigned long long flags = 0;
  hipMemLocation where{};
  where.type = hipMemLocationTypeDevice;
  where.id = device;
  HIP(hipMemGetAccess(&flags, &where, base));
  CHECK(flags == hipMemAccessFlagsProtReadWrite);
  HIP(hipMemUnmap(middle, 2 * piece));
  HIP(hipMemRelease(wide));
  for (const size_t i : {0, 1, 4, 5}) give_back(i);
  HIP(hipMemAddressFree(base, piece * pieces));
}

// One piece of memory at two addresses.
static void aliases(int device) {
  const size_t bytes = granularity(device), ints = bytes / sizeof(int);
  const hipMemAllocationProp p = properties_of(device);
  hipMemGenericAllocationHandle_t handle{};
  HIP(hipMemCreate(&handle, bytes, &p, 0));
  char* const one = reserve(bytes);
  char* const two = reserve(bytes);
  CHECK(one != two);
  for (char* const address : {one, two}) {
    HIP(hipMemMap(address, bytes, 0, handle, 0));
    allow(address, bytes, device);
  }
  fill<<<groups(ints), 256>>>(reinterpret_cast<int*>(one), ints, 7);
  add<<<groups(ints), 256>>>(reinterpret_cast<int*>(one), reinterpret_cast<int*>(two), reinterpret_cast<int*>(two),
                             ints);
  std::vector<int> host(ints);
  HIP(hipMemcpy(host.data(), one, bytes, hipMemcpyDeviceToHost));
  for (size_t i = 0; i < ints; ++i) CHECK(host[i] == 2 * (7 + static_cast<int>(i)));
  hipMemAllocationProp found{};
  HIP(hipMemGetAllocationPropertiesFromHandle(&found, handle));
  CHECK(found.location.id == device);
  for (char* const address : {one, two}) {
    HIP(hipMemUnmap(address, bytes));
    HIP(hipMemAddressFree(address, bytes));
  }
  HIP(hipMemRelease(handle));
}

// Exported as a file descriptor and imported again: the same memory.
static void shared(int device) {
  const size_t bytes = granularity(device), ints = bytes / sizeof(int);
  const hipMemAllocationProp p = properties_of(device, hipMemHandleTypePosixFileDescriptor);
  hipMemGenericAllocationHandle_t handle{}, imported{};
  HIP(hipMemCreate(&handle, bytes, &p, 0));
  int file = -1;
  HIP(hipMemExportToShareableHandle(&file, handle, hipMemHandleTypePosixFileDescriptor, 0));
  CHECK(file >= 0);
#if HIP_VERSION_MAJOR < 7
  void* const descriptor = &file;  // HIP 6 takes the address
#else
  void* const descriptor = reinterpret_cast<void*>(static_cast<intptr_t>(file));
#endif
  HIP(hipMemImportFromShareableHandle(&imported, descriptor, hipMemHandleTypePosixFileDescriptor));
  close(file);
  char* const one = reserve(bytes);
  char* const two = reserve(bytes);
  HIP(hipMemMap(one, bytes, 0, handle, 0));
  HIP(hipMemMap(two, bytes, 0, imported, 0));
  allow(one, bytes, device);
  allow(two, bytes, device);
  fill<<<groups(ints), 256>>>(reinterpret_cast<int*>(one), ints, 21);
  HIP(hipDeviceSynchronize());
  check_filled(reinterpret_cast<int*>(two), ints, 21);
  HIP(hipMemUnmap(one, bytes));
  HIP(hipMemUnmap(two, bytes));
  HIP(hipMemAddressFree(one, bytes));
  HIP(hipMemAddressFree(two, bytes));
  HIP(hipMemRelease(imported));
  HIP(hipMemRelease(handle));
}

// Memory of one device that another writes to.
static void peers(int owner, int other) {
  const size_t bytes = granularity(owner), ints = bytes / sizeof(int);
  const hipMemAllocationProp p = properties_of(owner);
  hipMemGenericAllocationHandle_t handle{};
  HIP(hipMemCreate(&handle, bytes, &p, 0));
  char* const address = reserve(bytes);
  HIP(hipMemMap(address, bytes, 0, handle, 0));
  hipMemAccessDesc access[2]{};
  for (int i = 0; i < 2; ++i) {
    access[i].location.type = hipMemLocationTypeDevice;
    access[i].location.id = i == 0 ? owner : other;
    access[i].flags = hipMemAccessFlagsProtReadWrite;
  }
  HIP(hipMemSetAccess(address, bytes, access, 2));
  // Each device's rights are its own.
  allow(address, bytes, other, hipMemAccessFlagsProtRead);
  const auto flags_of = [&](int device) {
    unsigned long long flags = 0;
    hipMemLocation where{};
    where.type = hipMemLocationTypeDevice;
    where.id = device;
    HIP(hipMemGetAccess(&flags, &where, address));
    return flags;
  };
  CHECK(flags_of(owner) == hipMemAccessFlagsProtReadWrite && flags_of(other) == hipMemAccessFlagsProtRead);
  allow(address, bytes, other);
  HIP(hipSetDevice(other));
  fill<<<groups(ints), 256>>>(reinterpret_cast<int*>(address), ints, 5);
  HIP(hipDeviceSynchronize());
  HIP(hipSetDevice(owner));
  add<<<groups(ints), 256>>>(reinterpret_cast<int*>(address), reinterpret_cast<int*>(address),
                             reinterpret_cast<int*>(address), ints);
  std::vector<int> host(ints);
  HIP(hipMemcpy(host.data(), address, bytes, hipMemcpyDeviceToHost));
  for (size_t i = 0; i < ints; ++i) CHECK(host[i] == 2 * (5 + static_cast<int>(i)));
  HIP(hipMemUnmap(address, bytes));
  HIP(hipMemAddressFree(address, bytes));
  HIP(hipMemRelease(handle));
}

// A pool of one's own, and the device's, over two streams.
static void pools(int device) {
  hipMemPoolProps properties{};
  properties.allocType = hipMemAllocationTypePinned;
  properties.location.type = hipMemLocationTypeDevice;
  properties.location.id = device;
  hipMemPool_t pool, own;
  HIP(hipDeviceGetDefaultMemPool(&pool, device));
  HIP(hipMemPoolCreate(&own, &properties));
  uint64_t keep = ~uint64_t{0};
  HIP(hipMemPoolSetAttribute(own, hipMemPoolAttrReleaseThreshold, &keep));
  hipStream_t streams[2];
  for (hipStream_t& s : streams) HIP(hipStreamCreate(&s));
  const size_t n = 100'000;
  std::vector<int> host(n);
  for (int round = 0; round < 30; ++round) {
    const hipStream_t s = streams[round % 2];
    int *a, *b, *out;
    HIP(hipMallocFromPoolAsync(reinterpret_cast<void**>(&a), n * sizeof(int), own, s));
    HIP(hipMallocFromPoolAsync(reinterpret_cast<void**>(&b), (n + static_cast<size_t>(round) * 777) * sizeof(int), pool,
                               s));
    HIP(hipMallocAsync(reinterpret_cast<void**>(&out), n * sizeof(int), s));
    fill<<<groups(n), 256, 0, s>>>(a, n, round);
    fill<<<groups(n), 256, 0, s>>>(b, n, 3);
    add<<<groups(n), 256, 0, s>>>(a, b, out, n);
    HIP(hipMemcpyAsync(host.data(), out, n * sizeof(int), hipMemcpyDeviceToHost, s));
    for (int* const memory : {a, b, out}) HIP(hipFreeAsync(memory, s));
    HIP(hipStreamSynchronize(s));
    for (size_t i = 0; i < n; ++i) CHECK(host[i] == round + 3 + 2 * static_cast<int>(i));
  }
  uint64_t used = 1, reserved = 0;
  HIP(hipMemPoolGetAttribute(own, hipMemPoolAttrUsedMemCurrent, &used));
  HIP(hipMemPoolGetAttribute(own, hipMemPoolAttrReservedMemCurrent, &reserved));
  CHECK(used == 0 && reserved >= n * sizeof(int));
  HIP(hipMemPoolTrimTo(own, 0));
  HIP(hipMemPoolGetAttribute(own, hipMemPoolAttrReservedMemCurrent, &reserved));
  CHECK(reserved == 0);
  for (const hipStream_t s : streams) HIP(hipStreamDestroy(s));
  HIP(hipMemPoolDestroy(own));
}

int main() {
  int devices = 0;
  HIP(hipGetDeviceCount(&devices));
  for (int device = 0; device < devices; ++device) {
    HIP(hipSetDevice(device));
    int supported = 0;
    HIP(hipDeviceGetAttribute(&supported, hipDeviceAttributeVirtualMemoryManagementSupported, device));
    CHECK(supported == 1);
    expandable(device);
    aliases(device);
    shared(device);
    pools(device);
    if (device > 0) peers(device - 1, device);
  }
  std::printf("virtual memory and pools on %d device%s: right\n", devices, devices == 1 ? "" : "s");
}
