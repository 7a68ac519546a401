// SPDX-License-Identifier: Apache-2.0
// MCP over a child's standard input and output, as lines that a test may read byte for byte.
//
//   const c = McpStdio.spawn(FIXTURE);
//   await c.initialize();                                  a legacy client; or c.modern = true
//   const { raw, msg } = await c.request('tools/list');    the answer, as it came and parsed
//   member(raw, 'result', 'tools')                         the text of a value inside of it
//
// A message that asks the client is answered by c.answers[method](msg, raw): the text of a result, or {error: text}.

import assert from 'node:assert/strict';
import path from 'node:path';
import { LineTransport } from './lines.mjs';
import { ACPD } from './daemon.mjs';
import { deadline } from './rawws.mjs';

export const FIXTURE = path.join(path.dirname(ACPD), 'mcp-fixture');
export const MODERN = '2026-07-28';
export const LEGACY = '2025-11-25';
export const META = 'io.modelcontextprotocol/';

// --- raw text --------------------------------------------------------------------------------

const skipSpace = (text, at) => at + /^[ \t\r\n]*/.exec(text.slice(at, at + 4096))[0].length;

function endOfString(text, at) {
  for (at++; text[at] !== '"'; at++) {
    if (text[at] === '\\')
      at++;
  }
  return at + 1;
}

// Where the value that begins at `at` ends.
function endOfValue(text, at) {
  let depth = 0;

  if (text[at] === '"')
    return endOfString(text, at);
  if (text[at] !== '{' && text[at] !== '[') {
    while (at < text.length && !/[,\]}\s]/.test(text[at]))
      at++;
    return at;
  }
  for (;; at++) {
    if (text[at] === '"')
      at = endOfString(text, at) - 1;
    else if (text[at] === '{' || text[at] === '[')
      depth++;
    else if ((text[at] === '}' || text[at] === ']') && --depth === 0)
      return at + 1;
  }
}

// The members of an object, or the elements of an array, as [key, text of the value].
export function* members(text) {
  const object = text.trimStart()[0] === '{';
  let at = skipSpace(text, text.indexOf(object ? '{' : '[') + 1);

  for (let i = 0; text[at] !== '}' && text[at] !== ']'; i++) {
    let key = i;

    if (object) {
      const end = endOfString(text, at);

      key = JSON.parse(text.slice(at, end));
      at = skipSpace(text, text.indexOf(':', end) + 1);
    }
    const end = endOfValue(text, at);
    yield [key, text.slice(at, end)];
    at = skipSpace(text, end);
    if (text[at] === ',')
      at = skipSpace(text, at + 1);
  }
}

// The text of a value inside of text; undefined: there is none.
export function member(text, ...keys) {
  for (const key of keys) {
    if (text === undefined)
      return undefined;
    text = [...members(text)].find(([name]) => name === key)?.[1];
  }
  return text;
}

// Text of an object without these members, in its order.
export function without(text, ...keys) {
  return `{${[...members(text)].filter(([key]) => !keys.includes(key))
    .map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;
}

// --- a client --------------------------------------------------------------------------------

export class McpStdio {
  messages = []; // {raw, msg} of all that came
  answers = {};
  modern = false;
  capabilities = {};
  clientInfo = { name: 'acpd-test', version: '1' };
  logLevel;

  #nextId = 1;
  #pending = new Map(); // text of an id -> resolve
  #waiting = new Set();

  constructor(lines) {
    this.lines = lines;
    lines.on('message', ({ payload }) => this.#take(payload.toString()));
    lines.on('closed', () => this.#waiting.forEach((look) => look()));
  }

  static spawn(command, args = [], { env = {}, ...options } = {}) {
    return new McpStdio(LineTransport.spawn(command, args, { env: { ...process.env, ...env }, ...options }));
  }

  get closed() {
    return this.lines.closeCode !== undefined;
  }

  #take(raw) {
    const item = { raw, msg: JSON.parse(raw) };

    this.messages.push(item);
    if (item.msg.method === undefined)
      this.#pending.get(member(raw, 'id'))?.(item);
    else if (item.msg.id !== undefined)
      this.#asked(item);
    this.#waiting.forEach((look) => look());
  }

  async #asked({ raw, msg }) {
    const id = member(raw, 'id');
    const handler = this.answers[msg.method];
    const refused = { error: '{"code":-32601,"message":"Method not found"}' };
    const answer = handler ? await handler(msg, raw) : refused;

    if (answer !== undefined)
      this.send(typeof answer === 'string' ? `{"jsonrpc":"2.0","id":${id},"result":${answer}}`
        : `{"jsonrpc":"2.0","id":${id},"error":${answer.error}}`);
  }

  // One line.
  send(text) {
    this.lines.text(text);
  }

  // id, params: text, or a value for it. The answer is awaited with answer(), which request() does.
  begin(method, params = {}, { id = this.#nextId++ } = {}) {
    const text = typeof id === 'string' && /^["\d-]/.test(id) ? id : JSON.stringify(id);
    const answer = new Promise((resolve) => { this.#pending.set(text, resolve); });

    this.send(`{"jsonrpc":"2.0","id":${text},"method":${JSON.stringify(method)},"params":${this.#params(params)}}`);
    return { id: text, answer };
  }

  #params(params) {
    if (typeof params === 'string')
      return params;
    return JSON.stringify(this.modern ? { ...params, _meta: { ...this.meta(), ...params._meta } } : params);
  }

  // What a modern request carries.
  meta() {
    return {
      [`${META}protocolVersion`]: MODERN, [`${META}clientCapabilities`]: this.capabilities, [`${META}clientInfo`]: this.clientInfo,
      ...(this.logLevel && { [`${META}logLevel`]: this.logLevel }),
    };
  }

  request(method, params, { timeout = 10000, ...opts } = {}) {
    return deadline(this.begin(method, params, opts).answer, timeout, `answer to ${method}`);
  }

  // The result of a request that must not fail.
  async result(method, params, opts) {
    const { msg } = await this.request(method, params, opts);

    assert.ok(msg.result, JSON.stringify(msg));
    return msg.result;
  }

  call(name, args = {}, params = {}, opts = {}) {
    return this.result('tools/call', { name, arguments: args, ...params }, opts);
  }

  notify(method, params = {}) {
    this.send(JSON.stringify({ jsonrpc: '2.0', method, params }));
  }

  cancel(id) {
    this.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`);
  }

  async initialize(version = LEGACY, capabilities = this.capabilities) {
    const { raw, msg } = await this.request('initialize', { protocolVersion: version, capabilities, clientInfo: this.clientInfo });

    assert.ok(msg.result, raw);
    this.notify('notifications/initialized');
    this.initializeResult = msg.result;
    return raw;
  }

  // What came at or after index `from` of messages, or will come.
  waitFor(pred, { from = 0, timeout = 10000, what = 'a message' } = {}) {
    const later = new Promise((resolve, reject) => {
      const look = () => {
        const found = this.messages.slice(from).find(({ msg, raw }) => pred(msg, raw));

        if (!found && !this.closed)
          return;
        this.#waiting.delete(look);
        if (found)
          resolve(found);
        else
          reject(new Error(`the server has gone; waited for ${what}; it said: ${this.lines.stderr}`));
      };

      this.#waiting.add(look);
      look();
    });

    return deadline(later, timeout, what);
  }

  notifications(method) {
    return this.messages.filter(({ msg }) => msg.method === method && msg.id === undefined);
  }

  // Ends its input and waits for its end; says with what code.
  async close(timeout = 10000) {
    this.lines.child.stdin.end();
    return deadline(this.lines.exited, timeout, 'the end of an MCP server');
  }

  kill() {
    this.lines.child.kill('SIGKILL');
  }
}
