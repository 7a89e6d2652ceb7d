#!/bin/sh
# The main job on this machine's CPU, over real text. Usage: run.sh BUILD_DIR OUTPUT_DIR [TEXT]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
rapt=$1/cli/rapt out=$2
shift 2

step() { printf '\n== %s\n' "$1"; }

step "This machine"
"$rapt" doctor

step "The q, k and v of a transformer layer over real text"
python3 "$here/embed_text.py" "$out" "$@"

step "Causal attention over them"
for dtype in fp32 bf16; do
  "$rapt" run --input "$out/text-$dtype.safetensors" --causal --lse --output "$out/attended-$dtype.safetensors"
done
python3 "$here/check_output.py" "$out"

step "Forward and backward of the same tensors against the float64 oracle"
for dtype in fp32 bf16; do
  "$rapt" verify --input "$out/text-$dtype.safetensors" --causal
done

step "Rates against the peak probed in the same run, the plain definition (math) next to the cpu backend"
"$rapt" bench strix-halo --rows Tiny..Small --budget 0 --seconds 0.2

printf '\nNext: make demo-gpu   # kernels on simulated AMD GPUs, and a long benchmark with an HTML report\n'
printf 'Your own text: make demo TEXT=/path/to/a/file\n'
