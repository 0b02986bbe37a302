// SPDX-License-Identifier: Apache-2.0

import WatchdogReport
import WatchdogVerdict

/// How to see the functions that a runtime interprets or compiles, if the stack lacks their names.
enum UnnamedFunctions {
    /// Where V8 runs a function that it has not compiled.
    private static let interpreter = "Builtins_InterpreterEntryTrampoline"

    /// One or two sentences; nil if the stack of the report's thread lacks no such name.
    static func advice(for report: Report) -> String? {
        guard let stack = report.decidingStack, !stack.calls.contains(where: { $0.language != nil }),
            stack.calls.contains(where: { isUnnamed($0) })
        else { return nil }
        let program = (report.body.procPath ?? "").split(separator: "/").last.map(String.init) ?? ""
        switch program {
        case "node", "nodejs":
            return "The stack has JavaScript functions, and their names were not found: start node with "
                + "--perf-basic-prof --interpreted-frames-native-stack to see them."
        case "java":
            return "The stack has code that the Java virtual machine generated, and its methods were not found: "
                + "jstack PID shows them while the program hangs, if --enforce report keeps it alive."
        case "dotnet": return "The stack has .NET methods without names: set DOTNET_PerfMapEnabled=1 to see them."
        case "beam.smp": return "The stack has Erlang functions without names: start erl with +JPperf map to see them."
        default:
            return
                "The stack has functions that the program generated as it ran, which are in no file: their names are "
                + "known only if its runtime writes them to /tmp/perf-PID.map."
        }
    }

    private static func isUnnamed(_ call: CallSite) -> Bool {
        call.function == interpreter
            || call.function == nil && call.image == BinaryImage.unknown.name && call.trust != .scan
    }
}
