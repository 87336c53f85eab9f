"""Floating-point arithmetic with one exact result, rounded as MODE says. Vega ISA manual, "Floating-point modes";
docs/isa-decisions.md, "Floating point"."""
from fractions import Fraction

import real
from vector import FORMATS, NOT_A_NUMBER, define, signed

HALF = Fraction(1, 2)


def operand(machine, form, bits):
    """The number of an operand, denormals flushed as MODE says."""
    return form.value(bits if machine.keeps_inputs(form) else form.flushed(bits))


def result(machine, form, number, rounding=None):
    if number is None:
        return NOT_A_NUMBER
    saturate = form is real.F16 and machine.fp16_ovfl
    return form.encode(number, machine.rounding(form) if rounding is None else rounding, not machine.keeps_results(form), form is real.F16,
                       saturate)


def arithmetic(names, kind, count, function, *flags):
    """`function(rounding, numbers)` is exact."""
    form = FORMATS[kind]

    def lane(context, *sources):
        machine = context.machine
        numbers = [operand(machine, form, b) for b in sources]
        return result(machine, form, function(machine.rounding(form), *numbers))

    define(names, kind, " ".join([kind] * count), lane, *flags)


for kind in FORMATS:
    arithmetic(f"v_add_{kind}", kind, 2, lambda r, a, b: real.add(a, b, r))
    arithmetic(f"v_sub_{kind}", kind, 2, lambda r, a, b: real.add(a, real.negated(b), r))
    arithmetic(f"v_subrev_{kind}", kind, 2, lambda r, a, b: real.add(b, real.negated(a), r))
    arithmetic(f"v_mul_{kind}", kind, 2, lambda r, a, b: real.multiply(a, b))
    arithmetic(f"v_fma_{kind}", kind, 3, lambda r, a, b, c: real.fma(a, b, c, r), *(["keep"] if kind == "f16" else []))
    arithmetic(f"v_fmac_{kind}", kind, 3, lambda r, a, b, c: real.fma(a, b, c, r), "accumulate")
    arithmetic(f"v_trunc_{kind}", kind, 1, lambda r, a: real.integral(a, real.ZERO))
    arithmetic(f"v_floor_{kind}", kind, 1, lambda r, a: real.integral(a, real.DOWN))
    arithmetic(f"v_ceil_{kind}", kind, 1, lambda r, a: real.integral(a, real.UP))
    arithmetic(f"v_rndne_{kind}", kind, 1, lambda r, a: real.integral(a, real.NEAREST))
arithmetic("v_fma_legacy_f16", "f16", 3, lambda r, a, b, c: real.fma(a, b, c, r))
arithmetic("v_fmaak_f32", "f32", 3, lambda r, a, b, c: real.fma(a, b, c, r))
arithmetic("v_fmamk_f32", "f32", 3, lambda r, a, b, c: real.fma(a, b, c, r))


# ---- Multiply, round, add, round: denormals are flushed everywhere ----


def unfused(machine, form, a, b, c, legacy=False):
    numbers = [form.value(form.flushed(x)) for x in (a, b, c)]
    rounding = machine.rounding(form)
    half = form is real.F16
    product = real.multiply(*numbers[:2])
    if legacy and any(n is not None and n[1] == 0 for n in numbers[:2]):
        product = (False, Fraction(0))
    if product is not None:
        product = form.value(form.encode(product, rounding, True, half, half and machine.fp16_ovfl))
    total = real.add(product, numbers[2], rounding)
    return NOT_A_NUMBER if total is None else form.encode(total, rounding, True, half, half and machine.fp16_ovfl)


def mad(names, kind, *flags, legacy=False):
    define(names, kind, f"{kind} {kind} {kind}", lambda c, x, y, z: unfused(c.machine, FORMATS[kind], x, y, z, legacy), *flags)


mad("v_mad_f32 v_madak_f32 v_madmk_f32", "f32")
mad("v_mac_f32", "f32", "accumulate")
mad("v_mad_legacy_f32", "f32", legacy=True)
mad("v_mac_legacy_f32", "f32", "accumulate", legacy=True)
mad("v_mad_f16 v_madak_f16 v_madmk_f16", "f16", "keep")
mad("v_mad_legacy_f16", "f16")
mad("v_mac_f16", "f16", "accumulate", "keep")


def legacy_product(rounding, a, b):
    if any(n is not None and n[1] == 0 for n in (a, b)):
        return False, Fraction(0)
    return real.multiply(a, b)


arithmetic("v_mul_legacy_f32", "f32", 2, legacy_product)
define("v_mullit_f32", "f32", "f32 f32 f32", lambda c, a, b, d: mullit(c.machine, a, b, d))


def mullit(machine, a, b, d):
    third = operand(machine, real.F32, d)
    if third is None or third[0] or third[1] == 0:
        return 0xFF7FFFFF
    product = legacy_product(0, operand(machine, real.F32, a), operand(machine, real.F32, b))
    return result(machine, real.F32, product)


# ---- Minimum, maximum, median ----


def chosen(context, form, a, b, sign):
    """The lesser (sign 1) or greater (-1) of two; bits."""
    machine = context.machine
    if machine.generation >= 9 and not machine.keeps_inputs(form):
        a, b = form.flushed(a), form.flushed(b)
    if machine.ieee and (form.is_signalling(a) or form.is_signalling(b)):
        return form.quiet(a if form.is_signalling(a) else b)
    if form.is_nan(a) or form.is_nan(b):
        return form.quiet(a) if form.is_nan(a) and form.is_nan(b) else b if form.is_nan(a) else a
    order = real.compare(form.value(a), form.value(b))
    if order == 0:
        return max(a, b) if sign == 1 else min(a, b)  # -0 is less than +0
    return a if order == -sign else b


def three(context, form, a, b, c, sign):
    return chosen(context, form, chosen(context, form, a, b, sign), c, sign)


def median(context, form, a, b, c):
    machine = context.machine
    if any(form.is_nan(x) for x in (a, b, c)):
        return three(context, form, a, b, c, 1)
    if machine.generation >= 9 and not machine.keeps_inputs(form):
        a, b, c = (form.flushed(x) for x in (a, b, c))
    most = three(context, form, a, b, c, -1)

    def same(x):
        return real.compare(form.value(x), form.value(most)) == 0

    if same(a):
        return chosen(context, form, b, c, -1)
    if same(b):
        return chosen(context, form, a, c, -1)
    return chosen(context, form, a, b, -1)


for kind, form in FORMATS.items():
    keep = ["keep"] if kind == "f16" else []
    define(f"v_min_{kind}", kind, f"{kind} {kind}", lambda c, a, b, f=form: chosen(c, f, a, b, 1))
    define(f"v_max_{kind}", kind, f"{kind} {kind}", lambda c, a, b, f=form: chosen(c, f, a, b, -1))
    define(f"v_min3_{kind}", kind, f"{kind} {kind} {kind}", lambda c, x, y, z, f=form: three(c, f, x, y, z, 1), *keep)
    define(f"v_max3_{kind}", kind, f"{kind} {kind} {kind}", lambda c, x, y, z, f=form: three(c, f, x, y, z, -1), *keep)
    define(f"v_med3_{kind}", kind, f"{kind} {kind} {kind}", lambda c, x, y, z, f=form: median(c, f, x, y, z), *keep)


def legacy_choice(is_min):
    def lane(context, a, b):
        order = real.compare(real.F32.value(a), real.F32.value(b))
        return a if order == -1 and is_min or order in (0, 1) and not is_min else b

    return lane


define("v_min_legacy_f32", "f32", "f32 f32", legacy_choice(True))
define("v_max_legacy_f32", "f32", "f32 f32", legacy_choice(False))


# ---- Parts of numbers ----


def fract(rounding, a):
    if a is None or a[1] == real.INFINITY:
        return None
    return real.add(a, real.negated(real.integral(a, real.DOWN)), rounding)


def fract_of(kind):
    form = FORMATS[kind]
    below_one = form.one - 1

    def lane(context, bits):
        value = result(context.machine, form, fract(context.machine.rounding(form), operand(context.machine, form, bits)))
        return value if value == NOT_A_NUMBER or value & form.sign else min(value, below_one)

    define(f"v_fract_{kind}", kind, kind, lane)


def frexp_of(kind, exponent_name, exponent_kind):
    form = FORMATS[kind]

    def mantissa(context, bits):
        x = form.value(bits)
        if x is None:
            return NOT_A_NUMBER
        if x[1] in (0, real.INFINITY):
            return bits
        return form.encode(real.scale(x, -real.floor_log2(x[1]) - 1))

    def exponent(context, bits):
        x = form.value(bits)
        return 0 if x is None or x[1] in (0, real.INFINITY) else real.floor_log2(x[1]) + 1

    define(f"v_frexp_mant_{kind}", kind, kind, mantissa)
    define(exponent_name, exponent_kind, kind, exponent)


def ldexp_of(kind, amount):
    form, size = FORMATS[kind], int(amount[1:])

    def lane(context, bits, n):
        n = min(max(signed(n, size), -8192), 8192)
        return result(context.machine, form, real.scale(operand(context.machine, form, bits), n))

    define(f"v_ldexp_{kind}", kind, f"{kind} {amount}", lane)


for kind in FORMATS:
    fract_of(kind)
frexp_of("f16", "v_frexp_exp_i16_f16", "i16")
frexp_of("f32", "v_frexp_exp_i32_f32", "i32")
frexp_of("f64", "v_frexp_exp_i32_f64", "i32")
ldexp_of("f16", "i16")
ldexp_of("f32", "i32")
ldexp_of("f64", "i32")

# ---- Reciprocals and roots of f64: correctly rounded to nearest here, whatever MODE's rounding ----


def exact_f64(name, function, limit=False):
    def lane(context, bits):
        machine = context.machine
        value = result(machine, real.F64, function(operand(machine, real.F64, bits)), real.NEAREST)
        if limit and value != NOT_A_NUMBER and value & (real.F64.sign - 1) == real.F64.infinity:
            value -= 1
        return value

    define(name, "f64", "f64", lane)


ONE = (False, Fraction(1))


def reciprocal_root(x):
    root = real.square_root(x)
    if root is None or root[1] in (0, real.INFINITY):
        return real.divide(ONE, root)
    return real.divide(ONE, real.F64.value(real.F64.encode(root)))


exact_f64("v_rcp_f64", lambda x: real.divide(ONE, x))
exact_f64("v_rsq_f64", reciprocal_root)
exact_f64("v_sqrt_f64", real.square_root)
exact_f64("v_rcp_clamp_f64", lambda x: real.divide(ONE, x), True)
exact_f64("v_rsq_clamp_f64", reciprocal_root, True)


# ---- Cubes ----


def cube(function):
    """`function(x, y, z, is_z, is_y)`: which coordinate is the major one."""
    def lane(context, x, y, z):
        machine = context.machine
        a, b, c = (operand(machine, real.F32, v & ~real.F32.sign) for v in (x, y, z))
        is_z = at_least(c, a) and at_least(c, b)
        is_y = not is_z and at_least(b, a)
        return function(machine, x, y, z, is_z, is_y)

    return lane


def at_least(a, b):
    return real.compare(a, b) in (0, 1)


def below_zero(machine, bits):
    x = operand(machine, real.F32, bits)
    return x is not None and x[0] and x[1] != 0


def flip(bits):
    return bits ^ real.F32.sign


def cube_id(m, x, y, z, is_z, is_y):
    major, face = (z, 4) if is_z else (y, 2) if is_y else (x, 0)
    return real.F32.encode(real.of_integer(face + below_zero(m, major)))


def cube_sc(m, x, y, z, is_z, is_y):
    if is_z:
        return flip(x) if below_zero(m, z) else x
    if is_y:
        return x
    return z if below_zero(m, x) else flip(z)


def cube_tc(m, x, y, z, is_z, is_y):
    if is_z or not is_y:
        return flip(y)
    return flip(z) if below_zero(m, y) else z


def cube_ma(m, x, y, z, is_z, is_y):
    major = operand(m, real.F32, z if is_z else y if is_y else x)
    return result(m, real.F32, real.scale(major, 1))


for name, function in (("id", cube_id), ("sc", cube_sc), ("tc", cube_tc), ("ma", cube_ma)):
    define(f"v_cube{name}_f32", "f32", "f32 f32 f32", cube(function))
