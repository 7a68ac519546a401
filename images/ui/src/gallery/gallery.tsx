// SPDX-License-Identifier: Apache-2.0
// Every component with sample data, to look at while it is made: node images/ui/gallery.mjs OUT. Not part of the viewer.
import { render } from 'preact';
import type { ComponentChildren } from 'preact';
import type { Question as Asked, ToolCall as Call } from '../model/items.ts';
import { Budgets } from '../views/session/Budgets.tsx';
import { Checks } from '../views/turn/Checks.tsx';
import { Diff } from '../views/calls/Diff.tsx';
import { ErrorWords } from '../views/turn/ErrorWords.tsx';
import { FilesChanged } from '../views/calls/FilesChanged.tsx';
import { Image } from '../views/text/Image.tsx';
import { Markdown } from '../views/text/Markdown.tsx';
import { McpServers } from '../views/session/McpServers.tsx';
import { Plan } from '../views/turn/Plan.tsx';
import { Question } from '../views/turn/Question.tsx';
import { Queue } from '../views/turn/Queue.tsx';
import { Replay } from '../views/session/Replay.tsx';
import { Terminal } from '../views/text/Terminal.tsx';
import { Thought } from '../views/turn/Thought.tsx';
import { Timeline } from '../views/session/Timeline.tsx';
import { ToolCall } from '../views/calls/ToolCall.tsx';
import { UsageChart } from '../views/session/UsageChart.tsx';
import { BUDGETS, CALLS as MODEL_CALLS, CHECKS, FILES, MARKDOWN, NEW_TEXT, OLD_TEXT, PATCH, PIXEL, PLAN, SCHEMA, SERVERS, SPANS, SPANS_NOW, TERMINAL, TURNS, USES } from './samples.ts';

const call = (more: Partial<Call>): Call => ({ id: 'call_1', title: 'npm test', toolKind: 'execute', status: 'completed', content: [], locations: [], ...more });

const answer = { text: 'Allow once', accepted: true, by: 'human', via: 'driver', at: 0 };

const CALLS = [
	<ToolCall call={call({ title: 'src/http/head.c', toolKind: 'read', input: { path: 'src/http/head.c' }, output: 'ok' })} ms={12} />,
	<ToolCall open call={call({ title: 'npm test', status: 'failed', input: { command: 'npm test -- --reporter=dot', timeout: 120 }, content: [{ type: 'block', block: { type: 'text', text: TERMINAL } }], output: { exitCode: 1 } })} ms={4230} allowed={answer} />,
	<ToolCall open call={call({ title: 'src/add.ts', toolKind: 'edit', locations: [{ path: '/workspace/src/add.ts', line: 1 }], input: { path: 'src/add.ts' }, content: [{ type: 'diff', path: 'src/add.ts', oldText: OLD_TEXT, newText: NEW_TEXT }] })} ms={85} />,
	<ToolCall call={call({ title: 'findOrder', toolKind: 'other', server: 'shop', tool: 'findOrder', status: 'in_progress', input: { id: 'A-17' } })} />,
	<ToolCall call={call({ title: 'rm -rf build/\u202etxt.exe', toolKind: 'delete', status: 'pending' })} />,
];

const asked = (more: Partial<Asked>): Asked => ({
	ask: 1, id: 's:1', elicitation: false, title: 'npm publish --access public',
	options: [{ optionId: 'a', name: 'Allow once', kind: 'allow_once' }, { optionId: 'b', name: 'Always allow', kind: 'allow_always' }, { optionId: 'c', name: 'Reject', kind: 'reject_once' }], ...more,
});
// What the components ask for, for who looks and for tests.
const asks: unknown[] = [];
const ask = (what: unknown) => { asks.push(what); };
Object.assign(window, { asks });

const SECTIONS: [string, ComponentChildren][] = [
	['Markdown', <Markdown text={MARKDOWN} />],
	['Thought', <><Thought text="I should look at the parser first. The colon is found with `strchr`." ms={3400} /><Thought open text={'The colon is found with `strchr`, so **embedded NULs** matter.\n\n- check length'} running /></>],
	['Tool calls', <div class="gallery-stack">{CALLS}</div>],
	['Timeline', <Timeline spans={SPANS} now={SPANS_NOW} at={SPANS_NOW - 60_000} onOpen={ask} />],
	['Usage', <UsageChart turns={TURNS} calls={MODEL_CALLS} models={USES} />],
	['Replay', <Replay playing={false} speed={5} position={83_000} length={312_000} label="turn 3 of 7" onPlay={ask} onSpeed={ask} onSeek={ask} onEnd={() => ask('end')} />],
	['Plan', <Plan plan={PLAN} />],
	['Questions', <div class="gallery-stack">
		<Question question={asked({ expiresAt: Date.now() + 95_000, otherwise: 'reject' })} onAnswer={ask}><ToolCall call={call({ title: 'npm publish', status: 'pending', input: { command: 'npm publish --access public' } })} /></Question>
		<Question question={asked({ answer })} />
		<Question question={asked({ answer: { text: 'Reject', accepted: false, by: 'timeout', at: 0 } })} />
		<Question question={asked({ elicitation: true, title: 'Where should it be **deployed**?', mode: 'form', schema: SCHEMA, options: [] })} onAnswer={ask} error="the question has been answered already: by human" />
	</div>],
	['Budgets', <Budgets budgets={BUDGETS} />],
	['Queue', <Queue queued={3} prompts={['Now write the changelog', 'and tag it']} waiting="harness" />],
	['Checks', <Checks checks={CHECKS} verdict="failed" />],
	['MCP servers', <McpServers servers={SERVERS} />],
	['Errors', <div class="gallery-stack"><ErrorWords error={{ class: 'rate_limit', message: 'Rate limit reached for requests per min (RPM): Limit 3, Used 3.', provider: 'openai', httpStatus: 429, retryable: true }} /><ErrorWords error={{ class: 'out_of_memory', message: 'the session was at its limit of memory', retryable: false }} /></div>],
	['Files', <FilesChanged files={FILES} onOpen={ask} />],
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
