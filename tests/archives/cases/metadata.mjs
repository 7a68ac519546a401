// SPDX-License-Identifier: Apache-2.0
// What an entry says of itself beside its name: modes, owners, attributes, times, and types that are no files.

import * as T from '../tar.mjs';
import * as Z from '../zip.mjs';
import { ALL, Table, d, either, f, refused, written, x } from './common.mjs';

const t = new Table('metadata');
const ok = T.file('ok', 'ok');
const one = (name, parts, verdict, more) => t.one(name, 'tar', () => T.tar(ok, ...parts), verdict, more);
const withOk = (tree) => ({ ok: f('ok'), ...tree });

// Set-id bits. A directory's are dropped, a file's make no sense in a workspace.
for (const [name, mode] of [['setuid', 0o4755], ['setgid', 0o2755], ['both', 0o6777]])
  t.across(`set-${name}`, ['ustar', 'pax', 'zip'], [{ file: 'f', data: '#!/bin/sh\n', mode }], refused('SETID'));
t.across('setuid-root', ['gnu', 'zst'], [{ file: 'su', data: 'x', mode: 0o4755 }], refused('SETID'));
t.across('setuid-then-plain', ['ustar'], [{ file: 'f', data: '1', mode: 0o4755 }, { file: 'f', data: '2', mode: 0o755 }],
  either('the last of a file wins', ['SETID'], { f: x('2') }));
t.across('setgid-directory', ['ustar', 'zip', 'gz'], [{ dir: 'd', mode: 0o2775 }, { file: 'd/f', data: 'x' }],
  written({ d: d(0o775), 'd/f': f('x') }));
t.across('sticky-directory', ['ustar', 'zip'], [{ dir: 'd', mode: 0o1777 }], written({ d: d(0o777) }));
t.across('sticky-file', ['ustar'], [{ file: 'f', data: 'x', mode: 0o1644 }], either('the bit is dropped', ['SETID'], { f: f('x') }));
one('mode-all-bits', [T.file('f', 'x', { mode: '37777777' })], refused('SETID', 'ARCHIVE_DAMAGED'));
one('mode-negative', [T.file('f', 'x', { mode: -1 })], refused('SETID', 'ARCHIVE_DAMAGED'));
one('mode-of-a-device', [T.file('f', 'x', { mode: 0o020666 })], either(
  'the type is what the type field says', ['DEVICE', 'ARCHIVE_DAMAGED'], withOk({ f: f('x', 0o666) })));
t.across('mode-000', ['ustar', 'zst', 'zip'], [{ dir: 'd', mode: 0 }, { file: 'd/f', data: 'x', mode: 0 }],
  either('directories get at least u+rwx, a file may stay as unreadable as it was',
    [], { d: d(0o700), 'd/f': f('x', 0) }, { d: d(0o700), 'd/f': f('x', 0o600) }, { d: d(0o700), 'd/f': f('x', 0o400) },
    { d: d(0o700), 'd/f': f('x', 0o644) }));
t.across('directory-read-only', ['ustar', 'zip'], [{ dir: 'd', mode: 0o555 }, { file: 'd/f', data: 'x' }], written({ d: d(0o755), 'd/f': f('x') }));
t.across('world-writable', ['ustar', 'zip'], [{ dir: 'd', mode: 0o777 }, { file: 'd/f', data: 'x', mode: 0o666 }],
  written({ d: d(0o777), 'd/f': f('x', 0o666) }));

// Owners are of no account.
const owned = (name, more) => one(`owner-${name}`, [T.file('f', 'x', more), T.dir('d/', more)], written(withOk({ f: f('x'), d: d() })));

owned('root', { uid: 0, gid: 0, uname: 'root', gname: 'root' });
owned('minus-one', { uid: -1, gid: -1, uname: '' });
owned('2-31', { uid: 2 ** 31, gid: 2 ** 31 });
owned('2-63', { uid: (2n ** 63n) - 1n, gid: (2n ** 63n) - 1n, raw: [] });
owned('unknown-name', { uname: 'nobody-has-this-name', gname: '../../x' });
one('owner-pax', [T.pax({ uid: '0', gid: '0', uname: 'root', gname: 'root' }), T.file('f', 'x')], written(withOk({ f: f('x') })));
one('owner-pax-minus-one', [T.pax({ uid: '-1', gid: '-1' }), T.file('f', 'x')],
  either('owners are of no account', ['ARCHIVE_DAMAGED'], withOk({ f: f('x') })));
one('owner-pax-no-number', [T.pax({ uid: 'root', gid: '99999999999999999999999' }), T.file('f', 'x')],
  either('owners are of no account', ['ARCHIVE_DAMAGED'], withOk({ f: f('x') })));
one('owner-garbage', [T.file('f', 'x', { uid: 'zzzzzzz', gid: '-------' })],
  either('owners are of no account', ['ARCHIVE_DAMAGED'], withOk({ f: f('x') })));

// Attributes are passed over: capabilities, ACLs, flags, SELinux.
const caps = Buffer.from('0100000200200000002000000000000000000000', 'hex');
const attribute = (name, records) => one(`attribute-${name}`, [T.pax(records), T.file('f', 'x', { mode: 0o755 }), T.pax(records), T.dir('d/')],
  written(withOk({ f: x('x'), d: d() })), { attributes: true });

attribute('capability', [['SCHILY.xattr.security.capability', caps]]);
attribute('capability-libarchive', [['LIBARCHIVE.xattr.security.capability', caps.toString('base64')]]);
attribute('acl', [['SCHILY.acl.access', 'user::rwx,user:65534:rwx,group::r-x,mask::rwx,other::rwx'], ['SCHILY.acl.default', 'user::rwx,group::rwx,other::rwx']]);
attribute('acl-broken', [['SCHILY.acl.access', 'user::rwx,user:((((']]);
attribute('selinux', [['RHT.security.selinux', 'unconfined_u:object_r:x:s0']]);
attribute('immutable', [['SCHILY.fflags', 'immutable,append,nodump,schg']]);
attribute('trusted-xattr', [['SCHILY.xattr.trusted.overlay.opaque', 'y'], ['SCHILY.xattr.user.a', 'b']]);

// Times: absurd ones are clamped.
const timed = (name, parts, reasons) => one(`time-${name}`, parts,
  reasons ? either('what is no number says nothing', reasons, withOk({ f: f('x') })) : written(withOk({ f: f('x') })));

timed('negative', [T.file('f', 'x', { mtime: -1 })]);
timed('year-1901', [T.file('f', 'x', { mtime: -(2n ** 62n) })]);
timed('2-63', [T.file('f', 'x', { mtime: (2n ** 63n) - 1n })]);
timed('octal-max', [T.file('f', 'x', { mtime: '777777777777' })]);
timed('pax-huge', [T.pax({ mtime: '1'.repeat(300) }), T.file('f', 'x')], ['ARCHIVE_DAMAGED']);
timed('pax-negative-fraction', [T.pax({ mtime: '-99999999999.999999999', atime: '-1', ctime: '0' }), T.file('f', 'x')], ['ARCHIVE_DAMAGED']);
timed('pax-no-number', [T.pax({ mtime: 'NaN', atime: '1e308' }), T.file('f', 'x')], ['ARCHIVE_DAMAGED']);
timed('zip-dos-zero', [T.file('f', 'x', { mtime: 0 })]);
t.one('time-zip-extra', 'zip', () => Z.zip([Z.file('f', 'x', {
  extra: Z.extra(0x5455, Buffer.from([7, 255, 255, 255, 127, 0, 0, 0, 128, 255, 255, 255, 255])), central: { date: 0, time: 0xffff } })]),
written({ f: f('x') }));

// Types.
const special = (name, type, reasons, more = {}) => {
  for (const gnu of [{}, T.GNU])
    one(`${name}.${gnu.magic ? 'gnu' : 'ustar'}`, [T.entry({ name: 's', type, ...gnu, devmajor: 1, devminor: 3, ...more })], refused(...reasons));
};

special('character-device', '3', ['DEVICE']);
special('block-device', '4', ['DEVICE'], { devmajor: 7, devminor: 0 });
special('fifo', '6', ['FIFO']);
t.one('character-device', 'zip', () => Z.zip([{ name: 'null', mode: 0o020666, method: 0 }]), refused('DEVICE'));
t.one('block-device', 'zip', () => Z.zip([{ name: 'sda', mode: 0o060666, method: 0 }]), refused('DEVICE'));
t.one('fifo', 'zip', () => Z.zip([{ name: 'p', mode: 0o010644, method: 0 }]), refused('FIFO'));
t.one('socket', 'zip', () => Z.zip([{ name: 's', mode: 0o140755, method: 0 }]), refused('SOCKET'));
t.one('unknown-type', 'zip', () => Z.zip([Z.file('s', 'x', { mode: 0o150644 })]), either(
  'a type nobody knows is a file', ['DEVICE', 'SOCKET', 'FORMAT_NOT_ALLOWED', 'METHOD_UNSUPPORTED', 'ARCHIVE_DAMAGED', 'TYPE_CONFLICT'],
  { s: f('x') }));
t.one('setuid-directory', 'zip', () => Z.zip([Z.dir('d', { mode: 0o046755 })]), written({ d: d() }));
t.one('directory-without-slash', 'zip', () => Z.zip([{ name: 'd', mode: 0o040755, method: 0 }, Z.file('d/f', 'x')]), either(
  'the mode says directory, the name does not', ['TYPE_CONFLICT', 'ZIP_AMBIGUOUS', 'ZIP_HEADER_MISMATCH'], { d: d(), 'd/f': f('x') }));
t.one('directory-with-data', 'zip', () => Z.zip([{ name: 'd/', mode: 0o040755, data: 'x'.repeat(100) }, Z.file('d/f', 'x')]), either(
  'what a directory carries is passed over', ['TYPE_CONFLICT', 'ARCHIVE_DAMAGED', 'SIZE_MISMATCH', 'ZIP_AMBIGUOUS'], { d: d(), 'd/f': f('x') }));
one('fifo-then-write', [T.entry({ name: 'p', type: '6' }), T.file('p', 'x'.repeat(100))], refused('FIFO'));
one('fifo-with-data', [T.entry({ name: 'p', type: '6', data: 'x'.repeat(600) })], refused('FIFO', 'ARCHIVE_DAMAGED'));
one('device-then-file', [T.entry({ name: 'd', type: '3', devmajor: 1, devminor: 3 }), T.file('d', 'x')], refused('DEVICE'));
one('device-by-huge-numbers', [T.entry({ name: 's', type: '3', devmajor: -1, devminor: '7777777' })], refused('DEVICE', 'ARCHIVE_DAMAGED'));
one('hard-link-to-device', [T.entry({ name: 'd', type: '3', devmajor: 1, devminor: 3 }), T.hardlink('h', 'd')], refused('DEVICE'));
one('whiteout', [T.entry({ name: '.wh..wh..opq' }), T.entry({ name: '.wh.ok' })], written(withOk({ '.wh..wh..opq': f(), '.wh.ok': f() })));
one('type-unknown', [T.entry({ name: 'f', type: 'Q', data: 'x' })], either(
  'POSIX: a type nobody knows is a file', ['ARCHIVE_DAMAGED', 'METHOD_UNSUPPORTED', 'FORMAT_NOT_ALLOWED', 'TYPE_CONFLICT', 'DEVICE'], withOk({ f: f('x') })));
one('type-binary', [T.entry({ name: 'f', type: Buffer.from([200]), data: 'x' })], either(
  'POSIX: a type nobody knows is a file', ['ARCHIVE_DAMAGED', 'METHOD_UNSUPPORTED', 'FORMAT_NOT_ALLOWED', 'TYPE_CONFLICT', 'DEVICE'], withOk({ f: f('x') })));
one('type-dumpdir', [T.entry({ name: 'd/', type: 'D', ...T.GNU, data: 'Yok\0\0' })], either(
  'GNU: the list of an incremental dump, its directory is one', ['ARCHIVE_DAMAGED', 'METHOD_UNSUPPORTED', 'FORMAT_NOT_ALLOWED', 'TYPE_CONFLICT'],
  withOk({ d: d() }), withOk({})));
one('type-dumpdir-renames', [T.entry({ name: 'd/', type: 'D', ...T.GNU, data: 'Rok\0T../outside/pwned\0\0' })], either(
  'GNU: what a dump says about renames is not done', ['ARCHIVE_DAMAGED', 'METHOD_UNSUPPORTED', 'FORMAT_NOT_ALLOWED', 'TYPE_CONFLICT'],
  withOk({ d: d() }), withOk({})));
one('type-multi-volume', [T.entry({ name: 'f', type: 'M', ...T.GNU, data: 'x'.repeat(20), raw: [[369, '00000001000']] })], either(
  'GNU: the rest of a file whose start is elsewhere', ['ARCHIVE_DAMAGED', 'METHOD_UNSUPPORTED', 'FORMAT_NOT_ALLOWED', 'TYPE_CONFLICT', 'ARCHIVE_TRUNCATED'],
  withOk({ f: f('x'.repeat(20)) }), withOk({})));
t.across('everything-at-once', ALL.filter((n) => n !== 'zip'),
  [{ file: 'f', data: 'x', mode: 0o4755 }, { link: 'l', to: '/etc' }, { file: '../x' }],
  refused('SETID', 'SYMLINK_ABSOLUTE', 'NAME_DOTDOT'));

export default t.cases;
