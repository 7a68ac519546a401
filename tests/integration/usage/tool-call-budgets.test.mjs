// SPDX-License-Identifier: Apache-2.0
// A budget of N tool calls lets N run, whatever serves them and whoever calls: the one beyond it does not run. Those within it end before
// the turn does.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { McpHttp } from '../../lib/mcp-http.mjs';
import { RawOrchestrator, givenServers } from '../../lib/mcp-orchestrators.mjs';
import { openClient } from '../../lib/mcp-relay.mjs';
import { deadline } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';
import { newCwd } from '../../lib/workspace.mjs';
import { turnsOf } from '../ledger.mjs';

const SERVER = path.join(import.meta.dirname, '../../mcp/hosted-server.mjs');
const OK = '{"resultType":"complete","content":[{"type":"text","text":"done"}]}';
let d, o, web, webCalls = 0;
// Calls to the client are answered at once, unless a test wants to do that itself.
let waiting = [], answerLater = false;
const answerAll = () => waiting.splice(0).forEach((call) => call.result(OK));
const connect = () => RawOrchestrator.connect(d, { 'tools/call': (call) => waiting.push(call) && (answerLater || answerAll()) });

// A server over HTTP that counts its calls.
function startWeb() {
  const answers = {
    initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'web', version: '1' } }),
    'tools/list': () => ({ tools: [{ name: 'mark', inputSchema: { type: 'object' } }] }),
    'tools/call': () => { webCalls++; return JSON.parse(OK); },
  };
  const server = http.createServer(async (req, res) => {
    const { id, method, params } = JSON.parse((await req.toArray()).join('') || '{}');

    if (id === undefined)
      return res.writeHead(202).end();
    res.writeHead(200, { 'Content-Type': 'application/json' });
    return res.end(JSON.stringify({ jsonrpc: '2.0', id, ...(answers[method] ? { result: answers[method](params) } : { error: { code: -32601, message: 'no' } }) }));
  });

  return new Promise((resolve) => { server.listen(0, '127.0.0.1', () => resolve(server)); });
}

before(async () => {
  web = await startWeb();
  d = await Daemon.start();
  o = await connect();
});

after(async () => {
  web.close();
  await o.close();
  await endInOrder(d);
});

async function open(t, budgets, more = {}) {
  const cwd = newCwd(d);

  fs.writeFileSync(path.join(cwd, 'wait.sh'), 'until test -e "$1"; do sleep 0.02; done\n');
  fs.writeFileSync(path.join(cwd, '.mcp.json'), JSON.stringify({ mcpServers: {
    child: { command: process.execPath, args: [SERVER] }, web: { type: 'http', url: `http://127.0.0.1:${web.address().port}/` } } }));
  const { sessionId: id } = await o.newSession({ cwd, meta: { budgets, mcp: { builtin: true, project: true }, ...more } });
  const given = await givenServers(o.client, id);
  const [relayed, http] = [o.of('tools/call').length, webCalls];
  const clients = {};
  const client = (server) => clients[server] ??= openClient(t, given.find((s) => s.name === server));

  return { id, cwd, file: (name) => path.join(cwd, name),
    // A step that lasts until goOn, whatever is cancelled: what comes late on a busy machine comes in this turn all the same.
    hold: (name) => `run sh ${path.join(cwd, 'wait.sh')} ${path.join(cwd, name)}`,
    goOn: (name) => fs.writeFileSync(path.join(cwd, name), ''),
    relayed: () => o.of('tools/call').length - relayed, overHttp: () => webCalls - http,
    // as the harness calls it, and as a client of /mcp does
    tool: async (server, name, args = {}) => (await client(server)).call(name, args),
    list: async (server) => (await client(server)).result('tools/list'),
    over: async (where, name, args = {}) =>
      (await (await new McpHttp(d, `${where}?session=${id}`).modern('tools/call', { name, arguments: args })).over()).answer.result,
    says: (word) => until(() => o.client.chunks(id).includes(word), word) };
}

// A turn that does not end by itself, but in which the harness has begun. Its answer is under way.
async function busy(s, { budgets, acpd, steps = 'sleep 60000' } = {}) {
  const from = o.client.updates.length;
  const { answer } = o.client.startPrompt(s.id, `echo on; ${steps}`, { meta: budgets ? { acpd: { ...acpd, budgets } } : {} });

  await until(() => o.client.chunks(s.id, from).includes('on'), 'the turn runs');
  return { answer };
}

const codes = (results) => results.map((r) => r._meta?.acpd?.error?.code ?? (r.isError ? 'error' : 'ok')).sort();
const times = (n, what) => Array.from({ length: n }, (_, i) => what(i));
const expected = (ok, spent) => [...times(spent, () => 'BUDGET_SPENT'), ...times(ok, () => 'ok')];

function assertStopped({ result: { stopReason, _meta: { acpd: { stopDetail, turn } } } }, s, scope, limit) {
  assert.deepEqual([stopReason, stopDetail], ['max_turn_requests', { budget: 'toolCalls', scope, limit, used: limit + 1 }]);
  assert.deepEqual(turnsOf(d, s.id).find((r) => r.turn === turn).stopDetail, stopDetail);
}

async function assertKept(answer) {
  const { result: { stopReason, _meta: { acpd } } } = await answer;

  assert.deepEqual([stopReason, acpd.stopDetail], ['end_turn', undefined]);
}

const cancelled = async (s, answer) => {
  o.client.cancel(s.id);
  assert.equal((await answer).result.stopReason, 'cancelled');
};

const bytes = (file) => (fs.existsSync(file) ? fs.statSync(file).size : 0);
const written = (s) => fs.readdirSync(s.cwd).filter((name) => name.startsWith('made-')).length;
let made = 0;
const writes = () => ({ path: `made-${++made}`, content: 'x' });
// What serves the tool: [a call, how many have run, whether the harness makes it: else no turn ends by it].
const KINDS = {
  'of the client': [(s) => s.tool('tools', 'raw'), (s) => s.relayed(), true],
  'built in': [(s) => s.tool('acpd', 'writeFile', writes()), written, true],
  'of a child process': [(s) => s.tool('child', 'mark', { to: s.file('marks') }), (s) => bytes(s.file('marks')), true],
  'of a server over HTTP': [(s) => s.tool('web', 'mark'), (s) => s.overHttp(), true],
  'over /mcp, of the client': [(s) => s.over('/mcp/tools', 'raw'), (s) => s.relayed(), false],
  'over /mcp, built in': [(s) => s.over('/mcp', 'writeFile', writes()), written, false],
  'over /mcp, of a child process': [(s) => s.over('/mcp/child', 'mark', { to: s.file('marks') }), (s) => bytes(s.file('marks')), false],
};

for (const [kind, [call, ran, own]] of Object.entries(KINDS)) {
  test(`${kind}: ten calls at once with three left, by the turn's, the prompt's and the session's budget`, async (t) => {
    const s = await open(t, { turn: { toolCalls: 3 }, session: { toolCalls: 8 } });

    // of the turn
    let { answer } = await busy(s, { steps: `${s.hold('first')}; sleep 60000` });
    assert.deepEqual(codes(await Promise.all(times(10, () => call(s)))), expected(3, 7));
    s.goOn('first');
    assert.equal(ran(s), 3);
    if (own)
      assertStopped(await answer, s, 'turn', 3);
    else
      await cancelled(s, answer);

    // of the prompt
    ({ answer } = await busy(s, { budgets: { toolCalls: 2 } }));
    assert.deepEqual(codes([await call(s), await call(s), await call(s)]), expected(2, 1));
    assert.equal(ran(s), 5);
    if (own)
      assertStopped(await answer, s, 'prompt', 2);
    else
      await cancelled(s, answer);

    // of the session, of which calls that others make use as much; what was refused has used one at most
    const left = own ? 1 : 3;
    ({ answer } = await busy(s, { steps: `${s.hold('last')}; sleep 60000` }));
    assert.deepEqual(codes(await Promise.all(times(10, () => call(s)))), expected(left, 10 - left));
    s.goOn('last');
    assert.equal(ran(s), 5 + left);
    if (own)
      assertStopped(await answer, s, 'session', 8);
    else
      await cancelled(s, answer);
  });
}

describe('what is announced is counted once', () => {
  const announce = (id, more) => `update ${JSON.stringify({ sessionUpdate: 'tool_call', toolCallId: id, status: 'pending', ...more })}`;
  const over = (id) => `update ${JSON.stringify({ sessionUpdate: 'tool_call_update', toolCallId: id, status: 'completed' })}`;
  // How agents name a tool of a server.
  const SAID = {
    'by its name': { title: 'Raw', name: 'tools/raw', kind: 'other' },
    'in the title, as Claude does': { title: 'mcp__tools__raw', kind: 'other' },
    'in the title, as Copilot does': { title: 'tools-raw', kind: 'other' },
    'in the title, as Gemini does': { title: 'raw (tools MCP Server)', kind: 'other' },
    'in words that could be those of any tool': { title: 'Doing something', kind: 'other' },
  };

  for (const [how, said] of Object.entries(SAID)) {
    test(`${how}: before it comes, and after`, async (t) => {
      const s = await open(t, { turn: { toolCalls: 4 } });

      await s.list('tools');
      const { answer: before } = await busy(s, { steps: `${announce('a', said)}; ${announce('b', said)}; echo announced; ${s.hold('called')}; ${over('a')}; ${over('b')}; echo over; ${s.hold('end')}; sleep 60000` });
      await s.says('announced');
      assert.deepEqual(codes(await Promise.all([s.tool('tools', 'raw'), s.tool('tools', 'raw')])), expected(2, 0));
      s.goOn('called');
      await s.says('over');
      assert.deepEqual(codes(await Promise.all(times(4, () => s.tool('tools', 'raw')))), expected(2, 2));
      s.goOn('end');
      assertStopped(await before, s, 'turn', 4);

      const { answer: after } = await busy(s, { steps: `${s.hold('again')}; ${announce('c', said)}; ${announce('d', said)}; ${over('c')}; ${over('d')}; echo after; ${s.hold('last')}; sleep 60000` });
      assert.deepEqual(codes([await s.tool('tools', 'raw'), await s.tool('tools', 'raw')]), expected(2, 0));
      s.goOn('again');
      await s.says('after');
      assert.deepEqual(codes(await Promise.all(times(4, () => s.tool('tools', 'raw')))), expected(2, 2));
      s.goOn('last');
      assertStopped(await after, s, 'turn', 4);
      assert.equal(s.relayed(), 8);
    });
  }

  test('ten at once that are announced first: three run', async (t) => {
    const s = await open(t, { turn: { toolCalls: 3 } });

    await s.list('tools');
    const { answer } = await busy(s, { steps: `${times(10, (i) => announce(`a${i}`, SAID['by its name'])).join(';')}; echo announced; ${s.hold('end')}; sleep 60000` });
    await s.says('announced');
    assert.deepEqual(codes(await Promise.all(times(10, () => s.tool('tools', 'raw')))), expected(3, 7));
    s.goOn('end');
    assert.equal(s.relayed(), 3);
    o.client.cancel(s.id);
    assertStopped(await answer, s, 'turn', 3);
  });

  test('a tool of the harness and one that is served share a budget, and are not taken for one another', async (t) => {
    const s = await open(t, { turn: { toolCalls: 3 } });

    await s.list('tools');
    const { answer } = await busy(s, { steps: `toolopen own; tool own2 read A; echo announced; sleep 60000` });
    await s.says('announced');
    assert.deepEqual(codes([await s.tool('tools', 'raw'), await s.tool('tools', 'raw')]), expected(1, 1));
    o.client.cancel(s.id);
    assertStopped(await answer, s, 'turn', 3);
  });

  test('a call that is asked about is one call', async (t) => {
    const s = await open(t, { turn: { toolCalls: 2 } }, { mcp: { builtin: true, policy: { tools: { policy: 'ask' } } } });
    const { answer } = await busy(s);

    o.client.onRequest('session/request_permission', () => ({ outcome: { outcome: 'selected', optionId: 'allow' } }));
    assert.deepEqual(codes([await s.tool('tools', 'raw'), await s.tool('tools', 'raw'), await s.tool('tools', 'raw')]), expected(2, 1));
    assertStopped(await answer, s, 'turn', 2);
  });
});

describe('the end of the turn', () => {
  test('calls within the budget get their answers first', async (t) => {
    const s = await open(t, { turn: { toolCalls: 3 } });
    const { answer } = await busy(s);

    answerLater = true;
    t.after(() => { answerLater = false; });
    const answered = [];
    const calls = times(10, () => s.tool('tools', 'raw').then((result) => answered.push(result) && result));

    await until(() => answered.length === 7 && waiting.length === 3, 'seven are refused');
    assert.deepEqual(codes(answered), expected(0, 7));
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal(o.cancels.length, 0);
    assert.equal(o.client.messages.filter((m) => m.method === '_acpd/turn_end' && m.params.sessionId === s.id).length, 1, 'only that of the prompt before');
    answerAll();
    assert.deepEqual(codes(await Promise.all(calls)), expected(3, 7));
    assertStopped(await answer, s, 'turn', 3);
    assert.equal(o.cancels.length, 0);
  });

  test('a call of the harness\'s own beyond the budget, of which nothing is held back, ends it at once', async (t) => {
    const s = await open(t, { turn: { toolCalls: 1 } });
    const { answer } = await busy(s, { steps: 'toolopen a; sleep 500; toolopen b; sleep 3600000' });

    assertStopped(await deadline(answer, 30000, 'its end, an hour before that of the harness'), s, 'turn', 1);
  });
});

test('a prompt\'s budget covers its attempts: what the first has left the second may use', async (t) => {
  const s = await open(t, {});
  const again = `echo again\\n${s.hold('end')}\\nsleep 60000\\n`;
  const acpd = { checks: [{ id: 'twice', kind: 'command', command: `test -f tried && exit 0; touch tried; printf "${again}" >&2; exit 1` }], retry: { max: 2 } };
  const { answer } = await busy(s, { budgets: { toolCalls: 3 }, acpd, steps: s.hold('first') });

  assert.deepEqual(codes([await s.tool('tools', 'raw'), await s.tool('tools', 'raw')]), expected(2, 0));
  s.goOn('first');
  await s.says('again');
  assert.deepEqual(codes(await Promise.all(times(10, () => s.tool('tools', 'raw')))), expected(1, 9));
  s.goOn('end');
  assert.equal(s.relayed(), 3);
  const { result } = await answer;
  const { stopDetail, attempt, checks } = result._meta.acpd;
  assert.deepEqual([result.stopReason, stopDetail], ['max_turn_requests', { budget: 'toolCalls', scope: 'prompt', limit: 3, used: 4 }]);
  assert.deepEqual([attempt.n, checks.verdict], [2, 'unchecked']);
});

describe('a question of the harness is one for its call', () => {
  const ask = (id) => `ask session/request_permission ${JSON.stringify({ toolCall: { toolCallId: id, title: 'Run', kind: 'execute', status: 'pending' },
    options: [{ optionId: 'yes', name: 'Yes', kind: 'allow_once' }, { optionId: 'no', name: 'No', kind: 'reject_once' }] })}`;

  test('beyond the budget it is refused and nobody is asked', async (t) => {
    const s = await open(t, { turn: { toolCalls: 1 } });
    const asked = [];

    o.client.onRequest('session/request_permission', ({ toolCall }) => {
      asked.push(toolCall.toolCallId);
      return { outcome: { outcome: 'selected', optionId: 'yes' } };
    });
    const { result } = await o.client.startPrompt(s.id, `${ask('a')}; update {"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed"}; ${ask('b')}; sleep 60000`).answer;
    assertStopped({ result }, s, 'turn', 1);
    assert.equal(asked.length, 1);
    const { event } = o.client.messages.findLast((m) => m.method === '_acpd/event' && m.params.sessionId === s.id && m.params.event.answer).params;
    assert.deepEqual([event.answer.outcome.optionId, event.by, event.reason], ['no', 'default', 'budget']);
  });
});

describe('between turns', () => {
  test('calls over /mcp use the session\'s budget, also after a kill of the daemon', async (t) => {
    const s = await open(t, { session: { toolCalls: 4 } });
    const call = () => s.over('/mcp', 'writeFile', writes());

    assert.deepEqual(codes([await call(), await call(), await call()]), expected(3, 0));
    await o.close();
    await d.kill9();
    await d.restart();
    o = await connect();
    await o.client.load(s.id, { cwd: s.cwd, mcpServers: [o.declaration('tools')] });
    assert.deepEqual(codes(await Promise.all(times(5, call))), expected(1, 4));
    assert.equal(written(s), 4);
    const { answer } = await busy(s, { steps: 'echo more' });
    await assertKept(answer);
  });

  test('without a budget of tool calls none is held', async (t) => {
    const s = await open(t, { turn: { seconds: 900 } });
    const { answer } = await busy(s);

    assert.deepEqual(codes(await Promise.all(times(10, () => s.tool('acpd', 'writeFile', writes())))), expected(10, 0));
    await cancelled(s, answer);
  });
});
