#include "tests/diff/nan_taint.h"

#include <algorithm>
#include <string_view>

#include "frontend/isa/info.h"

namespace wavejit::test {
namespace {

bool is_vector(const isa::Operand& operand) {
  return operand.kind == isa::OperandKind::vgpr || operand.kind == isa::OperandKind::agpr;
}

unsigned index_of(const isa::Operand& operand, unsigned dword) {
  return (operand.kind == isa::OperandKind::agpr ? 256u : 0u) + (operand.reg + dword) % 256;
}

bool is_memory(const isa::OpcodeInfo& info) {
  return info.is_memory || info.is_atomic || info.is_store;
}

// The type of an atomic that computes with floating-point numbers, else none.
isa::Type float_atomic(const isa::Instruction& inst) {
  const isa::OpcodeInfo& info = isa::info(inst.opcode);
  const std::string_view name = info.name;
  if (!info.is_atomic) return isa::Type::none;
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (has("bf16")) return isa::Type::v2b16;
  if (has("_f64") || (has("atomic_f") && has("_x2")) || has("image_atomic_f")) return isa::Type::f64;
  if (has("_f32") || has("atomic_f")) return isa::Type::f32;
  return has("_f16") ? isa::Type::v2f16 : isa::Type::none;
}

enum class Kept : uint8_t { none, half, part };

// What may be left of a destination dword, in a lane that is on.
Kept kept_of(const isa::Instruction& inst) {
  if (inst.is_sdwa) {
    if (inst.sdwa_dst_unused != isa::SdwaUnused::preserve || inst.sdwa_dst_sel == isa::SdwaSelect::dword)
      return Kept::none;
    const bool half = inst.sdwa_dst_sel == isa::SdwaSelect::word_0 || inst.sdwa_dst_sel == isa::SdwaSelect::word_1;
    return half ? Kept::half : Kept::part;
  }
  const std::string_view name = isa::info(inst.opcode).name;
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (has("_d16") || has("_mix") || (inst.format == isa::Format::vop3 && (inst.op_sel & 8) != 0)) return Kept::half;
  // GFX9 keeps the upper half beside some 16-bit results: those of three sources, and a few more.
  const bool is_16bit = has("_f16") || has("_i16") || has("_u16");
  return is_16bit && (inst.format == isa::Format::vop3 || has("v_ma")) ? Kept::half : Kept::none;
}

}  // namespace

bool NanTaint::memory_allows(const isa::Instruction& inst) const {
  const isa::OpcodeInfo& info = isa::info(inst.opcode);
  if (memory_ == Content::exact || !is_memory(info)) return true;
  if (const isa::Type type = float_atomic(inst); type != isa::Type::none)
    return memory_ == content_of(type, 0) && memory_ != Content::mixed;
  const std::string_view name = info.name;
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (info.is_atomic || name.starts_with("s_") || inst.lds) return false;
  // Half of a double would be part of a payload.
  if (info.is_store)
    return memory_ != Content::f64_lo && !has("src2") && (has("store_dword") || has("write_b32") || has("write2_b32"));
  return has("load_dword") || has("read_b32") || has("read2_b32") || has("read_b64") || has("read_b128");
}

bool NanTaint::registers_are_exact() const {
  return std::all_of(registers_.begin(), registers_.end(), [](Content c) { return c == Content::exact; });
}

NanTaint::Content NanTaint::content_of(isa::Type type, unsigned dword) {
  switch (type) {
    case isa::Type::f16:
    case isa::Type::v2f16:
      return Content::f16;
    case isa::Type::f32:
    case isa::Type::v2f32:
      return Content::f32;
    case isa::Type::f64:
    case isa::Type::b256:  // accumulators of v_mfma_f64_16x16x4f64
      return dword % 2 == 0 ? Content::f64_lo : Content::f64_hi;
    default:
      return Content::exact;
  }
}

bool NanTaint::accept(const isa::Instruction& inst) {
  if (!memory_allows(inst)) return false;
  const std::string_view name = isa::info(inst.opcode).name;
  const bool is_float = name.find("_f16") != name.npos || name.find("_f32") != name.npos ||
                        name.find("_f64") != name.npos || name.find("bf16") != name.npos ||
                        name.starts_with("image_sample");  // which adds what it filters
  // These take apart or put together what their operand types do not tell.
  const bool opaque = name.find("_mix") != name.npos || name.find("_pack_") != name.npos || name.starts_with("ds_") ||
                      (name.starts_with("v_mfma") && !name.starts_with("v_mfma_f64")) || name.starts_with("v_cube") ||
                      inst.is_sdwa;
  for (unsigned i = 0; i < inst.num_operands; ++i) {
    const isa::Operand& operand = inst.operands[i];
    // A destination that keeps bits of the old value reads it, but does not look at it.
    if (!is_vector(operand) || !operand.is_src) continue;
    for (unsigned d = 0; d < operand.dwords; ++d) {
      const Content content = registers_[index_of(operand, d)];
      if (content == Content::exact) continue;
      if (opaque || content != content_of(operand.type, d)) return false;
    }
  }
  // What is left of a double after half of it was replaced is part of a payload.
  for (unsigned i = 0; i < inst.num_operands; ++i) {
    const isa::Operand& operand = inst.operands[i];
    if (!is_vector(operand) || !operand.is_dst) continue;
    for (unsigned d = 0; d < operand.dwords; ++d) {
      const Content content = registers_[index_of(operand, d)];
      if ((content == Content::f64_lo || content == Content::f64_hi) && content != content_of(operand.type, d))
        return false;
      // The same, of a double in registers that have held something else before.
      const auto beside = [&](unsigned other) {
        return registers_[other] == Content::f64_lo || registers_[other] == Content::f64_hi ||
               registers_[other] == Content::mixed;
      };
      const unsigned index = index_of(operand, d), file = index & 256;
      if (content == Content::mixed && ((d == 0 && beside(file + (index + 255) % 256)) ||
                                        (d + 1 == operand.dwords && beside(file + (index + 1) % 256))))
        return false;
      // What is left of these accumulators later could not be told.
      if (content == Content::mixed && name.starts_with("v_mfma_f64")) return false;
    }
  }
  // So is what is left of any NaN, but of one in the half that is not replaced.
  if (const Kept kept = kept_of(inst); kept != Kept::none) {
    for (unsigned i = 0; i < inst.num_operands; ++i) {
      const isa::Operand& operand = inst.operands[i];
      if (!is_vector(operand) || !operand.is_dst) continue;
      const Content content = registers_[index_of(operand, 0)];
      if (content != Content::exact && !(kept == Kept::half && content == Content::f16)) return false;
    }
  }
  const bool from_memory = memory_ != Content::exact && is_memory(isa::info(inst.opcode));
  if (const isa::Type type = float_atomic(inst); type != isa::Type::none)
    memory_ = type == isa::Type::v2b16 ? Content::mixed : content_of(type, 0);
  for (unsigned i = 0; i < inst.num_operands; ++i) {
    const isa::Operand& operand = inst.operands[i];
    if (!is_vector(operand) || !operand.is_dst) continue;
    for (unsigned d = 0; d < operand.dwords; ++d) {
      Content& content = registers_[index_of(operand, d)];
      Content written = from_memory ? Content::mixed : content_of(operand.type, d);
      const bool is_integer = operand.type == isa::Type::i32 || operand.type == isa::Type::u32 ||
                              operand.type == isa::Type::i16 || operand.type == isa::Type::u16;
      if (is_float && !is_integer && (opaque || written == Content::exact)) written = Content::mixed;
      // Inactive lanes keep what was there, so nothing but a second kind of float changes the note.
      if (written == Content::exact || content == written) continue;
      content = content == Content::exact ? written : Content::mixed;
    }
  }
  return true;
}

}  // namespace wavejit::test
