// SPDX-License-Identifier: Apache-2.0
// slow
// How the body of an upload may come: in chunks cut anywhere, after a 100 Continue, cut off, from two clients, behind other requests.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { SLOW, sleep } from '../../lib/rawws.mjs';
import { Raw, chunk, digestOf, head, pathOf, put, tarOf, untilOffset } from '../../lib/archives.mjs';
import { until } from '../../lib/wait.mjs';

const CHUNKED = { 'Transfer-Encoding': 'chunked' };
let d;

before(async () => {
  d = await Daemon.start({ flags: { archiveMax: 4000000 } });
});
after(() => endInOrder(d));

const reason = (res) => [res.status, res.json.error.reason];
const remove = (data) => d.http(pathOf(data), { method: 'DELETE', token: d.token });

test('chunks may be of any size and the bytes may come cut anywhere', async () => {
  const tar = tarOf(5000, 1);
  const cuts = [0, 1, 3, 6, 506, 1017, 1530, 2530, tar.length];
  const extensions = ['', ';a=b', ';q="x;y"', '', ';', '', '', ''];
  const chunks = cuts.slice(1).map((to, i) => chunk(tar.subarray(cuts[i], to), extensions[i]));
  const body = Buffer.concat([...chunks, Buffer.from('000\r\nX-Trailer: 1\r\nY: 2\r\n\r\n')]);

  for (const step of [1, 2, 7, 64, 1000, body.length]) {
    const raw = await Raw.open(d);

    await raw.request('PUT', pathOf(tar), CHUNKED);
    for (let at = 0; at < body.length; at += step)
      await raw.send(body.subarray(at, at + step));
    const res = await raw.answer();
    assert.deepEqual([res.status, res.json.size, res.headers.connection], [201, tar.length, 'close'], `${step} bytes at a time`);
    await raw.end();
    await remove(tar);
  }
});

test('what is not chunked coding ends the connection, and nothing false is stored', async () => {
  const tar = tarOf(600, 2);
  const bad = ['xyz\r\n', '-1\r\n', '0x10\r\n', ' 5\r\nhello\r\n', '5\nhello\n', '5\r\nhelloX', '5 \r\nhello', '10000000000000000\r\n', '\r\n', '5;\x01\r\n',
    `5;${'e'.repeat(300)}\r\n`, `0\r\n${'T: x\r\n'.repeat(1000)}`, `0\r\n${'t'.repeat(5000)}`, '0\r\nA: b\n\r\n'];

  for (const text of bad) {
    const raw = await Raw.open(d);

    await raw.request('PUT', pathOf(tar), CHUNKED);
    await raw.send(text);
    await raw.end();
  }
  assert.equal((await d.http('/v1/archives', { token: d.token })).json.archives.every((a) => a.partial !== undefined), true);
});

test('a body that is framed twice or not at all is refused', async () => {
  const tar = tarOf(600, 3);
  const rows = [[{ 'Content-Length': '5, 6' }, 400], [{ 'Content-Length': '+5' }, 400], [{ 'Content-Length': '-1' }, 400], [{ 'Content-Length': '0x5' }, 400],
    [{ 'Content-Length': '99999999999999999999' }, 400], [{ 'Content-Length': '9'.repeat(100) }, 400], [{ ...CHUNKED, 'Content-Length': '5' }, 400],
    [{ 'Transfer-Encoding': 'gzip, chunked' }, 400], [{ 'Transfer-Encoding': 'identity' }, 400], [{}, 411]];

  for (const [headers, status] of rows) {
    const raw = await Raw.open(d);

    await raw.request('PUT', pathOf(tar), headers);
    const res = await raw.answer();
    assert.deepEqual(reason(res), [status, status === 411 ? 'LENGTH_REQUIRED' : 'BODY_LENGTH_INVALID'], JSON.stringify(headers).slice(0, 60));
    await raw.end();
  }
});

test('100 Continue is sent when it is waited for, and not before a refusal', async () => {
  const tar = tarOf(100000, 4);
  const raw = await Raw.open(d);

  await raw.request('PUT', pathOf(tar), { 'Content-Length': tar.length, Expect: '100-continue' });
  assert.equal((await raw.answer({ head: true })).status, 100);
  await raw.send(tar);
  assert.equal((await raw.answer()).status, 201);
  await raw.request('HEAD', pathOf(tar));
  assert.equal((await raw.answer({ head: true })).status, 200, 'the connection goes on');

  for (const [headers, status] of [[{}, 200], [{ 'Content-Length': 5000000 }, 413], [{ Authorization: 'Bearer no' }, 401], [{ 'Content-Type': 'text/x' }, 415]]) {
    const other = await Raw.open(d);
    const where = status === 200 ? pathOf(tar) : pathOf(tarOf(1, 5));

    await other.request('PUT', where, { 'Content-Length': tar.length, Expect: '100-continue', ...headers });
    assert.equal((await other.answer()).status, status);
    await other.end();
  }
  raw.destroy();
});

test('an early answer reaches a client that is still sending, and the body is not waited for', async () => {
  const tar = tarOf(1000, 6);
  await put(d, tar);

  for (const [where, headers, status] of [[pathOf(tar), {}, 200], ['/v1/archives/x', {}, 400], ['/nope', {}, 404], ['/v1/sessions', {}, 405],
    [pathOf(tarOf(1, 7)), { Authorization: 'Bearer x' }, 401]]) {
    const raw = await Raw.open(d);

    await raw.request('PUT', where, { 'Content-Length': 3000000, ...headers }); // two thirds of it never come
    await raw.send(Buffer.alloc(1000000));
    const res = await raw.answer();
    assert.deepEqual([res.status, res.headers.connection], [status, 'close'], where);
    await raw.end();
  }
});

test('too large is refused before a byte of it where the length is known, else at the limit, and nothing of it stays', async () => {
  const tar = tarOf(4100000, 8);
  const first = await Raw.open(d);
  await first.request('PUT', pathOf(tar), { 'Content-Length': tar.length });
  const known = await first.answer(); // nothing has been sent of the body
  assert.deepEqual(reason(known), [413, 'ARCHIVE_TOO_LARGE']);
  assert.match(known.json.error.message, /\b4000000\b/);
  await first.end();
  assert.deepEqual(reason(await put(d, tar)), [413, 'ARCHIVE_TOO_LARGE']);
  assert.deepEqual(await head(d, tar), { status: 404 });

  const raw = await Raw.open(d);
  await raw.request('PUT', pathOf(tar), CHUNKED);
  for (let at = 0; at < tar.length && !raw.ended; at += 65536)
    await raw.send(chunk(tar.subarray(at, at + 65536)));
  const res = await raw.answer();
  assert.deepEqual(reason(res), [413, 'ARCHIVE_TOO_LARGE']);
  await raw.end();
  assert.deepEqual(await head(d, tar), { status: 404 });
  const range = await put(d, tar.subarray(0, 10), { where: pathOf(tar), headers: { 'Content-Range': 'bytes 0-9/4000001' } });
  assert.deepEqual(reason(range), [413, 'ARCHIVE_TOO_LARGE']);
});

test('chunks with Content-Range: too few and too many bytes are told apart from the end', async () => {
  const tar = tarOf(20000, 9);
  const range = (from, to) => ({ ...CHUNKED, 'Content-Range': `bytes ${from}-${to}/${tar.length}` });
  const send = async (headers, data) => {
    const raw = await Raw.open(d);

    await raw.request('PUT', pathOf(tar), headers);
    await raw.send(Buffer.concat([chunk(data), Buffer.from('0\r\n\r\n')]));
    const res = await raw.answer();
    await raw.end();
    return res;
  };

  assert.deepEqual(reason(await send(range(0, 999), tar.subarray(0, 500))), [400, 'BODY_TOO_SHORT']);
  assert.equal((await head(d, tar)).offset, 500, 'it can be taken up');
  assert.deepEqual(reason(await send(range(500, 999), tar.subarray(500, 1500))), [400, 'BODY_TOO_LONG']);
  assert.equal((await head(d, tar)).offset, 500);
  assert.equal((await send(range(500, 999), tar.subarray(500, 1000))).status, 202);
  assert.equal((await send(range(1000, tar.length - 1), tar.subarray(1000))).status, 201);
});

test('two uploads of one archive: the second is refused, and goes on where a cut or silent first one stopped', async () => {
  const tar = tarOf(300000, 10);
  const first = await Raw.open(d);
  const rest = (from) => put(d, tar.subarray(from), { where: pathOf(tar), headers: { 'Content-Range': `bytes ${from}-${tar.length - 1}/${tar.length}` } });

  await first.request('PUT', pathOf(tar), { 'Content-Length': tar.length });
  let sent = 0;
  const goesOn = async (to) => { // so it is not silent
    await first.send(tar.subarray(sent, to));
    sent = to;
    await untilOffset(d, tar, sent);
  };
  await goesOn(100000);
  assert.deepEqual(reason(await put(d, tar)), [409, 'UPLOAD_IN_PROGRESS']);
  await goesOn(100001);
  assert.deepEqual(reason(await rest(sent)), [409, 'UPLOAD_IN_PROGRESS']);
  await goesOn(100002);
  const busy = await d.http(pathOf(tar), { method: 'DELETE', token: d.token });
  assert.deepEqual(reason(busy), [409, 'UPLOAD_IN_PROGRESS']);
  await sleep(5200);
  assert.equal((await rest(sent)).status, 201, 'the first was silent for five seconds');
  assert.deepEqual(reason(await first.answer()), [409, 'UPLOAD_TAKEN_OVER']);
  await first.end();

  await remove(tar);
  const cut = await Raw.open(d);
  await cut.request('PUT', pathOf(tar), CHUNKED);
  await cut.send(chunk(tar.subarray(0, 50000)));
  await untilOffset(d, tar, 50000);
  cut.destroy();
  await until(async () => (await put(d, tar)).status === 201, 'without Content-Range it begins anew, once the cut is seen');
});

test('many uploads of different archives at once', async () => {
  const tars = Array.from({ length: 12 }, (_, i) => tarOf(300000 + i, 100 + i));
  const results = await Promise.all(tars.map((tar) => put(d, tar)));

  assert.deepEqual(results.map((r) => [r.status, r.json.digest]), tars.map((t) => [201, digestOf(t)]));
  await Promise.all(tars.map(remove));
});

test('HEAD, PUT, GET, DELETE and others on one connection', async () => {
  const raw = await Raw.open(d);

  for (let i = 0; i < 5; i++) {
    const tar = tarOf(150000 + 1000 * i, 20 + i);

    await raw.request('HEAD', pathOf(tar));
    assert.equal((await raw.answer({ head: true })).status, 404);
    await raw.request('PUT', pathOf(tar), { 'Content-Length': tar.length });
    await raw.send(tar);
    assert.equal((await raw.answer()).status, 201);
    await raw.request('GET', pathOf(tar));
    assert.equal(Buffer.compare((await raw.answer()).body, tar), 0);
    await raw.request('PUT', pathOf(tarOf(1, 30)), { 'Content-Length': '5' });
    await raw.send('hello');
    assert.deepEqual(reason(await raw.answer()), [400, 'DIGEST_MISMATCH']);
    await raw.request('DELETE', pathOf(tar));
    assert.equal((await raw.answer()).status, 200);
    await raw.request('GET', '/ready');
    assert.equal((await raw.answer()).json.ready, true);
  }
  assert.ok(!raw.closed);
  raw.destroy();
});

test('requests behind one another in one write: an upload is never mixed up with its neighbours', async () => {
  const tar = tarOf(2000, 40);
  const lines = (method, where, extra = '') => `${method} ${where} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${d.token}\r\n${extra}\r\n`;
  const upload = Buffer.concat([Buffer.from(lines('PUT', pathOf(tar), `Content-Length: ${tar.length}\r\n`)), tar]);
  const ready = Buffer.from(lines('GET', '/ready'));

  for (const [bytes, statuses] of [[[upload, ready], [201, 200]], [[ready, upload], [200, 503]], [[ready, upload, ready], [200, 503]],
    [[ready, ready, upload.subarray(0, 300)], [200, 200, 503]]]) {
    const raw = await Raw.open(d);
    let ends = false;

    await raw.send(Buffer.concat(bytes));
    for (const want of statuses) {
      const { status, headers } = await raw.answer();

      assert.equal(status, want);
      ends = headers.connection === 'close';
      if (ends) // libwebsockets 4.3 loses what comes behind a body: the answer says so
        break;
    }
    if (ends || statuses.includes(503))
      await raw.end();
    raw.destroy();
    assert.equal((await d.http('/health')).status, 200);
    await remove(tar);
  }
});

test('a silent body is given up after a while, and kept', { timeout: 240000 * SLOW }, async () => {
  const tar = tarOf(100000, 50);
  const rows = [[{ 'Content-Length': tar.length }, tar.subarray(0, 1000)], [CHUNKED, chunk(tar.subarray(0, 1000))]];

  await Promise.all(rows.map(async ([headers, bytes], i) => {
    const mine = i ? tarOf(100000, 51) : tar;
    const raw = await Raw.open(d);

    await raw.request('PUT', pathOf(mine), headers);
    await raw.send(i ? chunk(mine.subarray(0, 1000)) : bytes);
    await untilOffset(d, mine, 1000);
    await raw.end(25000);
    assert.equal((await head(d, mine)).offset, 1000);
  }));
});
