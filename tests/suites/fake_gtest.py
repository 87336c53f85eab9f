#!/usr/bin/env python3
"""Behaves as a GoogleTest program whose tests pass, fail, skip, crash, hang, use much memory or end the process."""

import json
import os
import sys
import time

TESTS = ["pass0", "fail", "skip", "pass1", "crash", "pass2", "hang", "pass3", "hog", "pass4", "leave", "pass5"]
PASSING = [f"pass{i}" for i in range(6, 40)]


def main() -> int:
    flags = sys.argv[1:]
    if "--gtest_list_tests" in flags:
        print("Running main() from a file\nKinds.  # TypeParam = int")
        print("\n".join(f"  {name}" for name in TESTS) + "\n  DISABLED_never")
        print("Many/Values/0.")
        print("\n".join(f"  {name}  # GetParam() = 4" for name in PASSING))
        return 0
    for flag in list(flags):
        if flag.startswith("--gtest_flagfile="):
            with open(flag.partition("=")[2], encoding="utf-8") as file:
                flags += file.read().split("\n")
    values = dict(flag.partition("=")[::2] for flag in flags if "=" in flag)
    report, names, failed = [], values["--gtest_filter"].split(":"), False
    # In the program's order, not the filter's.
    for name in [f"Kinds.{n}" for n in TESTS] + [f"Many/Values/0.{n}" for n in PASSING]:
        if name not in names or name == os.environ.get("FAKE_LEAVES_OUT"):
            continue
        kind = name.split(".")[1]
        print(f"[ RUN      ] {name}", flush=True)
        if os.environ.get("FAKE_TAINTS") and "Kinds.fail" in names and name != "Kinds.fail" and failed:
            kind = "fail"
        entry = {"name": name.split(".")[1], "status": "RUN", "result": "COMPLETED", "time": "0.5s"}
        word = "       OK"
        if kind == "fail":
            print("file.cpp:3: Failure\nExpected: 1\n  Actual: 2")
            entry["failures"], word, failed = [{"failure": "Expected: 1\n  Actual: 2"}], "  FAILED", True
        elif kind == "skip":
            entry["result"], word = "SKIPPED", "  SKIPPED"
        elif kind == "crash":
            print("about to crash", flush=True)
            os.abort()
        elif kind == "hang":
            for _ in range(600):
                with open(os.environ["FAKE_CLOCK"], "a", encoding="utf-8") as clock:
                    clock.write(".")
                time.sleep(0.1)
        elif kind == "hog":
            hog = bytearray(os.urandom(1)) * (200 << 20)
            time.sleep(60)
            del hog
        elif kind == "leave":
            os._exit(0)
        print(f"[{word:<9} ] {name} (1 ms)", flush=True)
        report.append({"name": name.split(".")[0], "testsuite": [entry]})
    with open(values["--gtest_output"].removeprefix("json:"), "w", encoding="utf-8") as file:
        json.dump({"testsuites": report}, file)
    if os.environ.get("FAKE_BAD_END"):
        os.abort()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
