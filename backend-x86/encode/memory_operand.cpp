#include "backend-x86/encode/memory_operand.h"

#include <cpuid.h>

#include <cstring>

namespace wavejit::backend {
namespace {

using Encoding = MemoryOperand::Encoding;

// The first byte of an instruction's map, prefixes and W, up to its opcode.
struct Prefixes {
  bool rex_x = false, rex_b = false;
  bool index_high = false;  // EVEX.V': bit 4 of a vector index
  bool broadcast = false;   // EVEX.b
};

// Whether an instruction with a legacy encoding has a ModRM byte (Intel SDM volume 2, appendix A).
bool has_modrm(unsigned map, unsigned opcode) {
  if (map >= 2) return true;
  if (map == 1) {
    return !(opcode >= 0x05 && opcode <= 0x0b) && !(opcode >= 0x30 && opcode <= 0x37) && opcode != 0x77 &&
           !(opcode >= 0x80 && opcode <= 0x8f) && !(opcode >= 0xa0 && opcode <= 0xa2) &&
           !(opcode >= 0xa8 && opcode <= 0xaa) && !(opcode >= 0xc8 && opcode <= 0xcf);
  }
  if (opcode < 0x40) return (opcode & 7) < 4;
  return opcode == 0x63 || opcode == 0x69 || opcode == 0x6b || (opcode >= 0x80 && opcode <= 0x8f) || opcode == 0xc0 ||
         opcode == 0xc1 || opcode == 0xc6 || opcode == 0xc7 || (opcode >= 0xd0 && opcode <= 0xd3) || opcode == 0xf6 ||
         opcode == 0xf7 || opcode == 0xfe || opcode == 0xff;
}

// Null for what is not understood.
const uint8_t* decode_legacy(const uint8_t* p, MemoryOperand& m, Prefixes& prefixes) {
  for (;; ++p) {
    if (*p == 0x66) {
      if (m.prefix == 0) m.prefix = 1;
    } else if (*p == 0xf3) {
      m.prefix = 2;
    } else if (*p == 0xf2) {
      m.prefix = 3;
    } else if (*p != 0xf0) {  // lock
      break;
    }
  }
  if ((*p & 0xf0) == 0x40) {  // REX
    m.wide = (*p & 8) != 0;
    prefixes.rex_x = (*p & 2) != 0;
    prefixes.rex_b = (*p & 1) != 0;
    ++p;
  }
  if (*p == 0x0f) {
    ++p;
    m.map = 1;
    if (*p == 0x38 || *p == 0x3a) m.map = *p++ == 0x38 ? 2 : 3;
  }
  m.opcode = *p++;
  return has_modrm(m.map, m.opcode) ? p : nullptr;
}

const uint8_t* decode_vex(const uint8_t* p, MemoryOperand& m, Prefixes& prefixes) {
  m.encoding = Encoding::vex;
  unsigned last = p[1];
  if (p[0] == 0xc5) {
    m.map = 1;
    p += 2;
  } else {
    prefixes.rex_x = !(p[1] & 0x40);
    prefixes.rex_b = !(p[1] & 0x20);
    m.map = p[1] & 31;
    last = p[2];
    m.wide = (last & 0x80) != 0;
    p += 3;
  }
  m.vvvv = ~last >> 3 & 15;
  m.length = last >> 2 & 1;
  m.prefix = last & 3;
  m.opcode = *p++;
  return p;
}

const uint8_t* decode_evex(const uint8_t* p, MemoryOperand& m, Prefixes& prefixes) {
  m.encoding = Encoding::evex;
  prefixes.rex_x = !(p[1] & 0x40);
  prefixes.rex_b = !(p[1] & 0x20);
  m.map = p[1] & 7;
  m.wide = (p[2] & 0x80) != 0;
  m.vvvv = (~p[2] >> 3 & 15) | (p[3] & 8 ? 0 : 16);
  m.prefix = p[2] & 3;
  m.length = p[3] >> 5 & 3;
  prefixes.broadcast = (p[3] & 0x10) != 0;
  prefixes.index_high = !(p[3] & 8);
  m.mask = p[3] & 7;
  m.opcode = p[4];
  return p + 5;
}

bool is_gather_or_scatter(const MemoryOperand& m) {
  if (m.map != 2 || m.prefix != 1) return false;
  if (m.encoding == Encoding::vex) return m.opcode >= 0x90 && m.opcode <= 0x93;
  return m.encoding == Encoding::evex &&
         ((m.opcode >= 0x90 && m.opcode <= 0x93) || (m.opcode >= 0xa0 && m.opcode <= 0xa3));
}

// What an EVEX 8-bit displacement counts in: the size of the memory operand (Intel SDM volume 2, section 2.7.5
// "Compressed displacement support", tables 2-34 and 2-35, and the instructions' tuple types).
unsigned displacement_unit(const MemoryOperand& m, bool broadcast) {
  const unsigned vector = 16u << m.length;
  const unsigned element = m.wide ? 8 : 4;
  if (broadcast) return element;
  const unsigned op = m.opcode;
  const bool scalar = m.prefix >= 2;  // F3, F2
  if (m.map == 1) {
    switch (op) {
      case 0x12:  // vmovlps, vmovlpd; vmovddup; vmovsldup
        return m.prefix == 3 ? (m.length == 0 ? 8 : vector) : m.prefix == 2 ? vector : 8;
      case 0x16:  // vmovhps, vmovhpd; vmovshdup
        return m.prefix == 2 ? vector : 8;
      case 0x13:
      case 0x17:
      case 0xd6:  // vmovq
        return 8;
      case 0x2e:
      case 0x2f:  // vucomiss, vcomiss
      case 0x6e:  // vmovd, vmovq
        return element;
      case 0x7e:
        return m.prefix == 2 ? 8 : element;
      case 0x5a:  // vcvtps2pd, vcvtpd2ps, vcvtss2sd, vcvtsd2ss
        return scalar ? element : m.prefix == 0 ? vector / 2 : vector;
      case 0x5b:  // vcvtdq2ps, vcvttps2dq
      case 0x6f:  // vmovdqu*
      case 0x7f:
        return vector;
      case 0x78:
      case 0x79:
      case 0x7a:
      case 0x7b:  // conversions with 64-bit or unsigned integers
        if (scalar && op == 0x7a) return m.wide || m.prefix == 3 ? vector : vector / 2;
        if (scalar) return op == 0x7b ? element : m.prefix == 3 ? 8 : 4;
        return m.prefix == 1 && !m.wide ? vector / 2 : vector;
      case 0xe6:  // vcvtdq2pd; vcvttpd2dq, vcvtpd2dq
        return m.prefix == 2 && !m.wide ? vector / 2 : vector;
      case 0xc4:  // vpinsrw
        return 2;
      case 0x2a:  // vcvtsi2ss
        return element;
      case 0x2c:
      case 0x2d:  // vcvtss2si: the source's size
        return m.prefix == 3 ? 8 : 4;
      case 0xd1:
      case 0xd2:
      case 0xd3:
      case 0xe1:
      case 0xe2:
      case 0xf1:
      case 0xf2:
      case 0xf3:  // shifts by a number in memory
        return 16;
      case 0x70:  // vpshuf*
        return vector;
      default:
        return scalar ? element : vector;
    }
  }
  if (m.map == 2) {
    if (scalar && op >= 0x10 && op <= 0x35 && (op & 15) < 6) {  // vpmov[u]s?xy: narrowing stores
      static constexpr unsigned kParts[6] = {2, 4, 8, 2, 4, 2};
      return vector / kParts[op & 15];
    }
    switch (op) {
      case 0x20:
      case 0x30:
      case 0x23:
      case 0x33:
      case 0x25:
      case 0x35:  // vpmov[sz]x bw, wd, dq
      case 0x13:  // vcvtph2ps
        return vector / 2;
      case 0x21:
      case 0x31:
      case 0x24:
      case 0x34:  // bd, wq
        return vector / 4;
      case 0x22:
      case 0x32:  // bq
        return vector / 8;
      case 0x18:
      case 0x58:  // broadcasts of 32 bits
        return 4;
      case 0x19:
      case 0x59:  // of 64
        return 8;
      case 0x1a:
      case 0x5a:
        return 16;
      case 0x1b:
      case 0x5b:
        return 32;
      case 0x78:
        return 1;
      case 0x79:
        return 2;
      case 0x62:
      case 0x63:  // expand, compress of bytes or words
        return m.wide ? 2 : 1;
      case 0x88:
      case 0x89:
      case 0x8a:
      case 0x8b:  // of wider elements
      case 0x2d:
      case 0x43:
      case 0x4d:
      case 0x4f:  // scalar forms of scalef, getexp, rcp14, rsqrt14
        return element;
      default:
        if (is_gather_or_scatter(m)) return element;
        // Scalar forms of vfmadd and its kin.
        if (op >= 0x96 && op <= 0xbf && (op & 15) >= 9 && (op & 1) != 0) return element;
        return vector;
    }
  }
  if (m.map == 3) {
    switch (op) {
      case 0x14:
      case 0x20:
        return 1;
      case 0x15:
        return 2;
      case 0x16:
      case 0x22:
        return element;
      case 0x17:
      case 0x21:
        return 4;
      case 0x18:
      case 0x19:
      case 0x38:
      case 0x39:
        return 16;
      case 0x1a:
      case 0x1b:
      case 0x3a:
      case 0x3b:
        return 32;
      case 0x1d:  // vcvtps2ph
        return vector / 2;
      case 0x0a:
      case 0x0b:
      case 0x27:
      case 0x51:
      case 0x55:
      case 0x57:
      case 0x67:  // scalar forms
        return element;
      default:
        return vector;
    }
  }
  return vector;
}

// Offset of a component in the standard format of XSAVE.
uint32_t xsave_offset(unsigned component) {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  __cpuid_count(0xd, component, a, b, c, d);
  return b;
}

constexpr unsigned kAvx = 2, kOpmask = 5, kZmmHigh = 6, kZmm16To31 = 7;  // bits of XCR0

}  // namespace

unsigned MemoryOperand::elements() const {
  const unsigned index_bytes = opcode % 2 != 0 ? 8 : 4;
  const unsigned largest = index_bytes > masked_bytes() ? index_bytes : masked_bytes();
  return (16u << length) / largest;
}

std::optional<MemoryOperand> decode_memory_operand(const uint8_t* code) {
  MemoryOperand m;
  Prefixes prefixes;
  const uint8_t* p = code;
  if (p[0] == 0xc5 || p[0] == 0xc4)
    p = decode_vex(p, m, prefixes);
  else if (p[0] == 0x62)
    p = decode_evex(p, m, prefixes);
  else
    p = decode_legacy(p, m, prefixes);
  if (p == nullptr) return std::nullopt;
  const unsigned modrm = *p++, mod = modrm >> 6, rm = modrm & 7;
  if (mod == 3 || (rm == 5 && mod == 0)) return std::nullopt;
  const unsigned high_base = prefixes.rex_b ? 8 : 0;
  m.has_base = true;
  m.base = static_cast<uint8_t>(rm | high_base);
  m.vector_index = is_gather_or_scatter(m);
  if (rm == 4) {
    const unsigned sib = *p++;
    m.scale = static_cast<uint8_t>(sib >> 6);
    m.index = static_cast<uint8_t>((sib >> 3 & 7) | (prefixes.rex_x ? 8 : 0));
    m.has_index = m.vector_index || m.index != 4;
    if (m.vector_index && m.encoding == Encoding::evex && prefixes.index_high) m.index |= 16;
    m.base = static_cast<uint8_t>((sib & 7) | high_base);
    m.has_base = (sib & 7) != 5 || mod != 0;
  } else if (m.vector_index) {
    return std::nullopt;
  }
  if (mod == 1) {
    const auto unit = m.encoding == Encoding::evex ? displacement_unit(m, prefixes.broadcast) : 1;
    m.displacement = int64_t{static_cast<int8_t>(*p)} * unit;
  } else if (mod == 2 || !m.has_base) {
    int32_t d;
    std::memcpy(&d, p, sizeof d);
    m.displacement = d;
  }
  return m;
}

MachineState::MachineState(const ucontext_t& context) : context_(context) {
  const auto* area = reinterpret_cast<const uint8_t*>(context.uc_mcontext.fpregs);
  if (area == nullptr) return;
  // struct _fpx_sw_bytes at offset 464: FP_XSTATE_MAGIC1 when the extended state follows
  // (arch/x86/include/uapi/asm/sigcontext.h).
  uint32_t magic;
  std::memcpy(&magic, area + 464, sizeof magic);
  if (magic == 0x46505853) area_ = area;
}

uint64_t MachineState::general(unsigned number) const {
  static constexpr int kOrder[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                     REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return static_cast<uint64_t>(context_.uc_mcontext.gregs[kOrder[number]]);
}

const uint8_t* MachineState::component(unsigned component, unsigned offset) const {
  if (area_ == nullptr) return nullptr;
  uint64_t saved;  // struct _fpx_sw_bytes::xfeatures
  std::memcpy(&saved, area_ + 472, sizeof saved);
  return (saved >> component & 1) != 0 ? area_ + xsave_offset(component) + offset : nullptr;
}

std::optional<uint32_t> MachineState::vector32(unsigned number, unsigned element) const {
  const uint8_t* at = nullptr;
  if (number >= 16)
    at = component(kZmm16To31, 64 * (number - 16) + 4 * element);
  else if (element >= 8)
    at = component(kZmmHigh, 32 * number + 4 * (element - 8));
  else if (element >= 4)
    at = component(kAvx, 16 * number + 4 * (element - 4));
  else if (area_ != nullptr)
    at = area_ + 160 + 16 * number + 4 * element;
  if (at == nullptr) return std::nullopt;
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::optional<uint64_t> MachineState::vector64(unsigned number, unsigned element) const {
  const auto low = vector32(number, 2 * element), high = vector32(number, 2 * element + 1);
  if (!low || !high) return std::nullopt;
  return *low | uint64_t{*high} << 32;
}

std::optional<uint64_t> MachineState::opmask(unsigned number) const {
  const uint8_t* at = component(kOpmask, 8 * number);
  if (at == nullptr) return std::nullopt;
  uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::optional<uint64_t> MachineState::address(const MemoryOperand& operand, unsigned element) const {
  auto address = static_cast<uint64_t>(operand.displacement);
  if (operand.has_base) address += general(operand.base);
  if (!operand.has_index) return address;
  if (!operand.vector_index) return address + (general(operand.index) << operand.scale);
  std::optional<uint64_t> index;
  if (operand.opcode % 2 != 0)
    index = vector64(operand.index, element);
  else if (const auto narrow = vector32(operand.index, element))
    index = static_cast<uint64_t>(int64_t{static_cast<int32_t>(*narrow)});
  if (!index) return std::nullopt;
  return address + (*index << operand.scale);
}

std::optional<uint32_t> MachineState::pending(const MemoryOperand& operand) const {
  if (operand.encoding == Encoding::evex) {
    if (operand.mask == 0) return std::nullopt;
    const auto bits = opmask(operand.mask);
    if (!bits) return std::nullopt;
    return static_cast<uint32_t>(*bits);
  }
  // vpmaskmov*, vmaskmov*
  const bool masked_move = operand.map == 2 && (operand.opcode == 0x8c || operand.opcode == 0x8e ||
                                                (operand.opcode >= 0x2c && operand.opcode <= 0x2f));
  if (operand.encoding != Encoding::vex || (!operand.vector_index && !masked_move)) return std::nullopt;
  // The sign bits of the mask's elements.
  const bool wide = masked_move && operand.opcode < 0x8c ? operand.opcode % 2 != 0 : operand.wide;
  const unsigned words = (16u << operand.length) / 4, step = wide ? 2 : 1;
  uint32_t bits = 0;
  for (unsigned i = 0; i * step < words; ++i) {
    const auto word = vector32(operand.vvvv, i * step + step - 1);
    if (!word) return std::nullopt;
    bits |= (*word >> 31) << i;
  }
  return bits;
}

}  // namespace wavejit::backend
