// SPDX-License-Identifier: Apache-2.0
// A picture that came as data. Four raster kinds are shown; of any other only its kind and size are told. Nothing is ever loaded.
import { bytes } from './format.ts';
import { safeImage } from './markdown.ts';
import { plain } from './visible.ts';
import { Visible } from './Visible.tsx';

export interface ImageProps { mimeType: string; data: string; alt?: string; cut?: number } // data: base64; cut: it was too large to be kept

export function Image({ mimeType, data, alt = 'Image', cut = 0 }: ImageProps) {
	const src = cut ? undefined : safeImage(`data:${mimeType};base64,${data.replace(/\s+/g, '')}`);
	if (src) return <img class="image" src={src} alt={plain(alt)} loading="lazy" />;
	return <span class="image-none">Image of type <Visible text={mimeType} max={60} />, {bytes(((cut || data.length) * 3) / 4)}: {cut ? 'too large to be kept' : 'not shown'}</span>;
}
