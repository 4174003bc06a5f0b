"""Of the page, what only the stand-in says: Markdown, reasoning, calls, failures, and what was asked for."""

import json
import time

from page_tab import IDLE, answers, begin, open_page, questions, say, send, text_of, titles
from programs import expect


def check_markdown(tab):
    begin(tab)
    say(tab, "markdown")
    found = tab.js("""(() => {
      const body = document.querySelector('.message.assistant .markdown');
      const texts = query => [...body.querySelectorAll(query)].map(node => node.textContent);
      return {title: texts('.level1'), strong: texts('strong'), em: texts('em'), del: texts('del'),
        code: texts('p code'), items: texts('li li'), start: body.querySelector('ol').start,
        quotes: texts('blockquote blockquote'), cells: texts('td'), right: body.querySelectorAll('td.right').length,
        block: texts('pre'), words: texts('.code-word'), formula: texts('.formula'),
        rules: body.querySelectorAll('hr').length, links: [...body.querySelectorAll('a')].map(node => node.href),
        rel: [...body.querySelectorAll('a')].every(node => node.rel.includes('noopener')),
        foreign: body.querySelectorAll('img, script, iframe, style').length, tasks: texts('li.task')};
    })()""")
    expected = {"title": ["A title"], "strong": ["bold", "both", "x"], "em": ["italic", "both"], "del": ["gone"],
                "code": ["code *not this*"], "items": ["inner x", "more"], "start": 3, "quotes": ["twice"],
                "cells": ["a", "1", "b | c", "x"], "right": 2,
                "block": ['def f(x):  # a comment\n\treturn "text" + str(42)'],
                "words": ["def", "return"], "formula": ["a_1 * b_2 = c"], "rules": 1, "rel": True,
                "foreign": 0, "tasks": ["done"],
                "links": ["https://example.org/a_(b)", "https://example.org/", "https://example.org/picture.png"]}
    for name, value in expected.items():
        expect(found[name] == value, f"Markdown, {name}: {found[name]}, expected {value}")
    text = answers(tab)[-1]
    for part in ("snake_case_names and 2 * 3 * 4", "<script>window.hacked = 1</script>", "[none](javascript:alert(1))"):
        expect(part in text, f"'{part}' is not shown as it was written: {text}")
    expect(tab.js("window.hacked") is None, "an answer's script runs")


def check_hostile_markdown(tab):
    """Texts that make renderers crash or hang: each is drawn soon, and no deeper than a browser lays out."""
    texts = ["*" * 50000, "**a " * 20000, "[" * 50000, "[a](" * 20000, "`" * 5 + "` `` " * 20000, "> " * 5000 + "x",
             "\n".join(" " * i + "- x" for i in range(500)), "| " * 20000 + "\n|-|\n" + "| " * 20000, "\\(" * 30000,
             "<" * 50000, "http://" * 10000, "http://a" + ")" * 50000, "_a*" * 20000, "~~a" * 20000, "-" * 50000,
             " " * 50000 + "x", "#" * 50000, "```" * 20000, "1. " * 20000, "x\n" * 20000, "\ud800 \u202e",
             "$$" * 20000]
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
    expect(tab.js("!document.querySelector('.reasoning').open"), "reasoning is not folded")
    expect(text_of(tab, ".reasoning summary") == "Thought in 8 words", f"{text_of(tab, '.reasoning summary')}")
    tab.click(".reasoning summary")
    expect("I think about it" in text_of(tab, ".thoughts"), "reasoning cannot be read")
    send(tab, "call the weather")
    tab.wait(f"document.querySelector('.call') && {IDLE}")
    expect(text_of(tab, ".call").replace("\n", " ").startswith('Call of weather'), "the call's name")
    expect(json.loads(text_of(tab, ".call pre")) == {"city": "Lima"}, "the call's arguments")
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
    tab.wait(f"document.querySelectorAll('.message').length === 4 && {IDLE} && "
             "document.querySelectorAll('.markdown')[1].innerText.includes('third')")
    expect(questions(tab) == ["first", "third"], f"after an edit: {questions(tab)}")
    tab.click(".message.assistant [aria-label=Edit]")
    tab.js("document.querySelector('.editor textarea').select()")
    tab.type("my own words")
    tab.click(".editor .primary")
    expect(answers(tab)[0] == "my own words" and len(questions(tab)) == 2,
           f"an answer cannot be edited: {answers(tab)}")
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
    sent = server.requests[-1]["messages"]
    expect([message["role"] for message in sent] == ["user", "assistant"], f"{sent}")


def check_settings(tab, server):
    begin(tab)
    values = {"temperature": 0.7, "top_p": 0.9, "top_k": 40, "min_p": 0.05, "max_tokens": 99, "seed": 7,
              "repetition_penalty": 1.1, "presence_penalty": 0.2, "frequency_penalty": 0.3}
    say(tab, "plain")
    plain = server.requests[-1]
    expect(not set(values) & set(plain), f"empty fields are sent: {plain}")
    expect(plain["stream"] and plain["stream_options"] == {"include_usage": True}, f"{plain}")
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
    for text, words in (("refuse", "temperature: expected at most 2"), ("fail", "the engine has failed"),
                        ("break", "ended the answer early")):
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
    expect(tab.js("document.querySelectorAll('#list .running').length") == 1,
           "the list does not say which one is being answered")
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
            wide = tab.js("""[...document.querySelectorAll('main *')].filter(node =>
              node.getBoundingClientRect().right > innerWidth + 1 && !node.closest('pre, .scroll, svg, .plot'))
              .map(node => node.outerHTML.slice(0, 80))""")
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
    tab.wait("document.getElementById('text-area').value.endsWith('You said: Once upon.') && "
             "!document.getElementById('text-undo').disabled")
    sent = server.requests[-1]
    expect(sent["prompt"] == "Once upon" and sent["max_tokens"] == 256, f"{sent}")
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


def check_details(browser, server, tab):
    check_markdown(tab)
    check_hostile_markdown(tab)
    check_partial_markdown(tab)
    check_reasoning_and_calls(tab, server)
    check_edits(tab, server)
    check_settings(tab, server)
    check_faults(tab)
    check_key(tab, server)
    check_background(tab)
    check_polls(tab, server)
    check_narrow(tab)
    check_text(browser, server)
