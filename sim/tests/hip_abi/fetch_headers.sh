#!/bin/sh
# Puts real HIP headers into FOLDER/5 (Debian's 5.2), FOLDER/6 (6.2) and FOLDER/7 (7.1, both inside PyPI's triton).
# Nothing is compiled into the product: hip_abi_test compares our layouts with them (RAPT_HIP_HEADERS=FOLDER).
set -eu

folder=$(realpath -m "${1:?usage: fetch_headers.sh FOLDER}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$folder"
cd "$work"

apt-get download libamdhip64-dev
dpkg -x libamdhip64-dev_*.deb debian
rm -rf "$folder/5" && cp -r debian/usr/include "$folder/5"

for pair in 6:3.3.1 7:3.9.0; do
  release=${pair%%:*} version=${pair#*:}
  python3 -m pip download -q --no-deps --only-binary=:all: -d "wheel$release" "triton==$version"
  python3 -m zipfile -e wheel"$release"/triton-*.whl "unpacked$release"
  rm -rf "${folder:?}/$release" && cp -r "unpacked$release/triton/backends/amd/include" "$folder/$release"
done
