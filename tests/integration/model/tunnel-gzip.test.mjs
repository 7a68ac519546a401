// SPDX-License-Identifier: Apache-2.0
// An answer that a client sends on still compressed is found by its first two bytes, however they are cut into pieces.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { connectTaker, ModelConnection, listenerOf, STUB_WITH_PROVIDER } from '../../lib/model-calls.mjs';
import { until } from '../../lib/wait.mjs';

let d, taker, listener;
before(async () => {
  d = await Daemon.start({ harnesses: [STUB_WITH_PROVIDER] });
  taker = await connectTaker(d);
  listener = listenerOf((await taker.newSession()).sessionId);
});
after(() => endInOrder(d, taker.c));

// A call whose answer has a head: {g, id}.
async function answered(t) {
  const n = taker.requests.length;
  const g = (await ModelConnection.open(listener)).send();

  t.after(() => g.close());
  const { callId } = await taker.asked(n);
  taker.head(callId, 200, { 'content-type': 'application/json' });
  return { g, id: callId };
}

test('gzip in pieces of a byte is 502 MODEL_CALL_FAILED', async (t) => {
  const { g, id } = await answered(t);

  taker.chunk(id, '');
  for (const byte of gzipSync('{"choices":[]}').subarray(0, 4))
    taker.chunk(id, undefined, { b64: Buffer.of(byte).toString('base64') });
  const { status, code } = await g.refusal();
  assert.deepEqual({ status, code }, { status: 502, code: 'MODEL_CALL_FAILED' });
});

for (const [what, pieces] of [['alone', ['\x1f']], ['before a byte that is not its second', ['\x1f', 'x', 'y']]]) {
  test(`the first byte of gzip ${what} passes`, async (t) => {
    const { g, id } = await answered(t);

    pieces.forEach((piece) => taker.chunk(id, piece));
    taker.end(id);
    await until(() => g.text.includes('\r\n0\r\n\r\n'), 'the whole answer');
    assert.deepEqual([g.body.bytes.toString(), g.body.whole], [pieces.join(''), true]);
  });
}
