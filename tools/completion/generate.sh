#!/bin/sh
# generate.sh bash|zsh|fish LEASH: the completion for that shell, of what `LEASH help --table` says.
# shellcheck disable=SC2016 # what is printed is for the other shell
set -eu
here=$(dirname "$0")
shell=$1
table=$("$2" help --table)

each() { # option AWK: with `command`, `letter`, `name`, `argument`, `choices` and `help` of each
	# command AWK: with `command`, `operands` and `summary`
	printf '%s\n' "$table" | awk -F '\t' -v kind="$1" '
		function quoted(text) { gsub(/\047/, "\047\\\047\047", text); return "\047" text "\047" }
		$1 == kind {
			command = $2; letter = operands = $3; name = summary = $4; argument = $5; choices = $6; help = $7
			'"$2"'
		}'
}

bash_case() { # COMMENT FUNCTION ARGUMENT WORD: the cases are on standard input
	printf '\n# %s\n%s() { # %s\n\tcase %s in\n' "$@"
	cat
	printf '\tesac\n}\n'
}
each_case() { # AWK: of each option, `word`; those of a command stand in its case
	each option "$1"'
		if (word != "") {
			printf "%s%s", command != before ? end "\t" command ") echo " : "", word
			before = command
			end = " ;;\n"
			word = ""
		}'
	echo ' ;;'
}

bash_table() {
	echo "_leash_commands='$(each command 'print command' | xargs)'"
	each_case 'word = (command == before ? " " : "") "--" name (argument != "" ? "=" : "")' |
		bash_case 'The options of a command; one that wants an argument ends in =.' _leash_options COMMAND '$1'
	each_case 'if (argument != "") word = letter' |
		bash_case 'Its letters that want an argument.' _leash_letters COMMAND '$1'
	each option 'short = letter != "" ? " | " command "-" letter : ""
		if (choices != "")
			printf "\t%s--%s%s) echo \047%s\047 ;;\n", command, name, short, choices' |
		bash_case 'What an argument can be.' _leash_choices OPTION '$command$1'
	each command 'if (operands != "") printf "\t%s) echo %s ;;\n", command, operands' |
		bash_case 'What stands behind the options: a name, names, a pattern, a job under names, or nothing.' \
			_leash_operands COMMAND '$1'
}

zsh_table() {
	echo '_leash_commands=('
	each command 'gsub(/:/, "\\:", summary); print "\t" quoted(command ":" summary)'
	echo ')'
	echo
	echo '# The options and operands of a command, as _arguments has them.'
	echo '_leash_specs() { # COMMAND'
	echo '	case $1 in'
	printf '%s\n' "$table" | awk -F '\t' '
		function quoted(text) { gsub(/\047/, "\047\\\047\047", text); return "\047" text "\047" }
		function spec(names, argument, choices, help, action) {
			gsub(/[][\\:]/, "\\\\&", help)
			action = choices != "" ? "(" choices ")" : argument ~ /PATH|FILE/ ? "_files" : " "
			return names "[" help "]" (argument != "" ? ":" argument ":" action : "")
		}
		$1 == "command" {
			if (before != "")
				print "\t\t)\n\t\t;;"
			before = $2
			print "\t" $2 ")\n\t\tspecs=("
			if ($3 == "name") print "\t\t\t" quoted("1:lock:_leash_names")
			if ($3 == "names") print "\t\t\t" quoted("*:lock:_leash_names")
			if ($3 == "pattern") print "\t\t\t" quoted("1:pattern:_leash_names")
			if ($3 == "job")
				print "\t\t\t" quoted("1:lock:_leash_names") "\n\t\t\t" quoted("*:: :_leash_job")
		}
		$1 == "option" {
			both = $3 != "" ? "(-" $3 " --" $4 ")" : ""
			if ($3 != "")
				print "\t\t\t" quoted(both spec("-" $3 ($5 != "" ? "+" : ""), $5, $6, $7))
			print "\t\t\t" quoted(both spec("--" $4 ($5 != "" ? "=" : ""), $5, $6, $7))
		}
		END { print "\t\t)\n\t\t;;" }'
	echo '	esac'
	echo '}'
}

fish_table() {
	each command 'print "complete -c leash -n __fish_use_subcommand -x -a " command " -d " quoted(summary)
		seen = "__fish_seen_subcommand_from " command
		if (operands != "")
			print "complete -c leash -n " quoted(seen " && not __leash_at_job") " -x -a \047(__leash_names)\047"
		else
			print "complete -c leash -n " quoted(seen) " -f"
		if (operands == "job")
			print "complete -c leash -n " quoted(seen " && __leash_at_job") " -x -a \047(__leash_job)\047"'
	each option 'seen = "__fish_seen_subcommand_from " command
		wants = argument == "" ? "" : argument ~ /PATH|FILE/ ? " -r -F" : " -x"
		print "complete -c leash -n " quoted(seen " && not __leash_at_job") (letter != "" ? " -s " letter : "") \
			" -l " name wants (choices != "" ? " -a " quoted(choices) : "") " -d " quoted(help)'
}

"${shell}_table" >/dev/null # a mistake ends it here
while IFS= read -r line; do
	case $line in
	@table@) "${shell}_table" ;;
	*) printf '%s\n' "$line" ;;
	esac
done <"$here/leash.$shell.in"
