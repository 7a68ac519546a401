// bridge.mjs - the half of the Pi adapter that runs inside Pi, as an extension (embedded in acpd by bridge.c).
//
// RPC mode cannot ask before a tool runs, take MCP servers or a provider for one session, switch an approval level, or show what
// a file held before an edit; extensions can. Towards acpd the bridge speaks through what RPC mode forwards of ctx.ui:
//   setStatus "acpd"  one JSON object, nothing is awaited: {type: "hello" | "diff" | "set", …}
//   select            a permission question; the title is JSON {type: "permission", …}, the options are option ids
//   input, select     a question of the tool ask_user; the title is JSON {type: "question", …}
// Towards Pi acpd speaks through the commands /acpd:set {"mode": …, "approval": …}, /acpd:set {"calls": …, "rules": …} (how many tool
// calls the next turn may make, null: any number; what is asked because rules may speak of it) and /acpd:key {"key": …}.
//
// What the session is comes in the environment (ACPD_PI_0… joined are one JSON object), which is taken out of it at once: the commands
// that the model runs inherit what is left. The provider's key comes by its command: /proc shows a process's first environment for ever.
import { VERSION } from "@earendil-works/pi-coding-agent";
import { getBuiltinModel } from "@earendil-works/pi-ai/providers/all";
import { Type } from "typebox";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const PROVIDER = "acpd";
const SILENCE = 300_000; // ms that a provider may be silent, unless the session says otherwise; the same as in Pi
const PAUSE_MAX = 60_000; // ms that a provider's retry-after is waited for
const DIFF_MAX = 1 << 20; // bytes of a file whose texts are shown as a diff
const READ_ONLY = new Set(["read", "grep", "find", "ls", "tool_search", "codemode", "ask_user"]);
const READS = new Set(["read", "grep", "find", "ls"]);
const EDITS = new Set(["edit", "write"]);
const RULES = 1, RULES_READS = 2; // bits of "rules": about all that acts, and about what reads files

// catalog: the provider in Pi's own list of models that says what a model of that id can do.
const APIS = {
	"openai-chat": { api: "openai-completions", url: "https://api.openai.com/v1", catalog: "openai" },
	"openai-responses": { api: "openai-responses", url: "https://api.openai.com/v1", catalog: "openai" },
	anthropic: { api: "anthropic-messages", url: "https://api.anthropic.com", catalog: "anthropic" },
	google: { api: "google-generative-ai", url: "https://generativelanguage.googleapis.com/v1beta", catalog: "google" },
};

const PLAN_NOTE = "You are in plan mode. Read and search to work out a plan and present it. Do not change anything: edit and write are "
	+ "blocked, and commands must only read. Changes are made when the user has left plan mode.";

function takeEnv() {
	let text = "";

	for (let i = 0; process.env[`ACPD_PI_${i}`] !== undefined; i++) {
		text += process.env[`ACPD_PI_${i}`];
		delete process.env[`ACPD_PI_${i}`];
	}
	return JSON.parse(text || "{}");
}

// Pi would expand $NAME and run !command in these values.
const literal = (value) => value.replaceAll("$", "$$$$").replace(/^!/, "$!");

// --- provider and MCP servers ------------------------------------------------------------------

const builtin = (id, catalog) => getBuiltinModel(catalog, id.slice(id.lastIndexOf("/") + 1));
const inCatalog = ({ api, models }) => builtin(models[0] ?? "", APIS[api].catalog) !== undefined;

// Prices are left out: what a gateway charges is not in Pi's catalog. A model that is not in it may think, if told to.
function modelOf(id, catalog) {
	const known = builtin(id, catalog);
	const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

	if (!known)
		return { id, name: id, reasoning: true, input: ["text", "image"], cost, contextWindow: 128_000, maxTokens: 16_384 };
	const { name, reasoning, input, contextWindow, maxTokens, thinkingLevelMap, compat, inputLimits } = known;
	return { id, name, reasoning, input, cost, contextWindow, maxTokens, thinkingLevelMap, compat, inputLimits };
}

function addressOf({ api, baseUrl }) {
	const url = baseUrl ?? APIS[api].url;

	return api === "anthropic" ? url.replace(/\/v1\/?$/, "") : url; // its client adds that itself
}

function registerProvider(pi, provider, key) {
	const { api, models, headers = {} } = provider;
	const row = APIS[api];

	pi.registerProvider(PROVIDER, { name: "acpd", baseUrl: addressOf(provider), apiKey: literal(key), api: row.api,
		headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, literal(value)])),
		models: models.map((id) => modelOf(id, row.catalog)) });
}

const hrefOf = (url) => URL.parse(url)?.href ?? "";

// A provider that refuses may say when to come again: until then, but not for ever, nothing is asked.
class Pause {
	#until = 0;

	note({ status, headers }) {
		const said = headers.get("retry-after") ?? "";
		const ms = /^\d+(\.\d+)?$/.test(said) ? said * 1000 : Date.parse(said) - Date.now();

		if ((status === 429 || status >= 500) && ms > 0)
			this.#until = Date.now() + Math.min(ms, PAUSE_MAX);
	}

	async over(signal) {
		const ms = this.#until - Date.now();

		if (ms > 0)
			await sleep(ms, undefined, { signal });
	}
}

// The head of an answer and each piece of it must come within so many ms. Pi's own limit would also be that of MCP servers, and stands in
// a file that is written once: there it is the longest that a session may ask for.
function limitSilence(base, ms) {
	const { fetch } = globalThis;
	const pause = new Pause();

	globalThis.fetch = async (input, init = {}) => {
		if (!hrefOf(input.url ?? input).startsWith(base))
			return fetch(input, init);
		if (base)
			await pause.over(init.signal);
		const silent = new AbortController();
		const timer = setTimeout(() => silent.abort(new Error(`the provider timed out, silent for ${ms} ms`)), ms).unref();
		const signal = AbortSignal.any([silent.signal, init.signal].filter(Boolean));
		const heard = new TransformStream({
			transform(piece, to) {
				timer.refresh();
				to.enqueue(piece);
			},
			flush: () => clearTimeout(timer),
		});

		try {
			const response = await fetch(input, { ...init, signal });
			pause.note(response);
			timer.refresh();
			return new Response(response.body?.pipeThrough(heard), response);
		} catch (error) {
			clearTimeout(timer);
			throw error;
		}
	};
}

const pairs = (list = []) => Object.fromEntries(list.map(({ name, value }) => [name, value.replaceAll("$", "$$$$")]));

function registerMcp(pi, servers, callMs, failures) {
	for (const { name, command, args, env, url, headers } of servers) {
		const id = name.replace(/[^A-Za-z0-9_-]/g, "_");
		const where = url ? { url, headers: pairs(headers) } : { command, args, env: pairs(env) };

		try {
			pi.registerMcpServer(id, { ...where, exposure: "direct", timeout: callMs && callMs / 1000 });
		} catch (error) {
			failures.push(`MCP server ${name}: ${error.message}`);
		}
	}
}

// --- files ---------------------------------------------------------------------------------------

const absolute = (ctx, file) => path.resolve(ctx.cwd, String(file ?? "").replace(/^@/, "").replace(/^~(?=\/|$)/, process.env.HOME ?? "~"));

// null: there is no such file; undefined: not one to show.
function textOf(file) {
	try {
		if (fs.statSync(file).size > DIFF_MAX)
			return undefined;
		const text = fs.readFileSync(file, "utf8");
		return text.includes("\0") ? undefined : text;
	} catch (error) {
		return error.code === "ENOENT" ? null : undefined;
	}
}

function linkTarget(file) {
	try {
		return fs.readlinkSync(file);
	} catch {
		return undefined;
	}
}

// The place that a path really names, though its end, or that of a link in it, may not exist yet. It is undone if links go round.
function realPath(file, hops = 0) {
	try {
		return fs.realpathSync(file);
	} catch (error) {
		const parent = path.dirname(file);
		const target = linkTarget(file);

		if (hops > 40 || error.code === "ELOOP")
			return "/";
		if (target !== undefined)
			return realPath(path.resolve(realPath(parent, hops + 1), target), hops + 1);
		return parent === file ? file : path.join(realPath(parent, hops + 1), path.basename(file));
	}
}

function isBelow(file, dirs) {
	const real = realPath(file);

	return dirs.some((dir) => {
		const base = realPath(dir);
		return real === base || real.startsWith(base.endsWith("/") ? base : base + "/");
	});
}

// Where processes show their memory and environment, Pi's own among them.
const showsProcesses = (file) => isBelow(file, ["/proc"]) || realPath(file) === "/";

// What an edit would make of the text; undefined if that cannot be told.
function edited(toolName, input, old) {
	if (toolName === "write")
		return typeof input.content === "string" ? input.content : undefined;
	if (typeof old !== "string" || !Array.isArray(input.edits))
		return undefined;
	let text = old;
	for (const { oldText, newText } of input.edits) {
		if (!oldText || text.split(oldText).length !== 2)
			return undefined;
		text = text.replace(oldText, () => newText);
	}
	return text;
}

// Old texts of the files being edited. Calls of one message run at once: the one that ends first leaves its result for the next.
class Edits {
	#open = new Map(); // toolCallId -> path
	#texts = new Map(); // path -> {text, users}

	begin(id, file) {
		const entry = this.#texts.get(file) ?? { text: textOf(file), users: 0 };

		entry.users++;
		this.#texts.set(file, entry);
		this.#open.set(id, file);
		return entry.text;
	}

	end(id) {
		const file = this.#open.get(id);
		const entry = this.#texts.get(file);

		if (!entry)
			return null;
		this.#open.delete(id);
		if (--entry.users === 0)
			this.#texts.delete(file);
		const oldText = entry.text;
		entry.text = textOf(file);
		return { path: file, oldText, newText: entry.text };
	}
}

// --- permissions -----------------------------------------------------------------------------------

const isMcp = (name) => name.startsWith("mcp__") || /^(list_mcp|read_mcp)/.test(name);

class Gate {
	#pi; #state; #edits; #always = new Set();

	constructor(pi, state, edits) {
		this.#pi = pi;
		this.#state = state;
		this.#edits = edits;
	}

	// What "always" would mean for this call.
	#scope({ toolName, input }) {
		if (EDITS.has(toolName))
			return { key: "edit", name: "Always allow edits" };
		if (toolName === "bash" || toolName === "powershell")
			return { key: `${toolName} ${input.command}`, name: "Always allow this command" };
		return { key: toolName, name: `Always allow ${toolName}` };
	}

	// "allow", "block" or "ask", by mode and approval
	#rule(event, ctx) {
		const { mode, approval, dirs } = this.#state;
		const tool = this.#pi.getAllTools().find((t) => t.name === event.toolName);
		const harmless = READ_ONLY.has(event.toolName) && (event.toolName === "ask_user" || tool?.sourceInfo?.source === "builtin");

		if (harmless && (approval === "never" || !showsProcesses(absolute(ctx, event.input.path))))
			return "allow";
		if (mode === "plan" && EDITS.has(event.toolName))
			return "block";
		if (mode === "plan" && !(isMcp(event.toolName) && tool?.annotations?.readOnlyHint))
			return approval === "never" ? "block" : "ask";
		if (approval === "never" || this.#always.has(this.#scope(event).key))
			return "allow";
		if (approval === "accept-edits" && EDITS.has(event.toolName) && isBelow(absolute(ctx, event.input.path), [ctx.cwd, ...dirs]))
			return "allow";
		return "ask";
	}

	// A script's calls come here themselves, and a question to the user does nothing.
	#ruled({ toolName }) {
		const tool = this.#pi.getAllTools().find((t) => t.name === toolName);

		if (READ_ONLY.has(toolName) && (toolName === "ask_user" || tool?.sourceInfo?.source === "builtin"))
			return READS.has(toolName) && (this.#state.rules & RULES_READS) !== 0;
		return (this.#state.rules & RULES) !== 0;
	}

	// Calls of one message come here one by one, whatever runs at once later.
	#counts() {
		return this.#state.calls === null || this.#state.calls-- > 0;
	}

	async check(event, ctx) {
		if (!this.#counts())
			return { block: true, reason: "The budget of tool calls is used up." };
		const rule = this.#rule(event, ctx);
		const file = EDITS.has(event.toolName) ? absolute(ctx, event.input.path) : null;

		if (rule === "block")
			return { block: true, reason: `${event.toolName} is not allowed in plan mode.` };
		const old = file ? this.#edits.begin(event.toolCallId, file) : undefined;
		const approved = rule === "allow";
		if (approved && !this.#ruled(event) || await this.#ask(event, ctx, file, old, approved))
			return undefined;
		this.#edits.end(event.toolCallId);
		return { block: true, reason: ctx.signal?.aborted ? "Cancelled by the user." : "The user did not allow this call." };
	}

	async #ask({ toolCallId, toolName, input, parentToolCallId }, ctx, file, old, approved) {
		const { key, name } = this.#scope({ toolName, input });
		const newText = file ? edited(toolName, input, old) : undefined;
		const title = JSON.stringify({ type: "permission", toolCallId, toolName, input, parentToolCallId, always: name, approved,
			diff: typeof newText === "string" && old !== undefined ? { path: file, oldText: old, newText } : undefined });
		const choice = await ctx.ui.select(title, ["allow_once", "allow_always", "reject_once"], { signal: ctx.signal });

		if (choice === "allow_always")
			this.#always.add(key);
		return choice === "allow_once" || choice === "allow_always";
	}
}

// --- questions of the model ------------------------------------------------------------------------

function registerAskUser(pi) {
	pi.registerTool({
		name: "ask_user",
		label: "Ask user",
		description: "Ask the user a question and wait for the answer. Use it only when the answer decides how to go on.",
		promptSnippet: "Ask the user a question and wait for the answer",
		exposure: "model-only",
		parameters: Type.Object({
			question: Type.String({ description: "The question" }),
			options: Type.Optional(Type.Array(Type.String(), { description: "Answers to choose from; leave out for free text" })),
		}),
		async execute(toolCallId, { question, options }, signal, _onUpdate, ctx) {
			const title = JSON.stringify({ type: "question", toolCallId, question });
			const answer = options?.length ? await ctx.ui.select(title, options, { signal })
				: await ctx.ui.input(title, undefined, { signal });

			return { content: [{ type: "text", text: answer === undefined ? "The user gave no answer." : answer }],
				details: { answer: answer ?? null } };
		},
	});
}

// --- what was switched at run time -------------------------------------------------------------------

// A restart does not loosen what the client has tightened. The file lies where commands of the model could write, so what it says
// more freely than the session does is not believed.
const STRICT = ["never", "accept-edits", "ask"];

function restoreState(file, state) {
	try {
		const { mode, approval } = JSON.parse(fs.readFileSync(file, "utf8"));

		if (mode === "plan")
			state.mode = mode;
		if (STRICT.indexOf(approval) > STRICT.indexOf(state.approval))
			state.approval = approval;
	} catch {
		// never switched
	}
}

// --- the extension ---------------------------------------------------------------------------------

function addSystemPrompt(options, { system, override, dirs }, mode) {
	if (system && override)
		options.customPrompt = system;
	else if (system)
		options.appendSystemPrompt = [options.appendSystemPrompt, system].filter(Boolean).join("\n\n");
	if (dirs.length)
		options.sections.additional_directories = dirs.join("\n");
	options.sections.mode = mode === "plan" ? PLAN_NOTE : undefined;
}

export default function (pi) {
	const { provider, mcp = [], mcpCallMs, elicitation, ...config } = takeEnv();
	const state = { mode: "build", approval: "ask", dirs: [], calls: null, rules: 0, ...config };
	const failures = [];
	const edits = new Edits();
	const gate = new Gate(pi, state, edits);
	const tell = (ctx, message) => ctx.ui.setStatus("acpd", JSON.stringify(message));
	// Pi writes a session file with the first answer: without this note a session that has lost it looks like a new one
	const note = path.join(process.env.PI_CODING_AGENT_DIR, "acpd-prompted");
	const switched = path.join(process.env.PI_CODING_AGENT_DIR, "acpd-state.json");

	restoreState(switched, state);
	limitSilence(provider ? hrefOf(addressOf(provider)) : "", provider?.idleTimeoutMs ?? SILENCE);
	if (provider)
		registerProvider(pi, provider, "not told yet");
	registerMcp(pi, mcp, mcpCallMs, failures);
	if (elicitation)
		registerAskUser(pi);

	pi.on("session_start", (_event, ctx) => {
		tell(ctx, { type: "hello", version: VERSION, mode: state.mode, approval: state.approval,
			prompted: fs.existsSync(note) });
		// "off" sends nothing, so a model that cannot think is not asked to; OpenAI's Responses know no such default
		if (provider && !fs.existsSync(note) && provider.api !== "openai-responses" && !inCatalog(provider))
			pi.setThinkingLevel("off");
		for (const failure of failures)
			ctx.ui.notify(failure, "error");
	});
	pi.on("before_agent_start", (event) => {
		fs.writeFileSync(note, "");
		addSystemPrompt(event.systemPromptOptions, state, state.mode);
	});
	pi.on("tool_call", (event, ctx) => gate.check(event, ctx));
	pi.on("tool_result", (event, ctx) => {
		const diff = edits.end(event.toolCallId);

		if (diff && !event.isError && diff.oldText !== undefined && typeof diff.newText === "string" && diff.oldText !== diff.newText)
			tell(ctx, { type: "diff", toolCallId: event.toolCallId, ...diff });
	});
	pi.on("cache_warming_decision", () => ({ action: "stop" }));
	pi.registerCommand("acpd:key", {
		description: "Used by acpd",
		handler: async (args) => registerProvider(pi, provider, JSON.parse(args).key),
	});
	pi.registerCommand("acpd:set", {
		description: "Used by acpd",
		handler: async (args, ctx) => {
			const { mode = state.mode, approval = state.approval, calls, rules } = JSON.parse(args);

			if (calls !== undefined) {
				Object.assign(state, { calls, rules });
				return;
			}
			Object.assign(state, { mode, approval });
			fs.writeFileSync(switched, JSON.stringify({ mode, approval }));
			tell(ctx, { type: "set", mode, approval });
		},
	});
}
