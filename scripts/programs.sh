#!/usr/bin/env bash
# Runs generated programs on all engines and compares them with what clang makes of the same text for the host; reduces what differs.
# Can be stopped and called again: counts and differences are kept in <state>.
#
#   scripts/programs.sh [--build DIR] [--state DIR] [--count N | --hours H] [--seed S] [--combination clang15-O3-gfx906] [--jobs N] [...]
#   scripts/programs.sh [--state DIR] --summary     kernels and differences of each combination
#   scripts/programs.sh --help                      all options
#
# Defaults: build/release, build/programs, 1,000 kernels, a fresh seed. The same seed makes the same programs. Exit code 1 if
# there was a difference.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${PYTHON:-python3}" -B tests/programs/campaign.py "$@"
