// SPDX-License-Identifier: Apache-2.0
// A harness that prints to the stream of its messages: every kind of noise, at every phase of its life. The turn works, nothing is lost or
// repeated, and the noise is counted and shown in the log by its first bytes. Only a flood or a broken message ends a turn.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { NOISE, assertCounted, hexOf, noiseCounts, showsNoise } from '../../lib/noise.mjs';
import { failing } from './rig.mjs';

// When the stub writes it (tests/stub/README.md).
const PHASES = ['start', 'initialize', 'new', 'idle', 'turn', 'answer', 'after'];
let d, c;

before(async () => {
  d = await Daemon.start({ stub: { args: ['--resume'] } });
  c = await d.client();
});
after(() => endInOrder(d, c));

const noisy = (bytes, phase) => c.newSession({ meta: { harness: 'stub', env: { STUB_NOISE: hexOf(bytes), STUB_NOISE_AT: phase } } });
const shown = (sessionId, bytes) => d.waitLog((l) => l.session === sessionId && /output/.test(l.msg) && showsNoise(l, bytes));

for (const phase of PHASES) {
  describe(`noise at ${phase}`, () => {
    for (const [what, bytes] of NOISE) {
      test(what, () => assertCounted(d, 'harness', bytes, async () => {
        const { sessionId } = await noisy(bytes, phase);

        for (const word of ['one', 'two'])
          assert.equal((await c.prompt(sessionId, `echo ${word}`)).stopReason, 'end_turn');
        assert.deepEqual(c.chunks(sessionId), ['one', 'two']);
        await shown(sessionId, bytes);
        await c.call('session/close', { sessionId });
      }));
    }
  });
}

test('a last answer without its newline counts, and what follows it is noise', async () => {
  for (const bytes of ['', '\x1b[0m', 'bye']) {
    const { sessionId } = await noisy(bytes, 'last');

    assert.equal((await c.prompt(sessionId, 'echo one')).stopReason, 'end_turn', bytes);
    assert.deepEqual(c.chunks(sessionId), ['one']);
    await c.call('session/close', { sessionId });
  }
});

test('bytes that are not UTF-8 inside a message become U+FFFD', async () => {
  const { sessionId } = await c.newSession();
  const before = await noiseCounts(d, 'harness');

  await c.prompt(sessionId, 'badutf8; echo after');
  assert.deepEqual(c.chunks(sessionId), ['bad \ufffd\ufffd\ufffd( utf8', 'after']);
  assert.equal((await noiseCounts(d, 'harness')).cleaned, before.cleaned + 1);
  await c.call('session/close', { sessionId });
});

test('a message that is cut off ends the turn, and the next one works', async () => {
  const { sessionId } = await c.newSession();
  const { error } = await failing(c, sessionId, 'badjson');

  assert.equal(error.data.turn.class, 'harness_protocol');
  assert.match(error.rpcMessage, /wrote a message that cannot be parsed/);
  assert.equal((await c.prompt(sessionId, 'echo again')).stopReason, 'end_turn');
  await c.call('session/close', { sessionId });
});

test('a flood ends the turn, and says what belongs where', async () => {
  const { sessionId } = await c.newSession();
  const { error } = await failing(c, sessionId, Array.from({ length: 10100 }, () => 'raw x').join(';'));

  assert.equal(error.data.turn.class, 'harness_protocol');
  assert.match(error.rpcMessage, /too many lines that are not messages.*stderr/);
  await c.call('session/close', { sessionId });
});

test('a secret in noise is not in the log', async () => {
  const secret = 'sk-noisy-0123456789abcdef';
  const { sessionId } = await c.newSession({ meta: { harness: 'stub', secrets: { NOISY_TOKEN: secret } } });

  await c.prompt(sessionId, `raw token ${secret} is used; echo done`);
  await d.waitLog((l) => l.session === sessionId && l.msg === 'harness output skipped' && l.text.startsWith('token '));
  assert.ok(!d.stderr.includes(secret));
  await c.call('session/close', { sessionId });
});

test('a harness that closes its output is not said to have been killed', async () => {
  const { sessionId } = await c.newSession();
  const { error } = await failing(c, sessionId, 'closeout');

  assert.equal(error.data.turn.class, 'harness_exit');
  assert.match(error.rpcMessage, /closed its standard output/);
  assert.doesNotMatch(error.rpcMessage, /signal/);
  await c.call('session/close', { sessionId });
});
