// SPDX-License-Identifier: Apache-2.0
// Files that are no archive of the four kinds, whatever they are called: formats that libraries would open, some of
// which make them read local files or start programs.

import * as S from '../streams.mjs';
import * as T from '../tar.mjs';
import * as Z from '../zip.mjs';
import { Table, either, f, refused } from './common.mjs';

const t = new Table('disguise');
const NOT = ['FORMAT_UNKNOWN', 'FORMAT_NOT_ALLOWED', 'FORMAT_MISMATCH'];
const filled = (hex, n = 600) => Buffer.concat([Buffer.from(hex, 'hex'), Buffer.alloc(n, 7)]);
const mtree = '#mtree\n./passwd type=file uid=0 mode=0644 contents=/etc/passwd\n';

const cpio = (name, data) => {
  const hex = (n) => n.toString(16).padStart(8, '0');
  const pad = (n) => '\0'.repeat((4 - (n % 4)) % 4);
  const head = ['070701', 1, 0o100644, 0, 0, 1, 0, data.length, 0, 0, 0, 0, name.length + 1, 0].map((v) => (typeof v === 'string' ? v : hex(v))).join('');

  return `${head}${name}\0${pad(head.length + name.length + 1)}${data}${pad(data.length)}`;
};
const newc = Buffer.from(cpio('../outside/pwned', 'x') + cpio('TRAILER!!!', ''), 'latin1');

const DISGUISES = {
  mtree,
  'mtree-without-magic': './passwd type=file contents=/etc/passwd\n'.repeat(20),
  'cpio-newc': newc,
  'cpio-odc': Buffer.from(`070707${'0'.repeat(70)}`),
  'cpio-binary': filled('c771'),
  ar: '!<arch>\n../outside/pwned 1700000000  0     0     100644  1         `\nx\n',
  uuencode: 'begin 644 ../outside/pwned\n!>   \n`\nend\n',
  lrzip: filled('4c525a4900060000'),
  lzop: filled('894c5a4f000d0a1a0a'),
  grzip: filled('475265a969704949000200044a6a'),
  rar4: filled('526172211a0700'),
  rar5: filled('526172211a070100'),
  '7z': filled('377abcaf271c0004'),
  xar: filled('78617221001c0001'),
  cab: filled('4d53434600000000'),
  lha: filled('21002d6c68352d'),
  iso9660: Buffer.concat([Buffer.alloc(32768), filled('014344303031010', 2048)]),
  xz: filled('fd377a585a000004'),
  bzip2: filled('425a6839314159265359'),
  lz4: filled('04224d186440a7'),
  compress: filled('1f9d90'),
  pack: filled('1f1e'),
  lzip: filled('4c5a495001'),
  lzma: filled('5d00008000ffffffffffffffff'),
  rpm: filled('edabeedb0300'),
  warc: 'WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 1\r\n\r\nx',
  squashfs: filled('68737173'),
  elf: filled('7f454c460201'),
  script: '#!/bin/sh\necho pwned\n',
  html: '<!doctype html><title>not found</title>'.repeat(30),
  json: '{"error":"no such archive"}',
  empty: '',
  'one-byte': 'P',
  'gzip-magic-only': Buffer.from([0x1f, 0x8b]),
  'zstd-magic-only': Buffer.from([0x28, 0xb5, 0x2f, 0xfd]),
  'zip-magic-only': 'PK\x03\x04',
  'text-700': 'x'.repeat(700),
  'shar': '#!/bin/sh\n# This is a shell archive\n'.repeat(30),
};
const short = ['empty', 'one-byte', 'gzip-magic-only', 'zstd-magic-only', 'zip-magic-only'];

// An image of a disk starts with zeros: an empty tar, and something after it.
const also = { xz: ['NESTED_COMPRESSION'], bzip2: ['NESTED_COMPRESSION'], iso9660: ['TRAILING_DATA'] };

for (const [name, data] of Object.entries(DISGUISES)) {
  const more = also[name] ?? (short.includes(name) ? ['ARCHIVE_TRUNCATED', 'ARCHIVE_DAMAGED'] : []);

  t.one(name, 'tar', () => T.bytes(data), refused(...NOT, ...more));
}

// What is shorter than a block of tar can also be called cut.
const INSIDE = [...NOT, 'NESTED_COMPRESSION', 'ARCHIVE_DAMAGED', 'ARCHIVE_TRUNCATED'];

for (const [name, data] of [['mtree', mtree], ['cpio', newc], ['rar', filled('526172211a0700')], ['xz', filled('fd377a585a000004')]])
  t.one(`${name}-in-gzip`, 'gz', () => S.gzip(data), refused(...INSIDE));
t.one('mtree-in-zstd', 'zst', () => S.zstd(Buffer.from(mtree)), refused(...INSIDE));
t.one('zip-in-gzip', 'gz', () => S.gzip(Z.zip([Z.file('a', 'a')])), refused(...INSIDE));
t.one('zip-in-zstd', 'zst', () => S.zstd(Z.zip([Z.file('../outside/pwned', 'x')])), refused(...INSIDE));

// A file's name is no promise; what it is says its first bytes.
const NAME = 'the kind is told by the first bytes';

t.one('zip-called-tar.gz', 'gz', () => Z.zip([Z.file('a', 'a')]), either(NAME, ['FORMAT_MISMATCH'], { a: f('a') }));
t.one('tar-called-zip', 'zip', () => T.tar(T.file('a', 'a')), either(NAME, ['FORMAT_MISMATCH'], { a: f('a') }));
t.one('zstd-called-tar', 'tar', () => S.zstd(T.tar(T.file('a', 'a'))), either(NAME, ['FORMAT_MISMATCH'], { a: f('a') }));
t.one('no-suffix', 'tar', () => T.tar(T.file('a', 'a')), { refused: [], trees: [{ a: f('a') }] }, { file: 'archive' });
t.one('name-like-an-option', 'tar', () => T.tar(T.file('a', 'a')), { refused: [], trees: [{ a: f('a') }] }, { file: '-rf.tar' });

export default t.cases;
