// SPDX-License-Identifier: Apache-2.0
// Reading members of foreign JSON: what is of another type than expected counts as absent.

import type { Json, JsonObject } from './event.ts';

export function isObject(v: unknown): v is JsonObject {
	return typeof v === 'object' && v !== null && !Array.isArray(v);
}

export const str = (v: unknown): string => (typeof v === 'string' ? v : '');
export const optStr = (v: unknown): string | undefined => (typeof v === 'string' && v !== '' ? v : undefined);
export const num = (v: unknown): number => (typeof v === 'number' && Number.isFinite(v) ? v : 0);
export const optNum = (v: unknown): number | undefined => (typeof v === 'number' && Number.isFinite(v) ? v : undefined);
export const list = (v: unknown): Json[] => (Array.isArray(v) ? v : []);
export const obj = (v: unknown): JsonObject => (isObject(v) ? v : {});

/** Unix milliseconds of an ISO time; 0: it is none. */
export function time(v: unknown): number {
	const at = typeof v === 'string' ? Date.parse(v) : NaN;

	return Number.isFinite(at) ? at : 0;
}

export function cutText(text: string, max: number): { text: string; cut?: number } {
	return text.length <= max ? { text } : { text: text.slice(0, max), cut: text.length - max };
}

/** A first line for lists: white space of any kind becomes one blank. */
export function oneLine(text: string, max: number): string {
	const line = text.slice(0, max * 4).replace(/\s+/g, ' ').trim();

	return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}
