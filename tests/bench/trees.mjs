// SPDX-License-Identifier: Apache-2.0
// What the benchmark of archives works on: a tree like that of a large npm project, one large file, archives of both, and the
// file systems they are unpacked on. The tree is made of the packages installed for the tests, in the order of their names, again under
// other names until there are enough files and bytes.

import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { execFileSync } from 'node:child_process';
import { MIB, ROOT, memory } from './rig.mjs';

const LARGEST = 12 * MIB; // programs of the harnesses are no npm tree
const WHEN = new Date('2026-01-01T00:00:00Z');
const PIECE = 32 * MIB; // the large file repeats it: far more than any compressor looks back

export const sizes = (quick) => (quick ? { files: 1500, bytes: 20e6, large: 64 * MIB } : { files: 22_000, bytes: 330e6, large: 1024 * MIB });

// --- where ---------------------------------------------------------------------------------------

// Everything that is made lies below one directory, in memory; undefined: there is no room for it.
export function base(need) {
  if (!memory)
    return undefined;
  const { bavail, bsize } = fs.statfsSync(memory);
  const available = Number(fs.readFileSync('/proc/meminfo', 'utf8').match(/^MemAvailable:\s+(\d+)/m)[1]) * 1024;

  if (Math.min(bavail * bsize, available) < need)
    return undefined;
  const dir = fs.mkdtempSync(path.join(memory, 'acpd-bench-'));

  process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));
  return dir;
}

// A fresh ext4 in a file of that directory: its path, or throws why there is none.
export function ext4(dir, bytes) {
  const image = path.join(dir, 'ext4.img');
  const at = path.join(dir, 'ext4');
  const quiet = { stdio: ['ignore', 'ignore', 'pipe'] };

  if (process.getuid() !== 0)
    throw new Error('only root can mount');
  fs.mkdirSync(at);
  fs.closeSync(fs.openSync(image, 'w'));
  fs.truncateSync(image, bytes);
  execFileSync('mkfs.ext4', ['-q', '-F', '-N', '100000', '-E', 'lazy_itable_init=0,lazy_journal_init=0', image], quiet);
  execFileSync('mount', ['-o', 'loop', image, at], quiet);
  process.prependListener('exit', () => {
    try {
      execFileSync('umount', [at], quiet);
    } catch {
      execFileSync('umount', ['-l', at], quiet);
    }
  });
  return at;
}

// --- trees ---------------------------------------------------------------------------------------

function* packages(dir, name = '') {
  const entries = fs.readdirSync(path.join(dir, name), { withFileTypes: true });

  for (const e of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const child = path.join(name, e.name);

    if (e.isDirectory())
      yield* packages(dir, child);
    else if (e.isFile() && fs.statSync(path.join(dir, child)).size <= LARGEST)
      yield child;
  }
}

// {files, bytes}
export function makeTree(to, { files, bytes }) {
  const from = path.join(ROOT, 'tests', 'node_modules');
  const list = [...packages(from)];
  const made = { files: 0, bytes: 0 };
  const dirs = new Set();

  for (let i = 0; made.files < files || made.bytes < bytes; i++) {
    const name = list[i % list.length];
    const at = path.join(to, `modules-${Math.floor(i / list.length)}`, name);

    if (!dirs.has(path.dirname(at)))
      fs.mkdirSync(path.dirname(at), { recursive: true });
    dirs.add(path.dirname(at));
    fs.copyFileSync(path.join(from, name), at);
    fs.utimesSync(at, WHEN, WHEN);
    made.files++;
    made.bytes += fs.statSync(at).size;
  }
  return made;
}

// Half of it is noise and half repeats itself within a few kilobytes, so that inflating has both to do.
function piece() {
  const data = Buffer.alloc(PIECE);

  for (let i = 0, x = 1; i < PIECE; i += 4) {
    x = (Math.imul(x, 1664525) + 1013904223) | 0;
    data.writeInt32LE(i & 0x4000 ? x & 0x0f0f0f0f : x ^ (x >>> 15), i);
  }
  return data;
}

// Members of gzip may follow one another: the piece is compressed once.
function largeFile(dir, bytes) {
  const tar = path.join(dir, 'large.tar');
  const gz = fs.openSync(`${tar}.gz`, 'w');
  const out = fs.openSync(tar, 'w');
  const body = piece();
  const head = Buffer.alloc(512);
  const put = (data, packed) => {
    fs.writeSync(out, data);
    fs.writeSync(gz, packed ?? zlib.gzipSync(data));
  };
  const packed = zlib.gzipSync(body, { level: 1 });

  head.write('large.bin');
  head.write('0000644\0', 100);
  head.write(`${bytes.toString(8).padStart(11, '0')}\0`, 124);
  head.write('15000000000\0        0', 136);
  head.write('ustar\x0000', 257);
  head.write(`${head.reduce((a, b) => a + b, 0).toString(8).padStart(6, '0')}\0 `, 148);
  put(head);
  for (let i = 0; i < bytes / PIECE; i++)
    put(body, packed);
  put(Buffer.alloc(1024));
  fs.closeSync(out);
  fs.closeSync(gz);
}

const has = (program) => {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

const packers = [
  { format: 'tar.gz', program: 'gzip', line: 'gzip -6 <tree.tar >tree.tar.gz' },
  { format: 'tar.zst', program: 'zstd', line: 'zstd -q -3 <tree.tar >tree.tar.zst' },
  { format: 'zip', program: 'zip', line: 'cd tree && zip -q -r -X ../tree.zip .' },
];

// [{name, format, file, bytes}], of the tree and of the large file.
export function makeArchives(dir, { large }) {
  const sh = (line) => execFileSync('sh', ['-c', line], { cwd: dir });
  const made = [{ name: 'tree', format: 'tar' }];

  sh('tar --sort=name --owner=0 --group=0 --numeric-owner -C tree -cf tree.tar .');
  for (const { format, program, line } of packers) {
    if (has(program)) {
      sh(line);
      made.push({ name: 'tree', format });
    } else {
      console.log(`left out: ${format}, for ${program} is not installed`);
    }
  }
  largeFile(dir, large);
  made.push({ name: 'large', format: 'tar' }, { name: 'large', format: 'tar.gz' });
  return made.map((a) => {
    const file = path.join(dir, `${a.name}.${a.format}`);

    return { ...a, file, bytes: fs.statSync(file).size };
  });
}

export { has };
