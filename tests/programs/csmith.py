"""Kernels made of the programs of Csmith, which prints C++ without undefined behaviour.

The program's globals and functions become the members of a structure, so that each work-item has globals of its own; some of the globals'
integers depend on the work-item, so that lanes part. Csmith proves what it needs about pointers and loops without the values of integers."""

import dataclasses
import pathlib
import random
import re
import shutil
import subprocess
import tempfile

# What an option of Csmith is drawn from; each needs a program of its own to be seen.
NUMBERS = {
    "--max-funcs": (2, 3, 4, 5, 6, 8), "--max-block-depth": (1, 2, 2, 3, 4), "--max-block-size": (2, 3, 4), "--max-expr-complexity": (2, 4, 7, 10),
    "--max-array-dim": (1, 2, 3), "--max-array-len-per-dim": (2, 4, 6, 8), "--max-pointer-depth": (1, 2, 3), "--max-struct-fields": (3, 6, 10),
    "--max-union-fields": (2, 5), "--inline-function-prob": (20, 50, 80),
}  # fmt: skip
SWITCHES = (
    "arrays", "bitfields", "comma-operators", "const-pointers", "consts", "embedded-assigns", "inline-function", "jumps", "longlong", "math64",
    "packed-struct", "return-structs", "arg-structs", "structs", "unions", "volatile-pointers", "volatiles", "vol-struct-union-fields",
)  # fmt: skip
# Characters of Csmith's text: many of its programs return at once, and some take a compiler minutes.
LEAST, MOST = 8_000, 50_000
TRIES = 50
SIZES = (64, 64, 64, 64, 128, 33, 7)
PLACES = ("PRIVATE", "PRIVATE", "GLOBAL", "SHARED", "MIXED")
# Few registers make compilers spill.
ATTRIBUTES = ("", "", "", "__attribute__((amdgpu_waves_per_eu(10)))", "__attribute__((amdgpu_num_vgpr(32)))", "__attribute__((amdgpu_num_sgpr(64)))")
# Seconds for Csmith itself, which does not end with some seeds.
LIMIT = 10

INTEGER = re.compile(r"static (?:volatile )?(u?int(?:8|16|32|64)_t) (g_\d+)((?:\[\d+\])*) = ")
FUNCTION = re.compile(r"^(?:inline )?static (?:inline )?(.*?[ *])(func_\d+)\((.*)\)$")
ENTRY = re.compile(r"^    (func_\d+)\(\);$", re.MULTILINE)
# Constants with a suffix are operands; bounds of loops and indices have none.
CONSTANT = re.compile(r"(?<![\w.])(?:0x[0-9A-F]+|\d+)U?LL?\b")
HASH = re.compile(r"transparent_crc(_bytes)? ?\((.*?), (?:sizeof\(.*?\), )?\"[^\"]*\", print_hash_value\);")


class NoProgram(Exception):
    """Csmith has not printed a program; the text says why."""


@dataclasses.dataclass(frozen=True)
class Program:
    text: str  # of the whole file
    scratch_unknown: bool  # it recurses or calls by pointer, so that compilers do not know how much scratch it takes


def installed() -> bool:
    return shutil.which("csmith") is not None and pathlib.Path("/usr/include/csmith/safe_math.h").exists()


def _arguments(rng: random.Random) -> list[str]:
    """Csmith's options, drawn."""
    arguments = [part for name, values in NUMBERS.items() for part in (name, str(rng.choice(values)))]
    off = {name for name in SWITCHES if rng.random() < 0.25}
    floats = rng.random() < 0.25
    if floats:
        # Integers that a union shows as a float may be NaNs, whose bits no compiler promises.
        off.add("unions")
        arguments.append("--float")
    return [*arguments, *(f"--{'no-' if name in off else ''}{name}" for name in SWITCHES)]


def _print(rng: random.Random) -> str:
    """Csmith's text, neither short nor long."""
    for _ in range(TRIES):
        text = _print_any(rng)
        if LEAST <= len(text) <= MOST:
            return text
    raise NoProgram(f"csmith: none of {TRIES} programs has the size")


def _print_any(rng: random.Random) -> str:
    command = ["csmith", "--lang-cpp", "--cpp11", "--concise", "--no-argc", "--seed", str(rng.getrandbits(32)), *_arguments(rng)]
    try:
        # It writes a file to the folder where it runs.
        with tempfile.TemporaryDirectory(prefix="wavejit-csmith-") as folder:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, cwd=folder)
    except subprocess.TimeoutExpired:
        raise NoProgram("csmith does not end") from None
    if done.returncode != 0 or "int main" not in done.stdout:
        raise NoProgram(f"csmith: status {done.returncode}: {done.stderr[-200:]}")
    return done.stdout


def _changes(rng: random.Random, globals_: list[str]) -> list[str]:
    """Statements that make globals depend on `x`, a number of the work-item."""
    integers = [found.groups() for line in globals_ if (found := INTEGER.match(line))]
    statements = []
    for type_, name, dimensions in integers:
        if rng.random() < 0.4:
            continue
        element = name + "".join(f"[{rng.randrange(int(n))}]" for n in re.findall(r"\d+", dimensions))
        value = f"({type_})(mix(x, {rng.getrandbits(16)}u)"
        match rng.randrange(4):
            case 0:
                statements.append(f"{element} = {value} & {rng.choice((1, 3, 7, 15))}u);")
            case 1:
                statements.append(f"{element} = ({type_})({element} + (u64){value} & 3u));")
            case 2:
                statements.append(f"{element} = ({type_})({element} ^ (u64){value}));")
            case _:
                statements.append(f"if (mix(x, {rng.getrandbits(16)}u) & 1u) {element} = {value});")
    return statements


@dataclasses.dataclass(frozen=True)
class Function:
    result: str
    name: str
    parameters: str
    body: str

    def arguments(self) -> str:
        names = [] if self.parameters == "void" else [re.findall(r"\w+", p)[-1] for p in self.parameters.split(",")]
        return ", ".join(names)


def _member(rng: random.Random, function: Function) -> tuple[str, bool]:
    """A function as a member function, or as some, and whether one calls itself or is called by pointer."""
    vary = rng.choice((0.0, 0.02, 0.1, 0.3))
    body = CONSTANT.sub(lambda found: f"vary({found[0]}, {rng.randrange(64)}u)" if rng.random() < vary else found[0], function.body)
    f, attribute = dataclasses.replace(function, body=body), rng.choice(("", "NOINLINE ", "NOINLINE ", "inline "))
    head, again = f"({f.parameters})", f"{f.name}({f.arguments()})"
    body = f.body
    match rng.randrange(6):
        case 0:  # It calls itself first, as often as its work-item may.
            body = body.replace("{", f"{{\n    if (levels != 0u) {{ --levels; (void){again}; }}\n", 1)
            return f"NOINLINE {f.result}{f.name}{head}\n{body}\n", True
        case 1:  # Work-items call one of two copies.
            copies = "".join(f"NOINLINE {f.result}{f.name}_{copy}{head}\n{body}\n" for copy in "ab")
            call = (
                f"{attribute}{f.result}{f.name}{head}\n{{\n    const auto callee_ = callee++ & 1u ? &Lane::{f.name}_a : &Lane::{f.name}_b;\n"
                f"    return (this->*callee_)({f.arguments()});\n}}\n"
            )
            return copies + call, True
        case _:
            return f"{attribute}{f.result}{f.name}{head}\n{body}\n", False


def _split(text: str) -> tuple[str, list[str], list[Function], str, str]:
    """The types, globals and functions of Csmith's text, the name of the first function, and what hashes the globals."""
    text, main = text.split("int main", 1)
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("static long __undefined"))
    types, globals_, functions = [], [], []
    at = start + 1
    while at < len(lines):
        line = lines[at]
        if found := FUNCTION.match(line):
            end = lines.index("}", at)
            functions.append(Function(*found.groups(), "\n".join(lines[at + 1 : end + 1])))
            at = end
        elif line.startswith("static ") and " = " in line:
            globals_.append(line)
        elif not line.endswith(");") or line.startswith(" "):  # else a function's declaration, which members do not need
            types.append(line)
        at += 1
    entry = ENTRY.search(main)
    if not entry:
        raise NoProgram("csmith: no call of the first function")
    hashing = [line for line in main[entry.end() : main.index("platform_main_end")].splitlines() if "printf" not in line]
    names = "".join(f"    int {name};\n" for name in ("i", "j", "k"))
    return "\n".join(types), globals_, functions, entry[1], names + "\n".join(HASH.sub(r"transparent_crc\1(\2);", line) for line in hashing)


def make_program(seed: str, header: str) -> Program:
    rng = random.Random(seed)
    types, globals_, functions, entry, hashing = _split(_print(rng))
    size, groups, place = rng.choice(SIZES), rng.randint(1, 2), rng.choice(PLACES)
    attributes = rng.choice(ATTRIBUTES)
    members, unknown = [], []
    for function in functions:
        member, scratch_unknown = _member(rng, function)
        members.append(member)
        unknown.append(scratch_unknown)
    first = next(f for f in functions if f.name == entry)
    call = f"lane->{entry}()"
    if re.fullmatch(r"(?:const )?u?int\d+_t *", first.result):
        call = f"lane->transparent_crc((u64){call})"
    # How many lanes go the same way.
    shift = rng.choice((0, 0, 1, 3, 5))
    parts = [
        f"// seed {seed}\n#include \"{header}\"\n\n{types}\nstruct Lane : Hashed {{\n",
        *(f"{line.removeprefix('static ')}\n" for line in globals_),
        *members,
        f"NOINLINE void hash_globals() {{\n{hashing}\n}}\n",
        "void part(u64 x) {\nlevels = (u32)mix(x, 1u) & 3u;\ncallee = (u32)mix(x, 2u);\nbits = mix(x, 3u);\n",
        *(f"{statement}\n" for statement in _changes(rng, globals_)),
        f"}}\n}};\n\nCSMITH_LANES({size * groups});\nKERNEL(k0, {attributes}) {{\nconst u32 item = GROUP * {size}u + LID;\nPLACE_{place}({size}u)\n",
        f"lane->part(item >> {shift});\n{call};\nout[item * 8u + 1u] = lane->hashed;\nlane->hash_globals();\nout[item * 8u] = lane->hashed;\n}}\n",
        f'PROGRAM_TABLE({{"k0", k0, {size}u, {groups}u}})\nCSMITH_CHECKED(k0, {size}u, {groups}u)\n',
    ]  # fmt: skip
    return Program("".join(parts), any(unknown))
