#!/usr/bin/env bash
# Runs a command of README as a newcomer does: on a minimal Debian, from a fresh clone of HEAD, with nothing installed.
#   scripts/fresh.sh RELEASE DIR [COMMAND]
#   scripts/fresh.sh trixie /tmp/newcomer scripts/demo.sh
#
# RELEASE  bookworm or trixie
# DIR      the root file system, made anew; the clone is DIR/root/wavejit. An existing DIR with a clone is used as it is.
# COMMAND  run in the clone by sh, default scripts/test.sh
#
# Needs root, mmdebstrap and the right to mount. Packages come from deb.debian.org, or from WAVEJIT_MIRROR. Ends with the
# seconds that COMMAND took and exits with its status; 2 for wrong arguments or a missing tool.
set -euo pipefail

fail() { echo "fresh: $1" >&2; exit 2; }

[[ $# -ge 2 && $# -le 3 ]] || { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
release=$1 dir=$(realpath -m "$2") command=${3:-scripts/test.sh}
[[ $release == bookworm || $release == trixie ]] || fail "unknown release $release; known: bookworm, trixie"
[[ $dir != / ]] || fail "/ is this system's own root"
[[ $EUID -eq 0 ]] || fail "needs root"
command -v mmdebstrap >/dev/null || fail "there is no mmdebstrap: apt-get install mmdebstrap"
unshare --mount true 2>/dev/null || fail "the kernel forbids mounts here"
source=$(realpath "$(dirname "$0")/..")
[[ -z $(git -C "$source" status --porcelain) ]] || echo "fresh: note: what is not committed is not in the clone" >&2

if [[ ! -d $dir/root/wavejit ]]; then
  [[ ! -e $dir || -z $(ls -A "$dir") ]] || fail "$dir is not empty and has no clone"
  mmdebstrap --quiet --mode=root --variant=minbase --include=ca-certificates,git "$release" "$dir" \
    ${WAVEJIT_MIRROR:+"$WAVEJIT_MIRROR"} || { rm -rf "$dir"; fail "mmdebstrap cannot make $release"; }
  cp -L /etc/resolv.conf "$dir/etc/resolv.conf" || true
  git clone --quiet "$source" "$dir/root/wavejit" || { rm -rf "$dir"; fail "$source cannot be cloned"; }
fi

began=$SECONDS status=0
# shellcheck disable=SC2016
unshare --mount --propagation private sh -c '
  set -e
  root=$1 command=$2
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs tmpfs "$root/tmp"
  exec chroot "$root" env -i ${WAVEJIT_MIRROR:+"WAVEJIT_MIRROR=$WAVEJIT_MIRROR"} \
    ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb \
    sh -c "cd /root/wavejit && $command"' sh "$dir" "$command" || status=$?
echo "fresh: $release, $(git -C "$dir/root/wavejit" rev-parse --short HEAD 2>/dev/null || echo "?"): $command: status $status, $((SECONDS - began)) seconds"
exit "$status"
