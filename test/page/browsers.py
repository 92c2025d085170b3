# SPDX-License-Identifier: Apache-2.0
"""Chromium and Firefox without a window, driven by their own protocols: the DevTools protocol over a pipe, and Marionette. Nothing is needed but Python.

Both are told that there is no network: what a page asks for elsewhere fails, and is seen."""

import base64
import fcntl
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

WIDTH, HEIGHT = 1280, 900
START_S = 90  # for a browser to answer


def find(names):
    return next((path for path in map(shutil.which, names) if path), None)


def end(process):
    """The browser and all that it has started: it leads a session of its own."""
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()


class Chromium:
    """https://chromedevtools.github.io/devtools-protocol/; messages end with a 0 byte, and come and go by the descriptors 3 and 4 of the browser."""

    KEYS = {"Enter": ("\r", 13), "Escape": ("", 27), "ArrowDown": ("", 40), "ArrowUp": ("", 38), "ArrowLeft": ("", 37), "ArrowRight": ("", 39)}

    @staticmethod
    def program():
        return find(["chromium", "chromium-browser"])

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="heapsnap-chromium-")
        theirs, (self.into, self.out) = self._pipes()
        options = ["--headless", "--remote-debugging-pipe", f"--user-data-dir={self.folder}", "--no-first-run", "--no-default-browser-check", "--disable-gpu",
                   "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND"]
        if os.geteuid() == 0:
            options.append("--no-sandbox")  # it refuses to run as root with it
        command = ["/bin/bash", "-c", f'exec "$@" 3<&{theirs[0]} 4>&{theirs[1]}', "bash", self.program(), *options, "about:blank"]
        with open(os.path.join(self.folder, "log"), "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, pass_fds=theirs, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                            env={**os.environ, "HOME": self.folder})
        for descriptor in theirs:
            os.close(descriptor)
        self.rest, self.number, self.session, self.seen = b"", 0, None, []
        self.version = self.call("Browser.getVersion")["product"]
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=WIDTH, height=HEIGHT, deviceScaleFactor=1, mobile=False)
        self.dark(False)

    @staticmethod
    def _pipes():
        """Theirs to read from and to write to, then ours; theirs are above those that they will become."""
        (read, ours_out), (ours_into, write) = os.pipe(), os.pipe()
        theirs = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10) for descriptor in (read, write)]
        os.close(read)
        os.close(write)
        return theirs, (ours_into, ours_out)

    def _message(self):
        while b"\0" not in self.rest:
            part = os.read(self.into, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended: " + open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace").read()[-2000:])
            self.rest += part
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        while True:
            message = self._message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.seen.append(message)

    def open(self, path):
        self.seen = []
        self.call("Page.navigate", url="file://" + path)

    def run(self, script):
        """The value of the body of a function."""
        result = self.call("Runtime.evaluate", expression=f"(() => {{ {script} }})()", returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:2000])
        return result["result"].get("value")

    def key(self, name):
        text, code = self.KEYS.get(name, (name, ord(name.upper()[0])))
        event = {"key": name, "windowsVirtualKeyCode": code, **({"text": text} if text else {})}
        self.call("Input.dispatchKeyEvent", type="keyDown", **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name, windowsVirtualKeyCode=code)

    def click(self, x, y):
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"]:
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="none" if kind == "mouseMoved" else "left", clickCount=1)

    def dark(self, is_dark):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def errors(self):
        """What the console shows of the page that is open: errors, warnings, exceptions; and what it asked the network for."""
        self.run("return 0")  # what has happened before has come by then
        found = []
        for message in self.seen:
            params = message.get("params", {})
            if message.get("method") == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"].get("exception", {}).get("description") or params["exceptionDetails"]["text"])
            elif message.get("method") == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
            elif message.get("method") == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append(str([argument.get("value", argument.get("description")) for argument in params["args"]]))
            elif message.get("method") == "Network.requestWillBeSent" and params.get("type") != "Document":
                found.append("asks for " + params["request"]["url"][:200])
        return found

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (RuntimeError, OSError):
            pass
        end(self.process)
        os.close(self.into)
        os.close(self.out)
        shutil.rmtree(self.folder, ignore_errors=True)


PREFERENCES = {
    "marionette.port": 0, "app.update.disabledForTesting": True, "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.enabled": False, "browser.startup.page": 0, "browser.aboutwelcome.enabled": False, "extensions.update.enabled": False,
    "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False, "services.settings.server": "data:,none",
    "network.proxy.type": 1, "network.proxy.http": "127.0.0.1", "network.proxy.http_port": 9, "network.proxy.ssl": "127.0.0.1", "network.proxy.ssl_port": 9,
    "layout.css.prefers-color-scheme.content-override": 1, "remote.prefs.recommended": True,
}
CONSOLE = """
const messages = Services.console.getMessageArray().filter((each) => each instanceof Ci.nsIScriptError && each.sourceName.startsWith("file:"))
	.map((each) => String(each));
const calls = Cc["@mozilla.org/consoleAPI-storage;1"].getService(Ci.nsIConsoleAPIStorage).getEvents()
	.filter((each) => ["error", "warn", "assert"].includes(each.level) && String(each.filename).startsWith("file:"))
	.map((each) => each.level + ": " + each.arguments.map(String).join(" "));
return messages.concat(calls);
"""


class Firefox:
    """Marionette: "LENGTH:[0, number, command, parameters]" over TCP; commands are those of WebDriver."""

    KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014", "ArrowDown": "\ue015"}

    @staticmethod
    def program():
        return find(["firefox-esr", "firefox"])

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="heapsnap-firefox-")
        profile = os.path.join(self.folder, "profile")
        os.mkdir(profile)
        with open(os.path.join(profile, "user.js"), "w", encoding="utf-8") as file:
            for name, value in PREFERENCES.items():
                file.write(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n")
        environment = {**os.environ, "HOME": self.folder, "MOZ_HEADLESS": "1", "MOZ_REMOTE_ALLOW_SYSTEM_ACCESS": "1", "MOZ_CRASHREPORTER_DISABLE": "1"}
        command = [self.program(), "--headless", "--no-remote", "--profile", profile, "--marionette", "-remote-allow-system-access",
                   "--width", str(WIDTH), "--height", str(HEIGHT), "about:blank"]
        with open(os.path.join(self.folder, "log"), "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=environment)
        self.socket, self.rest, self.number = self._connect(profile), b"", 0
        self._message()  # who it is
        session = self.call("WebDriver:NewSession", capabilities={"alwaysMatch": {"pageLoadStrategy": "none"}})
        self.version = "Firefox/" + session["capabilities"]["browserVersion"]
        self.call("WebDriver:SetWindowRect", x=0, y=0, width=WIDTH, height=HEIGHT + 90)  # with the bars of its window

    def _connect(self, profile):
        """It writes the port that it has taken into its profile."""
        until = time.monotonic() + START_S
        while time.monotonic() < until and self.process.poll() is None:
            try:
                with open(os.path.join(profile, "MarionetteActivePort"), encoding="utf-8") as file:
                    return socket.create_connection(("127.0.0.1", int(file.read())), timeout=120)
            except (OSError, ValueError):
                time.sleep(0.1)
        raise RuntimeError("Firefox does not answer: " + open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace").read()[-2000:])

    def _more(self):
        part = self.socket.recv(1 << 20)
        if not part:
            raise RuntimeError("the browser has ended")
        self.rest += part

    def _message(self):
        while b":" not in self.rest:
            self._more()
        length, self.rest = self.rest.split(b":", 1)
        while len(self.rest) < int(length):
            self._more()
        text, self.rest = self.rest[:int(length)], self.rest[int(length):]
        return json.loads(text)

    def call(self, command, **params):
        self.number += 1
        data = json.dumps([0, self.number, command, params]).encode()
        self.socket.sendall(str(len(data)).encode() + b":" + data)
        _, _, error, result = self._message()
        if error:
            raise RuntimeError(f"{command}: {error}")
        return result

    def system(self, script):
        """Runs a script with the rights of the browser itself."""
        self.call("Marionette:SetContext", value="chrome")
        try:
            return self.call("WebDriver:ExecuteScript", script=script, args=[], sandbox="system", newSandbox=True)["value"]
        finally:
            self.call("Marionette:SetContext", value="content")

    def open(self, path):
        self.call("WebDriver:Navigate", url="about:blank")
        self.system('Services.console.reset(); Cc["@mozilla.org/consoleAPI-storage;1"].getService(Ci.nsIConsoleAPIStorage).clearEvents();')
        self.call("WebDriver:Navigate", url="file://" + path)

    def run(self, script):
        return self.call("WebDriver:ExecuteScript", script=script, args=[])["value"]

    def key(self, name):
        value = self.KEYS.get(name, name)
        self.call("WebDriver:PerformActions", actions=[{"type": "key", "id": "keys", "actions": [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]}])

    def click(self, x, y):
        moves = [{"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)}, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.call("WebDriver:PerformActions", actions=[{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": moves}])

    def dark(self, is_dark):
        self.system(f'Services.prefs.setIntPref("layout.css.prefers-color-scheme.content-override", {0 if is_dark else 1});')

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("WebDriver:TakeScreenshot", full=False)["value"]))

    def errors(self):
        return self.system(CONSOLE)

    def close(self):
        try:
            self.call("Marionette:Quit", flags=["eForceQuit"])
        except (RuntimeError, OSError):
            pass
        self.socket.close()
        end(self.process)
        shutil.rmtree(self.folder, ignore_errors=True)


BROWSERS = {"chromium": Chromium, "firefox": Firefox}
