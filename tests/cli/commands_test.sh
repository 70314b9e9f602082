#!/usr/bin/env bash
# Each command does its work on small models, for people and for machines.
set -euo pipefail
source "$(dirname "$0")/common.sh"

json() { /usr/bin/python3 -c "import json, sys; d = json.load(open('$1')); assert $2, d"; }

expect 0 'resnet50' models ls
expect 0 'wrote' models build mobilenet_v2 -o m.onnx --size 32 --divide-width 8 --classes 10
expect 0 'wrote' models build mobilenet_v2 -o other.onnx --size 32 --divide-width 8 --classes 10 \
  --seed 2
expect 2 'resnet50' models build nonsense -o n.onnx
check 'a model of unknown name is not written' absent n.onnx

expect 0 'Conv' inspect "$fashion_mnist" --json inspect.json
check 'inspect counts the multiply-accumulates' json inspect.json '65e6 < d["macs"] < 67e6'
check 'inspect lists the convolutions as targets' json inspect.json \
  'sum(t["operator"] == "Conv" for t in d["targets"]) == 13'
expect 0 'BatchNormalization' inspect "$fashion_mnist" --nodes

expect 0 'logits' run "$fashion_mnist" --input "image=$images[0:8]" --output one.npz
expect 0 'logits' run "$fashion_mnist" --input "$images[0:8]" --threads 2 --output two.npz
check 'the output holds every logit of every image' /usr/bin/python3 - <<'PYTHON'
import numpy
one, two = (numpy.load(name)['logits'] for name in ('one.npz', 'two.npz'))
assert one.shape == (8, 10) and numpy.isfinite(one).all()
assert numpy.abs(one - two).max() <= 1e-5 * numpy.abs(one).max()
# The first eight test images: ankle boot, pullover, trouser, trouser, shirt, trouser, coat, shirt.
assert (one.argmax(1) == [9, 2, 1, 1, 6, 1, 4, 6]).sum() >= 7, one.argmax(1)
PYTHON
expect 0 'logits' run m.onnx --shape input:2x3x32x32 --seed 3

expect 0 'agrees' compare m.onnx m.onnx --shape input:1x3x32x32
expect 3 'differ' compare m.onnx other.onnx --shape input:1x3x32x32 --json compare.json
check 'compare names the first layer that parts' json compare.json \
  'd["agree"] is False and "stem.conv" in d["first_parting"]["node"]'

/usr/bin/python3 -c 'import numpy
numpy.save("x.npy", numpy.random.default_rng(0).standard_normal((1, 3, 32, 32), numpy.float32))'
expect 0 'logits' run m.onnx --input x.npy --output recorded.npz
expect 0 'agrees' compare m.onnx --input x.npy --recorded recorded.npz
expect 3 'differ' compare other.onnx --input x.npy --recorded recorded.npz
expect 2 'belong to inputs' compare m.onnx --recorded recorded.npz
expect 2 'one of' compare m.onnx --input x.npy

expect 0 '% of peak' bench m.onnx other.onnx --threads 1,2 --shape input:1x3x32x32 \
  --time-budget 1s --json bench.json
check 'bench gives a result for each model and thread count' json bench.json \
  'sorted((r["model"], r["threads"]) for r in d["results"]) == [("m.onnx", 1), ("m.onnx", 2), ("other.onnx", 1), ("other.onnx", 2)] and all(0 < r["median_ms"] <= r["p90_ms"] and r["peak_share"] > 0 for r in d["results"])'
expect 0 'slowest first' bench m.onnx --profile --shape input:1x3x32x32 --time-budget 1s

expect 0 'fold' export m.onnx -o folded.onnx --simplify
expect 0 'agrees' compare m.onnx folded.onnx --shape input:1x3x32x32
expect 0 'would write' export m.onnx -o dry.onnx --dry-run
check 'a dry run writes nothing' absent dry.onnx

expect 0 '' cache ls --json cache.json
expect 0 'wrote' cache export -o copy.db
expect 0 'took over' cache merge copy.db
expect 0 'dropped' cache prune --keep 1
finish
