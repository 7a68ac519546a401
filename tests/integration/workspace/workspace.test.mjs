// SPDX-License-Identifier: Apache-2.0
// Workspaces from archives over ACP: session/new, session/load and _acpd/workspace/materialize. What is refused has no effect;
// what is written is exactly that, and is told.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { FORMATS } from '../../archives/cases/common.mjs';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import {
  PACK, archiveOf, assertNothingLeft, look, manifestDigest, newCwd, skill, treeOf, upload,
} from '../../lib/workspace.mjs';

let d, c;

before(async () => {
  d = await Daemon.start({ harnesses: [{ id: 'copilot-like', quirks: 'copilot' }] });
  c = await d.client();
});
after(() => endInOrder(d, c));

const TREE = {
  'src/a.txt': 'hello\n', 'run.sh': { data: '#!/bin/sh\necho hi\n', mode: 0o755 }, link: { link: 'src/a.txt' }, 'deep/er/b.bin': Buffer.from([0, 1, 255, 10]),
  empty: { dir: 0o755 },
};
const ON_DISK = {
  'src/a.txt': 'hello\n', 'run.sh': '*#!/bin/sh\necho hi\n', link: '-> src/a.txt', 'deep/er/b.bin': '\u0000\u0001\u00ff\n', empty: 'dir',
};

const open = (cwd, meta, more) => c.newSession({ cwd, meta, ...more });
const refusedNew = (cwd, meta) => c.fails('session/new', { cwd, mcpServers: [], _meta: { acpd: meta } });
const close = (sessionId) => c.call('session/delete', { sessionId });

describe('session/new with an archive', () => {
  for (const format of Object.keys(PACK)) {
    test(`${format}: the files, modes and links are there when it is answered`, async () => {
      const cwd = newCwd(d);
      const archive = await upload(d, TREE, format);
      const s = await open(cwd, { workspace: { archive } });
      const { workspace } = s._meta.acpd;

      assert.deepEqual(treeOf(cwd), ON_DISK);
      assert.deepEqual(workspace, {
        written: 8, removed: 0, unchanged: 0, skipped: [], skippedTotal: 0, manifestDigest: manifestDigest(cwd), entries: 8, bytes: 28,
      });
      assert.equal(s._meta.acpd.cwd, cwd);
      await c.prompt(s.sessionId, 'cwd');
      assert.deepEqual(c.chunks(s.sessionId), [`cwd:${cwd}`]);
      await close(s.sessionId);
      assert.deepEqual(treeOf(cwd), ON_DISK, 'a given directory is never removed');
    });
  }

  test('links: a venv is refused, or comes without its links that lead out, which are named; live, too', async () => {
    const cwd = newCwd(d);
    const archive = await upload(d, { 'venv/pyvenv.cfg': 'home', 'venv/bin/python': { link: '/usr/bin/python3' }, 'venv/bin/python3': { link: 'python' },
      'venv/lib/a.py': 'a', 'venv/lib64': { link: 'lib' }, here: { link: `${cwd}/venv/lib/a.py` } });
    const KEPT = { 'venv/pyvenv.cfg': 'home', 'venv/lib/a.py': 'a', 'venv/lib64': '-> lib' };
    const LOST = [{ path: 'venv/bin/python', reason: 'SYMLINK_ABSOLUTE' }, { path: 'venv/bin/python3', reason: 'SYMLINK_OUTWARD' }];
    const HERE = { path: 'here', reason: 'SYMLINK_ABSOLUTE' };
    const error = await refusedNew(cwd, { workspace: { archive } });

    assert.deepEqual([error.data.reason, error.data.field], ['SYMLINK_ABSOLUTE', '_meta.acpd.workspace']);
    const s = await open(cwd, { workspace: { archive, links: 'skip' } });
    assert.deepEqual(treeOf(cwd), KEPT);
    const { skipped, skippedTotal, manifestDigest: digest } = s._meta.acpd.workspace;
    assert.deepEqual([skipped, skippedTotal, digest], [[...LOST, HERE], 3, manifestDigest(cwd)]);
    const live = await c.call('_acpd/workspace/materialize', { sessionId: s.sessionId, workspace: { archive, links: 'keep-inside' } });
    assert.deepEqual([live.workspace.skipped, live.workspace.written], [LOST, 1]);
    assert.deepEqual(treeOf(cwd), { ...KEPT, here: '-> venv/lib/a.py' });
    await close(s.sessionId);
  });

  test('strip and into', async () => {
    const cwd = newCwd(d);
    const archive = await upload(d, { 'top/one/a': '1', 'top/b': '2', c: 'lost by strip' });
    const s = await open(cwd, { workspace: { archive, strip: 1, into: 'sub/dir' } });

    assert.deepEqual(treeOf(cwd), { 'sub/dir/one/a': '1', 'sub/dir/b': '2' });
    assert.equal(s._meta.acpd.workspace.manifestDigest, manifestDigest(cwd));
    assert.deepEqual([s._meta.acpd.workspace.skipped, s._meta.acpd.workspace.stripped], [[{ path: 'c', reason: 'STRIPPED' }], 1]);
    await close(s.sessionId);
  });

  test('strip "auto" says what it took away; live, too; instructions do not mind a file of that name that was cut away', async () => {
    const cwd = newCwd(d);
    const archive = await upload(d, { 'top/one/a': '1', 'top/b': '2' });
    const s = await open(cwd, { workspace: { archive, strip: 'auto' } });

    assert.deepEqual(treeOf(cwd), { 'one/a': '1', b: '2' });
    assert.deepEqual([s._meta.acpd.workspace.skipped, s._meta.acpd.workspace.stripped], [[], 1]);
    const flat = await upload(d, { 'one/a': '1', 'AGENTS.md': 'of the repository' });
    const live = (workspace, more) => c.call('_acpd/workspace/materialize', { sessionId: s.sessionId, workspace, ...more });

    assert.equal((await live({ archive: flat, strip: 'auto' })).workspace.stripped, 0);
    assert.deepEqual(treeOf(cwd), { 'one/a': '1', 'AGENTS.md': 'of the repository' });
    const cut = await live({ archive: flat, strip: 1 }, { instructions: 'of the client' });

    assert.deepEqual(cut.workspace.skipped, [{ path: 'AGENTS.md', reason: 'STRIPPED' }]);
    assert.equal(cut.instructions?.in ?? cut._meta?.acpd?.instructions?.in ?? 'workspace', 'workspace', JSON.stringify(cut));
    assert.deepEqual(treeOf(cwd), { a: '1', 'AGENTS.md': 'of the client' });
    const e = await c.fails('_acpd/workspace/materialize', { sessionId: s.sessionId, workspace: { archive: flat, strip: 9 } });

    assert.deepEqual([e.code, e.data.reason, e.data.field], [-32602, 'STRIPPED_ALL', 'workspace.strip']);
    assert.deepEqual(treeOf(cwd), { a: '1', 'AGENTS.md': 'of the client' });
    await close(s.sessionId);
  });

  test('a directory with files of others: they stay, what is there already is told', async () => {
    const cwd = newCwd(d);
    fs.writeFileSync(`${cwd}/mine`, 'mine');
    fs.mkdirSync(`${cwd}/src`);
    fs.writeFileSync(`${cwd}/src/a.txt`, 'not yours');
    const s = await open(cwd, { workspace: { archive: await upload(d, TREE), mode: 'merge' } });

    assert.deepEqual(treeOf(cwd), { ...ON_DISK, mine: 'mine', 'src/a.txt': 'not yours' });
    assert.deepEqual(s._meta.acpd.workspace.skipped, [{ path: 'src/a.txt', reason: 'CONFLICT_FOREIGN' }]);
    assert.equal(s._meta.acpd.workspace.skippedTotal, 1);
    await close(s.sessionId);
  });
});

describe('what is refused has no effect', () => {
  const ABSENT = `sha256:${'ab'.repeat(32)}`;

  // [name, _meta.acpd given a good archive, field, reason]
  const BAD = [
    ['no digest', { workspace: { archive: 'abc' } }, '_meta.acpd.workspace.archive', 'DIGEST_INVALID'],
    ['a digest in capitals or too short', { workspace: { archive: 'sha256:ab' } }, '_meta.acpd.workspace.archive', 'DIGEST_INVALID'],
    ['an archive that is a number', { workspace: { archive: 1 } }, '_meta.acpd.workspace.archive', 'FIELD_INVALID'],
    ['an archive nobody uploaded', { workspace: { archive: ABSENT } }, '_meta.acpd.workspace.archive', 'ARCHIVE_NOT_FOUND'],
    ['a workspace that is no object', { workspace: 'x' }, '_meta.acpd.workspace', 'FIELD_INVALID'],
    ['an unknown member', (a) => ({ workspace: { archive: a, depth: 1 } }), '_meta.acpd.workspace.depth', 'PARAM_UNSUPPORTED'],
    ['a mode nobody knows', (a) => ({ workspace: { archive: a, mode: 'overlay' } }), '_meta.acpd.workspace.mode', 'FIELD_INVALID'],
    ['a mode that is no string', (a) => ({ workspace: { archive: a, mode: 1 } }), '_meta.acpd.workspace.mode', 'FIELD_INVALID'],
    ['strip below zero', (a) => ({ workspace: { archive: a, strip: -1 } }), '_meta.acpd.workspace.strip', /^FIELD_/],
    ['strip as text', (a) => ({ workspace: { archive: a, strip: '1' } }), '_meta.acpd.workspace.strip', 'FIELD_INVALID'],
    ['a fraction of strip', (a) => ({ workspace: { archive: a, strip: 1.5 } }), '_meta.acpd.workspace.strip', /^FIELD_/],
    ['strip beyond what names can have', (a) => ({ workspace: { archive: a, strip: 129 } }), '_meta.acpd.workspace.strip', 'FIELD_INVALID'],
    ['a word of strip that is none', (a) => ({ workspace: { archive: a, strip: 'Auto' } }), '_meta.acpd.workspace.strip', 'FIELD_INVALID'],
    ['strip that leaves nothing', (a) => ({ workspace: { archive: a, strip: 9 } }), '_meta.acpd.workspace.strip', 'STRIPPED_ALL'],
    ['strip "auto" without an archive', { workspace: { strip: 'auto' } }, '_meta.acpd.workspace.archive', 'FIELD_MISSING'],
    ['strip without an archive', { workspace: { strip: 1 } }, '_meta.acpd.workspace.archive', 'FIELD_MISSING'],
    ['into upwards', (a) => ({ workspace: { archive: a, into: '../x' } }), '_meta.acpd.workspace', 'NAME_DOTDOT'],
    ['into absolute', (a) => ({ workspace: { archive: a, into: '/etc' } }), '_meta.acpd.workspace', 'NAME_ABSOLUTE'],
    ['removeOnClose of a given directory', (a) => ({ workspace: { archive: a, removeOnClose: true } }), '_meta.acpd.workspace.removeOnClose', 'FIELD_INVALID'],
    ['a baseline that is no bool', (a) => ({ workspace: { archive: a, baseline: 'yes' } }), '_meta.acpd.workspace.baseline', 'FIELD_INVALID'],
    ['instructions that are a number', { instructions: 5 }, '_meta.acpd.instructions', 'FIELD_INVALID'],
    ['instructions without text', { instructions: { overwrite: true } }, '_meta.acpd.instructions.text', /^FIELD_/],
    ['instructions with more', { instructions: { text: 'x', mode: 1 } }, '_meta.acpd.instructions.mode', 'PARAM_UNSUPPORTED'],
    ['files that are no list', { harnessFiles: {} }, '_meta.acpd.harnessFiles', 'FIELD_INVALID'],
    ['a file that is no object', { harnessFiles: ['a'] }, '_meta.acpd.harnessFiles[0]', 'FIELD_INVALID'],
    ['a file without a path', { harnessFiles: [{ text: 'x' }] }, '_meta.acpd.harnessFiles[0].path', /^FIELD_/],
    ['a file with two contents', { harnessFiles: [{ path: 'a', text: 'x', base64: 'eA==' }] }, '_meta.acpd.harnessFiles[0].text', 'FIELD_INVALID'],
    ['a file with none', { harnessFiles: [{ path: 'a', text: 'x' }, { path: 'b' }] }, '_meta.acpd.harnessFiles[1].text', 'FIELD_INVALID'],
    ['a file with an unknown member', { harnessFiles: [{ path: 'a', text: 'x', mode: 1 }] }, '_meta.acpd.harnessFiles[0].mode', 'PARAM_UNSUPPORTED'],
    ['a file upwards', { harnessFiles: [{ path: '../x', text: 'x' }] }, /^_meta\.acpd\./, 'NAME_DOTDOT'],
    ['a file with an absolute path', { harnessFiles: [{ path: '/tmp/x', text: 'x' }] }, /^_meta\.acpd\./, 'NAME_ABSOLUTE'],
    ['a file with an empty path', { harnessFiles: [{ path: '', text: 'x' }] }, /^_meta\.acpd\./, /NAME_EMPTY|FIELD_INVALID/],
    ['a file whose base64 is none', { harnessFiles: [{ path: 'x', base64: '***' }] }, /^_meta\.acpd\.(harnessFiles|workspace)/, /./],
    ['skills that are no list', { skills: 'x' }, '_meta.acpd.skills', 'FIELD_INVALID'],
    ['a skill that is no object', { skills: [1] }, '_meta.acpd.skills[0]', 'FIELD_INVALID'],
    ['a skill from nowhere', { skills: [{}] }, '_meta.acpd.skills[0].archive', 'FIELD_INVALID'],
    ['a skill from two places', { skills: [{ builtin: 'x', path: '/x' }] }, '_meta.acpd.skills[0].archive', 'FIELD_INVALID'],
    ['a skill with more', { skills: [{ builtin: 'x', name: 'y' }] }, '_meta.acpd.skills[0].name', 'PARAM_UNSUPPORTED'],
    ['a builtin with a path', { skills: [{ builtin: '../x' }] }, '_meta.acpd.skills[0].builtin', 'FIELD_INVALID'],
    ['builtin skills where there are none', { skills: [{ builtin: 'x' }] }, '_meta.acpd.skills[0].builtin', 'SKILL_NOT_FOUND'],
    ['a relative path of a skill', { skills: [{ path: 'x' }] }, '_meta.acpd.skills[0].path', 'FIELD_INVALID'],
    ['a skill at a path that is not there', { skills: [{ path: '/nonexistent/skill' }] }, /^_meta\.acpd\.skills/, /NOT_FOUND/],
    ['a skill nobody uploaded', { skills: [{ archive: ABSENT }] }, '_meta.acpd.skills[0].archive', 'ARCHIVE_NOT_FOUND'],
    ['the second skill nobody uploaded', (a, s) => ({ skills: [{ archive: s }, { archive: ABSENT }] }), '_meta.acpd.skills[1].archive', 'ARCHIVE_NOT_FOUND'],
    ['a good workspace and a skill nobody uploaded', (a) => ({ workspace: { archive: a }, skills: [{ archive: ABSENT }] }), '_meta.acpd.skills[0].archive',
      'ARCHIVE_NOT_FOUND'],
  ];

  for (const [name, meta, field, reason] of BAD) {
    test(name, async () => {
      const cwd = newCwd(d);
      const good = [await upload(d, TREE), await upload(d, skill('good'))];
      const was = await look(d, c);
      const e = await refusedNew(cwd, typeof meta === 'function' ? meta(...good) : meta);
      const match = (got, want, what) => (want instanceof RegExp ? assert.match(got ?? '', want, what) : assert.equal(got, want, what));

      assert.equal(e.code, -32602, e.message);
      match(e.data.reason, reason, e.message);
      match(e.data.field, field, e.message);
      assert.deepEqual(treeOf(cwd), {});
      await assertNothingLeft(d, c, was);
    });
  }

  const HOSTILE = { 'a.txt': 'a', 'out/../../x': 'x' };

  test('an archive that is hostile: what acpd-unpack said is in the error', async () => {
    const cwd = newCwd(d);
    const archive = await upload(d, HOSTILE);
    const was = await look(d, c);
    const e = await refusedNew(cwd, { workspace: { archive } });

    assert.equal(e.code, -32602);
    assert.equal(e.data.reason, 'NAME_DOTDOT');
    assert.equal(e.data.field, '_meta.acpd.workspace');
    assert.equal(e.data.refused.reason, 'NAME_DOTDOT');
    assert.equal(e.data.refused.path, 'out/../../x');
    assert.equal(typeof e.data.refused.message, 'string');
    assert.deepEqual(treeOf(cwd), {});
    await assertNothingLeft(d, c, was);
  });

  test('an archive with too much in it: limit and use are in the error', async () => {
    const cwd = newCwd(d);
    const archive = await upload(d, FORMATS.pax([{ file: 'ok', data: 'x' }, { file: `${'d/'.repeat(200)}f`, data: '' }]));
    const was = await look(d, c);
    const e = await refusedNew(cwd, { workspace: { archive } });

    assert.equal(e.data.reason, 'PATH_TOO_DEEP');
    assert.equal(e.data.refused.limit, 128);
    assert.ok(e.data.refused.used > 128);
    assert.deepEqual(treeOf(cwd), {});
    await assertNothingLeft(d, c, was);
  });

  test('a good workspace and a bad skill; a bad workspace and a good skill', async () => {
    const cwd = newCwd(d);
    const [good, bad] = [await upload(d, TREE), await upload(d, HOSTILE)];
    const [goodSkill, badSkill] = [await upload(d, skill('good')), await upload(d, { 'README.md': 'no skill' })];
    const was = await look(d, c);

    for (const [archive, sk, field, reason] of [[good, badSkill, '_meta.acpd.skills', 'SKILL_INVALID'], [bad, goodSkill, '_meta.acpd.workspace', 'NAME_DOTDOT']]) {
      const e = await refusedNew(cwd, { workspace: { archive }, skills: [{ archive: sk }], instructions: 'x', harnessFiles: [{ path: 'f', text: 'x' }] });

      assert.equal(e.data.reason, reason);
      assert.equal(e.data.field, field);
      assert.deepEqual(treeOf(cwd), {});
      await assertNothingLeft(d, c, was);
    }
  });

  test('an ephemeral workspace that is refused is not left behind', async () => {
    const bad = await upload(d, HOSTILE);
    const was = await look(d, c);

    for (const archive of [ABSENT, bad]) {
      await refusedNew(d.workDir, { workspace: { archive, ephemeral: true, removeOnClose: true } });
      await assertNothingLeft(d, c, was);
    }
  });

  test('an archive that is cut', async () => {
    const cwd = newCwd(d);
    const whole = archiveOf({ ...TREE, big: Buffer.alloc(100000, 'acpd ') });
    const archive = await upload(d, whole.subarray(0, whole.length - 40));
    const was = await look(d, c);
    const e = await refusedNew(cwd, { workspace: { archive } });

    assert.match(e.data.reason, /^ARCHIVE_TRUNCATED$/);
    assert.deepEqual(treeOf(cwd), {});
    await assertNothingLeft(d, c, was);
  });
});
