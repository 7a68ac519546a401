/*
 * machine_metrics.c - processors, memory, disks and network of the machine; the daemon's own process; and each process that
 * the daemon has started.
 *
 * The daemon's own process has the names that Prometheus' clients have for that, so that their dashboards fit. Everything is
 * read from /proc at each call: an idle daemon computes nothing. Processes of agents are bounded by METRIC_PROCESSES_MAX, and
 * those above it are counted, because a label for each would grow with what an agent does.
 */
#include "http/metrics/metrics.h"

#include "base/util.h"
#include "http/endpoints.h"
#include "proc/machine/machine_facts.h"
#include "proc/table/process_tree.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

/* --- the machine ------------------------------------------------------------------------------------------ */

static void put_cpu(struct metric_sink *m, const struct machine_facts *f)
{
	static const char *const minutes[] = { "1", "5", "15" };

	metric_put(m, "acpd_machine_cpus", "Processors of the machine.", f->cpus);
	metric_family(m, "acpd_machine_cpu_seconds_total",
		      "Time of all processors, by what they did.");
	for (int i = 0; i < CPU_MODES; i++)
		metric_point(m, "mode", cpu_modes[i], f->cpu_secs[i]);
	metric_family(m, "acpd_machine_load", "Mean number of processes that want to run.");
	for (size_t i = 0; i < ARRAY_SIZE(minutes); i++)
		metric_point(m, "minutes", minutes[i], f->load[i]);
}

static void put_memory(struct metric_sink *m, const struct machine_facts *f)
{
	metric_put(m, "acpd_machine_memory_bytes", "Memory of the machine.", (double)f->memory);
	metric_put(m, "acpd_machine_memory_available_bytes",
		   "Memory that can be had without swapping.", (double)f->available);
	metric_put(m, "acpd_machine_swap_bytes", "Swap of the machine.", (double)f->swap);
	metric_put(m, "acpd_machine_swap_free_bytes", "Swap that is free.", (double)f->swap_free);
	metric_put(
		m, "acpd_memory_limit_bytes",
		"Memory that the daemon and its children may have: the machine's, or its cgroup's.",
		(double)memory_limit());
}

static void put_network(struct metric_sink *m, const struct machine_facts *f)
{
	metric_family(m, "acpd_machine_network_receive_bytes_total",
		      "Bytes that network devices have received.");
	for (size_t i = 0; i < f->ndevices; i++)
		metric_point(m, "device", f->devices[i].name, (double)f->devices[i].received);
	metric_family(m, "acpd_machine_network_transmit_bytes_total",
		      "Bytes that network devices have sent.");
	for (size_t i = 0; i < f->ndevices; i++)
		metric_point(m, "device", f->devices[i].name, (double)f->devices[i].sent);
}

/* --- disks ------------------------------------------------------------------------------------------------ */

static const struct {
	const char *name, *help;
} disk_families[] = {
	{ "acpd_filesystem_size_bytes", "Size of the file system that a directory is on." },
	{ "acpd_filesystem_available_bytes", "Bytes of it that the daemon may still write." },
	{ "acpd_filesystem_files", "Inodes of it; 0 where there is no bound." },
	{ "acpd_filesystem_files_available", "Inodes of it that can still be had." },
};

struct disk {
	const char *of, *path;
	bool found;
	double value[ARRAY_SIZE(disk_families)]; /* in their order */
};

static void disk_read(struct disk *d)
{
	struct statvfs fs;

	d->found = d->path && statvfs(d->path, &fs) == 0;
	if (!d->found)
		return;
	d->value[0] = (double)fs.f_blocks * (double)fs.f_frsize;
	d->value[1] = (double)fs.f_bavail * (double)fs.f_frsize;
	d->value[2] = (double)fs.f_files;
	d->value[3] = (double)fs.f_favail;
}

static void put_disks(const struct http_context *ctx, struct metric_sink *m)
{
	struct disk disks[] = { { .of = "state", .path = ctx->state },
				{ .of = "workspaces", .path = ctx->workspaces } };

	for (size_t i = 0; i < ARRAY_SIZE(disks); i++)
		disk_read(&disks[i]);
	/* Family by family, because the format of Prometheus wants the points of one in one group. */
	for (size_t f = 0; f < ARRAY_SIZE(disk_families); f++) {
		metric_family(m, disk_families[f].name, disk_families[f].help);
		for (size_t i = 0; i < ARRAY_SIZE(disks); i++)
			if (disks[i].found)
				metric_point(m, "directory", disks[i].of, disks[i].value[f]);
	}
}

/* --- the daemon's own process ----------------------------------------------------------------------------- */

static void put_self(struct metric_sink *m)
{
	struct process_facts f;
	struct rlimit files;

	if (!process_facts_read(getpid(), &f))
		return;
	metric_put(m, "process_cpu_seconds_total", "CPU time of the daemon.", f.cpu_secs);
	metric_put(m, "process_resident_memory_bytes", "Resident memory of the daemon.",
		   (double)f.resident);
	metric_put(m, "process_virtual_memory_bytes", "Address space of the daemon.",
		   (double)f.space);
	metric_put(m, "process_start_time_seconds", "When the daemon was started, in Unix time.",
		   f.started);
	metric_put(m, "process_threads", "Threads of the daemon.", f.threads);
	metric_put(m, "process_open_fds", "Descriptors that the daemon has open.",
		   (double)process_open_files());
	if (getrlimit(RLIMIT_NOFILE, &files) == 0)
		metric_put(m, "process_max_fds", "As many may be.", (double)files.rlim_cur);
}

/* --- what it has started ---------------------------------------------------------------------------------- */

static const struct {
	const char *name, *help;
} child_families[] = {
	{ "acpd_child_cpu_seconds_total",
	  "CPU time of a process that the daemon started, and of children that it waited for." },
	{ "acpd_child_resident_memory_bytes", "Its resident memory." },
	{ "acpd_child_virtual_memory_bytes", "Its address space." },
	{ "acpd_child_threads", "Its threads." },
	{ "acpd_child_start_time_seconds", "When it was started, in Unix time." },
};

struct child_row {
	char name[64], pid[12];
	const char *harness;			  /* NULL: it is none */
	double value[ARRAY_SIZE(child_families)]; /* in their order */
};

struct child_rows {
	struct child_row row[METRIC_PROCESSES_MAX];
	size_t n, left_out;
};

static const char *harness_of(const struct http_context *ctx, const char *name)
{
	const struct session *s = store_find(ctx->store, name);

	return s ? session_harness(s)->id : NULL;
}

static void add_child(const struct http_context *ctx, struct child_rows *c,
		      const struct tree_own *own)
{
	struct child_row *r = &c->row[c->n];
	struct process_facts f;

	/* A process that has exited since the list was made has no row. */
	if (!process_facts_read(own->pid, &f))
		return;
	r->value[0] = f.cpu_secs + f.waited_secs;
	r->value[1] = (double)f.resident;
	r->value[2] = (double)f.space;
	r->value[3] = f.threads;
	r->value[4] = f.started;
	snprintf(r->name, sizeof(r->name), "%s", own->session ? own->session : "");
	snprintf(r->pid, sizeof(r->pid), "%d", (int)own->pid);
	r->harness = harness_of(ctx, r->name);
	c->n++;
}

static void list_children(const struct http_context *ctx, struct child_rows *c)
{
	struct tree_own own[METRIC_PROCESSES_MAX];
	size_t all = proc_host_list(ctx->procs, own, METRIC_PROCESSES_MAX);
	size_t n = MIN(all, METRIC_PROCESSES_MAX);

	c->n = 0;
	c->left_out = all - n;
	for (size_t i = 0; i < n; i++)
		add_child(ctx, c, &own[i]);
}

static void put_children(const struct http_context *ctx, struct metric_sink *m)
{
	struct child_rows c;

	list_children(ctx, &c);
	/* Family by family, as in put_disks. */
	for (size_t f = 0; f < ARRAY_SIZE(child_families); f++) {
		metric_family(m, child_families[f].name, child_families[f].help);
		for (size_t i = 0; i < c.n; i++) {
			struct metric_label l[] = { { "child", c.row[i].name },
						    { "pid", c.row[i].pid },
						    { "harness", c.row[i].harness } };

			m->point(m, l, ARRAY_SIZE(l), c.row[i].value[f]);
		}
	}
	metric_put(m, "acpd_children_without_rows",
		   "Processes that the daemon started and that have no rows here.",
		   (double)c.left_out);
}

void machine_metrics_put(const struct http_context *ctx, struct metric_sink *m)
{
	struct machine_facts f;

	machine_facts_read(&f);
	put_cpu(m, &f);
	put_memory(m, &f);
	put_network(m, &f);
	put_disks(ctx, m);
	put_self(m);
	put_children(ctx, m);
}
