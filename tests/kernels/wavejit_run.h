// Runs kernel cases through wavejit's public API.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernel_case.h"
#include "wavejit/wavejit.h"

namespace wavejit::kernels {

struct EngineChoice {
  const char* name;
  wavejit_engine engine;
  wavejit_isa isa;
};
inline constexpr EngineChoice kInterpreter = {"interp", WAVEJIT_ENGINE_INTERP, WAVEJIT_ISA_AUTO};
inline constexpr EngineChoice kAvx2 = {"avx2", WAVEJIT_ENGINE_JIT, WAVEJIT_ISA_AVX2};
inline constexpr EngineChoice kAvx512 = {"avx512", WAVEJIT_ENGINE_JIT, WAVEJIT_ISA_AVX512};
// Begins in the interpreter. In a drawn order, waves go on in translated code from drawn places on.
inline constexpr EngineChoice kAuto = {"auto", WAVEJIT_ENGINE_AUTO, WAVEJIT_ISA_AUTO};

// Of one launch in a test, translation included, on a busy machine.
inline constexpr uint64_t kTimeoutNs = 600'000'000'000;

// Path of a case's code object below the directory of built kernels, e.g. variant "gfx906" or "gfx906-v5", level "O3".
[[nodiscard]] std::string code_object_path(const std::string& kernel_dir, const KernelCase& kernel_case,
                                           const std::string& variant, const std::string& level);

// One case loaded, with its arguments set and its buffers allocated right before guard pages. Not thread-safe.
class WavejitRun {
 public:
  // `target` chooses the entry of a bundle ("gfx906"). Null with the reason in *why on failure.
  static std::unique_ptr<WavejitRun> create(const KernelCase& kernel_case, const std::string& path,
                                            const std::string& target, std::string* why);
  ~WavejitRun();
  WavejitRun(const WavejitRun&) = delete;
  WavejitRun& operator=(const WavejitRun&) = delete;

  // Gives every buffer its initial content again.
  void reset();
  // All launches of the case. Stops at the first that fails and returns its status, with the message in *why.
  // wavejit having used another engine than the chosen one is WAVEJIT_INTERNAL. `count`: instructions in JIT code.
  wavejit_status launch(const EngineChoice& engine, uint32_t threads, uint64_t timeout_ns, std::string* why,
                        bool count = false);
  // wavejit_launch_options.schedule of launches from now on.
  void set_schedule(uint64_t seed) { schedule_ = seed; }
  // The buffers' contents now.
  [[nodiscard]] std::vector<Buffer> read() const;
  // Time in nanoseconds spent translating in all launches so far.
  [[nodiscard]] uint64_t translate_ns() const { return translate_ns_; }
  // In all launches so far: units translated and units taken from the cache on disk, and the time that took.
  [[nodiscard]] uint64_t translations() const { return translations_; }
  [[nodiscard]] uint64_t cached_translations() const { return cached_translations_; }
  [[nodiscard]] uint64_t cache_ns() const { return cache_ns_; }
  // x86 instructions that were emitted by it.
  [[nodiscard]] uint64_t host_instructions() const { return host_instructions_; }
  // GCN instructions that the kernels of the case can reach by direct control flow.
  [[nodiscard]] uint64_t guest_code() const;
  // Code of the kernel of a launch, as wavejit_kernel_dump() makes it for the launch's work-group size.
  [[nodiscard]] std::string dump(size_t launch, wavejit_dump_kind kind, wavejit_isa isa) const;
  // Of the last launch(): work-groups that the interpreter has begun.
  [[nodiscard]] uint64_t interpreted_workgroups() const { return interpreted_workgroups_; }
  // Wall time of the launches of the last launch(), as reported by wavejit.
  [[nodiscard]] uint64_t wall_ns() const { return wall_ns_; }
  // Executed by each launch of the last launch(), where they were counted.
  [[nodiscard]] const std::vector<uint64_t>& instructions() const { return instructions_; }

 private:
  WavejitRun() = default;
  // The explicit arguments of a launch with images, which the C API does not take one by one. No local ones.
  [[nodiscard]] std::vector<uint8_t> kernarg_of(const Launch& launch, const wavejit_kernel* kernel) const;

  KernelCase kernel_case_;
  uint64_t schedule_ = 0;
  wavejit_module* module_ = nullptr;
  std::vector<wavejit_kernel*> kernels_;  // one per launch
  std::vector<void*> memory_;             // one per buffer
  std::vector<void*> descriptors_;        // of images, one per buffer; null for others
  uint64_t translate_ns_ = 0, cache_ns_ = 0;
  uint64_t translations_ = 0, cached_translations_ = 0;
  uint64_t host_instructions_ = 0;
  uint64_t wall_ns_ = 0, interpreted_workgroups_ = 0;
  std::vector<uint64_t> instructions_;
};

}  // namespace wavejit::kernels
