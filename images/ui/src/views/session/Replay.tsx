// SPDX-License-Identifier: Apache-2.0
// Controls of a replay: play and pause, speed, and the place in the run.
import { clock, spoken } from '../text/format.ts';
import { Icon } from '../text/Icon.tsx';
import { seekPlace, seekStep } from './spans.ts';
import { plain } from '../text/visible.ts';
import { Visible } from '../text/Visible.tsx';

export const SPEEDS = [1, 2, 5, 10, 20, 50] as const;

export interface ReplayProps {
	playing: boolean;
	speed: number;
	position: number; // ms from the beginning
	length: number; // ms
	label?: string; // what happens at this place, as "turn 3 of 7"
	onPlay: (playing: boolean) => void;
	onSpeed: (speed: number) => void;
	onSeek: (position: number) => void;
	onEnd?: () => void; // leaves the replay
}

export function Replay({ playing, speed, position, length, label = '', onPlay, onSpeed, onSeek, onEnd }: ReplayProps) {
	const over = position >= length;
	return (
		<div class="replay" role="group" aria-label="Replay">
			<button type="button" class="button replay-play" aria-label={playing ? 'Pause' : over ? 'Play from the beginning' : 'Play'}
				onClick={() => { if (!playing && over) onSeek(0); onPlay(!playing); }}>
				<Icon name={playing ? 'pause' : 'play'} />
			</button>
			<span class="replay-clock" aria-hidden="true">{clock(position)} / {clock(length)}</span>
			<input class="replay-seek" type="range" min={0} max={Math.max(1, Math.round(length))} step={seekStep(length)} value={Math.round(Math.min(position, length))}
				aria-label="Place in the run" aria-valuetext={`${spoken(position)} of ${spoken(length)}${label ? `, ${plain(label)}` : ''}`}
				onInput={(e) => onSeek(seekPlace(Number(e.currentTarget.value), length))} />
			{label && <Visible class="replay-label" text={label} max={120} />}
			<label class="replay-speed">
				<span class="hidden-text">Speed</span>
				<select value={String(speed)} onChange={(e) => onSpeed(Number(e.currentTarget.value))}>
					{SPEEDS.map((s) => <option value={String(s)}>×{s}</option>)}
				</select>
			</label>
			{onEnd && <button type="button" class="button" onClick={onEnd}>End replay</button>}
		</div>
	);
}
