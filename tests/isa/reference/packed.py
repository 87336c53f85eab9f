"""VOP3P: two halves or two dwords at a time, mixed precision, dot products. Vega and MI200 ISA manuals, VOP3P;
docs/isa-decisions.md."""
from dataclasses import replace

import real
import vector
from assembly import Operand, bits
from real import F16, F32
from vector import NOT_A_NUMBER, Context, Op, finished, raw_source, signed
from vector_float import operand, result

# Packed instruction: the one that each half or dword is as.
HALVES = {f"v_pk_{name}": f"v_{base}" for name, base in {
    "add_f16": "add_f16", "mul_f16": "mul_f16", "fma_f16": "fma_f16", "min_f16": "min_f16", "max_f16": "max_f16", "fmac_f16": "fmac_f16",
    "add_u16": "add_u16", "add_i16": "add_i16", "sub_u16": "sub_u16", "sub_i16": "sub_i16", "mul_lo_u16": "mul_lo_u16",
    "mad_u16": "mad_legacy_u16", "mad_i16": "mad_legacy_i16", "min_u16": "min_u16", "max_u16": "max_u16", "min_i16": "min_i16",
    "max_i16": "max_i16", "lshlrev_b16": "lshlrev_b16", "lshrrev_b16": "lshrrev_b16", "ashrrev_i16": "ashrrev_i16"}.items()}
DWORDS = {"v_pk_add_f32": "v_add_f32", "v_pk_mul_f32": "v_mul_f32", "v_pk_fma_f32": "v_fma_f32"}
MIX = {"v_mad_mix_f32", "v_mad_mixlo_f16", "v_mad_mixhi_f16", "v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"}
DOTS = {"v_dot2_i32_i16": ("i", 16), "v_dot2_u32_u16": ("u", 16), "v_dot4_i32_i8": ("i", 8), "v_dot4_u32_u8": ("u", 8),
        "v_dot8_i32_i4": ("i", 4), "v_dot8_u32_u4": ("u", 4), "v_dot2c_i32_i16": ("i", 16), "v_dot4c_i32_i8": ("i", 8),
        "v_dot8c_i32_i4": ("i", 4)}


def known(name):
    return name in HALVES or name in DWORDS or name in MIX or name == "v_pk_mov_b32"


def execute(machine, instruction):
    if instruction.name in MIX:
        return execute_mix(machine, instruction)
    destination, *sources = instruction.operands
    if instruction.name == "v_pk_mov_b32":
        select = bits(instruction, "op_sel", [0, 0])
        parts = [[(sources[i], select[i], 0)] for i in range(2)]
        return two_parts(machine, destination, parts, 32, lambda part, values: values[0])
    wide = instruction.name in DWORDS
    base = vector.OPS[DWORDS[instruction.name] if wide else HALVES[instruction.name]]
    context = Context(machine, instruction, base)
    if "accumulate" in base.flags:
        sources.append(Operand(destination.kind, destination.index, destination.dwords))
    n = len(sources)
    is_float = base.result[0] == "f"
    parts = []
    for select, negate, default in (("op_sel", "neg_lo", 0), ("op_sel_hi", "neg_hi", 1)):
        chosen, signs = bits(instruction, select, [default] * n), bits(instruction, negate, [0] * n)
        parts.append([(sources[i], (chosen + [default] * n)[i], (signs + [0] * n)[i] and is_float) for i in range(n)])
    two_parts(machine, destination, parts, 32 if wide else 16, lambda part, values: finished(context, base.function(context, *values)))


def two_parts(machine, destination, parts, size, function):
    """`parts`: for the low and the high one, each source with the part of it that is read, and whether it is negated."""
    results = {}
    for lane in machine.active():
        both = []
        for part, sources in enumerate(parts):
            values = []
            for source, chosen, negated in sources:
                whole = part_source(machine, source, size, lane)
                value = whole >> size * chosen & ((1 << size) - 1)
                values.append(value ^ negated << size - 1)
            value = function(part, values)
            both.append(value)
        results[lane] = both
    form = F32 if size == 32 else F16
    for lane, both in results.items():
        low, high = (form.nan if value == NOT_A_NUMBER else value for value in both)
        if size == 32:
            for i, value in enumerate((low, high)):
                machine.row(destination.index + i)[lane] = value
                machine.note(destination.index + i, lane, "nan" if both[i] == NOT_A_NUMBER else "")
        else:
            machine.row(destination.index)[lane] = low | high << 16
            machine.note(destination.index, lane, "*" if NOT_A_NUMBER in both else "")


def part_source(machine, source, size, lane):
    if source.kind in ("integer", "float"):
        return source.constant("f16" if size == 16 and source.kind == "float" else "i32")
    return raw_source(machine, source, "b64" if size == 32 else "b32", lane)


# ---- Mixed precision ----


def execute_mix(machine, instruction):
    name = instruction.name
    destination, *sources = instruction.operands
    halves, chosen = bits(instruction, "op_sel_hi", [0] * 3), bits(instruction, "op_sel", [0] * 3)
    is_mad, to_f16 = "mad" in name, name.endswith("f16")
    op = Op(None, "f16" if to_f16 else "f32", [])
    context = Context(machine, instruction, op)
    results = {}
    for lane in machine.active():
        numbers = []
        for i, source in enumerate(sources):
            form = F16 if halves[i] else F32
            value = raw_source(machine, replace(source, neg=False, abs=False), "f16" if halves[i] else "b32", lane)
            value = value >> 16 * chosen[i] & 0xFFFF if halves[i] else value
            value = vector.changed_sign(source, value, "f16" if halves[i] else "f32")
            numbers.append(form.value(form.flushed(value)) if is_mad else operand(machine, form, value))
        if is_mad:
            product = real.multiply(numbers[0], numbers[1])
            if product is not None:
                product = F32.value(F32.encode(product, machine.rounding(F32), True))
            total = real.add(product, numbers[2], machine.rounding(F32))
            value = NOT_A_NUMBER if total is None else F32.encode(total, machine.rounding(F32), True)
        else:
            value = result(machine, F32, real.fma(*numbers, machine.rounding(F32)))
        if to_f16 and value != NOT_A_NUMBER:
            flush = is_mad or not machine.keeps_results(F16)
            value = F16.encode(F32.value(value), machine.rounding(F16), flush, True, machine.fp16_ovfl)
        results[lane] = finished(context, value)
    for lane, value in results.items():
        free = value == NOT_A_NUMBER
        if free:
            value = F16.nan if to_f16 else F32.nan
        machine.note(destination.index, lane, "" if not free else "*" if to_f16 else "nan")
        row = machine.row(destination.index)
        if to_f16:
            value = row[lane] & 0xFFFF | value << 16 if "mixhi" in name else row[lane] & 0xFFFF0000 | value
        row[lane] = value


# ---- Dot products ----


def dot(kind, size):
    count = 32 // size

    def part(value, i):
        field = value >> size * i & ((1 << size) - 1)
        return signed(field, size) if kind == "i" else field

    def lane(context, a, b, c):
        return sum(part(a, i) * part(b, i) for i in range(count)) + (signed(c, 32) if kind == "i" else c)

    return lane


for name, (kind, size) in DOTS.items():
    flags = ["clamp", "accumulate"] if "c_" in name else ["clamp"]
    vector.define(name, f"{kind}32", f"{kind}32 {kind}32 {kind}32", dot(kind, size), *flags)


def dot2_f32_f16(context, a, b, c):
    """Two fused steps to nearest even, f32 denormals flushed; those of f16 sources on GFX90A."""
    instruction, machine = context.instruction, context.machine
    low, high = bits(instruction, "op_sel", [0] * 3), bits(instruction, "op_sel_hi", [1] * 3)
    signs = bits(instruction, "neg_lo", [0] * 3), bits(instruction, "neg_hi", [0] * 3)
    flushes = machine.target in ("gfx90a", "gfx942")

    def half(value, i, part):
        bits16 = value >> 16 * (low, high)[part][i] & 0xFFFF ^ signs[part][i] << 15
        return F16.value(F16.flushed(bits16) if flushes else bits16)

    value = F32.flushed(c ^ signs[0][2] << 31)
    for part in range(2):
        exact = real.fma(half(a, 0, part), half(b, 1, part), F32.value(value))
        if exact is None:
            return NOT_A_NUMBER
        value = F32.encode(exact, real.NEAREST, True)
    return value


vector.define("v_dot2_f32_f16", "f32", "b32 b32 b32", dot2_f32_f16)
vector.define("v_dot2c_f32_f16", "f32", "b32 b32 b32", dot2_f32_f16, "accumulate")
