#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""judge-names.py KALLSYMS VM JSONL: the text of each function event says the names that the guest's
table of symbols has for its two addresses. Prints how many; exits 1 at the first that differs."""
import bisect
import json
import sys

names = {}
for line in open(sys.argv[1], encoding="utf-8"):
    address, kind, name = line.split()[:3]
    if kind in "tTwW":
        names.setdefault(int(address, 16), set()).add(name)
begins = sorted(names)
count, functions = 0, set()
for line in open(sys.argv[3], encoding="utf-8"):
    event = json.loads(line)
    if event.get("vm") != sys.argv[2] or event.get("event") != "function":
        continue
    said = event["text"].strip().split(" <-- ")
    for name, field in zip(said, ("ip", "parent_ip")):
        at = bisect.bisect_right(begins, int(str(event["fields"][field]), 0)) - 1
        if name not in names[begins[at]]:
            print(f"{field} {event['fields'][field]}: said {name}, is {names[begins[at]]}")
            sys.exit(1)
        functions.add(name)
        count += 1
print(f"{count} names, {len(functions)} functions")
sys.exit(count < 1000 or len(functions) < 20)
