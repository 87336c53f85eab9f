// What D16 loads leave in the other half of their register: it depends on the processor and on the ECC setting that the
// code object is compiled for (isa::d16_loads_clear).
#include <gtest/gtest.h>

#include <string>

#include "test_kernels.h"

namespace wavejit::test {
namespace {

struct Setting {
  std::string_view target;
  bool clears;
};

TEST(D16Loads, OtherHalf) {
  const KernelSource kernel{.name = "halves",
                            .body = std::string(kOwnAddress) + R"(
  v_mov_b32_e32 v8, 0x12345678
  v_mov_b32_e32 v9, 0x12345678
  global_load_short_d16 v8, v[6:7], off
  global_load_short_d16_hi v9, v[6:7], off
  s_waitcnt vmcnt(0)
  v_xor_b32_e32 v9, v8, v9
  global_store_dword v[6:7], v9, off
)",
                            .args = {{.name = "data"}}};
  for (const Setting& setting : {Setting{"gfx900", false}, Setting{"gfx906", true}, Setting{"gfx906:sramecc+", true},
                                 Setting{"gfx906:sramecc-", false}, Setting{"gfx908", true},
                                 Setting{"gfx908:sramecc-", false}, Setting{"gfx90a", true}}) {
    Module module = load(setting.target, {kernel});
    for (const TestEngine& engine : engines()) {
      SCOPED_TRACE(std::string(setting.target) + " " + describe(engine));
      Buffer<uint32_t> data(64);
      for (uint32_t i = 0; i < 64; ++i) data[i] = 0x9abc8000u + i;
      Kernel k = module.kernel("halves");
      k.set_args(data);
      k.launch(launch_options(engine, 64, 64));
      for (uint32_t i = 0; i < 64; ++i) {
        const uint32_t half = 0x8000u + i;
        // The two loads' registers, combined.
        const uint32_t kept = (0x12340000u | half) ^ (half << 16 | 0x5678u), cleared = half ^ half << 16;
        ASSERT_EQ(data[i], setting.clears ? cleared : kept) << "lane " << i;
      }
    }
  }
}

}  // namespace
}  // namespace wavejit::test
