// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import WatchdogBase

/// The program that a test launches.
public struct Program: Sendable, ExpressibleByStringLiteral {
    enum Place: Sendable {
        case product(String)
        case path(String)
    }

    let place: Place
    let arguments: [String]

    /// An executable target of the package under test, on which the test target must depend.
    ///
    /// It is found beside the test runner, where SwiftPM builds it.
    public static func product(_ name: String, _ arguments: String...) -> Program {
        Program(place: .product(name), arguments: arguments)
    }

    /// Any program: a path, or a name to search in `PATH`.
    public static func command(_ path: String, _ arguments: String...) -> Program {
        Program(place: .path(path), arguments: arguments)
    }

    /// Any program with a list of arguments.
    public static func command(_ path: String, arguments: [String]) -> Program {
        Program(place: .path(path), arguments: arguments)
    }

    /// Creates a program: a text with a slash is a path, any other is the name of an executable target.
    public init(stringLiteral text: String) {
        self.init(place: text.contains("/") ? .path(text) : .product(text), arguments: [])
    }

    private init(place: Place, arguments: [String]) {
        self.place = place
        self.arguments = arguments
    }

    var name: String {
        switch place {
        case .product(let name): name
        case .path(let path): path.split(separator: "/").last.map(String.init) ?? path
        }
    }

    /// The path to execute.
    ///
    /// - Throws: ``TestSetupError`` with the places that were searched.
    func path() throws(TestSetupError) -> String {
        switch place {
        case .path(let path):
            guard !path.isEmpty else { throw TestSetupError("the program's path is empty") }
            guard path.contains("/"), access(path, X_OK) != 0 else { return path }
            throw TestSetupError("'\(path)' is not an executable file (\(String(cString: strerror(errno))))")
        case .product(let name):
            for directory in Installation.buildDirectories {
                let path = "\(directory)/\(name)"
                if Installation.isExecutable(path) { return path }
            }
            throw missing(name)
        }
    }

    private func missing(_ name: String) -> TestSetupError {
        let directories = Installation.buildDirectories
        let neighbors = directories.flatMap { directory in
            ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [])
                .filter { Installation.isExecutable("\(directory)/\($0)") }
        }
        let advice =
            Similarity.nearest(to: name, among: neighbors).map { "did you mean '\($0)'?" }
            ?? "add the executable target to the dependencies of the test target, or write .command(PATH)"
        return TestSetupError(
            "no executable '\(name)' in \(directories.joined(separator: " or ")); \(advice)")
    }
}

/// A failed setup of a test, which is not the app's fault.
public struct TestSetupError: Error, Sendable, CustomStringConvertible {
    /// The error: one sentence without a period.
    public let description: String

    init(_ description: String) { self.description = description }
}

/// A failed expectation about an app.
public struct ExpectationFailure: Error, Sendable, CustomStringConvertible {
    /// The expectation, the app's actual behavior, the verdict, and the path of the crash log.
    public let description: String

    init(_ description: String) { self.description = description }
}
