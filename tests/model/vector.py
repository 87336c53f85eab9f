"""What vector ALU instructions do, from AMD's ISA manuals and docs/isa-decisions.md: one row per opcode.

A row is (result type, source types, function). Types: f16 f32 f64 are floating point, u16 u32 u64 anything else; functions take
a Mode and the bits of the sources and return bits. NaN results are any NaN of the result's format.
"""

from softfloat import *

M32, M64, M16 = 0xffffffff, 0xffffffffffffffff, 0xffff


class Mode:
    """The MODE register as the types see it."""

    def __init__(self, mode, target):
        self.bits, self.target = mode, target
        self.f16, self.f32, self.f64 = Env(F16, mode), Env(F32, mode), Env(F64, mode)
        self.before_gfx9 = target < 'gfx9'

    def of(self, kind):
        return {'f16': self.f16, 'f32': self.f32, 'f64': self.f64}[kind]


KEEP = 0xf0  # nearest, all denormals
FLUSH = Env(F32, 0xc0)  # v_mad_f32 and the transcendentals flush f32 denormals whatever MODE says


def flushing(m):
    return Env(F32, m.bits & ~0x30)


def s(x, bits=32):
    return x - (1 << bits) if x >> (bits - 1) & 1 else x


def clamp_int(x, low, high):
    return max(low, min(high, x))


def popcount(x):
    return bin(x).count('1')


def first_high(x, bits=32):  # v_ffbh_u32
    return bits - x.bit_length() if x else M32


def first_low(x):  # v_ffbl_b32
    return (x & -x).bit_length() - 1 if x else M32


def ffbh_i32(m, a):
    differing = (a ^ (M32 if a >> 31 else 0))
    return 32 - differing.bit_length() if differing else M32


def bytes_of(x):
    return [x >> 8 * i & 255 for i in range(4)]


def sad_u8(a, b):
    return sum(abs(x - y) for x, y in zip(bytes_of(a), bytes_of(b)))


def perm(m, a, b, select):
    data = [b >> 8 * i & 255 for i in range(4)] + [a >> 8 * i & 255 for i in range(4)]
    out = 0
    for i, sel in enumerate(bytes_of(select)):
        if sel > 12:
            byte = 255
        elif sel == 12:
            byte = 0
        elif sel >= 8:  # the sign of a 16-bit half: 8, 9 of the second operand, 10, 11 of the first
            byte = 255 if data[2 * (sel - 8) + 1] & 128 else 0
        else:
            byte = data[sel]
        out |= byte << 8 * i
    return out


def bfe(a, offset, width, signed):
    offset, width = offset & 31, width & 31
    if width == 0:
        return 0
    value = (s(a) if signed else a) >> offset
    value &= (1 << width) - 1
    return (s(value, width) if signed else value) & M32


def fract(env, a):
    f = env.fmt
    a = env.input(a)
    if f.is_nan(a) or f.is_inf(a):
        return f.nan
    down = to_integral(f, a, 'floor')
    result = add(env, a, down ^ f.sign)
    one = f.bias << f.fraction
    return result if less(f, result, one) else one - 1


def frexp_mant(f, a):
    if f.is_nan(a):
        return f.nan
    if f.is_inf(a) or f.is_zero(a):
        return a
    n, e = f.decode(a)
    return f.round(n, -abs(n).bit_length())


def frexp_exp(f, a):
    if f.is_nan(a) or f.is_inf(a) or f.is_zero(a):
        return 0
    n, e = f.decode(a)
    return abs(n).bit_length() + e


def ldexp(env, a, n):
    f = env.fmt
    a = env.input(a)
    if f.is_nan(a):
        return f.nan
    if f.is_inf(a) or f.is_zero(a):
        return a
    x, e = f.decode(a)
    return env.result(x, e + max(-5000, min(5000, n)))


def med3(m, env, a, b, c):
    f = env.fmt
    if f.is_nan(a) or f.is_nan(b) or f.is_nan(c):
        return min3(m, env, a, b, c, False)
    largest = min3(m, env, a, b, c, True)
    pair = lambda x, y: minimum(env, x, y, True, flush=not m.before_gfx9)
    if not m.before_gfx9:
        a, b, c = env.input(a), env.input(b), env.input(c)
    if equal(f, largest, a):
        return pair(b, c)
    if equal(f, largest, b):
        return pair(a, c)
    return pair(a, b)


def min3(m, env, a, b, c, is_max):
    """Processors before GFX9 do not flush operands of minimum and maximum."""
    flush = not m.before_gfx9
    return minimum(env, minimum(env, a, b, is_max, flush), c, is_max, flush)


def mul_legacy(env, a, b):
    if F32.is_zero(env.input(a)) or F32.is_zero(env.input(b)):
        return 0
    return mul(env, a, b)


def cvt_pknorm(a, signed):
    """The product is rounded to binary32, then to an integer; both to nearest-even."""
    if F32.is_nan(a):
        return 0
    one = 0x3f800000
    if a & F32.sign and not signed:
        return 0
    if not less(F32, a & 0x7fffffff, one):
        a = one | a & F32.sign
    product = mul(Env(F32, KEEP), a, F32.round(32767 if signed else 65535, 0))
    return to_int(F32, product, 32, True, 'rndne') & 0xffff


def cvt_f16_f32(m, a, round_mode=None):
    env = m.f16 if round_mode is None else Env(F16, KEEP | round_mode << 2)
    return convert(m.f32 if round_mode is None else Env(F32, KEEP), env, a)


def mad(env, a, b, c):
    return add(env, mul(env, a, b), c)


def pk(function):
    """A packed instruction from what it does to halves."""
    return lambda m, *args: function(m, *(a & M16 for a in args)) | function(m, *(a >> 16 for a in args)) << 16


def mad64(a, b, c, signed):
    return ((s(a) * s(b) + s(c, 64)) if signed else a * b + c) & M64


def i24(x):
    return s(x & 0xffffff, 24)


def div_fixup(f, quotient, d, n):
    sign = (d ^ n) & f.sign
    if f.is_nan(n) or f.is_nan(d) or (f.is_zero(d) and f.is_zero(n)) or (f.is_inf(d) and f.is_inf(n)):
        return f.nan
    if f.is_zero(d) or f.is_inf(n):
        return sign | f.inf
    if f.is_inf(d) or f.is_zero(n):
        return sign
    exponent = lambda x: x >> f.fraction & ((1 << f.exponent) - 1)
    if f is not F16 and exponent(n) - exponent(d) < (-150 if f is F32 else -1075):
        return sign
    if f.is_nan(quotient):
        return sign | f.inf if f is not F16 else f.nan
    return quotient & ~f.sign | sign


def dot(a, b, c, bits, signed):
    total = s(c) if signed else c
    for i in range(32 // bits):
        x, y = a >> bits * i & ((1 << bits) - 1), b >> bits * i & ((1 << bits) - 1)
        total += s(x, bits) * s(y, bits) if signed else x * y
    return total & M32


def shift64(a, n, how):
    n &= 63
    return (a << n if how == 'l' else a >> n if how == 'r' else s(a, 64) >> n) & M64


# v_floor and friends flush their input; v_min and v_max do not before GFX9.
def integral(kind, how):
    return kind, [kind], lambda m, a: to_integral(m.of(kind).fmt, m.of(kind).input(a), how)


def min_max(kind, is_max):
    return kind, [kind, kind], lambda m, a, b: minimum(m.of(kind), a, b, is_max, flush=not m.before_gfx9)


MODELS = {
    # VOP1
    'v_mov_b32': ('u32', ['u32'], lambda m, a: a),
    'v_not_b32': ('u32', ['u32'], lambda m, a: ~a & M32),
    'v_bfrev_b32': ('u32', ['u32'], lambda m, a: int(f'{a:032b}'[::-1], 2)),
    'v_ffbh_u32': ('u32', ['u32'], lambda m, a: first_high(a)),
    'v_ffbl_b32': ('u32', ['u32'], lambda m, a: first_low(a)),
    'v_ffbh_i32': ('u32', ['u32'], ffbh_i32),
    'v_cvt_f32_i32': ('f32', ['u32'], lambda m, a: from_int(m.f32, s(a))),
    'v_cvt_f32_u32': ('f32', ['u32'], lambda m, a: from_int(m.f32, a)),
    'v_cvt_f64_i32': ('f64', ['u32'], lambda m, a: from_int(m.f64, s(a))),
    'v_cvt_f64_u32': ('f64', ['u32'], lambda m, a: from_int(m.f64, a)),
    'v_cvt_i32_f32': ('u32', ['f32'], lambda m, a: to_int(F32, a, 32, True)),
    'v_cvt_u32_f32': ('u32', ['f32'], lambda m, a: to_int(F32, a, 32, False)),
    'v_cvt_i32_f64': ('u32', ['f64'], lambda m, a: to_int(F64, a, 32, True)),
    'v_cvt_u32_f64': ('u32', ['f64'], lambda m, a: to_int(F64, a, 32, False)),
    'v_cvt_flr_i32_f32': ('u32', ['f32'], lambda m, a: to_int(F32, m.f32.input(a), 32, True, 'floor')),
    'v_cvt_rpi_i32_f32': ('u32', ['f32'],
                          lambda m, a: to_int(F32, add(m.f32, a, 0x3f000000), 32, True, 'floor')),
    'v_cvt_f16_f32': ('f16', ['f32'], lambda m, a: cvt_f16_f32(m, a)),
    'v_cvt_f32_f16': ('f32', ['f16'], lambda m, a: convert(m.f16, Env(F32, KEEP), a)),
    'v_cvt_f32_f64': ('f32', ['f64'], lambda m, a: convert(Env(F64, KEEP), m.f32, a)),
    'v_cvt_f64_f32': ('f64', ['f32'], lambda m, a: convert(m.f32, Env(F64, KEEP), a)),
    'v_cvt_off_f32_i4': ('f32', ['u32'], lambda m, a: F32.round(s(a & 15, 4), -4)),
    'v_cvt_f16_u16': ('f16', ['u16'], lambda m, a: from_int(m.f16, a)),
    'v_cvt_f16_i16': ('f16', ['u16'], lambda m, a: from_int(m.f16, s(a, 16))),
    'v_cvt_u16_f16': ('u16', ['f16'], lambda m, a: to_int(F16, a, 16, False)),
    'v_cvt_i16_f16': ('u16', ['f16'], lambda m, a: to_int(F16, a, 16, True)),
    'v_sqrt_f32': ('f32', ['f32'], lambda m, a: sqrt(FLUSH, a)),
    'v_rcp_f32': ('f32', ['f32'], lambda m, a: div(FLUSH, 0x3f800000, a)),
    'v_rcp_iflag_f32': ('f32', ['f32'], lambda m, a: div(FLUSH, 0x3f800000, a)),
    'v_rsq_f32': ('f32', ['f32'], lambda m, a: div(FLUSH, 0x3f800000, sqrt(FLUSH, a))),
    'v_fract_f32': ('f32', ['f32'], lambda m, a: fract(m.f32, a)),
    'v_fract_f64': ('f64', ['f64'], lambda m, a: fract(m.f64, a)),
    'v_fract_f16': ('f16', ['f16'], lambda m, a: fract(m.f16, a)),
    'v_frexp_mant_f32': ('f32', ['f32'], lambda m, a: frexp_mant(F32, a)),
    'v_frexp_mant_f64': ('f64', ['f64'], lambda m, a: frexp_mant(F64, a)),
    'v_frexp_mant_f16': ('f16', ['f16'], lambda m, a: frexp_mant(F16, a)),
    'v_frexp_exp_i32_f32': ('u32', ['f32'], lambda m, a: frexp_exp(F32, a) & M32),
    'v_frexp_exp_i32_f64': ('u32', ['f64'], lambda m, a: frexp_exp(F64, a) & M32),
    'v_frexp_exp_i16_f16': ('u16', ['f16'], lambda m, a: frexp_exp(F16, a) & M16),
    'v_sat_pk_u8_i16': ('u16', ['u32'], lambda m, a: clamp_int(s(a & M16, 16), 0, 255) |
                        clamp_int(s(a >> 16, 16), 0, 255) << 8),
    # VOP2
    'v_add_f32': ('f32', ['f32', 'f32'], lambda m, a, b: add(m.f32, a, b)),
    'v_sub_f32': ('f32', ['f32', 'f32'], lambda m, a, b: add(m.f32, a, b ^ F32.sign)),
    'v_subrev_f32': ('f32', ['f32', 'f32'], lambda m, a, b: add(m.f32, b, a ^ F32.sign)),
    'v_mul_f32': ('f32', ['f32', 'f32'], lambda m, a, b: mul(m.f32, a, b)),
    'v_mul_legacy_f32': ('f32', ['f32', 'f32'], lambda m, a, b: mul_legacy(m.f32, a, b)),
    'v_add_f16': ('f16', ['f16', 'f16'], lambda m, a, b: add(m.f16, a, b)),
    'v_sub_f16': ('f16', ['f16', 'f16'], lambda m, a, b: add(m.f16, a, b ^ F16.sign)),
    'v_subrev_f16': ('f16', ['f16', 'f16'], lambda m, a, b: add(m.f16, b, a ^ F16.sign)),
    'v_mul_f16': ('f16', ['f16', 'f16'], lambda m, a, b: mul(m.f16, a, b)),
    'v_mul_i32_i24': ('u32', ['u32', 'u32'], lambda m, a, b: i24(a) * i24(b) & M32),
    'v_mul_hi_i32_i24': ('u32', ['u32', 'u32'], lambda m, a, b: i24(a) * i24(b) >> 32 & M32),
    'v_mul_u32_u24': ('u32', ['u32', 'u32'], lambda m, a, b: (a & 0xffffff) * (b & 0xffffff) & M32),
    'v_mul_hi_u32_u24': ('u32', ['u32', 'u32'], lambda m, a, b: (a & 0xffffff) * (b & 0xffffff) >> 32),
    'v_min_i32': ('u32', ['u32', 'u32'], lambda m, a, b: min(s(a), s(b)) & M32),
    'v_max_i32': ('u32', ['u32', 'u32'], lambda m, a, b: max(s(a), s(b)) & M32),
    'v_min_u32': ('u32', ['u32', 'u32'], lambda m, a, b: min(a, b)),
    'v_max_u32': ('u32', ['u32', 'u32'], lambda m, a, b: max(a, b)),
    'v_lshrrev_b32': ('u32', ['u32', 'u32'], lambda m, a, b: b >> (a & 31)),
    'v_ashrrev_i32': ('u32', ['u32', 'u32'], lambda m, a, b: s(b) >> (a & 31) & M32),
    'v_lshlrev_b32': ('u32', ['u32', 'u32'], lambda m, a, b: b << (a & 31) & M32),
    'v_and_b32': ('u32', ['u32', 'u32'], lambda m, a, b: a & b),
    'v_or_b32': ('u32', ['u32', 'u32'], lambda m, a, b: a | b),
    'v_xor_b32': ('u32', ['u32', 'u32'], lambda m, a, b: a ^ b),
    'v_xnor_b32': ('u32', ['u32', 'u32'], lambda m, a, b: ~(a ^ b) & M32),
    'v_add_u32': ('u32', ['u32', 'u32'], lambda m, a, b: a + b & M32),
    'v_sub_u32': ('u32', ['u32', 'u32'], lambda m, a, b: a - b & M32),
    'v_subrev_u32': ('u32', ['u32', 'u32'], lambda m, a, b: b - a & M32),
    'v_add_u16': ('u16', ['u16', 'u16'], lambda m, a, b: a + b & M16),
    'v_sub_u16': ('u16', ['u16', 'u16'], lambda m, a, b: a - b & M16),
    'v_subrev_u16': ('u16', ['u16', 'u16'], lambda m, a, b: b - a & M16),
    'v_mul_lo_u16': ('u16', ['u16', 'u16'], lambda m, a, b: a * b & M16),
    'v_lshlrev_b16': ('u16', ['u16', 'u16'], lambda m, a, b: b << (a & 15) & M16),
    'v_lshrrev_b16': ('u16', ['u16', 'u16'], lambda m, a, b: b >> (a & 15)),
    'v_ashrrev_i16': ('u16', ['u16', 'u16'], lambda m, a, b: s(b, 16) >> (a & 15) & M16),
    'v_max_u16': ('u16', ['u16', 'u16'], lambda m, a, b: max(a, b)),
    'v_min_u16': ('u16', ['u16', 'u16'], lambda m, a, b: min(a, b)),
    'v_max_i16': ('u16', ['u16', 'u16'], lambda m, a, b: max(s(a, 16), s(b, 16)) & M16),
    'v_min_i16': ('u16', ['u16', 'u16'], lambda m, a, b: min(s(a, 16), s(b, 16)) & M16),
    'v_ldexp_f16': ('f16', ['f16', 'u16'], lambda m, a, b: ldexp(m.f16, a, s(b, 16))),
    'v_ldexp_f32': ('f32', ['f32', 'u32'], lambda m, a, b: ldexp(m.f32, a, s(b))),
    'v_ldexp_f64': ('f64', ['f64', 'u32'], lambda m, a, b: ldexp(m.f64, a, s(b))),
    'v_bcnt_u32_b32': ('u32', ['u32', 'u32'], lambda m, a, b: popcount(a) + b & M32),
    'v_bfm_b32': ('u32', ['u32', 'u32'], lambda m, a, b: ((1 << (a & 31)) - 1) << (b & 31) & M32),
    'v_cvt_pknorm_i16_f32': ('u32', ['f32', 'f32'],
                             lambda m, a, b: cvt_pknorm(a, True) | cvt_pknorm(b, True) << 16),
    'v_cvt_pknorm_u16_f32': ('u32', ['f32', 'f32'],
                             lambda m, a, b: cvt_pknorm(a, False) | cvt_pknorm(b, False) << 16),
    'v_cvt_pk_u16_u32': ('u32', ['u32', 'u32'], lambda m, a, b: min(a, 65535) | min(b, 65535) << 16),
    'v_cvt_pk_i16_i32': ('u32', ['u32', 'u32'], lambda m, a, b: (clamp_int(s(a), -32768, 32767) & M16) |
                         (clamp_int(s(b), -32768, 32767) & M16) << 16),
    # VOP3
    'v_mad_f32': ('f32', ['f32'] * 3, lambda m, a, b, c: mad(flushing(m), a, b, c)),
    'v_mad_legacy_f32': ('f32', ['f32'] * 3,
                         lambda m, a, b, c: add(flushing(m), mul_legacy(flushing(m), a, b), c)),
    'v_mad_i32_i24': ('u32', ['u32'] * 3, lambda m, a, b, c: i24(a) * i24(b) + c & M32),
    'v_mad_u32_u24': ('u32', ['u32'] * 3, lambda m, a, b, c: (a & 0xffffff) * (b & 0xffffff) + c & M32),
    'v_bfe_u32': ('u32', ['u32'] * 3, lambda m, a, b, c: bfe(a, b, c, False)),
    'v_bfe_i32': ('u32', ['u32'] * 3, lambda m, a, b, c: bfe(a, b, c, True)),
    'v_bfi_b32': ('u32', ['u32'] * 3, lambda m, a, b, c: a & b | ~a & c & M32),
    'v_fma_f32': ('f32', ['f32'] * 3, lambda m, a, b, c: fma(m.f32, a, b, c)),
    'v_fma_f64': ('f64', ['f64'] * 3, lambda m, a, b, c: fma(m.f64, a, b, c)),
    'v_fma_f16': ('f16', ['f16'] * 3, lambda m, a, b, c: fma(m.f16, a, b, c)),
    'v_mad_f16': ('f16', ['f16'] * 3, lambda m, a, b, c: mad(m.f16, a, b, c)),
    'v_lerp_u8': ('u32', ['u32'] * 3, lambda m, a, b, c: sum(
        (x + y + (z & 1) >> 1) << 8 * i for i, (x, y, z) in enumerate(zip(bytes_of(a), bytes_of(b), bytes_of(c))))),
    'v_alignbit_b32': ('u32', ['u32'] * 3, lambda m, a, b, c: (a << 32 | b) >> (c & 31) & M32),
    'v_alignbyte_b32': ('u32', ['u32'] * 3, lambda m, a, b, c: (a << 32 | b) >> 8 * (c & 3) & M32),
    'v_min3_f32': ('f32', ['f32'] * 3, lambda m, a, b, c: min3(m, m.f32, a, b, c, False)),
    'v_max3_f32': ('f32', ['f32'] * 3, lambda m, a, b, c: min3(m, m.f32, a, b, c, True)),
    'v_med3_f32': ('f32', ['f32'] * 3, lambda m, a, b, c: med3(m, m.f32, a, b, c)),
    'v_min3_f16': ('f16', ['f16'] * 3, lambda m, a, b, c: min3(m, m.f16, a, b, c, False)),
    'v_max3_f16': ('f16', ['f16'] * 3, lambda m, a, b, c: min3(m, m.f16, a, b, c, True)),
    'v_med3_f16': ('f16', ['f16'] * 3, lambda m, a, b, c: med3(m, m.f16, a, b, c)),
    'v_min3_i32': ('u32', ['u32'] * 3, lambda m, a, b, c: min(s(a), s(b), s(c)) & M32),
    'v_max3_i32': ('u32', ['u32'] * 3, lambda m, a, b, c: max(s(a), s(b), s(c)) & M32),
    'v_med3_i32': ('u32', ['u32'] * 3, lambda m, a, b, c: sorted([s(a), s(b), s(c)])[1] & M32),
    'v_min3_u32': ('u32', ['u32'] * 3, lambda m, a, b, c: min(a, b, c)),
    'v_max3_u32': ('u32', ['u32'] * 3, lambda m, a, b, c: max(a, b, c)),
    'v_med3_u32': ('u32', ['u32'] * 3, lambda m, a, b, c: sorted([a, b, c])[1]),
    'v_min3_i16': ('u16', ['u16'] * 3, lambda m, a, b, c: min(s(a, 16), s(b, 16), s(c, 16)) & M16),
    'v_max3_i16': ('u16', ['u16'] * 3, lambda m, a, b, c: max(s(a, 16), s(b, 16), s(c, 16)) & M16),
    'v_med3_i16': ('u16', ['u16'] * 3, lambda m, a, b, c: sorted([s(a, 16), s(b, 16), s(c, 16)])[1] & M16),
    'v_min3_u16': ('u16', ['u16'] * 3, lambda m, a, b, c: min(a, b, c)),
    'v_max3_u16': ('u16', ['u16'] * 3, lambda m, a, b, c: max(a, b, c)),
    'v_med3_u16': ('u16', ['u16'] * 3, lambda m, a, b, c: sorted([a, b, c])[1]),
    'v_sad_u8': ('u32', ['u32'] * 3, lambda m, a, b, c: sad_u8(a, b) + c & M32),
    'v_sad_hi_u8': ('u32', ['u32'] * 3, lambda m, a, b, c: (sad_u8(a, b) << 16) + c & M32),
    'v_sad_u16': ('u32', ['u32'] * 3,
                  lambda m, a, b, c: abs((a & M16) - (b & M16)) + abs((a >> 16) - (b >> 16)) + c & M32),
    'v_sad_u32': ('u32', ['u32'] * 3, lambda m, a, b, c: abs(a - b) + c & M32),
    'v_msad_u8': ('u32', ['u32'] * 3, lambda m, a, b, c: sum(
        abs(x - y) for x, y in zip(bytes_of(a), bytes_of(b)) if y) + c & M32),
    'v_cvt_pk_u8_f32': ('u32', ['f32', 'u32', 'u32'], lambda m, a, b, c:
                        c & ~(255 << 8 * (b & 3)) | min(255, to_int(F32, a, 32, False, 'rndne')) << 8 * (b & 3)),
    'v_div_fixup_f32': ('f32', ['f32'] * 3, lambda m, a, b, c: div_fixup(F32, a, b, c)),
    'v_div_fixup_f64': ('f64', ['f64'] * 3, lambda m, a, b, c: div_fixup(F64, a, b, c)),
    'v_perm_b32': ('u32', ['u32'] * 3, perm),
    'v_mad_u32_u16': ('u32', ['u16', 'u16', 'u32'], lambda m, a, b, c: a * b + c & M32),
    'v_mad_i32_i16': ('u32', ['u16', 'u16', 'u32'], lambda m, a, b, c: s(a, 16) * s(b, 16) + c & M32),
    'v_mad_u16': ('u16', ['u16'] * 3, lambda m, a, b, c: a * b + c & M16),
    'v_mad_i16': ('u16', ['u16'] * 3, lambda m, a, b, c: a * b + c & M16),
    'v_xad_u32': ('u32', ['u32'] * 3, lambda m, a, b, c: (a ^ b) + c & M32),
    'v_lshl_add_u32': ('u32', ['u32'] * 3, lambda m, a, b, c: (a << (b & 31)) + c & M32),
    'v_add_lshl_u32': ('u32', ['u32'] * 3, lambda m, a, b, c: (a + b & M32) << (c & 31) & M32),
    'v_add3_u32': ('u32', ['u32'] * 3, lambda m, a, b, c: a + b + c & M32),
    'v_lshl_or_b32': ('u32', ['u32'] * 3, lambda m, a, b, c: a << (b & 31) & M32 | c),
    'v_and_or_b32': ('u32', ['u32'] * 3, lambda m, a, b, c: a & b | c),
    'v_or3_b32': ('u32', ['u32'] * 3, lambda m, a, b, c: a | b | c),
    'v_add_f64': ('f64', ['f64', 'f64'], lambda m, a, b: add(m.f64, a, b)),
    'v_mul_f64': ('f64', ['f64', 'f64'], lambda m, a, b: mul(m.f64, a, b)),
    'v_mul_lo_u32': ('u32', ['u32', 'u32'], lambda m, a, b: a * b & M32),
    'v_mul_hi_u32': ('u32', ['u32', 'u32'], lambda m, a, b: a * b >> 32),
    'v_mul_hi_i32': ('u32', ['u32', 'u32'], lambda m, a, b: s(a) * s(b) >> 32 & M32),
    'v_lshlrev_b64': ('u64', ['u32', 'u64'], lambda m, a, b: shift64(b, a, 'l')),
    'v_lshrrev_b64': ('u64', ['u32', 'u64'], lambda m, a, b: shift64(b, a, 'r')),
    'v_ashrrev_i64': ('u64', ['u32', 'u64'], lambda m, a, b: shift64(b, a, 'a')),
    'v_add_i32': ('u32', ['u32', 'u32'], lambda m, a, b: a + b & M32),
    'v_sub_i32': ('u32', ['u32', 'u32'], lambda m, a, b: a - b & M32),
    'v_add_i16': ('u16', ['u16', 'u16'], lambda m, a, b: a + b & M16),
    'v_sub_i16': ('u16', ['u16', 'u16'], lambda m, a, b: a - b & M16),
    # VOP3P
    'v_pk_mad_i16': ('u32', ['u32'] * 3, pk(lambda m, a, b, c: a * b + c & M16)),
    'v_pk_mad_u16': ('u32', ['u32'] * 3, pk(lambda m, a, b, c: a * b + c & M16)),
    'v_pk_mul_lo_u16': ('u32', ['u32'] * 2, pk(lambda m, a, b: a * b & M16)),
    'v_pk_add_i16': ('u32', ['u32'] * 2, pk(lambda m, a, b: a + b & M16)),
    'v_pk_add_u16': ('u32', ['u32'] * 2, pk(lambda m, a, b: a + b & M16)),
    'v_pk_sub_i16': ('u32', ['u32'] * 2, pk(lambda m, a, b: a - b & M16)),
    'v_pk_sub_u16': ('u32', ['u32'] * 2, pk(lambda m, a, b: a - b & M16)),
    'v_pk_lshlrev_b16': ('u32', ['u32'] * 2, pk(lambda m, a, b: b << (a & 15) & M16)),
    'v_pk_lshrrev_b16': ('u32', ['u32'] * 2, pk(lambda m, a, b: b >> (a & 15))),
    'v_pk_ashrrev_i16': ('u32', ['u32'] * 2, pk(lambda m, a, b: s(b, 16) >> (a & 15) & M16)),
    'v_pk_max_i16': ('u32', ['u32'] * 2, pk(lambda m, a, b: max(s(a, 16), s(b, 16)) & M16)),
    'v_pk_min_i16': ('u32', ['u32'] * 2, pk(lambda m, a, b: min(s(a, 16), s(b, 16)) & M16)),
    'v_pk_max_u16': ('u32', ['u32'] * 2, pk(lambda m, a, b: max(a, b))),
    'v_pk_min_u16': ('u32', ['u32'] * 2, pk(lambda m, a, b: min(a, b))),
    'v_dot2_i32_i16': ('u32', ['u32'] * 3, lambda m, a, b, c: dot(a, b, c, 16, True)),
    'v_dot2_u32_u16': ('u32', ['u32'] * 3, lambda m, a, b, c: dot(a, b, c, 16, False)),
    'v_dot4_i32_i8': ('u32', ['u32'] * 3, lambda m, a, b, c: dot(a, b, c, 8, True)),
    'v_dot4_u32_u8': ('u32', ['u32'] * 3, lambda m, a, b, c: dot(a, b, c, 8, False)),
    'v_dot8_i32_i4': ('u32', ['u32'] * 3, lambda m, a, b, c: dot(a, b, c, 4, True)),
    'v_dot8_u32_u4': ('u32', ['u32'] * 3, lambda m, a, b, c: dot(a, b, c, 4, False)),
}
for i in range(4):
    MODELS[f'v_cvt_f32_ubyte{i}'] = ('f32', ['u32'], lambda m, a, i=i: from_int(m.f32, a >> 8 * i & 255))
for kind in ('f16', 'f32', 'f64'):
    for how in ('floor', 'ceil', 'trunc', 'rndne'):
        MODELS[f'v_{how}_{kind}'] = integral(kind, how)
    MODELS[f'v_min_{kind}'], MODELS[f'v_max_{kind}'] = min_max(kind, False), min_max(kind, True)

# Instructions with 16-bit results that leave the other half alone on GFX9 (docs/isa-decisions.md, "16-bit results").
KEEPS_HIGH = {'v_mad_f16', 'v_mad_u16', 'v_mad_i16', 'v_fma_f16', 'v_min3_f16', 'v_max3_f16', 'v_med3_f16',
              'v_min3_i16', 'v_max3_i16', 'v_med3_i16', 'v_min3_u16', 'v_max3_u16', 'v_med3_u16', 'v_add_i16',
              'v_sub_i16'}


# Compares: (source type, function of the two sources).
def compares():
    float_conditions = {
        'f': lambda u, l, e, g: False, 'lt': lambda u, l, e, g: l, 'eq': lambda u, l, e, g: e,
        'le': lambda u, l, e, g: l or e, 'gt': lambda u, l, e, g: g, 'lg': lambda u, l, e, g: l or g,
        'ge': lambda u, l, e, g: g or e, 'o': lambda u, l, e, g: not u, 'u': lambda u, l, e, g: u,
        'nge': lambda u, l, e, g: not (g or e), 'nlg': lambda u, l, e, g: not (l or g),
        'ngt': lambda u, l, e, g: not g, 'nle': lambda u, l, e, g: not (l or e), 'neq': lambda u, l, e, g: not e,
        'nlt': lambda u, l, e, g: not l, 'tru': lambda u, l, e, g: True}
    table = {}
    for kind in ('f16', 'f32', 'f64'):
        for name, condition in float_conditions.items():
            def compare(m, a, b, kind=kind, condition=condition):
                env = m.of(kind)
                f, a, b = env.fmt, env.input(a), env.input(b)
                if f.is_nan(a) or f.is_nan(b):
                    return condition(True, False, False, False)
                return condition(False, less(f, a, b), equal(f, a, b), less(f, b, a))
            table[f'v_cmp_{name}_{kind}'] = (kind, kind, compare)
        def classify(m, a, b, kind=kind):
            f = m.of(kind).fmt
            negative = bool(a & f.sign)
            if f.is_nan(a):
                bit = 0 if f.is_signalling(a) else 1
            elif f.is_inf(a):
                bit = 2 if negative else 9
            elif f.is_zero(a):
                bit = 5 if negative else 6
            elif f.is_denormal(a):
                bit = 4 if negative else 7
            else:
                bit = 3 if negative else 8
            return bool(b >> bit & 1)
        table[f'v_cmp_class_{kind}'] = (kind, 'u32', classify)
    for bits in (16, 32, 64):
        for letter in 'iu':
            value = (lambda x, bits=bits: s(x, bits)) if letter == 'i' else (lambda x: x)
            for name, condition in {'f': lambda a, b: False, 'lt': lambda a, b: a < b, 'eq': lambda a, b: a == b,
                                    'le': lambda a, b: a <= b, 'gt': lambda a, b: a > b, 'ne': lambda a, b: a != b,
                                    'ge': lambda a, b: a >= b, 't': lambda a, b: True}.items():
                table[f'v_cmp_{name}_{letter}{bits}'] = (
                    f'u{bits}', f'u{bits}', lambda m, a, b, v=value, c=condition: c(v(a), v(b)))
    return table


COMPARES = compares()
