"""Buffers: addresses and range checks. From the table in docs/isa-decisions.md, "Buffers" (which names the documents),
and GCN3 and Vega ISA manuals, "Buffer Addressing"."""
import formats
from case import LANES, MEMORY, Case, pattern, random_exec, random_mode

GENERATIONS = {6: ["gfx600", "gfx700"], 8: ["gfx803"], 9: ["gfx900", "gfx906", "gfx908", "gfx90a"]}
BASE = 1024
MASK32 = 0xFFFFFFFF


class Buffer:
    def __init__(self, rng, generation, unit, element=False):
        """`unit`: offsets and strides are multiples of it."""
        self.generation = generation
        self.idxen, self.offen = rng.random() < 0.6, rng.random() < 0.6
        self.add_tid = rng.random() < 0.15 and not element
        self.swizzle = rng.random() < 0.3
        self.stride = unit * rng.choice([0, 1, 1, 2, 3, 4, 8])
        self.index_stride_code = rng.randrange(4)
        self.element_size_code = rng.choice([1, 2, 3])
        self.element_size = 2 << self.element_size_code if generation <= 8 else 4
        if unit > 4 and generation == 9:
            self.swizzle = False  # an element may be in several pieces
        if generation <= 8 and self.element_size < unit:
            self.element_size_code, self.element_size = 3, 16
        self.soffset = rng.choice([0, 0, 4, 64, 256])
        self.immediate = unit * rng.choice([0, 0, 1, 3, 16])
        records = rng.choice([0, 1, 7, 40, 64, 200])
        self.num_records = records if rng.random() < 0.5 else records * unit + rng.choice([0, 0, 1, 2, 3])
        limit = max(records, 4)
        self.index = [rng.choice([rng.randrange(limit + 4), rng.randrange(limit + 4), limit - 1, limit]) for _ in range(LANES)]
        self.offset = [unit * rng.randrange(12) for _ in range(LANES)]
        for lane in range(LANES):
            if rng.random() < 0.06:
                self.offset[lane] = rng.choice([MASK32 & ~(unit - 1) if unit & (unit - 1) == 0 else MASK32 - 15, MASK32 + 1 - unit, 1 << 31])
            if rng.random() < 0.04:
                self.index[lane] = rng.choice([MASK32, 1 << 31, MASK32 - 3])

    def indexed(self):
        return self.idxen or self.add_tid

    def parts(self, lane):
        own = self.index[lane] if self.idxen else 0
        index = (own + (lane if self.add_tid else 0)) & MASK32
        return own, index, (self.offset[lane] if self.offen else 0) + self.immediate

    def swizzles(self):
        return self.swizzle and (self.generation <= 8 or self.indexed())

    def position(self, index, offset):
        if not self.swizzles():
            return (index * self.stride + offset) & MASK32
        step = 8 << self.index_stride_code
        column, row = index % step, index // step
        piece, byte = offset // self.element_size, offset % self.element_size
        return ((row * self.stride + piece * self.element_size) * step + column * self.element_size + byte) & MASK32

    def access(self, lane, byte, size):
        """The address behind BASE of `size` bytes that are checked together, or None."""
        own, index, offset = self.parts(lane)
        if self.generation >= 9:
            offset &= MASK32
            if self.add_tid and not self.idxen:
                fits = True
            elif self.stride and self.idxen:
                fits = own < self.num_records
            else:
                fits = offset + byte + size + self.soffset <= self.num_records
            return self.soffset + self.position(index, (offset + byte) & MASK32) if fits else None
        at = offset + byte
        if at > MASK32:
            return None
        by_records = self.stride != 0 and (self.swizzle or self.generation < 8)
        if by_records:
            fits = index < self.num_records
            if self.generation == 8 or self.indexed():
                fits = fits and at < self.stride
        else:
            place = self.position(index, at) if self.swizzle else index * self.stride + at
            fits = place + self.soffset + size <= self.num_records
        return self.soffset + self.position(index, at) if fits else None

    def describe(self, case, data_format=4, number=7, selects=0xFAC):
        if self.add_tid:
            data_format = 0  # stride bits 17:14 from GFX8 on
        word3 = selects | number << 12 | data_format << 15 | self.index_stride_code << 21 | self.add_tid << 23
        if self.generation <= 8:
            word3 |= self.element_size_code << 19
        high = self.stride << 16 | self.swizzle << 31
        case.set("s[8:9]", f"mem{formats.signed(BASE + (high << 32), 64):+}")
        case.set("s10", [self.num_records])
        case.set("s11", [word3])
        case.set("s12", [self.soffset])
        address = []
        if self.idxen:
            address.append(self.index)
        if self.offen:
            address.append(self.offset)
        for i, row in enumerate(address):
            case.set(f"v{i}", row)
        registers = "off" if not address else "v0" if len(address) == 1 else "v[0:1]"
        text = f"{registers}, s[8:11],"
        flags = (" idxen" if self.idxen else "") + (" offen" if self.offen else "")
        flags += f" offset:{self.immediate}" if self.immediate else ""
        return text, f" s12{flags}"


def registers(first, count):
    return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"


PLAIN = {"dword": 1, "dwordx2": 2, "dwordx3": 3, "dwordx4": 4, "ubyte": 0, "sbyte": 0, "ushort": 0, "sshort": 0}
STORES = {"dword": 1, "dwordx2": 2, "dwordx3": 3, "dwordx4": 4, "byte": 0, "short": 0}


def inside(at, size):
    return at is None or BASE + at + size <= MEMORY


def plain_load(rng, number):
    generation = rng.choice(list(GENERATIONS))
    kind = rng.choice([k for k in PLAIN if generation > 6 or k != "dwordx3"])
    dwords = PLAIN[kind]
    size = 4 if dwords else 1 if "byte" in kind else 2
    buffer = Buffer(rng, generation, size if dwords == 0 else 4)
    lanes = random_exec(rng)
    rows = [[0x1000 * (i + 1)] * LANES for i in range(max(dwords, 1))]
    for lane in range(LANES):
        if not lanes >> lane & 1:
            continue
        for d in range(max(dwords, 1)):
            at = buffer.access(lane, 4 * d, size)
            if not inside(at, size):
                return None
            raw = 0 if at is None else sum(pattern(BASE + at + b) << 8 * b for b in range(size))
            if kind.startswith("s"):
                raw = formats.signed(raw, 8 * size) & MASK32
            rows[d][lane] = raw
    case = Case(f"{number} buffer_load_{kind} GFX{generation}", GENERATIONS[generation], random_mode(rng), lanes)
    text, tail = buffer.describe(case)
    case.set(f"mem[{BASE}]", f"pattern {MEMORY - BASE}")
    for i in range(len(rows)):
        case.set(f"v{8 + i}", [0x1000 * (i + 1)])
    case.assembly = f"buffer_load_{kind} {registers(8, len(rows))}, {text}{tail}"
    for i, row in enumerate(rows):
        case.expect(f"v{8 + i}", row)
    return case


def put(written, pieces):
    """Writes (address, bytes) pieces of a lane unless another lane has written there; whether it did."""
    if any(a in written for at, data in pieces for a in range(at, at + len(data))):
        return False
    for at, data in pieces:
        for i, byte in enumerate(data):
            written[at + i] = byte
    return True


def plain_store(rng, number):
    generation = rng.choice(list(GENERATIONS))
    kind = rng.choice([k for k in STORES if generation > 6 or k != "dwordx3"])
    dwords = STORES[kind]
    size = 4 if dwords else 1 if "byte" in kind else 2
    buffer = Buffer(rng, generation, size if dwords == 0 else 4)
    lanes = random_exec(rng)
    rows = [[rng.getrandbits(32) for _ in range(LANES)] for _ in range(max(dwords, 1))]
    written = {}
    for lane in range(LANES):
        if not lanes >> lane & 1:
            continue
        pieces = []
        for d, row in enumerate(rows):
            at = buffer.access(lane, 4 * d, size)
            if not inside(at, size):
                return None
            if at is not None:
                pieces.append((BASE + at, (row[lane] & ((1 << 8 * size) - 1)).to_bytes(size, "little")))
        if not put(written, pieces):
            lanes &= ~(1 << lane)
    case = Case(f"{number} buffer_store_{kind} GFX{generation}", GENERATIONS[generation], random_mode(rng), lanes)
    text, tail = buffer.describe(case)
    for i, row in enumerate(rows):
        case.set(f"v{8 + i}", row)
    case.assembly = f"buffer_store_{kind} {registers(8, len(rows))}, {text}{tail}"
    case.expect_memory(written, 0, MEMORY, lambda a: 0)
    return case


def interesting_raw(rng, data_format):
    """Bits of an element: each component at an end of its range, or anything."""
    raw, shift = 0, 0
    for width in formats.widths(data_format):
        top = 1 << (width - 1)
        raw |= rng.choice([0, top, top - 1, 2 * top - 1, rng.getrandbits(width), rng.getrandbits(width), 1]) << shift
        shift += width
    return raw


def interesting_f32(rng, number):
    """A register for a store: never a NaN for formats of floats."""
    kinds = [0x3F800000, 0xBF800000, 0, 0x80000000, 0x3F7FFFFF, 0x3F000000, 0x40000000, 0x7F800000, 0xFF800000, 1, 0x80000001]
    kinds.append(formats.F32.encode(formats.Fraction(2 * rng.randrange(1 << 16) + 1, 2 * rng.choice([255, 65535, 1023, 127, 32767, 511, 3]))))
    kinds.append(formats.F32.encode(formats.Fraction(rng.randrange(-(1 << 18), 1 << 18), rng.choice([1, 2, 4]))))
    kinds.append((rng.randrange(96, 145) << 23) | rng.choice([0, 1 << 12, 1 << 13, 3 << 12, 1 << 17, 1 << 16, rng.getrandbits(23)]))
    kinds.append(rng.getrandbits(32))
    value = rng.choice(kinds + kinds[-4:])
    if formats.F32.value(value) == formats.NAN and number == formats.FLOAT:
        return 0x3FC00000
    return value


def interesting_half(rng):
    """As interesting_f32, for 16-bit registers; no NaN."""
    return formats.to_d16(interesting_f32(rng, formats.FLOAT), formats.FLOAT)


def halves(values):
    """Registers of d16 from GFX9 on."""
    return [values[i] | (values[i + 1] << 16 if i + 1 < len(values) else 0) for i in range(0, len(values), 2)]


def drawn_selects(rng, typed):
    """DST_SEL, which instructions with a format of their own do not look at: there the identity."""
    return 0xFAC if typed or rng.random() < 0.4 else sum(rng.choice([0, 1, 4, 5, 6, 7]) << 3 * i for i in range(4))


def format_load(rng, number):
    data_format, kind = rng.choice(formats.ALL)
    generation = rng.choice(list(GENERATIONS))
    d16 = generation >= 8 and rng.random() < 0.4
    typed = rng.random() < 0.5
    size = formats.element_bytes(data_format)
    unit = size if size & (size - 1) == 0 else 4
    buffer = Buffer(rng, generation, size if size % 4 == 0 else unit, element=True)
    buffer.swizzle = buffer.swizzle and size <= 4
    components = rng.randrange(1, 5)
    selects = drawn_selects(rng, typed)
    lanes = random_exec(rng)
    memory = bytearray()
    while len(memory) < MEMORY - BASE:
        raw = interesting_raw(rng, data_format)
        if d16:  # a NaN in half a register cannot be stated
            read = formats.read(raw, data_format, kind)
            if kind == formats.FLOAT and any(v == formats.NAN or formats.F32.value(v) == formats.NAN for v in read):
                continue
        memory += raw.to_bytes(size, "little")
    memory = bytes(memory[: (MEMORY - BASE) & ~3])
    used = 2 * 1024  # of memory
    rows = [[] for _ in range(components)]
    for lane in range(LANES):
        at = buffer.access(lane, 0, size)
        if at is not None and lanes >> lane & 1 and (at + size > used or (d16 and at % size)):
            return None
        read = [0] * 4
        if at is not None and lanes >> lane & 1:
            read = formats.read(int.from_bytes(memory[at : at + size], "little"), data_format, kind)
        values = formats.select(read, selects, kind)[:components]
        for row, value in zip(rows, values):
            row.append(value)
    if d16:
        rows = [[formats.to_d16(v, kind) for v in row] for row in rows]
        if generation >= 9:
            rows = [list(r) for r in zip(*[halves(v) for v in zip(*rows)])]
    before = [0x7700 + i for i in range(len(rows))]
    prefix = "tbuffer" if typed else "buffer"
    name = f"{prefix}_load_format_{'d16_' if d16 else ''}{'xyzw'[:components]}"
    case = Case(f"{number} {name} {formats.DATA_FORMATS[data_format]} {formats.NAMES[kind]} GFX{generation}", GENERATIONS[generation],
                random_mode(rng), lanes)
    text, tail = buffer.describe(case, data_format, kind, selects)
    words = [int.from_bytes(memory[i : i + 4], "little") for i in range(0, used, 4)]
    case.set(f"mem[{BASE}]", words)
    for i, value in enumerate(before):
        case.set(f"v{8 + i}", [value])
    between = f"  dfmt:{data_format}, nfmt:{kind}," if typed else ""
    case.assembly = f"{name} {registers(8, len(rows))}, {text}{between}{tail}"
    for i, row in enumerate(rows):
        case.expect(f"v{8 + i}", [v if lanes >> lane & 1 else before[i] for lane, v in enumerate(row)])
    return case


def format_store(rng, number):
    data_format, kind = rng.choice(formats.ALL)
    generation = rng.choice(list(GENERATIONS))
    d16 = generation >= 8 and rng.random() < 0.4
    typed = rng.random() < 0.5
    size = formats.element_bytes(data_format)
    buffer = Buffer(rng, generation, size, element=True)
    buffer.swizzle = buffer.swizzle and size <= 4
    components = rng.randrange(1, 5)
    selects = drawn_selects(rng, typed)
    lanes = random_exec(rng)
    written, values = {}, []
    for lane in range(LANES):
        if d16:
            own = [rng.getrandbits(16) if kind in (formats.UINT, formats.SINT) else interesting_half(rng) for _ in range(components)]
            wide = [formats.from_d16(h, kind) for h in own]
        else:
            own = wide = [interesting_f32(rng, kind) for _ in range(components)]
        values.append(own)
        at = buffer.access(lane, 0, size)
        if not lanes >> lane & 1:
            continue
        if not inside(at, size):
            return None
        raw = formats.write(wide, data_format, kind, selects)
        if at is not None and not put(written, [(BASE + at, raw.to_bytes(size, "little"))]):
            lanes &= ~(1 << lane)
    rows = list(zip(*([halves(v) for v in values] if d16 and generation >= 9 else values)))
    prefix = "tbuffer" if typed else "buffer"
    name = f"{prefix}_store_format_{'d16_' if d16 else ''}{'xyzw'[:components]}"
    case = Case(f"{number} {name} {formats.DATA_FORMATS[data_format]} {formats.NAMES[kind]} GFX{generation}", GENERATIONS[generation],
                random_mode(rng), lanes)
    text, tail = buffer.describe(case, data_format, kind, selects)
    for i, row in enumerate(rows):
        case.set(f"v{8 + i}", list(row))
    between = f"  dfmt:{data_format}, nfmt:{kind}," if typed else ""
    case.assembly = f"{name} {registers(8, len(rows))}, {text}{between}{tail}"
    case.expect_memory(written, 0, MEMORY, lambda a: 0)
    return case
