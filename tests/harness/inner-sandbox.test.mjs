// SPDX-License-Identifier: Apache-2.0
// innerSandbox: true: Codex's own sandbox holds the commands of its model, within the session's level: inside can be written, .git too,
// outside cannot, and the network is that of the session. As the daemon's user, and as another one where the daemon is root.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { SLOW } from '../lib/rawws.mjs';

import { startModelServer } from './model-server.mjs';
import { Play } from './play.mjs';
import { chosen, HARNESSES } from './programs.mjs';
import { KEY, startRig } from './rig.mjs';

const USER = 'nobody';
const isRoot = process.getuid() === 0;
const BEYOND_TMP = '/var/tmp'; // Codex lets /tmp be written
const IDENTITY = 'git -c user.name=a -c user.email=a@example.org';

// A directory of the harness's user, with a repository in it if asked.
function place(t, as, repository) {
	const dir = fs.mkdtempSync(path.join(BEYOND_TMP, 'acpd-inner-'));

	t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
	if (as.uid)
		fs.chownSync(dir, as.uid, as.gid);
	if (repository)
		assert.equal(spawnSync('git', ['init', '-q', dir], { ...as, env: { PATH: process.env.PATH, HOME: '/nonexistent' } }).status, 0);
	return dir;
}

for (const agentUser of [null, USER]) {
	const skip = !chosen().includes('codex') ? 'not chosen' : agentUser && !isRoot ? 'not root' : false;

	// Root without capabilities makes no user namespace.
	const asRoot = isRoot && !agentUser;
	const as = agentUser ? { uid: 65534, gid: 65534 } : {};
	const asked = { innerSandbox: true, ...(asRoot ? { level: 'open' } : { level: { name: 'guarded', atLeast: false } }) };

	describe(`Codex's own sandbox, ${agentUser ? 'as another user' : 'as the daemon\'s user'}`, { skip, timeout: 600_000 * SLOW }, () => {
		let model, rig, x;

		before(async () => {
			model = await startModelServer({ key: KEY });
			rig = await startRig(model, { harness: 'codex', flags: { defaultHarness: 'codex', agentUser } });
			x = new Play(rig, 'codex', { route: 'tunnel' });
		});
		after(async () => {
			await rig?.stop();
			await model?.close();
		});

		// A session that asks nothing, in a repository; more: of _meta.acpd.
		async function session(t, more = {}, params = {}) {
			const cwd = place(t, as, true);
			const s = await x.open({ acpd: { policy: { approval: 'never' }, ...more }, params: { cwd, ...params } });

			t.after(() => s.o.close());
			return Object.assign(s, { cwd });
		}

		test('inside is written, git commits, outside is refused', async (t) => {
			const [outside, more] = [place(t, as), place(t, as, true)];
			const s = await session(t, asked, { additionalDirectories: [more] });

			await s.turn(`RUN:echo in >in; echo x >${more}/in; echo out >${outside}/out; echo rc-$?`, 'TEXT:done');
			assert.equal(s.read('in'), 'in\n');
			assert.ok(fs.existsSync(path.join(more, 'in')));
			assert.match(s.results.at(-1), /(?=[^]*Read-only file system)[^]*rc-[12]/);
			assert.deepEqual(fs.readdirSync(outside), []);
			await s.turn(`RUN:${IDENTITY} add in && ${IDENTITY} commit -qm one && git log --format=%s`, 'TEXT:done');
			assert.match(s.results.at(-1), /one/);
			assert.equal(spawnSync('git', ['-c', 'safe.directory=*', '-C', s.cwd, 'log', '--format=%s'], { encoding: 'utf8' }).stdout, 'one\n');
		});

		test('what the client allows runs, what it rejects does not', async (t) => {
			const s = await session(t, { ...asked, policy: { approval: 'ask' } });

			assert.equal((await s.turn('RUN:echo in >in', 'TEXT:done')).asked.length, 1);
			assert.equal(s.read('in'), 'in\n');
			s.o.answer = () => 'reject_once';
			assert.equal((await s.turn('RUN:echo two >two', 'TEXT:done')).asked.length, 1);
			assert.ok(!s.has('two'));
		});

		test('a budget of tool calls ends the turn, and does not open it', async (t) => {
			const outside = place(t, as);
			const s = await session(t, { ...asked, budgets: { turn: { toolCalls: 1 } } });
			const turn = await s.turn(`RUN:echo out >${outside}/out; echo one >one`, 'RUN:sleep 8; echo two >two', 'TEXT:done');

			assert.equal(turn.stop, 'max_turn_requests');
			assert.deepEqual(fs.readdirSync(outside), []);
			assert.equal(s.read('one'), 'one\n');
			assert.ok(!s.has('two'));
		});

		test('calls of MCP servers work where nothing is asked', async (t) => {
			const server = { name: 'tools', command: process.execPath, args: [path.join(import.meta.dirname, 'mcp-server.mjs')], env: [] };
			const s = await session(t, asked, { mcpServers: [server] });
			const turn = await s.turn('MCP:tools add {"a":2,"b":40}', 'TEXT:done');

			assert.equal(turn.asked.length, 0);
			assert.match(s.results.at(-1), /42/);
		});

		test('in plan mode nothing can be written', async (t) => {
			const s = await session(t, { ...asked, mode: 'plan' });

			await s.turn('RUN:echo in >in', 'TEXT:done');
			assert.ok(!s.has('in'));
			await s.set('mode', 'build');
			await s.turn('RUN:echo in >in', 'TEXT:done');
			assert.equal(s.read('in'), 'in\n');
		});

		for (const [mode, reached] of [['on', true], ['off', false]]) {
			test(`the network is the session's: ${mode}`, async (t) => {
				const server = net.createServer((socket) => socket.end()).listen(0, '127.0.0.1');

				t.after(() => server.close());
				await once(server, 'listening');
				const s = await session(t, { ...asked, network: { mode } });

				await s.turn(`RUN:bash -c 'echo >/dev/tcp/127.0.0.1/${server.address().port}'; echo rc-$?`, 'TEXT:done');
				assert.match(s.results.at(-1), reached ? /rc-0/ : /rc-1/);
			});
		}

		test('a load asks for it', async (t) => {
			const outside = place(t, as);
			const s = await session(t, { level: asked.level });

			await s.turn(`RUN:echo out >${outside}/out`, 'TEXT:done');
			await s.request('session/load', { cwd: s.cwd, mcpServers: [], _meta: { acpd: { innerSandbox: true } } });
			await s.turn(`RUN:echo more >${outside}/more; echo in >in`, 'TEXT:done');
			assert.deepEqual(fs.readdirSync(outside), ['out']);
			assert.equal(s.read('in'), 'in\n');
		});

		if (asRoot)
			test('is refused where it would refuse everything', () => x.refuses({ acpd: { innerSandbox: true } }, ['CONFINEMENT_UNSUPPORTED']));

		test('without it there is none', async (t) => {
			const outside = place(t, as);
			const s = await session(t);

			await s.turn(`RUN:echo out >${outside}/out`, 'TEXT:done');
			assert.deepEqual(fs.readdirSync(outside), ['out']);
		});
	});
}
