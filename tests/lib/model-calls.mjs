// SPDX-License-Identifier: Apache-2.0
// Both ends of a model call, byte by byte: the harness's, over a raw connection to the listener that it was given, and the
// client's, in messages _acpd/model/... that a test writes itself. The harness is the stub agent.

import net from 'node:net';
import { AcpClient } from './acp.mjs';
import * as procs from './procs.mjs';
import { deadline } from './rawws.mjs';
import { until } from './wait.mjs';

export const API = 'openai-chat';
export const PATH = '/v1/chat/completions';

// A stub that is given its provider as Copilot is: COPILOT_PROVIDER_BASE_URL, COPILOT_PROVIDER_API_KEY.
export const STUB_WITH_PROVIDER = { id: 'caller', quirks: 'copilot' };
// As Gemini is: GOOGLE_GEMINI_BASE_URL, GEMINI_API_KEY.
export const STUB_WITH_GOOGLE = { id: 'google-caller', quirks: 'gemini' };

// A connection that takes model calls; only: nothing else.
export async function connectTaker(d, { apis = [API], only, caps, ...opts } = {}) {
  const c = await AcpClient.connect(d, opts);

  await c.initialize({ caps: { ...caps, _meta: { acpd: { model: { apis, only } } } } });
  return new Taker(c);
}

export class Taker {
  #seq = new Map();

  constructor(c) {
    this.c = c;
    // the test answers it, in its own time
    c.onRequest('_acpd/model/request', (params, msg) => new Promise((resolve, reject) => {
      this.answers.set(msg.params.callId, { resolve, reject });
    }));
  }

  answers = new Map();

  // params of the n-th request, from 0
  async asked(n = 0) {
    await until(() => this.requests.length > n, `model request ${n}`);
    return this.requests[n];
  }

  get requests() {
    return this.c.requests.filter((m) => m.method === '_acpd/model/request').map((m) => m.params);
  }

  of(method, callId) {
    return this.c.notifications.filter((m) => m.method === `_acpd/model/${method}` && (!callId || m.params.callId === callId))
      .map((m) => m.params);
  }

  get cancelled() {
    return this.c.notifications.filter((m) => m.method === '$/cancel_request').length;
  }

  // The request's body as it came, once it is whole.
  async body(callId) {
    await until(() => this.of('body', callId).at(-1)?.last, 'the whole body');
    return this.of('body', callId).map((p) => p.text).join('');
  }

  head(callId, status = 200, headers = { 'content-type': 'text/event-stream' }) {
    this.c.notify('_acpd/model/head', { callId, status, headers });
  }

  chunk(callId, text, more = {}) {
    const seq = this.#seq.get(callId) ?? 0;

    this.#seq.set(callId, seq + 1);
    this.c.notify('_acpd/model/chunk', { callId, seq, ...(text === undefined ? {} : { text }), ...more });
  }

  credit(callId, bytes) {
    this.c.notify('_acpd/model/credit', { callId, bytes });
  }

  end(callId, result = { complete: true }) {
    this.answers.get(callId).resolve(result);
  }

  // An answer without a body.
  answer(callId) {
    this.head(callId);
    this.end(callId);
  }

  fail(callId, message = 'the provider is not to be had') {
    this.answers.get(callId).reject(new Error(message));
  }

  newSession(provider = {}, more = {}, meta = {}) {
    return this.c.newSession({ meta: { harness: STUB_WITH_PROVIDER.id, provider: { api: API, ...provider }, ...meta }, ...more });
  }
}

// What the session's harness was given: {url, key} from its environment; root: what a path of the API stands behind.
export function listenerOf(sessionId) {
  const [stub] = procs.withEnv((env) => env.ACPD_SESSION === sessionId).filter(procs.alive);
  const env = procs.environ(stub.pid);

  const url = env.COPILOT_PROVIDER_BASE_URL ?? env.GOOGLE_GEMINI_BASE_URL;

  return { url: new URL(url), root: url.replace(/\/v1$/, ''), key: env.COPILOT_PROVIDER_API_KEY ?? env.GEMINI_API_KEY, env };
}

// A connection to a listener, as a harness has it.
export class ModelConnection {
  closed = false;
  #pieces = []; // put together only when they are looked at: for each of a thousand it would take longer than all else

  static async open({ url, key }) {
    const g = new ModelConnection();

    Object.assign(g, { key, base: url.pathname.replace(/\/v1(beta)?$/, '') });
    g.socket = net.connect(Number(url.port), url.hostname);
    g.socket.on('data', (data) => { g.#pieces.push(data); });
    g.socket.on('error', () => {});
    g.socket.on('close', () => { g.closed = true; });
    await deadline(new Promise((resolve, reject) => {
      g.socket.on('connect', resolve).on('error', reject);
    }), 5000, 'a connection to the listener');
    return g;
  }

  // All that has come.
  get text() {
    if (this.#pieces.length !== 1)
      this.#pieces = [Buffer.concat(this.#pieces)];
    return this.#pieces[0];
  }

  forget() {
    this.#pieces = [];
  }

  // path: below the prefix. body null: none. headers undefined are left out.
  send(path = PATH, { method = 'POST', body = '{"model":"stub-small"}', headers = {}, key = this.key, target = this.base + path } = {}) {
    const all = { host: 'listener', authorization: key && `Bearer ${key}`, 'content-type': 'application/json',
      'content-length': body === null ? undefined : Buffer.byteLength(body), ...headers };
    const lines = Object.entries(all).filter(([, v]) => v !== undefined).map(([k, v]) => `${k}: ${v}\r\n`);

    this.socket.write(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`);
    return this;
  }

  // The head as it stands, once it has come: {status, headers}.
  async head() {
    await until(() => this.text.includes('\r\n\r\n'), 'the head of an answer', 15000);
    const [first, ...lines] = this.text.subarray(0, this.text.indexOf('\r\n\r\n')).toString().split('\r\n');

    return { status: Number(first.split(' ')[1]),
      headers: Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()])) };
  }

  // What of a chunked body has come: {bytes, whole}.
  get body() {
    let at = this.text.indexOf('\r\n\r\n') + 4;
    const parts = [];

    for (;;) {
      const end = this.text.indexOf('\r\n', at);
      const size = parseInt(this.text.subarray(at, end).toString(), 16);

      if (end < 0 || Number.isNaN(size) || this.text.length < end + 4 + size)
        return { bytes: Buffer.concat(parts), whole: false };
      if (!size)
        return { bytes: Buffer.concat(parts), whole: true };
      parts.push(this.text.subarray(end + 2, end + 2 + size));
      at = end + 4 + size;
    }
  }

  // One of our own refusals: {status, code}.
  async refusal() {
    const { status, headers } = await this.head();
    const at = this.text.indexOf('\r\n\r\n') + 4;

    await until(() => this.text.length >= at + Number(headers['content-length']), 'the whole refusal');
    return { status, code: JSON.parse(this.text.subarray(at)).error.code, headers };
  }

  async ended() {
    await until(() => this.closed, 'the connection to end', 15000);
  }

  close() {
    this.socket.destroy();
  }
}
