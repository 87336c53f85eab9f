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
)";
constexpr const char* kAdd9 = R"(
.macro addu d, a, b
  v_add_u32_e32 \d, \a, \b
.endm
.macro subu d, a, b
  v_sub_u32_e32 \d, \a, \b
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

}  // namespace wavejit::test
