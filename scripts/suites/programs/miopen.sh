#!/bin/sh
# miopen.sh ARGUMENT...: MIOpenDriver, which has to say that each pass verifies against the host.
text=$("$(echo /usr/libexec/rocm/libmiopen*-tests)/MIOpenDriver" "$@" -V 1 2>&1)
status=$?
echo "$text"
[ $status = 0 ] && echo "$text" | grep -qE 'Verifies (OK )?on ' && ! echo "$text" | grep -qiE 'failed|error:'
