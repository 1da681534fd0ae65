// A tool that tells the time anywhere, and a slash command for reminders. Runs on Node without
// dependencies.
import { createInterface } from "node:readline";

// stdout is reserved for the protocol.
console.log = console.error;
const say = (frame) => process.stdout.write(JSON.stringify(frame) + "\n");

const now = ({ zone }) => {
  // Validate what the model sends. With `strict: true` the host would do it.
  if (zone !== undefined && typeof zone !== "string") throw new Error("zone must be a string, such as Asia/Tokyo");
  const timeZone = zone || Intl.DateTimeFormat().resolvedOptions().timeZone;
  const format = new Intl.DateTimeFormat("en-GB", { timeZone, dateStyle: "full", timeStyle: "long" });
  return `${format.format(new Date())} (${timeZone})`;
};

// "/timer 5m tea": a duration in seconds, minutes or hours, and what to remind the user of.
const timer = (args) => {
  const [, count, unit, what] = /^(\d+)\s*([smh])\s*(.*)$/.exec(args) ?? [];
  if (!count) return { error: "usage: /timer 5m tea" };
  const ms = count * { s: 1e3, m: 60e3, h: 3600e3 }[unit];
  if (ms > 24 * 3600e3) return { error: "the maximum is 24h" };
  const message = what || `${count}${unit} elapsed`;
  setTimeout(() => say({ type: "notify", level: "success", message }), ms);
  return { action: "display", display: `in ${count}${unit}: ${message}` };
};

const handlers = {
  command_invoked({ id, args }) {
    say({ type: "command_response", id, ...timer(args ?? "") });
  },
  tool_call({ id, name, args }) {
    const text = (text) => [{ type: "text", text }];
    try {
      if (name !== "now") throw new Error(`unknown tool ${name}`);
      say({ type: "tool_result", id, content: text(now(args)) });
    } catch (error) {
      say({ type: "tool_result", id, content: text(error.message), is_error: true });
    }
  },
  shutdown() {
    say({ type: "shutdown_ack" });
    process.exit(0);
  },
};

say({ type: "hello", name: "clock", version: "1.0.0", capabilities: ["commands", "tools"] });
say({ type: "register_command", name: "timer", description: "set a reminder: /timer 5m tea" });
say({
  type: "register_tool",
  name: "now",
  description: "The current date and time, here or in another time zone.",
  schema: {
    type: "object",
    properties: { zone: { type: "string", description: "An IANA time zone, such as Asia/Tokyo. Default: the user's time zone." } },
  },
});
say({ type: "ready" });

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const frame = JSON.parse(line);
  handlers[frame.type]?.(frame);
});
// Without this, a timer would keep the process alive after the host has exited.
lines.on("close", () => process.exit(0));
