// State shared by the per-format decoders. Internal to the ISA library.
#pragma once

#include <bit>
#include <cstdint>

#include "frontend/isa/instruction.h"
#include "frontend/isa/row.h"

namespace wavejit::isa {

[[nodiscard]] constexpr uint32_t bits(uint32_t word, unsigned high, unsigned low) {
  return (word >> low) & ((2u << (high - low)) - 1u);
}
[[nodiscard]] constexpr bool bit(uint32_t word, unsigned index) {
  return (word >> index & 1u) != 0;
}
[[nodiscard]] constexpr int32_t sign_extend(uint32_t value, unsigned width) {
  const uint32_t sign = 1u << (width - 1);
  return static_cast<int32_t>((value ^ sign) - sign);
}

// Scalar source encodings (Vega ISA, "Scalar operands").
inline constexpr unsigned kFlatScratchGfx7 = 104;  // GFX6 has no flat scratch
inline constexpr unsigned kFlatScratch = 102, kXnackMask = 104, kVcc = 106, kM0 = 124, kNull = 125, kExec = 126;
inline constexpr unsigned kInlineIntZero = 128, kInlineIntLast = 208, kInlineFloatFirst = 240, kInlineFloatLast = 248;
inline constexpr unsigned kSdwa = 249, kDpp = 250, kLdsDirect = 254, kLiteral = 255, kVgprBase = 256;

// One decoding in progress. Any helper may set `illegal`; decoders check it once at the end.
struct Decoding {
  Instruction& out;
  Column column;
  Family family;
  unsigned words_available;
  const Row* row = nullptr;
  bool illegal = false;
  bool truncated = false;
  bool literal_allowed = false;  // the encoding may be followed by a 32-bit literal

  [[nodiscard]] uint32_t word(unsigned index) const { return out.words[index]; }
  [[nodiscard]] bool before_gfx8() const { return family < Family::gfx8; }
  [[nodiscard]] bool before_gfx9() const { return family < Family::gfx9; }
  [[nodiscard]] bool gfx90a_on() const { return family >= Family::gfx90a; }
  [[nodiscard]] bool gfx940() const { return family == Family::gfx940; }
  void reject_if(bool condition) { illegal |= condition; }

  // Finds the row and starts the instruction; false when no instruction has the number.
  [[nodiscard]] bool begin(Space space, unsigned number, Format format);
  // Makes words[0..count) available.
  [[nodiscard]] bool need(unsigned count);
  // The literal after the encoding proper (size grows on first use).
  [[nodiscard]] uint32_t literal();

  Operand& add(const OperandSpec& spec);
  void scalar(const OperandSpec& spec, unsigned encoding);  // 7-bit scalar register field
  void vector(const OperandSpec& spec, unsigned encoding);  // 8-bit VGPR field
  void source(const OperandSpec& spec, unsigned encoding);  // 8- or 9-bit source field
  void immediate(const OperandSpec& spec, uint64_t value);
  void literal_operand(const OperandSpec& spec);
  void vcc(const OperandSpec& spec);
  void off(Slot slot);

 private:
  void set_scalar(Operand& op, unsigned encoding);
  void set_registers(Operand& op, OperandKind kind, unsigned reg);
};

// Bits of an inline constant for an operand of this type; `encoding` is 128..208 or 240..248.
[[nodiscard]] uint64_t inline_constant(unsigned encoding, Type type);
// Bits of a 32-bit literal for an operand of this type.
[[nodiscard]] uint64_t literal_constant(uint32_t literal, Type type);

// Per-format decoders: true unless the opcode number is unknown; they may still leave `illegal` or `truncated` set.
[[nodiscard]] bool decode_scalar_alu(Decoding& d);  // SOP2, SOP1, SOPK, SOPC, SOPP
[[nodiscard]] bool decode_smem(Decoding& d);
[[nodiscard]] bool decode_smrd(Decoding& d);  // scalar memory of GFX6 and GFX7
[[nodiscard]] bool decode_vop1(Decoding& d);
[[nodiscard]] bool decode_vop2(Decoding& d);
[[nodiscard]] bool decode_vopc(Decoding& d);
[[nodiscard]] bool decode_vop3(Decoding& d);  // VOP3, VOP3b, VOP3P, MAI
[[nodiscard]] bool decode_vintrp(Decoding& d);
[[nodiscard]] bool decode_ds(Decoding& d);
[[nodiscard]] bool decode_flat(Decoding& d);
[[nodiscard]] bool decode_mubuf(Decoding& d);
[[nodiscard]] bool decode_mtbuf(Decoding& d);
[[nodiscard]] bool decode_mimg(Decoding& d);
[[nodiscard]] bool decode_exp(Decoding& d);

}  // namespace wavejit::isa
