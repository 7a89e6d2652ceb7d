#!/bin/sh
# The main job on this machine, over real text. Usage: run.sh BUILD_DIR OUTPUT_DIR BENCH_SECONDS [PYTHON]
# If PYTHON has PyTorch, Rapt is compared with PyTorch's attention.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
rapt=$1/cli/rapt out=$2 budget=$3 python=${4:-}

step() { printf '\n== %s\n' "$1"; }

step "This machine"
"$rapt" doctor

step "The q, k and v of a transformer layer over real text"
python3 "$here/embed_text.py" "$out"

step "Causal attention over them"
for dtype in fp32 bf16; do
  "$rapt" run --input "$out/text-$dtype.safetensors" --causal --lse --output "$out/attended-$dtype.safetensors"
done
python3 "$here/check_output.py" "$out/text-fp32.safetensors" "$out/attended-fp32.safetensors"

step "Forward and backward of the same tensors against the float64 oracle"
for dtype in fp32 bf16; do
  "$rapt" verify --input "$out/text-$dtype.safetensors" --causal
done

step "Rates against the peak probed in the same run, the plain definition (math) next to the cpu backend"
"$rapt" bench strix-halo --budget "$budget" --html "$out/report.html" --json "$out/report.json"

step "PyTorch's attention next to Rapt's"
if [ -n "$python" ]; then
  PYTHONPATH=$1/python "$python" -m rapt.bench strix-halo --device cpu --rows "Tiny;Small" --seconds 0.2
else
  echo "left out: no python3 here has torch and nanobind; name one with make demo PYTHON=/path/to/python3"
fi

# Both passes in bf16 on each GPU, with the kernel sanitizer on. Without these settings hip:0 would be a real GPU.
step "GPU kernels on the simulator: AMD's GPUs, executed instruction by instruction on this CPU; no times"
archs=$(sed -n 's/.*{\.name = "\([^"]*\)", \.vendor = "amd".*/\1/p' "$(dirname "$0")/../kernels/architectures.hpp" | paste -sd , -)
gpu=0
for arch in $(echo $archs | tr , ' '); do
  RAPT_HIP_LIBRARY=$1/sim/lib/libamdhip64.so.7 RAPT_SIM_ARCH=$archs RAPT_SIM_CHECK=all \
    "$rapt" verify --device hip:$gpu "b1 hq4 hk2 sq100 sk150 d64 bf16 causal"
  gpu=$((gpu + 1))
done

printf '\nThe report with plots: %s\n' "$out/report.html"
