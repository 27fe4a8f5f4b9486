/* The scripts, for administrators who load them beforehand. A talk with each server in turn: there is no hurry. */
#include "base/error.h"
#include "client/client.h"
#include "client/options.h"
#include "lua/scripts.h"
#include "redis/fault.h"
#include "redis/informant.h"

#include <leash/scripts.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool
leash_script_at(size_t i, leash_script *script)
{
	if (script == NULL || script->size < sizeof *script)
		return false;
	for (size_t n = 0; n <= i; n++)
		if (lsh_scripts[n] == NULL)
			return false;
	script->name = lsh_scripts[i]->name;
	script->sha1 = lsh_scripts[i]->sha1;
	script->text = lsh_scripts[i]->text;
	return true;
}

static leash_status
load(struct lsh_informant *talk, const struct lsh_uri *uri, const struct lsh_script *script, leash_error *err)
{
	struct lsh_arg words[] = {LSH_ARG("SCRIPT"), LSH_ARG("LOAD"), {script->text, script->size}};
	const struct redisReply *answer;
	leash_status status;
	struct lsh_item item;

	lsh_informant_send(talk, words, 3);
	status = lsh_talk_hear(talk, &answer, err);
	if (status != LEASH_OK)
		return status;
	item = lsh_answer_item(answer);
	if (item.type == LSH_ERROR)
		return lsh_fail(err, lsh_fault_status(lsh_fault_of(item.text)), 0,
		                "%.80s: script '%s' is not loaded: SCRIPT LOAD: %.100s", uri->shown, script->name, item.text);
	if (item.type != LSH_STRING || item.length != strlen(script->sha1) ||
	    strncasecmp(item.text, script->sha1, item.length) != 0)
		return lsh_fail(err, LEASH_PROTOCOL, 0,
		                "%.80s: script '%s': the answer is not what a Redis server sends to SCRIPT LOAD", uri->shown,
		                script->name);
	return LEASH_OK;
}

static leash_status
load_all(const struct lsh_uri *uri, const char *name, int64_t timeout, leash_error *err)
{
	struct lsh_informant *talk = NULL;
	leash_status status = lsh_talk_open(&talk, uri, LSH_WANT_SERVER, name, timeout, err);

	for (size_t i = 0; status == LEASH_OK && lsh_scripts[i] != NULL; i++)
		status = load(talk, uri, lsh_scripts[i], err);
	lsh_informant_free(talk);
	return status;
}

/* Into each server that the URI names; what is wrong with one keeps none of the others from having them. */
static leash_status
load_everywhere(const struct lsh_uri *uri, const char *name, int64_t timeout, leash_error *err)
{
	leash_status status = LEASH_OK;

	for (size_t i = 0; i < uri->host_count; i++) {
		struct lsh_uri server;
		leash_error trouble = {0};
		leash_status one;

		if (!lsh_uri_of_server(&server, uri, uri->hosts[i].host, uri->hosts[i].port))
			return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a connection");
		one = load_all(&server, name, timeout, &trouble);
		lsh_uri_clear(&server);
		if (one != LEASH_OK && status == LEASH_OK)
			status = lsh_fail(err, one, trouble.sys_errno, "%s", trouble.text);
	}
	return status;
}

static leash_status
load_scripts(const leash_options *options, leash_error *err)
{
	struct lsh_uri uri = {0};
	leash_options o;
	char name[80];
	leash_status status = lsh_options_read(&o, options, err);

	if (status == LEASH_OK)
		status = lsh_uri_parse(&uri, o.uri, err);
	if (status != LEASH_OK)
		return status;
	snprintf(name, sizeof name, "leash:%s", o.client_name != NULL ? o.client_name : "scripts");
	if (uri.deployment == LSH_SENTINEL)
		status = lsh_fail(err, LEASH_UNSUPPORTED, 0,
		                  "%.80s: load the scripts into the master and each replica: name each by redis://",
		                  uri.shown);
	else if (uri.deployment == LSH_SINGLE)
		status = load_all(&uri, name, lsh_timeout(&o, &uri), err);
	else
		status = load_everywhere(&uri, name, lsh_timeout(&o, &uri), err);
	lsh_uri_clear(&uri);
	return status;
}

leash_status
leash_scripts_load(const leash_options *options, leash_error *err)
{
	lsh_guarded();

	if (lsh_courier_in_callback(NULL))
		return lsh_fail(err, LEASH_IN_CALLBACK, 0,
		                "leash_scripts_load: this call may wait, and a leash callback must not wait");
	return load_scripts(options, err);
}
