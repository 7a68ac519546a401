// SPDX-License-Identifier: Apache-2.0
// A session whose uid is its own (--agent-uids), made by images/agent-users.sh in a copy of /etc: its harness runs, and git, ssh and npm
// run in it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { ACPD, ROOT } from '../lib/daemon.mjs';
import { rootHasNamespaces } from '../lib/namespaces.mjs';
import { SLOW } from '../lib/rawws.mjs';
import { newRange, userOf } from '../lib/users.mjs';
import { startModelServer } from './model-server.mjs';
import { Play } from './play.mjs';
import { chosen, HARNESSES } from './programs.mjs';
import { KEY, startRig } from './rig.mjs';

const first = newRange(), last = first + 7;
let dir, model, rig;

const inEtc = (command) => `mount --bind ${dir}/etc /etc && ${command}`;

before(async () => {
	if (!rootHasNamespaces)
		return;
	dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-agent-uids-'));
	fs.chmodSync(dir, 0o755);
	assert.equal(spawnSync('cp', ['-a', '/etc', path.join(dir, 'etc')]).status, 0);
	assert.equal(spawnSync('unshare', ['--mount', 'sh', '-c', inEtc(`sh ${ROOT}images/agent-users.sh ${first} ${last}`)]).status, 0);
	fs.writeFileSync(path.join(dir, 'acpd'), `#!/bin/sh\nexec unshare --mount sh -c '${inEtc(`exec ${ACPD} "$@"`)}' sh "$@"\n`, { mode: 0o755 });
	model = await startModelServer({ key: KEY });
	rig = await startRig(model, { harness: 'codex', program: path.join(dir, 'acpd'),
		flags: { defaultHarness: 'codex', agentUser: 'nobody', agentUids: `${first}-${last}` } });
});

after(async () => {
	await rig?.stop();
	await model?.close();
	if (dir)
		fs.rmSync(dir, { recursive: true, force: true });
});

function whyNot(harness) {
	if (!chosen().includes(harness))
		return 'not chosen';
	if (!rootHasNamespaces)
		return 'not root, or no mount namespaces';
	const { error, status } = spawnSync(HARNESSES[harness].command, ['--version'], { uid: first, gid: first, cwd: '/', env: { HOME: '/tmp' } });
	return error || status !== 0 ? 'another user cannot run it' : false;
}

const STEPS = [
	'id -un', 'id -gn',
	'git init -q . && git config user.email a@example.org && git config user.name A && git add -A && git commit -q --allow-empty -m one && git log --format=%s',
	'ssh-keygen -q -t ed25519 -N "" -f "$HOME/key" && ssh-keygen -y -f "$HOME/key" | cut -d" " -f1',
	'npm --version >/dev/null && npm pkg get name --json 2>/dev/null | wc -l',
];

for (const harness of Object.keys(HARNESSES)) {
	test(`${harness} under a uid of its own`, { skip: whyNot(harness), timeout: 600_000 * SLOW }, async () => {
		const x = new Play(rig, harness, { route: 'tunnel' });
		const s = await x.open({ acpd: { workspace: { ephemeral: true } } });
		const { name, uid } = userOf(s.opened);

		s.cwd = s.opened._meta.acpd.cwd;
		assert.equal(uid, 'own');
		assert.match(name, /^agent-\d+$/);
		assert.equal(s.opened._meta.acpd.provider.callerChecked, true);
		await s.turn(`RUN:(${STEPS.map((step) => `(${step})`).join(' && ')}) >said 2>&1`, 'TEXT:done');
		const said = s.read('said').trim().split('\n');
		assert.deepEqual(said.slice(0, 4), [name, name, 'one', 'ssh-ed25519'], said.join('\n'));
		assert.equal(said.length, 5, said.join('\n'));
		await s.o.close();
	});
}
