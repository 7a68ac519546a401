// SPDX-License-Identifier: Apache-2.0
// /v1/archives as a client uses it: upload, ask, download, delete, take up again; and what is refused.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import zlib from 'node:zlib';
import { promisify } from 'node:util';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { Raw, digestOf, head, pathOf, put, tarOf, untilOffset } from '../../lib/archives.mjs';
import { acpd } from '../run.mjs';

const execute = promisify(execFile);
let d;

before(async () => {
  d = await Daemon.start();
});
after(() => endInOrder(d));

const http = (where, opts = {}) => d.http(where, { token: d.token, ...opts });
const stored = () => fs.readdirSync(path.join(d.stateDir, 'archives')).filter((n) => n !== 'boot');
const reason = (res) => [res.status, res.json.error.reason];

test('an archive is put, found, listed, read back and deleted', async () => {
  const tar = tarOf(100000, 1);
  const digest = digestOf(tar);

  assert.deepEqual(await head(d, tar), { status: 404 });
  const first = await put(d, tar, { headers: { 'Content-Type': 'application/x-tar' } });
  assert.deepEqual([first.status, first.json], [201, { digest, size: tar.length }]);
  assert.deepEqual(await head(d, tar), { status: 200, size: tar.length });
  const again = await put(d, tar);
  assert.deepEqual([again.status, again.json], [200, { digest, size: tar.length }]);

  const res = await fetch(`http://127.0.0.1:${d.port}${pathOf(tar)}`, { headers: { Authorization: `Bearer ${d.token}` } });
  assert.equal(res.status, 200);
  assert.equal(Buffer.compare(Buffer.from(await res.arrayBuffer()), tar), 0);

  const { json: list } = await http('/v1/archives');
  const mine = list.archives.find((a) => a.digest === digest);
  assert.deepEqual({ ...mine, lastUsed: typeof mine.lastUsed }, { digest, size: tar.length, lastUsed: 'string', pinned: false, baked: false });
  assert.ok(list.used >= tar.length && list.limit === 8 * 2 ** 30);

  assert.equal((await http(pathOf(tar), { method: 'DELETE' })).status, 200);
  assert.equal((await head(d, tar)).status, 404);
  assert.deepEqual(reason(await http(pathOf(tar), { method: 'DELETE' })), [404, 'ARCHIVE_NOT_FOUND']);
  assert.deepEqual(reason(await http(pathOf(tar))), [404, 'ARCHIVE_NOT_FOUND']);
});

test('the four kinds are told by their bytes; a declaration must fit', async () => {
  const tar = tarOf(3000, 2);
  const zip = Buffer.concat([Buffer.from('PK\x05\x06'), Buffer.alloc(18)]);
  const zst = Buffer.from('28b52ffd0400010000 99e9d851'.replace(' ', ''), 'hex');
  const kinds = { 'application/x-tar': tar, 'application/gzip': zlib.gzipSync(tar), 'application/zip': zip, 'application/zstd': zst };

  for (const [type, data] of Object.entries(kinds)) {
    for (const other of Object.keys(kinds).filter((k) => k !== type)) {
      const res = await put(d, data, { headers: { 'Content-Type': other } });

      assert.deepEqual(reason(res), [400, 'FORMAT_MISMATCH'], `${type} as ${other}`);
    }
    assert.equal((await put(d, data, { headers: { 'Content-Type': `${type}; x=y` } })).status, 201, type);
  }
  for (const data of [Buffer.from('hello'), Buffer.alloc(0), Buffer.from('BZh91AY&SY'), Buffer.alloc(511)])
    assert.deepEqual(reason(await put(d, data)), [400, 'FORMAT_UNKNOWN'], data.toString('hex').slice(0, 20));
  assert.equal((await put(d, Buffer.alloc(1024))).status, 201, 'an empty tar');
  const ofCurl = { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } };
  assert.equal((await put(d, tarOf(20, 3), ofCurl)).status, 201, 'what curl --data-binary says by itself');
  const unknown = await put(d, tarOf(10, 3), { headers: { 'Content-Type': 'text/plain' } });
  assert.deepEqual(reason(unknown), [415, 'CONTENT_TYPE_UNSUPPORTED']);
});

test('a wrong digest is refused and nothing of it stays', async () => {
  const before = stored();
  const tar = tarOf(200000, 4);
  const where = pathOf(`sha256:${'0'.repeat(64)}`);

  assert.deepEqual(reason(await put(d, tar, { where })), [400, 'DIGEST_MISMATCH']);
  assert.deepEqual(stored(), before);
  assert.deepEqual((await http(where, { method: 'HEAD' })).headers['upload-offset'], undefined);
  for (const name of ['sha256:12', `sha256:${'x'.repeat(64)}`, '0'.repeat(64), `md5:${'0'.repeat(64)}`, `sha256:${'0'.repeat(64)}0`]) {
    for (const method of ['GET', 'DELETE', 'PUT'])
      assert.deepEqual(reason(await http(`/v1/archives/${name}`, { method })), [400, 'DIGEST_INVALID'], `${method} ${name}`);
  }
});

test('methods, queries and the token are checked before anything else', async () => {
  const tar = tarOf(1000, 5);
  const post = await http(pathOf(tar), { method: 'POST', body: 'x' });

  assert.deepEqual([post.status, post.headers.allow], [405, 'GET, PUT, DELETE']);
  assert.deepEqual(reason(await http(`${pathOf(tar)}?x=1`)), [400, 'QUERY_UNKNOWN']);
  assert.deepEqual(reason(await http('/v1/archives?x=1')), [400, 'QUERY_UNKNOWN']);
  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE'])
    assert.equal((await d.http(pathOf(tar), { method, body: method === 'PUT' ? tar : undefined })).status, 401, method);
  assert.equal((await head(d, tar)).status, 404);
});

test('a part of an archive is read by Range', async () => {
  const tar = tarOf(700000, 6);
  const range = (value) => http(pathOf(tar), { headers: { Range: value } });

  await put(d, tar);
  for (const [value, from, to] of [['bytes=0-', 0, tar.length - 1], ['bytes=10-19', 10, 19], [`bytes=${tar.length - 1}-`, tar.length - 1, tar.length - 1],
    ['bytes=5-99999999', 5, tar.length - 1]]) {
    const res = await fetch(`http://127.0.0.1:${d.port}${pathOf(tar)}`, { headers: { Authorization: `Bearer ${d.token}`, Range: value } });
    const body = Buffer.from(await res.arrayBuffer());

    assert.deepEqual([res.status, res.headers.get('content-range')], [206, `bytes ${from}-${to}/${tar.length}`], value);
    assert.equal(Buffer.compare(body, tar.subarray(from, to + 1)), 0, value);
  }
  for (const value of ['bytes=0-1,5-6', 'lines=1-', 'bytes=x-', 'bytes=9-3', 'bytes=-5'])
    assert.equal((await range(value)).status, 200, `${value} is not understood: the whole`);
  const behind = await range(`bytes=${tar.length}-`);
  assert.deepEqual([...reason(behind), behind.headers['content-range']], [416, 'RANGE_NOT_SATISFIABLE', `bytes */${tar.length}`]);
});

test('an upload that was cut off is taken up where it stopped', async () => {
  const tar = tarOf(3000000, 7);
  const cut = 1234567;
  const raw = await Raw.open(d);

  await raw.request('PUT', pathOf(tar), { 'Content-Length': tar.length });
  await raw.send(tar.subarray(0, cut));
  await untilOffset(d, tar, cut);
  raw.destroy();
  assert.deepEqual(reason(await http(pathOf(tar))), [404, 'ARCHIVE_NOT_FOUND']);
  const { json: list } = await http('/v1/archives');
  assert.equal(list.archives.find((a) => a.digest === digestOf(tar)).partial, cut);

  for (const offset of [0, cut - 1, cut + 1]) {
    const res = await put(d, tar.subarray(offset), { where: pathOf(tar), headers: { 'Content-Range': `bytes ${offset}-${tar.length - 1}/${tar.length}` } });

    assert.deepEqual([...reason(res), res.headers.get('upload-offset')], [409, 'OFFSET_MISMATCH', String(cut)], `${offset}`);
  }
  const res = await put(d, tar.subarray(cut), { where: pathOf(tar), headers: { 'Content-Range': `bytes ${cut}-${tar.length - 1}/${tar.length}` } });
  assert.deepEqual([res.status, res.json.size], [201, tar.length]);
  assert.equal((await head(d, tar)).status, 200);
});

test('an archive may come in pieces, and be finished later', async () => {
  const tar = tarOf(500000, 8);
  const where = pathOf(tar);
  const piece = (from, to, total = tar.length) => put(d, tar.subarray(from, to + 1), { where, headers: { 'Content-Range': `bytes ${from}-${to}/${total}` } });

  for (const [from, to] of [[0, 99], [100, 199999], [200000, tar.length - 2]]) {
    const res = await piece(from, to);

    assert.deepEqual([res.status, res.json.partial, res.headers.get('upload-offset')], [202, to + 1, String(to + 1)]);
  }
  assert.deepEqual(reason(await put(d, Buffer.alloc(0), { where, headers: { 'Content-Range': `bytes */${tar.length}` } })), [409, 'OFFSET_MISMATCH']);
  assert.equal((await piece(tar.length - 1, tar.length - 1, tar.length + 1)).status, 202);
  assert.equal((await put(d, Buffer.alloc(0), { where, headers: { 'Content-Range': `bytes */${tar.length}` } })).status, 201);
});

test('a Content-Range that says something else than the body is refused', async () => {
  const tar = tarOf(1000, 9);
  const where = pathOf(tar);
  const n = tar.length;

  for (const value of [`bytes 0-${n}/${n}`, `bytes 0-${n - 2}/${n}`, `bytes 1-0/${n}`, 'bytes 0-9', `0-${n - 1}/${n}`, `bytes 0-${n - 1}/*`, `bytes */${n}`,
    `bytes 0-${n - 1}/18446744073709551616`, 'x'.repeat(200), `bytes -1-${n}/${n}`]) {
    const res = await put(d, tar, { where, headers: { 'Content-Range': value } });

    assert.deepEqual(reason(res), [400, 'CONTENT_RANGE_INVALID'], value.slice(0, 40));
  }
});

test('a part and an archive survive daemons, one that was killed included', async (t) => {
  const own = await Daemon.start();
  t.after(() => own.stop());
  const tar = tarOf(900000, 10);
  const other = tarOf(2000, 11);
  const raw = await Raw.open(own);

  await put(own, other);
  await raw.request('PUT', pathOf(tar), { 'Content-Length': tar.length });
  await raw.send(tar.subarray(0, 400000));
  await untilOffset(own, tar, 400000);
  await own.stop({ keep: true });
  await own.restart();
  assert.equal((await head(own, tar)).offset, 400000, 'what was taken was written');
  assert.equal((await head(own, other)).status, 200);
  const more = await put(own, tar.subarray(400000, 600000), { where: pathOf(tar), headers: { 'Content-Range': `bytes 400000-599999/${tar.length}` } });
  assert.equal(more.status, 202);
  await own.kill9();
  await own.restart();
  const { offset } = await head(own, tar);
  assert.ok(offset >= 400000 && offset <= 600000);
  const res = await put(own, tar.subarray(offset), { where: pathOf(tar), headers: { 'Content-Range': `bytes ${offset}-${tar.length - 1}/${tar.length}` } });
  assert.equal(res.status, 201, JSON.stringify(res.json));
});

test('archives of the image are there, and stay', async () => {
  const baked = fs.mkdtempSync(path.join(path.dirname(d.dir), 'acpd-baked-'));
  const tar = tarOf(5000, 12);
  const name = digestOf(tar).slice(7);

  fs.writeFileSync(path.join(baked, name), tar);
  fs.writeFileSync(path.join(baked, 'README'), 'not an archive');
  const own = await Daemon.start({ flags: { archivesBaked: baked } });
  const token = { token: own.token };
  assert.deepEqual(await head(own, tar), { status: 200, size: tar.length });
  assert.equal((await put(own, tar)).status, 200);
  assert.deepEqual((await own.http('/v1/archives', token)).json.archives, [{ digest: `sha256:${name}`, size: tar.length, pinned: false, baked: true }]);
  assert.deepEqual(reason(await own.http(pathOf(tar), { ...token, method: 'DELETE' })), [403, 'ARCHIVE_BAKED']);
  assert.equal((await own.http('/v1/archives', token)).json.used, 0);
  await own.stop();
  assert.equal(Buffer.compare(fs.readFileSync(path.join(baked, name)), tar), 0);
  fs.rmSync(baked, { recursive: true });
});

test('curl uploads a file, a pipe and a file again', async () => {
  const tar = tarOf(2500000, 13);
  const gz = zlib.gzipSync(tar, { level: 1 });
  const dir = path.join(d.dir, 'curl');

  fs.mkdirSync(dir);
  fs.writeFileSync(path.join(dir, 'a.tar'), tar);
  fs.writeFileSync(path.join(dir, 'a.tar.gz'), gz);
  for (const [file, data, args, want] of [['a.tar', tar, ['-T', path.join(dir, 'a.tar')], 201], ['a.tar.gz', gz, ['-T', '-'], 201],
    ['a.tar', tar, ['-T', path.join(dir, 'a.tar')], 200], ['a.tar.gz', gz, ['-T', '-'], 200]]) {
    const url = `http://127.0.0.1:${d.port}${pathOf(data)}`;
    const { stdout } = await execute('sh', ['-c', 'f=$1; shift; cat "$f" | curl -sS --max-time 20 --expect100-timeout 60 -w "\\n%{http_code}" "$@"', 'sh',
      path.join(dir, file), '-H', `Authorization: Bearer ${d.token}`, ...args, url]);

    assert.equal(Number(stdout.split('\n').at(-1)), want, `${file} ${args}`); // without a 100 Continue it would wait too long
  }
});

test('acpd archive put, have, get', async () => {
  const tar = tarOf(1500000, 14);
  const file = path.join(d.dir, 'cli.tar');
  const env = { ACPD_URL: `http://127.0.0.1:${d.port}`, ACPD_TOKEN_FILE: d.tokenFile };
  const run = (args, opts) => acpd(['archive', ...args], { env, ...opts });
  const digest = digestOf(tar);
  const raw = await Raw.open(d);

  fs.writeFileSync(file, tar);
  assert.deepEqual([(await run(['have', digest])).code, (await run(['get', digest])).code], [1, 1]);
  await raw.request('PUT', pathOf(tar), { 'Content-Length': tar.length });
  await raw.send(tar.subarray(0, 600000));
  await untilOffset(d, tar, 600000);
  raw.destroy();
  const first = await run(['put', file, '--json']);
  assert.deepEqual([first.code, JSON.parse(first.stdout)], [0, { digest, size: tar.length, sent: tar.length - 600000 }]);
  const again = await run(['put', file, '--json']);
  assert.equal(JSON.parse(again.stdout).sent, 0);
  assert.deepEqual([(await run(['have', digest])).stdout, (await run(['put', file])).stdout], [`${digest}\n`, `${digest}\n`]);
  assert.equal((await run(['get', digest, '-o', `${file}.back`])).code, 0);
  assert.equal(Buffer.compare(fs.readFileSync(`${file}.back`), tar), 0);

  fs.writeFileSync(file, crypto.randomBytes(1000));
  const bad = await run(['put', file]);
  assert.equal(bad.code, 3);
  assert.match(bad.stderr, /^acpd: FORMAT_UNKNOWN: .+\n$/);
  assert.equal((await run(['put', '/nonexistent'])).code, 1);
  assert.equal((await run(['have', 'sha256:12'])).code, 2);
  assert.equal((await run(['have', digest, '--token-file', '/dev/null'])).code, 6);
  assert.equal((await run(['have', digest, '--url', 'http://127.0.0.1:1'])).code, 6);
});
