// SPDX-License-Identifier: Apache-2.0
// build: release
// The fixture by itself, over standard input and output: what the tests that stand on it take for granted.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIXTURE, LEGACY, META, MODERN, McpStdio, member } from '../lib/mcp.mjs';

async function open(t, era, capabilities = {}) {
  const c = McpStdio.spawn(FIXTURE);

  t.after(() => c.kill());
  c.modern = era === MODERN;
  c.capabilities = capabilities;
  if (!c.modern)
    await c.initialize(era);
  return c;
}

for (const era of [LEGACY, MODERN]) {
  test(`${era}: tools, resources, prompts are listed`, async (t) => {
    const c = await open(t, era);
    const { tools } = await c.result('tools/list');

    assert.ok(tools.some((tool) => tool.name === 'test_simple_text'));
    assert.equal((await c.result('resources/list')).resources.length, 3);
    assert.ok((await c.result('prompts/list')).prompts.length >= 4);
  });

  test(`${era}: progress comes before the result`, async (t) => {
    const c = await open(t, era);
    await c.call('test_tool_with_progress', {}, { _meta: { progressToken: 0 } });

    assert.deepEqual(c.notifications('notifications/progress').map(({ msg }) => msg.params.progress), [0, 50, 100]);
  });

  test(`${era}: arguments come back byte for byte`, async (t) => {
    const c = await open(t, era);
    const meta = c.modern ? `,"_meta":${JSON.stringify(c.meta())}` : '';
    const { raw } = await c.request('tools/call', `{"name":"raw_echo","arguments":{"a":1.0,"b":"\\ud83d\\ude00\\u0000"}${meta}}`);

    assert.equal(member(raw, 'result', 'structuredContent'), '{"a":1.0,"b":"\\ud83d\\ude00\\u0000"}');
  });

  test(`${era}: a cancelled call is not answered`, async (t) => {
    const c = await open(t, era);
    const { id } = c.begin('tools/call', { name: 'raw_wait', arguments: { ms: 50 } });
    c.cancel(id);
    await c.call('raw_wait', { ms: 100 });

    assert.equal(c.messages.some(({ raw }) => member(raw, 'id') === id), false);
  });
}

test('the fixture ends with its input', async () => {
  const c = McpStdio.spawn(FIXTURE);

  await c.initialize();
  assert.deepEqual(await c.close(), { code: 0, signal: null });
});

test('a change of the list is told to who listens', async (t) => {
  const c = await open(t, MODERN);
  const { id } = c.begin('subscriptions/listen', { notifications: { toolsListChanged: true } });
  await c.waitFor((msg) => msg.method === 'notifications/subscriptions/acknowledged');
  await c.call('test_trigger_prompt_change');
  await c.call('test_trigger_tool_change');
  const { raw } = await c.waitFor((msg) => msg.method === 'notifications/tools/list_changed');

  assert.equal(member(raw, 'params', '_meta', `${META}subscriptionId`), id);
  assert.equal(c.notifications('notifications/prompts/list_changed').length, 0);
});
