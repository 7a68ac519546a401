// SPDX-License-Identifier: Apache-2.0
// The MCP servers of a session, and how each of them is.
import type { McpServer } from '../model/run.ts';
import { plain } from './visible.ts';
import { Visible } from './Visible.tsx';

export interface McpServersProps { servers: McpServer[] }

const STATES: ReadonlyMap<string, string> = new Map([
	['connected', 'tag tag-ok'], ['ready', 'tag tag-ok'], ['running', 'tag tag-ok'], ['delivered', 'tag tag-ok'], ['starting', 'tag tag-info'], ['disabled', 'tag'], ['stopped', 'tag'], ['failed', 'tag tag-bad'], ['refused', 'tag tag-bad'],
]);

export function McpServers({ servers }: McpServersProps) {
	if (!servers.length) return <p class="mcpservers-none">The session has no MCP servers.</p>;
	return (
		<div class="mcpservers" role="group" aria-label="MCP servers" tabIndex={0}>
			<table>
				<thead><tr><th scope="col">Server</th><th scope="col">State</th><th scope="col">By way of</th><th scope="col" class="mcpservers-number">Tools</th><th scope="col">Error</th></tr></thead>
				<tbody>
					{servers.slice(0, 128).map((s) => (
						<tr>
							<th scope="row"><Visible text={s.name} max={80} /></th>
							<td><span class={STATES.get(s.state) ?? 'tag'}>{plain(s.state, 40)}</span></td>
							<td>{s.type ? plain(s.type, 40) : '–'}</td>
							<td class="mcpservers-number">{s.tools ?? '–'}</td>
							<td>{s.error ? <Visible text={s.error} max={300} /> : '–'}</td>
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}
