// SPDX-License-Identifier: Apache-2.0
// images/orchestrator.ts, all of it, with a real harness and a scripted model. E2B's cloud alone is an imitation: it hands out a sandbox
// whose root command is run here, against a daemon that waits to be claimed, and whose address leads there.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { McpServer } from '@modelcontextprotocol/server';
import { Sandbox } from 'e2b';
import * as z from 'zod';

import { ACPD, ROOT } from '../lib/daemon.mjs';
import { startModelServer } from './model-server.mjs';
import { HARNESSES, quickest } from './programs.mjs';
import { KEY, startRig, tunnelTo } from './rig.mjs';

const kind = quickest();
const TEMPLATE = 'a-template';
let model, rig, dir, sandbox, onE2B, perform, LEASE_MS;

before(async () => {
	model = await startModelServer({ key: KEY });
	rig = await startRig(model, { harness: kind, token: null });
	dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-orchestrator-'));
	// beside node_modules, where Node finds the packages
	fs.symlinkSync(fs.realpathSync(path.join(ROOT, 'tests/node_modules')), path.join(dir, 'node_modules'));
	fs.writeFileSync(path.join(dir, 'package.json'), '{"type":"module"}');
	for (const name of ['orchestrator.ts', 'template.ts', 'model-tunnel.ts', 'acpd-client.ts'])
		fs.copyFileSync(path.join(ROOT, 'images', name), path.join(dir, name));
	({ onE2B, perform } = await import(path.join(dir, 'orchestrator.ts')));
	({ LEASE_MS } = await import(path.join(dir, 'template.ts')));
	fs.mkdirSync(path.join(dir, 'repo'));
	fs.writeFileSync(path.join(dir, 'repo/price.txt'), '10\n');
	execFileSync('tar', ['-czf', 'repo.tar.gz', 'repo'], { cwd: dir });
});
after(async () => {
	await sandbox?.road.close();
	await rig?.stop();
	await model?.close();
	fs.rmSync(dir, { recursive: true, force: true });
});

// The way from outside to the daemon, which can break.
async function makeRoad(port) {
	const open = new Set();
	const road = net.createServer((socket) => {
		const there = net.connect(port, '127.0.0.1');

		for (const end of [socket, there]) {
			open.add(end);
			end.on('error', () => {}).on('close', () => { open.delete(end); socket.destroy(); there.destroy(); });
		}
		socket.pipe(there).pipe(socket);
	});
	await new Promise((done) => road.listen(0, '127.0.0.1', done));
	return { port: road.address().port, cut: () => open.forEach((s) => s.resetAndDestroy()), close: () => road.close() };
}

const run = (command, env) => new Promise((resolve, reject) => {
	const child = spawn('sh', ['-c', command], { env: { PATH: process.env.PATH, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });

	child.on('close', (code) => (code ? reject(new Error(`exit ${code}`)) : resolve({ exitCode: code })));
});

class Imitation {
	asked = []; // of the cloud
	trafficAccessToken = 'traffic-token';
	commands = {
		run: async (command, { user, envs }) => {
			assert.equal(user, 'root');
			return run(command.replace('/opt/acpd/bin/acpd claim', `${ACPD} claim --run-dir ${rig.daemon.runDir}`), envs);
		},
	};

	getHost(port) {
		assert.equal(port, 2270);
		return `127.0.0.1:${this.road.port}`;
	}

	async setTimeout(ms) { this.asked.push(['lease', ms]); }
	async pause() { this.asked.push(['pause']); return true; }
	async kill() { this.asked.push(['kill']); return true; }
}

const SCRIPT = (text) => ['MCP:orchestrator readTicket {"id":"T-1"}', 'RUN:echo 12 > price.txt', `TEXT:${text}`].join('\n');
const WORDS = 'The price is 12 now.';

test('create, claim, upload, prompt, a tool, a question over a broken connection, model calls, patch, usage, lease, pause', async () => {
	const seen = { questions: 0, tickets: [], updates: [] };

	Sandbox.create = async (template, options) => {
		sandbox = Object.assign(new Imitation(), { road: await makeRoad(rig.daemon.port) });
		sandbox.asked.push(['create', template, options]);
		return sandbox;
	};
	const tools = () => {
		const server = new McpServer({ name: 'orchestrator', version: '1.0.0' });

		server.registerTool('readTicket', { description: 'A ticket', inputSchema: z.object({ id: z.string() }), annotations: { readOnlyHint: true } },
			async ({ id }) => { seen.tickets.push(id); return { content: [{ type: 'text', text: 'make it 12' }] }; });
		return server;
	};
	const place = await onE2B(TEMPLATE, { mode: 'off' });

	assert.match(place.url, /^https:/);
	assert.equal(place.headers['e2b-traffic-access-token'], 'traffic-token');
	assert.equal((await fetch(`http://127.0.0.1:${rig.daemon.port}/ready`)).status, 401, 'claimed');
	const outcome = await perform({ ...place, url: place.url.replace('https', 'http') }, {
		harness: kind, archive: fs.readFileSync(path.join(dir, 'repo.tar.gz')), prompt: SCRIPT(WORDS), tools, network: { mode: 'on' },
		model: { api: HARNESSES[kind].api, model: 'scripted-1' }, models: tunnelTo(model.url),
		allow() {
			if (++seen.questions === 1)
				sandbox.road.cut(); // the answer does not arrive
			return true;
		},
		onUpdate: (update) => seen.updates.push(update),
	});
	await place.pause();

	assert.equal(outcome.stopReason, 'end_turn');
	assert.deepEqual(seen.tickets, ['T-1']);
	assert.ok(seen.questions >= 2, 'asked again over the second connection');
	const text = seen.updates.filter((u) => u.sessionUpdate === 'agent_message_chunk').map((u) => u.content.text).join('');
	assert.equal(text.trim(), WORDS, 'each update once');
	assert.match(outcome.patch, /^-10\n\+12$/m);
	assert.ok(outcome.usage.some((r) => r.sessionId === outcome.sessionId), JSON.stringify(outcome.usage));
	const [[create, template, options], ...later] = sandbox.asked;
	assert.deepEqual([create, template, options.network.allowPublicTraffic, options.lifecycle], ['create', TEMPLATE, false, { onTimeout: 'pause', autoResume: true }]);
	const leases = later.filter(([what]) => what === 'lease').map(([, ms]) => ms);

	assert.deepEqual(later.slice(leases.length), [['pause']], 'nothing extends a sandbox that pauses');
	assert.equal(leases[0], LEASE_MS, 'before anybody is connected');
	assert.ok(leases.slice(1).some((ms) => ms <= 60_000), `without work: ${leases}`);
	assert.ok(leases.slice(1).some((ms) => ms > 60_000), `pushed when there was work: ${leases}`);
	assert.ok(model.requests.length >= 3);
});

test('the daemon\'s own answer stands: what it refuses is asked once', async () => {
	const task = { harness: kind, archive: Buffer.from('no archive'), prompt: 'x', tools: () => {}, network: { mode: 'on' },
		model: { api: HARNESSES[kind].api, model: 'scripted-1' }, models: tunnelTo(model.url), allow: () => true, onUpdate() {} };
	const place = { url: `http://127.0.0.1:${rig.daemon.port}`, headers: { authorization: 'Bearer wrong' }, extend: async () => {}, pause: async () => {} };

	await assert.rejects(perform(place, task), /^Error: 401 UNAUTHORIZED/);
});
