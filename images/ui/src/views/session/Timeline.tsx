// SPDX-License-Identifier: Apache-2.0
// Where the time of a run went: turns, model calls, tool calls, waiting for people, checks. It zooms by wheel (with Ctrl, or once it has the
// focus), pinch, keys, buttons, and by marking a piece with the pointer. The same stands in a table for who does not see the picture.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { TargetedKeyboardEvent, TargetedPointerEvent } from 'preact';
import type { Span, SpanKind } from '../../model/run.ts';
import { clock, duration, plural, whole as number } from '../text/format.ts';
import { endOf, held, lanesOf, picture, rangeOf, ticks, zoomed } from './spans.ts';
import type { Lane, Mark, Range } from './spans.ts';
import { plain } from '../text/visible.ts';
import { Visible } from '../text/Visible.tsx';
import { useWidth } from '../text/width.ts';

// at: a time to point out, as where a replay is. now: until when what goes on is drawn. leftOut: spans that are not known any more.
export interface TimelineProps { spans: Span[]; now: number; at?: number; leftOut?: number; onOpen?: (span: Span) => void }

const NAMES: Readonly<Record<SpanKind, string>> = { turn: 'Turns', model: 'Model calls', tool: 'Tool calls', wait: 'Waiting for people', check: 'Checks' };
const ONE: Readonly<Record<SpanKind, string>> = { turn: 'turn', model: 'model call', tool: 'tool call', wait: 'wait for a person', check: 'check' };
const ROW = 20;
const GAP = 18; // above each lane: its name
const AXIS = 22;
const LABEL_FROM = 44; // pixels that a mark needs to have its name in it
const STEP = 1.5;

const place = (at: number, zero: number, step: number): string => (step < 1000 ? `${((at - zero) / 1000).toFixed(step < 10 ? 3 : step < 100 ? 2 : 1)} s` : clock(at - zero));

function wordsOf(mark: Mark, spans: readonly Span[], kind: SpanKind, zero: number, now: number): string {
	const span = spans[mark.index]!;
	const failed = mark.failed ? ', failed' : '';
	if (mark.count > 1) return `${number(mark.count)} ${NAMES[kind].toLowerCase()} from ${clock(span.start - zero)}${mark.failed ? ', some failed' : ''}`;
	return `${ONE[kind]}: ${plain(span.label, 200)}, ${span.end ? duration(span.end - span.start) : `goes on for ${duration(endOf(span, now) - span.start)}`}, at ${clock(span.start - zero)}${failed}`;
}

interface LaneProps { lane: Lane; rows: Mark[][]; spans: Span[]; y: number; zero: number; now: number; onOpen?: (span: Span) => void }

function LanePicture({ lane, rows, spans, y, zero, now, onOpen }: LaneProps) {
	return (
		<g class={`timeline-lane timeline-${lane.kind}`}>
			<text class="timeline-name" x={4} y={y + 12}>{NAMES[lane.kind]}</text>
			{rows.map((marks, i) => marks.map((m) => {
				const top = y + GAP + i * ROW;
				const span = spans[m.index]!;
				return (
					<g class="timeline-mark" onClick={m.count === 1 && onOpen ? () => onOpen(span) : undefined}>
						<rect x={m.x} y={top} width={m.width} height={ROW - 4} rx={Math.min(2, m.width / 2)} class={m.count > 1 ? 'timeline-many' : undefined} />
						{m.failed && <rect x={m.x} y={top} width={m.width} height={ROW - 4} rx={Math.min(2, m.width / 2)} class="timeline-failed" fill="url(#timeline-hatch)" />}
						{m.width >= LABEL_FROM && <svg x={m.x} y={top} width={m.width - 4} height={ROW - 4}><text class="timeline-label" x={5} y={12}>{m.count > 1 ? `× ${number(m.count)}` : plain(span.label.slice(0, 120))}</text></svg>}
						<title>{wordsOf(m, spans, lane.kind, zero, now)}</title>
					</g>
				);
			}))}
		</g>
	);
}

interface Zoom { range: Range; set: (r: Range) => void; whole: Range }

// Pointer: a mouse marks a piece (with Shift it moves); one finger moves, two pinch.
function usePointer({ range, set, whole }: Zoom, width: number) {
	const points = useRef(new Map<number, number>());
	const start = useRef<{ x: number; range: Range; marking: boolean } | null>(null);
	const [brush, setBrush] = useState<[number, number] | null>(null);
	const x = (e: PointerEvent): number => e.clientX - (e.currentTarget as Element).getBoundingClientRect().left;
	const timeAt = (px: number, r: Range): number => r.from + (px / width) * (r.to - r.from);
	const down = (e: PointerEvent) => {
		if (e.button !== 0) return;
		points.current.set(e.pointerId, x(e));
		start.current = { x: x(e), range, marking: e.pointerType === 'mouse' && !e.shiftKey };
	};
	const move = (e: PointerEvent) => {
		if (!start.current || !points.current.has(e.pointerId)) return;
		const before = [...points.current.values()];
		points.current.set(e.pointerId, x(e));
		const after = [...points.current.values()];
		if (after.length === 2) {
			const spread = (p: number[]): number => Math.max(8, Math.abs(p[0]! - p[1]!));
			set(zoomed(range, whole, spread(before) / spread(after), timeAt((after[0]! + after[1]!) / 2, range)));
			start.current = { x: x(e), range, marking: false };
		} else if (start.current.marking) {
			// Captured only once it moves: else a click would not reach the mark.
			if (Math.abs(x(e) - start.current.x) > 4) (e.currentTarget as Element).setPointerCapture(e.pointerId);
			setBrush([start.current.x, x(e)]);
		} else {
			const shift = ((start.current.x - x(e)) / width) * (start.current.range.to - start.current.range.from);
			set(held({ from: start.current.range.from + shift, to: start.current.range.to + shift }, whole));
		}
	};
	const up = (e: PointerEvent) => {
		points.current.delete(e.pointerId);
		const from = start.current;
		start.current = null;
		setBrush(null);
		if (!from?.marking || Math.abs(x(e) - from.x) < 5) return;
		const [a, b] = [from.x, x(e)].sort((p, q) => p - q) as [number, number];
		set(held({ from: timeAt(Math.max(0, a), range), to: Math.max(timeAt(Math.max(0, a), range) + 10, timeAt(Math.min(width, b), range)) }, whole));
	};
	const cancel = (e: PointerEvent) => {
		points.current.delete(e.pointerId);
		start.current = null;
		setBrush(null);
	};
	return { brush, handlers: { onPointerDown: down, onPointerMove: move, onPointerUp: up, onPointerCancel: cancel } };
}

// The wheel is the page's, unless it is meant: with Ctrl or Meta (a pinch on a touchpad is that), or when the picture has the focus.
function useWheel(svg: { current: SVGSVGElement | null }, zoom: Zoom, width: number): void {
	const latest = useRef(zoom);
	latest.current = zoom;
	useLayoutEffect(() => {
		const wheel = (e: WheelEvent) => {
			const { range, set, whole } = latest.current;
			if (!e.ctrlKey && !e.metaKey && document.activeElement !== svg.current) return;
			e.preventDefault();
			const length = range.to - range.from;
			if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
				set(held({ from: range.from + (e.deltaX / width) * length, to: range.to + (e.deltaX / width) * length }, whole));
				return;
			}
			const at = range.from + ((e.clientX - svg.current!.getBoundingClientRect().left) / width) * length;
			set(zoomed(range, whole, Math.exp(Math.max(-1, Math.min(1, e.deltaY / 300))), at));
		};
		const element = svg.current;
		element?.addEventListener('wheel', wheel, { passive: false });
		return () => element?.removeEventListener('wheel', wheel);
	}, [width]);
}

const middle = (r: Range): number => (r.from + r.to) / 2;

type Move = (range: Range, whole: Range) => Range;
const by = (part: number): Move => (r, w) => held({ from: r.from + (r.to - r.from) * part, to: r.to + (r.to - r.from) * part }, w);
const KEYS: ReadonlyMap<string, Move> = new Map<string, Move>([
	['+', (r, w) => zoomed(r, w, 1 / STEP, middle(r))], ['=', (r, w) => zoomed(r, w, 1 / STEP, middle(r))], ['-', (r, w) => zoomed(r, w, STEP, middle(r))], ['0', (_, w) => w],
	['ArrowLeft', by(-0.2)], ['ArrowRight', by(0.2)], ['PageUp', by(-0.9)], ['PageDown', by(0.9)],
	['Home', (r, w) => ({ from: w.from, to: w.from + r.to - r.from })], ['End', (r, w) => ({ from: w.to - (r.to - r.from), to: w.to })],
]);

function Axis({ range, zero, width, y }: { range: Range; zero: number; width: number; y: number }) {
	return (
		<g class="timeline-axis">
			{ticks(range, zero, width).map(({ at, step }) => {
				const x = ((at - range.from) / (range.to - range.from)) * width;
				return <g><line x1={x} x2={x} y1={0} y2={y} /><text x={Math.min(x + 3, width - 34)} y={y + 14}>{place(at, zero, step)}</text></g>;
			})}
		</g>
	);
}

const ROWS_FIRST = 50;

function Table({ spans, range, zero, now, onOpen }: { spans: Span[]; range: Range; zero: number; now: number; onOpen?: (s: Span) => void }) {
	const [shown, show] = useState(ROWS_FIRST);
	const list = useMemo(() => spans.filter((s) => s.start <= range.to && endOf(s, now) >= range.from), [spans, range.from, range.to]);
	return (
		<div class="timeline-table" role="group" aria-label="Table of the timeline" tabIndex={0}>
			<table>
				<thead><tr><th scope="col">At</th><th scope="col">What</th><th scope="col">Name</th><th scope="col">Took</th><th scope="col">Result</th></tr></thead>
				<tbody>
					{list.slice(0, shown).map((s) => (
						<tr>
							<td>{clock(s.start - zero)}</td><td>{ONE[s.kind]}</td>
							<td>{onOpen ? <button type="button" class="timeline-open" onClick={() => onOpen(s)}><Visible text={s.label || ONE[s.kind]} max={120} /></button> : <Visible text={s.label} max={120} />}</td>
							<td>{duration(endOf(s, now) - s.start)}</td><td>{s.failed ? 'failed' : s.end ? 'ended' : 'goes on'}</td>
						</tr>
					))}
				</tbody>
			</table>
			{list.length > shown && <button type="button" class="button" onClick={() => show(shown * 2)}>Show {plural(Math.min(shown, list.length - shown), 'more row')}</button>}
		</div>
	);
}

function Buttons({ onMove, range, whole }: { onMove: (key: string) => void; range: Range; whole: Range }) {
	const all = range.to - range.from >= whole.to - whole.from;
	return (
		<div class="timeline-buttons" role="group" aria-label="Zoom">
			<button type="button" class="button" aria-label="Zoom out" disabled={all} onClick={() => onMove('-')}>−</button>
			<button type="button" class="button" aria-label="Zoom in" onClick={() => onMove('+')}>+</button>
			<button type="button" class="button" disabled={all} onClick={() => onMove('0')}>All</button>
		</div>
	);
}

export function Timeline({ spans, now, at, leftOut = 0, onOpen }: TimelineProps) {
	const [box, width] = useWidth(800);
	const svg = useRef<SVGSVGElement>(null);
	const whole = useMemo(() => rangeOf(spans, now), [spans, now]);
	const lanes = useMemo(() => lanesOf(spans, now), [spans, now]);
	const [chosen, choose] = useState<Range | null>(null); // null: all of it, also as it grows
	const [table, setTable] = useState(false);
	const range = chosen ? held(chosen, whole) : whole;
	const set = (r: Range) => choose(r.to - r.from >= whole.to - whole.from ? null : r);
	const zoom = { range, set, whole };
	const { brush, handlers } = usePointer(zoom, width);
	const marks = useMemo(() => picture(lanes, spans, range, width), [lanes, spans, range.from, range.to, width]);
	useWheel(svg, zoom, width);

	const move = (key: string) => {
		const next = KEYS.get(key);
		if (next) set(next(range, whole));
		return Boolean(next);
	};
	const key = (e: TargetedKeyboardEvent<SVGSVGElement>) => {
		if (!e.ctrlKey && !e.metaKey && !e.altKey && move(e.key)) e.preventDefault();
	};
	const tops: number[] = [];
	let height = 2;
	for (const lane of lanes) {
		tops.push(height);
		height += GAP + lane.rows.length * ROW + 4;
	}
	const cursor = at !== undefined && at >= range.from && at <= range.to ? ((at - range.from) / (range.to - range.from)) * width : undefined;
	if (!spans.length) return <p class="timeline-note">Nothing has happened yet.</p>;
	return (
		<div class="timeline">
			<div class="timeline-bar">
				<span class="timeline-note" aria-live="polite">{clock(range.from - whole.from)} to {clock(range.to - whole.from)} of {duration(whole.to - whole.from)}{leftOut > 0 && `; ${number(leftOut)} earlier spans are left out`}</span>
				<Buttons onMove={move} range={range} whole={whole} />
			</div>
			<div class="timeline-box" ref={box}>
				<svg ref={svg} class="timeline-picture" width={width} height={height + AXIS} tabindex={0} role="group" aria-roledescription="timeline"
					aria-label={`Timeline of ${plural(spans.length, 'span')}. Plus and minus zoom, arrows move, 0 shows all. The table below has the same.`}
					onKeyDown={key} onDblClick={() => set(zoomed(range, whole, 1 / 3, middle(range)))} {...handlers}>
					<defs><pattern id="timeline-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="3" height="6" class="timeline-hatch" /></pattern></defs>
					<Axis range={range} zero={whole.from} width={width} y={height} />
					{lanes.map((lane, i) => <LanePicture key={lane.kind} lane={lane} rows={marks[i] ?? []} spans={spans} y={tops[i]!} zero={whole.from} now={now} onOpen={onOpen} />)}
					{cursor !== undefined && <line class="timeline-cursor" x1={cursor} x2={cursor} y1={0} y2={height} />}
					{brush && <rect class="timeline-brush" x={Math.min(...brush)} width={Math.abs(brush[0] - brush[1])} y={0} height={height} />}
				</svg>
			</div>
			<Overview range={range} whole={whole} onRange={set} />
			<button type="button" class="button button-quiet" aria-expanded={table} onClick={() => setTable(!table)}>{table ? 'Hide the table' : 'Show as a table'}</button>
			{table && <Table spans={spans} range={range} zero={whole.from} now={now} onOpen={onOpen} />}
		</div>
	);
}

// Which part of the whole is seen.
function Overview({ range, whole, onRange }: { range: Range; whole: Range; onRange: (r: Range) => void }) {
	const length = whole.to - whole.from;
	const seen = range.to - range.from;
	if (seen >= length) return null;
	const to = (e: TargetedPointerEvent<HTMLDivElement>) => {
		if (!(e.buttons & 1)) return;
		const rect = e.currentTarget.getBoundingClientRect();
		const from = whole.from + ((e.clientX - rect.left) / rect.width) * length - seen / 2;
		onRange(held({ from, to: from + seen }, whole));
	};
	return (
		<div class="timeline-overview" aria-hidden="true" onPointerDown={to} onPointerMove={to}>
			<div style={{ insetInlineStart: `${((range.from - whole.from) / length) * 100}%`, width: `${Math.max(0.5, (seen / length) * 100)}%` }} />
		</div>
	);
}
