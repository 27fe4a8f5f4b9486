"""The documentation as a site: build.py SOURCE MAN OUT

SOURCE is the source tree, MAN the folder of man pages that docs/man3.awk made, OUT a folder, which is replaced. Beside
MAN is leash.1, unless the command is not built. `make html` calls it.

There is a page for each Markdown file, for each man page, and for each source file that one of them points to. The
navigation is what the tables of README.md list. `leash_...` in code leads to its man page. A link to a file that is
not there is an error, and nothing is written.
"""

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from markdown_it import MarkdownIt

HERE = Path(__file__).parent
TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="stylesheet" href="{root}style.css">
</head>
<body data-root="{root}">
<nav>
<label>Search titles and calls<input id="search" type="search"></label>
<ul id="found"></ul>
<details open><summary>Contents</summary>
{menu}
</details>
</nav>
<main>
{body}
</main>
<script src="{root}index.js"></script>
<script src="{root}search.js"></script>
</body>
</html>
"""
SHOWN = (".c", ".cpp", ".h", ".py", ".sh")
# Where mandoc has prototypes and declarations; what is a link already comes first.
MANDOC_CODE = r'(?s)<a class="permalink".*?</a>|(<(?:(?:var|code) class="F[atno]"[^>]*|pre)>)([^<]*)'
ELSEWHERE = "https://manpages.debian.org/"


def out_name(path):
    """Where the page of a file of the source tree is."""
    folder, name = os.path.split(path)
    if name == "README.md":
        return os.path.join(folder, "index.html")
    return re.sub(r"\.md$", "", path) + ".html"


def relative(target, page):
    return os.path.relpath(target, os.path.dirname(page) or ".")


def text_of(inline):
    return "".join(child.content for child in inline.children if child.type in ("text", "code_inline"))


class Site:
    def __init__(self, source, man, out):
        self.source, self.man, self.out = source, man, out
        self.pages = {}  # name in the site: (title, body)
        self.index = []  # (title, where, of which page)
        self.errors = []
        self.files = []  # of the source, still to be shown
        self.groups = []  # (title, [(title, page)])
        overviews = (man.parent / "leash.1", source / "docs/leash.3")
        self.overviews = {path.name: path for path in overviews if path.exists()}
        self.manuals = {path.stem: f"man/{path.name}.html" for path in man.glob("*.3")}
        self.markdown = MarkdownIt("commonmark").enable("table")
        self.markdown.add_render_rule("code_inline", lambda _, *rest: self.code_inline(*rest))
        for kind in ("fence", "code_block"):
            self.markdown.add_render_rule(
                kind, lambda _, tokens, i, options, env: self.block(tokens[i].content, env["page"])
            )

    # ---- code ----

    def linked(self, code, page, escape=html.escape):
        """Code in HTML, its calls and types linked to their man pages."""

        def link(match):
            manual = self.manuals.get(match[0])
            return f'<a href="{relative(manual, page)}">{match[0]}</a>' if manual and manual != page else match[0]

        return re.sub(r"\bleash_[a-z0-9_]+\b", link, escape(code))

    def block(self, code, page):
        return f"<pre><code>{self.linked(code, page)}</code></pre>\n"

    def code_inline(self, tokens, i, options, env):
        before = [token.type for token in tokens[:i]]
        in_link = before.count("link_open") > before.count("link_close")
        code = tokens[i].content
        return f"<code>{html.escape(code) if in_link else self.linked(code, env['page'])}</code>"

    # ---- Markdown ----

    def resolve(self, path, href):
        """What a link of the file `path` is on its page."""
        page = out_name(path)
        if re.match(r"[a-z]+:|#|$", href):
            return href
        name, hash_, fragment = href.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(path), name))
        if not (self.source / target).exists() or target.startswith(".."):
            self.errors.append(f"{path} links to {href}, which is not there")
            return href
        if re.fullmatch(r"docs/leash\.\d", target):
            target = f"man/{os.path.basename(target)}.html"
        elif target.endswith(".svg"):
            (self.out / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.source / target, self.out / target)
        else:
            if not target.endswith(".md"):
                self.files.append(target)
            target = out_name(target)
        return relative(target, page) + hash_ + fragment

    def add_markdown(self, path):
        page = out_name(path)
        tokens = self.markdown.parse((self.source / path).read_text(), {})
        slugs, title = {}, ""
        for i, token in enumerate(tokens):
            if token.type == "heading_open":
                text = text_of(tokens[i + 1])
                slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
                count = slugs[slug] = slugs.get(slug, -1) + 1
                token.attrSet("id", f"{slug}-{count}" if count else slug)
                title = title or text
                if token.tag in ("h2", "h3"):
                    self.index.append((text, f"{page}#{token.attrGet('id')}", title))
            for child in token.children or ():
                for name in ("href", "src"):
                    if child.attrGet(name) is not None:
                        child.attrSet(name, self.resolve(path, child.attrGet(name)))
        if path == "README.md":
            self.groups = list(self.tables_of_links(tokens))
        body = self.markdown.renderer.render(tokens, self.markdown.options, {"page": page})
        body = body.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")
        self.pages[page] = (title or path, body)

    @staticmethod
    def tables_of_links(tokens):
        """Of each table with a title and a blank in its head: the title and what its first column links to."""
        for start in (i for i, token in enumerate(tokens) if token.type == "table_open"):
            end = next(i for i in range(start, len(tokens)) if tokens[i].type == "table_close")
            cells = [tokens[i] for i in range(start, end) if tokens[i].type == "inline"]
            if cells[1].content:
                continue
            links = []
            for cell in cells[2::2]:
                for child, text in zip(cell.children, cell.children[1:]):
                    if child.type == "link_open":
                        links.append((text.content, child.attrGet("href")))
            yield cells[0].content, links

    # ---- man pages, the API, source files ----

    def add_manual(self, path):
        page = f"man/{path.name}.html"
        mandoc = ["mandoc", "-T", "html", "-O", "fragment,man=%N.%S.html", path]
        body = subprocess.run(mandoc, check=True, stdout=subprocess.PIPE, text=True).stdout

        def outside(match):
            name = match[1]
            known = name in self.overviews or (self.man / name).exists()
            return match[0] if known else f'href="{ELSEWHERE}{name}"'

        body = re.sub(r'href="([\w.+-]+\.\d\w*)\.html"', outside, body)
        title = f"{path.stem}({path.suffix[1:]})"
        body = re.sub(r'<table class="(head|foot)">.*?</table>', "", body, flags=re.S)
        body = re.sub(MANDOC_CODE, lambda m: m[0] if m[1] is None else m[1] + self.linked(m[2], page, str), body)
        header = re.search(r'<a class="In">(leash/\w+\.h)</a>', body)
        if header and path.stem in self.manuals:
            where = relative(out_name("include/" + header[1]), page)
            body = body.replace(header[0], f'<a class="In" href="{where}">{header[1]}</a>')
            self.index.append((path.stem, page, header[1]))
        self.pages[page] = (title, f"<h1>{title}</h1>\n{body}")

    def add_api(self):
        """All calls and types, by header."""
        page, body = "api.html", ["<h1>Calls and types by header</h1>"]
        texts = {path.stem: path.read_text() for path in sorted(self.man.glob("*.3"))}
        declared_in = {call: re.search(r"Made from (\S+) by", text)[1] for call, text in texts.items()}
        for header in sorted((self.source / "include/leash").glob("*.h")):
            name = f"leash/{header.name}"
            self.files.append(f"include/{name}")
            summary = re.match(r"/\*\s*(.*?)(\n \*\n|\*/)", header.read_text(), re.S)[1]
            summary = re.sub(r"\n \* ?", " ", summary)
            body.append(f'<h2 id="{header.stem}"><a href="{out_name("include/" + name)}">{name}</a></h2>')
            body.append(f"<p>{self.linked(summary, page)}</p>\n<dl>")
            for call in [call for call, where in declared_in.items() if where == name]:
                about = html.escape(re.search(r"^\.Nd (.*)", texts[call], re.M)[1])
                body.append(f'<dt><a href="{self.manuals[call]}"><code>{call}</code></a></dt><dd>{about}</dd>')
            body.append("</dl>")
        self.pages[page] = ("Calls and types by header", "\n".join(body))

    def add_file(self, path):
        page, full = out_name(path), self.source / path
        if full.is_dir():
            inside = [f"{path}/{entry.name}" for entry in sorted(full.iterdir()) if entry.suffix in SHOWN]
            self.files += inside
            links = (f'<a href="{relative(out_name(name), page)}">{os.path.basename(name)}</a>' for name in inside)
            body = "<ul><li>" + "</li><li>".join(links) + "</li></ul>"
        else:
            body = self.block(full.read_text(), page)
        self.pages[page] = (path, f"<h1>{path}</h1>\n{body}")

    # ---- the whole ----

    def menu(self, page):
        items = []
        for title, links in self.groups:
            items.append(f"<h2>{html.escape(title)}</h2>\n<ul>")
            for text, target in links:
                here = ' aria-current="page"' if target == page else ""
                items.append(f'<li><a href="{relative(target, page)}"{here}>{html.escape(text)}</a></li>')
            items.append("</ul>")
        return "\n".join(items)

    def write(self):
        self.groups.insert(0, ("leash", [("Overview", "index.html")]))
        manuals = [(f"leash({name[-1]})", f"man/{name}.html") for name in self.overviews]
        self.groups.append(("Manual", [*manuals, ("Calls and types", "api.html")]))
        listed = {page for _, links in self.groups for _, page in links}
        if more := [(self.pages[page][0], page) for page in self.documents if page not in listed]:
            self.groups.append(("More", more))
        self.index += [
            (title, page, "") for page, (title, _) in self.pages.items() if page not in self.manuals.values()
        ]
        for page, (title, body) in self.pages.items():
            root = "../" * page.count("/")
            title = html.escape(title if title == "leash" else f"{title} - leash")
            full = self.out / page
            full.parent.mkdir(parents=True, exist_ok=True)
            full.write_text(TEMPLATE.format(title=title, root=root, menu=self.menu(page), body=body))
        (self.out / "index.js").write_text(f"const pages = {json.dumps(self.index)};\n")
        for name in ("style.css", "search.js"):
            shutil.copy(HERE / name, self.out / name)

    def build(self):
        shutil.rmtree(self.out, ignore_errors=True)
        documents = ["README.md", *(f"docs/{path.name}" for path in sorted((self.source / "docs").glob("*.md")))]
        documents += ["lib/lua/README.md", "bindings/python/README.md"]
        documents += ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
        documents = [path for path in documents if (self.source / path).exists()]
        self.documents = list(map(out_name, documents))
        for path in documents:
            self.add_markdown(path)
        for path in [*self.overviews.values(), *sorted(self.man.glob("*.3"))]:
            self.add_manual(path)
        self.add_api()
        while self.files:
            path = self.files.pop()
            if out_name(path) not in self.pages:
                self.add_file(path)
        if not self.errors:
            self.write()
        return self.errors


def main():
    errors = Site(*map(Path, sys.argv[1:])).build()
    for error in errors:
        print(f"html: {error}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
