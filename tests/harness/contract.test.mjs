// SPDX-License-Identifier: Apache-2.0
// What each pinned harness sends, and how often it asks again, is what contracts.json says. The daemon's paths, headers, credentials and
// refusals are made for that; make harness-drift shows what the newest releases do.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Daemon } from '../lib/daemon.mjs';
import { Contract, EXPECTED, GOES_ON, REFUSALS } from './contract.mjs';
import { startModelServer } from './model-server.mjs';
import { agentEntry, AGENTS, agents, chosen, HARNESSES, manifest } from './programs.mjs';
import { KEY } from './rig.mjs';

const ids = [...chosen(), ...(process.env.HARNESS ? [] : Object.keys(AGENTS))];
let model, daemon;

before(async () => {
	model = await startModelServer({ key: KEY });
	daemon = await Daemon.start({ flags: { defaultHarness: 'codex' }, harnesses: [...manifest(), ...agents().map((id) => agentEntry(id))] });
});

after(async () => {
	await daemon?.stop();
	await model?.close();
});

describe('what a harness sends', { concurrency: true }, () => {
	for (const id of ids) {
		test(id, { skip: id in AGENTS && !agents().includes(id) && 'not installed' }, async (t) => {
			const { asks, refused } = EXPECTED[id];
			const contract = await Contract.open(daemon, model, id, (HARNESSES[id] ?? AGENTS[id]).api);
			t.after(() => contract.close());

			assert.deepEqual(await contract.asks({ kinds: asks.calls.length }), asks);
			for (const misbehaviour of REFUSALS) {
				const want = refused[misbehaviour.name];
				const most = want === GOES_ON ? 2 : want + 3;
				assert.equal(await contract.refused(misbehaviour, { most, ms: 60_000 }), want, misbehaviour.name);
			}
		});
	}
});

test('each harness gives up at once on one of the two refusals that mean it', () => {
	for (const [id, { refused }] of Object.entries(EXPECTED))
		assert.ok([refused['402'], refused['429 of a spent quota']].some((n) => n <= 2), id);
});
