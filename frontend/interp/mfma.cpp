// Matrix fused multiply-add (MAI, from GFX908 on). EXEC is ignored: all 64 lanes take part.
//
// D(MxN) = A(MxK) * B(KxN) + C per block. Lane and element of A[i][k] in block b: lane = i + M * (b + blocks * (k /
// E)), element k % E of the E values a lane holds; B alike with j. Results: rows in groups of four, see result_place
// (MI100 and MI200 ISA manuals, "Matrix arithmetic"; AMD matrix instruction calculator). What is known of rounding and
// denormals is in docs/isa-decisions.md, "MFMA".
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "frontend/interp/engine.h"
#include "frontend/interp/fp8.h"

namespace wavejit::interp {
namespace {

enum class Element { f32, f16, bf16, i8, f64, xf32, fp8, bf8 };

constexpr bool is_byte(Element e) {
  return e == Element::i8 || e == Element::fp8 || e == Element::bf8;
}
// In one register (of f64: pair of registers).
constexpr unsigned elements_per_row(Element e) {
  return is_byte(e) ? 4 : e == Element::f16 || e == Element::bf16 ? 2 : 1;
}

// xf32: ten bits of fraction, to nearest even. Infinities and NaNs stay.
float xf32_value(uint32_t bits) {
  if ((bits & 0x7f800000) != 0x7f800000) {
    const uint32_t rest = bits & 0x1fff;
    bits -= rest;
    if (rest > 0x1000 || (rest == 0x1000 && (bits & 0x2000) != 0)) bits += 0x2000;
  }
  return std::bit_cast<float>(bits);
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

// Modifiers that the instruction has: no broadcast where there is one block, and none at all of f64, of which BLGP is
// negation on GFX940; there products of one block have no BLGP, either, but those of f32.
bool modifiers_legal(const isa::Instruction& inst, unsigned blocks, Element e) {
  const bool gfx940 = isa::family_of(inst.target) == isa::Family::gfx940;
  if (e == Element::f64) return inst.cbsz == 0 && inst.abid == 0 && (inst.blgp == 0 || gfx940);
  if (gfx940 && blocks == 1 && e != Element::f32 && inst.blgp != 0) return false;
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
  } else if constexpr (e == Element::xf32) {
    return xf32_value(rows[k * kWaveSize + lane]);
  } else if constexpr (e == Element::f64) {
    return std::bit_cast<double>(static_cast<uint64_t>(rows[kWaveSize + lane]) << 32 | rows[lane]);
  } else if constexpr (e == Element::i8) {
    return static_cast<int32_t>(static_cast<int8_t>(rows[k / 4 * kWaveSize + lane] >> (8 * (k % 4))));
  } else if constexpr (e == Element::fp8) {
    return fp8_value<Fp8::e4m3>(rows[k / 4 * kWaveSize + lane] >> (8 * (k % 4)) & 0xff);
  } else if constexpr (e == Element::bf8) {
    return fp8_value<Fp8::e5m2>(rows[k / 4 * kWaveSize + lane] >> (8 * (k % 4)) & 0xff);
  } else {
    const uint32_t h = rows[k / 2 * kWaveSize + lane] >> (16 * (k % 2)) & 0xffff;
    if constexpr (e == Element::f16) {
      return half_value(h, flush);
    } else {
      return std::bit_cast<float>(h << 16);
    }
  }
}

// What sums are rounded in.
template <Element e>
Env sum_env(bool flush) {
  return e == Element::f32 || e == Element::xf32 ? Env::rn32 : flush ? Env::trans : Env::rn;
}

// `source_rows_each`: registers that each lane has of A and of B; `eb`: elements of B.
template <unsigned M, unsigned K, unsigned blocks, Element e, unsigned source_rows_each = e == Element::f16 ? 2 : 1,
          Element eb = e>
Step mfma(Context& c, const Op& op) {
  constexpr unsigned kElements = elements_per_row(e) * source_rows_each;
  constexpr bool kF64 = e == Element::f64;
  constexpr unsigned kRows = M * M * blocks / kWaveSize * (kF64 ? 2 : 1);
  const isa::Instruction& inst = op.inst;
  if (!modifiers_legal(inst, blocks, e)) return c.exit(ExitReason::kUnsupported, op);
  const bool flush = (e == Element::f16 || e == Element::bf16) && isa::family_of(inst.target) == isa::Family::gfx90a;
  c.use(sum_env<e>(flush));
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
          const unsigned b_lane = j + M * (b + group);
          const auto y = element_at<eb>(b_rows, kF64 ? b_lane : swizzled_lane(inst, b_lane), k % kElements, flush);
          return std::pair{x, y};
        };
        const size_t at = (kF64 ? 2 : 1) * place.row * kWaveSize + place.lane;
        if constexpr (kF64) {
          double sum = std::bit_cast<double>(static_cast<uint64_t>(c_rows[at + kWaveSize]) << 32 | c_rows[at]);
          if ((inst.blgp & 4) != 0) sum = -sum;
          const bool negative = (inst.blgp & 1) != (inst.blgp >> 1 & 1);
          for (unsigned k = 0; k < K; ++k) {
            const auto [x, y] = element(k);
            sum = std::fma(negative ? -x : x, y, sum);
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

// D += A * B, of which A holds two of every four elements of a row. The third source says which: two bits for each
// element, in the lane of the element; with CBSZ = 0 from byte (16-bit elements) or half (8-bit ones) ABID on.
template <unsigned M, unsigned K, Element e, Element eb = e>
Step smfmac(Context& c, const Op& op) {
  constexpr unsigned kStored = elements_per_row(e) * 2, kDense = 2 * kStored;  // elements of A and B in a lane
  constexpr unsigned kRows = M * M / kWaveSize;
  constexpr unsigned kSets = is_byte(e) ? 2 : 4;
  const isa::Instruction& inst = op.inst;
  if (inst.cbsz == 0 && inst.abid >= kSets) return c.exit(ExitReason::kUnsupported, op);
  const unsigned index_shift = inst.cbsz == 0 ? inst.abid * 2 * kStored : 0;
  c.use(Env::rn);
  const uint32_t* a_rows = source_rows(c, op, 0, 0, false);
  const uint32_t* b_rows = source_rows(c, op, 1, 0, false);
  const uint32_t* indices = source_rows(c, op, 2, 0, false);
  uint32_t* d_rows = c.row(op.dst_reg);
  alignas(64) uint32_t result[kRows * kWaveSize];
  for (unsigned i = 0; i < M; ++i) {
    for (unsigned j = 0; j < M; ++j) {
      const Place place = result_place<M, false>(i, j, 0);
      const size_t at = place.row * kWaveSize + place.lane;
      using Sum = std::conditional_t<e == Element::i8, uint32_t, float>;
      auto sum = std::bit_cast<Sum>(d_rows[at]);
      for (unsigned group = 0; group < K / kDense; ++group) {
        const unsigned a_lane = i + M * group, b_lane = j + M * group;
        for (unsigned k = 0; k < kStored; ++k) {
          const unsigned column = 4 * (k / 2) + (indices[a_lane] >> (index_shift + 2 * k) & 3);
          const auto x = element_at<e>(a_rows, a_lane, k, false);
          const auto y = element_at<eb>(b_rows, b_lane, column, false);
          if constexpr (e == Element::i8) {
            sum += static_cast<uint32_t>(x * y);
          } else {
            sum = std::fma(x, y, sum);
          }
        }
      }
      result[at] = std::bit_cast<uint32_t>(sum);
    }
  }
  std::memcpy(d_rows, result, sizeof result);
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
  r.handler(Opcode::v_mfma_f32_32x32x4bf16_1k, mfma<32, 4, 2, bf16, 2>);
  r.handler(Opcode::v_mfma_f32_16x16x4bf16_1k, mfma<16, 4, 4, bf16, 2>);
  r.handler(Opcode::v_mfma_f32_4x4x4bf16_1k, mfma<4, 4, 16, bf16, 2>);
  r.handler(Opcode::v_mfma_f32_32x32x8bf16_1k, mfma<32, 8, 1, bf16, 2>);
  r.handler(Opcode::v_mfma_f32_16x16x16bf16_1k, mfma<16, 16, 1, bf16, 2>);
  r.handler(Opcode::v_mfma_f64_16x16x4f64, mfma<16, 4, 1, f64>);
  r.handler(Opcode::v_mfma_f64_4x4x4f64, mfma<4, 4, 4, f64>);
  // GFX940.
  r.handler(Opcode::v_mfma_f32_16x16x8_xf32, mfma<16, 8, 1, xf32, 2>);
  r.handler(Opcode::v_mfma_f32_32x32x4_xf32, mfma<32, 4, 1, xf32, 2>);
  r.handler(Opcode::v_mfma_i32_16x16x32_i8, mfma<16, 32, 1, i8, 2>);
  r.handler(Opcode::v_mfma_i32_32x32x16_i8, mfma<32, 16, 1, i8, 2>);
  r.handler(Opcode::v_mfma_f32_16x16x32_bf8_bf8, mfma<16, 32, 1, bf8, 2, bf8>);
  r.handler(Opcode::v_mfma_f32_32x32x16_bf8_bf8, mfma<32, 16, 1, bf8, 2, bf8>);
  r.handler(Opcode::v_smfmac_f32_16x16x64_bf8_bf8, smfmac<16, 64, bf8, bf8>);
  r.handler(Opcode::v_smfmac_f32_32x32x32_bf8_bf8, smfmac<32, 32, bf8, bf8>);
  r.handler(Opcode::v_mfma_f32_16x16x32_bf8_fp8, mfma<16, 32, 1, bf8, 2, fp8>);
  r.handler(Opcode::v_mfma_f32_32x32x16_bf8_fp8, mfma<32, 16, 1, bf8, 2, fp8>);
  r.handler(Opcode::v_smfmac_f32_16x16x64_bf8_fp8, smfmac<16, 64, bf8, fp8>);
  r.handler(Opcode::v_smfmac_f32_32x32x32_bf8_fp8, smfmac<32, 32, bf8, fp8>);
  r.handler(Opcode::v_mfma_f32_16x16x32_fp8_bf8, mfma<16, 32, 1, fp8, 2, bf8>);
  r.handler(Opcode::v_mfma_f32_32x32x16_fp8_bf8, mfma<32, 16, 1, fp8, 2, bf8>);
  r.handler(Opcode::v_smfmac_f32_16x16x64_fp8_bf8, smfmac<16, 64, fp8, bf8>);
  r.handler(Opcode::v_smfmac_f32_32x32x32_fp8_bf8, smfmac<32, 32, fp8, bf8>);
  r.handler(Opcode::v_mfma_f32_16x16x32_fp8_fp8, mfma<16, 32, 1, fp8, 2, fp8>);
  r.handler(Opcode::v_mfma_f32_32x32x16_fp8_fp8, mfma<32, 16, 1, fp8, 2, fp8>);
  r.handler(Opcode::v_smfmac_f32_16x16x64_fp8_fp8, smfmac<16, 64, fp8, fp8>);
  r.handler(Opcode::v_smfmac_f32_32x32x32_fp8_fp8, smfmac<32, 32, fp8, fp8>);
  r.handler(Opcode::v_smfmac_f32_16x16x32_f16, smfmac<16, 32, f16>);
  r.handler(Opcode::v_smfmac_f32_32x32x16_f16, smfmac<32, 16, f16>);
  r.handler(Opcode::v_smfmac_f32_16x16x32_bf16, smfmac<16, 32, bf16>);
  r.handler(Opcode::v_smfmac_f32_32x32x16_bf16, smfmac<32, 16, bf16>);
  r.handler(Opcode::v_smfmac_i32_16x16x64_i8, smfmac<16, 64, i8>);
  r.handler(Opcode::v_smfmac_i32_32x32x32_i8, smfmac<32, 32, i8>);
}

}  // namespace wavejit::interp
