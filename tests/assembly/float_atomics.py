"""Statements of programs (program.py) with atomic operations on floats, in the LDS and, of doubles, in memory.

On cells that waves share the order does not matter: sums are of small whole numbers, which are exact, and none of the numbers of
minima and maxima is a zero or denormal (NaNs change nothing). What work-items do in memory of their own has any numbers."""

# Bytes of the cells in the LDS: two of each operation on floats, then on doubles. In memory there is a cell for each operation on doubles.
LDS_FLOATS, LDS_DOUBLES, LDS_CELLS = 0, 32, 80
OPERATIONS = ("add", "min", "max")


class FloatAtomics:
    """Mixin of Program: writes with its out(), draws with its rng. `cells_base`: where the cells are in the LDS."""

    def float_atomic_statements(self) -> list:
        found = [(self.shared_float, 3), (self.shared_double, 3), (self.own_float, 2), (self.own_double, 2)]
        if self.target.double_atomics:
            found += [(self.shared_double_in_memory, 3), (self.own_double_in_memory, 3)]
        return found

    def float_cells(self) -> None:
        """All waves write the same ahead of the first barrier."""
        self.out(*(f"v_mov_b32 v{i}, 0" for i in range(16, 20)), *(f"ds_write_b128 v16, v[16:19] offset:{self.cells_base + at}" for at in range(0, LDS_CELLS, 16)))

    def operation(self, double: bool, shared: bool) -> str:
        """The operation, with its number in v16 or v[16:17]."""
        op = self.rng.choice(OPERATIONS if not double or self.target.double_atomics else OPERATIONS[1:])
        kind = "f64" if double else "f32"
        into = "v[16:17]" if double else "v16"
        if op == "add" and shared:
            self.out(f"v_and_b32 v16, 7, {self.v()}", f"v_cvt_{kind}_u32 {into}, v16")
        elif self.chance(2) or not shared:
            self.out(f"v_or_b32 v16, 1, {self.v()}", f"v_cvt_{kind}_i32 {into}, v16")
            if not shared and not double:
                self.out(f"v_mul_f32 v16, 0x{0x3d000000 + self.rng.getrandbits(24):x}, v16")
        else:
            self.out(f"v_or_b32 v16, 0x{0x100000 if double else 0x800000:x}, {self.v()}")
            if double:
                self.out("v_mov_b32 v17, v16", f"v_mov_b32 v16, {self.v()}")
        return op

    def shared_float(self) -> None:
        op = self.operation(double=False, shared=True)
        at = self.cells_base + LDS_FLOATS + 8 * OPERATIONS.index(op)
        self.out(f"v_and_b32 v18, 4, {self.v()}", f"ds_{op}_f32 v18, v16 offset:{at}", "s_waitcnt lgkmcnt(0)")

    def shared_double(self) -> None:
        op = self.operation(double=True, shared=True)
        at = self.cells_base + LDS_DOUBLES + 16 * OPERATIONS.index(op)
        self.out(f"v_and_b32 v18, 8, {self.v()}", f"ds_{op}_f64 v18, v[16:17] offset:{at}", "s_waitcnt lgkmcnt(0)")

    def own_float(self) -> None:
        """In the work-item's part of the LDS, where it leaves a number first."""
        at = self.own_lds + 4 * self.rng.randrange(4)
        self.out(f"v_cvt_f32_i32 v18, {self.v()}", f"ds_write_b32 v36, v18 offset:{at}")
        op = self.operation(double=False, shared=False)
        self.out(f"ds_{op}_rtn_f32 {self.v()}, v36, v16 offset:{at}" if self.chance(2) else f"ds_{op}_f32 v36, v16 offset:{at}", "s_waitcnt lgkmcnt(0)")

    def own_double(self) -> None:
        at, pair = self.own_lds + 8 * self.rng.randrange(2), 2 * self.rng.randrange(8)
        self.out(f"v_cvt_f64_i32 v[18:19], {self.v()}", f"ds_write_b64 v36, v[18:19] offset:{at}")
        op = self.operation(double=True, shared=False)
        self.out(f"ds_{op}_rtn_f64 v[{pair}:{pair + 1}], v36, v[16:17] offset:{at}" if self.chance(2) else f"ds_{op}_f64 v36, v[16:17] offset:{at}", "s_waitcnt lgkmcnt(0)")

    def shared_double_in_memory(self) -> None:
        op = self.operation(double=True, shared=True)
        self.out(f"v_mov_b32 v18, {self.double_cells + 8 * OPERATIONS.index(op)}", "address 24, s96, s97, v18", f"gatomic {op}_f64, 24, v[16:17]")

    def own_double_in_memory(self) -> None:
        word, pair = 2 * self.rng.randrange(8), 2 * self.rng.randrange(8)
        self.out(f"v_cvt_f64_i32 v[18:19], {self.v()}", f"gstore dwordx2, 34, v[18:19], {4 * word}", "s_waitcnt 0", f"v_mov_b32 v20, {4 * word}", "own_address 24, v20")
        op = self.operation(double=True, shared=False)
        if self.chance(2):
            self.out(f"gatomic_rtn {op}_f64, v[{pair}:{pair + 1}], 24, v[16:17]")
        else:
            self.out(f"gatomic {op}_f64, 24, v[16:17]", "s_waitcnt 0")
