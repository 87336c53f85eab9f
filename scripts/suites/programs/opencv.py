#!/usr/bin/env python3
"""opencv.py OPERATOR: an operator of OpenCV on the device (cv2.UMat), compared with OpenCV's C++ code on plain arrays.

OpenCV takes its C++ code, without a word, where its OpenCL code does not cover a case or fails. AMD's OpenCL writes the name of each
kernel that it dispatches into a log; the operator's own kernels have to be there. opencv.py list: prints the operators.
"""

import os
import pathlib
import re
import sys
import tempfile

import cv2
import numpy as np

HEIGHT, WIDTH = 120, 160
NOISE = np.random.RandomState(7)
PICTURES = {
    "u8": cv2.blur(NOISE.randint(0, 256, (HEIGHT, WIDTH)).astype(np.uint8), (3, 3)),
    "u8x3": cv2.blur(NOISE.randint(0, 256, (HEIGHT, WIDTH, 3)).astype(np.uint8), (3, 3)),
    "f32": NOISE.rand(HEIGHT, WIDTH).astype(np.float32),
    "f32x3": NOISE.rand(HEIGHT, WIDTH, 3).astype(np.float32),
}
MASK = (PICTURES["u8"] > 120).astype(np.uint8)
SQUARE = NOISE.rand(HEIGHT, HEIGHT).astype(np.float32)
X, Y = np.meshgrid(np.arange(WIDTH, dtype=np.float32), np.arange(HEIGHT, dtype=np.float32))
WAVES = (X + 3 * np.sin(Y / 7), Y + 2 * np.cos(X / 5))
AFFINE = np.float32([[0.9, 0.1, 3], [-0.12, 1.1, -5]])
PERSPECTIVE = np.vstack([AFFINE, np.float32([0.0005, 0.0002, 1])])
KERNEL = NOISE.rand(5, 5).astype(np.float32) / 25
ELLIPSE = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (5, 5))
MEAN = cv2.ADAPTIVE_THRESH_MEAN_C
CLAHE = cv2.createCLAHE(2.0, (4, 4))
TABLE = NOISE.randint(0, 256, 256).astype(np.uint8)
ALL, GRAY, U8, F32 = ("u8", "u8x3", "f32"), ("u8", "f32"), ("u8",), ("f32",)
BYTES, COLOUR, COLOURS = ("u8", "u8x3"), ("u8x3",), ("u8x3", "f32x3")


def beside(a, array: np.ndarray):
    """An array where `a` is: on the device or on the host."""
    return cv2.UMat(array) if isinstance(a, cv2.UMat) else array.copy()


def plain(call, *arguments, **named):
    return lambda a, picture: call(a, *arguments, **named)


def flipped(call, *arguments, **named):
    """An operator of two pictures, on one and itself upside down."""
    return lambda a, picture: call(a, cv2.flip(a, 0), *arguments, **named)


def masked(call, *arguments):
    return lambda a, picture: call(a, *arguments, mask=beside(a, MASK))


def template(flag: int):
    return lambda a, picture: cv2.matchTemplate(a, picture[20:41, 30:47].copy(), flag)


def colour(code: str):
    return plain(cv2.cvtColor, getattr(cv2, f"COLOR_{code}"))


def spectrum(a, picture):
    return cv2.dft(a, flags=cv2.DFT_COMPLEX_OUTPUT)


def inverse(a, picture):
    return cv2.idft(spectrum(a, picture), flags=cv2.DFT_SCALE | cv2.DFT_REAL_OUTPUT)


def correlation(a, picture):
    return cv2.mulSpectrums(spectrum(a, picture), spectrum(cv2.flip(a, 0), picture), 0, conjB=True)


def product(a, picture):
    return cv2.gemm(a, a, 1.5, beside(a, SQUARE), 0.5, flags=cv2.GEMM_2_T)


def matches(a, picture):
    found = cv2.BFMatcher(cv2.NORM_L2).match(a, cv2.flip(a, 0))
    return tuple((match.queryIdx, match.trainIdx, match.distance) for match in found)


def background(make):
    """What a background subtractor says of a picture after some of another."""

    def run(a, picture):
        subtractor = make()
        for _ in range(3):
            subtractor.apply(a)
        return subtractor.apply(cv2.flip(a, 1))

    return run


# Operator: its kernels, the call, the formats that it takes, and how far results may be apart: for bytes, and for f32 relative to the
# greatest value. Some kernels have other names for other formats: A|B is one of them.
OPERATORS = {
    "resize nearest": ("resizeNN", plain(cv2.resize, (97, 71), interpolation=cv2.INTER_NEAREST), ALL, 0, 0),
    "resize linear": ("resizeLN", plain(cv2.resize, (231, 190), interpolation=cv2.INTER_LINEAR), ALL, 1, 1e-4),
    "resize area": ("resizeAREA", plain(cv2.resize, (97, 71), interpolation=cv2.INTER_AREA), ALL, 1, 1e-5),
    "resize cubic": ("resizeLN|resizeAREA", plain(cv2.resize, (231, 190), interpolation=cv2.INTER_CUBIC), ALL, 1, 1e-5),
    "GaussianBlur": ("row_filter|row_filter_C1_D0 col_filter", plain(cv2.GaussianBlur, (9, 9), 0), ALL, 1, 1e-5),
    "boxFilter": ("boxFilter", plain(cv2.boxFilter, -1, (3, 3), normalize=False), ALL, 1, 1e-5),
    "filter2D": ("filter2D", plain(cv2.filter2D, -1, KERNEL), ALL, 1, 1e-5),
    "medianBlur": ("medianFilter5", plain(cv2.medianBlur, 5), ALL, 0, 0),
    "bilateralFilter": ("bilateral", plain(cv2.bilateralFilter, 7, 40, 7), BYTES, 1, 0),
    "warpAffine": ("warpAffine", plain(cv2.warpAffine, AFFINE, (150, 130), flags=cv2.INTER_NEAREST), ALL, 0, 0),
    "warpPerspective": ("warpPerspective", plain(cv2.warpPerspective, PERSPECTIVE, (150, 130)), BYTES, 2, 0),
    "remap": ("remap_2_32FC1", plain(cv2.remap, *WAVES, cv2.INTER_NEAREST, borderMode=cv2.BORDER_REFLECT), ALL, 0, 0),
    "erode": ("morph", plain(cv2.erode, ELLIPSE, iterations=2), ALL, 0, 0),
    "morphologyEx": ("morph", plain(cv2.morphologyEx, cv2.MORPH_GRADIENT, ELLIPSE), ALL, 0, 0),
    "pyrDown": ("pyrDown", plain(cv2.pyrDown), ALL, 1, 1e-5),
    "pyrUp": ("pyrUp_cols2|pyrUp_unrolled", plain(cv2.pyrUp), ALL, 1, 1e-5),
    "Sobel": ("row_filter|row_filter_C1_D0 col_filter", plain(cv2.Sobel, cv2.CV_32F, 1, 1, ksize=5), ALL, 0, 1e-5),
    "Laplacian": ("filter2D", plain(cv2.Laplacian, cv2.CV_32F, ksize=3), ALL, 0, 1e-5),
    "copyMakeBorder": ("copyMakeBorder", plain(cv2.copyMakeBorder, 3, 4, 5, 6, cv2.BORDER_REFLECT_101), ALL, 0, 0),
    "repeat": ("repeat", plain(cv2.repeat, 2, 3), ALL, 0, 0),
    "rotate": ("transpose arithm_flip_cols", plain(cv2.rotate, cv2.ROTATE_90_CLOCKWISE), ALL, 0, 0),
    "transpose": ("transpose", plain(cv2.transpose), ALL, 0, 0),
    "threshold": ("threshold", lambda a, p: cv2.threshold(a, float(p.mean()), 200, cv2.THRESH_BINARY)[1], ALL, 0, 0),
    "adaptiveThreshold": ("boxFilter|threshold", plain(cv2.adaptiveThreshold, 255, MEAN, cv2.THRESH_BINARY, 7, 3), U8, 0, 0),
    "inRange": ("inrange", plain(cv2.inRange, (0.3, 0.2, 0.1, 0), (130, 140, 150, 0)), ALL, 0, 0),
    "equalizeHist": ("calculate_histogram calcLUT LUT", plain(cv2.equalizeHist), U8, 0, 0),
    "CLAHE": ("calcLut transform", plain(CLAHE.apply), U8, 1, 0),
    "LUT": ("LUT", plain(cv2.LUT, TABLE), BYTES, 0, 0),
    "split": ("split", plain(cv2.split), COLOUR, 0, 0),
    "merge": ("merge", lambda a, p: cv2.merge([a, a, cv2.flip(a, 0)]), GRAY, 0, 0),
    "copyTo": ("copyToMask", masked(cv2.copyTo), ALL, 0, 0),
    "integral": ("integral_sum_cols integral_sum_rows", plain(cv2.integral), U8, 0, 0),
    "norm": ("reduce", masked(cv2.norm, cv2.NORM_L2), GRAY, 1e-2, 1e-5),
    "norm, no mask": ("reduce", plain(cv2.norm, cv2.NORM_L2), ALL, 1e-2, 1e-5),
    "meanStdDev": ("meanStdDev", masked(cv2.meanStdDev), GRAY, 1e-4, 1e-5),
    "meanStdDev, no mask": ("meanStdDev", plain(cv2.meanStdDev), ALL, 1e-4, 1e-5),
    "sumElems": ("reduce", plain(cv2.sumElems), ALL, 1e-2, 1e-5),
    "minMaxLoc": ("minmaxloc", plain(cv2.minMaxLoc), U8, 0, 0),
    "countNonZero": ("reduce", plain(cv2.countNonZero), GRAY, 0, 0),
    "reduce": ("reduce", plain(cv2.reduce, 0, cv2.REDUCE_SUM, dtype=cv2.CV_32F), ALL, 1e-3, 1e-5),
    "reduce rows": ("reduce_horz_opt", plain(cv2.reduce, 1, cv2.REDUCE_AVG, dtype=cv2.CV_32F), ALL, 1e-3, 1e-5),
    "add": ("KF", flipped(cv2.add), ALL, 0, 0),
    "addWeighted": ("KF", lambda a, p: cv2.addWeighted(a, 0.3, cv2.flip(a, 0), 0.6, 2), ALL, 1, 1e-6),
    "absdiff": ("KF", flipped(cv2.absdiff), ALL, 0, 0),
    "multiply": ("KF", flipped(cv2.multiply, scale=0.01), ALL, 1, 1e-6),
    "divide": ("KF", flipped(cv2.divide, scale=17), ALL, 1, 1e-6),
    "min": ("KF", flipped(cv2.min), ALL, 0, 0),
    "bitwise_xor": ("KF", flipped(cv2.bitwise_xor), BYTES, 0, 0),
    "compare": ("KF", flipped(cv2.compare, cv2.CMP_GT), ALL, 0, 0),
    "convertScaleAbs": ("KF", plain(cv2.convertScaleAbs, alpha=0.7, beta=-30), BYTES, 1, 0),
    "accumulateWeighted": ("accumulate", lambda a, p: cv2.accumulateWeighted(a, beside(a, PICTURES["f32"]), 0.3), GRAY, 1e-4, 1e-6),
    "magnitude": ("KF", flipped(cv2.magnitude), F32, 0, 1e-5),
    "phase": ("KF", flipped(cv2.phase, angleInDegrees=True), F32, 0, 1e-3),
    "polarToCart": ("KF", flipped(cv2.polarToCart), F32, 0, 1e-5),
    "exp": ("KF", plain(cv2.exp), F32, 0, 1e-5),
    "log": ("KF", plain(cv2.log), F32, 0, 1e-5),
    "sqrt": ("KF", plain(cv2.sqrt), F32, 0, 1e-6),
    "pow": ("KF", plain(cv2.pow, 2.7), F32, 0, 1e-5),
    "cvtColor gray": ("RGB2Gray", colour("BGR2GRAY"), COLOURS, 1, 1e-5),
    "cvtColor HSV": ("RGB2HSV", colour("BGR2HSV"), COLOURS, 1, 1e-5),
    "cvtColor HLS": ("RGB2HLS", colour("BGR2HLS"), COLOURS, 1, 1e-5),
    "cvtColor Lab": ("BGR2Lab", colour("BGR2Lab"), COLOUR, 1, 0),
    "cvtColor Luv": ("BGR2Luv", colour("BGR2Luv"), COLOUR, 1, 0),
    "cvtColor YCrCb": ("RGB2YCrCb", colour("BGR2YCrCb"), COLOURS, 1, 1e-5),
    "cvtColor XYZ": ("RGB2XYZ", colour("BGR2XYZ"), COLOURS, 1, 1e-5),
    "cvtColor 565": ("RGB2RGB5x5", colour("BGR2BGR565"), COLOUR, 0, 0),
    "cvtColor I420": ("RGB2YUV_YV12_IYUV", colour("BGR2YUV_I420"), COLOUR, 1, 0),
    "cvtColor from NV12": ("YUV2RGB_NVx", colour("YUV2BGR_NV12"), U8, 1, 0),
    "cvtColor from YCrCb": ("YCrCb2RGB", colour("YCrCb2BGR"), COLOURS, 1, 1e-5),
    "dft": ("fft_multi_radix_rows fft_multi_radix_cols", spectrum, F32, 0, 1e-5),
    "idft": ("ifft_multi_radix_rows ifft_multi_radix_cols", inverse, F32, 0, 1e-5),
    "mulSpectrums": ("mulAndScaleSpectrums", correlation, F32, 0, 1e-5),
    "matchTemplate SQDIFF": ("matchTemplate_Prepared_SQDIFF", template(cv2.TM_SQDIFF), ALL, 2000, 1e-4),
    "matchTemplate CCOEFF_NORMED": ("matchTemplate_CCOEFF_NORMED", template(cv2.TM_CCOEFF_NORMED), ALL, 2e-3, 2e-3),
    "gemm": ("transpose gemm", product, F32, 0, 1e-5),
    "gemm, no addend": ("gemm", lambda a, p: cv2.gemm(a, a, 1.5, None, 0, flags=cv2.GEMM_2_T), F32, 0, 1e-5),
    "fastNlMeansDenoising": ("fastNlMeansDenoising", plain(cv2.fastNlMeansDenoising, None, 9, 5, 11), U8, 1, 0),
    "cornerHarris": ("sobel3 corner", plain(cv2.cornerHarris, 3, 3, 0.04), F32, 0, 1e-5),
    "cornerMinEigenVal": ("sobel3 corner", plain(cv2.cornerMinEigenVal, 3), F32, 0, 1e-5),
    "goodFeaturesToTrack": ("maxEigenVal findCorners", plain(cv2.goodFeaturesToTrack, 30, 0.05, 7), U8, 0, 0),
    "BFMatcher": ("BruteForceMatch_Match", matches, F32, 0, 1e-5),
    "MOG2": ("mog2_kernel", background(cv2.createBackgroundSubtractorMOG2), BYTES, 0, 0),
    "KNN": ("knn_kernel", background(cv2.createBackgroundSubtractorKNN), BYTES, 0, 0),
}


class Log:
    """What AMD's OpenCL writes about dispatches of this process. OpenCV loads it at its first use, after this object is made."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        name = f"{self.folder.name}/log"
        os.environ |= {"AMD_LOG_LEVEL": "3", "AMD_LOG_LEVEL_FILE": name}
        self.path = pathlib.Path(f"{name}_{os.getpid()}")
        self.position = 0

    def kernels(self) -> list[str]:
        """The kernels dispatched since the last call."""
        text = self.path.read_text(errors="replace") if self.path.exists() else ""
        start, self.position = self.position, len(text)
        return re.findall(r"ShaderName : (\S+)", text[start:])


def numbers(result) -> np.ndarray:
    """What an operator gives, pictures, tuples of numbers or one, as one row of f64."""
    if isinstance(result, cv2.UMat):
        result = result.get()
    if isinstance(result, tuple):
        return np.concatenate([numbers(part) for part in result])
    return np.asarray(result, dtype=np.float64).ravel()


def is_right(name: str, form: str, log: Log) -> bool:
    kernels, call, _, bound, relative = OPERATORS[name]
    picture = PICTURES[form]
    cv2.ocl.setUseOpenCL(False)
    expected = numbers(call(picture.copy(), picture))
    cv2.ocl.setUseOpenCL(True)
    log.kernels()
    found = numbers(call(cv2.UMat(picture), picture))
    dispatched = log.kernels()
    missing = [names for names in kernels.split() if not set(names.split("|")) & set(dispatched)]
    if missing:
        print(f"{name}, {form}: {', '.join(missing)} did not run on the device, but {dispatched}")
        return False
    if found.shape != expected.shape:
        print(f"{name}, {form}: {found.size} numbers instead of {expected.size}")
        return False
    bound = relative * np.abs(expected).max() if form.startswith("f32") else bound
    greatest = np.abs(found - expected).max()
    print(f"{name}, {form}: {found.size} numbers, greatest difference {greatest:g} of {bound:g}; {', '.join(dispatched)}")
    return bool(greatest <= bound)


def main() -> int:
    if sys.argv[1] == "list":
        print("\n".join(OPERATORS))
        return 0
    log = Log()
    cv2.ocl.setUseOpenCL(True)
    if not cv2.ocl.Device.getDefault().name().startswith("gfx"):
        print("OpenCV finds no device.")
        return 1
    return 0 if all([is_right(sys.argv[1], form, log) for form in OPERATORS[sys.argv[1]][2]]) else 1


sys.exit(main())
