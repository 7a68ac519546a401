// SPDX-License-Identifier: Apache-2.0
// Sessions outlive the daemon: what a new one finds on the same state directory, after an orderly end and after none.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test, describe } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { SLOW, assertNoViolations, sleep } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';
import { failing, homeOf, journalOf, running, turnsOf, verify } from '../ledger.mjs';

const ENDS = { SIGTERM: (d) => d.stop({ keep: true }), 'kill -9': (d) => d.kill9() };
const listed = async (c) => (await c.call('session/list', {})).sessions;
const last = (updates) => updates.at(-1);
const tokens = (n) => `tokens {"inputTokens":${n},"outputTokens":1,"totalTokens":${n + 1}}`;

for (const [how, end] of Object.entries(ENDS)) {
  describe(`after ${how}`, () => {
    test('listed as they were; load replays all; the context is kept; numbers go on', async (t) => {
      const d = await Daemon.startFor(t);
      const a = await d.client();
      const dirs = ['one', 'two', 'three'].map((name) => path.join(d.workDir, name));
      const ids = [];

      for (const cwd of dirs) {
        fs.mkdirSync(cwd);
        const { sessionId } = await a.newSession({ cwd, meta: { billingRef: 'first', mode: 'code', model: 'stub-large' } });
        ids.push(sessionId);
        await a.prompt(sessionId, `title Of ${path.basename(cwd)}; echo hello; tool t read A; ${tokens(10)}`);
      }
      await a.load(ids[0], { cwd: dirs[0], meta: { billingRef: 'second', configVersion: '7', budgets: { turn: { toolCalls: 5 } } } });
      await sleep(30); // files know their time to some milliseconds only
      await a.prompt(ids[0], 'echo again; think of it'); // the first is now the newest
      const before = await listed(a);
      const reader = await d.client();
      await reader.load(ids[0], { cwd: dirs[0] });
      const history = reader.messages.filter((m) => m.method && m.params?.sessionId === ids[0]);
      await a.close();
      await reader.close();
      await end(d);
      await d.restart();

      const c = await d.client();
      const after = await listed(c);
      const look = ({ sessionId, cwd, title }) => ({ sessionId, cwd, title });
      assert.deepEqual(new Map(after.map((s) => [s.sessionId, look(s)])), new Map(before.map((s) => [s.sessionId, look(s)])));
      if (how === 'kill -9') // else the ends of the harnesses were the latest
        assert.equal(after.at(-1).sessionId, ids[0], 'the latest change last');
      for (const s of after) {
        const old = before.find((x) => x.sessionId === s.sessionId);

        assert.ok(Math.abs(Date.parse(s.updatedAt) - Date.parse(old.updatedAt)) < 60000, `${s.updatedAt} ${old.updatedAt}`);
        assert.equal(s._meta.acpd.state, 'closed');
        assert.ok(s._meta.acpd.seq >= old._meta.acpd.seq);
      }
      assert.equal(d.harnesses().length, 0, 'no harness is started for that');

      const loaded = await c.load(ids[0], { cwd: dirs[0] });
      const replay = c.messages.filter((m) => m.method && m.params?.sessionId === ids[0]);
      assert.deepEqual(replay.slice(0, history.length), history, 'the same messages');
      assert.equal(loaded._meta.acpd.context, 'kept');
      assert.equal(loaded.modes.currentModeId, 'code');
      assert.equal(loaded.configOptions.find((o) => o.id === 'model').currentValue, 'stub-large');
      const seq = last(c.updates).seq;
      const result = await c.prompt(ids[0], 'RECALL');
      assert.deepEqual(JSON.parse(last(c.chunks(ids[0]))).length, 2, 'the harness remembers');
      assert.equal(result._meta.acpd.turn, 3);
      assert.ok(last(c.updates).seq > seq);
      const r = turnsOf(d, ids[0]).at(-1);
      assert.deepEqual([r.turn, r.billingRef, r.configVersion], [3, 'second', '7']);
      assert.equal(r.cumulative.turns, 3, 'over all lives');
      assert.equal(r.cumulative.usage.inputTokens, 10);
      const many = await c.prompt(ids[0], 'tool a read A; tool b read A; tool c read A; tool d read A; tool e read A; tool f read A; sleep 60000');
      assert.equal(many._meta.acpd.stopDetail?.budget, 'toolCalls', 'its budget holds');
      verify(d);
      c.assertClean();
      await c.close();
      await d.stop();
    });

    test('a prompt key is known, with the very result; fromSeq of another life still holds', async (t) => {
      const d = await Daemon.startFor(t);
      const a = await d.client();
      const { sessionId } = await a.newSession();
      const key = (k) => ({ meta: { acpd: { key: k } } });
      const stored = await a.prompt(sessionId, `echo once; ${tokens(3)}`, key('k1'));
      const error = await failing(a, sessionId, 'echo bad; error -32603 as told', key('k2').meta);
      const incarnation = a.initializeResult.agentCapabilities._meta.acpd.incarnation;

      await a.close();
      await end(d);
      await d.restart();
      const c = await d.client();
      await c.load(sessionId, { meta: { fromSeq: 3, incarnation } });
      assert.ok(!c.notifications.some((m) => m.method === '_acpd/gap'));
      assert.equal(c.updates[0].seq, 3);
      const before = c.chunks(sessionId).length;
      assert.deepEqual(await c.prompt(sessionId, `echo once; ${tokens(3)}`, key('k1')), stored);
      assert.deepEqual((await failing(c, sessionId, 'echo bad; error -32603 as told', key('k2').meta)).data, error.data);
      assert.equal(c.chunks(sessionId).length, before, 'neither has run again');
      assert.equal((await c.prompt(sessionId, 'echo new', key('k3')))._meta.acpd.turn, 3);
      await c.close();
      await d.stop();
    });

    test('deleted: journal and home go; the other stays', async (t) => {
      const d = await Daemon.startFor(t);
      const a = await d.client();
      const { sessionId } = await a.newSession();
      const other = (await a.newSession()).sessionId;

      await a.prompt(sessionId, 'echo x');
      await a.prompt(other, 'echo y');
      await a.close();
      await end(d);
      await d.restart();
      const c = await d.client();
      await c.call('session/delete', { sessionId });
      assert.ok(!fs.existsSync(journalOf(d, sessionId)) && !fs.existsSync(homeOf(d, sessionId)));
      assert.ok(fs.existsSync(journalOf(d, other)) && fs.existsSync(homeOf(d, other)));
      assert.deepEqual((await listed(c)).map((s) => s.sessionId), [other]);
      assert.equal((await c.fails('session/load', { sessionId, cwd: d.workDir, mcpServers: [] })).code, -32002);
      await c.close();
      await d.restart();
      assert.equal((await listed(await d.client())).length, 1, 'for good');
      await d.stop();
    });
  });
}

describe('turns that the end caught', () => {
  const busy = async (d, meta) => {
    const a = await d.client();
    const { sessionId } = await a.newSession();

    await running(a, sessionId, 'on', 'toolopen t; sleep 60000', meta);
    await a.waitUpdate('tool_call');
    return { a, sessionId };
  };

  test('SIGTERM: answered as failed, one record, class shutdown', async (t) => {
    const d = await Daemon.startFor(t);
    const { a, sessionId } = await busy(d);
    const waiting = a.startPrompt(sessionId, 'echo queued');

    await a.call('_acpd/status', {});
    await d.stop({ keep: true });
    await assert.rejects(async () => { throw (await waiting.answer).error ?? new Error('answered'); });
    const turns = turnsOf(d, sessionId).sort((x, y) => x.turn - y.turn);
    assert.deepEqual(turns.map((r) => [r.turn, r.error?.class]), [[1, 'shutdown'], [2, 'shutdown']]);
    assert.equal(turns[0].toolCalls.execute.err, 1);
    verify(d);
    await d.restart();
    const c = await d.client();
    await c.load(sessionId);
    assert.equal(turnsOf(d, sessionId).length, 2, 'and none again');
    assert.equal((await c.prompt(sessionId, 'echo works')).stopReason, 'end_turn');
    assert.equal(turnsOf(d, sessionId).at(-1).turn, 3);
    verify(d);
    await d.stop();
  });

  test('kill -9: the key and the trace of the turn it caught are known; the same prompt is not run again', async (t) => {
    const d = await Daemon.startFor(t);
    const a = await d.client();
    const { sessionId } = await a.newSession();
    const trace = '0af7651916cd43dd8448eb211c80319c';
    const params = { sessionId, prompt: [{ type: 'text', text: 'echo begun; sleep 60000' }],
      _meta: { acpd: { key: 'job' }, traceparent: `00-${trace}-b7ad6b7169203331-01` } };

    a.call('session/prompt', params).catch(() => {});
    await a.waitUpdate((u) => u.update.content?.text === 'begun');
    await d.kill9();
    await d.restart();
    const c = await d.client();
    await c.load(sessionId);
    const error = await c.fails('session/prompt', params);
    assert.equal(error.data.turn.class, 'shutdown');
    const turns = turnsOf(d, sessionId);
    assert.deepEqual(turns.map((r) => [r.turn, r.key, r.traceId]), [[1, 'job', trace]]);
    verify(d);
    await c.close();
    await d.stop();
  });

  test('kill -9: ended once by the next daemon, in ledger, journal and replay', async (t) => {
    const d = await Daemon.startFor(t);
    const { sessionId } = await busy(d);

    await d.kill9();
    assert.equal(turnsOf(d, sessionId).length, 0);
    for (let life = 0; life < 2; life++) {
      await d.restart();
      const c = await d.client();
      await c.load(sessionId);
      const ends = c.notifications.filter((m) => m.method === '_acpd/turn_end');
      assert.deepEqual(ends.map((m) => [m.params.turn, m.params.error.class, m.params.error.retryable]), [[1, 'shutdown', true]]);
      const turns = turnsOf(d, sessionId);
      assert.deepEqual(turns.map((r) => [r.turn, r.error.class]), [[1, 'shutdown']]);
      assert.equal(turns[0].cumulative.turns, 1);
      verify(d);
      await c.close();
    }
    const c = await d.client();
    await c.load(sessionId);
    assert.equal((await c.prompt(sessionId, 'echo on'))._meta.acpd.turn, 2);
    assert.equal(turnsOf(d, sessionId).at(-1).cumulative.turns, 2);
    verify(d);
    await c.close();
    await d.stop();
  });

  test('kill -9 in a tool call: closed as failed before the end of the turn, whose record says what the journal knows', async (t) => {
    const d = await Daemon.startFor(t);
    const a = await d.client();
    const { sessionId } = await a.newSession({ meta: { model: 'stub-large' } });
    const from = Date.now();

    a.call('session/prompt', a.promptParams(sessionId, 'tool done read Done; sleep 1200; toolopen left; sleep 60000')).catch(() => {});
    await a.waitUpdate((u) => u.update.toolCallId === 'left');
    const to = Date.now();
    await d.kill9();
    await sleep(1500); // nobody works in this time
    for (let life = 0; life < 2; life++) {
      await d.restart();
      const c = await d.client();
      await c.load(sessionId);
      const said = c.messages.filter((m) => m.params?.update?.toolCallId === 'left' || m.method === '_acpd/turn_end');
      assert.deepEqual(said.slice(-2).map((m) => m.params.update?.status ?? m.params.error.class), ['failed', 'shutdown']);
      assert.equal(said.at(-2).params._meta.acpd.turn, 1);
      assert.equal(said.filter((m) => m.params.update?.status === 'failed').length, 1, 'once');
      c.assertClean();
      await c.close();
    }
    const [record] = turnsOf(d, sessionId);
    assert.equal(turnsOf(d, sessionId).length, 1);
    const [began, ended] = [record.tsStart, record.tsEnd].map((ts) => Date.parse(ts));
    assert.ok(began >= from - 5 && began <= to, `began ${record.tsStart}`);
    assert.ok(ended >= began + 1200 && ended <= to + 5, `lasted until ${record.tsEnd}, the last that is known of it`);
    assert.equal(record.durationMs, ended - began);
    assert.equal(record.model, 'stub-large');
    assert.deepEqual(Object.values(record.toolCalls).map(({ ok, err }) => [ok, err]).sort(), [[0, 1], [1, 0]]);
    const c = await d.client();
    await c.load(sessionId, { meta: { budgets: { session: { seconds: 1 } } } });
    assert.equal((await c.prompt(sessionId, 'echo more')).stopReason, 'max_turn_requests', 'its seconds count');
    verify(d);
    await c.close();
    await d.stop();
  });

  test('kill -9 while one waited and another had left the queue: the running one is ended all the same', async (t) => {
    const d = await Daemon.startFor(t);
    const { a, sessionId } = await busy(d);
    const left = a.startPrompt(sessionId, 'echo left');

    a.startPrompt(sessionId, 'echo waits');
    await a.call('_acpd/status', {});
    a.notify('$/cancel_request', { requestId: left.id });
    assert.equal((await left.answer).result.stopReason, 'cancelled');
    await d.kill9();
    await d.restart();
    const c = await d.client();
    await c.load(sessionId);
    const ends = c.notifications.filter((m) => m.method === '_acpd/turn_end').map((m) => [m.params.turn, m.params.stopReason ?? m.params.error.class]);
    assert.deepEqual(ends, [[2, 'cancelled'], [1, 'shutdown']]);
    assert.deepEqual(turnsOf(d, sessionId).map((r) => r.turn), [2, 1]);
    assert.ok((await c.prompt(sessionId, 'echo on'))._meta.acpd.turn > 2, 'no number twice');
    verify(d);
    await c.close();
    await d.stop();
  });

  test('kill -9 between the record and the end in the journal: ended as the record says', async (t) => {
    const d = await Daemon.startFor(t);
    const a = await d.client();
    const { sessionId } = await a.newSession();

    await a.prompt(sessionId, `echo x; ${tokens(8)}`);
    await a.close();
    await d.kill9();
    // as if the journal's last write had not happened: from the totals of the turn on
    const lines = fs.readFileSync(journalOf(d, sessionId), 'utf8').split('\n').filter(Boolean);
    const at = lines.findIndex((line) => JSON.parse(line).k === 'turn_end');
    fs.writeFileSync(journalOf(d, sessionId), `${lines.slice(0, at).join('\n')}\n`);
    await d.restart();
    const c = await d.client();
    await c.load(sessionId);
    const end = c.notifications.find((m) => m.method === '_acpd/turn_end').params;
    assert.deepEqual([end.turn, end.stopReason, end.usage?.inputTokens], [1, 'end_turn', 8]);
    assert.equal(turnsOf(d, sessionId).length, 1, 'no second record');
    await c.close();
    await d.stop();
  });
});

describe('what a new life needs anew', () => {
  test('a provider: named when it is missing, with its key nowhere on disk', async (t) => {
    const d = await Daemon.startFor(t, { stub: { quirks: 'copilot', capabilities: { loadSession: true } } });
    const a = await d.client();
    const provider = { api: 'openai-chat', key: 'KEY-0123456789abcdef' };
    const { sessionId } = await a.newSession({ meta: { provider } });

    await a.prompt(sessionId, 'echo x');
    await a.close();
    await d.restart();
    assert.ok(!fs.readFileSync(journalOf(d, sessionId), 'utf8').includes(provider.key));
    const c = await d.client();
    for (const method of ['session/load', 'session/resume', 'session/fork']) {
      const error = await c.fails(method, { sessionId, cwd: d.workDir, mcpServers: [] });

      assert.deepEqual([error.code, error.data.reason, error.data.field], [-32602, 'PROVIDER_REQUIRED', '_meta.acpd.provider'], method);
    }
    assert.equal(d.harnesses().length, 0);
    await c.load(sessionId, { meta: { provider } });
    assert.equal((await c.prompt(sessionId, 'echo y')).stopReason, 'end_turn');
    assert.equal((await c.load(sessionId)).modes.currentModeId, 'ask', 'and once is enough');
    await c.close();
    await d.stop();
  });

  test('a harness that is no longer configured: its sessions are left alone, and come back with it', async (t) => {
    const d = await Daemon.startFor(t, { harnesses: [{ id: 'second' }] });
    const a = await d.client();
    const gone = (await a.newSession({ meta: { harness: 'second' } })).sessionId;
    const { sessionId } = await a.newSession();

    await a.prompt(gone, 'echo x');
    await a.close();
    const bytes = () => fs.readFileSync(journalOf(d, gone));
    await d.stop({ keep: true });
    const was = bytes();
    await d.restart({ harnesses: [] });
    const c = await d.client();
    assert.deepEqual((await listed(c)).map((s) => s.sessionId), [sessionId]);
    assert.equal((await c.fails('session/load', { sessionId: gone, cwd: d.workDir, mcpServers: [] })).code, -32002);
    await d.waitLog((l) => l.session === gone && /no longer configured/.test(l.msg));
    await c.close();
    await d.stop({ keep: true });
    assert.deepEqual(bytes(), was);
    assert.ok(fs.existsSync(homeOf(d, gone)));
    await d.restart({ harnesses: [{ id: 'second' }] });
    const again = await d.client();
    await again.load(gone);
    assert.ok(again.chunks(gone).includes('x'));
    await again.close();
    await d.stop();
  });
});

describe('journals that are not whole', () => {
  test('torn: cut at the last whole line; damaged: nothing in it is changed, served; empty: left alone, reported', async (t) => {
    const d = await Daemon.startFor(t);
    const a = await d.client();
    const ids = {};

    for (const name of ['whole', 'torn', 'flipped', 'removed', 'empty', 'zeros', 'gone']) {
      ids[name] = (await a.newSession()).sessionId;
      for (let i = 0; i < 3; i++)
        await a.prompt(ids[name], `echo ${name} ${i}`);
    }
    await a.close();
    await d.stop({ keep: true });
    const read = (name) => fs.readFileSync(journalOf(d, ids[name]));
    const write = (name, data) => fs.writeFileSync(journalOf(d, ids[name]), data);
    const lines = (name) => read(name).toString().split('\n').slice(0, -1);
    write('torn', read('torn').subarray(0, -20));
    const flipped = read('flipped');
    flipped[Math.floor(flipped.length / 2)] ^= 1;
    write('flipped', flipped);
    write('removed', `${lines('removed').toSpliced(5, 1).join('\n')}\n`);
    write('empty', '');
    write('zeros', Buffer.concat([Buffer.alloc(100), read('zeros')]));
    fs.rmSync(journalOf(d, ids.gone));
    const was = Object.fromEntries(['flipped', 'removed', 'empty', 'zeros'].map((name) => [name, read(name)]));
    fs.writeFileSync(path.join(d.stateDir, 'sessions', 'README'), 'not ours');
    fs.mkdirSync(path.join(d.stateDir, 'sessions', 'dir.jsonl'));
    fs.symlinkSync('/etc/passwd', path.join(d.stateDir, 'sessions', 'link.jsonl'));
    await d.restart();
    const c = await d.client();
    assert.deepEqual((await listed(c)).map((s) => s.sessionId).sort(), ['whole', 'torn', 'flipped', 'removed', 'zeros'].map((name) => ids[name]).sort());
    for (const name of Object.keys(was))
      assert.deepEqual(read(name), was[name], name);
    await d.waitLog((l) => l.level === 'warn' && l.session === ids.empty);
    await c.load(ids.torn);
    assert.deepEqual(c.chunks(ids.torn).filter((x) => x.startsWith('torn')), ['torn 0', 'torn 1', 'torn 2']);
    assert.equal((await c.prompt(ids.torn, 'echo on')).stopReason, 'end_turn');
    await c.close();
    await d.restart();
    const again = await d.client();
    await again.load(ids.torn);
    assert.ok(again.chunks(ids.torn).includes('on'));
    await again.close();
    await d.stop();
  });

  test('300 sessions do not hold up the start', async (t) => {
    const d = await Daemon.startFor(t);
    const a = await d.client();
    const { sessionId } = await a.newSession();

    await a.prompt(sessionId, 'flood 200 300; echo end');
    await a.close();
    const up = async () => {
      const from = Date.now();

      await d.restart();
      assert.equal((await d.http('/health')).status, 200);
      return Date.now() - from;
    };
    await d.stop({ keep: true });
    const one = await up();
    await d.stop({ keep: true });
    for (let i = 0; i < 300; i++)
      fs.copyFileSync(journalOf(d, sessionId), journalOf(d, `sess_${String(i).padStart(32, '0')}`));
    const many = await up();
    assert.ok(many < one + 10000 * SLOW, `${one} ms with one session, ${many} ms with 301`);
    const c = await d.client();
    const ids = [];
    let cursor;
    do {
      const page = await c.call('session/list', cursor ? { cursor } : {});

      ids.push(...page.sessions.map((s) => s.sessionId));
      cursor = page.nextCursor;
    } while (cursor);
    assert.equal(new Set(ids).size, 301);
    assert.equal(ids.length, 301);
    await until(async () => {
      const cpu = d.cpu();

      await sleep(500);
      return d.cpu() - cpu < 0.25;
    }, 'and then it is idle');
    await c.close();
    await d.stop();
  });
});

test('nothing broke the protocol', () => assertNoViolations());
