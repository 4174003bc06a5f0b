"""What tests of the page do with a tab in which it is open, and what they see there."""

import json

IDLE = "!document.querySelector('.message.running') && !document.querySelector('#messages.busy')"


def text_of(tab, selector):
    return tab.js(f"document.querySelector({json.dumps(selector)})?.innerText")


def value(tab, name):
    return tab.js(f"document.getElementById('{name}').value")


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
