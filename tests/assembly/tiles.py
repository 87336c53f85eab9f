"""Statements of programs (program.py) that are the inner loops of matrix products: factors in the LDS, many sums in registers.

v[48:55] and v[56:63] are factors, v[64:111] sums. No number is a NaN, so that the bits of all sums are data."""

TILE_VGPRS = 112
FACTORS, OTHERS, SUMS = 48, 56, 64  # first registers


class Tiles:
    """Mixin of Program: writes with its out(), draws with its rng. `tile_base`: where the factors are in the LDS, 16 bytes for each lane."""

    def tile(self) -> None:
        """Work-items multiply what eight of the work-group have left in the LDS with what eight others have."""
        double = self.chance(3)
        self.leave_factors(double)
        words = 2 if double else 1
        most = 4 if double else 8
        rows, columns = (self.rng.randint(1 if self.chance(4) else most // 2, most) for _ in range(2))
        sums = [SUMS + words * i for i in range(min(rows * columns, 48 // words))]
        first = self.v()
        for register in sums:
            self.out(f"v_cvt_f64_i32 v[{register}:{register + 1}], {first}" if double else f"v_cvt_f32_i32 v{register}, {first}" if self.chance(2) else f"v_mov_b32 v{register}, 0")
        self.out("v_and_b32 v16, 7, v32", "v_lshlrev_b32 v16, 4, v16", "v_bfe_u32 v17, v32, 3, 3", "v_lshlrev_b32 v17, 4, v17")
        looped, top = self.chance(2), self.label()
        if looped:
            self.out(f"s_movk_i32 s37, {self.rng.randint(1, 4)}", f"{top}:")
        for _ in range(self.rng.randint(1, 8)):
            self.step(double, rows, columns, sums)
        if looped:
            self.out("s_sub_u32 s37, s37, 1", "s_cmp_lg_u32 s37, 0", f"s_cbranch_scc1 {top}")
        self.out("s_barrier")
        for register in sums:
            for word in range(words):
                into = self.v()
                self.out(f"v_alignbit_b32 {into}, {into}, {into}, 5", f"v_xor_b32 {into}, v{register + word}, {into}")

    def leave_factors(self, double: bool) -> None:
        """All lanes do, those of work-items that are not there, too."""
        self.out("s_mov_b64 s[66:67], exec", "s_mov_b64 exec, -1")
        if double:
            self.out(f"v_cvt_f64_u32 v[{FACTORS}:{FACTORS + 1}], {self.v()}", f"v_cvt_f64_i32 v[{FACTORS + 2}:{FACTORS + 3}], {self.v()}")
        else:
            for i in range(4):
                register = f"v{FACTORS + i}"
                self.out(f"v_cvt_f32_ubyte{i} {register}, {self.v()}", f"v_mul_f32 {register}, 0x{0x3d000000 + self.rng.getrandbits(24):x}, {register}")
        self.out(f"ds_write_b128 v36, v[{FACTORS}:{FACTORS + 3}] offset:{self.tile_base}", "s_mov_b64 exec, s[66:67]", "s_waitcnt lgkmcnt(0)", "s_barrier")

    def step(self, double: bool, rows: int, columns: int, sums: list[int]) -> None:
        rng, words = self.rng, 2 if double else 1
        for first, count, address in ((FACTORS, rows, "v16"), (OTHERS, columns, "v17")):
            for register in range(first, first + words * count, 4):
                self.out(f"ds_read_b128 v[{register}:{register + 3}], {address} offset:{self.tile_base + 16 * rng.randrange(57)}")
        self.out("s_waitcnt lgkmcnt(0)")
        pairs = [(i, j) for i in range(rows) for j in range(columns)][: len(sums)]
        if self.chance(3):
            rng.shuffle(pairs)
        for i, j in pairs:
            a, b, c = FACTORS + words * i, OTHERS + words * j, sums[i * columns + j]
            if double:
                self.out(f"v_fma_f64 v[{c}:{c + 1}], v[{a}:{a + 1}], v[{b}:{b + 1}], v[{c}:{c + 1}]")
            elif i % 2:
                self.out(f"{self.target.multiply_accumulate} v{c}, v{a}, v{b}")
            else:
                self.out(f"v_fma_f32 v{c}, v{a}, v{b}, v{c}")
