#!/usr/bin/env bash
# Checks the model of the commit protocol, its mutants, and recorded runs of the engine. Needs spin and gcc.
#
#   docs/formal/check.sh                    everything
#   SUPERSTEP_FAULTS=3 docs/formal/check.sh the model with more that goes wrong: minutes, and some gigabytes of memory
set -uo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)

for tool in spin gcc; do
  if ! command -v "$tool" > /dev/null; then
    echo "$tool is not installed: apt-get install -y spin gcc" >&2
    exit 1
  fi
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

faults=${SUPERSTEP_FAULTS:-2}
memory=$((faults > 2 ? 12000 : 3000))

# Runs that have to hold: name, definitions.
variants="
sync:-DFAULTS=$faults
async:-DASYNC -DFAULTS=$faults
three-tasks:-DTASKS=3 -DFAULTS=$((faults - 1))
command:-DCOMMAND -DFAULTS=$((faults - 1))
"

# Runs that must not: mutant, what it breaks, definitions.
mutants="
NO_OWNER:one_commit:-DFAULTS=0
NO_COMPARE:one_commit:-DFAULTS=0
NO_REPEAT:repeats_succeed:-DFAULTS=1
LAST_WINS:no_lost_update:-DFAULTS=0
NOT_ADOPTED:no_lost_update:-DFAULTS=0
BROUGHT_UNCHECKED:no_lost_update:-DFAULTS=1
ROWS_UNCOUNTED:no_lost_update:-DCOMMAND -DFAULTS=1
LATE_ROWS:no_lost_update:-DCOMMAND -DFAULTS=1
NO_REVISION:answers_stand:-DFAULTS=0
ANSWER_UNCHECKED:answers_stand:-DFAULTS=0
ROWS_LOST:no_done_task_runs:-DFAULTS=1
ROWS_UNREAD:no_done_task_runs:-DFAULTS=1
NO_LIFE_OF_ROWS:no_life_after_deletion:-DFAULTS=1
NO_LIFE_OF_COMMITS:no_life_after_deletion:-DFAULTS=1
BEGINNING_REPEATED:no_life_after_deletion:-DFAULTS=2
ROWS_AHEAD:rows_stand_beside_checkpoints:-DMUTANT_LATE_ROWS -DASYNC -DFAULTS=1
NEVER_LOOKS_AGAIN:progress:-DFAULTS=0
"

properties=$(sed -n 's/^bit \([a-z_]*\) = 1;$/\1/p' commit.pml)

# Searches all states of a variant: leaves what spin said in a file.
search() {
  local name=$1 definitions=$2 level=$3
  local folder="$work/$name"
  mkdir -p "$folder"
  cd "$folder" || return
  # shellcheck disable=SC2086
  spin $definitions -a "$root/docs/formal/commit.pml" > spin.log 2>&1 &&
    gcc -w "$level" -DNOFAIR -DMEMLIM="$memory" -o pan pan.c >> spin.log 2>&1 &&
    ./pan -a -m100000 > pan.log 2>&1
  rm -f pan
}

# What a search came to: "holds", the name of what is broken, or "unknown".
outcome() {
  local log="$work/$1/pan.log"
  if [ ! -f "$log" ]; then
    echo unknown
  elif grep -q "assertion violated" "$log"; then
    sed -n 's/^pan:1: assertion violated \([a-z_ -]*\) (at depth.*/\1/p' "$log" | head -n 1
  elif grep -q "acceptance cycle (at depth" "$log"; then
    echo progress
  elif grep -q "errors: 0$" "$log" && ! grep -qE "not completed|MEMLIM|too small|out of memory" "$log"; then
    echo holds
  else
    echo unknown
  fi
}

# Two searches at a time.
run_all() {
  local running=0
  while IFS=: read -r name definitions level; do
    [ -n "$name" ] || continue
    if [ "$running" -ge 2 ]; then
      wait -n
      running=$((running - 1))
    fi
    (search "$name" "$definitions" "$level") &
    running=$((running + 1))
  done
  wait
}

bad=0
fail() {
  printf 'FAILED  %s\n' "$1"
  bad=$((bad + 1))
}

run_all <<< "$(
  sed 's/$/:-O2/;/^:/d' <<< "$variants"
  sed -n 's/^\([A-Z_]*\):[a-z_]*:\(.*\)$/\1:-DMUTANT_\1 \2:-O1/p' <<< "$mutants"
)"

broken=""
while IFS=: read -r name _; do
  [ -n "$name" ] || continue
  found=$(outcome "$name")
  states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$work/$name/pan.log" 2> /dev/null)
  seconds=$(sed -n 's/^pan: elapsed time \([0-9.]*\).*/\1/p' "$work/$name/pan.log" 2> /dev/null)
  printf 'searched %-12s %10s states, %s s: %s\n' "$name" "${states:-no}" "${seconds:-?}" "$found"
  [ "$found" = holds ] || broken="$broken $name:$found"
  [ "$found" != unknown ] || cat "$work/$name/spin.log" "$work/$name/pan.log" 2> /dev/null | tail -n 20
done <<< "$variants"

for property in $properties progress; do
  wrong=""
  for one in $broken; do
    case ${one#*:} in "$property" | unknown) wrong="$wrong ${one%%:*}" ;; esac
  done
  if [ -n "$wrong" ]; then
    fail "property $property:$wrong"
  elif [ -n "$broken" ]; then
    # The search ends with the first that is broken.
    printf 'unknown property %s\n' "$property"
  else
    printf 'holds   property %s\n' "$property"
  fi
done
for one in $broken; do
  case " $(tr '\n' ' ' <<< "$properties") progress unknown " in *" ${one#*:} "*) ;; *) fail "$one" ;; esac
done

while IFS=: read -r name expected _; do
  [ -n "$name" ] || continue
  found=$(outcome "$name")
  if [ "$found" = "$expected" ]; then printf 'breaks  mutant %s: %s\n' "$name" "$found"; else fail "mutant $name: $found, not $expected"; fi
done <<< "$mutants"

# Recorded runs of the engine: spin follows each, and stops where the model would have answered otherwise.
node=$root/node_modules/.bin/node
[ -x "$node" ] || node=node
"$node" --conditions=superstep-src "$root/test/formal/record.ts" "$work/traces" || fail "no runs were recorded"
followed=0
for folder in "$work"/traces/*/; do
  cp commit.pml "$folder" 2> /dev/null || continue
  log=$(cd "$folder" && spin -DTRACE commit.pml 2>&1 | head -n 5)
  name=$(basename "$folder")
  ends=no
  if grep -q "the end of the trace" <<< "$log"; then ends=yes; fi
  case $name in
    broken-*) if [ "$ends" = no ] && grep -q "assertion violated" <<< "$log"; then printf 'breaks  trace %s\n' "$name"; else fail "trace $name: spin follows it"; fi ;;
    *) if [ "$ends" = yes ]; then followed=$((followed + 1)); else fail "trace $name: $log"; fi ;;
  esac
done
if [ "$followed" -gt 0 ]; then printf 'holds   %s recorded runs\n' "$followed"; else fail "spin followed no recorded run"; fi

[ "$bad" -eq 0 ]
