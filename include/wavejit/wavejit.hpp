// wavejit: runs AMD GCN machine code on x86-64 CPUs. C++17 RAII wrapper over the C API; header only.
//
// Functions throw wavejit::Exception where the C function fails. Ownership, thread-safety and units are those of
// wavejit.h.
//
//   wavejit::Module module = wavejit::Module::load_file("vadd.co", "gfx906");
//   wavejit::Kernel kernel = module.kernel("vadd");
//   wavejit::Buffer<float> a(n), b(n), c(n);
//   kernel.set_args(a, b, c, n);
//   wavejit::LaunchOptions options;
//   options.global[0] = n;
//   wavejit::LaunchStats stats = kernel.launch(options);
#ifndef WAVEJIT_WAVEJIT_HPP_
#define WAVEJIT_WAVEJIT_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "wavejit/wavejit.h"

namespace wavejit {
// A version namespace keeps these classes apart from the library's own symbols when it is linked statically.
inline namespace v0 {

// A failed call: what() is the message.
class Exception : public std::runtime_error {
 public:
  explicit Exception(const wavejit_error* error)
      : std::runtime_error(error ? wavejit_error_message(error) : "unknown error"),
        status_(error ? wavejit_error_status(error) : WAVEJIT_INTERNAL) {
    if (!error) return;
    if (const char* kernel = wavejit_error_kernel(error)) kernel_ = kernel;
    std::uint64_t wide = 0;
    std::uint32_t narrow = 0;
    if (wavejit_error_pc(error, &wide)) pc_ = wide;
    if (wavejit_error_lane(error, &narrow)) lane_ = narrow;
    if (wavejit_error_address(error, &wide)) address_ = wide;
  }

  [[nodiscard]] wavejit_status status() const noexcept { return status_; }
  [[nodiscard]] const std::string& kernel() const noexcept { return kernel_; }
  [[nodiscard]] std::optional<std::uint64_t> pc() const noexcept { return pc_; }
  [[nodiscard]] std::optional<std::uint32_t> lane() const noexcept { return lane_; }
  [[nodiscard]] std::optional<std::uint64_t> address() const noexcept { return address_; }

 private:
  wavejit_status status_;
  std::string kernel_;
  std::optional<std::uint64_t> pc_, address_;
  std::optional<std::uint32_t> lane_;
};

inline void check(wavejit_status status) {
  if (status != WAVEJIT_OK) throw Exception(wavejit_last_error());
}

// Zero-initialised options with `size` set; the fields are those of the C struct.
struct LaunchOptions : wavejit_launch_options {
  LaunchOptions() : wavejit_launch_options(wavejit_launch_options_default()) {}
};

// For LaunchOptions::device. Outlives its launches.
class Device {
 public:
  explicit Device(std::uint32_t waves = 0) : handle_(wavejit_device_create(waves)) {
    if (!handle_) throw std::bad_alloc();
  }
  [[nodiscard]] wavejit_device* handle() const noexcept { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(wavejit_device* device) const noexcept { wavejit_device_destroy(device); }
  };
  std::unique_ptr<wavejit_device, Destroy> handle_;
};

struct LaunchStats : wavejit_launch_stats {
  LaunchStats() : wavejit_launch_stats(wavejit_launch_stats_default()) {}
};

// `size()` elements of zero-filled memory that ends before an inaccessible page.
template <typename T>
class Buffer {
  static_assert(std::is_trivially_copyable<T>::value, "buffers hold plain data");

 public:
  explicit Buffer(std::size_t count) : size_(count) {
    void* pointer = nullptr;
    check(wavejit_buffer_alloc(count * sizeof(T), &pointer));
    data_.reset(static_cast<T*>(pointer));
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    for (std::size_t i = 0; i < size_; ++i) data_.get()[i] = values[i];
  }

  [[nodiscard]] T* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return size_ * sizeof(T); }
  [[nodiscard]] T& operator[](std::size_t index) const noexcept { return data_.get()[index]; }
  [[nodiscard]] T* begin() const noexcept { return data(); }
  [[nodiscard]] T* end() const noexcept { return data() + size_; }
  [[nodiscard]] std::vector<T> to_vector() const { return std::vector<T>(begin(), end()); }

 private:
  struct Free {
    void operator()(T* pointer) const noexcept { wavejit_buffer_free(pointer); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_;
};

// Bytes of LDS for a local pointer argument.
struct Local {
  std::uint32_t bytes;
};

class Kernel {
 public:
  explicit Kernel(wavejit_kernel* handle) noexcept : handle_(handle) {}

  [[nodiscard]] wavejit_kernel* handle() const noexcept { return handle_.get(); }

  [[nodiscard]] wavejit_kernel_info info() const {
    wavejit_kernel_info info{};
    info.size = sizeof info;
    check(wavejit_kernel_get_info(handle(), &info));
    return info;
  }
  [[nodiscard]] wavejit_arg_info arg(std::uint32_t index) const {
    wavejit_arg_info info{};
    info.size = sizeof info;
    check(wavejit_kernel_arg(handle(), index, &info));
    return info;
  }

  void set_arg(std::uint32_t index, const void* data, std::size_t bytes) {
    check(wavejit_kernel_set_arg(handle(), index, data, bytes));
  }
  void set_arg_pointer(std::uint32_t index, const void* pointer) {
    check(wavejit_kernel_set_arg_pointer(handle(), index, pointer));
  }
  void set_arg_local(std::uint32_t index, std::uint32_t bytes) {
    check(wavejit_kernel_set_arg_local(handle(), index, bytes));
  }
  void set_kernarg(const void* data, std::size_t bytes) { check(wavejit_kernel_set_kernarg(handle(), data, bytes)); }

  // One argument by type: a Buffer, a pointer, Local, or a plain value whose size is the argument's.
  template <typename T>
  void set(std::uint32_t index, const Buffer<T>& buffer) {
    set_arg_pointer(index, buffer.data());
  }
  void set(std::uint32_t index, Local local) { set_arg_local(index, local.bytes); }
  template <typename T>
  void set(std::uint32_t index, const T& value) {
    static_assert(std::is_trivially_copyable<T>::value, "arguments are plain data");
    set_arg(index, &value, sizeof value);
  }
  // All arguments from the first one on.
  template <typename... Args>
  void set_args(const Args&... args) {
    std::uint32_t index = 0;
    (set(index++, args), ...);
  }

  LaunchStats launch(const wavejit_launch_options& options) const {
    LaunchStats stats;
    check(wavejit_launch(handle(), &options, &stats));
    return stats;
  }

  [[nodiscard]] std::string dump(wavejit_dump_kind kind, const char* stage = nullptr,
                                 wavejit_isa isa = WAVEJIT_ISA_AUTO) const {
    wavejit_dump_options options{};
    options.size = sizeof options;
    options.kind = kind;
    options.isa = isa;
    options.stage = stage;
    std::string text;
    check(wavejit_kernel_dump(
        handle(), &options,
        [](void* user, const char* piece, std::size_t length) {
          static_cast<std::string*>(user)->append(piece, length);
        },
        &text));
    return text;
  }

  // The result's issues are valid until the next call on this thread.
  [[nodiscard]] wavejit_coverage coverage(wavejit_isa isa = WAVEJIT_ISA_AUTO) const {
    wavejit_coverage coverage{};
    coverage.size = sizeof coverage;
    check(wavejit_kernel_coverage(handle(), isa, &coverage));
    return coverage;
  }

 private:
  struct Destroy {
    void operator()(wavejit_kernel* kernel) const noexcept { wavejit_kernel_destroy(kernel); }
  };
  std::unique_ptr<wavejit_kernel, Destroy> handle_;
};

class Module {
 public:
  explicit Module(wavejit_module* handle) noexcept : handle_(handle) {}

  // An empty target or kernel means any.
  static Module load_file(const std::string& path, const std::string& target = {}, const std::string& kernel = {}) {
    const wavejit_load_options options = make_options(target, kernel);
    wavejit_module* handle = nullptr;
    check(wavejit_module_load_file(path.c_str(), &options, &handle));
    return Module(handle);
  }
  static Module load_memory(const void* data, std::size_t bytes, const std::string& target = {},
                            const std::string& kernel = {}) {
    const wavejit_load_options options = make_options(target, kernel);
    wavejit_module* handle = nullptr;
    check(wavejit_module_load_memory(data, bytes, &options, &handle));
    return Module(handle);
  }

  [[nodiscard]] wavejit_module* handle() const noexcept { return handle_.get(); }
  [[nodiscard]] std::string target() const { return wavejit_module_target(handle()); }
  [[nodiscard]] std::uint32_t object_version() const noexcept { return wavejit_module_object_version(handle()); }
  [[nodiscard]] std::vector<std::string> kernel_names() const {
    std::vector<std::string> names;
    const std::size_t count = wavejit_module_kernel_count(handle());
    for (std::size_t i = 0; i < count; ++i) names.emplace_back(wavejit_module_kernel_name(handle(), i));
    return names;
  }
  [[nodiscard]] Kernel kernel(const std::string& name) const {
    wavejit_kernel* kernel = nullptr;
    check(wavejit_kernel_create(handle(), name.c_str(), &kernel));
    return Kernel(kernel);
  }
  [[nodiscard]] Kernel kernel(std::size_t index) const {
    wavejit_kernel* kernel = nullptr;
    check(wavejit_kernel_create_at(handle(), index, &kernel));
    return Kernel(kernel);
  }

  [[nodiscard]] wavejit_variable_info variable(const std::string& name) const {
    wavejit_variable_info info{};
    info.size = sizeof info;
    check(wavejit_module_find_variable(handle(), name.c_str(), &info));
    return info;
  }
  template <typename T>
  [[nodiscard]] T read_variable(const std::string& name, std::uint64_t offset = 0) const {
    static_assert(std::is_trivially_copyable<T>::value, "variables are plain data");
    T value{};
    check(wavejit_variable_read(handle(), name.c_str(), offset, &value, sizeof value));
    return value;
  }
  template <typename T>
  void write_variable(const std::string& name, const T& value, std::uint64_t offset = 0) const {
    static_assert(std::is_trivially_copyable<T>::value, "variables are plain data");
    check(wavejit_variable_write(handle(), name.c_str(), offset, &value, sizeof value));
  }

 private:
  static wavejit_load_options make_options(const std::string& target, const std::string& kernel) {
    wavejit_load_options options{};
    options.size = sizeof options;
    options.target = target.empty() ? nullptr : target.c_str();
    options.kernel = kernel.empty() ? nullptr : kernel.c_str();
    return options;
  }

  struct Destroy {
    void operator()(wavejit_module* module) const noexcept { wavejit_module_destroy(module); }
  };
  std::unique_ptr<wavejit_module, Destroy> handle_;
};

class Container {
 public:
  explicit Container(wavejit_container* handle) noexcept : handle_(handle) {}

  static Container open(const std::string& path) {
    wavejit_container* handle = nullptr;
    check(wavejit_container_open(path.c_str(), &handle));
    return Container(handle);
  }
  static Container parse(const void* data, std::size_t bytes) {
    wavejit_container* handle = nullptr;
    check(wavejit_container_parse(data, bytes, &handle));
    return Container(handle);
  }

  [[nodiscard]] wavejit_container* handle() const noexcept { return handle_.get(); }
  [[nodiscard]] std::string kind() const { return wavejit_container_kind(handle()); }
  [[nodiscard]] std::size_t size() const noexcept { return wavejit_container_entry_count(handle()); }
  [[nodiscard]] wavejit_entry_info entry(std::size_t index) const {
    wavejit_entry_info info{};
    info.size = sizeof info;
    check(wavejit_container_entry(handle(), index, &info));
    return info;
  }
  [[nodiscard]] Module load(std::size_t index) const {
    wavejit_module* module = nullptr;
    check(wavejit_module_load_entry(handle(), index, &module));
    return Module(module);
  }

 private:
  struct Destroy {
    void operator()(wavejit_container* container) const noexcept { wavejit_container_destroy(container); }
  };
  std::unique_ptr<wavejit_container, Destroy> handle_;
};

// What launches have executed; for LaunchOptions::report.
class Report {
 public:
  struct Entry {
    wavejit_instruction_info instruction;
    std::uint64_t count;
  };
  Report() : handle_(wavejit_report_create()) {
    if (!handle_) throw std::bad_alloc();
  }
  [[nodiscard]] wavejit_report* handle() const noexcept { return handle_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return wavejit_report_size(handle()); }
  [[nodiscard]] Entry operator[](std::size_t index) const {
    std::size_t instruction = 0;
    Entry entry{};
    check(wavejit_report_entry(handle(), index, &instruction, &entry.count));
    entry.instruction.size = sizeof entry.instruction;
    check(wavejit_instruction_get_info(instruction, &entry.instruction));
    return entry;
  }

 private:
  struct Destroy {
    void operator()(wavejit_report* report) const noexcept { wavejit_report_destroy(report); }
  };
  std::unique_ptr<wavejit_report, Destroy> handle_;
};

// What instructions of kernels did; for LaunchOptions::profile.
class Profile {
 public:
  Profile() : handle_(wavejit_profile_create()) {
    if (!handle_) throw std::bad_alloc();
  }
  [[nodiscard]] wavejit_profile* handle() const noexcept { return handle_.get(); }
  // Of the kernel's instructions that were executed, in the order of addresses.
  [[nodiscard]] std::vector<wavejit_profile_entry> entries(const Kernel& kernel) const {
    std::vector<wavejit_profile_entry> all;
    for (;;) {
      wavejit_profile_entry entry{};
      entry.size = sizeof entry;
      const wavejit_status status = wavejit_profile_get_entry(handle(), kernel.handle(), all.size(), &entry);
      if (status == WAVEJIT_NOT_FOUND) return all;
      check(status);
      all.push_back(entry);
    }
  }
  // The annotated disassembly.
  [[nodiscard]] std::string text(const Kernel& kernel) const {
    std::string result;
    const auto append = [](void* user, const char* text, std::size_t length) {
      static_cast<std::string*>(user)->append(text, length);
    };
    check(wavejit_profile_write(handle(), kernel.handle(), append, &result));
    return result;
  }

 private:
  struct Destroy {
    void operator()(wavejit_profile* profile) const noexcept { wavejit_profile_destroy(profile); }
  };
  std::unique_ptr<wavejit_profile, Destroy> handle_;
};

// The cache of translations on disk, of the whole process.
struct CacheOptions : wavejit_cache_options {
  CacheOptions() : wavejit_cache_options(wavejit_cache_options_default()) {}
};
inline void configure_cache(const CacheOptions& options = {}) {
  check(wavejit_cache_configure(&options));
}
[[nodiscard]] inline wavejit_cache_info cache_info() {
  wavejit_cache_info info{};
  info.size = sizeof info;
  check(wavejit_cache_get_info(&info));
  return info;
}
// Returns the number of entries there were.
inline std::uint64_t clear_cache() {
  std::uint64_t removed = 0;
  check(wavejit_cache_clear(&removed));
  return removed;
}

}  // namespace v0
}  // namespace wavejit

#endif  // WAVEJIT_WAVEJIT_HPP_
