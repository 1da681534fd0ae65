// {{name}}: a slash command and a tool. Start with the two functions at the top.
import { createInterface } from "node:readline";
import { say } from "./wire.js";
/** /{{command}}: the text it returns is shown to the user. */
function greet(args) {
    return `Hello, ${args || "you"}.`;
}
/** {{tool}}: the model receives the text it returns. An exception is sent to the model as an error. */
function countWords(args) {
    if (typeof args.text !== "string")
        throw new Error("`text` must be a string");
    return String(args.text.split(/\s+/).filter((word) => word !== "").length);
}
const commands = new Map([["{{command}}", greet]]);
const tools = new Map([["{{tool}}", countWords]]);
const errorMessage = (error) => (error instanceof Error ? error.message : String(error));
function handle(frame) {
    switch (frame.type) {
        case "command_invoked":
            try {
                const command = commands.get(frame.name);
                if (command === undefined)
                    throw new Error(`unknown command /${frame.name}`);
                say({ type: "command_response", id: frame.id, action: "display", display: command(frame.args ?? "") });
            }
            catch (error) {
                say({ type: "command_response", id: frame.id, error: errorMessage(error) });
            }
            break;
        case "tool_call":
            try {
                const tool = tools.get(frame.name);
                if (tool === undefined)
                    throw new Error(`unknown tool ${frame.name}`);
                say({ type: "tool_result", id: frame.id, content: [{ type: "text", text: tool(frame.args) }] });
            }
            catch (error) {
                say({ type: "tool_result", id: frame.id, content: [{ type: "text", text: errorMessage(error) }], is_error: true });
            }
            break;
        case "shutdown":
            say({ type: "shutdown_ack" });
            process.exitCode = 0;
            input.close();
            process.stdin.destroy();
            break;
    }
}
say({ type: "hello", name: "{{name}}", version: "0.1.0", capabilities: ["commands", "tools"] });
say({ type: "register_command", name: "{{command}}", description: "Greet someone" });
say({
    type: "register_tool",
    name: "{{tool}}",
    description: "Counts the words in the given text.",
    schema: {
        type: "object",
        properties: { text: { type: "string", description: "The text." } },
        required: ["text"],
    },
});
say({ type: "ready" });
const input = createInterface({ input: process.stdin }).on("line", (line) => handle(JSON.parse(line)));
