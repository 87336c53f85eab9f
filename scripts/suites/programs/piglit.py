#!/usr/bin/env python3
"""piglit.py list | TEST: piglit's tests of OpenCL, most of them generated ones of built-in functions, vector loads and atomics, with expected values.

Status 77 if piglit skips the test. A system without an OpenCL platform is a failure, as is a test that ends without a result.
"""

import ast
import gzip
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path("/usr/lib/x86_64-linux-gnu/piglit")


def commands() -> dict[str, list[str]]:
    """The command of each test. A test of type cl_prog is a file for cl-program-tester."""
    found = {}
    with gzip.open(ROOT / "tests/cl.xml.gz") as file:
        for test in xml.etree.ElementTree.parse(file).getroot():
            options = {option.attrib["name"]: option.attrib["value"] for option in test.iter("option")}
            is_program = test.attrib["type"] == "cl_prog"
            command = ["cl-program-tester", options["filename"].strip("'")] if is_program else ast.literal_eval(options["command"])
            found[test.attrib["name"]] = [f"bin/{command[0]}", *command[1:]]
    return found


def main() -> int:
    tests = commands()
    if sys.argv[1] == "list":
        print("\n".join(tests))
        return 0
    done = subprocess.run(tests[sys.argv[1]], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    text = done.stdout.decode(errors="replace")
    print(text)
    results = re.findall(r'^PIGLIT: {"result": "(\w+)"', text, re.MULTILINE)
    if not results or "Could not get number of platforms" in text:
        return 1
    return {"pass": done.returncode, "skip": 77}.get(results[-1], 1)


sys.exit(main())
