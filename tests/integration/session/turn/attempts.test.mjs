// SPDX-License-Identifier: Apache-2.0
// What failed goes back to the harness: attempts as turns of their own, and one answer at the end of the last.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../../lib/daemon.mjs';
import { gate } from '../../../lib/gate.mjs';
import { sleep } from '../../../lib/rawws.mjs';
import { until } from '../../../lib/wait.mjs';
import { turnsOf, verify } from '../../ledger.mjs';
import { attemptsOf, endsOf, fails, mends, opened, stateOf, verdictsOf, waits, wrote } from './rig.mjs';

let d, c;

before(async () => {
  d = await Daemon.start();
  c = await d.client();
});
after(() => endInOrder(d, c));

const attempt = (n, of, first, retried) => ({ n, of, first, ...(retried && { retried }) });
// Waits in its first run until the test says so, then fails with a line that mends it.
const slowly = { id: 'good', kind: 'command', command: `test -f good && exit 0; ${waits.command.replace('exit $(cat go)', 'echo "write good ok" >&2')}; exit 1` };

describe('an attempt', () => {
  test('follows what failed: the harness is told, mends it, and the prompt is verified', async () => {
    const s = await opened(d, c, { checks: [mends], retry: { max: 2 } });
    const answer = await c.prompt(s.sessionId, 'echo broken', { meta: { acpd: { key: 'job' } } });
    const ends = endsOf(c, s.sessionId);

    assert.equal(answer.stopReason, 'end_turn');
    assert.deepEqual([answer._meta.acpd.turn, answer._meta.acpd.attempt, answer._meta.acpd.checks.verdict], [2, attempt(2, 3, 1), 'verified']);
    assert.deepEqual(ends.map((e) => [e.turn, e.key]), [[1, undefined], [2, 'job']], 'the key is answered once');
    assert.deepEqual(attemptsOf(ends), [attempt(1, 3, 1, true), attempt(2, 3, 1)]);
    assert.deepEqual(verdictsOf(ends), ['failed', 'verified']);
    assert.deepEqual(wrote(d, s.sessionId), [
      { turn: 1, key: 'job', how: 'end_turn', verdict: 'failed', attempt: attempt(1, 3, 1, true) },
      { turn: 2, key: 'job', how: 'end_turn', verdict: 'verified', attempt: attempt(2, 3, 1) },
    ]);
    const said = c.updatesOf(s.sessionId, 'user_message_chunk');

    assert.equal(said.length, 1, 'its own prompt is not sent back to a client, what the daemon said is');
    assert.deepEqual([said[0].turn, said[0].msg.params._meta.acpd.attempt], [2, attempt(2, 3, 1)]);
    assert.match(said[0].update.content.text, /attempt 2 of 3\..*\n\nCheck good \(command\) failed\.\nIt ended with exit code 1\.\nIts error output ends with:\n```\nwrite good ok\n```\n$/s);
    assert.equal(fs.readFileSync(`${s.cwd}/good`, 'utf8'), 'ok');
  });

  test('the answer has the usage of all attempts, and that of each; so has the same prompt after a restart', async (t) => {
    const own = await Daemon.startFor(t), client = await own.client();
    const used = (n) => ({ inputTokens: n, outputTokens: 2 * n, totalTokens: 3 * n });
    const check = { id: 'good', kind: 'command', command: `test -f good || { echo 'tokens ${JSON.stringify(used(100))}\nwrite good ok' >&2; exit 1; }` };
    const s = await opened(own, client, { checks: [check], retry: { max: 2 } });
    const ask = (on) => on.prompt(s.sessionId, `tokens ${JSON.stringify(used(7))}\necho broken`, { meta: { acpd: { key: 'job' } } });
    const answer = await ask(client);
    const attempts = [{ turn: 1, usage: used(7) }, { turn: 2, usage: used(100) }];

    assert.deepEqual([answer.usage, answer._meta.acpd.attempts, answer._meta.acpd.promptUsage], [used(107), attempts, used(107)]);
    assert.deepEqual(endsOf(client, s.sessionId).map((e) => [e.usage, e._meta.acpd.promptUsage]), [[used(7), undefined], [used(100), used(107)]]);
    assert.deepEqual(turnsOf(own, s.sessionId).map((r) => r.usage.inputTokens), [7, 100]);
    await own.restart();
    const again = await own.client();

    await again.load(s.sessionId, { cwd: s.cwd });
    assert.deepEqual((await ask(again)).usage, used(107));
  });

  test('is the last one when none is left: the verdict is failed', async () => {
    for (const max of [0, 1, 3]) {
      const s = await opened(d, c, { checks: [fails], retry: { max } });
      const answer = await c.prompt(s.sessionId, 'echo broken');
      const all = Array.from({ length: max + 1 }, (_, i) => max ? attempt(i + 1, max + 1, 1, i < max) : undefined);

      assert.deepEqual([answer.stopReason, answer._meta.acpd.checks.verdict, answer._meta.acpd.turn], ['end_turn', 'failed', max + 1]);
      assert.deepEqual(attemptsOf(endsOf(c, s.sessionId)), all);
      assert.deepEqual(attemptsOf(turnsOf(d, s.sessionId)), all);
    }
  });

  test('a prompt\'s retry takes the place of the session\'s; without checks there is nothing to try again', async () => {
    const s = await opened(d, c, { checks: [fails], retry: { max: 2 } });
    const rows = [[{ retry: { max: 1 } }, attempt(2, 2, 1)], [{ retry: { max: 0 } }, undefined], [{ checks: [] }, undefined], [{}, attempt(3, 3, 5)]];

    for (const [acpd, last] of rows)
      assert.deepEqual((await c.prompt(s.sessionId, 'echo broken', { meta: { acpd } }))._meta.acpd.attempt, last);
    assert.equal((await c.prompt((await opened(d, c, { retry: { max: 2 } })).sessionId, 'echo fine'))._meta.acpd.attempt, undefined);
  });

  test('does not follow a check that no work of the harness can mend: there is no baseline', async () => {
    const s = await opened(d, c, { checks: [fails, { id: 'size', kind: 'diffSize', maxFiles: 3 }], retry: { max: 2 } });
    const { turn, attempt: last, checks } = (await c.prompt(s.sessionId, 'echo broken'))._meta.acpd;

    assert.deepEqual([turn, last, checks.verdict, checks.results[1].error.reason], [1, attempt(1, 3, 1), 'failed', 'NO_BASELINE']);
  });

  test('goes before prompts that wait; these run in their order', async () => {
    const s = await opened(d, c, { checks: [slowly], retry: { max: 1 } });
    const one = c.startPrompt(s.sessionId, 'echo one');
    const others = ['two', 'three'].map((text) => c.startPrompt(s.sessionId, `echo ${text}`, { meta: { acpd: { checks: [] } } }));

    await s.checking();
    s.go(1);
    const turns = [];

    for (const { answer } of [one, ...others])
      turns.push((await answer).result._meta.acpd.turn);
    assert.deepEqual(turns, [2, 3, 4]);
    assert.deepEqual(turnsOf(d, s.sessionId).map((r) => r.turn), [1, 2, 3, 4]);
  });

  test('that the harness does not end well is unchecked, and the last', async () => {
    const s = await opened(d, c, { checks: [{ id: 'stops', kind: 'command', command: 'echo "stop refusal"; exit 1' }, fails], retry: { max: 5 } });
    const answer = await c.prompt(s.sessionId, 'echo broken');

    assert.deepEqual([answer.stopReason, answer._meta.acpd.attempt, answer._meta.acpd.checks], ['refusal', attempt(2, 6, 1), { verdict: 'unchecked', results: [] }]);
  });

  test('fails with its harness: the error says which it was', async () => {
    const s = await opened(d, c, { checks: [{ id: 'dies', kind: 'command', command: 'echo "crash exit 3"; exit 1' }], retry: { max: 5 } });
    const e = await c.fails('session/prompt', c.promptParams(s.sessionId, 'echo broken', { acpd: { key: 'job' } }));

    assert.deepEqual([e.data.turn.class, e.data.attempt, e.data.checks], ['harness_exit', attempt(2, 6, 1), { verdict: 'unchecked', results: [] }]);
    assert.deepEqual((await c.fails('session/prompt', c.promptParams(s.sessionId, 'echo broken', { acpd: { key: 'job' } }))).data, e.data);
    assert.deepEqual(endsOf(c, s.sessionId).map((x) => [x.turn, x.key]), [[1, undefined], [2, 'job']]);
  });

  test('what the sandbox says in a check is bounded in what the harness is told', async () => {
    const many = Array.from({ length: 32 }, (_, i) => ({ id: `c${i}`, kind: 'command', command: 'head -c 100000 /dev/zero | tr "\\0" x; head -c 100000 /dev/zero | tr "\\0" y >&2; exit 1' }));
    const s = await opened(d, c, { checks: many, retry: { max: 1 } });

    await c.prompt(s.sessionId, 'echo broken');
    const [said] = c.updatesOf(s.sessionId, 'user_message_chunk');

    assert.ok(said.update.content.text.length < 34 * 1024, said.update.content.text.length);
    assert.match(said.update.content.text, /Check c0 .*\n\d+ more checks failed\.\n$/s);
    assert.ok(JSON.stringify(turnsOf(d, s.sessionId)[0]).length < 8192, 'nor in the record');
  });
});

describe('the whole of it', () => {
  test('the budgets of a prompt are for all attempts together, those of turns for each', async () => {
    const checks = [{ id: 'more', kind: 'command', command: 'echo "tool more read More"; exit 1' }];
    const s = await opened(d, c, { checks, retry: { max: 3 } });
    const answer = await c.prompt(s.sessionId, 'tool a read A; tool b read B', { meta: { acpd: { budgets: { toolCalls: 2 } } } });

    assert.deepEqual([answer.stopReason, answer._meta.acpd.stopDetail.scope, answer._meta.acpd.attempt, answer._meta.acpd.checks.verdict],
      ['max_turn_requests', 'prompt', attempt(2, 4, 1), 'unchecked']);
    const each = await opened(d, c, { checks, retry: { max: 3 }, budgets: { turn: { toolCalls: 2 } } });

    assert.deepEqual((await c.prompt(each.sessionId, 'tool a read A; tool b read B'))._meta.acpd.attempt, attempt(4, 4, 1));
  });

  test('cancelled in a later attempt', async () => {
    const s = await opened(d, c, { checks: [{ id: 'waits', kind: 'command', command: 'echo "echo again"; echo "sleep 60000"; exit 1' }], retry: { max: 3 } });
    const turn = c.startPrompt(s.sessionId, 'echo broken');

    await c.waitUpdate((u) => u.sessionId === s.sessionId && u.update.content?.text === 'again');
    c.notify('$/cancel_request', { requestId: turn.id });
    const { result } = await turn.answer;

    assert.deepEqual([result.stopReason, result._meta.acpd.attempt, result._meta.acpd.checks.verdict], ['cancelled', attempt(2, 4, 1), 'unchecked']);
    assert.equal(endsOf(c, s.sessionId).length, 2);
  });

  test('the key attaches to it at every time, and a client that loads the session sees what was', async () => {
    const s = await opened(d, c, { checks: [slowly, { id: 'second', kind: 'command', command: 'test -f good && touch second && while ! test -s end; do sleep 0.02; done' }], retry: { max: 1 } });
    const params = c.promptParams(s.sessionId, 'echo broken', { acpd: { key: 'job' } });
    const answers = [c.request('session/prompt', params).answer];

    await s.checking();
    answers.push(c.request('session/prompt', params).answer);
    s.go(1);
    await until(() => fs.existsSync(`${s.cwd}/second`), 'the second attempt is checked');
    answers.push(c.request('session/prompt', params).answer);
    assert.equal((await c.fails('session/prompt', c.promptParams(s.sessionId, 'echo other', { acpd: { key: 'job' } }))).data.reason, 'KEY_REUSED');
    const b = await d.client();

    await b.load(s.sessionId, { cwd: s.cwd });
    assert.deepEqual(endsOf(b, s.sessionId).map((e) => [e.turn, e.key, e._meta.acpd.attempt]), [[1, undefined, attempt(1, 2, 1, true)]]);
    assert.deepEqual(attemptsOf(b.updatesOf(s.sessionId, 'user_message_chunk').map((u) => u.msg.params)), [undefined, attempt(2, 2, 1)]);
    answers.push(b.request('session/prompt', params).answer);
    fs.writeFileSync(`${s.cwd}/end`, 'x');
    const last = (await answers.at(-1)).result;

    assert.deepEqual([last._meta.acpd.turn, last._meta.acpd.checks.verdict], [2, 'verified']);
    const stored = await b.call('session/prompt', params);

    assert.deepEqual([stored._meta.acpd.turn, stored._meta.acpd.attempt], [2, attempt(2, 2, 1)]);
    assert.deepEqual(turnsOf(d, s.sessionId).map((r) => r.turn), [1, 2]);
    await b.close();
    c = await d.client();
  });

  test('over HTTP: events of the turns say attempt and verdict', async () => {
    const s = await opened(d, c, { checks: [mends], retry: { max: 1 } });

    await c.prompt(s.sessionId, 'echo broken');
    const { body } = await d.http(`/v1/sessions/${s.sessionId}/events?format=ndjson&follow=false`, { token: d.token });
    const all = body.split('\n').filter(Boolean).map((line) => JSON.parse(line));

    assert.deepEqual(all.filter((e) => e.kind === 'complete').map((e) => [e.attempt, e.checks.verdict]), [[attempt(1, 2, 1, true), 'failed'], [attempt(2, 2, 1), 'verified']]);
    assert.deepEqual(all.filter((e) => e.kind === 'prompt').map((e) => e.attempt), [undefined, attempt(2, 2, 1)]);
  });

  test('a fork has the history of it, and its own numbers go on', async () => {
    const s = await opened(d, c, { checks: [mends], retry: { max: 1 } });

    await c.prompt(s.sessionId, 'echo broken');
    const fork = await c.call('session/fork', { sessionId: s.sessionId, cwd: s.cwd, mcpServers: [] });

    assert.deepEqual(verdictsOf(endsOf(c, fork.sessionId)), ['failed', 'verified']);
    const answer = await c.prompt(fork.sessionId, 'echo on');

    assert.deepEqual([answer._meta.acpd.turn, answer._meta.acpd.attempt, answer._meta.acpd.checks.verdict], [3, attempt(1, 2, 3), 'verified']);
  });
});

// The harness is started anew between two attempts, and takes its time.
describe('between two attempts', () => {
  const meta = { checks: [slowly], retry: { max: 3 } };
  const between = async (t, acpd) => {
    const own = await Daemon.startFor(t, { stub: { args: ['--init-delay', '800'] } });
    const a = await own.client();
    const s = await opened(own, a, meta);
    const params = a.promptParams(s.sessionId, 'echo broken', { acpd });
    const turn = a.request('session/prompt', params);

    await s.checking();
    await a.load(s.sessionId, { cwd: s.cwd, meta: { env: { NEW: '1' }, envKeep: ['NEW'] } }).catch(() => {});
    s.go(1);
    await until(() => endsOf(a, s.sessionId).length === 1 || turnsOf(own, s.sessionId).length === 1, 'the first attempt has ended');
    return { own, a, s, params, turn };
  };

  test('the harness may go and come back', async (t) => {
    const { own, a, s, turn } = await between(t);
    const { result } = await turn.answer;

    assert.deepEqual([result._meta.acpd.turn, result._meta.acpd.attempt, result._meta.acpd.checks.verdict], [2, attempt(2, 4, 1), 'verified']);
    assert.deepEqual(wrote(own, s.sessionId).map((r) => r.verdict), ['failed', 'verified']);
    await a.close();
    await own.stop();
  });

  test('cancelled, and closed: it ends once, with a turn that did not begin', async (t) => {
    for (const how of ['cancel', 'close']) {
      const { own, a, s, turn, params } = await between(t, { key: 'job' });

      if (how === 'cancel')
        a.cancel(s.sessionId);
      else
        await a.call('session/close', { sessionId: s.sessionId });
      const { result } = await turn.answer;

      assert.deepEqual([result.stopReason, result._meta.acpd.attempt, result._meta.acpd.checks], ['cancelled', attempt(2, 4, 1), { verdict: 'unchecked', results: [] }]);
      assert.deepEqual(wrote(own, s.sessionId).map((r) => [r.turn, r.how, r.verdict]), [[1, 'end_turn', 'failed'], [2, 'cancelled', 'unchecked']]);
      if (how === 'close')
        await a.load(s.sessionId, { cwd: s.cwd });
      assert.deepEqual(await a.call('session/prompt', params), result);
      await a.close();
      await own.stop();
    }
  });

  test('kill -9: the next daemon ends it once', async (t) => {
    const { own, s, params } = await between(t, { key: 'job' });

    await own.kill9();
    for (let life = 0; life < 2; life++) {
      await own.restart();
      const b = await own.client();

      await b.load(s.sessionId, { cwd: s.cwd });
      assert.deepEqual(endsOf(b, s.sessionId).map((e) => [e.turn, e.key, e.error?.class ?? e.stopReason, e._meta.acpd.checks.verdict, e._meta.acpd.attempt]),
        [[1, undefined, 'end_turn', 'failed', attempt(1, 4, 1, true)], [2, 'job', 'shutdown', 'unchecked', attempt(2, 4, 1)]]);
      const e = await b.fails('session/prompt', params);

      assert.deepEqual([e.data.turn.class, e.data.attempt], ['shutdown', attempt(2, 4, 1)]);
      assert.deepEqual(wrote(own, s.sessionId).map((r) => [r.turn, r.key, r.how, r.verdict]), [[1, 'job', 'end_turn', 'failed'], [2, 'job', 'shutdown', 'unchecked']]);
      assert.deepEqual(turnsOf(own, s.sessionId).map((r) => r.cumulative.turns), [1, 2]);
      verify(own);
      await b.close();
    }
    const b = await own.client();

    await b.load(s.sessionId, { cwd: s.cwd, meta: { checks: [] } });
    assert.equal((await b.prompt(s.sessionId, 'echo on'))._meta.acpd.turn, 3);
    await b.close();
    await own.stop();
  });
});

test('kill -9 in a later attempt: that attempt is ended by the next daemon, and with it the prompt', async (t) => {
  const own = await Daemon.startFor(t);
  const a = await own.client();
  const s = await opened(own, a, { checks: [{ id: 'waits', kind: 'command', command: 'echo "echo again"; echo "sleep 60000"; exit 1' }], retry: { max: 3 } });
  const params = a.promptParams(s.sessionId, 'echo broken', { acpd: { key: 'job' } });

  a.call('session/prompt', params).catch(() => {});
  await a.waitUpdate((u) => u.update.content?.text === 'again');
  await own.kill9();
  for (let life = 0; life < 2; life++) {
    await own.restart();
    const b = await own.client();

    await b.load(s.sessionId, { cwd: s.cwd });
    assert.deepEqual(endsOf(b, s.sessionId).map((e) => [e.turn, e.key, e.error?.class, e._meta.acpd.attempt]), [[1, undefined, undefined, attempt(1, 4, 1, true)], [2, 'job', 'shutdown', attempt(2, 4, 1)]]);
    assert.equal((await b.fails('session/prompt', params)).data.turn.class, 'shutdown');
    assert.deepEqual(wrote(own, s.sessionId).map((r) => [r.turn, r.key, r.how]), [[1, 'job', 'end_turn'], [2, 'job', 'shutdown']]);
    verify(own);
    await b.close();
  }
  await own.stop();
});

test('state "checking" and "busy" by turns', async () => {
  const s = await opened(d, c, { checks: [waits] });
  const { step, open } = gate(d);
  const turn = c.startPrompt(s.sessionId, `echo begun; ${step}`);

  await c.waitUpdate((u) => u.sessionId === s.sessionId && u.update.content?.text === 'begun');
  assert.equal(await stateOf(c, s.sessionId), 'busy');
  open();
  await s.checking();
  assert.equal(await stateOf(c, s.sessionId), 'checking');
  s.go(0);
  await turn.answer;
  await sleep(1);
  assert.equal(await stateOf(c, s.sessionId), 'open');
});
