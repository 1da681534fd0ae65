// The notes, keyed by title, in one file.

import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export class Pad {
  readonly #file: string;
  readonly #notes: Map<string, string>;

  constructor(directory: string) {
    this.#file = join(directory, "pad.json");
    let text = "{}";
    try {
      text = readFileSync(this.#file, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    this.#notes = new Map(Object.entries(JSON.parse(text) as Record<string, string>));
  }

  /** Writes a note. Empty text removes the note. */
  write(title: string, text: string): string {
    if (text === "") this.#notes.delete(title);
    else this.#notes.set(title, text);
    // Write atomically.
    writeFileSync(`${this.#file}.new`, JSON.stringify(Object.fromEntries(this.#notes), null, 2));
    renameSync(`${this.#file}.new`, this.#file);
    return text === "" ? `removed: ${title}` : `written: ${title}`;
  }

  /** Returns the note with this title, or the list of titles if `title` is empty. */
  read(title: string): string {
    if (title === "") return [...this.#notes.keys()].join("\n") || "no notes";
    const text = this.#notes.get(title);
    if (text === undefined) throw new Error(`no note called ${title}`);
    return text;
  }
}
