// Tensors between opsmith's files (.npy, .npz) and onnxruntime, and the relative error.
'use strict';
const fs = require('node:fs');
const zlib = require('node:zlib');

const kinds = {
  f4: { array: Float32Array, type: 'float32' },
  f8: { array: Float64Array, type: 'float64' },
  i8: { array: BigInt64Array, type: 'int64' },
  i4: { array: Int32Array, type: 'int32' },
  u1: { array: Uint8Array, type: 'uint8' },
  i1: { array: Int8Array, type: 'int8' },
  b1: { array: Uint8Array, type: 'bool' },
};

function parseNpy(bytes) {
  const wide = bytes[6] > 1;
  const length = wide ? bytes.readUInt32LE(8) : bytes.readUInt16LE(8);
  const begin = wide ? 12 : 10;
  const header = bytes.toString('latin1', begin, begin + length);
  const kind = kinds[/'descr': '[<|]([a-z][0-9])'/.exec(header)[1]];
  const dims = (/'shape': \(([^)]*)\)/.exec(header)[1].match(/\d+/g) || []).map(Number);
  // Copied, so that the typed array is aligned.
  const data = Uint8Array.from(bytes.subarray(begin + length)).buffer;
  return { type: kind.type, dims, data: new kind.array(data) };
}

function writeNpy(path, { data, dims }) {
  const code = Object.keys(kinds).find((key) => data instanceof kinds[key].array);
  const shape = dims.map((size) => `${size},`).join(' ');
  let header = `{'descr': '${code[1] === '1' ? '|' : '<'}${code}', 'fortran_order': False, ` +
    `'shape': (${shape}), }`;
  header = header.padEnd(Math.ceil((10 + header.length + 1) / 64) * 64 - 11) + '\n';
  const start = Buffer.from('\x93NUMPY\x01\x00\x00\x00', 'latin1');
  start.writeUInt16LE(header.length, 8);
  const body = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  fs.writeFileSync(path, Buffer.concat([start, Buffer.from(header, 'latin1'), body]));
}

// Every array of an .npz by name (below 4 GB).
function readNpz(path) {
  const bytes = fs.readFileSync(path);
  const end = bytes.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
  let at = bytes.readUInt32LE(end + 16);
  const tensors = {};
  for (let i = 0; i < bytes.readUInt16LE(end + 10); ++i) {
    const method = bytes.readUInt16LE(at + 10);
    const packed = bytes.readUInt32LE(at + 20);
    const nameLength = bytes.readUInt16LE(at + 28);
    const local = bytes.readUInt32LE(at + 42);
    const name = bytes.toString('utf8', at + 46, at + 46 + nameLength);
    const begin = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const body = bytes.subarray(begin, begin + packed);
    tensors[name.replace(/\.npy$/, '')] = parseNpy(method === 8 ? zlib.inflateRawSync(body) : body);
    at += 46 + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return tensors;
}

// Seeded standard-normal floats (mulberry32, Box and Muller).
function randomFloats(dims, seed) {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const data = new Float32Array(dims.reduce((product, size) => product * size, 1));
  for (let i = 0; i < data.length; ++i) {
    data[i] = Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  }
  return { type: 'float32', dims, data };
}

// Seeded integers in [0, below).
function randomIntegers(dims, below, seed) {
  const floats = randomFloats(dims, seed).data;
  const data = BigInt64Array.from(floats, (v) => BigInt(Math.floor(Math.abs(v) * 1e4) % below));
  return { type: 'int64', dims, data };
}

// max|a - b| / max|b|; infinity for other shapes and for a NaN on one side only.
function relativeError(a, b) {
  if (String(a.dims) !== String(b.dims)) return Infinity;
  let difference = 0;
  let largest = 0;
  for (let i = 0; i < b.data.length; ++i) {
    const x = Number(a.data[i]);
    const y = Number(b.data[i]);
    if (Number.isNaN(x) !== Number.isNaN(y)) return Infinity;
    if (x !== y) difference = Math.max(difference, Math.abs(x - y));
    largest = Math.max(largest, Math.abs(y));
  }
  return difference === 0 ? 0 : difference / largest;
}

module.exports = { readNpz, writeNpy, randomFloats, randomIntegers, relativeError };
