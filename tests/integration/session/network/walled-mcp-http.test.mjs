// SPDX-License-Identifier: Apache-2.0
// MCP servers of type http of a session whose network is not open: the daemon calls them by acpd-fetch, behind the session's policy, and
// the harness finds them on its session socket. With an open network nothing of this happens.

import assert from 'node:assert/strict';
import http from 'node:http';
import { once } from 'node:events';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Daemon, endInOrder } from '../../../lib/daemon.mjs';
import { McpHttp } from '../../../lib/mcp-http.mjs';
import { givenServers } from '../../../lib/mcp-orchestrators.mjs';
import { openClient } from '../../../lib/mcp-relay.mjs';
import { othersHaveNamespaces, rootHasNamespaces } from '../../../lib/namespaces.mjs';
import { internetSockets } from '../../../lib/internet-sockets.mjs';
import * as procs from '../../../lib/procs.mjs';
import { until } from '../../../lib/wait.mjs';

const possible = process.getuid() === 0 ? rootHasNamespaces : othersHaveNamespaces;
const SECRET = 'Bearer of-the-walled-0123456789abcdef';
const OFF = { network: { mode: 'off' } };
const TOOLS = ['add', 'whoami'].map((name) => ({ name, description: name, inputSchema: { type: 'object' } }));

// Whose the connection from that port of ours is.
const ownerOf = (port) => internetSockets('tcp').find(({ localPort }) => localPort === port)?.uid;

// The official server, with sessions; seen: method and headers of each request, and the user who made it.
class Web {
  seen = [];
  #sessions = new Map();

  async start(port = 0) {
    this.http = http.createServer((req, res) => this.#serve(req, res).catch(() => res.destroy())).listen(port, '127.0.0.1');
    await once(this.http, 'listening');
    this.port = this.http.address().port;
    return this;
  }

  get url() {
    return `http://127.0.0.1:${this.port}/mcp`;
  }

  stop() {
    this.http.closeAllConnections();
    return new Promise((done) => { this.http.close(done); });
  }

  async #serve(req, res) {
    this.seen.push({ method: req.method, headers: req.headers, user: ownerOf(req.socket.remotePort) });
    await (this.#sessions.get(req.headers['mcp-session-id']) ?? await this.#begin()).handleRequest(req, res);
  }

  async #begin() {
    const server = new Server({ name: 'web', version: '1' }, { capabilities: { tools: {} } });
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => this.#sessions.set(id, transport) });

    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: TOOLS }));
    server.setRequestHandler(CallToolRequestSchema, ({ params: { name, arguments: { a, b } = {} } }, { requestInfo }) => ({
      content: [{ type: 'text', text: name === 'add' ? `${a + b}` : requestInfo.headers.authorization }] }));
    await server.connect(transport);
    return transport;
  }
}

const entry = (url, more) => ({ type: 'http', name: 'web', url, headers: [{ name: 'Authorization', value: SECRET }], ...more });
const textOf = ({ result }) => result.content[0].text;

describe('an http server behind a wall', { skip: !possible && 'no namespaces' }, () => {
  let d, c, web;

  before(async () => {
    web = await new Web().start();
    d = await Daemon.start({ harnesses: [{ id: 'web', args: ['--mcp-http', '--mcp-sse'], capabilities: { mcpCapabilities: { http: true, sse: true } } }] });
    c = await d.client();
  });
  after(async () => {
    await endInOrder(d, c);
    await web.stop();
  });

  const open = ({ servers = [entry(web.url)], ...acpd } = {}) => c.newSession({ mcpServers: servers, meta: { harness: 'web', ...OFF, ...acpd } });
  const onShim = async (t, id) => openClient(t, (await givenServers(c, id))[0]);
  const ask = async (client, method, params) => (await client.request(method, params)).msg;
  const call = (client, name, args = {}) => ask(client, 'tools/call', { name, arguments: args });
  const close = (sessionId) => c.call('session/close', { sessionId });

  test('its tools are called, the header reaches it and nobody else, and it is taken leave of', async (t) => {
    const { sessionId: id, _meta } = await open();
    const [given] = await givenServers(c, id);
    const shim = await openClient(t, given);
    const from = web.seen.length;

    assert.deepEqual(_meta.acpd.mcp.map(({ name, via }) => [name, via]), [['web', 'client']]);
    assert.deepEqual([given.name, given.args, given.url], ['web', ['mcp'], undefined]);
    assert.deepEqual((await ask(shim, 'tools/list')).result.tools.map((tool) => tool.name), ['add', 'whoami']);
    assert.equal(textOf(await call(shim, 'add', { a: 40, b: 2 })), '42');
    assert.equal(textOf(await call(shim, 'whoami')), SECRET);
    const over = await (await new McpHttp(d, `/mcp/web?session=${id}`).modern('tools/call', { name: 'add', arguments: { a: 1, b: 2 } })).over();
    assert.equal(textOf(over.answer), '3');

    const all = web.seen.slice(from);
    assert.ok(all.length > 3 && all.every(({ headers }) => headers.authorization === SECRET), JSON.stringify(all));
    const helper = procs.list().find((p) => p.comm === 'acpd-fetch' && p.ppid === d.pid);
    const user = procs.owner(helper.pid);
    assert.ok(all.every((r) => r.user === user), `not all by acpd-fetch, ${user}: ${all.map((r) => r.user)}`);
    const { sessions: [status] } = await c.call('_acpd/status', { sessionId: id });
    const [served] = status.mcp;
    assert.deepEqual([served.via, served.toolsDelivered], ['client', ['add', 'whoami']]);
    const around = [JSON.stringify(given), JSON.stringify(status), d.stderr, ...procs.list().flatMap((p) => ['environ', 'cmdline'].map((file) => procs.textIfOurs(p.pid, file) ?? ''))];
    assert.deepEqual(around.filter((text) => text.includes(SECRET)), []);
    await close(id);
    await until(() => web.seen.some((r) => r.method === 'DELETE'), 'it to be taken leave of');
  });

  test('a policy holds for it, which it cannot where the harness calls it', async (t) => {
    const policy = { web: { tools: { add: { policy: 'deny' } } } };
    const { sessionId: id } = await open({ mcp: { policy } });
    const shim = await onShim(t, id);
    const { result } = await call(shim, 'add', { a: 1, b: 1 });

    assert.deepEqual([result.isError, result.structuredContent.error.code], [true, 'POLICY_DENIED']);
    assert.equal(textOf(await call(shim, 'whoami')), SECRET);
    await close(id);
    const denied = await open({ mcp: { policy: { web: { policy: 'deny' } } } });
    assert.deepEqual(denied._meta.acpd.mcp, [{ name: 'web', via: 'denied' }]);
    await close(denied.sessionId);
    await assert.rejects(open({ network: { mode: 'on' }, mcp: { policy } }), (e) => e.data.reason === 'MCP_POLICY_UNSUPPORTED');
  });

  test('a call while it is down fails and says so, and the next one finds it again', async (t) => {
    const { sessionId: id } = await open();
    const shim = await onShim(t, id);

    assert.equal(textOf(await call(shim, 'add', { a: 1, b: 1 })), '2');
    await web.stop();
    const { error } = await call(shim, 'add', { a: 1, b: 1 });
    assert.match(error.data.reason, /^(UNREACHABLE|SERVER_GONE)$/);
    assert.match((await call(shim, 'add', { a: 1, b: 1 })).error.message, /"web"/);
    web = await new Web().start(web.port);
    await until(async () => (await call(shim, 'add', { a: 2, b: 2 })).result?.content[0].text === '4', 'it to be called again');
    await close(id);
  });

  test('with an open network the harness has it, and after a change it has the shim', async () => {
    const { sessionId: id, _meta } = await open({ network: { mode: 'on' } });

    assert.deepEqual(_meta.acpd.mcp, [{ name: 'web', via: 'harness' }]);
    assert.equal((await givenServers(c, id))[0].url, web.url);
    await c.load(id, { mcpServers: [entry(web.url)], meta: OFF });
    assert.deepEqual((await givenServers(c, id))[0].args, ['mcp']);
    await close(id);
  });

  test('where it may be is for acpd-fetch to say', async (t) => {
    const { sessionId: id } = await open({ servers: [entry('http://169.254.169.254/mcp')] });
    const shim = await openClient(t, (await givenServers(c, id))[0], { era: '2026-07-28' });
    const { error } = await ask(shim, 'tools/list');

    assert.equal(error.data.reason, 'UNREACHABLE');
    assert.match(error.message, /169\.254\.169\.254.*(metadata|not be called)/);
    await close(id);
  });

  for (const [what, server, reason, field] of [
    ['nobody listens there', entry('http://127.0.0.1:1/mcp'), 'MCP_SERVER_UNREACHABLE', 'url'],
    ['the older transport', entry('http://127.0.0.1:1/sse', { type: 'sse' }), 'MCP_SERVER_UNREACHABLE', 'url'],
    ['a password in the address', (url) => entry(url.replace('//', '//a:b@')), 'URL_INVALID', 'url'],
    ['a header that is not its own to set', (url) => entry(url, { headers: [{ name: 'Mcp-Session-Id', value: 'x' }] }), 'HEADER_RESERVED', 'headers'],
    ['a header in two lines', (url) => entry(url, { headers: [{ name: 'X-A', value: 'a\r\nX-B: b' }] }), 'HEADER_INVALID', 'headers'],
  ])
    test(`refused: ${what}`, async () => {
      await assert.rejects(open({ servers: [typeof server === 'function' ? server(web.url) : server] }), (e) => {
        assert.deepEqual([e.code, e.data.reason, e.data.field], [-32602, reason, `mcpServers[0].${field}`], e.message);
        return true;
      });
    });
});
