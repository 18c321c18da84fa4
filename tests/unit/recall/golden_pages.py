"""Pages of invented projects, and what people type to find them. Written for this test.

More of both lie beside it as text: `golden_pages.txt` (name | title | text) and `golden_queries.txt` (query => name).
The queries were written as somebody would ask who has forgotten how the page says it.
"""

from pathlib import Path

_HERE = Path(__file__).parent


def _rows(name: str, separator: str) -> list[list[str]]:
    return [line.split(separator) for line in (_HERE / name).read_text(encoding="utf-8").splitlines()]


PAGES: dict[str, tuple[str, str]] = {
    "timeout": ("Why the HTTP timeout is 30 seconds", "The upstream billing API answers slowly at month end. With 10 seconds a third of the invoices failed, so src/net/http_client.py waits 30."),
    "retry": ("Retries use a jittered backoff", "Requests that fail with 429 or 503 are tried again up to five times. The pause doubles and gets random jitter, else all workers come back in the same second."),
    "pool": ("Database connection pool is limited to 20", "PostgreSQL refuses more than 100 connections and we run four workers. See max_pool_size in config/database.yml."),
    "migrate": ("How to run a schema migration", "Stop the workers, take a dump, run `make migrate`, start the workers. Never run it while the nightly export is on."),
    "export": ("The nightly export", "A cron job at 02:30 writes all orders as CSV to the archive bucket. It holds a read lock for about ten minutes."),
    "pdf": ("PDF rendering moved to a worker", "Rendering a long invoice took 900 MB and killed the web process. The class PdfRenderer now lives in workers/pdf_renderer.py and gets one job at a time."),
    "fonts": ("Missing glyphs in Chinese invoices", "The container had no CJK fonts. The package fonts-noto-cjk is installed in the Dockerfile; without it every character was an empty box."),
    "auth": ("Session tokens expire after 12 hours", "Longer tokens were found in a leaked log. refreshToken() in auth/session.ts renews them silently while somebody works."),
    "oauth": ("OAuth redirect must match exactly", "A trailing slash in the redirect URI gives invalid_request. The registered address has none."),
    "cors": ("CORS errors on staging", "The proxy drops the Origin header. nginx needs proxy_set_header Origin $http_origin; the browser then stops complaining."),
    "flaky": ("Flaky test: test_reminder_is_sent", "It compared local time with UTC and failed between midnight and one o'clock. The clock is injected now."),
    "ci": ("CI runs out of disk", "Old layers fill the runner. `docker builder prune` runs before every build since ADR-016."),
    "adr16": ("ADR-016: build cache is pruned", "Accepted. We prune the builder cache before each build instead of buying bigger runners."),
    "adr17": ("ADR-017: no ORM in the reporting service", "Accepted. Reports are plain SQL, since the generated queries took minutes."),
    "cve": ("CVE-2026-1234 in the image parser", "Fixed by going to libpix 4.2.1. Uploads before the fix were checked; none was harmful."),
    "locale": ("Amounts are shown with the wrong separator", "German customers saw 1.234,50 as 1,234.50. formatAmount() takes the locale from the account, not from the server."),
    "queue": ("Queue workers stop silently", "A worker whose Redis connection was reset waits for ever. The health check now looks at the age of the last job."),
    "redis": ("Redis evicts sessions", "maxmemory-policy was allkeys-lru, so sessions went first. It is volatile-ttl now."),
    "deploy": ("Deploying on Fridays", "We don't. The rule came after the outage of the payment page in spring."),
    "outage": ("Outage of the payment page", "An expired certificate of the provider. Monitoring looked at our own only; it watches both since."),
    "lint": ("Lint rules that are off", "E501 is off in generated files. Everything else is an error: run with --error-on-warnings."),
    "windows": ("Paths on Windows", r"Long paths below C:\Users fail in the installer. We call the API with the \\?\ prefix."),
    "zh": ("飞书机器人的配置", "我们把飞书的插件配置放在设置页面里，令牌保存在服务器上，每九十天更换一次。"),
    "ja": ("バックアップの手順", "毎晩データベースのバックアップを取り、週に一度だけ復元を試す。失敗したら担当者に通知する。"),
    "de": ("Rechnungsnummern dürfen keine Lücken haben", "Das Finanzamt verlangt fortlaufende Nummern. Gelöschte Entwürfe geben ihre Nummer zurück."),
    "search": ("Customer search ignores accents", "Müller is found by Mueller and Muller: both are indexed by foldName() in search/normalise.go."),
    "feature": ("Feature flags", "Flags live in the table feature_flag and are cached for one minute. new_checkout is on for 20 % of the accounts."),
    "checkout": ("New checkout, rollout plan", "First employees, then 20 %, then all. Rolled back once, because the voucher field was missing on phones."),
    "mail": ("Mails land in spam", "SPF lacked the address of the new relay. DKIM was right all the time."),
    "logs": ("Logs must not contain card numbers", "mask_card() in logging/filters.py replaces all but the last four digits before anything is written."),
}  # fmt: skip

PAGES |= {name: (title, text) for name, title, text in _rows("golden_pages.txt", " | ")}

QUERIES: tuple[tuple[str, str], ...] = (
    *((query, name) for query, name in _rows("golden_queries.txt", " => ")),
    ("http timeout", "timeout"), ("why do we wait 30 seconds", "timeout"), ("http_client.py", "timeout"),
    ("backoff jitter", "retry"), ("what happens on a 503", "retry"), ("429", "retry"),
    ("max_pool_size", "pool"), ("how many database connections", "pool"), ("postgres pool", "pool"),
    ("run migration", "migrate"), ("make migrate", "migrate"), ("schema migrations", "migrate"),
    ("nightly export", "export"), ("when does the csv export run", "export"), ("02:30", "export"),
    ("PdfRenderer", "pdf"), ("pdf renderer memory", "pdf"), ("invoice rendering kills web process", "pdf"),
    ("empty boxes in chinese pdf", "fonts"), ("fonts-noto-cjk", "fonts"), ("cjk fonts docker", "fonts"),
    ("refreshToken", "auth"), ("session token expiry", "auth"), ("how long are tokens valid", "auth"),
    ("invalid_request redirect", "oauth"), ("trailing slash", "oauth"), ("CORS staging", "cors"),
    ("proxy_set_header Origin", "cors"), ("test_reminder_is_sent", "flaky"), ("test fails at midnight", "flaky"),
    ("disk full in CI", "ci"), ("docker builder prune", "ci"), ("ADR-016", "adr16"), ("ADR-017", "adr17"),
    ("why no ORM", "adr17"), ("CVE-2026-1234", "cve"), ("libpix 4.2.1", "cve"), ("formatAmount", "locale"),
    ("wrong decimal separator german", "locale"), ("worker hangs redis reset", "queue"), ("queue stops", "queue"),
    ("sessions evicted", "redis"), ("maxmemory-policy", "redis"), ("friday deploy", "deploy"),
    ("payment page down", "outage"), ("expired certificate", "outage"), ("--error-on-warnings", "lint"),
    ("E501", "lint"), (r"C:\Users", "windows"), ("long paths installer", "windows"), ("飞书", "zh"),
    ("插件配置", "zh"), ("令牌 更换", "zh"), ("飞书插件配置令牌", "zh"), ("復元", "ja"), ("データベースのバックアップ", "ja"),
    ("失敗 通知", "ja"), ("Rechnungsnummer", "de"), ("fortlaufende Nummern", "de"), ("Mueller", "search"),
    ("accent search", "search"), ("foldName", "search"), ("feature_flag", "feature"), ("new_checkout", "feature"),
    ("checkout rollback voucher", "checkout"), ("mail spam", "mail"), ("dkim spf", "mail"), ("mask card", "logs"),
    ("card numbers in logs", "logs"), ("timout billing", "timeout"), ("certifcate", "outage"), ("flag cache", "feature"),
)  # fmt: skip
