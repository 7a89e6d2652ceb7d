#!/bin/sh
# If libraries are missing, configuring names all of them at once, and the line that installs them. Usage: missing.sh
# CMAKE SOURCE_DIR OPTIONS... options for every configuration: the compiler and the build tool
set -eu

cmake=$1 source=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect PACKAGES OPTIONS...: with these options, exactly these packages are missing.
expect() {
  packages=$1
  shift
  if "$cmake" -S "$source" -B "$work/build" "$@" >"$work/log" 2>&1; then
    echo "configured without $packages: $*"
    exit 1
  fi
  rm -rf "$work/build"
  grep -qxF -- "    sudo apt-get install $packages" "$work/log" && return
  cat "$work/log"
  echo "not said: sudo apt-get install $packages"
  exit 1
}

nowhere="-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF -DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF"
expect nlohmann-json3-dev -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON "$@"
expect "nlohmann-json3-dev libfmt-dev libcli11-dev libzstd-dev libgtest-dev" $nowhere "$@"
expect "nlohmann-json3-dev libzstd-dev" $nowhere -DRAPT_BUILD_CLI=OFF -DRAPT_BUILD_TESTS=OFF "$@"
expect "nlohmann-json3-dev libfmt-dev libcli11-dev libzstd-dev zlib1g-dev" $nowhere \
  -DRAPT_BUILD_SIM=ON -DRAPT_BUILD_TESTS=OFF "$@"
