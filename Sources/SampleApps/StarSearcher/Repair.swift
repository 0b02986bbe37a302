// SPDX-License-Identifier: Apache-2.0

import SampleSupport

/// The repairs, each of which can be applied alone.
enum Repair: String, CaseIterable, Sendable {
    case logger = "system-logger"
    case priority
    case firstRows = "first-rows"
    case details = "details-on-demand"

    /// The repairs that the command line asks for; exits with 64 if it is wrong.
    static func chosen(by arguments: Arguments) -> Set<Repair> {
        if arguments.has("--fast") { return Set(allCases) }
        let names = arguments["--repair"]?.split(separator: ",").map(String.init) ?? []
        guard arguments.has("--slow") || arguments.has("--prepare") || !names.isEmpty else {
            arguments.fail("--slow, --fast or --repair is missing")
        }
        return Set(
            names.map { name in
                guard let repair = Repair(rawValue: name) else {
                    let choices = allCases.map(\.rawValue).joined(separator: ", ")
                    arguments.fail("unknown repair '\(name)'; use one of: \(choices)")
                }
                return repair
            })
    }
}
