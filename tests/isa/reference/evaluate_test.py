#!/usr/bin/env python3
"""Tests of the evaluator: numbers, assembly, what it finds, and what --write makes of a file."""
import contextlib
import io
import tempfile
import unittest
from fractions import Fraction
from pathlib import Path

import assembly
import cases
import evaluate
import real
from machine import GLOBAL, Machine, NotCovered

FILES = ["vop2/v_add_f32", "vop3/v_mad_u64_u32", "vop1/v_cvt_f16_f32", "vopc/v_cmpx_lt_i64", "sop2/s_add_u32", "sop1/s_and_saveexec_b64",
         "sopk/s_cmovk_i32", "ds/ds_add_rtn_u64", "ds/ds_write2_b32", "flat/global_load_dwordx3", "flat/flat_atomic_add",
         "smem/s_buffer_load_dwordx4", "mubuf/buffer_store_dwordx2", "mtbuf/tbuffer_load_format_xy", "vop3p/v_pk_add_f16",
         "vop3p/v_pk_mul_f32", "mimg/image_load", "mimg/image_atomic_add"]


def quietly(function, *arguments):
    with contextlib.redirect_stdout(io.StringIO()):
        return function(*arguments)


def different(text):
    return [c.name for c in cases.parse("a test", text) if evaluate.problems(c)]


class Numbers(unittest.TestCase):
    def test_every_rounding(self):
        third, minus_third = (False, Fraction(1, 3)), (True, Fraction(1, 3))
        self.assertEqual([real.F32.encode(third, r) for r in range(4)], [0x3EAAAAAB, 0x3EAAAAAB, 0x3EAAAAAA, 0x3EAAAAAA])
        self.assertEqual([real.F32.encode(minus_third, r) for r in range(4)], [0xBEAAAAAB, 0xBEAAAAAA, 0xBEAAAAAB, 0xBEAAAAAA])

    def test_overflow(self):
        large = (False, Fraction(2) ** 200)
        self.assertEqual([real.F32.encode(large, r) for r in range(4)], [0x7F800000, 0x7F800000, 0x7F7FFFFF, 0x7F7FFFFF])
        self.assertEqual(real.F16.encode(large, saturate=True), 0x7BFF)

    def test_tininess_after_rounding(self):
        nearly = (False, Fraction(2) ** -126 * (1 - Fraction(1, 2**26)))  # rounds to the least normal number
        self.assertEqual(real.F32.encode(nearly, flush=True), 0x00800000)
        below = (True, Fraction(2) ** -126 * (1 - Fraction(1, 2**23)))
        self.assertEqual(real.F32.encode(below, flush=True), 0x80000000)
        self.assertEqual(real.F32.encode(below), 0x807FFFFF)

    def test_values_come_back(self):
        for form, step in ((real.F16, 1), (real.F32, 0x10001), (real.F64, 0x1000100010001)):
            for bits in range(0, form.infinity, step):
                self.assertEqual(form.encode(form.value(bits)), bits)

    def test_roots(self):
        self.assertEqual(real.F64.encode(real.square_root((False, Fraction(2)))), 0x3FF6A09E667F3BCD)
        self.assertEqual(real.square_root((False, Fraction(9, 4))), (False, Fraction(3, 2)))

    def test_signs_of_sums(self):
        zero, minus = (False, Fraction(0)), (True, Fraction(0))
        self.assertEqual(real.add(zero, minus), zero)
        self.assertEqual(real.add(zero, minus, real.DOWN), minus)
        self.assertEqual(real.add(minus, minus), minus)


class Assembly(unittest.TestCase):
    def test_operands_and_modifiers(self):
        parsed = assembly.parse_line("v_fma_f16 v5, -|v1|, s[4:5], 0.5 op_sel:[0,1,0,1] clamp")
        self.assertEqual(parsed.name, "v_fma_f16")
        self.assertEqual([(o.kind, o.index) for o in parsed.operands[:3]], [("v", 5), ("v", 1), ("s", 4)])
        self.assertTrue(parsed.operands[1].neg and parsed.operands[1].abs)
        self.assertEqual(parsed.operands[3].constant("f16"), 0x3800)
        self.assertEqual(assembly.bits(parsed, "op_sel", []), [0, 1, 0, 1])
        self.assertIn("clamp", parsed.modifiers)

    def test_constants(self):
        self.assertEqual(assembly.operand("-1").constant("b64"), (1 << 64) - 1)
        self.assertEqual(assembly.operand("0x80000000").constant("b64"), 0x80000000)
        self.assertEqual(assembly.operand("0x80000000").constant("i64", True), 0xFFFFFFFF80000000)
        self.assertEqual(assembly.operand("0x40000000").constant("f64"), 0x4000000000000000)

    def test_labels(self):
        program = assembly.parse(["s_branch 1f", "1:", "s_nop 0", "1:", "s_branch 1b"])
        self.assertEqual([program[0].target, program[2].target], [1, 2])

    def test_values(self):
        self.assertEqual(cases.parse_value("mem+16"), GLOBAL + 16)
        self.assertEqual(cases.lane_value([cases.parse_value("16+4*lane")], 3), 28)
        self.assertEqual(cases.parse_value("-0.0"), 0x80000000)
        self.assertEqual(cases.parse_value("1.5d"), 0x3FF8000000000000)


class Evaluation(unittest.TestCase):
    def test_each_wrong_expectation_is_found(self):
        given = "case a\ntargets gfx906\nv0 = lane\ns0 = 3\nmem[4] = 9\n---\n"
        good = given + "v_add_u32_e32 v1, s0, v0\ns_add_u32 s1, s0, s0\n---\nv1 = 3+lane\ns1 = 6\nscc = 0\n"
        self.assertEqual(different(good), [])
        for old, new in (("v1 = 3+lane", "v1 = 4+lane"), ("s1 = 6", "s1 = 7"), ("scc = 0", "scc = 1"), ("s1 = 6\n", ""),
                         ("v1 = 3+lane\n", ""), ("scc = 0", "scc = 0\nmem[4] = 8"), ("scc = 0", "scc = 0\nlds[4] = 8"),
                         ("scc = 0", "mode = 0")):
            self.assertEqual(different(good.replace(old, new)), ["a"], new)

    def test_what_is_unknown_is_not_covered(self):
        with self.assertRaises(NotCovered):
            different("case a\n---\nv_no_such_thing v0, v1\n---\n")

    def test_every_target_is_evaluated_where_they_differ(self):
        text = "case a\ntargets gfx803 gfx900\nv0 = 1.0h\nv1 = 0x77770000\n---\nv_mad_f16 v1, v0, v0, v0\n---\nv1 = 0x4000\n"
        self.assertEqual(different(text), ["a"])
        self.assertEqual(different(text.replace(" gfx900", "")), [])

    def test_nothing_is_left_of_the_state_before(self):
        machine = Machine("gfx906")
        other = machine.copy()
        other.row(3)[5] = 1
        other.memory[8] = 1
        self.assertEqual(machine.differences(other), [("v", 3), ("mem", 8)])


class Writing(unittest.TestCase):
    def rewritten(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.isa"
            path.write_text(text)
            quietly(evaluate.write, path)
            return path.read_text()

    def test_right_files_stay_as_they_are(self):
        for name in FILES:
            text = (evaluate.ROOT / f"{name}.isa").read_text()
            self.assertEqual(self.rewritten(text), text, name)

    def test_sections_made_of_nothing_hold(self):
        for name in FILES:
            text = (evaluate.ROOT / f"{name}.isa").read_text()
            lines = text.split("\n")
            for case in cases.parse(name, text):
                for assignment in case.expected:
                    lines[assignment.line] = None
            bare = "\n".join(line for line in lines if line is not None)
            self.assertNotEqual(different(bare), [], name)
            self.assertEqual(different(self.rewritten(bare)), [], name)

    def test_wrong_lines_alone_are_replaced(self):
        text = "case a\ntargets gfx906\nv0 = lane\n---\nv_mov_b32 v1, v0\nv_mov_b32 v2, 5\n---\nv1 = lane\nv2 = 0x6\n"
        self.assertEqual(self.rewritten(text), text.replace("0x6", "5"))

    def test_what_is_open_is_said_to_be(self):
        text = "case a\ntargets gfx906\nv0 = inf\nv1 = -inf\n---\nv_add_f32 v2, v0, v1\n---\n"
        self.assertTrue(self.rewritten(text).rstrip().endswith("v2 = nan"))


if __name__ == "__main__":
    unittest.main()
