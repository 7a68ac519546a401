/* What a front end asks for a run, whatever it is. What is taken lies inside the text and within the bounds; a thread that
 * has been told of it knows all of it when it comes again; and what an agent would be told is JSON. */
#include "fuzz.h"

#include "agui/agui_run.h"
#include "base/limits.h"
#include "json/jenc.h"

#include <errno.h>

static void check_parts(const struct agui_input *in, struct slice text)
{
	const struct slice parts[] = { in->state, in->tools, in->context, in->resume,
				       in->settings };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		FUZZ_CHECK(slice_inside(parts[i], text) &&
			   (!parts[i].n || is_json(parts[i], J_NONE)));
	FUZZ_CHECK(!in->settings.n || is_json(in->settings, J_OBJECT));
	FUZZ_CHECK(!in->state.n || is_json(in->state, J_OBJECT));
	FUZZ_CHECK(in->thread_id[0] && in->run_id[0]);
	FUZZ_CHECK(strlen(in->thread_id) <= AGUI_ID_MAX && strlen(in->run_id) <= AGUI_ID_MAX);
	FUZZ_CHECK(in->nmessages <= AGUI_MESSAGES_MAX);
}

static void check_content(const struct agui_message *m, size_t at)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct err e = { 0 };
	struct jw w = JW(&b);
	int r;

	jw_arr(&w, NULL);
	r = agui_content_put(m, at, &w, &e);
	jw_end_arr(&w);
	if (r < 0)
		check_err(&e);
	FUZZ_CHECK(r < 0 || is_json(buf_slice(&b), J_ARRAY));
}

static void check_message(const struct agui_message *m, size_t at, struct slice text)
{
	FUZZ_CHECK(m->id[0] && strlen(m->id) <= AGUI_ID_MAX);
	FUZZ_CHECK(slice_inside(m->raw, text) && is_json(m->raw, J_OBJECT));
	FUZZ_CHECK(slice_inside(m->content.raw, text) && slice_inside(m->error, text));
	FUZZ_CHECK(m->role != ROLE_TOOL || m->tool_call_id);
	if (m->role == ROLE_USER || m->role == ROLE_SYSTEM || m->role == ROLE_DEVELOPER)
		check_content(m, at);
}

static bool is_told(struct agui_thread *t, const struct agui_input *in, bool again)
{
	struct agui_news news;
	struct err e = { 0 };
	bool taken = agui_history_check(t, in, &news, &e) == 0;

	if (!taken) {
		check_err(&e);
		FUZZ_CHECK(!again || strcmp(e.reason, "TOO_MANY") == 0);
		return false;
	}
	FUZZ_CHECK(news.n == in->nmessages && !(again && news.has_people));
	agui_history_note(t, in, &news);
	agui_news_done(&news);
	return true;
}

static void check_history(const struct agui_input *in)
{
	struct agui_thread *t = new0(struct agui_thread);

	if (is_told(t, in, false))
		is_told(t, in, true);
	agui_history_forget(t, SIZE_MAX);
	FUZZ_CHECK(t->ntold == 0);
	free(t->told);
	free(t);
}

/* Elements of an array. */
static void check_lead(const struct agui_input *in)
{
	_cleanup_(buf_done) struct buf lead = { 0 }, b = { 0 };

	agui_history_lead(in, &lead);
	buf_putc(&b, '[');
	buf_add_slice(&b, buf_slice(&lead));
	buf_putc(&b, ']');
	FUZZ_CHECK(is_json(buf_slice(&b), J_ARRAY));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice text = exact(data, size);
	struct agui_input in = { 0 };
	struct err e = { 0 };

	if (agui_input_parse(text, &in, &e) < 0) {
		check_err(&e);
		FUZZ_CHECK(!in.messages && !in.thread_id);
		return 0;
	}
	check_parts(&in, text);
	for (size_t i = 0; i < in.nmessages; i++)
		check_message(&in.messages[i], i, text);
	check_lead(&in);
	check_history(&in);
	(void)agui_input_is_old(&in);
	agui_input_done(&in);
	return 0;
}
