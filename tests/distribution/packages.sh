#!/bin/sh
# Builds the Debian packages, installs them in a fresh Debian of the same suite, and uses them there: demo, manual page,
# completion, an example built against the development package, and the Python module. Needs root and a network; ends
# with 77 where it lacks one of them.
# Usage: packages.sh SOURCE_DIR WORK_DIR
set -eu
source=$1 work=$2
mirror=${RDMABENCH_DEBIAN_MIRROR:-http://deb.debian.org/debian}
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
if [ "${RDMABENCH_FRESH:-}" != inside ]; then
  [ "$(id -u)" = 0 ] || { echo "skipped: it needs root"; exit 77; }
  command -v debootstrap >/dev/null || { echo "skipped: debootstrap is not installed"; exit 77; }
  RDMABENCH_FRESH=inside exec unshare --mount --propagation private sh "$0" "$@"
fi

rm -rf "$work"
mkdir -p "$work/source"
export DEBIAN_FRONTEND=noninteractive
apt-get install -y -qq --no-install-recommends debhelper dh-python devscripts lintian build-essential help2man >/dev/null
(cd "$source" && git -c safe.directory='*' ls-files -z --cached --others --exclude-standard | tar --null -T - -c --ignore-failed-read 2>/dev/null) |
  tar -x -C "$work/source"
(cd "$work/source" && dpkg-buildpackage --no-sign --build=full >"$work/build.log" 2>&1) || { tail -30 "$work/build.log"; exit 1; }
lintian --allow-root --fail-on error "$work"/*.changes >"$work/lintian.log" || { cat "$work/lintian.log"; exit 1; }
echo "passed: packages and lintian; $(grep -c ^W "$work/lintian.log" || true) warnings"

root=$work/root
debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$work/debootstrap.log" 2>&1 || { tail -3 "$work/debootstrap.log"; echo "skipped: no $mirror"; exit 77; }
cp /etc/resolv.conf "$root/etc/"
echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/99snapshot"  # a mirror may be one
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
cp "$work"/*.deb "$root/root/"
inside() { chroot "$root" sh -euc "cd /root; $1"; }
inside 'export DEBIAN_FRONTEND=noninteractive
  sed -i "s,/usr/share/man,/nowhere," /etc/dpkg/dpkg.cfg.d/* 2>/dev/null || true
  rm -f ./*dbgsym*
  apt-get install -y -qq --no-install-recommends ./*.deb >/dev/null
  rdmabench --version'
python3 "$source/tests/integration/binary.py" "$root/usr/bin/rdmabench" \
  "$(find "$root/usr/lib" -name 'librdmabench*.so*' -type f | paste -sd ';')"
echo "passed: ELF headers of the installed files"
inside 'rdmabench lat --backend loop -s 8 -n 1000; rdmabench doctor >/dev/null || true'
echo "passed: the command, with its packages alone"
inside 'apt-get install -y -qq --no-install-recommends libfabric1 man-db bash-completion python3 >/dev/null
  rdmabench demo'
echo "passed: the demo, with libfabric1"
inside 'man -P cat rdmabench-lat | grep -q -e --relaxed-ordering'
# shellcheck disable=SC2016  # for the shell inside
inside 'bash -c ". /usr/share/bash-completion/bash_completion; _completion_loader rdmabench; complete -p rdmabench" | grep -q _rdmabench'
echo "passed: manual page and completion"
inside 'apt-get install -y -qq --no-install-recommends g++ cmake make pkg-config >/dev/null
  cp -r /usr/share/doc/librdmabench-dev/examples .
  cmake -S examples -B built >/dev/null
  cmake --build built >/dev/null
  built/ping_pong'
echo "passed: the examples"
inside 'python3 -c "
import rdmabench
report = rdmabench.run(backend=\"loop\", sizes=[8], stop={\"iterations\": 1000})
print(report[\"results\"][0][\"p50_ns\"], \"ns by Python\")"'
echo "passed: Python"
