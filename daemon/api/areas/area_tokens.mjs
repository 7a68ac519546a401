// SPDX-License-Identifier: Apache-2.0
// Tokens that the daemon mints: with a scope, for some sessions, until a time.
import { anyOf, array, content, fields, integer, json, object, ref, string, time, word } from '../notation.mjs';

const SCOPES = ['admin', 'drive', 'observe', 'usage', 'model', 'tools'];
// Beyond what its sessions have.
const ceiling = { level: anyOf([word(['guarded', 'strict', 'open']), ref('LevelRequest')], 'the least level that it may give its sessions'), network: ref('Network'), limits: ref('ProcessLimits') };
const minted = {
  id: string('its name in lists and logs, no credential'), scope: word(SCOPES), 'sessions?': array(string(), 'it is limited to these'), ...Object.fromEntries(Object.entries(ceiling).map(([name, type]) => [`${name}?`, type])), expiresAt: time(), createdAt: time(), label: string(),
};

export default {
  page: 'tokens',
  parameters: { tokenId: { description: 'the id of a token, not the token', schema: { type: 'string' } } },
  types: {
    TokenOrder: fields('daemon/access/token_order.c:order_fields', {
      scope: { description: 'what it may', enum: SCOPES }, sessions: { description: 'the sessions that it is limited to', items: { type: 'string' }, minItems: 1 },
      expiresAt: { description: 'when it is over: at most 366 days away', format: 'date-time' }, label: 'what it is for, for people', ...ceiling,
    }),
    TokenMinted: object({ token: string('the token: this is the only time that it is told'), ...minted }, 'a new token'),
    Token: object({ ...minted, connections: integer('WebSockets, streams and uploads of it that are open') }, 'a token that holds'),
    Tokens: object({ tokens: array(ref('Token')) }),
    OwnToken: object({ id: minted.id, scope: minted.scope, 'sessions?': minted['sessions?'] }, 'what the token of this connection or request may, unless it is the one of the claim'),
  },
  routes: {
    'GET /v1/tokens': { id: 'getTokens', says: 'Tokens that hold', answers: { 200: json(ref('Tokens'), 'without the tokens themselves') } },
    'POST /v1/tokens': { id: 'postToken', says: 'Mints a token', body: { required: true, content: content('application/json', ref('TokenOrder')) }, answers: { 201: json(ref('TokenMinted'), 'it holds from now on') } },
    'DELETE /v1/tokens/{tokenId}': { id: 'deleteToken', says: 'Revokes a token and closes its connections', answers: { 200: json(object({}), 'it is revoked') } },
  },
  methods: {
    '_acpd/tokens/mint': { says: 'Mints a token', params: ref('TokenOrder'), result: ref('TokenMinted') },
    '_acpd/tokens/list': { says: 'Tokens that hold', params: fields('daemon/acp/acp_daemon.c:token_list_fields', {}), result: ref('Tokens') },
    '_acpd/tokens/revoke': { says: 'Revokes a token and closes its connections', params: fields('daemon/acp/acp_daemon.c:revoke_fields', { id: 'the id of the token' }), result: object({}) },
  },
};
