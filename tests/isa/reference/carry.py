"""Vector instructions with a mask as a further operand or result. GCN3 and Vega ISA manuals, VOP2 and VOP3b."""
from machine import MASK32, NotCovered
from vector import Context, Op, finished, indexed, lanes_of, signed, store

SUMS = {"v_add_co_u32": (0, 1, False), "v_sub_co_u32": (0, -1, False), "v_subrev_co_u32": (1, -1, False),
        "v_addc_co_u32": (0, 1, True), "v_subb_co_u32": (0, -1, True), "v_subbrev_co_u32": (1, -1, True)}
# GFX6 to GFX8 name them without "co"; GFX9 has others of some of the names, which have no mask.
OLD_NAMES = {"v_add_u32": "v_add_co_u32", "v_sub_u32": "v_sub_co_u32", "v_subrev_u32": "v_subrev_co_u32", "v_add_i32": "v_add_co_u32",
             "v_sub_i32": "v_sub_co_u32", "v_subrev_i32": "v_subrev_co_u32", "v_addc_u32": "v_addc_co_u32", "v_subb_u32": "v_subb_co_u32",
             "v_subbrev_u32": "v_subbrev_co_u32"}


def name_of(instruction):
    masks = len(instruction.operands) >= 4 and instruction.operands[1].kind == "s"
    return OLD_NAMES.get(instruction.name, instruction.name) if masks else instruction.name


def known(instruction):
    return name_of(instruction) in SUMS or instruction.name in ("v_mad_u64_u32", "v_mad_i64_i32", "v_cndmask_b32")


def execute(machine, instruction):
    name = name_of(instruction)
    if indexed(machine, instruction.operands[0].index, 3) is None:
        return None
    if name == "v_cndmask_b32":
        return execute_select(machine, instruction)
    if name in SUMS:
        swapped, sign, takes = SUMS[name]
        op = Op(None, "u32", ["u32", "u32"], {"clamp"})
        mask_in = machine.scalar(instruction.operands[4].index, 2) if takes else 0

        def lane_result(lane, a, b):
            if swapped:
                a, b = b, a
            total = a + sign * (b + (mask_in >> lane & 1))
            return total, total < 0 or total > MASK32
    else:
        is_signed = name == "v_mad_i64_i32"
        kind = "i" if is_signed else "u"
        op = Op(None, f"{kind}64", [f"{kind}32", f"{kind}32", f"{kind}64"], {"clamp"})

        def lane_result(lane, a, b, c):
            if is_signed:
                total = signed(a, 32) * signed(b, 32) + signed(c, 64)
                return total, not -(1 << 63) <= total < 1 << 63
            total = a * b + c
            return total, total >> 64 != 0

    context = Context(machine, instruction, op)
    mask, results = 0, {}
    for lane, values in lanes_of(context, instruction.operands[2:], op.sources):
        total, carry = lane_result(lane, *values)
        results[lane] = finished(context, total)
        mask |= int(carry) << lane
    for lane, value in results.items():
        store(context, instruction.operands[0], lane, value)
    machine.set_scalar(instruction.operands[1].index, mask, 2)


def execute_select(machine, instruction):
    op = Op(None, "b32", ["b32", "b32"])
    context = Context(machine, instruction, op)
    destination, *sources = instruction.operands
    if len(sources) != 3:
        raise NotCovered("v_cndmask_b32 without a mask")
    mask = machine.scalar(sources[2].index, 2)
    results = {lane: values[mask >> lane & 1] for lane, values in lanes_of(context, sources[:2], op.sources)}
    for lane, value in results.items():
        store(context, destination, lane, value)
