// When a kernel that is interpreted is translated.
#include "runtime/launch/tier_up.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "runtime/threads/thread_pool.h"
#include "test_kernels.h"

namespace wavejit::test {
namespace {

// Kernels of so many instructions, loaded for the runtime itself.
class TierUpTest : public testing::Test {
 protected:
  void load_kernels(const std::vector<unsigned>& lengths) {
    setenv("WAVEJIT_CACHE", "off", 1);
    std::vector<KernelSource> sources;
    for (const unsigned length : lengths) {
      const std::string name = "adds" + std::to_string(sources.size());
      sources.push_back({.name = name,
                         .body = ".rept " + std::to_string(length) + "\n  v_add_f32_e32 v0, v0, v1\n.endr\n",
                         .args = {}});
    }
    auto loaded = runtime::Module::load(assemble("gfx906", sources));
    ASSERT_TRUE(loaded.has_value());
    module_ = *loaded;
    auto kernels = codeobject::decode_kernels(module_->object());
    ASSERT_TRUE(kernels.has_value());
    for (const codeobject::Kernel* kernel : *kernels) kernels_.push_back(kernel);
    ASSERT_EQ(kernels_.size(), lengths.size());
  }
  // A launch of the kernel.
  [[nodiscard]] std::unique_ptr<runtime::TierUp> launch(size_t kernel, uint32_t threads) {
    const codeobject::Kernel& its = *kernels_[kernel];
    runtime::TranslationCache& cache = module_->translations();
    const runtime::TranslationCache::Query query{.config = cache.config_id({.tier = backend::Tier::avx2}),
                                                 .specialisation = cache.specialisation_id({.kernel = &its}),
                                                 .pc = its.descriptor.entry,
                                                 .mode = its.descriptor.mode};
    return std::make_unique<runtime::TierUp>(module_, its, std::vector{query}, threads);
  }

 private:
  std::shared_ptr<runtime::Module> module_;
  std::vector<const codeobject::Kernel*> kernels_;
};

TEST_F(TierUpTest, TimesOfAllLaunchesCount) {
  load_kernels({1000});
  const auto first = launch(0, 1);
  const uint64_t enough = first->enough_ns();
  EXPECT_GT(enough, 500'000u);
  first->add(enough / 2);
  EXPECT_EQ(first->translation(), nullptr);
  const auto second = launch(0, 1), third = launch(0, 1);
  EXPECT_EQ(second->translation(), nullptr);
  second->add(enough - enough / 2);
  EXPECT_NE(second->translation(), nullptr);
  // Launches that run meanwhile learn of it when they have something to say, later ones at once.
  EXPECT_EQ(third->translation(), nullptr);
  third->add(0);
  EXPECT_NE(third->translation(), nullptr);
  EXPECT_NE(launch(0, 1)->translation(), nullptr);
}

TEST_F(TierUpTest, LongerCodeAndBusyCpusNeedMore) {
  load_kernels({1000, 3000});
  const uint32_t cpus = runtime::available_cpus();
  const uint64_t busy = launch(0, cpus)->enough_ns();
  EXPECT_NEAR(static_cast<double>(launch(1, cpus)->enough_ns()), 3.0 * static_cast<double>(busy),
              0.1 * static_cast<double>(busy));
  if (cpus > 1) {
    EXPECT_EQ(launch(0, cpus - 1)->enough_ns(), busy / 4);
  }
}

// What none of its kernels has had, the program has had in all.
TEST_F(TierUpTest, LongProgramsTranslateForTheNextOne) {
  constexpr size_t kKernels = 20;
  load_kernels(std::vector<unsigned>(kKernels, 1000));
  bool some = false;
  for (size_t kernel = 0; kernel < kKernels; ++kernel) {
    const auto one = launch(kernel, 1);
    one->add(one->enough_ns() / 2 + 1);
    EXPECT_EQ(one->translation(), nullptr);
    one->end();
    some |= one->translation() != nullptr;
  }
  EXPECT_TRUE(some);
}

}  // namespace
}  // namespace wavejit::test
