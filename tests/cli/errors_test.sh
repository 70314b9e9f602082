#!/usr/bin/env bash
# Every kind of bad input gives its clear error and exit code, and leaves nothing half-written.
set -euo pipefail
source "$(dirname "$0")/common.sh"

# Flags.
expect 2 'subcommand is required'
expect 2 'See opsmith --help' frobnicate
expect 2 '--no-such-flag' inspect "$fashion_mnist" --no-such-flag
expect 0 'Examples' --help
expect 0 '0.1' --version

# Model files.
expect 2 'missing.onnx' inspect missing.onnx
echo 'hello, this is no model' >text.onnx
expect 2 'text.onnx' inspect text.onnx
: >empty.onnx
expect 2 'empty.onnx' inspect empty.onnx
size=$(stat -c %s "$fashion_mnist")
for share in 10 50 99; do
  head -c $((size * share / 100)) "$fashion_mnist" >truncated.onnx
  expect 2 'truncated.onnx' inspect truncated.onnx
  expect 2 'truncated.onnx' optimize truncated.onnx -o out --max-flops 40% --calibration "$images"
done
mkdir folder.onnx
expect 2 'folder.onnx' inspect folder.onnx
check 'no output folder was made for a bad model' absent out

# External data that is missing or truncated.
"$opsmith" models build resnet18 -o small.onnx --size 32 --divide-width 8 --classes 10 >log.txt
/usr/bin/python3 - <<'PYTHON' || echo 'skipped: no python3-onnx to write external data'
import onnx
model = onnx.load('small.onnx')
onnx.save_model(model, 'external.onnx', save_as_external_data=True, location='external.bin',
                size_threshold=16)
PYTHON
if [[ -f external.onnx ]]; then
  expect 0 'stem.conv' inspect external.onnx
  truncate -s 1000 external.bin
  expect 2 'external.bin' inspect external.onnx
  rm external.bin
  expect 2 'external.bin' inspect external.onnx
fi

# Inputs of run.
expect 2 'missing.npy' run small.onnx --input input=missing.npy
expect 2 "no input 'x'" run "$fashion_mnist" --input "x=$images[0:1]"
expect 2 'has shape' run small.onnx --input "input=$images[0:1]"
expect 2 'is not within' run "$fashion_mnist" --input "image=$images[9999:10002]"
head -c 5000 "$images" >cut-idx3-ubyte.gz
expect 2 'cut-idx3-ubyte.gz' run "$fashion_mnist" --input image=cut-idx3-ubyte.gz
expect 2 'not written as' run "$fashion_mnist" --shape image:1xtwo
expect 2 'image' run "$fashion_mnist" --shape image:1x3x28x28
expect 2 'nothing' run "$fashion_mnist" --shape nothing:1x3x28x28

# An operator that nobody knows passes through but cannot be run: nothing is measured.
sed 's/Relu/Rely/g' small.onnx >unknown.onnx
expect 0 'Rely' inspect unknown.onnx
expect 0 'wrote' export unknown.onnx -o through.onnx
check 'an unknown operator survives import and export' grep -q Rely through.onnx
expect 2 'Rely' run unknown.onnx --shape input:1x3x32x32
expect 4 'Rely' bench unknown.onnx --shape input:1x3x32x32

# Outputs.
expect 2 'does not exist' run "$fashion_mnist" --output no/such/folder/out.npz
expect 2 'results are written as' run "$fashion_mnist" --shape image:1x1x28x28 --output out.txt2
check 'a refused format writes nothing' absent out.txt2
cp small.onnx input.onnx
expect 2 'overwrite' export input.onnx -o input.onnx
expect 2 'overwrite' export input.onnx -o ./input.onnx
check 'the input is untouched' cmp -s small.onnx input.onnx
expect 2 'overwritten by its weights' export small.onnx -o small.npz --format pytorch
check 'nothing is written in place of the weights' absent small.npz

# Optimize.
calibration=(--calibration "$images[0:64]")
expect 2 'no calibration data' optimize "$fashion_mnist" -o out --max-flops 40%
expect 2 'no budget' optimize "$fashion_mnist" -o out "${calibration[@]}"
expect 2 'abc' optimize "$fashion_mnist" -o out --max-flops abc "${calibration[@]}"
expect 2 '--labels belong' optimize "$fashion_mnist" -o out --max-flops 40% "${calibration[@]}" \
  --labels labels.npy
expect 2 'needs --evaluation' optimize "$fashion_mnist" -o out --max-flops 40% \
  "${calibration[@]}" --max-accuracy-loss 1
expect 2 'has shape' optimize small.onnx -o out --max-flops 40% "${calibration[@]}"
expect 2 'out-file' optimize "$fashion_mnist" -o "$(touch out-file; echo out-file)" \
  --max-flops 40% "${calibration[@]}"
expect 2 'no-such-layer' optimize "$fashion_mnist" -o out --max-flops 40% "${calibration[@]}" \
  --exclude no-such-layer
check 'no refused run made the output folder' absent out
mkdir own && cp "$fashion_mnist" own/model.onnx
expect 2 'overwrite' optimize own/model.onnx -o own --max-flops 40% "${calibration[@]}"
check 'the input of a refused run is untouched' cmp -s "$fashion_mnist" own/model.onnx
if [[ $EUID -ne 0 ]]; then
  mkdir locked && chmod 555 locked
  expect 2 'locked' optimize "$fashion_mnist" -o locked/out --max-flops 40% "${calibration[@]}"
fi
expect 2 '/proc' optimize "$fashion_mnist" -o /proc/out --max-flops 40% "${calibration[@]}"
expect 2 'out of reach' optimize "$fashion_mnist" -o tight --max-flops 0.001% "${calibration[@]}"
check "an unreachable budget writes nothing" absent tight

# The database of schedules.
expect 2 'absent.db' cache merge absent.db
finish
