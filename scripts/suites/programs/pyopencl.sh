#!/bin/sh
# pyopencl.sh list | FILE::TEST: PyOpenCL's own tests, which its package of documents has among the examples, on AMD's OpenCL. Without its
# platform pytest finds no test and fails. Status 77 if pytest runs nothing of the test to its end: it skips, or expects a failure.
cd /usr/share/doc/python-pyopencl-doc/examples || exit 1
if [ "$1" = list ]; then
  grep -H '^def test_' test_*.py | sed 's/:def /::/; s/(.*//'
  exit
fi
report=$(PYOPENCL_TEST=AMD: python3 -m pytest -q -rs -p no:cacheprovider "$1" 2>&1)
status=$?
echo "$report"
[ $status -ne 0 ] && exit $status
echo "$report" | tail -n 1 | grep -q ' passed' || exit 77
