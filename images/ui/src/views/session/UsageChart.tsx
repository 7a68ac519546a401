// SPDX-License-Identifier: Apache-2.0
// What a session used, by turn or by model, as tokens or money: stacked bars with a legend, and the same as a table.
import { useMemo, useState } from 'preact/hooks';
import type { ModelCall, ModelUse, Turn } from '../../model/run.ts';
import { count, money, plural, whole } from '../text/format.ts';
import { ceiling, chartOf } from './shares.ts';
import type { Bar, By, Chart, Measure } from './shares.ts';
import { plain } from '../text/visible.ts';
import { Visible } from '../text/Visible.tsx';
import { useWidth } from '../text/width.ts';

export interface UsageChartProps { turns: Turn[]; calls: ModelCall[]; models: ModelUse[] }

const HEIGHT = 180;
const LEFT = 44; // for what the lines say
const LINES = 4;

function Choice<T extends string>({ label, value, options, onChoose }: { label: string; value: T; options: readonly (readonly [T, string])[]; onChoose: (v: T) => void }) {
	return (
		<div class="usagechart-choice" role="group" aria-label={label}>
			{options.map(([v, name]) => <button type="button" class="button" aria-pressed={v === value} onClick={() => onChoose(v)}>{name}</button>)}
		</div>
	);
}

type Show = (n: number) => string;

function Grid({ top, width, show }: { top: number; width: number; show: Show }) {
	return (
		<g class="usagechart-grid">
			{Array.from({ length: LINES + 1 }, (_, i) => {
				const y = HEIGHT - (i / LINES) * HEIGHT;
				return <g><line x1={0} x2={width} y1={y} y2={y} /><text x={0} y={y - 3}>{i > 0 && show((top / LINES) * i)}</text></g>;
			})}
		</g>
	);
}

function Stack({ bar, x, width, top, chart, show }: { bar: Bar; x: number; width: number; top: number; chart: Chart; show: Show }) {
	let y = HEIGHT;
	return (
		<g>
			{bar.parts.map((value, i) => {
				const height = (value / top) * HEIGHT;
				y -= height;
				return height > 0 && <rect class={`usagechart-part usagechart-${(i % 8) + 1}`} x={x} y={y} width={width} height={height} />;
			})}
			<title>{`${plain(bar.label)}: ${show(bar.total)} (${chart.series.map((s, i) => `${plain(s)} ${show(bar.parts[i] ?? 0)}`).join(', ')})`}</title>
		</g>
	);
}

function Columns({ chart, show, summary }: { chart: Chart; show: Show; summary: string }) {
	const top = ceiling(Math.max(...chart.bars.map((b) => b.total)));
	const [box, place] = useWidth(640);
	const step = (place - LEFT) / chart.bars.length;
	const width = Math.max(2, Math.min(48, step * 0.72));
	const every = Math.ceil(chart.bars.length / Math.max(1, Math.floor((place - LEFT) / 52)));
	return (
		<div ref={box}>
			<svg class="usagechart-picture" width={place} height={HEIGHT + 34} viewBox={`0 -14 ${place} ${HEIGHT + 34}`} role="img" aria-label={summary}>
				<Grid top={top} width={place} show={show} />
				{chart.bars.map((bar, i) => {
					const x = LEFT + i * step + (step - width) / 2;
					return <g><Stack bar={bar} x={x} width={width} top={top} chart={chart} show={show} />{i % every === 0 && <text class="usagechart-label" x={x + width / 2} y={HEIGHT + 14}>{plain(bar.label)}</text>}</g>;
				})}
			</svg>
		</div>
	);
}

// Names of models are long, so their bars lie.
function Lines({ chart, show }: { chart: Chart; show: Show }) {
	const top = Math.max(...chart.bars.map((b) => b.total)) || 1;
	return (
		<ul class="usagechart-lines">
			{chart.bars.map((bar) => (
				<li>
					<span class="usagechart-model"><Visible text={bar.label} max={80} /></span>
					<span class="usagechart-track" aria-hidden="true">{bar.parts.map((v, i) => v > 0 && <span class={`usagechart-part usagechart-${(i % 8) + 1}`} style={{ width: `${(v / top) * 100}%` }} />)}</span>
					<span class="usagechart-total">{show(bar.total)}</span>
				</li>
			))}
		</ul>
	);
}

function Table({ chart, by, show }: { chart: Chart; by: By; show: Show }) {
	return (
		<div class="usagechart-table" role="group" aria-label="Table of the usage" tabIndex={0}>
			<table>
				<thead><tr><th scope="col">{by === 'turn' ? 'Turn' : 'Model'}</th>{chart.series.map((s) => <th scope="col"><Visible text={s} max={40} /></th>)}<th scope="col">Together</th></tr></thead>
				<tbody>{chart.bars.map((b) => <tr><th scope="row"><Visible text={b.label} max={80} /></th>{b.parts.map((v) => <td>{show(v)}</td>)}<td>{show(b.total)}</td></tr>)}</tbody>
			</table>
		</div>
	);
}

export function UsageChart({ turns, calls, models }: UsageChartProps) {
	const [by, setBy] = useState<By>('turn');
	const [measure, setMeasure] = useState<Measure>('tokens');
	const [table, setTable] = useState(false);
	const chart = useMemo(() => chartOf(by, measure, turns, calls, models), [by, measure, turns, calls, models]);
	const short: Show = measure === 'tokens' ? count : (v) => money(v, chart.currency);
	const exact: Show = measure === 'tokens' ? whole : short;
	const total = chart.bars.reduce((sum, b) => sum + b.total, 0);
	const summary = `${measure === 'tokens' ? 'Tokens' : 'Cost'} by ${by}: ${exact(total)} in ${plural(chart.bars.length, 'bar')}. The table has the numbers.`;
	return (
		<div class="usagechart">
			<div class="usagechart-bar">
				<Choice label="By" value={by} options={[['turn', 'By turn'], ['model', 'By model']]} onChoose={setBy} />
				<Choice label="Measure" value={measure} options={[['tokens', 'Tokens'], ['cost', 'Cost']]} onChoose={setMeasure} />
				<span class="usagechart-sum">{exact(total)} {measure === 'tokens' && 'tokens'}</span>
			</div>
			{total > 0 ? by === 'turn' ? <Columns chart={chart} show={short} summary={summary} /> : <Lines chart={chart} show={short} /> : <p class="usagechart-none">Nothing is known of it.</p>}
			{total > 0 && <ul class="usagechart-legend" aria-label="Legend">{chart.series.map((s, i) => <li><span class={`usagechart-key usagechart-${(i % 8) + 1}`} aria-hidden="true" /> <Visible text={s} max={60} /></li>)}</ul>}
			{total > 0 && <button type="button" class="button button-quiet" aria-expanded={table} onClick={() => setTable(!table)}>{table ? 'Hide the table' : 'Show as a table'}</button>}
			{table && <Table chart={chart} by={by} show={exact} />}
		</div>
	);
}
