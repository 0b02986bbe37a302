// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
public import WatchdogLinux

/// Searches directories for debug files: first at the usual places, then recursively, within limits.
///
/// A file counts only if its own build ID matches; names are only hints.
public struct DebugFileSearch {
    /// The limits of a search.
    public struct Limits: Sendable, Equatable {
        /// The maximum number of files and directories to inspect.
        public var entries = 50_000
        /// The maximum depth of nested directories.
        public var depth = 12
        /// The maximum wall-clock time.
        public var time: Duration = .seconds(20)

        /// Creates the default limits.
        public init() {}
    }

    private let directories: [String]
    private let limits: Limits
    private var found: [String: DebugFile] = [:]
    /// The reasons why candidate files cannot be used, by build ID.
    private var impostors: [String: String] = [:]
    private var entries = 0
    /// The reason why the search ended early; nil if it did not.
    public private(set) var truncation: String?
    /// A description of what was skipped while the search continued; nil if nothing was.
    public private(set) var omission: String?

    /// Creates a search, which reads nothing before ``find(_:)``.
    public init(in directories: [String], limits: Limits = Limits()) {
        self.directories = directories.map { $0.count > 1 && $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
        self.limits = limits
    }

    /// Searches for the files of some images.
    ///
    /// - Returns: the files found, by build ID.
    public mutating func find(_ wanted: [DebugFile.Wanted]) -> [String: DebugFile] {
        for image in wanted where found[image.buildID] == nil {
            for path in candidates(image) {
                if let file = examine(path, for: image) {
                    found[image.buildID] = file
                    break
                }
            }
        }
        let missing = Dictionary(
            wanted.filter { found[$0.buildID] == nil }.map { ($0.buildID, $0) }, uniquingKeysWith: { first, _ in first }
        )
        if !missing.isEmpty {
            let deadline = Instant.now() + limits.time
            for directory in directories { walk(directory, 0, missing, until: deadline) }
        }
        return found
    }

    /// Searches for images at their paths in the process; an image counts if it has symbols.
    ///
    /// The paths are untrusted. Root opens only files that no other user can have placed there, and none on FUSE or
    /// network file systems, which can block forever.
    public mutating func findPrograms(_ wanted: [DebugFile.Wanted]) {
        for image in wanted where found[image.buildID] == nil && Self.isPlain(image.path) {
            let folder = image.path.split(separator: "/").dropLast().joined(separator: "/")
            guard !MountTable.isServed(image.path), geteuid() != 0 || GuardedPath.isTrusted(folder: "/\(folder)"),
                let file = examine(image.path, for: image)
            else { continue }
            found[image.buildID] = file
        }
    }

    /// The reason why the file found as an image's debug file cannot be used; nil if no file was found.
    public func impostor(of image: DebugFile.Wanted) -> String? { impostors[image.buildID] }

    /// The paths at which distributions, objcopy(1) and people usually place debug files.
    private func candidates(_ image: DebugFile.Wanted) -> [String] {
        directories.flatMap { directory -> [String] in
            var paths = ["\(directory)/.build-id/\(image.buildID.prefix(2))/\(image.buildID.dropFirst(2)).debug"]
            guard Self.isPlain(image.path), Self.isName(image.name) else { return paths }
            let folder = image.path.split(separator: "/").dropLast().joined(separator: "/")
            paths += [
                "\(directory)\(image.path).debug", "\(directory)/\(folder)/.debug/\(image.name).debug",
                "\(directory)/\(image.name).debug", "\(directory)/\(image.name)", "\(directory)\(image.path)",
            ]
            return paths
        }
    }

    /// Whether a name is a single path component; the report is untrusted.
    private static func isName(_ name: String) -> Bool {
        !["", ".", ".."].contains(name) && !name.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") }
            && name.utf8.count < 256
    }

    /// Whether a path is absolute and free of `..`, because the report is untrusted.
    private static func isPlain(_ path: String) -> Bool {
        path.hasPrefix("/") && !path.split(separator: "/").contains("..") && path.utf8.count < 2_048
            && !path.utf8.contains(0)
    }

    private mutating func examine(_ path: String, for image: DebugFile.Wanted) -> DebugFile? {
        guard let descriptor = try? OwnedDescriptor.regularFile(at: ByteString(path)) else { return nil }
        guard let identifier = BuildID.read(debugFile: descriptor.number) else { return nil }
        guard identifier == image.buildID else {
            if impostors[image.buildID] == nil {
                impostors[image.buildID] = "\(path) is of another build: its build-id is \(identifier)"
            }
            return nil
        }
        guard BuildID.hasSymbols(descriptor: descriptor.number) else {
            impostors[image.buildID] = "\(path) is of the right build, but stripped"
            return nil
        }
        return DebugFile(descriptor: descriptor, path: path)
    }

    // MARK: - Everywhere

    private mutating func walk(
        _ directory: String, _ depth: Int, _ missing: [String: DebugFile.Wanted], until deadline: Instant
    ) {
        guard truncation == nil, missing.keys.contains(where: { found[$0] == nil }) else { return }
        guard let stream = opendir(directory) else { return }
        defer { closedir(stream) }
        var folders: [String] = []
        while let entry = readdir(stream) {
            entries += 1
            guard entries <= limits.entries else { return cut("\(limits.entries) files") }
            guard entries % 64 != 0 || Instant.now() < deadline else { return cut("\(limits.time)") }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name != ".", name != ".." else { continue }
            let path = "\(directory)/\(name)"
            switch Int(entry.pointee.d_type) {
            case Int(DT_DIR): folders.append(path)
            case Int(DT_REG): look(at: path, missing)
            case Int(DT_UNKNOWN):
                var status = stat()
                guard lstat(path, &status) == 0 else { continue }
                if status.st_mode & S_IFMT == S_IFDIR { folders.append(path) } else { look(at: path, missing) }
            default: continue
            }
        }
        guard depth < limits.depth || folders.isEmpty else {
            omission = "directories more than \(limits.depth) deep were passed over"
            return
        }
        for folder in folders.sorted() { walk(folder, depth + 1, missing, until: deadline) }
    }

    private mutating func look(at path: String, _ missing: [String: DebugFile.Wanted]) {
        guard let descriptor = try? OwnedDescriptor.regularFile(at: ByteString(path)),
            let identifier = BuildID.read(debugFile: descriptor.number),
            missing[identifier] != nil, found[identifier] == nil
        else { return }
        guard BuildID.hasSymbols(descriptor: descriptor.number) else {
            impostors[identifier] = "\(path) is of the right build, but stripped"
            return
        }
        found[identifier] = DebugFile(descriptor: descriptor, path: path)
    }

    private mutating func cut(_ limit: String) { truncation = truncation ?? "the search ended after \(limit)" }
}

/// A file with debug data for one image, identified by its build ID.
public struct DebugFile: Sendable {
    /// An image that needs debug data.
    public struct Wanted: Hashable, Sendable {
        /// The build ID in lower-case hexadecimal, at least two digits.
        public let buildID: String
        /// The name of the image.
        public let name: String
        /// The path in the process.
        public let path: String

        /// Creates a description; checks nothing.
        public init(buildID: String, name: String, path: String) {
            self.buildID = buildID
            self.name = name
            self.path = path
        }
    }

    /// The open file, for reading.
    public let descriptor: OwnedDescriptor
    /// The path at which it was found.
    public let path: String
}
