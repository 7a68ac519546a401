// SPDX-License-Identifier: Apache-2.0
// AG-UI's own client at the real harnesses: text, a tool of theirs, a tool of the front end whose result comes with the next run, and what
// a client gets that has nothing.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { agent, end, input, run, said } from '../lib/agui.mjs';
import { PIXEL } from '../lib/odd-blocks.mjs';
import { startModelServer } from './model-server.mjs';
import { HARNESSES } from './programs.mjs';
import { KEY, startRig } from './rig.mjs';

const KINDS = Object.keys(HARNESSES).filter((id) => ['codex', 'pi', 'opencode'].includes(id) && (!process.env.HARNESS || process.env.HARNESS.includes(id)));
const tools = [{ name: 'confirm', description: 'Asks the person', parameters: { type: 'object', properties: { what: { type: 'string' } } } }];

let model, rig;

before(async () => {
	model = await startModelServer({ key: KEY });
	rig = await startRig(model, { harness: KINDS[0] });
});
after(async () => {
	await rig?.stop();
	await model?.close();
});

for (const kind of KINDS)
	test(kind, async () => {
		const acpd = { provider: rig.provider(kind, {}, 'direct'), policy: { approval: 'never' } };
		const a = agent(rig.daemon, { harness: kind });
		const say = (text) => a.say(text, { tools, forwardedProps: { acpd } });

		await say('RUN:echo made > made.txt; cat made.txt\nTEXT:It is made');
		assert.match(said(a.seen), /It is made/, JSON.stringify(end(a.seen)));
		assert.ok(a.messages.some((m) => m.role === 'tool' && /made/.test(m.content)), 'its own tool');
		assert.equal(end(a.seen).result.stopReason, 'end_turn');

		const asked = model.turns.length;
		const image = { type: 'image', source: { type: 'data', value: PIXEL, mimeType: 'image/png' } };

		await say([{ type: 'text', text: 'TEXT:It is seen' }, image]);
		assert.match(said(a.seen), /It is seen/, JSON.stringify(end(a.seen)));
		assert.ok(model.turns.slice(asked).at(-1).body.includes(`data:image/png;base64,${PIXEL}`), 'an attached image');

		await say('MCP:frontend confirm {"what": "this"}\nTEXT:It is confirmed');
		const calls = a.messages.flatMap((m) => m.toolCalls ?? []).filter((c) => /confirm/.test(c.function.name));

		assert.deepEqual(calls.map((c) => [c.function.name, JSON.parse(c.function.arguments)]), [['confirm', { what: 'this' }]], 'told once');
		assert.deepEqual(end(a.seen).outcome.pendingToolCallIds, [calls[0].id]);
		a.addMessage({ id: 'result', role: 'tool', toolCallId: calls[0].id, content: 'the person agrees' });
		await say();
		assert.match(said(a.seen), /It is confirmed/);

		const { messages } = (await run(rig.daemon, input(a.threadId, []), { harness: kind })).find((e) => e.type === 'MESSAGES_SNAPSHOT');
		const again = messages.flatMap((m) => m.toolCalls ?? []).filter((c) => c.id === calls[0].id);

		assert.deepEqual(again.map((c) => c.function.name), ['confirm'], 'a snapshot has the call as it was told');
		assert.match(messages.find((m) => m.role === 'tool' && m.toolCallId === calls[0].id).content, /the person agrees/);
	});
