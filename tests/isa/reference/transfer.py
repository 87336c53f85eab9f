"""Registers of loads and stores: how many, which part of them, and what becomes of the rest."""
import re
from dataclasses import dataclass

from machine import MASK32
from vector import signed


@dataclass
class Kind:
    dwords: int  # registers
    size: int  # bytes that are checked together
    signed: bool = False
    half: str = ""  # lo, hi: 16 bits of a register


NAMES = {"ubyte": Kind(1, 1), "sbyte": Kind(1, 1, True), "byte": Kind(1, 1), "ushort": Kind(1, 2), "sshort": Kind(1, 2, True),
         "short": Kind(1, 2), "dword": Kind(1, 4), "dwordx2": Kind(2, 4), "dwordx3": Kind(3, 4), "dwordx4": Kind(4, 4)}


def kind_of(name):
    """Of the part of a mnemonic such as "sbyte_d16_hi", or None."""
    match = re.fullmatch(r"([a-z]+(?:x\d)?)(_d16)?(_hi)?", name)
    if not match or match[1] not in NAMES:
        return None
    base = NAMES[match[1]]
    return Kind(base.dwords, base.size, base.signed, ("hi" if match[3] else "lo") if match[2] else "")


def keeps_half(machine):
    """Whether a load of 16 bits leaves the other half of its register: memory with ECC (of code
    objects for any setting, as the cases are, that of gfx906 and gfx908, too) is written in whole words."""
    return machine.generation <= 8 or machine.target == "gfx900"


def put(machine, register, lane, kind, value):
    """Writes a loaded byte, short or dword."""
    if kind.signed:
        value = signed(value, 8 * kind.size) & MASK32
    row = machine.row(register)
    if not kind.half:
        row[lane] = value
        return
    rest = row[lane] if keeps_half(machine) else 0
    value &= 0xFFFF
    row[lane] = rest & 0xFFFF | value << 16 if kind.half == "hi" else rest & 0xFFFF0000 | value


def stored(machine, register, lane, kind):
    value = machine.row(register)[lane]
    if kind.half == "hi":
        value >>= 16
    return value & ((1 << 8 * kind.size) - 1)
