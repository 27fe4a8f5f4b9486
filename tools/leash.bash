# Completion of leash(1) for bash. The bash-completion package loads it when it is first wanted; `source` does as well,
# and it needs nothing of that package.
#
# Names of locks come from the server that the command line or the environment names, which is given a second; if it
# does not answer there are none, and not a word. A test compares the options with what each --help says.
#
# Readline ends words at : and =, which names and URIs have inside. _leash_split joins them again; _leash_reply gives
# readline only what stands behind the last of them. Functions share `words`, `cur` and so on with _leash, whose locals
# they are.
# shellcheck shell=bash

_leash_commands='run acquire renew release status list wait break limit elect leader watch arrive await'
_leash_commands+=' top doctor scripts bench'

# The options of a command, those of all behind its own; one that wants an argument ends in =.
_leash_options() { # COMMAND
	case $1 in
	run)
		echo --nonblock --wait= --conflict-exit-code= --skip-ok --fair --ttl= --on-lost= --kill-after= \
			--lost-exit-code= --max-run= --at-least= --foreground --min-replicas= --replicas-timeout= --fsynced \
			--shared --exclusive --slots= --take=
		;;
	acquire)
		echo --nonblock --wait= --conflict-exit-code= --ttl= --fair --min-replicas= --replicas-timeout= --fsynced \
			--shared --exclusive --slots= --take=
		;;
	renew) echo --ttl= --min-replicas= --replicas-timeout= --fsynced --shared --exclusive --slots= --take= ;;
	release) echo --shared --exclusive --slots= --take= ;;
	wait) echo --nonblock --wait= ;;
	status) echo --all ;;
	list) echo --wide ;;
	break) echo --force ;;
	limit) echo --for= --end ;;
	elect)
		echo --nonblock --wait= --conflict-exit-code= --fair --ttl= --on-lost= --kill-after= --max-run= --foreground \
			--min-replicas= --replicas-timeout= --fsynced --value=
		;;
	watch) echo --exec= ;;
	arrive) echo --as= ;;
	await) echo --count= --nonblock --wait= ;;
	top) echo --delay= --rounds= --once --sort= --reverse --batch --rows= ;;
	scripts) echo --load ;;
	bench) echo --time= --threads= ;;
	esac
	echo --redis= --prefix= --escaped --json --quiet --verbose --help
}

# Its letters that want an argument.
_leash_letters() { # COMMAND
	case $1 in
	run | elect) echo wEkr ;;
	acquire) echo wEr ;;
	wait | await) echo wr ;;
	watch) echo xr ;;
	top) echo dnsr ;;
	bench) echo tpr ;;
	*) echo r ;;
	esac
}

# The words up to the cursor into `words`, and where each begins in COMP_WORDS into `at`.
_leash_split() {
	local line=${COMP_LINE:0:COMP_POINT} rest i

	for ((i = 0; i <= COMP_CWORD; i++)); do
		rest=${line#"${line%%[![:space:]]*}"}
		if ((i > 0)) && [[ $rest == "$line" && -n $line ]]; then
			words[${#words[@]} - 1]+=${COMP_WORDS[i]:0:${#rest}}
		else
			words+=("${COMP_WORDS[i]:0:${#rest}}")
			at+=("$i")
		fi
		line=${rest#"${COMP_WORDS[i]}"}
	done
}

# A candidate, as it is to be typed. A word that begins with a quote is not ended by anything inside.
_leash_reply() { # WORD
	local i done=0

	if [[ $cur != [\"\']* ]]; then
		for ((i = 0; i < ${#cur}; i++)); do
			[[ ${cur:i:1} != [:=] || $COMP_WORDBREAKS != *"${cur:i:1}"* ]] || done=$((i + 1))
		done
	fi
	COMPREPLY+=("${1:done}")
}

_leash_choose() { # WORD...
	local word

	for word; do
		[[ $word != "$cur"* ]] || _leash_reply "$word"
	done
}

# What is typed of a word, `cur`, as the shell will read it: into `start`; how it is quoted at its end, with nothing, ',
# " or $', into `quote`; and how much of `start` stands before what readline replaces, into `kept`: all up to the last :
# or =, or to the quote.
_leash_unquote() {
	local i c body

	start='' quote='' kept=0
	for ((i = 0; i < ${#cur}; i++)); do
		c=${cur:i:1}
		case $quote$c in
		\\) ((++i)); start+=${cur:i:1} ;;
		\"\\)
			[[ ${cur:i + 1:1} != [\"\$\`\\] ]] || ((++i))
			start+=${cur:i:1}
			;;
		\'\' | \"\") quote='' kept=${#start} ;;
		\$\'*)
			[[ ${cur:i} =~ ^([^\\\']|\\.)* ]]
			body=${BASH_REMATCH[0]}
			printf -v c %b "${body//\\\'/\'}"
			start+=$c
			i=$((i + ${#body}))
			[[ ${cur:i:1} != \' ]] || { quote='' && kept=${#start}; }
			;;
		\' | \") quote=$c kept=${#start} ;;
		\$)
			[[ ${cur:i:2} == "$'" ]] && ((++i)) && quote="\$'" kept=${#start} || start+=$c
			;;
		*)
			start+=$c
			[[ -n $quote || $c != [:=] || $COMP_WORDBREAKS != *"$c"* ]] || kept=${#start}
			;;
		esac
	done
}

# The same word in full, of which readline gets what it is to put in place of what is typed. It adds the quote at the
# end, unless there is one; and what begins with the quote that is typed takes the place of that, too.
_leash_reply_name() { # WORD
	local rest=${1:kept} quoted

	printf -v quoted %q "$rest"
	case $quote in
	'') [[ -n $rest ]] || quoted='' ;;
	\'*) [[ $quoted != \$\'* && $rest != *\'* ]] && quoted=$rest || quoted="''$quoted''" ;;
	\"*) [[ $quoted != \$\'* && $rest != *[\"\$\`\\!]* ]] && quoted=$rest || quoted="\"\"$quoted\"\"" ;;
	*)
		[[ $quoted == \$\'* ]] || { quoted=${rest//\\/\\\\} && quoted="$'${quoted//\'/\\\'}'"; }
		quoted=${quoted:2:${#quoted}-3}
		quoted=${quoted//\\\'/\\x27}
		;;
	esac
	COMPREPLY+=("$quoted")
}

# The locks that are held, whose names begin with what is typed. The first column of `leash list` has them, with \xHH
# for a space, a \ and all that is not printable; so they are offered behind --escaped. Where a pattern is wanted, what
# is special in one stands for itself.
_leash_names() {
	local leash=${words[0]} start quote kept name line c escaped=''
	local -a lines=()

	[[ $leash != \~/* ]] || leash=$HOME/${leash#\~/}
	command -v -- "$leash" >/dev/null && command -v timeout >/dev/null || return 0
	[[ " ${words[*]} " != *' --escaped '* ]] || escaped=1
	_leash_unquote
	line=${start//[^[:alnum:]._:\/-]/*}
	[[ -z $escaped ]] || line=${line%%\**}
	mapfile -t lines < <(timeout 1 "$leash" list -q "${server[@]}" -- "$line*" 2>/dev/null </dev/null | head -n 1000)
	for line in "${lines[@]}"; do
		name=${line%%[[:space:]]*}
		[[ -n $escaped ]] || printf -v name %b "$name"
		if [[ $command == list || $command == top ]]; then
			[[ -n $escaped ]] || name=${name//\\/\\\\}
			for c in '*' '?' '['; do
				printf -v line '\\x%02x' "'$c"
				[[ -n $escaped ]] || line=\\$c
				name=${name//"$c"/"$line"}
			done
		fi
		[[ -z $name || $name != "$start"* ]] || _leash_reply_name "$name"
	done
}

# What stands behind the -- of `leash run`: a command and its arguments.
_leash_job() { # INDEX, in `words`, of its first word
	if declare -F _command_offset >/dev/null; then
		_command_offset "${at[$1]}"
	elif (($1 == ${#words[@]} - 1)); then
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -c -- "$cur" | sort -u)
	else
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]#[:=]}")
	fi
}

_leash_behind_name() { # INDEX, in `words`, of what stands behind the first name
	local under=$(($1 == ${#words[@]} - 1)) i # the cursor

	for ((i = $1; i < ${#words[@]} - 1; i++)); do # behind several names
		[[ ${words[$1]} != -* && ${words[i]} == -- ]] || continue
		_leash_job $((i + 1))
		return
	done
	case $under${words[$1]} in
	1 | 1--) _leash_choose -- ;;
	1-*) _leash_choose -- -c ;;
	0--) _leash_job $(($1 + 1)) ;;
	0-*) ;;
	*) _leash_job "$1" ;;
	esac
}

# The argument of an option, alone or behind its =.
_leash_argument() { # OPTION [OPTION=]
	case $1 in
	--on-lost) _leash_choose "${2-}"{term,kill,keep,HUP,INT,QUIT,USR1,USR2} ;;
	--sort | -s) _leash_choose "${2-}"{waiting,held,lease,name} ;;
	esac
}

_leash() {
	local cur command word i behind=0 letters
	local -a words=() at=() server=() options

	COMPREPLY=()
	_leash_split
	cur=${words[${#words[@]} - 1]}
	command=${words[1]-}
	if ((${#words[@]} <= 2)); then
		# shellcheck disable=SC2086 # words
		_leash_choose $_leash_commands help --help --version
		return
	fi
	if [[ $command == help ]]; then
		# shellcheck disable=SC2086
		((${#words[@]} > 3)) || _leash_choose $_leash_commands
		return
	fi
	[[ " $_leash_commands " == *" $command "* ]] || return
	mapfile -t options < <(_leash_options "$command" | tr ' ' '\n')
	letters=$(_leash_letters "$command")

	# What stands before the cursor: how many names, which server, an option that wants the word under it.
	for ((i = 2; i < ${#words[@]} - 1; i++)); do
		word=${words[i]}
		case $word in
		--) return ;;
		-r | --redis | --prefix)
			server+=("$word" "${words[i + 1]}")
			;;
		-r* | --redis=* | --prefix=*)
			server+=("$word")
			continue
			;;
		-*) ;;
		*)
			behind=$((behind + 1))
			if [[ $command == run || $command == elect ]]; then
				_leash_behind_name $((i + 1))
				return
			fi
			;;
		esac
		if [[ " ${options[*]} " == *" $word= "* || $word == -[!-]* && $letters == *"${word: -1}"* ]] &&
			((++i == ${#words[@]} - 1)); then
			[[ $word == --* ]] || word=-${word: -1}
			_leash_argument "$word"
			return
		fi
	done

	case $cur in
	--*=*)
		_leash_argument "${cur%%=*}" "${cur%%=*}="
		;;
	-*)
		_leash_choose "${options[@]}"
		[[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
		;;
	*)
		case $command:$behind in
		run:0 | acquire:0 | renew:0 | release:0 | break:0 | limit:0 | elect:0 | leader:0 | watch:0) _leash_names ;;
		arrive:0 | await:0) _leash_names ;;
		list:0 | top:0 | status:* | wait:*) _leash_names ;;
		esac
		;;
	esac
}

complete -F _leash leash
