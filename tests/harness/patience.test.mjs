// SPDX-License-Identifier: Apache-2.0
// Calls of MCP tools that say nothing for long, and people who think for long: no harness gives up on them. All three at once, since
// nobody does anything meanwhile: 90 s, or ten minutes with ACPD_TEST_LONG=1.

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { META } from '../lib/mcp.mjs';
import { startModelServer } from './model-server.mjs';
import { Play, shown } from './play.mjs';
import { chosen, NODE } from './programs.mjs';
import { KEY, Orchestrator, sleep, startRig } from './rig.mjs';

const LONG = Boolean(process.env.ACPD_TEST_LONG);
const SILENCE = Number(process.env.SILENCE ?? (LONG ? 600_000 : 90_000));
const PATIENCE = SILENCE + 400_000;

let model, rig;

before(async () => {
	model = await startModelServer({ key: KEY });
	rig = await startRig(model, { harness: 'pi' });
});

after(async () => {
	await rig?.stop();
	await model?.close();
});

const tool = (name) => ({ name, description: 'Takes its time.', inputSchema: { type: 'object', properties: {} } });
const text = (value) => ({ result: { resultType: 'complete', content: [{ type: 'text', text: value }] } });

// "silent" answers when it is long over; "asked" at once, but a human must allow it first.
async function serve({ method, params }) {
	switch (method) {
	case 'server/discover': return { result: { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 0,
		cacheScope: 'private', _meta: { [`${META}serverInfo`]: { name: 'patience', version: '1.0.0' } } } };
	case 'tools/list': return { result: { resultType: 'complete', tools: [tool('silent'), tool('asked')], ttlMs: 0, cacheScope: 'private' } };
	case 'tools/call': return params.name === 'silent' ? sleep(SILENCE, text('it is built')) : text('it was allowed');
	default: return { error: { code: -32601, message: 'Method not found' } };
	}
}

async function open(t, harness) {
	const o = await Orchestrator.connect(rig.daemon, { acpd: true,
		answer: ({ toolCall }) => toolCall._meta?.acpd?.tool === 'asked' ? sleep(SILENCE, 'allow_once') : 'allow_once' });
	const direct = { name: 'direct', command: NODE, args: [path.join(import.meta.dirname, 'mcp-server.mjs')], env: [] };

	o.patience = PATIENCE;
	t.after(async () => {
		await o.close();
		assert.deepEqual(o.violations, []);
	});
	return new Play(rig, harness).open({ on: o, params: { mcpServers: [o.serve('slow', serve), direct] },
		acpd: { policy: { approval: 'never' }, mcp: { stdio: 'harness', policy: { slow: { tools: { asked: { policy: 'ask' } } } } } } });
}

// [call, its title, its result]; Codex makes them one after another, so it gets a session for each.
const CALLS = [[`MCP:direct wait {"ms": ${SILENCE}}`, 'direct.wait', 'waited for'], ['MCP:slow silent {}', 'slow.silent', 'it is built'],
	['MCP:slow asked {}', 'slow.asked', 'it was allowed']];
const sharesOf = (harness) => harness === 'codex' ? CALLS.map((call) => [call]) : [CALLS];

async function play(t, harness, calls) {
	const s = await open(t, harness);
	const began = Date.now();
	const turn = await s.turn(...calls.map(([call], i) => (i < calls.length - 1 ? '+' : '') + call), 'TEXT:done');
	const made = turn.calls.filter((call) => call.name); // what is asked for the human is a call of the daemon's own

	t.diagnostic(`${harness}: ${Math.round((Date.now() - began) / 1000)} s`);
	assert.deepEqual([turn.stop, turn.text], ['end_turn', 'done'], harness);
	assert.deepEqual(made.map((call) => [call.title, call.status, shown(call)]).sort(),
		calls.map(([, title, result]) => [title, 'completed', result]).sort(), harness);
	for (const [, , wanted] of calls)
		assert.ok(s.results.some((result) => result.includes(wanted)), `${harness}: "${wanted}" did not reach the model`);
}

test(`calls and questions live through ${SILENCE / 1000} s of silence`, { timeout: PATIENCE + 600_000 }, async (t) => {
	await Promise.all(chosen().flatMap((harness) => sharesOf(harness).map((calls) => play(t, harness, calls))));
});
