// SPDX-License-Identifier: Apache-2.0
// build: release
// kill -9 of the daemon and of acpd-unpack at many moments of an apply: the real tree is the old one or the draft's, the draft is
// there again, and what it shows then is what is still to be applied, without a conflict.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { ACPD, Daemon, endInOrder } from '../../lib/daemon.mjs';
import { apply, diff, draftOf, plant, refusedWith, run, tree, turn } from '../../lib/drafts.mjs';
import { dropPlain, startPlain } from '../../lib/plain.mjs';
import * as procs from '../../lib/procs.mjs';
import { sleep } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';
import { isRoot, kept, newCwd, stagesBelow } from '../../lib/workspace.mjs';

const KINDS = [['overlay', 0, () => Daemon.start({ stub: { args: ['--resume'] } })],
  ['copy', isRoot ? 65534 : process.getuid(), () => startPlain({ stub: { args: ['--resume'] } })]];
const STEPS = 3;
const CHANGES = 'for i in $(seq 60); do printf $i > many/f$i; mkdir d$i; printf $i > d$i/f; done && mv sub/deep sub/moved && rm gone.txt && chmod 700 sub && rm many/old*';

for (const [how, uid, begin] of KINDS)
  describe(`an apply that is killed: ${how}`, { skip: how === 'overlay' && !isRoot && 'needs root' }, () => {
    let d, c;

    before(async () => {
      d = await begin();
      c = await d.client();
    });
    beforeEach(async () => {
      if (d.exit)
        await d.restart();
      if (!c.ws.isOpen)
        c = await d.client();
    });
    after(async () => {
      await endInOrder(d, c);
      dropPlain(d);
    });

    async function start() {
      const cwd = newCwd(d);

      plant(cwd, uid);
      const { sessionId } = await c.newSession({ cwd, meta: { level: 'open' } });

      await run(c, sessionId, 'mkdir many && for i in $(seq 30); do printf $i > many/old$i; printf $i > many/f$i; done');
      const old = tree(cwd);

      assert.equal((await turn(c, sessionId, true)).draft.how, how);
      await run(c, sessionId, CHANGES);
      const shown = await diff(c, sessionId);

      return { cwd, sessionId, old, shown };
    }

    const states = (s) => [JSON.stringify(s.old), s.new];
    const settled = () => until(() => d.helpers().length === 0 && !kept(d).some((n) => n.endsWith('/pending')), 'settled', 20000);
    const removed = (id) => until(() => !kept(d).some((n) => n.includes(id) || n.startsWith('state/removed/')), 'nothing is left', 20000);

    async function measured() {
      const s = await start(), from = performance.now();

      await apply(c, s.sessionId, s.shown.patchDigest);
      return { ms: performance.now() - from, tree: JSON.stringify(tree(s.cwd)) };
    }

    async function assertGoesOn(s, what) {
      const now = JSON.stringify(tree(s.cwd)), again = await diff(c, s.sessionId);

      assert.ok(states(s).includes(now), `${what}: neither old nor new`);
      assert.deepEqual(stagesBelow(s.cwd), [], what);
      assert.deepEqual(again.conflicts, [], what);
      assert.equal(again.changesTotal, now === s.new ? 0 : s.shown.changesTotal, what);
      assert.equal(await run(c, s.sessionId, 'cat sub/moved/c.txt d7/f'), 'three\n7', what);
      if (again.changesTotal)
        await apply(c, s.sessionId, again.patchDigest);
      assert.equal(JSON.stringify(tree(s.cwd)), s.new, what);
      await c.call('session/delete', { sessionId: s.sessionId });
      await removed(s.sessionId); // or the next strike would hit what removes it
      return now === s.new;
    }

    test('the daemon', async () => {
      const { ms, tree: wanted } = await measured();
      const waits = Array.from({ length: STEPS }, (_, i) => ms * (STEPS - i) / (STEPS + 1));

      // earlier and earlier, until one came before all was done: how long that takes differs from time to time
      for (let i = 0, early = false; i < STEPS || !early; i++) {
        const s = { ...await start(), new: wanted }, wait = waits[i] ?? waits.at(-1) / 2 ** (i - STEPS + 1);

        c.request('_acpd/workspace/apply', { sessionId: s.sessionId, patchDigest: s.shown.patchDigest });
        await sleep(wait);
        await d.kill9();
        await d.restart();
        await settled();
        c = await d.client();
        const opened = await c.load(s.sessionId, { cwd: s.cwd });

        assert.equal(draftOf(opened).how, how);
        early = !await assertGoesOn(s, `after ${wait} of ${ms} ms`) || early;
      }
    });

    const kill = (list) => list.forEach(({ pid }) => procs.signal(pid, 'SIGKILL'));

    // An apply whose programs strike() kills, if they are not done before. What came of it: 'done', or why not.
    async function killed(s, strike) {
      const work = c.request('_acpd/workspace/apply', { sessionId: s.sessionId, patchDigest: s.shown.patchDigest });
      let ended = false;

      work.answer.finally(() => { ended = true; });
      await until(() => ended || d.helpers().length > 0, 'it works');
      await strike(() => ended);
      const { error, result } = await work.answer;

      if (!error)
        assert.equal(result.applied, s.shown.changesTotal);
      return error?.data.reason ?? 'done';
    }

    test('acpd-unpack', async () => {
      const { ms, tree: wanted } = await measured();

      for (let i = 0, hit = 0; i < STEPS || !hit; i++) {
        const s = { ...await start(), new: wanted };
        const came = await killed(s, async () => {
          await sleep(i < STEPS ? ms / 3 * i / STEPS : 0);
          kill(d.helpers());
        });

        assert.match(came, /^(done|HELPER_FAILED|WORKER_DIED)$/);
        hit += came !== 'done';
        await assertGoesOn(s, `${i}: ${came}`);
      }
    });

    test('acpd-unpack, once the record is that of the new tree: it is done, and says of how many changes', async () => {
      const { tree: wanted } = await measured();

      for (let i = 0; i < STEPS; i++) {
        const s = { ...await start(), new: wanted };
        const record = path.join(d.stateDir, 'drafts', s.sessionId, 'base'), before = fs.statSync(record).ino;
        const came = await killed(s, async (isOver) => {
          const both = await until(() => isOver() ? [] : d.helpers().length > 1 && d.helpers(), 'its worker');

          while (!isOver() && fs.statSync(record).ino === before)
            await setImmediate(); // no time to lose
          kill(both);
        });

        assert.equal(came, 'done');
        assert.ok(await assertGoesOn(s, `${i}`));
      }
    });

    test('a session that is deleted leaves nothing, with what nobody but its agent may enter in the draft', async () => {
      const { cwd, sessionId, old } = await start();

      await run(c, sessionId, 'mkdir closed && printf x > closed/x && chmod 0 closed');
      await c.call('session/delete', { sessionId });
      await removed(sessionId);
      assert.deepEqual(tree(cwd), old);
    });

    test('what cannot be done with a draft is refused', async () => {
      const { cwd, sessionId } = await start();

      await assert.rejects(c.call('_acpd/workspace/materialize', { sessionId, harnessFiles: [{ path: 'x', text: 'x' }] }), refusedWith('DRAFT_ON'));
      await assert.rejects(c.call('session/fork', { sessionId, cwd, mcpServers: [] }), refusedWith('DRAFT_ON'));
      await assert.rejects(c.load(sessionId, { cwd, meta: { draft: false } }), refusedWith('DRAFT_ON'));
      assert.equal(draftOf(await c.load(sessionId, { cwd, meta: { draft: true } })).on, true);
    });
  });

// The helper waits where the test says, so that what the daemon answers in between can be asked.
test('/ready is 503 until what a killed apply left has been recovered', async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-recover-'));
  const late = path.join(dir, 'acpd-unpack');
  const ready = async (d) => {
    const res = await fetch(`http://127.0.0.1:${d.port}/ready`, { headers: { Authorization: `Bearer ${d.token}` } });

    return { status: res.status, reasons: (await res.json()).notReady.map((p) => p.reason) };
  };

  fs.writeFileSync(late, `#!/bin/sh\nif [ "$1" = draft-apply ] || [ "$1" = recover ]; then touch ${dir}/$1; until [ -e ${dir}/go ]; do sleep 0.05; done; fi
exec '${path.join(path.dirname(ACPD), 'acpd-unpack')}' "$@"\n`, { mode: 0o755 });
  fs.chmodSync(dir, 0o755);
  const d = await Daemon.start({ env: { ACPD_UNPACK: late } });

  try {
    const c = await d.client(), cwd = newCwd(d);
    const { sessionId } = await c.newSession({ cwd });

    await turn(c, sessionId, true);
    await run(c, sessionId, 'printf x > new.txt');
    const { patchDigest } = await diff(c, sessionId);
    apply(c, sessionId, patchDigest).catch(() => {});
    await until(() => fs.existsSync(`${dir}/draft-apply`), 'the apply has begun');
    await d.kill9();
    await d.restart();
    await until(() => fs.existsSync(`${dir}/recover`), 'the recovery has begun');
    assert.deepEqual(await ready(d), { status: 503, reasons: ['RECOVERING'] });
    assert.equal((await fetch(`http://127.0.0.1:${d.port}/health`)).status, 200);
    fs.writeFileSync(`${dir}/go`, '');
    await until(async () => (await ready(d)).status === 200, 'recovered');
    assert.ok(!kept(d).some((n) => n.endsWith('/pending')));
    await c.close();
  } finally {
    fs.writeFileSync(`${dir}/go`, '');
    await d.stop();
    fs.rmSync(dir, { recursive: true });
  }
});
