// SPDX-License-Identifier: Apache-2.0
// Orchestrators that serve MCP over ACP, in two kinds:
//
//   SdkOrchestrator   the official ACP SDK with its McpOverAcpProvider; what it serves is a handler, for instance a fixture
//   RawOrchestrator   frames of our own over a raw WebSocket: what came and what goes is text, byte for byte
//
// Forwarder is the handler that speaks modern MCP to a program on its standard input and output (the fixture).

import { acp, connectSdk } from './sdk.mjs';
import { AcpClient } from './rawws.mjs';
import { McpStdio, META, member } from './mcp.mjs';

// --- the fixture behind the SDK's provider ----------------------------------------------------

export class Forwarder {
  #tokens = new Map(); // of ours -> {token, notify}
  #listens = new Map(); // id of ours -> {requestId, notify}
  #loggers = new Set();
  #next = 1;

  constructor(command, args) {
    this.server = McpStdio.spawn(command, args);
    this.server.lines.on('message', ({ payload }) => this.#told(JSON.parse(payload.toString())));
  }

  #told({ id, method, params }) {
    if (method === undefined || id !== undefined)
      return;
    const token = this.#tokens.get(params?.progressToken);
    if (method === 'notifications/progress') {
      token?.notify(method, { ...params, progressToken: token.token });
      return;
    }
    if (method === 'notifications/message') {
      [...this.#loggers].at(-1)?.(method, params);
      return;
    }
    const listen = this.#listens.get(params?._meta?.[`${META}subscriptionId`]);
    listen?.notify(method, { ...params, _meta: { ...params._meta, [`${META}subscriptionId`]: listen.requestId } });
  }

  // As McpOverAcpProvider wants it. One program serves many requests: tokens and ids are made unique on the way.
  handler = async ({ requestId, method, params = {}, signal, notify }) => {
    const id = this.#next++;
    const mine = `t${id}`;
    const token = params._meta?.progressToken;
    const meta = token === undefined ? params._meta : { ...params._meta, progressToken: mine };

    if (token !== undefined)
      this.#tokens.set(mine, { token, notify });
    if (method === 'subscriptions/listen')
      this.#listens.set(id, { requestId, notify });
    if (meta?.[`${META}logLevel`])
      this.#loggers.add(notify);
    try {
      return await this.#ask(id, method, { ...params, _meta: meta }, signal);
    } finally {
      this.#tokens.delete(mine);
      this.#listens.delete(id);
      this.#loggers.delete(notify);
    }
  };

  #ask(id, method, params, signal) {
    const { answer } = this.server.begin(method, JSON.stringify(params), { id });

    return new Promise((resolve, reject) => {
      answer.then(({ msg }) => resolve(msg.error ? { error: msg.error } : { result: msg.result }));
      this.server.lines.closed.then(() => reject(new Error(`the server has gone: ${this.server.lines.stderr}`)));
      signal.addEventListener('abort', () => {
        this.server.cancel(id);
        reject(signal.reason);
      });
    });
  }

  close() {
    return this.server.close();
  }
}

export class SdkOrchestrator {
  // servers: {name: handler}. handlers: those of connectSdk.
  static async connect(daemon, servers, handlers = {}, options = {}) {
    const o = new SdkOrchestrator();

    o.provider = new acp.McpOverAcpProvider();
    o.sdk = await connectSdk(daemon, { onPermission: () => 'allow', ...handlers, mcp: o.provider }, options);
    await o.sdk.initialize();
    o.registrations = Object.entries(servers)
      .map(([name, handler]) => o.provider.registerServer(o.sdk.agent, { name, handler, maxActiveRequests: 256 }));
    return o;
  }

  get declarations() {
    return this.registrations.map((r) => r.declaration);
  }

  newSession(opts = {}) {
    return this.sdk.newSession({ mcpServers: this.declarations, ...opts });
  }

  close() {
    return this.sdk.close();
  }
}

// --- the raw twin ----------------------------------------------------------------------------

// One mcp/message request as it came. Whatever is answered is text.
class RawCall {
  constructor(orchestrator, raw) {
    this.orchestrator = orchestrator;
    this.raw = raw;
    this.msg = JSON.parse(raw);
    this.id = member(raw, 'id');
    this.method = this.msg.params.method;
    this.inner = member(raw, 'params', 'params'); // text of the MCP request's params
    this.cancelled = new Promise((resolve) => { this.cancel = resolve; });
  }

  get name() {
    return this.msg.params.params?.name;
  }

  meta(key) {
    return member(this.inner, '_meta', key);
  }

  #send(rest) {
    this.orchestrator.ws.text(`{"jsonrpc":"2.0","id":${this.id},${rest}}`);
  }

  result(text) {
    this.#send(`"result":{"result":${text}}`);
  }

  error(text) {
    this.#send(`"result":{"error":${text}}`);
  }

  // Of the binding itself.
  outerError(text) {
    this.#send(`"error":${text}`);
  }

  notify(method, params) {
    const { serverId, requestId } = this.msg.params;

    this.orchestrator.ws.text(`{"jsonrpc":"2.0","method":"mcp/message","params":{"serverId":${JSON.stringify(serverId)},` +
      `"requestId":${JSON.stringify(requestId)},"method":${JSON.stringify(method)},"params":${params}}}`);
  }
}

// The list of one tool, "raw", with such annotations; a handler of tools/list.
export const listing = (annotations) => (call) => call.result(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[` +
  `${JSON.stringify({ name: 'raw', description: 'As it is', inputSchema: { type: 'object' }, ...(annotations && { annotations }) })}]}`);

export class RawOrchestrator {
  calls = [];
  cancels = []; // raw $/cancel_request
  handlers = {}; // method -> (call) => …

  // handlers are given the call and answer it, or not. server/discover and tools/list are answered if there is no handler. opts: those of
  // AcpClient.connect, and caps, further client capabilities.
  static async connect(daemon, handlers = {}, opts = {}) {
    const o = new RawOrchestrator();

    o.client = await AcpClient.connect(daemon, opts);
    o.ws = o.client.ws;
    o.handlers = { ...defaults, ...handlers };
    o.client.onRequest('mcp/message', () => new Promise(() => {})); // answered below
    o.ws.on('message', ({ payload }) => o.#take(payload.toString()));
    await o.client.initialize({ caps: opts.caps });
    return o;
  }

  #take(raw) {
    if (raw.includes('"$/cancel_request"') && member(raw, 'method') === '"$/cancel_request"') {
      this.cancels.push(raw);
      this.calls.find((c) => c.id === member(raw, 'params', 'requestId'))?.cancel(raw);
      return;
    }
    if (!raw.includes('mcp/message') || member(raw, 'method') !== '"mcp/message"' || member(raw, 'id') === undefined)
      return;
    const call = new RawCall(this, raw);
    const handler = this.handlers[call.method];

    this.calls.push(call);
    if (handler)
      handler(call);
    else
      call.error('{"code":-32601,"message":"Method not found"}');
  }

  of(method) {
    return this.calls.filter((c) => c.method === method);
  }

  declaration(name = 'tools') {
    return { type: 'acp', name, serverId: `${name}:raw` };
  }

  newSession({ servers = ['tools'], ...opts } = {}) {
    return this.client.newSession({ mcpServers: servers.map((name) => this.declaration(name)), ...opts });
  }

  close() {
    return this.client.close();
  }
}

const INFO = `"_meta":{"${META}serverInfo":{"name":"twin","version":"1.0"}}`;
const defaults = {
  'server/discover': (call) => call.result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},` +
    `"resources":{"subscribe":true},"prompts":{},"logging":{},"completions":{}},"ttlMs":0,"cacheScope":"private",${INFO}}`),
  'tools/list': listing(),
};

// --- what a harness is given -------------------------------------------------------------------

// The servers of the session as the stub agent was given them: {name, command, args, env}.
export async function givenServers(client, sessionId) {
  const from = client.updates.length;

  await client.prompt(sessionId, 'getparams');
  return JSON.parse(client.chunks(sessionId, from).join('')).mcpServers;
}

// Starts what a harness is given for a server, as the harness would.
export function startShim({ command, args, env }, options = {}) {
  return McpStdio.spawn(command, args, { env: Object.fromEntries(env.map(({ name, value }) => [name, value])), ...options });
}
