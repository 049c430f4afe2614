#!/bin/sh
# The README's first command and the unit tests in a fresh Debian: made by debootstrap, entered by chroot, so it needs
# root and a network, and no container runtime. Ends with 77 where it lacks one of them.
# The command that was built there also measures against the one that was built here.
# Usage: fresh.sh SUITE SOURCE_DIR WORK_DIR COMMAND [COMPILER_PACKAGE]   (bookworm trixie sid)
set -eu
suite=$1 source=$2 work=$3 command=$4 compiler=${5:-g++}
mirror=${RDMABENCH_DEBIAN_MIRROR:-http://deb.debian.org/debian}
root=$work/$suite
if [ "${RDMABENCH_FRESH:-}" != inside ]; then
  [ "$(id -u)" = 0 ] || { echo "skipped: it needs root"; exit 77; }
  command -v debootstrap >/dev/null || { echo "skipped: debootstrap is not installed"; exit 77; }
  # What is mounted in a namespace of its own goes with it.
  RDMABENCH_FRESH=inside exec unshare --mount --propagation private sh "$0" "$@"
fi

rm -rf "$root" "$work/said"
mkdir -p "$root"
debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$work/$suite.log" 2>&1 || { tail -3 "$work/$suite.log"; echo "skipped: no $mirror"; exit 77; }
cp /etc/resolv.conf "$root/etc/"
# A mirror may be a snapshot.
echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/99snapshot"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
# A path with a space in it, as users have.
there="/root/the project"
mkdir "$root$there"
(cd "$source" && git -c safe.directory='*' ls-files -z --cached --others --exclude-standard | tar --null -T - -c --ignore-failed-read 2>/dev/null) |
  tar -x -C "$root$there"

inside() { chroot "$root" sh -euc "cd '$there'; $1"; }
begin=$(date +%s)
inside scripts/run
echo "passed: scripts/run on $suite, $(($(date +%s) - begin)) s"
mkfifo "$work/said"
(umask 077 && head -c 32 /dev/urandom >"$root/root/token")
"$command" serve --address 127.0.0.1 --port 0 --allow-provider tcp --token-file "$root/root/token" --with-parent 2>"$work/said" &
read -r line <"$work/said"
# Their libfabrics have different interfaces, and the same wire protocol.
inside "build/run/tools/rdmabench lat 127.0.0.1 --port ${line##*:} --token-file /root/token --provider 'tcp;ofi_rxm' --op write -n 1000 --validate"
echo "passed: the command of $suite with the one of this system"
kill $!
# Out of the box: no preset, no network, not root, and a source tree that cannot be written.
inside 'useradd --create-home builder && chmod -R a-w,a+rX /root && chmod a+x /root'
inside 'cd / && unshare --net setpriv --reuid=builder --regid=builder --clear-groups sh -euc "
  export HOME=/home/builder CMAKE_BUILD_PARALLEL_LEVEL=2
  cmake -S \"'"$there"'\" -B \"/home/builder/a build\" -DBUILD_TESTING=OFF >/dev/null
  cmake --build \"/home/builder/a build\"
  cmake --install \"/home/builder/a build\" --prefix \"/home/builder/the prefix\" >/dev/null
  \"/home/builder/the prefix/bin/rdmabench\" --version"'
inside '"/home/builder/a build/tools/rdmabench" lat --backend loop -n 1000'
echo "passed: a plain build on $suite, $(($(date +%s) - begin)) s"
inside 'chmod -R u+w .'
# shellcheck disable=SC2016  # for the shell inside
inside "scripts/packages unit
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $compiler >/dev/null
  case $compiler in clang*) CXX=clang++ ;; *) CXX=g++ ;; esac; export CXX
  \$CXX --version | head -1
  cmake --preset release -DRDMABENCH_WERROR=ON -DRDMABENCH_BENCH=OFF >/dev/null
  cmake --build --preset release -- -k 0
  ctest --preset release --no-tests=error -j 2 -R '_test\$|^lint|^absent|^consumer'"
echo "passed: unit tests on $suite with $compiler, $(($(date +%s) - begin)) s in all"
