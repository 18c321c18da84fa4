"""What must stay: code, hashes, identifiers, digests, images. A redactor that eats these gets switched off."""

import base64
import json
import random
import uuid

import pytest

from aimemory.privacy import sanitize, sanitize_payload

CODE = [
    'if (apiKey == "") {', 'url = "api_key=" + name', "the last word of this line is token\n=====================\nTitle",
    "token=$(cat /run/token)", "TOKEN=`get-token`", "export TOKEN=${OTHER_TOKEN:-none}", "API_KEY=<PLACEHOLDER>", "password: str", "password=None",
    "token = get_token()", 'key = os.environ["API_KEY"]', 'secret = os.environ.get("SECRET", "")', "def login(user: str, password: str) -> Token:",
    "const token = req.headers['x-token'];", "this.password = password;", "let secret = Secret::new(bytes32);", "PASSWORD_HASHERS = [",
    "risk-based-authentication-with-many-words-behind-it-2024", "task-" + "a1b2c3d4" * 6, "disk-" + "0a1b" * 10, "desk-" + "Ab1" * 12,
    "cudaErrorInvalidDeviceFunctionForThisArchitecture", "CUDA_ERROR_ILLEGAL_ADDRESS_IN_KERNEL_LAUNCH_700", "test_user_can_reset_password_with_valid_token_v2",
    "getUserAccessTokenFromSessionStorageOrThrow", "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES", "kernel_launch_configuration_for_sm_90a",
    "--password-stdin", "max_tokens=4096, stop_token='</s>'", "tokens: 18,342 in, 1,024 out", "type=password name=user", "<input type=\"password\" placeholder=\"Password\">",
    "secretKeyRef:\n  name: db\n  key: password\n", "key: value", "primary_key=True", "cache_key = f'{user}:{page}'", "PASS: tests/unit/test_x509_v3.py", "pass=5 fail=0",
    "Authorization: Bearer ${TOKEN}", "raise ValueError('password is required')", "The password is hashed with argon2id.", "keyword: sha256", "author: jane2024@example.com",
    "cache key: " + "4f9a1c7e" * 5, "key: sha512-" + "q7Zk2Xw9Vb4Lm8Rt1Yp6Ns3Hd5Jf0Gc" * 2 + "==", "key SHA256:q7Zk2Xw9Vb4Lm8Rt1Yp6Ns3Hd5Jf0Gcq7Zk2Xw9Vb4",
    'public_key = "q7Zk2Xw9Vb4Lm8Rt1Yp6Ns3Hd5Jf0Gc"', '{"nextToken": "q7Zk2Xw9Vb4Lm8Rt1Yp6Ns3Hd5Jf0Gc"}', "primary_key=q7Zk2Xw9Vb4Lm8Rt1Yp6Ns3Hd5Jf0Gc",
    'secret: "prefix-%s-a1b2c3d4"', "password=/run/secrets/db2", "secret = https://example.com/a1b2c3", "password = user.password2", "password: PasswordType2",
    "password = your-password-1", "pass: test_login_v2", "sk-learn-based-classification-pipeline-v2", "password: 'The password must have 8 characters'",
    'token: "STRING"', "if not token: return", "password = input('Password: ')", "assert user.password != 'x'", "// TODO: token -> session", "passwd[-1], pw.pw_dir", "auth = (user, password)",
]  # fmt: skip


@pytest.mark.promise("P4.3")
@pytest.mark.parametrize("text", CODE)
def test_code_stays_byte_for_byte(text):
    assert sanitize(text).value == text
    assert sanitize(f"x\n  {text}\ny = 1\n").value == f"x\n  {text}\ny = 1\n"


@pytest.mark.promise("P4.3")
def test_hashes_ids_digests_and_images_stay():
    rng = random.Random(7)
    image = base64.b64encode(rng.randbytes(120_000)).decode()
    text = "\n".join(
        [
            *(f"commit {rng.randbytes(20).hex()}" for _ in range(300)),
            *(f"{rng.randbytes(32).hex()}  dist/app-{n}.whl" for n in range(300)),
            *(f"id={uuid.UUID(bytes=rng.randbytes(16))}" for _ in range(300)),
            *(f'"integrity": "sha512-{base64.b64encode(rng.randbytes(64)).decode()}",' for _ in range(300)),
            *(f"    --hash=sha256:{rng.randbytes(32).hex()} \\" for _ in range(300)),
            *(f"h1:{base64.b64encode(rng.randbytes(32)).decode()}" for _ in range(300)),
            f"![image](data:image/png;base64,{image})",
            *(image[i : i + 76] for i in range(0, 76_000, 76)),
        ]
    )

    assert sanitize(text).value == text


def test_payload_of_a_harness_stays():
    payload = {
        "session_id": "8c0f4c5e-6d0e-4f59-9a62-1d6c6f6f3a10",
        "tool_use_id": "toolu_01A09q90qw90lq917835lq9",
        "transcript_path": "/home/dev/.claude/projects/-home-dev-app/8c0f4c5e-6d0e-4f59-9a62-1d6c6f6f3a10.jsonl",
        "tool_input": {"command": "pytest -q tests/test_token.py -k password", "description": "Run the token tests"},
        "tool_response": {"stdout": "3 passed in 0.12s", "usage": {"input_tokens": 12, "cache_key": "a1b2"}},
    }

    assert sanitize_payload(json.dumps(payload).encode()).value == payload
