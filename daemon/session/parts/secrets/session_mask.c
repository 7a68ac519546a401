/* session_mask.c - the secrets of a session in text that leaves it: in JSON by the tables of event_fields.h, in lines,
 * in files. */
#include "session/core/session_internal.h"

#include "base/os/file.h"
#include "base/limits.h"
#include "session/core/harness/baseenv.h"
#include "session/parts/session_parts.h"
#include "session/parts/secrets/secrets_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

static struct secrets_given given_of(const struct session *s)
{
	return (struct secrets_given){
		.marked = slice_of(s->setup.secrets),
		.provider = slice_of(s->setup.provider),
		.keys = &s->setup.keys,
		.env = slice_of(s->setup.env),
		.servers = slice_of(s->setup.mcp_servers),
		.models = s->setup.gateway.models,
		.in_use = { s->def ? s->def->id : NULL, s->setup.model, s->setup.gateway.model,
			    s->setup.gateway.small_model, s->harness.model, s->setup.mode },
	};
}

void session_load_secrets(struct session *s)
{
	_cleanup_(harness_plan_done) struct harness_plan plan = { 0 };
	struct secrets_given given = given_of(s);

	baseenv_put(&plan, s->store->pass_env);
	for (size_t i = 0; s->def && i < s->def->nenv; i++)
		harness_plan_env(&plan, s->def->env[i].name, s->def->env[i].value);
	given.operators = plan.env;
	given.noperators = plan.nenv;
	secrets_load(&secrets_of(s)->known, &given);
}

void session_learn_env(struct session *s, struct slice env)
{
	struct secrets_given given = given_of(s);

	secrets_learn(&secrets_of(s)->known, &given, env);
}

struct slice session_mask_json(const struct session *s, struct slice json, bool members,
			       const struct event_field *table, struct buf *b)
{
	if (!mask_hits(secrets_of(s)->known.mask, json))
		return json;
	event_fields_mask(secrets_of(s)->known.mask, json, members, table, b);
	return buf_slice(b);
}

void session_mask_line(const struct session *s, char *text, size_t size)
{
	mask_line(secrets_of(s)->known.mask, text, size);
}

void session_mask_string(const struct session *s, char **text)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	if (!*text || !mask_find(secrets_of(s)->known.mask, slice_of(*text)))
		return;
	mask_put(secrets_of(s)->known.mask, slice_of(*text), false, 0, NULL, &b);
	free(*text);
	*text = xstrndup(buf_slice(&b).p, buf_len(&b));
}

struct err session_mask_err(const struct session *s, const struct err *e)
{
	struct err own = *e;

	session_mask_line(s, own.msg, sizeof(own.msg));
	return own;
}

void session_mask_bytes(const struct session *s, struct buf *b)
{
	struct buf hidden = { .max = SIZE_MAX / 2 };

	if (!mask_find(secrets_of(s)->known.mask, buf_slice(b)))
		return;
	mask_put(secrets_of(s)->known.mask, buf_slice(b), false, 0, NULL, &hidden);
	hidden.max = b->max;
	buf_done(b);
	*b = hidden;
}

/* What is left of a secret that was cut in two ends before the middle: no secret is as long as half of it. */
void session_mask_rest(const struct session *s, struct buf *b, bool cut)
{
	struct buf first = { .max = SIZE_MAX / 2 }, last = { .max = SIZE_MAX / 2 };
	struct slice whole = buf_slice(b);
	size_t half = whole.n / 2, tail = 0;

	if (!cut || !secrets_of(s)->known.mask) {
		session_mask_bytes(s, b);
		return;
	}
	mask_put(secrets_of(s)->known.mask, (struct slice){ whole.p, half }, false, 0, &tail,
		 &first);
	mask_put(secrets_of(s)->known.mask, slice_after(whole, tail), false, 0, NULL, &last);
	buf_done(&first);
	last.max = b->max;
	buf_done(b);
	*b = last;
}

/* A piece at a time; what may be the beginning of a secret waits for the next. */
static int copy_masked(const struct mask *m, int from, int to)
{
	_cleanup_(buf_done) struct buf in = { .max = 4 * MIB }, out = { .max = 4 * MIB };
	ssize_t n = 1;
	int r = 0;

	while (r == 0 && n > 0) {
		size_t tail;

		if (buf_reserve(&in, FILE_PIECE) < 0)
			return -ENOMEM;
		n = read(from, in.data + in.len, FILE_PIECE);
		if (n < 0)
			return -errno;
		in.len += (size_t)n;
		buf_reset(&out);
		mask_put(m, buf_slice(&in), false, 0, n ? &tail : NULL, &out);
		buf_consume(&in, n ? tail : buf_len(&in));
		r = out.failed ? -E2BIG : file_write_all(to, buf_slice(&out).p, buf_len(&out));
	}
	return r;
}

int session_mask_file(const struct session *s, const char *path)
{
	_cleanup_(freep) char *copy = NULL;
	_cleanup_(closep) int from = -1, to = -1;
	int r;

	if (!secrets_of(s)->known.mask)
		return 0;
	if (asprintf(&copy, "%s.hidden", path) < 0)
		abort();
	from = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	to = open(copy, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (from < 0 || to < 0)
		return -errno;
	r = copy_masked(secrets_of(s)->known.mask, from, to);
	if (r == 0 && rename(copy, path) < 0)
		r = -errno;
	if (r < 0)
		unlink(copy);
	return r;
}

/* Member "unmasked": the secrets that are not redacted, and why. */
static void put_unmasked(struct jw *w, const struct session *s)
{
	secrets_put_unmasked(&secrets_of(s)->known, w);
}

static void free_secrets(struct session *s)
{
	masked_stream_drop(s);
	secrets_done(&secrets_of(s)->known);
}

static void inherit_secrets(struct session *s, const struct session *from)
{
	session_load_secrets(s);
	secrets_inherit(&secrets_of(s)->known, &secrets_of(from)->known);
}

const struct session_part secrets_part = {
	.name = "secrets",
	.size = sizeof(struct session_secrets),
	.inherit = inherit_secrets,
	.setup_changed = session_load_secrets,
	.forget_keys = free_secrets,
	.put_opened = put_unmasked,
	.free = free_secrets,
};
