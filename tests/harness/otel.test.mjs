// SPDX-License-Identifier: Apache-2.0
// Spans of the real harnesses over OTLP: a turn, and below it the model calls and the tool calls that it was made of.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Collector, QUICK } from '../integration/otel/receiver.mjs';
import { startModelServer } from './model-server.mjs';
import { HARNESSES } from './programs.mjs';
import { KEY, startRig } from './rig.mjs';

const KINDS = Object.keys(HARNESSES).filter((id) => ['codex', 'pi', 'opencode'].includes(id) && (!process.env.HARNESS || process.env.HARNESS.includes(id)));
const TRACE = '0af7651916cd43dd8448eb211c80319c';

let model, rig, r;

before(async (t) => {
	model = await startModelServer({ key: KEY });
	r = await Collector.start(t);
	rig = await startRig(model, { harness: KINDS[0], env: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${r.url}/v1/traces`, ...QUICK } });
});
after(async () => {
	await rig?.stop();
	await model?.close();
});

for (const kind of KINDS)
	test(kind, async (t) => {
		const { o, id } = await rig.session(t, { harness: kind, route: 'direct', acpd: { policy: { approval: 'never' } } });
		const of = (name) => r.find(name).filter((s) => s.attrs['gen_ai.conversation.id'] === id);

		await o.request('session/prompt', { sessionId: id, prompt: [{ type: 'text', text: 'RUN:echo made\nTEXT:It is made' }],
			_meta: { traceparent: `00-${TRACE}-b7ad6b7169203331-01` } });
		await r.until('invoke_agent', KINDS.indexOf(kind) + 1);
		const [turn] = of('invoke_agent'), chats = of('chat').filter((s) => !s.attrs['acpd.model.auxiliary']), tools = of('execute_tool');

		assert.deepEqual([turn.name, turn.trace, turn.parent, turn.attrs['gen_ai.response.finish_reasons']], [`invoke_agent ${kind}`, TRACE, 'b7ad6b7169203331', ['end_turn']]);
		assert.deepEqual(chats.map((s) => [s.name, s.parent, s.trace, s.attrs['gen_ai.request.model'], s.status?.code]),
			chats.map(() => ['chat scripted-1', turn.id, TRACE, 'scripted-1', undefined]));
		assert.equal(chats.length, 2, 'one that asks for the tool, and one that ends');
		assert.deepEqual(tools.map((s) => [s.parent, s.trace, s.attrs['gen_ai.operation.name'], s.status?.code]), [[turn.id, TRACE, 'execute_tool', undefined]]);
		for (const s of chats)
			assert.ok(s.attrs['gen_ai.usage.input_tokens'] > 0 && s.attrs['gen_ai.usage.output_tokens'] > 0 && s.from >= turn.from - 1 && s.to <= turn.to, s.name);
		assert.ok(!JSON.stringify(r.requests.map((q) => q.message)).includes(KEY));
	});
