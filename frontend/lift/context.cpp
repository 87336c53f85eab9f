#include "frontend/lift/context.h"

#include <bit>

namespace wavejit::lift {

using isa::SdwaSelect;
using isa::SdwaUnused;
using isa::Special;

namespace {

// Source of VOP3 op_sel bit i.
unsigned source_index(Slot slot) {
  return slot == Slot::src0 ? 0 : slot == Slot::src1 ? 1 : 2;
}

// Lanes that DPP row_mask and bank_mask leave enabled.
uint64_t dpp_lanes(const isa::Dpp& dpp) {
  uint64_t lanes = 0;
  for (unsigned lane = 0; lane < kWaveSize; ++lane)
    if ((dpp.row_mask >> (lane / 16) & 1) && (dpp.bank_mask >> (lane % 16 / 4) & 1)) lanes |= uint64_t{1} << lane;
  return lanes;
}

struct Field {
  unsigned shift, bits;
};
Field field_of(SdwaSelect select) {
  switch (select) {
    case SdwaSelect::byte_0:
      return {0, 8};
    case SdwaSelect::byte_1:
      return {8, 8};
    case SdwaSelect::byte_2:
      return {16, 8};
    case SdwaSelect::byte_3:
      return {24, 8};
    case SdwaSelect::word_0:
      return {0, 16};
    case SdwaSelect::word_1:
      return {16, 16};
    default:
      return {0, 32};
  }
}

}  // namespace

unsigned bits_of(isa::Type type) {
  using enum isa::Type;
  switch (type) {
    case b16:
    case i16:
    case u16:
    case f16:
      return 16;
    case b64:
    case i64:
    case u64:
    case f64:
    case mask64:
      return 64;
    default:
      return 32;
  }
}

Context::Context(const LiftOptions& opts, ir::Builder& builder, Ssa& ssa_builder)
    : b(builder), ssa(ssa_builder), options(opts), family(isa::family_of(opts.target)) {}

// --- scalar operands -------------------------------------------------------------------------------------------------

Inst* Context::s32(const Operand& operand) {
  switch (operand.kind) {
    case OperandKind::sgpr:
      return ssa.read32(operand.reg);
    case OperandKind::special:
      switch (static_cast<Special>(operand.reg)) {
        case Special::vccz:
          return b.op(Op::zext_i1, {ssa.read_vccz()});
        case Special::execz:
          return b.op(Op::zext_i1, {b.op(Op::not_, {b.op(Op::mask_any, {exec()})})});
        case Special::scc:
          return b.op(Op::zext_i1, {ssa.read_scc()});
        default:
          return b.i32(0);  // apertures as 32-bit operands read 0 (docs/isa-decisions.md)
      }
    default:
      return b.i32(static_cast<uint32_t>(operand.value));
  }
}

Inst* Context::s64(const Operand& operand) {
  switch (operand.kind) {
    case OperandKind::sgpr:
      return ssa.read64(operand.reg);
    case OperandKind::special:
      switch (static_cast<Special>(operand.reg)) {
        case Special::shared_base:
          return b.i64(uint64_t{kSharedApertureHi} << 32);
        case Special::shared_limit:
          return b.i64(uint64_t{kSharedApertureHi} << 32 | UINT32_MAX);
        case Special::private_base:
          return b.i64(uint64_t{kPrivateApertureHi} << 32);
        case Special::private_limit:
          return b.i64(uint64_t{kPrivateApertureHi} << 32 | UINT32_MAX);
        default:
          return b.op(Op::zext64, {s32(operand)});
      }
    default:
      return b.i64(operand.value);
  }
}

Inst* Context::smask(const Operand& operand) {
  if (operand.kind == OperandKind::sgpr) return ssa.read_mask(operand.reg);
  return b.op(Op::i64_to_mask, {s64(operand)});
}

// --- vector operands -------------------------------------------------------------------------------------------------

Inst* Context::raw32(const Operand& operand) {
  switch (operand.kind) {
    case OperandKind::vgpr:
    case OperandKind::agpr:
      return row(operand);
    case OperandKind::sgpr:
    case OperandKind::special:
      return b.op(Op::splat, {s32(operand)});
    default:
      return b.v32(static_cast<uint32_t>(operand.value));
  }
}

Inst* Context::raw64(const Operand& operand) {
  switch (operand.kind) {
    case OperandKind::vgpr:
    case OperandKind::agpr:
      return b.op(Op::pack64, {row(operand, 0), row(operand, 1)});
    case OperandKind::sgpr:
    case OperandKind::special:
      return b.op(Op::splat64, {s64(operand)});
    default:
      return b.v64(operand.value);
  }
}

Inst* Context::row(const Operand& operand, unsigned index) {
  if (mode & mode::kGprIdxEn && operand.kind == OperandKind::vgpr)
    if (Inst* relative = gpr_index(position_of(operand)))
      return read_relative({.base = operand.reg, .dwords = operand.dwords, .index = relative}, index);
  return ssa.read_row((first_row(operand) + index) % kNumRows);
}

Inst* Context::row_or_half(const Operand& operand, unsigned index) {
  if (operand.kind == OperandKind::vgpr || operand.kind == OperandKind::agpr) return row(operand, index);
  if (operand.kind == OperandKind::sgpr && operand.dwords > 2)
    return b.op(Op::splat, {ssa.read32((operand.reg + index) % 128u)});
  if (index >= 2) return v(0);
  return b.op(index == 0 ? Op::lo32 : Op::hi32, {raw64(operand)});
}

std::vector<Inst*> Context::rows(const Operand& operand, unsigned count) {
  std::vector<Inst*> result;
  result.reserve(count);
  for (unsigned i = 0; i < count; ++i) result.push_back(row(operand, i));
  return result;
}

Inst* Context::sext(Inst* value, unsigned bits) {
  Inst* amount = like(value, value->type.bits() - bits);
  return b.op(Op::ashr, {b.op(Op::shl, {value, amount}), amount});
}

Inst* Context::apply_dpp(Inst* value) {
  return b.op(Op::dpp, {value, exec()}, inst->dpp.ctrl);
}

Inst* Context::sdwa_source(Inst* value, const Operand& operand) {
  const auto [shift, bits] = field_of(operand.sdwa_sel);
  if (bits == 32) return value;
  return b.op(operand.sext ? Op::bfe_s : Op::bfe_u, {value, v(shift), v(bits)});
}

Inst* Context::float_modifiers(Inst* value, const Operand& operand) {
  if (!operand.abs && !operand.neg) return value;
  const unsigned width = bits_of(operand.type);
  const uint64_t sign = uint64_t{1} << (width - 1);
  const uint64_t all = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  if (operand.abs) value = and_(value, like(value, all & ~sign));
  if (operand.neg) value = b.op(Op::xor_, {value, like(value, sign)});
  return value;
}

Inst* Context::src32(Slot slot) {
  const Operand& operand = inst->get(slot);
  Inst* value = raw32(operand);
  if (inst->is_dpp && slot == Slot::src0) value = apply_dpp(value);
  if (inst->is_sdwa) value = sdwa_source(value, operand);
  if (bits_of(operand.type) == 16 && (inst->op_sel >> source_index(slot) & 1) &&
      (inst->format == isa::Format::vop3 || inst->format == isa::Format::vop3b))
    value = lshr(value, 16);
  return float_modifiers(value, operand);
}

Inst* Context::src64(Slot slot) {
  const Operand& operand = inst->get(slot);
  Inst* value = nullptr;
  if (inst->is_dpp && slot == Slot::src0)
    value = b.op(Op::pack64, {apply_dpp(row(operand, 0)), apply_dpp(row(operand, 1))});
  else
    value = raw64(operand);
  return float_modifiers(value, operand);
}

Inst* Context::src_u16(Slot slot) {
  return zext16(src32(slot));
}

Inst* Context::src_i16(Slot slot) {
  const Operand& operand = inst->get(slot);
  Inst* value = src32(slot);
  // An SDWA byte select is extended by itself; its bit 15 is not a sign unless sext says so, and then it is copied up.
  return operand.abs || operand.neg ? sext16(zext16(value)) : sext16(value);
}

// --- scalar results --------------------------------------------------------------------------------------------------

void Context::set_s32(Slot slot, Inst* value) {
  const unsigned reg = operand(slot).reg;
  ssa.write32(reg, value);
  if (reg / 2 == sreg::kVccLo / 2) ssa.update_vccz();
}

// --- vector results --------------------------------------------------------------------------------------------------

Inst* Context::write_enable() {
  Inst* mask = exec();
  if (!inst->is_dpp) return mask;
  const uint64_t lanes = dpp_lanes(inst->dpp);
  Inst* enabled = and_(mask, b.mask(lanes));
  if (inst->dpp.bound_ctrl) return enabled;
  return and_(enabled, b.op(Op::dpp_valid, {mask}, inst->dpp.ctrl));
}

void Context::set_row(const Operand& dst, unsigned index, Inst* value, Inst* mask) {
  if (mode & mode::kGprIdxEn && dst.kind == OperandKind::vgpr)
    if (Inst* relative = gpr_index(kDestination))
      return write_relative({.base = dst.reg, .dwords = dst.dwords, .index = relative}, index, value, mask);
  const unsigned target = (first_row(dst) + index) % kNumRows;
  if (!mask->is_const(~uint64_t{0})) value = b.select(mask, value, ssa.read_row(target));
  ssa.write_row(target, value);
}

// SDWA destination: the low bits of the value go to the selected field.
Inst* Context::sdwa_result(Inst* value, Inst* old) {
  const auto [shift, bits] = field_of(inst->sdwa_dst_sel);
  if (bits == 32) return value;
  const uint32_t field = ((1u << bits) - 1) << shift;
  switch (inst->sdwa_dst_unused) {
    case SdwaUnused::pad:
      return shl(and_(value, v(field >> shift)), shift);
    case SdwaUnused::sext:
      return shl(sext(value, bits), shift);
    default:
      return b.op(Op::bfi, {v(field), shl(value, shift), old});
  }
}

void Context::set_vmask(Slot slot, Inst* value) {
  value = and_(write_enable(), value);
  const Operand* vdst = inst->find(Slot::vdst);
  if (mode & mode::kGprIdxEn && vdst && vdst->kind == OperandKind::vgpr)
    if (Inst* relative = gpr_index(kDestination)) {
      // Out of range the instruction does nothing: a VCCZ that is stale stays so.
      Inst* exists = in_range({.base = vdst->reg, .dwords = vdst->dwords, .index = relative});
      Inst* stale = ssa.read_vccz();
      set_smask(slot, b.select(exists, value, smask(slot)));
      if (operand(slot).reg == sreg::kVccLo)
        ssa.write_vccz(or_(and_(exists, ssa.read_vccz()), and_(b.op(Op::not_, {exists}), stale)));
      return;
    }
  set_smask(slot, value);
}

void Context::set_v32(const Operand& dst, Inst* value) {
  if (inst->is_sdwa && inst->sdwa_dst_sel != SdwaSelect::dword) {
    const bool preserve = inst->sdwa_dst_unused == SdwaUnused::preserve;
    value = sdwa_result(value, preserve ? raw32(dst) : nullptr);
  }
  set_row(dst, 0, value, write_enable());
}

void Context::set_v64(const Operand& dst, Inst* value) {
  Inst* mask = write_enable();
  Inst* low = b.op(Op::lo32, {value});
  Inst* high = b.op(Op::hi32, {value});
  set_row(dst, 0, low, mask);
  set_row(dst, 1, high, mask);
}

void Context::set_v16(Inst* value, bool keeps_high) {
  const Operand& dst = operand(Slot::vdst);
  const bool vop3 = inst->format == isa::Format::vop3 || inst->format == isa::Format::vop3b;
  if (vop3 && (inst->op_sel & 8))
    value = b.op(Op::bfi, {v(0xffff), raw32(dst), shl(value, 16)});
  else if (keeps_high && gfx9_plus())
    value = b.op(Op::bfi, {v(0xffff), value, raw32(dst)});
  set_v32(dst, value);
}

// --- floating point
// ----------------------------------------------------------------------------------------------------

uint32_t Context::env(unsigned round_shift, unsigned denorm_shift) const {
  uint32_t result = mode >> round_shift & ir::fpenv::kRoundMask;
  if (mode >> denorm_shift & 1) result |= ir::fpenv::kKeepInputDenorm;
  if (mode >> denorm_shift & 2) result |= ir::fpenv::kKeepOutputDenorm;
  if (mode & mode::kIeee) result |= ir::fpenv::kIeee;
  if (mode & mode::kDx10Clamp) result |= ir::fpenv::kDx10Clamp;
  if (mode & mode::kFp16Ovfl) result |= ir::fpenv::kFp16Ovfl;
  return result;
}

// Output modifiers need MODE.ieee off and result denormals flushed (docs/isa-decisions.md, "omod").
bool Context::omod_applies(unsigned denorm_shift) const {
  return inst->omod != 0 && !(mode & mode::kIeee) && !(mode >> denorm_shift & 2);
}

// omod: one multiplication; a negative zero becomes positive.
Inst* Context::scaled(Op multiply, Inst* value, Inst* factor, uint32_t environment) {
  value = fp(multiply, {value, factor}, environment);
  const uint64_t sign = multiply == Op::fmul_f64 ? uint64_t{1} << 63 : multiply == Op::fmul_f32 ? 1u << 31 : 1u << 15;
  return b.select(b.icmp(ICmp::eq, value, like(value, sign)), like(value, 0), value);
}

Inst* Context::modified_f32(Inst* value) {
  static constexpr uint32_t kFactor[4] = {0, 0x40000000, 0x40800000, 0x3f000000};
  if (omod_applies(mode::kDenormF32Shift)) value = scaled(Op::fmul_f32, value, v(kFactor[inst->omod]), env32());
  return inst->clamp ? fp(Op::fclamp_f32, {value}, env32()) : value;
}

void Context::set_f32(Inst* value) {
  set_v32(modified_f32(value));
}

void Context::set_f64(Inst* value) {
  static constexpr uint64_t kFactor[4] = {0, 0x4000000000000000, 0x4010000000000000, 0x3fe0000000000000};
  if (omod_applies(mode::kDenormF16F64Shift)) value = scaled(Op::fmul_f64, value, b.v64(kFactor[inst->omod]), env64());
  if (inst->clamp) value = fp(Op::fclamp_f64, {value}, env64());
  set_v64(value);
}

void Context::set_f16(Inst* value, bool keeps_high) {
  static constexpr uint32_t kFactor[4] = {0, 0x4000, 0x4400, 0x3800};
  if (omod_applies(mode::kDenormF16F64Shift)) value = scaled(Op::fmul_f16, value, v(kFactor[inst->omod]), env16());
  if (inst->clamp) value = fp(Op::fclamp_f16, {value}, env16());
  set_v16(value, keeps_high);
}

}  // namespace wavejit::lift
