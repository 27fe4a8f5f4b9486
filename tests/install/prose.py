"""The prose of files that users read: prose.py PHRASES FOLDER FILE...

Writes the text of each file to FOLDER/FILE, on the lines where it stands, and leaves out what is code, so that linters which
know neither Markdown nor mdoc nor C can read it. Names and code within a sentence become an X.

Prints where a file has a phrase of PHRASES. A line of that list is a regular expression, a tab, and what to write instead; a
space in it also matches a line end.
"""

import os
import re
import sys

X = "X"


def blank(match):
    """What was matched, but for its lines, is nothing."""
    return "\n" * match.group().count("\n")


def without_names(text):
    """Words that are not English: with a _, a parenthesis pair, or all in capitals."""
    text = re.sub(r"`+[^`]+`+", lambda m: X + blank(m), text)
    return re.sub(r"\w*_\w+(\(\))?|\w+\(\)|\b[A-Z][A-Z0-9]+\b", X, text)


def of_markdown(text):
    text = re.sub(r"^```.*?^```$|<!--.*?-->", blank, text, flags=re.M | re.S)
    text = re.sub(r"(?<=\n\n)(( {4}|\t).*\n|\n)+", blank, text)
    text = re.sub(r"\]\([^)]*\)|<[^>\n]*>", "", text)
    return without_names(text).replace("|", " ")


MDOC_TEXT = ("Sh", "Ss", "Nd", "Pq", "Dq", "Sq", "Ql", "Em", "No")


def of_mdoc(text):
    lines, literal = [], False
    for line in text.split("\n"):
        macro = re.match(r"\.(\w+|\\\")\s*(.*)", line)
        if macro is None:
            lines.append("" if literal else line)
            continue
        name, rest = macro.groups()
        literal = name == "Bd" or literal and name != "Ed"
        lines.append(rest if name in MDOC_TEXT else X)
    return without_names(re.sub(r"\\(e|&|\(\w\w|\[\w+\]|f.)", " ", "\n".join(lines)))


def of_comments(text):
    """Of headers: what is in comments and strings, without the names of parameters and statuses."""
    kept, at = "", 0
    for comment in re.finditer(r'"(\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', text, re.S):
        words = re.sub(r"^\s*/?\*+[</]*|^//+<?|\*/$|\"", " ", comment.group(), flags=re.M)
        kept += "\n" * text.count("\n", at, comment.start()) + re.sub(r"@\w+\s+\w+", "", words)
        at = comment.end()
    return without_names(kept)


def of_strings(text):
    """Of C: what is in strings that have three words or more; such as stand one behind another are one."""
    text = re.sub(r"/\*.*?\*/|^[ \t]*#[^\n]*", blank, text, flags=re.S | re.M)
    kept, at = "", 0
    string = r'"(?:\\.|[^"\\\n])*"'
    for strings in re.finditer(rf'{string}(?:\s*(?:PRI\w+\s*)?{string})*', text):
        words = "".join(part or "\n" for part in re.findall(r'"((?:\\.|[^"\\\n])*)"|\n', strings.group()))
        words = re.sub(r"\\[nt]|\\x..|\\.", " ", words)
        words = re.sub(r"%[-+ 0#.*\d]*(hh|ll|[hlzj])?[a-zA-Z]|%", X, words)
        if len(words.split()) >= 3:
            kept += "\n" * text.count("\n", at, strings.start()) + words
            at = strings.end()
    return without_names(kept)


KINDS = {".md": of_markdown, ".in": of_mdoc, ".3": of_mdoc, ".h": of_comments, ".hpp": of_comments, ".c": of_strings}


def phrases_of(path):
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                pattern, instead = line.rstrip("\n").split("\t")
                yield re.compile(r"\b(?:%s)\b" % pattern.replace(" ", r" *[ \n] *"), re.I), instead


def main(list_of_phrases, folder, *files):
    phrases = list(phrases_of(list_of_phrases))
    for file in files:
        with open(file, encoding="utf-8") as source:
            text = KINDS[os.path.splitext(file)[1]](source.read())
        os.makedirs(os.path.dirname(os.path.join(folder, file)), exist_ok=True)
        with open(os.path.join(folder, file), "w", encoding="utf-8") as out:
            out.write(text)
        for phrase, instead in phrases:
            for found in phrase.finditer(text):
                said = " ".join(found.group().split())
                print(f"{file}:{text.count(chr(10), 0, found.start()) + 1}: '{said}': {instead}")


main(*sys.argv[1:])
