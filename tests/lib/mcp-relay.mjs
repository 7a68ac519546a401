// SPDX-License-Identifier: Apache-2.0
// A relay from end to end, for tests: daemon, a session of the stub, a raw orchestrator on one side and, on the other, a client of our
// own in the place of the harness's: on what the session gave it, the shim `acpd mcp`.
//
//   const relay = await openRelay(t, daemon, { era: '2025-11-25', handlers: { 'tools/call': (call) => … } });
//   relay.o, relay.c        orchestrator and client; relay.session(opts) and relay.client(era) give more of both

import { RawOrchestrator, givenServers, startShim } from './mcp-orchestrators.mjs';
import { LEGACY, MODERN } from './mcp.mjs';

export const LEGACY_ERAS = ['2025-06-18', LEGACY];
export const ERAS = [...LEGACY_ERAS, MODERN];

// A client on a shim that has made its beginning. setup(c): before that.
export async function openClient(t, given, { era = LEGACY, capabilities = {}, setup } = {}) {
  const c = startShim(given);

  t.after(() => c.kill());
  c.modern = era === MODERN;
  c.capabilities = capabilities;
  setup?.(c);
  if (!c.modern)
    await c.initialize(era);
  return c;
}

export async function openRelay(t, daemon, { handlers, session = {}, orchestrator = {}, ...client } = {}) {
  const o = await RawOrchestrator.connect(daemon, handlers, orchestrator);

  t.after(() => o.close());
  const { sessionId } = await o.newSession(session);
  const given = await givenServers(o.client, sessionId);
  const c = await openClient(t, given[0], client);
  return { o, c, sessionId, given, client: (more = {}) => openClient(t, given[0], { ...client, ...more }) };
}
