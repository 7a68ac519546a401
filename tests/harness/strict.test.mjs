// SPDX-License-Identifier: Apache-2.0
// The harnesses at level strict, named and so met whole: a daemon of root with uids of its own for sessions, no network, model calls through
// the tunnel. The commands of the model write in the workspace only and see nobody else; tools, cancel and load work as ever.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

import { ACPD } from '../lib/daemon.mjs';
import { rootHasNamespaces } from '../lib/namespaces.mjs';
import * as procs from '../lib/procs.mjs';
import { SLOW } from '../lib/rawws.mjs';
import { newRange, userOf } from '../lib/users.mjs';
import { startModelServer } from './model-server.mjs';
import { nap, Play } from './play.mjs';
import { chosen, HARNESSES, NODE } from './programs.mjs';
import { commands, KEY, ofSession, startRig } from './rig.mjs';
import { until } from './until.mjs';

const WHOLE = { requested: 'strict', achieved: 'strict', missing: [] };
const MCP = { name: 'tools', command: NODE, args: [path.join(import.meta.dirname, 'mcp-server.mjs')], env: [] };
const ASKED = { level: 'strict', network: { mode: 'off' }, workspace: { ephemeral: true }, policy: { approval: 'never' } };
// Outside of the workspace, where anybody may write: what refuses is the view, not the owner. (The view has no other /tmp and /var/tmp.)
const OUTSIDE = path.join(path.dirname(ACPD), 'acpd-strict-');

describe('level strict', { skip: !rootHasNamespaces && 'not root, or no network namespaces' }, () => {
	const first = newRange();
	let model, rig, outside, other;

	before(async () => {
		model = await startModelServer({ key: KEY });
		rig = await startRig(model, { flags: { defaultHarness: 'stub', agentUser: 'nobody', agentUids: `${first}-${first + 15}` } });
		outside = fs.mkdtempSync(OUTSIDE);
		fs.chmodSync(outside, 0o777);
		other = await new Play(rig, 'stub').connect();
		other.sessions.push((await other.request('session/new', { cwd: rig.daemon.workDir, mcpServers: [],
			_meta: { acpd: { workspace: { ephemeral: true } } } })).sessionId);
	});

	after(async () => {
		await other?.close();
		await rig?.stop();
		await model?.close();
		if (outside)
			fs.rmSync(outside, { recursive: true, force: true });
	});

	async function open(t, harness, acpd, params) {
		const s = await new Play(rig, harness, { route: 'tunnel' }).open({ acpd: { ...ASKED, ...acpd }, params });

		t.after(async () => {
			await s.o.close();
			assert.deepEqual(s.o.violations, []);
		});
		s.cwd = s.opened._meta.acpd.cwd;
		assert.deepEqual(s.opened._meta.acpd.level, WHOLE);
		assert.equal(s.opened._meta.acpd.network.achieved, 'namespace');
		assert.equal(userOf(s.opened).uid, 'own');
		return s;
	}

	async function said(s, command) {
		const turn = await s.turn(`RUN:(${command}) >said 2>&1`, 'TEXT:done');

		assert.equal(turn.text, 'done');
		return s.read('said');
	}

	async function writesInsideOnly(s) {
		assert.ok(ofSession(other.sessions[0]).length >= 1, 'there is somebody to see');
		const text = await said(s, `echo in >in; echo out >${outside}/out; echo more >/etc/acpd-strict; echo >/dev/tcp/127.0.0.1/${rig.daemon.port}; cat /proc/[0-9]*/cmdline | tr "\\0" "\\n"; ` +
			'cat /proc/[0-9]*/environ | tr "\\0" "\\n" | grep ^ACPD_SESSION= | sort -u; ls -d /proc/[0-9]* | wc -l');

		assert.equal(s.read('in'), 'in\n');
		assert.equal(text.match(/Read-only file system/g)?.length, 2, text);
		assert.match(text, /Connection refused/);
		assert.deepEqual(fs.readdirSync(outside), []);
		// its own processes: the harness, and the MCP servers that the daemon runs for it
		assert.deepEqual([...new Set(text.match(/^ACPD_SESSION=.*$/gm).map((line) => line.replace(/\.mcp\.\d+$/, '')))], [`ACPD_SESSION=${s.id}`], text);
		assert.doesNotMatch(text, /stub-agent|\bserve\b/);
	}

	async function cancels(s) {
		const sleeping = nap();
		const running = s.begin(`RUN:${sleeping}`, 'TEXT:never');

		await until(() => commands(sleeping).length, 'the command runs');
		await s.cancel(running);
		await until(() => commands(sleeping).length === 0, 'nothing of it is left');
	}

	async function loads(s) {
		await s.request('session/close', {});
		await until(() => ofSession(s.id).length === 0, 'nothing of the session is left');
		const { _meta } = await s.request('session/load', { cwd: s.cwd, mcpServers: [MCP] });

		assert.deepEqual(_meta.acpd.level, WHOLE);
		assert.match(await said(s, `echo two >two; echo out >${outside}/out`), /Read-only file system/);
		assert.equal(s.read('two'), 'two\n');
		assert.equal((await s.turn('RECALL')).text.includes('in >in'), true);
	}

	for (const harness of Object.keys(HARNESSES)) {
		const skip = !chosen().includes(harness) && 'not chosen';

		test(`${harness}: its commands write in the workspace only and see no other session; tools, cancel and load work`, { skip, timeout: 600_000 * SLOW }, async (t) => {
			const s = await open(t, harness, {}, { mcpServers: [MCP] });

			await writesInsideOnly(s);
			await s.turn('MCP:tools add {"a":2,"b":40}', 'TEXT:done');
			assert.match(s.results.at(-1), /42/);
			await cancels(s);
			await loads(s);
		});
	}

	test('codex with its own sandbox within', { skip: !chosen().includes('codex') && 'not chosen', timeout: 600_000 * SLOW }, async (t) => {
		const s = await open(t, 'codex', { innerSandbox: true });

		await s.turn(`RUN:echo in >in; readlink /proc/self/ns/user; echo out >${outside}/out; echo rc-$?`, 'TEXT:done');
		const text = s.results.at(-1);
		const [space] = /user:\[\d+\]/.exec(text);

		// two streams, in any order
		assert.match(text, /Read-only file system/);
		assert.match(text, /^rc-[12]$/m);
		assert.ok(ofSession(s.id).map(({ pid }) => procs.link(pid, 'ns/user')).every((of) => of !== space), 'the command ran in Codex\'s sandbox');
		assert.equal(s.read('in'), 'in\n');
		assert.deepEqual(fs.readdirSync(outside), []);
	});
});
