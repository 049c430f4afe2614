#!/bin/sh
# Installs the build tree into a prefix of its own. Against that it builds and runs the examples, each of at most 100
# lines: by find_package with this compiler, by pkg-config with the other one where it is installed; and the programs of
# docs/api.md, docs/c.md, docs/python.md and docs/expect.md. Before, the ELF headers of what was installed.
# Usage: consumer.sh CMAKE BUILD_DIR PROJECT_DIR SOURCE_DIR WORK_DIR COMPILER PYTHON
set -eu
cmake=$1 build=$2 project=$3 source=$4 work=$5 compiler=$6 python=$7
ctest=$(dirname "$cmake")/ctest
rm -rf "$work"
export CMAKE_GENERATOR=Ninja  # as scripts/packages installs
mkdir -p "$work/docs"
"$cmake" --install "$build" --prefix "$work/prefix" >"$work/install.log"

# In a Debug build nothing is fortified.
if [ -x "$work/prefix/bin/rdmabench" ] && ! grep -q '^CMAKE_BUILD_TYPE:.*=Debug$' "$build/CMakeCache.txt"; then
  "$python" "$source/tests/integration/binary.py" "$work/prefix/bin/rdmabench" \
    "$(find "$work/prefix" -name 'librdmabench*.so*' -type f | paste -sd ';')"
fi

# A program that a reader copies is short.
for file in "$source"/examples/*.cc "$source"/examples/*.c "$source"/examples/*.py; do
  [ "$(grep -vcE '^ *((//|#) .*)?$' "$file")" -le 100 ] || { echo "$file has more than 100 lines"; exit 1; }
done

# A static library looks for its MPI modules in ../lib/rdmabench of the program. Open MPI's launcher needs the rest on a
# machine of a test, as tests/integration/coll.py says.
ln -s "$(dirname "$(dirname "$(find "$work/prefix" -name rdmabench.pc)")")" "$work/lib"
TMPDIR=$(mktemp -d)
trap 'rm -rf "$TMPDIR"' EXIT
export TMPDIR OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1 \
  OMPI_MCA_osc=^ucx OMPI_MCA_mpi_yield_when_idle=1

# What the last run compiled of the same headers is not compiled again.
if command -v ccache >/dev/null; then
  export CCACHE_BASEDIR="$work" CCACHE_NOHASHDIR=1 CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
# configure FOLDER NAME COMPILER OPTION...: the project in FOLDER, in $work/NAME. build_with builds it, too.
configure() {
  folder=$1 name=$2 cxx=$3
  shift 3
  case $cxx in
    *clang++*) cc=$(echo "$cxx" | sed 's/clang++/clang/') ;;
    *) cc=$(echo "$cxx" | sed 's/g++/gcc/; s/c++/cc/') ;;
  esac
  "$cmake" -S "$folder" -B "$work/$name" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_CXX_FLAGS="-O0 $warnings" -DCMAKE_C_FLAGS="-O0 $warnings" "$@" >"$work/$name-configure.log" 2>&1 ||
    { cat "$work/$name-configure.log"; exit 1; }
}
build_with() {
  configure "$@"
  "$cmake" --build "$work/$name" >"$work/$name-build.log" || { cat "$work/$name-build.log"; exit 1; }
}
run_tests() { "$ctest" --test-dir "$work/$1" --no-tests=error --output-on-failure; }

build_with "$work/prefix/share/doc/rdmabench/examples" by-package "$compiler" -DCMAKE_PREFIX_PATH="$work/prefix"
run_tests by-package

# What a library lacks is not tested, though this machine has it.
cp -al "$work/prefix" "$work/bare"
features=$(find "$work/bare" -name features.h)
sed -E 's/(HAVE_OFI|HAVE_CRYPTO) 1/\1 0/' "$features" >"$work/features.h"
mv -f "$work/features.h" "$features"
configure "$source/examples" bare-build "$compiler" -DCMAKE_PREFIX_PATH="$work/bare"
"$ctest" --test-dir "$work/bare-build" -N >"$work/bare-tests"
grep -q 'example_ping_pong' "$work/bare-tests"
if grep -E 'embed|fabric_of_four|mpi_caller|_ofi|shm' "$work/bare-tests"; then exit 1; fi

# The first release of the other compiler that is here; else this one again.
other=$compiler
case $compiler in *clang*) others="g++ g++-12" ;; *) others="clang++ clang++-14 clang++-19" ;; esac
for candidate in $others; do
  if command -v "$candidate" >/dev/null; then
    other=$(command -v "$candidate")
    break
  fi
done
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name rdmabench.pc)")
LD_LIBRARY_PATH=$(dirname "$(find "$work/prefix" -name librdmabench-c.so.0)")
export PKG_CONFIG_PATH
(export LD_LIBRARY_PATH
 build_with "$source/examples" by-pkg-config "$other" -DRDMABENCH_BY_PKG_CONFIG=ON
 run_tests by-pkg-config)

# The first example in the language $1 of the document $2.
example_of() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/{/^\`\`\`/!p;/^\`\`\`\$/q}" "$source/docs/$2"; }
cd "$work/docs"
example_of cpp api.md >api.cc
example_of c c.md >c.c
example_of c expect.md >gate_c.c
example_of cpp expect.md >gate_cpp.cc
example_of python python.md >example.py
example_of python expect.md >gate.py
build_with "$project" programs "$compiler" -DCMAKE_PREFIX_PATH="$work/prefix" -DSNIPPETS="$work/docs"
programs=$work/programs
"$programs/api" | grep -q '^4096 bytes: p50 '
"$programs/c" | grep -qx '2 rows, code 0'

# Each component by itself, and how much of the static libraries a program of one has in it: bytes at most.
# with_component COMPONENT SOURCE BYTES OPTION...
with_component() {
  component=$1 of=$2 most=$3
  shift 3
  eval "set -- $* $(pkg-config --cflags --libs "rdmabench-$component")"
  "$compiler" -std=c++20 "$of" -o "$work/with-$component" "$@"
  LD_LIBRARY_PATH=$LD_LIBRARY_PATH "$work/with-$component" >"$work/said"
  strip "$work/with-$component"
  size=$(stat -c %s "$work/with-$component")
  echo "a program of rdmabench-$component, $(basename "$of"): $size bytes"
  grep -q '^CMAKE_BUILD_TYPE:.*=Debug$' "$build/CMakeCache.txt" || [ "$size" -le "$most" ]
}
with_component measure "$source/examples/statistics.cc" 500000
with_component report "$project/documents.cc" 1500000
with_component run "$work/docs/api.cc" 5000000
# A client over one back end, as a user compiles it: much of it is the timed loops of each endpoint type, of which verbs
# have six.
for backend in loop:1450000 ofi:1500000 verbs:2500000; do
  name=${backend%:*}
  have=$(echo "RDMABENCH_HAVE_$name" | tr a-z A-Z)
  if ! grep -q "$have 0" "$work/prefix/include/rdmabench/features.h"; then
    with_component run "$project/one_backend.cc" "${backend#*:}" -O2 "-DONLY=${name}_backend"
    [ "$(cat "$work/said")" = "$name" ]
  fi
done

# Whichever header is first, the first error names the C++ that it needs.
eval "set -- $(pkg-config --cflags rdmabench)"
for header in rdmabench.h measure/statistics.h run/client.h; do
  echo "#include <rdmabench/$header>" >"$work/old.cc"
  if "$compiler" -std=c++17 -fsyntax-only "$work/old.cc" "$@" 2>"$work/old.log"; then exit 1; fi
  grep 'error:' "$work/old.log" | head -n 1 | grep -q 'rdmabench needs C++20'
done

# A post that the endpoint type lacks is one error, which says so.
if "$compiler" -std=c++20 -fsyntax-only "$project/lacking_post.cc" "$@" 2>"$work/lacking.log"; then exit 1; fi
[ "$(grep -c 'error:' "$work/lacking.log")" = 1 ]
grep -q 'this endpoint type lacks the operation' "$work/lacking.log"

# The module finds the library of its prefix by itself.
unset RDMABENCH_LIBRARY
PYTHONPATH=$work/prefix/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE
"$python" "$source/examples/measure.py" page.html
"$python" example.py | tee python.log | grep -qx 'usage Did you mean `depth`?'

# The gates; that in Python writes what the one in C judges.
"$python" gate.py
"$programs/gate_c" | grep -q '"status": "PASS"'
grep -q '<testsuite' gate.xml && rm gate.xml
"$programs/gate_cpp"
grep -q '<testsuite' gate.xml
