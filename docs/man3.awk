# Man pages of the public calls and types, from what the headers say of them: man3.awk FOLDER HEADER...
#
#     awk -f docs/man3.awk -v folder=docs/man3 -v date='November 21, 2026' include/leash/*.h
#
# There is a page for each `/** comment */` that stands before a function or a typedef. The comment has paragraphs,
# indented code, lists of "- " items, @param, @retval, @return, and "Threads: ... Since x.". The name of a call or of a
# type becomes a reference to its page.

FNR == 1 {
	header = FILENAME
	sub(/.*\/leash\//, "leash/", header)
	comment = declaration = ""
	state = "out"
}
state == "out" && /^\/\*\*/ {
	state = "comment"
	comment = ""
}
state == "comment" {
	line = $0
	ended = sub(/ *\*\/ *$/, "", line)
	sub(/^\/\*\* ?|^ \* ?/, "", line)
	comment = comment line "\n"
	if (ended) {
		state = "declaration"
		declaration = ""
	}
	next
}
# A macro, or an enum without a name: the header alone has those.
state == "declaration" && declaration == "" && !/^(LEASH_API|typedef) / { state = "out" }
state == "declaration" {
	declaration = declaration $0 "\n"
	braces += gsub(/\{/, "{") - gsub(/\}/, "}")
	if (braces == 0 && /;[^;]*$/) {
		keep()
		state = "out"
	}
}

function keep(    text, name) {
	text = declaration
	if (text ~ /^LEASH_API/) {
		gsub(/LEASH_API |LEASH_MUST_CHECK/, "", text)
		gsub(/[ \t\n]+/, " ", text)
		sub(/^ /, "", text)
		name = text
		sub(/\(.*/, "", name)
		sub(/.*[ *]/, "", name)
	} else {
		name = text
		if (!sub(/^typedef [a-z_ ]*\(\*/, "", name))
			sub(/^typedef (struct|enum) /, "", name)
		sub(/[^a-z_].*/, "", name)
	}
	names[++count] = name
	comment_of[name] = comment
	declaration_of[name] = text
	header_of[name] = header
}

END {
	for (i = 1; i <= count; i++)
		write_page(names[i])
}

function write_page(name) {
	page = folder "/" name ".3"
	self = name
	split("", mentioned)
	read_comment(comment_of[name])
	say(".\\\" Made from " header_of[name] " by docs/man3.awk.")
	say(".Dd " date "\n.Dt " toupper(name) " 3\n.Os\n.Sh NAME\n.Nm " name "\n.Nd " summary)
	say(".Sh LIBRARY\nlibleash (-lleash)\n.Sh SYNOPSIS\n.In " header_of[name])
	if (declaration_of[name] !~ /^typedef/)
		say_prototype(declaration_of[name])
	say(".Sh DESCRIPTION\n" body["text"])
	if (declaration_of[name] ~ /^typedef/)
		say(".Bd -literal\n" literal(declaration_of[name]) ".Ed")
	say_section("PARAMETERS", "param")
	say_section("RETURN VALUES", "return")
	say_section("THREADS", "threads")
	say_see_also()
	say_section("HISTORY", "since")
	close(page)
}

function say(text) {
	sub(/\n$/, "", text)
	print text >page
}

function say_section(title, part) {
	if (body[part] != "")
		say(".Sh " title "\n" body[part])
}

# Of `type name(parameter, parameter);`, where a parameter may be a function.
function say_prototype(text,    parameters, i, depth, parameter, c, type) {
	parameters = substr(text, index(text, self "(") + length(self) + 1)
	sub(/\); *$/, "", parameters)
	type = substr(text, 1, index(text, self "(") - 1)
	sub(/ $/, "", type)
	say(".Ft \"" type "\"")
	say(".Fo " self)
	for (i = 1; i <= length(parameters) + 1; i++) {
		c = substr(parameters, i, 1)
		depth += (c == "(") - (c == ")")
		if (c == "" || (c == "," && depth == 0)) {
			sub(/^ /, "", parameter)
			say(".Fa \"" parameter "\"")
			parameter = ""
		} else {
			parameter = parameter c
		}
	}
	say(".Fc")
}

# All that the page mentions, sorted.
function say_see_also(    other, i, j, n, sorted) {
	n = 0
	mentioned["leash"] = 1
	for (other in mentioned) {
		for (j = n++; j > 0 && sorted[j] > other; j--)
			sorted[j + 1] = sorted[j]
		sorted[j + 1] = other
	}
	say(".Sh SEE ALSO")
	for (i = 1; i <= n; i++)
		say(".Xr " sorted[i] " 3" (i < n ? " ," : ""))
}

# ---- the comment ----

# Into `summary` and `body`, by part.
function read_comment(text,    n, lines, i, line, rest) {
	split("", body)
	summary = part = kind = block = list = ""
	gsub(/Threads: /, "\n\nThreads: ", text)
	n = split(text, lines, "\n")
	part = "text"
	for (i = 1; i <= n; i++) {
		line = lines[i]
		if (match(line, /^@[a-z]+ */)) {
			rest = substr(line, RLENGTH + 1)
			if (line ~ /^@param/)
				start("param", "param")
			else
				start("return", line ~ /^@retval/ ? "retval" : "paragraph")
			line = rest
		} else if (line ~ /^Threads: /) {
			start("threads", "paragraph")
			sub(/^Threads: /, "", line)
			line = toupper(substr(line, 1, 1)) substr(line, 2)
		} else if (line ~ /^- /) {
			start(part, "bullet")
			line = substr(line, 3)
		} else if (line ~ /^(    |\t)/ && (kind == "" || kind == "code")) {
			if (kind == "")
				start(part, "code")
			block = block substr(line, 5) "\n"
			continue
		} else if (line == "" && kind == "code") {
			block = block "\n"
			continue
		} else if (line == "" || (kind != "" && kind != "paragraph" && line !~ /^ /)) {
			start(part, line == "" ? "" : "paragraph")
		} else if (kind == "") {
			start(part, "paragraph")
		}
		block = block line " "
	}
	start("", "")
}

# The block before is whole.
function start(new_part, new_kind) {
	if (block ~ /[^ \n]/)
		add(block)
	if (list != "" && (new_part != part || (new_kind != "" && list_of(new_kind) != list))) {
		body[part] = body[part] ".El\n"
		list = ""
	}
	block = ""
	kind = new_kind
	part = new_part
}

function list_of(kind) {
	return kind == "bullet" ? "bullet" : kind == "param" || kind == "retval" ? "tag" : ""
}

function add(text,    tag) {
	if (kind == "code") {
		sub(/\n+$/, "\n", text)
		body[part] = body[part] ".Bd -literal -offset indent\n" literal(text) ".Ed\n"
		return
	}
	gsub(/  +/, " ", text)
	sub(/^ /, "", text)
	sub(/ $/, "", text)
	if (summary == "")
		summary = first_sentence(text)
	if (list_of(kind) != "" && list == "") {
		list = list_of(kind)
		body[part] = body[part] (list == "tag" ? ".Bl -tag -width Ds\n" : ".Bl -bullet\n")
	}
	if (kind == "param") {
		tag = text
		sub(/ .*/, "", tag)
		body[part] = body[part] ".It Fa " tag "\n" flow(substr(text, length(tag) + 2))
	} else if (kind == "retval") {
		match(text, /^LEASH_[A-Z_]+(, LEASH_[A-Z_]+)*/)
		tag = substr(text, 1, RLENGTH)
		gsub(/,/, " ,", tag)
		text = substr(text, RLENGTH + 1)
		sub(/^,? /, "", text)
		body[part] = body[part] ".It Dv " tag "\n" flow(text)
	} else if (kind == "bullet") {
		body[part] = body[part] ".It\n" flow(text)
	} else {
		if (part == "threads" && match(text, /Since [0-9.]+\.$/)) {
			body["since"] = flow(substr(text, RSTART))
			text = substr(text, 1, RSTART - 1)
		}
		body[part] = body[part] (body[part] == "" ? "" : ".Pp\n") flow(text)
	}
}

function first_sentence(text) {
	if (match(text, /[.;?!]( |$)/))
		text = substr(text, 1, RSTART - (substr(text, RSTART, 1) ~ /[.;]/))
	gsub(/`/, "", text)
	if (text ~ /^[A-Z][a-z ]/)
		text = tolower(substr(text, 1, 1)) substr(text, 2)
	return escaped(text)
}

function escaped(text) {
	gsub(/\\/, "\\e", text)
	return text
}

function literal(text) {
	text = "\n" escaped(text)
	gsub(/\n\./, "\n\\\\\\&.", text) # no request
	return substr(text, 2)
}

# Text in lines of at most 80 bytes, one for each sentence; a call with a page of its own on a line with .Xr.
function flow(text,    n, word, i, line, out, name) {
	text = escaped(text)
	n = split(text, word, "`")
	text = word[1]
	for (i = 2; i <= n; i++)
		text = text (i % 2 == 0 ? "\\fB" : "\\fP") word[i]
	n = split(text, word, " ")
	out = line = ""
	for (i = 1; i <= n; i++) {
		name = word[i]
		gsub(/^\(|(\(\))?[.,:;)]*$/, "", name)
		if (name in header_of && name != self) {
			out = out (line == "" ? "" : line "\n") link(name, word[i])
			line = ""
			continue
		}
		if (line != "" && length(line) + length(word[i]) >= 78) {
			out = out line "\n"
			line = ""
		}
		line = line (line == "" ? (word[i] ~ /^[.']/ ? "\\&" : "") : " ") word[i]
		if (word[i] ~ /[.?!]\)?$/) {
			out = out line "\n"
			line = ""
		}
	}
	return out (line == "" ? "" : line "\n")
}

function link(name, word,    rest) {
	mentioned[name] = 1
	rest = word
	sub(/^\(?[a-z_]+(\(\))?/, "", rest)
	gsub(/./, " &", rest)
	return ".Xr " (word ~ /^\(/ ? "( " : "") name " 3" rest "\n"
}
