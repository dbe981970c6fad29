"""Texts without secrets that look a little as if they had some: code, logs, hashes, lock files, prose."""

import base64
import hashlib
import uuid
from collections.abc import Iterator
from random import Random

CODE = r"""
def check(token: str, key: Callable[[Item], str]) -> bool:
password = getpass.getpass("Password: ")
token = request.headers.get("Authorization", "").removeprefix("Bearer ")
api_key = os.environ["SERVICE_API_KEY"]
const apiKey = process.env.REACT_APP_API_KEY ?? "";
secret = config.get("auth", "client_secret")
self.password_hasher = PasswordHasher(time_cost=3, memory_cost=65536)
for token in tokenizer.tokenize(sentence): counts[token] += 1
if (password.length < 12) throw new Error("password is too short");
public_key = load_pem_public_key(data)
primary_key=True, foreign_key="users.id", unique=True
sorted(items, key=lambda item: item.created_at)
cache_key = f"user:{user_id}:profile:v2"
password=password1, user=user2
const token = await getAccessTokenFromCache2(userId, scopes);
auth = HTTPBasicAuth(username, password)
headers = {"Authorization": f"Bearer {token}"}
Authorization: Bearer <your token here>
Authorization: Bearer $ACCESS_TOKEN
conn = psycopg2.connect(host=host, password=os.getenv("PGPASSWORD"))
DATABASE_URL=postgres://user:password@localhost:5432/app
url = f"postgres://{user}:{password}@{host}/{name}"
mysql://root:${MYSQL_PASSWORD}@db/app
redis://localhost:6379/0
export API_KEY=your_api_key_here
API_KEY=<your-api-key>
api_key: "xxxxxxxxxxxxxxxxxxxxxxxx"
api_key = "${{ secrets.DEPLOY_KEY }}"
OPENAI_API_KEY=sk-...
password: changeme
password: "********"
"password": null, "token": "", "secret": false
"password": {"type": "string", "minLength": 12}
<input type="password" name="password" id="password-field-1" autocomplete="current-password">
max_tokens=4096, temperature=0.2
"usage": {"input_tokens": 123456, "output_tokens": 987654, "cache_read_input_tokens": 1048576}
tokens_per_second: 123.456789
secretKeyRef: {name: db-credentials-v2, key: password}
- name: DB_PASSWORD
passwordFile=/run/secrets/db_password_v2.txt
ssl_key = /etc/ssl/private/server-2024.pem
private_key_path: ~/.ssh/id_ed25519_deploy_2024
token_endpoint: https://login.acme.dev/oauth2/v2.0/token
token_expires_at = "2026-11-15T14:03:22.123456Z"
secret_name = "prod/payments/stripe-2024"
api_key_id = "k-2024-11-0001-production"
key: "user-profile-settings-page-2"
keyboard_shortcut: "ctrl+shift+alt+f12"
monkey = "b4nana5plit9000xyz12"
KEY_ALIASES = {"pgup": "page_up", "f1": "function1"}
passengers: ["A320-214-neo-77x9", "B737"]
compass = "N45E12S33W90N45E12"
author = "J. R. Smith-Jones 3rd"
pass  # nothing to do here, see issue 1234567
assert password != "hunter"
nextPageToken = "CAUQAA8f3kd93jfk2lKJ9"
eos_token = "<|endoftext|>", pad_token_id=50256
csrf_token_name = "csrfmiddlewaretoken"
class TokenBucketRateLimiter2WithJitter(Base):
if token.type == TokenType.IDENTIFIER: return self.visit(token)
let secret: Option<SecretString> = None;
secret := os.Getenv("APP_SECRET")
password => $this->faker->password(8, 20),
PASSWORD_RESET_TIMEOUT = 259200
AUTH_USER_MODEL = "accounts.User2"
SESSION_COOKIE_NAME = "sessionid"
hf_hub_download(repo_id="google/gemma-2-9b-it", filename="model.safetensors")
npm_config_registry=https://registry.npmjs.org/ npm_package_version=1.2.3
sk-toggleable__content-arrow sk-estimator-doc-link fitted
import xoxo_games_and_other_things as games
pypi-publish@release/v1 with skip-existing
glpat-is-the-prefix-of-gitlab-tokens
AKIA is how an access key id of AWS begins
-----BEGIN PUBLIC KEY----- is no secret
-----BEGIN CERTIFICATE-----
re.compile(r"-----BEGIN (?:RSA )?PRIVATE KEY-----")
basic authentication is enough for this
Basic usage: run the command below
the bearer of this letter is entitled to enter
git clone git@github.com:acme/secret-project-2.git
ssh://git@github.com/acme/token-service.git
http://localhost:3000/@vite/client?token=
mailto:joe@acme.dev?subject=password%20reset
npm install @acme/password-strength@4.2.1
"@types/passport-jwt": "^4.0.1"
""".strip().split("\n")

LOGS = """
2026-11-15T14:03:22.123Z INFO  [auth] token refreshed for user 8f14e45f in 12 ms
2026-11-15 14:03:22,123 WARNING password for user joe expires in 7 days
level=info msg="secret rotated" name=db-credentials version=17
nginx: 10.0.0.1 - - [15/Nov/2026:14:03:22 +0000] "GET /api/v1/tokens?page=2 HTTP/1.1" 200 5316
FAILED tests/test_tokens.py::test_refresh_token_is_rotated_after_3600_seconds - AssertionError
Permission denied (publickey,password).
error: key "user.name" does not exist in section [core] of .git/config line 12
Traceback (most recent call last): KeyError: 'password'
Step 12/17 : ENV PATH=/opt/venv/bin:/usr/local/sbin:/usr/local/bin
PWD=/home/joe/projects/backtrail2/daemon
added 1432 packages, and audited 1433 packages in 37s
token count: 104857, secret count: 0, key count: 2097152
webpack 5.91.0 compiled main.8f14e45fceea167a5a36.js (key: asset) in 3218 ms
thread 'main' panicked at src/token.rs:142:37: unexpected token: RBrace2
Password authentication failed for user "postgres2" (SQLSTATE 28P01)
x-request-id: 5f2b9c1e-7a7e-4c0b-9d7f-3f1f0c8f6d21
""".strip().split("\n")

PROSE = """
The password must have at least twelve characters, and the token is valid for an hour.
Secrets: never write them down; keys: keep them apart; tokens: let them expire.
My password is a secret that I would never tell anybody, not even on 15 November 2026.
Das Passwort muss mindestens zwölf Zeichen haben; das Token: eine Stunde gültig.
Le mot de passe (password) doit comporter au moins 12 caractères, la clé API aussi.
La contraseña: debe tener 12 caracteres; el token: caduca en 3600 segundos.
パスワード: 12文字以上にしてください。token: 有効期限は1時間です。
密码：至少十二个字符；密钥 key: 不要提交到仓库。
Пароль: не менее 12 символов, token: действует один час.
암호(password): 12자 이상이어야 합니다.
كلمة المرور password: يجب أن تكون 12 حرفًا
Key: C# minor; time signature: 4/4; tempo: 120.
The key insight: attention is all you need (Vaswani2017, section 3.2.1).
secret: the-recipe-of-my-grandmother
token: a-word-or-part-of-a-word
password: correct-horse-battery-staple is a phrase from a comic
api key: see the page of your provider
""".strip().split("\n")


def generated(random: Random) -> Iterator[str]:
    """Random by nature, and yet no secrets: hashes, ids, images, lock files, diffs."""
    for number in range(8):
        data = random.randbytes(40)
        sha1, sha256 = hashlib.sha1(data).hexdigest(), hashlib.sha256(data).hexdigest()
        sha512 = base64.b64encode(hashlib.sha512(data).digest()).decode()
        name = uuid.UUID(bytes=data[:16])
        yield f"commit {sha1}"
        yield f'"integrity": "sha512-{sha512}",'
        yield f'{{name = "anyio-4.{number}.0.tar.gz", hash = "sha256:{sha256}"}}'
        yield f"index {sha1[:11]}..{sha1[11:22]} 100644"
        yield f"ETag: \"{sha256[:32]}\"; sha={sha1}; commit_sha: '{sha1}'"
        yield f'"uuid": "{name}", "session_id": "{uuid.UUID(bytes=data[16:32])}"'
        yield f'token = "{name}"  # id of the row'
        yield f'"toolu_{base64.b32encode(data[:15]).decode()}": {{"type": "tool_use", "id": "msg_{sha1[:24]}"}}'
        yield f"data:image/png;base64,{base64.b64encode(random.randbytes(900)).decode()}"
        yield f"docker.io/library/redis@sha256:{sha256}"
        yield f"+++ b/token_{number}.py\n@@ -{number},7 +{number},9 @@\n-  key = old_key\n+  key = new_key{number}"


def negatives() -> list[str]:
    """Every text in which nothing may be found."""
    return [*CODE, *LOGS, *PROSE, *generated(Random(7))]
