"""Algorithms as programs have them, around drawn expressions: private stacks, queues, tables and machines whose depth, position or
program counter differ from work-item to work-item."""

import dataclasses
from collections.abc import Callable

from language import Place
from statements import Context, Statements
from tree import Node, fixed, statement
from vectors import VECTORS


def _mask(s: Statements, context: Context, size: int) -> Node:
    return s.e.index(size, context.scope, 2)


def _shallow(context: Context) -> Context:
    """For a block of its own with at most one more level of statements."""
    return dataclasses.replace(context, scope=context.scope.copy(), depth=min(context.depth, 1))


def backtracking(s: Statements, context: Context) -> Node:
    """A depth-first search with its stack in private memory, as one or several arrays or an array of structures."""
    rng = s.rng
    levels, choices = rng.choice((4, 6, 8, 12, 16)), rng.choice((2, 3, 4, 5))
    limit = rng.choice((20, 40, 100, 200))
    d, steps, pick, sum_ = s.name("d"), s.name("n"), s.name("a"), s.name("a")
    inside = context.inner(repeats=context.repeats * limit, in_loop=False, in_switch=True, labels=())
    power = 1 << (levels.bit_length() - 1)
    inside.scope.places += [
        Place("i32", (d,), False), Place("u32", (steps,), False), Place("u32", (f"{sum_}[", power, "]")), Place("u32", (f"{sum_}[{d}]",)),
        Place("u8", (f"{pick}[", power, "]"), False), Place("u8", (f"{pick}[{d}]",), False),
    ]  # fmt: skip
    type_ = rng.choice(("u8", "u8", "i32", "u16"))
    width = rng.choice(("u32", "u32", "u64", "u16"))
    work = s.simple(inside) if rng.random() < 0.5 else fixed("{\n", s.block(_shallow(inside), 1), "}\n")
    reject = s.e.condition(inside.scope, 2)
    weight = s.e.expression("u32", inside.scope, 2)
    leaf = s.hash(inside)
    start = s.e.expression("u32", context.scope, 2)
    check = ""
    if rng.random() < 0.6:  # a loop over the levels below, as in the queens' problem
        check = (
            f"u32 bad_{d} = 0; for (i32 j = 0; j < {d}; ++j) "
            f"if ({pick}[j] == {pick}[{d}] || (u32){pick}[j] + (u32)({d} - j) == (u32){pick}[{d}]) {{ bad_{d} = 1; break; }}\n"
            f"if (bad_{d} && ({steps} & 3u)) {{ ++{pick}[{d}]; continue; }}\n"
        )
    ascend = f"{{ --{d}; if ({d} >= 0) ++{pick}[{d}]; continue; }}\n"
    if rng.random() < 0.5:
        ascend = f"{{ if (--{d} < 0) break; {pick}[{d}] = ({type_})({pick}[{d}] + 1); continue; }}\n"
    return statement(
        f"{{ {type_} {pick}[{levels}]; {width} wide_{d}[{levels}]; u32 {sum_}[{levels}]; i32 {d} = 0; u32 {steps} = 0;\n",
        f"for (u32 i = 0; i < {levels}u; ++i) {{ {pick}[i] = 0; wide_{d}[i] = ({width})i; {sum_}[i] = i; }}\n",
        f"{sum_}[0] = ", start, f";\nwhile ({d} >= 0 && {steps} < {limit}u) {{\n++{steps};\nif ({pick}[{d}] >= {choices}) ", ascend, check,
        statement("if (", reject, f") {{ ++{pick}[{d}]; continue; }}\n"), work,
        f"{sum_}[{d}] += ", weight, f";\nwide_{d}[{d}] = ({width})(wide_{d}[{d}] * 3u + {sum_}[{d}]);\n",
        f"if ({d} == {levels - 1}) {{\n", leaf, f"h = mix(h, (u64){sum_}[{d}] + wide_{d}[{d}]);\n++{pick}[{d}];\n}} else {{\n",
        f"++{d}; {pick}[{d}] = 0; {sum_}[{d}] = {sum_}[{d} - 1] * 5u + (u32){pick}[{d} - 1]; wide_{d}[{d}] = wide_{d}[{d} - 1];\n}}\n}}\n",
        f"h = mix(h, {steps}); }}\n",
    )  # fmt: skip


def sorting(s: Statements, context: Context) -> Node:
    """Sorts a private array, by insertion or by exchanging."""
    rng = s.rng
    size, type_ = rng.choice((4, 8, 16)), rng.choice(("u32", "i32", "u8", "i16", "u64") + (("f32", "f64") if s.floats else ()))
    a = s.name("a")
    value = s.e.expression(type_, context.scope, 2)
    less = rng.choice((f"{a}[j - 1] > key", f"{a}[j - 1] < key"))
    parts = (
        f"{{ {type_} {a}[{size}]; u64 seed_{a} = h;\nfor (u32 i = 0; i < {size}u; ++i) {{ seed_{a} = mix(seed_{a}, i); ",
        f"{a}[i] = ({type_})(i32)(seed_{a} >> 40); }}\n{a}[", _mask(s, context, size), "] = ", value, ";\n",
    )  # fmt: skip
    if rng.random() < 0.6:
        loop = (
            f"for (u32 i = 1; i < {size}u; ++i) {{ const {type_} key = {a}[i]; u32 j = i; "
            f"while (j > 0u && {less}) {{ {a}[j] = {a}[j - 1]; --j; }} {a}[j] = key; }}\n"
        )
    else:
        loop = (
            f"for (u32 end = {size - 1}u; end > 0u; --end) {{ u32 moved = 0; for (u32 i = 0; i < end; ++i) if ({a}[i] > {a}[i + 1]) "
            f"{{ const {type_} t = {a}[i]; {a}[i] = {a}[i + 1]; {a}[i + 1] = t; ++moved; }} if (!moved) break; h = mix(h, moved); }}\n"
        )
    s.steps += context.repeats * size * size
    return statement(*parts, loop, f"for (u32 i = 0; i < {size}u; ++i) h = mix(h, ", s.e.hashed(type_, Node(type_, [f"{a}[i]"])), "); }\n")


def machine(s: Statements, context: Context) -> Node:
    """Interprets a little program with a stack; work-items are at different instructions."""
    rng = s.rng
    code, stack, pc, sp = s.name("a"), s.name("a"), s.name("pc"), s.name("sp")
    limit = rng.choice((30, 60, 120))
    inside = context.inner(repeats=context.repeats * limit, in_loop=False, in_switch=True, labels=())
    inside.scope.places += [Place("u32", (f"{stack}[", 8, "]")), Place("u32", (pc,), False), Place("u32", (sp,), False)]
    top = f"{stack}[{sp} & 7u]"
    parts: list[str | Node] = [
        f"{{ u8 {code}[16]; u32 {stack}[8]; u32 {pc} = ", s.e.index(16, context.scope, 1), f", {sp} = 0;\n",
        f"for (u32 i = 0; i < 16u; ++i) {code}[i] = (u8)(mix(h, i) >> 37);\nfor (u32 i = 0; i < 8u; ++i) {stack}[i] = i * 77u;\n",
        f"for (u32 steps = 0; steps < {limit}u; ++steps) {{\nconst u32 op = {code}[{pc} & 15u];\n{pc} = {pc} + 1u;\nswitch (op & 7u) {{\n",
    ]  # fmt: skip
    parts += [f"case 0u: ++{sp}; {top} = op * 3u + {pc}; break;\n", f"case 1u: {{ const u32 t = {top}; --{sp}; {top} += t; break; }}\n"]
    parts += [f"case 2u: if ({top} & 1u) {pc} += op >> 3; break;\n", f"case 3u: {top} = {top} * 5u + op; --{pc}; {code}[{pc} & 15u] += 1; break;\n"]
    parts += ["case 4u: {\n", s.block(_shallow(inside), 1), "break; }\n", "case 5u: {\n", s.block(_shallow(inside), 1), "} // falls through\n"]
    parts += ["case 6u:\n", s.simple(inside), "break;\n", f"default: if ((op >> 3) == 31u) goto halt_{pc}; {pc} ^= op >> 4; break;\n"]
    return statement(*parts, f"}}\n}}\nhalt_{pc}:;\nfor (u32 i = 0; i < 8u; ++i) h = mix(h, {stack}[i] + {code}[i * 2u]);\nh = mix(h, {sp} + ({pc} << 8)); }}\n")


def search(s: Statements, context: Context) -> Node:
    """A breadth-first walk over a graph that a formula gives, with a ring and marks in private memory."""
    rng = s.rng
    nodes = rng.choice((16, 32))
    ring, seen, head = s.name("a"), s.name("a"), s.name("q")
    inside = context.inner(repeats=context.repeats * nodes, in_loop=False, in_switch=True, labels=())
    inside.scope.places.append(Place("u32", (f"at_{head}",), False))
    edge = s.e.expression("u32", inside.scope, 2)
    skip = s.e.condition(inside.scope, 1)
    marks = rng.choice(("u8", "u32"))
    return statement(
        f"{{ u16 {ring}[{nodes}]; {marks} {seen}[{nodes}]; u32 {head} = 0, tail_{head} = 1;\nfor (u32 i = 0; i < {nodes}u; ++i) {seen}[i] = 0;\n",
        f"{ring}[0] = (u16)", _mask(s, context, nodes), f";\n{seen}[{ring}[0]] = 1;\n",
        f"while ({head} < tail_{head}) {{\nconst u32 at_{head} = {ring}[{head}++];\n", s.simple(inside),
        f"for (u32 k = 0; k < {rng.randint(2, 3)}u; ++k) {{\nconst u32 to = ((", edge, f") + at_{head} * (k + 3u) + k) & {nodes - 1}u;\n",
        f"if ({seen}[to]) continue;\n", statement("if (", skip, ") break;\n"), f"{seen}[to] = ({marks})({seen}[at_{head}] + 1u);\n",
        f"{ring}[tail_{head}++] = (u16)to;\n}}\nh = mix(h, at_{head});\n}}\nfor (u32 i = 0; i < {nodes}u; ++i) h = mix(h, {seen}[i]); }}\n",
    )  # fmt: skip


def table(s: Statements, context: Context) -> Node:
    """A hash table with open addressing in private memory."""
    rng = s.rng
    size = rng.choice((8, 16, 32))
    keys, counts, key = s.name("a"), s.name("a"), s.name("x")
    inserts = rng.choice((6, 10, 20))
    inside = context.inner(repeats=context.repeats * inserts, in_loop=True, in_switch=False, labels=())
    inside.scope.places += [Place("u32", (key,), False), Place("u32", (f"{counts}[", size, "]"))]
    value = s.e.expression("u32", inside.scope, 2)
    return statement(
        f"{{ u32 {keys}[{size}], {counts}[{size}];\nfor (u32 i = 0; i < {size}u; ++i) {keys}[i] = {counts}[i] = 0;\n",
        f"for (u32 i = 0; i < {inserts}u; ++i) {{\nconst u32 {key} = (u32)(mix(h, i) >> 50) & {rng.choice((15, 31, 255))}u;\n",
        f"u32 slot = ({key} * 7u) & {size - 1}u, tries = 0;\nwhile ({keys}[slot] != 0u && {keys}[slot] != {key} + 1u) {{\n",
        f"if (++tries >= {size}u) break;\nslot = (slot + 1u) & {size - 1}u;\n}}\nif (tries >= {size}u) continue;\n",
        f"{keys}[slot] = {key} + 1u;\n{counts}[slot] += ", value, ";\n", s.simple(inside),
        f"}}\nfor (u32 i = 0; i < {size}u; ++i) h = mix(h, {keys}[i] ^ ((u64){counts}[i] << 32)); }}\n",
    )  # fmt: skip


def permutations(s: Statements, context: Context) -> Node:
    """Heap's algorithm, with its counters in private memory."""
    size = s.rng.choice((3, 4, 5))
    a, c = s.name("a"), s.name("a")
    limit = s.rng.choice((10, 30, 120))
    inside = context.inner(repeats=context.repeats * limit, in_loop=False, in_switch=True, labels=())
    inside.scope.places += [Place("u32", (f"{a}[", 4 if size >= 4 else 2, "]")), Place("u8", (f"{c}[", 4 if size >= 4 else 2, "]"), False)]
    return statement(
        f"{{ u32 {a}[{size}]; u8 {c}[{size}]; u32 i_{a} = 1, made = 0;\nfor (u32 i = 0; i < {size}u; ++i) {{ {a}[i] = i; {c}[i] = 0; }}\n",
        f"while (i_{a} < {size}u && made < {limit}u) {{\nif ({c}[i_{a}] < i_{a}) {{\nconst u32 from = (i_{a} & 1u) ? {c}[i_{a}] : 0u;\n",
        f"const u32 t = {a}[from]; {a}[from] = {a}[i_{a}]; {a}[i_{a}] = t;\n++{c}[i_{a}]; i_{a} = 1; ++made;\n", s.simple(inside),
        statement("if (", s.e.condition(inside.scope, 2), ") break;\n"), f"}} else {{ {c}[i_{a}] = 0; ++i_{a}; }}\n}}\n",
        f"for (u32 i = 0; i < {size}u; ++i) h = mix(h, {a}[i]);\nh = mix(h, made); }}\n",
    )  # fmt: skip


def lists(s: Statements, context: Context) -> Node:
    """Chains of structures linked by indices, built, walked and unlinked."""
    rng = s.rng
    size = rng.choice((8, 16))
    node, head = s.name("s"), s.name("x")
    inside = context.inner(repeats=context.repeats * size, in_loop=False, in_switch=True, labels=())
    inside.scope.places += [Place("u32", (f"{node}[", size, "].value")), Place("i32", (f"at_{head}",), False)]
    keep = s.e.condition(inside.scope, 2)
    name = f"{s.prefix}L{s.names}"
    return statement(
        f"{{ typedef struct {{ i16 next; u32 value; u8 tag; }} {name};\n{name} {node}[{size}]; i32 {head} = -1;\n",
        f"for (i32 i = 0; i < {size}; ++i) {{ {node}[i].value = (u32)mix(h, (u64)i); {node}[i].tag = (u8)i; {node}[i].next = -1; ",
        f"if (({node}[i].value & 3u) != 0u) {{ {node}[i].next = (i16){head}; {head} = i; }} }}\n",
        f"i32 last_{head} = -1;\nfor (i32 at_{head} = {head}; at_{head} >= 0; at_{head} = {node}[at_{head}].next) {{\n", s.simple(inside),
        statement("if (", keep, f") {{ last_{head} = at_{head}; continue; }}\n"),
        f"if (last_{head} >= 0) {node}[last_{head}].next = {node}[at_{head}].next; else {head} = {node}[at_{head}].next;\n}}\n",
        f"for (i32 i = {head}; i >= 0; i = {node}[i].next) h = mix(h, {node}[i].value + {node}[i].tag); }}\n",
    )  # fmt: skip


def matrix(s: Statements, context: Context) -> Node:
    """Elimination modulo a prime in a private matrix, with a search for pivots."""
    size = s.rng.choice((3, 4, 5))
    a, prime = s.name("a"), s.rng.choice((2, 3, 7, 31))
    s.steps += context.repeats * size**3
    type_ = s.rng.choice(("u32", "u8", "i32"))
    return statement(
        f"{{ {type_} {a}[{size}][{size}]; u32 rank_{a} = 0;\nfor (u32 i = 0; i < {size}u; ++i) for (u32 j = 0; j < {size}u; ++j) ",
        f"{a}[i][j] = ({type_})((u32)(mix(h, i * 8u + j) >> 33) % {prime}u);\n{a}[0][0] = ({type_})(", s.e.expression("u32", context.scope, 2), f" % {prime}u);\n",
        f"for (u32 col = 0; col < {size}u && rank_{a} < {size}u; ++col) {{\nu32 pivot = rank_{a}; while (pivot < {size}u && {a}[pivot][col] == 0) ++pivot;\n",
        f"if (pivot == {size}u) continue;\nfor (u32 j = 0; j < {size}u; ++j) {{ const {type_} t = {a}[pivot][j]; {a}[pivot][j] = {a}[rank_{a}][j]; {a}[rank_{a}][j] = t; }}\n",
        f"for (u32 i = rank_{a} + 1u; i < {size}u; ++i) while ({a}[i][col] != 0) for (u32 j = {size}u; j-- > col;) ",
        f"{a}[i][j] = ({type_})(((u32){a}[i][j] + (u32){a}[rank_{a}][j]) % {prime}u);\n++rank_{a};\n}}\n",
        f"h = mix(h, rank_{a});\nfor (u32 i = 0; i < {size}u; ++i) for (u32 j = 0; j < {size}u; ++j) h = mix(h, (u64){a}[i][j]); }}\n",
    )  # fmt: skip


def packed(s: Statements, context: Context) -> Node:
    """Vectors of small numbers in a loop, most of it arithmetic."""
    rng = s.rng
    type_ = rng.choice(("u16x2", "i16x2", "u16x4", "u8x4", *(("f16x2", "f16x4") * 3 if s.floats else ())))
    element, count = VECTORS[type_]
    a, b, i = s.name("v"), s.name("v"), s.name("z")
    trips = rng.choice((2, 3, 8))
    inside = context.inner(repeats=context.repeats * trips, in_loop=True, in_switch=False, labels=())
    first, second = s.e.vector(type_, context.scope, 1), s.e.vector(type_, context.scope, 1)
    inside.scope.vectors += [(v, type_) for v in (a, b)]
    inside.scope.places += [Place("u32", (i,), False), *(Place(element, (f"{v}.{e}",)) for v in (a, b) for e in "xyzw"[:count])]
    body = [statement(f"{v} = ", s.e.vector(type_, inside.scope, depth), ";\n") for v, depth in ((a, 3), (b, 2), (a, 2))]
    if rng.random() < 0.5:
        body.insert(rng.randrange(4), s.simple(inside))
    s.steps += context.repeats * trips
    parts: list[str | Node] = [f"{{ {type_} {a} = ", first, f", {b} = ", second, f";\nfor (u32 {i} = 0; {i} < {trips}u; ++{i}) {{\n", *body, "}\n"]
    for e in "xyzw"[:count]:
        parts += ["h = mix(h, ", s.e.hashed(element, fixed(f"{a}.{e}")), " ^ ", s.e.hashed(element, fixed(f"{b}.{e}")), " << 32);\n"]
    return statement(*parts, "}\n")


SHAPES: tuple[Callable[[Statements, Context], Node], ...] = (
    backtracking, backtracking, backtracking, sorting, machine, search, table, permutations, lists, matrix, packed, packed,
)  # fmt: skip


def shape(s: Statements, context: Context) -> Node:
    """One of the shapes; several where loops allow it are nested by the statements around."""
    return s.rng.choice(SHAPES)(s, context)

