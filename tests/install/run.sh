#!/bin/sh
# Installs a build into a temporary prefix and lets the project in this folder find, link and run it.
# Usage: run.sh CMAKE BUILD_DIR CXX_COMPILER
set -eu

cmake=$1 build=$2 cxx=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/prefix" >"$work/install.log"
"$cmake" -G Ninja -S "$here" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$cxx"
"$cmake" --build "$work/build"
for program in from_c from_cpp; do "$work/build/$program"; done

# The installed command finds the installed library without any environment.
if [ -x "$work/prefix/bin/rapt" ]; then "$work/prefix/bin/rapt" --version; fi
