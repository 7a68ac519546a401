// SPDX-License-Identifier: Apache-2.0
// One block of content: text, image, sound, link to a resource, resource, or anything else as JSON.
import type { Block as Content } from '../../model/content.ts';
import { bytes, pretty, whole } from '../text/format.ts';
import { Image } from '../text/Image.tsx';
import { LongText } from '../text/LongText.tsx';
import { Markdown } from '../text/Markdown.tsx';
import { safeLink } from '../text/markdown.ts';
import { Terminal } from '../text/Terminal.tsx';
import { plain } from '../text/visible.ts';
import { Visible } from '../text/Visible.tsx';

export type TextAs = 'markdown' | 'plain' | 'terminal';
export interface BlockProps { block: Content; as?: TextAs }

export function Cut({ cut }: { cut?: number }) {
	return cut ? <p class="block-cut">{whole(cut)} more characters are left out here.</p> : null;
}

function Text({ text, as }: { text: string; as: TextAs }) {
	if (as === 'terminal') return <Terminal text={text} />;
	if (as === 'plain') return <LongText class="block-plain" text={text} label="Text" />;
	return <Markdown text={text} />;
}

// Only what can be opened is a link: a file's address tells where it is in the sandbox, and nothing more.
function Link({ uri, name }: { uri: string; name: string }) {
	const href = safeLink(uri);
	return href
		? <a class="markdown-link" href={href} rel="noopener noreferrer nofollow" target="_blank" title={plain(href)}><Visible text={name} /></a>
		: <Visible text={name} />;
}

export function Block({ block, as = 'markdown' }: BlockProps) {
	switch (block.type) {
	case 'text': return <div class="block"><Text text={block.text} as={as} /><Cut cut={block.cut} /></div>;
	case 'image': return <div class="block"><Image mimeType={block.mimeType} data={block.data} cut={block.cut} /></div>;
	case 'audio': return <p class="block block-note">Sound of type <Visible text={block.mimeType} max={60} />, {bytes(block.bytes)}</p>;
	case 'link': return (
		<p class="block block-link">
			<Link uri={block.uri} name={block.title ?? block.name} /> <Visible class="block-uri" text={block.uri} max={160} />
			{block.size !== undefined && <span class="block-note"> {bytes(block.size)}</span>}
		</p>
	);
	case 'resource': return (
		<div class="block">
			<p class="block-link"><Visible class="block-uri" text={block.uri} max={160} /></p>
			{block.text === undefined ? <p class="block-note">binary</p> : <LongText class="block-plain" text={block.text} label="Resource" />}
			<Cut cut={block.cut} />
		</div>
	);
	default: return <div class="block"><p class="block-note"><Visible text={block.name} max={60} /></p><LongText class="block-plain" text={pretty(block.value)} label="JSON" /></div>;
	}
}
