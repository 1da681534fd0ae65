// Persistent notes: the model writes and reads them with tools, and the user reads them with /pad.

import { createInterface } from "node:readline";

import { Pad } from "./pad.js";
import { say, type FromHost } from "./wire.js";

let pad: Pad | undefined;

function open(): Pad {
  if (pad === undefined) throw new Error("this host has no data directory for extensions");
  return pad;
}

const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const string = (value: unknown): string => (typeof value === "string" ? value : "");

function call(name: string, args: Record<string, unknown>): string {
  const title = string(args.title);
  switch (name) {
    case "pad_write":
      return open().write(title, string(args.text));
    case "pad_read":
      return open().read(title);
    default:
      throw new Error(`unknown tool ${name}`);
  }
}

function handle(frame: FromHost): void {
  switch (frame.type) {
    case "hello_ack":
      if (frame.data_dir !== undefined) pad = new Pad(frame.data_dir);
      break;
    case "command_invoked":
      try {
        const display = open().read(frame.args ?? "");
        say({ type: "command_response", id: frame.id, action: "display", display });
      } catch (error) {
        say({ type: "command_response", id: frame.id, error: errorMessage(error) });
      }
      break;
    case "tool_call":
      try {
        const text = call(frame.name, frame.args);
        say({ type: "tool_result", id: frame.id, content: [{ type: "text", text }] });
      } catch (error) {
        const content = [{ type: "text" as const, text: errorMessage(error) }];
        say({ type: "tool_result", id: frame.id, content, is_error: true });
      }
      break;
    case "shutdown":
      say({ type: "shutdown_ack" });
      process.exit(0);
  }
}

say({ type: "hello", name: "scratchpad", version: "1.0.0", capabilities: ["commands", "tools"] });
say({ type: "register_command", name: "pad", description: "list your notes, or show the note with the given title" });
const title = { type: "string", description: "The note's title." };
say({
  type: "register_tool",
  name: "pad_write",
  description: "Writes a note that persists across sessions. Empty text removes the note.",
  schema: {
    type: "object",
    properties: { title: { ...title, minLength: 1 }, text: { type: "string", description: "The whole note." } },
    required: ["title", "text"],
  },
  strict: true,
});
say({
  type: "register_tool",
  name: "pad_read",
  description: "Reads a note. Without a title, lists all titles.",
  schema: { type: "object", properties: { title } },
  strict: true,
});
say({ type: "ready" });

createInterface({ input: process.stdin })
  .on("line", (line) => handle(JSON.parse(line) as FromHost))
  .on("close", () => process.exit(0));
