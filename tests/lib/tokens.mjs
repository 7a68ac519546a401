// SPDX-License-Identifier: Apache-2.0
// Minted tokens, for tests.

import assert from 'node:assert/strict';

export const SCOPES = ['admin', 'drive', 'observe', 'usage', 'model', 'tools'];

// Which scopes meet a need of the tables, said here once more so that a change of the daemon's own order is seen.
export const MEETS = {
  ANY: SCOPES, ACP: ['admin', 'drive', 'observe', 'model'], ADMIN: ['admin'], DRIVE: ['admin', 'drive'], OBSERVE: ['admin', 'drive', 'observe'],
  USAGE: ['admin', 'drive', 'observe', 'usage'], MODEL: ['admin', 'drive', 'model'], TOOLS: ['admin', 'drive', 'tools'],
};
// The word that a refusal names.
export const LEAST = { ACP: 'observe', ADMIN: 'admin', DRIVE: 'drive', OBSERVE: 'observe', USAGE: 'usage', MODEL: 'model', TOOLS: 'tools' };

export const inMs = (ms) => new Date(Date.now() + ms).toISOString();

// {id, token, …}, by HTTP.
export async function mint(d, scope, { sessions, ms = 3600000, label = `for ${scope}`, token = d.token } = {}) {
  const { status, json } = await d.http('/v1/tokens', { method: 'POST', token, headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ scope, ...(sessions && { sessions }), expiresAt: inMs(ms), label }) });

  assert.equal(status, 201, JSON.stringify(json));
  return json;
}

export const revoke = (d, id) => d.http(`/v1/tokens/${id}`, { method: 'DELETE', token: d.token });
export const listed = async (d) => (await d.http('/v1/tokens', { token: d.token })).json.tokens;
