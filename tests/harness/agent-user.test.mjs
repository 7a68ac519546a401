// SPDX-License-Identifier: Apache-2.0
// A daemon of root whose harnesses run as another user (--agent-user): an ephemeral workspace, skills and instructions are that user's, in
// a private home that was root's when they were written; and so are their model calls.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { SLOW } from '../lib/rawws.mjs';

import { until } from './until.mjs';
import { aboutOf, archiveOf, download, treeOf, unpacked, upload, uploadSkill } from './archives.mjs';
import { startModelServer } from './model-server.mjs';
import { Play } from './play.mjs';
import { chosen, HARNESSES } from './programs.mjs';
import { KEY, startRig } from './rig.mjs';

const USER = 'nobody';
const user = Number(spawnSync('id', ['-u', USER]).stdout);
const ownerOf = (file) => fs.lstatSync(file).uid;
const FILES = { 'AGENTS.md': 'The project asks for brevity.\n', 'bin/tool.sh': { data: '#!/bin/sh\n', mode: 0o755 } };

let model, rig;

before(async () => {
	if (process.getuid() !== 0)
		return;
	model = await startModelServer({ key: KEY });
	rig = await startRig(model, { harness: 'codex', flags: { defaultHarness: 'codex', agentUser: USER } });
});

after(async () => {
	await rig?.stop();
	await model?.close();
});

function whyNot(harness) {
	if (!chosen().includes(harness))
		return 'not chosen';
	if (process.getuid() !== 0)
		return 'not root';
	const { error, status } = spawnSync(HARNESSES[harness].command, ['--version'], { uid: user, gid: user, cwd: '/', env: { HOME: '/tmp' } });
	return error || status !== 0 ? `${USER} cannot run it` : false;
}

for (const harness of Object.keys(HARNESSES)) {
	test(`${harness} as another user`, { skip: whyNot(harness), timeout: 600_000 * SLOW }, async () => {
		const { daemon } = rig;
		const x = new Play(rig, harness, { route: 'tunnel' });
		const s = await x.open({ acpd: { workspace: { archive: await upload(daemon, FILES), ephemeral: true, removeOnClose: true },
			instructions: 'The orchestrator asks for patience.\n', skills: [{ archive: await uploadSkill(daemon, 'first') }] } });
		const home = path.join(daemon.stateDir, 'homes', s.id);
		const told = (text) => s.requests.at(-1).body.includes(text);

		s.cwd = s.opened._meta.acpd.cwd;
		assert.equal(s.opened._meta.acpd.provider.callerChecked, true); // its calls come from that user
		assert.equal(path.dirname(s.cwd), daemon.wsDir);
		assert.equal(s.opened._meta.acpd.instructions.in, 'home');
		for (const dir of [s.cwd, path.join(s.cwd, 'bin/tool.sh'), home, path.join(home, '.agents/skills/first/scripts/run.sh')])
			assert.equal(ownerOf(dir), user, dir);
		assert.equal(fs.statSync(home).mode & 0o777, 0o700);
		assert.deepEqual(treeOf(s.cwd), unpacked(path.join(daemon.dir, `packed-${harness}`), archiveOf(FILES)));

		await s.turn('RUN:id -u >who; rm bin/tool.sh', 'TEXT:done');
		assert.equal(s.read('who'), `${user}\n`);
		assert.ok(told('asks for brevity') && told('asks for patience') && told(aboutOf('first')));
		const { patch } = await s.request('_acpd/workspace/diff', { since: 'baseline' });
		assert.match(patch, /^deleted file mode 100755$/m);
		const exported = await download(daemon, `/v1/sessions/${s.id}/workspace?format=tar.gz`);
		assert.deepEqual(unpacked(path.join(daemon.dir, `out-${harness}`), exported), treeOf(s.cwd));

		// the home is that user's by now
		const changed = await s.request('_acpd/workspace/materialize', { instructions: 'The orchestrator asks for haste.\n' });
		assert.equal(changed.instructions.in, 'home');
		await s.request('_acpd/skills/install', { skills: [{ archive: await uploadSkill(daemon, 'late') }] });
		assert.equal(ownerOf(path.join(home, '.agents/skills/late')), user);
		await s.turn('TEXT:two');
		assert.ok(told('asks for brevity') && told('asks for haste') && told(aboutOf('late')));
		await s.o.close();
		await until(() => !fs.existsSync(s.cwd), 'the workspace is gone');
	});
}
