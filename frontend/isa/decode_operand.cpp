// Operand fields -> Operand.
#include <algorithm>

#include "frontend/isa/decode_state.h"

namespace wavejit::isa {
namespace {

struct FloatConstant {
  uint16_t f16;
  uint32_t f32;
  uint64_t f64;
};
// 0.5 -0.5 1.0 -1.0 2.0 -2.0 4.0 -4.0 1/(2*pi), encodings 240..248 (Vega ISA, "Inline constants").
constexpr FloatConstant kFloatConstants[] = {
    {0x3800, 0x3f000000, 0x3fe0000000000000}, {0xb800, 0xbf000000, 0xbfe0000000000000},
    {0x3c00, 0x3f800000, 0x3ff0000000000000}, {0xbc00, 0xbf800000, 0xbff0000000000000},
    {0x4000, 0x40000000, 0x4000000000000000}, {0xc000, 0xc0000000, 0xc000000000000000},
    {0x4400, 0x40800000, 0x4010000000000000}, {0xc400, 0xc0800000, 0xc010000000000000},
    {0x3118, 0x3e22f983, 0x3fc45f306dc9c882},
};

}  // namespace

// 16-bit integer instructions see single-precision floats, 16-bit float instructions half-precision ones with zero
// upper bits; integers are always sign-extended 32-bit values (LLVM, AMDGPUBaseInfo.cpp, getInlineEncodingV216).
uint64_t inline_constant(unsigned encoding, Type type) {
  if (encoding <= kInlineIntLast) {
    const auto value = encoding <= 192 ? static_cast<int64_t>(encoding) - 128 : 192 - static_cast<int64_t>(encoding);
    if (is_64bit(type)) return static_cast<uint64_t>(value);
    if (is_16bit(type)) return static_cast<uint16_t>(value);
    return static_cast<uint32_t>(value);
  }
  const FloatConstant& f = kFloatConstants[encoding - kInlineFloatFirst];
  if (is_64bit(type)) return f.f64;
  if (type == Type::f16 || type == Type::v2f16) return f.f16;
  if (is_16bit(type)) return static_cast<uint16_t>(f.f32);
  return f.f32;
}

// A literal is the high half of an f64, is sign-extended to i64 and zero-extended to other 64-bit types.
uint64_t literal_constant(uint32_t literal, Type type) {
  if (type == Type::f64) return static_cast<uint64_t>(literal) << 32;
  if (type == Type::i64) return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(literal)));
  if (is_16bit(type)) return static_cast<uint16_t>(literal);
  return literal;
}

bool Decoding::begin(Space space, unsigned number, Format format) {
  const Opcode opcode = lookup(column, space, number);
  if (opcode == Opcode::kCount) return false;
  row = &row_of(opcode);
  out.opcode = opcode;
  out.format = format;
  return true;
}

bool Decoding::need(unsigned count) {
  out.size = static_cast<uint8_t>(4 * count);
  if (count > words_available) truncated = true;
  return !truncated;
}

uint32_t Decoding::literal() {
  const unsigned index = 1;  // only 32-bit encodings take a literal
  if (!need(index + 1)) return 0;
  return word(index);
}

Operand& Decoding::add(const OperandSpec& spec) {
  Operand& op = out.operands[out.num_operands++];
  op.slot = spec.slot;
  op.type = spec.type;
  op.is_dst = spec.dst;
  op.is_src = spec.src;
  op.dwords = spec.dwords;
  return op;
}

void Decoding::set_registers(Operand& op, OperandKind kind, unsigned reg) {
  op.kind = kind;
  op.reg = static_cast<uint16_t>(reg);
  reject_if(reg + op.dwords > 256);
}

// Scalar registers: alignment of tuples is forced, as the hardware ignores the low bits. The named pairs can be read as
// tuples of at most their own size; LLVM decodes a 128-bit operand there as the pair, which nothing can execute.
void Decoding::set_scalar(Operand& op, unsigned encoding) {
  const unsigned dwords = op.dwords;
  const unsigned ttmp_first = before_gfx9() ? 112 : 108;
  op.encoding = static_cast<uint16_t>(encoding);
  op.kind = OperandKind::sgpr;
  const unsigned align = dwords == 1 ? 1 : dwords == 2 ? 2 : 4;
  if (encoding < (before_gfx8() ? kFlatScratchGfx7 : kFlatScratch)) {
    op.reg = static_cast<uint16_t>(encoding / align * align);
    reject_if(op.reg + dwords > 104);
    return;
  }
  if (encoding >= ttmp_first && encoding < kM0) {
    op.reg = static_cast<uint16_t>((encoding - ttmp_first) / align * align + ttmp_first);
    // Sixteen trap registers by name; generations before GFX9 have twelve, and LLVM's disassembler of GFX8 more.
    reject_if(op.reg - ttmp_first + dwords > (before_gfx8() ? 12 : 16));
    return;
  }
  op.reg = static_cast<uint16_t>(encoding);
  if (before_gfx8()) {
    reject_if(encoding == kNull);
    reject_if(family == Family::gfx6 && encoding / 2 == kFlatScratchGfx7 / 2);
  }
  if (encoding == kNull) op.kind = OperandKind::special;
  if (dwords == 1) return;
  // LLVM 19, which knows GFX940, does not decode named pairs as tuples of four any more.
  reject_if(dwords > (before_gfx8() || (gfx940() && encoding != kNull) ? 2 : 4) || encoding == kM0 ||
            (encoding != kNull && encoding % 2 != 0));
}

void Decoding::scalar(const OperandSpec& spec, unsigned encoding) {
  set_scalar(add(spec), encoding);
}

void Decoding::vector(const OperandSpec& spec, unsigned encoding) {
  Operand& op = add(spec);
  op.encoding = static_cast<uint16_t>(kVgprBase + encoding);
  set_registers(op, spec.reg_class == RegClass::accumulator ? OperandKind::agpr : OperandKind::vgpr, encoding);
}

void Decoding::source(const OperandSpec& spec, unsigned encoding) {
  if (encoding >= kVgprBase) {
    reject_if(spec.reg_class == RegClass::scalar && before_gfx8());
    return vector(spec, encoding - kVgprBase);
  }
  reject_if(spec.reg_class == RegClass::vector && (before_gfx8() || (gfx940() && encoding != kLdsDirect)));
  Operand& op = add(spec);
  op.encoding = static_cast<uint16_t>(encoding);
  if (encoding < kInlineIntZero) return set_scalar(op, encoding);
  if (encoding <= kInlineIntLast || (encoding >= kInlineFloatFirst && encoding <= kInlineFloatLast)) {
    reject_if(spec.reg_class != RegClass::any);
    reject_if(encoding == kInlineFloatLast && before_gfx8());
    op.kind = OperandKind::constant;
    op.value = inline_constant(encoding, spec.type);
    return;
  }
  if (encoding == kLiteral) {
    op.kind = OperandKind::constant;
    op.is_literal = true;
    reject_if(!literal_allowed || spec.reg_class != RegClass::any);
    if (literal_allowed) op.value = literal_constant(literal(), spec.type);
    return;
  }
  reject_if(spec.reg_class == RegClass::scalar && before_gfx8());
  op.kind = OperandKind::special;
  op.reg = static_cast<uint16_t>(encoding);
  const bool aperture = encoding >= 235 && encoding <= 239 && !before_gfx8();
  if (before_gfx8() && encoding == kLdsDirect)
    reject_if(spec.slot != Slot::src0 || out.format < Format::vop1);  // the first source of vector instructions
  if (gfx940()) reject_if(encoding == kLdsDirect && (out.format < Format::vop1 || out.format > Format::vop3p));
  const bool condition = encoding >= 251 && encoding <= 253;
  reject_if(!(aperture || condition || (encoding == kLdsDirect && op.dwords == 1)));
}

void Decoding::immediate(const OperandSpec& spec, uint64_t value) {
  Operand& op = add(spec);
  op.kind = OperandKind::immediate;
  op.value = value;
  op.is_src = true;
}

void Decoding::literal_operand(const OperandSpec& spec) {
  Operand& op = add(spec);
  op.kind = OperandKind::constant;
  op.is_literal = true;
  op.is_src = true;
  op.encoding = kLiteral;
  op.value = literal_constant(literal(), spec.type);
}

void Decoding::vcc(const OperandSpec& spec) {
  Operand& op = add(spec);
  op.kind = OperandKind::sgpr;
  op.reg = op.encoding = kVcc;
}

void Decoding::off(Slot slot) {
  Operand& op = add({.slot = slot});
  op.kind = OperandKind::off;
}

}  // namespace wavejit::isa
