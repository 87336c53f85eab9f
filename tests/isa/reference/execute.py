"""Runs the instructions of a case."""
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
import packed
import scalar
import smem
import vector
import vector_float  # noqa: F401: their rows
import vector_int  # noqa: F401
from machine import NotCovered

LIMIT = 100_000  # instructions of a case
UNITS = ("v_", "ds_", "buffer_", "tbuffer_", "flat_", "global_", "scratch_", "image_")


def step(machine, instruction):
    """Executes what is neither a branch nor without effect."""
    name = instruction.name
    if scalar.known(name):
        scalar.run(machine, instruction)
    elif compares.known(name):
        compares.execute(machine, instruction)
    elif carry.known(instruction):
        carry.execute(machine, instruction)
    elif name.startswith("v_div_scale"):
        division.execute_scale(machine, instruction)
    elif packed.known(name):
        packed.execute(machine, instruction)
    elif name in eight_bit.EXECUTE:
        eight_bit.EXECUTE[name](machine, instruction)
    elif name == "v_mqsad_u32_u8":
        vector_int.execute_mqsad_u32(machine, instruction)
    elif name in lanes.OPS:
        lanes.OPS[name](machine, instruction)
    elif name in vector.OPS:
        vector.execute(machine, instruction, vector.OPS[name])
    else:
        for unit in (ds, flat, smem, buffer, image):
            if unit.known(name):
                unit.execute(machine, instruction)
                return
        raise NotCovered(name)


def run(machine, instructions):
    if machine.mode >> 22 & 1:
        raise NotCovered("exceptions in TRAPSTS")
    program = control.Program(instructions)
    at = 0
    for _ in range(LIMIT):
        if at == control.END or at >= len(instructions):
            return
        instruction = instructions[at]
        if machine.mode >> 28 & 1 and instruction.name.startswith(UNITS):
            at += 1
            continue
        following = control.run(machine, instruction, program, at)
        if following is None:
            step(machine, instruction)
            following = at + 1
        at = following
    raise NotCovered("endless loop")
