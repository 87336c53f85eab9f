"""Runs a small language model by llama.cpp on wavejit and compares; see scripts/llama-check.sh."""

import argparse
import array
import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
RELEASE = "sid"
PACKAGES = "libggml0-backend-hip,llama.cpp-tools,llama.cpp-tests,libllama-dev,libggml-dev,g++,python3-minimal"
QUANTISATIONS = ["Q4_0", "Q4_K", "Q8_0"]
MODELS = ["f16", *QUANTISATIONS]
TOKENS = 200
PROMPT = "The compiler reads a wavefront"
# Largest normalised mean squared error of the logits against the CPU's backend. A quantised model may instead be as far from it
# as the CPU's own backend is with the next coarser quantisation.
LIMIT = {"f16": 1e-3, "Q4_0": 1e-2, "Q4_K": 1e-2, "Q8_0": 1e-2}


def fail(message, status=1):
    print(f"llama-check: {message}", file=sys.stderr)
    sys.exit(status)


class Root:
    """The root of a Debian release with llama.cpp, and the folder /llama in it."""

    def __init__(self, directory, build):
        self.path = directory / "root"
        self.build = build
        self.run_script(["--include", PACKAGES])
        self.folder = self.path / "llama"
        self.folder.mkdir(exist_ok=True)

    def run_script(self, arguments, **options):
        command = [PROJECT / "scripts/rocm-root.sh", RELEASE, self.path, "--build", self.build, *arguments]
        return subprocess.run([str(part) for part in command], check=True, **options)

    def run(self, command, output=None):
        """Runs a shell command in /llama; its standard output goes to the file `output` there."""
        with open(self.folder / (output or "log"), "w", encoding="utf-8") as file, open(self.folder / "errors", "w", encoding="utf-8") as errors:
            try:
                self.run_script(["--", "sh", "-c", f"cd /llama && {command}"], stdout=file, stderr=errors)
            except subprocess.CalledProcessError as error:
                tail = (self.folder / "errors").read_text(errors="replace").splitlines()[-5:]
                fail("\n  ".join([f"{command} ended with status {error.returncode}:", *tail]))

    def version(self):
        answer = self.run_script(["--", "dpkg-query", "-W", "-f=${Package} ${Version}\n", "llama.cpp-tools", "libggml0-backend-hip", "libamdhip64-6"],
                                 stdout=subprocess.PIPE, text=True)
        return answer.stdout.split("\n")[:-1]


def prepare(root):
    """Compiles the program and makes the models and texts, where they are missing or older than their scripts."""
    stamp = root.folder / "prepared"
    sources = [HERE / "make-model.py", HERE / "evaluate.cpp", HERE / "check.py"]
    if stamp.exists() and all(stamp.stat().st_mtime > source.stat().st_mtime for source in sources):
        return
    for source in sources[:2]:
        shutil.copy(source, root.folder)
    (root.folder / "prompt").write_text(PROMPT)
    text = (HERE / "make-model.py").read_text().split('TEXT = """')[1].split('"""')[0]
    (root.folder / "text").write_text(text)
    root.run("g++ -std=c++20 -O1 -o evaluate evaluate.cpp -lllama -lggml -lggml-base")
    root.run("python3 make-model.py f16.gguf")
    for name in QUANTISATIONS:
        root.run(f"llama-quantize f16.gguf {name}.gguf {name}")
    stamp.touch()


def evaluate(root, tag, layers, prefix=""):
    """Returns the program's lines for all models, by model and flash attention."""
    files = " ".join(f"{name}.gguf" for name in MODELS)
    root.run(f"{prefix} ./evaluate prompt text {TOKENS} {layers} {tag} {files}", f"{tag}.json")
    lines = [json.loads(line) for line in (root.folder / f"{tag}.json").read_text().splitlines()]
    return {(line["model"], line["flash_attention"]): line for line in lines}


def logits(root, tag, model, flash):
    values = array.array("f")
    values.frombytes((root.folder / f"{tag}.{model}.fa{int(flash)}").read_bytes())
    return values


def difference(values, reference):
    """Normalised mean squared error; infinite for values that are no numbers."""
    error = sum((a - b) ** 2 for a, b in zip(values, reference))
    scale = sum(b * b for b in reference)
    return error / scale if len(values) == len(reference) and error == error else float("inf")


def compare(root, target, engine, tag, run, cpu, first):
    """Yields a row for each model and kind of attention."""
    for (model, flash), line in run.items():
        reference = logits(root, "cpu", model, flash)
        nmse = difference(logits(root, tag, model, flash), reference)
        coarser = {"Q8_0": "Q4_K", "Q4_K": "Q4_0", "Q4_0": "Q4_K"}.get(model)
        allowed = max(LIMIT[model], difference(logits(root, "cpu", coarser, flash), reference) if coarser else 0)
        yield {
            "target": target, "engine": engine, "model": model, "flash_attention": flash,
            "same_tokens_as_first_engine": line["tokens"] == first[model, flash]["tokens"],
            "same_tokens_without_flash": line["tokens"] == run[model, False]["tokens"],
            "same_tokens_as_cpu": line["tokens"] == cpu[model, flash]["tokens"],
            "nmse": nmse, "allowed": allowed,
            "rate": line["rate"], "prompt_rate": line["prompt_rate"],
            "cpu_rate": cpu[model, flash]["rate"], "cpu_prompt_rate": cpu[model, flash]["prompt_rate"],
        }


def good(row):
    return row["same_tokens_as_first_engine"] and row["same_tokens_without_flash"] and row["nmse"] <= row["allowed"]


def host_cpu():
    """Its name and, as virtual machines often have none that tells, its numbers."""
    lines = (line.split(":", 1) for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if ":" in line)
    facts = {key.strip(): value.strip() for key, value in lines}
    return f"{facts.get('model name', 'unknown')} (family {facts.get('cpu family', '?')}, model {facts.get('model', '?')})"


def line_of(row):
    same = row["same_tokens_as_first_engine"] and row["same_tokens_without_flash"]
    return (f"| {row['target']} | {row['engine']} | {row['model']} | {'yes' if row['flash_attention'] else 'no'} | "
            f"{'same' if same else '**differ**'} | {row['nmse']:.1e} | {row['allowed']:.0e} | {row['rate']:.1f} | {row['cpu_rate']:.0f} | "
            f"{row['prompt_rate']:.1f} | {row['cpu_prompt_rate']:.0f} |")


def record(run):
    """Replaces what was recorded on the same kind of CPU."""
    path = PROJECT / "docs/llama.json"
    runs = [other for other in json.loads(path.read_text()) if other["cpu"] != run["cpu"]] + [run]
    path.write_text(json.dumps(runs, indent=1) + "\n")
    (PROJECT / "docs/llama.md").write_text(table(runs))


def table(runs):
    lines = [
        "# llama.cpp", "",
        "`scripts/llama-check.sh DIR --record` writes this file. A model of the llama architecture with seeded random weights (6 MB,",
        "`scripts/llama/make-model.py`) runs on Debian's unmodified llama.cpp and its HIP backend under `wavejit exec`. Tokens: 200 greedy ones are",
        "the same on the engines of the table and with and without flash attention. NMSE: logits of a fixed text of 200 tokens against llama.cpp's own CPU",
        "backend, and the limit. Tokens a second of text and of prompt stand beside the CPU backend's of the same run; the",
        "machines had other work, translation is included where the cache was empty, and so the rates are no measure of speed.",
    ]
    for run in runs:
        lines += [
            "", f"## {run['cpu']}", "", f"Commit {run['commit']}. Packages: {', '.join(run['packages'])}.", "",
            "| target | engine | model | flash attention | tokens | NMSE | limit | tokens/s | CPU's | prompt tokens/s | CPU's |",
            "|---|---|---|---|---|---:|---:|---:|---:|---:|---:|", *map(line_of, run["rows"]),
        ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(prog="llama-check.sh", description=__doc__)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=PROJECT / "build/release")
    parser.add_argument("--target", default="gfx906,gfx90a")
    parser.add_argument("--engine", default="interp,avx2,avx512")
    parser.add_argument("--record", action="store_true", help="write docs/llama.json and docs/llama.md")
    options = parser.parse_args()
    if not (options.build / "wavejit").exists():
        fail(f"{options.build} has no command wavejit: build it first", 2)
    commit = (options.build / "commit").read_text().strip() if options.record else ""
    options.directory.mkdir(parents=True, exist_ok=True)
    engines = options.engine.split(",")
    if "avx512" in engines and "avx512f" not in pathlib.Path("/proc/cpuinfo").read_text():
        print("llama-check: this CPU has no AVX-512: that engine is left out")
        engines.remove("avx512")
    root = Root(options.directory.resolve(), options.build.resolve())
    prepare(root)
    cpu = evaluate(root, "cpu", 0)
    rows = []
    for target in options.target.split(","):
        first = None
        for engine in engines:
            tag = f"{target}-{engine}"
            run = evaluate(root, tag, 99, f"wavejit exec --target {target} --engine {engine} --")
            first = first or run
            for row in compare(root, target, engine, tag, run, cpu, first):
                rows.append(row)
                print(f"{'ok  ' if good(row) else 'FAIL'} {target} {engine:7} {row['model']:5} flash={int(row['flash_attention'])} NMSE {row['nmse']:.1e}, "
                      f"{row['rate']:.1f} tokens/s (CPU {row['cpu_rate']:.0f})", flush=True)
    if options.record:
        record({"cpu": host_cpu(), "commit": commit, "packages": root.version(), "rows": rows})
    bad = sum(not good(row) for row in rows)
    print(f"{len(rows) - bad} passed, {bad} failed")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
