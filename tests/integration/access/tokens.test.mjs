// SPDX-License-Identifier: Apache-2.0
// The life of minted tokens: minting, what is kept of them, sessions that narrow them, expiry and revocation in the middle of things,
// restarts, the end of the claim, and what a holder can make much of.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { Stream } from '../../lib/events.mjs';
import { gate } from '../../lib/gate.mjs';
import { McpHttp } from '../../lib/mcp-http.mjs';
import { SLOW, assertNoViolations, bearerProtocol, deadline } from '../../lib/rawws.mjs';
import { constant } from '../../lib/tables.mjs';
import { inMs, listed, mint, revoke } from '../../lib/tokens.mjs';
import { until, withLimit } from '../../lib/wait.mjs';
import { claimed, resumed, sandboxed } from '../robust/away.mjs';
import { acpd } from '../run.mjs';

const fileOf = (d) => path.join(d.stateDir, 'tokens');
const status = async (d, token, where = '/v1/info') => (await d.http(where, { token })).status;

describe('minting', () => {
  let d, c;
  before(async () => {
    d = await Daemon.start({ flags: { allowQueryToken: true } });
    c = await d.client();
  });
  after(() => endInOrder(d, c));

  test('over ACP, HTTP and the control socket: told once, kept as a digest, listed, revoked', async () => {
    const order = { scope: 'observe', expiresAt: inMs(60000), label: 'dashboard ✓' };
    const over = [await c.call('_acpd/tokens/mint', order), await mint(d, 'usage')];
    const cli = await acpd(['tokens', 'mint', '--scope', 'tools', '--label', 'by hand', '--expires', '2h', '--run-dir', d.runDir]);

    assert.deepEqual([cli.code, /^acpd_[0-9a-f]{64}\n$/.test(cli.stdout), cli.stderr], [0, true, '']);
    assert.match(over[0].token, /^acpd_[0-9a-f]{64}$/);
    assert.match(over[0].id, /^tok_[0-9a-f]{16}$/);
    assert.deepEqual([over[0].scope, over[0].label, over[0].expiresAt], [order.scope, order.label, order.expiresAt]);
    const texts = [...over.map((t) => t.token), cli.stdout.trim()];
    const tokens = await listed(d);
    assert.deepEqual(tokens, (await c.call('_acpd/tokens/list')).tokens);
    assert.deepEqual(tokens.map((t) => t.scope), ['observe', 'usage', 'tools']);
    assert.ok(Math.abs(new Date(tokens[2].expiresAt) - Date.now() - 7200000) < 60000);
    const kept = fs.readFileSync(fileOf(d), 'utf8');
    assert.equal(fs.statSync(fileOf(d)).mode & 0o777, 0o600);
    for (const text of texts) {
      assert.ok(![JSON.stringify(tokens), kept, d.stderr, d.stdout].some((t) => t.includes(text) || t.includes(text.slice(5, 40))));
      assert.ok(kept.includes(crypto.createHash('sha256').update(text).digest('hex')));
    }
    assert.deepEqual(await Promise.all(texts.map((t) => status(d, t))), [200, 200, 200]);
    const list = await acpd(['tokens', 'list', '--run-dir', d.runDir]);
    assert.deepEqual(list.stdout.trim().split('\n').map((l) => l.split(/\s+/).slice(0, 2)), tokens.map((t) => [t.id, t.scope]));
    assert.deepEqual(JSON.parse((await acpd(['tokens', 'list', '--json', '--run-dir', d.runDir])).stdout).tokens, tokens);
    assert.equal((await acpd(['tokens', 'revoke', tokens[2].id, '--run-dir', d.runDir])).code, 0);
    await c.call('_acpd/tokens/revoke', { id: tokens[0].id });
    assert.equal((await revoke(d, tokens[1].id)).status, 200);
    assert.deepEqual(await Promise.all(texts.map((t) => status(d, t))), [401, 401, 401]);
    assert.deepEqual(await listed(d), []);
    assert.equal((await revoke(d, tokens[1].id)).status, 404);
    const gone = await acpd(['tokens', 'revoke', 'tok_0', '--run-dir', d.runDir]);
    assert.deepEqual([gone.code, gone.stdout], [3, '']);
    for (const [args, word] of [[['--label', 'x'], 'scope'], [['--scope', 'usage'], 'label'], [['--scope', 'some', '--label', 'x'], 'scope'], [['--scope', 'usage', '--label', 'x', '--expires', 'never'], 'expiresAt']])
      assert.ok((await acpd(['tokens', 'mint', ...args, '--run-dir', d.runDir])).stderr.includes(word), args.join(' '));
  });

  test('a forged token is none, in each of the ways that a token is given; a minted one is one', async () => {
    const { token } = await mint(d, 'drive'), forged = `acpd_${'0'.repeat(64)}`;
    const by = async (t) => {
      const all = [{ token: t }, { token: null, protocols: ['acp.v1', bearerProtocol(t)] }, { token: null, path: `/acp?token=${t}` }];
      const out = [];
      for (const opts of all) {
        const ws = await d.ws(opts);
        out.push(ws.status);
        ws.destroy();
      }
      return out;
    };

    assert.deepEqual(await by(token), [101, 101, 101]);
    for (const t of [forged, token.slice(0, -1), `${token}0`, token.toUpperCase()])
      assert.deepEqual(await by(t), [401, 401, 401]);
  });

  test('doors are counted by scope, and the log names the token by its id', async () => {
    const { id, token } = await mint(d, 'observe');
    const count = (over, scope, outcome) => d.metric('acpd_admissions_total', `over="${over}",scope="${scope}",outcome="${outcome}"`);
    const rows = [['websocket', 'observe', 'accepted'], ['http', 'observe', 'accepted'], ['http', 'observe', 'refused'], ['http', 'none', 'refused'], ['websocket', 'none', 'refused']];
    const was = await Promise.all(rows.map((r) => count(...r)));

    await (await d.client({ token })).close();
    assert.equal(await status(d, token), 200);
    assert.equal(await status(d, token, '/v1/tokens'), 403);
    assert.equal(await status(d, 'forged-forged-forged'), 401);
    (await d.ws({ token: 'forged-forged-forged' })).destroy();
    assert.deepEqual(await Promise.all(rows.map((r) => count(...r))), was.map((n) => n + 1));
    for (const [msg, more] of [['connection accepted', { over: 'websocket' }], ['request accepted', { over: 'http' }], ['refused', { reason: 'SCOPE_REQUIRED' }]])
      await d.waitLog((l) => l.msg === msg && l.token === id && l.scope === 'observe' && Object.entries(more).every(([k, v]) => l[k] === v));
  });

  test('so many hold at once and no more', async () => {
    const have = (await listed(d)).length, max = constant('TOKENS_MAX');

    for (let n = have; n < max; n++)
      await c.call('_acpd/tokens/mint', { scope: 'usage', expiresAt: inMs(60000), label: 'x'.repeat(128) });
    const e = await c.fails('_acpd/tokens/mint', { scope: 'usage', expiresAt: inMs(60000), label: 'x' });
    assert.deepEqual([e.code, e.data.reason], [-32600, 'TOO_MANY_TOKENS']);
    assert.equal((await listed(d)).length, max);
    for (const { id } of await listed(d))
      await c.call('_acpd/tokens/revoke', { id });
  });
});

describe('limited to sessions', () => {
  let d, c, k, mine, other, token;
  before(async () => {
    d = await Daemon.start();
    c = await d.client();
    [mine, other] = [(await c.newSession()).sessionId, (await c.newSession()).sessionId];
    for (const id of [mine, other])
      await c.prompt(id, 'usage; echo x');
    ({ token } = await mint(d, 'drive', { sessions: [mine] }));
    k = await d.client({ token });
  });
  after(async () => {
    await k.close();
    await endInOrder(d, c);
  });

  test('lists, statuses, usage and questions show these alone', async () => {
    const ids = (list) => list.map((s) => s.sessionId);
    const all = await c.call('_acpd/status');

    assert.deepEqual(ids((await k.call('session/list')).sessions), [mine]);
    const status = await k.call('_acpd/status');
    assert.deepEqual(ids(status.sessions), [mine]);
    for (const name of ['work', 'nextDeadline', 'usage', 'harnesses', 'retention'])
      assert.ok(!(name in status), name);
    assert.ok('work' in all && 'usage' in all);
    assert.deepEqual(ids((await d.http('/v1/sessions', { token })).json.sessions), [mine]);
    assert.deepEqual(new Set(ids((await d.http('/v1/usage?format=json', { token })).json.records)), new Set([mine]));
    assert.deepEqual(new Set(ids((await k.call('_acpd/usage')).records)), new Set([mine]));
    assert.deepEqual((await d.http(`/v1/usage?format=json&session=${other}`, { token })).json.records, []);
    assert.deepEqual(k.initializeResult.agentCapabilities._meta.acpd.token.sessions, [mine]);
    for (const where of ['', '/events', '/artifacts'])
      assert.deepEqual([(await d.http(`/v1/sessions/${mine}${where}`, { token })).status, (await d.http(`/v1/sessions/${other}${where}`, { token })).status], [200, 404]);
    for (const id of [mine, other])
      c.onRequest('session/request_permission', () => new Promise(() => {}));
    const turns = [mine, other].map((id) => c.startPrompt(id, 'perm a; echo on'));
    const asked = await until(async () => {
      const { approvals } = await c.call('_acpd/approvals/list');
      return approvals.length === 2 && approvals;
    }, 'both have asked');
    const of = (id) => asked.find((a) => a.sessionId === id).id;
    assert.deepEqual(ids((await k.call('_acpd/approvals/list')).approvals), [mine]);
    assert.deepEqual(ids((await d.http('/v1/approvals', { token })).json.approvals), [mine]);
    const post = (id) => d.http(`/v1/approvals/${id}`, { method: 'POST', token, headers: { 'Content-Type': 'application/json' }, body: '{"optionId":"allow"}' });
    assert.equal((await post(of(other))).json.error.reason, 'APPROVAL_UNKNOWN');
    assert.equal((await k.fails('_acpd/approvals/answer', { id: of(other), optionId: 'allow' })).data.reason, 'APPROVAL_UNKNOWN');
    assert.equal((await post(of(mine))).status, 200);
    await c.call('_acpd/approvals/answer', { id: of(other), optionId: 'allow' });
    for (const turn of turns)
      assert.equal((await turn.answer).result.stopReason, 'end_turn');
  });

  test('no further session is made by it, nor by a fork', async () => {
    for (const [method, params] of [['session/new', {}], ['session/fork', { sessionId: mine }]]) {
      const e = await k.fails(method, { cwd: d.workDir, mcpServers: [], ...params });
      assert.deepEqual([e.data.reason, e.data.scope], ['SCOPE_REQUIRED', 'drive']);
    }
  });

  test('it drives its own', async () => {
    await k.load(mine);
    await k.prompt(mine, 'echo by a limited one');
    assert.equal((await k.fails('session/load', { sessionId: other, cwd: d.workDir, mcpServers: [] })).data.reason, 'SESSION_NOT_FOUND');
  });

  test('MCP over HTTP needs ?session= of one of its own', async () => {
    const { token: tools } = await mint(d, 'tools', { sessions: [mine] });
    const ask = async (query) => (await d.http(`/mcp${query}`, { method: 'POST', token: tools, headers: { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } } }) })).status;

    assert.deepEqual([await ask(''), await ask(`?session=${other}`), await ask(`?session=${mine}`)], [403, 404, 200]);
  });

  test('model calls are taken of its own alone', async () => {
    const { token: model } = await mint(d, 'model', { sessions: [mine] });
    const m = await d.client({ token: model, init: { caps: { _meta: { acpd: { model: { apis: ['openai-chat'], only: true } } } } } });

    assert.equal((await m.request('_acpd/model/attach', { sessionIds: [other] }).answer).error.data.reason, 'SESSION_NOT_FOUND');
    assert.deepEqual((await m.request('_acpd/model/attach', { sessionIds: [mine] }).answer).error, undefined);
    await m.close();
  });
});

describe('in the middle of things', () => {
  let d, c;
  before(async () => {
    d = await Daemon.start();
    c = await d.client();
  });
  after(() => endInOrder(d, c));

  // All that one token can hold open; ended() once nothing of it is left.
  async function everything(token, sessionId) {
    const drives = await d.client({ token });
    await drives.load(sessionId);
    const stream = await Stream.open(d, `/v1/sessions/${sessionId}/events?follow=true`, { token });
    await stream.until((s) => s.events.length > 0);
    const mcp = new McpHttp({ port: d.port, token }, `/mcp?session=${sessionId}`);
    await mcp.initialize();
    const listens = await mcp.open(undefined, { method: 'GET' });

    return { drives, stream, mcp, listens,
      async ended(reason) {
        await deadline(drives.closed, 20000, 'the WebSocket');
        assert.deepEqual([drives.ws.closeCode, drives.ws.closeReason], [1008, reason]);
        await stream.until((s) => s.cut || s.ended);
        await listens.over();
        assert.equal(await status(d, token), 401);
      } };
  }

  for (const how of ['revoked', 'expired'])
    test(`${how}: WebSocket, event stream and MCP session end, and what it drove is free`, async () => {
      const { step, open: goOn } = gate(d);
      // all that is there while the token lives
      const inTime = async (ms) => {
        const { sessionId } = await c.newSession(), end = Date.now() + ms;
        const { id, token } = await mint(d, 'drive', how === 'expired' ? { ms } : {});

        try {
          const all = await everything(token, sessionId);
          const turn = all.drives.startPrompt(sessionId, `echo begun; ${step}; echo ended`);
          turn.answer.catch(() => {});
          await all.drives.waitUpdate((u) => u.update.content?.text === 'begun');
          return { sessionId, id, all, connections: (await listed(d)).find((t) => t.id === id).connections };
        } catch (error) {
          return { error, late: how === 'expired' && Date.now() >= end };
        }
      };
      const { sessionId, id, all, connections, error } = await withLimit(6000 * SLOW, inTime, ({ late }) => late);
      if (error)
        throw error;
      assert.ok(connections >= 3, String(connections));
      if (how === 'revoked')
        assert.equal((await revoke(d, id)).status, 200);
      await all.ended(how === 'revoked' ? 'Token revoked' : 'Token expired');
      assert.ok(!(await listed(d)).some((t) => t.id === id));
      assert.equal((await c.call('_acpd/status', { sessionId })).sessions[0].watchers, 0);
      const { token: second } = await mint(d, 'tools');
      const again = await new McpHttp({ port: d.port, token: second }, `/mcp?session=${sessionId}`).post({ jsonrpc: '2.0', id: 9, method: 'tools/list' }, { headers: { 'Mcp-Session-Id': all.mcp.session, 'MCP-Protocol-Version': '2025-06-18' } });
      assert.equal(again.status, 404, 'its MCP session is gone');
      goOn();
      await until(async () => (await c.call('_acpd/status', { sessionId })).sessions[0].state === 'open', 'the turn goes on to its end');
    });

  test('an upload that is under way ends', async () => {
    const { id, token } = await mint(d, 'drive');
    const digest = `sha256:${'0'.repeat(64)}`;
    const answer = fetch(`http://127.0.0.1:${d.port}/v1/archives/${digest}`, { method: 'PUT', duplex: 'half', headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/zstd' },
      body: new ReadableStream({ start: (control) => { control.enqueue(new Uint8Array(1000)); } }) }).then((r) => r.status, () => 'cut');

    await until(async () => (await listed(d)).some((t) => t.id === id && t.connections === 1), 'it has begun');
    await revoke(d, id);
    assert.equal(await deadline(answer, 10000, 'its end'), 'cut');
  });

  test('who revokes his own token is told, by HTTP, and ends', async () => {
    const own = await mint(d, 'admin');
    const k = await d.client({ token: own.token });

    assert.equal((await d.http(`/v1/tokens/${own.id}`, { method: 'DELETE', token: own.token })).status, 200);
    await deadline(k.closed, 10000, 'the WebSocket');
    assert.equal(await status(d, own.token), 401);
  });

  test('a connection whose token is over does nothing more, even if it is quick', async () => {
    const { sessionId } = await c.newSession();
    const own = await mint(d, 'admin');
    const k = await d.client({ token: own.token });
    await k.load(sessionId);
    const { answer: first } = k.request('_acpd/tokens/revoke', { id: own.id }), { answer: second } = k.request('session/delete', { sessionId });

    await Promise.allSettled([first, second, deadline(k.closed, 10000, 'the end')]);
    assert.equal((await c.call('_acpd/status', { sessionId })).sessions.length, 1);
  });

  test('one token has so many connections, and others still get in', async () => {
    const { sessionId } = await c.newSession();
    const { id, token } = await mint(d, 'observe');
    const max = constant('TOKEN_CONNECTIONS_MAX'), open = [];

    for (let n = 0; n < max; n++)
      open.push(await Stream.open(d, `/v1/sessions/${sessionId}/events?follow=true`, { token }));
    const over = await d.http(`/v1/sessions/${sessionId}/events`, { token });
    assert.deepEqual([over.status, over.json.error.reason], [503, 'TOO_MANY_CONNECTIONS']);
    const ws = await d.ws({ token });
    assert.equal(ws.status, 503);
    ws.destroy();
    assert.equal(await status(d, token), 200, 'a short request is no connection');
    const { token: second } = await mint(d, 'observe');
    await (await d.client({ token: second })).close();
    await revoke(d, id);
    for (const s of open)
      await s.until((x) => x.cut || x.ended);
  });

  test('MCP sessions of one token have a share, and its own give way', async () => {
    const { token } = await mint(d, 'tools');
    const max = constant('TOKEN_MCP_SESSIONS_MAX'), kept = new McpHttp(d, '/mcp');
    await kept.initialize();
    const all = [];

    for (let n = 0; n <= max; n++) {
      all.push(new McpHttp({ port: d.port, token }, '/mcp'));
      await all[n].initialize();
    }
    const list = (k) => k.post({ jsonrpc: '2.0', id: 9, method: 'tools/list' });
    assert.deepEqual([(await list(all[0])).status, (await list(all[max])).status, (await list(kept)).status], [404, 200, 200]);
  });

  test('minted tokens together leave room for the claim\'s', async (t) => {
    const small = await Daemon.startFor(t, { flags: { maxConnections: 8 } });
    const k = await small.client();
    const { token } = await mint(small, 'observe');
    const { sessionId } = await k.newSession();
    const open = [];

    for (let n = 0; n < 6; n++)
      open.push(await Stream.open(small, `/v1/sessions/${sessionId}/events?follow=true`, { token }));
    assert.equal(await status(small, token, `/v1/sessions/${sessionId}/events`), 503);
    await (await small.client()).close();
    await k.close();
  });
});

describe('what outlasts what', () => {
  after(assertNoViolations);

  const both = async (d) => {
    const [observe, brief] = [await mint(d, 'observe'), await mint(d, 'usage', { ms: 3000 })];

    return { observe, brief };
  };

  test('kill -9 and a restart: it holds until it expires', async (t) => {
    const d = await Daemon.startFor(t, {});
    const { observe, brief } = await both(d);

    await d.kill9();
    await until(() => new Date(brief.expiresAt) < new Date(), 'one has expired');
    await d.restart();
    assert.deepEqual([await status(d, observe.token), await status(d, brief.token)], [200, 401]);
    assert.deepEqual((await listed(d)).map((x) => [x.id, x.label, x.expiresAt]), [[observe.id, observe.label, observe.expiresAt]]);
    await revoke(d, observe.id);
    await d.kill9();
    await d.restart();
    assert.equal(await status(d, observe.token), 401);
    await d.stop();
  });

  for (const [name, spoil] of [['a byte is another', (s) => s.replace('observe', 'obserwe')], ['the end is missing', (s) => s.slice(0, -5)], ['a line is missing', (s) => `${s.split('\n')[0]}\n`],
    ['a line is there twice', (s) => s + s.split('\n')[1] + '\n'], ['a scope was widened', (s) => s.replace('"observe"', '"admin"')], ['it is of a later version', (s) => s.replace('"v":1', '"v":2')]])
    test(`a file that is damaged: ${name}`, async (t) => {
      const d = await Daemon.startFor(t, {});
      const { token } = await mint(d, 'observe');

      await d.kill9();
      fs.writeFileSync(fileOf(d), spoil(fs.readFileSync(fileOf(d), 'utf8')));
      await d.restart();
      assert.equal(await status(d, token), 401);
      const { json } = await d.http('/ready', { token: d.token });
      assert.ok(json.problems.some((p) => p.what === 'tokens'), JSON.stringify(json.problems));
      assert.ok(fs.readdirSync(d.stateDir).some((f) => f.startsWith('tokens.damaged-')));
      assert.equal(await status(d, (await mint(d, 'usage')).token), 200);
      await d.stop();
    });

  test('another claim drops them: by SIGHUP at once, and at the next start', async (t) => {
    const d = await Daemon.startFor(t, {});
    const { token } = await mint(d, 'observe');
    const k = await d.client({ token });
    const renewed = `token-${crypto.randomBytes(12).toString('hex')}`;

    process.kill(d.pid, 'SIGHUP'); // the same token: nothing happens
    await d.waitLog((l) => l.msg === 'token file read');
    assert.equal(await status(d, token), 200);
    d.token = renewed;
    d.writeToken(renewed);
    process.kill(d.pid, 'SIGHUP');
    await deadline(k.closed, 10000, 'the WebSocket');
    assert.equal(await status(d, token), 401);
    assert.ok(!fs.existsSync(fileOf(d)));
    const second = await mint(d, 'observe');
    await d.kill9();
    d.token = `token-${crypto.randomBytes(12).toString('hex')}`;
    d.writeToken(d.token);
    await d.restart();
    assert.equal(await status(d, second.token), 401);
    assert.ok(!fs.existsSync(fileOf(d)));
    await d.stop();
  });

  test('a copy of the machine has none of them; the machine itself keeps them', async (t) => {
    const d = await sandboxed(t, 'i-parent');
    const { token } = await mint(d, 'observe');
    const before = fs.readFileSync(fileOf(d));

    d.become('i-child');
    await resumed(d);
    assert.ok(!fs.existsSync(fileOf(d)));
    d.token = await claimed(d);
    assert.equal(await status(d, token), 401);
    fs.writeFileSync(fileOf(d), before, { mode: 0o600 }); // from the machine before
    assert.equal(await status(d, token), 401);
    await d.stop();
  });
});
