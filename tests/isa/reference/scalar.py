"""Scalar ALU: SOP1, SOP2, SOPC, SOPK. GCN3 and Vega ISA manuals, chapter "Instructions"."""
import re

from machine import ALL, MASK32, NotCovered
from vector import signed, special

OPS = {}


def read(machine, operand, size, signed_literal=False):
    if operand.kind == "s":
        return machine.scalar(operand.index, size // 32)
    if operand.kind == "integer":
        return operand.constant(f"b{size}", signed_literal)
    if operand.kind == "float":
        return operand.constant(f"b{size}")
    if size == 64 and operand.text in ("src_shared_base", "src_private_base"):
        return (1 if "shared" in operand.text else 2) << 48
    return special(machine, operand.text)


def write(machine, operand, value, size):
    machine.set_scalar(operand.index, value & ((1 << size) - 1), size // 32)


def define(names, sizes, function):
    """`sizes`: bits of result and sources; the function gives (result or None, SCC or None)."""
    for name in names.split():
        OPS[name] = (function, sizes)


def logic(name, function):
    for size in (32, 64):
        def both(m, a, b, size=size):
            value = function(a, b) & ((1 << size) - 1)
            return value, value != 0

        define(f"s_{name}_b{size}", (size, size, size), both)
    OPS.setdefault(f"s_{name}_saveexec_b64", (save_exec(function), (64, 64)))


def save_exec(function):
    def run(m, a):
        before = m.exec
        m.exec = function(a, before) & ALL
        return before, m.exec != 0

    return run


def write_exec(function):
    def run(m, a):
        m.exec = function(a, m.exec) & ALL
        return m.exec, m.exec != 0

    return run


LOGIC = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "nand": lambda a, b: ~(a & b),
         "nor": lambda a, b: ~(a | b), "xnor": lambda a, b: ~(a ^ b), "andn2": lambda a, b: a & ~b, "orn2": lambda a, b: a | ~b}
for name, function in LOGIC.items():
    logic(name, function)
OPS["s_andn1_saveexec_b64"] = save_exec(lambda a, e: ~a & e), (64, 64)
OPS["s_orn1_saveexec_b64"] = save_exec(lambda a, e: ~a | e), (64, 64)
OPS["s_andn1_wrexec_b64"] = write_exec(lambda a, e: ~a & e), (64, 64)
OPS["s_andn2_wrexec_b64"] = write_exec(lambda a, e: a & ~e), (64, 64)

# ---- Sums and products ----


def s32(x):
    return signed(x, 32)


def out_of_range(value):
    return not -(1 << 31) <= value < 1 << 31


W2 = (32, 32, 32)
define("s_add_u32", W2, lambda m, a, b: (a + b, a + b > MASK32))
define("s_sub_u32", W2, lambda m, a, b: (a - b, a < b))
define("s_add_i32", W2, lambda m, a, b: (a + b, out_of_range(s32(a) + s32(b))))
define("s_sub_i32", W2, lambda m, a, b: (a - b, out_of_range(s32(a) - s32(b))))
define("s_addc_u32", W2, lambda m, a, b: (a + b + m.scc, a + b + m.scc > MASK32))
define("s_subb_u32", W2, lambda m, a, b: (a - b - m.scc, a < b + m.scc))
define("s_mul_i32", W2, lambda m, a, b: (a * b, None))
define("s_mul_hi_u32", W2, lambda m, a, b: (a * b >> 32, None))
define("s_mul_hi_i32", W2, lambda m, a, b: (s32(a) * s32(b) >> 32, None))
define("s_absdiff_i32", W2, lambda m, a, b: nonzero(abs(s32(a - b & MASK32)), 32))
define("s_abs_i32", (32, 32), lambda m, a: nonzero(abs(s32(a)), 32))
for shift in (1, 2, 3, 4):
    define(f"s_lshl{shift}_add_u32", W2, lambda m, a, b, shift=shift: ((a << shift) + b, (a << shift) + b > MASK32))
for name, order in (("i32", s32), ("u32", int)):
    define(f"s_min_{name}", W2, lambda m, a, b, order=order: (a, True) if order(a) < order(b) else (b, False))
    define(f"s_max_{name}", W2, lambda m, a, b, order=order: (a, True) if order(a) > order(b) else (b, False))

# ---- Shifts and fields ----


def nonzero(value, size):
    value &= (1 << size) - 1
    return value, value != 0


for size in (32, 64):
    low = size - 1
    define(f"s_lshl_b{size}", (size, size, 32), lambda m, a, b, s=size: nonzero(a << (b & s - 1), s))
    define(f"s_lshr_b{size}", (size, size, 32), lambda m, a, b, s=size: nonzero(a >> (b & s - 1), s))
    define(f"s_ashr_i{size}", (size, size, 32), lambda m, a, b, s=size: nonzero(signed(a, s) >> (b & s - 1), s))
    define(f"s_bfm_b{size}", (size, 32, 32), lambda m, a, b, s=size: (((1 << (a & s - 1)) - 1) << (b & s - 1), None))
    define(f"s_bfe_u{size}", (size, size, 32), lambda m, a, b, s=size: nonzero((a >> (b & s - 1)) & ((1 << (b >> 16 & 127)) - 1), s))
    define(f"s_bfe_i{size}", (size, size, 32), lambda m, a, b, s=size: nonzero(signed_field(signed(a, s) >> (b & s - 1), b >> 16 & 127), s))
    define(f"s_not_b{size}", (size, size), lambda m, a, s=size: nonzero(~a, s))
    define(f"s_mov_b{size}", (size, size), lambda m, a: (a, None))
    define(f"s_cmov_b{size}", (size, size), lambda m, a: (a if m.scc else None, None))
    define(f"s_cselect_b{size}", (size, size, size), lambda m, a, b: (a if m.scc else b, None))
    define(f"s_brev_b{size}", (size, size), lambda m, a, s=size: (int(f"{a:0{s}b}"[::-1], 2), None))
    define(f"s_bcnt0_i32_b{size}", (32, size), lambda m, a, s=size: nonzero(s - bin(a).count("1"), 32))
    define(f"s_bcnt1_i32_b{size}", (32, size), lambda m, a: nonzero(bin(a).count("1"), 32))
    define(f"s_ff0_i32_b{size}", (32, size), lambda m, a, s=size: (lowest(~a & ((1 << s) - 1)), None))
    define(f"s_ff1_i32_b{size}", (32, size), lambda m, a: (lowest(a), None))
    define(f"s_flbit_i32_b{size}", (32, size), lambda m, a, s=size: (s - a.bit_length() if a else -1, None))
    define("s_flbit_i32" if size == 32 else "s_flbit_i32_i64", (32, size), lambda m, a, s=size: (unlike_sign(a, s), None))
    define(f"s_bitcmp0_b{size}", (None, size, 32), lambda m, a, b, s=size: (None, not a >> (b & s - 1) & 1))
    define(f"s_bitcmp1_b{size}", (None, size, 32), lambda m, a, b, s=size: (None, a >> (b & s - 1) & 1))
    define(f"s_quadmask_b{size}", (size, size), lambda m, a, s=size: nonzero(sum(bool(a >> i & 15) << i // 4 for i in range(0, s, 4)), s))
    define(f"s_wqm_b{size}", (size, size), lambda m, a, s=size: nonzero(sum((15 if a >> i & 15 else 0) << i for i in range(0, s, 4)), s))
define("s_sext_i32_i8", (32, 32), lambda m, a: (signed(a & 0xFF, 8), None))
define("s_sext_i32_i16", (32, 32), lambda m, a: (signed(a & 0xFFFF, 16), None))
define("s_bitreplicate_b64_b32", (64, 32), lambda m, a: (sum((a >> i & 1) * 3 << 2 * i for i in range(32)), None))
define("s_pack_ll_b32_b16", W2, lambda m, a, b: (a & 0xFFFF | b << 16, None))
define("s_pack_lh_b32_b16", W2, lambda m, a, b: (a & 0xFFFF | b & 0xFFFF0000, None))
define("s_pack_hh_b32_b16", W2, lambda m, a, b: (a >> 16 | b & 0xFFFF0000, None))


def signed_field(value, size):
    return signed(value & ((1 << size) - 1), size) if size else 0


def lowest(a):
    return (a & -a).bit_length() - 1 if a else -1


def unlike_sign(a, size):
    a = ~a & ((1 << size) - 1) if a >> size - 1 else a
    return size - a.bit_length() if a else -1


# ---- Comparisons ----

CONDITIONS = {"eq": lambda d: d == 0, "lg": lambda d: d != 0, "gt": lambda d: d > 0, "ge": lambda d: d >= 0, "lt": lambda d: d < 0,
              "le": lambda d: d <= 0}
for name, test in CONDITIONS.items():
    define(f"s_cmp_{name}_i32", (None, 32, 32), lambda m, a, b, t=test: (None, t(s32(a) - s32(b))))
    define(f"s_cmp_{name}_u32", (None, 32, 32), lambda m, a, b, t=test: (None, t(a - b)))
    define(f"s_cmp_{name}_u64", (None, 64, 64), lambda m, a, b, t=test: (None, t(a - b)))


def execute(machine, instruction):
    function, sizes = OPS[instruction.name]
    operands = instruction.operands
    sources = operands if sizes[0] is None else operands[1:]
    if len(sources) != len(sizes) - 1:
        raise NotCovered(f"{instruction.name} with {len(sources)} sources")
    is_signed = "_i64" in instruction.name
    values = [read(machine, o, size, is_signed) for o, size in zip(sources, sizes[1:])]
    value, scc = function(machine, *values)
    if value is not None:
        write(machine, operands[0], value, sizes[0])
    if scc is not None:
        machine.scc = int(bool(scc))


# ---- SOPK, and SOP1 that changes its destination ----


def immediate(operand):
    return signed(operand.value & 0xFFFF, 16)


def known(name):
    return name in OPS or name in SPECIAL or bool(re.fullmatch(r"s_cmpk_\w\w_[iu]32", name))


def compare_constant(machine, instruction):
    name, kind = instruction.name.split("_")[2:]
    first = read(machine, instruction.operands[0], 32)
    constant = instruction.operands[1]
    difference = s32(first) - immediate(constant) if kind == "i32" else first - (constant.value & 0xFFFF)
    machine.scc = int(CONDITIONS[name](difference))


def move_constant(machine, instruction):
    if instruction.name == "s_movk_i32" or machine.scc:
        write(machine, instruction.operands[0], immediate(instruction.operands[1]), 32)


def add_constant(machine, instruction):
    destination, constant = instruction.operands
    total = s32(read(machine, destination, 32)) + immediate(constant)
    write(machine, destination, total, 32)
    machine.scc = int(out_of_range(total))


def multiply_constant(machine, instruction):
    destination, constant = instruction.operands
    write(machine, destination, s32(read(machine, destination, 32)) * immediate(constant), 32)


def set_bit(machine, instruction):
    size = int(instruction.name[-2:])
    destination, source = instruction.operands
    bit = 1 << (read(machine, source, 32) & size - 1)
    value = machine.scalar(destination.index, size // 32)
    write(machine, destination, value | bit if "bitset1" in instruction.name else value & ~bit, size)


def relative(machine, index, dwords):
    """The SGPR that M0 leads to, or None: out of range, the limit being 102 registers."""
    at = (index + machine.m0) & MASK32
    return at if at + dwords <= 102 else None


def move_relative(machine, instruction):
    destination, source = instruction.operands
    size = int(instruction.name[-2:])
    dwords = size // 32
    if "movrels" in instruction.name:
        at = relative(machine, source.index, dwords)
        write(machine, destination, machine.scalar(0 if at is None else at, dwords), size)
    else:
        at = relative(machine, destination.index, dwords)
        if at is not None:
            machine.set_scalar(at, read(machine, source, size), dwords)


# ---- Hardware registers ----

REGISTERS = {"HW_REG_MODE": 1, "HW_REG_STATUS": 2, "HW_REG_TRAPSTS": 3, "HW_REG_LDS_ALLOC": 6, "HW_REG_IB_STS": 7}


def hardware(text):
    name, *rest = re.fullmatch(r"hwreg\((.*)\)", text)[1].replace(" ", "").split(",")
    offset, size = (int(rest[0], 0), int(rest[1], 0)) if rest else (0, 32)
    if name not in REGISTERS:
        raise NotCovered(f"register {name}")
    return name, offset, (1 << size) - 1


def hardware_value(machine, name):
    if name == "HW_REG_MODE":
        return machine.mode
    if name == "HW_REG_TRAPSTS":
        return machine.trapsts
    if name == "HW_REG_LDS_ALLOC":
        return len(machine.lds) // 512 << 12
    if name == "HW_REG_STATUS":  # beside these bits others may be set
        return machine.scc | (machine.exec == 0) << 9 | machine.vccz << 10 | 1 << 16
    return 0


def get_register(machine, instruction):
    name, offset, mask = hardware(instruction.operands[1].text)
    write(machine, instruction.operands[0], hardware_value(machine, name) >> offset & mask, 32)


def set_register(machine, instruction):
    name, offset, mask = hardware(instruction.operands[0].text)
    value = read(machine, instruction.operands[1], 32)
    if name in ("HW_REG_MODE", "HW_REG_TRAPSTS"):
        old = hardware_value(machine, name)
        new = old & ~(mask << offset) | (value & mask) << offset
        setattr(machine, "mode" if name == "HW_REG_MODE" else "trapsts", new & MASK32)


SPECIAL = {"s_movk_i32": move_constant, "s_cmovk_i32": move_constant, "s_addk_i32": add_constant, "s_mulk_i32": multiply_constant,
           "s_bitset0_b32": set_bit, "s_bitset1_b32": set_bit, "s_bitset0_b64": set_bit, "s_bitset1_b64": set_bit,
           "s_movrels_b32": move_relative, "s_movrels_b64": move_relative, "s_movreld_b32": move_relative, "s_movreld_b64": move_relative,
           "s_getreg_b32": get_register, "s_setreg_b32": set_register, "s_setreg_imm32_b32": set_register}


def run(machine, instruction):
    if instruction.name in OPS:
        execute(machine, instruction)
    elif instruction.name in SPECIAL:
        SPECIAL[instruction.name](machine, instruction)
    else:
        compare_constant(machine, instruction)
