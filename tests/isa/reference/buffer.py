"""MUBUF and MTBUF. Positions, range checks and formats are those of tests/formats; what instructions do with them is here.
GCN3, Vega and MI200 ISA manuals, "Buffer instructions"."""
import re
import sys
from pathlib import Path

import atomics
from assembly import number
from flat import to_lds
from machine import LANES, MASK32, NotCovered
from spaces import Global, Lds
from transfer import kind_of, put, stored

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "formats"))
import buffers  # noqa: E402
import formats  # noqa: E402

NAME = r"buffer_(load|store|atomic)_(\w+)"
FORMAT = r"t?buffer_(load|store)_format_(d16_)?(hi_)?(xyzw|xyz|xy|x)"


def known(name):
    if re.fullmatch(FORMAT, name) or name == "buffer_store_lds_dword":
        return True
    match = re.fullmatch(NAME, name)
    return bool(match) and bool(atomics.named(match[2]) if match[1] == "atomic" else kind_of(match[2]))


class Access:
    """The addresses of an instruction's lanes."""

    def __init__(self, machine, instruction, operands):
        self.machine = machine
        modifiers = instruction.modifiers
        address, descriptor, offset = operands
        self.words = [machine.scalar(descriptor.index + i) for i in range(4)]
        self.base = self.words[0] | (self.words[1] & 0xFFFF) << 32
        self.soffset = machine.scalar(offset.index) if offset.kind == "s" else offset.value
        self.immediate = number(modifiers.get("offset", "0"))
        self.address64 = [machine.lane("v", address.index, 2, lane) for lane in range(LANES)] if "addr64" in modifiers else None
        self.buffer = self.described(machine, modifiers, address)

    def described(self, machine, modifiers, address):
        words = self.words
        buffer = buffers.Buffer.__new__(buffers.Buffer)
        buffer.generation = machine.generation
        buffer.idxen, buffer.offen = "idxen" in modifiers, "offen" in modifiers
        buffer.add_tid = bool(words[3] >> 23 & 1)
        buffer.swizzle = bool(words[1] >> 31)
        buffer.stride = words[1] >> 16 & 0x3FFF
        if buffer.add_tid and machine.generation >= 8:
            buffer.stride |= (words[3] >> 15 & 15) << 14
        buffer.index_stride_code = words[3] >> 21 & 3
        buffer.element_size = 2 << (words[3] >> 19 & 3) if machine.generation <= 8 else 4
        buffer.soffset, buffer.immediate, buffer.num_records = self.soffset, self.immediate, words[2]
        first = list(machine.row(address.index)) if address.kind == "v" else [0] * LANES
        second = list(machine.row(address.index + 1)) if buffer.idxen and buffer.offen else first
        buffer.index, buffer.offset = first, second
        return buffer

    def at(self, lane, byte, size):
        """The address of `size` bytes that are checked together, or None: out of range."""
        if self.address64:
            return self.base + self.address64[lane] + self.soffset + self.immediate + byte
        place = self.buffer.access(lane, byte, size)
        return None if place is None else self.base + place


def execute(machine, instruction):
    name, operands = instruction.name, list(instruction.operands)
    without_data = "lds" in instruction.modifiers
    data = None if without_data else operands.pop(0)
    if len(operands) == 2:
        operands.insert(0, operands[0].__class__("off"))
    access = Access(machine, instruction, operands)
    if name == "buffer_store_lds_dword":
        return store_lds(machine, instruction, access)
    if match := re.fullmatch(FORMAT, name):
        return (load_format if match[1] == "load" else store_format)(machine, instruction, access, data, match)
    what, suffix = re.fullmatch(NAME, name).groups()
    if what == "atomic":
        return atomic(machine, instruction, access, data, *atomics.named(suffix))
    kind = kind_of(suffix)
    memory = Global(machine)
    if what == "store":
        for i in range(kind.dwords):
            for lane in machine.active():
                at = access.at(lane, 4 * i, kind.size)
                if at is not None:
                    memory.store(at, kind.size, stored(machine, data.index + i, lane, kind))
        return None
    values = {}
    for lane in machine.active():
        places = [access.at(lane, 4 * i, kind.size) for i in range(kind.dwords)]
        values[lane] = [0 if at is None else memory.load(at, kind.size) for at in places]
    for lane, dwords in values.items():
        if without_data:
            to_lds(machine, lds_place(machine, instruction, lane), kind, dwords[0])
            continue
        for i, value in enumerate(dwords):
            put(machine, data.index + i, lane, kind, value)
        end_with_zero(machine, instruction, data.index + kind.dwords, lane)
    return None


def end_with_zero(machine, instruction, register, lane):
    """TFE's register: nothing fails."""
    if "tfe" in instruction.modifiers:
        machine.row(register)[lane] = 0


def lds_place(machine, instruction, lane):
    return (machine.m0 & 0xFFFF) + number(instruction.modifiers.get("offset", "0")) + 4 * lane


def store_lds(machine, instruction, access):
    for lane in machine.active():
        at = access.at(lane, 0, 4)
        if at is not None:
            Global(machine).store(at, 4, Lds(machine).load(lds_place(machine, instruction, lane), 4) or 0)


def atomic(machine, instruction, access, data, operation, bits):
    dwords = bits // 32
    count = 2 if operation in ("cmpswap", "fcmpswap") else 1
    for lane in machine.active():
        at = access.at(lane, 0, bits // 8)
        values = [machine.lane(data.kind, data.index + dwords * i, dwords, lane) for i in range(count)]
        old = 0 if at is None else atomics.apply(machine, Global(machine), lane, at, operation, bits, values)
        if "glc" in instruction.modifiers or "sc0" in instruction.modifiers:
            for i in range(dwords):
                machine.row(data.index + i, data.kind)[lane] = old >> 32 * i & MASK32


# ---- Formats ----


def format_of(instruction, access):
    """(data format, number format, DST_SEL)."""
    if instruction.name.startswith("tbuffer"):
        return number(instruction.modifiers["dfmt"].rstrip(",")), number(instruction.modifiers["nfmt"].rstrip(",")), 0xFAC
    word = access.words[3]
    data_format = word >> 15 & 15
    return data_format, word >> 12 & 7, word & 0xFFF


def known_format_of(instruction, access):
    data_format, kind, selects = format_of(instruction, access)
    if data_format not in formats.DATA_FORMATS or kind not in formats.NAMES:
        raise NotCovered("format")
    return data_format, kind, selects


def load_format(machine, instruction, access, data, match):
    data_format, kind, selects = known_format_of(instruction, access)
    size, count = formats.element_bytes(data_format), len(match[4])
    memory = Global(machine)
    for lane in machine.active():
        at = access.at(lane, 0, size)
        read = [0] * 4 if at is None else formats.read(memory.load(at, size), data_format, kind)
        values = formats.select(read, selects, kind)[:count]
        write_components(machine, data.index, lane, values, kind, match)
        used = len(values) if not match[2] or machine.generation == 8 else (count + 1) // 2
        end_with_zero(machine, instruction, data.index + used, lane)


def write_components(machine, register, lane, values, kind, match):
    if not match[2]:
        for i, value in enumerate(values):
            machine.row(register + i)[lane] = 0x7FC00000 if value == formats.NAN else value
        return
    halves = [half_of(v, kind) for v in values]
    if match[3]:
        put(machine, register, lane, kind_of("short_d16_hi"), halves[0])
    elif machine.generation == 8:
        for i, value in enumerate(halves):
            machine.row(register + i)[lane] = value
    else:
        for i, value in enumerate(buffers.halves(halves)):
            machine.row(register + i)[lane] = value


def half_of(value, kind):
    if value == formats.NAN or (kind not in (formats.UINT, formats.SINT) and formats.F32.value(value) == formats.NAN):
        return 0x7E00
    return formats.to_d16(value, kind)


def store_format(machine, instruction, access, data, match):
    data_format, kind, selects = known_format_of(instruction, access)
    size, count = formats.element_bytes(data_format), len(match[4])
    memory = Global(machine)
    for lane in machine.active():
        at = access.at(lane, 0, size)
        if at is None:
            continue
        if not match[2]:
            values = [machine.row(data.index + i)[lane] for i in range(count)]
        elif match[3]:
            values = [formats.from_d16(machine.row(data.index)[lane] >> 16, kind)]
        elif machine.generation == 8:
            values = [formats.from_d16(machine.row(data.index + i)[lane] & 0xFFFF, kind) for i in range(count)]
        else:
            values = [formats.from_d16(machine.row(data.index + i // 2)[lane] >> 16 * (i & 1) & 0xFFFF, kind) for i in range(count)]
        memory.store(at, size, formats.write(values, data_format, kind, selects))
