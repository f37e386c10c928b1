#!/usr/bin/env python3
"""Look at a broker's page as a person does, in Debian's Chromium.

things/broker/tests/page_in_browser.rs runs this and serves the page:

    browser.py ORIGIN IDENTITY

ORIGIN is where the page is, and IDENTITY that of mote-07. A line on standard output tells the test what the
broker is to do; it answers with a line on standard input. MOTEMIX_PAGE_SHOTS names a folder for screenshots.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import zxingcpp
from PIL import Image
from playwright.sync_api import expect, sync_playwright

ORIGIN, IDENTITY = sys.argv[1:]
SHOTS = os.environ.get("MOTEMIX_PAGE_SHOTS")
CHROMIUM = os.environ.get("MOTEMIX_CHROMIUM", "/usr/bin/chromium")
# Patience with a busy machine, in milliseconds; nothing here waits for so long.
PATIENCE = 180_000
expect.set_options(timeout=PATIENCE)


def tell(order):
    print(order, flush=True)
    assert sys.stdin.readline() == "ok\n", f"the broker did not {order}"


def shoot(page, name, **how):
    if SHOTS:
        page.screenshot(path=pathlib.Path(SHOTS) / f"{name}.png", **how)


class Visit:
    """A page, whose requests and complaints are noted."""

    def __init__(self, browser, **how):
        self.page = browser.new_page(**how)
        self.page.set_default_timeout(PATIENCE)
        self.requests, self.complaints = [], []
        self.store_was_full = False
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        self.page.on("console", self.note)
        self.page.goto(ORIGIN)
        expect(self.page.locator("#connection")).to_have_text("Live")

    def note(self, said):
        # The browser's words for a history that a full store does not tell, which the page then says itself.
        is_expected = self.store_was_full and "503" in said.text and "/history?" in said.location["url"]
        if said.type == "error" and not is_expected:
            self.complaints.append(said.text)

    def row(self, topic):
        return self.page.locator(f'[data-topic="{topic}"]')

    def end(self):
        away = [url for url in self.requests if not url.startswith(f"{ORIGIN}/")]
        assert not away, f"requests left the origin: {away}"
        # A broker that is not there is no mistake of the page.
        mistakes = [text for text in self.complaints if "net::ERR_" not in text]
        assert not mistakes, f"the browser complains: {mistakes}"
        self.page.close()


def no_scrolling_sideways(page):
    wide = page.evaluate(
        "() => { const width = document.documentElement.clientWidth;"
        " return [document.documentElement.scrollWidth - width, [...document.querySelectorAll('body *')]"
        ".filter((one) => one.getBoundingClientRect().right > width + 1 && one.closest('.row') === null)"
        ".map((one) => one.outerHTML.slice(0, 120)).slice(0, 5)] }"
    )
    assert wide[0] <= 0, f"wider than the window by {wide}"


def devices_and_readings(visit):
    page = visit.page
    # 50, a hostile one, and one without a key that is none.
    expect(page.locator("#counts")).to_have_text("51 devices · 104 topics")
    expect(page.locator("#network")).to_have_text("house.example")
    mote = page.locator(f'[data-identity="{IDENTITY}"]')
    expect(mote.locator(".device-name")).to_have_text("mote-07")
    expect(mote.locator(".where")).to_have_text("Cellar · climate")
    temperature = visit.row("temperature-7")
    expect(temperature.locator(".value")).to_contain_text("°C")
    expect(temperature.locator(".badge")).to_have_text("✓ checked")
    expect(temperature.locator(".sequence")).to_have_text("#1059")
    expect(temperature.locator(".age")).to_contain_text("min")
    expect(visit.row("weather").locator(".badge")).to_have_text("○ unchecked")
    expect(visit.row("weather").locator(".value")).to_have_text("−3.5 °C · 101\u202f325 Pa +1")
    expect(visit.row("door").locator(".value")).to_have_text("unreadable")
    expect(visit.row("silent").locator(".age")).to_have_text("never")
    expect(page.get_by_text("window-unsigned")).to_have_count(0)


def live(visit):
    row = visit.row("temperature-7")
    row.locator(".row").click()
    expect(row.locator(".plot canvas")).to_be_visible()
    expect(row.locator(".spark path")).to_have_attribute("d", re.compile("^M.*L"))
    line = row.locator(".spark path").get_attribute("d")
    canvas = "(one) => one.toDataURL()"
    plot = row.locator(".plot canvas").evaluate(canvas)
    visit.page.evaluate("() => { window.here = true }")
    tell("measure 7 31.25")
    expect(row.locator(".value")).to_have_text("31.25 °C")
    expect(row.locator(".sequence")).to_have_text("#2001")
    expect(row.locator(".spark path")).not_to_have_attribute("d", line)
    visit.page.wait_for_function(
        "([topic, before]) => document.querySelector(`[data-topic=\"${topic}\"] canvas`).toDataURL() !== before",
        arg=["temperature-7", plot],
    )
    tell("refuse temperature-7")
    expect(row.locator(".badge")).to_have_text("✕ refused")
    # The value that is shown is the one before.
    expect(row.locator(".facts")).to_contain_text("The broker checked the device's signature")
    expect(row.locator(".facts")).to_contain_text("1 publication, last")
    expect(row.locator(".facts")).to_contain_text("the number 17 was used before")
    tell("register 120")
    newcomer = visit.page.locator("section", has_text="newcomer")
    expect(newcomer.locator(".name")).to_have_text("Balcony/light")
    assert visit.page.evaluate("() => window.here"), "the page was loaded again"


def identity(visit):
    mote = visit.page.locator(f'[data-identity="{IDENTITY}"]')
    mote.locator(".identity").click()
    image = mote.locator(".card img")
    expect(image).to_have_js_property("complete", True)
    visit.page.wait_for_function("(one) => one.naturalWidth > 0", arg=image.element_handle())
    digits = mote.locator(".digits code").inner_text().replace(" ", "").replace("\n", "")
    assert digits == IDENTITY, digits
    said = f"MOTEMIX:ID:{IDENTITY.upper()}"
    with tempfile.NamedTemporaryFile(suffix=".png") as file:
        file.write(image.screenshot())
        file.flush()
        with Image.open(file.name) as seen:
            codes = zxingcpp.read_barcodes(seen.convert("L"), formats=zxingcpp.BarcodeFormat.QRCode)
        zbar = subprocess.run(["zbarimg", "--raw", "--quiet", file.name], capture_output=True, text=True, check=True)
    assert [code.text for code in codes] == [said], codes
    assert zbar.stdout.strip() == said, zbar.stdout


def hostile_names_stay_text(visit):
    page = visit.page
    name = page.locator(".device-name", has_text="<script>")
    expect(name).to_contain_text("<img src=x onerror=alert(1)>\ufffdevil")
    expect(visit.row("hostile").locator(".value")).to_have_text("<img src=x onerror=alert(2)>")
    visit.row("hostile").locator(".row").click()
    page.locator("section", has=name).locator(".identity").click()
    expect(page.locator("#list script, #list b, #list img[src=x], #list [onclick]")).to_have_count(0)
    expect(page).to_have_title("house.example – motemix")
    visit.row("hostile").locator(".row").click()
    page.locator("section", has=name).locator(".identity").click()


def filters_and_keys(visit):
    page = visit.page
    page.locator("#only-look").focus()
    page.keyboard.press("/")
    page.keyboard.type("cellar humidity")
    expect(visit.row("humidity-7")).to_be_visible()
    expect(visit.row("temperature-7")).to_be_hidden()
    expect(visit.row("humidity-8")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(visit.row("humidity-8")).to_be_visible()
    page.locator("#only-look").check()
    expect(visit.row("door")).to_be_visible()
    expect(visit.row("humidity-8")).to_be_hidden()
    page.locator("#only-look").uncheck()
    button = visit.row("humidity-3").locator(".row")
    button.focus()
    page.keyboard.press("Enter")
    expect(visit.row("humidity-3").locator(".plot canvas")).to_be_visible()
    page.keyboard.press("Enter")
    expect(visit.row("humidity-3").locator(".plot")).to_have_count(0)
    page.keyboard.press("ArrowDown")
    expect(visit.row("temperature-3").locator(".row")).to_be_focused()


def counted(visit):
    counters = visit.page.locator("#counters")
    expect(counters.locator("table")).to_be_hidden()
    counters.locator("summary").click()
    expect(counters.locator("tbody tr")).to_have_text(["brokerrate3"])
    shoot(visit.page, "counters", full_page=True)
    counters.locator("summary").click()
    expect(counters.locator("table")).to_be_hidden()


def gone_and_back(visit):
    page = visit.page
    visit.store_was_full = True
    tell("full")
    expect(page.locator("#store")).to_contain_text("the disk is full")
    visit.row("temperature-50").locator(".row").click()
    expect(visit.row("temperature-50").locator(".facts")).to_contain_text("What was before is missing")
    visit.row("temperature-50").locator(".row").click()
    page.evaluate("() => scrollTo(0, 0)")
    shoot(page, "store-full")
    tell("works")
    expect(page.locator("#store")).to_be_hidden()
    tell("stop")
    expect(page.locator("#lost")).to_be_visible()
    expect(page.locator("#connection")).to_have_text("Not reachable")
    shoot(page, "not-reachable")
    tell("measure 8 -12.5")
    tell("start")
    expect(page.locator("#lost")).to_be_hidden()
    expect(visit.row("temperature-8").locator(".value")).to_have_text("−12.5 °C")
    tell("measure 8 -13")
    expect(visit.row("temperature-8").locator(".value")).to_have_text("−13 °C")
    assert page.evaluate("() => window.here"), "the page was loaded again"


def on_a_phone(visit):
    page = visit.page
    page.locator("#counters summary").click()
    expect(page.locator("#counters tbody tr")).to_have_count(1)
    no_scrolling_sideways(page)
    page.evaluate("() => scrollTo(0, 0)")
    shoot(page, "phone")
    visit.row("temperature-7").locator(".row").click()
    expect(visit.row("temperature-7").locator(".plot canvas")).to_be_visible()
    page.locator(f'[data-identity="{IDENTITY}"] .identity').click()
    expect(page.locator(f'[data-identity="{IDENTITY}"] .card img')).to_be_visible()
    no_scrolling_sideways(page)
    page.locator(f'[data-identity="{IDENTITY}"]').scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    if SHOTS:
        page.locator(f'[data-identity="{IDENTITY}"]').screenshot(path=pathlib.Path(SHOTS) / "phone-open.png")


def main():
    # Names of others do not resolve, as without a network.
    arguments = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--disable-dev-shm-usage"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=arguments, chromium_sandbox=os.geteuid() != 0, timeout=PATIENCE
        )
        desk = Visit(browser, viewport={"width": 1280, "height": 900}, color_scheme="light", reduced_motion="reduce")
        for look in (devices_and_readings, hostile_names_stay_text, live, identity):
            look(desk)
        shoot(desk.page, "desktop-top")
        desk.page.locator(f'[data-identity="{IDENTITY}"]').scroll_into_view_if_needed()
        shoot(desk.page, "desktop")
        desk.page.emulate_media(color_scheme="dark")
        desk.page.wait_for_timeout(300)
        shoot(desk.page, "dark")
        desk.page.emulate_media(color_scheme="light")
        for look in (filters_and_keys, gone_and_back, counted):
            look(desk)
        desk.end()
        for scheme in ("light", "dark"):
            phone = Visit(
                browser, viewport={"width": 320, "height": 640}, color_scheme=scheme, device_scale_factor=2, has_touch=True
            )
            on_a_phone(phone)
            phone.end()
        browser.close()
    tell("done")


main()
