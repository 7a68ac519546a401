// SPDX-License-Identifier: Apache-2.0
// A turn that is checked: its verdict in all places, and what may end it while its checks run.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../../lib/daemon.mjs';
import * as procs from '../../../lib/procs.mjs';
import { until, withLimit } from '../../../lib/wait.mjs';
import { journalOf, turnsOf, verify } from '../../ledger.mjs';
import { endsOf, fails, holds, opened, stateOf, verdictsOf, waits } from './rig.mjs';

let d, c;

before(async () => {
  d = await Daemon.start();
  c = await d.client();
});
after(() => endInOrder(d, c));

const last = (sessionId) => turnsOf(d, sessionId).at(-1);

describe('the verdict', () => {
  test('in the answer, in the event of the end and, in outline, in the record', async () => {
    for (const [checks, verdict] of [[[holds], 'verified'], [[holds, fails], 'failed']]) {
      const s = await opened(d, c, { checks });
      const answer = await c.prompt(s.sessionId, 'echo done');
      const [end] = endsOf(c, s.sessionId);
      const told = answer._meta.acpd.checks;

      assert.equal(answer.stopReason, 'end_turn', 'that stays ACP\'s');
      assert.equal(told.verdict, verdict);
      assert.deepEqual(told.results.map((r) => [r.id, r.ok]), checks.map((x) => [x.id, x === holds]));
      assert.deepEqual(end._meta.acpd.checks, told);
      assert.deepEqual(last(s.sessionId).checks, { verdict, results: told.results.map(({ id, kind, ok, exitCode, durationMs }) => ({ id, kind, ok, exitCode, durationMs })) });
      if (verdict === 'failed')
        assert.deepEqual([told.results[1].exitCode, told.results[1].stdoutTail, told.results[1].stderrTail], [3, 'out\n', 'err\n']);
      assert.equal(answer._meta.acpd.attempt, undefined, 'nobody asked for another attempt');
    }
  });

  test('none where there are no checks; those of a prompt take the place of the session\'s', async () => {
    const bare = await opened(d, c);
    const s = await opened(d, c, { checks: [fails] });

    assert.equal((await c.prompt(bare.sessionId, 'echo done'))._meta.acpd.checks, undefined);
    assert.equal(endsOf(c, bare.sessionId)[0]._meta.acpd.checks, undefined);
    assert.equal(last(bare.sessionId).checks, undefined);
    const rows = [[{ checks: [holds] }, 'verified'], [{ checks: [] }, undefined], [{}, 'failed']];

    for (const [acpd, verdict] of rows)
      assert.equal((await c.prompt(s.sessionId, 'echo done', { meta: { acpd } }))._meta.acpd.checks?.verdict, verdict);
  });

  test('of a turn that its harness did not end well: unchecked, and no check runs', async () => {
    const s = await opened(d, c, { checks: [{ id: 'ran', kind: 'command', command: 'touch ran' }] });

    assert.deepEqual((await c.prompt(s.sessionId, 'echo no; stop refusal'))._meta.acpd.checks, { verdict: 'unchecked', results: [] });
    assert.deepEqual((await c.prompt(s.sessionId, 'echo no; stop max_tokens'))._meta.acpd.checks, { verdict: 'unchecked', results: [] });
    const e = await c.fails('session/prompt', c.promptParams(s.sessionId, 'error -32603 It broke', { acpd: { key: 'k' } }));

    assert.deepEqual(e.data.checks, { verdict: 'unchecked', results: [] });
    const again = await c.fails('session/prompt', c.promptParams(s.sessionId, 'error -32603 It broke', { acpd: { key: 'k' } }));

    assert.deepEqual(again.data, e.data, 'and so the stored result');
    assert.deepEqual(verdictsOf(endsOf(c, s.sessionId)), ['unchecked', 'unchecked', 'unchecked']);
    assert.deepEqual(verdictsOf(turnsOf(d, s.sessionId)), ['unchecked', 'unchecked', 'unchecked']);
    assert.ok(!fs.existsSync(`${s.cwd}/ran`));
  });

  test('the agent\'s last message is what it said after all else, without secrets', async () => {
    const s = await opened(d, c, { secrets: { WORD: 'sk-attempts-0123456789' }, checks: [{ id: 'said', kind: 'command', command: 'cat "$ACPD_LAST_MESSAGE"' }] });
    const answer = await c.prompt(s.sessionId, 'echo first; tool a read A; echo one ; think hm; echo last sk-attempts-0123456789; echo  words');

    assert.equal(answer._meta.acpd.checks.results[0].stdoutTail, 'last *** words');
  });

  test('with a key: the stored result has the outline, also after a restart and where the event is given up', async (t) => {
    const own = await Daemon.startFor(t);
    const a = await own.client();
    const s = await opened(own, a, { checks: [fails] });
    const params = a.promptParams(s.sessionId, 'echo done', { acpd: { key: 'job' } });
    const first = await a.call('session/prompt', params);
    const { results, verdict } = first._meta.acpd.checks;
    const outline = { verdict, results: results.map(({ id, kind, ok, exitCode, durationMs }) => ({ id, kind, ok, exitCode, durationMs })) };
    const stored = await a.call('session/prompt', params);

    assert.equal(results[0].stderrTail, 'err\n');
    assert.deepEqual(stored, { ...first, _meta: { acpd: { ...first._meta.acpd, checks: outline } } });
    await a.close();
    await own.stop({ keep: true });
    await own.restart();
    const b = await own.client();

    await b.load(s.sessionId, { cwd: s.cwd });
    assert.deepEqual(await b.call('session/prompt', params), stored);
    await b.close();
    await own.stop();
  });
});

describe('while it is checked', () => {
  const begun = async (meta, acpd) => {
    const s = await opened(d, c, { checks: [waits], ...meta });
    const turn = c.startPrompt(s.sessionId, 'echo done', { meta: { acpd: { key: 'k', ...acpd } } });

    return { ...s, turn, answered: async () => { const m = await turn.answer; return m.result ?? m.error.data; } };
  };
  const busy = async (meta, acpd) => {
    const s = await begun(meta, acpd);

    await s.checking();
    assert.equal(await stateOf(c, s.sessionId), 'checking');
    return s;
  };
  const nothingLeft = () => until(() => !d.descendants().some((p) => procs.cmdline(p.pid).includes('test -s go')), 'the check is gone');

  test('prompts wait, and run in their order', async () => {
    const s = await busy();
    const two = c.startPrompt(s.sessionId, 'echo two', { meta: { acpd: { checks: [] } } });
    const three = c.startPrompt(s.sessionId, 'echo three', { meta: { acpd: { checks: [] } } });
    const busyNow = await c.fails('session/prompt', c.promptParams(s.sessionId, 'echo no', { acpd: { whenBusy: 'reject' } }));

    assert.equal(busyNow.data.reason, 'SESSION_BUSY');
    assert.equal((await c.call('_acpd/status', { sessionId: s.sessionId })).sessions[0].queued, 2);
    s.go(0);
    assert.equal((await s.answered())._meta.acpd.checks.verdict, 'verified');
    assert.deepEqual([(await two.answer).result._meta.acpd.turn, (await three.answer).result._meta.acpd.turn], [2, 3]);
    assert.deepEqual(c.chunks(s.sessionId), ['done', 'two', 'three']);
  });

  test('cancelled by session/cancel and by $/cancel_request: ends so, and its check is gone', async () => {
    for (const how of [(s) => c.cancel(s.sessionId), (s) => c.notify('$/cancel_request', { requestId: s.turn.id })]) {
      const s = await busy();

      how(s);
      const answer = await s.answered();

      assert.equal(answer.stopReason, 'cancelled');
      assert.deepEqual(answer._meta.acpd.checks, { verdict: 'unchecked', results: [] });
      assert.deepEqual([last(s.sessionId).stopReason, last(s.sessionId).checks.verdict], ['cancelled', 'unchecked']);
      await nothingLeft();
      assert.equal(await stateOf(c, s.sessionId), 'open');
      assert.equal((await c.prompt(s.sessionId, 'echo on', { meta: { acpd: { checks: [] } } })).stopReason, 'end_turn');
    }
  });

  test('closed and deleted: ends cancelled, then the session is gone', async () => {
    for (const method of ['session/close', 'session/delete']) {
      const s = await busy();

      await c.call(method, { sessionId: s.sessionId });
      const answer = await s.answered();

      assert.deepEqual([answer.stopReason, answer._meta.acpd.checks.verdict], ['cancelled', 'unchecked']);
      await nothingLeft();
    }
  });

  test('a budget of seconds holds: of the turn, of the session, of the prompt', async () => {
    const rows = [['turn', (seconds) => [{ budgets: { turn: { seconds } } }]], ['session', (seconds) => [{ budgets: { session: { seconds } } }]],
      ['prompt', (seconds) => [{}, { budgets: { seconds } }]]];
    // seen: the check has begun before the time was over
    const one = async (meta, acpd) => {
      const s = await begun(meta, acpd);
      const answer = await s.answered();

      return { s, seen: fs.existsSync(`${s.cwd}/here`), answer };
    };

    await Promise.all(rows.map(async ([scope, budget]) => {
      const { s, seen, answer } = await withLimit(3, (seconds) => one(...budget(seconds)), (r) => !r.seen);

      assert.ok(seen, 'it is checked');
      assert.equal(answer.stopReason, 'max_turn_requests');
      assert.deepEqual([answer._meta.acpd.stopDetail.budget, answer._meta.acpd.stopDetail.scope], ['seconds', scope]);
      assert.deepEqual(answer._meta.acpd.checks, { verdict: 'unchecked', results: [] });
      assert.equal(last(s.sessionId).stopDetail.scope, scope);
      await nothingLeft();
    }));
  });

  test('a budget of tokens that the turn has used up at its end was kept', async () => {
    const s = await opened(d, c, { checks: [{ id: 'slow', kind: 'command', command: 'sleep 1.3' }], budgets: { turn: { tokens: 10, seconds: 60 } } });
    const answer = await c.prompt(s.sessionId, 'echo done; tokens {"inputTokens":50,"outputTokens":50,"totalTokens":100}');

    assert.deepEqual([answer.stopReason, answer._meta.acpd.checks.verdict], ['end_turn', 'verified']);
  });

  test('the end of the harness fails it', async () => {
    const s = await busy();
    const { pid } = (await c.call('_acpd/status', { sessionId: s.sessionId })).sessions[0];

    process.kill(pid, 'SIGKILL');
    const data = await s.answered();

    assert.deepEqual([data.turn.class, data.checks.verdict], ['harness_exit', 'unchecked']);
    assert.deepEqual([last(s.sessionId).error.class, last(s.sessionId).checks.verdict], ['harness_exit', 'unchecked']);
    await nothingLeft();
    assert.equal((await c.prompt(s.sessionId, 'echo on', { meta: { acpd: { checks: [] } } }))._meta.acpd.turn, 2);
  });

  test('its harness has nothing more to say in it', async () => {
    const s = await opened(d, c, { checks: [waits] });
    const turn = c.startPrompt(s.sessionId, 'echo done; late');

    await s.checking();
    s.go(0);
    assert.equal((await turn.answer).result._meta.acpd.checks.verdict, 'verified');
    assert.deepEqual(c.chunks(s.sessionId), ['done']);
  });

  test('the key attaches to it; another client that loads the session sees all', async () => {
    const s = await busy();
    const b = await d.client();

    await b.load(s.sessionId, { cwd: s.cwd });
    const same = b.startPrompt(s.sessionId, 'echo done', { meta: { acpd: { key: 'k' } } });
    const other = await b.fails('session/prompt', b.promptParams(s.sessionId, 'echo other', { acpd: { key: 'k' } }));

    assert.equal(other.data.reason, 'KEY_REUSED');
    assert.deepEqual(b.chunks(s.sessionId), ['done']);
    assert.deepEqual(endsOf(b, s.sessionId), []);
    s.go(4);
    const answer = (await same.answer).result;

    assert.deepEqual([answer._meta.acpd.turn, answer._meta.acpd.checks.verdict, answer._meta.acpd.checks.results[0].exitCode], [1, 'failed', 4]);
    assert.deepEqual(verdictsOf(endsOf(b, s.sessionId)), ['failed']);
    assert.equal(b.notifications.filter((n) => n.params.event?.kind === 'check').length, 1);
    assert.equal(turnsOf(d, s.sessionId).length, 1);
    await b.close();
  });

  test('SIGTERM ends it as failed, on record, and leaves nothing', async (t) => {
    const own = await Daemon.startFor(t);
    const a = await own.client();
    const s = await opened(own, a, { checks: [waits] });
    const turn = a.startPrompt(s.sessionId, 'echo done');

    await s.checking();
    await own.stop({ keep: true });
    const error = await turn.answer.then((m) => m.error, () => undefined);

    assert.ok(!error || error.data.turn.class === 'shutdown');
    assert.deepEqual(turnsOf(own, s.sessionId).map((r) => [r.error.class, r.checks.verdict]), [['shutdown', 'unchecked']]);
    await own.restart();
    verify(own);
    const b = await own.client();

    await b.load(s.sessionId, { cwd: s.cwd });
    assert.deepEqual(endsOf(b, s.sessionId).map((e) => [e.error.class, e._meta.acpd.checks.verdict]), [['shutdown', 'unchecked']]);
    await b.close();
    await own.stop();
  });

  test('kill -9: the next daemon ends it once, unchecked', async (t) => {
    const own = await Daemon.startFor(t);
    const a = await own.client();
    const s = await opened(own, a, { checks: [waits] });
    const params = a.promptParams(s.sessionId, 'echo done', { acpd: { key: 'job' } });

    a.call('session/prompt', params).catch(() => {});
    await s.checking();
    await own.kill9();
    for (let life = 0; life < 2; life++) {
      await own.restart();
      const b = await own.client();

      await b.load(s.sessionId, { cwd: s.cwd });
      assert.deepEqual(endsOf(b, s.sessionId).map((e) => [e.turn, e.key, e.error.class, e._meta.acpd.checks.verdict]), [[1, 'job', 'shutdown', 'unchecked']]);
      const e = await b.fails('session/prompt', params);

      assert.deepEqual([e.data.turn.class, e.data.checks.verdict], ['shutdown', 'unchecked']);
      assert.deepEqual(turnsOf(own, s.sessionId).map((r) => [r.turn, r.error.class, r.checks.verdict]), [[1, 'shutdown', 'unchecked']]);
      verify(own);
      await b.close();
    }
    assert.ok(fs.readFileSync(journalOf(own, s.sessionId), 'utf8').length > 0);
    await own.stop();
  });
});
