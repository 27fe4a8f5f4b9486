#!/bin/sh
# The sentences of the scripted world notice what they are about: with a mutation of the library (lib/base/mutation.h)
# the one that is named fails.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

run() { # NUMBER
	LEASH_MUTATION=$1 CMOCKA_MESSAGE_OUTPUT=STDOUT "$build/tests/core/mutated" 2>&1
}
number_of() { # MUTATION
	grep -o '^	LSH_[A-Z_]*' "$source/lib/base/mutation.h" | grep -nx "	$1" | cut -d: -f1
}
none_fails() {
	run 0 >"$dir/out" || cat "$dir/out"
}
fails() { # MUTATION SENTENCE
	run $(($(number_of "$1") - 1)) | grep -qxF "[  FAILED  ] $2" || echo 'nobody notices it'
}

check 'no sentence fails without a mutation' none_fails
while read -r mutation sentence; do
	check "$mutation: $sentence" fails "$mutation" "$sentence"
done <<'END_OF_TABLE'
LSH_SENT_WORDS_COUNT a_heartbeat_that_is_not_answered_moves_nothing
LSH_CLAIMS_COUNT_FROM_NOW a_message_grants_what_is_waited_for_for_as_long_as_its_claim_counts
LSH_TOKENS_COME_BACK a_token_that_the_server_does_not_know_is_dead_and_the_wait_goes_on_with_another
LSH_REPEATED_ASKS_COUNT no_heartbeat_moves_the_claim_of_a_token_that_was_asked_for_twice
LSH_FIRST_CANCEL_IS_ENOUGH a_cancel_is_repeated_until_the_lost_request_cannot_be_executed_any_more
LSH_ASKS_LIVE_FOREVER a_request_does_nothing_after_the_deadline_of_who_made_it
LSH_GHOSTS_STAY a_grant_for_a_token_that_is_gone_is_canceled
LSH_REPLIES_COUNT a_lease_counts_from_when_it_was_asked_for
LSH_CLAIMS_LAST_A_LEASE a_grant_that_comes_in_front_of_the_answer_counts
LSH_WORDS_ARE_NOT_SAID an_answered_heartbeat_moves_on_what_a_claim_counts_from
LSH_RECONNECTS_ARE_IGNORED what_is_held_is_renewed_over_the_next_connection
LSH_CANCELS_ARE_NOT_SENT who_is_canceled_while_it_waits_leaves_the_queue
LSH_RENEWALS_GO_ON no_renewal_follows_a_release
LSH_SCRIPTS_ARE_THERE a_renewal_whose_script_is_not_there_brings_it
LSH_SILENCE_IS_BORNE a_connection_on_which_a_renewal_is_not_answered_for_a_quarter_of_its_lease_is_left
LSH_TRIES_ARE_FORGOTTEN a_release_whose_answer_was_lost_is_no_loss
LSH_RESTARTS_DO_NOT_COUNT after_a_restart_nothing_is_asked_for_while_its_guard_lasts
LSH_FENCES_STAND_STILL a_hand_off_within_the_process_sends_nothing_and_has_a_fence_of_its_own
LSH_ANSWERS_FIT_ANY_HOLD a_renewal_that_finds_nothing_takes_nothing_from_the_next_hold
END_OF_TABLE
finish
