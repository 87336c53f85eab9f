// Whole kernels in assembly with host references, for what optimisations of waves are apt to break: exchange between
// lanes without barriers, scalar state of divergent code, addresses that wrap, work-items that are not there. README.md
// lists which mistakes each was seen to find.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "test_kernels.h"

namespace wavejit::test {

inline constexpr unsigned kLanes = 64;

// Device memory as the reference sees it.
using Memory = std::vector<uint32_t>;

struct LockstepCase {
  std::string name;
  // See kLockstepMacros for what it may use. On entry s[4:5] = data, s2 = work-group, v0 = work-item, v1 = global
  // index, v2 = 4 * v0, EXEC all ones (but for the last wave of an odd group size), m0 = -1.
  std::string body;
  unsigned groups = 4;
  unsigned group_size = 64;
  unsigned lds = 0;
  unsigned words = 4096;  // of `data`, filled with small pseudo-random numbers
  bool floats = false;    // registers hold NaNs, whose bits engines need not agree on
  // Replaces some of the initial contents; may be empty.
  std::function<void(Memory&)> prepare;
  // What the kernel does to one work-group, on the contents before the launch (groups in ascending order); empty: what
  // the interpreter does.
  std::function<void(Memory& data, unsigned group)> reference;
};

[[nodiscard]] std::vector<LockstepCase> exchange_cases();
[[nodiscard]] std::vector<LockstepCase> scalar_state_cases();
[[nodiscard]] std::vector<LockstepCase> loop_cases();
[[nodiscard]] std::vector<LockstepCase> counted_loop_cases();
[[nodiscard]] std::vector<LockstepCase> divergent_cases();
[[nodiscard]] std::vector<LockstepCase> lane_cases();
[[nodiscard]] std::vector<LockstepCase> arithmetic_cases();
[[nodiscard]] std::vector<LockstepCase> memory_cases();
[[nodiscard]] std::vector<LockstepCase> float_cases();
[[nodiscard]] std::vector<LockstepCase> sum_cases();
[[nodiscard]] std::vector<LockstepCase> stream_cases();
[[nodiscard]] const std::vector<LockstepCase>& all_lockstep_cases();
// Waves of a work-group that wait for each other: these need all of it.
[[nodiscard]] std::vector<LockstepCase> waiting_cases();

// The kernel, and its data before the launch. dump_state: the kernel starts with known registers and ends with storing
// them behind `words`.
[[nodiscard]] KernelSource lockstep_source(const LockstepCase& c, std::string_view target, bool dump_state = false);
[[nodiscard]] Memory lockstep_data(const LockstepCase& c, bool dump_state = false);
// Dwords of registers that a wave stores: rows of 64 for v0..v23 and v58..v63 of all lanes, EXEC or not, then one with
// s6..s31, VCC, EXEC, SCC and M0.
inline constexpr unsigned kStateRows = 31;

// See scratch_test.cpp.
[[nodiscard]] KernelSource descriptor_source();

// The macros of all lockstep kernels; VCC is clobbered by each that adds (GFX8 has no other addition).
//   addu d, a, b / subu d, a, b    32-bit vector addition, a - b; b is a VGPR
//   sub_co d, a, b / subb d, a, b  the same with borrows in VCC
//   fma_halves d, a, b, c          v_pk_fma_f16, or v_fma_f16 where there is none
//   at p, off                      v[p:p+1] = data + zero-extended v<off>        (p and off are numbers)
//   get d, p / put p, d            load, store one dword at v[p:p+1], with waitcnt
//   gget d, p                      the same as get, by a global instruction where there is one
//   gput p, d / gput_byte p, d     store one dword or byte in the same way
//   gget_pair d, p                 two dwords in the same way
//   gget_coherent d, p             one that other waves may have stored
//   gget_byte ubyte, d, p, k       one byte (or sbyte) at v[p:p+1] + k in the same way; v62 and v63
//   get_at d, off / put_at off, d  both; use v[60:61]
//   out slot, reg                  data[1024 + slot * 256 + global index] = reg (a scalar or vector operand); v58..v63
[[nodiscard]] std::string lockstep_macros(std::string_view target);

}  // namespace wavejit::test
