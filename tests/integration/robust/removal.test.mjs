// SPDX-License-Identifier: Apache-2.0
// What a deleted session leaves: whatever an agent has made of its home, deleting is answered at once, the daemon
// goes on serving meanwhile, all of it goes, and where it cannot go somebody is told.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { test, describe } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { deepTree } from '../../lib/made.mjs';
import { until } from '../../lib/wait.mjs';

const root = process.getuid() === 0;

const homeOf = (d, id) => path.join(d.stateDir, 'homes', id);
const left = (d) => fs.readdirSync(path.join(d.stateDir, 'removed'));
const removed = (d) => until(() => left(d).length === 0, 'all is removed', 60000);

// In memory where there is any: tens of thousands of directories on a busy disk take their time.
const memory = '/dev/shm';

async function withSession(opts, use) {
  const dir = fs.existsSync(memory) ? fs.mkdtempSync(path.join(memory, 'acpd-test-')) : undefined;
  const d = await Daemon.start({ dir, ...opts });

  try {
    const c = await d.client();
    const { sessionId } = await c.newSession();

    await c.prompt(sessionId, 'hello');
    await use(d, c, sessionId);
    await c.close();
    await d.stop();
  } finally {
    spawnSync('rm', ['-rf', d.stateDir]); // deeper than Node's own can remove
    await d.discard();
    if (dir)
      fs.rmSync(dir, { recursive: true, force: true });
  }
}

describe('a deleted session', () => {
  test('whose home is 30 000 directories deep is gone, and so is the home', () => withSession({}, async (d, c, id) => {
    deepTree(homeOf(d, id), 30000);
    assert.deepEqual(await c.call('session/delete', { sessionId: id }), {});
    assert.ok(!fs.existsSync(homeOf(d, id)));
    await assert.rejects(c.call('session/load', { sessionId: id, cwd: d.workDir, mcpServers: [] }),
                         (e) => e.data.reason === 'SESSION_NOT_FOUND');
    await removed(d);
    await until(async () => await d.metric('acpd_removals_pending') === 0, 'the helper to have ended');
  }));

  test('goes although its home is closed to its owner', () => withSession({}, async (d, c, id) => {
    fs.mkdirSync(path.join(homeOf(d, id), 'a', 'b'), { recursive: true });
    fs.writeFileSync(path.join(homeOf(d, id), 'a', 'b', 'f'), 'x');
    fs.chmodSync(path.join(homeOf(d, id), 'a', 'b'), 0o500);
    fs.chmodSync(path.join(homeOf(d, id), 'a'), 0);
    fs.chmodSync(homeOf(d, id), 0o500);
    await c.call('session/delete', { sessionId: id });
    await removed(d);
  }));

  test('that cannot be put away is refused with a reason, and is still there', () => withSession({}, async (d, c, id) => {
    const dir = path.join(d.stateDir, 'removed');

    fs.rmdirSync(dir);
    fs.writeFileSync(dir, '');
    await assert.rejects(c.call('session/delete', { sessionId: id }),
                         (e) => e.code === -32603 && e.data.reason === 'STATE_NOT_WRITABLE');
    const seen = await c.call('session/load', { sessionId: id, cwd: d.workDir, mcpServers: [] });
    assert.equal(seen._meta.acpd.context, 'kept');
    fs.unlinkSync(dir);
    fs.mkdirSync(dir);
    assert.deepEqual(await c.call('session/delete', { sessionId: id }), {});
    await removed(d);
  }));

  test('of which a part cannot be put away is whole again', () => withSession({}, async (d, c, id) => {
    const journal = path.join(d.stateDir, 'sessions', `${id}.jsonl`);
    const obstacle = path.join(d.stateDir, 'removed', id, 'artifacts');

    await c.call('_acpd/artifact/put', { sessionId: id, name: 'a', text: 'x' });
    fs.mkdirSync(path.join(obstacle, 'in the way'), { recursive: true });
    await assert.rejects(c.call('session/delete', { sessionId: id }),
                         (e) => e.code === -32603 && e.data.reason === 'STATE_NOT_WRITABLE');
    assert.ok(fs.existsSync(journal), 'the journal is put back');
    fs.rmSync(obstacle, { recursive: true });
    assert.equal((await c.call('session/load', { sessionId: id, cwd: d.workDir, mcpServers: [] }))._meta.acpd.context, 'kept');
    assert.equal((await c.call('_acpd/artifact/list', { sessionId: id })).artifacts.length, 1);
    assert.deepEqual(await c.call('session/delete', { sessionId: id }), {});
    await removed(d);
  }));

  test('whose files outlive the daemon is removed by the next one', () => withSession({}, async (d, c, id) => {
    const entry = path.join(d.stateDir, 'removed', id);

    await c.call('session/close', { sessionId: id });
    await d.kill9();
    fs.mkdirSync(entry);
    fs.renameSync(path.join(d.stateDir, 'sessions', `${id}.jsonl`), path.join(entry, 'journal'));
    await d.restart();
    await removed(d);
    assert.ok(!fs.existsSync(homeOf(d, id)));
    c = await d.client();
    assert.deepEqual((await c.call('session/list', {})).sessions, []);
  }));

  test('whose journal nobody can read goes too', () => withSession({}, async (d, c, id) => {
    const journal = path.join(d.stateDir, 'sessions', `${id}.jsonl`);

    await d.kill9();
    fs.writeFileSync(journal, 'not a journal\nat all\n');
    await d.restart();
    c = await d.client();
    assert.deepEqual(await c.call('session/delete', { sessionId: id }), {});
    assert.ok(!fs.existsSync(journal));
    await removed(d);
    for (const odd of ['../sessions', '.', '..', '', 'a/b'])
      assert.deepEqual(await c.call('session/delete', { sessionId: odd }), {});
    assert.ok(fs.existsSync(path.join(d.stateDir, 'sessions')));
  }));

  test("goes with what another user has left in its agent's home", { skip: !root && 'needs root' },
       () => withSession({ flags: { agentUser: 'nobody' } }, async (d, c, id) => {
    const theirs = path.join(homeOf(d, id), 'theirs');

    assert.equal(fs.statSync(homeOf(d, id)).uid, Number(spawnSync('id', ['-u', 'nobody']).stdout));
    fs.mkdirSync(theirs, { mode: 0o700 });
    fs.writeFileSync(path.join(theirs, 'f'), 'x');
    fs.symlinkSync(d.workDir, path.join(homeOf(d, id), 'away'));
    fs.writeFileSync(path.join(d.workDir, 'kept'), 'x');
    await c.call('session/delete', { sessionId: id });
    await removed(d);
    assert.ok(fs.existsSync(path.join(d.workDir, 'kept')));
  }));
});

test("a harness starts although its home's tmp is deep and full", () => withSession({}, async (d, c, id) => {
  const tmp = path.join(homeOf(d, id), 'tmp');

  await c.call('session/close', { sessionId: id });
  fs.mkdirSync(tmp, { recursive: true });
  deepTree(tmp, 5000);
  await c.call('session/load', { sessionId: id, cwd: d.workDir, mcpServers: [] });
  await c.prompt(id, 'again');
  assert.deepEqual(fs.readdirSync(tmp), []);
  await removed(d);
}));
