// SPDX-License-Identifier: Apache-2.0
// Changes side by side, or one under the other where there is no room for two: of a patch of git, or of two texts as ACP's `diff` content
// has them. Signs and words say what the colours say. A file of many lines has only those near the window in the page; many files are folded.
import { useMemo, useRef, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { useBlocks } from './blocks.ts';
import { plural, whole } from '../text/format.ts';
import { LongText } from '../text/LongText.tsx';
import { makeRows, markLines, parsePatch } from './patch.ts';
import type { FileDiff, Part, Row, Side } from './patch.ts';
import { diffTexts } from './textdiff.ts';
import { plain } from '../text/visible.ts';
import { marked, Visible } from '../text/Visible.tsx';
import { useWidth } from '../text/width.ts';

export type DiffView = 'auto' | 'split' | 'unified';

export interface DiffProps { patch: string; view?: DiffView }
export interface TextDiffProps { path: string; oldText: string | null; newText: string; cut?: number; view?: DiffView } // cut: characters left out

const BLOCK = 40; // rows that come and go together
const ROW_HEIGHT = 20;
const WINDOWED = 240; // rows; with fewer all are in the page
const OPEN_ROWS = 800; // files are open until they have so many changed lines together
const FILES = 100; // shown at first
const NARROW = 640; // pixels
const LINE_CHARS = 3000;

const cutLine = (text: string): string => (text.length > LINE_CHARS ? `${text.slice(0, LINE_CHARS)} … ${whole(text.length - LINE_CHARS)} more characters` : text);

function Text({ side, parts, sign, name }: { side: Side; parts?: Part[]; sign: string; name: string }) {
	let content: ComponentChildren = marked(cutLine(side.text));
	if (parts) content = parts.map((p) => (p.changed ? <mark class={`diff-${name}-mark`}>{marked(p.text)}</mark> : marked(p.text)));
	return (
		<>
			<span class="diff-sign">{sign}</span>
			{content}
			{side.noEol && <span class="diff-note"> no newline at the end</span>}
		</>
	);
}

function Cells({ side, name, parts }: { side?: Side; name: 'old' | 'new'; parts?: Part[] }) {
	if (!side) return <><td class="diff-no diff-void" /><td class="diff-void" /></>;
	return (
		<>
			<td class={`diff-no diff-${name}`}>{side.no}</td>
			<td class={`diff-text diff-${name}`}><Text side={side} parts={parts} sign={name === 'old' ? '-' : '+'} name={name} /></td>
		</>
	);
}

function SplitRow({ row }: { row: Row }) {
	if (row.hunk !== undefined) return <tr class="diff-hunk"><td colSpan={4}>{marked(cutLine(row.hunk))}</td></tr>;
	if (row.same) {
		return (
			<tr>
				<td class="diff-no">{row.old!.no}</td><td class="diff-text"><Text side={row.old!} sign=" " name="old" /></td>
				<td class="diff-no">{row.fresh!.no}</td><td class="diff-text"><Text side={row.fresh!} sign=" " name="new" /></td>
			</tr>
		);
	}
	const parts = row.old && row.fresh ? markLines(row.old.text, row.fresh.text) : undefined;
	return <tr><Cells side={row.old} name="old" parts={parts?.[0]} /><Cells side={row.fresh} name="new" parts={parts?.[1]} /></tr>;
}

function UnifiedRow({ row }: { row: Row }) {
	if (row.hunk !== undefined) return <tr class="diff-hunk"><td colSpan={3}>{marked(cutLine(row.hunk))}</td></tr>;
	const name = row.same ? '' : row.old ? 'old' : 'new';
	return (
		<tr>
			<td class={`diff-no diff-${name}`}>{row.old?.no}</td>
			<td class={`diff-no diff-${name}`}>{row.fresh?.no}</td>
			<td class={`diff-text diff-${name}`}><Text side={(row.old ?? row.fresh)!} sign={row.same ? ' ' : row.old ? '-' : '+'} name={name} /></td>
		</tr>
	);
}

function Head({ split }: { split: boolean }) {
	return (
		<thead class="hidden-text">
			<tr>
				{split
					? <><th scope="col">Old line</th><th scope="col">Before</th><th scope="col">New line</th><th scope="col">After</th></>
					: <><th scope="col">Old line</th><th scope="col">New line</th><th scope="col">Text</th></>}
			</tr>
		</thead>
	);
}

function Table({ rows, split, label }: { rows: Row[]; split: boolean; label: string }) {
	const box = useRef<HTMLTableElement>(null);
	const sizes = useMemo(() => Array.from({ length: Math.ceil(rows.length / BLOCK) }, (_, i) => Math.min(BLOCK, rows.length - i * BLOCK)), [rows]);
	const part = useBlocks(box, sizes, ROW_HEIGHT, '.diff-block');
	const [from, to] = rows.length > WINDOWED ? [part.from, part.to] : [0, sizes.length];
	const space = (height: number) => <tbody aria-hidden="true"><tr><td colSpan={4} style={{ height: `${height}px`, padding: 0 }} /></tr></tbody>;
	const OneRow = split ? SplitRow : UnifiedRow;
	return (
		<table ref={box} class={`diff-table diff-table-${split ? 'split' : 'unified'}`} aria-label={label} aria-rowcount={rows.length + 1}>
			<colgroup>{(split ? ['no', 'half', 'no', 'half'] : ['no', 'no', 'full']).map((c) => <col class={`diff-col-${c}`} />)}</colgroup>
			<Head split={split} />
			{from > 0 && space(part.before)}
			{Array.from({ length: to - from }, (_, i) => from + i).map((block) => (
				<tbody class="diff-block" key={block}>{rows.slice(block * BLOCK, (block + 1) * BLOCK).map((row) => <OneRow row={row} />)}</tbody>
			))}
			{to < sizes.length && space(part.after)}
		</table>
	);
}

const KINDS: Readonly<Record<FileDiff['kind'], [string, string]>> = {
	modified: ['Modified', 'tag'], added: ['Added', 'tag tag-ok'], deleted: ['Deleted', 'tag tag-bad'], renamed: ['Renamed', 'tag tag-info'], copied: ['Copied', 'tag tag-info'],
};

const MODES: ReadonlyMap<string, string> = new Map([['100644', 'file'], ['100755', 'executable'], ['120000', 'symbolic link'], ['160000', 'submodule'], ['040000', 'directory']]);
const mode = (m: string): string => MODES.get(m) ?? plain(m.slice(0, 12));

export function FileTitle({ file }: { file: FileDiff }) {
	return (
		<span class="diff-path">
			{file.oldPath !== file.newPath && <><Visible text={file.oldPath} /> <span aria-label="renamed to">→</span> </>}
			<Visible text={file.newPath} />
		</span>
	);
}

export function Counts({ added, removed }: { added: number; removed: number }) {
	return (
		<span class="diff-counts">
			<span class="diff-plus" aria-label={`${added} added`}>+{whole(added)}</span> <span class="diff-minus" aria-label={`${removed} removed`}>−{whole(removed)}</span>
		</span>
	);
}

function notes(file: FileDiff): string[] {
	return [
		...(file.oldMode && file.newMode && file.oldMode !== file.newMode ? [`mode ${mode(file.oldMode)} → ${mode(file.newMode)}`] : []),
		...(file.kind === 'added' && file.newMode && file.newMode !== '100644' ? [mode(file.newMode)] : []),
		...(file.similarity !== undefined && file.kind !== 'modified' && file.similarity < 100 ? [`${file.similarity} % alike`] : []),
		...(file.binary ? ['binary'] : []),
	];
}

export interface DiffFileProps { file: FileDiff; split: boolean; open?: boolean; cut?: number }

export function DiffFile({ file, split, open = true, cut = 0 }: DiffFileProps) {
	const [isOpen, setOpen] = useState(open);
	const [word, tag] = KINDS[file.kind];
	const rows = useMemo(() => (isOpen ? makeRows(file, split) : []), [file, split, isOpen]);
	return (
		<details class="diff-file" open={isOpen} onToggle={(e) => setOpen(e.currentTarget.open)}>
			<summary class="diff-head">
				<span class={tag}>{word}</span>
				<FileTitle file={file} />
				{notes(file).map((note) => <span class="tag">{note}</span>)}
				<Counts added={file.added} removed={file.removed} />
			</summary>
			{isOpen && (rows.length > 0
				? <Table rows={rows} split={split} label={`Changes of ${plain(file.newPath)}`} />
				: <p class="diff-empty">{file.binary ? 'A binary file: its contents are not shown.' : 'No line differs.'}</p>)}
			{isOpen && cut > 0 && <p class="diff-empty">{plural(cut, 'character')} of it are left out: what is shown may not be all.</p>}
		</details>
	);
}

function Views({ view, onView }: { view: DiffView; onView: (v: DiffView) => void }) {
	return (
		<div class="diff-views" role="group" aria-label="View">
			{(['split', 'unified'] as const).map((v) => (
				<button type="button" class="button" aria-pressed={view === v} onClick={() => onView(v)}>{v === 'split' ? 'Side by side' : 'Unified'}</button>
			))}
		</div>
	);
}

// Which files are open at first: from the top, until it is much.
function openFiles(files: readonly FileDiff[]): boolean[] {
	let lines = 0;
	return files.map((f, i) => {
		lines += f.added + f.removed;
		return i === 0 || lines <= OPEN_ROWS;
	});
}

export function Diff({ patch, view = 'auto' }: DiffProps) {
	const [box, width] = useWidth(NARROW);
	const wide = width >= NARROW;
	const [chosen, choose] = useState<DiffView>(view);
	const [shown, show] = useState(FILES);
	const parsed = useMemo(() => parsePatch(String(patch)), [patch]);
	const open = useMemo(() => openFiles(parsed.files), [parsed]);
	const split = chosen === 'auto' ? wide : chosen === 'split';
	const { files, rest } = parsed;
	return (
		<div class="diff" ref={box}>
			<div class="diff-bar">
				<span>{files.length ? plural(files.length, 'file') : rest ? 'Not a patch' : 'No changes'}</span>
				{files.length > 0 && <Counts added={files.reduce((n, f) => n + f.added, 0)} removed={files.reduce((n, f) => n + f.removed, 0)} />}
				{files.length > 0 && <Views view={split ? 'split' : 'unified'} onView={choose} />}
			</div>
			{files.slice(0, shown).map((file, i) => <DiffFile key={`${i}`} file={file} split={split} open={open[i]!} />)}
			{files.length > shown && <button type="button" class="button" onClick={() => show(shown + FILES)}>Show {plural(Math.min(FILES, files.length - shown), 'more file')}</button>}
			{rest && <LongText class="diff-rest" text={rest} label="Text that is not part of a patch" />}
		</div>
	);
}

export function TextDiff({ path, oldText, newText, cut, view = 'auto' }: TextDiffProps) {
	const [box, width] = useWidth(NARROW);
	const wide = width >= NARROW;
	const file = useMemo(() => diffTexts(String(path), oldText, String(newText)), [path, oldText, newText]);
	return <div class="diff" ref={box}><DiffFile file={file} split={view === 'auto' ? wide : view === 'split'} cut={cut} /></div>;
}
