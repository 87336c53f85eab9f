#!/bin/sh
# whisper.sh: whisper.cpp hears the same words on the device as on the CPU, up to one in twenty, where rounding decides.
set -e
cd /tmp
[ -e whisper.wav ] || python3 /opt/suites/programs/whisper_model.py whisper.bin whisper.wav
hear() { whisper-cli -m whisper.bin -f whisper.wav -nt -nf -bs 1 -bo 1 -t 2 -l en "$@" 2>whisper.log | tr -s ' ' '\n'; }
hear -ng >whisper.cpu
hear >whisper.device
grep -q 'using ROCm0 backend' whisper.log
paste whisper.cpu whisper.device | awk '$1 == $2 { n++ } END { print n, "of", NR, "lines are the same"; exit !(NR > 150 && n >= 0.95 * NR) }'
