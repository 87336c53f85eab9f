"""Binary floating point with exact numbers: no result here comes from the host's floating point.

A number is (negative, magnitude): the magnitude a Fraction or INFINITY, so zeros have signs. A NaN is None."""
from fractions import Fraction
from math import isqrt

INFINITY = "infinity"
NEAREST, UP, DOWN, ZERO = range(4)  # MODE.fp_round


class Format:
    """An IEEE format of the given bits of exponent and fraction."""

    def __init__(self, exponent, fraction):
        self.fraction, self.bits = fraction, 1 + exponent + fraction
        self.top = (1 << exponent) - 1
        self.bias = self.top >> 1
        self.sign = 1 << (self.bits - 1)
        self.infinity = self.top << fraction
        self.nan = self.infinity | 1 << (fraction - 1)
        self.least = 1 - self.bias  # exponent of the least normal number
        self.one = self.bias << fraction

    def is_nan(self, bits):
        return bits & (self.sign - 1) > self.infinity

    def is_signalling(self, bits):
        return self.is_nan(bits) and not bits >> (self.fraction - 1) & 1

    def is_denormal(self, bits):
        return 0 < bits & (self.sign - 1) < 1 << self.fraction

    def is_zero(self, bits):
        return bits & (self.sign - 1) == 0

    def quiet(self, bits):
        return bits | 1 << (self.fraction - 1)

    def flushed(self, bits):
        return bits & self.sign if self.is_denormal(bits) else bits

    def field(self, bits):
        return bits >> self.fraction & self.top

    def value(self, bits):
        negative = bool(bits & self.sign)
        field, fraction = self.field(bits), bits & ((1 << self.fraction) - 1)
        if field == self.top:
            return None if fraction else (negative, INFINITY)
        if field == 0:
            return negative, scaled(fraction, self.least - self.fraction)
        return negative, scaled(fraction | 1 << self.fraction, field - self.bias - self.fraction)

    def encode(self, number, rounding=NEAREST, flush=False, after_rounding=False, saturate=False):
        """The bits of a number, rounded. `flush`: tiny results become zeros. Tininess is seen after rounding with
        an unbounded exponent, with `after_rounding` after rounding to the format. `saturate`: no overflow to infinity."""
        if number is None:
            return self.nan
        negative, magnitude = number
        sign = self.sign if negative else 0
        if magnitude == INFINITY:
            return sign | self.infinity
        if magnitude == 0:
            return sign
        exponent = floor_log2(magnitude)
        if flush and not after_rounding and exponent < self.least:
            units = rounded(magnitude, exponent - self.fraction, rounding, negative)
            if units < 2 << self.fraction or exponent + 1 < self.least:
                return sign
        exponent = max(exponent, self.least)
        units = rounded(magnitude, exponent - self.fraction, rounding, negative)
        bits = units + (exponent + self.bias - 1 << self.fraction)
        if bits >= self.infinity:
            away = rounding == NEAREST or (rounding == UP and not negative) or (rounding == DOWN and negative)
            bits = self.infinity if away and not saturate else self.infinity - 1
        if flush and after_rounding and self.is_denormal(bits):
            bits = 0
        return sign | bits

    def encode_text(self, text):
        """The bits of a number as cases write it."""
        negative, text = text.startswith("-"), text.lstrip("-")
        return self.encode((negative, INFINITY if text == "inf" else Fraction(text)))


def scaled(units, exponent):
    return Fraction(units << exponent) if exponent >= 0 else Fraction(units, 1 << -exponent)


F16, F32, F64 = Format(5, 10), Format(8, 23), Format(11, 52)


def floor_log2(value):
    n, d = value.numerator, value.denominator
    exponent = n.bit_length() - d.bit_length()
    return exponent if (n >= d << exponent if exponent >= 0 else n << -exponent >= d) else exponent - 1


def rounded(magnitude, exponent, rounding, negative):
    """The magnitude in units of 2^exponent."""
    n, d = magnitude.numerator, magnitude.denominator
    if exponent >= 0:
        d <<= exponent
    else:
        n <<= -exponent
    units, rest = divmod(n, d)
    if rest == 0:
        return units
    if rounding == NEAREST:
        return units + (2 * rest > d or (2 * rest == d and units & 1))
    return units + ((rounding == UP and not negative) or (rounding == DOWN and negative))


# ---- Arithmetic; None where IEEE 754 has an invalid operation, too ----


def negated(x):
    return None if x is None else (not x[0], x[1])


def add(x, y, rounding=NEAREST):
    """The exact sum; `rounding` decides the sign of a zero."""
    if x is None or y is None:
        return None
    if x[1] == INFINITY or y[1] == INFINITY:
        if x[1] == y[1] and x[0] != y[0]:
            return None
        return x if x[1] == INFINITY else y
    total = signed(x) + signed(y)
    if total == 0:
        return (x[0] if x[0] == y[0] else rounding == DOWN), total
    return total < 0, abs(total)


def signed(x):
    return -x[1] if x[0] else x[1]


def multiply(x, y):
    if x is None or y is None:
        return None
    negative = x[0] != y[0]
    if INFINITY in (x[1], y[1]):
        return None if x[1] == 0 or y[1] == 0 else (negative, INFINITY)
    return negative, x[1] * y[1]


def divide(x, y):
    if x is None or y is None:
        return None
    negative = x[0] != y[0]
    if x[1] == INFINITY or y[1] == 0:
        return None if x[1] == y[1] else (negative, INFINITY)
    return negative, Fraction(0) if y[1] == INFINITY else x[1] / y[1]


def fma(x, y, z, rounding=NEAREST):
    return add(multiply(x, y), z, rounding)


def square_root(x, bits=120):
    """The root, exact or with so many bits and one more that stands for what is cut off."""
    if x is None or (x[0] and x[1] != 0):
        return None
    if x[1] in (0, INFINITY):
        return x
    shift = max(0, 2 * bits - floor_log2(x[1]))
    shift += shift & 1
    whole = (x[1].numerator << shift) // x[1].denominator
    root = isqrt(whole)
    exact = root * root == whole and (x[1].numerator << shift) % x[1].denominator == 0
    return False, Fraction(2 * root + (not exact), 2 << shift // 2)


def scale(x, exponent):
    return x if x is None or x[1] == INFINITY else (x[0], x[1] * Fraction(2) ** exponent)


def compare(x, y):
    """-1, 0, 1, or None: unordered."""
    if x is None or y is None:
        return None
    a, b = order(x), order(y)
    return (a > b) - (a < b)


def order(x):
    """Sorts like the numbers."""
    if x[1] == INFINITY:
        return (-1 if x[0] else 1), Fraction(0)
    return 0, signed(x)


def integral(x, rounding):
    """Rounded to an integer, the sign of zeros kept."""
    if x is None or x[1] == INFINITY:
        return x
    return x[0], Fraction(rounded(x[1], 0, rounding, x[0]))


def to_integer(x, low, high, rounding=ZERO):
    """Saturated; NaN is 0."""
    if x is None:
        return 0
    if x[1] == INFINITY:
        return low if x[0] else high
    return min(max(int(signed(integral(x, rounding))), low), high)


def of_integer(value):
    return value < 0, Fraction(abs(value))
