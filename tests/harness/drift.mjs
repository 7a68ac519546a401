// SPDX-License-Identifier: Apache-2.0
// make harness-drift: what the newest releases of the harnesses send and how often they ask again, beside the pinned ones, in one run.
// It never fails on a difference, only where something could not be installed or recorded. With --pinned it prints contracts.json anew.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import { Daemon, ROOT } from '../lib/daemon.mjs';
import { Contract, REFUSALS } from './contract.mjs';
import { startModelServer } from './model-server.mjs';
import { agentEntry, AGENTS, CODEX, HARNESSES, manifest, OPENCODE, PI } from './programs.mjs';
import { KEY } from './rig.mjs';

const PINNED = path.join(ROOT, 'tests/node_modules');
const DRIFT = path.join(ROOT, 'build/drift');
const NEWEST = path.join(DRIFT, 'node_modules');
const PINS = JSON.parse(fs.readFileSync(path.join(ROOT, 'tests/package.json'))).dependencies;

// Whose newest version is asked for, the folder it is installed in, and what is installed for it. bare: without its dependencies, since
// some of Pi's were never published; it loads only these, of the pinned versions.
const PACKAGES = {
	codex: { asked: '@openai/codex', folder: '@openai/codex-linux-x64', wanted: (v) => `npm:@openai/codex@${v}-linux-x64`, file: CODEX },
	opencode: { asked: 'opencode-linux-x64', file: OPENCODE },
	pi: { asked: '@earendil-works/pi-coding-agent', bare: HARNESSES.pi.packages.slice(1), file: PI },
	copilot: { asked: '@github/copilot-linux-x64', file: AGENTS.copilot.file },
	claude: { asked: '@agentclientprotocol/claude-agent-acp', file: AGENTS.claude.file },
	gemini: { asked: '@google/gemini-cli', file: AGENTS.gemini.file },
};
const ids = process.env.HARNESS ? process.env.HARNESS.split(',') : Object.keys(PACKAGES);
const folderOf = ({ asked, folder = asked }) => folder;
const npm = (...args) => execFileSync('npm', args, { cwd: DRIFT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();

function unpackBare({ asked }, version) {
	const to = path.join(NEWEST, asked);
	const [{ filename }] = JSON.parse(npm('pack', '--json', `${asked}@${version}`));

	fs.mkdirSync(to, { recursive: true });
	execFileSync('tar', ['-xzf', path.join(DRIFT, filename), '-C', to, '--strip-components=1']);
}

function install() {
	fs.rmSync(DRIFT, { recursive: true, force: true });
	fs.mkdirSync(DRIFT, { recursive: true });
	const chosen = ids.map((id) => [PACKAGES[id], npm('view', PACKAGES[id].asked, 'version')]);
	const whole = chosen.filter(([{ bare }]) => !bare).map(([p, v]) => [folderOf(p), p.wanted?.(v) ?? v]);
	const parts = chosen.flatMap(([{ bare = [] }]) => bare.map((name) => [name, PINS[name]]));

	fs.writeFileSync(path.join(DRIFT, 'package.json'), JSON.stringify({ private: true, dependencies: Object.fromEntries([...whole, ...parts]) }));
	npm('install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error');
	for (const [p, version] of chosen.filter(([{ bare }]) => bare))
		unpackBare(p, version);
}

const versionOf = (modules, id) => JSON.parse(fs.readFileSync(path.join(modules, folderOf(PACKAGES[id]), 'package.json'))).version;

// The entries of the harness config, with the programs of these modules.
function entriesOf(modules) {
	const moved = (file) => path.join(modules, path.relative(PINNED, file));
	const own = manifest().map((e) => ({ ...e, command: e.command === HARNESSES.pi.command ? e.command : moved(e.command),
		args: e.args.map((arg) => arg === PI ? moved(PI) : arg) }));

	return [...own, ...Object.keys(AGENTS).map((id) => agentEntry(id, { ...AGENTS[id], file: moved(AGENTS[id].file) }))]
		.filter(({ id }) => ids.includes(id));
}

async function recordOne(daemon, model, id) {
	const contract = await Contract.open(daemon, model, id, (HARNESSES[id] ?? AGENTS[id]).api);
	const refused = {};

	try {
		const asks = await contract.asks();
		for (const misbehaviour of REFUSALS)
			refused[misbehaviour.name] = await contract.refused(misbehaviour);
		return { asks, refused };
	} finally {
		await contract.close();
	}
}

// {id: {asks, refused} or {error}} of the programs of these modules, all at the same time.
async function record(modules) {
	const model = await startModelServer({ key: KEY });
	const daemon = await Daemon.start({ flags: { defaultHarness: ids[0] }, harnesses: entriesOf(modules) });
	const results = await Promise.all(ids.map((id) => recordOne(daemon, model, id).catch((e) => ({ error: e.message }))));

	await daemon.discard();
	await model.close();
	return Object.fromEntries(ids.map((id, i) => [id, results[i]]));
}

// Calls by their kind, so that one more does not move the others.
const byKind = ({ asks: { calls, ...asks }, refused }) => ({ calls: Object.groupBy(calls, ({ kind }) => kind), ...asks, refused });

const isObject = (value) => value !== null && typeof value === 'object';

// A value beside another; of lists of words those that have gone and those that are new.
function told(was, is) {
	const [before, now] = [was, is].map((value) => new Set(String(value).split(/[ ,]+/)));
	const [gone, added] = [before.difference(now), now.difference(before)];

	return typeof was === 'string' && typeof is === 'string' && gone.size < before.size
		? [...[...gone].map((word) => `-${word}`), ...[...added].map((word) => `+${word}`)].join(' ')
		: `${JSON.stringify(was) ?? 'absent'} -> ${JSON.stringify(is) ?? 'absent'}`;
}

function differences(was, is, at = '') {
	if (isObject(was) && isObject(is))
		return [...new Set([...Object.keys(was), ...Object.keys(is)])].flatMap((name) => differences(was[name], is[name], at ? `${at}.${name}` : name));
	return was === is ? [] : [`  ${at}: ${told(was, is)}`];
}

function print(id, before, now) {
	const name = `${id} ${versionOf(PINNED, id)} (pinned) -> ${versionOf(NEWEST, id)} (newest)`;
	const error = before.error ?? now.error;

	if (error) {
		console.log(`${name}: could not be recorded: ${error}`);
		process.exitCode = 1;
		return;
	}
	const lines = differences(byKind(before), byKind(now));
	console.log(`${name}: ${lines.length ? 'differs' : 'no difference'}`);
	for (const line of lines)
		console.log(line);
}

if (process.argv[2] === '--pinned') {
	console.log(JSON.stringify(await record(PINNED), null, '\t'));
} else {
	install();
	const before = await record(PINNED);
	const now = await record(NEWEST);

	for (const id of ids)
		print(id, before[id], now[id]);
}
