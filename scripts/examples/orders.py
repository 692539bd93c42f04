"""A service in Python that takes orders. It reads the price from the catalog and records the total for its caller.

pip install nats-py
NATS_URL=$(npm run --silent nats:url) python3 scripts/examples/orders.py
"""

import asyncio
import json
import os
import urllib.error
import urllib.request

import nats

ENTRY = {
    "name": "orders.place",
    "description": "Places an order at the price of the catalog.",
    "auth": "AuthRequired",
    "kind": "nats",
    "subject": "svc.orders.place",
    "acts": ["entries:read", "transactions:record"],
    "input": {
        "type": "object",
        "required": ["product", "count"],
        "properties": {
            "product": {"type": "string", "pattern": "^[0-9A-Za-z]{1,64}$"},
            "count": {"type": "integer", "minimum": 1, "maximum": 100},
        },
    },
}


def api(credential, path, body=None):
    """Calls the orb's API as the caller, through this handler."""
    headers = {"authorization": "Bearer " + credential["token"], "content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(credential["url"] + path, data, headers)) as answer:
        return json.load(answer)


def place(call):
    order, credential = call["input"], call["credential"]
    product = api(credential, "/catalog/product/" + order["product"])
    total = product["values"]["price"] * order["count"]
    return api(credential, "/call/record", {"values": {**order, "total": total}})


async def main():
    connection = await nats.connect(os.environ["NATS_URL"])

    async def answer(message):
        try:
            record = await asyncio.to_thread(place, json.loads(message.data))
            await message.respond(json.dumps(record).encode())
        except urllib.error.HTTPError as refused:
            problem = json.load(refused)
            headers = {"Nats-Service-Error-Code": str(refused.code), "Nats-Service-Error": problem["detail"]}
            await connection.publish(message.reply, json.dumps(problem).encode(), headers=headers)

    # Instances in the same queue group share the load.
    await connection.subscribe(ENTRY["subject"], queue="orders", cb=answer)
    await connection.request("$KV.handlers." + ENTRY["name"], json.dumps(ENTRY).encode())
    print("ready: orders.place", flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
