// SPDX-License-Identifier: Apache-2.0
// What the tests of drafts share: a tree with something of everything, a program that changes all of it, and what is true of any draft.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { runCommand } from './agent-shell.mjs';
import { scan } from './workspace.mjs';

// Every path below dir with type, mode and content: equal only if the trees are.
export const tree = (dir) => Object.fromEntries([...scan(dir)].sort().map(([name, n]) => [name,
  `${n.type} ${n.mode.toString(8)} ${n.type === 'f' ? crypto.createHash('sha256').update(n.data).digest('hex') : n.target ?? ''}`]));

// The tree that a session works on, owned by who runs it.
export function plant(cwd, owner = process.getuid()) {
  const files = { 'a.txt': 'one\n', 'sub/b.txt': 'two\n', 'sub/deep/c.txt': 'three\n', 'gone.txt': 'bye\n', 'run.sh': '#!/bin/sh\n', 'was-dir/x': 'x', 'was-file': 'f' };

  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(cwd, name)), { recursive: true });
    fs.writeFileSync(path.join(cwd, name), text, { mode: 0o644 });
  }
  fs.mkdirSync(path.join(cwd, 'empty'));
  fs.symlinkSync('a.txt', path.join(cwd, 'link'));
  fs.chmodSync(path.join(cwd, 'run.sh'), 0o755);
  for (const name of ['.', ...scan(cwd).keys()])
    if (process.getuid() === 0)
      fs.lchownSync(path.join(cwd, name), owner, owner);
  return tree(cwd);
}

// Changes of every kind, and a process that goes on changing.
export const CHANGES = ['printf "more\\n" >> a.txt', 'rm gone.txt', 'mkdir -p new/inner', 'printf n > new/inner/n.txt', 'chmod 500 new', 'mv sub/deep sub/moved', 'chmod 700 sub',
  'rm link', 'ln -s sub/b.txt link', 'chmod 640 run.sh', 'rm -r was-dir', 'printf now > was-dir', 'rm was-file', 'mkdir was-file', 'printf q > was-file/q', 'rmdir empty'].join(' && ');
export const BEHIND = '(for i in 1 2 3; do printf $i >> behind.txt; sleep 0.05; done) > /dev/null 2>&1 &';

export const diff = (c, sessionId, params) => c.call('_acpd/workspace/diff', { sessionId, ...params });
export const apply = (c, sessionId, patchDigest) => c.call('_acpd/workspace/apply', { sessionId, patchDigest });
export const turn = (c, sessionId, on, params) => c.call('_acpd/session/draft', { sessionId, on, ...params });
export const draftOf = (answer) => answer._meta.acpd.draft;

export async function run(c, sessionId, command) {
  const { code, text } = await runCommand(c, sessionId, command);

  assert.equal(code, 0, text);
  return text;
}

export const refusedWith = (reason, check = () => {}) => (e) => {
  assert.equal(e.data?.reason, reason, e.message);
  check(e.data);
  return true;
};

// The list as anybody can compute it: its digest is the one that is shown.
export function digestOf(changes) {
  const line = (sign, p, s) => s ? `${sign} ${s.type[0]} ${s.mode} ${s.type === 'directory' ? 0 : s.size} ${s.digest?.slice(7) ?? '-'} ${p}\n` : '';

  return `sha256:${crypto.createHash('sha256').update(changes.map((d) => line('-', d.path, d.from) + line('+', d.path, d.to)).join('')).digest('hex')}`;
}
