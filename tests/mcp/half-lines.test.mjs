// SPDX-License-Identifier: Apache-2.0
// build: both
// What the clients of a session's MCP socket may make the daemon keep: messages that are never ended, by however many of them.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { crowd } from '../lib/crowd.mjs';
import { Daemon, endInOrder, SANITIZED } from '../lib/daemon.mjs';
import { halfLine, relayed } from '../lib/half-lines.mjs';
import { openClient } from '../lib/mcp-relay.mjs';
import { deadline } from '../lib/rawws.mjs';

const MIB = 1 << 20;
let daemon;
before(async () => { daemon = await Daemon.start(); });
after(() => endInOrder(daemon));

test('40 connections with messages that do not end: bounded together, and the session goes on', async (t) => {
  const { o, given } = await relayed(daemon);
  t.after(() => o.close());
  const before = daemon.rss();
  let most = 0;
  const watch = setInterval(() => { most = Math.max(most, daemon.rss()); }, 5);
  t.after(() => clearInterval(watch));
  const many = Array.from({ length: 40 }, () => halfLine(given, 8 * MIB));

  await deadline(Promise.all(many.map((c) => c.written)), 60000, 'all of it to be written or refused');
  if (!SANITIZED && !process.env.ACPD_WRAP)
    assert.ok(most - before < 32 * MIB, `${((most - before) / MIB).toFixed(1)} MiB more`);
  assert.ok(many.some((c) => c.socket.destroyed), 'some were ended');
  for (const c of many)
    c.socket.destroy();
  const c = await openClient(t, given);
  assert.ok((await c.request('ping', {}, { timeout: 15000 })), 'another client of the same session is served');
});

test('those that do not say what they want give way to one that does', async (t) => {
  const { o, given } = await relayed(daemon);
  t.after(() => o.close());
  const path = given.env.find((e) => e.name === 'ACPD_MCP_SOCKET').value;
  const silent = await crowd(300, path, { say: '{"acpd":' });
  t.after(() => silent.end());
  const c = await openClient(t, given);

  assert.ok(await c.request('ping', {}, { timeout: 15000 }));
});
