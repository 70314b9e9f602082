// Models of grouped convolutions, for benchmarks: a chain of 3x3 convolutions with ReLU, so that what
// a runtime spends on its inputs' and outputs' layout does not count.
'use strict';
const fs = require('node:fs');
const { randomFloats } = require('./tensors.cjs');

// Just enough of protocol buffers: fields are [number, value], a value is an integer, a string, bytes
// or nested fields.
function varint(value) {
  const bytes = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}

function encode(fields) {
  return Buffer.concat(fields.flatMap(([number, value]) => {
    if (typeof value === 'number') return [varint(number * 8), varint(value)];
    const bytes = Array.isArray(value) ? encode(value) : Buffer.from(value);
    return [varint(number * 8 + 2), varint(bytes.length), bytes];
  }));
}

const kFloat = 1;
const kInteger = 2;
const kIntegers = 7;
const integer = (name, value) => [5, [[1, name], [3, value], [20, kInteger]]];
const integers = (name, values) => [5, [[1, name], ...values.map((v) => [8, v]), [20, kIntegers]]];
const node = (type, inputs, output, attributes = []) => [1,
  [...inputs.map((name) => [1, name]), [2, output], [3, output], [4, type], ...attributes]];
const tensor = (name, dims, data) => [5, [...dims.map((dim) => [1, dim]), [2, kFloat], [8, name],
  [9, Buffer.from(data.buffer, data.byteOffset, data.byteLength)]]];
const described = (field, name, dims) => [field,
  [[1, name], [2, [[1, [[1, kFloat], [2, dims.map((dim) => [1, [[1, dim]]])]]]]]]];

// Writes the chain and returns its input's dimensions.
function writeGroupedChain(file, { channels, size, groups, layers }) {
  const dims = [1, channels, size, size];
  const graph = [[2, 'grouped']];
  for (let i = 0; i < layers; ++i) {
    const shape = [channels, channels / groups, 3, 3];
    const weights = randomFloats(shape, i + 1).data;
    const scale = Math.sqrt(2 / (9 * channels / groups));
    weights.forEach((value, at) => { weights[at] = value * scale; });
    graph.push(tensor(`weight${i}`, shape, weights));
    graph.push(node('Conv', [i === 0 ? 'input' : `relu${i - 1}`, `weight${i}`], `conv${i}`,
      [integer('group', groups), integers('pads', [1, 1, 1, 1]), integers('kernel_shape', [3, 3])]));
    graph.push(node('Relu', [`conv${i}`], i + 1 === layers ? 'output' : `relu${i}`));
  }
  graph.push(described(11, 'input', dims), described(12, 'output', dims));
  fs.writeFileSync(file, encode([[1, 8], [7, graph], [8, [[2, 13]]]]));
  return dims;
}

module.exports = { writeGroupedChain };
