// SPDX-License-Identifier: Apache-2.0
// Webhooks whose receiver, or whose daemon, does not do its part: nothing that can be kept is lost, doubled under two ids, or out of
// the order of its session; what cannot be kept is a gap that is told.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test, after } from 'node:test';
import { onSmallDisk } from '../../lib/disk.mjs';
import { assertNoViolations, SLOW } from '../../lib/rawws.mjs';
import { namesBelow } from '../../lib/vanishing.mjs';
import { until } from '../../lib/wait.mjs';
import { CUT, HANG, LATE, Receiver, assertOrder, statusOf, told, turns, writeHooks } from './rig.mjs';

after(assertNoViolations);

// A turn of a session is told once as far as its id goes, and never before the one before it was accepted.
function assertSessions(r, sessions, n) {
  for (const id of sessions)
    assertOrder(r.of('turn.ended', id)), assert.equal(r.of('turn.ended', id).length, n, id);
  const byTurn = new Map();
  for (const m of r.requests.filter((q) => q.type === 'turn.ended')) {
    const turn = `${m.data.sessionId} ${m.data.turn}`;

    assert.equal(byTurn.get(turn) ?? m.id, m.id, `${turn} has one id`);
    byTurn.set(turn, m.id);
  }
}

const CRC = Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++)
    n = n & 1 ? (n >>> 1) ^ 0x82f63b78 : n >>> 1;
  return n >>> 0;
});

// A line of a spool.
function line(text) {
  let crc = ~0;

  for (const byte of Buffer.from(text))
    crc = CRC[(crc ^ byte) & 255] ^ (crc >>> 8);
  return `${text},"crc":"${(~crc >>> 0).toString(16).padStart(8, '0')}"}\n`;
}

describe('receivers that fail', { concurrency: true }, () => {
  test('it fails, hangs, answers late, cuts and restarts, and the daemon is killed meanwhile', { timeout: 240000 * SLOW }, async (t) => {
    const r = await Receiver.start(t);
    const d = await told(t, [r]);
    let c = await d.client();
    const sessions = [];
    const ways = [500, CUT, 200, HANG, LATE, 302, 200, 429, CUT, 200, 404, LATE, 500];

    for (let i = 0; i < 5; i++)
      sessions.push((await c.newSession()).sessionId);
    r.behave = (_, n) => ways[n] ?? (n % 10 ? 200 : CUT);
    await Promise.all(sessions.map((id) => turns(c, id, 4)));
    await until(() => r.taken.length > 3, 'some came');
    await d.kill9();
    await r.close(); // refuses
    await d.restart();
    c = await d.client();
    for (const id of sessions)
      await c.load(id);
    await Promise.all(sessions.map((id) => turns(c, id, 2)));
    await until(async () => (await statusOf(d))[0].lastError, 'it is refused');
    await r.listen();
    process.kill(d.pid, 'SIGHUP'); // who is named anew is tried at once
    await r.until(30, 'turn.ended', 90000);
    assertSessions(r, sessions, 6);
    assert.deepEqual(r.taken.map((m) => m.data.number).sort((a, b) => a - b), r.taken.map((_, i) => i + 1), 'each number once, none left out');
    await until(async () => (await statusOf(d))[0].pending === 0, 'nothing waits');
    assert.ok(await d.metric('acpd_webhooks_failed_total') > 0);
    await d.stop();
  });

  test('a turn that a kill of the daemon cuts off is told by the next one', async (t) => {
    const r = await Receiver.start(t);
    const d = await told(t, [r]);
    const c = await d.client();
    const { sessionId } = await c.newSession();
    const { incarnation } = c.initializeResult.agentCapabilities._meta.acpd;

    c.startPrompt(sessionId, 'echo begun; sleep 60000');
    await c.waitUpdate((u) => u.update.content?.text === 'begun');
    await d.kill9();
    await d.restart();
    const [m] = await r.until(1);
    assert.deepEqual([m.data.sessionId, m.data.turn, m.data.error.class, m.data.turnIncarnation], [sessionId, 1, 'shutdown', incarnation]);
    assert.notEqual(m.data.incarnation, incarnation);
    await d.stop();
  });

  test('what waits for a receiver that nobody names yet', async (t) => {
    const r = await Receiver.start(t);
    const d = await told(t, [r]);
    const c = await d.client();
    const { sessionId } = await c.newSession();

    await r.close();
    await turns(c, sessionId, 3);
    const hooks = fs.readFileSync(d.hooksFile);
    await d.kill9();
    fs.rmSync(d.hooksFile);
    await d.restart();
    await r.listen();
    assert.deepEqual((await statusOf(d)).map((s) => [s.state, s.host, s.pending]), [['unknown', undefined, 3]]);
    fs.writeFileSync(d.hooksFile, hooks, { mode: 0o600 });
    assertOrder(await r.until(3));
    await d.stop();
  });

  test('100 sessions, each in its order, and none waits for another', { timeout: 240000 * SLOW }, async (t) => {
    const r = await Receiver.start(t);
    const d = await told(t, [r]);
    const c = await d.client();
    const sessions = [];

    for (let i = 0; i < 100; i++)
      sessions.push((await c.newSession()).sessionId);
    const stuck = sessions[0];
    r.behave = (m, n) => (m.data.sessionId === stuck ? 400 : n % 17 === 5 ? 500 : 200);
    await Promise.all(sessions.map((id) => turns(c, id, 3)));
    await r.until(99 * 3, 'turn.ended', 60000);
    assert.equal(r.of('turn.ended', stuck).length, 0);
    assert.ok(r.requests.filter((m) => m.data.sessionId === stuck).every((m) => m.data.turn === 1), 'its second is not sent before its first is accepted');
    r.behave = () => 200;
    process.kill(d.pid, 'SIGHUP'); // who is named anew is tried at once
    await r.until(300, 'turn.ended', 60000);
    assertSessions(r, sessions, 3);
    await d.stop();
  });

  test('too much for the spool: the oldest go, and one gap takes their place', async (t) => {
    const r = await Receiver.start(t);
    const d = await told(t, [r], { flags: { webhookKeep: '1d,64k' } });
    const c = await d.client();
    const { sessionId } = await c.newSession();

    await r.close();
    await turns(c, sessionId, 300);
    const [{ gap, pending, bytes }] = await statusOf(d);
    assert.ok(bytes <= 65536 && pending > 50, `${pending} in ${bytes} bytes`);
    assert.deepEqual([gap.from, gap.to + pending], [1, 300]);
    assert.equal(await d.metric('acpd_webhooks_dropped_total'), gap.to);
    await d.kill9();
    await d.restart({ flags: d.opts.flags });
    await r.listen();
    const rest = await r.until(pending);
    assert.deepEqual(r.of('webhook_gap').map((m) => [m.data.from, m.data.to]), [[gap.from, gap.to]]);
    assert.equal(rest[0].data.number, gap.to + 1);
    assertOrder(rest, gap.to + 1);
    assert.equal((await statusOf(d))[0].gap, undefined);
    await d.stop();
  });

  test('a harness that asks without end does not fill the spool', async (t) => {
    const r = await Receiver.start(t);
    const d = await told(t, [r]);
    const c = await d.client();
    const { sessionId } = await c.newSession();

    c.onRequest('session/request_permission', () => ({ outcome: { outcome: 'selected', optionId: 'allow' } }));
    const from = Date.now();
    await c.prompt(sessionId, Array.from({ length: 400 }, (_, i) => `perm p${i}`).join('; '), { timeout: 120000 });
    await r.until(1);
    const asked = r.of('question.open'), secs = (Date.now() - from) / 1000;
    assert.ok(asked.length >= 60 && asked.length <= 61 + secs, `${asked.length} in ${secs} s`);
    await until(async () => { // the bucket has room again
      await c.prompt(sessionId, 'perm again');
      return r.of('question.open').at(-1)?.data.leftOut > 0;
    }, 'those that were left out are counted');
    await d.stop();
  });

  test('what is too old goes, too', async (t) => {
    const r = await Receiver.start(t);
    const d = await told(t, [r], { flags: { webhookKeep: '1s' } });
    const c = await d.client();
    const { sessionId } = await c.newSession();

    r.behave = (m) => (m.type === 'turn.ended' && m.data.turn < 3 ? 500 : 200);
    await turns(c, sessionId, 2);
    await until(() => r.of('webhook_gap').length, 'the gap');
    await until(async () => { // on a busy machine another one is too old by then
      await turns(c, sessionId, 1);
      return r.of('turn.ended').length;
    }, 'one that is not too old');
    const first = r.of('turn.ended')[0].data.number, gaps = r.of('webhook_gap').map((m) => m.data);
    assert.ok(first > 2);
    for (let n = 1; n < first; n++)
      assert.ok(gaps.some(({ from, to }) => from <= n && n <= to), `${n} is in a gap`);
    await d.stop();
  });

  test('410 ends it, Retry-After is kept to, redirects are not followed, large answers are not read', async (t) => {
    const [gone, later, moved, large] = [await Receiver.start(t), await Receiver.start(t), await Receiver.start(t), await Receiver.start(t)];
    const d = await told(t, [gone, later, moved, large]);
    const c = await d.client();
    const { sessionId } = await c.newSession();
    let at;

    gone.behave = () => 410;
    later.behave = (_, n) => (n ? 200 : (at = Date.now(), { status: 503, headers: { 'Retry-After': '3' } }));
    moved.behave = (_, n) => (n ? 200 : { status: 307, headers: { Location: gone.url } });
    large.behave = () => ({ status: 200, body: Buffer.alloc(4 << 20, 'x') });
    await turns(c, sessionId, 2);
    await later.until(1);
    assert.ok(Date.now() - at >= 2900, 'it waited');
    await moved.until(2);
    await until(async () => (await statusOf(d)).some((s) => s.state === 'gone' && s.pending === 0), 'it is gone');
    assert.equal(gone.requests.length, 1);
    assert.deepEqual((await statusOf(d)).find((s) => s.state === 'gone').gap, { from: 1, to: 2 });
    await until(async () => (await statusOf(d)).filter((s) => s.pending === 0).length === 4, 'nothing waits');
    assert.equal(large.requests.length, 2);
    gone.behave = () => 200;
    process.kill(d.pid, 'SIGHUP'); // it is named anew
    await gone.until(1, 'webhook_gap');
    await turns(c, sessionId, 1);
    assert.equal((await gone.until(1))[0].data.turn, 3);
    await d.stop();
  });

  test('a full disk is told, and what happens meanwhile is kept in memory until there is room', async (t) => {
    const r = await Receiver.start(t);
    const dir = fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? '/tmp', 'acpd-test-')), file = path.join(dir, 'hooks.json');

    t.after(() => fs.rmSync(dir, { recursive: true }));
    writeHooks(file, [r.config()]);
    const { d, fill, empty } = await onSmallDisk(t, '2m', { webhook: file, upstreamAllow: r.host });
    if (!d)
      return;
    const c = await d.client();
    const { sessionId } = await c.newSession();
    let n = 1;

    await turns(c, sessionId, 1);
    await r.until(1);
    fill();
    await until(async () => {
      await c.startPrompt(sessionId, 'echo no').answer;
      n++;
      return await d.metric('acpd_webhooks_unwritten') === 1;
    }, 'the spool is full, too');
    const [{ diskError, pending }] = await statusOf(d);
    assert.match(diskError, /No space/);
    assert.ok(pending > 0);
    empty();
    await r.until(n);
    assert.deepEqual(r.taken.map((m) => m.data.number), r.taken.map((_, i) => i + 1));
    await until(async () => await d.metric('acpd_webhooks_unwritten') === 0, 'the spool is written again');
    await d.stop();
  });

  test('50 000 events that wait hold up no turn', { timeout: 240000 * SLOW }, async (t) => {
    const r = await Receiver.start(t);
    const d = await told(t, [r]);
    let c = await d.client();
    const { sessionId } = await c.newSession();
    const pieces = [];

    await turns(c, sessionId, 1);
    await r.until(1);
    await d.stop({ keep: true });
    const dir = path.join(d.stateDir, 'outbox'), [file] = namesBelow(dir).filter((f) => f.endsWith('.spool'));
    for (let i = 0; i < 50000; i++)
      pieces.push(line(`{"n":${i + 2},"t":${Date.now()},"k":"turn.ended","s":"sess_${i % 500}","i":"evt_${i}","m":{"sessionId":"sess_${i % 500}","incarnation":"b","turn":${Math.floor(i / 500) + 1},"stopReason":"end_turn"}`));
    fs.appendFileSync(path.join(dir, file), pieces.join(''));
    await d.restart();
    assert.ok((await statusOf(d))[0].pending > 40000);
    c = await d.client();
    await c.load(sessionId);
    await turns(c, sessionId, 20);
    assert.ok((await statusOf(d))[0].pending > 20000, 'the turns have not waited for them');
    await until(() => r.requests.length > 3000, 'many came', 60000);
    const seen = new Map();
    for (const m of r.taken.filter((q) => q.data.sessionId !== sessionId)) {
      assert.equal(m.data.turn, (seen.get(m.data.sessionId) ?? 0) + 1);
      seen.set(m.data.sessionId, m.data.turn);
    }
    assert.equal(seen.size, 500);
    await d.kill9();
  });
});
