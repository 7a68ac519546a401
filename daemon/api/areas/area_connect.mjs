// SPDX-License-Identifier: Apache-2.0
// Claiming, and the WebSocket of ACP.
import { anyOf, boolean, content, fields, header, json, map, object, ref, string } from '../notation.mjs';

export default {
  page: 'connect',
  types: {
    Claim: fields('daemon/net/claim/claim.c:claim_fields', {
      digest: { pattern: '^sha256:[0-9a-f]{64}$', description: 'of the token that the daemon is given' }, settings: map(anyOf([string(), { type: 'number' }, boolean()]), 'options of serve by name, without dashes'),
      webhooks: { items: ref('WebhookReceiver'), description: 'who is told what happens' }, sandboxId: 'the id of the sandbox', replace: 'give a claimed daemon another token: only over control.sock', keepTokens: 'with replace: minted tokens hold on',
    }, { description: 'what a claim sets' }),
    WebhookReceiver: fields('daemon/outbox/webhook_list.c:fields', {
      url: 'where events are sent', secret: 'signs them: whsec_ and base64', id: 'its name', events: { items: string(), description: 'types of events; all without it' },
    }),
  },
  routes: {
    'POST /v1/claim': { id: 'postClaim', says: 'Claims the daemon of an E2B sandbox by its access token', open: true, more: 'Only with --claim-e2b. It checks a token of its own.',
      headers: [{ name: 'X-Access-Token', in: 'header', description: 'the access token of the sandbox', schema: { type: 'string' } }],
      body: { required: true, content: content('application/json', ref('Claim')) },
      answers: { 200: json(object({}), 'it is claimed') } },
    // not of endpoints.c: net/ answers it
    'GET /acp': { id: 'getAcp', beside: true, says: 'The WebSocket of ACP', more: 'One JSON-RPC object in each text frame. The types AcpMethods and AcpSent describe what is '
      + 'private to acpd in it. The token stands in Authorization, or in the subprotocol acpd.bearer.TOKEN (base64url) beside acp.v1.',
      query: [{ name: 'harness', in: 'query', description: 'the harness of sessions that name none', schema: { type: 'string' } }],
      answers: { 101: { description: 'switched', headers: { 'Acp-Connection-Id': header('of this connection') } } } },
  },
};
