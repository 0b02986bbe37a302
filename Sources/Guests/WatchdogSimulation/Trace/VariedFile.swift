// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogConfiguration
import WatchdogLaunch

/// An app's file with some settings changed, as a last drop-in would.
public struct VariedFile: ConfigurationFileSystem {
    /// A setting of the section `[Watchdog]`: `Update=5s`.
    public struct Setting: Hashable, Sendable {
        fileprivate let text: String

        /// Parses a setting; nil unless it has the form `KEY=VALUE` on one line.
        public init?(_ text: String) {
            let key = text.prefix { $0 != "=" }
            guard !key.isEmpty, key.count < text.count, key.allSatisfy({ $0.isASCII && $0.isLetter }),
                !text.contains(where: \.isNewline)
            else { return nil }
            self.text = text
        }
    }

    private static let name = "~set.conf"

    private let path: String
    private let settings: [Setting]
    private let host = HostFileSystem()

    private init(_ path: String, _ settings: [Setting]) {
        (self.path, self.settings) = (path, settings)
    }

    /// Reads an app's file, with its own drop-ins and these settings.
    ///
    /// - Throws: ``ConfigurationReadError`` if the file cannot be read.
    public static func load(
        _ path: String, setting settings: [Setting]
    ) throws(ConfigurationReadError) -> ConfigurationListing {
        try ConfigurationLoader(VariedFile(path, settings), specifiers: .host).load(file: path)
    }

    /// A diagnostic in words that name the option for what is wrong with a setting.
    public static func words(for diagnostic: ConfigurationDiagnostic, in path: String) -> String {
        let words = diagnostic.description
        let start = "\(path).d/\(name):"
        guard words.hasPrefix(start) else { return words }
        // Without line and column.
        return "--set:" + words.dropFirst(start.count).drop { $0.isNumber || $0 == ":" }
    }

    /// The contents of a file, or the changed settings.
    public func contents(of path: String, limit: Int) throws(ConfigurationReadError) -> [UInt8] {
        guard path == "\(self.path).d/\(Self.name)" else { return try host.contents(of: path, limit: limit) }
        return Array("[Watchdog]\n\(settings.map { $0.text + "\n" }.joined())".utf8)
    }

    /// The names in a directory, and that of the changed settings.
    public func names(in directory: String) throws(ConfigurationReadError) -> [String] {
        guard directory == "\(path).d", !settings.isEmpty else { return try host.names(in: directory) }
        return ((try? host.names(in: directory)) ?? []) + [Self.name]
    }
}
