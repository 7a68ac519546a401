// SPDX-License-Identifier: Apache-2.0
// The controls of a replay: pause, speed, a slider over the run, waiting passed over or not.

import { SPEEDS, type Player } from '../model/player.ts';
import { clock, spoken } from '../views/format.ts';
import { Icon } from '../views/Icon.tsx';

export interface TransportProps {
	player: Player;
	onChange: () => void;
	onSeek: (position: number) => void;
	onLeave: () => void;
	leave: string; // what the way back is called
}

export function Transport({ player, onChange, onSeek, onLeave, leave }: TransportProps) {
	const whole = Math.max(1, player.to - player.from);
	const at = player.position - player.from;
	const toggle = (): void => {
		if (player.playing)
			player.pause();
		else
			player.play();
		onChange();
	};

	return (
		<section class="transport" aria-label="Replay">
			<button type="button" class="button button-main transport-play" onClick={toggle}>
				<Icon name={player.playing ? 'pause' : 'play'} /> {player.playing ? 'Pause' : 'Play'}
			</button>
			<input type="range" class="transport-seek" min={0} max={whole} step={100} value={at} aria-label="Position in the run"
				aria-valuetext={`${spoken(at)} of ${spoken(whole)}`} onInput={(e) => onSeek(player.from + Number(e.currentTarget.value))} />
			<span class="transport-time" aria-hidden="true">{clock(at)} / {clock(whole)}</span>
			<label class="transport-speed">Speed
				<select value={player.speed} onChange={(e) => { player.speed = Number(e.currentTarget.value); onChange(); }}>
					{SPEEDS.map((s) => <option value={s}>×{s}</option>)}
				</select>
			</label>
			<label class="check">
				<input type="checkbox" checked={player.skipWaits} onChange={(e) => { player.skipWaits = e.currentTarget.checked; onChange(); }} />
				Skip waiting
			</label>
			<button type="button" class="button" onClick={onLeave}>{leave}</button>
		</section>
	);
}
