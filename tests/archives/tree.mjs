// SPDX-License-Identifier: Apache-2.0
// Reads a tree as it stands on the disk, never through a link, and holds it against what was expected.

import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fullTree } from './cases/common.mjs';

const TYPES = [['isFile', 'file'], ['isDirectory', 'dir'], ['isSymbolicLink', 'link'], ['isFIFO', 'fifo'], ['isSocket', 'socket'],
  ['isCharacterDevice', 'character device'], ['isBlockDevice', 'block device']];

// A name as text: UTF-8, and what is none as \xNN.
function readable(name) {
  const text = name.toString();

  return Buffer.from(text).equals(name) ? text : name.toString('latin1').replace(/[\x80-\xff]/g, (c) => `\\x${c.charCodeAt(0).toString(16)}`);
}

// -> Map of name -> {type, mode, uid, gid, ino, nlink, size, mtime, at (its path as bytes), target}
export function scan(root) {
  const found = new Map();

  const visit = (dir, name) => {
    for (const entry of fs.readdirSync(dir, { encoding: 'buffer' })) {
      const at = Buffer.concat([dir, Buffer.from('/'), entry]);
      const s = fs.lstatSync(at, { bigint: true });
      const type = TYPES.find(([is]) => s[is]())[1];
      const here = name === '' ? readable(entry) : `${name}/${readable(entry)}`;

      found.set(here, {
        type, mode: Number(s.mode & 0o7777n), uid: Number(s.uid), gid: Number(s.gid), ino: s.ino, nlink: Number(s.nlink), size: Number(s.size),
        mtime: s.mtimeNs, at, target: type === 'link' ? readable(fs.readlinkSync(at, { encoding: 'buffer' })) : undefined,
      });
      if (type === 'dir')
        visit(at, here);
    }
  };
  visit(Buffer.from(root), '');
  return found;
}

const hash = (at) => crypto.createHash('sha256').update(fs.readFileSync(at)).digest('hex');

// All that must not change about a tree, its root included, as text: one line for each name.
export function snapshot(root) {
  const s = fs.lstatSync(root, { bigint: true });
  const lines = [`. ${s.mode.toString(8)} ${s.uid}:${s.gid} ${s.mtimeNs}`];

  for (const [name, e] of scan(root)) {
    const what = e.type === 'file' ? hash(e.at) : e.target ?? '';

    lines.push(`${name} ${e.type} ${e.mode.toString(8)} ${e.uid}:${e.gid} ${e.ino} ${e.nlink} ${e.type === 'dir' ? '' : e.size} ${e.mtime} ${what}`);
  }
  return lines.sort().join('\n');
}

// Lines of `before` and `after` that the other does not have.
export function changes(before, after) {
  const [a, b] = [new Set(before.split('\n')), new Set(after.split('\n'))];

  return [...[...a].filter((line) => !b.has(line)).map((line) => `- ${line}`), ...[...b].filter((line) => !a.has(line)).map((line) => `+ ${line}`)];
}

function contentDiffers(e, node) {
  if (node.data)
    return e.size !== node.data.length || !fs.readFileSync(e.at).equals(node.data);
  if (e.size !== node.size)
    return true;
  const fd = fs.openSync(e.at, 'r');
  const holds = ([at, data]) => {
    const want = Buffer.from(data);
    const got = Buffer.alloc(want.length);

    return fs.readSync(fd, got, 0, want.length, at) === want.length && got.equals(want);
  };
  try {
    if (!node.pieces.every(holds))
      return true;
    // Between the pieces there is nothing but zeros; long holes are looked at in their first and last 64 KiB.
    let from = 0;
    for (const [at, data] of [...node.pieces, [node.size, '']]) {
      const n = Math.min(at - from, 65536);

      if (n > 0 && !(holds([from, Buffer.alloc(n)]) && holds([at - n, Buffer.alloc(n)])))
        return true;
      from = at + data.length;
    }
    return false;
  } finally {
    fs.closeSync(fd);
  }
}

// What is wrong with the entry e at a name where node was expected; undefined if nothing.
function fault(e, node, all) {
  if (node.type === 'same')
    return e.ino === all.get(node.name)?.ino ? undefined : `is not the same file as ${node.name}`;
  if (e.type !== node.type)
    return `is a ${e.type}, not a ${node.type}`;
  if (e.type === 'link')
    return e.target === node.target ? undefined : `leads to ${e.target}, not to ${node.target}`;
  const owner = e.type === 'dir' ? 0o700 : node.mode & 0o700;

  if ((e.mode & 0o7700) !== owner)
    return `has mode ${e.mode.toString(8)}, not ${node.mode.toString(8)}`;
  if (e.mode & 0o077 & ~node.mode)
    return `has mode ${e.mode.toString(8)}, which is more than ${node.mode.toString(8)}`;
  return e.type === 'file' && contentDiffers(e, node) ? `has other content (${e.size} bytes)` : undefined;
}

// -> faults of a scanned tree against an expected one. kept: names that were there before and are looked at elsewhere.
export function compare(found, tree, { uid, kept = new Set() }) {
  const want = fullTree(tree);
  const faults = [];

  for (const [name, node] of Object.entries(want)) {
    const e = found.get(name);
    const what = e ? fault(e, node, found) : 'is missing';

    if (what !== undefined)
      faults.push(`${name} ${what}`);
    else if (e.uid !== uid && !kept.has(name))
      faults.push(`${name} belongs to ${e.uid}, not to ${uid}`);
  }
  for (const name of found.keys()) {
    if (!Object.hasOwn(want, name) && !kept.has(name))
      faults.push(`${name} was not expected`);
  }
  return faults;
}

// Where a link of the scanned tree ends when all links are followed; what is missing is taken as a name. -> false when
// it leaves the tree.
function staysInside(found, name) {
  let at = path.posix.dirname(name).split('/').filter((p) => p !== '.');
  const todo = found.get(name).target.split('/');

  if (found.get(name).target.startsWith('/'))
    return false;
  for (let hops = 0; todo.length !== 0;) {
    const part = todo.shift();

    if (part === '' || part === '.')
      continue;
    if (part === '..' && at.length === 0)
      return false;
    at = part === '..' ? at.slice(0, -1) : [...at, part];
    const e = found.get(at.join('/'));

    if (e?.type !== 'link')
      continue;
    if (e.target.startsWith('/') || ++hops > 40)
      return false;
    todo.unshift(...e.target.split('/'));
    at = at.slice(0, -1);
  }
  return true;
}

// What no extraction may leave, whatever the verdict. kept: names that were there before.
export function hazards(found, kept = new Map()) {
  const faults = [];

  for (const [name, e] of found) {
    if (kept.has(name))
      continue;
    if (!['file', 'dir', 'link'].includes(e.type))
      faults.push(`${name} is a ${e.type}`);
    if (e.type !== 'link' && e.mode & 0o7000)
      faults.push(`${name} has mode ${e.mode.toString(8)}`);
    if (e.type === 'link' && !staysInside(found, name))
      faults.push(`${name} leads out, to ${e.target}`);
    if (path.posix.basename(name).startsWith('.acpd-stage-') && !name.includes('/'))
      faults.push(`${name} was left behind`);
  }
  return faults;
}
