// SPDX-License-Identifier: Apache-2.0
// Writes zip archives. The local header, the central directory and the end record are made from the same entry, and
// each can be told to lie alone: entry.local, entry.central and options.end override single fields.

import zlib from 'node:zlib';
import { bytes } from './tar.mjs';

export const STORED = 0;
export const DEFLATED = 8;
export const UTF8 = 0x800;
const DESCRIPTOR = 0x8;
const MAX32 = 0xffffffff;
const MAX16 = 0xffff;

// A record: [[width, value]], little endian.
function pack(fields) {
  return Buffer.concat(fields.map(([width, v]) => {
    const b = Buffer.alloc(width);

    if (width === 8)
      b.writeBigUInt64LE(BigInt(v));
    else
      b.writeUIntLE(Number(v), 0, width);
    return b;
  }));
}

export const extra = (id, data) => Buffer.concat([pack([[2, id], [2, bytes(data).length]]), bytes(data)]);
export const zip64Extra = (...values) => extra(1, pack(values.map((v) => [8, v])));
// Info-ZIP's Unicode path: version, CRC of the plain name, the name that is meant.
export const unicodePath = (plain, name, crc = zlib.crc32(bytes(plain))) =>
  extra(0x7075, Buffer.concat([pack([[1, 1], [4, crc]]), bytes(name)]));

// What an entry says of itself unless told otherwise.
function facts(e) {
  const data = bytes(e.data);
  const method = e.method ?? (data.length ? DEFLATED : STORED);
  const raw = e.raw ?? (method === DEFLATED ? zlib.deflateRawSync(data, { level: e.level ?? 6 }) : data);

  return {
    name: bytes(e.name), method, raw, needs: e.zip64 ? 45 : 20, time: 0, date: 0x5765,
    crc: e.crc ?? zlib.crc32(data), csize: e.csize ?? raw.length, size: e.size ?? data.length,
    flags: (e.flags ?? UTF8) | (e.descriptor ? DESCRIPTOR : 0), extra: bytes(e.extra),
  };
}

function localHeader(e) {
  const f = { ...facts(e) };

  if (e.descriptor && !e.sizesKnown)
    Object.assign(f, { crc: 0, csize: 0, size: 0 });
  if (e.zip64)
    Object.assign(f, { extra: Buffer.concat([zip64Extra(f.size, f.csize), f.extra]), csize: MAX32, size: MAX32 });
  Object.assign(f, e.local);
  f.name = bytes(f.name);
  f.extra = bytes(f.extra);
  return Buffer.concat([
    pack([[4, f.signature ?? 0x04034b50], [2, f.needs], [2, f.flags], [2, f.method], [2, f.time], [2, f.date], [4, f.crc],
      [4, f.csize], [4, f.size], [2, f.nameLength ?? f.name.length], [2, f.extraLength ?? f.extra.length]]),
    f.name, f.extra,
  ]);
}

// After the data: CRC and sizes, with or without signature, of 4 or 8 bytes each.
function descriptor(e) {
  const f = { ...facts(e), ...e.after };
  const width = e.descriptor === 'zip64' || e.zip64 ? 8 : 4;

  return pack([...(e.descriptor === 'bare' ? [] : [[4, 0x08074b50]]), [4, f.crc], [width, f.csize], [width, f.size]]);
}

function central(e, at) {
  const f = { ...facts(e), offset: at, madeBy: 0x031e, comment: '', disk: 0, mode: e.mode ?? 0o100644, external: undefined };

  if (e.zip64)
    Object.assign(f, { extra: Buffer.concat([zip64Extra(f.size, f.csize, at), f.extra]), csize: MAX32, size: MAX32, offset: MAX32 });
  Object.assign(f, e.central);
  f.name = bytes(f.name);
  f.extra = bytes(f.extra);
  f.comment = bytes(f.comment);
  return Buffer.concat([
    pack([[4, f.signature ?? 0x02014b50], [2, f.madeBy], [2, f.needs], [2, f.flags], [2, f.method], [2, f.time], [2, f.date],
      [4, f.crc], [4, f.csize], [4, f.size], [2, f.nameLength ?? f.name.length], [2, f.extraLength ?? f.extra.length],
      [2, f.comment.length], [2, f.disk], [2, 0], [4, f.external ?? f.mode * 0x10000 + ((f.mode & 0o170000) === 0o040000 ? 16 : 0)],
      [4, f.offset]]),
    f.name, f.extra, f.comment,
  ]);
}

// entries: {name, data, mode, method, level, raw (the compressed bytes), flags, extra, zip64, descriptor
//   (true, 'bare', 'zip64'), sizesKnown, at (offset said by the directory), skipLocal, skipCentral, local, central, after}
// options: prefix (before all, not counted in offsets unless `counted`), between (before the directory), comment, tail,
//   zip64 (end records of both kinds), end and end64: overrides.
export function zip(entries, options = {}) {
  const parts = [bytes(options.prefix)];
  const directory = [];
  let at = options.counted ? parts[0].length : 0;

  for (const e of entries) {
    const body = e.skipLocal ? [] : [localHeader(e), facts(e).raw, ...(e.descriptor ? [descriptor(e)] : [])];

    if (!e.skipCentral)
      directory.push(central(e, e.at ?? at));
    parts.push(...body);
    at += body.reduce((n, b) => n + b.length, 0);
  }
  parts.push(bytes(options.between));
  at += bytes(options.between).length;
  parts.push(...directory);
  const length = directory.reduce((n, b) => n + b.length, 0);
  const end = { disk: 0, startDisk: 0, here: directory.length, count: directory.length, length, offset: at, comment: '' };

  if (options.zip64) {
    const e64 = { ...end, ...options.end64 };

    parts.push(pack([[4, 0x06064b50], [8, 44], [2, 45], [2, 45], [4, 0], [4, 0], [8, e64.here], [8, e64.count],
      [8, e64.length], [8, e64.offset]]), pack([[4, 0x07064b50], [4, 0], [8, e64.at ?? at + length], [4, 1]]));
    Object.assign(end, { here: MAX16, count: MAX16, length: MAX32, offset: MAX32 });
  }
  Object.assign(end, { comment: options.comment ?? '' }, options.end);
  const comment = bytes(end.comment);

  parts.push(pack([[4, 0x06054b50], [2, end.disk], [2, end.startDisk], [2, end.here], [2, end.count], [4, end.length],
    [4, end.offset], [2, end.commentLength ?? comment.length]]), comment, bytes(options.tail));
  return Buffer.concat(parts);
}

export const file = (name, data = '', more = {}) => ({ name, data, ...more });
export const dir = (name, more = {}) => ({ name: Buffer.concat([bytes(name), Buffer.from('/')]), mode: 0o040755, ...more });
export const symlink = (name, target, more = {}) => ({ name, data: target, mode: 0o120777, method: STORED, ...more });
