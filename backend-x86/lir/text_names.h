// Names that the printer and the parser of LIR share.
#pragma once

#include <string_view>

#include "backend-x86/lir/builder.h"

namespace wavejit::backend::lir::text {

constexpr asmjit::Arch kArch = asmjit::Arch::kX64;

// Views of registers: suffixes of virtual registers.
struct View {
  std::string_view name;
  asmjit::RegType type;
  uint32_t hosts;  // number of host registers
};
constexpr View kViews[] = {
    {"r8", asmjit::RegType::kX86_GpbLo, 16}, {"r8h", asmjit::RegType::kX86_GpbHi, 4},
    {"r16", asmjit::RegType::kX86_Gpw, 16},  {"r32", asmjit::RegType::kX86_Gpd, 16},
    {"r64", asmjit::RegType::kX86_Gpq, 16},  {"xmm", asmjit::RegType::kX86_Xmm, 32},
    {"ymm", asmjit::RegType::kX86_Ymm, 32},  {"zmm", asmjit::RegType::kX86_Zmm, 32},
    {"k", asmjit::RegType::kX86_KReg, 8},    {"rip", asmjit::RegType::kX86_Rip, 1},
};

// Virtual registers by what they hold.
struct Declaration {
  std::string_view name;
  asmjit::TypeId type;
  void (*make)(Builder&);
};
constexpr Declaration kDeclarations[] = {
    {"r8", asmjit::TypeId::kUInt8, [](Builder& b) { static_cast<void>(b.new_gp8()); }},
    {"r32", asmjit::TypeId::kUInt32, [](Builder& b) { static_cast<void>(b.new_gp32()); }},
    {"r64", asmjit::TypeId::kUInt64, [](Builder& b) { static_cast<void>(b.new_gp64()); }},
    {"xmm", asmjit::TypeId::kInt32x4, [](Builder& b) { static_cast<void>(b.new_xmm()); }},
    {"ymm", asmjit::TypeId::kInt32x8, [](Builder& b) { static_cast<void>(b.new_ymm()); }},
    {"zmm", asmjit::TypeId::kInt32x16, [](Builder& b) { static_cast<void>(b.new_zmm()); }},
    {"mask16", asmjit::TypeId::kMask16, [](Builder& b) { static_cast<void>(b.new_mask16()); }},
    {"mask32", asmjit::TypeId::kMask32, [](Builder& b) { static_cast<void>(b.new_mask32()); }},
};

// Options of instructions that are words before the mnemonic.
struct Option {
  std::string_view name;
  asmjit::InstOptions bit;
};
constexpr Option kOptions[] = {
    {"lock", asmjit::InstOptions::kX86_Lock},         {"rep", asmjit::InstOptions::kX86_Rep},
    {"repne", asmjit::InstOptions::kX86_Repne},       {"xacquire", asmjit::InstOptions::kX86_XAcquire},
    {"xrelease", asmjit::InstOptions::kX86_XRelease}, {"short", asmjit::InstOptions::kShortForm},
    {"long", asmjit::InstOptions::kLongForm},         {"taken", asmjit::InstOptions::kTaken},
    {"not_taken", asmjit::InstOptions::kNotTaken},    {"modmr", asmjit::InstOptions::kX86_ModMR},
    {"modrm", asmjit::InstOptions::kX86_ModRM},       {"vex", asmjit::InstOptions::kX86_Vex},
    {"vex3", asmjit::InstOptions::kX86_Vex3},         {"evex", asmjit::InstOptions::kX86_Evex},
    {"rex", asmjit::InstOptions::kX86_Rex},           {"overwrite", asmjit::InstOptions::kOverwrite},
};

// Rounding of an instruction's own, in braces behind the operands. `bits` under `mask`.
struct Rounding {
  std::string_view name;
  asmjit::InstOptions mask, bits;
};
constexpr auto kRoundingMask = asmjit::InstOptions::kX86_ER | asmjit::InstOptions::kX86_ERMask;
constexpr Rounding kRoundings[] = {
    {"sae", asmjit::InstOptions::kX86_SAE, asmjit::InstOptions::kX86_SAE},
    {"rn-sae", kRoundingMask, asmjit::InstOptions::kX86_ER},
    {"rd-sae", kRoundingMask, asmjit::InstOptions::kX86_ER | asmjit::InstOptions::kX86_RD_SAE},
    {"ru-sae", kRoundingMask, asmjit::InstOptions::kX86_ER | asmjit::InstOptions::kX86_RU_SAE},
    {"rz-sae", kRoundingMask, asmjit::InstOptions::kX86_ER | asmjit::InstOptions::kX86_RZ_SAE},
};

// By the number of a segment register; 0 is none.
constexpr std::string_view kSegments[] = {"", "es", "cs", "ss", "ds", "fs", "gs"};

}  // namespace wavejit::backend::lir::text
