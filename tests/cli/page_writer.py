# SPDX-License-Identifier: GPL-2.0
"""page_writer.py PAGE REGION COUNT BURST: a writer of ring 0 that has every offset from the tables of
docs/writing-a-writer.md, and no header. It formats a region that is blank. After each BURST of events it waits until all
are taken. The numbers in brackets are the page's sections."""
import mmap
import os
import re
import sys
import time

page, path, count, burst = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])

# --- the page's tables: at[STRUCT, FIELD] = (offset, size) ---
at, sizes, name = {}, {}, ""
for line in open(page, encoding="utf-8"):
    head = re.search(r"`struct (\w+)`, (\d+) bytes", line)
    row = re.match(r"\| (\d+) \| ([\d+]+) \| ([\w, ]+) \|", line)
    if head:
        name = head[1]
        sizes[name] = int(head[2])
    elif line.startswith("#"):
        name = ""
    elif row and name:
        offset = int(row[1])
        for size, field in zip(row[2].split("+"), row[3].split(",")):
            at[name, field.strip()] = (offset, int(size))
            offset += int(size)

fd = os.open(path, os.O_RDWR)
memory = memoryview(mmap.mmap(fd, 0))
words = {4: memory.cast("I"), 8: memory.cast("Q"), 2: memory.cast("H")}


class Struct:
    """Words of one struct: each is read and written with one access."""

    def __init__(self, kind, begin):
        self.kind, self.begin = kind, begin

    def place(self, field, index=0, size=0):
        offset, whole = at[self.kind, field]
        size = size or whole
        return words[size], (self.begin + offset + index * size) // size

    def get(self, field, **where):
        word, i = self.place(field, **where)
        return word[i]

    def put(self, field, value, **where):
        word, i = self.place(field, **where)
        word[i] = value


def clock():
    return time.monotonic_ns()


HEADER_MAGIC, RING_MAGIC, SUBBUF_MAGIC = 0x3145434152545658, 0x52545658, 0x53545658
PAD_END, MARK, U64 = 1, 5, 18
FULL, BIG = 0, 2
BIT_FULL, BIT_DONE = 1 << 60, 1 << 61
CALLER = 3  # clock_id: a function of the writer's
hdr = Struct("xvt_region_hdr", 0)


def format_region():  # [1]
    align, subbuf, nr = 4096, 4096, 16
    values = {"major": 1, "minor": 1, "oldest": 1, "hdr_size": sizes["xvt_region_hdr"], "region_size": len(memory),
              "host_off": align, "meta_off": 2 * align, "meta_size": align, "ctl_off": 3 * align, "data_off": 5 * align,
              "align": align, "ctl_stride": 2 * align, "ring_count": 1, "subbuf_size": subbuf, "subbuf_count": nr,
              "kind": 0, "clock_id": CALLER, "ts_bits": 32, "clock_hz": 10**9}
    for field, value in values.items():
        hdr.put(field, value)
    fresh = Struct("xvt_ring_ctl", 3 * align)  # [10] a fresh control block
    for field, value in {"magic": RING_MAGIC, "cpu": 0, "subbuf_size": subbuf, "subbuf_count": nr, "clock_id": CALLER,
                         "ts_bits": 32, "backend": 0}.items():
        fresh.put(field, value)
    hdr.put("magic", HEADER_MAGIC)


if hdr.get("magic") == 0:
    format_region()
assert hdr.get("magic") == HEADER_MAGIC and hdr.get("oldest") == 1 and hdr.get("incompat") == 0
S = hdr.get("subbuf_size")
size = S * hdr.get("subbuf_count")
ctl = Struct("xvt_ring_ctl", hdr.get("ctl_off"))
host = Struct("xvt_ring_host", hdr.get("ctl_off") + hdr.get("align"))
data = hdr.get("data_off")


def begin_generation():  # [2]
    number = hdr.get("generation") + 1
    gen = Struct("xvt_ring_gen", ctl.begin + at["xvt_ring_ctl", "gen"][0] + number % 4 * sizes["xvt_ring_gen"])
    gen.put("prev_commit", ctl.get("commit"))
    gen.put("prev_resv", ctl.get("resv"))  # backend 0: a position
    gen.put("prev_nest", ctl.get("nest"))
    start = -(-ctl.get("resv") // S) * S
    gen.put("start", start)
    gen.put("generation", number)
    for field in ("nest", "before_stamp", "write_stamp", "epoch_seen", "answer_seq", "state"):
        ctl.put(field, 0)
    ctl.put("clock_id", CALLER)
    ctl.put("generation", number)
    ctl.put("resv", start)
    ctl.put("commit", start)
    hdr.put("displaced", 0)
    hdr.put("ringless", 0)
    hdr.put("claim", 0)
    hdr.put("host_events", 0)
    hdr.put("kind", 2)
    hdr.put("clock_id", CALLER)
    hdr.put("clock_hz", 10**9)
    place = at["xvt_region_hdr", "vm_name"][0]
    memory[place:place + 5] = b"page\0"
    hdr.put("generation", number)
    ctl.put("type", 2)
    ctl.put("pid", os.getpid())
    ctl.put("tid", os.getpid())
    ctl.put("state", 1)
    return start


def tlv():  # [7], [10]
    meta = Struct("xvt_meta_hdr", hdr.get("meta_off"))
    text = b"a writer of a page"
    begin = hdr.get("meta_off") + sizes["xvt_meta_hdr"] + meta.get("committed")
    head = Struct("xvt_meta_tlv", begin)
    for field, value in {"type": 7, "len": len(text), "generation": hdr.get("generation"), "id": 0}.items():
        head.put(field, value)
    begin += sizes["xvt_meta_tlv"]
    memory[begin:begin + len(text)] = text
    meta.put("committed", meta.get("committed") + sizes["xvt_meta_tlv"] + -(-len(text) // 8) * 8)


def word(position, value):
    words[8][(data + position % size) // 8] = value


def record_header(position, ident, len8, stamp):
    return (position // size & 3) << 62 | ident << 44 | len8 << 32 | stamp & 0xffffffff


pos = begin_generation()
proven = None  # (epoch, time) of the record before
tlv()


def open_subbuf(need, stamp, epoch, mode):  # [4]
    global pos
    left = -pos % S
    if left:
        word(pos, record_header(pos, PAD_END, min(left // 8, 4095), 0) | BIT_DONE)
        pos += left
        ctl.put("resv", pos)
    if mode == 1 and pos + S - host.get("cons") // S * S > size:
        return False
    ctl.put("resv", pos + sizes["xvt_subbuf_hdr"] + need)
    h = Struct("xvt_subbuf_hdr", data + pos % size)
    h.put("hdr_len", sizes["xvt_subbuf_hdr"])
    h.put("flags", 1 if mode == 2 else 0)
    for field, value in {"seq": pos // S, "ts_base": stamp, "epoch": epoch, "generation": ctl.get("generation"),
                         "attempted": ctl.get("attempted"), "discarded": ctl.get("discarded") & 0xffffffff}.items():
        h.put(field, value)
    for cause in range(5):
        h.put("lost", ctl.get("lost", index=cause, size=8) & 0xffffffff, index=cause, size=4)
    h.put("magic", SUBBUF_MAGIC)
    pos += sizes["xvt_subbuf_hdr"]
    return True


def put(ident, payload, mode):  # [3]: the cause of a loss, or None
    global pos, proven
    before, proven = proven, None
    while True:
        epoch = host.get("epoch")
        stamp = clock()
        if host.get("epoch") == epoch:
            break
    need = 8 + 8 * len(payload)
    if need > S - sizes["xvt_subbuf_hdr"] or need > 4094 * 8:
        return BIG
    full = not (before and before[0] == epoch and 0 <= stamp - before[1] < 1 << hdr.get("ts_bits"))
    if pos % S == 0 or pos % S + need + 8 * full > S:
        if not open_subbuf(need, stamp, epoch, mode):
            return FULL
        full = False
    need += 8 * full
    ctl.put("resv", pos + need)
    header = record_header(pos, ident, need // 8, stamp) | (BIT_FULL if full else 0)
    word(pos, header)
    if full:
        word(pos + 8, stamp >> 32 | epoch << 32)
    for i, value in enumerate(payload):
        word(pos + 8 + 8 * full + 8 * i, value)
    word(pos, header | BIT_DONE)
    pos += need
    proven = (epoch, stamp)
    return None


def event(ident, payload):
    if not host.get("enable"):
        return
    ctl.put("nest", 1)
    mode = host.get("enable")
    if mode:
        counts = ident >= 16
        ctl.put("attempted", ctl.get("attempted") + counts)
        cause = put(ident, payload, mode)
        if cause is not None:
            ctl.put("lost", ctl.get("lost", index=cause, size=8) + counts, index=cause, size=8)
    ctl.put("commit", pos)
    ctl.put("nest", 0)


def answer():  # [5]
    mark = host.get("mark_seq")
    if mark != ctl.get("mark_ack"):
        event(MARK, [mark, clock()])
        ctl.put("mark_ack", mark)
    while True:
        seq = host.get("request_seq")
        if seq != ctl.get("answer_seq"):
            ctl.put("answer_clock", clock())
            ctl.put("answer_seq", seq)
        if not host.get("request_more"):
            break


def wait_for(condition):
    while not condition():
        answer()
        time.sleep(0.0005)


wait_for(lambda: host.get("enable"))
for number in range(count):
    event(U64, [0, number])
    if number % burst == burst - 1:
        wait_for(lambda: host.get("cons") == ctl.get("commit"))
wait_for(lambda: host.get("cons") == ctl.get("commit"))
ctl.put("state", 2)  # [6]
