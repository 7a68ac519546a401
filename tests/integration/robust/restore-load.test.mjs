// SPDX-License-Identifier: Apache-2.0
// build: both
// Restores in a row while sessions work, tools are called and records are read: every answer, event, record and tool call once.

import assert from 'node:assert/strict';
import { test, after } from 'node:test';
import { SANITIZED } from '../../lib/daemon.mjs';
import { Stream } from '../../lib/events.mjs';
import { RawOrchestrator, givenServers, listing } from '../../lib/mcp-orchestrators.mjs';
import { openClient } from '../../lib/mcp-relay.mjs';
import { SLOW, assertNoViolations, deadline, sleep } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';
import { turnsOf, verify } from '../ledger.mjs';
import { resumed, sandboxed } from './away.mjs';
import { Tape } from './rig.mjs';

after(assertNoViolations);

const RESTORES = 50;
const SESSIONS = 3;
const FLOOD = 60; // texts of a half of a turn
const STEP_MS = 3600 * 1000;

// What somebody does again whenever the restore has cut it off, until it is done.
async function persist(what) {
  for (;;) {
    try {
      return await what();
    } catch (e) {
      if (e.name === 'AssertionError' || e.name === 'RpcError' || e.data || /timeout/.test(e.message))
        throw e;
      await sleep(2);
    }
  }
}

// A session and the client that drives it, over any number of connections: turn after turn, each prompt until it has its answer.
class Driver {
  connections = 0;
  answers = []; // of each turn, by its number
  restarted = 0; // prompts that were sent more than once
  tools = []; // [argument, given a second time] of each tools/call that was made here
  own = []; // numbers of the daemon's own events, which a tape leaves out
  ready = false;

  static async start(d, i) {
    const s = Object.assign(new Driver(), { d, name: `s${i}` });

    s.o = await s.#connect();
    s.#hear(s.o.client);
    s.tape = await Tape.open(s.o.client, { flood: FLOOD, mcpServers: [s.o.declaration()] });
    s.id = s.tape.sessionId;
    s.ready = true;
    return s;
  }

  #connect() {
    return RawOrchestrator.connect(this.d, {
      'tools/list': listing({ idempotentHint: true, destructiveHint: false }),
      'tools/call': (call) => {
        const { n } = call.msg.params.params.arguments;

        this.tools.push([n, call.msg.params._meta?.acpd?.reissued === true]);
        call.result(`{"resultType":"complete","content":[{"type":"text","text":"did ${n}"}]}`);
      },
    });
  }

  #hear(client) {
    client.on('any', (m) => m.method === '_acpd/event' && this.own.push(m.params._meta.acpd.seq));
  }

  // Works until it is told to stop, and then ends its turn.
  work() {
    this.done = Promise.all([this.#keepUp(), this.#prompts()]);
    this.done.catch(() => {});
  }

  async #keepUp() {
    while (!this.ended) {
      await Promise.race([this.o.client.closed, sleep(20)]);
      if (this.o.ws.isOpen)
        continue;
      this.ready = false;
      await persist(() => this.#again());
      this.connections++;
      this.ready = true;
    }
  }

  async #again() {
    const o = await this.#connect();
    const { incarnation } = o.client.initializeResult.agentCapabilities._meta.acpd;

    this.tape.attach(o.client);
    this.#hear(o.client);
    this.o = o;
    await o.client.load(this.id, { mcpServers: [o.declaration()], meta: { fromSeq: Math.max(this.tape.last, ...this.own) + 1, incarnation } });
  }

  async #prompts() {
    for (let n = 1; !this.stopping; n++) {
      const text = `echo begin ${this.name} ${n}; flood ${FLOOD} 200; sleep 25; flood ${FLOOD} 200; echo end ${this.name} ${n}; tokens ${JSON.stringify({ inputTokens: n, outputTokens: 1, totalTokens: n + 1 })}`;
      let tries = 0;

      const result = await persist(async () => {
        await until(() => this.ready, `${this.name} is connected`);
        tries++;
        return this.o.client.prompt(this.id, text, { meta: { acpd: { key: `${this.name}-${n}` } } });
      });
      this.answers.push(result);
      this.restarted += tries > 1;
    }
    this.ended = true;
  }
}

// A program of the session's that calls its tool through the relay, again and again. It has no part in restores.
class Caller {
  calls = 0;

  static async start(t, s) {
    const c = Object.assign(new Caller(), { mcp: await openClient(t, (await givenServers(s.o.client, s.id))[0]) });

    await c.mcp.result('tools/list');
    return c;
  }

  work() {
    this.done = this.#run();
    this.done.catch(() => {});
  }

  async #run() {
    while (!this.stopping) {
      const n = this.calls + 1;
      const { msg } = await deadline(this.mcp.begin('tools/call', { name: 'raw', arguments: { n } }).answer, 15000, `call ${n}`);

      assert.deepEqual(msg.result?.content, [{ type: 'text', text: `did ${n}` }], JSON.stringify(msg));
      this.calls = n;
      await sleep(3);
    }
  }
}

// Reads all the usage records, each once, from where it was.
class UsageReader {
  records = [];

  work(d) {
    this.done = this.#run(d);
    this.done.catch(() => {});
  }

  async #run(d) {
    for (let last = false; !last;) {
      last = this.stopping === true; // once more when all has ended
      const { json } = await persist(() => d.http(`/v1/usage?since=${this.records.at(-1)?.n ?? 0}&format=json`, { token: d.token }));

      assert.ok(json.records, JSON.stringify(json));
      this.records.push(...json.records);
      await sleep(15);
    }
  }
}

// Follows a session's events over HTTP: a stream that is cut is taken up again with the last number.
class Follower {
  events = [];
  streams = 0;

  work(d, id, format) {
    this.done = this.#run(d, id, format);
    this.done.catch(() => {});
  }

  async #run(d, id, format) {
    while (!this.stopping) {
      const from = this.events.at(-1)?.seq ?? 0;
      const s = await persist(() => Stream.open(d, `/v1/sessions/${id}/events?since=${from}&follow=true&format=${format}`, { keep: false }));

      assert.equal(s.status, 200, `since ${from}`);
      this.streams++;
      await s.until((one) => one.cut || one.ended || this.stopping?.(from + one.events.length), 60000, 'the end of a stream');
      s.close();
      this.events.push(...s.events);
    }
  }
}

const range = (n) => Array.from({ length: n }, (_, i) => i + 1);

test(`${RESTORES} restores in a row under load lose and double nothing`, { timeout: 240000 * SLOW }, async (t) => {
  const d = await sandboxed(t, 'i-one', { clock: SANITIZED ? undefined : 'told' }); // nothing is loaded before a sanitizer
  const drivers = [];

  for (let i = 0; i < SESSIONS; i++)
    drivers.push(await Driver.start(d, i));
  const caller = await Caller.start(t, drivers[0]);
  const usage = new UsageReader(), followers = [new Follower(), new Follower()];
  const children = d.harnesses().map((p) => p.pid), fds = d.fdCount(), sockets = d.socketCount();

  for (const one of [...drivers, caller])
    one.work();
  usage.work(d);
  followers.forEach((f, i) => f.work(d, drivers[i].id, ['ndjson', 'sse'][i]));
  const parts = [...drivers, caller, usage, ...followers];
  const broken = Promise.race(parts.map((p) => p.done.then(() => new Promise(() => {}))));

  await Promise.race([broken, (async () => {
    for (let i = 0; i < RESTORES; i++) {
      const calls = caller.calls;

      // a call that was given to a second driver is not given to a third: that is another test's
      await until(() => drivers.every((s) => s.ready) && caller.calls > calls, 'everybody is back');
      await sleep((i * 7) % 23);
      const { ws } = drivers[0].o;
      if (i % 2 && d.step)
        d.step(STEP_MS * (i + 1)); // the clock, and then the file
      d.become('i-one');
      await resumed(d, i + 1);
      await deadline(Promise.all([ws.closed, until(() => drivers.every((s) => s.connections >= i), 'all come back')]), 5000, `restore ${i}`);
    }
    await until(() => drivers.every((s) => s.ready), 'everybody is back');
    for (const s of [...drivers, caller])
      s.stopping = true;
    await Promise.all([...drivers, caller].map((s) => s.done));
    usage.stopping = true;
    for (const [i, f] of followers.entries())
      f.stopping = (seq) => seq >= drivers[i].tape.last;
    await Promise.all([usage, ...followers].map((s) => s.done));
  })()]);

  for (const [i, s] of drivers.entries()) {
    const turns = s.answers.length, first = i ? 0 : 1; // it had a turn in which its caller learned of the tool
    const { json, body } = await d.http(`/v1/sessions/${s.id}/events?since=0`, { token: d.token });
    const all = (json ? [json] : body.trim().split('\n').map((l) => JSON.parse(l)));

    // answers
    assert.ok(turns >= 10, `${turns} turns of ${s.name}`);
    assert.ok(s.restarted >= 5, `${s.restarted} prompts of ${s.name} were cut off`);
    assert.ok(s.answers.every((r) => r.stopReason === 'end_turn'));
    assert.deepEqual(s.tape.ends.map((e) => e.turn), range(turns + first), 'each turn ends once');
    // events
    s.tape.assertWhole(s.name);
    assert.deepEqual(all.map((e) => e.seq), range(s.tape.last));
    const prompts = new Set(all.filter((e) => e.kind === 'prompt').map((e) => e.seq));
    assert.equal(prompts.size, turns + first);
    assert.equal(new Set(s.own).size, s.own.length);
    assert.deepEqual(all.filter((e) => s.tape.missing.includes(e.seq) && !s.own.includes(e.seq) && e.kind !== 'prompt'), [], 'nothing but its own prompts is not told to a client');
    assert.equal(s.tape.numbered, 2 * FLOOD * turns);
    const said = [...s.tape.texts.values()];
    for (const n of range(turns))
      assert.deepEqual(said.filter((x) => x === `begin ${s.name} ${n}` || x === `end ${s.name} ${n}`), [`begin ${s.name} ${n}`, `end ${s.name} ${n}`]);
    // records
    assert.deepEqual(turnsOf(d, s.id).map((r) => [r.turn, r.usage?.inputTokens]).slice(first), range(turns).map((n) => [n + first, n]));
  }
  for (const [i, f] of followers.entries()) {
    assert.deepEqual(f.events.map((e) => e.seq), range(drivers[i].tape.last), 'each event once, over all streams');
    assert.ok(f.streams > RESTORES / 2, `${f.streams} streams`);
  }
  verify(d);
  assert.deepEqual(usage.records.map((r) => r.n), range(usage.records.length));
  assert.equal(usage.records.filter((r) => r.type === 'turn').length, drivers.reduce((n, s) => n + s.answers.length, 1));
  // tools
  const { tools } = drivers[0];
  assert.deepEqual([...new Set(tools.map(([n]) => n))], range(caller.calls));
  assert.deepEqual(tools.filter(([n], i) => tools.findIndex(([m]) => m === n) !== i).filter(([, again]) => !again), [], 'what is made twice says so');
  // and what is left is what there was
  assert.deepEqual(d.harnesses().map((p) => p.pid), children);
  await until(() => d.descendants().length === children.length, 'no helper stays');
  await until(() => d.fdCount() <= fds && d.socketCount() <= sockets, 'no file stays open');
  if (d.step)
    assert.equal(d.logs.filter((l) => l.mod === 'restore' && l.msg === 'the clock was set').length, RESTORES / 2);
  t.diagnostic(`${drivers.map((s) => s.answers.length)} turns, ${drivers.map((s) => s.restarted)} cut off, ${usage.records.length} records, ` +
    `${caller.calls} tool calls, ${tools.length - caller.calls} made again, ${followers.map((f) => f.streams)} streams`);
  await Promise.all(drivers.map((s) => s.o.close()));
  caller.mcp.kill();
  await d.stop();
});
