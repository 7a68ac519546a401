// SPDX-License-Identifier: Apache-2.0
// Symbolic and hard links that lead out, alone, in chains and together with what is written through them; loops.

import * as T from '../tar.mjs';
import * as Z from '../zip.mjs';
import { ALL, Table, d, either, f, l, refused, same, written } from './common.mjs';

const t = new Table('links');
const OUT = ['SYMLINK_OUTWARD', 'TYPE_CONFLICT'];
const ABSOLUTE = ['SYMLINK_ABSOLUTE', 'TYPE_CONFLICT'];

// A link out, left for whoever reads the tree later.
t.across('outward', ALL, [{ link: 'l', to: '../outside/file' }], refused('SYMLINK_OUTWARD'));
t.across('outward-directory', ['gnu', 'zip'], [{ link: 'a/b/l', to: '../../../outside' }], refused('SYMLINK_OUTWARD'));
t.across('outward-dangling', ['ustar', 'zip'], [{ link: 'l', to: '../nothing/there' }], refused('SYMLINK_OUTWARD'));
t.across('outward-and-back', ['ustar', 'zip'], [{ link: 'l', to: '../dest/a' }, { file: 'a' }], refused('SYMLINK_OUTWARD'));
t.across('outward-parent', ['ustar', 'pax', 'zip'], [{ link: 'up', to: '..' }], refused('SYMLINK_OUTWARD'));
t.across('outward-by-missing-directory', ['ustar', 'zip'], [{ link: 'l', to: 'missing/../../outside' }], refused('SYMLINK_OUTWARD'));
t.across('outward-past-the-root', ['gz'], [{ link: 'l', to: '../'.repeat(40) + 'etc/passwd' }], refused('SYMLINK_OUTWARD'));
t.across('absolute', ALL, (ctx) => [{ link: 'l', to: `${ctx.outside}/file` }], refused('SYMLINK_ABSOLUTE'));
t.across('absolute-proc', ['ustar', 'zip'], [{ link: 'l', to: '/proc/self/root/etc/passwd' }], refused('SYMLINK_ABSOLUTE'));
t.across('absolute-double-slash', ['pax'], [{ link: 'l', to: '//etc/passwd' }], refused('SYMLINK_ABSOLUTE'));
t.across('absolute-into-the-target', ['ustar', 'zip'], (ctx) => [{ link: 'l', to: `${ctx.dest}/a` }, { file: 'a' }], refused('SYMLINK_ABSOLUTE'));
t.across('backslash-target', ['zip', 'ustar'], [{ link: 'l', to: '..\\outside' }], either(
  'a backslash is a letter like any other', ['NAME_BACKSLASH', 'SYMLINK_OUTWARD'], { l: l('..\\outside') }));
t.one('empty-target', 'tar', () => T.tar(T.symlink('l', '')), refused('SYMLINK_OUTWARD', 'NAME_EMPTY', 'ARCHIVE_DAMAGED', 'SYMLINK_LOOP'));
t.across('empty-target', ['zip'], [{ link: 'l', to: '' }], refused('SYMLINK_OUTWARD', 'NAME_EMPTY', 'ARCHIVE_DAMAGED', 'SYMLINK_LOOP'));
t.across('nul-in-target', ['pax', 'zip'], [{ link: 'l', to: 'a\0/../../outside' }, { file: 'a' }],
  refused('NAME_CONTROL', 'SYMLINK_OUTWARD', 'ARCHIVE_DAMAGED', 'SIZE_MISMATCH'));
t.across('control-in-target', ['ustar', 'zip'], [{ link: 'l', to: 'a\n\x1b[2J' }], either(
  'the name of what a link leads to is not written anywhere else', ['NAME_CONTROL'], { l: l('a\n\x1b[2J') }));
t.across('target-5000', ['pax', 'gnu', 'zip'], [{ link: 'l', to: 'a/'.repeat(2500) + 'b' }],
  refused('PATH_TOO_LONG', 'PATH_TOO_DEEP', 'NAME_TOO_LONG'));
t.one('target-long-as-data', 'zip', () => Z.zip([Z.symlink('l', 'a'.repeat(1 << 20))]),
  refused('PATH_TOO_LONG', 'NAME_TOO_LONG', 'FILE_TOO_LARGE', 'TOO_LARGE'));
t.across('escape-by-non-utf8-directory', ['ustar'], [{ link: 'l', to: Buffer.from('\xff/../../outside', 'latin1') }],
  refused('SYMLINK_OUTWARD', 'NAME_NOT_UTF8'));

t.one('outward-by-pax-linkpath', 'tar', () => T.tar(T.file('a', 'a'), T.pax({ linkpath: '../outside/file' }), T.symlink('l', 'a')), refused('SYMLINK_OUTWARD'));
t.one('hard-outward-by-pax-linkpath', 'tar', () => T.tar(T.file('a', 'a'), T.pax({ linkpath: '../outside/file' }), T.hardlink('h', 'a')),
  refused('HARDLINK_OUTWARD'));

// Written through.
t.across('then-write-through', ALL, [{ link: 'd', to: '../outside' }, { file: 'd/pwned', data: 'x' }], refused(...OUT));
t.across('absolute-then-write-through', ['ustar', 'pax', 'zip'], (ctx) => [{ link: 'd', to: ctx.outside }, { file: 'd/pwned', data: 'x' }],
  refused(...ABSOLUTE));
t.across('then-write-through-existing', ['gnu', 'zip'], [{ link: 'd', to: '../outside' }, { file: 'd/file', data: 'x' }], refused(...OUT));
t.across('then-directory-through', ['ustar', 'zst'], [{ link: 'd', to: '../outside' }, { dir: 'd/sub', mode: 0o777 }], refused(...OUT));
t.across('then-link-through', ['ustar', 'zip'], [{ link: 'd', to: '../outside' }, { link: 'd/l', to: 'file' }], refused(...OUT));
t.across('write-first-link-later', ['ustar', 'zip'], [{ file: 'd/pwned', data: 'x' }, { link: 'd', to: '../outside' }], refused(...OUT));
t.across('inward-then-write-through', ['ustar', 'zip', 'pax'], [{ dir: 'v1' }, { link: 'cur', to: 'v1' }, { file: 'cur/f', data: 'x' }],
  refused('TYPE_CONFLICT'));
t.across('inward-write-first', ['gz', 'zip'], [{ dir: 'v1' }, { file: 'cur/f', data: 'x' }, { link: 'cur', to: 'v1' }], refused('TYPE_CONFLICT'));

// The last component is the link.
const final = (to) => [{ link: 'f', to }, { file: 'f', data: 'mine' }];
const LAST = 'the last of two entries of a name wins, and no file is written through a link';

t.across('final-live', ['ustar', 'pax', 'zip'], final('../outside/file'),
  either(LAST, ['SYMLINK_OUTWARD', 'TYPE_CONFLICT', 'ZIP_AMBIGUOUS', 'NAME_COLLISION'], { f: f('mine') }));
t.across('final-dangling', ['ustar', 'gz', 'zip'], final('../outside/new'),
  either(LAST, ['SYMLINK_OUTWARD', 'TYPE_CONFLICT', 'ZIP_AMBIGUOUS', 'NAME_COLLISION'], { f: f('mine') }));
t.across('final-absolute', ['gnu', 'zip'], (ctx) => final(`${ctx.outside}/file`),
  either(LAST, ['SYMLINK_ABSOLUTE', 'TYPE_CONFLICT', 'ZIP_AMBIGUOUS', 'NAME_COLLISION'], { f: f('mine') }));
t.across('final-inward', ['ustar', 'zip'], [{ file: 'a', data: 'a' }, ...final('a')],
  either(LAST, ['TYPE_CONFLICT', 'ZIP_AMBIGUOUS', 'NAME_COLLISION'], { a: f('a'), f: f('mine') }));
t.across('file-then-outward', ['ustar', 'zip'], [{ file: 'f', data: 'x' }, { link: 'f', to: '../outside/file' }],
  refused('SYMLINK_OUTWARD', 'TYPE_CONFLICT', 'ZIP_AMBIGUOUS', 'NAME_COLLISION'));
t.across('link-twice', ['ustar', 'pax'], [{ link: 'f', to: '../outside/file' }, { link: 'f', to: 'a' }, { file: 'a' }],
  either(LAST, ['SYMLINK_OUTWARD', 'TYPE_CONFLICT'], { f: l('a'), a: f() }));
t.across('link-twice-outward-last', ['ustar', 'zip'], [{ link: 'f', to: 'a' }, { link: 'f', to: '../outside/file' }, { file: 'a' }],
  refused('SYMLINK_OUTWARD', 'TYPE_CONFLICT', 'ZIP_AMBIGUOUS', 'NAME_COLLISION'));

// Each link looks harmless, together they are not.
t.across('two-hops', ['ustar', 'pax', 'zip', 'zst'], [{ link: 'a/b/l1', to: '../..' }, { link: 'a/b/l2', to: 'l1/../outside' }], refused('SYMLINK_OUTWARD'));
t.across('two-hops-then-write', ['ustar', 'gnu', 'zip'],
  [{ link: 'a/b/l1', to: '../..' }, { link: 'a/b/l2', to: 'l1/../outside' }, { file: 'a/b/l2/pwned', data: 'x' }], refused(...OUT));
t.across('two-hops-in-reverse', ['ustar', 'zip'],
  [{ link: 'a/b/l2', to: 'l1/../outside' }, { link: 'a/b/l1', to: '../..' }], refused('SYMLINK_OUTWARD'));
t.across('two-hops-hard', ['ustar', 'pax', 'gnu'],
  [{ link: 'a/b/l1', to: '../..' }, { link: 'a/b/l2', to: 'l1/../outside' }, { hard: 'h', to: 'a/b/l2/file' }],
  refused('SYMLINK_OUTWARD', 'HARDLINK_OUTWARD', 'HARDLINK_MISSING'));
t.across('dot-link-then-parent', ['ustar', 'zip'], [{ link: 'x', to: '.' }, { link: 'y', to: 'x/..' }], refused('SYMLINK_OUTWARD'));
t.across('parent-by-name', ['ustar', 'zip'], [{ dir: 'd' }, { link: 'p', to: 'd/../..' }, { link: 'q', to: 'p/outside' }], refused('SYMLINK_OUTWARD'));

function chain(n, end) {
  const hops = Array.from({ length: n }, (_, i) => ({ link: `l${i}`, to: `l${i + 1}` }));

  return [...hops, { link: `l${n}`, to: end }];
}
// d/d/…/d with a link to its top in each: every hop climbs further than its text says.
function climb(n) {
  const out = [];

  for (let i = 1; i <= n; i++) {
    out.push({ dir: 's/'.repeat(i) });
    out.push({ link: `${'s/'.repeat(i)}up`, to: i === 1 ? '..' : '../up' });
  }
  return [...out, { link: 'top', to: `${'s/'.repeat(n)}up/..` }];
}

t.across('chain-of-10-outward', ['ustar', 'zip'], chain(10, '../outside'), refused('SYMLINK_OUTWARD'));
t.across('chain-of-30-outward-reversed', ['pax', 'zip'], chain(30, '../outside').reverse(), refused('SYMLINK_OUTWARD'));
t.across('climbing-chain', ['ustar', 'zip'], climb(8), refused('SYMLINK_OUTWARD'));
t.across('chain-of-60', ['ustar', 'zip'], [...chain(60, 'f'), { file: 'f' }], refused('SYMLINK_LOOP', 'SYMLINK_OUTWARD'));

t.across('loop-of-one', ['ustar', 'pax', 'zip'], [{ link: 'l', to: 'l' }], refused('SYMLINK_LOOP'));
t.across('loop-of-two', ['gnu', 'zip'], [{ link: 'a', to: 'b' }, { link: 'b', to: 'a' }], refused('SYMLINK_LOOP'));
t.across('loop-through-directory', ['ustar', 'zst'], [{ link: 'd/a', to: '../d/b/c' }, { link: 'd/b', to: 'a' }], refused('SYMLINK_LOOP'));

// Long names in a chain, so that a resolved path no longer fits where a checker keeps it (PATH_MAX), while the kernel
// still follows the short way.
function pathMax() {
  const long = 'd'.repeat(240);
  const out = [];
  let at = '';

  for (let i = 0; i < 16; i++) {
    const letter = String.fromCharCode(97 + i);

    out.push({ dir: `${at}${long}` }, { link: `${at}${letter}`, to: long });
    at += `${letter}/`;
  }
  return [...out, { link: `${at}${'l'.repeat(240)}`, to: '../'.repeat(16) }, { link: 'escape', to: `${at}${'l'.repeat(240)}/../../outside` },
    { file: 'escape/pwned', data: 'x' }];
}

t.across('path-max', ['pax', 'gnu', 'zip'], pathMax(), refused('SYMLINK_OUTWARD', 'TYPE_CONFLICT', 'PATH_TOO_LONG', 'SYMLINK_LOOP'));

// A name that changes what it is.
t.across('directory-swapped-for-link', ['ustar', 'gnu', 'zip'],
  [{ dir: 'd' }, { file: 'd/f', data: 'x' }, { link: 'd', to: '../outside' }, { file: 'd/pwned', data: 'x' }], refused(...OUT));
t.across('directory-swapped-for-inward-link', ['ustar', 'zip'], [{ dir: 'e' }, { dir: 'd' }, { link: 'd', to: 'e' }],
  either('the last of two entries of a name wins', ['TYPE_CONFLICT', 'ZIP_AMBIGUOUS', 'NAME_COLLISION'], { e: d(), d: l('e') }));
t.across('link-then-directory', ['ustar', 'pax', 'zip'], [{ link: 'd', to: '../outside' }, { dir: 'd', mode: 0o777 }, { file: 'd/pwned', data: 'x' }],
  refused(...OUT));
t.across('link-then-directory-dot', ['gnu', 'zip'], [{ link: 'd', to: '../outside' }, { dir: 'd/.', mode: 0 }], refused(...OUT));
t.across('deferred-chmod', ['ustar', 'zip'], [{ dir: 'd', mode: 0o711 }, { link: 'd', to: '../outside' }], refused(...OUT));
t.across('deferred-chmod-read-only', ['gz'], [{ dir: 'd', mode: 0o500 }, { file: 'd/f' }, { link: 'd', to: '../outside' }], refused(...OUT));

// Hard links.
const HARD = ['HARDLINK_OUTWARD', 'HARDLINK_MISSING', 'NAME_DOTDOT'];

t.across('hard-outward', ['ustar', 'pax', 'gnu', 'gz', 'zst'], [{ hard: 'h', to: '../outside/file' }], refused(...HARD));
t.across('hard-absolute', ['ustar', 'pax', 'gnu'], (ctx) => [{ hard: 'h', to: `${ctx.outside}/file` }],
  refused('HARDLINK_OUTWARD', 'HARDLINK_MISSING', 'NAME_ABSOLUTE'));
t.across('hard-absolute-passwd', ['ustar'], [{ hard: 'h', to: '/etc/passwd' }], refused('HARDLINK_OUTWARD', 'HARDLINK_MISSING', 'NAME_ABSOLUTE'));
t.across('hard-outward-then-write', ['ustar', 'gnu'], [{ hard: 'h', to: '../outside/file' }, { file: 'h', data: 'x' }], refused(...HARD));
t.across('hard-through-link', ['ustar', 'pax'], [{ link: 'd', to: '../outside' }, { hard: 'h', to: 'd/file' }], refused(...OUT, ...HARD));
t.across('hard-to-outward-link', ['ustar', 'gnu'], [{ link: 'd', to: '../outside/file' }, { hard: 'h', to: 'd' }, { file: 'h', data: 'x' }],
  refused(...OUT, ...HARD));
t.across('hard-into-kept-file', ['ustar', 'pax'], [{ hard: 'h', to: 'zz-kept/file' }], refused('HARDLINK_MISSING'));
t.across('hard-dotdot-but-inside', ['gnu'], [{ file: 'a', data: 'a' }, { hard: 'h', to: 'b/../a' }], refused(...HARD));
t.across('hard-below-a-later-link', ['ustar', 'pax', 'gnu', 'gz'],
  [{ file: 'victim', data: 'x' }, { hard: 'door/escaped', to: 'victim' }, { link: 'door', to: '../outside' }], refused(...OUT));
t.across('hard-below-a-later-inward-link', ['ustar', 'gnu'],
  [{ dir: 'v1' }, { file: 'victim', data: 'x' }, { hard: 'door/escaped', to: 'victim' }, { link: 'door', to: 'v1' }], refused('TYPE_CONFLICT'));
t.across('hard-missing', ['ustar', 'gz'], [{ hard: 'h', to: 'nothing' }], refused('HARDLINK_MISSING'));
t.across('hard-to-itself', ['ustar', 'pax'], [{ hard: 'h', to: 'h' }], refused('HARDLINK_MISSING', 'HARDLINK_OUTWARD'));
t.across('hard-to-directory', ['ustar', 'zst'], [{ dir: 'd' }, { hard: 'h', to: 'd' }], refused('HARDLINK_MISSING', 'TYPE_CONFLICT'));
t.across('hard-over-directory', ['ustar'], [{ file: 'a' }, { dir: 'd' }, { hard: 'd', to: 'a' }], refused('TYPE_CONFLICT'));
t.across('hard-to-later-file', ['ustar', 'pax'], [{ hard: 'h', to: 'a' }, { file: 'a', data: 'a' }], either(
  'both are of the same archive', ['HARDLINK_MISSING'], { a: f('a'), h: same('a') }));
t.across('hard-to-link', ['gnu'], [{ file: 'a', data: 'a' }, { link: 'l', to: 'a' }, { hard: 'h', to: 'l' }], either(
  'tar writes a second name of a link like this; what it leads to is inside', ['HARDLINK_MISSING', 'TYPE_CONFLICT'],
  { a: f('a'), l: l('a'), h: same('l') }, { a: f('a'), l: l('a'), h: l('a') }));

const withData = (to) => () => T.tar(T.file('a', 'aaaa'), T.entry({ name: 'h', link: to, type: '1', data: 'pwned' }), T.file('z', 'z'));
const withPaxData = (to) => () => T.tar(T.file('a', 'aaaa'), T.pax({ linkpath: to, size: '5' }),
  T.entry({ name: 'h', link: 'x', type: '1', data: 'pwned' }), T.file('z', 'z'));

t.one('hard-outward-with-data', 'tar', withData('../outside/file'), refused('HARDLINK_DATA', 'ARCHIVE_DAMAGED', ...HARD));
t.one('hard-outward-with-data.pax', 'tar', withPaxData('../outside/file'), refused('HARDLINK_DATA', 'ARCHIVE_DAMAGED', ...HARD));
t.one('hard-inward-with-data', 'tar', withData('a'), refused('HARDLINK_DATA', 'ARCHIVE_DAMAGED'));
t.one('hard-inward-with-data.pax', 'tar', withPaxData('a'), refused('HARDLINK_DATA', 'ARCHIVE_DAMAGED'));
t.one('symlink-with-data', 'tar', () => T.tar(T.entry({ name: 'l', link: 'a', type: '2', data: 'pwned' }), T.file('a', 'a')), either(
  'what a link carries beside its target is passed over', ['ARCHIVE_DAMAGED', 'SIZE_MISMATCH', 'HARDLINK_DATA'], { l: l('a'), a: f('a') }));
t.across('hard-then-overwrite', ['ustar', 'pax'],
  [{ file: 'a', data: 'first' }, { hard: 'h', to: 'a' }, { file: 'a', data: 'second' }],
  either('the last of a file wins; its other name keeps what it was, or follows', ['NAME_COLLISION'],
    { a: f('second'), h: f('first') }, { a: f('second'), h: same('a') }));

export default t.cases;
