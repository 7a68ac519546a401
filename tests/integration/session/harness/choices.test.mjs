// SPDX-License-Identifier: Apache-2.0
// What a session may be told to be: model, mode, policy, system prompt, references; steering. In force, or refused with a reason.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test, describe, before, after } from 'node:test';
import { Daemon, endInOrder } from '../../../lib/daemon.mjs';
import { until } from '../../../lib/wait.mjs';
import { homely, journalOf, running, turnsOf } from '../../ledger.mjs';

let d, c;

before(async () => {
  d = await Daemon.start({ harnesses: [{ id: 'options', args: ['--option-modes'] }, { id: 'caller', quirks: 'claude' }, homely()] });
  c = await d.client();
});

after(() => endInOrder(d, c));

const valueOf = (options, id) => options.find((o) => o.id === id)?.currentValue;
const files = (dir) => fs.readdirSync(path.join(d.stateDir, dir)).sort();
const refuses = (meta, rest = {}) => c.fails('session/new', { cwd: d.workDir, mcpServers: [], ...rest, _meta: { acpd: meta } });

// fn must leave no process, no session, no file.
async function leavesNothing(fn) {
  const look = async () => ({
    sessions: (await c.call('_acpd/status', {})).sessions.map((s) => s.sessionId).sort(),
    listed: (await c.call('session/list', {})).sessions.map((s) => s.sessionId).sort(),
    homes: files('homes'), journals: files('sessions'), processes: d.harnesses().map((p) => p.pid).sort(),
  });
  const was = await look();

  await fn();
  await until(async () => {
    try {
      assert.deepEqual(await look(), was);
      return true;
    } catch {
      return false;
    }
  }, 'nothing is left').catch(async () => assert.deepEqual(await look(), was));
}

// On a connection of its own: what the harness says while it is changed would come before the replay.
async function reload(sessionId, meta) {
  const own = await d.client();

  try {
    return await own.load(sessionId, { meta });
  } finally {
    await own.close();
  }
}

describe('model', () => {
  test('is in force when the session is answered, and in its records', async () => {
    const s = await c.newSession({ meta: { model: 'stub-large' } });

    assert.equal(valueOf(s.configOptions, 'model'), 'stub-large');
    await c.prompt(s.sessionId, 'echo x');
    assert.equal(turnsOf(d, s.sessionId)[0].model, 'stub-large');
  });

  test('the one that is chosen anyway', async () => {
    const s = await c.newSession({ meta: { model: 'stub-small' } });

    assert.equal(valueOf(s.configOptions, 'model'), 'stub-small');
  });

  test('an unknown one: refused with what is known, nothing left behind', async () => {
    await leavesNothing(async () => {
      for (const model of ['stub-huge', 'stub', 'STUB-LARGE']) {
        const error = await refuses({ model });

        assert.equal(error.code, -32602, model);
        assert.equal(error.data.reason, 'MODEL_UNKNOWN', model);
        assert.equal(error.data.field, '_meta.acpd.model');
        assert.deepEqual(error.data.known, ['stub-small', 'stub-large']);
        assert.match(error.rpcMessage, /; known: stub-small, stub-large$/);
      }
    });
  });

  test('an empty name is none', async () => {
    for (const name of ['model', 'mode']) {
      const { data } = await refuses({ [name]: '' });

      assert.deepEqual([data.reason, data.field], ['FIELD_INVALID', `_meta.acpd.${name}`]);
    }
  });

  test('of the provider: the same', async () => {
    const provider = { api: 'anthropic', key: 'k-0123456789' };
    const s = await c.newSession({ meta: { harness: 'caller', provider: { ...provider, model: 'stub-large' } } });

    assert.equal(valueOf(s.configOptions, 'model'), 'stub-large');
    const error = await refuses({ harness: 'caller', provider: { ...provider, model: 'none' } });
    assert.equal(error.data.reason, 'MODEL_UNKNOWN');
    assert.equal(error.data.field, '_meta.acpd.provider.model');
  });

  test('on load: another one; an unknown one changes nothing', async () => {
    const { sessionId } = await c.newSession();
    const loaded = await reload(sessionId, { model: 'stub-large' });

    assert.equal(valueOf(loaded.configOptions, 'model'), 'stub-large');
    const other = await d.client();
    const error = await other.fails('session/load', { sessionId, cwd: d.workDir, mcpServers: [], _meta: { acpd: { model: 'nope' } } });
    assert.equal(error.code, -32602);
    assert.equal(error.data.reason, 'MODEL_UNKNOWN');
    assert.deepEqual(error.data.known, ['stub-small', 'stub-large']);
    await other.close();
    const own = await d.client();
    const again = await own.load(sessionId);
    assert.equal(valueOf(again.configOptions, 'model'), 'stub-large', 'as it was before the refusal');
    assert.equal((await own.prompt(sessionId, 'echo works')).stopReason, 'end_turn');
    await own.close();
  });

  test('session/set_model sets the option', async () => {
    const own = await d.client({ validate: 'none' }); // not in the schema of v1
    const { sessionId } = await own.newSession();

    assert.deepEqual(await own.call('session/set_model', { sessionId, modelId: 'stub-large' }), {});
    await own.prompt(sessionId, 'echo x');
    assert.equal(turnsOf(d, sessionId)[0].model, 'stub-large');
    const error = await own.fails('session/set_model', { sessionId, modelId: 'nope' });
    assert.deepEqual([error.code, error.data.reason, error.data.field], [-32602, 'MODEL_UNKNOWN', 'modelId']);
    assert.deepEqual(error.data.known, ['stub-small', 'stub-large']);
    assert.match(error.rpcMessage, /; known: stub-small, stub-large$/);
    assert.equal((await own.fails('session/set_model', { sessionId })).data.field, 'modelId');
    assert.equal((await own.fails('session/set_model', { sessionId: 'x', modelId: 'stub-large' })).code, -32002);
    assert.equal(valueOf((await own.load(sessionId)).configOptions, 'model'), 'stub-large');
    await own.close();
  });
});

for (const harness of ['stub', 'options']) {
  describe(`mode, ${harness}`, () => {
    test('new and load begin in it', async () => {
      const s = await c.newSession({ meta: { harness, mode: 'code' } });

      assert.equal(s.modes.currentModeId, 'code');
      assert.deepEqual(s.modes.availableModes, [{ id: 'ask', name: 'Ask' }, { id: 'code', name: 'Code' }]);
      const own = await d.client();
      const loaded = await own.load(s.sessionId, { meta: { mode: 'ask' } });
      assert.equal(loaded.modes.currentModeId, 'ask');
      assert.equal((await own.prompt(s.sessionId, 'echo x')).stopReason, 'end_turn');
      assert.equal(valueOf((await own.load(s.sessionId)).configOptions, 'mode'), 'ask');
      await own.close();
    });

    test('an unknown one: refused with what is known, nothing left behind', async () => {
      await leavesNothing(async () => {
        const error = await refuses({ harness, mode: 'yolo' });

        assert.deepEqual([error.code, error.data.reason, error.data.field], [-32602, 'MODE_UNKNOWN', '_meta.acpd.mode']);
        assert.deepEqual(error.data.known, ['ask', 'code']);
      });
    });

    test('session/set_mode, and the option, are one', async () => {
      const { sessionId } = await c.newSession({ meta: { harness } });

      assert.deepEqual(await c.call('session/set_mode', { sessionId, modeId: 'code' }), {});
      const loaded = await c.load(sessionId);
      assert.equal(loaded.modes.currentModeId, 'code');
      assert.equal(valueOf(loaded.configOptions, 'mode'), 'code');
      const error = await c.fails('session/set_mode', { sessionId, modeId: 'yolo' });
      assert.equal(error.data.reason, 'MODE_UNKNOWN');
      assert.deepEqual(error.data.known, ['ask', 'code']);
      await c.call('session/set_config_option', { sessionId, configId: 'mode', value: 'ask' });
      assert.equal((await c.load(sessionId)).modes.currentModeId, 'ask');
    });

    test('a change by the harness is told in both ways', async () => {
      const { sessionId } = await c.newSession({ meta: { harness } });

      await c.prompt(sessionId, 'mode code; echo x');
      assert.deepEqual(c.updatesOf(sessionId, 'current_mode_update').map((u) => u.update.currentModeId), ['code']);
      const told = c.updatesOf(sessionId, 'config_option_update');
      assert.equal(valueOf(told.at(-1).update.configOptions, 'mode'), 'code');
      assert.equal((await c.load(sessionId)).modes.currentModeId, 'code');
      const from = c.updatesOf(sessionId, 'current_mode_update').length;
      await c.prompt(sessionId, 'mode code; echo x');
      assert.ok(c.updatesOf(sessionId, 'current_mode_update').length - from <= 1);
    });
  });
}

describe('policy, references, what is unknown', () => {
  test('approval', async () => {
    for (const approval of ['ask', 'accept-edits', 'never'])
      assert.ok((await c.newSession({ meta: { policy: { approval } } })).sessionId);
    for (const [policy, field, reason] of [
      [{ approval: 'always' }, '.approval', 'FIELD_INVALID'],
      [{ approval: '' }, '.approval', 'FIELD_INVALID'],
      [{ approval: 7 }, '.approval', 'FIELD_INVALID'],
      [{ sandbox: true }, '.sandbox', 'PARAM_UNSUPPORTED'],
      ['never', '', 'FIELD_INVALID'],
    ]) {
      const error = await refuses({ policy });

      assert.deepEqual([error.code, error.data.field, error.data.reason], [-32602, `_meta.acpd.policy${field}`, reason]);
    }
  });

  test('billingRef and configVersion: text of at most 256 bytes; load changes what comes after', async () => {
    const { sessionId } = await c.newSession({ meta: { billingRef: 'a'.repeat(256), configVersion: 'é "1"' } });

    await c.prompt(sessionId, 'echo x');
    await c.load(sessionId, { meta: { billingRef: 'b' } });
    await c.prompt(sessionId, 'echo x');
    assert.deepEqual(turnsOf(d, sessionId).map((r) => [r.billingRef, r.configVersion]), [['a'.repeat(256), 'é "1"'], ['b', 'é "1"']]);
    for (const name of ['billingRef', 'configVersion']) {
      assert.equal((await refuses({ [name]: 'a'.repeat(257) })).data.field, `_meta.acpd.${name}`);
      assert.equal((await refuses({ [name]: 7 })).data.field, `_meta.acpd.${name}`);
    }
  });

  test('members nobody knows are refused by their path, in every call that opens a session', async () => {
    const { sessionId } = await c.newSession();
    const base = { sessionId, cwd: d.workDir, mcpServers: [] };

    for (const [method, own] of [['session/new', 'fromSeq'], ['session/load', 'harness'], ['session/resume', 'whenDetached'],
      ['session/fork', 'harness']]) {
      for (const name of ['modell', own]) {
        const error = await c.fails(method, { ...base, _meta: { acpd: { [name]: 'x' } } });

        assert.deepEqual([error.code, error.data.reason, error.data.field], [-32602, 'PARAM_UNSUPPORTED', `_meta.acpd.${name}`], method);
      }
    }
    assert.equal((await refuses(7)).data.field, '_meta.acpd');
  });

  test('a provider for an agent of whose settings nothing is known: refused, and said what to do', async () => {
    const error = await refuses({ provider: { api: 'openai-chat', key: 'k-0123456789' } });

    assert.deepEqual([error.code, error.data.field, error.data.reason], [-32602, '_meta.acpd.provider', 'PROVIDER_UNSUPPORTED']);
    assert.match(error.rpcMessage, /'stub'.*_meta\.acpd\.env.*quirks/);
  });

  test('providers: each bad field by its name', async () => {
    const good = { api: 'openai-chat', key: 'k-0123456789' };

    for (const [change, field, reason] of [
      [{ api: undefined }, 'api', 'FIELD_MISSING'],
      [{ api: 'gopher' }, 'api', 'PROVIDER_API_UNSUPPORTED'],
      [{ key: undefined }, 'key', 'FIELD_MISSING'],
      [{ key: 7 }, 'key', 'FIELD_INVALID'],
      [{ models: 'a' }, 'models', 'FIELD_INVALID'],
      [{ models: ['a', 7] }, 'models[1]', 'FIELD_INVALID'],
      [{ models: [''] }, 'models[0]', 'FIELD_INVALID'],
      [{ models: Array.from({ length: 257 }, (_, i) => `m${i}`) }, 'models[256]', 'TOO_MANY'],
      [{ headers: [] }, 'headers', 'FIELD_INVALID'],
      [{ headers: { A: 7 } }, 'headers.A', 'FIELD_INVALID'],
      [{ model: 'x'.repeat(257) }, 'model', 'FIELD_TOO_LONG'],
      [{ baseUrl: {} }, 'baseUrl', 'FIELD_INVALID'],
      [{ apiKey: 'x' }, 'apiKey', 'PARAM_UNSUPPORTED'],
    ]) {
      const error = await refuses({ provider: { ...good, ...change } });

      assert.deepEqual([error.code, error.data.field, error.data.reason], [-32602, `_meta.acpd.provider.${field}`, reason]);
    }
  });
});

describe('systemPrompt, where the harness has no means', () => {
  const blocks = [{ type: 'text', text: 'Be brief.' }];

  test('ACP\'s and ours: typed refusals', async () => {
    await leavesNothing(async () => {
      for (const mode of ['append', 'override']) {
        const error = await refuses({}, { systemPrompt: { mode, content: blocks } });

        assert.deepEqual([error.code, error.data.reason, error.data.field], [-32602, 'CAPABILITY_MISSING', 'systemPrompt']);
      }
      for (const systemPrompt of ['Be brief.', { mode: 'override', content: blocks }])
        assert.deepEqual(Object.values((await refuses({ systemPrompt })).data).slice(0, 2), ['CAPABILITY_MISSING', '_meta.acpd.systemPrompt']);
    });
  });

  test('nonsense is refused first', async () => {
    for (const systemPrompt of [7, [], {}, { mode: 'append' }, { mode: 'prepend', content: blocks },
      { mode: 'append', content: [{ type: 'image', data: '', mimeType: 'image/gif' }] }, { mode: 'append', content: ['x'] }]) {
      const error = await refuses({}, { systemPrompt });

      assert.deepEqual([error.code, error.data.reason, error.data.field], [-32602, 'FIELD_INVALID', 'systemPrompt'], JSON.stringify(systemPrompt));
    }
  });
});

test('steering a harness that takes no input while it runs: refused, the turn goes on', async () => {
  const { sessionId } = await c.newSession();
  const prompt = [{ type: 'text', text: 'also this' }];

  assert.ok(!c.initializeResult._meta?.steering?.supported);
  for (const busy of [false, true]) {
    const started = busy ? await running(c, sessionId, 'on', 'sleep 300; echo end') : undefined;
    const error = await c.fails('_session/steering', { sessionId, prompt });

    assert.deepEqual([error.code, error.data.reason], [-32601, 'STEERING_UNSUPPORTED']);
    if (started)
      assert.equal((await started.answer).result.stopReason, 'end_turn');
  }
  assert.equal((await c.fails('_session/steering', { sessionId: 'x', prompt })).code, -32002);
  assert.equal((await c.fails('_session/steering', { sessionId, prompt: [] })).data.reason, 'PROMPT_EMPTY');
  assert.equal((await c.fails('_session/steering', { sessionId })).data.field, 'prompt');
  assert.equal(turnsOf(d, sessionId).length, 1);
  assert.ok(!fs.readFileSync(journalOf(d, sessionId), 'utf8').includes('also this'));
});

test('what harnesses see of the daemon\'s environment: the short list, what --pass-env names, never ACPD_*', async () => {
  const env = { JAVA_HOME: '/opt/java', GIT_AUTHOR_NAME: 'an author', GITHUB_TOKEN: 'not listed', SECRET_OF_THE_DAEMON: 'x', TZ: 'UTC' };
  const d = await Daemon.start({ env, args: ['--pass-env', 'JAVA_HOME,GIT_*,ACPD_*,HOME'] });
  const c = await d.client();

  try {
    const { sessionId } = await c.newSession({ meta: { env: { OF_SESSION: 'yes' } } });
    await c.prompt(sessionId, 'environ');
    const seen = JSON.parse(c.chunks(sessionId).join(''));
    assert.equal(seen.JAVA_HOME, '/opt/java');
    assert.equal(seen.GIT_AUTHOR_NAME, 'an author');
    assert.equal(seen.TZ, 'UTC');
    assert.equal(seen.OF_SESSION, 'yes');
    assert.ok(!('GITHUB_TOKEN' in seen) && !('SECRET_OF_THE_DAEMON' in seen));
    assert.ok(!('ACPD_TEST_DAEMON' in seen) && 'ACPD_OWNER' in seen, 'our own are not passed on');
    assert.match(seen.HOME, new RegExp(`homes/${sessionId}$`), 'the private home is not to be replaced');
    await c.close();
    await d.stop();
  } finally {
    await d.discard();
  }
});
