// SPDX-License-Identifier: Apache-2.0
// Updates of a kind that acpd does not know, as ACP clients get them: events of acpd with the update as it is, bounded in size and number, and
// never a session/update, which strict clients validate. agui/updates.test.mjs has what AG-UI clients get.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { hexOf } from '../../lib/noise.mjs';

let d, c;
before(async () => {
  d = await Daemon.start({ stub: { args: ['--resume'], capabilities: { loadSession: true, sessionCapabilities: { resume: {} } } } });
  c = await d.client();
});
after(() => endInOrder(d));

const update = (value) => `update ${JSON.stringify(value).replaceAll(';', '\\;')}`;
const told = (client, sessionId, from = 0) => client.notifications.slice(from)
  .filter((n) => n.method === '_acpd/event' && n.params.sessionId === sessionId && n.params.event.event === 'update_unknown')
  .map(({ params: { event: { kind, event, ...more }, _meta } }) => ({ ...more, turn: _meta.acpd.turn }));
const nested = (levels) => JSON.parse(`{"sessionUpdate":"deep","data":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`);

// What only a newer ACP may have, and what none has.
const ROWS = [
  ['a kind of a newer ACP', { sessionUpdate: 'agent_state_update', state: { state: 'running' } }],
  ['a known kind in other letters', { sessionUpdate: 'Agent_Message_Chunk', content: { type: 'text', text: 'x' } }],
  ['an empty kind', { sessionUpdate: '' }],
  ['no kind', { content: { type: 'text', text: 'x' } }],
  ['a kind that is a number', { sessionUpdate: 7 }],
  ['a kind that is null', { sessionUpdate: null }],
  ['a kind that is an object', { sessionUpdate: { sessionUpdate: 'plan' } }],
  ['an empty object', {}],
  ['members named as those of the event', { sessionUpdate: 'odd', kind: 'lifecycle', event: 'closed', seq: 1, turn: 9, _meta: { acpd: { seq: 1 } } }],
  ['as many levels as an event holds', nested(61)],
];

test('each arrives as it is, once, in its place among the others', async () => {
  for (const [what, sent] of ROWS) {
    const { sessionId } = await c.newSession();
    const before = await d.metric('acpd_updates_unknown_total');

    await c.prompt(sessionId, `echo one; ${update(sent)}; echo two`);
    assert.deepEqual(told(c, sessionId), [{ update: sent, turn: 1 }], what);
    assert.deepEqual(c.updatesOf(sessionId).filter((u) => u.turn).map((u) => u.update.content.text), ['one', 'two'], what);
    const seqs = c.updatesOf(sessionId).filter((u) => u.turn).map((u) => u.seq);
    assert.equal(seqs[1] - seqs[0], 2, what);
    assert.equal(await d.metric('acpd_updates_unknown_total') - before, 1, what);
    await d.waitLog((l) => l.session === sessionId && l.msg === 'harness update unknown' && l.text.startsWith('{'));
    await c.call('session/delete', { sessionId });
  }
});

test('what is too large or too deep for an event is described', async () => {
  const { sessionId } = await c.newSession();
  const long = 'x'.repeat(500);

  await c.prompt(sessionId, `unknownupdates 1 1000000; ${update(nested(62))}; ${update({ sessionUpdate: long, data: 'y'.repeat(70000) })}; echo over`);
  const [large, deep, unnamed] = told(c, sessionId);
  assert.deepEqual([large.sessionUpdate, large.bytes > 1e6, large.update], ['stub_future_update', true, undefined]);
  assert.deepEqual(deep, { sessionUpdate: 'deep', bytes: JSON.stringify(nested(62)).length, turn: 1 });
  assert.deepEqual([unnamed.sessionUpdate, unnamed.bytes > 70000], [undefined, true]);
  await c.call('session/delete', { sessionId });
});

test('64 of 10 000 in a turn arrive, and the number of the others at its end', async () => {
  const { sessionId } = await c.newSession();
  const before = await d.metric('acpd_updates_unknown_total');

  await c.prompt(sessionId, 'unknownupdates 10000 100; echo over');
  const all = told(c, sessionId);
  assert.deepEqual(all.slice(0, 64).map((e) => e.update.n), Array.from({ length: 64 }, (_, i) => i + 1));
  assert.deepEqual(all.slice(64), [{ more: 9936, turn: 1 }]);
  assert.equal(await d.metric('acpd_updates_unknown_total') - before, 10000);
  await c.prompt(sessionId, 'unknownupdates 65 1; echo over');
  assert.equal(told(c, sessionId).length, 64 + 1 + 64 + 1);
  await c.call('session/delete', { sessionId });
});

test('those before a turn have a bound of their own, and the number of the others is told when it begins', async () => {
  const line = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"x","update":{"sessionUpdate":"early"}}}\n';
  const { sessionId } = await c.newSession({ meta: { harness: 'stub', env: { STUB_NOISE: hexOf(line.repeat(70)), STUB_NOISE_AT: 'new' } } });

  await c.prompt(sessionId, 'unknownupdate; echo over');
  const all = told(c, sessionId);
  assert.deepEqual(all.slice(0, 64), Array(64).fill({ update: { sessionUpdate: 'early' }, turn: undefined }));
  assert.deepEqual(all.slice(64).map((e) => [e.more, e.update?.sessionUpdate, e.turn]), [[6, undefined, undefined], [undefined, 'stub_future_update', 1]]);
  await c.call('session/delete', { sessionId });
});

test('a client that does not announce acpd gets nothing of them, and one that loads the session later gets them again', async () => {
  const plain = await d.client({ init: { acpd: false } });
  const { sessionId } = await plain.newSession();

  await plain.prompt(sessionId, 'unknownupdate; echo end');
  assert.deepEqual(plain.chunks(sessionId), ['end']);
  assert.deepEqual(told(plain, sessionId), []);
  await plain.close();
  await c.load(sessionId);
  assert.deepEqual(told(c, sessionId).map((e) => e.update.sessionUpdate), ['stub_future_update']);
  const { json } = await d.http(`/v1/sessions/${sessionId}/events`, { token: d.token }).then(({ body }) => ({ json: body.trim().split('\n').map((l) => JSON.parse(l)) }));
  assert.deepEqual(json.filter((e) => e.event === 'update_unknown').map((e) => [e.kind, e.update.data]), [['lifecycle', { x: [1, 2, 3] }]]);
  await c.call('session/delete', { sessionId });
});

test('a secret in one is hidden', async () => {
  const { sessionId } = await c.newSession({ meta: { harness: 'stub', secrets: { TOKEN: 'hunter2-hunter2-hunter2' } } });

  await c.prompt(sessionId, `${update({ sessionUpdate: 'odd', data: { deep: ['the hunter2-hunter2-hunter2'] } })}; echo over`);
  const [event] = told(c, sessionId);
  assert.doesNotMatch(JSON.stringify(event), /hunter2/);
  assert.match(event.update.data.deep[0], /^the /);
  await c.call('session/delete', { sessionId });
});
