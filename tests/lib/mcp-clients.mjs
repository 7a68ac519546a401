// SPDX-License-Identifier: Apache-2.0
// The MCP clients that people really use, behind one face:
//
//   const c = await CLIENTS['SDK 2.x'].connect({ url, token });      or { command, args, env, cwd }
//   c.revision                          what was negotiated; Mastra tells over HTTP only, and after its first request
//   await c.tools()                     names, in the order in which they are listed
//   await c.call(name, args)            {failed, structured, content}: of a result, failed or not
//   await c.close()

import { noopLogger } from '@mastra/core/logger';
import { MCPClient } from '@mastra/mcp';
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { LEGACY, MODERN } from './mcp.mjs';

process.env.MASTRA_TELEMETRY_DISABLED = '1'; // read when something is to be told

const INFO = { name: 'acpd-test', version: '1' };
const headersOf = ({ token }) => (token ? { Authorization: `Bearer ${token}` } : {});
const asResult = ({ isError = false, structuredContent, content }) => ({ failed: isError, structured: structuredContent, content });

// Both generations of the TypeScript SDK check a structured result against the tool's output schema themselves.
class Sdk {
  constructor(client, revision) {
    Object.assign(this, { client, revision });
  }

  static async first(server) {
    const client = new Client1(INFO);
    let revision;
    const transport = server.url ? new Http1(new URL(server.url), { requestInit: { headers: headersOf(server) } })
      : new Stdio1({ stderr: 'inherit', ...server });
    // The transport is told what was negotiated; over standard input and output nobody else is.
    const { setProtocolVersion } = transport;
    transport.setProtocolVersion = (version) => {
      revision = version;
      setProtocolVersion?.call(transport, version);
    };

    await client.connect(transport);
    return new Sdk(client, revision);
  }

  static async second(server) {
    const client = new Client2(INFO, { versionNegotiation: { mode: 'auto' } });
    const transport = server.url ? new Http2(new URL(server.url), { requestInit: { headers: headersOf(server) } })
      : new Stdio2({ stderr: 'inherit', ...server });

    await client.connect(transport);
    return new Sdk(client, client.getNegotiatedProtocolVersion());
  }

  async tools() {
    const tools = [];
    let cursor;

    do {
      const page = await this.client.listTools(cursor === undefined ? {} : { cursor });
      tools.push(...page.tools.map((tool) => tool.name));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return tools;
  }

  async call(name, args) {
    return asResult(await this.client.callTool({ name, arguments: args }));
  }

  close() {
    return this.client.close();
  }
}

class Mastra {
  #tools;

  static async connect(server) {
    const c = new Mastra();
    const { url, command, args, env, cwd } = server;
    // It says nowhere what it negotiated, but its requests do.
    const watched = (input, init) => {
      c.revision = new Headers(init?.headers).get('mcp-protocol-version') ?? c.revision;
      return fetch(input, init);
    };
    const options = url ? { url: new URL(url), requestInit: { headers: headersOf(server) }, fetch: watched } : { command, args, env, cwd };

    c.client = new MCPClient({ id: `acpd-test-${Math.random()}`, servers: { acpd: options } });
    c.client.__setLogger(noopLogger);
    return c;
  }

  async tools() {
    const { toolsets, errors } = await this.client.listToolsetsWithErrors();

    if (Object.keys(errors ?? {}).length)
      throw new Error(JSON.stringify(errors));
    this.#tools = toolsets.acpd;
    return Object.keys(this.#tools);
  }

  // Its tools give the structured part alone, and throw for isError.
  async call(name, args) {
    if (!this.#tools)
      await this.tools();
    try {
      const answer = await this.#tools[name].execute(args, {});

      return { failed: false, structured: answer?.structuredContent ?? answer, content: answer?.content };
    } catch (e) {
      return { failed: true, content: [{ type: 'text', text: e.message }] };
    }
  }

  close() {
    return this.client.disconnect();
  }
}

export const CLIENTS = {
  'SDK 1.x': { connect: Sdk.first, revision: LEGACY },
  'SDK 2.x': { connect: Sdk.second, revision: MODERN },
  Mastra: { connect: Mastra.connect, revision: MODERN },
};
