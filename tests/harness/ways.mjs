// SPDX-License-Identifier: Apache-2.0
// In which way each scenario is played: which way its model calls go (route), and how far its sessions are confined (level). make test
// plays every row once, by this table, and with Codex, which starts fastest, the core rows by every route.
// make test-matrix (ROUTE=every) plays all rows by every route, each at a level of its own, with each harness.
// Rows that share a session have one way: a session more is a harness more.

// environment: the harness itself; tunnel: the client; direct: the daemon
export const ROUTES = ['environment', 'tunnel', 'direct'];
// As much of the level as the machine of the tests has (atLeast: false): whole levels are the affair of tests/integration.
export const LEVELS = ['guarded', 'strict', 'open'];
export const WAYS = ROUTES.flatMap((route) => LEVELS.map((level) => ({ route, level })));

// By the file of the rows.
const OF_FILE = {
	turns: 'environment guarded', settings: 'environment strict', records: 'environment open', workspaces: 'environment strict',
	permissions: 'tunnel guarded', rules: 'tunnel guarded', relay: 'tunnel guarded', shown: 'tunnel guarded', skills: 'tunnel strict', tunnel: 'tunnel guarded', limits: 'tunnel open', blocks: 'tunnel guarded', text: 'tunnel guarded', tools: 'tunnel guarded',
	failures: 'direct strict', proofs: 'direct guarded',
};

// With OpenCode and Pi, whose every start costs seconds, a route has one level, so that its rows share more sessions.
const LEVEL_OF_ROUTE = { environment: 'open', tunnel: 'guarded', direct: 'strict' };

const EVERY_WAY = 'codex'; // its core rows
// Rows that begin so are the core.
const CORE = ['text and thoughts', 'a command that succeeds', 'a second prompt waits', 'the model is switched', 'usage in the answer',
	'session/close, then session/load', 'allow once', 'reject:', 'cancel in the middle of the text', 'cancel in the middle of a command',
	'a relayed tool is called', 'the provider fails: 500', 'the provider\'s key is in no'];

// Rows that need a session of their own and ask about the daemon more than about the harness: make test plays them with Codex and Pi.
// A session of OpenCode costs four seconds of CPU, several times one of theirs.
const NOT_OPENCODE = ['the provider\'s key is wrong', 'budgets of a turn', 'budget: tokens of a session', 'a budget of tool calls', 'checks:', 'draft:',
	'instructions stand beside', 'instructions replace', 'a workspace comes from an archive', 'skills of a fork', 'another provider between two calls',
	'without network, text', 'without network, an MCP server', 'a network of hosts, in strict: the model is reached',
	'what was chosen holds'];

const begins = (list) => (name) => list.some((begin) => name.startsWith(begin));
const [isCore, isNotForOpenCode] = [CORE, NOT_OPENCODE].map(begins);

// ROUTE=tunnel LEVEL=strict: all rows so, and no other; every: all rows by each route, or at each level. Without LEVEL the level of the route.
const chosen = (all, word, own) => (word === 'every' ? all : [word || own]);

// A row that is asked for by its name (SCENARIO) is played with any harness.
export function waysOf(file, name, harness) {
	const [route, own] = OF_FILE[file].split(' ');
	const level = harness === EVERY_WAY ? own : LEVEL_OF_ROUTE[route];
	const { ROUTE, LEVEL, SCENARIO } = process.env;

	if (ROUTE || LEVEL)
		return chosen(ROUTES, ROUTE, route).flatMap((r) => chosen(LEVELS, LEVEL, LEVEL_OF_ROUTE[r]).map((l) => ({ route: r, level: l })));
	if (harness === EVERY_WAY && isCore(name))
		return WAYS.filter((way) => way.level === level);
	return harness === 'opencode' && !SCENARIO && isNotForOpenCode(name) ? [] : [{ route, level }];
}

// What no row begins with: a list above says something that is not so.
export const unknownBegins = (names) => [...CORE, ...NOT_OPENCODE].filter((begin) => !names.some((name) => name.startsWith(begin)));

export const wayOf = ({ route, level }) => `${route}, ${level}`;
