// SPDX-License-Identifier: Apache-2.0
// The checks of a turn: the verdict, and of each its evidence.
import { useState } from 'preact/hooks';
import type { CheckResult } from '../../model/items.ts';
import { duration, plural, whole } from '../text/format.ts';
import { Icon } from '../text/Icon.tsx';
import { Terminal } from '../text/Terminal.tsx';
import { plain } from '../text/visible.ts';
import { Visible } from '../text/Visible.tsx';

export interface ChecksProps { checks: CheckResult[]; verdict?: string }

const VERDICTS: ReadonlyMap<string, [string, string]> = new Map([
	['verified', ['Verified: each check holds', 'tag tag-ok']], ['failed', ['Failed: a check does not hold', 'tag tag-bad']], ['unchecked', ['Unchecked', 'tag']],
]);

function outcome(c: CheckResult): string {
	if (c.error) return `could not be run: ${plain(c.error.reason)}`;
	const parts = [
		...(c.exitCode !== undefined ? [`exit code ${c.exitCode}`] : []),
		...(c.signal ? [`ended by ${plain(c.signal)}`] : []),
		...(c.tests ? [`${whole(c.tests.passed)} passed`, `${whole(c.tests.failed)} failed`, `${whole(c.tests.skipped)} skipped`] : []),
		...(c.offending?.length ? [`${plural(c.offending.length, 'path')} against the rules`] : []),
	];
	return parts.join(', ');
}

function Evidence({ check: c }: { check: CheckResult }) {
	return (
		<div class="checks-evidence">
			{c.error && <p class="checks-note"><Visible text={c.error.message} max={1000} /></p>}
			{c.tests && c.tests.failures.length > 0 && (
				<ul class="checks-list">
					{c.tests.failures.slice(0, 50).map((f) => (
						<li><Visible class="checks-name" text={f.suite ? `${f.suite} › ${f.name}` : f.name} />{f.message && <Terminal text={f.message} label={`Message of ${plain(f.name)}`} />}</li>
					))}
					{c.tests.failures.length > 50 && <li>{plural(c.tests.failures.length - 50, 'more failure')}</li>}
				</ul>
			)}
			{c.offending && c.offending.length > 0 && <ul class="checks-list">{c.offending.slice(0, 100).map((p) => <li><Visible class="checks-name" text={p} /></li>)}</ul>}
			{c.output && <Terminal text={c.output} label={`Output of check ${plain(c.id)}`} cut={c.cut} />}
		</div>
	);
}

function Check({ check: c }: { check: CheckResult }) {
	const evidence = Boolean(c.error || c.output || c.offending?.length || c.tests?.failures.length);
	const [open, setOpen] = useState(evidence && !c.ok);
	const head = (
		<>
			<Icon name={c.ok ? 'completed' : c.error ? 'warning' : 'failed'} label={c.ok ? 'holds' : 'does not hold'} />
			<Visible class="checks-name" text={c.id} />
			<span class="tag">{plain(c.kind)}</span>
			<span class="checks-note">{outcome(c)}</span>
			{c.durationMs !== undefined && <span class="checks-time">{duration(c.durationMs)}</span>}
		</>
	);
	const name = `checks-one ${c.ok ? 'checks-ok' : 'checks-bad'}`;
	if (!evidence) return <div class={name}><div class="checks-head">{head}</div></div>;
	return (
		<details class={name} open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
			<summary class="checks-head">{head}</summary>
			{open && <Evidence check={c} />}
		</details>
	);
}

export function Checks({ checks, verdict }: ChecksProps) {
	const [words, tag] = VERDICTS.get(verdict ?? '') ?? [plain(verdict ?? ''), 'tag'];
	return (
		<div class="checks">
			{verdict && <p class="checks-verdict"><span class={tag}>{words}</span></p>}
			{checks.map((c) => <Check check={c} />)}
			{!checks.length && !verdict && <p class="checks-note">No check has run.</p>}
		</div>
	);
}
