// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Redaction")
struct RedactionTests {
    @Test(
        "Secrets in a command line are replaced",
        arguments: [
            (["--password=hunter2"], ["--password=<redacted>"]),
            (["--token", "hunter2", "run"], ["--token", "<redacted>", "run"]),
            (["--api-key", "abc", "x"], ["--api-key", "<redacted>", "x"]),
            (["--auth", "--port", "80"], ["--auth", "--port", "80"]),
            (["DB_PASSWORD=x", "app"], ["DB_PASSWORD=<redacted>", "app"]),
            (["-Ddb.password=x"], ["-Ddb.password=<redacted>"]),
            (["--define=db.secret=x"], ["--define=db.secret=<redacted>"]),
            (["-u", "maria:hunter2"], ["-u", "maria:<redacted>"]),
            (["-u", "maria"], ["-u", "maria"]),
            (["-H", "Authorization: Bearer abc"], ["-H", "Authorization: <redacted>"]),
            (["-H", "X-Api-Key: abc"], ["-H", "X-Api-Key: <redacted>"]),
            (["-H", "Cookie: a=b; c=d"], ["-H", "Cookie: <redacted>"]),
            (["bearer", "abc"], ["bearer", "<redacted>"]),
            (
                ["sh", "-c", "curl -H 'Authorization: Bearer abc' --password x  http://u:p@h/"],
                [
                    "sh", "-c",
                    "curl -H 'Authorization: <redacted> <redacted> --password <redacted>  http://<redacted>@h/",
                ]
            ),
            (["postgres://maria:hunter2@db:5432/app"], ["postgres://<redacted>@db:5432/app"]),
            (["postgres://maria:hun/ter2@db/app"], ["postgres://<redacted>@db/app"]),
            (["https://ghp_abc@github.com/x"], ["https://<redacted>@github.com/x"]),
            (["https://h/x?page=2&token=abc&lang=de"], ["https://h/x?page=2&token=<redacted>&lang=de"]),
            (["--url=redis://:hunter2@h:6379"], ["--url=redis://<redacted>@h:6379"]),
            (["Server=h;Password=x;Port=1"], ["Server=h;Password=<redacted>;Port=1"]),
            (["0123456789abcdef0123456789abcdef"], ["<redacted>"]),
            (["--session", "dGhpc0lzQTRzZWNyZXQ5OTk="], ["--session", "<redacted>"]),
            (["ghp_16C7e42F292c6912E7710c838347Ae178B4a"], ["<redacted>"]),
            (["eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2ln"], ["<redacted>"]),
            (["--password='two words'"], ["--password=<redacted>"]),
            (["host=h password='a b' dbname=d"], ["host=h password=<redacted> dbname=d"]),
            (["token = hunter2"], ["token = <redacted>"]),
            (["password = \"two words\" next"], ["password = <redacted> <redacted> next"]),
            ([#"{"password":"hunter2","port":80}"#], [#"{"password":<redacted>,"port":80}"#]),
            ([#"{"password": "hunter2", "port": 80}"#], [#"{"password": <redacted>"#]),
            (["-H", "Authorization:Bearer abc"], ["-H", "Authorization:<redacted> <redacted>"]),
            (["X-Auth-Token:abc"], ["X-Auth-Token:<redacted>"]),
            (["DB_PASS=x", "pw=y", "--pin=1234"], ["DB_PASS=<redacted>", "pw=<redacted>", "--pin=<redacted>"]),
            (["https://a.blob/c?sv=2020&sig=abc&se=2021"], ["https://a.blob/c?sv=2020&sig=<redacted>&se=2021"]),
            (["postgres://u:p%40ss@h1:5432,h2:5432/db"], ["postgres://<redacted>@h1:5432,h2:5432/db"]),
            (["jdbc:oracle:thin:maria/hunter2@h:1521:x"], ["<redacted>@h:1521:x"]),
            (["curl", "-uadmin:hunter2", "h"], ["curl", "-uadmin:<redacted>", "h"]),
            (["curl", "--user=admin:hunter2"], ["curl", "--user=admin:<redacted>"]),
            (["/usr/bin/mysql", "-phunter2", "-p", "app"], ["/usr/bin/mysql", "-p<redacted>", "-p", "app"]),
            (["sshpass", "-p", "hunter2", "ssh"], ["sshpass", "-p", "<redacted>", "ssh"]),
            (["sh", "-c", "redis-cli -a hunter2 ping"], ["sh", "-c", "redis-cli -a <redacted> ping"]),
            (["redis-server", "--requirepass", "hunter2"], ["redis-server", "--requirepass", "<redacted>"]),
            (["AKIAIOSFODNN7EXAMPLE"], ["<redacted>"]),
            (["wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"], ["<redacted>"]),
            (["sk-proj-abc123def456ghi789"], ["<redacted>"]),
            (["npm_abcdefghijklmnopqrstuvwxyz0123456789"], ["<redacted>"]),
            (["github_pat_11abcdefg0abcdefghijkl"], ["<redacted>"]),
            (["-----BEGIN RSA PRIVATE KEY-----\nMII"], ["<redacted>"]),
        ]
    )
    func secretsAreReplaced(arguments: [String], redacted: [String]) {
        #expect(Redaction.arguments(arguments) == redacted)
    }

    @Test(
        "Text that helps to find the cause stays",
        arguments: [
            "/usr/bin/hang-main", "--port=8080", "-v", "http://localhost:8080/health", "--config=/etc/app/app.conf",
            "2026-11-21-002022", "x86_64-unknown-linux-gnu", "libswiftFoundationEssentials.so", "--threads=16",
            "/var/lib/docker/overlay2/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef/merged",
            "/nix/store/3lg4hsbm6b1dbwp3mwhxh2hzsvc8ab5k-hello-2.12/bin/hello", "user@example.org", "a:b", "",
            "550e8400-e29b-41d4-a716-446655440000", "com.example.LongNameOfSomeApplication2", "ssh://host/path",
            "--volume=/srv/keys:/data", "nginx:1.25", "compass=north", "--bypass=1", "sk-1",
            "usr/lib/python3/dist-packages/numpy/core.py",
            "mkdir -p /srv/app", "10.0.0.1:8080",
        ]
    )
    func usefulArgumentsStay(argument: String) {
        #expect(Redaction.arguments([argument]) == [argument])
    }

    @Test("Secrets in the environment are replaced, and names stay")
    func environment() {
        let redacted = Redaction.environment([
            "AWS_SECRET_ACCESS_KEY": "x", "MYSQL_PWD": "x", "SENTRY_DSN": "https://abc@sentry.io/1", "EMPTY_TOKEN": "",
            "DATABASE_URL": "mysql://root:x@db/app", "PWD": "/home/maria", "PATH": "/usr/bin:/bin",
            "INVOCATION_ID": "0123456789abcdef0123456789abcdef", "LANG": "C.UTF-8",
            "SESSION": "0123456789abcdef0123456789abcdef",
        ])
        #expect(
            redacted == [
                "AWS_SECRET_ACCESS_KEY": "<redacted>", "MYSQL_PWD": "<redacted>", "SENTRY_DSN": "<redacted>",
                "EMPTY_TOKEN": "", "DATABASE_URL": "mysql://<redacted>@db/app", "PWD": "/home/maria",
                "PATH": "/usr/bin:/bin", "INVOCATION_ID": "0123456789abcdef0123456789abcdef", "LANG": "C.UTF-8",
                "SESSION": "<redacted>",
            ])
    }

    @Test("Long chains of pairs and words do not exhaust the stack")
    func hostileLengths() {
        let chain = String(repeating: "a=", count: 50_000)
        #expect(Redaction.value(chain).count <= chain.count + Redaction.mark.count)
        #expect(Redaction.value(String(repeating: "&", count: 100_000)).count == 100_000)
        #expect(Redaction.value(String(repeating: "x://", count: 20_000)).isEmpty == false)
    }

    @Test("Random text is distinguished from words with numbers")
    func randomText() {
        var generator = SeededGenerator(seed: 7)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        let tokens = (0..<2_000).map { _ in
            String((0..<32).map { _ in alphabet.randomElement(using: &generator) ?? "x" })
        }
        let missed = tokens.count { !RandomText.isLikely($0[...]) }
        #expect(missed * 100 <= tokens.count, "\(missed) of \(tokens.count) random tokens pass")
    }
}
