/*
 * state_modes.h - who but the daemon's user reaches what is in the state directory: nobody. The directory itself and
 * homes/ may be passed through (0711), since each session's home belongs to who runs it; all else of ours is 0700, and
 * files 0600. So it is made, and so it is again at each start, whatever it had become in between: a copy, a package or
 * a hand with chmod. What is there and not ours by name is left alone.
 */
#pragma once

/* Only takes away. Each change is told in the log; one that cannot be made, too. */
void state_modes_mend(const char *state_dir);
