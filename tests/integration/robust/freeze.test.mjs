// SPDX-License-Identifier: Apache-2.0
// build: both
// The daemon and all below it stopped for longer than every time-out: nothing is taken for silent, and no
// budget pays for a time in which nobody ran.

import assert from 'node:assert/strict';
import { test, after } from 'node:test';
import { Daemon, SANITIZED } from '../../lib/daemon.mjs';
import { Freezer } from '../../lib/freezer.mjs';
import { RawOrchestrator, givenServers } from '../../lib/mcp-orchestrators.mjs';
import { openClient } from '../../lib/mcp-relay.mjs';
import { ModelConnection, STUB_WITH_PROVIDER, connectTaker, listenerOf } from '../../lib/model-calls.mjs';
import * as procs from '../../lib/procs.mjs';
import { SLOW, assertNoViolations, deadline, sleep } from '../../lib/rawws.mjs';
import { until, withLimit } from '../../lib/wait.mjs';
import { records, running, turnsOf, verify } from '../ledger.mjs';
import { resumed, sandboxed } from './away.mjs';

const LIMIT = 5; // seconds that a freeze must not use up, and of which all that is awake needs its part

after(assertNoViolations);

// One try: {error}, and whether the machine has needed the limit while nothing was frozen.
async function tried(t, body, seconds) {
  const frozenMs = 1000 * (seconds + 1), begun = Date.now();
  let frozen = 0;
  const freeze = async (freezer, more = () => {}) => {
    const from = Date.now();

    await freezer.during(async () => {
      await sleep(frozenMs);
      await more();
    });
    frozen += Date.now() - from;
  };

  try {
    await body(t, { seconds, frozenMs, freeze });
    return {};
  } catch (error) {
    return { error, late: Date.now() - begun - frozen > 1000 * seconds - 1500 };
  }
}

// A test of a limit of so many seconds; freeze(freezer, more) holds all for longer than that, and does more() meanwhile.
const beyond = (body) => async (t) => {
  const { error } = await withLimit(LIMIT, (seconds) => tried(t, body, seconds), ({ late }) => late, 4);

  if (error)
    throw error;
};

test('a freeze beyond ping time-out and budget drops no client and charges no second', { timeout: 600000 * SLOW }, beyond(async (t, { seconds, frozenMs, freeze }) => {
  const d = await Daemon.startFor(t, { flags: { pingInterval: 1, pingTimeout: seconds - 1 } });
  // they look at no schema: to compile one takes a busy machine longer than that, and meanwhile no ping is answered
  const c = await d.client({ validate: 'none' }), idle = await d.client({ validate: 'none' });
  const { sessionId } = await c.newSession({ meta: { budgets: { turn: { seconds } } } });
  const turn = c.prompt(sessionId, 'sleep 60000');

  await sleep(1200);
  await freeze(await Freezer.of(t, d, 'signals'));
  const result = await turn;

  assert.equal(result._meta.acpd.stopDetail.budget, 'seconds');
  const [record] = turnsOf(d, sessionId);
  const whole = Date.parse(record.tsEnd) - Date.parse(record.tsStart); // by the wall

  assert.ok(whole > 1000 * seconds + frozenMs - 1500, `the budget has not been charged for the freeze: ${whole} ms`);
  assert.ok(record.durationMs < whole - frozenMs / 2, `the freeze is no part of the turn: ${record.durationMs} of ${whole} ms`);
  assert.ok((await idle.call('_acpd/status', {})).incarnation, 'the idle client is still there');
  await d.waitLog((l) => l.text === 'was not running' || l.msg === 'was not running');
  assert.ok(!d.logs.some((l) => l.reason === 'silent'));
}));

test('a client that is dead is still found silent after a freeze', { timeout: 240000 * SLOW }, async (t) => {
  const d = await Daemon.startFor(t, { flags: { pingInterval: 1, pingTimeout: 1 } });
  const dead = await d.ws({ autoPong: false });

  await (await Freezer.of(t, d)).during(() => sleep(3000));
  await dead.closed;
  await d.waitLog((l) => l.reason === 'silent');
});

const DID = '{"resultType":"complete","content":[{"type":"text","text":"did it"}]}';

// Nobody of the session's is there any more, and the daemon knows it.
async function left(d, client, sessionId) {
  const watcher = await d.client();

  client.ws.reset();
  await until(async () => (await watcher.call('_acpd/status', { sessionId })).sessions[0].watchers === 0, 'nobody is there');
  await watcher.close();
}

// What is open when everything stops. Each begins something that a time-out of so many seconds ends, and gives what has to be done when it
// goes on: that thing has come to its good end then.
const OPEN = {
  async 'a turn with a budget of seconds'(t, d, seconds) {
    const c = await d.client();
    const { sessionId } = await c.newSession({ meta: { budgets: { turn: { seconds } } } });
    const { answer } = await running(c, sessionId, 'on', 'sleep 1500; echo off');

    return async () => {
      assert.equal((await answer).result?.stopReason, 'end_turn');
      assert.ok(turnsOf(d, sessionId)[0].durationMs < 1000 * seconds, `${turnsOf(d, sessionId)[0].durationMs} ms`);
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
  async 'a tool call that may take so long'(t, d, seconds) {
    const o = await RawOrchestrator.connect(d, { 'tools/call': () => {} });
    const { sessionId } = await o.newSession({ meta: { mcp: { policy: { tools: { timeoutMs: seconds * 1000 } } } } });
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

test('a freeze beyond every time-out: nothing is late, and all that was open is done', { timeout: 600000 * SLOW }, beyond(async (t, { seconds, freeze }) => {
  const d = await sandboxed(t, 'i-one', {
    flags: { pingInterval: 1, pingTimeout: seconds - 1, permissionTimeout: seconds, mcpHold: seconds, modelHold: seconds, harnessIdle: seconds },
    stub: { args: ['--resume'] }, harnesses: [STUB_WITH_PROVIDER, { id: 'slow', args: ['--init-delay', '1500'] }],
  });
  const idle = await d.client();
  const freezer = await Freezer.of(t, d);
  const open = await Promise.all(Object.entries(OPEN).map(async ([what, begin]) => [what, await begin(t, d, seconds)]));
  const harnesses = d.harnesses();

  t.diagnostic(`frozen by ${freezer.kind}`);
  await freeze(freezer);
  await Promise.all(open.map(async ([what, done]) => {
    try {
      await done();
    } catch (e) {
      assert.fail(`${what}: ${e.stack}`);
    }
  }));
  assert.ok((await idle.call('_acpd/status', {})).incarnation, 'it is still connected');
  assert.ok(harnesses.every((p) => procs.alive(p)), 'no harness was idle');
  await d.waitLog((l) => l.msg === 'was not running');
  assert.ok(!d.logs.some((l) => l.reason === 'silent'));
  assert.ok(records(d).filter((r) => r.type === 'turn').every((r) => r.stopReason === 'end_turn' && !r.error), 'every turn ends well');
  verify(d);
}));

test('a machine that was paused: frozen, and then its clock is set and its id written', { timeout: 600000 * SLOW, skip: SANITIZED && 'nothing is loaded before a sanitizer' },
  beyond(async (t, { seconds, freeze }) => {
    const GAP = 3600 * 1000, from = Date.now();
    const d = await sandboxed(t, 'i-one', { clock: 'told', flags: { pingInterval: 1, pingTimeout: seconds - 1 } });
    const c = await d.client();
    const freezer = await Freezer.of(t, d);
    const { sessionId } = await c.newSession({ meta: { budgets: { turn: { seconds } } } });

    await running(c, sessionId, 'on', 'sleep 1500; echo off', { acpd: { key: 'one' } });
    await freeze(freezer, () => {
      d.step(GAP);
      d.become('i-one');
    });
    await deadline(c.ws.closed, 5000, 'the reset');
    await resumed(d);
    const again = await d.client();
    const { params } = await again.waitFor((m) => m.method === '_acpd/resumed');

    assert.ok(params.gapMs >= GAP - 1000 && params.gapMs < GAP + Date.now() - from + 1000, `${params.gapMs}`);
    assert.equal(params.incarnation, c.initializeResult.agentCapabilities._meta.acpd.incarnation);
    await again.load(sessionId);
    const result = await again.prompt(sessionId, 'echo on; sleep 1500; echo off', { meta: { acpd: { key: 'one' } } });

    assert.equal(result.stopReason, 'end_turn', 'the budget has not been charged');
    assert.equal(turnsOf(d, sessionId).length, 1);
    assert.ok(turnsOf(d, sessionId)[0].durationMs < 1000 * seconds);
  }));
