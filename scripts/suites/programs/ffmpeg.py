#!/usr/bin/env python3
"""ffmpeg.py FILTER: FFmpeg's FILTER_opencl on three frames of a moving picture, compared with the filter of the same name on the CPU.

FFmpeg ends with an error if there is no device of AMD's or the filter does not run on it. Both results are cropped by 16 pixels on each
side, as FFmpeg's two implementations continue pictures beyond their edges in different ways.
ffmpeg.py list: prints the filters.
"""

import subprocess
import sys

SOURCE = "testsrc2=size=160x120:rate=5"
CROP = ",crop=iw-32:ih-32:16:16"
KERNEL = "1 2 1 2 4 2 1 2 1"
MAPS = [f"nullsrc=size=160x120:rate=5,format=gray16le,geq=lum='{lum}'" for lum in ("X*0.9+8*sin(Y/9)", "Y*0.8+5*cos(X/7)")]

# Filter: pixel format, options, inputs beside the picture, greatest difference in 255 steps.
FILTERS = {
    "avgblur": ("yuv420p", "sizeX=3:sizeY=3", [], 1),
    "boxblur": ("yuv420p", "luma_radius=3:luma_power=2", [], 1),
    "convolution": ("yuv420p", ":".join([KERNEL] * 4 + ["1/16"] * 4), [], 1),
    "dilation": ("yuv420p", "threshold0=30:coordinates=231", [], 0),
    "erosion": ("yuv420p", "threshold0=30:coordinates=231", [], 0),
    "pad": ("yuv420p", "w=200:h=180:x=20:y=30:color=black", [], 0),
    "prewitt": ("yuv420p", "scale=2:delta=10", [], 1),
    "remap": ("rgba", "", MAPS, 0),
    "roberts": ("yuv420p", "scale=2:delta=10", [], 1),
    "sobel": ("yuv420p", "scale=2:delta=10", [], 1),
    "transpose": ("yuv420p", "dir=cclock_flip", [], 0),
    "unsharp": ("yuv420p", "la=1.5:lx=7:ly=7", [], 3),
}


def frames(name: str, device: bool) -> bytes:
    """The samples of three filtered frames."""
    form, options, others, *_ = FILTERS[name]
    upload, download = (",hwupload", f",hwdownload,format={form}{CROP}") if device else ("", f",format={form}{CROP}")
    inputs = [f"{SOURCE},format={form}", *others]
    graph = "".join(f"{text}{upload}[in{i}];" for i, text in enumerate(inputs)) + "".join(f"[in{i}]" for i in range(len(inputs)))
    suffix = "_opencl" if device else ""
    # The remap filter on the CPU takes the nearest pixel only.
    options = "interp=near" if device and name == "remap" else options
    graph += f"{name}{suffix}={options}{download}" if options else f"{name}{suffix}{download}"
    command = ["ffmpeg", "-v", "error", "-nostdin"]
    command += ["-init_hw_device", "opencl=gpu:,device_name=gfx", "-filter_hw_device", "gpu"] if device else []
    command += ["-filter_complex", graph, "-frames:v", "3", "-f", "rawvideo", "-"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0 or not done.stdout:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr.decode(errors='replace')}")
    return done.stdout


def main() -> int:
    name = sys.argv[1]
    if name == "list":
        print("\n".join(FILTERS))
        return 0
    *_, bound = FILTERS[name]
    expected, found = frames(name, False), frames(name, True)
    differences = [abs(a - b) for a, b in zip(expected, found, strict=True)]
    print(f"{name}: {len(differences)} samples, greatest difference {max(differences)} of {bound}")
    return 0 if max(differences) <= bound else 1


sys.exit(main())
