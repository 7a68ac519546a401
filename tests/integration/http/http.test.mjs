// SPDX-License-Identifier: Apache-2.0
// Plain HTTP on the same port: what is there, and that nothing a peer writes makes the daemon hang, die or leak.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import test, { after, before, describe } from 'node:test';
import { Daemon, endInOrder, STUB } from '../../lib/daemon.mjs';
import { patience } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';

let d;

before(async () => {
  d = await Daemon.start();
});
after(() => endInOrder(d));

const host = () => `Host: 127.0.0.1:${d.port}\r\n`;
const auth = () => `Authorization: Bearer ${d.token}\r\n`;
const get0 = (where) => `GET ${where} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
const get = (where, extra = '') => `GET ${where} HTTP/1.1\r\n${host()}${extra}\r\n`;

// Sends bytes and collects what comes until the peer closes, `enough(text)`, or time is up.
// -> {text, closed, late}; `end` closes our side after the bytes.
function exchange(bytes, { end = false, timeout = 5000, enough = () => false } = {}) {
  return new Promise((resolve) => {
    const socket = net.connect(d.port, '127.0.0.1');
    const state = { text: '', closed: false, late: false };
    const done = (what) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ ...state, ...what });
    };
    const timer = setTimeout(() => done({ late: true }), patience(timeout));

    socket.on('error', () => {});
    socket.on('close', () => done({ closed: true }));
    socket.on('data', (data) => {
      state.text += data.toString('latin1');
      if (enough(state.text))
        done({});
    });
    socket.write(bytes);
    if (end)
      socket.end();
  });
}

const countResponses = (text) => text.split('HTTP/1.').length - 1;

// One answer to a request: {status, headers, body}. A body of the announced length must come with it.
async function ask(bytes, opts) {
  const complete = (text) => {
    const head = text.indexOf('\r\n\r\n');
    const length = Number(text.match(/content-length: (\d+)/i)?.[1] ?? 0);

    return head >= 0 && text.length >= head + 4 + (opts?.head ? 0 : length);
  };
  const { text, late } = await exchange(bytes, { enough: complete, ...opts });
  const end = text.indexOf('\r\n\r\n');

  assert.ok(!late, `no answer to ${JSON.stringify(String(bytes).slice(0, 80))}`);
  return { status: Number(text.match(/^HTTP\/1\.[01] (\d{3})/)?.[1] ?? 0), head: text.slice(0, end), body: text.slice(end + 4) };
}

test('/health is open and says nothing about state', async () => {
  const c = await d.client();
  const first = await d.http('/health');

  await c.newSession();
  for (const res of [first, await d.http('/health'), await d.http('/health', { token: 'x'.repeat(30) }), await d.http('/health?x=1')]) {
    assert.equal(res.status, 200);
    assert.equal(res.headers['content-type'], 'application/json');
    assert.equal(res.body, '{"status":"ok"}');
    assert.deepEqual(res.headers, first.headers);
  }
  assert.ok(!JSON.stringify(first.headers).match(/\d+\.\d+\.\d+/), 'no version');
  await c.close();
});

test('/ready needs the token and counts', async () => {
  assert.equal((await d.http('/ready')).status, 401);
  const before = (await d.http('/ready', { token: d.token })).json;
  const c = await d.client();

  await c.newSession();
  const { json, headers } = await d.http('/ready', { token: d.token });
  assert.equal(headers['content-type'], 'application/json');
  assert.equal(json.ready, true);
  assert.deepEqual([json.sessions - before.sessions, json.connections - before.connections, json.children - before.children], [1, 1, 1]);
  assert.equal(json.incarnation, c.initializeResult.agentCapabilities._meta.acpd.incarnation);
  await c.close();
});

test('/ready and initialize say which harnesses are installed, and /ready whether a session could be served at all', async () => {
  const none = await Daemon.start({ env: { PATH: d.workDir }, stub: { command: '/nowhere/stub' } });
  const program = path.join(none.dir, 'late');

  try {
    const ask = () => none.http('/ready', { token: none.token });
    const first = await ask();
    assert.deepEqual([first.status, first.json.ready], [503, false]);
    assert.equal(first.body.match(/"problems":/g).length, 1, 'no member twice');
    assert.deepEqual(first.json.notReady.map((p) => p.reason), ['HARNESS_NOT_INSTALLED']);
    assert.deepEqual(first.json.harnesses.filter((h) => h.installed), []);
    const c = await none.client();
    const { harnesses, harnessesNotInstalled } = c.initializeResult.agentCapabilities._meta.acpd;
    assert.deepEqual(harnesses, []);
    assert.deepEqual(harnessesNotInstalled, first.json.harnesses.map((h) => h.id));
    assert.equal((await c.fails('session/new', { cwd: none.workDir, mcpServers: [] })).data.reason, 'HARNESS_NOT_INSTALLED');
    await c.close();

    fs.copyFileSync(STUB, program); // as an image does that fetches one late
    fs.chmodSync(program, 0o755);
    fs.symlinkSync(program, path.join(d.workDir, 'opencode'));
    const second = await ask();
    assert.deepEqual([second.status, second.json.ready, second.json.notReady], [200, true, []]);
    assert.deepEqual(second.json.harnesses.filter((h) => h.installed), [{ id: 'opencode', installed: true }]);
    const late = await none.client();
    assert.deepEqual(late.initializeResult.agentCapabilities._meta.acpd.harnesses, ['opencode']);
    await late.close();
  } finally {
    fs.rmSync(path.join(d.workDir, 'opencode'), { force: true });
    await none.stop();
  }
});

test('/metrics needs the token and is Prometheus text', async () => {
  assert.equal((await d.http('/metrics')).status, 401);
  const c = await d.client();
  const { sessionId } = await c.newSession();

  await c.prompt(sessionId, 'echo x');
  const { status, headers, body } = await d.http('/metrics', { token: d.token });
  assert.equal(status, 200);
  assert.match(headers['content-type'], /^text\/plain; version=0\.0\.4/);
  const values = {};
  for (const line of body.trimEnd().split('\n')) {
    assert.match(line, /^(# (HELP|TYPE) (acpd|process)_\w+ .+|(acpd|process)_\w+(\{[a-z]+="[\w.-]+"(,[a-z]+="[\w.-]+")*\})? \d+(\.\d{6})?)$/);
    const [name, value] = line.split(' ');
    if (name !== '#')
      values[name] = Number(value);
  }
  assert.ok(values.acpd_turns_total >= 1 && values.acpd_connections >= 1 && values.acpd_sessions >= 1);
  assert.equal(values.acpd_turns_running, 0);
  await c.close();
});

test('what does not exist is 404, a wrong method 405 with Allow', async () => {
  const { token } = d;

  for (const where of ['/', '/nope', '/health/', '/healthz', '/ready/x', '/v1', '/metrics.txt', '/HEALTH']) {
    const res = await d.http(where, { token });

    assert.deepEqual([res.status, res.json.error.reason], [404, 'NOT_FOUND'], where);
  }
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
    for (const where of ['/health', '/ready', '/metrics']) {
      const res = await d.http(where, { token, method, body: method === 'POST' ? 'x' : undefined });

      assert.deepEqual([res.status, res.headers.allow, res.json.error.reason], [405, 'GET', 'METHOD_NOT_ALLOWED'], `${method} ${where}`);
    }
  }
});

test('/acp without an upgrade is 426, by any method', async () => {
  for (const method of ['GET', 'POST', 'DELETE', 'PUT']) {
    const res = await d.http('/acp', { token: d.token, method });

    assert.deepEqual([res.status, res.headers.upgrade], [426, 'websocket'], method);
  }
});

test('HEAD has the headers of GET and no body', async () => {
  for (const where of ['/health', '/ready', '/metrics']) {
    const bytes = `HEAD ${where} HTTP/1.1\r\n${host()}${auth()}\r\n${get('/health')}`;
    const { text } = await exchange(bytes, { enough: (t) => t.includes('{"status":"ok"}') });
    const [first, second] = text.split('\r\n\r\n');

    assert.match(first, /^HTTP\/1\.1 200/);
    assert.ok(Number(first.match(/content-length: (\d+)/i)[1]) > 0);
    assert.match(second, /^HTTP\/1\.1 200/, 'the next answer follows at once');
  }
  for (const [where, status] of [['/nope', 404], ['/acp', 426]]) {
    const bytes = `HEAD ${where} HTTP/1.1\r\n${host()}${auth()}\r\n${get('/health')}`;
    const { text } = await exchange(bytes, { enough: (t) => t.includes('{"status":"ok"}'), timeout: 2000 });

    assert.match(text, new RegExp(`^HTTP/1\\.1 ${status}`));
    assert.match(text.split('\r\n\r\n')[1], /^HTTP\/1\.1 200/, `${where}: no body`);
  }
});

test('a connection is kept: many requests one after the other, and pipelined', async () => {
  const paths = ['/health', '/ready', '/nope', '/metrics', '/acp', '/health'];
  const bytes = Array.from({ length: 10 }, () => paths.map((p) => get(p, auth())).join('')).join('');
  const { text } = await exchange(bytes, { enough: (t) => countResponses(t) === 60 && t.endsWith('{"status":"ok"}') });
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((m) => Number(m[1]));

  assert.equal(statuses.length, 60);
  for (let i = 0; i < 60; i += 6)
    assert.deepEqual(statuses.slice(i, i + 6), [200, 200, 404, 200, 426, 200]);
});

test('Connection: close and HTTP/1.0 end the connection after the answer', async () => {
  for (const bytes of [get('/health', 'Connection: close\r\n'), `GET /health HTTP/1.0\r\n${host()}\r\n`]) {
    const { text, closed } = await exchange(bytes);

    assert.match(text, /^HTTP\/1\.[01] 200/);
    assert.ok(text.endsWith('{"status":"ok"}') && closed);
  }
});

test('a request may come byte by byte', async () => {
  const bytes = get('/ready', auth());
  const socket = net.connect(d.port, '127.0.0.1');
  let text = '';

  socket.setNoDelay(true);
  socket.on('data', (data) => { text += data; });
  for (const byte of bytes) {
    socket.write(byte);
    await new Promise((resolve) => { setImmediate(resolve); });
  }
  await until(() => text.includes('"ready":true'), 'the answer');
  assert.match(text, /^HTTP\/1\.1 200/);
  socket.destroy();
});

test('a body that nobody asked for is not taken for the next request', async () => {
  const smuggled = get('/ready', auth());
  const forms = [`Content-Length: ${smuggled.length}\r\n`, 'Transfer-Encoding: chunked\r\n', 'Content-Length: 3\r\n'];

  for (const method of ['POST', 'PUT', 'GET']) {
    for (const form of forms) {
      const { text } = await exchange(`${method} /health HTTP/1.1\r\n${host()}${form}\r\n${smuggled}`, { timeout: 1000, end: true });

      assert.ok(!text.includes('"ready"'), `${method} with ${form.trim()} let a second request through`);
      assert.ok(countResponses(text) <= 1, text);
    }
  }
});

test('headers that are too large end their connection before one that says nothing, and no other', async () => {
  const large = [get('/health', `X-Big: ${'x'.repeat(20000)}\r\n`), get('/health', 'X-A: b\r\n'.repeat(5000)), get(`/${'x'.repeat(20000)}`),
    get('/health', `${'x'.repeat(20000)}: y\r\n`), get('/health', `Cookie: ${'c'.repeat(200000)}\r\n`)];

  for (const bytes of large) {
    const silent = net.connect(d.port, '127.0.0.1').on('error', () => {}).resume(); // is ended after 15 s
    await once(silent, 'connect');
    const { text, closed, late } = await exchange(bytes);

    assert.ok(!late && closed, 'it hangs');
    assert.equal(silent.closed, false, 'it was ended for its silence only');
    silent.destroy();
    assert.ok(text === '' || /^HTTP\/1\.[01] (4\d\d|5\d\d)/.test(text), text.slice(0, 80));
  }
  const { status } = await ask(get('/health', `X-Fits: ${'x'.repeat(6000)}\r\n`));
  assert.equal(status, 200);
});

const GARBAGE = [
  ['a TLS hello', Buffer.from('16030100c8010000c403035a5a5a5a5a5a5a5a0d0a0d0a', 'hex')],
  ['binary noise', Buffer.from('00ff00fffe80810d0a0d0a', 'hex')],
  ['the HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['no version', 'GET /health\r\n\r\n'],
  ['an unknown method', 'FOO /ready HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ['TRACE', 'TRACE /ready HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ['an absolute target', 'GET http://localhost/ready HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ['a target of *', 'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ['a NUL in the target', 'GET /rea\0dy HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ['a NUL in a header', 'GET /ready HTTP/1.1\r\nHost: local\0host\r\n\r\n'],
  ['no target', 'GET  HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ['a header without a colon', 'GET /ready HTTP/1.1\r\nHost: localhost\r\nnonsense\r\n\r\n'],
  ['bare carriage returns', 'GET /ready HTTP/1.1\rHost: localhost\r\r'.repeat(3)],
  ['a broken escape', 'GET /%zz%1 HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ['a path upwards', 'GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ['an upgrade to something else', 'GET /acp HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: foo\r\n\r\n'],
  ['two lengths', 'POST /ready HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy'],
  ['a negative length', 'POST /ready HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n'],
  ['an absurd length', 'POST /ready HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n'],
];

// Side by side, because what looks like the beginning of a header is given some seconds to go on.
describe('garbage', { concurrency: true }, () => {
  for (const [what, bytes] of GARBAGE) {
    test(`${what} has an error or an end, and the daemon lives`, async () => {
      const { text, closed, late } = await exchange(bytes, { enough: (t) => t.includes('\r\n\r\n'), timeout: 20000 });

      assert.ok(!late, 'neither an answer nor an end');
      assert.ok(closed || /^HTTP\/1\.[01] 4\d\d/.test(text), text.slice(0, 80));
      assert.ok(!text || !/^HTTP\/1\.[01] [123]/.test(text), text.slice(0, 80));
      assert.equal((await d.http('/health')).status, 200);
    });
  }

  for (const bytes of ['', 'GET /health HT', get0('/health').slice(0, -2), get0('/health')]) {
    test(`a peer that stops after ${JSON.stringify(bytes.slice(0, 30))} (${bytes.length}) is given up`, async () => {
      const { closed } = await exchange(bytes, { timeout: 20000 });

      assert.ok(closed, 'still open');
    });
  }
});

test('garbage: half a request whose sender leaves is forgotten', async () => {
  const fds = d.fdCount();

  for (const bytes of ['', 'G', 'GET /hea', get('/health').slice(0, -2), `${get('/health').slice(0, -2)}X-Y: `]) {
    const { text, late } = await exchange(bytes, { end: true });

    assert.ok(!late, JSON.stringify(bytes));
    assert.equal(text, '');
  }
  for (let i = 0; i < 50; i++) {
    const socket = net.connect(d.port, '127.0.0.1');

    socket.on('error', () => {});
    await new Promise((resolve) => { socket.on('connect', resolve); });
    socket.write('GET / HT');
    socket.resetAndDestroy();
  }
  await until(() => d.fdCount() <= fds, `no more than ${fds} descriptors`, 15000);
});

test('garbage: random bytes, many at once', async () => {
  let seed = 12345; // the same bytes each time
  const random = () => {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
    return seed >> 8;
  };
  const one = () => {
    const noise = Buffer.from(Array.from({ length: 1 + (random() % 400) }, () => random() & 255));

    return random() % 2 ? noise : Buffer.concat([Buffer.from('GET /acp HTTP/1.1\r\n'), noise, Buffer.from('\r\n\r\n')]);
  };

  for (let round = 0; round < 10; round++) {
    const results = await Promise.all(Array.from({ length: 20 }, () => exchange(one(), { end: true, timeout: 3000 })));

    assert.ok(results.every((r) => !r.late), 'a connection was left hanging after its peer had ended it');
  }
  assert.equal((await d.http('/health')).status, 200);
});

test('bytes behind a refused upgrade are not taken for frames or requests', async () => {
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
  const { text } = await exchange(get('/acp', upgrade) + get('/ready', auth()), { timeout: 1000, end: true });

  assert.match(text, /^HTTP\/1\.[01] 401/);
  assert.equal(countResponses(text), 1, text);
});
