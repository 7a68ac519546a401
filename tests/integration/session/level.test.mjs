// SPDX-License-Identifier: Apache-2.0
// The level of confinement: who names one gets all of it or a refusal, who names none gets what can be had; the operator's bound; what is told.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { ACPD, Daemon, endInOrder } from '../../lib/daemon.mjs';
import { McpHttp } from '../../lib/mcp-http.mjs';
import { othersHaveNamespaces } from '../../lib/namespaces.mjs';
import { hasDevices, insideDevices } from '../../lib/open-devices.mjs';
import { dropPlain, startPlain } from '../../lib/plain.mjs';
import { startWithUids, tell } from '../../lib/users.mjs';

const LIMITS = ['memoryBytes', 'pids', 'cpuWeight']; // by cgroups
const STATUS = '/proc/self/status';

const levelOf = (answer) => answer._meta.acpd.level;
const refusedWith = (reason, ...words) => (e) => {
  assert.equal(e.data.reason, reason);
  assert.equal(e.data.field, '_meta.acpd.level');
  for (const word of words)
    assert.match(e.message, word);
  return true;
};
// One daemon and a client of it, for a test.
async function start(t, args) {
  const d = await Daemon.start({ args, stub: { args: ['--resume'], capabilities: { loadSession: true } } });

  t.after(() => endInOrder(d));
  return { d, c: await d.client() };
}

describe('level', () => {
  test('nobody names one: guarded, as far as can be had, and what is missing is said', async (t) => {
    const { c, d } = await start(t);
    const level = levelOf(await c.newSession());

    assert.equal(level.requested, 'guarded');
    assert.equal(level.achieved, 'partial'); // the tests' agents have no user of their own
    assert.ok(level.missing.some(({ what, why }) => what === 'uid' && why.length > 10), JSON.stringify(level));
    const ready = (await d.http('/ready', { token: d.token })).json;

    assert.deepEqual(ready.isolation.level, level);
  });

  test('who names one gets all of it, or is refused with what is missing', async (t) => {
    const { c } = await start(t);

    for (const level of ['guarded', { name: 'guarded' }, { name: 'strict', atLeast: true }])
      await assert.rejects(c.newSession({ meta: { level } }), refusedWith('CONFINEMENT_UNSUPPORTED', /uid: /));
    assert.equal(levelOf(await c.newSession({ meta: { level: 'open' } })).achieved, 'open');
  });

  test('atLeast: false takes what there is; a session keeps it, a fork of words too; load changes it', async (t) => {
    const { c } = await start(t);
    const { sessionId, ...answer } = await c.newSession({ meta: { level: { name: 'strict', atLeast: false } } });
    const load = (meta) => c.load(sessionId, { meta });

    assert.equal(levelOf(answer).requested, 'strict');
    assert.equal(levelOf(await load({})).requested, 'strict');
    await assert.rejects(load({ level: 'guarded' }), refusedWith('CONFINEMENT_UNSUPPORTED'));
    assert.equal(levelOf(await load({})).requested, 'strict', 'a refused load changes nothing');
    assert.equal(levelOf(await load({ level: 'open' })).requested, 'open');
  });

  test('a session keeps its level over a restart of the daemon', async (t) => {
    const { c, d } = await start(t);
    const { sessionId } = await c.newSession({ meta: { level: { name: 'strict', atLeast: false } } });

    await c.prompt(sessionId, 'echo kept');
    await d.restart();
    const again = await d.client();

    assert.equal(levelOf(await again.load(sessionId)).requested, 'strict');
  });

  test('--level is as if the client had named it; --level-min refuses less', async (t) => {
    const named = await start(t, ['--level', 'guarded']), bounded = await start(t, ['--level-min', 'guarded']);

    await assert.rejects(named.c.newSession(), refusedWith('CONFINEMENT_UNSUPPORTED', /: -32602 guarded cannot/));
    assert.equal(levelOf(await named.c.newSession({ meta: { level: 'open' } })).requested, 'open');
    await assert.rejects(bounded.c.newSession({ meta: { level: 'open' } }), refusedWith('LEVEL_NOT_ALLOWED', /below guarded/));
    await assert.rejects(bounded.c.newSession({ meta: { level: { name: 'strict', atLeast: false } } }), refusedWith('CONFINEMENT_UNSUPPORTED', /: -32602 guarded cannot/));
  });

  test('guarded holds for the harness, its commands and the built-in tools; open is without', async (t) => {
    const { c, d } = await start(t);
    const held = { guarded: { NoNewPrivs: '1', Seccomp: '2', CapBnd: '0000000000000000', CapEff: '0000000000000000' }, open: { NoNewPrivs: '0', Seccomp: '0' } };

    for (const level of ['guarded', 'open']) {
      const { sessionId } = await c.newSession({ meta: { level: { name: level, atLeast: false } } });
      const from = c.updates.length;

      await c.prompt(sessionId, `run cat ${STATUS}`);
      const call = await new McpHttp(d, `/mcp?session=${sessionId}`).modern('tools/call', { name: 'runCommand', arguments: { command: `cat ${STATUS}` } });
      const told = { harness: c.chunks(sessionId, from).join(''), tool: JSON.stringify((await call.over()).answer.result) };

      for (const [who, text] of Object.entries(told))
        for (const [name, want] of Object.entries(held[level]))
          assert.match(text, new RegExp(`${name}:(\\s|\\\\+t)*${want}`), `${name} of the ${who} in ${level}: ${text}`);
    }
  });

  // What this machine lacks of limits is not the daemon's to give.
  test('with users of their own sessions have guarded and strict whole', { skip: process.getuid() !== 0 && 'not root' }, async (t) => {
    const d = await startWithUids();

    t.after(() => endInOrder(d));
    const c = await d.client();
    const machine = levelOf(await c.newSession()).missing.map(({ what }) => what);

    assert.deepEqual(machine.filter((what) => !LIMITS.includes(what)), []);
    for (const level of machine.length ? [] : ['guarded', 'strict'])
      assert.deepEqual(levelOf(await c.newSession({ meta: { level } })), { requested: level, achieved: level, missing: [] });
  });

  describe('devices that everyone may open', { skip: !hasDevices && 'not root, or no devices' }, () => {
    const FUSE_AND_TUN = 'a:e5 a:c8', COVERED = '1:3 1:3'; // /dev/null
    const DEVICES = 'for f in /dev/fuse /dev/net/tun; do (: <>$f) 2>/dev/null && stat -c %t:%T $f; done | xargs';
    const OPEN = /^\/dev\/fuse can be opened, and is not covered: /;
    // A daemon that sees such devices, and its client; through: what it is started by.
    async function begin(t, through, opts = { start: startWithUids }) {
      const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-devices-'));
      const d = await opts.start({ program: insideDevices(dir, `${through} ${ACPD}`) });

      fs.chmodSync(dir, 0o755);
      t.after(async () => {
        await endInOrder(d);
        dropPlain(d);
        fs.rmSync(dir, { recursive: true });
      });
      return { d, c: await d.client() };
    }
    const open = async (c, name) => {
      const { sessionId, ...answer } = await c.newSession({ meta: { level: { name, atLeast: false } } });

      return { seen: await tell(c, sessionId, DEVICES), why: levelOf(answer).missing.find(({ what }) => what === 'devices')?.why };
    };

    test('guarded covers them for the harness, the built-in tools and a draft', async (t) => {
      const { c, d } = await begin(t, '');
      const { sessionId } = await c.newSession({ meta: { level: { name: 'guarded', atLeast: false } } });
      const tool = async () => {
        const call = await new McpHttp(d, `/mcp?session=${sessionId}`).modern('tools/call', { name: 'runCommand', arguments: { command: DEVICES } });

        return (await call.over()).answer.result.structuredContent.stdout.trim();
      };

      assert.deepEqual([await tool(), await tell(c, sessionId, DEVICES)], [COVERED, COVERED]);
      await c.call('_acpd/session/draft', { sessionId, on: true });
      assert.deepEqual([await tool(), await tell(c, sessionId, DEVICES)], [COVERED, COVERED]);
    });

    test('what is mounted outside later is seen by a session whose devices are covered', async (t) => {
      const { c, d } = await begin(t, '');
      const outside = (...args) => assert.equal(spawnSync('nsenter', ['-t', String(d.pid), '--mount', ...args]).status, 0, args.join(' '));
      const late = path.join(d.workDir, 'late');

      fs.mkdirSync(late);
      outside('mount', '--make-rshared', '/');
      const { sessionId } = await c.newSession({ meta: { level: { name: 'guarded', atLeast: false } } });

      assert.equal(await tell(c, sessionId, `ls ${late}`), '');
      outside('sh', '-c', `mount -t tmpfs late ${late} && touch ${late}/seen`);
      assert.equal(await tell(c, sessionId, `ls ${late}; ${DEVICES}`), `seen\n${COVERED}`);
      outside('umount', late);
      assert.equal(await tell(c, sessionId, `ls ${late}`), '');
    });

    test('guarded covers them, open does not, strict has none', async (t) => {
      const { c } = await begin(t, '');

      assert.deepEqual(await open(c, 'open'), { seen: FUSE_AND_TUN, why: undefined });
      assert.deepEqual(await open(c, 'guarded'), { seen: COVERED, why: undefined });
      assert.deepEqual(await open(c, 'strict'), { seen: '', why: undefined });
    });

    test('where they cannot be covered they are missing', async (t) => {
      const { c } = await begin(t, 'setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin');
      const { seen, why } = await open(c, 'guarded');

      assert.deepEqual([seen, OPEN.test(why)], [FUSE_AND_TUN, true], why);
      assert.match(why, /mount namespace/);
      await assert.rejects(c.newSession({ meta: { level: 'guarded' } }), refusedWith('CONFINEMENT_UNSUPPORTED', /devices: /));
    });

    test('of a daemon that is not root they are missing, and not at strict', async (t) => {
      const { c } = await begin(t, 'setpriv --reuid=65534 --regid=65534 --clear-groups', { start: ({ program }) => startPlain({ through: program }) });
      const { seen, why } = await open(c, 'guarded');

      assert.deepEqual([seen, OPEN.test(why)], [FUSE_AND_TUN, true], why);
      assert.equal((await open(c, 'strict')).why, undefined);
    });
  });

  test('strict can be had whole by a daemon without privileges: namespaces keep its sessions apart', { skip: !othersHaveNamespaces && 'no namespaces' }, async (t) => {
    const d = await startPlain();

    t.after(async () => {
      await endInOrder(d);
      dropPlain(d);
    });
    const c = await d.client();
    const { missing } = levelOf(await c.newSession({ meta: { level: { name: 'strict', atLeast: false } } }));

    assert.deepEqual(missing.filter(({ what }) => !LIMITS.includes(what)), []);
  });
});
