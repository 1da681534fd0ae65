
"use strict";
(() => {
  // The number of entries of an exchange that are drawn at first; a button shows the rest.
  const FIRST_ENTRIES = 200;

  let parsed;
  const report = () => (parsed ??= JSON.parse(document.getElementById("report").textContent));

  // Adds children as text nodes, so that a frame is never parsed as markup.
  const make = (tag, className, ...children) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...children);
    return element;
  };

  // Filled in with the characters that `visible` in clean.rs escapes.
  const INVISIBLE = /[{{invisible}}]/gu;
  const escape = (char) => ({ "\t": "\\t", "\r": "\\r" })[char] ?? `\\u{${char.codePointAt(0).toString(16)}}`;
  const visible = (text) => text.replace(INVISIBLE, escape);

  const time = (ms) => (ms < 1000 ? `${ms.toFixed(1)} ms` : `${(ms / 1000).toFixed(3)} s`);

  // Indents JSON without parsing its values, so that numbers, duplicate keys and truncated frames stay unchanged.
  const indent = (json) => {
    let out = "", depth = 0, quoted = false;
    const newline = () => "\n" + "  ".repeat(depth);
    for (let at = 0; at < json.length; at++) {
      const char = json[at];
      if (quoted) {
        out += char;
        if (char === "\\") out += json[++at] ?? "";
        else if (char === '"') quoted = false;
      } else if (char === '"') {
        out += char;
        quoted = true;
      } else if (char === "{" || char === "[") {
        const empty = /^\s*[}\]]/.exec(json.slice(at + 1, at + 20));
        if (empty) {
          out += char + json[at + empty[0].length];
          at += empty[0].length;
        } else {
          depth++;
          out += char + newline();
        }
      } else if (char === "}" || char === "]") {
        depth = Math.max(0, depth - 1);
        out += newline() + char;
      } else if (char === ",") out += char + newline();
      else if (char === ":") out += ": ";
      else if (!/\s/.test(char)) out += char;
    }
    return out;
  };

  // Returns the label of an arrow: the frame's type, and the fields that distinguish it from others of its type.
  const describe = ({ line, bytes }) => {
    const whole = bytes === new TextEncoder().encode(line).length;
    let frame;
    try {
      frame = JSON.parse(line);
    } catch {
      const type = /^\s*\{\s*"type"\s*:\s*"([^"\\]*)"/.exec(line)?.[1];
      const known = type !== undefined && !whole;
      const size = whole ? visible(line).slice(0, 48) : `${bytes.toLocaleString("en")} bytes, truncated`;
      return { name: known ? type : "not JSON", about: size, text: line, odd: !known };
    }
    if (frame === null || typeof frame !== "object" || typeof frame.type !== "string") {
      return { name: "not a frame", about: visible(line).slice(0, 48), text: indent(line), odd: true };
    }
    const keys = ["name", "event", "action", "level", "id", "panel_id"];
    const about = keys.map((key) => frame[key]).filter((value) => typeof value === "string" && value !== "");
    const short = about.map((value) => (value.length > 32 ? value.slice(0, 31) + "…" : value));
    return { name: frame.type, about: short.join(" · "), text: indent(line), odd: false };
  };

  const drawEntry = (entry, wrong) => {
    const lane = make("div", "lane");
    const step = make("li", `step ${entry.who}`, make("time", "", time(entry.at_ms)), lane);
    const from = entry.who === "host" ? "host to extension" : "extension to host";
    if (entry.note !== undefined) {
      step.classList.add("note");
      lane.append(make("p", "", make("span", "visually-hidden", `${entry.who}: `), visible(entry.note)));
      return step;
    }
    const { name, about, text, odd } = describe(entry);
    step.classList.toggle("odd", odd);
    step.classList.toggle("wrong", wrong);
    const arrow = make("button", "arrow", make("span", "visually-hidden", `${from}: `));
    arrow.type = "button";
    arrow.append(make("b", "", (wrong ? "✗ " : "") + visible(name)), make("span", "", about ? ` ${visible(about)}` : ""));
    arrow.setAttribute("aria-expanded", "false");
    arrow.addEventListener("click", () => {
      const open = arrow.getAttribute("aria-expanded") === "true";
      arrow.setAttribute("aria-expanded", String(!open));
      if (open) lane.querySelector("pre").remove();
      else lane.append(make("pre", "", visible(text)));
    });
    lane.append(arrow);
    return step;
  };

  const draw = (details) => {
    if (details.dataset.drawn) return;
    details.dataset.drawn = "true";
    const outcome = report().outcomes[Number(details.dataset.outcome)];
    const exchange = outcome.exchanges[Number(details.dataset.exchange)];
    const wrong = new Set(outcome.failure ? outcome.findings.map((finding) => finding.frame?.line) : []);
    const parties = make("div", "parties", make("span", "", "host"), make("span", "", "extension"));
    parties.setAttribute("aria-hidden", "true");
    const steps = make("ol", "steps");
    const wire = make("div", "wire", parties, steps);
    const add = (entries) => {
      const some = document.createDocumentFragment();
      for (const entry of entries) some.append(drawEntry(entry, wrong.has(entry.line)));
      steps.append(some);
    };
    add(exchange.entries.slice(0, FIRST_ENTRIES));
    const left = exchange.entries.length - FIRST_ENTRIES;
    if (left > 0) {
      const more = make("button", "more", `Show ${left.toLocaleString("en")} more`);
      more.type = "button";
      more.addEventListener("click", () => {
        const next = steps.children.length;
        add(exchange.entries.slice(FIRST_ENTRIES));
        more.remove();
        steps.children[next].querySelector("button")?.focus();
      });
      wire.append(more);
    }
    if (exchange.stderr) {
      // Drop colours, like `console` in clean.rs.
      const plain = exchange.stderr.replace(/\x1b\[[\d;:]*m/g, "").replace(/\r\n/g, "\n").replace(/\t/g, "    ");
      wire.append(make("span", "key", "end of standard error"), make("pre", "", visible(plain).trimEnd()));
    }
    details.append(wire);
  };

  for (const details of document.querySelectorAll("details.exchange")) {
    details.addEventListener("toggle", () => details.open && draw(details));
  }

  const filters = document.querySelector(".filters");
  const show = (verdict) => {
    let shown = 0;
    for (const check of document.querySelectorAll(".check")) {
      check.hidden = verdict !== "" && check.dataset.verdict !== verdict;
      if (!check.hidden) shown++;
    }
    for (const group of document.querySelectorAll("section")) {
      group.hidden = group.querySelector(".check:not([hidden])") === null;
    }
    for (const button of filters.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.dataset.verdict === verdict));
    }
    document.getElementById("shown").textContent = `${shown} checks shown`;
  };
  filters.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) show(button.getAttribute("aria-pressed") === "true" ? "" : button.dataset.verdict);
  });
  filters.hidden = false;

  // Open the check that the URL links to, such as `report.html#TOL-02`.
  const follow = () => {
    const check = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (check?.matches("details.check")) check.open = true;
  };
  addEventListener("hashchange", follow);
  follow();
})();
