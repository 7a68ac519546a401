// SPDX-License-Identifier: Apache-2.0
// Each built-in tool beside itself and beside each other one on one file: what is reported as done is in the file, what is read is whole,
// and of two that expect one version only one succeeds. Also from two processes: those of a session and of /mcp serve one tree.

import fs from 'node:fs';
import test from 'node:test';
import { strict as assert } from 'node:assert';
import { SLOW } from '../lib/rawws.mjs';
import { Tools, tools } from './builtin.mjs';

const FILE = 'one.txt';
const SLOTS = 48;
const WHOLE = ['begin', ...Array.from({ length: SLOTS }, (_, i) => `above ${i}\nslot ${i}\nbelow ${i}`), 'end', ''].join('\n');
const config = { interpreters: { python: ['/bin/sh'] }, tests: { t: { command: 'true', format: 'exit' } } };

const count = (text, line) => text.split('\n').filter((other) => other === line).length;
const isWhole = (text) => text.startsWith('begin\n') && text.endsWith('\nend\n');

// The structured result, or the error.
async function ask(box, name, args) {
  const { structuredContent: s } = await box.raw(name, args);

  return s.error ? { error: s.error } : s;
}

async function another(t, box) {
  const other = await Tools.start(box.root, config);

  t.after(() => other.stop());
  return other;
}

const edit = (box, n) => ask(box, 'editFile', { path: FILE, oldText: `slot ${n}\n`, newText: `done ${n}\n` });
const patch = (box, n) => ask(box, 'applyDiff', { patch: [`--- a/${FILE}`, `+++ b/${FILE}`, `@@ -${3 * n + 2},3 +${3 * n + 2},3 @@`, ` above ${n}`,
  `-slot ${n}`, `+done ${n}`, ` below ${n}`, ''].join('\n') });

// As a careful client does it: read, change, write what must still be the version that was read, again if it is not.
async function rewrite(box, n) {
  for (let i = 0; i < 200; i++) {
    const read = await ask(box, 'readFile', { path: FILE });

    if (read.error)
      return read;
    assert.ok(isWhole(read.content), 'a part of the file was read');
    const wrote = await ask(box, 'writeFile', { path: FILE, content: read.content.replace(`slot ${n}\n`, `done ${n}\n`), expectedEtag: read.etag });

    if (wrote.error?.code !== 'ESTALE')
      return wrote;
  }
  throw new Error('never its turn');
}

const writers = { editFile: edit, applyDiff: patch, writeFile: rewrite };

test('edits of one file side by side: whatever reports success is in the file', async (t) => {
  for (const processes of [1, 2]) {
    const box = await tools(t, config);
    const boxes = [box, processes === 2 ? await another(t, box) : box];

    for (const kinds of [['editFile'], ['editFile', 'applyDiff', 'writeFile']]) {
      fs.writeFileSync(box.file(FILE), WHOLE);
      const all = Array.from({ length: SLOTS }, (_, n) => n);
      const results = await Promise.all(all.map((n) => writers[kinds[n % kinds.length]](boxes[n % 2], n)));
      const text = fs.readFileSync(box.file(FILE), 'utf8');

      assert.ok(isWhole(text));
      for (const n of all) {
        const { error } = results[n];
        const done = count(text, `done ${n}`);

        assert.deepEqual([done, count(text, `slot ${n}`)], error ? [0, 1] : [1, 0], `${processes} ${kinds} ${n}: ${JSON.stringify(results[n])}`);
        assert.equal(error, undefined, `${kinds} ${n}: nothing stands against it, only others at work`);
      }
    }
    assert.deepEqual(fs.readdirSync(box.root), [FILE]);
  }
});

test('of many writers that expect one version one succeeds', async (t) => {
  const box = await tools(t, config);
  const boxes = [box, await another(t, box)];

  for (let round = 0; round < 12; round++) {
    fs.writeFileSync(box.file(FILE), WHOLE);
    const { etag } = await box.call('readFile', { path: FILE });
    const results = await Promise.all(Array.from({ length: 12 }, (_, i) => (round % 2
      ? ask(boxes[i % 2], 'writeFile', { path: FILE, content: WHOLE.replace('slot 0\n', `slot ${String.fromCharCode(65 + i)}\n`), expectedEtag: etag })
      : ask(boxes[i % 2], 'editFile', { path: FILE, oldText: 'slot 0\n', newText: `slot ${String.fromCharCode(65 + i)}\n`, expectedEtag: etag }))));

    assert.equal(results.filter((r) => !r.error).length, 1, JSON.stringify(results));
    assert.ok(results.every((r) => !r.error || r.error.code === 'ESTALE'), JSON.stringify(results));
    const won = results.findIndex((r) => !r.error);

    assert.equal(count(fs.readFileSync(box.file(FILE), 'utf8'), `slot ${String.fromCharCode(65 + won)}`), 1);
  }
});

test('each write is a version of its own, however fast they come', async (t) => {
  const box = await tools(t, config);
  const seen = new Set();

  for (let i = 0; i < 200; i++)
    seen.add((await box.call('writeFile', { path: FILE, content: `${i % 2}` })).etag);
  assert.equal(seen.size, 200);
});

test('a lock of somebody else is waited for', async (t) => {
  const box = await tools(t, config);

  fs.writeFileSync(box.file(FILE), WHOLE);
  // who runs holds the lock that two of our processes exclude each other by; the edit is waiting when it is let go
  const holder = box.call('runCommand', { command: 'exec 9<.; flock 9; echo > held; until [ -e go ]; do sleep 0.02; done' });

  while (!fs.existsSync(box.file('held')))
    await new Promise((done) => setTimeout(done, 10));
  const waiting = edit(box, 0);

  assert.equal(await Promise.race([waiting, box.call('checkFileExists', { path: FILE })]).then((r) => r.exists), true);
  fs.writeFileSync(box.file('go'), '');
  assert.equal((await waiting).success, true);
  await holder;
});

// Every tool that is announced has a row: a call on that file, and the errors it may end in beside the others. n: a slot of its own.
const TYPED = ['ENOENT', 'ESTALE', 'EEXIST'];
const rows = {
  ...writers,
  readFile: (box) => ask(box, 'readFile', { path: FILE }),
  readFiles: (box) => ask(box, 'readFiles', { glob: FILE }),
  writeFiles: (box) => ask(box, 'writeFiles', { files: [{ path: FILE, content: WHOLE }] }),
  listFiles: (box) => ask(box, 'listFiles', {}),
  grep: (box) => ask(box, 'grep', { pattern: '^(begin|end)$', path: FILE }),
  deleteFile: (box) => ask(box, 'deleteFile', { path: FILE }),
  createDirectory: (box) => ask(box, 'createDirectory', { path: FILE }),
  getFileInfo: (box) => ask(box, 'getFileInfo', { path: FILE }),
  checkFileExists: (box) => ask(box, 'checkFileExists', { path: FILE }),
  getFileSize: (box) => ask(box, 'getFileSize', { path: FILE }),
  watchDirectory: (box) => ask(box, 'watchDirectory', { path: '.', watchDuration: 1 }),
  runCommand: (box) => ask(box, 'runCommand', { argv: ['cat', FILE] }),
  runCode: (box) => ask(box, 'runCode', { code: `cat ${FILE}` }),
  runTests: (box) => ask(box, 'runTests', { target: 't' }),
  getProcessOutput: (box) => ask(box, 'getProcessOutput', { pid: '1' }),
  killProcess: (box) => ask(box, 'killProcess', { pid: '1' }),
  writeProcessInput: (box) => ask(box, 'writeProcessInput', { pid: '1', data: 'x' }),
  listProcesses: (box) => ask(box, 'listProcesses', {}),
  openPR: (box) => ask(box, 'openPR', { title: 'x' }),
  createSandbox: (box) => ask(box, 'createSandbox', {}),
};
const slow = new Set(['runCommand', 'runCode', 'runTests', 'openPR', 'watchDirectory']);
const own = { createDirectory: ['EEXIST'], getProcessOutput: ['PROCESS_NOT_FOUND'], killProcess: ['PROCESS_NOT_FOUND'],
  writeProcessInput: ['PROCESS_NOT_FOUND'], openPR: ['NOT_A_REPOSITORY'] };

// What a reader was given is one version, never a part of one.
function checkRead(name, result) {
  if (name === 'readFile')
    assert.ok(isWhole(result.content), 'readFile gave a part');
  if (name === 'readFiles' && result.files[0])
    assert.ok(isWhole(result.files[0].content), 'readFiles gave a part');
  if (name === 'grep')
    assert.deepEqual(result.matches.map((m) => m.text), ['begin', 'end'], 'grep saw a part');
  if (name === 'runCommand' && result.success)
    assert.ok(isWhole(result.stdout), 'a command saw a part');
}

async function pair(box, a, b) {
  const calls = [];
  const many = (name) => (slow.has(name) ? 1 : writers[name] ? 4 : 2);

  fs.rmSync(box.file(FILE), { force: true, recursive: true });
  fs.writeFileSync(box.file(FILE), WHOLE);
  for (const name of [a, b])
    for (let i = 0; i < many(name); i++)
      calls.push({ name, n: calls.length });
  await Promise.all(calls.map(async (call) => { call.result = await rows[call.name](box, call.n); }));
  const overwritten = [a, b].includes('writeFiles');
  const gone = calls.some((call) => call.name === 'deleteFile' && !call.result.error);
  const made = fs.existsSync(box.file(FILE)) && fs.statSync(box.file(FILE)).isDirectory();
  const text = fs.existsSync(box.file(FILE)) && !made ? fs.readFileSync(box.file(FILE), 'utf8') : null;

  for (const { name, n, result } of calls) {
    const what = `${a} beside ${b}, ${name}: ${JSON.stringify(result)}`;

    if (result.error) {
      assert.ok([...(own[name] ?? []), ...(gone || overwritten ? [...TYPED, 'EISDIR', 'ENOTDIR', 'NOT_A_FILE'] : [])].includes(result.error.code), what);
      continue;
    }
    checkRead(name, result);
    if (writers[name] && !overwritten && !gone)
      assert.equal(count(text, `done ${n}`), 1, what);
  }
  if (gone && !overwritten && !made)
    assert.equal(text, null, `${a} beside ${b}: what was deleted came back`);
  else if (text !== null)
    assert.ok(isWhole(text), `${a} beside ${b}: the file is not whole`);
}

test('each tool beside itself and beside each other on one file', { timeout: 600_000 * SLOW }, async (t) => {
  const box = await tools(t, config);
  const names = [...box.tools.keys()];

  assert.deepEqual(Object.keys(rows).sort(), [...names].sort(), 'a tool has no row here');
  for (const [i, a] of names.entries())
    for (const b of names.slice(i))
      await pair(box, a, b);
  assert.deepEqual(fs.readdirSync(box.root).filter((name) => name.startsWith('.acpd')), []);
});
