#include "backend-x86/fault_decode.h"

#include <cpuid.h>

#include <bit>
#include <cstring>

namespace wavejit::backend {
namespace {

// The parts of a VEX or EVEX encoded memory instruction that the emitter produces (Intel SDM volume 2, chapter 2).
struct VectorInstruction {
  bool evex = false;
  unsigned opcode_map = 0, opcode = 0, prefix = 0;  // prefix: 0 none, 1 66, 2 F3, 3 F2
  unsigned length = 0;                              // 0 128, 1 256, 2 512 bits
  unsigned mask = 0;                                // EVEX.aaa
  unsigned vvvv = 0;
  bool has_memory = false, has_index = false;
  unsigned base = 0, index = 0, scale = 0;
  bool has_base = true, rip_relative = false;
  int64_t displacement = 0;
  bool short_displacement = false;
};

std::optional<VectorInstruction> decode(const uint8_t* p) {
  VectorInstruction v;
  bool rex_b = false, rex_x = false;
  if (p[0] == 0xc5) {
    v.opcode_map = 1;
    v.vvvv = ~p[1] >> 3 & 15;
    v.length = p[1] >> 2 & 1;
    v.prefix = p[1] & 3;
    p += 2;
  } else if (p[0] == 0xc4) {
    rex_x = !(p[1] & 0x40);
    rex_b = !(p[1] & 0x20);
    v.opcode_map = p[1] & 31;
    v.vvvv = ~p[2] >> 3 & 15;
    v.length = p[2] >> 2 & 1;
    v.prefix = p[2] & 3;
    p += 3;
  } else if (p[0] == 0x62) {
    v.evex = true;
    rex_x = !(p[1] & 0x40);
    rex_b = !(p[1] & 0x20);
    v.opcode_map = p[1] & 7;
    v.vvvv = ~p[2] >> 3 & 15;
    v.prefix = p[2] & 3;
    v.length = p[3] >> 5 & 3;
    v.mask = p[3] & 7;
    p += 4;
  } else {
    return std::nullopt;
  }
  v.opcode = *p++;
  const unsigned modrm = *p++, mod = modrm >> 6, rm = modrm & 7;
  if (mod == 3) return v;
  v.has_memory = true;
  if (rm == 4) {
    const unsigned sib = *p++;
    v.scale = sib >> 6;
    v.index = (sib >> 3 & 7) | (rex_x ? 8 : 0);
    v.has_index = v.index != 4;
    v.base = (sib & 7) | (rex_b ? 8 : 0);
    v.has_base = (sib & 7) != 5 || mod != 0;
  } else {
    v.base = rm | (rex_b ? 8 : 0);
    v.rip_relative = rm == 5 && mod == 0;
  }
  if (mod == 1) {
    v.short_displacement = true;
    v.displacement = static_cast<int8_t>(*p);
  } else if (mod == 2 || !v.has_base || v.rip_relative) {
    int32_t d;
    std::memcpy(&d, p, sizeof d);
    v.displacement = d;
  }
  return v;
}

uint64_t general_register(const ucontext_t& context, unsigned number) {
  static constexpr int kOrder[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                     REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return static_cast<uint64_t>(context.uc_mcontext.gregs[kOrder[number]]);
}

// Offset of a component in the standard format of XSAVE.
uint32_t xsave_offset(unsigned component) {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  __cpuid_count(0xd, component, a, b, c, d);
  return b;
}

const uint8_t* xsave_area(const ucontext_t& context) {
  const auto* area = reinterpret_cast<const uint8_t*>(context.uc_mcontext.fpregs);
  if (area == nullptr) return nullptr;
  // struct _fpx_sw_bytes at offset 464: FP_XSTATE_MAGIC1 when the extended state follows
  // (arch/x86/include/uapi/asm/sigcontext.h).
  uint32_t magic;
  std::memcpy(&magic, area + 464, sizeof magic);
  return magic == 0x46505853 ? area : nullptr;
}

// Lanes that a masked access has still to do, as bits.
uint32_t pending_lanes(const VectorInstruction& v, const ucontext_t& context) {
  const uint8_t* area = xsave_area(context);
  if (area == nullptr) return ~0u;
  if (v.evex) {
    if (v.mask == 0) return ~0u;
    uint64_t k;
    std::memcpy(&k, area + xsave_offset(5) + 8 * v.mask, sizeof k);
    return static_cast<uint32_t>(k);
  }
  const bool gather = v.opcode_map == 2 && v.opcode >= 0x90 && v.opcode <= 0x93;
  const bool masked_move = v.opcode_map == 2 && (v.opcode == 0x8c || v.opcode == 0x8e);
  if (!gather && !masked_move) return ~0u;
  uint32_t bits = 0;
  for (unsigned i = 0; i < 8; ++i) {
    uint32_t word;
    if (i < 4) {
      std::memcpy(&word, area + 160 + 16 * v.vvvv + 4 * i, sizeof word);
    } else {
      if (v.length == 0) break;
      std::memcpy(&word, area + xsave_offset(2) + 16 * v.vvvv + 4 * (i - 4), sizeof word);
    }
    bits |= (word >> 31) << i;
  }
  return bits;
}

// The lanes that mask elements belong to, relative to the first lane of the range.
uint32_t lanes_of_elements(uint32_t elements, const FaultRange& range) {
  if (elements == ~0u || range.lane_elements == 1) return elements;
  uint32_t lanes = 0;
  for (unsigned i = 0; i < 16; ++i) {
    if ((elements >> i & 1) != 0) lanes |= 1u << ((i + range.skipped_elements) / range.lane_elements);
  }
  return lanes;
}

// What an EVEX 8-bit displacement counts in, for the instructions that access whole chunks.
unsigned displacement_unit(const VectorInstruction& v) {
  const unsigned full = 16u << v.length;
  if (v.opcode_map != 2) return full;  // vmovdqu32
  switch (v.opcode) {
    case 0x21:
    case 0x31:
      return full / 4;  // vpmov[sz]xbd, vpmovdb
    case 0x23:
    case 0x33:
      return full / 2;  // vpmov[sz]xwd, vpmovdw
    case 0x58:
      return 4;  // vpbroadcastd
    default:
      return full;
  }
}

}  // namespace

uint32_t decode_fault_lane(const FaultRange& range, const ucontext_t& context, std::optional<uint64_t> address,
                           const WaveState& wave) {
  if (range.lane_in_state) return wave.fault_lane;
  if (range.first_lane >= kWaveSize) return kWaveSize;
  const auto v = decode(reinterpret_cast<const uint8_t*>(context.uc_mcontext.gregs[REG_RIP]));
  if (!v || !v->has_memory) return range.first_lane;
  uint32_t pending = lanes_of_elements(pending_lanes(*v, context), range);
  if (pending == 0) pending = ~0u;
  const auto lowest = static_cast<unsigned>(std::countr_zero(pending));
  if (!range.contiguous) {
    if (pending == ~0u) return range.first_lane;
    static constexpr uint8_t kPaired[4] = {0, 1, 4, 5};
    return range.first_lane + (range.paired_order ? kPaired[lowest & 3] : lowest);
  }
  unsigned element = lowest;
  if (address && !v->rip_relative) {
    const int64_t unit = v->evex && v->short_displacement ? displacement_unit(*v) : 1;
    uint64_t start = static_cast<uint64_t>(v->displacement * unit);
    if (v->has_base) start += general_register(context, v->base);
    if (v->has_index) start += general_register(context, v->index) << v->scale;
    if (*address >= start) {
      const unsigned bytes = range.element_bytes != 0 ? range.element_bytes : 1;
      const unsigned skipped = bytes / range.lane_elements * range.skipped_elements;
      element = static_cast<unsigned>((*address - start + skipped) / bytes);
      const uint32_t later = element < 32 ? pending & (~0u << element) : 0;
      if (pending != ~0u && later != 0) element = static_cast<unsigned>(std::countr_zero(later));
    }
  }
  const unsigned lane = range.first_lane + element;
  return lane < kWaveSize ? lane : kWaveSize - 1;
}

}  // namespace wavejit::backend
