#include "model/model_api.h"

#include "base/http/http_fields.h"
#include "base/util.h"

#include <string.h>
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
	"openai-beta",	      "originator",	     "session-id",	   "session_id",
	"thread-id",	      "x-client-request-id", "x-codex-",	   "x-session-id",
	"x-session-affinity", "x-initiator",	     "x-interaction-type", NULL
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

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("-._~@", c));
}

/* Of a "*": no encoding, and no segment that stands for another one. */
static bool name_ok(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!is_plain(s.p[i]))
			return false;
	return s.n && !slice_is(s, ".") && !slice_is(s, "..");
}

static bool query_ok(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!is_plain(s.p[i]) && (!s.p[i] || !strchr("=&%+:,;/?!$'()*", s.p[i])))
			return false;
	return true;
}

/* True if path is row, its "*" in wild. */
static bool row_fits(const char *row, struct slice path, struct slice *wild)
{
	const char *star = strchr(row, '*');
	size_t before = star ? (size_t)(star - row) : 0, after = star ? strlen(star + 1) : 0;

	*wild = SLICE_NONE;
	if (!star)
		return slice_is(path, row);
	if (path.n < before + after || memcmp(path.p, row, before) != 0 ||
	    memcmp(path.p + path.n - after, star + 1, after) != 0)
		return false;
	*wild = (struct slice){ path.p + before, path.n - before - after };
	return name_ok(*wild);
}

static struct slice without_query(struct slice path, struct slice *query)
{
	const char *mark = path.n ? memchr(path.p, '?', path.n) : NULL;

	*query = SLICE_NONE;
	if (!mark)
		return path;
	*query = (struct slice){ mark + 1, (size_t)(path.p + path.n - mark - 1) };
	return (struct slice){ path.p, (size_t)(mark - path.p) };
}

bool model_path_passes(enum model_api api, struct slice method, struct slice path)
{
	struct slice query, wild;

	path = without_query(path, &query);
	if (!query_ok(query))
		return false;
	for (const struct path_row *r = apis[api].paths; r->path; r++)
		if (slice_is(method, r->method) && row_fits(r->path, path, &wild))
			return true;
	return false;
}

struct slice model_of_path(enum model_api api, struct slice path)
{
	struct slice query, wild;

	path = without_query(path, &query);
	for (const struct path_row *r = apis[api].paths; r->path; r++)
		if (strcmp(r->method, "POST") == 0 && row_fits(r->path, path, &wild))
			return wild;
	return SLICE_NONE;
}

/* --- headers ---------------------------------------------------------------------------------------------- */

static bool name_fits(struct slice name, const char *row)
{
	size_t n = strlen(row);

	if (row[n - 1] == '-')
		return name.n > n && strncasecmp(name.p, row, n) == 0;
	return http_word_is(name, row);
}

static bool in_list(struct slice name, const char *const *list)
{
	for (; *list; list++)
		if (name_fits(name, *list))
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

static void put_header(struct jw *w, struct slice name, struct slice value)
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
		    (in_list(name, every_header) || in_list(name, apis[api].headers)) &&
		    !came_before(lines, name, line.p))
			put_header(w, name, value);
	jw_str(w, "accept-encoding", "identity");
}

bool model_answer_header_passes(struct slice name)
{
	static const char *const list[] = {
		"content-type",	  "retry-after",  "retry-after-ms",	  "x-should-retry",
		"x-request-id",	  "request-id",	  "x-ratelimit-",	  "anthropic-ratelimit-",
		"openai-version", "openai-model", "openai-processing-ms", NULL
	};

	return in_list(name, list);
}
