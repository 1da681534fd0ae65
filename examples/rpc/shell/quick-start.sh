#!/usr/bin/env bash
# The least there is: a prompt goes in, everything about it comes out, one JSON object per line.
#
#   ./quick-start.sh --provider demo
set -euo pipefail

echo '{"id":"1","type":"prompt","message":"hello"}' | "${ZOT:-zot}" rpc "$@"
