"""The assembler's text of an instruction: mnemonic, operands, modifiers. LLVM's syntax of AMDGPU."""
import re
from dataclasses import dataclass

import real
from machine import EXEC, M0, VCC, NotCovered

NAMED = {"vcc": (VCC, 2), "vcc_lo": (VCC, 1), "vcc_hi": (VCC + 1, 1), "exec": (EXEC, 2), "exec_lo": (EXEC, 1), "exec_hi": (EXEC + 1, 1),
         "m0": (M0, 1), "null": (125, 1)}
LABEL = r"\d+[fb]"
FLAGS = {"clamp", "glc", "slc", "scc", "offen", "idxen", "addr64", "lds", "gds", "tfe", "lwe", "unorm", "da", "d16", "a16", "done", "vm",
         "sc0", "sc1", "nt", "high"}


@dataclass
class Operand:
    kind: str  # v, a, s: registers; inline, literal: constants; off; text
    index: int = 0
    dwords: int = 1
    value: int = 0  # of an integer constant
    text: str = ""
    neg: bool = False
    abs: bool = False
    sext: bool = False
    between: tuple = ()  # instructions whose distance in bytes the operand is

    def constant(self, kind, signed_literal=False):
        """The bits of a constant for an operand of type `kind`, such as "f32"."""
        width = int(kind[1:])
        if self.kind == "float":
            form = {16: real.F16, 32: real.F32, 64: real.F64}[width]
            return form.encode_text(self.text)
        if -16 <= self.value <= 64:
            return self.value & ((1 << width) - 1)
        if width == 64:
            if kind == "f64":
                return self.value << 32 & 0xFFFFFFFF00000000
            value = self.value & 0xFFFFFFFF
            return value | (0xFFFFFFFF00000000 if signed_literal and value >> 31 else 0)
        return self.value & ((1 << width) - 1)


@dataclass
class Instruction:
    text: str
    name: str
    encoding: str  # e32, e64, sdwa, dpp or nothing
    operands: list
    modifiers: dict
    size: int = 4
    target: int = 0  # number of the instruction that a branch goes to


def operand(text):
    result = Operand("text", text=text)
    while True:
        if text.startswith("-") and not re.match(r"-(\d|inf)", text):
            result.neg, text = True, text[1:]
        elif match := re.fullmatch(r"\|(.*)\|", text):
            result.abs, text = True, match[1]
        elif match := re.fullmatch(r"(abs|neg|sext)\((.*)\)", text):
            setattr(result, match[1], True)
            text = match[2]
        else:
            break
    if text in NAMED:
        result.kind, (result.index, result.dwords) = "s", NAMED[text]
    elif match := re.fullmatch(r"([vas])(\d+)", text):
        result.kind, result.index = match[1], int(match[2])
    elif match := re.fullmatch(r"([vas])\[(\d+)(?::(\d+))?\]", text):
        result.kind, result.index = match[1], int(match[2])
        result.dwords = int(match[3] or match[2]) - result.index + 1
    elif match := re.fullmatch(r"\[(.*)\]", text):
        parts = [operand(t.strip()) for t in match[1].split(",")]
        result.kind, result.index, result.dwords = parts[0].kind, parts[0].index, sum(p.dwords for p in parts)
    elif re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)", text):
        result.kind, result.value = "integer", int(text, 0)
    elif re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", text):
        result.kind, result.text = "float", text
    elif text == "off":
        result.kind = "off"
    else:
        result.text = text
    return result


def split(text):
    """Splits at commas and blanks outside of brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text + ","):
        depth += (c in "[(") - (c in "])")
        if depth == 0 and c in ", ":
            if text[start:i].strip():
                parts.append(text[start:i].strip())
            start = i + 1
    return parts


def parse_line(line):
    name, _, rest = line.partition(" ")
    encoding = ""
    if match := re.fullmatch(r"(.*)_(e32|e64|sdwa|dpp)", name):
        name, encoding = match[1], match[2]
    operands, modifiers = [], {}
    for part in split(rest):
        if match := re.fullmatch(r"([a-z_0-9]+):(.*)", part):
            modifiers[match[1]] = match[2]
        elif part in FLAGS and (operands or name.startswith("buffer")):
            modifiers[part] = ""
        else:
            operands.append(operand(part))
    return Instruction(line, name, encoding, operands, modifiers)


def number(text):
    return int(text, 0)


def bits(instruction, modifier, default):
    """The bits of a modifier such as op_sel:[0,1]."""
    if modifier not in instruction.modifiers:
        return default
    return [int(b) for b in instruction.modifiers[modifier].strip("[]").split(",")]


def parse(lines):
    """Instructions of a case; local labels and those that branches name become their numbers."""
    instructions, labels, places = [], [], []
    for line in lines:
        if match := re.fullmatch(r"(\w+):", line):
            labels.append((match[1], len(instructions)))
        elif line.startswith("."):
            raise NotCovered(f"directive {line.split()[0]}")
        else:
            places.append(len(labels))
            instructions.append(parse_line(line))

    def number_at(text, i):
        """The instruction that a label such as 1f names at instruction i."""
        if text[-1] == "f":
            return next(at for n, at in labels[places[i] :] if n == text[:-1])
        return next(at for n, at in reversed(labels[: places[i]]) if n == text[:-1])

    for i, instruction in enumerate(instructions):
        for o in instruction.operands:
            if o.kind == "text" and re.fullmatch(LABEL, o.text):
                instruction.target = number_at(o.text, i)
            elif match := re.fullmatch(f"({LABEL})-({LABEL})", o.text):
                o.kind, o.between = "difference", (number_at(match[1], i), number_at(match[2], i))
    return instructions
