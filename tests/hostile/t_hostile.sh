#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# alone: judges how soon an honest guest's events come
# Every kind of hostile guest beside an honest one, for a few seconds; `make proof-hostile` is the same for a minute each.
# The lag allowed here is twice that: in so short a run a busy machine must not decide.
set -u
cd "$(dirname "$0")/../.." || exit 1
exec tests/hostile/run.sh --seconds "${HOSTILE_SECONDS:-3}" --memory 64M --lag-limit 5000 --jobs "${HOSTILE_JOBS:-6}"
