// SPDX-License-Identifier: Apache-2.0
// A test bridge: streamable HTTP in front, an MCP server on standard input and output behind, one process of it per client session.
// With it the conformance suite, which speaks HTTP only, reaches what a harness is given, the shim `acpd mcp`. Lines pass as they
// are; the bridge does only what HTTP asks for: sessions, streams, statuses, the check of Host, Origin and MCP headers.
//
//   const bridge = await startBridge({ command, args, env });     bridge.url, bridge.close()
//   node bridge.mjs COMMAND ARG...                                prints the address
//
// Standard input and output do not say to which request a message of the server belongs: progress is told by its token, everything else
// goes to the newest open request, or to the GET stream. A modern client has no session: each of its requests gets a process of its own,
// and to close the answer is to cancel.

import crypto from 'node:crypto';
import http from 'node:http';
import { fileURLToPath } from 'node:url';
import { McpStdio, META, MODERN, member } from '../lib/mcp.mjs';

const LOCAL = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;
const STATUS = new Map([[-32601, 404], [-32602, 400], [-32600, 400], [-32700, 400], [-32020, 400], [-32021, 400], [-32022, 400]]);
const UNTOLD = ['notifications/tools/list_changed', 'notifications/prompts/list_changed', 'notifications/resources/list_changed',
  'notifications/resources/updated'];

const errorText = (id, code, message, data) =>
  `{"jsonrpc":"2.0","id":${id ?? 'null'},"error":${JSON.stringify({ code, message, data })}}`;

// An answer that is JSON as long as nothing but the answer has come, and a stream of events from then on.
class Reply {
  #streams = false;

  constructor(req, res, headers = {}) {
    Object.assign(this, { res, headers, mayStream: (req.headers.accept ?? '').includes('text/event-stream') });
  }

  stream() {
    if (!this.#streams)
      this.res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no', ...this.headers });
    this.#streams = true;
  }

  event(raw) {
    this.stream();
    this.res.write(`event: message\ndata: ${raw}\n\n`);
  }

  end(raw, status = 200) {
    if (this.#streams) {
      this.event(raw);
      this.res.end();
    } else {
      this.res.writeHead(status, { 'content-type': 'application/json', ...this.headers }).end(raw);
    }
  }
}

// One client session, or one modern request.
class Conversation {
  #open = []; // {id, token, reply}, oldest first
  #get; // Reply of the GET stream

  constructor(start) {
    this.server = start();
    this.server.lines.on('message', ({ payload }) => this.#said(payload.toString()));
    this.server.lines.on('closed', () => this.#gone());
  }

  #said(raw) {
    const msg = JSON.parse(raw);

    if (msg.method === undefined) {
      const at = this.#open.findIndex((o) => o.id === member(raw, 'id'));
      const [{ reply, modern } = {}] = at < 0 ? [] : this.#open.splice(at, 1);

      reply?.end(raw, modern && msg.error ? STATUS.get(msg.error.code) ?? 200 : 200);
      return;
    }
    this.#streamOf(msg, raw)?.event(raw);
  }

  #streamOf(msg, raw) {
    if (msg.method === 'notifications/progress')
      return this.#open.find((o) => o.token === member(raw, 'params', 'progressToken'))?.reply;
    if (this.#get && UNTOLD.includes(msg.method))
      return this.#get;
    return this.#open.at(-1)?.reply ?? this.#get;
  }

  #gone() {
    for (const { id, reply } of this.#open.splice(0))
      reply.end(errorText(id, -32603, 'the server has gone'));
    this.#get?.res.end();
  }

  // A message of the client; reply: for a request. For a legacy client whose requests may take long the stream begins at once.
  take(raw, msg, reply, modern = false) {
    if (reply)
      this.#open.push({ id: member(raw, 'id'), token: member(raw, 'params', '_meta', 'progressToken'), reply, modern });
    this.server.send(raw.replace(/[\r\n]+/g, ' '));
  }

  listen(reply) {
    this.#get = reply;
    reply.stream();
    reply.res.write(': open\n\n');
    reply.res.on('close', () => { this.#get = this.#get === reply ? undefined : this.#get; });
  }

  end() {
    this.server.lines.child.stdin.end();
  }
}

class Bridge {
  #sessions = new Map();
  #start;

  constructor({ command, args, env }) {
    this.#start = () => McpStdio.spawn(command, args, { env });
    this.http = http.createServer((req, res) => this.#serve(req, res).catch((e) => {
      console.error(e);
      res.destroy();
    }));
  }

  async #serve(req, res) {
    const { host, origin } = req.headers;
    const chunks = [];

    if (!LOCAL.test(host ?? '') || (origin !== undefined && !LOCAL.test(origin.replace(/^https?:\/\//, ''))))
      return res.writeHead(403).end();
    for await (const chunk of req)
      chunks.push(chunk);
    if (req.method === 'POST')
      return this.#post(req, res, Buffer.concat(chunks).toString());
    const session = this.#sessions.get(req.headers['mcp-session-id']);
    if (!session)
      return res.writeHead(req.headers['mcp-session-id'] ? 404 : 405, { allow: 'POST' }).end();
    if (req.method === 'GET')
      return session.listen(new Reply(req, res));
    session.end();
    this.#sessions.delete(req.headers['mcp-session-id']);
    return res.writeHead(req.method === 'DELETE' ? 200 : 405).end();
  }

  #post(req, res, raw) {
    const msg = JSON.parse(raw);
    const id = req.headers['mcp-session-id'];

    if (!id && (req.headers['mcp-protocol-version'] === MODERN || msg.params?._meta?.[`${META}protocolVersion`]))
      return this.#modern(req, res, raw, msg);
    if (!id && msg.method === 'initialize')
      return this.#initialize(req, res, raw, msg);
    const session = this.#sessions.get(id);
    if (!session)
      return res.writeHead(id ? 404 : 400).end();
    return this.#pass(session, req, res, raw, msg);
  }

  #pass(session, req, res, raw, msg, headers) {
    if (msg.method === undefined || msg.id === undefined) {
      session.take(raw, msg);
      return res.writeHead(202).end();
    }
    return session.take(raw, msg, new Reply(req, res, headers));
  }

  #initialize(req, res, raw, msg) {
    const id = crypto.randomUUID();
    const session = new Conversation(this.#start);

    this.#sessions.set(id, session);
    return this.#pass(session, req, res, raw, msg, { 'mcp-session-id': id });
  }

  // What the headers of a modern request say must be what its body says.
  #mismatch(req, msg) {
    const decode = (text) => text?.replace(/^=\?base64\?(.*)\?=$/, (_, coded) => Buffer.from(coded, 'base64').toString());
    const version = msg.params?._meta?.[`${META}protocolVersion`];
    const pairs = [['mcp-protocol-version', version], ['mcp-method', msg.method],
      ['mcp-name', { 'tools/call': msg.params?.name, 'prompts/get': msg.params?.name, 'resources/read': msg.params?.uri }[msg.method]]];

    return pairs.find(([name, value]) => value !== undefined && decode(req.headers[name]) !== String(value))?.[0];
  }

  async #modern(req, res, raw, msg) {
    const reply = new Reply(req, res);
    const wrong = this.#mismatch(req, msg);

    if (wrong)
      return reply.end(errorText(member(raw, 'id'), -32020, `the header ${wrong} is not what the body says`), 400);
    if (msg.id === undefined)
      return res.writeHead(202).end();
    const one = new Conversation(this.#start);
    // A first "initialize" would make a legacy client of it.
    if (msg.method === 'initialize') {
      one.server.modern = true;
      await one.server.request('server/discover', {}, { id: 'bridge' });
    }
    res.on('close', () => {
      if (!res.writableFinished)
        one.server.cancel(member(raw, 'id'));
      one.end();
    });
    return one.take(raw, msg, reply, true);
  }

  async close() {
    this.http.closeAllConnections();
    for (const session of this.#sessions.values())
      session.end();
    await new Promise((resolve) => { this.http.close(resolve); });
  }
}

export async function startBridge(server) {
  const bridge = new Bridge(server);

  await new Promise((resolve) => { bridge.http.listen(0, '127.0.0.1', resolve); });
  bridge.url = `http://127.0.0.1:${bridge.http.address().port}/mcp`;
  return bridge;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [command, ...args] = process.argv.slice(2);

  startBridge({ command, args }).then(({ url }) => console.log(url)); // no await: require() takes no module that waits
}
