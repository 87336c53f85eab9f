#include "frontend/isa/decoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/isa/decode_state.h"

namespace wavejit::isa {
namespace {

bool decode_64bit(Decoding& d) {
  const uint32_t w = d.word(0);
  switch (bits(w, 31, 26)) {
    case 0x30:
      return decode_smem(d);
    case 0x31:
      return decode_exp(d);
    case 0x34:
      return decode_vop3(d);
    case 0x35:
      return decode_vintrp(d);
    case 0x36:
      return decode_ds(d);
    case 0x37:
      return decode_flat(d);
    case 0x38:
      return decode_mubuf(d);
    case 0x3a:
      return decode_mtbuf(d);
    case 0x3c:
      return decode_mimg(d);
    default:
      return false;
  }
}

// 64-bit encodings of GFX6 and GFX7 whose numbers GFX8 changed, and SMRD, which has 32 bits (Southern Islands and Sea
// Islands ISA, "Microcode formats").
bool decode_gfx6(Decoding& d) {
  const uint32_t w = d.word(0);
  if (bits(w, 31, 27) == 0x18) return decode_smrd(d);
  switch (bits(w, 31, 26)) {
    case 0x32:
      return decode_vintrp(d);
    case 0x3e:
      return decode_exp(d);
    case 0x35:
      return false;
    default:
      return decode_64bit(d);
  }
}

// The encoding is told by the top bits (Vega ISA, "Microcode formats").
bool decode_any(Decoding& d) {
  const uint32_t w = d.word(0);
  if (!bit(w, 31)) {
    switch (bits(w, 30, 25)) {
      case 0x3e:
        return decode_vopc(d);
      case 0x3f:
        return decode_vop1(d);
      default:
        return decode_vop2(d);
    }
  }
  if (!bit(w, 30)) return decode_scalar_alu(d);
  return d.before_gfx8() ? decode_gfx6(d) : decode_64bit(d);
}

uint32_t load_word(const uint8_t* p) {
  return static_cast<uint32_t>(p[0]) | static_cast<uint32_t>(p[1]) << 8 | static_cast<uint32_t>(p[2]) << 16 |
         static_cast<uint32_t>(p[3]) << 24;
}

}  // namespace

DecodeStatus decode(Target target, std::span<const uint8_t> code, uint64_t pc, Instruction& out) {
  out = Instruction{};
  out.opcode = Opcode::kCount;  // until the number is known
  out.target = target;
  out.pc = pc;
  const size_t words = std::min<size_t>(code.size() / 4, out.words.size());
  for (size_t i = 0; i < words; ++i) out.words[i] = load_word(code.data() + 4 * i);
  if (words == 0) return DecodeStatus::truncated;
  const Column column = column_of(target);
  if (column == Column::none) return DecodeStatus::illegal;
  Decoding d{
      .out = out, .column = column, .family = family_of(target), .words_available = static_cast<unsigned>(words)};
  if (!decode_any(d)) return DecodeStatus::illegal;
  // Words after the instruction are not part of it.
  for (size_t i = out.size / 4; i < out.words.size(); ++i) out.words[i] = 0;
  if (d.illegal) return DecodeStatus::illegal;
  return d.truncated ? DecodeStatus::truncated : DecodeStatus::ok;
}

std::string describe(const Instruction& instruction) {
  const std::string_view name = instruction.opcode == Opcode::kCount
                                    ? "unknown instruction"
                                    : printed_name(instruction.opcode, family_of(instruction.target));
  std::string text = fmt::format("{} (", name);
  for (unsigned i = 0; i < instruction.size / 4u; ++i)
    text += fmt::format("{}{:#010x}", i == 0 ? "" : " ", instruction.words[i]);
  return text + ")";
}

}  // namespace wavejit::isa
