//! A browser that is driven: real clicks, keys and zooms, at any size and in any theme.
//!
//! Chromium is spoken to over its debugging pipe, which is the pair of file descriptors 3 and 4. A
//! shell connects them to two named pipes, so that no port is opened.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{MISSING, NAMES};

/// Size and theme in which a page is shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct View {
    /// Width in pixels; below 600 the screen is that of a phone.
    pub width: u32,
    /// Theme that the system prefers.
    pub theme: Theme,
}

/// Theme of a system.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Theme {
    /// Dark text on a light ground.
    Light,
    /// Light text on a dark ground.
    Dark,
}

impl View {
    /// Returns a phone and a desk screen, each in both themes.
    pub fn all() -> [Self; 4] {
        let view = |width, theme| Self { width, theme };
        [
            view(390, Theme::Light),
            view(390, Theme::Dark),
            view(1280, Theme::Light),
            view(1280, Theme::Dark),
        ]
    }

    /// Returns a name for pictures, such as `390-dark`.
    pub fn name(self) -> String {
        let theme = if self.theme == Theme::Dark { "dark" } else { "light" };
        format!("{}-{theme}", self.width)
    }

    fn is_phone(self) -> bool {
        self.width < 600
    }
}

/// Chromium without a window, with one page.
#[derive(Debug)]
pub struct Browser {
    chromium: Child,
    to: File,
    from: Receiver<Value>,
    session: Option<String>,
    calls: u64,
    events: Vec<Value>,
    /// Prefix of the URLs that the page may request, if any.
    server: Option<String>,
    folder: TempDir,
}

impl Browser {
    /// Starts the browser.
    ///
    /// # Panics
    ///
    /// Panics if this machine has no Chromium, with the command that installs it, or if Chromium
    /// does not answer.
    #[track_caller]
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder for the browser");
        let [to, from] = ["to", "from"].map(|name| folder.path().join(name));
        let made = Command::new("mkfifo").arg(&to).arg(&from).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo failed");
        let profile = format!("--user-data-dir={}", folder.path().join("profile").display());
        let chromium = Command::new("sh")
            .args(["-c", CONNECT, "sh"])
            .args([&to, &from])
            .arg(program())
            .args(DRIVEN)
            .arg(profile)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell starts");
        let pipe = |path: &Path| {
            let both = OpenOptions::new().read(true).write(true).open(path);
            both.expect("the pipe opens")
        };
        let (to, from) = (pipe(&to), messages(pipe(&from)));
        let (session, server, events) = (None, None, Vec::new());
        let mut browser = Self { chromium, to, from, session, calls: 0, events, server, folder };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attached = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", &attached);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Opens a page and waits until it is loaded.
    ///
    /// # Panics
    ///
    /// Panics if the page cannot be written, or if Chromium does not answer.
    #[track_caller]
    pub fn open(&mut self, page: &str, view: View) {
        let file = self.folder.path().join("page.html");
        fs::write(&file, page).expect("the page is written");
        self.server = None;
        self.load(&format!("file://{}", file.display()), view);
    }

    /// Opens the page of a server and waits until it is loaded. The page may request more from that
    /// server.
    ///
    /// # Panics
    ///
    /// Panics if Chromium does not answer.
    #[track_caller]
    pub fn visit(&mut self, url: &str, view: View) {
        self.server = Some(url.to_owned());
        self.load(url, view);
    }

    #[track_caller]
    fn load(&mut self, url: &str, view: View) {
        let height = if view.is_phone() { 844 } else { 800 };
        let metrics = json!({
            "width": view.width, "height": height, "deviceScaleFactor": 1, "mobile": view.is_phone(),
        });
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
        let theme = if view.theme == Theme::Dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": theme}]});
        self.call("Emulation.setEmulatedMedia", &features);
        self.events.clear();
        self.call("Page.navigate", &json!({"url": url}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.next();
            self.events.push(event);
        }
        self.settle();
    }

    /// Evaluates an expression in the page and returns its value.
    ///
    /// # Panics
    ///
    /// Panics if the expression throws.
    #[track_caller]
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let call = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true,
        });
        let mut result = self.call("Runtime.evaluate", &call);
        let thrown = &result["exceptionDetails"];
        assert!(thrown.is_null(), "{expression}: {thrown:#}");
        result["result"]["value"].take()
    }

    /// Waits until an expression is true in the page.
    ///
    /// # Panics
    ///
    /// Panics if it throws, or does not become true.
    #[track_caller]
    pub fn wait_until(&mut self, expression: &str) {
        self.evaluate(&format!(
            "new Promise(done => {{ const look = () => ({expression}) ? done() : setTimeout(look, 20); look(); }})"
        ));
    }

    /// Returns the text of the first element that a selector finds.
    #[track_caller]
    pub fn text(&mut self, selector: &str) -> String {
        let found = self.evaluate(&format!("document.querySelector({selector:?}).textContent"));
        found.as_str().unwrap_or_default().to_owned()
    }

    /// Returns the number of elements that a selector finds.
    #[track_caller]
    pub fn count(&mut self, selector: &str) -> u64 {
        let found = self.evaluate(&format!("document.querySelectorAll({selector:?}).length"));
        found.as_u64().unwrap_or_default()
    }

    /// Clicks the middle of the first element that a selector finds.
    #[track_caller]
    pub fn click(&mut self, selector: &str) {
        let (x, y) = self.place(selector, 0.5, 0.5);
        self.mouse("mouseMoved", (x, y), 0);
        self.mouse("mousePressed", (x, y), 1);
        self.mouse("mouseReleased", (x, y), 1);
        self.settle();
    }

    /// Moves the pointer to a point in an element; `across` and `down` are shares of its width and
    /// height.
    #[track_caller]
    pub fn hover(&mut self, selector: &str, across: f64, down: f64) {
        let place = self.place(selector, across, down);
        self.mouse("mouseMoved", place, 0);
        self.settle();
    }

    /// Drags the pointer horizontally through an element; `from` and `to` are shares of its width.
    #[track_caller]
    pub fn drag(&mut self, selector: &str, from: f64, to: f64) {
        let (start, y) = self.place(selector, from, 0.5);
        let (end, _) = self.place(selector, to, 0.5);
        self.mouse("mouseMoved", (start, y), 0);
        self.mouse("mousePressed", (start, y), 1);
        for step in 1..=4 {
            self.mouse("mouseMoved", (start + (end - start) * f64::from(step) / 4.0, y), 1);
        }
        self.mouse("mouseReleased", (end, y), 1);
        self.settle();
    }

    /// Presses a key, by its name in JavaScript, while an element has the focus.
    #[track_caller]
    pub fn press(&mut self, selector: &str, key: &str) {
        self.evaluate(&format!("document.querySelector({selector:?}).focus()"));
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", &json!({"type": kind, "key": key}));
        }
        self.settle();
    }

    /// Stores a picture of the whole page as `name` if the variable `SERVEMARK_SCREENSHOTS` names a
    /// folder.
    ///
    /// # Panics
    ///
    /// Panics if the picture cannot be written, or if Chromium does not answer.
    #[track_caller]
    pub fn keep_picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("SERVEMARK_SCREENSHOTS") else { return };
        let size = self.call("Page.getLayoutMetrics", &json!({}))["cssContentSize"].take();
        let clip = json!({
            "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1,
        });
        let call = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
        let picture = self.call("Page.captureScreenshot", &call);
        let picture = STANDARD.decode(picture["data"].as_str().unwrap_or_default());
        let path = Path::new(&folder).join(format!("{name}.png"));
        fs::write(path, picture.expect("a picture is base64")).expect("the picture is written");
    }

    /// Returns the page as a printed document.
    ///
    /// # Panics
    ///
    /// Panics if Chromium does not answer.
    #[track_caller]
    pub fn printed(&mut self) -> Vec<u8> {
        let printed = self.call("Page.printToPDF", &json!({}));
        let printed = STANDARD.decode(printed["data"].as_str().unwrap_or_default());
        printed.expect("a printed page is base64")
    }

    /// Returns errors of scripts, lines of the console, and requests to a network.
    #[track_caller]
    pub fn faults(&mut self) -> Vec<String> {
        self.settle();
        let server = self.server.as_deref();
        self.events.iter().filter_map(|event| fault(event, server)).collect()
    }

    /// Scrolls an element into view and returns the position on the screen of a point in it;
    /// `across` and `down` are shares of its width and height.
    #[track_caller]
    fn place(&mut self, selector: &str, across: f64, down: f64) -> (f64, f64) {
        let found = self.evaluate(&format!(
            "(() => {{ const one = document.querySelector({selector:?}); one.scrollIntoView({{block: 'center', behavior: 'instant'}}); \
             const {{x, y, width, height}} = one.getBoundingClientRect(); return [x + width * {across}, y + height * {down}]; }})()"
        ));
        let of = |index: usize| found[index].as_f64().expect("an element has a place");
        (of(0), of(1))
    }

    #[track_caller]
    fn mouse(&mut self, kind: &str, (x, y): (f64, f64), clicks: u8) {
        let button = if clicks > 0 { "left" } else { "none" };
        let event = json!({
            "type": kind, "x": x, "y": y, "button": button, "buttons": clicks, "clickCount": clicks,
        });
        self.call("Input.dispatchMouseEvent", &event);
    }

    /// Waits until the page has drawn what was asked for.
    #[track_caller]
    fn settle(&mut self) {
        self.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))",
        );
    }

    /// Calls a method and returns its result.
    #[track_caller]
    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.calls += 1;
        let mut call = json!({"id": self.calls, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            call["sessionId"] = session.as_str().into();
        }
        let mut bytes = call.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("the browser takes calls");
        loop {
            let mut message = self.next();
            if message["id"] == self.calls {
                assert!(message["error"].is_null(), "{method}: {:#}", message["error"]);
                return message["result"].take();
            }
            self.events.push(message);
        }
    }

    #[track_caller]
    fn next(&mut self) -> Value {
        self.from.recv_timeout(PATIENCE).expect("the browser answers in time")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser may have ended already.
        let _ = self.chromium.kill();
        let _ = self.chromium.wait();
    }
}

/// Describes an event that a sound page of this server, or of none, does not cause.
fn fault(event: &Value, server: Option<&str>) -> Option<String> {
    let parameters = &event["params"];
    match event["method"].as_str()? {
        "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded" => {
            Some(parameters.to_string())
        }
        "Network.requestWillBeSent" => {
            let url = parameters["request"]["url"].as_str()?;
            let is_local = ["file:", "data:", "about:"].iter().any(|kind| url.starts_with(kind));
            let is_own = server.is_some_and(|server| url.starts_with(server));
            (!is_local && !is_own).then(|| format!("asked for {url}"))
        }
        _ => None,
    }
}

/// Reads messages, each of which ends with a zero byte, on a thread of their own.
fn messages(mut pipe: File) -> Receiver<Value> {
    let (to, from) = channel();
    thread::spawn(move || {
        let (mut bytes, mut part) = (Vec::new(), vec![0; 1 << 16]);
        while let Ok(length @ 1..) = pipe.read(&mut part) {
            bytes.extend_from_slice(&part[..length]);
            while let Some(end) = bytes.iter().position(|byte| *byte == 0) {
                let message: Vec<u8> = bytes.drain(..=end).collect();
                let Ok(message) = serde_json::from_slice(&message[..end]) else { return };
                if to.send(message).is_err() {
                    return;
                }
            }
        }
    });
    from
}

#[track_caller]
fn program() -> &'static str {
    let is_there = |program: &&str| {
        let mut tried = Command::new(program);
        tried.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        tried.status().is_ok()
    };
    NAMES.into_iter().find(is_there).unwrap_or_else(|| panic!("{MISSING}"))
}

/// Shell script that connects descriptors 3 and 4 to the pipes and replaces itself by the program
/// that follows.
const CONNECT: &str = "to=$1 from=$2; shift 2; exec \"$@\" 3<\"$to\" 4>\"$from\"";

/// How long an answer of the browser may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

const DRIVEN: [&str; 9] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--hide-scrollbars",
    "--no-first-run",
    "--remote-debugging-pipe",
];
