// SPDX-License-Identifier: Apache-2.0
// One line of GET /v1/sessions/{id}/events, as daemon/protocol/delivery.md describes it. Nothing of it is trusted: all
// members but `kind` may be absent or of another type, and texts are what an agent wrote.

export type Json = null | boolean | number | string | Json[] | { [member: string]: Json | undefined };
export type JsonObject = { [member: string]: Json | undefined };

export interface RawEvent extends JsonObject {
	seq?: number; // absent: of the daemon itself (a gap, the end of the session)
	ts?: string;
	sessionId?: string;
	turnId?: number;
	kind: string;
	event?: string;
	final?: boolean;
}
