// opsmith against onnxruntime: for each model and thread count the two take turns, each in a fresh
// process per round, and the median over rounds of each one's median is compared.
//   bench.cjs [--rounds 3] [--seconds 2] [--threads 1,2] [--json FILE] [MODEL ...]
'use strict';
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { opsmith, session, feeds, reference, textModel, work } = require('./tools.cjs');
const { writeNpy, randomFloats } = require('./tensors.cjs');

const models = {
  resnet18: () => ({ file: reference('resnet18'), input: 'input', dims: [1, 3, 224, 224] }),
  resnet50: () => ({ file: reference('resnet50'), input: 'input', dims: [1, 3, 224, 224] }),
  vgg16: () => ({ file: reference('vgg16'), input: 'input', dims: [1, 3, 224, 224] }),
  mobilenet_v2: () => ({ file: reference('mobilenet_v2'), input: 'input', dims: [1, 3, 224, 224] }),
  text_recogniser: () => ({ file: textModel('ch_PP-OCRv4_rec_infer.onnx'), input: 'x', dims: [1, 3, 48, 320] }),
  text_orientation: () => ({ file: textModel('ch_ppocr_mobile_v2.0_cls_infer.onnx'), input: 'x', dims: [1, 3, 48, 192] }),
};

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

// In a child process: runs onnxruntime for some seconds and prints the median in milliseconds.
async function measurePeer({ file, input, dims, threads, seconds }) {
  const peer = await session(file, threads);
  const fed = feeds({ [input]: randomFloats(dims, 1) });
  for (let i = 0; i < 3; ++i) await peer.run(fed);
  const times = [];
  const begin = process.hrtime.bigint();
  while (times.length < 5 || Number(process.hrtime.bigint() - begin) < seconds * 1e9) {
    const start = process.hrtime.bigint();
    await peer.run(fed);
    times.push(Number(process.hrtime.bigint() - start) / 1e6);
  }
  console.log(median(times));
}

function measureOurs({ file, input, dims, threads, seconds }) {
  const json = path.join(work, 'bench.json');
  const data = path.join(work, 'bench-input.npy');
  writeNpy(data, randomFloats(dims, 1));
  opsmith('bench', file, '--quiet', '--input', `${input}=${data}`, '--threads', String(threads),
    '--time-budget', `${seconds}s`, '--json', json);
  return JSON.parse(fs.readFileSync(json, 'utf8')).results[0];
}

function parse(args) {
  const options = { rounds: 3, seconds: 2, threads: [1, 2], json: '', chosen: [] };
  for (let i = 0; i < args.length; ++i) {
    if (args[i] === '--rounds') options.rounds = Number(args[++i]);
    else if (args[i] === '--seconds') options.seconds = Number(args[++i]);
    else if (args[i] === '--threads') options.threads = args[++i].split(',').map(Number);
    else if (args[i] === '--json') options.json = args[++i];
    else if (models[args[i]]) options.chosen.push(args[i]);
    else {
      console.error(`unknown argument '${args[i]}'; models: ${Object.keys(models).join(', ')}`);
      process.exit(2);
    }
  }
  if (options.chosen.length === 0) options.chosen = Object.keys(models);
  return options;
}

function main() {
  const options = parse(process.argv.slice(2));
  const results = [];
  const columns = (...cells) => console.log(cells[0].padEnd(18) + cells[1].padStart(8) +
    cells.slice(2).map((cell) => cell.padStart(15)).join(''));
  columns('model', 'threads', 'opsmith ms', 'onnxruntime ms', 'ratio', '% of peak');
  for (const name of options.chosen) {
    const model = models[name]();
    for (const threads of options.threads) {
      const ours = [];
      const theirs = [];
      let share = 0;
      for (let round = 0; round < options.rounds; ++round) {
        const task = { ...model, threads, seconds: options.seconds };
        const result = measureOurs(task);
        ours.push(result.median_ms);
        share = result.peak_share;
        theirs.push(Number(execFileSync(process.execPath,
          [__filename, '--peer', JSON.stringify(task)], { encoding: 'utf8' })));
      }
      const row = { model: name, threads, opsmith_ms: median(ours), onnxruntime_ms: median(theirs),
        ratio: median(ours) / median(theirs), peak_share: share, rounds: { ours, theirs } };
      results.push(row);
      columns(name, String(threads), row.opsmith_ms.toFixed(3), row.onnxruntime_ms.toFixed(3),
        row.ratio.toFixed(3), (100 * share).toFixed(1));
    }
  }
  console.log('ratio: opsmith over onnxruntime; below 1 opsmith is faster');
  if (options.json) fs.writeFileSync(options.json, JSON.stringify({ results }, null, 2) + '\n');
}

if (process.argv[2] === '--peer') measurePeer(JSON.parse(process.argv[3]));
else main();
