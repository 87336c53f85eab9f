#include "lockstep_case.h"

#include <fmt/format.h>

#include "test_kernels.h"

namespace wavejit::test {
namespace {

constexpr const char* kAdd8 = R"(
.macro addu d, a, b
  v_add_u32_e32 \d, vcc, \a, \b
.endm
.macro subu d, a, b
  v_sub_u32_e32 \d, vcc, \a, \b
.endm
.macro sub_co d, a, b
  v_sub_u32_e32 \d, vcc, \a, \b
.endm
.macro subb d, a, b
  v_subb_u32_e32 \d, vcc, \a, \b, vcc
.endm
.macro fma_halves d, a, b, c
  v_fma_f16 \d, \a, \b, \c
.endm
.macro gget d, p
  flat_load_dword v[\d], v[\p:\p+1]
  s_waitcnt vmcnt(0) lgkmcnt(0)
.endm
.macro gput p, d
  flat_store_dword v[\p:\p+1], v[\d]
.endm
.macro gput_byte p, d
  flat_store_byte v[\p:\p+1], v[\d]
.endm
.macro gget_coherent d, p
  flat_load_dword v[\d], v[\p:\p+1] glc
  s_waitcnt vmcnt(0) lgkmcnt(0)
.endm
.macro gget_pair d, p
  flat_load_dwordx2 v[\d:\d+1], v[\p:\p+1]
  s_waitcnt vmcnt(0) lgkmcnt(0)
.endm
.macro gget_byte type, d, p, k
  add_co v62, \k, v[\p]
  addc v63, 0, v[\p+1]
  flat_load_\type v[\d], v[62:63]
  s_waitcnt vmcnt(0) lgkmcnt(0)
.endm
)";
constexpr const char* kAdd9 = R"(
.macro addu d, a, b
  v_add_u32_e32 \d, \a, \b
.endm
.macro subu d, a, b
  v_sub_u32_e32 \d, \a, \b
.endm
.macro sub_co d, a, b
  v_sub_co_u32_e32 \d, vcc, \a, \b
.endm
.macro subb d, a, b
  v_subb_co_u32_e32 \d, vcc, \a, \b, vcc
.endm
.macro fma_halves d, a, b, c
  v_pk_fma_f16 \d, \a, \b, \c
.endm
.macro gget d, p
  global_load_dword v[\d], v[\p:\p+1], off
  s_waitcnt vmcnt(0)
.endm
.macro gput p, d
  global_store_dword v[\p:\p+1], v[\d], off
.endm
.macro gput_byte p, d
  global_store_byte v[\p:\p+1], v[\d], off
.endm
.macro gget_coherent d, p
  global_load_dword v[\d], v[\p:\p+1], off glc
  s_waitcnt vmcnt(0)
.endm
.macro gget_pair d, p
  global_load_dwordx2 v[\d:\d+1], v[\p:\p+1], off
  s_waitcnt vmcnt(0)
.endm
.macro gget_byte type, d, p, k
  global_load_\type v[\d], v[\p:\p+1], off offset:\k
  s_waitcnt vmcnt(0)
.endm
)";
constexpr const char* kMemory = R"(
.macro at p, off
  v_mov_b32_e32 v[\p+1], s5
  add_co v[\p], s4, v[\off]
  addc v[\p+1], 0, v[\p+1]
.endm
.macro get d, p
  flat_load_dword v[\d], v[\p:\p+1]
  s_waitcnt vmcnt(0) lgkmcnt(0)
.endm
.macro put p, d
  flat_store_dword v[\p:\p+1], v[\d]
  s_waitcnt vmcnt(0) lgkmcnt(0)
.endm
.macro get_at d, off
  at 60, \off
  get \d, 60
.endm
.macro put_at off, d
  at 60, \off
  put 60, \d
.endm
.macro out slot, reg
  v_mov_b32_e32 v58, \reg
  v_lshlrev_b32_e32 v59, 2, v1
  v_mov_b32_e32 v62, 4096+\slot*1024
  addu v59, v59, v62
  put_at 59, 58
.endm
)";

}  // namespace

std::string lockstep_macros(std::string_view target) {
  return std::string(is_gfx8(target) ? kAdd8 : kAdd9) + kMemory;
}

const std::vector<LockstepCase>& all_lockstep_cases() {
  static const std::vector<LockstepCase> all = [] {
    std::vector<LockstepCase> cases = sum_cases();
    for (const auto& more :
         {exchange_cases(), scalar_state_cases(), loop_cases(), counted_loop_cases(), divergent_cases(), lane_cases(),
          memory_cases(), arithmetic_cases(), float_cases(), stream_cases()})
      cases.insert(cases.end(), more.begin(), more.end());
    return cases;
  }();
  return all;
}

namespace {

unsigned waves_per_group(const LockstepCase& c) {
  return (c.group_size + kLanes - 1) / kLanes;
}

// GFX9. The stores take 16 rows from one address.
std::string state_dump(const LockstepCase& c) {
  std::string text = fmt::format(R"(
  s_cselect_b32 s80, 1, 0
  s_mov_b64 s[82:83], exec
  s_mov_b64 s[84:85], vcc
  s_mov_b32 s86, m0
  s_mov_b64 exec, -1
  s_mul_i32 s88, s2, {}
  s_add_u32 s88, s88, s87
  s_mul_i32 s88, s88, {}
  s_add_u32 s88, s88, {}
  s_add_u32 s88, s4, s88
  s_addc_u32 s89, s5, 0
  v_mbcnt_lo_u32_b32 v55, -1, 0
  v_mbcnt_hi_u32_b32 v55, -1, v55
  v_lshlrev_b32_e32 v55, 2, v55
  v_mov_b32_e32 v57, s89
  v_add_co_u32_e32 v56, vcc, s88, v55
  v_addc_co_u32_e32 v57, vcc, 0, v57, vcc
)",
                                 waves_per_group(c), kStateRows * 256, c.words * 4);
  unsigned row = 0;
  const auto store = [&](unsigned vgpr) {
    if (row == 16) text += "  v_add_co_u32_e32 v56, vcc, 0x1000, v56\n  v_addc_co_u32_e32 v57, vcc, 0, v57, vcc\n";
    text += fmt::format("  global_store_dword v[56:57], v{}, off offset:{}\n", vgpr, row++ % 16 * 256);
  };
  for (unsigned v = 0; v < 24; ++v) store(v);
  for (unsigned v = 58; v < 64; ++v) store(v);
  text += "  v_mov_b32_e32 v54, 0\n";
  unsigned lane = 0;
  const auto keep = [&](unsigned sgpr) { text += fmt::format("  v_writelane_b32 v54, s{}, {}\n", sgpr, lane++); };
  for (unsigned s = 6; s < 32; ++s) keep(s);
  for (const unsigned s : {80, 82, 83, 84, 85, 86}) keep(s);
  store(54);
  return text;
}

}  // namespace

KernelSource lockstep_source(const LockstepCase& c, std::string_view target, bool dump_state) {
  std::string start;
  if (dump_state) {
    start =
        "  v_readfirstlane_b32 s87, v0\n  s_lshr_b32 s87, s87, 6\n  s_mov_b64 s[82:83], exec\n  s_mov_b64 exec, -1\n";
    for (unsigned v = 1; v < 64; ++v) start += fmt::format("  v_mov_b32_e32 v{}, {}\n", v, v);
    for (unsigned s = 6; s < 32; ++s) start += fmt::format("  s_mov_b32 s{}, {}\n", s, s);
    start += "  s_mov_b64 vcc, 0\n  s_mov_b64 exec, s[82:83]\n";
  }
  return {.name = c.name,
          .body = lockstep_macros(target) + start +
                  fmt::format(R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mov_b32 m0, -1
  s_mul_i32 s6, s2, {}
  v_mov_b32_e32 v1, s6
  v_or_b32_e32 v3, 0, v0
  addu v1, v1, v3
  v_lshlrev_b32_e32 v2, 2, v0
  s_waitcnt lgkmcnt(0)
)",
                              c.group_size) +
                  c.body + (dump_state ? state_dump(c) : ""),
          .directives = "  .amdhsa_system_sgpr_workgroup_id_x 1\n",
          .args = {{"data"}},
          .lds = c.lds};
}

Memory lockstep_data(const LockstepCase& c, bool dump_state) {
  Memory data(c.words + (dump_state ? c.groups * waves_per_group(c) * kStateRows * kLanes : 0));
  uint32_t state = 12345;
  for (uint32_t& word : data) {
    state = state * 1664525 + 1013904223;
    word = state >> 25;  // 0..127
  }
  if (c.prepare) c.prepare(data);
  return data;
}

}  // namespace wavejit::test
