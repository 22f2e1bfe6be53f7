#!/bin/sh
# Let a check of examples/agent decide which fixes are kept, in a copy. The argument is a Python that has torchlint and torch.
set -eu
python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
examples=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$examples"/agent/*.py "$examples"/check_agent.py "$work"
cd "$work"
COLUMNS=${COLUMNS:-80}
export COLUMNS
PATH=$(dirname "$python"):$PATH

echo "\$ torchlint verify --unsafe-fixes --metric 'updates per second: (.+)' -- python check_agent.py"
echo
"$python" -m torchlint verify --unsafe-fixes --metric 'updates per second: (.+)' -- python check_agent.py || [ $? -eq 1 ]
