// A fault of one lane in a loop that is executed for one lane after the other names that lane, as in lockstep.
#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

#include "lockstep_case.h"
#include "test_kernels.h"

namespace wavejit::test {
namespace {

constexpr uint32_t kLane = 37, kAddress = 0x1040;

// Each lane reads for as long as its number says; lane kLane reads where nothing is, in its third iteration.
LockstepCase wrong_address() {
  return {.name = "wrong_address",
          .body = R"(
  v_lshlrev_b32_e32 v4, 2, v1
  get_at 5, 4
  v_and_b32_e32 v6, 7, v0
  v_mov_b32_e32 v8, 0
  v_mov_b32_e32 v9, 0
  v_mov_b32_e32 v10, 1
  s_mov_b64 s[20:21], exec
1:
  v_and_b32_e32 v5, 0x3ff, v5
  v_lshlrev_b32_e32 v11, 2, v5
  at 12, 11
  v_cmp_eq_u32_e32 vcc, 2, v9
  v_cmp_eq_u32_e64 s[16:17], 37, v0
  s_and_b64 vcc, vcc, s[16:17]
  v_mov_b32_e32 v14, 0x1040
  v_cndmask_b32_e32 v12, v12, v14, vcc
  v_cndmask_b32_e64 v13, v13, 0, vcc
  get 14, 12
  v_xor_b32_e32 v5, v14, v5
  addu v8, v8, v14
  addu v9, v9, v10
  v_cmp_lt_u32_e32 vcc, v9, v6
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz 1b
  s_mov_b64 exec, s[20:21]
  out 0, v8
)",
          .groups = 1,
          .reference = {}};
}

// Each lane writes an array of its own, lane kLane one where nothing is: such stores are made when all lanes are done.
LockstepCase wrong_array() {
  return {.name = "wrong_array",
          .body = R"(
  v_lshlrev_b32_e32 v4, 2, v1
  get_at 8, 4
  v_and_b32_e32 v6, 7, v0
  v_mov_b32_e32 v7, 1
  v_lshlrev_b32_e32 v5, 5, v0
  v_mov_b32_e32 v12, 0x2000
  addu v5, v5, v12
  at 42, 5
  v_cmp_eq_u32_e32 vcc, 37, v0
  v_mov_b32_e32 v14, 0x1040
  v_cndmask_b32_e32 v42, v42, v14, vcc
  v_cndmask_b32_e64 v43, v43, 0, vcc
  s_mov_b64 s[20:21], exec
1:
  gput 42, 8
  add_co v42, 4, v42
  addc v43, 0, v43
  subu v6, v6, v7
  v_cmp_lt_i32_e32 vcc, 0, v6
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz 1b
  s_mov_b64 exec, s[20:21]
  out 0, v8
)",
          .groups = 1,
          .reference = {}};
}

void expect_fault(const LockstepCase& c, std::string_view what) {
  for (const char* target : {"gfx803", "gfx906", "gfx90a"}) {
    const Module module = load(target, {lockstep_source(c, target)});
    for (const TestEngine& engine : engines()) {
      SCOPED_TRACE(std::string(target) + " " + engine.name);
      Kernel kernel = module.kernel(c.name);
      Buffer<uint32_t> data(lockstep_data(c));
      kernel.set_args(data);
      try {
        (void)kernel.launch(launch_options(engine, kLanes, kLanes));
        ADD_FAILURE() << "no fault";
      } catch (const Exception& e) {
        EXPECT_EQ(e.status(), WAVEJIT_GUEST_FAULT) << e.what();
        EXPECT_EQ(e.address(), kAddress) << e.what();
        EXPECT_EQ(e.lane(), kLane) << e.what();
        EXPECT_NE(std::string_view(e.what()).find(what), std::string_view::npos) << e.what();
      }
    }
  }
}

TEST(LaneLoopFaults, NameTheLane) {
  expect_fault(wrong_address(), "read memory it may not access");
}

TEST(LaneLoopFaults, NameTheLaneOfStoresThatWereKeptBack) {
  expect_fault(wrong_array(), "wrote memory it may not access");
}

}  // namespace
}  // namespace wavejit::test
