"""Memories as a lane sees them: LDS, GDS, global memory, scratch. docs/isa-decisions.md, "Memory"."""
from machine import GDS_AT, GLOBAL, LDS_BYTES, MASK32, MEMORY_BYTES, SCRATCH_AT, SCRATCH_BYTES, NotCovered

SHARED_APERTURE, PRIVATE_APERTURE = 0x00010000, 0x00020000


class Lds:
    """Out of range reads 0 and writes nothing, an access as a whole."""

    floats_by_mode = True

    def __init__(self, machine, limit=LDS_BYTES):
        self.memory, self.limit = machine.lds, limit

    def place(self, address, size, lane):
        address &= MASK32
        return [address + i for i in range(size)] if address + size <= self.limit else None

    def load(self, address, size, lane=0):
        """The little-endian number of `size` bytes, or None: out of range."""
        at = self.place(address, size, lane)
        return None if at is None else sum(self.memory[a] << 8 * i for i, a in enumerate(at))

    def store(self, address, size, value, lane=0):
        at = self.place(address, size, lane)
        for i, a in enumerate(at or []):
            self.memory[a] = value >> 8 * i & 0xFF
        return at is not None


class Gds(Lds):
    """M0[31:16] is the base, M0[15:0] the size; floating point is that of global memory."""

    floats_by_mode = False

    def __init__(self, machine):
        self.memory, self.base, self.limit = machine.memory, GDS_AT + (machine.m0 >> 16), machine.m0 & 0xFFFF

    def place(self, address, size, lane):
        address &= MASK32
        return [self.base + address + i for i in range(size)] if address + size <= self.limit else None


class Global(Lds):
    floats_by_mode = False

    def __init__(self, machine):
        self.memory = machine.memory

    def place(self, address, size, lane):
        at = address - GLOBAL
        if not 0 <= at <= MEMORY_BYTES - size:
            raise NotCovered("fault")
        return [at + i for i in range(size)]


class Scratch(Global):
    """Each lane's dwords lie beside those of the other lanes."""

    def place(self, address, size, lane):
        if not 0 <= address <= SCRATCH_BYTES - size:
            raise NotCovered("fault")
        return [SCRATCH_AT + (b // 4) * 256 + lane * 4 + b % 4 for b in range(address, address + size)]


def flat(machine, address):
    """The memory that a FLAT address names, and the address there."""
    address &= (1 << 64) - 1
    if address >> 32 == SHARED_APERTURE:
        return Lds(machine), address & MASK32
    if address >> 32 == PRIVATE_APERTURE:
        return Scratch(machine), address & MASK32
    return Global(machine), address
