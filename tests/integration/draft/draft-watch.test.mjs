// SPDX-License-Identifier: Apache-2.0
// What turns have to do with drafts: failures after which one begins by itself, more in it than may be, and who is told that there is
// something to look at.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { diff, draftOf, refusedWith, run, turn } from '../../lib/drafts.mjs';
import { dropPlain, startPlain } from '../../lib/plain.mjs';
import { until } from '../../lib/wait.mjs';
import { newCwd } from '../../lib/workspace.mjs';
import { Receiver, told } from '../outbox/rig.mjs';

const stub = { args: ['--resume'], capabilities: { loadSession: true } };

async function start(t, opts, meta) {
  const d = await Daemon.startFor(t, { stub, ...opts });
  const c = await d.client(), cwd = newCwd(d);
  const answer = await c.newSession({ cwd, meta });

  return { d, c, cwd, answer, id: answer.sessionId };
}
const drafted = async (c, id) => (await c.call('_acpd/status', {})).sessions.find((s) => s.sessionId === id).draft;

describe('draftAfter', () => {
  test('so many tool calls that failed in a row, then the next prompt works in a draft; one that went well counts anew', async (t) => {
    const { d, c, cwd, id } = await start(t, {}, { draftAfter: { tools: 2 } });
    const fails = () => c.startPrompt(id, 'write none/such x').answer;

    await fails();
    await c.prompt(id, 'write good.txt x');
    await fails();
    assert.equal(await drafted(c, id), undefined);
    await fails();
    await run(c, id, 'printf y > in-draft.txt');
    assert.equal((await drafted(c, id)).on, true);
    assert.ok(fs.existsSync(`${cwd}/good.txt`) && !fs.existsSync(`${cwd}/in-draft.txt`));
    assert.deepEqual((await diff(c, id)).changes.map((x) => x.path), ['in-draft.txt']);
    await turn(c, id, false, { discard: true });
    await run(c, id, 'test ! -e in-draft.txt');
    await d.stop();
  });

  test('so many turns in a row whose checks failed; it is kept over a restart', async (t) => {
    const { d, c, cwd, id } = await start(t, {}, { draftAfter: { checks: 2 }, checks: [{ id: 'never', kind: 'command', argv: ['false'] }] });

    await c.prompt(id, 'echo one');
    await d.restart();
    const again = await d.client();

    await again.load(id, { cwd });
    await again.prompt(id, 'echo two');
    assert.equal(await drafted(again, id), undefined, 'counted anew');
    await again.prompt(id, 'echo three');
    await until(async () => (await drafted(again, id))?.on, 'the draft has begun');
    await d.stop();
  });

  test('one that cannot be had is told of, and the session goes on', async (t) => {
    const d = await startPlain({ stub, flags: { 'draft-max': 0 } });

    t.after(async () => {
      await endInOrder(d);
      dropPlain(d);
    });
    const c = await d.client(), cwd = newCwd(d), { sessionId } = await c.newSession({ cwd, meta: { draftAfter: { tools: 1 } } });

    fs.writeFileSync(`${cwd}/large`, 'x');
    await c.startPrompt(sessionId, 'write none/such x').answer;
    assert.equal(await run(c, sessionId, 'pwd'), cwd);
    assert.equal(await drafted(c, sessionId), undefined);
    assert.deepEqual(c.messages.filter((m) => m.method === '_acpd/event' && m.params.event.event === 'draft_failed').map((m) => m.params.event.reason), ['DRAFT_TOO_LARGE']);
  });
});

describe('--draft-max', () => {
  test('a turn that puts more into it ends, nothing is lost, and none begins until there is less', async (t) => {
    const { d, c, cwd, id } = await start(t, { flags: { 'draft-max': 1 << 20 } }, { draft: true });
    const { error } = await c.startPrompt(id, 'run head -c 3000000 /dev/zero > big && sleep 60').answer;

    assert.deepEqual([error.data.turn.class, error.data.turn.reason], ['resource', 'DRAFT_TOO_LARGE'], JSON.stringify(error));
    assert.deepEqual((await diff(c, id)).changes.map((x) => [x.path, x.to.size]), [['big', 3000000]]);
    const next = await c.startPrompt(id, 'echo no').answer;

    assert.equal(next.error.data.turn.reason, 'DRAFT_TOO_LARGE');
    assert.ok((await drafted(c, id)).bytes > 1 << 20);
    await assert.rejects(turn(c, id, false), refusedWith('DRAFT_NOT_EMPTY'));
    await turn(c, id, false, { discard: true });
    assert.ok(!fs.existsSync(`${cwd}/big`));
    await run(c, id, 'true');
    await d.stop();
  });
});

describe('draft.ready', () => {
  test('is told at the end of a turn whose draft has changes', async (t) => {
    const r = await Receiver.start(t);
    const d = await told(t, [r]);
    const c = await d.client();
    const { sessionId } = await c.newSession({ cwd: newCwd(d), meta: { draft: true } });

    await c.prompt(sessionId, 'echo nothing');
    await run(c, sessionId, 'printf x > x.txt');
    await until(() => r.of('draft.ready').length === 1, 'it is told');
    const { patchDigest } = await diff(c, sessionId), [said] = r.of('draft.ready');

    assert.deepEqual([said.data.sessionId, said.data.turn, said.data.patchDigest, said.data.changesTotal, said.data.conflictsTotal], [sessionId, 2, patchDigest, 1, 0]);
    await d.stop();
  });
});
