#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every kind of hostile guest beside an honest one, for a few seconds; `make proof-hostile` is the same for a minute each.
set -u
cd "$(dirname "$0")/../.." || exit 1
exec tests/hostile/run.sh --seconds "${HOSTILE_SECONDS:-3}" --memory 64M --jobs "${HOSTILE_JOBS:-6}"
