/* A window with a shell, which tmux shows: what stands on it, and all that was ever written to it. One at a time. */
#pragma once

/* Of so many columns and lines; the shell has `uri` in LEASH_URI. Its socket and raw, what was written, are in
 * `folder`. */
void screen_open(const char *folder, const char *uri, int columns, int lines);
void screen_close(void); /* if there is one */

void screen_resize(int columns, int lines);
void screen_type(const char *key); /* or a text; "" is nothing */

/* What is shown, or one line of it from 0 on; -1: all. Until the next call. */
const char *screen_text(int row);
