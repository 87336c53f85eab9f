#!/usr/bin/env bash
# Runs a small language model by Debian's llama.cpp on wavejit: greedy tokens on every engine, logits against the CPU's backend,
# tokens a second. Writes docs/llama.json and docs/llama.md.
#   scripts/llama-check.sh DIR [--build DIR] [--target gfx906,gfx90a] [--engine interp,avx2,avx512] [--record]
# DIR holds the root of Debian unstable (3 GB, made if it is not there), the models and what was measured.
exec python3 -B "$(dirname "$0")/llama/check.py" "$@"
