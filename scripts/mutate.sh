#!/usr/bin/env bash
# Mutation testing: puts faults into a copy of lifter, passes, backend and runtime, one in force at a time, and sees whether the tests
# that ctest lists find them. Can be stopped and called again: the draw, what tests reach and verdicts are kept in <state>.
#
#   scripts/mutate.sh [--state DIR] [--seed S] [--mutants N] [--jobs J] [--longest SECONDS] [--seconds SECONDS]
#                     [--only REGEX] [--again REGEX] [--retry]       only these tests; these again; what has survived again
#   scripts/mutate.sh [--state DIR] --summary       counts by room and operator, survivors with their reasons (tests/mutation/survivors.txt)
#   scripts/mutate.sh [--state DIR] --show NUMBER   a mutant, and the tests that reach it
#
# Defaults: build/mutation, the seed of <state> or a fresh one, 240 mutants, 2 jobs, all tests, 600 s of tests for a mutant. The same
# seed draws the same faults from the same sources. Exit code 1 if less than 95 % of the faults are found that are not equivalent.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${PYTHON:-python3}" -B tests/mutation/campaign.py "$@"
