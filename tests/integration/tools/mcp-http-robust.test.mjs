// SPDX-License-Identifier: Apache-2.0
// build: both
// MCP over HTTP when things go wrong: clients that leave, that read slowly or not at all, that cancel; servers that die; many at once.

import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { McpHttp, modernMeta, startHosting } from '../../lib/mcp-http.mjs';
import { MODERN } from '../../lib/mcp.mjs';
import { SLOW, sleep } from '../../lib/rawws.mjs';
import { SANITIZED, endInOrder } from '../../lib/daemon.mjs';
import { until, withLimit } from '../../lib/wait.mjs';

const SERVER = { command: process.execPath, args: [path.join(import.meta.dirname, '../../mcp/slow-server.mjs')] };
const WHERE = '/mcp/slow';
const MIB = 1 << 20;
let d;

before(async () => {
  d = await startHosting({ slow: SERVER, mortal: SERVER });
});
after(() => endInOrder(d));

const client = (opts, where = WHERE) => new McpHttp(d, where, opts);
const legacy = async (opts, where) => {
  const c = client(opts, where);

  await c.initialize();
  return c;
};
const call = (c, name, args = {}, opts) => c.call('tools/call', { name, arguments: args }, opts);
const modernCall = (c, name, args = {}, opts) => c.modern('tools/call', { name, arguments: args }, opts);
const textOf = (res) => res.answer.result.content[0].text;
const state = async (where) => (await (await modernCall(client({}, where), 'state')).over()).answer.result.structuredContent;

// A request whose answer nobody waits for: the connection, to be closed.
async function raw(body, headers = {}) {
  const text = JSON.stringify(body);
  const s = net.connect(d.port, '127.0.0.1');
  const all = { Host: `127.0.0.1:${d.port}`, Authorization: `Bearer ${d.token}`, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream',
    'Content-Length': Buffer.byteLength(text), ...headers };

  s.on('error', () => {});
  s.write(`POST ${WHERE} HTTP/1.1\r\n${Object.entries(all).map(([k, v]) => `${k}: ${v}\r\n`).join('')}\r\n${text}`);
  return s;
}

const modernHeaders = (method, name) => ({ 'MCP-Protocol-Version': MODERN, 'Mcp-Method': method, 'Mcp-Name': name });
const modernBody = (name, args, meta = {}) =>
  ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args, _meta: { ...modernMeta(), ...meta } } });

describe('a client that leaves', () => {
  test('modern, before a byte of the answer: cancelled', async () => {
    const before = await state();
    const s = await raw(modernBody('hang', {}), modernHeaders('tools/call', 'hang'));

    await until(async () => (await state()).open.length === 1, 'the call is open');
    s.destroy();
    await until(async () => (await state()).cancelled === before.cancelled + 1, 'the call is cancelled', 3000);
    assert.deepEqual((await state()).open, []);
  });

  test('modern, in the middle of a stream: cancelled', async () => {
    const before = await state();
    const c = client();
    const res = await modernCall(c, 'flood', { count: 1e6, bytes: 10 }, { meta: { ...modernMeta(), progressToken: 1 } });

    await res.until((r) => r.events.length > 10);
    res.close();
    await until(async () => (await state()).cancelled === before.cancelled + 1, 'the call is cancelled', 3000);
  });

  test('modern, with a half of the body: nothing was called', async () => {
    const before = await state();
    const s = await raw(modernBody('hang', {}), { ...modernHeaders('tools/call', 'hang'), 'Content-Length': 100000 });

    await sleep(200);
    s.destroy();
    await sleep(200);
    assert.deepEqual(await state(), before);
  });

  test('legacy: the call goes on, its id stays taken, and the session works', async () => {
    const leave = async (ms) => {
      const before = await state(), c = await legacy();
      const gone = await raw({ jsonrpc: '2.0', id: 77, method: 'tools/call', params: { name: 'wait', arguments: { ms } } },
        { 'Mcp-Session-Id': c.session, 'MCP-Protocol-Version': c.revision });

      await until(async () => {
        const { open, answered } = await state();

        return open.length === 1 || answered > before.answered;
      }, 'the call is open');
      gone.destroy();
      await sleep(200);
      const again = await (await call(c, 'wait', { ms: 1 }, { id: 77 })).over();
      return { before, c, again, open: (await state()).open.length };
    };
    const { before, c, again } = await withLimit(3000, leave, ({ open }) => open === 0);

    assert.deepEqual([again.status, again.json.error?.code], [400, -32600]);
    await until(async () => (await state()).open.length === 0, 'the call ended');
    const now = await state();
    assert.deepEqual([now.cancelled, now.answered], [before.cancelled, before.answered + 1]);
    assert.equal(textOf(await (await call(c, 'wait', { ms: 1 }, { id: 77 })).over()), 'waited');
  });

  test('legacy, from its initialize: no session is left', async () => {
    const stays = await legacy();
    const streams = await stays.listen();

    for (let i = 0; i < 300; i++) {
      const s = await raw({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } } });

      await new Promise((resolve) => { s.once('connect', () => setTimeout(resolve, 1)); });
      s.destroy();
    }
    assert.equal(textOf(await (await call(stays, 'wait', { ms: 1 })).over()), 'waited');
    streams.close();
  });
});

describe('cancellation by a legacy client', () => {
  const cancel = (c, requestId) => c.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason: 'test' } });

  test('ends the call, and its stream without an answer', async () => {
    const before = await state();
    const c = await legacy();
    const silent = call(c, 'hang', {}, { id: 'a' });
    const streaming = await c.call('tools/call', { name: 'flood', arguments: { count: 1e6, bytes: 10 }, _meta: { progressToken: 't' } }, { id: 'b' });

    await streaming.until((r) => r.events.length > 5);
    await until(async () => (await state()).open.length === 2, 'both are open');
    for (const id of ['a', 'b'])
      assert.equal((await cancel(c, id)).status, 202);
    for (const res of [await (await silent).over(), await streaming.over()])
      assert.deepEqual([res.status, res.ended, res.answer], [200, true, undefined]);
    await until(async () => (await state()).cancelled === before.cancelled + 2, 'the server knows');
  });

  test('of what is not open does nothing', async () => {
    const c = await legacy();

    assert.equal((await cancel(c, 'none')).status, 202);
    assert.equal((await cancel(c, undefined)).status, 202);
    assert.equal(textOf(await (await call(c, 'wait', { ms: 1 })).over()), 'waited');
  });
});

describe('a reader that does not read', () => {
  // A stalled client: the socket is open and nothing is taken from it.
  async function stalled(args) {
    const s = await raw(modernBody('flood', args, { progressToken: 1 }), modernHeaders('tools/call', 'flood'));

    s.pause();
    return s;
  }

  test('loses its stream when too much waits, and the memory is bounded', async () => {
    const before = await state();
    const low = d.rss();
    const s = await stalled({ count: 20000, bytes: 8000 });

    await until(async () => (await state()).cancelled === before.cancelled + 1, 'a flood of 160 MB was cancelled', 30000);
    if (!SANITIZED)
      assert.ok(d.rss() - low < 24 * MIB, `grew by ${Math.round((d.rss() - low) / MIB)} MiB`);
    let text = '';
    s.on('data', (data) => { text += data; });
    s.resume();
    await until(() => s.closed, 'the connection ends');
    assert.ok(!text.endsWith('0\r\n\r\n'), 'the end of the body says that something is missing');
    assert.ok(!text.includes('"flooded"'));
  });

  test('does not hold up anybody else', async () => {
    const s = await stalled({ count: 20000, bytes: 8000 }); // it never reads: who waited for it would have no answer
    const c = client();

    for (let i = 0; i < 20; i++)
      assert.equal(textOf(await (await modernCall(c, 'wait', { ms: 1 }, {})).over()), 'waited');
    s.destroy();
  });

  // Without an end of its own to the wait, the next thing to be written would be the comment after 15 s of silence.
  test('gets what comes behind a large message when it takes that, and not with the next comment', async () => {
    const res = await modernCall(client(), 'letter', { bytes: 12 << 20, ms: 200 }, { meta: { ...modernMeta(), progressToken: 1 } });

    res.res.pause();
    await sleep(600 * SLOW);
    res.res.resume();
    assert.equal(textOf(await res.over()), 'sent');
    assert.equal(res.comments, 0);
  });

  test('gets all of a large result, however slowly it reads', async () => {
    const bytes = 12 << 20;
    const res = await modernCall(client(), 'big', { bytes });

    res.res.pause();
    await sleep(500);
    res.res.resume();
    assert.equal(textOf(await res.over()).length, bytes);
  });
});

describe('a server that dies', () => {
  const where = '/mcp/mortal';

  test('its open calls end with an error, as JSON and in streams, and it comes again', async () => {
    const [c, m] = [await legacy({}, where), client({}, where)];
    const streaming = await m.modern('tools/call', { name: 'flood', arguments: { count: 1e6, bytes: 10 } },
      { meta: { ...modernMeta(), progressToken: 1 } });
    const open = [call(c, 'hang'), modernCall(m, 'hang')];

    await streaming.until((r) => r.events.length > 5);
    await until(async () => (await state(where)).open.length === 3, 'all are open');
    await (await modernCall(m, 'die')).over();
    for (const res of [await streaming.over(), await (await open[0]).over(), await (await open[1]).over()])
      assert.deepEqual([res.status, res.answer.error.code, res.answer.error.data.reason], [200, -32603, 'SERVER_GONE']);
    await until(async () => (await (await modernCall(m, 'wait', { ms: 1 })).over()).answer.result, 'it is started again');
    assert.equal(textOf(await (await call(c, 'wait', { ms: 1 })).over()), 'waited', 'the session outlives it');
  });
});

describe('many', () => {
  test('calls at once on few kept connections, out of order', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
    const [c, m] = [await legacy({ agent }), client({ agent })];
    const bad = [];

    await Promise.all(Array.from({ length: 64 }, async (_, lane) => {
      for (let i = 0; i < 12; i++) {
        const text = `${lane}.${i}`.repeat(1 + lane);
        const ask = (lane + i) % 2 ? call : modernCall;
        const res = await (await ask((lane + i) % 2 ? c : m, i % 3 ? 'size' : 'wait', i % 3 ? { text } : { ms: lane % 7 }, {})).over();

        if (res.status !== 200 || textOf(res) !== (i % 3 ? String(text.length) : 'waited'))
          bad.push([res.status, res.text.slice(0, 200)]);
      }
    }));
    agent.destroy();
    assert.deepEqual(bad, []);
  });

  test('clients that come and go leave nothing behind', { skip: SANITIZED && 'the sanitizers keep what was freed' }, async () => {
    const round = async () => {
      await Promise.all(Array.from({ length: 100 }, async () => {
        const c = await legacy();
        const s = await c.listen();
        const hanging = call(c, 'hang');

        await (await call(c, 'wait', { ms: 1 })).over();
        await c.post(undefined, { method: 'DELETE' });
        await (await hanging).over();
        await s.over();
      }));
    };

    await round();
    const [fds, low] = [d.fdCount(), d.rss()];
    for (let i = 0; i < 4; i++)
      await round();
    await until(() => d.fdCount() <= fds, 'descriptors are given back');
    assert.ok(d.rss() - low < 4 * MIB, `grew by ${d.rss() - low} bytes`);
    await until(async () => (await state()).open.length === 0, 'nothing is open');
  });

  test('the daemon stops with streams and calls open', async () => {
    const own = await startHosting({ slow: SERVER });

    try {
      const c = new McpHttp(own, WHERE);
      await c.initialize();
      const stream = await c.listen();
      const hanging = call(c, 'hang');

      await sleep(200);
      await own.stop();
      await stream.over();
      const res = await (await hanging.catch(() => undefined))?.over();
      assert.ok(!res || res.cut || res.answer.error, 'no answer that is none');
    } finally {
      await own.discard();
    }
  });
});
