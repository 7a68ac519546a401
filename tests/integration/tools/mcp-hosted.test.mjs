// SPDX-License-Identifier: Apache-2.0
// slow
// MCP servers that the daemon hosts: their status by handshake, what they are given, deaths and restarts, what is wrong in a
// configuration. With servers from npm, the fixture in C, and another acpd as a server over HTTP.

import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { after, before, describe, test } from 'node:test';
import { ACPD, Daemon, endInOrder } from '../../lib/daemon.mjs';
import { McpHttp, startHosting } from '../../lib/mcp-http.mjs';
import { FIXTURE, LEGACY, MODERN } from '../../lib/mcp.mjs';
import { ownPort } from '../../lib/ports.mjs';
import * as procs from '../../lib/procs.mjs';
import { SLOW, patience, sleep } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';

const NODE = process.execPath;
const SERVER = path.join(import.meta.dirname, '../../mcp/hosted-server.mjs');
const npm = (name) => path.join(import.meta.dirname, '../../node_modules/@modelcontextprotocol', name, 'dist/index.js');
const own = (...args) => ({ command: NODE, args: [SERVER, ...args] });
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-hosted-'));

fs.chmodSync(scratch, 0o777);
after(() => fs.rmSync(scratch, { recursive: true }));

const status = async (d) => (await d.http('/v1/mcp', { token: d.token })).json;
const server = async (d, name) => (await status(d)).servers.find((s) => s.name === name);

// The server once it is so; says what it was instead.
async function when(d, name, pred, ms = 15000) {
  const end = Date.now() + patience(ms);
  let s;

  do {
    s = await server(d, name);
    if (s && pred(s))
      return s;
    await sleep(20);
  } while (Date.now() < end);
  assert.fail(`never: ${pred}; now ${JSON.stringify(s)}`);
}

const ready = (d, name) => when(d, name, (s) => s.state === 'ready' && s.latencyMs !== undefined);
const client = (d, name) => new McpHttp(d, `/mcp/${name}`);

async function call(d, name, tool, args = {}) {
  const res = await client(d, name).modern('tools/call', { name: tool, arguments: args });

  return (await res.over()).answer;
}

const textOf = (answer) => answer.result.content[0].text;

// The daemon's own words to people and to --check: {code, stdout, stderr}.
function acpd(...args) {
  return new Promise((resolve) => {
    execFile(ACPD, args, { timeout: 240000 * SLOW }, (e, stdout, stderr) => resolve({ code: e ? e.code : 0, stdout, stderr }));
  });
}

describe('status', () => {
  let d;

  before(async () => {
    d = await startHosting({
      everything: { command: NODE, args: [npm('server-everything'), 'stdio'] },
      memory: { command: NODE, args: [npm('server-memory')], env: { MEMORY_FILE_PATH: path.join(scratch, 'memory.json') } },
      filesystem: { command: NODE, args: [npm('server-filesystem'), scratch] },
      fixture: { command: FIXTURE },
      paged: own('--pages', '5'),
      mute: own('--quiet-list'),
      off: { command: '${NOWHERE}', disabled: true },
      missing: { command: 'no-such-program' },
      unset: { command: 'x', args: ['${NOWHERE}'] },
    });
  });
  after(() => endInOrder(d));

  const REAL = [['everything', LEGACY, 'legacy'], ['memory', LEGACY, 'legacy'], ['filesystem', LEGACY, 'legacy'], ['fixture', MODERN, 'modern']];

  for (const [name, revision, era] of REAL) {
    test(`${name}: as the handshake and a list of its tools say`, async () => {
      const s = await ready(d, name);
      const listed = await (await client(d, name).modern('tools/list')).over();

      assert.deepEqual([s.revision, s.era, s.scope, s.transport, s.restarts], [revision, era, 'daemon', 'stdio', 0]);
      assert.equal(s.toolCount, listed.answer.result.tools.length);
      assert.ok(s.toolCount > 0 && s.startMs >= 0 && s.latencyMs >= 0 && s.serverInfo.name && s.serverInfo.version);
      assert.ok(procs.alive(s.pid) && !('lastError' in s) && Date.parse(s.since) <= Date.now());
      assert.equal(procs.environ(s.pid).ACPD_SESSION, `mcp-1-${name}`);
    });
  }

  test('a list of many pages is counted to its end', async () => {
    assert.equal((await ready(d, 'paged')).toolCount, 15);
  });

  test('a server that lists nothing is ready, and says what is wrong', async () => {
    const s = await when(d, 'mute', (x) => x.lastError, 20000);

    assert.deepEqual([s.state, s.lastError.reason, s.toolCount], ['ready', 'SERVER_SILENT', undefined]);
  });

  test('disabled, missing and refused entries are there, beside those that run', async () => {
    const [off, missing, unset] = await Promise.all(['off', 'missing', 'unset'].map((name) => server(d, name)));

    assert.deepEqual([off.state, off.lastError, off.pid], ['disabled', undefined, undefined]);
    assert.deepEqual([missing.state, missing.lastError.reason, missing.lastError.field], ['failed', 'COMMAND_NOT_FOUND', 'command']);
    assert.deepEqual([unset.state, unset.lastError.reason, unset.lastError.field], ['failed', 'ENV_UNSET', 'args[0]']);
    assert.deepEqual((await status(d)).problems.map((p) => [p.severity, p.server, p.field, p.reason]), [['error', 'unset', 'args[0]', 'ENV_UNSET']]);
  });

  test('a call to one that cannot run is refused by its name', async () => {
    for (const [name, reason] of [['off', 'MCP_SERVER_DISABLED'], ['missing', 'COMMAND_NOT_FOUND'], ['unset', 'ENV_UNSET'], ['nobody', 'MCP_SERVER_UNKNOWN']])
      assert.equal((await (await client(d, name).modern('tools/list')).over()).json.error.data.reason, reason, name);
  });

  test('GET /v1/mcp needs the token, and takes no query', async () => {
    assert.equal((await d.http('/v1/mcp')).status, 401);
    assert.equal((await d.http('/v1/mcp?x=1', { token: d.token })).status, 400);
    assert.equal((await d.http('/v1/mcp', { token: d.token, method: 'POST' })).status, 405);
  });

  test('metrics count them', async () => {
    await Promise.all(REAL.map(([name]) => ready(d, name)));
    const { body } = await d.http('/metrics', { token: d.token });

    assert.match(body, /^acpd_mcp_servers 9$/m);
    assert.match(body, /^acpd_mcp_servers_failed 2$/m);
    assert.match(body, /^acpd_mcp_restarts_total 0$/m);
  });

  test('doctor names each', async () => {
    await Promise.all(REAL.map(([name]) => ready(d, name)));
    const { code, stdout } = await acpd('doctor', '--run-dir', d.runDir);

    assert.ok(code >= 10 && code <= 25, `${code}`); // what this machine lacks may come first
    assert.match(stdout, /^ok {3}mcp server memory +ready, 2025-11-25, \d+ tools, \d+ ms$/m);
    assert.match(stdout, /^-- {3}mcp server off +disabled$/m);
    assert.match(stdout, /^FAIL mcp server missing +failed: no executable 'no-such-program'/m);
    assert.match(stdout, /^FAIL mcp server unset +failed: args\[0\]: \$\{NOWHERE\}/m);
  });
});

describe('what a server is given', () => {
  test('the base environment, what its entry says, and nothing else of the daemon', async () => {
    const env = { DAEMON_SECRET: 'not for servers', PASSED_ON: 'seen', ACPD_PERMISSION_TIMEOUT: '600' };
    const d = await startHosting({
      everything: {
        command: NODE, args: [npm('server-everything'), 'stdio'], cwd: scratch,
        env: { MINE: 'own', COPY: '<${PASSED_ON}>', OTHER: '${NOT_THERE:-default}', PATH: `${scratch}:\${PATH}` },
      },
    }, { env, flags: { passEnv: 'PASSED_ON' } });

    try {
      const s = await ready(d, 'everything');
      const seen = JSON.parse(textOf(await call(d, 'everything', 'get-env')));
      const kernel = procs.environ(s.pid);

      assert.deepEqual([seen.MINE, seen.COPY, seen.OTHER, seen.PASSED_ON], ['own', '<seen>', 'default', 'seen']);
      assert.equal(seen.PATH, `${scratch}:${process.env.PATH}`);
      assert.equal(seen.HOME, os.userInfo().homedir);
      assert.ok(!JSON.stringify(kernel).includes('not for servers') && !('ACPD_TEST_DAEMON' in seen));
      assert.deepEqual(Object.keys(kernel).filter((k) => k.startsWith('ACPD_')).sort(), ['ACPD_OWNER', 'ACPD_SESSION']);
      assert.equal(procs.link(s.pid, 'cwd'), fs.realpathSync(scratch));
    } finally {
      await d.stop();
    }
  });

  test('the agent user, when the daemon is root', { skip: process.getuid() !== 0 && 'needs root' }, async () => {
    const d = await startHosting({ one: own() }, { flags: { agentUser: 'nobody' } });

    try {
      const { pid } = await ready(d, 'one');

      assert.equal(procs.owner(pid), 65534);
      assert.match(procs.text(pid, 'status'), /^Groups:\s*$/m);
      assert.equal(procs.environ(pid).USER, 'nobody');
    } finally {
      await d.stop();
    }
  });

  test('a command relative to its directory', async () => {
    fs.writeFileSync(path.join(scratch, 'run'), `#!/bin/sh\nexec ${NODE} ${SERVER}\n`, { mode: 0o755 });
    const d = await startHosting({ here: { command: './run', cwd: scratch }, there: { command: './run', cwd: '/' }, folder: { command: '/usr/bin' } });

    try {
      await ready(d, 'here');
      for (const name of ['there', 'folder'])
        assert.equal((await server(d, name)).lastError.reason, 'COMMAND_NOT_FOUND', name);
    } finally {
      await d.stop();
    }
  });
});

describe('deaths', () => {
  test('killed: it is not ready any more, its calls end, and it comes back', async () => {
    const d = await startHosting({ one: own() });

    try {
      const before = await ready(d, 'one');
      const called = path.join(scratch, 'called');
      const hanging = call(d, 'one', 'hang', { file: called });

      await until(() => fs.existsSync(called), 'it is called');
      process.kill(before.pid, 'SIGKILL');
      const down = await when(d, 'one', (s) => s.state !== 'ready' || s.restarts > 0);
      assert.match(down.lastError.message, /killed by signal 9/);
      const { error } = await hanging;
      assert.deepEqual([error.code, error.data.reason], [-32603, 'SERVER_GONE']);

      // a call made meanwhile waits for the next one
      const pid = Number(textOf(await call(d, 'one', 'pid')));
      const now = await ready(d, 'one');
      assert.deepEqual([now.pid, now.restarts, now.lastError.reason], [pid, 1, 'SERVER_GONE']);
      assert.notEqual(pid, before.pid);
    } finally {
      await d.stop();
    }
  });

  test('what a killed one leaves behind goes before the next is started', async () => {
    const d = await startHosting({ wrapped: { command: 'sh', args: ['-c', `sleep 1000 & setsid sleep 1000 & "$0" "$1"; true`, NODE, SERVER] } });

    try {
      const { pid } = await ready(d, 'wrapped');
      const below = procs.descendants(pid);

      assert.equal(below.length, 3);
      process.kill(pid, 'SIGKILL');
      await when(d, 'wrapped', (s) => s.pid !== undefined && s.pid !== pid);
      await d.gone(below, 1000);
    } finally {
      await d.stop();
    }
  });

  test('one that never starts is given up after five restarts, and has another chance when it is asked for', { timeout: 240000 * SLOW }, async () => {
    const flag = path.join(scratch, 'may-run');
    const second = path.join(scratch, 'may-run-too'); // both try at moments of their own
    const d = await startHosting({ crash: { ...own('--fail-unless', flag), env: { API_TOKEN: 'token-0123456789' } }, named: own('--fail-unless', second), fine: own() });

    try {
      const c = await d.client();
      const naming = () => c.request('session/new', { cwd: d.workDir, mcpServers: [], _meta: { acpd: { mcp: { hosted: ['fine', 'named'] } } } }).answer;
      const failed = await when(d, 'crash', (s) => s.state === 'failed', 90000);
      const times = d.logs.filter((l) => l.server === 'crash' && l.msg === 'server').map((l) => [l.to, Date.parse(l.t)]);
      const waits = times.slice(1).flatMap(([to, t], i) => (to === 'starting' ? [t - times[i][1]] : []));

      assert.deepEqual([failed.restarts, failed.lastError.reason, failed.pid], [5, 'SERVER_GONE', undefined]);
      assert.equal(waits.length, 5);
      assert.ok(waits.every((ms) => ms >= 249 && ms < 31000) && new Set(waits).size > 1, `waited ${waits}`);
      assert.equal((await server(d, 'fine')).restarts, 0);
      // what it wrote is told, what it was given is not
      assert.match(failed.lastError.message, /exited with 3: no .*; the token was \*\*\*/);
      assert.ok(!`${d.stderr}${JSON.stringify(await status(d))}`.includes('token-0123456789'));

      fs.writeFileSync(flag, '');
      const refused = await (await client(d, 'crash').modern('tools/list')).over();
      assert.equal(refused.json.error.data.reason, 'SERVER_GONE');
      await when(d, 'named', (s) => s.state === 'failed', 90000);
      await sleep(10100);
      assert.equal((await server(d, 'crash')).state, 'failed');
      assert.equal((await (await client(d, 'crash').modern('tools/list')).over()).answer.result.tools.length, 3);
      assert.equal((await ready(d, 'crash')).restarts, 6);
      // a session that names it is refused, and its client may ask again
      fs.writeFileSync(second, '');
      assert.deepEqual((({ code, data }) => [code, data.reason, data.field])((await naming()).error), [-32602, 'SERVER_GONE', '_meta.acpd.mcp.hosted[1]']);
      await ready(d, 'named');
      assert.deepEqual((await naming()).result._meta.acpd.mcp.map((m) => m.name), ['fine', 'named']);
    } finally {
      await d.stop();
    }
  });

  test('one that is starting is had by a session, whose first calls wait for it', async () => {
    const flag = path.join(scratch, 'may-start');
    const d = await startHosting({ slow: { command: 'sh', args: ['-c', 'until [ -e "$1" ]; do sleep 0.05; done; exec "$2" "$3"', 'slow', flag, NODE, SERVER] } });

    try {
      const c = await d.client();
      const { sessionId, _meta } = await c.newSession({ meta: { mcp: { hosted: ['slow'] } } });
      const listing = client(d, `slow?session=${sessionId}`).modern('tools/list').then((res) => res.over());

      assert.deepEqual(_meta.acpd.mcp, [{ name: 'slow', via: 'hosted' }]);
      assert.equal((await server(d, 'slow')).state, 'starting');
      fs.writeFileSync(flag, '');
      assert.equal((await listing).answer.result.tools.length, 3);
    } finally {
      await d.stop();
    }
  });

  test('the daemon ends them all, the stubborn too', async () => {
    const d = await startHosting({ one: own(), stubborn: own('--stubborn'), everything: { command: NODE, args: [npm('server-everything'), 'stdio'] } });
    const pids = await Promise.all(['one', 'stubborn', 'everything'].map(async (name) => procs.stat((await ready(d, name)).pid)));

    await d.stop();
    assert.ok(pids.every((p) => !procs.alive(p)));
  });

  test('a killed daemon leaves none', async () => {
    const d = await startHosting({ one: own(), stubborn: own('--stubborn') });

    await ready(d, 'one');
    await ready(d, 'stubborn');
    await d.kill9();
    await d.gone(d.leftovers, 2000);
    await d.discard();
  });
});

// TLS in front of a port of the loopback: {port, ca} with the file that trusts it.
async function tlsBefore(port) {
  const [key, ca] = ['tls.key', 'tls.pem'].map((name) => path.join(scratch, name));

  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=localhost',
    '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', ca], { stdio: 'ignore' });
  const server = tls.createServer({ key: fs.readFileSync(key), cert: fs.readFileSync(ca) }, (near) => {
    const far = net.connect(port, '127.0.0.1');

    for (const s of [near, far])
      s.on('error', () => { near.destroy(); far.destroy(); });
    near.pipe(far).pipe(near);
  });
  await new Promise((go) => server.listen(0, '127.0.0.1', go));
  return { server, port: server.address().port, ca };
}

describe('over HTTP', () => {
  test('another daemon as a server: headers, its death, its return', { timeout: 240000 * SLOW }, async () => {
    const port = await ownPort(), listen = `127.0.0.1:${port}`;
    const far = await startHosting({ fixture: { command: FIXTURE } }, { env: {}, flags: { listen } });
    const url = `http://127.0.0.1:${port}/mcp/fixture`;
    const secure = await tlsBefore(port);
    const headers = { Authorization: 'Bearer ${FAR_TOKEN}' };
    const d = await startHosting({
      far: { url, headers },
      locked: { type: 'http', url, headers: { Authorization: 'Bearer wrong-wrong-wrong-wrong' } },
      tls: { url: `https://localhost:${secure.port}/mcp/fixture`, headers },
      stranger: { url: `https://127.0.0.1:${secure.port}/mcp/fixture`, headers },
      inner: { url: `https://x.localhost:${secure.port}/mcp/fixture`, headers },
    }, { env: { FAR_TOKEN: far.token }, flags: { passEnv: 'FAR_TOKEN', caFile: secure.ca } });

    try {
      const s = await ready(d, 'far');

      assert.deepEqual([s.transport, s.revision, s.pid], ['http', MODERN, undefined]);
      assert.ok(s.toolCount > 5);
      assert.equal(textOf(await call(d, 'far', 'test_simple_text')), 'This is a simple text response for testing.');
      assert.deepEqual([(await ready(d, 'tls')).transport, (await server(d, 'tls')).toolCount], ['http', s.toolCount]);
      assert.equal(textOf(await call(d, 'tls', 'test_simple_text')), 'This is a simple text response for testing.');
      for (const [name, why] of [['stranger', /certificate|SSL/], ['inner', /private address/]]) {
        const { lastError } = await when(d, name, (x) => x.lastError);

        assert.equal(lastError.reason, 'UNREACHABLE');
        assert.match(lastError.message, why);
      }
      assert.notEqual((await server(d, 'locked')).state, 'ready');

      await far.kill9();
      await when(d, 'far', (x) => x.state !== 'ready', 2000);
      await far.restart({ flags: { listen, mcpConfig: writeConfig({ fixture: { command: FIXTURE } }) } });
      assert.ok((await when(d, 'far', (x) => x.state === 'ready', 40000)).restarts >= 1);
    } finally {
      await d.stop();
      await far.stop();
      secure.server.close();
    }
  });
});

// A file with these servers, or with this text.
function writeConfig(what) {
  const file = path.join(scratch, `mcp-${fs.readdirSync(scratch).length}.json`);

  fs.writeFileSync(file, typeof what === 'string' ? what : JSON.stringify({ mcpServers: what }));
  return file;
}

describe('configuration', () => {
  const BROKEN = '{\n  // servers\n  "mcpServers": {"one": {"command": "x"},}\n}\n';

  test('a broken file stops nothing: it is one error', async () => {
    const d = await Daemon.start({ flags: { mcpConfig: writeConfig(BROKEN) } });

    try {
      const { servers, problems } = await status(d);

      assert.deepEqual([servers, problems.map((p) => [p.severity, p.server, p.reason])], [[], [['error', undefined, 'JSON_INVALID']]]);
      assert.match((await acpd('doctor', '--run-dir', d.runDir)).stdout, /^FAIL mcp configuration/m);
      await (await d.client()).close();
    } finally {
      await d.stop();
    }
  });

  test('none at all', async () => {
    const d = await Daemon.start();

    assert.deepEqual(await status(d), { servers: [], problems: [] });
    await d.stop();
  });

  test('the list of an e2b-sandbox.config.json', async () => {
    const list = [
      { name: 'near', type: 'local', command: NODE, args: [SERVER] },
      { name: 'far', type: 'remote', url: 'http://127.0.0.1:1/mcp', description: 'what it is for' },
      { name: 'half', type: 'local', description: 'without a command' },
    ];
    const text = JSON.stringify({ name: 'box', env: { LEVEL: '7' }, startup: { install: ['true'] }, ports: { mcp: 8080 }, mcp_servers: list });
    const d = await Daemon.start({ flags: { mcpConfig: writeConfig(text) } });

    try {
      await ready(d, 'near');
      assert.equal(textOf(await call(d, 'near', 'env', { name: 'LEVEL' })), '7');
      const { servers, problems } = await status(d);

      assert.deepEqual(servers.map((s) => [s.name, s.transport]), [['near', 'stdio'], ['far', 'http'], ['half', 'stdio']]);
      assert.deepEqual(problems.map((p) => [p.severity, p.server, p.field, p.reason]), [
        ['warning', undefined, 'startup', 'FIELD_UNUSED'], ['warning', undefined, 'ports', 'FIELD_UNUSED'], ['error', 'half', 'command', 'FIELD_MISSING'],
      ]);
    } finally {
      await d.stop();
    }
  });

  test('--check names file, entry and field', async () => {
    const check = (file) => acpd('serve', '--check', '--state', scratch, '--mcp-config', file);
    const good = await check(writeConfig({ one: { command: 'x', title: 'One', headers: {} } }));
    const bad = await check(writeConfig({ one: { command: 'x' }, two: { command: 'x', env: { A: 1 } } }));

    assert.deepEqual([good.code, good.stderr], [0, '']);
    assert.equal(bad.code, 2);
    assert.match(bad.stderr, /--mcp-config .*: two: env\.A must be a string/);
    const unknown = writeConfig({ one: { command: 'x', timeout: 5 } });
    const beside = writeConfig('{"mcpServers": {}, "mcpServer": {}, "ports": []}');
    assert.deepEqual([await check(unknown), await check(beside)].map((r) => [r.code, r.stderr]), [
      [0, `acpd: warning: --mcp-config ${unknown}: one.timeout: this key says nothing here\n`],
      [0, `acpd: warning: --mcp-config ${beside}: mcpServer: this key says nothing here\n`]], 'as serve, which starts with a warning');
    assert.match((await check(writeConfig(BROKEN))).stderr, /not valid JSON|syntax/i);
    assert.equal((await check(path.join(scratch, 'nowhere.json'))).code, 2);
  });
});
