// SPDX-License-Identifier: Apache-2.0
// A receiver of webhooks on loopback that can misbehave, and daemons that tell it.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { Daemon } from '../../lib/daemon.mjs';
import { webhookProblems } from '../../lib/described.mjs';
import { until } from '../../lib/wait.mjs';

export const secretOf = () => `whsec_${crypto.randomBytes(32).toString('base64')}`;

// As Standard Webhooks has it, by another implementation than the daemon's.
export function verify(secret, headers, body) {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signatures } = headers;
  const wanted = crypto.createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64');

  assert.ok(signatures.split(' ').includes(`v1,${wanted}`), 'the signature is right');
  assert.ok(Math.abs(Date.now() / 1000 - Number(at)) < 300, 'the time is the attempt\'s');
}

// What it does with a request: an HTTP status, or one of these.
export const HANG = 'hang', CUT = 'cut', LATE = 'late';

export class Receiver {
  requests = []; // {id, type, data, headers, status}: all of them
  behave = () => 200; // (message, how many came before) => status, HANG, CUT, LATE or {status, headers, body}

  static async start(t, { secret = secretOf(), port = 0 } = {}) {
    const r = new Receiver();

    Object.assign(r, { secret, port });
    await r.listen();
    t.after(() => r.close());
    return r;
  }

  async listen() {
    this.server = http.createServer((rq, rs) => this.#take(rq, rs));
    await new Promise((done) => this.server.listen(this.port, '127.0.0.1', done));
    this.port = this.server.address().port;
  }

  // Its address refuses connections until it listens again.
  async close() {
    const closed = new Promise((done) => this.server.close(done));

    this.server.closeAllConnections();
    await closed;
  }

  get host() { return `127.0.0.1:${this.port}`; }
  get url() { return `http://${this.host}/hooks?secret-in-url`; }
  config(more = {}) { return { url: this.url, secret: this.secret, ...more }; }

  #take(rq, rs) {
    const pieces = [];

    rq.on('error', () => {});
    rs.on('error', () => {});
    rq.on('data', (b) => pieces.push(b));
    rq.on('end', () => this.#answer(rq, rs, Buffer.concat(pieces).toString()));
  }

  #answer(rq, rs, body) {
    assert.equal(rq.method, 'POST');
    assert.equal(rq.headers['content-type'], 'application/json');
    verify(this.secret, rq.headers, body);
    const said = JSON.parse(body);
    assert.deepEqual(webhookProblems(said), [], 'a webhook that the API does not have');
    const message = { id: rq.headers['webhook-id'], headers: rq.headers, body, ...said };
    const how = this.behave(message, this.requests.length);
    const answer = how.status ? how : { status: how };

    assert.match(said.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    message.status = how;
    this.requests.push(message);
    if (how === HANG)
      return;
    if (how === CUT) {
      rq.socket.destroy();
      return;
    }
    if (how === LATE)
      setTimeout(() => rs.writeHead(200).end(), 700);
    else
      rs.writeHead(answer.status, answer.headers).end(answer.body);
  }

  // What it has accepted, each message once.
  get taken() {
    const ids = new Set();

    return this.requests.filter((m) => (m.status === 200 || m.status === LATE) && !ids.has(m.id) && ids.add(m.id));
  }

  of(type, sessionId) { return this.taken.filter((m) => m.type === type && (!sessionId || m.data.sessionId === sessionId)); }
  async until(n, type = 'turn.ended', ms = 20000) {
    await until(() => this.of(type).length >= n, `${n} of ${type}`, ms);
    return this.of(type);
  }
}

export function writeHooks(file, list) {
  fs.writeFileSync(`${file}.new`, JSON.stringify(list), { mode: 0o600 });
  fs.renameSync(`${file}.new`, file);
}

// A daemon with these receivers in a file; hooks: what stands there.
export async function told(t, receivers, { hooks, flags, ...opts } = {}) {
  const dir = fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? '/tmp', 'acpd-test-'));
  const file = path.join(dir, 'webhooks.json');

  writeHooks(file, hooks ?? receivers.map((r) => r.config()));
  const d = await Daemon.startFor(t, {
    dir, flags: { webhook: file, upstreamAllow: receivers.map((r) => r.host).join(',') || null, ...flags }, ...opts,
  });

  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  return Object.assign(d, { hooksFile: file });
}

export const statusOf = async (d) => (await d.http('/v1/info', { token: d.token })).json.webhooks;

// Turns of a session one after the other.
export async function turns(c, sessionId, n, prompt = 'echo x') {
  for (let i = 0; i < n; i++)
    await c.prompt(sessionId, prompt);
}

// In order and without a hole.
export function assertOrder(messages, first = 1) {
  assert.deepEqual(messages.map((m) => m.data.turn), messages.map((_, i) => first + i));
}
