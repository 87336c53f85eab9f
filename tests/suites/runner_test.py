"""Tests scripts/suites: batches, samples, records, and the document."""

import contextlib
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Iterator
from unittest import mock

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(REPOSITORY / "scripts/suites"))

import bounds  # noqa: E402
import ci  # noqa: E402
import document  # noqa: E402
import gtest  # noqa: E402
import records  # noqa: E402
import root  # noqa: E402
import steps  # noqa: E402
import table  # noqa: E402

FAKE = str(pathlib.Path(__file__).resolve().parent / "fake_gtest.py")


class TestData(unittest.TestCase):
    def test_keeps_some_quick_tests_of_each_function(self) -> None:
        def record(function: str, category: str, number: int) -> bytes:
            return function.encode().ljust(128, b"\0") + category.encode().ljust(64, b"\0") + number.to_bytes(8, "little")

        head = b"rocBLAS\0" + bytes(200) + b"ROCblas\0"
        quick = [record(function, "quick", i) for function in ("dot", "gemm") for i in range(5)]
        with tempfile.TemporaryDirectory() as folder:
            source, target = pathlib.Path(folder, "all"), pathlib.Path(folder, "some")
            source.write_bytes(head + b"".join(quick) + record("dot", "nightly", 9) + record("trsm", "quick", 0))
            script = REPOSITORY / "scripts/suites/programs/test_data.py"
            command = [sys.executable, str(script), str(source), str(target), "2"]
            self.assertEqual(subprocess.run(command, capture_output=True, text=True, check=True).stdout, "11\n")
            data = target.read_bytes()
        self.assertEqual(data[: len(head)], head)
        kept = [data[i : i + 200] for i in range(len(head), len(data), 200)]
        self.assertEqual([r[:4].rstrip(b"\0") for r in kept], [b"dot", b"dot", b"gemm", b"gemm", b"trsm"])
        self.assertTrue(set(kept[:4]) <= set(quick))

    def test_keeps_tests_of_bad_arguments_of_rocsparse(self) -> None:
        def record(function: bytes, category: bytes) -> bytes:
            return bytes(565) + function.ljust(128, b"\0") + category.ljust(107, b"\0")

        head = b"rocSPARSE\0" + bytes(800) + b"ROCsparse\0"
        tests = [record(b"axpyi", b"quick"), record(b"axpyi", b"pre_checkin"), record(b"axpyi_bad_arg", b"pre_checkin")]
        with tempfile.TemporaryDirectory() as folder:
            source, target = pathlib.Path(folder, "all"), pathlib.Path(folder, "some")
            source.write_bytes(head + b"".join(tests))
            script = REPOSITORY / "scripts/suites/programs/test_data.py"
            command = [sys.executable, str(script), str(source), str(target), "2"]
            self.assertEqual(subprocess.run(command, capture_output=True, text=True, check=True).stdout, "2\n")
            self.assertEqual(target.read_bytes(), head + tests[0] + tests[2])


class Programs(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name)
        self.program = gtest.Program(lambda arguments: [sys.executable, FAKE, *arguments], path, folder.name, 600, 0.15)
        # A test that hangs makes the time pass: 1000 s with each byte that it writes.
        clock, real = path / "clock", time.monotonic
        clock.touch()
        for patch in (
            mock.patch.dict(os.environ, FAKE_CLOCK=str(clock)),
            mock.patch.object(time, "monotonic", lambda: real() + 1000 * clock.stat().st_size),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        self.results: dict[str, gtest.Result] = {}

    def run_tests(self, names: list[str], deadline: float = float("inf")) -> gtest.Batch:
        return self.program.run(names, self.results.update, deadline)

    def statuses(self) -> dict[str, str]:
        return {name: result.status for name, result in self.results.items()}

    def test_lists_tests_but_disabled_ones(self) -> None:
        names = self.program.list_tests()
        self.assertEqual(len(names), 46)
        self.assertIn("Kinds.crash", names)
        self.assertIn("Many/Values/0.pass39", names)

    def test_one_bad_test_costs_one_test(self) -> None:
        names = self.program.list_tests()
        batch = self.run_tests(names)
        expected = dict.fromkeys(names, "passed")
        expected |= {"Kinds.fail": "failed", "Kinds.skip": "skipped", "Kinds.crash": "crashed"}
        expected |= {"Kinds.hang": "timeout", "Kinds.hog": "memory", "Kinds.leave": "crashed"}
        self.assertEqual(self.statuses(), expected)
        self.assertEqual(batch.processes, 8)  # one for all, one behind each of four, and three tests once more alone
        self.assertIn("Expected: 1", self.results["Kinds.fail"].message)
        self.assertIn("SIGABRT", self.results["Kinds.crash"].message)
        self.assertIn("about to crash", self.results["Kinds.crash"].message)
        self.assertGreater(batch.peak, 0.15 * 2**30)

    def test_a_crash_after_the_last_test_is_no_failure_of_a_test(self) -> None:
        with mock.patch.dict(os.environ, FAKE_BAD_END="1"):
            batch = self.run_tests(["Kinds.pass0", "Kinds.pass1"])
        self.assertEqual(set(self.statuses().values()), {"passed"})
        self.assertEqual(len(batch.bad_ends), 1)

    def test_a_failure_costs_no_test_behind_it(self) -> None:
        with mock.patch.dict(os.environ, FAKE_TAINTS="1"):
            self.run_tests(["Kinds.pass0", "Kinds.fail", "Kinds.pass1", "Kinds.pass2"])
        self.assertEqual([self.statuses()[f"Kinds.{n}"] for n in ("fail", "pass1", "pass2")], ["failed", "passed", "passed"])

    def test_tests_that_the_program_leaves_out_are_skipped(self) -> None:
        with mock.patch.dict(os.environ, FAKE_LEAVES_OUT="Kinds.pass0"):
            self.run_tests(["Kinds.pass0", "Kinds.pass1"])
        self.assertEqual(self.statuses(), {"Kinds.pass0": "skipped", "Kinds.pass1": "passed"})

    def test_the_end_of_a_step_blames_no_test(self) -> None:
        self.run_tests(["Kinds.pass0", "Kinds.hang", "Kinds.pass3"], time.monotonic() + 500)
        self.assertEqual(self.statuses(), {"Kinds.pass0": "passed"})

    def test_a_slow_test_is_put_off(self) -> None:
        batch = self.program.run(["Kinds.pass0", "Kinds.hang", "Kinds.pass3"], self.results.update, float("inf"), 8)
        self.assertEqual(self.statuses(), {"Kinds.pass0": "passed", "Kinds.pass3": "passed"})
        self.assertEqual(batch.slow, ["Kinds.hang"])

    def test_the_last_test_left_is_not_put_off(self) -> None:
        self.assertEqual(steps.longest_in_round(8, {"one": ["a"], "other": ["b"]}), 8)
        self.assertEqual(steps.longest_in_round(8, {"one": ["a"], "other": []}), float("inf"))

    def test_a_program_that_does_not_start_fails_its_tests(self) -> None:
        self.program.command = lambda arguments: ["sh", "-c", "echo no such device; exit 3"]
        self.run_tests(["Kinds.pass0", "Kinds.pass1"])
        self.assertEqual(set(self.statuses().values()), {"crashed"})
        self.assertIn("no such device", self.results["Kinds.pass1"].message)
        with self.assertRaisesRegex(RuntimeError, "no such device"):
            self.program.list_tests()


class GgmlOps(unittest.TestCase):
    CASES = ["ADD(type=f32,ne=[1,2])", "ADD(type=f16,ne=[1,2])", "MUL_MAT(m=1)", "ADD(type=f32,ne=[3,4])"]

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        script = REPOSITORY / "scripts/suites/programs/ggml_ops.py"
        wrapped = [sys.executable, str(script), str(self.folder / "program")]
        self.program = gtest.Program(lambda arguments: [*wrapped, *arguments], self.folder, folder.name, 60, 1)

    def write(self, *lines: str) -> None:
        (self.folder / "program").write_text("\n".join(["#!/bin/sh", *lines, ""]))
        (self.folder / "program").chmod(0o755)

    def run_tests(self, *lines: str) -> dict[str, str]:
        self.write("echo '  Device memory: 1 MB'", *lines)
        names = ["ADD.type=f32;ne=[1;2]", "ADD.type=f16;ne=[1;2]", "MUL_MAT.m=1"]
        results: dict[str, gtest.Result] = {}
        self.program.run(names, results.update, float("inf"))
        self.assertEqual(list(results), names)
        return {name: result.status for name, result in results.items()}

    def test_lists_what_the_backend_supports(self) -> None:
        rows = [("ROCm0", "ADD", "type=f32,ne=[1,2]", "yes"), ("ROCm0", "ADD", "m=1", "no"), ("CPU", "ADD", "m=2", "yes")]
        rows += [("ROCm0", "MUL_MAT", "m=1", "yes"), ("ROCm0", "ADD", "type=f32,ne=[3,4]", "yes"), rows[0]]
        self.write(*(f"""echo '"{b}","{op}","{text}","support","1","{yes}","ROCm"'""" for b, op, text, yes in rows))
        self.assertEqual(self.program.list_tests(), ["ADD.type=f32;ne=[1;2]", "MUL_MAT.m=1", "ADD.type=f32;ne=[3;4]"])

    def test_reads_results(self) -> None:
        passed, skipped, failed = (f"echo '  {case}: '" for case in self.CASES[:3])
        statuses = self.run_tests(
            passed.replace(": '", ": \x1b[1;32mOK\x1b[0m'"),
            skipped.replace(": '", ": not supported [ROCm0]'"),
            failed.replace("'  ", "'[MUL_MAT] NMSE = 0.5 > 0.1   ").replace(": '", ": FAIL'"),
        )
        self.assertEqual(list(statuses.values()), ["passed", "skipped", "failed"])

    def test_the_next_case_has_crashed(self) -> None:
        first = f"case $4 in *ADD*) echo '  {self.CASES[0]}: OK'; kill -ABRT $$;; *) echo '  {self.CASES[2]}: OK';; esac"
        self.assertEqual(list(self.run_tests(first).values()), ["passed", "crashed", "passed"])


class PlainStep(steps.Step):
    """Commands run outside of any root."""

    def command(self, arguments: list[str], *, wavejit: bool = True, folder: str = "/tmp") -> list[str]:
        return arguments


class Listed(unittest.TestCase):
    def run_suite(
        self,
        list_tests: str,
        size: int | None = None,
        run_test: str = "echo {test}; exit {test}",
        seconds: float = 60,
        results: tuple[str, ...] = (),
    ) -> records.Record:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            default = dataclasses.asdict(table.load_table().suites[0])
            fields = {"name": "S", "kind": "listed", "list_tests": list_tests, "run_test": run_test, "patience": 8}
            suite = table.Suite(**{**default, **fields, "env": {}, "leave_out": {"*5": "why"}, "part": ["*"], "limit": 10})
            record = records.Record("S", "sid", "gfx906", "auto", key="k p_1")
            record.results = {name: gtest.Result("passed") for name in results}
            settings = steps.Settings(build=folder, work=folder)
            release = table.load_table().releases["sid"]
            step = PlainStep(
                suite, release, "gfx906", None, settings, record, folder / "records/r.json", time.monotonic() + seconds, "p"
            )
            steps.run_listed(step, size)
            return record

    def test_runs_each_name_as_a_test(self) -> None:
        record = self.run_suite("printf '0\\n3\\nwavejit: says something\\n77\\n5\\n'")
        self.assertEqual({n: r.status for n, r in record.results.items()}, {"0": "passed", "3": "failed", "77": "skipped"})
        self.assertEqual((record.listed, record.left_out), (3, {"why": 1}))
        self.assertTrue(record.whole and record.finished)

    def test_a_name_is_no_shell_syntax(self) -> None:
        record = self.run_suite("echo 'a<b>::c; exit 0'")
        self.assertEqual([r.status for r in record.results.values()], ["failed"])  # exit wants a number

    def test_slow_tests_come_last(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            # The first time it takes a minute.
            slow = f"test {{test}} = quick || test -e {folder}/seen || {{ touch {folder}/seen; sleep 60; }}"
            record = self.run_suite("echo slow; echo quick", run_test=slow)
        self.assertEqual({n: r.status for n, r in record.results.items()}, {"quick": "passed", "slow": "passed"})
        self.assertEqual(list(record.results), ["quick", "slow"])

    def test_results_of_others_do_not_finish_a_sample(self) -> None:
        names = [str(i) for i in range(300, 304)]
        (first,) = gtest.draw(names, 1)
        others = tuple(name for name in names if name != first)
        list_tests = "printf '" + "\\n".join(names) + "\\n'"
        record = self.run_suite(list_tests, size=1, seconds=0, results=others)
        self.assertEqual((record.chosen, record.missing, len(record.results), record.finished), (1, 1, 3, False))
        record = self.run_suite(list_tests, size=1, run_test="true {test}", results=others)
        self.assertEqual((record.missing, len(record.results), record.finished), (0, 4, True))

    def test_says_why_nothing_is_listed(self) -> None:
        record = self.run_suite("echo no device; exit 3")
        self.assertEqual(record.state, "unlisted")
        self.assertIn("no device", record.message)


class Shares(unittest.TestCase):
    def test_no_share_is_too_short_for_a_test(self) -> None:
        self.assertEqual(steps.end_of_share(100, 1100, 4, 60), 350)
        self.assertEqual(steps.end_of_share(100, 1100, 100, 60), 160)
        self.assertEqual(steps.end_of_share(1080, 1100, 1, 60), 1100)
        self.assertEqual(steps.end_of_share(1200, 1100, 3, 60), 1100)

    def test_programs_that_had_no_turn_are_first(self) -> None:
        record = records.Record("rocPRIM", "sid", "gfx906", "auto")
        record.results = {name: gtest.Result("passed") for name in ("a:one", "a:two", "b:one", "aa:one")}
        self.assertEqual(steps.by_results(record, ["a", "b", "aa", "c"]), ["c", "b", "aa", "a"])


class Translations(unittest.TestCase):
    def test_messages_of_untranslated_kernels_are_those_of_the_sources(self) -> None:
        folders = ("frontend", "backend-x86", "runtime", "include")
        files = (path for folder in folders for path in (REPOSITORY / folder).rglob("*") if path.suffix in (".cpp", ".h"))
        sources = "".join(path.read_text() for path in files)
        for text in gtest.UNTRANSLATED:
            self.assertTrue(text in sources, text)

    def test_counts_each_place_once(self) -> None:
        reader = gtest.Reader()
        for pc in ("0x7f3600001108", "0x7f4700001108"):
            said = f"wavejit: The interpreter does not execute s_sethalt 1 at {pc}. At k+0x8 (pc {pc})"
            reader.line(f"text {said}, work-group ({pc[-9]}, 0, 0), wave 0.")
        reader.line("wavejit: hsa_ven_amd_pcs_create is not implemented.")
        reader.line("wavejit: Kernel 'k' read memory it may not access at address 0x0.")
        self.assertEqual(len(reader.translation_failures), 1)


class Samples(unittest.TestCase):
    def test_samples_are_the_same_each_time_and_nested(self) -> None:
        tests = [f"program:Suite.test{i}" for i in range(1000)]
        small, large = gtest.draw(tests, 10), gtest.draw(tests, 50)
        self.assertEqual(small, [t for t in gtest.draw(list(reversed(tests)), 10)][::-1])
        self.assertEqual(len(small), 10)
        self.assertLess(set(small), set(large))
        self.assertEqual(gtest.draw(tests, None), tests)

    def test_a_sample_has_all_families_before_it_has_one_twice(self) -> None:
        tests = [f"p:Large/Values.test/{i}" for i in range(1000)] + ["p:Typed/7.a", "q:Typed/7.a", "p:Small.b"]
        self.assertEqual({gtest.family(t) for t in gtest.draw(tests, 4)}, {"p:Large/Values", "p:Typed", "q:Typed", "p:Small"})


class Bounds(unittest.TestCase):
    def test_kills_descendants(self) -> None:
        outcome = bounds.run(["sh", "-c", "sleep 61 & sleep 62"], limit=3, memory=1)
        self.assertEqual(outcome.why, "time")
        self.assertLess(outcome.seconds, 50)

    def test_nothing_survives_the_end_of_the_runner(self) -> None:
        def ends(line: str) -> bool:
            self.pid = int(line)
            raise SystemExit(143)

        with self.assertRaises(SystemExit):
            bounds.run(["sh", "-c", "sleep 63 & echo $!; sleep 64"], limit=60, memory=1, on_line=ends)
        status = pathlib.Path(f"/proc/{self.pid}/status")

        def lives() -> bool:
            try:
                return "State:\tZ" not in status.read_text()
            except (FileNotFoundError, ProcessLookupError):
                return False

        deadline = time.monotonic() + 10  # a killed process is there until it has run once more
        while lives() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertFalse(lives())

    def test_a_descendant_that_keeps_the_pipe_does_not_hold_up(self) -> None:
        outcome = bounds.run(["sh", "-c", "sleep 30 & exit 5"], limit=60, memory=1)
        self.assertEqual((outcome.why, outcome.code), ("exit", 5))
        self.assertLess(outcome.seconds, 25)


class Documents(unittest.TestCase):
    def row(self, **fields: object) -> dict:
        record = records.Record("rocPRIM", "trixie", "gfx906", "auto", "build librocprim-tests_5.7.1-2", listed=9, chosen=3)
        record.results = {
            "a:Suite.one": gtest.Result("passed", 1),
            "a:Suite.two": gtest.Result("failed", 1, "Expected | wrong"),
            "b:Suite.three": gtest.Result("crashed", 1, "signal 6 (SIGABRT)"),
        }
        for name, value in fields.items():
            setattr(record, name, value)
        return document.row_of(record)

    def test_says_what_ran_and_what_is_unexplained(self) -> None:
        reason = table.Reason("rocPRIM", ["a:*"], "upstream", "The test divides by zero.", "Its line 12.")
        text = document.markdown([self.row()], table.load_table(), [reason])
        self.assertIn("| rocPRIM | gfx906 | auto | sample of 9 | 3 | 1 | 2 | 0 | 0 | 0 |", text)
        self.assertIn("upstream. The test divides by zero. Its line 12.", text)
        self.assertIn("1 **unexplained**", text)
        self.assertIn("`b:Suite.three`: crashed: signal 6 (SIGABRT)", text)
        self.assertNotIn("a:Suite.two", text)

    def test_reasons_hold_where_they_say(self) -> None:
        reason = table.Reason("rocPRIM", ["a:*"], "upstream", "why", releases=["sid"])
        self.assertEqual(len(document.unexplained(self.row(), [reason])), 2)

    def test_suites_that_did_not_run_say_why(self) -> None:
        row = self.row(state="uninstallable", message="E: Unmet dependencies", results={})
        text = document.markdown([row], table.load_table(), [])
        self.assertIn("- rocPRIM: The package cannot be installed: E: Unmet dependencies.", text)

    def test_what_is_left_out_says_why(self) -> None:
        everything = dataclasses.replace(table.load_table(), left_out=[table.LeftOut("rocFoo", ["trixie"], "It has no kernels.")])
        self.assertIn("- rocFoo: It has no kernels.", document.markdown([self.row()], everything, []))
        self.assertNotIn("rocFoo", document.markdown([self.row(release="sid")], everything, []))

    def test_packages_say_what_suites_they_are_of(self) -> None:
        rows = [self.row(), self.row(suite="Thrust"), self.row(suite="UCX", key="build a_1 b_2"), self.row(suite="UCX", target="gfx90a")]
        text = "\n".join(document.packages(rows))
        self.assertIn("- rocPRIM, Thrust, UCX (gfx90a): librocprim-tests 5.7.1-2\n", text)
        self.assertIn("- UCX (gfx906): a 1, b 2\n", text)

    def test_a_row_of_more_tests_stays(self) -> None:
        old = self.row()
        one = {"a:Suite.one": gtest.Result("passed", 1)}
        self.assertFalse(document.is_replaced(old, self.row(results=one)))
        self.assertFalse(document.is_replaced(old, self.row(results={}, state="uninstallable")))
        self.assertTrue(document.is_replaced(old, old))
        self.assertTrue(document.is_replaced(old, self.row(results={"a:Suite.one": gtest.Result("failed", 1)})))
        self.assertTrue(document.is_replaced(self.row(results={}, state="no code"), self.row(results=one)))
        self.assertFalse(document.is_replaced(None, self.row(results={})))

    def test_a_complete_sample_stands_for_more_than_a_larger_one_that_was_broken_off(self) -> None:
        results = {f"a:Suite.{i}": gtest.Result("passed", 1) for i in range(5)}
        broken_off = self.row(results=results, chosen=8, missing=3)
        complete = self.row(results=dict(list(results.items())[:3]))
        self.assertEqual((broken_off["extent"], complete["extent"]), ("broken off", "sample"))
        self.assertTrue(document.is_replaced(broken_off, complete))
        self.assertFalse(document.is_replaced(complete, broken_off))
        # Not if a failure went with it, and not if the larger one has a new failure.
        failing = results | {"a:Suite.9": gtest.Result("failed", 1)}
        broken_off = self.row(results=failing, chosen=8, missing=2)
        self.assertFalse(document.is_replaced(broken_off, complete))
        self.assertTrue(document.is_replaced(complete, broken_off))

    def test_a_row_has_the_counts_of_the_run_that_compared_most(self) -> None:
        one = {"a:Suite.one": gtest.Result("passed", 1)}
        shadowed = self.row(results=one, tier="avx2", shadow={"compared": 7, "different": 2, "skipped": 0})
        self.assertEqual(shadowed["shadow"], {"avx2": {"compared": 7, "different": 2}})
        for rows in ((self.row(), shadowed), (shadowed, self.row())):
            row = document.merged(*rows)
            self.assertEqual((row["run"], row["shadow"]), (3, shadowed["shadow"]))
        text = document.markdown([row], table.load_table(), [])
        self.assertIn("| rocPRIM | gfx906 | auto | sample of 9 | 3 | 1 | 2 | 0 | 0 | 5 |", text)
        self.assertIn("- rocPRIM, gfx906, auto: interpreter and JIT (avx2) differ in 2 dispatches", text)

    def test_dispatches_of_both_tiers_count(self) -> None:
        rows = [self.row(tier=tier, shadow={"compared": n}) for tier, n in (("avx2", 7), ("avx512", 30), ("avx2", 9), ("avx2", 8))]
        row = None
        for other in rows:
            row = document.merged(row, other)
        self.assertEqual(row["shadow"], {"avx2": {"compared": 9}, "avx512": {"compared": 30}})
        self.assertEqual(document.compared(row), 39)
        self.assertIsNone(document.merged(None, self.row(results={})))

    def test_the_document_is_current(self) -> None:
        if document.JSON.exists():
            self.assertEqual(document.write(pathlib.Path("/nowhere"), check=True), 0)


class Tables(unittest.TestCase):
    def test_loads(self) -> None:
        everything = table.load_table()
        self.assertEqual(len({suite.name for suite in everything.suites}), len(everything.suites))
        self.assertEqual(set(everything.order), set(everything.releases))
        names = {suite.name for suite in everything.suites}
        for reason in table.load_reasons():
            self.assertIn(reason.suite, names)
            self.assertLessEqual(set(reason.releases), set(everything.releases))


class Verdicts(unittest.TestCase):
    def red(
        self, green: dict[str, list[str]], deadline: float = float("inf"), error: Exception = ci.Broken("wrong")
    ) -> bool:
        def fails() -> str:
            raise error

        checks = ci.Checks(deadline)
        checks.green = green
        checks.run("rocminfo", "hip_7.2", fails)
        return checks.red

    def test_only_what_has_passed_before_is_red(self) -> None:
        self.assertFalse(self.red({}))
        self.assertFalse(self.red({"rocminfo": ["hip_7.1"], "other": ["hip_7.2"]}))
        self.assertTrue(self.red({"rocminfo": ["hip_7.1", "hip_7.2"]}))
        self.assertFalse(self.red({"rocminfo": ["hip_7.2"]}, deadline=time.monotonic() - 1))

    def test_each_check_has_passed_with_some_version(self) -> None:
        self.assertEqual(set(ci.CHECKS), set(ci.Checks(0).green))

    def test_a_mirror_that_does_not_answer_is_not_red(self) -> None:
        green = {"rocminfo": ["hip_7.2"]}
        self.assertFalse(self.red(green, error=root.PackageError("E: Failed to fetch http://127.0.0.1:9/a.deb")))
        self.assertTrue(self.red(green, error=root.PackageError("E: Unable to correct problems")))

    def test_packages_that_cannot_be_installed_keep_no_other_away(self) -> None:
        class Root:
            def __init__(self) -> None:
                self.tried: list[str] = []

            def find_package(self, pattern: str) -> str | None:
                return None if "rocfft" in pattern else pattern

            @contextlib.contextmanager
            def packages(self, names: list[str], keep: bool) -> Iterator[None]:
                self.tried += names
                if len(self.tried) == 1 or not keep:
                    raise root.PackageError("no")
                yield

        everything, made = table.load_table(), Root()
        suites = [everything.suite(name) for name in ci.SUITES]
        ci.install_all(made, suites)
        wanted = [suite.package for suite in suites if "rocfft" not in suite.package]
        self.assertEqual(made.tried, [*ci.OPENCL, *wanted])


class Records(unittest.TestCase):
    def test_name_the_commit_of_the_build(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder)
            self.assertEqual(steps.commit(build), "")
            (build / "commit").write_text("1234567890-dirty\n")
            self.assertEqual(steps.commit(build), "1234567890-dirty")

    def test_count_what_shadow_mode_reports(self) -> None:
        record = records.Record("a", "b", "gfx906", "auto", shadow={"dispatches": 3})
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "report")
            record.add_shadow(path)
            path.write_text(
                '{"dispatches": 2, "compared": 1}\n{"difference": "Kernel \'k\'\\u000a at"}\n{"dispatches": 4, "compared": 4}\n{"disp'
            )
            record.add_shadow(path)
            self.assertFalse(path.exists())
        self.assertEqual(record.shadow, {"dispatches": 9, "compared": 5})
        self.assertEqual(record.differences, ["Kernel 'k'\n at"])

    def record(self, build: str, *passed: str, failed: tuple[str, ...] = (), packages: str = "tests_1") -> records.Record:
        record = records.Record("rocPRIM", "sid", "gfx906", "auto", f"{build} {packages}", commit=f"of {build}")
        record.results = {name: gtest.Result("passed") for name in passed} | {name: gtest.Result("failed") for name in failed}
        return record

    def test_a_record_of_fewer_tests_waits(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "sid/rocPRIM.gfx906.auto.json")
            old = self.record("old", "a", "b", failed=("c",))
            records.save(path, old)
            for passed in (("a",), ("a", "b")):
                new = self.record("new", *passed)
                records.save(path, new)
                self.assertEqual(records.load_all(pathlib.Path(folder)), [old])
                # What waits goes on.
                self.assertEqual(records.begin(path, self.record("new"), "other"), new)
            new.results["d"] = gtest.Result("passed")
            records.save(path, new)
            self.assertEqual(records.load_all(pathlib.Path(folder)), [new])
            self.assertEqual([file.name for file in path.parent.iterdir()], [path.name])

    def test_a_new_failure_does_not_wait(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "sid/rocPRIM.gfx906.auto.json")
            records.save(path, self.record("old", "a", "b", failed=("c",)))
            new = self.record("new", failed=("a",))
            records.save(path, new)
            self.assertEqual(records.load(path), new)

    def test_go_on_with_what_another_build_has_passed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "sid/rocPRIM.gfx906.auto.json")
            records.save(path, self.record("old", "a", failed=("b",)))
            self.assertEqual(records.begin(path, self.record("new"), "other").results, {})
            self.assertEqual(records.begin(path, self.record("new", packages="tests_2"), "packages").results, {})
            record = records.begin(path, self.record("new"), "packages")
            self.assertEqual(record.results, {"a": gtest.Result("passed")})
            self.assertEqual((record.key, record.commit), ("new tests_1", "of old, of new"))
            record.results["b"] = gtest.Result("failed")
            records.save(path, record)
            # It is of the same build now.
            self.assertEqual(records.begin(path, self.record("new"), "packages"), record)
            self.assertEqual(set(records.begin(path, self.record("new"), "failed").results), {"a"})
            self.assertEqual(records.begin(path, self.record("new"), "all").results, {})

    def test_come_back(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = records.path_of(pathlib.Path(folder), "rocPRIM", "sid", "gfx906", "auto")
            record = records.Record("rocPRIM", "sid", "gfx906", "auto", listed=2, chosen=2)
            record.results["a:b"] = gtest.Result("passed", 0.5)
            records.save(path, record)
            self.assertEqual(records.load_all(pathlib.Path(folder)), [record])
            self.assertFalse(record.finished)


if __name__ == "__main__":
    unittest.main()
