// SPDX-License-Identifier: Apache-2.0
// Who gave an answer, in words (approvals.md has the words of the daemon).
import type { Answer } from '../../model/items.ts';
import { plain } from '../text/visible.ts';

const BY: ReadonlyMap<string, string> = new Map([
	['client', 'by a client'], ['human', 'by a human'], ['rule', 'by a rule'], ['timeout', 'because the time was up'], ['default', 'without being asked'],
	['cancelled', 'because the turn ended'], ['withdrawn', 'because it was taken back'],
]);

const VIA: ReadonlyMap<string, string> = new Map([['driver', 'who drives the session'], ['acp', 'over ACP'], ['http', 'over HTTP']]);

const WHY: ReadonlyMap<string, string> = new Map([
	['approval', 'the session asks nobody about this'], ['invalid_answer', 'the answer was none of the options'], ['unsupported', 'the client cannot ask this'],
	['too_many', 'too many questions were open'], ['no_turn', 'no turn was running'], ['malformed', 'the request fits no client'], ['budget', 'the budget of tool calls is used up'],
]);

export function answeredBy(answer: Answer): string {
	const detail = answer.rule ?? (answer.via && (VIA.get(answer.via) ?? answer.via)) ?? (answer.reason && (WHY.get(answer.reason) ?? answer.reason));
	return `${BY.get(answer.by) ?? `by ${plain(answer.by)}`}${detail ? ` (${plain(detail)})` : ''}`;
}
