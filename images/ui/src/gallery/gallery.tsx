// SPDX-License-Identifier: Apache-2.0
// Every component with sample data, to look at while it is made: node images/ui/gallery.mjs OUT. Not part of the viewer.
import { render } from 'preact';
import type { ComponentChildren } from 'preact';
import type { ToolCall as Call } from '../model/items.ts';
import { Diff } from '../views/Diff.tsx';
import { Image } from '../views/Image.tsx';
import { Markdown } from '../views/Markdown.tsx';
import { Terminal } from '../views/Terminal.tsx';
import { Thought } from '../views/Thought.tsx';
import { ToolCall } from '../views/ToolCall.tsx';
import { MARKDOWN, NEW_TEXT, OLD_TEXT, PATCH, PIXEL, TERMINAL } from './samples.ts';

const call = (more: Partial<Call>): Call => ({ id: 'call_1', title: 'npm test', toolKind: 'execute', status: 'completed', content: [], locations: [], ...more });

const answer = { text: 'Allow once', accepted: true, by: 'human', via: 'driver', at: 0 };

const CALLS = [
	<ToolCall call={call({ title: 'src/http/head.c', toolKind: 'read', input: { path: 'src/http/head.c' }, output: 'ok' })} ms={12} />,
	<ToolCall open call={call({ title: 'npm test', status: 'failed', input: { command: 'npm test -- --reporter=dot', timeout: 120 }, content: [{ type: 'block', block: { type: 'text', text: TERMINAL } }], output: { exitCode: 1 } })} ms={4230} allowed={answer} />,
	<ToolCall open call={call({ title: 'src/add.ts', toolKind: 'edit', locations: [{ path: '/workspace/src/add.ts', line: 1 }], input: { path: 'src/add.ts' }, content: [{ type: 'diff', path: 'src/add.ts', oldText: OLD_TEXT, newText: NEW_TEXT }] })} ms={85} />,
	<ToolCall call={call({ title: 'findOrder', toolKind: 'other', server: 'shop', tool: 'findOrder', status: 'in_progress', input: { id: 'A-17' } })} />,
	<ToolCall call={call({ title: 'rm -rf build/\u202etxt.exe', toolKind: 'delete', status: 'pending' })} />,
];

const SECTIONS: [string, ComponentChildren][] = [
	['Markdown', <Markdown text={MARKDOWN} />],
	['Thought', <><Thought text="I should look at the parser first. The colon is found with `strchr`." ms={3400} /><Thought open text={'The colon is found with `strchr`, so **embedded NULs** matter.\n\n- check length'} running /></>],
	['Tool calls', <div class="gallery-stack">{CALLS}</div>],
	['Terminal', <Terminal text={TERMINAL} exitCode={1} />],
	['Diff of a patch', <Diff patch={PATCH} />],
	['Images', <><Image mimeType="image/png" data={PIXEL} alt="a pixel" /><Image mimeType="image/svg+xml" data={PIXEL} /></>],
];

render(
	<main class="gallery">
		<h1>Components</h1>
		{SECTIONS.map(([name, content]) => <section id={name.toLowerCase().replaceAll(' ', '-')}><h2>{name}</h2>{content}</section>)}
	</main>,
	document.getElementById('app')!,
);
