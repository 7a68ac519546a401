// SPDX-License-Identifier: Apache-2.0
// Every kind of content block at an ACP agent with each combination of promptCapabilities: the agent gets the block as it was sent, or the
// prompt is refused before the agent hears of it. tests/harness/scenarios/blocks.mjs does the same with the real harnesses.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BLOCKS } from '../../../lib/odd-blocks.mjs';
import { Daemon, endInOrder } from '../../../lib/daemon.mjs';

const FLAGS = { image: '--image', audio: '--audio', embeddedContext: '--embedded' };
const NAMES = Object.keys(FLAGS);
const COMBINATIONS = Array.from({ length: 1 << NAMES.length }, (_, bits) => NAMES.filter((_, i) => bits >> i & 1));
const idOf = (names) => `a${COMBINATIONS.indexOf(names)}`;

let d, c;
before(async () => {
  d = await Daemon.start({ harnesses: COMBINATIONS.map((names) => ({ id: idOf(names), args: names.map((name) => FLAGS[name]),
    capabilities: { promptCapabilities: Object.fromEntries(names.map((name) => [name, true])) } })) });
  c = await d.client();
});
after(() => endInOrder(d));

async function say(sessionId, prompt) {
  const from = c.updates.length;
  const answer = await c.prompt(sessionId, prompt);

  assert.equal(answer.stopReason, 'end_turn');
  return c.chunks(sessionId, from).join('');
}

describe('an agent that announces', () => {
  for (const names of COMBINATIONS)
    test(names.join(', ') || 'nothing', async () => {
      const { sessionId, _meta } = await c.newSession({ meta: { harness: idOf(names) } });

      assert.deepEqual(NAMES.filter((name) => _meta.acpd.capabilities.promptCapabilities[name]), names);
      for (const [what, block, { needs, odd }] of BLOCKS) {
        const prompt = [{ type: 'text', text: 'content' }, block];

        if (!odd && (!needs || names.includes(needs))) {
          assert.deepEqual(JSON.parse(await say(sessionId, prompt)), prompt, what);
          continue;
        }
        const error = await c.fails('session/prompt', { sessionId, prompt });
        assert.deepEqual([error.code, error.data.reason, error.data.field],
          [-32602, needs && !names.includes(needs) ? 'CAPABILITY_MISSING' : 'FIELD_MISSING', 'prompt[1]'], what);
      }
      assert.deepEqual(JSON.parse(await say(sessionId, [{ type: 'text', text: 'RECALL' }])).length, BLOCKS.filter(([, , { needs, odd }]) => !odd && (!needs || names.includes(needs))).length);
    });
});
