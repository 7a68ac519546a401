/* front_heartbeat.c - progress of our own on a request that has been silent: clients give up on silence, and a build,
 * or a human who thinks, is silent for long. Only if the client sent a progressToken. The server's last progress is
 * sent again with a slightly higher value, since progress must rise. After MCP_HEARTBEAT_MAX_MS without progress from
 * the server it stops, and the client's own patience decides. */
#include "base/clock.h"
#include "json/json.h"
#include "tools/mcp/mcp_front_internal.h"

#include <math.h>

#define STEP 1e-9 /* of the last value, or of 1 */
#define NUMBER_MAX 64

struct front_heartbeat {
	struct jval token;     /* its raw is ours */
	char *message, *total; /* raw, of the server's last progress; NULL: none */
	double at;	       /* of the last, the server's or ours */
	uint64_t until;
	struct loop_timer timer;
};

/* Copies the number, because a slice of raw JSON has no NUL. A number of NUMBER_MAX digits or
 * more is cut off there. */
static double heartbeat_number(struct slice raw)
{
	return strtod(SHORT_TEXT(NUMBER_MAX, "%.*s", (int)MIN(raw.n, NUMBER_MAX - 1u), raw.p),
		      NULL);
}

/* Stores the member, which the next heartbeat repeats. A member of another type or above the
 * limit is left out. */
static void heartbeat_keep_raw(char **slot, struct jval v, enum jtype type)
{
	free(*slot);
	*slot = v.type == type && v.raw.n <= MCP_HEARTBEAT_TEXT_MAX ? xstrndup(v.raw.p, v.raw.n) :
								      NULL;
}

static void beat(void *ctx);

static void heartbeat_arm(struct front_request *x)
{
	if (clock_mono_ms() < x->heartbeat->until)
		loop_timer_set(x->front->loop, &x->heartbeat->timer, x->front->heartbeat_ms, beat,
			       x);
}

static void beat(void *ctx)
{
	JW_BUF(w, b);
	struct front_request *x = ctx;
	struct front_heartbeat *p = x->heartbeat;
	char number[NUMBER_MAX];

	/* Clients require that progress rises. The step is so small that the next real value
	 * of the server is still above it. */
	p->at += STEP * MAX(fabs(p->at), 1.0);
	snprintf(number, sizeof(number), "%.15g", p->at);
	jw_obj(&w, NULL);
	jw_raw(&w, "progressToken", p->token.raw);
	jw_raw(&w, "progress", slice_of(number));
	/* A progress above the total would contradict it. */
	if (p->total && heartbeat_number(slice_of(p->total)) > p->at)
		jw_raw(&w, "total", slice_of(p->total));
	jw_raw(&w, "message", p->message ? slice_of(p->message) : SLICE("\"still running\""));
	jw_end_obj(&w);
	heartbeat_arm(x);
	front_notify(x->front, "notifications/progress", buf_slice(&b), slice_of(x->id));
}

void front_heartbeat_begin(struct front_request *x, struct slice params)
{
	struct jval token = mcp_meta_get(params, "progressToken");

	/* A subscription may be silent for as long as it lasts. */
	if ((token.type != J_STRING && token.type != J_NUMBER) ||
	    (x->method && (x->method->flags & MCP_LASTS)))
		return;
	x->heartbeat = new0(struct front_heartbeat);
	x->heartbeat->token =
		(struct jval){ token.type, { xstrndup(token.raw.p, token.raw.n), token.raw.n } };
	x->heartbeat->until = clock_mono_ms() + MCP_HEARTBEAT_MAX_MS;
	heartbeat_arm(x);
}

/* Compared decoded: a server may encode the token in another way than its client. */
static bool heartbeat_is_token(struct jval ours, struct jval said)
{
	_cleanup_(buf_done) struct buf a = { 0 }, b = { 0 };

	if (ours.type != said.type)
		return false;
	if (ours.type == J_NUMBER)
		return heartbeat_number(ours.raw) == heartbeat_number(said.raw);
	return slice_eq(ours.raw, said.raw) ||
	       (jstr_decode_bytes(ours, &a) == 0 && jstr_decode_bytes(said, &b) == 0 &&
		slice_eq(buf_slice(&a), buf_slice(&b)));
}

bool front_heartbeat_heard(struct front_request *x, const char *method, struct slice params)
{
	struct front_heartbeat *p = x->heartbeat;
	struct jval at = jobj_get(params, "progress");

	if (strcmp(method, "notifications/progress") != 0)
		return true;
	if (!p || !heartbeat_is_token(p->token, jobj_get(params, "progressToken")))
		return false;
	/* The last value of the server counts, even if it is below a heartbeat. */
	if (at.type == J_NUMBER && isfinite(heartbeat_number(at.raw)))
		p->at = heartbeat_number(at.raw);
	heartbeat_keep_raw(&p->message, jobj_get(params, "message"), J_STRING);
	heartbeat_keep_raw(&p->total, jobj_get(params, "total"), J_NUMBER);
	p->until = clock_mono_ms() + MCP_HEARTBEAT_MAX_MS;
	heartbeat_arm(x);
	return true;
}

void front_heartbeat_end(struct front_request *x)
{
	struct front_heartbeat *p = x->heartbeat;

	if (!p)
		return;
	loop_timer_cancel(&p->timer);
	free_each((char *)p->token.raw.p, p->message, p->total, p);
	x->heartbeat = NULL;
}
