// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TestSupport
import Testing
import WatchdogConfiguration
import WatchdogImport

/// The installed supervisord, as a module of Debian's Python.
private enum InstalledSupervisord {
    static let isThere = output(of: "/usr/bin/python3 -c 'import supervisor.options'").status == 0
    static let reason = "/usr/bin/python3 has no module supervisor"

    struct Answer: Decodable {
        let refused: String?
        let programs: [Program]
    }

    struct Program: Decodable {
        let name: String
        /// Nil if it cannot start the program because of its command.
        let words: [String]?
        let uid: Int?
        let directory: String?
        let umask: Int?
        let autostart: Bool
        let autorestart: String
        let stopwaitsecs: Int
        let environment: [String: String]
    }

    /// What it reads from each of the files.
    static func read(_ files: [String]) throws -> [Answer] { try answers(of: "supervisord-options.py", about: files) }
}

@Suite(
    "Compared with supervisord", .enabled(if: InstalledSupervisord.isThere, "\(InstalledSupervisord.reason)"),
    .reapsChildren)
struct SupervisordComparisonTests {
    private static let options = [
        "command=/bin/a \"b c\" d\\ e", "command=/bin/a '$HOME' \"\\$x\" 50%%", "command=/bin/a --x=%(program_name)s",
        "command=/bin/a -n %(process_num)02d", "command=/bin/a b ; comment", "command=/bin/a b;c#d",
        "command=/bin/a\n  --b\n  c",
        "command=/bin/a 'b", "command =  /bin/a  x", "COMMAND: /bin/a y", "user=nobody", "user=0", "user=no-such-user",
        "user=daemon",
        "directory=/tmp", "directory=/", "umask=022", "umask=77", "umask=9", "autostart=false", "autostart=TRUE",
        "autostart=maybe",
        "autorestart=true", "autorestart=unexpected", "autorestart=no", "autorestart=Unexpected", "stopwaitsecs=3",
        "stopwaitsecs=soon", "startsecs=5", "startsecs=1", "startretries=2", "startretries=0", "exitcodes=0",
        "exitcodes=0,2",
        "stopsignal=INT", "stopsignal=TERM", "stopasgroup=true", "killasgroup=false", "redirect_stderr=true",
        "stdout_logfile=/tmp/watchdogd.log", "stdout_logfile=NONE", "stderr_logfile=AUTO",
        "stdout_logfile_maxbytes=1MB",
        "stdout_logfile_backups=3", "priority=5", "serverurl=AUTO", "stdout_syslog=true", "stdout_events_enabled=1",
        "environment=A=\"x,y\",B='it'", "environment=A=1,\n  B=2", "environment=A=two words",
        "environment=A=50%%,B=%(ENV_A)s",
        "environment=A=\"1\" B=\"2\"", "environment=A=a=b", "numprocs=2\nprocess_name=w%(process_num)d", "nonsense=1",
        "# comment",
        "; comment", "",
    ]

    private static let table = [
        "[program:a]\n  command=/bin/a\n  user=nobody\n  autorestart=true\n",
        "[program:a]\ncommand=/bin/a\n  user=nobody\n", "[program:a]\ncommand=/bin/a\nuser=x y\n",
        "[supervisord]\nenvironment=ROOT=\"/srv\"\n[program:a]\ncommand=%(ENV_ROOT)s/a\n",
        "[program:a]\ncommand=/bin/a\n[program:a]\ncommand=/bin/b\n",
        "[DEFAULT]\ndirectory=/tmp\n[program:a]\ncommand=/bin/a\n",
        "[group:g]\nprograms=a,b\n[program:a]\ncommand=/bin/a %(group_name)s\n[program:b]\ncommand=/bin/b\n",
        "[program:a]\ncommand=/bin/a %(here)s\n", "[program:a]\ncommand=/bin/a %(ENV_NO_SUCH)s\n",
        "[program:a]\nuser=nobody\n",
        "[program:a]\ncommand=/bin/a \"\\\"\" '' \\\\ \"\\n\" é\n",
    ]

    /// Random programs: mostly a command and some options.
    private static func randomFile(_ random: inout SeededGenerator) -> String {
        var text = random.oneIn(3) ? "[supervisord]\nenvironment=ROOT=/srv,A=\"z\"\n" : ""
        for name in ["a", "b"].prefix(1 + random.below(2)) {
            text += "[program:\(name)]\n"
            let commands = options.filter { $0.lowercased().hasPrefix("command") }
            if !random.oneIn(8) { text += random.pick(commands) + "\n" }
            let indent = random.oneIn(6) ? " " : ""
            for _ in 0..<random.below(5) { text += indent + random.pick(options) + "\n" }
        }
        return text
    }

    @Test("Files have supervisord's meaning, or their lines are named")
    func files() throws {
        var random = SeededGenerator(seed: testSeed)
        let texts =
            Self.table.map { $0.hasPrefix("[supervisord]") ? $0 : "[supervisord]\n\($0)" }
            + (0..<300).map { _ in
                let text = Self.randomFile(&random)
                return text.hasPrefix("[supervisord]") ? text : "[supervisord]\n\(text)"
            }
        let folder = try ScratchFolder()
        let paths = try texts.enumerated().map { try folder.write($1, to: "\($0).conf") }
        let answers = try InstalledSupervisord.read(paths)
        try #require(answers.count == texts.count)
        var accepted = 0
        for (index, answer) in answers.enumerated() {
            let (text, path) = (texts[index], paths[index])
            let importer = Importer(
                MemoryFileSystem(files: [path: text]), specifiers: .system, workingDirectory: folder.path)
            do {
                let result = try importer.importing(path, format: .supervisord)
                if let reason = answer.refused {
                    // Whether a user exists does not depend on the file; a launch reports that.
                    #expect(
                        !result.notes.isEmpty || reason.contains("user"),
                        "supervisord refuses \(text), seed \(testSeed)")
                } else {
                    for program in answer.programs { try compare(program, result, text) }
                    #expect(answer.programs.count == result.apps.count, "\(text)")
                    accepted += 1
                }
                expectAll(text, result)
            } catch let error as ImportError {
                // It has variables that an import cannot know, and names with line breaks: an error at the line reports
                // those.
                let isRefused = answer.refused != nil || answer.programs.contains { $0.words == nil }
                #expect(
                    error.place.line != nil
                        && (isRefused || error.message.contains("%(") || error.message.contains("an app's name")),
                    "\(error): \(text), seed \(testSeed)")
            }
        }
        #expect(accepted > 80, "seed \(testSeed)")
    }

    private func compare(_ theirs: InstalledSupervisord.Program, _ result: ImportResult, _ text: String) throws {
        let app = try #require(result.apps.first { $0.name.description == theirs.name }, "\(theirs.name) of \(text)")
        let program = try #require(app.definition.configuration).program
        let settings = app.text.split(separator: "\n").map(String.init)
        func value(_ key: String) -> String? {
            settings.first { $0.hasPrefix(key + "=") }.map { String($0.dropFirst(key.count + 1)) }
        }
        func isNamed(_ word: String) -> Bool { result.lines.contains { $0.contains(word) } }
        let seed = "\(text), seed \(testSeed)"
        #expect(program.command.arguments.map { $0.replacing("$$", with: "$") } == theirs.words, "\(seed)")
        let ids = ["nobody": 65534, "daemon": 1]
        let user = value("User").flatMap { ids[$0] ?? Int($0) }
        #expect(user == theirs.uid || isNamed("user="), "\(seed)")
        #expect(value("WorkingDirectory") == theirs.directory || isNamed("directory="), "\(seed)")
        #expect(value("UMask").flatMap { Int($0, radix: 8) } == theirs.umask || isNamed("umask="), "\(seed)")
        #expect(value("Terminate") == "\(theirs.stopwaitsecs)s" || isNamed("stopwaitsecs"), "\(seed)")
        #expect((value("Enabled") == "no") == !theirs.autostart || isNamed("to do"), "\(seed)")
        let policies = [
            "RestartUnconditionally": "always", "RestartWhenExitUnexpected": "on-failure", "no": "never",
        ]
        #expect(value("Policy") == policies[theirs.autorestart], "\(seed)")
        let ours = Dictionary(program.environment.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        for (name, value) in theirs.environment {
            #expect(ours[name] == value || isNamed("environment: \(name)"), "\(name) of \(seed)")
        }
    }

    /// Options with a different name in the app file, or that match watchdogd's default.
    private static let silent = [
        "command": "ExecStart=", "user": "User=", "directory": "WorkingDirectory=", "umask": "UMask=", "autostart": "",
        "environment": "Environment=", "autorestart": "Policy=", "stopwaitsecs": "Terminate=",
        "startretries": "LimitLaunch=",
        "stdout_logfile": "StandardOutput=", "stderr_logfile": "StandardError=", "redirect_stderr": "", "numprocs": "",
        "process_name": "", "programs": "", "startsecs": "=1", "stopsignal": "=TERM", "exitcodes": "=0",
    ]

    /// Every option is in the app's file, possibly in the value that it continues, or named at its line.
    private func expectAll(_ text: String, _ result: ImportResult) {
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard let mark = line.firstIndex(where: { $0 == "=" || $0 == ":" }), let first = line.first, first != "[",
                !line.hasPrefix("  "), !["#", ";"].contains(line.drop { $0 == " " }.first)
            else { continue }
            let key = line[..<mark].lowercased().filter { $0 != " " }
            let isNamed = result.notes.contains { $0.place.line == index + 1 }
            let words = Self.silent[key]
            let isThere =
                words.map { words in
                    words.isEmpty || words.hasPrefix("=") && line.hasSuffix(words)
                        || result.settings.contains { $0.hasPrefix(words) }
                } ?? result.settings.contains { line.first == " " && $0.contains(line.drop { $0 == " " }) }
            #expect(isNamed || isThere, "line \(index + 1) of \(text): \(result.lines), seed \(testSeed)")
        }
    }
}
