"""What read-modify-write instructions make of memory: integers in 32 and 64 bits, floats by space. GCN3, Vega and MI200
ISA manuals; docs/isa-decisions.md, "global atomics"."""
import real
from real import F16, F32, F64
from vector import signed


# Functions of (bits, old, data).
INTEGER = {
    "add": lambda n, m, d: m + d, "sub": lambda n, m, d: m - d, "rsub": lambda n, m, d: d - m, "swap": lambda n, m, d: d,
    "and": lambda n, m, d: m & d, "or": lambda n, m, d: m | d, "xor": lambda n, m, d: m ^ d,
    "inc": lambda n, m, d: 0 if m >= d else m + 1, "dec": lambda n, m, d: d if m == 0 or m > d else m - 1,
    "smin": lambda n, m, d: min(m, d, key=lambda x: signed(x, n)), "smax": lambda n, m, d: max(m, d, key=lambda x: signed(x, n)),
    "umin": lambda n, m, d: min(m, d), "umax": lambda n, m, d: max(m, d),
}


def float_add(machine, form, by_mode, old, data):
    """`by_mode`: rounding and denormals are those of MODE, as in the LDS; else nearest even, denormals kept."""
    if by_mode and not machine.keeps_inputs(form):
        old, data = form.flushed(old), form.flushed(data)
    rounding = machine.rounding(form) if by_mode else real.NEAREST
    total = real.add(form.value(old), form.value(data), rounding)
    return form.encode(total, rounding, by_mode and not machine.keeps_results(form))


def float_extreme(machine, form, by_mode, old, data, sign):
    if by_mode and not machine.keeps_inputs(form):
        old, data = form.flushed(old), form.flushed(data)
    return data if real.compare(form.value(data), form.value(old)) == -sign else old


def same_number(machine, form, by_mode, old, data):
    if by_mode and not machine.keeps_inputs(form):
        old, data = form.flushed(old), form.flushed(data)
    return real.compare(form.value(old), form.value(data)) == 0


BF16 = real.Format(8, 7)


def packed_add(form, old, data):
    """Two halves, each to nearest even, denormals kept."""
    halves = [form.encode(real.add(form.value(old >> i & 0xFFFF), form.value(data >> i & 0xFFFF))) for i in (0, 16)]
    return halves[0] | halves[1] << 16


def update(machine, space, operation, bits, old, data):
    """The new contents. Operations as global atomics name them; `data` are one or two numbers: for cmpswap the new
    value and the one to compare with."""
    form = {32: F32, 64: F64}[bits]
    by_mode = space.floats_by_mode
    if operation == "cmpswap":
        return data[0] if old == data[1] else old
    if operation == "fcmpswap":
        return data[0] if same_number(machine, form, by_mode, old, data[1]) else old
    if operation == "fadd":
        return float_add(machine, form, by_mode, old, data[0])
    if operation in ("fmin", "fmax"):
        return float_extreme(machine, form, by_mode, old, data[0], 1 if operation == "fmin" else -1)
    if operation in ("pk_add_f16", "pk_add_bf16"):
        return packed_add(F16 if operation.endswith("_f16") else BF16, old, data[0])
    if operation == "mskor":
        return old & ~data[0] | data[1]
    if operation == "wrap":
        return old - data[0] if old >= data[0] else old + data[1]
    return INTEGER[operation](bits, old, data[0])


def apply(machine, space, lane, address, operation, bits, data):
    """Changes memory; what was there, or None: out of range."""
    old = space.load(address, bits // 8, lane)
    if old is not None:
        space.store(address, bits // 8, update(machine, space, operation, bits, old, data) & ((1 << bits) - 1), lane)
    return old


# The names of FLAT, GLOBAL, MUBUF, MIMG and SMEM atomics behind "atomic_".
SUFFIXES = {"add_f32": ("fadd", 32), "add_f64": ("fadd", 64), "min_f64": ("fmin", 64), "max_f64": ("fmax", 64),
            "pk_add_f16": ("pk_add_f16", 32), "pk_add_bf16": ("pk_add_bf16", 32)}


def named(suffix):
    """(operation, bits), or None."""
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    operation, bits = (suffix[:-3], 64) if suffix.endswith("_x2") else (suffix, 32)
    if operation in INTEGER or operation in ("cmpswap", "fcmpswap", "fmin", "fmax"):
        return operation, bits
    return None
