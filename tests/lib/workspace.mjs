// SPDX-License-Identifier: Apache-2.0
// What the tests of workspaces, skills, artifacts and exports share: archives made of a few words, trees as they lie on the disk,
// and a look at everything that a daemon keeps, so that a refused request can be shown to have left nothing.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { execFileSync } from 'node:child_process';
import { FORMATS as PACKERS } from '../archives/cases/common.mjs';
import { put } from './archives.mjs';
import { namesBelow } from './vanishing.mjs';
import { until } from './wait.mjs';

export const isRoot = process.geteuid() === 0;
// Formats by the names that the daemon has for them.
export const PACK = { tar: PACKERS.ustar, 'tar.gz': PACKERS.gz, 'tar.zst': PACKERS.zst, zip: PACKERS.zip };

// {'a/b': 'text' | Buffer | {data, mode} | {link} | {dir: mode}} as entries of an archive.
export function entriesOf(tree) {
  return Object.entries(tree).map(([name, v]) => {
    if (typeof v === 'string' || Buffer.isBuffer(v))
      return { file: name, data: v };
    if (v.link !== undefined)
      return { link: name, to: v.link };
    return v.dir !== undefined ? { dir: name, mode: v.dir } : { file: name, data: v.data, mode: v.mode };
  });
}

export const archiveOf = (tree, format = 'tar.gz') => PACK[format](entriesOf(tree));

// Uploads an archive of the tree (or the bytes themselves) and says its digest.
export async function upload(d, what, format) {
  const data = Buffer.isBuffer(what) ? what : archiveOf(what, format);
  const { status, json } = await put(d, data);

  assert.ok([200, 201].includes(status), JSON.stringify(json));
  return json.digest;
}

const sha256 = (data) => crypto.createHash('sha256').update(data).digest('hex');

// path -> {type: 'f' | 'd' | 'l', mode, uid, data | target}, of all that is below dir, links not followed.
export function scan(dir, prefix = '', found = new Map()) {
  for (const name of fs.readdirSync(path.join(dir, prefix))) {
    const rel = prefix ? `${prefix}/${name}` : name;
    const at = path.join(dir, rel);
    const s = fs.lstatSync(at);
    const node = { mode: s.mode & 0o7777, uid: s.uid };

    if (s.isSymbolicLink())
      found.set(rel, { ...node, type: 'l', target: fs.readlinkSync(at) });
    else if (s.isDirectory())
      scan(dir, rel, found.set(rel, { ...node, type: 'd' }));
    else
      found.set(rel, { ...node, type: 'f', data: fs.readFileSync(at) });
  }
  return found;
}

// The same as plain values: 'text' of files ('*' before it if executable), '-> target', and 'dir' of empty directories.
export function treeOf(dir) {
  const all = scan(dir);
  const tree = {};

  for (const [name, n] of all) {
    if (n.type === 'd' && [...all.keys()].some((k) => k.startsWith(`${name}/`)))
      continue;
    tree[name] = n.type === 'd' ? 'dir' : n.type === 'l' ? `-> ${n.target}` : `${n.mode & 0o100 ? '*' : ''}${n.data.toString('latin1')}`;
  }
  return tree;
}

// manifestDigest of a tree that holds nothing but what was written: daemon/tree/tree_manifest.h says the form.
export function manifestDigest(dir) {
  const octal = (m) => `0${(m & 0o777).toString(8).padStart(3, '0')}`;
  const key = (name) => Buffer.from(name.replaceAll('/', '\0'));
  const lines = [...scan(dir)].sort(([a], [b]) => Buffer.compare(key(a), key(b))).map(([name, n]) => {
    if (n.type === 'd')
      return `d ${octal(n.mode)} 0 - ${name}\n`;
    const data = n.type === 'l' ? Buffer.from(n.target) : n.data;
    return `${n.type} ${octal(n.mode)} ${data.length} ${sha256(data)} ${name}${n.type === 'l' ? ` -> ${n.target}` : ''}\n`;
  });

  return `sha256:${sha256(lines.join(''))}`;
}

// A new directory for a session, as whoever runs the harness could use it.
export function newCwd(d, name = `cwd-${crypto.randomBytes(4).toString('hex')}`) {
  const dir = path.join(d.dir, name);

  fs.mkdirSync(dir);
  fs.chmodSync(dir, 0o777);
  return dir;
}

// All that the daemon keeps below its folders, but archives, the usage ledger and what is in files: names only. The place of
// all snapshots is made with the first.
export function kept(d) {
  const own = namesBelow(d.stateDir).filter((n) => !/^(archives|usage|snapshots$)/.test(n));

  return [...own.map((n) => `state/${n}`), ...namesBelow(d.wsDir).map((n) => `ws/${n}`)].sort();
}

export const stagesBelow = (dir) => namesBelow(dir).filter((n) => /(^|\/)\.acpd-stage-[^/]*$/.test(n));
// All sessions and what is kept, once no helper is at work: also one of deleted sessions, or one of the daemon's own start.
export async function look(d, c) {
  await until(() => !kept(d).some((n) => n.startsWith('state/removed/')) && d.helpers().length === 0, 'deleted sessions are removed');
  const { sessions } = await c.call('session/list');

  return { kept: kept(d), sessions: sessions.map((s) => s.sessionId).sort() };
}

// Neither a session nor a file nor a process more than before, in the end. before: what look() saw.
export async function assertNothingLeft(d, c, before) {
  let now;

  await until(async () => isDeepStrictEqual(now = await look(d, c), before), 'as before', 2000).catch(() => {});
  assert.deepEqual(now, before);
}

// git applies the patch to a copy of the old tree: the result as treeOf() has it.
export function applied(patch, old) {
  const dir = fs.mkdtempSync(path.join(path.dirname(old), 'applied-'));

  fs.cpSync(old, dir, { recursive: true, verbatimSymlinks: true });
  try {
    const env = { ...process.env, GIT_CEILING_DIRECTORIES: path.dirname(dir), GIT_CONFIG_NOSYSTEM: '1', GIT_DIR: '/nonexistent' };
    const options = { cwd: dir, input: patch, env, stdio: ['pipe', 'pipe', 'pipe'] };

    if (Buffer.byteLength(patch)) {
      execFileSync('git', ['apply', '--check', '-'], options);
      execFileSync('git', ['apply', '-'], options);
    }
    return treeOf(dir);
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

// A copy of the tree as it is now, beside it.
export function copyOf(dir) {
  const copy = fs.mkdtempSync(path.join(path.dirname(dir), 'copy-'));

  fs.cpSync(dir, copy, { recursive: true, verbatimSymlinks: true });
  return copy;
}

// A skill of that name.
export const skill = (name, more = {}, body = `How ${name} is done.\n`) => ({
  'SKILL.md': `---\nname: ${name}\ndescription: Does ${name} when it is asked for.\n---\n${body}`, ...more,
});
// The same below a directory.
export const below = (dir, tree) => Object.fromEntries(Object.entries(tree).map(([k, v]) => [`${dir}/${k}`, v]));
