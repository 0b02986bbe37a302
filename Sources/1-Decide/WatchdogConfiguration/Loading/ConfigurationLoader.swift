// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Finds the files of apps: `NAME.app` and its drop-ins `NAME.app.d/*.conf`, sorted by name.
///
/// An instance `PREFIX@INSTANCE` has the drop-ins of `PREFIX@.app.d` and its own, sorted together; its own replaces one
/// with the same name. Names that start with a dot are ignored.
public struct ConfigurationLoader<FileSystem: ConfigurationFileSystem> {
    private let fileSystem: FileSystem
    private let specifiers: Specifiers

    /// Creates a loader.
    public init(_ fileSystem: FileSystem, specifiers: Specifiers) {
        self.fileSystem = fileSystem
        self.specifiers = specifiers
    }

    /// Loads every app of a directory.
    ///
    /// - Throws: ``ConfigurationReadError`` if the directory cannot be listed; problems of its contents are
    ///   diagnostics.
    public func load(directory: String) throws(ConfigurationReadError) -> ConfigurationListing {
        let prefix = directory.hasSuffix("/") ? directory : "\(directory)/"
        let names = Set(try fileSystem.names(in: directory).filter { !$0.hasPrefix(".") })
        var listing = ConfigurationListing()
        for fileName in names.sorted() {
            let path = prefix + fileName
            if fileName.hasSuffix(AppName.fileSuffix) {
                switch Self.name(ofFile: fileName) {
                case .success(let name): listing.apps.append(load(name, main: path, siblings: names, prefix))
                case .failure(let invalid):
                    listing.diagnostics.append(ConfigurationDiagnostic(.error, file: path, invalid.description))
                }
            } else if fileName.hasSuffix(Self.dropInSuffix), !names.contains(String(fileName.dropLast(2))) {
                listing.diagnostics.append(orphan(.warning, path, fileName, names))
            }
        }
        listing.apps.sort { $0.name < $1.name }
        return listing
    }

    /// Loads one app from its file, anywhere, with the drop-ins beside it.
    ///
    /// - Throws: ``ConfigurationReadError`` if the file cannot be read.
    public func load(file path: String) throws(ConfigurationReadError) -> ConfigurationListing {
        let fileName = path.split(separator: "/", omittingEmptySubsequences: false).last.map(String.init) ?? path
        var listing = ConfigurationListing()
        // Read first: a missing file explains more than an odd name does.
        let contents = try fileSystem.contents(of: path, limit: ConfigurationFile.maximumLength + 1)
        guard fileName.hasSuffix(AppName.fileSuffix) else {
            listing.diagnostics = [ConfigurationDiagnostic(.error, file: path, Self.advice(onFile: fileName))]
            return listing
        }
        switch Self.name(ofFile: fileName) {
        case .failure(let invalid):
            listing.diagnostics = [ConfigurationDiagnostic(.error, file: path, invalid.description)]
        case .success(let name):
            let main = ConfigurationFile(path: path, contents: contents)
            listing.apps = [complete(name, main, siblings: nil, String(path.dropLast(fileName.count)))]
        }
        return listing
    }

    /// Loads the app that a directory of drop-ins belongs to, with all of its drop-ins.
    ///
    /// - Returns: nil if the directory's name does not end in `.app.d`.
    /// - Throws: ``ConfigurationReadError`` if the directory that would contain the app cannot be listed.
    public func load(dropIns path: String) throws(ConfigurationReadError) -> ConfigurationListing? {
        let parts = path.split(separator: "/")
        guard let folder = parts.last.map(String.init), folder.hasSuffix(Self.dropInSuffix) else { return nil }
        let parent = (path.hasPrefix("/") ? "/" : "") + parts.dropLast().joined(separator: "/")
        let directory = parent.isEmpty ? "." : parent
        var listing = ConfigurationListing()
        switch Self.name(ofFile: String(folder.dropLast(2))) {
        case .failure(let invalid):
            listing.diagnostics = [ConfigurationDiagnostic(.error, file: path, invalid.description)]
        case .success(let name):
            if let app = try load(app: name, in: directory) {
                listing.apps = [app]
            } else {
                listing.diagnostics = [orphan(.error, path, folder, Set(try fileSystem.names(in: directory)))]
            }
        }
        return listing
    }

    /// Loads one app by name: from `NAME.app`, or from `PREFIX@.app` for an instance without its own file.
    ///
    /// - Returns: nil if there is neither.
    /// - Throws: ``ConfigurationReadError`` if the directory cannot be listed.
    public func load(app name: AppName, in directory: String) throws(ConfigurationReadError) -> AppDefinition? {
        let prefix = directory.hasSuffix("/") ? directory : "\(directory)/"
        let names = Set(try fileSystem.names(in: directory))
        let files = [name, name.template].compactMap { $0.map { $0.description + AppName.fileSuffix } }
        return files.first(where: names.contains).map { load(name, main: prefix + $0, siblings: names, prefix) }
    }

    /// The app name in a directory that is nearest to the given one; nil if none is close.
    public func nearestName(to name: String, in directory: String) -> String? {
        let files = (try? fileSystem.names(in: directory)) ?? []
        return Similarity.nearest(
            to: name,
            among: files.filter { $0.hasSuffix(AppName.fileSuffix) && !$0.hasPrefix(".") }.sorted()
                .map { String($0.dropLast(AppName.fileSuffix.count)) })
    }

    // MARK: - Names

    private static var dropInSuffix: String { AppName.fileSuffix + ".d" }

    private static func name(ofFile fileName: String) -> Result<AppName, AppName.Invalid> {
        Result { () throws(AppName.Invalid) in try AppName(String(fileName.dropLast(AppName.fileSuffix.count))) }
    }

    private static func advice(onFile fileName: String) -> String {
        fileName.hasSuffix(".conf")
            ? "the file of an app ends in .app; a drop-in is checked together with its app"
            : "the file of an app ends in .app"
    }

    private func orphan(
        _ severity: ConfigurationDiagnostic.Severity, _ path: String, _ fileName: String, _ names: Set<String>
    ) -> ConfigurationDiagnostic {
        let main = String(fileName.dropLast(2))
        let apps = names.filter { $0.hasSuffix(AppName.fileSuffix) }.sorted()
        return ConfigurationDiagnostic(
            severity, file: path, "there is no \(main) for these drop-ins",
            suggestion: Similarity.nearest(to: main, among: apps).map { $0 + ".d" })
    }

    // MARK: - Files

    private func load(_ name: AppName, main path: String, siblings: Set<String>, _ prefix: String) -> AppDefinition {
        do throws(ConfigurationReadError) {
            let contents = try fileSystem.contents(of: path, limit: ConfigurationFile.maximumLength + 1)
            return complete(name, ConfigurationFile(path: path, contents: contents), siblings: siblings, prefix)
        } catch {
            let diagnostic = ConfigurationDiagnostic(.error, file: path, error.description)
            return AppDefinition(name: name, unreadable: [diagnostic], files: [path])
        }
    }

    /// Adds the drop-ins to an app's main file.
    ///
    /// - Parameters:
    ///   - siblings: the names in the directory; nil if unknown.
    ///   - prefix: the directory's path with a slash, or empty.
    private func complete(
        _ name: AppName, _ main: ConfigurationFile, siblings: Set<String>?, _ prefix: String
    ) -> AppDefinition {
        var paths: [String: String] = [:]
        var unreadable: [ConfigurationDiagnostic] = []
        for owner in [name.template, name].compactMap(\.self) {
            let directory = owner.description + Self.dropInSuffix
            guard siblings?.contains(directory) ?? true else { continue }
            let path = prefix + directory
            do throws(ConfigurationReadError) {
                for dropIn in try fileSystem.names(in: path) where dropIn.hasSuffix(".conf") && !dropIn.hasPrefix(".") {
                    paths[dropIn] = "\(path)/\(dropIn)"
                }
            } catch  where !error.isMissing {
                unreadable.append(ConfigurationDiagnostic(.error, file: path, error.description))
            } catch {
                // Most apps have no drop-ins.
            }
        }
        var files = [main]
        for (_, path) in paths.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            do throws(ConfigurationReadError) {
                let contents = try fileSystem.contents(of: path, limit: ConfigurationFile.maximumLength + 1)
                files.append(ConfigurationFile(path: path, contents: contents))
            } catch {
                unreadable.append(ConfigurationDiagnostic(.error, file: path, error.description))
            }
        }
        let definition = AppDefinition(name: name, files: files, specifiers: specifiers)
        guard !unreadable.isEmpty else { return definition }
        return AppDefinition(
            name: name, unreadable: definition.diagnostics + unreadable, files: definition.files)
    }
}

/// The apps and diagnostics in a configuration directory.
public struct ConfigurationListing: Hashable, Sendable {
    /// The apps, valid or not, by name.
    public var apps: [AppDefinition] = []
    /// The diagnostics of files that belong to no app.
    public var diagnostics: [ConfigurationDiagnostic] = []

    /// Creates an empty listing.
    public init() {}
}

/// The two file system operations that loading a configuration needs.
public protocol ConfigurationFileSystem {
    /// The bytes of a regular file, at most `limit` of them.
    func contents(of path: String, limit: Int) throws(ConfigurationReadError) -> [UInt8]
    /// The names in a directory, in any order.
    func names(in directory: String) throws(ConfigurationReadError) -> [String]
    /// What a symbolic link contains; nil if there is none at the path.
    func link(at path: String) -> String?
}

extension ConfigurationFileSystem {
    /// Nil: a file system without links.
    public func link(at path: String) -> String? { nil }
}

/// A file or directory that could not be read.
public struct ConfigurationReadError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Whether it does not exist.
    public let isMissing: Bool
    /// "cannot open /x: Permission denied (EACCES)".
    public let description: String

    /// Creates an error.
    public init(isMissing: Bool, _ description: String) {
        self.isMissing = isMissing
        self.description = description
    }
}

/// A file that has been read.
public struct ConfigurationFile: Hashable, Sendable {
    /// The maximum length of a file, in bytes.
    public static let maximumLength = 4 << 20

    /// Its path for messages.
    public let path: String
    /// Its bytes, perhaps cut after ``maximumLength``.
    public let contents: [UInt8]

    /// Creates a file from its bytes.
    public init(path: String, contents: [UInt8]) {
        self.path = path
        self.contents = contents
    }

    /// Creates a file from text.
    public init(path: String, text: String) {
        self.init(path: path, contents: Array(text.utf8))
    }
}
