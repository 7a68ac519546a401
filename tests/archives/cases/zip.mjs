// SPDX-License-Identifier: Apache-2.0
// Zip archives that say one thing here and another there.

import zlib from 'node:zlib';
import * as S from '../streams.mjs';
import * as T from '../tar.mjs';
import * as Z from '../zip.mjs';
import { Table, either, f, l, refused, written } from './common.mjs';

const t = new Table('zip');
const text = 'some text that can be made shorter. '.repeat(30);
const zip = (name, build, verdict, more) => t.one(name, 'zip', build, verdict, more);
const lie = (name, more, verdict, options) => zip(name, () => Z.zip([Z.file('ok', 'ok'), Z.file('a', text, more), Z.file('z', 'z')], options), verdict);
const tree = (more) => ({ ok: f('ok'), z: f('z'), ...more });
const MISMATCH = ['ZIP_HEADER_MISMATCH'];
const DAMAGED = ['ARCHIVE_DAMAGED', 'ARCHIVE_TRUNCATED', 'ZIP_HEADER_MISMATCH', 'ZIP_AMBIGUOUS', 'ZIP_OVERLAP'];

// Local header against central directory, both ways round.
lie('name-local-dotdot', { local: { name: '../outside/pwned' } }, refused(...MISMATCH, 'NAME_DOTDOT'));
lie('name-central-dotdot', { central: { name: '../outside/pwned' } }, refused(...MISMATCH, 'NAME_DOTDOT'));
lie('name-same-length', { local: { name: 'b' } }, refused(...MISMATCH));
lie('name-case', { local: { name: 'A' } }, refused(...MISMATCH));
lie('name-slash-local', { local: { name: 'a/' } }, refused(...MISMATCH));
lie('name-slash-central', { central: { name: 'a/' } }, refused(...MISMATCH, 'TYPE_CONFLICT', 'ARCHIVE_DAMAGED'));
lie('name-nul-local', { local: { name: 'a\0b' } }, refused(...MISMATCH, 'NAME_CONTROL'));
lie('name-length-local', { local: { nameLength: 200 } }, refused(...DAMAGED, 'SIZE_MISMATCH', 'CRC_MISMATCH'));
lie('name-length-central', { central: { nameLength: 60000 } }, refused(...DAMAGED, 'NAME_TOO_LONG'));
lie('extra-length-central', { central: { extraLength: 65535 } }, refused(...DAMAGED));
lie('method-local', { local: { method: 0 } }, refused(...MISMATCH, 'ARCHIVE_DAMAGED'));
lie('method-central', { central: { method: 0 } }, refused(...MISMATCH, 'SIZE_MISMATCH', 'ARCHIVE_DAMAGED'));
lie('size-local', { local: { size: 5 } }, refused(...MISMATCH, 'SIZE_MISMATCH'));
lie('size-central', { central: { size: 5 } }, refused(...MISMATCH, 'SIZE_MISMATCH'));
lie('csize-local', { local: { csize: 10 } }, refused(...MISMATCH, 'SIZE_MISMATCH', 'ARCHIVE_DAMAGED'));
lie('csize-central', { central: { csize: 10 } }, refused(...MISMATCH, 'SIZE_MISMATCH', 'ARCHIVE_DAMAGED'));
lie('crc-local', { local: { crc: 1 } }, refused(...MISMATCH, 'CRC_MISMATCH'));
lie('crc-central', { central: { crc: 1 } }, refused(...MISMATCH, 'CRC_MISMATCH'));
lie('flags-encrypted-local', { local: { flags: Z.UTF8 | 1 } }, refused(...MISMATCH, 'ENCRYPTED'));
lie('flags-encrypted-central', { central: { flags: Z.UTF8 | 1 } }, refused(...MISMATCH, 'ENCRYPTED'));
lie('flags-utf8-local', { local: { flags: 0 } }, either('the name is ASCII, both read it alike', MISMATCH, tree({ a: f(text) })));
lie('flags-descriptor-local', { local: { flags: Z.UTF8 | 8, crc: 0, size: 0, csize: 0 } }, either(
  'the directory says the sizes; a descriptor is missing', [...DAMAGED, 'SIZE_MISMATCH', 'CRC_MISMATCH'], tree({ a: f(text) })));
lie('signature-local', { local: { signature: 0x04034b51 } }, refused(...DAMAGED));
lie('signature-central', { central: { signature: 0x02014b51 } }, refused(...DAMAGED));

// Both headers agree, the data does not.
lie('crc', { crc: 0x12345678 }, refused('CRC_MISMATCH'));
lie('crc-stored', { crc: 0x12345678, method: 0 }, refused('CRC_MISMATCH'));
lie('crc-descriptor', { descriptor: true, after: { crc: 1 } }, refused('CRC_MISMATCH', ...MISMATCH));
lie('crc-of-directory-with-descriptor', { descriptor: true, central: { crc: 1 } }, refused('CRC_MISMATCH', ...MISMATCH));
lie('size-larger', { size: text.length + 1 }, refused('SIZE_MISMATCH', 'ARCHIVE_DAMAGED', 'CRC_MISMATCH'));
lie('size-smaller', { size: 5 }, refused('SIZE_MISMATCH', 'ARCHIVE_DAMAGED', 'CRC_MISMATCH'));
lie('size-descriptor', { descriptor: true, after: { size: 5 } }, refused('SIZE_MISMATCH', ...MISMATCH));
lie('stored-sizes-differ', { method: 0, size: text.length + 10 }, refused('SIZE_MISMATCH', ...DAMAGED));
lie('deflate-cut', { raw: zlib.deflateRawSync(text).subarray(0, 20) }, refused('SIZE_MISMATCH', 'CRC_MISMATCH', ...DAMAGED));
lie('deflate-then-junk', { raw: Buffer.concat([zlib.deflateRawSync(text), Buffer.from('hidden')]) }, refused('SIZE_MISMATCH', ...DAMAGED));
lie('deflate-broken', { raw: Buffer.alloc(40, 0xff) }, refused('ARCHIVE_DAMAGED', 'CRC_MISMATCH', 'SIZE_MISMATCH'));
lie('size-4-gib-without-zip64', { size: 0xffffffff, csize: 0xffffffff }, refused('FILE_TOO_LARGE', 'TOO_LARGE', ...DAMAGED));

for (const [name, method] of [['99', 99], ['shrunk', 1], ['imploded', 6], ['deflate64', 9], ['bzip2', 12], ['lzma', 14], ['zstd', 93], ['xz', 95]])
  lie(`method-${name}`, { method, raw: Buffer.alloc(30, 7) }, refused('METHOD_UNSUPPORTED', ...(method === 99 ? ['ENCRYPTED'] : [])));
lie('encrypted', { flags: 1, raw: Buffer.alloc(60, 9) }, refused('ENCRYPTED'));
lie('encrypted-strong', { flags: 0x41, raw: Buffer.alloc(60, 9) }, refused('ENCRYPTED'));
lie('encrypted-directory', { flags: 0x2001, raw: Buffer.alloc(60, 9) }, refused('ENCRYPTED'));
lie('encrypted-aes', { flags: 1, method: 99, raw: Buffer.alloc(60, 9), extra: Z.extra(0x9901, Buffer.from('020041450308 00'.replace(' ', ''), 'hex')) },
  refused('ENCRYPTED', 'METHOD_UNSUPPORTED'));
lie('patched-data', { flags: 0x20 }, refused('METHOD_UNSUPPORTED', 'ARCHIVE_DAMAGED', 'ENCRYPTED', 'FORMAT_NOT_ALLOWED'));

// Two names in one entry.
const UNICODE = 'the extra name is passed over, or the entry is refused';

lie('unicode-path-dotdot', { flags: 0, extra: Z.unicodePath('a', '../outside/pwned') }, either(UNICODE, [...MISMATCH, 'ZIP_AMBIGUOUS', 'NAME_DOTDOT'], tree({ a: f(text) })));
lie('unicode-path-other', { flags: 0, extra: Z.unicodePath('a', 'b') }, either(UNICODE, [...MISMATCH, 'ZIP_AMBIGUOUS'], tree({ a: f(text) }), tree({ b: f(text) })));
lie('unicode-path-wrong-crc', { flags: 0, extra: Z.unicodePath('a', '../outside/pwned', 1) }, either(UNICODE, [...MISMATCH, 'ZIP_AMBIGUOUS', 'NAME_DOTDOT'], tree({ a: f(text) })));
lie('unicode-path-central-only', { flags: 0, central: { extra: Z.unicodePath('a', '../outside/pwned') } },
  either(UNICODE, ['ZIP_AMBIGUOUS', 'NAME_DOTDOT', ...MISMATCH], tree({ a: f(text) })));
lie('extra-broken', { extra: Buffer.from('7075ffff01', 'hex') }, either('an extra field that does not parse says nothing', DAMAGED, tree({ a: f(text) })));

// The end record.
const two = () => [Z.file('a', text), Z.file('b', 'b')];
const whole = { a: f(text), b: f('b') };
const END = [...DAMAGED, 'TOO_MANY_ENTRIES', 'TRAILING_DATA', 'FORMAT_UNKNOWN'];

zip('count-more', () => Z.zip(two(), { end: { here: 3, count: 3 } }), refused(...END));
zip('count-less', () => Z.zip(two(), { end: { here: 1, count: 1 } }), refused(...END));
zip('count-zero', () => Z.zip(two(), { end: { here: 0, count: 0 } }), refused(...END));
zip('count-differs', () => Z.zip(two(), { end: { here: 1, count: 2 } }), refused(...END, 'FORMAT_NOT_ALLOWED', 'METHOD_UNSUPPORTED'));
zip('directory-offset-more', () => Z.zip(two(), { end: { offset: 100000 } }), refused(...END));
zip('directory-offset-less', () => Z.zip(two(), { end: { offset: 0 } }), refused(...END));
zip('directory-length', () => Z.zip(two(), { end: { length: 10 } }), refused(...END));
zip('directory-length-huge', () => Z.zip(two(), { end: { length: 0xfffffff0 } }), refused(...END, 'HEADER_TOO_LARGE'));
zip('entry-offset-outside', () => Z.zip([Z.file('a', 'a'), Z.file('b', 'b', { at: 70000 })]), refused(...END));
zip('entry-offset-into-data', () => Z.zip([Z.file('a', text, { method: 0 }), Z.file('b', 'b', { at: 40 })]), refused(...END));
zip('entry-without-local', () => Z.zip([Z.file('a', 'a'), Z.file('b', 'b', { skipLocal: true, at: 0 })]), refused(...END));
zip('local-without-entry', () => Z.zip([Z.file('a', 'a'), Z.file('../outside/pwned', 'x', { skipCentral: true })]), either(
  'only what the directory names is there', [...END, 'NAME_DOTDOT'], { a: f('a') }));
zip('local-before-first', () => Z.zip([Z.file('hidden', 'x', { skipCentral: true }), Z.file('a', 'a')]), either(
  'only what the directory names is there', END, { a: f('a') }));
zip('many-disks', () => Z.zip(two(), { end: { disk: 1, startDisk: 1 } }), refused(...END, 'FORMAT_NOT_ALLOWED', 'METHOD_UNSUPPORTED'));
zip('entry-on-other-disk', () => Z.zip([Z.file('a', 'a', { central: { disk: 3 } })]), refused(...END, 'FORMAT_NOT_ALLOWED', 'METHOD_UNSUPPORTED'));
zip('split-signature', () => Buffer.concat([Buffer.from('PK\x07\x08', 'latin1'), Z.zip(two())]), refused(...END, 'FORMAT_NOT_ALLOWED'));
zip('no-end-record', () => Z.zip(two()).subarray(0, -22), refused(...END));
zip('cut', () => Z.zip(two()).subarray(0, 60), refused(...END));
zip('cut-in-end-record', () => Z.zip(two()).subarray(0, -5), refused(...END));
zip('first-half-missing', () => Z.zip(two()).subarray(40), refused(...END));
zip('comment-length-more', () => Z.zip(two(), { comment: 'short', end: { commentLength: 500 } }), refused(...END));
zip('comment-length-less', () => Z.zip(two(), { comment: 'not so short', end: { commentLength: 3 } }), refused(...END));
zip('junk-after', () => Z.zip(two(), { tail: 'junk' }), refused(...END));
zip('padded-to-a-block', () => Z.zip(two(), { tail: Buffer.alloc(10240) }), written(whole));
zip('comment-then-padding', () => Z.zip(two(), { comment: 'short', tail: Buffer.alloc(100) }), written(whole));
zip('padding-then-junk', () => Z.zip(two(), { tail: Buffer.concat([Buffer.alloc(100), Buffer.from('junk')]) }), refused(...END));
zip('two-zips', () => Buffer.concat([Z.zip(two()), Z.zip([Z.file('../outside/pwned', 'x')])]), refused(...END, 'NAME_DOTDOT'));
zip('comment-holds-end-record', () => Z.zip(two(), { comment: Z.zip([]) }), refused(...END));
zip('comment-holds-archive', () => Z.zip(two(), { comment: Z.zip([Z.file('../outside/pwned', 'x')]) }), refused(...END, 'NAME_DOTDOT'));
zip('end-record-in-data', () => Z.zip([Z.file('a', Buffer.concat([Z.zip([Z.file('../x', 'x')])]), { method: 0 })]), either(
  'the last end record is the one at the end of the file', ['ZIP_AMBIGUOUS'], { a: f(Z.zip([Z.file('../x', 'x')])) }));

const PREFIX = 'an archive starts where the file starts; what stands before it is refused, or has no meaning';

zip('prefix-script', () => Z.zip(two(), { prefix: '#!/bin/sh\nexec rm -rf /\n' }), either(PREFIX, [...END, 'FORMAT_NOT_ALLOWED'], whole));
zip('prefix-script-counted', () => Z.zip(two(), { prefix: '#!/bin/sh\nexec rm -rf /\n', counted: true }), either(PREFIX, [...END, 'FORMAT_NOT_ALLOWED'], whole));
zip('prefix-tar', () => Z.zip(two(), { prefix: T.tar(T.file('t', 't')) }), refused(...END, 'FORMAT_MISMATCH'));
zip('prefix-gzip', () => Z.zip(two(), { prefix: S.gzip(T.tar(T.file('t', 't'))) }), refused(...END, 'FORMAT_MISMATCH'));
zip('between-junk', () => Z.zip(two(), { between: 'hidden '.repeat(30) }), either('what no entry names is not there', END, whole));

// zip64 against the fields of 32 bits.
const sixtyFour = (name, entries, options, verdict) => zip(`zip64-${name}`, () => Z.zip(entries(), options), verdict);

sixtyFour('extra-missing', () => [Z.file('a', 'a', { central: { size: 0xffffffff, csize: 0xffffffff } })], {}, refused('FILE_TOO_LARGE', 'TOO_LARGE', 'SIZE_MISMATCH', ...END));
sixtyFour('extra-short', () => [Z.file('a', 'a', { zip64: true, central: { extra: Z.extra(1, 'abc') } })], {}, refused('FILE_TOO_LARGE', 'TOO_LARGE', ...END));
sixtyFour('extra-huge', () => [Z.file('a', 'a', { zip64: true, central: { extra: Z.zip64Extra(2n ** 63n, 2n ** 63n, 0) } })], {},
  refused('FILE_TOO_LARGE', 'TOO_LARGE', 'SIZE_MISMATCH', 'RATIO_TOO_HIGH', ...END));
sixtyFour('offset-2-64', () => [Z.file('a', 'a', { zip64: true, central: { extra: Z.zip64Extra(1, 3, 2n ** 64n - 1n) } })], {}, refused('SIZE_MISMATCH', ...END));
sixtyFour('locator-outside', two, { zip64: true, end64: { at: 99999 } }, refused(...END));
sixtyFour('locator-2-64', two, { zip64: true, end64: { at: 2n ** 64n - 10n } }, refused(...END));
sixtyFour('counts-differ', two, { zip64: true, end64: { here: 1, count: 2 } }, refused(...END, 'FORMAT_NOT_ALLOWED', 'METHOD_UNSUPPORTED'));
sixtyFour('offset-differs', two, { zip64: true, end64: { offset: 1 } }, refused(...END));
sixtyFour('length-2-64', two, { zip64: true, end64: { length: 2n ** 64n - 1n } }, refused(...END, 'HEADER_TOO_LARGE'));
sixtyFour('end-records-differ', two, { zip64: true, end64: {}, end: { here: 1, count: 1 } }, refused(...END));

// Links and their kin in a zip.
zip('link-of-dos', () => Z.zip([Z.symlink('l', '../outside/file', { central: { madeBy: 0x0014 } })]), either(
  'modes count only from a Unix writer: this is a file', ['SYMLINK_OUTWARD'], { l: f('../outside/file') }));
zip('link-deflated', () => Z.zip([Z.symlink('l', '../outside/'.repeat(30), { method: 8 })]), refused('SYMLINK_OUTWARD', 'METHOD_UNSUPPORTED'));
zip('link-wrong-crc', () => Z.zip([Z.symlink('l', 'a', { crc: 1 }), Z.file('a', 'a')]), refused('CRC_MISMATCH'));
zip('link-with-slash', () => Z.zip([Z.symlink('l/', 'a'), Z.file('a', 'a')]), either(
  'the slash says directory, the mode link', ['TYPE_CONFLICT', 'ZIP_AMBIGUOUS', 'ARCHIVE_DAMAGED', 'ZIP_HEADER_MISMATCH'], { l: l('a'), a: f('a') }));

export default t.cases;
