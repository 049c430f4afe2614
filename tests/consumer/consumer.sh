#!/bin/sh
# Installs the build tree into a prefix of its own, builds a project against it twice, builds and runs the examples, and
# runs those of docs/c.md, docs/python.md and docs/expect.md; before, the ELF headers of what was installed.
# Usage: consumer.sh CMAKE BUILD_DIR PROJECT_DIR SOURCE_DIR WORK_DIR COMPILER PYTHON
set -eu
cmake=$1 build=$2 project=$3 source=$4 work=$5 compiler=$6 python=$7
rm -rf "$work"
export CMAKE_GENERATOR=Ninja  # as scripts/packages installs
mkdir -p "$work"
"$cmake" --install "$build" --prefix "$work/prefix" >"$work/install.log"

# In a Debug build nothing is fortified.
if [ -x "$work/prefix/bin/rdmabench" ] && ! grep -q '^CMAKE_BUILD_TYPE:.*=Debug$' "$build/CMakeCache.txt"; then
  "$python" "$source/tests/integration/binary.py" "$work/prefix/bin/rdmabench" \
    "$(find "$work/prefix" -name 'librdmabench*.so*' -type f | paste -sd ';')"
fi

# The first example in the language $1 of the document $2.
example_of() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/{/^\`\`\`/!p}" "$source/docs/$2"; }
example_of c c.md >"$work/example.c"
example_of python python.md >"$work/example.py"
for language in c cpp python; do example_of $language expect.md >"$work/gate.$language"; done

# Builds the project in $1 in $work/$2.
build_by_package() {
  "$cmake" -S "$1" -B "$work/$2" -DCMAKE_PREFIX_PATH="$work/prefix" -DC_EXAMPLE="$work/example.c" \
    -DC_GATE="$work/gate.c" -DCPP_GATE="$work/gate.cpp" \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug >"$work/$2-configure.log" 2>&1
  "$cmake" --build "$work/$2" >"$work/$2-build.log" || { cat "$work/$2-build.log"; exit 1; }
}
build_by_package "$project" cmake
"$work/cmake/consumer"
"$work/cmake/in_c"
build_by_package "$source/examples" examples
ctest=$(dirname "$cmake")/ctest
"$ctest" --test-dir "$work/examples" --no-tests=error --output-on-failure

pc=$(dirname "$(find "$work/prefix" -name rdmabench.pc)")
PKG_CONFIG_PATH=$pc
export PKG_CONFIG_PATH
# A blank in a path is escaped for a shell.
eval "set -- $(pkg-config --cflags --libs rdmabench)"
"$compiler" -std=c++20 "$project/consumer.cc" -o "$work/by-pkg-config" "$@"
"$work/by-pkg-config"
eval "set -- $(pkg-config --cflags --libs rdmabench-c)"
cc -std=c99 -pedantic -Wall -Werror "$work/example.c" -o "$work/c-by-pkg-config" "$@"
LD_LIBRARY_PATH=$(dirname "$(find "$work/prefix" -name librdmabench-c.so.0)") "$work/c-by-pkg-config" | grep -qx '2 rows, code 0'

# The module finds the library of its prefix by itself.
(unset RDMABENCH_LIBRARY
 PYTHONPATH=$work/prefix/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1 "$python" "$work/example.py") \
  | tee "$work/python.log" | grep -qx 'usage Did you mean `depth`?'

# The gates of docs/expect.md; that in Python writes what the one in C judges.
cd "$work"
(unset RDMABENCH_LIBRARY
 PYTHONPATH=$work/prefix/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1 "$python" gate.python)
"$work/cmake/gate_c" | grep -q '"status": "PASS"'
grep -q '<testsuite' gate.xml && rm gate.xml
"$work/cmake/gate_cpp"
grep -q '<testsuite' gate.xml
