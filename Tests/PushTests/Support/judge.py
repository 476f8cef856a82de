"""Opens what was pushed to a browser with http-ece and py-vapid: a line of JSON in, a line of JSON out."""
import base64, json, sys
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.backends import default_backend
import http_ece
from py_vapid import Vapid02


def b64urldecode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


for line in sys.stdin:
    given = json.loads(line)
    private = ec.derive_private_key(int.from_bytes(b64urldecode(given["private"]), "big"), ec.SECP256R1(), default_backend())
    text = http_ece.decrypt(
        b64urldecode(given["body"]), private_key=private, auth_secret=b64urldecode(given["auth"]), version="aes128gcm")
    fields = dict(part.strip().split("=", 1) for part in given["authorization"].removeprefix("vapid ").split(","))
    claims = json.loads(b64urldecode(fields["t"].split(".")[1]))
    print(json.dumps({"text": text.decode(), "claims": claims, "verified": bool(Vapid02.verify(given["authorization"]))}), flush=True)
