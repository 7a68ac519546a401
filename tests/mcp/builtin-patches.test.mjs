// SPDX-License-Identifier: Apache-2.0
// applyDiff: all files of a patch or none, what each hunk found, what policy says of the paths; and real trees beside git apply.

import test from 'node:test';
import { strict as assert } from 'node:assert';
import crypto from 'node:crypto';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { scratch, tools } from './builtin.mjs';

const ENV = { ...process.env, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', GIT_CEILING_DIRECTORIES: '/tmp' };
const git = (cwd, ...args) => execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'core.hooksPath=/dev/null', ...args],
  { cwd, env: ENV, maxBuffer: 1 << 28, stdio: ['pipe', 'pipe', 'pipe'] });

// Names, kinds, modes and contents of all below dir.
function tree(dir, at = '') {
  return fs.readdirSync(path.join(dir, at)).sort().filter((name) => at || name !== '.git').flatMap((name) => {
    const rel = path.join(at, name);
    const s = fs.lstatSync(path.join(dir, rel));

    if (s.isDirectory())
      return [`${rel}/`, ...tree(dir, rel)];
    const bytes = s.isSymbolicLink() ? fs.readlinkSync(path.join(dir, rel)) : fs.readFileSync(path.join(dir, rel));
    return [`${rel} ${s.isSymbolicLink() ? 'link' : (s.mode & 0o777).toString(8)} ${crypto.createHash('sha1').update(bytes).digest('hex')}`];
  });
}

const lines = (n, of = 'line') => Array.from({ length: n }, (_, i) => `${of} ${i + 1}\n`).join('');

function write(root, files) {
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    fs.writeFileSync(path.join(root, name), text);
  }
}

const CHANGE = '--- a/a.txt\n+++ b/a.txt\n@@ -2,3 +2,3 @@\n line 2\n-line 3\n+line three\n line 4\n';

test('a change, its dry run, and what is said of its hunks', async (t) => {
  const box = await tools(t);

  write(box.root, { 'a.txt': lines(9) });
  const before = tree(box.root);
  const dry = await box.call('applyDiff', { patch: CHANGE, dryRun: true });

  assert.deepEqual(tree(box.root), before);
  assert.equal(dry.applied, false);
  assert.equal(dry.dryRun, true);
  assert.equal(dry.diffstat, 'a.txt | +1 -1\n');
  const done = await box.call('applyDiff', { patch: CHANGE });

  assert.equal(done.applied, true);
  assert.deepEqual(done.files, dry.files);
  assert.deepEqual(done.files[0].hunks, [{ oldStart: 2, oldLines: 3, newStart: 2, newLines: 3, patchLine: 3, fits: true, line: 2, offset: 0 }]);
  assert.equal(fs.readFileSync(box.file('a.txt'), 'utf8'), lines(9).replace('line 3', 'line three'));
  const again = await box.fails('PATCH_MISMATCH', 'applyDiff', { patch: CHANGE });

  assert.equal(again.files[0].hunks[0].fits, false);
});

test('one hunk without a place: no file is changed', async (t) => {
  const box = await tools(t);

  write(box.root, { 'a.txt': lines(9), 'b.txt': lines(30), 'gone.txt': 'x\n' });
  const before = tree(box.root);
  const patch = `${CHANGE}diff --git a/new/deep/n.txt b/new/deep/n.txt\nnew file mode 100755\n--- /dev/null\n+++ b/new/deep/n.txt\n@@ -0,0 +1 @@\n+n\n`
    + 'diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n'
    + '--- a/b.txt\n+++ b/b.txt\n@@ -3,3 +3,3 @@\n line 5\n-line 6\n+six\n line 7\n@@ -20,3 +20,3 @@\n line 20\n-line twenty one\n+x\n line 22\n';
  const e = await box.fails('PATCH_MISMATCH', 'applyDiff', { patch });

  assert.deepEqual(tree(box.root), before);
  assert.deepEqual(e.files.map((f) => [f.path, f.status, f.fits]), [['a.txt', 'modified', true], ['new/deep/n.txt', 'created', true],
    ['gone.txt', 'deleted', true], ['b.txt', 'modified', false]]);
  assert.deepEqual(e.files[3].hunks.map((h) => [h.fits, h.offset]), [[true, 2], [false, undefined]]);
  const none = await box.call('applyDiff', { patch, paths: ['nothing/**'] });

  assert.deepEqual([none.applied, none.filesChanged], [false, 0]);
  assert.ok(none.files.every((f) => f.status === 'leftOut'));
  const some = await box.call('applyDiff', { patch, paths: ['new', '*.txt', 'nothing/**'].filter((p) => p !== '*.txt') });

  assert.deepEqual(some.files.map((f) => f.status), ['leftOut', 'created', 'leftOut', 'leftOut']);
  assert.equal(fs.statSync(box.file('new/deep/n.txt')).mode & 0o100, 0o100);
  assert.equal(some.filesChanged, 1);
});

test('what fails while files are exchanged is undone', async (t) => {
  const box = await tools(t);
  const make = (name) => `diff --git a/${name} b/${name}\nnew file mode 100644\n--- /dev/null\n+++ b/${name}\n@@ -0,0 +1 @@\n+n\n`;

  write(box.root, { 'a.txt': lines(9), 'gone/g': 'x\n' });
  const before = tree(box.root);

  await box.fails('EEXIST', 'applyDiff', { // the directory for the last stands where the file before it should be
    patch: `${CHANGE}diff --git a/gone/g b/gone/g\ndeleted file mode 100644\n--- a/gone/g\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n`
      + make('one') + make('deep/er/two') + make('x') + make('x/y'),
  });
  assert.deepEqual(tree(box.root), before);
});

test('refused by name', async (t) => {
  const box = await tools(t);
  const one = (name) => `--- a/${name}\n+++ b/${name}\n@@ -1 +1 @@\n-x\n+y\n`;
  const rows = [
    ['PATCH_EMPTY', 'hello\n'],
    ['PATCH_EMPTY', ''],
    ['PATCH_CORRUPT', CHANGE.replace(' line 4', 'line 4')],
    ['PATCH_CORRUPT', '@@ -1 +1 @@\n-x\n+y\n'],
    ['PATCH_PATH', one('../up')],
    ['PATCH_PATH', one('.git/config')],
    ['PATCH_PATH', one('d/.GIT/hooks/x')],
    ['ENOENT', one('absent')],
    ['EISDIR', one('dir')],
    ['OUTSIDE_ROOTS', one('out/passwd')],
    ['EEXIST', '--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n'],
    ['PATCH_BINARY', 'diff --git a/f b/f\nindex 1..2 100644\nBinary files a/f and b/f differ\n'],
    ['PATCH_MODE', 'diff --git a/f b/f\nold mode 100644\nnew mode 160000\n'],
    ['PATCH_MISMATCH', 'diff --git a/link b/link\nindex 1..2 100644\n--- a/link\n+++ b/link\n@@ -1 +1 @@\n-f\n\\ No newline at end of file\n+g\n\\ No newline at end of file\n'],
  ];

  write(box.root, { f: 'x\n', 'dir/x': 'x\n' });
  fs.symlinkSync('/etc', box.file('out'));
  fs.symlinkSync('f', box.file('link'));
  const before = tree(box.root);

  for (const [code, patch] of rows)
    await box.fails(code, 'applyDiff', { patch });
  assert.deepEqual(tree(box.root), before);
});

test('links, modes, renames, and what a file keeps', async (t) => {
  const box = await tools(t);

  write(box.root, { 'a/old.txt': lines(20), run: 'x\n', only: 'y\n' });
  fs.chmodSync(box.file('a/old.txt'), 0o640);
  fs.symlinkSync('a', box.file('link'));
  await box.call('applyDiff', {
    patch: 'diff --git a/a/old.txt b/b/new.txt\nsimilarity index 90%\nrename from a/old.txt\nrename to b/new.txt\n--- a/a/old.txt\n+++ b/b/new.txt\n'
      + '@@ -1,3 +1,4 @@\n+line 0\n line 1\n line 2\n line 3\n'
      + 'diff --git a/run b/run\nold mode 100644\nnew mode 100755\n'
      + 'diff --git a/link b/link\nindex 2e65efe..63d8dbd 120000\n--- a/link\n+++ b/link\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n'
      + 'diff --git a/only b/copy\nsimilarity index 100%\ncopy from only\ncopy to copy\n',
  });
  assert.equal(fs.existsSync(box.file('a')), false, 'a directory that the patch emptied');
  assert.equal(fs.readFileSync(box.file('b/new.txt'), 'utf8'), `line 0\n${lines(20)}`);
  assert.equal(fs.statSync(box.file('run')).mode & 0o111, 0o111 & ~process.umask());
  assert.equal(fs.readlinkSync(box.file('link')), 'b');
  assert.deepEqual(fs.readdirSync(box.root).sort(), ['b', 'copy', 'link', 'only', 'run']);
});

test('two names are exchanged', async (t) => {
  const box = await tools(t);

  write(box.root, { a: 'A\n', b: 'B\n' });
  await box.call('applyDiff', { patch: 'diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n'
    + 'diff --git a/b b/a\nsimilarity index 100%\nrename from b\nrename to a\n' });
  assert.equal(fs.readFileSync(box.file('a'), 'utf8') + fs.readFileSync(box.file('b'), 'utf8'), 'B\nA\n');
});

test('paths outside of the globs are asked for by name, denied ones refused', async (t) => {
  const policy = { write: ['src/**'], deny: ['*.key'] };
  const box = await tools(t, { policy }, { elicitation: { form: {} } });
  const mute = await tools(t, { policy });
  const patch = CHANGE.replaceAll('a.txt', 'doc/a.txt') + CHANGE.replaceAll('a.txt', 'src/a.txt');

  for (const b of [box, mute])
    write(b.root, { 'doc/a.txt': lines(9), 'src/a.txt': lines(9), 'src/x.key': lines(9) });
  const before = tree(box.root);
  const asked = await box.raw('applyDiff', { patch });

  assert.equal(asked.resultType, 'input_required');
  const [[key, question]] = Object.entries(asked.inputRequests);

  assert.equal(question.method, 'elicitation/create');
  assert.deepEqual(question.params._meta.acpd.permission.paths, ['doc/a.txt']);
  assert.deepEqual(tree(box.root), before);
  await box.raw('applyDiff', { patch }, { requestState: asked.requestState,
    inputResponses: { [key]: { action: 'accept', content: { approve: true } } } });
  assert.match(fs.readFileSync(box.file('doc/a.txt'), 'utf8'), /line three/);
  assert.match(fs.readFileSync(box.file('src/a.txt'), 'utf8'), /line three/);

  await mute.fails('APPROVAL_REQUIRED', 'applyDiff', { patch });
  await mute.fails('PATH_DENIED', 'applyDiff', { patch: CHANGE.replaceAll('a.txt', 'src/x.key') });
  assert.match(fs.readFileSync(mute.file('src/a.txt'), 'utf8'), /line 3\n/);
});

test('a dry run of the whole box changes nothing', async (t) => {
  const box = await tools(t, { dryRun: true });

  write(box.root, { 'a.txt': lines(9) });
  const before = tree(box.root);

  assert.equal((await box.call('applyDiff', { patch: CHANGE })).applied, false);
  assert.deepEqual(tree(box.root), before);
});

// A random number in [0, n), the same in every run.
function random(seed) {
  let s = seed;

  return (n) => {
    s = (Math.imul(s, 1103515245) + 12345) >>> 0;
    return (s >>> 8) % n;
  };
}

function mutate(dir, r) {
  const files = fs.readdirSync(dir).filter((f) => f !== '.git');

  for (const f of files) {
    const at = path.join(dir, f);

    switch (r(7)) {
      case 0: fs.rmSync(at); break;
      case 1: fs.mkdirSync(path.join(dir, 'sub'), { recursive: true }); fs.renameSync(at, path.join(dir, 'sub', f)); break;
      case 2: fs.chmodSync(at, 0o755); break;
      case 3: fs.writeFileSync(at, Buffer.concat([Buffer.alloc(1), crypto.createHash('sha512').update(f + r(99)).digest()])); break;
      case 4: fs.rmSync(at); fs.symlinkSync(`to-${f}`, at); break;
      default: {
        const text = fs.readFileSync(at, 'latin1').split('\n');

        for (let i = 0; i < 1 + r(4); i++)
          text.splice(r(text.length), r(3), ...Array.from({ length: r(3) }, (_, k) => `new ${r(9)} ${k}`));
        fs.writeFileSync(at, text.join('\n'), 'latin1');
      }
    }
  }
  fs.writeFileSync(path.join(dir, `added ${r(9)} é`), 'added\n');
}

test('trees of git, as git apply changes them', async (t) => {
  const box = await tools(t);
  const other = scratch();
  let taken = 0, refused = 0;

  t.after(() => fs.rmSync(other, { recursive: true, force: true }));
  for (let seed = 1; seed <= 40; seed++) {
    const r = random(seed), repo = path.join(other, 'repo'), ours = path.join(box.root, 't'), theirs = path.join(other, 't');

    for (const dir of [repo, ours, theirs])
      fs.rmSync(dir, { recursive: true, force: true });
    fs.mkdirSync(repo);
    write(repo, Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`f${i}`, lines(5 + r(40), `f${i}`)])));
    git(repo, 'init', '-q', '.');
    git(repo, 'add', '-A');
    git(repo, 'commit', '-qm', '1');
    fs.cpSync(repo, theirs, { recursive: true, filter: (f) => !f.endsWith('.git') });
    if (seed % 3 === 0) // the tree has gone on meanwhile
      fs.writeFileSync(path.join(theirs, `f${r(6)}`), lines(3 + r(40), `f${r(6)}`));
    fs.cpSync(theirs, ours, { recursive: true });
    mutate(repo, r);
    git(repo, 'add', '-A');
    const patch = git(repo, 'diff', '--cached', '--binary', ...(seed % 2 ? ['-M', '-C'] : ['--no-renames'])).toString('latin1');

    if (!/^[\x00-\x7f]*$/.test(patch))
      continue; // no text for JSON
    const took = spawnSync('git', ['apply', '-'], { cwd: theirs, env: ENV, input: patch }).status === 0;
    const { structuredContent: s } = await box.raw('applyDiff', { patch: patch.replaceAll(/^(rename|copy) (from|to) (?!")/gm, '$1 $2 t/')
      .replaceAll(/^(rename|copy) (from|to) "/gm, '$1 $2 "t/').replaceAll(/([ "])([ab])\/(?=f\d|sub|added)/g, '$1$2/t/') });

    assert.equal(s.applied === true, took, `seed ${seed}: ${JSON.stringify(s.error)}`);
    assert.deepEqual(tree(ours), tree(theirs), `seed ${seed}`);
    taken += took;
    refused += !took;
  }
  assert.ok(taken > 20 && refused > 3, `${taken} taken, ${refused} refused`);
});
