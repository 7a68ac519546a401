// SPDX-License-Identifier: Apache-2.0
// --destroy-sockets: after a restore the connections of sessions to other machines end at once, by the kernel's word, and those within the
// sandbox go on. The far end is a server at an address of this machine that is not of its loopback: it never answers to the end.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { SLOW } from '../../lib/rawws.mjs';
import { rootHasNamespaces } from '../../lib/namespaces.mjs';
import { until } from '../../lib/wait.mjs';
import { resumed, sandboxed } from './away.mjs';

const isRoot = process.getuid() === 0;
const FAR = Object.values(os.networkInterfaces()).flat().find((a) => !a.internal && a.family === 'IPv4')?.address;

let server, ports;
const open = new Map(); // name of a path: its response
before(async () => {
  const answer = (req, res) => {
    res.writeHead(200).write('begun ');
    open.set(req.url, res);
    res.on('close', () => open.delete(req.url));
  };

  server = [FAR, '127.0.0.1'].filter(Boolean).map((host) => http.createServer(answer).listen(0, host));
  await until(() => server.every((s) => s.listening), 'the servers');
  ports = server.map((s) => s.address().port);
});
after(() => server.forEach((s) => { s.closeAllConnections(); s.close(); }));

// A session whose shell calls that url, and what it then has in its file.
async function calling(d, c, url, meta = {}) {
  const { sessionId, _meta: { acpd: { cwd } } } = await c.newSession({ meta: { workspace: { ephemeral: true }, ...meta } });
  const command = `curl -sSN -o said ${url} 2>failed; echo $? >code`.replaceAll(';', '\\;');

  c.prompt(sessionId, `run ${command}`).catch(() => {}); // its connection is reset
  await until(() => open.has(new URL(url).pathname), `a call of ${url}`);
  const file = (name) => { try { return fs.readFileSync(path.join(cwd, name), 'utf8'); } catch { return undefined; } };

  return { ended: () => until(() => file('code')?.endsWith('\n'), `the end of ${url}`), said: () => file('said'), failed: () => file('failed'), code: () => file('code') };
}

const start = (t, flags) => sandboxed(t, 'i-one', { flags: { agentUser: 'nobody', fetchUser: 'daemon', upstreamAllow: FAR, ...flags } });
const line = (d, msg) => d.logs.find((l) => l.mod === 'restore' && l.msg === msg);

describe('after a restore', { skip: !isRoot ? 'not root' : !FAR ? 'this machine has no address but its loopback' : false, timeout: 240_000 * SLOW }, () => {
  const far = (name) => `http://${FAR}:${ports[0]}/${name}`;

  test('a connection in the daemon\'s namespace is ended, with an error; one within the sandbox goes on', async (t) => {
    const d = await start(t, { destroySockets: true });
    const c = await d.client();
    const away = await calling(d, c, far('away'));
    const within = await calling(d, c, `http://127.0.0.1:${ports[1]}/within`);

    d.become('i-one');
    await resumed(d);
    await away.ended();
    assert.match(away.failed(), /curl: \(\d+\) .*(abort|reset)/i);
    assert.equal(Number(line(d, 'sockets of sessions destroyed').count), 1);
    assert.equal(within.code(), undefined);
    open.get('/within').end('and whole');
    await within.ended();
    assert.deepEqual([within.code(), within.said()], ['0\n', 'begun and whole']);
  });

  test('one of a session in a namespace of its own, through acpd-proxy, is ended', { skip: !rootHasNamespaces && 'no namespaces' }, async (t) => {
    const d = await start(t, { destroySockets: true, agentUids: '62301-62304' });
    const c = await d.client();
    const away = await calling(d, c, far('walled'), { level: 'strict', network: { mode: 'allowlist', allow: [{ host: FAR, ports: [ports[0]] }] } });

    d.become('i-one');
    await resumed(d);
    await away.ended();
    assert.notEqual(away.code(), '0\n');
    await until(() => !open.has('/walled'), 'the far end has a reset');
  });

  test('without the option it stays', async (t) => {
    const d = await start(t, {});
    const c = await d.client();
    const away = await calling(d, c, far('kept'));

    d.become('i-one');
    await resumed(d);
    open.get('/kept').end('and whole');
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
