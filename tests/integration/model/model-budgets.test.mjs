// SPDX-License-Identifier: Apache-2.0
// Budgets before each model call: the call for which nothing is left is refused and ends the turn, calls at the same time do not go
// beyond a budget together, and 80 % are told of once. The harness is the stub; its model calls are the test's.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { connectTaker, ModelConnection, listenerOf, STUB_WITH_PROVIDER } from '../../lib/model-calls.mjs';
import { until, withLimit } from '../../lib/wait.mjs';
import { running, turnsOf } from '../ledger.mjs';

const MODEL = 'stub-small';
const PRICES = { [MODEL]: { input: 1e6, output: 1e6 } }; // a token costs 1
const ESTIMATE = 4096 + Math.floor(JSON.stringify({ model: MODEL }).length / 4) + 1; // what is reserved for a call that names no maximum

let d, taker;
before(async () => {
  d = await Daemon.start({ harnesses: [STUB_WITH_PROVIDER] });
  taker = await connectTaker(d);
});
after(() => endInOrder(d, taker.c));

const usage = (input, output, more) => `data: ${JSON.stringify({ model: MODEL, choices: [], usage: { prompt_tokens: input, completion_tokens: output, ...more } })}\n\n`;
const said = (id, text) => {
  taker.head(id);
  taker.chunk(id, `data: {"model":"${MODEL}","choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n${text}data: [DONE]\n\n`);
  taker.end(id);
};

class Session {
  static async open(t, budgets, provider) {
    const s = new Session();

    Object.assign(s, { t, id: (await taker.newSession({ model: MODEL, ...provider }, {}, { budgets })).sessionId });
    s.where = listenerOf(s.id);
    return s;
  }

  // Nobody waits for its end.
  async turn(steps = 'sleep 60000') {
    this.ended = (await running(taker.c, this.id, 'on', steps)).answer;
    return this;
  }

  async begin(body = { model: MODEL }) {
    const g = await ModelConnection.open(this.where);
    this.t.after(() => g.close());
    return g.send(undefined, { body: JSON.stringify(body) });
  }

  get asked() {
    return taker.requests.filter((r) => r.sessionId === this.id).map((r) => r.callId);
  }

  // A call that passes, up to its end.
  async passes(answer = '', body) {
    const n = this.asked.length;
    const g = await this.begin(body);

    await until(() => this.asked.length > n, 'the call is asked');
    said(this.asked[n], answer);
    await until(() => g.body.whole, 'its answer');
  }

  async refused() {
    const n = this.asked.length;
    const { status, code, headers } = await (await this.begin()).refusal();

    assert.deepEqual([status, code, headers['x-should-retry'], headers['retry-after']], [402, 'MODEL_BUDGET_SPENT', 'false', undefined]);
    assert.equal(this.asked.length, n);
  }

  // The turn has ended by this budget, once; its answer, its event and its record say the same.
  async stopped(stopReason, stopDetail) {
    const { result } = await this.ended;
    const ends = taker.c.notifications.filter((m) => m.method === '_acpd/turn_end' && m.params.sessionId === this.id && m.params.turn === result._meta.acpd.turn);
    const record = turnsOf(d, this.id).filter((r) => r.turn === result._meta.acpd.turn);

    assert.deepEqual([result.stopReason, result._meta.acpd.stopDetail], [stopReason, stopDetail]);
    assert.deepEqual(ends.map(({ params }) => [params.stopReason, params._meta.acpd.stopDetail]), [[stopReason, stopDetail]]);
    assert.deepEqual(record.map((r) => [r.stopReason, r.stopDetail]), [[stopReason, stopDetail]]);
  }

  async cancelled() {
    taker.c.cancel(this.id);
    assert.equal((await this.ended).result.stopReason, 'cancelled');
  }

  get warnings() {
    return taker.c.notifications.filter((m) => m.method === '_acpd/event' && m.params.sessionId === this.id && m.params.event.event === 'budget_warning')
      .map(({ params: { event: { kind, event, ...rest }, _meta } }) => ({ ...rest, ...(_meta.acpd.turn ? { turn: _meta.acpd.turn } : {}) }));
  }
}

describe('the call for which nothing is left', () => {
  test('steps of a turn', async (t) => {
    const s = await (await Session.open(t, { turn: { steps: 2 } })).turn();

    await s.passes(usage(1, 1));
    await s.passes(); // its usage is not told: it is a step all the same
    await s.refused();
    await s.stopped('max_turn_requests', { budget: 'steps', scope: 'turn', limit: 2, used: 2 });
    await (await s.turn()).passes(); // the next turn has its own
    await s.cancelled();
  });

  test('tokens of a turn, exactly', async (t) => {
    const s = await (await Session.open(t, { turn: { tokens: 100 } })).turn();

    await s.passes(usage(60, 39));
    await s.passes(); // of which nobody tells: nothing is made up
    await s.passes(usage(1, 0));
    await s.refused();
    await s.stopped('max_tokens', { budget: 'tokens', scope: 'turn', limit: 100, used: 100 });
  });

  test('cost of a session: it is refused in the turn, no later turn begins, and between turns it is refused too', async (t) => {
    const s = await (await Session.open(t, { session: { cost: 50 } }, { prices: PRICES })).turn();

    await s.passes(usage(30, 20));
    await s.refused();
    await s.stopped('max_turn_requests', { budget: 'cost', scope: 'session', limit: 50, used: 50 });
    const next = await taker.c.prompt(s.id, 'echo never');
    assert.deepEqual(next._meta.acpd.stopDetail, { budget: 'cost', scope: 'session', limit: 50, used: 50 });
    await s.refused();
    assert.equal(s.asked.length, 1);
  });

  test('a call between turns counts for the session', async (t) => {
    const s = await Session.open(t, { session: { tokens: 10 } });

    await s.passes(usage(5, 5));
    await s.refused();
  });

  test('a call that failed is no step', async (t) => {
    const s = await (await Session.open(t, { turn: { steps: 1 } })).turn();

    for (let i = 0; i < 3; i++) {
      const g = await s.begin();
      await until(() => s.asked.length > i, 'the call is asked');
      taker.head(s.asked[i], 500);
      taker.end(s.asked[i]);
      await until(() => g.body.whole, 'its answer');
    }
    await s.passes();
    await s.refused();
    await s.stopped('max_turn_requests', { budget: 'steps', scope: 'turn', limit: 1, used: 1 });
  });

  test('after a budget of tool calls no model call passes', async (t) => {
    const s = await (await Session.open(t, { turn: { toolCalls: 1 } })).turn('nocancel; tool t1 read A; tool t2 read B; sleep 60000');

    await until(() => d.logs.some((l) => l.session === s.id && l.msg === 'turn being cancelled'), 'the budget is reached');
    await s.refused();
    await s.refused();
    await s.stopped('max_turn_requests', { budget: 'toolCalls', scope: 'turn', limit: 1, used: 2 });
  });

  test('what lists models or counts tokens is no such call', async (t) => {
    const s = await (await Session.open(t, { session: { steps: 1 } })).turn();

    await s.passes();
    const g = (await ModelConnection.open(s.where)).send('/v1/models', { method: 'GET', body: null });
    t.after(() => g.close());
    await until(() => s.asked.length === 2, 'it passes');
    taker.answer(s.asked[1]);
    await s.cancelled();
  });
});

describe('eight calls at the same time', () => {
  const eight = (s, body) => Promise.all(Array.from({ length: 8 }, () => s.begin(body)));

  // All of them have come, or wait.
  async function asked(s, n) {
    await until(() => s.asked.length >= n, `${n} calls are asked`);
    await taker.c.call('_acpd/status', { sessionId: s.id });
    assert.equal(s.asked.length, n);
  }

  test('budget for one: the others wait for it, and are refused', async (t) => {
    const s = await (await Session.open(t, { turn: { tokens: ESTIMATE } })).turn();
    const calls = await eight(s);

    await asked(s, 1);
    said(s.asked[0], usage(ESTIMATE, 7));
    const answers = await Promise.all(calls.map((g) => g.head()));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array.from({ length: 7 }, () => 402)]);
    await s.stopped('max_tokens', { budget: 'tokens', scope: 'turn', limit: ESTIMATE, used: ESTIMATE + 7 });
    assert.equal(s.asked.length, 1);
  });

  test('less used than reserved: one after the other, as far as it goes', async (t) => {
    const s = await (await Session.open(t, { turn: { tokens: 300 } })).turn();
    const calls = await eight(s);

    for (let i = 0; i < 3; i++) {
      await asked(s, i + 1);
      said(s.asked[i], usage(99, 1));
    }
    const answers = await Promise.all(calls.map((g) => g.head()));
    assert.equal(answers.filter(({ status }) => status === 402).length, 5);
    await s.stopped('max_tokens', { budget: 'tokens', scope: 'turn', limit: 300, used: 300 });
  });

  test('room for all by what they name as the most: together', async (t) => {
    const s = await (await Session.open(t, { turn: { tokens: 1000 } })).turn();
    const calls = await eight(s, { model: MODEL, max_tokens: 100 });

    await asked(s, 8);
    for (const id of s.asked)
      said(id, usage(1, 1));
    await Promise.all(calls.map((g) => until(() => g.body.whole, 'the end')));
    await s.cancelled();
  });

  test('steps: as many as there are', async (t) => {
    const s = await (await Session.open(t, { session: { steps: 3 } })).turn();

    await eight(s);
    await asked(s, 3);
    for (const id of s.asked)
      said(id, '');
    await s.stopped('max_turn_requests', { budget: 'steps', scope: 'session', limit: 3, used: 3 });
    assert.equal(s.asked.length, 3);
  });

  test('cost without prices: the first one alone, then by what it cost', async (t) => {
    const s = await (await Session.open(t, { turn: { cost: 1 } })).turn();

    await eight(s, { model: MODEL, max_tokens: 90 });
    await asked(s, 1);
    said(s.asked[0], usage(60, 40, { cost: 0.25 })); // the others will cost as much, for 100 tokens each
    await asked(s, 4);
    for (const id of s.asked.slice(1))
      said(id, usage(60, 40, { cost: 0.25 }));
    await s.stopped('max_turn_requests', { budget: 'cost', scope: 'turn', limit: 1, used: 1 });
    assert.equal(s.asked.length, 4);
  });

  test('one that waits and whose harness goes is never asked', async (t) => {
    const s = await (await Session.open(t, { turn: { tokens: 300 } })).turn();
    const sockets = d.socketCount();
    const [first, second] = [await s.begin(), await s.begin()];

    await asked(s, 1);
    await until(() => d.socketCount() === sockets + 2, 'the daemon has taken both');
    const { cancelled } = taker;
    second.close();
    await until(() => d.socketCount() === sockets + 1, 'the daemon has seen that');
    first.close();
    await until(() => taker.cancelled > cancelled, 'the first is cancelled');
    await s.passes(usage(1, 1));
    assert.equal(s.asked.length, 2);
    await s.cancelled();
  });
});

describe('80 %', () => {
  test('is told once for each budget and scope, and again in the next turn for the turn\'s', async (t) => {
    const s = await (await Session.open(t, { turn: { tokens: 100, steps: 10 }, session: { tokens: 250, cost: 1000 } }, { prices: PRICES })).turn();

    await s.passes(usage(70, 9));
    await taker.c.call('_acpd/status', { sessionId: s.id });
    assert.deepEqual(s.warnings, []);
    await s.passes(usage(1, 0));
    await s.passes(usage(1, 0));
    await s.cancelled();
    await (await s.turn()).passes(usage(80, 10));
    await s.passes(usage(30, 0));
    await s.refused();
    await s.stopped('max_tokens', { budget: 'tokens', scope: 'turn', limit: 100, used: 120 });
    assert.deepEqual(s.warnings, [{ budget: 'tokens', scope: 'turn', limit: 100, used: 80, turn: 1 }, { budget: 'tokens', scope: 'turn', limit: 100, used: 90, turn: 2 },
      { budget: 'tokens', scope: 'session', limit: 250, used: 201, turn: 2 }]);
  });

  test('of time and tool calls, before the turn is ended by them', async (t) => {
    const one = async (limit) => {
      const s = await (await Session.open(t, { turn: { toolCalls: 5, seconds: limit } })).turn('tool t1 read A; tool t2 read A; tool t3 read A; tool t4 read A; sleep 60000');

      assert.equal((await s.ended).result._meta.acpd.stopDetail.budget, 'seconds');
      return { limit, warnings: s.warnings };
    };
    const { limit, warnings: [calls, seconds, ...more] } = await withLimit(2, one, ({ warnings }) => warnings[0].budget === 'seconds');

    assert.deepEqual([calls, more], [{ budget: 'toolCalls', scope: 'turn', limit: 5, used: 4, turn: 1 }, []]);
    assert.deepEqual([seconds.budget, seconds.scope, seconds.limit], ['seconds', 'turn', limit]);
    assert.ok(seconds.used >= 0.8 * limit, `${seconds.used}`);
  });

  test('between turns; and not again after a restart, unless the budget is another', async (t) => {
    const d2 = await Daemon.start({ harnesses: [STUB_WITH_PROVIDER] });
    t.after(() => d2.discard());
    const one = await connectTaker(d2);
    const budgets = { session: { tokens: 10 } };
    const { sessionId } = await one.newSession({ model: MODEL }, {}, { budgets });
    const call = async (to, tokens) => {
      const n = to.requests.length;
      const g = (await ModelConnection.open(listenerOf(sessionId))).send();
      const { callId } = await to.asked(n);
      to.head(callId);
      to.chunk(callId, usage(tokens, 0));
      to.end(callId);
      await until(() => g.body.whole, 'the answer');
      g.close();
      await to.c.call('_acpd/status', { sessionId });
    };
    const warnings = (to) => to.c.notifications.filter((m) => m.params?.event?.event === 'budget_warning').map((m) => m.params.event.used);

    await one.c.prompt(sessionId, 'echo hi');
    await call(one, 8);
    await one.c.prompt(sessionId, 'echo hi');
    assert.deepEqual(warnings(one), [8]);
    await d2.kill9();
    await d2.restart();
    const two = await connectTaker(d2);
    t.after(() => two.c.close());
    await two.c.load(sessionId, { cwd: d2.workDir });
    const replayed = warnings(two).length;
    await two.c.prompt(sessionId, 'echo again');
    await call(two, 1);
    assert.equal(warnings(two).length, replayed);
    await two.c.load(sessionId, { cwd: d2.workDir, meta: { budgets: { session: { tokens: 11 } } } });
    await two.c.prompt(sessionId, 'echo again');
    assert.equal(warnings(two).at(-1), 9);
  });
});
