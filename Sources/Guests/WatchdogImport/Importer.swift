// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogConfiguration

/// Converts other service managers' files to app files.
///
/// It writes no files. Every result has been checked by the parser of app files and is valid.
public struct Importer<FileSystem: ConfigurationFileSystem> {
    let fileSystem: FileSystem
    let specifiers: Specifiers
    private let workingDirectory: String

    /// Creates an importer.
    ///
    /// - Parameters:
    ///   - specifiers: the values of `%` specifiers for the check of the result.
    ///   - workingDirectory: the base of relative paths.
    public init(_ fileSystem: FileSystem, specifiers: Specifiers, workingDirectory: String) {
        self.fileSystem = fileSystem
        self.specifiers = specifiers
        self.workingDirectory = workingDirectory
    }

    /// Imports a file or a service folder.
    ///
    /// - Parameters:
    ///   - path: the file or folder.
    ///   - format: the format of the file; nil to guess.
    ///   - name: the app's name; nil to derive it from the file. Valid only for files with a single app.
    /// - Throws: ``ImportError`` for the first error that prevents the import.
    public func importing(
        _ path: String, format: ImportFormat? = nil, name: String? = nil
    ) throws(ImportError) -> ImportResult {
        var result = try imported(path, format, name)
        result.notes = result.notes.sorted
        result.apps = result.apps.map(\.advised)
        return result
    }

    private func imported(
        _ path: String, _ format: ImportFormat?, _ name: String?
    ) throws(ImportError) -> ImportResult {
        let whole = ImportPlace(file: path)
        if format == .runit || (format == nil && (try? fileSystem.names(in: path)) != nil) {
            let folder = try folder(absolute(path))
            let name = try appName(name ?? Self.lastPart(folder.path), whole)
            return try ServiceFolderImport.result(name: name, folder: folder, specifiers: specifiers)
        }
        let isUnit = format == .systemd || format == nil && path.hasSuffix(".service")
        let unit = isUnit ? try linkedUnit(at: path) : nil
        let file = try read(unit?.path ?? path)
        guard let format = format ?? ImportFormat.guess(file) else {
            let formats = ImportFormat.allCases.map(\.rawValue).joined(separator: ", ")
            throw ImportError(
                whole, "cannot tell which service manager this file is for; add --format with one of \(formats)")
        }
        switch format {
        case .systemd: return try systemd(file, unit ?? UnitPlace(path), path, name)
        case .supervisord, .monit, .compose:
            guard name == nil else {
                throw ImportError(
                    whole, "--name is for a unit or a service folder; this file names its programs itself")
            }
            switch format {
            case .supervisord:
                return try SupervisordImport.result(
                    source: SupervisordImport.Source(file: file, folder: parent(of: path)), specifiers: specifiers,
                    matching: { pattern throws(ImportError) in try sources(matching: pattern) })
            case .monit:
                return try MonitImport.result(file: file, specifiers: specifiers) { pattern throws(ImportError) in
                    // monit skips folders.
                    try sources(matching: pattern, isFile: { (try? fileSystem.names(in: $0)) == nil }).map(\.file)
                }
            default:
                return try ComposeImport.result(
                    file: file, folder: parent(of: path), specifiers: specifiers,
                    reading: { path throws(ImportError) in try readIfThere(path) })
            }
        case .runit: preconditionFailure("a folder is not a file")
        }
    }

    func appName(_ text: String, _ place: ImportPlace) throws(ImportError) -> AppName {
        do throws(AppName.Invalid) {
            return try AppName(text)
        } catch {
            throw ImportError(place, "\(error.description); choose a name with --name NAME")
        }
    }

    func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/") else { return path }
        var parts = workingDirectory.split(separator: "/")[...]
        for part in path.split(separator: "/") where part != "." {
            if part == ".." { parts = parts.dropLast() } else { parts.append(part) }
        }
        return "/" + parts.joined(separator: "/")
    }

    /// The absolute path of a file's folder, without a trailing slash.
    private func parent(of path: String) -> String {
        absolute(path).split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    }

    static func lastPart(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

    // MARK: - Reading

    func read(_ path: String) throws(ImportError) -> ConfigurationFile {
        guard let file = try readIfThere(path, mayBeMissing: false) else {
            preconditionFailure("a missing file throws")
        }
        return file
    }

    /// Reads a file; nil if it does not exist.
    private func readIfThere(_ path: String, mayBeMissing: Bool = true) throws(ImportError) -> ConfigurationFile? {
        do throws(ConfigurationReadError) {
            let contents = try fileSystem.contents(of: path, limit: ForeignText.maximumLength + 1)
            guard contents.count <= ForeignText.maximumLength else {
                throw ConfigurationReadError(isMissing: false, "the file is longer than 1 MiB")
            }
            return ConfigurationFile(path: path, contents: contents)
        } catch {
            if mayBeMissing, error.isMissing { return nil }
            throw ImportError(ImportPlace(file: path), error.description, isUnreadable: true)
        }
    }

    private func folder(_ path: String) throws(ImportError) -> ServiceFolder {
        let trimmed = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        let whole = ImportPlace(file: trimmed)
        do throws(ConfigurationReadError) {
            let names = try fileSystem.names(in: trimmed)
            var files: [String: [UInt8]] = [:]
            for name in ServiceFolder.read where names.contains(name) {
                files[name] = try fileSystem.contents(of: "\(trimmed)/\(name)", limit: ServiceFolder.maximumLength)
            }
            return ServiceFolder(path: trimmed, names: Set(names), files: files)
        } catch {
            throw ImportError(whole, error.description, isUnreadable: true)
        }
    }

    /// The maximum number of files that a pattern may match.
    private static var maximumCount: Int { 1_000 }

    /// The files that match an absolute path with wildcards, in the order of their paths.
    private func sources(
        matching pattern: String, isFile: (String) -> Bool = { _ in true }
    ) throws(ImportError) -> [SupervisordImport.Source] {
        var paths = [""]
        for part in pattern.split(separator: "/") {
            guard Wildcard.isIn(part) else {
                paths = paths.map { "\($0)/\(part)" }
                continue
            }
            paths = paths.flatMap { folder in
                ((try? fileSystem.names(in: folder.isEmpty ? "/" : folder)) ?? [])
                    .filter { Wildcard.matches($0, part) }.map { "\(folder)/\($0)" }
            }
            guard paths.count <= Self.maximumCount else {
                throw ImportError(ImportPlace(file: pattern), "the pattern matches more than 1,000 files")
            }
        }
        var sources: [SupervisordImport.Source] = []
        for path in paths.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) where isFile(path) {
            do throws(ConfigurationReadError) {
                let contents = try fileSystem.contents(of: path, limit: ForeignText.maximumLength + 1)
                let file = ConfigurationFile(path: path, contents: contents)
                sources.append(SupervisordImport.Source(file: file, folder: parent(of: path)))
            } catch {
                guard error.isMissing else {
                    throw ImportError(ImportPlace(file: path), error.description, isUnreadable: true)
                }
            }
        }
        return sources
    }
}
