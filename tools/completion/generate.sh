#!/bin/sh
# generate.sh bash|zsh|fish LEASH: the completion for that shell, of what `LEASH help --table` says.
# shellcheck disable=SC2016 # what is printed is for the other shell
set -eu
here=$(dirname "$0")
shell=$1
table=$("$2" help --table)

# What a field of the table is, by its number: option, command, letter, name, argument, choices, help.
each_option() { # AWK: with `letter`, `name`, `argument`, `choices`, `help` and `command`
	printf '%s\n' "$table" | awk -F '\t' '
		function quoted(text) { gsub(/\047/, "\047\\\047\047", text); return "\047" text "\047" }
		$1 == "option" { command = $2; letter = $3; name = $4; argument = $5; choices = $6; help = $7; '"$1"' }'
}
each_command() { # AWK: with `command`, `operands`, `summary`
	printf '%s\n' "$table" | awk -F '\t' '
		function quoted(text) { gsub(/\047/, "\047\\\047\047", text); return "\047" text "\047" }
		$1 == "command" { command = $2; operands = $3; summary = $4; '"$1"' }'
}

bash_table() {
	echo "_leash_commands='$(each_command 'print command' | xargs)'"
	echo
	echo '# The options of a command; one that wants an argument ends in =.'
	echo '_leash_options() { # COMMAND'
	echo '	case $1 in'
	each_option '
		if (command != before)
			printf "%s\t%s) echo", before != "" ? " ;;\n" : "", command
		before = command
		printf " --%s%s", name, argument != "" ? "=" : ""'
	echo ' ;;'
	echo '	esac'
	echo '}'
	echo
	echo '# Its letters that want an argument.'
	echo '_leash_letters() { # COMMAND'
	echo '	case $1 in'
	each_option 'if (letter != "" && argument != "") {
		if (command != before)
			printf "%s\t%s) echo ", before != "" ? " ;;\n" : "", command
		before = command
		printf "%s", letter }'
	echo ' ;;'
	echo '	esac'
	echo '}'
	echo
	echo '# What an argument can be.'
	echo '_leash_choices() { # OPTION'
	echo '	case $command$1 in'
	each_option 'if (choices != "")
		printf "\t%s--%s%s) echo \047%s\047 ;;\n", command, name, letter != "" ? " | " command "-" letter : "", choices'
	echo '	esac'
	echo '}'
	echo
	echo '# What stands behind the options: a name, names, a pattern, a job under names, or nothing.'
	echo '_leash_operands() { # COMMAND'
	echo '	case $1 in'
	each_command 'if (operands != "") printf "\t%s) echo %s ;;\n", command, operands'
	echo '	esac'
	echo '}'
}

zsh_table() {
	echo '_leash_commands=('
	each_command 'gsub(/:/, "\\:", summary); print "\t" quoted(command ":" summary)'
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
	each_command 'print "complete -c leash -n __fish_use_subcommand -x -a " command " -d " quoted(summary)
		seen = "__fish_seen_subcommand_from " command
		if (operands != "")
			print "complete -c leash -n " quoted(seen " && not __leash_at_job") " -x -a \047(__leash_names)\047"
		else
			print "complete -c leash -n " quoted(seen) " -f"
		if (operands == "job")
			print "complete -c leash -n " quoted(seen " && __leash_at_job") " -x -a \047(__leash_job)\047"'
	each_option 'seen = "__fish_seen_subcommand_from " command
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
