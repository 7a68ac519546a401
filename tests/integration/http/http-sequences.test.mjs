// SPDX-License-Identifier: Apache-2.0
// Sequences on one connection: what a request leaves behind in the server shows in the next one only. Every method with every mix of
// headers comes first, in the middle and last on a kept connection, closed at every point; the daemon lives, answers whole responses,
// never more of them than requests were made, and nobody without the token gets past /health.

import assert from 'node:assert/strict';
import net from 'node:net';
import test, { after, before } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { deadline, patience, sleep } from '../../lib/rawws.mjs';

let d;

before(async () => {
  // freed memory at the heap's end is given back at once
  d = await Daemon.start({ env: { GLIBC_TUNABLES: 'glibc.malloc.trim_threshold=4096:glibc.malloc.top_pad=0' } });
});
after(() => endInOrder(d));

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE'];
const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const WS = `Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n${KEY}`;
const token = () => `Authorization: Bearer ${d.token}\r\n`;
// [headers, body]
const MIXES = {
  plain: () => [''],
  token: () => [token()],
  'unknown upgrade': () => ['Upgrade: foo\r\nConnection: Upgrade\r\n'],
  'upgrade without a value': () => ['Upgrade:\r\nConnection: Upgrade\r\n'],
  'two upgrades': () => ['Upgrade: websocket\r\nUpgrade: foo\r\nConnection: Upgrade\r\n'],
  h2c: () => ['Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n'],
  'websocket without a key': () => ['Upgrade: websocket\r\nConnection: Upgrade\r\n'],
  'websocket without a token': () => [WS],
  'no body': () => ['Content-Length: 0\r\n'],
  'a body': () => ['Content-Length: 5\r\n', 'hello'],
  'a body that looks like a request': () => ['Content-Length: 24\r\n', 'GET /ready HTTP/1.1\r\n\r\nxx'],
  'chunks, and more than asked for': () => ['Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n', '3\r\nabc\r\n0\r\n\r\n'],
  'both framings': () => ['Content-Length: 3\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'],
  'a negative length': () => ['Content-Length: -1\r\n'],
  'an Origin': () => ['Origin: https://evil.example\r\nAccess-Control-Request-Method: GET\r\n'],
  'Connection: close': () => ['Connection: close\r\n'],
};
const mixes = Object.keys(MIXES);

function request(method, mix, where = '/health') {
  const [headers, body = ''] = MIXES[mix]();
  const target = method === 'CONNECT' ? 'example.com:443' : where;

  return `${method} ${target} HTTP/1.1\r\nHost: 127.0.0.1:${d.port}\r\n${headers}\r\n${body}`;
}

// Whole responses at the start of text; null if something else is in between. heads: which requests were HEAD.
function responses(text, heads) {
  const list = [];

  while (text) {
    const end = text.indexOf('\r\n\r\n');
    const status = /^HTTP\/1\.[01] (\d{3})/.exec(text);

    if (!status)
      return { list, rest: text };
    if (end < 0)
      return { list, rest: '' }; // cut
    const head = text.slice(0, end);
    const length = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    const bodyless = heads[list.length] || status[1] === '101' || status[1] === '100' || status[1] === '204';

    if (status[1] !== '100')
      list.push({ status: Number(status[1]), head, body: bodyless ? '' : text.slice(end + 4, end + 4 + length) });
    text = text.slice(end + 4 + (bodyless ? 0 : length));
    if (status[1] === '101')
      return { list, rest: '' }; // frames
  }
  return { list, rest: '' };
}

// Sends each piece when an answer to the one before has begun to come (or nothing comes, or all at once), then ends.
function talk(pieces, { pipelined = false, cut } = {}) {
  const done = new Promise((resolve) => {
    const socket = net.connect(d.port, '127.0.0.1');
    const queue = pipelined ? [pieces.join('')] : [...pieces];
    let text = '';
    let quiet;
    const next = () => {
      clearTimeout(quiet);
      if (!queue.length) {
        socket.end();
        return;
      }
      socket.write(queue.shift(), 'latin1');
      quiet = setTimeout(next, 40); // some are not answered
    };

    socket.setNoDelay(true);
    socket.on('connect', () => {
      if (cut === undefined)
        return next();
      socket.write(pieces.join('').slice(0, cut), 'latin1', () => socket.destroy());
    });
    socket.on('data', (data) => {
      text += data.toString('latin1');
      clearTimeout(quiet);
      if (!pipelined || !queue.length)
        quiet = setTimeout(next, pipelined ? 40 : 1);
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(quiet);
      resolve(text);
    });
  });

  return deadline(done, 20000, `a connection with ${pieces.length} requests`);
}

async function lives() {
  assert.equal((await d.http('/health')).status, 200);
  assert.equal(d.exit, undefined, 'the daemon lives');
}

async function inParallel(jobs, width = 24) {
  const queue = [...jobs];

  await Promise.all(Array.from({ length: width }, async () => {
    while (queue.length)
      await queue.shift()();
  }));
}

// A connection that has been answered once, and is kept.
const kept = () => deadline(new Promise((resolve) => {
  const socket = net.connect(d.port, '127.0.0.1').on('error', () => {});

  socket.once('data', () => resolve(socket.resume())).write(request('GET', 'plain'));
}), 10000, 'an answer');

// Others have sent half a request, and go; the last one's headers lie behind theirs and are given back to the system.
async function refusedUpgrade(bytes) {
  const half = bytes.indexOf('Upgrade');
  const sockets = [];

  for (let i = 0; i < 20; i++)
    sockets.push(await kept());
  for (const s of sockets)
    await new Promise((resolve) => { s.write(bytes.slice(0, half), resolve); });
  await sleep(20); // until they are read: without a defect it is no matter
  const last = sockets.pop();
  const closed = new Promise((resolve) => { last.once('close', resolve); });
  const open = d.fdCount();

  for (const s of sockets)
    s.destroy();
  for (const end = Date.now() + patience(5000); d.fdCount() > open - sockets.length && Date.now() < end;)
    await sleep(5);
  last.end(bytes.slice(half));
  await deadline(closed, 10000, 'the end of the connection');
}

test('an upgrade that is refused on a kept connection reads nothing that was freed', async () => {
  for (let round = 0; round < 6 && !d.exit; round++)
    await refusedUpgrade(request('GET', 'unknown upgrade'));
  await lives();
});

test('every method with every mix of headers, first, in the middle and last on a kept connection', async () => {
  const all = METHODS.flatMap((method) => mixes.map((mix) => [method, mix]));
  let turn = 0;
  const jobs = all.map(([method, mix], i) => async () => {
    const [m2, x2] = all[(i * 37 + 11) % all.length];
    const steps = [['GET', 'plain'], [method, mix], [m2, x2], ['GET', 'unknown upgrade'], ['HEAD', 'plain']];
    const pieces = steps.map(([m, x]) => request(m, x));
    const text = await talk(pieces, { pipelined: turn++ % 3 === 0 });
    const what = JSON.stringify(steps);
    const { list, rest } = responses(text, steps.map(([m]) => m === 'HEAD'));

    assert.ok(list.length >= 1 && list[0].status === 200, `${what}: the first is answered: ${text.slice(0, 200)}`);
    assert.ok(list.length <= steps.length + 1, `${what}: ${list.length} responses`);
    // the library's own refusal has a body even for HEAD; the connection ends with it
    assert.match(rest, /^(<html>.*<h1>403<\/h1><\/body><\/html>)?$/, `${what}: between responses: ${text}`);
    assert.ok(!text.includes('"incarnation"') && !list.some((r) => r.status === 101), `${what}: served without a token`);
    for (const r of list.filter((x) => x.status >= 500))
      assert.ok(r.status === 503 && /PIPELINING|^$/.test(r.body), `${what}: ${r.status} ${r.body}`);
  });

  await inParallel(jobs);
  await lives();
});

test('a connection may end at every byte of a sequence', async () => {
  const sequences = [
    [request('GET', 'plain'), request('GET', 'unknown upgrade')],
    [request('GET', 'token', '/ready'), request('GET', 'h2c')],
    [request('GET', 'plain'), `GET /acp HTTP/1.1\r\nHost: 127.0.0.1:${d.port}\r\n${WS}${token()}\r\n`, '\x81\x85\0\0\0\0hello\x88\x80\0\0\0\0'],
    [request('PUT', 'chunks, and more than asked for'), request('GET', 'plain')],
  ];

  for (const pieces of sequences) {
    const jobs = Array.from({ length: pieces.join('').length }, (_, cut) => () => talk(pieces, { cut }));

    await inParallel(jobs, 32);
    await lives();
  }
});
