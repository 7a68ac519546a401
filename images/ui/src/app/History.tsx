// SPDX-License-Identifier: Apache-2.0
// All that happened in a session, row by row.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Item } from '../model/items.ts';
import type { Subject } from './state/subject.ts';
import type { OnAnswer } from './QuestionRow.tsx';
import { plainText } from '../model/blocks.ts';
import { oneLine } from '../model/read.ts';
import { Row } from './Row.tsx';
import { VirtualList, type ListHandle } from './VirtualList.tsx';

const RECENT_MS = 30_000; // what is older is history, and is read as such
const SAID_MAX = 200; // characters that a screen reader is told of a new message

export interface HistoryProps {
	onAnswer: OnAnswer;
	subject: Subject;
	handle: (h: HistoryHandle) => void;
}

export interface HistoryHandle {
	move(by: number): void;
	first(): void;
	last(): void;
	show(row: number): void;
	unfold(): void; // what of the row can be unfolded
}

export function History({ subject, onAnswer, handle }: HistoryProps) {
	const list = useRef<ListHandle>(null);
	const box = useRef<HTMLDivElement>(null);
	const [cursor, setCursor] = useState(0);
	const [atEnd, setAtEnd] = useState(true);
	const opened = useRef(new Set<number>()); // ids of rows that were unfolded
	const { model, pages } = subject;
	const { rows, run } = model;
	const here = useRef({ cursor, count: rows.count });

	here.current = { cursor, count: rows.count };
	useLayoutEffect(() => {
		const go = (i: number): void => list.current?.focus(Math.max(0, Math.min(here.current.count - 1, i)));
		handle({
			move: (by) => go(here.current.cursor + by),
			first: () => go(0),
			last: () => go(here.current.count - 1),
			show: go,
			unfold: () => box.current?.querySelector<HTMLElement>(`[data-row="${here.current.cursor}"] :is(summary, button)`)?.click(),
		});
	}, []);
	useLayoutEffect(() => {
		const el = box.current!;
		el.addEventListener('toggle', noteOpen, true); // it does not bubble
		return () => el.removeEventListener('toggle', noteOpen, true);
	});
	const noteOpen = (e: Event): void => {
		const target = e.target as HTMLElement;
		const row = target.closest<HTMLElement>('[data-row]');
		if (target !== row?.querySelector('details') || !(target instanceof HTMLDetailsElement))
			return;
		const id = rows.id(Number(row.dataset.row));
		if (target.open)
			opened.current.add(id);
		else
			opened.current.delete(id);
	};
	return (
		<div class="history" ref={box}>
			<VirtualList key={subject.player ? 'replay' : 'now'} count={rows.count} label="History" busy={subject.state === 'connecting'} follow={true}
				cursor={Math.min(cursor, Math.max(0, rows.count - 1))} onCursor={setCursor} onEnd={setAtEnd}
				onSee={(from, to) => pages.see(from, to)} handle={(h) => { list.current = h; }}
				row={(i) => <OneRow item={rows.get(i)} open={opened.current.has(rows.id(i))} grows={run.open !== 0 && i === rows.count - 1}
					onAnswer={onAnswer} />} />
			{rows.count === 0 && <p class="history-none muted">{subject.state === 'connecting' ? 'Loading…' : 'Nothing has happened in this session yet.'}</p>}
			{pages.error && <p class="notice notice-bad" role="alert">This part cannot be read: {pages.error} <button type="button" class="button" onClick={() => pages.retry()}>Try again</button></p>}
			{!atEnd && rows.count > 0 && <button type="button" class="button history-end" onClick={() => { list.current?.end(); setAtEnd(true); }}>To the end</button>}
			<Announcer item={rows.count ? rows.get(rows.count - 1) : null} silent={subject.player !== null} />
		</div>
	);
}

function OneRow({ item, ...rest }: { item: Item | null; open: boolean; grows: boolean; onAnswer: OnAnswer }) {
	return item ? <Row key={item.id} item={item} {...rest} /> : <div class="row-loading muted">Loading…</div>;
}

function newsOf(item: Item): string {
	if (item.kind === 'question' && !item.question.answer)
		return `Question: ${item.question.title}`;
	if (item.kind === 'end')
		return item.error ? `Turn ${item.turn} failed` : `Turn ${item.turn} ended`;
	return '';
}

/** Tells a screen reader of a message once it is whole, and of questions at once. */
function Announcer({ item, silent }: { item: Item | null; silent: boolean }) {
	const [said, say] = useState('');
	const last = useRef<Item | null>(item);

	useEffect(() => {
		const before = last.current;
		last.current = item;
		if (silent || !item || Date.now() - item.until > RECENT_MS)
			return;
		const whole = before?.kind === 'message' && before.id !== item.id ? `Agent: ${oneLine(plainText(before.blocks), SAID_MAX)}. ` : '';
		const news = before?.id === item.id ? '' : newsOf(item);
		if (whole || news)
			say(whole + news);
	}, [item, silent]);
	return <div class="hidden-text" role="log" aria-live="polite" aria-atomic="true">{said}</div>;
}
