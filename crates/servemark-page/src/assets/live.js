// A page of a run that goes on: asks for the page anew, and shows it in place of the old one.

function follow({ version, state }) {
  const status = document.getElementById("live"), button = document.getElementById("pause");
  let isPaused = false, isPressed = false, question, continued;
  const isHeld = () => isPaused || isPressed;
  const say = words => {
    // A screen reader is told when the run ends, and not of every request.
    status.setAttribute("aria-live", state === "running" ? "off" : "polite");
    status.textContent = words;
  };
  const changed = () => {
    question?.abort();
    if (!isHeld()) continued?.();
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    isPaused = !isPaused;
    button.setAttribute("aria-pressed", String(isPaused));
    status.dataset.paused = isPaused;
    changed();
  });
  document.addEventListener("visibilitychange", changed);
  // A page that is replaced while a pointer drags across a plot would end the drag.
  addEventListener("pointerdown", () => { isPressed = true; }, true);
  for (const name of ["pointerup", "pointercancel"])
    addEventListener(name, () => { isPressed = false; if (!isHeld()) continued?.(); }, true);

  // Returns the next page, or nothing if the question has changed. A page that nobody looks at
  // asks for the last one only, so that the program makes no other.
  async function next() {
    question = new AbortController();
    const { signal } = question, query = isPaused || document.hidden ? "last" : `after=${version}`;
    try {
      const answer = await fetch(`/?${query}`, { signal, cache: "no-store" });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      return new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async function run() {
    for (let tries = 0; state === "running";) {
      let page;
      try {
        page = await next();
        tries = 0;
      } catch {
        if (++tries === TRIES) {
          state = "lost";
          say("no answer: the command has ended, or the connection is lost");
        } else await new Promise(done => setTimeout(done, PAUSE_MS));
      }
      if (!page) continue;
      while (isHeld()) await new Promise(done => { continued = done; });
      const { live, ...more } = readData(page);
      ({ version, state } = live);
      replace(page, more);
      say(live.text);
    }
    button.hidden = true;
  }
  run();
}

const TRIES = 5, PAUSE_MS = 2000;

// Shows the sections of another page, and keeps what the reader chose in this one.
function replace(page, data) {
  const chosen = choices(), view = time && !time.isWhole && time.view.slice(), cross = time && time.cross;
  const focus = nameOf(chosen, document.activeElement);
  const anchor = [...document.querySelectorAll("#main section, #main .plot")].findLast(node => node.offsetHeight && node.getBoundingClientRect().top < ANCHOR);
  const before = anchor && anchor.getBoundingClientRect().top;
  document.title = page.title;
  for (const part of [".bar nav", "#main"]) document.querySelector(part).replaceChildren(...page.querySelector(part).childNodes);
  time = show(data);
  if (time && view) {
    time.show(...view);
    time.redrawNow();
  }
  if (time && Number.isFinite(cross)) time.point(cross);
  // A tab makes its plots when it is chosen, so tabs come first.
  for (const isTab of [true, false]) for (const [name, now] of choices())
    if (chosen.has(name) && (now.node.getAttribute("role") === "tab") === isTab) choose(now, chosen.get(name));
  if (focus) choices().get(focus)?.node.focus({ preventScroll: true });
  const after = anchor && document.getElementById(anchor.id);
  if (after) scrollBy({ top: Math.round(after.getBoundingClientRect().top - before), behavior: "instant" });
}

// An element that begins above this place, in pixels, is what the reader looks at.
const ANCHOR = 120;

// Returns what can be chosen or scrolled, by names that another version of the page has too.
function choices() {
  const found = new Map();
  for (const node of document.querySelectorAll("#main :is(button, summary, [tabindex])")) {
    const label = node.getAttribute("aria-label") || node.value || [...node.childNodes].find(part => part.nodeType === Node.TEXT_NODE)?.data;
    let name = `${node.closest("[id]").id} ${node.localName} ${label || ""}`;
    while (found.has(name)) name += " ";
    const is = kind => node.getAttribute("aria-" + kind);
    const isOn = node.localName === "summary" ? node.parentNode.open : [is("pressed"), is("expanded"), is("selected")].includes("true");
    found.set(name, { node, isOn, place: [node.scrollLeft, node.scrollTop] });
  }
  return found;
}

const nameOf = (found, node) => [...found].find(([, one]) => one.node === node)?.[0];

function choose({ node, isOn }, was) {
  const isOneOfSeveral = node.value || node.getAttribute("role") === "tab";
  if (isOn !== was.isOn && (was.isOn || !isOneOfSeveral)) node.click();
  const [left, top] = was.place;
  if (left || top) node.scrollTo({ left, top, behavior: "instant" });
}

// The place is kept here, and not by the browser, which knows only what it has shown.
root.style.overflowAnchor = "none";
follow(data.live);
