// SPDX-License-Identifier: Apache-2.0
// build: release
// slow
// kill -9 of the daemon or of acpd-unpack, and SIGTERM, at many moments of a materialization: the tree is the old one or the new one,
// and nothing else is left. Ephemeral workspaces of sessions that were lost on the way.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { sleep } from '../../lib/rawws.mjs';
import * as procs from '../../lib/procs.mjs';
import { until } from '../../lib/wait.mjs';
import { kept, newCwd, scan, stagesBelow, upload } from '../../lib/workspace.mjs';

let d, c;

async function fresh(opts) {
  d = await Daemon.start(opts);
  c = await d.client();
}

before(() => fresh({ roomy: true }));
// What one test left undone is not to fail the next.
beforeEach(async () => {
  if (d.exit)
    await d.restart();
  if (!c.ws.isOpen)
    c = await d.client();
});
after(() => endInOrder(d, c));

const COUNT = 600;
// Generations that differ in every file, half of the names and some types.
const generation = (n) => Object.fromEntries(Array.from({ length: COUNT }, (_, i) => [
  i % 2 ? `d${i % 7}/same-${i}` : `d${i % 5}/of-${n}/f${i}`, i % 50 === 1 ? { link: `target-${n}` } : { data: `${n} ${i}`, mode: (i + n) % 3 ? 0o644 : 0o755 },
]));
const plain = (dir) => JSON.stringify([...scan(dir)].filter(([, e]) => e.type !== 'd').map(([name, e]) => [name, e.type, e.mode & 0o100, e.target ?? e.data.toString()]).sort());
const expected = (tree) => JSON.stringify(Object.entries(tree)
  .map(([name, e]) => [name, e.link ? 'l' : 'f', e.link ? 0o100 : e.mode & 0o100, e.link ?? e.data]).sort());

const OLD = generation(1);
const NEW = generation(2);

async function start(layout) {
  const cwd = newCwd(d);
  const archives = [await upload(d, OLD), await upload(d, NEW)];

  if (layout === 'empty') {
    const { sessionId } = await c.newSession({ cwd });

    return { cwd, sessionId, archive: archives[1], states: ['[]', expected(NEW)] };
  }
  const { sessionId } = await c.newSession({ cwd, meta: { workspace: { archive: archives[0] } } });
  return { cwd, sessionId, archive: archives[1], states: [expected(OLD), expected(NEW)] };
}

const begin = (s) => c.request('_acpd/workspace/materialize', { sessionId: s.sessionId, workspace: { archive: s.archive } });

// How long one takes, from the request to the answer.
async function timed(layout) {
  const s = await start(layout);
  const t = performance.now();
  const { result } = await begin(s).answer;

  assert.ok(result, 'it went well');
  const ms = performance.now() - t;
  await c.call('session/delete', { sessionId: s.sessionId });
  return ms;
}

function assertSettled(s, what) {
  assert.ok(s.states.includes(plain(s.cwd)), `${what}: neither old nor new`);
  assert.deepEqual(stagesBelow(d.dir), [], what);
  assert.deepEqual(kept(d).filter((n) => /^state\/trees\/.*(\/pending|\.new)$/.test(n)), [], what);
}

// The next one finds everything as it should be: what is ours is still ours.
async function assertUsable(s, what) {
  const { workspace } = await c.call('_acpd/workspace/materialize', { sessionId: s.sessionId, workspace: { archive: s.archive } });

  assert.deepEqual(workspace.skipped, [], what);
  assert.equal(plain(s.cwd), s.states[1], what);
  await c.call('session/delete', { sessionId: s.sessionId });
}

const settled = () => until(() => d.helpers().length === 0 && !kept(d).some((n) => n.endsWith('/pending')), 'settled', 20000);
const STEPS = process.env.ACPD_TEST_LONG ? 16 : 5;
const MOST = 64;

const VICTIMS = { 'all of acpd-unpack': () => true, 'its first process': (p) => p.ppid === d.pid, 'its worker': (p) => p.ppid !== d.pid };
const victims = (whom) => d.helpers().filter(VICTIMS[whom]);
const kill = ({ pid }) => procs.signal(pid, 'SIGKILL');

async function killedDaemon(layout, ms, part) {
  const s = await start(layout);

  begin(s);
  await sleep(ms * part);
  await d.kill9();
  await d.restart();
  await settled();
  assertSettled(s, `after ${Math.round(ms * part)} ms of ${Math.round(ms)}`);
  c = await d.client();
  await c.load(s.sessionId, { cwd: s.cwd });
  await assertUsable(s);
}

async function killedHelper(whom, layout, ms) {
  let hit = 0;
  let missed = false;
  // After a miss at once, without waiting for a moment of its work.
  for (let i = 0; i < STEPS || (hit < 3 && i < MOST); i++) {
    const s = await start(layout);
    await until(() => d.helpers().length === 0, 'what worked until now has ended');
    const work = begin(s);
    const at = missed ? 0 : ms * (i % STEPS) / STEPS;
    let ended = false;

    work.answer.finally(() => { ended = true; });
    await until(() => ended || victims(whom).length > 0, whom);
    if (at > 0)
      await sleep(at);
    victims(whom).forEach(kill);
    const { error } = await work.answer;
    missed = error === undefined;
    if (error) {
      assert.match(error.data.reason, /^(HELPER_FAILED|WORKER_DIED)$/);
      hit++;
    }
    assertSettled(s, `${whom} after ${Math.round(at)} ms of ${Math.round(ms)}, ${error?.data.reason}`);
    if (!error)
      assert.equal(plain(s.cwd), s.states[1]);
    await assertUsable(s);
  }
  assert.ok(hit > 2, `${hit}`);
}

const LAYOUTS = { empty: 'into an empty directory', merge: 'into an earlier generation' };

for (const [layout, into] of Object.entries(LAYOUTS)) {
  describe(into, () => {
    let ms;

    before(async () => {
      ms = await timed(layout);
    });

    for (let i = 0; i < STEPS; i++)
      test(`kill -9 of the daemon, ${i + 1} of ${STEPS}`, () => killedDaemon(layout, ms, (i + 0.5) / STEPS));

    for (const whom of ['all of acpd-unpack', 'its first process'])
      test(`kill -9 of ${whom}, at many moments`, () => killedHelper(whom, layout, ms));

    for (let i = 0; i < 4; i++) {
      test(`SIGTERM of the daemon, ${i + 1} of 4`, async () => {
        const s = await start(layout);
        const work = begin(s);

        await sleep(ms * (i + 0.2) / 4);
        const end = d.stop({ keep: true });
        await Promise.race([work.answer.catch(() => {}), end]);
        await end;
        assertSettled(s, `SIGTERM ${i}`);
        await d.restart();
        c = await d.client();
        await c.load(s.sessionId, { cwd: s.cwd });
        await assertUsable(s);
      });
    }
  });
}

test('session/new that is interrupted: what there is of the session can be deleted, and its workspace with it', async () => {
  const archive = await upload(d, NEW);
  const before = (await c.call('session/list')).sessions.map((s) => s.sessionId);

  // It may be over before it is seen: then once more.
  for (let made = { answered: true }; made.answered;) {
    made = { answered: false };
    const { answer } = c.request('session/new', { cwd: d.workDir, mcpServers: [], _meta: { acpd: { workspace: { archive, ephemeral: true } } } });

    answer.catch(() => {}).finally(() => { made.answered = true; });
    await until(() => made.answered || d.helpers().length > 0, 'a helper');
  }
  await d.kill9();
  await d.restart();
  c = await d.client();
  await settled();
  for (const { sessionId } of (await c.call('session/list')).sessions)
    if (!before.includes(sessionId))
      await c.call('session/delete', { sessionId });
  await until(() => fs.readdirSync(d.wsDir).length === 0, 'no workspace');
  assert.deepEqual(stagesBelow(d.dir), []);
});

test('an ephemeral workspace that was being removed is removed by the next daemon', async () => {
  const many = Object.fromEntries(Array.from({ length: 8000 }, (_, i) => [`d${i % 100}/f${i}`, '']));
  const s = await c.newSession({ cwd: d.workDir, meta: { workspace: { archive: await upload(d, many), ephemeral: true } } });

  await c.call('session/delete', { sessionId: s.sessionId });
  await d.kill9();
  d.leftovers.filter(procs.alive).forEach(kill);
  await d.restart();
  c = await d.client();
  await until(() => fs.readdirSync(d.wsDir).length === 0, 'it is removed');
});

// A kill leaves what the kernel has, whatever the file system; but there a sync takes its time, and names come in another order.
describe('on the disk', () => {
  before(async () => {
    await c.close();
    await d.stop();
    await fresh();
  });

  for (const [layout, into] of Object.entries(LAYOUTS)) {
    let ms;

    before(async () => {
      ms = await timed(layout);
    });
    test(`kill -9 of the daemon ${into}`, () => killedDaemon(layout, ms, 0.5));
    test(`kill -9 of its worker ${into}, at many moments`, () => killedHelper('its worker', layout, ms));
  }
});
