// SPDX-License-Identifier: Apache-2.0
// The daemon and all below it stopped for longer than every time-out: nothing is taken for silent, and no
// budget pays for a time in which nobody ran.

import assert from 'node:assert/strict';
import { test, after } from 'node:test';
import { Daemon, SANITIZED } from '../../lib/daemon.mjs';
import { Freezer } from '../../lib/freezer.mjs';
import { RawOrchestrator, givenServers } from '../../lib/mcp-orchestrators.mjs';
import { openClient } from '../../lib/mcp-relay.mjs';
import { ModelConnection, STUB_WITH_PROVIDER, connectTaker, listenerOf } from '../../lib/model-calls.mjs';
import { SLOW, assertNoViolations, deadline, sleep } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';
import { records, running, turnsOf, verify } from '../ledger.mjs';
import { sandboxed } from './away.mjs';

const FROZEN_MS = 6000;

after(assertNoViolations);

test('a freeze beyond ping time-out and budget drops no client and charges no second', { timeout: 240000 * SLOW }, async (t) => {
  const d = await Daemon.startFor(t, { flags: { pingInterval: 1, pingTimeout: 4 } });
  // they look at no schema: to compile one takes a busy machine longer than that, and meanwhile no ping is answered
  const c = await d.client({ validate: 'none' }), idle = await d.client({ validate: 'none' });
  const { sessionId } = await c.newSession({ meta: { budgets: { turn: { seconds: 5 } } } });
  const turn = c.prompt(sessionId, 'sleep 60000');

  await sleep(1200);
  await (await Freezer.of(t, d, 'signals')).during(() => sleep(FROZEN_MS));
  const result = await turn;

  assert.equal(result._meta.acpd.stopDetail.budget, 'seconds');
  const [record] = turnsOf(d, sessionId);
  const whole = Date.parse(record.tsEnd) - Date.parse(record.tsStart); // by the wall

  assert.ok(whole > 5000 + FROZEN_MS - 1500, `the budget has not been charged for the freeze: ${whole} ms`);
  assert.ok(record.durationMs < 5000 + FROZEN_MS / 2, `the freeze is no part of the turn: ${record.durationMs}`);
  assert.ok((await idle.call('_acpd/status', {})).incarnation, 'the idle client is still there');
  assert.ok(d.logs.some((l) => l.text === 'was not running' || l.msg === 'was not running'));
  assert.ok(!d.logs.some((l) => l.reason === 'silent'));
});

test('a client that is dead is still found silent after a freeze', { timeout: 240000 * SLOW }, async (t) => {
  const d = await Daemon.startFor(t, { flags: { pingInterval: 1, pingTimeout: 1 } });
  const dead = await d.ws({ autoPong: false });

  await (await Freezer.of(t, d)).during(() => sleep(3000));
  await dead.closed;
  await d.waitLog((l) => l.reason === 'silent');
});

const LIMIT = 5; // seconds of every time-out; what is open when the freeze begins is done within what is left of it

const DID = '{"resultType":"complete","content":[{"type":"text","text":"did it"}]}';

// Nobody of the session's is there any more, and the daemon knows it.
async function left(d, client, sessionId) {
  const watcher = await d.client();

  client.ws.reset();
  await until(async () => (await watcher.call('_acpd/status', { sessionId })).sessions[0].watchers === 0, 'nobody is there');
  await watcher.close();
}

// What is open when everything stops. Each begins something that a time-out of LIMIT seconds ends, and gives what has to be done when it
// goes on: that thing has come to its good end then.
const OPEN = {
  async 'a turn with a budget of seconds'(t, d) {
    const c = await d.client();
    const { sessionId } = await c.newSession({ meta: { budgets: { turn: { seconds: LIMIT } } } });
    const { answer } = await running(c, sessionId, 'on', 'sleep 1500; echo off');

    return async () => {
      assert.equal((await answer).result?.stopReason, 'end_turn');
      assert.ok(turnsOf(d, sessionId)[0].durationMs < FROZEN_MS, `${turnsOf(d, sessionId)[0].durationMs} ms`);
    };
  },
  async 'a question whose client has gone'(t, d) {
    const c = await d.client();
    const { sessionId } = await c.newSession();

    c.startPrompt(sessionId, 'perm p');
    await c.waitRequest('session/request_permission');
    await left(d, c, sessionId);
    return async () => {
      const again = await d.client();

      again.onPermission('allow');
      await again.load(sessionId);
      await again.waitUpdate((u) => u.update.content?.text === 'permission:allow');
      assert.equal((await again.waitFor((m) => m.method === '_acpd/turn_end')).params.stopReason, 'end_turn');
    };
  },
  async 'a tool call that may take so long'(t, d) {
    const o = await RawOrchestrator.connect(d, { 'tools/call': () => {} });
    const { sessionId } = await o.newSession({ meta: { mcp: { policy: { tools: { timeoutMs: LIMIT * 1000 } } } } });
    const c = await openClient(t, (await givenServers(o.client, sessionId))[0]);
    const { answer } = c.begin('tools/call', { name: 'raw', arguments: {} });

    await until(() => o.of('tools/call').length, 'the call');
    return async () => {
      o.of('tools/call')[0].result(DID);
      assert.equal((await deadline(answer, 5000, 'the answer')).msg.result.content?.[0].text, 'did it');
    };
  },
  async 'a tool call that waits for a driver'(t, d) {
    const o = await RawOrchestrator.connect(d);
    const { sessionId } = await o.newSession();
    const c = await openClient(t, (await givenServers(o.client, sessionId))[0]);

    await left(d, o.client, sessionId);
    const { answer } = c.begin('tools/call', { name: 'raw', arguments: {} });
    return async () => {
      const next = await RawOrchestrator.connect(d, { 'tools/call': (call) => call.result(DID) });

      await next.client.resumeSession(sessionId, { mcpServers: [next.declaration()] });
      assert.equal((await deadline(answer, 5000, 'the answer')).msg.result.content?.[0].text, 'did it');
    };
  },
  async 'a model call that waits for a client'(t, d) {
    const one = await connectTaker(d);
    const { sessionId } = await one.newSession();
    const g = await ModelConnection.open(listenerOf(sessionId));

    t.after(() => g.close());
    await left(d, one.c, sessionId);
    g.send();
    return async () => {
      const two = await connectTaker(d);

      await two.c.resumeSession(sessionId);
      two.answer((await two.asked()).callId);
      assert.equal((await g.head()).status, 200);
    };
  },
  async 'a harness that starts'(t, d) {
    const c = await d.client();
    const begun = c.newSession({ meta: { harness: 'slow' } });

    await sleep(100);
    return async () => {
      const { sessionId } = await begun;

      assert.equal((await c.prompt(sessionId, 'echo hello')).stopReason, 'end_turn');
    };
  },
};

test('a freeze beyond every time-out: nothing is late, and all that was open is done', { timeout: 240000 * SLOW }, async (t) => {
  const d = await sandboxed(t, 'i-one', {
    flags: { pingInterval: 1, pingTimeout: LIMIT - 1, permissionTimeout: LIMIT, mcpHold: LIMIT, modelHold: LIMIT, harnessIdle: LIMIT },
    stub: { args: ['--resume'] }, harnesses: [STUB_WITH_PROVIDER, { id: 'slow', args: ['--init-delay', '1500'] }],
  });
  const idle = await d.client();
  const freezer = await Freezer.of(t, d);
  const open = await Promise.all(Object.entries(OPEN).map(async ([what, begin]) => [what, await begin(t, d)]));
  const children = d.descendants().length;

  t.diagnostic(`frozen by ${freezer.kind}`);
  await freezer.during(() => sleep(FROZEN_MS));
  await Promise.all(open.map(async ([what, done]) => {
    try {
      await done();
    } catch (e) {
      assert.fail(`${what}: ${e.stack}`);
    }
  }));
  assert.ok((await idle.call('_acpd/status', {})).incarnation, 'it is still connected');
  assert.ok(d.descendants().length >= children, 'no harness was idle');
  assert.ok(d.logs.some((l) => l.msg === 'was not running'));
  assert.ok(!d.logs.some((l) => l.reason === 'silent'));
  assert.ok(records(d).filter((r) => r.type === 'turn').every((r) => r.stopReason === 'end_turn' && !r.error), 'every turn ends well');
  verify(d);
});

test('a machine that was paused: frozen, and then its clock is set and its id written', { timeout: 240000 * SLOW, skip: SANITIZED && 'nothing is loaded before a sanitizer' },
  async (t) => {
    const GAP = 3600 * 1000;
    const d = await sandboxed(t, 'i-one', { clock: 'told', flags: { pingInterval: 1, pingTimeout: 4 } });
    const c = await d.client();
    const freezer = await Freezer.of(t, d);
    const { sessionId } = await c.newSession({ meta: { budgets: { turn: { seconds: LIMIT } } } });

    await running(c, sessionId, 'on', 'sleep 1500; echo off', { acpd: { key: 'one' } });
    await freezer.during(async () => {
      await sleep(FROZEN_MS);
      d.step(GAP);
      d.become('i-one');
    });
    await deadline(c.ws.closed, 5000, 'the reset');
    const again = await d.client();
    const { params } = await again.waitFor((m) => m.method === '_acpd/resumed');

    assert.ok(params.gapMs >= GAP - 1000 && params.gapMs < GAP + 2 * FROZEN_MS, `${params.gapMs}`);
    assert.equal(params.incarnation, c.initializeResult.agentCapabilities._meta.acpd.incarnation);
    await again.load(sessionId);
    const result = await again.prompt(sessionId, 'echo on; sleep 1500; echo off', { meta: { acpd: { key: 'one' } } });

    assert.equal(result.stopReason, 'end_turn', 'the budget has not been charged');
    assert.equal(turnsOf(d, sessionId).length, 1);
    assert.ok(turnsOf(d, sessionId)[0].durationMs < FROZEN_MS);
  });
