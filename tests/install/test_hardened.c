/* How the library and the programs are built: what makes an attacker's work hard must be in each of them.
 *
 * The files are read as they are, so that no tool is needed that a machine may lack. Nothing is looked at in a build with a
 * sanitizer, or without optimization, of which the checks of the C library are a part. */
#include "tests/support/test.h"

#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__OPTIMIZE__) && !defined(LSH_SANITIZED)
#define LOOKED_AT 1
#else
#define LOOKED_AT 0
#endif

struct binary {
	const char *path;
	const unsigned char *bytes;
	size_t size;
	const Elf64_Ehdr *head;
};

static const Elf64_Phdr *
segment(const struct binary *b, uint32_t type)
{
	const Elf64_Phdr *p = (const void *)(b->bytes + b->head->e_phoff);

	for (int i = 0; i < b->head->e_phnum; i++)
		if (p[i].p_type == type)
			return &p[i];
	return NULL;
}

/* Of the dynamic section; 0 if there is none of that tag, and 1 for one that has no value. */
static uint64_t
dynamic(const struct binary *b, int64_t tag)
{
	const Elf64_Phdr *p = segment(b, PT_DYNAMIC);
	const Elf64_Dyn *d = p != NULL ? (const void *)(b->bytes + p->p_offset) : NULL;

	for (; d != NULL && d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			return d->d_un.d_val != 0 ? d->d_un.d_val : 1;
	return 0;
}

static void
check_binary(const struct binary *b)
{
	const Elf64_Phdr *p = (const void *)(b->bytes + b->head->e_phoff), *stack = segment(b, PT_GNU_STACK);

	if (segment(b, PT_GNU_RELRO) == NULL)
		fail_msg("%s: no RELRO", b->path);
	if (!(dynamic(b, DT_FLAGS) & DF_BIND_NOW) && !(dynamic(b, DT_FLAGS_1) & DF_1_NOW) && dynamic(b, DT_BIND_NOW) == 0)
		fail_msg("%s: symbols are not bound at the start", b->path);
	if (stack == NULL || (stack->p_flags & PF_X))
		fail_msg("%s: its stack can be executed", b->path);
	for (int i = 0; i < b->head->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && (p[i].p_flags & PF_W) && (p[i].p_flags & PF_X))
			fail_msg("%s: a segment that can be written and executed", b->path);
	if (dynamic(b, DT_TEXTREL) != 0)
		fail_msg("%s: relocations of its text", b->path);
	if (b->head->e_type != ET_DYN)
		fail_msg("%s: not independent of its position", b->path);
}

/* Is there a string that ends so? The names of what is linked are among them. */
static bool
mentions(const struct binary *b, const char *name)
{
	return memmem(b->bytes, b->size, name, strlen(name) + 1) != NULL;
}

static void
check_file(const char *path, bool has_library)
{
	struct binary b = {.path = path};
	struct stat about;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && fstat(fd, &about) == 0);
	b.size = (size_t)about.st_size;
	b.bytes = mmap(NULL, b.size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(b.bytes != MAP_FAILED && b.size > sizeof *b.head && memcmp(b.bytes, ELFMAG, SELFMAG) == 0 && b.bytes[EI_CLASS] == ELFCLASS64);
	b.head = (const void *)b.bytes;
	check_binary(&b);
	if (has_library && (!mentions(&b, "__stack_chk_fail") || !mentions(&b, "__snprintf_chk") || !mentions(&b, "__vsnprintf_chk")))
		fail_msg("%s: built without the checks of the compiler or of the C library", path);
	munmap((void *)(uintptr_t)b.bytes, b.size);
	close(fd);
}

SENTENCE(the_library_and_the_programs_are_hardened)
{
	const char *build = getenv("LEASH_BUILDDIR");
	char path[4096];
	static const char *const folders[] = {"examples", "bench", "tools"};
	size_t programs = 0;
	glob_t found;

	if (!LOOKED_AT || build == NULL || sizeof(void *) != 8)
		return;
	snprintf(path, sizeof path, "%s/lib/.libs/libleash.so", build);
	check_file(path, true);
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		snprintf(path, sizeof path, "%s/%s/*", build, folders[i]);
		if (glob(path, 0, NULL, &found) != 0)
			continue;
		for (size_t j = 0; j < found.gl_pathc; j++) {
			struct stat about;

			if (strchr(strrchr(found.gl_pathv[j], '/'), '.') != NULL || stat(found.gl_pathv[j], &about) != 0 || !S_ISREG(about.st_mode) ||
			    !(about.st_mode & S_IXUSR))
				continue;
			check_file(found.gl_pathv[j], strcmp(folders[i], "tools") == 0);
			programs++;
		}
		globfree(&found);
	}
	check_file("/proc/self/exe", false);
	print_message("# libleash.so and %zu programs: RELRO, bound at the start, PIE, no stack or data that can be executed\n", programs + 1);
}
