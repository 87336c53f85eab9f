#!/usr/bin/env python3
"""The operators on sample.cpp, what a seed draws from it, and the text with faults."""

import pathlib
import sys
import tempfile
import unittest

import clang
import faults
import operators
import record

SAMPLE = pathlib.Path(__file__).resolve().parent / "sample.cpp"
OPTIONS = ["-std=c++20", "-w"]

WANTED = {
    "negate": {"x < range.lo -> !(x < range.lo)"},
    "guard": {"x < range.lo -> false"},
    "logic": {"range.lo <= x && x < range.hi -> (range.lo <= x) || (x < range.hi)"},
    "boundary": {"range.lo <= x -> range.lo < x", "x < range.hi -> x <= range.hi", "x < range.lo -> x <= range.lo", "i < a - b -> i <= a - b"},
    "constant": {"0 -> 1", "9 -> 10"},
    "mask": {"0xff00 -> 0x7f00", "value & ~shift -> value"},
    "arithmetic": {"value >> shift -> (value) << (shift)", "value & ~shift -> (value) | (~shift)", "a - b -> (a) + (b)"},
    "swap": {"value >> shift -> (shift) >> (value)", "a - b -> (b) - (a)", "record(a, b) -> record(b, a)"},
    "halves": {"range.lo -> range.hi", "range.hi -> range.lo"},
    "write": {"x -= kStep ->", "value &= 0xff00 ->", "values.back() = 9 ->"},
    "call": {"values.push_back(kTable[i]) ->", "record(a, b) ->"},
    "result": {"range.lo <= x && x < range.hi -> !(range.lo <= x && x < range.hi)"},
}


class Tool(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.sites = operators.find(SAMPLE, "sample.cpp", OPTIONS)

    def test_operators(self):
        found = {operator: set() for operator in operators.OPERATORS}
        for site in self.sites:
            found[site.operator].add(f"{operators.squeezed(site.text)} -> {operators.squeezed(site.fault)}".strip())
        self.assertEqual(found, WANTED)

    def test_keys(self):
        self.assertEqual(len({site.key for site in self.sites}), len(self.sites))
        self.assertIn("sample.cpp | clamp | halves | range.lo -> range.hi | 1", {site.key for site in self.sites})

    def test_a_seed_draws_the_same(self):
        first = faults.draw(self.sites, "sample", 7, 8, set())
        self.assertEqual(first, faults.draw(self.sites[::-1], "sample", 7, 8, set()))
        self.assertNotEqual(first, faults.draw(self.sites, "sample", 8, 8, set()))
        self.assertNotIn(first[0], faults.draw(self.sites, "sample", 7, 8, {first[0].key}))
        self.assertFalse(any(faults.overlap(one, other) for one in first for other in first if one is not other))
        self.assertEqual(len({site.operator for site in faults.draw(self.sites, "sample", 7, 6, set())}), 6)

    def test_all_are_cpp(self):
        left = self.sites
        while left:
            together = {}
            for number, site in enumerate(left):
                if not any(faults.overlap(site, other) for other in together.values()):
                    together[number] = site
            self.assertEqual(self.parsed(self.rewritten(together)), [])
            left = [site for site in left if site not in together.values()]

    def test_places_of_errors(self):
        drawn = dict(enumerate(faults.draw(self.sites, "sample", 7, 8, set()), 1))
        rewritten = self.rewritten(drawn)
        for number, site in drawn.items():
            self.assertIn(number, rewritten.of_line(site.line))
        self.assertEqual(rewritten.of_line(1), [])

    def test_other_half(self):
        self.assertEqual(operators.other_half("lane_lo"), "lane_hi")
        self.assertEqual(operators.other_half("kHighHalf"), "kLowHalf")
        self.assertEqual(operators.other_half("first"), "second")
        self.assertIsNone(operators.other_half("allow"))

    def test_reasons(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("# heading\na.cpp | f | call | g() -> | 0\n    Equivalent: twice\n    the same.\n")
            file.flush()
            self.assertEqual(record.reasons(pathlib.Path(file.name)), {"a.cpp | f | call | g() -> | 0": "Equivalent: twice the same."})

    def test_survivors_have_reasons(self):
        for key, reason in record.reasons().items():
            self.assertRegex(key, r"^\S+\.cpp \| [^|]* \| (" + "|".join(operators.OPERATORS) + r") \| .* -> .*\| \d+$")
            self.assertTrue(reason, key)

    def rewritten(self, sites):
        return faults.Rewritten(SAMPLE, SAMPLE.read_bytes(), sites)

    def parsed(self, rewritten):
        with tempfile.NamedTemporaryFile(suffix=".cpp") as file:
            file.write(rewritten.text)
            file.flush()
            return clang.parse(file.name, OPTIONS).errors

    def errors(self, sites):
        return self.parsed(self.rewritten(sites))


if __name__ == "__main__":
    if not clang.available():
        print(f"there is no {clang.LIBRARY}")
        sys.exit(77)
    unittest.main()
