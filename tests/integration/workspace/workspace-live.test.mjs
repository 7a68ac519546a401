// SPDX-License-Identifier: Apache-2.0
// Workspaces that live on: the next generation, materialize while a session works, ephemeral directories, instructions and files.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { gate } from '../../lib/gate.mjs';
import { until, withLimit } from '../../lib/wait.mjs';
import { kept, manifestDigest, newCwd, stagesBelow, treeOf, upload } from '../../lib/workspace.mjs';

let d, c;

before(async () => {
  d = await Daemon.start({ harnesses: [{ id: 'other', quirks: 'copilot' }] });
  c = await d.client();
});
after(() => endInOrder(d, c));

const open = (cwd, meta, more) => c.newSession({ cwd, meta, ...more });
const remove = (sessionId) => c.call('session/delete', { sessionId });
const materialize = (sessionId, params) => c.call('_acpd/workspace/materialize', { sessionId, ...params });
const refused = (sessionId, params) => c.fails('_acpd/workspace/materialize', { sessionId, ...params });

const ONE = { 'a.txt': 'a', 'gone/b.txt': 'b', 'gone/deep/c.txt': 'c', 'run.sh': { data: 'one', mode: 0o755 }, 'lib/mine.txt': 'shared' };
const TWO = { 'a.txt': 'a', 'run.sh': 'two', 'new.txt': 'n', 'lib/mine.txt': 'shared 2' };

describe('the next generation', () => {
  for (const how of ['session/load', '_acpd/workspace/materialize']) {
    test(`${how} adds, changes and removes what is ours, and nothing else`, async () => {
      const cwd = newCwd(d);
      fs.writeFileSync(`${cwd}/user.txt`, 'u');
      const s = await open(cwd, { workspace: { archive: await upload(d, ONE) } });
      fs.writeFileSync(`${cwd}/gone/agent.txt`, 'agent');
      fs.writeFileSync(`${cwd}/lib/mine.txt`, 'edited by the agent');
      fs.rmSync(`${cwd}/gone/deep/c.txt`);
      const archive = await upload(d, TWO);
      const { workspace } = how === 'session/load' ? (await c.load(s.sessionId, { cwd, meta: { workspace: { archive } } }))._meta.acpd
        : await materialize(s.sessionId, { workspace: { archive } });

      assert.deepEqual(treeOf(cwd), {
        'user.txt': 'u', 'a.txt': 'a', 'run.sh': 'two', 'new.txt': 'n', 'gone/agent.txt': 'agent', 'lib/mine.txt': 'edited by the agent',
      });
      assert.deepEqual(workspace.skipped, [{ path: 'lib/mine.txt', reason: 'CONFLICT_MODIFIED' }]);
      assert.deepEqual([workspace.written, workspace.unchanged], [2, 2]);
      assert.deepEqual(stagesBelow(d.dir), []);
      await remove(s.sessionId);
      assert.equal(fs.readFileSync(`${cwd}/user.txt`, 'utf8'), 'u');
    });
  }

  test('the same archive again changes nothing, and has the same digest', async () => {
    const cwd = newCwd(d);
    const archive = await upload(d, ONE);
    const first = await open(cwd, { workspace: { archive } });
    const before = fs.statSync(`${cwd}/a.txt`, { bigint: true });
    const { workspace } = await materialize(first.sessionId, { workspace: { archive } });
    const now = fs.statSync(`${cwd}/a.txt`, { bigint: true });

    assert.deepEqual([workspace.written, workspace.removed, workspace.skipped], [0, 0, []]);
    assert.equal(workspace.manifestDigest, first._meta.acpd.workspace.manifestDigest);
    assert.equal(workspace.manifestDigest, manifestDigest(cwd));
    assert.deepEqual([now.ino, now.mtimeNs], [before.ino, before.mtimeNs]);
    await remove(first.sessionId);
  });

  test('mode merge keeps what only the generation before had, and it stays ours', async () => {
    const cwd = newCwd(d);
    const s = await open(cwd, { workspace: { archive: await upload(d, ONE) } });
    const merged = await materialize(s.sessionId, { workspace: { archive: await upload(d, TWO), mode: 'merge' } });

    assert.equal(merged.workspace.removed, 0);
    assert.deepEqual(Object.keys(treeOf(cwd)).sort(), ['a.txt', 'gone/b.txt', 'gone/deep/c.txt', 'lib/mine.txt', 'new.txt', 'run.sh']);
    await materialize(s.sessionId, { workspace: { archive: await upload(d, { only: 'x' }) } });
    assert.deepEqual(treeOf(cwd), { only: 'x' });
    await remove(s.sessionId);
  });

  test('files without an archive remove nothing of an earlier generation', async () => {
    const cwd = newCwd(d);
    const s = await open(cwd, { workspace: { archive: await upload(d, ONE) } });

    await materialize(s.sessionId, { harnessFiles: [{ path: 'cfg/x.json', text: '{}' }] });
    assert.equal(Object.keys(treeOf(cwd)).length, Object.keys(ONE).length + 1);
    await remove(s.sessionId);
  });

  test('a refused one changes nothing', async () => {
    const cwd = newCwd(d);
    const s = await open(cwd, { workspace: { archive: await upload(d, ONE) } });
    const was = treeOf(cwd);
    const bad = await upload(d, { ...TWO, 'x/../../y': '' });
    const e = await refused(s.sessionId, { workspace: { archive: bad } });
    const l = await c.fails('session/load', { sessionId: s.sessionId, cwd, mcpServers: [], _meta: { acpd: { workspace: { archive: bad } } } });

    assert.deepEqual([e.data.reason, e.data.field, e.data.refused.path], ['NAME_DOTDOT', 'workspace', 'x/../../y']);
    assert.deepEqual([l.data.reason, l.data.field, l.data.refused.path], ['NAME_DOTDOT', '_meta.acpd.workspace', 'x/../../y']);
    assert.deepEqual(treeOf(cwd), was);
    assert.deepEqual(stagesBelow(d.dir), []);
    await c.prompt(s.sessionId, 'echo still alive');
    await remove(s.sessionId);
  });

  test('an answer tells of its own request only', async () => {
    const cwd = newCwd(d);
    const s = await open(cwd, { workspace: { archive: await upload(d, ONE) } });

    assert.ok(s._meta.acpd.workspace);
    assert.equal((await c.load(s.sessionId, { cwd }))._meta.acpd.workspace, undefined);
    await remove(s.sessionId);
  });

  test('two sessions in one directory, also written with another slash', async () => {
    const cwd = newCwd(d);
    const one = await open(cwd, { workspace: { archive: await upload(d, ONE) } });
    const two = await open(`${cwd}/`, { workspace: { archive: await upload(d, TWO) } });

    assert.deepEqual(treeOf(cwd), { 'a.txt': 'a', 'run.sh': 'two', 'new.txt': 'n', 'lib/mine.txt': 'shared 2' });
    assert.deepEqual(two._meta.acpd.workspace.skipped, []);
    const archives = await Promise.all(Array.from({ length: 6 }, (_, i) => upload(d, { [`f${i}`]: `${i}`, same: `${i}` })));
    const results = await Promise.all(archives.map((archive) => open(cwd, { workspace: { archive } })));
    const last = treeOf(cwd).same;

    assert.deepEqual(treeOf(cwd), { [`f${last}`]: last, same: last });
    for (const r of results)
      assert.deepEqual(r._meta.acpd.workspace.skipped, []);
    for (const s of [one, two, ...results])
      await remove(s.sessionId);
    assert.deepEqual(stagesBelow(d.dir), []);
  });
});

describe('_acpd/workspace/materialize', () => {
  let s, cwd;

  before(async () => {
    cwd = newCwd(d);
    s = await open(cwd, { workspace: { archive: await upload(d, ONE) } });
  });
  after(() => remove(s.sessionId));

  const BAD = [
    ['no session', { sessionId: 'sess_0' }, undefined, 'SESSION_NOT_FOUND'],
    ['nothing to write', {}, 'workspace', 'FIELD_MISSING'],
    ['an unknown member', { workspaces: {} }, 'workspaces', 'PARAM_UNSUPPORTED'],
    ['skills, which are installed otherwise', { skills: [] }, 'skills', 'PARAM_UNSUPPORTED'],
    ['an unknown member of workspace', { workspace: { archives: [] } }, 'workspace.archives', 'PARAM_UNSUPPORTED'],
    ['ephemeral', { workspace: { ephemeral: true } }, 'workspace.ephemeral', 'FIELD_INVALID'],
    ['chown', { workspace: { chown: true } }, 'workspace.chown', 'FIELD_INVALID'],
    ['baseline', { workspace: { baseline: true } }, 'workspace.baseline', 'FIELD_INVALID'],
    ['an archive nobody uploaded', { workspace: { archive: `sha256:${'0'.repeat(64)}` } }, 'workspace.archive', 'ARCHIVE_NOT_FOUND'],
  ];

  for (const [name, params, field, reason] of BAD) {
    test(`refused: ${name}`, async () => {
      const e = await refused(s.sessionId, params);

      assert.deepEqual([e.data.reason, e.data.field], [reason, field]);
    });
  }
  for (const member of ['ephemeral', 'chown', 'baseline']) {
    test(`session/load refuses ${member}: it belongs to session/new`, async () => {
      const e = await c.fails('session/load', { sessionId: s.sessionId, cwd, mcpServers: [], _meta: { acpd: { workspace: { [member]: true } } } });

      assert.deepEqual([e.data.reason, e.data.field], ['FIELD_INVALID', `_meta.acpd.workspace.${member}`]);
    });
  }

  test('while a turn runs; the next turn sees it', async () => {
    const { step, open } = gate(d);
    const turn = c.startPrompt(s.sessionId, `${step}; echo done`);
    const { workspace } = await materialize(s.sessionId, { workspace: { archive: await upload(d, TWO) } });

    assert.equal(workspace.written, 3);
    assert.equal(fs.readFileSync(`${cwd}/new.txt`, 'utf8'), 'n');
    open();
    assert.equal((await turn.answer).result.stopReason, 'end_turn');
    await c.prompt(s.sessionId, 'echo again');
  });

  test('one request at a time', async () => {
    const big = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`many/${i}`, `${i}`]));
    const archive = await upload(d, big);
    const first = c.request('_acpd/workspace/materialize', { sessionId: s.sessionId, workspace: { archive } });
    const busy = await Promise.all([
      refused(s.sessionId, { harnessFiles: [{ path: 'x', text: '' }] }),
      c.fails('session/load', { sessionId: s.sessionId, cwd, mcpServers: [], _meta: { acpd: { instructions: 'x' } } }),
      c.fails('_acpd/skills/remove', { sessionId: s.sessionId, names: ['x'] }),
    ]);

    assert.deepEqual(busy.map((e) => e.data.reason), ['SESSION_BUSY', 'SESSION_BUSY', 'SESSION_BUSY']);
    assert.equal((await first.answer).result.workspace.written, 3001);
    assert.equal(fs.existsSync(`${cwd}/x`), false);
  });

  test('a client that is gone: it is written all the same, or not at all', async () => {
    const other = await d.client();
    const was = treeOf(cwd);
    const next = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`other/${i}`, `${i}`]));
    const archive = await upload(d, next);
    const again = (client) => client.load(s.sessionId, { cwd });

    await again(other); // only the driver may
    let over = false;
    other.request('_acpd/workspace/materialize', { sessionId: s.sessionId, workspace: { archive } }).answer.catch(() => {}).finally(() => { over = true; });
    await until(() => over || d.helpers().length > 0, 'a helper');
    other.ws.destroy();
    await until(() => d.helpers().length === 0, 'no helper');
    const now = treeOf(cwd);
    assert.ok([JSON.stringify(was), JSON.stringify(next)].includes(JSON.stringify(now)) || Object.keys(now).length === 2000);
    await again(c);
    assert.deepEqual(stagesBelow(d.dir), []);
  });

  test('session/close while it goes on', async () => {
    const closed = async (files) => { // it may be over before it is seen: then with more of them
      const dir = newCwd(d);
      const t = await open(dir, { workspace: { archive: await upload(d, ONE) } });
      const was = treeOf(dir);
      const archive = await upload(d, Object.fromEntries(Array.from({ length: files }, (_, i) => [`many/${i}`, `${i}`])));
      const { answer } = c.request('_acpd/workspace/materialize', { sessionId: t.sessionId, workspace: { archive } });
      let over = false;

      answer.finally(() => { over = true; });
      await until(() => over || stagesBelow(dir).length > 0, 'a stage');
      await c.call('session/close', { sessionId: t.sessionId });
      const { error } = await answer;
      if (!error)
        await remove(t.sessionId);
      return { dir, t, was, error };
    };
    const { dir, t, was, error } = await withLimit(5000, closed, (r) => !r.error, 3);

    assert.equal(error?.data.reason, 'CANCELLED');
    assert.deepEqual(treeOf(dir), was);
    await until(() => d.helpers().length === 0, 'no helper');
    assert.deepEqual(stagesBelow(d.dir), []);
    assert.deepEqual(kept(d).filter((n) => n.endsWith('/pending') || n.endsWith('.new')), []);
    await remove(t.sessionId);
  });

  test('a session that is closed takes nothing; loaded it does', async () => {
    const dir = newCwd(d);
    const t = await open(dir, { workspace: { archive: await upload(d, ONE) } });

    await c.call('session/close', { sessionId: t.sessionId });
    assert.equal((await refused(t.sessionId, { harnessFiles: [{ path: 'x', text: '' }] })).data.reason, 'SESSION_NOT_ACTIVE');
    await c.load(t.sessionId, { cwd: dir, meta: { harnessFiles: [{ path: 'x', text: '1' }] } });
    assert.equal(fs.readFileSync(`${dir}/x`, 'utf8'), '1');
    await remove(t.sessionId);
  });
});

describe('ephemeral workspaces', () => {
  test('a directory of its own; it goes when the session is deleted', async () => {
    const s = await open(d.workDir, { workspace: { archive: await upload(d, ONE), ephemeral: true } });
    const { cwd } = s._meta.acpd;

    assert.equal(path.dirname(cwd), d.wsDir);
    assert.match(path.basename(cwd), /^[0-9a-f]{32}$/);
    assert.equal(treeOf(cwd)['a.txt'], 'a');
    assert.deepEqual(treeOf(d.workDir), {});
    await c.prompt(s.sessionId, 'cwd; write made.txt x');
    assert.equal(c.chunks(s.sessionId)[0], `cwd:${cwd}`);
    await c.call('session/close', { sessionId: s.sessionId });
    assert.equal(treeOf(cwd)['made.txt'], 'x', 'closed is not removed');
    await c.load(s.sessionId, { cwd });
    await remove(s.sessionId);
    await until(() => !fs.existsSync(cwd), 'the workspace is removed');
    assert.deepEqual(kept(d).filter((n) => n.startsWith('ws/')), []);
  });

  test('removeOnClose, whatever the agent did in it', async () => {
    const s = await open(d.workDir, { workspace: { ephemeral: true, removeOnClose: true } });
    const { cwd } = s._meta.acpd;
    const outside = path.join(d.dir, 'outside');

    fs.mkdirSync(`${outside}/keep`, { recursive: true });
    fs.mkdirSync(`${cwd}/ro/deep`, { recursive: true });
    fs.writeFileSync(`${cwd}/ro/deep/f`, 'x');
    fs.symlinkSync(outside, `${cwd}/ro/link`);
    fs.chmodSync(`${cwd}/ro`, 0o500);
    await c.call('session/close', { sessionId: s.sessionId });
    await until(() => !fs.existsSync(cwd), 'the workspace is removed');
    assert.ok(fs.existsSync(`${outside}/keep`));
    const e = await c.fails('session/load', { sessionId: s.sessionId, cwd, mcpServers: [] });
    assert.deepEqual([e.data.reason, e.data.field], ['CWD_NOT_FOUND', 'cwd']);
    await remove(s.sessionId);
  });

  test('it outlives the daemon, and is still removed on close', async () => {
    const s = await open(d.workDir, { workspace: { archive: await upload(d, ONE), ephemeral: true, removeOnClose: true } });
    const { cwd } = s._meta.acpd;

    await c.close();
    await d.restart();
    c = await d.client();
    assert.equal(treeOf(cwd)['a.txt'], 'a');
    const again = await c.load(s.sessionId, { cwd });
    assert.equal(again._meta.acpd.cwd, cwd);
    await c.prompt(s.sessionId, 'cwd');
    assert.equal(c.chunks(s.sessionId).at(-1), `cwd:${cwd}`);
    await c.call('session/close', { sessionId: s.sessionId });
    await until(() => !fs.existsSync(cwd), 'the workspace is removed');
    await remove(s.sessionId);
  });

  test('deleted without being loaded after a restart', async () => {
    const s = await open(d.workDir, { workspace: { archive: await upload(d, ONE), ephemeral: true } });
    const { cwd } = s._meta.acpd;

    await c.close();
    await d.restart();
    c = await d.client();
    await remove(s.sessionId);
    await until(() => !fs.existsSync(cwd), 'the workspace is removed');
  });
});

describe('instructions and files', () => {
  test('instructions become the file that the harness reads', async () => {
    const cwd = newCwd(d);
    const s = await open(cwd, { instructions: 'Be brief.\n' });

    assert.deepEqual(treeOf(cwd), { 'AGENTS.md': 'Be brief.\n' });
    assert.deepEqual(s._meta.acpd.instructions, { path: 'AGENTS.md', in: 'workspace' });
    const { instructions } = await materialize(s.sessionId, { instructions: { text: 'Be long.\n' } });
    assert.deepEqual(treeOf(cwd), { 'AGENTS.md': 'Be long.\n' });
    assert.deepEqual(instructions, { path: 'AGENTS.md', in: 'workspace' });
    await remove(s.sessionId);
  });

  test('the file of the repository stays; the text goes to the home of a harness that reads one there', async () => {
    const cwd = newCwd(d);
    const archive = await upload(d, { 'AGENTS.md': 'of the repository\n' });
    const s = await open(cwd, { harness: 'other', workspace: { archive }, instructions: 'Be brief.\n' });
    const { instructions, workspace } = s._meta.acpd;

    assert.deepEqual(treeOf(cwd), { 'AGENTS.md': 'of the repository\n' });
    assert.deepEqual(workspace.skipped, [{ path: 'AGENTS.md', reason: 'EXISTS' }]);
    assert.deepEqual(instructions, { path: '.copilot/copilot-instructions.md', in: 'home' });
    const home = path.join(d.stateDir, 'homes', s.sessionId);
    assert.equal(fs.readFileSync(path.join(home, instructions.path), 'utf8'), 'Be brief.\n');
    await remove(s.sessionId);
  });

  test('where there is no such place, it is told that nobody reads them', async () => {
    const cwd = newCwd(d);
    fs.writeFileSync(`${cwd}/AGENTS.md`, 'mine');
    const s = await open(cwd, { instructions: 'Be brief.\n' });

    assert.deepEqual(s._meta.acpd.workspace.skipped, [{ path: 'AGENTS.md', reason: 'EXISTS' }]);
    assert.equal(s._meta.acpd.instructions, undefined);
    assert.deepEqual(treeOf(cwd), { 'AGENTS.md': 'mine' });
    const over = await materialize(s.sessionId, { instructions: { text: 'Be brief.\n', overwrite: true } });
    assert.deepEqual(over.workspace.skipped, []);
    assert.deepEqual(over.instructions, { path: 'AGENTS.md', in: 'workspace' });
    assert.deepEqual(treeOf(cwd), { 'AGENTS.md': 'Be brief.\n' });
    fs.writeFileSync(`${cwd}/AGENTS.md`, 'the agent changed it');
    const third = await materialize(s.sessionId, { instructions: 'Be loud.\n' });
    assert.equal(third.instructions, undefined);
    assert.equal(third.workspace.skipped.length, 1);
    assert.deepEqual(treeOf(cwd), { 'AGENTS.md': 'the agent changed it' });
    await remove(s.sessionId);
  });

  test('files: text, base64, executable, overwrite', async () => {
    const cwd = newCwd(d);
    const bytes = Buffer.from([0, 255, 10, 13]);
    fs.writeFileSync(`${cwd}/kept`, 'mine');
    fs.writeFileSync(`${cwd}/over`, 'mine');
    const s = await open(cwd, { harnessFiles: [
      { path: 'cfg/é.txt', text: 'ä\n' }, { path: 'bin/tool', base64: bytes.toString('base64'), executable: true }, { path: 'empty', text: '' },
      { path: 'kept', text: 'new' }, { path: 'over', text: 'new', overwrite: true },
    ] });

    assert.deepEqual(treeOf(cwd), {
      'cfg/é.txt': Buffer.from('ä\n').toString('latin1'), 'bin/tool': `*${bytes.toString('latin1')}`, empty: '', kept: 'mine', over: 'new',
    });
    assert.deepEqual(s._meta.acpd.workspace.skipped, [{ path: 'kept', reason: 'EXISTS' }]);
    await remove(s.sessionId);
  });

  test('no file is written through a link', async () => {
    const cwd = newCwd(d);
    const outside = newCwd(d);
    fs.symlinkSync(outside, `${cwd}/out`);
    fs.symlinkSync(`${outside}/f`, `${cwd}/f`);
    const s = await open(cwd, { harnessFiles: [{ path: 'out/x', text: 'x', overwrite: true }, { path: 'f', text: 'x' }, { path: 'ok', text: 'x' }] });

    assert.deepEqual(treeOf(outside), {});
    const skipped = s._meta.acpd.workspace.skipped.map((one) => `${one.path} ${one.reason}`);
    assert.deepEqual(skipped.filter((one) => !one.startsWith('out ')).sort(), ['f EXISTS', 'out/x NOT_DIRECTORY']);
    assert.deepEqual(treeOf(cwd), { out: `-> ${outside}`, f: `-> ${outside}/f`, ok: 'x' });
    await remove(s.sessionId);
  });
});
