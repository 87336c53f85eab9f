"""Random kernels in assembly: what sequences of instructions leave out. Scratch in every form, spilled scalar registers, buffers at the
edges of their ranges, images, atomics, calls by address, divergent loops around all of these, waves that wait for each other at
barriers and by spinning, work-groups with partial waves.

Registers: v[0:15] and s[20:35] are data, v[16:31] and s[36:37] temporary; v[48:111] are of tiles.py. v32: the work-item; v[34:35]: the address of the work-item's
64 bytes of data; v36: 16 times the work-item; v37: lanes hold spilled scalar registers. Of control flow: s[40:63], eight a level;
s[72:77], of functions; s[64:65], where they return to; s[68:69], what is called. s[66:67]: EXEC of spills. s70, s71, s78, s79: how often
the wave has had its turn in each chain. s[80:81] data, s[82:83] out, s84 the work-group, s85 the wave, s87 an argument, s[88:91] and
s[92:95] descriptors of buffers, s[96:97] accumulators, s[98:99] tokens. s[4:19] are of images.py."""

import copy
import dataclasses
import random

from features import CONSTANTS, Features
from float_atomics import LDS_CELLS, FloatAtomics
from images import Images
from target import Target
from tiles import TILE_VGPRS, Tiles

LEVELS, CALL_LEVEL = 3, 4  # levels of control flow in a kernel; the first of functions, which have one
SCRATCH_WORDS = 24  # of a lane, which programs access; the last eight spill scalar registers
LDS_ITEM = 16  # bytes of LDS of a work-item
# Chains of waves, in LDS and in memory: each has a token, which counts turns, and a value. With the registers that count turns.
GROUP_CHAINS, GRID_CHAINS = ("s70", "s71"), ("s78", "s79")
LDS_BASE = 32  # of what work-items have, behind the chains
CELLS = 16  # accumulators, half of them floats; three doubles follow
ROWS = 16 + 16 + SCRATCH_WORDS + 5  # words that a work-item leaves in out, behind the buffers

VOP2 = ("v_and_b32", "v_or_b32", "v_xor_b32", "v_lshlrev_b32", "v_lshrrev_b32", "v_ashrrev_i32", "v_max_u32", "v_min_i32", "v_mul_u32_u24", "v_mul_hi_u32_u24")
VOP3 = ("v_bfe_u32", "v_bfi_b32", "v_alignbit_b32", "v_mad_u32_u24", "v_perm_b32", "v_bfe_i32", "v_sad_u8", "v_max3_u32", "v_med3_i32")
SOP2 = ("s_add_u32", "s_sub_u32", "s_and_b32", "s_or_b32", "s_xor_b32", "s_lshl_b32", "s_lshr_b32", "s_mul_i32", "s_min_u32", "s_max_i32", "s_andn2_b32")
COMPARES = ("v_cmp_lt_u32", "v_cmp_gt_i32", "v_cmp_ne_u32", "v_cmp_le_u32")
SIZES = (("dword", 1), ("dwordx2", 2), ("dwordx3", 3), ("dwordx4", 4))
ATOMICS = ("add", "umin", "and", "or", "xor", "umax", "smin")


def span(first: int, count: int) -> str:
    return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"


@dataclasses.dataclass(frozen=True)
class Line:
    text: str
    piece: int | None = None  # which statement it is part of; None: what must stay


class Program(Features, FloatAtomics, Images, Tiles):
    """One kernel. `size` and `groups` say how it is launched; `pieces` are the numbers of the statements that it has."""

    def __init__(self, rng: random.Random, target: Target, name: str) -> None:
        self.rng, self.target, self.name = rng, target, name
        self.size = rng.choice((1, 17, 64, 64, 65, 100, 128, 128, 192, 250, 256, 256, 500, 1024))
        self.waves = (self.size + 63) // 64
        self.groups = rng.randint(1, max(1, min(6, 40 // self.waves)))
        # Work-items of a work-group and work-groups, by dimension.
        self.local, self.grid = [self.size, 1, 1], [self.groups, 1, 1]
        if rng.randrange(3) == 0:
            self.local, self.grid = self.spread(self.size), self.spread(self.groups)
        # Work-items that the last work-group lacks, as many as its last wave can do without.
        self.missing = rng.randint(0, (self.size - 1) % 64) if rng.randrange(3) == 0 and not self.spatial else 0
        self.labels = 0
        self.functions: list[list[Line]] = []
        self.lines: list[Line] = []
        self.piece: int | None = None
        self.pieces: list[int] = []
        self.budget = rng.randint(25, 90)  # nodes
        self.modes = rng.randrange(4) == 0  # changes rounding, and looks at exceptions
        self.rich = rng.randrange(2) == 0  # has statements of features.py
        self.tiles = rng.randrange(4) == 0  # has inner loops of matrix products
        self.has_images = target.images and rng.randrange(4) == 0  # has statements of images.py
        self.has_float_atomics = rng.randrange(4) == 0  # has statements of float_atomics.py
        self.descriptors: list[list[int]] = []
        self.own_lds, self.cells_base = LDS_BASE, LDS_BASE + LDS_ITEM * 64 * self.waves
        self.double_cells = 4 * CELLS
        self.tile_base = self.cells_base + LDS_CELLS
        self.lds_bytes = self.tile_base + (16 * 64 * self.waves if self.tiles else 0)
        self.vgprs = TILE_VGPRS if self.tiles else 48
        self.constants_label, self.descriptors_label = f".L{name}_constants", f".L{name}_descriptors"
        self.all_lines = self._make()

    @property
    def spatial(self) -> bool:
        """Whether work-items and work-groups have three numbers."""
        return self.local[1:] != [1, 1] or self.grid[1:] != [1, 1]

    def spread(self, count: int) -> list[int]:
        """Three factors of the number."""
        y = self.rng.choice([d for d in range(1, count + 1) if count % d == 0])
        z = self.rng.choice([d for d in range(1, count // y + 1) if count // y % d == 0])
        return [count // y // z, y, z]

    # Emitting.

    def out(self, *lines: str) -> None:
        self.lines.extend(Line(f"  {line}", self.piece) for line in lines)

    def label(self) -> str:
        self.labels += 1
        return f".L{self.name}_{self.labels}"

    def place(self, label: str) -> None:
        self.lines.append(Line(f"{label}:", self.piece))

    # Operands.

    def v(self) -> str:
        return f"v{self.rng.randrange(16)}"

    def s(self) -> str:
        return f"s{self.rng.randrange(20, 36)}"

    def any_source(self) -> str:
        return self.rng.choice((self.v(), self.v(), self.v(), self.s(), str(self.rng.randint(-16, 64)), "v32"))

    def chance(self, one_in: int) -> bool:
        return self.rng.randrange(one_in) == 0

    # Statements without control flow.

    def vector_op(self) -> None:
        rng = self.rng
        kind = rng.randrange(12)
        if kind < 4:
            self.out(f"{rng.choice(VOP2)} {self.v()}, {self.any_source()}, {self.v()}")
        elif kind < 6:
            self.out(f"{rng.choice(VOP3)} {self.v()}, {self.v()}, {self.any_source()}, {self.v()}")
        elif kind == 6:
            self.out(f"addu {self.v()}, {self.any_source()}, {self.v()}")
        elif kind == 7:
            self.out(f"{rng.choice(COMPARES)} vcc, {self.any_source()}, {self.v()}", f"v_cndmask_b32 {self.v()}, {self.v()}, {self.v()}, vcc")
        elif kind == 8:
            self.out(f"v_mov_b32 {self.v()}, {self.any_source()}", f"v_mul_lo_u32 {self.v()}, {self.v()}, {self.v()}")
        elif kind == 9:  # floats that are small integers, so that all is exact
            self.out(f"v_cvt_f32_ubyte0 v16, {self.v()}", f"v_cvt_f32_ubyte1 v17, {self.v()}", f"v_{rng.choice(('add', 'mul', 'max', 'sub'))}_f32 v16, v16, v17",
                     f"v_cvt_i32_f32 {self.v()}, v16")  # fmt: skip
        elif kind == 10:
            pair = 2 * rng.randrange(8)
            self.out(f"v_{rng.choice(('lshrrev_b64', 'ashrrev_i64'))} v[{pair}:{pair + 1}], {self.v()}, v[{pair}:{pair + 1}]")
        else:
            self.cross_lane()

    def cross_lane(self) -> None:
        rng = self.rng
        kind = rng.randrange(5)
        if kind == 0:
            self.out(f"v_readfirstlane_b32 {self.s()}, {self.v()}")
        elif kind == 1:
            self.out(f"v_readlane_b32 {self.s()}, {self.v()}, {rng.randrange(64)}")
        elif kind == 2:
            self.out(f"v_mov_b32_dpp {self.v()}, {self.v()} quad_perm:[{','.join(str(rng.randrange(4)) for _ in range(4))}] row_mask:0xf bank_mask:0xf")
        elif kind == 3:
            self.out(f"v_lshlrev_b32 v16, 2, {self.v()}", f"ds_bpermute_b32 {self.v()}, v16, {self.v()}", "s_waitcnt lgkmcnt(0)")
        else:
            self.out(f"ds_swizzle_b32 {self.v()}, {self.v()} offset:{rng.choice((0x801f, 0x80b1, 0x041f, 0x101f))}", "s_waitcnt lgkmcnt(0)")

    def scalar_op(self) -> None:
        rng = self.rng
        kind = rng.randrange(8)
        if kind < 5:
            self.out(f"{rng.choice(SOP2)} {self.s()}, {self.s()}, {rng.choice((self.s(), str(rng.randint(-16, 64)), 's87', 's85', 's84'))}")
        elif kind == 5:
            self.out(f"s_cmp_lt_u32 {self.s()}, {self.s()}", f"s_cselect_b32 {self.s()}, {self.s()}, {self.s()}")
        elif kind == 6:
            pair = rng.randrange(20, 36, 2)
            self.out(f"s_bfe_u64 s[{pair}:{pair + 1}], s[{pair}:{pair + 1}], {self.s()}")
        else:
            self.out(f"s_bcnt1_i32_b32 {self.s()}, {self.s()}", f"s_brev_b32 {self.s()}, {self.s()}")

    def scratch(self) -> None:
        """A load or store of the lane's own scratch, by one of the forms that the target has."""
        rng, t = self.rng, self.target
        forms = []
        if not t.architected_scratch:
            forms += ["offset", "offen"]
        if not t.gfx8:
            forms += ["scratch_address", "scratch_offset", "flat"]
        form = rng.choice(forms)
        store = self.chance(2)
        size, words = rng.choice(SIZES)
        byte = self.chance(4)
        if byte:
            size, words = rng.choice((("byte", 1), ("short", 1))) if store else rng.choice((("ubyte", 1), ("sbyte", 1), ("ushort", 1), ("sshort", 1)))
        first = 2 * rng.randrange(8 - words // 2) if words > 1 else rng.randrange(16)
        register = span(first, words)
        last = SCRATCH_WORDS - 8 - words  # the last word at which the access may begin
        word = rng.randint(0, last)
        # An index of the lane's own: below a power of two, then the rest as an offset.
        bits = rng.choice((1, 3, 7))
        bits = bits if bits <= last else 1
        base = rng.randint(0, last - bits)
        if form in ("offen", "scratch_address", "flat"):
            self.out(f"v_and_b32 v16, {bits}, {self.v()}", "v_lshlrev_b32 v16, 2, v16")
        what = "store" if store else "load"
        if form == "offset":
            self.out(f"buffer_{what}_{size} {register}, off, s[0:3], 0 offset:{4 * word}")
        elif form == "offen":
            self.out(f"buffer_{what}_{size} {register}, v16, s[0:3], 0 offen offset:{4 * base}")
        elif form == "scratch_address":
            self.out(f"scratch_{what}_{size} " + (f"v16, {register}, off offset:{4 * base}" if store else f"{register}, v16, off offset:{4 * base}"))
        elif form == "scratch_offset":
            self.out(f"s_mov_b32 s36, {4 * word}", f"scratch_{what}_{size} " + (f"off, {register}, s36" if store else f"{register}, off, s36"))
        else:
            self.out("s_mov_b64 s[36:37], src_private_base", f"v_add_u32 v18, {4 * base}, v16", "v_mov_b32 v19, s37",
                     f"flat_{what}_{size} " + (f"v[18:19], {register}" if store else f"{register}, v[18:19]"))  # fmt: skip
        if not store:
            self.out("s_waitcnt 0")

    def spill(self) -> None:
        """Scalar registers through lanes of a VGPR, which itself goes through scratch."""
        rng = self.rng
        slot, lane = 4 * rng.randrange(SCRATCH_WORDS - 8, SCRATCH_WORDS), rng.randrange(64)
        form = "scratch" if self.target.architected_scratch or (not self.target.gfx8 and self.chance(2)) else "buffer"
        source, into = self.s(), self.s()

        def access(what: str) -> str:
            if form == "buffer":
                return f"buffer_{what}_dword v37, off, s[0:3], 0 offset:{slot}"
            return f"scratch_{what}_dword " + ("off, v37, s36" if what == "store" else "v37, off, s36")

        self.out(f"s_mov_b32 s36, {slot}", f"v_writelane_b32 v37, {source}, {lane}", "s_or_saveexec_b64 s[66:67], -1", access("store"), "v_mov_b32 v37, 0", access("load"),
                 "s_waitcnt 0", "s_mov_b64 exec, s[66:67]", f"v_readlane_b32 {into}, v37, {lane}")  # fmt: skip

    def own_memory(self) -> None:
        rng = self.rng
        size, words = rng.choice(SIZES)
        first = 2 * rng.randrange(8 - words // 2) if words > 1 else rng.randrange(16)
        offset = 4 * rng.randint(0, 16 - words)
        if self.chance(2):
            self.out(f"gload {size}, {span(first, words)}, 34, {offset}")
        else:
            self.out(f"gstore {size}, 34, {span(first, words)}, {offset}")

    def buffer(self) -> None:
        """Accesses at the edge of a buffer of 16 bytes for each work-item of the work-group, most of them."""
        rng = self.rng
        descriptor = rng.choice(("s[88:91]", "s[92:95]"))
        structured = descriptor == "s[92:95]"
        store = self.chance(2)
        size, words = rng.choice(SIZES) if not self.chance(4) else (("byte", 1) if store else ("ubyte", 1))
        first = 2 * rng.randrange(8 - words // 2) if words > 1 else rng.randrange(16)
        register = span(first, words)
        # What work-items access lies in their own 16 bytes.
        offset = rng.choice([o for o in (0, 4, 8, 12) if o + 4 * words <= 16])
        what = "store" if store else "load"
        if structured:
            self.out(f"buffer_{what}_{size} {register}, v32, {descriptor}, 0 idxen offset:{offset}")
        else:
            if self.chance(4):  # Tensile's way to switch lanes off; GFX940 adds an immediate modulo 2^32
                self.out(f"{rng.choice(COMPARES)} vcc, {self.any_source()}, {self.v()}", "v_cndmask_b32 v16, v36, -1, vcc")
                self.out(f"buffer_{what}_{size} {register}, v16, {descriptor}, 0 offen")
            else:
                self.out(f"buffer_{what}_{size} {register}, v36, {descriptor}, 0 offen offset:{offset}")
        if not store:
            self.out("s_waitcnt vmcnt(0)")

    def lds(self) -> None:
        rng = self.rng
        base = "v36"
        offset = LDS_BASE
        kind = rng.randrange(6)
        if kind == 0:
            self.out(f"ds_write_b32 {base}, {self.v()} offset:{offset + 4 * rng.randrange(4)}")
        elif kind == 1:
            self.out(f"ds_read_b32 {self.v()}, {base} offset:{offset + 4 * rng.randrange(4)}")
        elif kind == 2:
            pair, first = 2 * rng.randrange(8), offset // 4 + rng.randrange(3)
            if self.chance(2):
                self.out(f"ds_read2_b32 v[{pair}:{pair + 1}], {base} offset0:{first} offset1:{first + 1}")
            else:
                self.out(f"ds_write2_b32 {base}, {self.v()}, {self.v()} offset0:{first} offset1:{first + 1}")
        elif kind == 3:
            pair = 2 * rng.randrange(8)
            self.out(f"ds_write_b64 {base}, v[{pair}:{pair + 1}] offset:{offset}")
        elif kind == 4:
            op = rng.choice(("add_rtn_u32", "sub_rtn_u32", "xor_rtn_b32", "max_rtn_i32", "wrxchg_rtn_b32"))
            self.out(f"ds_{op} {self.v()}, {base}, {self.v()} offset:{offset + 4 * rng.randrange(4)}")
        else:
            self.out(f"ds_read_u8 {self.v()}, {base} offset:{offset + rng.randrange(16)}", f"ds_write_b8 {base}, {self.v()} offset:{offset + rng.randrange(16)}")
        self.out("s_waitcnt lgkmcnt(0)")

    def shared_atomic(self) -> None:
        """On cells that all waves share: only operations whose order does not matter, without their results."""
        rng = self.rng
        cell = rng.randrange(CELLS // 2)
        float_cell = CELLS // 2 + rng.randrange(CELLS // 2)
        op = ATOMICS[cell % len(ATOMICS)]  # each cell has one operation
        if self.target.float_atomics and self.chance(2):
            self.out(f"v_mov_b32 v16, {4 * float_cell}", "address 24, s96, s97, v16", f"v_cvt_f32_ubyte0 v16, {self.v()}", "global_atomic_add_f32 v[24:25], v16, off")
        else:
            self.out(f"v_mov_b32 v16, {4 * cell}", "address 24, s96, s97, v16", f"gatomic {op}, 24, {self.v()}")

    def own_atomic(self) -> None:
        rng = self.rng
        self.out(f"v_mov_b32 v16, {4 * rng.randrange(16)}", "own_address 24, v16")
        op = rng.choice((*ATOMICS, "sub", "swap"))
        if self.chance(2):
            self.out(f"gatomic_rtn {op}, {self.v()}, 24, {self.v()}")
        else:
            self.out(f"gatomic {op}, 24, {self.v()}", "s_waitcnt 0")

    def float_op(self) -> None:
        """Inexact, without a NaN: the bits of the result are data."""
        rng = self.rng
        self.out(f"v_cvt_f32_u32 v16, {self.v()}", f"v_cvt_f32_i32 v17, {self.v()}", f"v_mul_f32 v16, 0x{0x3d000000 + rng.getrandbits(24):x}, v16",
                 f"v_{rng.choice(('add', 'sub', 'mul', 'max'))}_f32 v16, v16, v17", f"v_mov_b32 {self.v()}, v16")  # fmt: skip

    def mode(self) -> None:
        rng = self.rng
        kind = rng.randrange(4)
        if kind == 0:
            self.out(f"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), {rng.randrange(16)}")
        elif kind == 1:
            self.out(f"s_getreg_b32 {self.s()}, hwreg(HW_REG_TRAPSTS, 0, 7)")
        elif kind == 2:
            self.out(f"s_getreg_b32 {self.s()}, hwreg(HW_REG_MODE, 0, 8)")
        else:
            self.out("s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 0, 7), 0")

    # Control flow.

    def saved(self, level: int) -> int:
        return 40 + 8 * level

    def compare(self) -> None:
        self.out(f"{self.rng.choice(COMPARES)} vcc, {self.any_source()}, {self.v()}")

    def if_else(self, level: int) -> None:
        s = self.saved(level)
        self.compare()
        self.out(f"s_and_saveexec_b64 s[{s}:{s + 1}], vcc")
        if self.chance(2):
            end = self.label()
            self.out(f"s_cbranch_execz {end}")
            self.body(level + 1, uniform=False)
            self.place(end)
        else:
            end, other = self.label(), self.label()
            self.out(f"s_xor_b64 s[{s}:{s + 1}], exec, s[{s}:{s + 1}]", f"s_cbranch_execz {other}")
            self.body(level + 1, uniform=False)
            self.place(other)
            self.out(f"s_or_saveexec_b64 s[{s}:{s + 1}], s[{s}:{s + 1}]", f"s_xor_b64 exec, exec, s[{s}:{s + 1}]", f"s_cbranch_execz {end}")
            self.body(level + 1, uniform=False)
            self.place(end)
        self.out(f"s_or_b64 exec, exec, s[{s}:{s + 1}]")

    def if_scalar(self, level: int) -> None:
        end = self.label()
        self.out(f"s_cmp_{self.rng.choice(('lt_u32', 'gt_i32', 'lg_u32'))} {self.s()}, {self.s()}", f"s_cbranch_scc1 {end}")
        self.body(level + 1, uniform=False)
        self.place(end)

    def loop_count(self, level: int, uniform: bool) -> None:
        s, top = self.saved(level), self.label()
        self.out(f"s_movk_i32 s{s + 4}, {self.rng.randint(1, 5)}")
        self.place(top)
        self.body(level + 1, uniform)
        self.out(f"s_sub_u32 s{s + 4}, s{s + 4}, 1", f"s_cmp_lg_u32 s{s + 4}, 0", f"s_cbranch_scc1 {top}")

    def loop_lanes(self, level: int) -> None:
        """Lanes leave one after the other, with a break and a continue in it now and then."""
        s, top, end = self.saved(level), self.label(), self.label()
        self.out(f"s_mov_b64 s[{s}:{s + 1}], exec", f"s_movk_i32 s{s + 4}, {self.rng.randint(1, 6)}")
        self.place(top)
        if self.chance(2):  # continue: these lanes do without the rest
            self.compare()
            self.out(f"s_mov_b64 s[{s + 2}:{s + 3}], exec", "s_and_b64 exec, exec, vcc")
            skip = self.label()
            self.out(f"s_cbranch_execz {skip}")
            self.body(level + 1, uniform=False)
            self.place(skip)
            self.out(f"s_mov_b64 exec, s[{s + 2}:{s + 3}]")
        else:
            self.body(level + 1, uniform=False)
        self.compare()
        self.out("s_andn2_b64 exec, exec, vcc", f"s_cbranch_execz {end}", f"s_sub_u32 s{s + 4}, s{s + 4}, 1", f"s_cmp_lg_u32 s{s + 4}, 0", f"s_cbranch_scc1 {top}")
        self.place(end)
        self.out(f"s_mov_b64 exec, s[{s}:{s + 1}]")

    def function_label(self, number: int) -> str:
        return f".L{self.name}_f{number}"

    def call(self, level: int) -> None:
        function = self.new_function() if len(self.functions) < 3 else self.rng.randrange(len(self.functions))
        here = self.label()
        self.out("s_getpc_b64 s[68:69]")
        self.place(here)
        self.out(f"s_add_u32 s68, s68, {self.function_label(function)}-{here}", "s_addc_u32 s69, s69, 0", "s_swappc_b64 s[64:65], s[68:69]")

    def call_by_lane(self, level: int) -> None:
        """A function of each lane's own choice, one after the other."""
        while len(self.functions) < 2:
            self.new_function()
        s, top = self.saved(level), self.label()
        a, b = self.rng.sample(range(len(self.functions)), 2)
        here = self.label()
        self.compare()
        self.out(f"s_mov_b64 s[{s}:{s + 1}], exec", "s_getpc_b64 s[68:69]")
        self.place(here)
        self.out(f"s_mov_b32 s36, {self.function_label(a)}-{here}", f"s_mov_b32 s37, {self.function_label(b)}-{here}", "v_mov_b32 v20, s36", "v_mov_b32 v21, s37",
                 "v_cndmask_b32 v20, v20, v21, vcc", "address 20, s68, s69, v20")  # fmt: skip
        self.place(top)
        self.out("v_readfirstlane_b32 s68, v20", "v_readfirstlane_b32 s69, v21", "v_cmp_eq_u32 vcc, s68, v20", f"s_and_saveexec_b64 s[{s + 2}:{s + 3}], vcc",
                 "s_swappc_b64 s[64:65], s[68:69]", f"s_andn2_b64 exec, s[{s + 2}:{s + 3}], exec", f"s_cbranch_execnz {top}")  # fmt: skip
        self.out(f"s_mov_b64 exec, s[{s}:{s + 1}]")

    def new_function(self) -> int:
        number = len(self.functions)
        self.functions.append([])
        saved_lines, self.lines = self.lines, []
        self.place(self.function_label(number))
        for _ in range(self.rng.randint(1, 5)):
            self.node(CALL_LEVEL, uniform=False)
        self.out("s_setpc_b64 s[64:65]")
        self.functions[number], self.lines = self.lines, saved_lines
        return number

    def exchange(self) -> None:
        """Behind a barrier work-items read what another one has written."""
        at = LDS_BASE + 4 * self.rng.randrange(4)
        self.out(f"ds_write_b32 v36, {self.v()} offset:{at}", "s_waitcnt lgkmcnt(0)", "s_barrier", f"addu v16, {self.rng.choice((1, 3, 37, 64))}, v32",
                 f"v_cmp_gt_u32 vcc, {self.size}, v16", "v_cndmask_b32 v16, 0, v16, vcc", "v_lshlrev_b32 v16, 4, v16", f"ds_read_b32 {self.v()}, v16 offset:{at}",
                 "s_waitcnt lgkmcnt(0)", "s_barrier")  # fmt: skip

    def chain(self) -> None:
        """All waves of the work-group, or of the grid, one after the other in a drawn order: each changes the value when it has the token."""
        grid, cell = self.chance(2), self.rng.randrange(2)
        turns = (GRID_CHAINS if grid else GROUP_CHAINS)[cell]
        waves = self.waves * self.groups if grid else self.waves
        self.out(f"s_mul_i32 s36, s84, {self.waves}", "s_add_u32 s36, s36, s85") if grid else self.out("s_mov_b32 s36, s85")
        if self.chance(2):
            self.out(f"s_sub_u32 s36, {waves - 1}, s36")
        self.out(f"s_mul_i32 s37, {turns}, {waves}", "s_add_u32 s36, s36, s37", f"s_add_u32 {turns}, {turns}, 1")
        top = self.label()
        wait = ["v_readfirstlane_b32 s37, v17", "s_cmp_lg_u32 s37, s36", f"s_cbranch_scc1 {top}"]
        if self.chance(4):
            wait.insert(0, "s_sleep 1")
        if grid:
            self.out(f"v_mov_b32 v16, {8 * cell}", "address 24, s98, s99, v16", f"v_mov_b32 v16, {8 * cell + 4}", "address 26, s98, s99, v16")
            self.place(top)
            self.out("load_coherent v17, 24", *wait, "load_coherent v18, 26")
        else:
            self.out(f"v_mov_b32 v16, {8 * cell}")
            self.place(top)
            self.out("ds_read_b32 v17, v16", "s_waitcnt lgkmcnt(0)", *wait, "ds_read_b32 v18, v16 offset:4", "s_waitcnt lgkmcnt(0)")
        self.out("v_mul_u32_u24 v18, 5, v18", f"v_readfirstlane_b32 s37, {self.v()}", "addu v18, s37, v18", f"v_readfirstlane_b32 {self.s()}, v18", "s_add_u32 s36, s36, 1",
                 "v_mov_b32 v17, s36")  # fmt: skip
        # One lane passes the token on: others could write it again when the next wave has already done so.
        self.out("s_mov_b64 s[66:67], exec", "s_mov_b64 exec, 1")
        if grid:
            self.out("store_coherent 26, v18", "store_coherent 24, v17", "s_waitcnt 0")
        else:
            self.out("ds_write_b32 v16, v18 offset:4", "s_waitcnt lgkmcnt(0)", "ds_write_b32 v16, v17", "s_waitcnt lgkmcnt(0)")
        self.out("s_mov_b64 exec, s[66:67]")

    def body(self, level: int, uniform: bool) -> None:
        for _ in range(self.rng.randint(1, 4)):
            self.node(level, uniform)

    def node(self, level: int, uniform: bool) -> None:
        rng = self.rng
        self.budget -= 1
        nested = self.budget > 0 and (level < LEVELS or level == CALL_LEVEL)
        plain = [(self.vector_op, 10), (self.scalar_op, 4), (self.scratch, 5), (self.spill, 1), (self.own_memory, 3), (self.buffer, 4), (self.lds, 3), (self.shared_atomic, 1), (self.own_atomic, 2)]
        if self.modes:
            plain += [(self.float_op, 4), (self.mode, 2)]
        if self.rich:
            plain += self.features()
        if self.has_images:
            plain += self.image_statements()
        if self.has_float_atomics:
            plain += self.float_atomic_statements()
        if self.chance(4) and nested:
            kinds = [lambda: self.if_else(level), lambda: self.if_scalar(level), lambda: self.loop_count(level, uniform), lambda: self.loop_lanes(level)]
            if level < CALL_LEVEL:
                kinds += [lambda: self.call(level), lambda: self.call_by_lane(level)]
            rng.choice(kinds)()
        elif uniform and self.chance(5):
            kinds = [self.exchange, self.chain, self.chain, lambda: self.out("s_barrier")]
            if self.rich:
                kinds += [self.indexed_over_a_barrier, self.barrier_of_some_lanes]
            if self.tiles:
                kinds += [self.tile, self.tile]
            self.statement(rng.choice(kinds))
        else:
            self.statement(rng.choices([f for f, _ in plain], [w for _, w in plain])[0])

    def statement(self, write) -> None:
        self.piece = len(self.pieces)
        self.pieces.append(self.piece)
        write()
        self.piece = None

    def _make(self) -> list[Line]:
        rng = self.rng
        for _ in range(rng.randint(4, 12)):
            self.node(0, uniform=True)
        body = self.lines
        functions = []
        for lines in self.functions:
            functions += lines
        self.lines = []
        self._prologue()
        prologue = self.lines
        self.lines = []
        self._epilogue()
        constants = [Line(f"{self.constants_label}:"), Line("  .long " + ", ".join(f"0x{rng.getrandbits(rng.choice((3, 16, 32))):x}" for _ in range(CONSTANTS))),
                     Line(f"{self.descriptors_label}:"), Line(self.descriptor_lines())]  # fmt: skip
        return [Line(self._head()), *prologue, *body, *self.lines, *functions, *constants, Line(self._descriptor())]

    @property
    def text(self) -> str:
        left = {None, *self.pieces}
        return "\n".join(line.text for line in self.all_lines if line.piece in left)

    def without(self, first: int, last: int) -> "Program":
        """The program without some of the statements that it has, by their places among these."""
        smaller = copy.copy(self)
        smaller.pieces = self.pieces[:first] + self.pieces[last:]
        return smaller

    def _head(self) -> str:
        return f".text\n.globl {self.name}\n.p2align 8\n.type {self.name},@function\n{self.name}:"

    def _prologue(self) -> None:
        t, rng = self.target, self.rng
        kernarg, group = (0, 2) if t.architected_scratch else (4, 8)
        wave_offset = f"s{group + (3 if self.spatial else 1)}"
        if t.gfx8:
            self.out(f"s_add_u32 s6, s6, {wave_offset}", "s_lshr_b32 s6, s6, 8", "s_mov_b32 flat_scratch_hi, s6", "s_mov_b32 flat_scratch_lo, s7")
        elif not t.architected_scratch:
            self.out(f"s_add_u32 flat_scratch_lo, s6, {wave_offset}", "s_addc_u32 flat_scratch_hi, s7, 0")
        if not t.architected_scratch:
            self.out(f"s_add_u32 s0, s0, {wave_offset}", "s_addc_u32 s1, s1, 0")
        # All lanes have defined values, those of work-items that are not there, too.
        self.out("s_mov_b64 s[66:67], exec", "s_mov_b64 exec, -1", "s_mov_b32 m0, -1")
        self.numbers(group)
        for register, offset in ((80, 0), (82, 8), (96, 16), (98, 24), (18, 40)):
            self.out(f"s_load_dwordx2 s[{register}:{register + 1}], s[{kernarg}:{kernarg + 1}], 0x{offset:x}")
        self.out(f"s_load_dword s87, s[{kernarg}:{kernarg + 1}], 0x20", "s_waitcnt lgkmcnt(0)")
        if self.has_images:
            self.image_prologue()
        self.out("v_lshlrev_b32 v36, 4, v32", "v_mov_b32 v37, 0")
        self.out(f"s_mul_i32 s36, s84, {self.size}", "addu v16, s36, v32", "v_lshlrev_b32 v16, 6, v16", "address 34, s80, s81, v16")
        self.out(*(f"v_mov_b32 v{i}, 0" for i in range(16, 32)), *(f"s_mov_b32 {name}, 0" for name in GROUP_CHAINS + GRID_CHAINS))
        # Two buffers of 16 bytes for each work-item, in out: a raw one, a few bytes short, and one of structures, a few of which are missing.
        short = rng.choice((0, 4, 8, 12, 20, 13)) if self.size > 1 else 0
        self.out(f"s_mul_i32 s36, s84, {32 * self.size}", "s_add_u32 s88, s82, s36", "s_addc_u32 s89, s83, 0", f"s_mov_b32 s90, {16 * self.size - short}", "s_mov_b32 s91, 0x00027000",
                 f"s_add_u32 s92, s88, {16 * self.size}", "s_addc_u32 s93, s89, 0", "s_or_b32 s93, s93, 0x100000", f"s_mov_b32 s94, {max(1, self.size - rng.randrange(3))}",
                 "s_mov_b32 s95, 0x00027000")  # fmt: skip
        for i in range(16):
            self.out(f"v_mul_u32_u24 v{i}, {rng.randint(1, 64)}, v32" if i % 2 else f"v_mov_b32 v{i}, 0x{rng.getrandbits(32):x}")
            if self.chance(3):
                self.out(f"v_xor_b32 v{i}, s84, v{i}")
        for i in range(20, 36):
            self.out(f"s_mov_b32 s{i}, 0x{rng.getrandbits(rng.choice((4, 8, 32))):x}")
        for word in range(SCRATCH_WORDS):
            self.scratch_word("store", word, f"v{word % 16}")
        for word in range(4):
            self.out(f"v_mov_b32 v16, {8 * (word // 2) + 4 * (word % 2)}", "v_mov_b32 v17, 0", "ds_write_b32 v16, v17")
            self.out(f"ds_write_b32 v36, v{word} offset:{LDS_BASE + 4 * word}")
        if self.has_float_atomics:
            self.float_cells()
        self.out("s_mov_b64 exec, s[66:67]", "s_waitcnt lgkmcnt(0)", "s_barrier")

    def numbers(self, group: int) -> None:
        """s84, s85 and v32, which go on in the lanes behind the last work-item."""
        x, y, z = "v0", "v1", "v2"
        self.out(f"s_mov_b32 s84, s{group}")
        if self.spatial:
            self.out(f"s_mul_i32 s36, s{group + 2}, {self.grid[1]}", f"s_add_u32 s36, s36, s{group + 1}", f"s_mul_i32 s36, s36, {self.grid[0]}", "s_add_u32 s84, s84, s36")
        if self.target.unified:  # three numbers in one register
            self.out("v_and_b32 v16, 0x3ff, v0", "v_bfe_u32 v17, v0, 10, 10", "v_bfe_u32 v18, v0, 20, 10")
            x, y, z = "v16", "v17", "v18"
        self.out(f"v_mov_b32 v32, {x}")
        if self.spatial:
            self.out(f"v_mul_u32_u24 v20, {self.local[1]}, {z}", f"addu v20, v20, {y}", f"s_movk_i32 s36, {self.local[0]}", "v_mul_lo_u32 v20, v20, s36", "addu v32, v20, v32")
        self.out("s_mov_b64 exec, s[66:67]", "v_readfirstlane_b32 s85, v32", "s_mov_b64 exec, -1", "s_lshr_b32 s85, s85, 6", "s_lshl_b32 s36, s85, 6", "v_mov_b32 v20, s36",
                 "v_mbcnt_lo_u32_b32 v20, -1, v20", "v_mbcnt_hi_u32_b32 v20, -1, v20", "v_cndmask_b32 v32, v20, v32, s[66:67]")  # fmt: skip

    def scratch_word(self, what: str, word: int, register: str) -> None:
        if self.target.architected_scratch:
            self.out(f"s_movk_i32 s36, {4 * word}", f"scratch_{what}_dword " + (f"off, {register}, s36" if what == "store" else f"{register}, off, s36"))
        else:
            self.out(f"buffer_{what}_dword {register}, off, s[0:3], 0 offset:{4 * word}")

    def _epilogue(self) -> None:
        """The data, the scratch and the LDS of each work-item go to its part of out, behind the buffers."""
        self.out("s_waitcnt 0", f"s_mul_i32 s36, s84, {self.size}", "addu v16, s36, v32", f"s_movk_i32 s37, {4 * ROWS}", "v_mul_lo_u32 v16, v16, s37",
                 f"s_mov_b32 s37, {32 * self.size * self.groups}", "addu v16, s37, v16", "address 26, s82, s83, v16")  # fmt: skip
        row = 0

        def store(register: str) -> None:
            nonlocal row
            self.out(f"gstore dword, 26, {register}, {4 * row}")
            row += 1

        for i in range(16):
            store(f"v{i}")
        for i in range(16):
            self.out(f"v_mov_b32 v16, s{20 + i}")
            store("v16")
        for word in range(SCRATCH_WORDS):
            self.scratch_word("load", word, "v16")
            self.out("s_waitcnt vmcnt(0)")
            store("v16")
        for word in range(4):
            self.out(f"ds_read_b32 v16, v36 offset:{LDS_BASE + 4 * word}", "s_waitcnt lgkmcnt(0)")
            store("v16")
        if self.has_float_atomics:  # each cell of the LDS by some work-items
            first = self.cells_base + 4 * self.rng.randrange(LDS_CELLS // 4 - 15)
            self.out("s_barrier", "v_and_b32 v16, 15, v32", "v_lshlrev_b32 v16, 2, v16", f"ds_read_b32 v16, v16 offset:{first}", "s_waitcnt lgkmcnt(0)")
            store("v16")
        self.out("s_endpgm")

    def _descriptor(self) -> str:
        t = self.target
        options = {
            "group_segment_fixed_size": self.lds_bytes, "private_segment_fixed_size": 4 * SCRATCH_WORDS, "user_sgpr_kernarg_segment_ptr": 1,
            "system_sgpr_workgroup_id_x": 1, "system_sgpr_workgroup_id_y": int(self.spatial), "system_sgpr_workgroup_id_z": int(self.spatial),
            "system_vgpr_workitem_id": 2 if self.spatial else 0, "next_free_vgpr": self.vgprs, "next_free_sgpr": 100, "ieee_mode": 0, "dx10_clamp": 0,
        }  # fmt: skip
        if t.architected_scratch:
            options["enable_private_segment"] = 1
        else:
            options |= {"user_sgpr_private_segment_buffer": 1, "user_sgpr_flat_scratch_init": 1, "system_sgpr_private_segment_wavefront_offset": 1, "reserve_flat_scratch": 1}
        if t.unified:
            options["accum_offset"] = self.vgprs
        lines = [f".rodata\n.p2align 6\n.amdhsa_kernel {self.name}", *(f"  .amdhsa_{k} {v}" for k, v in options.items()), ".end_amdhsa_kernel"]
        return "\n".join(lines)

    def metadata(self) -> str:
        arguments = "".join(f"\n      - {{.size: 8, .offset: {8 * i}, .value_kind: global_buffer, .address_space: global, .name: a{i}}}" for i in range(4))
        return f"""  - .name: {self.name}
    .symbol: {self.name}.kd
    .kernarg_segment_size: 48
    .kernarg_segment_align: 8
    .group_segment_fixed_size: {self.lds_bytes}
    .private_segment_fixed_size: {4 * SCRATCH_WORDS}
    .wavefront_size: 64
    .sgpr_count: 100
    .vgpr_count: {self.vgprs}
    .max_flat_workgroup_size: 1024
    .args:{arguments}
      - {{.size: 4, .offset: 32, .value_kind: by_value, .name: count}}
      - {{.size: 8, .offset: 40, .value_kind: global_buffer, .address_space: global, .name: images}}"""

    def out_words(self) -> int:
        return self.size * self.groups * (8 + ROWS)


def module(programs: list[Program], target: Target) -> str:
    head = f'.amdgcn_target "amdgcn-amd-amdhsa--{target.name}"\n.amdhsa_code_object_version 4\n{target.macros()}\n'
    metadata = f".amdgpu_metadata\n---\namdhsa.version: [1, 1]\namdhsa.kernels:\n" + "\n".join(p.metadata() for p in programs) + "\n...\n.end_amdgpu_metadata\n"
    return head + "\n".join(p.text for p in programs) + "\n" + metadata
