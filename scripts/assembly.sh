#!/usr/bin/env bash
# Runs generated kernels in assembly on all engines, in several orders of their waves, and compares what they write; cuts down what
# differs. Can be stopped and called again: counts and differences are kept in <state>.
#
#   scripts/assembly.sh [--build DIR] [--state DIR] [--kernels N | --hours H] [--seed S] [--target gfx906]... [--file K]
#   scripts/assembly.sh [--state DIR] --summary     kernels, launches and differences of each target
#
# Defaults: build/release, build/assembly, 1,000 kernels, a fresh seed, all targets. The same seed makes the same kernels. Exit code 1
# if there was a difference.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${PYTHON:-python3}" -B tests/assembly/campaign.py "$@"
