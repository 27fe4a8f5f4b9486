#include "tools/help.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_AT = 30, WIDTH = 80 };

/* What ends in \n is a paragraph; the lines of all begin at a column, which the first one has reached. */
static void
print_wrapped(const char *text, int column)
{
	int at = column;

	for (; *text != '\0'; text++) {
		int word = (int)strcspn(text, " \n");

		if (at > column && at + 1 + word >= WIDTH) {
			printf("\n%*s", column, "");
			at = column;
		}
		at += printf("%s%.*s", at > column ? " " : "", word, text);
		text += word;
		if (*text == '\0')
			break;
		if (*text == '\n') {
			putchar('\n');
			at = column;
		}
	}
}

static void
print_option(const struct cli_option *o)
{
	int at = o->letter != 0 ? printf("  -%c, --%s", o->letter, o->name) : printf("      --%s", o->name);

	if (o->value != NULL)
		at += printf(" %s", o->value);
	if (at > TEXT_AT - 2) {
		putchar('\n');
		at = 0;
	}
	printf("%*s", TEXT_AT - at, "");
	print_wrapped(o->help, TEXT_AT);
	putchar('\n');
}

static void
print_group(const struct cli_group *group)
{
	printf("\n%s:\n", group->title);
	for (const struct cli_option *o = group->options; o->name != NULL; o++)
		print_option(o);
}

static void
print_forms(const struct command *command, const char *before, const char *before_others)
{
	const char *form = command->usage;

	do {
		size_t size = strcspn(form, "\n");

		printf("%sleash %s [OPTION...]%s%.*s\n", before, command->name, size > 0 ? " " : "", (int)size, form);
		form += size + (form[size] == '\n');
		before = before_others;
	} while (*form != '\0');
}

void
help_print(const struct command *command, const struct cli_group *common)
{
	print_forms(command, "Usage: ", "       ");
	print_wrapped(command->about, 0);
	for (const struct cli_group *g = command->groups; g != NULL && g->options != NULL; g++)
		print_group(g);
	print_group(common);
	putchar('\n');
	print_wrapped(command->notes, 0);
}

static void
print_rows(const struct command *command, const struct cli_group *group)
{
	printf("group\t%s\t%s\n", command->name, group->title);
	for (const struct cli_option *o = group->options; o->name != NULL; o++)
		printf("option\t%s\t%.1s\t%s\t%s\t%s\t%s\n", command->name, o->letter != 0 ? &o->letter : "", o->name,
		       o->value != NULL ? o->value : "", o->choices != NULL ? o->choices : "", o->help);
}

void
help_print_table(const struct command *command, const struct cli_group *common)
{
	static const char *const operands[] = {
		[NO_OPERAND] = "", [A_NAME] = "name", [NAMES] = "names", [A_PATTERN] = "pattern", [NAMES_AND_A_JOB] = "job"};

	printf("command\t%s\t%s\t%s\n", command->name, operands[command->operands], command->summary);
	print_forms(command, "form\t", "form\t");
	for (const struct cli_group *g = command->groups; g != NULL && g->options != NULL; g++)
		print_rows(command, g);
	print_rows(command, common);
}
