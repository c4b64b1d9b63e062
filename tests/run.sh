#!/bin/sh
# run.sh PYTHON [ARGUMENT...]: pytest in two processes, on two cores. The tests that need an engine come one after the
# other, and their output as it comes; all others run beside them, and what they printed comes at the end.
set -u
python=$1
shift
log=$(mktemp)
"$python" -m pytest -m "not engine" "$@" >"$log" 2>&1 &
others=$!
trap 'kill "$others" 2>/dev/null; rm -f "$log"' EXIT
trap 'exit 130' INT TERM

"$python" -m pytest -m engine "$@"
with_engine=$?
wait "$others"
without=$?
cat "$log"

# 5: the arguments choose no test of that kind; of one kind at least there must be some.
case "$with_engine $without" in
"0 0" | "0 5" | "5 0") exit 0 ;;
esac
exit 1
