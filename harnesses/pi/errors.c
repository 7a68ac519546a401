/* errors.c - Pi reports a failed model call as one text ("401: {json}", "acpd API error (401): {json}",
 * "terminated: …"); status and class are read from it. */
#include "harnesses/pi/internal.h"

#include "harnesses/provider.h"
#include "json/json.h"

#include <ctype.h>

static const char *const auth_words[] = { "No API key", "no API key", "Authentication failed",
					  "invalid_api_key" };

static bool is_auth(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(auth_words); i++)
		if (strstr(text, auth_words[i]))
			return true;
	return false;
}

/* Three digits alone. */
static int status_at(const char *p)
{
	if (!isdigit((unsigned char)p[0]) || !isdigit((unsigned char)p[1]) ||
	    !isdigit((unsigned char)p[2]) || isalnum((unsigned char)p[3]))
		return 0;
	int n = (p[0] - '0') * 100 + (p[1] - '0') * 10 + (p[2] - '0');

	return n >= 400 && n <= 599 ? n : 0;
}

/* At the beginning first: the number there is Pi's own, and later ones can be part of the message. */
static int find_status(const char *text)
{
	static const char *const before[] = { "API error (",
					      "\"code\":", "\"status\":", "status code " };
	int n = status_at(text);

	for (size_t i = 0; !n && i < ARRAY_SIZE(before); i++) {
		const char *at = strstr(text, before[i]);

		if (at)
			n = status_at(at + strlen(before[i]));
	}
	return n;
}

/* The provider's own sentence, if the text carries its JSON. */
static bool find_sentence(const char *text, char **ret)
{
	const char *brace = strchr(text, '{');
	struct slice object = slice_of(brace);
	struct jval message;

	if (!brace || jscan_value(object, NULL) != JSCAN_OK)
		return false;
	message = jobj_get(object, "message");
	if (message.type != J_STRING)
		message = jobj_get(jobj_get(object, "error").raw, "message");
	return jstr_decode_shown(message, 64 * KIB, ret) == 0 && **ret;
}

static const char *classify(const char *text, int status)
{
	if (status == 401 || status == 403 || (!status && is_auth(text)))
		return "auth";
	/* Before 429: an exhausted quota is reported with that status too, and a retry does not help. */
	if (status == 402 || provider_text_quota(text))
		return "quota";
	if (provider_text_overflow(text))
		return "context_overflow";
	return status == 429 ? "rate_limit" : "provider";
}

void pi_error_classify(const char *text, struct turn_error *ret)
{
	_cleanup_(freep) char *sentence = NULL;
	int status = find_status(text);

	*ret = (struct turn_error){ .cls = classify(text, status), .http_status = status };
	if (strcmp(ret->cls, "rate_limit") == 0)
		ret->retryable = true;
	else if (strcmp(ret->cls, "provider") == 0)
		/* Without a status the connection failed, which can be temporary. */
		ret->retryable = !status || status == 408 || status >= 500;
	snprintf(ret->message, sizeof(ret->message), "%s",
		 find_sentence(text, &sentence) ? sentence :
		 *text				? text :
						  "the model call failed without a message");
	err_flatten(ret->message);
}
