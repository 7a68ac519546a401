// SPDX-License-Identifier: Apache-2.0
// How long things are kept: what a client has acknowledged is given up when there is no room for it, closed sessions go by age, by size and when
// the disk is full; nothing else does, and whatever went is told.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { test, describe } from 'node:test';
import { Daemon } from '../../../lib/daemon.mjs';
import { onSmallDisk } from '../../../lib/disk.mjs';
import { Stream } from '../../../lib/events.mjs';
import { assertNoViolations } from '../../../lib/rawws.mjs';
import { until } from '../../../lib/wait.mjs';
import { homeOf, journalOf } from '../../ledger.mjs';

// Whether the file system of the tests can free a part of a file, as a journal's head asks for.
function cannotTrim(d) {
  const file = path.join(d.dir, 'probe');

  fs.writeFileSync(file, Buffer.alloc(65536, 1));
  const { error, status } = spawnSync('fallocate', ['--punch-hole', '--offset', '0', '--length', '32768', file]);
  return !error && status !== 0;
}

const seqOf = (m) => m.params._meta?.acpd?.seq ?? m.params.seq;
const told = (c, id) => c.messages.filter((m) => m.method && m.params?.sessionId === id && (m.method === '_acpd/gap' || seqOf(m)));
const statusOf = async (c, sessionId) => (await c.call('_acpd/status', { sessionId })).sessions[0];
const retention = async (c) => (await c.call('_acpd/status')).retention;
const listed = async (c) => (await c.call('session/list', {})).sessions.map((s) => s.sessionId);
const ack = async (c, sessionId) => {
  const { seq } = await statusOf(c, sessionId);

  await c.call('_acpd/ack', { sessionId, seq });
  return seq;
};
// A closed session with a home of so many bytes; nobody watches it.
async function closed(d, { bytes = 0, acked = false, say = 'echo x', first = async () => {} } = {}) {
  const c = await d.client({ record: false });
  const { sessionId } = await c.newSession();

  await c.prompt(sessionId, say);
  if (bytes)
    fs.writeFileSync(path.join(homeOf(d, sessionId), 'large'), Buffer.alloc(bytes, 1));
  if (acked)
    await ack(c, sessionId);
  await first(sessionId);
  await c.call('session/close', { sessionId });
  await c.close();
  return sessionId;
}

describe('_acpd/ack', () => {
  test('is announced, takes what there is, and refuses what there is not', async (t) => {
    const d = await Daemon.startFor(t);
    const c = await d.connect();
    const init = await c.initialize();
    const { sessionId } = await c.newSession();

    assert.equal(init.agentCapabilities._meta.acpd.features.ack, true);
    await c.prompt(sessionId, 'echo x');
    const { seq, acked } = await statusOf(c, sessionId);
    assert.equal(acked, undefined);
    assert.deepEqual(await c.call('_acpd/ack', { sessionId, seq: 2 }), {});
    assert.deepEqual(await c.call('_acpd/ack', { sessionId, seq: 1 }), {}, 'less is no error, and changes nothing');
    assert.equal((await statusOf(c, sessionId)).acked, 2);
    const refused = async (params) => {
      const { code, data } = await c.fails('_acpd/ack', { sessionId, ...params });
      return [code, data.reason, data.field];
    };
    assert.deepEqual(await refused({ seq: seq + 1 }), [-32602, 'FIELD_OUT_OF_RANGE', 'seq']);
    assert.deepEqual(await refused({ seq: '2' }), [-32602, 'FIELD_INVALID', 'seq']);
    assert.deepEqual(await refused({}), [-32602, 'FIELD_MISSING', 'seq']);
    assert.deepEqual(await refused({ seq, more: 1 }), [-32602, 'PARAM_UNSUPPORTED', 'more']);
    await c.call('session/close', { sessionId });
    await c.call('_acpd/ack', { sessionId, seq });
    await c.close();
    await d.restart();
    const again = await d.client();
    assert.equal((await statusOf(again, sessionId)).acked, seq, 'it is kept');
    await again.close();
    await d.stop();
  });

  test('a journal at its bound gives up what is acknowledged, and the session works on; the rest is there in this life and the next', async (t) => {
    const d = await Daemon.startFor(t, { flags: { journalMax: 400000 } });
    if (cannotTrim(d))
      return t.skip('no holes in files here');
    let c = await d.client({ validate: 100 });
    const { sessionId } = await c.newSession();
    const turns = 12;

    for (let i = 1; i <= turns; i++) {
      await c.prompt(sessionId, `title Turn ${i}; flood 250 200; echo end ${i}`, { meta: { acpd: { key: `key-${i}` } } });
      await ack(c, sessionId);
    }
    const { seq } = await statusOf(c, sessionId);
    const { trimmed } = await retention(c);
    assert.ok(trimmed >= 1 && trimmed === await d.metric('acpd_journals_trimmed_total'));
    await d.waitLog((l) => l.session === sessionId && /trimmed/.test(l.msg));
    const { blocks, size } = fs.statSync(journalOf(d, sessionId));
    assert.ok(blocks * 512 < 500000 && size > 500000, `${blocks * 512} bytes of ${size} are on disk`);
    const check = async (last) => {
      const reader = await d.client({ validate: 100 });

      await reader.load(sessionId);
      const all = told(reader, sessionId).filter((m) => m.method === '_acpd/gap' || seqOf(m) <= last);
      const { from, to, reason } = all[0].params;
      assert.deepEqual([all[0].method, from, reason], ['_acpd/gap', 1, 'trimmed']);
      assert.deepEqual(all.slice(1).map(seqOf), Array.from({ length: last - to }, (_, i) => to + 1 + i), 'and the rest, whole');
      const stream = await Stream.open(d, `/v1/sessions/${sessionId}/events?format=ndjson&since=3`);
      await stream.until((s) => s.ended);
      const [gap, next] = stream.events;
      assert.deepEqual([gap.event, gap.from, gap.to, gap.reason, next.seq], ['gap', 4, to, 'trimmed', to + 1]);
      await reader.close();
      return to;
    };
    const to = await check(seq);
    await c.close();
    await d.kill9();
    await d.restart();
    assert.equal(await check(seq), to, 'the same in the next life');
    c = await d.client({ validate: 100 });
    const [status] = (await c.call('_acpd/status', { sessionId })).sessions;
    assert.deepEqual([status.title, status.turns, status.acked, status.damaged], [`Turn ${turns}`, turns, seq, undefined]);
    await c.load(sessionId);
    const first = c.messages.length;
    const same = await c.prompt(sessionId, 'title Turn 1; flood 250 200; echo end 1', { meta: { acpd: { key: 'key-1' } } });
    assert.equal(same._meta.acpd.turn, 1, 'the keys of prompts that went are known');
    assert.ok(!c.messages.slice(first).some((m) => m.method === '_acpd/turn_end'));
    assert.equal((await c.prompt(sessionId, 'echo on'))._meta.acpd.turn, turns + 1);
    for (let i = 0; i < 6; i++) {
      await c.prompt(sessionId, 'flood 250 200');
      await ack(c, sessionId);
    }
    await c.close();
    await d.stop();
  });

  test('what is not acknowledged is not given up; once it is, the session works again', async (t) => {
    const d = await Daemon.startFor(t, { flags: { journalMax: 200000 } });
    if (cannotTrim(d))
      return t.skip('no holes in files here');
    const c = await d.client({ validate: 100 });
    const { sessionId } = await c.newSession();

    await c.prompt(sessionId, 'flood 100 200');
    await c.call('_acpd/ack', { sessionId, seq: 5 });
    await assert.rejects(async () => {
      for (let i = 0; i < 10; i++)
        await c.prompt(sessionId, 'flood 200 200');
    }, (e) => e.data.turn.class === 'resource');
    assert.equal((await retention(c)).trimmed, 0);
    const seq = await ack(c, sessionId);
    await until(() => c.prompt(sessionId, 'echo on').then((r) => r.stopReason === 'end_turn', () => false), 'it works again');
    assert.equal((await retention(c)).trimmed, 1);
    const fork = await c.call('session/fork', { sessionId, cwd: d.workDir, mcpServers: [] });
    await c.call('session/close', { sessionId: fork.sessionId });
    await c.close();
    await d.restart();
    const again = await d.client({ validate: 100 });
    for (const id of [sessionId, fork.sessionId]) {
      await again.load(id);
      const [gap, ...rest] = told(again, id);
      assert.deepEqual([gap.method, gap.params.from, gap.params.reason], ['_acpd/gap', 1, 'trimmed']);
      assert.ok(gap.params.to <= seq);
      assert.deepEqual(rest.map(seqOf), rest.map((_, i) => gap.params.to + 1 + i));
      assert.equal((await statusOf(again, id)).damaged, undefined);
    }
    await again.close();
    await d.stop();
  });
});

describe('--keep-sessions', () => {
  test('AGE: closed sessions go, neither open ones nor those that are watched or read', async (t) => {
    const d = await Daemon.startFor(t, { flags: { keepSessions: '1s' } });
    const c = await d.client({ record: false });
    const open = (await c.newSession()).sessionId;
    const watched = (await c.newSession()).sessionId;

    for (const id of [open, watched])
      await c.prompt(id, 'echo x');
    await c.call('session/close', { sessionId: watched });
    let stream;
    const followed = await closed(d, { first: async (id) => { stream = await Stream.open(d, `/v1/sessions/${id}/events?follow=true`); } });
    const old = await closed(d, { acked: true });
    await until(async () => !(await listed(c)).includes(old), 'the old one is deleted');
    assert.deepEqual((await listed(c)).sort(), [open, watched, followed].sort());
    assert.equal((await d.waitLog((l) => l.session === old && l.why === 'age')).acknowledged, 'true');
    await until(() => !fs.existsSync(journalOf(d, old)) && !fs.existsSync(homeOf(d, old)), 'its files go');
    assert.equal(await d.metric('acpd_sessions_removed_age_total'), 1);
    assert.deepEqual(await retention(c), { keepSessions: '1s', removedAge: 1, removedSize: 0, removedRoom: 0, trimmed: 0 });
    stream.close();
    await until(async () => !(await listed(c)).includes(followed), 'the other, when nobody reads it any more');
    await c.close();
    await d.stop();
  });

  test('SIZE: the longest closed go until the rest fits, also those of an earlier life', async (t) => {
    const d = await Daemon.startFor(t);
    const ids = [];

    for (let i = 0; i < 4; i++)
      ids.push(await closed(d, { bytes: 300000 }));
    const c = await d.client({ record: false });
    assert.deepEqual(await listed(c), ids, 'by default nothing goes');
    await c.close();
    await d.restart({ flags: { keepSessions: ',800k' } });
    const again = await d.client({ record: false });
    await until(async () => (await listed(again)).length === 2, 'two of them fit');
    assert.deepEqual(await listed(again), ids.slice(2));
    ids.push(await closed(d, { bytes: 300000 }));
    await until(async () => !(await listed(again)).includes(ids[2]), 'a new one pushes out the oldest');
    assert.deepEqual(await listed(again), ids.slice(3));
    assert.equal((await retention(again)).removedSize, 3);
    assert.equal(await d.metric('acpd_sessions_removed_size_total'), 3);
    await again.close();
    await d.stop();
  });

  test('SIZE: without du the journals count, and all sessions are measured at once', async (t) => {
    const d = await Daemon.startFor(t);
    const ids = [];

    for (let i = 0; i < 4; i++)
      ids.push(await closed(d, { say: 'flood 100 200' }));
    await d.restart({ flags: { keepSessions: ',40k' }, env: { PATH: d.dir } });
    const c = await d.client({ record: false });
    await until(async () => (await listed(c)).length < 4, 'the limit applies before the next pause ends');
    const left = await listed(c);
    assert.deepEqual(left, ids.slice(-left.length));
    await c.close();
    await d.stop();
  });
});

test('a full disk: closed sessions go, acknowledged ones first, until there is room; what is open stays and works on', async (t) => {
  const { d, fill, empty } = await onSmallDisk(t, '6m');

  if (!d)
    return;
  const c = await d.client({ record: false, validate: 100 });
  const { sessionId } = await c.newSession();
  await c.prompt(sessionId, 'flood 2000 200; echo end');
  const seq = await ack(c, sessionId);
  await c.prompt(sessionId, 'echo of the second turn');
  const large = { bytes: 700000 };
  const unstored = await closed(d, large);
  const stored = await closed(d, { ...large, acked: true });
  fill();
  await c.fails('session/new', { cwd: d.workDir, mcpServers: [] }).catch(() => {});
  await until(async () => !(await listed(c)).includes(stored), 'the acknowledged one goes first');
  await d.waitLog((l) => l.session === stored && l.why === 'room');
  const givenBack = (id) => until(() => !fs.existsSync(path.join(d.stateDir, 'removed', id)), 'and gives its room back');
  await givenBack(stored);
  assert.deepEqual(await listed(c), [sessionId, unstored], 'that was enough');
  const works = async (say = 'echo on') => {
    try {
      return (await c.prompt(sessionId, say)).stopReason === 'end_turn';
    } catch {
      return false;
    }
  };
  await until(() => works(), 'there is room');
  empty();
  fill();
  await c.fails('session/new', { cwd: d.workDir, mcpServers: [] }).catch(() => {});
  await until(async () => !(await listed(c)).includes(unstored), 'then the other');
  await givenBack(unstored);
  await until(() => works(), 'there is room again');
  empty();
  fill();
  await until(() => works('flood 100 200'), 'at last what is acknowledged of the open one');
  const reader = await d.client({ validate: 100 });
  await reader.load(sessionId);
  const [gap, ...rest] = told(reader, sessionId);
  assert.deepEqual([gap.method, gap.params.from, gap.params.reason], ['_acpd/gap', 1, 'trimmed']);
  assert.ok(gap.params.to <= seq);
  assert.deepEqual(rest.map(seqOf), rest.map((_, i) => gap.params.to + 1 + i));
  assert.deepEqual((await retention(c)).removedRoom, 2);
  await reader.close();
  await c.close();
  await d.stop({ logs: false });
});

test('nothing broke the protocol', () => assertNoViolations());
