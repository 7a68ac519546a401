// SPDX-License-Identifier: Apache-2.0
// The other stdio ACP agents behind acpd, by their quirk rows: those that are installed.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';

import { Daemon } from '../lib/daemon.mjs';
import { until } from './until.mjs';
import { aboutOf, upload, uploadSkill } from './archives.mjs';
import { DEFAULT_USAGE } from './model-script.mjs';
import { startModelServer } from './model-server.mjs';
import { agentEntry, AGENTS, agents } from './programs.mjs';
import { commands, KEY, Orchestrator, sleep, textOf, toolCalls, tunnelTo } from './rig.mjs';

const installed = agents();
const NUMBERS = { input: 5000, cached: 4000, output: 31_337, reasoning: 0 };

let model;
let daemon;

before(async () => {
	model = await startModelServer({ key: KEY });
	if (installed.length > 0)
		daemon = await Daemon.start({ flags: { defaultHarness: installed[0] }, harnesses: installed.map((id) => agentEntry(id)) });
});

after(async () => {
	await daemon?.stop();
	await model?.close();
});

// route: who makes the model calls, the agent (environment) or this client (tunnel).
async function session(t, id, acpd = {}, route = 'environment') {
	const { api } = AGENTS[id];
	const o = await Orchestrator.connect(daemon, { acpd: true, tunnel: tunnelTo(model.url) });
	t.after(async () => {
		await o.close();
		assert.deepEqual(o.violations, []);
	});
	const cwd = fs.mkdtempSync(path.join(daemon.workDir, 's-'));
	const baseUrl = model.url + (api === 'google' ? '/v1beta' : '/v1');
	const opened = await o.request('session/new', { cwd, mcpServers: [], _meta: { acpd: { harness: id, ...acpd,
		provider: { api, model: 'scripted-1', headers: { 'x-tenant': 'blue', 'x-session': path.basename(cwd) }, ...(route === 'tunnel' ? {} : { via: 'environment', baseUrl, key: KEY }) } } } });
	o.sessions.push(opened.sessionId);
	return { o, cwd, opened, id: opened.sessionId };
}

// Of each request that went to the provider a record, with what the provider said of it: calls for titles and suggestions too. Claude gives
// some of those up, at any time: such a record says so, and need not have all that the provider said.
async function countsToTheToken(o, sessionId, own) {
	const { usage } = await o.prompt(sessionId, `USAGE:${JSON.stringify(NUMBERS)}`, 'TEXT:counted');
	const calls = async () => (await o.request('_acpd/usage', { sessionId })).records.filter((r) => r.type === 'model_call');
	const requests = () => model.requests.filter((r) => r.headers['x-session'] === own);

	assert.ok(usage.inputTokens >= NUMBERS.input, JSON.stringify(usage));
	await until(async () => (await calls()).length >= requests().length, 'a record of each request');
	const [told, records] = [requests().map((r) => r.answer.includes(NUMBERS.output) ? NUMBERS : DEFAULT_USAGE).map((u) => `${u.input} ${u.output}`), await calls()];
	const whole = records.filter((r) => r.complete).map((r) => `${r.usage.inputTokens} ${r.usage.outputTokens}`);
	assert.ok(whole.includes(`${NUMBERS.input} ${NUMBERS.output}`));
	for (const numbers of whole) {
		assert.ok(told.includes(numbers), `${numbers} of ${told}`);
		told.splice(told.indexOf(numbers), 1);
	}
	const rest = records.filter((r) => !r.complete);
	assert.ok(rest.every((r) => r.cancelled) && told.length <= rest.length, JSON.stringify([told, rest]));
}

// Skills and instructions by their archives, the project's own instructions beside them, and both changed while the session lives. In the
// same session, since one costs seconds: what its calls through the tunnel used.
for (const id of Object.keys(AGENTS)) {
	test(`${id}: skills and instructions of archives are in the request, and usage is counted`, { skip: !installed.includes(id) && 'not installed' }, async (t) => {
		const { instructions: file, home, skills } = AGENTS[id];
		const archive = await upload(daemon, { [file]: 'The project asks for brevity.\n' });
		const { o, cwd, opened, id: sessionId } = await session(t, id, { workspace: { archive },
			instructions: 'The orchestrator asks for patience.\n', skills: [{ archive: await uploadSkill(daemon, 'first') }] }, 'tunnel');
		let said; // to the model, in the request of the last turn; Claude asks for a title in another
		const prompt = async (text) => {
			await o.prompt(sessionId, text);
			said = model.requests.findLast((r) => r.body.includes(text) && !r.body.includes('<session>')).body;
		};
		const untold = (...wanted) => wanted.filter((what) => !said.includes(what));
		const has = (name) => fs.existsSync(path.join(daemon.stateDir, 'homes', sessionId, skills, name, 'scripts/run.sh'));

		assert.deepEqual(opened._meta.acpd.instructions, { path: home, in: 'home' });
		assert.equal(fs.readFileSync(path.join(cwd, file), 'utf8'), 'The project asks for brevity.\n');
		assert.ok(has('first'));
		await prompt('TEXT:one');
		assert.deepEqual(untold('asks for brevity', 'asks for patience', aboutOf('first')), []);
		await o.request('_acpd/skills/install', { sessionId, skills: [{ archive: await uploadSkill(daemon, 'late') }] });
		await o.request('_acpd/skills/remove', { sessionId, names: ['first'] });
		assert.ok(has('late') && !has('first'));
		await prompt('TEXT:two');
		assert.deepEqual(untold('asks for brevity', 'asks for patience', aboutOf('late')), []);
		// Claude adds to the list that is in the conversation already
		said = said.slice(Math.max(said.lastIndexOf('The following skills are available'), 0));
		assert.deepEqual(untold(aboutOf('first')), [aboutOf('first')], 'a skill that was removed');
		await countsToTheToken(o, sessionId, path.basename(cwd));
	});
}

const shell = (id, command) => `TOOL:${AGENTS[id].shell} ${JSON.stringify({ command, description: 'a test command' })}`;

// The budget is made so small, while a command runs, that the model call after it is refused.
for (const id of Object.keys(AGENTS)) {
	test(`${id}: a budget is spent in the midst of a turn: it ends by that, and the agent asks no more`, { skip: !installed.includes(id) && 'not installed' }, async (t) => {
		const { o, cwd, id: sessionId } = await session(t, id, { policy: { approval: 'never' } }, 'tunnel');
		const budget = (turn) => o.request('session/resume', { sessionId, cwd, mcpServers: [], _meta: { acpd: { budgets: { turn } } } });
		const refused = () => daemon.metric('acpd_model_refused_total', 'code="MODEL_BUDGET_SPENT"');
		const before = await refused();
		const ended = o.prompt(sessionId, shell(id, 'touch began; until [ -e goes-on ]; do sleep 0.1; done'), 'TEXT:not reached');
		await until(() => fs.existsSync(path.join(cwd, 'began')), 'the command runs', 60_000);
		await budget({ steps: 1 });
		const at = model.requests.length;
		fs.writeFileSync(path.join(cwd, 'goes-on'), '');
		const { stopReason, _meta } = await ended;
		assert.deepEqual([stopReason, _meta.acpd.stopDetail.budget, _meta.acpd.stopDetail.scope, _meta.acpd.stopDetail.limit],
			['max_turn_requests', 'steps', 'turn', 1]);
		assert.equal(o.messages.filter((m) => m.method === '_acpd/turn_end').length, 1);
		assert.equal(model.requests.length, at, 'the provider was asked');
		await budget({ steps: 1000 });
		assert.equal((await o.prompt(sessionId, 'TEXT:still here')).stopReason, 'end_turn');
		const requests = await refused() - before;
		assert.ok(requests >= 1 && requests <= 3, `${requests} requests were refused`);
	});
}

const modelOf = (opened) => opened.configOptions.find((option) => option.category === 'model');

for (const id of ['copilot', 'claude']) {
	describe(id, { skip: !installed.includes(id) && 'not installed' }, () => {
		const { cached, reasoning } = AGENTS[id];
		const ends = [];
		let o, cwd, opened, sid; // a session costs seconds, so the tests share one
		let seen, asked; // what came before the test

		before(async () => {
			({ o, cwd, opened, id: sid } = await session({ after: (fn) => ends.push(fn) }, id));
		});
		beforeEach(() => {
			o.answer = () => 'allow_once';
			[seen, asked] = [o.updates(sid).length, o.asked.length];
		});
		after(async () => {
			for (const end of ends)
				await end();
		});
		const updates = () => o.updates(sid).slice(seen);

		function assertUsage(usage, calls) {
			assert.equal(usage.inputTokens, 1200 * calls);
			assert.equal(usage.outputTokens, 40 * calls);
			assert.equal(usage.cachedReadTokens, cached * calls);
			assert.equal(usage.thoughtTokens, reasoning && reasoning * calls);
		}

		test('text, thoughts, the provider, usage of each turn alone', async () => {
			const at = model.requests.length;
			assert.equal(modelOf(opened).currentValue, 'scripted-1');
			const first = await o.prompt(sid, 'THINK:pondering', 'TEXT:Hello from the model.');
			assert.equal(first.stopReason, 'end_turn');
			assert.equal(textOf(updates()), 'Hello from the model.');
			assert.equal(textOf(updates(), 'agent_thought_chunk'), 'pondering');
			assert.doesNotMatch(JSON.stringify(o.updates(sid)), /127\.\d+\.\d+\.\d+:\d+/, 'the address that its calls go to is not shown');
			assertUsage(first.usage, 1);
			const second = await o.prompt(sid, shell(id, 'true'), 'TEXT:done');
			assertUsage(second.usage, 2);
			for (const request of model.requests.slice(at)) {
				assert.equal(request.api, AGENTS[id].api);
				assert.equal(request.model, 'scripted-1');
				assert.equal(request.keyMatches, true);
				assert.equal(request.headers['x-tenant'], 'blue');
			}
		});

		test('allow, reject, a failing command', async () => {
			await o.prompt(sid, shell(id, 'touch made; exit 3'), 'TEXT:done');
			assert.equal(o.asked.length, asked + 1);
			assert.ok(fs.existsSync(path.join(cwd, 'made')));
			assert.equal(toolCalls(updates())[0].status, 'failed');
			o.answer = () => 'reject_once';
			await o.prompt(sid, shell(id, 'touch other'), 'TEXT:done');
			assert.equal(o.asked.length, asked + 2);
			assert.ok(!fs.existsSync(path.join(cwd, 'other')));
		});

		test('cancel in the middle of a command', async (t) => {
			const { o, id: sid } = await session(t, id); // of its own: a script goes on where the turn was cancelled
			const command = `tail -f /dev/null --pid=${process.pid}`;
			const turn = o.prompt(sid, shell(id, command), 'TEXT:not reached');
			await until(() => commands(command).length > 0, 'the command runs');
			await sleep(200);
			await o.cancel(sid);
			assert.equal((await turn).stopReason, 'cancelled');
			await until(() => commands(command).length === 0, 'the command is gone', 5000);
		});

		test('a refused key is an error with its class, not a text of the model', async () => {
			const error = await o.prompt(sid, 'ERR:401').then(assert.fail, (e) => e);
			assert.equal(error.data.turn.class, 'auth', JSON.stringify(error.data));
			assert.equal(textOf(updates()), '');
			// Claude's own process stays logged out after that: this test is the last
			if (id === 'copilot')
				assert.equal((await o.prompt(sid, 'TEXT:still here')).stopReason, 'end_turn');
		});
	});
}

describe('gemini', { skip: !installed.includes('gemini') && 'not installed' }, () => {
	test('text, the provider, models and modes', async (t) => {
		const { o, opened, id } = await session(t, 'gemini');
		assert.equal(modelOf(opened).currentValue, 'scripted-1');
		assert.equal(opened.modes.currentModeId, 'default');
		const at = model.requests.length;
		const answer = await o.prompt(id, 'TEXT:Hello from Gemini');
		assert.equal(answer.stopReason, 'end_turn');
		assert.equal(textOf(o.updates(id)), 'Hello from Gemini');
		for (const request of model.requests.slice(at))
			assert.deepEqual([request.api, request.model, request.keyMatches], ['google', 'scripted-1', true]);
		assert.equal(answer.usage, undefined); // its output leaves out reasoning and does not say how much
		await o.request('session/set_mode', { sessionId: id, modeId: 'autoEdit' });
		assert.doesNotMatch(textOf(o.updates(id)), /MODE_UPDATE/);
	});
});
