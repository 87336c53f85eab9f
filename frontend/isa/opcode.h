// The Opcode enum, derived from the instruction tables.
//
// An enumerator names one *meaning*. It is the GFX9 mnemonic (without _e32/_e64/_sdwa/_dpp) where GFX9 has the
// instruction, else the mnemonic of the generation that has it. Other generations may print it under another name (GFX8
// "v_add_u32" with carry-out is v_add_co_u32 here); the row carries those names.
#pragma once

#include <cstdint>
#include <string_view>

namespace wavejit::isa {

enum class Opcode : uint16_t {
#define WAVEJIT_INST(name, ...) name,
#include "frontend/isa/tables/all.def"
#undef WAVEJIT_INST
  kCount,
};
inline constexpr unsigned kNumOpcodes = static_cast<unsigned>(Opcode::kCount);

[[nodiscard]] std::string_view opcode_name(Opcode opcode);

}  // namespace wavejit::isa
