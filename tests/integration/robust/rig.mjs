// SPDX-License-Identifier: Apache-2.0
// What the robustness tests share: a checker over what a session said, a neighbour that must not be
// disturbed, and looks at the process table.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { RpcError, SLOW, deadline, patience, sleep } from '../../lib/rawws.mjs';
import * as procs from '../../lib/procs.mjs';

// All that a session said to us, over any number of connections; faults are what broke the promise
// "once, in order". Numbered texts are those of the stub's floods, which count from 1 to `flood`.
export class Tape {
  last = 0; // newest seq
  events = 0;
  holes = []; // {from, to} of numbers that were skipped
  gaps = []; // {from, to} that the daemon admitted
  ends = []; // params of the turn_end events
  texts = new Map(); // seq -> text of what is no flood
  kinds = new Map(); // seq -> kind, where it is no agent_message_chunk
  numbered = 0; // flood texts seen
  faults = [];

  #number = 0;
  #waiting = [];

  constructor(sessionId, { flood = Infinity } = {}) {
    Object.assign(this, { sessionId, flood });
  }

  // Opens a session and hears it from its first event on.
  static async open(client, { flood, ...session } = {}) {
    const early = [];
    const listen = (m) => early.push(m);

    client.on('any', listen);
    const { sessionId } = await client.newSession(session);
    client.off('any', listen);
    const tape = new Tape(sessionId, { flood });
    for (const m of early)
      tape.take(m);
    tape.attach(client);
    return tape;
  }

  // Listens to an AcpClient. A cut connection says nothing more, so nothing has to be taken back.
  attach(client) {
    client.on('any', (m) => this.take(m));
    return client;
  }

  take(m) {
    if (m.params?.sessionId !== this.sessionId)
      return;
    if (m.method === 'session/update')
      this.#event(m.params._meta.acpd.seq, m.params.update);
    else if (m.method === '_acpd/turn_end')
      this.#end(m.params);
    else if (m.method === '_acpd/gap')
      this.#gap(m.params);
  }

  #seq(seq) {
    if (seq <= this.last)
      this.fault(`seq ${seq} after ${this.last}`);
    else if (seq !== this.last + 1)
      this.holes.push({ from: this.last + 1, to: seq - 1 });
    this.last = Math.max(this.last, seq);
    this.events++;
  }

  #event(seq, update) {
    const text = update.content?.text;

    this.#seq(seq);
    if (update.sessionUpdate !== 'agent_message_chunk')
      this.kinds.set(seq, update.sessionUpdate);
    if (update.sessionUpdate === 'agent_message_chunk' && text?.length > 10 && text[10] === ' ' && text[0] === '0')
      this.#flooded(seq, Number(text.slice(0, 10)));
    else
      this.texts.set(seq, text);
    this.#wake();
  }

  #flooded(seq, number) {
    const want = this.#number === this.flood ? 1 : this.#number + 1;

    if (number !== want && this.#number !== undefined)
      this.fault(`text ${number} after ${this.#number} at seq ${seq}`);
    this.#number = number;
    this.numbered++;
  }

  #end(params) {
    this.#seq(params.seq);
    this.ends.push(params);
    this.#wake();
  }

  // An admitted loss: the numbers go on behind it.
  #gap({ from, to }) {
    this.gaps.push({ from, to });
    if (from > this.last + 1)
      this.fault(`gap ${from}-${to} announced after ${this.last}`);
    this.last = Math.max(this.last, to);
    this.#number = undefined; // whatever comes next
    this.#wake();
  }

  fault(text) {
    if (this.faults.length < 20)
      this.faults.push(text);
  }

  #wake() {
    for (const w of this.#waiting.splice(0))
      w();
  }

  // Until pred(tape) holds; gives up after ms.
  async until(pred, ms = 30000, what = 'the session') {
    const end = Date.now() + patience(ms);

    while (!pred(this)) {
      if (Date.now() > end)
        throw new Error(`timeout: ${what}; at seq ${this.last}, ${this.ends.length} turns ended, ${this.faults}`);
      await Promise.race([new Promise((resolve) => this.#waiting.push(resolve)), sleep(50)]);
    }
  }

  assertWhole(what = '') {
    assert.deepEqual(this.faults, [], `once and in order ${what}`);
    assert.deepEqual(this.gaps, [], `nothing was lost ${what}`);
  }

  // Those of the prompts (told to everybody but their sender).
  get prompts() {
    return [...this.kinds].filter(([, kind]) => kind === 'user_message_chunk').map(([seq]) => seq);
  }

  // The numbers that were skipped, one by one.
  get missing() {
    return this.holes.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, i) => from + i));
  }
}

// Another session that goes on working, prompt after prompt, whatever happens beside it.
export class Neighbour {
  latencies = [];
  error;
  #stop = false;

  static async start(client, { every = 10 } = {}) {
    const n = new Neighbour();
    const { sessionId } = await client.newSession();

    Object.assign(n, { client, sessionId, every });
    n.done = n.#run().catch((e) => { n.error = e; });
    return n;
  }

  async #run() {
    for (let i = 1; !this.#stop; i++) {
      const from = this.client.updates.length;
      const t = performance.now();
      const { stopReason } = await this.client.prompt(this.sessionId, `echo neighbour ${i}`);

      assert.equal(stopReason, 'end_turn');
      assert.deepEqual(this.client.chunks(this.sessionId, from), [`neighbour ${i}`]);
      this.latencies.push(performance.now() - t);
      await sleep(this.every);
    }
  }

  // It worked while fn ran: at least one of its prompts was asked and answered since.
  async during(fn, { slowest = 15000 } = {}) {
    const before = this.latencies.length;
    const result = await fn();
    const end = Date.now() + patience(10000);

    while (this.latencies.length < before + 2 && !this.error && Date.now() < end)
      await sleep(5);
    assert.ifError(this.error);
    assert.ok(this.latencies.length >= before + 2, 'the neighbour stands still');
    assert.ok(Math.max(...this.latencies.slice(before)) < slowest * SLOW,
      `the neighbour waited ${Math.round(Math.max(...this.latencies.slice(before)))} ms`);
    return result;
  }

  async stop() {
    this.#stop = true;
    await deadline(this.done, 10000, 'the neighbour to stop');
    assert.ifError(this.error);
  }
}

export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);

  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))];
}

// The error of a prompt that must fail, and how long it took.
export async function failing(client, sessionId, prompt, opts) {
  const t = performance.now();

  try {
    const result = await client.prompt(sessionId, prompt, opts);

    assert.fail(`the turn should have failed, but gave ${JSON.stringify(result)}`);
  } catch (e) {
    if (!(e instanceof RpcError))
      throw e;
    return { error: e, ms: performance.now() - t };
  }
}

export const turnEnds = (client, sessionId) => client.notifications
  .filter((m) => m.method === '_acpd/turn_end' && m.params.sessionId === sessionId)
  .map((m) => m.params);

export const privateOnes = (client) => client.messages.filter((m) => m.method?.startsWith('_acpd/'));

// Processes that carry the marker of a session.
export const ofSession = (sessionId) => procs.withEnv((env) => env.ACPD_SESSION === sessionId)
  .filter((p) => procs.alive(p));

export async function sessionGone(daemon, sessionId, more = []) {
  await daemon.gone([...more, ...ofSession(sessionId)]);
  assert.deepEqual(ofSession(sessionId), [], 'a process carries the marker of the session');
}

// Which kind of cgroup the daemon uses for its children: v1, v2 or none.
export async function cgroupKind(daemon) {
  const { json } = await daemon.http('/ready', { token: daemon.token });

  return json.cgroup;
}

// The directory in which it makes a cgroup for each session; '' if it makes none.
export const groupOf = (daemon) => fs.readFileSync(path.join(daemon.stateDir, 'owner'), 'utf8').split('\n')[1];
