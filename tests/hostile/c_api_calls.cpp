// Calls of the C API: null pointers, structures that are too short or too long, code objects with changed bytes, arguments
// that kernels fault on, launches of any shape, several threads.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

#include "calls.h"
#include "input.h"
#include "wavejit/wavejit.h"

namespace wavejit::hostile {
namespace {

const std::vector<uint8_t>& kernels() {
  static const std::vector<uint8_t>& bytes = *[] {
    std::ifstream file(WAVEJIT_HSA_TEST_FOLDER "/kernels.co", std::ios::binary);
    return new std::vector<uint8_t>(std::istreambuf_iterator<char>(file), {});
  }();
  return bytes;
}

void check(wavejit_status status, const char* call) {
  if (status < WAVEJIT_OK || status > WAVEJIT_INTERNAL) {
    std::fprintf(stderr, "%s answered %d\n", call, static_cast<int>(status));
    std::abort();
  }
  if (status == WAVEJIT_INTERNAL) {
    std::fprintf(stderr, "%s: %s\n", call, wavejit_error_message(wavejit_last_error()));
    std::abort();
  }
  if (status == WAVEJIT_OK) return;
  // Who calls for the first time in a thread has no error before.
  const wavejit_error* error = wavejit_last_error();
  if (!error || wavejit_error_status(error) != status || !*wavejit_error_message(error)) {
    std::fprintf(stderr, "%s left no error\n", call);
    std::abort();
  }
}
#define CALL(function, ...) check(function(__VA_ARGS__), #function)

// A structure of any size in memory of exactly that size, so that AddressSanitizer sees what is beyond it.
template <typename T>
class Sized {
 public:
  Sized(Input& input, const T& value) {
    const size_t bytes = input.below(6) != 0 ? sizeof(T) : input.below(2 * sizeof(T) + 1);
    memory_ = std::make_unique<uint64_t[]>((std::max(bytes, sizeof(size_t)) + 7) / 8);
    is_null_ = input.below(24) == 0;
    std::memcpy(memory_.get(), &value, std::min(bytes, sizeof(T)));
    const size_t said = bytes / 8 * 8;
    std::memcpy(memory_.get(), &said, sizeof said);
  }
  T* get() { return is_null_ ? nullptr : reinterpret_cast<T*>(memory_.get()); }

 private:
  std::unique_ptr<uint64_t[]> memory_;
  bool is_null_ = false;
};

class Caller {
 public:
  Caller(Input input, uint8_t* block) : input_(input), block_(block) {}
  ~Caller() {
    for (wavejit_kernel* k : kernels_) wavejit_kernel_destroy(k);
    for (wavejit_module* m : modules_) wavejit_module_destroy(m);
    for (wavejit_container* c : containers_) wavejit_container_destroy(c);
    for (void* b : buffers_) wavejit_buffer_free(b);
    wavejit_report_destroy(report_);
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  void run() {
    while (!input_.is_empty()) call();
  }

 private:
  template <typename T>
  T* any(const std::vector<T*>& list) {
    return list.empty() || input_.below(16) == 0 ? nullptr : list[input_.below(list.size())];
  }
  // What is destroyed is forgotten: a pointer to it would be the program's own mistake.
  template <typename T>
  T* take(std::vector<T*>& list) {
    if (list.empty() || input_.below(16) == 0) return nullptr;
    const auto it = list.begin() + static_cast<ptrdiff_t>(input_.below(list.size()));
    T* taken = *it;
    list.erase(it);
    return taken;
  }
  const char* name() {
    constexpr const char* kNames[] = {"add",          "write_at", "raise",  "trap",    "read_table",
                                      "small_groups", "notify",   "add.kd", "nothing", ""};
    return input_.below(16) == 0 ? nullptr : kNames[input_.below(std::size(kNames))];
  }
  void* address() {
    switch (input_.below(5)) {
      case 0:
        return nullptr;
      case 1:
        return reinterpret_cast<void*>(input_.number() & 0xffff);
      case 2:
        return reinterpret_cast<void*>(input_.word() | uint64_t{1} << 48);
      default:
        return block_ + 8 * input_.byte();
    }
  }
  // The code object, mostly with a few bytes changed where that does not make other code of it: what changed code
  // would write to is the process's memory.
  std::vector<uint8_t> object() {
    std::vector<uint8_t> bytes = kernels();
    if (input_.flag()) return bytes;
    changed_ = true;
    for (size_t i = input_.below(4); i-- > 0;)
      bytes[(input_.byte() * 256u + input_.byte()) % bytes.size()] = input_.byte();
    if (input_.below(8) == 0) bytes.resize(input_.number() % (bytes.size() + 1));
    return bytes;
  }

  void call() {
    switch (input_.below(22)) {
      case 0:
      case 1: {
        changed_ = false;
        const std::vector<uint8_t> bytes = object();
        wavejit_load_options load{};
        load.target = input_.flag() ? nullptr : input_.flag() ? "gfx906" : "gfx9";
        load.kernel = input_.below(4) ? nullptr : name();
        Sized options(input_, load);
        wavejit_module* module = nullptr;
        const wavejit_status status =
            wavejit_module_load_memory(input_.below(16) ? bytes.data() : nullptr, bytes.size(), options.get(),
                                       input_.below(16) ? &module : nullptr);
        check(status, "wavejit_module_load_memory");
        if (!module) break;
        if (changed_) {  // looked at and not run
          look_at(module);
          wavejit_module_destroy(module);
        } else {
          modules_.push_back(module);
        }
        break;
      }
      case 2: {
        const std::vector<uint8_t> bytes = object();
        wavejit_container* container = nullptr;
        CALL(wavejit_container_parse, bytes.data(), bytes.size(), input_.below(16) ? &container : nullptr);
        if (container) containers_.push_back(container);
        break;
      }
      case 3: {
        wavejit_container* container = any(containers_);
        (void)wavejit_container_kind(container);
        (void)wavejit_container_entry_count(container);
        Sized info(input_, wavejit_entry_info{});
        CALL(wavejit_container_entry, container, input_.number(), info.get());
        wavejit_module* module = nullptr;
        CALL(wavejit_module_load_entry, container, input_.number(), &module);
        wavejit_module_destroy(module);
        break;
      }
      case 4:
        wavejit_container_destroy(take(containers_));
        break;
      case 5:
        wavejit_module_destroy(take(modules_));
        break;
      case 6:
      case 7: {
        wavejit_kernel* kernel = nullptr;
        if (input_.flag())
          CALL(wavejit_kernel_create, any(modules_), name(), input_.below(16) ? &kernel : nullptr);
        else
          CALL(wavejit_kernel_create_at, any(modules_), input_.below(16), &kernel);
        if (kernel) kernels_.push_back(kernel);
        break;
      }
      case 8:
        wavejit_kernel_destroy(take(kernels_));
        break;
      case 9:
        look_at(any(modules_));
        break;
      case 10: {
        Sized info(input_, wavejit_kernel_info{});
        CALL(wavejit_kernel_get_info, any(kernels_), info.get());
        Sized argument(input_, wavejit_arg_info{});
        CALL(wavejit_kernel_arg, any(kernels_), static_cast<uint32_t>(input_.number()), argument.get());
        break;
      }
      case 11:
      case 12:
        CALL(wavejit_kernel_set_arg_pointer, any(kernels_), static_cast<uint32_t>(input_.below(3)), address());
        break;
      case 13: {
        // Perhaps a pointer: to where nothing is, or a sanitizer's tables could be.
        const uint64_t number = input_.number(), value = number <= 0xffff ? number : number | uint64_t{1} << 48;
        CALL(wavejit_kernel_set_arg, any(kernels_), static_cast<uint32_t>(input_.below(3)),
             input_.below(16) ? &value : nullptr, input_.below(9));
        CALL(wavejit_kernel_set_arg_local, any(kernels_), static_cast<uint32_t>(input_.below(3)),
             static_cast<uint32_t>(input_.number()));
        break;
      }
      case 14: {
        uint64_t segment[64] = {};
        for (uint64_t& word : segment) word = reinterpret_cast<uint64_t>(block_);
        CALL(wavejit_kernel_set_kernarg, any(kernels_), input_.below(16) ? segment : nullptr, input_.byte());
        break;
      }
      case 15:
      case 16:
      case 17:
        launch();
        break;
      case 18: {
        void* pointer = nullptr;
        CALL(wavejit_buffer_alloc, input_.below(8) ? input_.number() % 65536 : ~uint64_t{input_.byte()},
             input_.below(16) ? &pointer : nullptr);
        if (pointer) buffers_.push_back(pointer);
        if (input_.flag()) wavejit_buffer_free(take(buffers_));
        break;
      }
      case 19:
        // Wrong ranges, names, and pointers that nobody has registered.
        CALL(wavejit_memory_register, address(), input_.number(), input_.flag() ? "block" : nullptr);
        wavejit_memory_unregister(address());
        break;
      case 20: {
        size_t text = 0;
        wavejit_dump_options dump{};
        dump.kind = static_cast<wavejit_dump_kind>(input_.below(5));
        dump.isa = static_cast<wavejit_isa>(input_.below(4));
        dump.stage = input_.below(4) ? nullptr : input_.flag() ? "after:gvn" : "sometimes:gvn";
        dump.disabled_passes = input_.below(4) ? nullptr : "gvn,nothing";
        for (uint32_t& n : dump.local) n = input_.flag() ? 0 : static_cast<uint32_t>(input_.number());
        Sized options(input_, dump);
        CALL(wavejit_kernel_dump, any(kernels_), options.get(),
             input_.below(16) ? +[](void* user, const char*, size_t length) { *static_cast<size_t*>(user) += length; }
                              : nullptr,
             &text);
        Sized coverage(input_, wavejit_coverage{});
        CALL(wavejit_kernel_coverage, any(kernels_), static_cast<wavejit_isa>(input_.below(5)), coverage.get());
        break;
      }
      default: {
        if (!report_) report_ = wavejit_report_create();
        (void)wavejit_report_size(input_.flag() ? report_ : nullptr);
        size_t instruction = 0;
        uint64_t count = 0;
        CALL(wavejit_report_entry, input_.below(8) ? report_ : nullptr, input_.number(),
             input_.below(8) ? &instruction : nullptr, &count);
        Sized info(input_, wavejit_instruction_info{});
        CALL(wavejit_instruction_get_info, input_.number(), info.get());
        (void)wavejit_instruction_available(input_.number(), name());
        (void)wavejit_status_string(static_cast<wavejit_status>(input_.number()));
        (void)wavejit_engine_string(static_cast<wavejit_engine>(input_.number()));
        (void)wavejit_isa_supported(static_cast<wavejit_isa>(input_.number()));
        (void)wavejit_pass_name(input_.number());
        Sized cache(input_, wavejit_cache_info{});
        CALL(wavejit_cache_get_info, cache.get());
        wavejit_error* error = wavejit_error_clone(input_.flag() ? wavejit_last_error() : nullptr);
        (void)wavejit_error_message(error);
        (void)wavejit_error_pc(error, input_.flag() ? &count : nullptr);
        wavejit_error_destroy(error);
      }
    }
  }

  void look_at(wavejit_module* module) {
    (void)wavejit_module_target(module);
    (void)wavejit_module_object_version(module);
    const size_t count = wavejit_module_kernel_count(module);
    for (size_t i = 0; i < count && i < 32; ++i) {
      wavejit_kernel* kernel = nullptr;
      check(wavejit_kernel_create_at(module, i, &kernel), "wavejit_kernel_create_at");
      if (!kernel) continue;
      wavejit_kernel_info info{.size = sizeof info};
      CALL(wavejit_kernel_get_info, kernel, &info);
      wavejit_kernel_destroy(kernel);
    }
    Sized variable(input_, wavejit_variable_info{});
    CALL(wavejit_module_variable, module, input_.number(), variable.get());
    CALL(wavejit_module_find_variable, module, input_.flag() ? "table" : name(), variable.get());
    uint8_t bytes[256];
    CALL(wavejit_variable_read, module, "table", input_.number(), input_.below(16) ? bytes : nullptr, input_.byte());
    CALL(wavejit_variable_write, module, "table", input_.number(), bytes, input_.flag() ? input_.byte() : 0);
  }

  void launch() {
    wavejit_launch_options launch{};
    for (uint32_t& n : launch.global) n = input_.below(6) ? 1 + input_.byte() : static_cast<uint32_t>(input_.number());
    for (uint32_t& n : launch.local) n = input_.below(4) ? 0 : static_cast<uint32_t>(input_.number());
    if (input_.flag()) launch.local[0] = 64;
    launch.dynamic_lds = input_.below(4) ? 0 : static_cast<uint32_t>(input_.number());
    launch.engine = static_cast<wavejit_engine>(input_.below(4));
    launch.isa = static_cast<wavejit_isa>(input_.below(4));
    launch.threads =
        input_.below(8) ? 1 + static_cast<uint32_t>(input_.below(3)) : static_cast<uint32_t>(input_.number());
    launch.count_instructions = input_.below(4) == 0;
    launch.timeout_ns = 2'000'000 + input_.byte();  // whatever the grid
    launch.disabled_passes = input_.below(8) ? nullptr : input_.flag() ? "all" : "nothing";
    launch.report = input_.below(8) ? nullptr : report_;
    launch.schedule = input_.below(4) ? 0 : input_.number();
    Sized options(input_, launch);
    // Without its limit a launch of a large grid takes an hour.
    if (options.get() && options.get()->size < offsetof(wavejit_launch_options, disabled_passes))
      options.get()->size = 8;
    Sized stats(input_, wavejit_launch_stats{});
    check(wavejit_launch(any(kernels_), options.get(), input_.flag() ? stats.get() : nullptr), "wavejit_launch");
  }

  Input input_;
  uint8_t* const block_;
  bool changed_ = false;
  std::vector<wavejit_container*> containers_;
  std::vector<wavejit_module*> modules_;
  std::vector<wavejit_kernel*> kernels_;
  std::vector<void*> buffers_;
  wavejit_report* report_ = nullptr;
};

}  // namespace

void call_c_api(std::span<const uint8_t> bytes) {
  // Far from everything else, as kernels write beyond its end.
  static uint8_t* const block = [] {
    void* memory = nullptr;
    if (wavejit_buffer_alloc(64 << 20, &memory) != WAVEJIT_OK) std::abort();
    return static_cast<uint8_t*>(memory) + (32 << 20);
  }();
  Input input(bytes);
  const size_t threads = 1 + input.below(3), each = input.size() / threads;
  std::vector<std::thread> others;
  for (size_t i = 1; i < threads; ++i) others.emplace_back([part = input.part(each)] { Caller(part, block).run(); });
  Caller(input, block).run();
  for (std::thread& thread : others) thread.join();
}

}  // namespace wavejit::hostile
