// SPDX-License-Identifier: Apache-2.0
// What another party writes without an end: an answer, a line, a body, a file that grows while it is read. Each is ended or cut, with what came so
// far or a typed error, and the daemon serves others meanwhile. endless.test.mjs has what is large without being written.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Raw } from '../../lib/archives.mjs';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { run } from '../../lib/drafts.mjs';
import { McpHttp, startHosting } from '../../lib/mcp-http.mjs';
import { API, listenerOf, PATH, STUB_WITH_PROVIDER } from '../../lib/model-calls.mjs';
import * as procs from '../../lib/procs.mjs';
import { until } from '../../lib/wait.mjs';
import { newCwd } from '../../lib/workspace.mjs';
import { records } from '../ledger.mjs';
import { Receiver, writeHooks } from '../outbox/rig.mjs';

const MIB = 2 ** 20;
const NO_NEWLINE = 'tr "\\0" x < /dev/zero';
const PIECE = Buffer.alloc(65536, 'x');

// A server whose answers have no end: counts what is taken of them.
async function endless(t, status, headers, first = '') {
  const server = http.createServer((req, res) => req.resume().on('end', () => {
    res.writeHead(status, headers);
    res.write(first);
    const write = () => {
      let more = !res.closed;

      for (; more; place.sent += PIECE.length)
        more = res.write(PIECE) && !res.closed;
    };

    place.open++;
    res.on('drain', write).on('close', () => { place.open--; });
    write();
  }));
  const place = { sent: 0, open: 0 };

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return Object.assign(place, { url: `http://127.0.0.1:${server.address().port}` });
}

let d, c;
before(async () => {
  d = await Daemon.start({ flags: { archiveMax: 4 * MIB }, harnesses: [STUB_WITH_PROVIDER, { id: 'endless', command: '/bin/sh', args: ['-c', `exec ${NO_NEWLINE}`] }] });
  c = await d.client();
});
after(() => endInOrder(d));

// Nothing of it costs another one.
const goesOn = async () => {
  const { sessionId } = await c.newSession();

  assert.equal((await c.prompt(sessionId, 'echo on')).stopReason, 'end_turn');
  await c.call('session/delete', { sessionId });
};

describe('a line without an end', () => {
  test('of a harness', async () => {
    const error = await c.fails('session/new', { cwd: d.workDir, mcpServers: [], _meta: { acpd: { harness: 'endless' } } });

    assert.match(error.data.reason, /^HARNESS_/);
    await until(() => !d.descendants().some((p) => procs.cmdline(p.pid).startsWith('tr')), 'it is gone');
    await goesOn();
  });

  test('of an MCP server', async (t) => {
    const hosting = await startHosting({ endless: { command: '/bin/sh', args: ['-c', `exec ${NO_NEWLINE}`] } });

    t.after(() => endInOrder(hosting));
    const res = await new McpHttp(hosting, '/mcp/endless').modern('tools/list');
    const { answer } = await res.over();

    assert.ok(answer.error.message.length < 1000, JSON.stringify(answer));
    assert.equal((await hosting.http('/health', { token: hosting.token })).status, 200);
  });

  test('of a check', async () => {
    const { sessionId } = await c.newSession();
    const { results: [result] } = await c.call('_acpd/check', { sessionId, checks: [{ id: 'x', kind: 'command', command: NO_NEWLINE, timeoutMs: 1500 }] }, { timeout: 60_000 });

    assert.equal(result.ok, false);
    assert.match(result.stdoutTail, /^x+$/);
    assert.ok(result.stdoutTail.length <= 4096 && result.stdoutTruncated > 0, JSON.stringify({ ...result, stdoutTail: result.stdoutTail.length }));
    await c.call('session/delete', { sessionId });
  });
});

describe('an answer without an end', () => {
  for (const [what, type, first] of [['one event', 'text/event-stream', 'data: {"id":"'], ['one line that is no event', 'text/event-stream', 'x'],
    ['one object', 'application/json', '{"model":"m","usage":{"prompt_tokens":1,"completion_tokens":1},"choices":[{"message":{"content":"']])
    test(`of a provider: ${what}`, async (t) => {
      const place = await endless(t, 200, { 'content-type': type }, first);
      const { sessionId } = await c.newSession({ meta: { harness: STUB_WITH_PROVIDER.id, provider: { api: API, via: 'direct', key: 'sk-endless-0123456789', baseUrl: `${place.url}/v1` } } });
      const { root, key } = listenerOf(sessionId);
      const stop = new AbortController();
      const res = await fetch(root + PATH, { method: 'POST', signal: stop.signal, headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: '{"model":"m","messages":[],"stream":true}' });
      const before = procs.rss(d.child.pid);
      let bytes = 0;

      for await (const piece of res.body) {
        bytes += piece.length;
        if (bytes > 64 * MIB)
          break;
      }
      stop.abort();
      await until(() => !place.open, 'the call is over there, too');
      await until(() => records(d).some((r) => r.type === 'model_call' && r.sessionId === sessionId), 'its record');
      const record = records(d).find((r) => r.type === 'model_call' && r.sessionId === sessionId);

      assert.deepEqual([record.complete, record.cancelled], [false, true]);
      assert.ok(procs.rss(d.child.pid) < before + 32 * MIB);
      await goesOn();
    });

  test('of a receiver of webhooks', async (t) => {
    const place = await endless(t, 200, { 'content-type': 'text/plain' });
    const receiver = await Receiver.start(t);
    const own = await Daemon.start();

    t.after(() => endInOrder(own));
    const file = path.join(own.dir, 'hooks.json');

    writeHooks(file, [{ url: `${place.url}/`, secret: receiver.secret }, receiver.config()]);
    own.opts.flags = { ...own.opts.flags, webhook: file, upstreamAllow: `127.0.0.1:${new URL(place.url).port},${receiver.host}` };
    await own.restart();
    const client = await own.client();
    const { sessionId } = await client.newSession();

    await client.prompt(sessionId, 'echo on');
    await receiver.until(1);
    await until(() => place.sent && !place.open, 'the answer is not read on');
    assert.ok(place.sent < 16 * MIB, `${place.sent} bytes`);
  });
});

test('an upload without an end is refused at the limit', async () => {
  const raw = await Raw.open(d);

  await raw.request('PUT', `/v1/archives/sha256:${'0'.repeat(64)}`, { 'Transfer-Encoding': 'chunked' });
  while (!raw.ended)
    await raw.send(Buffer.concat([Buffer.from('10000\r\n'), PIECE, Buffer.from('\r\n')]));
  const res = await raw.answer();

  assert.deepEqual([res.status, res.json?.error.data?.reason ?? res.json?.error.reason], [413, 'ARCHIVE_TOO_LARGE']);
  await raw.end();
  await goesOn();
});

describe('a log that grows while it is read', () => {
  let sessionId, cwd, writer;
  const tool = async (name, args) => (await (await new McpHttp(d, `/mcp?session=${sessionId}`).modern('tools/call', { name, arguments: args })).over()).answer;

  before(async () => {
    cwd = newCwd(d);
    ({ sessionId } = await c.newSession({ cwd, meta: { workspace: { baseline: true } } }));
    await run(c, sessionId, '(while [ -e ../stop ] || :; do head -c 100000 /dev/zero | tr "\\\\0" x >> log.txt || exit; done) > /dev/null 2>&1 & echo $! > pid');
    await until(() => fs.existsSync(path.join(cwd, 'log.txt')) && fs.existsSync(path.join(cwd, 'pid')), 'it grows');
    writer = Number(fs.readFileSync(path.join(cwd, 'pid'), 'utf8'));
  });
  after(() => {
    try { process.kill(writer, 'SIGKILL'); } catch { /* has ended with its session */ }
  });

  for (const [name, args] of [['readFile', { path: 'log.txt' }], ['readFiles', { paths: ['log.txt'] }], ['grep', { path: '.', pattern: 'no such text' }], ['getFileInfo', { path: 'log.txt' }]])
    test(name, async () => {
      const { result, error } = await tool(name, args.path ? { ...args, path: path.join(cwd, args.path) } : { paths: args.paths.map((p) => path.join(cwd, p)) });

      assert.ok(result?.content, JSON.stringify(error));
    });
  test('the diff', async () => {
    const shown = await c.call('_acpd/workspace/diff', { sessionId }, { timeout: 60_000 });

    assert.ok('patch' in shown || shown.artifact || shown.omitted.length, JSON.stringify(shown)); // by what size it has by then
  });
  test('the archive', async () => {
    const res = await fetch(`http://127.0.0.1:${d.port}/v1/sessions/${sessionId}/workspace?format=tar.gz`, { headers: { Authorization: `Bearer ${d.token}` } });
    let bytes = 0;

    for await (const piece of res.body)
      bytes += piece.length;
    assert.ok(bytes > 0);
  });
});
