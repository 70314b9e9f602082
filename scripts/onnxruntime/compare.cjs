// onnxruntime as the judge: models that opsmith wrote, and models that opsmith runs, must give the
// same outputs in both. Exit code 1 when any differs by more than 1e-4 relative.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { opsmith, session, feeds, reference, textModel, work } = require('./tools.cjs');
const { readNpz, writeNpy, randomFloats, randomIntegers, relativeError } = require('./tensors.cjs');

const tolerance = 1e-4;
let failures = 0;
let passes = 0;

function report(what, error, note = '') {
  const good = error <= tolerance;
  if (good) ++passes; else ++failures;
  console.log(`${good ? 'ok    ' : 'FAILED'}  ${error.toExponential(2).padStart(9)}  ${what}${note}`);
}

// `ours` runs in opsmith and `theirs` in onnxruntime, on the same inputs.
async function compare(what, ours, theirs, inputs, threads = 2) {
  try {
    const args = ['run', ours, '--quiet', '--threads', String(threads)];
    for (const [name, tensor] of Object.entries(inputs)) {
      const file = path.join(work, `input-${Object.keys(inputs).indexOf(name)}.npy`);
      writeNpy(file, tensor);
      args.push('--input', `${name}=${file}`);
    }
    const output = path.join(work, 'output.npz');
    opsmith(...args, '--output', output);
    const mine = readNpz(output);
    const peer = await session(theirs, threads);
    const right = await peer.run(feeds(inputs));
    let worst = 0;
    for (const name of peer.outputNames) {
      if (!mine[name]) throw new Error(`opsmith has no output '${name}'`);
      worst = Math.max(worst, relativeError(mine[name], { dims: right[name].dims, data: right[name].data }));
    }
    await peer.release();
    report(what, worst);
  } catch (error) {
    report(what, Infinity, `\n        ${error.message.trim().replaceAll('\n', '\n        ')}`);
  }
}

async function compareReferenceModels() {
  for (const name of ['resnet18', 'resnet50', 'vgg16', 'mobilenet_v2']) {
    const model = reference(name);
    for (const batch of [1, 3]) {
      await compare(`${name}, batch ${batch}`, model, model,
        { input: randomFloats([batch, 3, 224, 224], 7 + batch) });
    }
  }
}

// Other families at a size that takes little time.
async function compareOtherFamilies() {
  for (const name of ['resnet34', 'resnext50', 'densenet121', 'googlenet', 'efficientnet_b0']) {
    const model = reference(name, '--size', '64');
    await compare(`${name} at 64x64, batch 2`, model, model, { input: randomFloats([2, 3, 64, 64], 3) });
  }
  for (const opset of ['13', '17']) {
    const bert = reference('bert_base', '--size', '32', '--divide-width', '4', '--opset', opset);
    await compare(`bert_base, quarter width, opset ${opset}, batch 2`, bert, bert, {
      input_ids: randomIntegers([2, 32], 1000, 5),
      attention_mask: { type: 'int64', dims: [2, 32], data: new BigInt64Array(64).fill(1n).fill(0n, 50) },
    });
    const gpt = reference('gpt2', '--size', '32', '--divide-width', '4', '--opset', opset);
    await compare(`gpt2, quarter width, opset ${opset}, batch 2`, gpt, gpt,
      { input_ids: randomIntegers([2, 32], 1000, 6) });
  }
}

async function compareTextModels() {
  const recogniser = textModel('ch_PP-OCRv4_rec_infer.onnx');
  for (const batch of [1, 3]) {
    for (const width of [160, 320, 333]) {
      await compare(`text recogniser, width ${width}, batch ${batch}`, recogniser, recogniser,
        { x: randomFloats([batch, 3, 48, width], width + batch) });
    }
    const classifier = textModel('ch_ppocr_mobile_v2.0_cls_infer.onnx');
    await compare(`text orientation, batch ${batch}`, classifier, classifier,
      { x: randomFloats([batch, 3, 48, 192], 11 + batch) });
  }
}

// What `optimize` writes, with functions and with plain nodes, in three generations of ONNX.
async function compareOptimized() {
  const calibration = path.join(work, 'calibration.npy');
  writeNpy(calibration, randomFloats([64, 3, 32, 32], 1));
  for (const opset of ['9', '13', '17']) {
    const original = reference('resnet18', '--size', '32', '--divide-width', '4', '--opset', opset);
    const folder = path.join(work, `optimized-${opset}`);
    fs.rmSync(folder, { recursive: true, force: true });
    try {
      opsmith('optimize', original, '-o', folder, '--quiet', '--max-flops', '50%',
        '--calibration', calibration);
    } catch (error) {
      report(`optimize, opset ${opset}`, Infinity, `\n        ${error.message}`);
      continue;
    }
    const functions = path.join(folder, 'model.onnx');
    const plain = path.join(work, `inline-${opset}.onnx`);
    opsmith('export', functions, '-o', plain, '--inline');
    const inputs = { input: randomFloats([3, 3, 32, 32], 21) };
    await compare(`optimized, opset ${opset}, as functions`, functions, functions, inputs);
    await compare(`optimized, opset ${opset}, --inline`, functions, plain, inputs);
  }
}

async function main() {
  const parts = { optimized: compareOptimized, reference: compareReferenceModels,
    families: compareOtherFamilies, text: compareTextModels };
  const chosen = process.argv.slice(2);
  for (const name of chosen) {
    if (!parts[name]) {
      console.error(`unknown part '${name}'; there are ${Object.keys(parts).join(', ')}`);
      process.exit(2);
    }
  }
  console.log('         error  model');
  for (const [name, part] of Object.entries(parts)) {
    if (chosen.length === 0 || chosen.includes(name)) await part();
  }
  console.log(`${passes} passed, ${failures} failed`);
  process.exit(failures ? 1 : 0);
}

main();
