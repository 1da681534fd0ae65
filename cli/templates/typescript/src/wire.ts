// The frames that this extension sends and receives.

export type Content = { type: "text"; text: string };

export type FromHost =
  | { type: "command_invoked"; id: string; name: string; args?: string }
  | { type: "tool_call"; id: string; name: string; args: Record<string, unknown> }
  | { type: "shutdown" };

export type FromExtension =
  | { type: "hello"; name: string; version: string; capabilities: string[] }
  | { type: "register_command"; name: string; description: string }
  | { type: "register_tool"; name: string; description: string; schema: object }
  | { type: "ready" }
  | { type: "command_response"; id: string; action: "display"; display: string }
  | { type: "command_response"; id: string; error: string }
  | { type: "tool_result"; id: string; content: Content[]; is_error?: boolean }
  | { type: "shutdown_ack" };

// stdout belongs to the protocol: console.log goes to the log.
console.log = console.error;

export function say(frame: FromExtension): void {
  process.stdout.write(JSON.stringify(frame) + "\n");
}
