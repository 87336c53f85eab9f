#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "frontend/isa/decode_state.h"
#include "frontend/isa/print_state.h"

namespace wavejit::isa {
namespace {

constexpr std::string_view kFloatNames[] = {"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494"};
constexpr uint32_t kFloat32[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                 0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
constexpr uint16_t kFloat16[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};

void print_range(std::string& out, std::string_view prefix, unsigned first, unsigned count) {
  if (count == 1)
    fmt::format_to(std::back_inserter(out), "{}{}", prefix, first);
  else
    fmt::format_to(std::back_inserter(out), "{}[{}:{}]", prefix, first, first + count - 1);
}

// A pair of named registers: "vcc_lo", "vcc_hi", or both as "vcc".
void print_named(std::string& out, std::string_view name, unsigned half, unsigned dwords) {
  out += name;
  if (dwords == 1) out += half == 0 ? "_lo" : "_hi";
}

void print_sgpr(std::string& out, const Instruction& inst, unsigned reg, unsigned dwords) {
  const Family family = family_of(inst.target);
  const unsigned ttmp_first = family < Family::gfx9 ? 112 : 108;
  const unsigned flat_scratch = family < Family::gfx8 ? kFlatScratchGfx7 : kFlatScratch;
  if (reg / 2 == flat_scratch / 2) return print_named(out, "flat_scratch", reg % 2, dwords);
  if (reg < flat_scratch) return print_range(out, "s", reg, dwords);
  if (reg >= ttmp_first && reg < kM0) return print_range(out, "ttmp", reg - ttmp_first, dwords);
  switch (reg) {
    case 104:
    case 105:
      return print_named(out, "xnack_mask", reg - 104, dwords);
    case 106:
    case 107:
      return print_named(out, "vcc", reg - 106, dwords);
    case 108:
    case 109:
      return print_named(out, "tba", reg - 108, dwords);
    case 110:
    case 111:
      return print_named(out, "tma", reg - 110, dwords);
    case 124:
      out += "m0";
      return;
    default:
      return print_named(out, "exec", reg - 126, dwords);
  }
}

void print_special(std::string& out, unsigned encoding) {
  switch (encoding) {
    case 125:
      out += "null";
      break;
    case 235:
      out += "src_shared_base";
      break;
    case 236:
      out += "src_shared_limit";
      break;
    case 237:
      out += "src_private_base";
      break;
    case 238:
      out += "src_private_limit";
      break;
    case 239:
      out += "src_pops_exiting_wave_id";
      break;
    case 251:
      out += "src_vccz";
      break;
    case 252:
      out += "src_execz";
      break;
    case 253:
      out += "src_scc";
      break;
    default:
      out += "src_lds_direct";
      break;
  }
}

bool is_int16(Type type) {
  return type == Type::b16 || type == Type::i16 || type == Type::u16 || type == Type::v2b16 || type == Type::v2i16 ||
         type == Type::v2u16;
}
bool is_float16(Type type) {
  return type == Type::f16 || type == Type::v2f16;
}

void print_hex(std::string& out, uint64_t value) {
  fmt::format_to(std::back_inserter(out), "{:#x}", value);
}

// LLVM prints a literal that happens to have the bits of an inline constant like that constant.
void print_literal(std::string& out, uint32_t literal, Type type) {
  const bool half = is_int16(type) || is_float16(type);
  const int64_t value = half             ? static_cast<int16_t>(literal)
                        : is_64bit(type) ? static_cast<int64_t>(literal)
                                         : static_cast<int32_t>(literal);
  if (value >= -16 && value <= 64) {
    fmt::format_to(std::back_inserter(out), "{}", value);
    return;
  }
  const uint32_t all_bits = literal;  // an f16 name is printed only if the upper half is zero
  if (half) literal &= 0xffff;
  for (size_t i = 0; i < std::size(kFloatNames); ++i) {
    if ((is_float16(type) && all_bits == kFloat16[i]) || (!half && !is_64bit(type) && literal == kFloat32[i])) {
      out += kFloatNames[i];
      return;
    }
  }
  print_hex(out, literal);
}

// The same as LLVM 19 prints it for GFX940.
void print_literal_gfx940(std::string& out, uint32_t literal, Type type) {
  if (type == Type::f64) {
    if (literal == 0) {
      out += '0';
      return;
    }
    for (size_t i = 0; i + 1 < std::size(kFloatNames); ++i) {  // 1/(2*pi) has bits in the lower half
      if (inline_constant(kInlineFloatFirst + static_cast<unsigned>(i), type) >> 32 == literal) {
        out += kFloatNames[i];
        return;
      }
    }
    return print_hex(out, literal);
  }
  if (type == Type::f16 || is_64bit(type))
    return print_literal(out, type == Type::f16 ? literal & 0xffff : literal, type);
  const auto value = static_cast<int32_t>(literal);
  if (value >= -16 && value <= 64) {
    fmt::format_to(std::back_inserter(out), "{}", value);
    return;
  }
  for (size_t i = 0; i < std::size(kFloatNames); ++i) {
    if (literal == (type == Type::v2f16 ? kFloat16[i] : kFloat32[i])) {
      out += kFloatNames[i];
      return;
    }
  }
  print_hex(out, is_int16(type) ? literal & 0xffff : literal);
}

// LLVM describes 16-bit sources of these instructions as 32-bit operands.
bool described_as_32bit(const Instruction& inst, const Operand& op) {
  switch (inst.opcode) {
    case Opcode::v_ldexp_f16:
      return op.slot == Slot::src1;
    case Opcode::v_madmk_f16:
      return op.slot == Slot::src0 && family_of(inst.target) != Family::gfx940;
    default:
      return inst.opcode == Opcode::v_dot2c_i32_i16;
  }
}

void print_constant(std::string& out, const Instruction& inst, const Operand& op) {
  if (op.is_literal) {
    const Type type = described_as_32bit(inst, op) ? Type::b32 : op.type;
    return family_of(inst.target) == Family::gfx940 ? print_literal_gfx940(out, inst.words[1], type)
                                                    : print_literal(out, inst.words[1], type);
  }
  if (op.encoding <= kInlineIntLast) {
    const int value = op.encoding <= 192 ? op.encoding - 128 : 192 - op.encoding;
    fmt::format_to(std::back_inserter(out), "{}", value);
    return;
  }
  const unsigned index = op.encoding - kInlineFloatFirst;
  const bool packed_gfx940 = is_packed(op.type) && family_of(inst.target) == Family::gfx940;
  if (is_int16(op.type) && !packed_gfx940 && !described_as_32bit(inst, op)) return print_hex(out, kFloat16[index]);
  const bool f64_matrix =
      inst.format == Format::mai && family_of(inst.target) == Family::gfx940 && inst.get(Slot::src0).type == Type::f64;
  if ((is_64bit(op.type) || f64_matrix) && op.encoding == kInlineFloatLast)
    out += "0.15915494309189532";
  else
    out += kFloatNames[index];
}

}  // namespace

void print_plain_operand(std::string& out, const Instruction& inst, const Operand& op) {
  switch (op.kind) {
    case OperandKind::none:
      break;
    case OperandKind::sgpr:
      print_sgpr(out, inst, op.reg, op.dwords);
      break;
    case OperandKind::vgpr:
      print_range(out, "v", op.reg, op.dwords);
      break;
    case OperandKind::agpr:
      print_range(out, "a", op.reg, op.dwords);
      break;
    case OperandKind::constant:
      print_constant(out, inst, op);
      break;
    case OperandKind::special:
      print_special(out, op.reg);
      break;
    case OperandKind::off:
      out += "off";
      break;
    case OperandKind::immediate:
      fmt::format_to(std::back_inserter(out), "{}", op.value);
      break;
  }
}

void print_operand(std::string& out, const Instruction& inst, const Operand& op) {
  // "-1" would be another constant than a negated 1.
  const bool neg_call = op.neg && !op.abs && op.kind == OperandKind::constant;
  if (op.sext) out += "sext(";
  if (op.neg) out += neg_call ? "neg(" : "-";
  if (op.abs) out += '|';
  print_plain_operand(out, inst, op);
  if (op.abs) out += '|';
  if (neg_call || op.sext) out += ')';
}

}  // namespace wavejit::isa
