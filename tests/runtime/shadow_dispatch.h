// Launches as shadow mode is given them, for its tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/memory/memory_registry.h"
#include "runtime/shadow/shadow.h"
#include "test_kernels.h"

namespace wavejit::test {

using runtime::shadow::AfterRun;
using runtime::shadow::Counters;
using runtime::shadow::Options;
using runtime::shadow::Shadow;
using runtime::shadow::Verdict;

inline constexpr const char* kShadowTarget = "gfx906";
inline constexpr uint32_t kItems = 256;

// Each work-item stores its number.
inline KernelSource ids() {
  return {.name = "ids", .body = std::string(kOwnAddress) + "  store v[6:7], v0\n", .args = {{"out"}}};
}

// A launch of a kernel whose arguments are pointers.
class Dispatch {
 public:
  Dispatch(const KernelSource& source, std::vector<const void*> arguments, uint32_t items = kItems)
      : arguments_(std::move(arguments)) {
    request_.module = *runtime::Module::load(assemble(kShadowTarget, {source}));
    request_.kernel = *request_.module->object().find_kernel(source.name);
    request_.shape.grid[0] = items;
    request_.shape.workgroup[0] = std::min(items, kItems);
    request_.lds_bytes = request_.kernel->descriptor.group_segment_size;
    request_.kernarg = reinterpret_cast<uint64_t>(arguments_.data());
    request_.engine = runtime::Engine::jit;
    request_.tier = backend::host_supports(backend::Tier::avx512) ? backend::Tier::avx512 : backend::Tier::avx2;
  }
  [[nodiscard]] const runtime::LaunchRequest& request() const { return request_; }
  void launch() const {
    runtime::LaunchStats stats;
    const Expected<void> done = runtime::launch(request_, stats);
    ASSERT_TRUE(done) << done.error().message;
  }

 private:
  std::vector<const void*> arguments_;
  runtime::LaunchRequest request_;
};

// A buffer of zeros that is known as 'out'.
class Out {
 public:
  explicit Out(size_t bytes) : memory_(*runtime::allocate_buffer(bytes)) {
    runtime::register_memory(reinterpret_cast<uint64_t>(memory_), bytes, "out");
  }
  ~Out() { runtime::free_buffer(memory_); }
  Out(const Out&) = delete;
  Out& operator=(const Out&) = delete;
  [[nodiscard]] uint32_t* words() const { return static_cast<uint32_t*>(memory_); }

 private:
  void* memory_;
};

class ShadowMode : public testing::Test {
 protected:
  void SetUp() override {
    if (kSignalsAreHeldBack) GTEST_SKIP() << "ThreadSanitizer does not follow forks of processes with threads";
    if (!backend::host_supports(backend::Tier::avx2)) GTEST_SKIP() << "this CPU has no JIT";
  }
  // What is said and counted of one dispatch, which is not run itself.
  Counters counters_of(const Dispatch& dispatch, AfterRun after_run = nullptr, Options options = {}) {
    Shadow shadow(std::move(options), [this](std::string_view text) { said_ += text; }, std::move(after_run));
    shadow.begin(dispatch.request());
    shadow.finish();
    return shadow.counters();
  }
  std::string said_;
};

}  // namespace wavejit::test
