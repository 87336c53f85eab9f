// Launches that write more than the caches keep store past them.
#include <gtest/gtest.h>

#include "test_kernels.h"

namespace wavejit::test {
namespace {

TEST(StreamingStores, LargeLaunchesStoreEverything) {
  constexpr uint32_t kGroup = 256, kItems = (9u << 20) + kGroup;  // more than 32 MiB
  const KernelSource numbers{.name = "numbers",
                             .body = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_lshl_b32 s6, s2, 8
  v_add_u32_e32 v0, s6, v0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v3, 0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, s5
  add_co v6, s4, v2
  addc v7, v4, v3
  v_xor_b32_e32 v0, 0x5a5a5a5a, v0
  global_store_dword v[6:7], v0, off
)",
                             .directives = ".amdhsa_system_sgpr_workgroup_id_x 1\n",
                             .args = {{.name = "data"}}};
  Module module = load("gfx906", {numbers});
  for (const TestEngine& engine : engines()) {
    if (engine.engine == WAVEJIT_ENGINE_INTERP) continue;
    for (const uint32_t threads : {1u, 2u}) {
      for (const uint32_t misplaced : {0u, 1u}) {  // dwords
        SCOPED_TRACE(describe(engine) + ", " + std::to_string(threads) + " threads, " + std::to_string(misplaced));
        Buffer<uint32_t> data(kItems + misplaced);
        Kernel kernel = module.kernel("numbers");
        kernel.set_args(data.data() + misplaced);
        (void)kernel.launch(launch_options(engine, kItems, kGroup, threads));
        for (uint32_t i = 0; i < kItems; ++i) ASSERT_EQ(data[i + misplaced], i ^ 0x5a5a5a5a) << i;
      }
    }
  }
}

}  // namespace
}  // namespace wavejit::test
