// SPDX-License-Identifier: Apache-2.0
// What `make run` shows: an orchestrator that has a real coding agent fix a bug through acpd. HARNESS chooses the agent:
// opencode (default), codex or pi.
//
// It starts `acpd serve` on loopback with a fresh token, connects over WebSocket with the official ACP SDK,
// opens a session in a copy of ./workspace, prompts, answers the permission request, and prints the updates, what has changed and
// whether the daemon's check passed. Exit status 0: the turn ended on its own and the check passed.

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
const screen = new Screen(process.stdout, cwd);
const cleanup = [() => fs.rmSync(dir, { recursive: true, force: true })];

// The daemon prints one line when it listens; its log goes to a file.
async function startDaemon(token) {
	const tokenFile = path.join(dir, 'token');
	const harnessConfig = path.join(dir, 'harnesses.json');
	const log = path.join(dir, 'acpd.log');

	fs.writeFileSync(tokenFile, token + '\n', { mode: 0o600 });
	fs.writeFileSync(harnessConfig, JSON.stringify({ harnesses: manifest().filter(({ id }) => id === harness) }));
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

// A user at a terminal can view the run before the daemon ends.
async function waitForUser(viewer) {
	if (!viewer || !process.stdin.isTTY || !process.stdout.isTTY)
		return;
	screen.line('viewer', `the run is at ${viewer} until you press Enter`);
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
		const begun = Date.now();
		const { sessionId, _meta: { acpd: session } } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [],
			_meta: { acpd: { harness, provider, checks: [{ id: 'check', kind: 'command', argv: [process.execPath, 'check.mjs'] }] } } });
		const { requested, achieved, missing } = session.level;
		screen.line('session', `${HARNESSES[harness].title} in ${cwd}, confined at level ${requested ?? achieved}` +
			(missing?.length ? ` (not enforced here: ${missing.map(({ what }) => what).join(', ')})` : ''));
		screen.blank();
		screen.line('you', PROMPT);
		const answer = await agent.request(methods.agent.session.prompt,
			{ sessionId, prompt: [{ type: 'text', text: PROMPT }] });
		await agent.request(methods.agent.session.close, { sessionId });
		return { ...answer, seconds: (Date.now() - begun) / 1000 };
	});
}

function showResult({ stopReason, usage, seconds, _meta: { acpd: { checks } } }) {
	const diff = spawnSync('diff', ['-ru', path.join(here, 'workspace'), cwd], { encoding: 'utf8' });
	const passed = checks.verdict === 'verified';

	screen.blank();
	screen.line('changed', diff.stdout ? 'in the workspace:' : 'nothing');
	screen.diff(diff.stdout);
	screen.line('check', `node check.mjs, run by the daemon after the turn: ${passed ? 'passed' : 'failed'}`);
	screen.line('turn', `${stopReason} after ${seconds.toFixed(1)} s${usage ? `, ${usage.totalTokens} tokens` : ''}`);
	return stopReason === 'end_turn' && passed;
}

function showNext(real, viewer) {
	const others = Object.keys(HARNESSES).filter((id) => id !== harness);

	screen.blank();
	screen.line('next', `make run HARNESS=${others.join(' or ')}: another agent`);
	if (!real)
		screen.line('', 'OPENAI_API_KEY=... make run, or ANTHROPIC_API_KEY: a real model');
	if (!viewer)
		screen.line('', 'make ui: the run viewer; after it make run shows the run in a browser');
	screen.line('', 'README.md, "Connect": your own program');
}

async function main() {
	if (!HARNESSES[harness])
		throw new Error(`HARNESS is one of ${Object.keys(HARNESSES).join(', ')}, not ${harness}`);
	fs.cpSync(path.join(here, 'workspace'), cwd, { recursive: true });
	const { provider, real, about, close } = await chooseProvider(process.env, HARNESSES[harness].api, cwd);
	cleanup.unshift(close);
	screen.line('model', about);
	const token = crypto.randomBytes(32).toString('hex');
	const url = await startDaemon(token);
	screen.line('daemon', `acpd at ${url}`);
	const viewer = await startViewer(url);
	if (viewer)
		screen.line('viewer', viewer);
	const done = showResult(await converse(url, token, provider));

	await waitForUser(viewer);
	showNext(real, viewer);
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
	screen.line('failed', err.message + (err.data ? ` ${JSON.stringify(err.data)}` : ''));
	process.exitCode = 1;
} finally {
	for (const step of cleanup)
		await step();
	process.exit();
}
