// SPDX-License-Identifier: Apache-2.0
// The controls of a replay.

import type { Player } from '../model/player.ts';
import { Replay } from '../views/session/Replay.tsx';

export interface TransportProps {
	player: Player;
	turns: number; // of the whole run
	onChange: () => void;
	onSeek: (position: number) => void;
	onEnd: () => void;
}

export function Transport({ player, turns, onChange, onSeek, onEnd }: TransportProps) {
	const now = player.model.run.turns.at(-1)?.n ?? 0;
	const play = (playing: boolean): void => {
		if (playing)
			player.play();
		else
			player.pause();
		onChange();
	};

	return (
		<section class="transport" aria-label="Replay of the session">
			<Replay playing={player.playing} speed={player.speed} position={player.position - player.from} length={player.to - player.from}
				label={now ? `turn ${now} of ${turns}` : ''} onPlay={play} onEnd={onEnd}
				onSpeed={(speed) => { player.speed = speed; onChange(); }} onSeek={(at) => onSeek(player.from + at)} />
			<label class="check">
				<input type="checkbox" checked={player.skipWaits} onChange={(e) => { player.skipWaits = e.currentTarget.checked; onChange(); }} />
				Skip waiting
			</label>
		</section>
	);
}
