"""Checks what `wavejit exec --report` has written for the saxpy program."""
import json
import sys

with open(sys.argv[1]) as file:
    run = json.load(file)
assert run["dispatches"] == sum(run["kernels"].values()) > 0, run
assert any(name.startswith("saxpy(") for name in run["kernels"]), run["kernels"]
report = run["report"]
assert report["instructions"] == sum(row["count"] for row in report["executed"]) > 0
assert any(row["name"].startswith("v_fma") for row in report["executed"]), report["executed"]
assert report["all_exact"] == (report["exact"] == report["instructions"])
