// SPDX-License-Identifier: Apache-2.0
// What the page was opened with: #token=… and #url=…, which leave the address bar at once, and what this tab has kept.

const KEY = 'acpd';

export interface Start {
	base: string; // '': the page does not come from a daemon, and nobody has named one
	token: string;
	session: string;
	asked: boolean; // somebody has named a token or a daemon: what fails is to be said
}

interface Kept {
	base: string;
	token: string;
}

function kept(): Kept | null {
	try {
		const v = JSON.parse(sessionStorage.getItem(KEY) ?? 'null') as Kept | null;
		return v && typeof v.base === 'string' && typeof v.token === 'string' ? v : null;
	} catch {
		return null;
	}
}

/** For this tab, until it is closed. */
export function keepToken(base: string, token: string): void {
	try {
		sessionStorage.setItem(KEY, JSON.stringify({ base, token }));
	} catch { /* a page without storage asks again */ }
}

export function forgetToken(): void {
	try {
		sessionStorage.removeItem(KEY);
	} catch { /* there was none */ }
}

/** null: it is no address of a daemon. */
export function cleanBase(text: string): string | null {
	try {
		const url = new URL(text);
		const path = url.pathname.replace(/\/+$/, '');
		const scheme = { 'ws:': 'http:', 'wss:': 'https:' }[url.protocol] ?? url.protocol;

		if (!/^https?:$/.test(scheme) || url.username || url.password)
			return null;
		return `${scheme}//${url.host}${path.replace(/\/(acp|ui)$/, '')}`;
	} catch {
		return null;
	}
}

/** The daemon that this page comes from, if it comes from one. */
function ownBase(): string {
	const at = location.pathname.lastIndexOf('/ui');

	return /^https?:$/.test(location.protocol) ? location.origin + (at < 0 ? '' : location.pathname.slice(0, at)) : '';
}

export function readStart(): Start {
	const words = new URLSearchParams(location.hash.slice(1));
	const told = words.get('token');
	const base = cleanBase(words.get('url') ?? '') ?? ownBase();
	const old = kept();

	if (told !== null || words.has('url')) {
		const session = words.get('session');
		history.replaceState(null, '', location.pathname + location.search + (session ? `#session=${encodeURIComponent(session)}` : ''));
	}
	if (told !== null)
		return { base, token: told, session: words.get('session') ?? '', asked: true };
	if (old && !words.has('url'))
		return { base: old.base, token: old.token, session: words.get('session') ?? '', asked: true };
	return { base, token: '', session: words.get('session') ?? '', asked: false };
}
