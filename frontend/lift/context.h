// What a handler works with: operand fetch and result stages, written once for all opcodes.
#pragma once

#include <optional>

#include "frontend/isa/info.h"
#include "frontend/isa/instruction.h"
#include "frontend/lift/lifter.h"
#include "frontend/lift/ssa.h"
#include "ir/builder.h"

namespace wavejit::lift {

using ir::ICmp;
using ir::Inst;
using ir::Op;
using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::OperandKind;
using isa::Slot;

class Context {
 public:
  Context(const LiftOptions& options, ir::Builder& builder, Ssa& ssa);

  ir::Builder& b;
  Ssa& ssa;
  const LiftOptions& options;
  const isa::Family family;
  const Instruction* inst = nullptr;
  uint32_t mode = 0;                          // MODE in front of `inst`
  bool result_is_mask = false;                // the code behind `inst` wants its 64-bit result as a mask
  bool srd_is_scratch = false;                // the resource descriptor of `inst` is provably the scratch descriptor
  std::optional<unsigned> index_enables;      // M0[15:12], where s_set_gpr_idx_on or _mode in this block says so
  unsigned last_indexed_row = kNumVgprs - 1;  // highest VGPR that an indexed access may mean
  Inst* condition = nullptr;                  // set by conditional branches: i1, true when taken
  Inst* jump_target = nullptr;                // set by jumps and calls
  Inst* new_mode = nullptr;                   // set by s_setreg of MODE with a run-time value

  [[nodiscard]] Opcode opcode() const { return inst->opcode; }
  [[nodiscard]] const Operand& operand(Slot slot) const { return inst->get(slot); }
  [[nodiscard]] bool d16_loads_clear() const { return isa::d16_loads_clear(options.target, options.ecc_off); }
  [[nodiscard]] bool gfx9_plus() const { return family >= isa::Family::gfx9; }

  // --- scalar operands ---
  Inst* s32(const Operand& operand);
  Inst* s64(const Operand& operand);
  Inst* smask(const Operand& operand);
  Inst* s32(Slot slot) { return s32(operand(slot)); }
  Inst* s64(Slot slot) { return s64(operand(slot)); }
  Inst* smask(Slot slot) { return smask(operand(slot)); }
  Inst* m0() { return ssa.read32(sreg::kM0); }
  void set_s32(Slot slot, Inst* value);  // as the SALU: also a half of VCC updates VCCZ
  // As v_readlane and v_readfirstlane, which leave VCCZ as it was.
  void set_s32_of_lane(Slot slot, Inst* value) { ssa.write32(operand(slot).reg, value); }
  void set_s64(Slot slot, Inst* value) { ssa.write64(operand(slot).reg, value); }
  void set_smask(Slot slot, Inst* value) { ssa.write_mask(operand(slot).reg, value); }
  void set_scc(Inst* value) { ssa.write_scc(value); }
  void set_scc_nonzero(Inst* value) { set_scc(b.icmp(ICmp::ne, value, b.constant(value->type, 0))); }
  [[nodiscard]] uint16_t simm16() const { return static_cast<uint16_t>(inst->words[0] & 0xffff); }
  // Whether the operand is VCC or EXEC as a pair, i.e. a mask at heart.
  [[nodiscard]] static bool is_mask_register(const Operand& operand) {
    return operand.kind == OperandKind::sgpr && (operand.reg == sreg::kVccLo || operand.reg == sreg::kExecLo);
  }

  // --- masks ---
  Inst* exec() { return ssa.read_mask(sreg::kExecLo); }
  Inst* write_enable();  // lanes of a VALU result that are written: EXEC and the DPP masks

  // --- vector operands ---
  // Register contents or splat, without modifiers. Operands of 16-bit types have junk or the other half above bit 15.
  Inst* raw32(const Operand& operand);
  Inst* raw64(const Operand& operand);
  // With DPP, SDWA select, op_sel, abs and neg as the operand's type says.
  Inst* src32(Slot slot);
  Inst* src64(Slot slot);
  // The same for 16-bit operands, extended to 32 bits.
  Inst* src_u16(Slot slot);
  Inst* src_i16(Slot slot);
  // Consecutive registers of a data operand.
  Inst* row(const Operand& operand, unsigned index = 0);
  // Dword `index` of a 64-bit operand that may also be scalar or constant, or of a longer register operand.
  Inst* row_or_half(const Operand& operand, unsigned index);
  // A vector operand as `count` rows (for stores); constants and SGPRs do not occur.
  std::vector<Inst*> rows(const Operand& operand, unsigned count);

  // --- VGPR indexing (indexing.cpp) ---
  // What M0 adds to the number of a VGPR while MODE.gpr_idx_en is set; null when nothing. By position: bits of
  // M0[15:12].
  enum Position : unsigned { kSource0, kSource1, kSource2, kDestination };
  Inst* gpr_index(unsigned position);
  [[nodiscard]] unsigned position_of(const Operand& operand) const;  // as a source
  struct RelativeRow {
    unsigned base;       // register number in the instruction
    unsigned dwords;     // of the operand, which is out of range as a whole
    Inst* index;         // i32
    bool wraps = false;  // base + index is modulo 2^32; otherwise the index is small
  };
  // Row `k` of the operand. Out of range it is that of v0, a write does nothing.
  Inst* read_relative(const RelativeRow& row, unsigned k);
  void write_relative(const RelativeRow& row, unsigned k, Inst* value, Inst* mask);
  Inst* in_range(const RelativeRow& row);  // i1, for those that do not wrap

  // --- vector results ---
  // Writes lanes in write_enable(): SDWA destination select and op_sel applied, no clamp or omod.
  void set_v32(Inst* value) { set_v32(operand(Slot::vdst), value); }
  void set_v32(const Operand& dst, Inst* value);
  void set_v64(Inst* value) { set_v64(operand(Slot::vdst), value); }
  void set_v64(const Operand& dst, Inst* value);
  // A 16-bit result whose bits above 15 are zero. `keeps_high`: the instruction keeps the destination's upper half
  // (GFX9 forms of v_mad_f16 and the like).
  void set_v16(Inst* value, bool keeps_high = false);
  // Row `index` of a register operand, lanes in `mask`.
  void set_row(const Operand& dst, unsigned index, Inst* value, Inst* mask);
  // A lane mask result: bits of lanes that are not written are 0.
  void set_vmask(Slot slot, Inst* value);

  // --- floating point ---
  [[nodiscard]] uint32_t env32() const { return env(mode::kRoundF32Shift, mode::kDenormF32Shift); }
  [[nodiscard]] uint32_t env64() const { return env(mode::kRoundF16F64Shift, mode::kDenormF16F64Shift); }
  [[nodiscard]] uint32_t env16() const { return env64(); }
  // f32 to f16: denormal operands are f32's, rounding and denormal results f16's.
  [[nodiscard]] uint32_t env_f32_to_f16() const {
    return (env16() & ~ir::fpenv::kKeepInputDenorm) | (env32() & ir::fpenv::kKeepInputDenorm);
  }
  // v_mad_f32, v_mad_f16: never denormals.
  [[nodiscard]] static uint32_t flushing(uint32_t env) {
    return env & ~(ir::fpenv::kKeepInputDenorm | ir::fpenv::kKeepOutputDenorm);
  }
  [[nodiscard]] uint32_t env32_flush() const { return flushing(env32()); }
  [[nodiscard]] uint32_t env16_flush() const { return flushing(env16()); }
  // min, max and med3 of GFX8 take and return denormals whatever MODE says.
  [[nodiscard]] uint32_t min_max(uint32_t env) const {
    return gfx9_plus() ? env : env | ir::fpenv::kKeepInputDenorm | ir::fpenv::kKeepOutputDenorm;
  }
  Inst* fp(Op op, std::initializer_list<Inst*> operands, uint32_t attr) { return b.op(op, operands, attr); }
  Inst* modified_f32(Inst* value);  // by omod and clamp
  // omod and clamp, then the write.
  void set_f32(Inst* value);
  void set_f64(Inst* value);
  void set_f16(Inst* value, bool keeps_high = false);

  // --- small helpers ---
  Inst* v(uint32_t bits) { return b.v32(bits); }
  Inst* add(Inst* x, Inst* y) { return b.op(Op::add, {x, y}); }
  Inst* and_(Inst* x, Inst* y) { return b.op(Op::and_, {x, y}); }
  Inst* or_(Inst* x, Inst* y) { return b.op(Op::or_, {x, y}); }
  Inst* like(Inst* value, uint64_t bits) { return b.constant(value->type, bits); }
  Inst* zext16(Inst* value) { return and_(value, like(value, 0xffff)); }
  Inst* sext16(Inst* value) { return sext(value, 16); }
  Inst* sext(Inst* value, unsigned bits);
  Inst* shl(Inst* x, unsigned n) { return n ? b.op(Op::shl, {x, like(x, n)}) : x; }
  Inst* lshr(Inst* x, unsigned n) { return n ? b.op(Op::lshr, {x, like(x, n)}) : x; }

 private:
  [[nodiscard]] uint32_t env(unsigned round_shift, unsigned denorm_shift) const;
  Inst* apply_dpp(Inst* value);
  Inst* sdwa_source(Inst* value, const Operand& operand);
  Inst* sdwa_result(Inst* value, Inst* old);
  Inst* float_modifiers(Inst* value, const Operand& operand);
  Inst* scaled(Op multiply, Inst* value, Inst* factor, uint32_t environment);
  [[nodiscard]] bool omod_applies(unsigned denorm_shift) const;
};

// Rows of the register file an operand covers: AGPRs follow the VGPRs.
[[nodiscard]] inline unsigned first_row(const Operand& operand) {
  return operand.kind == OperandKind::agpr ? kNumVgprs + operand.reg : operand.reg;
}
[[nodiscard]] unsigned bits_of(isa::Type type);  // 16, 32, 64 (element width of packed types)

}  // namespace wavejit::lift
