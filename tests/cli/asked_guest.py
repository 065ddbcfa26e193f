#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A guest for what asks one to switch events on: asked_guest.py TEMPLATE REGION LOG MODE

Waits until the file REGION is there and is as long as TEMPLATE, a region without a writer. Then
formats it as the kernel module does, and answers requests as MODE says; LOG gets each request.
Ends when the file is gone. The file GUEST_WAITS of the environment, if that is set, is waited for first.
"""
import fcntl
import mmap
import os
import struct
import sys
import time

template, path, log, mode = sys.argv[1:]
KIND, GENERATION, ACK, RESULT, HOST_EVENTS = 92, 128, 132, 136, 164
SEQ, LEN, TEXT = 64, 68, 128
EPERM, EINVAL = -1, -22
KNOWN = ("+sched:*", "+irq:*", "+irq:irq_handler_entry")
# What the header says of the owner's consent, and the answer; None: to known events yes.
MODES = {
    "allows": (2, None),
    "refuses": (1, EPERM),
    "allows-later": (0, EPERM),  # the first answer, then allows
    "refuses-later": (0, EPERM),  # the first answer, then says so
    "old-allows": (0, None),
    "old-refuses": (0, EPERM),
    "lies": (2, EPERM),
    "odd": (2, 77),
    "wild": (0xdeadbeef, EPERM),
    "silent": (2, None),
    "locked": (2, None),  # as if a recorder were at work
    "program": (2, None),
}
consent, answer = MODES[mode]

whole = open(template, "rb").read()
while not os.path.exists(path) or os.path.getsize(path) != len(whole):
    time.sleep(0.01)
file = open(path, "r+b")
if mode == "locked":
    fcntl.flock(file, fcntl.LOCK_EX)
region = mmap.mmap(file.fileno(), len(whole))
generation = struct.unpack_from("<I", region, GENERATION)[0] + 1


def put(at, value):
    struct.pack_into("<i" if value < 0 else "<I", region, at, value)


def get(at):
    return struct.unpack_from("<I", region, at)[0]


while "GUEST_WAITS" in os.environ and not os.path.exists(os.environ["GUEST_WAITS"]):
    time.sleep(0.01)
region[0:8] = bytes(8)
region[8:] = whole[8:]
put(KIND, 2 if mode == "program" else 1)
put(GENERATION, generation)
put(HOST_EVENTS, consent)
region[0:8] = whole[0:8]
host = struct.unpack_from("<Q", region, 32)[0]
while os.path.exists(path):
    time.sleep(0.005)
    seq = get(host + SEQ)
    if mode == "silent" or seq == get(ACK):
        continue
    text = region[host + TEXT:host + TEXT + get(host + LEN)].decode()
    with open(log, "a") as to:
        to.write(text)
    result = answer
    if answer is None:
        result = 0 if text.rstrip("\n") in KNOWN else EINVAL
    put(RESULT, result)
    put(ACK, seq)
    if mode == "allows-later":
        answer = None
        put(HOST_EVENTS, 2)
    elif mode == "refuses-later":
        put(HOST_EVENTS, 1)
