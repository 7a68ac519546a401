/*
 * stage.h - the writer that makes a plan's tree below a held directory (tree/held_tree.h). Nothing is named by a path
 * that leads through a link; files are made exclusively, with their final mode; directories that no entry names get
 * 0755. The process's umask is 0.
 */
#pragma once

#include "tree/held_tree.h"
#include "unpack/stage/stage_plan.h"

struct stage {
	struct held h;
	int file;  /* being written */
	bool hole; /* at its end so far */
};

void stage_init(struct stage *s, int tree);
void stage_done(struct stage *s);
struct stage_sink stage_writer(struct stage *s);
