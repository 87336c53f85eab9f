"""FLAT, GLOBAL and SCRATCH instructions. Vega and MI300 ISA manuals, "Flat memory instructions"."""
import re

import atomics
from assembly import number
from machine import MASK32
from spaces import Global, Lds, Scratch, flat
from transfer import kind_of, put, stored

NAME = r"(flat|global|scratch)_(load|store|atomic)_(lds_)?(\w+)"


def known(name):
    match = re.fullmatch(NAME, name)
    if not match:
        return False
    return bool(atomics.named(match[4]) if match[2] == "atomic" else kind_of(match[4]) or kind_of(match[4] + "_d16"))


class Addresses:
    """Where the lanes of an instruction access memory."""

    def __init__(self, machine, instruction, unit, vector, scalar):
        self.machine, self.unit, self.vector, self.scalar = machine, unit, vector, scalar
        self.offset = number(instruction.modifiers.get("offset", "0"))

    def of(self, lane):
        """(memory, address)."""
        machine, vector, scalar = self.machine, self.vector, self.scalar
        address = self.offset
        if scalar is not None and scalar.kind == "s":
            address += machine.scalar(scalar.index, min(scalar.dwords, 2))
        if vector is not None and vector.kind == "v":
            address += machine.lane("v", vector.index, vector.dwords, lane)
        if self.unit == "flat":
            return flat(machine, address)
        if self.unit == "scratch":
            return Scratch(machine), address & MASK32
        return Global(machine), address & (1 << 64) - 1


def execute(machine, instruction):
    unit, what, to_lds, suffix = re.fullmatch(NAME, instruction.name).groups()
    operands = list(instruction.operands)
    lds = bool(to_lds) or "lds" in instruction.modifiers
    returns = what == "load" and not lds or what == "atomic" and ("glc" in instruction.modifiers or "sc0" in instruction.modifiers)
    destination = operands.pop(0) if returns else None
    scalar = operands.pop() if unit != "flat" else None
    vector = operands.pop(0)
    addresses = Addresses(machine, instruction, unit, vector, scalar)
    if what == "atomic":
        return atomic(machine, addresses, destination, operands[0], *atomics.named(suffix))
    kind = kind_of(suffix)
    if what == "load":
        return load_to_lds(machine, instruction, addresses, kind) if lds else load(machine, addresses, destination, kind)
    places = {lane: addresses.of(lane) for lane in machine.active()}
    for i in range(kind.dwords):
        for lane, (space, at) in places.items():
            if inside(space, at, lane, kind):
                space.store(at + 4 * i, kind.size, stored(machine, operands[0].index + i, lane, kind), lane)
    return None


def inside(space, address, lane, kind):
    """Whether the LDS has all of what a lane accesses; else nothing of it is. Elsewhere every dword is on its own."""
    return type(space) is not Lds or space.place(address, kind.size * kind.dwords, lane) is not None


def load(machine, addresses, destination, kind):
    values = {}
    for lane in machine.active():
        space, at = addresses.of(lane)
        complete = inside(space, at, lane, kind)
        values[lane] = [space.load(at + 4 * i, kind.size, lane) if complete else 0 for i in range(kind.dwords)]
    for lane, dwords in values.items():
        for i, value in enumerate(dwords):
            put(machine, destination.index + i, lane, kind, value)


def load_to_lds(machine, instruction, addresses, kind):
    """To M0[15:0] + offset + 4 * lane, extended to a dword."""
    begin = (machine.m0 & 0xFFFF) + number(instruction.modifiers.get("offset", "0"))
    values = {}
    for lane in machine.active():
        space, at = addresses.of(lane)
        values[lane] = space.load(at, kind.size, lane) or 0
    for lane, value in values.items():
        to_lds(machine, begin + 4 * lane, kind, value)


def to_lds(machine, at, kind, value):
    if kind.signed and value >> 8 * kind.size - 1:
        value -= 1 << 8 * kind.size
    Lds(machine).store(at, 4, value & MASK32)


def atomic(machine, addresses, destination, data, operation, bits):
    dwords = bits // 32
    for lane in machine.active():
        space, at = addresses.of(lane)
        count = 2 if operation in ("cmpswap", "fcmpswap") else 1
        values = [machine.lane(data.kind, data.index + dwords * i, dwords, lane) for i in range(count)]
        old = atomics.apply(machine, space, lane, at, operation, bits, values) or 0
        if destination:
            for i in range(dwords):
                machine.row(destination.index + i, destination.kind)[lane] = old >> 32 * i & MASK32
