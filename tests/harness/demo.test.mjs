// SPDX-License-Identifier: Apache-2.0
// What `make run` runs, as a user sees it: its output, its exit status, and that nothing of it stays.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

import { PROMPT } from '../demo/provider.mjs';
import { ACPD } from '../lib/daemon.mjs';
import * as procs from '../lib/procs.mjs';
import { until } from './until.mjs';
import { startModelServer } from './model-server.mjs';
import { chosen, HARNESSES, quickest } from './programs.mjs';
import { KEY } from './rig.mjs';

const TESTS = path.join(import.meta.dirname, '..');
const PROVIDER = /^(OPENAI|ANTHROPIC|ACPD_PROVIDER)_/;

// A tree with the packages that `make run` installs for a harness, and no other. Programs of one file are links; of a package that loads
// others a copy, because Node.js looks for these from where the file really is.
function treeFor(t, harness) {
	const top = fs.mkdtempSync(path.join(os.tmpdir(), 'demo-tree-'));

	t.after(() => fs.rmSync(top, { recursive: true }));
	execFileSync(process.execPath, [path.join(TESTS, 'demo/subset.mjs'), top, harness]);
	for (const folder of ['demo', 'harness'])
		fs.cpSync(path.join(TESTS, folder), path.join(top, 'tests', folder), { recursive: true });
	const { packages } = JSON.parse(fs.readFileSync(path.join(top, 'package-lock.json'), 'utf8'));
	for (const place of Object.keys(packages).filter(Boolean)) {
		const [from, to] = [path.join(TESTS, place), path.join(top, 'tests', place)];

		fs.mkdirSync(path.dirname(to), { recursive: true });
		if (place.endsWith('-linux-x64'))
			fs.symlinkSync(from, to);
		else
			fs.cpSync(from, to, { recursive: true });
	}
	return top;
}

// The demo in a temporary directory of its own; everything it starts inherits the mark.
function startDemo(t, env = {}, top = path.join(TESTS, '..')) {
	const mark = crypto.randomUUID();
	const tmp = fs.mkdtempSync(path.join(os.tmpdir(), 'demo-test-'));
	const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !PROVIDER.test(name)));
	const child = spawn(process.execPath, [path.join(top, 'tests/demo/run.mjs')], { env: { ...clean, ACPD, TMPDIR: tmp, DEMO_MARK: mark, ...env } });
	const demo = { child, tmp, output: '', started: () => procs.withEnv((e) => e.DEMO_MARK === mark).filter(procs.alive) };

	for (const stream of [child.stdout, child.stderr])
		stream.on('data', (text) => { demo.output += text; });
	demo.exited = new Promise((done) => child.on('close', (code) => done(code)));
	t.after(() => {
		demo.started().forEach((p) => procs.signal(p.pid, 'SIGKILL'));
		fs.rmSync(tmp, { recursive: true, force: true });
	});
	return demo;
}

async function assertNothingLeft(demo, harnesses) {
	assert.deepEqual([...demo.started(), ...harnesses.filter(procs.alive)].map((p) => `${p.pid} ${p.comm}`), []);
	assert.deepEqual(fs.readdirSync(demo.tmp), []);
}

// What acpd itself started.
function harnessesBelow(demo) {
	const below = procs.descendants(demo.child.pid);
	const daemon = below.find((p) => p.comm === 'acpd');

	return below.filter((p) => p.ppid === daemon?.pid);
}

for (const harness of chosen()) {
	test(`${HARNESSES[harness].title} without a key: a scripted model, the file is fixed, nothing stays; no other packages are needed`, async (t) => {
		const demo = startDemo(t, { HARNESS: harness }, treeFor(t, harness));
		const harnesses = await until(() => {
			const found = harnessesBelow(demo);
			return found.length || demo.child.exitCode !== null ? found : null;
		}, 'the harness runs', 30_000);

		assert.equal(await demo.exited, 0, demo.output);
		assert.match(demo.output.split('\n')[0], /^model +a scripted one/);
		assert.match(demo.output, /^viewer +http:\/\/127\.0\.0\.1:\d+\/|^ +make ui: the run viewer/m);
		assert.match(demo.output, new RegExp(`^session +${HARNESSES[harness].title} in `, 'm'));
		assert.match(demo.output, /^question +May the agent edit cart\.mjs\?.*\nanswer +/m);
		assert.match(demo.output, /^changed .*\n +-\tfor \(let i = 1; .*\n +\+\tfor \(let i = 0; .*\ncheck .*: passed\nturn +end_turn after /m);
		assert.ok(!demo.output.includes('\x1b'), 'colour where no terminal is');
		await assertNothingLeft(demo, harnesses);
	});
}

test('with a provider in the environment that one is used; a file that stays as it was is a failure', async (t) => {
	const model = await startModelServer({ key: KEY });
	t.after(() => model.close());
	model.scenarios.push({ when: PROMPT, lines: ['TEXT:I would rather not.'] });
	const demo = startDemo(t, { ACPD_PROVIDER_API: 'openai-responses', ACPD_PROVIDER_BASE_URL: model.url + '/v1',
		ACPD_PROVIDER_KEY: KEY, ACPD_PROVIDER_MODEL: 'gateway/model-1', HARNESS: quickest() });

	assert.equal(await demo.exited, 1, demo.output);
	assert.match(demo.output.split('\n')[0], /^model +gateway\/model-1 at .* \(openai-responses\)/);
	assert.match(demo.output, /I would rather not/);
	assert.ok(model.turns.every((r) => r.api === 'openai-responses' && r.model === 'gateway/model-1' && r.keyMatches));
	assert.ok(!demo.output.includes(KEY));
	await assertNothingLeft(demo, []);
});

test('Ctrl-C in the middle: everything is stopped', async (t) => {
	const demo = startDemo(t, { HARNESS: quickest() });
	const harnesses = await until(() => {
		const found = harnessesBelow(demo);
		return found.length ? found : null;
	}, 'the harness runs', 30_000);
	demo.child.kill('SIGINT');

	assert.equal(await demo.exited, 1, demo.output);
	assert.match(demo.output, /stopped by SIGINT/);
	await assertNothingLeft(demo, harnesses);
});
