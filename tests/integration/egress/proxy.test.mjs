// acpd-proxy with real clients and servers: what passes, what is refused and why, and what is told of it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import tls from 'node:tls';
import { after, before, describe, it } from 'node:test';
import WebSocket from 'ws';
import { available } from '../../lib/egress.mjs';
import { ownPort } from '../../lib/ports.mjs';
import { until } from '../../lib/wait.mjs';
import { connect, curl, raw, sendSecond, startWorld } from './world.mjs';

describe('acpd-proxy', { skip: !available && 'acpd-proxy is not built' }, () => {
  let world, door, rules;

  before(async () => {
    world = await startWorld();
    const ports = [world.ports.plain, world.ports.tls, 443, 80];
    rules = { mode: 'allowlist', allow: [
      ...['good.test', '*.good.test', 'twice.test', 'private.test', 'six.test', 'cloud.test', 'rebind.test', 'nothing.test', 'missing.test', '127.0.0.1',
        '::1', '169.254.169.254', 'metadata.google.internal'].map((host) => ({ host, ports })),
      { host: 'front.test' }] };
    door = await world.proxy.open(rules);
    assert.equal(door.did, 'open', door.why);
  });
  after(() => world?.stop());

  const blocked = (host) => world.proxy.next('blocked', (s) => s.door === door.door && s.host === host);
  const refused = async (host, want, port = world.ports.tls) => {
    const { status, reason, socket } = await connect(door.port, `${host}:${port}`);
    socket.destroy();
    assert.equal(reason, want, host);
    return status;
  };

  // The next that comes of it.
  const hears = async (socket) => {
    const came = once(socket, 'data');
    socket.resume();
    return String((await came)[0]);
  };

  // --- what passes

  it('a plain request, without what is for the proxy', async () => {
    const got = await curl(world, door, '-H', 'Proxy-Authorization: x', '-H', 'Connection: X-Mine', '-H', 'X-Mine: 1', '-H', 'X-Kept: 1', '-d', 'body',
      `http://good.test:${world.ports.plain}/a?b=c`);
    const said = JSON.parse(got.out.split('\r\n\r\n')[1]);
    assert.deepEqual([said.url, said.method, said.body], ['/a?b=c', 'POST', 'body']);
    assert.equal(said.headers.host, `good.test:${world.ports.plain}`);
    assert.equal(said.headers.connection, 'close');
    assert.equal(said.headers['x-kept'], '1');
    for (const name of ['proxy-authorization', 'proxy-connection', 'x-mine']) assert.equal(said.headers[name], undefined, name);
    assert.match(got.out, /Connection: close/);
    assert.doesNotMatch(got.out, /x-hop/i);
  });

  it('a chunked body, and only one request of a connection', async () => {
    const port = world.ports.plain, head = `Host: good.test:${port}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const more = `GET http://front.test:${port}/second HTTP/1.1\r\nHost: front.test:${port}\r\n\r\n`;
    const got = await raw(door.port, `POST http://good.test:${port}/ HTTP/1.1\r\n${head}4\r\nabcd\r\n3\r\nefg\r\n0\r\n\r\n${more}`, { keep: true });
    assert.match(got, /"body":"abcdefg"/);
    assert.equal(got.split('HTTP/1.1 200').length, 2);
    assert.doesNotMatch(got, /second/);
  });

  it('the end of the connection comes with the end of the answer, also if the server goes on', async () => {
    const answer = 'HTTP/1.1 500 No\r\nContent-Length: 4\r\n\r\n';
    const server = net.createServer((socket) => socket.on('error', () => {}).once('data', () => socket.write(`${answer}bo`, () => socket.write('dy and more'))));
    await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
    const { port } = server.address(), own = await world.proxy.open({ mode: 'allowlist', allow: [{ host: 'good.test', ports: [port] }] });
    const got = await raw(own.port, `GET http://good.test:${port}/ HTTP/1.1\r\nHost: good.test:${port}\r\n\r\n`, { keep: true });
    assert.match(got, /\r\n\r\nbody$/);
    world.proxy.tell({ do: 'close', door: own.door });
    server.close();
  });

  it('TLS through a tunnel, to a name, one below a suffix, and an address', async () => {
    for (const host of ['good.test', 'GOOD.test.', 'sub.good.test'])
      assert.match((await curl(world, door, `https://${host}:${world.ports.tls}/x`)).out, /"url":"\/x"/, host);
    const address = await curl(world, door, '-k', `https://127.0.0.1:${world.ports.tls}/y`);
    assert.match(address.out, /"url":"\/y"/);
  });

  it('the next address of a name, and one look-up for a connection', async () => {
    const before = world.dns.asked['twice.test'] ?? 0;
    assert.match((await curl(world, door, `https://twice.test:${world.ports.tls}/z`)).out, /"url":"\/z"/);
    assert.equal(world.dns.asked['twice.test'], before + 1);
  });

  it('WebSocket, plain and through a tunnel', async () => {
    const { socket } = await connect(door.port, `good.test:${world.ports.tls}`);
    const plain = new WebSocket(`ws://good.test:${world.ports.plain}/ws`, {
      createConnection: () => net.connect(door.port, '127.0.0.1'),
      finishRequest: (req) => { req.path = `http://good.test:${world.ports.plain}/ws`; req.end(); },
    });
    const secure = new WebSocket(`wss://good.test:${world.ports.tls}/ws`, {
      createConnection: () => tls.connect({ socket, servername: 'good.test', rejectUnauthorized: false }),
    });
    await Promise.all([plain, secure].map((ws) => once(ws, 'open')));
    for (const ws of [plain, secure]) {
      for (const text of ['one', 'x'.repeat(100000)]) {
        ws.send(text);
        assert.equal(String((await once(ws, 'message'))[0]), `echo ${text}`);
      }
      ws.close();
      await once(ws, 'close');
    }
  });

  it('an event stream as it comes', async () => {
    const url = `http://good.test:${world.ports.plain}/sse`;
    const [res] = await once(http.get({ host: '127.0.0.1', port: door.port, path: url, headers: { host: new URL(url).host } }), 'response');
    const came = [];
    res.on('data', (b) => {
      came.push(String(b));
      if (came.length === 1)
        sendSecond(); // the first came before the second was there
    });
    await once(res, 'end');
    assert.deepEqual(came, ['data: 1\n\n', 'data: 2\n\n']);
  });

  it('a half-close, both ways, and a server that speaks first', async () => {
    const far = net.createServer({ allowHalfOpen: true }, (s) => {
      s.write('hello ');
      s.on('data', (b) => s.write(`got ${b} `)).on('end', () => s.end('bye'));
    });
    const port = await new Promise((go) => far.listen(0, '127.0.0.1', () => go(far.address().port)));
    const own = await world.proxy.open({ mode: 'allowlist', allow: [{ host: 'good.test', ports: [port] }] });
    const { socket, status } = await connect(own.port, `good.test:${port}`);
    assert.equal(status, 200);
    assert.equal(await hears(socket), 'hello ');
    socket.end('something');
    let rest = '';
    socket.on('data', (b) => { rest += b; });
    await once(socket, 'end');
    assert.equal(rest, 'got something bye');
    far.close();
    world.proxy.tell({ do: 'close', door: own.door });
  });

  // --- what is refused

  it('a host that no entry names, a port, and the suffix itself', async () => {
    assert.equal(await refused('other.test', 'HOST_NOT_ALLOWED'), 403);
    assert.equal(await refused('good.test', 'PORT_NOT_ALLOWED', 22), 403);
    assert.equal(await refused('xgood.test', 'HOST_NOT_ALLOWED'), 403);
    assert.equal((await curl(world, door, `http://other.test:${world.ports.plain}/`)).reason, 'HOST_NOT_ALLOWED');
    const told = await blocked('other.test');
    assert.deepEqual([told.port, told.reason], [world.ports.tls, 'HOST_NOT_ALLOWED']);
    assert.equal(world.proxy.of('blocked', door.door).filter((s) => s.host === 'other.test').length, 1);
  });

  it('addresses that are not public, however they are written or named', async () => {
    for (const host of ['private.test', 'six.test', 'cloud.test', '[::1]', '169.254.169.254', 'metadata.google.internal'])
      assert.equal(await refused(host, 'ADDRESS_NOT_ALLOWED', 443), 403, host);
    for (const host of ['0x7f.1', '2130706433', '0177.0.0.1', '127.1', '%31%32%37.0.0.1', '127.0.0.1%00.good.test'])
      assert.equal(await refused(host, 'HOST_INVALID', 443), 400, host);
    assert.equal((await blocked('0x7f.1')).reason, 'HOST_INVALID');
    assert.equal(await refused('[::ffff:127.0.0.1]', 'HOST_NOT_ALLOWED', 443), 403);
  });

  it('a name that means another address each time', async () => {
    for (let i = 0; i < 3; i++) await refused('rebind.test', 'ADDRESS_NOT_ALLOWED', world.ports.tls);
    assert.equal(world.dns.asked['rebind.test'], 3);
  });

  it('names that are not there', async () => {
    assert.equal(await refused('missing.test', 'NAME_NOT_FOUND'), 502);
    assert.equal(await refused('nothing.test', 'NAME_NOT_FOUND'), 502);
    const port = await ownPort();
    const own = await world.proxy.open({ mode: 'allowlist', allow: [{ host: 'good.test', ports: [port] }] });
    const { reason, status, socket } = await connect(own.port, `good.test:${port}`);
    assert.deepEqual([reason, status], ['CONNECT_FAILED', 502]);
    socket.destroy();
    world.proxy.tell({ do: 'close', door: own.door });
  });

  it('TLS that names another host, or none', async () => {
    const own = await world.proxy.open({ mode: 'allowlist', allow: [{ host: 'good.test', ports: [world.ports.tls] }] });
    const handshake = async (servername) => {
      const { socket } = await connect(own.port, `good.test:${world.ports.tls}`);
      const secure = tls.connect({ socket, ...(servername ? { servername } : {}), rejectUnauthorized: false });
      return await new Promise((go) => secure.on('secureConnect', () => { secure.destroy(); go('open'); }).on('error', (e) => go(e.code)));
    };
    assert.equal(await handshake('good.test'), 'open');
    assert.match(await handshake('front.test'), /ALERT|DENIED/);
    const told = await world.proxy.next('blocked', (s) => s.door === own.door);
    assert.deepEqual([told.host, told.reason], ['good.test', 'SNI_MISMATCH']);
    const other = await world.proxy.open({ mode: 'allowlist', allow: [{ host: 'sub.good.test', ports: [world.ports.tls] }] });
    const { socket } = await connect(other.port, `sub.good.test:${world.ports.tls}`);
    const unnamed = tls.connect({ socket, rejectUnauthorized: false });
    assert.match(await new Promise((go) => unnamed.on('error', (e) => go(e.code))), /ALERT|DENIED/);
    assert.equal((await world.proxy.next('blocked', (s) => s.door === other.door)).reason, 'SNI_MISSING');
  });

  it('what is not TLS, to a port that no entry writes', { skip: process.getuid() !== 0 && 'needs port 80' }, async () => {
    let came = '';
    const far = net.createServer((s) => s.on('data', (b) => { came += b; }).on('error', () => {}));
    await new Promise((go) => far.listen(80, '127.77.3.4', go));
    const own = await world.proxy.open({ mode: 'allowlist', allow: [{ host: 'usual.test' }] });
    const { socket, status } = await connect(own.port, 'usual.test:80');
    assert.equal(status, 200);
    socket.on('error', () => {}).resume().write('GET / HTTP/1.1\r\nHost: elsewhere.test\r\n\r\n');
    await once(socket, 'close');
    assert.equal(came, '');
    assert.equal((await world.proxy.next('blocked', (s) => s.door === own.door)).reason, 'NOT_TLS');
    far.close();
    world.proxy.tell({ do: 'close', door: own.door });
  });

  it('a Host that is another one, and requests whose end is unclear', async () => {
    const port = world.ports.plain, url = `http://good.test:${port}/`, host = `Host: good.test:${port}\r\n`;
    const rows = [
      [`GET ${url} HTTP/1.1\r\nHost: front.test:${port}\r\n\r\n`, 'HOST_MISMATCH'],
      [`GET ${url} HTTP/1.1\r\n${host}${host}\r\n`, 'REQUEST_INVALID'],
      [`POST ${url} HTTP/1.1\r\n${host}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n`, 'REQUEST_INVALID'],
      [`GET ${url} HTTP/1.1\r\n${host}X: a\r\n b\r\n\r\n`, 'REQUEST_INVALID'],
      [`GET ${url} HTTP/1.1\r\n${host}X: a\nY: b\r\n\r\n`, 'REQUEST_INVALID'],
      [`GET / HTTP/1.1\r\n${host}\r\n`, 'REQUEST_INVALID'],
      [`GET ${url} HTTP/1.1\r\n${host}X: ${'a'.repeat(33000)}\r\n\r\n`, 'REQUEST_TOO_LARGE'],
    ];
    for (const [text, want] of rows) {
      const got = await raw(door.port, text, { keep: true });
      assert.equal(/acpd-reason: (\S+)/.exec(got)?.[1], want, text.slice(0, 200));
    }
  });

  it('a server that does not speak HTTP', async () => {
    const far = net.createServer((s) => s.end('SSH-2.0-x\r\n'));
    const port = await new Promise((go) => far.listen(0, '127.0.0.1', () => go(far.address().port)));
    const own = await world.proxy.open({ mode: 'allowlist', allow: [{ host: 'good.test', ports: [port] }] });
    assert.equal((await curl(world, own, `http://good.test:${port}/`)).reason, 'ANSWER_INVALID');
    far.close();
    world.proxy.tell({ do: 'close', door: own.door });
  });

  // --- rules of a live session

  it('what new rules do not allow is closed, and what they do goes on', async () => {
    const own = await world.proxy.open(rules);
    const kept = await connect(own.port, `good.test:${world.ports.plain}`);
    const lost = await connect(own.port, `sub.good.test:${world.ports.plain}`);
    let over = false;
    lost.socket.on('close', () => { over = true; }).on('error', () => {}).resume();
    world.proxy.tell({ do: 'rules', door: own.door, rules: { mode: 'allowlist', allow: [{ host: 'good.test', ports: [world.ports.plain] }] } });
    await until(() => over, 'the tunnel is closed');
    kept.socket.write(`GET /kept HTTP/1.1\r\nHost: x\r\n\r\n`);
    assert.match(await hears(kept.socket), /kept/);
    kept.socket.destroy();
    world.proxy.tell({ do: 'close', door: own.door });
  });

  it('modes off and on', async () => {
    const off = await world.proxy.open({ mode: 'off' }), on = await world.proxy.open({ mode: 'on' });
    assert.equal((await curl(world, off, `https://good.test:${world.ports.tls}/`)).reason, 'HOST_NOT_ALLOWED');
    assert.match((await curl(world, on, `https://front.test:${world.ports.tls}/on`)).out, /"url":"\/on"/);
    assert.equal((await curl(world, on, 'https://private.test/')).reason, 'ADDRESS_NOT_ALLOWED');
    for (const { door: n } of [off, on]) world.proxy.tell({ do: 'close', door: n });
  });

  it('a host is asked for once; yes opens it, no keeps it shut', async () => {
    const own = await world.proxy.open({ mode: 'allowlist', ask: true });
    const url = (host) => `https://${host}:${world.ports.tls}/asked`;
    const waiting = [curl(world, own, url('good.test')), curl(world, own, url('good.test'))];
    const told = await world.proxy.next('ask', (s) => s.door === own.door && s.host === 'good.test');
    assert.equal(told.port, world.ports.tls);
    world.proxy.tell({ do: 'answer', door: own.door, host: 'good.test', allow: true });
    for (const got of await Promise.all(waiting)) assert.match(got.out, /"url":"\/asked"/);
    const no = curl(world, own, url('sub.good.test'));
    await world.proxy.next('ask', (s) => s.door === own.door && s.host === 'sub.good.test');
    world.proxy.tell({ do: 'answer', door: own.door, host: 'sub.good.test', allow: false });
    assert.equal((await no).reason, 'ASK_DENIED');
    assert.equal((await curl(world, own, url('sub.good.test'))).reason, 'ASK_DENIED');
    assert.equal(world.proxy.of('ask', own.door).length, 2);
    // 20 may be open
    const open = Array.from({ length: 20 }, (_, i) => connect(own.port, `h${i}.test:443`));
    await until(() => world.proxy.of('ask', own.door).length === 22, '20 more questions');
    const { reason, socket } = await connect(own.port, 'more.test:443');
    assert.equal(reason, 'ASK_TOO_MANY');
    socket.destroy();
    world.proxy.tell({ do: 'rules', door: own.door, rules: { mode: 'allowlist' } });
    for (const { reason: why, socket: s } of await Promise.all(open)) {
      assert.equal(why, 'HOST_NOT_ALLOWED');
      s.destroy();
    }
    world.proxy.tell({ do: 'close', door: own.door });
  });

  it('bytes are counted by host', async () => {
    const own = await world.proxy.open(rules);
    await curl(world, own, '-d', 'x'.repeat(50000), `http://good.test:${world.ports.plain}/`);
    await until(() => world.proxy.of('used', own.door).reduce((n, s) => n + s.up, 0) > 50000, 'up is told');
    await until(() => world.proxy.of('used', own.door).reduce((n, s) => n + s.down, 0) > 50000, 'down is told');
    assert.deepEqual([...new Set(world.proxy.of('used', own.door).map((s) => s.host))], ['good.test']);
    world.proxy.tell({ do: 'close', door: own.door });
  });
});
