"""Vector integer and bit instructions. GCN3, Vega and MI300 ISA manuals, chapter "Instructions"."""
from machine import MASK32
from vector import Context, Op, define, lanes_of, signed


def s32(x):
    return signed(x, 32)


def s16(x):
    return signed(x, 16)


def s24(x):
    return signed(x & 0xFFFFFF, 24)


def u24(x):
    return x & 0xFFFFFF


def two(names, kind, function, *flags):
    define(names, kind, f"{kind} {kind}", function, *flags)


def three(names, kind, function, *flags):
    define(names, kind, f"{kind} {kind} {kind}", function, *flags)


def median(a, b, c):
    return sorted((a, b, c))[1]


# ---- Moves and bits ----

define("v_mov_b32", "b32", "b32", lambda c, a: a)
define("v_mov_b64", "b64", "b64", lambda c, a: a)
define("v_not_b32", "b32", "u32", lambda c, a: ~a)
define("v_bfrev_b32", "b32", "u32", lambda c, a: int(f"{a:032b}"[::-1], 2))
define("v_ffbh_u32", "b32", "u32", lambda c, a: 32 - a.bit_length() if a else -1)
define("v_ffbh_i32", "b32", "u32", lambda c, a: first_unlike_sign(a))
define("v_ffbl_b32", "b32", "u32", lambda c, a: (a & -a).bit_length() - 1 if a else -1)
define("v_sat_pk_u8_i16", "u16", "u32", lambda c, a: clamp8(a & 0xFFFF) | clamp8(a >> 16) << 8)


def first_unlike_sign(a):
    a = a ^ MASK32 if a >> 31 else a
    return 32 - a.bit_length() if a else -1


def clamp8(half):
    return min(max(s16(half), 0), 255)


two("v_and_b32", "u32", lambda c, a, b: a & b)
two("v_or_b32", "u32", lambda c, a, b: a | b)
two("v_xor_b32", "u32", lambda c, a, b: a ^ b)
two("v_xnor_b32", "u32", lambda c, a, b: ~(a ^ b))
two("v_bfm_b32", "b32", lambda c, a, b: ((1 << (a & 31)) - 1) << (b & 31))
three("v_bfi_b32", "u32", lambda c, a, b, d: a & b | ~a & d)
three("v_and_or_b32", "u32", lambda c, a, b, d: a & b | d)
three("v_or3_b32", "u32", lambda c, a, b, d: a | b | d)
three("v_xad_u32", "u32", lambda c, a, b, d: (a ^ b) + d)
two("v_bcnt_u32_b32", "u32", lambda c, a, b: bin(a).count("1") + b)
three("v_bfe_u32", "u32", lambda c, a, b, d: (a >> (b & 31)) & ((1 << (d & 31)) - 1))
three("v_bfe_i32", "u32", lambda c, a, b, d: signed_field(s32(a) >> (b & 31), d & 31))
three("v_alignbit_b32", "u32", lambda c, a, b, d: (a << 32 | b) >> (d & 31))
three("v_alignbyte_b32", "u32", lambda c, a, b, d: (a << 32 | b) >> 8 * (d & 3))
three("v_perm_b32", "u32", lambda c, a, b, d: sum(permuted(a << 32 | b, d >> 8 * i & 0xFF) << 8 * i for i in range(4)))
define("v_mbcnt_lo_u32_b32", "u32", "u32 u32", lambda c, a, b: bin(a & (1 << min(c.lane, 32)) - 1).count("1") + b, "lane")
define("v_mbcnt_hi_u32_b32", "u32", "u32 u32", lambda c, a, b: bin(a & (1 << max(c.lane - 32, 0)) - 1).count("1") + b, "lane")


def signed_field(value, size):
    return signed(value & ((1 << size) - 1), size) if size else 0


def permuted(data, selector):
    """V_PERM_B32 of the Vega manual: bytes, signs of halves, 0, 0xff."""
    if selector < 8:
        return data >> 8 * selector & 0xFF
    if selector < 12:
        return 0xFF if data >> (15 + 16 * (selector - 8)) & 1 else 0
    return 0 if selector == 12 else 0xFF


# ---- Shifts ----

two("v_lshl_b32", "u32", lambda c, a, b: a << (b & 31))
two("v_lshlrev_b32", "u32", lambda c, a, b: b << (a & 31))
two("v_lshr_b32", "u32", lambda c, a, b: a >> (b & 31))
two("v_lshrrev_b32", "u32", lambda c, a, b: b >> (a & 31))
two("v_ashr_i32", "i32", lambda c, a, b: s32(a) >> (b & 31))
two("v_ashrrev_i32", "i32", lambda c, a, b: s32(b) >> (a & 31))
two("v_lshlrev_b16", "u16", lambda c, a, b: b << (a & 15))
two("v_lshrrev_b16", "u16", lambda c, a, b: b >> (a & 15))
two("v_ashrrev_i16", "i16", lambda c, a, b: s16(b) >> (a & 15))
define("v_lshl_b64", "u64", "u64 u32", lambda c, a, b: a << (b & 63))
define("v_lshlrev_b64", "u64", "u32 u64", lambda c, a, b: b << (a & 63))
define("v_lshr_b64", "u64", "u64 u32", lambda c, a, b: a >> (b & 63))
define("v_lshrrev_b64", "u64", "u32 u64", lambda c, a, b: b >> (a & 63))
define("v_ashr_i64", "i64", "i64 u32", lambda c, a, b: signed(a, 64) >> (b & 63))
define("v_ashrrev_i64", "i64", "u32 i64", lambda c, a, b: signed(b, 64) >> (a & 63))
three("v_lshl_or_b32", "u32", lambda c, a, b, d: a << (b & 31) | d)
three("v_lshl_add_u32", "u32", lambda c, a, b, d: (a << (b & 31)) + d)
three("v_add_lshl_u32", "u32", lambda c, a, b, d: (a + b) << (d & 31))
define("v_lshl_add_u64", "u64", "u64 u32 u64", lambda c, a, b, d: (a << (b & 7)) + d)

# ---- Sums ----

two("v_add_u32", "u32", lambda c, a, b: a + b, "clamp")
two("v_sub_u32", "u32", lambda c, a, b: a - b, "clamp")
two("v_subrev_u32", "u32", lambda c, a, b: b - a, "clamp")
two("v_add_i32", "i32", lambda c, a, b: s32(a) + s32(b), "clamp")
two("v_sub_i32", "i32", lambda c, a, b: s32(a) - s32(b), "clamp")
two("v_add_u16", "u16", lambda c, a, b: a + b, "clamp")
two("v_sub_u16", "u16", lambda c, a, b: a - b, "clamp")
two("v_subrev_u16", "u16", lambda c, a, b: b - a, "clamp")
two("v_add_i16", "i16", lambda c, a, b: s16(a) + s16(b), "clamp", "keep")
two("v_sub_i16", "i16", lambda c, a, b: s16(a) - s16(b), "clamp", "keep")
three("v_add3_u32", "u32", lambda c, a, b, d: a + b + d)

# ---- Minimum, maximum, median ----

for kind, order in (("u32", int), ("i32", s32), ("u16", int), ("i16", s16)):
    keep = ["keep"] if kind.endswith("16") else []
    two(f"v_min_{kind}", kind, lambda c, a, b, order=order: min(a, b, key=order))
    two(f"v_max_{kind}", kind, lambda c, a, b, order=order: max(a, b, key=order))
    three(f"v_min3_{kind}", kind, lambda c, a, b, d, order=order: min(a, b, d, key=order), *keep)
    three(f"v_max3_{kind}", kind, lambda c, a, b, d, order=order: max(a, b, d, key=order), *keep)
    three(f"v_med3_{kind}", kind, lambda c, a, b, d, order=order: median(order(a), order(b), order(d)), *keep)

# ---- Products ----

two("v_mul_u32_u24", "u32", lambda c, a, b: u24(a) * u24(b), "clamp")
two("v_mul_i32_i24", "i32", lambda c, a, b: s24(a) * s24(b), "clamp")
two("v_mul_hi_u32_u24", "u32", lambda c, a, b: u24(a) * u24(b) >> 32)
two("v_mul_hi_i32_i24", "i32", lambda c, a, b: s24(a) * s24(b) >> 32)
two("v_mul_lo_u32 v_mul_lo_i32", "u32", lambda c, a, b: a * b)
two("v_mul_hi_u32", "u32", lambda c, a, b: a * b >> 32)
two("v_mul_hi_i32", "i32", lambda c, a, b: s32(a) * s32(b) >> 32)
two("v_mul_lo_u16", "u16", lambda c, a, b: a * b, "clamp")
three("v_mad_u32_u24", "u32", lambda c, a, b, d: u24(a) * u24(b) + d, "clamp")
three("v_mad_i32_i24", "i32", lambda c, a, b, d: s24(a) * s24(b) + s32(d), "clamp")
three("v_mad_u16", "u16", lambda c, a, b, d: a * b + d, "clamp", "keep")
three("v_mad_i16", "i16", lambda c, a, b, d: s16(a) * s16(b) + s16(d), "clamp", "keep")
three("v_mad_legacy_u16", "u16", lambda c, a, b, d: a * b + d, "clamp")
three("v_mad_legacy_i16", "i16", lambda c, a, b, d: s16(a) * s16(b) + s16(d), "clamp")
define("v_mad_u32_u16", "u32", "u16 u16 u32", lambda c, a, b, d: a * b + d, "clamp")
define("v_mad_i32_i16", "i32", "i16 i16 i32", lambda c, a, b, d: s16(a) * s16(b) + s32(d), "clamp")

# ---- Bytes ----


def octets(value, count=4):
    return [value >> 8 * i & 0xFF for i in range(count)]


def sad(a, b, masked=False):
    """Sum of the absolute differences of four bytes; `masked`: of those where b is not 0."""
    return sum(abs(x - y) for x, y in zip(octets(a), octets(b)) if y or not masked)


three("v_sad_u8", "u32", lambda c, a, b, d: sad(a, b) + d, "clamp")
three("v_sad_hi_u8", "u32", lambda c, a, b, d: (sad(a, b) << 16) + d, "clamp")
three("v_msad_u8", "u32", lambda c, a, b, d: sad(a, b, True) + d, "clamp")
three("v_sad_u16", "u32", lambda c, a, b, d: abs((a & 0xFFFF) - (b & 0xFFFF)) + abs((a >> 16) - (b >> 16)) + d, "clamp")
three("v_sad_u32", "u32", lambda c, a, b, d: abs(a - b) + d, "clamp")
three("v_lerp_u8", "u32", lambda c, a, b, d: averages(zip(octets(a), octets(b), octets(d))))


def averages(triples):
    """Of two bytes each, rounded up where bit 0 of the third is set."""
    return sum((x + y + (z & 1) >> 1) << 8 * i for i, (x, y, z) in enumerate(triples))



def four_sads(context, a, b, d, size, masked):
    """Sums for the four dwords at bytes 0 to 3 of a, added to fields of `size` bits of d."""
    most = (1 << size) - 1
    result = 0
    for i in range(4):
        total = sad(a >> 8 * i & MASK32, b, masked) + (d >> size * i & most)
        result |= (min(total, most) if context.clamp else total & most) << size * i
    return result


define("v_qsad_pk_u16_u8", "u64", "u64 u32 u64", lambda c, a, b, d: four_sads(c, a, b, d, 16, False))
define("v_mqsad_pk_u16_u8", "u64", "u64 u32 u64", lambda c, a, b, d: four_sads(c, a, b, d, 16, True))



def execute_mqsad_u32(machine, instruction):
    destination, *sources = instruction.operands
    context = Context(machine, instruction, Op(None, "u32", ["u64", "u32"]))
    results = {}
    for lane, (a, b) in lanes_of(context, sources[:2], ["u64", "u32"]):
        sums = [sad(a >> 8 * i & MASK32, b, True) + machine.lane("v", sources[2].index + i, 1, lane) for i in range(4)]
        results[lane] = [min(s, MASK32) if context.clamp else s & MASK32 for s in sums]
    for lane, values in results.items():
        for i, value in enumerate(values):
            machine.row(destination.index + i)[lane] = value


# ---- Packing ----

define("v_cvt_pk_u16_u32", "u32", "u32 u32", lambda c, a, b: min(a, 65535) | min(b, 65535) << 16)
define("v_cvt_pk_i16_i32", "u32", "u32 u32", lambda c, a, b: saturated16(a) | saturated16(b) << 16)
define("v_pack_b32_f16", "b32", "f16 f16", lambda c, a, b: a | b << 16)


def saturated16(a):
    return min(max(s32(a), -32768), 32767) & 0xFFFF
