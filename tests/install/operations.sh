#!/bin/sh
# docs/operations.md agrees with the source: it has every exit status and every event, and its alerts are on metrics that
# there are.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

cd "$source" || exit 1
page=docs/operations.md

first_column() { # of the tables of the page, a word each line
	sed -n 's/^| \([^|]*\) |.*/\1/p' "$page" | tr -d '`' | tr -s ', ' '\n' | sed 's/+N$//' | sort -u
}
has_every_exit_status() {
	sed -n 's/^[[:space:]]*EXIT_[A-Z_]* = \([1-9][0-9]*\),.*/\1/p' tools/command.h | sort >"$dir/exits"
	[ -s "$dir/exits" ] || echo 'no exit statuses in tools/command.h'
	first_column | comm -23 "$dir/exits" - | sed 's/^/no row for /'
}
has_every_event() {
	sed -n 's/^[[:space:]]*LEASH_EVENT_\([A-Z_]*\) = .*/\1/p' include/leash/event.h | sort >"$dir/events"
	[ -s "$dir/events" ] || echo 'no events in event.h'
	first_column | comm -23 "$dir/events" - | sed 's/^/no row for /'
}

# As lib/client/metrics.c names them, and the limits of its histograms, the powers of two of a nanosecond.
alerts_are_on_metrics() {
	sed -n 's/^[[:space:]]*METRIC("\([a-z_]*\)".*/leash_\1/p; s/.*{"\([a-z_]*_seconds\)".*/leash_\1_bucket/p
		s/.*put_head(page, "\([a-z_]*\)".*/leash_\1/p' lib/client/metrics.c | sort >"$dir/metrics"
	awk 'BEGIN { for (bits = 12; bits <= 41; bits++) printf "%.9f\n", 2 ^ bits / 1e9 }' | sort >"$dir/limits"
	sed -n '/^```yaml$/,/^```$/p' "$page" >"$dir/alerts"
	grep 'expr:' "$dir/alerts" | grep -oE 'leash_[a-z_]+' | sort -u >"$dir/used"
	[ "$(wc -l <"$dir/used")" -ge 5 ] || echo "few metrics in the alerts of $page"
	comm -23 "$dir/used" "$dir/metrics" | sed 's/^/no such metric: /'
	grep -oE 'le="[^"]*"' "$dir/alerts" | sed 's/^le="//; s/"$//' | sort -u | comm -23 - "$dir/limits" | sed 's/^/no such limit: /'
}

check 'docs/operations.md has every exit status of the command' has_every_exit_status
check 'it has every event' has_every_event
check 'its alerts are on metrics that leash writes' alerts_are_on_metrics
finish
