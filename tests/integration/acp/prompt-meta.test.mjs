// SPDX-License-Identifier: Apache-2.0
// _meta.acpd of session/prompt: what is not understood is refused and named, and a key stands for one prompt, also after the daemon was killed.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';

let d, c;
before(async () => {
  d = await Daemon.start();
  c = await d.client();
});
after(() => endInOrder(d));

const fails = (sessionId, acpd, text = 'echo one') => c.fails('session/prompt', c.promptParams(sessionId, text, { acpd }));

test('unknown members and wrong types are refused, and named', async () => {
  const { sessionId } = await c.newSession();
  const rows = [[{ Key: 'a' }, 'PARAM_UNSUPPORTED', 'Key'], [{ key: 7 }, 'FIELD_INVALID', 'key'],
    [{ key: '' }, 'FIELD_INVALID', 'key'], [{ key: 'k'.repeat(129) }, 'FIELD_TOO_LONG', 'key'], [{ whenBusy: true }, 'FIELD_INVALID', 'whenBusy'],
    [{ whenBusy: 'never' }, 'FIELD_INVALID', 'whenBusy']];

  for (const [acpd, reason, field] of rows) {
    const { code, data } = await fails(sessionId, acpd);
    assert.deepEqual([code, data.reason, data.field], [-32602, reason, `_meta.acpd.${field}`], JSON.stringify(acpd));
  }
  for (const acpd of ['x', 7, []])
    assert.equal((await fails(sessionId, acpd)).data.field, '_meta.acpd');
  assert.equal((await c.call('_acpd/status', { sessionId })).sessions[0].turns, 0, 'none of them was a prompt');
});

test('the harness gets all of _meta but acpd', async () => {
  const { sessionId } = await c.newSession();

  await c.call('session/prompt', { ...c.promptParams(sessionId, 'meta'), _meta: { acpd: { key: 'own' }, other: [1] } });
  assert.deepEqual(JSON.parse(c.chunks(sessionId).join('')), { other: [1] });
});

test('a key with another prompt is refused: while its turn runs, after it, and by the next daemon', async () => {
  const { sessionId } = await c.newSession();
  const refused = async (text) => assert.deepEqual((({ code, data }) => [code, data.reason, data.field])(await fails(sessionId, { key: 'k' }, text)),
    [-32602, 'KEY_REUSED', '_meta.acpd.key']);
  const same = () => c.prompt(sessionId, 'echo one; sleep 200', { meta: { acpd: { key: 'k' } } });
  const running = c.startPrompt(sessionId, 'echo one; sleep 200', { meta: { acpd: { key: 'k' } } });

  await refused('echo two');
  const { result } = await running.answer;
  await refused('echo two');
  assert.deepEqual(await same(), result);
  await c.close();
  await d.kill9();
  await d.restart();
  c = await d.client();
  await c.load(sessionId);
  await refused('echo two');
  assert.equal((await same()).stopReason, 'end_turn');
});
