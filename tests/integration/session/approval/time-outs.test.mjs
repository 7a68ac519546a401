// SPDX-License-Identifier: Apache-2.0
// _meta.acpd.approvals: how long a question waits, and what the answer is then; whoever is connected, over loads, forks and a killed daemon.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { brief, never, openApprovals, post, questionAnswers, questionEvents, selected } from '../../../lib/approvals.mjs';
import { Daemon, endInOrder } from '../../../lib/daemon.mjs';
import { SLOW, sleep } from '../../../lib/rawws.mjs';
import { until, withLimit } from '../../../lib/wait.mjs';

const SOON = 1000 * SLOW; // the tests look while it lasts
const unseen = ({ shown }) => !shown; // it was over before that
const CAPS = { elicitation: { form: {} }, _meta: { acpd: {} } };
const STUB = { args: ['--resume'], capabilities: { loadSession: true, sessionCapabilities: { resume: {} } } };

let d, c;
before(async () => {
  d = await Daemon.start({ flags: { permissionTimeout: 2 }, stub: STUB });
  c = await d.client({ init: { clientCapabilities: CAPS } });
  for (const method of ['session/request_permission', 'elicitation/create'])
    c.onRequest(method, never);
});
after(() => endInOrder(d, c));

const withTerms = async (approvals, client = c) => (await client.newSession({ meta: { approvals } })).sessionId;
const outcomes = async (sessionId, at = d) => (await questionAnswers(at, sessionId)).map(brief);
const ask = (...kinds) => `ask session/request_permission ${JSON.stringify({ toolCall: { toolCallId: 'a', title: 'T' },
  options: kinds.map((kind) => ({ optionId: kind, name: kind, kind })) })}`;

describe('with a driver that does not answer', () => {
  test('the question is rejected in time, withdrawn from the driver, and its answer after that counts for nothing', async () => {
    const asks = async (timeoutMs) => {
      const sessionId = await withTerms({ timeoutMs }), from = c.requests.length, begun = Date.now();
      const turn = c.startPrompt(sessionId, 'perm a; echo on');
      const asked = await until(() => c.requests.slice(from).find((r) => r.params.sessionId === sessionId));

      return { timeoutMs, sessionId, begun, turn, asked, shown: (await openApprovals(d, sessionId))[0] };
    };
    const { timeoutMs, sessionId, begun, turn, asked, shown: { askedAt, expiresAt, default: fallback } } = await withLimit(SOON, asks, unseen);

    assert.equal(fallback, 'reject');
    assert.ok(Math.abs(Date.parse(expiresAt) - Date.parse(askedAt) - timeoutMs) <= 200 * SLOW);
    await turn.answer;
    const took = Date.now() - begun;
    assert.ok(took >= timeoutMs, `${took} ms`);
    assert.ok(c.messages.some((m) => m.method === '$/cancel_request' && m.params.requestId === asked.id));
    c.respond(asked.id, selected('allow'));
    assert.deepEqual(c.chunks(sessionId), ['permission:reject', 'on']);
    assert.deepEqual(await outcomes(sessionId), [['timeout', undefined, 'reject']]);
    const [event] = await questionEvents(d, sessionId);
    assert.deepEqual([event.default, Math.abs(Date.parse(event.expiresAt) - Date.parse(expiresAt)) <= 200 * SLOW], ['reject', true]);
    assert.deepEqual((await post(d, `${sessionId}:1`, { optionId: 'allow' })).json.error.by, 'timeout');
  });

  // What each default makes of what is offered.
  for (const [fallback, script, said, chosen] of [
    ['reject', ask('allow_once', 'reject_always'), '"optionId":"reject_always"', 'reject_always'],
    ['reject', ask('allow_once'), '"outcome":"cancelled"', 'cancelled'],
    ['allow', 'perm a', 'permission:allow', 'allow'],
    ['allow', ask('allow_always', 'reject_once'), '"optionId":"reject_once"', 'reject_once'],
    ['allow', ask('allow_always'), '"outcome":"cancelled"', 'cancelled'],
    ['allow', 'elicit', '"action":"cancel"', 'cancel'],
    ['cancel', 'perm a', 'permission:cancelled', 'cancelled'],
  ])
    test(`default ${fallback}: ${script.slice(0, 8)}… is ${chosen}`, async () => {
      const sessionId = await withTerms({ timeoutMs: 50, default: fallback });

      await c.prompt(sessionId, script);
      assert.ok(c.chunks(sessionId)[0].includes(said), c.chunks(sessionId)[0]);
      assert.deepEqual(await outcomes(sessionId), [['timeout', undefined, chosen]]);
    });

  test('an answer in time is the answer, and the time-out does nothing later', async () => {
    const answers = async (timeoutMs) => {
      const sessionId = await withTerms({ timeoutMs, default: 'allow' }), from = c.requests.length;
      const turn = c.startPrompt(sessionId, `perm a; sleep ${2 * timeoutMs}`);

      c.respond((await until(() => c.requests.slice(from).find((r) => r.params.sessionId === sessionId))).id, selected('reject'));
      await turn.answer;
      return await outcomes(sessionId);
    };

    assert.deepEqual(await withLimit(SOON, answers, ([[by]]) => by === 'timeout', 3), [['client', 'driver', 'reject']]);
  });
});

describe('while nobody is connected', () => {
  const left = async (opts) => {
    const gone = await d.client(), { sessionId } = await gone.newSession(opts);

    gone.onRequest('session/request_permission', never);
    gone.startPrompt(sessionId, 'perm a');
    await gone.waitRequest('session/request_permission');
    gone.ws.reset();
    return sessionId;
  };

  test('a time-out of the session goes on from when the question was asked, also with whenDetached "hold"', async () => {
    const held = async (timeoutMs) => {
      const sessionId = await left({ meta: { approvals: { timeoutMs }, whenDetached: 'hold' } });

      return { timeoutMs, sessionId, shown: (await openApprovals(d, sessionId))[0] };
    };
    const { timeoutMs, sessionId, shown: { askedAt, expiresAt } } = await withLimit(SOON, held, unseen);

    assert.ok(Math.abs(Date.parse(expiresAt) - Date.parse(askedAt) - timeoutMs) <= 200 * SLOW);
    await until(async () => (await questionEvents(d, sessionId)).length === 2);
    assert.deepEqual(await outcomes(sessionId), [['timeout', undefined, 'reject']]);
  });

  test('--permission-timeout ends in the default of the session', async () => {
    const gone = async () => {
      const sessionId = await left({ meta: { approvals: { default: 'allow' } } });
      const look = async () => { // its end is told once the daemon knows that nobody is there
        const [open] = await openApprovals(d, sessionId);

        return !open ? { expired: true } : open.expiresAt && open;
      };

      return { sessionId, shown: await until(look) };
    };
    const { sessionId, shown } = await withLimit(0, gone, (r) => r.shown.expired);

    assert.ok(shown.expiresAt);
    await until(async () => (await questionEvents(d, sessionId)).length === 2);
    assert.deepEqual(await outcomes(sessionId), [['timeout', undefined, 'allow']]);
  });

  test('"hold" without a time-out holds', async () => {
    const sessionId = await left({ meta: { approvals: { default: 'allow' }, whenDetached: 'hold' } });

    await sleep(2500);
    const [{ id, expiresAt }] = await openApprovals(d, sessionId);
    assert.equal(expiresAt, undefined);
    assert.equal((await post(d, id, { optionId: 'allow' })).status, 200);
  });
});

describe('the terms stay', () => {
  const rejects = async (client, sessionId, at = d) => {
    const { length } = await questionEvents(at, sessionId);
    const turn = client.startPrompt(sessionId, 'perm a');

    await until(async () => (await questionEvents(at, sessionId)).length > length);
    const [{ expiresAt, default: fallback }] = await openApprovals(at, sessionId);
    client.cancel(sessionId);
    await turn.answer;
    return [Boolean(expiresAt), fallback];
  };

  test('over load and resume, until others are given; a fork has them', async () => {
    const sessionId = await withTerms({ timeoutMs: 3600000, default: 'cancel' });

    assert.deepEqual(await rejects(c, sessionId), [true, 'cancel']);
    await c.load(sessionId);
    assert.deepEqual(await rejects(c, sessionId), [true, 'cancel']);
    const fork = await c.call('session/fork', { sessionId, cwd: d.workDir, mcpServers: [] });
    assert.deepEqual(await rejects(c, fork.sessionId), [true, 'cancel']);
    assert.ok((await questionEvents(d, fork.sessionId)).at(-1).ask > (await questionEvents(d, sessionId)).at(-1).ask, 'numbers go on');
    await c.resumeSession(sessionId, { meta: { approvals: { default: 'allow' } } });
    assert.deepEqual(await rejects(c, sessionId), [false, 'allow']);
    await c.load(sessionId, { meta: { approvals: {} } });
    assert.deepEqual(await rejects(c, sessionId), [false, 'reject']);
  });

  test('over a daemon that is killed', async (t) => {
    const own = await Daemon.startFor(t, { stub: STUB });
    const first = await own.client(), sessionId = await withTerms({ timeoutMs: 3600000, default: 'allow' }, first);

    await first.prompt(sessionId, 'echo hi');
    await own.kill9();
    await own.restart();
    const next = await own.client();
    next.onRequest('session/request_permission', never);
    await next.load(sessionId);
    assert.deepEqual(await rejects(next, sessionId, own), [true, 'allow']);
    await own.stop();
  });
});
