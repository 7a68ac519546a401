// SPDX-License-Identifier: Apache-2.0
// Which way the model calls of each scenario go. make test plays every row once, by this table, and the core rows in every way;
// make test-matrix plays all rows in all ways. Rows that share a session have one way: a session more is a harness more.

// environment: the harness itself; tunnel: the client; direct: the daemon
export const ROUTES = ['environment', 'tunnel', 'direct'];

// By the file of the rows.
const OF_FILE = {
	turns: 'environment', settings: 'environment', records: 'environment', workspaces: 'environment',
	permissions: 'tunnel', relay: 'tunnel', shown: 'tunnel', skills: 'tunnel', tunnel: 'tunnel', limits: 'tunnel',
	failures: 'direct',
};

// Rows that begin so are the core.
const CORE = ['text and thoughts', 'a command that succeeds', 'a second prompt waits', 'the model is switched', 'usage in the answer',
	'session/close, then session/load', 'allow once', 'reject:', 'cancel in the middle of the text', 'cancel in the middle of a command',
	'a relayed tool is called', 'the provider fails: 500', 'the provider\'s key is in no'];

// ROUTE=tunnel: all rows so, and no other; ROUTE=every: all rows in every way.
export function routesOf(file, name) {
	const { ROUTE } = process.env;

	if (ROUTE)
		return ROUTE === 'every' ? ROUTES : [ROUTE];
	return CORE.some((begin) => name.startsWith(begin)) ? ROUTES : [OF_FILE[file]];
}
