// SPDX-License-Identifier: Apache-2.0
// Archives that are small and make much: bytes, entries, directories. All are made of repeated pieces, so that neither
// making nor storing them costs what unpacking would.

import zlib from 'node:zlib';
import * as S from '../streams.mjs';
import * as T from '../tar.mjs';
import * as Z from '../zip.mjs';
import { Table, either, f, refused, written } from './common.mjs';

const t = new Table('volume');
const MIB = 1 << 20;
const zeros = Buffer.alloc(MIB);
const big = { big: true };
// What is found only after 200000 entries were written takes as long as the disk needs for them.
const long = { big: true, timeout: 180000 };
const slow = { ...long, slow: true };
const MANY = ['TOO_MANY_ENTRIES', 'RATIO_TOO_HIGH', 'TIME_LIMIT'];
const HUGE = ['RATIO_TOO_HIGH', 'FILE_TOO_LARGE', 'TOO_LARGE'];

// A tar header of a file of n bytes that follow from elsewhere.
const claim = (name, n) => T.header({ name, size: n });

t.one('gzip-1000-to-1', 'gz', () => {
  const n = 300;

  return S.gzip('', { raw: S.deflateRepeated(claim('zeros', n * MIB), zeros, n) });
}, refused(...HUGE), big);
t.one('gzip-1000-to-1-in-members', 'gz', () => {
  const n = 300;
  const member = S.gzip(zeros, { level: 9 });

  return Buffer.concat([S.gzip(claim('zeros', n * MIB)), ...Array(n).fill(member)]);
}, refused(...HUGE), big);
t.one('gzip-bomb-of-end-blocks', 'gz', () => S.gzip('', { raw: S.deflateRepeated(T.tar(T.file('a', 'a')), zeros, 2000) }),
  refused(...HUGE, 'TRAILING_DATA', 'CRC_MISMATCH'), big);
t.one('gzip-2-gib-in-small-files', 'gz', () => {
  const unit = Buffer.concat([T.file('same', Buffer.alloc(MIB - 512))]);

  return S.gzip('', { raw: S.deflateRepeated(T.file('first', 'x'), unit, 2048) });
}, refused(...HUGE), big);
t.one('zstd-32000-to-1', 'zst', () => S.zstdRepeated(claim('zeros', 2 ** 30), 0, 2 ** 30), refused(...HUGE), big);
t.one('zstd-32000-to-1-not-zero', 'zst', () => S.zstdRepeated(claim('as', 2 ** 30), 97, 2 ** 30), refused(...HUGE), big);
t.one('zstd-many-frames', 'zst', () => {
  const frame = S.zstdRepeated(Buffer.alloc(0), 97, 64 * MIB);

  return Buffer.concat([S.zstd(claim('as', 2 ** 30)), ...Array(16).fill(frame)]);
}, refused(...HUGE), big);
t.one('zstd-of-headers', 'zst', () => {
  // Two million entries of the same empty file, in frames of 2048 each.
  const frame = S.zstd(Buffer.concat(Array(2048).fill(T.file('same'))), { level: 1 });

  return Buffer.concat(Array(1000).fill(frame));
}, refused('TOO_MANY_ENTRIES', 'RATIO_TOO_HIGH'), big);
t.one('nested-gzip', 'gz', () => S.gzip(S.gzip(T.tar(T.file('a', 'a')))), refused('NESTED_COMPRESSION', 'FORMAT_UNKNOWN'));
t.one('nested-gzip-long', 'gz', () => S.gzip(S.gzip(T.tar(T.file('a', 'a'.repeat(5000))), { level: 0 })), refused('NESTED_COMPRESSION'));
t.one('nested-gzip-bomb', 'gz', () => S.gzip(S.gzip(S.gzip('', { raw: S.deflateRepeated(claim('z', 100 * MIB), zeros, 100) }))),
  refused('NESTED_COMPRESSION', 'FORMAT_UNKNOWN'), big);
t.one('nested-zstd-in-gzip', 'gz', () => S.gzip(S.zstd(T.tar(T.file('a', 'a')))), refused('NESTED_COMPRESSION', 'FORMAT_UNKNOWN'));
t.one('nested-gzip-in-zstd', 'zst', () => S.zstd(S.gzip(T.tar(T.file('a', 'a')))), refused('NESTED_COMPRESSION', 'FORMAT_UNKNOWN'));
t.one('nested-ten-times', 'gz', () => {
  let b = T.tar(T.file('a', 'a'));

  for (let i = 0; i < 10; i++)
    b = S.gzip(b);
  return b;
}, refused('NESTED_COMPRESSION', 'FORMAT_UNKNOWN'));

// Plain tar: what is claimed is not there, and must not be waited or made room for.
t.one('claims-3-gib-file', 'tar', () => Buffer.concat([T.file('a', 'a'), claim('big', 3 * 2 ** 30), zeros.subarray(0, 4096)]),
  refused('FILE_TOO_LARGE', 'TOO_LARGE', 'ARCHIVE_TRUNCATED'));
t.one('sparse-total-5-gib', 'tar', () => T.tar(...Array.from({ length: 5 }, (_, i) => T.sparse10(`s${i}`, 2 ** 30, [[2 ** 30, '']]))),
  refused('TOO_LARGE', 'RATIO_TOO_HIGH', 'SPARSE_INVALID', 'FILE_TOO_LARGE'));

// Headers `from` to `to` of empty entries called PREFIX and a number of seven digits.
function headers(prefix, from, to, fields = {}) {
  const one = T.header({ name: `${prefix}0000000${fields.type === '5' ? '/' : ''}`, ...fields });
  const sum = parseInt(one.toString('latin1', 148, 154), 8);
  const out = Buffer.alloc((to - from) * 512);

  for (let i = from; i < to; i++) {
    const at = (i - from) * 512;
    let digits = 0;
    let rest = i;

    one.copy(out, at);
    for (let k = prefix.length + 6; k >= prefix.length; k--) {
      out[at + k] += rest % 10;
      digits += rest % 10;
      rest = Math.floor(rest / 10);
    }
    out.write((sum + digits).toString(8).padStart(6, '0'), at + 148, 'latin1');
  }
  return out;
}

const PART = 20000;

function many(count, pack, prefix, fields) {
  const parts = [];

  for (let i = 0; i < count; i += PART)
    parts.push(pack(headers(prefix, i, Math.min(count, i + PART), fields), { level: 1 }));
  return Buffer.concat([...parts, pack(T.END)]);
}

t.one('files-500000', 'zst', () => many(500000, S.zstd, 'f'), refused(...MANY), long);
t.one('directories-200100', 'gz', () => many(200100, S.gzip, 'd', { type: '5' }), refused(...MANY), slow);
t.one('links-200100', 'zst', () => many(200100, S.zstd, 'l', { type: '2', link: 'f' }), refused(...MANY), slow);
t.one('duplicates-210000', 'zst', () => {
  const frame = S.zstd(Buffer.concat(Array(2000).fill(T.file('same'))), { level: 1 });

  return Buffer.concat([...Array(105).fill(frame), S.zstd(T.END)]);
}, refused('TOO_MANY_ENTRIES', 'RATIO_TOO_HIGH'), big);
// A name makes as many directories as it has slashes.
t.one('directories-implied-220000', 'zst', () => {
  const entries = Array.from({ length: 11000 }, (_, i) => T.file(`${i}/${'d/'.repeat(19)}f`));

  return S.zstd(T.tar(...entries), { level: 1 });
}, refused(...MANY), long);

// Zip.
function zipOf(count) {
  const local = Z.zip([Z.file('f0000000', '', { skipCentral: true })]).subarray(0, 38);
  const both = Z.zip([Z.file('f0000000')]);
  const central = both.subarray(38, 38 + 54);
  const locals = Buffer.alloc(count * 38);
  const centrals = Buffer.alloc(count * 54);

  for (let i = 0; i < count; i++) {
    const name = `f${String(i).padStart(7, '0')}`;

    local.copy(locals, i * 38);
    locals.write(name, i * 38 + 30, 'latin1');
    central.copy(centrals, i * 54);
    centrals.writeUInt32LE(i * 38, i * 54 + 42);
    centrals.write(name, i * 54 + 46, 'latin1');
  }
  const end = Z.zip([], { zip64: true, end64: { here: count, count, length: centrals.length, offset: locals.length, at: locals.length + centrals.length } });

  return Buffer.concat([locals, centrals, end]);
}

t.one('zip-of-210000', 'zip', () => zipOf(210000), refused('TOO_MANY_ENTRIES'), big);
t.one('zip-says-4-billion', 'zip', () => Z.zip([Z.file('a', 'a')], { zip64: true, end64: { here: 2n ** 32n, count: 2n ** 32n } }),
  refused('TOO_MANY_ENTRIES', 'ARCHIVE_DAMAGED', 'ARCHIVE_TRUNCATED', 'ZIP_AMBIGUOUS', 'ZIP_HEADER_MISMATCH'));

const raw2gib = () => S.deflateRepeated(Buffer.alloc(0), zeros, 2049);

t.one('zip-2-gib', 'zip', () => Z.zip([Z.file('zeros', '', { method: 8, raw: raw2gib(), size: 2049 * MIB, crc: 0 })]),
  refused(...HUGE), big);
t.one('zip-2-gib-zip64', 'zip', () => Z.zip([Z.file('zeros', '', { method: 8, raw: raw2gib(), size: 2049 * MIB, crc: 0, zip64: true })], { zip64: true }),
  refused(...HUGE), big);
t.one('zip-2-gib-said-to-be-10', 'zip', () => Z.zip([Z.file('zeros', '', { method: 8, raw: raw2gib(), size: 10, crc: 0 })]),
  refused(...HUGE, 'SIZE_MISMATCH', 'ARCHIVE_DAMAGED', 'CRC_MISMATCH'), big);
t.one('zip-1000-times-100-mib', 'zip', () => {
  const raw = S.deflateRepeated(Buffer.alloc(0), zeros, 10);
  const crc = zlib.crc32(Buffer.alloc(10 * MIB));

  return Z.zip(Array.from({ length: 500 }, (_, i) => Z.file(`z${i}`, '', { method: 8, raw, size: 10 * MIB, crc })));
}, refused(...HUGE), big);

// Overlapping entries: the quoted bytes of one are the header of the next, so all share one kernel.
function quoted(n) {
  const kernel = Z.zip([Z.file('kernel', zeros.subarray(0, 65536))]);
  const bodies = [kernel.subarray(0, kernel.indexOf(Buffer.from('PK\x01\x02', 'latin1')))];
  const entries = [{ ...Z.file('kernel', zeros.subarray(0, 65536)), skipLocal: true }];
  const offsets = [0];

  for (let i = 0; i < n; i++) {
    const inner = Buffer.concat(bodies);
    const e = Z.file(`q${i}`, inner, { method: 0 });
    const one = Z.zip([e]);

    bodies.unshift(one.subarray(0, 30 + `q${i}`.length));
    entries.unshift({ ...e, skipLocal: true });
    offsets.unshift(0);
  }
  let at = 0;

  bodies.forEach((b, i) => {
    entries[i].at = at;
    at += b.length;
  });
  return Z.zip(entries, { prefix: Buffer.concat(bodies), counted: true });
}

t.one('zip-overlap-quoted', 'zip', () => quoted(20), refused('ZIP_OVERLAP'));
t.one('zip-overlap-same-entry', 'zip', () => {
  const e = Z.file('a', zeros, { level: 9 });

  return Z.zip([e, ...Array.from({ length: 200 }, () => ({ ...e, skipLocal: true, at: 0 }))]);
}, refused('ZIP_OVERLAP', 'ZIP_AMBIGUOUS', 'NAME_COLLISION'));
t.one('zip-overlap-other-names', 'zip', () => {
  const e = Z.file('a', zeros, { level: 9 });

  return Z.zip([e, ...Array.from({ length: 200 }, (_, i) => ({ ...e, name: `b${i}`, skipLocal: true, at: 0 }))]);
}, refused('ZIP_OVERLAP', 'ZIP_HEADER_MISMATCH'));
t.one('zip-overlap-directory', 'zip', () => Z.zip([Z.file('a', 'a', { csize: 500 })]),
  refused('ZIP_OVERLAP', 'ARCHIVE_DAMAGED', 'ZIP_HEADER_MISMATCH', 'ARCHIVE_TRUNCATED', 'SIZE_MISMATCH'));

// Much, but legal: below 64 MiB the ratio is of no account.
t.one('legal-ratio-1000-of-40-mib', 'gz', () => S.gzip('', { raw: S.deflateRepeated(claim('z', 39 * MIB), zeros, 39),
  crc: zlib.crc32(Buffer.alloc(39 * MIB), zlib.crc32(claim('z', 39 * MIB))), isize: 39 * MIB + 512 }), either(
  'the end of the archive is missing', ['ARCHIVE_TRUNCATED', 'ARCHIVE_DAMAGED'], { z: f(Buffer.alloc(39 * MIB)) }), big);
t.one('legal-ratio-zstd-40-mib', 'zst', () => S.zstd(T.tar(T.file('z', Buffer.alloc(40 * MIB))), { level: 1 }),
  written({ z: f(Buffer.alloc(40 * MIB)) }), big);

export default t.cases;
