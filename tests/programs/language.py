"""Types, variables and expressions of generated programs. No expression has side effects, and none is undefined in C."""

import dataclasses
import random

from tree import Node

UNSIGNED = ("u8", "u16", "u32", "u64")
SIGNED = ("i8", "i16", "i32", "i64")
FLOATS = ("f16", "f32", "f64")
INTEGERS = UNSIGNED + SIGNED
SCALARS = INTEGERS + FLOATS
# Types that arithmetic is done in.
COMPUTED = ("u32", "i32", "u64", "i64", "f32", "f64", "f16")
WIDTH = {"u8": 8, "i8": 8, "u16": 16, "i16": 16, "u32": 32, "i32": 32, "u64": 64, "i64": 64}

INTERESTING = (0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100, 127, 128, 255, 256, 1000, 32767, 32768, 65535, 65536, 0x7FFFFFFF,
               0x80000000, 0xFFFFFFFF, 0x55555555, 0xDEADBEEF, 12345)  # fmt: skip
REALS = ("1.0", "-1.0", "0.5", "2.0", "3.0", "-7.25", "0.1", "1e-3", "1234.5", "65504.0", "1e10", "-1e-10", "3.14159", "1e-38")


@dataclasses.dataclass(frozen=True)
class Place:
    """Something that holds a value. Text of `pattern` alternates with numbers, which stand for an index below that power of two."""

    type: str
    pattern: tuple[str | int, ...]
    writable: bool = True


@dataclasses.dataclass(frozen=True)
class Region:
    """A pointer to eight u32 that a work-item may read and write."""

    text: str
    space: str  # "PRIVATE", "LOCAL", "GLOBAL", "" for any


@dataclasses.dataclass
class Structure:
    """A struct or union; `places` are its scalars, as patterns behind the name of an object."""

    name: str
    definition: str
    places: list[tuple[str, tuple[str | int, ...]]]
    initializer: str


@dataclasses.dataclass
class Scope:
    """What can be named at a place of the program."""

    places: list[Place]
    regions: list[Region]
    vectors: list[tuple[str, str]]  # name, type
    structures: list[tuple[str, Structure]]  # name, type
    arrays: list[tuple[str, str, int]] = dataclasses.field(default_factory=list)  # in private memory: name, type, elements

    def copy(self) -> "Scope":
        return Scope(list(self.places), list(self.regions), list(self.vectors), list(self.structures), list(self.arrays))


class Expressions:
    """Draws expressions."""

    def __init__(self, rng: random.Random, floats: bool) -> None:
        self.rng = rng
        self.floats = floats

    def literal(self, type_: str) -> str:
        rng = self.rng
        if type_ in FLOATS:
            value = rng.choice(REALS) if type_ != "f16" else rng.choice(REALS[:8])
            return f"(({type_}){value}{'' if type_ == 'f64' else 'f'})"
        value = rng.choice(INTERESTING) if rng.random() < 0.7 else rng.getrandbits(rng.choice((4, 8, 16, 32)))
        if WIDTH[type_] == 64:
            high = rng.getrandbits(32) if rng.random() < 0.3 else 0
            return f"(({type_})(((u64){high}u << 32) | {value}u))"
        return f"(({type_}){value}u)"

    def index(self, size: int, scope: Scope, depth: int = 1) -> Node:
        """A number below a power of two."""
        if self.rng.random() < 0.15 or depth < -1:
            return Node("u32", [f"{self.rng.randrange(size)}u"])
        return Node("fixed", ["(", self.expression("u32", scope, depth), f" & {size - 1}u)"])

    def place(self, place: Place, scope: Scope, depth: int = 1) -> Node:
        return Node("fixed", [p if isinstance(p, str) else self.index(p, scope, depth) for p in place.pattern])

    def read(self, type_: str, scope: Scope, depth: int) -> Node:
        """A value that is held somewhere, converted."""
        places = scope.places if depth >= 0 else [p for p in scope.places if len(p.pattern) == 1] or scope.places
        same = [p for p in places if p.type == type_]
        place = self.rng.choice(same if same and self.rng.random() < 0.6 else places)
        text = self.place(place, scope, depth - 1)
        return Node(type_, [self.convert(place.type, type_, text)])

    def convert(self, source: str, target: str, node: Node) -> Node:
        if source == target:
            return node
        if source in FLOATS and target in INTEGERS:
            if source == "f16":
                source, node = "f32", Node("fixed", ["(f32)", node])
            chosen = {"f32": ("i32", "u32"), "f64": ("i64", "u64", "i32")}[source]
            middle = target if target in chosen else self.rng.choice(chosen)
            return Node("fixed", [f"({target}){middle}_of_{source}(", node, ")"])
        if target == "f16":  # rounded once
            if source == "f64":
                return Node("fixed", ["(f16)(f32)i32_of_f64(", node, ")"])
            return Node("fixed", ["f16_of_f32((f32)(", node, "))"] if source == "f32" else ["(f16)(f32)(i16)(", node, ")"])
        if source == "f16" and target == "f64":
            return Node("fixed", ["(f64)(f32)(", node, ")"])
        return Node("fixed", [f"({target})(", node, ")"])

    def expression(self, type_: str, scope: Scope, depth: int) -> Node:
        rng = self.rng
        if depth <= 0 or rng.random() < 0.15:
            if scope.places and rng.random() < 0.8:
                return self.read(type_, scope, min(depth, 0))
            return Node(type_, [self.literal(type_)])
        if type_ not in COMPUTED:
            wide = "u32" if type_ in UNSIGNED else "i32"
            return Node(type_, [f"({type_})", self.expression(wide, scope, depth)])
        if type_ in FLOATS:
            return self.real(type_, scope, depth)
        return self.integer(type_, scope, depth)

    def integer(self, type_: str, scope: Scope, depth: int) -> Node:
        rng = self.rng
        a = self.expression(type_, scope, depth - 1)
        unsigned = "u32" if WIDTH[type_] == 32 else "u64"
        width = WIDTH[type_]

        def other() -> Node:
            return self.expression(type_, scope, depth - 1)

        match rng.choices(range(14), (20, 10, 12, 6, 8, 4, 4, 3, 3, 5, 3, 2, 2, 2))[0]:
            case 0:
                return Node(type_, [f"({type_})(({unsigned})", a, f" {rng.choice('+-')} ({unsigned})", other(), ")"])
            case 1:
                return Node(type_, ["(", a, f" {rng.choice('&|^')} ", other(), ")"])
            case 2:
                if width == 64:  # see mulhi_u32 in program.h
                    return Node(type_, [f"({type_})((({unsigned})", a, f" | 0x1000000u) * ({unsigned})", other(), ")"])
                return Node(type_, [f"({type_})(({unsigned})", a, f" * ({unsigned})", other(), ")"])
            case 3:
                amount = self.expression("u32", scope, depth - 1)
                return Node(type_, [f"({type_})(({unsigned})", a, " << (", amount, f" & {width - 1}u))"])
            case 4:
                amount = self.expression("u32", scope, depth - 1)
                return Node(type_, ["(", a, " >> (", amount, f" & {width - 1}u))"])
            case 5:
                condition = self.condition(scope, depth - 1)
                return Node(type_, ["(", condition, " ? ", a, " : ", other(), ")"])
            case 6:
                return Node(type_, [f"({type_})", self.condition(scope, depth - 1)])
            case 7:
                # LLVM 19 takes x for x | -1, which the upper half of an extended number's complement makes.
                bit = " ^ ((u64)1 << 40)" if WIDTH[type_] == 64 else ""
                return Node(type_, [f"({type_})(~(({unsigned})", a, f"{bit}))"])
            case 8:
                return Node(type_, [f"({type_})(0u - ({unsigned})", a, ")"])
            case 9:
                return Node(type_, [f"({type_})({rng.choice(INTEGERS)})", a])
            case 10:
                name = rng.choice(("div", "mod"))
                divisor = Node("fixed", ["(", other(), f" | ({type_}){rng.choice((1, 2, 16))})"]) if rng.random() < 0.5 else other()
                return Node(type_, [f"{name}_{type_}(", a, ", ", divisor, ")"])
            case 11 if width == 32:
                x = self.expression("u32", scope, depth - 1)
                call = rng.choice(("clz_u32", "ctz_u32", "(u32)__builtin_popcount", "__builtin_bitreverse32", "__builtin_bswap32"))
                return Node(type_, [f"({type_}){call}(", x, ")"])
            case 12 | 11:
                x, amount = self.expression(unsigned, scope, depth - 1), self.expression("u32", scope, depth - 1)
                return Node(type_, [f"({type_})rotl_{unsigned}(", x, ", ", amount, ")"])
            case _:
                x, y = self.expression("u32", scope, depth - 1), self.expression("u32", scope, depth - 1)
                return Node(type_, [f"({type_})mulhi_u32(", x, ", ", y, ")"])

    def sum_or_product(self, type_: str, a: Node, b: Node) -> Node:
        """Of numbers, or of vectors of them."""
        operator = self.rng.choice("+-*")
        if operator == "*":
            return Node(type_, ["(", a, " * ", b, ")"])
        return Node(type_, [f"{'add' if operator == '+' else 'sub'}_{type_}(", a, ", ", b, ")"])

    def real(self, type_: str, scope: Scope, depth: int) -> Node:
        rng = self.rng
        a, b = self.expression(type_, scope, depth - 1), self.expression(type_, scope, depth - 1)
        suffix = "" if type_ == "f64" else "f"
        choice = rng.randrange(10)
        if type_ == "f16":
            if choice < 5:
                return Node(type_, [f"{rng.choice(('add', 'sub', 'mul'))}_f16(", a, ", ", b, ")"])
            if choice == 5:
                return Node(type_, [f"{rng.choice(('min', 'max'))}_f16(", a, ", ", b, ")"])
            if choice == 6:
                return Node(type_, [f"{rng.choice(('fma', 'mixed'))}_f16(", a, ", ", b, ", ", self.expression(type_, scope, 0), ")"])
            return Node(type_, ["(", self.condition(scope, depth - 1), " ? ", a, " : ", b, ")"])
        match choice:
            case 0 | 1 | 2 | 3:
                return self.sum_or_product(type_, a, b)
            case 4:
                return Node(type_, ["(", a, " / ", b, ")"])
            case 5:
                return Node(type_, ["(", self.condition(scope, depth - 1), " ? ", a, " : ", b, ")"])
            case 6:
                name = rng.choice(("floor", "ceil", "trunc", "rint", "fabs"))
                return Node(type_, [f"__builtin_{name}{suffix}(", a, ")"])
            case 7:
                c = self.expression(type_, scope, 0)
                return Node(type_, [f"__builtin_fma{suffix}(", a, ", ", b, ", ", c, ")"])
            case 8:
                return Node(type_, ["(-", a, ")"])
            case _:
                source = rng.choice(("i32", "u32", "i64", "u64", "f64" if type_ == "f32" else "f32"))
                return Node(type_, [f"({type_})", self.expression(source, scope, depth - 1)])

    def condition(self, scope: Scope, depth: int) -> Node:
        """0 or 1, an int."""
        rng = self.rng
        type_ = rng.choice(("u32", "i32", "u32", "u64", "i64") + (("f32", "f64") if self.floats else ()))
        roll = rng.random()
        if depth > 0 and roll < 0.2:
            parts = ["(", self.condition(scope, depth - 1), rng.choice((" && ", " || ")), self.condition(scope, depth - 1), ")"]
        elif depth > 0 and roll < 0.25:
            parts = ["(!", self.condition(scope, depth - 1), ")"]
        elif roll < 0.5:
            mask = rng.choice((1, 3, 4, 7))
            parts = ["((", self.expression("u32", scope, depth - 1), f" & {mask}u) {rng.choice(('==', '!=', '<'))} {rng.randint(1, mask)}u)"]
        else:
            compare = rng.choice(("==", "!=", "<", "<=", ">", ">="))
            left, right = self.expression(type_, scope, depth - 1), self.expression(type_, scope, depth - 1)
            parts = ["(", left, f" {compare} ", right, ")"]
        return Node("i32", parts)

    def hashed(self, type_: str, text: Node) -> Node:
        """The value as u64, for the hash."""
        if type_ in FLOATS:
            return Node("fixed", [f"(u64)bits_{type_}(", text, ")"])
        return Node("fixed", ["(u64)", text])
