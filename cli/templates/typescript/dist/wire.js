// The frames that this extension speaks, and the one writer.
// stdout belongs to the protocol: what is logged goes to the log.
console.log = console.error;
export function say(frame) {
    process.stdout.write(JSON.stringify(frame) + "\n");
}
