"""Cases of tests/isa/*.isa (tests/isa/isa_file.h has the format)."""

LANES = 64
MEMORY = 16384  # of global memory that cases use


def pattern(at):
    """Byte `at` of memory where it is `pattern`."""
    return (at * 29 + at // 64 + 3) % 256


class Case:
    def __init__(self, name, targets, mode=0x3C0, exec_mask=(1 << LANES) - 1):
        self.lines = [f"case {name}", "targets " + " ".join(targets), f"mode {mode:#x}", f"exec {exec_mask:#018x}"]
        self.expected = []
        self.assembly = ""

    def set(self, where, values):
        if isinstance(values, (list, tuple)):
            values = " ".join(number(v) for v in values)
        self.lines.append(f"{where} = {values}")

    def expect(self, where, values):
        self.expected.append(f"{where} = " + " ".join(number(v) for v in values))

    def expect_memory(self, written, begin, end, before):
        """`written` has bytes by address; the dwords that they are in are stated."""
        for at in sorted({a & ~3 for a in written}):
            word = sum((written[a] if a in written else before(a)) << 8 * (a - at) for a in range(at, at + 4))
            self.expected.append(f"mem[{at}] = {word:#x}")

    def text(self):
        return "\n".join(self.lines + ["---", self.assembly, "---"] + self.expected) + "\n\n"


def number(value):
    return value if isinstance(value, str) else f"{value:#x}"


def random_mode(rng):
    """MODE with any rounding and denormals: memory instructions do not look at it."""
    return 0x300 | rng.randrange(256)


def random_exec(rng):
    return (1 << LANES) - 1 if rng.random() < 0.5 else rng.getrandbits(LANES) | 1 << rng.randrange(LANES)
