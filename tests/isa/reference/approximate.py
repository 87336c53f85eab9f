"""Instructions whose results documents bound: rcp, rsq, sqrt, exp, log, sin, cos. A result here is the range of what is
allowed. GCN3 and Vega ISA manuals: one unit in the last place; docs/isa-decisions.md for denormals and rounding."""
from decimal import Context, Decimal
from fractions import Fraction

import real
from pi import pi_times
from real import F16, F32
from vector import FORMATS, NOT_A_NUMBER, Range, define
from vector_float import operand

ONE = (False, Fraction(1))
DIGITS = Context(prec=80, Emax=10**6, Emin=-(10**6))
LN2 = DIGITS.ln(Decimal(2))
TRIGONOMETRIC_ERROR = Fraction(1, 1 << 20)  # absolute


def decimal(value):
    return DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


def reciprocal(x):
    return real.divide(ONE, x)


def reciprocal_root(x):
    return real.divide(ONE, real.square_root(x))


def power_of_two(x):
    if x is None:
        return None
    if x[1] == real.INFINITY:
        return False, Fraction(0) if x[0] else real.INFINITY
    value = max(min(real.signed(x), Fraction(4000)), Fraction(-4000))
    if value.denominator == 1:
        return False, Fraction(2) ** int(value)
    return False, Fraction(DIGITS.exp(DIGITS.multiply(decimal(value), LN2)))


def logarithm(x):
    if x is None or (x[0] and x[1] != 0):
        return None
    if x[1] in (0, real.INFINITY):
        return x[1] == 0, real.INFINITY
    exponent = real.floor_log2(x[1])
    if x[1] == Fraction(2) ** exponent:
        return real.of_integer(exponent)
    value = Fraction(DIGITS.divide(DIGITS.ln(decimal(x[1])), LN2))
    return value < 0, abs(value)


TWO_PI = Fraction(2 * pi_times(10**90), 10**90)


def sine_of_turns(turns):
    """The sine of `turns` revolutions, exact for quarters, else to some 70 digits."""
    turns %= 1
    if turns >= Fraction(1, 2):
        return -sine_of_turns(turns - Fraction(1, 2))
    if turns in (0, Fraction(1, 4)):
        return Fraction(turns != 0)
    x = Fraction(int(turns * TWO_PI * 10**80), 10**80)
    total, term, k = Fraction(0), x, 1
    while abs(term) > Fraction(1, 10**60):
        total += term
        term = Fraction(int(-term * x * x / ((k + 1) * (k + 2)) * 10**80), 10**80)
        k += 2
    return total


def ordered(form, bits):
    """Sorts like the numbers, neighbours one apart."""
    return -(bits & (form.sign - 1)) if bits & form.sign else bits


def of_order(form, order):
    return form.sign | -order if order < 0 else order


def around(form, exact, error=None):
    """The range of a result that is finite and not zero: one unit to either side, or the absolute error."""
    if error is not None:
        low, high = real.signed(exact) - error, real.signed(exact) + error
        return Range(*(form.encode((v < 0, abs(v))) for v in (low, high)))
    middle = ordered(form, form.encode(exact))
    return Range(of_order(form, middle - 1), of_order(form, middle + 1))


def operand_of(machine, form, bits):
    return form.value(F32.flushed(bits)) if form is F32 else operand(machine, form, bits)


def approximate(name, kind, function, limit=None):
    """`limit`: what becomes of infinite results, a function of their bits."""
    form = FORMATS[kind]

    def lane(context, bits):
        machine = context.machine
        exact = function(operand_of(machine, form, bits))
        if exact is None:
            return NOT_A_NUMBER
        flushes = form is F32 or not machine.keeps_results(form)
        value = form.encode(exact, real.NEAREST, flushes, form is F16)
        if value & (form.sign - 1) == form.infinity and limit:
            return limit(value)
        if form.is_zero(value) or form.field(value) == form.top:
            return value
        return around(form, exact)

    define(name, kind, kind, lane)


def largest(bits):
    return bits - 1


def signed_zero(bits):
    return bits & F32.sign


for kind in ("f16", "f32"):
    approximate(f"v_rcp_{kind}", kind, reciprocal)
    approximate(f"v_rsq_{kind}", kind, reciprocal_root)
    approximate(f"v_sqrt_{kind}", kind, real.square_root)
    approximate(f"v_exp_{kind}", kind, power_of_two)
    approximate(f"v_log_{kind}", kind, logarithm)
approximate("v_rcp_iflag_f32", "f32", reciprocal)
approximate("v_exp_legacy_f32", "f32", power_of_two)
approximate("v_log_legacy_f32", "f32", logarithm)
approximate("v_rcp_clamp_f32", "f32", reciprocal, largest)
approximate("v_rsq_clamp_f32", "f32", reciprocal_root, largest)
approximate("v_rcp_legacy_f32", "f32", reciprocal, signed_zero)
approximate("v_rsq_legacy_f32", "f32", reciprocal_root, signed_zero)
approximate("v_log_clamp_f32", "f32", logarithm, lambda bits: bits - 1 if bits & F32.sign else bits)


def trigonometric(name, kind, quarter):
    """Of revolutions; `quarter`: cosines are sines a quarter further."""
    form = FORMATS[kind]
    error = TRIGONOMETRIC_ERROR if form is F32 else Fraction(1, 1 << 11)

    def lane(context, bits):
        x = operand_of(context.machine, form, bits)
        if x is None or x[1] == real.INFINITY:
            return NOT_A_NUMBER
        value = sine_of_turns(real.signed(x) + quarter)
        return around(form, (value < 0, abs(value)), error)

    define(name, kind, kind, lane)


for kind in ("f16", "f32"):
    trigonometric(f"v_sin_{kind}", kind, Fraction(0))
    trigonometric(f"v_cos_{kind}", kind, Fraction(1, 4))
