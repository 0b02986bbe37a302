// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@Suite("Layers")
struct LayeringTests {
    @Test("A module imports only modules that its layer allows", arguments: Module.all)
    func importsAreAllowed(module: Module) {
        let files = module.files
        #expect(!files.isEmpty, "Sources/\(module.name) holds no Swift file: delete it from the table")
        let forbidden = files.flatMap(ImportLine.all(in:)).filter { !module.mayImport.contains($0.module) }
        #expect(forbidden.map { "\($0.place): \(module.name) must not import \($0.module)" } == [])
    }

    @Test("Every folder of Sources is in the table of layers")
    func everyFolderIsKnown() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: "\(SourceTree.root)/Sources")
        #expect(Set(folders) == Module.withoutSwift.union(Module.all.map(\.name)))
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
        let found = SourceTree.files(below: "Sources/\(module)").filter(\.isSwift).flatMap {
            $0.places(matching: impure)
        }
        // A declaration is not a call.
        #expect(found.filter { !$0.contains(" func open(") } == [])
    }

    @Test(
        "C code includes only libc and the kernel's headers",
        arguments: ["CLinux", "CSnapshot", "CWorker", "CRecorder"])
    func cCodeIncludesLibcOnly(target: String) {
        let foreign = #/#\s*include\s*<(?:systemd|elfutils|libelf|gelf|dwarf|libunwind|unwind)/#
        let found = SourceTree.files(below: "Sources/\(target)").filter(\.isC).flatMap { $0.places(matching: foreign) }
        #expect(found == [])
    }

    @Test("Public C headers define no feature macro: the module of Glibc was built without it")
    func publicHeadersDefineNoFeatureMacro() {
        let headers = SourceTree.files(below: "Sources").filter { $0.fileExtension == "h" }
        #expect(headers.flatMap { $0.places(matching: #/#\s*define\s+_\w+_SOURCE/#) } == [])
    }
}
