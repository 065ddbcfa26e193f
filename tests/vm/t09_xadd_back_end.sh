#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# apart: guests with files of their own
# The same judge for the module with the other back-end.
JUDGE_BACKEND=xadd exec bash "$(dirname "$0")/t03_ftrace_is_the_judge.sh"
