"""v_cmp*, v_cmpx*, v_cmps*, v_cmpsx*. GCN3 and Vega ISA manuals, VOPC; docs/isa-decisions.md, "compares"."""
import re

import real
from vector import FORMATS, Context, Op, lanes_of, signed

FLOAT = {"f": lambda o: False, "lt": lambda o: o == -1, "eq": lambda o: o == 0, "le": lambda o: o in (-1, 0), "gt": lambda o: o == 1,
         "lg": lambda o: o in (-1, 1), "ge": lambda o: o in (0, 1), "o": lambda o: o is not None, "u": lambda o: o is None,
         "nge": lambda o: o not in (0, 1), "nlg": lambda o: o not in (-1, 1), "ngt": lambda o: o != 1, "nle": lambda o: o not in (-1, 0),
         "neq": lambda o: o != 0, "nlt": lambda o: o != -1, "tru": lambda o: True}
INTEGER = {"f": lambda o: False, "lt": lambda o: o < 0, "eq": lambda o: o == 0, "le": lambda o: o <= 0, "gt": lambda o: o > 0,
           "ne": lambda o: o != 0, "lg": lambda o: o != 0, "ge": lambda o: o >= 0, "t": lambda o: True}
NAME = re.compile(r"v_cmps?(x?)_(\w+)_([fiu]\d\d)")


def number_class(form, bits):
    """The bit of V_CMP_CLASS that a number has."""
    negative = bool(bits & form.sign)
    if form.is_nan(bits):
        return 0 if form.is_signalling(bits) else 1
    if bits & (form.sign - 1) == form.infinity:
        return 2 if negative else 9
    if form.is_zero(bits):
        return 5 if negative else 6
    if form.is_denormal(bits):
        return 4 if negative else 7
    return 3 if negative else 8


def function(condition, kind):
    if condition == "class":
        return lambda c, a, b: bool(b >> number_class(FORMATS[kind], a) & 1)
    if kind[0] == "f":
        form, test = FORMATS[kind], FLOAT[condition]

        def compare(context, a, b):
            if not context.machine.keeps_inputs(form):
                a, b = form.flushed(a), form.flushed(b)
            return test(real.compare(form.value(a), form.value(b)))

        return compare
    test, size = INTEGER[condition], int(kind[1:])
    if kind[0] == "i":
        return lambda c, a, b: test(signed(a, size) - signed(b, size))
    return lambda c, a, b: test(a - b)


def known(name):
    match = NAME.fullmatch(name)
    return bool(match) and (match[2] == "class" or match[2] in (FLOAT if match[3][0] == "f" else INTEGER))


def execute(machine, instruction):
    match = NAME.fullmatch(instruction.name)
    is_x, condition, kind = match[1] == "x", match[2], match[3]
    second = "u32" if condition == "class" and kind != "f16" else kind.replace("f", "u") if condition == "class" else kind
    op = Op(function(condition, kind), "u32", [kind, second])
    context = Context(machine, instruction, op)
    destination = instruction.operands[0]
    mask = 0
    known_pairs = {}
    for lane, values in lanes_of(context, instruction.operands[1:], op.sources):
        key = tuple(values)
        if key not in known_pairs:
            known_pairs[key] = op.function(context, *values)
        mask |= known_pairs[key] << lane
    machine.set_scalar(destination.index, mask, 2)
    if is_x:
        machine.exec = mask
