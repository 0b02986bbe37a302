// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A kernel error number: "No such file or directory (ENOENT)".
public struct Errno: RawRepresentable, Hashable, Sendable, Error, CustomStringConvertible {
    /// The number, as in `errno`.
    public let rawValue: Int32

    /// Creates an error number.
    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The calling thread's `errno`; read it before making any other call.
    package static var current: Errno {
        Errno(rawValue: errno)
    }

    /// `EPERM`: not permitted.
    public static let notPermitted = Errno(rawValue: EPERM)
    /// `ENOENT`: no such file or directory.
    public static let noSuchFile = Errno(rawValue: ENOENT)
    /// `ESRCH`: no such process.
    public static let noSuchProcess = Errno(rawValue: ESRCH)
    /// `ECHILD`: not a child, or already reaped.
    public static let noChild = Errno(rawValue: ECHILD)
    /// `EACCES`: permission denied.
    public static let permissionDenied = Errno(rawValue: EACCES)
    /// `EINVAL`: invalid argument.
    public static let invalidArgument = Errno(rawValue: EINVAL)
    /// `ETIMEDOUT`: not done within the time limit.
    public static let timedOut = Errno(rawValue: ETIMEDOUT)
    /// `E2BIG`: the arguments and environment are too long.
    public static let argumentsTooLong = Errno(rawValue: E2BIG)
    /// `ENOEXEC`: not a program that the kernel can run.
    public static let notAProgram = Errno(rawValue: ENOEXEC)
    /// `EINTR`: a signal interrupted the call.
    public static let interrupted = Errno(rawValue: EINTR)
    /// `EAGAIN`: no data or no room right now.
    public static let wouldBlock = Errno(rawValue: EAGAIN)
    /// `ECONNRESET`: the other end was closed with messages left unread.
    public static let connectionReset = Errno(rawValue: ECONNRESET)
    /// `EADDRINUSE`: another socket is bound to the address.
    public static let addressInUse = Errno(rawValue: EADDRINUSE)
    /// `EPIPE`: there is no reader left.
    public static let brokenPipe = Errno(rawValue: EPIPE)
    /// `EEXIST`: already exists.
    public static let fileExists = Errno(rawValue: EEXIST)
    /// `EBUSY`: in use.
    public static let busy = Errno(rawValue: EBUSY)
    /// `EMSGSIZE`: the datagram is too long.
    public static let messageTooLong = Errno(rawValue: EMSGSIZE)
    /// `ENXIO`: the FIFO has no reader, or there is no such device.
    public static let noSuchDevice = Errno(rawValue: ENXIO)
    /// `ELOOP`: the path is a symbolic link, and links are not followed.
    public static let tooManyLinks = Errno(rawValue: ELOOP)
    /// `ENOTDIR`: a component of the path is not a directory.
    public static let notADirectory = Errno(rawValue: ENOTDIR)
    /// `EMLINK`: the file has too many hard links.
    public static let tooManyNames = Errno(rawValue: EMLINK)
    /// `ENAMETOOLONG`: the name is too long.
    public static let nameTooLong = Errno(rawValue: ENAMETOOLONG)

    /// `ETOOMANYREFS`: too many of this user's descriptors are in flight over sockets.
    public static let tooManyReferences = Errno(rawValue: ETOOMANYREFS)

    /// The symbolic name, such as `ENOENT`, or else the number.
    public var name: String {
        wd_errno_name(rawValue).map { String(cString: $0) } ?? "errno \(rawValue)"
    }

    /// The C library's message and the symbolic name, such as "No such file or directory (ENOENT)".
    public var description: String {
        let words = wd_errno_text(rawValue).map { String(cString: $0) } ?? "Unknown error"
        return "\(words) (\(name))"
    }
}
