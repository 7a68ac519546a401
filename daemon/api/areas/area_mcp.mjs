// SPDX-License-Identifier: Apache-2.0
// MCP over HTTP, and the state of hosted servers.
import { array, content, events, foreign, header, integer, json, object, oneOf, only, query, ref, string, time, word } from '../notation.mjs';

const session = query('daemon/http/mcp/mcp_http.c:fields', { session: 'the tools of this session' });
const headers = ['MCP-Protocol-Version', 'Mcp-Method', 'Mcp-Name', 'Mcp-Session-Id'].map((name) => ({ name, in: 'header', description: 'as MCP has it', schema: { type: 'string' } }));
const message = oneOf([foreign('one message'), array(foreign(), 'a batch')], 'JSON-RPC, as MCP has it');
const failed = { '4XX': json({ anyOf: [ref('Error'), ref('McpFailure')] }, 'refused'), '5XX': json({ anyOf: [ref('Error'), ref('McpFailure')] }, 'not possible now') };
const post = (id, says) => ({ id, says, query: session, headers, body: { required: true, content: content('application/json', message) }, answers: {
  200: { description: 'the answer, or a stream that has it', headers: { 'Mcp-Session-Id': header('of the session that initialize has opened') },
    content: { ...content('application/json', ref('McpMessage')), ...events(ref('McpMessage')) } },
  202: { description: 'taken' }, ...failed } });
const get = (id, says) => ({ id, says, query: session, headers, answers: { 200: { description: 'messages of the server', content: events(ref('McpMessage')) }, ...failed } });
const del = (id, says) => ({ id, says, query: session, headers, answers: { 200: { description: 'it is over' }, 204: { description: 'it is over' }, ...failed } });

export default {
  page: 'mcp-http',
  types: {
    McpMessage: object({ jsonrpc: only('2.0'), 'id?': { type: ['string', 'number', 'null'] }, 'method?': string(), 'params?': foreign(), 'result?': foreign(), 'error?': foreign('code, message, data?') },
      'a message of JSON-RPC: MCP describes what it holds'),
    McpFailure: object({ jsonrpc: string(), 'id?': { type: ['string', 'integer', 'null'] }, error: foreign('code, message, data') }, 'an error of JSON-RPC'),
    HostedServer: object({
      name: string(), scope: word(['daemon', 'session']), 'sessionId?': string(), transport: word(['http', 'stdio']), state: string(), since: time(), 'revision?': string(), 'era?': word(['legacy', 'modern']),
      'serverInfo?': object({ 'name?': string(), 'version?': string() }), 'startMs?': integer(), 'latencyMs?': integer(), 'toolCount?': integer(),
      'lastError?': object({ reason: string(), 'field?': string(), message: string(), at: time() }), restarts: integer(), 'pid?': integer(),
    }),
    Hosted: object({
      servers: array(ref('HostedServer')), problems: array(object({ severity: word(['warning', 'error']), 'sessionId?': string(), 'server?': string(), 'field?': string(), reason: string(), message: string() })),
      'moreProblems?': integer(),
    }),
  },
  routes: {
    'GET /v1/mcp': { id: 'getHosted', says: 'The state of hosted MCP servers', answers: { 200: json(ref('Hosted'), 'as of now') } },
    'POST /mcp': post('postMcp', 'A message of MCP to the tools of the daemon or of a session'),
    'GET /mcp': get('getMcp', 'What the server says by itself'),
    'DELETE /mcp': del('deleteMcp', 'Ends a session of MCP'),
    'POST /mcp/{server}': post('postMcpServer', 'A message of MCP to a hosted server'),
    'GET /mcp/{server}': get('getMcpServer', 'What a hosted server says by itself'),
    'DELETE /mcp/{server}': del('deleteMcpServer', 'Ends a session of MCP with a hosted server'),
  },
};
