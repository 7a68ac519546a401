// SPDX-License-Identifier: Apache-2.0
// One row of the history.

import type { ComponentChildren } from 'preact';
import type { Item } from '../model/items.ts';
import { plainText } from '../model/blocks.ts';
import { Block } from '../views/calls/Block.tsx';
import { bytes } from '../views/text/format.ts';
import { Thought } from '../views/turn/Thought.tsx';
import { ToolCall } from '../views/calls/ToolCall.tsx';
import { Visible } from '../views/text/Visible.tsx';
import { Checks } from '../views/turn/Checks.tsx';
import { Plan } from '../views/turn/Plan.tsx';
import { QuestionRow, type OnAnswer } from './QuestionRow.tsx';
import { TurnEnd } from './TurnEnd.tsx';

export interface RowProps {
	onAnswer: OnAnswer;
	item: Item;
	open: boolean; // it was unfolded
	grows: boolean; // more of it may come
}

function Notice({ severity, text, detail }: { severity: string; text: string; detail?: string }) {
	return (
		<div class={`note note-${severity}`}>
			{severity !== 'info' && <span class="hidden-text">{severity}: </span>}
			<Visible text={text} max={2000} />
			{detail && <Visible class="note-detail" text={detail} max={2000} />}
		</div>
	);
}

const REASONS: Record<string, string> = { incarnation: 'what was read before was of another copy', damaged: 'damage on disk has taken them',
	trimmed: 'they were acknowledged and there was no room for them' };

function Chunked({ who, name, children }: { who: string; name: string; children: ComponentChildren }) {
	return (
		<div class={`say say-${who}`}>
			<span class="say-who">{name}</span>
			<div class="say-what">{children}</div>
		</div>
	);
}

/** A screen reader says first what a row is. */
export function Row(p: RowProps) {
	const { item } = p;

	switch (item.kind) {
	case 'prompt':
		return (
			<Chunked who="person" name={item.attempt ? `Attempt ${item.attempt.n} of ${item.attempt.of}` : 'Prompt'}>
				{item.blocks.map((b) => <Block block={b} as="plain" />)}
			</Chunked>
		);
	case 'message':
		return <Chunked who="agent" name="Agent">{item.blocks.map((b) => <Block block={b} />)}</Chunked>;
	case 'thought':
		return <Thought text={plainText(item.blocks)} ms={item.until - item.at} open={p.open} running={p.grows} />;
	case 'tool':
		return <ToolCall call={item.call} ms={over(item.call.status) ? item.until - item.at : undefined} open={p.open} />;
	case 'question':
		return <QuestionRow question={item.question} onAnswer={p.onAnswer} />;
	case 'plan':
		return <div class="row-box"><Plan plan={item.plan} /></div>;
	case 'end':
		return <TurnEnd item={item} />;
	case 'check':
		return <Checks checks={[item.check]} />;
	case 'artifact':
		return <div class="note">Artifact <Visible text={item.artifact.name} max={200} />, {bytes(item.artifact.size)}</div>;
	case 'gap':
		return <Notice severity="warning" text={`Events ${item.from} to ${item.to} are not there any more`} detail={REASONS[item.reason ?? '']} />;
	case 'note':
		return <Notice severity={item.severity} text={item.text} detail={item.detail} />;
	}
}

const over = (status: string): boolean => status === 'completed' || status === 'failed';
