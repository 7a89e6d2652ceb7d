#!/bin/sh
# Installs a build into a temporary prefix, lets the project in this folder find, link and run it, by CMake and by
# pkg-config, and takes it out again.
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

# pkg-config says the same as CMake, also after the prefix has moved.
mv "$work/prefix" "$work/moved"
PKG_CONFIG_PATH=$(dirname "$(find "$work/moved" -name rapt.pc)")
export PKG_CONFIG_PATH
flags=$(pkg-config --cflags --libs rapt)
"$cxx" -std=c++20 "$here/from_cpp.cpp" $flags -o "$work/by_pkg_config"
LD_LIBRARY_PATH=$(pkg-config --variable=libdir rapt) "$work/by_pkg_config"
grep -qF "\"$(pkg-config --modversion rapt)\"" "$PKG_CONFIG_PATH/../cmake/rapt/rapt-config-version.cmake"

# Nothing is left of an installation that is taken out.
mv "$work/moved" "$work/prefix"
"$here/../../tools/uninstall" "$build"
if [ -e "$work/prefix" ]; then
  find "$work/prefix"
  echo "tools/uninstall left these"
  exit 1
fi
