/* What a call says that is made in a callback of leash. */
#ifndef LEASH_TEST_CALLBACK_H
#define LEASH_TEST_CALLBACK_H

#include <leash.h>

/* In one of `client`: of a lock of its that is lost. */
leash_status status_in_callback(leash_client *client, leash_status (*call)(void *), void *arg);

#endif
