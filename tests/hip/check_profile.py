"""Checks what `wavejit exec --profile` has written for the saxpy program."""
import re
import sys

with open(sys.argv[1]) as file:
    text = file.read()
assert re.search(r"^saxpy\(.*: \d+ dispatch(es)?\nexecuted: [1-9]\d* instructions of waves$", text, re.M), text[:500]
assert re.search(r"^ +[1-9]\d* +\d+\.\d  [0-9a-f]{8}  .* v_fma", text, re.M), text
assert re.search(r"_load_dword .*; 4 B a lane, .*consecutive", text), text
