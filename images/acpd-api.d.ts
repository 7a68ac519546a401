// SPDX-License-Identifier: Apache-2.0
// The API of acpd as types, generated from daemon/api/openapi.json by make api. It is committed because users copy it beside
// acpd-client.ts, and because the viewer, which is built without the packages of the tests, imports it.

export interface paths {
    "/v1/agui/{harness}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Runs an agent, as AG-UI has it
         * @description Server-sent events of one `data:` line each: events of AG-UI, as `@ag-ui/core` describes them.
         */
        post: operations["postAgui"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Open questions, oldest first */
        get: operations["getApprovals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/approvals/{approvalId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Answers a question */
        post: operations["postApproval"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/archives": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the archive store holds */
        get: operations["getArchives"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/archives/{digest}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The bytes of an archive */
        get: operations["getArchive"];
        /** Uploads an archive, or a part of one */
        put: operations["putArchive"];
        post?: never;
        /** Removes an archive */
        delete: operations["deleteArchive"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{sessionId}/bundle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The session with all that belongs to it, as one file */
        get: operations["getBundle"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/bundles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Makes a session of a bundle that is in the archive store */
        post: operations["importBundle"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Claims the daemon of an E2B sandbox by its access token
         * @description Only with --claim-e2b. It checks a token of its own.
         */
        post: operations["postClaim"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/acp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The WebSocket of ACP
         * @description One JSON-RPC object in each text frame. The types AcpMethods and AcpSent describe what is private to acpd in it. The token stands in Authorization, or in the subprotocol acpd.bearer.TOKEN (base64url) beside acp.v1.
         */
        get: operations["getAcp"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The daemon lives */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This description */
        get: operations["getOpenapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether sessions can be served */
        get: operations["getReady"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Metrics for Prometheus */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/info": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What somebody asks before the first session */
        get: operations["getInfo"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** State, work, deadlines and lease */
        get: operations["getStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/shutdown": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends the daemon, after it has drained */
        post: operations["postShutdown"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/restart": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Restarts the daemon in place, after it has drained */
        post: operations["postRestart"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The state of hosted MCP servers */
        get: operations["getHosted"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the server says by itself */
        get: operations["getMcp"];
        put?: never;
        /** A message of MCP to the tools of the daemon or of a session */
        post: operations["postMcp"];
        /** Ends a session of MCP */
        delete: operations["deleteMcp"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/mcp/{server}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a hosted server says by itself */
        get: operations["getMcpServer"];
        put?: never;
        /** A message of MCP to a hosted server */
        post: operations["postMcpServer"];
        /** Ends a session of MCP with a hosted server */
        delete: operations["deleteMcpServer"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All sessions */
        get: operations["getSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{sessionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One session */
        get: operations["getSession"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{sessionId}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The events of a session, once or as they come
         * @description Lines of JSON, or server-sent events of `id: SEQ` and one `data:` line.
         */
        get: operations["getEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Tokens that hold */
        get: operations["getTokens"];
        put?: never;
        /** Mints a token */
        post: operations["postToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tokens/{tokenId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revokes a token and closes its connections */
        delete: operations["deleteToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Records of the usage ledger */
        get: operations["getUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ui": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Leads to the run viewer */
        get: operations["getUiTop"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ui/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The page of the run viewer */
        get: operations["getUi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ui/app.js": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Its script */
        get: operations["getUiScript"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ui/app.css": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Its style */
        get: operations["getUiStyle"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{sessionId}/workspace": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The workspace as an archive */
        get: operations["getWorkspace"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{sessionId}/artifacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The artifacts of a session */
        get: operations["getArtifacts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{sessionId}/artifacts/{artifactId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The bytes of an artifact */
        get: operations["getArtifact"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    "turn.ended": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A turn has ended */
        post: operations["onTurnEnded"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "question.open": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Nobody but a human can answer */
        post: operations["onQuestionOpen"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "budget.warning": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** 80 % of a budget are used */
        post: operations["onBudgetWarning"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "session.broken": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Its harness has gone or does not come, or its journal is damaged */
        post: operations["onSessionBroken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "artifact.created": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A file was kept */
        post: operations["onArtifactCreated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "check.failed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A check has failed */
        post: operations["onCheckFailed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "draft.ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A turn has left changes in a draft */
        post: operations["onDraftReady"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    webhook_gap: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Some of the numbers from `from` to `to` never come */
        post: operations["onGap"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        /** @description What a client may send over /acp: each method with its parameters and its result (params, result), or, where those are ACP's, what may stand below _meta.acpd of them (meta, resultMeta). */
        AcpMethods: {
            /** @description Begins; clientCapabilities._meta.acpd is ClientMeta, agentCapabilities._meta.acpd of the answer AgentMeta */
            initialize: Record<string, never>;
            /** @description For harnesses that need it */
            authenticate: Record<string, never>;
            /** @description Makes a session */
            "session/new": {
                meta: components["schemas"]["SessionNewMeta"];
                resultMeta: components["schemas"]["SessionNewResultMeta"];
            };
            /** @description Takes up a session, with its history */
            "session/load": {
                meta: components["schemas"]["SessionLoadMeta"];
                resultMeta: components["schemas"]["SessionLoadResultMeta"];
            };
            /** @description Takes up a session, without its history */
            "session/resume": {
                meta: components["schemas"]["SessionResumeMeta"];
                resultMeta: components["schemas"]["SessionResumeResultMeta"];
            };
            /** @description Makes a session that goes on where another one is */
            "session/fork": {
                meta: components["schemas"]["SessionForkMeta"];
                resultMeta: components["schemas"]["SessionForkResultMeta"];
            };
            /** @description Lists sessions */
            "session/list": Record<string, never>;
            /** @description Ends the harness of a session */
            "session/close": Record<string, never>;
            /** @description Removes a session */
            "session/delete": Record<string, never>;
            /** @description A prompt */
            "session/prompt": {
                meta: components["schemas"]["SessionPromptMeta"];
                resultMeta: components["schemas"]["SessionPromptResultMeta"];
            };
            /** @description Tells a running turn something more */
            "_session/steering": Record<string, never>;
            /** @description Cancels the running turn */
            "session/cancel": Record<string, never>;
            /** @description Chooses a mode */
            "session/set_mode": Record<string, never>;
            /** @description Chooses a model */
            "session/set_model": Record<string, never>;
            /** @description Chooses a value of an option */
            "session/set_config_option": Record<string, never>;
            /** @description Cancels a request */
            "$/cancel_request": Record<string, never>;
            /** @description A message of MCP from a server of the client */
            "mcp/message": Record<string, never>;
            /** @description The provider of the connection */
            "providers/list": Record<string, never>;
            /** @description Gives the connection a provider */
            "providers/set": {
                resultMeta: components["schemas"]["ProvidersSetResultMeta"];
            };
            /** @description Takes it away */
            "providers/disable": Record<string, never>;
            /** @description Open questions */
            "_acpd/approvals/list": {
                params: components["schemas"]["AcpdApprovalsListParams"];
                result: components["schemas"]["AcpdApprovalsListResult"];
            };
            /** @description Answers a question */
            "_acpd/approvals/answer": {
                params: components["schemas"]["AcpdApprovalsAnswerParams"];
                result: components["schemas"]["AcpdApprovalsAnswerResult"];
            };
            /** @description Rules that people have made of a session */
            "_acpd/approvals/rules": {
                params: components["schemas"]["AcpdApprovalsRulesParams"];
                result: components["schemas"]["AcpdApprovalsRulesResult"];
            };
            /** @description Takes a rule back */
            "_acpd/approvals/forget": {
                params: components["schemas"]["AcpdApprovalsForgetParams"];
                result: components["schemas"]["AcpdApprovalsForgetResult"];
            };
            /** @description This connection makes the model calls of these sessions */
            "_acpd/model/attach": {
                params: components["schemas"]["AcpdModelAttachParams"];
                result: components["schemas"]["AcpdModelAttachResult"];
            };
            /** @description Begins an answer */
            "_acpd/model/head": {
                params: components["schemas"]["AcpdModelHeadParams"];
            };
            /** @description Goes on with an answer */
            "_acpd/model/chunk": {
                params: components["schemas"]["AcpdModelChunkParams"];
            };
            /** @description So much of the request was taken */
            "_acpd/model/credit": {
                params: components["schemas"]["AcpdModelCreditParams"];
            };
            /** @description Changes what a session may call */
            "_acpd/network/set": {
                params: components["schemas"]["AcpdNetworkSetParams"];
                result: components["schemas"]["AcpdNetworkSetResult"];
            };
            /** @description Changes the provider of a session */
            "_acpd/provider/set": {
                params: components["schemas"]["AcpdProviderSetParams"];
                result: components["schemas"]["AcpdProviderSetResult"];
            };
            /** @description Events up to seq are stored: the daemon may drop them */
            "_acpd/ack": {
                params: components["schemas"]["AcpdAckParams"];
                result: components["schemas"]["AcpdAckResult"];
            };
            /** @description The state of the daemon and its sessions */
            "_acpd/status": {
                params: components["schemas"]["AcpdStatusParams"];
                result: components["schemas"]["AcpdStatusResult"];
            };
            /** @description Mints a token */
            "_acpd/tokens/mint": {
                params: components["schemas"]["AcpdTokensMintParams"];
                result: components["schemas"]["AcpdTokensMintResult"];
            };
            /** @description Tokens that hold */
            "_acpd/tokens/list": {
                params: components["schemas"]["AcpdTokensListParams"];
                result: components["schemas"]["AcpdTokensListResult"];
            };
            /** @description Revokes a token and closes its connections */
            "_acpd/tokens/revoke": {
                params: components["schemas"]["AcpdTokensRevokeParams"];
                result: components["schemas"]["AcpdTokensRevokeResult"];
            };
            /** @description Records of the usage ledger */
            "_acpd/usage": {
                params: components["schemas"]["AcpdUsageParams"];
                result: components["schemas"]["AcpdUsageResult"];
            };
            /** @description Brings the workspace to what is given */
            "_acpd/workspace/materialize": {
                params: components["schemas"]["AcpdWorkspaceMaterializeParams"];
                result: components["schemas"]["AcpdWorkspaceMaterializeResult"];
            };
            /** @description What has changed */
            "_acpd/workspace/diff": {
                params: components["schemas"]["AcpdWorkspaceDiffParams"];
                result: components["schemas"]["AcpdWorkspaceDiffResult"];
            };
            /** @description Applies the draft */
            "_acpd/workspace/apply": {
                params: components["schemas"]["AcpdWorkspaceApplyParams"];
                result: components["schemas"]["AcpdWorkspaceApplyResult"];
            };
            /** @description Begins or ends a draft */
            "_acpd/session/draft": {
                params: components["schemas"]["AcpdSessionDraftParams"];
                result: components["schemas"]["AcpdSessionDraftResult"];
            };
            /** @description Runs checks now */
            "_acpd/check": {
                params: components["schemas"]["AcpdCheckParams"];
                result: components["schemas"]["AcpdCheckResult"];
            };
            /** @description Adds skills */
            "_acpd/skills/install": {
                params: components["schemas"]["AcpdSkillsInstallParams"];
                result: components["schemas"]["AcpdSkillsInstallResult"];
            };
            /** @description Removes skills */
            "_acpd/skills/remove": {
                params: components["schemas"]["AcpdSkillsRemoveParams"];
                result: components["schemas"]["AcpdSkillsRemoveResult"];
            };
            /** @description Says what is wrong with skills */
            "_acpd/skills/validate": {
                params: components["schemas"]["AcpdSkillsValidateParams"];
                result: components["schemas"]["AcpdSkillsValidateResult"];
            };
            /** @description The skills of a session */
            "_acpd/skills/list": {
                params: components["schemas"]["AcpdSkillsListParams"];
                result: components["schemas"]["AcpdSkillsListResult"];
            };
            /** @description Adds an artifact */
            "_acpd/artifact/put": {
                params: components["schemas"]["AcpdArtifactPutParams"];
                result: components["schemas"]["AcpdArtifactPutResult"];
            };
            /** @description The artifacts of a session */
            "_acpd/artifact/list": {
                params: components["schemas"]["AcpdArtifactListParams"];
                result: components["schemas"]["AcpdArtifactListResult"];
            };
            /** @description The bytes of an artifact */
            "_acpd/artifact/get": {
                params: components["schemas"]["AcpdArtifactGetParams"];
                result: components["schemas"]["AcpdArtifactGetResult"];
            };
            /** @description Which harnesses there are */
            "_acpd/harness/list": {
                params: components["schemas"]["AcpdHarnessListParams"];
                result: components["schemas"]["AcpdHarnessListResult"];
            };
        };
        /** @description What the daemon sends over /acp besides answers, described likewise. */
        AcpSent: {
            /** @description What happens in a session */
            "session/update": {
                meta: components["schemas"]["SentSessionUpdateMeta"];
            };
            /** @description A question to the driver */
            "session/request_permission": Record<string, never>;
            /** @description A message of MCP to a server of the client */
            "mcp/message": {
                meta: components["schemas"]["SentMcpMessageMeta"];
            };
            /** @description A model call that the client is to make */
            "_acpd/model/request": {
                params: components["schemas"]["SentAcpdModelRequestParams"];
                result: components["schemas"]["SentAcpdModelRequestResult"];
            };
            /** @description The body of a model call */
            "_acpd/model/body": {
                params: components["schemas"]["SentAcpdModelBodyParams"];
            };
            /** @description So much of the answer was taken */
            "_acpd/model/credit": {
                params: components["schemas"]["SentAcpdModelCreditParams"];
            };
            /** @description The state of the daemon has changed */
            "_acpd/status": {
                params: components["schemas"]["SentAcpdStatusParams"];
            };
            /** @description Events that are not there any more */
            "_acpd/gap": {
                params: components["schemas"]["SentAcpdGapParams"];
            };
            /** @description The connection does not drive the session any more */
            "_acpd/detached": {
                params: components["schemas"]["SentAcpdDetachedParams"];
            };
            /** @description The machine was away and is back */
            "_acpd/resumed": {
                params: components["schemas"]["SentAcpdResumedParams"];
            };
            /** @description How a turn ended */
            "_acpd/turn_end": {
                params: components["schemas"]["SentAcpdTurnEndParams"];
            };
            /** @description What ACP has no update for */
            "_acpd/event": {
                params: components["schemas"]["SentAcpdEventParams"];
            };
        };
        AcpdAckParams: {
            /** @description the run of the daemon of that number */
            incarnation?: string;
            /** @description the session */
            sessionId: string;
            /** @description the newest event that is stored */
            seq: number;
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdAckResult: Record<string, never>;
        AcpdApprovalsAnswerParams: {
            /** @description the session */
            sessionId?: string;
            /** @description the question */
            id: string;
            /** @description of a permission: the option */
            optionId?: string;
            /** @description of a permission, as ACP has it: {outcome: "cancelled"}, or "selected" with optionId */
            outcome?: {
                [key: string]: unknown;
            };
            /**
             * @description of an elicitation
             * @enum {string}
             */
            action?: "accept" | "decline" | "cancel";
            /** @description of an elicitation that is accepted */
            content?: {
                [key: string]: unknown;
            };
            /**
             * @description who decided: a program, or a human who uses the client
             * @default client
             * @enum {string}
             */
            by: "client" | "human";
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdApprovalsAnswerResult: components["schemas"]["ApprovalAnswered"];
        AcpdApprovalsForgetParams: {
            /** @description the session */
            sessionId: string;
            /** @description the rule */
            id: string;
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdApprovalsForgetResult: components["schemas"]["OwnRules"];
        AcpdApprovalsListParams: {
            /** @description only of this session */
            sessionId?: string;
            /** @description nextCursor of the page before */
            cursor?: string;
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdApprovalsListResult: components["schemas"]["Approvals"];
        AcpdApprovalsRulesParams: {
            /** @description the session */
            sessionId: string;
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdApprovalsRulesResult: components["schemas"]["OwnRules"];
        AcpdArtifactGetParams: {
            /** @description the session */
            sessionId: string;
            /** @description the artifact */
            id: string;
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdArtifactGetResult: {
            artifact: components["schemas"]["Artifact"];
            text?: string;
            base64?: string;
        };
        AcpdArtifactListParams: {
            /** @description the session */
            sessionId: string;
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdArtifactListResult: components["schemas"]["Artifacts"];
        AcpdArtifactPutParams: {
            /** @description the session */
            sessionId: string;
            /** @description its name */
            name: string;
            /** @description its media type */
            type?: string;
            /** @description its text */
            text?: string;
            /** @description or its bytes */
            base64?: string;
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdArtifactPutResult: {
            artifact: components["schemas"]["Artifact"];
        };
        AcpdCheckParams: {
            /** @description the session */
            sessionId: string;
            /** @description those of the session without it */
            checks?: components["schemas"]["Check"][];
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdCheckResult: components["schemas"]["Checked"];
        AcpdHarnessListParams: {
            /** @description for this session */
            sessionId?: string;
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdHarnessListResult: {
            harnesses: {
                id: string;
                title: string;
                command?: string;
                installed: boolean;
                path?: string;
                /** @description as the program says it */
                version?: string;
                versionFits?: boolean;
                pin?: {
                    package: string;
                    release: string;
                    version: string;
                    file: string;
                    sha256: string;
                    /** @enum {string} */
                    of: "package" | "file";
                };
                problem?: {
                    reason: string;
                    message: string;
                };
            }[];
        };
        AcpdModelAttachParams: {
            sessionIds: string[];
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdModelAttachResult: Record<string, never>;
        AcpdModelChunkParams: {
            /** @description the call */
            callId: string;
            /** @description from 0 */
            seq: number;
            /** @description a piece */
            text?: string;
            /** @description or its bytes */
            b64?: string;
        };
        AcpdModelCreditParams: {
            /** @description the call */
            callId: string;
            /** @description how much */
            bytes: number;
        };
        AcpdModelHeadParams: {
            /** @description the call */
            callId: string;
            /** @description of HTTP */
            status: number;
            /** @description of the answer */
            headers?: {
                [key: string]: string;
            };
        };
        AcpdNetworkSetParams: {
            /** @description the session */
            sessionId: string;
            network: components["schemas"]["Network"];
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdNetworkSetResult: {
            _meta: {
                acpd: {
                    network: components["schemas"]["NetworkAchieved"];
                };
            };
        };
        AcpdProviderSetParams: {
            /** @description the session */
            sessionId: string;
            provider: components["schemas"]["Provider"];
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdProviderSetResult: {
            _meta: {
                acpd: {
                    provider: components["schemas"]["ProviderState"];
                };
            };
        };
        AcpdSessionDraftParams: {
            /** @description the session */
            sessionId: string;
            /** @description whether there is one */
            on: boolean;
            /** @description what it has changed is thrown away */
            discard?: boolean;
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdSessionDraftResult: {
            draft: components["schemas"]["Draft"];
        };
        AcpdSkillsInstallParams: {
            /** @description the session */
            sessionId: string;
            skills: components["schemas"]["Skill"][];
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdSkillsInstallResult: {
            skills: components["schemas"]["SkillsReport"];
        };
        AcpdSkillsListParams: {
            /** @description the session */
            sessionId: string;
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdSkillsListResult: {
            skills: components["schemas"]["SkillState"][];
        };
        AcpdSkillsRemoveParams: {
            /** @description the session */
            sessionId: string;
            names: string[];
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdSkillsRemoveResult: {
            skills: components["schemas"]["SkillsReport"];
        };
        AcpdSkillsValidateParams: {
            /** @description the session */
            sessionId: string;
            skills: components["schemas"]["Skill"][];
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdSkillsValidateResult: {
            skills: components["schemas"]["SkillsReport"];
        };
        AcpdStatusParams: {
            /** @description only this session */
            sessionId?: string;
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdStatusResult: components["schemas"]["Status"];
        AcpdTokensListParams: {
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdTokensListResult: components["schemas"]["Tokens"];
        AcpdTokensMintParams: components["schemas"]["TokenOrder"];
        AcpdTokensMintResult: components["schemas"]["TokenMinted"];
        AcpdTokensRevokeParams: {
            /** @description the id of the token */
            id: string;
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdTokensRevokeResult: Record<string, never>;
        AcpdUsageParams: {
            /** @description only of this session */
            sessionId?: string;
            /** @description records with a greater number; those up to it have arrived */
            since?: number;
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdUsageResult: components["schemas"]["UsagePage"];
        AcpdWorkspaceApplyParams: {
            /** @description the session */
            sessionId: string;
            /** @description of the diff that was looked at */
            patchDigest: string;
            /** @description conflicts that are applied all the same */
            force?: string[];
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdWorkspaceApplyResult: {
            draft: components["schemas"]["Draft"];
            patchDigest: string;
            applied: number;
        };
        AcpdWorkspaceDiffParams: {
            /** @description the session */
            sessionId: string;
            /** @description since when: the baseline, or a turn */
            since?: ("baseline" | "turn" | "draft") | number;
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdWorkspaceDiffResult: components["schemas"]["Diff"];
        AcpdWorkspaceMaterializeParams: {
            /** @description the session */
            sessionId: string;
            workspace?: components["schemas"]["Workspace"];
            /** @description instructions for the agent */
            instructions?: string | components["schemas"]["Text"];
            harnessFiles?: components["schemas"]["HarnessFile"][];
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        AcpdWorkspaceMaterializeResult: {
            workspace?: components["schemas"]["Materialized"];
            instructions?: components["schemas"]["InstructionsWritten"];
            skills?: components["schemas"]["SkillsReport"];
        };
        /** @description agentCapabilities._meta.acpd */
        AgentMeta: {
            version: string;
            incarnation: string;
            sandboxId?: string;
            /** @description the harness of sessions that name none */
            harness: string;
            /** @description where workspaces are made */
            workspaces?: string;
            harnesses: string[];
            harnessesNotInstalled: string[];
            token?: components["schemas"]["OwnToken"];
            features: components["schemas"]["Features"];
            limits: components["schemas"]["Limits"];
        };
        /** @description an event of AG-UI: @ag-ui/core describes its other members */
        AguiEvent: {
            /** @enum {string} */
            type: "RUN_STARTED" | "RUN_FINISHED" | "RUN_ERROR" | "TEXT_MESSAGE_START" | "TEXT_MESSAGE_CONTENT" | "TEXT_MESSAGE_END" | "REASONING_START" | "REASONING_MESSAGE_START" | "REASONING_MESSAGE_CONTENT" | "REASONING_MESSAGE_END" | "REASONING_END" | "TOOL_CALL_START" | "TOOL_CALL_ARGS" | "TOOL_CALL_END" | "TOOL_CALL_RESULT" | "STATE_SNAPSHOT" | "STATE_DELTA" | "MESSAGES_SNAPSHOT" | "ACTIVITY_SNAPSHOT" | "ACTIVITY_DELTA" | "CUSTOM" | "RAW" | "STEP_STARTED" | "STEP_FINISHED" | "SUBAGENT_STARTED" | "SUBAGENT_FINISHED" | "SUBAGENT_ERROR";
        } & {
            [key: string]: unknown;
        };
        AguiMessage: {
            /** @description unique in the thread */
            id: string;
            /**
             * @description whose it is
             * @enum {string}
             */
            role: "user" | "system" | "developer" | "assistant" | "tool" | "reasoning" | "activity";
            /** @description of role tool: the call */
            toolCallId?: string;
            /** @description text, or parts */
            content?: {
                [key: string]: unknown;
            };
            /** @description of role tool: why there is no result */
            error?: {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        /** @description an open question */
        Approval: {
            /** @description SESSION:ASK */
            id: string;
            sessionId: string;
            turn?: number;
            /** @enum {string} */
            kind: "permission" | "elicitation";
            /** @description what the driver gets, without sessionId */
            request?: {
                [key: string]: unknown;
            };
            /** @description its size, where it is left out */
            requestBytes?: number;
            /** Format: date-time */
            askedAt: string;
            /** Format: date-time */
            expiresAt?: string;
            /** @description the answer when the time is up */
            default?: string;
        };
        ApprovalAnswer: {
            /** @description of a permission: the option */
            optionId?: string;
            /** @description of a permission, as ACP has it: {outcome: "cancelled"}, or "selected" with optionId */
            outcome?: {
                [key: string]: unknown;
            };
            /**
             * @description of an elicitation
             * @enum {string}
             */
            action?: "accept" | "decline" | "cancel";
            /** @description of an elicitation that is accepted */
            content?: {
                [key: string]: unknown;
            };
            /**
             * @description who decided: a program, or a human who uses the client
             * @default client
             * @enum {string}
             */
            by: "client" | "human";
        };
        ApprovalAnswered: {
            id: string;
            /** @description as ACP has the result */
            answer: {
                [key: string]: unknown;
            };
        };
        ApprovalTerms: {
            /** @description so long a question waits */
            timeoutMs?: number;
            /** @enum {string} */
            default?: "reject" | "allow" | "cancel";
        };
        Approvals: {
            approvals: components["schemas"]["Approval"][];
            /** @description brings the rest */
            nextCursor?: string;
        };
        ArchivePart: {
            digest: string;
            /** @description the bytes that are there */
            partial: number;
        };
        ArchiveStored: {
            digest: string;
            size: number;
        };
        Archives: {
            used: number;
            limit: number;
            archives: {
                digest: string;
                size?: number;
                /** @description of one that was not uploaded whole: the bytes that are there */
                partial?: number;
                /** Format: date-time */
                lastUsed?: string;
                pinned: boolean;
                /** @description it came with the image */
                baked: boolean;
            }[];
        };
        /** @description a file of a session */
        Artifact: {
            id: string;
            name: string;
            /** @description a media type */
            type: string;
            size: number;
            /** @description sha256:… */
            sha256: string;
            turn?: number;
            /** @description diff, client, tool … */
            source: string;
            /** Format: date-time */
            ts: string;
            timeMs: number;
        };
        Artifacts: {
            artifacts: components["schemas"]["Artifact"][];
        };
        /** @description which attempt at its prompt a turn is */
        Attempt: {
            n: number;
            of: number;
            /** @description the turn of the first attempt */
            first: number;
            /** @description another one follows */
            retried?: boolean;
        };
        /** @description limits of a turn, a session or a prompt */
        Budget: {
            /** @description model calls */
            steps?: number;
            toolCalls?: number;
            seconds?: number;
            tokens?: number;
            cost?: number;
        };
        /** @description a budget that holds now, and how much of it is used */
        BudgetUse: {
            budget: string;
            /** @enum {string} */
            scope: "prompt" | "turn" | "session";
            limit: number;
            used: number;
        };
        /** @description limits for each turn, and for the session */
        Budgets: {
            turn?: components["schemas"]["Budget"];
            session?: components["schemas"]["Budget"];
        };
        BuiltinRequest: {
            /** @description only these */
            tools?: string[];
            /** @description targets of runTests */
            tests?: {
                [key: string]: components["schemas"]["TestTarget"];
            };
            /** @description of runCode */
            interpreters?: {
                [key: string]: unknown;
            };
        };
        /** @description what has to hold */
        Check: components["schemas"]["CommandCheck"] | components["schemas"]["TestsCheck"] | components["schemas"]["PathsCheck"] | components["schemas"]["SizeCheck"];
        /** @description how a check ended */
        CheckResult: {
            id: string;
            /** @enum {string} */
            kind: "command" | "tests" | "paths" | "diffSize";
            ok: boolean;
            durationMs: number;
            exitCode?: number;
            signal?: string;
            stdoutTail?: string;
            stderrTail?: string;
            outputTail?: string;
            stdoutTruncated?: number;
            stderrTruncated?: number;
            outputTruncated?: number;
            /** @description processes */
            leftBehind?: number;
            tests?: {
                passed?: number;
                failed?: number;
                skipped?: number;
                failures?: {
                    suite?: string;
                    name: string;
                    message?: string;
                }[];
                moreFailures?: number;
                partial?: boolean;
            };
            offending?: string[];
            offendingTotal?: number;
            counts?: {
                files: number;
                insertions: number;
                deletions: number;
                lines: number;
            };
            /** @description what it changed; null: not known */
            changed?: {
                paths: string[];
                total: number;
            } | null;
            error?: {
                reason: string;
                message: string;
            };
        };
        /** @description what checks say */
        Checked: {
            /** @enum {string} */
            verdict: "verified" | "failed" | "unchecked";
            results: components["schemas"]["CheckResult"][];
        };
        /** @description what a claim sets */
        Claim: {
            /** @description of the token that the daemon is given */
            digest: string;
            /** @description options of serve by name, without dashes */
            settings?: {
                [key: string]: string | number | boolean;
            };
            /** @description who is told what happens */
            webhooks?: components["schemas"]["WebhookReceiver"][];
            /** @description the id of the sandbox */
            sandboxId?: string;
            /** @description give a claimed daemon another token: only over control.sock */
            replace?: boolean;
            /** @description with replace: minted tokens hold on */
            keepTokens?: boolean;
        };
        /** @description clientCapabilities._meta.acpd */
        ClientMeta: {
            model?: {
                apis: string[];
                /** @description it makes model calls and does nothing else */
                only?: boolean;
            };
            deduplicatesToolCalls?: boolean;
        } & {
            [key: string]: unknown;
        };
        CommandArchiveExtract: {
            done: components["schemas"]["Materialized"];
        } | {
            refused: components["schemas"]["UnpackProblem"];
        } | {
            failed: components["schemas"]["UnpackProblem"];
        };
        CommandArchiveHave: {
            digest: string;
            size: number;
            /** @description bytes that the daemon has */
            have: number;
        };
        CommandArchiveList: components["schemas"]["Archives"];
        CommandArchivePut: {
            digest: string;
            size: number;
            /** @description bytes that the daemon did not have */
            sent: number;
        };
        CommandArchiveRm: {
            digest: string;
            /** @constant */
            removed: true;
        };
        CommandBundleExport: {
            sessionId: string;
            file: string;
            bytes: number;
        };
        CommandBundleImport: {
            sessionId: string;
        };
        CommandCheck: {
            /** @description unique in the list */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "command";
            /** @description its time */
            timeoutMs?: number;
            /** @description where it runs */
            cwd?: string;
            /** @description further variables */
            env?: {
                [key: string]: string;
            };
            /** @description a program and its arguments */
            argv?: string[];
            /** @description text for a shell */
            command?: string;
            /** @description the exit code of success */
            expectExit?: number;
        };
        CommandConfineTry: {
            level: components["schemas"]["LevelAchieved"];
            exitCode?: number;
            signal?: number;
            refused: {
                call: string;
                detail?: string;
                errno: string;
                count: number;
                why?: string;
                rule?: string;
                /** @constant */
                harmless?: true;
            }[];
            /** @description refusals that are not in it */
            more?: number;
        };
        CommandDoctor: {
            findings: components["schemas"]["Finding"][];
            /** @description findings that are not in it */
            more?: number;
            daemon?: components["schemas"]["DaemonReport"];
            exitCode: number;
        };
        CommandHarnessInstall: {
            harness: string;
            package: string;
            release: string;
            installed: boolean;
            already?: boolean;
            sha256?: string;
            /** @description why not */
            problem?: {
                /** @description daemon/protocol/errors.md */
                reason: string;
                /** @description for people */
                message: string;
            };
        };
        CommandHarnessList: {
            /** @description where they are installed */
            prefix: string;
            harnesses: {
                id: string;
                title: string;
                command: string;
                installed: boolean;
                path?: string;
                version?: string;
                /** @description it is the pinned one */
                versionFits?: boolean;
                pin?: {
                    package: string;
                    release: string;
                    version: string;
                    file: string;
                    sha256: string;
                    /** @enum {string} */
                    of: "file" | "package";
                };
                /** @description why not */
                problem?: {
                    /** @description daemon/protocol/errors.md */
                    reason: string;
                    /** @description for people */
                    message: string;
                };
            }[];
        };
        CommandHarnessVerify: {
            harnesses: {
                id: string;
                path: string;
                verified: boolean;
                sha256: string;
                /** @description why not */
                problem?: {
                    /** @description daemon/protocol/errors.md */
                    reason: string;
                    /** @description for people */
                    message: string;
                };
            }[];
        };
        CommandRule: {
            /** @description the very command */
            argv?: string[];
            /** @description how it begins */
            prefix?: string[];
            /** @enum {string} */
            policy: "allow" | "ask" | "deny";
        };
        CommandRun: {
            sessionId?: string;
            stopReason?: string;
            /** @description what the agent said */
            text: string;
            toolCalls: number;
            /** @description as ACP has it */
            usage?: {
                [key: string]: unknown;
            };
            /** @description as JSON-RPC has it */
            error?: {
                [key: string]: unknown;
            };
            exitCode: number;
        };
        CommandSessions: {
            sessions: components["schemas"]["Session"][];
        };
        CommandSkillsValidate: {
            done: {
                skills: components["schemas"]["SkillState"][];
            };
        } | {
            refused: components["schemas"]["UnpackProblem"];
        } | {
            failed: components["schemas"]["UnpackProblem"];
        };
        CommandStats: {
            groups: components["schemas"]["RunGroup"][];
            all: components["schemas"]["RunGroup"];
        };
        CommandTokensList: components["schemas"]["Tokens"];
        CommandTokensMint: components["schemas"]["TokenMinted"];
        CommandUsage: components["schemas"]["UsageRecord"];
        CommandUsageVerify: {
            ok: boolean;
            records: number;
            incarnations: number;
            /** @description the oldest record */
            first?: number;
            /** @description the newest */
            last?: number;
            /** @description SHA-256 of its line */
            digest?: string;
            /**
             * @description it begins after the record of --from, or has it
             * @constant
             */
            anchored?: true;
            /** @description where it is wrong */
            file?: string;
            line?: number;
            reason?: string;
        };
        /** @description What commands of acpd print with --json: one JSON object, or with x-acpd-lines one on each line. Without it a command prints nothing, as do those that are not here. */
        Commands: {
            /** @description How a prompt went */
            run: components["schemas"]["CommandRun"];
            /** @description The sessions of the daemon */
            sessions: components["schemas"]["CommandSessions"];
            /** @description The new token */
            "tokens mint": components["schemas"]["CommandTokensMint"];
            /** @description Tokens that hold */
            "tokens list": components["schemas"]["CommandTokensList"];
            /** @description What is wrong with a ledger */
            "usage verify": components["schemas"]["CommandUsageVerify"];
            /** @description The records, one a line */
            usage: components["schemas"]["CommandUsage"];
            /** @description Means of turns */
            stats: components["schemas"]["CommandStats"];
            /** @description The archive */
            "archive put": components["schemas"]["CommandArchivePut"];
            /** @description The archive, if the daemon has it */
            "archive have": components["schemas"]["CommandArchiveHave"];
            /** @description What the archive store holds */
            "archive list": components["schemas"]["CommandArchiveList"];
            /** @description The archive that is gone */
            "archive rm": components["schemas"]["CommandArchiveRm"];
            /** @description What was written */
            "archive extract": components["schemas"]["CommandArchiveExtract"];
            /** @description The file, if it has a name */
            "bundle export": components["schemas"]["CommandBundleExport"];
            /** @description The session that was made of it */
            "bundle import": components["schemas"]["CommandBundleImport"];
            /** @description What is wrong with a skill */
            "skills validate": components["schemas"]["CommandSkillsValidate"];
            /** @description What a command was refused */
            "confine try": components["schemas"]["CommandConfineTry"];
            /** @description Which harnesses there are */
            "harness list": components["schemas"]["CommandHarnessList"];
            /** @description What was installed */
            "harness install": components["schemas"]["CommandHarnessInstall"];
            /** @description Whether harnesses are what is pinned */
            "harness verify": components["schemas"]["CommandHarnessVerify"];
            /** @description What of the machine and the settings is wrong */
            doctor: components["schemas"]["CommandDoctor"];
        };
        Cost: {
            amount: number;
            currency: string;
            /** @description harness, provider, prices or sum */
            source: string;
        };
        /** @description what a daemon says to acpd doctor */
        DaemonReport: {
            version: string;
            incarnation: string;
            claimed: boolean;
            /** @description how often another program took the place of the first */
            restarts: number;
            sessions: number;
            children: number;
            /** @description what kills by: v2, v1, none */
            cgroup: string;
            limits: components["schemas"]["LimitsAchieved"];
            agentUser?: string;
            isolation: components["schemas"]["Isolation"];
            /** @description acpd-fetch */
            direct: {
                [key: string]: unknown;
            };
            problems: {
                what: string;
                name?: string;
                text: string;
            }[];
            harnesses: {
                id: string;
                command: string;
                installed: boolean;
                path?: string;
            }[];
            mcp: components["schemas"]["Hosted"];
        };
        /** @description state, work, deadlines and lease */
        DaemonStatus: {
            /** @description this run of the daemon */
            incarnation: string;
            /** @enum {string} */
            state: "provisioning" | "ready" | "paused" | "draining";
            /** @description work is under way; not told to a token that is limited to some sessions, as the next three */
            busy?: boolean;
            /** Format: date-time */
            idleSince?: string;
            work?: {
                turns: number;
                queued: number;
                questions: number;
                toolCalls: number;
                modelCalls: number;
                jobs: number;
                waiting: number;
                uploads: number;
            };
            /** @description what happens first unless something else does */
            nextDeadline?: {
                what: string;
                /** Format: date-time */
                at: string;
                sessionId?: string;
            };
            /**
             * Format: date-time
             * @description until when the platform should let the sandbox live
             */
            leaseUntil: string;
            /** @description the same from now on */
            leaseSeconds: number;
            draining?: {
                /** @enum {string} */
                why: "signal" | "shutdown" | "restart" | "idle" | "maxLife";
                /** Format: date-time */
                until: string;
            };
        };
        /** @description what damage has taken of a session */
        Damage: {
            /** @description events that are lost */
            missing: number;
            /** @description its head is lost, too */
            unusable?: boolean;
        };
        Deleted: {
            /** @constant */
            deleted: true;
        };
        /** @description what has changed; from changes on: of a draft */
        Diff: {
            /** @description a git patch */
            patch?: string;
            /** @description where it is, if it is long */
            artifact?: components["schemas"]["Artifact"];
            files: number;
            insertions: number;
            deletions: number;
            omitted: {
                path: string;
                reason: string;
            }[];
            omittedTotal: number;
            /** @description a digest of all that differs */
            state?: string;
            patchDigest?: string;
            changes?: {
                path: string;
                from?: components["schemas"]["DiffEntry"];
                to?: components["schemas"]["DiffEntry"];
            }[];
            changesTotal?: number;
            bytes?: number;
            conflicts?: string[];
            conflictsTotal?: number;
        };
        DiffEntry: {
            /** @enum {string} */
            type: "file" | "directory" | "link";
            size?: number;
            digest?: string;
            mode: string;
            to?: string;
        };
        /** @description a tree that stands for the workspace */
        Draft: {
            on: boolean;
            /** @enum {string} */
            how?: "overlay" | "copy" | "reflink";
            /** @description where the draft is */
            path?: string;
            /** @description why it is no overlay */
            missing?: string;
            /** @description what it takes */
            bytes?: number;
        };
        /** @description when a draft begins by itself */
        DraftAfter: {
            /** @description failed verdicts in a row */
            checks?: number;
            /** @description failed tool calls in a row */
            tools?: number;
        };
        /** @description why a request was refused */
        Error: {
            error: {
                /** @description the reason, stable: daemon/protocol/errors.md */
                reason: string;
                /** @description for people */
                message: string;
                /** @description the member that is wrong */
                field?: string;
                /** @description SCOPE_REQUIRED: what a token needs for it */
                scope?: string;
                /** @description APPROVAL_ANSWERED: who answered */
                by?: string;
                /** @description by which way */
                via?: string;
                /** @description the rule that answered */
                rule?: string;
                /** @description why nobody was asked */
                why?: string;
            };
        };
        /** @description data of an error */
        ErrorData: {
            /** @description daemon/protocol/errors.md */
            reason: string;
            field?: string;
            /** @description SCOPE_REQUIRED: what a token needs for it */
            scope?: string;
            sessionId?: string;
            turn?: components["schemas"]["TurnError"];
            known?: string[];
            by?: string;
            via?: string;
            rule?: string;
            names?: string[];
            checks?: components["schemas"]["Checked"];
            attempt?: components["schemas"]["Attempt"];
            conflicts?: string[];
            conflictsTotal?: number;
            /** @description what acpd-unpack has refused */
            refused?: {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        /** @description One event of a session. */
        Event: ({
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @enum {string} */
            kind: "prompt" | "message" | "thought" | "plan" | "tool_call" | "result";
            /** @description the name of the update */
            event?: string;
        } & {
            [key: string]: unknown;
        }) | ({
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @enum {string} */
            kind: "usage" | "lifecycle" | "error";
            /** @enum {string} */
            event: "usage_update" | "available_commands_update" | "current_mode_update" | "config_option_update" | "session_info_update" | "notice" | "compaction_update" | "compaction_summary_chunk" | "subagent_update";
        } & {
            [key: string]: unknown;
        }) | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final: true;
            key?: string;
            /** @description as ACP has it */
            usage?: {
                [key: string]: unknown;
            };
            stopDetail?: components["schemas"]["StopDetail"];
            unmeasured?: components["schemas"]["Unmeasured"];
            checks?: components["schemas"]["Checked"];
            /** @description of the session */
            billingRef?: string;
            /** @description of the session */
            configVersion?: string;
            /** @description where it was written */
            sandboxId?: string;
            /** @constant */
            kind: "complete";
            stopReason?: string;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final: true;
            key?: string;
            /** @description as ACP has it */
            usage?: {
                [key: string]: unknown;
            };
            stopDetail?: components["schemas"]["StopDetail"];
            unmeasured?: components["schemas"]["Unmeasured"];
            checks?: components["schemas"]["Checked"];
            /** @description of the session */
            billingRef?: string;
            /** @description of the session */
            configVersion?: string;
            /** @description where it was written */
            sandboxId?: string;
            /** @constant */
            kind: "error";
            error: components["schemas"]["TurnError"];
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "ask_approval";
            ask: number;
            elicitation: boolean;
            toolCallId?: string;
            title?: string;
            options?: {
                [key: string]: unknown;
            }[];
            message?: string;
            mode?: string;
            requestedSchema?: {
                [key: string]: unknown;
            };
            url?: string;
            elicitationId?: string;
            /** Format: date-time */
            expiresAt?: string;
            default?: string;
            /** @description as ACP has the result */
            answer?: unknown;
            /** @enum {string} */
            by?: "client" | "human" | "rule" | "timeout" | "default" | "cancelled" | "withdrawn";
            via?: string;
            rule?: string;
            reason?: string;
            leftOut?: number;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "usage";
            usage?: components["schemas"]["Usage"];
            cost?: components["schemas"]["Cost"];
            source?: string;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "artifact";
            artifact: components["schemas"]["Artifact"];
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "check";
            check: components["schemas"]["CheckResult"];
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "harness_exited";
            exitCode?: number;
            signal?: number;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "closed";
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "recording_stopped";
            /** @enum {string} */
            reason: "RECORD_MAX" | "NO_SPACE" | "STATE_NOT_WRITABLE";
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "snapshot_failed";
            turn?: number;
            reason: string;
            message: string;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "export_incomplete";
            omitted: {
                path: string;
                reason: string;
            }[];
            omittedTotal: number;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "rule_added";
            rule: string;
            policy: string;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "rule_forgotten";
            rule: string;
            policy?: string;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "rule_refused";
            rule?: string;
            policy?: string;
            reason: string;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "draft_on";
            draft: components["schemas"]["Draft"];
            /** @enum {string} */
            after?: "checks" | "tools";
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "draft_off";
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "draft_applied";
            draft: components["schemas"]["Draft"];
            patchDigest: string;
            applied: number;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "draft_failed";
            reason: string;
            message: string;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "tools_delivered";
            server: string;
            tools: string[];
            renamed?: {
                tool: string;
                as: string;
            }[];
            omitted?: {
                tool: string;
                reason: string;
                message: string;
            }[];
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "tool_dry_run";
            server: string;
            tool: string;
            arguments: unknown;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @description of the session */
            billingRef?: string;
            /** @description of the session */
            configVersion?: string;
            /** @description where it was written */
            sandboxId?: string;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "tool_called";
            /** @enum {string} */
            via: "mcp";
            server: string;
            tool?: string;
            /** @enum {string} */
            outcome: "completed" | "failed" | "cancelled" | "input_required";
            reason?: string;
            durationMs: number;
            /** @description calls without an event since the last one */
            more?: number;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "tool_call_lost";
            server: string;
            method: string;
            tool?: string;
            requestId: string;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "text_repaired";
            /** @description places in text of clients */
            client?: number;
            /** @description places in text of the harness */
            harness?: number;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "update_unknown";
            /** @description the update; absent: it is too large */
            update?: {
                [key: string]: unknown;
            };
            /** @description its kind, where update is absent */
            sessionUpdate?: string;
            /** @description its size, where update is absent */
            bytes?: number;
            /** @description updates of the turn that were left out */
            more?: number;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "update_refused";
            /** @description its kind, a list that is too long */
            update: string;
            bytes: number;
            limitBytes: number;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "budget_warning";
            budget: string;
            /** @enum {string} */
            scope: "prompt" | "turn" | "session";
            limit: number;
            used: number;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "out_of_memory";
            killed: number;
            peakBytes?: number;
            limitBytes: number;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "network_blocked";
            host: string;
            port: number;
            reason: string;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "confinement_refused";
            call?: string;
            detail?: string;
            errno?: string;
            count?: number;
            rule?: string;
            more?: number;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "gap";
            from: number;
            to: number;
            reason?: string;
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "deleted";
        } | {
            /** @description its number, without holes; gap and deleted have none */
            seq?: number;
            /** Format: date-time */
            ts: string;
            sessionId: string;
            turnId?: number;
            traceparent?: string;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            /**
             * @description the end of the turn
             * @constant
             */
            final?: true;
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "unreadable";
        };
        /** @description _meta of an event of ours */
        EventMeta: {
            acpd: components["schemas"]["PromptMeta"];
            traceparent?: string;
        } & {
            [key: string]: unknown;
        };
        Fallback: {
            /** @description the address */
            baseUrl: string;
            /** @description its key */
            key?: string;
            auth?: components["schemas"]["ProviderAuth"];
            /** @description its headers */
            headers?: {
                [key: string]: string;
            };
        };
        /** @description what this daemon can do, by name */
        Features: {
            [key: string]: boolean;
        };
        /** @description what a look at one thing has found */
        Finding: {
            id: string;
            /** @description of what */
            subject?: string;
            kind: string;
            /** @enum {string} */
            level: "ok" | "warning" | "trouble";
            /** @description for people */
            message: string;
            /** @description what to do */
            hint?: string;
        };
        /** @description what is another in the fork */
        ForkSession: {
            /** @description variables that are added to the environment */
            env?: {
                [key: string]: string;
            };
            /** @description variables that are hidden everywhere and never written down */
            secrets?: {
                [key: string]: string;
            };
            /** @description names of env that are kept with the session */
            envKeep?: string[];
            provider?: components["schemas"]["Provider"];
            /** @description the exact id of a model */
            model?: string;
            /** @description a mode of the harness to begin in */
            mode?: string;
            /** @description text to append, or as ACP has it */
            systemPrompt?: string | {
                [key: string]: unknown;
            };
            policy?: components["schemas"]["SessionPolicy"];
            mcp?: components["schemas"]["McpRequest"];
            /** @description how far the session is confined */
            level?: ("guarded" | "strict" | "open") | components["schemas"]["LevelRequest"];
            network?: components["schemas"]["Network"];
            limits?: components["schemas"]["ProcessLimits"];
            /** @description use the sandbox of the harness, too */
            innerSandbox?: boolean;
            draftAfter?: components["schemas"]["DraftAfter"];
            /** @description nothing is changed until it is applied */
            draft?: boolean;
            budgets?: components["schemas"]["Budgets"];
            /** @description what has to hold after a turn */
            checks?: components["schemas"]["Check"][];
            approvals?: components["schemas"]["ApprovalTerms"];
            retry?: components["schemas"]["Retry"];
            /** @description a word that goes into usage records */
            billingRef?: string;
            /** @description another one */
            configVersion?: string;
            /**
             * @description what happens while no client is connected
             * @enum {string}
             */
            whenDetached?: "continue" | "hold" | "cancel";
        };
        /** @description what the harness of the session can do */
        HarnessCapabilities: {
            /** @description as ACP has it */
            promptCapabilities: {
                [key: string]: unknown;
            };
            /** @description as ACP has it */
            mcpCapabilities: {
                [key: string]: unknown;
            };
            /** @description as ACP has it */
            sessionCapabilities: {
                [key: string]: unknown;
            };
        };
        HarnessFile: {
            /** @description in the home */
            path: string;
            /** @description its text */
            text?: string;
            /** @description or its bytes */
            base64?: string;
            /** @description it may be run */
            executable?: boolean;
            /** @description a file that is there is replaced */
            overwrite?: boolean;
        };
        Health: {
            /** @enum {string} */
            status: "ok";
        };
        Hosted: {
            servers: components["schemas"]["HostedServer"][];
            problems: {
                /** @enum {string} */
                severity: "warning" | "error";
                sessionId?: string;
                server?: string;
                field?: string;
                reason: string;
                message: string;
            }[];
            moreProblems?: number;
        };
        HostedServer: {
            name: string;
            /** @enum {string} */
            scope: "daemon" | "session";
            sessionId?: string;
            /** @enum {string} */
            transport: "http" | "stdio";
            state: string;
            /** Format: date-time */
            since: string;
            revision?: string;
            /** @enum {string} */
            era?: "legacy" | "modern";
            serverInfo?: {
                name?: string;
                version?: string;
            };
            startMs?: number;
            latencyMs?: number;
            toolCount?: number;
            lastError?: {
                reason: string;
                field?: string;
                message: string;
                /** Format: date-time */
                at: string;
            };
            restarts: number;
            pid?: number;
        };
        Info: {
            version: string;
            incarnation: string;
            token?: components["schemas"]["OwnToken"];
            sandboxId?: string;
            /** @enum {string} */
            provider?: "e2b" | "kubernetes" | "podman" | "docker";
            /** @description other machines reach it */
            remote: boolean;
            /** @description the last time the machine was away */
            resumed?: {
                /** Format: date-time */
                at: string;
                gapMs: number;
            };
            harnesses: components["schemas"]["Installed"];
            features: components["schemas"]["Features"];
            limits: components["schemas"]["Limits"];
            isolation: components["schemas"]["Isolation"];
            network: {
                max: string;
                modes: {
                    mode: string;
                    wall?: string;
                    missing?: string;
                }[];
            };
            /** @enum {string} */
            keyMemory: "locked" | "unlocked" | "refused";
            webhooks: components["schemas"]["Webhook"][];
        };
        /** @description harnesses of this daemon */
        Installed: {
            id: string;
            installed: boolean;
        }[];
        InstructionsWritten: {
            path: string;
            /** @enum {string} */
            in: "workspace" | "home";
        };
        /** @description what separates agents from root and from each other */
        Isolation: {
            /** @description of a session that names none */
            level: components["schemas"]["LevelAchieved"];
            levels: {
                name: string;
                whole: boolean;
                missing: {
                    what: string;
                    why: string;
                }[];
            }[];
            agentUser?: string;
            noNewPrivileges: boolean;
            /** @description agents run as the daemon's own user */
            daemonUser: boolean;
            /** @description all sessions run as one user */
            sharedUser: boolean;
            agentUids?: {
                first: number;
                last: number;
                free: number;
                unnamed: number;
                problem?: string;
            };
            networkNamespaces: boolean;
            networkMissing?: string;
            waysToRoot: {
                kind: string;
                text: string;
            }[];
            /** @description some file could not be read: there may be more */
            unread?: boolean;
        };
        /** @description how far a session is confined */
        LevelAchieved: {
            /** @enum {string} */
            requested: "guarded" | "strict" | "open";
            /** @description a level, or partial */
            achieved: string;
            /** @description what could not be had */
            missing: {
                /** @description the part */
                what: string;
                /** @description why it is not there */
                why: string;
            }[];
            /** @description refused calls are told */
            log?: boolean;
        };
        LevelRequest: {
            /** @enum {string} */
            name: "guarded" | "strict" | "open";
            /** @description refuse the session rather than give less */
            atLeast?: boolean;
            /** @description tell refused calls */
            log?: boolean;
        };
        /** @description bounds of this daemon */
        Limits: {
            messageBytes: number;
            idChars: number;
            backlogBytes: number;
            queuedPrompts: number;
            sessions: number;
            harnesses: number;
            harnessIdleSeconds: number;
        };
        /** @description limits of a session's processes */
        LimitsAchieved: {
            memoryBytes?: number;
            pids?: number;
            cpuWeight?: number;
            /** @description what holds each of them */
            by: {
                [key: string]: string;
            };
            /** @description what could not be had */
            missing?: {
                /** @description the part */
                what: string;
                /** @description why it is not there */
                why: string;
            }[];
        };
        /** @description what changes of a session that is loaded or resumed */
        LoadSession: {
            /** @description variables that are added to the environment */
            env?: {
                [key: string]: string;
            };
            /** @description variables that are hidden everywhere and never written down */
            secrets?: {
                [key: string]: string;
            };
            /** @description names of env that are kept with the session */
            envKeep?: string[];
            provider?: components["schemas"]["Provider"];
            /** @description the exact id of a model */
            model?: string;
            /** @description a mode of the harness to begin in */
            mode?: string;
            /** @description text to append, or as ACP has it */
            systemPrompt?: string | {
                [key: string]: unknown;
            };
            policy?: components["schemas"]["SessionPolicy"];
            mcp?: components["schemas"]["McpRequest"];
            /** @description how far the session is confined */
            level?: ("guarded" | "strict" | "open") | components["schemas"]["LevelRequest"];
            network?: components["schemas"]["Network"];
            limits?: components["schemas"]["ProcessLimits"];
            /** @description use the sandbox of the harness, too */
            innerSandbox?: boolean;
            draftAfter?: components["schemas"]["DraftAfter"];
            /** @description nothing is changed until it is applied */
            draft?: boolean;
            budgets?: components["schemas"]["Budgets"];
            /** @description what has to hold after a turn */
            checks?: components["schemas"]["Check"][];
            approvals?: components["schemas"]["ApprovalTerms"];
            retry?: components["schemas"]["Retry"];
            /** @description a word that goes into usage records */
            billingRef?: string;
            /** @description another one */
            configVersion?: string;
            workspace?: components["schemas"]["Workspace"];
            /** @description skills that the harness gets */
            skills?: components["schemas"]["Skill"][];
            /** @description instructions for the agent */
            instructions?: string | components["schemas"]["Text"];
            /** @description files of the harness's home */
            harnessFiles?: components["schemas"]["HarnessFile"][];
            /** @description the run of the daemon of fromSeq */
            incarnation?: string;
            /** @description only events from this number on */
            fromSeq?: number;
            /** @description only to look: beside the driver, and without changing anything */
            observe?: boolean;
        };
        /** @description what was written */
        Materialized: {
            written: number;
            removed: number;
            unchanged: number;
            skipped: {
                path: string;
                reason: string;
            }[];
            skippedTotal: number;
            manifestDigest: string;
            entries: number;
            bytes: number;
            stripped?: number;
        };
        /** @description an error of JSON-RPC */
        McpFailure: {
            jsonrpc: string;
            id?: string | number | null;
            /** @description code, message, data */
            error: {
                [key: string]: unknown;
            };
        };
        /** @description a message of JSON-RPC: MCP describes what it holds */
        McpMessage: {
            /** @constant */
            jsonrpc: "2.0";
            id?: string | number | null;
            method?: string;
            params?: {
                [key: string]: unknown;
            };
            result?: {
                [key: string]: unknown;
            };
            /** @description code, message, data? */
            error?: {
                [key: string]: unknown;
            };
        };
        McpRequest: {
            /** @description the built-in tools */
            builtin?: boolean | components["schemas"]["BuiltinRequest"];
            /** @description servers of .mcp.json */
            project?: boolean;
            /**
             * @description who runs the programs of mcpServers
             * @enum {string}
             */
            stdio?: "acpd" | "harness";
            /** @description names of hosted servers */
            hosted?: string[];
            /** @description by server */
            policy?: {
                [key: string]: components["schemas"]["ToolRule"];
            };
        };
        /** @description MCP servers of the session */
        McpState: {
            name: string;
            /** @description acp, http, sse, builtin, hosted, project … */
            via: string;
            /** @description what the harness has got */
            toolsDelivered?: string[];
            toolsRenamed?: {
                tool: string;
                as: string;
            }[];
            /** @description what no model can be given */
            toolsOmitted?: {
                tool: string;
                reason: string;
                message: string;
            }[];
            error?: {
                reason: string;
                message: string;
            };
        }[];
        /** @description what a model call used */
        ModelCallRecord: {
            /** @constant */
            v: 1;
            /** @description the number of the record */
            n: number;
            /** @description the run of the daemon that wrote it */
            incarnation: string;
            /** @description SHA-256 of the line before */
            prevDigest: string | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "model_call";
            sessionId: string;
            harness: string;
            harnessVersion?: string;
            sandboxId?: string;
            model?: string;
            provider?: string;
            turn?: number;
            key?: string;
            turnIncarnation?: string;
            /** @description which record of the turn's calls */
            call?: number;
            /** Format: date-time */
            ts: string;
            responseId?: string;
            finishReason?: string;
            usage?: components["schemas"]["Usage"];
            cost?: components["schemas"]["Cost"];
            source?: string;
            callId?: string;
            attempt?: number;
            /** @enum {string} */
            via?: "direct" | "tunnel" | "environment";
            modelAsked?: string;
            serviceTier?: string;
            requestId?: string;
            status?: number;
            complete?: boolean;
            /** @constant */
            cancelled?: true;
            error?: components["schemas"]["TurnError"];
            /** @constant */
            auxiliary?: true;
            bytes?: {
                sent: number;
                received: number;
            };
            ttfbMs?: number;
            durationMs?: number;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            traceId?: string;
            parentSpanId?: string;
        };
        /** @description what a session may call */
        Network: {
            /**
             * @description what may be called
             * @enum {string}
             */
            mode: "on" | "off" | "allowlist";
            /** @description with allowlist: what may be called */
            allow?: components["schemas"]["NetworkEntry"][];
            /** @description ask the driver for other hosts */
            ask?: boolean;
        };
        /** @description what a session may call */
        NetworkAchieved: {
            /** @enum {string} */
            mode: "on" | "off" | "allowlist" | "open";
            allow?: {
                host: string;
                ports?: number[];
            }[];
            ask?: boolean;
            /** @description the wall that holds it */
            achieved: string;
            /** @description servers of the agent can be reached from outside */
            previews: boolean;
            /** @description a process may leave it */
            leavable?: boolean;
            /** @description bytes that passed its proxy */
            traffic?: {
                host: string;
                up: number;
                down: number;
            }[];
        };
        NetworkEntry: {
            /** @description a name, *.name or an address */
            host: string;
            /** @description all without it */
            ports?: number[];
        };
        /** @description what a new session is given */
        NewSession: {
            /** @description variables that are added to the environment */
            env?: {
                [key: string]: string;
            };
            /** @description variables that are hidden everywhere and never written down */
            secrets?: {
                [key: string]: string;
            };
            /** @description names of env that are kept with the session */
            envKeep?: string[];
            provider?: components["schemas"]["Provider"];
            /** @description the exact id of a model */
            model?: string;
            /** @description a mode of the harness to begin in */
            mode?: string;
            /** @description text to append, or as ACP has it */
            systemPrompt?: string | {
                [key: string]: unknown;
            };
            policy?: components["schemas"]["SessionPolicy"];
            mcp?: components["schemas"]["McpRequest"];
            /** @description how far the session is confined */
            level?: ("guarded" | "strict" | "open") | components["schemas"]["LevelRequest"];
            network?: components["schemas"]["Network"];
            limits?: components["schemas"]["ProcessLimits"];
            /** @description use the sandbox of the harness, too */
            innerSandbox?: boolean;
            draftAfter?: components["schemas"]["DraftAfter"];
            /** @description nothing is changed until it is applied */
            draft?: boolean;
            budgets?: components["schemas"]["Budgets"];
            /** @description what has to hold after a turn */
            checks?: components["schemas"]["Check"][];
            approvals?: components["schemas"]["ApprovalTerms"];
            retry?: components["schemas"]["Retry"];
            /** @description a word that goes into usage records */
            billingRef?: string;
            /** @description another one */
            configVersion?: string;
            workspace?: components["schemas"]["Workspace"];
            /** @description skills that the harness gets */
            skills?: components["schemas"]["Skill"][];
            /** @description instructions for the agent */
            instructions?: string | components["schemas"]["Text"];
            /** @description files of the harness's home */
            harnessFiles?: components["schemas"]["HarnessFile"][];
            /** @description the id of the harness */
            harness?: string;
            /**
             * @description what happens while no client is connected
             * @enum {string}
             */
            whenDetached?: "continue" | "hold" | "cancel";
        };
        /** @description an event that is not of ACP */
        OwnEvent: {
            /** @constant */
            kind: "ask_approval";
            ask: number;
            elicitation: boolean;
            toolCallId?: string;
            title?: string;
            options?: {
                [key: string]: unknown;
            }[];
            message?: string;
            mode?: string;
            requestedSchema?: {
                [key: string]: unknown;
            };
            url?: string;
            elicitationId?: string;
            /** Format: date-time */
            expiresAt?: string;
            default?: string;
            /** @description as ACP has the result */
            answer?: unknown;
            /** @enum {string} */
            by?: "client" | "human" | "rule" | "timeout" | "default" | "cancelled" | "withdrawn";
            via?: string;
            rule?: string;
            reason?: string;
            leftOut?: number;
        } | {
            /** @constant */
            kind: "usage";
            usage?: components["schemas"]["Usage"];
            cost?: components["schemas"]["Cost"];
            source?: string;
        } | {
            /** @constant */
            kind: "artifact";
            artifact: components["schemas"]["Artifact"];
        } | {
            /** @constant */
            kind: "check";
            check: components["schemas"]["CheckResult"];
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "harness_exited";
            exitCode?: number;
            signal?: number;
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "closed";
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "recording_stopped";
            /** @enum {string} */
            reason: "RECORD_MAX" | "NO_SPACE" | "STATE_NOT_WRITABLE";
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "snapshot_failed";
            turn?: number;
            reason: string;
            message: string;
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "export_incomplete";
            omitted: {
                path: string;
                reason: string;
            }[];
            omittedTotal: number;
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "rule_added";
            rule: string;
            policy: string;
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "rule_forgotten";
            rule: string;
            policy?: string;
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "rule_refused";
            rule?: string;
            policy?: string;
            reason: string;
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "draft_on";
            draft: components["schemas"]["Draft"];
            /** @enum {string} */
            after?: "checks" | "tools";
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "draft_off";
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "draft_applied";
            draft: components["schemas"]["Draft"];
            patchDigest: string;
            applied: number;
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "draft_failed";
            reason: string;
            message: string;
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "tools_delivered";
            server: string;
            tools: string[];
            renamed?: {
                tool: string;
                as: string;
            }[];
            omitted?: {
                tool: string;
                reason: string;
                message: string;
            }[];
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "tool_dry_run";
            server: string;
            tool: string;
            arguments: unknown;
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "tool_called";
            /** @enum {string} */
            via: "mcp";
            server: string;
            tool?: string;
            /** @enum {string} */
            outcome: "completed" | "failed" | "cancelled" | "input_required";
            reason?: string;
            durationMs: number;
            /** @description calls without an event since the last one */
            more?: number;
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "tool_call_lost";
            server: string;
            method: string;
            tool?: string;
            requestId: string;
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "text_repaired";
            /** @description places in text of clients */
            client?: number;
            /** @description places in text of the harness */
            harness?: number;
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "update_unknown";
            /** @description the update; absent: it is too large */
            update?: {
                [key: string]: unknown;
            };
            /** @description its kind, where update is absent */
            sessionUpdate?: string;
            /** @description its size, where update is absent */
            bytes?: number;
            /** @description updates of the turn that were left out */
            more?: number;
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "update_refused";
            /** @description its kind, a list that is too long */
            update: string;
            bytes: number;
            limitBytes: number;
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "budget_warning";
            budget: string;
            /** @enum {string} */
            scope: "prompt" | "turn" | "session";
            limit: number;
            used: number;
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "out_of_memory";
            killed: number;
            peakBytes?: number;
            limitBytes: number;
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "network_blocked";
            host: string;
            port: number;
            reason: string;
        } | {
            /** @constant */
            kind: "lifecycle";
            /** @constant */
            event: "confinement_refused";
            call?: string;
            detail?: string;
            errno?: string;
            count?: number;
            rule?: string;
            more?: number;
        };
        OwnRules: {
            rules: {
                id: string;
                /** @enum {string} */
                policy: "allow" | "deny";
                /** Format: date-time */
                made: string;
                tool?: string;
                server?: string;
                kind?: string;
                commands?: string[];
                argv?: string[];
                paths?: string[];
            }[];
        };
        /** @description what the token of this connection or request may, unless it is the one of the claim */
        OwnToken: {
            /** @description its name in lists and logs, no credential */
            id: string;
            /** @enum {string} */
            scope: "admin" | "drive" | "observe" | "usage" | "model" | "tools";
            /** @description it is limited to these */
            sessions?: string[];
        };
        PathsCheck: {
            /** @description unique in the list */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "paths";
            /** @description its time */
            timeoutMs?: number;
            /** @enum {string} */
            since?: "turn" | "baseline";
            /** @description changes match one of these */
            allow?: string[];
            /** @description and none of these */
            deny?: string[];
        };
        ProcessLimits: {
            /** @description memory of all processes */
            memoryBytes?: number;
            /** @description processes and threads */
            pids?: number;
            /** @description share of the processors */
            cpuWeight?: number;
        };
        /** @description _meta.acpd of the answer to a prompt */
        PromptMeta: {
            seq: number;
            turn?: number;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            stopDetail?: components["schemas"]["StopDetail"];
            unmeasured?: components["schemas"]["Unmeasured"];
            checks?: components["schemas"]["Checked"];
            attempt?: components["schemas"]["Attempt"];
            /** @description what each attempt at the prompt used */
            attempts?: {
                turn: number;
                /** @description as ACP has it */
                usage?: {
                    [key: string]: unknown;
                };
            }[];
            /** @description at the end of a turn */
            billingRef?: string;
            /** @description at the end of a turn */
            configVersion?: string;
            /** @description at the end of a turn */
            sandboxId?: string;
            /** @description of all of them, as ACP has it */
            promptUsage?: {
                [key: string]: unknown;
            };
        };
        /** @description _meta.acpd of a prompt */
        PromptSettings: {
            /** @description makes the prompt idempotent */
            key?: string;
            /**
             * @description while another turn runs
             * @enum {string}
             */
            whenBusy?: "queue" | "reject";
            budgets?: components["schemas"]["Budget"];
            /** @description what has to hold after a turn */
            checks?: components["schemas"]["Check"][];
            retry?: components["schemas"]["Retry"];
        };
        /** @description the model provider */
        Provider: {
            /**
             * @description the API of the provider
             * @enum {string}
             */
            api: "openai-chat" | "openai-responses" | "anthropic" | "google";
            /** @description in the place of /v1 */
            baseUrl?: string;
            /** @description the key */
            key?: string;
            /**
             * @description who makes the calls
             * @enum {string}
             */
            via?: "direct" | "tunnel" | "environment";
            /** @description the id of a model */
            model?: string;
            /** @description ids that may be chosen besides */
            models?: string[];
            /** @description the model of side calls */
            smallModel?: string;
            /** @description calls that pass besides those of the API */
            paths?: string[];
            /** @description headers of each call */
            headers?: {
                [key: string]: string;
            };
            auth?: components["schemas"]["ProviderAuth"];
            /** @description places that are asked next */
            fallbacks?: components["schemas"]["Fallback"][];
            /** @description by model */
            prices?: {
                [key: string]: {
                    input?: number;
                    output?: number;
                    cacheRead?: number;
                    cacheWrite5m?: number;
                    cacheWrite1h?: number;
                };
            };
            limits?: components["schemas"]["ProviderLimits"];
            /** @description so long a call may be silent */
            idleTimeoutMs?: number;
        };
        ProviderAuth: {
            /** @description the header of the key */
            header?: string;
            /** @description what stands before the key */
            prefix?: string;
        };
        ProviderLimits: {
            /** @description calls at a time */
            concurrency?: number;
            /** @description calls in any 60 seconds */
            callsPerMinute?: number;
        };
        /** @description who makes the model calls */
        ProviderState: {
            /** @enum {string} */
            via: "direct" | "tunnel" | "environment";
            /** @description commands of the agent can read a key */
            keyExposed: boolean;
            callerChecked?: boolean;
        };
        ProvidersSetResultMeta: {
            /** @description sessions that could not follow */
            kept: string[];
        };
        Ready: {
            ready: boolean;
            notReady: {
                reason: string;
                message: string;
            }[];
            harnesses: components["schemas"]["Installed"];
            version: string;
            incarnation: string;
            sessions: number;
            connections: number;
            children: number;
            /** @description what kills by: v2, v1, none */
            cgroup: string;
            limits: components["schemas"]["LimitsAchieved"];
            isolation: components["schemas"]["Isolation"];
            /** @description damage that was found */
            problems: {
                what: string;
                name?: string;
                text: string;
            }[];
        };
        Retry: {
            /** @description further attempts after checks that failed */
            max: number;
        };
        RunAgentInput: {
            /** @description the thread: a session */
            threadId: string;
            /** @description of the client */
            runId: string;
            /** @description 1.0; absent: 0.0.x */
            protocolVersion?: string;
            /** @description of the client */
            parentRunId?: string;
            messages: components["schemas"]["AguiMessage"][];
            /** @description of the application: comes back in snapshots */
            state?: {
                [key: string]: unknown;
            };
            /** @description acpd: settings of the thread; _meta: traceparent, tracestate, baggage; and what else others want */
            forwardedProps?: {
                [key: string]: unknown;
            };
            /** @description of the front end */
            tools?: {
                [key: string]: unknown;
            }[];
            /** @description told to the agent with the next prompt */
            context?: {
                [key: string]: unknown;
            }[];
            /** @description answers to all open interrupts */
            resume?: {
                [key: string]: unknown;
            }[];
        } & {
            [key: string]: unknown;
        };
        /** @description turns of one group */
        RunGroup: {
            harness?: string;
            model?: string;
            configVersion?: string;
            billingRef?: string;
            day?: string;
            turns: number;
            failed: number;
            tokens?: {
                /** @description that have it */
                turns: number;
                mean: number;
                p50: number;
                p95: number;
                total: number;
            };
            inputTokens?: {
                /** @description that have it */
                turns: number;
                mean: number;
                p50: number;
                p95: number;
                total: number;
            };
            outputTokens?: {
                /** @description that have it */
                turns: number;
                mean: number;
                p50: number;
                p95: number;
                total: number;
            };
            durationMs?: {
                /** @description that have it */
                turns: number;
                mean: number;
                p50: number;
                p95: number;
                total: number;
            };
            cost: {
                currency: string;
                /** @description that have it */
                turns: number;
                mean: number;
                p50: number;
                p95: number;
                total: number;
            }[];
            checks?: {
                /** @description that have a verdict */
                turns: number;
                verified: number;
                passRate: number;
            };
            /** @description turns by why they ended */
            stops: {
                [key: string]: number;
            };
            /** @description turns by how they failed */
            failures: {
                [key: string]: number;
            };
        };
        SentAcpdDetachedParams: {
            sessionId: string;
            /** @enum {string} */
            reason: "taken_over" | "closed" | "deleted";
        };
        SentAcpdEventParams: {
            sessionId: string;
            event: components["schemas"]["OwnEvent"];
            _meta: components["schemas"]["EventMeta"];
        };
        SentAcpdGapParams: {
            sessionId: string;
            from: number;
            to: number;
            /** @enum {string} */
            reason?: "incarnation" | "damaged" | "trimmed";
        };
        SentAcpdModelBodyParams: {
            callId: string;
            seq: number;
            text: string;
            last: boolean;
        };
        SentAcpdModelCreditParams: {
            callId: string;
            bytes: number;
        };
        SentAcpdModelRequestParams: {
            callId: string;
            sessionId: string;
            turn?: number;
            api: string;
            method: string;
            path: string;
            headers: {
                [key: string]: string;
            };
            model?: string;
            bodyBytes: number;
            attempt: number;
        };
        SentAcpdModelRequestResult: {
            /** @description false: the answer was cut */
            complete: boolean;
            requestId?: string;
        };
        SentAcpdResumedParams: {
            /** Format: date-time */
            at: string;
            gapMs: number;
            incarnation: string;
            sandboxId?: string;
        };
        SentAcpdStatusParams: components["schemas"]["DaemonStatus"];
        SentAcpdTurnEndParams: {
            sessionId: string;
            seq: number;
            turn: number;
            key?: string;
            stopReason?: string;
            error?: components["schemas"]["TurnError"];
            /** @description as ACP has it */
            usage?: {
                [key: string]: unknown;
            };
            _meta: components["schemas"]["EventMeta"];
        };
        SentMcpMessageMeta: {
            /** @constant */
            reissued: true;
        };
        SentSessionUpdateMeta: components["schemas"]["UpdateMeta"];
        /** @description a session, as lists have it */
        Session: {
            sessionId: string;
            harness: string;
            /** @enum {string} */
            state: "opening" | "open" | "busy" | "checking" | "closing" | "closed";
            cwd: string;
            title?: string;
            /** @description the newest event */
            seq: number;
            /** @description acknowledged up to this event */
            acked?: number;
            /** @description the running turn; 0: idle */
            turn: number;
            turns: number;
            /** @description prompts that wait */
            queued: number;
            /** @description open ones */
            questions?: number;
            watchers: number;
            /** @description of the harness, while it lives */
            pid?: number;
            /** @description how long its harness has been starting; absent: it is not */
            startingMs?: number;
            /**
             * @description for room among the harnesses that live
             * @constant
             */
            waiting?: "harness";
            /** @description in force */
            model?: string;
            used?: components["schemas"]["Used"];
            budgets?: components["schemas"]["BudgetUse"][];
            /** @description it was made of a bundle */
            imported?: boolean;
            damaged?: components["schemas"]["Damage"];
            mcp?: components["schemas"]["McpState"];
            provider?: components["schemas"]["ProviderState"];
            user?: components["schemas"]["SessionUser"];
            level?: components["schemas"]["LevelAchieved"];
            network?: components["schemas"]["NetworkAchieved"];
            limits?: components["schemas"]["LimitsAchieved"];
            draft?: components["schemas"]["Draft"];
            /** Format: date-time */
            updatedAt: string;
        };
        /** @description what a session has got */
        SessionAnswer: {
            harness: string;
            /**
             * @description it is only looked at
             * @constant
             */
            observe?: true;
            incarnation: string;
            /** @description the newest event */
            seq: number;
            /** @description the running one */
            turn?: number;
            /** @enum {string} */
            context: "kept" | "lost";
            cwd: string;
            /** @description what takes effect at the end of the turn */
            pending?: string[];
            /** @description values that cannot be hidden */
            unmasked?: {
                name: string;
                reason: string;
            }[];
            mcp?: components["schemas"]["McpState"];
            provider?: components["schemas"]["ProviderState"];
            user?: components["schemas"]["SessionUser"];
            level?: components["schemas"]["LevelAchieved"];
            network?: components["schemas"]["NetworkAchieved"];
            limits?: components["schemas"]["LimitsAchieved"];
            draft?: components["schemas"]["Draft"];
            damaged?: components["schemas"]["Damage"];
            /** @description who enforces each rule */
            policy?: {
                rules: {
                    rule: string;
                    enforced: string;
                    why?: string;
                }[];
            };
            workspace?: components["schemas"]["Materialized"];
            skills?: components["schemas"]["SkillsReport"];
            instructions?: components["schemas"]["InstructionsWritten"];
            capabilities?: components["schemas"]["HarnessCapabilities"];
        };
        SessionForkMeta: components["schemas"]["ForkSession"];
        SessionForkResultMeta: components["schemas"]["SessionAnswer"];
        SessionLoadMeta: components["schemas"]["LoadSession"];
        SessionLoadResultMeta: components["schemas"]["SessionAnswer"];
        SessionNewMeta: components["schemas"]["NewSession"];
        SessionNewResultMeta: components["schemas"]["SessionAnswer"];
        /** @description what is asked and what is allowed */
        SessionPolicy: {
            /**
             * @description for the harness
             * @enum {unknown}
             */
            approval?: "ask" | "accept-edits" | "never";
            /** @description globs that may be read */
            read?: string[];
            /** @description globs that may be written */
            write?: string[];
            /** @description globs that are denied */
            deny?: string[];
            commands?: components["schemas"]["CommandRule"][];
            /** @description by category */
            categories?: {
                [key: string]: "allow" | "ask" | "deny";
            };
            /** @description by built-in tool */
            tools?: {
                [key: string]: components["schemas"]["ToolRule"];
            };
            /** @description tools only say what they would do */
            dryRun?: boolean;
        };
        SessionPromptMeta: components["schemas"]["PromptSettings"];
        SessionPromptResultMeta: components["schemas"]["PromptMeta"];
        SessionResumeMeta: components["schemas"]["LoadSession"];
        SessionResumeResultMeta: components["schemas"]["SessionAnswer"];
        /** @description as whom the harness runs */
        SessionUser: {
            name: string;
            /** @enum {string} */
            uid: "own" | "shared" | "parked";
            sharedWith?: string[];
        };
        Sessions: {
            incarnation: string;
            sessions: components["schemas"]["Session"][];
        };
        SizeCheck: {
            /** @description unique in the list */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "diffSize";
            /** @description its time */
            timeoutMs?: number;
            /** @enum {string} */
            since?: "turn" | "baseline";
            /** @description the most files */
            maxFiles?: number;
            /** @description the most lines added */
            maxInsertions?: number;
            /** @description the most lines removed */
            maxDeletions?: number;
            /** @description the most lines together */
            maxLines?: number;
        };
        Skill: {
            /** @description the digest of an archive */
            archive?: string;
            /** @description the name of one that the image has */
            builtin?: string;
            /** @description a directory */
            path?: string;
        };
        SkillState: {
            directory?: string;
            installedAs?: string;
            valid: boolean;
            usable: boolean;
            name?: string;
            description?: string;
            files?: number;
            bytes?: number;
            findings?: {
                [key: string]: unknown;
            }[];
            moreFindings?: number;
        };
        SkillsReport: {
            written: number;
            removed: number;
            unchanged: number;
            skipped: {
                path: string;
                reason: string;
            }[];
            skippedTotal: number;
            manifestDigest: string;
            entries: number;
            bytes: number;
            stripped?: number;
            skills: components["schemas"]["SkillState"][];
        };
        Status: {
            /** @description this run of the daemon */
            incarnation: string;
            /** @enum {string} */
            state: "provisioning" | "ready" | "paused" | "draining";
            /** @description work is under way; not told to a token that is limited to some sessions, as the next three */
            busy?: boolean;
            /** Format: date-time */
            idleSince?: string;
            work?: {
                turns: number;
                queued: number;
                questions: number;
                toolCalls: number;
                modelCalls: number;
                jobs: number;
                waiting: number;
                uploads: number;
            };
            /** @description what happens first unless something else does */
            nextDeadline?: {
                what: string;
                /** Format: date-time */
                at: string;
                sessionId?: string;
            };
            /**
             * Format: date-time
             * @description until when the platform should let the sandbox live
             */
            leaseUntil: string;
            /** @description the same from now on */
            leaseSeconds: number;
            draining?: {
                /** @enum {string} */
                why: "signal" | "shutdown" | "restart" | "idle" | "maxLife";
                /** Format: date-time */
                until: string;
            };
            harnesses?: {
                live: number;
                max: number;
                waiting: number;
                starting: number;
                startingMs?: number;
                idleSeconds: number;
                stoppedIdle: number;
                stoppedForRoom: number;
                refused: number;
            };
            sessionMax?: number;
            retention?: {
                keepSessions: string;
                removedAge: number;
                removedSize: number;
                removedRoom: number;
                trimmed: number;
            };
            usage?: {
                first: number;
                last: number;
                read: number;
                files: number;
                bytes: number;
                removedFiles: number;
                removedRecords: number;
            };
            sessions: components["schemas"]["Session"][];
        };
        /** @description the budget that ended a turn */
        StopDetail: {
            budget: string;
            /** @enum {string} */
            scope: "prompt" | "turn" | "session";
            limit: number;
            used: number;
        };
        TestTarget: {
            /** @description the command */
            command: string | string[];
            /** @description what it reports */
            format?: string;
            /** @description the file of its report */
            report?: string;
            /** @description where it runs */
            cwd?: string;
            /** @description its time */
            timeoutMs?: number;
        };
        TestsCheck: {
            /** @description unique in the list */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "tests";
            /** @description its time */
            timeoutMs?: number;
            /** @description where it runs */
            cwd?: string;
            /** @description further variables */
            env?: {
                [key: string]: string;
            };
            /** @description the runner */
            target?: string;
            /** @description which tests */
            only?: string[];
            /** @description a command instead of target */
            command?: string | string[];
            /** @description what it reports */
            format?: string;
            /** @description the file of its report */
            report?: string;
            /** @description so many tests have to pass */
            minPassed?: number;
        };
        Text: {
            /** @description the text */
            text: string;
            /** @description a file that is there is replaced */
            overwrite?: boolean;
        };
        /** @description a token that holds */
        Token: {
            /** @description its name in lists and logs, no credential */
            id: string;
            /** @enum {string} */
            scope: "admin" | "drive" | "observe" | "usage" | "model" | "tools";
            /** @description it is limited to these */
            sessions?: string[];
            /** @description the least level that it may give its sessions */
            level?: ("guarded" | "strict" | "open") | components["schemas"]["LevelRequest"];
            network?: components["schemas"]["Network"];
            limits?: components["schemas"]["ProcessLimits"];
            /** Format: date-time */
            expiresAt: string;
            /** Format: date-time */
            createdAt: string;
            label: string;
            /** @description WebSockets, streams and uploads of it that are open */
            connections: number;
        };
        /** @description a new token */
        TokenMinted: {
            /** @description the token: this is the only time that it is told */
            token: string;
            /** @description its name in lists and logs, no credential */
            id: string;
            /** @enum {string} */
            scope: "admin" | "drive" | "observe" | "usage" | "model" | "tools";
            /** @description it is limited to these */
            sessions?: string[];
            /** @description the least level that it may give its sessions */
            level?: ("guarded" | "strict" | "open") | components["schemas"]["LevelRequest"];
            network?: components["schemas"]["Network"];
            limits?: components["schemas"]["ProcessLimits"];
            /** Format: date-time */
            expiresAt: string;
            /** Format: date-time */
            createdAt: string;
            label: string;
        };
        TokenOrder: {
            /**
             * @description what it may
             * @enum {string}
             */
            scope: "admin" | "drive" | "observe" | "usage" | "model" | "tools";
            /** @description the sessions that it is limited to */
            sessions?: string[];
            /**
             * Format: date-time
             * @description when it is over: at most 366 days away
             */
            expiresAt: string;
            /** @description what it is for, for people */
            label: string;
            /** @description the least level that it may give its sessions */
            level?: ("guarded" | "strict" | "open") | components["schemas"]["LevelRequest"];
            network?: components["schemas"]["Network"];
            limits?: components["schemas"]["ProcessLimits"];
            /** @description extensions of others */
            _meta?: Record<string, never>;
        };
        Tokens: {
            tokens: components["schemas"]["Token"][];
        };
        ToolRule: {
            /** @enum {string} */
            policy?: "allow" | "ask" | "deny";
            /** @description time of a call */
            timeoutMs?: number;
            /** @description calls in a session */
            maxCalls?: number;
            /** @description size of a result */
            maxResultBytes?: number;
            /** @description answer without a call */
            dryRun?: boolean;
            /** @description of a server: by tool */
            tools?: {
                [key: string]: {
                    [key: string]: unknown;
                };
            };
        };
        /** @description how a turn or a model call failed */
        TurnError: {
            /** @description a closed list: daemon/protocol/errors.md */
            class: string;
            reason?: string;
            provider?: string;
            httpStatus?: number;
            peakBytes?: number;
            limitBytes?: number;
            message: string;
            /** @description the same prompt may succeed */
            retryable: boolean;
            /** @description it may be sent again with its key */
            sameKey?: boolean;
        };
        /** @description what a turn used */
        TurnRecord: {
            /** @constant */
            v: 1;
            /** @description the number of the record */
            n: number;
            /** @description the run of the daemon that wrote it */
            incarnation: string;
            /** @description SHA-256 of the line before */
            prevDigest: string | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "turn";
            sessionId: string;
            harness: string;
            harnessVersion?: string;
            sandboxId?: string;
            model?: string;
            provider?: string;
            turn: number;
            key?: string;
            turnIncarnation?: string;
            /** Format: date-time */
            tsStart: string;
            /** Format: date-time */
            tsEnd: string;
            durationMs?: number;
            ttftMs?: number;
            stopReason?: string;
            error?: components["schemas"]["TurnError"];
            stopDetail?: components["schemas"]["StopDetail"];
            checks?: components["schemas"]["Checked"];
            attempt?: components["schemas"]["Attempt"];
            usage?: components["schemas"]["Usage"];
            /** @description where each number stood */
            sources?: {
                [key: string]: string;
            };
            cost?: components["schemas"]["Cost"];
            modelCalls?: number;
            /** @description what the harness says of calls that passed the daemon */
            reported?: {
                usage?: components["schemas"]["Usage"];
                /** @description where each number stood */
                sources?: {
                    [key: string]: string;
                };
                cost?: components["schemas"]["Cost"];
                modelCalls?: number;
            };
            toolCalls: {
                [key: string]: {
                    ok: number;
                    err: number;
                    ms: number;
                };
            };
            process?: {
                cpuMs?: number;
                peakRssBytes?: number;
                /** @enum {string} */
                source: "cgroup" | "procfs" | "rusage";
            };
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            traceId?: string;
            parentSpanId?: string;
            billingRef?: string;
            configVersion?: string;
            cumulative: {
                turns: number;
                modelCalls: number;
                usage?: components["schemas"]["Usage"];
                cost?: components["schemas"]["Cost"];
                source?: string;
            };
        };
        /** @description budgets that nothing measured in the turn, which they did not bound */
        Unmeasured: ("steps" | "tokens" | "cost")[];
        /** @description why nothing was written */
        UnpackProblem: {
            /** @description daemon/protocol/errors.md */
            reason: string;
            /** @description the entry */
            path?: string;
            /** @description for people */
            message: string;
            digest?: string;
            limit?: number;
            used?: number;
        };
        /** @description _meta.acpd of an update */
        UpdateMeta: {
            /** @description the number of the event */
            seq: number;
            turn?: number;
            /** @description requestId in _meta of the prompt */
            clientRequestId?: string;
            attempt?: components["schemas"]["Attempt"];
            unmasked?: {
                [key: string]: unknown;
            };
        };
        /** @description tokens, as far as they were told */
        Usage: {
            /** @description with what was read from or written to a cache */
            inputTokens?: number;
            /** @description with reasoning */
            outputTokens?: number;
            cacheReadTokens?: number;
            cacheWriteTokens?: number;
            cacheWrite5mTokens?: number;
            cacheWrite1hTokens?: number;
            reasoningTokens?: number;
            totalTokens?: number;
        };
        UsagePage: {
            records: components["schemas"]["UsageRecord"][];
            last: number;
            /** @description ask again from last */
            more: boolean;
            /** @description the oldest that is left */
            first?: number;
        };
        /** @description a line of the ledger */
        UsageRecord: components["schemas"]["TurnRecord"] | components["schemas"]["ModelCallRecord"];
        UsageRecords: {
            records: components["schemas"]["UsageRecord"][];
            /** @description the newest record */
            last: number;
        };
        /** @description in all turns that are over */
        Used: {
            turns: number;
            modelCalls: number;
            usage?: components["schemas"]["Usage"];
            cost?: components["schemas"]["Cost"];
            source?: string;
        };
        /** @description a receiver of webhooks, and what waits for it */
        Webhook: {
            id?: string;
            host?: string;
            /** @enum {string} */
            state: "unknown" | "gone" | "active";
            pending: number;
            bytes: number;
            lastError?: {
                /** Format: date-time */
                at: string;
                message: string;
            };
            gap?: {
                from: number;
                to: number;
            };
            damaged?: number;
            diskError?: string;
        };
        /** @description A file was kept */
        WebhookArtifactCreated: {
            /** @constant */
            type: "artifact.created";
            /**
             * Format: date-time
             * @description when it happened
             */
            timestamp: string;
            data: {
                /** @description rises by one for each receiver, from 1 */
                number: number;
                sessionId: string;
                /** @description the run of the daemon */
                incarnation: string;
                sandboxId?: string;
                artifact: components["schemas"]["Artifact"];
            } | {
                /** @description rises by one for each receiver, from 1 */
                number: number;
                sessionId: string;
                /** @description the run of the daemon */
                incarnation: string;
                sandboxId?: string;
                /** @constant */
                truncated: true;
            };
        };
        /** @description 80 % of a budget are used */
        WebhookBudgetWarning: {
            /** @constant */
            type: "budget.warning";
            /**
             * Format: date-time
             * @description when it happened
             */
            timestamp: string;
            data: {
                /** @description rises by one for each receiver, from 1 */
                number: number;
                sessionId: string;
                /** @description the run of the daemon */
                incarnation: string;
                sandboxId?: string;
                /** @description 0: none is running */
                turn: number;
                budget: string;
                /** @enum {string} */
                scope: "prompt" | "turn" | "session";
                limit: number;
                used: number;
            } | {
                /** @description rises by one for each receiver, from 1 */
                number: number;
                sessionId: string;
                /** @description the run of the daemon */
                incarnation: string;
                sandboxId?: string;
                /** @constant */
                truncated: true;
            };
        };
        /** @description A check has failed */
        WebhookCheckFailed: {
            /** @constant */
            type: "check.failed";
            /**
             * Format: date-time
             * @description when it happened
             */
            timestamp: string;
            data: {
                /** @description rises by one for each receiver, from 1 */
                number: number;
                sessionId: string;
                /** @description the run of the daemon */
                incarnation: string;
                sandboxId?: string;
                turn?: number;
                check: {
                    id: string;
                    kind: string;
                    exitCode?: number;
                    signal?: string;
                    reason?: string;
                };
            } | {
                /** @description rises by one for each receiver, from 1 */
                number: number;
                sessionId: string;
                /** @description the run of the daemon */
                incarnation: string;
                sandboxId?: string;
                /** @constant */
                truncated: true;
            };
        };
        /** @description A turn has left changes in a draft */
        WebhookDraftReady: {
            /** @constant */
            type: "draft.ready";
            /**
             * Format: date-time
             * @description when it happened
             */
            timestamp: string;
            data: {
                /** @description rises by one for each receiver, from 1 */
                number: number;
                sessionId: string;
                /** @description the run of the daemon */
                incarnation: string;
                sandboxId?: string;
                turn: number;
                patchDigest: string;
                changesTotal: number;
                conflictsTotal: number;
            } | {
                /** @description rises by one for each receiver, from 1 */
                number: number;
                sessionId: string;
                /** @description the run of the daemon */
                incarnation: string;
                sandboxId?: string;
                /** @constant */
                truncated: true;
            };
        };
        /** @description Some of the numbers from `from` to `to` never come */
        WebhookGap: {
            /** @constant */
            type: "webhook_gap";
            /**
             * Format: date-time
             * @description when it happened
             */
            timestamp: string;
            data: {
                from: number;
                to: number;
                sandboxId?: string;
            };
        };
        /** @description Nobody but a human can answer */
        WebhookQuestionOpen: {
            /** @constant */
            type: "question.open";
            /**
             * Format: date-time
             * @description when it happened
             */
            timestamp: string;
            data: {
                /** @description rises by one for each receiver, from 1 */
                number: number;
                sessionId: string;
                /** @description the run of the daemon */
                incarnation: string;
                sandboxId?: string;
                /** @description SESSION:ASK */
                id: string;
                turn: number;
                /** @constant */
                kind: "ask_approval";
                ask: number;
                /** Format: date-time */
                expiresAt?: string;
                /** @description the answer when the time is up */
                default?: string;
                /** @description questions before it that were not told */
                leftOut?: number;
                /** @constant */
                elicitation: false;
                toolCallId?: string;
                title?: string;
                options?: {
                    [key: string]: unknown;
                }[];
            } | {
                /** @description rises by one for each receiver, from 1 */
                number: number;
                sessionId: string;
                /** @description the run of the daemon */
                incarnation: string;
                sandboxId?: string;
                /** @description SESSION:ASK */
                id: string;
                turn: number;
                /** @constant */
                kind: "ask_approval";
                ask: number;
                /** Format: date-time */
                expiresAt?: string;
                /** @description the answer when the time is up */
                default?: string;
                /** @description questions before it that were not told */
                leftOut?: number;
                /** @constant */
                elicitation: true;
                toolCallId?: string;
                title?: string;
                message?: string;
                mode?: string;
                requestedSchema?: {
                    [key: string]: unknown;
                };
                url?: string;
                elicitationId?: string;
            } | {
                /** @description rises by one for each receiver, from 1 */
                number: number;
                sessionId: string;
                /** @description the run of the daemon */
                incarnation: string;
                sandboxId?: string;
                /** @constant */
                truncated: true;
            };
        };
        WebhookReceiver: {
            /** @description where events are sent */
            url: string;
            /** @description signs them: whsec_ and base64 */
            secret: string;
            /** @description its name */
            id?: string;
            /** @description types of events; all without it */
            events?: string[];
        };
        /** @description Its harness has gone or does not come, or its journal is damaged */
        WebhookSessionBroken: {
            /** @constant */
            type: "session.broken";
            /**
             * Format: date-time
             * @description when it happened
             */
            timestamp: string;
            data: {
                /** @description rises by one for each receiver, from 1 */
                number: number;
                sessionId: string;
                /** @description the run of the daemon */
                incarnation: string;
                sandboxId?: string;
                /** @description daemon/protocol/errors.md */
                reason: string;
                /** @description for people */
                message: string;
            } | {
                /** @description rises by one for each receiver, from 1 */
                number: number;
                sessionId: string;
                /** @description the run of the daemon */
                incarnation: string;
                sandboxId?: string;
                /** @constant */
                truncated: true;
            };
        };
        /** @description A turn has ended */
        WebhookTurnEnded: {
            /** @constant */
            type: "turn.ended";
            /**
             * Format: date-time
             * @description when it happened
             */
            timestamp: string;
            data: {
                /** @description rises by one for each receiver, from 1 */
                number: number;
                sessionId: string;
                /** @description the run of the daemon */
                incarnation: string;
                sandboxId?: string;
                turn?: number;
                /** @description the run of the daemon that began the turn, if it is another one */
                turnIncarnation?: string;
                /** @description of the prompt */
                key?: string;
                attempt?: components["schemas"]["Attempt"];
                traceparent?: string;
                billingRef?: string;
                configVersion?: string;
                checks?: {
                    /** @enum {string} */
                    verdict: "verified" | "failed" | "unchecked";
                    results: {
                        id: string;
                        kind: string;
                        ok: boolean;
                        exitCode?: number;
                        durationMs: number;
                    }[];
                };
                stopReason: string;
                /** @description as ACP has it */
                usage?: {
                    [key: string]: unknown;
                };
                stopDetail?: components["schemas"]["StopDetail"];
            } | {
                /** @description rises by one for each receiver, from 1 */
                number: number;
                sessionId: string;
                /** @description the run of the daemon */
                incarnation: string;
                sandboxId?: string;
                turn?: number;
                /** @description the run of the daemon that began the turn, if it is another one */
                turnIncarnation?: string;
                /** @description of the prompt */
                key?: string;
                attempt?: components["schemas"]["Attempt"];
                traceparent?: string;
                billingRef?: string;
                configVersion?: string;
                checks?: {
                    /** @enum {string} */
                    verdict: "verified" | "failed" | "unchecked";
                    results: {
                        id: string;
                        kind: string;
                        ok: boolean;
                        exitCode?: number;
                        durationMs: number;
                    }[];
                };
                error: components["schemas"]["TurnError"];
            } | {
                /** @description rises by one for each receiver, from 1 */
                number: number;
                sessionId: string;
                /** @description the run of the daemon */
                incarnation: string;
                sandboxId?: string;
                /** @constant */
                truncated: true;
            };
        };
        /** @description what the workspace is to hold */
        Workspace: {
            /** @description the digest of an archive */
            archive?: string;
            /**
             * @description what becomes of what is there
             * @enum {string}
             */
            mode?: "replace" | "merge";
            /** @description a directory below the workspace */
            into?: string;
            /** @description leading directories to leave out */
            strip?: number | "auto";
            /**
             * @description what becomes of symbolic links that lead out
             * @enum {string}
             */
            links?: "refuse" | "skip" | "keep-inside";
            /** @description a workspace that goes with the session */
            ephemeral?: boolean;
            /** @description it is removed when the session is closed */
            removeOnClose?: boolean;
            /** @description it becomes the agent's */
            chown?: boolean;
            /** @description diffs can be made against it */
            baseline?: boolean;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    postAgui: {
        parameters: {
            query?: {
                /** @description the name of settings that the daemon has */
                profile?: string;
            };
            header?: never;
            path: {
                /** @description the id of a harness */
                harness: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunAgentInput"];
            };
        };
        responses: {
            /** @description the events of the run */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["AguiEvent"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getApprovals: {
        parameters: {
            query?: {
                /** @description only of this session */
                session?: string;
                /** @description nextCursor of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description as of now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approvals"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postApproval: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the id of a question: SESSION:ASK */
                approvalId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ApprovalAnswer"];
            };
        };
        responses: {
            /** @description this answer counts */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovalAnswered"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getArchives: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description as of now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Archives"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getArchive: {
        parameters: {
            query?: never;
            header?: {
                /** @description one range of bytes */
                Range?: string;
            };
            path: {
                /** @description sha256: and 64 hex digits */
                digest: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description all of it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
            /** @description a part of it */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    /** @description how much of it is there */
                    "Upload-Offset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    putArchive: {
        parameters: {
            query?: never;
            header?: {
                /** @description "bytes N-M/T", or "bytes *\/T" with an empty body: goes on with an upload */
                "Content-Range"?: string;
            };
            path: {
                /** @description sha256: and 64 hex digits */
                digest: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-tar": unknown;
                "application/gzip": unknown;
                "application/zstd": unknown;
                "application/zip": unknown;
                "application/octet-stream": unknown;
                "application/x-www-form-urlencoded": unknown;
            };
        };
        responses: {
            /** @description it was there */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArchiveStored"];
                };
            };
            /** @description it is there now */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArchiveStored"];
                };
            };
            /** @description a part of it */
            202: {
                headers: {
                    /** @description how much of it is there */
                    "Upload-Offset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArchivePart"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    /** @description how much of it is there */
                    "Upload-Offset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteArchive: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description sha256: and 64 hex digits */
                digest: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it is gone */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getBundle: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the id of a session */
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description a tar archive in zstd */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/zstd": unknown;
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    importBundle: {
        parameters: {
            query?: {
                /** @description the digest of the archive */
                archive?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description there is a session now, which can be read */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        sessionId: string;
                    };
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postClaim: {
        parameters: {
            query?: never;
            header?: {
                /** @description the access token of the sandbox */
                "X-Access-Token"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Claim"];
            };
        };
        responses: {
            /** @description it is claimed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getAcp: {
        parameters: {
            query?: {
                /** @description the harness of sessions that name none */
                harness?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description switched */
            101: {
                headers: {
                    /** @description of this connection */
                    "Acp-Connection-Id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it does */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOpenapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the description of this very daemon */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description too much was sent to clients without a token */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getReady: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description they can */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ready"];
                };
            };
            /** @description they cannot, or nobody has claimed the daemon */
            503: {
                headers: {
                    /** @description while it drains */
                    "Retry-After"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ready"] | components["schemas"]["Error"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the text format of Prometheus */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getInfo: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description versions, harnesses, features, isolation */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Info"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getStatus: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description as of now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DaemonStatus"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postShutdown: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description so long turns may go on; --drain without it */
                    drainSeconds?: number;
                };
            };
        };
        responses: {
            /** @description it drains */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DaemonStatus"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postRestart: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description so long turns may go on; --drain without it */
                    drainSeconds?: number;
                };
            };
        };
        responses: {
            /** @description it drains */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DaemonStatus"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getHosted: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description as of now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Hosted"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getMcp: {
        parameters: {
            query?: {
                /** @description the tools of this session */
                session?: string;
            };
            header?: {
                /** @description as MCP has it */
                "MCP-Protocol-Version"?: string;
                /** @description as MCP has it */
                "Mcp-Method"?: string;
                /** @description as MCP has it */
                "Mcp-Name"?: string;
                /** @description as MCP has it */
                "Mcp-Session-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description messages of the server */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["McpMessage"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] | components["schemas"]["McpFailure"];
                };
            };
            /** @description not possible now */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] | components["schemas"]["McpFailure"];
                };
            };
        };
    };
    postMcp: {
        parameters: {
            query?: {
                /** @description the tools of this session */
                session?: string;
            };
            header?: {
                /** @description as MCP has it */
                "MCP-Protocol-Version"?: string;
                /** @description as MCP has it */
                "Mcp-Method"?: string;
                /** @description as MCP has it */
                "Mcp-Name"?: string;
                /** @description as MCP has it */
                "Mcp-Session-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    [key: string]: unknown;
                } | {
                    [key: string]: unknown;
                }[];
            };
        };
        responses: {
            /** @description the answer, or a stream that has it */
            200: {
                headers: {
                    /** @description of the session that initialize has opened */
                    "Mcp-Session-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["McpMessage"];
                    "text/event-stream": components["schemas"]["McpMessage"];
                };
            };
            /** @description taken */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] | components["schemas"]["McpFailure"];
                };
            };
            /** @description not possible now */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] | components["schemas"]["McpFailure"];
                };
            };
        };
    };
    deleteMcp: {
        parameters: {
            query?: {
                /** @description the tools of this session */
                session?: string;
            };
            header?: {
                /** @description as MCP has it */
                "MCP-Protocol-Version"?: string;
                /** @description as MCP has it */
                "Mcp-Method"?: string;
                /** @description as MCP has it */
                "Mcp-Name"?: string;
                /** @description as MCP has it */
                "Mcp-Session-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it is over */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description it is over */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] | components["schemas"]["McpFailure"];
                };
            };
            /** @description not possible now */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] | components["schemas"]["McpFailure"];
                };
            };
        };
    };
    getMcpServer: {
        parameters: {
            query?: {
                /** @description the tools of this session */
                session?: string;
            };
            header?: {
                /** @description as MCP has it */
                "MCP-Protocol-Version"?: string;
                /** @description as MCP has it */
                "Mcp-Method"?: string;
                /** @description as MCP has it */
                "Mcp-Name"?: string;
                /** @description as MCP has it */
                "Mcp-Session-Id"?: string;
            };
            path: {
                /** @description the name of a hosted MCP server */
                server: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description messages of the server */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["McpMessage"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] | components["schemas"]["McpFailure"];
                };
            };
            /** @description not possible now */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] | components["schemas"]["McpFailure"];
                };
            };
        };
    };
    postMcpServer: {
        parameters: {
            query?: {
                /** @description the tools of this session */
                session?: string;
            };
            header?: {
                /** @description as MCP has it */
                "MCP-Protocol-Version"?: string;
                /** @description as MCP has it */
                "Mcp-Method"?: string;
                /** @description as MCP has it */
                "Mcp-Name"?: string;
                /** @description as MCP has it */
                "Mcp-Session-Id"?: string;
            };
            path: {
                /** @description the name of a hosted MCP server */
                server: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    [key: string]: unknown;
                } | {
                    [key: string]: unknown;
                }[];
            };
        };
        responses: {
            /** @description the answer, or a stream that has it */
            200: {
                headers: {
                    /** @description of the session that initialize has opened */
                    "Mcp-Session-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["McpMessage"];
                    "text/event-stream": components["schemas"]["McpMessage"];
                };
            };
            /** @description taken */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] | components["schemas"]["McpFailure"];
                };
            };
            /** @description not possible now */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] | components["schemas"]["McpFailure"];
                };
            };
        };
    };
    deleteMcpServer: {
        parameters: {
            query?: {
                /** @description the tools of this session */
                session?: string;
            };
            header?: {
                /** @description as MCP has it */
                "MCP-Protocol-Version"?: string;
                /** @description as MCP has it */
                "Mcp-Method"?: string;
                /** @description as MCP has it */
                "Mcp-Name"?: string;
                /** @description as MCP has it */
                "Mcp-Session-Id"?: string;
            };
            path: {
                /** @description the name of a hosted MCP server */
                server: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it is over */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description it is over */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] | components["schemas"]["McpFailure"];
                };
            };
            /** @description not possible now */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"] | components["schemas"]["McpFailure"];
                };
            };
        };
    };
    getSessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description as of now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sessions"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the id of a session */
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description as of now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getEvents: {
        parameters: {
            query?: {
                /** @description events with a greater number */
                since?: number;
                /** @description the run of the daemon of that number */
                incarnation?: string;
                /** @description whether to wait for what comes */
                follow?: boolean;
                /** @description sse follows by default */
                format?: "sse" | "ndjson";
            };
            header?: {
                /** @description with sse: goes before since */
                "Last-Event-ID"?: number;
            };
            path: {
                /** @description the id of a session */
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the events */
            200: {
                headers: {
                    /** @description the run of the daemon to keep with what is read */
                    "Acpd-Incarnation"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": components["schemas"]["Event"];
                    "text/event-stream": components["schemas"]["Event"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getTokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description without the tokens themselves */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tokens"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TokenOrder"];
            };
        };
        responses: {
            /** @description it holds from now on */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenMinted"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the id of a token, not the token */
                tokenId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it is revoked */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getUsage: {
        parameters: {
            query?: {
                /** @description records with a greater number; those up to it have arrived */
                since?: number;
                /** @description only of this session */
                session?: string;
                /** @description ndjson is the default */
                format?: "ndjson" | "json";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the records */
            200: {
                headers: {
                    /** @description the newest record, whatever the filter */
                    "Acpd-Last"?: number;
                    /** @description the oldest that is left */
                    "Acpd-First"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": components["schemas"]["UsageRecord"];
                    "application/json": components["schemas"]["UsageRecords"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getUiTop: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description to /ui/ */
            308: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getUi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the file */
            200: {
                headers: {
                    /** @description which bytes these are */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description the client has them: If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description there is no viewer beside this daemon: VIEWER_NOT_INSTALLED */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getUiScript: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the file */
            200: {
                headers: {
                    /** @description which bytes these are */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "text/javascript": string;
                };
            };
            /** @description the client has them: If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description there is no viewer beside this daemon: VIEWER_NOT_INSTALLED */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getUiStyle: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the file */
            200: {
                headers: {
                    /** @description which bytes these are */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "text/css": string;
                };
            };
            /** @description the client has them: If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description there is no viewer beside this daemon: VIEWER_NOT_INSTALLED */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getWorkspace: {
        parameters: {
            query?: {
                /** @description tar.gz is the default */
                format?: "tar" | "tar.gz" | "tar.zst" | "zip";
                /** @description gitignore leaves out what .gitignore names */
                ignore?: "none" | "gitignore";
                /** @description patterns of what to take */
                paths?: string;
                /** @description a directory of the workspace to begin at */
                root?: string;
            };
            header?: never;
            path: {
                /** @description the id of a session */
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the archive */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-tar": unknown;
                    "application/zip": unknown;
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getArtifacts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the id of a session */
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description oldest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Artifacts"];
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getArtifact: {
        parameters: {
            query?: never;
            header?: {
                /** @description one range of bytes */
                Range?: string;
            };
            path: {
                /** @description the id of a session */
                sessionId: string;
                /** @description the id of an artifact */
                artifactId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description all of it */
            200: {
                headers: {
                    /** @description bytes */
                    "Accept-Ranges"?: string;
                    /** @description of a part */
                    "Content-Range"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "*/*": unknown;
                };
            };
            /** @description a part of it */
            206: {
                headers: {
                    /** @description bytes */
                    "Accept-Ranges"?: string;
                    /** @description of a part */
                    "Content-Range"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "*/*": unknown;
                };
            };
            /** @description refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not possible now, or failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    onTurnEnded: {
        parameters: {
            query?: never;
            header: {
                /** @description of this message: one that comes again has the same */
                "webhook-id": string;
                /** @description of this attempt, in seconds */
                "webhook-timestamp": string;
                /** @description v1, and the base64 of an HMAC-SHA256, for each secret */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookTurnEnded"];
            };
        };
        responses: {
            /** @description nothing more is sent */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description it is accepted */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description it is sent again */
            "4XX": {
                headers: {
                    /** @description of 429: after so many seconds */
                    "Retry-After"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onQuestionOpen: {
        parameters: {
            query?: never;
            header: {
                /** @description of this message: one that comes again has the same */
                "webhook-id": string;
                /** @description of this attempt, in seconds */
                "webhook-timestamp": string;
                /** @description v1, and the base64 of an HMAC-SHA256, for each secret */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookQuestionOpen"];
            };
        };
        responses: {
            /** @description nothing more is sent */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description it is accepted */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description it is sent again */
            "4XX": {
                headers: {
                    /** @description of 429: after so many seconds */
                    "Retry-After"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onBudgetWarning: {
        parameters: {
            query?: never;
            header: {
                /** @description of this message: one that comes again has the same */
                "webhook-id": string;
                /** @description of this attempt, in seconds */
                "webhook-timestamp": string;
                /** @description v1, and the base64 of an HMAC-SHA256, for each secret */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookBudgetWarning"];
            };
        };
        responses: {
            /** @description nothing more is sent */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description it is accepted */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description it is sent again */
            "4XX": {
                headers: {
                    /** @description of 429: after so many seconds */
                    "Retry-After"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onSessionBroken: {
        parameters: {
            query?: never;
            header: {
                /** @description of this message: one that comes again has the same */
                "webhook-id": string;
                /** @description of this attempt, in seconds */
                "webhook-timestamp": string;
                /** @description v1, and the base64 of an HMAC-SHA256, for each secret */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookSessionBroken"];
            };
        };
        responses: {
            /** @description nothing more is sent */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description it is accepted */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description it is sent again */
            "4XX": {
                headers: {
                    /** @description of 429: after so many seconds */
                    "Retry-After"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onArtifactCreated: {
        parameters: {
            query?: never;
            header: {
                /** @description of this message: one that comes again has the same */
                "webhook-id": string;
                /** @description of this attempt, in seconds */
                "webhook-timestamp": string;
                /** @description v1, and the base64 of an HMAC-SHA256, for each secret */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookArtifactCreated"];
            };
        };
        responses: {
            /** @description nothing more is sent */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description it is accepted */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description it is sent again */
            "4XX": {
                headers: {
                    /** @description of 429: after so many seconds */
                    "Retry-After"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onCheckFailed: {
        parameters: {
            query?: never;
            header: {
                /** @description of this message: one that comes again has the same */
                "webhook-id": string;
                /** @description of this attempt, in seconds */
                "webhook-timestamp": string;
                /** @description v1, and the base64 of an HMAC-SHA256, for each secret */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookCheckFailed"];
            };
        };
        responses: {
            /** @description nothing more is sent */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description it is accepted */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description it is sent again */
            "4XX": {
                headers: {
                    /** @description of 429: after so many seconds */
                    "Retry-After"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onDraftReady: {
        parameters: {
            query?: never;
            header: {
                /** @description of this message: one that comes again has the same */
                "webhook-id": string;
                /** @description of this attempt, in seconds */
                "webhook-timestamp": string;
                /** @description v1, and the base64 of an HMAC-SHA256, for each secret */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookDraftReady"];
            };
        };
        responses: {
            /** @description nothing more is sent */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description it is accepted */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description it is sent again */
            "4XX": {
                headers: {
                    /** @description of 429: after so many seconds */
                    "Retry-After"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onGap: {
        parameters: {
            query?: never;
            header: {
                /** @description of this message: one that comes again has the same */
                "webhook-id": string;
                /** @description of this attempt, in seconds */
                "webhook-timestamp": string;
                /** @description v1, and the base64 of an HMAC-SHA256, for each secret */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookGap"];
            };
        };
        responses: {
            /** @description nothing more is sent */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description it is accepted */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description it is sent again */
            "4XX": {
                headers: {
                    /** @description of 429: after so many seconds */
                    "Retry-After"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
