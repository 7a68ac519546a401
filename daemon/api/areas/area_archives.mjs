// SPDX-License-Identifier: Apache-2.0
// The archive store.
import { array, boolean, bytes, content, digest, header, integer, json, object, only, ref, time } from '../notation.mjs';

const OFFSET = { 'Upload-Offset': header('how much of it is there', { type: 'integer' }) };
const refused = json(ref('Error'), 'refused', { headers: OFFSET });

export default {
  page: 'archives',
  types: {
    Archives: object({
      used: integer(), limit: integer(), archives: array(object({
        digest: digest(), 'size?': integer(), 'partial?': integer('of one that was not uploaded whole: the bytes that are there'), 'lastUsed?': time(), pinned: boolean(), baked: boolean('it came with the image'),
      })),
    }),
    ArchiveStored: object({ digest: digest(), size: integer() }),
    ArchivePart: object({ digest: digest(), partial: integer('the bytes that are there') }),
    Deleted: object({ deleted: only(true) }),
  },
  routes: {
    'GET /v1/archives': { id: 'getArchives', says: 'What the archive store holds', answers: { 200: json(ref('Archives'), 'as of now') } },
    'GET /v1/archives/{digest}': { id: 'getArchive', says: 'The bytes of an archive', headers: [{ name: 'Range', in: 'header', description: 'one range of bytes', schema: { type: 'string' } }],
      answers: { 200: bytes('application/octet-stream', 'all of it'), 206: bytes('application/octet-stream', 'a part of it'), '4XX': refused } },
    'PUT /v1/archives/{digest}': { id: 'putArchive', says: 'Uploads an archive, or a part of one',
      headers: [{ name: 'Content-Range', in: 'header', description: '"bytes N-M/T", or "bytes */T" with an empty body: goes on with an upload', schema: { type: 'string' } }],
      body: { required: true, content: content(['application/x-tar', 'application/gzip', 'application/zstd', 'application/zip', 'application/octet-stream', 'application/x-www-form-urlencoded']) },
      answers: { 200: json(ref('ArchiveStored'), 'it was there'), 201: json(ref('ArchiveStored'), 'it is there now'), 202: json(ref('ArchivePart'), 'a part of it', { headers: OFFSET }), '4XX': refused } },
    'DELETE /v1/archives/{digest}': { id: 'deleteArchive', says: 'Removes an archive', answers: { 200: json(ref('Deleted'), 'it is gone') } },
  },
};
