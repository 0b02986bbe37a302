// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogConfiguration
import WatchdogImport

/// Whether the real monit reads the same control file alike.
@Suite("Compared with monit", .enabled(if: Monit.isThere, "\(Monit.reason)"), .reapsChildren)
struct MonitComparisonTests {
    private static let head = "set daemon 30\ncheck process a with pidfile /run/a.pid\n"
    private static let start = "start program = \"/usr/bin/env a\"\n"

    private func settings(_ text: String) throws -> [String: String] {
        let lines = try imported(text, as: "monitrc").settings
        return Dictionary(
            lines.compactMap { line in
                line.firstIndex(of: "=").map { (String(line[..<$0]), String(line[line.index(after: $0)...])) }
            }, uniquingKeysWith: { $1 })
    }

    // MARK: - Commands

    private static let commands = [
        "start program = \"/usr/bin/env a\"", "start = \"/usr/bin/env\"", "START PROGRAM=\"/usr/bin/env A\"",
        "start program \"/usr/bin/env a 'b c' d'e f'g\"", "start \"/usr/bin/env '' 'x'y\"",
        "start program = \"/usr/bin/env\n  a # b\n c\"",
        #"start program = "/usr/bin/env a\b 'c\\d' 'e\tf' 'g\0x41h' 'i\q'""#,
        "start program = \"/usr/bin/env 'say \"x\"' ; $HOME %h *\"", "start program = \"/usr/bin/env ' x '\"",
        "start program = \"/usr/bin/env\" as uid nobody", "start program = \"/usr/bin/env\" as uid 0 and gid nogroup",
        "start program = \"/usr/bin/env\" as uid \"nobody\" gid 'daemon' with timeout 50 seconds",
        "start program = \"/usr/bin/env\"\n as uid nobody and using the gid nogroup\n timeout 7 s",
        "start program = \"/usr/bin/env a\"\nstart program = \"/usr/bin/env b\"", "start /usr/bin/env",
        "start program '/usr/bin/env'",
        "start program = '/usr/bin/env a'", "start program = /usr/bin/env", "start program =\n\"/usr/bin/env\"",
        "start program = \"/usr/bin/env 'a\"",
        "start program = \"/usr/bin/env\" timeout 5",
        "start program = \"/usr/bin/env\" timeout 5 minutes", "start program = \"/usr/bin/env\" uid", "start program",
    ]

    @Test("A command has the same words, user and time, or both reject it", arguments: commands)
    func command(line: String) throws {
        let text = Self.head + line + "\n"
        guard let theirs = try Monit.read(text)?.first(where: { $0.name == "Start program" })?.value else {
            #expect(failure(text, as: "monitrc") != nil)
            return
        }
        let result = try imported(text, as: "monitrc")
        let program = try #require(result.apps.first?.definition.configuration).program
        let words = program.command.arguments.map { $0 == "$$HOME" ? "$HOME" : $0 }
        let ours = try settings(text)
        let ids = ["nobody": "65534", "nogroup": "65534", "daemon": "1"]
        var shown = "'\(words.joined(separator: " "))'"
        if let user = ours["User"] { shown += " as uid \(ids[user] ?? user)" }
        if let group = ours["Group"] { shown += " as gid \(ids[group] ?? group)" }
        shown += " timeout \(seconds(ours["Launch"] ?? "30s")) s"
        #expect(
            theirs.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
                == shown.split { $0 == " " || $0 == "\t" }.joined(separator: " "), "\(line)")
    }

    private func seconds(_ span: String) -> Int {
        span.split(separator: " ").reduce(0) { sum, part in
            let number = Int(part.prefix { $0.isNumber }) ?? 0
            return sum + (part.hasSuffix("min") ? 60 * number : part.hasSuffix("h") ? 3600 * number : number)
        }
    }

    // MARK: - Tests

    /// monit's output for the probe.
    private func probe(_ ours: [String: String]) -> String? {
        guard var target = ours["Probe"]?.replacing("%%", with: "%") else { return nil }
        let kind: String
        if target.hasPrefix("unix:") {
            target = "\(target.dropFirst(5)) type TCP"
            kind = "DEFAULT"
        } else {
            let isHTTP = target.hasPrefix("http://")
            let address = target.dropFirst(isHTTP ? 7 : 4)
            let authority = address.prefix { $0 != "/" }
            let colon = authority.lastIndex(of: ":") ?? authority.endIndex
            let host = authority[..<colon].filter { $0 != "[" && $0 != "]" }
            let port = colon == authority.endIndex ? "80" : authority[colon...].dropFirst()
            let path = address.dropFirst(authority.count)
            target = "[\(host)]:\(port)\(path == "/" ? "" : path) type TCP/IP"
            kind = isHTTP ? "HTTP" : "DEFAULT"
        }
        return "if failed \(target) protocol \(kind) with timeout \(seconds(ours["ProbeTimeout"] ?? "")) s"
    }

    /// Compares a test that both may read; settings that are not converted must be named at their line.
    private func compare(_ line: String) throws -> Bool {
        let text = Self.head + Self.start + line + "\n"
        let result = try imported(text, as: "monitrc")
        let ours = try settings(text)
        let isNamed = result.lines.contains { $0.hasPrefix("monitrc:4: ") }
        guard let theirs = try Monit.read(text) else {
            #expect(isNamed, "monit refuses \(line)")
            return false
        }
        func lines(_ name: String) -> [String] { theirs.filter { $0.name == name }.map(\.value) }
        let ports = (lines("Port") + lines("Unix Socket")).map { $0.replacing("/ type", with: " type") }
            .filter {
                $0.contains(" then restart") || $0.contains(" then start")
            }
        if let probe = probe(ours) {
            let port = try #require(ports.first, "\(line)")
            let rest = port.hasPrefix(probe) ? port.dropFirst(probe.count) : ""
            // Protocols that become plain connections are named.
            #expect(!rest.isEmpty || isNamed, "\(line): \(port), not \(probe)")
            let words = port.split(separator: " ").prefix { $0 != "else" }
            let count = words.firstIndex(of: "for").flatMap { $0 + 1 < words.count ? Int(words[$0 + 1]) : nil } ?? 1
            #expect(ours["ProbeThreshold"] == String(count), "\(line): \(port)")
            #expect(!port.contains(" times within ") || isNamed, "\(line)")
            #expect(!port.contains("using SSL"), "\(line)")
        } else {
            #expect(ports.isEmpty || isNamed, "\(line)")
        }
        let sizes = theirs.filter { $0.name.hasPrefix("Memory") }.map(\.value)
            .filter { $0.contains("then restart") || $0.contains("then start") }
        if let size = ours["MemoryMax"] {
            let value = try #require(sizes.first, "\(line)").split(separator: " ")
            #expect(size == self.size(value), "\(line): \(value)")
        } else {
            #expect(sizes.isEmpty || isNamed, "\(line)")
        }
        if let limit = ours["Limit"] {
            let cycles = seconds(ours["LimitInterval"] ?? "") / 30
            #expect(lines("Timeout").first?.hasPrefix("If restarted \(limit) times within \(cycles) cycle(s)") == true)
        } else {
            #expect(lines("Timeout").isEmpty || isNamed, "\(line)")
        }
        return true
    }

    /// `if greater than 1.5 GB then …`, in the form of MemoryMax=.
    private func size(_ words: [Substring]) -> String? {
        guard
            words.starts(with: ["if", "greater", "than"])
                || words.starts(with: ["if", "greater", "or", "equal", "than"])
        else {
            return nil
        }
        let value = words.drop { Double($0.filter { $0 != "%" }) == nil }
        guard let first = value.first, let number = Double(first.filter { $0 != "%" }) else { return nil }
        if first.hasSuffix("%") { return number == number.rounded() ? "\(Int(number))%" : "\(number)%" }
        let power = ["B", "kB", "MB", "GB"].firstIndex { $0 == value.dropFirst().first ?? "" } ?? 0
        let isWhole = number == number.rounded()
        return isWhole
            ? "\(Int(number))\(["", "K", "M", "G"][power])" : "\(Int(number * 1024))\(["", "", "K", "M"][power])"
    }

    private static let tests = [
        "if failed port 80 protocol http and request /gs/wms?request=d&v=1.1.1 for 5 cycles\n then restart",
        "IF FAILED HOST localhost PORT 80 PROTOCOL HTTP REQUEST \"/\" THEN START",
        "if failed port 80 protocol http status=200 then restart",
        "if failed port 80 protocol http request '/a b%20c#d' with status >= 300 then restart",
        "if failed port 80 protocol http request /a:b then restart",
        "if failed unixsocket \"/run/a b\" with timeout 9 seconds for 2 cycles then restart",
        "if failed unix /run/a.sock type tcp protocol pgsql then restart",
        "if failed host ::1 port 8080 then restart", "if failed host \"::1\" port 8080 protocol http then restart",
        "if failed port 443 type tcpssl protocol http then restart", "if failed port 443 with ssl then restart",
        "if failed port 443 protocol https request \"/x\" then restart", "if failed port 53 type udp then restart",
        "if failed port 443 ssl disable then restart",
        "if failed port 80 send \"a\" expect \"b\" then restart", "if failed port 80 retry 3 for 2 cycles then restart",
        "if failed port 80 protocol http method head hostheader \"x\" with http headers [a: b] then restart",
        "if failed url http://localhost:8080/a?b=c#d content = \"x\" then restart",
        "if failed url http://u:p@localhost:8080/ then restart", "if failed url https://localhost/ then restart",
        "if failed port 80 for 2 times within 5 cycles then restart", "if failed port 80 within 5 cycles then restart",
        "if failed port 80 3 times 2 cycles then restart", "if failed port 80 for 3 times then restart",
        "if failed port 80 then alert", "if failed port 80 then exec \"/usr/bin/env if then\" repeat every 2 cycles",
        "if failed port 80 then restart else if recovered for 2 cycles then exec \"/usr/bin/env\"",
        "if failed (port 80), then restart;", "if failed port 80 # then alert\n then restart",
        "if totalmem > 200.0 MB for 5 cycles then restart", "if total memory > 200MB then restart",
        "if total memory usage is greater than 300 MB then restart", "if mem > 1.5 GB then restart",
        "if memory >= 64 kb then restart", "if memory > 10 then restart", "if mem > 80% then restart",
        "if mem>80% then restart", "if memory is more than 12.5 percent then restart", "if memory < 5 MB then restart",
        "if cpu > 60% memory > 100 MB then restart", "if cpu > 60% for 2 cycles then restart",
        "if loadavg (5min) > 2 then restart", "if children > 250 then restart", "if disk read > 500 kb/s then restart",
        "if 3 restarts within 5 cycles then timeout", "if 3 restart 5 cycle then stop",
        "if 2 restarts within 3 cycles then exec \"/usr/bin/env\"", "if 3 restarts then timeout",
        "if does not exist for 2 cycles then restart", "if changed pid then restart", "if uptime > 3 days then restart",
    ]

    @Test("A test matches monit's output for it, or is named", arguments: tests)
    func test(line: String) throws { _ = try compare(line) }

    @Test("Random tests match monit's output for them, or are named")
    func randomTests() throws {
        var random = SeededGenerator(seed: testSeed)
        let noise = ["", "", "with ", "and ", "using the ", "has ", "on "]
        let targets = ["port 80", "host localhost port 8080", "host 127.0.0.1 port 1", "unixsocket /run/x", "port"]
        let options = [
            "protocol http", "protocol http request \"/a?b=c\"", "protocol http status = 204", "type tcp", "proto ftp",
            "timeout 3 seconds", "timeout 70 s", "content = \"ok\"", "retry 2", "ipv4", "type udp", "ssl", "x=y",
            "request /a",
        ]
        let rates = ["", "", "for 3 cycles", "2 times within 4 cycles", "4 cycles", "within 2 cycle"]
        let actions = ["restart", "restart", "start", "alert", "stop", "unmonitor"]
        let resources = ["mem", "total mem", "memory usage", "cpu", "totalcpu", "children"]
        let marks = [">", "is greater than", "gt", ">=", "<", "older", "="]
        let sizes = ["10%", "20 MB", "2.5 GB", "100 kilobytes", "7", "1 percent", "3 bytes"]
        var accepted = 0
        for _ in 0..<120 {
            var words: [String]
            if random.oneIn(3) {
                words = ["if", random.pick(resources), random.pick(marks), random.pick(sizes)]
            } else {
                words = ["if failed", random.pick(targets)]
                for _ in 0..<random.below(3) { words.append(random.pick(noise) + random.pick(options)) }
            }
            words += [random.pick(rates), "then", random.pick(actions)]
            if try compare(words.joined(separator: " ")) { accepted += 1 }
        }
        #expect(accepted > 30, "seed \(testSeed)")
    }

    @Test("Cycles have the length in monit's output")
    func cycles() throws {
        for (lines, every) in [
            ("set daemon 45", ""), ("set daemon 45 with start delay 10\nset daemon 20", ""),
            ("set daemon 10", "every 3 cycles"),
        ] {
            let text =
                "\(lines)\ncheck process a matching a\n\(Self.start)if failed port 80 then restart\n\(every)\n"
            let theirs = try #require(try Monit.read(text))
            let ours = try settings(text)
            func number(_ name: String, _ index: Int) -> Int? {
                theirs.first { $0.name == name }.flatMap { Int($0.value.split(separator: " ")[index]) }
            }
            let cycle = try #require(number("Poll time", 0)) * (number("Every", 3) ?? 1)
            #expect(seconds(ours["ProbeInterval"] ?? "") == cycle, "\(lines)")
            let port = try #require(theirs.first { $0.name == "Port" }).value
            #expect(port.contains("timeout \(seconds(ours["ProbeTimeout"] ?? "")) s "), "\(lines)")
        }
    }
}
