"""A mail server. The first word of an address selects its behaviour.

Each accepted mail is printed as a line of JSON.
"""

import asyncio
import email
import json
import logging
from email import policy

from aiosmtpd.smtp import SMTP, AuthResult


def report(**fields):
    print(json.dumps(fields), flush=True)


class Handler:
    def __init__(self):
        self.known = set()

    def is_new(self, address):
        is_new = address not in self.known
        self.known.add(address)
        return is_new

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("never-"):
            return f"550 5.1.1 <{address}> is not known here"
        if address.startswith("later-") and self.is_new(address):
            return f"451 4.7.1 <{address}> is asked to come back"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        [to] = envelope.rcpt_tos
        is_new = self.is_new(to)
        if to.startswith("dropped-") and is_new:
            server.transport.abort()
            return "451 gone"
        if to.startswith("slow-") and is_new:
            report(kept_waiting=to)
            await asyncio.sleep(3600)
        mail = email.message_from_bytes(envelope.content, policy=policy.default)
        headers = {name.lower(): str(value) for name, value in mail.items()}
        hello = session.host_name
        report(to=to, connection=id(server), hello=hello, headers=headers, text=mail.get_content())
        if to.startswith("mute-") and is_new:
            await asyncio.sleep(3600)
        if to.startswith("tardy-"):
            await asyncio.sleep(3)
        return "250 OK"


def authenticate(server, session, envelope, mechanism, credentials):
    known = credentials.login == b"ann@shop.example" and credentials.password == b"p:w/%"
    return AuthResult(success=known)


async def main():
    # aiosmtpd warns of passwords without TLS, which these tests use.
    logging.disable()
    handler = Handler()

    def connection():
        return SMTP(handler, authenticator=authenticate, auth_required=True, auth_require_tls=False)

    server = await asyncio.get_running_loop().create_server(connection, "127.0.0.1", 0)
    report(port=server.sockets[0].getsockname()[1])
    await server.serve_forever()


asyncio.run(main())
