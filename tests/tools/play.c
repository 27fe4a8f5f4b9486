/* See play.h: the scenes of the texts. */
#include "tests/tools/play.h"
#include "tests/tools/play_parts.h"

#include "tests/support/socket.h"

#include <unistd.h>

enum { SCENES = 200 };

struct scene {
	struct sentence sentence;
	const struct text *text;
	int from, to; /* its lines */
};

static struct scene scenes[SCENES];
static int scene_count;

static void
begin(void)
{
	char host[256] = "";

	gethostname(host, sizeof host - 1);
	freeReplyObject(server_command(server, "FLUSHALL"));
	tool_setenv("LEASH_CONFIG", ""); /* not that of this machine */
	/* a machine that stands still is no server that is away */
	snprintf(play.where, sizeof play.where, "%s?timeout=60000", uri);
	play_set("uri", "%s", uri);
	play_set("host", "%s", host);
	play_set("me", "%d", (int)getpid());
	play_set("folder", "%s", server_folder(server));
	play_set("socket", "%s", server_socket(server));
	play_set("leash", "%s", tool_path());
	play_set("version", "%s", leash_version());
	play_set("free_port", "%d", ports_take());
}

static void
end_scene(void)
{
	play.last = NULL;
	play_close_window();
	tool_free(play.foreground.tool);
	for (int i = 0; i < FEW; i++)
		tool_free(play.background[i].tool);
	if (server_pid(server) == 0)
		server_restart(server);
	for (int i = 0; i < VARIABLES; i++)
		free(play.variables[i].value);
	for (int i = 0; i < SECRETS; i++)
		free(play.secrets[i]);
	memset(&play, 0, sizeof play);
}

static void
play_scene(void)
{
	const struct scene *scene = given;

	play.text = scene->text;
	play_block(0, play.text->first, 0);
	play_block(scene->from, scene->to, 0);
	play_settle();
}

static const struct between around_scene = {begin, end_scene};

static void
add_scene(struct text *t, int at_line, const char *title)
{
	struct scene *scene = &scenes[scene_count];
	char *name;

	if (scene_count == SCENES || asprintf(&name, "%.*s: %s", (int)strcspn(t->path, "."), t->path, title) < 0)
		trouble("there are too many scenes");
	if (t->first < 0)
		t->first = at_line;
	else
		scene[-1].to = at_line;
	*scene = (struct scene){
		.sentence = {.name = name, .body = play_scene, .own = &around_scene, .given = scene,
		             .order = (unsigned)scene_count},
		.text = t, .from = at_line + 1};
	scene_count++;
	sentence_add(&scene->sentence);
}

static void
add(const char *path)
{
	struct text *t = calloc(1, sizeof *t);
	FILE *file = fopen(path, "re");
	char *rest = NULL, *line;
	size_t size = 0, n;

	if (t == NULL || file == NULL || getdelim(&rest, &size, '\0', file) < 0)
		trouble("%s cannot be read", path);
	fclose(file);
	t->path = strdup(strrchr(path, '/') + 1);
	t->first = -1;
	while ((line = strsep(&rest, "\n")) != NULL && t->count < (int)COUNT(t->line)) {
		int begun = t->count;

		t->line[t->count++] = line;
		while ((n = strlen(line)) > 0 && line[n - 1] == '\\' && t->count < (int)COUNT(t->line)) { /* it goes on */
			const char *more = strsep(&rest, "\n");

			more += strspn(more, "\t");
			memmove(line + n - 1, more, strlen(more) + 1);
			t->line[t->count++] = "";
		}
		if (strncmp(line, "== ", 3) == 0)
			add_scene(t, begun, line + 3);
	}
	scenes[scene_count - 1].to = t->count;
}

void
play_texts(const char *const *names, int count)
{
	char path[4096];

	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof path, "%s/tests/tools/%s.txt", SOURCE_FOLDER, names[i]);
		add(path);
	}
}

void
play_begin(void)
{
	start_server();
	tool_setenv("LEASH", tool_path());
}
