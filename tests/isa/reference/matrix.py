"""Matrix instructions. Where elements are: AMD's matrix instruction calculator. MI100 to MI300 ISA manuals, "Matrix
arithmetic"; docs/isa-decisions.md, "MFMA" and "v_smfmac". EXEC does not matter."""
import re
from functools import lru_cache

import eight_bit
import real
from assembly import bits, number
from machine import LANES, MASK32
from real import F16, F32, F64
from vector import raw_source, signed

BF16 = real.Format(8, 7)
NAME = re.compile(r"v_(mfma|smfmac)_(f32|f64|i32)_(\d+)x(\d+)x(\d+)_?(?:(\d+)b_)?(f16|bf16|f32|xf32|f64|i8|[bf][fp]8_[bf][fp]8)(?:_1k)?")
WIDTH = {"f16": 16, "bf16": 16, "f32": 32, "xf32": 32, "f64": 64, "i8": 8}
MOVES = ("v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32")


def known(name):
    return name in MOVES or bool(NAME.fullmatch(name))


def execute(machine, instruction):
    if instruction.name in MOVES:
        move(machine, instruction)
    else:
        Product(machine, instruction).execute()


def move(machine, instruction):
    destination, source = instruction.operands
    for lane in machine.active():
        machine.row(destination.index, destination.kind)[lane] = raw_source(machine, source, "b32", lane)


class Product:
    def __init__(self, machine, instruction):
        match = NAME.fullmatch(instruction.name)
        self.machine, self.instruction = machine, instruction
        self.sparse, self.result = match[1] == "smfmac", match[2]
        self.rows, self.depth = int(match[3]), int(match[5])
        kinds = match[7].split("_")
        self.kinds = kinds * 2 if len(kinds) == 1 else kinds
        self.width = WIDTH.get(self.kinds[0], 8)
        self.destination, self.a, self.b = instruction.operands[:3]
        self.stored = self.depth // 2 if self.sparse else self.depth  # elements of a row of A
        per_lane = self.a.dwords * 32 // self.width
        self.blocks = LANES * per_lane // (self.rows * self.stored)
        modifiers = instruction.modifiers
        self.broadcast, self.chosen = number(modifiers.get("cbsz", "0")), number(modifiers.get("abid", "0"))
        self.pattern = number(modifiers.get("blgp", "0")) if self.result != "f64" else 0
        signs = bits(instruction, "neg", [0, 0, 0])
        self.negated = [s or (self.result == "f64" and number(modifiers.get("blgp", "0")) >> i & 1) for i, s in enumerate(signs)]

    # ---- Where elements are ----

    def lane_and_item(self, block, row, k, per_lane, depth):
        """Of an element of A or, `row` being the column, of B."""
        if self.result == "f64" and self.rows == 4:
            return 16 * k + 4 * block + row, 0
        groups = depth // per_lane
        return row + self.rows * (k // per_lane + groups * block), k % per_lane

    def place(self, block, row, column):
        """Lane and item of an element of C and D."""
        if self.result == "f64":
            return (16 * row + 4 * block + column, 0) if self.rows == 4 else (column + 16 * (row % 4), row // 4)
        if self.rows == 4:
            return column + 4 * block, row
        if self.rows == 16:
            return column + 16 * (row // 4), 4 * block + row % 4
        return column + 32 * (row // 4 % 2), 16 * block + 4 * (row // 8) + row % 4

    def element(self, operand, lane, item):
        at = item * self.width
        dwords = 2 if self.width == 64 else 1
        value = self.machine.lane(operand.kind, operand.index + at // 32, dwords, lane)
        return value >> at % 32 & ((1 << self.width) - 1)

    def element_of_a(self, block, row, k):
        if self.broadcast and not self.sparse:
            block = block & ~((1 << self.broadcast) - 1) | self.chosen
        per_lane = self.a.dwords * 32 // self.width
        return self.element(self.a, *self.lane_and_item(block, row, k, per_lane, self.stored))

    def element_of_b(self, block, column, k):
        lane, item = self.lane_and_item(block, column, k, self.b.dwords * 32 // self.width, self.depth)
        return self.element(self.b, self.permuted(lane), item)

    def permuted(self, lane):
        """BLGP."""
        if self.pattern in (1, 2):
            return lane % 32 + 32 * (self.pattern - 1)
        if self.pattern == 3:
            return (lane + 16) % LANES
        return lane % 16 + 16 * (self.pattern - 4) if self.pattern >= 4 else lane

    def index(self, row, k):
        """Which k an element of a sparse row stands for: two bits each in src2 of the lane that has the element."""
        per_lane = self.a.dwords * 32 // self.width
        lane, item = self.lane_and_item(0, row, k, per_lane, self.stored)
        word = self.machine.row(self.instruction.operands[3].index)[lane]
        begin = 0 if self.broadcast else 2 * per_lane * self.chosen
        return 4 * (k // 2) + (word >> begin + 2 * item & 3)

    # ---- Sums ----

    def execute(self):
        dwords = 2 if self.result == "f64" else 1
        accumulator = self.destination if self.sparse else self.instruction.operands[3]
        results = []
        columns = {(b, j, k): self.element_of_b(b, j, k) for b in range(self.blocks) for j in range(self.rows) for k in range(self.depth)}
        step = self.step()
        for block in range(self.blocks):
            for row in range(self.rows):
                factors = [(self.index(row, k) if self.sparse else k, self.element_of_a(block, row, k)) for k in range(self.stored)]
                for column in range(self.rows):
                    lane, item = self.place(block, row, column)
                    total = self.start(accumulator, lane, item, dwords)
                    for k, factor in factors:
                        total = step(factor, columns[block, column, k], total)
                    results.append((lane, item, total))
        for lane, item, total in results:
            index = self.destination.index + item * dwords
            self.machine.note(index, lane, "nan" if self.result != "i32" and form_of(self.result).is_nan(total) else "", dwords == 2)
            for i in range(dwords):
                self.machine.row(index + i, self.destination.kind)[lane] = total >> 32 * i & MASK32

    def start(self, operand, lane, item, dwords):
        if operand.kind in ("integer", "float"):
            value = operand.constant(self.result)
        else:
            value = self.machine.lane(operand.kind, operand.index + item * dwords, dwords, lane)
        return value ^ 1 << 63 if self.negated[2] else value

    def step(self):
        """The function of a factor of A, one of B and the sum so far."""
        if self.result == "i32":
            return lambda a, b, c: signed(a, 8) * signed(b, 8) + c & MASK32
        flush_factors, flush_sums = self.flushes()
        kinds, negated = tuple(self.kinds), (bool(self.negated[0]), bool(self.negated[1]))
        return lambda a, b, c: fused(kinds, negated, a, b, c, flush_factors, flush_sums, self.result)

    def flushes(self):
        """Whether denormals of factors and sums are flushed: (operands, results) of each."""
        if self.kinds[0] in ("f16", "bf16"):
            always = self.machine.target == "gfx90a"
            return always, (always, always)
        if self.kinds[0] in ("f32", "xf32"):
            keeps = self.machine.keeps_inputs(F32), self.machine.keeps_results(F32)
            return not keeps[0], (not keeps[0], not keeps[1])
        return False, (False, False)


def form_of(kind):
    return {"f16": F16, "bf16": BF16, "f32": F32, "xf32": F32, "f64": F64}[kind]


def factor_value(kind, value, flush, negated):
    if kind in eight_bit.FORMS:
        return eight_bit.value_of(kind, value)
    form = form_of(kind)
    if kind == "xf32" and form.field(value) != form.top:  # ten bits of fraction, to nearest even
        value = (value + 0xFFF + (value >> 13 & 1)) >> 13 << 13
    number_of = form.value(form.flushed(value) if flush else value)
    return real.negated(number_of) if negated else number_of


@lru_cache(maxsize=1 << 18)
def fused(kinds, negated, a, b, c, flush_factors, flush_sums, result):
    form = F64 if result == "f64" else F32
    factors = [factor_value(kind, value, flush_factors, sign) for kind, value, sign in zip(kinds, (a, b), negated)]
    total = real.fma(*factors, form.value(form.flushed(c) if flush_sums[0] else c))
    return form.encode(total, real.NEAREST, flush_sums[1])
