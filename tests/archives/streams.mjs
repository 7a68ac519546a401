// SPDX-License-Identifier: Apache-2.0
// Writes gzip members and zstd frames whose headers and trailers can lie, and bombs that cost nothing to make.

import zlib from 'node:zlib';
import { bytes } from './tar.mjs';

const u32 = (n) => {
  const b = Buffer.alloc(4);

  b.writeUInt32LE(n >>> 0);
  return b;
};
const u64 = (n) => {
  const b = Buffer.alloc(8);

  b.writeBigUInt64LE(BigInt(n));
  return b;
};

const FLAGS = { text: 1, hcrc: 2, extra: 4, name: 8, comment: 16 };

// One gzip member. f: name, comment, extra, hcrc (true or a number), text, flags (or-ed in), method, magic, crc, isize,
// raw (the deflate stream), trailer (bytes instead of CRC and size), level.
export function gzip(data, f = {}) {
  const b = bytes(data);
  let flags = f.flags ?? 0;

  for (const [key, bit] of Object.entries(FLAGS))
    flags |= f[key] === undefined ? 0 : bit;
  const head = [bytes(f.magic ?? Buffer.from([0x1f, 0x8b])), Buffer.from([f.method ?? 8, flags]), u32(0), Buffer.from([0, 3])];

  if (f.extra !== undefined)
    head.push(Buffer.from([bytes(f.extra).length & 255, bytes(f.extra).length >> 8]), bytes(f.extra));
  for (const text of [f.name, f.comment]) {
    if (text !== undefined)
      head.push(bytes(text), Buffer.alloc(1));
  }
  if (f.hcrc !== undefined) {
    const crc = f.hcrc === true ? zlib.crc32(Buffer.concat(head)) : f.hcrc;

    head.push(u32(crc).subarray(0, 2));
  }
  const raw = f.raw ?? zlib.deflateRawSync(b, { level: f.level ?? 6 });

  return Buffer.concat([...head, raw, f.trailer ?? Buffer.concat([u32(f.crc ?? zlib.crc32(b)), u32(f.isize ?? b.length)])]);
}

// The data cut into pieces of n bytes, each a member of its own.
export function members(data, n, f = {}) {
  const out = [];

  for (let at = 0; at < data.length; at += n)
    out.push(gzip(data.subarray(at, at + n), f));
  return Buffer.concat(out);
}

// A deflate stream that says `data` once and then `times` times `unit` (whole 64 KiB pieces, so that every repetition
// is the same bytes): a bomb is as cheap as the bytes it occupies.
export function deflateRepeated(data, unit, times) {
  const flush = { finishFlush: zlib.constants.Z_FULL_FLUSH, level: 9 };
  const once = zlib.deflateRawSync(unit, flush);

  return Buffer.concat([zlib.deflateRawSync(data, flush), ...Array(times).fill(once), Buffer.from([3, 0])]);
}

export const zstd = (data, { checksum = true, level = 3, windowLog } = {}) => zlib.zstdCompressSync(data, {
  params: {
    [zlib.constants.ZSTD_c_compressionLevel]: level,
    [zlib.constants.ZSTD_c_checksumFlag]: checksum ? 1 : 0,
    ...(windowLog ? { [zlib.constants.ZSTD_c_windowLog]: windowLog } : {}),
  },
});

const BLOCK_MAX = 128 << 10;
const RAW = 0;
const RLE = 1;
const RESERVED = 3;

function block(type, size, body, last) {
  const head = Buffer.alloc(3);

  head.writeUIntLE((size << 3) | (type << 1) | (last ? 1 : 0), 0, 3);
  return Buffer.concat([head, body]);
}
export const rleBlock = (byte, size, last = false) => block(RLE, size, Buffer.from([byte]), last);
export const reservedBlock = (last = true) => block(RESERVED, 8, Buffer.alloc(8), last);

// The data as raw blocks of at most 128 KiB.
export function rawBlocks(data, last = true) {
  const out = [];

  for (let at = 0; at < data.length || at === 0; at += BLOCK_MAX) {
    const piece = data.subarray(at, at + BLOCK_MAX);

    out.push(block(RAW, piece.length, piece, last && at + BLOCK_MAX >= data.length));
  }
  return Buffer.concat(out);
}

// A frame around ready blocks. f: window (the descriptor byte: exponent << 3 | mantissa, default 8 MiB), size (content
// size said by the frame, 8 bytes), single (no window, the size counts as one), dict (4-byte id), reserved (a bit that
// must be 0), checksum (4 bytes appended).
export function zstdFrame(blocks, f = {}) {
  const single = f.single ? 0x20 : 0;
  const sized = f.size === undefined ? 0 : 0xc0;
  const descriptor = sized | single | (f.reserved ? 0x08 : 0) | (f.checksum === undefined ? 0 : 0x04) | (f.dict ? 3 : 0);

  return Buffer.concat([
    u32(f.magic ?? 0xfd2fb528), Buffer.from([descriptor]), ...(single ? [] : [Buffer.from([f.window ?? 13 << 3])]),
    ...(f.dict ? [u32(f.dict)] : []), ...(sized ? [u64(f.size)] : []), ...blocks,
    ...(f.checksum === undefined ? [] : [u32(f.checksum)]),
  ]);
}

// A frame that decoders pass over; `length` lies.
export const skippable = (data, n = 0, length) =>
  Buffer.concat([u32(0x184d2a50 + n), u32(length ?? bytes(data).length), bytes(data)]);

// A frame of `prefix` and then n bytes of one value: four bytes for every 128 KiB.
export function zstdRepeated(prefix, byte, n) {
  const one = rleBlock(byte, BLOCK_MAX);

  return zstdFrame([rawBlocks(prefix, false), ...Array(Math.floor(n / BLOCK_MAX)).fill(one), rleBlock(byte, n % BLOCK_MAX, true)]);
}
