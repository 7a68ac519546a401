// SPDX-License-Identifier: Apache-2.0
// The relay as a part of a session: who may connect, what becomes of calls when connections go, policies. What calls carry:
// relay-bytes.test.mjs; what a session says about its servers: session.test.mjs.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../lib/daemon.mjs';
import { gate } from '../lib/gate.mjs';
import { LineTransport } from '../lib/lines.mjs';
import { RawOrchestrator, listing } from '../lib/mcp-orchestrators.mjs';
import { openRelay } from '../lib/mcp-relay.mjs';
import * as procs from '../lib/procs.mjs';
import { deadline } from '../lib/rawws.mjs';
import { until } from '../lib/wait.mjs';

// An hour: a call that is held for the next driver when it has to be lost is not answered before a test gives up.
const HOLD = 3600; // seconds
const DONE = '{"resultType":"complete","content":[{"type":"text","text":"done"}]}';

let daemon;
before(async () => { daemon = await Daemon.start({ flags: { mcpHold: HOLD } }); });
after(() => endInOrder(daemon));

const relay = (t, opts) => openRelay(t, daemon, opts);
const answering = (how = (call) => call.result(DONE)) => ({ 'tools/call': how });
const call = (c, args = {}) => c.request('tools/call', { name: 'raw', arguments: args }, { timeout: 15000 });
const valueOf = (given, name) => given.env.find((e) => e.name === name).value;

describe('the socket', () => {
  // What a connection hears that says this line first, until it ends.
  async function heard(given, line) {
    const transport = await LineTransport.unix(valueOf(given, 'ACPD_MCP_SOCKET'));
    const lines = [];

    transport.on('message', ({ payload }) => lines.push(payload.toString()));
    transport.text(line);
    transport.text('{"jsonrpc":"2.0","id":1,"method":"ping"}');
    await transport.waitClosed();
    return lines;
  }

  test('it is the session\'s alone, in a directory that can only be passed through', async (t) => {
    const { given: [server] } = await relay(t);
    const socket = valueOf(server, 'ACPD_MCP_SOCKET');

    assert.equal(fs.statSync(socket).mode & 0o777, 0o600);
    assert.equal(fs.statSync(path.dirname(socket)).mode & 0o777, 0o711);
  });

  test('no TCP port is opened', async (t) => {
    const ports = () => ['tcp', 'tcp6'].flatMap((file) => procs.text(daemon.pid, `net/${file}`).split('\n').slice(1))
      .map((line) => line.trim().split(/\s+/)).filter((f) => f[3] === '0A').map((f) => f[9]);
    const listening = () => {
      const own = procs.sockets(daemon.pid);

      return ports().filter((inode) => own.includes(inode)).length;
    };
    const first = listening();
    await relay(t);

    assert.equal(listening(), first);
  });

  for (const [name, change] of [['a wrong key', { key: '0'.repeat(32) }], ['no key', { key: undefined }], ['a server that is not there', { server: 'other' }]]) {
    test(`${name}: the connection ends without a word`, async (t) => {
      const { given: [server] } = await relay(t);
      const hello = { server: 'tools', key: valueOf(server, 'ACPD_MCP_KEY'), ...change };

      assert.deepEqual(await heard(server, JSON.stringify({ acpd: hello })), []);
    });
  }

  test('the key of one session opens no other', async (t) => {
    const { given: [one] } = await relay(t);
    const { given: [two] } = await relay(t);

    assert.notEqual(valueOf(one, 'ACPD_MCP_KEY'), valueOf(two, 'ACPD_MCP_KEY'));
    assert.deepEqual(await heard(one, JSON.stringify({ acpd: { server: 'tools', key: valueOf(two, 'ACPD_MCP_KEY') } })), []);
  });

  test('it goes with the session; the shim ends, and open calls are cancelled', async (t) => {
    const { o, c, sessionId, given: [server] } = await relay(t, { handlers: answering(() => {}) });
    c.begin('tools/call', { name: 'raw', arguments: {} });
    const [open] = await until(() => o.of('tools/call').length && o.of('tools/call'));
    await o.client.call('session/close', { sessionId });

    await deadline(c.lines.exited, 5000, 'the end of the shim');
    await deadline(open.cancelled, 5000, 'the cancellation');
    assert.equal(fs.existsSync(valueOf(server, 'ACPD_MCP_SOCKET')), false);
  });
});

describe('calls and connections', () => {
  // The connection is gone, and the daemon knows it.
  async function leave(o, sessionId, d = daemon) {
    const watcher = await d.client();

    o.ws.reset();
    await until(async () => (await watcher.call('_acpd/status', { sessionId })).sessions[0].watchers === 0);
    await watcher.close();
  }

  const declared = (o) => ({ mcpServers: [o.declaration()] });

  const keeps = { caps: { _meta: { acpd: { deduplicatesToolCalls: true } } } };
  const silent = (annotations) => ({ ...answering(() => {}), 'tools/list': listing(annotations) });

  // A relay whose orchestrator has one call of its tool, which was listed with such annotations, and does not answer.
  async function called(t, { annotations, listed = true, args = {}, orchestrator = {} } = {}) {
    const r = await relay(t, { handlers: silent(annotations), orchestrator });
    if (listed)
      await r.c.result('tools/list');
    const { answer } = r.c.begin('tools/call', { name: 'raw', arguments: args });
    const [first] = await until(() => r.o.of('tools/call').length && r.o.of('tools/call'));
    return { ...r, answer, first };
  }

  // The same, whose connection breaks then.
  async function cut(t, opts) {
    const r = await called(t, opts);

    r.o.ws.reset();
    return r;
  }

  async function takeOver(t, sessionId, handlers = answering(), opts = {}) {
    const next = await RawOrchestrator.connect(daemon, handlers, opts);

    t.after(() => next.close());
    await next.client.resumeSession(sessionId, declared(next));
    return next;
  }

  async function assertLost(answer) {
    const { msg } = await deadline(answer, 5000, 'the answer');
    const { isError, content, structuredContent, _meta } = msg.result;

    assert.equal(isError, true);
    assert.match(content[0].text, /^raw: .*may have been carried out/);
    assert.equal(structuredContent.error.code, 'TOOL_CALL_LOST');
    assert.equal(_meta.acpd.error.code, 'TOOL_CALL_LOST');
  }

  for (const annotations of [{ readOnlyHint: true }, { idempotentHint: true }, { idempotentHint: true, destructiveHint: false }]) {
    test(`a call in flight is given once more to the next driver, under the same id: ${JSON.stringify(annotations)}`, async (t) => {
      const { sessionId, answer, first } = await cut(t, { annotations, args: { a: 1 } });
      const next = await takeOver(t, sessionId);

      assert.deepEqual((await deadline(answer, 5000, 'the answer')).msg.result.content, [{ type: 'text', text: 'done' }]);
      assert.deepEqual(next.of('tools/call').map((again) => again.msg.params.requestId), [first.msg.params.requestId]);
      assert.equal(next.of('tools/call')[0].inner, first.inner);
      assert.equal(next.of('tools/call')[0].msg.params._meta.acpd.reissued, true);
    });
  }

  for (const [what, opts] of [
    ['said nothing', {}],
    ['has side effects', { annotations: { destructiveHint: true, idempotentHint: false } }],
    ['may destroy, though it is idempotent', { annotations: { destructiveHint: true, idempotentHint: true } }],
    ['says it in another type', { annotations: { readOnlyHint: 'true', idempotentHint: 1 } }],
    ['was never listed', { annotations: { readOnlyHint: true }, listed: false }],
  ]) {
    test(`a call whose connection broke is lost without a wait for --mcp-hold, and never made again: a tool that ${what}`, async (t) => {
      const { sessionId, answer, first } = await cut(t, opts);

      await assertLost(answer); // before anybody has come, and long before --mcp-hold
      const next = await takeOver(t, sessionId);
      const told = await next.client.load(sessionId, declared(next)).then(() => next.client.waitFor((m) => m.params?.event?.event === 'tool_call_lost'));
      const { event, server, method, tool, requestId } = told.params.event;
      assert.deepEqual([event, server, method, tool, requestId], ['tool_call_lost', 'tools', 'tools/call', 'raw', first.msg.params.requestId]);
      assert.equal(next.of('tools/call').length, 0);
    });
  }

  // The daemon sees the break when the next connection is there already: nothing but the annotations keeps the call from it.
  for (const [what, annotations, again] of [
    ['a destructive tool: the call is lost', { destructiveHint: true, idempotentHint: true }, false],
    ['an idempotent tool: the call is made again', { destructiveHint: false, idempotentHint: true }, true],
  ]) {
    test(`the client reconnects before its old connection breaks, ${what}`, async (t) => {
      const { o, sessionId, answer, first } = await called(t, { annotations });
      const next = await takeOver(t, sessionId);

      assert.equal(next.of('tools/call').length, 0, 'the old connection still has it');
      o.ws.reset();
      if (!again)
        await assertLost(answer);
      const { msg } = await deadline(answer, 5000, 'the answer');
      assert.deepEqual(next.of('tools/call').map((one) => one.msg.params.requestId), again ? [first.msg.params.requestId] : []);
      assert.equal(msg.result.content[0].text === 'done', again);
    });
  }

  test('a client that deduplicates gives its call to one that does, and to no other', async (t) => {
    const one = await cut(t, { orchestrator: keeps });
    const next = await takeOver(t, one.sessionId, answering(), keeps);
    assert.ok((await deadline(one.answer, 5000, 'the answer')).msg.result.content);
    assert.equal(next.of('tools/call').length, 1);

    const two = await cut(t, { orchestrator: keeps });
    const plain = await takeOver(t, two.sessionId);
    await assertLost(two.answer);
    assert.equal(plain.of('tools/call').length, 0);

    const three = await cut(t);
    await assertLost(three.answer);
    assert.equal((await takeOver(t, three.sessionId, answering(), keeps)).of('tools/call').length, 0);
  });

  test('what only reads is asked again, whatever tools are: tools/list', async (t) => {
    const { o, c, sessionId } = await relay(t, { handlers: { 'tools/list': () => {} } });
    const { answer } = c.begin('tools/list', {});
    await until(() => o.of('tools/list').length);
    o.ws.reset();
    await takeOver(t, sessionId, {});

    assert.equal((await deadline(answer, 5000, 'the answer')).msg.result.tools[0].name, 'raw');
  });

  test('and not a third time', async (t) => {
    const { sessionId, answer } = await cut(t, { annotations: { readOnlyHint: true } });
    const again = await takeOver(t, sessionId, answering(() => {}));
    await until(() => again.of('tools/call').length === 1);
    again.ws.reset();

    await assertLost(answer);
    assert.equal((await takeOver(t, sessionId)).of('tools/call').length, 0);
  });

  test('nobody comes: the call fails, typed, after --mcp-hold', async (t) => {
    const hold = 2, hasty = await Daemon.startFor(t, { flags: { mcpHold: hold } });
    const { o, c, sessionId } = await openRelay(t, hasty);
    await leave(o, sessionId, hasty);
    const at = Date.now();
    const { answer } = c.begin('tools/call', { name: 'raw', arguments: {} });
    const { raw } = await deadline(answer, 5000, 'the answer');

    assert.match(raw, /NO_DRIVER/);
    assert.ok(Date.now() - at >= hold * 900, `after ${Date.now() - at} ms`);
  });

  test('a call that comes while nobody is there waits for the next driver', async (t) => {
    const { o, c, sessionId } = await relay(t);
    await leave(o, sessionId);
    const { answer } = c.begin('tools/call', { name: 'raw', arguments: {} });
    const next = await RawOrchestrator.connect(daemon, answering());
    t.after(() => next.close());
    await next.client.resumeSession(sessionId, declared(next));

    assert.ok((await deadline(answer, 5000, 'the answer')).msg.result);
    assert.equal(next.of('tools/call').length, 1);
  });

  test('a shim that is killed takes its calls with it, and no others', async (t) => {
    const { o, c, client } = await relay(t, { handlers: answering((call) => call.msg.params.params.arguments.answer && call.result(DONE)) });
    const other = await client();
    c.begin('tools/call', { name: 'raw', arguments: {} });
    const [open] = await until(() => o.of('tools/call').length && o.of('tools/call'));
    c.kill();
    await deadline(open.cancelled, 5000, 'the cancellation');

    assert.ok((await call(other, { answer: true })).msg.result);
  });

  test('the running turn\'s trace context goes where a call has none', async (t) => {
    const { o, c, sessionId } = await relay(t, { handlers: answering() });
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const from = o.client.updates.length;
    const { step, open } = gate(daemon);
    const turn = o.client.startPrompt(sessionId, `echo begun\n${step}`, { meta: { traceparent } });
    await o.client.waitUpdate('agent_message_chunk', { from });
    await call(c);
    open();
    const [seen] = o.of('tools/call');

    assert.match(JSON.parse(seen.meta('traceparent')), /^00-0af7651916cd43dd8448eb211c80319c-/);
    await turn.answer;
  });
});

describe('policies', () => {
  const policed = (t, policy, opts = {}) => relay(t, { session: { meta: { mcp: { policy } } }, handlers: answering(), ...opts });
  const codeOf = (msg) => msg.result?.structuredContent?.error?.code ?? msg.result?._meta?.acpd?.error?.code;

  test('a denied tool is not listed, and refused when it is called', async (t) => {
    const { o, c } = await policed(t, { tools: { tools: { raw: { policy: 'deny' } } } });

    assert.deepEqual((await c.result('tools/list')).tools, []);
    const { msg } = await call(c);
    assert.deepEqual([msg.result.isError, codeOf(msg)], [true, 'POLICY_DENIED']);
    assert.equal(o.of('tools/call').length, 0);
  });

  test('a tool that asks: the client is asked in a turn, and its answer counts', async (t) => {
    const { o, c, sessionId } = await policed(t, { tools: { policy: 'ask' } });
    const choices = ['allow_once', 'reject_once'];
    const asked = [];
    o.client.onPermission((params) => {
      asked.push(params);
      return params.options.find((option) => option.kind === choices[asked.length - 1]).optionId;
    });
    const from = o.client.updates.length;
    const { step, open } = gate(daemon);
    const turn = o.client.startPrompt(sessionId, `echo begun\n${step}`);
    await o.client.waitUpdate('agent_message_chunk', { from });
    const allowed = await call(c, { n: 1 });
    const rejected = await call(c, { n: 2 });
    open();
    await turn.answer;

    assert.equal(allowed.msg.result.isError, undefined);
    assert.deepEqual([rejected.msg.result.isError, codeOf(rejected.msg)], [true, 'PERMISSION_REJECTED']);
    assert.equal(o.of('tools/call').length, 1);
    assert.equal(asked.length, 2);
  });

  test('more calls than allowed', async (t) => {
    const { o, c } = await policed(t, { '*': { maxCalls: 2 } });
    const codes = [];
    for (let i = 0; i < 3; i++)
      codes.push(codeOf((await call(c)).msg));

    assert.deepEqual(codes, [undefined, undefined, 'MAX_CALLS']);
    assert.equal(o.of('tools/call').length, 2);
  });

  test('a call that takes longer than allowed is cancelled', async (t) => {
    const { o, c } = await policed(t, { tools: { timeoutMs: 300 } }, { handlers: answering(() => {}) });
    const { msg } = await call(c);

    assert.deepEqual([msg.result.isError, codeOf(msg)], [true, 'TIMEOUT']);
    const asked = await until(() => o.of('tools/call')[0], 'it has come to the orchestrator');
    await deadline(asked.cancelled, 5000, 'the cancellation');
  });

  test('a result that is larger than allowed', async (t) => {
    const { c } = await policed(t, { tools: { maxResultBytes: 1000 } }, { handlers: answering((one) =>
      one.result(`{"resultType":"complete","content":[{"type":"text","text":"${'x'.repeat(2000)}"}]}`)) });
    const { msg } = await call(c);

    assert.deepEqual([msg.result.isError, codeOf(msg)], [true, 'RESULT_TOO_LARGE']);
  });

  test('a dry run is recorded and not executed', async (t) => {
    const { o, c } = await policed(t, { tools: { dryRun: true } });
    const { msg } = await call(c);

    assert.match(JSON.stringify(msg.result), /DRY_RUN|dryRun/);
    assert.equal(o.of('tools/call').length, 0);
  });

  test('a policy with an unknown word is refused, and named', async (t) => {
    const o = await RawOrchestrator.connect(daemon);
    t.after(() => o.close());
    const error = await o.client.fails('session/new', { cwd: daemon.workDir, mcpServers: [o.declaration()],
      _meta: { acpd: { mcp: { policy: { tools: { policy: 'maybe' } } } } } });

    assert.equal(error.code, -32602);
    assert.match(JSON.stringify(error.data), /mcp\.policy\.tools\.policy/);
  });
});
