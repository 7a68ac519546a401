// SPDX-License-Identifier: Apache-2.0
// What is wrong with the compression around a tar.

import zlib from 'node:zlib';
import * as S from '../streams.mjs';
import * as T from '../tar.mjs';
import { Table, either, f, refused, written } from './common.mjs';

const t = new Table('streams');
const text = 'some text, so that the data is no single block. '.repeat(40);
const tree = { a: f(text), b: f('b') };
const inner = () => T.tar(T.file('a', text), T.file('b', 'b'));
const gz = (name, build, verdict, more) => t.one(`gzip-${name}`, 'gz', () => build(inner()), verdict, more);
const zst = (name, build, verdict, more) => t.one(`zstd-${name}`, 'zst', () => build(inner()), verdict, more);
const DAMAGED = ['ARCHIVE_DAMAGED', 'FORMAT_UNKNOWN'];
const CUT = ['ARCHIVE_TRUNCATED', 'ARCHIVE_DAMAGED'];

gz('crc', (b) => S.gzip(b, { crc: 0x12345678 }), refused('CRC_MISMATCH'));
gz('size', (b) => S.gzip(b, { isize: b.length + 1 }), refused('SIZE_MISMATCH', 'CRC_MISMATCH'));
gz('size-zero', (b) => S.gzip(b, { isize: 0 }), refused('SIZE_MISMATCH', 'CRC_MISMATCH'));
gz('crc-of-second-member', (b) => Buffer.concat([S.gzip(b.subarray(0, 512)), S.gzip(b.subarray(512), { crc: 1 })]), refused('CRC_MISMATCH'));
gz('crc-of-empty-last-member', (b) => Buffer.concat([S.gzip(b), S.gzip('', { crc: 1 })]), refused('CRC_MISMATCH'));
gz('no-trailer', (b) => S.gzip(b, { trailer: Buffer.alloc(0) }), refused(...CUT));
gz('half-trailer', (b) => S.gzip(b, { trailer: Buffer.alloc(5) }), refused(...CUT, 'CRC_MISMATCH'));
gz('cut', (b) => S.gzip(b).subarray(0, 60), refused(...CUT));
gz('cut-in-header', (b) => S.gzip(b).subarray(0, 6), refused(...CUT, 'FORMAT_UNKNOWN'));
gz('cut-second-member', (b) => Buffer.concat([S.gzip(b), S.gzip(b).subarray(0, 30)]), refused(...CUT, 'TRAILING_DATA'));
gz('cut-second-header', (b) => Buffer.concat([S.gzip(b), Buffer.from([0x1f, 0x8b, 8])]), refused(...CUT, 'TRAILING_DATA'));
gz('junk-after', (b) => Buffer.concat([S.gzip(b), Buffer.from('junk after the end')]), refused('TRAILING_DATA'));
gz('zip-after', (b) => Buffer.concat([S.gzip(b), Buffer.from('PK\x05\x06' + '\0'.repeat(18), 'latin1')]), refused('TRAILING_DATA', 'FORMAT_MISMATCH', 'ZIP_AMBIGUOUS'));
gz('tar-after', (b) => Buffer.concat([S.gzip(b), T.tar(T.file('../outside/pwned', 'x'))]), refused('TRAILING_DATA'));
gz('zeros-then-junk', (b) => Buffer.concat([S.gzip(b), Buffer.alloc(512), Buffer.from('x')]), refused('TRAILING_DATA'));
gz('second-archive-in-member', (b) => Buffer.concat([S.gzip(b), S.gzip(T.tar(T.file('../outside/pwned', 'x')))]), refused('TRAILING_DATA', 'NAME_DOTDOT'));
gz('reserved-flags', (b) => S.gzip(b, { flags: 0xe0 }), refused(...DAMAGED));
gz('method-7', (b) => S.gzip(b, { method: 7 }), refused(...DAMAGED, 'METHOD_UNSUPPORTED'));
gz('header-crc', (b) => S.gzip(b, { hcrc: 0xffff }), refused('ARCHIVE_DAMAGED', 'CRC_MISMATCH'));
gz('bad-deflate', (b) => S.gzip(b, { raw: Buffer.from([0x07, 0xff, 0xff, 0xff]) }), refused('ARCHIVE_DAMAGED'));
gz('deflate-far-distance', (b) => S.gzip(b, { raw: zlib.deflateRawSync(b).fill(0x55, 20, 40) }), refused('ARCHIVE_DAMAGED', 'CRC_MISMATCH', 'SIZE_MISMATCH'));
gz('endless-name', (b) => Buffer.concat([S.gzip('', { name: Buffer.alloc(8 << 20, 'n') }).subarray(0, -11), b.fill('n')]),
  refused('HEADER_TOO_LARGE', ...CUT));
gz('long-name', (b) => S.gzip(b, { name: Buffer.alloc(8 << 20, 'n') }), either(
  'a long name costs nothing when it is passed over', ['HEADER_TOO_LARGE', 'ARCHIVE_DAMAGED'], tree));
gz('extra-longer-than-file', (b) => {
  const out = S.gzip(b, { extra: 'xxxx' });

  out.writeUInt16LE(65535, 10);
  return out;
}, refused(...DAMAGED, ...CUT));
gz('empty', () => S.gzip(''), refused('FORMAT_UNKNOWN', ...CUT));
gz('of-text', () => S.gzip(text), refused('FORMAT_UNKNOWN', 'FORMAT_NOT_ALLOWED', 'ARCHIVE_DAMAGED'));
gz('members-10000-empty', (b) => Buffer.concat([...Array(10000).fill(S.gzip('')), S.gzip(b)]), either(
  'an empty member says nothing', ['ARCHIVE_DAMAGED', 'HEADER_TOO_LARGE', 'TOO_MANY_ENTRIES'], tree));
gz('members-10000', () => {
  const b = T.tar(T.file('long', Buffer.alloc(19000, '0123456789')));

  return S.members(b, Math.ceil(b.length / 10000));
}, either('a member may be a byte long', ['ARCHIVE_DAMAGED', 'HEADER_TOO_LARGE', 'TOO_MANY_ENTRIES'], { long: f(Buffer.alloc(19000, '0123456789')) }));
gz('zlib-wrapper', (b) => zlib.deflateSync(b), refused('FORMAT_UNKNOWN', 'FORMAT_NOT_ALLOWED'));
gz('raw-deflate', (b) => zlib.deflateRawSync(b), refused('FORMAT_UNKNOWN', 'FORMAT_NOT_ALLOWED', 'ARCHIVE_DAMAGED'));

const frame = (b, f0) => S.zstdFrame([S.rawBlocks(b)], f0);
const window = (log) => ({ window: (log - 10) << 3 });

zst('window-256-mib', (b) => frame(b, window(28)), refused('ZSTD_WINDOW_TOO_LARGE'));
zst('window-2-gib', (b) => frame(b, window(31)), refused('ZSTD_WINDOW_TOO_LARGE'));
zst('window-3.75-tib', (b) => frame(b, { window: 0xff }), refused('ZSTD_WINDOW_TOO_LARGE'));
zst('window-of-second-frame', (b) => Buffer.concat([frame(b.subarray(0, 512)), frame(b.subarray(512), { window: 0xff })]),
  refused('ZSTD_WINDOW_TOO_LARGE'));
zst('single-segment-8-gib', (b) => frame(b, { single: true, size: 8 * 2 ** 30 }), refused('ZSTD_WINDOW_TOO_LARGE', 'TOO_LARGE', 'SIZE_MISMATCH', 'ARCHIVE_DAMAGED'));
zst('dictionary', (b) => frame(b, { dict: 4711 }), refused('ZSTD_DICTIONARY'));
zst('dictionary-of-second-frame', (b) => Buffer.concat([frame(b.subarray(0, 512)), frame(b.subarray(512), { dict: 4711 })]), refused('ZSTD_DICTIONARY'));
zst('is-a-dictionary', () => Buffer.from('37a430ec0100000000000000', 'hex'), refused('ZSTD_DICTIONARY', 'FORMAT_UNKNOWN', 'FORMAT_NOT_ALLOWED'));
zst('reserved-block', (b) => S.zstdFrame([S.rawBlocks(b, false), S.reservedBlock()]), refused('ARCHIVE_DAMAGED'));
zst('reserved-bit', (b) => frame(b, { reserved: true }), refused(...DAMAGED));
zst('block-too-long', (b) => S.zstdFrame([S.rawBlocks(b, false), S.rleBlock(0, (1 << 21) - 1, true)]), refused('ARCHIVE_DAMAGED'));
zst('checksum', (b) => frame(b, { checksum: 0x12345678 }), refused('CRC_MISMATCH', 'ARCHIVE_DAMAGED'));
zst('checksum-flipped', (b) => {
  const out = S.zstd(b);

  out[out.length - 1] ^= 1;
  return out;
}, refused('CRC_MISMATCH', 'ARCHIVE_DAMAGED'));
zst('content-size-larger', (b) => frame(b, { size: b.length + 512 }), refused('SIZE_MISMATCH', 'ARCHIVE_DAMAGED'));
zst('content-size-smaller', (b) => frame(b, { size: 512 }), refused('SIZE_MISMATCH', 'ARCHIVE_DAMAGED'));
zst('content-size-2-63', (b) => frame(b, { size: 2n ** 63n }), refused('SIZE_MISMATCH', 'ARCHIVE_DAMAGED', 'TOO_LARGE', 'RATIO_TOO_HIGH', 'ZSTD_WINDOW_TOO_LARGE'));
zst('cut', (b) => S.zstd(b).subarray(0, 50), refused(...CUT));
zst('cut-last-block-missing', (b) => S.zstdFrame([S.rawBlocks(b, false)]), refused(...CUT));
zst('cut-checksum', (b) => S.zstd(b).subarray(0, -2), refused(...CUT));
zst('cut-in-header', (b) => S.zstd(b).subarray(0, 5), refused(...CUT, 'FORMAT_UNKNOWN'));
zst('junk-after', (b) => Buffer.concat([S.zstd(b), Buffer.from('junk after the end')]), refused('TRAILING_DATA', 'ARCHIVE_DAMAGED'));
zst('gzip-after', (b) => Buffer.concat([S.zstd(b), S.gzip(b)]), refused('TRAILING_DATA', 'ARCHIVE_DAMAGED', 'NESTED_COMPRESSION'));
zst('zeros-after', (b) => Buffer.concat([S.zstd(b), Buffer.alloc(512)]), either('zeros say nothing', ['TRAILING_DATA', 'ARCHIVE_DAMAGED'], tree));
zst('second-archive-in-frame', (b) => Buffer.concat([S.zstd(b), S.zstd(T.tar(T.file('../outside/pwned', 'x')))]), refused('TRAILING_DATA', 'NAME_DOTDOT'));
zst('only-skippable', () => S.skippable('nothing here'), refused('FORMAT_UNKNOWN', ...CUT));
zst('skippable-4-gib-claimed', (b) => Buffer.concat([S.skippable('x', 3, 0xffffffff), S.zstd(b)]), refused(...CUT, 'FORMAT_UNKNOWN', 'HEADER_TOO_LARGE'));
zst('skippable-10000', (b) => Buffer.concat([...Array(10000).fill(S.skippable('x')), S.zstd(b)]), either(
  'a skippable frame says nothing', ['ARCHIVE_DAMAGED', 'HEADER_TOO_LARGE', 'TOO_MANY_ENTRIES', 'FORMAT_UNKNOWN'], tree));
zst('empty-frames-10000', (b) => Buffer.concat([...Array(10000).fill(frame(Buffer.alloc(0))), S.zstd(b)]), either(
  'an empty frame says nothing', ['ARCHIVE_DAMAGED', 'HEADER_TOO_LARGE', 'TOO_MANY_ENTRIES'], tree));
zst('empty', () => S.zstd(Buffer.alloc(0)), refused('FORMAT_UNKNOWN', ...CUT));
zst('legacy-v0.7', () => Buffer.concat([Buffer.from('27b52ffd', 'hex'), Buffer.alloc(100, 1)]), refused(...DAMAGED, 'FORMAT_NOT_ALLOWED'));
zst('window-128-mib', (b) => frame(b, window(27)), either('zstd --long makes these; whoever keeps to 32 MiB of memory says no', ['ZSTD_WINDOW_TOO_LARGE'], tree));
zst('window-8-mib', (b) => frame(b, window(23)), written(tree));

export default t.cases;
