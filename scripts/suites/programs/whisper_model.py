"""Writes a small model of Whisper's shape with fixed random weights, and a recording: whisper_model.py MODEL WAV."""

import array
import math
import random
import struct
import sys
import wave

STATE, HEADS, LAYERS, MELS, WORDS, TOKENS = 64, 1, 4, 80, 50257, 51864
AUDIO, TEXT = 1500, 448
F32, F16 = 0, 1
rng = random.Random(1)


def tensor(out, name: str, shape: tuple[int, ...], scale: float, kind: int = F16, offset: float = 0) -> None:
    """`shape` with the dimension that runs fastest last."""
    encoded = name.encode()
    out.write(struct.pack("<3i", len(shape), len(encoded), kind))
    out.write(struct.pack(f"<{len(shape)}i", *reversed(shape)) + encoded)
    count = math.prod(shape)
    values = [offset + scale * (2 * rng.random() - 1) for _ in range(count)]
    out.write(struct.pack(f"<{count}{'f' if kind == F32 else 'e'}", *values))


def norm(out, name: str) -> None:
    tensor(out, f"{name}.weight", (STATE,), 0.1, F32, 1)
    tensor(out, f"{name}.bias", (STATE,), 0.1, F32)


def linear(out, name: str, inputs: int, outputs: int, bias: bool = True) -> None:
    tensor(out, f"{name}.weight", (outputs, inputs), math.sqrt(3 / inputs))
    if bias:
        tensor(out, f"{name}.bias", (outputs,), 0.1, F32)


def attention(out, name: str) -> None:
    norm(out, f"{name}_ln")
    for part in ("query", "key", "value", "out"):
        linear(out, f"{name}.{part}", STATE, STATE, part != "key")


def block(out, name: str, cross: bool) -> None:
    attention(out, f"{name}.attn")
    if cross:
        attention(out, f"{name}.cross_attn")
    norm(out, f"{name}.mlp_ln")
    linear(out, f"{name}.mlp.0", STATE, 4 * STATE)
    linear(out, f"{name}.mlp.2", 4 * STATE, STATE)


def write_model(path: str) -> None:
    with open(path, "wb") as out:
        out.write(struct.pack("<I", 0x67676D6C))
        out.write(struct.pack("<11i", TOKENS, AUDIO, STATE, HEADS, LAYERS, TEXT, STATE, HEADS, LAYERS, MELS, F16))
        bins = 201
        out.write(struct.pack("<2i", MELS, bins))
        filters = [max(0.0, 1 - abs(b - (m + 1) * bins / (MELS + 1)) / 3) / 40 for m in range(MELS) for b in range(bins)]
        out.write(struct.pack(f"<{len(filters)}f", *filters))
        out.write(struct.pack("<i", WORDS))
        for i in range(WORDS):
            word = {12: " -", 220: " ", 705: " '"}.get(i, f" w{i}").encode()
            out.write(struct.pack("<I", len(word)) + word)
        tensor(out, "encoder.positional_embedding", (AUDIO, STATE), 0.5, F32)
        for name, inputs in (("conv1", MELS), ("conv2", STATE)):
            tensor(out, f"encoder.{name}.weight", (STATE, inputs, 3), math.sqrt(1 / inputs))
            tensor(out, f"encoder.{name}.bias", (STATE, 1), 0.1, F32)
        for i in range(LAYERS):
            block(out, f"encoder.blocks.{i}", cross=False)
        norm(out, "encoder.ln_post")
        # Logits far apart, so that rounding does not decide between words.
        tensor(out, "decoder.positional_embedding", (TEXT, STATE), 4, F32)
        tensor(out, "decoder.token_embedding.weight", (TOKENS, STATE), 1)
        for i in range(LAYERS):
            block(out, f"decoder.blocks.{i}", cross=True)
        norm(out, "decoder.ln")


def write_recording(path: str) -> None:
    rate, seconds = 16000, 5
    samples = array.array("h")
    for i in range(rate * seconds):
        pitch = 200 + 300 * math.sin(i / rate * 2)
        samples.append(int(8000 * math.sin(2 * math.pi * pitch * i / rate)))
    with wave.open(path, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(samples.tobytes())


write_model(sys.argv[1])
write_recording(sys.argv[2])
