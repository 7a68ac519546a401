// SPDX-License-Identifier: Apache-2.0
// A session whose journal is large is taken up by the summary beside it: the same session as by reading the journal, and where the
// summary does not hold for it, the journal is read. What the disk has changed in what was not read is found afterwards.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { assertNoViolations } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';
import { journalOf, turnsOf } from '../ledger.mjs';

const EVENTS = 6000; // more than a megabyte of journal
const summaryOf = (d, id) => path.join(d.stateDir, 'sessions', `${id}.summary`);
const lean = { validate: 'none' };
const params = (m) => m.params._meta?.acpd?.seq ?? m.params.seq;
const keyed = (key) => ({ meta: { acpd: { key } } });

// A session with a title, a stored result, an answered question and a long history.
async function large(d) {
  const c = await d.client(lean);
  const { sessionId } = await c.newSession({ meta: { model: 'stub-large', billingRef: 'one' } });

  c.onRequest('session/request_permission', ({ params: p }) => ({ outcome: { outcome: 'selected', optionId: p.options[0].optionId } }));
  await c.prompt(sessionId, 'title Long ago; perm a edit; echo first', keyed('key-1'));
  await c.prompt(sessionId, `flood ${EVENTS} 100`);
  await c.prompt(sessionId, 'tool t read A; tokens {"inputTokens":7,"outputTokens":1,"totalTokens":8}');
  await c.close();
  return sessionId;
}

// Everything that a client can learn of it, in a life that has just begun.
async function learned(d, id) {
  const c = await d.client(lean);
  const [listed] = (await c.call('session/list', {})).sessions;
  const [status] = (await c.call('_acpd/status', { sessionId: id })).sessions;
  const events = await d.http(`/v1/sessions/${id}/events?format=ndjson`, { token: d.token, described: false });

  await c.close();
  delete listed.updatedAt; // by the journal that of the last event, which may be some milliseconds earlier
  delete status.updatedAt;
  return { listed, status, events: events.body };
}

async function started(t) {
  const d = await Daemon.startFor(t);
  const id = await large(d);

  await d.stop({ keep: true });
  return { d, id };
}

test('by its summary and by its journal it is the same session, which goes on', async (t) => {
  const { d, id } = await started(t);
  const summary = fs.readFileSync(summaryOf(d, id));

  assert.ok(fs.statSync(journalOf(d, id)).size > 1 << 20);
  assert.equal(fs.statSync(summaryOf(d, id)).mode & 0o777, 0o600);
  await d.restart();
  const by = await learned(d, id);
  await d.stop({ keep: true });
  fs.rmSync(summaryOf(d, id));
  await d.restart();
  const whole = await learned(d, id);
  await d.stop({ keep: true });
  assert.deepEqual(by, whole);
  assert.equal(by.listed.title, 'Long ago');
  assert.ok(fs.existsSync(summaryOf(d, id)), 'it is written anew');

  fs.writeFileSync(summaryOf(d, id), summary); // it still holds: nothing was added
  await d.restart();
  const c = await d.client(lean);
  const loaded = await c.load(id);
  const seqs = c.messages.filter((m) => m.method && m.params?.sessionId === id && params(m)).map(params);
  assert.deepEqual(seqs.slice(0, by.status.seq), Array.from({ length: by.status.seq }, (_, i) => i + 1), 'all of it, once and in order');
  assert.equal(loaded.configOptions.find((o) => o.id === 'model').currentValue, 'stub-large');
  const from = c.messages.length;
  await c.prompt(id, 'title Long ago; perm a edit; echo first', keyed('key-1'));
  assert.equal(c.messages.slice(from).filter((m) => m.method === 'session/update').length, 0, 'that key has its result already');
  const { _meta: { acpd: { turn } } } = await c.prompt(id, 'echo again');
  assert.equal(turn, by.status.turns + 1);
  const record = turnsOf(d, id).at(-1);
  assert.deepEqual([record.cumulative.turns, record.cumulative.usage.inputTokens, record.billingRef], [by.status.turns + 1, 7, 'one']);
  await c.close();
  await d.stop();
  assertNoViolations();
});

test('one that is damaged, empty, cut or of another time is not believed', async (t) => {
  const { d, id } = await started(t);
  const was = fs.readFileSync(summaryOf(d, id));
  const at = Math.floor(was.length / 2);
  const other = Buffer.from(was);

  other[at] ^= 1;
  await d.restart();
  const { listed } = await learned(d, id);
  await d.stop({ keep: true });
  for (const bytes of [Buffer.alloc(0), was.subarray(0, at), other, Buffer.concat([was, Buffer.from('{}\n')]), Buffer.alloc(200)]) {
    fs.writeFileSync(summaryOf(d, id), bytes);
    await d.restart();
    assert.deepEqual((await learned(d, id)).listed, listed);
    await d.stop({ keep: true });
  }
  fs.rmSync(summaryOf(d, id));
  fs.mkdirSync(summaryOf(d, id)); // nor can it be written
  await d.restart();
  assert.deepEqual((await learned(d, id)).listed, listed);
  await d.stop({ keep: true });
  fs.rmdirSync(summaryOf(d, id));
});

test('a turn that was killed after it ends once, as without it', async (t) => {
  const { d, id } = await started(t);

  await d.restart();
  const c = await d.client(lean);
  await c.load(id);
  c.startPrompt(id, 'echo begun; sleep 60000').answer.catch(() => {});
  await until(() => c.chunks(id).includes('begun'));
  const before = fs.statSync(summaryOf(d, id)).mtimeMs;
  await d.kill9();
  assert.equal(fs.statSync(summaryOf(d, id)).mtimeMs, before);
  await d.restart();
  const again = await d.client(lean);
  await again.load(id);
  const ends = again.messages.filter((m) => m.method === '_acpd/turn_end').map((m) => m.params.turn);
  assert.deepEqual(ends, [1, 2, 3, 4]);
  assert.ok(again.chunks(id).includes('begun'));
  await again.close();
  await d.stop();
});

test('a bit that the disk has changed since is found, told, and a gap', async (t) => {
  const { d, id } = await started(t);
  const like = path.join(d.dir, 'like'); // of the same time, to the nanosecond
  const bytes = fs.readFileSync(journalOf(d, id));
  const before = bytes.indexOf('\n', Math.floor(bytes.length / 2)) + 1;
  const { n } = JSON.parse(bytes.subarray(before, bytes.indexOf('\n', before)));
  const fd = fs.openSync(journalOf(d, id), 'r+');

  execFileSync('touch', ['-r', journalOf(d, id), like]);
  fs.writeSync(fd, Buffer.from([bytes[before + 200] ^ 1]), 0, 1, before + 200);
  fs.closeSync(fd);
  execFileSync('touch', ['-r', like, journalOf(d, id)]);
  await d.restart();
  await d.waitLog((l) => l.level === 'error' && l.what === 'journal' && l.name === id);
  assert.ok(!fs.existsSync(summaryOf(d, id)), 'it does not outlast what it is of');
  const { listed, events } = await learned(d, id);
  assert.deepEqual(listed._meta.acpd.damaged, { missing: 1 });
  const gaps = events.split('\n').filter(Boolean).map((line) => JSON.parse(line)).filter((e) => e.event === 'gap');
  assert.deepEqual(gaps.map(({ from, to, reason }) => [from, to, reason]), [[n, n, 'damaged']]);
  await d.stop({ logs: false, keep: true });
  await d.restart(); // the next reads the journal, and knows at once
  assert.deepEqual((await learned(d, id)).listed._meta.acpd.damaged, { missing: 1 });
  assert.ok(!fs.existsSync(summaryOf(d, id)));
  await d.stop({ logs: false });
});

test('a small journal has none; of a deleted session none is left', async (t) => {
  const d = await Daemon.startFor(t);
  const id = await large(d);
  const c = await d.client(lean);
  const { sessionId } = await c.newSession();

  await c.prompt(sessionId, 'echo small');
  for (const s of [sessionId, id])
    await c.call('session/close', { sessionId: s });
  assert.ok(fs.existsSync(summaryOf(d, id)));
  assert.ok(!fs.existsSync(summaryOf(d, sessionId)));
  await c.call('session/delete', { sessionId: id });
  assert.ok(!fs.existsSync(summaryOf(d, id)));
  await until(() => fs.readdirSync(path.join(d.stateDir, 'removed')).length === 0);
  await c.close();
  await d.stop();
});
