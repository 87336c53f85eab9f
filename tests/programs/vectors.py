"""Vectors of generated programs, and expressions of them. program.h and vectors.h define what is named here."""

from language import FLOATS, SIGNED, WIDTH, Expressions, Scope
from tree import Node

# Vector type: element type, elements.
VECTORS = {
    "u32x2": ("u32", 2), "u32x4": ("u32", 4), "u64x2": ("u64", 2), "u16x4": ("u16", 4), "u8x4": ("u8", 4), "f32x4": ("f32", 4),
    "u16x2": ("u16", 2), "i16x2": ("i16", 2), "f16x2": ("f16", 2), "f16x4": ("f16", 4),
}  # fmt: skip
# Those with packed instructions come more often.
DRAWN = (*VECTORS, "u16x2", "i16x2", *("f16x2", "f16x4") * 3)
PACKED = ("u16x2", "i16x2", "u16x4")
# Where vectors are converted from: those that any program has, and those only of programs with floats.
CONVERSIONS = {
    "u32x2": ("u16x2", "i16x2"), "u32x4": ("u16x4", "u8x4"), "u64x2": ("u32x2", "i16x2"), "u16x4": ("u8x4", "u32x4"), "u8x4": ("u16x4", "u32x4"),
    "u16x2": ("u32x2", "i16x2"), "i16x2": ("u16x2", "u64x2"),
}  # fmt: skip
REAL_CONVERSIONS = {
    "f16x2": ("u16x2", "i16x2"), "f16x4": ("u16x4", "u8x4", "f32x4"), "f32x4": ("f16x4",), "u16x2": ("f16x2",), "i16x2": ("f16x2",), "u16x4": ("f16x4",),
}  # fmt: skip


class VectorExpressions(Expressions):
    """Draws expressions, those of vectors, too."""

    def drawn_vector(self) -> str:
        return self.rng.choice([v for v in DRAWN if self.floats or VECTORS[v][0] not in FLOATS])

    def vector(self, type_: str, scope: Scope, depth: int) -> Node:
        rng = self.rng
        if depth <= 0 or rng.random() < 0.2:
            return self.simple_vector(type_, scope)
        element = VECTORS[type_][0]
        if rng.random() < 0.15:
            return self.converted(type_, scope, depth)
        if element == "f16":
            return self.halves(type_, scope, depth)
        a, b = self.vector(type_, scope, depth - 1), self.vector(type_, scope, depth - 1)
        if element in FLOATS:
            return self.sum_or_product(type_, a, b)
        return self.integers(type_, a, b, scope)

    def simple_vector(self, type_: str, scope: Scope) -> Node:
        """A variable, its elements in another order, or a vector of numbers."""
        rng = self.rng
        element, count = VECTORS[type_]
        known = [name for name, t in scope.vectors if t == type_]
        if known and rng.random() < 0.7:
            name = rng.choice(known)
            if rng.random() < 0.5:
                return Node(type_, [name])
            return Node(type_, [name, ".", "".join(rng.choice("xyzw"[:count]) for _ in range(count))])
        if rng.random() < 0.3:
            return Node(type_, [f"(({type_})({self.literal(element)}))"])
        parts: list[str | Node] = [f"(({type_}){{"]
        for i in range(count):
            parts += [", " if i else "", self.expression(element, scope, 1)]
        return Node(type_, [*parts, "})"])

    def converted(self, type_: str, scope: Scope, depth: int) -> Node:
        """Another vector, element by element."""
        reals = REAL_CONVERSIONS.get(type_, ()) if self.floats else ()
        source = self.rng.choice(CONVERSIONS.get(type_, ()) + reals)
        value = self.vector(source, scope, depth - 1)
        if source in reals:
            return Node(type_, [f"{type_}_of_{source}(", value, ")"])
        return Node(type_, ["__builtin_convertvector(", value, f", {type_})"])

    def integers(self, type_: str, a: Node, b: Node, scope: Scope) -> Node:
        rng = self.rng
        element = VECTORS[type_][0]
        roll = rng.random()
        if roll < 0.2:
            return Node(type_, [f"{rng.choice(('min', 'max'))}_{type_}(", a, ", ", b, ")"])
        if type_ in PACKED and roll < 0.6:
            name = rng.choice(("add", "sub", "mul", "mad", "shl"))
            third = [", ", self.vector(type_, scope, 0)] if name == "mad" else []
            return Node(type_, [f"{name}_{type_}(", a, ", ", b, *third, ")"])
        if roll < 0.7:
            return Node(type_, ["(", a, f" {rng.choice('&|^' if type_ in PACKED else '+-*&|^')} ", b, ")"])
        if roll < 0.85:
            operator = ">>" if element in SIGNED else rng.choice(("<<", ">>"))
            return Node(type_, ["(", a, f" {operator} (", b, f" & ({type_})(({element}){WIDTH[element] - 1})))"])
        compare = rng.choice(("==", "<", ">="))
        return Node(type_, ["(__builtin_convertvector(", a, f" {compare} ", b, f", {type_}) & ", self.vector(type_, scope, 0), ")"])

    def halves(self, type_: str, scope: Scope, depth: int) -> Node:
        name, operands = self.rng.choice((
            ("add", 2), ("sub", 2), ("mul", 2), ("add", 2), ("mul", 2), ("fma", 3), ("fma", 3), ("min", 2), ("max", 2), ("clamp", 1), ("neg", 1), ("abs", 1), ("select", 4),
        ))  # fmt: skip
        parts: list[str | Node] = [f"{name}_{type_}("]
        for i in range(operands):
            parts += [", " if i else "", self.vector(type_, scope, depth - 1 if i < 2 else 0)]
        return Node(type_, [*parts, ")"])

    def integer(self, type_: str, scope: Scope, depth: int) -> Node:
        """Sometimes a sum of products of a vector's elements."""
        if type_ == "u32" and scope.vectors and self.rng.random() < 0.04:
            vector = self.rng.choice(("u8x4", "u16x2", "i16x2"))
            a, b = self.vector(vector, scope, 0), self.vector(vector, scope, 0)
            return Node(type_, [f"dot_{vector}(", a, ", ", b, ", ", self.expression(type_, scope, depth - 1), ")"])
        return super().integer(type_, scope, depth)
