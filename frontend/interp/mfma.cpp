// Matrix fused multiply-add (MAI, GFX908 and GFX90A). EXEC is ignored: all 64 lanes take part.
//
// D(MxN) = A(MxK) * B(KxN) + C per block. Lane and element of A[i][k] in block b: lane = i + M * (b + blocks * (k /
// E)), element k % E of the E values a lane holds; B alike with j. Results: rows in groups of four, see result_place
// (MI100 and MI200 ISA manuals, "Matrix arithmetic"; AMD matrix instruction calculator). What is known of rounding and
// denormals is in docs/isa-decisions.md, "MFMA".
#include <bit>
#include <cmath>
#include <cstring>

#include "frontend/interp/engine.h"

namespace wavejit::interp {
namespace {

enum class Element { f32, f16, bf16, i8, f64 };

constexpr unsigned elements_per_lane(Element e, bool four_bf16) {
  switch (e) {
    case Element::f16:
    case Element::i8:
      return 4;
    case Element::bf16:
      return four_bf16 ? 4 : 2;
    default:
      return 1;
  }
}

// flush: denormals are zeros of their sign.
float half_value(uint32_t h, bool flush) {
  const int exponent = static_cast<int>(h >> 10 & 31);
  if (flush && exponent == 0) h &= 0x8000;
  const auto fraction = static_cast<float>(h & 1023);
  float v;
  if (exponent == 31) {
    v = fraction == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    v = fraction * 0x1p-24f;
  } else {
    v = std::ldexp(fraction + 1024.0f, exponent - 25);
  }
  return (h & 0x8000) != 0 ? -v : v;
}

struct Place {
  unsigned lane, row;
};
// Where D[i][j] of block b is: lane and register (of one element each; pairs for f64).
template <unsigned M, bool is_f64>
constexpr Place result_place(unsigned i, unsigned j, unsigned b) {
  if constexpr (is_f64) {
    return M == 4 ? Place{j + 4 * b + 16 * i, 0} : Place{j + 16 * (i % 4), i / 4};
  } else {
    switch (M) {
      case 4:
        return {4 * b + j, i};
      case 16:
        return {j + 16 * (i / 4), 4 * b + i % 4};
      default:
        return {j + 32 * (i / 4 % 2), 16 * b + 4 * (i / 8) + i % 4};
    }
  }
}

// CBSZ broadcasts one block of A to groups of 2^cbsz blocks; ABID says which.
unsigned broadcast_block(const isa::Instruction& inst, unsigned b) {
  return inst.cbsz == 0 ? b : (b & ~((1u << inst.cbsz) - 1)) | inst.abid;
}

// BLGP: from which lane B's element of a lane comes.
unsigned swizzled_lane(const isa::Instruction& inst, unsigned lane) {
  switch (inst.blgp) {
    case 0:
      return lane;
    case 1:
      return lane % 32;
    case 2:
      return 32 + lane % 32;
    case 3:
      return (lane + 16) % 64;
    default:
      return 16 * (inst.blgp - 4u) + lane % 16;
  }
}

// Modifiers that the instruction has: no broadcast where there is one block, and none at all of f64.
bool modifiers_legal(const isa::Instruction& inst, unsigned blocks, bool is_f64) {
  if (is_f64) return inst.cbsz == 0 && inst.abid == 0 && inst.blgp == 0;
  return inst.cbsz == 0 || ((1u << inst.cbsz) <= blocks && inst.abid < (1u << inst.cbsz));
}

const uint32_t* source_rows(Context& c, const Op& op, unsigned index, unsigned rows, bool is_f64) {
  const Source& s = op.sources[index];
  switch (s.kind) {
    case Source::Kind::vgpr:
      return c.row(s.reg);
    case Source::Kind::agpr:
      return c.row(kNumVgprs + s.reg);
    default:
      break;
  }
  // A constant: the same value in every element.
  uint32_t* out = c.out;
  if (is_f64) {
    for (unsigned r = 0; r < rows; r += 2) c.lanes.splat(out + r * kWaveSize, s.value, 2);
  } else {
    for (unsigned r = 0; r < rows; ++r) c.lanes.splat(out + r * kWaveSize, s.value & 0xffffffff, 1);
  }
  return out;
}

template <Element e>
auto element_at(const uint32_t* rows, unsigned lane, unsigned k, bool flush) {
  if constexpr (e == Element::f32) {
    return std::bit_cast<float>(rows[lane]);
  } else if constexpr (e == Element::f64) {
    return std::bit_cast<double>(static_cast<uint64_t>(rows[kWaveSize + lane]) << 32 | rows[lane]);
  } else if constexpr (e == Element::i8) {
    return static_cast<int32_t>(static_cast<int8_t>(rows[lane] >> (8 * k)));
  } else {
    const uint32_t h = rows[k / 2 * kWaveSize + lane] >> (16 * (k % 2)) & 0xffff;
    if constexpr (e == Element::f16) {
      return half_value(h, flush);
    } else {
      return std::bit_cast<float>(h << 16);
    }
  }
}

template <unsigned M, unsigned K, unsigned blocks, Element e, bool four_bf16 = false>
Step mfma(Context& c, const Op& op) {
  constexpr unsigned kElements = elements_per_lane(e, four_bf16);
  constexpr bool kF64 = e == Element::f64;
  constexpr unsigned kRows = M * M * blocks / kWaveSize * (kF64 ? 2 : 1);
  const isa::Instruction& inst = op.inst;
  if (!modifiers_legal(inst, blocks, kF64)) return c.exit(ExitReason::kUnsupported, op);
  const bool flush = (e == Element::f16 || e == Element::bf16) && isa::family_of(inst.target) == isa::Family::gfx90a;
  c.use(e == Element::f32 ? Env::rn32 : flush ? Env::trans : Env::rn);
  const uint32_t* a_rows = source_rows(c, op, 0, 0, kF64);
  const uint32_t* b_rows = source_rows(c, op, 1, 0, kF64);
  const uint32_t* c_rows = source_rows(c, op, 2, kRows, kF64);
  alignas(64) uint32_t result[kRows * kWaveSize];
  for (unsigned b = 0; b < blocks; ++b) {
    for (unsigned i = 0; i < M; ++i) {
      for (unsigned j = 0; j < M; ++j) {
        const Place place = result_place<M, kF64>(i, j, b);
        const auto element = [&](unsigned k) {
          const unsigned group = blocks * (k / kElements);
          const auto x = element_at<e>(a_rows, i + M * (broadcast_block(inst, b) + group), k % kElements, flush);
          const auto y = element_at<e>(b_rows, swizzled_lane(inst, j + M * (b + group)), k % kElements, flush);
          return std::pair{x, y};
        };
        const size_t at = (kF64 ? 2 : 1) * place.row * kWaveSize + place.lane;
        if constexpr (kF64) {
          double sum = std::bit_cast<double>(static_cast<uint64_t>(c_rows[at + kWaveSize]) << 32 | c_rows[at]);
          for (unsigned k = 0; k < K; ++k) {
            const auto [x, y] = element(k);
            sum = std::fma(x, y, sum);
          }
          const auto bits = std::bit_cast<uint64_t>(sum);
          result[at] = static_cast<uint32_t>(bits);
          result[at + kWaveSize] = static_cast<uint32_t>(bits >> 32);
        } else if constexpr (e == Element::i8) {
          uint32_t sum = c_rows[at];
          for (unsigned k = 0; k < K; ++k) {
            const auto [x, y] = element(k);
            sum += static_cast<uint32_t>(x * y);
          }
          result[at] = sum;
        } else {
          auto sum = std::bit_cast<float>(c_rows[at]);
          for (unsigned k = 0; k < K; ++k) {
            const auto [x, y] = element(k);
            sum = std::fma(x, y, sum);
          }
          result[at] = std::bit_cast<uint32_t>(sum);
        }
      }
    }
  }
  std::memcpy(c.row(op.dst_reg), result, sizeof result);
  return Step::next;
}

}  // namespace

void register_mfma(Registry& r) {
  using enum Element;
  r.handler(Opcode::v_mfma_f32_32x32x1f32, mfma<32, 1, 2, f32>);
  r.handler(Opcode::v_mfma_f32_16x16x1f32, mfma<16, 1, 4, f32>);
  r.handler(Opcode::v_mfma_f32_4x4x1f32, mfma<4, 1, 16, f32>);
  r.handler(Opcode::v_mfma_f32_32x32x2f32, mfma<32, 2, 1, f32>);
  r.handler(Opcode::v_mfma_f32_16x16x4f32, mfma<16, 4, 1, f32>);
  r.handler(Opcode::v_mfma_f32_32x32x4f16, mfma<32, 4, 2, f16>);
  r.handler(Opcode::v_mfma_f32_16x16x4f16, mfma<16, 4, 4, f16>);
  r.handler(Opcode::v_mfma_f32_4x4x4f16, mfma<4, 4, 16, f16>);
  r.handler(Opcode::v_mfma_f32_32x32x8f16, mfma<32, 8, 1, f16>);
  r.handler(Opcode::v_mfma_f32_16x16x16f16, mfma<16, 16, 1, f16>);
  r.handler(Opcode::v_mfma_i32_32x32x4i8, mfma<32, 4, 2, i8>);
  r.handler(Opcode::v_mfma_i32_16x16x4i8, mfma<16, 4, 4, i8>);
  r.handler(Opcode::v_mfma_i32_4x4x4i8, mfma<4, 4, 16, i8>);
  r.handler(Opcode::v_mfma_i32_32x32x8i8, mfma<32, 8, 1, i8>);
  r.handler(Opcode::v_mfma_i32_16x16x16i8, mfma<16, 16, 1, i8>);
  r.handler(Opcode::v_mfma_f32_32x32x2bf16, mfma<32, 2, 2, bf16>);
  r.handler(Opcode::v_mfma_f32_16x16x2bf16, mfma<16, 2, 4, bf16>);
  r.handler(Opcode::v_mfma_f32_4x4x2bf16, mfma<4, 2, 16, bf16>);
  r.handler(Opcode::v_mfma_f32_32x32x4bf16, mfma<32, 4, 1, bf16>);
  r.handler(Opcode::v_mfma_f32_16x16x8bf16, mfma<16, 8, 1, bf16>);
  r.handler(Opcode::v_mfma_f32_32x32x4bf16_1k, mfma<32, 4, 2, bf16, true>);
  r.handler(Opcode::v_mfma_f32_16x16x4bf16_1k, mfma<16, 4, 4, bf16, true>);
  r.handler(Opcode::v_mfma_f32_4x4x4bf16_1k, mfma<4, 4, 16, bf16, true>);
  r.handler(Opcode::v_mfma_f32_32x32x8bf16_1k, mfma<32, 8, 1, bf16, true>);
  r.handler(Opcode::v_mfma_f32_16x16x16bf16_1k, mfma<16, 16, 1, bf16, true>);
  r.handler(Opcode::v_mfma_f64_16x16x4f64, mfma<16, 4, 1, f64>);
  r.handler(Opcode::v_mfma_f64_4x4x4f64, mfma<4, 4, 4, f64>);
}

}  // namespace wavejit::interp
