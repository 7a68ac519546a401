// SPDX-License-Identifier: Apache-2.0
// A message in Markdown. Only what markdown.ts makes is shown, as elements of the list below; all text goes through visible.ts.
import { h } from 'preact';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { Copy } from './Copy.tsx';
import { LongText } from './LongText.tsx';
import { parseMarkdown } from './markdown.ts';
import type { Md } from './markdown.ts';
import { plain } from './visible.ts';
import { marked, Visible } from './Visible.tsx';

export interface MarkdownProps { text: string; headingLevel?: number } // headingLevel: what # becomes, default 3

// Where a link goes is said beside it, unless its text says so already.
function Link({ href, c, base }: { href: string; c: Md[]; base: number }) {
	const url = new URL(href);
	const target = url.protocol === 'mailto:' ? href.slice(7) : url.host;
	const said = c.length === 1 && c[0]!.t === 'text' && [href, href.replace(/\/$/, ''), href.slice(7)].includes(c[0]!.v);
	return (
		<a class="markdown-link" href={href} rel="noopener noreferrer nofollow" target="_blank" title={plain(href, 4096)}>
			{nodes(c, base)}
			{!said && <span class="markdown-target"> {marked(target)}</span>}
		</a>
	);
}

function Code({ lang, v }: { lang: string; v: string }) {
	return (
		<div class="markdown-code">
			<div class="markdown-code-head">
				<span>{lang ? <Visible text={lang} /> : 'code'}</span>
				<Copy text={v} what="code" />
			</div>
			<LongText text={v} class="markdown-pre" label={`Code ${plain(lang)}`.trim()} />
		</div>
	);
}

function Table({ node, base }: { node: Extract<Md, { t: 'table' }>; base: number }) {
	const align = (i: number) => `markdown-${node.align[i] === 'right' || node.align[i] === 'center' ? node.align[i] : 'left'}`;
	return (
		<div class="markdown-table" tabIndex={0} role="group" aria-label="Table">
			<table>
				<thead><tr>{node.head.map((cell, i) => <th scope="col" class={align(i)}>{nodes(cell, base)}</th>)}</tr></thead>
				<tbody>{node.rows.map((row) => <tr>{row.map((cell, i) => <td class={align(i)}>{nodes(cell, base)}</td>)}</tr>)}</tbody>
			</table>
		</div>
	);
}

function List({ node, base }: { node: Extract<Md, { t: 'list' }>; base: number }) {
	const items = node.items.map((item) => (
		<li class={item.checked === undefined ? undefined : 'markdown-task'}>
			{item.checked !== undefined && <span role="img" aria-label={item.checked ? 'done' : 'open'}>{item.checked ? '☑ ' : '☐ '}</span>}
			{nodes(item.c, base)}
		</li>
	));
	return node.start === undefined ? <ul>{items}</ul> : <ol start={node.start}>{items}</ol>;
}

const WRAPPED = { p: 'p', em: 'em', strong: 'strong', del: 'del', quote: 'blockquote' } as const;

function element(node: Md, base: number): ComponentChildren {
	switch (node.t) {
	case 'text': return marked(node.v, true);
	case 'codespan': return <code>{marked(node.v)}</code>;
	case 'code': return <Code lang={node.lang} v={node.v} />;
	case 'hr': return <hr />;
	case 'br': return <br />;
	case 'link': return <Link href={node.href} c={node.c} base={base} />;
	case 'image': return <img class="markdown-image" src={node.src} alt={plain(node.alt)} loading="lazy" />;
	case 'list': return <List node={node} base={base} />;
	case 'table': return <Table node={node} base={base} />;
	case 'h': return h(`h${Math.min(6, node.level - 1 + base)}`, { class: `markdown-h${node.level}` }, nodes(node.c, base));
	default: return h(WRAPPED[node.t], null, nodes(node.c, base));
	}
}

const nodes = (list: Md[], base: number): ComponentChildren => list.map((node) => element(node, base));

export function Markdown({ text, headingLevel = 3 }: MarkdownProps) {
	const parsed = useMemo(() => parseMarkdown(String(text)), [text]);
	return (
		<div class="markdown" dir="auto">
			{nodes(parsed.nodes, headingLevel)}
			{parsed.rest && <LongText text={parsed.rest} class="markdown-rest" label="Text" prose />}
		</div>
	);
}
