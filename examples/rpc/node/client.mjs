#!/usr/bin/env node
// Drives `zot rpc` from Node: sends a prompt and prints the text as it streams. Needs only Node 20.
//
//   ./client.mjs "what does this project do?" [FLAGS...]
//
// Ctrl-C aborts the turn. If a command fails, the exit code is 1.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const [message, ...flags] = process.argv.slice(2);
if (message === undefined) {
  console.error("usage: client.mjs MESSAGE [FLAGS...]");
  process.exit(2);
}

const zot = spawn(process.env.ZOT ?? "zot", ["rpc", ...flags], {
  stdio: ["pipe", "pipe", "inherit"],
  // Run zot in its own process group, so that Ctrl-C reaches only us and we can send `abort`.
  detached: true,
});
const ended = once(zot, "close");
const send = (command) => zot.stdin.write(JSON.stringify(command) + "\n");

process.on("SIGINT", () => send({ type: "abort" }));
send({ id: "1", type: "prompt", message });

let failed = false;
const fail = (why) => {
  console.error(`error: ${why}`);
  failed = true;
};
for await (const text of createInterface({ input: zot.stdout, crlfDelay: Infinity })) {
  const line = JSON.parse(text);
  if (line.type === "text_delta") process.stdout.write(line.delta ?? "");
  else if (line.type === "error") fail(line.message);
  else if (line.type === "response" && !line.success) {
    fail(line.error);
    break;
  } else if (line.type === "done") break;
}
process.stdout.write("\n");
zot.stdin.end();
// Keep reading: zot cannot exit while it waits for us to read its output.
zot.stdout.resume();
const [code] = await ended;
process.exit(code !== 0 || failed ? 1 : 0);
