"""Declarations and statements of generated programs."""

import dataclasses
import random
from collections.abc import Callable

from language import COMPUTED, FLOATS, INTEGERS, SCALARS, Place, Region, Scope, Structure
from tree import Node, fixed, sequence, statement
from vectors import VECTORS, VectorExpressions

# The most steps that one work-item may take in a statement, roughly.
MOST_STEPS = 2000


@dataclasses.dataclass
class Function:
    """A function that kernels may call. Arguments: scalars by their types, "region" pointers of the space, structures by name."""

    name: str
    result: str
    parameters: list[str]
    space: str
    steps: int
    structure: Structure | None = None


@dataclasses.dataclass
class Context:
    """Where a statement stands."""

    scope: Scope
    depth: int
    repeats: int  # how often the statement is executed at most, roughly
    in_loop: bool = False
    in_switch: bool = False
    labels: tuple[str, ...] = ()
    atomics: bool = False
    result: str | None = None  # the type that `return` needs; "" in kernels that may return early

    def inner(self, **changes: object) -> "Context":
        return dataclasses.replace(self, scope=self.scope.copy(), depth=self.depth - 1, **changes)


class Statements:
    """Draws declarations and statements."""

    def __init__(self, rng: random.Random, prefix: str, floats: bool) -> None:
        self.rng = rng
        self.prefix = prefix
        self.floats = floats
        self.e = VectorExpressions(rng, floats)
        self.functions: list[Function] = []
        self.structures: list[Structure] = []
        self.classes: list[str] = []
        # Draws a statement that only the file's language has.
        self.special: Callable[[Statements, Context], Node] | None = None
        self.names = 0
        self.steps = 0

    def name(self, kind: str) -> str:
        self.names += 1
        return f"{kind}{self.names}"

    def scalar_type(self) -> str:
        if self.floats and self.rng.random() < 0.25:
            return self.rng.choice(FLOATS)
        return self.rng.choice(INTEGERS + ("u32", "u32", "i32", "i32", "u64"))

    def structure(self) -> Structure:
        """A new structure, or union of ways to see the same bits."""
        rng = self.rng
        name = f"{self.prefix}S{len(self.structures)}"
        if rng.random() < 0.3:
            definition = (
                f"typedef union {{ u64 q; u32 w[2]; u16 h[4]; i8 b[8]; struct {{ u32 a : {rng.randint(1, 12)}; i32 b : {rng.randint(2, 9)}; "
                f"u32 c : {rng.randint(1, 11)}; u32 d : {rng.randint(20, 32)}; }} f; }} {name};\n"
            )
            places: list[tuple[str, tuple[str | int, ...]]] = [
                ("u64", (".q",)), ("u32", (".w[", 2, "]")), ("u16", (".h[", 4, "]")), ("i8", (".b[", 8, "]")),
                ("u32", (".f.a",)), ("i32", (".f.b",)), ("u32", (".f.c",)), ("u32", (".f.d",)),
            ]  # fmt: skip
            made = Structure(name, definition, places, "{ 0 }")
        else:
            fields, places, values = [], [], []
            for i in range(rng.randint(2, 6)):
                type_ = self.scalar_type()
                roll = rng.random()
                if roll < 0.25:
                    size = rng.choice((2, 4, 8))
                    fields.append(f"{type_} f{i}[{size}];")
                    places.append((type_, (f".f{i}[", size, "]")))
                    values.append("{ 0 }")
                elif roll < 0.35 and self.structures:
                    inner = rng.choice(self.structures)
                    fields.append(f"{inner.name} f{i};")
                    places += [(t, (f".f{i}{p[0]}", *p[1:])) for t, p in inner.places]
                    values.append(inner.initializer)
                else:
                    fields.append(f"{type_} f{i};")
                    places.append((type_, (f".f{i}",)))
                    values.append("0")
            made = Structure(name, f"typedef struct {{ {' '.join(fields)} }} {name};\n", places, "{ " + ", ".join(values) + " }")
        self.structures.append(made)
        return made

    # ---- declarations, which add to the scope

    def declaration(self, context: Context) -> Node:
        rng, scope = self.rng, context.scope
        roll = rng.random()
        if roll < 0.45:
            type_ = self.scalar_type()
            name = self.name("x")
            node = fixed(f"{type_} {name} = ", self.e.expression(type_, scope, 2), ";\n")
            scope.places.append(Place(type_, (name,)))
        elif roll < 0.75:
            node = self.array(context)
        elif roll < 0.9:
            type_ = self.e.drawn_vector()
            element, count = VECTORS[type_]
            name = self.name("v")
            node = fixed(f"{type_} {name} = ", self.e.vector(type_, scope, 1), ";\n")
            scope.vectors.append((name, type_))
            scope.places += [Place(element, (f"{name}.{c}",)) for c in "xyzw"[:count]]
            # LLVM up to 15 writes 16 bits where an element of computed index has 8, and at -O0 the upper half of 64 to the lower place.
            scope.places.append(Place(element, (f"{name}[", count, "]"), writable=element not in ("u8", "u64")))
        elif self.structures:
            return self.object_of(rng.choice(self.structures), context)
        else:
            return self.array(context)
        return node

    def array(self, context: Context, type_: str | None = None, size: int | None = None) -> Node:
        """An array in private memory, all elements set."""
        rng, scope = self.rng, context.scope
        region = type_ is None and rng.random() < 0.35
        type_ = type_ or ("u32" if region else self.scalar_type())
        size = size or (rng.choice((8, 16)) if region else rng.choice((2, 4, 8, 8, 16, 32)))
        name, i = self.name("a"), self.name("z")
        value = self.e.expression(type_, scope, 1)
        if size <= 8 and rng.random() < 0.5:
            parts: list[str | Node] = [f"{type_} {name}[{size}] = {{ "]
            for k in range(size):
                parts += [", " if k else "", self.e.expression(type_, scope, 1 if k < 3 else 0)]
            node = fixed(*parts, " };\n")
        else:
            cast = f"({type_})" if type_ not in ("f16",) else "(f16)(f32)(i16)"
            if type_ in INTEGERS:
                cast, value = "", fixed("(u64)", value)
            node = fixed(
                f"{type_} {name}[{size}];\nfor (u32 {i} = 0; {i} < {size}u; ++{i}) {name}[{i}] = ", Node(type_, [f"({type_})(", value, f" + {cast}({i} * 3u + 1u))"]), ";\n"
            )
        scope.places.append(Place(type_, (f"{name}[", size, "]")))
        scope.arrays.append((name, type_, size))
        if type_ == "u32" and size >= 8:
            scope.regions.append(Region(f"{name}" if size == 8 else f"{name} + {rng.randrange(size - 7)}", "PRIVATE"))
        return node

    def object_of(self, made: Structure, context: Context) -> Node:
        """A structure, or an array of some."""
        rng, scope = self.rng, context.scope
        name = self.name("s")
        if rng.random() < 0.5:
            node = fixed(f"{made.name} {name} = {made.initializer};\n")
            scope.places += [Place(t, (f"{name}{p[0]}", *p[1:])) for t, p in made.places]
            scope.structures.append((name, made))
        else:
            size, i = rng.choice((2, 4, 8)), self.name("z")
            node = fixed(
                f"{made.name} {name}[{size}];\nfor (u32 {i} = 0; {i} < {size}u; ++{i}) {{ const {made.name} zero = {made.initializer}; {name}[{i}] = zero; }}\n"
            )
            scope.places += [Place(t, (f"{name}[", size, f"]{p[0]}", *p[1:])) for t, p in made.places]
        return node

    def pointer(self, context: Context) -> Node | None:
        """A pointer to a region, or to one of two in different memories."""
        rng, scope = self.rng, context.scope
        if not scope.regions:
            return None
        one = rng.choice(scope.regions)
        name = self.name("p")
        if rng.random() < 0.5:
            other = rng.choice(scope.regions)
            condition = self.e.condition(scope, 1)
            node = fixed(f"u32* {name} = ", condition, f" ? (u32*)({one.text}) : (u32*)({other.text});\n")
            space = ""
        else:
            space = one.space
            node = fixed(f"{space} u32* {name} = {one.text};\n".lstrip())
        scope.regions.append(Region(name, space))
        scope.places.append(Place("u32", (f"{name}[", 8, "]")))
        return node

    # ---- statements

    def block(self, context: Context, count: int | None = None) -> Node:
        """Statements in a scope of their own, without braces."""
        nodes = []
        for _ in range(count or self.rng.randint(1, 4)):
            if self.rng.random() < 0.2 and context.depth > 0:
                nodes.append(self.declaration(context))
            if self.rng.random() < 0.08:
                pointer = self.pointer(context)
                nodes += [pointer] if pointer else []
            nodes.append(self.statement(context))
        return sequence(nodes)

    def assignment(self, context: Context) -> Node:
        rng, scope = self.rng, context.scope
        if scope.vectors and rng.random() < 0.2:
            name, type_ = rng.choice(scope.vectors)
            return statement(f"{name} = ", self.e.vector(type_, scope, 2), ";\n")
        if scope.structures and rng.random() < 0.08:
            name, made = rng.choice(scope.structures)
            others = [p for p, s in scope.structures if s is made]
            return statement(f"{name} = {rng.choice(others)};\n")
        writable = [p for p in scope.places if p.writable]
        computed = [p for p in writable if len(p.pattern) > 1]
        place = rng.choice(computed if computed and rng.random() < 0.5 else writable)
        target = self.e.place(place, scope)
        roll = rng.random()
        if place.type in ("u32", "u64") and roll < 0.35:
            return statement(target, f" {rng.choice('+-*^|&')}= ", self.e.expression(place.type, scope, 3), ";\n")
        if place.type in ("u32", "u64", "u8", "u16") and roll < 0.45:
            return statement(target, rng.choice(("++", "--")), ";\n")
        if place.type in ("f32", "f64") and roll < 0.3:
            operator, value = rng.choice("+-*"), self.e.expression(place.type, scope, 2)
            negated = "-0.0f - " if operator == "-" else ""
            if operator == "*":
                return statement(target, " *= ", value, ";\n")
            return statement(target, f" += kept_{place.type}({negated}(", value, "));\n")
        return statement(target, " = ", self.e.expression(place.type, scope, rng.choice((1, 2, 2, 3))), ";\n")

    def hash(self, context: Context) -> Node:
        type_ = self.rng.choice(COMPUTED if self.floats else COMPUTED[:4])
        return statement("h = mix(h, ", self.e.hashed(type_, self.e.expression(type_, context.scope, 2)), ");\n")

    def statement(self, context: Context) -> Node:
        rng = self.rng
        self.steps += context.repeats
        if context.depth <= 0:
            return self.simple(context)
        if self.special and rng.random() < 0.12:
            return self.special(self, context)
        match rng.choices(range(11), (34, 16, 20, 6, 6, 5, 10, 4, 4, 2, 3))[0]:
            case 0:
                return self.simple(context)
            case 1:
                return self.branch(context)
            case 2:
                return self.loop(context)
            case 3:
                return self.switch(context)
            case 4:
                return self.forward_goto(context)
            case 5:
                return self.backward_goto(context)
            case 6:
                return self.call(context)
            case 7:
                return self.atomic(context)
            case 8:
                return self.jump(context)
            case 9:
                return self.irreducible(context)
            case _:
                return self.hash(context)

    def simple(self, context: Context) -> Node:
        return self.hash(context) if self.rng.random() < 0.12 else self.assignment(context)

    def branch(self, context: Context) -> Node:
        condition = self.e.condition(context.scope, 2)
        then = self.block(context.inner())
        if self.rng.random() < 0.5:
            return statement("if (", condition, ") {\n", then, "}\n", body=[then])
        other = self.block(context.inner())
        return statement("if (", condition, ") {\n", then, "} else {\n", other, "}\n", body=[then, other])

    def loop(self, context: Context) -> Node:
        rng, scope = self.rng, context.scope
        trips = rng.choice((2, 3, 4, 5, 8, 8, 16, 20))
        if context.repeats * trips > MOST_STEPS // 8:
            trips = 2
        if context.repeats * trips > MOST_STEPS:
            return self.simple(context)
        i = self.name("z")
        inside = context.inner(repeats=context.repeats * trips, in_loop=True, in_switch=False)
        counter = Place("u32", (i,), writable=False)
        kind = rng.randrange(7)
        if kind != 2:
            inside.scope.places.append(counter)
        stride = self.e.index(4, inside.scope, 1)
        pieces = [self.block(inside)]
        if rng.random() < 0.45:
            exit_ = statement("if (", self.e.condition(inside.scope, 2), f") {rng.choice(('break', 'continue'))};\n")
            pieces += [exit_, self.block(inside, rng.randint(1, 2))]
        body = sequence(pieces)
        match kind:
            case 0:
                text = fixed(f"for (u32 {i} = 0; {i} < {trips}u; ++{i}) {{\n")
            case 1:
                bound = trips & -trips if trips & -trips > 1 else 4
                first = self.e.index(bound, scope, 2)
                text = fixed(f"for (u32 {i} = 0, end_{i} = ", first, f" + 1u; {i} < end_{i}; ++{i}) {{\n")
            case 2:
                condition = self.e.condition(scope, 2)
                return statement(f"{{ u32 {i} = 0; do {{\n", body, "} while (", condition, f" && ++{i} < {trips}u); }}\n", body=[body])
            case 3:
                condition = self.e.condition(scope, 2)
                text = fixed(f"for (u32 {i} = 0; {i} < {trips}u && ", condition, f"; ++{i}) {{\n")
            case 4:
                condition = self.e.condition(scope, 2)
                text = fixed(f"for (u32 {i} = 0;; ++{i}) {{\nif ({i} >= {trips}u || ", condition, ") break;\n")
            case 5:
                start = self.e.index(trips & -trips if trips & -trips > 1 else 4, scope, 2)
                text = fixed(f"for (u32 {i} = ", start, f"; {i} < {trips}u; {i} += ", stride, " + 1u) {\n")
            case _:
                text = fixed(f"for (u32 {i} = {trips}u; {i}-- > 0u;) {{\n")
        return statement(text, body, "}\n", body=[body])

    def switch(self, context: Context) -> Node:
        rng = self.rng
        size = rng.choice((4, 8))
        parts: list[str | Node] = ["switch (", self.e.index(size, context.scope, 2), ") {\n"]
        bodies = []
        cases = sorted(rng.sample(range(size), rng.randint(2, size)))
        default = rng.choice((None, *cases))
        for case in cases:
            body = self.block(context.inner(in_switch=True), rng.randint(1, 2))
            bodies.append(body)
            label = f"case {case}u:" + (" default:" if case == default else "")
            parts += [label, " {\n", body, "}\n", "" if rng.random() < 0.25 else "break;\n"]
        return statement(*parts, "}\n", body=bodies)

    def forward_goto(self, context: Context) -> Node:
        label = self.name("l")
        body = self.block(context.inner(labels=(*context.labels, label)), self.rng.randint(2, 4))
        first = statement("if (", self.e.condition(context.scope, 2), f") goto {label};\n")
        return statement("{\n", first, body, f"}}\n{label}:;\n")

    def backward_goto(self, context: Context) -> Node:
        trips = self.rng.randint(2, 5)
        if context.repeats * trips > MOST_STEPS:
            return self.simple(context)
        label, counter = self.name("l"), self.name("c")
        body = self.block(context.inner(repeats=context.repeats * trips))
        condition = self.e.condition(context.scope, 2)
        return statement(
            f"{{ u32 {counter} = 0;\n{label}:;\n{{\n", body, "}\nif (", condition, f" && ++{counter} < {trips}u) goto {label}; }}\n", body=[body]
        )

    def irreducible(self, context: Context) -> Node:
        """A loop that is entered at two places."""
        trips = self.rng.randint(2, 4)
        if context.repeats * trips > MOST_STEPS:
            return self.simple(context)
        label, counter = self.name("l"), self.name("c")
        enter = self.e.condition(context.scope, 2)
        first = self.block(context.inner(repeats=context.repeats * trips), 1)
        second = self.block(context.inner(repeats=context.repeats * trips), 1)
        condition = self.e.condition(context.scope, 1)
        return statement(
            f"{{ u32 {counter} = 0;\nif (", enter, f") goto {label};\nwhile (++{counter} < {trips}u) {{\n{{\n", first, f"}}\n{label}:;\n{{\n", second,
            "}\nif (", condition, ") break;\n} }\n", body=[first, second],
        )  # fmt: skip

    def jump(self, context: Context) -> Node:
        """A way out of what surrounds the statement, for some work-items."""
        ways = []
        if context.in_loop:
            ways += ["continue;\n"] + ([] if context.in_switch else ["break;\n"])
        ways += [f"goto {label};\n" for label in context.labels]
        if context.result == "" and self.rng.random() < 0.1:
            ways.append("return;\n")
        condition = self.e.condition(context.scope, 2)
        if context.result and self.rng.random() < 0.3:
            return statement("if (", condition, ") return ", self.e.expression(context.result, context.scope, 2), ";\n")
        if not ways:
            return self.simple(context)
        return statement("if (", condition, ") ", self.rng.choice(ways))

    def atomic(self, context: Context) -> Node:
        if not context.atomics:
            return self.simple(context)
        cell = self.rng.randrange(6)
        op = ("add", "or", "and", "xor", "max", "min")[cell]
        if self.rng.random() < 0.3:
            return statement(f"ATOMIC64({op}, acc64 + {cell}, ", self.e.expression("u64", context.scope, 2), ");\n")
        return statement(f"ATOMIC32({op}, acc + {cell}, ", self.e.expression("u32", context.scope, 2), ");\n")

    def call(self, context: Context) -> Node:
        """A call, whose result goes to a new variable and into the hash."""
        rng, scope = self.rng, context.scope
        usable = [f for f in self.functions if f.steps * context.repeats <= MOST_STEPS * 4 and (not f.parameters.count("region") or scope.regions)]
        usable = [f for f in usable if f.space == "" or any(r.space == f.space for r in scope.regions)]
        if not usable:
            return self.simple(context)
        function = rng.choice(usable)
        family = [f for f in usable if (f.result, f.parameters, f.space) == (function.result, function.parameters, function.space)]
        arguments: list[str | Node] = []
        for parameter in function.parameters:
            arguments.append(", " if arguments else "")
            if parameter == "region":
                regions = [r for r in scope.regions if function.space in ("", r.space)]
                arguments.append(f"({function.space} u32*)({rng.choice(regions).text})" if function.space else f"(u32*)({rng.choice(regions).text})")
            elif parameter in SCALARS:
                arguments.append(self.e.expression(parameter, scope, 2))
            else:
                names = [name for name, s in scope.structures if s.name == parameter]
                made = next(s for s in self.structures if s.name == parameter)
                arguments.append(rng.choice(names) if names else f"({parameter}){made.initializer}")
        self.steps += function.steps * context.repeats
        name = self.name("r")
        if len(family) > 1 and rng.random() < 0.5:
            other = rng.choice(family)
            type_ = f"{function.result} (*{name}_f)({', '.join(self.parameter_type(p, function.space) for p in function.parameters)})"
            callee: list[str | Node] = [f"{type_} = ", self.e.condition(scope, 1), f" ? {function.name} : {other.name};\n"]
            text: list[str | Node] = ["{ ", *callee, f"{function.result} {name} = {name}_f(", *arguments, ");\n"]
        else:
            text = [f"{{ {function.result} {name} = {function.name}(", *arguments, ");\n"]
        if function.structure:
            type_, pattern = rng.choice(function.structure.places)
            got: Node = self.e.place(Place(type_, (name + pattern[0], *pattern[1:])), scope)  # type: ignore[operator]
        else:
            type_, got = function.result, Node(function.result, [name])
        writable = [p for p in scope.places if p.writable and p.type == type_]
        if writable and rng.random() < 0.6:
            return statement(*text, self.e.place(rng.choice(writable), scope), " = ", got, "; }\n")
        return statement(*text, "h = mix(h, ", self.e.hashed(type_, got), "); }\n")

    def parameter_type(self, parameter: str, space: str) -> str:
        return f"{space} u32*".strip() if parameter == "region" else parameter
