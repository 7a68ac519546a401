// SPDX-License-Identifier: Apache-2.0
// A claim by E2B's access token, against the hash in the metadata service. The service here is a fake on loopback: what it says is
// what E2B's says, and then all that a real one might do wrong.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import test, { after } from 'node:test';
import { assertNoViolations } from '../../lib/acp.mjs';
import { withDaemon } from '../../lib/daemon.mjs';
import { sleep } from '../../lib/rawws.mjs';
import { steady, until, withLimit } from '../../lib/wait.mjs';
import { unlessReset } from '../robust/away.mjs';
import { acpd } from '../run.mjs';

after(assertNoViolations);

const ACCESS = 'access-token-of-the-sandbox';
const LATE_MS = 3000; // E2B_METADATA_MS
const sha512 = (text) => crypto.createHash('sha512').update(text).digest('hex');
const newToken = () => `token-${crypto.randomBytes(12).toString('hex')}`;
const digest = (token) => `sha256:${crypto.createHash('sha256').update(token).digest('hex')}`;
const http = (status, body, more = '') => `HTTP/1.1 ${status} x\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${more}\r\n${body}`;

// The fake. token(socket), metadata(socket): what it does with the one request and the other; asked: how often it was.
class FakeMetadata {
  asked = 0;
  open = new Set();
  said = { instanceID: 'sandbox-of-the-fake', envID: 'env', address: '10.0.0.1', accessTokenHash: sha512(ACCESS) };

  static async start(t) {
    const m = new FakeMetadata();

    m.reset();
    m.server = net.createServer((s) => m.#serve(s)).listen(0, '127.0.0.1');
    await new Promise((resolve) => { m.server.on('listening', resolve); });
    m.url = `http://127.0.0.1:${m.server.address().port}`;
    t.after(() => m.stop());
    return m;
  }

  reset() {
    this.token = (s) => s.end(http(200, 'token-of-the-fake', 'Server: fake\r\n'));
    this.metadata = (s) => s.end(http(200, JSON.stringify(this.said), 'Server: fake\r\nContent-Type: application/json\r\n'));
  }

  #serve(s) {
    let text = '';

    this.open.add(s);
    s.on('error', () => {});
    s.on('close', () => this.open.delete(s));
    s.on('data', (data) => {
      text += data;
      if (!text.endsWith('\r\n\r\n'))
        return;
      if (/^PUT \/latest\/api\/token HTTP\/1\.1\r\n/.test(text) && /^x-metadata-token-ttl-seconds: [1-9]\d*\r$/im.test(text)) {
        this.asked++;
        this.token(s);
      } else if (/^GET \/ HTTP\/1\.1\r\n/.test(text) && /^x-metadata-token: token-of-the-fake\r$/im.test(text) && /^accept: application\/json\r$/im.test(text)) {
        this.metadata(s);
      } else {
        s.end(http(400, text));
      }
    });
  }

  // Nothing listens there any more, or never has.
  async stop() {
    for (const s of this.open)
      s.destroy();
    await new Promise((resolve) => { this.server.close(resolve); });
  }
}

const withE2b = (m, body) => withDaemon({ token: null, flags: { claimE2b: true, metadataUrl: m.url } }, body);

async function claim(d, { token = newToken(), access = ACCESS, claim: more = {}, body = JSON.stringify({ digest: digest(token), ...more }), headers = {} } = {}) {
  const res = await d.http('/v1/claim', { method: 'POST', body,
    headers: { 'Content-Type': 'application/json', ...(access !== null && { 'X-Access-Token': access }), ...headers } });

  return res.status === 200 ? [200, res.body] : [res.status, res.json?.error?.reason, res.json?.error?.message];
}

const said = ([status, reason]) => [status, reason];
const isClaimed = async (d, token) => (await d.http('/ready', { token })).status === 200;
const isUnclaimed = async (d) => (await unlessReset(d.http('/ready')))?.json?.error?.reason === 'UNCLAIMED';

test('without --claim-e2b there is no such route', async () => {
  await withDaemon({ token: null }, async (d) => {
    assert.deepEqual(said(await claim(d)), [503, 'UNCLAIMED']);
  });
  await withDaemon({}, async (d) => {
    assert.deepEqual(said(await claim(d)), [401, 'UNAUTHORIZED']);
    assert.equal((await d.http('/v1/claim', { method: 'POST', token: d.token })).status, 404);
  });
});

test('the access token claims, with settings; again it changes nothing, and another claim is refused', async (t) => {
  const m = await FakeMetadata.start(t);

  await withE2b(m, async (d) => {
    const token = newToken();
    const settings = { settings: { 'session-max': 3 } };

    assert.deepEqual(said(await claim(d, { claim: { settings: { 'no-such': 1 } } })), [400, 'SETTING_UNKNOWN']);
    assert.ok(await isUnclaimed(d));
    assert.deepEqual(await claim(d, { token, claim: settings }), [200, '{}']);
    assert.ok(await isClaimed(d, token));
    assert.equal((await d.http('/v1/info', { token })).json.sandboxId, 'sandbox-of-the-fake');
    assert.deepEqual(await claim(d, { token, claim: settings }), [200, '{}']);
    assert.deepEqual(await claim(d, { token }), [200, '{}']);
    assert.deepEqual(said(await claim(d, { token, claim: { settings: { 'session-max': 4 } } })), [409, 'ALREADY_CLAIMED']);
    assert.deepEqual(said(await claim(d)), [409, 'ALREADY_CLAIMED']);
    assert.deepEqual(said(await claim(d, { token, access: 'another' })), [403, 'CLAIM_NOT_VERIFIED']);
    assert.ok(await isClaimed(d, token));
    assert.equal(m.asked, 7, 'nothing is remembered between two claims');
    assert.ok(!d.stderr.includes(ACCESS) && !d.stderr.includes(sha512(ACCESS)), 'the access token is in the log');
  });
});

test('a claim that came another way is repeated by this one; the claim may name the sandbox, and no other', async (t) => {
  const m = await FakeMetadata.start(t);

  await withE2b(m, async (d) => {
    const token = newToken();

    assert.deepEqual(said(await claim(d, { token, claim: { sandboxId: 'another' } })), [403, 'CLAIM_NOT_VERIFIED']);
    assert.equal((await acpd(['claim', '--run-dir', d.runDir], { input: token })).code, 0);
    assert.deepEqual(await claim(d, { token }), [200, '{}']);
  });
  await withE2b(m, async (d) => {
    assert.deepEqual(await claim(d, { claim: { sandboxId: 'sandbox-of-the-fake' } }), [200, '{}']);
  });
});

test('what is wrong with a request is said before the service is asked', async (t) => {
  const m = await FakeMetadata.start(t);

  await withE2b(m, async (d) => {
    const rows = [
      [{ access: null }, 403, 'CLAIM_NOT_VERIFIED', /X-Access-Token/], [{ access: '' }, 403, 'CLAIM_NOT_VERIFIED', /X-Access-Token/],
      [{ headers: { 'Content-Type': 'text/plain' } }, 415, 'CONTENT_TYPE_UNSUPPORTED', /Content-Type/],
      [{ body: '' }, 400, 'BODY_INVALID'], [{ body: '{' }, 400, 'BODY_INVALID'], [{ body: '[]' }, 400, 'BODY_INVALID'],
      [{ body: '{}' }, 400, 'FIELD_MISSING', /digest/], [{ body: '{"digest":7}' }, 400, 'FIELD_INVALID', /digest/],
      [{ claim: { zz: 1 } }, 400, 'PARAM_UNSUPPORTED', /zz/], [{ claim: { sandboxId: '' } }, 400, 'FIELD_INVALID', /sandboxId/],
      [{ claim: { sandboxId: 'a b' } }, 400, 'SANDBOX_ID_INVALID', /sandboxId/], [{ claim: { settings: 7 } }, 400, 'FIELD_INVALID', /settings/],
      [{ claim: { settings: { a: 'x'.repeat(66000) } } }, 400, 'SETTINGS_TOO_LARGE', /settings/],
      [{ body: ' '.repeat(80000) }, 413, 'BODY_TOO_LARGE'],
    ];

    for (const [request, status, reason, message = /./] of rows) {
      const answer = await claim(d, request);

      assert.deepEqual(said(answer), [status, reason], JSON.stringify(request).slice(0, 80));
      assert.match(answer[2], message);
    }
    assert.equal(m.asked, 0);
    assert.deepEqual(said(await claim(d, { body: '{"digest":"sha256:00"}' })), [400, 'TOKEN_INVALID']);
    assert.equal((await d.http('/v1/claim', { method: 'GET' })).json.error.reason, 'UNCLAIMED');
    assert.ok(await isUnclaimed(d));
  });
});

test('a service that misbehaves claims nothing, and the next claim asks it anew', async (t) => {
  const m = await FakeMetadata.start(t);
  const says = (body, status = 200) => ({ metadata: (s) => s.end(http(status, typeof body === 'string' ? body : JSON.stringify(body))) });
  const token = (text) => ({ token: (s) => s.end(text) });
  const { accessTokenHash, instanceID, ...neither } = m.said;
  const DOWN = [503, 'METADATA_UNAVAILABLE'];
  const NO = [403, 'CLAIM_NOT_VERIFIED'];
  const rows = {
    'no service of version 2': [token(http(404, '')), DOWN], 'another method': [token(http(405, '')), DOWN], 'no token for us': [token(http(401, 'no')), DOWN],
    'an empty token': [token(http(200, '')), DOWN], 'a token that breaks a header': [token(http(200, 'a\r\nX: b')), DOWN], 'a token with a zero': [token(http(200, 'a\0b')), DOWN],
    'a huge token': [token(http(200, 'x'.repeat(5000))), DOWN], 'no HTTP': [token('nonsense\r\n\r\n'), DOWN], 'a redirect': [token(http(302, '', 'Location: http://127.0.0.1:1/\r\n')), DOWN],
    'a connection cut before the head': [{ token: (s) => s.destroy() }, DOWN],
    'a connection cut in the answer': [{ metadata: (s) => s.end(http(200, JSON.stringify(m.said)).slice(0, -5)) }, DOWN],
    'a huge head': [{ metadata: (s) => s.end(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100000)}\r\n\r\n`) }, DOWN],
    'a huge answer': [says(`{"a":"${'x'.repeat(200000)}"}`), DOWN, /too long/], 'an answer without end': [{ metadata: (s) => {
      s.write('HTTP/1.1 200 OK\r\n\r\n');
      const timer = setInterval(() => s.write('x'.repeat(20000)), 1);
      s.on('close', () => clearInterval(timer));
    } }, DOWN, /too long/],
    'a failure': [says(m.said, 500), DOWN], 'no JSON': [says('<html>'), DOWN], 'an array': [says('[]'), DOWN], 'nothing': [says(''), DOWN],
    'no hash': [says({ ...neither, instanceID }), DOWN], 'an empty hash': [says({ ...m.said, accessTokenHash: '' }), DOWN],
    'a hash that is a number': [says({ ...m.said, accessTokenHash: 5 }), DOWN], 'a short hash': [says({ ...m.said, accessTokenHash: accessTokenHash.slice(2) }), DOWN],
    'a long hash': [says({ ...m.said, accessTokenHash: `${accessTokenHash}00` }), DOWN], 'no hex': [says({ ...m.said, accessTokenHash: 'g'.repeat(128) }), DOWN],
    'no id': [says({ ...neither, accessTokenHash }), DOWN], 'an id that is none': [says({ ...m.said, instanceID: 'a b' }), DOWN],
    'two hashes': [says(`{"instanceID":"a","accessTokenHash":"${sha512('x')}","accessTokenHash":"${accessTokenHash}"}`), DOWN],
    'the hash of nothing': [says({ ...m.said, accessTokenHash: sha512('') }), NO, /insecure/],
    'the hash of another token': [says({ ...m.said, accessTokenHash: sha512('the sandbox before') }), NO],
  };

  await withE2b(m, async (d) => {
    for (const [name, [how, want, message = /./]] of Object.entries(rows)) {
      m.reset();
      Object.assign(m, how);
      const answer = await claim(d);
      assert.deepEqual(said(answer), want, `${name}: ${answer}`);
      assert.match(answer[2], message);
      assert.ok(await isUnclaimed(d), name);
    }
    m.reset();
    const token1 = newToken();
    m.said = { ...m.said, accessTokenHash: accessTokenHash.toUpperCase() };
    assert.deepEqual(await claim(d, { token: token1 }), [200, '{}']);
    assert.ok(await isClaimed(d, token1));
  });
});

test('a service that is late or slow is given up, the daemon answers others meanwhile, and one is asked for at a time', async (t) => {
  const m = await FakeMetadata.start(t);
  const slow = (s) => {
    const bytes = [...http(200, JSON.stringify(m.said))];
    const timer = setInterval(() => s.write(bytes.shift() ?? ''), 40); // the whole would take long
    s.on('close', () => clearInterval(timer));
  };

  await withE2b(m, async (d) => {
    for (const how of [{ token: () => {} }, { metadata: () => {} }, { metadata: slow }]) {
      m.reset();
      Object.assign(m, how);
      const began = Date.now();
      let answered = false;
      const first = claim(d).finally(() => { answered = true; });
      const many = [];

      while (!m.open.size)
        await sleep(5);
      const asked = m.asked;
      for (let i = 0; i < 40; i++)
        many.push(claim(d));
      for (const answer of await Promise.all(many))
        assert.deepEqual(said(answer), [503, 'CLAIM_BUSY']);
      assert.equal((await d.http('/health')).status, 200);
      assert.ok(!answered, 'nobody waited for it');
      assert.equal(m.asked, Math.max(asked, 1));
      assert.deepEqual(said(await first), [503, 'METADATA_UNAVAILABLE']);
      assert.ok(Date.now() - began >= LATE_MS - 50, `${Date.now() - began} ms`);
      m.asked = 0;
    }
    m.reset();
    assert.deepEqual(await claim(d), [200, '{}']);
  });
});

test('a client that leaves takes its question with it', async (t) => {
  const m = await FakeMetadata.start(t);

  m.metadata = () => {};
  await withE2b(m, async (d) => {
    const before = await steady(() => d.fdCount());

    for (let i = 0; i < 5; i++) {
      const body = JSON.stringify({ digest: digest(newToken()) });
      const s = net.connect(d.port, '127.0.0.1');

      s.write(`POST /v1/claim HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-Access-Token: ${ACCESS}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      while (m.asked <= i || !m.open.size)
        await sleep(5);
      s.destroy();
      await until(() => !m.open.size, 'the daemon asks for nobody any more');
    }
    await until(() => d.fdCount() <= before, 'its descriptors are closed');
    m.reset();
    assert.deepEqual(await claim(d), [200, '{}']);
  });
});

test('silent bodies hold only so many places, and not for long', async (t) => {
  const m = await FakeMetadata.start(t);

  await withE2b(m, async (d) => {
    const silent = Array.from({ length: 8 }, () => net.connect(d.port, '127.0.0.1').on('error', () => {}));

    for (const s of silent)
      s.write(`POST /v1/claim HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-Access-Token: x\r\nContent-Length: 100\r\n\r\n{`);
    const busy = async () => said(await claim(d, { access: 'x', body: '{' }))[1] === 'CLAIM_BUSY';

    await until(busy, 'all places are taken');
    assert.deepEqual(said(await claim(d)), [503, 'CLAIM_BUSY']);
    const text = await new Promise((resolve) => { silent[0].once('data', (data) => resolve(`${data}`)); });
    assert.match(text, /^HTTP\/1\.1 408 /);
    await until(async () => !await busy(), 'a place is free');
    assert.deepEqual(await claim(d), [200, '{}']);
    silent.forEach((s) => s.destroy());
  });
});

test('after a restore: no claim while the service or the file is still of the sandbox before', async (t) => {
  const m = await FakeMetadata.start(t);
  const dir = fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? '/tmp', 'acpd-e2b-'));
  const file = path.join(dir, 'ID');
  const become = (id) => {
    fs.writeFileSync(`${file}.new`, id);
    fs.renameSync(`${file}.new`, file);
  };

  t.after(() => fs.rmSync(dir, { recursive: true }));
  become('first');
  m.said = { ...m.said, instanceID: 'second', accessTokenHash: sha512('of the second') };
  await withDaemon({ token: null, flags: { claimE2b: true, metadataUrl: m.url, sandboxIdFile: file } }, async (d) => {
    const token = newToken();

    assert.deepEqual(said(await claim(d, { access: 'of the second' })), [503, 'METADATA_UNAVAILABLE'], 'the file is late');
    m.said = { ...m.said, instanceID: 'first', accessTokenHash: sha512(ACCESS) };
    assert.deepEqual(await claim(d, { token }), [200, '{}']);
    become('second');
    await until(() => isUnclaimed(d), 'the restore is noticed');
    assert.deepEqual(said(await claim(d, { token })), [503, 'METADATA_UNAVAILABLE'], 'the service is late');
    m.said = { ...m.said, instanceID: 'second', accessTokenHash: sha512('of the second') };
    assert.deepEqual(said(await claim(d, { token })), [403, 'CLAIM_NOT_VERIFIED'], 'the token of the sandbox before');
    const next = newToken();
    assert.deepEqual(await claim(d, { token: next, access: 'of the second' }), [200, '{}']);
    assert.equal((await d.http('/v1/info', { token: next })).json.sandboxId, 'second');
  });
});

test('refused tokens are limited in a minute', async (t) => {
  const m = await FakeMetadata.start(t);

  await withE2b(m, async (d) => {
    for (let i = 0; i < 10; i++)
      assert.deepEqual(said(await claim(d, { access: `guess-${i}` })), [403, 'CLAIM_NOT_VERIFIED']);
    const res = await d.http('/v1/claim', { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Access-Token': ACCESS }, body: '{}' });
    assert.deepEqual([res.status, res.json.error.reason, res.headers['retry-after']], [429, 'CLAIM_TOO_OFTEN', '6']);
    assert.equal(m.asked, 10);
    assert.equal((await acpd(['claim', '--run-dir', d.runDir], { input: newToken() })).code, 0, 'the other roots remain');
  });
});

test('where nothing listens the claim fails before one does that began earlier, at a service that is silent', async (t) => {
  const [m, silent] = [await FakeMetadata.start(t), await FakeMetadata.start(t)];

  await m.stop();
  m.stop = async () => {};
  silent.metadata = () => {};
  await withE2b(silent, (late) => withE2b(m, async (d) => {
    const attempt = async () => {
      const order = [];
      const control = claim(late).then((answer) => { order.push('silent'); return answer; });

      await until(() => silent.open.size, 'the silent one is asked');
      assert.deepEqual(said(await claim(d)), [503, 'METADATA_UNAVAILABLE']);
      order.push('nothing listens');
      assert.deepEqual(said(await control), [503, 'METADATA_UNAVAILABLE']);
      return order;
    };

    // a busy machine may hold the test up for as long as the silent service is waited for
    assert.deepEqual(await withLimit(0, attempt, ([first]) => first === 'silent', 4), ['nothing listens', 'silent']);
    assert.ok(await isUnclaimed(d));
  }));
});
