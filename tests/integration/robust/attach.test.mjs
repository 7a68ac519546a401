// SPDX-License-Identifier: Apache-2.0
// Who drives a session, and what becomes of its prompts and questions when that changes: fencing, echo of
// prompts, questions put again, idempotent keys, the queue, and what clients without acpd get to see.

import assert from 'node:assert/strict';
import { test, describe, before, after } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { gate } from '../../lib/gate.mjs';
import { sleep } from '../../lib/rawws.mjs';
import { constant } from '../../lib/tables.mjs';
import { until, withLimit } from '../../lib/wait.mjs';
import { Tape, failing, privateOnes, turnEnds } from './rig.mjs';

let d, hasty; // hasty: its questions wait for a second

before(async () => {
  d = await Daemon.start();
  hasty = await Daemon.start({ flags: { permissionTimeout: 1 } });
});

after(async () => {
  await endInOrder(d);
  await endInOrder(hasty);
});

// An error answer of a request that is still open.
const errorOf = async (request) => {
  const msg = await request.answer;

  assert.ok(msg.error, `should have failed: ${JSON.stringify(msg)}`);
  return msg.error;
};
const idle = (at = d) => until(async () => await at.metric('acpd_turns_running') === 0, 'the turns to end');
const userTexts = (client, sessionId) => client.updatesOf(sessionId, 'user_message_chunk')
  .map((u) => u.update.content.text);

async function pair({ at = d, ...opts } = {}) {
  const a = await at.client(opts.a);
  const b = await at.client(opts.b);
  const { sessionId } = await a.newSession(opts.session);

  return { a, b, sessionId };
}

async function end(sessionId, ...clients) {
  await clients.at(-1).call('session/delete', { sessionId });
  for (const client of clients) {
    client.assertClean();
    await client.close();
  }
}

describe('a second connection takes over', () => {
  test('the first is told, its open prompt and later calls are refused, its other sessions live on', async () => {
    const { a, b, sessionId } = await pair();
    const other = (await a.newSession()).sessionId;
    const { step, open } = gate(d);
    const running = a.startPrompt(sessionId, `echo one; ${step}; echo two`);
    const queued = a.startPrompt(sessionId, 'echo three');
    const beside = a.startPrompt(other, 'echo other; sleep 600; echo still other');

    await a.waitUpdate((u) => u.update.content?.text === 'one');
    const { _meta } = await b.load(sessionId);
    assert.equal(_meta.acpd.turn, 1);
    for (const request of [running, queued]) {
      const error = await errorOf(request);

      assert.equal(error.code, -32002);
      assert.equal(error.data.reason, 'DETACHED');
      assert.equal(error.data.sessionId, sessionId);
    }
    const told = await a.waitFor((m) => m.method === '_acpd/detached');
    assert.equal(told.params.sessionId, sessionId);
    assert.equal(typeof told.params.reason, 'string');
    for (const [method, params] of [['session/prompt', a.promptParams(sessionId, 'echo no')],
      ['session/set_mode', { sessionId, modeId: 'code' }],
      ['session/set_config_option', { sessionId, configId: 'model', value: 'stub-large' }]]) {
      const error = await a.fails(method, params);

      assert.equal(error.code, -32002, method);
      assert.equal(error.data.sessionId, sessionId);
      assert.match(error.data.reason, /^[A-Z_]+$/);
    }
    a.cancel(sessionId); // from the wrong side of the fence: nothing
    const quiet = a.updatesOf(sessionId).length;
    open();
    await b.waitUpdate((u) => u.update.content?.text === 'three');
    assert.deepEqual(b.chunks(sessionId), ['one', 'two', 'three'], 'both turns ran on');
    assert.equal(a.updatesOf(sessionId).length, quiet, 'the first hears nothing more of it');
    assert.equal((await beside.answer).result.stopReason, 'end_turn');
    assert.deepEqual(a.chunks(other), ['other', 'still other'], 'its other session went on');
    assert.equal((await a.prompt(other, 'echo again')).stopReason, 'end_turn');
    await a.call('session/delete', { sessionId: other });
    await end(sessionId, a, b);
  });

  test('back and forth: each load fences, the last one drives', async () => {
    const { a, b, sessionId } = await pair();

    for (let i = 0; i < 5; i++) {
      for (const [now, then] of [[b, a], [a, b]]) {
        const told = privateOnes(then).filter((m) => m.method === '_acpd/detached').length;

        await now.load(sessionId);
        await now.prompt(sessionId, `echo ${i}`);
        await then.waitFor(() => privateOnes(then).filter((m) => m.method === '_acpd/detached').length > told);
        assert.equal((await failing(then, sessionId, 'echo no')).error.code, -32002);
      }
    }
    await end(sessionId, b, a);
  });

  test('resume fences as load does', async () => {
    const { a, b, sessionId } = await pair();

    await b.resumeSession(sessionId);
    await a.waitFor((m) => m.method === '_acpd/detached');
    assert.equal((await failing(a, sessionId, 'echo no')).error.code, -32002);
    await b.prompt(sessionId, 'echo yes');
    assert.deepEqual(b.chunks(sessionId), ['yes']);
    await end(sessionId, a, b);
  });
});

describe('a prompt is an event', () => {
  test('its sender is not sent it, everybody else is, and the replay has it', async () => {
    const { a, b, sessionId } = await pair();

    await a.prompt(sessionId, [{ type: 'text', text: 'echo one' }, { type: 'text', text: 'more' }]);
    const { step, open } = gate(d);
    const running = a.startPrompt(sessionId, `echo two; ${step}`);
    const queued = a.startPrompt(sessionId, 'echo three');
    await a.waitUpdate((u) => u.update.content?.text === 'two');
    assert.deepEqual(userTexts(a, sessionId), [], 'not to its sender');
    await b.load(sessionId);
    assert.deepEqual(userTexts(b, sessionId), ['echo one', 'more', `echo two; ${step}`], 'the replay has each block');
    open();
    await b.waitUpdate((u) => u.update.content?.text === 'three');
    assert.deepEqual(userTexts(b, sessionId), ['echo one', 'more', `echo two; ${step}`, 'echo three'],
      'a queued prompt of the other is told when it begins');
    const own = b.updatesOf(sessionId).length;
    await b.prompt(sessionId, 'echo four');
    assert.deepEqual(b.updatesOf(sessionId).slice(own).map((u) => u.update.sessionUpdate), ['agent_message_chunk']);
    for (const request of [running, queued])
      await errorOf(request);
    await end(sessionId, a, b);
  });
});

describe('an open question', () => {
  test('goes to the new socket with a new id, and is answered there', async () => {
    const { a, b, sessionId } = await pair();

    a.startPrompt(sessionId, 'perm t1; echo done');
    const first = await a.waitRequest('session/request_permission');
    a.ws.reset();
    await a.closed;
    await b.load(sessionId);
    const second = await b.waitRequest('session/request_permission');
    assert.deepEqual(second.params, first.params);
    const answer = b.messages.findIndex((m) => m.result?._meta?.acpd?.harness);
    assert.ok(b.messages.indexOf(second) > answer, 'behind the answer to the load');
    b.respond(second.id, { outcome: { outcome: 'selected', optionId: 'allow' } });
    await b.waitUpdate((u) => u.update.content?.text === 'done');
    assert.ok(b.chunks(sessionId).includes('permission:allow'));
    await end(sessionId, b);
  });

  test('of a fenced driver is withdrawn there; its late answer counts for nothing', async () => {
    const { a, b, sessionId } = await pair();

    a.startPrompt(sessionId, 'perm t1; echo done');
    const first = await a.waitRequest('session/request_permission');
    await b.load(sessionId);
    const second = await b.waitRequest('session/request_permission');
    const taken = await a.waitFor((m) => m.method === '$/cancel_request');
    assert.equal(taken.params.requestId, first.id);
    a.respond(first.id, { outcome: { outcome: 'selected', optionId: 'allow' } });
    await sleep(100);
    assert.deepEqual(b.chunks(sessionId), []);
    b.respond(second.id, { outcome: { outcome: 'selected', optionId: 'reject' } });
    await b.waitUpdate((u) => u.update.content?.text === 'done');
    assert.ok(b.chunks(sessionId).includes('permission:reject'));
    await end(sessionId, a, b);
  });

  test('the same connection loads again: asked again under a new id; both answers, one counts', async (t) => {
    const own = await Daemon.start(); // a wrong answer here could end the daemon
    t.after(() => own.discard());
    const a = await own.client();
    const b = await own.client();
    const { sessionId } = await a.newSession();
    const prompt = a.startPrompt(sessionId, 'perm t1; perm t2; echo done');

    const first = await a.waitRequest('session/request_permission');
    await a.load(sessionId);
    const second = await a.waitRequest('session/request_permission', { from: 1 });
    assert.notEqual(second.id, first.id);
    a.respond(second.id, { outcome: { outcome: 'selected', optionId: 'allow' } });
    a.respond(first.id, { outcome: { outcome: 'selected', optionId: 'reject' } });
    const third = await a.waitRequest('session/request_permission', { from: 2 });
    a.respond(first.id, { outcome: { outcome: 'selected', optionId: 'reject' } });
    await sleep(50);
    a.respond(third.id, { outcome: { outcome: 'cancelled' } });
    assert.equal((await prompt.answer).result.stopReason, 'end_turn');
    const said = [...new Set(a.chunks(sessionId))].filter((text) => text.startsWith('permission'));
    assert.deepEqual(said, ['permission:allow', 'permission:cancelled']);
    await b.load(sessionId);
    await b.prompt(sessionId, 'echo alive');
    await end(sessionId, a, b);
    await own.stop();
  });

  test('with nobody there: rejected after --permission-timeout', async () => {
    const { a, b, sessionId } = await pair({ at: hasty });

    a.startPrompt(sessionId, 'perm t1; echo done');
    await a.waitRequest('session/request_permission');
    await a.close();
    await idle(hasty);
    await b.load(sessionId);
    assert.ok(b.chunks(sessionId).includes('permission:reject'), b.chunks(sessionId));
    assert.equal(b.requests.length, 0);
    assert.equal(turnEnds(b, sessionId)[0].stopReason, 'end_turn');
    await end(sessionId, b);
  });

  test('with somebody there: does not expire', async () => {
    const { a, b, sessionId } = await pair({ at: hasty });
    const prompt = a.startPrompt(sessionId, 'perm t1; echo done');
    const asked = await a.waitRequest('session/request_permission');

    await sleep(1500);
    a.respond(asked.id, { outcome: { outcome: 'selected', optionId: 'allow' } });
    await prompt.answer;
    assert.ok(a.chunks(sessionId).includes('permission:allow'));
    await end(sessionId, b, a);
  });
});

describe('whenDetached', () => {
  test('continue (default): the turn goes on without anybody', async () => {
    const { a, b, sessionId } = await pair();

    a.startPrompt(sessionId, 'echo one; sleep 200; echo two');
    await a.waitUpdate((u) => u.update.content?.text === 'one');
    a.ws.reset();
    await idle();
    await b.load(sessionId);
    assert.deepEqual(b.chunks(sessionId), ['one', 'two']);
    await end(sessionId, b);
  });

  test('hold: a question waits however long it takes', async () => {
    const { a, b, sessionId } = await pair({ at: hasty, session: { meta: { whenDetached: 'hold' } } });

    a.startPrompt(sessionId, 'perm t1; echo done');
    await a.waitRequest('session/request_permission');
    await a.close();
    await sleep(2000); // twice the permission timeout
    await b.load(sessionId);
    const asked = await b.waitRequest('session/request_permission');
    b.respond(asked.id, { outcome: { outcome: 'selected', optionId: 'allow' } });
    await b.waitUpdate((u) => u.update.content?.text === 'done');
    assert.ok(b.chunks(sessionId).includes('permission:allow'));
    await end(sessionId, b);
  });

  test('cancel: what runs and what waits is cancelled, unless the driver comes back at once', async () => {
    const atOnce = async () => {
      const { a, b, sessionId } = await pair({ session: { meta: { whenDetached: 'cancel' } } });

      a.startPrompt(sessionId, 'echo one; sleep 60000');
      a.startPrompt(sessionId, 'echo queued');
      await a.waitUpdate((u) => u.update.content?.text === 'one');
      const from = Date.now();
      await Promise.all([a.ws.reset(), a.closed]);
      await b.load(sessionId);
      const took = Date.now() - from; // on a busy machine it may not have been at once
      await sleep(2500);
      return { b, sessionId, took, ends: turnEnds(b, sessionId).length };
    };
    const { b, sessionId, took, ends } = await withLimit(0, atOnce, (r) => r.ends > 0 && r.took > constant('DETACH_CANCEL_MS') / 2);

    assert.equal(ends, 0, `it came back after ${took} ms`);
    await b.close();
    await idle();
    const c = await d.client();
    await c.load(sessionId);
    assert.deepEqual(turnEnds(c, sessionId).map((e) => e.stopReason), ['cancelled', 'cancelled']);
    assert.deepEqual(c.chunks(sessionId), ['one']);
    await end(sessionId, c);
  });
});

describe('a prompt with a key', () => {
  const keyed = (key) => ({ meta: { acpd: { key } } });

  test('sent again while it runs: attached to the same turn, on the same connection and on another', async () => {
    const { a, b, sessionId } = await pair();
    const { step, open } = gate(d), text = `echo once; ${step}`;
    const first = a.startPrompt(sessionId, text, keyed('k1'));
    const again = a.startPrompt(sessionId, text, keyed('k1'));

    await a.waitUpdate((u) => u.update.content?.text === 'once');
    await b.load(sessionId);
    for (const request of [first, again])
      assert.equal((await errorOf(request)).code, -32002);
    const attached = b.prompt(sessionId, text, keyed('k1'));
    await b.call('_acpd/status', { sessionId }); // behind it
    open();
    const third = await attached;
    assert.equal(third.stopReason, 'end_turn');
    assert.equal(third._meta.acpd.turn, 1);
    assert.deepEqual(b.chunks(sessionId), ['once']);
    await b.prompt(sessionId, 'RECALL');
    assert.deepEqual(JSON.parse(b.chunks(sessionId).at(-1)), [text], 'executed once');
    assert.equal(turnEnds(b, sessionId)[0].key, 'k1');
    await end(sessionId, a, b);
  });

  test('two on one connection: both are answered alike', async () => {
    const { a, b, sessionId } = await pair();
    const answers = await Promise.all([1, 2, 3].map(() => a.prompt(sessionId, 'echo once; sleep 50', keyed('k1'))));

    assert.deepEqual(answers[1], answers[0]);
    assert.deepEqual(answers[2], answers[0]);
    assert.deepEqual(a.chunks(sessionId), ['once']);
    await end(sessionId, b, a);
  });

  test('after the end: the stored result, success or failure, also on a new connection', async () => {
    const { a, b, sessionId } = await pair();
    const good = await a.prompt(sessionId, 'echo good', keyed('good'));
    const bad = (await failing(a, sessionId, 'echo bad; crash exit 3', keyed('bad'))).error;
    const dropped = a.startPrompt(sessionId, 'echo long; sleep 60000', keyed('dropped'));

    await a.waitUpdate((u) => u.update.content?.text === 'long');
    a.cancel(sessionId);
    const cancelled = (await dropped.answer).result;
    assert.equal(cancelled.stopReason, 'cancelled');
    a.ws.reset();
    await b.load(sessionId);
    const at = b.updates.length;
    assert.deepEqual(await b.prompt(sessionId, 'echo good', keyed('good')), good);
    const again = (await failing(b, sessionId, 'echo bad; crash exit 3', keyed('bad'))).error;
    assert.equal(again.code, bad.code);
    assert.deepEqual(again.data, bad.data);
    assert.deepEqual(await b.prompt(sessionId, 'echo long; sleep 60000', keyed('dropped')), cancelled);
    assert.equal(b.updates.length, at, 'nothing was run');
    await b.prompt(sessionId, 'RECALL');
    const said = JSON.parse(b.chunks(sessionId).at(-1));
    assert.deepEqual(said, ['echo good', 'echo bad; crash exit 3', 'echo long; sleep 60000'], 'each once');
    await end(sessionId, b);
  });

  test('sent 60 times across cuts before the answer: executed once', async () => {
    const owner = await d.client();
    const { sessionId } = await owner.newSession();
    await owner.close();

    for (let k = 0; k < 12; k++) {
      for (let i = 0; i < 5; i++) {
        const c = await d.client({ validate: 'none' });
        await c.load(sessionId);
        c.startPrompt(sessionId, `echo ${k}; sleep 20`, keyed(`key ${k}`));
        await sleep(i * 6);
        c.ws.reset();
        await c.closed;
      }
    }
    const last = await d.client();
    await last.load(sessionId);
    for (let k = 0; k < 12; k++)
      assert.equal((await last.prompt(sessionId, `echo ${k}; sleep 20`, keyed(`key ${k}`))).stopReason, 'end_turn');
    await last.prompt(sessionId, 'RECALL');
    const each = Array.from({ length: 12 }, (_, k) => `echo ${k}; sleep 20`);
    assert.deepEqual(JSON.parse(last.chunks(sessionId).at(-1)), each);
    await end(sessionId, last);
  });

  test('keys are of a session, 1 to 128 characters', async () => {
    const { a, b, sessionId } = await pair();
    const { sessionId: second } = await b.newSession();

    await a.prompt(sessionId, 'echo one', keyed('k'));
    await b.prompt(second, 'echo two', keyed('k'));
    assert.deepEqual(b.chunks(second), ['two']);
    assert.equal((await a.prompt(sessionId, 'echo long', keyed('é'.repeat(64)))).stopReason, 'end_turn');
    for (const key of ['', 'x'.repeat(1000), 7]) {
      const { error } = await failing(a, sessionId, 'echo no', keyed(key));

      assert.equal(error.code, -32602);
      assert.equal(error.data.field, '_meta.acpd.key');
    }
    await b.call('session/delete', { sessionId: second });
    await end(sessionId, b, a);
  });
});

describe('a busy session', () => {
  const busy = (whenBusy) => ({ meta: { acpd: { whenBusy } } });

  test('queues in order; whenBusy reject is refused with SESSION_BUSY', async () => {
    const { a, b, sessionId } = await pair();
    const order = [];
    const { step, open } = gate(d);
    const requests = [1, 2, 3, 4].map((i) => a.startPrompt(sessionId, `echo ${i}; ${i === 1 ? step : 'sleep 30'}`));

    requests.forEach((r, i) => r.answer.then(({ result }) => {
      order.push([i + 1, result.stopReason, result._meta.acpd.turn]);
    }));
    const { error } = await failing(a, sessionId, 'echo no', busy('reject'));
    assert.equal(error.data.reason, 'SESSION_BUSY');
    assert.equal((await failing(a, sessionId, 'echo no', busy('maybe'))).error.code, -32602);
    open();
    await a.prompt(sessionId, 'echo 5', busy('queue'));
    assert.deepEqual(order, [1, 2, 3, 4].map((i) => [i, 'end_turn', i]));
    assert.deepEqual(a.chunks(sessionId), ['1', '2', '3', '4', '5']);
    assert.deepEqual(turnEnds(a, sessionId).map((e) => e.turn), [1, 2, 3, 4, 5]);
    assert.equal((await a.prompt(sessionId, 'echo 6', busy('reject'))).stopReason, 'end_turn');
    await end(sessionId, b, a);
  });

  test('session/cancel ends what runs and what waits', async () => {
    const { a, b, sessionId } = await pair();
    const requests = ['echo 1; sleep 60000', 'echo 2', 'echo 3'].map((text) => a.startPrompt(sessionId, text));

    await a.waitUpdate((u) => u.update.content?.text === '1');
    a.cancel(sessionId);
    for (const r of requests)
      assert.equal((await r.answer).result?.stopReason, 'cancelled');
    assert.deepEqual(turnEnds(a, sessionId).map((e) => e.stopReason), ['cancelled', 'cancelled', 'cancelled']);
    assert.equal((await a.prompt(sessionId, 'echo 4')).stopReason, 'end_turn');
    assert.deepEqual(a.chunks(sessionId), ['1', '4']);
    await end(sessionId, b, a);
  });

  test('$/cancel_request ends only that one, waiting or running', async () => {
    const { a, b, sessionId } = await pair();
    const [one, two, three] = ['echo 1; sleep 60000', 'echo 2', 'echo 3'].map((text) => a.startPrompt(sessionId, text));

    await a.waitUpdate((u) => u.update.content?.text === '1');
    a.notify('$/cancel_request', { requestId: two.id });
    assert.equal((await two.answer).result?.stopReason, 'cancelled');
    a.notify('$/cancel_request', { requestId: 99999 });
    a.notify('$/cancel_request', { requestId: one.id });
    assert.equal((await one.answer).result?.stopReason, 'cancelled');
    assert.equal((await three.answer).result?.stopReason, 'end_turn');
    assert.deepEqual(a.chunks(sessionId), ['1', '3']);
    await end(sessionId, b, a);
  });
});

describe('turn_end', () => {
  test('says how each turn ended: once, sequenced, and in the replay', async () => {
    const a = await d.client();
    const tape = await Tape.open(a);
    const { sessionId } = tape;

    await a.prompt(sessionId, 'echo fine');
    await a.prompt(sessionId, 'echo enough; stop max_tokens');
    await failing(a, sessionId, 'echo bad; crash exit 3');
    const request = a.startPrompt(sessionId, 'echo long; sleep 60000');
    await a.waitUpdate((u) => u.update.content?.text === 'long');
    a.cancel(sessionId);
    await request.answer;
    const ends = turnEnds(a, sessionId);
    assert.deepEqual(ends.map((e) => [e.turn, e.stopReason ?? e.error.class]),
      [[1, 'end_turn'], [2, 'max_tokens'], [3, 'harness_exit'], [4, 'cancelled']]);
    tape.assertWhole();
    const from = a.messages.length;
    await a.load(sessionId);
    assert.deepEqual(a.messages.slice(from).filter((m) => m.method === '_acpd/turn_end').map((m) => m.params), ends);
    await end(sessionId, a);
  });
});

describe('a client that did not announce acpd', () => {
  test('sees no _acpd message, whatever happens', async () => {
    const { a, b, sessionId } = await pair({ a: { init: { acpd: false } } });

    await a.prompt(sessionId, 'echo one');
    await failing(a, sessionId, 'echo two; crash exit 1');
    await a.load(sessionId, { meta: { fromSeq: 1, incarnation: 'unknown' } });
    const { step, open } = gate(d);
    const running = a.startPrompt(sessionId, `echo three; ${step}`);
    await a.waitUpdate((u) => u.update.content?.text === 'three');
    await b.load(sessionId);
    assert.equal((await errorOf(running)).code, -32002);
    open();
    await a.load(sessionId);
    await a.prompt(sessionId, 'echo four');
    await a.call('session/close', { sessionId });
    assert.deepEqual(privateOnes(a), []);
    assert.ok(a.updates.every((u) => u.seq >= 1), 'but every update has its number');
    assert.ok(privateOnes(b).some((m) => m.method === '_acpd/detached'));
    await end(sessionId, b, a);
  });
});
