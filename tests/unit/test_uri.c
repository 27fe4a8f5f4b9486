/* URIs: what is understood, what is refused and in which words, and that no secret gets out.
 *
 * Most of it is a table of texts: each is shown as what follows it, or refused. Memory counts, fails when told to, and
 * looks for the secret in what is given back; no test may leave a block or the secret behind. */
#include "redis/uri.h"

#include "tests/support/sweep.h"
#include "tests/support/test.h"

#include <leash/memory.h>

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET "QJXZWVKQ"

/* ---- memory ---- */

enum { HEAD = 16 };

static size_t blocks;        /* there are */
static size_t until_failure; /* so many allocations, the last of which fails; 0: never */
static bool secret_freed;    /* without having been wiped */

static void *
watched_alloc(size_t size)
{
	char *p;

	if (until_failure != 0 && --until_failure == 0)
		return NULL;
	p = malloc(HEAD + size);
	if (p == NULL)
		return NULL;
	memcpy(p, &size, sizeof(size));
	blocks++;
	return p + HEAD;
}

static void *
no_realloc(void *old, size_t size)
{
	(void)old;
	(void)size;
	abort();
}

static void
watched_free(void *old)
{
	char *p = (char *)old - HEAD;
	size_t size;

	memcpy(&size, p, sizeof(size));
	if (memmem(old, size, SECRET, strlen(SECRET)) != NULL)
		secret_freed = true;
	blocks--;
	free(p);
}

/* ---- files and variables ---- */

static char *folder;

static const char *
in_folder(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void
write_file(const char *name, const char *bytes, size_t n)
{
	int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

/* What the texts of the table name. */
static void
prepare(void)
{
	static const leash_memory memory = {watched_alloc, no_realloc, watched_free};
	static char longest[4098];

	assert_int_equal(leash_set_memory(&memory), LEASH_OK);
	folder = sweep_folder();
	memset(longest, 'p', 4097);
	write_file("password", SECRET "\n", strlen(SECRET) + 1);
	write_file("empty", "", 0);
	write_file("longest", longest, 4096);
	write_file("too_long", longest, 4097);
	setenv("LEASH_TEST_PASSWORD", SECRET, 1);
	setenv("LEASH_TEST_ODD", SECRET "\n%41", 1);
	setenv("LEASH_TEST_EMPTY", "", 1);
	setenv("LEASH_TEST_TOO_LONG", longest, 1);
	longest[4096] = '\0';
	setenv("LEASH_TEST_LONGEST", longest, 1);
	unsetenv("LEASH_TEST_NONE");
	assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
}

static void
clean_up(void)
{
	sweep_remove(folder);
}

GROUP(prepare, clean_up);

static void
start(void)
{
	blocks = until_failure = 0;
	secret_freed = false;
}

static void
end(void)
{
	assert_true(blocks == 0 && !secret_freed);
}

FIXTURE(start, end);

/* `text`, in which a '$' is the folder. */
static const char *
expanded(char out[static 16384], const char *text)
{
	char *at = out;

	for (; *text != '\0'; text++) {
		if (*text == '$')
			at = stpcpy(at, folder);
		else
			*at++ = *text;
	}
	*at = '\0';
	return out;
}

/* ---- understood ---- */

static void __attribute__((format(printf, 2, 3)))
add(char out[static 16384], const char *format, ...)
{
	size_t n = strlen(out);
	va_list args;

	va_start(args, format);
	vsnprintf(out + n, 16384 - n, format, args);
	va_end(args);
}

static void
add_login(char out[static 16384], const char *whose, const char *user, const char *password, const char *file)
{
	if (user != NULL)
		add(out, " %suser=%s", whose, user);
	if (password != NULL)
		add(out, " %spassword=%s", whose, password);
	if (file != NULL)
		add(out, " %sfile=%s", whose, file);
}

static void
add_host(char out[static 16384], const struct lsh_uri *uri, const char *host, uint16_t port)
{
	char visible[512];

	if (uri->scheme == LSH_SCHEME_UNIX)
		snprintf(visible, sizeof(visible), "%s", host);
	else
		snprintf(visible, sizeof(visible), strchr(host, ':') != NULL ? "[%s]:%u" : "%s:%u", host, port);
	if (strstr(uri->shown, visible) == NULL)
		add(out, " host=%s", host);
}

/* What is shown, then each host that is kept in other bytes, and all else that the URI holds. */
static const char *
described(char out[static 16384], const struct lsh_uri *uri)
{
	strcpy(out, uri->shown);
	for (size_t i = 0; i < uri->host_count; i++)
		add_host(out, uri, uri->hosts[i].host, uri->hosts[i].port);
	if (uri->timeout_ms != 0)
		add(out, " timeout=%lld", (long long)uri->timeout_ms);
	add_login(out, "", uri->login.user, uri->login.password, uri->login.password_file);
	add_login(out, "sentinel_", uri->sentinel.user, uri->sentinel.password,
	          uri->sentinel.password_file);
	if (uri->tls.cafile != NULL)
		add(out, " cafile=%s", uri->tls.cafile);
	if (uri->tls.cert != NULL)
		add(out, " cert=%s key=%s", uri->tls.cert, uri->tls.key);
	if (uri->tls.server_name != NULL)
		add(out, " server_name=%s", uri->tls.server_name);
	if (uri->redirects != NULL)
		add(out, " redirects=%s", uri->redirects);
	if (uri->restart_guard_ms != 0)
		add(out, " guard=%lld", (long long)uri->restart_guard_ms);
	add(out, "%s%s", uri->tls.unverified ? " unverified" : "", uri->preloaded ? " preloaded" : "");
	return out;
}

static void
check_described(const struct lsh_uri *uri, const char *wanted)
{
	char is[16384], expanded_wanted[16384];

	assert_string_equal(described(is, uri), expanded(expanded_wanted, wanted));
}

/* The scheme that is shown is that of the fields. */
static void
check_scheme(const struct lsh_uri *uri)
{
	static const char *const kinds[] = {[LSH_SENTINEL] = "+sentinel://", [LSH_CLUSTER] = "+cluster://",
	                                    [LSH_QUORUM] = "+quorum://", [LSH_SINGLE] = "://"};
	char scheme[32];
	size_t commas = 0;

	if (uri->scheme == LSH_SCHEME_UNIX)
		strcpy(scheme, "unix://");
	else
		snprintf(scheme, sizeof(scheme), "redis%s%s", uri->tls.on ? "s" : "", kinds[uri->deployment]);
	assert_memory_equal(uri->shown, scheme, strlen(scheme));
	for (const char *at = strchr(uri->shown, ','); at != NULL; at = strchr(at + 1, ','))
		commas++;
	assert_int_equal(uri->host_count, commas + 1);
}

static struct lsh_uri
understood(const char *text)
{
	struct lsh_uri uri;
	leash_error err, before;

	memset(&err, 0xee, sizeof(err));
	before = err;
	if (lsh_uri_parse(&uri, text, &err) != LEASH_OK)
		fail_msg("%s: %s", text, err.text);
	assert_memory_equal(&err, &before, sizeof(err));
	return uri;
}

/* The password is this one now. */
static void
check_password(const struct lsh_uri *uri, const char *wanted)
{
	char *read;
	leash_error err;

	if (lsh_uri_read_password(&read, uri, &err) != LEASH_OK)
		fail_msg("%s: %s", uri->shown, err.text);
	assert_non_null(read != NULL ? read : uri->login.password);
	assert_string_equal(read != NULL ? read : uri->login.password, wanted);
	sodium_free(read);
}

/* What is shown of it is printable, and a URI of the same place and of nothing else. */
static void
check_understood(const char *text, const char *wanted)
{
	struct lsh_uri uri = understood(text), again = understood(uri.shown);

	check_described(&uri, wanted);
	check_scheme(&uri);
	for (const char *at = uri.shown; *at != '\0'; at++)
		assert_true(*at > ' ' && *at <= '~');
	assert_string_equal(again.shown, uri.shown);
	assert_int_equal(again.db, uri.db);
	assert_int_equal(again.deployment, uri.deployment);
	assert_int_equal(again.scheme, uri.scheme);
	assert_int_equal(again.tls.on, uri.tls.on);
	assert_int_equal(again.host_count, uri.host_count);
	for (size_t i = 0; i < uri.host_count; i++) {
		assert_string_equal(again.hosts[i].host, uri.hosts[i].host);
		assert_int_equal(again.hosts[i].port, uri.hosts[i].port);
	}
	assert_true(uri.master == NULL ? again.master == NULL : strcmp(uri.master, again.master) == 0);
	assert_null(again.login.user);
	assert_false(lsh_has_password(&again.login));
	lsh_uri_clear(&uri);
	lsh_uri_clear(&again);
}

/* ---- refused ---- */

/* `words`: what the message must have in it, with a '|' between. */
static void
refused(const char *text, const char *words)
{
	static const struct lsh_uri nothing;
	struct lsh_uri uri;
	leash_error err;

	memset(&uri, 0xee, sizeof(uri));
	memset(&err, 0, sizeof(err));
	if (lsh_uri_parse(&uri, text, &err) == LEASH_OK)
		fail_msg("%s: understood", text);
	if (err.status != LEASH_INVALID)
		fail_msg("%s: %s: %s", text, leash_status_name(err.status), err.text);
	assert_int_equal(blocks, 0);
	assert_memory_equal(&uri, &nothing, sizeof(uri));
	assert_false(secret_freed);

	assert_null(memmem(&err, sizeof(err), SECRET, strlen(SECRET)));
	assert_memory_equal(err.text, "uri: ", 5);
	assert_true(strlen(err.text) > 20);
	assert_int_not_equal(err.text[strlen(err.text) - 1], '.'); /* neither a full stop nor cut off */
	while (*words != '\0') {
		size_t n = strcspn(words, "|");

		if (memmem(err.text, strlen(err.text), words, n) == NULL)
			fail_msg("%s: '%.*s' is not in: %s", text, (int)n, words, err.text);
		words += n + (words[n] != '\0');
	}

	/* without a place for the message it is refused all the same */
	assert_int_equal(lsh_uri_parse(&uri, text, NULL), LEASH_INVALID);
}

/* ---- the table ---- */

struct row {
	const char *texts;    /* with spaces between; a '$' is the folder */
	const char *expected; /* as described() has it; or "!", and words of the refusal with a '|' between */
};

#define X3(text) text text text
#define X4(text) text text text text
#define X16(text) X4(X4(text))
#define X64(text) X4(X16(text))
#define X253(text) X3(X64(text)) X3(X16(text)) X3(X4(text)) text
#define X4096(text) X64(X64(text))

#define SCHEMES "redis://|rediss://|unix://|sentinel://|cluster://|quorum://"
#define NOT_LISTED "!host|','|redis+sentinel://|redis+cluster://|redis+quorum://"
#define BUYS_NOTHING "buys nothing but another thing to fail|3, 5 or 7"
#define ONLY_DB_0 "!database|a cluster has only database 0"
#define MAIN "redis+sentinel://a:26379,b:26379/main"
#define HOSTS_16 "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p"
#define SHOWN_16(port) \
	"a:" port ",b:" port ",c:" port ",d:" port ",e:" port ",f:" port ",g:" port ",h:" port \
	",i:" port ",j:" port ",k:" port ",l:" port ",m:" port ",n:" port ",o:" port ",p:" port

static const struct row rows[] = {
	/* what is understood */
	{"redis://cache", "redis://cache:6379"},
	{"redis://app:" SECRET "@cache-1.example.com:7000/12?timeout=2500", "redis://cache-1.example.com:7000/12 "
	 "timeout=2500 user=app password=" SECRET},
	{"REDIS://127.0.0.1:6379/", "redis://127.0.0.1:6379"},
	{"Unix:///run/redis.sock", "unix:///run/redis.sock"},
	{"redis://[::1]", "redis://[::1]:6379"},
	{"redis://[::1]:7001/3", "redis://[::1]:7001/3"},
	{"redis://:" SECRET "@[2001:db8::2]:1", "redis://[2001:db8::2]:1 password=" SECRET},
	{"redis://[::ffff:10.0.0.1]/0", "redis://[::ffff:10.0.0.1]:6379"},
	{"redis://[fe80::1%25eth0]:6380", "redis://[fe80::1%25eth0]:6380 host=fe80::1%eth0"},
	{"redis://h:1/0?timeout=10", "redis://h:1 timeout=10"},
	{"redis://h:65535/16383?timeout=60000", "redis://h:65535/16383 timeout=60000"},
	{"redis://:" SECRET "@cache", "redis://cache:6379 password=" SECRET},
	/* the first ':' parts them */
	{"redis://a%40b%3a:p%2Fw%3f%23%20%25%c3%a9:\xc3\xa9!@cache", "redis://cache:6379 user=a@b: password=p/w?# "
	 "%\xc3\xa9:\xc3\xa9!"},
	{"unix:///run/redis.sock", "unix:///run/redis.sock"},
	{"unix://app:" SECRET "@/run/a@b/redis%20%3F%25%23%01%C3%A9.sock?timeout=100&db=5",
	 "unix:///run/a@b/redis%20%3F%25%23%01%C3%A9.sock?db=5 host=/run/a@b/redis ?%#\x01\xc3\xa9.sock timeout=100 "
	 "user=app password=" SECRET},
	{"redis://u:" SECRET "@[fe80::1%25eth0]/2", "redis://[fe80::1%25eth0]:6379/2 host=fe80::1%eth0 user=u password="
	 SECRET},
	{"unix:///run/%25%3f%7f%ff.sock?db=2", "unix:///run/%25%3F%7F%FF.sock?db=2 host=/run/%?\x7f\xff.sock"},
	/* with its NUL it has 108 bytes */
	{"unix:///" X64("x") X16("x") X16("x") "xxxxxxxxxx", "unix:///" X64("x") X16("x") X16("x") "xxxxxxxxxx"},
	{"unix:///" X64("x") X16("x") X16("x") "xxxxxxxxxxx", "!path|socket"},

	/* passwords from elsewhere, which are taken as they are */
	{"unix://app@/run/redis.sock?password_file=$/password", "unix:///run/redis.sock user=app file=$/password"},
	{"redis://app@cache?password_env=LEASH_TEST_ODD", "redis://cache:6379 user=app password=" SECRET "\n%41"},
	{"redis://:" X4096("p") "@h redis://h?password_env=LEASH_TEST_LONGEST", "redis://h:6379 password=" X4096("p")},
	{"redis://h?password_file=$/longest", "redis://h:6379 file=$/longest"},
	{"redis://" X4096("p") ":x@h", "redis://h:6379 user=" X4096("p") " password=x"},
	{"redis://:p" X4096("p") "@h redis://h?password_env=LEASH_TEST_TOO_LONG redis://h?password_file=$/too_long",
	 "!password|longer than 4096 bytes"},
	{"redis://p" X4096("p") ":x@h", "!user|longer than 4096 bytes"},
	{"redis://h?password_file=$/missing%0a", "!password_file '$/missing\\x0a': No such file or directory"},
	{"redis://h?password_file=$", "!password_file '$': not a regular file"},
	{"redis://h?password_file=$/fifo", "!password_file|/fifo|not a regular file"},
	{"redis://h?password_file=/dev/zero", "!password_file|'/dev/zero'|not a regular file"},
	{"redis://h?password_file=" X64("/long"), "!password_file '/long/long|...': "},
	{"redis://h?password_env=LEASH_TEST_NONE", "!password_env|'LEASH_TEST_NONE' is not in the environment"},
	{"redis://h?password_env=LEASH_TEST_EMPTY", "!password_env|'LEASH_TEST_EMPTY' is empty"},
	{"redis://h?password_env= redis://h?password_env=1A redis://h?password_env=A-" SECRET
	 " redis://h?password_env=A%3D" SECRET " redis://h?password_env=" SECRET "%0a",
	 "!password_env|name of a variable"},

	/* what is refused */
	{"cache cache:6379 redis redis: redis:/ redis:cache redis:/cache app:" SECRET "@cache //cache /run/redis.sock",
	 "!scheme|missing|" SCHEMES},
	{"://cache http://cache redi://cache rediss3://cache redis+://cache redis+sentinels://cache tcp://:" SECRET
	 "@cache " SECRET "://cache app:" SECRET "@redis://cache unixx:///a redis+clusterr://a rediss+quorums://a "
	 "redisss://a unix+sentinel://a redis+tls://a redis+sentinel+cluster://a", "!scheme|not known|" SCHEMES},
	{"redis://cache#x", "!byte 14:|fragment|%23"},
	{"redis://:#" SECRET "@cache", "!byte 10:|fragment|%23"},
	{"unix:///run/redis.sock#", "!byte 23:|fragment|%23"},
	{"redis:// redis:/// redis:///2 redis://?timeout=100 redis://:6379 redis://:" SECRET "@ redis://:" SECRET
	 "@:6379 redis://app:" SECRET "@/2 redis://:/" SECRET "@cache redis://:?" SECRET "@cache",
	 "!host|missing|redis://cache:6379"},
	{"redis://ca%63he redis://caf\xc3\xa9 redis://" SECRET "! redis://a*b redis://a] redis://a+b redis://\"a\"",
	 "!host|letters|IPv6|brackets"},
	{"redis://a:1]", "!port"},
	{"redis://" X253("h"), "redis://" X253("h") ":6379"},
	{"redis://h" X253("h"), "!host|longer than 253"},
	{"redis://::1", "!host|redis://cache:6379"},
	{"redis://2001:db8::1 redis://2001:db8::1:6379/0 redis://fe80::1", "!port|IPv6|brackets"},
	{"redis://[::1 redis://[::1:6379/0 redis://[fe80::1%25a/b]", "!host|'['|']'"},
	{"redis://[::1]6379 redis://[::1]]", "!host|':'|port|']'"},
	{"redis://[] redis://[]:6379 redis://[cache] redis://[127.0.0.1] redis://[::1::] redis://[:::1] redis://[[::1] "
	 "redis://[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000] redis://[%25eth0] redis://:" SECRET
	 "@[::g]", "!host|brackets|not an IPv6 address"},
	{"redis://[fe80::1%eth0] redis://[fe80::1%25] redis://[fe80::1%] redis://[fe80::1%25%00] redis://[fe80::1%25a*b] "
	 "redis://[fe80::1%251234567890123456] redis://[fe80::1%2] redis://[fe80::1%35eth0]", "!host|zone|%25eth0"},
	{"redis://cache: redis://cache:/0 redis://cache:0 redis://cache:65536 redis://cache:-1 redis://cache:+1 "
	 "redis://cache:06379 redis://cache:6379x redis://cache:0x1 redis://cache:1:2 "
	 "redis://cache:99999999999999999999999 redis://[::1]: redis://[::1]:0 redis://cache:%31 redis://app:" SECRET
	 " redis://app:" SECRET "/x@cache redis://app:" SECRET "?x@cache", "!port|from 1 to 65535"},
	{"redis://cache/x redis://cache/16384 redis://cache/-1 redis://cache/+1 redis://cache/01 redis://cache/1/ "
	 "redis://cache/1/2 redis://cache// redis://cache//1 redis://cache/%31 redis://cache/1.0 redis://h/" SECRET
	 " redis://cache/99999999999999999999", "!database|from 0 to 16383|redis://cache:6379/2"},
	{"unix:///a?db= unix:///a?db=16384 unix:///a?db=x", "!db: a database from 0 to 16383|?db=2"},
	{"redis://cache:6379?db=2", "!'db'|redis://cache:6379/2"},
	{"redis://app:1/" SECRET "@cache redis://app/" SECRET "@cache", "!'/'|%2F"},
	{"redis://app:12?" SECRET "@cache redis://app:12?" SECRET "=x@cache redis://app:12?a&" SECRET
	 "&x@cache redis://app:12?x=@&" SECRET, "!'?'|%3F"},
	{"redis://@cache unix://@/run/redis.sock", "!user|before the '@'"},
	{"redis://" SECRET "@cache unix://app@/run/redis.sock", "!password|missing|user|password_file|password_env"},
	{"redis://app:@cache redis://:@cache", "!password|empty"},
	{"redis://app:" SECRET "@x@cache unix://app:" SECRET "@x@/run/redis.sock", "!'@'|%40"},
	{"unix:// unix:/// unix://?db=1 unix://app:" SECRET "@", "!path|missing|unix:///run/redis.sock"},
	{"unix://run/redis.sock unix://app:" SECRET "@run/redis.sock unix://app:" SECRET "/x@/run/redis.sock",
	 "!host|third slash|unix:///run/redis.sock"},
	{"redis://h?timeout= redis://h?timeout=9 redis://h?timeout=60001 redis://h?timeout=1s redis://h?timeout=0100 "
	 "redis://h?timeout=-1 redis://h?timeout=1%30 redis://h?timeout=18446744073709551716 redis://h?timeout=100? "
	 "unix:///a?timeout=1e3", "!timeout|from 10 to 60000"},
	{"redis://h? redis://h?timeout=100& redis://h?&timeout=100 redis://h?timeout=100&&", "!parameters|empty"},
	{"redis://h?timeout", "!'timeout'|no value"},
	{"redis://h?password_file", "!'password_file'|no value"},
	{"redis://h?password_file=", "!password_file|empty|path"},
	/* the end of it is lost */
	{"redis://h?tiemout=100", "!'tiemout'|not known|timeout, password_file, password_env"},
	{"redis://h?timeout=100&ssl=true", "!'ssl'|not known"},
	{"redis://h?Timeout=100", "!'Timeout'|not known"},
	{"unix:///a?dbb=1", "!'dbb'|not known|timeout, password_file, password_env, db"},
	{"redis://h?password=" SECRET, "!'password'|not known"},
	{"redis://h?=1 redis://h?ti%6deout=100 redis://h?a\x80=1 "
	 "redis://h?abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz=1", "!parameters|not known"},
	{"redis://app?" SECRET, "!parameters|not known|%3F"},
	{"redis://h?timeout=100&timeout=100", "!'timeout'|twice"},
	{"unix:///a?db=1&timeout=100&db=2", "!'db'|twice"},
	{"redis://h?password_env=LEASH_TEST_PASSWORD&password_env=LEASH_TEST_PASSWORD", "!'password_env'|twice"},
	{"redis://h?password_file=$/password&password_file=$/password", "!'password_file'|twice"},
	{"redis://:" SECRET "@h?password_env=LEASH_TEST_PASSWORD redis://app:" SECRET
	 "@h?password_file=/missing redis://h?password_env=LEASH_TEST_PASSWORD&password_file=$/password "
	 "redis://h?password_file=$/password&password_env=LEASH_TEST_PASSWORD", "!password|twice"},

	/* deployments */
	{"redis://a", "redis://a:6379"},
	{"rediss://a REDISS://a", "rediss://a:6379"},
	{"unix:///a", "unix:///a"},
	{"redis+sentinel://a/m", "redis+sentinel://a:26379/m"},
	{"rediss+sentinel://a,b/m ReDiSS+Sentinel://a,b/m", "rediss+sentinel://a:26379,b:26379/m"},
	{"redis+cluster://a REDIS+CLUSTER://a", "redis+cluster://a:6379"},
	{"rediss+cluster://a,b", "rediss+cluster://a:6379,b:6379"},
	{"redis+quorum://a,b,c redis+QUORUM://a,b,c", "redis+quorum://a:6379,b:6379,c:6379"},
	{"rediss+quorum://a,b,c", "rediss+quorum://a:6379,b:6379,c:6379"},
	{"redis+sentinel://a,b:1,[fe80::1%25eth0]:2/the%2Dmain.one_2/3?timeout=100",
	 "redis+sentinel://a:26379,b:1,[fe80::1%25eth0]:2/the-main.one_2/3 host=fe80::1%eth0 timeout=100"},
	{"rediss+cluster://:" SECRET "@[::1]:7000,[::1]:7001/0?redirects=10.0.0.1",
	 "rediss+cluster://[::1]:7000,[::1]:7001 password=" SECRET " redirects=10.0.0.1"},
	{"redis+quorum://a,b,[2001:db8::1]/5", "redis+quorum://a:6379,b:6379,[2001:db8::1]:6379/5"},
	{"redis://a,b rediss://a:1,b:2/0 redis://app:" SECRET "@a,b", NOT_LISTED},
	{"redis+cluster://app:p,w@a,b.example.com:7000,[::1],[fe80::1%25eth0]:7001,10.0.0.1",
	 "redis+cluster://a:6379,b.example.com:7000,[::1]:6379,[fe80::1%25eth0]:7001,10.0.0.1:6379 host=fe80::1%eth0 "
	 "user=app password=p,w"},
	{"redis+sentinel://[::1]:7000,b/m", "redis+sentinel://[::1]:7000,b:26379/m"},
	{"redis+cluster://", "!host 1: missing|'://'|redis+cluster://a:6379,b:6379"},
	{"redis+sentinel:///m", "!host 1: missing|" MAIN},
	{"redis+quorum://?timeout=100", "!host 1: missing|redis+quorum://a:6379,b:6379,c:6379"},
	{"redis+cluster://:" SECRET "@", "!host 1: missing|'@'"},
	{"redis+cluster://a,", "!host 2: missing|the ','"},
	{"redis+cluster://a,,b redis+cluster://a,::1", "!host 2: missing"},
	{"redis+cluster://,a", "!host 1: missing"},
	{"redis+cluster://a,b,:7000", "!host 3: missing"},
	{"redis+cluster://a,b*", "!host 2: |letters|IPv6|brackets"},
	{"redis+cluster://a,b:0", "!host 2: port: |from 1 to 65535"},
	{"redis+cluster://a:,b", "!host 1: port: |from 1 to 65535"},
	{"redis+cluster://a,b,c:65536", "!host 3: port: |from 1 to 65535"},
	{"redis+cluster://a,2001:db8::1", "!host 2: port: |IPv6|brackets"},
	{"redis+cluster://a,[::1", "!host 2: |'['|']'"},
	{"redis+cluster://a,[::1]1", "!host 2: |':'|port|']'"},
	{"redis+cluster://a,[::g]", "!host 2: |brackets|not an IPv6 address"},
	{"redis+cluster://a,[::1%eth0]", "!host 2: |zone|%25eth0"},
	{"redis+cluster://[a,b]", "!host 1: |'['|']'"},
	{"redis+sentinel://app:" SECRET "@a,b!/m", "!host 2: |letters"},
	{"redis+cluster://app:" SECRET ",b", "!host 1: port|'/' is written %2F"},
	{"redis+cluster://app:12," SECRET "!/x@a", "!host 2: |letters"},
	{"redis+cluster://app:12," SECRET "/x@a", "!database|'@'|%2F"},
	{"redis+cluster://u:p@a,u:" SECRET "@b", "!more than one '@'|before a list of hosts they stand once"},
	{"redis+cluster://a," X253("h"), "redis+cluster://a:6379," X253("h") ":6379"},
	{"redis+cluster://a,h" X253("h"), "!host 2: |longer than 253"},
	{"redis+quorum://a,b,a", "!host 3: the same as host 1|once"},
	{"redis+quorum://a,b:6379,B redis+quorum://a,[::1],[0:0:0::0:1]:6379 "
	 "redis+quorum://a,[2001:DB8::a],[2001:db8::A]", "!host 3: the same as host 2"},
	{"redis+cluster://a:1,a:1 redis+sentinel://a,a:26379/m redis+cluster://[fe80::1%25eth0],[fe80::1%25eth0]",
	 "!host 2: the same as host 1"},
	{"redis+quorum://a:1,a:2,a:3", "redis+quorum://a:1,a:2,a:3"},
	{"redis+cluster://[fe80::1%25eth0],[fe80::1%25eth1],[fe80::1]",
	 "redis+cluster://[fe80::1%25eth0]:6379,[fe80::1%25eth1]:6379,[fe80::1]:6379 host=fe80::1%eth0 "
	 "host=fe80::1%eth1"},
	{"redis+sentinel://a:6379,a/m", "redis+sentinel://a:6379,a:26379/m"},
	{"redis+cluster://" HOSTS_16, "redis+cluster://" SHOWN_16("6379")},
	{"rediss+sentinel://" HOSTS_16 "/m", "rediss+sentinel://" SHOWN_16("26379") "/m"},
	{"redis+cluster://" HOSTS_16 ",q rediss+sentinel://" HOSTS_16 ",q/m", "!hosts: more than 16|enough"},
	{"redis+quorum://a", "!hosts: 1, but a quorum has 3, 5 or 7|a single server|redis://"},
	{"rediss+quorum://a", "!hosts: 1, but a quorum has 3, 5 or 7|a single server|rediss://"},
	{"redis+quorum://a,b", "!hosts: 2, but|" BUYS_NOTHING},
	{"redis+quorum://a,b,c", "redis+quorum://a:6379,b:6379,c:6379"},
	{"redis+quorum://a,b,c,d", "!hosts: 4, but|" BUYS_NOTHING},
	{"redis+quorum://a:1,b:1,c:1,d:1,e:1", "redis+quorum://a:1,b:1,c:1,d:1,e:1"},
	{"redis+quorum://a,b,c,d,e,f", "!hosts: 6, but|" BUYS_NOTHING},
	{"redis+quorum://a:1,b:1,c:1,d:1,e:1,f:1,g:1", "redis+quorum://a:1,b:1,c:1,d:1,e:1,f:1,g:1"},
	{"redis+quorum://a,b,c,d,e,f,g,h redis+quorum://a,b,c,d,e,f,g,h,i redis+quorum://" HOSTS_16 " redis+quorum://"
	 HOSTS_16 ",q", "!hosts: more than 7|3, 5 or 7"},
	{"redis+quorum://app:" SECRET "@a:1,b:2,c:3/16383?restart_guard=86400000",
	 "redis+quorum://a:1,b:2,c:3/16383 user=app password=" SECRET " guard=86400000"},
	{"redis+quorum://a,b,c/", "redis+quorum://a:6379,b:6379,c:6379"},
	{"redis+quorum://a,b,c/16384", "!database|from 0 to 16383|redis+quorum://a:6379,b:6379,c:6379/2"},
	{"redis+quorum://a,b,c/main", "!database"},
	{"redis+quorum://a,b/" SECRET "@c,d", "!hosts: 2, but"},
	{"redis+quorum://a,b,c/" SECRET "@d", "!database|'@'|%2F"},
	{"redis+cluster://a redis+cluster://a/ redis+cluster://a/0", "redis+cluster://a:6379"},
	{"redis+cluster://a/0?timeout=100", "redis+cluster://a:6379 timeout=100"},
	{"redis+cluster://a/1 redis+cluster://a,b/16383 redis+cluster://a/00 redis+cluster://a/main redis+cluster://a//0 "
	 "redis+cluster://a/0/", ONLY_DB_0},
	{"redis+cluster://a?db=0", "!'db'|a cluster has only database 0"},
	{"redis+cluster://app/" SECRET "@a", "!database|'@'|%2F"},
	{"redis+sentinel://a/main redis+sentinel://a/main/ redis+sentinel://a/main/0", "redis+sentinel://a:26379/main"},
	{"redis+sentinel://a/main/16383", "redis+sentinel://a:26379/main/16383"},
	{"redis+sentinel://a/%4d-1._x", "redis+sentinel://a:26379/M-1._x"},
	{"redis+sentinel://a/5", "redis+sentinel://a:26379/5"},
	{"redis+sentinel://a/./2", "redis+sentinel://a:26379/./2"},
	{"redis+sentinel://a/" X64("m") X64("m"), "redis+sentinel://a:26379/" X64("m") X64("m")},
	{"redis+sentinel://a/m" X64("m") X64("m"), "!master|1 to 128"},
	{"redis+sentinel://a redis+sentinel://a/ redis+sentinel://a,b:1?timeout=100 redis+sentinel://a//2 "
	 "redis+sentinel://a//", "!master: missing|" MAIN},
	{"redis+sentinel://a/ma%20in redis+sentinel://a/ma%2Fin redis+sentinel://a/m\xc3\xa4in redis+sentinel://a/main:1 "
	 "redis+sentinel://a/ma,in redis+sentinel://a/main%0a redis+sentinel://a/" SECRET "!",
	 "!master|1 to 128 letters, digits|" MAIN},
	{"redis+sentinel://a/%zz redis+sentinel://a/m%00", "!master|%25"},
	{"redis+sentinel://app:" SECRET "/x@a/m", "!host 1: port"},
	{"redis+sentinel://app/" SECRET "@a/m", "!master|'@'|%2F"},
	{"redis+sentinel://a/main/x", "!database|from 0 to 16383|" MAIN "/2"},
	{"redis+sentinel://a/main/2/", "!database"},
	{"redis+sentinel://a/main?db=2", "!'db'|follows the master|main/2"},
	{"redis+sentinel://a/m?sentinel_user=", "!sentinel_user|empty"},
	{"redis+sentinel://a/m?sentinel_user=%zz", "!sentinel_user|%25"},
	{"redis+sentinel://a/m?sentinel_user=x",
	 "!sentinel password|missing|sentinel_password_file|sentinel_password_env"},
	{"redis+sentinel://a/m?sentinel_password=" SECRET, "!'sentinel_password'|not known|sentinel_password_file"},
	{"redis+sentinel://a/m?sentinel_password_env=A-" SECRET, "!sentinel_password_env|name of a "
	 "variable|?sentinel_password_env="},
	{"redis+sentinel://a/m?sentinel_password_env=LEASH_TEST_NONE", "!sentinel_password_env|'LEASH_TEST_NONE' is not "
	 "in the environment"},
	{"redis+sentinel://a/m?sentinel_password_file=", "!sentinel_password_file|empty|path"},
	{"redis+sentinel://a/m?sentinel_password_file=/dev/zero", "!sentinel_password_file '/dev/zero'|not a regular "
	 "file"},
	{"redis+sentinel://a/m?sentinel_password_file=$/empty", "!sentinel_password_file '$/empty': empty"},
	{"redis+sentinel://a/m?sentinel_password_file=$/none", "!sentinel_password_file '$/none': No such file"},
	{"redis+sentinel://a/m?sentinel_password_env=LEASH_TEST_PASSWORD&sentinel_password_file=$/password "
	 "redis+sentinel://a/m?sentinel_password_file=$/password&sentinel_password_env=LEASH_TEST_PASSWORD",
	 "!sentinel password: given twice"},
	{"redis+sentinel://a/m?sentinel_user=u" X4096("u") "&sentinel_password_env=LEASH_TEST_PASSWORD",
	 "!sentinel_user|longer than 4096 bytes"},

	{"rediss+sentinel://:x@a/main?sentinel_password_env=LEASH_TEST_PASSWORD",
	 "rediss+sentinel://a:26379/main password=x sentinel_password=" SECRET},
	{"redis+sentinel://app:" SECRET "@a/main", "redis+sentinel://a:26379/main user=app password=" SECRET},

	/* TLS */
	{"rediss://h?cafile=/etc/c%20a.pem&cert=c.pem&key=/k%3F.pem&server_name=%63ache.example.com&verify=no",
	 "rediss://h:6379 cafile=/etc/c a.pem cert=c.pem key=/k?.pem server_name=cache.example.com unverified"},
	{"rediss+sentinel://h/m?verify=yes", "rediss+sentinel://h:26379/m"},
	{"rediss://h?verify= rediss://h?verify=No rediss://h?verify=false rediss://h?verify=0 rediss://h?verify=none "
	 "rediss://h?verify=off rediss://h?verify=%6eo rediss://h?verify=no%20 rediss://h?verify=nono "
	 "rediss://h?verify=n", "!verify|'yes' or 'no'"},
	{"rediss://h?verify", "!'verify'|no value"},
	{"rediss://h?verify=no&verify=yes", "!'verify'|twice"},
	{"rediss://h?cert=/c.pem rediss+cluster://h?cert=/c.pem&cafile=/ca.pem", "!key|missing|&key="},
	{"rediss://h?key=/k.pem", "!cert|missing|&cert="},
	{"rediss://h?cafile=", "!cafile|empty|path|?cafile="},
	{"rediss://h?cert=&key=a", "!cert|empty|path"},
	{"rediss://h?cert=a&key=", "!key|empty|path"},
	{"rediss://h?cafile=%zz", "!cafile|%25"},
	{"rediss://h?cert=%00", "!cert|%25"},
	{"rediss://h?key=%4", "!key|%25"},
	{"rediss://h?server_name= rediss://h?server_name=*.example.com rediss://h?server_name=a:6379 "
	 "rediss://h?server_name=a%0a rediss://h?server_name=a/b", "!server_name|name of a host"},
	{"rediss://h?server_name=%g0", "!server_name|%25"},
	{"rediss://h?server_name=" X253("n"), "rediss://h:6379 server_name=" X253("n")},
	{"rediss://h?server_name=n" X253("n"), "!server_name|name of a host"},

	/* parameters of deployments */
	{"redis://a?scripts=preloaded&restart_guard=1", "redis://a:6379 guard=1 preloaded"},
	{"rediss://a?scripts=preloaded&restart_guard=1", "rediss://a:6379 guard=1 preloaded"},
	{"unix:///a?scripts=preloaded&restart_guard=1", "unix:///a guard=1 preloaded"},
	{"redis+sentinel://a/m?scripts=preloaded&restart_guard=1", "redis+sentinel://a:26379/m guard=1 preloaded"},
	{"redis+cluster://a?scripts=sent&restart_guard=86400000", "redis+cluster://a:6379 guard=86400000"},
	{"redis+cluster://a?scripts=preloaded", "redis+cluster://a:6379 preloaded"},
	{"redis+quorum://a,b,c?scripts=preloaded&restart_guard=1", "redis+quorum://a:6379,b:6379,c:6379 guard=1 "
	 "preloaded"},
	{"redis://h?scripts= redis://h?scripts=yes redis://h?scripts=Preloaded redis://h?scripts=preloade "
	 "redis://h?scripts=preloadedx redis://h?scripts=send redis://h?scripts=sent,preloaded",
	 "!scripts|'preloaded' or 'sent'"},
	{"redis://h?restart_guard= redis://h?restart_guard=0 redis://h?restart_guard=86400001 redis://h?restart_guard=-1 "
	 "redis://h?restart_guard=030 redis://h?restart_guard=30s redis+quorum://a,b,c?restart_guard=1e3 "
	 "redis+quorum://a,b,c?restart_guard=18446744073709551617", "!restart_guard|from 1 to 86400000"},
	{"redis+cluster://a?redirects=cache-a", "redis+cluster://a:6379 redirects=cache-a"},
	{"redis+sentinel://a/m?redirects=10.0.0.1,Cache_B.example.com", "redis+sentinel://a:26379/m "
	 "redirects=10.0.0.1,Cache_B.example.com"},
	{"rediss+cluster://a?redirects=[::1],::2,a,[fe80::1%25eth0]", "rediss+cluster://a:6379 "
	 "redirects=[::1],::2,a,[fe80::1%eth0]"},
	{"rediss+sentinel://a/m?redirects=%5b::1%5D%2cb", "rediss+sentinel://a:26379/m redirects=[::1],b"},
	{"redis+cluster://a?redirects=a:6379", "!redirects: host 1: |without a port"},
	{"redis+cluster://a?redirects=a,[::1]:6379", "!redirects: host 2: |without a port"},
	{"redis+cluster://a?redirects= redis+cluster://a?redirects=, redis+cluster://a?redirects=[::1 "
	 "redis+cluster://a?redirects=[a] redis+cluster://a?redirects=[] redis+cluster://a?redirects=::g "
	 "redis+cluster://a?redirects=fe80::1%25 redis+cluster://a?redirects=fe80::1%25a*", "!redirects: host 1: "},
	{"redis+cluster://a?redirects=a, redis+cluster://a?redirects=a,,b redis+cluster://a?redirects=a," SECRET "*",
	 "!redirects: host 2: "},
	{"redis+cluster://a?redirects=a,b,c%20", "!redirects: host 3: "},
	{"redis+cluster://a?redirects=%zz", "!redirects: a '%'|%25"},
	{"redis://a?redirects=b", "!'redirects'|redis+sentinel://|redis+cluster://|leave it out of a redis:// URI"},
	{"unix:///a?redirects=b", "!'redirects'|leave it out of a unix:// URI"},
	{"rediss+quorum://a,b,c?redirects=b", "!'redirects'|leave it out of a rediss+quorum:// URI"},
	{"redis+cluster://a?nodes=3", "!'nodes'|there are timeout, password_file, password_env, redirects, scripts, "
	 "restart_guard"},
	{"rediss+quorum://a,b,c?tls=1", "!'tls'|there are timeout, password_file, password_env, cafile, cert, key, "
	 "server_name, verify, scripts, restart_guard"},
	/* the longest there are */
	{"rediss+sentinel://a/m?abcdefghijklmnopqrstuvwxyz-12345=1", "!'abcdefghijklmnopqrstuvwxyz-12345'|sentinel_user, "
	 "sentinel_password_file, sentinel_password_env, redirects, scripts, restart_guard"},
	{"rediss+sentinel://a/m?x*=1", "!parameters|%3F|restart_guard"},
};

SENTENCE(each_uri_is_understood_or_refused_with_its_reason)
{
	for (const struct row *row = rows; row < rows + COUNT(rows); row++) {
		char texts[16384], expected[16384], *rest = texts;

		expanded(texts, row->texts);
		expanded(expected, row->expected);
		for (char *text; (text = strsep(&rest, " ")) != NULL;) {
			if (expected[0] == '!')
				refused(text, expected + 1);
			else
				check_understood(text, expected);
		}
	}
}

/* ---- what the table cannot have ---- */

SENTENCE(an_empty_text_and_spaces_and_control_bytes_are_refused)
{
	refused(NULL, "empty|redis://");
	refused("", "empty|redis://");
	refused(" redis://cache", "byte 1:|space|%20");
	refused("redis://cache ", "byte 14:|space");
	refused("redis://cache\n", "byte 14:|control");
	refused("redis://:" SECRET "\t@cache", "byte 18:|control");
	refused("redis://cac\x7fhe", "byte 12:|control");
	refused("unix:///run/\x01x", "byte 13:|control");
	refused("redis+cluster://a,b c", "byte 20:");
}

SENTENCE(every_byte_but_nul_may_be_in_a_password)
{
	char text[1024] = "redis://:", wanted[256];
	struct lsh_uri uri;

	for (unsigned c = 1; c < 256; c++) {
		snprintf(text + strlen(text), 4, c % 2 == 0 ? "%%%02x" : "%%%02X", c);
		wanted[c - 1] = (char)c;
	}
	wanted[255] = '\0';
	strcat(text, "@h");
	uri = understood(text);
	assert_string_equal(uri.login.password, wanted);
	lsh_uri_clear(&uri);
}

/* In the places of a '*'. */
static void
refused_with(const char *form, const char *what, const char *words)
{
	const char *at = strchr(form, '*');
	char text[256];

	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - form), form, what, at + 1);
	refused(text, words);
}

SENTENCE(a_bad_escape_is_refused_wherever_it_stands)
{
	static const char *const bad[] = {"%", "%4", "%zz", "%4g", "%g4", "%%41", "%00", "a%00b", "%0", "%-1", "% 1"};
	static const char *const places[][2] = {
		{"redis://*:" SECRET "@cache", "user|%25"}, {"redis://app:" SECRET "*@cache", "password|%25"},
		{"unix:///run/*", "path|%25"}, {"redis://cache?password_file=/run/*", "password_file|%25"},
		{"redis://cache?password_env=*", "password_env|%25"},
	};

	for (size_t i = 0; i < COUNT(bad); i++)
		for (size_t j = 0; j < COUNT(places); j++)
			refused_with(places[j][0], bad[i], strchr(bad[i], ' ') != NULL ? "space" : places[j][1]);
}

SENTENCE(parameters_are_refused_in_uris_to_which_they_do_not_belong)
{
	static const char *const of_sentinels[] = {"sentinel_user", "sentinel_password_file", "sentinel_password_env"};
	static const char *const of_tls[] = {"cafile", "cert", "key", "server_name", "verify"};
	static const char *const uris[][3] = { /* the logins of sentinels are for them; what to write, where TLS is wanted */
		{"redis://h?*=no", "redis+sentinel://|redis://", "rediss:// for redis://"},
		{"rediss://h?*=no", "redis+sentinel://|rediss://", NULL},
		{"unix:///a?*=no", "redis+sentinel://|unix://", "rediss://|socket"},
		{"redis+cluster://h?*=no", "redis+sentinel://|redis+cluster://", "rediss+cluster:// for redis+cluster://"},
		{"redis+quorum://a,b,c?*=no", "redis+sentinel://|redis+quorum://", "rediss+quorum:// for redis+quorum://"},
		{"redis+sentinel://h/m?*=no", NULL, "rediss+sentinel:// for redis+sentinel://"},
	};
	char words[128];

	for (size_t i = 0; i < COUNT(uris); i++) {
		for (size_t j = 0; uris[i][1] != NULL && j < COUNT(of_sentinels); j++) {
			snprintf(words, sizeof(words), "'%s'|%s", of_sentinels[j], uris[i][1]);
			refused_with(uris[i][0], of_sentinels[j], words);
		}
		for (size_t j = 0; uris[i][2] != NULL && j < COUNT(of_tls); j++) {
			snprintf(words, sizeof(words), "'%s'|TLS|%s", of_tls[j], uris[i][2]);
			refused_with(uris[i][0], of_tls[j], words);
		}
	}
}

/* ---- passwords from elsewhere ---- */

#define BYTES(literal) (literal), sizeof(literal) - 1

/* Without its last newline; what is none is named without its content. */
SENTENCE(a_password_comes_from_a_file)
{
	static const struct {
		const char *content;
		size_t n;
		const char *password; /* or "!", and words of the refusal */
	} cases[] = {
		{BYTES(SECRET "\n"), SECRET}, {BYTES(SECRET), SECRET}, {BYTES(" " SECRET " \n"), " " SECRET " "},
		{BYTES("x\ry"), "x\ry"}, {BYTES("%41"), "%41"}, {BYTES(""), "!empty"}, {BYTES("\n"), "!empty"},
		{BYTES(SECRET "\0\n"), "!NUL"}, {BYTES(SECRET "\0"), "!NUL"}, {BYTES(SECRET "\r\n"), "!CR LF"},
		{BYTES(SECRET "\r"), "!CR LF"}, {BYTES(SECRET "\n\n"), "!more than one line"},
		{BYTES(SECRET "\r\nx\r\n"), "!more than one line"}, {BYTES("\n" SECRET), "!more than one line"},
	};
	char text[1024], words[64];

	snprintf(text, sizeof(text), "redis://cache?password_file=%s/p%%20w@1&timeout=50", folder);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct lsh_uri uri;

		write_file("p w@1", cases[i].content, cases[i].n);
		if (cases[i].password[0] == '!') {
			snprintf(words, sizeof(words), "password_file|/p w@1|%s", cases[i].password + 1);
			refused(text, words);
			continue;
		}
		uri = understood(text);
		check_password(&uri, cases[i].password);
		check_described(&uri, "redis://cache:6379 timeout=50 file=$/p w@1");
		lsh_uri_clear(&uri);
	}
}

SENTENCE(a_file_is_read_each_time_and_its_password_is_not_kept)
{
	char text[1024], *read = "";
	struct lsh_uri uri;
	leash_error err;

	snprintf(text, sizeof(text), "redis://cache?password_file=%s", in_folder("renewed"));
	assert_int_equal(lsh_uri_parse(&uri, text, &err), LEASH_INVALID);
	assert_int_equal(err.sys_errno, ENOENT);
	write_file("renewed", "the first\n", 10);
	uri = understood(text);
	assert_null(uri.login.password);
	check_password(&uri, "the first");
	write_file("renewed", SECRET, strlen(SECRET));
	check_password(&uri, SECRET);
	write_file("renewed", "", 0);
	assert_int_equal(lsh_uri_read_password(&read, &uri, &err), LEASH_INVALID);
	assert_null(read);
	assert_non_null(strstr(err.text, "/renewed': empty"));
	assert_true(lsh_has_password(&uri.login));
	lsh_uri_clear(&uri);
}

SENTENCE(sentinels_have_a_login_of_their_own)
{
	char text[1024];
	struct lsh_uri one, uri;

	write_file("sentinel", "of the sentinels\n", 17);
	snprintf(text, sizeof(text), "redis+sentinel://app@a/main?sentinel_user=watch%%40er&sentinel_password_file=%s"
	         "&password_env=LEASH_TEST_PASSWORD", in_folder("sentinel"));
	uri = understood(text);
	check_described(&uri, "redis+sentinel://a:26379/main user=app password=" SECRET
	                " sentinel_user=watch@er sentinel_file=$/sentinel");
	assert_true(lsh_uri_of_sentinel(&one, &uri, 0));
	check_password(&one, "of the sentinels");
	write_file("sentinel", "renewed\n", 8);
	check_password(&one, "renewed");
	lsh_uri_clear(&one);
	assert_true(lsh_uri_of_server(&one, &uri, "b", 1));
	check_password(&one, SECRET);
	lsh_uri_clear(&one);
	lsh_uri_clear(&uri);
}

/* ---- one server of a deployment ---- */

/* Of a server; or of a sentinel, the `port`-th, where there is no host. */
static void
check_one(const char *text, const char *host, uint16_t port, const char *wanted)
{
	struct lsh_uri one, uri = understood(text);

	assert_true(host != NULL ? lsh_uri_of_server(&one, &uri, host, port) : lsh_uri_of_sentinel(&one, &uri, port));
	lsh_uri_clear(&uri); /* it is a copy */
	check_scheme(&one);
	check_described(&one, wanted);
	assert_true(host == NULL || strcmp(one.host, host) == 0);
	assert_null(one.master);
	lsh_uri_clear(&one);
}

SENTENCE(the_uri_of_a_server_is_that_of_a_single_one_with_the_rest_as_it_was)
{
	check_one("rediss+sentinel://app:" SECRET "@a,b/main/2?timeout=250&cafile=/ca&cert=/c&key=/k&server_name=n"
	          "&verify=no&scripts=preloaded&restart_guard=7&redirects=x,y&sentinel_user=z"
	          "&sentinel_password_env=LEASH_TEST_ODD", "10.0.0.9", 7001,
	          "rediss://10.0.0.9:7001/2 timeout=250 user=app password=" SECRET
	          " cafile=/ca cert=/c key=/k server_name=n redirects=x,y guard=7 unverified preloaded");
	check_one("redis+cluster://a", "fe80::1%eth0", 6379, "redis://[fe80::1%25eth0]:6379 host=fe80::1%eth0");
	check_one("redis+cluster://a", "ca\nche?#\x1b", 1, /* what a server says */
	          "redis://ca%0Ache%3F%23%1B:1 host=ca\nche?#\x1b");
}

SENTENCE(the_uri_of_a_sentinel_has_the_login_of_sentinels_and_no_database)
{
	static const char text[] = "rediss+sentinel://app:x@a,[::1]:7000/main/2?timeout=250&cafile=/ca"
				   "&sentinel_user=watcher&sentinel_password_env=LEASH_TEST_PASSWORD";

	check_one(text, NULL, 0, "rediss://a:26379 timeout=250 user=watcher password=" SECRET " cafile=/ca");
	check_one(text, NULL, 1, "rediss://[::1]:7000 timeout=250 user=watcher password=" SECRET " cafile=/ca");
	/* the servers' password is not shown to sentinels */
	check_one("redis+sentinel://app:" SECRET "@a/main", NULL, 0, "redis://a:26379");
}

SENTENCE(a_deployment_may_send_us_where_redirects_say)
{
	static const char *const allowed[] = {"10.0.0.1", "cache-a", "CACHE-A", "2001:db8::A", "2001:db8:0::a"};
	static const char *const others[] = {
		"10.0.0.10", "10.0.0.", "10.0.0.1,Cache-A", "cache-a.", "2001:db8::b", ",", "",
		"a", /* the list says it all */
	};
	struct lsh_uri uri = understood("redis+cluster://a?redirects=10.0.0.1,Cache-A,[2001:DB8::a]");

	for (size_t i = 0; i < COUNT(allowed); i++)
		assert_true(lsh_uri_allows(&uri, allowed[i]));
	for (size_t i = 0; i < COUNT(others); i++)
		assert_false(lsh_uri_allows(&uri, others[i]));
	lsh_uri_clear(&uri);
	uri = understood("redis+cluster://a");
	assert_true(lsh_uri_allows(&uri, "anywhere"));
	lsh_uri_clear(&uri);
}

/* ---- secrets and memory ---- */

static bool
any_of_secret(const void *bytes, size_t n)
{
	for (size_t i = 0; i + 5 <= strlen(SECRET); i++) {
		if (memmem(bytes, n, &SECRET[i], 5) != NULL)
			return true;
	}
	return false;
}

static bool
is_place(const struct lsh_uri *uri)
{
	for (size_t i = 0; i < uri->host_count; i++) {
		if (any_of_secret(uri->hosts[i].host, strlen(uri->hosts[i].host)))
			return true;
	}
	return uri->master != NULL && any_of_secret(uri->master, strlen(uri->master));
}

/* Whatever is typed wrongly, not even five letters of a secret are told. */
SENTENCE(no_mistyped_uri_tells_a_secret)
{
	static const char *const texts[] = {
		"redis://:" SECRET SECRET "@cache:7000/2?timeout=100",
		"redis://app:" SECRET SECRET "@cache?timeout=100",
		"redis://app:12" SECRET "@[::1]:7000/2",
		"redis://" SECRET ":x@cache",
		"unix://app:" SECRET "@/run/redis.sock?db=2",
		"unix://" SECRET "@/run/redis.sock?db=2",
		"rediss://app:" SECRET "@cache?verify=no",
		"redis+sentinel://app:" SECRET SECRET "@a:26379,b/main/2?scripts=sent",
		"redis+cluster://app:" SECRET "@[::1]:7000,b?redirects=a,[::1]",
		"rediss+quorum://:" SECRET SECRET "@a,b,c/2?restart_guard=100",
		"app:" SECRET "@cache",
	};
	static const char letters[] = "/?#@:&=%[]+- \n.,,12xA";
	uint32_t seed = 99;
	unsigned refusals = 0;

	for (int round = 0; round < 40000; round++) {
		char text[256];
		struct lsh_uri uri;
		leash_error err;

		memset(&err, 0, sizeof(err));
		strcpy(text, texts[(size_t)round % COUNT(texts)]);
		for (int i = 0; i < 1 + round / 8 % 3; i++) {
			size_t n = strlen(text), at;

			seed = seed * 1664525u + 1013904223u;
			at = (seed >> 16) % n;
			seed = seed * 1664525u + 1013904223u;
			if ((seed >> 28) < 4) { /* a letter is missing */
				memmove(text + at, text + at + 1, n - at);
				continue;
			}
			memmove(text + at + 1, text + at, n - at + 1);
			text[at] = letters[(seed >> 16) % (sizeof(letters) - 1)];
		}
		if (lsh_uri_parse(&uri, text, &err) == LEASH_OK) {
			/* where a secret happens to be the name of a host or a master it must be shown */
			if (any_of_secret(uri.shown, strlen(uri.shown)) && !is_place(&uri))
				fail_msg("%s: shown as %s", text, uri.shown);
			lsh_uri_clear(&uri);
		} else {
			refusals++;
		}
		if (any_of_secret(&err, sizeof(err)))
			fail_msg("%s: %s", text, err.text);
		if (secret_freed)
			fail_msg("%s: a secret was freed unwiped", text);
		assert_int_equal(blocks, 0);
	}
	assert_true(refusals > 10000);
}

static const struct lsh_uri nothing;

/* Of a failure before, nothing is left but so many blocks. */
static void
check_nothing(const struct lsh_uri *uri, size_t before)
{
	assert_memory_equal(uri, &nothing, sizeof(nothing));
	assert_int_equal(blocks, before);
	assert_false(secret_freed);
}

static const char all_of_it[] = "rediss+sentinel://" SECRET ":" SECRET "@a,[::1],c/main/2"
				"?sentinel_user=" SECRET "&sentinel_password_env=LEASH_TEST_PASSWORD"
				"&cafile=/ca&cert=/c&key=/k&server_name=n&redirects=x,y";

/* One of what can be made of a text; that fails at each allocation in turn. */
static struct lsh_uri
make_with_little_memory(bool (*make)(struct lsh_uri *out, const void *of), const void *of)
{
	const size_t before = blocks;
	struct lsh_uri uri;

	for (size_t failing = 1;; failing++) {
		bool made;

		until_failure = failing;
		made = make(&uri, of);
		until_failure = 0;
		if (made) {
			assert_true(failing > 1); /* what is shown, at least */
			return uri;
		}
		check_nothing(&uri, before);
	}
}

static bool
parse(struct lsh_uri *out, const void *text)
{
	leash_error err;
	leash_status st = lsh_uri_parse(out, text, &err);

	assert_true(st == LEASH_OK || (st == LEASH_NO_MEMORY && err.status == LEASH_NO_MEMORY));
	return st == LEASH_OK;
}

static bool
make_server(struct lsh_uri *out, const void *of)
{
	return lsh_uri_of_server(out, of, "b", 1);
}

static bool
make_sentinel(struct lsh_uri *out, const void *of)
{
	return lsh_uri_of_sentinel(out, of, 1);
}

SENTENCE(without_memory_nothing_is_left_behind)
{
	char from_file[1024];
	const char *const texts[] = {
		"redis://app:" SECRET "@cache:7000/2?timeout=100", "unix://" SECRET ":x@/run/redis.sock?db=2",
		"redis://app@[::1]?password_env=LEASH_TEST_PASSWORD", from_file, all_of_it,
	};

	snprintf(from_file, sizeof(from_file), "redis://app@cache?password_file=%s", in_folder("password"));
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct lsh_uri one, uri = make_with_little_memory(parse, texts[i]);

		for (int sentinel = 0; texts[i] == all_of_it && sentinel < 2; sentinel++) {
			const size_t before = blocks;

			one = make_with_little_memory(sentinel ? make_sentinel : make_server, &uri);
			assert_string_equal(one.login.password, SECRET);
			lsh_uri_clear(&one);
			check_nothing(&one, before);
		}
		lsh_uri_clear(&uri);
		check_nothing(&uri, 0);
	}
}

/* Whatever part is wrong, what was read before it is freed, and wiped. */
SENTENCE(a_uri_that_is_refused_at_its_end_leaves_nothing)
{
	static const char *const ends[] = {
		"&timeout=x", "&redirects=z", "&verify", "&sentinel_password_file=/none", "&", "&x=1", "&db=1",
	};
	char text[512];

	for (size_t i = 0; i < COUNT(ends); i++) {
		snprintf(text, sizeof(text), "%s%s", all_of_it, ends[i]);
		refused(text, "");
	}
}

SENTENCE(clearing_leaves_nothing_and_may_be_repeated)
{
	struct lsh_uri uri = nothing;

	lsh_uri_clear(&uri);
	uri = understood("redis://" SECRET ":" SECRET "@cache");
	lsh_uri_clear(&uri);
	check_nothing(&uri, 0);
	lsh_uri_clear(&uri);
	assert_int_equal(blocks, 0);
}
