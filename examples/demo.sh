#!/bin/sh
# Lint and fix a copy of examples/agent. The argument is a Python that has torchlint; torch is not needed.
set -eu
python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
agent=$(cd "$(dirname "$0")" && pwd)/agent
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

echo "A copy of examples/agent, a small DQN project of $(cat ./*.py | wc -l | tr -d ' ') lines:"
ls
torchlint check . --output-format full
torchlint check . --diff --accept validation
torchlint check . --fix --accept validation --output-format concise
printf '\nWhat remains needs your decision, or has no rewrite yet.\n'
