// SPDX-License-Identifier: Apache-2.0
// Every method that the daemon has, called by a client that was fenced while a turn runs, for a session that does not exist, and for one that
// is closed. The list is held against the daemon's own table: a new method without a row fails here.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertNoViolations } from '../../lib/acp.mjs';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { methodTable } from '../../lib/tables.mjs';

const OK = 'answered';
const SILENT = 'a notification';
const NOT_FOUND = 'SESSION_NOT_FOUND';
const NOT_ACTIVE = 'SESSION_NOT_ACTIVE';

// What only the driver may do, and what all may.
const driver = (params = {}) => ({ params, unknown: NOT_FOUND, fenced: NOT_ACTIVE, closed: NOT_ACTIVE });
const ends = { params: {}, unknown: OK, fenced: NOT_ACTIVE, closed: OK };
const leaves = (params) => ({ params, unknown: NOT_FOUND, fenced: NOT_ACTIVE, closed: OK });
const reads = (params = {}, answer = OK) => ({ params, unknown: NOT_FOUND, fenced: answer, closed: answer });
const opens = { params: { cwd: true, mcpServers: [] }, unknown: NOT_FOUND, fenced: OK, closed: OK };
const apart = (params, answer = OK) => ({ params, unknown: answer, fenced: answer, closed: answer });
const told = (params) => ({ params, unknown: SILENT, fenced: SILENT, closed: SILENT });
const text = [{ type: 'text', text: 'echo by a stranger' }];

const ROWS = {
  initialize: apart({ protocolVersion: 1 }, 'ALREADY_INITIALIZED'),
  authenticate: apart({ methodId: 'none' }, 'METHOD_NOT_FOUND'),
  'session/new': apart({ cwd: true, mcpServers: [] }),
  'session/load': opens,
  'session/resume': opens,
  'session/fork': { ...opens, fenced: 'SESSION_BUSY' },
  'session/list': apart({}),
  'session/close': ends,
  'session/delete': ends,
  'session/prompt': driver({ prompt: text }),
  '_session/steering': driver({ prompt: text }),
  'session/cancel': told({}),
  'session/set_mode': driver({ modeId: 'code' }),
  'session/set_model': driver({ modelId: 'stub-large' }),
  'session/set_config_option': driver({ configId: 'model', value: 'stub-large' }),
  '$/cancel_request': told({ requestId: 'of the driver' }),
  'mcp/message': told({ requestId: 'mcp-request:0', method: 'notifications/progress', params: {} }),
  '_acpd/model/attach': apart({ sessionIds: [] }, 'PARAM_UNSUPPORTED'),
  '_acpd/model/head': told({ callId: 'model-call:0', status: 200 }),
  '_acpd/model/chunk': told({ callId: 'model-call:0', seq: 0, text: 'x' }),
  '_acpd/model/credit': told({ callId: 'model-call:0', bytes: 1 }),
  '_acpd/network/set': driver({ network: { mode: 'on' } }),
  '_acpd/provider/set': driver({ provider: { api: 'openai-chat', via: 'tunnel' } }),
  'providers/list': apart({}),
  'providers/set': apart({ providerId: 'main', apiType: 'openai', baseUrl: 'https://models.example/v1' }),
  'providers/disable': apart({ providerId: 'main' }),
  '_acpd/approvals/list': reads(),
  '_acpd/approvals/answer': reads({ id: 'none' }, 'FIELD_INVALID'),
  '_acpd/approvals/rules': reads(),
  '_acpd/approvals/forget': reads({ id: 'none' }, 'RULE_UNKNOWN'),
  '_acpd/usage': apart({}),
  '_acpd/workspace/materialize': driver({ harnessFiles: [{ path: 'planted.txt', text: 'by a stranger' }] }),
  '_acpd/workspace/apply': driver({ patchDigest: `sha256:${'0'.repeat(64)}` }),
  '_acpd/session/draft': driver({ on: false }),
  '_acpd/workspace/diff': reads({}, 'NO_BASELINE'),
  '_acpd/check': driver({ checks: [{ id: 'a', kind: 'command', argv: ['touch', 'planted'] }] }),
  '_acpd/artifact/put': leaves({ name: 'planted', text: 'by a stranger' }),
  '_acpd/artifact/list': reads(),
  '_acpd/artifact/get': reads({ id: 'none' }, 'ARTIFACT_NOT_FOUND'),
  '_acpd/skills/install': driver({ skills: [{ path: '/nowhere' }] }),
  '_acpd/skills/remove': driver({ names: ['none'] }),
  '_acpd/skills/validate': reads({ skills: [] }, 'FIELD_MISSING'),
  '_acpd/skills/list': reads(),
  '_acpd/ack': leaves({ seq: 0 }),
  '_acpd/harness/list': reads(),
  '_acpd/tokens/mint': apart({}, 'PARAM_UNSUPPORTED'),
  '_acpd/tokens/list': apart({}, 'PARAM_UNSUPPORTED'),
  '_acpd/tokens/revoke': apart({ id: 'none' }, 'PARAM_UNSUPPORTED'),
  '_acpd/status': reads(),
};

let d;
before(async () => { d = await Daemon.start({ stub: { args: ['--resume'], capabilities: { loadSession: true, sessionCapabilities: { resume: {} } } } }); });
after(() => endInOrder(d));

test('every method of the daemon has a row here, and no other', () => {
  assert.deepEqual(Object.keys(ROWS).sort(), methodTable().map((m) => m.name).sort());
});

test('what the rows say is what the table says', () => {
  const said = (row) => row.fenced !== NOT_ACTIVE ? 'ANY' : row.closed === NOT_ACTIVE ? 'DRIVER' : 'FREE';

  for (const { name, kind, access } of methodTable())
    assert.equal(said(ROWS[name]), kind === 'NOTIFICATION' ? 'ANY' : access, name);
});

const paramsOf = (row, sessionId) => ({ ...row.params, ...(row.params.cwd && { cwd: d.workDir }), sessionId });

// How it went, in the words of the rows. A notification is followed by a request, so that it has been dealt with.
async function outcome(client, name, row, sessionId, want) {
  const params = paramsOf(row, sessionId);

  if (want === SILENT) {
    client.notify(name, params);
    await client.call('_acpd/status');
    return SILENT;
  }
  const { answer } = client.request(name, params);
  const { error } = await answer;
  if (error && [NOT_FOUND, NOT_ACTIVE].includes(error.data.reason)) {
    assert.equal(error.code, -32002);
    assert.equal(error.data.sessionId, sessionId);
  }
  return error ? error.data.reason : OK;
}

describe('a session that does not exist', () => {
  for (const [name, row] of Object.entries(ROWS))
    test(name, async () => {
      const c = await d.client();

      assert.equal(await outcome(c, name, row, 'sess_none', row.unknown), row.unknown);
      await c.close();
    });
});

describe('a session that is closed', () => {
  for (const [name, row] of Object.entries(ROWS))
    test(name, async () => {
      const [a, b] = [await d.client(), await d.client()];
      const { sessionId } = await a.newSession();
      await a.call('session/close', { sessionId });

      assert.equal(await outcome(b, name, row, sessionId, row.closed), row.closed);
      await Promise.all([a, b].map((c) => c.close()));
    });
});

describe('a session that another client drives', () => {
  for (const [name, row] of Object.entries(ROWS))
    test(`${name}: its turn and its files are as if nobody had called`, async () => {
      const [fenced, owner] = [await d.client(), await d.client()];
      const { sessionId } = await fenced.newSession();
      const takes = row.fenced === OK && ['session/load', 'session/resume'].includes(name);
      await owner.load(sessionId);
      const turn = owner.request('session/prompt', owner.promptParams(sessionId, `echo begun; sleep ${takes ? 3000 : 150}; mode ask; echo ended`),
        { id: 'of the driver' });
      await owner.waitUpdate((u) => u.update.content?.text === 'begun');

      assert.equal(await outcome(fenced, name, row, sessionId, row.fenced), row.fenced);
      const { result, error } = await turn.answer;
      if (takes) {
        assert.equal(error.data.reason, 'DETACHED');
      } else {
        assert.equal(result.stopReason, 'end_turn');
        assert.deepEqual(owner.chunks(sessionId), ['begun', 'ended']);
        const { artifacts } = await owner.call('_acpd/artifact/list', { sessionId });
        assert.deepEqual(artifacts, []);
        assert.equal((await owner.load(sessionId)).modes.currentModeId, 'ask');
      }
      await Promise.all([fenced, owner].map((c) => c.close()));
    });

  test('when the driver is gone, anybody may end it or leave a file, and nobody change it', async () => {
    const [a, b] = [await d.client(), await d.client()];
    const { sessionId } = await a.newSession();
    const from = (name) => outcome(b, name, ROWS[name], sessionId);
    await a.close();

    for (const name of ['session/prompt', 'session/set_mode', '_acpd/workspace/materialize', '_acpd/skills/remove'])
      assert.equal(await from(name), NOT_ACTIVE, name);
    assert.equal(await from('_acpd/artifact/put'), OK);
    assert.equal(await from('session/close'), OK);
    assert.equal(await from('session/delete'), OK);
    await b.close();
  });
});

test('without --workspaces the answer of initialize does not name them, and is as described all the same', async (t) => {
  const own = await Daemon.startFor(t, { flags: { workspaces: null } });
  const client = await own.client();

  assert.ok(!('workspaces' in client.initializeResult.agentCapabilities._meta.acpd));
  await client.close();
  assertNoViolations();
});
