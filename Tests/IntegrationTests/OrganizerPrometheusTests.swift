// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogBase
import WatchdogLinux

extension EndToEnd {
    @Suite("watchdogd organizer with Prometheus")
    struct OrganizerPrometheusTests {
        private struct Reply: Decodable {
            struct App: Decodable {
                struct Version: Decodable {
                    struct Rate: Decodable {
                        let secondsPerHour: Double
                        let hours: Double
                    }

                    struct Launches: Decodable {
                        let count: Int
                        let p50USec: Int
                        let p90USec: Int
                    }

                    let version: String
                    let isLatest: Bool
                    let incidents: Int
                    let hangRate: Rate?
                    let launches: Launches?
                }

                let app: String
                let versions: [Version]
            }

            let apps: [App]
        }

        private func organizer(
            _ arguments: [String]
        ) throws -> (code: Int32?, output: String, errors: String) {
            let program = try Program([product("watchdogd"), "organizer"] + arguments)
            let code = try program.end().code
            return (code, program.text(.output), program.text(.errors))
        }

        /// The recording rules' results: version 1.0 on web-1 for three hours, version 1.1 on web-2 for the last one.
        private func samples() -> String {
            series("hang_seconds", 0.01, 0.25) + series("running_seconds", 1, 0.5)
                // One launch an hour, half of them in less than 0.4 s; two an hour, all in more than 1 s.
                + series("launch_duration_seconds_bucket", 0.5 / 3_600, 0, within: "0.4")
                + series("launch_duration_seconds_bucket", 1.0 / 3_600, 0, within: "1.0")
                + series("launch_duration_seconds_bucket", 1.0 / 3_600, 2.0 / 3_600, within: "2.5")
                + series("launch_duration_seconds_bucket", 1.0 / 3_600, 2.0 / 3_600, within: "+Inf") + "# EOF\n"
        }

        private func series(_ name: String, _ old: Double, _ new: Double, within bound: String? = nil) -> String {
            let now = WallTime.now().seconds
            let more = bound.map { #",le="\#($0)""# } ?? ""
            var text = ""
            for (version, host, value, age) in [("1.0", "web-1", old, 180), ("1.1", "web-2:9817", new, 60)] {
                for minute in (0...Int64(age)).reversed() {
                    text += #"app_version_instance:watchdogd_\#(name):rate1h{app="editor",version="\#(version)","#
                    text += #"instance="\#(host)"\#(more)} \#(value) \#(now - minute * 60)"# + "\n"
                }
            }
            return text
        }

        @Test(
            "The recording rules of a real Prometheus yield the hang rates and launch times of all hosts",
            .enabled(if: PrometheusServer.isInstalled, "needs prometheus and promtool (Debian: prometheus)"))
        func rates() throws {
            let scratch = try Scratch()
            let server = try PrometheusServer(samples: samples(), in: scratch)
            let answer = try organizer(["--prometheus", server.url + "/", "--since", "2h", "--json"])
            try #require(answer.code == 0 && answer.errors == "", "\(answer.errors)")
            let app = try #require(try JSONDecoder().decode(Reply.self, from: Data(answer.output.utf8)).apps.first)
            #expect(app.app == "editor" && app.versions.map(\.version) == ["1.0", "1.1"])
            #expect(app.versions.map(\.isLatest) == [false, true])
            let (former, later) = (try #require(app.versions[0].hangRate), try #require(app.versions[1].hangRate))
            #expect(abs(former.secondsPerHour - 36) < 0.5 && abs(former.hours - 2) < 0.1, "\(former)")
            // A value counts for up to five minutes beyond the last one, which is Prometheus' look-back.
            #expect(abs(later.secondsPerHour - 1_800) < 20 && abs(later.hours - 0.5) < 0.1, "\(later)")
            let launches = (try #require(app.versions[0].launches), try #require(app.versions[1].launches))
            #expect(launches.0.count == 2 && launches.1.count == 2, "\(launches)")
            #expect(abs(launches.0.p50USec - 400_000) < 1_000 && abs(launches.0.p90USec - 880_000) < 1_000)
            #expect(abs(launches.1.p50USec - 1_750_000) < 1_000 && abs(launches.1.p90USec - 2_350_000) < 1_000)
            for host in ["web-2", "WEB-2:9817"] {
                let one = try organizer(["--prometheus", server.url, "--since", "2h", "--host", host])
                #expect(one.output.contains("1.1") && !one.output.contains("1.0 "), "\(one)")
            }
            #expect(try organizer(["--prometheus", server.url, "--app", "other"]).output == "no incidents\n")
            // Beside crash logs, which --prometheus alone would not read.
            try scratch.write(
                #"{"app":"editor","version":"1.1","time":"2026-11-01T00:00:00Z","event":"scene-update","#
                    + #""cause":"c","signature":"s","incident":"A"}"# + "\n", to: "lines")
            let both = try organizer(["--prometheus", server.url, "--ndjson", scratch["lines"], "--since", "30d"])
            #expect(both.code == 0 && both.output.contains("s/h"), "\(both)")
        }

        /// A server that answers every request in the same way.
        private static let hostile = """
            import socket, sys
            listener = socket.create_server(('127.0.0.1', int(sys.argv[1])))
            print('listening', flush=True)
            vector = b'{"status":"success","data":{"resultType":"vector","result":['
            evil = b'{"metric":{"app":"\\\\u001b[31m' + b'x' * 5000 + b'","version":"1\\\\n"},"value":[1,"%s"]}'
            answers = {
                'busy': b'HTTP/1.1 503 Service Unavailable\\r\\n\\r\\nstarting up',
                'moved': b'HTTP/1.1 302 Found\\r\\nLocation: http://127.0.0.1:1/\\r\\n\\r\\n',
                'other': b'HTTP/1.1 200 OK\\r\\n\\r\\n<html>',
                'cut': b'HTTP/1.1 200 OK\\r\\nContent-Length: 100\\r\\n\\r\\n{',
                'query': b'HTTP/1.1 400 Bad Request\\r\\n\\r\\n'
                    b'{"status":"error","errorType":"bad_data","error":"evil\\\\u001b[31m\\\\nline"}',
                'banner': b'SSH-2.0-OpenSSH\\r\\n',
                'nothing': b'',
                'deep': b'HTTP/1.1 200 OK\\r\\n\\r\\n' + b'[' * 1000000,
                'flood': b'HTTP/1.1 200 OK\\r\\n\\r\\n' + b' ' * (20 << 20),
                'nan': b'HTTP/1.1 200 OK\\r\\n\\r\\n' + vector + evil % b'NaN' + b']}}',
                'names': b'HTTP/1.1 200 OK\\r\\n\\r\\n' + vector + evil % b'1e3' + b']}}',
            }
            while True:
                client, _ = listener.accept()
                client.recv(65536)
                try:
                    client.sendall(answers[sys.argv[2]])
                except OSError:
                    pass
                client.close()
            """

        @Test(
            "A server with an unexpected answer is one clear error",
            .enabled(if: isInstalled("python3"), "needs python3"),
            arguments: [
                ("busy", "HTTP status 503"), ("moved", "HTTP status 302"), ("other", "is not Prometheus"),
                ("cut", "cut its answer off"), ("query", "rejects the query (HTTP status 400): bad_data: evil"),
                ("banner", "does not speak HTTP"), ("nothing", "closed the connection without an answer"),
                ("deep", "is not Prometheus"), ("flood", "more than 16 MiB"), ("nan", ""), ("names", ""),
            ])
        func hostile(_ manner: String, _ reason: String) throws {
            let port = try freePort()
            let server = try Program(["python3", "-c", Self.hostile, "\(port)", manner])
            try server.line("listening")
            let answer = try organizer(["--prometheus", "http://localhost:\(port)"])
            #expect(answer.code == (reason.isEmpty ? 0 : 69))
            let lines = answer.errors.split(separator: "\n")
            #expect(lines.count == (reason.isEmpty ? 0 : 1), "\(answer.errors)")
            #expect(reason.isEmpty || answer.errors.contains("--prometheus: http://localhost:\(port) "))
            #expect(reason.isEmpty || answer.errors.contains(reason), "\(answer.errors)")
            #expect(!(answer.errors + answer.output).contains("\u{1b}"))
            #expect(answer.output.utf8.count < 4_096)
        }

        @Test("A missing server and invalid addresses are errors")
        func unreachable() throws {
            let port = try freePort()
            let closed = try organizer(["--prometheus", "http://127.0.0.1:\(port)"])
            #expect(closed.code == 69 && closed.output == "")
            #expect(closed.errors.contains("cannot be reached: Connection refused (ECONNREFUSED)"), "\(closed.errors)")
            // As long as this machine's resolver tries.
            let unknown = try organizer(["--prometheus", "http://no-such-host.invalid"])
            #expect(unknown.code == 69)
            for address in ["", "localhost:9090", "https://x", "http://", "http://h:0", "http://h/?q", "http://u@h"] {
                let answer = try organizer(["--prometheus", address])
                #expect(answer.code == 64 && answer.errors.contains("--prometheus"), "\(address): \(answer.errors)")
            }
        }
    }
}
