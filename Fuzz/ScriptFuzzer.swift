// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

@testable import WatchdogConfiguration

/// Whatever somebody writes as a script is read whole or refused with places that exist.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzScript(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let file = ConfigurationFile(path: "script", contents: Array(UnsafeBufferPointer(start: start, count: count)))
    let lines = file.contents.count { $0 == 0x0a } + 1
    do throws(LifecycleScript.Failure) {
        let script = try LifecycleScript(parsing: file)
        guard case .launch = script.steps.first?.command else { preconditionFailure("nothing is launched") }
        precondition(script.steps.allSatisfy { (1...lines).contains($0.line) })
        for step in script.steps {
            if case .request(.event(let kind, let payload, _)) = step.command {
                precondition(!kind.isEmpty && kind.utf8.count <= 64 && payload.utf8.count <= 2_048)
                precondition(!payload.contains("\n"))
            }
        }
    } catch {
        precondition(!error.diagnostics.isEmpty && error.diagnostics.count <= 201)
        for diagnostic in error.diagnostics {
            precondition((1...lines).contains(diagnostic.line ?? 1) && (diagnostic.column ?? 1) >= 1)
            precondition(diagnostic.text.utf8.count <= 4_096)
        }
    }
    return 0
}
