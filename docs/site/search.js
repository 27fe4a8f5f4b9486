// Finds pages, sections and calls by their titles. `pages` is in index.js: [title, where, of what].
"use strict";

const most = 20;
const root = document.body.dataset.root;
const input = document.getElementById("search");
const found = document.getElementById("found");

function matches(query) {
	const words = query.toLowerCase().split(/[\s()]+/).filter(Boolean);
	const all = pages.filter(([title, , of]) => words.every((word) => `${title} ${of}`.toLowerCase().includes(word)));

	return words.length === 0 ? [] : all.sort((a, b) => a[0].length - b[0].length).slice(0, most);
}

function item([title, where, of]) {
	const li = document.createElement("li");
	const a = document.createElement("a");

	a.href = root + where;
	a.textContent = title;
	li.append(a, of === "" || of === title ? "" : ` ${of}`);
	return li;
}

input.addEventListener("input", () => found.replaceChildren(...matches(input.value).map(item)));
input.addEventListener("keydown", (event) => {
	const first = found.querySelector("a");

	if (event.key === "Enter" && first !== null)
		first.click();
});

// On a narrow screen the page comes first.
if (window.matchMedia("(max-width: 50rem)").matches)
	document.querySelector("nav details").open = false;
