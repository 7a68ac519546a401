// SPDX-License-Identifier: Apache-2.0
// The official conformance suite against the endpoints of the daemon: /mcp/{name} with the fixture as a hosted server, which must pass both
// lists of requirements as a whole, and /mcp, the built-in tools, for all that needs no names of the fixture. The suite sends no token and
// calls itself a local page: a proxy adds the one, and its origin is allowed.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { endInOrder } from '../lib/daemon.mjs';
import { conformance, required } from '../lib/mcp-conformance.mjs';
import { startHosting, startProxy } from '../lib/mcp-http.mjs';
import { FIXTURE } from '../lib/mcp.mjs';
import { SLOW } from '../lib/rawws.mjs';

// What asks for nothing that only a fixture has. Where a scenario does so in some of its checks, those say so.
const FREE = {
  '2025-11-25': ['server-initialize', 'ping', 'tools-list', 'server-sse-multiple-streams', 'dns-rebinding-protection'],
  '2026-07-28': ['tools-list', 'server-sse-multiple-streams', 'dns-rebinding-protection'],
};
const PARTLY = { '2025-11-25': [], '2026-07-28': ['server-stateless', 'caching'] };
const FREE_UNSCORED = { '2025-11-25': ['server-session-lifecycle'], '2026-07-28': ['http-header-validation'] };

const expected = fs.readFileSync(path.join(import.meta.dirname, 'expected-failures.yml'), 'utf8')
  .split('\n').flatMap((line) => /^ {2}- ([\w-]+)/.exec(line)?.[1] ?? []);

let daemon, proxy;

before(async () => {
  proxy = await startProxy();
  daemon = await startHosting({ fixture: { command: FIXTURE } }, { flags: { allowOrigin: proxy.origins } });
  proxy.to(daemon);
});
after(async () => {
  await proxy?.close();
  await endInOrder(daemon);
});

const failing = (checks) => checks.filter((c) => c.startsWith('FAILURE'));

for (const requirements of Object.keys(FREE)) {
  describe(requirements, () => {
    test('the fixture as a hosted server: everything that is required', { timeout: 600_000 * SLOW }, async (t) => {
      const run = await conformance({ url: proxy.url('/mcp/fixture'), requirements });
      const known = required(requirements).filter((name) => expected.includes(name));

      assert.deepEqual(Object.keys(run.failed), known, JSON.stringify(run.failed, null, 2));
      for (const name of FREE_UNSCORED[requirements])
        assert.deepEqual(failing(run.unscored[name]), [], name);
      t.diagnostic(`${run.passed.length} of ${required(requirements).length} scenarios, ${Object.keys(run.checks).length} checks`);
    });

    test('the built-in tools: everything that needs no fixture', { timeout: 600_000 * SLOW }, async (t) => {
      const run = await conformance({ url: proxy.url('/mcp'), requirements });

      for (const name of FREE[requirements])
        assert.ok(run.passed.includes(name), `${name}: ${run.failed[name]}`);
      for (const name of FREE_UNSCORED[requirements])
        assert.deepEqual(failing(run.unscored[name]), [], name);
      for (const name of PARTLY[requirements]) {
        for (const why of run.failed[name] ?? [])
          assert.match(why, /does not list the diagnostic tool|have no such method$/, `${name}, and not for want of a fixture`);
      }
      t.diagnostic(`passed: ${run.passed.join(', ')}`);
    });
  });
}
