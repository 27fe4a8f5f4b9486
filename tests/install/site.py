"""What is wrong with the site, a line each: site.py links SITE, or site.py calls SITE SOURCE."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.text = [], [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            elif name in ("href", "src"):
                self.links.append(value)

    def handle_data(self, data):
        self.text.append(data)


def words(text):
    return " ".join(re.findall(r"[A-Za-z_]+", text)) + " "


def wrong_links(site):
    pages = {path: Page(path) for path in site.rglob("*.html")}
    count = 0
    for path, page in pages.items():
        name = path.relative_to(site)
        for id_ in {id_ for id_ in page.ids if page.ids.count(id_) > 1}:
            yield f"{name} has the anchor {id_} twice"
        for link in page.links:
            url = urlsplit(link)
            if url.scheme:
                continue
            count += 1
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            if not target.is_file():
                yield f"{name} links to {link}, which is not there"
            elif url.fragment and unquote(url.fragment) not in pages[target].ids:
                yield f"{name} links to {link}, and there is no such anchor"
    if count < 1000:
        yield f"there are only {count} links"


def wrong_calls(site, source):
    overview = Page(site / "api.html").links
    calls = re.findall(r"^\t(leash_\w+);", (source / "lib/libleash.map").read_text(), re.M)
    headers = "".join(path.read_text() for path in (source / "include/leash").glob("*.h"))
    documented = re.findall(r"/\*\*((?:(?!\*/).)*)\*/\s*LEASH_API[^;(]*?(\w+)\(", headers, re.S)
    comments = {name: text for text, name in documented}
    if len(calls) < 100:
        yield f"there are only {len(calls)} calls in libleash.map"
    for name in calls:
        if f"man/{name}.3.html" not in overview:
            yield f"{name} is not in the overview"
        page = site / f"man/{name}.3.html"
        there = words("".join(Page(page).text)) if page.is_file() else ""
        comment = re.sub(r"^ ?\* ?", "", comments.get(name, "no comment in the headers"), flags=re.M)
        for part in re.split(r"\n\n|@\w+|\n- |Threads: \w+|Since ", comment):
            if words(part) not in there:
                yield f"{name}: the page has not: {part.strip()}"


if __name__ == "__main__":
    check = {"links": wrong_links, "calls": wrong_calls}[sys.argv[1]]
    wrong = list(check(*(Path(argument).resolve() for argument in sys.argv[2:])))
    print("\n".join(wrong), end="")
    sys.exit(1 if wrong else 0)
