#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""kernel_text.py KERNEL-TRACE REPORT EVENTS SHARE [hashed]: the text of each event in a kernel's
own `trace` file against that of `xvtrace report`, which has these events and perhaps more. EVENTS is
its file `available_events`.

Tells each event of which more than SHARE of the kernel's texts have no equal in the report, and
ends with the number of events, of those that differ, and of those that differ and are none of the
exceptions of xvtrace-report(1). With a SHARE, for where events were lost, a text is missing only if
the report has another one of that event and task that the kernel has not. Of an address only the form may differ, but where the kernel
hashed them; f+0x1/0x20 and f+0x1 are alike. Exits 1 if one differs that is no exception.
"""
import collections
import fnmatch
import re
import sys

PAGE = 'docs/xvtrace-report.1.md'
HASHED = sys.argv[5:] == ['hashed']


def alike(text):
    text = text.replace('\t', '\\t').replace('\0', '\ufffd')  # xvtrace shows what a terminal obeys
    text = re.sub(r'(\+0x[0-9a-f]+)/0x[0-9a-f]+', r'\1', text)
    if HASHED:
        text = re.sub(r'\b0{16}\b', '0x0', text)
        return re.sub(r'(0x)?[0-9a-f]{12,16}(?![0-9a-f])', 'P', text).rstrip()
    return re.sub(r'\b(?:0x)?0*([0-9a-f]+)\b', lambda m: address(m[0], m[1]), text).rstrip()


def address(word, digits):
    """The kernel writes addresses in 16 digits, xvtrace writes them as other hexadecimals."""
    return '0x' + digits if len(word) == 16 else word


def read(path, head, only=None):
    """Counts the texts of each event, with the number of its task, of all tasks or only of these.
    What has no head is one more line of a text."""
    events = collections.defaultdict(collections.Counter)
    texts = []
    wanted = False
    with open(path, errors='replace') as lines:
        for line in lines:
            line = line.rstrip('\n')
            m = re.match(head, line)
            if m:
                wanted = only is None or m[1] in only
                if wanted:
                    texts.append([m[1], line[m.end():]])
            elif wanted and line and line[0] != '#':
                texts[-1][1] += '\\n' + line
    for task, text in texts:
        m = re.match(r'(\w+?): ?(.*)$', text)  # a system call's has no colon
        if m:
            name = m[1].replace('tracing_mark_write', 'print')
            events[name][f'{task} {alike(m[2])}'] += 1
    return events


def exceptions(events):
    """The events that the page's table lists, by patterns of SYSTEM:EVENT."""
    with open(PAGE) as page:
        table = re.search(r'^## TEXTS THAT DIFFER\n(.*?)^## ', page.read(), re.M | re.S)[1]
    patterns = re.findall(r'^\| `([^`]+:[^`]+)` \|', table, re.M)
    if not patterns:
        sys.exit(f'{PAGE} lists no exceptions')
    with open(events) as lines:
        return {line.split(':')[1].strip() for line in lines
                if any(fnmatch.fnmatchcase(line.strip(), p) for p in patterns)}


def replaced(missing, others):
    """How many of the missing texts have another of their task in their place."""
    tasks = collections.Counter(), collections.Counter()
    for count, texts in zip(tasks, (missing, others)):
        for text, n in texts.items():
            count[text.split(' ', 1)[0]] += n
    return sum((tasks[0] & tasks[1]).values())


def main():
    kernel = read(sys.argv[1], r'\s*.+?-(\d+)\s+\[\d+\]\s+\S+\s+[0-9.]+: ')
    tasks = {text.split(' ', 1)[0] for texts in kernel.values() for text in texts}
    report = read(sys.argv[2], r'\S+ \S+\s+\S+ .+?-(\d+)\s+', tasks)
    share = float(sys.argv[4])
    listed = exceptions(sys.argv[3])
    differ = wrong = 0
    for name in sorted(kernel):
        missing = kernel[name] - report[name]
        gone = replaced(missing, report[name] - kernel[name]) if share else sum(missing.values())
        if gone <= share * sum(kernel[name].values()):
            continue
        differ += 1
        excepted = name in listed
        wrong += not excepted
        mine = next(iter(report[name] - kernel[name]), '(no such event)')
        print(f'# {"exception" if excepted else "DIFFERS"}: {name}: {gone} of '
              f'{sum(kernel[name].values())}')
        print(f'#   kernel: {next(iter(missing))[:200]}\n#   report: {mine[:200]}')
    print(f'{len(kernel)} events, {differ} differ, {wrong} wrong')
    return wrong > 0


sys.exit(main())
