"""Scalar memory: SMRD of GFX6 and GFX7, SMEM. GCN3 and Vega ISA manuals, "Scalar memory operations"; CLRX GcnInstrsSmem."""
import itertools
import re

import atomics
from assembly import number
from machine import NotCovered
from spaces import Global

NAME = r"s_(scratch_|buffer_)?(load|store|atomic)_(\w+)"
DWORDS = {"dword": 1, "dwordx2": 2, "dwordx4": 4, "dwordx8": 8, "dwordx16": 16}
CLOCK = itertools.count(1000)


def known(name):
    match = re.fullmatch(NAME, name)
    return name in ("s_memtime", "s_memrealtime") or bool(match) and bool(match[3] in DWORDS or atomics.named(match[3]))


class Place:
    def __init__(self, machine, instruction, kind):
        self.kind = kind
        base, *offsets = instruction.operands[1:]
        self.base = machine.scalar(base.index, 2)
        immediate = number(instruction.modifiers.get("offset", "0"))
        register = 0
        for o in offsets:
            if o.kind == "s":
                register += machine.scalar(o.index)
            else:
                immediate += 4 * o.value if machine.generation <= 7 else o.value
        self.immediate, self.register = immediate, register
        self.records = 0
        if kind == "buffer_":
            stride = self.base >> 48 & 0x3FFF
            self.records = machine.scalar(base.index + 2) * (stride or 1)
            self.base &= (1 << 48) - 1

    def address(self, dword, size=4):
        """Of a dword, or None: out of range of a buffer."""
        if self.kind == "scratch_":
            return (self.base & ~3) + (self.immediate & ~3) + 64 * (self.register & ~3) + 4 * dword
        if self.kind != "buffer_":
            return (self.base + self.immediate + self.register & ~3) + 4 * dword
        offset = self.immediate + self.register
        if offset < 0:
            return None
        offset = (offset & ~3) + 4 * dword
        return (self.base & ~3) + offset if offset + size <= self.records else None


def execute(machine, instruction):
    destination = instruction.operands[0]
    if instruction.name in ("s_memtime", "s_memrealtime"):
        machine.set_scalar(destination.index, next(CLOCK), 2)
        return
    kind, what, suffix = re.fullmatch(NAME, instruction.name).groups()
    if any(o.kind not in ("s", "integer") for o in instruction.operands):
        raise NotCovered("operand of scalar memory")
    place, memory = Place(machine, instruction, kind), Global(machine)
    if what == "atomic":
        operation, bits = atomics.named(suffix)
        dwords = bits // 32
        count = 2 if operation == "cmpswap" else 1
        data = [machine.scalar(destination.index + dwords * i, dwords) for i in range(count)]
        at = place.address(0, bits // 8)
        old = 0 if at is None else atomics.apply(machine, memory, 0, at, operation, bits, data)
        if "glc" in instruction.modifiers:
            machine.set_scalar(destination.index, old, dwords)
        return
    count = DWORDS[suffix]
    places = [place.address(i) for i in range(count)]
    if what == "load":
        value = sum((0 if at is None else memory.load(at, 4)) << 32 * i for i, at in enumerate(places))
        machine.set_scalar(destination.index, value, count)
    else:
        for i, at in enumerate(places):
            if at is not None:
                memory.store(at, 4, machine.scalar(destination.index + i))
