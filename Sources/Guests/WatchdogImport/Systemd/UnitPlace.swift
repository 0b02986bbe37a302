// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

/// The location of a unit: systemd.unit(5).
struct UnitPlace {
    /// The path of the unit's file, or of a link to the unit.
    var path: String
    /// The complete name of the unit, which differs from the file name for an instance.
    var name: String
    /// The folders of its drop-ins, each with a trailing slash, in order of precedence.
    var folders: [String]

    init(path: String, name: String, folders: [String]) {
        (self.path, self.name, self.folders) = (path, name, folders)
    }

    /// Creates a location for a file that is not a link.
    init(_ path: String) {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        let folder = String(path.dropLast(name.count))
        self.init(path: path, name: name, folders: SystemdPaths.folders(besides: folder))
    }
}

extension Importer {
    /// The kernel's limit of links to follow: path_resolution(7).
    private static var maximumLinks: Int { 40 }

    /// Imports a unit.
    ///
    /// - Parameter path: the path from the user, which may be a link to the file.
    func systemd(
        _ file: ConfigurationFile, _ unit: UnitPlace, _ path: String, _ name: String?
    ) throws(ImportError) -> ImportResult {
        let whole = ImportPlace(file: path)
        let suffix = ".service"
        let stem = unit.name.hasSuffix(suffix) ? String(unit.name.dropLast(suffix.count)) : unit.name
        var result = try SystemdImport.result(
            name: try appName(name ?? stem, whole), unit: unit.name, files: [file] + (try dropIns(of: unit)),
            specifiers: specifiers)
        func note(_ message: String) {
            result.notes.append(ImportNote(kind: .changed, place: whole, message: message))
        }
        let asked = Self.lastPart(path)
        if asked != unit.name {
            note("\(asked.singleLine()) is another name of \(unit.name.singleLine()), which is imported")
        }
        if let other = replacement(of: unit) {
            let shown = other.singleLine()
            note(
                isMasked(other)
                    ? "systemd starts nothing of this name, because \(shown) masks it"
                    : "systemd reads \(shown) instead of this file; import that one")
        }
        return result
    }

    /// The unit to which a link refers; nil if the path is not a link.
    ///
    /// - Throws: ``ImportError`` if the unit is masked.
    func linkedUnit(at path: String) throws(ImportError) -> UnitPlace? {
        var place: UnitPlace?
        for _ in 0..<Self.maximumLinks {
            let here = place?.path ?? absolute(path)
            let (folder, name) = Self.split(here)
            guard let target = target(of: here) else { return place.map { _ in UnitPlace(here) } }
            guard target != "/dev/null" else {
                let message = "the unit is masked by a link to /dev/null: systemd starts nothing of this name"
                throw ImportError(ImportPlace(file: path), message)
            }
            let (outer, last) = Self.split(String(folder.dropLast()))
            if [".wants", ".requires", ".upholds"].contains(where: last.hasSuffix) {
                // In these folders, only the link's name matters.
                let folders = SystemdPaths.folders(besides: outer)
                guard let found = self.path(ofUnit: name, in: folders), Self.split(found).name == name else {
                    return UnitPlace(path: here, name: name, folders: folders)
                }
                place = UnitPlace(path: found, name: name, folders: folders)
                continue
            }
            let (targetFolder, targetName) = Self.split(target)
            let folders = SystemdPaths.folders(besides: folder)
            // A target outside systemd's folders, or the link's template, is the file of this unit, not another unit.
            guard folders.contains(targetFolder), SystemdPaths.template(of: name) != targetName else {
                return UnitPlace(path: here, name: name, folders: folders)
            }
            if let instance = SystemdPaths.instance(of: targetName, like: name) {
                return UnitPlace(path: target, name: instance, folders: folders)
            }
            place = UnitPlace(path: target, name: targetName, folders: folders)
        }
        throw ImportError(ImportPlace(file: path), "the links never end", isUnreadable: true)
    }

    /// The absolute path that a link contains; nil for other files.
    private func target(of path: String) -> String? {
        guard let text = fileSystem.link(at: path), !text.isEmpty else { return nil }
        var parts: [Substring] = []
        for part in (text.hasPrefix("/") ? text : Self.split(path).folder + text).split(separator: "/") {
            if part == ".." { parts = parts.dropLast() } else if part != "." { parts.append(part) }
        }
        return "/" + parts.joined(separator: "/")
    }

    /// The folder, with a trailing slash, and the file name.
    private static func split(_ path: String) -> (folder: String, name: String) {
        let name = lastPart(path)
        return (String(path.dropLast(name.count)), name)
    }

    /// Whether links lead to `/dev/null`.
    private func isMasked(_ path: String) -> Bool {
        var path = path
        for _ in 0..<Self.maximumLinks {
            guard let target = target(of: path) else { break }
            path = target
        }
        return path == "/dev/null"
    }

    // MARK: - Folders

    private func names(in folder: String) -> [String] { (try? fileSystem.names(in: String(folder.dropLast()))) ?? [] }

    /// The file of one of the system's units, or of its template; nil without one.
    func path(ofUnit unit: String, in folders: [String] = SystemdPaths.system) -> String? {
        for name in [unit, SystemdPaths.template(of: unit)].compactMap(\.self) {
            for folder in folders where names(in: folder).contains(name) { return folder + name }
        }
        return nil
    }

    /// The file of the same name in a folder with a higher precedence than that of a unit.
    private func replacement(of unit: UnitPlace) -> String? {
        let own = Self.split(unit.path).folder
        guard unit.folders.contains(own) else { return nil }
        return unit.folders.prefix { $0 != own }.first { names(in: $0).contains(unit.name) }.map { $0 + unit.name }
    }

    /// The other names of a unit: links to its file.
    private func aliases(of unit: UnitPlace) -> [String] {
        unit.folders.flatMap { folder in
            names(in: folder).filter { name in
                guard name.hasSuffix(".service"), name != unit.name else { return false }
                var path = folder + name
                for _ in 0..<Self.maximumLinks {
                    guard let target = target(of: path), unit.folders.contains(Self.split(target).folder) else {
                        return false
                    }
                    if Self.split(target).name == unit.name { return true }
                    path = target
                }
                return false
            }.sorted()
        }
    }

    /// The drop-ins beside a unit and, for a unit of the system, those in other folders.
    ///
    /// Those of its aliases apply, too. A link to `/dev/null` only masks others of its name.
    func dropIns(of unit: UnitPlace) throws(ImportError) -> [ConfigurationFile] {
        let names = ([unit.name] + aliases(of: unit)).flatMap(SystemdPaths.dropIns)
        let directories =
            unit.folders.flatMap { folder in names.map { folder + $0 } }
            + unit.folders.map { $0 + SystemdPaths.allServices }
        // A file of the same name in an earlier folder replaces one in a later folder.
        var paths: [String: String] = [:]
        for directory in directories {
            for name in (try? fileSystem.names(in: directory)) ?? [] where name.hasSuffix(".conf") {
                if paths[name] == nil { paths[name] = "\(directory)/\(name)" }
            }
        }
        var files: [ConfigurationFile] = []
        for (_, path) in paths.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) })
        where !isMasked(path) {
            files.append(try read(path))
        }
        return files
    }
}
