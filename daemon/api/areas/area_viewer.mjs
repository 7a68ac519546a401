// SPDX-License-Identifier: Apache-2.0
// The files of the run viewer.
import { header, json, ref, text } from '../notation.mjs';

const file = (id, type, says) => ({ id, says, answers: {
  200: text(type, 'the file', { headers: { ETag: header('which bytes these are') } }), 304: { description: 'the client has them: If-None-Match' },
  404: json(ref('Error'), 'there is no viewer beside this daemon: VIEWER_NOT_INSTALLED') } });

export default {
  page: 'viewer',
  routes: {
    'GET /ui': { id: 'getUiTop', says: 'Leads to the run viewer', answers: { 308: { description: 'to /ui/' } } },
    'GET /ui/': file('getUi', 'text/html', 'The page of the run viewer'),
    'GET /ui/app.js': file('getUiScript', 'text/javascript', 'Its script'),
    'GET /ui/app.css': file('getUiStyle', 'text/css', 'Its style'),
  },
};
