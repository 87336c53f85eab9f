#!/usr/bin/env bash
# Makes the root file system of a Debian release with its ROCm, and runs a command of it on wavejit.
#   scripts/rocm-root.sh RELEASE DIR [--include PACKAGE,...] [--build DIR] [-- COMMAND [ARGUMENT...]]
#   scripts/rocm-root.sh sid build/sid --include hipcc,libamdhip64-dev -- wavejit exec --target gfx90a -- rocminfo
#
# RELEASE    bookworm (ROCm 5.2), trixie (5.7), sid (6.4) or experimental (7.2); also 12, 13 and unstable
# DIR        the root; made if it does not exist, else used as it is
# --include  further packages, installed where they are missing
# --build    the build folder with wavejit's command and libraries, default build/release: /opt/wavejit in the root, in its PATH
# COMMAND    runs as root in the root, in its folder /; without one, the root is only made
#
# Runs as root, in a container without privileges as well: where the kernel forbids mounts, wavejit is copied in and the command
# has no /proc but copies of cpuinfo and meminfo. Packages come from the Debian mirror that this system's apt has, or from
# WAVEJIT_MIRROR. Exits with the command's status; 2 for wrong arguments or a missing tool; 125 if the mirror does not serve the
# release or a package, or a package cannot be installed. Several commands may run in one root at the same time.
set -euo pipefail

usage() { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; }
fail() { echo "rocm-root: $2" >&2; exit "$1"; }

# One row a release: its names, suites, packages of the HIP runtime.
release_table() {
  cat <<'TABLE'
bookworm      12        bookworm          libamdhip64-5
trixie        13        trixie            libamdhip64-5
sid           unstable  sid               libamdhip64-6
experimental  -         sid,experimental  libamdhip64-7
TABLE
}

# Packages of experimental that are preferred to those of sid; others are not.
experimental_preferences() {
  cat <<'PREFERENCES'
Package: *hip* *hsa* roc* libroc* librccl* miopen* libmiopen* migraphx* libmigraphx* *amd-comgr* llama.cpp* libggml* libllama* libamd*
Pin: release a=experimental
Pin-Priority: 990
PREFERENCES
}

# The mirror of the first Debian release among apt's sources, of one-line and deb822 files alike.
find_mirror() {
  if [[ -n ${WAVEJIT_MIRROR:-} ]]; then echo "$WAVEJIT_MIRROR"; return; fi
  command -v apt-get >/dev/null || fail 2 "this system has no apt: set WAVEJIT_MIRROR to the address of a Debian mirror"
  local mirror
  mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    awk '$1 ~ /^(bookworm|trixie|forky|sid|oldstable|stable|testing|unstable)$/ && $2 == "main" && $3 !~ /^cdrom:/ { print $3; exit }')
  [[ -n $mirror ]] || fail 2 "apt's sources have no Debian mirror (apt-get indextargets): set WAVEJIT_MIRROR to the address of one"
  echo "${mirror%/}"
}

make_root() {  # makes $dir
  command -v mmdebstrap >/dev/null || fail 2 "there is no mmdebstrap: apt-get install mmdebstrap"
  local mirror suite packages=("$runtime" rocminfo libhsa-runtime64-1 libdw1 "${include[@]}")
  mirror=$(find_mirror)
  # A mirror may serve a snapshot of a moving release whose Release file has expired; its signature is checked all the same.
  local options=(--mode=root --variant=apt --components=main '--aptopt=Acquire::Check-Valid-Until "false"')
  [[ -n $can_mount ]] || options+=(--skip=check/canmount)
  local proxy
  for proxy in http https; do
    local value
    eval "$(apt-config shell value "Acquire::$proxy::Proxy" 2>/dev/null)"
    [[ -z ${value:-} ]] || options+=("--aptopt=Acquire::$proxy::Proxy \"$value\"")
    unset value
  done
  local sources=()
  for suite in ${suites//,/ }; do sources+=("deb $mirror $suite main"); done
  local preferences=$dir.preferences
  if [[ $release == experimental ]]; then
    experimental_preferences >"$preferences"
    options+=("--setup-hook=mkdir -p \"\$1/etc/apt/preferences.d\"; cp '$preferences' \"\$1/etc/apt/preferences.d/rocm\"")
  fi
  rm -rf "$dir.partial"
  echo "rocm-root: making $dir: $release of $mirror, ${packages[*]}" >&2
  local status=0
  mmdebstrap "${options[@]}" "--include=$(IFS=,; echo "${packages[*]}")" "${suites%%,*}" "$dir.partial" "${sources[@]}" \
    >"$dir.log" 2>&1 || status=$?
  rm -f "$preferences"
  if [[ $status != 0 ]]; then
    tail -n 5 "$dir.log" >&2
    rm -rf "$dir.partial"
    fail 125 "mmdebstrap cannot make $release with ${packages[*]}; the whole log is $dir.log"
  fi
  echo "$release" >"$dir.partial/etc/wavejit-root"
  mv "$dir.partial" "$dir"
}

# enter COMMAND...: runs it in $dir. Mounts are made in a mount namespace of its own, so that nothing is left behind.
enter() {
  local environment=(HOME=/root PATH=/opt/wavejit:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8)
  local inside=(env -u LD_LIBRARY_PATH -u TMPDIR "${environment[@]}" "$@")
  if [[ -n $can_mount ]]; then
    # shellcheck disable=SC2016
    unshare --mount --propagation private sh -c '
      set -e
      root=$1 build=$2
      shift 2
      mount -t proc proc "$root/proc" 2>/dev/null || mount --rbind /proc "$root/proc"
      mount --rbind /sys "$root/sys"
      mount --rbind /dev "$root/dev"
      [ -z "$build" ] || mount --bind -o ro "$build" "$root/opt/wavejit"
      exec chroot "$root" "$@"' sh "$dir" "$build" "${inside[@]}"
  else
    chroot "$dir" "${inside[@]}"
  fi
}

# Copies $build's command and libraries and what programs read below /proc. Files are renamed into place: others may run.
copy_in() {
  local file from=$build
  if [[ -n $from ]]; then
    mkdir -p "$dir/opt/wavejit/hsa"
    for file in wavejit $(cd "$from" && echo libwavejit.so* hsa/*.so*); do
      [[ -e $from/$file ]] || continue
      cmp -s "$from/$file" "$dir/opt/wavejit/$file" && continue
      cp -a "$from/$file" "$dir/opt/wavejit/$file.$$"
      mv "$dir/opt/wavejit/$file.$$" "$dir/opt/wavejit/$file"
    done
  fi
  mkdir -p "$dir/proc" "$dir/dev/shm"
  for file in cpuinfo meminfo; do cat "/proc/$file" >"$dir/proc/$file"; done
}

add_packages() {  # installs what is missing of include
  local package missing=()
  for package in "${include[@]}"; do
    # shellcheck disable=SC2016
    [[ $(chroot "$dir" dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true) == installed ]] || missing+=("$package")
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0
  cp -L /etc/resolv.conf /etc/hosts "$dir/etc/" 2>/dev/null || true
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends)
  echo "rocm-root: installing ${missing[*]} in $dir" >&2
  {
    # mmdebstrap leaves no package lists. Lists of a moving release grow old.
    enter apt-get -q update && enter "${apt[@]}" install "${missing[@]}" && enter apt-get clean
  } >"$dir.log" 2>&1 || {
    grep -E '^(E|Err):' "$dir.log" | tail -n 5 >&2 || tail -n 5 "$dir.log" >&2
    fail 125 "${missing[*]} cannot be installed; the whole log is $dir.log"
  }
}

[[ ${1:-} != --help && ${1:-} != -h ]] || { usage; exit 0; }
[[ $# -ge 2 ]] || { usage >&2; exit 2; }
release=$(release_table | awk -v name="$1" '$1 == name || $2 == name { print $1 }')
[[ -n $release ]] || fail 2 "unknown release $1; known: $(release_table | awk '{ printf "%s%s", comma, $1; comma = ", " }')"
read -r suites runtime < <(release_table | awk -v name="$release" '$1 == name { print $3, $4 }')
dir=$(realpath -m "$2")
shift 2
include=() build= command=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --include) [[ $# -ge 2 ]] || fail 2 "--include wants packages"; IFS=, read -r -a more <<<"$2"; include+=("${more[@]}"); shift 2 ;;
    --build) [[ $# -ge 2 ]] || fail 2 "--build wants a folder"; build=$2; shift 2 ;;
    --) shift; command=("$@"); break ;;
    *) fail 2 "unknown argument $1" ;;
  esac
done
[[ $EUID -eq 0 ]] || fail 2 "needs root"
[[ $dir != / ]] || fail 2 "/ is this system's own root"
if [[ -z $build ]]; then
  build=$(realpath "$(dirname "$0")/..")/build/release
  [[ -x $build/wavejit ]] || build=  # only COMMAND needs it
fi
[[ -z $build || -x $build/wavejit ]] || fail 2 "$build has no command wavejit: build it first"
[[ -z $build ]] || build=$(realpath "$build")
can_mount=
! unshare --mount true 2>/dev/null || can_mount=1

mkdir -p "$(dirname "$dir")"
exec 9>"$dir.lock"
flock 9
if [[ ! -d $dir || -z $(ls -A "$dir") ]]; then
  [[ ! -d $dir ]] || rmdir "$dir"
  make_root
else
  [[ -e $dir/etc/wavejit-root ]] || fail 2 "$dir exists and was not made by this script"
  [[ $(cat "$dir/etc/wavejit-root") == "$release" ]] || fail 2 "$dir is $(cat "$dir/etc/wavejit-root"), not $release"
fi
mkdir -p "$dir/opt/wavejit"
[[ -n $can_mount ]] || copy_in
add_packages
exec 9>&-
[[ ${#command[@]} -gt 0 ]] || exit 0
[[ -n $build ]] || fail 2 "there is no build/release/wavejit: build it first, or name a build folder with --build"
enter "${command[@]}"
