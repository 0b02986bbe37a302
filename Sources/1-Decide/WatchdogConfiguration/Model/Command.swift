// SPDX-License-Identifier: Apache-2.0

/// A command line of `ExecStart=`, `ExecStartPre=` or `ExecReload=`, with specifiers expanded but not variables.
public struct Command: Hashable, Sendable, Codable {
    /// The program: an absolute path, or a file name to search for in `PATH`.
    public var program: String
    /// The arguments, starting with argv[0].
    ///
    /// They may contain variables: ``argumentsReplacingVariables(_:)``.
    public var arguments: [String]
    /// `-`: its failure counts as success.
    public var ignoresFailure = false
    /// `+`: it runs as the daemon's user, regardless of `User=` and `Group=`.
    public var isPrivileged = false
    /// False after `:`: `$` is an ordinary character.
    public var replacesVariables = true

    private enum CodingKeys: String, CodingKey {
        case program, arguments, ignoresFailure, isPrivileged, replacesVariables
    }

    /// Creates a command without prefixes.
    public init(program: String, arguments: [String]) {
        self.program = program
        self.arguments = arguments
    }

    /// The arguments with variables expanded as in systemd.service(5).
    ///
    /// A word `$NAME` becomes the words of the variable's value, split at blanks outside quotes, or none. `${NAME}`
    /// anywhere becomes the unmodified value, or nothing. `$$` becomes `$`.
    ///
    /// - Parameter environment: returns the value of a variable; nil if it is not set.
    public func argumentsReplacingVariables(_ environment: (String) -> String?) -> [String] {
        guard replacesVariables else { return arguments }
        return arguments.flatMap { argument in
            if let name = Variables.name(ofWord: argument) {
                return environment(name).map(Variables.words) ?? []
            }
            return [Variables.replaced(in: argument, environment)]
        }
    }
}
