"""Images: where texels are and how they are filtered. GCN3 and Vega ISA manuals, "Image Resource Descriptor" and "Image
Sampler Descriptor" for the fields; docs/isa-decisions.md, "Images", for the layout and the arithmetic."""
from fractions import Fraction
from math import floor

import formats
from case import LANES, Case, random_exec, random_mode
from exact import F32

OLD, NEW = ["gfx600", "gfx700", "gfx803"], ["gfx900", "gfx906", "gfx908", "gfx90a"]
BASE = 1024
USED = 2048  # bytes of texels
TYPES = {"1d": 8, "2d": 9, "3d": 10, "cube": 11, "1d_array": 12, "2d_array": 13}


class Image:
    def __init__(self, rng, kinds, chosen_formats, levels=True, small=False):
        self.old = rng.random() < 0.4
        self.kind = rng.choice(kinds)
        self.data_format, self.number = rng.choice([f for f in chosen_formats if f[0] not in (13,)])
        self.size = formats.element_bytes(self.data_format)
        most = 5 if small else 9
        self.width = rng.randrange(1, most)
        self.height = 1 if self.kind.startswith("1d") else rng.randrange(1, most)
        self.depth = rng.randrange(1, 5) if self.kind == "3d" else 1
        self.first_layer = rng.randrange(3) if self.layered() else 0
        self.last_layer = self.first_layer + rng.randrange(3) if self.layered() else 0
        if self.kind == "cube":  # one or more, of six faces each
            self.height = self.width
            self.last_layer = self.first_layer + 6 * rng.choice([1, 1, 2]) - 1
        self.base_level, self.last_level = 0, 0
        if levels and rng.random() < 0.4:
            self.base_level = rng.randrange(2)
            self.last_level = self.base_level + rng.randrange(3)
        self.pitch = self.width + rng.choice([0, 0, 1, 3])
        self.selects = 0xFAC if rng.random() < 0.5 else sum(rng.choice([0, 1, 4, 5, 6, 7]) << 3 * i for i in range(4))

    def layered(self):
        return self.kind == "cube" or self.kind.endswith("array")

    def dimensions(self):
        return 1 if self.kind.startswith("1d") else 3 if self.kind == "3d" else 2

    def extent(self, axis, level):
        """`level` counts from that of the full size."""
        return max((self.width, self.height, self.depth)[axis] >> level, 1)

    def offset(self, x, y, z, level=0):
        """Bytes behind BASE, or None where no texel is. `level` counts from the descriptor's first; z: slice or layer."""
        level += self.base_level
        if level > max(self.last_level, self.base_level):
            return None
        if not (0 <= x < self.extent(0, level) and 0 <= y < self.extent(1, level)):
            return None
        if self.kind == "3d":
            if not 0 <= z < self.extent(2, level):
                return None
        elif not 0 <= z <= self.last_layer - self.first_layer:
            return None
        rows = [self.extent(1, i) for i in range(max(self.last_level, self.base_level) + 1)]
        row = (z + self.first_layer) * sum(rows) + sum(rows[:level]) + y
        return (row * self.pitch + x) * self.size

    def describe(self, case, min_lod=0):
        word1 = min_lod << 8 | self.data_format << 20 | self.number << 26
        case.set("s[8:9]", f"mem/256+{(BASE >> 8) + (word1 << 32)}")
        tiling = 8 if self.old else 0
        depth = self.depth - 1 if self.kind == "3d" else 0 if self.old else self.last_layer
        case.set("s10", [(self.width - 1) | (self.height - 1) << 14])
        case.set("s11", [self.selects | self.base_level << 12 | self.last_level << 16 | tiling << 20 | TYPES[self.kind] << 28])
        case.set("s12", [depth | (self.pitch - 1) << 13])
        case.set("s13", [self.first_layer | (self.last_layer << 13 if self.old else 0)])
        case.set("s[14:15]", ["0"])

    def targets(self, without=()):
        return [t for t in (OLD if self.old else NEW) if t not in without]


def registers(first, count):
    return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"


def texels(rng, image, avoid_nan=False):
    memory = bytearray()
    while len(memory) < USED:
        width = formats.widths(image.data_format)
        raw, shift = 0, 0
        for w in width:
            raw |= rng.choice([0, (1 << w) - 1, 1 << (w - 1), rng.getrandbits(w), rng.getrandbits(w)]) << shift
            shift += w
        if avoid_nan and any(v == formats.NAN or F32.value(v) == formats.NAN for v in formats.read(raw, image.data_format, image.number)):
            continue
        memory += raw.to_bytes(image.size, "little")
    return bytes(memory[:USED])


def words(memory):
    return [int.from_bytes(memory[i : i + 4], "little") for i in range(0, len(memory), 4)]


def access(rng, image, mip):
    """Columns of integer coordinates, and the byte offset of each lane's texel."""
    layered = image.layered()
    columns, offsets = [[] for _ in range(image.dimensions() + layered + mip)], []
    for _ in range(LANES):
        extents = [image.extent(i, image.base_level) for i in range(image.dimensions())]
        point = [rng.choice([rng.randrange(e), rng.randrange(e + 2)]) for e in extents]
        if rng.random() < 0.04:
            point[rng.randrange(len(point))] = rng.choice([0xFFFFFFFF, 0x80000000])
        layer = rng.randrange(image.last_layer - image.first_layer + 2) if layered else 0
        level = rng.randrange(image.last_level - image.base_level + 2) if mip else 0
        x, y = point[0], point[1] if len(point) > 1 else 0
        z = point[2] if len(point) > 2 else layer
        offsets.append(image.offset(x, y, z, level))
        for column, value in zip(columns, point + ([layer] if layered else []) + ([level] if mip else [])):
            column.append(value)
    return columns, offsets


def load(rng, number):
    image = Image(rng, ["1d", "2d", "3d", "1d_array", "2d_array", "cube"], formats.ALL)
    mip = rng.random() < 0.4
    lanes = random_exec(rng)
    columns, offsets = access(rng, image, mip)
    if any(o is not None and o + image.size > USED for o in offsets):
        return None
    memory = texels(rng, image)
    mask = rng.randrange(1, 16)
    count = bin(mask).count("1")
    rows = [[] for _ in range(count)]
    for lane in range(LANES):
        at = offsets[lane]
        values = [0] * 4
        if at is not None:
            values = formats.select(formats.read(int.from_bytes(memory[at : at + image.size], "little"), image.data_format, image.number),
                                    image.selects, image.number)
        chosen = [v for i, v in enumerate(values) if mask >> i & 1]
        for i, row in enumerate(rows):
            row.append(chosen[i] if lanes >> lane & 1 else 0x7700 + i)
    name = "image_load_mip" if mip else "image_load"
    case = Case(f"{number} {name} {image.kind} {formats.DATA_FORMATS[image.data_format]} {formats.NAMES[image.number]}", image.targets(), random_mode(rng), lanes)
    for i, column in enumerate(columns):
        case.set(f"v{i}", column)
    for i in range(count):
        case.set(f"v{8 + i}", [0x7700 + i])
    image.describe(case)
    case.set(f"mem[{BASE}]", words(memory))
    array = " da" if image.layered() else ""
    case.assembly = f"{name} {registers(8, count)}, {registers(0, len(columns))}, s[8:15] dmask:{mask:#x} unorm{array}"
    for i, row in enumerate(rows):
        case.expect(f"v{8 + i}", row)
    return case


def store(rng, number):
    import buffers

    image = Image(rng, ["1d", "2d", "3d", "1d_array", "2d_array", "cube"], formats.ALL)
    mip = rng.random() < 0.4
    lanes = random_exec(rng)
    columns, offsets = access(rng, image, mip)
    if any(o is not None and BASE + o + image.size > 16384 for o in offsets):
        return None
    mask = rng.randrange(1, 16)
    count = bin(mask).count("1")
    rows, written = [[] for _ in range(count)], {}
    for lane in range(LANES):
        chosen = [buffers.interesting_f32(rng, image.number) for _ in range(count)]
        for row, value in zip(rows, chosen):
            row.append(value)
        if not lanes >> lane & 1 or offsets[lane] is None:
            continue
        values, rest = [], list(chosen)
        for i in range(4):
            values.append(rest.pop(0) if mask >> i & 1 else 0)
        raw = formats.write(values, image.data_format, image.number, image.selects)
        if not buffers.put(written, [(BASE + offsets[lane], raw.to_bytes(image.size, "little"))]):
            lanes &= ~(1 << lane)
    name = "image_store_mip" if mip else "image_store"
    case = Case(f"{number} {name} {image.kind} {formats.DATA_FORMATS[image.data_format]} {formats.NAMES[image.number]}", image.targets(), random_mode(rng), lanes)
    for i, column in enumerate(columns):
        case.set(f"v{i}", column)
    for i, row in enumerate(rows):
        case.set(f"v{8 + i}", row)
    image.describe(case)
    array = " da" if image.layered() else ""
    case.assembly = f"{name} {registers(8, count)}, {registers(0, len(columns))}, s[8:15] dmask:{mask:#x} unorm{array}"
    case.expect_memory(written, 0, 16384, lambda a: 0)
    return case


# ---- Filters ----

WRAP, MIRROR, CLAMP, MIRROR_ONCE, HALF_BORDER, MIRROR_HALF, BORDER, MIRROR_BORDER = range(8)


def texel_of(i, size, mode):
    """The texel that index `i` of an unbounded line of texels stands for, or None: the border."""
    once = -1 - i if i < 0 else i
    if mode == WRAP:
        return i % size
    if mode == MIRROR:
        i %= 2 * size
        return i if i < size else 2 * size - 1 - i
    if mode == CLAMP:
        return min(max(i, 0), size - 1)
    if mode == MIRROR_ONCE:
        return min(once, size - 1)
    if mode in (HALF_BORDER, BORDER):
        return i if 0 <= i < size else None
    return once if once < size else None


def footprint(position, size, mode, linear, truncate):
    """Texels and weights in 1/256. `position` in texels."""
    if mode == HALF_BORDER:
        position = min(max(position, Fraction(0)), Fraction(size))
    if mode == MIRROR_HALF:
        position = min(max(position, Fraction(-size)), Fraction(size))
    if not linear:
        i = floor(position) if truncate else floor(position * 256 + Fraction(1, 2)) // 256
        return [(texel_of(i, size, mode), 256)]
    fixed = floor((position - Fraction(1, 2)) * 256 + Fraction(1, 2))
    i, weight = fixed // 256, fixed % 256
    return [(texel_of(i, size, mode), 256 - weight), (texel_of(i + 1, size, mode), weight)]


FILTERED = [(1, formats.UNORM), (10, formats.UNORM), (10, formats.SNORM), (2, formats.UNORM), (5, formats.SNORM), (9, formats.UNORM), (3, formats.UNORM)]


def sample(rng, number):
    image = Image(rng, ["1d", "2d", "2d", "3d", "2d_array"], FILTERED, levels=True, small=True)
    lanes = random_exec(rng)
    clamps = [rng.randrange(8) for _ in range(3)]
    linear, z_linear, truncate = rng.random() < 0.6, rng.random() < 0.5, rng.random() < 0.3
    normalized = rng.random() < 0.7
    border = rng.randrange(3)
    mips = rng.randrange(3) if image.last_level > image.base_level and normalized else 0
    with_lod = mips != 0
    levels = image.last_level - image.base_level + 1
    layered = image.kind.endswith("array")
    dims = image.dimensions()
    columns = [[] for _ in range(dims + layered + with_lod)]
    memory = texels(rng, image)
    mask = 15
    rows = [[] for _ in range(4)]
    for lane in range(LANES):
        point, position = [], []
        for axis in range(dims):
            extent = image.extent(axis, image.base_level)
            scale = Fraction(1, extent) if normalized else Fraction(1)
            exact = Fraction(rng.randrange(-3 * extent * 64, 4 * extent * 64), rng.choice([64, 64, 63, 128]))
            bits = F32.encode(exact * scale if rng.random() < 0.8 else Fraction(rng.randrange(-64, 160), 64))
            point.append(bits)
            position.append(F32.value(bits))
        layer = 0
        if layered:
            wanted = Fraction(rng.randrange(-4, 12), 4)
            point.append(F32.encode(wanted))
            layer = min(max(formats.round_even(wanted), 0), image.last_layer - image.first_layer)
        lod = Fraction(0)
        if with_lod:
            lod = Fraction(rng.randrange(-512, 1024), 256)
            point.append(F32.encode(lod))
        for column, value in zip(columns, point):
            column.append(value)
        lod = max(lod, Fraction(0))  # MIN_LOD is 0, MAX_LOD the largest
        if mips == 2:
            fixed = floor(min(lod, Fraction(levels - 1)) * 256 + Fraction(1, 2))
            shares = [(fixed // 256, 256 - fixed % 256), (fixed // 256 + 1, fixed % 256)]
        else:
            level = min(floor(lod + Fraction(1, 2)), levels - 1) if mips == 1 else 0
            shares = [(level, 256)]
        sums = [Fraction(0)] * 4
        for level, share in shares:
            if share == 0:
                continue
            axes = []
            for axis in range(3):
                if axis >= dims:
                    axes.append([(layer if axis == 2 else 0, 256)])
                    continue
                extent = image.extent(axis, image.base_level + level)
                at = position[axis] * (extent if normalized else 1)
                axes.append(footprint(at, extent, clamps[axis], linear and (axis < 2 or z_linear), truncate))
            for z, wz in axes[2]:
                for y, wy in axes[1]:
                    for x, wx in axes[0]:
                        weight = Fraction(share * wx * wy * wz, 256**4)
                        if weight == 0:
                            continue
                        at = None if None in (x, y, z) else image.offset(x, y, z, level)
                        if at is not None and at + image.size > USED:
                            return None
                        if at is None:
                            values = formats.border_colour(border, image.selects, image.number)
                        else:
                            raw = int.from_bytes(memory[at : at + image.size], "little")
                            values = formats.select(formats.read(raw, image.data_format, image.number), image.selects, image.number)
                        for i in range(4):
                            sums[i] += weight * F32.value(values[i])
        for i, row in enumerate(rows):
            row.append(F32.encode(sums[i]) if lanes >> lane & 1 else 0x7700 + i)
    name = "image_sample_l" if with_lod else "image_sample_lz"
    case = Case(f"{number} {name} {image.kind} {formats.DATA_FORMATS[image.data_format]} {formats.NAMES[image.number]}", image.targets(["gfx90a"]), random_mode(rng), lanes)
    for i, column in enumerate(columns):
        case.set(f"v{i}", column)
    for i in range(4):
        case.set(f"v{8 + i}", [0x7700 + i])
    image.describe(case)
    case.set("s16", [clamps[0] | clamps[1] << 3 | clamps[2] << 6 | truncate << 27 | (not normalized) << 15])
    case.set("s17", [0xFFF000])
    case.set("s18", [linear << 20 | linear << 22 | (2 if z_linear else 1) << 24 | mips << 26])
    case.set("s19", [border << 30])
    case.set(f"mem[{BASE}]", words(memory))
    array = " da" if layered else ""
    unorm = "" if normalized else " unorm"
    case.assembly = f"{name} v[8:11], {registers(0, len(columns))}, s[8:15], s[16:19] dmask:0xf{unorm}{array}"
    for i, row in enumerate(rows):
        case.expect(f"v{8 + i}", row)
    return case
