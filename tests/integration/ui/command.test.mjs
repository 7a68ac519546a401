// SPDX-License-Identifier: Apache-2.0
// `acpd ui`: who may use it, what it adds on the way to a daemon and what it keeps back, and what it says when there is none.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import test, { after, before } from 'node:test';
import tls from 'node:tls';
import WebSocket from 'ws';
import { acpd } from '../run.mjs';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { makeCertificates } from '../../lib/egress.mjs';
import { ownPort } from '../../lib/ports.mjs';
import { startUi } from '../../lib/ui-command.mjs';
import { until } from '../../lib/wait.mjs';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-ui-'));
const viewer = path.join(dir, 'viewer');
const running = [];
let d;

before(async () => {
  fs.mkdirSync(viewer);
  fs.writeFileSync(path.join(viewer, 'index.html'), '<!doctype html><title>acpd</title>');
  fs.writeFileSync(path.join(viewer, 'app.js'), `"${'x'.repeat(300_000)}"`);
  d = await Daemon.start();
});
after(async () => {
  running.forEach((ui) => ui.kill());
  fs.rmSync(dir, { recursive: true });
  await endInOrder(d);
});

async function start(url, args = [], opts) {
  const ui = await startUi(['--url', url, '--ui-dir', viewer, ...args], opts);

  running.push(ui);
  return ui;
}

const startHere = () => start(d.url, ['--token-file', d.tokenFile]);

async function stopped(ui, signal) {
  assert.deepEqual(await ui.stop(signal), { code: 0, signal: null, stdout: `${ui.page}\n`, stderr: '' });
}

// One request as it is written -> {status, headers, body}; body to the end of the connection.
function ask(port, target, { method = 'GET', headers = {}, body = '' } = {}) {
  return new Promise((resolve, reject) => {
    const rq = http.request({ host: '127.0.0.1', port, path: target, method, headers, agent: false }, (res) => {
      const parts = [];

      res.on('data', (part) => parts.push(part));
      res.on('error', reject);
      res.on('end', () => resolve({ status: res.statusCode, headers: res.headers, body: Buffer.concat(parts).toString() }));
    });

    rq.on('error', reject);
    rq.end(body);
  });
}

const reasonOf = (answer) => [answer.status, JSON.parse(answer.body).error.reason];

// A server of ours in a daemon's place.
async function inPlace(t, onRequest) {
  const server = http.createServer(onRequest);

  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => new Promise((resolve) => { server.closeAllConnections(); server.close(resolve); }));
  return server.address().port;
}

const opened = (ws) => new Promise((resolve, reject) => { ws.on('open', resolve); ws.on('error', reject); });

// A request over a WebSocket and its answer.
async function initialize(ws) {
  const answer = new Promise((resolve, reject) => { ws.once('message', (data) => resolve(JSON.parse(data))); ws.once('close', reject); });

  ws.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 1, clientCapabilities: {} } }));
  return (await answer).result.protocolVersion;
}

test('the files, the daemon behind them with its token, and a WebSocket; a signal ends all of it', async () => {
  const ui = await startHere();
  const page = await ask(ui.port, `/${ui.secret}/ui/`);
  const script = await ask(ui.port, `/${ui.secret}/ui/app.js`);
  const sessions = await ask(ui.port, `/${ui.secret}/v1/sessions`);
  const ws = new WebSocket(`${ui.base.replace('http', 'ws')}/acp?harness=stub`, ['acp.v1'], { origin: `http://127.0.0.1:${ui.port}` });

  assert.deepEqual([page.status, page.body], [200, '<!doctype html><title>acpd</title>']);
  assert.match(page.headers['content-security-policy'], /^default-src 'none'; script-src 'self'; .*connect-src 'self'/);
  assert.deepEqual([script.status, script.body.length, script.headers['content-type']], [200, 300_002, 'text/javascript; charset=utf-8']);
  assert.deepEqual([sessions.status, JSON.parse(sessions.body).sessions], [200, []]);
  assert.match(sessions.headers['content-security-policy'], /^default-src 'none'; .*sandbox$/);
  await opened(ws);
  assert.deepEqual([ws.protocol, await initialize(ws)], ['acp.v1', 1]);
  for (const [target, status, to] of [['', 308, '/ui/'], ['/', 308, '/ui/'], ['/ui', 308, '/ui/'], ['/ui/none', 404]])
    assert.deepEqual(await ask(ui.port, `/${ui.secret}${target}`).then((a) => [a.status, a.headers.location]), [status, to && `/${ui.secret}${to}`]);
  const closed = new Promise((resolve) => ws.on('close', resolve));
  await stopped(ui, 'SIGINT');
  await closed;
});

test('who does not know the secret, or is another page or name, gets nothing', async () => {
  const ui = await startHere();
  const at = `/${ui.secret}/v1/sessions`;
  const other = ui.secret.replace(/^./, (c) => (c === '0' ? '1' : '0'));

  for (const target of ['/', '/v1/sessions', `/${other}/v1/sessions`, `/${ui.secret}x/v1/sessions`, `/${ui.secret.slice(1)}/v1/sessions`, `//${ui.secret}/ui/`, '/ui/'])
    assert.deepEqual(reasonOf(await ask(ui.port, target)), [404, 'VIEWER_ADDRESS'], target);
  for (const host of ['evil.example', `evil.example:${ui.port}`, '127.0.0.1', `127.0.0.1:${ui.port + 1}`, `127.0.0.1.evil.example:${ui.port}`, `[::1]:${ui.port}`])
    assert.deepEqual(reasonOf(await ask(ui.port, at, { headers: { host } })), [403, 'HOST_NOT_ALLOWED'], host);
  for (const origin of ['null', 'http://evil.example', `https://127.0.0.1:${ui.port}`, `http://localhost:${ui.port}`, 'http://127.0.0.1'])
    assert.deepEqual(reasonOf(await ask(ui.port, at, { headers: { origin } })), [403, 'ORIGIN_NOT_ALLOWED'], origin);
  assert.equal((await ask(ui.port, at, { headers: { host: `LOCALHOST:${ui.port}`, origin: `http://localhost:${ui.port}` } })).status, 200);
  assert.deepEqual(reasonOf(await ask(ui.port, `/${ui.secret}/ui/`, { method: 'POST' })), [405, 'METHOD_NOT_ALLOWED']);
  for (const family of ['::1', '127.0.0.2'])
    await assert.rejects(new Promise((resolve, reject) => net.connect(ui.port, family, resolve).on('error', reject)), family);
  await stopped(ui);
});

test('what the daemon is sent: the headers that were told, and of the browser only what belongs to the request', async (t) => {
  const seen = [];
  const port = await inPlace(t, (rq, res) => {
    let body = '';

    rq.on('data', (part) => { body += part; });
    rq.on('end', () => {
      seen.push({ method: rq.method, url: rq.url, headers: rq.headers, body });
      res.setHeader('Set-Cookie', 'a=b');
      res.setHeader('Access-Control-Allow-Origin', '*');
      res.setHeader('Content-Security-Policy', "default-src *");
      res.setHeader('Content-Type', 'text/html');
      res.setHeader('Acpd-Last', '7');
      res.write('<script>');
      res.end('x</script>');
    });
  });
  const ui = await start(`http://127.0.0.1:${port}/box/acp`, ['--header', 'E2B-Traffic-Access-Token: t1', '--header', 'X-Two: a, b', '--token-file', d.tokenFile]);
  const answer = await ask(ui.port, `/${ui.secret}/v1/approvals/a%20b?x=1&y=%2F`, { method: 'POST', body: '{"a":1}', headers: {
    cookie: 'c=1', referer: ui.page, origin: `http://127.0.0.1:${ui.port}`, authorization: 'Bearer other', 'x-two': 'other', 'x-forwarded-for': '1.2.3.4',
    'content-type': 'application/json', 'last-event-id': '5', 'transfer-encoding': 'chunked', 'sec-fetch-site': 'same-origin' } });

  assert.deepEqual(seen, [{ method: 'POST', url: '/box/v1/approvals/a%20b?x=1&y=%2F', body: '{"a":1}', headers: {
    host: `127.0.0.1:${port}`, connection: 'close', authorization: `Bearer ${d.token}`, 'e2b-traffic-access-token': 't1', 'x-two': 'a, b',
    'content-type': 'application/json', 'last-event-id': '5', 'transfer-encoding': 'chunked' } }]);
  assert.deepEqual([answer.status, answer.body, answer.headers['acpd-last'], answer.headers['set-cookie'], answer.headers['access-control-allow-origin']],
    [200, '<script>x</script>', '7', undefined, undefined]);
  assert.match(answer.headers['content-security-policy'], /sandbox/);
  assert.equal(answer.headers['x-content-type-options'], 'nosniff');
  assert.ok(!JSON.stringify(seen).includes(ui.secret), 'the secret stays here');
  await stopped(ui);
});

test('without a token of its own, that of the page passes; headers may come by the environment, where no list of processes shows them', async (t) => {
  const seen = [];
  const port = await inPlace(t, (rq, res) => { seen.push([rq.headers.authorization, rq.headers['x-secret']]); res.end('{}'); });
  const ui = await start(`ws://127.0.0.1:${port}`, [], { env: { ACPD_HEADER: 'X-Secret: s1' } });

  await ask(ui.port, `/${ui.secret}/v1/sessions`, { headers: { authorization: 'Bearer page' } });
  assert.deepEqual(seen, [['Bearer page', 's1']]);
  await stopped(ui);
});

test('through TLS: the certificate is checked', async (t) => {
  const certificates = makeCertificates(dir, ['127.0.0.1', 'localhost']);
  const server = tls.createServer(certificates.pair, (far) => {
    const near = net.connect(d.port, '127.0.0.1');

    far.pipe(near).pipe(far);
    for (const s of [far, near])
      s.on('error', () => { far.destroy(); near.destroy(); });
  });

  server.on('tlsClientError', () => {});
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const url = `wss://localhost:${server.address().port}/acp`;
  const ui = await start(url, ['--token-file', d.tokenFile, '--ca-file', certificates.ca]);
  const ws = new WebSocket(`${ui.base.replace('http', 'ws')}/acp?harness=stub`, ['acp.v1']);
  const open = opened(ws); // whichever of both is there first

  assert.equal((await ask(ui.port, `/${ui.secret}/v1/sessions`)).status, 200);
  await open;
  assert.equal(await initialize(ws), 1);
  ws.close();
  await stopped(ui);
  const stranger = await start(url, ['--token-file', d.tokenFile]);
  assert.deepEqual(reasonOf(await ask(stranger.port, `/${stranger.secret}/v1/sessions`)), [502, 'DAEMON_UNREACHABLE']);
  await stopped(stranger);
  const none = await acpd(['ui', '--url', url, '--ui-dir', viewer, '--ca-file', path.join(dir, 'none.pem')]);
  assert.deepEqual([none.code, none.stdout], [1, '']);
  assert.match(none.stderr, /none\.pem/);
});

test('a daemon that is away is a typed answer, and when it is there again it is reached', async (t) => {
  const listen = `127.0.0.1:${await ownPort()}`;
  const other = await Daemon.startFor(t, { flags: { listen } });
  const ui = await start(other.url, ['--token-file', other.tokenFile]);
  const sessions = () => ask(ui.port, `/${ui.secret}/v1/sessions`);

  assert.equal((await sessions()).status, 200);
  const ws = new WebSocket(`${ui.base.replace('http', 'ws')}/acp?harness=stub`, ['acp.v1']);
  await opened(ws);
  const closed = new Promise((resolve) => ws.on('close', resolve));
  await other.stop();
  await closed;
  assert.deepEqual(reasonOf(await sessions()), [502, 'DAEMON_UNREACHABLE']);
  const refused = new WebSocket(`${ui.base.replace('http', 'ws')}/acp`, ['acp.v1']);
  assert.match((await new Promise((resolve) => refused.on('error', resolve))).message, /502/);
  const again = await Daemon.startFor(t, { token: other.token, flags: { listen } });
  assert.equal((await sessions()).status, 200);
  await again.stop();
  await stopped(ui);
});

test('what answers in a daemon\'s place is not trusted: strange, silent, cut off, far too much', async (t) => {
  const answers = {
    '/strange': 'SSH-2.0-x\r\n\r\n', '/lost': '', '/half': 'HTTP/1.1 200 OK\r\nContent-Le', '/switched': 'HTTP/1.1 101 X\r\n\r\n',
    '/twice': 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', '/endless': `HTTP/1.1 200 OK\r\nA: ${'a'.repeat(20_000)}`,
    '/hints': 'HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 204 No\r\n\r\nHTTP/1.1 200 OK\r\n\r\nmore', '/short': 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc',
  };
  const server = net.createServer((s) => {
    s.on('error', () => {});
    s.once('data', (data) => s.end(answers[/^GET (\S+)/.exec(data)[1]]));
  });

  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const ui = await start(`http://127.0.0.1:${server.address().port}`);
  for (const [target, reason] of [['/strange', 'DAEMON_STRANGE'], ['/lost', 'DAEMON_LOST'], ['/half', 'DAEMON_LOST'], ['/switched', 'DAEMON_STRANGE'],
    ['/twice', 'DAEMON_STRANGE'], ['/endless', 'DAEMON_STRANGE']])
    assert.deepEqual(reasonOf(await ask(ui.port, `/${ui.secret}${target}`)), [502, reason], target);
  assert.deepEqual(await ask(ui.port, `/${ui.secret}/hints`).then((a) => [a.status, a.body]), [204, '']);
  await assert.rejects(ask(ui.port, `/${ui.secret}/short`), 'a browser sees that the end is missing');
  await stopped(ui);
});

test('a slow reader holds the daemon up, and nothing is kept for him without bound', async (t) => {
  let written = 0;
  const port = await inPlace(t, (rq, res) => {
    const block = Buffer.alloc(64 * 1024, 'x');
    const more = () => {
      while (written < 80 << 20 && !res.destroyed) {
        written += block.length;
        if (!res.write(block)) {
          res.once('drain', more);
          return;
        }
      }
      res.end();
    };

    more();
  });
  const ui = await start(`http://127.0.0.1:${port}`);
  const s = net.connect(ui.port, '127.0.0.1');
  s.pause();
  s.write(`GET /${ui.secret}/big HTTP/1.1\r\nHost: 127.0.0.1:${ui.port}\r\n\r\n`);
  let last = -1;
  await until(async () => {
    const same = written === last && written > 0;

    last = written;
    await new Promise((resolve) => setTimeout(resolve, 300));
    return same;
  }, 'the daemon to be held up');
  assert.ok(written < 40 << 20, `${written} bytes were taken from the daemon`);
  let got = 0;
  s.on('data', (data) => { got += data.length; });
  s.resume();
  await new Promise((resolve) => s.on('end', resolve));
  assert.ok(got > 80 << 20, `${got} bytes came`);
  await stopped(ui);
});

test('connections are bounded: silent ones make room', async () => {
  const ui = await startHere();
  const silent = [];

  for (let i = 0; i < 200; i++)
    silent.push(await new Promise((resolve) => { const s = net.connect(ui.port, '127.0.0.1', () => resolve(s)); s.on('error', () => {}); }));
  await until(() => silent.filter((s) => s.destroyed || s.readableEnded).length > 0 || (silent.forEach((s) => s.resume()), false), 'some of them to be dropped');
  const answer = await ask(ui.port, `/${ui.secret}/v1/sessions`);
  assert.ok([200, 503].includes(answer.status));
  silent.forEach((s) => s.destroy());
  await until(async () => (await ask(ui.port, `/${ui.secret}/v1/sessions`)).status === 200, 'room again');
  for (const head of ['GET / HTTP/1.0\r\n\r\n', `GET / HTTP/1.1\r\nHost: x\r\nA:${'a'.repeat(40_000)}\r\n\r\n`, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n']) {
    const s = net.connect(ui.port, '127.0.0.1', () => s.write(head));
    const text = await new Promise((resolve) => { let all = ''; s.on('data', (data) => { all += data; }); s.on('close', () => resolve(all)); s.on('error', () => {}); });
    assert.match(text, /^HTTP\/1\.1 400 .*"REQUEST_INVALID"/s, head.slice(0, 40));
  }
  await stopped(ui);
});

test('options that are wrong are refused before anything is served', async () => {
  const good = ['--url', d.url, '--ui-dir', viewer];
  const rows = [
    [['--ui-dir', viewer], 2, /--url is needed/],
    [['--url', 'ftp://x', '--ui-dir', viewer], 2, /--url: 'ftp:\/\/x' is not/],
    [['--url', 'http://u:p@x/', '--ui-dir', viewer], 2, /--url/],
    [['--url', 'http://x/acp?token=y', '--ui-dir', viewer], 2, /--url/],
    [[...good, '--header', 'none'], 2, /--header: one is not 'Name: value'/],
    [[...good, '--header', 'A B: c'], 2, /--header: one is not/],
    [[...good, '--header', 'A: b', '--header', 'a: c'], 2, /--header: a is there already/],
    [[...good, '--header', 'Host: x'], 2, /--header: Host is made for each connection/],
    [[...good, '--token-file', d.tokenFile, '--header', 'authorization: Bearer x'], 2, /authorization is there already/],
    [[...good, '--header', `A: ${'x'.repeat(17_000)}`], 2, /--header: A is too much/],
    [[...good, '--token-file', path.join(dir, 'none')], 2, /none: No such file/],
    [[...good, '--port', '70000'], 2, /--port/],
    [[...good, '--port', `${d.port}`], 1, /cannot listen on 127\.0\.0\.1/],
    [['--url', d.url, '--ui-dir', dir], 1, /there is no run viewer at .*make ui/],
  ];

  for (const [args, code, text] of rows) {
    const result = await acpd(['ui', ...args]);

    assert.deepEqual([result.code, result.stdout], [code, ''], args.join(' '));
    assert.match(result.stderr, text);
    assert.equal(result.stderr.trim().split('\n').length, 1, 'one line');
  }
});
