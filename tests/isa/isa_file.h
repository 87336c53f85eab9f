// The text format of directed instruction tests.
//
//   # comment
//   case NAME                        starts a case
//   targets gfx906 gfx90a            optional; default: gfx803 gfx900 gfx906 gfx908 gfx90a; gfx90a stands for gfx942, too,
//                                    if that has the instructions (glc, slc, scc are sc0, nt, sc1 there)
//                                    and no !gfx942 follows
//   mode 0x3c0                       optional MODE register; default 0x3c0 (IEEE, DX10_CLAMP, f16/f64 denormals; f32
//                                    flushed); the expected part may state it as well, else it must be unchanged
//   exec 0x00000000ffffffff          optional; default all ones
//   v0 = 1.0 lane 0x7fc00000 -3      values of lanes 0, 1, ..., repeated cyclically; `lane` is the lane number
//   v1 = 4*lane  v[2:3] = mem+4*lane multiples of it, addresses in global memory
//   s4 = 7      s[4:5] = mem+16      mem/256+N: global memory's address divided by 256, as images have it; 32 and
//                                    64 bits
//   vcc = ..  m0 = ..  scc = 1
//   lds[16] = 5 6                    32-bit words from byte address 16 (LDS has 4 KiB, zeros)
//   mem[16] = 5 6                    32-bit words from byte 16 of a page of global memory (64 KiB, zeros); the GDS is
//                                    its upper half, scratch the quarter below it (256 bytes of each lane, swizzled)
//   mem[64] = pattern 256            256 bytes, at byte a: (a * 29 + a / 64 + 3) modulo 256
//   ---
//   v_add_f32 v2, v0, v1             assembly
//   ---
//   v2 = 2.0 ...                     expected; registers that are not named must be unchanged
//   v3 = *                           this register may hold anything
//   unsupported MNEMONIC             every engine stops at this instruction with the error for what is unsupported; the
//                                    rest of the state is as stated
//
// tests/isa/reference/evaluate.py computes the expected sections from the documents, compares, and writes those of new
// cases; tests/isa/reference/not_covered.txt has what it cannot compute.
//
// Numbers: integers (decimal, hexadecimal, negative), floats with a point ("1.0", "-0.0", "inf", "nan" = quiet NaN of
// any payload) of 32 bits; with suffix h 16 bits, d 64 bits (v[0:1] = 1.5d).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/isa/target.h"
#include "internal/error.h"

namespace wavejit::test {

struct IsaValue {
  enum class Kind : uint8_t { bits, address /* bits + start of global memory */, page /* the same / 256 */, nan, any };
  Kind kind = Kind::bits;
  uint64_t bits = 0;
  uint64_t per_lane = 0;  // added once per lane number
};

struct IsaAssignment {
  enum class Where : uint8_t { vgpr, agpr, sgpr, scc, mode, lds, memory };
  Where where = Where::sgpr;
  unsigned index = 0;
  unsigned dwords = 1;
  std::vector<IsaValue> values;
};

struct IsaCase {
  std::string name;
  unsigned line = 0;
  std::vector<isa::Target> targets;
  std::vector<isa::Target> not_targets;  // although those that they stand for are in the list
  uint32_t mode = 0x3c0;
  uint64_t exec = ~uint64_t{0};
  std::vector<IsaAssignment> initial, expected;
  std::string assembly;
  std::string unsupported;  // mnemonic; empty: the case runs to its end
};

[[nodiscard]] Expected<std::vector<IsaCase>> parse_isa_file(std::string_view text);

}  // namespace wavejit::test
