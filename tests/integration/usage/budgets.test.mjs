// SPDX-License-Identifier: Apache-2.0
// Budgets: the turn that goes beyond one is ended and says which; a session's bounds all its turns.

import assert from 'node:assert/strict';
import { test, describe, before, after } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { sleep } from '../../lib/rawws.mjs';
import { withLimit } from '../../lib/wait.mjs';
import { running, turnsOf } from '../ledger.mjs';

const tools = (n) => Array.from({ length: n }, (_, i) => `tool t${i} read A`).join(';');
const tokens = (inputTokens, outputTokens) =>
  `tokens ${JSON.stringify({ inputTokens, outputTokens, totalTokens: inputTokens + outputTokens })}`;

let d, c;

before(async () => {
  d = await Daemon.start();
  c = await d.client();
});

after(() => endInOrder(d, c));

const open = async (budgets) => (await c.newSession({ meta: { budgets } })).sessionId;

// The turn's answer, its turn_end event and its record all tell the same.
async function stopped(sessionId, result, stopReason, want) {
  const detail = result._meta.acpd.stopDetail;
  const end = await c.waitFor((m) => m.method === '_acpd/turn_end' && m.params.sessionId === sessionId &&
    m.params.turn === result._meta.acpd.turn);
  const record = turnsOf(d, sessionId).find((r) => r.turn === result._meta.acpd.turn);

  assert.equal(result.stopReason, stopReason);
  for (const [name, value] of Object.entries(want))
    assert.equal(detail?.[name], value, `${name} of ${JSON.stringify(detail)}`);
  assert.ok(detail.used >= detail.limit);
  assert.equal(end.params.stopReason, stopReason);
  assert.deepEqual(end.params._meta.acpd.stopDetail, detail);
  assert.equal(record.stopReason, stopReason);
  assert.deepEqual(record.stopDetail, detail);
  return detail;
}

const durationOf = (sessionId, result) => turnsOf(d, sessionId).find((r) => r.turn === result._meta.acpd.turn).durationMs;

function assertKept(result) {
  assert.equal(result.stopReason, 'end_turn');
  assert.ok(!('stopDetail' in result._meta.acpd));
}

async function kept(sessionId, text) {
  assertKept(await c.prompt(sessionId, text));
  assert.ok(!('stopDetail' in turnsOf(d, sessionId).at(-1)));
}

describe('tool calls', () => {
  test('as many as allowed are no breach, the next one is', async () => {
    const sessionId = await open({ turn: { toolCalls: 2 } });

    await kept(sessionId, tools(2));
    await kept(sessionId, tools(2));
    const result = await c.prompt(sessionId, `${tools(3)}; sleep 60000; echo never`);
    await stopped(sessionId, result, 'max_turn_requests', { budget: 'toolCalls', scope: 'turn', limit: 2, used: 3 });
    assert.ok(!c.chunks(sessionId).includes('never'));
    await kept(sessionId, tools(2));
  });

  test('of the session: over several turns, and for good', async () => {
    const sessionId = await open({ session: { toolCalls: 3 } });

    await kept(sessionId, tools(2));
    const result = await c.prompt(sessionId, `${tools(2)}; sleep 60000`);
    await stopped(sessionId, result, 'max_turn_requests', { budget: 'toolCalls', scope: 'session', limit: 3, used: 4 });
    const next = await c.prompt(sessionId, 'echo more');
    await stopped(sessionId, next, 'max_turn_requests', { budget: 'toolCalls', scope: 'session' });
    assert.ok(!c.chunks(sessionId).includes('more'), 'the harness did not even see it');
  });

  test('a harness that does not heed the cancel is ended', async () => {
    const sessionId = await open({ turn: { toolCalls: 1 } });
    const result = await c.prompt(sessionId, `nocancel; ${tools(2)}; sleep 60000`);

    await stopped(sessionId, result, 'max_turn_requests', { budget: 'toolCalls' });
    assert.ok(durationOf(sessionId, result) < 60000, 'the harness would have gone on for a minute');
    await kept(sessionId, 'echo again');
  });
});

describe('wall clock', () => {
  test('of a turn', async () => {
    const short = async (seconds) => {
      const sessionId = await open({ turn: { seconds } });
      const from = Date.now();
      const result = await c.prompt(sessionId, 'echo x; sleep 60000');
      const took = Date.now() - from;
      const { used } = await stopped(sessionId, result, 'max_turn_requests', { budget: 'seconds', scope: 'turn', limit: seconds });

      assert.ok(used >= seconds && used < 60, `${used}`);
      assert.ok(took >= 1000 * seconds - 10, `${took} ms`);
      return c.prompt(sessionId, 'echo short');
    };

    assertKept(await withLimit(2, short, ({ stopReason }) => stopReason !== 'end_turn', 3));
  });

  test('of a session: the time of turns, not the time between them', async () => {
    const one = async (seconds) => {
      const id = await open({ session: { seconds } });

      return { sessionId: id, seconds, first: await c.prompt(id, 'echo x; sleep 600') };
    };
    const { sessionId, seconds, first } = await withLimit(5, one, (r) => r.first.stopReason !== 'end_turn');

    assertKept(first);
    await sleep(700);
    const result = await c.prompt(sessionId, 'echo x; sleep 60000');
    await stopped(sessionId, result, 'max_turn_requests', { budget: 'seconds', scope: 'session', limit: seconds });
    const [before, last] = [first, result].map((r) => durationOf(sessionId, r));
    assert.ok(before >= 600 && last >= 1000 * seconds - before - 50, `${before} and ${last} ms`);
    await stopped(sessionId, await c.prompt(sessionId, 'echo x'), 'max_turn_requests', { budget: 'seconds' });
  });

  test('a client that cancels first is told so', async () => {
    const sessionId = await open({ turn: { seconds: 30 } });
    const { answer } = await running(c, sessionId, 'on', 'sleep 60000');

    c.cancel(sessionId);
    const { result } = await answer;
    assert.equal(result.stopReason, 'cancelled');
    assert.ok(!('stopDetail' in result._meta.acpd));
  });
});

describe('tokens that are known when the turn has ended', () => {
  test('the turn keeps its budget, the session has none left for the next one', async () => {
    const sessionId = await open({ turn: { tokens: 10 }, session: { tokens: 100 } });

    await kept(sessionId, `echo a; ${tokens(50, 9)}`);
    await kept(sessionId, `echo b; ${tokens(40, 1)}`); // 100 in all
    const result = await c.prompt(sessionId, 'echo never');
    await stopped(sessionId, result, 'max_tokens', { budget: 'tokens', scope: 'session', limit: 100, used: 100 });
    assert.ok(!c.chunks(sessionId).includes('never'));
  });

  test('a larger budget, given on load, lets it go on', async () => {
    const sessionId = await open({ session: { tokens: 5 } });

    await kept(sessionId, `echo a; ${tokens(5, 1)}`);
    await stopped(sessionId, await c.prompt(sessionId, 'echo b'), 'max_tokens', { used: 6 });
    await c.load(sessionId, { meta: { budgets: { session: { tokens: 7 } } } });
    await kept(sessionId, `echo c; ${tokens(1, 0)}`);
    await stopped(sessionId, await c.prompt(sessionId, 'echo d'), 'max_tokens', { limit: 7, used: 7 });
  });

  test('what nobody reports bounds nothing, and the end of the turn names it', async () => {
    const sessionId = await open({ turn: { cost: 0.000000000001, tokens: 100 }, session: { cost: 0.5 } });

    for (const [text, unmeasured] of [[`${tools(2)}; ${tokens(1, 1)}`, ['cost']], ['echo x', ['tokens', 'cost']], [`usage; echo a cent; ${tokens(1, 1)}`, undefined]]) {
      const { stopReason, _meta } = await c.prompt(sessionId, text);
      const { params: end } = await c.waitFor((m) => m.method === '_acpd/turn_end' && m.params.sessionId === sessionId && m.params.turn === _meta.acpd.turn);

      assert.deepEqual([end._meta.acpd.unmeasured, _meta.acpd.unmeasured], [unmeasured, unmeasured], text);
      assert.equal(stopReason, 'end_turn');
    }
  });

  test('steps of a harness whose calls nobody counts are refused, wherever they are given', async () => {
    const sessionId = await open({ turn: { toolCalls: 3 } });
    const refused = async (method, params, field) => {
      const { code, data, rpcMessage } = await c.fails(method, params);

      assert.deepEqual([code, data.reason, data.field], [-32602, 'BUDGET_UNMEASURABLE', field]);
      assert.ok(rpcMessage.includes('stub'), rpcMessage);
    };
    const acpd = (budgets) => ({ cwd: d.workDir, mcpServers: [], _meta: { acpd: { budgets } } });

    for (const scope of ['turn', 'session']) {
      await refused('session/new', acpd({ [scope]: { steps: 1 } }), `_meta.acpd.budgets.${scope}.steps`);
      for (const method of ['session/load', 'session/resume', 'session/fork'])
        await refused(method, { sessionId, ...acpd({ [scope]: { steps: 1 } }) }, `_meta.acpd.budgets.${scope}.steps`);
    }
    await refused('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'echo x' }], _meta: { acpd: { budgets: { steps: 1 } } } }, '_meta.acpd.budgets.steps');
    await kept(sessionId, tools(3));
  });
});

describe('cost', () => {
  // A harness of ACP tells what its session has cost so far; what the turn cost is known at its end.
  test('of the session: a turn that ends has kept it, the next one is not begun', async () => {
    const sessionId = await open({ turn: { cost: 5 }, session: { cost: 0.02 } });

    for (let i = 0; i < 2; i++) {
      await kept(sessionId, 'usage; echo a cent');
      assert.deepEqual(turnsOf(d, sessionId).at(-1).cost, { amount: 0.01, currency: 'USD', source: 'harness' });
    }
    const end = await c.prompt(sessionId, 'echo never');

    await stopped(sessionId, end, 'max_turn_requests', { budget: 'cost', scope: 'session', limit: 0.02, used: 0.02 });
    assert.ok(!c.chunks(sessionId).includes('never'));
    await c.load(sessionId, { meta: { budgets: { session: { cost: 1 } } } });
    await kept(sessionId, 'echo again');
  });
});

test('bad budgets are refused with the name of the field, and nothing is left', async () => {
  const sessions = (await c.call('_acpd/status', {})).sessions.length;

  for (const [budgets, field, reason] of [
    [7, '', 'FIELD_INVALID'],
    [{ day: {} }, '.day', 'PARAM_UNSUPPORTED'],
    [{ turn: 7 }, '.turn', 'FIELD_INVALID'],
    [{ turn: null }, '.turn', 'FIELD_INVALID'],
    [{ session: [] }, '.session', 'FIELD_INVALID'],
    [{ turn: { minutes: 1 } }, '.turn.minutes', 'PARAM_UNSUPPORTED'],
    [{ turn: { steps: 0 } }, '.turn.steps', 'FIELD_INVALID'],
    [{ turn: { steps: -1 } }, '.turn.steps', 'FIELD_INVALID'],
    [{ turn: { steps: 1.5 } }, '.turn.steps', 'FIELD_INVALID'],
    [{ turn: { steps: '1' } }, '.turn.steps', 'FIELD_INVALID'],
    [{ session: { tokens: 1e30 } }, '.session.tokens', 'FIELD_INVALID'],
    [{ session: { seconds: null } }, '.session.seconds', 'FIELD_INVALID'],
    [{ session: { cost: 0 } }, '.session.cost', 'FIELD_INVALID'],
    [{ session: { cost: -0.1 } }, '.session.cost', 'FIELD_INVALID'],
    [{ turn: { toolCalls: 1 }, session: { cost: '1' } }, '.session.cost', 'FIELD_INVALID'],
  ]) {
    const error = await c.fails('session/new', { cwd: d.workDir, mcpServers: [], _meta: { acpd: { budgets } } });

    assert.equal(error.code, -32602, JSON.stringify(budgets));
    assert.equal(error.data.field, `_meta.acpd.budgets${field}`, JSON.stringify(budgets));
    assert.equal(error.data.reason, reason, JSON.stringify(budgets));
  }
  assert.equal((await c.call('_acpd/status', {})).sessions.length, sessions);
});
