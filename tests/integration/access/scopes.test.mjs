// SPDX-License-Identifier: Apache-2.0
// Every route and every method, by a token of every scope and by one that is limited to a session, against what the daemon's own tables say
// that each needs. A row that says nothing, or a word that this file does not know, fails.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { methodTable, routeTable } from '../../lib/tables.mjs';
import { LEAST, MEETS, SCOPES, mint } from '../../lib/tokens.mjs';

const HELD = ['NONE', 'NAMED', 'OWN', 'ALL'];
let d, c, mine, other;
const tokens = {};

before(async () => {
  d = await Daemon.start();
  c = await d.client();
  mine = (await c.newSession()).sessionId;
  other = (await c.newSession()).sessionId;
  for (const scope of SCOPES)
    tokens[scope] = (await mint(d, scope)).token;
  tokens.limited = (await mint(d, 'drive', { sessions: [mine] })).token;
});
after(() => endInOrder(d, c));

test('each row of both tables says what it needs', () => {
  for (const { name, path, need, sessions } of [...routeTable(), ...methodTable()]) {
    assert.ok(need === 'OPEN' || need in MEETS, `${name ?? path}: ${need}`);
    assert.ok(HELD.includes(sessions), `${name ?? path}: ${sessions}`);
  }
});

// Refused for want of a scope: [status, scope]; else the status. The query is one that no route has: whoever is let in gets 400 or what it
// always says, and nothing is done.
async function asked(token, { method, path }, session) {
  const headers = { Accept: 'application/json, text/event-stream', ...(method === 'POST' && { 'Content-Type': 'application/json' }) };
  const { status, json } = await d.http(`${path.replace('{}', session).replaceAll('{}', 'x')}?zz=1`, { method, token, headers });

  return json?.error?.reason === 'SCOPE_REQUIRED' || json?.error?.data?.reason === 'SCOPE_REQUIRED' ? [status, json.error.scope ?? json.error.data.scope] : status;
}

describe('routes', () => {
  for (const row of routeTable().filter((r) => r.path !== '/v1/claim'))
    test(`${row.method} ${row.path}`, async () => {
      for (const scope of SCOPES) {
        const got = await asked(tokens[scope], row, mine);

        if (row.open || MEETS[row.need].includes(scope))
          assert.ok(typeof got === 'number' && got !== 401 && got !== 403, `${scope}: ${got}`);
        else
          assert.deepEqual(got, [403, LEAST[row.need]], scope);
      }
      assert.equal(await asked('no-such-token-at-all', row, mine), row.open ? await asked(undefined, row, mine) : 401);
    });

  for (const row of routeTable().filter((r) => r.path !== '/v1/claim' && !r.open && MEETS[r.need].includes('drive')))
    test(`${row.method} ${row.path}, limited to a session`, async () => {
      const got = await asked(tokens.limited, row, other);

      if (row.sessions === 'ALL')
        assert.deepEqual(got, [403, LEAST[row.need]]);
      else if (row.sessions === 'NAMED')
        assert.equal(got, 404);
      else
        assert.ok(typeof got === 'number' && got !== 401 && got !== 403, String(got));
    });
});

describe('methods', () => {
  const clients = {};

  before(async () => {
    for (const scope of [...MEETS.ACP, 'limited'])
      clients[scope] = await d.client({ token: tokens[scope], init: { caps: { _meta: { acpd: { model: { apis: ['anthropic'] } } } } } });
  });
  after(() => Promise.all(Object.values(clients).map((k) => k.close())));

  for (const scope of SCOPES.filter((s) => !MEETS.ACP.includes(s)))
    test(`the handshake with ${scope}`, async () => {
      const ws = await d.ws({ token: tokens[scope] });

      assert.equal(ws.status, 403);
      assert.deepEqual([JSON.parse(ws.body).error.reason, JSON.parse(ws.body).error.scope], ['SCOPE_REQUIRED', LEAST.ACP]);
      ws.destroy();
    });

  // A notification has no answer; observe.test.mjs looks at what comes of some. The parameters are of no method, so nothing is done.
  const ask = async (k, name, sessionId) => (await k.request(name, { sessionId, zz: 1 }).answer).error;

  for (const row of methodTable().filter((m) => m.kind === 'REQUEST' && m.name !== 'initialize'))
    test(row.name, async () => {
      for (const scope of MEETS.ACP) {
        const error = await ask(clients[scope], row.name, 'none');

        if (MEETS[row.need].includes(scope))
          assert.notEqual(error?.data.reason, 'SCOPE_REQUIRED', scope);
        else
          assert.deepEqual([error?.code, error?.data.reason, error?.data.scope], [-32600, 'SCOPE_REQUIRED', LEAST[row.need]], scope);
      }
      if (!MEETS[row.need].includes('drive'))
        return;
      const error = await ask(clients.limited, row.name, other);
      if (row.sessions === 'ALL')
        assert.deepEqual([error?.data.reason, error?.data.scope], ['SCOPE_REQUIRED', LEAST[row.need]]);
      else if (row.sessions !== 'NONE')
        assert.deepEqual([error?.code, error?.data.reason, error?.data.sessionId], [-32002, 'SESSION_NOT_FOUND', other]);
    });

  test('the session that nobody may touch is as it was', async () => {
    const { sessions } = await c.call('_acpd/status', { sessionId: other });

    assert.deepEqual([sessions[0].state, sessions[0].turns], ['open', 0]);
  });
});
