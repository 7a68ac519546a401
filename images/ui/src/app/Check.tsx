// SPDX-License-Identifier: Apache-2.0
// The result of a check: whether it holds, and what it wrote.

import { useState } from 'preact/hooks';
import type { CheckResult } from '../model/items.ts';
import { duration } from '../views/format.ts';
import { Terminal } from '../views/Terminal.tsx';
import { Visible } from '../views/Visible.tsx';

function summary(c: CheckResult): string {
	if (c.error)
		return c.error.message || c.error.reason;
	if (c.tests)
		return `${c.tests.passed} passed, ${c.tests.failed} failed, ${c.tests.skipped} skipped`;
	if (c.exitCode !== undefined)
		return `exit code ${c.exitCode}`;
	if (c.signal)
		return `killed by ${c.signal}`;
	return c.offending?.length ? `${c.offending.length} against the rules` : '';
}

export function Check({ check, open = false }: { check: CheckResult; open?: boolean }) {
	const [isOpen, setOpen] = useState(open);

	return (
		<details class="check-result" open={isOpen} onToggle={(e) => setOpen(e.currentTarget.open)}>
			<summary>
				<span class={`tag ${check.ok ? 'tag-ok' : 'tag-bad'}`}>{check.ok ? 'holds' : 'does not hold'}</span>
				<span class="muted">Check</span> <Visible text={check.id} max={120} />
				<Visible class="muted check-result-what" text={summary(check)} max={200} />
				{check.durationMs !== undefined && <span class="muted">{duration(check.durationMs)}</span>}
			</summary>
			{isOpen && <Body check={check} />}
		</details>
	);
}

function Body({ check }: { check: CheckResult }) {
	return (
		<div class="check-result-body">
			{check.error && <p><code>{check.error.reason}</code> <Visible text={check.error.message} max={2000} /></p>}
			{check.tests?.failures.map((f) => (
				<p><strong><Visible text={f.suite ? `${f.suite}: ${f.name}` : f.name} max={300} /></strong> {f.message && <Visible text={f.message} max={2000} />}</p>
			))}
			{check.offending && check.offending.length > 0 && <ul>{check.offending.map((path) => <li><Visible text={path} max={300} /></li>)}</ul>}
			{check.output && <Terminal text={check.output} />}
			{check.cut ? <p class="muted">{check.cut} bytes before that are left out.</p> : null}
		</div>
	);
}
