"""Binary floating point with exact fractions: no result here comes from the host's floating point."""
from dataclasses import dataclass
from fractions import Fraction

NAN = "nan"


@dataclass(frozen=True)
class Format:
    """An IEEE-like format: bits of exponent and fraction; without sign for the packed 10- and 11-bit formats."""

    exponent: int
    fraction: int
    signed: bool = True

    @property
    def bias(self):
        return (1 << (self.exponent - 1)) - 1

    @property
    def bits(self):
        return self.exponent + self.fraction + (1 if self.signed else 0)

    def value(self, bits):
        """The number of these bits, as a Fraction, "inf", "-inf" or NAN. The sign of zeros is lost."""
        negative = self.signed and bits >> (self.bits - 1) & 1
        field = bits >> self.fraction & ((1 << self.exponent) - 1)
        fraction = bits & ((1 << self.fraction) - 1)
        if field == (1 << self.exponent) - 1:
            return NAN if fraction else ("-inf" if negative else "inf")
        if field == 0:
            value = Fraction(fraction, 1 << self.fraction) * power(1 - self.bias)
        else:
            value = (1 + Fraction(fraction, 1 << self.fraction)) * power(field - self.bias)
        return -value if negative else value

    def encode(self, value, negative_zero=False):
        """The bits of a number, rounded to nearest even; too large ones are infinite."""
        sign = 1 << (self.bits - 1) if self.signed else 0
        top = ((1 << self.exponent) - 1) << self.fraction
        if value in ("inf", "-inf"):
            return top | (sign if value == "-inf" else 0)
        if value == 0:
            return sign if negative_zero else 0
        negative, magnitude = value < 0, abs(value)
        exponent = max(floor_log2(magnitude), 1 - self.bias)
        units = round_even(magnitude / power(exponent - self.fraction))
        # A carry goes into the exponent field.
        bits = min(units + ((exponent + self.bias - 1) << self.fraction), top)
        return bits | (sign if negative else 0)


F32, F16 = Format(8, 23), Format(5, 10)
SMALL = {10: Format(5, 5, signed=False), 11: Format(5, 6, signed=False)}


def power(exponent):
    return Fraction(2) ** exponent


def floor_log2(value):
    n, d = value.numerator, value.denominator
    exponent = n.bit_length() - d.bit_length()
    return exponent if power(exponent) <= value else exponent - 1


def round_even(value):
    """The nearest integer, of two the even one."""
    return round(value)  # Python's rule for fractions


def signed(bits, width):
    return bits - (1 << width) if bits >> (width - 1) & 1 else bits
