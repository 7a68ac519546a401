// SPDX-License-Identifier: Apache-2.0
// Budgets of one prompt: they hold beside those of the session, bound no other prompt, and the one that is reached is named.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { withLimit } from '../../lib/wait.mjs';
import { journalOf, turnsOf } from '../ledger.mjs';

const tools = (n) => Array.from({ length: n }, (_, i) => `tool t${i} read A`).join(';');
const tokens = (n) => `tokens ${JSON.stringify({ inputTokens: n, outputTokens: 0, totalTokens: n })}`;

let d, c;

before(async () => {
  d = await Daemon.start();
  c = await d.client();
});

after(() => endInOrder(d, c));

const open = async (budgets) => (await c.newSession({ meta: budgets ? { budgets } : {} })).sessionId;
const prompt = (sessionId, text, budgets, more = {}) => c.prompt(sessionId, text, { meta: { acpd: { budgets, ...more } } });
const warnings = (sessionId) => c.messages.filter((m) => m.method === '_acpd/event' && m.params.sessionId === sessionId &&
  m.params.event.event === 'budget_warning').map(({ params: { event: { budget, scope, limit, used } } }) => [budget, scope, limit, used]);

function assertStopped({ stopReason, _meta: { acpd: { stopDetail } } }, reason, scope, budget, limit) {
  assert.deepEqual([stopReason, stopDetail?.scope, stopDetail?.budget, stopDetail?.limit], [reason, scope, budget, limit]);
}

function assertKept({ stopReason, _meta: { acpd } }) {
  assert.deepEqual([stopReason, acpd.stopDetail], ['end_turn', undefined]);
}

test('of tool calls: this prompt ends by it, in answer, event and record; the next one has none', async () => {
  const sessionId = await open();

  assertKept(await prompt(sessionId, tools(2), { toolCalls: 2 }));
  const result = await prompt(sessionId, `${tools(3)}; sleep 60000; echo never`, { toolCalls: 2 });
  assertStopped(result, 'max_turn_requests', 'prompt', 'toolCalls', 2);
  const { stopDetail } = result._meta.acpd;
  const end = await c.waitFor((m) => m.method === '_acpd/turn_end' && m.params.sessionId === sessionId && m.params.turn === 2);
  assert.deepEqual(end.params._meta.acpd.stopDetail, stopDetail);
  assert.deepEqual(turnsOf(d, sessionId)[1].stopDetail, stopDetail);
  assert.ok(!c.chunks(sessionId).includes('never'));
  assertKept(await c.prompt(sessionId, tools(5)));
  assertKept(await prompt(sessionId, tools(5), {}));
});

test('the narrowest one that is reached is named, whoever gave it', async () => {
  const rows = [
    [{ turn: { toolCalls: 3 }, session: { toolCalls: 3 } }, { toolCalls: 2 }, 'prompt', 2],
    [{ turn: { toolCalls: 2 }, session: { toolCalls: 3 } }, { toolCalls: 3 }, 'turn', 2],
    [{ turn: { toolCalls: 3 }, session: { toolCalls: 2 } }, { toolCalls: 3 }, 'session', 2],
    [{ turn: { toolCalls: 2 }, session: { toolCalls: 2 } }, { toolCalls: 2 }, 'prompt', 2],
    [{ turn: { toolCalls: 2 } }, { seconds: 600, tokens: 1000 }, 'turn', 2],
  ];

  for (const [of, budgets, scope, limit] of rows)
    assertStopped(await prompt(await open(of), `${tools(4)}; sleep 60000`, budgets), 'max_turn_requests', scope, 'toolCalls', limit);
});

test('of seconds: counted from its own beginning, not from when it was queued', async () => {
  const sessionId = await open();
  const one = async (seconds) => {
    const first = prompt(sessionId, `echo a; sleep ${seconds * 1000 + 500}`, { seconds: 600 });
    const second = prompt(sessionId, 'echo b', { seconds });

    assertKept(await first);
    return second;
  };

  assertKept(await withLimit(2, one, ({ stopReason }) => stopReason !== 'end_turn', 3));
  assertStopped(await prompt(sessionId, 'echo c; sleep 60000', { seconds: 1 }), 'max_turn_requests', 'prompt', 'seconds', 1);
});

test('of tokens: what earlier prompts have used is not counted', async () => {
  const sessionId = await open();

  for (let i = 0; i < 3; i++)
    assertKept(await prompt(sessionId, `echo a; ${tokens(9)}`, { tokens: 10 }));
});

test('at 80 % there is one warning for each prompt, and it says so', async () => {
  const sessionId = await open({ session: { toolCalls: 10 } });

  assertKept(await prompt(sessionId, tools(5), { toolCalls: 5 }));
  assertKept(await prompt(sessionId, tools(5), { toolCalls: 5 }));
  assert.deepEqual(warnings(sessionId), [['toolCalls', 'prompt', 5, 4], ['toolCalls', 'session', 10, 8], ['toolCalls', 'prompt', 5, 4]]);
});

test('the status names the time when the prompt will be ended', async () => {
  const sessionId = await open({ turn: { seconds: 500 } });
  const running = c.startPrompt(sessionId, 'echo on; sleep 60000', { meta: { acpd: { budgets: { seconds: 60 } } } });

  await c.waitFor(() => c.chunks(sessionId).includes('on'));
  const { nextDeadline } = await c.call('_acpd/status', {});
  assert.deepEqual([nextDeadline.what, nextDeadline.sessionId], ['turnSeconds', sessionId]);
  assert.ok(Math.abs(Date.parse(nextDeadline.at) - Date.now() - 60_000) < 20_000, nextDeadline.at);
  c.cancel(sessionId);
  await running.answer;
});

// The record is there, the event of the end is not: a daemon was killed between both.
test('a turn whose end the next daemon writes says the same', async () => {
  const sessionId = await open();
  const rows = [['k1', `${tools(3)}; sleep 60000`, { toolCalls: 2 }], ['k2', 'echo c; sleep 60000', { seconds: 1 }]];

  for (const [key, text, budgets] of rows) {
    const result = await prompt(sessionId, text, budgets, { key });
    await c.close();
    await d.kill9();
    const lines = fs.readFileSync(journalOf(d, sessionId), 'utf8').split('\n').filter(Boolean);
    const at = lines.findLastIndex((line) => JSON.parse(line).k === 'turn_end');
    fs.writeFileSync(journalOf(d, sessionId), `${lines.slice(0, at).join('\n')}\n`);
    await d.restart();
    c = await d.client();
    await c.load(sessionId);
    const again = await prompt(sessionId, text, budgets, { key });
    assert.deepEqual([again.stopReason, again._meta.acpd.stopDetail], [result.stopReason, result._meta.acpd.stopDetail], key);
    const end = c.messages.findLast((m) => m.method === '_acpd/turn_end' && m.params.sessionId === sessionId);
    assert.deepEqual(end.params._meta.acpd.stopDetail, result._meta.acpd.stopDetail, key);
  }
});
