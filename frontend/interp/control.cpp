// Control flow, hardware registers, messages and other SOPP/SOP1/SOPK instructions that act on the wave.
#include <bit>

#include "frontend/interp/engine.h"
#include "internal/interrupt.h"
#include "internal/semantics/exceptions.h"

namespace wavejit::interp {
namespace {

Step jump(Context& c, const Op& op, uint64_t target) {
  // Backward jumps are polls: of the stop flag, so that endless loops can be ended, and for other waves.
  const bool backward = target <= op.inst.pc;
  c.wave.pc = target;
  if (backward && c.wave.stop_flag != nullptr && __atomic_load_n(c.wave.stop_flag, __ATOMIC_RELAXED) != 0) {
    c.wave.exit_reason = ExitReason::kStopped;
    return Step::exit;
  }
  if (!backward || c.wave.polls_left == 0) return Step::jump;
  --c.wave.polls_left;
  if (c.wave.polls_left != 0) return Step::jump;
  c.wave.exit_reason = ExitReason::kYield;
  return Step::exit;
}

uint64_t branch_target(const Op& op, unsigned source) {
  return op.inst.next_pc() + op.sources[source].value;  // the distance is signed; the addition wraps
}

template <typename Condition>
Step branch_if(Context& c, const Op& op, Condition condition) {
  return condition ? jump(c, op, branch_target(op, 0)) : Step::next;
}

Step no_effect(Context&, const Op&) {
  return Step::next;
}

void register_branches(Registry& r) {
  r.handler(Opcode::s_branch, [](Context& c, const Op& o) { return jump(c, o, branch_target(o, 0)); });
  r.handler(Opcode::s_cbranch_scc0, [](Context& c, const Op& o) { return branch_if(c, o, c.wave.scc == 0); });
  r.handler(Opcode::s_cbranch_scc1, [](Context& c, const Op& o) { return branch_if(c, o, c.wave.scc != 0); });
  r.handler(Opcode::s_cbranch_vccz, [](Context& c, const Op& o) { return branch_if(c, o, c.wave.vccz != 0); });
  r.handler(Opcode::s_cbranch_vccnz, [](Context& c, const Op& o) { return branch_if(c, o, c.wave.vccz == 0); });
  r.handler(Opcode::s_cbranch_execz, [](Context& c, const Op& o) { return branch_if(c, o, c.wave.exec() == 0); });
  r.handler(Opcode::s_cbranch_execnz, [](Context& c, const Op& o) { return branch_if(c, o, c.wave.exec() != 0); });
  // No debugger is attached.
  r.handler(Opcode::s_cbranch_cdbgsys, no_effect);
  r.handler(Opcode::s_cbranch_cdbguser, no_effect);
  r.handler(Opcode::s_cbranch_cdbgsys_or_user, no_effect);
  r.handler(Opcode::s_cbranch_cdbgsys_and_user, no_effect);
  r.handler(Opcode::s_getpc_b64, [](Context& c, const Op& o) -> Step {
    write_scalar64(c, o.mask_reg, o.inst.next_pc());
    return Step::next;
  });
  r.handler(Opcode::s_setpc_b64, [](Context& c, const Op& o) { return jump(c, o, read_scalar64(c, o.sources[0])); });
  r.handler(Opcode::s_swappc_b64, [](Context& c, const Op& o) {
    const uint64_t target = read_scalar64(c, o.sources[0]);
    write_scalar64(c, o.mask_reg, o.inst.next_pc());
    return jump(c, o, target);
  });
  r.handler(Opcode::s_call_b64, [](Context& c, const Op& o) {
    write_scalar64(c, o.mask_reg, o.inst.next_pc());
    return jump(c, o, branch_target(o, 0));
  });
}

// The stack of S_CBRANCH_*_FORK: entry i is {EXEC, PC} in s[4i:4i+3], and MODE.csp the number of entries (Vega ISA
// manual, S_CBRANCH_G_FORK and S_CBRANCH_JOIN).
unsigned csp_of(const Context& c) {
  return c.wave.mode >> mode::kCspShift;
}
void set_csp(Context& c, unsigned csp) {
  constexpr uint32_t kOthers = (1u << mode::kCspShift) - 1;
  c.wave.mode = (c.wave.mode & kOthers) | csp << mode::kCspShift;
}

// The lanes of `condition` go to `target`, the others to the next instruction; the smaller half first.
Step fork(Context& c, const Op& op, uint64_t condition, uint64_t target) {
  const uint64_t exec = c.wave.exec();
  const uint64_t pass = condition & exec, fail = ~condition & exec;
  if (pass == exec) return jump(c, op, target);
  if (fail == exec) return Step::next;
  const bool fail_first = std::popcount(fail) < std::popcount(pass);
  const unsigned entry = csp_of(c) * 4;
  c.wave.set_sgpr64(entry, fail_first ? pass : fail);
  c.wave.set_sgpr64(entry + 2, fail_first ? target : op.inst.next_pc());
  c.wave.set_exec(fail_first ? fail : pass);
  set_csp(c, csp_of(c) + 1);
  return fail_first ? Step::next : jump(c, op, target);
}

void register_fork_and_join(Registry& r) {
  r.handler(Opcode::s_cbranch_g_fork, [](Context& c, const Op& o) {
    const uint64_t condition = read_scalar64(c, o.sources[0]);
    return fork(c, o, condition, read_scalar64(c, o.sources[1]));
  });
  r.handler(Opcode::s_cbranch_i_fork,
            [](Context& c, const Op& o) { return fork(c, o, read_scalar64(c, o.sources[0]), branch_target(o, 1)); });
  r.handler(Opcode::s_cbranch_join, [](Context& c, const Op& o) {
    const unsigned csp = csp_of(c);
    if (csp == read_scalar32(c, o.sources[0])) return Step::next;
    const unsigned entry = ((csp - 1) & 7) * 4;
    const uint64_t target = c.wave.sgpr64(entry + 2);
    c.wave.set_exec(c.wave.sgpr64(entry));
    set_csp(c, csp - 1);
    return jump(c, o, target);
  });
}

Step leave(Context& c, const Op& op, ExitReason reason) {
  c.wave.pc = op.inst.next_pc();
  c.wave.exit_reason = reason;
  return Step::exit;
}

// False for messages of geometry shaders and unknown ones, which are not for compute (docs/isa-decisions.md).
bool send(const Context& c, const Op& op) {
  switch (op.sources[0].value & 15) {
    case 1:  // MSG_INTERRUPT
      raise_interrupt(c.wave.sgpr[sreg::kM0]);
      return true;
    case 4:   // MSG_SAVEWAVE
    case 9:   // early primitive deallocation
    case 10:  // MSG_GET_DOORBELL
      return true;
    default:
      return false;
  }
}

void register_exits(Registry& r) {
  r.handler(Opcode::s_endpgm, [](Context& c, const Op& o) { return c.exit(ExitReason::kEnd, o); });
  r.handler(Opcode::s_endpgm_saved, [](Context& c, const Op& o) { return c.exit(ExitReason::kEnd, o); });
  r.handler(Opcode::s_endpgm_ordered_ps_done, [](Context& c, const Op& o) { return c.exit(ExitReason::kEnd, o); });
  r.handler(Opcode::s_barrier, [](Context& c, const Op& o) { return leave(c, o, ExitReason::kBarrier); });
  r.handler(Opcode::s_sleep, [](Context& c, const Op& o) { return leave(c, o, ExitReason::kYield); });
  r.handler(Opcode::s_trap, [](Context& c, const Op& o) {
    c.wave.trap_id = static_cast<uint32_t>(o.sources[0].value) & 0xff;
    return c.exit(ExitReason::kTrap, o);
  });
  r.handler(Opcode::s_sendmsg,
            [](Context& c, const Op& o) { return send(c, o) ? Step::next : c.exit(ExitReason::kUnsupported, o); });
  // Halted behind its message, the wave is the host's to end, as after S_SENDMSGHALT of MSG_SAVEWAVE.
  r.handler(Opcode::s_sendmsghalt, [](Context& c, const Op& o) {
    return c.exit(send(c, o) ? ExitReason::kEnd : ExitReason::kUnsupported, o);
  });
  // Halting a wave without a debugger to continue it would hang; only the "do not halt" form is accepted.
  r.handler(Opcode::s_sethalt, [](Context& c, const Op& o) {
    return (o.sources[0].value & 1) == 0 ? Step::next : c.exit(ExitReason::kUnsupported, o);
  });
  // The kill bit ends the wave.
  r.handler(Opcode::s_setkill, [](Context& c, const Op& o) {
    return (o.sources[0].value & 1) == 0 ? Step::next : c.exit(ExitReason::kEnd, o);
  });
  for (const Opcode op : {Opcode::s_nop,
                          Opcode::s_waitcnt,
                          Opcode::s_setprio,
                          Opcode::s_icache_inv,
                          Opcode::s_incperflevel,
                          Opcode::s_decperflevel,
                          Opcode::s_ttracedata,
                          Opcode::s_wakeup,
                          Opcode::v_nop,
                          Opcode::s_dcache_inv,
                          Opcode::s_dcache_wb,
                          Opcode::s_dcache_inv_vol,
                          Opcode::s_dcache_wb_vol,
                          Opcode::s_dcache_discard,
                          Opcode::s_dcache_discard_x2,
                          Opcode::s_atc_probe,
                          Opcode::s_atc_probe_buffer,
                          Opcode::buffer_wbinvl1,
                          Opcode::buffer_wbinvl1_sc,
                          Opcode::buffer_wbinvl1_vol,
                          Opcode::buffer_wbl2,
                          Opcode::buffer_invl2,
                          Opcode::buffer_inv,
                          Opcode::ds_nop})
    r.handler(op, no_effect);
  r.handler(Opcode::v_clrexcp, [](Context& c, const Op&) -> Step {
    c.wave.trapsts &= ~exceptions::kAll;
    return Step::next;
  });
}

// Hardware registers by number (Vega ISA manual, "S_GETREG_B32").
enum HwReg : unsigned {
  kMode = 1,
  kStatus = 2,
  kTrapsts = 3,
  kHwId = 4,
  kGprAlloc = 5,
  kLdsAlloc = 6,
  kIbSts = 7,
  kShMemBases = 15
};

uint32_t read_hwreg(const Context& c, unsigned id) {
  const WaveState& w = c.wave;
  switch (id) {
    case kMode:
      return w.mode & ~exceptions::kRecords;
    case kStatus:
      return (w.status & ~0x10601u) | w.scc | uint32_t{w.exec() == 0} << 9 | w.vccz << 10 | 1u << 16;
    case kTrapsts:
      return w.trapsts;
    case kHwId:
      return w.hw_id;
    case kGprAlloc:
      return w.gpr_alloc;
    case kLdsAlloc:
      return (w.lds_size / 512 & 0x1ff) << 12;
    case kShMemBases:
      return (kSharedApertureHi >> 16) << 16 | kPrivateApertureHi >> 16;
    default:
      return 0;
  }
}

Step behind_mode(Context& c, const Op& op) {
  c.wave.pc = op.inst.next_pc();
  return Step::mode;
}

Step set_hwreg(Context& c, const Op& op, uint32_t value) {
  const auto simm = static_cast<uint32_t>(op.sources[0].value);
  const unsigned id = simm & 63, offset = simm >> 6 & 31, size = (simm >> 11 & 31) + 1;
  const uint32_t mask = (size >= 32 ? ~0u : (1u << size) - 1) << offset;
  const auto merged = [&](uint32_t old) { return (old & ~mask) | (value << offset & mask); };
  if (id == kMode) {
    c.wave.mode = (merged(c.wave.mode) & ~exceptions::kRecords) | (c.wave.mode & exceptions::kRecords);
    c.load_mode();
    return behind_mode(c, op);
  }
  if (id == kTrapsts) {
    c.wave.trapsts = merged(c.wave.trapsts);
  }
  return Step::next;
}

void register_hwregs(Registry& r) {
  r.handler(Opcode::s_getreg_b32, [](Context& c, const Op& o) -> Step {
    const auto simm = static_cast<uint32_t>(o.sources[0].value);
    const unsigned id = simm & 63, offset = simm >> 6 & 31, size = (simm >> 11 & 31) + 1;
    const uint32_t value = read_hwreg(c, id) >> offset;
    write_scalar32(c, o.mask_reg, size >= 32 ? value : value & ((1u << size) - 1));
    return Step::next;
  });
  r.handler(Opcode::s_setreg_b32,
            [](Context& c, const Op& o) { return set_hwreg(c, o, read_scalar32(c, o.sources[1])); });
  r.handler(Opcode::s_setreg_imm32_b32,
            [](Context& c, const Op& o) { return set_hwreg(c, o, read_scalar32(c, o.sources[1])); });
  r.handler(Opcode::s_set_gpr_idx_on, [](Context& c, const Op& o) -> Step {
    uint32_t& m0 = c.wave.sgpr[sreg::kM0];
    m0 = (m0 & ~0xf0ffu) | (read_scalar32(c, o.sources[0]) & 0xff) |
         (static_cast<uint32_t>(o.sources[1].value) & 15) << 12;
    c.wave.mode |= mode::kGprIdxEn;
    return Step::next;
  });
  r.handler(Opcode::s_setvskip, [](Context& c, const Op& o) {
    const bool skip = (read_scalar32(c, o.sources[0]) >> (read_scalar32(c, o.sources[1]) & 31) & 1) != 0;
    c.wave.mode = (c.wave.mode & ~mode::kVskip) | (skip ? mode::kVskip : 0);
    return behind_mode(c, o);
  });
  r.handler(Opcode::s_set_gpr_idx_off, [](Context& c, const Op&) -> Step {
    c.wave.mode &= ~mode::kGprIdxEn;
    return Step::next;
  });
  r.handler(Opcode::s_set_gpr_idx_idx, [](Context& c, const Op& o) -> Step {
    uint32_t& m0 = c.wave.sgpr[sreg::kM0];
    m0 = (m0 & ~0xffu) | (read_scalar32(c, o.sources[0]) & 0xff);
    return Step::next;
  });
  r.handler(Opcode::s_set_gpr_idx_mode, [](Context& c, const Op& o) -> Step {
    uint32_t& m0 = c.wave.sgpr[sreg::kM0];
    m0 = (m0 & ~0xf000u) | (static_cast<uint32_t>(o.sources[0].value) & 15) << 12;
    return Step::next;
  });
}

}  // namespace

void register_control(Registry& r) {
  register_branches(r);
  register_fork_and_join(r);
  register_exits(r);
  register_hwregs(r);
}

}  // namespace wavejit::interp
