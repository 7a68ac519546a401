// SPDX-License-Identifier: Apache-2.0
// Whether there is no room for the state of the session beside its history: the same width as in narrow.css.

import { useLayoutEffect, useState } from 'preact/hooks';

const NARROW = '(max-width: 1100px)';

export function useNarrow(): boolean {
	const [narrow, setNarrow] = useState(() => matchMedia(NARROW).matches);

	useLayoutEffect(() => {
		const media = matchMedia(NARROW);
		const look = (): void => setNarrow(media.matches);
		media.addEventListener('change', look);
		return () => media.removeEventListener('change', look);
	}, []);
	return narrow;
}
