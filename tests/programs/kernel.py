"""Whole generated kernels, and files of them."""

import dataclasses
import random

import cpp
from language import FLOATS, INTEGERS, Place, Region, Scope
from shapes import shape
from statements import Context, Function, Statements
from toolchain import Language
from tree import Node, fixed, sequence, statement

SIZES = (64, 64, 64, 128, 256, 192, 1, 16, 33, 100, 130)
# Steps of a work-item, roughly, after which no more is added to a kernel.
ENOUGH = 6000


@dataclasses.dataclass
class Kernel:
    name: str
    seed: str
    tree: Node
    size: int  # work-items of a group
    groups: int

    def entry(self) -> str:
        return f'{{"{self.name}", {self.name}, {self.size}u, {self.groups}u}}'


class Maker:
    """Makes the kernel of a seed."""

    def __init__(self, seed: str, name: str, language: Language) -> None:
        self.rng = random.Random(seed)
        self.seed = seed
        self.name = name
        self.size = self.rng.choice(SIZES)
        self.groups = self.rng.randint(1, 3)
        self.s = Statements(self.rng, f"{name}_", floats=self.rng.random() < 0.5)
        self.constants: list[Place] = []
        self.definitions: list[Node] = []
        self.language = language
        # Arrays of the group: name, type, slots of a work-item (0: atomic cells).
        self.shared: list[tuple[str, str, int]] = []

    def make(self) -> Kernel:
        rng = self.rng
        for _ in range(rng.randint(1, 3)):
            self.definitions.append(fixed(self.s.structure().definition))
        for i in range(rng.randint(0, 2)):
            type_ = rng.choice(INTEGERS + (FLOATS[1:] if self.s.floats else ()))
            name, size = f"{self.name}_t{i}", rng.choice((8, 16, 32))
            values = ", ".join(self.s.e.literal(type_) for _ in range(size))
            self.definitions.append(fixed(f"CONSTANT {type_} {name}[{size}] = {{ {values} }};\n"))
            self.constants.append(Place(type_, (f"{name}[", size, "]"), False))
        if self.language == Language.HIP:
            self.s.special = cpp.cpp_statement
            self.definitions += cpp.definitions(self.s, self.constants)
        for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
            self.definitions.append(self.function())
        body = self.body()
        # LLVM 19 forgets to move numbers of the vector unit to SGPRs in some programs whose work-items are all known to be number 0.
        required = f"REQUIRED_SIZE({self.size})" if rng.random() < 0.5 and self.size > 1 else ""
        tree = sequence([*self.definitions, fixed(f"KERNEL({self.name}, {required}) {{\n"), body, fixed("}\n\n")])
        return Kernel(self.name, self.seed, tree, self.size, self.groups)

    # ---- functions

    def function(self) -> Node:
        rng, s = self.rng, self.s
        name = f"{self.name}_f{len(s.functions)}"
        alike = [f for f in s.functions if not f.structure]
        model = rng.choice(alike) if alike and rng.random() < 0.5 else None
        structure = None
        if model:
            parameters, result, space = model.parameters, model.result, model.space
        else:
            parameters = [s.scalar_type() for _ in range(rng.randint(1, 3))]
            space = rng.choice(("", "", "LOCAL", "GLOBAL", "PRIVATE"))
            if rng.random() < 0.6:
                parameters.insert(rng.randrange(len(parameters) + 1), "region")
            else:
                space = ""
            if rng.random() < 0.3:
                parameters.append(rng.choice(s.structures).name)
            structure = rng.choice(s.structures) if rng.random() < 0.2 else None
            result = structure.name if structure else s.scalar_type()
        # OpenCL C forbids recursion. In HIP C++ compilers reserve 16 KiB of scratch for the frames of a recursive function.
        recursive = self.language == Language.HIP and rng.random() < 0.5 and structure is None
        names = [f"arg{i}" for i in range(len(parameters))]
        scope = Scope(list(self.constants), [], [], [])
        for parameter, p in zip(parameters, names, strict=True):
            if parameter == "region":
                scope.places.append(Place("u32", (f"{p}[", 8, "]")))
                scope.regions.append(Region(p, space))
            elif found := next((x for x in s.structures if x.name == parameter), None):
                scope.places += [Place(t, (p + part[0], *part[1:])) for t, part in found.places]  # type: ignore[operator]
                scope.structures.append((p, found))
            else:
                scope.places.append(Place(parameter, (p,)))
        types = [s.parameter_type(p, space) for p in parameters]
        attribute = rng.choice(("NOINLINE ", "NOINLINE ", "inline "))
        if recursive:
            attribute = "NOINLINE "
        before, s.steps = s.steps, 0
        context = Context(scope, rng.choice((1, 2, 3)), 1, result=None if structure else result)
        first = s.block(context, rng.randint(1, 3))
        nodes = [first]
        if rng.random() < 0.2:
            nodes.append(shape(s, context))
        # A recursive function is two: the inner one has the depth, too.
        inner = f"{name}_r"
        if recursive:
            arguments = [self.argument(p, n, scope) for p, n in zip(parameters, names, strict=True)]
            call = [part for a in arguments for part in (", ", a)]
            times = rng.choice((1, 2))
            nodes += [
                statement("if (", s.e.condition(scope, 2), f") h = mix(h, (u64)bits_{name}({inner}(depth - 1u", *call, ")));\n") for _ in range(times)
            ]
            nodes.append(s.block(context, 1))
            s.steps *= 5 if times == 1 else 20
        if structure:
            got = s.name("s")
            end: list[Node] = [fixed(f"{structure.name} {got} = {structure.initializer};\n")]
            for type_, part in structure.places:
                target = s.e.place(Place(type_, (got + part[0], *part[1:])), scope)  # type: ignore[operator]
                end.append(statement(target, " = ", s.e.expression(type_, scope, 2), ";\n"))
            end.append(fixed(f"return {got};\n"))
        else:
            end = [fixed("return ", self.from_hash(result, s.e.expression(result, scope, 2)), ";\n")]
        list_ = ", ".join(f"{t} {n}" for t, n in zip(types, names, strict=True))
        function = Function(name, result, parameters, space, max(1, s.steps), structure)
        s.steps = before
        s.functions.append(function)
        if not recursive:
            return sequence([fixed(f"{attribute}static {result} {name}({list_}) {{\nu64 h = 1;\n"), *nodes, *end, fixed("}\n")])
        bits = f"bits_{result}(x)" if result in FLOATS else "(u64)x"
        depth = rng.randint(1, 4)
        return sequence([
            fixed(f"static inline u64 bits_{name}({result} x) {{ return {bits}; }}\n"),
            fixed(f"{attribute}static {result} {inner}(u32 depth, {list_}) {{\nu64 h = depth;\nif (depth == 0u) return ({result})1;\n"),
            *nodes, *end,
            fixed(f"}}\n{attribute}static {result} {name}({list_}) {{ return {inner}({depth}u, {', '.join(names)}); }}\n"),
        ])  # fmt: skip

    def argument(self, parameter: str, name: str, scope: Scope) -> "str | Node":
        if parameter == "region" or parameter not in INTEGERS + FLOATS:
            return name
        return self.s.e.expression(parameter, scope, 2)

    def from_hash(self, type_: str, node: Node) -> Node:
        """The value together with the function's hash."""
        if type_ in FLOATS:
            return Node("fixed", [f"({type_})(", node, f" + ({type_})(f32)(u32)(h & 255u))"])
        return Node("fixed", [f"({type_})((u64)", node, " ^ h)"])

    # ---- the kernel's body

    def body(self) -> Node:
        rng, s = self.rng, self.s
        barriers = rng.random() < 0.6
        scope = Scope([Place("u32", ("n",), False), Place("u64", ("m",), False), Place("u32", ("LID",), False), Place("u32", ("item",), False),
                       Place("u32", ("in[", 1024, "]"), False), Place("u32", ("in[(item * 3u + ", 8, ") & 1023u]"), False), *self.constants],
                      [], [], [])  # fmt: skip
        nodes: list[Node] = []
        if barriers:
            self.shared.append(("l0", "u32", 8))
            if rng.random() < 0.5:
                self.shared.append(("l1", s.scalar_type(), 4))
            if rng.random() < 0.5:
                self.shared.append(("c0", "u32", 0))
        elif rng.random() < 0.4:
            self.shared.append(("l0", "u32", 8))
        for name, type_, slots in self.shared:
            nodes.append(fixed(f"SHARED {type_} {name}[{slots * self.size or 16}];\n"))
        nodes.append(fixed(f"const u32 item = GROUP * {self.size}u + LID;\nu64 h = mix(item, {rng.getrandbits(16)}u);\n"))
        for name, type_, slots in self.shared:
            cast = "(f16)(f32)(i16)" if type_ == "f16" else f"({type_})"
            if slots:
                nodes.append(fixed(f"for (u32 i = 0; i < {slots}u; ++i) {name}[LID * {slots}u + i] = {cast}(in[(item + i) & 1023u] + i);\n"))
            else:
                nodes.append(fixed(f"for (u32 i = LID; i < 16u; i += {self.size}u) {name}[i] = i;\n"))
        depth = rng.choice((1, 2, 2, 3))
        context = Context(scope, depth, 1, atomics=True, result=None if barriers else "")
        nodes += [s.declaration(context) for _ in range(rng.randint(1, 4))]
        nodes.append(s.array(context, "u32", 8))
        if barriers:
            nodes.append(fixed("BARRIER();\n"))
            nodes += self.phases(context, rng.randint(1, 3), loops=True)
        else:
            phase = self.phase_context(context, own=True)
            limit = len(nodes) + rng.choice((1, 2, 4, 6))
            while s.steps < ENOUGH and len(nodes) < limit:
                nodes.append(shape(s, phase) if rng.random() < 0.25 else s.statement(phase))
                if rng.random() < 0.15:
                    break
            context = phase
        nodes += self.results(context)
        return sequence(nodes)

    def phase_context(self, context: Context, own: bool) -> Context:
        """What may be used between two barriers: of each array either one's own slots, or everybody's to read."""
        rng = self.rng
        inside = dataclasses.replace(context, scope=context.scope.copy())
        size, scope = self.size, inside.scope
        for name, type_, slots in self.shared:
            if not slots:
                continue  # cells: see phases
            if own or rng.random() < 0.5:
                scope.places.append(Place(type_, (f"{name}[LID * {slots}u + ", slots, "]")))
                if type_ == "u32" and slots == 8:
                    scope.regions.append(Region(f"{name} + LID * 8u", "LOCAL"))
            else:
                scope.places.append(Place(type_, (f"{name}[((LID + ", 64, f") % {size}u) * {slots}u + ", slots, "]"), False))
                scope.places.append(Place(type_, (f"{name}[", 1 << ((slots * size).bit_length() - 1), "]"), False))
        if own or rng.random() < 0.5:
            scope.places.append(Place("u32", ("g[item * 8u + ", 8, "]")))
            scope.regions.append(Region("g + item * 8u", "GLOBAL"))
        else:
            scope.places.append(Place("u32", (f"g[(GROUP * {size}u + (LID + ", 64, f") % {size}u) * 8u + ", 8, "]"), False))
        return inside

    def phases(self, context: Context, count: int, loops: bool) -> list[Node]:
        rng, s = self.rng, self.s
        nodes: list[Node] = []
        for _ in range(count):
            if loops and rng.random() < 0.25:
                i, trips = s.name("z"), rng.choice(("2u", "3u", "(n & 3u) + 1u", "5u"))
                inside = dataclasses.replace(context, scope=context.scope.copy(), repeats=context.repeats * 3)
                inside.scope.places.append(Place("u32", (i,), False))
                nodes += [fixed(f"for (u32 {i} = 0; {i} < {trips}; ++{i}) {{\n"), *self.phases(inside, rng.randint(1, 2), loops=False), fixed("}\n")]
                continue
            inside = self.phase_context(context, own=False)
            pieces = []
            cells = any(not slots for _, _, slots in self.shared)
            if cells and rng.random() < 0.5:
                inside.scope.places.append(Place("u32", ("c0[", 16, "]"), False))
                cells = False
            for _ in range(rng.randint(1, 2)):
                if s.steps > ENOUGH:
                    break
                pieces.append(shape(s, inside) if rng.random() < 0.25 else s.statement(inside))
            if cells:
                op = rng.choice(("add", "or", "and", "xor", "max", "min"))
                index, value = s.e.index(16, inside.scope, 2), s.e.expression("u32", inside.scope, 2)
                update = statement(f"ATOMIC_LOCAL({op}, c0 + ", index, ", ", value, ");\n")
                pieces.append(statement("if (", s.e.condition(inside.scope, 1), ") { ", update, "}\n"))
            nodes += [fixed("{\n"), *pieces, fixed("}\nBARRIER();\n")]
            if rng.random() < 0.3:
                nodes.append(self.exchange(context))
        return nodes

    def exchange(self, context: Context) -> Node:
        """An operation of the whole wave, which all work-items execute."""
        rng, s = self.rng, self.s
        value = s.e.expression("u32", context.scope, 2)
        choice = rng.randrange(5 if self.size % 64 == 0 else 2)
        parts: list[str | Node]
        match choice:
            case 0:
                parts = ["WAVE_FIRST(", value, ")"]
            case 1:
                parts = ["WAVE_BALLOT(", value, " & 1u)"]
            case 2:
                parts = [f"WAVE_LANE(", value, f", {rng.randrange(64)}u)"]
            case 3:
                parts = ["WAVE_QUAD(", value, f", {rng.randrange(256)})"]
            case _:
                parts = ["WAVE_SHUFFLE(", value, ", ", s.e.index(64, context.scope, 2), ")"]
        name = s.name("x")
        return statement(f"{{ const u64 {name} = ", *parts, f";\nh = mix(h, {name}); }}\n")

    def results(self, context: Context) -> list[Node]:
        """The hash goes through all private variables."""
        rng, s = self.rng, self.s
        nodes: list[Node] = []
        private = [p for p in context.scope.places if isinstance(p.pattern[0], str) and p.writable]
        for place in private:
            numbers = [p for p in place.pattern if not isinstance(p, str)]
            if not numbers:
                nodes.append(statement("h = mix(h, ", s.e.hashed(place.type, fixed(str(place.pattern[0]))), ");\n"))
            elif len(numbers) == 1 and rng.random() < 0.8:
                i = s.name("z")
                element = fixed("".join(p if isinstance(p, str) else i for p in place.pattern))
                nodes.append(statement(f"for (u32 {i} = 0; {i} < {numbers[0]}u; ++{i}) h = mix(h, ", s.e.hashed(place.type, element), ");\n"))
            if len(nodes) % 6 == 5 and len(nodes) < 40:
                nodes.append(fixed(f"out[item * 8u + {1 + len(nodes) // 6}u] = h;\n"))
        return [*nodes, fixed("out[item * 8u] = h;\n")]


def language_of(seed: str) -> Language:
    """What the file of a seed is written in."""
    return random.Random(f"{seed} language").choice(list(Language))


def make_kernel(seed: str, index: int) -> Kernel:
    """The kernel of a number in the file of a seed."""
    return Maker(f"{seed}:{index}", f"k{index}", language_of(seed)).make()


def make_file(kernels: list[Kernel], header: str) -> str:
    """The text of a file: OpenCL C for the GPU and C for the host, or HIP C++ and C++."""
    parts = [f'#include "{header}"\n\n', *(f"// seed {k.seed}\n{k.tree.render()}" for k in kernels)]
    parts.append(f"PROGRAM_TABLE({', '.join(k.entry() for k in kernels)})\n")
    return "".join(parts)
