/* What a command says and how it ends, as a text that is played: tests/tools/NAME.txt.
 *
 * A scene begins with "== its_name" and is a sentence of the program. What stands before the first begins each of them.
 * The server, whose URI leash has in LEASH_URI, is empty then; who holds, runs or stands still is ended behind it.
 *
 *     $ acquire -n job => 75         leash, to its end, with its exit status; without one that is 0
 *     $ /bin/sh -c '...'             another program, for which $LEASH is the command
 *     &w acquire job                 in the background; then it is called w
 *     @w break job                   the same, with a terminal
 *     w! TERM => 143                 a signal, "w< yes\n" is typed, "w runs" still; with or without them: it ends so
 *
 * What it says follows, in lines, or on the same behind " ;; "; in lines of their own after the name of one in the
 * background. It is waited for what that one says. A variable may be set there, too. Each "..." stands for anything,
 * and "a || b" for one of both.
 *
 *     > text     on standard output;  >= exactly this line (or nothing)    >! not this
 *     2> text    on standard error;   >^ it begins so                      >*3 text   three times
 *     @> text    on its terminal
 *
 * Of what was run to its end, standard output is empty if nothing is said of it, and so is standard error if it
 * succeeded. And around it:
 *
 *     redis HKEYS leash:{job} => $t  the server's answer: this; !this; >5 or <5; `redis~` waits for it;
 *     redis! @n $remedy              @n is another server, and with ! the words are those of the variables
 *     ann takes job 3000             a client of ours, and her lease, which is 30 s; "ann holds job"
 *     ann releases job => LOST       and "ann lost job": she was told
 *     $t = out, $t = redis HKEYS k   a variable: the first line, an answer, any text; there are $uri, $host,
 *     $t = behind "fence":"          what is said behind that, up to ", } or a comma; $me and $w are pids, $n a URI
 *     uri $n?db=1, env NAME value    what leash has from now on; without a value it has none
 *     server n --save ''             another server; "quorum n 2000" three, with such a guard
 *     clocked n                      one whose clock can be set: "ahead n 60500", in ms
 *     socket n, socket n @           a socket of datagrams, whose path is $n; or an abstract one
 *     heard n text                   one of them fits; it is waited for. Those up to it count no more. heard! n: not one
 *     deaf n                         it is full until something of it is heard
 *     stranger n                     no server of ours: it answers as one of the web does
 *     pause n, resume, kill, restart of a server; without a name: of ours
 *     window 80 24                   a shell in a terminal of so many columns and lines, with $LEASH; resize 200 50
 *     keys s Right 'echo it' Enter   typed there; "%> text" waits for what it shows, "row 4>^ text" in a line, from 0;
 *     $t = row 0                     and all that is ever written to it is in $folder/raw
 *     clock, took 900, sleep 600     so many ms at least since `clock`; for what should not come
 *     secret a b                     no command that comes to its end may have said one of these
 *     needs bash                     the scene is skipped without that program
 *     goes $p, gone $p, lives $p     the process ends; has ended; has not
 *     shows plain                    what was said last has no bytes that a terminal would obey;
 *     shows json                     it is an object a line
 *     shows 80 columns               no line of it is wider, and it is plain; "shows a screen": and at most 24 lines
 *     columns 40                     no line on the terminal of who was looked at last is wider
 *     each $a $b in x 1 | y 2        what follows, one tab deeper, with each of these; a line that ends in \ goes on
 *
 * Words are as in a shell: '' and "", $name, and \n, \t, \\, \xff outside of ''. */
#pragma once

#include "tests/support/one_server.h"

/* PLAY("hold", "wait");: the scenes of these texts are the sentences of the program; or of those that its
 * words name. */
#define PLAY(...) \
	static int read_texts(int argc, char **argv) \
	{ \
		static const char *const names[] = {__VA_ARGS__}; \
\
		if (argc > 1) \
			play_texts((const char *const *)argv + 1, argc - 1); \
		else \
			play_texts(names, COUNT(names)); \
		return GO_ON; \
	} \
	PRELUDE(read_texts); \
	GROUP(play_begin, stop_server)

void play_texts(const char *const *names, int count);

void play_begin(void);
