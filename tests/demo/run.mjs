// SPDX-License-Identifier: Apache-2.0
// What `make run` shows: an orchestrator that has a real coding agent mend a bug through acpd. HARNESS chooses the agent:
// opencode (default), codex or pi.
//
// It starts `acpd serve` on loopback with a fresh token, connects over WebSocket with the official ACP SDK,
// opens a session in a copy of ./workspace, prompts, answers the permission question, prints the updates and
// ends with the changed file. Exit status 0: the turn ended by itself and the file changed.

import { client, methods } from '@agentclientprotocol/sdk';
import { createWebSocketStream } from '@agentclientprotocol/sdk/experimental/ws-client';
import { WebSocket } from 'ws';

import { spawn, spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

import { HARNESSES, manifest } from '../harness/programs.mjs';
import { chooseProvider, PROMPT } from './provider.mjs';
import { Screen } from './screen.mjs';

const here = import.meta.dirname;
const repo = path.join(here, '../..');
const acpd = path.resolve(repo, process.env.ACPD ?? 'build/release/acpd');
const harness = process.env.HARNESS || 'opencode';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-demo-'));
const cwd = path.join(dir, 'workspace');
const screen = new Screen(process.stdout);
const cleanup = [() => fs.rmSync(dir, { recursive: true, force: true })];

// The daemon prints one line when it listens; its log goes to a file.
async function startDaemon(token) {
	const tokenFile = path.join(dir, 'token');
	const harnessConfig = path.join(dir, 'harnesses.json');
	const log = path.join(dir, 'acpd.log');

	fs.writeFileSync(tokenFile, token + '\n', { mode: 0o600 });
	fs.writeFileSync(harnessConfig, JSON.stringify({ harnesses: manifest() }));
	const child = spawn(acpd, ['serve', '--listen', '127.0.0.1:0', '--state', path.join(dir, 'state'),
		'--run-dir', path.join(dir, 'run'), '--workspaces', dir, '--token-file', tokenFile,
		'--harness-config', harnessConfig],
	{ stdio: ['ignore', 'pipe', fs.openSync(log, 'a')] });
	const exited = new Promise((done) => child.once('exit', done).once('error', done));

	cleanup.unshift(async () => {
		child.kill('SIGTERM');
		const late = setTimeout(() => child.kill('SIGKILL'), 20_000);
		await exited;
		clearTimeout(late);
	});
	for await (const line of readline.createInterface({ input: child.stdout })) {
		const [, url] = /^acpd listening on (ws:\S+)$/.exec(line) ?? [];
		if (url)
			return url;
	}
	const why = await exited;
	throw new Error(`acpd did not start: ${why.message ?? `exit status ${why}`}\n${fs.readFileSync(log, 'utf8')}`.trimEnd());
}

// Of the run viewer, which `acpd ui` serves with the token; null: it is not built.
async function startViewer(url) {
	const child = spawn(acpd, ['ui', '--url', url, '--token-file', path.join(dir, 'token')], { stdio: ['ignore', 'pipe', 'ignore'] });
	const exited = new Promise((done) => child.once('exit', done).once('error', done));

	cleanup.unshift(async () => {
		child.kill('SIGTERM');
		await exited;
	});
	for await (const line of readline.createInterface({ input: child.stdout }))
		return line;
	return null;
}

// A user at a terminal can look at the run before the daemon ends.
async function waitForUser(viewer) {
	if (!viewer || !process.stdin.isTTY || !process.stdout.isTTY)
		return;
	screen.line(`The run is at ${viewer} until you press Enter.`);
	await once(process.stdin, 'data');
}

function answerPermission({ params }) {
	const option = params.options.find((o) => o.kind === 'allow_once') ?? params.options[0];

	screen.question(params, option);
	return { outcome: { outcome: 'selected', optionId: option.optionId } };
}

async function converse(url, token, provider) {
	const stream = createWebSocketStream(url, { WebSocket, headers: { Authorization: `Bearer ${token}` } });
	const orchestrator = client({ name: 'acpd-demo' })
		.onRequest(methods.client.session.requestPermission, answerPermission)
		.onNotification(methods.client.session.update, ({ params }) => screen.update(params.update));

	return orchestrator.connectWith(stream, async (agent) => {
		await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {},
			clientInfo: { name: 'acpd-demo', version: '1.0.0' } });
		const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [],
			_meta: { acpd: { harness, provider } } });
		screen.line(`Session ${sessionId} with ${HARNESSES[harness].title} in ${cwd}`);
		screen.line(`You: ${PROMPT}`);
		const answer = await agent.request(methods.agent.session.prompt,
			{ sessionId, prompt: [{ type: 'text', text: PROMPT }] });
		await agent.request(methods.agent.session.close, { sessionId });
		return answer.stopReason;
	});
}

function showResult(stopReason) {
	const before = path.join(here, 'workspace/cart.mjs');
	const after = path.join(cwd, 'cart.mjs');
	const diff = spawnSync('diff', ['-u', '--label', 'before/cart.mjs', '--label', 'after/cart.mjs', before, after],
		{ encoding: 'utf8' });

	screen.block('Difference', diff.stdout || '(none)\n');
	screen.block('cart.mjs now', fs.readFileSync(after, 'utf8'));
	screen.line(`Stop reason: ${stopReason}`);
	return stopReason === 'end_turn' && diff.status === 1;
}

async function main() {
	if (!HARNESSES[harness])
		throw new Error(`HARNESS is one of ${Object.keys(HARNESSES).join(', ')}, not ${harness}`);
	fs.cpSync(path.join(here, 'workspace'), cwd, { recursive: true });
	const { provider, about, close } = await chooseProvider(process.env, HARNESSES[harness].api, cwd);
	cleanup.unshift(close);
	screen.line(about);
	const token = crypto.randomBytes(32).toString('hex');
	const url = await startDaemon(token);
	screen.line(`acpd listens on ${url}`);
	const viewer = await startViewer(url);
	screen.line(viewer ? `The run viewer shows it: ${viewer}` : 'The run viewer is not built: make ui builds it');
	const done = showResult(await converse(url, token, provider));

	await waitForUser(viewer);
	return done;
}

const interrupted = new Promise((_, fail) => {
	for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
		process.once(signal, () => fail(new Error(`stopped by ${signal}`)));
	process.stdout.on('error', fail); // as with `make run | head`
});
try {
	process.exitCode = await Promise.race([main(), interrupted]) ? 0 : 1;
} catch (err) {
	screen.line(`Failed: ${err.message}` + (err.data ? ` ${JSON.stringify(err.data)}` : ''));
	process.exitCode = 1;
} finally {
	for (const step of cleanup)
		await step();
	process.exit();
}
