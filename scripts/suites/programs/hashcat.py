#!/usr/bin/env python3
"""hashcat on the device.

hashcat.py list: prints hashcat's modes, each with HIP and with OpenCL: "1400 HIP". Retired modes are left out.
hashcat.py "MODE API": after hashcat's own self-test of its kernels, the device finds the password of the mode's example among
three. Every fourth mode, by number, uses its optimized kernels where it has such.
"""

import json
import pathlib
import subprocess
import sys
import tempfile


def modes(*arguments: str) -> dict[str, dict]:
    command = ["hashcat", "--hash-info", "--machine-readable", "--quiet", *arguments]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return json.loads(text[text.index("{") :])


def is_found(mode: str, api: str, folder: pathlib.Path) -> bool:
    facts = modes("-m", mode)[mode]
    target = facts["example_hash"]
    if "hex" in facts["example_hash_format"]:
        (folder / "hash").write_bytes(bytes.fromhex(target))
        target = str(folder / "hash")
    (folder / "words").write_text(f"wrong\n{facts['example_pass']}\nnot this\n")
    command = ["hashcat", "--force", "--quiet", "--potfile-disable", "--hwmon-disable", "--session", folder.name]
    command += ["-m", mode, "-a", "0", "-n", "1", "-u", "64", "-T", "64", "--outfile", str(folder / "found")]
    command += ["--backend-ignore-opencl" if api == "HIP" else "--backend-ignore-hip"]
    command += ["-O"] if int(mode) % 4 == 0 and "optimized" in facts["kernel_type"] else []
    done = subprocess.run([*command, target, str(folder / "words")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    text = done.stdout.decode(errors="replace")
    print(text)
    found = folder / "found"
    return done.returncode == 0 and found.exists() and found.stat().st_size > 0 and "self-test fail" not in text.lower()


def main() -> int:
    if sys.argv[1] == "list":
        for mode, facts in modes().items():
            if not facts["is_deprecated"] and facts["example_hash_format"] != "N/A":
                print(f"{mode} HIP\n{mode} OpenCL")
        return 0
    mode, api = sys.argv[1].split()
    with tempfile.TemporaryDirectory() as folder:
        return 0 if is_found(mode, api, pathlib.Path(folder)) else 1


sys.exit(main())
