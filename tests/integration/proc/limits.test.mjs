// SPDX-License-Identifier: Apache-2.0
// Limits of a session: what the answers say and what the kernel has, all that runs for a session in one group, a session that takes too much
// and its neighbours, changes of a live one, what is refused, what a killed daemon leaves.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ACPD, Daemon, endInOrder } from '../../lib/daemon.mjs';
import { gate } from '../../lib/gate.mjs';
import { McpHttp } from '../../lib/mcp-http.mjs';
import { neighbour, said } from '../../lib/neighbour.mjs';
import { dropPlain, startPlain } from '../../lib/plain.mjs';
import * as procs from '../../lib/procs.mjs';
import { entriesIn, textOf } from '../../lib/vanishing.mjs';
import { until } from '../../lib/wait.mjs';
import { turnsOf } from '../ledger.mjs';
import { failing, turnEnds } from '../robust/rig.mjs';

const MIB = 1 << 20;
const MAX = { memoryBytes: 1024 * MIB, pids: 500 };
const ROOT = process.getuid() === 0;
const V2_OF_HYBRID = '/sys/fs/cgroup/unified';

// A program that is the daemon on a machine without what is mounted there.
function without(mount) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-limits-'));
  const program = path.join(dir, 'acpd');

  fs.writeFileSync(program, `#!/bin/sh\nexec unshare -m sh -c 'umount -l ${mount} && exec "$0" "$@"' ${ACPD} "$@"\n`, { mode: 0o755 });
  return { program, done: () => fs.rmSync(dir, { recursive: true }) };
}

// The daemon's directories in all hierarchies.
const trees = (d) => fs.readFileSync(path.join(d.stateDir, 'owner'), 'utf8').split('\n').filter((line) => line.startsWith('/'));

// What the file of that name says in the session's group, in whichever hierarchy it is; undefined: in none.
function setting(d, id, name) {
  for (const tree of trees(d)) {
    const text = textOf(path.join(tree, `${id}.all`, name));

    if (text !== undefined)
      return text.trim();
  }
  return undefined;
}

const either = (d, id, ...names) => names.map((name) => setting(d, id, name)).find((v) => v !== undefined);
const memoryOf = (d, id) => Number(either(d, id, 'memory.max', 'memory.limit_in_bytes'));
const pidsOf = (d, id) => Number(setting(d, id, 'pids.max'));
const limitsOf = async (c, id) => (await c.call('_acpd/status', { sessionId: id })).sessions[0].limits;
const lifecycle = (c, id, event) => c.messages.filter((m) => m.method === '_acpd/event' && m.params.sessionId === id &&
  m.params.event.event === event).map((m) => m.params.event);
const run = (command) => `run ${command.replaceAll(';', '\\;')}`;

for (const [what, mount, skip] of [['limits that the kernel holds', null, !ROOT && 'not root'],
  ['the same in v1 alone', V2_OF_HYBRID, (!ROOT && 'not root') || (!fs.existsSync(V2_OF_HYBRID) && 'no hybrid machine')]]) {
  describe(what, { skip }, () => {
    let d, c, other, wrapped;

    before(async () => {
      wrapped = mount && without(mount);
      d = await Daemon.start({ flags: { limitMemory: MAX.memoryBytes, limitPids: MAX.pids }, ...(wrapped && { program: wrapped.program }) });
      c = await d.client();
      other = (await c.newSession()).sessionId;
    });
    after(async () => {
      const made = trees(d);

      await endInOrder(d, c);
      assert.deepEqual(made.filter((dir) => fs.existsSync(dir)), [], 'groups are left');
      assert.equal(made.some((dir) => dir.startsWith(V2_OF_HYBRID)), !mount && fs.existsSync(V2_OF_HYBRID));
      wrapped?.done();
    });

    const session = async (limits) => (await c.newSession({ meta: { limits } })).sessionId;

    test('those of the daemon where nothing is asked; the answer, the status and /ready say what holds them', async () => {
      const { sessionId: id, _meta: { acpd: { limits } } } = await c.newSession();
      const { json } = await d.http('/ready', { token: d.token });

      assert.deepEqual({ memoryBytes: limits.memoryBytes, pids: limits.pids }, MAX);
      assert.deepEqual(Object.keys(limits.by), ['memoryBytes', 'pids']);
      for (const by of Object.values(limits.by))
        assert.match(by, /^cgroup v[12]$/);
      assert.equal(limits.missing, undefined);
      assert.deepEqual([memoryOf(d, id), pidsOf(d, id)], [MAX.memoryBytes, MAX.pids]);
      assert.deepEqual(await limitsOf(c, id), limits);
      assert.equal(json.limits.memoryBytes, MAX.memoryBytes);
      assert.deepEqual(Object.keys(json.limits.by), ['memoryBytes', 'pids', 'cpuWeight']);
      await c.call('session/close', { sessionId: id });
      for (const tree of trees(d))
        assert.ok(!fs.existsSync(path.join(tree, `${id}.all`)), tree);
    });

    test('what a client asks for is what the kernel has; a load changes it at once, beneath a running turn too', async () => {
      const id = await session({ memoryBytes: 256 * MIB, pids: 100, cpuWeight: 50 });
      const pid = Number((await said(c, id, 'self')).slice(5));

      assert.deepEqual([memoryOf(d, id), pidsOf(d, id)], [256 * MIB, 100]);
      assert.equal(either(d, id, 'cpu.weight', 'cpu.shares'), setting(d, id, 'cpu.weight') ? '50' : '512');
      await c.load(id, { meta: { limits: { pids: 90 } } });
      assert.deepEqual([memoryOf(d, id), pidsOf(d, id)], [256 * MIB, 90], 'what is not said stays');
      const { step, open } = gate(d);
      const { answer } = c.startPrompt(id, `echo begun; ${step}`);
      await c.waitUpdate((u) => u.sessionId === id && u.update.content?.text === 'begun');
      const { _meta: { acpd } } = await c.load(id, { meta: { limits: { memoryBytes: 300 * MIB, cpuWeight: 10000 } } });
      assert.deepEqual([memoryOf(d, id), pidsOf(d, id)], [300 * MIB, 90]);
      assert.equal(either(d, id, 'cpu.weight', 'cpu.shares'), setting(d, id, 'cpu.weight') ? '10000' : '102400');
      assert.deepEqual({ ...acpd.limits, by: undefined }, { memoryBytes: 300 * MIB, pids: 90, cpuWeight: 10000, by: undefined });
      assert.equal(acpd.pending, undefined, 'nothing waits for the end of the turn');
      open();
      assert.equal((await answer).result.stopReason, 'end_turn');
      assert.equal(await said(c, id, 'self'), `self:${pid}`, 'nothing was started anew');
      await c.call('session/delete', { sessionId: id });
    });

    test('beside what others run on the machine, each session has its own weight', async () => {
      const ids = [await session({ cpuWeight: 50 }), await session({ cpuWeight: 300 }), await session({})];

      for (const id of ids)
        await said(c, id, 'self');
      const tree = trees(d).find((dir) => fs.existsSync(path.join(dir, `${ids[0]}.all`, 'cpu.weight')) || fs.existsSync(path.join(dir, `${ids[0]}.all`, 'cpu.shares')));
      const file = fs.existsSync(path.join(tree, 'cpu.weight')) ? 'cpu.weight' : 'cpu.shares';
      const weight = (...names) => Number(textOf(path.join(tree, ...names, file)) ?? 0);
      const all = () => entriesIn(tree).filter((e) => e.isDirectory() && /[.]all$|^daemon$/.test(e.name)).reduce((sum, e) => sum + weight(e.name), 0);

      await until(() => weight() === all(), () => `${weight()} beside ${all()}`);
      await c.call('session/delete', { sessionId: ids[1] });
      await until(() => weight() === all(), () => `${weight()} beside ${all()}`);
      for (const id of [ids[0], ids[2]])
        await c.call('session/delete', { sessionId: id });
    });

    test('less memory than is in use is told to be missing, and had once it can be', async () => {
      const id = await session({ memoryBytes: 512 * MIB });
      const lower = async () => (await c.load(id, { meta: { limits: { memoryBytes: 128 * MIB } } }))._meta.acpd.limits;

      if ((await limitsOf(c, id)).by.memoryBytes === 'cgroup v1') { // v2 kills for it
        assert.equal(await said(c, id, `hog ${300 * MIB}`), `hogged:${300 * MIB}`);
        assert.deepEqual((await lower()).missing.map((m) => m.what), ['memoryBytes']);
        assert.equal(memoryOf(d, id), 512 * MIB);
        assert.equal((await failing(c, id, 'crash exit 1')).error.data.turn.class, 'harness_exit');
      }
      assert.equal((await lower()).missing, undefined);
      assert.equal(await said(c, id, 'echo on'), 'on');
      assert.equal(memoryOf(d, id), 128 * MIB);
      await c.call('session/delete', { sessionId: id });
    });

    test('what is beyond the daemon\'s own is refused, and changes nothing', async () => {
      const id = await session({ pids: 100 });

      for (const [limits, field, max] of [[{ memoryBytes: MAX.memoryBytes + 1 }, 'memoryBytes', MAX.memoryBytes], [{ pids: MAX.pids + 1 }, 'pids', MAX.pids]]) {
        const meta = { limits: { cpuWeight: 7, ...limits } };

        for (const call of [() => c.newSession({ meta }), () => c.load(id, { meta }),
          () => c.call('session/fork', { sessionId: id, cwd: d.workDir, mcpServers: [], _meta: { acpd: meta } })])
          await assert.rejects(call(), (e) => {
            assert.deepEqual([e.code, e.data.reason, e.data.field], [-32602, 'FIELD_OUT_OF_RANGE', `_meta.acpd.limits.${field}`]);
            assert.ok(e.message.includes(String(max)), e.message);
            return true;
          });
      }
      assert.equal(pidsOf(d, id), 100);
      assert.equal((await limitsOf(c, id)).cpuWeight, undefined);
      await c.call('session/delete', { sessionId: id });
    });

    test('all that runs for a session is in its group, a fork has one of its own with the same limits', async () => {
      const { sessionId: id } = await c.newSession({ meta: { limits: { pids: 101 }, mcp: { builtin: true } } });

      await c.prompt(id, 'fork setsid; fork clearenv');
      await (await new McpHttp(d, `/mcp?session=${id}`).modern('tools/list')).over();
      const { pid: tools } = await until(() => procs.withEnv((env) => env.ACPD_SESSION?.startsWith(`${id}.tools.`)).filter(procs.alive)[0]);
      const members = allMembers(d, id);
      assert.ok(members.includes(tools), `${tools} in ${members}`);
      assert.ok(members.length >= 4, String(members));
      const { sessionId: fork } = await c.call('session/fork', { sessionId: id, cwd: d.workDir, mcpServers: [] });
      assert.equal(pidsOf(d, fork), 101);
      for (const sessionId of [fork, id])
        await c.call('session/delete', { sessionId });
    });

    test('a harness out of memory: its turn fails as that, with peak and limit; its neighbours go on, and so does the session', async () => {
      const limit = 192 * MIB;
      const id = await session({ memoryBytes: limit });
      const { error } = await neighbour(d, c, other, failing(c, id, `hog ${600 * MIB}`));
      const { turn } = error.data;

      assert.deepEqual([error.code, error.data.reason, turn.class, turn.retryable, turn.limitBytes], [-32603, 'TURN_FAILED', 'out_of_memory', false, limit]);
      assert.ok(turn.peakBytes > limit * 0.9 && turn.peakBytes <= limit, String(turn.peakBytes));
      assert.match(turn.message, /out of memory/);
      const [end] = turnEnds(c, id);
      assert.deepEqual([end.error.class, end.error.peakBytes, end.error.limitBytes], ['out_of_memory', turn.peakBytes, limit]);
      assert.equal(turnsOf(d, id)[0].error.class, 'out_of_memory');
      assert.deepEqual(lifecycle(c, id, 'out_of_memory'), [], 'the end of the turn says it');
      assert.equal(await said(c, id, 'echo again'), 'again');
      assert.equal((await failing(c, id, 'crash kill')).error.data.turn.class, 'harness_exit', 'a kill of another kind is none');
      assert.equal((await failing(c, id, `hog ${600 * MIB}`)).error.data.turn.class, 'out_of_memory', 'nor is it told once only');
      await c.call('session/delete', { sessionId: id });
    });

    test('a command out of memory: the turn goes on, and an event tells', async () => {
      const limit = 192 * MIB;
      const id = await session({ memoryBytes: limit });

      assert.match(await neighbour(d, c, other, said(c, id, `${run('tail /dev/zero')}; tool t1 execute x; echo on`)), /^run:137:.*on$/s);
      const [event, ...more] = lifecycle(c, id, 'out_of_memory');
      assert.deepEqual([event.killed, event.limitBytes, more], [1, limit, []]);
      assert.ok(event.peakBytes > limit * 0.9, String(event.peakBytes));
      await c.prompt(id, `${run('tail /dev/zero')}; echo on`);
      assert.equal(lifecycle(c, id, 'out_of_memory').length, 2, 'at the end of the turn');
      await c.prompt(id, 'echo still');
      assert.equal(lifecycle(c, id, 'out_of_memory').length, 2);
      await c.call('session/delete', { sessionId: id });
    });

    test('a fork bomb reaches the limit of its session and nothing else; the session survives it', async () => {
      const id = await session({ pids: 60 });
      const bomb = '(exec >/dev/null 2>&1; b() { b | b & sleep 30; }; b) &'; // nothing of it holds the output of the command
      const count = () => Number(setting(d, id, 'pids.current') ?? 0);

      await neighbour(d, c, other, said(c, id, run(bomb)));
      assert.match(await neighbour(d, c, other, said(c, id, run('for i in $(seq 70); do sleep 30 >/dev/null 2>&1 & done'))), /^run:-1|fork/, 'the limit is reached');
      assert.equal(await neighbour(d, c, other, said(c, id, 'echo alive')), 'alive');
      assert.ok(count() > 1 && count() <= 60, String(count()));
      await neighbour(d, c, other, c.call('session/close', { sessionId: id }));
      assert.equal(setting(d, id, 'pids.current'), undefined);
      assert.deepEqual(procs.withEnv((env) => env.ACPD_SESSION === id).filter(procs.alive), []);
      await c.call('session/delete', { sessionId: id });
    });
  });
}

// In whichever hierarchy has processes in the session's group or below.
function allMembers(d, id) {
  return trees(d).flatMap((tree) => {
    const dir = path.join(tree, `${id}.all`);

    return ['', ...entriesIn(dir).filter((e) => e.isDirectory()).map((e) => e.name)]
      .flatMap((sub) => (textOf(path.join(dir, sub, 'cgroup.procs')) ?? '').split('\n'));
  }).filter(Boolean).map(Number).filter((pid, i, all) => all.indexOf(pid) === i);
}

test('a daemon that is killed: the next one ends what runs, removes the groups of all hierarchies, and remembers limits within its own', { skip: !ROOT && 'not root' }, async (t) => {
  const d = await Daemon.startFor(t, { flags: { limitPids: 300 } });
  const c = await d.client();
  const { sessionId: id } = await c.newSession({ meta: { limits: { pids: 200, memoryBytes: 256 * MIB } } });

  await c.prompt(id, 'fork setsid; fork clearenv');
  const left = allMembers(d, id).map((pid) => procs.stat(pid)), made = trees(d);
  assert.ok(left.length >= 3 && made.length >= 1);
  await d.kill9();
  assert.ok(made.every((dir) => fs.existsSync(dir)));
  await d.restart({ flags: { limitPids: 150 } });
  assert.deepEqual(left.filter(procs.alive), []);
  assert.deepEqual(made.filter((dir) => fs.existsSync(dir)), []);
  const again = await d.client();
  const { _meta: { acpd } } = await again.load(id);
  assert.deepEqual([acpd.limits.pids, acpd.limits.memoryBytes], [150, 256 * MIB], 'never more than this daemon allows');
  assert.deepEqual([pidsOf(d, id), memoryOf(d, id)], [150, 256 * MIB]);
  await again.close();
  await d.stop();
});

test('where no cgroup can be had that is said, of each limit with a reason', async (t) => {
  const d = await startPlain();

  t.after(async () => {
    await d.discard();
    dropPlain(d);
  });
  const c = await d.client();
  const { sessionId, _meta: { acpd: { limits } } } = await c.newSession({ meta: { limits: { cpuWeight: 10, pids: 50 } } });
  assert.deepEqual([limits.pids, limits.cpuWeight], [50, 10]);
  assert.deepEqual(limits.by, { memoryBytes: 'none', pids: 'none', cpuWeight: 'none' });
  assert.deepEqual(limits.missing.map((m) => m.what), ['memoryBytes', 'pids', 'cpuWeight']);
  assert.ok(limits.missing.every((m) => m.why.length > 10), JSON.stringify(limits.missing));
  assert.equal((await failing(c, sessionId, 'crash kill')).error.data.turn.class, 'harness_exit');
  await c.close();
  await d.stop();
});

test('with another user an rlimit holds the processes where there is no cgroup', { skip: !ROOT && 'not root' }, async (t) => {
  const wrapped = without('/sys/fs/cgroup');

  t.after(wrapped.done);
  const d = await Daemon.startFor(t, { program: wrapped.program, flags: { agentUser: 'nobody' } });
  const c = await d.client();
  const { sessionId, _meta: { acpd: { limits } } } = await c.newSession({ meta: { limits: { pids: 50 } } });

  assert.deepEqual(limits.by, { memoryBytes: 'none', pids: 'rlimit' });
  assert.deepEqual(limits.missing.map((m) => m.what), ['memoryBytes']);
  assert.match(await said(c, sessionId, run("bash -c 'ulimit -u'")), /^run:0:50\n$/);
  await c.close();
  await d.stop();
});
