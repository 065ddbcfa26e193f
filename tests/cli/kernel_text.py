#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""kernel_text.py KERNEL-TRACE REPORT EXCEPTIONS SHARE: the text of each event in a kernel's own
`trace` file against that of `xvtrace report`, which has these events and perhaps more.

Tells each event of which more than SHARE of the kernel's texts have no equal in the report, and
ends with the number of events, of those that differ, and of those that differ and are in no line of
EXCEPTIONS. Addresses are alike, since the kernel hashes them; so are
f+0x1/0x20 and f+0x1. Exits 1 if one differs that is no exception.
"""
import collections
import re
import sys


def alike(text):
    text = text.replace('\t', '\\t')  # xvtrace shows what a terminal obeys
    text = re.sub(r'\+0x[0-9a-f]+(/0x[0-9a-f]+)?', '+O', text)
    text = re.sub(r'\b0{16}\b', '0x0', text)
    return re.sub(r'(0x)?[0-9a-f]{12,16}(?![0-9a-f])', 'P', text).rstrip()


def read(path, pattern):
    events = collections.defaultdict(collections.Counter)
    with open(path, errors='replace') as lines:
        for line in lines:
            m = re.match(pattern, line.rstrip('\n'))
            if m:
                events[m[1]][alike(m[2])] += 1
    return events


def main():
    kernel = read(sys.argv[1], r'^\s*.+?-\d+\s+\[\d+\]\s+\S+\s+[0-9.]+: (\w+?): ?(.*)$')
    report = read(sys.argv[2], r'^\S+ \S+\s+\S+ .+?-\d+\s+(\w+?): ?(.*)$')
    with open(sys.argv[3]) as lines:
        exceptions = set(lines.read().split())
    differ = wrong = 0
    for name in sorted(kernel):
        missing = kernel[name] - report[name]
        if sum(missing.values()) <= float(sys.argv[4]) * sum(kernel[name].values()):
            continue
        differ += 1
        excepted = name in exceptions
        wrong += not excepted
        mine = next(iter(report[name] - kernel[name]), '(no such event)')
        print(f'# {"exception" if excepted else "DIFFERS"}: {name}: {sum(missing.values())} of '
              f'{sum(kernel[name].values())}')
        print(f'#   kernel: {next(iter(missing))[:200]}\n#   report: {mine[:200]}')
    print(f'{len(kernel)} events, {differ} differ, {wrong} wrong')
    return wrong > 0


sys.exit(main())
