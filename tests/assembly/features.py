"""Statements of programs (program.py) with what compilers and assembly writers use now and then: indexed registers, SDWA, DPP,
packed and dot products, matrices, constants in the code, VSKIP, doubles, branches on VCCZ, barriers of some lanes.

M0 is all ones between statements. Registers are those of program.py."""

SDWA_OPS = ("v_xor_b32", "v_or_b32", "v_and_b32", "v_lshlrev_b32", "v_min_u32", "v_mul_u32_u24", "v_max_u16", "v_lshlrev_b16")
SELECTIONS = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")
INDEXED_OPS = ("v_mov_b32", "v_xor_b32", "v_lshlrev_b32", "v_and_b32")
PACKED_OPS = ("v_pk_add_u16", "v_pk_sub_i16", "v_pk_mul_lo_u16", "v_pk_max_i16", "v_pk_min_u16", "v_pk_lshlrev_b16", "v_pk_ashrrev_i16")
CONSTANTS = 32  # dwords behind the code, which are loaded


class Features:
    """Mixin of Program: writes with its out(), draws with its rng."""

    def features(self) -> list:
        """What the target has, with weights."""
        t = self.target
        found = [(self.indexed, 3), (self.waterfall, 1), (self.sdwa, 3), (self.dpp, 3), (self.count_lanes, 1), (self.write_lane, 1), (self.constants, 3), (self.doubles, 1), (self.wide, 2), (self.branch_on_vcc, 1), (self.permute, 1), (self.skipped, 1)]
        if not t.gfx8:
            found.append((self.packed, 3))
        if t.name not in ("gfx803", "gfx900"):
            found.append((self.dot, 1))
        if t.matrices:
            found.append((self.matrix, 3))
        return found

    def index_into(self, index: str, lines: list[str]) -> None:
        """The lines, with the index added to some of their operands."""
        which = self.rng.choice(("SRC0", "SRC1", "DST", "SRC0,DST", "SRC0,SRC1", "SRC1,DST"))
        self.out(f"s_set_gpr_idx_on {index}, gpr_idx({which})", *lines, "s_set_gpr_idx_off", "s_mov_b32 m0, -1")

    def indexed_op(self) -> str:
        """Operands below v9: with an index below 8 they are data still."""
        rng = self.rng
        op = rng.choice(INDEXED_OPS)
        a, b, c = (f"v{rng.randrange(9)}" for _ in range(3))
        return f"{op} {a}, {b}" if op == "v_mov_b32" else f"{op} {a}, {b}, {c}"

    def indexed(self, uniform: bool = False) -> None:
        rng = self.rng
        lines = [self.indexed_op() for _ in range(rng.randint(1, 3))]
        if uniform and self.chance(2):
            lines.insert(rng.randrange(len(lines) + 1), "s_barrier")
        if self.chance(4):
            end = self.label()
            lines = [f"s_cmp_lt_u32 {self.s()}, {self.s()}", f"s_cbranch_scc1 {end}", *lines, f"{end}:"]
        if self.chance(4):
            lines.insert(rng.randrange(len(lines)), f"s_set_gpr_idx_idx {rng.randrange(8)}")
        self.out(f"s_and_b32 s36, {self.s()}, 7")
        self.index_into("s36", lines)

    def indexed_over_a_barrier(self) -> None:
        self.indexed(uniform=True)

    def waterfall(self) -> None:
        """Each lane indexes with a number of its own, one number after the other."""
        top = self.label()
        self.out(f"v_and_b32 v16, 7, {self.v()}", "s_mov_b64 s[66:67], exec", f"{top}:", "v_readfirstlane_b32 s36, v16", "v_cmp_eq_u32 vcc, s36, v16", "s_and_saveexec_b64 s[68:69], vcc")
        self.index_into("s36", [self.indexed_op()])
        self.out("s_xor_b64 exec, exec, s[68:69]", f"s_cbranch_execnz {top}", "s_mov_b64 exec, s[66:67]")

    def sdwa(self) -> None:
        rng = self.rng
        if self.chance(4):
            self.out(f"v_cmp_{rng.choice(('lt_u32', 'eq_u32', 'gt_i16'))}_sdwa vcc, {self.v()}, {self.v()} src0_sel:{rng.choice(SELECTIONS)} src1_sel:{rng.choice(SELECTIONS)}",
                     f"v_cndmask_b32 {self.v()}, {self.v()}, {self.v()}, vcc")  # fmt: skip
            return
        a, b = (f"sext({self.v()})" if self.chance(4) else self.v() for _ in range(2))
        self.out(f"{rng.choice(SDWA_OPS)}_sdwa {self.v()}, {a}, {b} dst_sel:{rng.choice(SELECTIONS)} dst_unused:{rng.choice(UNUSED)} "
                 f"src0_sel:{rng.choice(SELECTIONS)} src1_sel:{rng.choice(SELECTIONS)}")  # fmt: skip

    def dpp(self) -> None:
        rng = self.rng
        control = rng.choice((f"row_shr:{rng.randint(1, 15)}", f"row_shl:{rng.randint(1, 15)}", f"row_ror:{rng.randint(1, 15)}", "row_mirror", "row_half_mirror",
                              "row_bcast:15", "row_bcast:31", "wave_shl:1", "wave_ror:1", "quad_perm:[1,0,3,2]", "quad_perm:[3,3,0,1]"))  # fmt: skip
        bounds = " bound_ctrl:0" if self.chance(2) else ""
        op = rng.choice(("v_mov_b32", "v_xor_b32", "v_max_u32", "v_and_b32"))
        sources = self.v() if op == "v_mov_b32" else f"{self.v()}, {self.v()}"
        self.out(f"{op}_dpp {self.v()}, {sources} {control} row_mask:{rng.choice((15, 15, 10, 7)):#x} bank_mask:{rng.choice((15, 15, 12, 5)):#x}{bounds}")

    def count_lanes(self) -> None:
        low, high = (self.rng.choice((self.s(), "-1", "vcc_lo", "exec_lo")) for _ in range(2))
        if low == "vcc_lo":
            self.compare()
            high = "vcc_hi"
        if low == "exec_lo":
            high = "exec_hi"
        self.out(f"v_mbcnt_lo_u32_b32 v16, {low}, 0", f"v_mbcnt_hi_u32_b32 {self.v()}, {high}, v16")

    def write_lane(self) -> None:
        if self.chance(2):
            self.out(f"v_writelane_b32 {self.v()}, {self.s()}, {self.rng.randrange(64)}")
        else:
            self.out(f"s_and_b32 s36, {self.s()}, 63", f"v_readlane_b32 {self.s()}, {self.v()}, s36")

    def constants(self) -> None:
        """From behind the code, by scalar loads and by lanes."""
        rng, here = self.rng, self.label()
        self.out("s_getpc_b64 s[68:69]", f"{here}:", f"s_add_u32 s68, s68, {self.constants_label}-{here}", "s_addc_u32 s69, s69, 0")
        kind = rng.randrange(4)
        if kind == 0:
            count = rng.choice((1, 2, 4, 8))
            first = 20 + 4 * rng.randrange((16 - count) // 4 + 1) if count > 1 else rng.randrange(20, 36)
            registers = f"s{first}" if count == 1 else f"s[{first}:{first + count - 1}]"
            self.out(f"s_load_dword{'' if count == 1 else f'x{count}'} {registers}, s[68:69], {4 * rng.randrange(CONSTANTS - count)}")
        elif kind == 1:
            self.out(f"s_and_b32 s36, {self.s()}, {4 * CONSTANTS - 4}", f"s_load_dword {self.s()}, s[68:69], s36")
        elif kind == 2:
            self.out(f"v_and_b32 v16, {CONSTANTS - 1}, {self.v()}", "v_lshlrev_b32 v16, 2, v16", "address 24, s68, s69, v16", f"gload dword, {self.v()}, 24, 0")
        else:
            self.out(f"v_mov_b32 v16, {4 * rng.randrange(CONSTANTS)}", "address 24, s68, s69, v16", f"gload ubyte, {self.v()}, 24, {rng.randrange(4)}")
        self.out("s_waitcnt 0")

    def doubles(self) -> None:
        op = self.rng.choice(("add", "mul", "max"))
        self.out(f"v_cvt_f64_u32 v[16:17], {self.v()}", f"v_cvt_f64_i32 v[18:19], {self.v()}", f"v_{op}_f64 v[16:17], v[16:17], v[18:19]",
                 f"v_mov_b32 {self.v()}, v16", f"v_xor_b32 {self.v()}, v17, {self.v()}")  # fmt: skip

    def wide(self) -> None:
        a, b = ((f"v[{first}:{first + 1}]") for first in (2 * self.rng.randrange(8) for _ in range(2)))
        if self.chance(2):
            self.out(f"v_mad_u64_u32 {a}, vcc, {self.v()}, {self.any_source()}, {a}")
        else:
            self.out(f"v_cmp_{self.rng.choice(('lt_u64', 'gt_i64', 'eq_u64'))} vcc, {a}, {b}", f"v_cndmask_b32 {self.v()}, {self.v()}, {self.v()}, vcc")

    def branch_on_vcc(self) -> None:
        end = self.label()
        self.compare()
        self.out(f"s_cbranch_{self.rng.choice(('vccz', 'vccnz'))} {end}", f"addu {self.v()}, {self.any_source()}, {self.v()}", f"{end}:")

    def permute(self) -> None:
        """Each lane to another one: to one place two do not write."""
        self.out(f"v_mbcnt_lo_u32_b32 v16, -1, {self.rng.randrange(64)}", "v_mbcnt_hi_u32_b32 v16, -1, v16", "v_lshlrev_b32 v16, 2, v16", f"ds_permute_b32 {self.v()}, v16, {self.v()}",
                 "s_waitcnt lgkmcnt(0)")  # fmt: skip

    def packed(self) -> None:
        rng = self.rng
        halves = f" op_sel:[{rng.randrange(2)},{rng.randrange(2)}] op_sel_hi:[{rng.randrange(2)},{rng.randrange(2)}]" if self.chance(2) else ""
        self.out(f"{rng.choice(PACKED_OPS)} {self.v()}, {self.v()}, {self.v()}{halves}")

    def dot(self) -> None:
        self.out(f"{self.rng.choice(('v_dot4_i32_i8', 'v_dot4_u32_u8', 'v_dot2_i32_i16', 'v_dot8_u32_u4'))} {self.v()}, {self.v()}, {self.any_vector()}, {self.v()}")

    def any_vector(self) -> str:
        return self.rng.choice((self.v(), "v32"))

    def matrix(self) -> None:
        """Integers, which are exact; EXEC does not matter."""
        rng, t = self.rng, self.target
        small = self.chance(2)
        rows = 4 if small else 16
        first = 4 * rng.randrange(4) if small else 0
        name = ("v_mfma_i32_4x4x4_16b_i8" if small else "v_mfma_i32_16x16x4_4b_i8") if t.name == "gfx942" else "v_mfma_i32_4x4x4i8" if small else "v_mfma_i32_16x16x4i8"
        self.out(f"v_mov_b32 v16, {self.v()}", f"v_mov_b32 v17, {self.v()}")
        if t.unified:
            self.out(f"{name} v[{first}:{first + rows - 1}], v16, v17, v[{first}:{first + rows - 1}]")
            return
        self.out(*(f"v_accvgpr_write_b32 a{i}, v{first + i}" for i in range(rows)), f"{name} a[0:{rows - 1}], v16, v17, a[0:{rows - 1}]", "s_nop 7", "s_nop 7",
                 *(f"v_accvgpr_read_b32 v{first + i}, a{i}" for i in range(rows)))  # fmt: skip

    def skipped(self) -> None:
        self.out(f"s_setvskip {self.s()}, {self.rng.randrange(32)}", f"v_xor_b32 {self.v()}, {self.any_source()}, {self.v()}", f"v_mov_b32 {self.v()}, {self.v()}", "s_setvskip 0, 0")

    def barrier_of_some_lanes(self) -> None:
        """The work-group's waves come to a barrier with some lanes only, or with none."""
        self.compare()
        self.out("s_and_saveexec_b64 s[68:69], vcc", f"v_xor_b32 {self.v()}, {self.any_source()}, {self.v()}", "s_barrier", f"addu {self.v()}, {self.any_source()}, {self.v()}")
        if self.chance(2):
            self.out("s_mov_b64 exec, -1", f"v_xor_b32 {self.v()}, {self.any_source()}, {self.v()}", "s_barrier", f"v_xor_b32 {self.v()}, {self.any_source()}, {self.v()}")
        self.out("s_mov_b64 exec, s[68:69]")
