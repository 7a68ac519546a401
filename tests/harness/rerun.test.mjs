// SPDX-License-Identifier: Apache-2.0
// A recorded run of each real harness, made again from its bundle while there is no provider any more: by a daemon that has never seen it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { acpd } from '../integration/run.mjs';
import { fetchBundle, linesOf, pack, unpack } from '../lib/bundles.mjs';
import { Daemon, endInOrder } from '../lib/daemon.mjs';
import { startModelServer } from './model-server.mjs';
import { HARNESSES, manifest } from './programs.mjs';
import { KEY } from './rig.mjs';

const KINDS = Object.keys(HARNESSES).filter((id) => ['codex', 'pi', 'opencode'].includes(id) && (!process.env.HARNESS || process.env.HARNESS.includes(id)));
const SECRET = 'pass-wörd-9c1f7e2a';
let d;

before(async () => {
	d = await Daemon.start({ flags: { recordModel: true }, harnesses: manifest() });
});
after(() => endInOrder(d));

// What the pieces of a recorded answer say together.
function said(lines) {
	const text = lines.filter((l) => l.type === 'data').map((l) => l.text).join('');

	return [...text.matchAll(/"(?:delta|content|arguments)":"((?:[^"\\]|\\.)*)"/g)].map((m) => m[1]).join('');
}

// A run of two turns, with a command that is asked for, at a provider that is gone afterwards; a secret is in its text and its
// command, two characters at a time. -> the bytes of its bundle
async function recorded(kind) {
	const server = await startModelServer({ key: KEY });
	const c = await d.client();
	const cwd = path.join(d.workDir, `first-${kind}`);

	fs.mkdirSync(cwd);
	c.onRequest('session/request_permission', ({ options }) => ({ outcome: { outcome: 'selected', optionId: options.find((o) => o.kind === 'allow_once').optionId } }));
	const { sessionId } = await c.newSession({ cwd, meta: { harness: kind, secrets: { MY_PASSWORD: SECRET },
		provider: { api: HARNESSES[kind].api, baseUrl: `${server.url}/v1`, key: KEY, model: 'scripted-1' } } });

	await c.prompt(sessionId, `PIECES:2\nRUN:echo made > made.txt; date > when.txt; echo '${SECRET}' > it.txt\nPIECES:2\nTEXT:It is ${SECRET}, said the model of then`);
	await c.prompt(sessionId, 'TEXT:The second answer');
	const { bytes } = await fetchBundle(d, sessionId);

	assert.deepEqual(['made.txt', 'it.txt'].map((f) => fs.readFileSync(path.join(cwd, f), 'utf8')), ['made\n', `${SECRET}\n`]);
	await c.call('session/delete', { sessionId });
	c.close();
	await server.close();
	return bytes;
}

function rerun(file, cwd) {
	const tokenFile = path.join(d.dir, 'rerun-token');

	fs.writeFileSync(tokenFile, d.token, { mode: 0o600 });
	return acpd(['bundle', 'rerun', file, '--url', `ws://127.0.0.1:${d.port}/acp`, '--token-file', tokenFile, '--cwd', cwd, '--json'], { clean: true, timeout: 120000 });
}

for (const kind of KINDS)
	test(kind, async () => {
		const bytes = await recorded(kind);
		const calls = linesOf(unpack(bytes, d.dir)['model/calls.ndjson']);
		const file = path.join(d.dir, `${kind}.tar.zst`), cwd = path.join(d.workDir, `again-${kind}`);

		assert.match(said(calls), /echo '\*\*\*' > it\.txt[^]*It is \*\*\*, said/);
		assert.ok(!said(calls).includes('rd-9c') && !JSON.stringify(calls).includes(SECRET));
		fs.writeFileSync(file, bytes);
		fs.mkdirSync(cwd);
		const again = await rerun(file, cwd);
		const told = JSON.parse(again.stdout || '{}');

		assert.equal(again.code, 0, again.stderr + again.stdout);
		assert.deepEqual([told.same, told.turns.map((t) => [t.turn, t.stopReason, t.same])], [true, [[1, 'end_turn', true], [2, 'end_turn', true]]]);
		assert.deepEqual([told.modelCalls.notRecorded, told.modelCalls.notMade], [0, 0]);
		assert.equal(told.modelCalls.answered, told.modelCalls.recorded);
		assert.deepEqual(['made.txt', 'it.txt'].map((f) => fs.readFileSync(path.join(cwd, f), 'utf8')), ['made\n', '***\n'], 'the harness has done it again');

		if (kind === 'opencode' && KINDS.length > 1) // its start costs several times one of theirs, and this asks about the daemon
			return;
		// A call that the recording lacks is not made up, and no provider is asked.
		const members = unpack(bytes, d.dir);
		const lines = linesOf(members['model/calls.ndjson']);
		const last = lines.findLast((l) => l.type === 'request').call;

		members['model/calls.ndjson'] = lines.filter((l) => l.call !== last).map((l) => `${JSON.stringify(l)}\n`).join('');
		fs.writeFileSync(file, pack(members));
		const short = await rerun(file, cwd);

		assert.equal(short.code, 1, short.stderr + short.stdout);
		assert.ok(JSON.parse(short.stdout).modelCalls.notRecorded >= 1);
		assert.equal(JSON.parse(short.stdout).same, false);
	});
