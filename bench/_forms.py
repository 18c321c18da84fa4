"""Credential forms of vendors, written down from their documentation for the measurement of misses.

Nothing of `aimemory` is imported here: a rule that is missing must not be missing in the measure too. A form is literal
text with holes `{alphabet count}`; `filled` fills them at random.
"""

import random
import re
import string

ALPHABETS = {
    "a": string.ascii_letters + string.digits,  # alphanumeric
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "u": string.ascii_uppercase + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "w": string.ascii_letters + string.digits + "_",
    "b": string.ascii_letters + string.digits + "_-",  # base64url
    "B": string.ascii_letters + string.digits + "+/",  # base64
    "d": string.digits,
    "s": string.ascii_lowercase,
    "S": string.ascii_uppercase,
    "3": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",  # base32
    "e": "qpzry9x8gf2tvdw0s3jn54khce6mua7l",  # bech32
}
_HOLE = re.compile(r"\{(.)(\d+)\}")
UUID = "{h8}-{h4}-4{h3}-a{h3}-{h12}"

# vendor, form. Kept apart with `|` so that no scanner takes the table for a leak.
FORMS = tuple(
    tuple(line.split("|", 1))
    for line in r"""
1Password|ops_eyJ{b300}
Adafruit IO|aio_{a28}
Age|AGE-SECRET-KEY-1{u58}
Airtable|pat{a14}.{h64}
Alibaba Cloud|LTAI5t{a18}
Anthropic|sk-ant-api03-{b93}AA
Anthropic|sk-ant-admin01-{b93}AA
Anthropic|sk-ant-oat01-{b95}
Apify|apify_api_{a36}
Artifactory|AKCp8{a68}
Artifactory|cmVmdGtuOjAxO{a51}
Asana|2/{d16}/{d16}:{h32}
Atlassian|ATATT3xFfGF0{b172}={H8}
Atlassian|ATCTT3xFfGN0{b172}={H8}
Atlassian|ATBB{a32}{H8}
AWS|AKIA{316}
AWS|ASIA{316}
AWS Bedrock|ABSKQmVkcm9ja0FQSUtleS{B110}=
Azure AD|{a3}8Q~{b34}
Azure DevOps|{a76}AZDO{a4}
Azure Functions|{a43}{b1}AzFu{b8}==
Azure Storage|{B76}+ASt{B6}==
Baidu Cloud|bce-v3/ALTAK-{a21}/{h40}
Brevo|xkeysib-{h64}-{a16}
Browserbase|bb_live_{b27}
Buildkite|bkua_{h40}
Cerebras|csk-{l48}
CircleCI|CCIPAT_{a22}_{h40}
ClickUp|pk_{d8}_{u32}
Clojars|CLOJARS_{h60}
Cloudflare|cfut_{a40}{h8}
Cloudflare|cfat_{a40}{h8}
Cloudflare|cfk_{a40}{h8}
Cloudflare Origin CA|v1.0-{h24}-{h146}
Composio|ak_{b20}
Contentful|CFPAT-{b43}
crates.io|cio{a32}
Databricks|dapi{h32}-2
Databricks|dose{h32}
Defined Networking|dnkey-{b26}-{b52}
Deno Deploy|ddp_{a36}
DigitalOcean|dop_v1_{h64}
DigitalOcean|doo_v1_{h64}
Discord|MTA1NDU2Nzg5MDEyMzQ1Njc4.G{b5}.{b38}
Docker Hub|dckr_pat_{b27}
Docker Hub|dckr_oat_{b32}
Doppler|dp.pt.{a43}
Doppler|dp.st.prd.{a43}
Dropbox|sl.u.{b140}
Duffel|duffel_live_{b43}
Dynatrace|dt0c01.{324}.{364}
E2B|e2b_{h40}
EasyPost|EZAK{a54}
ElevenLabs|sk_{h48}
Fastly|{b32}
Figma|figd_{b40}
Fireworks AI|fw_{a24}
Firecrawl|fc-{h32}
Flutterwave|FLWSECK_TEST-{h32}-X
Fly.io|fm2_lJPECAAAAAAA{B180}
Frame.io|fio-u-{b64}
GitHub|ghp_{a36}
GitHub|gho_{a36}
GitHub|ghu_{a36}
GitHub|ghs_{a36}
GitHub|ghr_{a76}
GitHub|github_pat_11{u20}_{a59}
GitHub|ghs_{d7}_eyJ{b60}.eyJ{b250}.{b86}
GitLab|glpat-{b20}
GitLab|glpat-{b27}.0{l1}.0{l1}{l7}
GitLab|gldt-{b20}
GitLab|glrt-{b20}
GitLab|glrtr-{b20}
GitLab|glcbt-{h2}_{b20}
GitLab|glptt-{h40}
GitLab|gloas-{h64}
GitLab|glsoat-{b20}
GitLab|glimt-{b25}
GitLab|glagent-{b50}
GitLab|glwt-{b20}
GitLab|GR1348941{b20}
Google API|AIza{b35}
Google Gemini|AQ.Ab8R{b46}
Google OAuth|ya29.a0{b160}
Google OAuth|GOCSPX-{b28}
Grafana|glsa_{a32}_{h8}
Grafana|glc_eyJvIjoi{a120}
Groq|gsk_{a52}
Harness|pat.{b22}.{h24}.{a20}
HashiCorp Vault|hvs.CAES{b90}
HashiCorp Vault|hvb.AAAA{b140}
Heroku|HRKU-AA{b58}
Honeycomb|hcaik_01{l56}
HubSpot|pat-na1-{uuid}
HubSpot|pat-eu1-{uuid}
Hugging Face|hf_{a34}
Hugging Face|api_org_{a34}
Infracost|ico-{a32}
Infisical|st.{uuid}.{h32}.{h32}
Intra42|s-s4t2ud-{h64}
Jina AI|jina_{h32}{b28}
JWT|eyJhbGciOiJIUzI1NiJ9.eyJ{b40}.{b43}
Langfuse|sk-lf-{uuid}
LangSmith|lsv2_pt_{h32}_{h10}
LangSmith|lsv2_sk_{h32}_{h10}
LaunchDarkly|sdk-{uuid}
LaunchDarkly|api-{uuid}
Letta|sk-let-{a64}
Linear|lin_api_{a40}
Linear|lin_oauth_{h64}
Mailchimp|{h32}-us12
Mailgun|key-{h32}
Mailgun|{h32}-{h8}-{h8}
Mapbox|sk.eyJ1Ijoi{b60}.{b22}
Maxmind|{a6}_{a29}_mmk
Mem0|m0-{a40}
MessageBird|live_{a25}
Microsoft Teams webhook|https://acme.webhook.office.com/webhookb2/{uuid}@{uuid}/IncomingWebhook/{h32}/{uuid}
MongoDB Atlas|mdb_sa_sk_{b40}
Neon|napi_{l64}
Netlify|nfp_{a36}
New Relic|NRAK-{u27}
New Relic|NRII-{b32}
New Relic|{h36}NRAL
Notion|ntn_{d11}{a35}
Notion|secret_{a43}
npm|npm_{a36}
Nostr|nsec1{e58}
NuGet|oy2{l43}
NVIDIA|nvapi-{b64}
Octopus Deploy|API-{u32}
OpenAI|sk-proj-{b74}T3BlbkFJ{b74}
OpenAI|sk-{a20}T3BlbkFJ{a20}
OpenAI|sk-svcacct-{b74}T3BlbkFJ{b74}
OpenAI|sk-admin-{b58}T3BlbkFJ{b58}
OpenRouter|sk-or-v1-{h64}
OpenShift|sha256~{b43}
PagerDuty|u+{b18}
Paddle|pdl_live_apikey_01{l24}_{a22}_{a3}
Perplexity|pplx-{a48}
Pinecone|pcsk_{a6}_{a60}
Plaid|access-production-{uuid}
PlanetScale|pscale_tkn_{b43}
PlanetScale|pscale_pw_{b43}
Polar|polar_oat_{a43}
PostHog|phx_{a43}
Postman|PMAK-{h24}-{h34}
Prefect|pnu_{a36}
Pulumi|pul-{h40}
PyPI|pypi-AgEIcHlwaS5vcmc{b150}
RapidAPI|{h10}msh{h15}p1{h6}jsn{h12}
Razorpay|rzp_live_{a14}
ReadMe|rdme_{l70}
Render|rnd_{a28}
Replicate|r8_{a37}
Resend|re_{a8}_{a24}
RubyGems|rubygems_{h48}
RunPod|rpa_{u40}{s2}
Scalingo|tk-us-{b48}
Scaleway|SCW{u17}
SendGrid|SG.{b22}.{b43}
Sentry|sntryu_{h64}
Sentry|sntrys_eyJpYXQiOjE3{B140}_{B43}
Settlemint|sm_pat_{a16}
Shippo|shippo_live_{h40}
Shopify|shpat_{h32}
Shopify|shpss_{h32}
Slack|xoxb-{d12}-{d13}-{a24}
Slack|xoxp-{d12}-{d12}-{d13}-{h32}
Slack|xapp-1-A{u10}-{d13}-{h64}
Slack|xoxe.xoxp-1-{a160}
Slack|xoxc-{d12}-{d12}-{d13}-{h64}
Slack webhook|https://hooks.slack.com/services/T{u10}/B{u10}/{a24}
Snyk|snyk_uat.{h8}.eyJ{b60}.{b40}
SonarQube|sqp_{h40}
SonarQube|squ_{h40}
Sourcegraph|sgp_{h16}_{h40}
Square|sq0atp-{b22}
Square|EAAA{b60}
Stripe|sk_live_51{a97}
Stripe|rk_live_{a24}
Stripe|sk_test_{a24}
Stripe webhook|whsec_{a32}
Supabase|sbp_{h40}
Supabase|sb_secret_{b22}_{b8}
Supermemory|sm_{a22}_{a48}
Tailscale|tskey-auth-{a12}CNTRL-{a24}
Tavily|tvly-dev-{a32}
Telegram|{d10}:AA{b33}
Tencent Cloud|AKID{a32}
Terraform|{a14}.atlasv1.{b67}
Together AI|tgp_v1_{b43}
Twilio|SK{h32}
Twitch|oauth:{l30}
Typeform|tfp_{b44}_{a14}
Unkey|unkey_{a24}
Vercel|vcp_{a56}
Vercel|vck_{a56}
Vercel Blob|vercel_blob_rw_{a16}_{a30}
Volcengine|AKLT{a43}
Voyage AI|pa-{b43}
Weights & Biases|wandb_v1_{b77}
WooCommerce|ck_{h40}
WooCommerce|cs_{h40}
xAI|xai-{a80}
Yandex Cloud|t1.{b60}.{b86}
Yandex Cloud|AQVN{b36}
Yandex Cloud|y0__{b52}
Zep|z_1dWlkIjoi{a160}.{b30}
Zuplo|zpka_{h32}_{h8}
""".strip().splitlines()
)
NAMELESS = {"Fastly", "Mailgun", "Mailchimp", "PagerDuty", "Voyage AI", "Asana"}
"""Vendors with a form that nothing tells from other text; planted beside the vendor's own variable or header only."""


def filled(form: str, rng: random.Random) -> str:
    """The form with its holes filled at random."""
    form = form.replace("{uuid}", UUID)
    return _HOLE.sub(lambda m: "".join(rng.choices(ALPHABETS[m[1]], k=int(m[2]))), form)
