"""Opens an HTML report in a real browser, uses every control, and prints what it saw as JSON.

    check.py CHROMIUM PAGE [--shots FOLDER]

Uses only the standard library: DevTools over a pair of pipes, JSON objects separated by NUL.
"""

import base64
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile


class Browser:
    """A headless browser and the events it sends."""

    def __init__(self, program, profile):
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def wire():
            # Chromium reads from file descriptor 3 and writes to 4. Move both ends to higher numbers first, in case
            # one of them is already 3 or 4.
            high = [os.dup2(to_browser, 63), os.dup2(from_browser, 64)]
            for end, place in zip(high, (3, 4)):
                os.dup2(end, place)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=wire, close_fds=False, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.last = 0
        self.rest = b""
        self.events = []
        self.session = None

    def message(self):
        while b"\0" not in self.rest:
            more = os.read(self.read_end, 1 << 16)
            if not more:
                sys.exit("the browser exited")
            self.rest += more
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, **params):
        self.last += 1
        request = {"id": self.last, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data):]
        while True:
            message = self.message()
            if message.get("id") == self.last:
                if "error" in message:
                    sys.exit(f"{method}: {message['error']}")
                return message["result"]
            self.note(message)

    def note(self, message):
        self.events.append(message)

    def close(self):
        """Closes the browser, and kills its process group if it does not exit."""
        self.session = None
        try:
            self.call("Browser.close")
            self.process.wait(timeout=10)
        except (SystemExit, OSError, subprocess.TimeoutExpired):
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def wait_for(self, event):
        while not any(message.get("method") == event for message in self.events):
            self.note(self.message())

    def run(self, script):
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            sys.exit(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")


# Expands every element and waits until the page is rendered.
OPEN_ALL = """
(async () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
  const drawn = () => [...document.querySelectorAll("details.exchange")].every((one) => one.querySelector(".wire"));
  while (!drawn()) await new Promise((done) => requestAnimationFrame(done));
  const first = document.querySelectorAll(".step").length;
  for (const more of document.querySelectorAll(".more")) more.click();
  for (const arrow of document.querySelectorAll(".arrow")) arrow.click();
  return first;
})()
"""

SEEN = """
(() => {
  const visible = (one) => one.getClientRects().length > 0;
  const count = (which) => document.querySelectorAll(which).length;
  const filtered = {};
  for (const button of document.querySelectorAll(".filters button")) {
    if (button.dataset.verdict === "") continue;
    button.click();
    filtered[button.dataset.verdict] = [...document.querySelectorAll(".check")].filter(visible).length;
    button.click();
  }
  return {
    moments: count(".step"),
    frames: count(".step .arrow"),
    opened: count(".step pre"),
    all: [...document.querySelectorAll(".check")].filter(visible).length,
    filtered,
    smuggled: count("main img, main script, main iframe, [onerror]"),
    harmless: [...document.querySelectorAll(".step pre")].some((one) => one.textContent.includes("</script><img")),
    wrong: count(".step.wrong"),
    unlabelled: [...document.querySelectorAll("button, summary")].filter((one) => !one.textContent.trim()).length,
    wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
  };
})()
"""


def shoot(browser, folder):
    """Takes screenshots of the page as loaded and with the exchange of a failure expanded."""
    browser.call("Page.navigate", url=browser.url)
    browser.run("new Promise((done) => addEventListener('load', () => setTimeout(done, 300)) || setTimeout(done, 600))")
    for scheme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        for width in (1100, 390):
            browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
            browser.run("""(() => { const one = document.querySelector('.check.bad .exchange') ?? document.querySelector('.exchange');
                if (one) { one.closest('.check').open = true; one.open = true; } })()""")
            browser.run("""new Promise((done) => setTimeout(() => { const wrong = document.querySelector('.wrong .arrow');
                if (wrong && wrong.getAttribute('aria-expanded') === 'false') wrong.click(); done(); }, 200))""")
            picture = browser.call("Page.captureScreenshot", captureBeyondViewport=True)
            pathlib.Path(folder, f"{scheme}-{width}.png").write_bytes(base64.b64decode(picture["data"]))


def main():
    program, page = sys.argv[1:3]
    # Fail instead of hanging if the browser stops responding.
    signal.signal(signal.SIGALRM, lambda *_: sys.exit("the browser does not respond"))
    signal.alarm(120)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            target = browser.call("Target.createTarget", url="about:blank")["targetId"]
            browser.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                browser.call(f"{domain}.enable")
            browser.url = pathlib.Path(page).resolve().as_uri()
            browser.call("Page.navigate", url=browser.url)
            browser.wait_for("Page.loadEventFired")
            first = browser.run(OPEN_ALL)
            seen = browser.run(SEEN)
            # On a phone-sized screen, nothing may overflow.
            browser.call("Emulation.setDeviceMetricsOverride", width=360, height=800, deviceScaleFactor=1, mobile=False)
            seen["wide_on_a_phone"] = browser.run(
                "document.documentElement.scrollWidth > document.documentElement.clientWidth")
            seen["at_first"] = first
            said = {"Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled", "Page.javascriptDialogOpening"}
            seen["errors"] = [event for event in browser.events if event.get("method") in said]
            seen["requests"] = [
                event["params"]["request"]["url"] for event in browser.events
                if event.get("method") == "Network.requestWillBeSent"
                and event["params"]["request"]["url"] != browser.url
            ]
            print(json.dumps(seen))
            if sys.argv[3:4] == ["--shots"]:
                shoot(browser, sys.argv[4])
        finally:
            browser.close()


main()
