// SPDX-License-Identifier: Apache-2.0
// Workspaces from uploaded archives, instructions for whatever file the harness reads, and back out: what a turn changed as a patch, the
// workspace as an archive.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import { head } from '../../lib/archives.mjs';
import { archiveOf, ASSET, download, treeOf, unpacked, upload } from '../archives.mjs';

// --- instructions ----------------------------------------------------------------------------

// The file of the project that all three read.
const FILE = 'AGENTS.md';
const OWN = 'The project asks for brevity.\n';
const OURS = 'The orchestrator asks for patience.\n';

// Is this in what the model was told last?
const told = (s, text) => s.requests.at(-1).body.includes(text);

async function intoWorkspace(x, t) {
	const s = await x.session(t, { acpd: { instructions: OURS } });
	const { instructions, workspace } = s.opened._meta.acpd;

	assert.deepEqual(instructions, { path: FILE, in: 'workspace' });
	assert.equal(workspace.written, 1);
	assert.equal(s.read(FILE), OURS);
	await s.turn('TEXT:one');
	assert.ok(told(s, 'asks for patience'));

	const changed = await s.request('_acpd/workspace/materialize', { instructions: 'The orchestrator asks for haste.\n' });
	assert.deepEqual(changed.workspace.skipped, []);
	assert.equal(s.read(FILE), 'The orchestrator asks for haste.\n');
	await s.turn('TEXT:two');
	assert.ok(told(s, 'asks for haste'));
	assert.ok(told(s, 'TEXT:one'), 'what was said before is not in the context');
}

async function besideTheProjects(x, t) {
	const archive = await upload(x.rig.daemon, { [FILE]: OWN });
	const s = await x.session(t, { acpd: { workspace: { archive }, instructions: OURS } });
	const { instructions, workspace } = s.opened._meta.acpd;
	const bothAreRead = (ours) => {
		assert.equal(s.read(FILE), OWN);
		assert.ok(told(s, 'asks for brevity'));
		assert.ok(told(s, ours));
	};
	const kept = { instructions: { path: x.h.instructions, in: 'home' }, skipped: [{ path: FILE, reason: 'EXISTS' }] };

	assert.deepEqual({ instructions, skipped: workspace.skipped }, kept);
	await s.turn('TEXT:one');
	bothAreRead('asks for patience');
	// others, in a home that the harness has had in its hands
	await s.request('session/close', {});
	const again = await x.take(t, s);
	const loaded = await again.request('session/load', { cwd: s.cwd, mcpServers: [], _meta: { acpd: {
		instructions: 'The orchestrator asks for haste.\n', provider: x.provider({ model: s.model }) } } });
	assert.deepEqual({ instructions: loaded._meta.acpd.instructions, skipped: loaded._meta.acpd.workspace.skipped }, kept);
	await again.turn('TEXT:two');
	bothAreRead('asks for haste');
}

async function inPlaceOfTheProjects(x, t) {
	const archive = await upload(x.rig.daemon, { [FILE]: OWN });
	const s = await x.session(t, { acpd: { workspace: { archive }, instructions: { text: OURS, overwrite: true } } });

	assert.deepEqual(s.opened._meta.acpd.instructions, { path: FILE, in: 'workspace' });
	assert.equal(s.read(FILE), OURS);
	await s.turn('TEXT:one');
	assert.ok(told(s, 'asks for patience'));
	assert.ok(!told(s, 'asks for brevity'));
}

// --- in and out ------------------------------------------------------------------------------

const PROJECT = {
	'.gitignore': 'build/\n',
	'README.md': 'one\ntwo\nthree\n',
	'src/old.txt': 'to be deleted\n',
	'src/same.txt': 'without a newline at its end',
	'bin/tool.sh': { data: '#!/bin/sh\necho tool\n', mode: 0o755 },
	'assets/logo.bin': ASSET,
};

const without = (tree, prefix) => Object.fromEntries(Object.entries(tree).filter(([name]) => !name.startsWith(prefix)));

// As somebody would who has the old state: check, then apply, in a directory that is no repository.
function applied(dir, patch) {
	const run = (...args) => execFileSync('git', ['apply', ...args, '-'], { cwd: dir, input: patch, stdio: 'pipe',
		env: { PATH: process.env.PATH, GIT_CEILING_DIRECTORIES: path.dirname(dir), GIT_CONFIG_NOSYSTEM: '1', HOME: dir } });

	run('--check');
	run();
	return treeOf(dir);
}

async function events(x, s) {
	const text = await download(x.rig.daemon, `/v1/sessions/${s.id}/events`);

	return text.toString().split('\n').filter(Boolean).map((line) => JSON.parse(line));
}

// The patch of a turn: announced before the turn's end was, and the same bytes over HTTP.
async function patchOf(x, s, turn) {
	const list = await events(x, s);
	const found = list.filter((e) => e.kind === 'artifact' && e.artifact.name === `turn-${turn}.diff`);
	const end = list.find((e) => e.final && e.turnId === turn);

	assert.equal(found.length, 1, JSON.stringify(list.filter((e) => e.kind === 'artifact')));
	const [{ artifact, seq }] = found;
	assert.ok(seq < end.seq, 'told after the end of the turn');
	assert.equal(artifact.turn, turn);
	const patch = await download(x.rig.daemon, `/v1/sessions/${s.id}/artifacts/${artifact.id}`);
	assert.equal(patch.length, artifact.size);
	return patch;
}

async function thereAndBack(x, t) {
	const { daemon } = x.rig;
	const archive = await upload(daemon, PROJECT);
	const old = fs.mkdtempSync(path.join(daemon.dir, 'old-'));
	const before = unpacked(old, archiveOf(PROJECT));
	const s = await x.session(t, { acpd: { workspace: { archive } } });
	const now = () => without(treeOf(s.cwd), 'build/');

	assert.equal(s.opened._meta.acpd.workspace.written, 9, 'six files and three directories');
	assert.deepEqual(treeOf(s.cwd), before);

	const turn = await s.turn(`EDIT:${JSON.stringify({ file: s.file('README.md'), from: 'two\n', to: 'TWO\n' })}`,
		`WRITE:${JSON.stringify({ file: s.file('notes.txt'), text: 'new\n' })}`,
		'RUN:rm src/old.txt; chmod -x bin/tool.sh; head -c 300 /dev/zero >zeros.bin; mkdir build; echo out >build/out', 'TEXT:done');
	assert.equal(turn.stop, 'end_turn');
	assert.equal(s.read('README.md'), 'one\nTWO\nthree\n');
	assert.ok(s.has('notes.txt') && s.has('build/out') && !s.has('src/old.txt'));
	assert.deepEqual(applied(old, await patchOf(x, s, 1)), now(), 'the patch of the first turn');

	await s.turn('RUN:echo four >>README.md', 'TEXT:done');
	const second = await patchOf(x, s, 2);
	const whole = await s.request('_acpd/workspace/diff', { since: 'baseline' });
	const since = await s.request('_acpd/workspace/diff', { since: 1 });
	assert.equal(since.patch, second.toString());
	assert.deepEqual(applied(old, second), now(), 'the patch of the second turn');
	assert.equal(whole.files, 5);
	const fromStart = fs.mkdtempSync(path.join(daemon.dir, 'start-'));
	unpacked(fromStart, archiveOf(PROJECT));
	assert.deepEqual(applied(fromStart, whole.patch), now(), 'the patch since the beginning');

	const exported = (query) => download(daemon, `/v1/sessions/${s.id}/workspace?${query}`);
	assert.deepEqual(unpacked(path.join(daemon.dir, `all-${s.id}`), await exported('format=tar.gz')), treeOf(s.cwd));
	assert.deepEqual(unpacked(path.join(daemon.dir, `some-${s.id}`), await exported('format=tar.gz&ignore=gitignore')), now());

	// another session: its archive is here already, and holds what it held
	assert.equal((await head(daemon, archiveOf(PROJECT))).status, 200);
	const other = await x.session(t, { acpd: { workspace: { archive } } });
	assert.deepEqual(treeOf(other.cwd), before);
	await other.turn('TEXT:nothing changed');
	assert.deepEqual((await events(x, other)).filter((e) => e.kind === 'artifact'), []);
}

export default [
	['instructions become the file of the workspace that the harness reads, and change while it lives', intoWorkspace],
	['instructions stand beside the project\'s own, which stay as they are', besideTheProjects],
	['instructions replace the project\'s own when told to', inPlaceOfTheProjects],
	['a workspace comes from an archive and goes back as patches of its turns and as an archive', thereAndBack],
];
