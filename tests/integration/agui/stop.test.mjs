// SPDX-License-Identifier: Apache-2.0
// AG-UI: a client that closes the stream of a run stops the agent, as CopilotKit's Stop and abortRun do; a connection that the daemon
// closes does not, and neither does a client whose settings say that its turns go on.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { agent, end, events, input, post, run, said, types, user } from '../../lib/agui.mjs';
import { gate } from '../../lib/gate.mjs';
import { mint, revoke } from '../../lib/tokens.mjs';
import { until } from '../../lib/wait.mjs';
import { turnsOf } from '../ledger.mjs';
import { sandboxed } from '../robust/away.mjs';

const sessionOf = (all) => all.find((e) => e.type === 'STATE_SNAPSHOT').snapshot.acpd.sessionId;

let d, n = 0;
const thread = () => `thread-${++n}`;

before(async () => {
  d = await Daemon.start();
});
after(() => d.stop());

// A run that is read until the agent has said so much; stop() closes its stream.
async function begin(at, body, { until: words = 'begun', ...options } = {}) {
  const abort = new AbortController(), seen = [];
  const over = (async () => {
    for await (const e of events(await post(at, body, { ...options, signal: abort.signal })))
      seen.push(e);
  })().catch(() => {});

  await until(() => said(seen) === words);
  return { seen, over, sessionId: sessionOf(seen), async stop() {
    abort.abort();
    await over;
  } };
}

const reasons = (at, sessionId) => turnsOf(at, sessionId).map((turn) => turn.stopReason);

test('a stream that its client closes cancels the turn, and the next message is taken while the harness still ends it', async () => {
  // the harness ends the first when it is told, and never ends the second
  for (const step of ['sleep 600000', 'silence']) {
    const id = thread(), first = user(`echo begun; ${step}`);
    const { stop, sessionId } = await begin(d, input(id, [first]));

    await stop();
    const all = await run(d, input(id, [first, user('echo next')]));

    assert.equal(said(all), 'next', JSON.stringify(end(all)));
    assert.equal(end(all).result.stopReason, 'end_turn');
    assert.deepEqual(reasons(d, sessionId), ['cancelled', 'end_turn']);
  }
});

test('abortRun of the official client, in a run that goes on with a turn, too', async () => {
  const a = agent(d), saying = a.say('echo begun; sleep 600000').catch(() => {});

  await until(() => said(a.seen) === 'begun');
  a.abortRun();
  await saying;
  await a.say('echo next; perm c1; sleep 600000');
  assert.equal(said(a.seen), 'next', JSON.stringify(end(a.seen)));
  const [{ id }] = end(a.seen).outcome.interrupts;
  const resuming = a.say(undefined, { resume: [{ interruptId: id, status: 'resolved', payload: { optionId: 'allow' } }] }).catch(() => {});

  await until(() => said(a.seen) === 'permission:allow');
  a.abortRun();
  await resuming;
  // it names the question until a run has ended well
  await a.say('echo last', { resume: [{ interruptId: id, status: 'cancelled' }] });
  assert.equal(said(a.seen), 'last', JSON.stringify(end(a.seen)));
  assert.deepEqual(reasons(d, a.state.acpd.sessionId), ['cancelled', 'cancelled', 'end_turn']);
});

test('with whenDetached continue or hold the turn goes on, of a profile too', async (t) => {
  const profile = path.join(d.dir, 'patient.json');

  fs.writeFileSync(profile, JSON.stringify({ whenDetached: 'continue' }));
  const own = await Daemon.startFor(t, { flags: { profile: `patient=${profile}` } });
  const of = (whenDetached) => [{ forwardedProps: { acpd: { whenDetached } } }, {}];

  for (const [more, options] of [of('continue'), of('hold'), [{}, { query: '?profile=patient' }]]) {
    const id = thread(), { step, open } = gate(own), first = user(`echo begun; ${step}; echo over`);
    const { stop, sessionId } = await begin(own, input(id, [first], more), options);

    await stop();
    await until(async () => /a turn of the thread/.test(end(await run(own, input(id, [first, user('echo x')]), options)).message));
    open();
    await until(() => reasons(own, sessionId).length === 1);
    assert.deepEqual(reasons(own, sessionId), ['end_turn'], JSON.stringify([more, options]));
  }
});

test('a token that is over closes the stream, and the turn goes on', async () => {
  const { id: tokenId, token } = await mint(d, 'drive');
  const id = thread(), { step, open } = gate(d), first = user(`echo begun; ${step}; echo over`);
  const { over, sessionId } = await begin(d, input(id, [first]), { token });

  assert.equal((await revoke(d, tokenId)).status, 200);
  await over;
  open();
  await until(() => reasons(d, sessionId).length === 1);
  assert.deepEqual(reasons(d, sessionId), ['end_turn']);
});

test('a restored machine resets the connection, and the turn goes on', async (t) => {
  const own = await sandboxed(t, 'i-one');
  const id = thread(), { step, open } = gate(own), first = user(`echo begun; ${step}; echo over`);
  const { over, sessionId } = await begin(own, input(id, [first]));

  own.become('i-one');
  await over;
  open();
  await until(() => reasons(own, sessionId).length === 1);
  assert.deepEqual(reasons(own, sessionId), ['end_turn']);
});

test('a daemon that ends says so, and the turn is cut off by that', async (t) => {
  const own = await Daemon.startFor(t);
  const id = thread(), { seen, over, sessionId } = await begin(own, input(id, [user('echo begun; sleep 600000')]));

  await own.restart();
  await over;
  assert.ok(seen.length > 0);
  const [turn] = turnsOf(own, sessionId);

  assert.equal(turn.error?.class ?? turn.stopReason, 'shutdown');
});
