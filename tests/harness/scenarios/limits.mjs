// SPDX-License-Identifier: Apache-2.0
// What a harness makes of the refusal of a model call: it asks no more, and the turn ends as the daemon says.

import assert from 'node:assert/strict';
import fs from 'node:fs';

import { fresh, Play } from '../play.mjs';
import { until } from '../until.mjs';

const refused = (x, code) => x.rig.daemon.metric('acpd_model_refused_total', `code="${code}"`);

const BUDGETS = [
	[{ steps: 1 }, 'max_turn_requests'],
	[{ tokens: 1000 }, 'max_tokens'],
	[{ cost: 0.000001 }, 'max_turn_requests'],
];

// A session whose calls pass the daemon. `change` happens while a command of its turn runs, after one model call: what the second
// one meets. Gives the turn's end, and how many calls were refused with this code.
async function limited(x, t) {
	const own = x.route === 'environment' ? new Play(x.rig, x.harness, { route: 'tunnel', level: x.level }) : x;
	const s = await own.shared(t, 'limited', () => {
		const model = fresh('limited');

		return { provider: { model: undefined, models: [model], prices: { [model]: { input: 1, output: 1, cacheRead: 1 } } }, acpd: { model } };
	});

	s.spent = own !== x;

	s.inItsMidst = async (change, code, wait) => {
		const [requests, before] = [s.requests.length, await refused(x, code)];
		const ended = wait('RUN:touch began; until [ -e goes-on ]; do sleep 0.1; done', 'TEXT:not reached');

		await until(() => s.has('began'), 'the command runs', 60_000);
		await change();
		s.file('goes-on', '');
		const end = await ended;
		fs.rmSync(s.file('began'));
		fs.rmSync(s.file('goes-on'));
		assert.equal(s.requests.length, requests + 1, 'the provider was asked');
		return { end, count: async () => await refused(x, code) - before };
	};
	return s;
}

// At most two after the first one.
async function assertStopped(s, count) {
	await s.goesOn();
	const n = await count();
	assert.ok(n >= 1 && n <= 3, `${n} requests were refused`);
}

// The budget is made so small that the call after the command is refused; the daemon cancels the turn then.
async function budgetSpent(x, t) {
	const s = await limited(x, t);
	const budget = (turn) => s.request('session/resume', { cwd: s.cwd, mcpServers: [], _meta: { acpd: { budgets: { turn } } } });

	for (const [limit, stopReason] of BUDGETS) {
		const [name] = Object.keys(limit);
		const { end, count } = await s.inItsMidst(() => budget(limit), 'MODEL_BUDGET_SPENT', (...lines) => s.turn(...lines));
		const detail = end.answer._meta.acpd.stopDetail;

		assert.equal(end.stop, stopReason, JSON.stringify(end.answer));
		assert.deepEqual([detail.budget, detail.scope, detail.limit], [name, 'turn', limit[name]]);
		assert.ok(detail.used >= detail.limit, JSON.stringify(detail));
		assert.deepEqual(end.ends.map((e) => [e.stopReason, e._meta.acpd.stopDetail]), [[stopReason, detail]]);
		await budget({ steps: 1000 });
		await assertStopped(s, count);
	}
}

// Nobody cancels anything: the harness itself stops on the refusal.
async function modelTaken(x, t) {
	const s = await limited(x, t);
	const { model } = s.settings.acpd;
	s.spent = true;
	const only = (name) => s.request('_acpd/provider/set', { provider: s.x.provider({ model: undefined, models: [name], headers: { 'x-session': `of-${s.model}` } }) });
	const { end, count } = await s.inItsMidst(() => only('another'), 'MODEL_NOT_ALLOWED', (...lines) => s.fails(...lines));

	assert.deepEqual([end.class, end.retryable], ['quota', false], JSON.stringify(end));
	await only(model);
	await assertStopped(s, count);
}

export default [
	['a budget is spent in the midst of a turn: the next model call is refused, and the harness asks no more', budgetSpent],
	['a model is taken away in the midst of a turn: its next call is refused, and the harness asks no more', modelTaken],
];
