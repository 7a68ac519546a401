// SPDX-License-Identifier: Apache-2.0
// With --agent-user: whose the files are, what that user cannot reach, what is handed over to him. Root only.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { until } from '../../lib/wait.mjs';
import { applied, assertNothingLeft, isRoot, look, scan, skill, stagesBelow, treeOf, upload } from '../../lib/workspace.mjs';

const NOBODY = 65534;
const skip = !isRoot && 'needs root';
let d, c, n = 0;

before(async () => {
  if (skip)
    return;
  d = await Daemon.start({ flags: { agentUser: 'nobody' } });
  c = await d.client();
});
after(() => endInOrder(d, c));

// A directory below the daemon's, of that owner.
function newDir(uid, mode = 0o755) {
  const dir = path.join(d.dir, `of-${uid}-${++n}`);

  fs.mkdirSync(dir);
  fs.chownSync(dir, uid, uid);
  fs.chmodSync(dir, mode);
  return dir;
}

const owners = (dir) => [...new Set([...scan(dir).values()].map((e) => e.uid))];
const TREE = { 'src/a.txt': 'a\n', 'run.sh': { data: '#!/bin/sh\n', mode: 0o755 }, link: { link: 'src/a.txt' } };
const ON_DISK = { 'src/a.txt': 'a\n', 'run.sh': '*#!/bin/sh\n', link: '-> src/a.txt' };

describe('with --agent-user', { skip }, () => {
  test('everything that is written belongs to the agent, who can change it', async () => {
    const cwd = newDir(NOBODY);
    const s = await c.newSession({ cwd, meta: {
      workspace: { archive: await upload(d, TREE) }, instructions: 'x', harnessFiles: [{ path: 'cfg/f', text: '1' }], skills: [{ archive: await upload(d, skill('tool')) }],
    } });

    assert.deepEqual(treeOf(cwd), { ...ON_DISK, 'AGENTS.md': 'x', 'cfg/f': '1' });
    assert.deepEqual(owners(cwd), [NOBODY]);
    assert.equal(fs.statSync(cwd).uid, NOBODY);
    const home = path.join(d.stateDir, 'homes', s.sessionId);
    assert.deepEqual(owners(home), [NOBODY]);
    assert.ok(fs.existsSync(path.join(home, '.agents/skills/tool/SKILL.md')));
    await c.prompt(s.sessionId, 'ids; write src/a.txt changed; write new.txt n');
    assert.match(c.chunks(s.sessionId).join(), /uid=65534/);
    assert.equal(treeOf(cwd)['src/a.txt'], 'changed');
    const { skills } = await c.call('_acpd/skills/list', { sessionId: s.sessionId });
    assert.deepEqual(skills.map((one) => one.name), ['tool']);
    await c.call('_acpd/skills/remove', { sessionId: s.sessionId, names: ['tool'] });
    assert.equal(fs.existsSync(path.join(home, '.agents/skills/tool')), false);
    const [a] = (await c.call('_acpd/artifact/list', { sessionId: s.sessionId })).artifacts;
    assert.equal(a.name, 'turn-1.diff');
    const res = await fetch(`http://127.0.0.1:${d.port}/v1/sessions/${s.sessionId}/workspace?format=tar`, { headers: { Authorization: `Bearer ${d.token}` } });
    assert.equal(res.status, 200);
    assert.ok((await res.arrayBuffer()).byteLength > 4096);
    await c.call('session/delete', { sessionId: s.sessionId });
    assert.equal(fs.existsSync(home), false);
  });

  test('the next generation, and what changed', async () => {
    const cwd = newDir(NOBODY);
    const s = await c.newSession({ cwd, meta: { workspace: { archive: await upload(d, TREE) } } });
    const copy = path.join(d.dir, `copy-${++n}`);

    fs.cpSync(cwd, copy, { recursive: true, verbatimSymlinks: true });
    await c.prompt(s.sessionId, 'write made.txt x');
    const r = await c.call('_acpd/workspace/diff', { sessionId: s.sessionId });
    assert.deepEqual(applied(r.patch, copy), treeOf(cwd));
    const next = await c.call('_acpd/workspace/materialize', { sessionId: s.sessionId, workspace: { archive: await upload(d, { 'run.sh': 'two', 'made.txt': 'y' }) } });
    assert.deepEqual(treeOf(cwd), { 'run.sh': 'two', 'made.txt': 'x' });
    assert.deepEqual(next.workspace.skipped, [{ path: 'made.txt', reason: 'CONFLICT_FOREIGN' }]);
    assert.deepEqual(owners(cwd), [NOBODY]);
    await c.call('session/delete', { sessionId: s.sessionId });
  });

  test('a directory that he cannot enter, or not write in', async () => {
    const archive = await upload(d, TREE);
    const was = await look(d, c);
    const closed = newDir(0, 0o700);
    const e = await c.fails('session/new', { cwd: closed, mcpServers: [], _meta: { acpd: { workspace: { archive } } } });

    assert.deepEqual([e.data.reason, e.data.field], ['CWD_NOT_ACCESSIBLE', 'cwd']);
    const readable = newDir(0, 0o755);
    fs.writeFileSync(`${readable}/of-root`, 'r');
    const f = await c.fails('session/new', { cwd: readable, mcpServers: [], _meta: { acpd: { workspace: { archive } } } });
    assert.deepEqual([f.data.reason, f.data.field], ['CWD_NOT_WRITABLE', 'cwd']);
    // Empty, it could be replaced by one of his: but nobody asked for that.
    const empty = newDir(0, 0o755);
    const g = await c.fails('session/new', { cwd: empty, mcpServers: [], _meta: { acpd: { workspace: { archive } } } });
    assert.equal(g.data.reason, 'CWD_NOT_WRITABLE');
    assert.equal(fs.statSync(empty).uid, 0);
    assert.deepEqual([treeOf(closed), treeOf(readable)], [{}, { 'of-root': 'r' }]);
    await assertNothingLeft(d, c, was);
    assert.deepEqual(stagesBelow(d.dir), []);
  });

  test('workspace.chown hands over one of ours, or makes it; not one of somebody else', async () => {
    const archive = await upload(d, TREE);
    const ours = newDir(0, 0o755);
    const missing = path.join(d.dir, `missing-${++n}`);

    for (const cwd of [ours, missing]) {
      const s = await c.newSession({ cwd, meta: { workspace: { archive, chown: true } } });

      assert.deepEqual(treeOf(cwd), ON_DISK);
      assert.deepEqual([fs.statSync(cwd).uid, owners(cwd)], [NOBODY, [NOBODY]]);
      await c.call('session/delete', { sessionId: s.sessionId });
      assert.deepEqual(treeOf(cwd), ON_DISK);
    }
    const link = path.join(d.dir, `link-${++n}`);
    fs.symlinkSync('/etc', link);
    const open = newDir(0, 0o777);
    fs.mkdirSync(`${open}/below`);
    const other = newDir(1234);
    for (const cwd of [other, link, `${open}/below`, `${d.dir}/no/such`, 'relative']) {
      const e = await c.fails('session/new', { cwd, mcpServers: [], _meta: { acpd: { workspace: { archive, chown: true } } } });

      assert.match(e.data.reason, /^(CHOWN_REFUSED|CWD_NOT_ABSOLUTE)$/, cwd);
    }
    assert.equal(fs.statSync(other).uid, 1234);
    assert.equal(fs.statSync('/etc').uid, 0);
    const fresh = path.join(d.dir, `missing-${++n}`);
    const e = await c.fails('session/new', { cwd: fresh, mcpServers: [], _meta: { acpd: { workspace: { archive: `sha256:${'0'.repeat(64)}`, chown: true } } } });
    assert.equal(e.data.reason, 'ARCHIVE_NOT_FOUND');
    assert.equal(fs.existsSync(fresh), false);
  });

  test('an ephemeral workspace is his, and goes whatever he left in it', async () => {
    const s = await c.newSession({ meta: { workspace: { archive: await upload(d, TREE), ephemeral: true, removeOnClose: true } } });
    const { cwd } = s._meta.acpd;

    assert.deepEqual([fs.statSync(cwd).uid, owners(cwd)], [NOBODY, [NOBODY]]);
    await c.prompt(s.sessionId, 'write f x');
    await c.call('session/close', { sessionId: s.sessionId });
    await until(() => !fs.existsSync(cwd), 'it is removed');
    await c.call('session/delete', { sessionId: s.sessionId });
  });

  test('a skill at a path that he may not read, and one that he may', async () => {
    const own = newDir(0, 0o700);
    const open = newDir(0, 0o755);
    for (const dir of [own, open])
      fs.writeFileSync(`${dir}/SKILL.md`, skill('mine')['SKILL.md']);
    const e = await c.fails('session/new', { cwd: newDir(NOBODY), mcpServers: [], _meta: { acpd: { skills: [{ path: own }] } } });
    assert.equal(e.data.reason, 'ACCESS_DENIED');
    const s = await c.newSession({ cwd: newDir(NOBODY), meta: { skills: [{ path: open }] } });
    assert.deepEqual(s._meta.acpd.skills.skills.map((one) => one.installedAs), ['mine']);
    await c.call('session/delete', { sessionId: s.sessionId });
  });
});
