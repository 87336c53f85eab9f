"""Program flow, VGPR indexing and instructions without effect on the state. GCN3 and Vega ISA manuals, SOPP and
"Program flow control"; docs/isa-decisions.md, "Control and messages"."""
import scalar
from machine import NotCovered

CODE = 0x100000  # where the first instruction lies: any address; cases cannot state it
NO_EFFECT = {"s_nop", "s_waitcnt", "s_sleep", "s_setprio", "s_icache_inv", "s_dcache_inv", "s_dcache_inv_vol", "s_dcache_wb",
             "s_dcache_wb_vol", "s_ttracedata", "s_incperflevel", "s_decperflevel", "s_wakeup", "s_atc_probe", "s_atc_probe_buffer",
             "s_dcache_discard", "s_dcache_discard_x2", "v_nop", "ds_nop", "buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_wbl2",
             "buffer_inv", "buffer_invl2", "s_cbranch_cdbgsys", "s_cbranch_cdbguser", "s_cbranch_cdbgsys_or_user",
             "s_cbranch_cdbgsys_and_user", "s_barrier"}
BRANCHES = {"s_branch": lambda m: True, "s_cbranch_scc0": lambda m: not m.scc, "s_cbranch_scc1": lambda m: m.scc,
            "s_cbranch_vccz": lambda m: m.vccz, "s_cbranch_vccnz": lambda m: not m.vccz, "s_cbranch_execz": lambda m: m.exec == 0,
            "s_cbranch_execnz": lambda m: m.exec != 0}
WITH_IMMEDIATE = ("s_movk", "s_cmovk", "s_addk", "s_mulk", "s_cmpk", "s_set", "s_getreg", "s_nop", "s_waitcnt", "s_sleep", "s_cbranch",
                  "s_branch", "s_call")  # 16 bits in the instruction's dword
END = -1
NAMES = NO_EFFECT | BRANCHES.keys() | {"s_getpc_b64", "s_swappc_b64", "s_call_b64", "s_setpc_b64", "s_cbranch_i_fork", "s_cbranch_g_fork",
                                       "s_cbranch_join", "s_setkill", "s_sethalt", "s_endpgm", "s_sendmsg", "s_set_gpr_idx_on",
                                       "s_set_gpr_idx_off", "s_set_gpr_idx_mode", "s_set_gpr_idx_idx", "s_setvskip"}


class Program:
    def __init__(self, instructions):
        self.instructions = instructions
        self.addresses = [CODE]
        for instruction in instructions:
            self.addresses.append(self.addresses[-1] + size_of(instruction))
        for instruction in instructions:
            for operand in instruction.operands:
                if operand.between:
                    to, start = operand.between
                    operand.kind, operand.value = "integer", self.addresses[to] - self.addresses[start]

    def at(self, address):
        if address not in self.addresses:
            raise NotCovered("jump between instructions")
        return self.addresses.index(address)


def size_of(instruction):
    """Bytes of scalar instructions, which is all that s_getpc_b64 can see: a literal is a dword more."""
    name = instruction.name
    if not name.startswith("s_") or name == "s_setreg_imm32_b32":
        return 8
    if name.startswith(WITH_IMMEDIATE):
        return 4
    literal = any(o.between or o.kind == "integer" and not -16 <= o.value <= 64 for o in instruction.operands)
    return 8 if literal else 4


def fork(machine, mask, target, following):
    """The address where the wave goes on."""
    execution = machine.exec
    passing, failing = mask & execution, ~mask & execution
    if passing == execution:
        return target
    if failing == execution:
        return following
    depth = machine.mode >> 29
    if bin(failing).count("1") < bin(passing).count("1"):
        kept, kept_at, machine.exec, going = passing, target, failing, following
    else:
        kept, kept_at, machine.exec, going = failing, following, passing, target
    machine.set_scalar(4 * depth, kept, 2)
    machine.set_scalar(4 * depth + 2, kept_at, 2)
    set_depth(machine, depth + 1)
    return going


def set_depth(machine, depth):
    machine.mode = machine.mode & 0x1FFFFFFF | (depth & 7) << 29


def join(machine, wanted, following):
    depth = machine.mode >> 29
    if depth == wanted:
        return following
    depth = (depth - 1) & 7
    set_depth(machine, depth)
    machine.exec = machine.scalar(4 * depth, 2)
    return machine.scalar(4 * depth + 2, 2)


def run(machine, instruction, program, at):
    """The number of the next instruction, or None: not one of these."""
    name, operands = instruction.name, instruction.operands
    if name not in NAMES:
        return None
    following = program.addresses[at + 1]
    if name in NO_EFFECT:
        return at + 1
    if name in BRANCHES:
        if not BRANCHES[name](machine):
            return at + 1
        return program.at(following + 4 * scalar.immediate(operands[0])) if operands[0].kind == "integer" else instruction.target
    if name in ("s_getpc_b64", "s_swappc_b64", "s_call_b64"):
        target = machine.scalar(operands[1].index, 2) if name == "s_swappc_b64" else None
        machine.set_scalar(operands[0].index, following, 2)
        return at + 1 if name == "s_getpc_b64" else instruction.target if name == "s_call_b64" else program.at(target)
    if name == "s_setpc_b64":
        return program.at(machine.scalar(operands[0].index, 2))
    if name == "s_cbranch_i_fork":
        return program.at(fork(machine, scalar.read(machine, operands[0], 64), program.addresses[instruction.target], following))
    if name == "s_cbranch_g_fork":
        mask, target = (scalar.read(machine, o, 64) for o in operands)
        return program.at(fork(machine, mask, target, following))
    if name == "s_cbranch_join":
        return program.at(join(machine, scalar.read(machine, operands[0], 32), following))
    if name in ("s_setkill", "s_sethalt"):
        if operands[0].value:
            if name == "s_sethalt":
                raise NotCovered("a wave that nobody continues")
            return END
        return at + 1
    if name == "s_endpgm":
        return END
    if name == "s_sendmsg":
        if operands[0].text != "sendmsg(MSG_INTERRUPT)":
            raise NotCovered("message")
        return at + 1
    index_mode(machine, instruction)
    return at + 1


def index_mode(machine, instruction):
    """VGPR indexing, Vega ISA manual, "VGPR indexing"."""
    name, operands = instruction.name, instruction.operands
    m0 = machine.m0
    if name == "s_set_gpr_idx_on":
        machine.mode |= 1 << 27
        index = scalar.read(machine, operands[0], 32)
        machine.set_scalar(124, m0 & ~0xF0FF | index & 0xFF | (operands[1].value & 15) << 12)
    elif name == "s_set_gpr_idx_off":
        machine.mode &= ~(1 << 27)
    elif name == "s_set_gpr_idx_mode":
        machine.set_scalar(124, m0 & ~0xF000 | (operands[0].value & 15) << 12)
    elif name == "s_set_gpr_idx_idx":
        machine.set_scalar(124, m0 & ~0xFF | scalar.read(machine, operands[0], 32) & 0xFF)
    elif name == "s_setvskip":
        bit = scalar.read(machine, operands[0], 32) >> (scalar.read(machine, operands[1], 32) & 31) & 1
        machine.mode = machine.mode & ~(1 << 28) | bit << 28
