#!/usr/bin/env python3
"""Asks a Home Assistant that runs on this machine, over its REST interface.

    scripts/home-assistant/ask.py PORT begin MQTT_PORT      makes its owner and its connection to MQTT; prints a token
    scripts/home-assistant/ask.py PORT states TOKEN         prints the states of its entities, by identifier
    scripts/home-assistant/ask.py PORT template TOKEN TEXT  prints what a template comes to
    scripts/home-assistant/ask.py PORT call TOKEN DOMAIN/SERVICE [ENTITY]
"""

import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

# It takes half a minute on a quiet machine.
PATIENCE = 600


class House:
    def __init__(self, port):
        self.base = f"http://127.0.0.1:{port}"

    def ask(self, path, data=None, token=None, form=False):
        """The answer, of what it is in JSON."""
        headers, body = {}, None
        if form:
            body = urllib.parse.urlencode(data).encode()
        elif data is not None:
            body, headers["Content-Type"] = json.dumps(data).encode(), "application/json"
        if token:
            headers["Authorization"] = f"Bearer {token}"
        request = urllib.request.Request(self.base + path, data=body, headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read().decode()
        try:
            return json.loads(text)
        except ValueError:
            return text

    def begin(self, mqtt_port):
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.ask("/api/onboarding")
                break
            except (OSError, urllib.error.HTTPError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)
        client = self.base + "/"
        owner = {"client_id": client, "name": "Owner", "username": "owner", "password": "of the house", "language": "en"}
        code = self.ask("/api/onboarding/users", owner)["auth_code"]
        grant = {"client_id": client, "grant_type": "authorization_code", "code": code}
        token = self.ask("/auth/token", grant, form=True)["access_token"]
        flow = self.ask("/api/config/config_entries/flow", {"handler": "mqtt"}, token)
        other = {"set_client_cert": False, "set_ca_cert": "off", "transport": "tcp"}
        mqtt = {"broker": "127.0.0.1", "port": mqtt_port, "protocol": "5", "other_settings": other}
        made = self.ask(f"/api/config/config_entries/flow/{flow['flow_id']}", mqtt, token)
        if made["type"] != "create_entry":
            sys.exit(f"no connection to MQTT was made: {made}")
        return token


def main():
    port, what, *arguments = sys.argv[1:]
    house = House(port)
    if what == "begin":
        print(house.begin(int(arguments[0])))
    elif what == "states":
        states = house.ask("/api/states", token=arguments[0])
        print(json.dumps({state["entity_id"]: state for state in states}))
    elif what == "template":
        print(house.ask("/api/template", {"template": arguments[1]}, arguments[0]))
    elif what == "call":
        data = {"entity_id": arguments[2]} if len(arguments) > 2 else {}
        house.ask(f"/api/services/{arguments[1]}", data, arguments[0])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
