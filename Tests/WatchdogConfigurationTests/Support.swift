// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration

/// The specifiers of a machine that is the same everywhere.
let specifiers: Specifiers = {
    var specifiers = Specifiers.system
    specifiers.hostName = "web1.example.org"
    specifiers.machineID = "0123456789abcdef0123456789abcdef"
    specifiers.bootID = "fedcba9876543210fedcba9876543210"
    specifiers.kernelRelease = "6.18.0-1-amd64"
    return specifiers
}()

/// An app of one file, and possibly drop-ins.
func app(
    _ text: String, _ dropIns: String..., name: String = "web", specifiers: Specifiers = specifiers
) throws -> AppDefinition {
    let main = ConfigurationFile(path: "\(name).app", text: text)
    let others = dropIns.enumerated().map {
        ConfigurationFile(path: "\(name).app.d/\($0.offset + 1).conf", text: $0.element)
    }
    return AppDefinition(name: try AppName(name), files: [main] + others, specifiers: specifiers)
}

/// An app that is valid except for further lines in one section; they begin at line 3 in `[App]`, otherwise at line 4.
func app(in section: String, _ lines: String, name: String = "web") throws -> AppDefinition {
    let command = "[App]\nExecStart=/bin/web\n"
    return try app(command + (section == "App" ? "" : "[\(section)]\n") + lines + "\n", name: name)
}

/// The configuration of such an app, which must be without errors and warnings.
func configuration(in section: String, _ lines: String, name: String = "web") throws -> AppConfiguration {
    let app = try app(in: section, lines, name: name)
    try #require(app.diagnostics.map(\.description) == [])
    return try #require(app.configuration)
}

extension AppDefinition {
    /// The diagnostics as lines, without the name of the main file.
    var lines: [String] {
        diagnostics.map(\.description).map { $0.hasPrefix("web.app:") ? String($0.dropFirst("web.app:".count)) : $0 }
    }

    var messages: [String] { diagnostics.map(\.message) }
}
