// SPDX-License-Identifier: Apache-2.0
// What the daemon says of itself: state, work, deadlines and lease, asked for and pushed.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { gate } from '../../lib/gate.mjs';
import { constant } from '../../lib/tables.mjs';
import { sleep } from '../../lib/rawws.mjs';
import { until, withLimit } from '../../lib/wait.mjs';
import { acpd } from '../run.mjs';
import { pushed, status } from './rig.mjs';

const HORIZON = constant('LEASE_HORIZON_SECS');
const GRACE = constant('LEASE_GRACE_SECS');
const PUSH_MS = constant('STATUS_PUSH_MS');
const NOTHING = { turns: 0, queued: 0, questions: 0, toolCalls: 0, modelCalls: 0, jobs: 0, waiting: 0, uploads: 0 };

let d;
before(async () => { d = await Daemon.start({ flags: { permissionTimeout: 100, harnessMax: 100 } }); });
after(() => endInOrder(d));

const seconds = (text, from = Date.now()) => (Date.parse(text) - from) / 1000;
const about = (value, want, what) => assert.ok(value > want - 20 && value <= want + 1, `${what}: ${value}, not ${want}`);

test('at rest: ready, idle since its last work, the lease a grace after that', async () => {
  const { state, busy, idleSince, work, leaseUntil, leaseSeconds, nextDeadline, draining } = await status(d);

  assert.deepEqual({ state, busy, work, nextDeadline, draining }, { state: 'ready', busy: false, work: NOTHING, nextDeadline: undefined, draining: undefined });
  const lease = seconds(leaseUntil, Date.parse(idleSince)); // what it did not run in between does not count

  assert.ok(lease > GRACE - 1 && lease < GRACE + 20, `${lease}`);
  assert.ok(Math.abs(leaseSeconds - seconds(leaseUntil)) <= 2);
  const c = await d.client();
  const said = await c.call('_acpd/status');
  assert.deepEqual([said.state, said.idleSince, said.work], [state, idleSince, work], '_acpd/status says the same');
  await c.close();
});

test('a turn: busy, its open calls and questions, the budget of seconds as the next deadline, the lease ahead of it all', async () => {
  const c = await d.client();
  const { sessionId } = await c.newSession({ meta: { budgets: { turn: { seconds: 50 }, session: { seconds: 1000 } } } });
  const turn = c.startPrompt(sessionId, 'toolopen one; perm p1');

  await c.waitRequest('session/request_permission');
  const { state, busy, idleSince, work, leaseUntil, nextDeadline } = await status(d);
  assert.deepEqual([state, busy, idleSince], ['ready', true, undefined]);
  assert.deepEqual(work, { ...NOTHING, turns: 1, questions: 1, toolCalls: work.toolCalls });
  assert.ok(work.toolCalls >= 1);
  about(seconds(leaseUntil), HORIZON, 'lease');
  assert.deepEqual([nextDeadline.what, nextDeadline.sessionId], ['turnSeconds', sessionId]);
  about(seconds(nextDeadline.at), 50, 'the budget of the turn');

  const queued = c.startPrompt(sessionId, 'echo next');
  await until(async () => (await status(d)).work.queued === 1, 'the second prompt is counted');
  c.notify('session/cancel', { sessionId });
  assert.equal((await turn.answer).result.stopReason, 'cancelled');
  await queued.answer;
  await c.call('session/delete', { sessionId });
  await until(async () => !(await status(d)).busy, 'it rests again');
  await c.close();
});

test('of a session: its model, what it has used, and how much of its budgets', async () => {
  const c = await d.client();
  const { sessionId } = await c.newSession({ meta: { budgets: { turn: { toolCalls: 4 }, session: { tokens: 5000 } } } });
  const one = async () => (await d.http(`/v1/sessions/${sessionId}`, { token: d.token })).json;

  assert.deepEqual([(await one()).used, (await one()).budgets], [undefined, [{ budget: 'tokens', scope: 'session', limit: 5000, used: 0 }]]);
  await c.prompt(sessionId, 'tokens {"inputTokens":1000,"outputTokens":200,"totalTokens":1200}; echo done');
  const after = await one();
  assert.equal(after.model, 'stub-small');
  assert.deepEqual(after.used, { turns: 1, modelCalls: 0, usage: { inputTokens: 1000, outputTokens: 200, totalTokens: 1200 } });
  assert.deepEqual(after.budgets, [{ budget: 'tokens', scope: 'session', limit: 5000, used: 1200 }]);

  const { answer } = c.startPrompt(sessionId, 'toolopen one; toolopen two; perm p1', { meta: { acpd: { budgets: { toolCalls: 9 } } } });
  await c.waitRequest('session/request_permission');
  assert.deepEqual((await one()).budgets, [{ budget: 'toolCalls', scope: 'prompt', limit: 9, used: 3 },
    { budget: 'toolCalls', scope: 'turn', limit: 4, used: 3 }, { budget: 'tokens', scope: 'session', limit: 5000, used: 1200 }]);
  c.notify('session/cancel', { sessionId });
  await answer;
  const plain = (await c.newSession()).sessionId;
  assert.equal('budgets' in (await d.http(`/v1/sessions/${plain}`, { token: d.token })).json, false);
  for (const id of [sessionId, plain])
    await c.call('session/delete', { sessionId: id });
  await until(async () => !(await status(d)).busy, 'it rests again');
  await c.close();
});

test('a question that nobody can answer: its time-out is the next deadline', async () => {
  const c = await d.client();
  const { sessionId } = await c.newSession();

  c.startPrompt(sessionId, 'perm p1');
  await c.waitRequest('session/request_permission');
  await c.close();
  const { nextDeadline } = await until(async () => {
    const said = await status(d);
    return said.nextDeadline && said;
  }, 'the time-out runs');
  assert.deepEqual([nextDeadline.what, nextDeadline.sessionId], ['permissionTimeout', sessionId]);
  about(seconds(nextDeadline.at), 100, 'the time-out');
  const o = await d.client();
  await o.call('session/delete', { sessionId });
  await o.close();
});

test('the harness of a session that nobody drives: its end is the next deadline', async () => {
  const c = await d.client();
  const { sessionId } = await c.newSession();

  await c.close();
  const { busy, nextDeadline } = await until(async () => {
    const said = await status(d);
    return said.nextDeadline && said;
  }, 'it is alone');
  assert.deepEqual([busy, nextDeadline.what, nextDeadline.sessionId], [false, 'harnessIdle', sessionId]);
  about(seconds(nextDeadline.at), constant('HARNESS_IDLE_SECS'), '--harness-idle');
  const o = await d.client();
  await o.call('session/delete', { sessionId });
  await o.close();
});

describe('pushed', () => {
  test('in order, to clients that announced acpd and to no other; nothing without a change', async () => {
    const [c, watcher, plain] = [await d.client(), await d.client(), await d.client({ init: { acpd: false } })];
    const { sessionId } = await c.newSession();

    const quiet = async (ms) => { // what is late on a busy machine is of a change before
      for (const client of [c, watcher])
        client.messages.length = 0;
      await sleep(ms);
      return [...pushed(c), ...pushed(watcher)];
    };
    assert.deepEqual(await withLimit(2 * PUSH_MS, quiet, (told) => told.length), [], 'nothing has changed');
    const { step, open } = gate(d);
    const turn = c.startPrompt(sessionId, `${step}; echo done`);
    await until(() => [c, watcher].every((client) => pushed(client).at(-1)?.busy), 'the begin is told');
    open();
    await turn.answer;
    await until(() => [c, watcher].every((client) => pushed(client).at(-1).busy === false), 'the end is told');
    for (const client of [c, watcher]) {
      const told = pushed(client).map(({ state, busy, work }) => ({ state, busy, turns: work.turns }));

      assert.deepEqual(told, [{ state: 'ready', busy: true, turns: 1 }, { state: 'ready', busy: false, turns: 0 }]);
    }
    assert.equal(pushed(watcher)[0].incarnation, watcher.initializeResult.agentCapabilities._meta.acpd.incarnation);
    assert.deepEqual(plain.notifications, []);
    await c.call('session/delete', { sessionId });
    await Promise.all([c, watcher, plain].map((client) => client.close()));
  });

  test('100 sessions whose turns come and go: a few a second, and the last one is true', async () => {
    const [c, watcher] = [await d.client({ record: false, validate: 'none' }), await d.client()];
    const ids = await Promise.all(Array.from({ length: 100 }, async () => (await c.newSession()).sessionId));

    await sleep(2 * PUSH_MS);
    watcher.messages.length = 0;
    const begun = Date.now();
    const flap = async (id, i) => {
      while (Date.now() < begun + 2000) {
        await c.prompt(id, 'echo x');
        await sleep(5 + (i % 7) * 3);
      }
    };
    await Promise.all(ids.map(flap));
    const took = Date.now() - begun;
    await until(() => pushed(watcher).at(-1)?.busy === false, 'the end is told');
    const n = pushed(watcher).length;
    assert.ok(n >= 2 && n <= took / PUSH_MS + 4, `${n} in ${took} ms`);
    assert.deepEqual(pushed(watcher).at(-1).work, NOTHING);
    await Promise.all(ids.map((sessionId) => c.call('session/delete', { sessionId })));
    await Promise.all([c, watcher].map((client) => client.close()));
  });

  test('a client that does not read has one waiting, not one for each change', async () => {
    const [c, slow] = [await d.client(), await d.client()];
    const { sessionId } = await c.newSession();

    await sleep(2 * PUSH_MS);
    slow.messages.length = 0;
    slow.ws.pause();
    for (let i = 0; i < 3; i++) {
      await c.prompt(sessionId, 'echo x');
      await sleep(PUSH_MS);
    }
    slow.ws.resume();
    await until(() => pushed(slow).at(-1)?.busy === false, 'the newest arrives');
    await c.call('session/delete', { sessionId });
    await Promise.all([c, slow].map((client) => client.close()));
  });
});

test('provisioning until it is claimed, ready from then on', async (t) => {
  const own = await Daemon.startFor(t, { token: null });
  const refused = await own.http('/v1/status', { token: d.token });

  assert.deepEqual([refused.status, refused.json.error.reason], [503, 'UNCLAIMED']);
  assert.equal((await acpd(['claim', '--run-dir', own.runDir], { input: d.token })).code, 0);
  own.token = d.token;
  assert.equal((await status(own)).state, 'ready');
  const { from, to } = await own.waitLog((l) => l.mod === 'life' && l.msg === 'state');
  assert.deepEqual([from, to], ['provisioning', 'ready']);
});

test('GET /v1/status takes no query and needs the token', async () => {
  assert.equal((await d.http('/v1/status')).status, 401);
  const { status: code, json } = await d.http('/v1/status?x=1', { token: d.token });
  assert.deepEqual([code, json.error.reason], [400, 'QUERY_UNKNOWN']);
});
