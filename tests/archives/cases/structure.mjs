// SPDX-License-Identifier: Apache-2.0
// Tar archives that are broken or lie about themselves: cut, wrong sums and sizes, pax records, sparse maps, things
// after the end.

import * as S from '../streams.mjs';
import * as T from '../tar.mjs';
import { Table, d, either, f, holes, refused, written } from './common.mjs';

const t = new Table('structure');
const tar = (name, build, verdict, more) => t.one(name, 'tar', build, verdict, more);
const big = Buffer.alloc(5000, 'abcdefgh');
const whole = () => T.tar(T.file('a', 'aaa'), T.file('b', big), T.file('c', 'ccc'));
const CUT = ['ARCHIVE_TRUNCATED', 'ARCHIVE_DAMAGED'];

// The same bytes as they are, through gzip and through zstd: a cut archive in a whole stream is still cut.
function streams(name, build, verdict) {
  tar(`${name}.tar`, build, verdict);
  t.one(`${name}.gz`, 'gz', (ctx) => S.gzip(build(ctx)), verdict);
  t.one(`${name}.zst`, 'zst', (ctx) => S.zstd(build(ctx)), verdict);
}

streams('cut-in-data', () => whole().subarray(0, 512 * 3 + 700), refused(...CUT));
streams('cut-in-header', () => whole().subarray(0, 512 * 2 + 100), refused(...CUT));
tar('cut-in-first-header', () => whole().subarray(0, 300), refused(...CUT, 'FORMAT_UNKNOWN'));
tar('cut-in-padding', () => T.file('a', 'aaa').subarray(0, 600), refused(...CUT));
tar('cut-in-pax', () => Buffer.concat([T.file('a', 'a'), T.pax({ path: 'x'.repeat(600) }).subarray(0, 700)]), refused(...CUT));
tar('cut-after-pax', () => Buffer.concat([T.file('a', 'a'), T.pax({ path: 'x' })]), refused(...CUT));
tar('cut-in-long-name', () => Buffer.concat([T.file('a', 'a'), T.gnuLong('L', 'x'.repeat(600)).subarray(0, 600)]), refused(...CUT));
tar('pax-then-end', () => T.tar(T.file('a', 'a'), T.pax({ path: '../pwned' })), refused(...CUT));
tar('long-name-then-end', () => T.tar(T.file('a', 'a'), T.gnuLong('L', 'x')), refused(...CUT));
streams('no-end-blocks', () => Buffer.concat([T.file('a', 'aaa'), T.file('b', 'b')]), either(
  'some writers leave the two zero blocks out; a cut at this place cannot be told from it', CUT, { a: f('aaa'), b: f('b') }));
tar('one-end-block', () => Buffer.concat([T.file('a', 'aaa'), Buffer.alloc(512)]), either(
  'some writers write one zero block', CUT, { a: f('aaa') }));
tar('half-end-block', () => Buffer.concat([T.file('a', 'aaa'), Buffer.alloc(700)]), either(
  'zeros to the end', CUT, { a: f('aaa') }));

streams('bad-checksum', () => T.tar(T.file('a', 'aaa'), T.file('b', 'b', { checksum: 1 })), refused('ARCHIVE_DAMAGED'));
tar('bad-checksum-first', () => T.tar(T.file('a', 'a', { checksum: 1 })), refused('ARCHIVE_DAMAGED', 'FORMAT_UNKNOWN'));
tar('bad-checksum-of-pax', () => T.tar(T.pax({ path: 'x' }, { checksum: 7 }), T.file('a', 'a')), refused('ARCHIVE_DAMAGED', 'FORMAT_UNKNOWN'));
tar('checksum-no-number', () => T.tar(T.file('ok'), T.file('a', 'a', { checksum: 'zzzzzz\0 ' })), refused('ARCHIVE_DAMAGED'));
tar('flipped-bit-in-name', () => {
  const b = T.tar(T.file('ok', 'ok'), T.file('abc', 'a'));

  b[1024] ^= 1;
  return b;
}, refused('ARCHIVE_DAMAGED'));
tar('garbage-between', () => T.tar(T.file('a', 'a'), Buffer.alloc(512, 'junk'), T.file('b', 'b')), refused('ARCHIVE_DAMAGED', 'TRAILING_DATA'));
tar('garbage-whole', () => Buffer.from(Array.from({ length: 10240 }, (_, i) => (i * 2654435761) >>> 24)), refused('FORMAT_UNKNOWN', 'ARCHIVE_DAMAGED'));

// Sizes.
const SIZE = ['ARCHIVE_DAMAGED', 'ARCHIVE_TRUNCATED', 'FILE_TOO_LARGE', 'TOO_LARGE', 'SIZE_MISMATCH'];

for (const [name, size] of [['negative', -1], ['negative-512', -512], ['2-63', 2n ** 63n - 1n], ['2-63-negative', -(2n ** 63n)],
  ['2-64', 2n ** 64n], ['8-gib-octal', '77777777777'], ['no-number', 'size is 5!!']])
  tar(`size-${name}`, () => T.tar(T.file('ok', 'ok'), T.file('a', 'aaaa', { size }), T.file('b', 'b')), refused(...SIZE));
tar('size-3-gib', () => T.tar(T.file('ok', 'ok'), T.file('a', 'aaaa', { size: 3 * 2 ** 30 })), refused(...SIZE));
tar('size-beyond-end', () => T.tar(T.file('ok', 'ok'), T.file('a', 'aaaa', { size: 1 << 20 })), refused(...SIZE));
tar('size-of-directory', () => T.tar(T.dir('d/', { size: 1024 }), T.file('d/f', 'x')), either(
  'a directory has no data, whatever its size says', ['ARCHIVE_DAMAGED', 'ARCHIVE_TRUNCATED'], { d: d(), 'd/f': f('x') }));
tar('size-swallows-next', () => T.tar(T.file('a', Buffer.concat([Buffer.alloc(512, 'a'), T.file('../outside/pwned', 'x')]))),
  written({ a: f(Buffer.concat([Buffer.alloc(512, 'a'), T.file('../outside/pwned', 'x')])) }));

// After the end.
const after = (more) => Buffer.concat([T.tar(T.file('a', 'a')), more]);

streams('second-archive-after-end', () => after(T.tar(T.file('../outside/pwned', 'x'))), refused('TRAILING_DATA', 'NAME_DOTDOT'));
tar('second-harmless-archive-after-end', () => after(T.tar(T.file('b', 'b'))), refused('TRAILING_DATA'));
tar('junk-after-end', () => after(Buffer.from('junk')), refused('TRAILING_DATA'));
tar('junk-after-ten-blocks', () => after(Buffer.concat([Buffer.alloc(10240), Buffer.from('#!/bin/sh')])), refused('TRAILING_DATA'));
tar('zip-after-end', () => after(Buffer.from('504b0506000000000000000000000000000000000000', 'hex')), refused('TRAILING_DATA', 'FORMAT_MISMATCH', 'ZIP_AMBIGUOUS'));

// pax records over the header.
const paxed = (name, records, verdict, more = {}, file = {}) =>
  tar(`pax-${name}`, () => T.tar(T.file('ok', 'ok'), T.pax(records, more), T.file('plain', 'x', file), T.file('z', 'z')), verdict);
const rest = (tree) => ({ ok: f('ok'), z: f('z'), ...tree });
const DAMAGED = ['ARCHIVE_DAMAGED', 'HEADER_TOO_LARGE', 'ARCHIVE_TRUNCATED'];

paxed('path', { path: '../outside/pwned' }, refused('NAME_DOTDOT'));
paxed('path-twice', [['path', 'good'], ['path', '../outside/pwned']], refused('NAME_DOTDOT', 'ARCHIVE_DAMAGED'));
paxed('path-twice-last-good', [['path', '../outside/pwned'], ['path', 'good']], either('POSIX: the last record wins',
  ['NAME_DOTDOT', 'ARCHIVE_DAMAGED'], rest({ good: f('x') })));
paxed('linkpath', { linkpath: '../outside/file' }, refused('SYMLINK_OUTWARD'), {}, { type: '2', link: 'a', size: 0, data: '' });
paxed('linkpath-hard', { linkpath: '../outside/file' }, refused('HARDLINK_OUTWARD', 'NAME_DOTDOT', 'HARDLINK_MISSING'), {}, { type: '1', link: 'ok', data: '' });
paxed('size-smaller', { size: '0' }, refused('ARCHIVE_DAMAGED', 'SIZE_MISMATCH', 'ARCHIVE_TRUNCATED'));
paxed('size-negative', { size: '-1' }, refused(...SIZE));
paxed('size-2-63', { size: '9223372036854775807' }, refused(...SIZE));
paxed('size-2-70', { size: '1180591620717411303424' }, refused(...SIZE));
paxed('size-no-number', { size: '0x200' }, refused(...SIZE));
paxed('length-too-long', [['path', 'x', 99]], refused(...DAMAGED));
paxed('length-too-short', [['path', 'xxxxxxxxxx', 5]], refused(...DAMAGED));
paxed('length-zero', [['path', 'x', 0]], refused(...DAMAGED));
paxed('length-negative', [['path', 'x', -12]], refused(...DAMAGED));
paxed('length-huge', [['path', 'x', '99999999999999999999']], refused(...DAMAGED));
paxed('length-missing', Buffer.from('path=x\n'), refused(...DAMAGED));
paxed('no-equals', Buffer.from('9 path x\n'), refused(...DAMAGED));
paxed('no-newline', Buffer.from('9 path=x.'), refused(...DAMAGED));
paxed('no-key', Buffer.from('6 =xy\n'), either('a record without a name says nothing', DAMAGED, rest({ plain: f('x') })));
paxed('nul-in-path', [['path', 'ok2\0/../../x']], refused('NAME_CONTROL', 'NAME_DOTDOT', 'ARCHIVE_DAMAGED'));
paxed('hdrcharset-binary', { hdrcharset: 'BINARY', path: Buffer.from('\xff\xfe', 'latin1') }, refused('NAME_NOT_UTF8', 'ARCHIVE_DAMAGED'));
tar('pax-size-larger', () => T.tar(T.pax({ size: '600' }), T.entry({ name: 'a', size: 0, data: Buffer.alloc(600, 'y') }), T.file('z', 'z')),
  written({ a: f(Buffer.alloc(600, 'y')), z: f('z') }));
tar('pax-hidden-by-size', () => T.tar(T.pax({ size: '1024' }), T.file('a', '', { size: 0 }), T.file('../outside/pwned', 'x')), either(
  'POSIX: the record\'s size holds, what looks like an entry is data', ['NAME_DOTDOT', 'ARCHIVE_DAMAGED', 'SIZE_MISMATCH'],
  { a: f(T.file('../outside/pwned', 'x')) }));
tar('pax-global-path', () => T.tar(T.paxGlobal({ path: '../outside/pwned' }), T.file('a', 'x')), either(
  'global records are passed over', ['NAME_DOTDOT'], { a: f('x') }));
tar('pax-global-linkpath', () => T.tar(T.paxGlobal({ linkpath: '../outside/file' }), T.symlink('l', 'a'), T.file('a', 'x')), either(
  'global records are passed over', ['SYMLINK_OUTWARD'], { l: l0('a'), a: f('x') }));
tar('pax-global-size', () => T.tar(T.paxGlobal({ size: '99999999' }), T.file('a', 'x')), either(
  'global records are passed over', SIZE, { a: f('x') }));
tar('pax-of-pax', () => T.tar(T.pax({ path: 'one' }), T.pax({ path: '../outside/pwned' }), T.file('a', 'x')),
  refused('NAME_DOTDOT', 'ARCHIVE_DAMAGED'));
tar('pax-and-long-name', () => T.tar(T.pax({ path: 'good' }), T.gnuLong('L', '../outside/pwned'), T.file('a', 'x')), either(
  'two names for one entry: one of them holds, or none', ['NAME_DOTDOT', 'ARCHIVE_DAMAGED'], { good: f('x') }));
tar('long-name-twice', () => T.tar(T.gnuLong('L', 'good'), T.gnuLong('L', '../outside/pwned'), T.file('a', 'x')),
  refused('NAME_DOTDOT', 'ARCHIVE_DAMAGED'));
tar('long-name-empty', () => T.tar(T.gnuLong('L', ''), T.file('a', 'x')), either(
  'an empty long name says nothing', ['NAME_EMPTY', 'ARCHIVE_DAMAGED'], { a: f('x') }));
tar('long-link-on-file', () => T.tar(T.gnuLong('K', '../outside/file'), T.file('a', 'x')), either(
  'a link target of what is no link says nothing', ['ARCHIVE_DAMAGED'], { a: f('x') }));

function l0(target) {
  return { type: 'link', target };
}

// Headers that want much memory.
tar('pax-64-mib-claimed', () => T.tar(T.file('ok'), T.pax({ path: 'x' }, { size: 64 << 20 })), refused('HEADER_TOO_LARGE', ...CUT));
tar('pax-2-63-claimed', () => T.tar(T.file('ok'), T.pax({ path: 'x' }, { size: 2n ** 63n - 1n })), refused('HEADER_TOO_LARGE', ...CUT));
t.one('pax-64-mib', 'gz', () => S.gzip(T.tar(T.pax({ comment: Buffer.alloc(64 << 20, 'c') }), T.file('a')), { level: 1 }),
  refused('HEADER_TOO_LARGE', 'RATIO_TOO_HIGH'), { big: true });
t.one('long-name-20-mib', 'zst', () => S.zstd(T.tar(T.gnuLong('L', Buffer.alloc(20 << 20, 'n')), T.file('a')), { level: 1 }),
  refused('HEADER_TOO_LARGE', 'PATH_TOO_LONG', 'NAME_TOO_LONG'), { big: true });
tar('pax-global-2-mib', () => T.tar(T.paxGlobal({ comment: Buffer.alloc(2 << 20, 'c') }), T.file('a')), refused('HEADER_TOO_LARGE'));
t.one('pax-records-100000', 'zst', () => S.zstd(T.tar(T.pax(Buffer.concat(Array.from({ length: 100000 }, (_, i) => T.record(`K${i}`, 'v')))), T.file('a')), { level: 1 }),
  refused('HEADER_TOO_LARGE'), { big: true });
t.one('pax-headers-without-end', 'zst', () => S.zstd(T.tar(...Array(20000).fill(T.pax({ comment: 'x' })), T.file('a', 'x')), { level: 1 }),
  either('each is small, and they say nothing', ['HEADER_TOO_LARGE', 'TOO_MANY_ENTRIES', 'ARCHIVE_DAMAGED', 'RATIO_TOO_HIGH'], { a: f('x') }));

// Sparse files.
const SPARSE = ['SPARSE_INVALID', 'ARCHIVE_DAMAGED', 'SIZE_MISMATCH', 'ARCHIVE_TRUNCATED'];
const LARGE = ['FILE_TOO_LARGE', 'TOO_LARGE', 'RATIO_TOO_HIGH', ...SPARSE];
const TIB8 = 8 * 2 ** 40;
const sparse = (name, build, verdict) => tar(`sparse-${name}`, () => T.tar(T.file('ok', 'ok'), build()), verdict);

sparse('8-tib-old', () => T.sparseOld('s', TIB8, [[0, 'x'.repeat(512)], [TIB8, '']]), refused(...LARGE));
sparse('8-tib-0.0', () => T.sparse00('s', TIB8, [[0, 'x'], [TIB8, '']]), refused(...LARGE));
sparse('8-tib-0.1', () => T.sparse01('s', TIB8, [[TIB8 - 1, 'x']]), refused(...LARGE));
sparse('8-tib-1.0', () => T.sparse10('s', TIB8, [[TIB8 - 512, 'x'.repeat(512)]]), refused(...LARGE));
sparse('overlap-old', () => T.sparseOld('s', 4096, [[0, 'a'.repeat(1024)], [512, 'b'.repeat(1024)]]), refused(...SPARSE));
sparse('overlap-0.1', () => T.sparse01('s', 4096, [[0, 'a'.repeat(1024)], [512, 'b'.repeat(1024)]]), refused(...SPARSE));
sparse('overlap-1.0', () => T.sparse10('s', 4096, [[1024, 'a'.repeat(1024)], [0, 'b'.repeat(512)]]), refused(...SPARSE));
sparse('beyond-size-1.0', () => T.sparse10('s', 1024, [[4096, 'a'.repeat(512)]]), refused(...SPARSE));
sparse('beyond-size-old', () => T.sparseOld('s', 100, [[0, 'a'.repeat(512)]]), refused(...SPARSE));
sparse('negative-1.0', () => T.sparse10('s', 1024, [[-512, 'a'.repeat(512)]]), refused(...SPARSE));
sparse('negative-old', () => T.sparseOld('s', 1024, [[-512, 'a'.repeat(512)]]), refused(...SPARSE));
sparse('length-lies-old', () => T.sparseOld('s', 1024, [[0, 'a'.repeat(512)]], { lengths: [1024] }), refused(...SPARSE));
sparse('count-lies-1.0', () => T.sparse10('s', 1024, [[0, 'a'.repeat(512)]], { count: 1000000 }), refused(...SPARSE, 'HEADER_TOO_LARGE'));
sparse('count-negative-1.0', () => T.sparse10('s', 1024, [[0, 'a'.repeat(512)]], { count: -1 }), refused(...SPARSE));
sparse('map-garbage-1.0', () => T.sparse10('s', 1024, [[0, 'a'.repeat(512)]], { map: 'one\ntwo\n' }), refused(...SPARSE));
sparse('map-garbage-0.1', () => T.sparse01('s', 1024, [[0, 'a'.repeat(512)]], { map: '0,,512' }), refused(...SPARSE));
sparse('map-without-end-1.0', () => T.sparse10('s', 1024, [[0, 'a'.repeat(512)]], { map: '1'.repeat(4096) }), refused(...SPARSE, 'HEADER_TOO_LARGE'));
sparse('name-dotdot-1.0', () => T.sparse10('../outside/pwned', 512, [[0, 'a'.repeat(512)]]), refused('NAME_DOTDOT'));
sparse('name-absolute-0.1', () => T.sparse01('/tmp/acpd-pwned', 512, [[0, 'a'.repeat(512)]]), refused('NAME_ABSOLUTE'));
const extended = (n, map = '') => {
  const block = Buffer.alloc(512);

  block.write(map, 'latin1');
  block[504] = 1;
  return Buffer.concat([T.header({ name: 's', type: 'S', ...T.GNU, size: 0, raw: [[482, '\x01'], [483, '00000001000']] }), ...Array(n).fill(block)]);
};

tar('sparse-extension-without-end-old', () => extended(40), refused(...SPARSE));
t.one('sparse-extensions-100000-old', 'zst', () => S.zstd(extended(100000), { level: 1 }), refused(...SPARSE, 'HEADER_TOO_LARGE', 'RATIO_TOO_HIGH'),
  { big: true });
t.one('sparse-2-million-pieces-old', 'zst', () => S.zstd(extended(100000, '00000000000\0'.repeat(42)), { level: 1 }),
  refused(...SPARSE, 'HEADER_TOO_LARGE', 'RATIO_TOO_HIGH'), { big: true });
t.one('sparse-100000-pieces', 'zst', () => {
  const map = Array.from({ length: 100000 }, (_, i) => [i * 2, 'x']);

  return S.zstd(T.tar(T.sparse10('s', 200000, map)), { level: 1 });
}, either('a map with many pieces is legal up to a limit', ['SPARSE_INVALID', 'HEADER_TOO_LARGE', 'ARCHIVE_DAMAGED'],
  { s: f(Buffer.from('x\0'.repeat(100000))) }), { big: true });
tar('sparse-1-gib-of-nothing', () => T.tar(T.sparse10('s', 2 ** 30, [[2 ** 30 - 4, 'tail']])), either(
  'a sparse file of a legal size', LARGE, { s: holes(2 ** 30, [[2 ** 30 - 4, 'tail']]) }), { big: true });

export default t.cases;
