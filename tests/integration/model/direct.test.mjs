// SPDX-License-Identifier: Apache-2.0
// build: both
// Model calls that the daemon makes itself: where they go and with which key, what becomes of them when a place is not to be had, and
// where the key is, and is not. That answers pass byte for byte is asserted in model-routes.test.mjs.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { ACPD, Daemon, endInOrder, SANITIZED } from '../../lib/daemon.mjs';
import { timesIn } from '../../lib/memory.mjs';
import { API, ModelConnection, listenerOf, STUB_WITH_GOOGLE, STUB_WITH_PROVIDER } from '../../lib/model-calls.mjs';
import { ownPort } from '../../lib/ports.mjs';
import * as procs from '../../lib/procs.mjs';
import { sleep } from '../../lib/rawws.mjs';
import { bytesOf, filesBelow } from '../../lib/vanishing.mjs';
import { until } from '../../lib/wait.mjs';
import { records } from '../ledger.mjs';

const SETPRIV = spawnSync('setpriv', ['--version']).status === 0;
const KEY = 'sk-direct-0123456789abcdef';
const ANSWER = 'data: {"choices":[]}\n\ndata: [DONE]\n\n';

let d, c, good;
before(async () => {
  good = await startPlace();
  d = await Daemon.start({ harnesses: [STUB_WITH_PROVIDER, STUB_WITH_GOOGLE] });
  c = await d.client();
});
after(async () => {
  await endInOrder(d, c);
  good.close();
});

// A provider's address: answers as answer(req, res) does. calls: {method, url, headers, body} as they came.
async function startPlace(answer = (req, res) => res.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'req-1' }).end(ANSWER)) {
  const place = { calls: [], open: 0 };
  const server = http.createServer(async (req, res) => {
    const call = { method: req.method, url: req.url, headers: req.headers, body: '' };

    place.calls.push(call);
    place.open++;
    res.on('close', () => { place.open--; });
    for await (const bytes of req)
      call.body += bytes;
    answer(req, res, place.calls.length);
  });

  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  place.url = `http://127.0.0.1:${server.address().port}`;
  place.close = () => {
    server.closeAllConnections();
    server.close();
  };
  return place;
}

const nowhere = async () => `http://127.0.0.1:${await ownPort()}/v1`;

async function session(provider, { api = API, to = c } = {}) {
  const harness = api === 'google' ? STUB_WITH_GOOGLE.id : STUB_WITH_PROVIDER.id;

  return to.newSession({ meta: { harness, provider: { api, via: 'direct', key: KEY, baseUrl: `${good.url}/v1`, ...provider } } });
}

// One call of the session's harness: the connection.
async function call(t, { sessionId }, what = {}) {
  const g = await ModelConnection.open(listenerOf(sessionId));

  t.after(() => g.close());
  return g.send(what.path, what);
}

async function answered(g) {
  const { status } = await g.head();

  await until(() => g.body.whole || g.closed, 'the end of the answer');
  return { status, text: g.body.bytes.toString(), whole: g.body.whole };
}

describe('where a call goes, and what goes with it', () => {
  const rows = [
    ['openai-chat', '/v1/chat/completions', '/v1', { authorization: `Bearer ${KEY}` }],
    ['openai-chat', '/v1/chat/completions?x=1', '/openai/deployments/d1/', { authorization: `Bearer ${KEY}` }, '/openai/deployments/d1/chat/completions?x=1'],
    ['openai-chat', '/v1/chat/completions', '/openai/deployments/d1?api-version=2024-10-21', { authorization: `Bearer ${KEY}` },
      '/openai/deployments/d1/chat/completions?api-version=2024-10-21'],
    ['openai-chat', '/v1/chat/completions?x=1', '/d1/?api-version=1&b', { authorization: `Bearer ${KEY}` }, '/d1/chat/completions?api-version=1&b&x=1'],
    ['anthropic', '/v1/messages?beta=true', '/v1', { 'x-api-key': KEY }],
    ['google', '/v1beta/models/m:streamGenerateContent?alt=sse', '/v1beta', { 'x-goog-api-key': KEY }],
  ];
  for (const [api, path, base, want, url = path] of rows) {
    test(`${api} to …${base}`, async (t) => {
      const s = await session({ baseUrl: good.url + base, headers: { 'X-Tenant': 'blue', 'user-agent': 'ours' } }, { api });
      const at = good.calls.length;
      const body = '{"model":"m-1","x":"π"}';

      assert.deepEqual(s._meta.acpd.provider, { via: 'direct', keyExposed: false, callerChecked: false });
      const g = await call(t, s, { path, body, headers: { cookie: 'a=b', 'user-agent': 'theirs', 'accept-encoding': 'gzip' } });
      assert.deepEqual(await answered(g), { status: 200, text: ANSWER, whole: true });
      const { headers, ...seen } = good.calls[at];
      assert.deepEqual(seen, { method: 'POST', url, body });
      for (const [name, value] of Object.entries({ ...want, 'x-tenant': 'blue', 'user-agent': 'ours', 'accept-encoding': 'identity', 'content-type': 'application/json' }))
        assert.equal(headers[name], value, name);
      assert.deepEqual(Object.keys(headers).filter((name) => ['cookie', 'expect', 'x-api-key', 'authorization', 'x-goog-api-key'].includes(name)), Object.keys(want));
      assert.equal((await g.head()).headers['x-request-id'], 'req-1');
    });
  }

  const auths = [
    [{ header: 'api-key' }, { 'api-key': KEY }],
    [{ header: 'X-Own', prefix: 'Key ' }, { 'x-own': `Key ${KEY}` }],
    [{ prefix: 'Token ' }, { authorization: `Token ${KEY}` }],
  ];
  for (const [auth, want] of auths) {
    test(`auth ${JSON.stringify(auth)}`, async (t) => {
      const at = good.calls.length;

      await answered(await call(t, await session({ auth })));
      for (const [name, value] of Object.entries(want))
        assert.equal(good.calls[at].headers[name], value);
    });
  }

  test('without a key nothing is added', async (t) => {
    const at = good.calls.length;

    await answered(await call(t, await session({ key: undefined })));
    assert.equal(good.calls[at].headers.authorization, undefined);
  });
});

describe('what a provider answers although nobody asked for it so', () => {
  const TEXT = JSON.stringify({ id: 'c-1', choices: [{ message: { content: 'hello' }, finish_reason: 'stop' }], usage: { prompt_tokens: 7, completion_tokens: 2 } });
  const ERROR = (more) => JSON.stringify({ error: { message: 'the words of the provider', ...more } });
  const json = (res, text) => res.writeHead(200, { 'content-type': 'application/json' }).end(text);
  const place = async (t, answer) => {
    const p = await startPlace(answer);

    t.after(() => p.close());
    return { baseUrl: `${p.url}/v1` };
  };
  const codings = [['gzip', gzipSync], ['deflate', deflateSync], ['deflate', deflateRawSync, 'without its head']];
  for (const [coding, encode, how = ''] of codings) {
    test(`compressed by ${coding} ${how}`, async (t) => {
      const s = await session(await place(t, (req, res) =>
        res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': coding }).end(encode(TEXT))));
      const g = await call(t, s);

      assert.deepEqual(await answered(g), { status: 200, text: TEXT, whole: true });
      assert.equal((await g.head()).headers['content-encoding'], undefined);
      const record = await until(() => records(d).find((r) => r.type === 'model_call' && r.sessionId === s.sessionId), 'the record of the call');
      assert.deepEqual([record.usage.inputTokens, record.usage.outputTokens], [7, 2]);
    });
  }

  const errors = [
    ['a number', { code: 429 }, 429],
    ['a word', { code: 'insufficient_quota' }, 402],
    ['a type', { type: 'overloaded_error' }, 529],
    ['nothing that is known', { type: 'odd' }, 502],
    ['a message beyond every limit', { code: 400, message: 'x'.repeat(60_000) }, 400],
  ];
  for (const [name, more, status] of errors) {
    test(`200 with an error, whose code is ${name}`, async (t) => {
      const s = await session(await place(t, (req, res) => json(res, ERROR(more))));

      assert.deepEqual(await answered(await call(t, s)), { status, text: ERROR(more), whole: true });
    });
  }

  test('200 with an answer of one object is as it came, however long and however cut', async (t) => {
    const long = JSON.stringify({ choices: [{ message: { content: 'y'.repeat(300_000) } }], error: null });

    for (const text of [TEXT, long, ` \n${TEXT}`, '[{}]', '', '{"error"']) {
      const s = await session(await place(t, (req, res) => {
        res.writeHead(200, { 'content-type': 'application/json' });
        res.write(text.slice(0, 9));
        setImmediate(() => res.end(text.slice(9)));
      }));

      assert.deepEqual(await answered(await call(t, s)), { status: 200, text, whole: true });
    }
  });

  test('the head of a stream does not wait for its first event', async (t) => {
    const open = [];
    const s = await session(await place(t, (req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      open.push(res);
    }));
    const g = await call(t, s);

    assert.equal((await g.head()).status, 200);
    open[0].end(ANSWER);
    assert.equal((await answered(g)).text, ANSWER);
  });

  test('an error of 120 KB in pieces of every size leaves the daemon alive', async (t) => {
    const text = ERROR({ message: 'p'.repeat(120_000) });

    for (const size of [1000, 1025, 4096, 18_588, 40_000]) {
      const s = await session(await place(t, async (req, res) => {
        res.writeHead(400, { 'content-type': 'application/json' });
        for (let at = 0; at < text.length; at += size)
          await new Promise((resolve) => { res.write(text.slice(at, at + size), () => setImmediate(resolve)); });
        res.end();
      }));

      assert.deepEqual(await answered(await call(t, s)), { status: 400, text, whole: true });
    }
  });
});

describe('a place that is not to be had', () => {
  test('fallbacks are asked in order, with their own keys, before the first byte', async (t) => {
    const [busy, cut] = [await startPlace((req, res) => res.writeHead(529).end('overloaded')), await startPlace((req) => req.socket.destroy())];
    t.after(() => [busy, cut].forEach((place) => place.close()));
    const fallbacks = [{ baseUrl: await nowhere() }, { baseUrl: `${cut.url}/v1`, key: 'sk-second-12345678' },
      { baseUrl: `${good.url}/v1`, key: 'sk-third-12345678', auth: { header: 'x-third', prefix: '' }, headers: { a: 'b' } }];
    const at = good.calls.length;

    const s = await session({ baseUrl: `${busy.url}/v1`, fallbacks });
    assert.equal((await answered(await call(t, s))).text, ANSWER);
    assert.deepEqual([busy.calls.length, cut.calls.length, good.calls.length - at], [1, 1, 1]);
    assert.equal(busy.calls[0].headers.authorization, `Bearer ${KEY}`);
    assert.equal(cut.calls[0].headers.authorization, 'Bearer sk-second-12345678');
    const { headers, body } = good.calls[at];
    assert.deepEqual([headers['x-third'], headers.a, headers.authorization, body], ['sk-third-12345678', 'b', undefined, busy.calls[0].body]);
    const attempts = records(d).filter((r) => r.sessionId === s.sessionId);
    assert.equal(new Set(attempts.map((r) => r.callId)).size, 1);
    assert.deepEqual(attempts.map((r) => [r.via, r.attempt, r.status, r.complete, r.error?.class, r.error?.httpStatus]), [
      ['direct', 1, 529, false, 'provider', 529], ['direct', 2, undefined, false, 'provider', undefined],
      ['direct', 3, undefined, false, 'provider', undefined], ['direct', 4, 200, true, undefined, undefined]]);
  });

  test('the last place says how it failed', async (t) => {
    const busy = await startPlace((req, res) => res.writeHead(503, { 'retry-after': '7' }).end('later'));
    t.after(() => busy.close());
    const g = await call(t, await session({ baseUrl: await nowhere(), fallbacks: [{ baseUrl: `${busy.url}/v1` }] }));

    assert.deepEqual(await answered(g), { status: 503, text: 'later', whole: true });
    assert.equal((await g.head()).headers['retry-after'], '7');
  });

  test('what the first place refuses is its answer: 401 and 429 are not asked elsewhere', async (t) => {
    for (const status of [401, 429]) {
      const no = await startPlace((req, res) => res.writeHead(status).end('no'));
      t.after(() => no.close());
      const at = good.calls.length;

      assert.equal((await answered(await call(t, await session({ baseUrl: `${no.url}/v1`, fallbacks: [{ baseUrl: `${good.url}/v1` }] })))).status, status);
      assert.equal(good.calls.length, at);
    }
  });

  test('an answer that has begun is never begun again', async (t) => {
    const half = await startPlace((req, res) => {
      res.writeHead(200).write('data: half');
      setTimeout(() => req.socket.destroy(), 50);
    });
    t.after(() => half.close());
    const at = good.calls.length;
    const g = await call(t, await session({ baseUrl: `${half.url}/v1`, fallbacks: [{ baseUrl: `${good.url}/v1` }] }));

    await g.ended();
    assert.deepEqual([g.body.bytes.toString(), g.body.whole, good.calls.length], ['data: half', false, at]);
  });

  const refused = [
    ['nobody listens', async () => ({ baseUrl: await nowhere() }), 502, 'MODEL_UNREACHABLE'],
    ['it is silent', async (t) => {
      const silent = await startPlace(() => {});
      t.after(() => silent.close());
      return { baseUrl: `${silent.url}/v1`, idleTimeoutMs: 1000 };
    }, 504, 'MODEL_CALL_TIMEOUT'],
    ['a metadata address', async () => ({ baseUrl: 'http://169.254.169.254/v1' }), 403, 'MODEL_ADDRESS_REFUSED'],
  ];
  for (const [what, provider, status, code] of refused) {
    test(`refused: ${what}`, async (t) => {
      const answer = await (await call(t, await session(await provider(t)))).refusal();

      assert.deepEqual([answer.status, answer.code], [status, code]);
    });
  }

  test('a harness that goes takes its call with it', async (t) => {
    const slow = await startPlace(() => {});
    t.after(() => slow.close());
    const g = await call(t, await session({ baseUrl: `${slow.url}/v1` }));

    await until(() => slow.open === 1, 'the provider is asked');
    g.close();
    await until(() => slow.open === 0, 'the provider is not asked any more');
  });

  test('a harness that does not read holds the provider back, and gets everything in the end', async (t) => {
    const piece = 'x'.repeat(64 * 1024), most = 1000; // far more than the kernel keeps on the way, which may be 20 MB
    let written = 0, pieces = most;
    const flood = await startPlace(async (req, res) => {
      res.writeHead(200);
      for (; written < pieces; written++)
        if (!res.write(piece))
          await new Promise((resolve) => { res.once('drain', resolve); });
      res.end();
    });
    t.after(() => flood.close());
    const g = await call(t, await session({ baseUrl: `${flood.url}/v1` }));

    g.socket.pause();
    await until(async () => {
      const before = written;
      await sleep(200);
      return written > 0 && written === before;
    }, 'the provider is held back', 20000);
    assert.ok(written < most, `${written} pieces have gone somewhere`);
    pieces = written + 3;
    g.socket.resume();
    await until(() => g.body.whole, 'the whole answer', 20000);
    assert.equal(g.body.bytes.length, pieces * piece.length);
  });
});

describe('acpd-fetch', () => {
  const helperOf = (pid) => procs.descendants(pid).find((p) => p.comm === 'acpd-fetch');

  test('its death in mid-call cuts the answer, is an error before one, and costs no key', async (t) => {
    const slow = await startPlace((req, res, n) => (n === 1 ? res.writeHead(200).write('data: a') : n === 2 ? undefined : res.end(ANSWER)));
    t.after(() => slow.close());
    const s = await session({ baseUrl: `${slow.url}/v1` });
    const begun = await call(t, s);
    await until(() => begun.body.bytes.length > 0, 'the first bytes');
    const waiting = await call(t, s);
    await until(() => slow.calls.length === 2, 'the second call');

    process.kill(helperOf(d.pid).pid, 'SIGKILL');
    await begun.ended();
    assert.equal(begun.body.whole, false);
    const answer = await waiting.refusal();
    assert.deepEqual([answer.status, answer.code], [502, 'MODEL_CALL_FAILED']);
    assert.equal((await answered(await call(t, s))).text, ANSWER);
    assert.equal(slow.calls.at(-1).headers.authorization, `Bearer ${KEY}`);
  });

  test('where it is not installed, direct is refused and the others go on', async (t) => {
    const own = await Daemon.startFor(t, { harnesses: [STUB_WITH_PROVIDER], env: { ACPD_FETCH: '/nonexistent/acpd-fetch' } });
    const client = await own.client();

    await assert.rejects(session({}, { to: client }), (e) => {
      assert.deepEqual([e.data.reason, e.data.field], ['FETCH_UNAVAILABLE', '_meta.acpd.provider.via']);
      return true;
    });
    assert.equal((await session({ via: 'environment' }, { to: client }))._meta.acpd.provider.via, 'environment');
  });

  describe('where no memory can be locked', { skip: process.getuid() === 0 && !SETPRIV ? 'no setpriv' : SANITIZED ? 'the sanitizers lock nothing' : false }, () => {
    // acpd with a limit that no capability lifts
    function limited(t) {
      const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-memlock-')), 'acpd');
      const drop = process.getuid() === 0 ? 'setpriv --bounding-set -sys_resource,-ipc_lock ' : '';

      t.after(() => fs.rmSync(path.dirname(file), { recursive: true }));
      fs.writeFileSync(file, `#!/bin/sh\nulimit -l 0\nexec ${drop}"${ACPD}" "$@"\n`, { mode: 0o755 });
      return file;
    }
    const told = async (own) => {
      const [info, ready] = [await own.http('/v1/info', { token: own.token }), await own.http('/ready', { token: own.token })];
      const doctor = JSON.parse(spawnSync(ACPD, ['doctor', '--json', '--run-dir', own.runDir], { encoding: 'utf8' }).stdout);
      const { level, message, hint } = doctor.findings.find((f) => f.id === 'key-memory');

      return { memory: info.json.keyMemory, status: ready.status, notReady: ready.json.notReady, level, message, hint };
    };

    test('a session with a key is refused by name, and /ready, doctor and /v1/info say so', async (t) => {
      const own = await Daemon.startFor(t, { harnesses: [STUB_WITH_PROVIDER], program: limited(t) });
      const client = await own.client();

      await assert.rejects(session({}, { to: client }), (e) => {
        assert.deepEqual([e.data.reason, e.data.field], ['MEMORY_LOCK_REFUSED', '_meta.acpd.provider.via']);
        assert.match(e.message, /RLIMIT_MEMLOCK is 0 bytes; set LimitMEMLOCK=.*--ulimit memlock=.*--unlocked-keys/);
        return true;
      });
      assert.equal((await session({ key: undefined }, { to: client }))._meta.acpd.provider.via, 'direct');
      const { memory, status, notReady, level, hint } = await told(own);
      assert.deepEqual([memory, status, notReady.map((p) => p.reason), level], ['refused', 503, ['MEMORY_LOCK_REFUSED'], 'trouble']);
      assert.match(notReady[0].message, /LimitMEMLOCK/);
      assert.match(hint, /LimitMEMLOCK/);
    });

    test('with --unlocked-keys calls are made, and it is told', async (t) => {
      const own = await Daemon.startFor(t, { harnesses: [STUB_WITH_PROVIDER], program: limited(t), flags: { unlockedKeys: true } });
      const client = await own.client();
      const at = good.calls.length;

      assert.equal((await answered(await call(t, await session({}, { to: client })))).status, 200);
      assert.equal(good.calls[at].headers.authorization, `Bearer ${KEY}`);
      const { memory, status, level, message } = await told(own);
      assert.deepEqual([memory, status, level], ['unlocked', 200, 'warning']);
      assert.match(message, /cannot lock/);
    });

    test('a daemon that can says so', async () => {
      const { memory, status, level } = await told(d);

      assert.deepEqual([memory, status, level], ['locked', 200, 'ok']);
    });
  });

  test('the key is in no environment, argument, file or log, and gone from the memory of both when the session is deleted', {
    skip: SANITIZED ? 'the sanitizers keep what was freed' : process.getuid() !== 0 ? 'only root reads the memory of others' : false,
  }, async (t) => {
    const own = await Daemon.startFor(t, { harnesses: [STUB_WITH_PROVIDER] });
    const client = await own.client();
    const { sessionId } = await session({}, { to: client });

    await answered(await call(t, { sessionId }));
    const all = [own.pid, ...procs.descendants(own.pid).map((p) => p.pid)];
    assert.ok(helperOf(own.pid));
    for (const pid of all) {
      assert.ok(!procs.text(pid, 'environ')?.includes(KEY), `environment of ${procs.cmdline(pid)}`);
      assert.ok(!procs.cmdline(pid).includes(KEY));
    }
    for (const pid of all.filter((p) => p !== own.pid && p !== helperOf(own.pid).pid))
      assert.equal(timesIn(pid, KEY), 0, `memory of ${procs.cmdline(pid)}`);
    assert.ok(timesIn(own.pid, KEY) > 0, 'the search finds what is there');
    for (const file of filesBelow(own.stateDir))
      assert.ok(!bytesOf(file)?.includes(KEY), file);
    assert.ok(!(own.stdout + own.stderr).includes(KEY));
    await client.call('session/delete', { sessionId });
    await until(() => timesIn(own.pid, KEY) === 0, 'the key is gone from the daemon', 5000);
    await until(() => timesIn(helperOf(own.pid).pid, KEY) === 0, 'the key is gone from acpd-fetch', 5000);
  });
});

test('a daemon that starts again needs the provider anew; a fork has the keys of its session', async (t) => {
  const s = await session({});
  const fork = await c.call('session/fork', { sessionId: s.sessionId, cwd: d.workDir, mcpServers: [] });
  const at = good.calls.length;

  assert.equal(fork._meta.acpd.provider.via, 'direct');
  await answered(await call(t, { sessionId: fork.sessionId }));
  assert.equal(good.calls[at].headers.authorization, `Bearer ${KEY}`);
});
