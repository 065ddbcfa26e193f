#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# check-commits.sh [BRANCH]: does each commit build that HEAD has and BRANCH has not? By default
# BRANCH is the upstream branch of this one, or main of the clone's origin, or main. Builds in a
# scratch worktree below $TMPDIR, the newest commit first: 20 commits (CHECK_COMMITS) and five
# minutes (CHECK_COMMITS_SECONDS) at most. Fails only where a commit does not build and HEAD
# does. What this clone or machine does not allow is skipped, with the reason.
set -u
cd "$(dirname "$0")/.." || exit 1
limit=${CHECK_COMMITS:-20}
end=$((SECONDS + ${CHECK_COMMITS_SECONDS:-300}))
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES BUILD

skip() {
	echo "check-commits: skipped: $*"
	exit 0
}

head=$(git rev-parse --verify HEAD 2>&1) || skip "git does not read this checkout: $(tail -n 1 <<<"$head")"
base='' seen=''
[ $# -gt 0 ] || set -- '@{upstream}' origin/HEAD origin/main origin/master main master
for branch in "$@"; do
	git rev-parse -q --verify "$branch^{commit}" >/dev/null 2>&1 || continue
	seen="$seen $branch"
	base=$(git merge-base "$branch" HEAD 2>/dev/null) || base=''
	[ "$base" != "$head" ] || base=''
	[ -z "$base" ] || break
done
if [ -z "$base" ]; then
	[ "$(git rev-parse --is-shallow-repository)" != true ] ||
		skip "the clone is shallow and does not say where its commits begin"
	[ -n "$seen" ] || skip "it is not known which commits are new: the clone has none of $*"
	skip "nothing is new: HEAD has no commit that is not in$seen"
fi
mapfile -t commits < <(git rev-list "$base..HEAD")
all=${#commits[@]}
[ "$all" -gt 0 ] || skip "there is no commit between $branch and HEAD"
commits=("${commits[@]:0:$limit}")

scratch=$(mktemp -d) || skip "there is no place for a scratch worktree"
tree=$scratch/tree
trap 'git worktree remove --force "$tree" >/dev/null 2>&1; rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM HUP
git -c core.hooksPath=/dev/null worktree add -q --detach "$tree" HEAD >"$scratch/log" 2>&1 ||
	skip "git makes no worktree: $(tail -n 1 "$scratch/log")"

# build COMMIT: 0 it builds, 1 it does not, 2 this machine or the time does not allow to say
build() {
	local left=$((end - SECONDS)) rc
	[ $left -gt 0 ] || return 2
	git -C "$tree" -c core.hooksPath=/dev/null checkout -q --detach "$1" >"$scratch/log" 2>&1 || return 2
	# Rules and lists of files are nothing that objects depend on.
	if [ -n "$previous" ] && { ! git diff --quiet "$previous" "$1" -- Makefile '*.mk' ||
		[ -n "$(git diff --name-only --no-renames --diff-filter=AD "$previous" "$1")" ]; }; then
		rm -rf "$tree/build"
	fi
	previous=$1
	timeout -k 10 "$left" make -s -C "$tree" -j "$(nproc)" all >"$scratch/log" 2>&1 </dev/null
	rc=$?
	[ $rc -ne 0 ] || { "$tree/build/xvtrace" --help >/dev/null 2>>"$scratch/log" </dev/null; rc=$?; }
	[ $rc -ne 0 ] || return 0
	if [ $rc -eq 124 ] || [ $rc -eq 137 ] || grep -qE 'No space left|Cannot allocate memory|Killed' "$scratch/log"; then
		return 2
	fi
	return 1
}

previous='' built=0 bad=0
for commit in "${commits[@]}"; do
	build "$commit"
	case $? in
	0) built=$((built + 1)) ;;
	2) break ;;
	1)
		[ "$commit" != "$head" ] || skip "HEAD does not build here: $(grep -m 1 . "$scratch/log")"
		bad=$((bad + 1))
		echo "check-commits: does not build: $(git log -1 --format='%h %s' "$commit")"
		tail -n 15 "$scratch/log" | sed 's/^/    | /'
		;;
	esac
done
echo "check-commits: $built of $all commits since $branch build, $bad do not," \
	"$((all - built - bad)) left out (at most $limit, in ${CHECK_COMMITS_SECONDS:-300} s)"
[ $bad -eq 0 ]
