"""What only HIP C++ has: templates, classes with operators, tables that the compiler computes, lambdas, references, loops over ranges.

Of a template's type T, expressions see values as u32."""

import dataclasses
from collections.abc import Callable

from language import INTEGERS, Place, Scope
from statements import MOST_STEPS, Context, Function, Statements
from tree import Node, fixed, sequence, statement

NOINLINE = ("", "", " __attribute__((noinline))")


def _body(s: Statements, context: Context, repeats: int, result: str | None = None) -> Context:
    """For the body of a function that stands in another one's: nothing leads out of it but `return`."""
    return context.inner(repeats=context.repeats * repeats, in_loop=False, in_switch=False, labels=(), result=result)


def _type(s: Statements) -> str:
    return s.rng.choice((*INTEGERS, "u32", "i32"))


# ---- definitions in front of a kernel


def table(s: Statements, constants: list[Place]) -> Node:
    """A constant table whose values a constexpr function computes."""
    rng, name = s.rng, s.prefix + s.name("c")
    type_, size = _type(s), rng.choice((8, 16, 32))
    constants.append(Place(type_, (f"{name}.v[", size, "]"), False))
    return fixed(
        f"constexpr u32 {name}_of(u32 x) {{ u32 r = {rng.getrandbits(32)}u; for (u32 i = 0; i <= (x & {rng.choice((3, 7))}u); ++i) ",
        f"r = ((r << {rng.randint(1, 9)}) | (r >> 23)) ^ (x * {rng.getrandbits(16)}u + i); return r; }}\n",
        f"struct {name}_s {{ {type_} v[{size}]; constexpr {name}_s() : v() {{ for (u32 i = 0; i < {size}u; ++i) v[i] = ({type_}){name}_of(i); }} }};\n",
        f"CONSTEXPR {name}_s {name}{{}};\n",
    )  # fmt: skip


def function_template(s: Statements, constants: list[Place]) -> Node:
    """A function of any type and size, and some of its instances, which kernels call like other functions."""
    rng, name = s.rng, s.prefix + s.name("g")
    scope = Scope([Place("u32", ("((u32)first)",), False), Place("u32", ("second",)), Place("u32", ("N",), False), *constants], [], [], [])
    scope.places.append(Place("u32", ("((u32)a[", 4, "])"), False))
    before, s.steps = s.steps, 0
    context = Context(scope, rng.choice((1, 2)), 1)
    parts = [s.block(context, rng.randint(1, 2))]
    condition = rng.choice(("N > 4u", "sizeof(T) == 8", "sizeof(T) < 4", "(T)-1 < (T)0"))
    parts += [fixed(f"if constexpr ({condition}) {{\n"), s.block(context.inner(), 1), fixed("} else {\n"), s.block(context.inner(), 1), fixed("}\n")]
    parts.append(statement("a[", s.e.index(4, scope, 1), "] ^= (T)", s.e.expression("u32", scope, 2), ";\n"))
    value = s.e.expression(rng.choice(("u32", "u64")), scope, 2)
    for type_ in rng.sample(INTEGERS, rng.randint(1, 3)):
        for size in rng.sample((4, 8, 16), rng.randint(1, 2)):
            s.functions.append(Function(f"{name}<{type_}, {size}u>", type_, [type_, "u32"], "", s.steps + size))
    s.steps = before
    return sequence([
        fixed(f"template <typename T, u32 N> {rng.choice(('NOINLINE ', 'inline '))}static T {name}(T first, u32 second) {{\nu64 h = N;\nT a[N];\n"),
        fixed("for (u32 i = 0; i < N; ++i) a[i] = (T)((u64)first + i * second);\n"), *parts,
        fixed("for (const T& x : a) h = mix(h, (u64)x);\nreturn (T)((u64)", value, " ^ h);\n}\n"),
    ])  # fmt: skip


def class_template(s: Statements, constants: list[Place]) -> Node:
    """A vector of any type and size. N is a power of two; a constructor, operators and iterators are what standard libraries' have."""
    rng, name = s.rng, s.prefix + s.name("C")
    scope = Scope([Place("u32", ("((u32)v[i])",), False), Place("u32", ("((u32)o.v[i])",), False), Place("u32", ("i",), False), *constants], [], [], [])
    combined = s.e.expression(rng.choice(("u32", "u64")), scope, 2)
    s.classes.append(name)
    noinline = rng.choice(NOINLINE)
    return fixed(
        f"template <typename T, u32 N> class {name} {{\nT v[N];\npublic:\n",
        f"explicit {name}(T first) {{ for (u32 i = 0; i < N; ++i) v[i] = (T)((u64)first * {rng.getrandbits(8) | 1}u + i); }}\n",
        f"T& operator[](u32 i) {{ return v[i & (N - 1u)]; }}\nconst T& operator[](u32 i) const {{ return v[i & (N - 1u)]; }}\n",
        "T* begin() { return v; }\nT* end() { return v + N; }\nconst T* begin() const { return v; }\nconst T* end() const { return v + N; }\n",
        f"{name}& operator+=(const {name}& o){noinline} {{ for (u32 i = 0; i < N; ++i) v[i] = (T)", combined, "; return *this; }\n",
        f"friend {name} operator^({name} a, const {name}& b) {{ for (u32 i = 0; i < N; ++i) a.v[i] ^= b.v[N - 1u - i]; return a; }}\n",
        f"bool operator<(const {name}& o) const {{ for (u32 i = 0; i < N; ++i) if (v[i] != o.v[i]) return v[i] < o.v[i]; return false; }}\n",
        f"template <typename F> {name}& each(F f){rng.choice(NOINLINE)} {{ for (T& x : v) x = (T)f((u32)x); return *this; }}\n",
        "explicit operator u64() const { u64 h = N; for (const T x : *this) h = mix(h, (u64)x); return h; }\n};\n",
    )  # fmt: skip


def definitions(s: Statements, constants: list[Place]) -> list[Node]:
    return [make(s, constants) for make in (table, function_template, class_template) if s.rng.random() < 0.35]


# ---- statements


def ranged(s: Statements, context: Context) -> Node:
    """A loop over the elements of a private array, as copies or as references."""
    rng = s.rng
    arrays = [a for a in context.scope.arrays if context.repeats * a[2] <= MOST_STEPS]
    if not arrays:
        return s.simple(context)
    name, type_, size = rng.choice(arrays)
    x, kind = s.name("x"), rng.choice((f"{type_}&", "auto&", type_, f"const {type_}&", "const auto"))
    inside = context.inner(repeats=context.repeats * size, in_loop=True, in_switch=False)
    inside.scope.places.append(Place(type_, (x,), writable="const" not in kind))
    body = s.block(inside)
    return statement(f"for ({kind} {x} : {name}) {{\n", body, "}\n", body=[body])


def closure(s: Statements, context: Context) -> Node:
    """A lambda that sees the variables around it, or copies of them, and calls of it. What it copies changes before it is called."""
    rng, scope = s.rng, context.scope
    f, x, y = s.name("fn"), s.name("x"), s.name("y")
    copies = rng.random() < 0.4
    calls = rng.randint(1, 3)
    result, parameter = s.scalar_type(), s.scalar_type()
    arrays = scope.arrays
    target = rng.choice(arrays) if arrays and rng.random() < 0.4 else None  # the function has a reference to one of its elements
    if context.repeats * calls * 4 > MOST_STEPS:
        return s.simple(context)
    inside = _body(s, context, calls, result)
    inside.scope.places.append(Place(parameter, (x,)))
    if target:
        inside.scope.places.append(Place(target[1], (y,)))
    body = s.block(inside, rng.randint(1, 2))
    value = s.e.expression(result, inside.scope, 2)
    second = f", {target[1]}& {y}" if target else ""
    mutable = " mutable" if copies else ""
    parts = [
        fixed(f"{{ auto {f} = [{'=' if copies else '&'}]({parameter} {x}{second}){rng.choice(NOINLINE)}{mutable} -> {result} {{\n"), body,
        fixed("return ", value, ";\n};\n"),
    ]  # fmt: skip
    if copies:
        parts.append(s.simple(context))
    for _ in range(calls):
        arguments: list[str | Node] = [s.e.expression(parameter, scope, 2)]
        if target:
            arguments += [f", {target[0]}[", s.e.index(target[2], scope, 1), "]"]
        call = fixed(f"{f}(", *arguments, ")")
        parts.append(statement("h = mix(h, ", s.e.hashed(result, call), ");\n"))
    return statement(*parts, "}\n")


def generic(s: Statements, context: Context) -> Node:
    """A lambda for arguments of several types."""
    rng, scope = s.rng, context.scope
    f, x = s.name("fn"), s.name("x")
    types = [_type(s) for _ in range(rng.randint(2, 3))]
    inside = _body(s, context, len(types), "u32")
    inside.scope.places += [Place("u32", (f"((u32){x})",), False), Place("u32", (f"(u32)sizeof({x})",), False)]
    body = s.block(dataclasses.replace(inside, depth=min(inside.depth, 1)), 1)
    value = s.e.expression("u32", inside.scope, 2)
    parts = [fixed(f"{{ const auto {f} = [&](auto {x}) -> u32 {{\n"), body, fixed("return ", value, ";\n};\n")]
    parts += [statement(f"h = mix(h, {f}(", s.e.expression(t, scope, 2), "));\n") for t in types]
    return statement(*parts, "}\n")


def objects(s: Statements, context: Context) -> Node:
    """Two objects of a class, and what its operators make of them."""
    rng = s.rng
    if not s.classes:
        return closure(s, context)
    type_, size = _type(s), rng.choice((2, 4, 4, 8))
    if context.repeats * size > MOST_STEPS // 4:
        return s.simple(context)
    class_, a, b = f"{rng.choice(s.classes)}<{type_}, {size}u>", s.name("o"), s.name("o")
    inside = dataclasses.replace(context, scope=context.scope.copy())
    scope = inside.scope
    scope.places.append(Place("u32", ("(u32)((u64)h)",), False))
    parts = [fixed(f"{{ {class_} {a}(", s.e.expression(type_, scope, 2), f"), {b}({a});\n")]
    scope.places += [Place(type_, (f"{o}[", size, "]")) for o in (a, b)]
    s.steps += context.repeats * size * 4
    for _ in range(rng.randint(2, 4)):
        match rng.randrange(7):
            case 0:
                parts.append(statement(f"{a} += {rng.choice((a, b))};\n"))
            case 1:
                parts.append(statement(f"{b} = {a} ^ {b};\n"))
            case 2:
                parts.append(statement(f"if ({a} < {b}) ", rng.choice((f"{a} += {b};\n", f"{a} = {b};\n"))))
            case 3:
                x = s.name("x")
                loop = context.inner(repeats=context.repeats * size, in_loop=True, in_switch=False)
                loop.scope.places.append(Place(type_, (x,)))
                body = s.block(dataclasses.replace(loop, depth=min(loop.depth, 1)), 1)
                parts.append(statement(f"for ({type_}& {x} : {a}) {{\n", body, "}\n", body=[body]))
            case 4:
                x, capture = s.name("x"), rng.choice("=&")
                function = _body(s, inside, size)
                function.scope.places.append(Place("u32", (x,)))
                value = s.e.expression("u32", function.scope, 2)
                parts.append(statement(f"{b}.each([{capture}](u32 {x}) {{ return ", value, "; });\n"))
            case 5:
                r = s.name("r")
                value = s.e.expression("u32", scope, 2)
                parts.append(statement(f"{{ {type_}& {r} = {a}[", s.e.index(size, scope, 1), f"];\n{r} ^= ({type_})", value, "; }\n"))
            case _:
                parts.append(s.simple(inside))
    return statement(*parts, f"h = mix(h, (u64){a});\nh = mix(h, (u64){b}); }}\n")


STATEMENTS: tuple[Callable[[Statements, Context], Node], ...] = (ranged, ranged, closure, closure, generic, objects, objects, objects)


def cpp_statement(s: Statements, context: Context) -> Node:
    return s.rng.choice(STATEMENTS)(s, context)
