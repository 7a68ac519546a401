// SPDX-License-Identifier: Apache-2.0
// Who gets in: the token in its three forms, Host and Origin, the handshake itself.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { AcpClient } from '../../lib/acp.mjs';
import { Daemon, endInOrder, withDaemon } from '../../lib/daemon.mjs';
import { bearerProtocol, patience } from '../../lib/rawws.mjs';

let d;

before(async () => {
  d = await Daemon.start();
});
after(() => endInOrder(d));

// The status of an upgrade; a 101 must also work.
async function status(opts = {}, daemon = d) {
  const ws = await daemon.ws(opts);

  if (ws.status === 101) {
    const c = new AcpClient(ws);

    assert.equal((await c.initialize()).protocolVersion, 1);
  }
  ws.destroy();
  return ws.status;
}

async function reason(opts, daemon = d) {
  const ws = await daemon.ws(opts);

  ws.destroy();
  return [ws.status, JSON.parse(ws.body).error.reason];
}

test('the token as a bearer header', async () => {
  const auth = (value) => ({ token: null, headers: { Authorization: value } });

  assert.equal(await status(), 101);
  for (const value of [`bearer ${d.token}`, `BEARER ${d.token}`, `Bearer   ${d.token}`, `Bearer ${d.token} `])
    assert.equal(await status(auth(value)), 101, value.replace(d.token, '…'));
  const basic = Buffer.from(`user:${d.token}`).toString('base64');
  for (const value of [d.token, `Basic ${basic}`, `Token ${d.token}`, 'Bearer', 'Bearer ', `Bearer${d.token}`, `Bearer ${d.token},x`,
    `Bearer "${d.token}"`, `Bearer ${d.token}\t${d.token}`])
    assert.equal(await status(auth(value)), 401, value.replace(d.token, '…'));
});

test('the token as a subprotocol item: acp.v1 is selected, the token never echoed', async () => {
  for (const protocols of [['acp.v1', bearerProtocol(d.token)], [bearerProtocol(d.token), 'x', 'acp.v1']]) {
    const ws = await d.ws({ token: null, protocols });

    assert.equal(ws.status, 101);
    assert.equal(ws.headers['sec-websocket-protocol'], 'acp.v1');
    assert.ok(!ws.rawHead.includes('bearer') && !ws.rawHead.includes(d.token));
    const c = new AcpClient(ws);
    assert.equal((await c.initialize()).protocolVersion, 1);
    await c.close();
  }
});

test('a wrong or damaged subprotocol item is 401', async () => {
  const good = bearerProtocol(d.token);
  const base64 = Buffer.from(d.token).toString('base64url');
  const items = [`${good}x`, good.slice(0, -1), good.toLowerCase(), 'acpd.bearer.', `acpd.bearer.${d.token}`, `bearer.${base64}`,
    `acpd.bearer.${base64.slice(0, 4)}!${base64.slice(5)}`, `acpd.bearer.${'A'.repeat(6000)}`];

  for (const item of items)
    assert.equal(await status({ token: null, protocols: ['acp.v1', item] }), 401, item.slice(0, 40));
});

test('a token of other characters, in both forms', async () => {
  const token = 'tökén with spaces ✓ ~!@#$%^&*()';

  await withDaemon({ token }, async (own) => {
    assert.equal(await status({ token: null, protocols: ['acp.v1', bearerProtocol(token)] }, own), 101);
    assert.equal(await status({ token: null, protocols: ['acp.v1', bearerProtocol(`${token}!`)] }, own), 401);
  });
});

test('a query token is refused, unless --allow-query-token', async () => {
  const query = (token, extra = '') => ({ token: null, path: `/acp?${extra}token=${token}` });

  assert.equal(await status(query(d.token)), 401);
  assert.equal((await d.http(`/ready?token=${d.token}`)).status, 401);
  await withDaemon({ flags: { allowQueryToken: true } }, async (own) => {
    assert.equal(await status(query(own.token), own), 101);
    assert.equal(await status(query(own.token, 'harness=stub&'), own), 101);
    assert.equal((await own.http(`/ready?token=${own.token}`)).status, 200);
    for (const wrong of ['', 'x'.repeat(30), `${own.token}x`, own.token.slice(1)])
      assert.equal(await status(query(wrong), own), 401);
    assert.equal(await status({ ...query(own.token), headers: { Authorization: 'Bearer wrong-wrong-wrong-wrong' } }, own), 401);
  });
});

test('wrong, short, long and missing tokens get one and the same answer, and make no ACP state', async () => {
  const wrong = [null, '', 'x', d.token.slice(0, 8), d.token.slice(0, -1), `${d.token}x`, 'x'.repeat(d.token.length), 'x'.repeat(5000)];
  const before = (await d.http('/ready', { token: d.token })).json;
  const answers = new Set();

  for (const token of wrong) {
    const ws = await d.ws({ token });

    assert.equal(ws.status, 401);
    answers.add(`${ws.rawHead}\n${ws.body}`);
    ws.destroy();
  }
  assert.equal(answers.size, 1, [...answers].join('\n---\n'));
  const [answer] = answers;
  assert.match(answer, /UNAUTHORIZED/);
  assert.match(answer, /^www-authenticate: bearer/im);
  assert.doesNotMatch(answer, /acp-connection-id/i);
  const { json } = await d.http('/ready', { token: d.token });
  assert.deepEqual([json.sessions, json.children, json.connections], [before.sessions, before.children, before.connections]);
});

test('plain HTTP refuses the same way', async () => {
  const bodies = new Set();

  for (const token of [undefined, 'x', 'x'.repeat(40), d.token.slice(1)]) {
    for (const path of ['/ready', '/metrics', '/acp', '/nope', '/v1/usage']) {
      const res = await d.http(path, { token });

      assert.equal(res.status, 401, path);
      bodies.add(res.body);
    }
  }
  assert.equal(bodies.size, 1);
  assert.equal((await d.http('/nope', { token: d.token })).status, 404, 'what exists is not told to strangers');
});

test('a hundred refusals leave nothing behind', async () => {
  const fds = d.fdCount();

  for (let i = 0; i < 100; i++)
    (await d.ws({ token: i % 2 ? null : 'x'.repeat(30) })).destroy();
  const end = Date.now() + patience(5000);
  while (d.fdCount() > fds && Date.now() < end)
    await new Promise((resolve) => { setTimeout(resolve, 20); });
  assert.ok(d.fdCount() <= fds, `${d.fdCount()} descriptors, before ${fds}`);
});

test('Host: localhost, addresses and names as E2B forms them are served', async () => {
  const hosts = ['localhost', `localhost:${d.port}`, 'LOCALHOST', '127.0.0.1', '127.0.0.1:1', '10.1.2.3:2270', '[::1]', '[::1]:2270',
    '[fe80::1]:2270', '2270-abc123.e2b.app', '2270-abc123.e2b.app:443', '49999-i0x9y8z7.e2b.dev', '1-a.b'];

  for (const Host of hosts)
    assert.equal(await status({ headers: { Host } }), 101, Host);
});

test('Host: anything else is 403', async () => {
  const hosts = ['evil.example', 'evil.example:2270', 'e2b.app', '2270-.e2b.app', '-abc.e2b.app', 'x2270-abc.e2b.app', '999999-abc.e2b.app',
    '2270-abc', 'localhost.evil.example', '127.0.0.1.evil.example', 'localhost@evil.example', 'xlocalhost', '2270_abc.e2b.app', ''];

  for (const Host of hosts) {
    assert.deepEqual(await reason({ headers: { Host } }), [403, 'HOST_NOT_ALLOWED'], Host);
    if (Host)
      assert.equal((await d.http('/health', { headers: { Host } })).status, 403, Host);
  }
  assert.deepEqual(await reason({ headers: { Host: null } }), [403, 'HOST_NOT_ALLOWED']);
});

test('Host: --allow-host adds names, with any port', async () => {
  await withDaemon({ flags: { allowHost: 'acpd.example,other.example' } }, async (own) => {
    for (const Host of ['acpd.example', 'ACPD.example:443', 'other.example:1'])
      assert.equal(await status({ headers: { Host } }, own), 101, Host);
    for (const Host of ['evil.example', 'acpd.example.evil.example', 'xacpd.example', 'acpd.exampl', 'acpd.example,other.example'])
      assert.equal(await status({ headers: { Host } }, own), 403, Host);
    assert.equal(await status({}, own), 101, 'the default ones stay');
  });
});

test('Origin: none is fine, one that is not listed is 403', async () => {
  for (const Origin of ['https://evil.example', 'http://localhost', `http://127.0.0.1:${d.port + 1}`, `ftp://127.0.0.1:${d.port}`, `http://127.0.0.1:${d.port}/`, `127.0.0.1:${d.port}`, 'null', 'file://', 'x'.repeat(3000)])
    assert.deepEqual(await reason({ headers: { Origin } }), [403, 'ORIGIN_NOT_ALLOWED'], Origin);
});

test('Origin: --allow-origin lists the pages that may', async () => {
  const flags = { allowOrigin: 'https://console.example.com,http://localhost:3000' };

  await withDaemon({ flags }, async (own) => {
    for (const Origin of ['https://console.example.com', 'http://localhost:3000'])
      assert.equal(await status({ headers: { Origin } }, own), 101, Origin);
    for (const Origin of ['http://console.example.com', 'https://console.example.com.evil.example', 'https://evil.example',
      'https://console.example.com:8443', 'http://localhost:30001', 'null'])
      assert.equal(await status({ headers: { Origin } }, own), 403, Origin);
  });
});

test('Host and Origin may be listed by repeating the option', async () => {
  const args = ['--allow-host', 'one.example', '--allow-host', 'two.example', '--allow-origin', 'https://one.example',
    '--allow-origin', 'https://two.example'];

  await withDaemon({ args }, async (own) => {
    for (const name of ['one.example', 'two.example'])
      assert.equal(await status({ headers: { Host: name, Origin: `https://${name}` } }, own), 101, name);
  });
});

test('the handshake: version 13, a key of 16 bytes, GET, HTTP/1.1', async () => {
  const key = (k) => ({ headers: { 'Sec-WebSocket-Key': k } });
  const bytes = (n) => Buffer.alloc(n, 7).toString('base64');

  for (const version of ['8', '12', '14', '0', 'x', '', null]) {
    const ws = await d.ws({ headers: { 'Sec-WebSocket-Version': version } });

    assert.equal(ws.status, 426, `version ${version}`);
    assert.equal(ws.headers['sec-websocket-version'], '13');
    ws.destroy();
  }
  for (const k of [bytes(15), bytes(17), bytes(8), 'x', '', null, `${bytes(16)}=`, bytes(16).replace('=', '!'), '!'.repeat(22) + '=='])
    assert.deepEqual(await reason(key(k)), [400, 'BAD_HANDSHAKE'], `key ${k}`);
  for (const method of ['POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH']) {
    const ws = await d.ws({ method });

    assert.equal(ws.status, 405, method);
    assert.equal(ws.headers.allow, 'GET', method);
    ws.destroy();
  }
  assert.equal(await status({ httpVersion: '1.0' }), 400);
});

test('the handshake: no header twice of which one counts, and no body', async () => {
  const twice = [['Sec-WebSocket-Version', '8'], ['Sec-WebSocket-Key', Buffer.alloc(16, 9).toString('base64')], ['Host', '127.0.0.1'], ['Origin', `http://127.0.0.1:${d.port}`],
    ['Upgrade', 'websocket'], ['Authorization', 'Bearer other']];
  const ours = { 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': Buffer.alloc(16, 7).toString('base64'), Host: `127.0.0.1:${d.port}`, Origin: `http://127.0.0.1:${d.port}`, Upgrade: 'websocket',
    Authorization: `Bearer ${d.token}` };

  for (const [name, other] of twice) {
    for (const values of [[ours[name], other], [other, ours[name]], [ours[name], ours[name]]]) {
      const ws = await d.ws({ headers: values.map((v, i) => [i ? name.toLowerCase() : name, v]) });

      assert.notEqual(ws.status, 101, `${name}: ${values}`);
      ws.destroy();
    }
  }
  for (const headers of [{ 'Content-Length': '5' }, { 'Content-Length': '5, 5' }, { 'Content-Length': '-1' }, { 'Transfer-Encoding': 'chunked' }])
    assert.equal((await reason({ headers }))[0], 400, JSON.stringify(headers));
  assert.equal(await status({ headers: { 'Content-Length': '0' } }), 101);
  assert.equal(await status({ headers: [['Connection', 'keep-alive'], ['connection', 'Upgrade']] }), 101, 'a list may be given in parts');
});

test('a misspelt harness of the query is told, names of proxies are not', async () => {
  for (const path of ['/acp?harnes=stub', '/acp?x=1&Harness=stub', '/acp?harnesss'])
    assert.deepEqual(await reason({ path }), [400, 'QUERY_UNKNOWN'], path);
  for (const path of ['/acp?harness=stub', '/acp?x=1&harness=stub', '/acp?trace=abc'])
    assert.equal(await status({ path }), 101, path);
});

test('h2c and other upgrades are refused, on every path', async () => {
  const h2c = { Upgrade: 'h2c', Connection: 'Upgrade, HTTP2-Settings', 'HTTP2-Settings': 'AAMAAABkAARAAAAAAAIAAAAA' };

  for (const path of ['/acp', '/health', '/ready', '/']) {
    for (const token of [d.token, null]) {
      const ws = await d.ws({ path, token, headers: h2c });

      assert.equal(ws.status, 400, path);
      ws.destroy();
    }
    const other = await d.ws({ path, headers: { Upgrade: 'TLS/1.0' } });
    assert.ok(other.status >= 400 && other.status < 500, `${path}: ${other.status}`);
    other.destroy();
  }
});

test('a Connection header with several words is fine', async () => {
  for (const Connection of ['keep-alive, Upgrade', 'upgrade', 'Upgrade,keep-alive', 'keep-alive , UPGRADE'])
    assert.equal(await status({ headers: { Connection } }), 101, Connection);
});

test('too many connections are refused with 503, and room is made again', async () => {
  await withDaemon({ flags: { maxConnections: 3 } }, async (own) => {
    const some = await Promise.all([1, 2, 3].map(() => own.ws()));

    assert.deepEqual(some.map((ws) => ws.status), [101, 101, 101]);
    assert.deepEqual(await reason({}, own), [503, 'TOO_MANY_CONNECTIONS']);
    assert.equal((await own.http('/health')).status, 200);
    some[0].close(1000);
    await some[0].waitClosed();
    assert.equal(await status({}, own), 101);
  });
});
