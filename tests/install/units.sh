#!/bin/sh
# The unit files in examples/systemd are such that systemd takes them, and their command lines such that leash does.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

leash=$build/tools/leash
units=$dir/units
mkdir "$units"

# As they are on a machine that has leash and what they run.
for file in "$source"/examples/systemd/*.service "$source"/examples/systemd/*.timer; do
	sed -e "s|^ExecStart=leash |ExecStart=$leash |" -e 's|/usr/local/bin/.*|/bin/true|' "$file" >"$units/${file##*/}"
done

systemd_takes_them() {
	[ -e "$units/leash@.service" ] || echo 'no units'
	cp "$units/leash@.service" "$units/leash@backup.service"
	SYSTEMD_UNIT_PATH=$units: systemd-analyze verify --man=no "$units"/leash@backup.service "$units"/leader.service \
		"$units"/job.service "$units"/job.timer
}

# The words of a unit with what systemd puts in for %i and %H; --at-least would take its time.
leash_takes_them() {
	for file in "$units"/leash@.service "$units"/leader.service "$units"/job.service; do
		words=$(sed -n -e 's/%[iH]/here/g' -e 's/--at-least 1m/--at-least 1ms/' \
			-e "s|--log=journald|--log=journald:$dir/none|" -e 's/^ExecStart=//p' "$file")
		# shellcheck disable=SC2086 # words
		LEASH_CONFIG='' LEASH_URI=unix://$dir/redis.sock $words || echo "${file##*/}: status $?: $words"
	done
}

if [ ! -e "$leash" ]; then
	skip 'systemd takes the units' 'no command is built'
elif command -v systemd-analyze >/dev/null; then
	check 'systemd takes the units' systemd_takes_them
else
	skip 'systemd takes the units' 'no systemd-analyze'
fi
if [ -e "$leash" ] && start_redis; then
	check 'leash takes their command lines' leash_takes_them
else
	skip 'leash takes their command lines' 'no command, or no redis-server'
fi
finish
