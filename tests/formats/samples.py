"""Samples beyond the plain ones of images.py: gather4, comparison with a reference, level of detail from derivatives, bias
and limits of levels, offsets, cubes. GCN3 and Vega ISA manuals, "Image Opcodes with Sampler", "VGPR Usage" and "Image
Sampler Definition"; docs/isa-decisions.md, "Images"."""
from fractions import Fraction
from math import floor

import formats
from case import LANES, Case, random_exec, random_mode
from exact import F32, power
from images import BASE, CLAMP, FILTERED, USED, Image, footprint, registers, texels, words

ONE = 0x3F800000
DATA = 16  # first register of the result
OLD_DATA = 0x7700
FLOATS = [(2, formats.FLOAT), (4, formats.FLOAT), (5, formats.FLOAT)]
INTEGERS = [(1, formats.UINT), (10, formats.SINT), (9, formats.UINT), (4, formats.UINT), (5, formats.SINT)]
NEVER, LESS, EQUAL, LESS_EQUAL, GREATER, NOT_EQUAL, GREATER_EQUAL, ALWAYS = range(8)


# ---- Levels of detail, which are irrational where they come from derivatives ----


class Known:
    def __init__(self, value):
        self.value = value

    def at_least(self, limit):
        return self.value >= limit

    def above(self, limit):
        return self.value > limit


class OfLength:
    """log2 of a length whose square is given, plus a bias in 1/256. Limits are multiples of 1/512."""

    def __init__(self, squared, bias):
        self.squared, self.bias = squared, bias

    def compare(self, limit):
        exponent = 1024 * (limit - self.bias)
        assert exponent.denominator == 1
        power_of_length = self.squared**512
        limit_of_it = power(int(exponent))
        return (power_of_length > limit_of_it) - (power_of_length < limit_of_it)

    def at_least(self, limit):
        return self.squared != 0 and self.compare(Fraction(limit)) >= 0

    def above(self, limit):
        return self.squared != 0 and self.compare(Fraction(limit)) > 0


def clamped(lod, low, high):
    if not lod.at_least(low):
        return Known(Fraction(low))
    return lod if not lod.at_least(high) else Known(Fraction(high))


def last_with(holds, low, high):
    """The last number of low..high for which `holds`, which it does for low."""
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def nearest_level(lod, levels):
    return last_with(lambda k: k == 0 or lod.at_least(k - Fraction(1, 2)), 0, levels - 1)


def in_256ths(lod, levels):
    lod = clamped(lod, 0, levels - 1)
    return last_with(lambda n: n == 0 or lod.at_least(Fraction(2 * n - 1, 512)), 0, 256 * (levels - 1))


# ---- Texels ----


def contents(rng, image):
    if image.number != formats.FLOAT:
        return texels(rng, image)
    memory = bytearray()
    while len(memory) < USED:
        raw, shift = 0, 0
        for width in formats.widths(image.data_format):
            raw |= formats.stored(F32.encode(Fraction(rng.randrange(-40, 41), 16)), width, formats.FLOAT) << shift
            shift += width
        memory += raw.to_bytes(image.size, "little")
    return bytes(memory[:USED])


class Outside(Exception):
    """A texel that is not in the memory of cases."""


def read(image, memory, border, x, y, z, level):
    """Register contents of the components of a texel or of the border."""
    at = None if None in (x, y, z) else image.offset(x, y, z, level)
    if at is None:
        return formats.border_colour(border, image.selects, image.number)
    if at + image.size > USED:
        raise Outside
    raw = int.from_bytes(memory[at : at + image.size], "little")
    return formats.select(formats.read(raw, image.data_format, image.number), image.selects, image.number)


def holds(function, reference, texel):
    return {NEVER: False, LESS: reference < texel, EQUAL: reference == texel, LESS_EQUAL: reference <= texel, GREATER: reference > texel,
            NOT_EQUAL: reference != texel, GREATER_EQUAL: reference >= texel, ALWAYS: True}[function]


def as_number(bits, number):
    if number == formats.UINT:
        return Fraction(bits)
    if number == formats.SINT:
        return Fraction(bits - (1 << 32) if bits >> 31 else bits)
    return F32.value(bits)


# ---- Filters. `footprints(level, linear)` gives texels and weights of x, y and z, `texel(x, y, z, level)` four registers ----


def gathered(level, footprints, texel, layer, component):
    """The component of the four texels of gather4."""
    (x0, _), (x1, _) = footprints(level, True)[0]
    (y0, _), (y1, _) = footprints(level, True)[1]
    return [texel(x, y, layer, level)[component] for x, y in ((x0, y1), (x1, y1), (x1, y0), (x0, y0))]


def levels_and_shares(lod, levels, mips):
    """Levels, and how much of each in 1/256. `mips`: the sampler's filter of levels: none, nearest, linear."""
    if mips != 2:
        return [(nearest_level(lod, levels) if mips == 1 else 0, 256)]
    fixed = in_256ths(lod, levels)
    return [(fixed // 256, 256 - fixed % 256), (fixed // 256 + 1, fixed % 256)]


def filtered(shares, linear, footprints, texel, kind):
    """Register contents: the weighted sum of texels of number format `kind`."""
    sums = [Fraction(0)] * 4
    for level, share in shares:
        if share == 0:
            continue
        axes = footprints(level, linear)
        for z, wz in axes[2]:
            for y, wy in axes[1]:
                for x, wx in axes[0]:
                    weight = Fraction(share * wx * wy * wz, 256**4)
                    if weight != 0:
                        sums = [s + weight * as_number(v, kind) for s, v in zip(sums, texel(x, y, z, level))]
    return [int(s) & 0xFFFFFFFF if kind in (formats.UINT, formats.SINT) else F32.encode(s) for s in sums]


# ---- Cases ----


def make_image(rng, gathers, compares, nearest_only):
    kinds = ["2d", "2d", "2d_array", "cube", "cube"] if gathers else ["1d", "2d", "2d", "3d", "2d_array", "1d_array", "cube", "cube"]
    choice = FILTERED + FLOATS
    if not compares and nearest_only:
        choice = choice + INTEGERS
    return Image(rng, kinds, choice, levels=True, small=True)


def coordinates(rng, image, normalized, base_extents):
    """Bits of the position's registers and the position, in texels or in parts of the image."""
    bits, position = [], []
    for extent in base_extents:
        if image.kind == "cube":
            # v_cubesc and v_cubetc, divided, are in [-0.5, 0.5]; 1.5 is added to them.
            value = F32.encode(1 + Fraction(rng.randrange(-8, 73), rng.choice([64, 63])))
            bits.append(value)
            position.append(F32.value(value) - 1)
            continue
        exact = Fraction(rng.randrange(-3 * extent * 64, 4 * extent * 64), rng.choice([64, 64, 63, 128]))
        value = F32.encode(exact / extent if normalized else exact)
        bits.append(value)
        position.append(F32.value(value))
    return bits, position


def sample(rng, number, gathers=False):
    compares = rng.random() < 0.5
    min_linear = rng.random() < 0.5
    mag_linear = min_linear if rng.random() < 0.6 else not min_linear
    nearest_only = gathers or not (min_linear or mag_linear)
    image = make_image(rng, gathers, compares, nearest_only)
    is_cube, layered = image.kind == "cube", image.layered()
    integer = image.number in (formats.UINT, formats.SINT)
    dims = image.dimensions()
    levels = image.last_level - image.base_level + 1
    normalized = is_cube or rng.random() < 0.8
    offsets = not is_cube and rng.random() < 0.4
    how = rng.choice(["l", "l", "lz"] if gathers else ["d", "d", "cd", "l", "lz"])
    if not normalized:
        how = "lz"
    # A gather4 with a level and no filter of levels is left open.
    mips = rng.randrange(1 if gathers and how != "lz" else 0, 3) if levels > 1 and normalized else 0
    if integer and mips == 2 and not gathers:
        mips = 1
    if gathers and how != "lz" and mips == 0:
        how = "lz"
    z_linear, truncate = rng.random() < 0.5 and not nearest_only, rng.random() < 0.3
    clamps = [rng.randrange(8) for _ in range(3)]
    function, border = rng.randrange(8), rng.randrange(3)
    bias, low, high, image_low = Fraction(0), Fraction(0), Fraction(4095, 256), Fraction(0)
    if how != "lz":
        bias = Fraction(rng.choice([0, 0, 128, -256, 77, -300]), 256)
        low = Fraction(rng.choice([0, 0, 128, 300]), 256)
        high = Fraction(rng.choice([4095, 4095, 256, 400]), 256)
        image_low = Fraction(rng.choice([0, 0, 0, 256, 200]), 256)
    high = max(low, high)
    component = rng.randrange(4)
    lanes = random_exec(rng)
    memory = contents(rng, image)
    base_extents = [image.extent(axis, image.base_level) for axis in range(dims)]
    derives = how in ("d", "cd")
    columns = [[] for _ in range(offsets + compares + (2 * dims if derives else 0) + dims + layered + (how == "l"))]
    rows = [[] for _ in range(1 if compares and not gathers else 4)]
    for lane in range(LANES):
        address, shifts, reference = [], [0, 0, 0], None
        if offsets:
            shifts = [rng.randrange(-32, 32) if rng.random() < 0.2 else rng.randrange(-3, 4) for _ in range(3)]
            address.append(sum((s & 63) << 8 * i for i, s in enumerate(shifts)) | rng.getrandbits(8) << 24)
        if compares:
            bits = F32.encode(Fraction(rng.randrange(-24, 40), 16) if rng.random() < 0.6 else Fraction(rng.randrange(256), 255))
            address.append(bits)
            reference = F32.value(bits)
            if image.number == formats.UNORM:
                reference = min(max(reference, Fraction(0)), Fraction(1))
        lod = Known(Fraction(0))
        if derives:
            squares = []
            for _ in range(2):
                squared = Fraction(0)
                for extent in base_extents:
                    slope = F32.encode(Fraction(rng.choice([0, 1, 1, -2, 3, 5, -7, 16]), rng.choice([1, 3, 4, 8]) * (extent if normalized else 1)))
                    address.append(slope)
                    squared += (F32.value(slope) * (extent if normalized else 1)) ** 2
                squares.append(squared)
            lod = OfLength(max(squares), bias)
        bits, position = coordinates(rng, image, normalized, base_extents)
        address += bits
        layer = 0
        if is_cube:
            cube, face = rng.randrange((image.last_layer - image.first_layer + 1) // 6), rng.randrange(6)
            address.append(F32.encode(8 * cube + face + Fraction(rng.choice([0, 0, 1, -1]), 4)))
            layer = 6 * cube + face
        elif layered:
            wanted = Fraction(rng.randrange(-4, 12), 4)
            address.append(F32.encode(wanted))
            layer = min(max(formats.round_even(wanted), 0), image.last_layer - image.first_layer)
        if how == "l":
            bits = F32.encode(Fraction(rng.randrange(-512, 1024), 256))
            address.append(bits)
            lod = Known(F32.value(bits) + bias)
        for column, value in zip(columns, address):
            column.append(value)
        lod = clamped(lod, low, high)
        if not lod.at_least(image_low):
            lod = Known(image_low)

        def footprints(level, linear):
            axes = []
            for axis in range(3):
                if axis >= dims:
                    axes.append([(layer if axis == 2 else 0, 256)])
                    continue
                extent = image.extent(axis, image.base_level + level)
                at = position[axis] * (extent if normalized else 1) + shifts[axis]
                axes.append(footprint(at, extent, CLAMP if is_cube else clamps[axis], linear and (axis < 2 or z_linear), truncate))
            return axes

        def texel(x, y, z, level):
            values = read(image, memory, border, x, y, z, level)
            if not compares:
                return values
            return [ONE if holds(function, reference, F32.value(values[0])) else 0] * 4

        try:
            if gathers:
                result = gathered(nearest_level(lod, levels), footprints, texel, layer, component)
            else:
                kind = formats.UNORM if compares else image.number
                result = filtered(levels_and_shares(lod, levels, mips), min_linear if lod.above(0) else mag_linear, footprints, texel, kind)
        except Outside:
            return None
        for i, row in enumerate(rows):
            row.append(result[i] if lanes >> lane & 1 else OLD_DATA + i)
    name = "image_gather4" if gathers else "image_sample"
    name += ("_c" if compares else "") + "_" + how + ("_o" if offsets else "")
    case = Case(f"{number} {name} {image.kind} {formats.DATA_FORMATS[image.data_format]} {formats.NAMES[image.number]}",
                image.targets(["gfx90a"]), random_mode(rng), lanes)
    for i, column in enumerate(columns):
        case.set(f"v{i}", column)
    for i in range(len(rows)):
        case.set(f"v{DATA + i}", [OLD_DATA + i])
    image.describe(case, int(image_low * 256))
    case.set("s16", [clamps[0] | clamps[1] << 3 | clamps[2] << 6 | function << 12 | truncate << 27 | (not normalized) << 15])
    case.set("s17", [int(low * 256) | int(high * 256) << 12])
    case.set("s18", [int(bias * 256) & 0x3FFF | mag_linear << 20 | min_linear << 22 | (2 if z_linear else 1) << 24 | mips << 26])
    case.set("s19", [border << 30])
    case.set(f"mem[{BASE}]", words(memory))
    count = len(columns) if len(columns) <= 4 else 8 if len(columns) <= 8 else 16
    mask = 1 << component if gathers else 1 if compares else 15
    case.assembly = (f"{name} {registers(DATA, len(rows))}, {registers(0, count)}, s[8:15], s[16:19] dmask:{mask:#x}"
                     f"{'' if normalized else ' unorm'}{' da' if layered else ''}")
    for i, row in enumerate(rows):
        case.expect(f"v{DATA + i}", row)
    return case


def gather(rng, number):
    return sample(rng, number, gathers=True)
