// SPDX-License-Identifier: Apache-2.0
// The MCP servers of a session, and how each of them is.
import type { McpServer } from '../../model/run.ts';
import { plain } from '../text/visible.ts';
import { Visible } from '../text/Visible.tsx';

export interface McpServersProps { servers: McpServer[] }

// A server that failed says so; one whose tools the harness has got works.
function stateOf(s: McpServer): [string, string] {
	if (s.error) return ['failed', 'tag tag-bad'];
	return s.tools ? ['ready', 'tag tag-ok'] : ['not asked yet', 'tag'];
}

function Tools({ names }: { names: string[] | undefined }) {
	if (!names?.length) return <>{names ? '0' : '–'}</>;
	return (
		<details>
			<summary>{names.length}</summary>
			<ul class="mcpservers-tools">{names.map((name) => <li><Visible text={name} max={120} /></li>)}</ul>
		</details>
	);
}

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
							<td><span class={stateOf(s)[1]}>{stateOf(s)[0]}</span></td>
							<td>{s.via ? plain(s.via, 40) : '–'}</td>
							<td class="mcpservers-number"><Tools names={s.tools} /></td>
							<td>{s.error ? <Visible text={s.error} max={300} /> : '–'}</td>
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}
