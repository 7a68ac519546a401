// SPDX-License-Identifier: Apache-2.0
// Bundles of sessions.
import { bytes, json, object, query, string } from '../notation.mjs';

export default {
  page: 'bundles',
  routes: {
    'GET /v1/sessions/{sessionId}/bundle': { id: 'getBundle', says: 'The session with all that belongs to it, as one file', answers: { 200: bytes('application/zstd', 'a tar archive in zstd') } },
    'POST /v1/bundles': { id: 'importBundle', says: 'Makes a session of a bundle that is in the archive store',
      query: query('daemon/http/routes/route_bundle.c:fields', { archive: 'the digest of the archive' }),
      answers: { 201: json(object({ sessionId: string() }), 'there is a session now, which can be read') } },
  },
};
