"""Reads and rewrites *.isa files (tests/isa/isa_file.h has the format). Rewriting keeps every line that is right."""
import re
from dataclasses import dataclass, field

import real
from machine import GLOBAL, LANES

DEFAULT_TARGETS = ["gfx803", "gfx900", "gfx906", "gfx908", "gfx90a"]
NAN, ANY = "nan", "*"
FIXED = {"vcc": ("s", 106, 2), "exec": ("s", 126, 2), "vcc_lo": ("s", 106, 1), "vcc_hi": ("s", 107, 1), "m0": ("s", 124, 1),
         "scc": ("scc", 0, 1), "mode": ("mode", 0, 1)}


@dataclass
class Assignment:
    where: str  # v, a, s, scc, mode, lds, mem
    index: int
    dwords: int
    values: list  # numbers of lane 0, 1, ..., (number, per lane), NAN or ANY
    line: int


@dataclass
class Case:
    path: str
    name: str
    line: int
    targets: list = field(default_factory=lambda: list(DEFAULT_TARGETS))
    excluded: list = field(default_factory=list)  # targets that others do not stand for
    mode: int = 0x3C0
    exec_mask: int = (1 << LANES) - 1
    initial: list = field(default_factory=list)
    assembly: list = field(default_factory=list)
    expected: list = field(default_factory=list)
    unsupported: str = ""
    end: int = 0  # line behind the last one of the expected section


def parse_place(text):
    if text in FIXED:
        return FIXED[text]
    if match := re.fullmatch(r"(lds|mem)\[(\w+)\]", text):
        return match[1], int(match[2], 0), 1
    if match := re.fullmatch(r"([vas])\[(\d+):(\d+)\]", text):
        return match[1], int(match[2]), int(match[3]) - int(match[2]) + 1
    if match := re.fullmatch(r"([vas])(\d+)", text):
        return match[1], int(match[2]), 1
    raise ValueError(f"not a place: {text}")


def parse_value(text):
    if text in (NAN, ANY):
        return text
    if text.endswith("lane"):
        first, _, last = text.rpartition("+")
        base = parse_value(first) if first else 0
        return base, 1 if last == "lane" else int(last[: -len("*lane")], 0)
    if text.startswith("mem/256+"):
        return (GLOBAL >> 8) + int(text[8:], 0)
    if text.startswith("mem"):
        return GLOBAL + (int(text[3:], 0) if len(text) > 3 else 0)
    if "0x" not in text and ("." in text or "inf" in text):
        kind = {"h": real.F16, "d": real.F64}.get(text[-1], real.F32)
        number = text[:-1] if text[-1] in "hd" else text
        return kind.encode_text(number)
    return int(text, 0)


def pattern(begin, count):
    return [sum(((a * 29 + a // 64 + 3) % 256) << 8 * (a - at) for a in range(at, at + 4)) for at in range(begin, begin + count, 4)]


def parse_assignment(words, line):
    where, index, dwords = parse_place(words[0])
    if words[1] != "=":
        raise ValueError("expected '='")
    if words[2] == "pattern":
        return Assignment(where, index, dwords, pattern(index, int(words[3])), line)
    return Assignment(where, index, dwords, [parse_value(w) for w in words[2:]], line)


def parse(path, text):
    cases, part = [], 2
    for number, line in enumerate(text.split("\n")):
        line = line.split("#")[0].rstrip()
        if not line:
            continue
        if line.startswith("case "):
            cases.append(Case(path, line[5:], number))
            part = 0
            continue
        case = cases[-1]
        case.end = number + 1
        words = line.split()
        if line == "---":
            part += 1
        elif part == 1:
            case.assembly.append(line.strip())
        elif part == 0 and words[0] == "targets":
            case.targets = [w for w in words[1:] if not w.startswith("!")]
            case.excluded = [w[1:] for w in words[1:] if w.startswith("!")]
        elif part == 0 and words[0] == "mode":
            case.mode = int(words[1], 0)
        elif part == 0 and words[0] == "exec":
            case.exec_mask = int(words[1], 0)
        elif words[0] == "unsupported":
            case.unsupported = words[1]
        else:
            (case.initial if part == 0 else case.expected).append(parse_assignment(words, number))
    return cases


def lane_value(values, lane, dwords=2):
    """The bits of a lane, or NAN or ANY."""
    value = values[lane % len(values)]
    if isinstance(value, tuple):
        value = value[0] + value[1] * lane
    return value if isinstance(value, str) else value & ((1 << 32 * dwords) - 1)


def apply(assignment, machine):
    """Sets the state that an assignment of the given section names."""
    where, index, values = assignment.where, assignment.index, assignment.values
    if where in ("lds", "mem"):
        memory = machine.lds if where == "lds" else machine.memory
        for i, value in enumerate(values):
            memory[index + 4 * i : index + 4 * i + 4] = (value & 0xFFFFFFFF).to_bytes(4, "little")
    elif where == "scc":
        machine.scc = values[0]
    elif where == "mode":
        machine.mode = values[0]
    elif where == "s":
        value = lane_value(values, 0)
        for i in range(assignment.dwords):
            machine.sgpr[index + i] = value >> 32 * i & 0xFFFFFFFF
    else:
        rows = machine.vgpr if where == "v" else machine.agpr
        for i in range(assignment.dwords):
            rows[index + i] = [lane_value(values, lane) >> 32 * i & 0xFFFFFFFF for lane in range(LANES)]


def holds(assignment, machine):
    """Whether the state is as an assignment of the expected section says."""
    where, index, values, dwords = assignment.where, assignment.index, assignment.values, assignment.dwords
    if where in ("lds", "mem"):
        memory = machine.lds if where == "lds" else machine.memory
        return all(int.from_bytes(memory[index + 4 * i : index + 4 * i + 4], "little") == v & 0xFFFFFFFF for i, v in enumerate(values))
    if where == "scc":
        return values[0] == ANY or machine.scc == values[0]
    if where == "mode":
        return machine.mode == values[0]
    if where == "s":
        got = sum(machine.sgpr[index + i] << 32 * i for i in range(dwords))
        return values[0] == ANY or got == lane_value(values, 0, dwords)
    for lane in range(LANES):
        want = lane_value(values, lane, dwords)
        got = machine.lane(where, index, dwords, lane)
        if want != got and want != ANY and not (want == NAN and is_nan(got, dwords)) and not in_bounds(machine, where, index, lane, want):
            return False
    return True


def in_bounds(machine, where, index, lane, want):
    """Whether a result that documents bound may be so."""
    free = machine.free.get((index, lane)) if where == "v" else None
    if not isinstance(free, tuple) or isinstance(want, str):
        return False
    kind, bounds = free
    if kind == "bits":
        return (want ^ machine.lane(where, index, 1, lane)) & ~bounds == 0
    form = {"f16": real.F16, "f32": real.F32}[kind]
    numbers = [form.value(b) for b in (bounds.low, want, bounds.high)]
    return want >> form.bits == 0 and None not in numbers and real.compare(*numbers[:2]) <= 0 <= real.compare(*numbers[2:0:-1])


def is_nan(bits, dwords):
    if dwords == 2:
        return real.F64.is_nan(bits)
    return real.F32.is_nan(bits) or (bits >> 16 == 0 and real.F16.is_nan(bits))


# ---- Rewriting ----


def number(value):
    """As the files have them: small ones decimal."""
    if isinstance(value, str):
        return value
    return str(value) if value < 1024 or value == 65535 else f"{value:#x}"


def row(values):
    """Values of 64 lanes, the shortest repetition of them."""
    for period in (1, 2, 4, 8, 16, 32):
        if all(values[i] == values[i % period] for i in range(LANES)):
            return " ".join(number(v) for v in values[:period])
    return " ".join(number(v) for v in values)


def place(where, index, dwords):
    name = next((n for n, p in FIXED.items() if p == (where, index, dwords)), None)
    return name or (f"{where}{index}" if dwords == 1 else f"{where}[{index}:{index + dwords - 1}]")


def rendered(where, index, dwords, machine, count=1):
    if where in ("lds", "mem"):
        memory = machine.lds if where == "lds" else machine.memory
        words = [int.from_bytes(memory[a : a + 4], "little") for a in range(index, index + 4 * count, 4)]
        return f"{where}[{index}] = " + " ".join(number(w) for w in words)
    if where in ("scc", "mode"):
        return f"{where} = {getattr(machine, where)}"
    if where == "s":
        return f"{place(where, index, dwords)} = {number(sum(machine.sgpr[index + i] << 32 * i for i in range(dwords)))}"
    return f"{place(where, index, dwords)} = " + row([stated(machine, where, index, dwords, lane) for lane in range(LANES)])


def stated(machine, where, index, dwords, lane):
    """A lane's bits, or what is free of them."""
    value = machine.lane(where, index, dwords, lane)
    freedom = machine.free.get((index, lane), "") if where == "v" else ""
    if isinstance(freedom, tuple):
        return ANY
    return freedom if freedom == ANY or (freedom and is_nan(value, dwords)) else value


def expected_lines(case, lines, before, after):
    """The lines of the expected section: those that hold as they are, others anew, then what no line names."""
    result = []
    named = set()
    for a in case.expected:
        units = [(a.where, a.index + 4 * i) for i in range(len(a.values))] if a.where in ("lds", "mem") else \
                [(a.where, a.index + i) for i in range(a.dwords)]
        named.update(units)
        result.append(lines[a.line] if holds(a, after) else rendered(a.where, a.index, a.dwords, after, len(a.values)))
    changed = [u for u in before.differences(after) if u not in named]
    while changed:
        where, index = changed.pop(0)
        count = 1
        while where in ("lds", "mem") and changed and changed[0] == (where, index + 4 * count):
            changed.pop(0)
            count += 1
        if where == "s" and index in (106, 126) and changed and changed[0] == (where, index + 1):
            changed.pop(0)
            result.append(rendered(where, index, 2, after))
            continue
        if where == "v" and index in after.pairs:
            if changed and changed[0] == (where, index + 1):
                changed.pop(0)
            result.append(rendered(where, index, 2, after))
            continue
        result.append(rendered(where, index, 1, after, count))
    return result
