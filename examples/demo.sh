#!/bin/sh
# Lint and fix a copy of examples/agent. The first argument is a Python that has torchlint; torch is not needed. Where
# the second one, a Python that has torchlint, torch and numpy, exists, what the fixes spare is counted as well.
set -eu
python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
agent=$(cd "$(dirname "$0")" && pwd)/agent
counting=${2:-}
[ -n "$counting" ] && [ -x "$counting" ] && counting=$(cd "$(dirname "$counting")" && pwd)/$(basename "$counting") || counting=
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$agent"/*.py "$work"
cd "$work"
COLUMNS=${COLUMNS:-80}
export COLUMNS

# Run torchlint and show the command. Status 1 only says that there are findings.
torchlint() {
    printf '\n$ torchlint %s\n\n' "$*"
    "$python" -m torchlint "$@" || [ $? -eq 1 ]
}

# Train for 200 steps on the counted device, which needs no GPU, and show the sum of what it would do.
count() {
    [ -z "$counting" ] && return
    printf '\n$ torchlint count --steps 200 -- python train.py --device cuda   # %s\n\n' "$1"
    "$counting" -m torchlint count --isolated --steps 200 --top 3 -- "$counting" -W ignore train.py --device cuda |
        grep -v '^update\|^episode'
}

echo "A copy of examples/agent, a small DQN project of $(cat ./*.py | wc -l | tr -d ' ') lines:"
ls
torchlint check . --output-format full
count "before"
torchlint check . --diff --accept validation
torchlint check . --fix --accept validation --output-format concise
count "after"
[ -n "$counting" ] || printf '\nTo count what this spares: make .venv/made, then make demo again.\n'
printf '\nWhat remains needs your decision, or has no rewrite yet.\n'
