// SPDX-License-Identifier: Apache-2.0
// Several edits in one call, the places that are most like a text that is not there; what a watch says at its end; parameters of the
// sandbox tools that clients bring with them.

import fs from 'node:fs';
import os from 'node:os';
import test from 'node:test';
import { strict as assert } from 'node:assert';
import { Tools, tools } from './builtin.mjs';

test('editFile: several edits, one after the other, all or none', async (t) => {
  const box = await tools(t);
  const text = () => fs.readFileSync(box.file('a'), 'utf8');
  const set = (content) => fs.writeFileSync(box.file('a'), content);
  const edit = (oldText, newText, more) => ({ oldText, newText, ...more });

  set('one\ntwo\nthree\ntwo\n');
  const done = await box.call('editFile', { path: 'a', edits: [edit('one', 'eins'), edit('two', 'zwei', { replaceAll: true }), edit('eins\nzwei', 'first')] });

  assert.deepEqual([text(), done.replacements, done.line, done.size], ['first\nthree\nzwei\n', 4, 1, 17]);
  // what does not fit is named, and nothing is written
  for (const [edits, code, field] of [
    [[edit('first', 'x'), edit('none', 'y')], 'NO_MATCH', 'edits[1].oldText'],
    [[edit('first', 'three'), edit('three', 'y')], 'NOT_UNIQUE', 'edits[1].oldText'],
    [[edit('first', 'x'), edit('zwei', 'zwei')], 'NO_CHANGE', 'edits[1].newText'],
    [[edit('first', 'x'), edit('', 'y')], 'INVALID_ARGUMENT', 'edits[1].oldText'],
    [[], 'INVALID_ARGUMENT', 'edits'],
    [[{ oldText: 'first' }], 'INVALID_ARGUMENT', 'edits[0].newText'],
  ]) {
    assert.equal((await box.fails(code, 'editFile', { path: 'a', edits })).field, field);
    assert.equal(text(), 'first\nthree\nzwei\n');
  }
  assert.equal((await box.fails('INVALID_ARGUMENT', 'editFile', { path: 'a', oldText: 'a', newText: 'b', edits: [edit('first', 'x')] })).field, 'edits');
  assert.equal((await box.fails('INVALID_ARGUMENT', 'editFile', { path: 'a', newText: 'b' })).field, 'oldText');
  set('a\r\nb\r\n');
  await box.call('editFile', { path: 'a', edits: [edit('a\nb', 'c\nd'), edit('c\nd\n', 'e\n')] });
  assert.equal(text(), 'e\r\n');
  assert.equal((await box.call('editFile', { path: 'a', edits: [edit('e', 'f')], dryRun: true })).dryRun, true);
  assert.equal(text(), 'e\r\n');
});

test('editFile: NO_MATCH shows the places that are most like it, as they are', async (t) => {
  const box = await tools(t);
  const noMatch = async (oldText) => {
    const { content: [{ text }], structuredContent: { error } } = await box.raw('editFile', { path: 'a', oldText, newText: 'x' });

    assert.equal(error.code, 'NO_MATCH');
    return { text, nearest: error.nearest };
  };

  fs.writeFileSync(box.file('a'), 'int f(void)\n{\n\tint a = 1;\n\treturn a;\n}\n\nint g(void)\n{\n\tint a = 2;\n\treturn a;\n}\n');
  const { text, nearest } = await noMatch('int g(void)\n{\n    int a = 3;\n    return a;\n}\n');

  assert.deepEqual(nearest[0], { line: 7, lines: 5, alike: 4, text: 'int g(void)\n{\n\tint a = 2;\n\treturn a;\n}' });
  assert.deepEqual(nearest[1], { line: 1, lines: 5, alike: 3, text: 'int f(void)\n{\n\tint a = 1;\n\treturn a;\n}' });
  assert.match(text, /^NO_MATCH: .*\nfield: oldText\nmost like it, 4 of its lines:\n {5}7\tint g\(void\)\n {5}8\t\{\n {5}9\t\tint a = 2;\n/);
  // one line, and only a part of one: where it is the same but for blanks, or nearly the same
  const blanks = await noMatch('  int a = 2;');

  assert.deepEqual(blanks.nearest, [{ line: 9, lines: 1, alike: 1, differs: 'blanks', text: '\tint a = 2;' },
    { line: 3, lines: 1, alike: 0, percent: blanks.nearest[1].percent, text: '\tint a = 1;' }]);
  assert.match(blanks.text, /\nthe same but for blanks:\n {5}9\t\tint a = 2;\nmost like it, \d+ %:\n {5}3\t/);
  assert.deepEqual((await noMatch('return  a')).nearest.map((p) => [p.line, p.differs]), [[4, 'blanks'], [10, 'blanks']]);
  assert.equal((await noMatch('retrun a;')).nearest[0].line, 4);
  assert.equal((await noMatch('int g(int)')).nearest[0].text, 'int g(void)');
  assert.equal((await noMatch('int g(void)\n{\n  int a = 2;\n')).nearest[0].differs, 'blanks');
  assert.equal((await noMatch('nothing of it')).nearest, undefined);
  fs.writeFileSync(box.file('a'), 'x\n'.repeat(2 << 20));
  assert.equal((await noMatch('y')).nearest, undefined);
});

test('watchDirectory: the end of the directory itself is told, and so is what came beyond the cap', async (t) => {
  const box = await tools(t);
  const started = async (args) => {
    const before = box.progress.length;
    const answer = box.call('watchDirectory', { watchDuration: 60_000, debounce: 0, ...args }, { progressToken: `w${before}` });

    while (!box.progress.some((p) => p.progressToken === `w${before}`))
      await new Promise((done) => setTimeout(done, 5));
    return answer;
  };
  const when = async (args, change) => {
    const before = box.progress.length;
    const answer = started(args);

    while (box.progress.length === before)
      await new Promise((done) => setTimeout(done, 5));
    change();
    return answer;
  };

  for (const recursive of [false, true]) {
    fs.mkdirSync(box.file('d/e'), { recursive: true });
    const { events, partial } = await when({ path: 'd', recursive }, () => fs.rmSync(box.file('d'), { recursive: true }));

    assert.deepEqual(events.map(({ type, name }) => [type, name]), [['remove', 'e'], ['remove', '']]);
    assert.equal(partial, true);
  }
  fs.mkdirSync(box.file('d'));
  const many = (n) => () => {
    for (let i = 0; i < n; i++)
      fs.mkdirSync(box.file(`d/${n}-${i}`));
  };
  const capped = await when({ path: 'd', maxEvents: 3 }, many(5));

  assert.deepEqual([capped.events.length, capped.overflow], [3, true]);
});

test('an unmodified client of a sandbox: it lists "/", and the id is the same wherever it asks', async (t) => {
  const box = await tools(t);
  const other = await Tools.start(box.root);

  t.after(() => other.stop());
  const { files, path } = await box.call('listFiles', { path: '/' });

  assert.deepEqual([path, files.map((f) => [f.path, f.isDirectory, f.type])], ['/', [[box.root, true, 'dir']]]);
  assert.equal((await box.call('listFiles', { path: files[0].path })).files.length, 0);
  await box.fails('OUTSIDE_ROOTS', 'listFiles', { path: os.tmpdir() });
  const { sandboxId } = await box.call('createSandbox', { metadata: { a: 'b' }, timeoutMS: 1000 });

  assert.equal((await other.call('createSandbox')).sandboxId, sandboxId);
  assert.equal((await other.call('checkFileExists', { sandboxId, path: '.' })).exists, true);
});
