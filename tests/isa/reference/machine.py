"""The state of a wave, and what instructions read of it: registers, memory, MODE."""
import real

LANES = 64
ALL = (1 << LANES) - 1
MASK32 = 0xFFFFFFFF
GLOBAL = 0x7E1234500000  # where the page of global memory lies; any address that no aperture has
MEMORY_BYTES, LDS_BYTES = 65536, 4096
GDS_AT, SCRATCH_AT, SCRATCH_BYTES = 32768, 16384, 256
VCC, M0, EXEC = 106, 124, 126
GFX9 = ["gfx900", "gfx906", "gfx908", "gfx90a", "gfx942"]


class NotCovered(Exception):
    """The documents leave it open, or nothing here knows it."""


class Machine:
    def __init__(self, target):
        self._target = target
        self.asked_target = False
        self.sgpr = [0] * 128
        self.vgpr, self.agpr = {}, {}
        self.scc, self.mode, self.trapsts = 0, 0x3C0, 0
        self.vccz = True
        # (register, lane) whose bits documents leave open: "nan", "*", ("f32", Range) or ("bits", those that are open)
        self.free = {}
        self.pairs = set()  # registers that begin 64-bit results
        self.lds, self.memory = bytearray(LDS_BYTES), bytearray(MEMORY_BYTES)

    @property
    def target(self):
        self.asked_target = True  # the case is then evaluated for each of its targets
        return self._target

    @property
    def generation(self):
        return {"gfx600": 6, "gfx700": 7, "gfx803": 8}.get(self.target, 9)

    def copy(self):
        other = Machine(self._target)
        other.sgpr = list(self.sgpr)
        other.vgpr = {i: list(r) for i, r in self.vgpr.items()}
        other.agpr = {i: list(r) for i, r in self.agpr.items()}
        other.scc, other.mode, other.vccz, other.trapsts = self.scc, self.mode, self.vccz, self.trapsts
        other.lds, other.memory = bytearray(self.lds), bytearray(self.memory)
        return other

    def differences(self, after):
        """Places (as cases name them) whose contents differ."""
        result = [("s", i) for i in range(128) if self.sgpr[i] != after.sgpr[i]]
        result += [(n, 0) for n in ("scc", "mode") if getattr(self, n) != getattr(after, n)]
        for where, rows, others in (("v", self.vgpr, after.vgpr), ("a", self.agpr, after.agpr)):
            zeros = [0] * LANES
            result += [(where, i) for i in sorted(rows.keys() | others.keys()) if rows.get(i, zeros) != others.get(i, zeros)]
        for where, a, b in (("lds", self.lds, after.lds), ("mem", self.memory, after.memory)):
            if a != b:
                result += [(where, i) for i in range(0, len(a), 4) if a[i : i + 4] != b[i : i + 4]]
        return result

    # ---- Registers ----

    def row(self, index, where="v"):
        rows = self.vgpr if where == "v" else self.agpr
        if index not in rows:
            rows[index] = [0] * LANES
        return rows[index]

    def lane(self, where, index, dwords, lane):
        return sum(self.row(index + i, where)[lane] << 32 * i for i in range(dwords))

    def note(self, index, lane, freedom, is_pair=False):
        """What is free of a result, for the text of expected sections."""
        if freedom:
            self.free[index, lane] = freedom
        else:
            self.free.pop((index, lane), None)
        (self.pairs.add if is_pair else self.pairs.discard)(index)

    def scalar(self, index, dwords=1):
        return sum((0 if index + i == 125 else self.sgpr[index + i]) << 32 * i for i in range(dwords))

    def set_scalar(self, index, value, dwords=1):
        for i in range(dwords):
            if index + i != 125:
                self.sgpr[index + i] = value >> 32 * i & MASK32
        if index <= VCC < index + dwords and dwords >= 2:
            self.vccz = self.vcc == 0

    @property
    def exec(self):
        return self.scalar(EXEC, 2)

    @exec.setter
    def exec(self, value):
        self.set_scalar(EXEC, value & ALL, 2)

    @property
    def vcc(self):
        return self.scalar(VCC, 2)

    @property
    def m0(self):
        return self.sgpr[M0]

    def active(self):
        mask = self.exec
        return [lane for lane in range(LANES) if mask >> lane & 1]

    # ---- MODE ----

    def rounding(self, kind):
        return self.mode & 3 if kind is real.F32 else self.mode >> 2 & 3

    def keeps_inputs(self, kind):
        return bool(self.mode >> (4 if kind is real.F32 else 6) & 1)

    def keeps_results(self, kind):
        return bool(self.mode >> (5 if kind is real.F32 else 7) & 1)

    @property
    def dx10_clamp(self):
        return bool(self.mode >> 8 & 1)

    @property
    def ieee(self):
        return bool(self.mode >> 9 & 1)

    @property
    def fp16_ovfl(self):
        return bool(self.mode >> 23 & 1) and self.generation >= 9
