// SPDX-License-Identifier: Apache-2.0
// /ui: the files of the run viewer as the daemon serves them. What the page does with them: ../../ui/.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import test, { after, before } from 'node:test';
import zlib from 'node:zlib';
import { execFileSync } from 'node:child_process';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { constant } from '../../lib/tables.mjs';
import { until } from '../../lib/wait.mjs';

const SCRIPT = `// ${'x'.repeat(6 << 20)}\n`; // more than sockets hold
const FILES = { 'index.html': '<!doctype html><title>t</title>', 'app.js': SCRIPT, 'app.js.gz': zlib.gzipSync(SCRIPT), 'app.css': 'a{}', 'licenses.txt': 'x' };

let dir, d;
before(async () => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-viewer-'));
  for (const [name, content] of Object.entries(FILES))
    fs.writeFileSync(path.join(dir, name), content);
  d = await Daemon.start({ flags: { uiDir: dir, maxConnections: 4 } });
});
after(async () => {
  await endInOrder(d);
  fs.rmSync(dir, { recursive: true });
});

const reasonOf = (res) => [res.status, res.json?.error?.reason ?? JSON.parse(res.body).error.reason];

test('each file has its type, and the headers that keep the page to itself', async () => {
  for (const [where, type, content] of [['/ui/', 'text/html; charset=utf-8', FILES['index.html']], ['/ui/app.js', 'text/javascript; charset=utf-8', SCRIPT],
    ['/ui/app.css', 'text/css; charset=utf-8', 'a{}'], ['/ui/?token=x', 'text/html; charset=utf-8', FILES['index.html']]]) {
    const res = await d.http(where);

    assert.deepEqual([res.status, res.headers['content-type'], res.body === content], [200, type, true], where);
    assert.equal(res.headers['content-security-policy'], "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
      "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    assert.equal(res.headers['x-content-type-options'], 'nosniff');
    assert.equal(res.headers['referrer-policy'], 'no-referrer');
    assert.equal(res.headers['cross-origin-opener-policy'], 'same-origin');
    assert.equal(res.headers['cache-control'], 'no-cache');
    const head = await d.http(where, { method: 'HEAD' });

    assert.deepEqual([head.status, head.body, head.headers.etag, head.headers['content-length']], [200, '', res.headers.etag, `${content.length}`], where);
  }
});

test('/ui leads to /ui/, relative to where it is; another method is refused', async () => {
  const res = await d.http('/ui');

  assert.deepEqual([res.status, res.headers.location], [308, 'ui/']);
  assert.equal((await d.http('/ui/', { method: 'POST', token: d.token })).status, 405);
});

test('what a browser has is not sent again, until the file is another', async () => {
  const { etag } = (await d.http('/ui/app.css')).headers;
  const again = (tag) => d.http('/ui/app.css', { headers: { 'If-None-Match': tag } });

  assert.match(etag, /^"[^"]+"$/);
  for (const tag of [etag, `"other", ${etag}`]) {
    const res = await again(tag);

    assert.deepEqual([res.status, res.body, res.headers.etag], [304, '', etag]);
  }
  assert.equal((await again('"other"')).status, 200);
  fs.writeFileSync(path.join(dir, 'app.css'), 'bb{}');
  const res = await again(etag);

  assert.deepEqual([res.status, res.body], [200, 'bb{}']);
  assert.notEqual(res.headers.etag, etag);
});

test('gzip for who takes it, under another tag', async () => {
  const script = path.join(dir, 'got');

  execFileSync('curl', ['-sf', '--compressed', '-o', script, `http://127.0.0.1:${d.port}/ui/app.js`]);
  assert.ok(fs.readFileSync(script, 'utf8') === SCRIPT);
  const packed = await d.http('/ui/app.js', { method: 'HEAD', headers: { 'Accept-Encoding': 'br, gzip;q=0.9' } });
  const plain = await d.http('/ui/app.js', { method: 'HEAD', headers: { 'Accept-Encoding': 'br' } });

  assert.deepEqual([packed.headers['content-encoding'], packed.headers['content-length']], ['gzip', `${FILES['app.js.gz'].length}`]);
  assert.deepEqual([plain.headers['content-encoding'], plain.headers['content-length']], [undefined, `${SCRIPT.length}`]);
  assert.notEqual(packed.headers.etag, plain.headers.etag);
  const css = await d.http('/ui/app.css', { headers: { 'Accept-Encoding': 'gzip' } }); // has no packed form

  assert.deepEqual([css.status, css.headers['content-encoding']], [200, undefined]);
});

test('no other name is served, and only regular files', async (t) => {
  for (const where of ['/ui/licenses.txt', '/ui/index.html', '/ui/app.js.gz', '/ui/app.js/', '/ui/../app.js', '/ui/%2e%2e/app.js', '/ui/..%2fapp.js',
    '/uix'])
    assert.notEqual((await d.http(where)).status, 200, where);
  const own = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-viewer-'));
  const other = await Daemon.startFor(t, { flags: { uiDir: own } });

  t.after(() => fs.rmSync(own, { recursive: true }));
  fs.symlinkSync(path.join(dir, 'index.html'), path.join(own, 'index.html'));
  execFileSync('mkfifo', [path.join(own, 'app.js')]);
  fs.mkdirSync(path.join(own, 'app.css'));
  for (const where of ['/ui/', '/ui/app.js', '/ui/app.css'])
    assert.deepEqual(reasonOf(await other.http(where)), [404, 'VIEWER_NOT_INSTALLED'], where);
});

test('what make ui builds is found beside the build', async (t) => {
  const build = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-viewer-build-')), program = path.join(build, 'release/acpd');

  t.after(() => fs.rmSync(build, { recursive: true }));
  fs.chmodSync(build, 0o755);
  fs.mkdirSync(path.dirname(program));
  fs.copyFileSync(process.env.ACPD, program);
  fs.cpSync(dir, path.join(build, 'ui'), { recursive: true });
  const built = await Daemon.startFor(t, { program, env: { ACPD_UNPACK: path.join(path.dirname(process.env.ACPD), 'acpd-unpack') } });

  assert.deepEqual([(await built.http('/ui/')).status, (await built.http('/ui/app.js')).status], [200, 200]);
});

test('an unclaimed daemon serves it; one that has none says so', async (t) => {
  const unclaimed = await Daemon.startFor(t, { token: null, flags: { uiDir: dir } });
  const none = await Daemon.startFor(t, { flags: { uiDir: path.join(dir, 'none') } });

  assert.equal((await unclaimed.http('/ui/')).status, 200);
  assert.deepEqual(reasonOf(await unclaimed.http('/v1/info')), [503, 'UNCLAIMED']);
  assert.deepEqual(reasonOf(await none.http('/ui/')), [404, 'VIEWER_NOT_INSTALLED']);
});

test('the page of the daemon itself may ask it, on every way; others may not', async () => {
  for (const scheme of ['http', 'https'])
    for (const host of [`127.0.0.1:${d.port}`, `localhost:${d.port}`, '2270-abc.e2b.app']) {
      const headers = { Host: host, Origin: `${scheme}://${host}` };

      assert.equal((await d.http('/v1/info', { token: d.token, headers })).status, 200, headers.Origin);
      assert.equal((await d.http('/v1/info', { token: d.token, headers: { ...headers, Host: '127.0.0.1:1' } })).status, 403, headers.Origin);
    }
  const headers = { Host: '3000-abc.e2b.app', Origin: 'https://2270-abc.e2b.app' };

  assert.deepEqual(reasonOf(await d.http('/ui/', { headers })), [403, 'ORIGIN_NOT_ALLOWED']);
});

test('who has no token and does not read keeps nobody out', async () => {
  const most = constant('STRANGERS_MAX'), before = d.fdCount();
  const sockets = Array.from({ length: most + 40 }, () => {
    const s = net.connect(d.port, '127.0.0.1');

    s.on('error', () => {});
    s.write(`GET /ui/app.js HTTP/1.1\r\nHost: 127.0.0.1:${d.port}\r\n\r\n`);
    s.pause();
    return s;
  });

  try {
    await until(() => d.fdCount() >= before + most, 'they are there');
    const c = await d.client(); // though --max-connections is 4

    assert.equal((await d.http('/ui/app.css')).status, 200);
    await until(() => d.fdCount() <= before + 2 * (most + 1) + 1, 'no more than so many are kept'); // a socket and a file each
    await c.close();
  } finally {
    for (const s of sockets)
      s.destroy();
  }
  await until(() => d.fdCount() <= before, 'their descriptors are closed');
});
