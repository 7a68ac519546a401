// SPDX-License-Identifier: Apache-2.0
// innerSandbox of a harness that has none: refused and not announced; "false" is no wish. With a real one: tests/harness/inner-sandbox.test.mjs.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';

const record = (d, id) => JSON.parse(fs.readFileSync(path.join(d.stateDir, 'sessions', `${id}.jsonl`), 'utf8').split('\n').findLast((line) => line.includes('"k":"session"'))).m;

test('who has no sandbox of its own cannot be asked for it, by any call', async (t) => {
  const d = await Daemon.startFor(t);
  const c = await d.client();
  const refused = async (method, params) => {
    const e = await c.fails(method, { cwd: d.workDir, mcpServers: [], ...params, _meta: { acpd: { innerSandbox: true } } });

    assert.deepEqual([e.code, e.data.reason, e.data.field], [-32602, 'CAPABILITY_MISSING', '_meta.acpd.innerSandbox']);
  };

  await refused('session/new', {});
  const { sessionId, _meta } = await c.newSession({ meta: { innerSandbox: false } });
  assert.equal(_meta.acpd.capabilities.sessionCapabilities._meta, undefined);
  assert.equal(record(d, sessionId).innerSandbox, false);
  await c.prompt(sessionId, 'hi');
  for (const method of ['session/load', 'session/resume', 'session/fork'])
    await refused(method, { sessionId });
  await c.load(sessionId, { meta: { innerSandbox: false } });
  await c.close();
});

test('initialize announces that of a harness which has one', async (t) => {
  const d = await Daemon.startFor(t, { flags: { defaultHarness: 'codex' } });
  const { initializeResult } = await d.client();

  assert.deepEqual(initializeResult.agentCapabilities.sessionCapabilities._meta, { acpd: { innerSandbox: true } });
});
