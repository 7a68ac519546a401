// SPDX-License-Identifier: Apache-2.0
// The daemon's life as its clients see it.

// The answer of GET /v1/status.
export async function status(d) {
  const { json } = await d.http('/v1/status', { token: d.token });

  return json;
}

// POST /v1/shutdown; body: an object, or none. {status, json}.
export function shutdown(d, body, { token = d.token } = {}) {
  return d.http('/v1/shutdown', { method: 'POST', token, ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }) });
}

// The statuses that were pushed to a client, oldest first.
export const pushed = (client) => client.messages.filter((m) => m.method === '_acpd/status').map((m) => m.params);
