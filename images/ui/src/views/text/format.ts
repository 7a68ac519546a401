// SPDX-License-Identifier: Apache-2.0
// Numbers in words that fit into a narrow place: durations, sizes, tokens, money, clock times. Pure; nothing throws, whatever a run holds.

import { plain } from './visible.ts';

const finite = (n: unknown): n is number => typeof n === 'number' && Number.isFinite(n);

const pad = (n: number): string => String(n).padStart(2, '0');

// "340 ms", "4.2 s", "3 min 05 s", "2 h 07 min"
export function duration(ms: number | undefined): string {
	if (!finite(ms) || ms < 0) return '–';
	if (ms < 1000) return `${Math.round(ms)} ms`;
	if (ms < 59_950) return `${(ms / 1000).toFixed(ms < 9950 ? 1 : 0)} s`;
	const seconds = Math.round(ms / 1000);
	if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${pad(seconds % 60)} s`;
	const minutes = Math.floor(seconds / 60);
	return `${Math.floor(minutes / 60)} h ${pad(minutes % 60)} min`;
}

// "0:07", "12:34", "1:02:03": a place in a run
export function clock(ms: number): string {
	const s = Math.max(0, Math.floor((finite(ms) ? ms : 0) / 1000));
	const tail = `${s >= 3600 ? pad(Math.floor(s / 60) % 60) : Math.floor(s / 60)}:${pad(s % 60)}`;
	return s >= 3600 ? `${Math.floor(s / 3600)}:${tail}` : tail;
}

// The same for a screen reader: "1 hour 2 minutes 3 seconds"
export function spoken(ms: number): string {
	const s = Math.max(0, Math.floor((finite(ms) ? ms : 0) / 1000));
	const part = (n: number, name: string): string[] => (n ? [`${n} ${name}${n === 1 ? '' : 's'}`] : []);
	return [...part(Math.floor(s / 3600), 'hour'), ...part(Math.floor(s / 60) % 60, 'minute'), ...part(s % 60, 'second')].join(' ') || '0 seconds';
}

const scaled = (n: number, base: number, names: readonly string[], gap: string): string => {
	let i = 0;
	let value = n;
	// 999.95 would be shown as 1000.0
	while (Math.abs(value) >= base - (i ? 0.05 : 0.5) && i < names.length - 1) {
		value /= base;
		i++;
	}
	return `${i && Math.abs(value) < 100 ? value.toFixed(1) : Math.round(value)}${names[i] ? gap + names[i] : ''}`;
};

export const bytes = (n: number | undefined): string => (finite(n) ? scaled(n, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB'], ' ') : '–');
export const count = (n: number | undefined): string => (finite(n) ? scaled(n, 1000, ['', 'k', 'M', 'G'], '') : '–');
export const whole = (n: number | undefined): string => (finite(n) ? Math.round(n).toLocaleString('en-US').replaceAll(',', ' ') : '–');

export function money(n: number | undefined, currency = 'USD'): string {
	if (!finite(n)) return '–';
	const digits = n !== 0 && Math.abs(n) < 0.1 ? 4 : 2;
	return currency === 'USD' ? `$${n.toFixed(digits)}` : `${n.toFixed(digits)} ${plain(currency)}`;
}

export const plural = (n: number, one: string, many = `${one}s`): string => `${whole(n)} ${n === 1 ? one : many}`;

// JSON for the eye: indented, bounded in length, and never a throw (a value may be a bigint or hold itself).
export function pretty(value: unknown, max = 200_000): string {
	let text: string;
	try {
		text = typeof value === 'string' ? value : JSON.stringify(value, null, 2) ?? String(value);
	} catch {
		text = String(value);
	}
	return text.length > max ? `${text.slice(0, max)}\n… ${whole(text.length - max)} more characters` : text;
}
