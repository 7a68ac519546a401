// SPDX-License-Identifier: Apache-2.0
// What must work: whole trees in every format, and what real writers of tar, gzip, zstd and zip do that looks odd.

import crypto from 'node:crypto';
import * as S from '../streams.mjs';
import * as T from '../tar.mjs';
import * as Z from '../zip.mjs';
import { ALL, TARS, Table, d, f, holes, l, same, written, x } from './common.mjs';

const t = new Table('legal');
const tar = (name, build, tree, more) => t.one(name, 'tar', build, written(tree), more);
const zip = (name, build, tree, more) => t.one(name, 'zip', build, written(tree), more);
const binary = Buffer.from(Array.from({ length: 20000 }, (_, i) => (i * i * 31 + (i >> 3)) & 255));

// A small project.
const PROJECT = [
  { dir: 'src' }, { file: 'src/main.c', data: 'int main(void) {}\n' }, { file: 'run.sh', data: '#!/bin/sh\n', mode: 0o755 },
  { file: 'data/blob.bin', data: binary }, { file: 'empty' }, { dir: 'nothing' }, { file: 'read-only', data: 'ro', mode: 0o444 },
  { link: 'latest', to: 'src/main.c' }, { file: 'private', data: 'p', mode: 0o600 }, { file: 'exec-only', data: 'e', mode: 0o500 },
];
const project = {
  src: d(), 'src/main.c': f('int main(void) {}\n'), 'run.sh': x('#!/bin/sh\n'), 'data/blob.bin': f(binary), empty: f(), nothing: d(),
  'read-only': f('ro', 0o444), latest: l('src/main.c'), private: f('p', 0o600), 'exec-only': f('e', 0o500),
};

t.across('project', ALL, PROJECT, written(project));
t.across('project-backwards', ['ustar', 'zip', 'zst'], [...PROJECT].reverse(), written(project));
t.across('dot-slash', ['ustar', 'zip', 'pax'], [{ dir: './' }, ...PROJECT.map((e) => {
  const kind = ['file', 'dir', 'link'].find((k) => e[k] !== undefined);

  return { ...e, [kind]: `./${e[kind]}` };
})], written(project));

// Names.
const LONG = `${'directory-with-a-long-name/'.repeat(9)}and-a-file-at-the-end-of-it`;
const NAMES = ['with space', 'üñïçødé/ファイル', '🦊', '-dash', 'n'.repeat(255), 'é'.repeat(127), 'a'.repeat(99), 'b'.repeat(100), 'c'.repeat(101),
  "quote'\"`", '#hash', '[brackets]{braces}', 'percent%20', 'tilde~', 'star*?', 'a&b;c|d<e>f', '.git/config', '..data/..2024', LONG];

t.across('names', ['pax', 'gnu', 'zip'], NAMES.map((file) => ({ file, data: file })), written(Object.fromEntries(NAMES.map((n) => [n, f(n)]))));
t.across('ustar-prefix', ['ustar', 'gz'], [{ file: `${'p'.repeat(150)}/${'n'.repeat(100)}`, data: 'x' }],
  written({ [`${'p'.repeat(150)}/${'n'.repeat(100)}`]: f('x') }));
t.across('depth-120', ['pax', 'gnu', 'zip'], [{ file: `${'d/'.repeat(119)}f`, data: 'deep' }], written({ [`${'d/'.repeat(119)}f`]: f('deep') }));
t.across('long-link', ['pax', 'gnu', 'zip'], [{ file: LONG, data: 'x' }, { link: 'l', to: LONG }], written({ [LONG]: f('x'), l: l(LONG) }));
tar('long-name-and-link', () => T.tar(T.gnuLong('K', `../${'x'.repeat(200)}`), T.gnuLong('L', `d/${'y'.repeat(200)}`), T.symlink('short', 'short', T.GNU)),
  { [`d/${'y'.repeat(200)}`]: l(`../${'x'.repeat(200)}`) });

// Links.
const LINKS = [
  { file: 'lib/v1/so', data: 'so' }, { link: 'lib/current', to: 'v1' }, { link: 'lib/so', to: 'current/so' }, { link: 'bin/tool', to: '../lib/so' },
  { link: 'self', to: '.' }, { link: 'lib/v1/up', to: '../..' }, { link: 'dangling', to: 'not/yet/there' }, { link: 'a/b/c', to: '../../lib/../bin/tool' },
  { link: 'around', to: 'lib/v1/up/lib/v1/so' },
];

t.across('links', ALL, LINKS, written({
  'lib/v1/so': f('so'), 'lib/current': l('v1'), 'lib/so': l('current/so'), 'bin/tool': l('../lib/so'), self: l('.'), 'lib/v1/up': l('../..'),
  dangling: l('not/yet/there'), 'a/b/c': l('../../lib/../bin/tool'), around: l('lib/v1/up/lib/v1/so'),
}));
t.across('link-chain-20', ['ustar', 'zip'], [...Array.from({ length: 20 }, (_, i) => ({ link: `l${i}`, to: `l${i + 1}` })), { file: 'l20', data: 'end' }],
  written({ ...Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`l${i}`, l(`l${i + 1}`)])), l20: f('end') }));
t.across('link-to-later-directory', ['ustar', 'zip'], [{ link: 'l', to: 'd/f' }, { file: 'd/f', data: 'x' }], written({ l: l('d/f'), 'd/f': f('x') }));
t.across('link-with-odd-slashes', ['gnu', 'zip'], [{ file: 'a/b', data: 'x' }, { link: 'l', to: './/a/./b' }, { link: 'm', to: 'a/' }],
  written({ 'a/b': f('x'), l: l('.//a/./b'), m: l('a/') }));
t.across('hard-links', TARS, [{ file: 'd/a', data: 'shared' }, { hard: 'd/b', to: 'd/a' }, { hard: 'c', to: './d/b' }, { file: 'run', data: '#!', mode: 0o755 }, { hard: 'run2', to: 'run', mode: 0o755 }],
  written({ 'd/a': f('shared'), 'd/b': same('d/a'), c: same('d/a'), run: x('#!'), run2: same('run') }));

// Tar.
tar('v7', () => T.tar(T.file('d/', '', { ...T.V7, mode: 0o755 }), T.file('d/f', 'x', T.V7), T.symlink('l', 'd/f', T.V7), T.hardlink('h', 'd/f', T.V7)),
  { d: d(), 'd/f': f('x'), l: l('d/f'), h: same('d/f') });
tar('v7-nul-type', () => T.tar(T.file('a', 'a', { ...T.V7, type: '\0' }), T.file('b', 'b', { ...T.V7, type: '\0', mode: '   755 ' })), { a: f('a'), b: x('b') });
tar('fields-with-spaces', () => T.tar(T.file('a', 'abc', { mode: '   644 \0', uid: '  1750 \0', size: '          3 ', mtime: '14533210431 ' })), { a: f('abc') });
tar('checksum-signed', () => {
  const name = Buffer.from('é'.repeat(10));
  const block = T.header({ name, size: 1 });
  const signed = [...block].reduce((a, b, i) => a + (i >= 148 && i < 156 ? 32 : b > 127 ? b - 256 : b), 0);

  return T.tar(T.header({ name, size: 1, checksum: signed }), T.padded('x'));
}, { ['é'.repeat(10)]: f('x') });
tar('contiguous', () => T.tar(T.entry({ name: 'a', type: '7', data: 'abc' })), { a: f('abc') });
tar('volume-label', () => T.tar(T.entry({ name: 'backup 1', type: 'V', ...T.GNU }), T.file('a', 'a', T.GNU)), { a: f('a') });
tar('base256-size', () => T.tar(T.file('a', 'abc', { size: T.base256(3, 12), mtime: T.base256(1700000000, 12), ...T.GNU })), { a: f('abc') });
tar('pax-times', () => T.tar(T.pax({ mtime: '1700000000.123456789', atime: '1700000001.5', ctime: '1700000002' }), T.file('a', 'a')), { a: f('a') });
tar('pax-unknown-keys', () => T.tar(T.pax({ 'ACME.colour': 'red', comment: 'x'.repeat(3000), 'SCHILY.dev': '1', 'SCHILY.ino': '77', charset: 'ISO-IR 10646 2000 UTF-8' }), T.file('a', 'a')), { a: f('a') });
tar('pax-name-of-header', () => T.tar(T.pax({ path: 'real/name' }, { name: './PaxHeaders.123/name' }), T.file('shortened', 'a')), { 'real/name': f('a') });
tar('pax-newline-in-value', () => T.tar(T.pax([['comment', 'one\n12 path=../x\n'], ['path', 'a']]), T.file('x', 'a')), { a: f('a') });
tar('pax-comment-500-kib', () => T.tar(T.pax({ comment: 'c'.repeat(500 << 10) }), T.file('a', 'a')), { a: f('a') });
tar('pax-size-equal', () => T.tar(T.pax({ size: '5' }), T.file('a', 'abcde')), { a: f('abcde') });
tar('pax-solaris', () => T.tar(T.pax({ path: 'real' }, { type: 'X' }), T.file('x', 'a')), { real: f('a') });
tar('git-archive', () => T.tar(T.paxGlobal({ comment: '0123456789abcdef0123456789abcdef01234567' }, { mode: 0o666, uid: 0, gid: 0, uname: 'root', gname: 'root' }),
  T.dir('p/', { mode: 0o775 }), T.file('p/a', 'a', { mode: 0o664 }), T.file('p/run', '#!', { mode: 0o775 })),
{ p: d(0o775), 'p/a': f('a', 0o664), 'p/run': f('#!', 0o775) });
tar('global-in-the-middle', () => T.tar(T.file('a', 'a'), T.paxGlobal({ comment: 'x', mtime: '5' }), T.file('b', 'b')), { a: f('a'), b: f('b') });
tar('blocking-factor', () => Buffer.concat([T.tar(T.file('a', 'a')), Buffer.alloc(10240 * 3 + 512)]), { a: f('a') });
tar('trailing-zeros-odd', () => Buffer.concat([T.tar(T.file('a', 'a')), Buffer.alloc(777)]), { a: f('a') });
tar('padding-not-zero', () => T.tar(T.header({ name: 'a', size: 3 }), Buffer.concat([Buffer.from('abc'), Buffer.alloc(509, 'Z')]), T.file('b', 'b')), { a: f('abc'), b: f('b') });
tar('data-of-whole-blocks', () => T.tar(T.file('a', Buffer.alloc(1024, 'a')), T.file('b', Buffer.alloc(511, 'b')), T.file('c', Buffer.alloc(513, 'c'))),
  { a: f(Buffer.alloc(1024, 'a')), b: f(Buffer.alloc(511, 'b')), c: f(Buffer.alloc(513, 'c')) });
tar('star', () => T.tar(T.file('a', 'a', { raw: [[508, 'tar\0']], prefix: '' })), { a: f('a') });
tar('long-name-of-directory', () => T.tar(T.gnuLong('L', `${LONG}/`), T.dir('short/', T.GNU)), { [LONG]: d() });
tar('only-directories', () => T.tar(T.dir('a/'), T.dir('a/b/'), T.dir('c/')), { a: d(), 'a/b': d(), c: d() });
tar('directory-mode-after-content', () => T.tar(T.dir('d/', { mode: 0o700 }), T.file('d/f', 'x'), T.dir('e/', { mode: 0o555 }), T.file('e/f', 'x')),
  { d: d(0o700), 'd/f': f('x'), e: d(0o755), 'e/f': f('x') });
tar('empty-10240', () => Buffer.alloc(10240), {});
tar('empty-1024', () => Buffer.alloc(1024), {});
t.one('empty-gzip', 'gz', () => S.gzip(Buffer.alloc(10240)), written({}));
t.one('empty-zstd', 'zst', () => S.zstd(Buffer.alloc(10240)), written({}));
zip('empty-zip', () => Z.zip([]), {});

// Sparse files, in all four ways.
const PIECES = [[0, 'start'.padEnd(512, '.')], [4096, 'middle'.padEnd(1024, '.')], [70000, 'odd'], [99000, '']];
const sparse = () => holes(99000, PIECES);
const many = [...Array.from({ length: 60 }, (_, i) => [i * 8192, Buffer.alloc(512, 65 + (i % 26))]), [60 * 8192, '']];

for (const [name, write] of [['old', T.sparseOld], ['0.0', T.sparse00], ['0.1', T.sparse01], ['1.0', T.sparse10]]) {
  tar(`sparse-${name}`, () => T.tar(T.file('before', 'b'), write('d/sparse', 99000, PIECES), T.file('after', 'a')),
    { before: f('b'), 'd/sparse': sparse(), after: f('a') });
  tar(`sparse-${name}-60-pieces`, () => T.tar(write('s', 60 * 8192, many), T.file('after', 'a')), { s: holes(60 * 8192, many), after: f('a') });
  tar(`sparse-${name}-all-hole`, () => T.tar(write('s', 50000, [[50000, '']]), T.file('after', 'a')), { s: holes(50000, []), after: f('a') });
}
t.one('sparse-1.0-in-gzip', 'gz', () => S.gzip(T.tar(T.sparse10('d/sparse', 99000, PIECES))), written({ 'd/sparse': sparse() }));
t.one('sparse-old-in-zstd', 'zst', () => S.zstd(T.tar(T.sparseOld('d/sparse', 99000, PIECES))), written({ 'd/sparse': sparse() }));

// gzip and zstd.
const two = () => T.tar(T.file('a', binary), T.file('b', 'b'));
const twoTree = { a: f(binary), b: f('b') };
const gz = (name, build) => t.one(`gzip-${name}`, 'gz', () => build(two()), written(twoTree));
const zst = (name, build) => t.one(`zstd-${name}`, 'zst', () => build(two()), written(twoTree));

gz('name-comment-extra-hcrc', (b) => S.gzip(b, { name: 'a.tar', comment: 'made by a test', extra: 'ab\x04\x00data', hcrc: true, text: true }));
gz('members', (b) => S.members(b, 4000));
gz('members-of-a-byte-at-the-start', (b) => Buffer.concat([S.members(b.subarray(0, 20), 1), S.gzip(b.subarray(20))]));
gz('members-with-names', (b) => S.members(b, 9000, { name: 'part' }));
gz('empty-member-last', (b) => Buffer.concat([S.gzip(b), S.gzip('')]));
gz('empty-member-first', (b) => Buffer.concat([S.gzip(''), S.gzip(b)]));
gz('zeros-after', (b) => Buffer.concat([S.gzip(b), Buffer.alloc(10240)]));
gz('stored', (b) => S.gzip(b, { level: 0 }));
gz('best', (b) => S.gzip(b, { level: 9 }));
zst('frames', (b) => Buffer.concat([S.zstd(b.subarray(0, 1000)), S.zstd(b.subarray(1000, 1001)), S.zstd(b.subarray(1001))]));
zst('skippable', (b) => Buffer.concat([S.skippable('metadata'), S.zstd(b.subarray(0, 5000)), S.skippable('', 15), S.zstd(b.subarray(5000)), S.skippable('x'.repeat(5000), 7)]));
zst('empty-frame', (b) => Buffer.concat([S.zstd(Buffer.alloc(0)), S.zstd(b), S.zstd(Buffer.alloc(0))]));
zst('no-checksum', (b) => S.zstd(b, { checksum: false }));
zst('raw-blocks', (b) => S.zstdFrame([S.rawBlocks(b)]));
zst('raw-blocks-single-segment', (b) => S.zstdFrame([S.rawBlocks(b)], { single: true, size: b.length }));
zst('level-19', (b) => S.zstd(b, { level: 19 }));
t.one('zstd-rle', 'zst', () => S.zstdFrame([S.rawBlocks(T.header({ name: 'a', size: 100352 }), false), S.rleBlock(97, 100352), S.rleBlock(0, 1024, true)]),
  written({ a: f(Buffer.alloc(100352, 'a')) }));

// Zip.
const zipTwo = (more = {}, options = {}) => () => Z.zip([Z.file('a', binary, more), Z.file('b', 'b', more), Z.dir('d')], options);
const zipTree = { a: f(binary), b: f('b'), d: d() };

for (const [name, more, options] of [
  ['stored', { method: 0 }], ['deflated', { method: 8 }], ['deflated-level-9', { level: 9 }], ['zip64', { zip64: true }, { zip64: true }],
  ['zip64-end-only', {}, { zip64: true }], ['zip64-entries-only', { zip64: true }], ['descriptor', { descriptor: true }],
  ['descriptor-bare', { descriptor: 'bare' }], ['descriptor-zip64', { descriptor: 'zip64', zip64: true }], ['descriptor-stored', { descriptor: true, method: 0 }],
  ['descriptor-sizes-known', { descriptor: true, sizesKnown: true }], ['comment', {}, { comment: 'a comment, with nothing before the archive' }],
  ['comment-65535', {}, { comment: 'c'.repeat(65535) }], ['entry-comments', { central: { comment: 'of the entry' } }],
  ['extras', { extra: Buffer.concat([Z.extra(0x5455, Buffer.from([1, 0, 0, 0, 0])), Z.extra(0x7875, Buffer.from('010400000000040000000000'.slice(0, 22), 'hex')), Z.extra(0xcafe, '')]) }],
  ['extras-differ', { local: { extra: Z.extra(0x5455, Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 0])) }, central: { extra: Z.extra(0x5455, Buffer.from([3, 0, 0, 0, 0])) } }],
  ['no-utf8-flag', { flags: 0 }],
])
  zip(`zip-${name}`, zipTwo(more, options), zipTree);
zip('zip-dos', () => Z.zip([Z.file('a', 'a', { central: { madeBy: 0x0014, external: 0x20 } }), { name: 'd/', method: 0, central: { madeBy: 0x0014, external: 0x10 } }]),
  { a: f('a'), d: d() });
zip('zip-mode-zero', () => Z.zip([Z.file('a', 'a', { central: { external: 0 } }), Z.file('b', 'b', { central: { external: 0o644 * 0x10000 } })]), { a: f('a'), b: f('b') });
zip('zip-modes', () => Z.zip([Z.file('run', '#!', { mode: 0o100755 }), Z.file('ro', 'r', { mode: 0o100444 }), Z.file('p', 'p', { mode: 0o100600 })]),
  { run: x('#!'), ro: f('r', 0o444), p: f('p', 0o600) });
zip('zip-link-deflated', () => Z.zip([Z.file('a', 'a'), Z.symlink('l', './'.repeat(50) + 'a', { method: 8 })]), { a: f('a'), l: l('./'.repeat(50) + 'a') });
zip('zip-empty-deflated', () => Z.zip([Z.file('a', '', { method: 8 })]), { a: f() });
zip('zip-unicode-path', () => Z.zip([Z.file('ü', 'x', { extra: Z.unicodePath('ü', 'ü') })]), { 'ü': f('x') });
zip('zip-in-zip', () => Z.zip([Z.file('inner.zip', Z.zip([Z.file('../x', 'x')]), { method: 8 })]), { 'inner.zip': f(Z.zip([Z.file('../x', 'x')])) });
zip('zip-directory-order', () => {
  const parts = [Z.file('b', 'b'), Z.file('a', 'a')];
  const first = Z.zip(parts);
  const at = [0, 30 + 1 + 3];

  return Z.zip([{ ...parts[1], skipLocal: true, at: at[1] }, { ...parts[0], skipLocal: true, at: at[0] }],
    { prefix: first.subarray(0, 2 * at[1]), counted: true });
}, { a: f('a'), b: f('b') });

// Archives inside are files like others.
t.across('archive-inside', ['ustar', 'zip'], [{ file: 'inner.tar', data: T.tar(T.file('../x', 'x')) }, { file: 'inner.gz', data: S.gzip('x') }],
  written({ 'inner.tar': f(T.tar(T.file('../x', 'x'))), 'inner.gz': f(S.gzip('x')) }));

// Large and many.
const noise = (n) => {
  const cipher = crypto.createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16));

  return cipher.update(Buffer.alloc(n));
};
const FILES = Array.from({ length: 5000 }, (_, i) => ({ file: `d${i % 50}/e${i % 7}/f${i}`, data: `${i}` }));
const files = Object.fromEntries(FILES.map((e) => [e.file, f(e.data)]));

t.across('file-of-9-mib', ['ustar', 'zst', 'zip'], () => [{ file: 'big', data: noise(9 << 20) }], { refused: [], get trees() { return [{ big: f(noise(9 << 20)) }]; } }, { big: true });
t.across('files-5000', ['ustar', 'gz', 'zst', 'zip'], FILES, written(files), { big: true });

export default t.cases;
