// SPDX-License-Identifier: Apache-2.0
// The official client: @agentclientprotocol/sdk over its own WebSocket stream, with the package ws.
//
//   const c = await connectSdk(daemon, { onPermission: () => 'allow' });
//   await c.initialize();
//   const { sessionId } = await c.newSession();
//   const { stopReason } = await c.prompt(sessionId, 'echo hi');
//
// SDK 2.x has no ClientSideConnection: an app from client() is connected to a stream, and
// connection.agent.request(method, params) calls the agent. Errors are the SDK's RequestError
// (.code, .message, .data).

import * as acp from '@agentclientprotocol/sdk/unstable';
import { createWebSocketStream } from '@agentclientprotocol/sdk/experimental/ws-client';
import { WebSocket } from 'ws';
import { noteViolation } from './acp.mjs';
import { messageProblems } from './described.mjs';
import { bearer, bearerProtocol, deadline } from './rawws.mjs';

export { acp };

const asOutcome = (choice) => (typeof choice !== 'string' ? choice
  : choice === 'cancelled' ? { outcome: { outcome: 'cancelled' } }
    : { outcome: { outcome: 'selected', optionId: choice } });

// A WebSocket class whose last instance can be looked at (status of a refusal, headers, close code).
function observed(seen) {
  return class extends WebSocket {
    constructor(url, protocols, options) {
      super(url, protocols, options);
      seen.socket = this;
      this.on('upgrade', (res) => { seen.upgrade = { status: res.statusCode, headers: res.headers }; });
      this.on('unexpected-response', (req, res) => {
        seen.refusal = { status: res.statusCode, headers: res.headers };
        this.emit('error', new Error(`Unexpected server response: ${res.statusCode}`));
        req.destroy();
      });
      this.on('message', (data) => this.#check(JSON.parse(data)));
      this.on('close', (code, reason) => { seen.close = { code, reason: reason.toString() }; });
    }

    #asked = new Map();

    send(data, ...rest) {
      const { id, method, params } = JSON.parse(data);

      if (id !== undefined && method)
        this.#asked.set(id, { method, params });
      super.send(data, ...rest);
    }

    #check(msg) {
      for (const found of messageProblems(msg, msg.method ? undefined : this.#asked.get(msg.id)))
        noteViolation(`${found} in ${JSON.stringify(msg).slice(0, 400)}`);
    }
  };
}

function buildApp(client, handlers) {
  const app = acp.client({ name: handlers.name ?? 'acpd-test-sdk' })
    .onRequest(acp.methods.client.session.requestPermission, async ({ params, signal }) => {
      client.permissions.push(params);
      if (!client.onPermission)
        throw acp.RequestError.methodNotFound('session/request_permission');
      return asOutcome(await client.onPermission(params, signal));
    })
    .onNotification(acp.methods.client.session.update, async ({ params }) => {
      const { seq, turn } = params._meta?.acpd ?? {};
      const item = { sessionId: params.sessionId, update: params.update, seq, turn, params };

      client.updates.push(item);
      await handlers.onUpdate?.(item);
    })
    .onNotification('*', async ({ params, method }) => {
      client.notifications.push({ method, params });
      await handlers.onNotification?.(method, params);
    });

  if (handlers.onElicit)
    app.onRequest(acp.methods.client.elicitation.create, ({ params }) => handlers.onElicit(params));
  if (handlers.mcp)
    app.onRequest(acp.methods.client.mcp.message, handlers.mcp.handleRequest);
  handlers.tunnel?.register(app);
  return app;
}

export class SdkClient {
  updates = []; // {sessionId, update, seq, turn, params}
  permissions = []; // params of each question
  notifications = []; // {method, params} of all others
  seen = {}; // socket, upgrade {status, headers}, refusal {status, headers}, close {code, reason}

  constructor(daemon, handlers) {
    this.daemon = daemon;
    this.onPermission = handlers.onPermission;
  }

  get agent() {
    return this.connection.agent;
  }

  get closed() {
    return this.connection.closed;
  }

  async request(method, params = {}, { timeout = 30000, ...options } = {}) {
    return deadline(this.agent.request(method, params, options), timeout, `${method} (sdk)`);
  }

  notify(method, params) {
    return this.agent.notify(method, params);
  }

  async initialize({ acpd = true, caps = {}, ...rest } = {}) {
    this.initializeResult = await this.request(acp.methods.agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: acpd ? { ...caps, _meta: { ...caps._meta, acpd: typeof acpd === 'object' ? acpd : {} } } : caps,
      clientInfo: { name: 'acpd-test-sdk', version: '0' },
      ...rest,
    });
    this.daemon.sawOwner?.(this.initializeResult.agentCapabilities?._meta?.acpd?.incarnation);
    return this.initializeResult;
  }

  newSession({ cwd = this.daemon.workDir ?? '/tmp', mcpServers = [], meta, ...rest } = {}) {
    const params = { cwd, mcpServers, ...rest, ...(meta && { _meta: { acpd: meta } }) };

    return this.request(acp.methods.agent.session.new, params);
  }

  load(sessionId, { cwd = this.daemon.workDir ?? '/tmp', mcpServers = [], meta, ...rest } = {}) {
    const params = { sessionId, cwd, mcpServers, ...rest, ...(meta && { _meta: { acpd: meta } }) };

    return this.request(acp.methods.agent.session.load, params);
  }

  prompt(sessionId, prompt, { meta, ...options } = {}) {
    const blocks = typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : prompt;

    const params = { sessionId, prompt: blocks, ...(meta && { _meta: meta }) };

    return this.request(acp.methods.agent.session.prompt, params, options);
  }

  cancel(sessionId) {
    return this.notify(acp.methods.agent.session.cancel, { sessionId });
  }

  chunks(sessionId, from = 0) {
    return this.updates.slice(from)
      .filter((u) => u.sessionId === sessionId && u.update.sessionUpdate === 'agent_message_chunk')
      .map((u) => u.update.content.text);
  }

  // Ends the connection; resolves when the socket is closed, with {code, reason}.
  async close() {
    const { socket } = this.seen;
    const ended = new Promise((resolve) => {
      if (socket.readyState === WebSocket.CLOSED)
        resolve();
      else
        socket.once('close', resolve);
    });

    this.connection.close();
    await deadline(ended, 10000, 'the sdk connection to close');
    return this.seen.close;
  }
}

// handlers: onPermission(params, signal) => optionId | 'cancelled' | response, onUpdate(item),
// onNotification(method, params), onElicit(params), mcp (a McpOverAcpProvider),
// tunnel (a ModelTunnel), name.
// options: url, token (null: none), auth 'header' (default) or 'protocol', headers, protocols.
export async function connectSdk(daemon, handlers = {}, options = {}) {
  const { url = daemon.url, token = daemon.token, auth = 'header', headers = {}, protocols } = options;
  const client = new SdkClient(daemon, handlers);
  const viaHeader = auth === 'header' && token;
  const stream = createWebSocketStream(url, {
    WebSocket: observed(client.seen),
    headers: { ...(viaHeader && { Authorization: bearer(token) }), ...headers },
    protocols: protocols ?? (auth === 'protocol' ? ['acp.v1', bearerProtocol(token)] : undefined),
  });

  client.connection = buildApp(client, handlers).connect(stream);
  client.connection.closed.catch(() => {});
  return client;
}
