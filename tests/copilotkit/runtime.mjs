// SPDX-License-Identifier: Apache-2.0
// CopilotKit's runtime with one remote agent: URL TOKEN. It says its port on a line of its own.

import http from 'node:http';
import { HttpAgent } from '@ag-ui/client';
import { CopilotRuntime, ExperimentalEmptyAdapter, copilotRuntimeNodeHttpEndpoint } from '@copilotkit/runtime';

const [, , url, token] = process.argv;
const runtime = new CopilotRuntime({ agents: { sandbox: new HttpAgent({ url, headers: { Authorization: `Bearer ${token}` } }) } });
const handler = copilotRuntimeNodeHttpEndpoint({ endpoint: '/api/copilotkit', runtime, serviceAdapter: new ExperimentalEmptyAdapter() });
const server = http.createServer((req, res) => void handler(req, res));

server.listen(0, '127.0.0.1', () => console.log(`port ${server.address().port}`));
