// SPDX-License-Identifier: Apache-2.0
// A page of an origin that is allowed can use fetch and event streams on every route, as it can the WebSocket; one that is not hears
// nothing that would let it.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';

const PAGE = 'https://app.example.com';
const HEX = 'a'.repeat(64);
const ROUTES = ['/health', '/ready', '/metrics', '/v1/sessions', '/v1/sessions/x', '/v1/sessions/x/events', '/v1/sessions/x/workspace',
  '/v1/sessions/x/artifacts', '/v1/sessions/x/artifacts/y', '/v1/usage', '/v1/mcp', '/v1/archives', `/v1/archives/sha256:${HEX}`, '/mcp',
  '/mcp/x', '/acp', '/nowhere'];
let d;

before(async () => {
  d = await Daemon.start({ flags: { allowOrigin: `${PAGE},http://localhost:3000` } });
});
after(() => endInOrder(d));

const from = (origin, more = {}) => ({ headers: { Origin: origin, ...more } });
const preflight = (origin, more = {}) => ({ method: 'OPTIONS', ...from(origin, { 'Access-Control-Request-Method': 'GET', ...more }) });
const silent = (headers) => assert.deepEqual(Object.keys(headers).filter((h) => h.startsWith('access-control')), []);

test('preflight: every route says yes to an allowed origin, without a token', async () => {
  for (const route of ROUTES) {
    const r = await d.http(route, preflight(PAGE, { 'Access-Control-Request-Headers': 'authorization, mcp-param-x' }));

    assert.equal(r.status, 204, route);
    assert.equal(r.body, '');
    assert.equal(r.headers['content-length'], undefined);
    assert.equal(r.headers['access-control-allow-origin'], PAGE);
    assert.match(r.headers['access-control-allow-methods'], /GET.*POST.*PUT.*DELETE/);
    assert.equal(r.headers['access-control-allow-headers'], 'authorization, mcp-param-x');
    assert.match(r.headers.vary, /Origin/);
    assert.ok(Number(r.headers['access-control-max-age']) > 0);
    assert.equal(r.headers['access-control-allow-credentials'], undefined);
  }
  const plain = await d.http('/ready', preflight(PAGE, { 'Access-Control-Request-Private-Network': 'true' }));
  assert.match(plain.headers['access-control-allow-headers'], /Authorization/);
  assert.equal(plain.headers['access-control-allow-private-network'], 'true');
});

test('preflight: other origins hear nothing, and neither does an OPTIONS that is none', async () => {
  for (const origin of ['https://evil.example', 'null', `${PAGE}.evil.example`, `${PAGE}:443`, 'x'.repeat(2000)]) {
    const r = await d.http('/ready', preflight(origin));

    assert.equal(r.status, 403, origin);
    silent(r.headers);
  }
  const bare = await d.http('/ready', { method: 'OPTIONS', token: d.token });
  assert.equal(bare.status, 405);
  silent(bare.headers);
  const host = await d.http('/ready', preflight(PAGE, { Host: 'evil.example' }));
  assert.equal(host.status, 403, 'the Host is checked first');
});

test('what is asked for cannot add headers of its own', async () => {
  for (const asked of ['a:b', 'a;b', '{a}', 'a/b']) {
    const r = await d.http('/ready', preflight(PAGE, { 'Access-Control-Request-Headers': asked }));

    assert.match(r.headers['access-control-allow-headers'], /^Authorization, /, asked);
  }
});

test('answers of every route and status can be read by a page of an allowed origin only', async () => {
  const exposed = 'access-control-expose-headers';

  for (const route of ROUTES) {
    for (const token of [d.token, undefined, 'a-token-that-is-wrong']) {
      const r = await d.http(route, { ...from(PAGE), token });

      assert.equal(r.headers['access-control-allow-origin'], PAGE, `${route} ${r.status}`);
      assert.match(r.headers[exposed], /Mcp-Session-Id.*Upload-Offset/);
      assert.match(r.headers.vary, /Origin/);
    }
    const none = await d.http(route, { token: d.token });
    silent(none.headers);
    const other = await d.http(route, { ...from('https://evil.example'), token: d.token });
    assert.equal(other.status, 403);
    silent(other.headers);
  }
});

test('an upload, a request to MCP and an event stream of a page', async () => {
  const page = (more) => ({ token: d.token, headers: { Origin: 'http://localhost:3000', ...more } });
  const put = await d.http(`/v1/archives/sha256:${HEX}`, { ...page(), method: 'PUT', body: 'not that' });
  assert.ok(put.status >= 400 && put.headers['access-control-allow-origin'] === 'http://localhost:3000', `${put.status}`);
  const post = await d.http('/mcp', { ...page({ 'Content-Type': 'application/json' }), method: 'POST', body: '{}' });
  assert.equal(post.headers['access-control-allow-origin'], 'http://localhost:3000');

  const c = await d.client();
  const { sessionId } = await c.newSession();
  const stop = new AbortController();
  const stream = await fetch(`http://127.0.0.1:${d.port}/v1/sessions/${sessionId}/events?follow=true&format=sse`, {
    headers: { Authorization: `Bearer ${d.token}`, Accept: 'text/event-stream', Origin: PAGE }, signal: stop.signal,
  });

  assert.equal(stream.status, 200);
  assert.equal(stream.headers.get('access-control-allow-origin'), PAGE);
  stop.abort();
  await c.close();
});
