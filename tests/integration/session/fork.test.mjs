// SPDX-License-Identifier: Apache-2.0
// session/fork: the history and the context of a session under a new id; the original stays what it was.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test, describe, before, after } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { until, withLimit } from '../../lib/wait.mjs';
import { homeOf, homely, journalOf, running, turnsOf } from '../ledger.mjs';

const capabilities = { loadSession: true };
const HARNESSES = [
  { ...homely(), capabilities },
  { ...homely('forgets', ['--no-load']) },
];

let d, c;

before(async () => {
  d = await Daemon.start({ harnesses: HARNESSES });
  c = await d.client();
});

after(() => endInOrder(d, c));

const params = (sessionId, acpd, cwd = d.workDir) => ({ sessionId, cwd, mcpServers: [], ...(acpd && { _meta: { acpd } }) });
const fork = (client, sessionId, acpd) => client.call('session/fork', params(sessionId, acpd), { timeout: 30000 });
const recalled = async (client, sessionId) => {
  const from = client.updates.length;

  await client.prompt(sessionId, 'RECALL');
  return JSON.parse(client.chunks(sessionId, from).at(-1));
};

// What a load shows, without what differs by design: the id.
async function history(sessionId) {
  const own = await d.client();

  await own.load(sessionId);
  const seen = own.messages.filter((m) => m.method && m.params?.sessionId === sessionId)
    .map((m) => JSON.parse(JSON.stringify(m).replaceAll(sessionId, 'ID')));
  await own.close();
  return seen;
}

async function source(text = 'echo one; tool t1 read A; title Named', meta = {}) {
  const { sessionId } = await c.newSession({ meta: { harness: 'homely', ...meta } });

  await c.prompt(sessionId, text);
  return sessionId;
}

const processes = () => d.harnesses().length;
const leaves = (dir) => fs.readdirSync(path.join(d.stateDir, dir)).sort();

describe('what the new session is', () => {
  test('history, title, numbers and context of the original, and its settings; both go on apart', async () => {
    const from = await source(undefined, { billingRef: 'tenant', model: 'stub-large', mode: 'code' });
    const was = await history(from);
    const bytes = fs.readFileSync(journalOf(d, from));
    await c.load(from);
    const { sessionId, ...rest } = await fork(c, from, { configVersion: '9' });

    assert.notEqual(sessionId, from);
    assert.equal(rest._meta.acpd.harness, 'homely');
    assert.equal(rest._meta.acpd.context, 'kept');
    assert.equal(rest.modes.currentModeId, 'code');
    assert.equal(rest.configOptions.find((o) => o.id === 'model').currentValue, 'stub-large');
    assert.ok(fs.readFileSync(journalOf(d, from)).subarray(0, bytes.length).equals(bytes), 'the original only grows');
    const copy = await history(sessionId);
    assert.deepEqual(copy.slice(0, 6), was.slice(0, 6));
    const turnEnd = (list) => list.find((m) => m.method === '_acpd/turn_end');
    assert.deepEqual(turnEnd(copy), turnEnd(was));
    assert.ok(!fs.readFileSync(journalOf(d, sessionId), 'utf8').includes(from), 'the old id is nowhere in it');
    const list = (await c.call('session/list', {})).sessions;
    assert.equal(list.find((s) => s.sessionId === sessionId).title, 'Named');

    const own = await d.client();
    await own.load(sessionId);
    await own.load(from);
    assert.equal((await own.prompt(sessionId, 'echo only in the fork'))._meta.acpd.turn, 2);
    assert.equal((await own.prompt(from, 'echo only in the original'))._meta.acpd.turn, 2);
    assert.deepEqual((await recalled(own, sessionId)).map((x) => x.slice(0, 21)), ['echo one; tool t1 rea', 'echo only in the fork']);
    assert.deepEqual((await recalled(own, from)).map((x) => x.slice(0, 21)), ['echo one; tool t1 rea', 'echo only in the orig']);
    await own.close();
    const [r] = turnsOf(d, sessionId);
    assert.deepEqual([r.turn, r.billingRef, r.configVersion, r.cumulative.turns], [2, 'tenant', '9', 1]);
    assert.equal(turnsOf(d, from).length, 3);
  });

  test('files of the home: links stay links, nothing outside is read', async () => {
    const outside = path.join(d.dir, 'outside');
    fs.writeFileSync(outside, 'not to be copied');
    const from = await source();
    const home = homeOf(d, from);

    fs.mkdirSync(path.join(home, 'deep/er'), { recursive: true });
    fs.writeFileSync(path.join(home, 'deep/er/file'), 'content', { mode: 0o640 });
    fs.symlinkSync(outside, path.join(home, 'link'));
    fs.symlinkSync('/nonexistent', path.join(home, 'dangling'));
    fs.symlinkSync('..', path.join(home, 'deep/loop'));
    fs.writeFileSync(path.join(home, '-rf'), 'odd name');
    const { sessionId } = await fork(c, from);
    const copy = homeOf(d, sessionId);
    assert.equal(fs.readFileSync(path.join(copy, 'deep/er/file'), 'utf8'), 'content');
    assert.equal(fs.statSync(path.join(copy, 'deep/er/file')).mode & 0o777, 0o640);
    assert.equal(fs.readlinkSync(path.join(copy, 'link')), outside);
    assert.equal(fs.readlinkSync(path.join(copy, 'dangling')), '/nonexistent');
    assert.equal(fs.readlinkSync(path.join(copy, 'deep/loop')), '..');
    assert.equal(fs.readFileSync(path.join(copy, '-rf'), 'utf8'), 'odd name');
    assert.equal(fs.statSync(copy).mode & 0o777, fs.statSync(home).mode & 0o777);
    await c.call('session/delete', { sessionId });
    assert.ok(fs.existsSync(outside) && fs.existsSync(path.join(home, 'link')), 'deleting the fork takes nothing else');
  });

  test('a fork of a fork; of a closed session', async () => {
    const from = await source();
    const first = (await fork(c, from)).sessionId;

    await c.prompt(first, 'echo two');
    await c.call('session/close', { sessionId: first });
    const second = (await fork(c, first)).sessionId;
    assert.equal((await recalled(c, second)).length, 2);
    assert.equal((await c.call('_acpd/status', { sessionId: first })).sessions[0].state, 'closed', 'it stays closed');
    assert.equal((await recalled(c, from)).length, 1);
  });

  test('prompts to the original in the meantime are queued and run', async () => {
    const from = await source();
    const asked = c.request('session/fork', params(from));
    const prompts = ['a', 'b'].map((x) => c.startPrompt(from, `echo ${x}`));

    assert.ok((await asked.answer).result.sessionId);
    for (const { answer } of prompts)
      assert.equal((await answer).result.stopReason, 'end_turn');
    assert.equal((await recalled(c, (await asked.answer).result.sessionId)).length, 1, 'they are not in the fork');
  });

  test('four forks at once', async () => {
    const from = await source();
    const all = await Promise.all(Array.from({ length: 4 }, () => fork(c, from)));

    assert.equal(new Set(all.map((x) => x.sessionId)).size, 4);
    for (const { sessionId } of all) {
      assert.equal((await recalled(c, sessionId)).length, 1);
      await c.call('session/delete', { sessionId });
    }
    assert.equal((await recalled(c, from)).length, 1);
  });
});

describe('what is refused, and leaves nothing', () => {
  test('a busy session, waiting prompts included; afterwards it works', async () => {
    const from = await source();
    const { answer } = await running(c, from, 'on', 'sleep 60000');
    const homes = leaves('homes');
    const error = await c.fails('session/fork', params(from));

    assert.deepEqual([error.code, error.data.reason], [-32600, 'SESSION_BUSY']);
    assert.deepEqual(leaves('homes'), homes);
    c.cancel(from);
    assert.equal((await answer).result.stopReason, 'cancelled');
    assert.ok((await fork(c, from)).sessionId);
  });

  test('no such session, another cwd, a harness that cannot, a bad parameter, an unknown model', async () => {
    const from = await source();
    const forgets = (await c.newSession({ meta: { harness: 'forgets' } })).sessionId;
    const was = [leaves('homes'), leaves('sessions'), processes()];

    for (const [sent, code, reason] of [
      [params('nobody'), -32002, 'SESSION_NOT_FOUND'],
      [params(from, undefined, d.dir), -32602, 'CWD_MISMATCH'],
      [params(forgets), -32601, 'FORK_UNSUPPORTED'],
      [params(from, { policy: { approval: 'x' } }), -32602, 'FIELD_INVALID'],
      [params(from, { model: 'nope' }), -32602, 'MODEL_UNKNOWN'],
      [params(from, { mode: 'nope' }), -32602, 'MODE_UNKNOWN'],
    ]) {
      const error = await c.fails('session/fork', sent);

      assert.deepEqual([error.code, error.data.reason], [code, reason]);
    }
    await c.prompt(from, 'echo on'); // a refused fork may have stopped its harness
    await until(() => {
      const now = [leaves('homes'), leaves('sessions'), processes()];

      return JSON.stringify(now) === JSON.stringify(was);
    }, 'nothing is left').catch(() => assert.deepEqual([leaves('homes'), leaves('sessions'), processes()], was));
  });
});

describe('when something happens in the middle', () => {
  // A home that takes a while to copy.
  const fill = (sessionId, files = 3000) => {
    for (let i = 0; i < files; i++)
      fs.writeFileSync(path.join(homeOf(d, sessionId), `f${i}`), 'x'.repeat(2000));
  };

  for (const [what, act] of [
    ['the original is deleted', (from) => c.call('session/delete', { sessionId: from })],
    ['the original is closed', (from) => c.call('session/close', { sessionId: from })],
  ]) {
    test(`${what}: the fork is whole or refused, and nothing stays`, async () => {
      const from = await source();
      fill(from);
      const asked = c.request('session/fork', params(from));
      await act(from);
      const { result, error } = await asked.answer;

      if (error) {
        assert.equal(error.code, -32603);
        assert.match(error.data.reason, /^(FORK_FAILED|SESSION_CLOSING)$/);
      } else {
        assert.deepEqual((await recalled(c, result.sessionId)).length, 1);
        await c.call('session/delete', { sessionId: result.sessionId });
      }
      if (what.includes('deleted'))
        await until(() => !fs.existsSync(homeOf(d, from)), 'the home is gone');
      await until(() => !d.descendants().some((p) => p.comm === 'cp'), 'no cp');
    });
  }

  test('the client goes away: nothing is left of it', async () => {
    const goes = async (files) => { // whole: the client was still there when it was done
      const from = await source();
      fill(from, files);
      const homes = leaves('homes');
      const own = await d.client();
      const listed = async () => (await c.call('session/list', {})).sessions.map((s) => s.sessionId);
      const before = await listed();
      own.request('session/fork', params(from)).answer.catch(() => {});
      await until(() => leaves('homes').length > homes.length, 'it has begun');
      own.ws.destroy();
      const whole = await until(async () => (await listed()).find((id) => !before.includes(id)) ??
        JSON.stringify(leaves('homes')) === JSON.stringify(homes), 'it is gone');
      if (whole !== true)
        await c.call('session/delete', { sessionId: whole });
      return { from, whole };
    };
    const { from, whole } = await withLimit(3000, goes, (r) => r.whole !== true, 3);

    assert.equal(whole, true, 'it is gone');
    assert.equal((await c.prompt(from, 'echo on')).stopReason, 'end_turn');
  });
});

test('a recovered session can be forked, also while its daemon ends', async () => {
  const own = await Daemon.start({ harnesses: HARNESSES });

  try {
    const a = await own.client();
    const { sessionId } = await a.newSession({ meta: { harness: 'homely' } });
    await a.prompt(sessionId, 'echo one');
    await a.close();
    await own.restart();
    const b = await own.client();
    const made = await b.call('session/fork', { sessionId, cwd: own.workDir, mcpServers: [] }, { timeout: 30000 });
    assert.equal((await recalled(b, made.sessionId)).length, 1);
    b.request('session/fork', { sessionId, cwd: own.workDir, mcpServers: [] });
    await b.call('_acpd/status', {});
    await own.stop({ keep: true });
    await own.restart();
    const e = await own.client();
    const ids = (await e.call('session/list', {})).sessions.map((s) => s.sessionId);
    assert.ok(ids.includes(sessionId) && ids.includes(made.sessionId));
    await e.load(made.sessionId);
    assert.equal((await recalled(e, made.sessionId)).length, 1);
    await e.close();
    await own.stop();
  } finally {
    await own.discard();
  }
});
