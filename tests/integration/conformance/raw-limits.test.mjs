// SPDX-License-Identifier: Apache-2.0
// slow
// Statements 18-21: sizes, slow readers, keepalive, shutdown. Each has a daemon of its own.

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { Daemon, withDaemon } from '../../lib/daemon.mjs';
import { assertNoViolations } from '../../lib/acp.mjs';
import { instrumented } from '../../lib/memory.mjs';
import { OP, SLOW, deadline, frame, patience, sleep } from '../../lib/rawws.mjs';
import { withLimit } from '../../lib/wait.mjs';
import { closeCode, isError } from './rig.mjs';

const MAX = 32 * 1024 * 1024;

after(assertNoViolations);

// A request of exactly `size` bytes.
function padded(id, size) {
  const head = `{"jsonrpc":"2.0","id":${id},"method":"_no/such","params":{"pad":"`;

  return `${head}${'x'.repeat(size - head.length - 3)}"}}`;
}

test('18 a message of 32 MiB is taken, one byte more ends the connection with 1009', async () => {
  await withDaemon({}, async (d) => {
    const [c, other] = [await d.client(), await d.client()];
    const error = await c.fails('_no/such', {}, { id: 500, raw: padded(500, MAX) });

    isError(error, -32601, 'METHOD_NOT_FOUND');
    assert.equal(padded(501, MAX + 1).length, MAX + 1);
    c.ws.text(padded(501, MAX + 1));
    assert.equal(await closeCode(c), 1009);
    assert.ok(Array.isArray((await other.call('session/list')).sessions), 'other connections live');
  });
});

test('18 the size is refused when it is announced, and when it adds up over fragments', async () => {
  await withDaemon({}, async (d) => {
    const announced = await d.client();
    const head = frame({ opcode: OP.text, payload: Buffer.alloc(70000, 0x78), length: 64 });

    head.writeBigUInt64BE(BigInt(MAX + 1), 2);
    announced.ws.bytes(head);
    assert.equal(await closeCode(announced), 1009);

    const adding = await d.client();
    const mib = 'x'.repeat(1024 * 1024);
    adding.ws.sendFrame({ opcode: OP.text, fin: false, payload: '{"pad":"' });
    for (let i = 0; i < 33 && adding.ws.isOpen; i++)
      adding.ws.sendFrame({ opcode: OP.cont, fin: false, payload: mib });
    assert.equal(await closeCode(adding), 1009);
  });
});

test('18 ids up to 1024 characters are echoed, longer ones close with 1008', async () => {
  await withDaemon({}, async (d) => {
    const c = await d.client();
    const id = 'i'.repeat(1024);

    assert.ok(Array.isArray((await c.call('session/list', {}, { id })).sessions));
    c.ws.text(JSON.stringify({ jsonrpc: '2.0', id: `${id}i`, method: 'session/list', params: {} }));
    assert.equal(await closeCode(c), 1008);
  });
});

test('18 a session id of more than 1024 characters is refused', async () => {
  await withDaemon({}, async (d) => {
    const c = await d.client();
    const sessionId = 's'.repeat(1025);

    for (const method of ['session/load', 'session/resume', 'session/close', 'session/delete', 'session/set_mode']) {
      const error = await c.fails(method, { sessionId, cwd: d.workDir, mcpServers: [], modeId: 'ask' });

      assert.equal(error.code, -32602, method);
    }
    isError(await c.fails('session/prompt', c.promptParams('s'.repeat(1024), 'x')), -32002, 'SESSION_NOT_FOUND');
  });
});

test('19 a reader that stalls is closed with 1008, at a bounded cost, and others are not held up', async () => {
  await withDaemon({ flags: { backlogMax: 262144 } }, async (d) => {
    const slow = await d.client({ record: false, validate: 'none' });
    const { sessionId } = await slow.newSession();
    const other = await d.client();
    const before = d.rss();
    const seen = { rss: 0, answers: 0 };

    slow.ws.pause();
    slow.startPrompt(sessionId, 'flood 60000 500');
    const closing = d.waitLog((l) => l.msg === 'closing a connection' && /slow/i.test(l.reason), 30000);
    let done = false;
    closing.finally(() => { done = true; });
    while (!done) {
      await other.call('session/list');
      seen.answers++;
      seen.rss = Math.max(seen.rss, d.rss());
      await sleep(20);
    }
    await closing;
    assert.ok(instrumented(d) || seen.rss - before < 24 * 1024 * 1024, `grew by ${seen.rss - before} bytes`);
    assert.ok(seen.answers >= 3, `another connection has had ${seen.answers} answers while the reader was waited for`);
    slow.ws.resume();
    assert.equal(await closeCode(slow, 30000), 1008);
    const [{ state }] = (await other.call('_acpd/status', { sessionId })).sessions;
    assert.match(state, /^(open|busy)$/, 'the session outlived its reader');
  });
});

test('19 a long history is no lag: a reader that keeps reading gets all of it', async () => {
  await withDaemon({ flags: { backlogMax: 4194304 } }, async (d) => {
    const writer = await d.client({ record: false, validate: 'none' });
    const { sessionId } = await writer.newSession();
    const total = 80000; // 40 MB, more than all buffers on the way

    for (let i = 0; i < 80; i++)
      await writer.prompt(sessionId, `flood ${total / 80} 500`);
    const c = await d.client({ record: false, validate: 'none' });
    let got = 0;
    c.on('update', ({ update }) => {
      if (update.sessionUpdate !== 'agent_message_chunk' || ++got % (total / 8))
        return;
      c.ws.pause();
      setTimeout(() => c.ws.resume(), 300);
    });
    await c.load(sessionId);
    assert.equal(got, total);
  });
});

test('20 an idle connection gets pings, and lives while it answers them', async () => {
  await withDaemon({ flags: { pingInterval: 1, pingTimeout: 10 } }, async (d) => {
    const c = await d.client({ record: true });

    await c.ws.waitFrame((f) => f.opcode === OP.ping);
    await c.ws.waitFrame((f) => f.opcode === OP.ping, { from: c.ws.frames.length });
    await sleep(1500 * SLOW);
    assert.ok(c.ws.isOpen);
    assert.ok(Array.isArray((await c.call('session/list')).sessions));
  });
});

test('20 a peer that does not answer pings is dropped, its session and turn are not', async () => {
  // A busy machine may be late with the pongs of those that do answer: then they have more time.
  const attempt = async (pingTimeout) => {
    let late;

    await withDaemon({ flags: { pingInterval: 1, pingTimeout } }, async (d) => {
      late = await dropped(d).then(() => undefined, (error) => error);
    });
    return late;
  };
  const dropped = async (d) => {
    const dead = await d.client();
    const { sessionId } = await dead.newSession();

    dead.startPrompt(sessionId, 'echo begun\nsleep 4000\necho ended');
    await dead.waitUpdate('agent_message_chunk');
    dead.ws.autoPong = false;
    dead.ws.pause();
    const c = await d.client();
    const gone = async () => (await c.call('_acpd/status', { sessionId })).sessions[0].watchers === 0;
    const limit = performance.now() + patience(10000);
    while (!await gone()) {
      assert.ok(performance.now() < limit, 'the dead peer is still attached');
      await sleep(100);
    }
    await c.load(sessionId);
    const end = await c.waitFor((m) => m.method === '_acpd/turn_end', { timeout: 15000 });
    assert.equal(end.params.stopReason, 'end_turn');
    assert.deepEqual(c.chunks(sessionId), ['begun', 'ended']);
    dead.ws.destroy();
  };

  assert.equal(await withLimit(3, attempt, (error) => /^closed \(/.test(error?.message), 3), undefined);
});

test('21 shutdown answers open requests, then closes with 1001', async () => {
  const d = await Daemon.start();
  const busy = await d.client();
  const { sessionId } = await busy.newSession();
  const idle = await d.client();
  const turn = busy.startPrompt(sessionId, 'echo begun\nsleep 60000');
  const queued = busy.startPrompt(sessionId, 'echo never');

  await busy.waitUpdate('agent_message_chunk');
  const stopped = d.stop();
  const [one, two] = await deadline(Promise.all([turn.answer, queued.answer]), 10000, 'answers at shutdown');
  for (const { error } of [one, two]) {
    assert.equal(error.code, -32603);
    assert.match(error.data.reason, /^(TURN_FAILED|SHUTTING_DOWN)$/);
    if (error.data.reason === 'TURN_FAILED')
      assert.equal(error.data.turn.class, 'shutdown');
  }
  for (const c of [busy, idle])
    assert.equal(await closeCode(c), 1001);
  assert.ok(!busy.chunks(sessionId).includes('never'));
  await stopped;
});

test('21 no request is taken while shutting down, and no new connection', async () => {
  const d = await Daemon.start();
  const c = await d.client();
  const { sessionId } = await c.newSession();

  await c.prompt(sessionId, 'ignoreterm\necho deaf');
  c.ws.autoClose = false;
  const stopped = d.stop();
  assert.equal(await closeCode(c), 1001);
  const from = c.messages.length;
  c.request('session/list', {});
  await stopped;
  assert.equal(c.messages.length, from);
});
