// SPDX-License-Identifier: Apache-2.0
// build: both
// What an idle session with MCP servers costs the daemon, after its harness has connected and listed the tools of two of them.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Daemon, endInOrder, SANITIZED } from '../lib/daemon.mjs';
import { givenServers, RawOrchestrator } from '../lib/mcp-orchestrators.mjs';
import { openClient } from '../lib/mcp-relay.mjs';
import * as procs from '../lib/procs.mjs';
import { sleep } from '../lib/rawws.mjs';

const SESSIONS = 12;
const KIB_MAX = 96; // with 2 connections and a child more than one without MCP servers; one big buffer kept would be over it
const FDS_MAX = 7 + 2 + 2 * 2 + 6; // harness, with its count of kills; socket and configuration of the tools; two connections; the tools' process

let d;
before(async () => { d = await Daemon.start(); });
after(() => endInOrder(d));

test('an idle session with two servers', { skip: (SANITIZED || process.env.ACPD_WRAP) && 'its memory is no measure' }, async (t) => {
  const o = await RawOrchestrator.connect(d);
  t.after(() => o.close());
  const one = async () => {
    const { sessionId } = await o.newSession({ meta: { mcp: { builtin: true } } });

    for (const given of await givenServers(o.client, sessionId)) {
      const c = await openClient(t, given);

      assert.ok((await c.request('tools/list')).msg.result.tools.length > 0);
    }
  };
  const look = async () => {
    await sleep(300);
    return { dirty: procs.privateDirty(d.pid), fds: d.fdCount() };
  };

  await one();
  const before = await look();
  for (let i = 0; i < SESSIONS; i++)
    await one();
  const now = await look();
  const kib = (now.dirty - before.dirty) / SESSIONS / 1024, fds = (now.fds - before.fds) / SESSIONS;

  t.diagnostic(`${kib.toFixed(1)} KiB and ${fds} descriptors each`);
  assert.ok(kib <= KIB_MAX, `${kib} KiB each`);
  assert.ok(fds <= FDS_MAX, `${fds} descriptors each`);
});
