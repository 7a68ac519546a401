// SPDX-License-Identifier: Apache-2.0
// What a program wrote, with its colours. The newest lines are shown, more of them when asked for; all of it is real text, which a
// screen reader reads line by line.
import { useMemo, useState } from 'preact/hooks';
import { parseTerminal, plainTerminal } from './ansi.ts';
import type { Span } from './ansi.ts';
import { Copy } from './Copy.tsx';
import { plural, whole } from './format.ts';
import { marked } from './Visible.tsx';

export interface TerminalProps { text: string; label?: string; exitCode?: number; cut?: number } // cut: characters that are missing before it

const FIRST = 60;
const MORE = 1000;

function Piece({ span }: { span: Span }) {
	const s = span.style;
	if (!s) return <>{marked(span.text)}</>;
	const names = (['bold', 'dim', 'italic', 'underline', 'strike'] as const).filter((n) => s[n]).map((n) => `terminal-${n}`);
	return <span class={names.join(' ') || undefined} style={{ color: s.fg, backgroundColor: s.bg }}>{marked(span.text)}</span>;
}

export function Terminal({ text, label = 'Terminal output', exitCode, cut = 0 }: TerminalProps) {
	const screen = useMemo(() => parseTerminal(String(text)), [text]);
	const [wanted, want] = useState(FIRST);
	const lines = screen.lines.slice(-wanted);
	const before = screen.lines.length - lines.length;
	return (
		<div class="terminal">
			<div class="terminal-head">
				{before > 0
					? <button type="button" class="terminal-button" onClick={() => want(wanted + MORE)}>Show {plural(Math.min(MORE, before), 'earlier line')}</button>
					: <span>{plural(screen.lines.length, 'line')}</span>}
				{(screen.dropped > 0 || cut > 0) && before === 0 && <span>earlier output is left out{cut > 0 && ` (${whole(cut)} characters)`}</span>}
				{exitCode !== undefined && <span class={exitCode ? 'terminal-failed' : undefined}>exit code {exitCode}</span>}
				<Copy text={() => plainTerminal(text)} what="output" />
			</div>
			<pre class="terminal-text" tabIndex={0} role="group" aria-label={label}>
				{lines.map((line) => <div class="terminal-line">{line.length ? line.map((span) => <Piece span={span} />) : '\n'}</div>)}
			</pre>
		</div>
	);
}
