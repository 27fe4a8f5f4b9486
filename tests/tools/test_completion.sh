#!/bin/sh
# The completion of the leash command: what it offers, where it offers nothing, and that it says no word.
#
# A bash without its start-up files sources it, with the bash-completion package or without, and calls it as readline does. One test
# has a real readline, in a terminal of tmux.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

leash=$build/tools/.libs/leash
[ -x "$leash" ] || leash=$build/tools/leash
if [ ! -x "$leash" ]; then
	echo 'built with --disable-command'
	exit 77
fi
package=/usr/share/bash-completion/bash_completion

clean_up() { # of tap.sh: and the terminal
	tmux -S "$dir/tmux" kill-server
	[ -z "$redis" ] || kill -KILL "$redis"
	wait
	rm -rf "$dir"
} 2>/dev/null

mkdir "$dir/bin" "$dir/folder"
ln -s "$leash" "$dir/bin/leash"
: >"$dir/folder/a file"
PATH=$dir/bin:$PATH
unset NO_COLOR LEASH_PREFIX
export LEASH_URI="unix://$dir/nowhere"

# Words as readline finds them: space ends one, and what is in COMP_WORDBREAKS is one of its own, but not in quotes or behind a \.
cat >"$dir/complete.bash" <<'END'
split() {
	local i c quote='' word='' any=
	COMP_WORDS=()
	for ((i = 0; i < ${#COMP_LINE}; i++)); do
		c=${COMP_LINE:i:1}
		if [[ $c == '\' && $quote != "'" ]]; then
			((++i))
			word+=$c${COMP_LINE:i:1} any=1
		elif [[ -n $quote ]]; then
			word+=$c
			[[ $c != "$quote" ]] || quote=''
		elif [[ $c == [\"\'] ]]; then
			quote=$c word+=$c any=1
		elif [[ $c == ' ' ]]; then
			[[ -z $any ]] || COMP_WORDS+=("$word")
			word='' any=''
		elif [[ $c == [:=] ]]; then
			[[ -z $any ]] || COMP_WORDS+=("$word")
			COMP_WORDS+=("$c")
			word='' any=''
		else
			word+=$c any=1
		fi
	done
	[[ -z $any && ${COMP_LINE: -1} != ' ' ]] || COMP_WORDS+=("$word")
}
set -u
if [[ $1 == with ]]; then
	set +u
	shopt -s extglob progcomp
	source "$4"
fi
source "$2"
COMP_LINE=$3
COMP_POINT=${#3}
COMP_TYPE=9 COMP_KEY=9
split
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_leash "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
END

how=without
offers() { # LINE: what is offered for it, sorted; what is said on standard error too
	(cd "$dir/folder" && bash --norc --noprofile "$dir/complete.bash" "$how" "$build/tools/completion/leash" "$1" "$package" 2>&1) | sort
}
are() { # LINE OFFER...: that is what is offered. Names come within a second, or not at all: so it may be asked again
	line=$1
	shift
	for try in 1 2 3 4; do
		offers "$line" >"$dir/offered"
		{ [ $# -eq 0 ] || printf '%s\n' "$@"; } | sort | diff - "$dir/offered" >"$dir/differ" && return
	done
	echo "'$line', $try times:"
	cat "$dir/differ"
}
has() { # LINE PATTERN: that is among what is offered
	offers "$1" >"$dir/offered"
	grep -qxE -- "$2" "$dir/offered" || { echo "'$1': not '$2', but" && cat "$dir/offered"; }
}
commands() {
	"$leash" --help | sed -n 's/^  leash \([a-z]*\) .*/\1/p' | sort
}

offers_the_commands() {
	# shellcheck disable=SC2046 # words
	are 'leash ' $(commands) help --help --version
	are 'leash re' release renew
	# shellcheck disable=SC2046
	are 'leash help ' $(commands)
	are 'leash nonsense --'
}
offers_the_options_of_its_help() { # COMMAND
	"$leash" "$1" --help | grep -oE '(^|[[:space:],])--[a-z][a-z-]*' | tr -d ' \t,' | sort -u >"$dir/help"
	printf '%s\n' --escaped --help --json --prefix --quiet --redis --verbose | sort -u - "$dir/help" >"$dir/wanted"
	offers "leash $1 --" | sed 's/=$//' | sort | diff "$dir/wanted" -
}

# A configuration that is not there ends the command behind its options.
wants_argument() { # COMMAND OPTION: yes or no, as getopt_long says; nothing if it ends the command well, as --help does
	! LEASH_CONFIG=$dir/not-there "$leash" "$1" "$2" >"$dir/said" 2>&1 </dev/null || return
	if grep -q -- "$2 needs an argument" "$dir/said"; then echo yes; else echo no; fi
}

# One that does has = in what is offered; and if it is a letter, it takes away what is under the cursor.
knows_which_options_want_arguments() {
	for name in $(commands); do
		offers "leash $name --" | while read -r option; do
			case $option:$(wants_argument "$name" "${option%=}") in
			*=:no | *[!=]:yes) echo "leash $name: $option, and: $(cat "$dir/said")" ;;
			esac
		done
		"$leash" "$name" --help | grep -oE '(^|[[:space:]]{2})-[a-zA-Z](,|[[:space:]])' | tr -d ' \t,-' | sort -u >"$dir/letters"
		while read -r letter; do
			offered=$(offers "leash $name -$letter --js")
			case $(wants_argument "$name" "-$letter"):$offered in
			no: | yes:?*) echo "leash $name -$letter --js: '$offered' is offered" ;;
			esac
		done <"$dir/letters"
	done
}
offers_no_arguments() {
	are 'leash run --wait '
	are 'leash run -w '
	are 'leash run -nw '
	are 'leash run --wait=3'
	are 'leash run -E '
	are 'leash run -r '
	are 'leash run job -c '
	are 'leash run --on-lost k' keep kill
	are 'leash run --on-lost=t' term
	are 'leash top --sort=' held lease name waiting
	are 'leash top -Rs w' waiting
}
offers_dashes_and_then_commands() {
	are 'leash run job ' --
	are 'leash run job --' --
	are 'leash run -w 5m --fair job -' -- -c
	are 'leash run -w 5m --fa' --fair
	are 'leash run --wait=5m --fa' --fair
	are "leash run job -c 'echo "
	has 'leash run job ls' ls
	has 'leash run job -- ls' ls
	has 'leash run a:b=c -- ls' ls
	has 'leash run a b -- ls' ls
	has 'leash run a b -- ls a' 'a( |\\ )file'
	has 'leash run job -- ls a' 'a( |\\ )file'
	are 'leash wait job -- ls'
}
says_nothing_without_a_server() {
	are 'leash status '
	are 'leash run '
	are "leash run -r redis://127.0.0.1:1 "
	are "$dir/not-there run "
}

has_locks() {
	start_redis || return
	export LEASH_URI="unix://$dir/redis.sock"
	escape=$(printf 'odd:\001x') latin=$(printf 'gr\374n')
	for name in nightly night:late night:watch 'two words' 'wild*' backup "it's" 'un\slashed' 'a\x41' aA "$escape" "$latin" 'say "hi"'; do
		"$leash" acquire -q --ttl 1h "$name" >"$dir/token" || echo "acquire '$name': status $?"
	done
	"$leash" acquire -q --ttl 1h --prefix other elsewhere >"$dir/token" || echo "status $?"
}
offers_names_of_locks() {
	are 'leash run b' backup
	for name in status wait break acquire renew release list; do
		are "leash $name b" backup
	done
	are 'leash status nightly b' backup
	are 'leash break nightly '
	are 'leash release -q ni' night:late night:watch nightly
	are 'leash doctor '
}
offers_names_of_that_server() {
	LEASH_URI="unix://$dir/nowhere" are "leash status -r unix://$dir/redis.sock b" backup
	LEASH_URI="unix://$dir/nowhere" are "leash status --redis=unix://$dir/redis.sock b" backup
	are 'leash status --prefix other ' elsewhere
	are 'leash status --prefix=other ' elsewhere
	LEASH_PREFIX=other are 'leash status ' elsewhere
	are "leash status -r unix://$dir/nowhere "
}
offers_names_with_everything_in_them() {
	are 'leash status night:' late watch
	are 'leash status night:w' watch
	are 'leash status two\ ' 'two\ words'
	are 'leash status "two ' 'two words'
	are 'leash status "night:w' 'night:watch'
	are 'leash status *'
	are 'leash status \*'
	are 'leash status ba?'
	are "leash status 'it" "''it\\'s''"
	are 'leash status "say' '""say\ \"hi\"""'
	are "leash status un\\\\" 'un\\slashed'
	are "leash status 'un\\" "un\\slashed"
	are "leash status \$'un\\\\s" 'un\\slashed'
	are 'leash status odd:' "\$'\\001x'"
	are "leash status odd:\$'\\001" '\001x'
	are "leash status 'odd:" "''\$'odd:\\001x'''"
}

# What is offered, as the shell then reads it, is the lock that it was offered for: of each name there is, and in each kind of quotes.
tokens() { # COMMAND WORDS: of the locks that it then names
	bash -c "leash $1 --json -q $2" | sed -n 's|.*"token":"\([^"]*\)".*|\1|p'
}
reaches_the_lock_that_it_is_offered_for() {
	tokens list '' | sort >"$dir/tokens"
	[ -s "$dir/tokens" ] || echo 'no locks'
	for typed in '' "'" '"' "\$'" '--escaped ' "--escaped '"; do
		quote=${typed#"${typed%?}"}
		[ "$quote" != ' ' ] || quote=''
		offers "leash status $typed" | while IFS= read -r word; do
			# as readline does
			case $quote:$word in
			?:"$quote"*"$quote") tokens status "${typed%"$quote"}$word" ;;
			*) tokens status "$typed$word$quote" ;;
			esac
		done | sort | diff "$dir/tokens" - || echo "behind: leash status $typed"
	done
	for option in '' '--escaped '; do
		offers "leash list $option" | while IFS= read -r word; do
			tokens list "$option$word"
		done | sort | diff "$dir/tokens" - || echo "behind: leash list $option"
	done
}

gives_up_on_a_server_that_is_frozen() {
	kill -STOP "$redis"
	are 'leash status '
	kill -CONT "$redis"
}

tell() { # KEY...
	tmux -S "$dir/tmux" send-keys -t it "$@"
}
await() { # FILE LINE
	tries=0
	until grep -qxF -- "$2" "$1" 2>/dev/null; do
		tries=$((tries + 1))
		[ "$tries" -lt 600 ] || { cat "$1" && tmux -S "$dir/tmux" capture-pane -p -t it && return 1; }
		sleep 0.05
	done
}
# Tab, until the line is that: the names come from the server within a second, or not at all.
completes() { # TYPED LINE
	tell "$1"
	tabs=0
	until tmux -S "$dir/tmux" capture-pane -p -t it | grep -qF -- "$2"; do
		[ $((tabs % 60)) -ne 0 ] || tell Tab
		tabs=$((tabs + 1))
		[ "$tabs" -lt 600 ] || return 0 # what it is instead, the next await tells
		sleep 0.05
	done
	tell Enter
}
works_in_a_terminal() {
	tmux -S "$dir/tmux" kill-server 2>/dev/null
	cat >"$dir/rc" <<-END
		PS1='$ '
		[ "\$HOW" = without ] || . "$package"
		. "$build/tools/completion/leash"
		show() { printf '%s|' "\$@" >>"$dir/typed"; echo >>"$dir/typed"; }
		complete -F _leash show
		PATH=$dir/bin:\$PATH
	END
	: >"$dir/typed"
	HOW=$how LEASH_URI=$LEASH_URI TERM=screen tmux -S "$dir/tmux" -f /dev/null new-session -d -s it -x 80 -y 24 \
		"exec bash --noprofile --rcfile $dir/rc -i"
	tell 'complete -p show >/dev/null && show ready' Enter
	await "$dir/typed" 'ready|' || return
	# The first word is what is asked for names: a function will not do, the command does.
	# shellcheck disable=SC2016 # for that bash
	tell 'leash() { if [ "$1" = list ]; then command leash "$@"; else show "$@"; fi; }' Enter
	tell 'leash stat' Tab
	completes 'night:w' 'leash status night:watch'
	await "$dir/typed" 'status|night:watch|' || return
	completes 'leash status two' 'leash status two\ words'
	await "$dir/typed" 'status|two words|' || return
	completes "leash status 'it" "leash status ''it\\'s''"
	await "$dir/typed" "status|it's|" || return
	completes "leash status odd:" "leash status odd:\$'\\001x'"
	await "$dir/typed" "status|$escape|" || return
	tell 'leash run --on-lost=ki' Tab 'wil' Tab Tab 'ech' Tab Enter
	await "$dir/typed" 'run|--on-lost=kill|wild*|--|echo|' || return
	tmux -S "$dir/tmux" kill-server
}

both() { # SENTENCE COMMAND...
	how=without
	check "$1" "$2"
	if [ -r "$package" ]; then
		how=with
		check "$1, with the bash-completion package" "$2"
	else
		skip "$1, with the bash-completion package" "there is no $package"
	fi
}

check 'it offers the commands' offers_the_commands
for name in $(commands); do
	check "of $name it offers the options of its help" offers_the_options_of_its_help "$name"
done
check 'it knows which options want arguments' knows_which_options_want_arguments
check 'it offers no durations, numbers, and servers, but what can happen to a job' offers_no_arguments
both 'behind the name of a job come dashes, and then commands with their arguments' offers_dashes_and_then_commands
check 'without a server it offers no names, and says nothing' says_nothing_without_a_server
check 'a server with locks in it' has_locks
both 'it offers the names of locks that are held' offers_names_of_locks
check 'they come from the server that the line names' offers_names_of_that_server
check 'a server that does not answer has none' gives_up_on_a_server_that_is_frozen
both 'names have everything in them' offers_names_with_everything_in_them
check 'what is offered reaches the lock that it is offered for' reaches_the_lock_that_it_is_offered_for
if command -v tmux >/dev/null; then
	both 'it works in a terminal' works_in_a_terminal
else
	skip 'it works in a terminal' 'there is no tmux'
fi

# ---- zsh and fish: what bash has shown of names is not shown again ----

works_in_zsh() {
	tmux -S "$dir/tmux" kill-server 2>/dev/null
	cat >"$dir/zshrc" <<-END
		PS1='$ '
		PATH=$dir/bin:\$PATH
		fpath=($build/tools/completion \$fpath)
		autoload -Uz compinit && compinit -u -D
		show() { printf '%s|' "\$@" >>"$dir/typed"; echo >>"$dir/typed"; }
	END
	: >"$dir/typed"
	LEASH_URI=$LEASH_URI TERM=screen tmux -S "$dir/tmux" -f /dev/null new-session -d -s it -x 80 -y 24 'exec zsh -f -i'
	tell ". $dir/zshrc && show ready" Enter
	await "$dir/typed" 'ready|' || return
	# shellcheck disable=SC2016 # for zsh
	tell 'leash() { if [ "$1" = list ] || [ "$1" = help ]; then command leash "$@"; else show "$@"; fi; }' Enter
	tell 'leash stat' Tab
	completes 'bac' 'leash status backup'
	await "$dir/typed" 'status|backup|' || return
	tell 'leash run --on-lost=ki' Tab
	completes ' bac' 'run --on-lost=kill backup'
	await "$dir/typed" 'run|--on-lost=kill|backup|' || return
	tell 'leash run --fo' Tab 'job ' Tab
	tell ' ech' Tab Enter
	await "$dir/typed" 'run|--foreground|job|--|echo|' || return
	tmux -S "$dir/tmux" kill-server
}
fish_offers() { # LINE WORD...: at least these, in this order
	line=$1
	shift
	fish --no-config -c "source $build/tools/completion/leash.fish; complete -C '$line'" 2>&1 | cut -f1 >"$dir/offered"
	for word; do
		grep -qxF -- "$word" "$dir/offered" || { echo "'$line': not '$word', but" && cat "$dir/offered"; }
	done
}
works_in_fish() {
	# shellcheck disable=SC2046 # words
	fish_offers 'leash ' $(commands) help
	fish_offers 'leash run --on-lost k' keep kill
	fish_offers 'leash status b' backup
	fish_offers 'leash status two' 'two words'
	fish_offers 'leash run job -- l' ls
	fish_offers 'leash status --' --all --json
	for name in $(commands); do
		"$leash" help --table | awk -F '\t' -v name="$name" '$1 == "option" && $2 == name { print "--" $4 }' >"$dir/wanted"
		fish --no-config -c "source $build/tools/completion/leash.fish; complete -C 'leash $name --'" 2>&1 | cut -f1 | \
			sed 's/=$//' | sort >"$dir/offered"
		sort "$dir/wanted" | diff - "$dir/offered" || echo "leash $name"
	done
}
if command -v zsh >/dev/null && command -v tmux >/dev/null; then
	check 'it works in zsh' works_in_zsh
else
	skip 'it works in zsh' 'there is no zsh, or no tmux'
fi
if command -v fish >/dev/null; then
	check 'it works in fish' works_in_fish
else
	skip 'it works in fish' 'there is no fish'
fi
finish
