// SPDX-License-Identifier: Apache-2.0
// Light, dark, or as the system has it.

export type Theme = 'system' | 'light' | 'dark';
const NEXT: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };
const KEY = 'acpd-theme';

export const THEMES: readonly Theme[] = ['system', 'light', 'dark'];
export const nextTheme = (t: Theme): Theme => NEXT[t];

export function readTheme(): Theme {
	try {
		const t = localStorage.getItem(KEY);
		return t === 'light' || t === 'dark' ? t : 'system';
	} catch {
		return 'system';
	}
}

export function setTheme(t: Theme): void {
	if (t === 'system')
		delete document.documentElement.dataset.theme;
	else
		document.documentElement.dataset.theme = t;
	try {
		localStorage.setItem(KEY, t);
	} catch { /* it holds for this page, then */ }
}
