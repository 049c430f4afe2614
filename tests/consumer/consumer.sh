#!/bin/sh
# Installs the build tree into a prefix of its own, builds a project against it twice, and builds and runs the examples.
# Usage: consumer.sh CMAKE BUILD_DIR PROJECT_DIR EXAMPLES_DIR WORK_DIR COMPILER
set -eu
cmake=$1 build=$2 project=$3 examples=$4 work=$5 compiler=$6
rm -rf "$work"
export CMAKE_GENERATOR=Ninja  # as scripts/packages installs
mkdir -p "$work"
"$cmake" --install "$build" --prefix "$work/prefix" >"$work/install.log"

# Builds the project in $1 in $work/$2.
build_by_package() {
  "$cmake" -S "$1" -B "$work/$2" -DCMAKE_PREFIX_PATH="$work/prefix" \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug >"$work/$2-configure.log"
  "$cmake" --build "$work/$2" >"$work/$2-build.log" || { cat "$work/$2-build.log"; exit 1; }
}
build_by_package "$project" cmake
"$work/cmake/consumer"
build_by_package "$examples" examples
ctest=$(dirname "$cmake")/ctest
"$ctest" --test-dir "$work/examples" --no-tests=error --output-on-failure

pc=$(dirname "$(find "$work/prefix" -name rdmabench.pc)")
PKG_CONFIG_PATH=$pc
export PKG_CONFIG_PATH
# shellcheck disable=SC2046  # the flags are words
"$compiler" -std=c++20 "$project/consumer.cc" -o "$work/by-pkg-config" \
  $(pkg-config --cflags --libs rdmabench)
"$work/by-pkg-config"
