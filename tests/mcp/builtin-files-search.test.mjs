// SPDX-License-Identifier: Apache-2.0
// build: release
// listFiles, readFiles, grep, watchDirectory: many files, patterns, what is left out, what happens meanwhile.

import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { strict as assert } from 'node:assert';
import { setTimeout as sleep } from 'node:timers/promises';
import * as procs from '../lib/procs.mjs';
import { until, withLimit } from '../lib/wait.mjs';
import { tools } from './builtin.mjs';

function tree(box, files) {
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(box.file(name)), { recursive: true });
    fs.writeFileSync(box.file(name), text);
  }
}

async function pages(box, args) {
  const all = [];
  let cursor;

  for (let i = 0; i < 200; i++) {
    const page = await box.call('listFiles', { ...args, ...(cursor && { cursor }) });

    all.push(...page.files);
    assert.equal(page.truncated, page.nextCursor !== undefined);
    if (!page.nextCursor)
      return all;
    ({ nextCursor: cursor } = page);
  }
  throw new Error('pages without end');
}

test('listFiles: depth, hidden, patterns, types, order', async (t) => {
  const box = await tools(t);

  tree(box, { 'a.js': '1', 'b/c.ts': '22', 'b/d/e.js': '', '.hid/f.js': '', 'b/.g': '', 'a/z': '', 'out.log': '', '.gitignore': '*.log\n/b/d/\n' });
  fs.symlinkSync('b', box.file('link'));
  const names = async (args) => (await box.call('listFiles', args)).files.map((f) => f.path);

  assert.deepEqual(await names({}), ['.gitignore', '.hid', 'a', 'a.js', 'b', 'link', 'out.log']);
  assert.deepEqual(await names({ hidden: false }), ['a', 'a.js', 'b', 'link', 'out.log']);
  assert.deepEqual(await names({ recursive: true, hidden: false }), ['a', 'a/z', 'a.js', 'b', 'b/c.ts', 'b/d', 'b/d/e.js', 'link', 'out.log']);
  assert.deepEqual(await names({ depth: 2, hidden: false, type: 'file' }), ['a/z', 'a.js', 'b/c.ts', 'out.log']);
  assert.deepEqual(await names({ recursive: true, pattern: '*.{js,ts}' }), ['.hid/f.js', 'a.js', 'b/c.ts', 'b/d/e.js']);
  assert.deepEqual(await names({ recursive: true, pattern: 'b/**/*.js' }), ['b/d/e.js']);
  assert.deepEqual(await names({ recursive: true, extensions: ['.ts', 'log'] }), ['b/c.ts', 'out.log']);
  assert.deepEqual(await names({ recursive: true, gitignore: true, hidden: false }), ['a', 'a/z', 'a.js', 'b', 'b/c.ts', 'link']);
  // what the files above say counts, too
  assert.deepEqual(await names({ path: 'b', recursive: true, gitignore: true, hidden: false }), ['b/c.ts']);
  assert.deepEqual(await names({ path: 'link', hidden: false }), ['link/c.ts', 'link/d'], 'a link in the path itself is followed');
  const [entry] = (await box.call('listFiles', { pattern: 'link' })).files;

  assert.deepEqual([entry.type, entry.isDirectory, entry.symlinkTarget], ['symlink', false, 'b']);
  await box.fails('ENOTDIR', 'listFiles', { path: 'a.js' });
  await box.fails('ENOENT', 'listFiles', { path: 'none' });
  assert.deepEqual(await names({ path: '/' }), [box.root], 'the roots are what there is of it');
  await box.fails('INVALID_ARGUMENT', 'listFiles', { cursor: '!' });
  await box.fails('PATTERN_INVALID', 'listFiles', { pattern: '{a' });
  fs.writeFileSync(Buffer.concat([Buffer.from(`${box.root}/x`), Buffer.from([0xff])]), '');
  const odd = (await box.call('listFiles', { pattern: 'x*' })).files[0];

  assert.deepEqual([odd.name, Buffer.from(odd.nameBase64, 'base64')], ['x\ufffd', Buffer.from([0x78, 0xff])]);
});

test('listFiles: 100 000 entries in pages, none lost or doubled though the tree changes', async (t) => {
  const box = await tools(t, {}, {}, { many: true });
  const want = new Set();

  for (let d = 0; d < 20; d++) {
    fs.mkdirSync(box.file(`d${d}`));
    for (let i = 0; i < 5000; i++) {
      fs.closeSync(fs.openSync(box.file(`d${d}/f${i}`), 'w'));
      want.add(`d${d}/f${i}`);
    }
  }
  const started = performance.now();
  const got = [];
  let cursor;

  for (let i = 0; i < 40; i++) {
    const page = await box.call('listFiles', { recursive: true, type: 'file', limit: 5000, ...(cursor && { cursor }) });

    got.push(...page.files.map((f) => f.path));
    // what was given last goes, and others come: the next page goes on behind it all the same
    fs.rmSync(box.file(page.files.at(-1).path));
    fs.writeFileSync(box.file(`d0/a-${i}`), '');
    ({ nextCursor: cursor } = page);
    if (!cursor)
      break;
  }
  t.diagnostic(`100 000 entries in ${Math.round(performance.now() - started)} ms`);
  assert.equal(got.length, new Set(got).size, 'none twice');
  for (const name of got)
    want.delete(name);
  assert.equal(want.size, 0, `lost: ${[...want].slice(0, 5)}`);
  assert.equal((await pages(box, { path: 'd3', limit: 1000 })).length, fs.readdirSync(box.file('d3')).length);
});

test('readFiles: stable order, bounds, binary files, .gitignore', async (t) => {
  const box = await tools(t);
  const files = {};

  for (let i = 0; i < 5000; i++)
    files[`src/${i % 50}/f${i}.c`] = `int f${i};\n`;
  tree(box, { ...files, 'src/x.bin': Buffer.from([1, 255, 0]), 'big.txt': 'ü'.repeat(5000), 'skip/a.c': 'no', '.gitignore': 'skip\n' });
  const one = await box.call('readFiles', { glob: '**/*.c', maxTotalBytes: 4000 });
  const two = await box.call('readFiles', { glob: '**/*.c', maxTotalBytes: 4000 });

  assert.deepEqual(one, two);
  assert.deepEqual([one.matched, one.truncated, one.omitted], [5000, true, 5000 - one.files.length]);
  assert.ok(one.files.reduce((n, f) => n + f.content.length, 0) <= 4000);
  assert.deepEqual(one.files.slice(0, 2).map((f) => [f.path, f.content]), [['src/0/f0.c', 'int f0;\n'], ['src/0/f100.c', 'int f100;\n']]);
  const few = await box.call('readFiles', { glob: '*.c', path: 'src/7', maxFiles: 3 });

  assert.deepEqual([few.files.map((f) => f.path), few.omitted], [['src/7/f1007.c', 'src/7/f1057.c', 'src/7/f107.c'], 97]);
  const [bin] = (await box.call('readFiles', { glob: '**/*.bin' })).files;

  assert.deepEqual([bin.encoding, Buffer.from(bin.content, 'base64')], ['base64', Buffer.from([1, 255, 0])]);
  const [big] = (await box.call('readFiles', { glob: 'big.{txt,md}', maxFileBytes: 1001 })).files;

  assert.deepEqual([big.content, big.truncated, big.size, big.encoding], ['ü'.repeat(500), true, 10000, 'utf-8']);
  assert.equal((await box.call('readFiles', { glob: 'skip/*.c', gitignore: false })).files.length, 1);
  await box.fails('PATTERN_INVALID', 'readFiles', { glob: '/etc/*' });
});

test('grep: lines from 1, UTF-16 columns from 0, context, bounds, what is left out', async (t) => {
  const box = await tools(t);

  tree(box, { 'a.txt': 'first\n𝄞ü needle here\r\nthird\nneedle needle\n', 'b/c.js': 'const NEEDLE = /\\d+/;\n', 'bin': 'needle\0', 'skip.log': 'needle', '.gitignore': '*.log',
    'bad.txt': Buffer.concat([Buffer.from([0xff, 0x20]), Buffer.from('needle')]) });
  const flat = async (args) => (await box.call('grep', args)).matches.map((m) => [m.path, m.line, m.column, m.text]);

  assert.deepEqual(await flat({ pattern: 'needle' }), [['a.txt', 2, 4, '𝄞ü needle here'], ['a.txt', 4, 0, 'needle needle'], ['bad.txt', 1, 2, '\ufffd needle']]);
  assert.deepEqual(await flat({ pattern: 'needle', caseSensitive: false, include: ['*.js'] }), [['b/c.js', 1, 6, 'const NEEDLE = /\\d+/;']]);
  assert.deepEqual(await flat({ pattern: '\\d+', literal: true }), [['b/c.js', 1, 16, 'const NEEDLE = /\\d+/;']]);
  assert.deepEqual(await flat({ pattern: '(?<!d)e(?=d)', path: 'a.txt', maxMatches: 1 }), [['a.txt', 2, 6, '𝄞ü needle here']]);
  assert.deepEqual(await flat({ pattern: '\\u00fc\\s', exclude: ['b'] }), [['a.txt', 2, 2, '𝄞ü needle here']]);
  assert.deepEqual(await flat({ pattern: 'needle', gitignore: false, include: ['*.log'] }), [['skip.log', 1, 0, 'needle']]);
  const around = await box.call('grep', { pattern: 'third', contextLines: 2 });

  assert.deepEqual([around.matches[0].before, around.matches[0].after], [['first', '𝄞ü needle here'], ['needle needle']]);
  const one = await box.call('grep', { pattern: 'needle', maxMatches: 1 });

  assert.deepEqual([one.matches.length, one.truncated], [1, true]);
  assert.equal((await box.call('grep', { pattern: 'e', maxCountPerFile: 1, path: 'a.txt' })).matches.length, 1);
  assert.equal((await box.call('grep', { pattern: 'needle' })).filesBinary, 1);
  for (const pattern of ['(', '[', '(?<n>a)(?<n>b)', 'a\nb', '\\C', '*'])
    assert.equal((await box.fails('EUNSUPPORTED_PATTERN', 'grep', { pattern })).field, 'pattern');
  // a pattern that would take for ever is given up
  fs.writeFileSync(box.file('evil'), `${'a'.repeat(40)}b\n`);
  const evil = await box.call('grep', { pattern: '^(a|a?)+$', path: 'evil' });

  assert.match(evil.note, /too many steps/);
});

// What is changed while a directory is watched for so long; late: the time was over before all of it was.
async function watched(t, watchDuration) {
  const box = await tools(t);
  let late = false, over = false;

  tree(box, { 'a/b/f': '', 'node_modules/x/y': '', '.gitignore': 'node_modules\n', 'gone': '' });
  const call = box.call('watchDirectory', { path: '.', recursive: true, watchDuration, debounce: 200 }, { progressToken: 0 }).finally(() => { over = true; });
  const heard = async (event) => {
    await until(() => over || box.progress.some((p) => p.message === event));
    late ||= over;
  };

  await until(() => box.progress.length);
  fs.writeFileSync(box.file('a/b/f'), '1');
  fs.appendFileSync(box.file('a/b/f'), '2');
  fs.writeFileSync(box.file('node_modules/x/y'), 'quiet');
  await heard('write a/b/f');
  fs.renameSync(box.file('a/b/f'), box.file('a/g'));
  fs.mkdirSync(box.file('new/deep/er'), { recursive: true });
  fs.writeFileSync(box.file('new/deep/er/h'), 'x');
  await heard('create new/deep/er/h');
  fs.renameSync(box.file('new'), box.file('moved'));
  fs.writeFileSync(box.file('moved/deep/i'), 'x');
  fs.rmSync(box.file('gone'));
  fs.chmodSync(box.file('a/g'), 0o600);
  fs.mkdirSync(box.file('a/node_modules'));
  await heard('create a/node_modules');
  fs.writeFileSync(box.file('a/node_modules/quiet'), 'x');
  return { box, result: await call, late };
}

test('watchDirectory: nested directories, renames, what is excluded, progress', async (t) => {
  const { box, result: { events, overflow, partial } } = await withLimit(4000, (ms) => watched(t, ms), ({ late }) => late);
  const told = events.map((e) => `${e.type} ${e.oldName ? `${e.oldName} > ` : ''}${e.name}`);

  assert.deepEqual([overflow, partial], [false, false]);
  for (const one of ['write a/b/f', 'rename a/b/f > a/g', 'create new', 'create new/deep', 'create new/deep/er', 'create new/deep/er/h', 'rename new > moved',
    'create moved/deep/i', 'remove gone', 'chmod a/g', 'create a/node_modules'])
    assert.equal(told.filter((e) => e === one).length, 1, `${one} in ${told.join(', ')}`);
  assert.equal(told.filter((e) => e.includes('quiet') || e.includes('x/y')).length, 0, told.join());
  assert.ok(told.indexOf('write a/b/f') < told.indexOf('rename a/b/f > a/g'));
  for (const e of events)
    assert.ok(Math.abs(e.timestamp - Date.now()) < 60000);
  assert.deepEqual(box.progress.map((p) => p.progressToken), box.progress.map(() => 0));
  assert.deepEqual(box.progress.slice(1).map((p) => p.progress), events.map((_, i) => i + 1), 'each event was told as it came');
});

// All of its threads: the one that reads the queue may be the last to stop.
const stopped = (pid) => procs.threadStatus(pid).every((of) => of.State.startsWith('T'));
// Directories that the process watches.
const watches = (pid) => procs.descriptorInfo(pid).reduce((n, info) => n + (info.match(/^inotify wd:/gm) ?? []).length, 0);

test('watchDirectory: many at once, an end by count, an overflow that is said, a cancelled one', async (t) => {
  const box = await tools(t);
  const limit = Number(fs.readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'));

  tree(box, { 'd/f': '' });
  const twelve = Array.from({ length: 12 }, () => box.call('watchDirectory', { path: 'd', watchDuration: 20000, maxEvents: 1 }));

  await until(() => watches(box.child.pid) === 12);
  assert.equal((await box.call('readFile', { path: 'd/f' })).content, '', 'others work meanwhile');
  fs.writeFileSync(box.file('d/g'), '');
  for (const { events, partial } of await Promise.all(twelve))
    assert.deepEqual([events.length, events[0].type, events[0].name, partial], [1, 'create', 'g', true]);

  const id = 'to-cancel';
  const cancelled = box.request('tools/call', { name: 'watchDirectory', arguments: { path: 'd', watchDuration: 60000 } }, {}, id);
  let answered = false;

  cancelled.then(() => { answered = true; }, () => {});
  await until(() => watches(box.child.pid) === 1);
  box.cancel(id);
  await until(() => watches(box.child.pid) === 0);
  await sleep(100);
  assert.equal(answered, false);
  await box.fails('ENOTDIR', 'watchDirectory', { path: 'd/f' });

  // more than the kernel keeps while nobody reads: the process is stopped meanwhile
  const flooded = async (watchDuration) => {
    const many = box.call('watchDirectory', { path: 'd', watchDuration, debounce: 1000 });

    await until(() => watches(box.child.pid) > 0);
    box.child.kill('SIGSTOP');
    await until(() => stopped(box.child.pid));
    const files = ['d/f', 'd/g'].map((name) => fs.openSync(box.file(name), 'w'));

    for (let i = 0; i < limit + 100; i++) // the kernel joins only messages that are the same twice
      fs.writeSync(files[i % 2], 'x');
    files.forEach((fd) => fs.closeSync(fd));
    box.child.kill('SIGCONT');
    return many;
  };
  const { events, overflow } = await withLimit(5000, flooded, (early) => !early.overflow, 3);

  assert.equal(overflow, true);
  assert.deepEqual(events.map((e) => e.type).sort(), ['overflow', 'write', 'write']);
});
