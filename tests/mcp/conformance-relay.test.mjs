// SPDX-License-Identifier: Apache-2.0
// The official conformance suite through the relay, beside the same suite without it:
//
//   suite - HTTP - bridge.mjs - acpd mcp - UNIX socket - acpd - WebSocket - orchestrator on the official ACP SDK - fixture
//   suite - HTTP - bridge.mjs - fixture
//
// Both requirement lists must pass as a whole, and what passes must be the same.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../lib/daemon.mjs';
import { FIXTURE } from '../lib/mcp.mjs';
import { conformance, required } from '../lib/mcp-conformance.mjs';
import { Forwarder, SdkOrchestrator, givenServers } from '../lib/mcp-orchestrators.mjs';
import { SLOW } from '../lib/rawws.mjs';
import { startBridge } from './bridge.mjs';

let daemon, fixture, orchestrator, relayed, direct;

before(async () => {
  daemon = await Daemon.start();
  fixture = new Forwarder(FIXTURE);
  orchestrator = await SdkOrchestrator.connect(daemon, { fixture: fixture.handler });
  const { sessionId } = await orchestrator.newSession();
  const [{ command, args, env }] = await givenServers(orchestrator.sdk, sessionId);
  relayed = await startBridge({ command, args, env: Object.fromEntries(env.map(({ name, value }) => [name, value])) });
  direct = await startBridge({ command: FIXTURE });
});

after(async () => {
  await relayed?.close();
  await direct?.close();
  await orchestrator?.close();
  await endInOrder(daemon);
  await fixture?.close();
});

for (const requirements of ['2025-11-25', '2026-07-28']) {
  describe(requirements, () => {
    test('direct and through the relay', { timeout: 600_000 * SLOW }, async () => {
      const plain = await conformance({ url: direct.url, requirements });
      const through = await conformance({ url: relayed.url, requirements });

      assert.deepEqual(plain.failed, {}, 'direct');
      assert.deepEqual(through.failed, {}, 'through the relay');
      assert.deepEqual(through.passed, plain.passed);
      assert.deepEqual(through.passed, required(requirements));
      // A check that warns through the relay and does not without it is worse, too.
      const worse = Object.entries(through.checks).filter(([name, status]) => status === 'WARNING' && plain.checks[name] === 'SUCCESS');
      assert.deepEqual(worse, []);
    });
  });
}
