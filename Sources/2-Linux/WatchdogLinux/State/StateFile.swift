// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase

/// A file that always contains a complete state, no matter when its writer is killed.
///
/// It holds a checkpoint and a pulse: the little that has changed since. Both are stored twice and written alternately,
/// each with a sequence number and a hash, so that the previous one survives an interrupted write. Nothing is synced:
/// the file must outlive its writer, not the machine, and records the boot it belongs to.
///
/// Isolation: belongs to one thread.
public final class StateFile {
    /// The contents of a file.
    public struct Contents: Sendable {
        /// The latest intact checkpoint.
        public let checkpoint: [UInt8]
        /// The latest intact pulse written after that checkpoint; nil if there is none.
        public let pulse: [UInt8]?
    }

    /// The maximum size of a pulse.
    public static let longestPulse = 480

    private static let magic = Array("WDSTATE\n".utf8)
    private static let layout: UInt32 = 1
    private static let pulseOffset = 4096
    private static let pulseSize = 512
    private static let checkpointOffset = 8192
    /// No file has a larger capacity for a checkpoint; one that claims more is not ours.
    private static let mostCapacity = 16 << 20

    /// The path of the file.
    public let path: String
    /// The version of the checkpoint's contents, assigned by its writer.
    public let format: UInt32
    /// Nil between uses of a file that does not stay open.
    private var file: OwnedDescriptor?
    private var isHeld: Bool
    private let capacity: Int
    private var checkpointSequence: UInt64 = 0
    private var pulseSequence: UInt64 = 0

    /// Creates a file that only this user can read, replacing an existing one.
    ///
    /// - Parameters:
    ///   - path: the path; only this user may create anything in its directory.
    ///   - format: the version of the checkpoint's contents.
    ///   - capacity: the maximum size of a checkpoint in bytes. Unused capacity takes no memory.
    ///   - staysOpen: see ``staysOpen``.
    public init(creating path: String, format: UInt32, capacity: Int, staysOpen: Bool = true) throws(LinuxError) {
        precondition(capacity > 0 && capacity <= Self.mostCapacity, "a state file has room for 1 byte to 16 MiB")
        let file = try Self.create(path)
        self.file = file
        isHeld = staysOpen
        self.path = path
        self.format = format
        self.capacity = capacity
        var header = Self.magic
        header.append(littleEndian: Self.layout)
        header.append(littleEndian: format)
        header.append(littleEndian: UInt64(capacity))
        header += Machine.bootIdentifier.utf8
        do throws(LinuxError) {
            try Self.write(header, to: file, at: 0, path)
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Opens a file that another process has written, to read it and to continue it.
    ///
    /// - Parameter newest: the newest supported format.
    /// - Throws: ``StateFileError``; the file is then unchanged.
    public init(opening path: String, upTo newest: UInt32) throws(StateFileError) {
        let header: [UInt8]
        let file: OwnedDescriptor
        do throws(LinuxError) {
            // O_NONBLOCK: do not block if the file was replaced with a FIFO.
            file = try OwnedDescriptor(opening: path, flags: O_RDWR | O_NOFOLLOW | O_NONBLOCK)
            header = try Self.read(file, at: 0, count: 128, path)
        } catch {
            throw StateFileError(path, .unreadable("\(error)"))
        }
        var information = stat()
        guard fstat(file.number, &information) == 0, information.st_mode & S_IFMT == S_IFREG,
            information.st_uid == geteuid()
        else { throw StateFileError(path, .damaged) }
        guard header.starts(with: Self.magic), header.count > 24 else { throw StateFileError(path, .damaged) }
        let layout = UInt32(littleEndian: header, at: 8)
        let format = UInt32(littleEndian: header, at: 12)
        guard layout <= Self.layout, format <= newest else { throw StateFileError(path, .newer(format)) }
        let capacity = UInt64(littleEndian: header, at: 16)
        guard layout == Self.layout, capacity > 0, capacity <= UInt64(Self.mostCapacity) else {
            throw StateFileError(path, .damaged)
        }
        guard header[24...].starts(with: Machine.bootIdentifier.utf8) else { throw StateFileError(path, .otherBoot) }
        self.path = path
        self.format = format
        self.capacity = Int(capacity)
        self.file = file
        isHeld = true
    }

    private static func create(_ path: String) throws(LinuxError) -> OwnedDescriptor {
        let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW
        do throws(LinuxError) {
            return try OwnedDescriptor(opening: path, flags: flags, mode: 0o600)
        } catch  where error.errno == .fileExists {
            unlink(path)
            return try OwnedDescriptor(opening: path, flags: flags, mode: 0o600)
        }
    }

    /// Whether the file stays open between uses, which makes writing cheap but takes up a descriptor.
    ///
    /// Otherwise it is closed by ``close()``, and by a failed write.
    public var staysOpen: Bool {
        get { isHeld }
        set {
            isHeld = newValue
            file = newValue ? try? opened() : nil
        }
    }

    /// Closes the file after use, unless it stays open; the next use opens it again.
    public func close() {
        if !isHeld { file = nil }
    }

    /// The latest intact contents.
    ///
    /// Read them once after opening, before writing anything.
    public func contents() throws(StateFileError) -> Contents {
        let records = [0, 1].compactMap { record(at: Self.checkpointOffset + $0 * slotSize, longest: capacity) }
        guard let latest = records.max(by: { $0.sequence < $1.sequence }) else {
            throw StateFileError(path, .damaged)
        }
        checkpointSequence = latest.sequence
        let pulses = [0, 1].compactMap {
            record(at: Self.pulseOffset + $0 * Self.pulseSize, longest: Self.longestPulse)
        }
        pulseSequence = pulses.map(\.sequence).max() ?? 0
        let current = pulses.filter { $0.base == latest.sequence }.max { $0.sequence < $1.sequence }
        return Contents(checkpoint: latest.payload, pulse: current?.payload)
    }

    /// Writes a checkpoint, which invalidates the previous pulse.
    ///
    /// - Throws: ``LinuxError`` with ``Errno/argumentsTooLong`` if it exceeds the file's capacity.
    public func write(checkpoint: [UInt8]) throws(LinuxError) {
        guard checkpoint.count <= capacity else { throw LinuxError("write \(path)", .argumentsTooLong) }
        let sequence = checkpointSequence + 1
        try write(
            Self.record(checkpoint, sequence, base: 0),
            at: Self.checkpointOffset + Int(sequence % 2) * slotSize)
        checkpointSequence = sequence
    }

    /// Writes what has changed since the last checkpoint.
    public func write(pulse: [UInt8]) throws(LinuxError) {
        precondition(pulse.count <= Self.longestPulse, "a pulse is short")
        let sequence = pulseSequence + 1
        try write(
            Self.record(pulse, sequence, base: checkpointSequence),
            at: Self.pulseOffset + Int(sequence % 2) * Self.pulseSize)
        pulseSequence = sequence
    }

    /// Removes the file; it can be written to until this object is released.
    public func remove() {
        unlink(path)
    }

    // MARK: - Records

    private static let recordHeader = 32

    private var slotSize: Int { (Self.recordHeader + capacity + 4095) / 4096 * 4096 }

    private static func record(_ payload: [UInt8], _ sequence: UInt64, base: UInt64) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: recordHeader + payload.count) { buffer, count in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            bytes.storeBytes(of: sequence.littleEndian, toByteOffset: 0, as: UInt64.self)
            bytes.storeBytes(of: base.littleEndian, toByteOffset: 8, as: UInt64.self)
            bytes.storeBytes(of: UInt64(payload.count).littleEndian, toByteOffset: 16, as: UInt64.self)
            bytes[recordHeader...].copyBytes(from: payload)
            var hash = FNV1a()
            hash.combine(UnsafeRawBufferPointer(rebasing: bytes[..<24]))
            hash.combine(UnsafeRawBufferPointer(rebasing: bytes[recordHeader...]))
            bytes.storeBytes(of: hash.value.littleEndian, toByteOffset: 24, as: UInt64.self)
            count = recordHeader + payload.count
        }
    }

    private func record(at offset: Int, longest: Int) -> (sequence: UInt64, base: UInt64, payload: [UInt8])? {
        guard let file = try? opened(), let header = try? Self.read(file, at: offset, count: Self.recordHeader, path),
            header.count == Self.recordHeader
        else { return nil }
        let length = UInt64(littleEndian: header, at: 16)
        let sequence = UInt64(littleEndian: header, at: 0)
        guard sequence > 0, sequence < .max, length <= UInt64(longest),
            let payload = try? Self.read(file, at: offset + Self.recordHeader, count: Int(length), path),
            payload.count == Int(length),
            Self.hash(Array(header.prefix(24)), payload) == UInt64(littleEndian: header, at: 24)
        else { return nil }
        return (sequence, UInt64(littleEndian: header, at: 8), payload)
    }

    /// Detects interrupted writes, not forgery.
    private static func hash(_ header: [UInt8], _ payload: [UInt8]) -> UInt64 {
        var hash = FNV1a()
        hash.combine(header)
        hash.combine(payload)
        return hash.value
    }

    // MARK: - Bytes

    private func write(_ bytes: [UInt8], at offset: Int) throws(LinuxError) {
        let file = try opened()
        self.file = file
        do throws(LinuxError) {
            try Self.write(bytes, to: file, at: offset, path)
        } catch {
            close()
            throw error
        }
    }

    private func opened() throws(LinuxError) -> OwnedDescriptor {
        if let file { return file }
        return try OwnedDescriptor(opening: path, flags: O_RDWR | O_NOFOLLOW)
    }

    private static func write(
        _ bytes: [UInt8], to file: OwnedDescriptor, at offset: Int, _ path: String
    ) throws(LinuxError) {
        let written = try check("write \(path)") { pwrite(file.number, bytes, bytes.count, off_t(offset)) }
        // A full file system writes only a part. Retrying, as write(2) says, then reports the reason.
        guard written < bytes.count else { return }
        guard written > 0 else { throw LinuxError("write \(path)", Errno(rawValue: ENOSPC)) }
        try write(Array(bytes[written...]), to: file, at: offset + written, path)
    }

    private static func read(
        _ file: OwnedDescriptor, at offset: Int, count: Int, _ path: String
    ) throws(LinuxError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let length = try check("read \(path)") { pread(file.number, &bytes, count, off_t(offset)) }
        return Array(bytes.prefix(length))
    }
}

extension [UInt8] {
    fileprivate mutating func append(littleEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }
}

extension FixedWidthInteger {
    /// The bytes from `offset` on must exist.
    fileprivate init(littleEndian bytes: [UInt8], at offset: Int) {
        self = bytes.withUnsafeBytes {
            Self(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Self.self))
        }
    }
}
