# The man page leash(1), of its prose and of what the command says of its options:
#
#     leash help --table | awk -f docs/man1.awk - docs/leash.1.in
#
# In the prose, `.Synopsis` stands for the forms of all commands. In the section of a command, `.Bl -options` to `.El`
# stands for its options, and `.It Fl -name` there begins what the page says of one. Of the others it says what --help
# says. To describe an option that the command does not have is a mistake; so is to leave out a command.

BEGIN {
	FS = "\t"
	missing["common"]
}

# ---- the table ----

FNR == NR && $1 == "command" { missing[command = $2] }
FNR == NR && $1 == "form" { synopsis = synopsis form($2) }
FNR == NR && $1 == "group" {
	list = $3 == "Common options" ? "common" : command
	title = $3
	sub(/CMD/, "command", title)
}
FNR == NR && $1 == "option" && !((list, $4) in head) {
	name[list, ++count[list]] = $4
	titles[list, count[list]] = title
	title = ""
	head[list, $4] = ".It Fl " ($3 != "" ? $3 " , Fl -" : "-") $4 argument($5, $6) "\n"
	help[list, $4] = sentence($7, $5)
}
FNR == NR { next }

# What the page calls what --help has in capitals.
function called(word) {
	return word == "CMD" ? "command" : word == "ARG" ? "argument" : word == "DUR" ? "duration" : tolower(word)
}
function argument(word, choices,    or_signal) {
	or_signal = sub(/ [A-Z].*/, "", choices) ? " | Ar signal" : ""
	gsub(/ /, " | ", choices)
	return choices != "" ? " Cm " choices or_signal : word != "" ? " Ar " called(word) : ""
}
function form(text,    word, i, n, macros, more) {
	n = split(text, word, " ")
	macros = ".Nm leash " word[2] "\n"
	for (i = 3; i <= n; i++) {
		macros = macros "." (gsub(/[][]/, "", word[i]) ? "Op " : "")
		more = sub(/\.\.\.$/, "", word[i]) ? " ..." : ""
		macros = macros (word[i] ~ /^-/ ? "Fl " substr(word[i], 2) : "Ar " called(word[i])) more "\n"
	}
	return macros
}
function sentence(text, value,    word, i, n, behind, macro, lines) {
	gsub(/\\/, "\\e", text)
	n = split(text ".", word, " ")
	for (i = 1; i <= n; i++) {
		behind = match(word[i], /[).,;:]+$/) ? substr(word[i], RSTART) : ""
		macro = substr(word[i], 1, length(word[i]) - length(behind))
		if (macro ~ /^-/)
			macro = "Fl " substr(macro, 2)
		else if (macro == value || macro == "CMD")
			macro = "Ar " called(macro)
		else if (macro ~ /^LEASH_/)
			macro = "Ev " macro
		else {
			lines = lines (i == 1 ? toupper(substr(macro, 1, 1)) substr(macro, 2) : macro) behind (behind ~ /\.$/ ? "\n" : " ")
			continue
		}
		gsub(/./, " &", behind)
		sub(/ $/, "\n", lines)
		lines = lines "." macro behind "\n"
	}
	sub(/ $/, "\n", lines)
	return lines
}

# ---- the page ----

function refuse(text) {
	print FILENAME ":" FNR ": " text >"/dev/stderr"
	exit (failed = 1)
}
function print_list(    i, option) {
	for (i = 1; i <= count[section]; i++) {
		option = name[section, i]
		if (i > 1 && titles[section, i] != "")
			print ".El"
		if (titles[section, i] != "")
			print (titles[section, i] ~ /ptions$/ ? "" : ".Pp\n.Em " titles[section, i] "\n") ".Bl -tag -width Ds"
		printf "%s", head[section, option] ((section, option) in prose ? prose[section, option] : help[section, option])
	}
}

/^\.S[hs] / {
	section = /^\.Sh COMMON OPTIONS$/ ? "common" : /^\.Ss leash [a-z]+$/ ? substr($0, 11) : ""
	if (section != "" && !(section in missing))
		refuse("there is no leash " section ", or it has two sections")
	if (!count[section])
		delete missing[section]
}
/^\.Synopsis$/ { $0 = substr(synopsis, 1, length(synopsis) - 1) }
/^\.Bl -options$/ {
	in_list = 1
	option = ""
	next
}
in_list && /^\.El$/ {
	print_list()
	delete missing[section]
	in_list = 0
}
in_list && /^\.It Fl -/ {
	option = substr($0, 9)
	if ((section, option) in prose)
		refuse("--" option " is described twice")
	if (!((section, option) in head) && !(("common", option) in head))
		refuse("leash " section " has no option --" option)
	if (!((section, option) in head)) {
		name[section, ++count[section]] = option
		head[section, option] = head["common", option]
	}
	prose[section, option] = ""
	next
}
in_list && option != "" {
	prose[section, option] = prose[section, option] $0 "\n"
	next
}
{ print }
END {
	for (section in missing)
		if (!failed)
			refuse("the options of leash " section " have no list")
}
