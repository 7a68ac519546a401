// SPDX-License-Identifier: Apache-2.0
// Kind of rule x kind of tool {built-in, the harness's own, relayed of the client} on each harness: what ran, who answered, and who the
// session says enforces the rule. The table for readers is in daemon/protocol/tools.md. One list of cells is one session and one turn.

import assert from 'node:assert/strict';
import fs from 'node:fs';

import { Tools } from './relay.mjs';

const own = { tool: 'own' }, builtin = { tool: 'builtin' }, relayed = { tool: 'relayed' };
const json = JSON.stringify;

// The wishes, and what shows that one was granted.
const edit = (file) => ({ line: (s) => `EDIT:${json({ file: s.file(file), from: 'one', to: 'TWO' })}`, done: (s) => s.read(file) !== 'one\n' });
const write = (file) => ({ line: (s) => `WRITE:${json({ file: s.file(file), text: 'made\n' })}`, done: (s) => s.has(file) });
const read = (file, text) => ({ line: (s) => `READ:${s.file(file)}`, shows: text });
const touch = (...names) => ({ line: () => `RUN:touch ${names.join(' ')}`, done: (s) => s.has(names.at(-1)) });
const tool = (name, args, sign) => ({ line: () => `MCP:acpd ${name} ${json(args)}`, ...sign });
const toolWrite = (path) => tool('writeFile', { path, content: 'made\n' }, { done: (s) => s.has(path) });
const toolTouch = (...names) => tool('runCommand', { command: `touch ${names.join(' ')}` }, { done: (s) => s.has(names.at(-1)) });
const call = (name, times = 1, path) => ({ line: (s) => `MCP:shop ${name} ${json({ path: path && s.file(path) })}`, done: (s) => s.shop.of(name).length === times });

// Made twice: both are to be seen.
const twice = (name) => (s) => s.has(name) && s.read(name) === 'x\nx\n';
const APPEND = { own: { line: () => 'RUN:echo x >> own-kept', done: twice('own-kept') },
	builtin: tool('runCommand', { command: 'echo x >> builtin-kept' }, { done: twice('builtin-kept') }) };

// Who answered. The driver says `chosen`.
const rule = (id) => ['rule', id];
const APPROVAL = ['default', 'approval'];
const driver = (chosen) => ['client', 'driver', chosen];
const YES = driver('allow_once'), NO = driver('reject_once'), ALWAYS = driver('allow_always');
// The gate or the tool box does not list it: the model cannot call it.
const unlisted = (server, name) => ({ unlisted: [server, name] });

const READS_BY_COMMANDS = (x) => Boolean(x.h.asksReads);
const REJECTED = /PERMISSION_REJECTED|permission for this call was refused/;

// [kind, rule whose `enforced` is looked at, that, cells]. A cell: {tool, a wish, ran, answers, refusal?: what the model is told} or
// {tool, unlisted}; {tool, why}: such a rule does not speak of such a tool. What depends on the harness is a function of it.
const NEVER = {
	title: 'globs, commands, approval never',
	acpd: { policy: { approval: 'never', deny: ['secret.txt'], write: ['src/**'], commands: [{ prefix: ['touch', 'allowed'], policy: 'allow' },
		{ prefix: ['touch', 'denied'], policy: 'deny' }, { prefix: ['touch', 'asked'], policy: 'ask' }] } },
	kinds: [
		['deny glob', 'policy.deny[0]', (x) => (READS_BY_COMMANDS(x) ? 'none' : 'harness'), [
			{ ...own, ...edit('secret.txt'), ran: false, answers: [rule('policy.deny[0]')] },
			// Codex says of a plain command that reads which file that is; of others it does not know, so it is promised of none
			{ ...own, ...read('secret.txt', /\bone\b/), ran: false, answers: [rule('policy.deny[0]')] },
			{ ...builtin, ...tool('readFile', { path: 'secret.txt' }, { shows: /\bone\b/ }), ran: false, answers: [APPROVAL], refusal: /PATH_DENIED/ },
			// what its arguments mean is the client's affair
			{ ...relayed, ...call('free', 1, 'secret.txt'), ran: true, answers: [APPROVAL] }]],
		['write glob', 'policy.write', 'harness', [
			{ ...own, ...write('own.txt'), ran: false, answers: [rule('policy.write')] },
			{ ...own, ...write('src/own.txt'), ran: true, answers: [APPROVAL] },
			{ ...builtin, ...toolWrite('builtin.txt'), ran: false, answers: [APPROVAL], refusal: /PATH_NOT_ALLOWED/ },
			{ ...builtin, ...toolWrite('src/builtin.txt'), ran: true, answers: [APPROVAL] },
			{ ...relayed, why: 'as with a deny glob' }]],
		['allowed command', 'policy.commands[0]', 'harness', [
			{ ...own, ...touch('allowed', 'own-allowed'), ran: true, answers: [rule('policy.commands[0]')] },
			{ ...builtin, ...toolTouch('allowed', 'builtin-allowed'), ran: true, answers: [APPROVAL] },
			{ ...relayed, why: 'it runs no command here' }]],
		['denied command', 'policy.commands[1]', 'harness', [
			{ ...own, ...touch('denied', 'own-denied'), ran: false, answers: [rule('policy.commands[1]')] },
			{ ...builtin, ...toolTouch('denied', 'builtin-denied'), ran: false, answers: [APPROVAL], refusal: /COMMAND_DENIED/ },
			{ ...relayed, why: 'it runs no command here' }]],
		['asked command', 'policy.commands[2]', 'harness', [
			{ ...own, ...touch('asked', 'own-asked'), ran: true, answers: [YES] },
			{ ...own, ...touch('asked', 'own-refused'), ran: false, answers: [NO] },
			{ ...builtin, ...toolTouch('asked', 'builtin-asked'), ran: true, answers: [APPROVAL, YES] },
			{ ...builtin, ...toolTouch('asked', 'builtin-refused'), ran: false, answers: [APPROVAL, NO], refusal: REJECTED },
			{ ...relayed, why: 'it runs no command here' }]],
		['approval never', null, null, [{ ...relayed, ...call('granted'), ran: true, answers: [APPROVAL] }]],
	],
};

const ASK = {
	title: 'denied tools, allow always',
	acpd: { policy: { approval: 'ask', tools: { 'edit*': { policy: 'deny' }, 'apply*': { policy: 'deny' } } },
		mcp: { policy: { shop: { tools: { refused: { policy: 'deny' }, granted: { policy: 'allow' } } }, acpd: { tools: { grep: { policy: 'deny' } } } } } },
	kinds: [
		['denied tool', 'policy.tools.edit*', 'tool', [
			{ ...own, ...edit('a.txt'), ran: false, answers: (x) => [rule(READS_BY_COMMANDS(x) ? 'policy.tools.apply*' : 'policy.tools.edit*')] },
			{ ...builtin, ...unlisted('acpd', 'editFile') },
			{ ...relayed, why: 'the rules of its server are for that' }]],
		['denied tool', 'mcp.policy.shop.tools.refused', 'tool', [
			{ ...own, why: 'it is of no server' },
			{ ...relayed, ...unlisted('shop', 'refused') }]],
		['denied tool', 'mcp.policy.acpd.tools.grep', 'tool', [{ ...builtin, ...unlisted('acpd', 'grep') }]],
		['allowed tool', 'mcp.policy.shop.tools.granted', 'tool', [{ ...relayed, ...call('granted'), ran: true, answers: [rule('mcp.policy.shop.tools.granted')] }]],
		['allow always', null, null, [
			{ ...own, ...APPEND.own, ran: true, answers: [ALWAYS] },
			{ ...own, ...APPEND.own, ran: true, answers: [rule('session.rules[1]')] },
			{ ...own, ...touch('other'), ran: false, answers: [NO] }, // that command and no other
			{ ...builtin, ...APPEND.builtin, ran: true, answers: [ALWAYS] },
			{ ...builtin, ...APPEND.builtin, ran: true, answers: [rule('session.rules[2]')] },
			{ ...relayed, ...call('kept', 2), ran: true, answers: [ALWAYS] },
			{ ...relayed, ...call('kept', 2), ran: true, answers: [rule('session.rules[3]')] }]],
	],
};

const CATEGORIES = {
	title: 'categories, asked tools',
	acpd: { policy: { approval: 'never', categories: { edit: 'deny', mcp: 'deny' }, tools: { 'read*': { policy: 'ask' } } },
		mcp: { policy: { shop: { tools: { asked: { policy: 'ask' } } } } } },
	kinds: [
		['denied category', 'policy.categories.edit', 'harness', [
			{ ...own, ...write('own.txt'), ran: false, answers: [rule('policy.categories.edit')] },
			{ ...builtin, ...unlisted('acpd', 'writeFile') }]],
		['denied category', 'policy.categories.mcp', 'tool', [{ ...relayed, ...unlisted('shop', 'free') }]],
		['asked tool', 'policy.tools.read*', 'tool', [
			// a tool that reads; what Codex reads with is its shell, of which the rule does not speak
			{ ...own, ...read('a.txt', /\bone\b/), ran: READS_BY_COMMANDS, answers: (x) => [READS_BY_COMMANDS(x) ? APPROVAL : NO] },
			{ ...builtin, ...tool('readFile', { path: 'a.txt' }, { shows: /\bone\b/ }), ran: false, answers: [APPROVAL, NO], refusal: REJECTED },
			{ ...builtin, ...tool('readFile', { path: 'b.txt' }, { shows: /\bbee\b/ }), ran: true, answers: [APPROVAL, YES] }]],
		['asked tool', 'mcp.policy.shop.tools.asked', 'tool', [{ ...relayed, ...call('asked'), ran: false, answers: [APPROVAL, NO], refusal: REJECTED }]],
		['approval never', null, null, [
			{ ...own, ...touch('own-free'), ran: true, answers: [APPROVAL] },
			{ ...builtin, ...toolTouch('builtin-free'), ran: true, answers: [APPROVAL] }]],
	],
};

const SHOP = ['free', 'refused', 'asked', 'granted', 'kept'].map((name) => ({ name, description: 'A tool of the client.', inputSchema: { type: 'object' } }));

// [by, rule, via or reason] of each answer, in order.
async function answersOf(s) {
	const { body } = await s.x.rig.daemon.http(`/v1/sessions/${s.id}/events`, { token: s.x.rig.daemon.token });

	return body.trim().split('\n').map((line) => JSON.parse(line)).filter((e) => e.kind === 'ask_approval' && e.answer)
		.map((e) => [e.by, e.rule ?? e.via ?? e.reason]);
}

async function open(x, t, { acpd }) {
	const shop = new Tools(SHOP), on = await x.connect();
	const s = await x.session(t, { on, params: { mcpServers: [on.serve('shop', shop.handler)] },
		acpd: { ...acpd, mcp: { builtin: true, ...acpd.mcp } } });

	fs.mkdirSync(s.file('src'));
	for (const [name, text] of Object.entries({ 'a.txt': 'one\n', 'b.txt': 'bee\n', 'secret.txt': 'one\n' }))
		s.file(name, text);
	return Object.assign(s, { shop });
}

const of = (x, value) => (typeof value === 'function' ? value(x) : value);
const isOffered = (offered, [server, name]) => offered.some((o) => o.includes(server) && o.endsWith(name));

async function plays(x, t, list) {
	const s = await open(x, t, list);
	const rules = s.opened._meta.acpd.policy.rules;
	const cells = list.kinds.flatMap(([kind, , , row]) => row.map((cell) => ({ kind, ...cell })));
	const called = cells.filter((cell) => cell.line);
	const answers = called.flatMap((cell) => of(x, cell.answers));
	const says = answers.filter(([by]) => by === 'client').map(([, , chosen]) => chosen);

	assert.ok(cells.every((cell) => cell.line || cell.unlisted || cell.why));
	for (const [kind, id, enforced] of list.kinds.filter(([, id]) => id)) {
		const said = rules.find((r) => r.rule === id);
		assert.equal(said?.enforced, of(x, enforced), `${kind}: ${id}`);
		assert.ok(said.enforced !== 'none' || said.why, `${kind}: it does not say why`);
	}
	s.o.answer = () => says.shift() ?? assert.fail('nobody was to be asked');
	const turn = await s.turn(...called.map((cell) => cell.line(s)), 'TEXT:done');
	assert.deepEqual([turn.stop, turn.text, says], ['end_turn', 'done', []]);
	assert.deepEqual(await answersOf(s), answers.map(([by, detail]) => [by, detail]));
	const { results, tools } = s.requests.at(-1);
	assert.equal(results.length, called.length);
	for (const [i, { kind, tool: whose, done, shows, ran, refusal }] of called.entries()) {
		const what = `${kind}, ${whose}: ${called[i].line(s)}: ${results[i]}`;

		assert.equal(done ? done(s) : shows.test(results[i]), of(x, ran), what);
		if (refusal)
			assert.match(results[i], refusal, what);
	}
	assert.ok(isOffered(tools, ['acpd', 'listFiles']));
	for (const cell of cells.filter(({ unlisted: name }) => name))
		assert.ok(!isOffered(tools, cell.unlisted), `${cell.kind}: ${cell.unlisted} is offered`);
}

// Under approval ask what a rule allows is not asked; globs only restrict, so an edit where they allow one is.
async function asks(x, t) {
	const s = await x.session(t, { acpd: { policy: { ...NEVER.acpd.policy, approval: 'ask' } } });

	fs.mkdirSync(s.file('src'));
	for (const name of ['src/a.txt', 'b.txt'])
		s.file(name, 'one\n');
	const wishes = [touch('allowed'), touch('denied'), edit('src/a.txt'), edit('b.txt')];
	const turn = await s.turn(...wishes.map(({ line }) => line(s)), 'TEXT:done');

	assert.deepEqual([turn.stop, turn.text], ['end_turn', 'done']);
	assert.deepEqual(wishes.map(({ done }) => done(s)), [true, false, true, false]);
	assert.equal(turn.asked.length, 1);
	assert.deepEqual(await answersOf(s), [rule('policy.commands[0]'), rule('policy.commands[1]'), ['client', 'driver'], rule('policy.write')]);
	await s.goesOn();
}

export default [
	...[NEVER, ASK, CATEGORIES].map((list) => [`rules, a table: ${list.title}`, (x, t) => plays(x, t, list)]),
	['rules bind its own tools under approval ask', asks],
];
