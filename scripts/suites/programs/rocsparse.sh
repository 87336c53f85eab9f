#!/bin/sh
# rocsparse.sh PROGRAM ARGUMENT...: runs rocsparse-test on the tests that test_data.py has left. Later versions look for them in a folder
# that the environment names, and take what --data names for YAML; ROCm 5.7's has its own path, unless --data names another.
ls /usr/share/rocsparse/*/test/rocsparse_test.data >/dev/null 2>&1 || exec "$@"
exec "$@" --data /opt/suites/rocsparse/rocsparse_test.data
