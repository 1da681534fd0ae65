// Reads the published schemas with another validator: check.mjs ajv|cfworker SCHEMAS DATA.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Validator } from "@cfworker/json-schema";
import Ajv from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

const compilers = {
  // Strict, except for union types, and for keywords that JSON Schema allows without a `type` or a matching property.
  ajv() {
    const ajv = addFormats(new Ajv({ strict: true, allowUnionTypes: true, strictTypes: false, strictRequired: false }));
    return (schema) => ajv.compile(schema);
  },
  cfworker: () => (schema) => {
    const validator = new Validator(schema, "2020-12");
    return (frame) => validator.validate(frame).valid;
  },
};

const [name, schemas, data] = process.argv.slice(2);
const compile = compilers[name]();
const validators = {};
for (const file of readdirSync(schemas, { recursive: true }).filter((file) => file.endsWith(".json"))) {
  validators[file.slice(0, -".json".length)] = compile(JSON.parse(readFileSync(join(schemas, file), "utf8")));
}

// Validates a frame against the schema of its set and against its own schema, which must agree.
function valid({ set, frame }) {
  const bySet = validators[set](frame);
  const own = validators[`${set}/${frame.type}`];
  if (own && own(frame) !== bySet) throw new Error(`the set and the frame disagree: ${JSON.stringify(frame)}`);
  return bySet;
}

const counts = {};
for (const verdict of ["accepted", "refused"]) {
  const rows = readFileSync(join(data, `${verdict}.ndjson`), "utf8").trim().split("\n").map((line) => JSON.parse(line));
  const wrong = rows.filter((row) => valid(row) !== (verdict === "accepted"));
  for (const row of wrong) console.error(`should be ${verdict}: ${JSON.stringify(row)}`);
  counts[verdict] = rows.length - wrong.length;
}
console.log(`${Object.keys(validators).length} schemas, ${counts.accepted} accepted, ${counts.refused} refused`);
