// SPDX-License-Identifier: Apache-2.0
// alone: it runs itself once more, in a namespace
// --destroy-sockets: after a restore the connections of sessions to other machines end at once, by the kernel's word, and those within the
// sandbox go on. The other machine is a network namespace at the far end of a cable (lib/far-side.mjs); where nothing is said of it the cable
// carries nothing any more when the machine is back: no reset comes, and none gets there.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { SLOW } from '../../lib/rawws.mjs';
import { enterNear, FAR, FarSide, farSidePossible, NEAR } from '../../lib/far-side.mjs';
import { until } from '../../lib/wait.mjs';
import { resumed, sandboxed } from './away.mjs';
import page from './held-page.mjs';

const inside = enterNear(import.meta.filename);
const PAGES = path.join(import.meta.dirname, 'held-page.mjs'), PORT = 8080, LOCAL = 8099;
const hasV2 = fs.readFileSync('/proc/mounts', 'utf8').includes(' cgroup2 ');
const OTHER = 5; // a user of the system who is no agent (games)

const cut = () => execFileSync('nft', ['-f', '-'], { input: `table inet cut {
  chain out { type filter hook output priority 0; oifname "near" drop; }
  chain in { type filter hook input priority 0; iifname "near" drop; }
}` });
const mend = () => execFileSync('nft', ['-f', '-'], { input: 'table inet cut\ndelete table inet cut\n' });

if (inside) describe('after a restore', { skip: !farSidePossible && 'no namespaces, ip or nft', timeout: 240_000 * SLOW }, () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-far-'));
  let far, server;

  before(async () => {
    far = await FarSide.start({ dir, names: {}, hosts: ['far.example'], pages: PAGES });
    server = http.createServer((req, res) => page(req, res, { dir })).listen(LOCAL, '::');
    await until(() => server.listening, 'the server');
  });
  after(() => {
    server?.closeAllConnections();
    server?.close();
    far?.stop();
    fs.rmSync(dir, { recursive: true });
  });

  const isOpen = (name) => fs.existsSync(`${dir}/open-${name}`);
  const finish = (name) => fs.writeFileSync(`${dir}/end-${name}`, '');
  const start = (t, flags) => sandboxed(t, 'i-one', { flags: { agentUser: 'nobody', fetchUser: 'daemon', ...flags } });
  const line = (d, msg) => d.logs.find((l) => l.mod === 'restore' && l.msg === msg);

  // A session whose shell calls http://host/name, and what it then has in its files. program: made ready in that directory.
  async function calling(d, c, host, name, meta = {}, program = () => 'curl') {
    const { sessionId, _meta: { acpd: { cwd } } } = await c.newSession({ meta: { workspace: { ephemeral: true }, ...meta } });

    c.prompt(sessionId, `run ${program(cwd)} -sSN http://${host}/${name} >said 2>failed\\; echo $? >code`).catch(() => {}); // its connection is reset
    await until(() => isOpen(name), `a call of ${host}`);
    const file = (of) => { try { return fs.readFileSync(path.join(cwd, of), 'utf8'); } catch { return undefined; } };

    return { ended: () => until(() => file('code')?.endsWith('\n'), `the end of ${name}`), said: () => file('said'), failed: () => file('failed'), code: () => file('code') };
  }

  test('connections in the daemon\'s namespace are ended, with an error; those within the sandbox go on', async (t) => {
    const d = await start(t, { destroySockets: true });
    const c = await d.client();
    const away = [await calling(d, c, `${FAR.v4}:${PORT}`, 'v4'), await calling(d, c, `[${FAR.v6}]:${PORT}`, 'v6')];
    const names = ['loopback', 'loopback6', 'own', 'own6'];
    const within = [];

    for (const [i, host] of ['127.0.0.1', '[::1]', NEAR.v4, `[${NEAR.v6}]`].entries())
      within.push(await calling(d, c, `${host}:${LOCAL}`, names[i]));
    cut();
    t.after(mend);
    d.become('i-one');
    await resumed(d);
    for (const one of away) {
      await one.ended();
      assert.match(one.failed(), /curl: \(\d+\) .*(abort|reset)/i);
    }
    assert.equal(Number(line(d, 'sockets of sessions destroyed').count), 2);
    assert.deepEqual(within.map((one) => one.code()), Array(4).fill(undefined));
    names.forEach(finish);
    for (const one of within) {
      await one.ended();
      assert.deepEqual([one.code(), one.said()], ['0\n', 'begun and whole']);
    }
  });

  test('one of a program that has become another user, in the session\'s cgroup, is ended, and that user\'s own is not', { skip: !hasV2 && 'no cgroup v2' }, async (t) => {
    const d = await start(t, { destroySockets: true });
    const c = await d.client();
    const curl = execFileSync('sh', ['-c', 'command -v curl']).toString().trim();
    const program = (cwd) => {
      fs.copyFileSync(curl, `${cwd}/curl`);
      fs.chownSync(`${cwd}/curl`, OTHER, OTHER);
      fs.chmodSync(`${cwd}/curl`, 0o4755);
      return './curl';
    };
    const outside = spawn(curl, ['-sSN', `http://${FAR.v4}:${PORT}/outside`], { uid: OTHER, gid: OTHER, stdio: ['ignore', 'pipe', 'ignore'] });
    const whole = outside.stdout.setEncoding('utf8').toArray();

    await until(() => isOpen('outside'), 'a call beside the sessions');
    const away = await calling(d, c, `${FAR.v4}:${PORT}`, 'other', { level: 'open' }, program);

    d.become('i-one');
    await resumed(d);
    await away.ended();
    assert.match(away.failed(), /curl: \(\d+\) .*(abort|reset)/i);
    assert.equal(Number(line(d, 'sockets of sessions destroyed').count), 1);
    finish('outside');
    assert.equal((await whole).join(''), 'begun and whole');
  });

  test('one of a session in a namespace of its own, through acpd-proxy, is ended', async (t) => {
    const d = await start(t, { destroySockets: true, agentUids: '62301-62304' });
    const c = await d.client();
    const away = await calling(d, c, `${FAR.v4}:${PORT}`, 'walled', { level: 'strict', network: { mode: 'allowlist', allow: [{ host: FAR.v4, ports: [PORT] }] } });

    d.become('i-one');
    await resumed(d);
    await away.ended();
    assert.notEqual(away.code(), '0\n');
    await until(() => !isOpen('walled'), 'the far end has a reset');
  });

  test('without the option it stays', async (t) => {
    const d = await start(t, {});
    const c = await d.client();
    const away = await calling(d, c, `${FAR.v4}:${PORT}`, 'kept');

    d.become('i-one');
    await resumed(d);
    finish('kept');
    await away.ended();
    assert.equal(away.said(), 'begun and whole');
  });

  test('without --agent-user nothing is ended, and the log says why', async (t) => {
    const d = await sandboxed(t, 'i-one', { flags: { destroySockets: true } });

    d.become('i-one');
    await resumed(d);
    assert.match(line(d, 'sockets of sessions kept').why, /--agent-user/);
  });
});
