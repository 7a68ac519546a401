// SPDX-License-Identifier: Apache-2.0
// The statements as the official client sees them: turns, cancellation, permissions, elicitation, shutdown.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { gate } from '../../lib/gate.mjs';
import { acp, connectSdk } from '../../lib/sdk.mjs';
import { deadline } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';
import { FULL } from './rig.mjs';

const open = [];
let d;

before(async () => {
  d = await Daemon.start({ harnesses: [FULL] });
});
after(async () => {
  await Promise.all(open.map((c) => c.close().catch(() => {})));
  await endInOrder(d);
});

// A client with a session: {c, sessionId}.
async function session(handlers, { init, meta, on = d } = {}) {
  const c = await connectSdk(on, handlers);

  open.push(c);
  await c.initialize(init);
  return { c, sessionId: (await c.newSession({ meta })).sessionId };
}

async function refused(promise, code, reason) {
  const e = await promise.then((r) => assert.fail(`should have failed: ${JSON.stringify(r)}`), (x) => x);

  assert.ok(e instanceof acp.RequestError, String(e));
  assert.deepEqual([e.code, e.data?.reason], [code, reason], e.message);
  return e;
}

test('16 requests of both sides with the same number in flight', async () => {
  let asked;
  const { c, sessionId } = await session({ onPermission: async () => {
    asked = true;
    await c.request('session/list', {}); // while the daemon's request is open
    return 'allow';
  } });

  assert.equal((await c.prompt(sessionId, 'perm t1')).stopReason, 'end_turn');
  assert.ok(asked);
  assert.deepEqual(c.chunks(sessionId), ['permission:allow']);
});

test('21 shutdown fails the open prompt, then the socket closes with 1001', async () => {
  const own = await Daemon.start();
  const { c, sessionId } = await session({}, { on: own });
  const turn = c.prompt(sessionId, 'echo a\nsleep 60000');

  turn.catch(() => {});
  await until(() => c.chunks(sessionId).length, 'the first chunk');
  const stopped = own.stop();
  const e = await refused(turn, -32603, 'TURN_FAILED');
  assert.equal(e.data.turn.class, 'shutdown');
  await stopped;
  await until(() => c.seen.close, 'the close');
  assert.equal(c.seen.close.code, 1001);
});

test('49 updates arrive before the result, in order', async () => {
  const { c, sessionId } = await session();
  const { stopReason } = await c.prompt(sessionId, 'think a\necho b\ntool t1 read x\nplan\necho c');
  const got = c.updates.filter((u) => u.sessionId === sessionId && u.turn === 1).map((u) => u.update.sessionUpdate);

  assert.equal(stopReason, 'end_turn');
  assert.deepEqual(got, ['agent_thought_chunk', 'agent_message_chunk', 'tool_call', 'tool_call_update', 'tool_call_update', 'plan',
    'agent_message_chunk']);
  for (const reason of ['max_tokens', 'max_turn_requests', 'refusal'])
    assert.equal((await c.prompt(sessionId, `echo x\nstop ${reason}`)).stopReason, reason);
});

test('50 content by capability', async () => {
  const { c, sessionId } = await session();
  const image = { type: 'image', mimeType: 'image/gif', data: 'R0lGODlhAQABAAAAACw=' };

  await refused(c.prompt(sessionId, [image]), -32602, 'CAPABILITY_MISSING');
  const full = await session({}, { meta: { harness: 'full' } });
  await full.c.prompt(full.sessionId, [{ type: 'text', text: 'blocks' }, image]);
  assert.deepEqual(full.c.chunks(full.sessionId), ['blocks:text,image']);
});

test('51 tool calls are announced and end', async () => {
  const { c, sessionId } = await session();

  await c.prompt(sessionId, 'toolorphan t1\ntoolopen t2\necho x');
  const tools = c.updates.filter((u) => u.update.toolCallId).map((u) => [u.update.toolCallId, u.update.sessionUpdate, u.update.status]);
  assert.deepEqual(tools, [['t1', 'tool_call', 'pending'], ['t1', 'tool_call_update', 'completed'], ['t2', 'tool_call', 'pending'],
    ['t2', 'tool_call_update', 'failed']]);
});

test('52 two sessions at once on one connection', async () => {
  const { c, sessionId: a } = await session();
  const b = (await c.newSession()).sessionId;
  const order = [], { step, open } = gate(d);

  await Promise.all([
    c.prompt(a, `echo a1\n${step}\necho a2`).then(() => order.push('a')),
    c.prompt(b, 'echo b1\nsleep 50\necho b2').then(() => {
      order.push('b');
      open();
    }),
  ]);
  assert.deepEqual(order, ['b', 'a']);
  assert.deepEqual([c.chunks(a), c.chunks(b)], [['a1', 'a2'], ['b1', 'b2']]);
});

test('53 a second prompt on a busy session waits its turn', async () => {
  const { c, sessionId } = await session();
  const results = await Promise.all(['echo 1\nsleep 100\necho 1e', 'echo 2'].map((p) => c.prompt(sessionId, p)));

  assert.deepEqual(results.map((r) => r.stopReason), ['end_turn', 'end_turn']);
  assert.deepEqual(c.chunks(sessionId), ['1', '1e', '2']);
});

test('54 a harness crash is an error, the session goes on', async () => {
  const { c, sessionId } = await session();
  const e = await refused(c.prompt(sessionId, 'echo a\ncrash segv'), -32603, 'TURN_FAILED');

  assert.equal(e.data.turn.class, 'harness_exit');
  await c.prompt(sessionId, 'echo b');
  assert.deepEqual(c.chunks(sessionId), ['a', 'b']);
});

test('55 an empty prompt is -32602', async () => {
  const { c, sessionId } = await session();

  await refused(c.prompt(sessionId, []), -32602, 'PROMPT_EMPTY');
});

test('56 usage', async () => {
  const { c, sessionId } = await session({}, { meta: { harness: 'full' } });
  const { usage } = await c.prompt(sessionId, 'usage\necho x');
  const update = c.updates.filter((u) => u.update.sessionUpdate === 'usage_update').at(-1).update;

  assert.equal(usage.totalTokens, 120);
  assert.ok(update.used >= 120 && update.size === 200000 && update.cost.currency === 'USD');
});

test('57 cancel: a result, not an error', async () => {
  const { c, sessionId } = await session();
  const turn = c.prompt(sessionId, 'echo a\nsleep 60000\necho never');

  await until(() => c.chunks(sessionId).length, 'the first chunk');
  await c.cancel(sessionId);
  assert.equal((await turn).stopReason, 'cancelled');
  await c.prompt(sessionId, 'echo b');
  assert.deepEqual(c.chunks(sessionId), ['a', 'b']);
});

test('58 cancel without a turn does nothing', async () => {
  const { c, sessionId } = await session();

  await c.cancel(sessionId);
  await c.cancel('sess_none');
  assert.equal((await c.prompt(sessionId, 'echo a')).stopReason, 'end_turn');
});

test('59 cancel with an open permission request', async () => {
  let aborted;
  const { c, sessionId } = await session({ onPermission: (params, signal) => new Promise((resolve) => {
    signal.addEventListener('abort', () => {
      aborted = true;
      resolve('cancelled');
    });
  }) });
  const turn = c.prompt(sessionId, 'perm t1');

  await until(() => c.permissions.length, 'the question');
  await c.cancel(sessionId);
  assert.equal((await deadline(turn, 5000, 'the cancelled turn')).stopReason, 'cancelled');
  await until(() => aborted, '$/cancel_request for the question');
  const last = c.updates.filter((u) => u.update.toolCallId === 't1').at(-1);
  assert.equal(last.update.status, 'failed');
});

test('60 an aborted request is a cancelled turn', async () => {
  const { c, sessionId } = await session();
  const abort = new AbortController();
  const turn = c.prompt(sessionId, 'echo a\nsleep 60000', { cancellationSignal: abort.signal });

  await until(() => c.chunks(sessionId).length, 'the first chunk');
  abort.abort();
  const end = await deadline(turn, 5000, 'the aborted request').catch((e) => e);
  assert.ok(end.stopReason === 'cancelled' || end.code === -32800, String(end));
  await c.prompt(sessionId, 'echo b');
  assert.deepEqual(c.chunks(sessionId), ['a', 'b']);
});

test('61 permission answers', async () => {
  let choice;
  const { c, sessionId } = await session({ onPermission: () => choice });
  const cases = [['allow', 'allow'], ['reject', 'reject'], ['cancelled', 'cancelled'], ['no-such', 'reject'], ['always', 'allow']]; // the last is kept here

  for (const [answer, seen] of cases) {
    choice = answer;
    const from = c.updates.length;
    await c.prompt(sessionId, `perm ${answer}`);
    assert.deepEqual(c.chunks(sessionId, from), [`permission:${seen}`]);
  }
});

test('61 a client without a permission handler rejects', async () => {
  const { c, sessionId } = await session();

  await c.prompt(sessionId, 'perm t1');
  assert.deepEqual(c.chunks(sessionId), ['permission:reject']);
});

test('62 the question has options and a tool call', async () => {
  const { c, sessionId } = await session({ onPermission: () => 'allow' });

  await c.prompt(sessionId, 'perm t9');
  const [{ toolCall, options }] = c.permissions;
  assert.equal(toolCall.toolCallId, 't9');
  assert.deepEqual(options.map((o) => o.kind), ['allow_once', 'allow_always', 'reject_once']);
});

test('63 a question survives the socket', async () => {
  const { c, sessionId } = await session({ onPermission: () => new Promise(() => {}) });

  c.prompt(sessionId, 'perm t1\necho end').catch(() => {});
  await until(() => c.permissions.length, 'the question');
  c.seen.socket.terminate();
  const other = await connectSdk(d, { onPermission: () => 'allow' });
  open.push(other);
  await other.initialize();
  await other.load(sessionId);
  await until(() => other.chunks(sessionId).includes('end'), 'the end of the turn');
  assert.equal(other.permissions.length, 1);
  assert.deepEqual(other.chunks(sessionId), ['permission:allow', 'end']);
});

test('64 the second socket drives, the first is told', async () => {
  const { c, sessionId } = await session();
  const other = await connectSdk(d, {});

  open.push(other);
  await other.initialize();
  await other.load(sessionId);
  const ofSessions = () => c.notifications.filter((n) => n.method !== '_acpd/status');
  await until(() => ofSessions().length, 'the notice');
  assert.deepEqual(ofSessions().map((n) => [n.method, n.params.sessionId]), [['_acpd/detached', sessionId]]);
  await refused(c.prompt(sessionId, 'echo x'), -32002, 'SESSION_NOT_ACTIVE');
  assert.equal((await other.prompt(sessionId, 'echo y')).stopReason, 'end_turn');
});

test('65 elicitation reaches a client that announced forms, and only such a one', async () => {
  const caps = { elicitation: { form: {} } };
  const able = await session({ onElicit: (p) => ({ action: 'accept', content: { branch: p.requestedSchema.properties.branch.enum[0] } }) },
    { init: { caps } });
  const plain = await session({ onElicit: () => assert.fail('asked') });

  await able.c.prompt(able.sessionId, 'elicit');
  assert.deepEqual(able.c.chunks(able.sessionId), ['elicit:{"action":"accept","content":{"branch":"main"}}']);
  await plain.c.prompt(plain.sessionId, 'elicit');
  assert.deepEqual(plain.c.chunks(plain.sessionId), ['elicit:unavailable']);
});

test('66 gated updates only for who announced them', async () => {
  const steps = 'notice\ncompaction\nplanupdate\necho x';
  const caps = { session: { notices: {}, compaction: {} }, plan: {} };
  const able = await session({}, { init: { caps } });
  const plain = await session();
  const seen = async ({ c, sessionId }) => {
    await c.prompt(sessionId, steps);
    return c.updates.some((u) => ['notice', 'compaction_update', 'plan_update'].includes(u.update.sessionUpdate));
  };

  assert.deepEqual([await seen(able), await seen(plain)], [true, false]);
});

test('67 a client that did not announce acpd sees plain ACP', async () => {
  const { c, sessionId } = await session({}, { init: { acpd: false } });

  await c.prompt(sessionId, 'echo x');
  const other = await session({}, { init: { acpd: false } });
  await other.c.load(sessionId);
  await c.request('session/list', {});
  assert.deepEqual([...c.notifications, ...other.c.notifications], []);
});

test('69 errors are typed', async () => {
  const { c, sessionId } = await session();
  const e = await refused(c.prompt(sessionId, 'echo x\nerror -32603 It broke'), -32603, 'TURN_FAILED');

  assert.equal(e.data.sessionId, sessionId);
  assert.match(e.message, /It broke/);
});
