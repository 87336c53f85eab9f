// SOPP, jumps and calls, hardware registers. What ends a block only computes here; the terminator is made by the
// lifter.
#include <bit>

#include "frontend/lift/context.h"
#include "frontend/lift/handlers.h"
#include "internal/semantics/exceptions.h"

namespace wavejit::lift {
namespace {

void nothing(Context&) {}

void memory_fence(Context& c) {
  c.b.op(Op::fence, {});
}

template <bool kTaken>
void branch_scc(Context& c) {
  Inst* scc = c.ssa.read_scc();
  c.condition = kTaken ? scc : c.b.op(Op::not_, {scc});
}

template <bool kZero>
void branch_vccz(Context& c) {
  Inst* vccz = c.ssa.read_vccz();
  c.condition = kZero ? vccz : c.b.op(Op::not_, {vccz});
}

template <bool kZero>
void branch_execz(Context& c) {
  Inst* any = c.b.op(Op::mask_any, {c.exec()});
  c.condition = kZero ? c.b.op(Op::not_, {any}) : any;
}

// Of the messages that can_lift() lets through only MSG_INTERRUPT is heard.
void send_message(Context& c) {
  if ((c.simm16() & 15) == 1) c.b.op(Op::interrupt, {c.m0()});
}

void s_setpc_b64(Context& c) {
  c.jump_target = c.s64(Slot::src0);
}

void s_swappc_b64(Context& c) {
  c.jump_target = c.s64(Slot::src0);
  c.set_s64(Slot::sdst, c.b.i64(c.inst->next_pc()));
}

Inst* branch_target(Context& c) {
  const int64_t distance = static_cast<int16_t>(c.simm16()) * int64_t{4};
  return c.b.i64(c.inst->next_pc() + static_cast<uint64_t>(distance));
}

// The way of the fork that waits, s[4 csp : 4 csp + 3]: EXEC, then where it goes on.
unsigned stack_entry(uint32_t csp) {
  return (csp & 7) * 4;
}
Inst* with_csp(Context& c, uint32_t csp) {
  constexpr uint32_t kOthers = (1u << mode::kCspShift) - 1;
  return c.b.i32((c.mode & kOthers) | csp << mode::kCspShift);
}

// MODE.csp is known, as all of MODE: the registers of the stack are those of one entry.
void fork(Context& c, Inst* condition, Inst* target) {
  Inst* exec = c.exec();
  Inst* pass = c.and_(condition, exec);
  Inst* fail = c.b.op(Op::andn, {exec, condition});
  Inst* next = c.b.i64(c.inst->next_pc());
  const auto count = [&](Inst* mask) { return c.b.op(Op::popcount, {c.b.op(Op::mask_to_i64, {mask})}); };
  Inst* any_pass = c.b.op(Op::mask_any, {pass});
  Inst* any_fail = c.b.op(Op::mask_any, {fail});
  Inst* splits = c.and_(any_pass, any_fail);
  Inst* fail_first = c.b.icmp(ICmp::ult, count(fail), count(pass));
  const unsigned entry = stack_entry(c.mode >> mode::kCspShift);
  Inst* old_low = c.ssa.read64(entry);
  Inst* old_high = c.ssa.read64(entry + 2);
  Inst* waiting = c.b.op(Op::mask_to_i64, {c.b.select(fail_first, pass, fail)});
  c.ssa.write64(entry, c.b.select(splits, waiting, old_low));
  c.ssa.write64(entry + 2, c.b.select(splits, c.b.select(fail_first, target, next), old_high));
  c.ssa.write_mask(sreg::kExecLo, c.b.select(splits, c.b.select(fail_first, fail, pass), exec));
  c.new_mode = c.b.select(splits, with_csp(c, (c.mode >> mode::kCspShift) + 1), c.b.i32(c.mode));
  // Lanes that all pass go to the target even if there are none.
  Inst* to_next = c.b.select(splits, fail_first, any_fail);
  c.jump_target = c.b.select(to_next, next, target);
}

void s_cbranch_g_fork(Context& c) {
  Inst* condition = c.smask(Slot::src0);
  fork(c, condition, c.s64(Slot::src1));
}

void s_cbranch_i_fork(Context& c) {
  Inst* condition = c.smask(Slot::src0);
  fork(c, condition, branch_target(c));
}

void s_cbranch_join(Context& c) {
  const uint32_t csp = c.mode >> mode::kCspShift;
  Inst* is_last = c.b.icmp(ICmp::eq, c.s32(Slot::src0), c.b.i32(csp));
  const unsigned entry = stack_entry(csp - 1);
  Inst* waiting = c.ssa.read_mask(entry);
  Inst* target = c.ssa.read64(entry + 2);
  c.ssa.write_mask(sreg::kExecLo, c.b.select(is_last, c.exec(), waiting));
  c.new_mode = c.b.select(is_last, c.b.i32(c.mode), with_csp(c, csp - 1));
  c.jump_target = c.b.select(is_last, c.b.i64(c.inst->next_pc()), target);
}

void s_setvskip(Context& c) {
  Inst* bit = c.and_(c.b.op(Op::lshr, {c.s32(Slot::src0), c.s32(Slot::src1)}), c.b.i32(1));
  c.new_mode = c.or_(c.b.i32(c.mode & ~mode::kVskip), c.shl(bit, std::countr_zero(mode::kVskip)));
}

// No debugger is attached.
void branch_never(Context& c) {
  c.condition = c.b.i1(false);
}

void s_call_b64(Context& c) {
  c.jump_target = branch_target(c);
  c.set_s64(Slot::sdst, c.b.i64(c.inst->next_pc()));
}

// Hardware register numbers (GCN3 and Vega ISA manuals, "Hardware Register Values").
enum HardwareRegister : unsigned {
  kHwMode = 1,
  kHwStatus = 2,
  kHwTrapsts = 3,
  kHwId = 4,
  kHwGprAlloc = 5,
  kHwLdsAlloc = 6,
  kHwShMemBases = 15,
};

Inst* field32(Context& c, size_t offset) {
  return c.b.op_typed(Op::get_field, ir::kI32, {}, 0, offset);
}

Inst* status(Context& c) {
  const auto bit = [&](Inst* flag, unsigned position) { return c.shl(c.b.op(Op::zext_i1, {flag}), position); };
  Inst* execz = c.b.op(Op::not_, {c.b.op(Op::mask_any, {c.exec()})});
  Inst* value = c.or_(field32(c, offsetof(WaveState, status)), c.b.i32(1u << 16));  // VALID
  value = c.or_(value, bit(c.ssa.read_scc(), 0));
  value = c.or_(value, bit(execz, 9));
  return c.or_(value, bit(c.ssa.read_vccz(), 10));
}

void s_getreg_b32(Context& c) {
  const ModeWrite field = mode_write(*c.inst);
  Inst* value = nullptr;
  switch (c.simm16() & 63) {
    case kHwMode:
      value = c.b.i32(c.mode);
      break;
    case kHwStatus:
      value = status(c);
      break;
    case kHwTrapsts:
      value = field32(c, offsetof(WaveState, trapsts));
      break;
    case kHwId:
      value = field32(c, offsetof(WaveState, hw_id));
      break;
    case kHwGprAlloc:
      value = field32(c, offsetof(WaveState, gpr_alloc));
      break;
    case kHwLdsAlloc:  // units of 128 dwords in bits 20:12
      value = c.shl(c.and_(c.lshr(field32(c, offsetof(WaveState, lds_size)), 9), c.b.i32(0x1ff)), 12);
      break;
    case kHwShMemBases:
      value = c.b.i32(kPrivateApertureHi >> 16 | kSharedApertureHi);
      break;
    default:
      value = c.b.i32(0);
  }
  c.set_s32(Slot::sdst, c.and_(c.lshr(value, field.offset), c.b.i32(field.mask)));
}

Inst* replace_field(Context& c, Inst* old, const ModeWrite& field, Inst* value) {
  Inst* mask = c.b.i32(field.mask << field.offset);
  return c.b.op(Op::bfi, {mask, c.shl(value, field.offset), old});
}

void v_clrexcp(Context& c) {
  Inst* kept = c.and_(field32(c, offsetof(WaveState, trapsts)), c.b.i32(~exceptions::kAll));
  c.b.op(Op::set_field, {kept}, 0, offsetof(WaveState, trapsts));
}

// Writes of MODE with a constant are followed statically by the lifter; with a run-time value they end the unit.
void s_setreg(Context& c) {
  const ModeWrite field = mode_write(*c.inst);
  Inst* value = c.opcode() == Opcode::s_setreg_imm32_b32 ? c.b.i32(c.inst->words[1]) : c.s32(Slot::src0);
  switch (c.simm16() & 63) {
    case kHwMode:
      if (c.opcode() == Opcode::s_setreg_b32) c.new_mode = replace_field(c, c.b.i32(c.mode), field, value);
      break;
    case kHwTrapsts:
      c.b.op(Op::set_field, {replace_field(c, field32(c, offsetof(WaveState, trapsts)), field, value)}, 0,
             offsetof(WaveState, trapsts));
      break;
    default:  // writes of others are ignored (docs/isa-decisions.md)
      break;
  }
}

}  // namespace

void add_control(HandlerTable& t) {
  for (const Opcode opcode :
       {Opcode::s_nop, Opcode::s_endpgm, Opcode::s_endpgm_saved, Opcode::s_branch, Opcode::s_wakeup, Opcode::s_barrier,
        Opcode::s_setkill, Opcode::s_waitcnt, Opcode::s_sethalt, Opcode::s_sleep, Opcode::s_setprio, Opcode::s_trap,
        Opcode::s_icache_inv, Opcode::s_incperflevel, Opcode::s_decperflevel, Opcode::s_ttracedata,
        Opcode::s_endpgm_ordered_ps_done, Opcode::s_atc_probe, Opcode::s_atc_probe_buffer})
    t.add(opcode, nothing);
  for (const Opcode opcode :
       {Opcode::s_dcache_inv, Opcode::s_dcache_wb, Opcode::s_dcache_inv_vol, Opcode::s_dcache_wb_vol,
        Opcode::s_dcache_discard, Opcode::s_dcache_discard_x2, Opcode::buffer_wbinvl1, Opcode::buffer_wbinvl1_sc,
        Opcode::buffer_wbinvl1_vol, Opcode::buffer_wbl2, Opcode::buffer_invl2, Opcode::buffer_inv})
    t.add(opcode, memory_fence);
  t.add(Opcode::s_sendmsg, send_message);
  t.add(Opcode::s_sendmsghalt, send_message);
  t.add(Opcode::s_cbranch_scc0, branch_scc<false>);
  t.add(Opcode::s_cbranch_scc1, branch_scc<true>);
  t.add(Opcode::s_cbranch_vccz, branch_vccz<true>);
  t.add(Opcode::s_cbranch_vccnz, branch_vccz<false>);
  t.add(Opcode::s_cbranch_execz, branch_execz<true>);
  t.add(Opcode::s_cbranch_execnz, branch_execz<false>);
  for (const Opcode opcode : {Opcode::s_cbranch_cdbgsys, Opcode::s_cbranch_cdbguser, Opcode::s_cbranch_cdbgsys_or_user,
                              Opcode::s_cbranch_cdbgsys_and_user})
    t.add(opcode, branch_never);
  t.add(Opcode::s_cbranch_g_fork, s_cbranch_g_fork);
  t.add(Opcode::s_cbranch_i_fork, s_cbranch_i_fork);
  t.add(Opcode::s_cbranch_join, s_cbranch_join);
  t.add(Opcode::s_setvskip, s_setvskip);
  t.add(Opcode::s_setpc_b64, s_setpc_b64);
  t.add(Opcode::s_swappc_b64, s_swappc_b64);
  t.add(Opcode::s_call_b64, s_call_b64);
  t.add(Opcode::s_getreg_b32, s_getreg_b32);
  t.add(Opcode::v_clrexcp, v_clrexcp);
  t.add(Opcode::s_setreg_b32, s_setreg);
  t.add(Opcode::s_setreg_imm32_b32, s_setreg);
}

}  // namespace wavejit::lift
