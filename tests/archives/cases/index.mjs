// SPDX-License-Identifier: Apache-2.0
// All cases.

import disguise from './disguise.mjs';
import legal from './legal.mjs';
import links from './links.mjs';
import metadata from './metadata.mjs';
import names from './names.mjs';
import streams from './streams.mjs';
import structure from './structure.mjs';
import volume from './volume.mjs';
import zip from './zip.mjs';

export const CLASSES = { names, links, metadata, structure, volume, streams, zip, disguise, legal };
export const CASES = Object.values(CLASSES).flat();
