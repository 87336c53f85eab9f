"""Statements of programs (program.py) with images: loads, stores, atomics and samples.

The memory of images, in rows of 256 bytes: first one row for each atomic operation, whose texels all waves share; then three parts that
nobody writes, of bits, of floats and of half floats; then what work-items have of their own, 64 bytes each, 16 in each of four rows.
In an image of the latter rows are 256 bytes apart in all formats, so that a work-item's texels are the same bytes in all of them.

s[18:19]: where the memory begins, and s[16:17]: the work-group's part of it, both in units of 256 bytes. s[4:11] and s[12:15] are the
descriptor of the image and of the sampler within a statement. Registers are those of program.py otherwise."""

import dataclasses

SHARED_ATOMICS = ("add", "umin", "and", "or", "xor", "umax", "smin")
SHARED_ROWS, PART_ROWS = 8, 64
BITS, FLOATS, HALVES = (SHARED_ROWS + PART_ROWS * i for i in range(3))  # rows
OWN_ROWS = SHARED_ROWS + 3 * PART_ROWS  # rows ahead of those of work-items
WAVE_ROWS = 16
OWN_ATOMICS = ("add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "inc", "dec", "swap", "cmpswap")

UNORM, SNORM, USCALED, SSCALED, UINT, SINT, FLOAT = 0, 1, 2, 3, 4, 5, 7
# Data formats by their numbers: bytes of a texel.
BYTES = {1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 4, 8: 4, 9: 4, 10: 4, 11: 8, 12: 8, 14: 16}
WITH_FLOATS, WITH_32_BITS = (2, 4, 5, 6, 7, 11, 12, 14), (4, 11, 14)
FILTERED = ((1, UNORM), (10, UNORM), (10, SNORM), (2, UNORM), (5, SNORM), (9, UNORM), (3, UNORM))
FILTERED_FLOATS = ((4, FLOAT, FLOATS), (11, FLOAT, FLOATS), (2, FLOAT, HALVES), (5, FLOAT, HALVES), (12, FLOAT, HALVES))
TYPES = {"1d": 8, "2d": 9, "3d": 10, "1d_array": 12, "2d_array": 13}


SAMPLER = ", s[12:15]"
MODIFIERS = ("dmask", "unorm", "glc", "a16", "tfe", "da", "d16")  # as the assembler wants them


def registers(first: int, count: int) -> str:
    return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"


@dataclasses.dataclass
class Image:
    kind: str
    data_format: int
    number: int
    width: int
    height: int = 1
    depth: int = 1  # of three dimensions
    first_layer: int = 0
    last_layer: int = 0
    base_level: int = 0
    last_level: int = 0
    pitch: int = 0  # texels
    row: int = 0  # where it begins
    selects: int = 0xFAC

    @property
    def dimensions(self) -> int:
        return 3 if self.kind == "3d" else 2 if self.kind.startswith("2d") else 1

    @property
    def layered(self) -> bool:
        return self.kind.endswith("array")

    def words(self, gfx8: bool) -> list[int]:
        """The descriptor, to which the address of its memory has to be added."""
        depth = self.depth - 1 if self.kind == "3d" else 0 if gfx8 else self.last_layer
        tiling = 8 if gfx8 else 0
        return [self.row, self.data_format << 20 | self.number << 26, (self.width - 1) | (self.height - 1) << 14,
                self.selects | self.base_level << 12 | self.last_level << 16 | tiling << 20 | TYPES[self.kind] << 28,
                depth | (self.pitch - 1) << 13, self.first_layer | (self.last_layer << 13 if gfx8 else 0), 0, 0]  # fmt: skip


class Images:
    """Mixin of Program: writes with its out(), draws with its rng. `descriptors` are behind the code."""

    def image_statements(self) -> list:
        """What the target has, with weights. Only some processors sample with a level of detail."""
        found = [(self.own_image, 6), (self.constant_image, 2), (self.own_image_atomic, 2), (self.shared_image_atomic, 1), (self.image_size, 1), (self.plain_sample, 2)]
        if self.target.samples:
            found += [(self.sample, 6), (self.gather, 3)]
        return found

    def image_rows(self) -> int:
        return OWN_ROWS + WAVE_ROWS * self.waves * self.groups if self.has_images else 1

    def image_prologue(self) -> None:
        self.out("s_lshr_b64 s[18:19], s[18:19], 8", f"s_mul_i32 s16, s84, {WAVE_ROWS * self.waves}", f"s_add_u32 s16, s16, {OWN_ROWS}", "s_add_u32 s16, s16, s18", "s_addc_u32 s17, s19, 0")

    def image(self, name: str, data: str, address: str, modifiers: str, sampler: str = "") -> None:
        ordered = sorted(modifiers.split(), key=lambda m: MODIFIERS.index(m.split(":")[0]))
        self.out(f"image_{name} {data}, {address}, s[4:11]{sampler} {' '.join(ordered)}", "s_waitcnt vmcnt(0)")

    # Descriptors.

    def selects(self) -> int:
        return 0xFAC if self.chance(2) else sum(self.rng.choice((0, 1, 4, 5, 6, 7)) << 3 * i for i in range(4))

    def number_of(self, data_format: int) -> int:
        numbers = [UINT, SINT] if data_format in WITH_32_BITS else [UNORM, SNORM, USCALED, SSCALED, UINT, SINT]
        if data_format in WITH_FLOATS:
            numbers += [FLOAT, FLOAT]
        return self.rng.choice(numbers)

    def describe(self, image: Image, base: str, alternative: Image | None = None) -> None:
        """s[4:11], by immediates or from behind the code. With an alternative scalar registers say which of the two it is."""
        low, high = ("s16", "s17") if base == "own" else ("s18", "s19")
        words = image.words(self.target.gfx8)
        if alternative is None and self.chance(2):
            self.out(f"s_add_u32 s4, {low}, {words[0]}", f"s_addc_u32 s5, {high}, 0x{words[1]:x}", *(f"s_mov_b32 s{4 + i}, 0x{words[i]:x}" for i in range(2, 8)))
            return
        here, offset = self.label(), 32 * len(self.descriptors)
        self.descriptors.append(words)
        at = f"0x{offset:x}"
        if alternative is not None:
            self.descriptors.append(alternative.words(self.target.gfx8))
            self.out(f"s_cmp_lt_u32 {self.s()}, {self.s()}", f"s_movk_i32 s36, 0x{offset:x}", f"s_movk_i32 s37, 0x{offset + 32:x}", "s_cselect_b32 s36, s36, s37")
            at = "s36"
        self.out("s_getpc_b64 s[68:69]", f"{here}:", f"s_add_u32 s68, s68, {self.descriptors_label}-{here}", "s_addc_u32 s69, s69, 0", f"s_load_dwordx8 s[4:11], s[68:69], {at}",
                 "s_waitcnt lgkmcnt(0)", f"s_add_u32 s4, s4, {low}", f"s_addc_u32 s5, s5, {high}")  # fmt: skip

    def descriptor_lines(self) -> str:
        return "\n".join("  .long " + ", ".join(f"0x{word:x}" for word in words) for words in self.descriptors)

    # What work-items have of their own.

    def own(self, data_format: int, number: int, mip: bool = False) -> Image:
        """An image of all rows of the work-group, but for a few, with coordinates of a texel of the work-item's in registers from v16 on."""
        rng, texel = self.rng, BYTES[data_format]
        pitch, rows, each = 256 // texel, WAVE_ROWS * self.waves, 16 // texel
        kinds = ["2d"] if mip else ["2d", "2d", "1d_array", "2d_array", "3d"] + (["1d"] if pitch * rows <= 16384 else [])
        image = Image(rng.choice(kinds), data_format, number, pitch, pitch=pitch, selects=self.selects())
        self.out("v_and_b32 v16, 15, v32")
        if each > 1:
            self.out(f"v_lshlrev_b32 v16, {each.bit_length() - 1}, v16")
            self.add_drawn(16, each)
        self.out("v_lshrrev_b32 v17, 4, v32", "v_lshlrev_b32 v17, 2, v17")
        self.add_drawn(17, 4)
        rows -= rng.choice((0, 0, 1, 3, 4, 9))
        if mip:  # two levels, one below the other
            image.height, image.last_level = rng.randint(1, rows * 2 // 3 - 1), 1
            self.out(f"s_movk_i32 s36, {-image.height}", "addu v19, s36, v17", "s_sub_u32 s36, 0, s36", "v_cmp_le_u32 vcc, s36, v17", "v_cndmask_b32 v18, 0, 1, vcc",
                     "v_cndmask_b32 v17, v17, v19, vcc")  # fmt: skip
        elif image.kind == "1d":
            image.width = pitch * rows
            self.out(f"v_lshlrev_b32 v17, {pitch.bit_length() - 1}, v17", "v_or_b32 v16, v17, v16")
        elif image.kind == "2d":
            image.height = rows
        elif image.kind == "1d_array":
            image.last_layer = rows - 1
        else:
            bits = rng.randint(0, 3)
            image.height = 1 << bits
            layers = max(1, rows >> bits)
            image.depth, image.last_layer = (layers, 0) if image.kind == "3d" else (1, layers - 1)
            self.out(f"v_lshrrev_b32 v18, {bits}, v17", f"v_and_b32 v17, {image.height - 1}, v17")
        if self.chance(4):  # no texel at all
            self.compare()
            self.out("v_cndmask_b32 v16, v16, -1, vcc")
        return image

    def add_drawn(self, register: int, below: int) -> None:
        """Lower bits of a coordinate, the same for all or each lane's own."""
        if self.chance(2):
            self.out(f"v_or_b32 v{register}, {self.rng.randrange(below)}, v{register}")
        else:
            self.out(f"v_and_b32 v20, {below - 1}, {self.v()}", f"v_or_b32 v{register}, v20, v{register}")

    def coordinates(self, image: Image, mip: bool) -> tuple[str, str]:
        """Their registers, and the modifiers that say what they are. GFX9 may have two in a register."""
        count, array = image.dimensions + image.layered + mip, " da" if image.layered else ""
        if not self.target.gfx8 and self.chance(4):
            self.out(*(f"v_and_b32 v{16 + i}, 0xffff, v{16 + i}" for i in range(count)))
            for i in range(0, count, 2):
                self.out(f"v_lshl_or_b32 v{16 + i // 2}, v{17 + i}, 16, v{16 + i}" if i + 1 < count else f"v_mov_b32 v{16 + i // 2}, v{16 + i}")
            return registers(16, (count + 1) // 2), f" unorm a16{array}"
        return registers(16, count), f" unorm{array}"

    def texel_data(self, raw: bool, load: bool) -> tuple[str, str]:
        """Registers of some components, and the modifiers that say which they are."""
        rng = self.rng
        mask = rng.randrange(1, 16)
        count, more = mask.bit_count(), f" dmask:{mask:#x}"
        if not raw and self.chance(4):
            more += " d16"
            if not self.target.gfx8:
                count = (count + 1) // 2
        elif load and not self.target.unified and self.chance(6):
            more += " tfe"
            count += 1
        if self.chance(6):
            more += " glc"
        return registers(2 * rng.randrange(8 - count // 2), count), more

    def own_image(self) -> None:
        rng = self.rng
        mip, load, raw = self.chance(4), self.chance(2), self.chance(8)
        data_format = rng.choice(list(BYTES))
        image = self.own(data_format, self.number_of(data_format), mip)
        other = dataclasses.replace(image, number=self.number_of(data_format), selects=self.selects()) if self.chance(4) else None
        self.describe(image, "own", other)
        address, where = self.coordinates(image, mip)
        data, which = self.texel_data(raw, load)
        self.image(f"{'load' if load else 'store'}{'_mip' if mip else ''}{'_pck' if raw else ''}", data, address, which + where)

    def own_image_atomic(self) -> None:
        rng = self.rng
        op, wide = rng.choice(OWN_ATOMICS), self.chance(3)
        image = self.own(11 if wide else 4, rng.choice((UINT, SINT)))
        self.describe(image, "own")
        address, where = self.coordinates(image, mip=False)
        count = (2 if wide else 1) * (2 if op == "cmpswap" else 1)
        returns = " glc" if self.chance(2) else ""
        self.image(f"atomic_{op}", registers(2 * rng.randrange(8 - count // 2), count), address, f"dmask:{(1 << count) - 1:#x}{returns}{where}")

    # What all waves have.

    def shared_image_atomic(self) -> None:
        """Only operations whose order does not matter, one in each row, without their results."""
        row = self.rng.randrange(len(SHARED_ATOMICS))
        self.describe(Image("2d", 4, self.rng.choice((UINT, SINT)), 64, SHARED_ROWS, pitch=64), "shared")
        self.out(f"v_and_b32 v16, 63, {self.v()}", f"v_mov_b32 v17, {row}")
        self.image(f"atomic_{SHARED_ATOMICS[row]}", self.v(), "v[16:17]", "dmask:0x1 unorm")

    def constant(self, kinds: tuple[str, ...], data_format: int, number: int, part: int, levels: bool) -> Image:
        """A small image, whose texels are all in its part."""
        rng = self.rng
        image = Image(rng.choice(kinds), data_format, number, rng.randint(1, 9), pitch=9 + rng.randrange(3), selects=self.selects(), row=part + rng.randrange(4))
        if image.dimensions > 1:
            image.height = rng.randint(1, 9)
        if image.dimensions > 2:
            image.depth = rng.randint(1, 4)
        if image.layered:
            image.first_layer = rng.randrange(3)
            image.last_layer = image.first_layer + rng.randrange(3)
        if levels and self.chance(2):
            image.base_level = rng.randrange(2)
            image.last_level = image.base_level + rng.randrange(3)
        return image

    def constant_image(self) -> None:
        rng = self.rng
        mip, data_format = self.chance(2), rng.choice(list(BYTES))
        image = self.constant(tuple(TYPES), data_format, self.number_of(data_format), rng.choice((BITS, FLOATS, HALVES)), levels=True)
        self.describe(image, "shared")
        limits = [15] * image.dimensions + [3] * (image.layered + mip)
        self.out(*(f"v_and_b32 v{16 + i}, {limit}, {self.v()}" for i, limit in enumerate(limits)))
        address, where = self.coordinates(image, mip)
        data, which = self.texel_data(raw=False, load=True)
        self.image(f"load{'_mip' if mip else ''}", data, address, which + where)

    def image_size(self) -> None:
        image = self.constant(tuple(TYPES), 10, UNORM, BITS, levels=True)
        self.describe(image, "shared")
        mask = self.rng.randrange(1, 16)
        count = mask.bit_count()
        self.out(f"v_and_b32 v16, {self.rng.choice((1, 3, 7))}, {self.v()}")
        self.image("get_resinfo", registers(2 * self.rng.randrange(8 - count // 2), count), "v16", f"dmask:{mask:#x}")

    # Samples.

    def filtered(self, kinds: tuple[str, ...], levels: bool, integers: bool) -> Image:
        """No texel is a NaN."""
        rng = self.rng
        if integers and self.chance(4):
            choice = (*rng.choice(((1, UINT), (10, SINT), (9, UINT), (4, UINT), (5, SINT))), BITS)
        else:
            choice = rng.choice([(*f, BITS) for f in FILTERED] + list(FILTERED_FLOATS))
        return self.constant(kinds, *choice, levels=levels)

    def sampler(self, linear: tuple[bool, bool], z_linear: bool, mips: int, normalized: bool, limits: bool) -> None:
        rng = self.rng
        clamps = [rng.randrange(8) for _ in range(3)]
        words = [clamps[0] | clamps[1] << 3 | clamps[2] << 6 | rng.randrange(8) << 12 | self.chance(3) << 27 | (not normalized) << 15, 0xFFF000]
        bias = 0
        if limits and self.chance(2):
            words[1] = rng.choice((0, 0, 128, 300)) | rng.choice((4095, 512, 400)) << 12
            bias = rng.choice((0, 128, -256, 77, -300)) & 0x3FFF
        words += [bias | linear[0] << 20 | linear[1] << 22 | (2 if z_linear else 1) << 24 | mips << 26, rng.randrange(3) << 30]
        self.out(*(f"s_mov_b32 s{12 + i}, 0x{word:x}" for i, word in enumerate(words)))

    def float_into(self, register: int, scale: float) -> None:
        """-512 to 511 times the scale, each lane's own; now and then any bits."""
        if self.chance(12):
            self.out(f"v_mov_b32 v{register}, {self.v()}")
        else:
            self.out(f"v_bfe_i32 v{register}, {self.v()}, {self.rng.choice((0, 0, 7, 16))}, 10", f"v_cvt_f32_i32 v{register}, v{register}", f"v_mul_f32 v{register}, {scale!r}, v{register}")

    def sample_address(self, image: Image, normalized: bool, how: str, compares: bool, offsets: bool) -> tuple[str, str]:
        at = 16
        if offsets:
            self.out(f"v_and_b32 v{at}, {'0x3f3f3f3f' if self.chance(4) else '0x030303'}, {self.v()}")
            at += 1
        scales = [0.125] * compares
        axes = (image.width, image.height, image.depth)[: image.dimensions]
        if how in ("d", "cd"):
            scales += [1 / 128 / (axis if normalized else 1) for axis in axes] * 2
        scales += [self.rng.choice((1 / 128, 1 / 96)) * (1 if normalized else axis) for axis in axes] + [1 / 128] * (image.layered + (how == "l"))
        for scale in scales:
            self.float_into(at, scale)
            at += 1
        count = at - 16
        count = count if count <= 4 else max(count, 8)
        return registers(16, count), ("" if normalized else " unorm") + (" da" if image.layered else "")

    def sampled_data(self, count: int) -> tuple[str, str]:
        more = ""
        if self.chance(5):
            more = " d16"
            if not self.target.gfx8:
                count = (count + 1) // 2
        return registers(2 * self.rng.randrange(8 - count // 2), count), more

    def plain_sample(self) -> None:
        """Of images of one level, so that the level of detail does not matter."""
        linear, normalized = self.chance(2), not self.chance(4)
        image = self.filtered(tuple(TYPES), levels=False, integers=not linear)
        self.describe(image, "shared")
        self.sampler((linear, linear), linear and self.chance(2), 0, normalized, limits=False)
        address, where = self.sample_address(image, normalized, "", compares=False, offsets=False)
        mask = self.rng.randrange(1, 16)
        data, which = self.sampled_data(mask.bit_count())
        self.image("sample", data, address, f"dmask:{mask:#x}{which}{where}", SAMPLER)

    def sample(self) -> None:
        rng = self.rng
        linear, z_linear, normalized = (self.chance(2), self.chance(2)), self.chance(2), not self.chance(5)
        compares, offsets = self.chance(4), self.chance(4)
        how = rng.choice(("l", "l", "lz", "d", "cd")) if normalized else "lz"
        nearest = not (linear[0] or linear[1] or z_linear)
        image = self.filtered(tuple(TYPES), levels=True, integers=nearest and not compares)
        mips = rng.randrange(3) if image.last_level > image.base_level and normalized else 0
        if image.number in (UINT, SINT):
            mips = min(mips, 1)
        self.describe(image, "shared")
        self.sampler(linear, z_linear, mips, normalized, limits=how != "lz")
        address, where = self.sample_address(image, normalized, how, compares, offsets)
        mask = 1 if compares else rng.randrange(1, 16)
        data, which = self.sampled_data(mask.bit_count())
        self.image(f"sample{'_c' if compares else ''}_{how}{'_o' if offsets else ''}", data, address, f"dmask:{mask:#x}{which}{where}", SAMPLER)

    def gather(self) -> None:
        rng = self.rng
        compares, offsets, normalized = self.chance(4), self.chance(4), not self.chance(5)
        image = self.filtered(("2d", "2d_array"), levels=True, integers=not compares)
        how = rng.choice(("l", "lz")) if normalized else "lz"
        self.describe(image, "shared")
        self.sampler((False, False), False, rng.randrange(3) if normalized else 0, normalized, limits=how != "lz")
        address, where = self.sample_address(image, normalized, how, compares, offsets)
        data, which = self.sampled_data(4)
        self.image(f"gather4{'_c' if compares else ''}_{how}{'_o' if offsets else ''}", data, address, f"dmask:{1 << rng.randrange(4):#x}{which}{where}", SAMPLER)
