// SPDX-License-Identifier: Apache-2.0
// What goes while others still hold on to it: a session whose server an HTTP client is about to call, a daemon that was killed, one that
// stops. And what of a session's MCP servers nobody else may read.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../lib/daemon.mjs';
import { givenServers, RawOrchestrator } from '../lib/mcp-orchestrators.mjs';
import { openClient, openRelay } from '../lib/mcp-relay.mjs';
import * as procs from '../lib/procs.mjs';
import { sleep } from '../lib/rawws.mjs';
import { until } from '../lib/wait.mjs';

let d;

before(async () => { d = await Daemon.start({ stub: { args: ['--mcp-http'], capabilities: { mcpCapabilities: { http: true } } } }); });
after(() => endInOrder(d));

const socketsOf = (daemon) => fs.readdirSync(path.join(daemon.runDir, 'mcp'));
const LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
  '"io.modelcontextprotocol/clientCapabilities":{}}}}';
const INITIALIZE = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},' +
  '"clientInfo":{"name":"t","version":"1"}}}';

// A POST whose body is sent by the test.
class Post {
  text = '';

  static async begin(daemon, where, length, headers = []) {
    const p = new Post();

    p.socket = net.connect(daemon.port, '127.0.0.1');
    p.socket.on('data', (data) => { p.text += data; });
    p.closed = new Promise((resolve) => p.socket.once('close', resolve));
    p.socket.on('error', () => {});
    p.socket.write([`POST ${where} HTTP/1.1`, `Host: 127.0.0.1:${daemon.port}`, `Authorization: Bearer ${daemon.token}`,
      'Content-Type: application/json', 'Accept: application/json, text/event-stream', `Content-Length: ${length}`, ...headers, '', ''].join('\r\n'));
    await new Promise((resolve) => p.socket.once('connect', resolve));
    return p;
  }

  async status() {
    await until(() => /^HTTP\/1\.1 \d+/.test(this.text), 'the answer');
    return Number(this.text.slice(9, 12));
  }
}

describe('a session that goes while the body of a call of it comes', () => {
  const kinds = { 'a modern call': [LIST, ['MCP-Protocol-Version: 2026-07-28', 'Mcp-Method: tools/list']], 'an initialize': [INITIALIZE, []] };

  for (const [what, [body, headers]] of Object.entries(kinds)) {
    for (const how of ['close', 'delete']) {
      test(`${what}, session/${how}`, async (t) => {
        const c = await d.client();
        t.after(() => c.close());
        const { sessionId } = await c.newSession({ meta: { mcp: { builtin: true } } });
        const posts = [];

        for (let i = 0; i < 4; i++) {
          const p = await Post.begin(d, `/mcp?session=${sessionId}`, body.length, headers);
          t.after(() => p.socket.destroy());
          p.socket.write(body.slice(0, 20));
          posts.push(p);
        }
        await d.http('/health'); // by now they have been read
        await sleep(50);
        await c.call(`session/${how}`, { sessionId });
        for (const p of posts) {
          p.socket.write(body.slice(20));
          assert.equal(await p.status(), 503);
          assert.match(p.text, /SERVER_GONE/);
        }
        assert.equal((await d.http('/health')).status, 200);
      });
    }
  }
});

describe('sockets', () => {
  test('what a killed daemon left is gone after the next start, and what others left stays', async (t) => {
    const own = await Daemon.startFor(t);
    const c = await own.client();

    for (let i = 0; i < 3; i++)
      await c.newSession({ meta: { mcp: { builtin: true } } });
    assert.equal(socketsOf(own).length, 3);
    await own.kill9();
    const mine = net.createServer().listen(path.join(own.runDir, 'mcp', 'other.sock'));
    t.after(() => mine.close());
    await new Promise((resolve) => mine.once('listening', resolve));
    fs.writeFileSync(path.join(own.runDir, 'mcp', 'note'), '');
    await own.restart();
    assert.deepEqual(socketsOf(own).sort(), ['note', 'other.sock']);
  });

  test('a session that is closed or deleted has none', async (t) => {
    const c = await d.client();
    t.after(() => c.close());
    const before = socketsOf(d).length;
    const open = await Promise.all([1, 2].map(() => c.newSession({ meta: { mcp: { builtin: true } } })));

    assert.equal(socketsOf(d).length, before + 2);
    await c.call('session/close', { sessionId: open[0].sessionId });
    await c.call('session/delete', { sessionId: open[1].sessionId });
    assert.equal(socketsOf(d).length, before);
  });
});

describe('secrets of MCP servers', () => {
  const header = 'header-canary-8a1c', bearer = 'bearer-canary-0f3b', variable = 'env-canary-77d2', plain = 'plain-value-31';

  test('header values and secret-looking variables are blacked out wherever a harness echoes them', async (t) => {
    const c = await d.client();
    t.after(() => c.close());
    const listening = net.createServer().listen(0, '127.0.0.1');
    t.after(() => listening.close());
    await new Promise((resolve) => listening.once('listening', resolve));
    const { sessionId } = await c.newSession({ mcpServers: [
      { type: 'http', name: 'web', url: `http://127.0.0.1:${listening.address().port}/mcp`,
        headers: [{ name: 'X-Anything', value: header }, { name: 'Authorization', value: `Bearer ${bearer}` }] },
      { name: 'local', command: process.execPath, args: [], env: [{ name: 'JIRA_API_KEY', value: variable }, { name: 'MODE', value: plain }] },
    ], meta: { mcp: { stdio: 'harness' } } });

    await c.prompt(sessionId, 'getparams');
    await c.prompt(sessionId, `echo ${bearer}`);
    const said = JSON.stringify(c.updates) + fs.readFileSync(path.join(d.stateDir, 'sessions', `${sessionId}.jsonl`), 'utf8') + d.stderr;

    assert.ok(said.includes(plain), 'the harness did echo');
    for (const secret of [header, bearer, variable])
      assert.ok(!said.includes(secret), secret);
  });

  test('last words of a server are not logged', async (t) => {
    const o = await RawOrchestrator.connect(d);
    t.after(() => o.close());
    const last = 'last-words-canary-5e11';
    const { sessionId } = await o.client.newSession({ mcpServers: [
      { name: 'dies', command: '/bin/sh', args: ['-c', 'echo "$WHAT" >&2; exit 3'], env: [{ name: 'WHAT', value: last }] }],
    meta: { mcp: { policy: { dies: { maxCalls: 5 } } } } });
    const c = await openClient(t, (await givenServers(o.client, sessionId))[0], { era: '2026-07-28' });

    assert.match(JSON.stringify((await c.request('tools/list')).msg.error), /SERVER_GONE/);
    await d.waitLog((line) => /MCP server has ended/.test(line.msg) && line.reason === 'SERVER_GONE');
    assert.ok(!d.stderr.includes(last));
  });

  test('nothing of the key of a session\'s socket is in an argument list', async (t) => {
    const { given } = await openRelay(t, d);
    const key = given[0].env.find((e) => e.name === 'ACPD_MCP_KEY').value;

    assert.ok(key.length >= 32);
    for (const p of d.ours())
      assert.ok(!procs.cmdline(p.pid).includes(key));
    assert.ok(!d.stderr.includes(key));
  });
});

test('each question of a policy has a tool call id of its own', async (t) => {
  const o = await RawOrchestrator.connect(d, { 'tools/call': (call) => call.result('{"resultType":"complete","content":[]}') });
  t.after(() => o.close());
  const { sessionId } = await o.newSession({ meta: { mcp: { policy: { tools: { policy: 'ask' } } } } });
  const [given] = await givenServers(o.client, sessionId);
  const c = await openClient(t, given);
  const ids = [];

  o.client.onPermission((params) => {
    ids.push(params.toolCall.toolCallId);
    return 'allow';
  });
  const turn = o.client.startPrompt(sessionId, 'echo begun; sleep 60000');
  await o.client.waitUpdate((u) => u.update.content?.text === 'begun');
  for (let i = 0; i < 6; i++)
    await c.request('tools/call', '{"name":"raw","arguments":{}}');
  o.client.cancel(sessionId);
  await turn.answer;
  assert.equal(ids.length, 6);
  assert.equal(new Set(ids).size, 6, ids.join(' '));
});
