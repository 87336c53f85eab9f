"""Vector ALU instructions lane by lane: sources with their modifiers (VOP3, SDWA, DPP, VGPR indexing), a function of the
sources' bits, results with theirs. Vega ISA manual, "Vector ALU operations"; docs/isa-decisions.md."""
from dataclasses import dataclass, field

import real
from assembly import Operand, bits, number
from machine import LANES, MASK32, NotCovered

FORMATS = {"f16": real.F16, "f32": real.F32, "f64": real.F64}
OPS = {}
SELECTS = {"BYTE_0": (0, 8), "BYTE_1": (8, 8), "BYTE_2": (16, 8), "BYTE_3": (24, 8), "WORD_0": (0, 16), "WORD_1": (16, 16),
           "DWORD": (0, 32)}
NOT_A_NUMBER = "NaN of any payload"  # as a result


@dataclass(frozen=True)
class Range:
    """A result that documents bound: the bits of the least and the greatest number."""

    low: int
    high: int


@dataclass
class Op:
    function: object  # (context, bits of each source) -> bits, for integers any number
    result: str  # type of the result: u32, i32, b32, f32, ...
    sources: list
    flags: set = field(default_factory=set)


def define(names, result, sources, function, *flags):
    """Flags: clamp (integers saturate), accumulate (the destination is the last source), keep (GFX9 keeps the upper
    half behind a 16-bit result), clear (GFX8's opcode on GFX9: the upper half is cleared)."""
    for name in names.split():
        OPS[name] = Op(function, result, sources.split(), set(flags))


class Context:
    """What a lane's function can ask beside its sources."""

    def __init__(self, machine, instruction, op):
        self.machine, self.instruction, self.op = machine, instruction, op
        self.clamp = "clamp" in instruction.modifiers
        self.lane = 0


def width(kind):
    return int(kind[1:])


def signed(value, size):
    return value - (1 << size) if value >> (size - 1) & 1 else value


# ---- VGPR indexing ----


def indexed(machine, index, slot, dwords=1):
    """The VGPR that an operand names while MODE.gpr_idx_en; None: out of range. Slots 0 to 2: sources, 3: destination."""
    if machine.mode >> 27 & 1 and machine.m0 >> (12 + slot) & 1:
        index += machine.m0 & 0xFF
        return index if index + dwords <= 256 else None
    return index


# ---- Sources ----


def raw_source(machine, operand, kind, lane, slot=0):
    """32 or 64 bits of a source, as they are in registers; constants as bits of their type."""
    dwords = 2 if width(kind) == 64 else 1
    if operand.kind == "v":
        index = indexed(machine, operand.index, slot, dwords)
        return machine.lane("v", 0 if index is None else index, dwords, lane)
    if operand.kind == "a":
        return machine.lane("a", operand.index, dwords, lane)
    if operand.kind == "s":
        return machine.scalar(operand.index, dwords)
    if operand.kind in ("integer", "float"):
        return operand.constant(kind, signed_literal=kind[0] == "i")
    return special(machine, operand.text)


def special(machine, name):
    if name in ("scc", "src_scc"):
        return machine.scc
    if name in ("vccz", "src_vccz"):
        return int(machine.vccz)
    if name in ("execz", "src_execz"):
        return int(machine.exec == 0)
    if name in ("src_shared_base", "src_private_base", "src_shared_limit", "src_private_limit"):
        return 0
    raise NotCovered(f"operand {name}")


def changed_sign(operand, value, kind):
    """abs, then neg, on the bits."""
    top = 1 << (width(kind) - 1)
    if operand.abs:
        value &= ~top
    return value ^ top if operand.neg else value


def select(value, name, extend):
    """SDWA's part of a source as 32 bits."""
    shift, size = SELECTS[name]
    value = value >> shift & ((1 << size) - 1)
    return signed(value, size) & MASK32 if extend else value


def source(context, operand, kind, number_of, lane):
    """The bits of source `number_of`, behind all modifiers, or None: DPP has none for this lane."""
    machine, instruction = context.machine, context.instruction
    modifiers = instruction.modifiers
    own = lane
    if number_of == 0 and instruction.encoding == "dpp":
        own = dpp_lane(modifiers, lane)
        if own is None or not machine.exec >> own & 1:
            if "bound_ctrl" not in modifiers:
                return None
            own = None
    value = 0 if own is None else raw_source(machine, operand, kind, own, number_of)
    size = width(kind)
    if instruction.encoding == "sdwa" and size <= 32 and f"src{number_of}_sel" in modifiers:
        value = select(value, modifiers[f"src{number_of}_sel"], operand.sext)
    elif operand.sext:
        value = signed(value & ((1 << size) - 1), size) & MASK32
    if size == 16:
        halves = bits(instruction, "op_sel", [])
        if operand.kind in "vas" and len(halves) > number_of and halves[number_of]:
            value >>= 16
        value &= 0xFFFF
    return changed_sign(operand, value, kind)


def dpp_lane(modifiers, lane):
    row, at = lane & ~15, lane & 15
    for name, text in modifiers.items():
        if name == "quad_perm":
            return lane & ~3 | int(text.strip("[]").split(",")[lane & 3])
        if name in ("row_shl", "row_shr"):
            at += number(text) if name == "row_shl" else -number(text)
            return row + at if 0 <= at < 16 else None
        if name == "row_ror":
            return row + (at - number(text)) % 16
        if name in ("wave_shl", "wave_shr"):
            lane += 1 if name == "wave_shl" else -1
            return lane if 0 <= lane < LANES else None
        if name in ("wave_rol", "wave_ror"):
            return (lane + (1 if name == "wave_rol" else -1)) % LANES
        if name == "row_bcast":
            if text == "15":
                return row - 1 if row else None
            return 31 if lane >= 32 else None
        if name == "row_newbcast":
            return row + number(text)
    return row + (15 - at if "row_mirror" in modifiers else lane & 8 | 7 - (lane & 7))


def dpp_writes(modifiers, lane):
    row, bank = lane // 16, lane // 4 % 4
    return bool(number(modifiers.get("row_mask", "0xf")) >> row & 1 and number(modifiers.get("bank_mask", "0xf")) >> bank & 1)


# ---- Results ----


def output_modifiers(context, value, kind):
    """omod, then clamp, of floating-point bits."""
    machine, modifiers = context.machine, context.instruction.modifiers
    form = FORMATS[kind]
    multiplier = {"mul:2": 1, "mul:4": 2, "div:2": -1}.get(next((f"{k}:{v}" for k, v in modifiers.items() if k in ("mul", "div")), ""), 0)
    nan = value == NOT_A_NUMBER
    if multiplier and not machine.ieee and not machine.keeps_results(form) and not nan:
        operand = value if machine.keeps_inputs(form) else form.flushed(value)
        x = real.scale(form.value(operand), multiplier)
        value = form.encode(x, machine.rounding(form), True, kind == "f16")
        if form.is_zero(value):
            value = 0
    if not context.clamp:
        return value
    if nan or form.is_nan(value):
        return 0 if machine.dx10_clamp else value if nan else form.quiet(value)
    if not machine.keeps_inputs(form):
        value = form.flushed(value)
    if value & form.sign or form.is_zero(value):
        return 0
    return min(value, form.one)


def finished(context, value):
    """The result's bits behind its modifiers."""
    if isinstance(value, Range):  # the modifiers keep the order of numbers
        return Range(finished(context, value.low), finished(context, value.high))
    kind = context.op.result
    if kind[0] == "f":
        return output_modifiers(context, value, kind)
    if value == NOT_A_NUMBER:
        return value
    size = width(kind)
    if context.clamp and "clamp" in context.op.flags:
        low, high = (-(1 << size - 1), (1 << size - 1) - 1) if kind[0] == "i" else (0, (1 << size) - 1)
        value = min(max(value, low), high)
    return value & ((1 << size) - 1)


def store(context, operand, lane, value):
    """Writes a lane's result: SDWA's part, halves, 64 bits."""
    machine, instruction, op = context.machine, context.instruction, context.op
    kind = op.result
    size = width(kind)
    index = indexed(machine, operand.index, 3)
    bounds, loose = None, value == NOT_A_NUMBER
    if isinstance(value, Range):
        bounds, value = (kind, value), value.low
        if instruction.encoding == "sdwa":  # a part of an approximation: any bits, those of the extension included
            shift, part = SELECTS[instruction.modifiers.get("dst_sel", "DWORD")]
            extends = instruction.modifiers.get("dst_unused") == "UNUSED_SEXT"
            bounds = "bits", MASK32 >> shift << shift if extends else ((1 << part) - 1) << shift
    if loose:
        value = FORMATS.get(kind, real.F32).nan
    where = operand.kind
    machine.note(index, lane, "nan" if loose else bounds, size == 64)
    if size == 64:
        machine.row(index, where)[lane] = value & MASK32
        machine.row(index + 1, where)[lane] = value >> 32
        return
    rest = indexed(machine, operand.index, 2)  # what a narrow result keeps is read as source 2
    old = machine.row(0 if rest is None else rest, where)[lane]
    if instruction.encoding == "sdwa":
        value = merged(value, old, instruction.modifiers)
    elif size == 16:
        sel = bits(instruction, "op_sel", [])
        if len(sel) > len(op.sources) - ("accumulate" in op.flags) and sel[-1]:
            value = old & 0xFFFF | value << 16
        elif "keep" in op.flags and machine.generation >= 9:
            value |= old & 0xFFFF0000
    machine.row(index, where)[lane] = value


def merged(value, old, modifiers):
    """SDWA's destination."""
    shift, size = SELECTS[modifiers.get("dst_sel", "DWORD")]
    part = value & ((1 << size) - 1)
    unused = modifiers.get("dst_unused", "UNUSED_PRESERVE")
    if unused == "UNUSED_PRESERVE":
        return old & ~(((1 << size) - 1) << shift) | part << shift
    if unused == "UNUSED_SEXT":
        return signed(part, size) << shift & MASK32
    return part << shift


# ---- Execution ----


def lanes_of(context, operands, kinds):
    """(lane, sources' bits) of the lanes that an instruction writes."""
    modifiers = context.instruction.modifiers
    for lane in context.machine.active():
        if not dpp_writes(modifiers, lane):
            continue
        values = [source(context, o, k, i, lane) for i, (o, k) in enumerate(zip(operands, kinds))]
        if None not in values:
            yield lane, values


def execute(machine, instruction):
    op = OPS[instruction.name]
    context = Context(machine, instruction, op)
    operands = instruction.operands
    destination, sources = operands[0], list(operands[1:])
    kinds = op.sources
    if "accumulate" in op.flags:
        sources.append(Operand(destination.kind, destination.index, destination.dwords))
    if len(sources) != len(kinds):
        raise NotCovered(f"{instruction.name} with {len(sources)} sources")
    if indexed(machine, destination.index, 3, 2 if width(op.result) == 64 else 1) is None:
        return
    results = {}
    known = {}
    for lane, values in lanes_of(context, sources, kinds):
        key = tuple(values)
        if "lane" in op.flags:
            context.lane = lane
            key += (lane,)
        if key not in known:
            known[key] = finished(context, op.function(context, *values))
        results[lane] = known[key]
    for lane, value in results.items():
        store(context, destination, lane, value)
