// SPDX-License-Identifier: Apache-2.0
// The exchanges that the pages of daemon/protocol/ show. Each is played against the real daemon with the stub agent; what went over the
// wire is on its tape (tape.mjs). Nothing here may depend on how fast the machine is: whatever is shown comes after what caused it.

import { dir, file, tar } from '../archives/tar.mjs';
import { digestOf } from '../lib/archives.mjs';
import { AcpClient } from '../lib/acp.mjs';
import { Daemon, endInOrder } from '../lib/daemon.mjs';
import { givenServers, startShim } from '../lib/mcp-orchestrators.mjs';
import { ModelConnection, listenerOf, STUB_WITH_PROVIDER, Taker } from '../lib/model-calls.mjs';
import { inMs } from '../lib/tokens.mjs';
import { until } from '../lib/wait.mjs';
import { ELIDED } from './tape.mjs';

const MODERN_META = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };
const MCP = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
const REPO = tar(dir('shop/'), file('shop/price.txt', '10\n'));
// The stub's own words at the start of a session: on no page.
const AT_START = ['available_commands_update', 'usage_update'];
const atStart = (m) => m.method === 'session/update' && AT_START.includes(m.params.update.sessionUpdate);

// How many events there were when a session was answered is not always the same.
function opened(m) {
  if (m.result?.sessionId)
    m.result._meta.acpd.seq = 0;
  return m;
}

// Of a session that was opened, how its model calls are made.
function briefProvider(m) {
  const { sessionId, _meta } = m.result ?? {};

  return sessionId ? { ...m, result: { sessionId, '…': 0, _meta: { acpd: { '…': 0, seq: 0, provider: _meta.acpd.provider } } } } : m;
}

const shown = (wanted) => (m) => !atStart(m) && wanted(m) && opened(m);
const answers = shown(({ method, id }) => method === undefined || id !== undefined);

async function client(d, tape, keep = shown(() => true)) {
  const c = await d.client();

  tape.listen(c, keep);
  return c;
}

// A session that has said all that it says by itself.
async function session(c, opts) {
  const { sessionId } = await c.newSession(opts);

  await c.waitUpdate('usage_update');
  return sessionId;
}

async function end(c, tape, sessionId) {
  tape.stop();
  await c.call('session/close', { sessionId });
  await c.close();
}

async function connect(d, tape) {
  const head = ['GET /acp?harness=stub HTTP/1.1', 'Host: 127.0.0.1', `Authorization: Bearer ${d.token}`, 'Connection: Upgrade', 'Upgrade: websocket',
    'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
  const c = await d.connect({ raw: `${head.join('\r\n')}\r\n\r\n`, key: 'dGhlIHNhbXBsZSBub25jZQ==' });

  tape.line('→', head[0], head.slice(1));
  tape.line('←', `${c.ws.status} Switching Protocols`, ['acp-connection-id', 'sec-websocket-accept'].map((h) => `${h}: ${c.ws.headers[h]}`));
  tape.listen(c);
  await c.initialize({ clientInfo: { name: 'example', version: '1.0' } });
  await c.close();
}

async function sessions(d, tape) {
  const c = await client(d, tape);
  const sessionId = await session(c);

  await c.prompt(sessionId, 'echo Hello; tool call_1 read price.txt');
  await c.call('session/close', { sessionId });
  await c.close();
}

async function parameters(d, tape) {
  const c = await client(d, tape, shown(({ method, id }) => method !== '_acpd/turn_end' && (id === undefined || id < 4)));
  const sessionId = await session(c, { meta: {
    secrets: { DB_PASSWORD: 'correct-horse-battery' }, env: { LOG_LEVEL: 'debug', SHORT_TOKEN: 'abc' }, envKeep: ['LOG_LEVEL'],
    budgets: { turn: { toolCalls: 40, seconds: 900 } }, billingRef: 'tenant-3',
  } });

  await c.prompt(sessionId, 'env DB_PASSWORD; env LOG_LEVEL');
  await end(c, tape, sessionId);
}

async function delivery(d, tape) {
  let broken = false;
  const a = await client(d, tape, shown((m) => m.method !== 'session/new' && !m.result?.sessionId && !broken));
  const sessionId = await session(a);
  const prompt = { sessionId, prompt: [{ type: 'text', text: 'echo one; perm call_1; echo two' }], _meta: { acpd: { key: 'job-7' } } };

  a.ws.on('message', ({ payload }) => { broken ||= payload.toString().includes('agent_message_chunk'); });
  a.request('session/prompt', prompt);
  const { seq } = await a.waitUpdate('agent_message_chunk');
  await a.waitRequest('session/request_permission');
  const { incarnation } = a.initializeResult.agentCapabilities._meta.acpd;
  await a.close();
  tape.note('The connection breaks. The client has stored what came, opens a new one and initializes it.');
  const b = await client(d, tape);

  b.onPermission('allow');
  await b.load(sessionId, { meta: { fromSeq: seq + 1, incarnation } });
  const { params } = await b.waitFor((m) => m.method === '_acpd/turn_end');
  tape.note('Nobody has got the answer to the prompt. Sent again with its key, it is answered from what is stored.');
  await b.call('session/prompt', prompt);
  await b.call('_acpd/ack', { sessionId, seq: params.seq });
  await end(b, tape, sessionId);
}

// The driver's own client shows a question that is answered by somebody else.
async function approvals(d, tape) {
  const held = [];
  let asked = false, holding = false;
  const c = await d.client();
  const sessionId = await session(c, { meta: { approvals: { timeoutMs: 600000 } } });

  c.onRequest('session/request_permission', () => new Promise(() => {}));
  tape.listen(c, (m) => {
    asked ||= m.method === 'session/request_permission';
    if (holding)
      held.push(m);
    return asked && !holding ? m : undefined;
  });
  const turn = c.startPrompt(sessionId, 'perm call_1');
  await c.waitRequest('session/request_permission');
  holding = true;
  tape.note('Somebody else, who has the token and drives nothing.');
  const { json } = await tape.http('/v1/approvals');
  const where = `/v1/approvals/${json.approvals[0].id}`, post = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"optionId":"allow"}' };
  await tape.http(where, post);
  await turn.answer;
  tape.note('The driver hears that its request is void, and who answered.');
  for (const m of held.slice(0, 2))
    tape.show('←', m);
  tape.note('An answer that comes too late.');
  await tape.http(where, post);
  await end(c, tape, sessionId);
}

async function tokens(d, tape) {
  const c = await d.client();
  const sessionId = await session(c);

  tape.listen(c, answers);
  const { id, token } = await c.call('_acpd/tokens/mint', { scope: 'observe', sessions: [sessionId], expiresAt: inMs(600000), label: 'dashboard' });
  tape.note('Somebody else, with the token that was minted.');
  const o = await d.client({ token });
  tape.listen(o, (m) => answers(m) && (m.result?._meta ? { ...m, result: { '…': 0, _meta: { acpd: { '…': 0, observe: true } } } } : m));
  await o.load(sessionId, { meta: { observe: true } });
  await o.request('session/prompt', o.promptParams(sessionId, 'echo hello')).answer;
  tape.note('It is revoked, and that connection is closed with 1008.');
  await c.call('_acpd/tokens/revoke', { id });
  await o.closed;
  await end(c, tape, sessionId);
}

async function checks(d, tape) {
  const c = await client(d, tape, (m) => (m.params?.event?.kind === 'check' ? m : answers(m)));
  const sessionId = await session(c, { meta: { workspace: { archive: digestOf(REPO), strip: 'auto', ephemeral: true },
    checks: [{ id: 'price', kind: 'command', argv: ['/bin/grep', '-x', '12', 'price.txt'] }, { id: 'small', kind: 'diffSize', maxLines: 2 }] } });

  await c.prompt(sessionId, 'write price.txt 13');
  await c.call('_acpd/check', { sessionId, checks: [{ id: 'where', kind: 'paths', deny: ['*.txt'], since: 'baseline' }] });
  await end(c, tape, sessionId);
}

async function errors(d, tape) {
  const c = await client(d, tape, answers);

  await c.fails('session/new', { cwd: d.workDir, mcpServers: [], _meta: { acpd: { budget: {} } } });
  await c.fails('session/prompt', { sessionId: 'no-such-session', prompt: [{ type: 'text', text: 'Hello' }] });
  tape.stop();
  const sessionId = await session(c);
  tape.go();
  await c.fails('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'crash exit 3' }] });
  await end(c, tape, sessionId);
}

async function workspaces(d, tape) {
  const digest = digestOf(REPO);

  await tape.http(`/v1/archives/${digest}`, { method: 'PUT', body: REPO });
  const c = await client(d, tape, answers);
  const sessionId = await session(c, { meta: {
    workspace: { archive: digest, strip: 'auto', ephemeral: true }, instructions: 'Keep the public API.',
  } });

  await c.prompt(sessionId, 'write price.txt 12');
  await c.call('_acpd/workspace/diff', { sessionId });
  await c.call('_acpd/artifact/list', { sessionId });
  tape.stop();
  await c.call('session/delete', { sessionId });
  await c.close();
}

async function archives(d, tape) {
  const data = tar(file('notes.txt', 'in two parts\n'));
  const where = `/v1/archives/${digestOf(data)}`;
  const part = (from, to) => ({ method: 'PUT', body: data.subarray(from, to), headers: { 'Content-Range': `bytes ${from}-${to - 1}/${data.length}` } });

  await tape.http(where, { method: 'HEAD' });
  await tape.http(where, part(0, 1000));
  await tape.http(where, { method: 'HEAD', show: ['Upload-Offset'] });
  await tape.http(where, part(1000, data.length));
  await tape.http(where, { method: 'HEAD', show: ['Content-Length'] });
}

const SHOP = {
  'server/discover': { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'private' },
  'tools/list': { resultType: 'complete', ttlMs: 0, cacheScope: 'private',
    tools: [{ name: 'findOrder', description: 'An order by its number', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }] },
  'tools/call': { resultType: 'complete', content: [{ type: 'text', text: '{"item":"lamp","shipped":true}' }] },
};

// Of a status, what came of the session's servers.
function brief(m) {
  const sessions = m?.result?.sessions?.map(({ sessionId, mcp }) => ({ sessionId, '…': 0, mcp }));

  return sessions ? { ...m, result: { '…': 0, sessions } } : m;
}

async function tools(d, tape) {
  const c = await client(d, tape, (m) => brief(shown(() => true)(m)));

  c.onRequest('mcp/message', ({ method }) => ({ result: SHOP[method] }));
  tape.stop();
  const sessionId = await session(c, { mcpServers: [{ type: 'acp', name: 'shop', serverId: 'shop:1' }] });
  const [given] = await givenServers(c, sessionId);
  tape.go();
  // in the place of the harness, which starts what it was given
  const harness = startShim(given);

  harness.clientInfo = { name: 'harness', version: '1.0' };
  await harness.initialize();
  await harness.result('tools/list');
  await harness.call('findOrder', { id: 'A-17' });
  await harness.close();
  tape.note('The status says what the agent has really been given.');
  await c.call('_acpd/status', { sessionId });
  await end(c, tape, sessionId);
}

const post = (tape, where, body, { headers = {}, ...more } = {}) =>
  tape.http(where, { method: 'POST', headers: { ...MCP, ...headers }, body: JSON.stringify({ jsonrpc: '2.0', ...body }), ...more });

const RUN = { name: 'runCommand', arguments: { command: 'echo $((6 * 7))' } };

async function mcpHttp(d, tape) {
  const headers = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'runCommand' };

  await post(tape, '/mcp', { id: 1, method: 'tools/call', params: { ...RUN, _meta: MODERN_META } }, { headers, show: ['Content-Type'] });
  tape.note('A header that does not say what the body says is refused.');
  await post(tape, '/mcp', { id: 2, method: 'tools/list', params: { _meta: MODERN_META } }, { headers });
}

async function mcpEras(d, tape) {
  const { headers } = await post(tape, '/mcp', { id: 1, method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'example', version: '1.0' } } }, { show: ['Mcp-Session-Id'] });
  const ours = { headers: { 'Mcp-Session-Id': headers['mcp-session-id'] } };

  await post(tape, '/mcp', { method: 'notifications/initialized' }, ours);
  await post(tape, '/mcp', { id: 2, method: 'tools/call', params: RUN }, ours);
  await tape.http('/mcp', { method: 'DELETE', ...ours });
}

async function usage(d, tape) {
  const c = await client(d, tape, answers);

  tape.stop();
  const sessionId = await session(c, { meta: { billingRef: 'tenant-3' } });
  tape.go();
  await c.prompt(sessionId, 'tokens {"inputTokens":1200,"outputTokens":340,"totalTokens":1540}; echo done', { meta: { acpd: { key: 'job-7' } } });
  await c.call('_acpd/usage', { sessionId, since: 0 });
  await end(c, tape, sessionId);
}

// A harness that is given its provider: a daemon of its own.
async function models(d, tape) {
  const own = await Daemon.start({ harnesses: [STUB_WITH_PROVIDER] });
  const c = await AcpClient.connect(own);
  const taker = new Taker(c);
  const long = (m) => m.method === 'session/update' || m.result?.agentCapabilities;

  tape.d = own;
  tape.listen(c, (m) => !long(m) && opened(briefProvider(m)));
  await c.initialize({ caps: { _meta: { acpd: { model: { apis: ['openai-chat'] } } } } });
  const { sessionId } = await c.newSession({ meta: { provider: { api: 'openai-chat', model: 'stub-small' }, harness: 'caller' } });
  tape.note('The harness calls its provider: POST …/v1/chat/completions.');
  const harness = (await ModelConnection.open(listenerOf(sessionId))).send(undefined, { body: '{"model":"stub-small","stream":true}' });
  const { callId } = await taker.asked();
  await taker.body(callId);
  taker.head(callId, 200, { 'content-type': 'text/event-stream', 'x-request-id': 'req-7' });
  taker.chunk(callId, 'data: {"choices":[{"delta":{"content":"hi"}}]}\n\n');
  await until(() => taker.of('credit', callId).length);
  taker.end(callId, { complete: true, requestId: 'req-7' });
  await until(() => harness.body.whole);
  harness.close();
  tape.stop();
  await endInOrder(own, c);
}

// How busy the machine is and how it is made is on no page.
const ready = ({ ready: is, notReady, harnesses, version, problems }) => ({
  ready: is, notReady, harnesses: [...harnesses.filter(({ id }) => ['codex', 'stub'].includes(id)), ELIDED], version, '…': 0, isolation: {}, problems,
});

async function operations(d, tape) {
  await tape.http('/health', { token: null });
  await tape.http('/ready', { token: null, show: ['WWW-Authenticate'] });
  await tape.http('/ready', { keep: ready });
  await tape.http('/v1/sessions?colour=red');
}

// The name in the marker → its exchange. Usage comes first: its record is the first of the ledger.
export const EXCHANGES = {
  usage, connect, sessions, parameters, delivery, approvals, tokens, errors, workspaces, checks, archives, tools, models, 'mcp-http': mcpHttp, 'mcp-eras': mcpEras, operations,
};
// Pages that show members which are left out elsewhere.
export const WHOLE = { connect: ['features', 'limits'], sessions: ['modes', 'configOptions', 'capabilities'] };
