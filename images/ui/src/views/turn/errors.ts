// SPDX-License-Identifier: Apache-2.0
// How a turn failed, in words: what happened, and what can be done about it. The classes are the closed list of daemon/protocol/errors.md.

const CLASSES: ReadonlyMap<string, [string, string]> = new Map([
	['harness_exit', ['The harness ended in the middle of the turn', 'Look at its last output. The next prompt starts it again.']],
	['harness_protocol', ['The harness said something that its protocol does not have', 'Most likely it is of a version that acpd does not know. Update one of both.']],
	['harness_start', ['The harness could not be started', 'See whether it is installed and its settings are right: acpd doctor tells.']],
	['harness_error', ['The harness reported an error of its own', 'Its message says more.']],
	['auth', ['The model provider did not take the key', 'Give the session a key that is valid for this provider and model.']],
	['rate_limit', ['The model provider asks to slow down', 'Wait a little and prompt again.']],
	['quota', ['A limit of usage is reached, or this model may not be asked', 'Raise the limit with the provider, or choose another model.']],
	['context_overflow', ['There is more text than the model can take', 'Begin a new session, or let the harness compact this one.']],
	['provider', ['The model provider failed', 'Try again; if it stays, look at the status of the provider.']],
	['empty_turn', ['The turn ended without any output', 'Look at the model calls: most likely one failed and the harness said nothing of it.']],
	['out_of_memory', ['The process had no memory left', 'Raise the session\u2019s limit of memory, or ask for less at once.']],
	['resource', ['The session cannot be written to disk', 'Make room on the disk of the daemon.']],
	['shutdown', ['The daemon stopped in the middle of the turn', 'The session is kept: prompt again.']],
]);

export interface Words { title: string; advice: string }

export function wordsOf(name: string): Words {
	const [title, advice] = CLASSES.get(name) ?? ['The turn failed', 'The message says more.'];
	return { title, advice };
}

const STATUS: ReadonlyMap<number, string> = new Map([
	[400, 'the request was not understood'], [401, 'not authenticated'], [402, 'payment is needed'], [403, 'not allowed'], [404, 'not found'], [408, 'timed out'], [413, 'too large'],
	[422, 'the request was not accepted'], [429, 'too many requests'], [500, 'an error of the server'], [502, 'bad gateway'], [503, 'not available'], [504, 'timed out behind a gateway'], [529, 'overloaded'],
]);

export const statusWords = (status: number): string => `HTTP ${status}${STATUS.has(status) ? `, ${STATUS.get(status)}` : ''}`;
