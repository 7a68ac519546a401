// SPDX-License-Identifier: Apache-2.0
// Results of checks (daemon/protocol/checks.md), and what a plan says.

import type { Json, RawEvent } from './event.ts';
import type { CheckResult, Plan, PlanEntry } from './items.ts';
import { PLAN_MAX, TEXT_MAX } from './limits.ts';
import { cutText, list, num, obj, optNum, optStr, str } from './read.ts';

const ITEMS_MAX = 200;

export function readCheck(v: Json | undefined): CheckResult {
	const o = obj(v);
	const output = [o.outputTail, o.stdoutTail, o.stderrTail].map(str).filter(Boolean).join('\n');
	const cut = num(o.outputTruncated) + num(o.stdoutTruncated) + num(o.stderrTruncated);
	const error = obj(o.error);

	return {
		id: str(o.id), kind: str(o.kind), ok: o.ok === true, durationMs: optNum(o.durationMs), exitCode: optNum(o.exitCode),
		signal: optStr(o.signal) ?? optNum(o.signal)?.toString(), ...(output ? { output: cutText(output, TEXT_MAX).text } : {}),
		...(cut ? { cut } : {}), ...(o.tests ? { tests: readTests(o.tests) } : {}),
		...(Array.isArray(o.offending) ? { offending: list(o.offending).slice(0, ITEMS_MAX).map(str) } : {}),
		...(o.error ? { error: { reason: str(error.reason), message: str(error.message) } } : {}),
	};
}

function readTests(v: Json): CheckResult['tests'] {
	const o = obj(v);

	return {
		passed: num(o.passed), failed: num(o.failed), skipped: num(o.skipped),
		failures: list(o.failures).slice(0, ITEMS_MAX).map((f) => ({ suite: optStr(obj(f).suite), name: str(obj(f).name),
			message: optStr(obj(f).message) })),
	};
}

function entriesOf(v: Json | undefined): PlanEntry[] {
	return list(v).slice(0, PLAN_MAX).map((e) => ({ content: cutText(str(obj(e).content), 4000).text,
		priority: optStr(obj(e).priority), status: str(obj(e).status) || 'pending' }));
}

/** plan, plan_update and plan_removed. */
export function readPlan(e: RawEvent): Plan {
	const plan = obj(e.plan);

	if (e.event === 'plan_removed')
		return { id: optStr(e.planId), entries: [], removed: true };
	if (e.event === 'plan_update')
		return { id: optStr(plan.planId), entries: entriesOf(plan.entries),
			markdown: plan.type === 'file' ? str(plan.uri) : optStr(plan.content) };
	return { entries: entriesOf(e.entries) };
}
