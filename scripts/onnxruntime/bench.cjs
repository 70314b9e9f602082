// opsmith against onnxruntime: for each model and thread count the two take turns, each in a fresh
// process per round, and the median over rounds of each one's median is compared.
//   bench.cjs [--rounds 3] [--seconds 2] [--threads 1,2] [--target avx2] [--exact] [--json FILE]
//             [MODEL ... | grouped]
// --target and --exact are for opsmith; onnxruntime uses what the machine has.
'use strict';
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { writeGroupedChain } = require('./grouped.cjs');
const { opsmith, session, feeds, reference, textModel, work } = require('./tools.cjs');
const { writeNpy, randomFloats, randomIntegers } = require('./tensors.cjs');

const tokens = 128;
const ids = () => randomIntegers([1, tokens], 1000, 1);
const image = (name) => () =>
  ({ file: reference(name), inputs: { input: randomFloats([1, 3, 224, 224], 1) } });
const text = (file, width) => () =>
  ({ file: textModel(file), inputs: { x: randomFloats([1, 3, 48, width], 1) } });

const models = {
  ...Object.fromEntries(['resnet18', 'resnet34', 'resnet50', 'resnext50', 'vgg16', 'mobilenet_v2',
    'densenet121', 'googlenet', 'efficientnet_b0'].map((name) => [name, image(name)])),
  bert_base: () => ({
    file: reference('bert_base'),
    inputs: {
      input_ids: ids(),
      attention_mask: { type: 'int64', dims: [1, tokens], data: new BigInt64Array(tokens).fill(1n) },
    },
  }),
  gpt2: () => ({ file: reference('gpt2'), inputs: { input_ids: ids() } }),
  text_recogniser: text('ch_PP-OCRv4_rec_infer.onnx', 320),
  text_orientation: text('ch_ppocr_mobile_v2.0_cls_infer.onnx', 192),
};

// Chains of grouped convolutions as in ResNet-34 and WideResNet-40-2, by groups (0: one for each
// channel): "grouped_64x56_g8".
const chainLayers = 8;
const chains = [[64, 56], [128, 28], [256, 14], [512, 7], [32, 32], [64, 16], [128, 8]];
const grouped = Object.fromEntries(chains.flatMap(([channels, size]) =>
  [1, 2, 4, 8, 16, channels].map((groups) => [`grouped_${channels}x${size}_g${groups}`, () => {
    const file = path.join(work, `grouped-${channels}-${size}-${groups}.onnx`);
    const dims = writeGroupedChain(file, { channels, size, groups, layers: chainLayers });
    return { file, inputs: { input: randomFloats(dims, 1) } };
  }])));

const known = (name) => models[name] || grouped[name];

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

const geometricMean = (values) =>
  Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);

// Bytes of the process now in memory ('VmRSS') or at most so far ('VmHWM').
function resident(field) {
  const line = new RegExp(`${field}:\\s+(\\d+) kB`).exec(fs.readFileSync('/proc/self/status', 'utf8'));
  return Number(line[1]) * 1024;
}

const milliseconds = (since) => Number(process.hrtime.bigint() - since) / 1e6;

// In a child process: runs onnxruntime for some seconds and prints what it took.
async function measurePeer({ name, file, threads, seconds }) {
  const inputs = known(name)().inputs;
  const before = resident('VmRSS');
  const opened = process.hrtime.bigint();
  const peer = await session(file, threads);
  const open = milliseconds(opened);
  const fed = feeds(inputs);
  for (let i = 0; i < 3; ++i) await peer.run(fed);
  const times = [];
  const begin = process.hrtime.bigint();
  while (times.length < 5 || milliseconds(begin) < seconds * 1e3) {
    const start = process.hrtime.bigint();
    await peer.run(fed);
    times.push(milliseconds(start));
  }
  console.log(JSON.stringify(
    { median_ms: median(times), open_ms: open, peak_bytes: resident('VmHWM') - before }));
}

function measureOurs({ file, inputs, threads, seconds, kernels }) {
  const json = path.join(work, 'bench.json');
  const flags = Object.entries(inputs).flatMap(([name, tensor], i) => {
    const data = path.join(work, `bench-input-${i}.npy`);
    writeNpy(data, tensor);
    return ['--input', `${name}=${data}`];
  });
  opsmith('bench', file, '--quiet', ...flags, ...kernels, '--threads', String(threads),
    '--time-budget', `${seconds}s`, '--json', json);
  return JSON.parse(fs.readFileSync(json, 'utf8')).results[0];
}

function parse(args) {
  const options = { rounds: 3, seconds: 2, threads: [1, 2], json: '', kernels: [], chosen: [] };
  for (let i = 0; i < args.length; ++i) {
    if (args[i] === '--rounds') options.rounds = Number(args[++i]);
    else if (args[i] === '--seconds') options.seconds = Number(args[++i]);
    else if (args[i] === '--threads') options.threads = args[++i].split(',').map(Number);
    else if (args[i] === '--target') options.kernels.push('--target', args[++i]);
    else if (args[i] === '--exact') options.kernels.push('--exact');
    else if (args[i] === '--json') options.json = args[++i];
    else if (args[i] === 'grouped') options.chosen.push(...Object.keys(grouped));
    else if (known(args[i])) options.chosen.push(args[i]);
    else {
      console.error(`unknown argument '${args[i]}'; models: ${Object.keys(models).join(', ')}, grouped (or one of ${Object.keys(grouped).join(', ')})`);
      process.exit(2);
    }
  }
  if (options.chosen.length === 0) options.chosen = Object.keys(models);
  return options;
}

function measure(name, threads, options) {
  const model = known(name)();
  const ours = [];
  const theirs = [];
  for (let round = 0; round < options.rounds; ++round) {
    ours.push(measureOurs({ ...model, threads, seconds: options.seconds, kernels: options.kernels }));
    const task = { name, file: model.file, threads, seconds: options.seconds };
    theirs.push(JSON.parse(execFileSync(process.execPath,
      [__filename, '--peer', JSON.stringify(task)], { encoding: 'utf8' })));
  }
  const centre = (runs, field) => median(runs.map((run) => run[field]));
  const ratios = ours.map((run, i) => theirs[i].median_ms / run.median_ms);
  return {
    model: name, threads,
    opsmith_ms: centre(ours, 'median_ms'), onnxruntime_ms: centre(theirs, 'median_ms'),
    ratio: centre(theirs, 'median_ms') / centre(ours, 'median_ms'),
    ratio_range: [Math.min(...ratios), Math.max(...ratios)],
    peak_share: centre(ours, 'peak_share'),
    opsmith_open_ms: centre(ours, 'open_ms'), onnxruntime_open_ms: centre(theirs, 'open_ms'),
    opsmith_peak_bytes: centre(ours, 'peak_bytes'),
    onnxruntime_peak_bytes: centre(theirs, 'peak_bytes'),
    rounds: { ours, theirs },
  };
}

function main() {
  const options = parse(process.argv.slice(2));
  const widths = [20, 8, 12, 10, 8, 13, 8, 17, 18];
  const print = (cells) => console.log(cells.map((cell, i) =>
    i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i])).join(''));
  const mib = (bytes) => (bytes / 2 ** 20).toFixed(0);
  print(['model', 'threads', 'opsmith ms', 'peer ms', 'ratio', 'range', '% peak', 'open ms (peer)',
    'peak MiB (peer)']);
  const results = [];
  for (const name of options.chosen) {
    for (const threads of options.threads) {
      const row = measure(name, threads, options);
      results.push(row);
      print([name, String(threads), row.opsmith_ms.toFixed(2), row.onnxruntime_ms.toFixed(2),
        row.ratio.toFixed(2), row.ratio_range.map((ratio) => ratio.toFixed(2)).join('-'),
        (100 * row.peak_share).toFixed(1),
        `${row.opsmith_open_ms.toFixed(0)} (${row.onnxruntime_open_ms.toFixed(0)})`,
        `${mib(row.opsmith_peak_bytes)} (${mib(row.onnxruntime_peak_bytes)})`]);
    }
  }
  for (const threads of options.threads) {
    const ratios = results.filter((row) => row.threads === threads).map((row) => row.ratio);
    console.log(`geometric mean of ratios at ${threads} thread(s): ${geometricMean(ratios).toFixed(2)}`);
  }
  console.log("ratio: onnxruntime's time over opsmith's; above 1 opsmith is faster");
  if (options.json) fs.writeFileSync(options.json, JSON.stringify({ results }, null, 2) + '\n');
}

if (process.argv[2] === '--peer') measurePeer(JSON.parse(process.argv[3]));
else main();
