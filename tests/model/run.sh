#!/usr/bin/env bash
# Compares all engines with the model of the vector ALU: run.sh COMMAND TEST_PROGRAM DIR [arguments of generate.py]
set -euo pipefail
command=$1 program=$2 out=$3
shift 3
rm -rf "$out"
mkdir -p "$out"
"$command" coverage --csv > "$out/coverage.csv"
python3 "$(dirname "$0")/generate.py" --table "$out/coverage.csv" --out "$out" "$@"
"$program" --gtest_brief=1 "$out"
