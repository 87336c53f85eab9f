// Whole kernels in assembly with host references, for what optimisations of waves are apt to break: exchange between
// lanes without barriers, scalar state of divergent code, addresses that wrap, work-items that are not there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

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
  // Replaces some of the initial contents; may be empty.
  std::function<void(Memory&)> prepare;
  // What the kernel does to one work-group, on the contents before the launch (groups in ascending order).
  std::function<void(Memory& data, unsigned group)> reference;
};

[[nodiscard]] std::vector<LockstepCase> exchange_cases();
[[nodiscard]] std::vector<LockstepCase> scalar_state_cases();

// The macros of all lockstep kernels; VCC is clobbered by each that adds (GFX8 has no other addition).
//   addu d, a, b / subu d, a, b    32-bit vector addition, a - b; b is a VGPR
//   at p, off                      v[p:p+1] = data + zero-extended v<off>        (p and off are numbers)
//   get d, p / put p, d            load, store one dword at v[p:p+1], with waitcnt
//   get_at d, off / put_at off, d  both; use v[60:61]
//   out slot, reg                  data[1024 + slot * 256 + global index] = reg (a scalar or vector operand); v58..v63
[[nodiscard]] std::string lockstep_macros(std::string_view target);

}  // namespace wavejit::test
