"""Writes cases for wavejit_isa_test whose expectations come from LLVM's constant folder (`opt`, APFloat and APInt).

generate.py OUT --opt OPT [--seed S] [--count N]: N cases of 64 lanes for each instruction to OUT/folded.isa. A lane whose
call LLVM does not fold may hold anything; an instruction of which LLVM folds nothing is an error.
"""
import argparse
import pathlib
import random
import re
import struct
import subprocess

LANES = 64
GFX9 = ["gfx900", "gfx906", "gfx908", "gfx90a"]
ALL = ["gfx803"] + GFX9
MODE = 0x3F0  # to nearest, all denormals kept; IEEE, DX10_CLAMP
BITS = {"half": 16, "float": 32, "double": 64, "i16": 16, "i32": 32, "i64": 64}
FRACTION = {"half": 10, "float": 23, "double": 52}


def literal(kind, bits):
    """A constant of LLVM's assembly."""
    if kind.startswith("i"):
        return str(bits)
    if kind == "half":
        return f"0xH{bits:04X}"
    if kind == "double":
        return f"0x{bits:016X}"
    return f"bitcast (i32 {bits} to float)"


def parse(kind, text):
    """The bits of a folded constant, or None; "nan" for any NaN."""
    text = text.strip()
    if text in ("true", "false"):
        return int(text == "true")
    if text == "zeroinitializer":
        return 0
    if kind == "<2 x half>":
        halves = re.fullmatch(r"<half ([^,]+), half ([^>]+)>", text) or re.fullmatch(r"splat \(half ([^)]+)\)()", text)
        if not halves:
            return None
        low = parse("half", halves[1])
        high = parse("half", halves[2]) if halves[2] else low
        return None if "nan" in (low, high) or None in (low, high) else low | high << 16
    if kind.startswith("i"):
        return int(text) & ((1 << BITS[kind]) - 1) if re.fullmatch(r"-?\d+", text) else None
    if text.startswith("0xH"):
        bits = int(text[3:], 16)
    elif text.startswith("0x"):
        bits = int(text, 16)
        if kind == "float":
            bits = single(bits)
    elif re.fullmatch(r"-?\d+\.\d+e[+-]\d+", text):
        value = float(text)  # what LLVM prints in decimal is exact
        if kind == "half":
            bits = struct.unpack("<H", struct.pack("<e", value))[0]
        else:
            bits = struct.unpack("<I", struct.pack("<f", value))[0] if kind == "float" else struct.unpack("<Q", struct.pack("<d", value))[0]
    else:
        return None
    width, fraction = BITS[kind], FRACTION[kind]
    magnitude = bits & ((1 << (width - 1)) - 1)
    return "nan" if magnitude > ((1 << (width - 1 - fraction)) - 1) << fraction else bits


def single(bits):
    """The bits of a float that LLVM prints as a double."""
    if bits & 0x7FF0000000000000 == 0x7FF0000000000000:
        return bits >> 32 & 0x80000000 | 0x7F800000 | bits >> 29 & 0x7FFFFF
    return struct.unpack("<I", struct.pack("<f", struct.unpack("<d", struct.pack("<Q", bits))[0]))[0]


def random_bits(rng, kind):
    width = BITS[kind]
    if kind.startswith("i"):
        return rng.choice([rng.getrandbits(width), rng.getrandbits(width), rng.getrandbits(5), (1 << width) - 1 - rng.getrandbits(4),
                           1 << rng.randrange(width), (1 << rng.randrange(width)) - 1])
    fraction = FRACTION[kind]
    exponents = (1 << (width - 1 - fraction)) - 1
    bias = exponents // 2
    sign = rng.getrandbits(1) << (width - 1)
    top = exponents << fraction
    special = [0, 1, (1 << fraction) - 1, 1 << fraction, top - 1, top, top | 1 << (fraction - 1), bias << fraction, (bias << fraction) - 1,
               (bias - 1) << fraction]
    near = max(bias - fraction - 2, 1), min(bias + 40, exponents - 1)
    return sign | rng.choice([rng.choice(special), rng.getrandbits(width - 1), rng.randrange(*near) << fraction | rng.getrandbits(fraction),
                              rng.randrange(*near) << fraction | rng.getrandbits(3) << (fraction - 3), (bias + 1) << fraction | rng.getrandbits(fraction)])


def is_normal(kind, bits):
    field = bits >> FRACTION[kind] & ((1 << (BITS[kind] - 1 - FRACTION[kind])) - 1)
    return 0 < field < (1 << (BITS[kind] - 1 - FRACTION[kind])) - 1


def no_signalling(kinds, values):
    """What LLVM and IEEE mode do with signalling NaNs differs."""
    for kind, bits in zip(kinds, values):
        if kind in FRACTION:
            fraction, width = FRACTION[kind], BITS[kind]
            top = ((1 << (width - 1 - fraction)) - 1) << fraction
            magnitude = bits & ((1 << (width - 1)) - 1)
            if magnitude > top and not magnitude >> (fraction - 1) & 1:
                return False
    return True


class Rule:
    """An instruction and the call that means the same. `accept(arguments, result)` leaves out what is known to differ."""

    def __init__(self, name, call, result, arguments, targets=None, accept=None, assembly=None, draw=None):
        self.name, self.call, self.result, self.arguments = name, call, result, arguments
        self.targets, self.assembly, self.draw = targets or ALL, assembly, draw
        self.accept = accept or (lambda arguments, result: True)


def intrinsic(name, result, arguments, extra=""):
    """IR of a call; {0}, {1}, ... are its arguments."""
    parameters = ", ".join(f"{kind} {{{i}}}" for i, kind in enumerate(arguments))
    return f"%r = call {result} @llvm.{name}({parameters}{extra})"


def rules():
    floats = {"f16": "half", "f32": "float", "f64": "double"}
    for suffix, kind in floats.items():
        targets = ALL
        yield Rule(f"v_fract_{suffix}", intrinsic(f"amdgcn.fract.{suffix}", kind, [kind]), kind, [kind], targets)
        yield Rule(f"v_frexp_mant_{suffix}", intrinsic(f"amdgcn.frexp.mant.{suffix}", kind, [kind]), kind, [kind], targets)
        exponent = "i16" if suffix == "f16" else "i32"
        name = f"v_frexp_exp_{exponent}_{suffix}"
        yield Rule(name, intrinsic(f"amdgcn.frexp.exp.{exponent}.{suffix}", exponent, [kind]), exponent, [kind], targets)
        for operation, function in (("floor", "floor"), ("ceil", "ceil"), ("trunc", "trunc"), ("rndne", "roundeven")):
            yield Rule(f"v_{operation}_{suffix}", intrinsic(f"{function}.{suffix}", kind, [kind]), kind, [kind], targets)
        yield Rule(f"v_fma_{suffix}", intrinsic(f"fma.{suffix}", kind, [kind] * 3), kind, [kind] * 3,
                   GFX9 if suffix == "f16" else targets)
        # -0 < +0 as LLVM's minimum has it; NaNs as its minnum.
        for operation, function in (("min", "minnum"), ("max", "maxnum")):
            yield Rule(f"v_{operation}_{suffix}", intrinsic(f"{function}.{suffix}", kind, [kind] * 2), kind, [kind] * 2, targets,
                       lambda a, r, kind=kind: no_signalling([kind] * 2, a) and any(x << 1 & ((1 << BITS[kind]) - 1) for x in a))
        for operation, function in (("add", "fadd"), ("mul", "fmul")):
            yield Rule(f"v_{operation}_{suffix}", f"%r = {function} {kind} {{0}}, {{1}}", kind, [kind] * 2, targets)
        yield Rule(f"v_ldexp_{suffix}", intrinsic(f"ldexp.{suffix}.{'i16' if suffix == 'f16' else 'i32'}", kind,
                                                  [kind, "i16" if suffix == "f16" else "i32"]), kind,
                   [kind, "i16" if suffix == "f16" else "i32"], targets,
                   draw=lambda rng, kind=kind: [random_bits(rng, kind), rng.randrange(-2200, 2200) & (0xFFFF if kind == "half" else 0xFFFFFFFF)])
        yield Rule(f"v_cmp_class_{suffix}", intrinsic(f"amdgcn.class.{suffix}", "i1", [kind, "i32"]), "i1", [kind, "i32"], targets,
                   draw=lambda rng, kind=kind: [random_bits(rng, kind), rng.getrandbits(10)])
        for order, mnemonic in (("oeq", "eq"), ("olt", "lt"), ("ogt", "gt"), ("ole", "le"), ("oge", "ge"), ("one", "lg"), ("ord", "o"), ("uno", "u"),
                                ("une", "neq"), ("ult", "nge"), ("ueq", "nlg"), ("ugt", "nle"), ("uge", "nlt"), ("ule", "ngt")):
            yield Rule(f"v_cmp_{mnemonic}_{suffix}", f"%r = fcmp {order} {kind} {{0}}, {{1}}", "i1", [kind] * 2, targets,
                       draw=lambda rng, kind=kind: (lambda x: rng.choice([[x, x], [x, random_bits(rng, kind)]]))(random_bits(rng, kind)))
    # To nearest, where neither the argument nor the result is a denormal, which v_rcp_f32 flushes.
    yield Rule("v_rcp_f32", intrinsic("amdgcn.rcp.f32", "float", ["float"]), "float", ["float"],
               accept=lambda a, r: is_normal("float", a[0]) and is_normal("float", r))
    # With a NaN as the third operand LLVM up to 20 takes the maximum of the others; manuals say the minimum, and later LLVM
    # does so, too (its pull request 139531).
    yield Rule("v_med3_f32", intrinsic("amdgcn.fmed3.f32", "float", ["float"] * 3), "float", ["float"] * 3,
               accept=lambda a, r: no_signalling(["float"] * 3, a) and sum(x & 0x7FFFFFFF == 0 for x in a) < 2 and a[2] & 0x7FFFFFFF <= 0x7F800000)
    yield Rule("v_mul_legacy_f32", intrinsic("amdgcn.fmul.legacy", "float", ["float"] * 2), "float", ["float"] * 2)
    for part in ("id", "ma", "sc", "tc"):
        yield Rule(f"v_cube{part}_f32", intrinsic(f"amdgcn.cube{part}", "float", ["float"] * 3), "float", ["float"] * 3,
                   accept=lambda a, r: all(x & 0x7FFFFFFF <= 0x7F800000 for x in a))
    yield Rule("v_cvt_pkrtz_f16_f32", intrinsic("amdgcn.cvt.pkrtz", "<2 x half>", ["float"] * 2), "<2 x half>", ["float"] * 2)
    # From bit 1120 of 2 / pi on LLVM gives 0 (its table ends), the manuals give what there is of 1201 bits.
    yield Rule("v_trig_preop_f64", intrinsic("amdgcn.trig.preop.f64", "double", ["double", "i32"]), "double", ["double", "i32"],
               accept=lambda a, r: max((a[0] >> 52 & 0x7FF) - 1077, 0) + 53 * a[1] < 1120,
               draw=lambda rng: [random_bits(rng, "double"), rng.getrandbits(5)])
    for a, b, operation in (("float", "half", "v_cvt_f16_f32"), ("double", "float", "v_cvt_f32_f64")):
        yield Rule(operation, f"%r = fptrunc {a} {{0}} to {b}", b, [a])
    for a, b, operation in (("half", "float", "v_cvt_f32_f16"), ("float", "double", "v_cvt_f64_f32")):
        yield Rule(operation, f"%r = fpext {a} {{0}} to {b}", b, [a])
    for kind, suffix in (("float", "f32"), ("double", "f64")):
        for sign, integer in (("ui", "u32"), ("si", "i32")):
            yield Rule(f"v_cvt_{integer}_{suffix}", intrinsic(f"fpto{sign}.sat.i32.{suffix}", "i32", [kind]), "i32", [kind])
            yield Rule(f"v_cvt_{suffix}_{integer}", f"%r = {sign}tofp i32 {{0}} to {kind}", kind, ["i32"])
    for sign, integer in (("ui", "u16"), ("si", "i16")):
        yield Rule(f"v_cvt_{integer}_f16", intrinsic(f"fpto{sign}.sat.i16.f16", "i16", ["half"]), "i16", ["half"])
        yield Rule(f"v_cvt_f16_{integer}", f"%r = {sign}tofp i16 {{0}} to half", "half", ["i16"])
    for sign, name in (("u", "v_bfe_u32"), ("s", "v_bfe_i32")):
        yield Rule(name, intrinsic(f"amdgcn.{sign}bfe.i32", "i32", ["i32"] * 3), "i32", ["i32"] * 3,
                   draw=lambda rng: [random_bits(rng, "i32"), rng.choice([rng.getrandbits(5), rng.getrandbits(7)]), rng.getrandbits(5)])
    yield Rule("v_perm_b32", intrinsic("amdgcn.perm", "i32", ["i32"] * 3), "i32", ["i32"] * 3,
               draw=lambda rng: [rng.getrandbits(32), rng.getrandbits(32), sum(rng.choice([rng.randrange(14), rng.getrandbits(8)]) << 8 * i for i in range(4))])
    yield Rule("v_alignbit_b32", intrinsic("fshr.i32", "i32", ["i32"] * 3), "i32", ["i32"] * 3)
    yield Rule("v_bfrev_b32", intrinsic("bitreverse.i32", "i32", ["i32"]), "i32", ["i32"])
    # 32 where no bit is set, as LLVM's count; the instruction gives -1.
    yield Rule("v_ffbh_u32", intrinsic("ctlz.i32", "i32", ["i32"], ", i1 true"), "i32", ["i32"], accept=lambda a, r: a[0] != 0)
    yield Rule("v_ffbl_b32", intrinsic("cttz.i32", "i32", ["i32"], ", i1 true"), "i32", ["i32"], accept=lambda a, r: a[0] != 0)
    for name, function in (("v_add_u32", "uadd"), ("v_sub_u32", "usub"), ("v_add_i32", "sadd"), ("v_sub_i32", "ssub")):
        yield Rule(name, intrinsic(f"{function}.sat.i32", "i32", ["i32"] * 2), "i32", ["i32"] * 2, GFX9, assembly="clamp")
    for name, function in (("v_add_u16", "uadd"), ("v_sub_u16", "usub"), ("v_add_i16", "sadd"), ("v_sub_i16", "ssub")):
        yield Rule(name, intrinsic(f"{function}.sat.i16", "i16", ["i16"] * 2), "i16", ["i16"] * 2, GFX9, assembly="clamp")
    for name, function in (("v_min_i32", "smin"), ("v_max_i32", "smax"), ("v_min_u32", "umin"), ("v_max_u32", "umax")):
        yield Rule(name, intrinsic(f"{function}.i32", "i32", ["i32"] * 2), "i32", ["i32"] * 2)


# Results of 16 bits that leave the other half of the register alone.
KEEP_HIGH = {"v_fma_f16", "v_add_i16", "v_sub_i16"}


def fold(opt, functions):
    """Runs `opt` over functions ((declaration, return type, body)); the text of what each returns."""
    lines, declarations = ['target triple = "amdgcn-amd-amdhsa"'], set()
    for number, (result, body) in enumerate(functions):
        lines.append(f"define {result} @f{number}() {{\n  {body}\n  ret {result} %r\n}}")
        if "@llvm." in body:
            call = re.search(r"call (.*) (@llvm\.[\w.]+)\((.*)\)", body)
            # Types of the parameters: constants may have types in parentheses of their own.
            kinds = re.findall(r"(?:^|, )(half|float|double|i1|i16|i32|i64) ", re.sub(r"\([^()]*\)", "", call[3]))
            declarations.add(f"declare {call[1]} {call[2]}({', '.join(kinds)})")
    module = "\n".join(lines + sorted(declarations)) + "\n"
    done = subprocess.run([opt, "-S", "-passes=instcombine"], input=module, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr[:2000])
    returned = {}
    for match in re.finditer(r"define [^@]*@f(\d+)\(\)[^{]*\{\n(.*?)\n\}", done.stdout, re.S):
        body = match[2]
        text = re.search(r"^  ret (?:<2 x half>|\w+) (.*)$", body, re.M)
        returned[int(match[1])] = text[1] if text and "%" not in text[1] else ""
    return [returned.get(i, "") for i in range(len(functions))]


def registers(first, dwords):
    return f"v{first}" if dwords == 1 else f"v[{first}:{first + dwords - 1}]"


def dwords_of(kind):
    return 2 if BITS.get(kind, 32) == 64 else 1


def case(rule, number, arguments, results):
    lines = [f"case {rule.name} {number}", "targets " + " ".join(rule.targets), f"mode {MODE:#x}"]
    operands = []
    for i, kind in enumerate(rule.arguments):
        operands.append(registers(4 * i, dwords_of(kind)))
        for d in range(dwords_of(kind)):
            lines.append(f"v{4 * i + d} = " + " ".join(f"{a[i] >> 32 * d & 0xFFFFFFFF:#x}" for a in arguments))
    is_mask = rule.result == "i1"
    destination = "vcc" if is_mask else registers(12, dwords_of(rule.result))
    if not is_mask:
        for d in range(dwords_of(rule.result)):
            lines.append(f"v{12 + d} = 0x5a5a1234")
    if is_mask:  # lanes that LLVM has not folded are off
        mask = sum(1 << lane for lane, r in enumerate(results) if r is not None)
        lines.insert(3, f"exec {mask:#x}")
    lines += ["---", f"{rule.name} {destination}, {', '.join(operands)}" + (f" {rule.assembly}" if rule.assembly else ""), "---"]
    if is_mask:
        lines.append(f"vcc = {sum((r or 0) << lane for lane, r in enumerate(results)):#x}")
        return "\n".join(lines) + "\n\n"
    high = 0x5A5A0000 if rule.name in KEEP_HIGH else 0
    for d in range(dwords_of(rule.result)):
        row = []
        for r in results:
            if r is None or (r == "nan" and rule.result in ("half", "double")):
                row.append("*")
            elif r == "nan":
                row.append("nan")
            else:
                row.append(f"{(r >> 32 * d & 0xFFFFFFFF) | (high if BITS.get(rule.result) == 16 else 0):#x}")
        lines.append(f"v{12 + d} = " + " ".join(row))
    return "\n".join(lines) + "\n\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--opt", default="opt-19")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--targets", default="", help="only these processors, separated by commas")
    arguments = parser.parse_args()
    print(f"generate.py: seed {arguments.seed}")
    rng = random.Random(arguments.seed)
    drawn, functions = [], []
    for rule in rules():
        for number in range(arguments.count):
            lanes = [rule.draw(rng) if rule.draw else [random_bits(rng, k) for k in rule.arguments] for _ in range(LANES)]
            drawn.append((rule, number, lanes))
            for lane in lanes:
                functions.append((rule.result, rule.call.format(*[literal(k, b) for k, b in zip(rule.arguments, lane)])))
    texts = fold(arguments.opt, functions)
    cases, folded, never = [], 0, set()
    for i, (rule, number, lanes) in enumerate(drawn):
        results = []
        for lane, text in zip(lanes, texts[i * LANES : (i + 1) * LANES]):
            value = parse(rule.result, text) if text else None
            results.append(value if value is not None and (value == "nan" or rule.accept(lane, value)) and accepted_nan(rule, lane, value) else None)
        count = sum(r is not None for r in results)
        folded += count
        if count == 0:
            never.add(rule.name)
        if arguments.targets:
            rule.targets = [t for t in rule.targets if t in arguments.targets.split(",")]
        cases.append(case(rule, number, lanes, results))
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "folded.isa").write_text(f"# {arguments.opt}, seed {arguments.seed}: tests/folding/generate.py\n\n" + "".join(cases))
    print(f"{len(drawn)} cases, {folded} of {len(functions)} constants folded")
    if never:
        raise SystemExit(f"nothing folded of {', '.join(sorted(never))}")


def accepted_nan(rule, lane, value):
    return value != "nan" or rule.accept(lane, 0)


if __name__ == "__main__":
    main()
