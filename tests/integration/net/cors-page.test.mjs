// SPDX-License-Identifier: Apache-2.0
// build: release
// A real page in real Chromium: one of an origin that is allowed asks, uploads, follows events and drives the client of images/ with its token;
// one of another origin gets nothing, whatever it tries.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { transformSync } from 'esbuild';
import { openBrowser } from '../../lib/browser.mjs';
import { Daemon, ROOT, endInOrder } from '../../lib/daemon.mjs';

const CLIENT = transformSync(fs.readFileSync(path.join(ROOT, 'images/acpd-client.ts'), 'utf8'), { loader: 'ts' }).code;
let browser, pages, d, open, c, sessionId;

// A site of its own: another port is another origin.
async function startSite() {
  const server = http.createServer((req, res) => {
    const client = req.url === '/acpd-client.js';

    res.setHeader('Content-Type', client ? 'text/javascript' : 'text/html');
    res.end(client ? CLIENT : '<!doctype html><title>a page</title>');
  });

  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const origin = `http://localhost:${server.address().port}`;
  const page = await browser.newPage();

  await page.goto(origin);
  return { origin, page, close: () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); }) };
}

before(async () => {
  browser = await openBrowser();
  pages = { own: await startSite(), other: await startSite() };
  d = await Daemon.start({ flags: { allowOrigin: pages.own.origin } });
  open = await Daemon.start({ flags: { allowOrigin: pages.own.origin, allowQueryToken: true } });
  c = await d.client();
  ({ sessionId } = await c.newSession());
});
after(async () => {
  await browser?.close();
  await Promise.all(Object.values(pages ?? {}).map((p) => p.close()));
  await endInOrder(open);
  await endInOrder(d, c);
});

const at = (daemon) => ({ url: `http://127.0.0.1:${daemon.port}`, token: daemon.token });

// In the page: an answer as plain data, or {failed} where the browser lets nothing through.
const ask = (page, daemon, where, init = {}, withToken = true) => page.evaluate(async ([{ url, token }, path_, given, authorized]) => {
  try {
    const headers = { ...given.headers, ...(authorized && { Authorization: `Bearer ${token}` }) };
    const res = await fetch(url + path_, { ...given, headers });

    return { status: res.status, type: res.type, names: [...res.headers.keys()], body: await res.text() };
  } catch (e) {
    return { failed: e.name };
  }
}, [at(daemon), where, init, withToken]);

test('a page of an allowed origin reads every kind of answer, also refusals, and the headers that it needs', async () => {
  const { page } = pages.own;
  const info = await ask(page, d, '/v1/info');
  const usage = await ask(page, d, '/v1/usage?format=json');

  assert.equal(info.status, 200);
  assert.ok(JSON.parse(info.body).features.events);
  assert.ok(usage.names.includes('acpd-last'), `${usage.names}`);
  assert.equal((await ask(page, d, '/openapi.json', {}, false)).status, 200);
  for (const [where, status, authorized] of [['/v1/info', 401, false], ['/v1/sessions/none', 404, true], ['/v1/usage?x=1', 400, true], ['/nowhere', 404, true]])
    assert.equal((await ask(page, d, where, {}, authorized)).status, status, where);
});

test('it may use every method of every route: the preflight lets it', async () => {
  const { page } = pages.own;
  const digest = `sha256:${'0'.repeat(64)}`;
  const asked = [['HEAD', '/v1/info', 200], ['POST', '/v1/approvals/none', 404, '{"optionId":"x"}'], ['PUT', `/v1/archives/${digest}`, 415, 'x', 'text/plain'], ['PUT', `/v1/archives/${digest}`, 400, 'x', 'application/zip'], ['DELETE', `/v1/archives/${digest}`, 404],
    ['POST', '/mcp', 400, '{}'], ['DELETE', '/mcp', 400], ['POST', '/health', 405, '{}']];

  for (const [method, where, status, body, type = 'application/json'] of asked) {
    const headers = body ? { 'Content-Type': type } : {};
    const answer = await ask(page, d, where, { method, headers, body });

    assert.equal(answer.status, status, `${method} ${where}: ${JSON.stringify(answer)}`);
  }
});

test('it follows events by fetch, as they come, and stops when it likes', async () => {
  const { page } = pages.own;
  const following = page.evaluate(async ([{ url, token }, id]) => {
    const stop = new AbortController();
    const res = await fetch(`${url}/v1/sessions/${id}/events?follow=true&format=sse`, { headers: { Authorization: `Bearer ${token}` }, signal: stop.signal });
    const reader = res.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';

    window.following = true;
    while (!text.includes('"final":true'))
      text += (await reader.read()).value;
    stop.abort();
    return { type: res.headers.get('content-type'), incarnation: res.headers.get('acpd-incarnation'), text };
  }, [at(d), sessionId]);

  await page.waitForFunction(() => window.following);
  await c.prompt(sessionId, 'echo from a page');
  const { type, incarnation, text } = await following;

  assert.match(type, /^text\/event-stream/);
  assert.match(incarnation, /^[0-9a-f]{32}$/);
  assert.match(text, /^id: \d+\ndata: \{.*"kind":"message".*from a page/m);
});

// The first event that an EventSource brings, or how it fails: it has no headers, so the token stands in the query.
const eventSource = (page, daemon, id) => page.evaluate(([{ url, token }, session]) => new Promise((resolve) => {
  const source = new EventSource(`${url}/v1/sessions/${session}/events?token=${token}`);

  source.onmessage = ({ data, lastEventId }) => { source.close(); resolve({ lastEventId, kind: JSON.parse(data).kind }); };
  source.onerror = () => { const { readyState } = source; source.close(); resolve({ readyState }); };
}), [at(daemon), id]);

test('EventSource works with --allow-query-token, and is refused without', async () => {
  const other = await open.client();
  const { sessionId: id } = await other.newSession();

  await other.prompt(id, 'echo for an EventSource');
  const { lastEventId, kind } = await eventSource(pages.own.page, open, id);

  assert.ok(Number(lastEventId) > 0 && kind, `${lastEventId} ${kind}`);
  assert.deepEqual(await eventSource(pages.own.page, d, sessionId), { readyState: 2 }); // closed: it does not try again
  assert.deepEqual(await eventSource(pages.other.page, open, id), { readyState: 2 });
});

test('a page of another origin gets nothing: no answer, no stream, no word of what there is, no change', async () => {
  const { page } = pages.other;
  const before = (await d.http('/v1/archives', { token: d.token })).json;

  for (const [where, init, authorized] of [['/v1/info', {}, true], ['/health', {}, false], ['/openapi.json', {}, false], [`/v1/sessions/${sessionId}/events?follow=true`, {}, true],
    [`/v1/archives/sha256:${'1'.repeat(64)}`, { method: 'PUT', body: 'x' }, true], ['/v1/shutdown', { method: 'POST', body: '{}' }, true]])
    assert.deepEqual(await ask(page, d, where, init, authorized), { failed: 'TypeError' }, where);
  const blind = await ask(page, d, '/v1/shutdown', { method: 'POST', mode: 'no-cors', body: '{}' });

  assert.deepEqual([blind.status, blind.type, blind.body], [0, 'opaque', '']);
  assert.deepEqual((await d.http('/v1/archives', { token: d.token })).json, before);
  assert.equal((await d.http('/v1/status', { token: d.token })).json.state, 'ready', 'nobody has ended it');
});

test('the client of images/ works in a page as it stands: info, upload, events, usage, a refusal by name', async () => {
  await c.prompt(sessionId, 'echo for the client');
  const got = await pages.own.page.evaluate(async ([{ url, token }, id]) => {
    const { AcpdClient, AcpdError } = await import('/acpd-client.js');
    const daemon = new AcpdClient({ url, headers: { authorization: `Bearer ${token}` } });
    const kinds = new Set(), records = [];
    // an empty tar
    const digest = await daemon.upload(new Uint8Array(10240));

    for await (const event of daemon.events(id))
      kinds.add(event.kind);
    for await (const record of daemon.usage({ session: id }))
      records.push(record.type);
    const refused = await daemon.session('none').catch((e) => [e instanceof AcpdError, e.status, e.reason]);

    return { version: (await daemon.info()).version, digest, again: await daemon.upload(new Uint8Array(10240)), kinds: [...kinds], records, refused };
  }, [at(d), sessionId]);

  assert.match(got.version, /^\d/);
  assert.match(got.digest, /^sha256:[0-9a-f]{64}$/);
  assert.equal(got.again, got.digest);
  assert.ok(got.kinds.includes('complete') && got.kinds.includes('prompt'), `${got.kinds}`);
  assert.ok(got.records.includes('turn'));
  assert.deepEqual(got.refused, [true, 404, 'SESSION_NOT_FOUND']);
});
