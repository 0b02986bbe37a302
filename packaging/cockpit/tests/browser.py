# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven by its DevTools protocol over two pipes."""

import base64
import json
import os
import select
import shutil
import subprocess
import time


class Failure(Exception):
    """Something did not happen in time, or not as it should."""


def find():
    """The path of a Chromium; None if there is none."""
    for name in ["chromium", "chromium-browser", "google-chrome"]:
        if path := shutil.which(name):
            return path
    return None


class Browser:
    def __init__(self, program, folder):
        ear, self._ear = os.pipe()
        self._mouth, mouth = os.pipe()

        def place():
            # It reads commands from descriptor 3, and writes answers to 4. Either may be one of the pipes' own.
            high = [os.dup(ear), os.dup(mouth)]
            while min(high) < 5:
                high = [os.dup(number) for number in high]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        options = [
            "--headless=new", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={folder}",
            "--disable-background-networking", "--disable-dev-shm-usage", "--no-first-run", "about:blank",
        ]
        # Chromium's own sandbox refuses to run as root.
        if os.geteuid() == 0:
            options.insert(0, "--no-sandbox")
        self._process = subprocess.Popen(
            [program, *options], preexec_fn=place, close_fds=False, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "HOME": folder, "LANG": "C.UTF-8", "TZ": "UTC"},
        )
        os.close(ear)
        os.close(mouth)
        self._buffer = b""
        self._number = 0
        self._session = None
        self.complaints = []
        targets = self.send("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self.send("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ["Page", "Log", "Runtime"]:
            self.send(f"{domain}.enable")

    def close(self):
        os.close(self._ear)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._mouth)

    def send(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._ear, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 20
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise Failure(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def _receive(self, deadline):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._mouth], [], [], max(0, deadline - time.monotonic()))
            part = os.read(self._mouth, 1 << 16) if ready else b""
            if not part:
                raise Failure("the browser does not answer")
            self._buffer += part
        text, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(text)
        self._note(message.get("method"), message.get("params"))
        return message

    def _note(self, method, event):
        """Keeps what a page complains about on its console: errors, exceptions and refusals of its policy."""
        if method == "Runtime.exceptionThrown":
            details = event["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "assert", "warning"):
            words = [str(argument.get("value", argument.get("description"))) for argument in event["args"]]
            self.complaints.append(" ".join(words))
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{event['entry']['text']} {event['entry'].get('url', '')}")

    def open(self, address):
        self.send("Page.navigate", url=address)

    def evaluate(self, expression):
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise Failure(f"{expression}: {result['exceptionDetails'].get('exception', {}).get('description')}")
        return result["result"].get("value")

    def until(self, expression, limit=8):
        """Waits for an expression to be true."""
        deadline = time.monotonic() + limit
        while True:
            try:
                if self.evaluate(f"Boolean({expression})"):
                    return
            except Failure:
                # While a page is being loaded, there is nothing to ask.
                if time.monotonic() > deadline:
                    raise
            if time.monotonic() > deadline:
                text = self.evaluate("document.body.innerText")
                raise Failure(f"not within {limit} s: {expression}\n-- page\n{text}\n-- end")
            time.sleep(0.05)

    def press(self, key, code=None, text=None):
        """Presses a key as a person would: an event that the page trusts."""
        event = {"key": key, "code": code or key}
        numbers = {"Enter": 13, "Escape": 27, "Tab": 9}
        if key in numbers:
            event["windowsVirtualKeyCode"] = numbers[key]
        if text or key == "Enter":
            event["text"] = text or "\r"
        self.send("Input.dispatchKeyEvent", type="keyDown", **event)
        event.pop("text", None)
        self.send("Input.dispatchKeyEvent", type="keyUp", **event)

    def show(self, width, is_dark, height=900):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path, whole=True):
        answer = self.send("Page.captureScreenshot", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))
