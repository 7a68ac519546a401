// SPDX-License-Identifier: Apache-2.0
// What a harness sends to its provider, and what it does when that refuses: recorded at the scripted model, which the harness is given as
// its base URL. contracts.json has it for the pinned versions (contract.test.mjs compares), drift.mjs beside it for the newest.
//
//   const contract = await Contract.open(daemon, model, id, api);
//   await contract.asks();                     {calls: [shape, …], perTurn, keepsAlive, upgrades} of two turns of text
//   await contract.refused(misbehaviour)       how many calls one turn makes; GOES_ON if it has no end so soon
//   await contract.close();

import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { MISBEHAVIOURS } from './misbehaviours.mjs';
import { KEY, Orchestrator } from './rig.mjs';
import { until } from './until.mjs';

const TRIED = ['402', '429 of a spent quota', '429 with retry-after', '500', 'cut'];

export const GOES_ON = 'goes on';
export const REFUSALS = MISBEHAVIOURS.filter(({ name }) => TRIED.includes(name));
export const EXPECTED = JSON.parse(fs.readFileSync(path.join(import.meta.dirname, 'contracts.json')));

// Headers that every call has; those whose values count, besides the names.
const EVERY = ['connection', 'host', 'user-agent'];
const VALUES = ['accept-encoding', 'anthropic-beta', 'anthropic-version', 'content-type', 'openai-beta'];
const PROMPTS = ['TEXT:first', 'TEXT:second'];

// Titles, summaries and suggestions come when they like, the last (of Claude) with the tools of a turn.
const ofTurn = (r) => r.tools?.length > 0 && !r.prompt.startsWith('[SUGGESTION MODE');

let opened = 0;

export class Contract {
	static async open(daemon, model, id, api) {
		const c = new Contract();
		const prefix = `/recorded/${opened++}`;
		const baseUrl = model.url + prefix + (api === 'google' ? '/v1beta' : '/v1');

		c.o = await Orchestrator.connect(daemon, { acpd: true });
		const cwd = fs.mkdtempSync(path.join(daemon.workDir, 's-'));
		const { sessionId } = await c.o.request('session/new', { cwd, mcpServers: [], _meta: { acpd: { harness: id,
			provider: { via: 'environment', api, baseUrl, key: KEY, model: 'scripted-1' } } } });
		c.o.sessions.push(sessionId);
		return Object.assign(c, { model, prefix, sessionId });
	}

	get requests() {
		return this.model.requests.filter((r) => r.path.startsWith(`${this.prefix}/`));
	}

	get #turns() {
		return this.requests.filter(ofTurn);
	}

	// What says something of the harness, not of this run.
	#shape(r) {
		const names = Object.keys(r.headers).filter((name) => !EVERY.includes(name)).map((name) => name.replace(/^x-stainless-.*/, 'x-stainless-*'));

		return { kind: ofTurn(r) ? 'turn' : 'auxiliary', method: r.method, path: r.path.slice(this.prefix.length),
			credential: r.credential.join(' '), stream: r.stream, usageAsked: JSON.parse(r.body || '{}').stream_options?.include_usage,
			headers: [...new Set(names)].sort().join(' '),
			values: Object.fromEntries(VALUES.filter((name) => name in r.headers).map((name) => [name, r.headers[name]])) };
	}

	prompt(...lines) {
		return this.o.prompt(this.sessionId, ...lines);
	}

	get #shapes() {
		const each = this.requests.filter((r) => r.side !== 'upgrade').map((r) => JSON.stringify(this.#shape(r)));

		return [...new Set(each)].sort().map((text) => JSON.parse(text)).reverse();
	}

	// kinds: how many kinds of calls to wait for; else so long, since some come after the turn.
	async asks({ kinds, ms = 2000 } = {}) {
		for (const prompt of PROMPTS)
			await this.prompt(prompt);
		await (kinds ? until(() => this.#shapes.length >= kinds, `${kinds} kinds of calls`) : sleep(ms));
		const { requests } = this;

		return { calls: this.#shapes, perTurn: this.#turns.length / PROMPTS.length, keepsAlive: new Set(requests.map((r) => r.connection)).size < requests.length,
			upgrades: requests.filter((r) => r.side === 'upgrade').length };
	}

	// most: calls after which a turn is not waited for any more; ms: so is one that lasts so long.
	async refused({ lines }, { most = Infinity, ms = 20_000 } = {}) {
		const from = this.#turns.length;
		const count = () => this.#turns.length - from;
		const at = Date.now();
		let over = false;
		const turn = this.prompt(...lines).catch(() => {}).finally(() => { over = true; });

		await until(() => over || count() >= most || Date.now() - at > ms, 'the end of the turn', ms + 10_000);
		const end = over ? count() : GOES_ON;
		if (!over)
			await this.o.cancel(this.sessionId);
		await turn;
		return end;
	}

	close() {
		return this.o.close();
	}
}
