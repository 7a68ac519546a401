// SPDX-License-Identifier: Apache-2.0
// Tools of an AG-UI front end, from end to end: a run of the stub waits, a client of our own in the place of the harness's calls the tool
// by what the session gave it, and later runs bring the result.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { agent, end, said, user } from '../../lib/agui.mjs';
import { openClient } from '../../lib/mcp-relay.mjs';
import { until } from '../../lib/wait.mjs';

const tools = [{ name: 'confirm', description: 'Asks', parameters: { type: 'object', properties: { what: { type: 'string' } } } }, { name: 'toast', description: 'Shows' }];
const call = (c, name, args) => c.request('tools/call', { name, arguments: args }, { timeout: 60000 }).then(({ msg }) => msg.result);

let d, hasty, n = 0;

before(async () => {
  d = await Daemon.start();
  hasty = await Daemon.start({ flags: { mcpHold: 2 } }); // for what is lost: elsewhere a slow machine would lose it
});
after(async () => {
  await d.stop();
  await hasty.stop();
});

// A thread whose turn runs until finish is called, and a client of its front end's server.
async function begin(t, { old, at = d } = {}) {
  const file = path.join(at.dir, `gate-${++n}`), a = agent(at, { old });

  await a.say('getparams', { tools });
  const [given] = JSON.parse(said(a.seen)).mcpServers;
  assert.equal(given.name, 'frontend');
  const running = a.say(`echo begun; run until [ -e ${file} ]\\; do sleep 0.05\\; done; echo over`, { tools });
  await until(() => said(a.seen).includes('begun'));
  const c = await openClient(t, given);

  return { a, c, running, finish: () => fs.writeFileSync(file, '') };
}

const pending = (a) => a.messages.flatMap((m) => m.toolCalls ?? []).at(-1);
const result = (a, content, id = pending(a).id) => a.addMessage({ id: `result-${++n}`, role: 'tool', toolCallId: id, content });

for (const old of [false, true])
  test(`a call ends the run; its result goes to the agent, and the turn goes on (${old ? '0.0.59' : '1.0'})`, async (t) => {
    const { a, c, running, finish } = await begin(t, { old });
    const listed = (await c.request('tools/list', {})).msg.result.tools;

    assert.deepEqual(listed.map((x) => [x.name, x.description, x.inputSchema.type]), [['confirm', 'Asks', 'object'], ['toast', 'Shows', 'object']]);
    const answer = call(c, 'confirm', { what: 'this' });
    await running;
    assert.deepEqual([pending(a).function.name, JSON.parse(pending(a).function.arguments)], ['confirm', { what: 'this' }]);
    assert.equal(end(a.seen).type, 'RUN_FINISHED');
    if (!old)
      assert.deepEqual(end(a.seen).outcome.pendingToolCallIds, [pending(a).id]);
    result(a, 'yes');
    const next = a.say(undefined, { tools });
    assert.deepEqual((await answer).content, [{ type: 'text', text: 'yes' }]);
    finish();
    await next;
    assert.match(said(a.seen), /over/);
    assert.equal(end(a.seen).result.stopReason, 'end_turn');
    await a.say('echo later', { tools });
    assert.match(said(a.seen), /later/);
  });

test('of two calls at once both are told, each has its own result, and a message of a person waits for them', async (t) => {
  const { a, c, running, finish } = await begin(t);
  const first = call(c, 'confirm', { what: 'a' });

  await running;
  const one = pending(a).id, second = call(c, 'toast', {});
  a.addMessage(user('echo impatient', 'impatient'));
  await a.say(undefined, { tools }).catch(() => {});
  assert.equal(end(a.seen).code, 'SESSION_BUSY');
  a.messages.pop();
  result(a, 'A', one);
  await a.say(undefined, { tools });
  assert.deepEqual((await first).content, [{ type: 'text', text: 'A' }]);
  if (pending(a).id === one) // the second had not come yet
    await a.say(undefined, { tools });
  const two = pending(a);
  assert.equal(two.function.name, 'toast');
  a.addMessage({ id: 'err', role: 'tool', toolCallId: two.id, content: '', error: 'no screen' });
  const next = a.say(undefined, { tools });
  const failed = await second;
  assert.deepEqual([failed.isError, failed.content.at(-1).text], [true, 'no screen']);
  finish();
  await next;
});

test('a result that does not come within --mcp-hold is lost: the agent is told, and so is who brings it later', async (t) => {
  const { a, c, running, finish } = await begin(t, { at: hasty });
  const answer = call(c, 'confirm', {});

  await running;
  const lost = await answer;
  assert.equal(lost.isError, true);
  assert.match(lost.content[0].text, /TOOL_CALL_LOST/);
  result(a, 'too late');
  await a.say(undefined, { tools }).catch(() => {});
  assert.equal(end(a.seen).code, 'TOOL_CALL_LOST');
  finish();
  await until(async () => {
    await a.say(undefined, { tools: [] }).catch(() => {});
    return true;
  });
  a.addMessage(user('echo next'));
  await until(async () => {
    await a.say(undefined, { tools }).catch(() => {});
    return end(a.seen).type === 'RUN_FINISHED';
  });
  assert.match(said(a.seen), /next/);
});

test('more calls than a thread may have open are refused, one by one', async (t) => {
  const { a, c, running, finish } = await begin(t, { at: hasty });
  const all = Array.from({ length: 80 }, (_, i) => call(c, 'confirm', { what: `${i}` }));

  await running;
  finish();
  const ended = await Promise.all(all.map((p) => p.catch((e) => ({ isError: true, content: [{ text: String(e) }] }))));
  assert.equal(ended.length, 80);

});
