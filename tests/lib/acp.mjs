// SPDX-License-Identifier: Apache-2.0
// JSON-RPC and ACP over RawWs: calls, updates, requests of the daemon, and a watch over all it says.
//
// Every message that the daemon sends is checked (schema.mjs, described.mjs, and the rules below that need memory:
// one answer per request, seq without steps back); what is wrong lands in `violations`. A test ends
// with client.assertClean(), a file with assertNoViolations() in after().

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { RawWs, OP, deadline } from './rawws.mjs';
import { validateMessage, defaultRules } from './schema.mjs';
import { checkHttp, messageProblems } from './described.mjs';

const isObject = (v) => v !== null && typeof v === 'object' && !Array.isArray(v);
const wellFormed = (v) => (typeof v === 'string' ? v.isWellFormed()
  : !isObject(v) && !Array.isArray(v) ? true : Object.entries(v).every(([name, of]) => name.isWellFormed() && wellFormed(of)));
const everything = []; // violations of all clients of this test file

process.on('test file ended', () => everything.splice(0));

export const allViolations = () => everything;

// For clients that are not AcpClient.
export const noteViolation = (found) => everything.push(found);

export function assertNoViolations() {
  assert.deepEqual(everything, [], 'the daemon broke the protocol');
}

export class RpcError extends Error {
  constructor({ code, message, data }, method) {
    super(`${method}: ${code} ${message} ${data === undefined ? '' : JSON.stringify(data)}`);
    Object.assign(this, { code, rpcMessage: message, data, method });
  }
}

export class AcpClient extends EventEmitter {
  messages = []; // everything received, in order
  updates = []; // {sessionId, update, seq, turn, msg} of each session/update
  requests = []; // what the daemon asked: the raw messages
  notifications = []; // everything but session/update
  violations = [];
  initializeResult;

  #nextId = 1;
  #pending = new Map(); // id -> {method, resolve, reject}
  #done = new Set(); // ids that were answered
  #handlers = new Map();
  #seq = new Map();
  #replays = new Map(); // sessionId -> how many replays of it may still begin
  #checked = 0;

  constructor(ws, { validate = 'all', rules = {}, record = true, daemon } = {}) {
    super();
    this.setMaxListeners(0);
    Object.assign(this, { ws, daemon, validate, record, rules: { ...defaultRules, ...rules } });
    ws.on('message', (m) => this.#message(m));
    ws.on('closed', () => this.#closed());
    this.closed = ws.closed;
  }

  // target: a Daemon, or the options of RawWs.open. opts: those of RawWs.open, and validate
  // ('all', 'none', or n for every n-th message), rules, record (false: keep no lists, for floods).
  static async connect(target, opts = {}) {
    const where = target.url ? { url: target.url, token: target.token } : target;
    // Frames are kept only on demand here: the messages are what is looked at.
    const ws = await RawWs.open({ record: false, ...where, ...opts });

    if (ws.status !== 101) {
      if (target.url)
        checkHttp({ method: 'GET', where: '/acp' }, ws);
      ws.destroy();
      throw Object.assign(new Error(`handshake refused: ${ws.status} ${ws.body}`), { status: ws.status, ws });
    }
    return new AcpClient(ws, { ...opts, record: opts.record ?? true, daemon: target.url ? target : undefined });
  }

  // --- receiving -----------------------------------------------------------------------

  #message({ opcode, payload, frames }) {
    const text = payload.toString();
    let msg;

    if (opcode !== OP.text)
      this.#violation('a binary message', text);
    if (frames !== 1)
      this.#violation(`a message in ${frames} frames`, text);
    if (Buffer.byteLength(text) !== payload.length)
      this.#violation('invalid UTF-8', text);
    try {
      msg = JSON.parse(text);
    } catch {
      this.#violation('not JSON', text);
      return;
    }
    if (/\\u[dD][89a-fA-F]/.test(text) && !wellFormed(msg) && this.validate !== 'none')
      this.#violation('half of a surrogate pair', text);
    this.#check(msg);
    this.#take(msg);
    this.emit('any', msg);
  }

  #violation(what, msg) {
    const text = typeof msg === 'string' ? msg : JSON.stringify(msg);
    const found = `${what} in ${text.slice(0, 400)}`;

    this.violations.push(found);
    everything.push(found);
  }

  #check(msg) {
    const answer = msg?.method === undefined;
    const asked = answer ? this.#pending.get(msg?.id) : undefined;

    this.#checked++;
    if (answer && msg?.id !== null && msg?.id !== undefined && !asked && this.validate !== 'none')
      this.#violation(this.#done.has(msg.id) ? 'a second answer' : 'an answer to nothing', msg);
    if (this.validate === 'none' || (typeof this.validate === 'number' && this.#checked % this.validate))
      return;
    for (const found of validateMessage(msg, { method: asked?.method, rules: this.rules }))
      this.#violation(found, msg);
    for (const found of this.rules.described && isObject(msg) ? messageProblems(msg, asked) : [])
      this.#violation(found, msg);
  }

  #take(msg) {
    if (this.record)
      this.messages.push(msg);
    if (msg.method === 'session/update')
      this.#update(msg);
    else if (msg.method !== undefined && msg.id !== undefined)
      this.#request(msg);
    else if (msg.method !== undefined)
      this.#notification(msg);
    else
      this.#answer(msg);
  }

  #update(msg) {
    const { sessionId, update, _meta } = msg.params;
    const { seq, turn } = _meta?.acpd ?? {};
    const last = this.#seq.get(sessionId) ?? 0;

    if (seq !== undefined && seq <= last && !this.#replayed(sessionId) && this.rules.seq)
      this.#violation(`seq ${seq} after ${last}`, msg);
    this.#seq.set(sessionId, seq);
    const item = { sessionId, update, seq, turn, msg };
    if (this.record)
      this.updates.push(item);
    this.emit('update', item);
  }

  // What was on its way when a load was asked for comes before the replay, which may start over then.
  #replayed(sessionId) {
    const left = this.#replays.get(sessionId) ?? 0;

    this.#replays.set(sessionId, Math.max(0, left - 1));
    return left > 0;
  }

  #notification(msg) {
    if (this.record)
      this.notifications.push(msg);
    this.emit('notification', msg);
  }

  #answer(msg) {
    const asked = this.#pending.get(msg.id);

    this.#pending.delete(msg.id);
    this.#done.add(msg.id);
    if (asked?.method === 'session/load')
      this.#replayed(asked.params?.sessionId);
    asked?.resolve(msg);
  }

  // A handler gets (params, msg) and returns the result; it throws {code, message} for an error.
  // Without one, permission questions stay open and anything else is refused with -32601.
  async #request(msg) {
    const handler = this.#handlers.get(msg.method);

    this.requests.push(msg);
    this.emit('request', msg);
    if (!handler && msg.method !== 'session/request_permission')
      this.respondError(msg.id, -32601, 'Method not found');
    if (!handler)
      return;
    try {
      this.respond(msg.id, (await handler(msg.params, msg)) ?? {});
    } catch (e) {
      this.respondError(msg.id, e.code ?? -32603, e.message);
    }
  }

  #closed() {
    const { closeCode, closeReason } = this.ws;

    for (const { method, reject } of this.#pending.values())
      reject(Object.assign(new Error(`${method}: closed ${closeCode} ${closeReason}`), { closeCode }));
    this.#pending.clear();
    this.emit('closed');
  }

  // --- sending -------------------------------------------------------------------------

  send(msg) {
    this.ws.text(JSON.stringify(msg));
  }

  // Sends a request; `answer` resolves with the whole response message, error or not.
  request(method, params, { id = this.#nextId++, raw } = {}) {
    const answer = new Promise((resolve, reject) => {
      this.#pending.set(id, { method, params, resolve, reject });
    });

    answer.catch(() => {}); // a call that nobody awaits may die with the socket
    if (['session/load', 'session/resume'].includes(method) && params?.sessionId) {
      this.#seq.delete(params.sessionId); // a replay may start over
      this.#replays.set(params.sessionId, (this.#replays.get(params.sessionId) ?? 0) + 1);
    }
    if (raw === undefined)
      this.send({ jsonrpc: '2.0', id, method, params });
    else
      this.ws.text(raw);
    return { id, answer };
  }

  // The result, or a thrown RpcError.
  async call(method, params = {}, { timeout = 15000, ...rest } = {}) {
    const { answer } = this.request(method, params, rest);
    const msg = await deadline(answer, timeout, `answer to ${method}`);

    if (msg.error)
      throw new RpcError(msg.error, method);
    return msg.result;
  }

  // The error of a call that must fail.
  async fails(method, params, opts) {
    try {
      const result = await this.call(method, params, opts);

      assert.fail(`${method} should have failed, but gave ${JSON.stringify(result)}`);
    } catch (e) {
      if (e instanceof RpcError)
        return e;
      throw e;
    }
  }

  notify(method, params = {}) {
    this.send({ jsonrpc: '2.0', method, params });
  }

  respond(id, result) {
    if (this.ws.isOpen)
      this.send({ jsonrpc: '2.0', id, result });
  }

  respondError(id, code, message, data) {
    if (this.ws.isOpen)
      this.send({ jsonrpc: '2.0', id, error: { code, message, data } });
  }

  onRequest(method, handler) {
    this.#handlers.set(method, handler);
    return this;
  }

  // Answers permission questions: an optionId, 'cancelled', or a function (params) => one of them.
  onPermission(choice) {
    return this.onRequest('session/request_permission', async (params, msg) => {
      const option = typeof choice === 'function' ? await choice(params, msg) : choice;

      return { outcome: option === 'cancelled' ? { outcome: 'cancelled' } : { outcome: 'selected', optionId: option } };
    });
  }

  // --- waiting -------------------------------------------------------------------------

  // A message that was received at or after index `from` of `messages`, or will be.
  async waitFor(pred, { timeout = 10000, from = 0, what = 'a message' } = {}) {
    return this.messages.slice(from).find(pred) ?? this.#later('any', pred, timeout, what);
  }

  // An update; pred gets {sessionId, update, seq, turn}. A string stands for the kind.
  async waitUpdate(pred, { timeout = 10000, from = 0 } = {}) {
    const match = typeof pred === 'string' ? (u) => u.update.sessionUpdate === pred : pred;

    return this.updates.slice(from).find(match) ?? this.#later('update', match, timeout, `update ${pred}`);
  }

  // A request of the daemon, e.g. 'session/request_permission'.
  async waitRequest(method, { timeout = 10000, from = 0 } = {}) {
    const match = (m) => m.method === method;

    return this.requests.slice(from).find(match) ?? this.#later('request', match, timeout, method);
  }

  #later(event, pred, timeout, what) {
    let on, end;
    const found = new Promise((resolve, reject) => {
      on = (x) => pred(x) && resolve(x);
      end = () => reject(new Error(`closed (${this.ws.closeCode} ${this.ws.closeReason}) while waiting for ${what}`));
      this.on(event, on);
      this.on('closed', end);
    });

    return deadline(found, timeout, what).finally(() => {
      this.off(event, on);
      this.off('closed', end);
    });
  }

  // --- ACP -----------------------------------------------------------------------------

  async initialize({ acpd = true, caps = {}, protocolVersion = 1, ...rest } = {}) {
    const clientCapabilities = acpd ? { ...caps, _meta: { acpd: {}, ...caps._meta } } : caps;
    const clientInfo = { name: 'acpd-test', version: '0' };

    this.initializeResult = await this.call('initialize', { protocolVersion, clientCapabilities, clientInfo, ...rest });
    this.daemon?.sawOwner?.(this.initializeResult.agentCapabilities?._meta?.acpd?.incarnation);
    return this.initializeResult;
  }

  // meta: what goes under _meta.acpd.
  newSession({ cwd = this.daemon?.workDir ?? '/tmp', mcpServers = [], meta, ...rest } = {}) {
    const params = { cwd, mcpServers, ...rest, ...(meta && { _meta: { acpd: meta } }) };

    return this.call('session/new', params, { timeout: 30000 });
  }

  load(sessionId, opts = {}) {
    const { cwd = this.daemon?.workDir ?? '/tmp', mcpServers = [], meta, method = 'session/load', ...rest } = opts;
    const params = { sessionId, cwd, mcpServers, ...rest, ...(meta && { _meta: { acpd: meta } }) };

    return this.call(method, params, { timeout: 30000 });
  }

  resumeSession(sessionId, opts = {}) {
    return this.load(sessionId, { ...opts, method: 'session/resume' });
  }

  promptParams(sessionId, prompt, meta) {
    const blocks = typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : prompt;

    return { sessionId, prompt: blocks, ...(meta && { _meta: meta }) };
  }

  // meta: the whole _meta of the prompt. The result is the PromptResponse.
  prompt(sessionId, prompt, { meta, timeout = 30000, ...rest } = {}) {
    return this.call('session/prompt', this.promptParams(sessionId, prompt, meta), { timeout, ...rest });
  }

  startPrompt(sessionId, prompt, { meta } = {}) {
    return this.request('session/prompt', this.promptParams(sessionId, prompt, meta));
  }

  cancel(sessionId) {
    this.notify('session/cancel', { sessionId });
  }

  updatesOf(sessionId, kind) {
    return this.updates
      .filter((u) => u.sessionId === sessionId && (!kind || u.update.sessionUpdate === kind));
  }

  // The agent's text chunks of a session, as they came.
  chunks(sessionId, from = 0) {
    return this.updates.slice(from)
      .filter((u) => u.sessionId === sessionId && u.update.sessionUpdate === 'agent_message_chunk')
      .map((u) => u.update.content.text);
  }

  assertClean() {
    assert.deepEqual(this.violations, [], 'the daemon broke the protocol');
  }

  // An orderly end of the connection; says with which code the daemon closed.
  async close(code = 1000) {
    if (this.ws.isOpen)
      this.ws.close(code);
    const { code: got } = await this.ws.waitClosed();

    return got;
  }
}
