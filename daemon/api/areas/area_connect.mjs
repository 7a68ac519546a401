// SPDX-License-Identifier: Apache-2.0
// Claiming, and the WebSocket of ACP.
import { content, foreign, header, json } from '../notation.mjs';

export default {
  page: 'connect',
  routes: {
    'POST /v1/claim': { id: 'postClaim', says: 'Claims the daemon of an E2B sandbox by its access token', open: true, more: 'Only with --claim-e2b. It checks a token of its own.',
      headers: [{ name: 'X-Access-Token', in: 'header', description: 'the access token of the sandbox', schema: { type: 'string' } }],
      body: { required: true, content: content('application/json', foreign('as the command claim of control.sock: daemon/protocol/connect.md')) },
      answers: { 200: json(foreign('what the claim has set'), 'it is claimed') } },
    // not of endpoints.c: net/ answers it
    'GET /acp': { id: 'getAcp', beside: true, says: 'The WebSocket of ACP', more: 'One JSON-RPC object in each text frame. The types AcpMethods and AcpSent describe what is '
      + 'private to acpd in it. The token stands in Authorization, or in the subprotocol acpd.bearer.TOKEN (base64url) beside acp.v1.',
      query: [{ name: 'harness', in: 'query', description: 'the harness of sessions that name none', schema: { type: 'string' } }],
      answers: { 101: { description: 'switched', headers: { 'Acp-Connection-Id': header('of this connection') } } } },
  },
};
