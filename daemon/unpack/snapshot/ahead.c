/*
 * ahead.c - a bounded queue of files that threads read, hash and compress, while results are used
 * in order.
 *
 * Files of a tree that are read, hashed and packed on all cores, while a snapshot records them in its order.
 *
 * A queue of at most AHEAD_ITEMS entries of the tree. The one who walks puts entries at its end, some with an open file
 * that has to be read. Threads, made when there is enough to do and one fewer than there are processors, work on
 * whichever file is next. Whoever walks takes entries from the front, in order, and instead of waiting works itself:
 * with one processor there is no thread. What is in the queue is bounded in files and bytes, so a file that grows while
 * it is read is not read further, but left for the walker to take by itself, as is a large one.
 *
 * The queue is a ring indexed by ever-growing numbers. One lock protects the states; an item in
 * state BUSY belongs to the thread that claimed it, and any other state to the walker. The walker
 * works on items itself instead of waiting, so there is progress without threads. Threads start
 * when AHEAD_START entries are queued: fewer are not worth one. Buffers retain up to AHEAD_KEEP
 * bytes from one file to the next.
 */
#include "unpack/snapshot/snap_run.h"

#include "base/os/threads.h"
#include "unpack/snapshot/take.h"

#include <sched.h>

#define THREAD_STACK (256 * KIB)
#define AHEAD_START 8	      /* entries: fewer are not worth a thread */
#define AHEAD_KEEP (64 * KIB) /* of a buffer, from one file to the next */

struct ahead {
	struct packer packer; /* the walker's */
	uint64_t bytes;	      /* to be read, or read, in the queue */
	/* numbers of entries, ever rising; an entry's place is its number modulo AHEAD_ITEMS */
	unsigned first, last; /* first is the walker's */
	/* under the lock: last, the states */
	unsigned next; /* all before it are begun */
	bool stopped;
	pthread_mutex_t lock;
	pthread_cond_t given, done;
	pthread_t threads[AHEAD_THREADS_MAX];
	unsigned nthreads;
	bool started;
	struct ahead_item items[AHEAD_ITEMS];
};

static struct ahead_item *ahead_at(struct ahead *a, unsigned number)
{
	return &a->items[number % AHEAD_ITEMS];
}

/* --- reading one ------------------------------------------------------------------------------------------ */

static enum ahead_state read_one(struct ahead_item *i, struct packer *packer)
{
	/* no more than was there: a file that grows must not fill the memory */
	if (take_open(i->fd, &i->sb, (uint64_t)i->sb.st_size, &i->content, &i->now) != 0)
		return AHEAD_LATE;
	if (i->now.type != INDEX_FILE)
		return AHEAD_DONE;
	sha256_of(buf_slice(&i->content), &i->now.digest);
	if (i->packs && !sha256_equal(&i->now.digest, &i->indexed.digest))
		packer_pack(packer, buf_slice(&i->content), &i->packed);
	return AHEAD_DONE;
}

/* The next one that nobody has begun; the lock is held. */
static struct ahead_item *claim(struct ahead *a)
{
	while (a->next != a->last) {
		struct ahead_item *i = ahead_at(a, a->next++);

		if (i->state != AHEAD_TODO)
			continue;
		i->state = AHEAD_BUSY;
		return i;
	}
	return NULL;
}

/* With the lock, which is let go meanwhile. */
static void ahead_work(struct ahead *a, struct ahead_item *i, struct packer *packer)
{
	enum ahead_state state;

	pthread_mutex_unlock(&a->lock);
	state = read_one(i, packer);
	pthread_mutex_lock(&a->lock);
	i->state = state;
}

/* --- the threads ------------------------------------------------------------------------------------------ */

static void *ahead_run(void *arg)
{
	struct packer packer = { 0 };
	struct ahead *a = arg;

	pthread_mutex_lock(&a->lock);
	while (!a->stopped) {
		struct ahead_item *i = claim(a);

		if (!i) {
			pthread_cond_wait(&a->given, &a->lock);
			continue;
		}
		ahead_work(a, i, &packer);
		pthread_cond_signal(&a->done);
	}
	pthread_mutex_unlock(&a->lock);
	packer_done(&packer);
	return NULL;
}

static unsigned processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) < 0 ? 1 : (unsigned)CPU_COUNT(&set);
}

/* Without any the walker does all. */
static void ahead_start(struct ahead *a)
{
	unsigned n = MIN(processors() - 1, AHEAD_THREADS_MAX);

	a->started = true;
	while (a->nthreads < n &&
	       thread_start_sized(&a->threads[a->nthreads], THREAD_STACK, ahead_run, a) == 0)
		a->nthreads++;
}

static void ahead_stop(struct ahead *a)
{
	pthread_mutex_lock(&a->lock);
	a->stopped = true;
	pthread_cond_broadcast(&a->given);
	pthread_mutex_unlock(&a->lock);
	for (unsigned i = 0; i < a->nthreads; i++)
		pthread_join(a->threads[i], NULL);
}

/* --- the queue -------------------------------------------------------------------------------------------- */

struct ahead *ahead_new(void)
{
	struct ahead *a = new0(struct ahead);

	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->given, NULL);
	pthread_cond_init(&a->done, NULL);
	for (size_t i = 0; i < AHEAD_ITEMS; i++)
		a->items[i].fd = -1;
	return a;
}

bool ahead_empty(const struct ahead *a)
{
	return a->first == a->last;
}

/* What it takes of AHEAD_BYTES. A large one is not read before its turn. */
static uint64_t weight(uint64_t bytes)
{
	return bytes > AHEAD_FILE_MAX ? 0 : bytes;
}

bool ahead_has_room(const struct ahead *a, uint64_t bytes)
{
	return ahead_empty(a) ||
	       (a->last - a->first < AHEAD_ITEMS && a->bytes + weight(bytes) <= AHEAD_BYTES);
}

struct ahead_item *ahead_put(struct ahead *a, const char *path, int fd, const struct stat *sb)
{
	struct ahead_item *i = ahead_at(a, a->last);
	uint64_t bytes;

	i->path = xstrdup(path);
	i->fd = fd;
	i->was_read = fd >= 0;
	i->packs = false;
	i->packed.bytes = SLICE_NONE;
	i->now = (struct index_entry){ .type = INDEX_NONE };
	i->sb = fd >= 0 ? *sb : (struct stat){ .st_size = 0 };
	bytes = weight((uint64_t)i->sb.st_size);
	i->state = fd < 0 ? AHEAD_READY : bytes < (uint64_t)i->sb.st_size ? AHEAD_LATE : AHEAD_TODO;
	a->bytes += bytes;
	return i;
}

void ahead_go(struct ahead *a)
{
	bool todo = ahead_at(a, a->last)->state == AHEAD_TODO;

	pthread_mutex_lock(&a->lock);
	a->last++;
	if (todo && a->nthreads)
		pthread_cond_signal(&a->given);
	pthread_mutex_unlock(&a->lock);
	if (!a->started && a->last - a->first >= AHEAD_START)
		ahead_start(a);
}

struct ahead_item *ahead_first(struct ahead *a)
{
	struct ahead_item *first = ahead_at(a, a->first);

	HOLD(&a->lock);
	while (first->state == AHEAD_TODO || first->state == AHEAD_BUSY) {
		struct ahead_item *i = claim(a);

		if (i)
			ahead_work(a, i, &a->packer);
		else
			pthread_cond_wait(&a->done, &a->lock);
	}
	return first;
}

/* Keeps what a usual file needs. */
static void ahead_shrink(struct buf *b)
{
	buf_reset(b);
	buf_trim(b, AHEAD_KEEP);
}

void ahead_drop(struct ahead *a)
{
	struct ahead_item *i = ahead_at(a, a->first++);

	a->bytes -= weight((uint64_t)i->sb.st_size);
	free(TAKE_PTR(i->path));
	closep(&i->fd);
	ahead_shrink(&i->content);
	ahead_shrink(&i->packed.frame);
}

void ahead_free(struct ahead *a)
{
	ahead_stop(a);
	while (!ahead_empty(a))
		ahead_drop(a);
	for (size_t i = 0; i < AHEAD_ITEMS; i++) {
		buf_done(&a->items[i].content);
		buf_done(&a->items[i].packed.frame);
	}
	packer_done(&a->packer);
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->given);
	pthread_cond_destroy(&a->done);
	free(a);
}
