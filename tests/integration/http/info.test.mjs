// SPDX-License-Identifier: Apache-2.0
// GET /v1/info: what is told before the first session, against what initialize, /ready and a session then say.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { ACPD, Daemon } from '../../lib/daemon.mjs';
import { mint } from '../../lib/tokens.mjs';
import { rootHasNamespaces } from '../../lib/namespaces.mjs';

const NOWHERE = { KUBERNETES_SERVICE_HOST: null, E2B_SANDBOX_ID: null };
const info = async (d) => (await d.http('/v1/info', { token: d.token })).json;
const signs = ['/run/e2b/.E2B_SANDBOX_ID', '/run/.containerenv', '/.dockerenv'].filter((file) => fs.existsSync(file));

// The daemon where a file is there that another sandbox's provider would write.
function within(d, file, text) {
  const program = path.join(d, 'acpd');
  const make = `mount -t tmpfs none /run && mkdir -p ${path.dirname(file)} && printf '${text}' > ${file} && exec ${ACPD} "$@"`;

  fs.writeFileSync(program, `#!/bin/sh\nexec unshare --mount sh -c '${make.replaceAll("'", "'\\''")}' sh "$@"\n`, { mode: 0o755 });
  return program;
}

test('it needs the token, has its members and no others, and says what initialize and /ready say', async (t) => {
  const d = await Daemon.startFor(t, { env: NOWHERE, flags: { backlogMax: 70000, sessionMax: 7 } });
  const c = await d.client();
  const { _meta: { acpd } } = c.initializeResult.agentCapabilities;
  const told = await info(d);
  const ready = (await d.http('/ready', { token: d.token })).json;

  assert.equal((await d.http('/v1/info')).status, 401);
  assert.equal((await d.http('/v1/info?x=1', { token: d.token })).json.error.reason, 'QUERY_UNKNOWN');
  if (!signs.length)
    assert.deepEqual(Object.keys(told), ['version', 'incarnation', 'remote', 'harnesses', 'features', 'limits', 'isolation', 'network', 'keyMemory', 'webhooks']);
  assert.deepEqual([told.version, told.incarnation, told.remote], [acpd.version, acpd.incarnation, false]);
  assert.deepEqual(told.features, acpd.features);
  assert.deepEqual(told.limits, acpd.limits);
  assert.deepEqual([told.limits.backlogBytes, told.limits.sessions], [70000, 7]);
  assert.deepEqual(told.harnesses, ready.harnesses);
  assert.deepEqual(told.isolation, ready.isolation);
  await c.close();
});

test('a token that was minted is told what it may', async (t) => {
  const d = await Daemon.startFor(t);
  const { token, id } = await mint(d, 'observe');

  assert.deepEqual((await d.http('/v1/info', { token })).json.token, { id, scope: 'observe' });
});

test('levels are told as a session then has them, or is refused', async (t) => {
  const d = await Daemon.startFor(t);
  const c = await d.client();
  const { isolation: { levels } } = await info(d);
  const doctor = spawnSync(ACPD, ['doctor', '--run-dir', d.runDir], { encoding: 'utf8' }).stdout;

  assert.deepEqual(levels.map((l) => l.name), ['open', 'guarded', 'strict']);
  assert.equal(levels[0].whole, true);
  for (const { name, whole, missing } of levels) {
    assert.equal(whole, missing.length === 0, name);
    assert.match(doctor, new RegExp(`^${whole ? 'ok' : '--'} +level ${name} +${whole ? 'can be had whole' : `not whole: no ${missing.map((m) => m.what).join(', ')}`}$`, 'm'));
    if (whole) {
      assert.equal((await c.newSession({ meta: { level: name } }))._meta.acpd.level.achieved, name);
      continue;
    }
    const e = await c.fails('session/new', { cwd: d.workDir, mcpServers: [], _meta: { acpd: { level: name } } });
    assert.equal(e.data.reason, 'CONFINEMENT_UNSUPPORTED');
    for (const { what, why } of missing)
      assert.ok(what && why && e.message.includes(what), e.message);
  }
  await c.close();
});

test('--level-min and --network-max bound what is told', async (t) => {
  const d = await Daemon.startFor(t, { flags: { networkMax: 'off', levelMin: 'guarded' } });
  const { isolation, network: { max, modes: [off, ...more] } } = await info(d);

  assert.deepEqual(isolation.levels.map((l) => l.name), ['guarded', 'strict']);
  assert.deepEqual([max, off.mode, more], ['off', 'off', []]);
  assert.ok(off.wall === 'namespace' ? !off.missing : off.missing, JSON.stringify(off));
  if (process.getuid() === 0)
    assert.equal(off.wall === 'namespace', rootHasNamespaces);
});

test('modes of the network are told with the wall that a session then has', async (t) => {
  const d = await Daemon.startFor(t);
  const c = await d.client();
  const { network } = await info(d);

  assert.equal(network.max, 'on');
  assert.deepEqual(network.modes[0], { mode: 'on', wall: 'none' });
  for (const { mode, wall } of network.modes.filter((m) => m.wall && m.mode === 'off'))
    assert.equal((await c.newSession({ meta: { network: { mode } } }))._meta.acpd.network.achieved, wall);
  await c.close();
});

describe('where the sandbox is', () => {
  test('remote: the daemon listens for other machines', async (t) => {
    const d = await Daemon.startFor(t, { env: NOWHERE, flags: { listen: '0.0.0.0:0' } });

    assert.equal((await info(d)).remote, true);
  });

  test('kubernetes, by its variable', { skip: signs.some((file) => file.includes('e2b')) && 'another sign is there' }, async (t) => {
    const d = await Daemon.startFor(t, { env: { ...NOWHERE, KUBERNETES_SERVICE_HOST: '10.0.0.1' } });
    const told = await info(d);

    assert.deepEqual([told.provider, told.sandboxId, told.remote], ['kubernetes', undefined, false]);
  });

  test('e2b, by its file; what listens on loopback is published there', { skip: !rootHasNamespaces && 'no namespaces' }, async (t) => {
    const dir = fs.mkdtempSync(path.join('/tmp', 'acpd-info-'));

    t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
    const d = await Daemon.startFor(t, { program: within(dir, '/run/e2b/.E2B_SANDBOX_ID', 'i1abc\\n'), env: { ...NOWHERE, E2B_SANDBOX_ID: 'old' } });
    const told = await info(d);
    assert.deepEqual([told.provider, told.sandboxId, told.remote], ['e2b', 'i1abc', true]);
  });
});
