// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite("Files")
struct FileRuleTests {
    @Test("No file is longer than 600 lines")
    func filesAreShort() {
        #expect(
            SourceTree.handwritten.filter { $0.lines.count > 601 }.map { "\($0.path): \($0.lines.count - 1) lines" }
                == [])
    }

    @Test("The supervisor's files are in subfolders, whose names describe their content")
    func supervisorHasNoLooseFiles() {
        let places = ["WatchdogLaunch", "WatchdogDaemon", "WatchdogRun"].flatMap { SourceTree.files(of: $0) }
            .compactMap(\.place)
        #expect(!places.isEmpty)
        #expect(places.filter { $0.split(separator: "/").count < 3 } == [])
    }

    @Test(
        "An executable holds at most 50 lines of code: what is worth testing lives in a library",
        arguments: ["watchdogd", "watchdogd-symbolicate"])
    func executablesAreThin(name: String) {
        let lines = SourceTree.files(of: name).filter(\.isSwift).map(\.code.count).reduce(0, +)
        #expect((1...50).contains(lines))
    }

    @Test(
        "A file of the command line holds at most 150 lines of code: what a command does lies in the module that does it"
    )
    func commandsAreThin() {
        let files = SourceTree.files(of: "WatchdogCommands").filter(\.isSwift)
        #expect(!files.isEmpty)
        let thick = files.filter { $0.code.count > 150 }
        #expect(thick.map { "\($0.path): \($0.code.count) lines of code" } == [])
    }

    @Test("A word that docs/glossary.md defines has no other meaning in the code")
    func wordsHaveOneMeaning() throws {
        let glossary = try #require(SourceTree.file("docs/glossary.md"))
        let names: [(word: String, name: Regex<Substring>, places: Set<String>)] = [
            // In the format of an app's state, the launches that it has accounted for have this name.
            (
                "settle", #/\w*[sS]ettl\w*/#,
                ["WatchdogPolicy/App/AppMachine.swift", "WatchdogLaunch/Survival/KeptApp.swift"]
            ),
            (
                "claim", #/\b(?:takeOver|takeUp|claim)\w*\(/#,
                [
                    "WatchdogDaemon/Daemon/Daemon.swift", "WatchdogDaemon/Daemon/DaemonConfiguration.swift",
                ]
            ),
        ]
        for (word, name, places) in names {
            #expect(glossary.lines.contains { $0.hasPrefix("| \(word) |") })
            let files = SourceTree.swiftSources.filter { !places.contains($0.place ?? "") }
            #expect(files.flatMap { $0.places(matching: name) } == [], "\(word) means something else: docs/glossary.md")
        }
    }

    @Test("Every source file begins with its license")
    func filesNameTheirLicence() {
        let marked = SourceTree.handwritten + ["Package.swift", "Makefile"].compactMap(SourceTree.file)
        let unmarked = marked.filter { file in
            // The first line may belong to the kernel (#!) or to SwiftPM (swift-tools-version).
            let tools = file.lines.first.map { $0.hasPrefix("#!") || $0.hasPrefix("// swift-tools-version") } ?? false
            let first = file.lines.dropFirst(tools ? 1 : 0).first ?? ""
            return !first.contains("SPDX-License-Identifier: Apache-2.0")
        }
        #expect(unmarked.map(\.path) == [])
    }

    /// `usleep` with less than 10 ms stays allowed, because it paces a limited poll for states that the kernel does not
    /// announce.
    @Test("Unit tests never sleep: they pass time in, or wait for an event with a deadline")
    func unitTestsNeverSleep() {
        let sleep = #/(?:^|\W)(?:(?:sleep|nanosleep|clock_nanosleep)\s*\(|usleep\s*\(\s*(?:\d{5,}|\d+_\d))/#
        // On virtual time, a sleep waits until the test advances the clock.
        let virtual = "Tests/WatchdogTestingTests/VirtualTests.swift"
        #expect(SourceTree.unitTests.filter { $0.path != virtual }.flatMap { $0.places(matching: sleep) } == [])
    }

    @Test("Swift code starts no process by fork, system or popen: only the C side of a spawn is safe after a clone")
    func swiftNeverForks() {
        let start = #/(?:^|[^.\w])(?:fork|vfork|system|popen)\s*\(/#
        #expect(SourceTree.swiftSources.flatMap { $0.places(matching: start) } == [])
    }
}

extension SourceFile {
    /// A program for an interpreter.
    var isScript: Bool {
        fileExtension == "sh" || fileExtension == "py" || lines.first?.hasPrefix("#!") == true
    }
}
