// Device memory, and what happens when a call fails: the test does, with the place.
#pragma once

#include <fmt/format.h>
#include <hip/hip_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace sparse_test {

inline void expect_success(long long status, const char* call, const char* file, int line) {
  if (status != 0) throw std::runtime_error(fmt::format("{}:{}: {} returns {}", file, line, call, status));
}
// Statuses of HIP, rocSPARSE and hipSPARSE alike are 0 for success.
#define OK(call) ::sparse_test::expect_success(static_cast<long long>(call), #call, __FILE__, __LINE__)

// With ROCSPARSE_SPOIL set one number of everything that comes from the device is wrong, which every test has to
// notice.
inline bool spoils() {
  static const bool value = std::getenv("ROCSPARSE_SPOIL") != nullptr;
  return value;
}

template <typename T>
class Device {
 public:
  explicit Device(size_t count) : count_(count) {
    OK(hipMalloc(reinterpret_cast<void**>(&data_), std::max<size_t>(count, 1) * sizeof(T)));
    // What a routine does not write shows as NaNs and impossible indices.
    OK(hipMemset(data_, 0xff, count * sizeof(T)));
  }
  Device(const std::vector<T>& host) : Device(host.size()) {  // NOLINT: a copy on the device is what is meant
    if (count_ != 0) OK(hipMemcpy(data_, host.data(), count_ * sizeof(T), hipMemcpyHostToDevice));
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() {
    // A destructor has nobody to tell; a device that is lost fails the next call.
    [[maybe_unused]] const hipError_t ignored = hipFree(data_);
  }

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::vector<T> host() const {
    std::vector<T> copy(count_);
    if (count_ != 0) OK(hipMemcpy(copy.data(), data_, count_ * sizeof(T), hipMemcpyDeviceToHost));
    if (spoils() && count_ != 0) copy[count_ / 2] += T{1};
    return copy;
  }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

// Temporary memory of a routine.
using Buffer = Device<char>;

}  // namespace sparse_test
