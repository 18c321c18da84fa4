# ruff: noqa: E501 -- one row of the table, one line
"""The table of vendors' secrets: each row with what to look for first, how to match, examples and look-alikes.

A row's example must be redacted, alone and embedded; its look-alikes must stay byte for byte. Both are put together
from parts, so that no scanner takes this file for a leak. How rows are run is in `find.py`; context is in `contexts.py`.
"""

import base64
import binascii
import re
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from aimemory.privacy.values import is_random

Scope: TypeAlias = Literal["run", "text", "low"]


class Decoded(NamedTuple):
    """What an encoded run stands for. starts: where in the run each character of the text begins, and one more; None
    where only the run as a whole can be redacted."""

    text: str
    starts: list[int] | None


class Row(NamedTuple):
    """One pattern.

    kind: what the placeholder says. literals: one of them stands in every match; they are looked for first.
    regex: run only where a literal was seen; redacts its group `s`, or the whole match. It decides within
    `spans.MARGIN` characters whether a secret begins, and its worst case is linear.
    scope: where literals are looked for: in runs of 16 or more token characters (`run`; every match then has its
    literal in such a run), in the text, or in the lowered text (`low`).
    examples, lookalikes: see above; an example marks its secret by « and » where it is not the whole.
    check: a last look at the match.
    hint: a pattern to look for first besides the literals. Where there are none it is looked for in the runs, with a
    space before each, `_` and `-` as spaces, and a space behind each `.`; it asks for 20 letters and digits in a row.
    decode: for a run that stands for other text: gives that text, and only secrets in it are redacted.
    """

    kind: str
    literals: tuple[str, ...]
    regex: str
    examples: tuple[str, ...]
    lookalikes: tuple[str, ...]
    check: Callable[[re.Match[str]], bool] | None = None
    scope: Scope = "run"
    hint: str = ""
    decode: Callable[[re.Match[str]], Decoded | None] | None = None

    @property
    def at_edge(self) -> bool:
        """Every match begins with a literal that has no letter or digit before it, escapes aside."""
        return _EDGE_LEAD in self.regex[1:]


_EDGE_LEAD = "(?:(?<![A-Za-z0-9]"
_HEX = "4f9a1c7e2b8d0365"
_MIX = "q7Zk2Xw9Vb4Lm8Rt1Yp6Ns3Hd5Jf0Gc"
_CAPS = "Q7ZK2XW4VB5LM3RT6YPNSHDJFGC"


def _hex(size: int) -> str:
    return (_HEX * (size // 16 + 1))[:size]


def _mix(size: int) -> str:
    return (_MIX * (size // 31 + 1))[:size]


def _caps(size: int) -> str:
    return (_CAPS * (size // 27 + 1))[:size]


def edge(back: int) -> str:
    """No letter or digit stands `back` characters before, other than an escape's (`\\n`, `%20`, a terminal colour)."""
    dots = "." * back
    return rf"{_EDGE_LEAD}{dots})|(?<=\\[nrt]{dots})|(?<=%[0-9A-Fa-f][0-9A-Fa-f]{dots})|(?<=[0-9\[]m{dots}))"


def _after_edge(literal: str) -> str:
    """`literal` with an edge before it. The literal stands first because the engine then searches for it directly."""
    return re.escape(literal) + edge(len(literal))


def _of_openai(m: re.Match[str]) -> bool:
    """Opaque, or with the mark in the midst of its keys (`OpenAI` in base64)."""
    return "T3BlbkFJ" in m[0] or _opaque(m)


def _opaque(m: re.Match[str]) -> bool:
    return is_random(m[0], 16)


def _digits(m: re.Match[str]) -> bool:
    """A digit behind the prefix: it was drawn, not named."""
    return any(c.isdigit() for c in m[0][3:])


def _two_digits(m: re.Match[str]) -> bool:
    return sum(c.isdigit() for c in m[0]) >= 2


def _discord_id(m: re.Match[str]) -> bool:
    """The first part of a Discord token is the base64 of a decimal id."""
    part = m[0].partition(".")[0]
    try:
        return base64.b64decode(part + "=" * (-len(part) % 4), validate=True).isdigit()
    except (binascii.Error, ValueError):
        return False


def _two_parts(m: re.Match[str]) -> bool:
    return ".eyJ" in m[0]


def _encoded_key(m: re.Match[str]) -> bool:
    part = m[0][: len(m[0]) // 4 * 4][:80]
    return b"PRIVATE KEY" in base64.b64decode(part)


_UUID = "-".join((_hex(8), "1c7e", "4b8d", "a365", _hex(12)))

VENDORS: tuple[Row, ...] = (
    Row("aws-access-key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"A(?:KIA|SIA|BIA|CCA)" + edge(4) + r"[A-Z0-9]{16}(?![A-Za-z0-9])",
        ("AKIA" + _caps(16), "ASIA" + _caps(16)), ("AKIA" + "-is-a-prefix-of-keys", "X" + "AKIA" + _caps(16))),
    Row("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_(?:[A-Za-z0-9]{36,}|\d{1,12}_eyJ[A-Za-z0-9_-]{20,}+(?:\.[A-Za-z0-9_-]++){0,2})",
        (*(f"gh{c}_" + _mix(36) for c in "pousr"), "ghs_" + "1234567_eyJ" + _mix(60) + ".eyJ" + _mix(200) + "." + _mix(86)), ("ghp_" + "short1", "ghs_" + "function_name_of_a_test_case_number_1")),
    Row("github-token", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{22,}",
        ("github_pat_" + _mix(22) + "_" + _mix(59),), ("github_pat_" + "missing",)),
    Row("gitlab-token", ("glpat-", "gldt-", "glrt-", "glrtr-", "glptt-", "glcbt-", "glft-", "glsoat-", "glagent-", "gloas-", "glimt-", "glffct-", "glwt-"),
        r"gl(?:pat|dt|rtr?|ptt|cbt|ft|soat|agent|oas|imt|ffct|wt)-[A-Za-z0-9_.=-]{20,}",
        ("glpat-" + _mix(20), "glrt-" + _mix(20), "gldt-" + _mix(20)), ("glpat-" + "example",)),
    Row("gitlab-token", ("GR1348941",), r"GR1348941[A-Za-z0-9_-]{20,}", ("GR1348941" + _mix(20),), ("GR1348941" + "-old",)),
    Row("slack-token", ("xoxb-", "xoxp-", "xoxa-", "xoxe-", "xoxo-", "xoxr-", "xoxs-", "xoxc-", "xoxd-", "xoxe.", "xapp-"),
        r"x(?:ox[abcdeoprs]|app)[-.](?:xox[bp]-)?[A-Za-z0-9%-]{12,}",
        ("xoxb-" + "123456789012-" + _mix(24), "xapp-" + "1-A012-" + _mix(30), "xoxe.xoxp-" + "1-" + _mix(40)), ("xoxb-" + "your",)),
    Row("slack-webhook", ("hooks.slack.com/",), r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9_/-]{20,}",
        ("hooks.slack.com/services/" + "T0123ABCD/B0123ABCD/" + _mix(24),), ("hooks.slack.com/services/",), scope="text"),
    Row("stripe-key", ("sk_live_", "sk_test_", "rk_live_", "rk_test_"), r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}",
        ("sk_live_" + _mix(24), "rk_test_" + _mix(24)), ("pk_live_" + _mix(24), "sk_test_" + "mode")),
    Row("stripe-webhook-secret", ("whsec_",), r"whsec_[A-Za-z0-9+/]{24,}=*", ("whsec_" + _mix(32),), ("whsec_" + "test",), scope="text"),
    Row("anthropic-key", ("sk-ant-",), r"sk-ant-[A-Za-z0-9_-]{16,}",
        ("sk-ant-" + "api03-" + _mix(93), "sk-ant-" + "oat01-" + _mix(60)), ("sk-ant-" + "your-key",)),
    Row("openrouter-key", ("sk-or-",), r"sk-or-v\d-[A-Za-z0-9_-]{16,}", ("sk-or-" + "v1-" + _hex(64),), ("sk-or-" + "another-name-of-it",)),
    Row("langfuse-key", ("sk-lf-",), r"sk-lf-[0-9a-f-]{36}", ("sk-lf-" + _UUID,), ("sk-lf-" + "placeholder",)),
    Row("openai-key", ("sk-",), _after_edge("sk-") + r"[A-Za-z0-9_-]{20,}",
        ("sk-proj-" + _mix(60), "sk-admin-" + "ab-cd-" + "T3BlbkFJ" + "ef-gh-ij", "sk-" + _mix(48), "sk-svcacct-" + _mix(50), "sk-" + _hex(32)),
        ("risk-" + "based-authentication-and-authorisation-2024", "task-" + _mix(40), "disk-" + _hex(32), "desk-" + _mix(24),
         "sk-" + "learn-based-classification-pipeline-v2"), check=_of_openai),
    Row("google-api-key", ("AIza",), _after_edge("AIza") + r"[A-Za-z0-9_-]{35}", ("AIza" + _mix(35),), ("AIza" + "Something",)),
    Row("google-api-key", ("AQ.",), _after_edge("AQ.") + r"[A-Za-z0-9_-]{40,}", ("AQ." + "Ab8R" + _mix(46),), ("AQ." + "mod_name_of_a_thing_that_is_rather_long_indeed",), check=_opaque),
    Row("google-oauth-token", ("ya29.",), r"ya29\.[A-Za-z0-9_-]{20,}", ("ya29." + _mix(60),), ("ya29." + "a0",)),
    Row("google-oauth-secret", ("GOCSPX-",), r"GOCSPX-[A-Za-z0-9_-]{20,}", ("GOCSPX-" + _mix(28),), ("GOCSPX-" + "prefix",)),
    Row("google-refresh-token", ("1//0",), r"1//0[A-Za-z0-9_-]{30,}", ("1//0" + _mix(60),), ("1//0" + "x",), scope="text"),
    Row("azure-client-secret", ("~",), r"[A-Za-z0-9_.~-]{3}[78]Q~[A-Za-z0-9_.~-]{31,34}",
        ("abC8Q~" + _mix(34),), ("8Q~" + "x",), scope="low", hint="q~"),
    Row("azure-devops-token", ("AZDO",), edge(0) + r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}", (_mix(76) + "AZDO" + "a1B2",), ("AZDO" + "_PROJECT_COLLECTION_URI",)),
    Row("npm-token", ("npm_",), r"npm_[A-Za-z0-9]{36,}", ("npm_" + _mix(36),), ("npm_" + "config_registry_and_other_settings_of_it",)),
    Row("pypi-token", ("pypi-A",), r"pypi-A[A-Za-z0-9_-]{40,}", ("pypi-A" + "gEIcHlwaS5vcmc" + _mix(60),), ("pypi-A" + "ttestations",)),
    Row("docker-token", ("dckr_pat_", "dckr_oat_"), r"dckr_[po]at_[A-Za-z0-9_-]{20,}", ("dckr_pat_" + _mix(27),), ("dckr_pat_" + "name",)),
    Row("huggingface-token", ("hf_",), _after_edge("hf_") + r"[A-Za-z0-9]{30,}", ("hf_" + _mix(34),), ("hf_" + "hub_download_of_a_model_with_a_long_name",)),
    Row("huggingface-token", ("api_org_",), r"api_org_[A-Za-z0-9]{30,}", ("api_org_" + _mix(34),), ("api_org_" + "members_and_their_roles",)),
    Row("twilio-key", ("SK",), _after_edge("SK") + r"[0-9a-f]{32}(?![A-Za-z0-9])", ("SK" + _hex(32),), ("SK" + _hex(20), "DISK" + _hex(32))),
    Row("sendgrid-key", ("SG.",), _after_edge("SG.") + r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30,64}",
        ("SG." + _mix(22) + "." + _mix(43),), ("SG." + "module.function",)),
    Row("mailgun-key", ("key-",), _after_edge("key-") + r"[0-9a-f]{32}(?![A-Za-z0-9])", ("key-" + _hex(32),), ("monkey-" + _hex(32), "key-" + "value-store-of-things")),
    Row("telegram-token", (":AA",), edge(0) + r"\d{8,10}:AA[A-Za-z0-9_-]{32,35}(?![A-Za-z0-9_-])", ("123456789:AA" + _mix(33),), ("12:AA" + ":BB:CC",), scope="text"),
    Row("discord-token", (), edge(0) + r"[MNO][A-Za-z0-9]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}",
        ("MTIzNDU2Nzg5MDEyMzQ1Njc4" + ".GaBcDe." + _mix(38),), ("MyVeryLongModuleNameIsHere" + ".method." + "anotherMethodNameThatIsLong1",), check=_discord_id,
        hint=r"\. (?<=[A-Za-z0-9]{24}\. )[A-Za-z0-9 ]{6}\."),
    Row("discord-webhook", ("/api/webhooks/",), r"discord(?:app)?\.com/api/webhooks/\d{10,25}/[A-Za-z0-9_-]{40,}",
        ("discord.com/api/webhooks/" + "123456789012345678/" + _mix(68),), ("discord.com/api/webhooks/" + "id",), scope="text"),
    Row("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"do[opr]_v1_[0-9a-f]{64}", ("dop_v1_" + _hex(64),), ("dop_v1_" + "token",)),
    Row("heroku-key", ("HRKU-",), r"HRKU-[A-Za-z0-9_-]{20,}", ("HRKU-" + _mix(58),), ("HRKU-" + "x",)),
    Row("cloudflare-key", ("cfut_", "cfat_", "cfk_"), _after_edge("cf") + r"(?:ut|at|k)_[A-Za-z0-9]{40,}", ("cfut_" + _mix(40) + _hex(8), "cfat_" + _mix(48), "cfk_" + _mix(48)), ("cfk_" + "x",)),
    Row("cloudflare-key", ("v1.0-",), r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}", ("v1.0-" + _hex(24) + "-" + _hex(146),), ("v1.0-" + "beta-and-a-longer-name",)),
    Row("newrelic-key", ("NRAK-", "NRII-", "NRAA-", "NRRA-"), r"NR(?:AK|II|AA|RA)-[A-Za-z0-9_-]{24,}", ("NRAK-" + _caps(27),), ("NRAK-" + "x",)),
    Row("newrelic-key", ("NRAL",), edge(0) + r"[0-9a-f]{36}NRAL(?![A-Za-z0-9])", (_hex(36) + "NRAL",), ("NRAL" + _hex(20),)),
    Row("sentry-token", ("sntrys_", "sntryu_"), r"sntry[su]_[A-Za-z0-9+/=_-]{40,}", ("sntryu_" + _hex(64), "sntrys_" + _mix(80)), ("sntrys_" + "x",)),
    Row("linear-key", ("lin_api_", "lin_oauth_"), r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}", ("lin_api_" + _mix(40),), ("lin_api_" + "client_for_tests_and_more_tests",)),
    Row("notion-token", ("secret_",), _after_edge("secret_") + r"[A-Za-z0-9]{43}(?![A-Za-z0-9_])", ("secret_" + _mix(43),), ("secret_" + "manager_client_with_a_long_name_indeed_long",)),
    Row("notion-token", ("ntn_",), _after_edge("ntn_") + r"[A-Za-z0-9]{40,}", ("ntn_" + _mix(46),), ("ntn_" + "short",)),
    Row("figma-token", ("figd_", "figo_", "figu_"), r"fig[dou]_[A-Za-z0-9_-]{36,}", ("figd_" + _mix(40),), ("figd_" + "x",)),
    Row("atlassian-token", ("ATATT3", "ATCTT3"), r"AT[AC]TT3[A-Za-z0-9_=-]{50,}", ("ATATT3" + "xFf" + _mix(180) + "=" + _caps(8),), ("ATATT3" + "x",)),
    Row("bitbucket-token", ("ATBB",), _after_edge("ATBB") + r"[A-Za-z0-9]{24,}", ("ATBB" + _mix(32),), ("ATBB" + "x",)),
    Row("shopify-token", ("shpat_", "shpca_", "shppa_", "shpss_", "shptka_"), r"shp(?:at|ca|pa|ss|tka)_[0-9a-fA-F]{32}", ("shpat_" + _hex(32),), ("shpat_" + "x",)),
    Row("square-token", ("sq0atp-", "sq0csp-", "sq0idp-"), r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}", ("sq0atp-" + _mix(22),), ("sq0atp-" + "x",)),
    Row("square-token", ("EAAA",), _after_edge("EAAA") + r"[A-Za-z0-9_-]{56,60}(?![A-Za-z0-9_+-]|/(?![a-z]{2,12}[/.]))", ("EAAA" + _mix(60),), ("EAAA" + "x",)),
    Row("databricks-token", ("dapi",), _after_edge("dapi") + r"[0-9a-f]{32}(?:-\d)?(?![A-Za-z0-9])", ("dapi" + _hex(32),), ("dapi" + "_client_factory",)),
    Row("databricks-token", ("dose",), _after_edge("dose") + r"[0-9a-f]{32}(?:-\d)?(?![A-Za-z0-9])", ("dose" + _hex(32),), ("dose" + "_of_medicine_number",)),
    Row("vault-token", ("hvs.", "hvb.", "hvr."), _after_edge("hv") + r"[sbr]\.[A-Za-z0-9_-]{24,}", ("hvs." + _mix(90),), ("hvs." + "read",)),
    Row("doppler-token", ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
        _after_edge("dp.") + r"(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}", ("dp.pt." + _mix(43), "dp.st.prd." + _mix(43)), ("dp.st." + "config",)),
    Row("supabase-key", ("sbp_",), r"sbp_[0-9a-f]{40}", ("sbp_" + _hex(40),), ("sbp_" + "x",)),
    Row("supabase-key", ("sb_secret_",), r"sb_secret_[A-Za-z0-9_-]{20,}", ("sb_secret_" + _mix(31),), ("sb_publishable_" + _mix(31),)),
    Row("vercel-token", ("vcp_", "vci_", "vca_", "vcr_", "vck_"), _after_edge("vc") + r"[piark]_[A-Za-z0-9]{24,}", ("vcp_" + _mix(56),), ("vci_" + "short",)),
    Row("vercel-token", ("vercel_blob_rw_",), r"vercel_blob_rw_[A-Za-z0-9]{10,}_[A-Za-z0-9]{20,}", ("vercel_blob_rw_" + _mix(16) + "_" + _mix(30),), ("vercel_blob_rw_" + "token",)),
    Row("netlify-token", ("nfp_", "nfc_", "nfo_", "nfu_"), _after_edge("nf") + r"[pcou]_[A-Za-z0-9_-]{36,}", ("nfp_" + _mix(36),), ("nfp_" + "x",), check=_digits),
    Row("fly-token", ("fm1r_lJPE", "fm1a_lJPE", "fm2_lJPE"), r"fm[12][ra]?_lJPE[A-Za-z0-9+/=]{60,}", ("fm2_lJPE" + _mix(120),), ("fm2_" + "x",)),
    Row("fly-token", ("fo1_",), _after_edge("fo1_") + r"[A-Za-z0-9_-]{43}", ("fo1_" + _mix(43),), ("fo1_" + "x",)),
    Row("groq-key", ("gsk_",), _after_edge("gsk_") + r"[A-Za-z0-9]{40,}", ("gsk_" + _mix(52),), ("gsk_" + "x",)),
    Row("replicate-token", ("r8_",), _after_edge("r8_") + r"[A-Za-z0-9]{37,}", ("r8_" + _mix(37),), ("r8_" + "x",)),
    Row("perplexity-key", ("pplx-",), r"pplx-[A-Za-z0-9]{40,}", ("pplx-" + _mix(48),), ("pplx-" + "70b-online",)),
    Row("xai-key", ("xai-",), _after_edge("xai-") + r"[A-Za-z0-9]{60,}", ("xai-" + _mix(80),), ("xai-" + "grok",)),
    Row("mem0-key", ("m0-",), _after_edge("m0-") + r"[A-Za-z0-9]{36,}", ("m0-" + _mix(40),), ("m0-" + "nightly-build-of-the-arm-core-2024",)),
    Row("supermemory-key", ("sm_",), _after_edge("sm_") + r"[A-Za-z0-9_]{40,}", ("sm_" + _mix(22) + "_" + _mix(48),),
        ("sm_" + "kernel_launch_configuration_for_the_second_pass",), check=_opaque),
    Row("age-key", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[0-9A-Z]{50,}", ("AGE-SECRET-KEY-1" + _caps(58),), ("AGE-SECRET-KEY-1" + "X",)),
    Row("jwt", ("eyJ",), _after_edge("eyJ") + r"[A-Za-z0-9_-]*+(?:\.eyJ[A-Za-z0-9_-]{6,}+(?:\.[A-Za-z0-9_-]*+){0,3})?",
        ("eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0In0." + _mix(43),), ("eyJ" + "hbGciOiJIUzI1NiJ9",), check=_two_parts),
    Row("encoded-private-key", ("LS0tLS1CRUdJTi",), r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{40,}={0,2}",
        (base64.b64encode(b"-----BEGIN RSA " + b"PRIVATE KEY-----\n" + _mix(64).encode()).decode(),),
        (base64.b64encode(b"-----BEGIN CERTIFICATE-----\n" + _mix(64).encode()).decode(),), check=_encoded_key),
    Row("airtable-token", (), _after_edge("pat") + r"[A-Za-z0-9]{14}\.[0-9a-f]{64}", ("pat" + _mix(14) + "." + _hex(64),), ("pathological.module.name.of.a.test",), hint=r"\. [0-9a-f]{64}"),
    Row("postman-key", ("PMAK-",), r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}", ("PMAK-" + _hex(24) + "-" + _hex(34),), ("PMAK-" + "x",)),
    Row("grafana-token", ("glsa_", "glc_"), r"gl(?:sa|c)_[A-Za-z0-9+/=_-]{32,}", ("glsa_" + _mix(32) + "_" + _hex(8), "glc_" + _mix(60)), ("glc_" + "x",), check=_digits),
    Row("rubygems-key", ("rubygems_",), r"rubygems_[0-9a-f]{48}", ("rubygems_" + _hex(48),), ("rubygems_" + "version_of_the_bundler",)),
    Row("crates-io-token", ("cio",), _after_edge("cio") + r"[A-Za-z0-9]{32}(?![A-Za-z0-9_])", ("cio" + _mix(32),), ("cio" + "NameOfSomethingLong",), check=_digits),
    Row("terraform-token", (".atlasv1.",), edge(0) + r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}", (_mix(14) + ".atlasv1." + _mix(67),), ("a.atlasv1." + "b",)),
    Row("pulumi-token", ("pul-",), _after_edge("pul-") + r"[0-9a-f]{40}", ("pul-" + _hex(40),), ("pul-" + "x",)),
    Row("planetscale-token", ("pscale_",), r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{32,}", ("pscale_tkn_" + _mix(43),), ("pscale_" + "branch_name",)),
    Row("dropbox-token", ("sl.",), _after_edge("sl.") + r"(?:u\.)?[A-Za-z0-9_-]{100,}", ("sl." + _mix(130),), ("sl." + "connect",)),
    Row("hubspot-token", ("pat-na", "pat-eu"), r"pat-(?:na|eu)\d-[0-9a-f-]{36}", ("pat-na1-" + _UUID,), ("pat-na" + "me",)),
    Row("langsmith-key", ("lsv2_",), r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}", ("lsv2_pt_" + _hex(32) + "_" + _hex(10),), ("lsv2_" + "x",)),
    Row("elevenlabs-key", ("sk_",), _after_edge("sk_") + r"[0-9a-f]{48}", ("sk_" + _hex(48),), ("sk_" + "buff_alloc_headroom_for_the_network_driver",)),
    Row("tavily-key", ("tvly-",), r"tvly-[A-Za-z0-9-]{24,}", ("tvly-" + "dev-" + _mix(32),), ("tvly-" + "x",)),
    Row("firecrawl-key", ("fc-",), _after_edge("fc-") + r"[0-9a-f]{32}(?![A-Za-z0-9])", ("fc-" + _hex(32),), ("fc-" + "cache",)),
    Row("jina-key", ("jina_",), r"jina_[A-Za-z0-9_-]{40,}", ("jina_" + _mix(60),), ("jina_" + "embeddings_v3_model_with_a_rather_long_name",), check=_opaque),
    Row("nvidia-key", ("nvapi-",), r"nvapi-[A-Za-z0-9_-]{40,}", ("nvapi-" + _mix(64),), ("nvapi-" + "x",)),
    Row("pinecone-key", ("pcsk_",), r"pcsk_[A-Za-z0-9_]{40,}", ("pcsk_" + _mix(70),), ("pcsk_" + "x",)),
    Row("together-key", ("tgp_v1_",), r"tgp_v1_[A-Za-z0-9_-]{40,}", ("tgp_v1_" + _mix(43),), ("tgp_v1_" + "x",)),
    Row("e2b-key", ("e2b_",), _after_edge("e2b_") + r"[0-9a-f]{40}", ("e2b_" + _hex(40),), ("e2b_" + "code_interpreter",)),
    Row("cursor-key", ("crsr_",), r"crsr_[0-9a-f]{64}", ("crsr_" + _hex(64),), ("crsr_" + "x",)),
    Row("cursor-key", ("key_",), _after_edge("key_") + r"[0-9a-f]{64}", ("key_" + _hex(64),), ("key_" + "value_store_of_the_session",)),
    Row("sourcegraph-token", ("sgp_",), _after_edge("sgp_") + r"(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}", ("sgp_" + _hex(40),), ("sgp_" + "x",)),
    Row("resend-key", ("re_",), _after_edge("re_") + r"[A-Za-z0-9]{8}_[A-Za-z0-9]{24}(?![A-Za-z0-9_])", ("re_" + _mix(8) + "_" + _mix(24),),
        ("re_" + "evaluat" + "e_something_with_a_long_name",), check=_digits),
    Row("posthog-key", ("phx_",), _after_edge("phx_") + r"[A-Za-z0-9]{40,}", ("phx_" + _mix(43),), ("phc_" + _mix(43),)),
    Row("onepassword-token", ("ops_eyJ",), r"ops_eyJ[A-Za-z0-9_-]{40,}", ("ops_eyJ" + _mix(200),), ("ops_eyJ" + "x",)),
    Row("tailscale-key", ("tskey-",), r"tskey-[a-z]{2,12}-[A-Za-z0-9-]{16,}", ("tskey-auth-" + _mix(12) + "CNTRL-" + _mix(24),), ("tskey-" + "x",)),
    Row("mapbox-token", ("sk.eyJ",), r"sk\.eyJ[A-Za-z0-9_-]{30,}\.[A-Za-z0-9_-]{20,}", ("sk.eyJ" + "1Ijoi" + _mix(40) + "." + _mix(22),), ("sk.eyJ" + "x",)),
    Row("artifactory-token", ("AKCp",), _after_edge("AKCp") + r"[A-Za-z0-9]{60,}", ("AKCp" + _mix(69),), ("AKCp" + "x",)),
    Row("plaid-token", ("access-sandbox-", "access-development-", "access-production-"), r"access-(?:sandbox|development|production)-[0-9a-f-]{36}",
        ("access-sandbox-" + _UUID,), ("access-production-" + "systems",)),
    Row("launchdarkly-key", ("sdk-", "api-"), r"(?:sdk|api)-" + edge(4) + r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}",
        ("sdk-" + _UUID,), ("api-" + "gateway-for-the-second-region",)),
    Row("adafruit-key", ("aio_",), _after_edge("aio_") + r"[A-Za-z0-9]{28}(?![A-Za-z0-9_])", ("aio_" + _mix(28),), ("aio_" + "run",), check=_digits),
    Row("prefect-key", ("pnu_", "pnb_"), _after_edge("pn") + r"[ub]_[A-Za-z0-9]{36}", ("pnu_" + _mix(36),), ("pnu_" + "x",)),
    Row("buildkite-token", ("bkua_",), r"bkua_[0-9a-f]{40}", ("bkua_" + _hex(40),), ("bkua_" + "x",)),
    Row("circleci-token", ("CCIPAT_",), r"CCIPAT_[A-Za-z0-9_]{40,}", ("CCIPAT_" + _mix(22) + "_" + _hex(40),), ("CCIPAT_" + "x",)),
    Row("contentful-token", ("CFPAT-",), r"CFPAT-[A-Za-z0-9_-]{40,}", ("CFPAT-" + _mix(43),), ("CFPAT-" + "x",)),
    Row("alibaba-key", ("LTAI",), _after_edge("LTAI") + r"[A-Za-z0-9]{12,26}(?![A-Za-z0-9_])", ("LTAI" + "5t" + _mix(18),), ("LTAI" + "NAME_OF_SOMETHING",), check=_digits),
    Row("tencent-key", ("AKID",), _after_edge("AKID") + r"[A-Za-z0-9]{32}(?![A-Za-z0-9_])", ("AKID" + _mix(32),), ("AKID" + "x",)),
    Row("volcengine-key", ("AKLT",), _after_edge("AKLT") + r"[A-Za-z0-9+/=_-]{40,}", ("AKLT" + _mix(43),), ("AKLT" + "x",)),
    Row("baidu-key", ("ALTAK-",), r"(?:bce-v3/)?ALTAK-[A-Za-z0-9]{16,}(?:/[0-9a-f]{40})?", ("bce-v3/ALTAK-" + _mix(21) + "/" + _hex(40),), ("ALTAK-" + "x",)),
    Row("yandex-key", ("t1.",), _after_edge("t1.") + r"[A-Za-z0-9_-]{20,}={0,2}\.[A-Za-z0-9_-]{80,}={0,2}", ("t1." + _mix(60) + "." + _mix(86),), ("t1." + "column_name_of_a_table.and_another",)),
    Row("yandex-key", ("AQVN",), _after_edge("AQVN") + r"[A-Za-z0-9_-]{30,}", ("AQVN" + _mix(36),), ("AQVN" + "x",)),
    Row("yandex-key", ("y0_",), _after_edge("y0_") + r"_?[A-Za-z0-9_-]{50,}", ("y0__" + _mix(52),), ("y0_" + "plus_dy_times_the_number_of_rows_that_are_left_in_the_grid",), check=_digits),
    Row("scaleway-key", ("SCW",), _after_edge("SCW") + r"[A-Z0-9]{17}(?![A-Za-z0-9_])", ("SCW" + _caps(17),), ("SCW" + "CONFIGPATHLONGNAME"[:17],), check=_digits),
    Row("aws-bedrock-key", ("ABSKQmVkcm9ja0FQSUtleS",), r"ABSKQmVkcm9ja0FQSUtleS[A-Za-z0-9+/]{40,}={0,2}", ("ABSKQmVkcm9ja0FQSUtleS" + _mix(110) + "=",), ("ABSKQmVkcm9ja0FQSUtleS" + "x",)),
    Row("azure-key", ("==",), edge(0) + r"[A-Za-z0-9+/]{76}\+ASt[A-Za-z0-9+/]{5,6}={1,2}", (_mix(76) + "+ASt" + "a1B2c3" + "==",), ("+ASt" + "x ==",), scope="low", hint=r"\+ast[a-z0-9+/]{5,6}="),
    Row("azure-key", ("AzSe", "AzFu", "AzCa", "JQQJ99"), edge(0) + r"[A-Za-z0-9](?:[A-Za-z0-9]{32}AzCa[A-Za-z0-9]{6}=|[A-Za-z0-9_-]{41}AzSe[A-Za-z0-9]{6}|[A-Za-z0-9_-]{43}AzFu[A-Za-z0-9_-]{6,8}={0,2}|[A-Za-z0-9]{51}JQQJ99[A-Za-z0-9]{26})",
        (_mix(42) + "AzSe" + "a1B2c3", _mix(44) + "AzFu" + "a1B2c3d4" + "==", _mix(52) + "JQQJ99" + _mix(26)), ("AzSe" + "archClientOptions",), check=_opaque),
    Row("teams-webhook", ("webhook.office.com/",), r"webhook\.office\.com/webhookb2/[A-Za-z0-9@-]{36,80}/IncomingWebhook/[A-Za-z0-9/_-]{32,}",
        ("acme.webhook.office.com/webhookb2/" + _UUID + "@" + _UUID + "/IncomingWebhook/" + _hex(32) + "/" + _UUID,), ("webhook.office.com/webhookb2/" + "id",), scope="text"),
    Row("apify-token", ("apify_api_",), r"apify_api_[A-Za-z0-9]{30,}", ("apify_api_" + _mix(36),), ("apify_api_" + "client_for_python",)),
    Row("artifactory-token", ("cmVmdGtuOj",), _after_edge("cmVmdGtuOj") + r"[A-Za-z0-9]{40,}", ("cmVmdGtuOj" + "AxO" + _mix(51),), ("cmVmdGtuOj" + "x",)),
    Row("brevo-key", ("xkeysib-", "xsmtpsib-"), r"x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}", ("xkeysib-" + _hex(64) + "-" + _mix(16),), ("xkeysib-" + "x",)),
    Row("browserbase-key", ("bb_live_", "bb_test_"), _after_edge("bb_") + r"(?:live|test)_[A-Za-z0-9_-]{24,}", ("bb_live_" + _mix(27),), ("bb_live_" + "view_of_the_browser_window",), check=_digits),
    Row("cerebras-key", ("csk-",), _after_edge("csk-") + r"[a-z0-9]{40,}", ("csk-" + _mix(48).lower(),), ("csk-" + "x",)),
    Row("clickup-token", ("pk_",), _after_edge("pk_") + r"\d{6,9}_[A-Z0-9]{32}(?![A-Za-z0-9_])", ("pk_12345678_" + _caps(32),), ("pk_" + "12345678_index_of_the_second_table",)),
    Row("clojars-token", ("CLOJARS_",), r"CLOJARS_[0-9a-f]{60}", ("CLOJARS_" + _hex(60),), ("CLOJARS_" + "USERNAME_AND_MORE",)),
    Row("composio-key", ("ak_",), _after_edge("ak_") + r"[A-Za-z0-9_-]{20}(?![A-Za-z0-9_-])", ("ak_" + _mix(20),), ("ak_" + "name_of_some_setting",), check=_digits),
    Row("defined-networking-key", ("dnkey-",), r"dnkey-[A-Za-z0-9=_-]{26}-[A-Za-z0-9=_-]{52}", ("dnkey-" + _mix(26) + "-" + _mix(52),), ("dnkey-" + "x",)),
    Row("deno-token", ("ddp_", "ddw_", "ddo_"), _after_edge("dd") + r"[pwo]_[A-Za-z0-9]{36}(?![A-Za-z0-9_])", ("ddp_" + _mix(36),), ("ddp_" + "x",)),
    Row("duffel-token", ("duffel_live_", "duffel_test_"), r"duffel_(?:live|test)_[A-Za-z0-9_=-]{40,}", ("duffel_live_" + _mix(43),), ("duffel_live_" + "x",)),
    Row("dynatrace-token", ("dt0c01.", "dt0s01.", "dt0s16."), r"dt0[cs]\d\d\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}", ("dt0c01." + _caps(24) + "." + _caps(64),), ("dt0c01." + "PUBLICIDONLY1234",)),
    Row("easypost-key", ("EZAK", "EZTK"), r"EZ[AT]K" + edge(4) + r"[A-Za-z0-9]{54}(?![A-Za-z0-9])", ("EZAK" + _mix(54),), ("EZAK" + "x",)),
    Row("fireworks-key", ("fw_",), _after_edge("fw_") + r"[A-Za-z0-9]{24}(?![A-Za-z0-9_])", ("fw_" + _mix(24),), ("fw_" + "UpdateStatusMessageLongs",), check=_digits),
    Row("flutterwave-key", ("FLWSECK",), r"FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?", ("FLWSECK_TEST-" + _hex(32) + "-X",), ("FLWSECK" + "_ENVIRONMENT_NAME",), check=_digits),
    Row("frameio-token", ("fio-u-",), r"fio-u-[A-Za-z0-9_=-]{60,}", ("fio-u-" + _mix(64),), ("fio-u-" + "x",)),
    Row("harness-token", ("pat.", "sat."), r"[ps]at\." + edge(4) + r"[A-Za-z0-9_-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}(?![A-Za-z0-9])", ("pat." + _mix(22) + "." + _hex(24) + "." + _mix(20),), ("pat." + "module.function_name",)),
    Row("honeycomb-key", ("hcaik_", "hcbik_", "hcaic_", "hcxik_", "hcxmk_", "hcamk_"), r"hc[abx](?:ik|ic|mk|lk)_[a-z0-9]{40,}", ("hcaik_01" + _mix(56).lower(),), ("hcaik_" + "x",)),
    Row("infisical-token", ("st.",), _after_edge("st.") + r"[0-9a-f-]{24,36}\.[0-9a-f]{32}\.[0-9a-f]{32}", ("st." + _UUID + "." + _hex(32) + "." + _hex(32),), ("st." + "session_state.clear",)),
    Row("infracost-key", ("ico-",), _after_edge("ico-") + r"[A-Za-z0-9]{32}(?![A-Za-z0-9])", ("ico-" + _mix(32),), ("ico-" + "x",), check=_opaque),
    Row("intra42-secret", ("s-s4t2",), r"s-s4t2(?:ud|af)-[0-9a-f]{64}", ("s-s4t2ud-" + _hex(64),), ("s-s4t2ud-" + "x",)),
    Row("mailchimp-key", ("-us",), edge(0) + r"[0-9a-f]{32}-us\d{1,2}(?![A-Za-z0-9])", (_hex(32) + "-us12",), (_hex(32) + "-user",)),
    Row("maxmind-key", ("_mmk",), edge(0) + r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?![A-Za-z0-9])", (_mix(6) + "_" + _mix(29) + "_mmk",), ("some_name_of_mmk",)),
    Row("messagebird-key", ("live_",), _after_edge("live_") + r"[A-Za-z0-9]{25}(?![A-Za-z0-9_])", ("live_" + _mix(25),), ("live_" + "NamesOfThingsStayTheySaid",), check=_opaque),
    Row("mongodb-secret", ("mdb_sa_sk_",), r"mdb_sa_sk_[A-Za-z0-9_-]{32,}", ("mdb_sa_sk_" + _mix(40),), ("mdb_sa_sk_" + "x",)),
    Row("neon-key", ("napi_",), _after_edge("napi_") + r"[a-z0-9]{48,}", ("napi_" + _mix(64).lower(),), ("napi_" + "create_external_buffer",)),
    Row("nostr-key", ("nsec1",), _after_edge("nsec1") + r"[02-9ac-hj-np-z]{58}(?![A-Za-z0-9])", ("nsec1" + "q9x8gf2tvdw0s3jn54khce6mua7lq9x8gf2tvdw0s3jn54khce6mua7lq9",), ("nsec1" + "x",)),
    Row("nuget-key", ("oy2",), _after_edge("oy2") + r"[a-z0-9]{43}(?![A-Za-z0-9])", ("oy2" + _mix(43).lower(),), ("oy2" + "x",)),
    Row("octopus-key", ("API-",), _after_edge("API-") + r"[A-Z0-9]{26,36}(?![A-Za-z0-9-])", ("API-" + _caps(32),), ("API-" + "REFERENCEFORTHEWHOLEPROGRAM",), check=_digits),
    Row("openshift-token", ("~",), r"sha256~[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])", ("sha256~" + _mix(43),), ("sha256~" + "x",), scope="low", hint="sha256~"),
    Row("paddle-key", ("pdl_live_", "pdl_sdbx_"), r"pdl_(?:live|sdbx)_(?:apikey|ntfset)_[A-Za-z0-9_]{30,}", ("pdl_live_apikey_01" + _mix(24).lower() + "_" + _mix(22) + "_Abc",), ("pdl_live_" + "apikey_name",)),
    Row("polar-token", ("polar_",), r"polar_(?:oat|pat|rst|cst|at|mst|whs|cs)_[A-Za-z0-9_-]{32,}", ("polar_oat_" + _mix(43),), ("polar_" + "coordinates_of_the_second_point",), check=_digits),
    Row("rapidapi-key", ("jsn",), edge(0) + r"[0-9a-f]{10}msh[0-9a-f]{15}p1[0-9a-f]{5,6}jsn[0-9a-f]{12}", (_hex(10) + "msh" + _hex(15) + "p1" + _hex(6) + "jsn" + _hex(12),), ("jsn" + "_parser_for_configs",)),
    Row("razorpay-key", ("rzp_live_", "rzp_test_"), r"rzp_(?:live|test)_[A-Za-z0-9]{14,}", ("rzp_live_" + _mix(14),), ("rzp_live_" + "x",)),
    Row("readme-key", ("rdme_",), r"rdme_[a-z0-9]{60,}", ("rdme_" + _mix(70).lower(),), ("rdme_" + "x",)),
    Row("render-key", ("rnd_",), _after_edge("rnd_") + r"[A-Za-z0-9]{28,}(?![A-Za-z0-9_])", ("rnd_" + _mix(28),), ("rnd_" + "state_of_the_generator_number_2",), check=_opaque),
    Row("runpod-key", ("rpa_",), _after_edge("rpa_") + r"[A-Z0-9]{40}[a-z0-9]{2}(?![A-Za-z0-9])", ("rpa_" + _caps(40) + "q7",), ("rpa_" + "x",)),
    Row("scalingo-token", ("tk-us-",), r"tk-us-[A-Za-z0-9_-]{48}", ("tk-us-" + _mix(48),), ("tk-us-" + "x",)),
    Row("settlemint-token", ("sm_pat_", "sm_aat_", "sm_sat_"), r"sm_(?:p|a|s)at_[A-Za-z0-9]{16}(?![A-Za-z0-9_])", ("sm_pat_" + _mix(16),), ("sm_pat_" + "x",)),
    Row("shippo-token", ("shippo_live_", "shippo_test_"), r"shippo_(?:live|test)_[0-9a-f]{40}", ("shippo_live_" + _hex(40),), ("shippo_test_" + "x",)),
    Row("snyk-token", ("snyk_uat.", "snyk_sat."), r"snyk_[us]at\.[A-Za-z0-9]{6,12}\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}", ("snyk_uat." + _hex(8) + ".eyJ" + _mix(60) + "." + _mix(40),), ("snyk_uat." + "x",)),
    Row("sonarqube-token", ("sqp_", "squ_", "sqa_"), _after_edge("sq") + r"[pua]_[0-9a-f]{40}(?![A-Za-z0-9])", ("squ_" + _hex(40), "sqp_" + _hex(40)), ("sqp_" + "x",)),
    Row("typeform-token", ("tfp_",), _after_edge("tfp_") + r"[A-Za-z0-9_.=-]{44,}", ("tfp_" + _mix(44) + "_" + _mix(14),), ("tfp_" + "layers_dense_variational_v2_with_a_long_name_more",), check=_two_digits),
    Row("unkey-key", ("unkey_",), r"unkey_[A-Za-z0-9]{16,}", ("unkey_" + _mix(24),), ("unkey_" + "client_for_typescript",)),
    Row("wandb-key", ("wandb_v1_",), r"wandb_v1_[A-Za-z0-9_-]{60,}", ("wandb_v1_" + _mix(77),), ("wandb_v1_" + "x",)),
    Row("woocommerce-key", ("ck_", "cs_"), _after_edge("c") + r"[ks]_[0-9a-f]{40}(?![A-Za-z0-9])", ("ck_" + _hex(40), "cs_" + _hex(40)), ("ck_" + "x",)),
    Row("zep-key", ("z_1dWlkIjoi",), r"z_1dWlkIjoi[A-Za-z0-9_-]{40,}+(?:\.[A-Za-z0-9_-]++)?", ("z_1dWlkIjoi" + _mix(160) + "." + _mix(30),), ("z_1dWlkIjoi" + "x",)),
    Row("zuplo-key", ("zpka_",), r"zpka_[0-9a-f]{32}_[0-9a-f]{8}", ("zpka_" + _hex(32) + "_" + _hex(8),), ("zpka_" + "x",)),
)  # fmt: skip
