#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A guest with a newer kernel than the other tests have: the module is built for it and loaded
# again and again under the function tracer; its events have names; what t14, t17 and t31 say holds
# there.
set -u
export FLAVOUR=${NEWER_FLAVOUR:-6.12-amd64}
. "$(dirname "$0")/lib.sh"

if ! qemu/guest-packages.sh 2>"$work/packages.err"; then
	echo "skip - a guest with the kernel of linux-image-$FLAVOUR: $(tail -n 1 "$work/packages.err")"
	exit 77
fi
need "module, tools and image are built for $FLAVOUR" eval 'make --no-print-directory guest >"$work/make.log" 2>&1 || { tail -n 20 "$work/make.log"; false; }'
eval "$(qemu/guest-packages.sh --print)"
echo "kernel $KRELEASE"

trace=$BUILD/tests/t05-$FLAVOUR/trace.xvt
RELOADS=3 bash "$(dirname "$0")/t05_function_tracer_and_reload.sh" || failures=$((failures + 1))
need "it left a trace" test -f "$trace"
# What comes before the formats are sent has only a number.
"$xvtrace" report --no-task "$trace" | awk '{ sub(/:$/, "", $4); n[$4]++ } END { for (e in n) print e, n[e] }' | sort >"$work/names.txt"
for event in sched_switch irq_handler_entry irq_handler_exit hrtimer_expire_entry softirq_entry print function; do
	check "$event is there by its name" grep -q "^$event " "$work/names.txt"
done
check "no event is without its format" eval '! grep -E "^type[0-9]" "$work/names.txt"'
bash "$(dirname "$0")/t14_trace_printk_and_stacks.sh" || failures=$((failures + 1))
bash "$(dirname "$0")/t17_function_names.sh" || failures=$((failures + 1))
bash "$(dirname "$0")/t31_texts_of_the_kernel.sh" || failures=$((failures + 1))
finish
