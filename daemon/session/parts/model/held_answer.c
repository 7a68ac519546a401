#include "session/core/session_internal.h"

#include "base/http/http_fields.h"
#include "base/limits.h"
#include "json/jstr.h"
#include "session/parts/model/held_answer.h"
#include "session/parts/model/provider_call.h"

static bool is_event_stream(struct slice headers)
{
	static const char type[] = "text/event-stream";

	jobj_each(name, v, headers) {
		_cleanup_(freep) char *value = NULL;

		if (http_word_is(name, "content-type") &&
		    jstr_decode(v, MODEL_HEAD_MAX, &value) == 0)
			return strncasecmp(value, type, sizeof(type) - 1) == 0;
	}
	return false;
}

bool held_answer_begin(struct provider_call *c, int status, struct slice headers)
{
	struct held_answer *h = &c->held;

	if (status != 200 || !c->use.meter || is_event_stream(headers))
		return false;
	h->holds = true;
	buf_add_slice(&h->headers, headers);
	return true;
}

/* What is no object is no error: events without their content type, or google's array, which is a stream as well. */
static bool may_be_error(struct slice body)
{
	while (body.n && strchr(" \t\r\n", body.p[0]))
		body = slice_after(body, 1);
	return !body.n || body.p[0] == '{';
}

bool held_answer_take(struct provider_call *c, struct slice bytes)
{
	struct held_answer *h = &c->held;

	if (!h->holds)
		return false;
	buf_add_slice(&h->body, bytes);
	if (h->body.failed || buf_len(&h->body) > MODEL_HELD_MAX ||
	    !may_be_error(buf_slice(&h->body)))
		held_answer_release(c, 200);
	return true;
}

void held_answer_release(struct provider_call *c, int status)
{
	struct held_answer *h = &c->held;

	if (!h->holds)
		return;
	h->holds = false;
	if (model_call_head(c->call, status, buf_slice(&h->headers)))
		model_call_data(c->call, buf_slice(&h->body));
	held_answer_drop(c);
}

void held_answer_drop(struct provider_call *c)
{
	buf_done(&c->held.headers);
	buf_done(&c->held.body);
	c->held = (struct held_answer){ 0 };
}
