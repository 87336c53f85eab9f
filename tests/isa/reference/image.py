"""MIMG. Where texels lie, how they are filtered and compared, and how levels are chosen is in tests/formats; here are the
descriptors' fields, the registers of coordinates, and what instructions do. GCN3 and Vega ISA manuals, "Image
instructions"; docs/isa-decisions.md, "Images"."""
import re
from fractions import Fraction

import atomics
import buffer  # puts tests/formats on the path
import exact
import formats
import images
import samples
from assembly import number
from machine import MASK32, NotCovered
from spaces import Global
from vector import signed

NAMES = {8: "1d", 9: "2d", 10: "3d", 11: "cube", 12: "1d_array", 13: "2d_array"}
PLAIN = r"image_(load|store)(_mip)?(_pck)?(_sgn)?"
SAMPLE = r"image_(sample|gather4)(_c)?(_cd|_d|_lz|_l)?(_o)?"


def known(name):
    if re.fullmatch(PLAIN, name) or name == "image_get_resinfo":
        return True
    if match := re.fullmatch(SAMPLE, name):
        return bool(match[3]) or name == "image_sample"
    return name.startswith("image_atomic_") and bool(atomics.named(name[len("image_atomic_") :]))


class Resource(images.Image):
    """An image as its descriptor has it."""

    def __init__(self, machine, index):
        words = [machine.scalar(index + i) for i in range(8)]
        self.base = (words[0] | (words[1] & 0xFF) << 32) << 8
        self.data_format, self.number = words[1] >> 20 & 63, words[1] >> 26 & 15
        if self.data_format not in formats.DATA_FORMATS or self.number not in formats.NAMES or words[3] >> 28 not in NAMES:
            raise NotCovered("format of an image")
        self.size = formats.element_bytes(self.data_format)
        self.least_lod = Fraction(words[1] >> 8 & 0xFFF, 256)
        self.kind = NAMES[words[3] >> 28]
        self.width = (words[2] & 0x3FFF) + 1
        self.height = 1 if self.kind.startswith("1d") else (words[2] >> 14 & 0x3FFF) + 1
        self.selects = words[3] & 0xFFF
        self.base_level, self.last_level = words[3] >> 12 & 15, words[3] >> 16 & 15
        depth, self.pitch = words[4] & 0x1FFF, (words[4] >> 13 & 0x3FFF) + 1
        self.depth = depth + 1 if self.kind == "3d" else 1
        self.first_layer = words[5] & 0x1FFF if self.layered() else 0
        self.last_layer = (words[5] >> 13 & 0x1FFF if machine.generation <= 8 else depth) if self.layered() else 0
        if words[3] >> 20 & 31 != (8 if machine.generation <= 8 else 0):
            raise NotCovered("tiled image")

    def levels(self):
        return max(self.last_level - self.base_level, 0) + 1

    def layers(self):
        return self.last_layer - self.first_layer + 1

    def texel(self, x, y, z, level):
        """The address of a texel, or None."""
        at = self.offset(x, y, z, level)
        return None if at is None else self.base + at


def execute(machine, instruction):
    name = instruction.name
    data, address, descriptor = instruction.operands[:3]
    image = Resource(machine, descriptor.index)
    mask = number(instruction.modifiers.get("dmask", "0x1"))
    if name == "image_get_resinfo":
        resource_info(machine, data, address, image, mask)
    elif match := re.fullmatch(PLAIN, name):
        plain(machine, instruction, image, mask, match)
    elif re.fullmatch(SAMPLE, name):
        Sampler(machine, instruction, image, mask).execute()
    else:
        atomic(machine, instruction, image, mask)


def write(machine, data, lane, values, to_halves=False, kind=formats.FLOAT):
    if to_halves:
        values = [buffer.half_of(v, kind) for v in values]
        if machine.generation >= 9:
            values = buffer.buffers.halves(values)
    for i, value in enumerate(values):
        machine.row(data.index + i)[lane] = 0x7FC00000 if value == formats.NAN else value


def chosen(values, mask):
    return [v for i, v in enumerate(values) if mask >> i & 1]


def coordinates(machine, instruction, image, lane):
    """(x, y, z or layer) of integer coordinates, and the register behind them."""
    address = instruction.operands[1].index
    point = [machine.row(address + i)[lane] for i in range(image.dimensions())]
    following = address + len(point)
    if image.kind == "cube" or (image.layered() and "da" in instruction.modifiers):
        layer = machine.row(following)[lane]
        following += 1
    else:
        layer = 0
    y = point[1] if len(point) > 1 else 0
    z = point[2] if len(point) > 2 else layer
    return (point[0], y, z), following


def resource_info(machine, data, address, image, mask):
    for lane in machine.active():
        level = machine.row(address.index)[lane]
        if level < image.levels():
            sizes = [image.extent(i, image.base_level + level) for i in range(2)]
            depth = image.extent(2, image.base_level + level) if image.kind == "3d" else image.layers()
            values = [*sizes, depth, image.levels()]
        else:
            values = [0, 0, 0, image.levels()]
        write(machine, data, lane, chosen(values, mask))


def plain(machine, instruction, image, mask, match):
    is_load, mip, packed, extends = match[1] == "load", match[2], match[3], match[4]
    data, memory = instruction.operands[0], Global(machine)
    halves = "d16" in instruction.modifiers
    results = {}
    for lane in machine.active():
        point, following = coordinates(machine, instruction, image, lane)
        level = machine.row(following)[lane] if mip else 0
        at = image.texel(*point, level)
        if is_load:
            results[lane] = loaded(memory, image, at, mask, packed, extends)
        elif at is not None:
            store(machine, data, lane, memory, image, at, mask, packed, halves)
    for lane, values in results.items():
        write(machine, data, lane, values, halves, image.number)
        if "tfe" in instruction.modifiers:
            machine.row(data.index + ((len(values) + 1) // 2 if halves and machine.generation >= 9 else len(values)))[lane] = 0


def loaded(memory, image, at, mask, packed, extends):
    if at is None:
        return [0] * bin(mask).count("1")
    raw = memory.load(at, image.size)
    if not packed:
        return chosen(formats.select(formats.read(raw, image.data_format, image.number), image.selects, image.number), mask)
    if extends and image.size < 4:
        raw = signed(raw, 8 * image.size) & MASK32
    return chosen([raw >> 32 * i & MASK32 for i in range(4)], mask)


def store(machine, data, lane, memory, image, at, mask, packed, halves):
    count = bin(mask).count("1")
    if not halves:
        own = [machine.row(data.index + i)[lane] for i in range(count)]
    elif machine.generation == 8:
        own = [formats.from_d16(machine.row(data.index + i)[lane] & 0xFFFF, image.number) for i in range(count)]
    else:
        own = [formats.from_d16(machine.row(data.index + i // 2)[lane] >> 16 * (i & 1) & 0xFFFF, image.number) for i in range(count)]
    values = [own.pop(0) if mask >> i & 1 else 0 for i in range(4)]
    if packed:
        raw = sum(v << 32 * i for i, v in enumerate(values)) & (1 << 8 * image.size) - 1
    else:
        raw = formats.write(values, image.data_format, image.number, image.selects)
    memory.store(at, image.size, raw)


def atomic(machine, instruction, image, mask):
    operation, _ = atomics.named(instruction.name[len("image_atomic_") :])
    data, memory = instruction.operands[0], Global(machine)
    count = 2 if operation in ("cmpswap", "fcmpswap") else 1
    dwords = bin(mask).count("1") // count
    for lane in machine.active():
        point, _ = coordinates(machine, instruction, image, lane)
        at = image.texel(*point, 0)
        values = [machine.lane("v", data.index + dwords * i, dwords, lane) for i in range(count)]
        old = 0 if at is None else atomics.apply(machine, memory, lane, at, operation, 32 * dwords, values)
        if "glc" in instruction.modifiers:
            for i in range(dwords):
                machine.row(data.index + i)[lane] = old >> 32 * i & MASK32


class Sampler:
    """image_sample* and image_gather4*."""

    def __init__(self, machine, instruction, image, mask):
        self.machine, self.image, self.mask = machine, image, mask
        self.data, self.address = instruction.operands[:2]
        words = [machine.scalar(instruction.operands[3].index + i) for i in range(4)]
        match = re.fullmatch(SAMPLE, instruction.name)
        self.gathers, self.compares = match[1] == "gather4", bool(match[2])
        self.how, self.offsets = match[3] or "", bool(match[4])
        self.array = "da" in instruction.modifiers
        self.halves = "d16" in instruction.modifiers
        self.clamps = [words[0] >> 3 * i & 7 for i in range(3)]
        self.function, self.truncates = words[0] >> 12 & 7, bool(words[0] >> 27 & 1)
        self.normalized = not words[0] >> 15 & 1 and "unorm" not in instruction.modifiers
        self.low, self.high = Fraction(words[1] & 0xFFF, 256), Fraction(words[1] >> 12 & 0xFFF, 256)
        self.bias = Fraction(signed(words[2] & 0x3FFF, 14), 256)
        self.mag, self.min = bool(words[2] >> 20 & 3), bool(words[2] >> 22 & 3)
        self.z_linear, self.mips, self.border = words[2] >> 24 & 3 == 2, words[2] >> 26 & 3, words[3] >> 30
        if self.border == 3:
            raise NotCovered("border colour from a register")
        if not self.how and (image.levels() > 1 or self.mag != self.min):
            raise NotCovered("derivatives between lanes")
        self.known = {}

    def execute(self):
        results = {}
        count = 1 if self.mask == 0 else bin(self.mask).count("1")
        rows = [self.machine.row(self.address.index + i) for i in range(self.registers())]
        for lane in self.machine.active():
            key = tuple(row[lane] for row in rows)
            if key not in self.known:
                values = self.sampled(list(key))
                self.known[key] = values if self.gathers else chosen(values, self.mask)[:count]
            results[lane] = self.known[key]
        for lane, values in results.items():
            write(self.machine, self.data, lane, values, self.halves, formats.UNORM if self.compares else self.image.number)

    def registers(self):
        dims = self.image.dimensions()
        return self.offsets + self.compares + (2 * dims if self.how in ("_d", "_cd") else 0) + dims + self.has_layer() + (self.how == "_l")

    def has_layer(self):
        return self.image.kind == "cube" or (self.image.layered() and self.array)

    def sampled(self, registers):
        """Four components, or the four texels of a gather."""
        image, dims = self.image, self.image.dimensions()
        shifts, reference = [0, 0, 0], None
        if self.offsets:
            packed = registers.pop(0)
            shifts = [signed(packed >> 8 * i & 63, 6) for i in range(3)]
        if self.compares:
            reference = self.real(registers.pop(0))
            if image.number == formats.UNORM:
                reference = min(max(reference, Fraction(0)), Fraction(1))
        base = [image.extent(axis, image.base_level) for axis in range(dims)]
        lod = samples.Known(Fraction(0))
        if self.how in ("_d", "_cd"):
            slopes = [self.real(registers.pop(0)) for _ in range(2 * dims)]
            squares = [sum((slopes[dims * k + i] * (base[i] if self.normalized else 1)) ** 2 for i in range(dims)) for k in range(2)]
            lod = samples.OfLength(max(squares), self.bias)
        position = [self.real(registers.pop(0)) - (image.kind == "cube") for _ in range(dims)]
        layer = self.layer(registers.pop(0)) if self.has_layer() else 0
        if self.how == "_l":
            lod = samples.Known(self.real(registers.pop(0)) + self.bias)
        if self.how in ("", "_lz"):
            lod = samples.Known(Fraction(0))
        else:
            lod = samples.clamped(lod, self.low, max(self.low, self.high))
            if not lod.at_least(image.least_lod):
                lod = samples.Known(image.least_lod)

        def footprints(level, linear):
            axes = []
            for axis in range(3):
                if axis >= dims:
                    axes.append([(layer if axis == 2 else 0, 256)])
                    continue
                extent = image.extent(axis, image.base_level + level)
                at = position[axis] * (extent if self.normalized else 1) + shifts[axis]
                clamp = images.CLAMP if image.kind == "cube" else self.clamps[axis]
                axes.append(images.footprint(at, extent, clamp, linear and (axis < 2 or self.z_linear), self.truncates))
            return axes

        def texel(x, y, z, level):
            values = self.texel(x, y, z, level)
            if not self.compares:
                return values
            return [samples.ONE if samples.holds(self.function, reference, self.real(values[0])) else 0] * 4

        if self.gathers:
            component = (self.mask & -self.mask).bit_length() - 1
            return samples.gathered(samples.nearest_level(lod, image.levels()), footprints, texel, layer, component)
        shares = samples.levels_and_shares(lod, image.levels(), self.mips)
        kind = formats.UNORM if self.compares else image.number
        return samples.filtered(shares, self.min if lod.above(0) else self.mag, footprints, texel, kind)

    def texel(self, x, y, z, level):
        """Register contents of a texel or of the border."""
        image = self.image
        at = None if None in (x, y, z) else image.texel(x, y, z, level)
        if at is None:
            return formats.border_colour(self.border, image.selects, image.number)
        raw = Global(self.machine).load(at, image.size)
        return formats.select(formats.read(raw, image.data_format, image.number), image.selects, image.number)

    def layer(self, bits):
        wanted = formats.round_even(self.real(bits))
        if self.image.kind == "cube":
            return min(max(wanted // 8 * 6 + wanted % 8, 0), self.image.layers() - 1)
        return min(max(wanted, 0), self.image.layers() - 1)

    def real(self, bits):
        value = exact.F32.value(bits)
        if isinstance(value, str):
            raise NotCovered("infinities and NaNs of samples")
        return value
