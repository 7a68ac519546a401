// SPDX-License-Identifier: Apache-2.0
// Writes tar archives block by block. Nothing is checked and every field can lie: a string given for a number goes in
// as it is, `size` need not be the length of `data`, `checksum` need not be right.

export const BLOCK = 512;
export const END = Buffer.alloc(2 * BLOCK);

export const bytes = (v) => (Buffer.isBuffer(v) ? v : Buffer.from(v ?? ''));

// Data filled up to whole blocks.
export function padded(data) {
  const b = bytes(data);

  return Buffer.concat([b, Buffer.alloc((BLOCK - (b.length % BLOCK)) % BLOCK)]);
}

// Base-256, the GNU way to write what octal digits cannot hold.
export function base256(n, width) {
  const out = Buffer.alloc(width);
  let rest = BigInt.asUintN(8 * width, BigInt(n));

  for (let i = width - 1; i >= 0; i--) {
    out[i] = Number(rest & 255n);
    rest >>= 8n;
  }
  out[0] |= 0x80;
  return out;
}

function number(v, width) {
  if (typeof v === 'string' || Buffer.isBuffer(v))
    return bytes(v);
  const n = BigInt(v);

  if (n < 0n || n >= 8n ** BigInt(width - 1))
    return base256(n, width);
  return Buffer.from(n.toString(8).padStart(width - 1, '0') + '\0');
}

// Fields: [name, offset, width, is a number]
const FIELDS = [
  ['name', 0, 100], ['mode', 100, 8, true], ['uid', 108, 8, true], ['gid', 116, 8, true], ['size', 124, 12, true],
  ['mtime', 136, 12, true], ['type', 156, 1], ['link', 157, 100], ['magic', 257, 6], ['version', 263, 2],
  ['uname', 265, 32], ['gname', 297, 32], ['devmajor', 329, 8, true], ['devminor', 337, 8, true], ['prefix', 345, 155],
];
const DEFAULTS = {
  mode: 0o644, uid: 1000, gid: 1000, size: 0, mtime: 1700000000, type: '0', magic: 'ustar\0', version: '00',
  uname: 'user', gname: 'user', devmajor: 0, devminor: 0,
};

export const GNU = { magic: 'ustar ', version: ' \0', devmajor: '', devminor: '' };
// Before ustar there was no magic, nor what follows it.
export const V7 = { magic: '', version: '', uname: '', gname: '', devmajor: '', devminor: '' };

// One header block. `raw`: [[offset, bytes]] laid over it before the checksum is made.
export function header(fields) {
  const f = { ...DEFAULTS, ...fields };
  const block = Buffer.alloc(BLOCK);

  for (const [key, offset, width, numeric] of FIELDS) {
    const v = numeric ? number(f[key], width) : bytes(f[key]);

    v.copy(block, offset, 0, Math.min(width, v.length));
  }
  for (const [offset, v] of f.raw ?? [])
    bytes(v).copy(block, offset);
  block.fill(' ', 148, 156);
  const sum = f.checksum ?? block.reduce((a, b) => a + b, 0);

  block.write(typeof sum === 'string' ? sum : `${sum.toString(8).padStart(6, '0')}\0 `, 148, 8, 'latin1');
  return block;
}

// A header and its data. `size` overrides what the header says, not what follows it.
export function entry(fields) {
  const data = bytes(fields.data);

  return Buffer.concat([header({ size: data.length, ...fields }), padded(data)]);
}

export const file = (name, data = '', more = {}) => entry({ name, data, ...more });
export const dir = (name, more = {}) => entry({ name, type: '5', mode: 0o755, ...more });
export const symlink = (name, link, more = {}) => entry({ name, link, type: '2', mode: 0o777, ...more });
export const hardlink = (name, link, more = {}) => entry({ name, link, type: '1', ...more });

// One "LENGTH key=value\n" record; the length counts itself. `length` lies.
export function record(key, value, length) {
  const body = Buffer.concat([Buffer.from(` ${key}=`), bytes(value), Buffer.from('\n')]);
  let n = body.length + 1;

  while (String(n).length + body.length !== n)
    n++;
  return Buffer.concat([Buffer.from(String(length ?? n)), body]);
}

// A pax extended header. records: {key: value}, [[key, value, length?]] or the bytes themselves.
export function pax(records, more = {}) {
  const list = Buffer.isBuffer(records) || Array.isArray(records) ? records : Object.entries(records);
  const data = Buffer.isBuffer(list) ? list : Buffer.concat(list.map((r) => record(...r)));

  return entry({ name: 'PaxHeaders/x', type: 'x', data, ...more });
}
export const paxGlobal = (records, more = {}) => pax(records, { name: 'pax_global_header', type: 'g', ...more });

// The GNU long name ('L') or long link target ('K') of the next entry.
export const gnuLong = (type, text, more = {}) =>
  entry({ name: '././@LongLink', type, mode: 0, ...GNU, data: Buffer.concat([bytes(text), Buffer.alloc(1)]), ...more });

export const tar = (...parts) => Buffer.concat([...parts, END]);

// GNU's four ways to write a sparse file. map: [[offset, data]]; the hole at the end is an empty piece at `size`.
const octal = (n) => number(n, 12);
const pieces = (map) => Buffer.concat(map.map(([, data]) => bytes(data)));

// Type 'S': four pieces in the header, 21 in each block after it.
export function sparseOld(name, size, map, more = {}) {
  const pair = ([offset, data]) => Buffer.concat([octal(offset), octal(more.lengths?.shift() ?? bytes(data).length)]);
  const first = map.slice(0, 4).map(pair);
  const rest = map.slice(4).map(pair);
  const blocks = [];

  while (rest.length !== 0) {
    const block = Buffer.alloc(BLOCK);

    Buffer.concat(rest.splice(0, 21)).copy(block);
    block[504] = rest.length !== 0 ? 1 : 0;
    blocks.push(block);
  }
  const raw = [[386, Buffer.concat(first)], [482, blocks.length !== 0 ? '\x01' : '\0'], [483, octal(size)]];
  const data = pieces(map);

  return Buffer.concat([header({ name, type: 'S', ...GNU, size: data.length, raw, ...more }), ...blocks, padded(data)]);
}

// pax 0.0: a record for each offset and length. more.records come first.
export function sparse00(name, size, map, more = {}) {
  const records = [['GNU.sparse.size', `${size}`], ['GNU.sparse.numblocks', `${more.count ?? map.length}`]];

  for (const [offset, data] of map)
    records.push(['GNU.sparse.offset', `${offset}`], ['GNU.sparse.numbytes', `${bytes(data).length}`]);
  return Buffer.concat([pax(records), file(name, pieces(map), more)]);
}

// pax 0.1: one record holds the whole map.
export function sparse01(name, size, map, more = {}) {
  const text = more.map ?? map.map(([offset, data]) => `${offset},${bytes(data).length}`).join(',');

  return Buffer.concat([
    pax([['GNU.sparse.size', `${size}`], ['GNU.sparse.numblocks', `${more.count ?? map.length}`],
      ['GNU.sparse.map', text], ['GNU.sparse.name', name]]),
    file('GNUSparseFile.1/x', pieces(map), more),
  ]);
}

// pax 1.0: the map stands as text before the data.
export function sparse10(name, size, map, more = {}) {
  const lines = [more.count ?? map.length, ...map.flatMap(([offset, data]) => [offset, bytes(data).length])];
  const head = padded(more.map ?? lines.map((n) => `${n}\n`).join(''));

  return Buffer.concat([
    pax({ 'GNU.sparse.major': '1', 'GNU.sparse.minor': '0', 'GNU.sparse.name': name, 'GNU.sparse.realsize': `${size}` }),
    file('GNUSparseFile.1/x', Buffer.concat([head, pieces(map)]), more),
  ]);
}
