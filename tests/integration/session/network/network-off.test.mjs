// SPDX-License-Identifier: Apache-2.0
// network {mode: "off"}: what runs for the session has a loopback of its own and nothing else, reaches its model and its tools, and is reached
// by nobody; as root, as another user than the daemon, and where the daemon itself is not root.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { once } from 'node:events';
import { spawnSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { runCommand as run } from '../../../lib/agent-shell.mjs';
import { ACPD, Daemon, endInOrder } from '../../../lib/daemon.mjs';
import { McpHttp } from '../../../lib/mcp-http.mjs';
import { givenServers, RawOrchestrator } from '../../../lib/mcp-orchestrators.mjs';
import { connectTaker, listenerOf, ModelConnection, STUB_WITH_PROVIDER } from '../../../lib/model-calls.mjs';
import { othersHaveNamespaces, rootHasNamespaces } from '../../../lib/namespaces.mjs';
import { dropPlain, startPlain } from '../../../lib/plain.mjs';
import * as procs from '../../../lib/procs.mjs';
import { steady, until } from '../../../lib/wait.mjs';
import { homely } from '../../ledger.mjs';

const isRoot = process.getuid() === 0;
const OFF = { network: { mode: 'off' } };
const HARNESSES = [STUB_WITH_PROVIDER, { ...homely(), capabilities: { loadSession: true } }];
const netOf = (pid) => procs.link(pid, 'ns/net');
const harnessOf = (id) => procs.withEnv((env) => env.ACPD_SESSION === id).filter(procs.alive)[0];

const connects = (host, port) => `bash -c 'exec 3<>/dev/tcp/${host}/${port}'`;
const ownNet = async (c, id) => (await run(c, id, 'readlink /proc/self/ns/net')).text;
const offSession = (taker, provider, { meta, ...more } = {}) => taker.c.newSession({ meta: {
  harness: STUB_WITH_PROVIDER.id, provider: { api: 'openai-chat', model: 'stub-small', ...provider }, ...OFF, ...meta }, ...more });

// Descriptors of the daemon that are namespaces of the network.
const held = (d) => procs.descriptors(d.pid).filter((to) => to.startsWith('net:')).length;

const CALL = { name: 'runCommand', arguments: { command: 'readlink /proc/self/ns/net' } };

// A call of a tool as the harness makes it: by the shim that it was given, from where it runs.
function throughShim(c, id, { command, args, env }, params) {
  const lines = [{ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'inside', version: '0' } } },
    { method: 'notifications/initialized' }, { id: 2, method: 'tools/call', params }].map((m) => `'${JSON.stringify({ jsonrpc: '2.0', ...m })}'`);

  return run(c, id, `out=$TMPDIR/said; : >$out; (printf '%s\\n' ${lines.join(' ')}; until grep -q '"id":2' $out; do sleep 0.02; done) | ` +
    `env ${env.map(({ name, value }) => `${name}='${value}'`).join(' ')} ${command} ${args.join(' ')} >$out; cat $out`);
}

function inNamespace(name) {
  return procs.list().filter((p) => {
    try {
      return netOf(p.pid) === name;
    } catch {
      return false; // gone
    }
  });
}

const PLAIN = 'a daemon without privileges';
const noStrace = !spawnSync('strace', ['-V']).stdout && 'no strace';
const KINDS = [
  ['a daemon that is root', () => Daemon.start({ harnesses: HARNESSES, flags: { level: 'open' } }), { leavable: true }, rootHasNamespaces],
  ['--agent-user', () => Daemon.start({ harnesses: HARNESSES, flags: { agentUser: 'nobody' } }), { leavable: false }, rootHasNamespaces],
  [PLAIN, () => startPlain({ harnesses: HARNESSES }), { leavable: false }, othersHaveNamespaces],
];

for (const [what, start, { leavable }, works] of KINDS) {
  describe(what, { skip: !works && 'no namespaces, or not root' }, () => {
    let d, taker, outside;

    before(async () => {
      d = await start();
      taker = await connectTaker(d);
      outside = net.createServer((s) => s.end('hello')).listen(0, '127.0.0.1');
      await once(outside, 'listening');
    });
    after(async () => {
      outside?.close();
      await endInOrder(d, taker?.c);
      dropPlain(d);
    });

    test('a command reaches the model, and nothing outside', async () => {
      const { sessionId: id, _meta } = await offSession(taker);
      const where = listenerOf(id);

      assert.deepEqual(_meta.acpd.network, { mode: 'off', achieved: 'namespace', previews: false, leavable });
      assert.deepEqual(_meta.acpd.provider, { via: 'tunnel', keyExposed: false, callerChecked: true });
      assert.equal(await ownNet(taker.c, id), netOf(harnessOf(id).pid));
      assert.notEqual(netOf(harnessOf(id).pid), netOf(d.pid));
      for (const [host, port, why] of [
        ['127.0.0.1', outside.address().port, /refused/],
        ['127.0.0.1', d.port, /refused/],
        ['192.0.2.1', 80, /unreachable/],
        ['169.254.169.254', 80, /unreachable/],
      ]) {
        const { code, text } = await run(taker.c, id, connects(host, port));
        assert.notEqual(code, 0, host);
        assert.match(text, why);
      }
      assert.equal((await run(taker.c, id, 'getent hosts example.com')).code, 2);
      const asked = run(taker.c, id, 'curl -sS -o /dev/null -w %{http_code} -H "Authorization: Bearer $COPILOT_PROVIDER_API_KEY" $COPILOT_PROVIDER_BASE_URL/models');
      taker.answer((await taker.asked()).callId);
      assert.deepEqual(await asked, { code: 0, text: '200' });
      await assert.rejects(ModelConnection.open(where), { code: 'ECONNREFUSED' });
      const status = (await taker.c.call('_acpd/status', { sessionId: id })).sessions[0];
      assert.deepEqual(status.network, _meta.acpd.network);
      await taker.c.call('session/close', { sessionId: id });
    });

    test('sessions do not reach each other', async () => {
      const { sessionId: one } = await offSession(taker);
      const { sessionId: two } = await offSession(taker);
      const { url } = listenerOf(two);

      assert.notEqual(await ownNet(taker.c, one), await ownNet(taker.c, two));
      assert.match((await run(taker.c, one, connects(url.hostname, url.port))).text, /refused/);
      assert.equal((await run(taker.c, two, connects(url.hostname, url.port))).code, 0);
      for (const sessionId of [one, two])
        await taker.c.call('session/close', { sessionId });
    });

    test('its tools are there: the built-in ones in the same namespace, the client\'s over the session socket', async (t) => {
      const o = await RawOrchestrator.connect(d, { 'tools/call': (call) => call.result('{"resultType":"complete","content":[{"type":"text","text":"told"}]}') });
      t.after(() => o.close());
      const { sessionId: id } = await o.newSession({ meta: { ...OFF, mcp: { builtin: true } } });
      const given = Object.fromEntries((await givenServers(o.client, id)).map((server) => [server.name, server]));
      const inode = netOf(harnessOf(id).pid).slice(5, -1);
      const http = await (await new McpHttp(d, `/mcp?session=${id}`).modern('tools/call', CALL)).over();

      assert.ok(JSON.stringify(http.answer.result).includes(inode));
      assert.match((await throughShim(o.client, id, given.acpd, CALL)).text, new RegExp(inode));
      assert.match((await throughShim(o.client, id, given.tools, { name: 'raw', arguments: {} })).text, /"told"/);
      await o.client.call('session/close', { sessionId: id });
    });

    if (what === PLAIN)
      test('its processes cannot trace those of another session, as those of an open one can', { skip: noStrace }, async () => {
        const { sessionId: open } = await taker.c.newSession();
        const { sessionId: other } = await taker.c.newSession();
        const { sessionId: off } = await taker.c.newSession({ meta: OFF });
        const traced = `grep -q 'TracerPid:.[1-9]' /proc/${harnessOf(other).pid}/status`;
        const trace = (id) => run(taker.c, id, `strace -qq -o /dev/null -p ${harnessOf(other).pid} & until ${traced} || ! kill -0 $!; do sleep 0.02; done; ` +
          `${traced} && echo traced; kill $!; wait`);

        assert.match((await trace(open)).text, /traced/);
        assert.match((await trace(off)).text, /not permitted/);
        for (const sessionId of [open, other, off])
          await taker.c.call('session/close', { sessionId });
      });

    test('it is the same one as long as the session is open, and gone after', async () => {
      await until(() => !held(d), 'what runs for closed sessions to be gone');
      const { sessionId: id } = await taker.c.newSession({ meta: { harness: 'homely', ...OFF } });
      const first = await ownNet(taker.c, id);

      await assert.rejects(taker.c.prompt(id, 'crash exit 3'));
      assert.equal(await ownNet(taker.c, id), first);
      assert.equal(held(d), 1);
      const fork = await taker.c.call('session/fork', { sessionId: id, cwd: d.workDir, mcpServers: [] }, { timeout: 30000 });
      assert.equal(fork._meta.acpd.network.mode, 'off');
      const forked = await ownNet(taker.c, fork.sessionId);
      assert.ok(![first, netOf(d.pid)].includes(forked), forked);
      for (const sessionId of [id, fork.sessionId])
        await taker.c.call('session/close', { sessionId });
      assert.equal(held(d), 0);
      assert.deepEqual([first, forked].flatMap(inNamespace), []);
      const loaded = await taker.c.load(id);
      assert.equal(loaded._meta.acpd.network.mode, 'off');
      assert.ok(![netOf(d.pid)].includes(await ownNet(taker.c, id)));
      const opened = await taker.c.load(id, { meta: { network: { mode: 'on' } } });
      assert.deepEqual(opened._meta.acpd.network, { mode: 'on', achieved: 'none', previews: true });
      assert.equal(await ownNet(taker.c, id), netOf(d.pid));
      assert.equal(held(d), 0);
      await taker.c.load(id, { meta: OFF });
      assert.notEqual(await ownNet(taker.c, id), netOf(d.pid));
      await taker.c.call('session/close', { sessionId: id });
    });

    test('a killed daemon leaves nothing, and the next one knows', async () => {
      const { sessionId: id } = await offSession(taker);
      const name = await ownNet(taker.c, id);

      await d.kill9();
      await d.restart();
      taker = await connectTaker(d);
      await until(() => !inNamespace(name).length, 'nobody in the namespace');
      const { _meta } = await taker.c.load(id);
      assert.equal(_meta.acpd.network.mode, 'off');
      assert.notEqual(await ownNet(taker.c, id), netOf(d.pid));
      await taker.c.call('session/close', { sessionId: id });
    });
  });
}

describe('what it costs and what cannot be', { skip: !(isRoot ? rootHasNamespaces : othersHaveNamespaces) && 'no namespaces' }, () => {
  let d, taker;

  before(async () => {
    d = await Daemon.start({ harnesses: HARNESSES });
    taker = await connectTaker(d);
  });
  after(() => endInOrder(d, taker.c));

  test('two descriptors for each open session more than it has otherwise: the namespace and the socket of a proxy', async () => {
    const cost = async (meta) => {
      const from = await steady(() => d.fdCount());
      const ids = [];

      for (let i = 0; i < 6; i++)
        ids.push((await offSession(taker, {}, { meta })).sessionId);
      const each = Math.round((await steady(() => d.fdCount()) - from) / ids.length); // a thread may have one for a while
      for (const sessionId of ids)
        await taker.c.call('session/close', { sessionId });
      await until(() => d.fdCount() <= from, 'all of them are closed');
      return each;
    };
    await cost({});

    assert.equal(await cost({}), await cost({ network: { mode: 'on' } }) + 2);
  });

  const provider = { api: 'openai-chat', via: 'environment', key: 'sk-12345678', baseUrl: 'http://127.0.0.1:9/v1', model: 'stub-small' };
  const refused = [
    ['a harness that calls its provider itself', { provider }, 'PROVIDER_NEEDS_NETWORK', '_meta.acpd.provider.via'],
  ];
  for (const [name, meta, reason, field] of refused) {
    test(`refused: ${name}`, async () => {
      await assert.rejects(taker.c.newSession({ meta: { harness: STUB_WITH_PROVIDER.id, ...OFF, ...meta } }), (e) => {
        assert.deepEqual([e.data.reason, e.data.field], [reason, field], e.message);
        return true;
      });
    });
  }

  test('a load cannot make it so either', async () => {
    const { sessionId: id } = await offSession(taker);

    await assert.rejects(taker.c.load(id, { meta: { provider } }), (e) => e.data.reason === 'PROVIDER_NEEDS_NETWORK');
    assert.notEqual(await ownNet(taker.c, id), netOf(d.pid));
    await taker.c.load(id, { meta: { provider, network: { mode: 'on' } } });
    await assert.rejects(taker.c.load(id, { meta: OFF }), (e) => e.data.reason === 'PROVIDER_NEEDS_NETWORK');
    await taker.c.call('session/close', { sessionId: id });
  });

  for (const [from, to] of [['off', 'on'], ['on', 'off']])
    test(`a change from ${from} to ${to} while a turn runs waits for its end, and the answer tells what is`, async () => {
      const { sessionId: id } = await offSession(taker, {}, { meta: { network: { mode: from } } });
      const was = await ownNet(taker.c, id);
      const at = taker.c.updates.length;
      const turn = taker.c.startPrompt(id, `echo it runs; run until [ -e go-${to} ]\\; do sleep 0.02\\; done\\; readlink /proc/self/ns/net`);
      await until(() => taker.c.chunks(id, at).length, 'the turn to run');
      const { _meta } = await taker.c.load(id, { meta: { network: { mode: to } } });
      const builtin = await (await new McpHttp(d, `/mcp?session=${id}`).modern('tools/call', CALL)).over();

      assert.deepEqual(_meta.acpd.pending, ['network']);
      assert.deepEqual([_meta.acpd.network.mode, _meta.acpd.network.achieved], [to, from === 'off' ? 'namespace' : 'none']);
      assert.ok(JSON.stringify(builtin.answer.result).includes(was), 'with the harness');
      fs.writeFileSync(path.join(d.workDir, `go-${to}`), '');
      await turn.answer;
      assert.equal(taker.c.chunks(id, at).find((text) => text.startsWith('run:')).trim(), `run:0:${was}`);
      assert.equal(await ownNet(taker.c, id) === netOf(d.pid), to === 'on');
      await taker.c.call('session/close', { sessionId: id });
    });

  test('a project\'s server runs there; one over HTTP is not reached', async () => {
    const cwd = path.join(d.dir, 'project');

    fs.mkdirSync(cwd);
    fs.writeFileSync(path.join(cwd, '.mcp.json'), JSON.stringify({ mcpServers: { far: { type: 'http', url: `http://127.0.0.1:${d.port}/mcp` },
      near: { command: process.execPath, args: [path.join(import.meta.dirname, '../../../mcp/hosted-server.mjs')] } } }));
    const { sessionId: id, _meta } = await taker.c.newSession({ cwd, meta: { ...OFF, mcp: { project: true } } });
    const far = _meta.acpd.mcp.find((s) => s.name === 'far');

    assert.equal(far.error.reason, 'MCP_SERVER_UNREACHABLE');
    await new McpHttp(d, `/mcp/near?session=${id}`).modern('tools/list', {}).then((r) => r.over());
    const inside = inNamespace(netOf(harnessOf(id).pid)).map((p) => procs.cmdline(p.pid));
    assert.ok(inside.some((line) => line.includes('hosted-server.mjs')), inside.join('\n'));
    await taker.c.call('session/close', { sessionId: id });
  });
});

test('where no namespace can be made it is refused, not announced, and told by doctor', { skip: noStrace }, async (t) => {
  const dir = fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? '/tmp', 'acpd-forbids-'));
  const program = path.join(dir, 'acpd');

  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  fs.writeFileSync(program, `#!/bin/sh\nexec strace -D -f -qq -o /dev/null -e trace=unshare -e inject=unshare:error=EPERM '${ACPD}' "$@"\n`, { mode: 0o755 });
  const d = await Daemon.startFor(t, { program, harnesses: HARNESSES });
  const c = await d.client();

  assert.equal(c.initializeResult.agentCapabilities._meta.acpd.features.network, undefined);
  await assert.rejects(c.newSession({ meta: OFF }), (e) => {
    assert.deepEqual([e.code, e.data.reason, e.data.field], [-32602, 'NETWORK_POLICY_UNSUPPORTED', '_meta.acpd.network']);
    assert.match(e.message, /Operation not permitted/);
    return true;
  });
  const { sessionId: id } = await c.newSession({ meta: { network: { mode: 'on' } } });
  await assert.rejects(c.load(id, { meta: OFF }), (e) => e.data.reason === 'NETWORK_POLICY_UNSUPPORTED');
  assert.equal(await ownNet(c, id), netOf(d.pid));
  const { stdout } = spawnSync(ACPD, ['doctor', '--run-dir', d.runDir], { encoding: 'utf8' });
  assert.match(stdout, /network namespaces +no/);
  await c.close();
});
