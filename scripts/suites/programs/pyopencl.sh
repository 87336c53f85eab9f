#!/bin/sh
# pyopencl.sh list | FILE::TEST: PyOpenCL's own tests, which its package of documents has among the examples, on AMD's OpenCL. Without its
# platform pytest finds no test and fails. Status 77 if pytest runs nothing of the test to its end: it skips, or expects a failure.
cd /usr/share/doc/python-pyopencl-doc/examples || exit 1
export PYOPENCL_TEST=AMD:
if [ "$1" = list ]; then
  tests=$(python3 -m pytest -q -p no:cacheprovider --collect-only) || exit
  echo "$tests" | sed -n 's/^\(test_[a-z_]*\.py::[A-Za-z0-9_]*\).*/\1/p' | sort -u
  exit
fi
report=$(python3 -m pytest -q -rs -p no:cacheprovider "$1" 2>&1)
status=$?
echo "$report"
[ $status -eq 0 ] || exit $status
echo "$report" | tail -n 1 | grep -q ' passed' || exit 77
