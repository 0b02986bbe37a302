// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A folder that was looked up once, and the name of a file in it.
///
/// All steps of a replacement happen in that folder, wherever it is moved meanwhile, and whatever takes its place.
public struct FilePlace: Sendable {
    /// The path by which it was found.
    public let path: String
    /// The file's name in the folder.
    public let name: String
    /// Whether it is a link of procfs, such as `/dev/stdout`, which only the kernel can follow.
    public let isMagic: Bool
    /// The folder.
    package let descriptor: OwnedDescriptor

    /// Finds the folder; root follows no link on the way that somebody else can have made.
    ///
    /// - Throws: ``LinuxError`` if there is no such folder, or a link is not to be followed.
    public init(_ path: String) throws(LinuxError) {
        self.path = path
        if geteuid() == 0 {
            (descriptor, name, isMagic) = try GuardedPath(Self.absolute(path)).place
            return
        }
        isMagic = false
        let slash = path.lastIndex(of: "/")
        name = String(path[(slash.map { path.index(after: $0) } ?? path.startIndex)...])
        let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        descriptor = try OwnedDescriptor(opening: parent, flags: wd_open_path | O_DIRECTORY)
    }

    /// Another name in the same folder.
    func beside(_ name: String) -> FilePlace { FilePlace(name, beside: self) }

    private init(_ name: String, beside other: FilePlace) {
        let end = other.path.lastIndex(of: "/").map { other.path.index(after: $0) } ?? other.path.startIndex
        path = other.path[..<end] + name
        self.name = name
        isMagic = false
        descriptor = other.descriptor
    }

    /// The folder, for `openat` and its like, as long as the place exists.
    public var folder: Int32 { descriptor.number }

    /// From the root on, it is known who can move each folder.
    private static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/"), let here = getcwd(nil, 0) else { return path }
        defer { free(here) }
        return "\(String(cString: here))/\(path)"
    }

    /// Gives the file another name in its folder, which replaces what has it; returns 0, or -1 with errno.
    @discardableResult
    public func rename(to other: String) -> Int32 { renameat(folder, name, folder, other) }

    /// Removes the file; returns 0, or -1 with errno.
    @discardableResult
    public func remove() -> Int32 { unlinkat(folder, name, 0) }

    /// A file that gets the name when it is complete.
    func prepare() throws(LinuxError) -> PreparedFile {
        // A process id is not unique: the first process of every container has the same one, and an earlier one may have
        // been killed while it wrote.
        let temporary = "\(name).\(String(UInt64.random(in: .min ... .max), radix: 36)).tmp"
        do throws(Errno) {
            return try PreparedFile(temporary, in: descriptor, mode: 0o640)
        } catch {
            throw LinuxError("create \(path)", error)
        }
    }
}
