"""Texts with secrets and texts without, made from parts, so that nothing in this file looks like a secret."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from string import ascii_letters, ascii_uppercase, digits

SEED = 20261116
BASE62 = ascii_letters + digits
BASE64 = BASE62 + "+/"
URLSAFE = BASE62 + "_-"
HEX = digits + "abcdef"
BASE32 = ascii_uppercase + "234567"


@dataclass(frozen=True)
class Sample:
    """A text, the parts of it that must not survive, and how many of which kind are counted."""

    name: str
    text: str
    secrets: tuple[str, ...]
    kinds: tuple[str, ...]


def drawn(random: Random, alphabet: str, count: int) -> str:
    """Text drawn from an alphabet, with a digit and a letter in it, as nearly every real secret has."""
    while True:
        text = "".join(random.choices(alphabet, k=count))
        if text[0].isalnum() and text[-1].isalnum() and any(c.isdigit() for c in text) and not text.isdigit():
            return text


def tokens(random: Random) -> list[tuple[str, str]]:
    """A token of every known shape, with its kind."""

    def some(alphabet: str, count: int) -> str:
        return "".join(random.choices(alphabet, k=count))

    def encoded(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    jwt = ".".join(
        [encoded({"alg": "HS256", "typ": "JWT"}), encoded({"sub": some(digits + "a", 10)}), some(URLSAFE, 43)]
    )
    return [
        ("aws-access-key", "AK" + "IA" + some(BASE32, 16)),
        ("aws-access-key", "AS" + "IA" + some(BASE32, 16)),
        ("github-token", "gh" + "p_" + some(BASE62, 36)),
        ("github-token", "gh" + "o_" + some(BASE62, 36)),
        ("github-token", "gh" + "s_" + some(BASE62, 36)),
        ("github-token", "github" + "_pat_" + some(BASE62, 22) + "_" + some(BASE62, 59)),
        ("gitlab-token", "gl" + "pat-" + some(URLSAFE, 20)),
        ("slack-token", "xo" + "xb-" + some(digits + "1a", 12).replace("a", "7") + "-" + some(BASE62, 24)),
        (
            "slack-token",
            "xo" + "xp-" + "-".join(str(random.randrange(10**11)) for _ in range(3)) + "-" + some(HEX, 32),
        ),
        ("stripe-key", "sk" + "_live_" + some(BASE62, 24)),
        ("stripe-key", "rk" + "_live_" + some(BASE62, 24)),
        ("google-api-key", "AI" + "za" + some(URLSAFE, 35)),
        ("google-oauth", "ya" + "29." + some(URLSAFE, 120)),
        ("google-oauth", "GOC" + "SPX-" + some(URLSAFE, 28)),
        ("anthropic-key", "sk" + "-ant-" + "api03-" + some(URLSAFE, 93) + "AA"),
        ("openai-key", "sk" + "-" + some(BASE62, 48)),
        ("openai-key", "sk" + "-proj-" + some(URLSAFE, 74) + "T3" + some(BASE62, 40)),
        ("npm-token", "np" + "m_" + some(BASE62, 36)),
        ("pypi-token", "py" + "pi-AgEIcHlwaS5vcmc" + some(URLSAFE, 140)),
        ("huggingface-token", "h" + "f_" + some(ascii_letters + "0123", 34)),
        ("twilio-key", "S" + "K" + some(HEX, 32)),
        ("sendgrid-key", "S" + "G." + some(URLSAFE, 22) + "." + some(URLSAFE, 43)),
        ("digitalocean-token", "do" + "p_v1_" + some(HEX, 64)),
        ("telegram-token", str(random.randrange(10**8, 10**10)) + ":A" + "A" + some(URLSAFE, 33)),
        ("discord-token", "M" + some(BASE62, 23) + "." + some(URLSAFE, 6) + "." + some(URLSAFE, 27)),
        ("jwt", jwt),
        ("shopify-token", "shp" + "at_" + some(HEX, 32)),
        ("databricks-token", "da" + "pi" + some(HEX, 32)),
        ("vault-token", "hv" + "s." + some(URLSAFE, 24) + some(BASE62, 66)),
        ("docker-token", "dckr" + "_pat_" + some(URLSAFE, 27)),
        ("grafana-token", "gl" + "sa_" + some(BASE62, 32) + "_" + some(HEX, 8)),
        ("linear-key", "lin" + "_api_" + some(BASE62, 40)),
        ("rubygems-key", "ruby" + "gems_" + some(HEX, 48)),
        ("groq-key", "gs" + "k_" + some(BASE62, 52)),
        ("postman-key", "PM" + "AK-" + some(HEX, 24) + "-" + some(HEX, 34)),
        ("mailgun-key", "ke" + "y-" + some(HEX, 32)),
        ("age-key", "AGE-" + "SECRET-KEY-1" + some(ascii_uppercase + digits, 58)),
    ]


def _secret_of(kind: str, token: str) -> str:
    return token.partition(":")[2] if kind == "telegram-token" else token


def token_samples(random: Random) -> Iterator[Sample]:
    contexts = (
        "I put {} into the settings, is that right?",
        "export SERVICE_VALUE={}\nmake deploy",
        'client = connect("{}", region="eu")',
        "\x1b[32m{}\x1b[0m was accepted",
    )
    for kind, token in [*tokens(random), *tokens(random)]:
        context = contexts[random.randrange(len(contexts))]
        yield Sample(f"{kind} in {context!r}", context.format(token), (_secret_of(kind, token),), (kind,))
    for kind, token in tokens(random):
        yield Sample(
            f"{kind} after a newline", f"Output:\n{token}\nDone.", (_secret_of(kind, token),), (kind,)
        )
    public, secret = "AK" + "IA" + drawn(random, BASE32, 16), drawn(random, BASE64, 40)
    for text in (f"{public},{secret}", f"id {public}\nsecret {secret}\n", f"[{public!r}, {secret!r}]"):
        yield Sample("both halves for AWS", text, (public, secret), ("aws-access-key", "aws-secret-key"))


def armoured(random: Random, label: str, lines: int = 12) -> tuple[str, str]:
    """A private key in armour, and a line from its middle."""
    body = [drawn(random, BASE64, 64) for _ in range(lines)]
    text = "\n".join(
        [
            "-----BEGIN " + label + "-----",
            *body,
            drawn(random, BASE64, 22) + "==",
            "-----END " + label + "-----",
        ]
    )
    return text, body[lines // 2]


def block_samples(random: Random) -> Iterator[Sample]:
    pem = "PRIVATE" + " KEY"
    for label in (
        pem,
        "RSA " + pem,
        "EC " + pem,
        "DSA " + pem,
        "OPENSSH " + pem,
        "ENCRYPTED " + pem,
        "PGP " + pem + " BLOCK",
    ):
        key, line = armoured(random, label)
        yield Sample(f"{label} as a file", f"$ cat key\n{key}\n$", (line,), ("private-key",))
    key, line = armoured(random, "RSA " + pem)
    numbered = "\n".join(f"{number:6}\t{text}" for number, text in enumerate(key.split("\n"), 1))
    added = "\n".join("+" + text for text in key.split("\n"))
    for name, text in (
        ("with line numbers", numbered),
        ("in a diff", f"diff --git a/k b/k\n@@ -0,0 +1,15 @@\n{added}\n"),
        ("in YAML", "tls:\n  key: |\n" + "\n".join("    " + text for text in key.split("\n")) + "\nport: 80"),
        ("escaped in source", "KEY = " + json.dumps(key)),
        ("as lines of an array", json.dumps(key.split("\n"))),
        ("with Windows newlines", key.replace("\n", "\r\n")),
        ("cut off", key[: len(key) // 2 + 64]),
        ("in .env", 'SIGNING="' + key.replace("\n", "\\n") + '"'),
    ):
        yield Sample(f"private key {name}", text, (line,), ("private-key",))
    headed = key.replace("KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n", 1)
    yield Sample("private key with headers", headed, (line,), ("private-key",))


def connection_samples(random: Random) -> Iterator[Sample]:
    for scheme, rest in (
        ("postgres", "db.internal:5432/app?sslmode=require"),
        ("postgresql+psycopg2", "localhost/app"),
        ("mysql", "10.0.0.5:3306/shop"),
        ("mongodb+srv", "cluster0.abcde.mongodb.net/test"),
        ("mongodb", "h1:27017,h2:27017/?replicaSet=rs0"),
        ("redis", "cache:6379/0"),
        ("amqp", "rabbit:5672/%2f"),
        ("https", "git.acme.dev/team/repo.git"),
        ("ftp", "files.acme.dev/in"),
        ("smtp", "mail.acme.dev:587"),
    ):
        password = drawn(random, BASE62 + "!$^*", 14)
        url = f"{scheme}://app_user:{password}@{rest}"
        yield Sample(f"{scheme} URL", f"DATABASE_URL={url} ./run", (password,), ("url-password",))
    password = drawn(random, BASE62, 12)
    yield Sample("URL without a user", f"redis://:{password}@cache:6379", (password,), ("url-password",))
    yield Sample(
        "URL with @ in it", f"postgres://u:{password}@{password}@db/x", (password,), ("url-password",)
    )
    yield Sample(
        "URL in an array", f'["https:\\/\\/joe:{password}@acme.dev\\/x"]', (password,), ("url-password",)
    )
    yield Sample(
        "token as user",
        f"git clone https://{password * 2}@git.acme.dev/x",
        (password * 2,),
        ("url-password",),
    )
    yield Sample("curl -u", f"curl -s -u joe:{password} https://acme.dev/x", (password,), ("url-password",))
    hook = (
        "T0" + drawn(random, BASE32, 8) + "/B0" + drawn(random, BASE32, 8) + "/" + drawn(random, BASE62, 24)
    )
    yield Sample("Slack webhook", f"POST https://hooks.slack.com/services/{hook}", (hook,), ("webhook",))
    signature = drawn(random, BASE62, 43) + "%3D"
    sas = f"https://acme.blob.core.windows.net/c/f?sv=2024-01-01&sp=r&sig={signature}"
    yield Sample("Azure SAS", sas, (signature,), ("azure-key",))


def header_samples(random: Random) -> Iterator[Sample]:
    bearer, key = drawn(random, URLSAFE, 40), drawn(random, HEX, 40)
    login = base64.b64encode(b"admin:" + drawn(random, BASE62, 14).encode()).decode()
    for text, secret in (
        (f"Authorization: Bearer {bearer}", bearer),
        (f'curl -H "authorization: bearer {bearer}" https://acme.dev', bearer),
        (f'headers={{"Authorization": "Bearer {bearer}"}}', bearer),
        (f"Authorization: Basic {login}", login),
        (f"> authorization: Basic {login}\n> accept: */*", login),
        (f"Authorization: token {key}", key),
        (f"Proxy-Authorization: ApiKey {bearer}", bearer),
        (f"auth=Bearer%20{bearer}&x=1", bearer),
    ):
        yield Sample(f"header {text[:24]!r}", text, (secret,), ("authorization",))


def assignment_samples(random: Random) -> Iterator[Sample]:
    forms = (
        "{name}={value}",
        "export {name}='{value}'",
        '{name} = "{value}"',
        '{{"{name}": "{value}", "port": 80}}',
        "{name}: {value}",
        'self.{name} = r"{value}"  # set by ops',
        "config['{name}'] = '{value}'",
        '{name}: str = "{value}"',
        "const {name} = `{value}`;",
        '{{\\"{name}\\":\\"{value}\\"}}',
        "https://acme.dev/?a=1&{name}={value}&b=2",
        "<{name}>{value}</{name}>",
        "'{name}' => '{value}',",
        '{{"name": "{name}", "value": "{value}"}}',
        "  - name: {name}\n    value: {value}\n",
        "./run --{name} {value} --verbose",
        '["run", "--{name}", "{value}"]',
        "define('{name}', '{value}');",
    )
    names = (
        ("DB_PASSWORD", "password", BASE62 + "!#%^*", 12),
        ("password", "password", BASE62, 10),
        ("smtpPasswd", "password", BASE62 + "!%", 16),
        ("client_secret", "secret", URLSAFE, 32),
        ("JWT_SECRET", "secret", HEX, 64),
        ("api_key", "api-key", HEX, 32),
        ("apiKey", "api-key", BASE62, 24),
        ("x-api-key", "api-key", BASE62, 40),
        ("access_token", "token", URLSAFE, 48),
        ("AUTH_TOKEN", "token", HEX, 40),
    )
    for number, form in enumerate(forms):
        for name, kind, alphabet, count in (
            names[number % 10],
            names[(number * 3 + 5) % 10],
            names[(number + 7) % 10],
        ):
            value = drawn(random, alphabet, count)
            yield Sample(f"{name} as {form!r}", form.format(name=name, value=value), (value,), (kind,))
    key = drawn(random, BASE64, 86) + "=="
    for name in ("AccountKey", "SharedAccessKey"):
        text = f"Endpoint=sb://acme.servicebus.windows.net/;AccountName=acme;{name}={key};EndpointSuffix=x"
        yield Sample(f"Azure {name}", text, (key[:-2],), ("api-key",))
    secret = drawn(random, BASE64, 40)
    for text in (
        f"aws_secret_access_key = {secret}",
        f'"SecretAccessKey": "{secret}"',
        f"AWS_SECRET_ACCESS_KEY={secret}",
    ):
        yield Sample(f"AWS {text[:20]!r}", text, (secret,), ("api-key",))
    password = drawn(random, BASE62, 12)
    for text in (
        f"machine acme.dev login joe password {password}",
        f"Server=db;Database=x;User Id=sa;Pwd={password};",
        f"PGPASSWORD={password} psql -h db",
        f'password = "ab\\"{password}"',
        f"password\\u003d{password}",
    ):
        yield Sample(f"password {text[:20]!r}", text, (password,), ("password",))
    auth = base64.b64encode(drawn(random, BASE62, 30).encode()).decode()
    yield Sample("npmrc", f"//registry.acme.dev/:_auth={auth}", (auth,), ("token",))


def positives() -> list[Sample]:
    """Every secret that must be found."""
    random = Random(SEED)
    makers = (token_samples, block_samples, connection_samples, header_samples, assignment_samples)
    return [sample for make in makers for sample in make(random)]
