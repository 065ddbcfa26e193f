#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A host that asks for events without end does not fill the log of a guest that allows it: some lines of
# each interval, and the number of those that were left out.
set -u
. "$(dirname "$0")/lib.sh"

vm_start g1 --vcpus 1 --mod host_control=1 --overlay "$(overlay asked-often.sh)" || exit 1
need "the guest has started" vm_wait_log g1 '^XVT-SAY ready' 200

# In place of a recorder: the next request as soon as the one before has its answer.
timeout 200 python3 - "$(vm_region g1)" <<'END'
import mmap, struct, sys, time
HOST, ACK, SEQ, LEN, TEXT = 32, 132, 64, 68, 128  # as in tests/cli/asked_guest.py
file = open(sys.argv[1], "r+b")
region = mmap.mmap(file.fileno(), 0)
host = struct.unpack_from("<Q", region, HOST)[0]
text = b"+sched:sched_wakeup\n"
region[host + TEXT:host + TEXT + len(text)] = text
struct.pack_into("<I", region, host + LEN, len(text))
for seq in range(1, 301):
    struct.pack_into("<I", region, host + SEQ, seq)
    while struct.unpack_from("<I", region, ACK)[0] != seq:
        time.sleep(0.001)
END
check "all requests are answered" test $? -eq 0
need "the guest has looked at its log" vm_wait_log g1 '^XVT-SAY done' 200
check "the guest powers off" vm_wait g1 60
read -r shown out told < <(sed -n 's/^XVT-SAY log //p' "$(vm_log g1)" | tr -d '\r')
echo "$shown lines of requests, $out left out, told $told times"
check "each request has a line, or is counted" test "$((shown + out))" -eq 300
check "an interval has ten lines" test "$shown" -le $((10 * (told + 1)))
finish
