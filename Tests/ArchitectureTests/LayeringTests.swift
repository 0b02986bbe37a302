// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@Suite("Layers")
struct LayeringTests {
    @Test("A module imports only modules that its layer allows", arguments: Module.all)
    func importsAreAllowed(module: Module) {
        let files = module.files
        #expect(!files.isEmpty, "\(module.path) holds no Swift file: delete it from the table")
        let forbidden = files.flatMap(ImportLine.all(in:)).filter { !module.mayImport.contains($0.module) }
        #expect(forbidden.map { "\($0.place): \(module.name) must not import \($0.module)" } == [])
    }

    @Test("Every module of Sources is in the table of layers, and nothing else lies there")
    func everyModuleIsKnown() throws {
        func contents(_ folder: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: "\(SourceTree.root)/\(folder)").map {
                "\(folder)/\($0)"
            }
        }
        let inFolders = try Module.folders.flatMap { try contents("Sources/\($0)") }
        let withSwift = inFolders.filter {
            !Module.withoutSwift.contains($0.split(separator: "/").last.map(String.init) ?? "")
        }
        let loose = try contents("Sources").filter { !Module.folders.map { "Sources/\($0)" }.contains($0) }
        #expect(Set(withSwift + loose) == Set(Module.all.map(\.path)))
        #expect(inFolders.count - withSwift.count == Module.withoutSwift.count)
    }

    @Test("What supervises does without guests", arguments: Module.all.filter(\.isMission))
    func missionImportsNoGuest(module: Module) {
        // The command line brings everything together.
        guard module.name != "WatchdogCommands" else { return }
        let guests = Set(Module.all.filter(\.isGuest).map(\.name))
        #expect(module.files.flatMap(ImportLine.all(in:)).filter { guests.contains($0.module) }.map(\.place) == [])
    }

    @Test("What a kill goes through knows neither the history nor the metrics, the simulation nor a bad network")
    func killPathIsAlone() {
        let files = SourceTree.files(of: "WatchdogLaunch")
        #expect(!files.isEmpty)
        let others: Set = ["WatchdogHistory", "WatchdogMetrics", "WatchdogSimulation", "NetworkConditioner"]
        let found = files.flatMap(ImportLine.all(in:)).filter { others.contains($0.module) }
        #expect(found.map(\.place) == [])
    }

    @Test(
        "Only two apps import Foundation, for its queues: it is five times the size of FoundationEssentials")
    func nothingImportsFoundation() {
        let found = SourceTree.swiftSources.flatMap(ImportLine.all(in:)).filter { $0.module == "Foundation" }
        let allowed = ["Sources/SampleApps/QuickPick/", "Sources/SampleApps/Stocks/"]
        #expect(found.map(\.place).filter { place in !allowed.contains { place.hasPrefix($0) } } == [])
    }

    @Test(
        "The pure modules read no clock, no file and no environment",
        arguments: [
            "WatchdogBase", "WatchdogPolicy", "WatchdogWire", "WatchdogConfiguration", "WatchdogVerdict",
            "WatchdogRendering",
        ]
    )
    func pureModulesArePure(module: String) {
        // Not \b, which treats "Task.sleep" as one word (Unicode Standard Annex 29, rule WB6).
        let impure =
            #/
            (?: ^ | \W ) (?: ContinuousClock | SuspendingClock | SystemRandomNumberGenerator | CommandLine | Task
                | async | await ) (?: \W | $ )
            | (?: ^ | [^.\w] ) (?: clock_gettime | open | fopen | getenv | readLine | print ) \s* \(
            /#
        let found = SourceTree.files(of: module).filter(\.isSwift).flatMap {
            $0.places(matching: impure)
        }
        // A declaration is not a call.
        #expect(found.filter { !$0.contains(" func open(") } == [])
    }

    @Test(
        "C code includes libc and the kernel's headers, nothing else",
        arguments: ["CLinux", "CSnapshot", "CRecorder"])
    func cCodeIncludesLibcOnly(target: String) {
        let foreign = #/#\s*include\s*<(?:systemd|elfutils|libelf|gelf|dwarf|libunwind|unwind)/#
        let found = SourceTree.files(of: target).filter(\.isC).flatMap { $0.places(matching: foreign) }
        #expect(found == [])
    }

    @Test("Public C headers define no feature macro: the module of Glibc was built without it")
    func publicHeadersDefineNoFeatureMacro() {
        let headers = SourceTree.files(below: "Sources").filter { $0.fileExtension == "h" }
        #expect(headers.flatMap { $0.places(matching: #/#\s*define\s+_\w+_SOURCE/#) } == [])
    }
}
