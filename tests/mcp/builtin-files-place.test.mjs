// SPDX-License-Identifier: Apache-2.0
// build: release
// Which paths a tool takes, and that nobody who moves things meanwhile leads one out of the roots; what policy adds.

import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { strict as assert } from 'node:assert';
import { Worker } from 'node:worker_threads';
import { Tools, scratch, tools } from './builtin.mjs';

test('the one rule for paths, by a table', async (t) => {
  const base = scratch();
  const root = path.join(base, 'root'), second = path.join(base, 'second');

  t.after(() => fs.rmSync(base, { recursive: true }));
  for (const dir of [root, second, path.join(root, 'cwd/sub'), path.join(base, 'root-not')])
    fs.mkdirSync(dir, { recursive: true });
  for (const file of ['secret', 'root/up', 'root/cwd/f', 'root/cwd/sub/g', 'second/s', 'root-not/x', 'root/cwd/-n', 'root/cwd/ü', 'root/cwd/new\nline', 'root/cwd/~', 'root/cwd/...'])
    fs.writeFileSync(path.join(base, file), file);
  const link = (target, name) => fs.symlinkSync(target, path.join(root, 'cwd', name));

  link('f', 'l-in');
  link('sub', 'l-dir');
  link('../up', 'l-up');
  link('../../secret', 'l-out');
  link(path.join(base, 'secret'), 'l-abs-out');
  link(path.join(root, 'cwd/f'), 'l-abs-in');
  link(path.join(second, 's'), 'l-second');
  link(second, 'l-second-dir');
  link('l-loop', 'l-loop');
  link('l-out', 'l-chain');
  link('/proc/self/root', 'l-magic');
  link('/proc/self/cwd', 'l-magic-in');
  link('nothing', 'l-dangling');
  link('../../nothing', 'l-dangling-out');
  fs.symlinkSync(root, path.join(base, 'alias'));
  const box = await Tools.start(root, { roots: [root, second], cwd: path.join(root, 'cwd') });

  t.after(() => box.stop());
  const rows = [
    ['f', 'root/cwd/f'], ['./f', 'root/cwd/f'], ['.//f', 'root/cwd/f'], ['sub/../f', 'root/cwd/f'], ['sub//g', 'root/cwd/sub/g'], ['sub/./g', 'root/cwd/sub/g'],
    ['../up', 'root/up'], ['../cwd/f', 'root/cwd/f'], [`${root}/up`, 'root/up'], [`${root}//cwd/./f`, 'root/cwd/f'], [`${root}/cwd/../up`, 'root/up'],
    [`${second}/s`, 'second/s'], [`${base}/alias/up`, 'root/up'], ['-n', 'root/cwd/-n'], ['ü', 'root/cwd/ü'], ['new\nline', 'root/cwd/new\nline'], ['~', 'root/cwd/~'],
    ['...', 'root/cwd/...'], ['l-in', 'root/cwd/f'], ['l-dir/g', 'root/cwd/sub/g'], ['l-dir/../f', 'root/cwd/f'], ['l-up', 'root/up'], ['l-abs-in', 'root/cwd/f'],
    ['l-second', 'second/s'], ['l-second-dir/s', 'second/s'], [`${root}/../root/up`, 'root/up'],
    ['', 'PATH_INVALID'], ['..', 'EISDIR'], ['../..', 'OUTSIDE_ROOTS'], ['../../secret', 'OUTSIDE_ROOTS'], ['sub/../../../secret', 'OUTSIDE_ROOTS'],
    ['../../root/../secret', 'OUTSIDE_ROOTS'], [`${base}/secret`, 'OUTSIDE_ROOTS'], [`${root}/../secret`, 'OUTSIDE_ROOTS'], [`${root}-not/x`, 'OUTSIDE_ROOTS'],
    ['/etc/passwd', 'OUTSIDE_ROOTS'], ['/', 'OUTSIDE_ROOTS'], ['//etc/passwd', 'OUTSIDE_ROOTS'], ['/nothing/at/all', 'OUTSIDE_ROOTS'], ['l-out', 'OUTSIDE_ROOTS'],
    ['l-abs-out', 'OUTSIDE_ROOTS'], ['l-chain', 'OUTSIDE_ROOTS'], ['l-second-dir/../secret', 'OUTSIDE_ROOTS'], ['l-magic/etc/passwd', 'OUTSIDE_ROOTS'], ['l-dangling-out', 'OUTSIDE_ROOTS'],
    ['/proc/self/root/etc/passwd', 'OUTSIDE_ROOTS'], ['/proc/self/fd/0', 'OUTSIDE_ROOTS'], ['l-loop', 'ELOOP'], ['l-dangling', 'ENOENT'], ['none', 'ENOENT'], ['f/', 'ENOTDIR'], ['f/.', 'ENOTDIR'],
    ['f/x', 'ENOTDIR'], ['sub', 'EISDIR'], ['.', 'EISDIR'], [`${'x'.repeat(256)}`, 'ENAMETOOLONG'], [`${'x/'.repeat(2048)}y`, 'ENAMETOOLONG'], ['file:///etc/passwd', 'ENOENT'],
    ['a\0b', 'INVALID_ARGUMENT'], ['f\0/../../secret', 'INVALID_ARGUMENT'],
  ];

  assert.ok(rows.length >= 40);
  for (const [name, want] of rows) {
    const shown = JSON.stringify(name).slice(0, 60);
    const { structuredContent: s } = await box.raw('readFile', { path: name });

    assert.equal(s.error?.code ?? s.content, want, shown);
    // to write: the same answer, and nothing outside is touched
    const write = (await box.raw('writeFile', { path: name, content: want, createParents: false })).structuredContent;

    if (want.includes('/'))
      assert.equal(write.success, true, `${shown} ${JSON.stringify(write)}`);
    else if (want === 'OUTSIDE_ROOTS' || want === 'INVALID_ARGUMENT')
      assert.ok([want, 'EISDIR'].includes(write.error.code), `${shown} ${JSON.stringify(write)}`);
    if (want === 'ENOENT' && write.success)
      fs.rmSync(path.join(root, 'cwd', name));
    if (want.includes('/'))
      assert.equal(fs.readFileSync(path.join(base, want), 'utf8'), want);
    else if (!['INVALID_ARGUMENT', 'PATH_INVALID'].includes(want))
      assert.equal((await box.raw('listFiles', { path: name })).structuredContent.error?.code ?? 'listed', want === 'EISDIR' || name === '/' ? 'listed' : want, shown);
  }
  assert.equal(fs.readFileSync(path.join(base, 'secret'), 'utf8'), 'secret');
  // half of a surrogate pair is repaired as it enters, so that no name can hold one
  const odd = await box.request('tools/call', JSON.parse('{"name":"readFile","arguments":{"path":"\\ud800"}}'));

  assert.equal(odd.result?.structuredContent.error.code, 'ENOENT');
});

// Exchanges a directory and a link to the outside, as fast as it can.
const SWAP = `
const fs = require('node:fs');
const { workerData: { dir, outside, stop } } = require('node:worker_threads');
const flag = new Int32Array(stop);

while (!Atomics.load(flag, 0)) {
  try { fs.symlinkSync(outside, dir + '.link'); } catch {}
  try { fs.renameSync(dir, dir + '.real'); fs.renameSync(dir + '.link', dir); } catch {}
  try { fs.renameSync(dir, dir + '.link'); fs.renameSync(dir + '.real', dir); } catch {}
}
`;

test('a directory that turns into a link meanwhile leads nobody out', async (t) => {
  const base = scratch();
  const root = path.join(base, 'root'), outside = path.join(base, 'outside'), dir = path.join(root, 'd');
  const stop = new SharedArrayBuffer(4);

  t.after(() => fs.rmSync(base, { recursive: true, force: true }));
  for (const d of [dir, outside, path.join(dir, 'sub'), path.join(outside, 'sub')])
    fs.mkdirSync(d, { recursive: true });
  for (const [d, text] of [[dir, 'inside'], [outside, 'outside secret']])
    for (const name of ['f', 'sub/g'])
      fs.writeFileSync(path.join(d, name), text);
  const box = await Tools.start(root);
  const worker = new Worker(SWAP, { eval: true, workerData: { dir, outside, stop } });
  const ended = new Promise((resolve) => worker.on('exit', resolve));
  const started = performance.now();
  let good = 0, i = 0;

  for (; performance.now() - started < 3000 || (!good && performance.now() - started < 30000); i++) {
    const answers = await Promise.all([
      box.raw('readFile', { path: 'd/f' }), box.raw('readFiles', { glob: 'd/**', hidden: true }), box.raw('grep', { pattern: 'secret' }), box.raw('grep', { pattern: 'secret', path: 'd' }),
      box.raw('writeFile', { path: `d/w${i % 5}`, content: 'w' }), box.raw('editFile', { path: 'd/sub/g', oldText: 'outside', newText: 'edited' }),
      box.raw('createDirectory', { path: `d/c${i % 5}/x` }), box.raw('deleteFile', { path: 'd/f.none' }), box.raw('deleteFile', { path: 'd/sub.none', recursive: true }),
      box.raw('getFileSize', { path: '.', recursive: true }),
    ]);

    assert.ok(!JSON.stringify(answers).includes('outside secret'));
    good += answers[0].structuredContent.content === 'inside';
  }
  Atomics.store(new Int32Array(stop), 0, 1);
  await ended;
  await box.stop();
  t.diagnostic(`${good} of ${i} reads found it in its place`);
  assert.ok(good > 0);
  assert.deepEqual(fs.readdirSync(outside).sort(), ['f', 'sub']);
  assert.deepEqual(fs.readdirSync(path.join(outside, 'sub')), ['g']);
  assert.equal(fs.readFileSync(path.join(outside, 'sub/g'), 'utf8'), 'outside secret');
});

test('a tree that turns into a link while it is deleted', async (t) => {
  const base = scratch();
  const root = path.join(base, 'root'), outside = path.join(base, 'outside');

  t.after(() => fs.rmSync(base, { recursive: true, force: true }));
  fs.mkdirSync(root);
  fs.mkdirSync(path.join(outside, 'sub'), { recursive: true });
  fs.writeFileSync(path.join(outside, 'sub/kept'), 'kept');
  const box = await Tools.start(root);

  for (let round = 0; round < 5; round++) {
    const stop = new SharedArrayBuffer(4), dir = path.join(root, 't/d');

    fs.mkdirSync(path.join(dir, 'sub'), { recursive: true });
    for (let i = 0; i < 300; i++)
      fs.writeFileSync(path.join(dir, 'sub', `kept${i}`), '');
    const worker = new Worker(SWAP, { eval: true, workerData: { dir, outside, stop } });
    const ended = new Promise((resolve) => worker.on('exit', resolve));

    await new Promise((resolve) => setTimeout(resolve, 60));
    for (let i = 0; i < 20; i++)
      await box.raw('deleteFile', { path: i % 2 ? 't' : 't/d', recursive: true });
    Atomics.store(new Int32Array(stop), 0, 1);
    await ended;
    fs.rmSync(path.join(root, 't'), { recursive: true, force: true });
    assert.equal(fs.readFileSync(path.join(outside, 'sub/kept'), 'utf8'), 'kept');
  }
  await box.stop();
});

test('policy: globs hold for every tool, also through links', async (t) => {
  const box = await tools(t, { policy: { read: ['src/**', 'docs/**'], write: ['src/**'], deny: ['**/.env', 'src/private/**'] } });

  for (const [name, text] of [['src/a', 'needle'], ['src/.env', 'needle'], ['src/private/k', 'needle'], ['docs/d', 'needle'], ['other/o', 'needle']]) {
    fs.mkdirSync(path.dirname(box.file(name)), { recursive: true });
    fs.writeFileSync(box.file(name), text);
  }
  fs.symlinkSync('../.env', box.file('src/up'));
  fs.symlinkSync('.env', box.file('src/env'));
  fs.symlinkSync('../other', box.file('src/other'));
  fs.symlinkSync('../docs/d', box.file('src/doc'));
  assert.equal((await box.call('readFile', { path: 'src/a' })).content, 'needle');
  assert.equal((await box.call('readFile', { path: 'src/doc' })).content, 'needle');
  assert.equal((await box.fails('PATH_NOT_ALLOWED', 'readFile', { path: 'other/o' })).field, 'path');
  await box.fails('PATH_NOT_ALLOWED', 'readFile', { path: 'src/other/o' });
  await box.fails('PATH_DENIED', 'readFile', { path: 'src/env' });
  await box.fails('PATH_DENIED', 'readFile', { path: 'src/private/k' });
  await box.fails('PATH_NOT_ALLOWED', 'writeFile', { path: 'docs/d', content: 'x' });
  await box.fails('PATH_NOT_ALLOWED', 'writeFile', { path: 'src/doc', content: 'x' });
  await box.fails('PATH_NOT_ALLOWED', 'editFile', { path: 'docs/d', oldText: 'needle', newText: 'x' });
  await box.fails('PATH_DENIED', 'writeFile', { path: 'src/new/.env', content: 'x' });
  await box.fails('PATH_NOT_ALLOWED', 'createDirectory', { path: 'docs/new' });
  await box.fails('PATH_NOT_ALLOWED', 'deleteFile', { path: 'docs/d' });
  await box.fails('PATH_NOT_ALLOWED', 'deleteFile', { path: 'src', recursive: true });
  await box.fails('PATH_DENIED', 'deleteFile', { path: 'src/private', recursive: true });
  assert.equal(fs.readFileSync(box.file('src/private/k'), 'utf8'), 'needle');
  assert.equal((await box.call('writeFile', { path: 'src/deep/er/new', content: 'x' })).success, true);
  assert.deepEqual((await box.call('grep', { pattern: 'needle', gitignore: false })).matches.map((m) => m.path), ['docs/d', 'src/a']);
  assert.deepEqual((await box.call('readFiles', { glob: '**' })).files.map((f) => f.path), ['docs/d', 'src/a', 'src/deep/er/new']);
  assert.ok(!fs.existsSync(box.file('src/new')));
  assert.equal(fs.readFileSync(box.file('docs/d'), 'utf8'), 'needle');
});

test('policy: tools that are denied, that ask, that are counted; a dry run', async (t) => {
  const policy = { categories: { edit: 'ask' }, tools: { deleteFile: { policy: 'deny' }, readFile: { maxCalls: 2 }, getFileInfo: { maxResultBytes: 20 } } };
  const mute = await tools(t, { policy });
  const box = await tools(t, { policy }, { elicitation: {} });

  assert.ok(!box.tools.has('deleteFile'));
  const denied = await box.request('tools/call', { name: 'deleteFile', arguments: { path: 'a' } });

  assert.equal(denied.error.data.reason, 'UNKNOWN_TOOL');
  await mute.fails('APPROVAL_REQUIRED', 'writeFile', { path: 'a', content: 'x' });
  const args = { path: 'a', content: 'x' };
  const asked = await box.raw('writeFile', args);
  const { approval } = asked.inputRequests;

  assert.equal(approval.method, 'elicitation/create');
  assert.deepEqual(approval.params._meta.acpd.permission.paths, ['a']);
  assert.equal(approval.params._meta.acpd.permission.category, 'edit');
  assert.ok(!fs.existsSync(box.file('a')));
  const answer = (approve, requestState = asked.requestState, with_ = args) => box.raw('writeFile', with_,
    { requestState, inputResponses: { approval: { action: 'accept', content: { approve } } } });

  assert.equal((await answer(true, asked.requestState, { path: 'b', content: 'x' })).resultType, 'input_required', 'for another call it counts for nothing');
  assert.equal((await answer(true, asked.requestState.replace(/.$/, (c) => (c === '0' ? '1' : '0')))).resultType, 'input_required');
  assert.equal((await answer(true)).structuredContent.success, true);
  assert.equal((await answer(true)).resultType, 'input_required', 'once');
  const again = await box.raw('writeFile', { path: 'c', content: 'x' });

  assert.equal((await answer(false, again.requestState, { path: 'c', content: 'x' })).structuredContent.error.code, 'PERMISSION_REJECTED');
  assert.ok(!fs.existsSync(box.file('c')));
  await box.call('readFile', { path: 'a' });
  await box.call('readFile', { path: 'a' });
  await box.fails('MAX_CALLS', 'readFile', { path: 'a' });
  await box.fails('RESULT_TOO_LARGE', 'getFileInfo', { path: 'a' });

  const dry = await tools(t, { dryRun: true });

  fs.writeFileSync(dry.file('a'), 'old');
  for (const [name, more] of [['writeFile', { path: 'a', content: 'x' }], ['writeFile', { path: 'n/e/w', content: 'x' }], ['writeFiles', { files: [{ path: 'n/b', data: 'x' }] }],
    ['editFile', { path: 'a', oldText: 'old', newText: 'x' }], ['deleteFile', { path: 'a' }], ['createDirectory', { path: 'x/y' }]])
    assert.equal((await dry.call(name, more)).dryRun, true, name);
  await dry.fails('OUTSIDE_ROOTS', 'writeFile', { path: '../n/e/w', content: 'x' });
  await dry.fails('OUTSIDE_ROOTS', 'writeFile', { path: 'n/../../e/w', content: 'x' }).catch(() => dry.fails('ENOENT', 'writeFile', { path: 'n/../../e/w', content: 'x' }));
  assert.deepEqual(fs.readdirSync(dry.root), ['a']);
  assert.equal(fs.readFileSync(dry.file('a'), 'utf8'), 'old');
});
