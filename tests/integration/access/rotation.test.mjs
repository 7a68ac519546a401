// SPDX-License-Identifier: Apache-2.0
// What a credential has opened ends when the credential does: each kind of connection, stream, body and MCP session (KINDS) under each way in
// which a credential ends (CAUSES). The kinds are compared with the daemon's own tables and sources, so a new one without a row fails.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { AcpClient } from '../../lib/acp.mjs';
import { input, user } from '../../lib/agui.mjs';
import { Raw, pathOf, put, tarOf } from '../../lib/archives.mjs';
import { ROOT, withDaemon } from '../../lib/daemon.mjs';
import { Stream } from '../../lib/events.mjs';
import { gate } from '../../lib/gate.mjs';
import { LineTransport } from '../../lib/lines.mjs';
import { FIXTURE } from '../../lib/mcp.mjs';
import { McpHttp, startHosting } from '../../lib/mcp-http.mjs';
import { connectTaker } from '../../lib/model-calls.mjs';
import { dropPlain, startPlain } from '../../lib/plain.mjs';
import * as procs from '../../lib/procs.mjs';
import { SLOW, assertNoViolations, deadline } from '../../lib/rawws.mjs';
import { methodTable, routeTable } from '../../lib/tables.mjs';
import { inMs, listed, mint } from '../../lib/tokens.mjs';
import { startUi } from '../../lib/ui-command.mjs';
import { namesBelow } from '../../lib/vanishing.mjs';
import { until, withLimit } from '../../lib/wait.mjs';
import { acpd } from '../run.mjs';

after(assertNoViolations);

const LARGE = 20 << 20; // more than sockets hold of what nobody reads
const JSON_TYPE = { 'Content-Type': 'application/json' };

// --- the kinds ---------------------------------------------------------------------------------------------------------------

// A request whose body has begun and goes on. 100 Continue says that the daemon waits for more of it.
async function body(d, token, method, where, { headers = JSON_TYPE, chunked = false, first = '{' } = {}) {
  const raw = await Raw.open(d);
  let text = '';

  raw.socket.on('data', (data) => { text += data; });
  await raw.request(method, where, { Authorization: `Bearer ${token}`, Expect: '100-continue', ...headers, ...(chunked ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': '1000' }) });
  await until(() => text.startsWith('HTTP/1.1 100') || raw.closed, () => `${method} ${where} to begin: ${text}`);
  assert.match(text, /^HTTP\/1\.1 100 Continue\r\n\r\n$/, `${method} ${where}`);
  const chunk = (piece) => raw.send(`${piece.length.toString(16)}\r\n${piece}\r\n`);

  await (chunked ? chunk(first) : raw.send(first));
  return { chunk, async ended() {
    await until(() => raw.closed || (raw.send('x'), false), `${method} ${where} to end`);
    assert.doesNotMatch(text.slice(25), /^HTTP\/1\.1 2/, 'it was not carried out');
  } };
}

// An answer that is larger than what the sockets hold, of which nothing more is read until the end.
async function unread(d, token, where) {
  const raw = await Raw.open(d);
  let n = 0;

  raw.socket.on('data', (data) => { n += data.length; raw.socket.pause(); });
  await raw.request('GET', where, { Authorization: `Bearer ${token}` });
  await until(() => n > 0, `GET ${where} to begin`);
  return { async ended() {
    raw.socket.on('data', () => raw.socket.resume());
    raw.socket.resume();
    await until(() => raw.closed, `GET ${where} to end`);
    assert.ok(n < LARGE, `${where}: ${n} bytes`);
  } };
}

const upload = (d, token, chunked) => body(d, token, 'PUT', pathOf(crypto.randomBytes(8)), { headers: { 'Content-Type': 'application/zstd' }, chunked, first: 'begun' });

async function webSocket(d, token, { sessionId, cwd, params }, reason) {
  const c = await d.client({ token });

  await c.load(sessionId, { cwd, ...params });
  return { c, async ended() {
    // what is sent from now on is not carried out, however quick it is
    if (reason !== 'Token expired')
      c.request('session/delete', { sessionId }).answer.catch(() => {});
    await deadline(c.closed, 20000, 'the WebSocket');
    assert.deepEqual([c.ws.closeCode, c.ws.closeReason], [1008, reason]);
  } };
}

async function follow(d, token, { sessionId }, headers = {}) {
  const stream = await Stream.open(d, `/v1/sessions/${sessionId}/events?follow=true`, { token, headers });

  await stream.until((s) => s.events.length > 0);
  return { ended: () => stream.until((s) => s.cut || s.ended) };
}

async function agui(d, token, { step }) {
  const res = await fetch(`http://127.0.0.1:${d.port}/v1/agui/stub`, { method: 'POST', headers: { Authorization: `Bearer ${token}`, ...JSON_TYPE },
    body: JSON.stringify(input('a thread', [user(`echo begun; ${step}`)])) });
  const reader = res.body.getReader();

  assert.equal(res.status, 200);
  await reader.read();
  return { async ended() {
    for (let done = false; !done;)
      ({ done } = await reader.read().catch(() => ({ done: true })));
  } };
}

async function mcpSession(d, token) {
  const mcp = new McpHttp({ port: d.port, token }, '/mcp/fixture');

  await mcp.initialize();
  const listens = await mcp.listen();
  return { async ended(fresh) {
    await listens.over();
    const again = await new McpHttp({ port: d.port, token: fresh }, '/mcp/fixture').post({ jsonrpc: '2.0', id: 9, method: 'tools/list' },
      { headers: { 'Mcp-Session-Id': mcp.session, 'MCP-Protocol-Version': mcp.revision } });
    assert.equal(again.status, 404, 'the MCP session');
  } };
}

// A tool call whose answer is a stream already.
async function mcpCall(d, token) {
  const mcp = new McpHttp({ port: d.port, token }, '/mcp/fixture');

  await mcp.initialize();
  const call = await mcp.call('tools/call', { name: 'raw_wait', arguments: { ms: 3600000 } });
  assert.ok(call.streams);
  return { ended: () => call.over() };
}

async function viewer(d, token, { sessionId }) {
  const dir = fs.mkdtempSync(path.join(d.dir, 'ui-')), file = path.join(dir, 'token');

  for (const name of ['index.html', 'app.js', 'app.css'])
    fs.writeFileSync(path.join(dir, name), '<!doctype html>');
  fs.writeFileSync(file, token, { mode: 0o600 });
  const ui = await startUi(['--url', `http://127.0.0.1:${d.port}`, '--token-file', file, '--ui-dir', dir]);
  const res = await fetch(`${ui.base}/v1/sessions/${sessionId}/events?follow=true`);
  const reader = res.body.getReader();

  assert.equal(res.status, 200);
  await reader.read();
  return { async ended() {
    for (let done = false; !done;)
      ({ done } = await reader.read().catch(() => ({ done: true })));
    assert.equal((await fetch(`${ui.base}/v1/sessions`)).status, 401);
    await ui.stop();
  } };
}

// open(d, token, at, reason) -> {ended(fresh)}; at: {sessionId, archive, artifact, step}. routes: of daemon/http/endpoints.c; sources: what
// keeps a credential, or reads and writes a body in pieces, in daemon/{net,http,agui}.
const KINDS = [
  { name: 'a WebSocket that drives a session', open: webSocket, sources: ['net/visitor.c'] },
  { name: 'a WebSocket that observes', open: (d, token, at, reason) => webSocket(d, token, { ...at, params: { _meta: { acpd: { observe: true } } } }, reason) },
  { name: 'a WebSocket that takes model calls', async open(d, token, at, reason) {
    const { c } = await connectTaker(d, { token, only: true });
    return { async ended() {
      await deadline(c.closed, 20000, 'the WebSocket');
      assert.deepEqual([c.ws.closeCode, c.ws.closeReason], [1008, reason]);
    } };
  } },
  { name: 'an event stream, NDJSON', open: follow, routes: ['GET /v1/sessions/{}/events'], sources: ['http/routes/route_events.c'] },
  { name: 'an event stream, SSE', open: (d, token, at) => follow(d, token, at, { Accept: 'text/event-stream' }) },
  { name: 'a run of AG-UI', open: agui, routes: ['POST /v1/agui/{}'], sources: ['agui/agui_run.c', 'agui/agui_link.c'] },
  { name: 'the body of a run of AG-UI', open: (d, token) => body(d, token, 'POST', '/v1/agui/stub') },
  { name: 'an MCP session and its stream', open: mcpSession, routes: ['GET /mcp', 'GET /mcp/{}'], sources: ['http/mcp/mcp_sessions.c', 'http/mcp/mcp_events.c'] },
  { name: 'a tool call over MCP', open: mcpCall, routes: ['POST /mcp', 'POST /mcp/{}'], sources: ['http/mcp/mcp_exchange.c', 'http/mcp/mcp_http.c'] },
  { name: 'the body of an MCP message', open: (d, token) => body(d, token, 'POST', '/mcp', { headers: { ...JSON_TYPE, Accept: 'application/json, text/event-stream' } }) },
  { name: 'an archive upload', open: (d, token) => upload(d, token, false), routes: ['PUT /v1/archives/{}'], sources: ['http/routes/route_archives.c'] },
  { name: 'an archive upload, chunked', open: (d, token) => upload(d, token, true) },
  { name: 'an archive download', open: (d, token, { archive }) => unread(d, token, archive), routes: ['GET /v1/archives/{}'], sources: ['http/routes/file_body.c'] },
  { name: 'a workspace download', open: (d, token, { sessionId }) => unread(d, token, `/v1/sessions/${sessionId}/workspace`), routes: ['GET /v1/sessions/{}/workspace'], sources: ['http/routes/route_export.c', 'http/routes/helper_body.c'] },
  { name: 'an artifact download', open: (d, token, { sessionId, artifact }) => unread(d, token, `/v1/sessions/${sessionId}/artifacts/${artifact}`), routes: ['GET /v1/sessions/{}/artifacts/{}'], sources: ['http/routes/route_artifacts.c'] },
  { name: 'a bundle download', open: (d, token, { sessionId }) => unread(d, token, `/v1/sessions/${sessionId}/bundle`), routes: ['GET /v1/sessions/{}/bundle'], sources: ['http/routes/route_bundle.c'] },
  { name: 'the body of a new token', open: (d, token) => body(d, token, 'POST', '/v1/tokens'), routes: ['POST /v1/tokens'], sources: ['http/routes/route_tokens.c', 'http/routes/small_body.c'] },
  { name: 'the body of an answer to a question', open: (d, token) => body(d, token, 'POST', '/v1/approvals/x', { chunked: true }), routes: ['POST /v1/approvals/{}'], sources: ['http/routes/route_approvals.c'] },
  { name: 'the body of a shutdown', open: (d, token) => body(d, token, 'POST', '/v1/shutdown'), routes: ['POST /v1/shutdown', 'POST /v1/restart'], sources: ['http/routes/route_life.c'] },
  { name: 'a run viewer and its stream', open: viewer },
];

// Routes whose answer is complete with the request: nothing of them stays open. A long one is a stream as those above.
const AT_ONCE = ['GET /ready', 'GET /metrics', 'GET /v1/info', 'GET /v1/status', 'GET /v1/sessions', 'GET /v1/sessions/{}', 'GET /v1/sessions/{}/artifacts', 'GET /v1/approvals', 'GET /v1/usage',
  'GET /v1/tokens', 'DELETE /v1/tokens/{}', 'POST /v1/bundles', 'GET /v1/mcp', 'GET /v1/archives', 'DELETE /v1/archives/{}', 'DELETE /mcp', 'DELETE /mcp/{}'];
// They end by themselves, are before any credential, or open to everybody. A bundle is uploaded as an archive.
const OTHER_SOURCES = ['http/routes/route_usage.c', 'net/claim/e2b_claim.c', 'http/routes/route_ui.c'];

describe('the tables', () => {
  test('every route that needs a token is a kind here, or answers at once', () => {
    const have = [...KINDS.flatMap((k) => k.routes ?? []), ...AT_ONCE].sort();

    assert.deepEqual(have, routeTable().filter((r) => !r.open).map((r) => `${r.method} ${r.path}`).sort());
  });

  test('everything that keeps a credential or moves a body in pieces is of a kind here', () => {
    const keeps = /->(?:sink|stream) = |http_take_body\(|grant_keep\(|http_reply_file\(|mcp_events_reply\(/;
    const found = ['net', 'http', 'agui'].flatMap((dir) => namesBelow(path.join(ROOT, 'daemon', dir)).map((f) => `${dir}/${f}`))
      .filter((f) => f.endsWith('.c') && keeps.test(fs.readFileSync(path.join(ROOT, 'daemon', f), 'utf8').replaceAll(/\bp->(?:sink|stream) = /g, '')));

    assert.deepEqual(found.sort(), [...KINDS.flatMap((k) => k.sources ?? []), ...OTHER_SOURCES].sort());
  });

  test('every method is called over a WebSocket, whose end is the end of all of them', () => {
    assert.ok(methodTable().every((m) => ['ANY', 'ADMIN', 'DRIVE', 'OBSERVE', 'USAGE', 'MODEL'].includes(m.need)), 'none has a door of its own');
  });
});

// --- the causes --------------------------------------------------------------------------------------------------------------

const newToken = () => `token-${crypto.randomBytes(12).toString('hex')}`;

async function byFile(d) {
  d.writeToken(newToken());
  d.child.kill('SIGHUP');
  d.token = fs.readFileSync(d.tokenFile, 'utf8').trim();
}

async function byClaim(d, ...args) {
  const token = newToken();

  assert.deepEqual(await acpd(['claim', '--replace', '--run-dir', d.runDir, ...args], { input: token }), { code: 0, signal: null, stdout: '', stderr: '' });
  d.token = token;
}

// begin: the token that opens everything, {token, id?}; end: takes it away; ms: it ends by itself after that.
const CAUSES = {
  'a new token file and SIGHUP': { begin: (d) => ({ token: d.token }), end: byFile, reason: 'Token replaced' },
  'acpd claim --replace': { begin: (d) => ({ token: d.token }), end: (d) => byClaim(d), reason: 'Token replaced', root: true },
  'a new token file, for a minted token': { begin: (d) => mint(d, 'admin'), end: byFile, reason: 'Token replaced' },
  'acpd claim --replace, for a minted token': { begin: (d) => mint(d, 'admin'), end: (d) => byClaim(d), reason: 'Token replaced', root: true },
  'acpd tokens revoke': { begin: (d) => mint(d, 'admin'), reason: 'Token revoked',
    end: async (d, { id }) => assert.equal((await acpd(['tokens', 'revoke', id, '--run-dir', d.runDir])).code, 0) },
  expiry: { begin: (d, ms) => mint(d, 'admin', { ms }), reason: 'Token expired', ms: 8000 * SLOW, end: () => {} },
};

// A session with a turn under way, and what is large enough to be under way.
async function scene(d, local) {
  const tar = tarOf(LARGE), held = gate(d), cwd = path.join(d.dir, 'large');

  fs.mkdirSync(cwd);
  fs.chmodSync(cwd, 0o777);
  fs.writeFileSync(path.join(cwd, 'file'), crypto.randomBytes(LARGE));
  assert.equal((await put(d, tar)).status, 201);
  const { sessionId } = await local.newSession({ cwd });
  const { artifact } = await local.call('_acpd/artifact/put', { sessionId, name: 'large', base64: crypto.randomBytes(LARGE).toString('base64') });
  return { sessionId, cwd, archive: pathOf(tar), artifact: artifact.id, step: held.step, goOn: held.open };
}

const turnEnds = async (d, id) => (await d.http(`/v1/sessions/${id}/events`, { token: d.token })).body.split('\n').filter(Boolean).map((l) => JSON.parse(l))
  .filter((e) => e.kind === 'complete');

async function openAll(d, at, cause, ms) {
  const { token, id } = await cause.begin(d, ms), end = Date.now() + (ms ?? Infinity);
  const drives = await d.client({ token });

  try {
    await drives.load(at.sessionId, { cwd: at.cwd });
    const turn = drives.startPrompt(at.sessionId, `echo begun; ${at.step}; echo on`);
    turn.answer.catch(() => {});
    await drives.waitUpdate((u) => u.update.content?.text === 'begun');
    const open = [];

    for (const kind of KINDS)
      open.push({ kind, ...await kind.open(d, token, at, cause.reason) });
    return { token, id, open };
  } catch (error) {
    return { error, late: ms !== undefined && Date.now() >= end };
  }
}

for (const [name, cause] of Object.entries(CAUSES))
  test(`${name}: everything that the credential opened ends, and the turn goes on`, { skip: cause.root && process.getuid() !== 0 && 'needs root' }, async (t) => {
    const d = await startHosting({ fixture: { command: FIXTURE } });
    t.after(() => d.discard());
    const local = new AcpClient(await LineTransport.unix(d.acpSocket), { daemon: d });
    await local.initialize();
    const at = await scene(d, local);
    const { token, id, open, error } = await withLimit(cause.ms, (ms) => openAll(d, at, cause, ms), ({ late }) => late);

    if (error)
      throw error;
    await cause.end(d, { id });
    for (const { kind, ended } of open)
      await t.test(kind.name, () => ended(d.token));
    assert.equal((await d.http('/v1/info', { token })).status, 401);
    assert.deepEqual(await listed(d), []);
    const { sessions } = await local.call('_acpd/status', { sessionId: at.sessionId });
    assert.deepEqual([sessions[0].watchers, sessions[0].state], [0, 'busy'], 'nobody drives it, and its turn runs');
    at.goOn();
    const ends = await until(async () => (await turnEnds(d, at.sessionId)).length >= 1 && turnEnds(d, at.sessionId), 'the turn to end');
    assert.ok(ends.every((e) => e.stopReason === 'end_turn'), JSON.stringify(ends));
    await local.close();
    await d.stop();
  });

// In one turn the daemon reads chunks, then WebSockets, and then sends answers, which is what carries a request out.
test('a token is revoked between a request and its answer: the request is not carried out', () => withDaemon({}, async (d) => {
  const c = await d.client(), { token, id } = await mint(d, 'admin');
  const order = JSON.stringify({ scope: 'admin', expiresAt: inMs(3600000), label: 'late' });
  const request = await body(d, token, 'POST', '/v1/tokens', { chunked: true, first: order.slice(0, 9) });

  await c.call('_acpd/status'); // the first chunk has been read, too
  d.child.kill('SIGSTOP');
  await until(() => procs.stat(d.pid).state === 'T', 'the daemon to stand still');
  const { answer } = c.request('_acpd/tokens/revoke', { id });
  await request.chunk(order.slice(9));
  await request.chunk('');
  d.child.kill('SIGCONT');
  assert.deepEqual((await answer).result, {});
  await request.ended();
  assert.deepEqual(await listed(d), []);
  assert.equal((await d.http('/v1/tokens', { method: 'POST', token: d.token, headers: JSON_TYPE, body: order })).status, 201, 'it can be carried out');
  await c.close();
}));

// --- replacing the token ---------------------------------------------------------------------------------------------------------

const ROOT_ONLY = { skip: process.getuid() !== 0 && 'needs root' };
const works = async (d, token) => (await d.http('/v1/info', { token })).status === 200;

async function control(d, method, params, line) {
  line ??= await LineTransport.unix(d.controlSocket);
  const answer = new Promise((resolve) => { line.once('message', ({ payload }) => resolve(JSON.parse(payload))); });

  line.text(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  return deadline(answer, 10000, method).finally(() => line.destroy());
}

const digest = (token) => `sha256:${crypto.createHash('sha256').update(token).digest('hex')}`;

for (const [name, end] of [['a new token file', byFile], ['acpd claim --replace', byClaim]])
  test(`${name}: a token that is minted in the race is as one that was minted before`, name.startsWith('acpd') ? ROOT_ONLY : {}, () => withDaemon({}, async (d) => {
    const c = await d.client(), { token } = d;
    const order = { scope: 'admin', expiresAt: new Date(Date.now() + 3600000).toISOString(), label: 'race' };
    const minted = [];
    let over = false;
    const overWebSocket = async () => {
      while (!over)
        await c.call('_acpd/tokens/mint', order).then((k) => minted.push(k.token), () => { over = true; });
    };
    const overHttp = async () => {
      for (let status = 201; status === 201;) {
        const res = await d.http('/v1/tokens', { method: 'POST', token, headers: JSON_TYPE, body: JSON.stringify(order) });
        ({ status } = res);
        minted.push(...(status === 201 ? [res.json.token] : []));
      }
    };

    const race = Promise.allSettled([overWebSocket(), overHttp()]);
    await until(() => minted.length > 20, 'some to be minted');
    await end(d);
    await deadline(c.closed, 10000, 'the WebSocket');
    over = true;
    await race;
    assert.ok(minted.length > 20);
    for (const k of [token, ...minted])
      assert.ok(!await works(d, k), `one of ${minted.length}`);
    assert.deepEqual(await listed(d), []);
    await d.restart({ flags: {} });
    for (const k of minted)
      assert.ok(!await works(d, k), 'after a restart');
  }));

test('--keep-tokens: minted tokens hold on, with their connections, and outlast a restart', ROOT_ONLY, () => withDaemon({ token: null }, async (d) => {
  d.token = newToken();
  assert.equal((await acpd(['claim', '--run-dir', d.runDir], { input: d.token })).code, 0);
  const own = await d.client(), { token } = await mint(d, 'observe'), kept = await d.client({ token });

  await byClaim(d, '--keep-tokens');
  await deadline(own.closed, 10000, 'the WebSocket of the claim');
  await kept.call('_acpd/status');
  assert.equal((await listed(d)).length, 1);
  await kept.close();
  await d.restart({ flags: {} });
  assert.equal((await acpd(['claim', '--run-dir', d.runDir], { input: d.token })).code, 0);
  assert.ok(await works(d, token));
}));

test('the same token again ends nothing; a token file that has not changed brings no replaced token back', ROOT_ONLY, () => withDaemon({}, async (d) => {
  const first = d.token, c = await d.client(), hup = async () => {
    const from = d.logs.length;
    d.child.kill('SIGHUP');
    await until(() => d.logs.slice(from).some((l) => l.msg === 'token file read'), 'the file to be read');
  };

  await hup();
  assert.equal((await acpd(['claim', '--replace', '--run-dir', d.runDir], { input: d.token })).code, 0);
  await c.call('_acpd/status');
  await byClaim(d);
  await deadline(c.closed, 10000, 'the WebSocket');
  await hup();
  assert.deepEqual([await works(d, first), await works(d, d.token)], [false, true]);
  await byFile(d);
  await until(() => works(d, d.token), 'a file that has changed to count');
}));

test('only root replaces a token, over control.sock, and with nothing else', ROOT_ONLY, () => withDaemon({ flags: { claimE2b: true } }, async (d) => {
  const other = { digest: digest(newToken()), replace: true };
  const rows = [[{ settings: { log: 'debug' } }, 'settings', 'PARAM_UNSUPPORTED'], [{ webhooks: [] }, 'webhooks', 'PARAM_UNSUPPORTED'], [{ sandboxId: 'x' }, 'sandboxId', 'PARAM_UNSUPPORTED'],
    [{ replace: undefined, keepTokens: true }, 'keepTokens', 'PARAM_UNSUPPORTED'], [{ digest: 'sha256:0' }, 'digest', 'TOKEN_INVALID'], [{ replace: 'yes' }, 'replace', 'FIELD_INVALID']];

  for (const [more, field, reason] of rows) {
    const { error } = await control(d, 'claim', { ...other, ...more });
    assert.deepEqual([error.data.reason, error.data.field], [reason, field], JSON.stringify(more));
  }
  assert.ok(await works(d, d.token));
}));

test('an unclaimed daemon is claimed by --replace', ROOT_ONLY, () => withDaemon({ token: null }, async (d) => {
  await byClaim(d);
  assert.ok(await works(d, d.token));
}));

test('a daemon that is not root is replaced by root alone', ROOT_ONLY, async () => {
  const d = await startPlain();

  try {
    const asDaemon = (params) => acpd(['claim', '--replace', '--run-dir', d.runDir], { input: params, uid: 65534, gid: 65534 });
    const refused = await asDaemon(newToken());
    assert.deepEqual([refused.code, /only root/.test(refused.stderr)], [3, true], refused.stderr);
    assert.ok(await works(d, d.token));
    await byClaim(d);
    assert.ok(await works(d, d.token));
    await d.stop();
  } finally {
    await d.discard();
    dropPlain(d);
  }
});
