#!/usr/bin/env bash
# Generates types from the published schemas with popular code generators, and type-checks them. No
# type may have a name that a generator invented, such as `Event7`.
#
# The packages are large, so this runs in .ci/full only.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."

tools=target/test-tools/generators
mkdir -p "$tools"
cp "$here/package.json" "$here/package-lock.json" "$tools"
npm ci --silent --no-audit --no-fund --prefix "$tools"
[ -x "$tools/venv/bin/pip" ] || python3 -m venv "$tools/venv"
"$tools/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"

out=$tools/out
rm -rf "$out"
mkdir -p "$out"/{json2ts,quicktype,datamodel}
for schema in manifest config from-extension from-host rpc/command rpc/response rpc/event rpc/message; do
  file=protocol/schema/v1/$schema.json
  name=${schema//[\/-]/_}
  "$tools/node_modules/.bin/json2ts" --input "$file" --output "$out/json2ts/$name.ts" --unreachableDefinitions
  "$tools/node_modules/.bin/quicktype" --src-lang schema --lang ts --out "$out/quicktype/$name.ts" "$file"
  "$tools/node_modules/.bin/quicktype" --src-lang schema --lang py --out "$out/quicktype/$name.py" "$file"
  "$tools/venv/bin/datamodel-codegen" --input "$file" --input-file-type jsonschema --output "$out/datamodel/$name.py" \
    --output-model-type pydantic_v2.BaseModel --use-annotated --set-default-enum-member --formatters builtin
done

# quicktype does not support objects with both known and arbitrary keys, as in these two files: it
# writes an index signature next to optional keys, which TypeScript rejects.
rm "$out"/quicktype/{manifest,config}.ts
"$tools/node_modules/.bin/tsc" --noEmit --strict --skipLibCheck --target es2022 --types "" "$out"/{json2ts,quicktype}/*.ts
for folder in datamodel quicktype; do
  "$tools/venv/bin/mypy" --no-error-summary --ignore-missing-imports "$out/$folder"/*.py
done

if grep -rnE '\b(interface|type|class|enum) \w*[0-9]\b' "$out"; then
  echo "error: generators invented the names above" >&2
  echo "hint: give each of these types a unique title" >&2
  exit 1
fi
count() { grep -rhcE '^(export )?(interface|type|class|enum) ' "$out/$1" | awk '{sum += $1} END {print sum}'; }
echo "types: json2ts $(count json2ts), quicktype $(count quicktype), datamodel-codegen $(count datamodel)"
