"""Vector instructions between lanes and registers: readlane, swap, relative moves. GCN3 and Vega ISA manuals."""
import scalar
from machine import MASK32
from vector import indexed


def read_lane(machine, instruction):
    destination, source, select = instruction.operands
    lane = scalar.read(machine, select, 32) & 63
    machine.set_scalar(destination.index, source_row(machine, source, 0)[lane])


def read_first_lane(machine, instruction):
    destination, source = instruction.operands
    lane = (machine.active() or [0])[0]
    machine.set_scalar(destination.index, source_row(machine, source, 0)[lane])


def source_row(machine, operand, slot):
    if operand.kind == "s":
        return [machine.scalar(operand.index)] * 64
    index = indexed(machine, operand.index, slot)
    return machine.row(0 if index is None else index)


def write_lane(machine, instruction):
    destination, source, select = instruction.operands
    index = indexed(machine, destination.index, 3)
    if index is not None:
        machine.row(index)[scalar.read(machine, select, 32) & 63] = scalar.read(machine, source, 32)


def swap(machine, instruction):
    first, second = (o.index for o in instruction.operands)
    first_read, second_at = indexed(machine, first, 3), indexed(machine, second, 0)
    if first_read is None or second_at is None:
        return
    a, b = machine.row(first_read), machine.row(second_at)
    for lane in machine.active():
        a[lane], b[lane] = b[lane], a[lane]


def move_relative(machine, instruction):
    """v_movrels, v_movreld, v_movrelsd: M0 is added to the source, the destination or both."""
    destination, source = instruction.operands
    to, is_source = destination.index, "rels" in instruction.name
    if instruction.name.endswith("d_b32"):
        to = (to + machine.m0) & MASK32
        if to > 255:
            return
    if is_source:
        at = (source.index + machine.m0) & MASK32
        row = machine.row(at if at < 256 else 0)
    elif source.kind == "v":
        row = machine.row(source.index)
    else:
        row = [scalar.read(machine, source, 32)] * 64
    values = list(row)
    for lane in machine.active():
        machine.row(to)[lane] = values[lane]


OPS = {"v_readlane_b32": read_lane, "v_readfirstlane_b32": read_first_lane, "v_writelane_b32": write_lane, "v_swap_b32": swap,
       "v_movrels_b32": move_relative, "v_movreld_b32": move_relative, "v_movrelsd_b32": move_relative}
