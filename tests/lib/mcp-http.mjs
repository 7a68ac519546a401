// SPDX-License-Identifier: Apache-2.0
// MCP over HTTP, for tests: a daemon with hosted servers, a small client that sees statuses, headers and streams, and a proxy.
//
//   const d = await startHosting({ fixture: { command: FIXTURE } });
//   const c = new McpHttp(d, '/mcp/fixture');
//   await c.initialize();                          a legacy session; or c.modern('tools/list')
//   const res = await c.post(message, {headers})   {status, headers, json, events, text}; events: what a stream brought
//   const s = await c.open(message)                the same before its end: s.next(), s.ended, s.close()

import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { Daemon } from './daemon.mjs';
import { checkHttp, linesOf } from './described.mjs';
import { LEGACY, META, MODERN } from './mcp.mjs';
import { deadline } from './rawws.mjs';

const NAMED = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' };
const BOTH = 'application/json, text/event-stream';

// servers: as in .mcp.json. opts: of Daemon.start.
export async function startHosting(servers, { flags, ...opts } = {}) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-hosting-'));
  const mcpConfig = path.join(dir, 'mcp.json');

  fs.chmodSync(dir, 0o755);
  fs.writeFileSync(mcpConfig, JSON.stringify({ mcpServers: servers }));
  try {
    return await Daemon.start({ ...opts, flags: { mcpConfig, ...flags } });
  } finally {
    fs.rmSync(dir, { recursive: true });
  }
}

export const modernMeta = (capabilities = {}) => ({
  [`${META}protocolVersion`]: MODERN, [`${META}clientCapabilities`]: capabilities, [`${META}clientInfo`]: { name: 'test', version: '1' },
});

// One answer while it comes.
class Answer {
  events = []; // messages of a stream
  comments = 0;
  ended = false; // in order; cut: it was not
  cut = false;
  #parts = []; // what came, but for whole items of a stream
  #wake = [];

  constructor(req, res, asked) {
    Object.assign(this, { req, res, status: res.statusCode, headers: res.headers });
    this.lines = linesOf(asked, { status: this.status, type: this.headers['content-type'] });
    this.streams = (res.headers['content-type'] ?? '').startsWith('text/event-stream');
    res.setEncoding('utf8');
    res.on('data', (data) => this.#take(data));
    res.on('end', () => this.#over('ended'));
    res.on('error', () => this.#over('cut'));
    res.on('aborted', () => this.#over('cut'));
  }

  // What came of an item is joined only when its end may be there: large ones come in hundreds of pieces.
  #take(data) {
    const over = data.includes('\n\n') || (data[0] === '\n' && this.#parts.at(-1)?.endsWith('\n'));

    this.#parts.push(data);
    if (this.streams && over) {
      const items = this.text.split('\n\n');

      this.#parts = [items.pop()].filter(Boolean);
      for (const item of items)
        this.#item(item);
    }
    this.#look();
  }

  #item(item) {
    if (item.startsWith(':')) {
      this.comments++;
      return;
    }
    this.events.push(JSON.parse(/^data: (.*)$/m.exec(item)[1]));
    this.lines?.assertNext(this.events.at(-1));
  }

  get text() {
    return this.#parts.join('');
  }

  #over(how) {
    this[how] = true;
    this.#look();
  }

  #look() {
    for (const look of this.#wake.splice(0))
      look();
  }

  get json() {
    return this.streams ? undefined : JSON.parse(this.text);
  }

  // The answer of the request, wherever it stands.
  get answer() {
    return this.streams ? this.events.find((e) => e.method === undefined) : this.json;
  }

  async until(pred, what = 'the stream', timeout = 10000) {
    const wait = async () => {
      while (!pred(this)) {
        if (this.ended || this.cut)
          throw new Error(`${what}: over with ${JSON.stringify(this.events).slice(0, 500)} ${this.text.slice(0, 500)}`);
        await new Promise((resolve) => { this.#wake.push(resolve); });
      }
      return this;
    };

    return deadline(wait(), timeout, what);
  }

  over() {
    return this.until((a) => a.ended || a.cut, 'the end of the answer');
  }

  close() {
    this.req.destroy();
  }
}

export class McpHttp {
  session; // Mcp-Session-Id, after initialize
  revision = LEGACY;
  #nextId = 1;

  // agent: an http.Agent; without one each request has a connection of its own
  constructor(daemon, where, { agent = false } = {}) {
    Object.assign(this, { daemon, where, agent });
  }

  // Sends anything; headers with the value undefined are left out. body: text, or what becomes JSON.
  async open(body, { method = 'POST', headers = {}, where = this.where } = {}) {
    const all = {
      Accept: BOTH, Authorization: `Bearer ${this.daemon.token}`,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(this.session && { 'Mcp-Session-Id': this.session, 'MCP-Protocol-Version': this.revision }),
      ...headers,
    };

    for (const name of Object.keys(all).filter((k) => all[k] === undefined))
      delete all[name];
    const answered = new Promise((resolve, reject) => {
      const req = http.request({ host: '127.0.0.1', port: this.daemon.port, path: where, method, headers: all, agent: this.agent },
        (res) => resolve(new Answer(req, res, { method, where })));

      req.on('error', reject);
      req.end(typeof body === 'string' || Buffer.isBuffer(body) || body === undefined ? body : JSON.stringify(body));
    });

    return deadline(answered, 10000, `${method} ${where}`);
  }

  async post(body, opts) {
    const answer = await (await this.open(body, opts)).over();
    const { status, headers } = answer;

    checkHttp({ method: opts?.method ?? 'POST', where: opts?.where ?? this.where }, { status, headers, body: answer.streams ? '' : answer.text });
    return answer;
  }

  async initialize({ revision = LEGACY, capabilities = {} } = {}) {
    const res = await this.post({
      jsonrpc: '2.0', id: this.id(), method: 'initialize',
      params: { protocolVersion: revision, capabilities, clientInfo: { name: 'test', version: '1' } },
    });

    this.session = res.headers['mcp-session-id'];
    this.revision = res.answer.result?.protocolVersion ?? revision;
    if (this.session)
      await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return res;
  }

  id() {
    return this.#nextId++;
  }

  // A request of the session, not waited for to its end.
  call(method, params = {}, opts = {}) {
    return this.open({ jsonrpc: '2.0', id: opts.id ?? this.id(), method, params }, opts);
  }

  // A modern one, with all that it needs; headers and meta are put over that.
  modern(method, params = {}, { headers = {}, meta = modernMeta(), id = this.id(), ...opts } = {}) {
    const name = params[NAMED[method]];
    const needed = { 'MCP-Protocol-Version': MODERN, 'Mcp-Method': method, ...(name !== undefined && { 'Mcp-Name': name }) };

    return this.open({ jsonrpc: '2.0', id, method, params: { ...params, _meta: { ...meta, ...params._meta } } },
      { ...opts, headers: { 'Mcp-Session-Id': undefined, ...needed, ...headers } });
  }

  listen(opts) {
    return this.open(undefined, { method: 'GET', ...opts, headers: { Accept: 'text/event-stream', ...opts?.headers } });
  }
}

// Passes everything on and adds the token, for clients that send none. to(daemon) says where; its port is known before.
export async function startProxy() {
  let daemon;
  const server = http.createServer((req, res) => {
    const headers = { ...req.headers, authorization: `Bearer ${daemon.token}` };
    const up = http.request({ host: '127.0.0.1', port: daemon.port, method: req.method, path: req.url, headers, agent: false }, (answer) => {
      res.writeHead(answer.statusCode, answer.headers);
      answer.on('error', () => res.destroy());
      answer.pipe(res);
    });

    up.on('error', () => res.destroy());
    res.on('close', () => up.destroy());
    req.pipe(up);
  });

  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const { port } = server.address();

  return {
    origins: `http://127.0.0.1:${port},http://localhost:${port}`,
    url: (where) => `http://127.0.0.1:${port}${where}`,
    to(d) { daemon = d; },
    close: () => new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    }),
  };
}
