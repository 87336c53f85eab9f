"""Exact arithmetic of binary16, binary32 and binary64 under GCN's MODE, on Python integers.

A number is decoded to (sign, n, e), which stands for n * 2**e; sums, products and fused operations are exact, and one function
rounds. Nothing here uses the host's floating point.
"""

import math

NEAREST, UP, DOWN, ZERO = 0, 1, 2, 3  # MODE.round (Vega ISA manual, "MODE register")


class Format:
    def __init__(self, bits, fraction):
        self.bits, self.fraction = bits, fraction
        self.exponent = bits - 1 - fraction
        self.bias = (1 << (self.exponent - 1)) - 1
        self.sign = 1 << (bits - 1)
        self.inf = ((1 << self.exponent) - 1) << fraction
        self.mask = (1 << bits) - 1
        self.quiet = 1 << (fraction - 1)
        self.nan = self.inf | self.quiet
        self.least = 1 - self.bias - fraction  # exponent of the least denormal
        self.max_finite = self.inf - 1

    def is_nan(self, x):
        return x & ~self.sign & self.mask > self.inf

    def is_signalling(self, x):
        return self.is_nan(x) and not x & self.quiet

    def is_inf(self, x):
        return x & ~self.sign & self.mask == self.inf

    def is_zero(self, x):
        return x & ~self.sign & self.mask == 0

    def is_denormal(self, x):
        magnitude = x & ~self.sign & self.mask
        return 0 < magnitude < 1 << self.fraction

    def is_negative(self, x):
        return bool(x & self.sign)

    def flush(self, x):
        return x & self.sign if self.is_denormal(x) else x

    def decode(self, x):
        """(n, e) of a finite number, n signed."""
        exponent = (x >> self.fraction) & ((1 << self.exponent) - 1)
        n = x & ((1 << self.fraction) - 1)
        if exponent:
            n |= 1 << self.fraction
        else:
            exponent = 1
        return (-n if x & self.sign else n), exponent - self.bias - self.fraction

    def round(self, n, e, mode=NEAREST, negative_zero=False, sticky=False, flush=False):
        """n * 2**e (and a little more in magnitude if sticky) as bits. flush: denormal results become zeros, denormal being
        what is smaller than the least normal number after rounding with an unbounded exponent, as on x86; for binary16 with
        the format's own."""
        if n == 0 and not sticky:
            return self.sign if negative_zero else 0
        negative = n < 0
        n = -n if negative else n
        sign = self.sign if negative else 0
        # Two more bits, the last of them standing for all below.
        n, e = n << 2 | sticky, e - 2

        def rounded(n, e, least):
            """To self.fraction + 1 bits, or fewer where the exponent would be below `least`."""
            shift = max(n.bit_length() - (self.fraction + 1), least - e)
            if shift <= 0:
                return n << -shift, e + shift
            rest, n = n & ((1 << shift) - 1), n >> shift
            half = 1 << (shift - 1)
            if mode == NEAREST:
                up = rest > half or (rest == half and n & 1)
            else:
                up = rest != 0 and mode == (DOWN if negative else UP)
            return n + up, e + shift

        if flush:
            m, f = rounded(n, e, -1 << 20 if self.bits != 16 else self.least)
            if m.bit_length() + f < 2 - self.bias:
                return sign
        n, e = rounded(n, e, self.least)
        if n.bit_length() > self.fraction + 1:
            n, e = n >> 1, e + 1
        exponent = 0 if n < 1 << self.fraction else e + self.fraction + self.bias
        if exponent >= (1 << self.exponent) - 1:
            to_inf = mode == NEAREST or mode == (DOWN if negative else UP)
            return sign | (self.inf if to_inf else self.max_finite)
        return sign | exponent << self.fraction | n & ((1 << self.fraction) - 1)


F16, F32, F64 = Format(16, 10), Format(32, 23), Format(64, 52)


class Env:
    """Rounding and denormals of one type, from MODE."""

    def __init__(self, fmt, mode):
        self.fmt = fmt
        self.round = mode & 3 if fmt is F32 else mode >> 2 & 3
        denormals = mode >> 4 & 3 if fmt is F32 else mode >> 6 & 3
        self.flush_in, self.flush_out = not denormals & 1, not denormals & 2
        self.ieee, self.dx10_clamp = mode >> 9 & 1, mode >> 8 & 1

    def input(self, x):
        return self.fmt.flush(x) if self.flush_in else x

    def result(self, n, e, negative_zero=False, sticky=False):
        return self.fmt.round(n, e, self.round, negative_zero, sticky, self.flush_out)


def fma(env, a, b, c):
    """a * b + c, rounded once."""
    f = env.fmt
    a, b, c = env.input(a), env.input(b), env.input(c)
    if f.is_nan(a) or f.is_nan(b) or f.is_nan(c):
        return f.nan
    sign = (a ^ b) & f.sign
    if f.is_inf(a) or f.is_inf(b):
        if f.is_zero(a) or f.is_zero(b) or (f.is_inf(c) and (c ^ sign) & f.sign):
            return f.nan
        return sign | f.inf
    if f.is_inf(c):
        return c
    (na, ea), (nb, eb), (nc, ec) = f.decode(a), f.decode(b), f.decode(c)
    product, e = na * nb, ea + eb
    low = min(e, ec)
    total = (product << (e - low)) + (nc << (ec - low))
    if total == 0:
        if product == 0 and nc == 0 and sign == c & f.sign:
            return sign
        return f.sign if env.round == DOWN else 0
    return env.result(total, low)


def mul(env, a, b):
    f = env.fmt
    a, b = env.input(a), env.input(b)
    if f.is_nan(a) or f.is_nan(b):
        return f.nan
    sign = (a ^ b) & f.sign
    if f.is_inf(a) or f.is_inf(b):
        return f.nan if f.is_zero(a) or f.is_zero(b) else sign | f.inf
    (na, ea), (nb, eb) = f.decode(a), f.decode(b)
    return env.result(na * nb, ea + eb, negative_zero=bool(sign))


def add(env, a, b):
    f = env.fmt
    a, b = env.input(a), env.input(b)
    if f.is_nan(a) or f.is_nan(b):
        return f.nan
    if f.is_inf(a) or f.is_inf(b):
        if f.is_inf(a) and f.is_inf(b) and a != b:
            return f.nan
        return a if f.is_inf(a) else b
    (na, ea), (nb, eb) = f.decode(a), f.decode(b)
    low = min(ea, eb)
    total = (na << (ea - low)) + (nb << (eb - low))
    if total == 0:
        if na == 0 and nb == 0 and (a ^ b) & f.sign == 0:
            return a
        return f.sign if env.round == DOWN else 0
    return env.result(total, low)


def less(f, a, b):
    """Of numbers that are no NaNs; infinities compare as large numbers."""
    def key(x):
        magnitude = x & ~f.sign & f.mask
        return -magnitude if x & f.sign else magnitude
    return key(a) < key(b)


def equal(f, a, b):
    return a == b or (f.is_zero(a) and f.is_zero(b))


def to_integral(f, x, how):
    """how: 'floor', 'ceil', 'trunc', 'rndne'; the sign of zeros stays."""
    if f.is_nan(x):
        return f.nan
    if f.is_inf(x) or f.is_zero(x):
        return x
    n, e = f.decode(x)
    if e >= 0:
        return x
    low = n >> -e  # floor
    rest = n - (low << -e)
    half = 1 << (-e - 1)
    if how == 'ceil':
        low += rest != 0
    elif how == 'trunc':
        low += rest != 0 and n < 0
    elif how == 'rndne':
        low += rest > half or (rest == half and low & 1)
    return f.round(low, 0, negative_zero=bool(x & f.sign))


def sqrt(env, x):
    f = env.fmt
    x = env.input(x)
    if f.is_nan(x) or (x & f.sign and not f.is_zero(x)):
        return f.nan
    if f.is_inf(x) or f.is_zero(x):
        return x
    n, e = f.decode(x)
    shift = 2 * f.fraction + 8 + (e & 1)
    n, e = n << shift, e - shift
    root = math.isqrt(n)
    return env.result(root, e // 2, sticky=root * root != n)


def div(env, a, b):
    f = env.fmt
    a, b = env.input(a), env.input(b)
    if f.is_nan(a) or f.is_nan(b) or (f.is_inf(a) and f.is_inf(b)) or (f.is_zero(a) and f.is_zero(b)):
        return f.nan
    sign = (a ^ b) & f.sign
    if f.is_inf(a) or f.is_zero(b):
        return sign | f.inf
    if f.is_inf(b) or f.is_zero(a):
        return sign
    (na, ea), (nb, eb) = f.decode(a), f.decode(b)
    na, nb = abs(na) << (2 * f.fraction + 8), abs(nb)
    q, rest = divmod(na, nb)
    result = env.result(-q if sign else q, ea - eb - 2 * f.fraction - 8, sticky=rest != 0)
    return result


def convert(env_in, env_out, x):
    """Between formats; NaNs are NaNs."""
    a, b = env_in.fmt, env_out.fmt
    x = env_in.input(x)
    if a.is_nan(x):
        return b.nan
    sign = b.sign if x & a.sign else 0
    if a.is_inf(x):
        return sign | b.inf
    n, e = a.decode(x)
    return env_out.result(n, e, negative_zero=bool(sign))


def to_int(f, x, bits, signed, how='trunc'):
    """Saturating; NaN gives 0."""
    if f.is_nan(x):
        return 0
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    if f.is_inf(x):
        value = low if x & f.sign else high
    else:
        n, e = f.decode(to_integral(f, x, how))
        value = n << e if e >= 0 else (abs(n) >> -e) * (-1 if n < 0 else 1)
    return max(low, min(high, value)) & ((1 << bits) - 1)


def from_int(env, value):
    return env.result(value, 0)


def minimum(env, a, b, is_max, flush=True):
    """v_min/v_max: a number wins over a NaN; IEEE and a signalling NaN give a quiet NaN; -0 < +0."""
    f = env.fmt
    if flush:
        a, b = env.input(a), env.input(b)
    if env.ieee and (f.is_signalling(a) or f.is_signalling(b)):
        return f.nan
    if f.is_nan(a):
        return f.nan if f.is_nan(b) else b
    if f.is_nan(b):
        return a
    if f.is_zero(a) and f.is_zero(b):
        return a & b if is_max else a | b
    if is_max:
        return b if less(f, a, b) else a
    return b if less(f, b, a) else a
