// SPDX-License-Identifier: Apache-2.0
// Where an archive is unpacked: a DEST that somebody prepared with links, pipes and names that are taken, a DEST that is
// no directory, parents of others, and what the command says when it is called wrongly.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before, describe } from 'node:test';
import { spawnSync } from 'node:child_process';
import { FORMATS, f, l, written, x } from '../../archives/cases/common.mjs';
import { Box, LAYOUTS, NOBODY, endFaults, extract, temporary } from '../../archives/run.mjs';
import { scan } from '../../archives/tree.mjs';
import { patience } from '../../lib/rawws.mjs';
import { acpdSync } from '../run.mjs';

const isRoot = process.geteuid() === 0;
let root;

before(() => {
  root = temporary('acpd-places-');
});
after(() => {
  fs.rmSync(root, { recursive: true, force: true });
});

function newBox(layout) {
  const dir = fs.mkdtempSync(path.join(root, 'box-'));

  fs.chmodSync(dir, 0o755);
  return new Box(dir, layout);
}

function pack(box, entries, format = 'ustar') {
  const archive = path.join(box.dir, 'archive');

  fs.writeFileSync(archive, FORMATS[format](entries));
  return archive;
}

// What stands in DEST before: made as its owner would have made it.
function prepare(box, make) {
  make(box.dest, box);
  for (const { at } of scan(box.dest).values())
    fs.lchownSync(at, box.uid, box.uid);
}

const OK = { file: 'ok', data: 'ok' };
const FOREIGN = ['CONFLICT_FOREIGN', 'NOT_DIRECTORY'];

// [name, what stands there, what the archive holds beside "ok", the name that is skipped, what is written beside "ok"]
const PLACES = [
  ['a link to a directory outside', (d) => fs.symlinkSync('../outside/directory', `${d}/d`), [{ file: 'd/file', data: 'x' }, { file: 'd/pwned', data: 'x' }], 'd', {}],
  ['a link to a directory outside, where a directory is wanted', (d) => fs.symlinkSync('../outside/directory', `${d}/d`), [{ dir: 'd', mode: 0o700 }], 'd', {}],
  ['an absolute link to a directory outside', (d, box) => fs.symlinkSync(`${box.far}/directory`, `${d}/d`), [{ file: 'd/pwned', data: 'x' }], 'd', {}],
  ['a link to a file outside', (d) => fs.symlinkSync('../outside/file', `${d}/f`), [{ file: 'f', data: 'x' }], 'f', {}],
  ['a dangling link that leads outside', (d) => fs.symlinkSync('../outside/new', `${d}/f`), [{ file: 'f', data: 'x' }], 'f', {}],
  ['a link deep inside', (d) => {
    fs.mkdirSync(`${d}/a/b`, { recursive: true });
    fs.symlinkSync('../../../outside', `${d}/a/b/c`);
  }, [{ file: 'a/b/c/pwned', data: 'x' }, { file: 'a/b/e', data: 'e' }], 'a/b/c', { 'a/b/e': f('e') }],
  ['a link out, where the archive has a link', (d) => fs.symlinkSync('../outside', `${d}/l`), [{ link: 'l', to: 'ok' }], 'l', {}],
  ['a link to a directory inside', (d) => fs.symlinkSync('zz-kept', `${d}/d`), [{ file: 'd/new', data: 'x' }], 'd', {}],
  ['a pipe where a file is wanted', (d) => spawnSync('mkfifo', [`${d}/f`]), [{ file: 'f', data: 'x'.repeat(100000) }], 'f', {}],
  ['a pipe where a directory is wanted', (d) => spawnSync('mkfifo', [`${d}/d`]), [{ file: 'd/f', data: 'x' }], 'd', {}],
  ['a file where a directory is wanted', (d) => fs.writeFileSync(`${d}/d`, 'mine'), [{ file: 'd/f', data: 'x' }], 'd', {}],
  ['a directory where a file is wanted', (d) => fs.mkdirSync(`${d}/f/g`, { recursive: true }), [{ file: 'f', data: 'x' }], 'f', {}],
  ['another file', (d) => fs.writeFileSync(`${d}/f`, 'mine'), [{ file: 'f', data: 'x' }], 'f', {}],
  ['a second name of a file outside', (d, box) => fs.linkSync(`${box.parent}/outside/file`, `${d}/f`), [{ file: 'f', data: 'x' }], 'f', {}],
  ['the same file', (d) => fs.writeFileSync(`${d}/f`, 'same', { mode: 0o644 }), [{ file: 'f', data: 'same' }], undefined, {}],
  ['the same directory', (d) => fs.mkdirSync(`${d}/d`), [{ dir: 'd' }, { file: 'd/run', data: '#!', mode: 0o755 }], undefined, { 'd/run': x('#!') }],
  ['the same link', (d) => fs.symlinkSync('ok', `${d}/l`), [{ link: 'l', to: 'ok' }], undefined, {}],
];

for (const layout of LAYOUTS.filter((one) => one.filled)) {
  for (const [name, make, entries, skipped, tree] of PLACES) {
    test(`in DEST stands ${name} (${layout.name})`, { skip: layout.skip }, async (t) => {
      const box = newBox(layout);

      t.after(() => box.remove());
      prepare(box, make);
      const archive = pack(box, [OK, ...entries]);
      box.mark();
      const r = await extract(archive, box.dest, box.args);

      assert.deepEqual(endFaults(r), [], r.stdout + r.stderr);
      assert.equal(r.code, 0, r.stdout);
      // A directory that gets new entries has a new time.
      const faults = box.writtenFaults({ ok: f('ok'), ...tree }).filter((text) => !/^lost or changed: \S+ dir /.test(text));
      assert.deepEqual([...faults, ...box.outsideFaults()], []);
      const told = r.result.done.skipped ?? [];
      if (skipped === undefined)
        assert.deepEqual(told, []);
      else
        assert.ok(told.some((s) => (s.path === skipped || s.path.startsWith(`${skipped}/`)) && FOREIGN.includes(s.reason)), JSON.stringify(told));
    });
  }
}

// Staging directories that somebody else made, with what he would like a later run to do.
const FORGED = ['0123456789abcdef', 'ffffffffffffffff'];
const wishes = (box) => ({
  intent: `{"target":"${box.far}","move":[["tree/pwned","../outside/pwned"]]}\nmove tree/pwned ../outside/pwned\nremove ../outside/file\ncommit\n`,
  'tree/pwned': 'pwned',
});

for (const layout of LAYOUTS.filter((one) => one.filled || one.parent === NOBODY)) {
  for (const [name, make] of [
    ['directories with an intent', (at, box) => {
      for (const [file, data] of Object.entries(wishes(box))) {
        fs.mkdirSync(path.dirname(`${at}/${file}`), { recursive: true });
        fs.writeFileSync(`${at}/${file}`, data);
      }
    }],
    ['links outside', (at) => fs.symlinkSync('../outside/directory', at)],
    ['directories with links outside', (at, box) => {
      fs.mkdirSync(at);
      fs.symlinkSync(box.far, `${at}/tree`);
      fs.symlinkSync(`${box.far}/file`, `${at}/intent`);
    }],
    ['files', (at) => fs.writeFileSync(at, 'no directory')],
  ]) {
    test(`staging directories that are ${name} (${layout.name})`, { skip: layout.skip }, async (t) => {
      const box = newBox(layout);

      t.after(() => box.remove());
      for (const top of [box.parent, ...(layout.filled ? [box.dest] : [])])
        FORGED.forEach((hex) => make(`${top}/.acpd-stage-${hex}`, box));
      for (const { at } of scan(box.parent).values()) {
        if (at.includes('.acpd-stage-'))
          fs.lchownSync(at, box.uid, box.uid);
      }
      const archive = pack(box, [OK, { file: 'd/f', data: 'x' }]);

      box.mark();
      const r = await extract(archive, box.dest, box.args);
      const faults = box.outsideFaults().filter((text) => !text.startsWith('beside DEST stand now'));

      assert.ok([0, 1, 3].includes(r.code) && !r.late, `exit ${r.code ?? r.signal}`);
      assert.deepEqual(faults, [], r.stdout + r.stderr);
      if (r.code === 0) {
        assert.equal(fs.readFileSync(`${box.dest}/ok`, 'utf8'), 'ok');
        assert.ok(!fs.existsSync(`${box.dest}/pwned`));
      }
    });
  }
}

// A DEST that is no directory: no success, and all is as it was.
const NOT_DIRECTORIES = [
  ['a link to a directory outside', (box) => fs.symlinkSync('outside/directory', box.dest)],
  ['a link to an absolute directory', (box) => fs.symlinkSync(`${box.far}/directory`, box.dest)],
  ['a dangling link', (box) => fs.symlinkSync('outside/new', box.dest)],
  ['a file', (box) => fs.writeFileSync(box.dest, 'a file')],
  ['a pipe', (box) => spawnSync('mkfifo', [box.dest])],
];

for (const layout of LAYOUTS.filter((one) => !one.filled)) {
  for (const [name, make] of NOT_DIRECTORIES) {
    test(`DEST is ${name} (${layout.name})`, { skip: layout.skip }, async (t) => {
      const box = newBox(layout);

      t.after(() => box.remove());
      make(box);
      const archive = pack(box, [OK]);
      const before = fs.lstatSync(box.dest, { bigint: true });

      box.markOutside();
      const r = await extract(archive, box.dest, box.args);

      assert.ok([1, 2, 3].includes(r.code) && !r.late, `exit ${r.code ?? r.signal}: ${r.stdout}`);
      const reason = (r.result?.refused ?? r.result?.failed)?.reason;
      assert.match(String(reason), /^[A-Z_]+$/);
      assert.deepEqual(box.outsideFaults(), []);
      const now = fs.lstatSync(box.dest, { bigint: true });
      assert.deepEqual([now.ino, now.mode, now.size, now.mtimeNs], [before.ino, before.mode, before.size, before.mtimeNs]);
    });
  }
}

describe('as root, for another user', { skip: !isRoot && 'needs root' }, () => {
  const other = NOBODY - 1;
  // [name, owner and mode of the parent, whether it can be written there]
  for (const [name, owner, mode, works] of [
    ['of another user', other, 0o755, false],
    ['of another user, writable by all', other, 0o777, true],
    ['of another user, sticky', other, 0o1777, true],
    ['of root, writable by all', 0, 0o777, true],
    ['of root, sticky', 0, 0o1777, true],
    ['of root, closed', 0, 0o700, undefined],
  ]) {
    test(`a parent ${name}`, async (t) => {
      const box = newBox(LAYOUTS.find((one) => one.name === 'uid'));

      t.after(() => box.remove());
      fs.chownSync(box.parent, owner, owner);
      fs.chmodSync(box.parent, mode);
      const archive = pack(box, [OK, { file: 'd/f', data: 'x' }]);

      box.mark();
      const r = await extract(archive, box.dest, box.args);
      if (works !== undefined)
        assert.equal(r.code, works ? 0 : 1, r.stdout + r.stderr);
      assert.deepEqual([...(r.code === 0 ? box.writtenFaults({ ok: f('ok'), 'd/f': f('x') }) : box.unchangedFaults()), ...box.outsideFaults()], []);
      if (r.code !== 0)
        assert.match(r.result.failed.reason, /^[A-Z_]+$/);
    });
  }

  test('an archive that only root may read is read before anything is given up', async (t) => {
    const box = newBox(LAYOUTS.find((one) => one.name === 'uid'));

    t.after(() => box.remove());
    const archive = pack(box, [OK]);
    fs.chmodSync(archive, 0o600);
    box.mark();
    const r = await extract(archive, box.dest, box.args);

    assert.equal(r.code, 0, r.stdout + r.stderr);
    assert.deepEqual([...box.writtenFaults({ ok: f('ok') }), ...box.outsideFaults()], []);
  });
});

test('without --json the reason, the name and a message are on standard error; nothing else is said', async (t) => {
  const box = newBox(LAYOUTS[0]);

  t.after(() => box.remove());
  const bad = await extract(pack(box.mark(), [OK, { file: 'a/../../x', data: 'x' }]), box.dest, [], { json: false });
  assert.deepEqual([bad.code, bad.stdout], [3, '']);
  assert.match(bad.stderr, /NAME_DOTDOT/);
  assert.match(bad.stderr, /a\/\.\.\/\.\.\/x/);
  assert.ok(!fs.existsSync(box.dest));

  const good = await extract(pack(box, [OK, { link: 'l', to: 'ok' }]), box.dest, [], { json: false });
  assert.deepEqual([good.code, good.stderr], [0, '']);
  assert.deepEqual(box.writtenFaults(written({ ok: f('ok'), l: l('ok') }).trees[0]), []);
});

test('a name with control characters is not printed as it is', async (t) => {
  const box = newBox(LAYOUTS[0]);

  t.after(() => box.remove());
  for (const json of [false, true]) {
    const r = await extract(pack(box.mark(), [{ file: 'a\x1b[2J\x07b', data: 'x' }]), box.dest, [], { json });

    assert.equal(r.code, 3);
    assert.doesNotMatch(r.stdout + r.stderr, /[\x00-\x09\x0b-\x1f\x7f]/);
  }
});

test('wrong calls: exit 2; an ARCHIVE that is not there, or no file: exit 1, nothing is made', async (t) => {
  const box = newBox(LAYOUTS[0]);

  t.after(() => box.remove());
  const archive = pack(box.mark(), [OK]);
  const call = (...args) => acpdSync(['archive', 'extract', ...args], { encoding: 'buffer', timeout: patience(20000) });

  for (const args of [[], [archive], [archive, box.dest, 'more'], [archive, box.dest, '--uid'], [archive, box.dest, '--uid', 'nobody!'],
    [archive, box.dest, '--uid', '-1'], [archive, box.dest, '--uid', '4294967295'], [archive, box.dest, '--strip'], [archive, box.dest, '--strip', '-1'],
    [archive, box.dest, '--strip', '129'], [archive, box.dest, '--strip', 'Auto']]) {
    const r = call(...args);

    assert.equal(r.status, 2, `${args.join(' ')}: ${r.stderr}`);
    assert.equal(r.stderr.toString().trimEnd().split('\n').length, 1, r.stderr.toString());
  }
  for (const none of [`${box.dir}/nothing`, box.dir, '/dev/null/x']) {
    const r = call(none, box.dest, '--json');

    assert.equal(r.status, 1, `${none}: ${r.stdout}`);
  }
  assert.ok(!fs.existsSync(box.dest));
  assert.deepEqual(box.outsideFaults(), []);
});
