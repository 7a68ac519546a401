// SPDX-License-Identifier: Apache-2.0
// Many sessions with MCP servers of every kind are opened, called and ended at random, while what they consist of is killed at random:
// harnesses, shims, built-in tools, servers, connections. Afterwards nothing is left, and the daemon has what it had before.
// ACPD_SOAK_SECONDS sets how long, ACPD_SOAK_SEED repeats a run's choices.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { Daemon } from '../lib/daemon.mjs';
import { FIXTURE } from '../lib/mcp.mjs';
import { givenServers, RawOrchestrator, startShim } from '../lib/mcp-orchestrators.mjs';
import * as procs from '../lib/procs.mjs';
import { sleep } from '../lib/rawws.mjs';
import { steady, until } from '../lib/wait.mjs';
import { newCwd } from '../lib/workspace.mjs';

const SECONDS = Number(process.env.ACPD_SOAK_SECONDS ?? 5), WORKERS = 6;
const SESSIONS = 200, SESSIONS_LEAST = 20; // however fast or slow the machine is
let seed = Number(process.env.ACPD_SOAK_SEED ?? Date.now() % 1000000);

// 0 .. n-1
function random(n) {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return Math.floor(seed / 65536) % n;
}

const MODERN = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };

// A call over HTTP that may be cut off by us or by whatever is killed; says its end, whatever that was.
function post(d, where, method, params, name) {
  const headers = { Authorization: `Bearer ${d.token}`, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': method, ...(name && { 'Mcp-Name': name }) };
  const rq = http.request({ host: '127.0.0.1', port: d.port, path: where, method: 'POST', headers, agent: false });
  const ended = new Promise((resolve) => {
    rq.on('response', (res) => res.resume().on('close', resolve));
    rq.on('error', resolve);
    rq.on('close', resolve);
  });

  rq.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: MODERN } }));
  return { ended, cut: () => rq.destroy() };
}

const ofSession = (d, id) => d.descendants().filter((p) => (procs.environ(p.pid).ACPD_SESSION ?? '').startsWith(id));

function kill9(p) {
  try {
    if (p && procs.alive(p))
      process.kill(p.pid, 'SIGKILL');
  } catch { /* it was quicker */ }
}

test('sessions come and go while everything is killed at random', { timeout: (SECONDS + 90) * 1000 }, async (t) => {
  const config = path.join(fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? os.tmpdir(), 'acpd-soak-')), 'mcp.json');
  t.after(() => fs.rmSync(path.dirname(config), { recursive: true, force: true }));
  fs.writeFileSync(config, JSON.stringify({ mcpServers: { fix: { command: FIXTURE } } }));
  const d = await Daemon.startFor(t, { flags: { mcpHold: 1, mcpConfig: config } });
  t.diagnostic(`seed ${seed}`);

  const counts = { sessions: 0, calls: 0, answered: 0, kills: 0 };
  const cwd = newCwd(d);
  const answers = [
    (call) => call.result('{"resultType":"complete","content":[{"type":"text","text":"x"}]}'),
    (call) => call.error('{"code":-32000,"message":"no"}'),
    () => {},
  ];

  // One session's life. Whatever of it is killed on the way makes the rest fail, which is what happens here.
  async function live(own) {
    const meta = { mcp: { builtin: true, ...(random(2) && { hosted: ['fix'] }), ...(random(4) === 0 && { policy: { tools: { policy: 'ask' } } }) } };
    const { sessionId } = await own.newSession({ cwd, meta });
    const given = await givenServers(own.client, sessionId);
    const shims = given.filter(() => random(4)).map((g) => startShim(g));
    const posts = [];

    try {
      await Promise.all(shims.map((c) => Promise.race([c.initialize(), sleep(3000)])));
      for (let i = 0; i < 6; i++) {
        const c = shims[random(Math.max(shims.length, 1))];

        counts.calls++;
        if (random(3) === 0)
          posts.push(post(d, `/mcp?session=${sessionId}`, 'tools/call', { name: 'runCommand', arguments: { command: `sleep ${random(2)}` } }, 'runCommand'));
        else if (random(6) === 0)
          posts.push(post(d, `/mcp/tools?session=${sessionId}`, 'subscriptions/listen', { notifications: { toolsListChanged: true } }));
        else
          c?.request('tools/call', { name: ['raw', 'runCommand', 'test_simple_text'][random(3)], arguments: {} }, { timeout: 2000 })
            .then(() => { counts.answered++; }, () => {});
      }
      if (random(4) === 0)
        own.client.startPrompt(sessionId, `sleep ${random(800)}`).answer.catch(() => {});
      await sleep(random(150));
      const victims = ofSession(d, sessionId);
      const what = random(6);

      counts.kills += what < 5;
      [() => kill9(victims[random(victims.length || 1)]), () => shims[0]?.lines.child.kill('SIGKILL'), () => victims.forEach(kill9),
        () => posts.forEach((p) => p.cut()),
        () => kill9(d.descendants().find((p) => p.comm === path.basename(FIXTURE))), () => {}][what]();
      await sleep(random(100));
      if (random(5) === 0)
        await own.client.load(sessionId, { cwd, mcpServers: [own.declaration()] }).catch(() => {});
      await own.client.call(random(2) ? 'session/close' : 'session/delete', { sessionId }, { timeout: 30000 });
    } finally {
      shims.forEach((c) => c.kill());
      posts.forEach((p) => p.cut());
    }
  }

  const connect = () => RawOrchestrator.connect(d, { 'tools/call': (call) => answers[random(3)](call) });
  const failures = [];

  async function work(end) {
    let own = await connect();

    own.client.onPermission('allow');
    while (counts.sessions < SESSIONS_LEAST || Date.now() < end && counts.sessions < SESSIONS) {
      counts.sessions++;
      await live(own).catch((e) => failures.push(e.message));
      if (random(8) === 0) { // the client goes, and another comes
        await own.close();
        own = await connect();
        own.client.onPermission('allow');
      }
    }
    await own.close();
  }

  // What stays once it was needed: the tools that serve everybody, the hosted server, and what a first session and a first turn open.
  async function warmUp() {
    const own = await connect();
    const { sessionId } = await own.newSession({ cwd, meta: { mcp: { builtin: true, hosted: ['fix'] } } });

    await post(d, '/mcp', 'tools/list', {}).ended;
    await own.client.prompt(sessionId, 'say:warm');
    await own.client.call('session/delete', { sessionId }, { timeout: 30000 });
    await own.close();
    return { fds: await steady(() => d.fdCount()), rss: d.rss() };
  }

  const before = await warmUp();
  const end = Date.now() + SECONDS * 1000;
  await Promise.all(Array.from({ length: WORKERS }, () => work(end)));

  // sessions that nobody ended, since their harness or client was gone
  const c = await d.client();
  for (const { sessionId } of (await c.call('_acpd/status', {})).sessions)
    await c.call('session/delete', { sessionId }, { timeout: 30000 }).catch(() => {});
  await c.close();
  t.diagnostic(`${JSON.stringify(counts)}, ${failures.length} of them cut short, e.g. ${failures[0]}`);

  const left = () => d.descendants().filter((p) => !['mcp.tools', undefined].includes(procs.environ(p.pid).ACPD_SESSION) &&
    !/^mcp-/.test(procs.environ(p.pid).ACPD_SESSION));
  await until(() => !left().length, 'the last process to go', 20000);
  const tooMany = () => `${before.fds} descriptors as before, not ${d.descriptors().join(', ')}`;
  await until(() => d.fdCount() <= before.fds, tooMany, 20000);
  assert.deepEqual(fs.readdirSync(path.join(d.runDir, 'mcp')), []);
  assert.equal((await d.http('/health')).status, 200);
  t.diagnostic(`memory ${before.rss / 1024} -> ${d.rss() / 1024} KiB`);
  await d.stop();
});
