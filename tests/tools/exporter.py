"""What leash exporter answers, as Prometheus' own parser and a plain HTTP client see it. Says what is wrong, or nothing."""

import http.client
import socket
import sys
import time

from prometheus_client.parser import text_string_to_metric_families

NAMES = ["nightly", "two words", 'say "hi"', "un\\x5cslashed", "new\\x0aline", "zürich", "gr\\xfcn", "gpu"]
EACH = [
    "leash_lock_held",
    "leash_lock_lease_remaining_seconds",
    "leash_lock_waiters",
    "leash_lock_depth",
    "leash_lock_out",
]


def expect(what, is_so):
    if not is_so:
        print(what)


def read(text):
    """All samples by name; each is of a family that is explained, and there once."""
    samples, seen = {}, set()
    for family in text_string_to_metric_families(text):
        expect(f"{family.name} is explained", family.documentation.endswith("."))
        expect(f"{family.name} has a type", family.type in ("gauge", "counter"))
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            expect(f"{key} is there once", key not in seen)
            seen.add(key)
            samples.setdefault(sample.name, []).append(sample)
    return samples


def value(samples, name, **labels):
    found = [s.value for s in samples.get(name, []) if labels.items() <= s.labels.items()]
    expect(f"{name} {labels} is there once, in {found}", len(found) == 1)
    return found[0] if found else 0


def check_locks(samples):
    for name in EACH:
        names = sorted(s.labels["lock"] for s in samples.get(name, []))
        expect(f"{name} is of {names}", names == sorted(NAMES))
    expect("it is up", value(samples, "leash_up") == 1)
    expect("8 locks", value(samples, "leash_locks") == 8 and value(samples, "leash_locks_left_out") == 0)
    expect("kinds", value(samples, "leash_lock_held", lock="gpu", kind="semaphore") == 1)
    expect("permits", value(samples, "leash_lock_out", lock="gpu") == 2)
    left = value(samples, "leash_lock_lease_remaining_seconds", lock="zürich")
    expect(f"{left} s of an hour are left", 3000 < left <= 3600)
    since = value(samples, "leash_lock_held_since_timestamp_seconds", lock="nightly")
    expect(f"held for {time.time() - since} s", -1 < time.time() - since < 600)
    expect("it has a fence", value(samples, "leash_lock_fence", lock="nightly") > 1e17)
    expect("permits have none", all(s.labels["lock"] != "gpu" for s in samples["leash_lock_fence"]))
    expect("no circle", value(samples, "leash_wait_circles") == 0)


def ask(url, path="/metrics", method="GET", headers=None):
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
    connection.request(method, path, headers=headers or {})
    response = connection.getresponse()
    return response, response.read().decode()


def say(url, data, more=b""):
    """The status that these bytes are answered with, and what follows; None: it is closed without an answer."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as s:
        s.sendall(data)
        if more:
            time.sleep(0.1)
            s.sendall(more)
        answer = b""
        while piece := s.recv(65536):
            answer += piece
    return int(answer.split()[1]) if answer else None


def page(path):
    with open(path, encoding="utf-8") as file:
        check_locks(read(file.read()))


def bounded(path, rows, locks):
    with open(path, encoding="utf-8") as file:
        samples = read(file.read())
    expect("so many have samples", all(len(samples[name]) == int(rows) for name in EACH))
    expect("all are counted", value(samples, "leash_locks") == int(locks))
    expect("the others are, too", value(samples, "leash_locks_left_out") == int(locks) - int(rows))


def away(path):
    with open(path, encoding="utf-8") as file:
        samples = read(file.read())
    expect("it is not up", value(samples, "leash_up") == 0)
    expect("nothing is said of locks", not any("lock" in name for name in samples))


def scrape(url):
    while True:  # somebody may be about to wait
        response, text = ask(url)
        samples = read(text)
        if value(samples, "leash_lock_waiters", lock="nightly") == 1:
            break
        time.sleep(0.2)
    expect("its type", response.getheader("Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
    check_locks(samples)
    expect("it counts its looks", value(samples, "leash_exporter_samples_total") >= 1)
    expect("none has failed", value(samples, "leash_exporter_samples_failed_total") == 0)
    response, text = ask(url, method="HEAD")
    expect("a HEAD has no body", response.status == 200 and text == "" and int(response.getheader("Content-Length")) > 99)


def looks(url):
    return value(read(ask(url)[1]), "leash_exporter_samples_total")


def crowd(url):
    before = looks(url)
    begun = time.time()
    host, port = url.removeprefix("http://").split(":")
    sockets = [socket.create_connection((host, int(port)), timeout=30) for _ in range(50)]
    for s in sockets:
        s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
    for s in sockets:
        answer = b""
        while piece := s.recv(65536):
            answer += piece
        expect("each is answered", b"leash_up 1" in answer)
        s.close()
    took = time.time() - begun
    expect(f"{looks(url) - before} looks in {took} s", looks(url) - before <= 3 + 2 * took)


def strangers(url):
    host = b"Host: here\r\n"
    expect("health", ask(url, "/healthz")[0].status == 200)
    expect("a query is no matter", ask(url, "/metrics?x=1")[0].status == 200)
    expect("another path", ask(url, "/")[0].status == 404 and ask(url, "/metricsx")[0].status == 404)
    response, _ = ask(url, method="POST")
    expect("another method", response.status == 405 and response.getheader("Allow") == "GET, HEAD")
    for status, data in [
        (200, b"GET /metrics HTTP/1.0\r\n\r\n"),
        (200, b"GET /metrics HTTP/1.0\n\n"),
        (200, b"GET /healthz HTTP/1.1\r\nhost:x\r\n\r\n"),
        (400, b"GET /metrics HTTP/1.1\r\n\r\n"),
        (400, b"GET /metrics\r\n\r\n"),
        (400, b"GET metrics HTTP/1.1\r\n" + host + b"\r\n"),
        (400, b"GET  /metrics HTTP/1.1\r\n" + host + b"\r\n"),
        (400, b"GET /metrics HTTP/2.0\r\n" + host + b"\r\n"),
        (400, b"GET /metrics HTTP/1.1 \r\n" + host + b"\r\n"),
        (400, b"get /metrics HTTP/1.1\r\n" + host + b"\r\n"),
        (400, b"\r\n\r\n"),
        (400, b"\x16\x03\x01\x02\x00\x01\x00"),
        (400, b"GET /\x00 HTTP/1.1\r\n"),
        (400, b"GET /" + b"x" * 9000),
        (400, b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 2000),
        (405, b"DELETE /metrics HTTP/1.1\r\n" + host + b"\r\n"),
    ]:
        got = say(url, data)
        expect(f"{data[:40]} is answered with {got}, not {status}", got == status)
    expect("in pieces", say(url, b"GET /healthz HT", b"TP/1.0\r\n\r\n") == 200)
    expect("with more behind", say(url, b"GET /healthz HTTP/1.0\r\n\r\n" + b"x" * 5000) == 200)


def crowded(url):
    """More than it has room for say nothing, or half a request: they are closed, and others get their turn."""
    host, port = url.removeprefix("http://").split(":")
    mute = [socket.create_connection((host, int(port)), timeout=60) for _ in range(60)]
    for s in mute[::2]:
        s.sendall(b"GET /metr")
    expect("others are answered", ask(url, "/healthz")[0].status == 200)
    expect("they are closed", all(s.recv(1) == b"" for s in mute))


def health(url):
    expect("it is well", ask(url, "/healthz")[1] == "ok\n")


def down(url):
    while value(samples := read(ask(url)[1]), "leash_up") == 1:
        time.sleep(0.2)
    expect("nothing is said of locks", not any("_lock" in name for name in samples))
    expect("failures are counted", value(samples, "leash_exporter_samples_failed_total") >= 1)


def up(url):
    while value(read(ask(url)[1]), "leash_up") == 0:
        time.sleep(0.2)


globals()[sys.argv[1]](*sys.argv[2:])
