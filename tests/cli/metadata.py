#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Plays a kernel that sends metadata: metadata.py REGION [SYSTEM:EVENT[@GENERATION]]...

Writes a kernel's text and a format for each event into a formatted region, as the Linux module does, and
makes it a Linux guest's of generation 7. "-" as an event stands for an entry without names, "bad" for one that is
longer than the area.
"""
import struct
import sys

GENERATION = 7


def tlv(kind, payload, generation=GENERATION):
    padded = payload + bytes(-len(payload) % 8)
    return struct.pack("<IIII", kind, len(payload), generation, 1) + padded


def entry(word):
    name, _, generation = word.partition("@")
    if name == "-":
        return tlv(1, b"no names")
    if name == "bad":
        return struct.pack("<IIII", 1, 1 << 30, GENERATION, 1)
    names = name.encode("latin-1").replace(b":", b"\0", 1)
    return tlv(1, names + b"\0name: text", int(generation or GENERATION))


path, *events = sys.argv[1:]
with open(path, "r+b") as f:
    f.seek(40)
    (meta_off,) = struct.unpack("<Q", f.read(8))
    area = tlv(7, b"Linux 6.1.0-test x86_64") + b"".join(map(entry, events))
    f.seek(meta_off)
    f.write(struct.pack("<Q", len(area)))
    f.seek(meta_off + 64)
    f.write(area)
    f.seek(92)
    f.write(struct.pack("<I", 1))
    f.seek(128)
    f.write(struct.pack("<I", GENERATION))
