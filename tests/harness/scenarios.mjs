// SPDX-License-Identifier: Apache-2.0
// The table of scenarios, and how it is run against one harness: one daemon, every row a test of its own.
//
//   HARNESS=pi SCENARIO=cancel node --test tests/harness/pi.test.mjs      the rows whose name holds "cancel"

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SLOW } from '../lib/rawws.mjs';

import { startModelServer } from './model-server.mjs';
import { Play } from './play.mjs';
import { chosen, HARNESSES } from './programs.mjs';
import { KEY, NetworkWatch, startRig } from './rig.mjs';
import { unknownBegins, WAYS, wayOf, waysOf } from './ways.mjs';
import blocks from './scenarios/blocks.mjs';
import text from './scenarios/odd-text.mjs';
import failures from './scenarios/failures.mjs';
import limits from './scenarios/limits.mjs';
import permissions from './scenarios/permissions.mjs';
import proofs from './scenarios/proofs.mjs';
import records from './scenarios/records.mjs';
import relay from './scenarios/relay.mjs';
import rules from './scenarios/rules.mjs';
import settings from './scenarios/settings.mjs';
import shown from './scenarios/shown.mjs';
import skills from './scenarios/skills.mjs';
import tools from './scenarios/tools.mjs';
import tunnel from './scenarios/tunnel.mjs';
import turns from './scenarios/turns.mjs';
import workspaces from './scenarios/workspaces.mjs';

// [name, run(play, t), patient?]; t.after(fn) runs when the scenario is over, t.passed says how. A patient row mostly waits (for
// OpenCode's attempts): it runs beside all the others. Two lists run side by side, the rows of each one after the other: rows
// that share a session stand in one list, or far from each other.
const LISTS = [
	{ turns, proofs, settings, records, workspaces },
	{ shown, permissions, rules, relay, blocks, text, tools, skills, failures, tunnel, limits },
];

// Each row in the ways that ways.mjs deals to it.
const dealt = (harness) => LISTS.map((files) => Object.entries(files).flatMap(([file, rows]) => rows.flatMap(([name, run, patient]) =>
	waysOf(file, name, harness).map((way) => ({ name: `${name} (${wayOf(way)})`, run, patient, way: wayOf(way) })))));

const NAMES = LISTS.flatMap((files) => Object.values(files).flat().map(([name]) => name));

const TIMEOUT = 600_000 * SLOW;

async function runOne(play, run) {
	const ends = [];
	const t = { passed: false, after: (fn) => ends.unshift(fn) };

	try {
		await run(play, t);
		t.passed = true;
	} finally {
		for (const end of ends)
			await end();
	}
}

export function runScenarios(harness) {
	const wanted = dealt(harness).map((list) => list.filter(({ name }) => name.includes(process.env.SCENARIO ?? '')));

	describe(HARNESSES[harness].title, { skip: !chosen().includes(harness) && 'not chosen', concurrency: 3 }, () => {
		let model, rig, network;
		const plays = {};

		test('each beginning of a name in ways.mjs is that of a row', () => assert.deepEqual(unknownBegins(NAMES), []));
		before(async () => {
			model = await startModelServer({ key: KEY });
			rig = await startRig(model, { harness });
			for (const way of WAYS)
				plays[wayOf(way)] = new Play(rig, harness, way);
			network = new NetworkWatch(rig.daemon);
		});
		const list = (title, concurrency, rows) => describe(title, { concurrency }, () => {
			for (const { name, run, way } of rows)
				test(name, { timeout: TIMEOUT }, () => runOne(plays[way], run));
		});
		list('patient rows', 3, wanted.flat().filter(({ patient }) => patient));
		for (const [i, rows] of wanted.entries())
			list(`list ${i + 1}`, 1, rows.filter(({ patient }) => !patient));
		after(async () => {
			for (const play of Object.values(plays))
				await play.close();
			const seen = network?.stop();
			await rig?.stop(); // checks that no process of it is left
			await model?.close();
			assert.deepEqual(seen, [], 'addresses outside of this machine');
		});
	});
}
