// SPDX-License-Identifier: Apache-2.0
// build: both
// A copy of a machine whose memory lives: a turn runs and a model call is in flight when the clock jumps and the id that is written is
// another one. The copy goes on as nobody's; what both have is billed once.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { test, after } from 'node:test';
import { SANITIZED } from '../../lib/daemon.mjs';
import { timesIn } from '../../lib/memory.mjs';
import { ModelConnection, STUB_WITH_PROVIDER, connectTaker, listenerOf } from '../../lib/model-calls.mjs';
import { SLOW, assertNoViolations, deadline, sleep } from '../../lib/rawws.mjs';
import { wholeLines } from '../../lib/vanishing.mjs';
import { until } from '../../lib/wait.mjs';
import { journalOf, records, running, turnsOf, verify } from '../ledger.mjs';
import { claimed, resumed, sandboxed } from './away.mjs';

after(assertNoViolations);

const KEY = `sk-${crypto.randomBytes(20).toString('hex')}`;
const SECRET = `s3cret-${crypto.randomBytes(20).toString('hex')}`;
const CHUNK = (usage) => `data: ${JSON.stringify({ id: 'c', choices: [{ delta: { content: 'x' } }], usage })}\n\n`;
const callsOf = (d, sessionId) => records(d).filter((r) => r.type === 'model_call' && r.sessionId === sessionId);
const named = (d, id) => wholeLines(journalOf(d, id)).filter((l) => l.includes('"k":"incarnation"')).map((l) => JSON.parse(l).m);

test('a copy with a turn and model calls in flight', { timeout: 240000 * SLOW }, async (t) => {
  const d = await sandboxed(t, 'i-parent', { clock: SANITIZED ? undefined : 'told', harnesses: [STUB_WITH_PROVIDER] });
  const provider = { api: 'openai-chat', baseUrl: 'http://127.0.0.1:9/v1', key: KEY, via: 'environment' };
  const c = await d.client();
  const { incarnation } = c.initializeResult.agentCapabilities._meta.acpd;
  const { sessionId: keyed } = await c.newSession({ meta: { provider, harness: STUB_WITH_PROVIDER.id } });
  const { sessionId: secretive } = await c.newSession({ meta: { secrets: { MY_TOKEN: SECRET } } });
  const taker = await connectTaker(d);
  const { sessionId: calling } = await taker.newSession();
  const listener = listenerOf(calling);
  const open = async () => {
    const g = await ModelConnection.open(listener);

    t.after(() => g.close());
    return g;
  };

  await taker.c.prompt(calling, 'echo before');
  const turns = [await running(c, keyed, 'on', 'sleep 60000'), await running(taker.c, calling, 'on', `${'sleep 20; echo more; '.repeat(400)}sleep 60000`)];
  const [heard, silent] = [(await open()).send(), (await open()).send()];
  const [first, second] = [(await taker.asked(0)).callId, (await taker.asked(1)).callId];

  taker.head(first);
  taker.chunk(first, CHUNK({ prompt_tokens: 11, completion_tokens: 3, total_tokens: 14 }));
  await until(() => [heard, silent].some((g) => g.body.bytes.length), 'the first bytes');
  const before = records(d);
  const hosted = d.harnesses();

  d.step?.(3600 * 1000);
  if (d.step) {
    await deadline(taker.c.closed, 5000, 'the reset');
    await sleep(300); // harnesses speak meanwhile
  }
  const known = taker.c.updatesOf(calling).at(-1).seq;
  d.become('i-child');
  await resumed(d);
  await Promise.all([c.closed, taker.c.closed]);
  await Promise.all(turns.map((one) => one.answer.then(() => assert.fail('nobody is answered'), () => {})));

  // nothing of it goes on, and nobody's word counts
  await Promise.all([heard, silent].map((g) => g.ended()));
  await d.gone(hosted);
  await assert.rejects(ModelConnection.open(listener), { code: 'ECONNREFUSED' });
  assert.equal((await d.http('/v1/info', { token: d.token })).status, 503);
  if (!SANITIZED)
    await until(() => [KEY, SECRET, listener.key].every((x) => timesIn(d.pid, x) === 0), 'no key in memory', 5000);
  const parent = d.token;

  d.token = await claimed(d);
  assert.equal((await d.http('/v1/info', { token: parent })).status, 401);

  // What was open has ended, and is recorded once: as the parent's, which has records of its own of it.
  await until(() => callsOf(d, calling).length === 2 && turnsOf(d, calling).length === 2 && turnsOf(d, keyed).length === 1, 'what was open has ended');
  const b = await connectTaker(d);
  const { incarnation: child } = b.c.initializeResult.agentCapabilities._meta.acpd;
  const since = records(d).slice(before.length);

  assert.notEqual(child, incarnation);
  assert.deepEqual(since.map((r) => [r.sessionId, r.type, r.turn, r.call, r.turnIncarnation]).sort(), [
    [keyed, 'turn', 1, undefined, incarnation], [calling, 'turn', 2, undefined, incarnation],
    [calling, 'model_call', 2, 1, incarnation], [calling, 'model_call', 2, 2, incarnation],
  ].sort());
  assert.ok(since.every((r) => r.incarnation !== incarnation && r.sandboxId === 'i-child' && (r.type !== 'turn' || r.error.class === 'shutdown')));
  const of = (callId) => since.filter((r) => r.callId === callId);
  assert.deepEqual(of(first).map((r) => [r.complete, r.usage.inputTokens]), [[false, 11]], 'it was cut');
  assert.deepEqual(of(second).map((r) => [r.complete, r.usage]), [[false, undefined]], 'it was never answered');
  assert.ok(before.every((r) => r.incarnation === incarnation && r.turnIncarnation === undefined));
  verify(d);

  // No event after the jump is numbered as the parent's: of what the parent's client has, only what it had before it holds.
  const [, line] = named(d, calling);
  const { body } = await d.http(`/v1/sessions/${calling}/events?since=0`, { token: d.token });
  const at = (x) => Date.parse(x.t ?? x.ts), held = at(d.logs.find((l) => l.to === 'paused'));
  const events = body.trim().split('\n').map((x) => JSON.parse(x));
  const early = events.filter((e) => e.seq < line.from), late = events.filter((e) => e.seq >= line.from);
  assert.ok(line.from > known && early.length === line.from - 1 && late.length > 0, `from ${line.from}, known ${known}`);
  assert.ok(early.every((e) => at(e) <= held) && late.every((e) => at(e) >= held + (d.step ? 200 : 0)), 'by their times');
  assert.equal(since[0].incarnation, line.id);
  await b.c.load(calling, { meta: { fromSeq: known + 1, incarnation } });
  assert.equal(b.c.messages.some((m) => m.method === '_acpd/gap'), false);
  const ahead = await d.client();
  await ahead.load(calling, { meta: { fromSeq: line.from + 5, incarnation } });
  assert.equal((await ahead.waitFor((m) => m.method === '_acpd/gap')).params.sessionId, calling);
  await ahead.close();

  // and it goes on, with what the new owner gives
  const next = await d.client();
  const load = (sessionId, meta) => next.load(sessionId, { meta });
  const reason = (sessionId) => load(sessionId).then(() => 'loaded', (e) => e.data.reason);
  assert.deepEqual([await reason(keyed), await reason(secretive)], ['PROVIDER_REQUIRED', 'ENV_REQUIRED']);
  await load(keyed, { provider: { ...provider, key: 'sk-of-the-child-0123456789' } });
  await load(secretive, { secrets: { MY_TOKEN: 'another-secret-0123456789' } });
  for (const id of [keyed, secretive])
    assert.equal((await next.prompt(id, 'echo hello')).stopReason, 'end_turn');
  await b.c.load(calling);
  assert.equal((await b.c.prompt(calling, 'echo hello')).stopReason, 'end_turn');
  const where = listenerOf(calling);
  assert.notEqual(where.key, listener.key);
  const n = b.requests.length;
  const g = (await ModelConnection.open(where)).send();
  t.after(() => g.close());
  const { callId, attempt } = await b.asked(n);
  assert.equal(attempt, 1);
  b.answer(callId);
  await until(() => g.body.whole, 'the answer');
  assert.equal(b.requests.filter((r) => [first, second].includes(r.callId)).length, 0, 'calls of before are not given to it');
  const last = turnsOf(d, calling).at(-1);
  assert.deepEqual([last.turn, last.incarnation, last.turnIncarnation], [3, child, undefined]);
  verify(d);
});
