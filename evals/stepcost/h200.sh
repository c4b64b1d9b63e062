#!/bin/sh
# Step-time profiles of the 7B and 32B shapes in bfloat16 on one GPU with 141 GB. About eleven minutes; weights are made up.
#   sh evals/stepcost/h200.sh OUT
set -eu
out="${1:?folder for the profiles}"
mkdir -p "$out"
for shape in qwen2.5-7b qwen2.5-32b; do
    redraft eval stepcost --config "evals/stepcost/shapes/$shape.json" --dtype bfloat16 --no-eager \
        --widths 0,1,4,16,64,128,256,512 --contexts 1024,8192 --batches 1,16 --json "$out/stepcost-h200-$shape.json"
done
