// The frames that this extension sends and receives.
// stdout belongs to the protocol: console.log goes to the log.
console.log = console.error;
export function say(frame) {
    process.stdout.write(JSON.stringify(frame) + "\n");
}
