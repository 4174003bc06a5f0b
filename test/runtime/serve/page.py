"""The server's page in headless Chromium: against a stand-in for the server, and with --program
and --weights against a compiled program too."""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "e2e"))

import programs  # noqa: E402
from browser import Browser, Timeout, find_browser  # noqa: E402
from page_details import check_details  # noqa: E402
from page_tab import (IDLE, answers, begin, open_page, questions, say, send, set_more,  # noqa: E402
                      text_of, titles, value)
from programs import expect  # noqa: E402
from stand_in import StandIn  # noqa: E402

# For tools/test --changed: what the stand-in serves.
INPUTS = ["runtime/serve/page", "runtime/serve/page.cpp"]


class Compiled:
    """`FILE serve`, to be started and killed. The same members as StandIn has."""

    def __init__(self, program, weights):
        self.command = [program, "serve", "--weights", weights]
        self.port = 0

    def __enter__(self):
        self.process = subprocess.Popen([*self.command, "--port", str(self.port)], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"http://\S+?:(\d+)", line)
        expect(found, f"the server's first line is no address: {line!r}")
        self.port = int(found[1])
        self.address = f"http://127.0.0.1:{self.port}/"
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


def check_send(tab):
    """An answer comes in parts, and says how fast it came."""
    begin(tab)
    tab.js("""window.sizes = new Set();
      const size = () => document.querySelector('.message.assistant .markdown')?.innerText.length ?? 0;
      new MutationObserver(() => sizes.add(size())).observe(document.getElementById('messages'),
        {childList: true, subtree: true, characterData: true})""")
    answer = say(tab, "Name three colours of the rainbow.")
    expect(answer, "there is no answer")
    expect(len(tab.js("[...sizes]")) >= 3, f"the answer came as a whole: {tab.js('[...sizes]')}")
    stats = text_of(tab, ".message.assistant .stats")
    expect(re.fullmatch(r"[\d,]+ tokens? · [\d.,]+ tokens/s · first after [\d.]+ (µs|ms|s)", stats),
           f"stats: {stats}")
    expect(re.search(r"of [\d,]+ positions", text_of(tab, "#context")), "no share of the positions")
    expect(titles(tab)[0] == "Name three colours of the rainbow.", f"titles: {titles(tab)}")
    expect(tab.js("document.activeElement.id") == "input" and value(tab, "input") == "",
           "the field is not ready for the next message")


def check_reload(tab):
    said, answered = questions(tab), answers(tab)
    tab.js("document.getElementById('input').focus()")
    tab.type("a draft")
    tab.reload()
    tab.wait("document.querySelector('#status.ready') && document.querySelectorAll('.message').length")
    expect((questions(tab), answers(tab)) == (said, answered), f"after a reload: {questions(tab)} {answers(tab)}")
    expect(tab.wait("document.getElementById('input').value") == "a draft", "the draft is lost")
    tab.js("document.getElementById('input').select()")
    tab.press("Escape")
    tab.type(" ")


def check_stop(tab, state):
    """Escape ends an answer, on the server too; what came is kept."""
    begin(tab)
    set_more(tab, {"ignore_eos": True, "max_tokens": -1})
    send(tab, "Tell a slow story without an end.")
    tab.wait("document.querySelector('.message.assistant .markdown').innerText.length > 4", 60)
    tab.press("Escape")
    tab.wait(IDLE, 5)
    expect(text_of(tab, ".message.assistant .note") == "Stopped.",
           "the answer does not say that it was stopped")
    expect(answers(tab)[-1], "what came before the stop is lost")
    end = time.monotonic() + 10
    while state() and time.monotonic() < end:
        time.sleep(0.05)
    expect(state() == 0, "the server goes on")
    # Closing the page stops it too, and what came is there the next time.
    begin(tab)
    send(tab, "Tell another slow story without an end.")
    tab.wait("document.querySelector('.message.assistant .markdown').innerText.length > 4", 60)
    tab.reload()
    tab.wait("document.querySelector('#status.ready') && "
             "document.querySelector('.message.assistant .note')?.innerText === 'Stopped.'")
    expect(len(answers(tab)[-1]) > 4, "what came before the reload is lost")
    set_more(tab, {})


def check_tabs(browser, server, first):
    """Tabs with different conversations do not meet; one conversation in two tabs stays one, or becomes two."""
    second = open_page(browser, server)
    begin(first)
    say(first, "I am the first tab.")
    second.front()
    say(second, "I am the second tab.")
    for tab in (first, second):
        for title in ("I am the first tab.", "I am the second tab."):
            tab.wait("[...document.querySelectorAll('#list .title')].some(node => "
                     f"node.textContent === {json.dumps(title)})")
    for tab, own in ((first, "I am the first tab."), (second, "I am the second tab.")):
        tab.front()
        tab.reload()
        tab.wait("document.querySelectorAll('.message').length === 2")
        expect(questions(tab) == [own], f"after a reload, a tab shows {questions(tab)}")
    # What one writes, the other one shows.
    second.js(f"location.hash = {json.dumps(first.js('location.hash'))}")
    second.wait("document.querySelector('.bubble').textContent === 'I am the first tab.'")
    say(second, "The second one was here.")
    first.front()
    first.wait("document.querySelectorAll('.message').length === 4")
    # Both at once.
    set_more(first, {"max_tokens": 40})
    second.wait("document.getElementById('more').value.includes('40')")
    send(first, "first slow at once")
    second.front()
    send(second, "second slow at once")
    second.press("Escape")
    first.front()
    first.press("Escape")
    for tab in (first, second):
        tab.wait(IDLE, 60)
    stored = first.js("""Object.keys(localStorage).filter(key => key.startsWith('baton.conversation.'))
      .map(key => JSON.parse(localStorage[key]).messages.map(message => message.content))""")
    for text in ("first slow at once", "second slow at once"):
        expect(any(text in texts for texts in stored), f"'{text}' is lost: {stored}")
    set_more(first, {})
    second.close()


def check_dead(tab, server):
    """Without a server, the page says so and keeps what is written; with one again, it goes on."""
    tab.front()
    begin(tab)
    server.__exit__()
    send(tab, "Is anybody there?")
    tab.wait("document.querySelector('.fault')?.innerText.includes('No connection')")
    tab.wait("!document.getElementById('banner').hidden && document.querySelector('#status.lost')")
    tab.js("document.getElementById('input').focus()")
    tab.type("written meanwhile")
    expect(questions(tab) == ["Is anybody there?"], "the message is lost")
    server.__enter__()
    tab.click("#banner button")
    tab.wait("document.getElementById('banner').hidden && document.querySelector('#status.ready')")
    tab.click(".fault button")
    tab.wait(f"!document.querySelector('.fault') && {IDLE}", 60)
    expect(questions(tab) == ["Is anybody there?"] and answers(tab)[-1], "trying again brings no answer")
    expect(value(tab, "input") == "written meanwhile", "what was written meanwhile is lost")
    tab.js("document.getElementById('input').select()")
    tab.type(" ")


def check_engine(tab):
    tab.click("#tab-engine")
    tab.wait("document.querySelectorAll('.tile').length === 8 && "
             "/^[\\d.,]+$/.test(document.querySelector('.tile b').innerText)")
    tab.wait("document.querySelector('.curve-line').getAttribute('d').includes('L')")
    text = text_of(tab, "#tiles")
    for pattern in (r"Running\n\d+\nof \d+ sequence", r"Pages\n\d+ %\n[\d,]+ of [\d,]+",
                    r"Prefix hits\n(\d+ %|–)\n[\d,]+ of [\d,]+ token", r"Waiting\n\d+\n[\d,]+ preemptions?",
                    r"tokens/s · [\d,]+ so far(, [\d,]+ of them guessed)?", r"Rows per step\n", r"Step\n"):
        expect(re.search(pattern, text), f"no /{pattern}/ in {text}")
    if tab.js("!document.getElementById('timeline-part').hidden"):
        check_timeline(tab)
    tab.reload()
    tab.wait("!document.getElementById('engine').hidden && document.querySelector('#status.ready')")
    tab.click("#tab-chat")


def check_timeline(tab):
    """Tasks are drawn, and a pointer's are named."""
    tab.wait("document.getElementById('timeline-facts').innerText.includes('busy')")
    tab.js("document.getElementById('timeline').scrollIntoView({block: 'center'})")
    tab.wait("document.querySelector('#legend code')")
    names = tab.js("timeline.data.steps.flatMap(step => step.tasks.map(task => task[3]))")
    # The middle of the longest task.
    x, y, name = tab.js("""(() => {
      const {columns, geometry: {lane, head, perSecond}} = timeline;
      const all = columns.flatMap(({step, left}) => step.tasks.map(task => [left, step, task]));
      const [left, step, [worker, begin, end, name]] = all.sort((a, b) => (b[2][2] - b[2][1]) - (a[2][2] - a[2][1]))[0];
      const box = document.getElementById("timeline").getBoundingClientRect();
      return [box.x + left + ((begin + end) / 2 - step.begin) * perSecond, box.y + head + (worker + 0.5) * lane, name];
    })()""")
    tab.move(x, y)
    tab.wait("!document.getElementById('tip').hidden")
    found = text_of(tab, "#tip b")
    expect(found == name and found in names, f"the pointer's task is {found}, not {name}")
    colors = tab.js("""(() => {
      const canvas = document.getElementById("timeline");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const found = new Set();
      for (let i = 0; i < data.length; i += 4) found.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
      return found.size;
    })()""")
    expect(colors > 3, "the timeline is blank")
    tab.move(2, 2)
    tab.wait("document.getElementById('tip').hidden")
    tab.click("#zoom-in")
    wider = tab.js("(node => node.scrollWidth / node.clientWidth)(document.getElementById('timeline').parentElement)")
    expect(wider > 1.9, f"zoomed, the timeline is {wider} times as wide")
    tab.click("#zoom-out")
    tab.click("#hold")
    before = tab.js("timeline.data.steps[0].begin + timeline.data.steps.length")
    time.sleep(1.5)
    expect(tab.js("timeline.data.steps[0].begin + timeline.data.steps.length") == before, "the timeline does not hold")
    tab.click("#hold")


def check_theme(tab):
    """As the system's, or what the switch says, which a reload keeps."""
    paper = "getComputedStyle(document.body).backgroundColor"
    tab.prefer("light")
    light = tab.js(paper)
    tab.prefer("dark")
    dark = tab.js(paper)
    expect(light != dark and sum(map(int, re.findall(r"\d+", dark))) < 150, f"light {light}, dark {dark}")
    tab.click("#theme")
    expect(tab.js(paper) == light, "the switch to light has no effect")
    tab.reload()
    tab.wait("document.querySelector('#status.ready')")
    expect(tab.js(paper) == light, "the choice is lost")
    tab.prefer("light")
    tab.click("#theme")
    expect(tab.js(paper) == dark, "the switch to dark has no effect")
    tab.click("#theme")
    expect(tab.js("document.documentElement.dataset.theme") == "auto" and tab.js(paper) == light,
           "no way back to the system's")


def check_keyboard(tab):
    begin(tab)
    expect(tab.js("document.activeElement.id") == "input", "Ctrl+K does not lead to the field")
    tab.type("one")
    tab.press("Enter", "Shift")
    tab.type("two")
    expect(value(tab, "input") == "one\ntwo" and not questions(tab), "Shift+Enter begins no line")
    tab.press("Enter")
    tab.wait(f"document.querySelectorAll('.message.assistant').length === 1 && {IDLE}", 60)
    expect(questions(tab) == ["one\ntwo"], f"{questions(tab)}")
    tab.js("document.activeElement.blur()")
    tab.press("/")
    expect(tab.js("document.activeElement.id") == "input" and value(tab, "input") == "",
           "/ does not lead to the field")
    tab.press("ArrowUp")
    expect(tab.js("document.activeElement.getAttribute('aria-label')") == "Edit the message",
           "an arrow does not edit the last message")
    tab.press("Escape")
    expect(not tab.js("document.querySelector('.editor')"), "Escape does not end editing")
    # The one that has the focus is seen, and all buttons can be named.
    tab.js("document.getElementById('menu').focus()")
    for _ in range(4):
        tab.press("Tab")
        focus = tab.js("""(() => { const node = document.activeElement, style = getComputedStyle(node);
          return [node.tagName, style.outlineStyle, parseFloat(style.outlineWidth)]; })()""")
        expect(focus[1] != "none" and focus[2] >= 1, f"the focus is not seen: {focus}")
    nameless = tab.js("""[...document.querySelectorAll('button, input, textarea')].filter(node =>
      node.checkVisibility() && !node.innerText?.trim() && !node.getAttribute('aria-label') &&
      !node.labels?.length).map(node => node.id || node.outerHTML)""")
    expect(not nameless, f"without a name for screen readers: {nameless}")
    expect(tab.js("document.getElementById('announcer').textContent").strip(), "screen readers are told nothing")


def check_stand_in(browser, folder):
    with StandIn(folder) as server:
        tab = open_page(browser, server)
        check_all(browser, server, tab, lambda: 0 if server.cut else 1)
        check_details(browser, server, tab)
        expect(not tab.faults(), f"faults: {tab.faults()}")


def check_compiled(browser, program, weights):
    with Compiled(program, weights) as server:
        tab = open_page(browser, server)
        # A small model often finds no end.
        tab.js("store('baton.settings', JSON.stringify({max_tokens: 48}))")
        check_all(browser, server, tab,
                  lambda: tab.js("fetch('/engine').then(answer => answer.json())"
                                 ".then(engine => engine.running + engine.waiting)"))
        expect(not tab.faults(), f"faults: {tab.faults()}")


def check_all(browser, server, tab, state):
    check_send(tab)
    check_reload(tab)
    check_stop(tab, state)
    check_tabs(browser, server, tab)
    check_dead(tab, server)
    check_engine(tab)
    check_theme(tab)
    check_keyboard(tab)


def test(arguments, scratch):
    with Browser(find_browser(), os.path.join(scratch, "profile")) as browser:
        try:
            check_stand_in(browser, arguments.page)
            if arguments.program:
                check_compiled(browser, os.path.abspath(arguments.program), arguments.weights)
        except Timeout as late:
            raise programs.Failure(late) from None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", default=os.path.join(HERE, "..", "..", "..", "runtime", "serve", "page"),
                        help="the folder of the page's parts")
    parser.add_argument("--program", help="a compiled program that serves")
    parser.add_argument("--weights", help="its weights")
    arguments = parser.parse_args()
    if not find_browser():
        print("SKIPPED: no chromium here")
        sys.exit(77)
    programs.main(lambda scratch: test(arguments, scratch))
