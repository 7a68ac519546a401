// SPDX-License-Identifier: Apache-2.0
// applyDiff takes patches as models write them, not only as git does; what may be meant in two ways is refused, and then says which.

import test from 'node:test';
import { strict as assert } from 'node:assert';
import fs from 'node:fs';
import path from 'node:path';
import { namesBelow } from '../lib/vanishing.mjs';
import { tools } from './builtin.mjs';

function write(root, files) {
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    fs.writeFileSync(path.join(root, name), text);
  }
}

const all = (root) => Object.fromEntries(namesBelow(root, (e) => e.isFile()).sort()
  .map((f) => [f, fs.readFileSync(path.join(root, f), 'utf8')]));
const stars = (...lines) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
const C = 'int f(void)\n{\n\treturn 1;\n}\n\nint g(void)\n{\n\treturn 1;\n}\n';

test('*** Begin Patch: files are added, updated, moved and deleted', async (t) => {
  const box = await tools(t);

  write(box.root, { 'src/a.c': C, 'old/name.txt': 'one\ntwo\nthree', 'gone.txt': 'x\ny\n', 'win.txt': 'a\r\nb\r\n' });
  const patch = stars('*** Add File: new/deep/n.txt', '+first', '+', '+last', '*** Update File: src/a.c', '@@ int g(void)', ' {', '-\treturn 1;', '+\treturn 2;',
    '*** Update File: old/name.txt', '*** Move to: new/name.txt', '@@', ' two', '-three', '+drei', '*** End of File',
    '*** Delete File: gone.txt', '*** Update File: win.txt', '@@', ' a', '-b', '+c', '+d');
  const dry = await box.call('applyDiff', { patch, dryRun: true });

  assert.equal(all(box.root)['src/a.c'], C);
  const { structuredContent: done, content: [{ text }] } = await box.raw('applyDiff', { patch });

  assert.deepEqual(done.files, dry.files);
  assert.deepEqual(all(box.root), { 'new/deep/n.txt': 'first\n\nlast\n', 'new/name.txt': 'one\ntwo\ndrei', 'src/a.c': C.replace(/1;\n}\n$/, '2;\n}\n'),
    'win.txt': 'a\r\nc\r\nd\r\n' });
  assert.equal(text, 'created new/deep/n.txt  +3 -0\nmodified src/a.c  +1 -1\nrenamed new/name.txt  +1 -1\ndeleted gone.txt  +0 -2\nmodified win.txt  +2 -1\n');
  assert.deepEqual(done.files[1].hunks, [{ oldStart: 0, oldLines: 2, newStart: 0, newLines: 2, patchLine: 7, fits: true, line: 7, offset: 0 }]);
});

test('a unified diff with counts and numbers that are off, without a/ and b/, in a fence', async (t) => {
  const box = await tools(t);

  write(box.root, { 'src/a.c': C, top: 'x\ny\n' });
  await box.call('applyDiff', { patch: 'Here it is:\n```diff\n--- src/a.c 2026-01-01 10:00:00\n+++ src/a.c 2026-01-02 10:00:00\n@@ -40,9 +40,2 @@\n int g(void)\n {\n'
    + '-\treturn 1;\n+\treturn 2;\n }\n\n--- top\n+++ top\n@@ @@\n x\n-y\n+z\n--- /dev/null\n+++ src/new.c\n@@ -0,0 +1,9 @@\n+n\n```\nDone.' });
  assert.deepEqual(all(box.root), { 'src/a.c': C.replace(/1;\n}\n$/, '2;\n}\n'), 'src/new.c': 'n\n', top: 'x\nz\n' });
  // lines that the counts leave out are not lost
  await box.call('applyDiff', { patch: 'diff --git a/top b/top\n--- a/top\n+++ b/top\n@@ -1,1 +1,2 @@\n x\n+1\n-z\n+2' });
  assert.equal(all(box.root).top, 'x\n1\n2\n');
});

test('what may be meant in two ways is refused, and says which file, hunk and lines; no file is changed', async (t) => {
  const box = await tools(t);
  const shown = async (patch, more) => (await box.raw('applyDiff', { patch, ...more })).content[0].text;

  write(box.root, { 'src/a.c': C, 'a.c': C, b: 'b\n' });
  const before = all(box.root);
  const b = ['*** Update File: b', '@@', '-b', '+c'];
  const hunk = ['@@', ' {', '-\treturn 1;', '+\treturn 2;'];
  const places = await box.fails('PATCH_AMBIGUOUS', 'applyDiff', { patch: stars(...b, '*** Update File: src/a.c', ...hunk) });

  assert.match(places.message, /^hunk 1 of src\/a\.c \(line 7 of the patch\) fits in more than one place: lines 2, 7\. /);
  assert.deepEqual(places.files.map((f) => [f.path, f.fits]), [['b', true], ['src/a.c', false]]);
  assert.deepEqual(places.files[1].hunks[0].candidates, [2, 7]);
  const names = '--- src/a.c\n+++ src/a.c\n@@ -3 +3 @@\n-\treturn 1;\n+\treturn 2;\n'.replace('@@ -3', '@@ -3,9');
  const which = await box.fails('PATCH_AMBIGUOUS', 'applyDiff', { patch: names });

  assert.match(which.message, /is it src\/a\.c or a\.c\?/);
  await box.fails('PATCH_MIXED', 'applyDiff', { patch: stars('*** Update File: src/a.c', '--- a/src/a.c', '+++ b/src/a.c', '@@ -3 +3 @@', '-x', '+y') });
  await box.fails('PATCH_CORRUPT', 'applyDiff', { patch: stars(...b).replace('*** End Patch', '') });
  await box.fails('EEXIST', 'applyDiff', { patch: stars('*** Add File: b', '+x') });
  await box.fails('EEXIST', 'applyDiff', { patch: stars('*** Update File: b', '*** Move to: a.c') });
  await box.fails('ENOENT', 'applyDiff', { patch: stars(...b, '*** Delete File: none') });
  assert.equal(await shown(stars(...b, '*** Update File: src/a.c', '@@ int g(void)', ' {', '-    return  1;', '+\treturn 2;', ' }')),
    'PATCH_MISMATCH: hunk 1 of src/a.c (line 7 of the patch) has no place: its lines do not stand there like this\n'
    + '[nothing was changed; 1 of 2 files would fit]\n'
    + 'hunk 1:\nthe same but for blanks:\n     2\t{\n     3\t\treturn 1;\n     4\t}\nthe same but for blanks:\n     7\t{\n     8\t\treturn 1;\n     9\t}\n');
  assert.deepEqual(all(box.root), before);
  // strip says which is meant
  await box.call('applyDiff', { patch: names, strip: 0 });
  assert.deepEqual(all(box.root), { ...before, 'src/a.c': C.replace('1', '2') });
});

test('policy binds every path of it, also where a file is moved to', async (t) => {
  const box = await tools(t, { policy: { write: ['src/**'], deny: ['*.key'] } });
  const move = (to) => stars('*** Update File: src/a.c', `*** Move to: ${to}`, '@@ int g(void)', '-\treturn 1;', '+\treturn 2;');

  write(box.root, { 'src/a.c': C, 'x.key': 'k\n', 'out.c': C });
  const before = all(box.root);

  await box.fails('APPROVAL_REQUIRED', 'applyDiff', { patch: move('out/a.c') });
  await box.fails('PATH_DENIED', 'applyDiff', { patch: move('src/b.key') });
  await box.fails('PATH_DENIED', 'applyDiff', { patch: stars('*** Delete File: x.key') });
  await box.fails('APPROVAL_REQUIRED', 'applyDiff', { patch: stars('*** Delete File: out.c') });
  await box.fails('PATCH_PATH', 'applyDiff', { patch: move('../a.c') });
  await box.fails('PATCH_PATH', 'applyDiff', { patch: stars('*** Add File: .git/hooks/x', '+x') });
  assert.deepEqual(all(box.root), before);
  await box.call('applyDiff', { patch: move('src/b.c') });
  assert.deepEqual(Object.keys(all(box.root)), ['out.c', 'src/b.c', 'x.key']);
});
