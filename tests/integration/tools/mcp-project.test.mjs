// SPDX-License-Identifier: Apache-2.0
// The servers of a project's .mcp.json: only when the session trusts it, as the session's user with its environment, and no longer than
// the session. Whoever works in the directory wrote the file.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { McpHttp } from '../../lib/mcp-http.mjs';
import { internetSockets } from '../../lib/internet-sockets.mjs';
import * as procs from '../../lib/procs.mjs';
import { until } from '../../lib/wait.mjs';

const NODE = process.execPath;
const SERVER = path.join(import.meta.dirname, '../../mcp/hosted-server.mjs');
const MEMORY = path.join(import.meta.dirname, '../../node_modules/@modelcontextprotocol/server-memory/dist/index.js');
const own = (more) => ({ command: NODE, args: [SERVER], ...more });
const isRoot = process.getuid() === 0;
let d, c, n = 0;

before(async () => {
  d = await Daemon.start({ env: { DAEMON_SECRET: 'not for servers' }, flags: isRoot ? { agentUser: 'nobody' } : {} });
  c = await d.client();
});
after(() => endInOrder(d, c));

// A directory with this file in it: text, an object of servers, or what a function does there.
function project(what) {
  const dir = path.join(d.dir, `project-${++n}`);
  const file = path.join(dir, '.mcp.json');

  fs.mkdirSync(dir);
  fs.chmodSync(dir, 0o777);
  if (typeof what === 'function')
    what(file);
  else
    fs.writeFileSync(file, typeof what === 'string' ? what : JSON.stringify({ mcpServers: what }));
  return dir;
}

async function open(cwd, acpd = {}) {
  const { sessionId } = await c.newSession({ cwd, meta: { mcp: { project: true }, ...acpd } });

  return sessionId;
}

const status = async () => (await d.http('/v1/mcp', { token: d.token })).json;
const ofSession = async (id) => {
  const { servers, problems } = await status();

  return { servers: servers.filter((s) => s.sessionId === id), problems: problems.filter((p) => p.sessionId === id) };
};

async function call(id, name, tool, args = {}) {
  const res = await new McpHttp(d, `/mcp/${name}?session=${id}`).modern('tools/call', { name: tool, arguments: args });

  return (await res.over()).answer.result.content[0].text;
}

describe('a trusted project', () => {
  test('its servers start when they are called, with what the session has, and end with it', async () => {
    const cwd = project({
      one: own({ env: { MINE: '${FROM_SESSION}', REST: '${DAEMON_SECRET:-nothing}' } }),
      memory: { command: NODE, args: [MEMORY], env: { MEMORY_FILE_PATH: './memory.json' } },
      off: own({ disabled: true }),
      unset: own({ args: ['${NOT_THERE}'] }),
    });
    const id = await open(cwd, { env: { FROM_SESSION: 'of the session' } });
    const first = await ofSession(id);

    assert.deepEqual(first.servers.map((s) => [s.name, s.scope, s.state]),
      [['one', 'session', 'stopped'], ['memory', 'session', 'stopped'], ['off', 'session', 'disabled'], ['unset', 'session', 'failed']]);
    assert.deepEqual(first.problems.map((p) => [p.severity, p.server, p.field, p.reason]), [['error', 'unset', 'args[0]', 'ENV_UNSET']]);

    assert.equal(await call(id, 'one', 'env', { name: 'MINE' }), 'of the session');
    assert.equal(await call(id, 'one', 'env', { name: 'REST' }), 'nothing');
    assert.equal(await call(id, 'one', 'env', { name: 'DAEMON_SECRET' }), '(unset)');
    const running = (await ofSession(id)).servers.find((s) => s.name === 'one');
    const proc = procs.stat(running.pid);

    assert.equal(running.state, 'ready');
    assert.equal(procs.owner(proc.pid), isRoot ? 65534 : process.getuid());
    assert.equal(procs.link(proc.pid, 'cwd'), fs.realpathSync(cwd));
    // a mark of its own: to end it must not end the harness
    assert.notEqual(procs.environ(proc.pid).ACPD_SESSION, id);

    await c.call('session/close', { sessionId: id });
    await until(() => !procs.alive(proc), 'the server ends with its session');
    assert.deepEqual(await ofSession(id), { servers: [], problems: [] });
  });

  test('two sessions of one directory have a server each', async () => {
    const cwd = project({ one: own() });
    const ids = [await open(cwd), await open(cwd)];
    const pids = await Promise.all(ids.map((id) => call(id, 'one', 'pid')));

    assert.notEqual(pids[0], pids[1]);
    await c.call('session/close', { sessionId: ids[0] });
    await until(() => !procs.alive(Number(pids[0])), 'the first ends');
    assert.equal(await call(ids[1], 'one', 'pid'), pids[1]);
    await c.call('session/close', { sessionId: ids[1] });
  });

  test('the end of one of its servers is not the end of the session', async () => {
    const id = await open(project({ one: own() }));
    const pid = Number(await call(id, 'one', 'pid'));

    process.kill(pid, 'SIGKILL');
    await until(async () => (await ofSession(id)).servers[0].restarts === 1, 'it is started again');
    assert.notEqual(Number(await call(id, 'one', 'pid')), pid);
    assert.equal((await c.prompt(id, 'hello')).stopReason, 'end_turn');
    await c.call('session/close', { sessionId: id });
  });
});

describe('a file that is not to be trusted with anything', () => {
  const NONE = { servers: [], problems: [] };
  const WRONG = [
    ['JSON that is none', '{"mcpServers": {"one": {"command": "x"},}}', 'JSON_INVALID'],
    ['a symbolic link', (file) => fs.symlinkSync('/etc/passwd', file), 'FILE_UNREADABLE'],
    ['a link to a good one', (file) => {
      fs.writeFileSync(`${file}.real`, JSON.stringify({ mcpServers: { one: own() } }));
      fs.symlinkSync(`${file}.real`, file);
    }, 'FILE_UNREADABLE'],
    ['a directory', (file) => fs.mkdirSync(file), 'FILE_NOT_REGULAR'],
    ['more than a mebibyte', ' '.repeat(2 ** 20 + 1), 'FILE_TOO_LARGE'],
    ['a name of the daemon', { acpd: own() }, 'NAME_RESERVED'],
  ];

  for (const [what, file, reason] of WRONG) {
    test(`${what}: the session opens, and the error is told`, async () => {
      const id = await open(project(file));
      const { servers, problems } = await ofSession(id);

      assert.deepEqual([servers, problems.map((p) => [p.severity, p.reason])], [[], [['error', reason]]]);
      await c.call('session/close', { sessionId: id });
    });
  }

  test('one that the agent user may not read is not read for it', { skip: !isRoot && 'needs root' }, async () => {
    const id = await open(project((file) => fs.writeFileSync(file, JSON.stringify({ mcpServers: { one: own() } }), { mode: 0o600 })));

    assert.deepEqual((await ofSession(id)).problems.map((p) => p.reason), ['FILE_UNREADABLE']);
    await c.call('session/close', { sessionId: id });
  });

  test('a server elsewhere in the network is not reached for it', async () => {
    const id = await open(project({ far: { url: 'http://192.0.2.1/mcp' }, tls: { url: 'https://localhost/mcp' } }));

    for (const name of ['far', 'tls']) {
      const res = await new McpHttp(d, `/mcp/${name}?session=${id}`).modern('tools/list');

      assert.ok((await res.over()).answer.error);
    }
    await until(async () => (await ofSession(id)).servers.every((s) => s.state !== 'ready' && s.lastError), 'both are down, and say why');
    // over https it is the address that counts, whoever runs there
    assert.match((await ofSession(id)).servers.find((s) => s.name === 'tls').lastError.message, /private address/);
    await c.call('session/close', { sessionId: id });
  });

  test('a server over HTTP is dialled by the session\'s user, not by the daemon', { skip: !isRoot && 'needs root' }, async (t) => {
    const dialled = new Set();
    const server = http.createServer((req, res) => res.writeHead(404).end());

    // whose the client's end is, as the kernel and every rule of a firewall see it
    server.on('connection', ({ remotePort, localPort }) => {
      dialled.add(internetSockets('tcp').find((s) => s.localPort === remotePort && s.remotePort === localPort).uid);
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const id = await open(project({ near: { url: `http://127.0.0.1:${server.address().port}/mcp`, headers: { 'X-Any': 'of the file' } } }));
    const res = await new McpHttp(d, `/mcp/near?session=${id}`).modern('tools/list');

    assert.ok((await res.over()).answer.error);
    assert.deepEqual([...dialled], [65534]);
    await c.call('session/close', { sessionId: id });
  });

  test('without the session\'s word nothing of it is read, and without a file nothing is wrong', async () => {
    const { sessionId } = await c.newSession({ cwd: project({ one: own() }) });
    const id = await open(project(() => {}));

    assert.deepEqual([await ofSession(sessionId), await ofSession(id)], [NONE, NONE]);
    for (const each of [sessionId, id])
      await c.call('session/close', { sessionId: each });
  });
});
