// SPDX-License-Identifier: Apache-2.0
// The end of the daemon in good order: what is refused, what may end, what is cut off, and that all of it is on record.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { Raw, digestOf, pathOf, put, tarOf, untilOffset } from '../../lib/archives.mjs';
import { Daemon } from '../../lib/daemon.mjs';
import { deadline } from '../../lib/rawws.mjs';
import { beforeEnd, until, withLife } from '../../lib/wait.mjs';
import { turnsOf } from '../ledger.mjs';
import { pushed, shutdown, status } from './rig.mjs';

const HOUR = 3600; // seconds of draining that no test waits for

// It ended as it should: exit 0, no process left, clients closed with 1001. With --drain an hour it did not wait for the end of that.
async function ended(d, clients = [], known = []) {
  assert.deepEqual(await deadline(d.exited, 30000, 'the end of the daemon'), { code: 0, signal: null });
  await d.gone([...known, ...d.ours()], 1000);
  d.checkLogs();
  for (const c of clients) {
    await c.closed;
    assert.deepEqual([c.ws.closeCode, c.ws.closeReason], [1001, 'Server shutting down']);
    assert.deepEqual(c.violations, []);
  }
}

async function begun(d, prompt, opts) {
  const c = await d.client(opts);
  const { sessionId } = await c.newSession();
  const turn = c.startPrompt(sessionId, `echo begun; ${prompt}`);

  await c.waitUpdate((u) => u.update.content?.text === 'begun');
  return { c, sessionId, turn };
}

// The status of a daemon that has not begun to end.
async function ready(d) {
  const said = await status(d);

  assert.equal(said.state, 'ready');
  return said;
}

const reasonOf = async (asked) => (await asked.answer).error?.data.reason;

describe('draining', { concurrency: true }, () => {
  test('nothing new is begun; the turn that runs, those queued and an upload end; then the daemon does', async (t) => {
    const d = await Daemon.startFor(t, { flags: { drain: HOUR } });
    const { c, sessionId, turn } = await begun(d, 'perm p1; echo over');
    const queued = c.startPrompt(sessionId, 'echo second');
    const closed = await c.newSession();
    await c.call('session/close', { sessionId: closed.sessionId });
    const tar = tarOf(100000, 5);
    const upload = await Raw.open(d);
    await upload.request('PUT', pathOf(tar), { 'Content-Length': tar.length });
    await upload.send(tar.subarray(0, 50000));
    await untilOffset(d, tar, 50000);
    assert.equal((await status(d)).work.uploads, 1);

    process.kill(d.pid, 'SIGTERM');
    const said = await until(async () => (await status(d)).draining && status(d), 'it drains');
    assert.deepEqual([said.state, said.draining.why, said.nextDeadline.what], ['draining', 'signal', 'drain']);
    const ready = await d.http('/ready', { token: d.token });
    assert.deepEqual([ready.status, ready.json.notReady.map((p) => p.reason)], [503, ['DRAINING']]);
    assert.ok(Number(ready.headers['retry-after']) > HOUR / 2);
    assert.deepEqual([(await d.http('/health')).status, (await d.http('/health')).body], [200, '{"status":"ok"}']);
    assert.equal(await reasonOf(c.startPrompt(sessionId, 'echo no')), 'DRAINING');
    assert.equal(await reasonOf(c.request('session/new', { cwd: d.workDir, mcpServers: [] })), 'DRAINING');
    assert.equal(await reasonOf(c.request('session/load', { sessionId: closed.sessionId, cwd: d.workDir, mcpServers: [] })), 'DRAINING');
    const other = await put(d, tarOf(3000, 6));
    assert.deepEqual([other.status, other.json.error.reason], [503, 'DRAINING']);
    const late = await d.client(); // a client that has lost its connection sees the end of its turn
    await late.load(sessionId);
    const { id } = await late.waitRequest('session/request_permission');
    late.respond(id, { outcome: { outcome: 'selected', optionId: 'allow' } });
    await late.waitUpdate((u) => u.update.content?.text === 'second');
    assert.equal((await status(d)).state, 'draining', 'the upload holds it');
    await upload.send(tar.subarray(50000));
    assert.equal((await upload.answer()).status, 201);
    await ended(d, [c, late]);
    assert.equal(await reasonOf(turn), 'DETACHED', 'the other client took over');
    assert.equal(await reasonOf(queued), 'DETACHED');
    assert.deepEqual(turnsOf(d, sessionId).map((r) => r.stopReason), ['end_turn', 'end_turn']);
    assert.deepEqual(pushed(c).at(-1).state, 'draining');
    assert.ok(fs.existsSync(path.join(d.stateDir, 'archives', digestOf(tar).slice(7))));
  });

  test('a turn that does not end in time is cut off with a true reason, and is on record', async (t) => {
    const d = await Daemon.startFor(t);
    const { c, sessionId, turn } = await begun(d, 'sleep 60000');
    const known = d.harnesses();
    const { status: code, json } = await shutdown(d, { drainSeconds: 1 });

    assert.deepEqual([code, json.state, json.draining.why], [202, 'draining', 'shutdown']);
    const { error } = await turn.answer;
    assert.deepEqual([error.data.reason, error.data.turn.class, error.data.turn.retryable], ['TURN_FAILED', 'shutdown', true]);
    await ended(d, [c], known);
    assert.deepEqual(turnsOf(d, sessionId).map((r) => [r.turn, r.error?.class ?? r.stopReason]), [[1, 'shutdown']]);
    const i = c.messages.findIndex((m) => m.method === '_acpd/status' && m.params.state === 'draining');
    assert.ok(i >= 0 && i < c.messages.findIndex((m) => m.id === turn.id), 'the state is told before the end of the turn');
    assert.ok(d.logs.some((l) => l.mod === 'life' && l.msg === 'draining is over' && /no time/.test(l.left)));
  });

  test('without work it is over at once; a client of plain ACP sees 1001 only', async (t) => {
    const d = await Daemon.startFor(t, { flags: { drain: HOUR } });
    const [c, plain] = [await d.client(), await d.client({ init: { acpd: false } })];
    await c.newSession();

    process.kill(d.pid, 'SIGTERM');
    await ended(d, [c, plain]);
    assert.deepEqual(pushed(c).at(-1).draining.why, 'signal');
    assert.deepEqual(plain.notifications, []);
  });

  test('a prompt that was cut off may be sent again with its key, and then has its own result, also for the next daemon', async (t) => {
    const d = await Daemon.startFor(t);
    const c = await d.client(), { sessionId } = await c.newSession();
    const file = path.join(d.dir, 'go on');
    const params = { sessionId, prompt: [{ type: 'text', text: `echo begun; hold ${file}; echo done` }], _meta: { acpd: { key: 'job' } } };
    const first = c.request('session/prompt', params);

    await c.waitUpdate((u) => u.update.content?.text === 'begun');
    await shutdown(d, { drainSeconds: 0 });
    assert.equal((await first.answer).error.data.turn.sameKey, true);
    await d.exited;
    fs.writeFileSync(file, '');
    let b;
    for (let life = 0; life < 2; life++) {
      await d.restart();
      b = await d.client();
      await b.load(sessionId);
      if (life === 0)
        assert.equal((await b.fails('session/prompt', { ...params, prompt: [{ type: 'text', text: 'echo other' }] })).data.reason, 'KEY_REUSED');
      const { stopReason, _meta: { acpd } } = await b.call('session/prompt', params);
      assert.deepEqual([stopReason, acpd.turn], ['end_turn', 2]);
      await b.close();
    }
    assert.deepEqual(turnsOf(d, sessionId).map((r) => [r.turn, r.key, r.error?.class ?? r.stopReason]), [[1, 'job', 'shutdown'], [2, 'job', 'end_turn']]);
  });

  test('told again it waits no longer: SIGTERM twice, and /v1/shutdown after it', async (t) => {
    for (const again of [(d) => process.kill(d.pid, 'SIGTERM'), (d) => shutdown(d, { drainSeconds: 0 })]) {
      const d = await Daemon.startFor(t, { flags: { drain: HOUR } });
      const { c, turn } = await begun(d, 'sleep 3600000');
      const known = d.harnesses();

      process.kill(d.pid, 'SIGTERM');
      await until(async () => (await status(d)).draining, 'it drains');
      const longer = await shutdown(d, { drainSeconds: 2 * HOUR });
      assert.ok(Date.parse(longer.json.draining.until) < Date.now() + HOUR * 1000, 'never later');
      assert.equal(longer.json.draining.why, 'signal');
      await again(d);
      assert.equal((await deadline(turn.answer, 30000, 'the end of the turn')).error.data.turn.class, 'shutdown');
      await ended(d, [c], known);
    }
  });

  test('/v1/shutdown: without a body as --drain says; what is wrong changes nothing', async (t) => {
    const d = await Daemon.startFor(t);
    const wrong = [
      ['{"drainSeconds":-1}', 'FIELD_OUT_OF_RANGE'], ['{"drainSeconds":86401}', 'FIELD_OUT_OF_RANGE'], ['{"drainSeconds":"1"}', 'FIELD_INVALID'],
      ['{"drainSeconds":1.5}', 'FIELD_INVALID'], ['{"seconds":1}', 'PARAM_UNSUPPORTED'], ['[]', 'BODY_INVALID'], ['{', 'BODY_INVALID'], ['1 2', 'BODY_INVALID'],
    ];

    for (const [body, reason] of wrong) {
      const { status: code, json } = await shutdown(d, body);
      assert.deepEqual([code, json.error.reason], [400, reason], body);
    }
    const huge = await shutdown(d, `{"drainSeconds":${' '.repeat(5000)}1}`);
    assert.deepEqual([huge.status, huge.json.error.reason], [413, 'BODY_TOO_LARGE']);
    for (const token of [null, 'x'.repeat(32)])
      assert.equal((await shutdown(d, {}, { token })).status, 401);
    assert.equal((await d.http('/v1/shutdown?drainSeconds=1', { method: 'POST', token: d.token })).json.error.reason, 'QUERY_UNKNOWN');
    assert.equal((await d.http('/v1/shutdown', { token: d.token })).status, 405);
    assert.equal((await status(d)).state, 'ready');
    assert.equal((await shutdown(d)).status, 202);
    await ended(d);
  });
});

describe('the daemon ends by itself', { concurrency: true }, () => {
  test('--idle-exit: after the last work, whoever watches; a turn holds it', async (t) => {
    const { d, c, sessionId, idleExit, answer, said } = await withLife(3, async (idleExit) => {
      const d = await Daemon.startFor(t, { flags: { idleExit } });

      return beforeEnd(d, async () => {
        const { c, sessionId, turn } = await begun(d, `sleep ${idleExit * 1000 + 500}; echo over`);
        const answer = await turn.answer, said = await ready(d);

        await (await Raw.open(d)).request('GET', `/v1/sessions/${sessionId}/events?follow=true`);
        return { d, c, sessionId, idleExit, answer, said };
      });
    });

    assert.equal(answer.result?.stopReason, 'end_turn', 'longer than --idle-exit, and not cut off');
    assert.equal(said.nextDeadline.what, 'idleExit');
    const rest = (Date.parse(said.nextDeadline.at) - Date.parse(said.idleSince)) / 1000; // what it did not run in between does not count
    assert.ok(rest > idleExit - 1 && rest < idleExit + 20, `${rest}`);
    await ended(d, [c]);
    assert.deepEqual(pushed(c).at(-1).draining.why, 'idle');
    assert.equal(turnsOf(d, sessionId).length, 1);
  });

  test('--idle-exit with nobody there, not even a claim', async (t) => {
    const d = await Daemon.startFor(t, { token: null, flags: { idleExit: 1 } });

    await ended(d);
    assert.ok(d.logs.some((l) => l.msg === 'draining is over' && l.why === 'idle'));
  });

  test('--max-life in the middle of a turn: told before, recorded, nothing left', async (t) => {
    const { d, c, sessionId, turn, nextDeadline, known } = await withLife(6, async (maxLife) => {
      const d = await Daemon.startFor(t, { flags: { maxLife, drain: 1 } });

      return beforeEnd(d, async () => ({ d, ...await begun(d, 'fork setsid; sleep 60000'), ...await ready(d), known: d.ours() }));
    });

    assert.equal(nextDeadline.what, 'maxLife');
    assert.equal((await turn.answer).error.data.turn.class, 'shutdown');
    await ended(d, [c], known);
    assert.deepEqual(turnsOf(d, sessionId).map((r) => r.error?.class), ['shutdown']);
    assert.deepEqual(pushed(c).at(-1).draining.why, 'maxLife');
    assert.equal(d.logs.filter((l) => l.msg === 'draining is over').length, 1);
    await d.restart({ flags: {} });
    const o = await d.client();
    await o.load(sessionId);
    assert.equal(o.messages.filter((m) => m.method === '_acpd/turn_end').length, 1, 'the next daemon knows how it ended');
    await o.close();
  });
});
