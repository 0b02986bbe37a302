// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogLinux

extension EndToEnd {
    @Suite("Alerts of a real Prometheus")
    struct AlertTests {
        private static let programs = ["prometheus", "promtool", "prometheus-alertmanager", "python3"]

        private static let webhook = """
            import http.server, sys
            class Handler(http.server.BaseHTTPRequestHandler):
                def do_POST(self):
                    print(self.rfile.read(int(self.headers['Content-Length'])).decode(), flush=True)
                    self.send_response(200)
                    self.end_headers()
                def log_message(self, *arguments):
                    pass
            server = http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Handler)
            print('listening', flush=True)
            server.serve_forever()
            """

        @Test(
            "A hang triggers an alert at a webhook, with the app, the host and the cause",
            .enabled(
                if: programs.allSatisfy { isInstalled($0) },
                "needs prometheus and alertmanager (Debian: prometheus, prometheus-alertmanager)"))
        func hang() throws {
            let scratch = try Scratch()
            let ports = (metrics: try freePort(), alerts: try freePort(), webhook: try freePort())
            let hook = try Program(["python3", "-c", Self.webhook, "\(ports.webhook)"])
            try hook.line("listening")
            try scratch.write(
                """
                route: {receiver: pager, group_by: [alertname, app], group_wait: 0s}
                receivers:
                  - name: pager
                    webhook_configs: [{url: 'http://127.0.0.1:\(ports.webhook)/'}]

                """, to: "alertmanager.yml")
            let alerts = try Program([
                "prometheus-alertmanager", "--config.file=\(scratch["alertmanager.yml"])",
                "--storage.path=\(scratch["alerts"])", "--web.listen-address=127.0.0.1:\(ports.alerts)",
                "--cluster.listen-address=",
            ])
            try alerts.line("Listening on", on: .errors)
            let root = "\(#filePath)".split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
            let prometheus = try PrometheusServer(
                """
                global: {scrape_interval: 500ms, evaluation_interval: 1s}
                rule_files: ['\(root)/packaging/prometheus/rules.yml']
                alerting: {alertmanagers: [{static_configs: [{targets: ['127.0.0.1:\(ports.alerts)']}]}]}
                scrape_configs:
                  - job_name: watchdogd
                    static_configs: [{targets: ['127.0.0.1:\(ports.metrics)'], labels: {instance: web-1}}]

                """, in: scratch)
            // Prometheus must have scraped the counter as 0, so the app is launched on request.
            let service = try Service(
                [
                    "editor": """
                    [App]
                    Enabled=no
                    ExecStart=\(quoted(product("HangMain"))) --how sleep --after 1
                    [Watchdog]
                    Update=600ms
                    Ping=50ms
                    [Restart]
                    Policy=never

                    """
                ], options: ["--metrics", "\(ports.metrics)"], scratch: scratch)
            try #require(eventually { isScraped(prometheus) }, "\(prometheus.program.text(.errors))")
            #expect(try service.command("launch", "editor").code == 0)
            let alert = try hook.line("WatchdogdAppKilled")
            for part in [
                #""app":"editor""#, #""instance":"web-1""#, #""event":"scene-update""#, #""severity":"page""#,
                "editor on web-1 did not answer and was killed",
            ] {
                #expect(alert.contains(part), "\(alert)")
            }
            #expect(try service.end() == 0)
        }

        @Test(
            "A run that is killed and started again triggers the alert, as a container does with its volume",
            .enabled(if: PrometheusServer.isInstalled, "needs prometheus (Debian: prometheus)"))
        func restartedRun() throws {
            let scratch = try Scratch()
            let port = try freePort()
            let root = "\(#filePath)".split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
            let prometheus = try PrometheusServer(
                """
                global: {scrape_interval: 500ms, evaluation_interval: 1s}
                rule_files: ['\(root)/packaging/prometheus/rules.yml']
                scrape_configs:
                  - job_name: watchdogd
                    static_configs: [{targets: ['127.0.0.1:\(port)'], labels: {instance: shop-1}}]

                """, in: scratch)
            let options = [
                "--name", "editor", "--metrics", "\(port)", "--keep-counts", scratch["counts"], "--ping", "50ms",
            ]
            // The program hangs when it has been scraped: its counts must have been 0 before.
            let start = scratch["start"]
            let script =
                "while [ ! -e \(shellWord(start)) ]; do sleep 0.05; done; exec \(shellWord(product("HangMain")))"
            let killed = try Supervision(
                options + ["--launch", "1h", "--update", "600ms"],
                ["/bin/sh", "-c", "\(script) --how sleep --after 0"], scratch: scratch)
            try #require(eventually { isScraped(prometheus) }, "\(prometheus.program.text(.errors))")
            try scratch.write("", to: "start")
            #expect(try killed.end().exitCode == 137)
            // Only the counts outlive a container.
            let restarted = try Supervision(
                unhurried(options + ["--readiness", "none"]), ["/bin/sleep", "600"])
            #expect(
                eventually {
                    answer(of: prometheus, to: "ALERTS%7Balertstate%3D%22firing%22%7D").contains(#""app":"editor""#)
                },
                "no alert: \(answer(of: prometheus, to: "watchdogd_app_incidents_total"))")
            #expect(answer(of: prometheus, to: "ALERTS%7Balertstate%3D%22firing%22%7D").contains("WatchdogdAppKilled"))
            try restarted.send(SIGTERM)
            #expect(try restarted.end().exitCode == 143)
        }

        /// What Prometheus answers to a query; empty if it does not.
        private func answer(of prometheus: PrometheusServer, to query: String) -> String {
            guard let address = try? WebAddress(parsing: prometheus.url),
                let answer = try? WebRequest(to: address).get("/api/v1/query?query=\(query)")
            else { return "" }
            return String(decoding: answer.body, as: UTF8.self)
        }

        /// Whether Prometheus has scraped the app's counter.
        private func isScraped(_ prometheus: PrometheusServer) -> Bool {
            answer(of: prometheus, to: "watchdogd_app_incidents_total%7Baction%3D%22killed%22%7D")
                .contains(#""app":"editor""#)
        }
    }
}
