#!/usr/bin/env bash
# Minimal client: sends a prompt and prints the events, one JSON object per line.
#
#   ./quick-start.sh --provider demo
set -euo pipefail

echo '{"id":"1","type":"prompt","message":"hello"}' | "${ZOT:-zot}" rpc "$@"
