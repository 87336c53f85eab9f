"""Runs the instructions of a case."""
import approximate  # noqa: F401: adds rows to vector.OPS, as other modules do
import buffer
import carry
import compares
import control
import convert  # noqa: F401
import division
import ds
import eight_bit
import flat
import image
import lanes
import matrix
import packed
import scalar
import smem
import vector
import vector_float  # noqa: F401
import vector_int
from machine import NotCovered

LIMIT = 100_000  # instructions of a case
VECTOR_UNITS = ("v_", "ds_", "buffer_", "tbuffer_", "flat_", "global_", "scratch_", "image_")
RECORDS_EXCEPTIONS = 1 << 22  # of the mode; not the processor's


def handler(instruction):
    """The function that executes an instruction, or None. Branches and the like are control.run's."""
    name = instruction.name
    if scalar.known(name):
        return scalar.run
    if compares.known(name):
        return compares.execute
    if carry.known(instruction):
        return carry.execute
    if name.startswith("v_div_scale"):
        return division.execute_scale
    if name == "v_mqsad_u32_u8":
        return vector_int.execute_mqsad_u32
    for table in (eight_bit.EXECUTE, lanes.OPS):
        if name in table:
            return table[name]
    if name in vector.OPS:
        return vector.execute
    return next((unit.execute for unit in (packed, ds, flat, smem, buffer, image, matrix) if unit.known(name)), None)


def run(machine, instructions):
    if machine.mode & RECORDS_EXCEPTIONS:
        raise NotCovered("exceptions in TRAPSTS")
    program = control.Program(instructions)
    at = 0
    for _ in range(LIMIT):
        if at == control.END or at >= len(instructions):
            return
        instruction = instructions[at]
        if machine.mode >> 28 & 1 and instruction.name.startswith(VECTOR_UNITS):  # VSKIP
            at += 1
            continue
        following = control.run(machine, instruction, program, at)
        if following is None:
            execute = handler(instruction)
            if execute is None:
                raise NotCovered(instruction.name)
            execute(machine, instruction)
            following = at + 1
        at = following
    raise NotCovered("endless loop")
