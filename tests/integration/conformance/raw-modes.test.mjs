// SPDX-License-Identifier: Apache-2.0
// Statements 47 and 48: modes and config options.

import assert from 'node:assert/strict';
import test from 'node:test';
import { gate } from '../../lib/gate.mjs';
import { isError, say, serve } from './rig.mjs';

const rig = serve();
const BOOLEAN = { caps: { session: { configOptions: { boolean: {} } } } };
const valueOf = (options, id) => options.find((o) => o.id === id)?.currentValue;
const ids = (options) => options.map((o) => o.id);
const setMode = (c, sessionId, modeId) => c.call('session/set_mode', { sessionId, modeId });
const setOption = (c, sessionId, configId, value, more) =>
  c.call('session/set_config_option', { sessionId, configId, value, ...more });

test('47 set_mode answers {} and the mode is in force', async () => {
  const { c, sessionId, opened } = await rig.session();

  assert.equal(opened.modes.currentModeId, 'ask');
  assert.deepEqual(opened.modes.availableModes.map((m) => m.id), ['ask', 'code']);
  assert.deepEqual(await setMode(c, sessionId, 'code'), {});
  const other = await rig.client();
  const loaded = await other.load(sessionId);
  assert.equal(loaded.modes.currentModeId, 'code');
  assert.deepEqual(loaded.modes.availableModes, opened.modes.availableModes);
  assert.deepEqual(await setMode(other, sessionId, 'ask'), {});
  assert.equal((await other.resumeSession(sessionId)).modes.currentModeId, 'ask');
});

test('47 an unknown mode is -32602', async () => {
  const { c, sessionId } = await rig.session();

  isError(await c.fails('session/set_mode', { sessionId, modeId: 'yolo' }), -32602, 'MODE_UNKNOWN', { field: 'modeId' });
  isError(await c.fails('session/set_mode', { sessionId }), -32602, 'FIELD_MISSING', { field: 'modeId' });
  isError(await c.fails('session/set_mode', { sessionId, modeId: 5 }), -32602, 'FIELD_INVALID', { field: 'modeId' });
  assert.equal((await c.load(sessionId)).modes.currentModeId, 'ask');
});

test('47 a change by the agent is current_mode_update with currentModeId', async () => {
  const { c, sessionId } = await rig.session();

  await c.prompt(sessionId, 'mode code\necho x');
  const [{ update }] = c.updatesOf(sessionId, 'current_mode_update');
  assert.deepEqual(Object.keys(update).filter((k) => k !== '_meta').sort(), ['currentModeId', 'sessionUpdate']);
  assert.equal(update.currentModeId, 'code');
  const other = await rig.client();
  assert.equal((await other.load(sessionId)).modes.currentModeId, 'code');
});

test('47 a mode can be set while a turn runs', async () => {
  const { c, sessionId } = await rig.session();
  const { step, open } = gate(rig.d);
  const turn = c.startPrompt(sessionId, `echo a\n${step}\necho b`);

  await c.waitUpdate('agent_message_chunk');
  assert.deepEqual(await setMode(c, sessionId, 'code'), {});
  assert.deepEqual(c.chunks(sessionId), ['a'], 'the answer does not wait for the turn');
  open();
  assert.equal((await turn.answer).result.stopReason, 'end_turn');
});

test('48 set_config_option returns the complete list with the new value', async () => {
  const { c, sessionId, opened } = await rig.session();

  assert.equal(valueOf(opened.configOptions, 'model'), 'stub-small');
  const { configOptions } = await setOption(c, sessionId, 'model', 'stub-large');
  assert.deepEqual(ids(configOptions), ids(opened.configOptions));
  assert.equal(valueOf(configOptions, 'model'), 'stub-large');
  assert.equal(valueOf(configOptions, 'mode'), 'ask');
  const other = await rig.client();
  assert.equal(valueOf((await other.load(sessionId)).configOptions, 'model'), 'stub-large');
});

test('48 an unknown option or value is -32602', async () => {
  const { c, sessionId } = await rig.session({ init: BOOLEAN });
  const fails = (configId, value) => c.fails('session/set_config_option', { sessionId, configId, value });

  isError(await fails('nope', 'x'), -32602, 'CONFIG_UNKNOWN', { field: 'configId' });
  for (const value of ['gpt-99', '', 5, null, true, undefined, {}])
    isError(await fails('model', value), -32602, 'CONFIG_VALUE_UNKNOWN', { field: 'value' });
  for (const value of ['true', 1, null, undefined])
    isError(await fails('web', value), -32602, 'CONFIG_VALUE_UNKNOWN', { field: 'value' });
  for (const configId of [undefined, 5, null])
    isError(await fails(configId, 'x'), -32602, 'FIELD_INVALID', { field: 'configId' });
});

test('48 no boolean option without the client capability, in no answer and no update', async () => {
  const { c, sessionId, opened } = await rig.session({ init: { caps: {} } });

  assert.deepEqual(ids(opened.configOptions), ['model', 'mode']);
  await c.prompt(sessionId, 'mode code\necho x');
  const { configOptions } = await setOption(c, sessionId, 'model', 'stub-large');
  assert.deepEqual(ids(configOptions), ['model', 'mode']);
  for (const { update } of c.updatesOf(sessionId, 'config_option_update'))
    assert.deepEqual(ids(update.configOptions), ['model', 'mode']);
});

test('48 a boolean option with the client capability, and not for another client of the same session', async () => {
  const { c, sessionId, opened } = await rig.session({ init: BOOLEAN });

  assert.deepEqual(ids(opened.configOptions), ['model', 'mode', 'web']);
  const { configOptions } = await setOption(c, sessionId, 'web', true, { type: 'boolean' });
  assert.equal(valueOf(configOptions, 'web'), true);
  await c.prompt(sessionId, 'mode code\necho x');
  assert.ok(c.updatesOf(sessionId, 'config_option_update').every((u) => ids(u.update.configOptions).includes('web')));

  const plain = await rig.client();
  assert.deepEqual(ids((await plain.load(sessionId)).configOptions), ['model', 'mode']);
  await plain.prompt(sessionId, 'mode ask\necho y');
  const updates = plain.updatesOf(sessionId, 'config_option_update');
  assert.ok(updates.length >= 2, 'one replayed, one live');
  for (const { update } of updates)
    assert.deepEqual(ids(update.configOptions), ['model', 'mode']);
  assert.deepEqual(ids((await setOption(plain, sessionId, 'model', 'stub-large')).configOptions), ['model', 'mode']);

  const again = await rig.client({ init: BOOLEAN });
  assert.equal(valueOf((await again.load(sessionId)).configOptions, 'web'), true, 'the value was kept');
});

test('48 modes and the option of category mode stay in sync', async () => {
  const { c, sessionId } = await rig.session();
  const from = c.updates.length;
  const { configOptions } = await setOption(c, sessionId, 'mode', 'code');

  assert.equal(valueOf(configOptions, 'mode'), 'code');
  const mode = await c.waitUpdate('current_mode_update', { from });
  assert.equal(mode.update.currentModeId, 'code');
  assert.equal((await c.load(sessionId)).modes.currentModeId, 'code');

  await setMode(c, sessionId, 'ask');
  const isAsk = (u) => u.update.sessionUpdate === 'config_option_update' && valueOf(u.update.configOptions, 'mode') === 'ask';
  await c.waitUpdate(isAsk);
  const loaded = await c.load(sessionId);
  assert.deepEqual([loaded.modes.currentModeId, valueOf(loaded.configOptions, 'mode')], ['ask', 'ask']);
});

test('48 setting a mode keeps both in sync in the answer of the very next load', async () => {
  const { c, sessionId } = await rig.session();

  for (const mode of ['code', 'ask', 'code']) {
    await setMode(c, sessionId, mode);
    const { modes, configOptions } = await c.load(sessionId);
    assert.deepEqual([modes.currentModeId, valueOf(configOptions, 'mode')], [mode, mode]);
  }
  for (const mode of ['ask', 'code']) {
    await setOption(c, sessionId, 'mode', mode);
    const { modes, configOptions } = await c.load(sessionId);
    assert.deepEqual([modes.currentModeId, valueOf(configOptions, 'mode')], [mode, mode]);
  }
  assert.equal((await say(c, sessionId, 'echo ok')).text, 'ok');
});
