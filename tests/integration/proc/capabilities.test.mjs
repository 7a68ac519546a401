// SPDX-License-Identifier: Apache-2.0
// What the daemon may do, and what it cannot: its capabilities against the table of proc/users/daemon_caps.c and that of its README, what it
// leaves to those that it starts, and who reaches its state. Two of the capabilities have their proof here.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { Daemon, ROOT } from '../../lib/daemon.mjs';
import * as procs from '../../lib/procs.mjs';

const NOBODY = 65534;
const isRoot = process.getuid() === 0;
const skip = !isRoot && 'not root';

// Of linux/capability.h.
const NUMBERS = new Map([...fs.readFileSync('/usr/include/linux/capability.h', 'utf8').matchAll(/^#define (CAP_\w+)\s+(\d+)$/gm)]
  .map(([, name, n]) => [name, BigInt(n)]));
const rows = [...fs.readFileSync(path.join(ROOT, 'daemon/proc/users/daemon_caps.c'), 'utf8').matchAll(/\{ (CAP_\w+),\s+DAEMON_(\w+) \}/g)]
  .map(([, name, until]) => ({ name, until }));
const setOf = (names) => names.reduce((set, name) => set | 1n << NUMBERS.get(name), 0n);
const served = setOf(rows.filter((row) => row.until === 'SERVES').map((row) => row.name));

const capabilities = (of) => Object.fromEntries(['Inh', 'Prm', 'Eff', 'Bnd', 'Amb'].map((k) => [k, BigInt(`0x${of[`Cap${k}`]}`)]));
const ours = capabilities(procs.status('self'));

const TMPFS_MAGIC = 0x01021994;

test('the README lists each capability that is kept', () => {
  const listed = [...fs.readFileSync(path.join(ROOT, 'daemon/README.md'), 'utf8').matchAll(/^\| (CAP_\w+) \|/gm)].map(([, name]) => name);

  assert.ok(rows.length > 0);
  assert.deepEqual(listed.toSorted(), rows.map((row) => row.name).toSorted());
});

describe('a daemon of root', { skip }, () => {
  test('has these and no others, in all its threads, and all in its bounding set', async (t) => {
    const d = await Daemon.startFor(t, { flags: { agentUser: 'nobody' } });
    const c = await d.client();
    const { sessionId } = await c.newSession();

    await c.prompt(sessionId, 'hi'); // a record of it is synced by a thread, where there is a disk
    assert.ok(procs.threadStatus(d.pid).length > 1 || fs.statfsSync(d.stateDir).type === TMPFS_MAGIC);
    for (const task of procs.threadStatus(d.pid)) {
      assert.deepEqual(capabilities(task), { Inh: 0n, Prm: served & ours.Prm, Eff: served & ours.Prm, Bnd: ours.Bnd, Amb: 0n });
      assert.deepEqual([task.NoNewPrivs, task.Seccomp], ['0', '0'], 'children would inherit it');
    }
    assert.match(procs.text(d.pid, 'limits'), /^Max core file size +0 +0 /m);
    await c.close();
  });

  test('leaves to what it starts as root all that root has', async (t) => {
    const d = await Daemon.startFor(t, { flags: { level: 'open' } });
    const c = await d.client();

    await c.newSession();
    assert.deepEqual(capabilities(procs.status(d.harnesses()[0].pid)), ours);
    await c.close();
  });

  test('leaves its bounding set to what it starts as another user at level open, for sudo', async (t) => {
    const d = await Daemon.startFor(t, { flags: { agentUser: 'nobody', level: 'open' } });
    const c = await d.client();

    await c.newSession();
    const child = procs.status(d.harnesses()[0].pid);
    assert.deepEqual(capabilities(child), { Inh: 0n, Prm: 0n, Eff: 0n, Bnd: ours.Bnd, Amb: 0n });
    assert.equal(child.NoNewPrivs, '0');
    await c.close();
  });

  test('ends processes of another user that do not end by themselves', async (t) => {
    const d = await Daemon.startFor(t, { flags: { agentUser: 'nobody' } });
    const c = await d.client();
    const { sessionId } = await c.newSession();
    const turn = c.startPrompt(sessionId, 'fork ignoreterm; echo begun; sleep 60000');

    await c.waitUpdate((u) => u.update.content?.text === 'begun');
    const pid = Number(c.chunks(sessionId).find((text) => text.startsWith('pid:')).slice(4));
    const left = { ...procs.stat(pid), pid };
    assert.equal(procs.status(pid).Uid.split('\t')[0], String(NOBODY));
    c.cancel(sessionId);
    await turn.answer;
    await d.gone([left], 3000);
    await c.close();
  });

  test('listens on a port below 1024, and has given that right up', async (t) => {
    const probe = net.createServer();
    const free = async (port) => {
      probe.listen(port, '127.0.0.1');
      return Promise.race([once(probe, 'listening').then(() => true), once(probe, 'error').then(() => false)]);
    };
    let port = 1023;

    while (!await free(port))
      port--;
    await new Promise((done) => { probe.close(done); });
    const d = await Daemon.startFor(t, { flags: { listen: `127.0.0.1:${port}` } });
    assert.equal((await d.http('/health')).status, 200);
    assert.equal(capabilities(procs.status(d.pid)).Prm & setOf(['CAP_NET_BIND_SERVICE']), 0n);
  });

  test('of another user has none, and starts', async (t) => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-caps-'));

    t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
    fs.chownSync(dir, NOBODY, NOBODY);
    const first = await Daemon.startFor(t, { dir, uid: NOBODY, wait: false, token: null });
    await first.ready();
    assert.deepEqual(capabilities(procs.status(first.pid)), { Inh: 0n, Prm: 0n, Eff: 0n, Bnd: ours.Bnd, Amb: 0n });
  });
});

describe('the state directory', () => {
  const mode = (file) => (fs.statSync(file).mode & 0o7777).toString(8);
  const modes = (dir) => Object.fromEntries(fs.readdirSync(dir).map((name) => [name, mode(path.join(dir, name))]));

  test('lets others pass to homes/ and reach nothing else, also after somebody opened it', async (t) => {
    const d = await Daemon.startFor(t, { flags: { agentUser: isRoot ? 'nobody' : null } });
    const c = await d.client();
    const { sessionId } = await c.newSession();

    await c.prompt(sessionId, 'hi');
    await c.close();
    await d.stop({ keep: true });
    const made = modes(d.stateDir);
    assert.deepEqual([mode(d.stateDir), made.homes], ['711', '711']);
    for (const [name, is] of Object.entries(made))
      if (name !== 'homes')
        assert.equal(is, fs.statSync(path.join(d.stateDir, name)).isDirectory() ? '700' : '600', name);
    assert.ok(made.sessions && made['usage.jsonl']);

    fs.mkdirSync(path.join(d.stateDir, 'of-somebody'));
    fs.chmodSync(path.join(d.stateDir, 'of-somebody'), 0o755);
    for (const name of Object.keys(made))
      fs.chmodSync(path.join(d.stateDir, name), 0o777);
    fs.chmodSync(d.stateDir, 0o755);
    await d.restart();
    const mended = modes(d.stateDir);
    assert.deepEqual([mode(d.stateDir), mended['of-somebody']], ['711', '755']);
    for (const name of Object.keys(made))
      assert.match(mended[name], name === 'homes' ? /^711$/ : /^.00$/, name);
    await d.waitLog((line) => line.msg?.startsWith('others could reach') && line.name === 'sessions' && line.mode === '0777');
  });
});
