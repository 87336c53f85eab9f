// Whole kernels with their launches, data and host references, described without reference to any engine: the same case
// is run by the kernel tests, the benchmarks and the OpenCL peer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wavejit::kernels {

enum class Language : uint8_t { kOpenCl, kHip, kAssembly };

// kTest is small enough for the interpreter to run -O0 code in a fraction of a second; kBench is for timing.
enum class Size : uint8_t { kTest, kBench };

// A two-dimensional image: rows of pixels, one behind the other.
enum class ImageFormat : uint8_t { kNone, kRgbaUnorm8, kRgbaUint8, kRgbaF32, kRF32 };
struct Image {
  ImageFormat format = ImageFormat::kNone;
  uint32_t width = 0, height = 0;
};

// Device memory, named after the kernel's parameter. `bytes` is the initial content before and the result after a run.
struct Buffer {
  std::string name;
  std::vector<uint8_t> bytes;
  Image image = {};  // what it is besides, for arguments that are images

  template <typename T>
  [[nodiscard]] std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <typename T>
  [[nodiscard]] std::span<T> as() {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

// One explicit kernel argument.
struct Arg {
  enum class Kind : uint8_t { kBuffer, kScalar, kLocal, kImage };
  Kind kind = Kind::kScalar;
  uint32_t buffer = 0;          // kBuffer, kImage: index into KernelCase::buffers
  uint64_t offset = 0;          // kBuffer: byte offset into it
  std::vector<uint8_t> scalar;  // kScalar: the value's bytes (1..16)
  uint32_t local_bytes = 0;     // kLocal: size of the local array the argument points to
};

[[nodiscard]] inline Arg buffer_arg(uint32_t index, uint64_t offset = 0) {
  return {.kind = Arg::Kind::kBuffer, .buffer = index, .offset = offset, .scalar = {}};
}
[[nodiscard]] inline Arg image_arg(uint32_t index) {
  return {.kind = Arg::Kind::kImage, .buffer = index, .scalar = {}};
}
template <typename T>
[[nodiscard]] Arg scalar_arg(const T& value) {
  Arg arg;
  arg.scalar.resize(sizeof value);
  std::memcpy(arg.scalar.data(), &value, sizeof value);
  return arg;
}
[[nodiscard]] inline Arg local_arg(uint32_t bytes) {
  return {.kind = Arg::Kind::kLocal, .scalar = {}, .local_bytes = bytes};
}

// One dispatch. `global` counts work-items (not groups) and need not be a multiple of `local`.
struct Launch {
  std::string kernel;
  std::array<uint32_t, 3> global = {1, 1, 1};
  std::array<uint32_t, 3> local = {1, 1, 1};
  std::vector<Arg> args;
  uint32_t dynamic_lds = 0;  // bytes beyond the static ones and the kLocal arguments (HIP's extern __shared__)
};

// Compares buffers after the run with the host reference; on a mismatch says what differs in *why.
using Check = std::function<bool(std::span<const Buffer>, std::string* why)>;

struct KernelCase {
  std::string name;    // unique
  std::string object;  // stem of the source file and of the code object
  Language language = Language::kOpenCl;
  std::vector<Buffer> buffers;
  std::vector<Launch> launches;  // run in order on the same buffers
  Check check;
  bool expect_trap = false;      // the (last) launch must end with ErrorCode::kGuestTrap; check is still applied
  std::string opencl_exclusion;  // why a plain OpenCL 1.2 implementation cannot run it; empty when it can
  // Work done by all launches together, e.g. 12.5 of "GFLOP"; rate = work / time.
  std::string unit;
  double work = 0;

  [[nodiscard]] std::string source_path() const;  // relative to tests/kernels
  // Whether there is code for a processor. For gfx90a there is none with images: its compiler knows not all of the
  // library's instructions, and unoptimised code has them all.
  [[nodiscard]] bool is_for(std::string_view processor) const;
};

struct KernelCaseFactory {
  std::string_view name;
  KernelCase (*make)(Size size);
};

// Every case, in a fixed order. Creating a case computes its data (and, lazily in check, its reference).
[[nodiscard]] std::span<const KernelCaseFactory> all_cases();
[[nodiscard]] const KernelCaseFactory* find_case(std::string_view name);

}  // namespace wavejit::kernels
