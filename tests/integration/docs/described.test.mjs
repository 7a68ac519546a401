// SPDX-License-Identifier: Apache-2.0
// That the libraries of the tests see what the daemon sends besides answers and messages: a wrong line of each kind, wherever it is read.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { commandProblems } from '../../lib/described-commands.mjs';
import { EACH, FIRST, Sample, WHOLE, watched } from '../../lib/described-lines.mjs';
import { api, httpProblems, linesOf, webhookProblems } from '../../lib/described.mjs';
import { Stream } from '../../lib/events.mjs';
import { McpHttp } from '../../lib/mcp-http.mjs';
import { Receiver } from '../outbox/rig.mjs';
import { acpd, acpdSync } from '../run.mjs';

const EVENTS = '/v1/sessions/x/events';
const NDJSON = 'application/x-ndjson', SSE = 'text/event-stream';
const WHO = { seq: 1, ts: '2026-11-21T08:00:00.000Z', sessionId: 'x' };
const event = (more) => ({ ...WHO, ...more });
const text = (type, value) => (type === SSE ? `id: 1\ndata: ${JSON.stringify(value)}\n\n` : `${JSON.stringify(value)}\n`);
const lines = (where = EVENTS, type = NDJSON, method = 'GET') => linesOf({ method, where }, { status: 200, type });

const GOOD = [
  event({ kind: 'lifecycle', event: 'closed' }), event({ kind: 'complete', final: true, stopReason: 'end_turn' }), event({ kind: 'message', content: { type: 'text', text: 'hi' } }),
  event({ kind: 'tool_call', event: 'tool_call', toolCallId: 't', title: 'ls', toolKind: 'execute', status: 'pending' }), event({ kind: 'lifecycle', event: 'current_mode_update', currentModeId: 'code' }),
];
const WRONG = [
  [event({ kind: 'lifecycle', event: 'closed', why: 'x' }), 'an unknown member'], [{ ts: WHO.ts, kind: 'lifecycle', event: 'closed' }, 'a missing member'],
  [event({ kind: 'lifecycle', event: 'opened' }), 'an unknown event'], [event({ kind: 'complete', final: false }), 'a wrong value'], [event({ kind: 'news' }), 'an unknown kind'],
  [event({ kind: 'message', content: { type: 'text', text: 'hi' }, colour: 'red' }), 'an unknown member of an update of ACP'], [event({ kind: 'message' }), 'a missing one'],
  [event({ kind: 'tool_call', event: 'tool_call', toolCallId: 't', title: 'ls', toolKind: 'cook' }), 'a wrong value of it'],
];

test('lines of events: right ones pass, wrong ones do not, as NDJSON and as server-sent events, whole and in pieces', () => {
  for (const type of [NDJSON, SSE]) {
    for (const value of GOOD)
      assert.deepEqual(lines(EVENTS, type).feed(text(type, value)), [], JSON.stringify(value));
    for (const [value, what] of WRONG) {
      const piece = text(type, value);
      const inPieces = lines(EVENTS, type);

      assert.equal(httpProblems({ method: 'GET', where: EVENTS }, { status: 200, headers: { 'content-type': type }, body: piece }).length, 1, what);
      assert.deepEqual(inPieces.feed(piece.slice(0, 9)), []);
      assert.equal(inPieces.feed(piece.slice(9)).length, 1, what);
    }
  }
  assert.match(lines().feed('{"seq": 1\n')[0], /no JSON/);
  assert.match(lines(EVENTS, SSE).feed('id: 1\nretry: 2\ndata: {}\n\n')[0], /in no frame/);
  assert.deepEqual(lines(EVENTS, SSE).feed(': still here\n\n'), []);
});

test('lines of the ledger, of AG-UI and of MCP', () => {
  const n = (of, value) => of.feed(text(of.sse ? SSE : NDJSON, value)).length;
  const agui = () => lines('/v1/agui/stub', SSE, 'POST'), mcp = () => lines('/mcp', SSE, 'POST');

  assert.equal(n(lines('/v1/usage'), { v: 1, n: 1, type: 'turn' }), 1);
  assert.deepEqual([n(agui(), { type: 'RUN_STARTED', runId: 'r' }), n(agui(), { type: 'RUN_AWAY' }), n(agui(), { runId: 'r' })], [0, 1, 1]);
  assert.deepEqual([n(mcp(), { jsonrpc: '2.0', id: 1, result: {} }), n(mcp(), { id: 1, result: {} }), n(mcp(), { jsonrpc: '2.0', id: 1, outcome: {} })], [0, 1, 1]);
});

test('of a long stream all of the beginning, each new shape, and a sample are looked at', () => {
  const s = new Sample();
  const count = (n, value) => Array.from({ length: n }, () => s.takes(value)).filter(Boolean).length;

  assert.equal(count(WHOLE, GOOD[0]), WHOLE);
  assert.equal(count(100 * EACH, GOOD[0]), 100 + FIRST);
  assert.equal(count(FIRST, GOOD[1]), FIRST, 'another kind');
  assert.equal(count(FIRST, { ...GOOD[0], why: 'x' }), FIRST, 'another member');
});

// Says one line of an answer that goes on.
async function speaker(t, type, line) {
  const server = http.createServer((rq, rs) => {
    rs.writeHead(200, { 'content-type': type });
    rs.write(line);
  });

  await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { port: server.address().port, token: 'x' };
}

// What a data handler throws ends in the process: the next one is taken here.
const thrown = () => new Promise((resolve) => {
  const others = process.listeners('uncaughtException');

  process.removeAllListeners('uncaughtException');
  process.once('uncaughtException', (e) => {
    for (const other of others)
      process.on('uncaughtException', other);
    resolve(e);
  });
});

test('the readers of streams fail at a wrong line: of events, of MCP, of fetch', async (t) => {
  for (const type of [NDJSON, SSE]) {
    const failed = thrown();
    const s = await Stream.open(await speaker(t, type, text(type, WRONG[0][0])), EVENTS);

    assert.match((await failed).message, /a line that the API does not have/);
    s.close();
  }
  const failed = thrown();
  const answer = await new McpHttp(await speaker(t, SSE, text(SSE, { id: 1 })), '/mcp').call('ping');

  assert.match((await failed).message, /a line that the API does not have/);
  answer.close();
  const wrong = watched(new Response(text(NDJSON, WRONG[0][0])), lines());

  await assert.rejects(wrong.text(), /a line that the API does not have/);
  assert.equal(await watched(new Response(text(NDJSON, GOOD[0])), lines()).text(), text(NDJSON, GOOD[0]));
});

const HOOK = { type: 'turn.ended', timestamp: WHO.ts, data: { number: 1, sessionId: 'x', incarnation: 'i', turn: 1, stopReason: 'end_turn' } };

test('webhooks: each type that there is, and what is wrong with one', () => {
  const without = (of, name) => Object.fromEntries(Object.entries(of).filter(([k]) => k !== name));
  const found = (more) => webhookProblems({ ...HOOK, ...more }).length;

  assert.deepEqual(webhookProblems(HOOK), []);
  assert.deepEqual([found({ data: { ...HOOK.data, cost: 1 } }), found({ data: without(HOOK.data, 'incarnation') }), found({ data: without(HOOK.data, 'stopReason') })], [1, 1, 1]);
  assert.deepEqual([found({ type: 'turn.begun' }), found({ version: 2 }), found({ timestamp: 'now' })], [1, 1, 1]);
  for (const type of Object.keys(api.webhooks))
    assert.equal(found({ type, data: { colour: 'red' } }), 1, type);
});

test('the receiver of webhooks fails at a wrong one', async (t) => {
  const r = await Receiver.start(t);
  const body = JSON.stringify({ ...HOOK, version: 2 }), id = 'evt_1', at = `${Math.floor(Date.now() / 1000)}`;
  const key = Buffer.from(r.secret.replace('whsec_', ''), 'base64');
  const headers = { 'content-type': 'application/json', 'webhook-id': id, 'webhook-timestamp': at,
    'webhook-signature': `v1,${crypto.createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')}` };
  const failed = thrown();
  const sent = http.request(r.url, { method: 'POST', headers }).on('error', () => {});

  sent.end(body);
  assert.match((await failed).message, /a webhook that the API does not have/);
  sent.destroy();
});

test('what commands print: each that there is, and what is wrong with one', () => {
  const found = (args, value) => commandProblems(args.split(' '), typeof value === 'string' ? value : JSON.stringify(value)).length;
  const verified = { ok: true, records: 5, incarnations: 2 };

  assert.deepEqual([found('usage verify --json', verified), found('usage verify --json', { ...verified, colour: 'red' }), found('usage verify --json', { ok: true, records: 5 })], [0, 1, 1]);
  assert.deepEqual([found('doctor --json', 'all is well'), found('doctor', 'all is well'), found('confine try -- doctor --json', 'x')], [1, 0, 0]);
  assert.deepEqual([found('usage', '{"v":1}\n{"v":1}\n'), found('usage --file x', '{"v":1}\n')], [2, 0]);
  for (const name of Object.keys(api.components.schemas.Commands.properties))
    assert.equal(found(`${name} --json`, { colour: 'red' }), 1, name);
});

test('a run of a command fails at a wrong output', async (t) => {
  const state = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-test-'));

  t.after(() => fs.rmSync(state, { recursive: true }));
  fs.writeFileSync(path.join(state, 'usage.jsonl'), '{"v":1,"n":1,"incarnation":"aa","prevDigest":null,"type":"turn","sessionId":"s","turn":1}\n');
  await assert.rejects(acpd(['usage', '--state', state]), /an output that the API does not have/);
  assert.throws(() => acpdSync(['usage', '--state', state]), /an output that the API does not have/);
});
