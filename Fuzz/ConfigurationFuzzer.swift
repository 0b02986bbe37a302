// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

@testable import WatchdogConfiguration

/// Whatever somebody writes into an app's file and its drop-ins is read or refused, with places that exist and messages
/// that fit.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzConfiguration(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    let files = split(input).enumerated().map {
        ConfigurationFile(path: $0.offset == 0 ? "web@1.app" : "web@1.app.d/\($0.offset).conf", contents: $0.element)
    }
    guard let name = try? AppName("web@1") else { preconditionFailure("the name is valid") }
    let app = AppDefinition(name: name, files: files, specifiers: .system)

    let hasErrors = app.diagnostics.contains { $0.severity == .error }
    precondition(hasErrors == (app.configuration == nil))
    precondition(app.diagnostics.count <= 201 + files.count)
    for diagnostic in app.diagnostics {
        check(diagnostic)
        guard let line = diagnostic.line else { continue }
        guard let file = files.first(where: { $0.path == diagnostic.file }) else { preconditionFailure("no such file") }
        precondition(line >= 1 && line <= file.contents.count { $0 == 0x0a } + 1)
    }
    if let configuration = app.configuration {
        precondition(configuration.spec.name == "web@1")
        precondition(configuration == AppDefinition(name: name, files: files, specifiers: .system).configuration)
        for command in [configuration.program.command] + configuration.program.preparations {
            precondition(command.argumentsReplacingVariables { _ in nil }.count <= command.arguments.count)
            _ = command.argumentsReplacingVariables { $0 + " 'a b' \\" }
        }
    }

    let variables = EnvironmentFile.read(ConfigurationFile(path: "/etc/default/web", contents: input))
    for diagnostic in variables.diagnostics { check(diagnostic) }
    precondition(variables.variables.allSatisfy { Variables.isName($0.name) && !$0.value.utf8.contains(0) })
    return 0
}

private func check(_ diagnostic: ConfigurationDiagnostic) {
    precondition((diagnostic.column ?? 1) >= 1)
    let text = diagnostic.text
    precondition(text.utf8.count <= 4096)
    precondition(text.unicodeScalars.allSatisfy { $0 == "\n" || $0.isPrintable })
}

/// The parts between lines `---`.
private func split(_ bytes: [UInt8]) -> [[UInt8]] {
    let mark = Array("\n---\n".utf8)
    var parts: [[UInt8]] = []
    var part: [UInt8] = []
    var index = 0
    while index < bytes.count {
        if bytes.count - index >= mark.count, bytes[index..<(index + mark.count)].elementsEqual(mark), parts.count < 8 {
            parts.append(part)
            part = []
            index += mark.count
        } else {
            part.append(bytes[index])
            index += 1
        }
    }
    return parts + [part]
}
