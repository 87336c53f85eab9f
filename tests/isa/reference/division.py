"""v_div_scale, v_div_fmas, v_div_fixup, v_trig_preop. docs/isa-decisions.md, below the table "Floating point"."""
import real
from pi import pi_times
from real import F16, F32, F64
from vector import FORMATS, NOT_A_NUMBER, Context, Op, define, finished, lanes_of, store
from vector_float import operand, result

SCALE = {"f32": 64, "f64": 128}


def div_scale(kind, s0, d, n):
    """The result's bits and the lane's bit of VCC."""
    form, step = FORMATS[kind], SCALE[kind]
    numerator, denominator = form.value(n), form.value(d)
    if form.is_zero(n) or form.is_zero(d):
        return NOT_A_NUMBER, 0
    if any(x is None or x[1] == real.INFINITY for x in (numerator, denominator)):
        return s0, 0

    def times(power):
        return form.encode(real.scale(form.value(s0), power))

    def same(other):
        return real.compare(form.value(s0), form.value(other)) == 0

    def denormal(quotient):
        return quotient[1] < real.scale((False, real.Fraction(1)), form.least)[1]

    one = (False, real.Fraction(1))
    tiny_reciprocal, tiny_quotient = denormal(real.divide(one, denominator)), denormal(real.divide(numerator, denominator))
    if form.field(n) - form.field(d) >= {"f32": 96, "f64": 768}[kind]:
        return (times(step) if same(d) else s0), 1
    if form.is_denormal(d):
        return times(step), 0
    if tiny_reciprocal and tiny_quotient:
        return (times(-step) if same(d) else s0), 1
    if tiny_reciprocal:
        return times(-step), 0
    if tiny_quotient:
        return (times(step) if same(n) else s0), 1
    if form.field(n) <= {"f32": 23, "f64": 53}[kind]:
        return times(step), 0
    return s0, 0


def execute_scale(machine, instruction):
    kind = instruction.name[-3:]
    op = Op(None, kind, [kind] * 3)
    context = Context(machine, instruction, op)
    destination, mask_operand, *sources = instruction.operands
    mask, results = 0, {}
    for lane, values in lanes_of(context, sources, op.sources):
        value, bit = div_scale(kind, *values)
        results[lane] = finished(context, value)
        mask |= bit << lane
    for lane, value in results.items():
        store(context, destination, lane, value)
    machine.set_scalar(mask_operand.index, mask, 2)


def div_fmas(kind):
    form = FORMATS[kind]

    def lane(context, a, b, c):
        machine = context.machine
        x, y, z = (operand(machine, form, v) for v in (a, b, c))
        exact = real.fma(x, y, z, machine.rounding(form))
        if machine.vcc >> context.lane & 1:
            large = z is not None and (z[1] == real.INFINITY or z[1] >= 2)
            exact = real.scale(exact, SCALE[kind] if large else -SCALE[kind])
        return result(machine, form, exact)

    define(f"v_div_fmas_{kind}", kind, f"{kind} {kind} {kind}", lane, "lane")


div_fmas("f32")
div_fmas("f64")


def div_fixup(kind, name, *flags):
    form = FORMATS[kind]

    def lane(context, quotient, d, n):
        sign = (d ^ n) & form.sign
        if form.is_nan(n):
            return form.quiet(n)
        if form.is_nan(d):
            return form.quiet(d)
        infinite = [x & (form.sign - 1) == form.infinity for x in (d, n)]
        if form.is_zero(d) and form.is_zero(n) or all(infinite):
            return form.sign | form.nan
        if form.is_zero(d) or infinite[1]:
            return sign | form.infinity
        if infinite[0] or form.is_zero(n):
            return sign
        if form is not F16 and form.field(n) - form.field(d) < {F32: -150, F64: -1075}[form]:
            return sign
        if form.is_nan(quotient):
            return sign | form.infinity if form is not F16 else NOT_A_NUMBER
        return quotient & (form.sign - 1) | sign

    define(name, kind, f"{kind} {kind} {kind}", lane, *flags)


div_fixup("f32", "v_div_fixup_f32")
div_fixup("f64", "v_div_fixup_f64")
div_fixup("f16", "v_div_fixup_f16", "keep")
div_fixup("f16", "v_div_fixup_legacy_f16")


# ---- v_trig_preop_f64 ----

BITS = 1201


TWO_OVER_PI = (2 << 2 * BITS + 64) // pi_times(1 << BITS + 64)  # the first BITS bits behind the point


def trig_preop(context, a, segment):
    """53 bits of 2 / pi (MI300 pseudo-code); to nearest, denormals kept, whatever MODE says."""
    shift = (segment & 31) * 53
    exponent = F64.field(a)
    if exponent > 1077:
        shift += exponent - 1077
    fraction = (TWO_OVER_PI << shift & ((1 << BITS) - 1)) >> BITS - 53
    scale = -53 - shift + (128 if exponent >= 1968 else 0)
    return F64.encode((False, real.Fraction(fraction) * real.Fraction(2) ** scale))


define("v_trig_preop_f64", "f64", "f64 u32", trig_preop)
