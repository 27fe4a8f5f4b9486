/* URIs: what is understood, what is refused and in which words, and that no secret gets out.
 *
 * Most of it is a table of texts: each is shown as what follows it, or refused. No test may leave a block of memory
 * behind, or the secret in one that it gave back. */
#include "redis/uri.h"

#include "tests/support/counted.h"
#include "tests/support/random.h"
#include "tests/support/sweep.h"
#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET "TOPSECRET"

static const struct lsh_uri nothing;

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
	static char longest[4098];

	counted_start();
	counted.secret = SECRET;
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
end(void)
{
	assert_int_equal(counted.blocks, 0);
	assert_false(counted.secret_freed);
}

FIXTURE(NULL, end);

/* `text`, in which a '$' is the folder, and "<a;b;c>" the i-th of those. How many those are, or 1. */
static int
expand(char out[static 16384], const char *text, int i)
{
	int count = 1, at = -1; /* within them: in which */

	for (; *text != '\0'; text++) {
		if (*text == '<')
			at = 0;
		else if (at >= 0 && *text == ';')
			count = ++at + 1;
		else if (*text == '>')
			at = -1;
		else if (at >= 0 && at != i)
			continue;
		else if (*text == '$')
			out = stpcpy(out, folder);
		else
			*out++ = *text;
	}
	*out = '\0';
	return count;
}

/* Where it leads, by its fields; as it is shown, but that no byte is escaped. */
static const char *
place(char out[static 16384], const struct lsh_uri *uri)
{
	static const char *const kinds[] = {[LSH_SENTINEL] = "+sentinel", [LSH_CLUSTER] = "+cluster",
	                                    [LSH_QUORUM] = "+quorum", [LSH_SINGLE] = ""};
	bool is_unix = uri->scheme == LSH_SCHEME_UNIX;
	char *end = out;

	end += sprintf(end, "%s%s%s://", is_unix ? "unix" : "redis", uri->tls.on ? "s" : "", kinds[uri->deployment]);
	for (size_t i = 0; i < uri->host_count; i++) {
		const struct lsh_endpoint *at = &uri->hosts[i];

		end += sprintf(end, strchr(at->host, ':') != NULL && !is_unix ? "%s[%s]" : "%s%s", i > 0 ? "," : "", at->host);
		if (!is_unix)
			end += sprintf(end, ":%u", at->port);
	}
	if (uri->master != NULL)
		end += sprintf(end, "/%s", uri->master);
	if (uri->db != 0)
		sprintf(end, is_unix ? "?db=%lld" : "/%lld", (long long)uri->db);
	return out;
}

/* What is shown, then the place, if its bytes are others, and all else that the URI holds. */
static const char *
described(char out[static 16384], const struct lsh_uri *uri)
{
	const struct {
		const char *name, *value;
	} texts[] = {
		{"user", uri->login.user}, {"password", uri->login.password}, {"file", uri->login.password_file},
		{"sentinel_user", uri->sentinel.user}, {"sentinel_password", uri->sentinel.password},
		{"sentinel_file", uri->sentinel.password_file}, {"cafile", uri->tls.cafile}, {"cert", uri->tls.cert},
		{"key", uri->tls.key}, {"server_name", uri->tls.server_name}, {"redirects", uri->redirects},
	};
	char where[16384], *end = stpcpy(out, uri->shown);

	if (strcmp(place(where, uri), uri->shown) != 0)
		end = stpcpy(stpcpy(end, " is "), where);
	if (uri->timeout_ms != 0)
		end += sprintf(end, " timeout=%lld", (long long)uri->timeout_ms);
	for (size_t i = 0; i < COUNT(texts); i++)
		if (texts[i].value != NULL)
			end += sprintf(end, " %s=%s", texts[i].name, texts[i].value);
	if (uri->restart_guard_ms != 0)
		end += sprintf(end, " guard=%lld", (long long)uri->restart_guard_ms);
	sprintf(end, "%s%s", uri->tls.unverified ? " unverified" : "", uri->preloaded ? " preloaded" : "");
	return out;
}

static void
check_described(const struct lsh_uri *uri, const char *wanted)
{
	char is[16384], expanded[16384];

	expand(expanded, wanted, 0);
	assert_string_equal(described(is, uri), expanded);
}

static struct lsh_uri
understood(const char *form)
{
	char text[16384];
	struct lsh_uri uri;
	leash_error err;

	expand(text, form, 0);
	memset(&err, 0xee, sizeof(err));
	leash_error before = err;
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

/* What is shown of it is printable, and a URI of the same place and of nothing else. Clearing it leaves nothing, and
 * may be repeated. */
static void
check_understood(const char *text, const char *wanted)
{
	struct lsh_uri uri = understood(text), again = understood(uri.shown);
	char is[16384], was[16384];

	check_described(&uri, wanted);
	for (const char *at = uri.shown; *at != '\0'; at++)
		assert_true(*at > ' ' && *at <= '~');
	assert_string_equal(again.shown, uri.shown);
	assert_string_equal(place(is, &again), place(was, &uri));
	assert_null(again.login.user);
	assert_false(lsh_has_password(&again.login));
	lsh_uri_clear(&again);
	for (int i = 0; i < 2; i++) {
		lsh_uri_clear(&uri);
		assert_memory_equal(&uri, &nothing, sizeof(uri));
	}
}

/* `words`: what the message must have in it, with a '|' between. */
static void
refused(const char *text, const char *words)
{
	struct lsh_uri uri;
	leash_error err;

	memset(&uri, 0xee, sizeof(uri));
	memset(&err, 0, sizeof(err));
	if (lsh_uri_parse(&uri, text, &err) == LEASH_OK)
		fail_msg("%s: understood", text);
	if (err.status != LEASH_INVALID)
		fail_msg("%s: %s: %s", text, leash_status_name(err.status), err.text);
	assert_int_equal(counted.blocks, 0);
	assert_memory_equal(&uri, &nothing, sizeof(uri));
	assert_false(counted.secret_freed);

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
	const char *texts;    /* with spaces between; both as expand() has them */
	const char *expected; /* as described() has it; or "!", and words of the refusal with a '|' between */
};

#define X3(text) text text text
#define X4(text) text text text text
#define X16(text) X4(X4(text))
#define X64(text) X4(X16(text))
#define X253(text) X3(X64(text)) X3(X16(text)) X3(X4(text)) text
#define X4096(text) X64(X64(text))

#define SCHEMES "redis://|rediss://|unix://|sentinel://|cluster://|quorum://"
#define MAIN "redis+sentinel://a:26379,b:26379/main"
#define HOSTS_16 "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p"
#define SHOWN_16(port) \
	"a:" port ",b:" port ",c:" port ",d:" port ",e:" port ",f:" port ",g:" port ",h:" port \
	",i:" port ",j:" port ",k:" port ",l:" port ",m:" port ",n:" port ",o:" port ",p:" port
#define OF_SENTINELS "<sentinel_user;sentinel_password_file;sentinel_password_env>"
#define OF_TLS "<cafile;cert;key;server_name;verify>"
#define NO_ESCAPE "<%;%4;%zz;%4g;%g4;%%41;%00;a%00b;%0;%-1>"
#define ALL_OF_IT \
	"rediss+sentinel://TOPSECRET:TOPSECRET@a,[::1],c/main/2?sentinel_user=TOPSECRET" \
	"&sentinel_password_env=LEASH_TEST_PASSWORD&cafile=/ca&cert=/c&key=/k&server_name=n&redirects=x,y"

static const struct row rows[] = {
	/* what is understood */
	{"redis://cache REDIS://cache:6379/", "redis://cache:6379"},
	{"redis://app:TOPSECRET@cache-1.example.com:7000/12?timeout=2500",
	 "redis://cache-1.example.com:7000/12 timeout=2500 user=app password=TOPSECRET"},
	{"Unix:///run/redis.sock unix:///run/redis.sock", "unix:///run/redis.sock"},
	{"redis://[<::1];::1]:7001/3;::ffff:10.0.0.1]/0>", "redis://[<::1]:6379;::1]:7001/3;::ffff:10.0.0.1]:6379>"},
	{"redis://:TOPSECRET@[2001:db8::2]:1", "redis://[2001:db8::2]:1 password=TOPSECRET"},
	{"redis://[fe80::1%25eth0]:6380", "redis://[fe80::1%25eth0]:6380 is redis://[fe80::1%eth0]:6380"},
	{"redis://h:<1/0;65535/16383>?timeout=<10;60000>", "redis://h:<1;65535/16383> timeout=<10;60000>"},
	{"redis://:TOPSECRET@cache", "redis://cache:6379 password=TOPSECRET"},
	/* the first ':' parts them */
	{"redis://a%40b%3a:p%2Fw%3f%23%20%25%c3%a9:\xc3\xa9!@cache",
	 "redis://cache:6379 user=a@b: password=p/w?# %\xc3\xa9:\xc3\xa9!"},
	{"unix://app:TOPSECRET@/run/a@b/redis%20%3F%25%23%01%C3%A9.sock?timeout=100&db=5",
	 "unix:///run/a@b/redis%20%3F%25%23%01%C3%A9.sock?db=5 is unix:///run/a@b/redis ?%#\x01\xc3\xa9.sock?db=5 "
	 "timeout=100 user=app password=TOPSECRET"},
	{"redis://u:TOPSECRET@[fe80::1%25eth0]/2",
	 "redis://[fe80::1%25eth0]:6379/2 is redis://[fe80::1%eth0]:6379/2 user=u password=TOPSECRET"},
	{"unix:///run/%25%3f%7f%ff.sock?db=2", "unix:///run/%25%3F%7F%FF.sock?db=2 is unix:///run/%?\x7f\xff.sock?db=2"},
	/* with its NUL it has 108 bytes */
	{"unix:///" X64("x") X16("x") X16("x") "xxxxxxxxxx", "unix:///" X64("x") X16("x") X16("x") "xxxxxxxxxx"},
	{"unix:///" X64("x") X16("x") X16("x") "xxxxxxxxxxx", "!path|socket"},

	/* passwords from elsewhere, which are taken as they are */
	{"unix://app@/run/redis.sock?password_file=$/password", "unix:///run/redis.sock user=app file=$/password"},
	{"redis://app@cache?password_env=LEASH_TEST_ODD", "redis://cache:6379 user=app password=TOPSECRET\n%41"},
	{"redis://:" X4096("p") "@h redis://h?password_env=LEASH_TEST_LONGEST", "redis://h:6379 password=" X4096("p")},
	{"redis://h?password_file=$/longest", "redis://h:6379 file=$/longest"},
	{"redis://" X4096("p") ":x@h", "redis://h:6379 user=" X4096("p") " password=x"},
	{"redis://:p" X4096("p") "@h redis://h?password_env=LEASH_TEST_TOO_LONG redis://h?password_file=$/too_long",
	 "!password|longer than 4096 bytes"},
	{"redis://p" X4096("p") ":x@h", "!user|longer than 4096 bytes"},
	{"redis://h?password_file=$/missing%0a", "!password_file '$/missing\\x0a': No such file or directory"},
	{"redis://h?password_file=<$;$/fifo;/dev/zero>", "!password_file '<$;$/fifo;/dev/zero>': not a regular file"},
	{"redis://h?password_file=" X64("/long"), "!password_file '/long/long|...': "},
	{"redis://h?password_env=LEASH_TEST_EMPTY", "!password_env|'LEASH_TEST_EMPTY' is empty"},
	{"<redis://h?;redis+sentinel://a/m?sentinel_>password_env=LEASH_TEST_NONE",
	 "!<;sentinel_>password_env|'LEASH_TEST_NONE' is not in the environment"},
	{"redis://h?password_env=<;1A;A-TOPSECRET;A%3DTOPSECRET;TOPSECRET%0a>", "!password_env|name of a variable"},

	/* what is refused */
	{"cache cache:6379 //cache /run/redis.sock app:TOPSECRET@cache redis<;:;:/;:cache;:/cache>",
	 "!scheme|missing|" SCHEMES},
	{"<;http;redi;rediss3;redis+;redis+sentinels;TOPSECRET;app:TOPSECRET@redis>://cache tcp://:TOPSECRET@cache "
	 "unixx:///a <redis+clusterr;rediss+quorums;redisss;unix+sentinel;redis+tls;redis+sentinel+cluster>://a",
	 "!scheme|not known|" SCHEMES},
	{"<redis://cache#x;redis://:#TOPSECRET@cache;unix:///run/redis.sock#>", "!byte <14;10;23>:|fragment|%23"},
	{"redis://<;/;/2;?timeout=100;:6379> redis://<:TOPSECRET@;:TOPSECRET@:6379;app:TOPSECRET@/2> "
	 "redis://:</;?>TOPSECRET@cache", "!host|missing|redis://cache:6379"},
	{"redis://<ca%63he;caf\xc3\xa9;TOPSECRET!;a*b;a];a+b;\"a\">", "!host|letters|IPv6|brackets"},
	{"redis://" X253("h"), "redis://" X253("h") ":6379"}, {"redis://h" X253("h"), "!host|longer than 253"},
	{"redis://::1", "!host|redis://cache:6379"},
	{"redis://<2001:db8::1;2001:db8::1:6379/0;fe80::1>", "!port|IPv6|brackets"},
	{"redis://[<::1;::1:6379/0;fe80::1%25a/b]>", "!host|'['|']'"}, {"redis://[::1]<6379;]>", "!host|':'|port|']'"},
	{"redis://[<;cache;127.0.0.1;::1::;:::1;[::1;%25eth0>] redis://[]:6379 "
	 "redis://[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000] redis://:TOPSECRET@[::g]",
	 "!host|brackets|not an IPv6 address"},
	{"redis://[fe80::1%<eth0;25;;25%00;25a*b;251234567890123456;2;35eth0>]", "!host|zone|%25eth0"},
	{"redis://cache:<;/0;0;65536;-1;+1;06379;6379x;0x1;1:2;99999999999999999999999;%31> redis://[::1]:<;0> "
	 "redis://a:1] redis://app:TOPSECRET<;/x@cache;?x@cache>", "!port|from 1 to 65535"},
	{"redis://cache/<x;16384;-1;+1;01;1/;1/2;/;/1;%31;1.0;TOPSECRET;99999999999999999999>",
	 "!database|from 0 to 16383|redis://cache:6379/2"},
	{"unix:///a?db=<;16384;x>", "!db: a database from 0 to 16383|?db=2"},
	{"redis://cache:6379?db=2", "!'db'|redis://cache:6379/2"}, {"redis://app<:1;>/TOPSECRET@cache", "!'/'|%2F"},
	{"redis://app:12?<TOPSECRET@cache;TOPSECRET=x@cache;a&TOPSECRET&x@cache;x=@&TOPSECRET>", "!'?'|%3F"},
	{"redis://@cache unix://@/run/redis.sock", "!user|before the '@'"},
	{"redis://TOPSECRET@cache unix://app@/run/redis.sock", "!password|missing|user|password_file|password_env"},
	{"redis://<app;>:@cache", "!password|empty"},
	{"<redis;unix>://app:TOPSECRET@x@<cache;/run/redis.sock>", "!'@'|%40"},
	{"unix://<;/;?db=1;app:TOPSECRET@>", "!path|missing|unix:///run/redis.sock"},
	{"unix://<;app:TOPSECRET@>run/redis.sock unix://app:TOPSECRET/x@/run/redis.sock",
	 "!host|third slash|unix:///run/redis.sock"},
	{"redis://h?timeout=<;9;60001;1s;0100;-1;1%30;18446744073709551716;100?> unix:///a?timeout=1e3",
	 "!timeout|from 10 to 60000"},
	{"redis://h?<;timeout=100&;&timeout=100;timeout=100&&>", "!parameters|empty"},
	{"rediss://h?<timeout;password_file;verify>", "!'<timeout;password_file;verify>'|no value"},
	/* the end of it is lost */
	{"redis://h?tiemout=100", "!'tiemout'|not known|timeout, password_file, password_env"},
	{"redis://h?<timeout=100&ssl=true;Timeout=100;password=TOPSECRET>", "!'<ssl;Timeout;password>'|not known"},
	{"unix:///a?dbb=1", "!'dbb'|not known|timeout, password_file, password_env, db"},
	{"redis://h?<;ti%6deout;a\x80;abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz>=1", "!parameters|not known"},
	{"redis://app?TOPSECRET", "!parameters|not known|%3F"},
	{"<unix:///a?db=1&timeout=100&db=2;redis://h?timeout=100&timeout=100;rediss://h?verify=no&verify=yes>",
	 "!'<db;timeout;verify>'|twice"},
	{"redis://h?password_<env=LEASH_TEST_ODD&password_env=x;file=$/password&password_file=$/password>",
	 "!'password_<env;file>'|twice"},
	{"redis://:TOPSECRET@h?password_env=LEASH_TEST_PASSWORD redis://app:TOPSECRET@h?password_file=/missing "
	 "redis://h?password_env=LEASH_TEST_PASSWORD&password_file=$/password "
	 "redis://h?password_file=$/password&password_env=LEASH_TEST_PASSWORD", "!password|twice"},

	/* deployments */
	{"rediss://a REDISS://a", "rediss://a:6379"}, {"redis+sentinel://a/m", "redis+sentinel://a:26379/m"},
	{"rediss+sentinel://a,b/m ReDiSS+Sentinel://a,b/m", "rediss+sentinel://a:26379,b:26379/m"},
	{"redis+cluster://a<;/;/0> REDIS+CLUSTER://a", "redis+cluster://a:6379"},
	{"rediss+cluster://a,b", "rediss+cluster://a:6379,b:6379"},
	{"redis+quorum://a,b,c<;/> redis+QUORUM://a,b,c", "redis+quorum://a:6379,b:6379,c:6379"},
	{"rediss+quorum://a,b,c", "rediss+quorum://a:6379,b:6379,c:6379"},
	{"redis+sentinel://a,b:1,[fe80::1%25eth0]:2/the%2Dmain.one_2/3?timeout=100",
	 "redis+sentinel://a:26379,b:1,[fe80::1%25eth0]:2/the-main.one_2/3 "
	 "is redis+sentinel://a:26379,b:1,[fe80::1%eth0]:2/the-main.one_2/3 timeout=100"},
	{"rediss+cluster://:TOPSECRET@[::1]:7000,[::1]:7001/0?redirects=10.0.0.1",
	 "rediss+cluster://[::1]:7000,[::1]:7001 password=TOPSECRET redirects=10.0.0.1"},
	{"redis+quorum://a,b,[2001:db8::1]/5", "redis+quorum://a:6379,b:6379,[2001:db8::1]:6379/5"},
	{"redis://a,b rediss://a:1,b:2/0 redis://app:TOPSECRET@a,b",
	 "!host|','|redis+sentinel://|redis+cluster://|redis+quorum://"},
	{"redis+cluster://app:p,w@a,b.example.com:7000,[::1],[fe80::1]:7001,10.0.0.1",
	 "redis+cluster://a:6379,b.example.com:7000,[::1]:6379,[fe80::1]:7001,10.0.0.1:6379 user=app password=p,w"},
	{"redis+cluster://<;:TOPSECRET@>", "!host 1: missing|'<://'|redis+cluster://a:6379,b:6379;@'>"},
	{"redis+sentinel:///m", "!host 1: missing|" MAIN},
	{"redis+quorum://?timeout=100", "!host 1: missing|redis+quorum://a:6379,b:6379,c:6379"},
	{"redis+cluster://<,a;a,,b;a,::1;a,b,:7000>", "!host <1;2;2;3>: missing"},
	{"redis+cluster://a,", "!host 2: missing|the ','"},
	{"redis+cluster://a,<b*;2001:db8::1;[::1]1;[::g];[::1%eth0]>",
	 "!host 2: |<letters;port: ;':'|port|']';not an IPv6 address;zone|%25eth0>"},
	{"redis+cluster://a<,b:0;:,b;,b,c:65536>", "!host <2;1;3>: port: |from 1 to 65535"},
	{"redis+cluster://<a,[::1;[a,b]>", "!host <2;1>: |'['|']'"},
	{"redis+sentinel://app:TOPSECRET@a,b!/m redis+cluster://app:12,TOPSECRET!/x@a", "!host 2: |letters"},
	{"redis+cluster://app:TOPSECRET,b", "!host 1: port|'/' is written %2F"},
	{"redis+cluster://app<:12,;/>TOPSECRET</x;>@a redis+quorum://a,b,c/TOPSECRET@d", "!database|'@'|%2F"},
	{"redis+cluster://u:p@a,u:TOPSECRET@b", "!more than one '@'|before a list of hosts they stand once"},
	{"redis+cluster://a," X253("h"), "redis+cluster://a:6379," X253("h") ":6379"},
	{"redis+cluster://a,h" X253("h"), "!host 2: |longer than 253"},
	{"redis+quorum://a,b,a", "!host 3: the same as host 1|once"},
	{"redis+quorum://a,<b:6379,B;[::1],[0:0:0::0:1]:6379;[2001:DB8::a],[2001:db8::A]>", "!host 3: the same as host 2"},
	{"redis+cluster://a:1,a:1 redis+sentinel://a,a:26379/m redis+cluster://[fe80::1%25eth0],[fe80::1%25eth0]",
	 "!host 2: the same as host 1"},
	{"redis+quorum://a:1,a:2,a:3", "redis+quorum://a:1,a:2,a:3"},
	{"redis+cluster://[fe80::1%25eth0],[fe80::1%25eth1],[fe80::1]",
	 "redis+cluster://[fe80::1%25eth0]:6379,[fe80::1%25eth1]:6379,[fe80::1]:6379 "
	 "is redis+cluster://[fe80::1%eth0]:6379,[fe80::1%eth1]:6379,[fe80::1]:6379"},
	{"redis+sentinel://a:6379,a/m", "redis+sentinel://a:6379,a:26379/m"},
	{"redis+cluster://" HOSTS_16, "redis+cluster://" SHOWN_16("6379")},
	{"rediss+sentinel://" HOSTS_16 "/m", "rediss+sentinel://" SHOWN_16("26379") "/m"},
	{"redis+cluster://" HOSTS_16 ",q rediss+sentinel://" HOSTS_16 ",q/m", "!hosts: more than 16|enough"},
	{"redis<;s>+quorum://a", "!hosts: 1, but a quorum has 3, 5 or 7|a single server|redis<;s>://"},
	{"redis+quorum://a,b<;,c,d;,c,d,e,f>", "!hosts: <2;4;6>, but|an even number survives no more failures|3, 5 or 7"},
	{"redis+quorum://a:1,b:1,c:1,d:1,e:1<;,f:1,g:1>", "redis+quorum://a:1,b:1,c:1,d:1,e:1<;,f:1,g:1>"},
	{"redis+quorum://<a,b,c,d,e,f,g,h;a,b,c,d,e,f,g,h,i;" HOSTS_16 ";" HOSTS_16 ",q>", "!hosts: more than 7|3, 5 or 7"},
	{"redis+quorum://app:TOPSECRET@a:1,b:2,c:3/16383?restart_guard=86400000",
	 "redis+quorum://a:1,b:2,c:3/16383 user=app password=TOPSECRET guard=86400000"},
	{"redis+quorum://a,b,c/<16384;main>", "!database|from 0 to 16383|redis+quorum://a:6379,b:6379,c:6379/2"},
	{"redis+quorum://a,b/TOPSECRET@c,d", "!hosts: 2, but"},
	{"redis+cluster://a/0?timeout=100", "redis+cluster://a:6379 timeout=100"},
	{"redis+cluster://<a/1;a,b/16383;a/00;a/main;a//0;a/0/>", "!database|a cluster has only database 0"},
	{"redis+cluster://a?db=0", "!'db'|a cluster has only database 0"},
	{"redis+sentinel://a/main<;/;/0>", "redis+sentinel://a:26379/main"},
	{"redis+sentinel://a/<main/16383;%4d-1._x;5;./2>", "redis+sentinel://a:26379/<main/16383;M-1._x;5;./2>"},
	{"redis+sentinel://a/" X64("m") X64("m"), "redis+sentinel://a:26379/" X64("m") X64("m")},
	{"redis+sentinel://a/m" X64("m") X64("m"), "!master|1 to 128"},
	{"redis+sentinel://a<;/;,b:1?timeout=100;//2;//>", "!master: missing|" MAIN},
	{"redis+sentinel://a/<ma%20in;ma%2Fin;m\xc3\xa4in;main:1;ma,in;main%0a;TOPSECRET!>",
	 "!master|1 to 128 letters, digits|" MAIN},
	{"redis+sentinel://a/<%zz;m%00>", "!master|%25"}, {"redis+sentinel://app:TOPSECRET/x@a/m", "!host 1: port"},
	{"redis+sentinel://app/TOPSECRET@a/m", "!master|'@'|%2F"},
	{"redis+sentinel://a/main/<x;2/>", "!database|from 0 to 16383|" MAIN "/2"},
	{"redis+sentinel://a/main?db=2", "!'db'|follows the master|main/2"},
	{"redis+sentinel://a/m?sentinel_user=<;%zz>", "!sentinel_user|<empty;%25>"},
	{"redis+sentinel://a/m?sentinel_user=x", "!sentinel password|missing|sentinel_password_file|sentinel_password_env"},
	{"redis+sentinel://a/m?sentinel_password=TOPSECRET", "!'sentinel_password'|not known|sentinel_password_file"},
	{"redis+sentinel://a/m?sentinel_password_env=A-TOPSECRET",
	 "!sentinel_password_env|name of a variable|?sentinel_password_env="},
	{"<redis://h?;redis+sentinel://a/m?sentinel_>password_file=", "!<;sentinel_>password_file|empty|path"},
	{"redis+sentinel://a/m?sentinel_password_file=<$/empty;$/none;/dev/zero>",
	 "!sentinel_password_file '<$/empty': empty;$/none': No such file;/dev/zero'|not a regular file>"},
	{"redis+sentinel://a/m?sentinel_password_env=LEASH_TEST_PASSWORD&sentinel_password_file=$/password "
	 "redis+sentinel://a/m?sentinel_password_file=$/password&sentinel_password_env=LEASH_TEST_PASSWORD",
	 "!sentinel password: given twice"},
	{"redis+sentinel://a/m?sentinel_user=u" X4096("u") "&sentinel_password_env=LEASH_TEST_PASSWORD",
	 "!sentinel_user|longer than 4096 bytes"},
	{"rediss+sentinel://:x@a/main?sentinel_password_env=LEASH_TEST_PASSWORD",
	 "rediss+sentinel://a:26379/main password=x sentinel_password=TOPSECRET"},
	{"redis+sentinel://app:TOPSECRET@a/main", "redis+sentinel://a:26379/main user=app password=TOPSECRET"},

	/* TLS */
	{"rediss://h?cafile=/etc/c%20a.pem&cert=c.pem&key=/k%3F.pem&server_name=%63ache.example.com&verify=no",
	 "rediss://h:6379 cafile=/etc/c a.pem cert=c.pem key=/k?.pem server_name=cache.example.com unverified"},
	{"rediss+sentinel://h/m?verify=yes", "rediss+sentinel://h:26379/m"},
	{"rediss://h?verify=<;No;false;0;none;off;%6eo;no%20;nono;n>", "!verify|'yes' or 'no'"},
	{"rediss://h?cert=/c.pem rediss+cluster://h?cert=/c.pem&cafile=/ca.pem", "!key|missing|&key="},
	{"rediss://h?key=/k.pem", "!cert|missing|&cert="},
	{"rediss://h?<cafile=;cert=&key=a;cert=a&key=>", "!<cafile;cert;key>|empty|<?cafile=;path;path>"},
	{"rediss://h?<cafile=%zz;cert=%00;key=%4;server_name=%g0>", "!<cafile;cert;key;server_name>|%25"},
	{"rediss://h?server_name=<;*.example.com;a:6379;a%0a;a/b>", "!server_name|name of a host"},
	{"rediss://h?server_name=" X253("n"), "rediss://h:6379 server_name=" X253("n")},
	{"rediss://h?server_name=n" X253("n"), "!server_name|name of a host"},

	/* parameters of deployments */
	{"<redis://a;rediss://a;unix:///a;redis+sentinel://a/m>?scripts=preloaded&restart_guard=1",
	 "<redis://a:6379;rediss://a:6379;unix:///a;redis+sentinel://a:26379/m> guard=1 preloaded"},
	{"redis+quorum://a,b,c?scripts=preloaded&restart_guard=1", "redis+quorum://a:6379,b:6379,c:6379 guard=1 preloaded"},
	{"redis+cluster://a?scripts=<sent&restart_guard=86400000;preloaded>",
	 "redis+cluster://a:6379 <guard=86400000;preloaded>"},
	{"redis://h?scripts=<;yes;Preloaded;preloade;preloadedx;send;sent,preloaded>", "!scripts|'preloaded' or 'sent'"},
	{"redis://h?restart_guard=<;0;86400001;-1;030;30s> "
	 "redis+quorum://a,b,c?restart_guard=<1e3;18446744073709551617>", "!restart_guard|from 1 to 86400000"},
	{"redis+cluster://a?redirects=cache-a", "redis+cluster://a:6379 redirects=cache-a"},
	{"redis+sentinel://a/m?redirects=10.0.0.1,Cache_B.example.com",
	 "redis+sentinel://a:26379/m redirects=10.0.0.1,Cache_B.example.com"},
	{"rediss+cluster://a?redirects=[::1],::2,a,[fe80::1%25eth0]",
	 "rediss+cluster://a:6379 redirects=[::1],::2,a,[fe80::1%eth0]"},
	{"rediss+sentinel://a/m?redirects=%5b::1%5D%2cb", "rediss+sentinel://a:26379/m redirects=[::1],b"},
	{"redis+cluster://a?redirects=a<;,[::1]>:6379", "!redirects: host <1;2>: |without a port"},
	{"redis+cluster://a?redirects=<;,;[::1;[a];[];::g;fe80::1%25;fe80::1%25a*>", "!redirects: host 1: "},
	{"redis+cluster://a?redirects=a,<;,b;TOPSECRET*;b,c%20>", "!redirects: host <2;2;2;3>: "},
	{"redis+cluster://a?redirects=%zz", "!redirects: a '%'|%25"},
	{"redis://a?redirects=b", "!'redirects'|redis+sentinel://|redis+cluster://|leave it out of a redis:// URI"},
	{"<unix:///a;rediss+quorum://a,b,c>?redirects=b", "!'redirects'|leave it out of a <unix;rediss+quorum>:// URI"},
	{"redis+cluster://a?nodes=3",
	 "!'nodes'|there are timeout, password_file, password_env, redirects, scripts, restart_guard"},
	{"rediss+quorum://a,b,c?tls=1", "!'tls'|there are timeout, password_file, password_env, cafile, cert, key, "
	 "server_name, verify, scripts, restart_guard"},
	/* the longest there are */
	{"rediss+sentinel://a/m?abcdefghijklmnopqrstuvwxyz-12345=1",
	 "!'abcdefghijklmnopqrstuvwxyz-12345'|sentinel_user, sentinel_password_file, sentinel_password_env, "
	 "redirects, scripts, restart_guard"},
	{"rediss+sentinel://a/m?x*=1", "!parameters|%3F|restart_guard"},

	/* parameters where they do not belong */
	{"redis://h?" OF_SENTINELS "=no", "!'" OF_SENTINELS "'|redis+sentinel://|redis://"},
	{"rediss://h?" OF_SENTINELS "=no", "!'" OF_SENTINELS "'|redis+sentinel://|rediss://"},
	{"unix:///a?" OF_SENTINELS "=no", "!'" OF_SENTINELS "'|redis+sentinel://|unix://"},
	{"redis+cluster://h?" OF_SENTINELS "=no", "!'" OF_SENTINELS "'|redis+sentinel://|redis+cluster://"},
	{"redis+quorum://a,b,c?" OF_SENTINELS "=no", "!'" OF_SENTINELS "'|redis+sentinel://|redis+quorum://"},
	{"redis://h?" OF_TLS "=no", "!'" OF_TLS "'|TLS|rediss:// for redis://"},
	{"unix:///a?" OF_TLS "=no", "!'" OF_TLS "'|TLS|rediss://|socket"},
	{"redis+sentinel://h/m?" OF_TLS "=no", "!'" OF_TLS "'|TLS|rediss+sentinel:// for redis+sentinel://"},
	{"redis+cluster://h?" OF_TLS "=no", "!'" OF_TLS "'|TLS|rediss+cluster:// for redis+cluster://"},
	{"redis+quorum://a,b,c?" OF_TLS "=no", "!'" OF_TLS "'|TLS|rediss+quorum:// for redis+quorum://"},

	/* escapes that are none */
	{"redis://" NO_ESCAPE ":TOPSECRET@cache", "!user|%25"},
	{"redis://app:TOPSECRET" NO_ESCAPE "@cache", "!password|%25"}, {"unix:///run/" NO_ESCAPE, "!path|%25"},
	{"redis://cache?password_file=/run/" NO_ESCAPE, "!password_file|%25"},
	{"redis://cache?password_env=" NO_ESCAPE, "!password_env|%25"},

	/* whatever part is wrong, what was read before it is freed, and wiped */
	{ALL_OF_IT "&<timeout=x;redirects=z;verify;sentinel_password_file=/none;;x=1;db=1>", "!"},
};

SENTENCE(each_uri_is_understood_or_refused_with_its_reason_and_cleared)
{
	char texts[16384], text[16384], expected[16384];

	for (const struct row *row = rows; row < rows + COUNT(rows); row++) {
		char *rest = strcpy(texts, row->texts);

		for (char *form; (form = strsep(&rest, " ")) != NULL;) {
			for (int i = 0, count = 1; i < count; i++) {
				count = expand(text, form, i);
				expand(expected, row->expected, i);
				if (expected[0] == '!')
					refused(text, expected + 1);
				else
					check_understood(text, expected);
			}
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
	refused("redis://:TOPSECRET\t@cache", "byte 19:|control");
	refused("redis://cac\x7fhe", "byte 12:|control");
	refused("unix:///run/\x01x", "byte 13:|control");
	refused("redis+cluster://a,b c", "byte 20:");
}

SENTENCE(every_byte_but_nul_may_be_in_a_password)
{
	char text[1024] = "redis://:", wanted[256];

	for (unsigned c = 1; c < 256; c++) {
		snprintf(text + strlen(text), 4, c % 2 == 0 ? "%%%02x" : "%%%02X", c);
		wanted[c - 1] = (char)c;
	}
	wanted[255] = '\0';
	strcat(text, "@h");
	struct lsh_uri uri = understood(text);
	assert_string_equal(uri.login.password, wanted);
	lsh_uri_clear(&uri);
}

#define BYTES(literal) (literal), sizeof(literal) - 1

/* Without its last newline; what is none is named without its content. */
SENTENCE(a_password_comes_from_a_file)
{
	static const struct {
		const char *content;
		size_t n;
		const char *password; /* or "!", and words of the refusal */
	} cases[] = {
		{BYTES(SECRET "\n"), SECRET}, {BYTES(SECRET), SECRET}, {BYTES(" TOPSECRET \n"), " TOPSECRET "},
		{BYTES("x\ry"), "x\ry"}, {BYTES("%41"), "%41"}, {BYTES(""), "!empty"}, {BYTES("\n"), "!empty"},
		{BYTES(SECRET "\0\n"), "!NUL"}, {BYTES(SECRET "\0"), "!NUL"}, {BYTES(SECRET "\r\n"), "!CR LF"},
		{BYTES(SECRET "\r"), "!CR LF"}, {BYTES(SECRET "\n\n"), "!more than one line"},
		{BYTES(SECRET "\r\nx\r\n"), "!more than one line"}, {BYTES("\n" SECRET), "!more than one line"},
	};
	char text[16384], words[64];

	expand(text, "redis://cache?password_file=$/p%20w@1&timeout=50", 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		write_file("p w@1", cases[i].content, cases[i].n);
		if (cases[i].password[0] == '!') {
			snprintf(words, sizeof(words), "password_file|/p w@1|%s", cases[i].password + 1);
			refused(text, words);
			continue;
		}
		struct lsh_uri uri = understood(text);
		check_password(&uri, cases[i].password);
		check_described(&uri, "redis://cache:6379 timeout=50 file=$/p w@1");
		lsh_uri_clear(&uri);
	}
}

SENTENCE(a_file_is_read_each_time_and_its_password_is_not_kept)
{
	char text[16384], *read = "";
	struct lsh_uri uri;
	leash_error err;

	expand(text, "redis://cache?password_file=$/renewed", 0);
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
	struct lsh_uri one, uri;

	write_file("sentinel", "of the sentinels\n", 17);
	uri = understood("redis+sentinel://app@a/main?sentinel_user=watch%40er&sentinel_password_file=$/sentinel"
	                 "&password_env=LEASH_TEST_PASSWORD");
	check_described(&uri, "redis+sentinel://a:26379/main user=app password=TOPSECRET "
	                "sentinel_user=watch@er sentinel_file=$/sentinel");
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

/* Of a server; or of a sentinel, the `port`-th, where there is no host. */
static void
check_one(const char *text, const char *host, uint16_t port, const char *wanted)
{
	struct lsh_uri one, uri = understood(text);

	assert_true(host != NULL ? lsh_uri_of_server(&one, &uri, host, port) : lsh_uri_of_sentinel(&one, &uri, port));
	lsh_uri_clear(&uri); /* it is a copy */
	check_described(&one, wanted);
	assert_true(host == NULL || strcmp(one.host, host) == 0);
	assert_null(one.master);
	lsh_uri_clear(&one);
}

SENTENCE(the_uri_of_a_server_is_that_of_a_single_one_with_the_rest_as_it_was)
{
	check_one("rediss+sentinel://app:TOPSECRET@a,b/main/2?timeout=250&cafile=/ca&cert=/c&key=/k&server_name=n"
	          "&verify=no&scripts=preloaded&restart_guard=7&redirects=x,y&sentinel_user=z"
	          "&sentinel_password_env=LEASH_TEST_ODD", "10.0.0.9", 7001,
	          "rediss://10.0.0.9:7001/2 timeout=250 user=app password=TOPSECRET "
	          "cafile=/ca cert=/c key=/k server_name=n redirects=x,y guard=7 unverified preloaded");
	check_one("redis+cluster://a", "fe80::1%eth0", 6379,
	          "redis://[fe80::1%25eth0]:6379 is redis://[fe80::1%eth0]:6379");
	check_one("redis+cluster://a", "ca\nche?#\x1b", 1, /* what a server says */
	          "redis://ca%0Ache%3F%23%1B:1 is redis://ca\nche?#\x1b:1");
}

SENTENCE(the_uri_of_a_sentinel_has_the_login_of_sentinels_and_no_database)
{
	static const char text[] = "rediss+sentinel://app:x@a,[::1]:7000/main/2?timeout=250&cafile=/ca"
				   "&sentinel_user=watcher&sentinel_password_env=LEASH_TEST_PASSWORD";

	check_one(text, NULL, 0, "rediss://a:26379 timeout=250 user=watcher password=TOPSECRET cafile=/ca");
	check_one(text, NULL, 1, "rediss://[::1]:7000 timeout=250 user=watcher password=TOPSECRET cafile=/ca");
	/* the servers' password is not shown to sentinels */
	check_one("redis+sentinel://app:TOPSECRET@a/main", NULL, 0, "redis://a:26379");
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

static bool
any_of_secret(const void *bytes, size_t n)
{
	for (size_t i = 0; i + 5 <= strlen(SECRET); i++)
		if (memmem(bytes, n, &SECRET[i], 5) != NULL)
			return true;
	return false;
}

/* Whatever is typed wrongly, not even five letters of a secret are told. */
SENTENCE(no_mistyped_uri_tells_a_secret)
{
	static const char *const texts[] = {
		"redis://:TOPSECRETTOPSECRET@cache:7000/2?timeout=100", "redis://app:TOPSECRETTOPSECRET@cache?timeout=100",
		"redis://app:12TOPSECRET@[::1]:7000/2", "redis://TOPSECRET:x@cache", "rediss://app:TOPSECRET@cache?verify=no",
		"unix://app:TOPSECRET@/run/redis.sock?db=2", "unix://TOPSECRET@/run/redis.sock?db=2", "app:TOPSECRET@cache",
		"redis+sentinel://app:TOPSECRETTOPSECRET@a:26379,b/main/2?scripts=sent",
		"redis+cluster://app:TOPSECRET@[::1]:7000,b?redirects=a,[::1]",
		"rediss+quorum://:TOPSECRETTOPSECRET@a,b,c/2?restart_guard=100",
	};
	static const char letters[] = "/?#@:&=%[]+- \n.,,12xA";
	uint64_t seed = 99;
	unsigned refusals = 0;

	for (int round = 0; round < 40000; round++) {
		char text[256], where[16384];
		struct lsh_uri uri;
		leash_error err;

		memset(&err, 0, sizeof(err));
		strcpy(text, texts[(size_t)round % COUNT(texts)]);
		for (int i = 0; i < 1 + round / 8 % 3; i++) {
			size_t n = strlen(text), at = random_below(&seed, (uint32_t)n);
			bool missing = random_below(&seed, 4) == 0; /* a letter of it, or else there is one too many */

			memmove(text + at + !missing, text + at + missing, n - at + !missing);
			if (!missing)
				text[at] = letters[random_below(&seed, sizeof(letters) - 1)];
		}
		if (lsh_uri_parse(&uri, text, &err) == LEASH_OK) {
			/* where a secret happens to be the name of a host or a master it must be shown */
			place(where, &uri);
			if (any_of_secret(uri.shown, strlen(uri.shown)) && !any_of_secret(where, strlen(where)))
				fail_msg("%s: shown as %s", text, uri.shown);
			lsh_uri_clear(&uri);
		} else {
			refusals++;
		}
		if (any_of_secret(&err, sizeof(err)))
			fail_msg("%s: %s", text, err.text);
		if (counted.secret_freed)
			fail_msg("%s: a secret was freed unwiped", text);
		assert_int_equal(counted.blocks, 0);
	}
	assert_true(refusals > 10000);
}

/* It, and a server and a sentinel of it; what fails leaves nothing behind. */
static bool
make_all(const char *text)
{
	struct lsh_uri uri, one;
	leash_error err;
	leash_status st = lsh_uri_parse(&uri, text, &err);
	bool made = st == LEASH_OK;

	assert_true(made || (st == LEASH_NO_MEMORY && err.status == LEASH_NO_MEMORY));
	for (int sentinel = 0; made && uri.deployment == LSH_SENTINEL && sentinel < 2; sentinel++) {
		made = sentinel ? lsh_uri_of_sentinel(&one, &uri, 1) : lsh_uri_of_server(&one, &uri, "b", 1);
		assert_true(made ? strcmp(one.login.password, SECRET) == 0 : memcmp(&one, &nothing, sizeof(one)) == 0);
		lsh_uri_clear(&one);
	}
	if (st == LEASH_OK)
		lsh_uri_clear(&uri);
	assert_memory_equal(&uri, &nothing, sizeof(uri));
	end();
	return made;
}

SENTENCE(without_memory_nothing_is_left_behind)
{
	static const char *const forms[] = {
		"redis://app:TOPSECRET@cache:7000/2?timeout=100", "unix://TOPSECRET:x@/run/redis.sock?db=2",
		"redis://app@[::1]?password_env=LEASH_TEST_PASSWORD", "redis://app@cache?password_file=$/password", ALL_OF_IT,
	};

	for (size_t i = 0; i < COUNT(forms); i++) {
		char text[16384];
		long failing = 0;

		expand(text, forms[i], 0);
		do {
			counted.calls = 0;
			counted.fail_at = ++failing;
		} while (!make_all(text));
		assert_int_equal(counted.calls, failing - 1);
		assert_true(failing > 2);
	}
	counted.fail_at = 0;
}
