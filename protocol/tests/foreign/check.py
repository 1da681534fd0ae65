"""Reads the published schemas with Python's jsonschema: check.py SCHEMAS DATA."""

import json
import pathlib
import sys

from jsonschema import Draft202012Validator

schemas, data = map(pathlib.Path, sys.argv[1:])
validators = {}
for path in schemas.rglob("*.json"):
    schema = json.loads(path.read_text())
    Draft202012Validator.check_schema(schema)
    name = str(path.relative_to(schemas).with_suffix(""))
    validators[name] = Draft202012Validator(schema)


def valid(row):
    """Validates a frame against the schema of its set and against its own schema, which must agree."""
    by_set = validators[row["set"]].is_valid(row["frame"])
    kind = row["frame"].get("type") if isinstance(row["frame"], dict) else None
    own = validators.get(f"{row['set']}/{kind}")
    if own and own.is_valid(row["frame"]) != by_set:
        sys.exit(f"the set and the frame disagree: {row}")
    return by_set


counts = {}
for verdict in ("accepted", "refused"):
    rows = [json.loads(line) for line in (data / f"{verdict}.ndjson").read_text().splitlines()]
    wrong = [row for row in rows if valid(row) != (verdict == "accepted")]
    for row in wrong:
        print(f"should be {verdict}: {json.dumps(row)}", file=sys.stderr)
    counts[verdict] = len(rows) - len(wrong)
print(f"{len(validators)} schemas, {counts['accepted']} accepted, {counts['refused']} refused")
