// Buffer accesses through s[0:3], where functions expect the descriptor of the private segment: with that descriptor
// there, and with others that hand-written callers may put there.
#include <gtest/gtest.h>

#include <algorithm>

#include "lockstep_case.h"
#include "test_kernels.h"

namespace wavejit::test {

// The private segment's descriptor is in s[0:3], its offset for the wave in s7.
constexpr const char* kDirectives =
    "  .amdhsa_user_sgpr_private_segment_buffer 1\n  .amdhsa_system_sgpr_workgroup_id_x 1\n"
    "  .amdhsa_system_sgpr_private_segment_wavefront_offset 1\n";

// The kernel stores to its private segment in all lanes, then in some of them.
// The function stores v2 at byte 8 behind s32 through s[0:3], and loads v3 from there. It is called with the private
// segment's descriptor; then with one of global memory; with one whose words 2 and 3 are the private segment's and
// whose base is elsewhere; with the private segment's with its base moved by a row of it; and with the first again,
// which must still hold what was stored first. The registers are changed between calls from the same place, so that
// what is known about them at one call does not hold at the next.
KernelSource descriptor_source() {
  return {.name = "descriptors",
          .body = R"(
  s_load_dwordx4 s[40:43], s[4:5], 0x0
  s_mov_b32 s32, 0
  // By the descriptor as kernels get it, with the wave's offset.
  v_xor_b32_e32 v5, 0x5a5a, v0
  buffer_store_dword v5, off, s[0:3], s7 offset:32
  s_mov_b32 exec_lo, 0x0ff00f3c
  s_mov_b32 exec_hi, 5
  buffer_store_dword v0, off, s[0:3], s7 offset:32
  s_mov_b64 exec, -1
  v_mov_b32_e32 v5, 0
  buffer_load_dword v5, off, s[0:3], s7 offset:32
  s_mov_b64 s[20:21], s[0:1]
  s_mov_b64 s[22:23], s[2:3]
  s_add_u32 s20, s20, s7
  s_addc_u32 s21, s21, 0
  s_waitcnt lgkmcnt(0)
  s_branch .Lmain
.Lfunction:
  buffer_store_dword v2, off, s[0:3], s32 offset:8
  s_waitcnt vmcnt(0)
  buffer_load_dword v3, off, s[0:3], s32 offset:8
  s_waitcnt vmcnt(0)
  s_setpc_b64 s[30:31]
.Lmain:
  v_lshlrev_b32_e32 v20, 2, v0
  v_mov_b32_e32 v21, s41
  v_mov_b32_e32 v22, 0
  v_add_co_u32_e32 v20, vcc, s40, v20
  v_addc_co_u32_e32 v21, vcc, 0, v21, vcc
  s_mov_b32 s44, 0
.Lagain:
  s_mov_b64 s[0:1], s[20:21]
  s_mov_b64 s[2:3], s[22:23]
  s_cmp_eq_u32 s44, 1
  s_cbranch_scc0 .Lnot_global
  s_mov_b64 s[0:1], s[42:43]
  s_movk_i32 s2, 0x400
  s_mov_b32 s3, 0x27000
.Lnot_global:
  s_cmp_eq_u32 s44, 2
  s_cbranch_scc0 .Lnot_elsewhere
  s_mov_b32 s0, s42
  s_or_b32 s1, s43, 0x80000000
.Lnot_elsewhere:
  s_cmp_eq_u32 s44, 3
  s_cbranch_scc0 .Lnot_moved
  s_add_u32 s0, s0, 0x100
  s_addc_u32 s1, s1, 0
.Lnot_moved:
  v_mov_b32_e32 v2, s44
  v_lshlrev_b32_e32 v2, 8, v2
  v_or_b32_e32 v2, v2, v0
  s_cmp_eq_u32 s44, 4
  s_cbranch_scc0 .Lstore_own
  buffer_load_dword v2, off, s[0:3], s32 offset:8
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v2, 0x10000, v2
.Lstore_own:
  s_getpc_b64 s[46:47]
.Lhere:
  s_sub_u32 s46, s46, .Lhere-.Lfunction
  s_subb_u32 s47, s47, 0
  s_swappc_b64 s[30:31], s[46:47]
  global_store_dword v[20:21], v3, off
  s_nop 0
  v_add_co_u32_e32 v20, vcc, 0x100, v20
  v_addc_co_u32_e32 v21, vcc, 0, v21, vcc
  s_add_u32 s44, s44, 1
  s_cmp_lt_u32 s44, 5
  s_cbranch_scc1 .Lagain
  global_store_dword v[20:21], v5, off
)",
          .directives = kDirectives,
          .args = {{"out"}, {"elsewhere"}},
          .scratch = 64};
}

namespace {

TEST(ScratchDescriptors, FunctionsTakeWhatIsInTheRegisters) {
  const Module module = load("gfx906", {descriptor_source()});
  std::vector<uint32_t> first_out, first_elsewhere;
  for (const TestEngine& engine : engines_with_switches(8, true)) {
    SCOPED_TRACE(describe(engine));
    Kernel kernel = module.kernel("descriptors");
    Buffer<uint32_t> out(6 * 64), elsewhere(16 * 64);
    for (uint32_t& word : elsewhere) word = 0xabcdef;
    kernel.set_args(out, elsewhere);
    (void)kernel.launch(launch_options(engine, 64, 64));
    for (unsigned l = 0; l < 64; ++l) {
      ASSERT_EQ(out[l], l) << "private segment, lane " << l;
      // All lanes store to one place: the last wins.
      ASSERT_EQ(out[64 + l], 256 + 63u) << "global memory, lane " << l;
      ASSERT_EQ(out[128 + l], 512 + l) << "elsewhere, lane " << l;
      ASSERT_EQ(out[192 + l], 768 + l) << "moved, lane " << l;
      ASSERT_EQ(out[256 + l], 0x10000 + l) << "what was there first, lane " << l;
      const bool twice = 0x5'0ff0'0f3c >> l & 1;
      ASSERT_EQ(out[320 + l], twice ? l : l ^ 0x5a5a) << "by the kernel, lane " << l;
      // Row 2 of a segment whose base is `elsewhere`; the global store hit its third word.
      ASSERT_EQ(elsewhere[2 * 64 + l], 512 + l) << "elsewhere, lane " << l;
    }
    ASSERT_EQ(elsewhere[2], 256 + 63u);
    if (first_elsewhere.empty()) first_elsewhere.assign(elsewhere.begin(), elsewhere.end());
    ASSERT_TRUE(std::equal(elsewhere.begin(), elsewhere.end(), first_elsewhere.begin()));
  }
}

// A kernel whose s[0:3] are the private segment's descriptor, until a function that it calls puts another one there.
KernelSource replaced_descriptor_source() {
  return {.name = "replaced_descriptor",
          .body = R"(
  s_load_dwordx2 s[40:41], s[4:5], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  s_add_u32 s0, s0, s7
  s_addc_u32 s1, s1, 0
  s_mov_b32 s32, 0
  buffer_store_dword v0, off, s[0:3], s32 offset:8
  s_waitcnt lgkmcnt(0)
  s_branch .Lmain
.Lfunction:
  s_mov_b64 s[0:1], s[40:41]
  s_movk_i32 s2, 0x400
  s_mov_b32 s3, 0x27000
  s_setpc_b64 s[30:31]
.Lmain:
  s_getpc_b64 s[46:47]
.Lhere:
  s_sub_u32 s46, s46, .Lhere-.Lfunction
  s_subb_u32 s47, s47, 0
  s_swappc_b64 s[30:31], s[46:47]
  v_add_u32_e32 v2, 0x100, v0
  buffer_store_dword v2, v1, s[0:3], s32 offen
)",
          .directives = kDirectives,
          .args = {{"out"}},
          .scratch = 64};
}

TEST(ScratchDescriptors, ACallMayReplaceThem) {
  const Module module = load("gfx906", {replaced_descriptor_source()});
  for (const TestEngine& engine : engines_with_switches(8, true)) {
    SCOPED_TRACE(describe(engine));
    Kernel kernel = module.kernel("replaced_descriptor");
    Buffer<uint32_t> out(64);
    kernel.set_args(out);
    (void)kernel.launch(launch_options(engine, 64, 64));
    for (unsigned l = 0; l < 64; ++l) ASSERT_EQ(out[l], 256 + l) << "lane " << l;
  }
}

}  // namespace
}  // namespace wavejit::test
