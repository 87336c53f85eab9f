"""Eight-bit floats of GFX940: E4M3 with bias 8 and E5M2 with bias 16, 0x80 is NaN, no infinities. MI300 ISA manual and the
CDNA pseudo-code; docs/isa-decisions.md."""
import real
import vector
from assembly import bits
from real import F32
from vector import NOT_A_NUMBER, define, finished

FORMS = {"fp8": (4, 3), "bf8": (5, 2)}


def value_of(kind, byte):
    exponent_bits, fraction_bits = FORMS[kind]
    if byte == 0x80:
        return None
    field, fraction = byte >> fraction_bits & ((1 << exponent_bits) - 1), byte & ((1 << fraction_bits) - 1)
    bias = 1 << exponent_bits - 1
    units = fraction | (1 << fraction_bits if field else 0)
    return bool(byte >> 7), real.scaled(units, max(field, 1) - bias - fraction_bits)


def encoded(kind, number):
    """To nearest even; NaN where it is too large."""
    exponent_bits, fraction_bits = FORMS[kind]
    if number is None or number[1] == real.INFINITY:
        return 0x80
    if number[1] == 0:
        return 0
    least = 1 - (1 << exponent_bits - 1)
    exponent = max(real.floor_log2(number[1]), least)
    units = real.rounded(number[1], exponent - fraction_bits, real.NEAREST, number[0])
    byte = units + (exponent - least << fraction_bits)
    if byte > 0x7F:
        return 0x80
    return byte | (number[0] << 7 if byte else 0)


def decode(kind):
    def lane(context, a):
        number = value_of(kind, a & 0xFF)
        return NOT_A_NUMBER if number is None else F32.encode(number)

    return lane


def execute_pair(machine, instruction):
    """v_cvt_pk_f32_*: two bytes, to two registers."""
    kind = instruction.name[-3:]
    destination, source = instruction.operands
    op = vector.Op(None, "f32", ["u32"])
    context = vector.Context(machine, instruction, op)
    results = {}
    for lane, (pair,) in vector.lanes_of(context, [source], ["u32"]):
        results[lane] = [finished(context, decode(kind)(context, pair >> 8 * i)) for i in range(2)]
    for lane, values in results.items():
        for i, value in enumerate(values):
            machine.row(destination.index + i)[lane] = F32.nan if value == NOT_A_NUMBER else value


def execute_to_pair(machine, instruction):
    """v_cvt_pk_fp8_f32: a half of the destination, which op_sel[3] chooses."""
    kind = instruction.name.split("_")[3]
    destination, *sources = instruction.operands
    context = vector.Context(machine, instruction, vector.Op(None, "u32", ["f32"] * 2))
    shift = 16 * (bits(instruction, "op_sel", [0])[-1])
    for lane, values in list(vector.lanes_of(context, sources, ["f32"] * 2)):
        low, high = (encoded(kind, F32.value(v)) for v in values)
        row = machine.row(destination.index)
        row[lane] = row[lane] & ~(0xFFFF << shift) | (low | high << 8) << shift


def execute_stochastic(machine, instruction):
    """v_cvt_sr_*: a byte of the destination, which op_sel[3:2] chooses."""
    kind = instruction.name.split("_")[3]
    destination, *sources = instruction.operands
    context = vector.Context(machine, instruction, vector.Op(None, "u32", ["f32", "u32"]))
    select = bits(instruction, "op_sel", [0, 0, 0, 0])
    shift = 8 * (select[2] + 2 * select[3])
    for lane, (value, noise) in list(vector.lanes_of(context, sources, ["f32", "u32"])):
        row = machine.row(destination.index)
        row[lane] = row[lane] & ~(0xFF << shift) | stochastic(kind, value, noise) << shift


def stochastic(kind, value, noise):
    number = F32.value(value)
    if number is None or number[1] == real.INFINITY:
        return 0x80
    fraction = (value & 0x7FFFFF) + (noise >> (12 if kind == "fp8" else 11)) & 0x7FFFFF
    return encoded(kind, F32.value(value & 0xFF800000 | fraction))


for kind in FORMS:
    define(f"v_cvt_f32_{kind}", "f32", "u32", decode(kind))
EXECUTE = {f"v_cvt_pk_f32_{k}": execute_pair for k in FORMS} | {f"v_cvt_pk_{k}_f32": execute_to_pair for k in FORMS} | \
          {f"v_cvt_sr_{k}_f32": execute_stochastic for k in FORMS}
