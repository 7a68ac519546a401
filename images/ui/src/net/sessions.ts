// SPDX-License-Identifier: Apache-2.0
// What GET /v1/sessions and the other lists say, read with care.

import type { Json, JsonObject } from '../model/event.ts';
import type { DraftState, McpServer, SessionInfo } from '../model/run.ts';
import { isObject, list, num, obj, oneLine, optNum, str, time } from '../model/read.ts';
import { readBudget, readCost, readTokens } from '../model/usage.ts';
import { LineSplitter } from '../model/lines.ts';
import type { Api } from './api.ts';
import type { Described, DescribedServer } from './described.ts';

const SERVERS_MAX = 64;
const TOOLS_MAX = 200;

function readServer(v: Json): McpServer {
	const o = obj(v) as DescribedServer;
	const error = obj(o.error);

	return { name: str(o.name), via: str(o.via), error: o.error ? `${str(error.message)} (${str(error.reason)})` : undefined,
		tools: Array.isArray(o.toolsDelivered) ? o.toolsDelivered.slice(0, TOOLS_MAX).map(str) : undefined };
}

function readDraft(v: Json | undefined): DraftState | null {
	const o = obj(v) as Described<'Draft'>;

	return o.on === true ? { how: str(o.how), missing: str(o.missing), bytes: optNum(o.bytes) } : null;
}

export function readSession(v: Json | undefined): SessionInfo {
	const o = obj(v) as Described<'Session'>;
	const used = obj(o.used) as Described<'Used'>;

	return {
		sessionId: str(o.sessionId), harness: str(o.harness), state: str(o.state), cwd: str(o.cwd),
		title: oneLine(str(o.title), 300), model: str(o.model), seq: num(o.seq), turn: num(o.turn), turns: num(o.turns),
		queued: num(o.queued), questions: num(o.questions), watchers: num(o.watchers), waiting: str(o.waiting),
		cost: readCost(used.cost), usage: readTokens(used.usage),
		budgets: list(o.budgets).flatMap((b) => readBudget(b) ?? []),
		mcp: list(o.mcp).slice(0, SERVERS_MAX).map(readServer), damaged: isObject(o.damaged), draft: readDraft(o.draft),
		imported: o.imported === true, updatedAt: time(o.updatedAt),
	};
}

export async function listSessions(api: Api, signal?: AbortSignal): Promise<SessionInfo[]> {
	const answer = await api.get('/v1/sessions', signal);

	return list(answer.sessions).map(readSession).sort((a, b) => b.updatedAt - a.updatedAt);
}

export async function getSession(api: Api, id: string, signal?: AbortSignal): Promise<SessionInfo> {
	return readSession(await api.get(`/v1/sessions/${encodeURIComponent(id)}`, signal));
}

/**
 * Lines of the ledger of one session behind number `since`. A request for one session confirms nothing to the daemon, so no record
 * counts as read because somebody looked at it.
 */
export async function* getRecords(api: Api, id: string, since: number, signal: AbortSignal): AsyncGenerator<JsonObject> {
	const response = await api.open(`/v1/usage?format=ndjson&since=${since}&session=${encodeURIComponent(id)}`, { signal });
	const reader = response.body!.getReader();
	const splitter = new LineSplitter();

	for (let done = false; !done;) {
		const piece = await reader.read();
		done = piece.done;
		for (const line of piece.value ? splitter.push(piece.value) : splitter.end()) {
			const record = parseRecord(line);
			if (record)
				yield record;
		}
	}
}

function parseRecord(line: string): JsonObject | null {
	try {
		const v: unknown = line ? JSON.parse(line) : null;
		return isObject(v) ? v : null;
	} catch {
		return null; // a torn line: the next reading has it
	}
}

export async function answerApproval(api: Api, id: string, answer: JsonObject): Promise<void> {
	await api.post(`/v1/approvals/${encodeURIComponent(id)}`, answer);
}
