#!/usr/bin/env python3
"""darktable.py STYLE: darktable renders an image in a style of its own on the device, and the same on the CPU.

Each module of darktable has two implementations, in OpenCL and in C++. Every module has to run on the device; the mean of the
differences between the two images may be 0.002 of white (darktable's OpenCL code is compiled with -cl-fast-relaxed-math).
"""

import array
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile

WIDTH, HEIGHT = 384, 256
MEAN_DIFFERENCE = 0.002
STYLES = pathlib.Path("/usr/share/darktable/styles")


def write_image(path: pathlib.Path) -> None:
    """Waves of three colours, a chessboard and noise, as a portable float map."""
    noise = random.Random(5)
    pixels = array.array("f")
    for y in range(HEIGHT):
        for x in range(WIDTH):
            for colour in range(1, 4):
                wave = 0.5 + 0.4 * math.sin(0.03 * x * colour) * math.cos(0.05 * y)
                pixels.append(max(wave + 0.3 * ((x // 32 + y // 32) % 2) + noise.gauss(0, 0.02), 0))
    path.write_bytes(b"PF\n%d %d\n-1.0\n" % (WIDTH, HEIGHT) + pixels.tobytes())


def read_image(path: pathlib.Path) -> array.array:
    content = path.read_bytes()
    pixels = array.array("f")
    pixels.frombytes(content[-12 * WIDTH * HEIGHT :])
    return pixels


def render(folder: pathlib.Path, style: str, out: str, options: list[str]) -> tuple[array.array, str]:
    where = str(folder / f"{out}.configuration")
    command = ["darktable-cli", str(folder / "in.pfm"), str(folder / f"{out}.pfm"), "--style", style, "--core", *options]
    command += ["--configdir", where, "--cachedir", where, "--library", ":memory:"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    text = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        raise SystemExit(text)
    return read_image(folder / f"{out}.pfm"), text


def main() -> int:
    style = re.search("<name>(.*)</name>", (STYLES / f"{sys.argv[1]}.dtstyle").read_text())
    if not style:
        raise SystemExit("The style has no name.")
    on_device = ["--conf", "opencl=TRUE", "--conf", "opencl_device_priority=*/!0,*/*/*/!0,*", "-d", "opencl", "-d", "perf"]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_image(folder / "in.pfm")
        expected, _ = render(folder, style[1], "cpu", ["--disable-opencl"])
        image, text = render(folder, style[1], "device", on_device)
    modules = {place: re.findall(rf"processed `([^']*)' on {place}", text) for place in ("GPU", "CPU")}
    differences = [abs(a - b) for a, b in zip(expected, image, strict=True)]
    mean = math.fsum(differences) / len(differences)
    print(f"on the device: {modules['GPU']}; on the CPU: {modules['CPU']}; mean difference {mean:.2g}, greatest {max(differences):.2g}")
    return 0 if modules["GPU"] and not modules["CPU"] and mean <= MEAN_DIFFERENCE else 1


sys.exit(main())
