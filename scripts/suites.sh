#!/usr/bin/env bash
# Runs the test suites of ROCm's own packages on wavejit, in root file systems of several Debian releases, and writes docs/rocm.md.
#   scripts/suites.sh run [--release R] [--suite S] [--target T] [--engine E] [--sample N | --whole]    see --help
#   scripts/suites.sh document         docs/rocm.json and docs/rocm.md, of what is recorded
#   scripts/suites.sh ci               a small part of it, for test.sh
exec python3 -B "$(dirname "$0")/suites/main.py" "$@"
