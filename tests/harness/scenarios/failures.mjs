// SPDX-License-Identifier: Apache-2.0
// Failures of the provider and of the harness, and budgets: each turn ends once, as what it was, and the next one works.

import assert from 'node:assert/strict';
import fs from 'node:fs';

import { bytesOf, filesBelow } from '../../lib/vanishing.mjs';
import { withLimit } from '../../lib/wait.mjs';
import { until } from '../until.mjs';
import { assertCall, detach, gone, nap, runs, steps, usageRecords } from '../play.mjs';
import { commands, KEY, ofSession } from '../rig.mjs';

// What the provider does -> the turn's class, status (where the harness tells it) and whether trying again may help;
// at last: whether a harness takes its time over it.
const FAILURES = [
	['401', ['ERR:401'], { class: 'auth', httpStatus: 401, retryable: false }],
	['403', ['ERR:403'], { class: 'auth', httpStatus: 403, retryable: false }],
	['402', ['ERR:402'], { class: 'quota', httpStatus: 402, retryable: false }],
	['429 with retry-after', ['ERR:429 retry-after=1'], { class: 'rate_limit', httpStatus: 429, retryable: true }],
	['429 without retry-after', ['ERR:429 retry-after=none'], { class: 'rate_limit', httpStatus: 429, retryable: true }, true],
	['500', ['ERR:500 retry-after=0'], { class: 'provider', httpStatus: 500, retryable: true }],
	['404', ['ERR:404'], { class: 'provider', httpStatus: 404, retryable: false }],
	['a stream that is cut', ['TEXT:begun', 'CUT'], { class: 'provider', retryable: true }, true],
	['a stream that is malformed', ['TEXT:begun', 'MALFORMED'], { class: 'provider', retryable: true }],
	['a context that is too long', ['OVERFLOW'], { class: 'context_overflow', httpStatus: 400, retryable: false, always: true }],
];

const failure = ([name, lines, want, patient]) => [`the provider fails: ${name}`, async (x, t) => {
	const s = await x.session(t);
	if (want.always) // also when the harness asks again with less
		x.model.scenarios.push({ model: s.model, lines });
	const error = await s.fails(...lines);
	x.model.scenarios = x.model.scenarios.filter(({ model }) => model !== s.model);

	assert.equal(error.class, want.class, JSON.stringify(error));
	assert.equal(error.retryable, want.retryable, JSON.stringify(error));
	// what passes the daemon it knows itself
	assert.equal(error.httpStatus, x.route === 'environment' && x.h.noStatus.includes(want.httpStatus) ? undefined : want.httpStatus,
		JSON.stringify(error));
	assert.equal(error.turn.ends.length, 1);
	assert.equal(error.turn.ends[0].error?.class ?? error.turn.ends[0].error?.turn?.class, want.class);
	if (want.httpStatus)
		assert.equal(error.turn.text, '', 'the error is told as text of the agent');
	await s.goesOn();
}, patient];

async function wrongKey(x, t) {
	const s = await x.session(t, { provider: { key: 'sk-wrong-key-0002' } });
	const error = await s.fails('TEXT:hi');

	assert.equal(error.class, 'auth');
	assert.ok(!JSON.stringify(error.message).includes('sk-wrong-key-0002'));
}

// Port 2 is nobody's, and no program is given it by chance.
async function unreachable(x, t) {
	const s = await x.session(t, { provider: { baseUrl: 'http://127.0.0.1:2/v1' } });
	const error = await s.fails('TEXT:hi');

	assert.deepEqual([error.class, error.retryable], ['provider', true], JSON.stringify(error));
}

async function emptyAnswer(x, t) {
	const s = await x.session(t);

	assert.match((await s.fails('EMPTY')).class, /^(empty_turn|provider)$/);
	await s.goesOn();
}

async function silentProvider(x, t) {
	const s = await x.session(t);
	const running = s.begin('TEXT:begun', 'HANG');
	await until(() => running.now().text.includes('begun'), 'the turn has begun');
	await s.cancel(running);
	await s.goesOn();
}

// The provider may be silent for two seconds.
const IDLE_MS = 2000;
const impatient = (x, t, idleTimeoutMs = IDLE_MS) => x.shared(t, `impatient ${idleTimeoutMs}`, () => ({ provider: { idleTimeoutMs } }));

// A connection that stays open without a byte, in each try: before an answer begins, or in the middle of one.
const SILENCES = [
	['from the start', 'HANG'],
	['after the first words', 'TEXT:begun', 'HANG'],
];

async function fallsSilent(s, what, lines) {
	const earlier = await usageRecords(s);
	const at = Date.now();
	const error = await s.fails(...lines);

	assert.deepEqual([error.class, error.retryable, error.httpStatus], ['provider', true, undefined], `${what}: ${JSON.stringify(error)}`);
	assert.ok(Date.now() - at >= IDLE_MS, `${what}: ended before the time was over`);
	assert.equal(error.turn.ends.length, 1);
	await s.goesOn();
	const [failed, next] = (await usageRecords(s)).slice(earlier.length);
	assert.deepEqual([failed.error?.class, failed.error?.retryable, failed.stopReason], ['provider', true, undefined], `${what}: ${JSON.stringify(failed)}`);
	assert.equal(next.stopReason, 'end_turn');
}

async function silences(x, t) {
	const s = await impatient(x, t);

	for (const [what, ...lines] of SILENCES)
		await fallsSilent(s, what, lines);
}

async function slowAnswer(x, t) {
	const answered = async (idleMs) => { // where a busy machine makes a pause too long, it is asked again with longer ones
		const s = await impatient(x, t, idleMs);
		const at = Date.now();
		const turn = await s.turn(`SLOW:${idleMs * 0.4}`, 'TEXT:one two three four').catch((error) => ({ error }));

		return { turn, idleMs, requests: s.requests.length, took: Date.now() - at };
	};
	const { turn, idleMs, requests, took } = await withLimit(IDLE_MS, answered, (r) => r.turn.error || r.requests > 1, 3);

	assert.equal(turn.error, undefined);
	assert.deepEqual([turn.stop, turn.text, requests], ['end_turn', 'one two three four', 1]);
	assert.ok(took > idleMs * 1.5, 'not slow');
}

// A command may say nothing for longer than the provider may.
async function silentTool(x, t) {
	const s = await impatient(x, t);
	s.spent = true;
	const turn = await s.turn('RUN:sleep 4; echo late', 'TEXT:done');

	assert.equal(turn.stop, 'end_turn');
	assert.match(s.results[0], /late/);
}

async function harnessKilled(x, t) {
	const s = await x.session(t);
	const command = nap();
	await s.turn('TEXT:noted', 'the secret word is marzipan');
	const failed = s.fails(`RUN:${command}`, 'TEXT:not reached');
	await runs(command);
	process.kill(x.rig.harnessOf(s.id).pid, 'SIGKILL');
	const error = await failed;

	assert.equal(error.class, 'harness_exit');
	assertCall(error.turn.calls[0], { status: 'failed' });
	await gone(command, 8000);
	assert.match((await s.turn('RECALL')).text, /the secret word is marzipan/);
}

// --- budgets ---------------------------------------------------------------------------------

function assertStopped(turn, stopReason, { budget, scope, limit }) {
	const detail = turn.answer?._meta?.acpd?.stopDetail;

	assert.equal(turn.stop, stopReason, JSON.stringify(turn.answer));
	assert.deepEqual({ budget: detail?.budget, scope: detail?.scope, limit: detail?.limit }, { budget, scope, limit });
	assert.ok(detail.used >= limit, JSON.stringify(detail));
}

// Where the daemon reads what calls use, not one call more; else as many as the harness makes until its numbers are known.
function assertAsked(s, n, exactly, atMost) {
	if (s.x.route === 'environment')
		assert.ok(n <= atMost, `${n} requests`);
	else
		assert.equal(n, exactly);
}

const tenSteps = steps(10);

const CALL = { input: 12_000, cached: 0, output: 40, reasoning: 0 }; // two of them are more tokens than the turn may have
const OF_TURN = { steps: 3, tokens: 20_000, seconds: 20, cost: 0.000001 }; // seconds: enough for three steps on a busy machine

async function stopsAtSteps(s) {
	const turn = await s.turn(...tenSteps, 'TEXT:not reached');

	assertStopped(turn, 'max_turn_requests', { budget: 'steps', scope: 'turn', limit: OF_TURN.steps });
	assertAsked(s, s.requests.length, OF_TURN.steps, 5);
}

async function stopsAtTokens(s) {
	const from = s.requests.length;
	const turn = await s.turn(...tenSteps.flatMap((step) => [`USAGE:${JSON.stringify(CALL)}`, step]), 'TEXT:not reached');

	assertStopped(turn, 'max_tokens', { budget: 'tokens', scope: 'turn', limit: OF_TURN.tokens });
	assertAsked(s, s.requests.length - from, 2, 4);
}

async function stopsAtSeconds(s) {
	const command = nap();
	const turn = await s.turn(`RUN:${command}`, 'TEXT:not reached');

	assertStopped(turn, 'max_turn_requests', { budget: 'seconds', scope: 'turn', limit: OF_TURN.seconds });
	await gone(command);
}

// None of these harnesses knows what a private provider charges (Pi's and OpenCode's own prices are left out): nothing is
// made up, so a budget of money stops no turn, which the records show by having no cost.
async function noCost(s) {
	const earlier = await usageRecords(s);

	assert.equal((await s.turn('RUN:echo one', 'TEXT:two calls')).stop, 'end_turn');
	const turns = (await usageRecords(s)).slice(earlier.length);
	assert.deepEqual(turns.map(({ cost, cumulative }) => [cost, cumulative.cost]), [[undefined, undefined]]);
}

async function budgetsOfTurn(x, t) {
	const s = await x.session(t, { acpd: { budgets: { turn: OF_TURN, session: { cost: 0.000001 } } } });

	for (const stops of [stopsAtSteps, stopsAtTokens, stopsAtSeconds, noCost]) {
		await stops(s);
		await s.goesOn();
	}
}

async function budgetOfSession(x, t) {
	const s = await x.session(t, { acpd: { budgets: { session: { tokens: 2000 } } } });

	assert.equal((await s.turn('TEXT:one')).stop, 'end_turn');
	const second = await s.turn('TEXT:two');
	const third = await s.turn('TEXT:three');
	assertStopped(third, 'max_tokens', { budget: 'tokens', scope: 'session', limit: 2000 });
	assert.ok(['end_turn', 'max_tokens'].includes(second.stop));
	assert.ok(s.requests.length <= 2, 'a turn beyond the session\'s budget went to the provider');
}

// --- what stays ------------------------------------------------------------------------------

// Not even what detached itself; but the private home, which goes with the session.
async function nothingIsLeft(x, t) {
	const s = await x.session(t);
	s.spent = true;
	const home = x.rig.homes().find((dir) => dir.endsWith(s.id));
	const [detached, running] = [nap(), nap()];
	await s.turn(`RUN:${detach(detached)}; echo home is $HOME`, 'TEXT:done');
	s.o.prompt(s.id, `RUN:${running}`, 'TEXT:not reached').catch(() => {}); // whether cancelled or cut off
	await until(() => commands(detached).length === 1 && commands(running).length === 1, 'the commands run');
	assert.ok(home, 'no private home');
	for (const file of filesBelow(home).filter((name) => !/\.(db|sqlite)[^/]*$/.test(name)))
		assert.ok(!bytesOf(file)?.includes(KEY), `the key is in ${file}`);
	await s.request('session/close', {});

	await until(() => [...ofSession(s.id), ...commands(detached), ...commands(running)].length === 0, 'all of it is gone', 10_000);
	assert.ok(fs.existsSync(home), 'gone at close');
	await s.request('session/delete', {});
	await until(() => !fs.existsSync(home), 'the home is removed', 8000);
}

export default [
	['the provider falls silent, from the start and after the first words: the turn fails', silences, true],
	['the provider cannot be reached', unreachable, true],
	...FAILURES.map(failure),
	['the provider\'s key is wrong', wrongKey],
	['the provider falls silent: the turn can be cancelled', silentProvider],
	['an answer that is slow is not silent', slowAnswer],
	['a tool is silent for longer than the provider may be', silentTool],
	['an answer without anything in it is no success', emptyAnswer],
	['the harness is killed in a turn', harnessKilled],
	['budgets of a turn: model calls, tokens, seconds; of cost, of which no harness tells', budgetsOfTurn, true],
	['budget: tokens of a session', budgetOfSession],
	['nothing is left after session/close but the private home: no key in it, removed with the session', nothingIsLeft],
];
