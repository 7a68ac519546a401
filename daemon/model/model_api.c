/*
 * model_api.c - allowlists of the paths and headers that go through the daemon between a harness
 * and its provider.
 *
 * The agent controls the request, so only listed paths and headers pass. Paths are compared byte by
 * byte and never decoded. A "*" matches plain characters only: no percent-encoding or ".." can mean
 * another path upstream. Of a duplicate header the first value passes, because the headers become
 * members of one JSON object.
 */
#include "model/model_api.h"

#include "base/http/http_fields.h"
#include "base/limits.h"
#include "base/util.h"
#include "json/jdec.h"

#include <strings.h>

struct path_row {
	const char *method;
	const char *path; /* "*" is one segment, or what of it stands before a colon */
};

static const struct path_row responses_paths[] = {
	{ "POST", "/v1/responses" },
	{ "GET", "/v1/models" },
	{ "GET", "/v1/models/*" },
	{ NULL, NULL },
};
static const struct path_row chat_paths[] = {
	{ "POST", "/v1/chat/completions" },
	{ "GET", "/v1/models" },
	{ "GET", "/v1/models/*" },
	{ NULL, NULL },
};
static const struct path_row anthropic_paths[] = {
	{ "POST", "/v1/messages" },
	{ "POST", "/v1/messages/count_tokens" },
	{ "GET", "/v1/models" },
	{ "GET", "/v1/models/*" },
	{ NULL, NULL },
};
static const struct path_row google_paths[] = {
	{ "POST", "/v1beta/models/*:generateContent" },
	{ "POST", "/v1beta/models/*:streamGenerateContent" },
	{ "POST", "/v1beta/models/*:countTokens" },
	{ "GET", "/v1beta/models" },
	{ "GET", "/v1beta/models/*" },
	{ NULL, NULL },
};

/* What the harnesses of today send besides their key (measured); a name that ends with "-" is a beginning. */
static const char *const openai_headers[] = {
	"openai-beta", "originator",	     "session-id",
	"session_id",  "thread-id",	     "x-client-request-id",
	"x-codex-",    "x-session-id",	     "x-session-affinity",
	"x-initiator", "x-interaction-type", "x-opencode-session-id",
	NULL
};
static const char *const anthropic_headers[] = { "anthropic-version",
						 "anthropic-beta",
						 "anthropic-dangerous-direct-browser-access",
						 "x-app",
						 "x-claude-code-session-id",
						 NULL };
static const char *const google_headers[] = { "x-goog-api-client", NULL };
static const char *const every_header[] = { "content-type", "accept",  "user-agent",
					    "http-referer", "x-title", NULL };

static const struct {
	const char *name, *root;
	const struct path_row *paths;
	const char *const *headers;
} apis[] = {
	[MODEL_OPENAI_RESPONSES] = { "openai-responses", "/v1", responses_paths, openai_headers },
	[MODEL_OPENAI_CHAT] = { "openai-chat", "/v1", chat_paths, openai_headers },
	[MODEL_ANTHROPIC] = { "anthropic", "/v1", anthropic_paths, anthropic_headers },
	[MODEL_GOOGLE] = { "google", "/v1beta", google_paths, google_headers },
};

int model_api_find(const char *name)
{
	for (int i = 0; i < MODEL_API_MAX; i++)
		if (strcmp(apis[i].name, name) == 0)
			return i;
	return -1;
}

const char *model_api_name(enum model_api api)
{
	return apis[api].name;
}

const char *model_api_root(enum model_api api)
{
	return apis[api].root;
}

/* --- paths ------------------------------------------------------------------------------------------------ */

/* No encoding. */
#define PLAIN_IN_PATH "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~@"

/* Of these bytes, and no segment that stands for another one. */
static bool segment_of(struct slice s, const char *bytes)
{
	return s.n && slice_only(s, bytes) && !slice_is(s, ".") && !slice_is(s, "..");
}

/* True if path is row. */
static bool row_fits(struct slice row, struct slice path)
{
	const char *star = memchr(row.p, '*', row.n);
	size_t before = star ? (size_t)(star - row.p) : 0, after = star ? row.n - before - 1 : 0;

	if (!star)
		return slice_eq(path, row);
	/* The length first: in a short path the parts before and after the star would overlap. */
	return path.n >= before + after && memcmp(path.p, row.p, before) == 0 &&
	       memcmp(path.p + path.n - after, star + 1, after) == 0 &&
	       segment_of((struct slice){ path.p + before, path.n - before - after },
			  PLAIN_IN_PATH);
}

/* Returns the path without its query. */
static struct slice model_path_cut(struct slice path, struct slice *query)
{
	*query = path;
	if (slice_cut(query, '?', &path))
		return path;
	*query = SLICE_NONE;
	return path;
}

/* One of a session's rows, as it was checked: no character in it is escaped. False: it is none. */
static bool split_row(struct jval v, struct slice *method, struct slice *path)
{
	struct slice text = { v.raw.p + 1, v.type == J_STRING ? v.raw.n - 2 : 0 };

	*path = text;
	return slice_cut(path, ' ', method);
}

static bool more_fits(struct slice more, struct slice method, struct slice path)
{
	struct slice own, row;

	jarr_each(v, more)
		if (split_row(v, &own, &row) && slice_eq(own, method) && row_fits(row, path))
			return true;
	return false;
}

bool model_path_passes(enum model_api api, struct slice more, struct slice method,
		       struct slice path)
{
	struct slice query;

	path = model_path_cut(path, &query);
	if (!slice_only(query, PLAIN_IN_PATH "=&%+:,;/?!$'()*"))
		return false;
	for (const struct path_row *r = apis[api].paths; r->path; r++)
		if (slice_is(method, r->method) && row_fits(slice_of(r->path), path))
			return true;
	return more_fits(more, method, path);
}

/* "/v1beta/models/NAME:call" */
struct slice model_of_path(enum model_api api, struct slice path)
{
	struct slice query, model;

	path = model_path_cut(path, &query);
	if (slice_skip(&path, apis[api].root) && slice_skip(&path, "/models/") &&
	    slice_cut(&path, ':', &model) && segment_of(model, PLAIN_IN_PATH))
		return model;
	return SLICE_NONE;
}

/* --- rows of a session ------------------------------------------------------------------------------------ */

static bool segment_ok(struct slice s)
{
	/* "*" is all of it, or all before a colon. */
	if (slice_skip(&s, "*"))
		return !s.n || (*s.p == ':' && slice_only(s, PLAIN_IN_PATH ":"));
	return segment_of(s, PLAIN_IN_PATH ":");
}

/* path: without its leading slash. */
static bool segments_ok(struct slice path)
{
	size_t stars = 0;
	struct slice s;

	while (slice_item(&path, '/', &s)) {
		if (!segment_ok(s))
			return false;
		stars += s.p[0] == '*';
	}
	return stars <= 1;
}

static bool session_row_ok(enum model_api api, struct jval v)
{
	struct slice method, path;

	return split_row(v, &method, &path) &&
	       (slice_is(method, "GET") || slice_is(method, "POST")) &&
	       slice_skip(&path, apis[api].root) && slice_skip(&path, "/") && segments_ok(path);
}

int model_paths_check(enum model_api api, struct slice paths, const char *field, struct err *e)
{
	char at[96];

	if (!paths.n)
		return 0;
	jarr_each_at(i, v, paths) {
		snprintf(at, sizeof(at), "%s[%zu]", field, i);
		if (i >= MODEL_PATHS_MAX)
			return err_field(e, at, "TOO_MANY", "more than %d paths", MODEL_PATHS_MAX);
		if (v.raw.n > MODEL_PATH_LEN || !session_row_ok(api, v))
			return err_field(e, at, "FIELD_INVALID",
					 "a path is \"GET %s/...\" or \"POST %s/...\", plain "
					 "segments of which one may be *",
					 apis[api].root, apis[api].root);
	}
	return 0;
}

/* How the paths of calls end that use tokens; all of them are POST. */
static const char *const generating[MODEL_API_MAX][2] = {
	[MODEL_OPENAI_RESPONSES] = { "/responses" },
	[MODEL_OPENAI_CHAT] = { "/chat/completions" },
	[MODEL_ANTHROPIC] = { "/messages" },
	[MODEL_GOOGLE] = { ":generateContent", ":streamGenerateContent" },
};

bool model_path_generates(enum model_api api, struct slice method, struct slice path)
{
	struct slice query;

	path = model_path_cut(path, &query);
	for (size_t i = 0; i < ARRAY_SIZE(generating[api]) && generating[api][i]; i++) {
		size_t n = strlen(generating[api][i]);

		if (path.n > n && memcmp(path.p + path.n - n, generating[api][i], n) == 0)
			return slice_is(method, "POST");
	}
	return false;
}

/* --- tokens ----------------------------------------------------------------------------------------------- */

uint64_t model_output_asked(struct slice body)
{
	struct jslot google[] = { { .key = "maxOutputTokens" } };
	struct jslot slots[] = {
		{ .key = "max_output_tokens" },
		{ .key = "max_completion_tokens" },
		{ .key = "max_tokens" },
		{ .key = "generationConfig", .sub = google, .nsub = ARRAY_SIZE(google) },
	};
	int64_t n = 0, most = 0;

	if (jscan_object(body, slots, ARRAY_SIZE(slots)) != JSCAN_OK)
		return 0;
	/* Whichever member the provider reads, the largest is an upper bound. */
	for (size_t i = 0; i < ARRAY_SIZE(slots) - 1; i++)
		if (jdec_int(slots[i].v, &n) == 0)
			most = MAX(most, n);
	if (jdec_int(google[0].v, &n) == 0)
		most = MAX(most, n);
	return (uint64_t)most;
}

/* --- headers ---------------------------------------------------------------------------------------------- */

static bool header_name_fits(struct slice name, const char *row)
{
	size_t n = strlen(row);

	if (row[n - 1] == '-')
		return name.n > n && strncasecmp(name.p, row, n) == 0;
	return http_word_is(name, row);
}

static bool is_header_listed(struct slice name, const char *const *list)
{
	for (; *list; list++)
		if (header_name_fits(name, *list))
			return true;
	return false;
}

/* A header that comes twice would be a member that comes twice: the first one counts. */
static bool came_before(struct slice lines, struct slice name, const char *here)
{
	struct slice line, own, value;

	while (http_line_next(&lines, &line) && line.p < here)
		if (http_field_split(line, &own, &value) && http_words_same(own, name))
			return true;
	return false;
}

static void put_request_header(struct jw *w, struct slice name, struct slice value)
{
	_cleanup_(freep) char *key = xstrndup(name.p, name.n);

	for (char *c = key; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	jw_lead_key(w, key);
	jw_slice(w, NULL, value);
}

void model_request_headers(enum model_api api, struct slice lines, struct jw *w)
{
	struct slice rest = lines, line, name, value;

	while (http_line_next(&rest, &line))
		if (http_field_split(line, &name, &value) &&
		    (is_header_listed(name, every_header) ||
		     is_header_listed(name, apis[api].headers)) &&
		    !came_before(lines, name, line.p))
			put_request_header(w, name, value);
	jw_str(w, "accept-encoding", "identity");
}

bool model_answer_header_passes(struct slice name)
{
	static const char *const list[] = {
		"content-type",	  "retry-after",  "retry-after-ms",	  "x-should-retry",
		"x-request-id",	  "request-id",	  "x-ratelimit-",	  "anthropic-ratelimit-",
		"openai-version", "openai-model", "openai-processing-ms", NULL
	};

	return is_header_listed(name, list);
}
