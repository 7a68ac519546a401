// SPDX-License-Identifier: Apache-2.0
// What a session says about its MCP servers: what is refused before a harness starts, what the harness is given for each kind of
// server, and who serves it when clients change. What passes through the relay: relay.test.mjs.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ACPD, Daemon, endInOrder } from '../lib/daemon.mjs';
import { FIXTURE } from '../lib/mcp.mjs';
import { RawOrchestrator, givenServers } from '../lib/mcp-orchestrators.mjs';
import { openClient, openRelay } from '../lib/mcp-relay.mjs';
import { until } from '../lib/wait.mjs';
import { newCwd } from '../lib/workspace.mjs';

let d;

before(async () => { d = await Daemon.start(); });
after(() => endInOrder(d));

const ok = '{"resultType":"complete","content":[]}';
const acp = (name, serverId = `${name}:1`) => ({ type: 'acp', name, serverId });
const stdio = (name, command, args = []) => ({ name, command, args, env: [] });

const NOBODY = 1; // a port that is never given to anybody who does not ask for it

// Answers of session/new about its servers.
const listed = (result) => result._meta.acpd.mcp ?? [];
const status = async (c, sessionId) => (await c.call('_acpd/status', {})).sessions.find((s) => s.sessionId === sessionId).mcp;

describe('what is refused, with a name, before the harness starts', () => {
  const rows = {
    'a reserved name': [() => [acp('acpd')], 'MCP_NAME_RESERVED', 'mcpServers[0].name'],
    'a name twice': [() => [acp('a'), acp('a', 'a:2')], 'MCP_NAME_TAKEN', 'mcpServers[1].name'],
    'no serverId': [() => [{ type: 'acp', name: 'a' }], 'FIELD_MISSING', 'mcpServers[0].serverId'],
    'an unknown type': [() => [{ type: 'carrier-pigeon', name: 'a' }], 'MCP_TRANSPORT_UNSUPPORTED', 'mcpServers[0].type'],
    'a transport that the harness lacks': [() => [{ type: 'sse', name: 'a', url: 'http://x/', headers: [] }], 'MCP_TRANSPORT_UNSUPPORTED',
      'mcpServers[0].type'],
    'a command that is not there': [() => [acp('a'), stdio('b', 'no-such-command')], 'MCP_COMMAND_NOT_FOUND', 'mcpServers[1].command'],
    'a path that is no executable': [() => [stdio('b', '/etc/passwd')], 'MCP_COMMAND_NOT_FOUND', 'mcpServers[0].command'],
  };

  for (const [what, [servers, reason, field]] of Object.entries(rows)) {
    test(what, async (t) => {
      const c = await d.client();
      t.after(() => c.close());
      const before = d.harnesses().length;

      await assert.rejects(c.call('session/new', { cwd: d.workDir, mcpServers: servers() }), (e) => {
        assert.equal(e.code, -32602);
        assert.equal(e.data.reason, reason);
        assert.equal(e.data.field, field);
        return true;
      });
      assert.equal(d.harnesses().length, before, 'nothing was started');
    });
  }

  const metas = {
    'a server that is not hosted': [{ hosted: ['nobody'] }, 'MCP_SERVER_UNKNOWN', '_meta.acpd.mcp.hosted[0]'],
    'an unknown member': [{ builtins: true }, 'PARAM_UNSUPPORTED', '_meta.acpd.mcp.builtins'],
    'a built-in tool that there is not': [{ builtin: { tools: ['readFile', 'raedFile'] } }, 'TOOL_UNKNOWN', '_meta.acpd.mcp.builtin.tools[1]'],
    'a tool list that is none': [{ builtin: { tools: [1] } }, 'FIELD_INVALID', '_meta.acpd.mcp.builtin.tools[0]'],
  };

  for (const [what, [mcp, reason, field]] of Object.entries(metas)) {
    test(what, async (t) => {
      const c = await d.client();
      t.after(() => c.close());
      await assert.rejects(c.call('session/new', { cwd: d.workDir, mcpServers: [], _meta: { acpd: { mcp } } }),
        (e) => e.data.reason === reason && e.data.field === field);
    });
  }

  test('a policy that cannot be read', async (t) => {
    const c = await d.client();
    t.after(() => c.close());
    await assert.rejects(c.call('session/new', { cwd: d.workDir, mcpServers: [], _meta: { acpd: { mcp: { policy: { jira: { timeoutMs: 'soon' } } } } } }),
      (e) => e.data.field === '_meta.acpd.mcp.policy.jira.timeoutMs');
    await assert.rejects(c.call('session/new', { cwd: d.workDir, mcpServers: [], _meta: { acpd: { policy: { writes: ['x'] } } } }),
      (e) => e.data.reason === 'PARAM_UNSUPPORTED' && e.data.field === '_meta.acpd.policy.writes');
    for (const tools of ['runComand', 'run_*'])
      await assert.rejects(c.call('session/new', { cwd: d.workDir, mcpServers: [], _meta: { acpd: { policy: { tools: { [tools]: { policy: 'deny' } } } } } }),
        (e) => e.data.reason === 'TOOL_UNKNOWN' && e.data.field === `_meta.acpd.policy.tools.${tools}`);
  });

  test('a port of the sandbox where nobody listens', async (t) => {
    const own = await Daemon.start({ stub: { args: ['--mcp-http'], capabilities: { mcpCapabilities: { http: true } } } });
    t.after(() => own.stop());
    const c = await own.client();
    const url = `http://127.0.0.1:${NOBODY}/mcp`;

    for (const host of [url, url.replace('127.0.0.1', 'localhost'), url.replace('127.0.0.1', '[::1]')])
      await assert.rejects(c.call('session/new', { cwd: own.workDir, mcpServers: [{ type: 'http', name: 'a', url: host, headers: [] }] }),
        (e) => e.data.reason === 'MCP_SERVER_UNREACHABLE' && e.data.field === 'mcpServers[0].url');
    const listening = net.createServer().listen(0, '127.0.0.1');
    t.after(() => listening.close());
    await new Promise((resolve) => listening.once('listening', resolve));
    const { sessionId } = await c.call('session/new', { cwd: own.workDir,
      mcpServers: [{ type: 'http', name: 'a', url: `http://127.0.0.1:${listening.address().port}/mcp`, headers: [] }] });

    assert.deepEqual(await status(c, sessionId), [{ name: 'a', via: 'harness' }]);
  });
});

describe('programs of the client', () => {
  const slow = () => stdio('slow', process.execPath, [path.join(import.meta.dirname, 'slow-server.mjs')]);
  const call = (c, name) => c.request('tools/call', JSON.stringify({ name, arguments: { text: name } }));

  test('acpd runs one, and starts it again after its end; a call that it had is not sent again', async (t) => {
    const o = await RawOrchestrator.connect(d);
    t.after(() => o.close());
    const opened = await o.client.newSession({ mcpServers: [slow()] });

    assert.deepEqual(listed(opened), [{ name: 'slow', via: 'client' }]);
    const [given] = await givenServers(o.client, opened.sessionId);
    assert.deepEqual([given.name, given.command, given.args], ['slow', ACPD, ['mcp']]);
    const c = await openClient(t, given, { era: '2025-11-25' });

    for (let i = 0; i < 2; i++) {
      assert.equal((await call(c, 'size')).msg.result.content[0].text, '4');
      assert.equal((await call(c, 'die')).msg.error.data.reason, 'SERVER_GONE');
    }
    assert.equal((await call(c, 'size')).msg.result.content[0].text, '4');
  });

  test('the harness runs one where the client says so, and no policy can name it then', async (t) => {
    const c = await d.client();
    t.after(() => c.close());
    const mcp = { stdio: 'harness' };
    const opened = await c.newSession({ mcpServers: [slow()], meta: { mcp } });

    assert.deepEqual(listed(opened), [{ name: 'slow', via: 'harness' }]);
    assert.deepEqual(await givenServers(c, opened.sessionId), [slow()]);
    const error = await c.fails('session/new', { cwd: d.workDir, mcpServers: [slow()], _meta: { acpd: { mcp: { ...mcp, policy: { slow: { maxCalls: 1 } } } } } });

    assert.deepEqual([error.data.reason, error.data.field], ['MCP_POLICY_UNSUPPORTED', 'mcpServers[0]']);
  });
});

describe('calls, and clients that come and go', () => {
  test('taken over while the older client lives: what it was given it may answer, what comes goes to the newer', async (t) => {
    const { o, c, sessionId } = await openRelay(t, d, { handlers: { 'tools/call': () => {} } });
    const first = c.request('tools/call', '{"name":"raw","arguments":{"n":1}}');
    await until(() => o.of('tools/call').length === 1, 'the call arrives');
    const newer = await RawOrchestrator.connect(d, { 'tools/call': (call) => call.result(ok) });
    t.after(() => newer.close());

    await newer.client.call('session/load', { sessionId, cwd: d.workDir, mcpServers: [acp('tools')] });
    assert.ok((await c.request('tools/call', '{"name":"raw","arguments":{"n":2}}')).msg.result);
    o.of('tools/call')[0].result('{"resultType":"complete","content":[{"type":"text","text":"from the older"}]}');
    assert.equal((await first).msg.result.content[0].text, 'from the older');
    assert.deepEqual(newer.of('tools/call').map((x) => JSON.parse(x.inner).arguments.n), [2]);
  });

  test('another serverId alone does not restart the harness', async (t) => {
    const { o, c, sessionId, given } = await openRelay(t, d);
    const before = (await status(o.client, sessionId)).length;

    await o.client.call('session/load', { sessionId, cwd: d.workDir, mcpServers: [acp('tools', 'tools:other')] });
    assert.deepEqual((await givenServers(o.client, sessionId))[0], given[0]);
    assert.equal((await status(o.client, sessionId)).length, before);
    assert.ok((await c.request('ping')).msg.result, 'and what is connected stays so');
    await c.request('tools/list');
    assert.equal(o.of('tools/list').at(-1).msg.params.serverId, 'tools:other');
  });

  test('a call that the harness cancels is cancelled at the client', async (t) => {
    const { o, c } = await openRelay(t, d, { handlers: { 'tools/call': () => {} } });
    const { id } = c.begin('tools/call', '{"name":"raw","arguments":{}}');

    await until(() => o.of('tools/call').length === 1, 'the call arrives');
    c.cancel(id);
    await until(() => o.cancels.length === 1, 'it is cancelled');
  });

});

describe('what the harness really listed', () => {
  test('nothing before it has listed, then the names, also for a later client', async (t) => {
    const o = await RawOrchestrator.connect(d);
    t.after(() => o.close());
    const result = await o.client.call('session/new', { cwd: d.workDir, mcpServers: [acp('tools')], _meta: { acpd: { mcp: { builtin: true } } } });
    const given = await givenServers(o.client, result.sessionId);

    assert.deepEqual(listed(result), [{ name: 'tools', via: 'acp' }, { name: 'acpd', via: 'builtin' }]);
    assert.deepEqual(given.map((g) => g.name), ['tools', 'acpd']);
    const c = await openClient(t, given[0]);
    await c.request('tools/list');
    assert.deepEqual(await status(o.client, result.sessionId), [{ name: 'tools', via: 'acp', toolsDelivered: ['raw'] }, { name: 'acpd', via: 'builtin' }]);
    const again = await o.client.call('session/load', { sessionId: result.sessionId, cwd: d.workDir, mcpServers: [acp('tools')] });
    assert.deepEqual(listed(again)[0].toolsDelivered, ['raw']);
  });
});

describe('policies', () => {
  test('a server that is denied altogether is not given to the harness', async (t) => {
    const o = await RawOrchestrator.connect(d);
    t.after(() => o.close());
    const result = await o.newSession({ servers: ['tools', 'more'], _meta: { acpd: { mcp: { policy: { tools: { policy: 'deny' } } } } } });

    assert.deepEqual((await givenServers(o.client, result.sessionId)).map((g) => g.name), ['more']);
    assert.deepEqual((await status(o.client, result.sessionId)).find((s) => s.name === 'tools'), { name: 'tools', via: 'denied' });
  });

  test('categories.mcp is what holds where no rule speaks; the daemon\'s own servers are denied like others', async (t) => {
    const o = await RawOrchestrator.connect(d);
    t.after(() => o.close());
    const open = async (policy, mcp) => {
      const { sessionId } = await o.newSession({ servers: ['tools', 'more'], _meta: { acpd: { policy, mcp } } });
      return (await givenServers(o.client, sessionId)).map((g) => g.name);
    };

    assert.deepEqual(await open({ categories: { mcp: 'deny' } }, { builtin: true }), ['acpd']);
    assert.deepEqual(await open({ categories: { mcp: 'deny' } }, { policy: { more: { policy: 'allow' } } }), ['more']);
    assert.deepEqual(await open({}, { builtin: true, policy: { acpd: { policy: 'deny' } } }), ['tools', 'more']);
  });

  test('a harness that its manifest says takes no servers at all: refused, by name', async (t) => {
    const own = await Daemon.start({ stub: { capabilities: { mcpCapabilities: { stdio: false } } } });
    t.after(() => own.stop());
    const c = await own.client();

    for (const server of [acp('tools'), stdio('b', 'true')])
      await assert.rejects(c.call('session/new', { cwd: own.workDir, mcpServers: [server] }), (e) => e.data.reason === 'MCP_TRANSPORT_UNSUPPORTED');
    await assert.rejects(c.call('session/new', { cwd: own.workDir, mcpServers: [], _meta: { acpd: { mcp: { builtin: true } } } }),
      (e) => e.data.reason === 'MCP_TRANSPORT_UNSUPPORTED' && e.data.field === '_meta.acpd.mcp.builtin');
  });

  test('a program that the client named passes through us when a policy speaks of it', async (t) => {
    const o = await RawOrchestrator.connect(d);
    t.after(() => o.close());
    const { sessionId } = await o.client.newSession({ mcpServers: [stdio('fixture', FIXTURE)],
      _meta: { acpd: { mcp: { policy: { fixture: { tools: { test_error_handling: { policy: 'deny' } } } } } } } });
    const given = await givenServers(o.client, sessionId);
    const c = await openClient(t, given[0]);
    const names = (await c.request('tools/list')).msg.result.tools.map((x) => x.name);

    assert.deepEqual(given[0].args, ['mcp']);
    assert.ok(names.includes('test_simple_text') && !names.includes('test_error_handling'));
    assert.equal((await c.request('tools/call', '{"name":"test_simple_text","arguments":{}}')).msg.result.content[0].type, 'text');
  });
});

describe('servers of the sandbox', () => {
  const projectIn = (text) => {
    const cwd = newCwd(d);

    fs.writeFileSync(path.join(cwd, '.mcp.json'), text);
    return cwd;
  };
  const open = async (t, cwd, mcp) => {
    const o = await RawOrchestrator.connect(d);

    t.after(() => o.close());
    const result = await o.client.call('session/new', { cwd, mcpServers: [], _meta: { acpd: { mcp } } });

    return { o, result, given: await givenServers(o.client, result.sessionId) };
  };
  const config = JSON.stringify({ mcpServers: { fix: { command: FIXTURE }, off: { command: 'x', disabled: true }, bad: { command: 'no-such-command' } } });

  test('.mcp.json: only if the session trusts it', async (t) => {
    const { given } = await open(t, projectIn(config), {});

    assert.deepEqual(given, []);
  });

  test('.mcp.json: each entry for itself, the rest told', async (t) => {
    const { o, given, result } = await open(t, projectIn(config), { project: true });
    const c = await openClient(t, given[0]);

    assert.deepEqual(given.map((g) => g.name), ['fix']);
    assert.ok((await c.request('tools/list')).msg.result.tools.length > 3);
    const report = await status(o.client, result.sessionId);
    assert.equal(report.find((s) => s.name === 'bad').via, 'project');
    assert.ok(report.find((s) => s.name === 'bad').error.reason, JSON.stringify(report));
  });

  test('.mcp.json that is no JSON never keeps a session from starting', async (t) => {
    const { result, given } = await open(t, projectIn('{ "mcpServers": { // oops'), { project: true });

    assert.deepEqual(given, []);
    assert.equal(listed(result)[0].name, '.mcp.json');
    assert.ok(listed(result)[0].error.message);
  });

  test('the built-in tools: in the session\'s directory, chosen ones only, and the same over /mcp', async (t) => {
    const cwd = newCwd(d);
    const { given, result } = await open(t, cwd, { builtin: { tools: ['readFile', 'writeFile'] } });
    const c = await openClient(t, given[0]);

    assert.deepEqual((await c.request('tools/list')).msg.result.tools.map((x) => x.name).sort(), ['readFile', 'writeFile']);
    const { msg } = await c.request('tools/call', '{"name":"writeFile","arguments":{"path":"a.txt","content":"hello"}}');
    assert.equal(msg.result.isError ?? false, false, JSON.stringify(msg.result));
    assert.equal(fs.readFileSync(path.join(cwd, 'a.txt'), 'utf8'), 'hello');
    const said = await d.http(`/mcp?session=${result.sessionId}`, { token: d.token, method: 'POST', headers: { 'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'readFile' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'readFile', arguments: { path: 'a.txt' },
      _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} } } }) });

    assert.match(said.body, /hello/);
  });
});

test('mcpCapabilities.acp is announced', async (t) => {
  const c = await d.client();
  t.after(() => c.close());
  assert.equal((await (await d.connect()).initialize()).agentCapabilities.mcpCapabilities.acp, true);
});

test('an agent user that cannot start the shim: refused with the reason, not a session without tools', { skip: process.getuid() !== 0 && 'needs root' }, async (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-closed-'));
  const program = path.join(dir, 'acpd');

  t.after(() => fs.rmSync(dir, { recursive: true }));
  fs.copyFileSync(ACPD, program);
  fs.chmodSync(dir, 0o700);
  const own = await Daemon.start({ program, flags: { agentUser: 'nobody' } });
  t.after(() => own.stop());
  const c = await own.client();

  await assert.rejects(c.call('session/new', { cwd: own.workDir, mcpServers: [acp('tools')] }), (e) => e.data.reason === 'MCP_SHIM_NOT_EXECUTABLE');
  await c.call('session/new', { cwd: own.workDir, mcpServers: [] });
});
