#!/bin/sh
# Installs the build tree into a prefix of its own, and builds a project against it twice.
# Usage: consumer.sh CMAKE BUILD_DIR PROJECT_DIR WORK_DIR COMPILER
set -eu
cmake=$1 build=$2 project=$3 work=$4 compiler=$5
rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$build" --prefix "$work/prefix" >"$work/install.log"

"$cmake" -S "$project" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug >"$work/configure.log"
"$cmake" --build "$work/cmake" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
"$work/cmake/consumer"

pc=$(dirname "$(find "$work/prefix" -name rdmabench.pc)")
PKG_CONFIG_PATH=$pc
export PKG_CONFIG_PATH
# The installed prefix is not the one configured, so pkg-config is told.
# shellcheck disable=SC2046  # the flags are words
"$compiler" -std=c++20 "$project/consumer.cc" -o "$work/by-pkg-config" \
  $(pkg-config --define-variable=prefix="$work/prefix" --cflags --libs rdmabench)
"$work/by-pkg-config"
