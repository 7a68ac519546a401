// SPDX-License-Identifier: Apache-2.0
// Records untrimmed ACP transcripts of the pinned OpenCode for the adapter's unit tests. Run by hand when
// the pin moves, then look at the difference:
//
//   node tests/harness/record.mjs [tests/fixtures/opencode]
//
// One JSON object a line: {"dir": ">" sent | "<" received | "#" note, "m": message}. Temporary
// paths are replaced by /ws and /home/agent. The model is the scripted one.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

import { startModelServer } from './model-server.mjs';

const here = import.meta.dirname;
const out = process.argv[2] ?? path.join(here, '../fixtures/opencode');
const opencode = path.join(here, '../node_modules/opencode-linux-x64/bin/opencode');

function configOf(url) {
	return {
		autoupdate: false, share: 'disabled', enabled_providers: ['acpd'],
		model: 'acpd/scripted-1', small_model: 'acpd/scripted-1',
		permission: { bash: 'ask', edit: 'ask', webfetch: 'ask' }, agent: { plan: { permission: { edit: 'deny' } } },
		provider: { acpd: { name: 'acpd', npm: '@ai-sdk/openai-compatible',
			options: { baseURL: url + '/v1', apiKey: '{env:ACPD_PROVIDER_KEY}' },
			models: { 'scripted-1': { name: 'scripted-1', tool_call: true,
				limit: { context: 100000, output: 8192 } } } } },
	};
}

// Without these files OpenCode fetches a package from the network in the background.
function fillHome(home) {
	const dir = path.join(home, '.config/opencode');

	fs.mkdirSync(path.join(dir, 'node_modules'), { recursive: true });
	fs.writeFileSync(path.join(dir, 'package.json'), '{}');
	fs.writeFileSync(path.join(dir, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3,
		packages: { '': { dependencies: { '@opencode-ai/plugin': '*' } } } }));
}

class Recording {
	#lines = []; #child; #pending = new Map(); #ids = 0; #root;
	outcome = { outcome: 'selected', optionId: 'once' };

	constructor(url) {
		this.#root = fs.mkdtempSync(path.join(os.tmpdir(), 'record-'));
		this.home = path.join(this.#root, 'home');
		this.cwd = path.join(this.#root, 'ws');
		fs.mkdirSync(this.cwd);
		fillHome(this.home);
		fs.writeFileSync(path.join(this.cwd, 'a.txt'), 'one\ntwo\nthree\n');
		this.#child = spawn(opencode, ['acp'], { cwd: this.cwd, stdio: ['pipe', 'pipe', 'ignore'], env: {
			PATH: process.env.PATH, HOME: this.home, TMPDIR: this.#root, LANG: 'C.UTF-8',
			OPENCODE_CONFIG_CONTENT: JSON.stringify(configOf(url)), ACPD_PROVIDER_KEY: 'sk-scripted',
			OPENCODE_SERVER_PASSWORD: 'recording-only', OPENCODE_DISABLE_AUTOUPDATE: '1',
			OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
			OPENCODE_DISABLE_LSP_DOWNLOAD: '1', OPENCODE_DISABLE_SHARE: '1',
			OPENCODE_DISABLE_CLAUDE_CODE: '1', OPENCODE_DISABLE_PROJECT_CONFIG: '1', OPENCODE_PURE: '1' } });
		readline.createInterface({ input: this.#child.stdout }).on('line', (line) => this.#receive(JSON.parse(line)));
	}

	#receive(m) {
		this.#lines.push({ dir: '<', m });
		if (m.method === 'session/request_permission' && this.outcome)
			this.#send({ jsonrpc: '2.0', id: m.id, result: { outcome: this.outcome } });
		else if (m.method && m.id !== undefined && m.method !== 'session/request_permission')
			this.#send({ jsonrpc: '2.0', id: m.id, error: { code: -32601, message: 'Method not found' } });
		else if (!m.method)
			this.#pending.get(m.id)?.(m);
	}

	#send(m) {
		this.#lines.push({ dir: '>', m });
		this.#child.stdin.write(JSON.stringify(m) + '\n');
	}

	note(text) {
		this.#lines.push({ dir: '#', m: { note: text } });
	}

	async call(method, params) {
		const id = ++this.#ids;
		const answer = new Promise((done) => this.#pending.set(id, done));

		this.#send({ jsonrpc: '2.0', id, method, params });
		return (await answer).result;
	}

	notify(method, params) {
		this.#send({ jsonrpc: '2.0', method, params });
	}

	async open() {
		await this.call('initialize', { protocolVersion: 1, clientCapabilities: {
			fs: { readTextFile: false, writeTextFile: false }, terminal: false },
		clientInfo: { name: 'acpd', title: 'acpd', version: '0.1.0' } });
		this.id = (await this.call('session/new', { cwd: this.cwd, mcpServers: [] })).sessionId;
	}

	prompt(...lines) {
		return this.call('session/prompt', { sessionId: this.id,
			prompt: [{ type: 'text', text: lines.join('\n').replaceAll('$WS', this.cwd) }] });
	}

	async finish(name) {
		const exited = new Promise((done) => this.#child.on('exit', (code, signal) => done({ code, signal })));
		this.#child.stdin.end();
		this.#lines.push({ dir: '#', m: { exit: await exited } });
		const text = this.#lines.map((line) => JSON.stringify(line)).join('\n') + '\n';
		// OpenCode shortens some paths to be relative to the root: hence the forms without the slash.
		const scrubbed = [[this.cwd, '/ws'], [this.home, '/home/agent'], [this.cwd.slice(1), 'ws'],
			[this.#root, '/tmp']].reduce((t, [from, to]) => t.replaceAll(from, to), text);
		fs.writeFileSync(path.join(out, name + '.jsonl'), scrubbed);
		fs.rmSync(this.#root, { recursive: true, force: true });
	}
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const EDIT = 'TOOL:edit {"filePath":"$WS/a.txt","oldString":"two","newString":"2"}';

const scenarios = {
	text: (r) => r.prompt('THINK:pondering the question', 'TEXT:Hello from the scripted model.'),
	tool: (r) => r.prompt('TEXT:I will edit it.', EDIT, 'TEXT:Done.'),
	'tool-relative': (r) => r.prompt('TOOL:read {"filePath":"a.txt"}',
		'TOOL:bash {"command":"echo hi; exit 3","description":"say hi"}', 'TEXT:Done.'),
	async reject(r) {
		r.outcome = { outcome: 'selected', optionId: 'reject' };
		await r.prompt(EDIT, 'TEXT:Not reached.');
	},
	async cancel(r) {
		const turn = r.prompt('TOOL:bash {"command":"sleep 60","description":"wait"}', 'TEXT:Not reached.');
		await sleep(2500);
		r.notify('session/cancel', { sessionId: r.id });
		await turn;
	},
	async 'cancel-question'(r) {
		r.outcome = null;
		const turn = r.prompt(EDIT, 'TEXT:Not reached.');
		await sleep(2500);
		r.notify('session/cancel', { sessionId: r.id });
		await turn;
	},
	async error(r) {
		for (const line of ['ERR:401', 'ERR:402', 'ERR:429 retry-after=0', 'ERR:500 retry-after=0', 'EMPTY'])
			await r.prompt(line);
		const turn = r.prompt('ERR:500 retry-after=30');
		r.note('cancelled while OpenCode waits before it tries again');
		await sleep(1500);
		r.notify('session/cancel', { sessionId: r.id });
		await turn;
	},
	async load(r) {
		await r.prompt('THINK:hm', 'TEXT:I will edit it.', EDIT, 'TEXT:Done.');
		await r.call('session/set_config_option', { sessionId: r.id, configId: 'mode', value: 'plan' });
		await r.call('session/set_mode', { sessionId: r.id, modeId: 'build' });
		await r.call('session/close', { sessionId: r.id });
		await r.call('session/load', { sessionId: r.id, cwd: r.cwd, mcpServers: [] });
		await r.prompt('RECALL');
	},
};

fs.mkdirSync(out, { recursive: true });
const server = await startModelServer({ key: 'sk-scripted' });
for (const [name, scenario] of Object.entries(scenarios)) {
	const recording = new Recording(server.url);
	await recording.open();
	await scenario(recording);
	await recording.finish(name);
	console.log('recorded ' + name);
}
await server.close();
