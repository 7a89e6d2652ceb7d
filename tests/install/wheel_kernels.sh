#!/bin/sh
# What kernels a wheel gets on made-up machines. Usage: wheel_kernels.sh CMAKE
set -eu

cmake=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fresh() {
  rm -rf "$work/m"
  mkdir -p "$work/m/bin" "$work/m/nodes/0"
  echo "gfx_target_version 0" >"$work/m/nodes/0/properties" # a processor
}
amd_gpu() { mkdir "$work/m/nodes/$1" && echo "gfx_target_version $1" >"$work/m/nodes/$1/properties"; }
program() { # PATH SCRIPT
  mkdir -p "$(dirname "$work/m/$1")"
  printf '#!/bin/sh\n%s\n' "$2" >"$work/m/$1"
  chmod +x "$work/m/$1"
}
clang() { program "bin/$1" "[ \$# -gt 1 ] && exit ${3:-0}; echo 'clang version $2.1.0'"; }
nvcc() { program "$1" "echo 'Cuda compilation tools, release $2.1, V$2.1.80'"; }

# expect LINE [OPTION...]: LINE is in the output, and it ends with $refused.
expect() {
  line=$1
  shift
  status=0
  env -i PATH="$work/m/bin" VIRTUAL_ENV="$work/m/venv" "$cmake" -DWORK="$work/m" -DRAPT_KFD_NODES="$work/m/nodes" "$@" \
    -P "$here/wheel_kernels.cmake" >"$work/log" 2>&1 || status=$?
  [ "$status" = "$refused" ] || { cat "$work/log"; echo "it ended with $status: $line"; exit 1; }
  grep -qF -- "$line" "$work/log" && return
  cat "$work/log"
  echo "not said: $line"
  exit 1
}
refused=0
all_amd="gfx908;gfx90a;gfx942;gfx950;gfx1100;gfx1151;gfx1201;gfx906"

fresh
expect "archs= build= from="
expect "no GPU kernels for $all_amd: no clang from 20 on, no ROCm and no ziglang is here"
expect "no GPU kernels for sm_80;sm_90;sm_100;sm_110;sm_120: no nvcc is here"
clang clang-21 21
expect "archs=$all_amd build=ON"
expect "archs=gfx942 build=ON" -DRAPT_ARCHS=gfx942
expect "archs=none build= from=" -DRAPT_ARCHS=none
refused=1
expect "RAPT_ARCHS asks for sm_90: no nvcc is here" -DRAPT_ARCHS="gfx942;sm_90"
expect "RAPT_ARCHS asks for gfx900: it is none of" -DRAPT_ARCHS=gfx900
refused=0
amd_gpu 90010
amd_gpu 110501
expect "archs=gfx1151;gfx90a build=ON"
nvcc bin/nvcc 13
expect "archs=gfx1151;gfx90a build=ON"
program bin/nvidia-smi "echo 8.9; echo 12.0"
expect "archs=gfx1151;gfx90a;sm_80;sm_120 build=ON"

fresh # an old clang, and one that has no linker, before ROCm's
clang clang 14
clang clang-22 22 1
expect "clang-22 (clang version 22.1.0) cannot build a kernel for gfx908"
clang amdclang 20
expect "archs=$all_amd build=ON"

fresh # NVIDIA's GPU, whose compiler is pip's; the one on PATH is too old
program bin/nvidia-smi "echo 9.0"
clang clang-22 22
nvcc bin/nvcc 12
expect "archs= build= from="
expect "bin/nvcc is not an nvcc of CUDA 13 or newer"
nvcc venv/lib/python3.11/site-packages/nvidia/cu13/bin/nvcc 13
expect "archs=sm_90 build=ON"

fresh # pip's ziglang
program venv/lib/python3.12/site-packages/ziglang/zig "shift; [ \$# -gt 1 ] || echo 'clang version 21.1.0'"
expect "archs=$all_amd build=ON"

fresh # GPUs that run the kernels of others
clang clang-22 22
amd_gpu 110002
amd_gpu 110500
amd_gpu 110501
expect "gfx1102 runs the kernels of gfx1100"
expect "archs=gfx1100;gfx1151 build=ON"
expect "archs=gfx1201 build=ON" -DRAPT_ARCHS=gfx1200

fresh # a GPU without kernels
clang clang-22 22
amd_gpu 100300
expect "there are no kernels for the GPUs gfx1030, which are here"
expect "archs= build= from="

fresh # archives that are built
mkdir -p "$work/m/checkout/build/release/kernels"
touch "$work/m/checkout/build/release/kernels/gfx942.rapt"
expect "build= from=$work/m/checkout/build/release/kernels"
