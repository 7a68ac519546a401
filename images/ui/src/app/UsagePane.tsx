// SPDX-License-Identifier: Apache-2.0
// What the turns of a session used.

import type { Run } from '../model/run.ts';
import { totalOf } from '../model/usage.ts';
import { count, duration, money } from '../views/format.ts';
import { Visible } from '../views/Visible.tsx';
import { None } from './panes.tsx';

const SHOWN = 200;

export function UsagePane({ run, onShow }: { run: Run; onShow: (row: number) => void }) {
	if (!run.turns.length)
		return <None>No turn has begun.</None>;
	return (
		<div class="usage">
			<div class="scroll-x" role="region" aria-label="Usage by turn" tabIndex={0}>
				<table class="table">
					<thead><tr><th scope="col">Turn</th><th scope="col">Prompt</th><th scope="col">Time</th><th scope="col">Input</th><th scope="col">of it cached</th><th scope="col">Output</th><th scope="col">Calls</th><th scope="col">Tools</th><th scope="col">Cost</th></tr></thead>
					<tbody>
						{run.turns.slice(-SHOWN).toReversed().map((t) => (
							<tr key={t.n}>
								<th scope="row"><button type="button" class="button button-quiet" onClick={() => onShow(t.row)}>{t.n}</button></th>
								<td class="table-text"><Visible text={t.prompt} max={100} /></td>
								<td>{t.end ? duration(t.end - t.start) : 'runs'}</td>
								<td>{count(t.usage.inputTokens)}</td><td>{count(t.usage.cacheReadTokens)}</td><td>{count(t.usage.outputTokens)}</td>
								<td>{t.modelCalls || '–'}</td><td>{t.toolCalls}{t.failedCalls ? ` (${t.failedCalls} failed)` : ''}</td>
								<td>{t.cost ? money(t.cost.amount, t.cost.currency) : '–'}</td>
							</tr>
						))}
					</tbody>
				</table>
			</div>
			{run.models.length > 0 && <Models run={run} />}
		</div>
	);
}

function Models({ run }: { run: Run }) {
	return (
		<div class="scroll-x" role="region" aria-label="Usage by model" tabIndex={0}>
			<table class="table">
				<thead><tr><th scope="col">Model</th><th scope="col">Calls</th><th scope="col">Tokens</th><th scope="col">Cost</th></tr></thead>
				<tbody>
					{run.models.map((m) => (
						<tr key={m.model}>
							<th scope="row"><Visible text={m.model || 'not named'} max={100} /></th><td>{m.calls}</td><td>{count(totalOf(m.usage))}</td>
							<td>{m.cost ? money(m.cost.amount, m.cost.currency) : '–'}</td>
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}
