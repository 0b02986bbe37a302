// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration
import WatchdogImport

@Suite("Imports of monit's files")
struct MonitTests {
    private let head = "set daemon 30\ncheck process a with pidfile /a\nstart program = \"/bin/a\"\n"

    private func check(_ lines: String) throws -> ImportResult { try imported(head + lines + "\n", as: "monitrc") }

    @Test("The common forms of processes have the same meaning")
    func forms() throws {
        let result = try imported(
            """
            set mail-format {
              from: monit@example.com
              message: don't check or set or include "$SERVICE
            }
            set alert ops@example.com not on { instance, action } with reminder on 10 cycles
            CHECK PROCESS q MATCHING qb-nox
                start = "/usr/bin/qb --port 80" with timeout 20 seconds
                onreboot start
                if failed host localhost port 80 protocol http and request "/" then start
            check process t with pidfile /run/t.pid
              start program = "/etc/init.d/t start"
              as uid tomcat gid tomcat
              if failed port 8080 protocol http and request /gs/wms?request=d&v=1.1.1#x for 5 cycles
                   then restart
            """, as: "monitrc")
        #expect(result.apps.map(\.name.description) == ["q", "t"])
        for line in [
            "ExecStart=/usr/bin/qb --port 80", "Launch=20s", "Probe=http://localhost:80/", "User=tomcat",
            "Group=tomcat",
            "ProbeThreshold=5",
        ] { #expect(result.settings.contains(line), "\(line)") }
        #expect(result.settings.contains { $0.hasPrefix("Probe=http://localhost:8080/gs/wms?request=d&v=1.1.1") })
    }

    @Test("Memory limits keep their size, and state whose memory counts")
    func memory() throws {
        for (test, size, isOfAll) in [
            ("totalmem > 200.0 MB for 5 cycles", "200M", true),
            ("total memory usage is greater than 300MB", "300M", true),
            ("mem > 1.5 GB", "1536M", false), ("memory usage > 64 kB", "64K", false), ("totalmem > 80%", "80%", true),
            ("mem > 12.5 percent", "12.5%", false),
            ("mem is more than 7", "7", false), ("total memory > 200MB", "200M", true),
            ("totalmem < 10 MB", nil, true),
        ] as [(String, String?, Bool)] {
            let result = try check("if \(test) then restart")
            #expect(
                result.settings.first { $0.hasPrefix("MemoryMax=") } == size.map { "MemoryMax=\($0)" }, "\(test)")
            #expect(result.lines.contains { $0.hasPrefix("monitrc:4: ") && $0.contains("if \(test.prefix(3))") })
            if size != nil { #expect(result.lines.contains { $0.contains("all processes together") } != isOfAll) }
            let alert = try check("if \(test) then alert")
            #expect(!alert.settings.contains { $0.hasPrefix("MemoryMax=") })
        }
    }

    @Test("Codes are compared like monit does")
    func status() throws {
        for (test, codes) in [
            ("status = 200", "200"), ("status 204", "204"), ("status >= 200", "200-599"), ("status < 400", "100-399"),
            ("status != 500", "100-499 501-599"), ("status > 5", nil),
        ] as [(String, String?)] {
            let result = try check("if failed port 80 protocol http request /x?a=b with \(test) then restart")
            #expect(result.settings.contains("Probe=http://localhost:80/x?a=b"))
            #expect(
                result.settings.first { $0.hasPrefix("ProbeStatus=") } == codes.map { "ProbeStatus=\($0)" }, "\(test)")
            #expect(result.lines.contains { $0.contains("dropped: status") } == (codes == nil), "\(test)")
        }
    }

    @Test("A check that a probe cannot make is named, and a success is not a failure")
    func lacks() throws {
        for (test, word) in [
            ("if failed port 80 protocol http hostheader \"x\" then restart", "hostheader"),
            ("if failed port 80 send \"a\" expect \"b\" then restart", "expect, send"),
            ("if failed port 80 protocol http content = \"a.*b\" then restart", "content"),
            ("if failed port 80 protocol http content != \"a\" then restart", "content"),
            ("if failed port 443 protocol https then restart", "TLS"),
            ("if succeeded port 80 then restart", "succeeded"),
            ("if failed port 80 for 2 times within 5 cycles then restart", "in a row"),
        ] {
            let result = try check(test)
            #expect(result.lines.contains { $0.hasPrefix("monitrc:4: ") && $0.contains(word) }, "\(test)")
        }
        #expect(!(try check("if succeeded port 80 then restart").settings.contains { $0.hasPrefix("Probe") }))
        #expect(
            try check("if failed port 80 protocol http content = \"ok\" then restart").settings.contains("ProbeBody=ok")
        )
        #expect(
            try check("if failed url http://localhost:80/a?b=c then restart").settings.contains(
                "Probe=http://localhost:80/a?b=c"))
    }

    @Test("A word that monit does not know in its place is named, and nothing of its line is converted")
    func unknown() throws {
        for (test, word) in [
            ("if failed port 80 protocol http status=200 then restart", "status=200"),
            ("if failed port 80 and status = 200 x then restart", "x"), ("if failed port then restart", "port"),
            ("if mem > 5 parsecs then restart", "parsecs"),
            ("if failed port 80 for 3 times within 2 cycles then restart", "3"),
            ("if failed port 80 timeout 5 minutes then restart", "minutes"),
        ] {
            let result = try check(test)
            #expect(!result.settings.contains { $0.hasPrefix("Probe") || $0.hasPrefix("MemoryMax") }, "\(test)")
            #expect(
                result.lines.contains { $0.hasPrefix("monitrc:4: dropped: ") && $0.contains("\"\(word)\"") },
                "\(test): \(result.lines)")
            #expect(result.lines.contains { $0.hasPrefix("monitrc:4: dropped: ") }, "\(test)")
        }
    }

    @Test("A process that monit does not restart is not restarted")
    func existence() throws {
        for (test, policy) in [
            ("if does not exist then restart", "always"), ("if not exist then alert", "on-watchdog"),
            ("if nonexist for 2 cycles then stop", "on-watchdog"), ("if exists then alert", "always"),
            ("if changed pid then alert", "always"),
        ] {
            #expect(try check(test).settings.contains("Policy=\(policy)"), "\(test)")
        }
    }

    @Test("Included files are read where they are named")
    func includes() throws {
        let result = try imported(
            "set daemon 30\ninclude /srv/d/*.conf\ninclude '/srv/none/*'\ninclude rel/*\n", as: "monitrc",
            others: [
                "/srv/d/a.conf": "check process a matching a\nstart \"/bin/a\"\ninclude /srv/e\n",
                "/srv/d/b.conf": "check process b matching b\nstart \"/bin/b\"\ninclude /srv/d/b.*\nset daemon 20\n",
                "/srv/d/c.conf~": "check process c matching c\nstart \"/bin/c\"\n",
                "/srv/e": "if failed port 80 then restart\n", "/srv/d/sub.conf/x": "check process d matching d\n",
            ])
        #expect(result.apps.map(\.name.description) == ["a", "b"])
        #expect(result.settings.contains("ProbeInterval=20s"))
        #expect(result.lines.contains { $0.hasPrefix("monitrc:3: skipped: include") && $0.contains("no file matches") })
        #expect(result.lines.contains { $0.hasPrefix("monitrc:4: skipped: include \"rel/*\"") })
        #expect(result.lines.contains { $0.contains("includes itself") })
    }

    @Test("Checks of anything but processes, and settings of monit itself, are named")
    func others() throws {
        let checks = [
            "file f with path /f", "host h with address h", "filesystem s with path /",
            "program p with path \"/p 'if'\"",
            "system $HOST", "directory d path /d", "fifo i path /i", "network n interface eth0",
        ]
        for text in checks {
            let result = try imported(
                "check \(text)\n  if failed port 1 then restart\n  start = \"/x\"\n", as: "monitrc")
            #expect(result.apps.isEmpty)
            #expect(result.lines.first?.hasPrefix("monitrc:1: skipped: check \(text.prefix(4))") == true, "\(text)")
        }
        let limits = try imported(
            "set limits { networkTimeout: 9 seconds startTimeout: 40 s }\nset onreboot nostart\n" + head
                + "if failed port 80 then restart\nevery 3 cycles\nmode passive\ndepends on x,\n  stop, y\ngroup if\n"
                + "if failed port 81 then stop\n", as: "monitrc")
        for line in ["ProbeTimeout=9s", "Launch=40s", "ProbeInterval=1min 30s", "Enabled=no"] {
            #expect(limits.settings.contains(line), "\(line)")
        }
        for word in ["set onreboot nostart", "mode passive", "depends on x", "group if", "if failed port 81"] {
            #expect(limits.lines.contains { $0.contains(": \(word)") }, "\(word)")
        }
    }

    @Test("A command is split like monit splits it, without a shell")
    func words() throws {
        for (command, line) in [
            (#"/bin/sh -c 'echo "x" && exit'"#, #"/bin/sh -c "echo \"x\" && exit""#),
            (#"/bin/a b\ c \$x $Y 50%"#, #"/bin/a "b\\" c "\\$$x" $$Y 50%%"#),
            ("/bin/a 'b c'd e'f g'", "/bin/a \"b c\" d \"e'f\" \"g'\""),
        ] {
            let result = try imported("check process a matching a\nstart program = \"\(command)\"\n", as: "monitrc")
            // A quote ends the command, even within single quotes that are not at the start of a word.
            #expect(result.settings.first == "ExecStart=\(line)", "\(command)")
        }
    }
}
