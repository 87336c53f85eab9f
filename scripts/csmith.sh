#!/usr/bin/env bash
# Runs programs of Csmith as kernels on all engines and compares them with what clang makes of the same text for the host; cvise reduces
# what differs between engines. Can be stopped and called again (--resume): counts and differences are kept in <state>.
#
#   scripts/csmith.sh [--build DIR] [--state DIR] [--count N | --hours H] [--seed S | --resume] [--combination clang15-O3-gfx906] [--jobs N] [...]
#   scripts/csmith.sh [--state DIR] --summary     programs and differences of each combination
#   scripts/csmith.sh --help                      all options
#
# Defaults: build/release, build/csmith, 1,000 programs, a fresh seed. The same seed makes the same programs. Exit code 1 if there was a
# difference. Needs Debian's packages csmith and libcsmith-dev, and cvise to reduce.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${PYTHON:-python3}" -B tests/programs/csmith_campaign.py "$@"
