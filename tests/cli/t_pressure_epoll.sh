#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# slow: not in make check
# t_pressure.sh where io_uring is refused: threads write the trace.
XVTRACE_LOOP=epoll exec bash "$(dirname "$0")/t_pressure.sh"
