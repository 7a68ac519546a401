// SPDX-License-Identifier: Apache-2.0
// What is OpenCode's own behind acpd: its port, its home, its configuration, its plugin, its subagents. What every harness does
// stands in scenarios.mjs.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { until } from './until.mjs';
import { startModelServer } from './model-server.mjs';
import { assertCall, detach, diffs, fresh, nap, Play } from './play.mjs';
import { commands, KEY, listeningPorts, ofSession, opencodeOf, OPENCODE, startRig, textOf, toolCalls } from './rig.mjs';

// A project that would answer every question of OpenCode itself.
const ALLOWING = { permission: { bash: 'allow', '*': 'allow' }, agent: { build: { permission: { bash: 'allow' } } } };

let model, rig, x;
let s; // a session in such a project; opening one costs OpenCode seconds, so tests share it

before(async () => {
	model = await startModelServer({ key: KEY });
	rig = await startRig(model);
	x = new Play(rig, 'opencode');
	s = await x.open({ prepare: (dir) => fs.writeFileSync(path.join(dir, 'opencode.json'), JSON.stringify(ALLOWING)) });
});

after(async () => {
	await s?.o.close();
	await x?.close();
	await rig?.stop();
	await model?.close();
	assert.deepEqual(s?.o.violations, []);
});

test('initialize promises what OpenCode can do', async (t) => {
	const o = await rig.connect(t);
	const { agentCapabilities: ours } = o.initializeResult;
	const question = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 1, clientCapabilities: {} } };
	const home = fs.mkdtempSync(path.join(rig.daemon.workDir, 'home-'));
	const { stdout } = spawnSync(OPENCODE, ['acp'], { input: JSON.stringify(question) + '\n', encoding: 'utf8',
		cwd: home, env: { HOME: home, TMPDIR: home, PATH: process.env.PATH, OPENCODE_DISABLE_MODELS_FETCH: '1' },
		timeout: 60_000 });
	const { agentCapabilities: real } = JSON.parse(stdout.split('\n')[0]).result;

	assert.equal(ours.loadSession, true);
	for (const name of ['image', 'audio', 'embeddedContext'])
		assert.equal(Boolean(ours.promptCapabilities?.[name]), Boolean(real.promptCapabilities[name]), name);
	for (const name of ['http', 'sse'])
		assert.equal(Boolean(ours.mcpCapabilities?.[name]), Boolean(real.mcpCapabilities[name]), name);
});

test('files of the project cannot switch the questions off', async () => {
	s.o.answer = () => 'reject_once';
	const turn = await s.turn('RUN:touch made', 'TEXT:not made');
	s.o.answer = () => 'allow_once';

	assert.equal(turn.asked.length, 1);
	assert.ok(!s.has('made'));
});

test('its own port on loopback refuses strangers', async () => {
	assert.ok(opencodeOf(s.id));
	const ports = listeningPorts(ofSession(s.id));
	for (const port of ports) {
		const { status } = await fetch(`http://127.0.0.1:${port}/config`);
		assert.equal(status, 401, `port ${port} answers without a password`);
	}
	assert.ok(ports.length > 0, 'it listens nowhere');
});

test('no model call is made that no turn counts', async () => {
	const at = model.requests.length;
	const turn = await s.turn('RUN:true', 'TEXT:done');

	assert.equal(model.requests.length - at, 2); // no title, no summary
	assert.equal(turn.answer.usage.inputTokens, 2400);
});

test('a subagent counts, and what it asks does not hang the turn', async () => {
	const bash = `TOOL:bash ${JSON.stringify({ command: 'touch made', description: 'a test command' })}`;
	const turn = await s.turn(`TOOL:task ${JSON.stringify({ description: 'sub', subagent_type: 'general',
		prompt: bash + '\nTEXT:child done' })}`, 'TEXT:parent done');

	assert.equal(turn.stop, 'end_turn');
	assert.equal(turn.asked.length, 0);
	assert.match(turn.text, /parent done$/);
	assert.equal(turn.answer.usage.inputTokens, 4800); // two calls of each
	assert.ok(!s.has('made'));
});

test('a file that is overwritten: both texts, by the plugin', async () => {
	const name = `${fresh('over')}.txt`;
	const file = s.file(name, 'old text\n');
	await s.turn(`READ:${file}`, 'TEXT:read'); // it overwrites only what it has read
	const turn = await s.turn(`WRITE:${JSON.stringify({ file: name, text: 'new text\n' })}`, 'TEXT:done');

	assertCall(turn.calls[0], { kind: 'edit' });
	assert.deepEqual(diffs(turn.calls[0]), [{ type: 'diff', path: file, oldText: 'old text\n', newText: 'new text\n' }]);
});

// Models of that family are given apply_patch instead of edit and write.
test('a patch of several files: a diff of each', async (t) => {
	const g = await x.session(t, { provider: { model: fresh('gpt-5') } });
	const file = g.file('a.txt', 'one\ntwo\n');
	g.file('c.txt', 'gone\n');
	const patch = ['*** Begin Patch', '*** Update File: a.txt', '@@', '-two', '+TWO', '*** Add File: b.txt', '+fresh',
		'*** Delete File: c.txt', '*** End Patch'].join('\n');
	const turn = await g.turn(`TOOL:apply_patch ${JSON.stringify({ patchText: patch })}`, 'TEXT:done');

	assertCall(turn.calls[0], { kind: 'edit' });
	assert.equal(turn.calls[0].name, 'apply_patch');
	assert.deepEqual(diffs(turn.calls[0]).map(({ path: at, oldText, newText }) => [path.basename(at), oldText, newText]),
		[['a.txt', 'one\ntwo\n', 'one\nTWO\n'], ['b.txt', null, 'fresh\n'], ['c.txt', 'gone\n', '']]);
	assert.equal(diffs(turn.calls[0])[0].path, file);
});

test('load after the socket was lost in a turn: everything once, in order', async (t) => {
	const { o, id, cwd } = await x.session(t, {});
	await o.prompt(id, 'THINK:early thought', 'TEXT:early answer', 'RUN:echo tool output', 'TEXT: after the tool');
	const words = Array.from({ length: 60 }, (_, i) => `w${i}`).join(' ');
	o.prompt(id, 'SLOW:30', `TEXT:${words}`).catch(() => {}); // its answer dies with the socket
	await until(() => textOf(o.updates(id)).includes('w5'), 'the turn streams');
	o.cut();

	const again = await rig.connect(t, { acpd: true });
	again.sessions.push(id);
	await again.request('session/load', { sessionId: id, cwd, mcpServers: [] });
	await until(() => textOf(again.updates(id)).endsWith('w59'), 'the turn has ended');
	const updates = again.updates(id);
	const sequence = again.sequence(id);
	assert.deepEqual(sequence, sequence.map((_, i) => i + 1), 'lost, doubled or out of order');
	assert.equal(textOf(updates, 'user_message_chunk').split('SLOW:30').length, 2, 'prompts are not replayed once');
	assert.equal(textOf(updates, 'agent_thought_chunk'), 'early thought');
	assert.equal(textOf(updates), `early answer after the tool${words}`);
	assert.equal(toolCalls(updates)[0].status, 'completed');
	assert.equal((await again.prompt(id, 'TEXT:last')).stopReason, 'end_turn');
});

test('nothing is fetched into the private homes', () => {
	assert.ok(rig.homes().length >= 3);
	for (const home of rig.homes()) {
		const modules = path.join(home, '.config/opencode/node_modules');
		assert.deepEqual(fs.existsSync(modules) ? fs.readdirSync(modules) : [], [], home);
	}
});

test('/compact compacts, and its turn is no empty one', async () => {
	await s.turn('TEXT:something to sum up');
	const turn = await s.turn('/compact');

	assert.equal(turn.stop, 'end_turn');
	assert.deepEqual(turn.of('compaction_update').map((u) => u.status), ['in_progress', 'completed']);
	assert.ok(turn.of('compaction_summary_chunk').length > 0, 'no summary');
	await s.goesOn();
});

// Last: it stops the daemon that all of these tests use.
test('nothing is left after the daemon stops, not even what detached itself', async () => {
	const [detached, running] = [nap(), nap()];
	await s.turn(`RUN:${detach(detached)}; echo started`, 'TEXT:done');
	s.o.prompt(s.id, `RUN:${running}`, 'TEXT:not reached').catch(() => {}); // cut off
	await until(() => commands(detached).length === 1 && commands(running).length === 1, 'the commands run');
	await rig.stop();
	rig = undefined;

	assert.deepEqual([...ofSession(s.id), ...commands(detached), ...commands(running)], []);
});
