// SPDX-License-Identifier: Apache-2.0
// build: release
// A property: whatever is called with whatever path, nothing changes that the write globs do not cover, or a deny glob does.

import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { strict as assert } from 'node:assert';
import { Worker } from 'node:worker_threads';
import { scan } from '../lib/workspace.mjs';
import { Tools, scratch } from './builtin.mjs';

const POLICY = { write: ['ok/**', 'also/*.txt'], deny: ['**/.env', 'ok/no/**'] };
// The same in other words; paths from the root.
const mayChange = (name) => (/^ok\/./.test(name) || /^also\/[^/]+\.txt(\/|$)/.test(name)) && !/^ok\/no(\/|$)/.test(name) && !/(^|\/)\.env(\/|$)/.test(name);

const FILES = ['ok/a', 'ok/b.txt', 'ok/d/a', 'ok/d/x/a', 'ok/.env', 'ok/no/a', 'ok/no/d/a', 'keep/a', 'keep/b.txt', 'keep/d/a', 'keep/x/a', 'also/b.txt', 'also/a',
  'also/d/b.txt', 'a', 'b.txt', '../outside/a', '../outside/d/a', '../outside/x/a'];
const LINKS = { 'ok/l': '../keep', 'ok/out': '../../outside', 'ok/env': '.env', 'ok/f': '../keep/a', 'ok/d/l': '../../keep/d', 'ok/n': 'no', 'ok/new': '../keep/new',
  'keep/in': '../ok', 'also/l.txt': '../keep/a', 'also/o.txt': '../../outside/a', in: 'ok', 'ok/self': '.' };
const WORDS = ['ok', 'ok', 'no', 'keep', 'also', '.env', 'd', 'x', 'a', 'a', 'b.txt', 'new', 'new.txt', '..', '..', '.', '', 'l', 'out', 'env', 'f', 'n', 'in', 'hard', 'l.txt',
  'o.txt', 'self', 'outside'];

// What may change is made anew; what may not is made once.
function make(root) {
  for (const name of FILES) {
    const at = path.join(root, name);

    fs.mkdirSync(path.dirname(at), { recursive: true });
    fs.writeFileSync(at, 'old\n');
  }
  for (const [name, target] of Object.entries(LINKS)) {
    fs.rmSync(path.join(root, name), { recursive: true, force: true });
    fs.symlinkSync(target, path.join(root, name));
  }
  fs.rmSync(path.join(root, 'ok/hard'), { recursive: true, force: true });
  fs.linkSync(path.join(root, 'keep/b.txt'), path.join(root, 'ok/hard'));
}

function clear(root) {
  for (const name of fs.readdirSync(path.join(root, 'ok')).filter((n) => n !== 'no' && n !== '.env'))
    fs.rmSync(path.join(root, 'ok', name), { recursive: true, force: true });
  for (const name of fs.readdirSync(path.join(root, 'also')).filter((n) => n.endsWith('.txt')))
    fs.rmSync(path.join(root, 'also', name), { recursive: true, force: true });
}

const guarded = (base) => [...scan(base)].filter(([name]) => !name.startsWith('root/') || !mayChange(name.slice(5))).sort(([a], [b]) => (a < b ? -1 : 1));

function random(seed) {
  let s = seed;

  return (n) => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return Math.floor((s / 2 ** 32) * n);
  };
}

function generator(root, next) {
  const one = (list) => list[next(list.length)];
  const name = () => {
    const words = Array.from({ length: 1 + next(4) }, () => one(WORDS)).join('/');

    return [words, words, `ok/${words}`, `ok/${words}`, `${root}/${words}`, one(FILES), `also/${one(WORDS)}`][next(7)] || 'ok/a';
  };
  const plain = () => name().replace(/^\/+/, '').replace(/\/+/g, '/');
  const patches = [
    (a) => `--- a/${a}\n+++ b/${a}\n@@ -1 +1 @@\n-old\n+new\n`,
    (a) => `diff --git a/${a} b/${a}\nnew file mode 100644\n--- /dev/null\n+++ b/${a}\n@@ -0,0 +1 @@\n+new\n`,
    (a) => `diff --git a/${a} b/${a}\nnew file mode 120000\n--- /dev/null\n+++ b/${a}\n@@ -0,0 +1 @@\n+../keep\n\\ No newline at end of file\n`,
    (a) => `diff --git a/${a} b/${a}\ndeleted file mode 100644\n--- a/${a}\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n`,
    (a, b) => `diff --git a/${a} b/${b}\nsimilarity index 100%\nrename from ${a}\nrename to ${b}\n`,
    (a, b) => `diff --git a/${a} b/${b}\nsimilarity index 100%\ncopy from ${a}\ncopy to ${b}\n`,
    (a) => `diff --git a/${a} b/${a}\nold mode 100644\nnew mode 100755\n`,
  ];
  const calls = {
    writeFile: () => ({ path: name(), content: `new ${next(9)}\n`, ...(next(3) === 0 && { mode: 0o600 }) }),
    writeFiles: () => ({ files: Array.from({ length: 1 + next(3) }, () => ({ path: name(), data: 'new\n' })) }),
    editFile: () => ({ path: name(), oldText: 'old', newText: 'new' }),
    deleteFile: () => ({ path: name(), recursive: next(2) === 0 }),
    createDirectory: () => ({ path: name() }),
    applyDiff: () => ({ patch: Array.from({ length: 1 + next(2) }, () => one(patches)(plain(), plain())).join('') }),
  };

  return () => {
    const tool = one(Object.keys(calls));

    return [tool, calls[tool]()];
  };
}

// A directory that may change is, by turns, itself and a link to one that may not.
const SWAP = `
const fs = require('node:fs'), { workerData: { dir, stop } } = require('node:worker_threads');
const halt = new Int32Array(stop), quiet = (fn) => { try { fn(); } catch {} };
while (!Atomics.load(halt, 0)) {
  quiet(() => fs.renameSync(dir, dir + '-away'));
  quiet(() => fs.symlinkSync('../keep', dir));
  quiet(() => fs.unlinkSync(dir));
  quiet(() => fs.renameSync(dir + '-away', dir));
}`;

for (const [what, seed, race] of [['as it lies', 20261121, false], ['while a directory turns into a link and back', 7, true]]) {
  test(`nothing outside of the globs changes, ${what}`, async (t) => {
    const base = scratch(), root = path.join(base, 'root');
    const stop = new SharedArrayBuffer(4);
    const done = {}, refused = {};
    const until = performance.now() + 4000;

    t.after(() => fs.rmSync(base, { recursive: true, force: true }));
    fs.mkdirSync(root);
    make(root);
    const before = guarded(base);
    const box = await Tools.start(root, { policy: POLICY });
    const next = generator(root, random(seed));
    const worker = race && new Worker(SWAP, { eval: true, workerData: { dir: path.join(root, 'ok/d'), stop } });
    const ended = worker && new Promise((resolve) => worker.on('exit', resolve));
    let calls = 0;

    for (; performance.now() < until && calls < 20000; calls += 96) {
      const made = Array.from({ length: 96 }, next);

      await Promise.all(made.map(async ([tool, args]) => {
        const { result, error } = await box.request('tools/call', { name: tool, arguments: args });

        assert.equal(error, undefined, JSON.stringify([tool, args, error]));
        (result.isError ? refused : done)[tool] = ((result.isError ? refused : done)[tool] ?? 0) + 1;
      }));
      if (race)
        continue;
      assert.deepEqual(guarded(base), before, JSON.stringify(made));
      clear(root);
      make(root);
    }
    Atomics.store(new Int32Array(stop), 0, 1);
    await ended;
    await box.stop();
    t.diagnostic(`${calls} calls; done ${JSON.stringify(done)}; refused ${JSON.stringify(refused)}`);
    assert.deepEqual(guarded(base), before);
    for (const tool of ['writeFile', 'writeFiles', 'editFile', 'deleteFile', 'createDirectory', 'applyDiff'])
      assert.ok(refused[tool] > 0 && (race || done[tool] > 0), `${tool} both does something and is refused`);
  });
}
