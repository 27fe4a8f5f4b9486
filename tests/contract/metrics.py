"""What examples/metrics wrote, on stdin, as Prometheus' own parser reads it: is it what the program says that it did?"""

import sys

from prometheus_client.parser import text_string_to_metric_families

page = sys.stdin.read()
words = page.splitlines()[-1].split()
jobs, least, most = int(words[1]), float(words[7]), float(words[9])
families = {family.name: family for family in text_string_to_metric_families(page)}
wrong = []


def expect(what, is_so):
    if not is_so:
        wrong.append(what)


def samples(family, suffix, **labels):
    found = [
        sample
        for sample in families[family].samples
        if sample.name == family + suffix and labels.items() <= sample.labels.items()
    ]
    expect(f"{family}{suffix} {labels} is there", found)
    return found


def value(family, suffix="", **labels):
    found = samples(family, suffix, **labels)
    expect(f"{family}{suffix} {labels} is there once", len(found) == 1)
    return found[0].value if found else 0


for family in families.values():
    expect(f"{family.name} is explained", family.documentation.endswith("."))
    for sample in family.samples:
        expect(f"{sample.name} is the client's", sample.labels["client"] == "metrics" and sample.labels["server"])
for family, labels in ("hold", {}), ("wait", {}), ("group_hold", {"group": "jobs"}), ("group_wait", {"group": "jobs"}):
    family = f"leash_{family}_seconds"
    limits = samples(family, "_bucket", **labels)
    counts = [sample.value for sample in limits]
    expect(f"{family} is a histogram", families[family].type == "histogram" and counts == sorted(counts))
    expect(f"{family} is of {jobs} jobs", value(family, "_count", **labels) == counts[-1] == jobs)
    below = [sample.value for sample in limits if float(sample.labels["le"]) < 0.01 and "hold" in family]
    expect(f"{family}: no job is shorter than it slept", not any(below))
for family, labels in ("leash_hold_seconds", {}), ("leash_group_hold_seconds", {"group": "jobs"}):
    held = value(family, "_sum", **labels)
    expect(f"{family}: {held} s is from {least} to {most}", least * 0.98 <= held <= most * 1.02)
expect("as many were acquired", value("leash_acquired", "_total") == jobs)
expect("as many were released", value("leash_released", "_total") == jobs)
expect("each took two commands", value("leash_round_trip_seconds", "_count") >= 2 * jobs)
expect("nothing is held now", value("leash_holding") == 0)
expect("it is connected", value("leash_connected") == 1)
print("\n".join(wrong) or f"{jobs} jobs, {value('leash_hold_seconds', '_sum'):.3f} s of {least:.3f} to {most:.3f} s")
sys.exit(bool(wrong))
