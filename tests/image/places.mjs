// SPDX-License-Identifier: Apache-2.0
// Where the tests of the image keep what they make.

import path from 'node:path';

export const TOP = path.join(import.meta.dirname, '../..');
export const WORK = path.join(TOP, 'build/image');
export const DOCKERFILE = path.join(TOP, 'e2b.Dockerfile');
export const ROOT = path.join(WORK, 'root'); // of make boot
