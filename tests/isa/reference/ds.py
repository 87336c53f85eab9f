"""LDS and GDS instructions. GCN3 and Vega ISA manuals, "LDS instructions"; docs/isa-decisions.md, "Memory"."""
import re

import atomics
from assembly import number
from machine import LANES, LDS_BYTES, MASK32, NotCovered
from spaces import Gds, Lds
from transfer import Kind, put, stored
from vector import signed

OPERATIONS = {"min_i": "smin", "max_i": "smax", "min_u": "umin", "max_u": "umax", "min_f": "fmin", "max_f": "fmax", "add_f": "fadd",
              "add_u": "add", "sub_u": "sub", "rsub_u": "rsub", "inc_u": "inc", "dec_u": "dec", "and_b": "and", "or_b": "or",
              "xor_b": "xor", "cmpst_b": "cmpswap", "cmpst_f": "fcmpswap", "mskor_b": "mskor", "wrxchg_b": "swap", "wrap_u": "wrap",
              "write_b": "swap", "wrap_b": "wrap"}
READS = {"u8": Kind(1, 1), "i8": Kind(1, 1, True), "u16": Kind(1, 2), "i16": Kind(1, 2, True)}
EXACT = {}


def exactly(*names):
    def register(function):
        EXACT.update((name, function) for name in names)
        return function

    return register


def atomic_of(name):
    """(operation, bits, returns, src2) or None."""
    if match := re.fullmatch(r"ds_(pk_add)_(rtn_)?(f16|bf16)", name):
        return f"pk_add_{match[3]}", 32, bool(match[2]), False
    match = re.fullmatch(r"ds_([a-z]+)_(rtn_|src2_)?([buif])(32|64)", name)
    if not match or f"{match[1]}_{match[3]}" not in OPERATIONS or (match[1] == "write" and match[2] != "src2_"):
        return None
    return OPERATIONS[f"{match[1]}_{match[3]}"], int(match[4]), match[2] == "rtn_", match[2] == "src2_"


def known(name):
    return name in EXACT or bool(atomic_of(name)) or bool(re.fullmatch(ACCESS, name)) or bool(re.fullmatch(PAIR, name))


ACCESS = r"ds_(read|write)_(b32|b64|b96|b128|b8|b16|[ui](?:8|16))(_d16)?(_hi)?"
PAIR = r"ds_(read2|write2|wrxchg2)(st64)?(_rtn)?_b(32|64)"


def space_of(machine, instruction):
    if "gds" in instruction.modifiers and machine.target != "gfx942":
        return Gds(machine)
    return Lds(machine, min(machine.m0, LDS_BYTES) if machine.generation <= 8 else LDS_BYTES)


def offset_of(instruction, name="offset"):
    text = instruction.modifiers.get(name, "0")
    return quad_permutation(text) if text.startswith("swizzle") else number(text)


def quad_permutation(text):
    """swizzle(QUAD_PERM, 3, 2, 1, 0)"""
    kind, *lanes = text[len("swizzle(") : -1].replace(" ", "").split(",")
    if kind != "QUAD_PERM":
        raise NotCovered(text)
    return 0x8000 | sum(number(lane) << 2 * i for i, lane in enumerate(lanes))


def registers(machine, operand, lane, dwords):
    return machine.lane(operand.kind, operand.index, dwords, lane)


def set_registers(machine, operand, lane, dwords, value):
    for i in range(dwords):
        machine.row(operand.index + i, operand.kind)[lane] = value >> 32 * i & MASK32


def execute(machine, instruction):
    name = instruction.name
    if name in EXACT:
        EXACT[name](machine, instruction)
    elif found := atomic_of(name):
        (source2 if found[3] else atomic)(machine, instruction, *found[:3])
    elif match := re.fullmatch(PAIR, name):
        pair(machine, instruction, match)
    else:
        access(machine, instruction, re.fullmatch(ACCESS, name))


def atomic(machine, instruction, operation, bits, returns):
    space, offset = space_of(machine, instruction), offset_of(instruction)
    operands = instruction.operands
    address, *data = operands[1:] if returns else operands
    for lane in machine.active():
        values = [registers(machine, d, lane, bits // 32) for d in data]
        if operation in ("cmpswap", "fcmpswap"):
            values.reverse()
        old = atomics.apply(machine, space, lane, machine.row(address.index)[lane] + offset, operation, bits, values)
        if returns:
            set_registers(machine, operands[0], lane, bits // 32, old or 0)


def source2(machine, instruction, operation, bits, returns):
    """DS[A] = DS[A] op DS[B]; B is read for all lanes first."""
    space, offset = space_of(machine, instruction), offset_of(instruction)
    places = {}
    for lane in machine.active():
        a = machine.row(instruction.operands[0].index)[lane]
        distance = signed(a >> 31 << 15 | a >> 17, 16) if offset >> 15 else signed(offset & 0x7FFF, 15)
        a &= (0x1FFFF if offset >> 15 else MASK32) & ~(bits // 8 - 1)
        b = space.load(a + 4 * distance & ~(bits // 8 - 1), bits // 8, lane)
        places[lane] = a, b or 0
    for lane, (a, b) in places.items():
        atomics.apply(machine, space, lane, a, operation, bits, [b])


def access(machine, instruction, match):
    is_read, kind, d16, high = match[1] == "read", match[2], match[3], match[4]
    space, offset = space_of(machine, instruction), offset_of(instruction)
    if kind in READS or kind in ("b8", "b16"):
        base = READS.get(kind) or Kind(1, int(kind[1:]) // 8)
        shape = Kind(1, base.size, base.signed, ("hi" if high else "lo") if d16 else "")
        dwords = 1
    else:
        shape, dwords = None, int(kind[1:]) // 32
    size = shape.size if shape else 4 * dwords
    destination, address = instruction.operands if is_read else (instruction.operands[1], instruction.operands[0])
    values = {}
    for lane in machine.active():
        at = machine.row(address.index)[lane] + offset
        if is_read:
            values[lane] = space.load(at, size, lane) or 0
        elif shape:
            space.store(at, size, stored(machine, destination.index, lane, shape), lane)
        else:
            space.store(at, size, registers(machine, destination, lane, dwords), lane)
    for lane, value in values.items():
        if shape:
            put(machine, destination.index, lane, shape, value)
        else:
            set_registers(machine, destination, lane, dwords, value)


def pair(machine, instruction, match):
    """read2, write2, wrxchg2: each element by itself, the first of all lanes before the second."""
    kind, size = match[1], int(match[4]) // 8
    dwords = size // 4
    space = space_of(machine, instruction)
    step = size * (64 if match[2] else 1)
    offsets = [step * offset_of(instruction, f"offset{i}") for i in range(2)]
    operands = list(instruction.operands)
    destination = operands.pop(0) if kind != "write2" else None
    address, data = operands[0], operands[1:]
    addresses = list(machine.row(address.index))
    given = [{lane: registers(machine, d, lane, dwords) for lane in machine.active()} for d in data]
    for i, offset in enumerate(offsets):
        for lane in machine.active():
            at = addresses[lane] + offset
            if destination:
                old = space.load(at, size, lane) or 0
                for j in range(dwords):
                    machine.row(destination.index + dwords * i + j)[lane] = old >> 32 * j & MASK32
            if data:
                space.store(at, size, given[i][lane], lane)


@exactly("ds_condxchg32_rtn_b64")
def conditional_exchange(machine, instruction):
    destination, address, data = instruction.operands
    space, offset = space_of(machine, instruction), offset_of(instruction)
    for lane in machine.active():
        at = (machine.row(address.index)[lane] + offset) & MASK32 & ~7
        old = space.load(at, 8, lane)
        value = registers(machine, data, lane, 2)
        for i in range(2):
            half = value >> 32 * i & MASK32
            if half >> 31 and old is not None:
                space.store(at + 4 * i, 4, half & 0x7FFFFFFF, lane)
        set_registers(machine, destination, lane, 2, old or 0)


@exactly("ds_append", "ds_consume")
def count(machine, instruction):
    lanes = machine.active()
    if not lanes:
        return
    offset = offset_of(instruction)
    if "gds" in instruction.modifiers and machine.target != "gfx942":
        space, at = Gds(machine), offset & ~3
    else:
        space, at = Lds(machine), (machine.m0 & 0xFFFF) + offset & ~3
    sign = 1 if instruction.name == "ds_append" else -1
    old = atomics.apply(machine, space, 0, at, "add", 32, [sign * len(lanes)])
    for lane in lanes:
        machine.row(instruction.operands[0].index)[lane] = old or 0


@exactly("ds_read_addtid_b32", "ds_write_addtid_b32")
def by_lane(machine, instruction):
    space, offset = Lds(machine), offset_of(instruction)
    row = machine.row(instruction.operands[0].index)
    for lane in machine.active():
        at = (machine.m0 & 0xFFFF) + offset + 4 * lane
        if "read" in instruction.name:
            row[lane] = space.load(at, 4) or 0
        else:
            space.store(at, 4, row[lane])


# ---- Between lanes ----


@exactly("ds_permute_b32", "ds_bpermute_b32")
def permute(machine, instruction):
    destination, address, data = instruction.operands
    offset, lanes = offset_of(instruction), machine.active()
    chosen = {lane: (machine.row(address.index)[lane] + offset >> 2) & 63 for lane in lanes}
    source = list(machine.row(data.index))
    if instruction.name == "ds_permute_b32":
        result = [0] * LANES
        for lane in lanes:
            result[chosen[lane]] = source[lane]
    else:
        result = [source[chosen[lane]] if chosen.get(lane) in lanes else 0 for lane in range(LANES)]
    for lane in lanes:
        machine.row(destination.index)[lane] = result[lane]


@exactly("ds_swizzle_b32")
def swizzle(machine, instruction):
    destination, data = instruction.operands
    offset, lanes = offset_of(instruction), machine.active()
    source = list(machine.row(data.index))
    for lane in lanes:
        chosen = swizzled(offset, lane, offset >= 0xC000 and machine.generation >= 9)
        machine.row(destination.index)[lane] = source[chosen] if chosen in lanes else 0


def swizzled(offset, lane, modes):
    """Vega ISA manual, DS_SWIZZLE_B32: FFT and rotation (`modes`: GFX9 has them), quads, masks of groups of 32."""
    group, i, mask = lane & 32, lane & 31, offset & 31
    if modes and offset >= 0xE000:
        reverse = int(f"{i:05b}"[::-1], 2)
        return group | reverse >> bin(mask).count("1") | i & mask
    if modes:
        turn = offset >> 5 & 31
        return group | i & mask | (i + (-turn if offset >> 10 & 1 else turn)) & 31 & ~mask
    if offset >> 15:
        return lane & ~3 | offset >> 2 * (lane & 3) & 3
    return group | (i & mask | offset >> 5 & 31) ^ offset >> 10 & 31
