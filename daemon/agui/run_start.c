/*
 * run_start.c - what a run does first: everything is checked, then what its client says is passed on.
 *
 * The checks are in one order: thread and settings, history, state of the turn, content of the prompt. Only when all of them
 * pass are questions answered, and is the session opened or its parked connection taken: a run that a check refuses has changed
 * nothing of its session.
 */
#include "agui/agui_run.h"

#include "base/limits.h"
#include "base/os/file.h"
#include "json/jstr.h"

/* --- the thread ----------------------------------------------------------------------------------------------------- */

static int refuse_busy(struct err *e, const char *why)
{
	return err_set(e, -EBUSY, RPC_INVALID_REQUEST, "SESSION_BUSY", "%s", why);
}

static int check_thread(const struct agui_thread *t, const struct agui_thread *asked,
			const struct grant *g, struct err *e)
{
	if (t->run)
		return refuse_busy(e, "another run of the thread is open");
	if (!grant_sees(g, t->session_id))
		return err_set(e, -ENOENT, RPC_NOT_FOUND, "SESSION_NOT_FOUND",
			       "there is no such session");
	if (strcmp(t->harness, asked->harness) != 0)
		return err_field(e, "harness", "SETTINGS_FIXED", "the thread has another harness");
	if (asked->profile && (!t->profile || strcmp(t->profile, asked->profile) != 0))
		return err_field(e, "profile", "SETTINGS_FIXED", "the thread has another profile");
	return 0;
}

/* r->thread stands for what the path asked for until the thread is found. */
static int find_run_thread(struct agui_run *r, const struct grant *g, struct err *e)
{
	struct agui_thread *asked = TAKE_PTR(r->thread),
			   *t = agui_thread_find(r->owner->threads, r->in.thread_id);
	int ret;

	if (!t) {
		r->new_thread = true;
		asked->id = xstrdup(r->in.thread_id);
		r->thread = asked;
	} else {
		ret = check_thread(t, asked, g, e);
		agui_thread_drop(asked);
		if (ret < 0)
			return ret;
		r->thread = t;
	}
	/* The thread is busy from here on. run_let_go releases it, also if the start fails. */
	r->thread->run = r;
	return agui_settings_take(r->owner, r->thread, &r->in, r->new_thread, e);
}

/* --- what may be done now ------------------------------------------------------------------------------------------- */

/* Of the open calls to the front end, those that no message has the result of. */
static size_t calls_without_result(struct agui_run *r)
{
	struct agui_link *l = r->thread->parked;
	size_t n = l ? l->ncalls : 0;

	for (size_t i = 0; l && i < r->in.nmessages; i++)
		if (r->in.messages[i].role == ROLE_TOOL &&
		    agui_link_call(l, r->in.messages[i].tool_call_id))
			n--;
	return n;
}

/* A result that comes too late, with nothing else. */
static int check_lost(struct agui_run *r, struct err *e)
{
	const struct agui_message *last = r->in.nmessages ? &r->in.messages[r->in.nmessages - 1] :
							    NULL;
	struct agui_over *o;

	if (!last || last->role != ROLE_TOOL)
		return 0;
	o = agui_thread_over(r->thread, last->tool_call_id);
	if (!o || !o->lost)
		return 0;
	return err_set(e, -ETIMEDOUT, RPC_INTERNAL_ERROR, "TOOL_CALL_LOST",
		       "the result came too late: the agent was told that the call is lost");
}

/* The official client names an interrupt until a run ends without an error: a message may come with answers to questions
 * that were answered already, in a run that was stopped. */
static bool resumes(const struct agui_run *r)
{
	if (r->in.resume.n <= 2)
		return false;
	return !r->news.has_people || agui_questions_open(r->owner, r->thread->session_id);
}

static int check_turn_state(struct agui_run *r, const struct session *s, struct err *e)
{
	const char *id = r->thread->session_id;

	if (resumes(r))
		return agui_resume_check(r->owner, id, r->in.resume, e);
	if (!r->news.has_people)
		return check_lost(r, e);
	if (agui_questions_open(r->owner, id))
		return err_field(e, "resume", "INTERRUPT_UNANSWERED",
				 "the thread waits for answers to its questions");
	if (calls_without_result(r))
		return refuse_busy(e, "the thread waits for the result of a tool");
	/* A turn whose connection is parked waits for the front end, and this run has its results. */
	if (session_running(s) && !session_is_cancelling(s) && !r->thread->parked)
		return refuse_busy(e, "a turn of the thread is running");
	return 0;
}

/* --- the prompt ----------------------------------------------------------------------------------------------------- */

/* What the application says of itself, once until it says something else. */
static void put_context(struct agui_run *r, struct jw *w)
{
	_cleanup_(buf_done) struct buf text = { 0 };

	buf_puts(&text, "Context that the application gives:\n");
	jarr_each(v, r->in.context) {
		buf_puts(&text, "- ");
		(void)jstr_decode_bytes(jobj_get(v.raw, "description"), &text);
		buf_puts(&text, ": ");
		(void)jstr_decode_bytes(jobj_get(v.raw, "value"), &text);
		buf_putc(&text, '\n');
	}
	jw_object(w, NULL, JW_STR("type", "text"), JW_SLICE("text", buf_slice(&text)),
		  JW_RAW("_meta", SLICE("{\"agui\":{\"context\":true}}")));
}

static bool context_is_new(struct agui_run *r)
{
	char hex[SHA256_HEX];
	struct sha256 d;

	if (r->in.context.n <= 2 || sha256_of(r->in.context, &d) < 0)
		return false;
	sha256_hex(&d, hex);
	if (strcmp(hex, r->thread->context) == 0)
		return false;
	snprintf(r->thread->context, sizeof(r->thread->context), "%s", hex);
	return true;
}

static int make_prompt(struct agui_run *r, struct err *e)
{
	struct jw w = JW(&r->prompt);
	int ret = 0;

	if (!r->news.has_people)
		return 0;
	/* _acpd/turn_end names the key: by it the run finds the end of its own turn. */
	snprintf(r->key, sizeof(r->key), "agui-%s", RANDOM_HEX(16));
	jw_arr(&w, NULL);
	for (size_t i = 0; ret == 0 && i < r->news.n; i++)
		if (r->news.is_new[i])
			ret = agui_content_put(&r->in.messages[i], i, &w, e);
	if (ret == 0 && context_is_new(r))
		put_context(r, &w);
	jw_end_arr(&w);
	return ret;
}

static void send_prompt(struct agui_run *r)
{
	JW_BUF(w, b);
	size_t before = r->thread->ntold;
	struct err e;

	/* Calls of the previous turn are not awaited any more. */
	agui_thread_turn_over(r->thread);
	agui_history_note(r->thread, &r->in, &r->news);
	/* For prompt_refused, which takes back as many. */
	r->told = r->thread->ntold - before;
	(void)agui_thread_save(r->owner->threads, r->thread, &e);
	jw_obj(&w, NULL);
	jw_str(&w, "sessionId", r->thread->session_id);
	jw_raw(&w, "prompt", buf_slice(&r->prompt));
	jw_obj(&w, "_meta");
	agui_run_put_trace(r, &w);
	jw_object(&w, "acpd", JW_STR("key", r->key));
	jw_end_obj(&w);
	jw_end_obj(&w);
	r->prompt_id = agui_link_ask(r->link, "session/prompt", buf_slice(&b));
}

/* --- the session ---------------------------------------------------------------------------------------------------- */

static void give_results(struct agui_run *r)
{
	for (size_t i = 0; i < r->in.nmessages; i++) {
		const struct agui_message *m = &r->in.messages[i];
		struct agui_front_call *c =
			m->role == ROLE_TOOL ? agui_link_call(r->link, m->tool_call_id) : NULL;
		_cleanup_(buf_done) struct buf result = { 0 };

		if (!c)
			continue;
		agui_tools_result(m->content, m->error, &result);
		agui_link_call_over(r->link, c, buf_slice(&result), false);
	}
}

/* The connection of the run before goes on. */
static void continue_link(struct agui_run *r)
{
	r->link = r->thread->parked;
	agui_link_adopt(r->link, r);
	if (r->in.tools.n)
		agui_link_set_tools(r->link, r->in.tools);
	r->stage = STAGE_LIVE;
	r->follows = true;
	agui_talk_go_live(&r->talk);
	agui_calls_move(&r->link->told, &r->talk.calls);
	give_results(r);
	if (r->news.has_people)
		send_prompt(r);
}

static void open_session(struct agui_run *r, const struct session *s, const struct grant *g)
{
	_cleanup_(secret_buf_done) struct buf b = { 0 };
	JW_BUF(w, trace);

	agui_run_put_trace(r, &w);
	if (r->in.tools.n > 2)
		r->thread->has_front_end = true;
	r->link = agui_link_open(r->owner, r->thread, g);
	r->link->run = r;
	agui_link_set_tools(r->link, r->in.tools);
	if (s)
		agui_settings_put_load(r->thread, session_cwd(s), buf_slice(&trace), &b);
	else
		agui_settings_put_new(r->thread, r->thread->has_front_end, buf_slice(&trace), &b);
	r->open_id = agui_link_ask(r->link, s ? "session/load" : "session/new", buf_slice(&b));
}

int agui_run_start(struct agui_run *r, const struct grant *g, struct err *e)
{
	struct agui_names names = { agui_run_owner_of, r };
	struct session *s = NULL;
	int ret = find_run_thread(r, g, e);

	if (ret == 0)
		ret = agui_history_check(r->thread, &r->in, &r->news, e);
	if (ret < 0)
		return ret;
	/* Again, now that the input has named its version of AG-UI. */
	agui_talk_init(&r->talk, &r->out, agui_input_is_old(&r->in), &names);
	r->talk.is_history = true;
	if (!r->new_thread)
		s = store_find(r->owner->store, r->thread->session_id);
	if (s)
		ret = check_turn_state(r, s, e);
	if (ret == 0)
		ret = make_prompt(r, e);
	if (ret == 0 && s && resumes(r))
		ret = agui_resume(r->owner, r->in.resume, e);
	if (ret < 0)
		return ret;
	if (r->thread->parked)
		continue_link(r);
	else
		open_session(r, s, g);
	return 0;
}

/* --- opened --------------------------------------------------------------------------------------------------------- */

static void put_state_snapshot(struct agui_run *r, struct jw *w, struct slice opened)
{
	struct slice modes = jobj_get(opened, "modes").raw;

	jw_obj(w, "snapshot");
	/* The client's own state is sent back; the member acpd is the daemon's. */
	jw_members(w, r->in.state, "acpd");
	jw_obj(w, "acpd");
	jw_str(w, "sessionId", r->thread->session_id);
	jw_str(w, "harness", r->thread->harness);
	jw_raw(w, "cwd", jobj_get(jobj_get(jobj_get(opened, "_meta").raw, "acpd").raw, "cwd").raw);
	jw_raw(w, "modes", jobj_get(modes, "availableModes").raw);
	jw_raw(w, agui_part_name(PART_MODE), jobj_get(modes, "currentModeId").raw);
	jw_raw(w, agui_part_name(PART_OPTIONS), jobj_get(opened, "configOptions").raw);
	for (unsigned p = PART_COMMANDS; p < PART_MAX; p++)
		jw_raw(w, agui_part_name((enum agui_part)p), slice_of(r->talk.state[p]));
	jw_end_obj(w);
	jw_end_obj(w);
}

static void tell_state(struct agui_run *r, struct slice opened)
{
	struct jw w = agui_event_begin(&r->out, "STATE_SNAPSHOT");

	put_state_snapshot(r, &w, opened);
	agui_event_end(&w);
}

static void put_new_messages(const struct agui_run *r, struct jw *w)
{
	for (size_t i = 0; i < r->news.n; i++)
		if (r->news.is_new[i])
			jw_raw(w, NULL, r->in.messages[i].raw);
}

/* Of a history that is not whole the client would believe that the rest is gone. */
static void tell_messages(struct agui_run *r)
{
	_cleanup_(buf_done) struct buf lead = { 0 };
	struct jw w;

	/* The client has all messages of a new thread. */
	if (r->new_thread)
		return;
	if (!r->talk.is_whole || r->lost_history) {
		agui_event(&r->out, "CUSTOM", JW_STR("name", "acpd.snapshot_omitted"),
			   JW_STR("value", r->lost_history ? "lost" : "too_large"));
		return;
	}
	agui_history_lead(&r->in, &lead);
	w = agui_event_begin(&r->out, "MESSAGES_SNAPSHOT");
	jw_arr(&w, "messages");
	jw_raw(&w, NULL, buf_slice(&lead));
	jw_raw(&w, NULL, buf_slice(&r->talk.messages));
	put_new_messages(r, &w);
	jw_end_arr(&w);
	agui_event_end(&w);
}

static bool note_session_opened(struct agui_run *r, struct slice opened)
{
	struct err e;

	r->thread->opened = true;
	if (r->new_thread &&
	    jstr_decode(jobj_get(opened, "sessionId"), RPC_ID_MAX, &r->thread->session_id) < 0) {
		agui_run_fail(r, "INTERNAL_ERROR", "the session has no id");
		return false;
	}
	/* Without the file a restart would lose the thread, and its next run would make another session. */
	if (agui_thread_save(r->owner->threads, r->thread, &e) == 0)
		return true;
	agui_run_fail(r, e.reason, e.msg);
	return false;
}

/* The client stopped the turn that runs, and its next message waits for its end. */
static bool is_stopping(const struct agui_run *r)
{
	const struct session *s = store_find(r->owner->store, r->thread->session_id);

	return s && session_is_cancelling(s);
}

void agui_run_opened(struct agui_run *r, struct slice opened)
{
	struct slice own = jobj_get(jobj_get(opened, "_meta").raw, "acpd").raw;

	if (!note_session_opened(r, opened))
		return;
	agui_talk_go_live(&r->talk);
	tell_state(r, opened);
	tell_messages(r);
	r->stage = STAGE_LIVE;
	r->follows = jobj_get(own, "turn").type == J_NUMBER;
	if (r->news.has_people && r->follows && !is_stopping(r))
		agui_run_fail(r, "SESSION_BUSY", "a turn of the thread is running");
	else if (r->news.has_people)
		send_prompt(r);
	else if (!r->follows)
		agui_run_idle(r);
}
