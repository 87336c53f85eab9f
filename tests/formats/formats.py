"""Memory formats: GCN3 and Vega ISA manuals, "Buffer Resource Descriptor", tables of DATA_FORMAT and NUM_FORMAT;
docs/isa-decisions.md, "Memory formats", for roundings. Written without a look at the engines' data_format.h."""
from fractions import Fraction

from exact import F16, F32, NAN, SMALL, round_even, signed

UNORM, SNORM, USCALED, SSCALED, UINT, SINT, FLOAT = 0, 1, 2, 3, 4, 5, 7
NAMES = {UNORM: "unorm", SNORM: "snorm", USCALED: "uscaled", SSCALED: "sscaled", UINT: "uint", SINT: "sint", FLOAT: "float"}

# Names as in the manuals, from the highest bits down.
DATA_FORMATS = {1: "8", 2: "16", 3: "8_8", 4: "32", 5: "16_16", 6: "10_11_11", 7: "11_11_10", 8: "10_10_10_2",
                9: "2_10_10_10", 10: "8_8_8_8", 11: "32_32", 12: "16_16_16_16", 13: "32_32_32", 14: "32_32_32_32"}


def widths(data_format):
    """Bits of X, Y, ...: from the lowest ones up."""
    return [int(w) for w in reversed(DATA_FORMATS[data_format].split("_"))]


def element_bytes(data_format):
    return sum(widths(data_format)) // 8


def exists(data_format, number):
    sizes = widths(data_format)
    if number == FLOAT:
        return data_format in (2, 4, 5, 6, 7, 11, 12, 13, 14)
    return number in (UINT, SINT) or 32 not in sizes


ALL = [(d, n) for d in DATA_FORMATS for n in NAMES if exists(d, n)]


def one(number):
    return 1 if number in (UINT, SINT) else 0x3F800000


def component(raw, width, number):
    """Register contents of a component, or NAN."""
    if number == UINT:
        return raw
    if number == SINT:
        return signed(raw, width) & 0xFFFFFFFF
    if number == FLOAT:
        if width == 32:
            return raw
        small = F16 if width == 16 else SMALL[width]
        value = small.value(raw)
        if value == NAN:
            return NAN
        return F32.encode(value, negative_zero=width == 16 and raw == 0x8000)
    if number == UNORM:
        return F32.encode(Fraction(raw, (1 << width) - 1))
    if number == SNORM:
        return F32.encode(max(Fraction(signed(raw, width), (1 << (width - 1)) - 1), Fraction(-1)))
    return F32.encode(Fraction(raw if number == USCALED else signed(raw, width)))


def read(raw, data_format, number):
    """The four components of an element, whose bytes make the little-endian number `raw`."""
    result, shift = [], 0
    for width in widths(data_format):
        result.append(component(raw >> shift & ((1 << width) - 1), width, number))
        shift += width
    while len(result) < 4:
        result.append(one(number) if len(result) == 3 else 0)
    return result


def select(components, selects, number):
    """DST_SEL: 0, 1, 4 to 7."""
    chosen = []
    for i in range(4):
        s = selects >> (3 * i) & 7
        chosen.append(components[s - 4] if s >= 4 else one(number) if s == 1 else 0)
    return chosen


def border_colour(kind, selects, number):
    """Register contents of a sampler's border, of which DST_SEL chooses components: transparent black, opaque black, white."""
    alpha = one(number) if kind != 0 else 0
    colour = alpha if kind == 2 else 0
    return select([colour, colour, colour, alpha], selects, number)


def to_d16(value, number):
    if number in (UINT, SINT):
        return value & 0xFFFF
    return F16.encode(F32.value(value), negative_zero=value == 0x80000000)


def stored(value, width, number):
    """The bits in memory of a register's contents, which are no NaN if the format is of floats."""
    mask = (1 << width) - 1
    if number == UINT:
        return min(value, mask)
    if number == SINT:
        return min(max(value - (value >> 31 << 32), -(mask >> 1) - 1), mask >> 1) & mask
    x = F32.value(value)
    if number == FLOAT:
        if width == 32:
            return value
        if width == 16:
            return F16.encode(x, negative_zero=value == 0x80000000)
        return 0 if x == "-inf" or (x != "inf" and x <= 0) else SMALL[width].encode(x)
    low = {UNORM: 0, SNORM: -1, USCALED: 0, SSCALED: -(1 << (width - 1))}[number]
    high = {UNORM: 1, SNORM: 1, USCALED: mask, SSCALED: mask >> 1}[number]
    if x == NAN:
        x = Fraction(0)
    elif x in ("inf", "-inf"):
        x = Fraction(high if x == "inf" else low)
    x = min(max(x, Fraction(low)), Fraction(high))
    if number == UNORM:
        return round_even(x * mask)
    if number == SNORM:
        return round_even(x * (mask >> 1)) & mask
    return int(x) & mask  # toward zero


def write(values, data_format, number, selects=0xFAC):
    """The element of registers: a component is the first of those that DST_SEL would put it in, or 0."""
    raw, shift = 0, 0
    for i, width in enumerate(widths(data_format)):
        sources = [r for r in range(4) if selects >> 3 * r & 7 == 4 + i]
        if sources and sources[0] < len(values):
            raw |= stored(values[sources[0]], width, number) << shift
        shift += width
    return raw


def from_d16(half, number):
    """A 16-bit register's contents as 32 bits."""
    if number == UINT:
        return half
    if number == SINT:
        return signed(half, 16) & 0xFFFFFFFF
    return F32.encode(F16.value(half), negative_zero=half == 0x8000)
