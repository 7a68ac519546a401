// SPDX-License-Identifier: Apache-2.0
// What a token that is limited to sessions may give them: at most what they have, or what the token says beyond that. Every parameter that
// lifts confinement (RAISES), by every call that takes it.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { mint } from '../../lib/tokens.mjs';
import { ready, startWithUids } from '../../lib/users.mjs';

const PIDS = 64, MEMORY = 512 << 20;
const HOSTS = (...hosts) => ({ mode: 'allowlist', allow: hosts.map((host) => ({ host })) });
const SMALL = { level: { name: 'guarded', atLeast: false }, network: HOSTS('a.example', '*.b.example'), limits: { memoryBytes: MEMORY, pids: PIDS, cpuWeight: 50 } };

// [what is asked, the reason, its field]; the session has SMALL.
const RAISES = [
  [{ level: 'open' }, 'LEVEL_NOT_ALLOWED', 'level'],
  [{ level: { name: 'open', atLeast: false } }, 'LEVEL_NOT_ALLOWED', 'level'],
  [{ network: { mode: 'on' } }, 'LEVEL_NOT_ALLOWED', 'network'],
  [{ network: HOSTS('c.example') }, 'LEVEL_NOT_ALLOWED', 'network'],
  [{ network: HOSTS('a.example', 'b.example') }, 'LEVEL_NOT_ALLOWED', 'network'],
  [{ network: HOSTS('*.a.example') }, 'LEVEL_NOT_ALLOWED', 'network'],
  [{ network: { mode: 'allowlist', allow: [{ host: 'a.example', ports: [22] }] } }, 'LEVEL_NOT_ALLOWED', 'network'],
  [{ network: { mode: 'allowlist', allow: [{ host: 'a.example', ports: [80] }] } }, 'LEVEL_NOT_ALLOWED', 'network'],
  [{ network: { ...HOSTS('a.example'), ask: true } }, 'LEVEL_NOT_ALLOWED', 'network'],
  [{ limits: { memoryBytes: MEMORY + 1 } }, 'FIELD_OUT_OF_RANGE', 'limits.memoryBytes'],
  [{ limits: { pids: PIDS + 1 } }, 'FIELD_OUT_OF_RANGE', 'limits.pids'],
  [{ limits: { cpuWeight: 51 } }, 'FIELD_OUT_OF_RANGE', 'limits.cpuWeight'],
];
// No more than it has.
const KEEPS = [{}, { level: { name: 'guarded', atLeast: false } }, { network: HOSTS('a.example') }, { network: HOSTS('x.b.example', '*.x.b.example') }, { limits: { memoryBytes: MEMORY, pids: PIDS - 1, cpuWeight: 50 } }];
const cannot = async (d, mode) => !(await d.http('/v1/info', { token: d.token })).json.network.modes.find((m) => m.mode === mode)?.wall;

describe('of a token with sessions', () => {
  let d, c, id, skip;
  const params = (acpd) => ({ cwd: d.workDir, mcpServers: [], _meta: { acpd } });
  const limited = async (more) => {
    const { json } = await d.http('/v1/tokens', { method: 'POST', token: d.token, headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ scope: 'drive', sessions: [id], expiresAt: new Date(Date.now() + 3600000).toISOString(), label: 'x', ...more }) });

    assert.ok(json.token, JSON.stringify(json));
    return { json, k: await d.client({ token: json.token }) };
  };
  before(async () => {
    d = await Daemon.start({ stub: { args: ['--resume'], capabilities: { loadSession: true, sessionCapabilities: { resume: {} } } } });
    c = await d.client();
    skip = await cannot(d, 'allowlist') && 'no network policy on this machine';
    ({ sessionId: id } = await c.newSession({ meta: skip ? { ...SMALL, network: undefined } : SMALL }));
  });
  after(() => endInOrder(d, c));

  test('it gives the session no more than it has, by load, resume and network/set', async () => {
    const { k } = await limited();

    for (const [more, reason, field] of RAISES.filter(([m]) => !skip || !m.network)) {
      for (const method of ['session/load', 'session/resume']) {
        const { data } = await k.fails(method, { sessionId: id, ...params(more) });
        assert.deepEqual([data.reason, data.field], [reason, `_meta.acpd.${field}`], `${method} ${JSON.stringify(more)}`);
      }
    }
    for (const more of KEEPS.filter((m) => !skip || !m.network)) {
      await k.call('session/load', { sessionId: id, ...params(more) });
      await c.call('session/load', { sessionId: id, ...params(skip ? { ...SMALL, network: undefined } : SMALL) });
    }
    await k.call('session/load', { sessionId: id, ...params({}) });
    const rows = RAISES.filter(([m]) => !skip && m.network);
    for (const [{ network }] of rows)
      assert.equal((await k.fails('_acpd/network/set', { sessionId: id, network })).data.reason, 'LEVEL_NOT_ALLOWED', JSON.stringify(network));
    await k.close();
  });

  test('what the token says beyond that, it may; and no more', async () => {
    const { json, k } = await limited({ level: 'open', network: { mode: 'on' }, limits: { pids: 2 * PIDS } });

    assert.deepEqual([json.level, json.network, json.limits], ['open', { mode: 'on' }, { pids: 2 * PIDS }]);
    assert.deepEqual((await d.http('/v1/tokens', { token: d.token })).json.tokens.find((t) => t.id === json.id).limits, { pids: 2 * PIDS });
    for (const [more] of RAISES.filter(([m]) => (!skip || !m.network) && !m.limits))
      await k.call('session/load', { sessionId: id, ...params(more) });
    await k.call('session/load', { sessionId: id, ...params({ limits: { pids: 2 * PIDS } }) });
    assert.equal((await k.fails('session/load', { sessionId: id, ...params({ limits: { pids: 2 * PIDS + 1 } }) })).data.field, '_meta.acpd.limits.pids');
    await c.call('session/load', { sessionId: id, ...params(skip ? { ...SMALL, network: undefined } : SMALL) });
    await k.close();
  });

  // [what the session has, what may not be asked of it and its field, what may]
  const LEVELS = [
    [{ name: 'guarded', atLeast: false, log: true }, [[{ name: 'guarded', atLeast: false }, 'level.log'], ['guarded', 'level.log']], [{ name: 'guarded', atLeast: false, log: true }]],
    [{ name: 'open', atLeast: false }, [], ['open', { name: 'open', log: true }]],
  ];

  test('its atLeast and its log stay, whoever set them', async () => {
    const { k } = await limited();

    for (const [has, less, enough] of LEVELS) {
      await c.call('session/load', { sessionId: id, ...params({ level: has }) });
      for (const [level, field] of less) {
        const { data } = await k.fails('session/load', { sessionId: id, ...params({ level }) });
        assert.deepEqual([data.reason, data.field], ['LEVEL_NOT_ALLOWED', `_meta.acpd.${field}`], JSON.stringify(level));
      }
      for (const level of enough) {
        await c.call('session/load', { sessionId: id, ...params({ level: has }) });
        await k.call('session/load', { sessionId: id, ...params({ level }) });
      }
    }
    const more = await limited({ level: { name: 'open' } });
    await c.call('session/load', { sessionId: id, ...params({ level: { name: 'open', log: true } }) });
    await more.k.call('session/load', { sessionId: id, ...params({ level: 'open' }) });
    await c.call('session/load', { sessionId: id, ...params({ level: SMALL.level }) });
    await Promise.all([k, more.k].map((client) => client.close()));
  });

  test('it outlasts a restart', async () => {
    const { json, k } = await limited({ limits: { pids: 2 * PIDS } });

    await k.close();
    await c.close();
    await d.restart();
    c = await d.client();
    const again = await d.client({ token: json.token });
    await again.call('session/load', { sessionId: id, ...params({ limits: { pids: 2 * PIDS } }) });
    assert.equal((await again.fails('session/load', { sessionId: id, ...params({ level: 'open' }) })).data.reason, 'LEVEL_NOT_ALLOWED');
    await again.close();
  });

  test('the claim\'s token and one that is not limited go as far as the operator allows', async () => {
    const { token } = await mint(d, 'drive'), k = await d.client({ token });

    for (const client of [c, k])
      await client.call('session/load', { sessionId: id, ...params({ level: 'open', limits: { pids: 3 * PIDS } }) });
    await k.close();
  });

  test('what a token may say is checked when it is minted', async () => {
    const rows = [[{ level: 'low' }, 'level', 'FIELD_INVALID'], [{ network: { mode: 'far' } }, 'network.mode', 'FIELD_INVALID'], [{ limits: { pids: 0 } }, 'limits.pids', 'FIELD_OUT_OF_RANGE'],
      [{ sessions: undefined, level: 'open' }, 'level', 'FIELD_INVALID'], [{ scope: 'observe', network: { mode: 'on' } }, 'network', 'FIELD_INVALID']];

    for (const [more, field, reason] of rows) {
      const { data } = await c.fails('_acpd/tokens/mint', { scope: 'drive', sessions: [id], expiresAt: new Date(Date.now() + 60000).toISOString(), label: 'x', ...more });
      assert.deepEqual([data.field, data.reason], [field, reason], JSON.stringify(more));
    }
  });
});

test('a level that only --level names stays fully enforced', { skip: process.getuid() !== 0 && 'not root' }, async (t) => {
  const d = await startWithUids({ flags: { level: 'guarded' } }), c = await d.client();

  t.after(() => endInOrder(d, c));
  const { levels } = (await ready(d)).isolation;
  if (!levels.find((l) => l.name === 'guarded').whole)
    return t.skip('guarded cannot be fully enforced on this machine');
  const { sessionId } = await c.newSession({ meta: { level: undefined } });
  const { token } = await mint(d, 'drive', { sessions: [sessionId] }), k = await d.client({ token });
  const params = (level) => ({ sessionId, cwd: d.workDir, mcpServers: [], _meta: { acpd: { level } } });

  const { data } = await k.fails('session/load', params({ name: 'guarded', atLeast: false }));
  assert.deepEqual([data.reason, data.field], ['LEVEL_NOT_ALLOWED', '_meta.acpd.level.atLeast']);
  for (const level of ['guarded', { name: 'guarded', log: true }])
    await k.call('session/load', params(level));
  await k.close();
});
