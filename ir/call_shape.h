// The `imm` of `call` operations (ir/calls.def): the fields of the guest instruction.
#pragma once

#include <bit>
#include <cstdint>

namespace wavejit::ir {

enum class Call : uint16_t {
#define CALL(name, ...) name,
#include "ir/calls.def"
#undef CALL
  kCount,
};

// Address registers of image instructions that are not coordinates, in the order of the registers.
namespace image_flag {
inline constexpr uint8_t kOffset = 1, kBias = 2, kCompare = 4, kDerivatives = 8, kLod = 16, kLodZero = 32, kClamp = 64,
                         kMip = 128;
}

// Addressing and range checks of buffers (docs/isa-decisions.md, "Buffers"): gfx6 stands for GFX6 and GFX7, gfx9 for
// all from GFX9 on.
enum class BufferRules : uint8_t { gfx6, gfx8, gfx9 };

struct CallShape {
  uint16_t offset = 0;      // immediate of buffers
  uint8_t data_format = 0;  // of MTBUF; 0: the descriptor's
  uint8_t count = 0;        // components of buffers, DMASK of images
  uint8_t image = 0;        // image_flag
  uint8_t number_format : 3 = 0;
  uint8_t offen : 1 = 0;
  uint8_t idxen : 1 = 0;
  uint8_t d16 : 1 = 0;     // registers hold 16-bit values
  uint8_t packed : 1 = 0;  // two in each (from GFX9 on)
  BufferRules rules : 2 = BufferRules::gfx6;
  uint8_t array : 1 = 0;
  uint8_t unnormalized : 1 = 0;
  uint8_t a16 : 1 = 0;
  uint8_t gfx9_image : 1 = 0;  // descriptors of GFX9
  uint8_t addr64 : 1 = 0;
  uint8_t wide : 1 = 0;  // atomics of 64 bits
  uint8_t atomic = 0;    // AtomicOp

  [[nodiscard]] uint64_t pack() const { return std::bit_cast<uint64_t>(*this); }
  [[nodiscard]] static CallShape unpack(uint64_t bits) { return std::bit_cast<CallShape>(bits); }
};
static_assert(sizeof(CallShape) == 8);

// D += A * B, where A holds two of every four elements of a row (structured sparsity). Lanes hold elements as in
// ir/matrix.h, with one block.
enum class SparseElement : uint8_t { f16, bf16, i8, fp8, bf8 };
struct SparseShape {
  static constexpr unsigned kRows = 4;  // of D in one call
  uint8_t size = 0;                     // 16 or 32
  SparseElement element{}, element_b{};
  uint8_t index_shift = 0;  // where the element numbers begin in the index register, two bits each
  uint8_t first_row = 0;    // of D
  uint8_t unused[3] = {};

  [[nodiscard]] uint64_t pack() const { return std::bit_cast<uint64_t>(*this); }
  [[nodiscard]] static SparseShape unpack(uint64_t bits) { return std::bit_cast<SparseShape>(bits); }
};
static_assert(sizeof(SparseShape) == 8);

}  // namespace wavejit::ir
