// SPDX-License-Identifier: Apache-2.0
// Bundles of sessions.
import { bytes } from '../notation.mjs';

export default {
  page: 'bundles',
  routes: {
    'GET /v1/sessions/{sessionId}/bundle': { id: 'getBundle', says: 'The session with all that belongs to it, as one file', answers: { 200: bytes('application/zstd', 'a tar archive in zstd') } },
  },
};
