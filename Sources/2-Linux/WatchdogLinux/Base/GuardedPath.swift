// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The place of a file whose path other users may control in part, for opening it with watchdogd's own rights.
///
/// A symbolic link is followed only if root or watchdogd's user owns it and every folder that leads to it, and nobody
/// else can write to its folder. Each step starts at the descriptor that the step before it has checked, so renaming
/// folders or replacing them by links in between changes nothing.
public struct GuardedPath: Sendable {
    private let path: String
    private let folder: Folder
    private let name: String
    /// Whether the last component is a link of procfs, which only the kernel can follow, such as `/dev/stdout`.
    private let isMagic: Bool

    /// Finds the folder of a file; the file itself need not exist.
    ///
    /// - Throws: ``LinuxError``, with ``Errno/tooManyLinks`` if a link is not to be followed.
    public init(_ path: String) throws(LinuxError) {
        var folder = try Folder(path.hasPrefix("/") ? "/" : ".", path)
        var pending = Self.components(path)
        var links = 0
        var name: String?
        var isMagic = false
        while let next = pending.popLast() {
            if next == ".." {
                // The parent of a folder that somebody else can move may be any folder.
                guard folder.guarding == .full else {
                    throw LinuxError("open \(path), where non-root users can change what .. means", .tooManyLinks)
                }
                folder = try folder.parent(path)
                continue
            }
            let entry: Entry
            do throws(LinuxError) {
                entry = try Entry(next, in: folder, path)
            } catch {
                guard pending.isEmpty, error.errno == .noSuchFile else { throw error }
                name = next
                break
            }
            switch entry.kind {
            case S_IFLNK:
                guard folder.guarding == .full, Folder.isTrusted(entry.owner) else {
                    throw Self.refusal(of: pending.isEmpty && links == 0 ? nil : next, path)
                }
                if pending.isEmpty, folder.isProcfs {
                    (name, isMagic) = (next, true)
                    break
                }
                links += 1
                guard links <= 40 else { throw LinuxError("open \(path)", .tooManyLinks) }
                let target = try entry.target(path)
                if target.hasPrefix("/") { folder = try Folder("/", path) }
                pending += Self.components(target)
            case _ where pending.isEmpty: name = next
            case S_IFDIR: folder = Folder(entry, below: folder)
            default: throw LinuxError("open \(path)", .notADirectory)
            }
            if name != nil { break }
        }
        self.path = path
        self.folder = folder
        self.name = name ?? "."
        self.isMagic = isMagic
    }

    /// Opens the file below the folder that was checked; close-on-exec is added to the flags.
    ///
    /// In a folder that others can write to, a file with further hard links is refused: it may be any file.
    ///
    /// - Parameters:
    ///   - flags: as for `open`; a file that is refused is not truncated.
    ///   - mode: the permissions of a file that is created.
    ///   - isForeign: whether closing the file may block on its file system.
    public func open(flags: Int32, mode: UInt32 = 0, isForeign: Bool = false) throws(LinuxError) -> OwnedDescriptor {
        let all = flags & ~O_TRUNC | O_CLOEXEC | (isMagic ? 0 : O_NOFOLLOW)
        let number: Int32
        do throws(LinuxError) {
            number = try check("open \(path)") { openat(folder.descriptor.number, name, all, mode) }
        } catch {
            // It has become a link since it was found.
            throw error.errno == .tooManyLinks ? Self.refusal(of: nil, path) : error
        }
        let file = OwnedDescriptor(taking: number, closing: isForeign ? .beside : .here)
        var status = stat()
        _ = try check("examine \(path)") { fstat(number, &status) }
        guard status.st_mode & S_IFMT == S_IFREG else { return file }
        guard folder.guarding == .full || isMagic || status.st_nlink <= 1 else {
            throw LinuxError(
                "open \(path), which has further names and may be a file of somebody else: remove it, or let only "
                    + "root own and write its folder", .tooManyNames)
        }
        if flags & O_TRUNC != 0 { _ = try check("truncate \(path)") { ftruncate(number, 0) } }
        return file
    }

    /// The folder that was found, by a descriptor for `openat` and its like, and the file's name in it; whether that is a
    /// link of procfs.
    var place: (folder: OwnedDescriptor, name: String, isMagic: Bool) { (folder.descriptor, name, isMagic) }

    /// Opens a file or folder that decides what watchdogd does with its own rights; close-on-exec is added to the flags.
    ///
    /// What is opened is judged, not the name: root or watchdogd's user must own it, nobody else may write it, and nobody
    /// else may put another one in its place. On a read-only mount, others may own it.
    public func openTrusted(flags: Int32) throws(LinuxError) -> OwnedDescriptor {
        let file = try open(flags: flags)
        var status = stat()
        _ = try check("examine \(path)") { fstat(file.number, &status) }
        let isReadOnly = Folder.isReadOnly(file)
        let isOwned = isReadOnly || Folder.isTrusted(status.st_uid)
        let isWritable = Folder.isWritableByOthers(status, file)
        let isPlaced = isMagic || folder.guarding != .none || isReadOnly && folder.isPlaced
        guard isOwned, !isWritable, isPlaced else {
            let who = !isOwned ? "user \(status.st_uid) owns" : isWritable ? "others can write" : "others can replace"
            throw LinuxError(
                "trust \(path), which \(who): let only root own and write it and its folder (chown root, chmod go-w), or "
                    + "mount it read-only", .notPermitted)
        }
        return file
    }

    /// Whether a folder exists that ``openTrusted(flags:)`` would open.
    public static func isTrusted(folder path: String) -> Bool {
        (try? GuardedPath(path).openTrusted(flags: wd_open_path | O_DIRECTORY)) != nil
    }

    /// In reverse order, to be taken from the end.
    private static func components(_ path: String) -> [String] {
        path.split(separator: "/").reversed().filter { $0 != "." }.map { String($0) }
    }

    /// - Parameter link: the refused link; nil if it is the file itself.
    private static func refusal(of link: String?, _ path: String) -> LinuxError {
        let what = link.map { "where \($0) is a link" } ?? "a link"
        return LinuxError(
            "open \(path), \(what) that others than root can change: use the path without links, or let only root own "
                + "and write the link's folder", .tooManyLinks)
    }
}

/// One name in a folder, held by a descriptor of what it meant when it was looked up.
private struct Entry {
    let descriptor: OwnedDescriptor
    let status: stat

    init(_ name: String, in folder: Folder, _ path: String) throws(LinuxError) {
        try self.init(path) { openat(folder.descriptor.number, name, wd_open_path | O_NOFOLLOW | O_CLOEXEC) }
    }

    init(_ path: String, _ open: () -> Int32) throws(LinuxError) {
        let number = try check("open \(path)", open)
        descriptor = OwnedDescriptor(taking: number)
        var status = stat()
        _ = try check("examine \(path)") { fstat(number, &status) }
        self.status = status
    }

    var kind: mode_t { status.st_mode & S_IFMT }
    var owner: uid_t { status.st_uid }

    /// Where the link leads, read from the very link that was checked.
    func target(_ path: String) throws(LinuxError) -> String {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = try check("read a link of \(path)") { readlinkat(descriptor.number, "", &bytes, bytes.count) }
        return String(decoding: bytes.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// A folder, and who can change what its names mean.
private struct Folder {
    enum Guarding {
        /// Only root and watchdogd's user.
        case full
        /// Others cannot rename or remove what is not theirs, but add names: `/tmp`.
        case sticky
        case none
    }

    let descriptor: OwnedDescriptor
    let guarding: Guarding
    /// Whether nobody else can put another folder in its place.
    let isPlaced: Bool
    private let device: dev_t

    /// The root, or the working directory, whose parents are unknown.
    init(_ start: String, _ path: String) throws(LinuxError) {
        let entry = try Entry(path) { open(start, wd_open_path | O_DIRECTORY | O_CLOEXEC) }
        self.init(entry, isPlaced: start == "/")
    }

    init(_ entry: Entry, below folder: Folder) {
        self.init(
            entry,
            isPlaced: folder.guarding == .full || folder.guarding == .sticky && Self.isTrusted(entry.owner))
    }

    /// - Parameter isPlaced: whether nobody else can put another folder in its place.
    private init(_ entry: Entry, isPlaced: Bool) {
        descriptor = entry.descriptor
        device = entry.status.st_dev
        self.isPlaced = isPlaced
        let isWritable = Self.isWritableByOthers(entry.status, entry.descriptor)
        guarding =
            !isPlaced || !Self.isTrusted(entry.owner)
            ? .none : !isWritable ? .full : entry.status.st_mode & S_ISVTX != 0 ? .sticky : .none
    }

    func parent(_ path: String) throws(LinuxError) -> Folder {
        let entry = try Entry(path) {
            openat(descriptor.number, "..", wd_open_path | O_DIRECTORY | O_CLOEXEC)
        }
        // The parents of a guarded folder were checked on the way to it.
        return Folder(entry, isPlaced: true)
    }

    var isProcfs: Bool {
        var status = stat()
        return stat("/proc/self", &status) == 0 && status.st_dev == device
    }

    /// Whether others than root and watchdogd's user can write to it.
    ///
    /// The volumes of Kubernetes are writable for all, and mounted read-only.
    static func isWritableByOthers(_ status: stat, _ file: OwnedDescriptor) -> Bool {
        guard status.st_mode & (S_IWGRP | S_IWOTH) != 0, !isReadOnly(file) else { return false }
        // An access control list shows in the bits of the group, whatever the group is: acl(5).
        let isOfRoot = status.st_mode & S_IWOTH == 0 && status.st_gid == 0 && !wd_may_have_access_list(file.number)
        return !isOfRoot
    }

    /// Whether nothing can be written on its mount.
    static func isReadOnly(_ file: OwnedDescriptor) -> Bool {
        var status = statvfs()
        return fstatvfs(file.number, &status) == 0 && status.f_flag & UInt(ST_RDONLY) != 0
    }

    static func isTrusted(_ user: uid_t) -> Bool { user == 0 || user == geteuid() }
}
