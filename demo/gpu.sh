#!/bin/sh
# What follows run.sh: a long benchmark with its report, and kernels on simulated GPUs. Usage: gpu.sh BUILD_DIR OUTPUT_DIR [PYTHON]
# With a PYTHON that has PyTorch, Rapt is compared with its attention.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
rapt=$1/cli/rapt out=$2 python=${3:-}

step() { printf '\n== %s\n' "$1"; }

mkdir -p "$out"
step "Rates against the peak probed in the same run, the plain definition (math) next to the cpu backend"
"$rapt" bench strix-halo --rows Tiny..Medium --budget 0 --seconds 0.5 --html "$out/report.html" --json "$out/report.json"

step "PyTorch's attention next to Rapt's"
if [ -n "$python" ]; then
  PYTHONPATH=$1/python "$python" -m rapt.bench strix-halo --device cpu --rows "Tiny;Small" --seconds 0.2
else
  echo "not here: no python3 with torch and nanobind; make demo-gpu PYTHON=/path/to/one has it"
fi

# The passes that each has kernels for, bf16, with the sanitizer of kernels on; a GPU of this machine would be hip:0 without the settings.
step "GPU kernels on the simulator: AMD's GPUs, executed instruction by instruction on this CPU; no times"
archs=$(sed -n 's/.*{\.name = "\([^"]*\)", \.vendor = "amd".*/\1/p' "$here/../kernels/architectures.hpp" | paste -sd , -)
gpu=0
for arch in $(echo $archs | tr , ' '); do
  passes=both
  "$rapt" kernels $arch | grep -q backward || passes=fwd
  RAPT_HIP_LIBRARY=$1/sim/lib/libamdhip64.so.7 RAPT_SIM_ARCH=$archs RAPT_SIM_CHECK=all \
    "$rapt" verify --device hip:$gpu --op $passes "b1 hq4 hk2 sq100 sk150 d64 bf16 causal"
  gpu=$((gpu + 1))
done

printf '\nThe report with plots: %s\n' "$out/report.html"
