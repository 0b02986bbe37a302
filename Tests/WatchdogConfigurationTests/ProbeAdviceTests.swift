// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogConfiguration

@Suite("The suggested probe for an app")
struct ProbeAdviceTests {
    @Test(
        "is guessed from the command line",
        arguments: [
            ("redis-server --port 7801", "tcp:127.0.0.1:7801"),
            ("/usr/bin/redis-server /etc/redis.conf", "tcp:127.0.0.1:6379"),
            ("shop --port=8080", "tcp:127.0.0.1:8080"), ("shop --listen :9000", "tcp:127.0.0.1:9000"),
            ("shop --bind 10.0.0.5:80", "tcp:10.0.0.5:80"), ("shop --bind 0.0.0.0 --port 81", "tcp:127.0.0.1:81"),
            ("shop --addr [::1]:82", "tcp:[::1]:82"), ("shop --addr db.internal:83", "tcp:127.0.0.1:83"),
            ("gunicorn -b unix:/run/shop.sock app:app", "unix:/run/shop.sock"),
            ("memcached -p 11212", "tcp:127.0.0.1:11212"),
            ("python3 -m http.server", "tcp:127.0.0.1:8000"), ("python3 -m http.server 8081", "tcp:127.0.0.1:8081"),
            ("python3 -m uvicorn app:app --port 8082", "tcp:127.0.0.1:8082"),
            ("php -S localhost:8083", "tcp:127.0.0.1:8083"),
        ])
    func guesses(_ command: String, _ expected: String) throws {
        let words = command.split(separator: " ").map(String.init)
        #expect(ProbeAdvice.target(words, .automatic) == expected)
        // The suggestion is a valid setting.
        let probe = try ProbeSettings(parsing: expected)
        #expect(probe.threshold == 3)
    }

    @Test(
        "is not guessed without evidence",
        arguments: [
            "", "shop", "shop --port", "shop --port 0", "shop --port 65536", "shop --port $PORT", "tool -p 80",
            "python3 app.py", "sh -c nginx", "shop --bind 127.0.0.1",
        ])
    func unknown(_ command: String) {
        let words = command.split(separator: " ").map(String.init)
        #expect(ProbeAdvice.target(words, .automatic) == nil)
        #expect(ProbeAdvice.setting(words, .automatic).hasPrefix("Probe=tcp:ADDR"))
    }

    @Test("is the address that the app is ready on, whatever its arguments")
    func listening() {
        let words = ["shop", "--port", "81"]
        #expect(ProbeAdvice.setting(words, .listening(.tcp(.any, port: 80))) == "Probe=tcp:127.0.0.1:80")
        #expect(ProbeAdvice.setting(words, .listening(.unix(path: "/run/a"))) == "Probe=unix:/run/a")
    }
}
