"""The server's page in headless Chromium: against a stand-in for the server, and with --program
and --weights against a compiled program too."""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "e2e"))

import programs  # noqa: E402
from browser import Browser, Timeout, find_browser  # noqa: E402
from programs import expect  # noqa: E402
from stand_in import StandIn  # noqa: E402

# For tools/test --changed: what the stand-in serves.
INPUTS = ["runtime/serve/page"]

IDLE = "!document.querySelector('.message.running') && !document.querySelector('#messages.busy')"


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


def answers(tab):
    """The texts of the answers that are shown."""
    return tab.js("[...document.querySelectorAll('.message.assistant .markdown')].map(node => node.innerText)")


def questions(tab):
    return tab.js("[...document.querySelectorAll('.message.user .bubble')].map(node => node.textContent)")


def titles(tab):
    return tab.js("[...document.querySelectorAll('#list .title')].map(node => node.textContent)")


def send(tab, text):
    tab.js("document.getElementById('input').focus()")
    tab.type(text)
    tab.press("Enter")
    tab.wait(f"[...document.querySelectorAll('.bubble')].some(node => node.textContent === {json.dumps(text)})")


def say(tab, text):
    """Sends a message, and waits for its answer; the answer's text."""
    before = len(answers(tab))
    send(tab, text)
    tab.wait(f"document.querySelectorAll('.message.assistant').length > {before} && {IDLE}", 60)
    return answers(tab)[-1]


def begin(tab):
    tab.press("k", "Control")
    tab.wait("document.querySelectorAll('.message').length === 0")


def set_more(tab, keys):
    """Other keys of the conversation's requests, through the settings."""
    tab.click("#settings-button")
    tab.js("document.getElementById('more').select()")
    tab.type(json.dumps(keys))
    tab.click("#settings-close")


def open_page(browser, server, **size):
    tab = browser.open(server.address, **size)
    tab.wait("document.querySelector('#status.ready')")
    return tab


# What holds of both servers.

def check_send(tab):
    """An answer comes in parts, and says how fast it came."""
    begin(tab)
    tab.js("""window.sizes = new Set();
      new MutationObserver(() => sizes.add(document.querySelector('.message.assistant .markdown')?.innerText.length ?? 0))
        .observe(document.getElementById('messages'), {childList: true, subtree: true, characterData: true})""")
    answer = say(tab, "Name three colours of the rainbow.")
    expect(answer, "there is no answer")
    expect(len(tab.js("[...sizes]")) >= 3, f"the answer came as a whole: {tab.js('[...sizes]')}")
    stats = tab.js("document.querySelector('.message.assistant .stats').innerText")
    expect(re.fullmatch(r"[\d,]+ tokens? · [\d.,]+ tokens/s · first after [\d.]+ (µs|ms|s)", stats), f"stats: {stats}")
    expect(re.search(r"of [\d,]+ positions", tab.js("document.getElementById('context').innerText")), "no share of the positions")
    expect(titles(tab)[0] == "Name three colours of the rainbow.", f"titles: {titles(tab)}")
    expect(tab.js("document.activeElement.id") == "input" and tab.js("document.getElementById('input').value") == "",
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
    set_more(tab, {"ignore_eos": True})
    send(tab, "Tell a slow story without an end.")
    tab.wait("document.querySelector('.message.assistant .markdown').innerText.length > 4", 60)
    tab.press("Escape")
    tab.wait(IDLE, 5)
    expect(tab.js("document.querySelector('.message.assistant .note')?.innerText") == "Stopped.", "the answer does not say that it was stopped")
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
    tab.wait("document.querySelector('#status.ready') && document.querySelector('.message.assistant .note')?.innerText === 'Stopped.'")
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
            tab.wait(f"[...document.querySelectorAll('#list .title')].some(node => node.textContent === {json.dumps(title)})")
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
    expect(tab.js("document.getElementById('input').value") == "written meanwhile", "what was written meanwhile is lost")
    tab.js("document.getElementById('input').select()")
    tab.type(" ")


def check_engine(tab):
    tab.click("#tab-engine")
    tab.wait("document.querySelectorAll('.tile').length === 8 && /^[\\d.,]+$/.test(document.querySelector('.tile b').innerText)")
    tab.wait("document.querySelector('.curve-line').getAttribute('d').includes('L')")
    text = tab.js("document.getElementById('tiles').innerText")
    for pattern in (r"Running\n\d+\nof \d+ sequence", r"Pages\n\d+ %\n[\d,]+ of [\d,]+", r"Prefix hits\n(\d+ %|–)\n[\d,]+ of [\d,]+ token",
                    r"Waiting\n\d+\n[\d,]+ preemptions?", r"Rows per step\n", r"Step\n"):
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
    found = tab.js("document.querySelector('#tip b').innerText")
    expect(found == name and found in names, f"the pointer's task is {found}, not {name}")
    colors = tab.js("""(() => {
      const canvas = document.getElementById("timeline"), data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      const found = new Set();
      for (let i = 0; i < data.length; i += 4) found.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
      return found.size;
    })()""")
    expect(colors > 3, "the timeline is blank")
    tab.move(2, 2)
    tab.wait("document.getElementById('tip').hidden")
    tab.click("#zoom-in")
    expect(tab.js("(node => node.scrollWidth / node.clientWidth)(document.getElementById('timeline').parentElement)") > 1.9, "no zoom")
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
    expect(tab.js("document.documentElement.dataset.theme") == "auto" and tab.js(paper) == light, "no way back to the system's")


def check_keyboard(tab):
    begin(tab)
    expect(tab.js("document.activeElement.id") == "input", "Ctrl+K does not lead to the field")
    tab.type("one")
    tab.press("Enter", "Shift")
    tab.type("two")
    expect(tab.js("document.getElementById('input').value") == "one\ntwo" and not questions(tab), "Shift+Enter begins no line")
    tab.press("Enter")
    tab.wait(f"document.querySelectorAll('.message.assistant').length === 1 && {IDLE}", 60)
    expect(questions(tab) == ["one\ntwo"], f"{questions(tab)}")
    tab.js("document.activeElement.blur()")
    tab.press("/")
    expect(tab.js("document.activeElement.id") == "input" and tab.js("document.getElementById('input').value") == "",
           "/ does not lead to the field")
    tab.press("ArrowUp")
    expect(tab.js("document.activeElement.getAttribute('aria-label')") == "Edit the message", "an arrow does not edit the last message")
    tab.press("Escape")
    expect(not tab.js("document.querySelector('.editor')"), "Escape does not end editing")
    # The one that has the focus is seen, and all buttons can be named.
    tab.js("document.getElementById('menu').focus()")
    for _ in range(4):
        tab.press("Tab")
        focus = tab.js("""(() => { const node = document.activeElement, style = getComputedStyle(node);
          return [node.tagName, style.outlineStyle, parseFloat(style.outlineWidth)]; })()""")
        expect(focus[1] != "none" and focus[2] >= 1, f"the focus is not seen: {focus}")
    nameless = tab.js("""[...document.querySelectorAll('button, input, textarea')].filter(node => node.checkVisibility() && !node.innerText?.trim() &&
      !node.getAttribute('aria-label') && !node.labels?.length).map(node => node.id || node.outerHTML)""")
    expect(not nameless, f"without a name for screen readers: {nameless}")
    expect(tab.js("document.getElementById('announcer').textContent").strip(), "screen readers are told nothing")


# What only the stand-in says.

def check_markdown(tab):
    begin(tab)
    say(tab, "markdown")
    found = tab.js("""(() => {
      const body = document.querySelector('.message.assistant .markdown');
      const texts = query => [...body.querySelectorAll(query)].map(node => node.textContent);
      return {title: texts('.level1'), strong: texts('strong'), em: texts('em'), del: texts('del'), code: texts('p code'),
        items: texts('li li'), start: body.querySelector('ol').start, quotes: texts('blockquote blockquote'), cells: texts('td'),
        right: body.querySelectorAll('td.right').length, block: texts('pre'), words: texts('.code-word'), formula: texts('.formula'),
        rules: body.querySelectorAll('hr').length, links: [...body.querySelectorAll('a')].map(node => node.href),
        rel: [...body.querySelectorAll('a')].every(node => node.rel.includes('noopener')),
        foreign: body.querySelectorAll('img, script, iframe, style').length, tasks: texts('li.task')};
    })()""")
    expected = {"title": ["A title"], "strong": ["bold", "both", "x"], "em": ["italic", "both"], "del": ["gone"],
                "code": ["code *not this*"], "items": ["inner x", "more"], "start": 3, "quotes": ["twice"],
                "cells": ["a", "1", "b | c", "x"], "right": 2, "block": ['def f(x):  # a comment\n\treturn "text" + str(42)'],
                "words": ["def", "return"], "formula": ["a_1 * b_2 = c"], "rules": 1, "rel": True, "foreign": 0, "tasks": ["done"],
                "links": ["https://example.org/a_(b)", "https://example.org/", "https://example.org/picture.png"]}
    for name, value in expected.items():
        expect(found[name] == value, f"Markdown, {name}: {found[name]}, expected {value}")
    text = answers(tab)[-1]
    for part in ("snake_case_names and 2 * 3 * 4", "<script>window.hacked = 1</script>", "[none](javascript:alert(1))"):
        expect(part in text, f"'{part}' is not shown as it was written: {text}")
    expect(tab.js("window.hacked") is None, "an answer's script runs")


def check_hostile_markdown(tab):
    """Texts that make renderers crash or hang: each is drawn soon, and no deeper than a browser lays out."""
    texts = ["*" * 50000, "**a " * 20000, "[" * 50000, "[a](" * 20000, "`" * 5 + "` `` " * 20000, "> " * 5000 + "x", "\n".join(" " * i + "- x" for i in range(500)),
             "| " * 20000 + "\n|-|\n" + "| " * 20000, "\\(" * 30000, "<" * 50000, "http://" * 10000, "http://a" + ")" * 50000, "_a*" * 20000,
             "~~a" * 20000, "-" * 50000, " " * 50000 + "x", "#" * 50000, "```" * 20000, "1. " * 20000, "x\n" * 20000, "\ud800 \u202e", "$$" * 20000]
    for text in texts:
        seconds, depth = tab.js(f"""(() => {{
          const node = document.createElement("div"), begin = performance.now();
          new MarkdownView(node).update({json.dumps(text)});
          const seconds = (performance.now() - begin) / 1000;
          let depth = 0;
          for (let inner = node; inner; inner = inner.lastElementChild) ++depth;
          return [seconds, depth];
        }})()""")
        expect(seconds < 3 and depth < 120, f"{text[:20]!r}...: {seconds:.2f} s, {depth} elements deep")


def check_partial_markdown(tab):
    """Drawn as it grows, a text ends up as it does when it is drawn as a whole."""
    same = tab.js("""(() => {
      const text = chat.conversation.messages.at(-1).content;
      const whole = document.createElement("div"), grown = document.createElement("div");
      new MarkdownView(whole).update(text);
      const view = new MarkdownView(grown);
      for (let i = 0; i <= text.length; i += 3) view.update(text.slice(0, i));
      view.update(text);
      return whole.innerHTML === grown.innerHTML && whole.innerHTML.length > 1000;
    })()""")
    expect(same, "a text drawn in parts differs")


def check_reasoning_and_calls(tab, server):
    begin(tab)
    say(tab, "reason")
    expect(tab.js("!document.querySelector('.reasoning').open") and tab.js("document.querySelector('.reasoning').innerText").startswith("Thought in 8 words"),
           "reasoning is not folded")
    tab.click(".reasoning summary")
    expect("I think about it" in tab.js("document.querySelector('.thoughts').innerText"), "reasoning cannot be read")
    send(tab, "call the weather")
    tab.wait(f"document.querySelector('.call') && {IDLE}")
    expect(tab.js("document.querySelector('.call').innerText").replace("\n", " ").startswith('Call of weather'), "the call's name")
    expect(json.loads(tab.js("document.querySelector('.call pre').innerText")) == {"city": "Lima"}, "the call's arguments")
    tab.js("document.querySelector('.call textarea').focus()")
    tab.type("17 degrees")
    tab.click(".calls > button")
    tab.wait(f"document.querySelectorAll('.message.assistant').length === 3 && {IDLE}")
    sent = server.requests[-1]["messages"]
    expect([message["role"] for message in sent] == ["user", "assistant", "user", "assistant", "tool"], f"{sent}")
    expect(sent[3]["tool_calls"][0]["function"]["name"] == "weather" and sent[4]["tool_call_id"] == "call_1"
           and sent[4]["content"] == "17 degrees", f"{sent}")
    expect(answers(tab)[-1] == "You said: 17 degrees.", f"{answers(tab)}")


def check_edits(tab, server):
    begin(tab)
    for text in ("first", "second"):
        say(tab, text)
    tab.click(".message.assistant [aria-label='Answer again']")
    tab.wait(f"document.querySelectorAll('.message').length === 2 && {IDLE}")
    expect(len(server.requests[-1]["messages"]) == 1, "an answer is made again from more than what stands before it")
    tab.click("#toast button")
    tab.wait("document.querySelectorAll('.message').length === 4")
    tab.click(".message.user [aria-label=Edit]", 1)
    tab.wait("document.querySelector('.editor textarea')")
    tab.js("document.querySelector('.editor textarea').select()")
    tab.type("third")
    tab.press("Enter")
    tab.wait(f"document.querySelectorAll('.message').length === 4 && {IDLE} && document.querySelectorAll('.markdown')[1].innerText.includes('third')")
    expect(questions(tab) == ["first", "third"], f"after an edit: {questions(tab)}")
    tab.click(".message.assistant [aria-label=Edit]")
    tab.js("document.querySelector('.editor textarea').select()")
    tab.type("my own words")
    tab.click(".editor .primary")
    expect(answers(tab)[0] == "my own words" and len(questions(tab)) == 2, f"an answer cannot be edited: {answers(tab)}")
    tab.click(".message.user [aria-label=Delete]", 1)
    expect(questions(tab) == ["first"], "a message cannot be deleted")
    tab.click("#toast button")
    tab.wait("document.querySelectorAll('.message').length === 4")
    count = len(titles(tab))
    tab.js("document.querySelector('#list li.shown [aria-label^=Rename]').click()")
    tab.type("A better title")
    tab.press("Enter")
    expect("A better title" in titles(tab), f"{titles(tab)}")
    tab.js("document.querySelector('#list li.shown [aria-label^=Delete]').click()")
    expect(len(titles(tab)) == count - 1, "a conversation cannot be deleted")
    tab.click("#toast button")
    tab.wait(f"document.querySelectorAll('#list .title').length === {count}")
    # A cut answer goes on.
    begin(tab)
    say(tab, "length")
    tab.click("[aria-label='Go on with this answer']")
    tab.wait(f"document.querySelector('.markdown').innerText.includes('length.You said') && {IDLE}")
    expect([message["role"] for message in server.requests[-1]["messages"]] == ["user", "assistant"], f"{server.requests[-1]}")


def check_settings(tab, server):
    begin(tab)
    values = {"temperature": 0.7, "top_p": 0.9, "top_k": 40, "min_p": 0.05, "max_tokens": 99, "seed": 7, "repetition_penalty": 1.1,
              "presence_penalty": 0.2, "frequency_penalty": 0.3}
    say(tab, "plain")
    plain = server.requests[-1]
    expect(not set(values) & set(plain) and plain["stream"] and plain["stream_options"] == {"include_usage": True}, f"empty fields are sent: {plain}")
    tab.click("#settings-button")
    tab.js("document.getElementById('system').focus()")
    tab.type("Be brief.")
    for key, value in values.items():
        tab.js(f"document.getElementById('set-{key}').focus()")
        tab.type(str(value))
    tab.js("document.getElementById('more').select()")
    tab.type('{"stop": ["x"')
    tab.wait("!document.getElementById('more-fault').hidden")
    tab.type("]}")
    tab.wait("document.getElementById('more-fault').hidden")
    tab.reload()
    tab.wait("document.querySelector('#status.ready') && document.querySelectorAll('.message').length")
    say(tab, "with settings")
    sent = server.requests[-1]
    expect({key: sent.get(key) for key in values} == values and sent["stop"] == ["x"], f"{sent}")
    expect(sent["messages"][0] == {"role": "system", "content": "Be brief."}, f"{sent['messages']}")
    begin(tab)
    say(tab, "another one")
    sent = server.requests[-1]
    expect(sent["seed"] == 7 and sent["messages"][0]["role"] == "user", f"what a new conversation begins with: {sent}")
    tab.click("#settings-button")
    tab.click("#reset")
    tab.js("document.getElementById('more').select()")
    tab.type(" ")
    tab.click("#settings-close")


def check_faults(tab):
    begin(tab)
    for text, words in (("refuse", "temperature: expected at most 2"), ("fail", "the engine has failed"), ("break", "ended the answer early")):
        send(tab, text)
        tab.wait(f"document.querySelector('.message:last-child .fault')?.innerText.includes({json.dumps(words)})")
    expect(tab.js("document.getElementById('banner').hidden"), "a refused request is no lost server")
    expect("You said:" in answers(tab)[-1], "what came before the failure is lost")


def check_key(tab, server):
    begin(tab)
    server.key = "right"
    send(tab, "with a key")
    tab.wait("document.getElementById('key-dialog').open")
    tab.type("wrong")
    tab.press("Enter")
    tab.wait("document.getElementById('key-dialog').open && !document.getElementById('key-fault').hidden")
    tab.js("document.getElementById('key').select()")
    tab.type("right")
    tab.press("Enter")
    tab.wait(f"document.querySelector('.markdown')?.innerText === 'You said: with a key.' && {IDLE}")
    server.key = None


def check_background(tab):
    """An answer goes on while another conversation is shown."""
    begin(tab)
    send(tab, "a slow one")
    tab.wait("document.querySelector('.markdown').innerText.length > 4")
    begin(tab)
    expect(say(tab, "quick") == "You said: quick.", "no answer beside another one")
    expect(tab.js("document.querySelectorAll('#list .running').length") == 1, "the list does not say which one is being answered")
    tab.click("#list .running .title")
    tab.wait("document.querySelector('.message.running')")
    size = len(answers(tab)[0])
    tab.wait(f"document.querySelector('.markdown').innerText.length > {size}")
    tab.press("Escape")
    tab.wait(IDLE)


def check_polls(tab, server):
    """The engine is asked while it is looked at."""
    tab.click("#tab-engine")
    tab.wait("document.querySelector('.tile b').innerText !== '–'")
    before = server.polls
    time.sleep(2.4)
    expect(1 <= server.polls - before <= 4, f"{server.polls - before} looks in 2.4 s")
    tab.click("#tab-chat")
    time.sleep(0.3)
    before = server.polls
    time.sleep(1.5)
    expect(server.polls == before, "the engine is asked while nobody looks")
    server.has_timeline = False
    tab.click("#tab-engine")
    tab.wait("document.getElementById('timeline-part').hidden && document.querySelector('.tile b').innerText !== '–'")
    server.has_timeline = True
    tab.click("#tab-chat")


def check_narrow(tab):
    """At 360 pixels nothing sticks out, and the sides slide in."""
    begin(tab)
    say(tab, "markdown")
    tab.resize(360, 740)
    try:
        for view in ("engine", "chat"):
            tab.click(f"#tab-{view}")
            time.sleep(0.2)
            wide = tab.js("""[...document.querySelectorAll('main *')].filter(node => node.getBoundingClientRect().right > innerWidth + 1 &&
              !node.closest('pre, .scroll, svg, .plot')).map(node => node.outerHTML.slice(0, 80))""")
            expect(not wide, f"{view} sticks out: {wide[:3]}")
        tab.click("#menu")
        tab.wait("Math.abs(document.getElementById('sidebar').getBoundingClientRect().left) < 1")
        tab.press("Escape")
        tab.wait("document.getElementById('sidebar').getBoundingClientRect().right <= 0")
        tab.click("#settings-button")
        tab.wait("document.getElementById('settings').getBoundingClientRect().right <= innerWidth + 1")
        tab.click("#settings-close")
    finally:
        tab.resize(1280, 860)


def check_text(browser, server):
    """A model without a chat template continues a text."""
    server.has_chat = False
    tab = open_page(browser, server)
    tab.wait("!document.getElementById('text').hidden")
    tab.js("document.getElementById('text-area').focus()")
    tab.type("Once upon")
    tab.press("Enter", "Control")
    tab.wait("document.getElementById('text-area').value.endsWith('You said: Once upon.') && !document.getElementById('text-undo').disabled")
    expect(server.requests[-1]["prompt"] == "Once upon" and server.requests[-1]["max_tokens"] == 256, f"{server.requests[-1]}")
    tab.reload()
    tab.wait("document.getElementById('text-area').value.endsWith('You said: Once upon.')")
    tab.click("#text-undo")
    tab.wait("document.getElementById('text-area').value === 'Once upon'")
    tab.js("document.getElementById('text-area').focus()")
    tab.type(" a slow time")
    tab.click("#text-run")
    tab.wait("document.getElementById('text-area').value.includes('word')")
    tab.press("Escape")
    tab.wait("!document.getElementById('text-area').readOnly")
    server.has_chat = True
    expect(not tab.faults(), f"faults: {tab.faults()}")
    tab.close()


def check_stand_in(browser, folder):
    with StandIn(folder) as server:
        tab = open_page(browser, server)
        check_all(browser, server, tab, lambda: 0 if server.cut else 1)
        check_markdown(tab)
        check_partial_markdown(tab)
        check_hostile_markdown(tab)
        check_reasoning_and_calls(tab, server)
        check_edits(tab, server)
        check_settings(tab, server)
        check_faults(tab)
        check_key(tab, server)
        check_background(tab)
        check_polls(tab, server)
        check_narrow(tab)
        check_text(browser, server)
        expect(not tab.faults(), f"faults: {tab.faults()}")


def check_compiled(browser, program, weights):
    with Compiled(program, weights) as server:
        tab = open_page(browser, server)
        check_all(browser, server, tab,
                  lambda: tab.js("fetch('/engine').then(answer => answer.json()).then(engine => engine.running + engine.waiting)"))
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
    parser.add_argument("--page", default=os.path.join(HERE, "..", "..", "..", "runtime", "serve", "page"), help="the folder of the page's parts")
    parser.add_argument("--program", help="a compiled program that serves")
    parser.add_argument("--weights", help="its weights")
    arguments = parser.parse_args()
    if not find_browser():
        print("SKIPPED: no chromium here")
        sys.exit(77)
    programs.main(lambda scratch: test(arguments, scratch))
