#include "replay.h"

#include "base/os/file.h"
#include "json/jstr.h"

struct fake f;
struct buf trace, sent, said;
uint64_t asked;

static const struct replay_side *side;
static struct buf transcript;
static char last[64]; /* word that the trace ends with, and how often */
static unsigned times;

int replay_setup(void **state _unused_)
{
	last[0] = '\0';
	times = 0;
	asked = 0;
	return 0;
}

int replay_teardown(void **state _unused_)
{
	fake_close(&f);
	buf_done(&transcript);
	buf_done(&trace);
	buf_done(&sent);
	buf_done(&said);
	return 0;
}

bool next_line(struct slice *rest, struct slice *line)
{
	const char *nl = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;

	if (!rest->n)
		return false;
	*line = (struct slice){ rest->p, nl ? (size_t)(nl - rest->p) : rest->n };
	rest->p += line->n + (nl != NULL);
	rest->n -= line->n + (nl != NULL);
	return true;
}

static void flush_word(void)
{
	if (times)
		buf_printf(&trace, times > 1 ? "%s*%u " : "%s ", last, times);
	times = 0;
}

void put_word(const char *word)
{
	if (strcmp(word, last) != 0)
		flush_word();
	snprintf(last, sizeof(last), "%s", word);
	times++;
}

/* What a line of the log says in a word. */
static void put_word_of(struct slice line)
{
	static const char *const lead[] = { "event ", "end failed ", "end " };
	char word[64];
	size_t at = 0, n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lead) && !at; i++)
		if (slice_starts(line, lead[i]))
			at = strlen(lead[i]);
	while (at + n < line.n && line.p[at + n] != ' ')
		n++;
	snprintf(word, sizeof(word), "%s%.*s", slice_starts(line, "end failed ") ? "failed:" : "",
		 (int)n, line.p + at);
	put_word(word);
}

static void put_log_line(struct slice line)
{
	struct slice message = { line.p + 5, line.n - 5 };

	buf_add_slice(&said, line);
	buf_putc(&said, '\n');
	if (slice_starts(line, "send ")) {
		if (side->sent) {
			side->sent(message);
			return;
		}
		buf_add_slice(&sent, message);
		buf_putc(&sent, '\n');
	} else if (!slice_starts(line, "timer ")) {
		if (slice_starts(line, "ask "))
			asked = strtoull(line.p + 4, NULL, 10);
		put_word_of(line);
	}
}

void take_log(void)
{
	struct slice log = buf_slice(&f.log), line;

	while (next_line(&log, &line))
		put_log_line(line);
	buf_reset(&f.log);
}

static void play_line(struct slice line)
{
	struct jval dir = jobj_get(line, "dir"), m = jobj_get(line, "m");

	assert_int_equal(m.type, J_OBJECT);
	if (jstr_is(dir, ">")) {
		side->client(m.raw);
	} else if (side->program && jstr_is(dir, "<")) {
		side->program(m.raw);
	} else if (jstr_is(dir, "<")) {
		assert_int_equal(fake_line(&f, m.raw), 0);
		take_log();
	}
}

void replay_file(const struct replay_side *s, const char *name)
{
	struct slice rest, line;
	char path[100];

	side = s;
	snprintf(path, sizeof(path), "%s%s.jsonl", side->dir, name);
	assert_int_equal(file_read(path, 1 << 20, &transcript), 0);
	rest = buf_slice(&transcript);
	while (next_line(&rest, &line))
		play_line(line);
	take_log();
	flush_word();
}

void replay_trace(const struct replay_side *s, const char *name, const char *want)
{
	replay_file(s, name);
	assert_int_equal(buf_len(&sent), 0);
	assert_buf(&trace, want);
}

void assert_said(const char *text)
{
	if (!said.len || !memmem(said.data, said.len, text, strlen(text)))
		fail_msg("not said: %s", text);
}
