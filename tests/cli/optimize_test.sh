#!/usr/bin/env bash
# optimize: what it writes, the gates that it may miss, and that a missed gate loses nothing.
set -euo pipefail
source "$(dirname "$0")/common.sh"

# One layer only, so that this stays quick.
one_layer=()
for block in 0 1 2 3; do
  one_layer+=(--exclude "/blocks/blocks.$block/conv1/Conv" --exclude "/blocks/blocks.$block/conv2/Conv")
done
one_layer+=(--exclude /blocks/blocks.4/conv1/Conv)
training=/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz
optimize=(optimize "$fashion_mnist" "${one_layer[@]}" --calibration "$training[0:8]" --quiet)

# The labels are the original's own answers: whatever the substituted model changes is a loss.
"$opsmith" run "$fashion_mnist" --input "image=$images[0:400]" --output answers.npz >run.txt 2>&1
/usr/bin/python3 -c 'import numpy
numpy.save("labels.npy", numpy.load("answers.npz")["logits"].argmax(1))'
evaluation=(--evaluation "$images[0:400]" --labels labels.npy)

complete() {
  for file in model.onnx report.html report.json config.json; do
    [[ -s $1/$file ]] || return 1
  done
  [[ $(find "$1" -type f | wc -l) -eq 4 ]]
}
json() { /usr/bin/python3 -c "import json; d = json.load(open('$1')); assert $2, d"; }

expect 0 'MACs' "${optimize[@]}" -o good --max-flops 92% "${evaluation[@]}" --max-accuracy-loss 50
check 'a met gate leaves the four files' complete good
check 'the report holds what was measured' json good/report.json \
  'd["original"]["accuracy"] == 100 and 50 <= d["optimized"]["accuracy"] <= 100 and d["optimized"]["macs"] <= 0.92 * d["original"]["macs"] and d["optimized"]["parameters"] < d["original"]["parameters"] and all(v > 0 for v in d["optimized"]["latency_ms"].values())'
check 'the report looks nothing up elsewhere' bash -c '! grep -qE "(src|href)=.?https?:" good/report.html'
expect 0 'logits' run good/model.onnx --input "image=$images[0:2]"
expect 0 'MACs' "${optimize[@]}" -o dry --max-flops 92% --dry-run
check 'a dry run writes nothing' absent dry

expect 0 'MACs' optimize --replay good/config.json -o again --quiet
check 'a replay leaves the four files' complete again
check 'a replay repeats the flags and takes further ones' json again/config.json \
  'd["arguments"][:-3] == json.load(open("good/config.json"))["arguments"] and d["output_folder"] == "again" and d["max_macs"] == "92%"'
expect 2 'records no run' optimize --replay good/report.json -o again

expect 3 'accuracy' "${optimize[@]}" -o loss --max-flops 90.4% "${evaluation[@]}" \
  --max-accuracy-loss 0
check 'a missed accuracy gate still leaves the best' complete loss
expect 0 'logits' run loss/model.onnx --input "image=$images[0:2]"
expect 3 'limit' "${optimize[@]}" -o slow --max-latency 1%
check 'a missed latency gate still leaves the best' complete slow
expect 0 'logits' run slow/model.onnx --input "image=$images[0:2]"
finish
