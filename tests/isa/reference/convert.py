"""Conversions. GCN3, Vega and MI300 ISA manuals, V_CVT_*; docs/isa-decisions.md, "Floating point"."""
from fractions import Fraction

import real
from real import F16, F32, F64
from vector import FORMATS, NOT_A_NUMBER, define, signed
from vector_float import HALF, operand, result


def to_int(name, kind, low, high, result_kind, *flags):
    define(name, result_kind, kind, lambda c, a: real.to_integer(operand(c.machine, FORMATS[kind], a), low, high), *flags)


for kind in ("f32", "f64"):
    to_int(f"v_cvt_i32_{kind}", kind, -(1 << 31), (1 << 31) - 1, "i32")
    to_int(f"v_cvt_u32_{kind}", kind, 0, (1 << 32) - 1, "u32")
to_int("v_cvt_i16_f16", "f16", -32768, 32767, "i16")
to_int("v_cvt_u16_f16", "f16", 0, 65535, "u16")


def rounded_up(context, a):
    x = operand(context.machine, F32, a)
    total = real.add(x, (False, HALF), context.machine.rounding(F32))
    total = None if total is None else F32.value(result(context.machine, F32, total))
    return real.to_integer(total, -(1 << 31), (1 << 31) - 1, real.DOWN)


define("v_cvt_rpi_i32_f32", "i32", "f32", rounded_up)
define("v_cvt_flr_i32_f32", "i32", "f32", lambda c, a: real.to_integer(operand(c.machine, F32, a), -(1 << 31), (1 << 31) - 1, real.DOWN))

# ---- From integers ----


def from_int(name, kind, source, value):
    define(name, kind, source, lambda c, a: result(c.machine, FORMATS[kind], real.of_integer(value(a))))


for kind in ("f32", "f64"):
    from_int(f"v_cvt_{kind}_i32", kind, "i32", lambda a: signed(a, 32))
    from_int(f"v_cvt_{kind}_u32", kind, "u32", int)
from_int("v_cvt_f16_i16", "f16", "i16", lambda a: signed(a, 16))
from_int("v_cvt_f16_u16", "f16", "u16", int)
for byte in range(4):
    from_int(f"v_cvt_f32_ubyte{byte}", "f32", "u32", lambda a, byte=byte: a >> 8 * byte & 0xFF)
define("v_cvt_off_f32_i4", "f32", "u32", lambda c, a: F32.encode(real.scale(real.of_integer(signed(a & 15, 4)), -4)))

# ---- Between floating-point formats ----

define("v_cvt_f32_f16", "f32", "f16", lambda c, a: result_kept(F32, operand(c.machine, F16, a)))
define("v_cvt_f64_f32", "f64", "f32", lambda c, a: result_kept(F64, operand(c.machine, F32, a)))
define("v_cvt_f32_f64", "f32", "f64", lambda c, a: result(c.machine, F32, operand(c.machine, F64, a)))
define("v_cvt_f16_f32", "f16", "f32", lambda c, a: result(c.machine, F16, operand(c.machine, F32, a)))
define("v_cvt_pkrtz_f16_f32", "u32", "f32 f32", lambda c, a, b: toward_zero(c, a) | toward_zero(c, b) << 16)


def result_kept(form, number):
    return NOT_A_NUMBER if number is None else form.encode(number)


def toward_zero(context, a):
    return F16.encode(operand(context.machine, F32, a), real.ZERO)


# ---- To normalised numbers and bytes ----


def normalized(number, most, is_signed):
    """Clamped, times 32767 or 65535 rounded to f32, then to an integer, both to nearest even."""
    if number is None:
        return 0
    low = -1 if is_signed else 0
    value = Fraction(low if number[0] else 1) if number[1] == real.INFINITY else min(max(real.signed(number), Fraction(low)), Fraction(1))
    product = F32.value(F32.encode((value < 0, abs(value) * most)))
    return real.to_integer(product, -most, most, real.NEAREST) & 0xFFFF


def pair(name, kind, most, is_signed):
    form = FORMATS[kind]

    def lane(context, a, b):
        low, high = (normalized(operand(context.machine, form, x), most, is_signed) for x in (a, b))
        return low | high << 16

    define(name, "u32", f"{kind} {kind}", lane)


for kind in ("f16", "f32"):
    pair(f"v_cvt_pknorm_i16_{kind}", kind, 32767, True)
    pair(f"v_cvt_pknorm_u16_{kind}", kind, 65535, False)
define("v_cvt_norm_i16_f16", "u16", "f16", lambda c, a: normalized(operand(c.machine, F16, a), 32767, True))
define("v_cvt_norm_u16_f16", "u16", "f16", lambda c, a: normalized(operand(c.machine, F16, a), 65535, False))


def inserted_byte(context, a, b, d):
    byte = real.to_integer(operand(context.machine, F32, a), 0, 255, real.NEAREST)
    shift = 8 * (b & 3)
    return d & ~(0xFF << shift) | byte << shift


define("v_cvt_pk_u8_f32", "u32", "f32 u32 u32", inserted_byte)
define("v_cvt_pkaccum_u8_f32", "u32", "f32 u32 u32", inserted_byte, "accumulate")
