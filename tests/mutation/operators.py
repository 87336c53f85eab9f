"""Places in a C++ file for faults, of each operator:

    negate      the condition of an if or ?: negated
    guard       the body of an if without else never entered
    logic       && and || exchanged
    boundary    < and <=, > and >= exchanged
    constant    an integer one more
    mask        a constant of bits without its highest bit (0: 1), or a & without its right operand
    arithmetic  + and -, << and >>, & and |, * and + exchanged
    swap        operands of - / % << >>, or two neighbouring arguments of one type, exchanged where their order matters
    halves      a name with lo, low or first instead of one with hi, high or second, and the other way round
    write       an assignment, increment or decrement left out
    call        a call whose result nobody uses left out
    result      a result of type bool negated

Only code of functions counts, no constant expressions, and no macros: a CHECK that is missing changes nothing in a program that is right.
"""

import bisect
import dataclasses
import pathlib
import re

import clang

IS_IT = "@"  # stands for the question whether the fault is in force
OPERATORS = ("negate", "guard", "logic", "boundary", "constant", "mask", "arithmetic", "swap", "halves", "write", "call", "result")
BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
ARITHMETIC = {"+": "-", "-": "+", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "*": "+"}
SWAPPED = ("-", "/", "%", "<<", ">>")
BITWISE = ("&", "|", "^")
# What is in front of arguments whose order does not matter.
SYMMETRIC = re.compile(r"\b(add|and_|or_|xor_|min|max|equal|swap|mask_and|mask_or|bit_xor)\($|\bOp::(add|mul|and_|or_|xor_|fadd|fmul),\s*$")
ONLY_SPEED = re.compile(r"(reserve|shrink_to_fit)$")
HALVES = (("lo", "hi"), ("low", "high"), ("Lo", "Hi"), ("Low", "High"), ("first", "second"), ("First", "Second"))
CONSTANT = re.compile(r"(?:static\s+)?(?:constexpr|consteval|constinit)\b")


@dataclasses.dataclass(frozen=True)
class Site:
    file: str
    operator: str
    function: str
    ordinal: int  # of those in the file that are equal in everything else but the place
    begin: int
    end: int
    line: int
    text: str  # what stands there
    fault: str  # what the fault makes of it, for readers
    code: str  # what the copy has instead, with IS_IT

    @property
    def key(self) -> str:
        return f"{self.file} | {self.function} | {self.operator} | {squeezed(self.text)} -> {squeezed(self.fault)} | {self.ordinal}"


def squeezed(text: str) -> str:
    return " ".join(text.split())


def other_half(name: str) -> str | None:
    """The name of the other half: words of the name are parted by underscores or begin with capitals."""
    words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])|_+", name)
    for pair in HALVES:
        for here, there in (pair, pair[::-1]):
            if words.count(here) == 1 and "".join(words) == name:
                return "".join(there if word == here else word for word in words)
    return None


class Finder:
    def __init__(self, path: pathlib.Path, name: str, arguments: list[str]):
        self.name = name
        self.bytes = path.read_bytes()
        self.unit = clang.parse(str(path), arguments)
        self.lines = [match.end() for match in re.finditer(rb"\n", self.bytes)]
        self.macros = sorted((node.begin, node.end) for node in self.unit.top if node.kind == clang.MACRO_EXPANSION)
        self.found: list[Site] = []
        self.counts: dict[tuple, int] = {}

    def text(self, begin: int, end: int) -> str:
        return self.bytes[begin:end].decode()

    def of(self, node: clang.Node) -> str:
        return self.text(node.begin, node.end)

    def in_macro(self, begin: int, end: int) -> bool:
        index = bisect.bisect_right(self.macros, (begin, len(self.bytes)))
        return any(first <= begin and end <= last for first, last in self.macros[max(0, index - 8):index])

    def add(self, operator: str, function: str, begin: int, end: int, fault: str, code: str) -> None:
        if begin >= end or self.in_macro(begin, end):
            return
        text = self.text(begin, end)
        same = (operator, function, squeezed(text), squeezed(fault))
        ordinal = self.counts[same] = self.counts.get(same, -1) + 1
        line = bisect.bisect_right(self.lines, begin) + 1
        self.found.append(Site(self.name, operator, function, ordinal, begin, end, line, text, fault, code))

    def choose(self, operator: str, function: str, node: clang.Node, fault: str) -> None:
        self.add(operator, function, node.begin, node.end, fault, f"({IS_IT} ? ({fault}) : ({self.of(node)}))")

    def sites(self) -> list[Site]:
        for node in self.unit.top:
            self.declaration(node, "")
        return self.found

    def declaration(self, node: clang.Node, scope: str) -> None:
        if node.kind in clang.FUNCTIONS:
            body = node.children[-1] if node.children else None
            if body and body.kind == clang.BLOCK and not re.search(r"\bconst(expr|eval)\b", self.text(node.begin, body.begin)):
                self.block(body, re.sub(r"<.*", "", node.name))
        elif not clang.is_expression(node.kind) and node.kind not in (clang.VARIABLE, clang.MACRO_EXPANSION):
            for child in node.children:
                self.declaration(child, scope)

    def block(self, node: clang.Node, function: str) -> None:
        for child in node.children:
            self.statement(child, function)

    def statement(self, node: clang.Node, function: str) -> None:
        """A node in the place of a statement: its value, if it has one, is not used."""
        while node.kind == clang.UNEXPOSED and len(node.children) == 1 and node.children[0].begin == node.begin:
            node = node.children[0]
        left_out = f"({IS_IT} ? static_cast<void>(0) : static_cast<void>({self.of(node)}))"
        if node.kind == clang.CALL and not ONLY_SPEED.search(node.name):
            operator = "write" if re.fullmatch(r"operator(\S?\S?=|\+\+|--)", node.name) else "call"
            self.add(operator, function, node.begin, node.end, "", left_out)
        elif node.kind == clang.COMPOUND_ASSIGN or self.operation(node) == "=" or (
                node.kind == clang.UNARY and re.match(r"\+\+|--|.*(\+\+|--)$", self.of(node), re.DOTALL)):
            self.add("write", function, node.begin, node.end, "", left_out)
        self.walk(node, function, None)

    def operation(self, node: clang.Node) -> str | None:
        """What a binary expression of the language does, as it is written."""
        if node.kind not in (clang.BINARY, clang.COMPOUND_ASSIGN) or len(node.children) != 2:
            return None
        left, right = node.children
        return self.text(left.end, right.begin).strip()

    def walk(self, node: clang.Node, function: str, parent: clang.Node | None) -> None:
        children = node.children
        if node.kind == clang.IF:
            self.conditional_statement(node, function)
            return
        if node.kind == clang.BLOCK:
            self.block(node, function)
            return
        if node.kind == clang.LAMBDA:
            self.block(children[-1], function) if children and children[-1].kind == clang.BLOCK else None
            return
        if node.kind in (clang.WHILE, clang.DO, clang.FOR, clang.RANGE_FOR, clang.SWITCH, clang.CASE, clang.DEFAULT):
            self.loop_or_case(node, function)
            return
        if node.kind in (clang.VARIABLE, clang.DECLARATION) and CONSTANT.match(self.of(node)):
            return
        if node.kind == clang.CONDITIONAL and len(children) == 3:
            self.negate(children[0], function)
        elif node.kind in (clang.BINARY, clang.COMPOUND_ASSIGN) and len(children) == 2:
            self.binary(node, function)
        elif node.kind == clang.CALL and ONLY_SPEED.search(node.name):
            return
        elif node.kind == clang.CALL:
            self.arguments(node, function)
        elif node.kind == clang.INTEGER:
            self.integer(node, function, parent)
        elif node.kind in (clang.MEMBER, clang.REFERENCE):
            self.name_of_half(node, function)
        elif node.kind == clang.RETURN and children and children[0].type == "bool":
            self.add("result", function, children[0].begin, children[0].end, f"!({self.of(children[0])})",
                     f"({IS_IT} != static_cast<bool>({self.of(children[0])}))")
        for child in children:
            self.walk(child, function, node)

    def loop_or_case(self, node: clang.Node, function: str) -> None:
        for index, child in enumerate(node.children):
            last = index == len(node.children) - 1
            if node.kind == clang.CASE and index == 0:
                continue  # a constant
            if (last and node.kind != clang.DO) or (index == 0 and node.kind == clang.DO):
                self.statement(child, function)
            else:
                self.walk(child, function, node)

    def conditional_statement(self, node: clang.Node, function: str) -> None:
        children = node.children
        between = re.sub(r"//[^\n]*", "", self.text(children[-2].end, children[-1].begin)) if len(children) > 2 else ""
        bodies = 2 if re.fullmatch(r"[\s;}]*else\s*", between) else 1
        condition = children[-1 - bodies]
        declared = any(child.kind in (clang.VARIABLE, clang.DECLARATION) for child in children[:-bodies])
        constant = re.match(r"if\s+(constexpr|consteval)", self.of(node))
        if clang.is_expression(condition.kind) and not declared and not constant:
            self.negate(condition, function)
            if bodies == 1:
                self.add("guard", function, condition.begin, condition.end, "false", f"(!{IS_IT} && ({self.of(condition)}))")
        for child in children[:-bodies] if not constant else []:
            self.walk(child, function, node)
        for child in children[-bodies:]:
            self.statement(child, function)

    def negate(self, condition: clang.Node, function: str) -> None:
        text = self.of(condition)
        self.add("negate", function, condition.begin, condition.end, f"!({text})", f"({IS_IT} != static_cast<bool>({text}))")

    def binary(self, node: clang.Node, function: str) -> None:
        left, right = (self.of(child) for child in node.children)
        operation = self.operation(node)
        if operation in ("&&", "||"):
            self.choose("logic", function, node, f"({left}) {'||' if operation == '&&' else '&&'} ({right})")
        if operation in BOUNDARY:
            self.choose("boundary", function, node, f"{left} {BOUNDARY[operation]} {right}")
        if operation in ARITHMETIC:
            self.choose("arithmetic", function, node, f"({left}) {ARITHMETIC[operation]} ({right})")
        if operation in SWAPPED:
            self.choose("swap", function, node, f"({right}) {operation} ({left})")
        if operation == "&":
            self.choose("mask", function, node, left)

    def arguments(self, node: clang.Node, function: str) -> None:
        """Two arguments exchanged; they come last among a call's children, and follow each other in the text."""
        for first, second in zip(node.children, node.children[1:]):
            if first.end >= second.begin or self.text(first.end, second.begin).strip() != ",":
                continue
            if first.type != second.type or self.of(first) == self.of(second):
                continue
            if SYMMETRIC.search(self.text(node.begin, first.begin)) or re.search(r"\bc?r?begin\(\)$", self.of(first)):
                continue
            if all(re.fullmatch(r"[\w.\->:()\[\]+ ]+", self.of(child)) for child in (first, second)):
                swapped = self.of(second) + self.text(first.end, second.begin) + self.of(first)
                fault = self.text(node.begin, first.begin) + swapped + self.text(second.end, node.end)
                self.choose("swap", function, node, fault)

    def integer(self, node: clang.Node, function: str, parent: clang.Node | None) -> None:
        text = self.of(node)
        value = re.fullmatch(r"(0[xXbB])?([0-9a-fA-F']+?)([uU]?[lL]*)", text)
        around = self.text(node.begin - 1, node.begin) + self.text(node.end, node.end + 1)
        if not value or around[:1] == "<" or around[1:] == ">":
            return  # a template's argument
        base = {"0x": 16, "0b": 2}.get((value[1] or "").lower(), 10)
        number = int(value[2].replace("'", ""), base)
        if base != 10 or (parent and parent.kind in (clang.BINARY, clang.COMPOUND_ASSIGN) and
                          (self.operation(parent) or "").removesuffix("=") in BITWISE):
            less = number ^ (1 << (number.bit_length() - 1)) if number else 1
            self.choose("mask", function, node, f"{hex(less)}{value[3]}")
        else:
            self.choose("constant", function, node, f"{number + 1}{value[3]}")

    def name_of_half(self, node: clang.Node, function: str) -> None:
        text = self.of(node)
        name = re.search(r"\w+$", text)
        other = other_half(name[0]) if name else None
        if other:
            self.choose("halves", function, node, text[:name.start()] + other)


def find(path: pathlib.Path, name: str, arguments: list[str]) -> list[Site]:
    """All sites of a file, in the order of the tree. Of equal places (two trees may have one text) there is one."""
    seen = set()
    sites = []
    for site in Finder(path, name, arguments).sites():
        place = (site.operator, site.begin, site.end, site.fault)
        if place not in seen:
            seen.add(place)
            sites.append(site)
    return sites
