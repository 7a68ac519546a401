// SPDX-License-Identifier: Apache-2.0
// Names: what leaves the target, what no file can be called, what two entries make of one name.

import * as T from '../tar.mjs';
import * as Z from '../zip.mjs';
import { ALL, TARS, Table, d, either, f, refused, written } from './common.mjs';

const t = new Table('names');
const evil = (name) => [{ file: 'ok.txt', data: 'ok' }, { file: name, data: 'pwned' }];
const latin1 = (s) => Buffer.from(s, 'latin1');

t.across('dotdot-first', ALL, evil('../outside/pwned'), refused('NAME_DOTDOT'));
t.across('dotdot-over-file', ['ustar', 'zip'], evil('../outside/file'), refused('NAME_DOTDOT'));
t.across('dotdot-deep', ['pax', 'zip', 'gz'], evil('a/b/../../../outside/pwned'), refused('NAME_DOTDOT'));
t.across('dotdot-but-inside', ['gnu', 'zip'], evil('a/../b'), refused('NAME_DOTDOT'));
t.across('dotdot-last', ['ustar', 'zip'], [{ dir: 'a' }, { dir: 'a/..' }], refused('NAME_DOTDOT'));
t.across('dotdot-chmod', ['ustar', 'zst', 'zip'], [{ dir: '..', mode: 0o777 }, { file: 'a' }], refused('NAME_DOTDOT'));
t.across('dotdot-after-dot', ['ustar', 'zip'], evil('./.././outside/pwned'), refused('NAME_DOTDOT'));
t.across('dotdot-first-entry-only', ['gnu'], [{ file: '../outside/pwned', data: 'x' }, { file: 'ok' }], refused('NAME_DOTDOT'));
t.across('absolute', ALL, (ctx) => evil(`${ctx.outside}/pwned`), refused('NAME_ABSOLUTE', 'NAME_TOO_LONG', 'ARCHIVE_DAMAGED'));
t.across('absolute-short', ['ustar', 'zip'], evil('/tmp/acpd-pwned'), refused('NAME_ABSOLUTE'));
t.across('absolute-double', ['pax', 'zip'], (ctx) => evil(`/${ctx.outside}/pwned`), refused('NAME_ABSOLUTE'));
t.across('absolute-directory', ['ustar'], [{ dir: '/tmp/acpd-pwned', mode: 0o777 }], refused('NAME_ABSOLUTE'));
t.across('dot-then-absolute', ['ustar', 'zip'], evil('.//tmp/acpd-pwned'), either(
  '"./" and "//" are normalised, what stays is relative', ['NAME_ABSOLUTE'], { 'ok.txt': f('ok'), 'tmp/acpd-pwned': f('pwned') }));
t.across('backslash-dotdot', ['zip'], evil('..\\outside\\pwned'), refused('NAME_BACKSLASH', 'NAME_DOTDOT'));
t.across('backslash-dotdot', ['ustar', 'pax'], evil('..\\outside\\pwned'), either(
  'in a tar a backslash is a letter like any other', ['NAME_BACKSLASH', 'NAME_DOTDOT'],
  { 'ok.txt': f('ok'), '..\\outside\\pwned': f('pwned') }));
t.across('backslash', ['zip'], evil('a\\b'), refused('NAME_BACKSLASH'));
t.across('backslash', ['ustar', 'gz'], evil('a\\b'), either(
  'in a tar a backslash is a letter like any other', ['NAME_BACKSLASH'], { 'ok.txt': f('ok'), 'a\\b': f('pwned') }));
t.across('drive-letter', ['ustar', 'zip'], evil('C:/pwned'), either(
  'a colon is a letter like any other', ['NAME_ABSOLUTE', 'NAME_RESERVED'], { 'ok.txt': f('ok'), 'C:/pwned': f('pwned') }));
t.across('drive-letter-relative', ['gz', 'zip'], evil('c:pwned'), either(
  'a colon is a letter like any other', ['NAME_ABSOLUTE', 'NAME_RESERVED'], { 'ok.txt': f('ok'), 'c:pwned': f('pwned') }));
t.across('drive-letter-backslash', ['zip'], evil('C:\\pwned'), refused('NAME_BACKSLASH', 'NAME_ABSOLUTE', 'NAME_RESERVED'));

// ustar puts a path together from two fields, so neither alone shows where it goes.
const split = (prefix, name) => () => T.tar(T.file(name, 'pwned', { prefix }));

t.one('prefix-is-dotdot', 'tar', split('..', 'outside/pwned'), refused('NAME_DOTDOT'));
t.one('prefix-ends-in-dotdot', 'tar', split('a/../..', 'outside/pwned'), refused('NAME_DOTDOT'));
t.one('prefix-is-absolute', 'tar', (ctx) => split(ctx.outside, 'pwned')(), refused('NAME_ABSOLUTE'));
t.one('prefix-is-slash', 'tar', split('/', 'tmp/acpd-pwned'), refused('NAME_ABSOLUTE'));
t.one('prefix-then-absolute', 'tar', split('a', '/tmp/acpd-pwned'), either(
  '"//" is normalised', ['NAME_ABSOLUTE'], { 'a/tmp/acpd-pwned': f('pwned') }));
t.one('prefix-then-dotdot', 'tar', split('a', '../../outside/pwned'), refused('NAME_DOTDOT'));

t.one('empty', 'tar', () => T.tar(T.file('ok'), T.file('', 'x')), refused('NAME_EMPTY', 'ARCHIVE_DAMAGED'));
t.one('empty-but-data-follows', 'tar', () => T.tar(T.file('', 'x'), T.file('../outside/pwned', 'x')),
  refused('NAME_EMPTY', 'ARCHIVE_DAMAGED', 'NAME_DOTDOT'));
t.across('empty', ['zip'], [{ file: 'ok' }, { file: '', data: 'x' }], refused('NAME_EMPTY', 'ARCHIVE_DAMAGED'));
t.one('empty-pax-path', 'tar', () => T.tar(T.pax({ path: '' }), T.file('plain', 'x')), either(
  'POSIX: an empty value takes the record back, the header\'s own name holds', ['NAME_EMPTY', 'ARCHIVE_DAMAGED'], { plain: f('x') }));
t.across('slash-only', ['ustar', 'zip'], [{ file: '/', data: 'x' }], refused('NAME_EMPTY', 'NAME_ABSOLUTE', 'ARCHIVE_DAMAGED'));
t.across('dot-as-a-file', ['ustar', 'zip'], [{ file: '.', data: 'x' }], refused('NAME_EMPTY', 'TYPE_CONFLICT', 'NAME_DOTDOT'));
t.across('dot-as-a-link', ['ustar', 'zip'], [{ link: '.', to: 'a' }, { file: 'a' }], refused('NAME_EMPTY', 'TYPE_CONFLICT'));

t.across('nul', ['pax', 'zip'], evil('ok\0/../../outside/pwned'),
  refused('NAME_CONTROL', 'NAME_DOTDOT', 'ARCHIVE_DAMAGED', 'ZIP_HEADER_MISMATCH'));
t.across('nul-hides-suffix', ['pax', 'zip'], evil('harmless.txt\0.sh'),
  refused('NAME_CONTROL', 'ARCHIVE_DAMAGED', 'ZIP_HEADER_MISMATCH'));
t.across('nul', ['gnu'], evil('gnu\0/../../outside/pwned'), either(
  'a GNU long name ends at its first NUL', ['NAME_CONTROL', 'NAME_DOTDOT', 'ARCHIVE_DAMAGED'], { 'ok.txt': f('ok'), gnu: f('pwned') }));
t.across('newline', ['ustar', 'zip', 'pax'], evil('a\n../outside'), refused('NAME_CONTROL'));
t.across('escape', ['ustar', 'zip', 'zst'], evil('\x1b[2J\x1b]0;pwned\x07'), refused('NAME_CONTROL'));
t.across('carriage-return', ['gnu'], evil('a\rb'), refused('NAME_CONTROL'));
t.across('delete', ['ustar', 'zip'], evil('a\x7fb'), refused('NAME_CONTROL'));
t.across('bidi-override', ['pax', 'zip'], evil('exe.\u202etxt'), either(
  'a letter for the file system, a trick only for readers', ['NAME_CONTROL', 'NAME_RESERVED'], { 'ok.txt': f('ok'), 'exe.\u202etxt': f('pwned') }));
t.across('not-utf8', ['ustar', 'pax', 'gnu', 'zip'], evil(latin1('a\xff\xfeb')), refused('NAME_NOT_UTF8'));
t.across('overlong-slash', ['ustar', 'zip'], evil(latin1('..\xc0\xafoutside\xc0\xafpwned')), refused('NAME_NOT_UTF8'));
t.across('surrogate', ['pax'], evil(latin1('a\xed\xa0\x80b')), refused('NAME_NOT_UTF8'));
t.across('cut-utf8', ['gz'], evil(latin1('caf\xc3')), refused('NAME_NOT_UTF8'));

t.across('component-300', ['pax', 'gnu', 'zip'], evil('n'.repeat(300)), refused('NAME_TOO_LONG'));
t.across('component-256-bytes-128-letters', ['pax', 'zip'], evil('é'.repeat(128)), refused('NAME_TOO_LONG'));
t.across('directory-300', ['gnu', 'zip'], evil(`${'n'.repeat(300)}/f`), refused('NAME_TOO_LONG'));
t.across('path-4200', ['pax', 'zip'], evil(`${'n'.repeat(200)}/`.repeat(21) + 'f'), refused('PATH_TOO_LONG'));
t.across('path-66000', ['gnu'], evil(`${'n'.repeat(250)}/`.repeat(263) + 'f'), refused('PATH_TOO_LONG', 'PATH_TOO_DEEP', 'HEADER_TOO_LARGE'));
t.across('levels-3000', ['pax', 'gnu', 'zip'], evil('a/'.repeat(3000) + 'f'), refused('PATH_TOO_DEEP', 'PATH_TOO_LONG'));
t.across('levels-200', ['pax', 'zip'], evil('a/'.repeat(200) + 'f'), refused('PATH_TOO_DEEP'));
t.across('levels-200-directory', ['gnu'], [{ dir: 'a/'.repeat(200) }], refused('PATH_TOO_DEEP'));

const OPTIONS = ['-rf', '--checkpoint=1', '--checkpoint-action=exec=sh x', '-', '--', '-d/-x', '@list', '*', '$(id)', '`id`', ';'];

t.across('option-like', ALL, OPTIONS.map((file) => ({ file, data: file })), written(Object.fromEntries(OPTIONS.map((n) => [n, f(n)]))));
t.across('case-twins', ['ustar', 'zip'], [{ file: 'README', data: '1' }, { file: 'readme', data: '2' }, { file: 'D/a' }, { file: 'd/b' }],
  either('on Linux these are different names', ['NAME_COLLISION'], { README: f('1'), readme: f('2'), 'D/a': f(), 'd/b': f() }));
t.across('nfc-nfd-twins', ['pax', 'zip'], [{ file: 'caf\u00e9', data: '1' }, { file: 'cafe\u0301', data: '2' }],
  either('on Linux these are different names', ['NAME_COLLISION'], { 'caf\u00e9': f('1'), 'cafe\u0301': f('2') }));

// Duplicates: the last of a file wins. In a zip two entries of one name can also be taken for an attack.
const twice = [{ file: 'a', data: 'first' }, { file: 'b', data: 'b' }, { file: './a', data: 'last', mode: 0o755 }];
const last = { a: f('last', 0o755), b: f('b') };

t.across('duplicate-last-wins', TARS, twice, written(last));
t.across('duplicate', ['zip'], twice, either('the last of a file wins', ['ZIP_AMBIGUOUS', 'NAME_COLLISION'], last));
t.across('duplicate-shorter', ['ustar'], [{ file: 'a', data: 'x'.repeat(5000) }, { file: 'a', data: 'y' }], written({ a: f('y') }));
t.across('duplicate-hundredfold', ['gz'], Array.from({ length: 100 }, (_, i) => ({ file: 'a', data: `${i}` })), written({ a: f('99') }));
t.across('duplicate-directory', ['ustar', 'zip'], [{ dir: 'a' }, { file: 'a/f' }, { dir: './a/' }, { dir: 'a//' }],
  either('a directory is there once', ['ZIP_AMBIGUOUS', 'NAME_COLLISION'], { a: d(), 'a/f': f() }));

t.across('file-as-directory', ['ustar', 'zip', 'zst'], [{ file: 'a', data: 'x' }, { file: 'a/b', data: 'x' }], refused('TYPE_CONFLICT'));
t.across('directory-as-file', ['ustar', 'zip', 'pax'], [{ file: 'a/b', data: 'x' }, { file: 'a', data: 'x' }], refused('TYPE_CONFLICT'));
t.across('file-then-directory', ['gnu', 'zip'], [{ file: 'a', data: 'x' }, { dir: 'a' }], refused('TYPE_CONFLICT'));
t.across('directory-then-file', ['gz', 'zip'], [{ dir: 'a' }, { file: 'a', data: 'x' }], refused('TYPE_CONFLICT'));

t.across('dot-chmod-000', ['ustar', 'zip', 'zst'], [{ dir: '.', mode: 0 }, { file: 'a', data: 'x' }], written({ a: f('x') }));
t.across('dot-chmod-setid', ['ustar', 'zip'], [{ dir: './', mode: 0o6777 }, { file: './a', data: 'x' }],
  either('set-id bits of directories are dropped', ['SETID'], { a: f('x') }));
t.across('staging-name', ['ustar', 'zip'], [{ file: '.acpd-stage-0123456789abcdef/x', data: 'x' }], refused('NAME_RESERVED'));
t.across('staging-name-deep', ['gz'], [{ file: 'a/.acpd-stage-0123456789abcdef', data: 'x' }], either(
  'only what the extraction itself makes is reserved', ['NAME_RESERVED'], { 'a/.acpd-stage-0123456789abcdef': f('x') }));

const dotty = ['...', '..a', 'a..', '.../..b', '.hidden', 'trailing ', 'trailing.', ' leading', '~', '~root/x', '%2e%2e%2fx', 'aux', 'NUL', 'ab:c'];

t.across('almost-dotdot', ['ustar', 'gnu', 'zip'], dotty.filter((n) => n !== '...').map((file) => ({ file, data: file })),
  written(Object.fromEntries(dotty.filter((n) => n !== '...').map((n) => [n, f(n)]))));
t.across('normalised', ['ustar', 'pax', 'zip'],
  [{ file: './a//b', data: '1' }, { file: 'a/./c', data: '2' }, { file: '././/d', data: '3' }, { dir: 'e/.' }],
  written({ 'a/b': f('1'), 'a/c': f('2'), d: f('3'), e: d() }));
t.one('cp437', 'zip', () => Z.zip([Z.file(latin1('caf\x82.txt'), 'x', { flags: 0 })]), either(
  'a name without the UTF-8 flag is code page 437', ['NAME_NOT_UTF8'], { 'café.txt': f('x') }));

export default t.cases;
